"""Operation counts: the record, what is written about them, and what they may not depend on."""

import json
from pathlib import Path

import operation_counts
import pytest
from counting import derivatives, regressors
from counting.cases import CASES, FORMLESS, KINDS, SIZES, counted, counted_on, robot, with_general_bodies
from counting.fewest import cheapest
from counting.forms import at, case_form, fitted, polynomial, written
from counting.published import INWARD, KINEMATICS, OPENSYMORO, OWN_ROWS, PRINTED_TOTALS, SHARED_ROWS, column_sums
from counting.stages import centre_counts, together

import linkwise as lw
from effort import rest_slow
from robots import FREE, TEXTBOOK

UPDATE = "the operation counts changed; if that is meant, run `make counts` and commit the two files it writes"
TWO_ARMS = ("planar3", "stanford")
TWO = ("multiplications", "additions")
ARMS = [lw.chain(6), lw.chain(6, joints="RRP"), *TEXTBOOK, *FREE]


def test_every_method_takes_the_operations_of_the_golden_file() -> None:
    """On the general arm of six links and two arms of the library; the slow tests count on all its robots."""
    kept = json.loads(operation_counts.GOLDEN.read_text(encoding="utf-8"))
    fresh = {}
    for label in CASES:
        found = {"chain6": counted(label, "chain", 6)}
        found |= {name: counted_on(label, name) for name in TWO_ARMS}
        fresh |= {f"{arm}/{label}": {kind: getattr(c, kind) for kind in KINDS} for arm, c in found.items()}
    derived = derivatives.entries(TWO_ARMS) | regressors.entries(TWO_ARMS)
    fresh |= {key: {kind: getattr(c, kind) for kind in KINDS} for key, c in derived.items()}
    arms = {key.partition("/")[0] for key in fresh}
    short = {key: value for key, value in kept.items() if key.partition("/")[0] in arms}
    changed = {key: (short.get(key), fresh.get(key)) for key in short | fresh if short.get(key) != fresh.get(key)}
    assert not changed, UPDATE


@pytest.mark.slow
def test_the_golden_file_and_the_page_are_what_the_script_would_write() -> None:
    assert operation_counts.GOLDEN.read_text(encoding="utf-8") == operation_counts.golden(), UPDATE
    assert not operation_counts.hint(operation_counts.PAGE, operation_counts.page()), UPDATE


@pytest.mark.slow
def test_closed_forms_hold_on_an_n_that_they_were_not_fitted_to() -> None:
    n = SIZES[-1] + 2
    exact = 0
    for label in CASES:
        for kind in TWO:
            if label not in FORMLESS and (form := case_form(label, "chain", kind)).exact:
                assert at(form.polynomial, n) == getattr(counted(label, "chain", n), kind), label
                exact += 1
    assert exact >= 40  # that is, most


@pytest.mark.slow
def test_counts_do_not_depend_on_the_numbers_of_a_general_arm() -> None:
    """Where one arm gives a closed form, another takes as many operations; where it does not, about as many."""
    for label in CASES:
        one, other = (counted(label, "chain", 6, seed) for seed in (0, 1))
        if label not in FORMLESS:
            for kind in TWO:
                form = case_form(label, "chain", kind)
                apart = abs(getattr(one, kind) - getattr(other, kind))
                assert apart <= form.spread, f"{label}: {one} and {other}"
        assert (one.divisions, one.functions) == (other.divisions, other.functions)


@pytest.mark.parametrize("method", lw.methods(lw.inverse_dynamics))
@pytest.mark.parametrize("seed", rest_slow([1, 2, 3], [1]))
def test_inverse_dynamics_takes_exactly_as_much_on_every_general_arm(method: str, seed: int) -> None:
    here, there = (lw.count(lw.inverse_dynamics, lw.chain(6, seed=s), method=method) for s in (0, seed))
    assert (here.multiplications, here.additions) == (there.multiplications, there.additions)


def test_inverse_dynamics_of_the_general_arm_is_within_its_goals() -> None:
    six, seven = (lw.count(lw.inverse_dynamics, lw.chain(n), method="fewest") for n in (6, 7))
    assert six.multiplications <= 400
    assert six.additions <= 350
    assert seven.multiplications - six.multiplications <= 87
    assert seven.additions - six.additions <= 78


@pytest.mark.parametrize(("n", "goal"), [(6, 1_550), (12, 4_800)])
def test_forward_dynamics_of_the_general_arm_is_within_its_goals(n: int, goal: int) -> None:
    assert lw.count(lw.forward_dynamics, lw.chain(n), method="fewest").total <= goal


def test_the_stanford_arm_is_within_its_goals() -> None:
    arm = lw.load("stanford")
    assert lw.count(lw.inverse_dynamics, arm, method="fewest").total < 300
    assert lw.count(lw.inertia_matrix, arm, method="fewest").total < 140


@pytest.mark.parametrize("arm", rest_slow(ARMS, [arm for arm in ARMS if arm.n <= 12]), ids=lambda a: a.name)
def test_regrouping_never_costs_operations(arm: lw.Robot) -> None:
    arm = arm.without_rotors()
    for function, plain, regrouped in (
        (lw.forward_dynamics, "articulated", "articulated-regrouped"),
        (lw.inertia_matrix, "composite", "composite-regrouped"),
    ):
        assert lw.count(function, arm, method=regrouped).total <= lw.count(function, arm, method=plain).total
    for method in ("denoc", "operators", "fewest"):
        there, here = (lw.count(lw.inverse_dynamics, robot, method=method) for robot in (arm, arm.regrouped()))
        assert here.total <= there.total, method


def test_published_columns_add_up_once_corrected() -> None:
    for kind, own in OWN_ROWS.items():
        assert tuple(column_sums([*SHARED_ROWS, *own])) == PRINTED_TOTALS[kind]


@pytest.mark.parametrize("n", [3, 7])
def test_newton_euler_in_the_frames_of_the_book_takes_the_printed_operations(n: int) -> None:
    """Angeles, Table 7.1 with the row of c that print lost, Table 7.2, (7.41), (7.43); n is exact there."""
    counts = centre_counts("R", n)
    for name, printed, _, _ in KINEMATICS:
        assert (counts[name].multiplications, counts[name].additions) == (printed[0] * n, printed[1] * n), name
    for name, printed, _ in INWARD:
        found = counts[name].multiplications, counts[name].additions
        assert found == tuple(int(at(polynomial(*form), n)) for form in printed), name
    whole = together(counts, [row[0] for row in (*KINEMATICS, *INWARD)])
    assert (whole.multiplications, whole.additions) == (137 * n - 22, 110 * n - 14)


def test_a_fit_is_exact_or_there_is_none() -> None:
    cubic = polynomial("1/6", "23/2", "-115/3", 7)
    assert fitted({n: int(at(cubic, n) * 6) for n in SIZES}) == tuple(6 * c for c in cubic)
    assert fitted(dict.fromkeys(SIZES, 5)) == (5,)
    assert fitted({n: 2**n for n in SIZES}) is None
    assert written(cubic) == "(1/6)n³ + (23/2)n² − (115/3)n + 7"
    assert written(polynomial(1, 0)) == "n"
    assert written(polynomial(0)) == "0"


def test_check_says_what_would_change_and_writes_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("ROOT", "GOLDEN", "PAGE"):
        monkeypatch.setattr(operation_counts, name, tmp_path / name.lower() if name != "ROOT" else tmp_path)
    for name in ("golden", "page"):
        monkeypatch.setattr(operation_counts, name, lambda name=name: f"{name}\n")
    assert operation_counts.main(["--check"]) == 1
    assert "+page" in capsys.readouterr().out
    assert not list(tmp_path.iterdir())
    assert operation_counts.main([]) == 0
    assert operation_counts.main(["--check"]) == 0
    assert (tmp_path / "page").read_text(encoding="utf-8") == "page\n"


@pytest.mark.slow
def test_customised_arms_take_fewer_operations_than_with_opensymoro() -> None:
    for (name, bodies), figures in OPENSYMORO.items():
        arm = robot(name) if bodies == "its own" else with_general_bodies(name)
        for function, (_, _, multiplications, additions) in figures.items():
            _, ours = cheapest(function, arm)
            assert ours.multiplications + ours.additions < multiplications + additions, f"{name}, {bodies}, {function}"
