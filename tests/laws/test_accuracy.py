"""`lw.accuracy`: the exact answer is exact, and no method is further from it than its inertia matrix allows."""

import importlib.util
import sys
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest

import linkwise as lw
from effort import rest_slow
from facts import raises
from linkwise.api.method_table import METHODS
from linkwise.explanation.accuracies import exact_accelerations, exact_numbers
from robots import QUICK, SMALL, conditioned, ids, states

over_robots = pytest.mark.parametrize("robot", rest_slow(SMALL, QUICK[::2]), ids=ids(SMALL))
STANFORD = lw.load("stanford")
LISTED = [name for name in lw.methods(lw.forward_dynamics) if name != "fewest"]


def a_state(robot: lw.Robot, count: int = 1) -> tuple[np.ndarray, ...]:
    q, qd, _, tau = states(robot, count=count)
    return (q, qd, tau) if count > 1 else (q[0], qd[0], tau[0])


def rope(n: int, tip: float = 1.0) -> lw.Robot:
    """A planar chain of equal rods, the last of which may be heavier."""
    row = {"joint": "revolute", "a": 0.25, "b": 0.0, "alpha": 0.0, "com": (-0.125, 0, 0)}
    masses = [1.0] * (n - 1) + [tip]
    rows = [{**row, "mass": m, "inertia": np.diag([0, m / 192, m / 192]).tolist()} for m in masses]
    return lw.Robot.from_dh(rows, convention="standard", gravity=(0, -9.81, 0), name=f"rope-{n}")


@over_robots
def test_every_method_is_within_what_the_inertia_matrix_allows(robot: lw.Robot) -> None:
    found = lw.accuracy(robot, *a_state(robot))
    assert set(found) == set(LISTED)
    bound = max(1e-13, conditioned(robot, a_state(robot)[0]))
    for name, each in found.items():
        assert each.worst < bound, name


@over_robots
def test_the_exact_accelerations_need_the_torques_that_were_given(robot: lw.Robot) -> None:
    q, qd, tau = a_state(robot)
    arrays = {"q": q, "qd": qd, "tau": tau}
    exact, context, agreement = exact_accelerations(mpmath, robot, arrays, 60)
    mine = (exact_numbers(context, array) for array in (q, qd))
    again = lw.inverse_dynamics(robot.cast(context.mpf), *mine, exact)
    largest = max(1.0, float(np.abs(lw.bias_torque(robot, q, qd)).max()))
    assert max(abs(again - tau)) < 1e-40 * largest
    assert agreement < 1e-49
    assert lw.accuracy(robot, q, qd, tau, methods=["kalman"]).exact.tolist() == [float(x) for x in exact]


def test_a_wrong_method_stands_out(monkeypatch: pytest.MonkeyPatch) -> None:
    right = METHODS["forward_dynamics"].algorithms["kalman"]

    def wrong(*arguments: Any) -> list[Any]:
        first, second, *rest = right(*arguments)
        return [first, second * (1.0 + 1e-7), *rest]

    monkeypatch.setitem(METHODS["forward_dynamics"].algorithms, "kalman", wrong)
    found = lw.accuracy(STANFORD, *a_state(STANFORD))
    assert list(found)[-1] == "kalman"
    assert found["kalman"].units > 100 * found["articulated"].units
    assert found["kalman"].joint == 1
    assert str(found).splitlines()[-1].endswith("link2")


def test_two_witnesses_that_differ_are_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    right = METHODS["forward_dynamics"].algorithms["walker-orin-3"]
    off = lambda *arguments: [x * 1.000001 for x in right(*arguments)]  # noqa: E731
    monkeypatch.setitem(METHODS["forward_dynamics"].algorithms, "walker-orin-3", off)
    with raises(ArithmeticError, "'articulated'", "'walker-orin-3'", "1e-06"):
        lw.accuracy(lw.load("planar3"), *a_state(lw.load("planar3")))


def test_more_digits_are_taken_where_they_are_needed() -> None:
    robot = rope(4, tip=1e30)
    found = lw.accuracy(robot, *a_state(robot), digits=30, methods=["articulated"])
    assert (found.asked, found.digits) == (30, 60)
    assert "exact: 60 digits" in str(found)
    assert "30 were not enough" in str(found)
    again = lw.accuracy(robot, *a_state(robot), digits=90, methods=["articulated"])
    assert again.exact.tolist() == found.exact.tolist()


def test_a_method_without_a_finite_answer_is_infinitely_wrong() -> None:
    robot = rope(8, tip=1e17)  # the Cholesky factors of I in doubles end in the root of a negative number
    found = lw.accuracy(robot, *a_state(robot, count=4))
    assert found["walker-orin-3"].worst == np.inf
    assert np.isfinite(found["articulated"].relative).all()


def test_a_batch_is_its_states_one_by_one() -> None:
    q, qd, tau = (x.reshape(2, 3, -1) for x in a_state(STANFORD, count=6))
    wrench = np.array([0.1, -0.2, 0.3, 4.0, 5.0, -6.0])
    batch = lw.accuracy(STANFORD, q, qd, tau[0, 0], wrench=wrench)
    assert batch.exact.shape == (2, 3, 6)
    for k in np.ndindex(2, 3):
        one = lw.accuracy(STANFORD, q[k], qd[k], tau[0, 0], wrench=wrench)
        assert one.exact.tolist() == batch.exact[k].tolist()
        assert one.condition == pytest.approx(batch.condition[k])
        for name in one:
            assert one[name].relative < max(2e-15, 20 * batch[name].relative[k])
    for each in batch.values():
        assert each.worst == each.relative.max()
        assert each.median == np.median(each.relative)
    worst = [each.worst for each in batch.values()]
    assert worst == sorted(worst)


def test_errors_are_those_of_the_results() -> None:
    found = lw.accuracy(STANFORD, *a_state(STANFORD, count=3))
    for each in found.values():
        off = np.abs(each.result - found.exact)
        assert off.max(axis=-1) == pytest.approx(each.absolute, abs=1e-16 * np.abs(found.exact).max())
        assert each.relative == pytest.approx(each.absolute / np.abs(found.exact).max(axis=-1))
        assert each.units == pytest.approx(each.relative / found.condition / 2.0**-52)


def test_kernels_are_measured_too() -> None:
    arm = lw.load("planar3")
    q, qd, tau = a_state(arm, count=4)
    wrench = np.ones((4, 3, 6))
    found = lw.accuracy(arm, q, qd, tau, compiled=True, wrench=wrench)
    assert found.left_out == ("walker-orin-4",)
    assert set(found) == set(LISTED) - {"walker-orin-4"}
    kernel = lw.compile(lw.forward_dynamics, arm, method="kalman", wrench=lw.Input(3, 6))
    assert found["kalman"].result.tolist() == kernel(q, qd, tau, wrench).tolist()
    assert max(each.worst for each in found.values()) < conditioned(arm, q)
    assert "compiled" in str(found)


def test_floats_of_half_the_length_are_measured_in_their_own_units() -> None:
    found = lw.accuracy(STANFORD, *(x.astype(np.float32) for x in a_state(STANFORD)), methods=["denoc", "fewest"])
    assert found.exact.dtype == np.float32
    assert 1e-9 < found["denoc"].worst < 1e-5
    assert found["denoc"].units == pytest.approx(found["denoc"].relative / found.condition / 2.0**-23)


def test_nothing_to_be_wrong_about_is_no_error() -> None:
    floating = lw.load("gantry").with_gravity((0, 0, 0))
    assert lw.accuracy(floating, *np.zeros((3, 3)))["denoc"].worst == 0.0


def test_what_cannot_be_measured_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    arm, state = lw.load("planar3"), np.zeros((3, 3))
    m = lw.symbols("m")
    row = {"joint": "revolute", "a": 1.0, "b": 0.0, "alpha": 0.0, "mass": m, "com": (0, 0, 0)}
    named = lw.Robot.from_dh([{**row, "inertia": np.eye(3).tolist()}], convention="standard", name="named")
    robots, given = lw.errors.RobotError, (arm, *state)
    for error, args, options, *facts in (
        (robots, (named, [0], [0], [0]), {}, "robot 'named'", "lw.bind"),
        (robots, (arm.cast(mpmath.mpf), *state), {}, "mpf"),
        (ValueError, given, {"methods": ["kalmann"]}, "'kalmann'", "'kalman'"),
        (TypeError, given, {"methods": "kalman"}, "['kalman']"),
        (ValueError, given, {"methods": []}, "methods"),
        (ValueError, given, {"digits": 12}, "digits", "12"),
        (ValueError, (arm, [0, np.nan, 0], *state[1:]), {}, "q[1]", "joint 'link2'", "nan"),
        (TypeError, (arm, np.array([m] * 3), *state[1:]), {}, "numbers"),
        (ValueError, (arm, np.zeros((0, 3)), *state[1:]), {}, "empty"),
        (TypeError, ("planar3", *state), {}, "linkwise.load('planar3')"),
    ):
        with raises(error, *facts):
            lw.accuracy(*args, **options)
    with raises(KeyError, "denoc"):
        lw.accuracy(arm, *state, methods=["kalman"])["denoc"]
    point = {**row, "mass": 1.0, "inertia": np.zeros((3, 3)).tolist()}
    idle = lw.Robot.from_dh([{**point, "com": (-1.0, 0, 0)}], convention="standard", name="idle")
    with raises(lw.errors.SingularError, "link1"):
        lw.accuracy(idle, [0], [0], [0])


@pytest.fixture(scope="module")
def study() -> Any:
    pytest.importorskip("scipy")
    pytest.importorskip("matplotlib")
    path = Path(__file__).parents[2] / "benchmarks" / "formulation_study.py"
    spec = importlib.util.spec_from_file_location("formulation_study", path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["formulation_study"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_study_measures_every_method(study: Any) -> None:
    assert set(study.METHODS) == set(LISTED)
    assert set(study.FEW) < set(study.FALLING) < set(study.METHODS)


@pytest.mark.slow
def test_the_study_runs_and_leaves_picture_and_tables(study: Any, tmp_path: Path, monkeypatch: Any) -> None:
    few = ("articulated", "walker-orin-3")
    monkeypatch.setattr(study, "FALLING", few)
    monkeypatch.setattr(study, "FEW", few)
    plan = study.Plan((2, 3), 2, (2,), 3, (1e-6,), (1e-2, 1.0, 1e2), tries=200)
    assert study.main(["--out", str(tmp_path)], plan) == 0
    assert (tmp_path / study.PICTURE).read_bytes().startswith(b"\x89PNG")
    tables = (tmp_path / study.PAGE).read_text(encoding="utf-8")
    for method in LISTED:
        assert f"| `{method}` |" in tables
    assert "`articulated`, `walker-orin-3` | " in tables  # few rods fall alike


@pytest.mark.slow
def test_a_fall_is_counted_as_it_is_integrated(study: Any) -> None:
    solve_ivp = pytest.importorskip("scipy.integrate").solve_ivp
    robot = study.rope(2)

    def rate(_: float, state: np.ndarray) -> np.ndarray:
        return np.concatenate([state[2:], lw.forward_dynamics(robot, state[:2], state[2:], [0, 0])])

    for solver, (_, per_try) in study.SOLVERS.items():
        fall = study.fall(robot, "articulated", (0.0, 0.0), solver, 1e-6, 1000)
        usual = solve_ivp(rate, (0, 1), np.zeros(4), solver, rtol=1e-6, atol=1e-6)
        assert fall.whole
        assert fall.accepted == len(usual.t) - 1
        assert fall.rejected == (usual.nfev - 2) / per_try - fall.accepted
    given_up = study.fall(robot, "articulated", (0.0, 0.0), "RK45", 1e-6, 10)
    assert not given_up.whole
    assert str(given_up).endswith(" s")


def test_the_page_has_the_tables_of_the_study(study: Any) -> None:
    page = (study.DOCS / study.PAGE).read_text(encoding="utf-8")
    between = page.split(study.BEGIN)[1].split(study.END)[0].strip()
    assert all(f"`{method}`" in between for method in LISTED)
    assert study.with_tables(page, [between, ""]) == page
