"""Exciting motions stay within all limits at all times, are better than random ones, and are the same for each seed."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwise as lw
from command_line import linkwise
from effort import in_turn, rest_slow
from facts import raises, warns
from linkwise.cli.inputs import parse_limits
from linkwise.identification.exciting_motions.minimise import Barrier, minimise, newton_direction
from linkwise.identification.exciting_motions.optimization import compiled_regressor, default_harmonics
from linkwise.identification.exciting_motions.problem import (
    ExcitationProblem,
    Search,
    independent,
    smooth_condition,
    smooth_log_det,
)
from linkwise.identification.exciting_motions.series import MotionPeaks, SeriesBasis, bounds
from linkwise.trajectories.limits import KINDS, MotionLimits
from robots import CHAINS, DRIVEN, TEXTBOOK, TREES

LIMITS: dict[str, Any] = {"position": (-2.0, 2.5), "velocity": 2.0, "acceleration": 8.0, "effort": 1000.0}
ARMS = [TEXTBOOK[1], CHAINS[3], DRIVEN[1], TEXTBOOK[0], TEXTBOOK[2], CHAINS[7], TREES[3], TREES[4], DRIVEN[0]]
QUICK = ARMS[:3]


@cache
def found(index: int, **options: Any) -> lw.results.Excitation:
    return lw.excitation(ARMS[index], 3, 4.0, LIMITS, starts=1, **options)


over_arms = pytest.mark.parametrize("index", rest_slow(range(len(ARMS)), range(len(QUICK))))


@over_arms
def test_limits_hold_at_all_times_and_margins_tell_how_well(index: int) -> None:
    move, arm = found(index), ARMS[index]
    q, qd, qdd = move(np.random.default_rng(index).uniform(0.0, move.duration, 20_000))
    tau = lw.inverse_dynamics(arm, q, qd, qdd)
    middle, half = 0.25, 2.25
    for kind, used in (
        ("position", np.abs(q - middle) / half),
        ("velocity", np.abs(qd) / 2.0),
        ("acceleration", np.abs(qdd) / 8.0),
        ("effort", np.abs(tau) / 1000.0),
    ):
        left = 1.0 - used.max(axis=0)
        assert (left >= 0.1).all()
        margins = getattr(move.margins, kind)
        assert (margins <= left + 1e-9).all()
        assert margins == pytest.approx(left, abs=2e-3)


@over_arms
def test_it_begins_and_ends_at_rest_and_is_its_coefficients(index: int) -> None:
    move = found(index)
    for t in (0.0, move.duration):
        assert np.abs(np.concatenate([*move(t)[1:]])).max() < 1e-12
    assert move(0.0).q == pytest.approx(move(move.duration).q, abs=1e-12)
    t = np.linspace(0.0, move.duration, 50)
    for mine, again in zip(move(t), lw.trajectories.fourier(**move.coefficients)(t), strict=True):
        assert np.array_equal(mine, again)


@over_arms
def test_the_condition_number_is_that_of_the_regressor(index: int) -> None:
    move, arm = found(index), ARMS[index]
    names = lw.parameters(arm, base=True).names
    assert sorted((*move.parameters, *move.left_out)) == sorted(names)
    columns = [names.index(name) for name in move.parameters]
    rows = lw.regressor(arm, *move(move.times), base=True)[..., columns] / move.column_scale
    W = rows.reshape(-1, len(columns))
    assert move.condition == pytest.approx(np.linalg.cond(W), rel=1e-6)
    assert move.log_det == pytest.approx(np.linalg.slogdet(W.T @ W)[1], rel=1e-6)
    covariance = np.linalg.inv(W.T @ W) * len(move.times) / 1000.0  # from 1000 samples
    assert move.sigma == pytest.approx(np.sqrt(np.diag(covariance)) / move.column_scale, rel=1e-6)
    assert move.typical_sigma == pytest.approx(
        np.prod(move.sigma * move.column_scale) ** (1.0 / len(columns)), rel=1e-6
    )
    assert move.worst_sigma == pytest.approx(np.sqrt(np.linalg.eigvalsh(covariance)[-1]), rel=1e-6)


@over_arms
def test_it_is_better_than_random_motions_within_the_same_limits(index: int) -> None:
    move, arm = found(index), ARMS[index]
    limits, basis = MotionLimits.of(arm, LIMITS), SeriesBasis.make(3, 4.0, rest=True)
    names, rng = lw.parameters(arm, base=True).names, np.random.default_rng(index)
    columns = [names.index(name) for name in move.parameters]
    others = []
    while len(others) < 30:
        free = rng.normal(size=(basis.count, arm.n))
        free[0] = 0.25
        peaks = MotionPeaks.of(arm, basis.piece(free), None)
        used = [1.0 - x for kind in KINDS for x in getattr(peaks.margins(arm.v_names, limits), kind)]
        free[1:] *= 0.9 / max(used)
        rows = lw.regressor(arm, *basis.piece(free).at(move.times), base=True)[..., columns] / move.column_scale
        others.append(np.linalg.cond(rows.reshape(-1, len(columns))))
    assert move.condition < 1.02 * min(others)  # a little is given for more information


def test_the_same_seed_gives_the_same_motion_and_another_seed_another() -> None:
    one, again, other = (lw.excitation(ARMS[0], 2, 4.0, LIMITS, starts=1, seed=seed)(1.0).q for seed in (7, 7, 8))
    assert np.array_equal(one, again)
    assert not np.allclose(one, other)


def test_the_determinant_is_the_other_criterion() -> None:
    move, other = found(0, criterion="logdet"), found(0)
    assert move.log_det > other.log_det
    assert move.condition > other.condition
    assert move.criterion == "logdet"


def test_friction_noise_and_ends_that_are_not_at_rest() -> None:
    arm = ARMS[0]
    rubbing = lw.Friction(viscous=0.5, coulomb=2.0)
    move = found(0, friction=rubbing, noise=(1.0, 2.0, 4.0), rest=False)
    assert [name for name in move.parameters if name.endswith(("viscous", "coulomb"))] == [
        f"link{k}.{kind}" for kind in ("viscous", "coulomb") for k in (1, 2, 3)
    ]
    assert np.abs(move(0.0).qd).max() > 1e-3
    rows = lw.regressor(arm, *move(move.times), base=True, friction=rubbing) / np.array([1.0, 2.0, 4.0])[:, None]
    assert move.condition == pytest.approx(np.linalg.cond(rows.reshape(-1, 17) / move.column_scale), rel=1e-6)
    tau = lw.inverse_dynamics(arm, *move(np.linspace(0.0, 4.0, 5001)), friction=rubbing)
    assert (1.0 - np.abs(tau).max(axis=0) / 1000.0 >= move.margins.effort).all()


@pytest.mark.slow
def test_torque_limits_that_bind_are_kept() -> None:
    arm = ARMS[0]
    weakest = 1.3 * np.abs(lw.torque_along(arm, lw.trajectories.cycloid([0] * 3, [1e-9] * 3, 1.0), 3).tau).max(axis=0)
    move = lw.excitation(arm, 2, 2.0, {**LIMITS, "velocity": 10.0, "acceleration": 200.0, "effort": weakest}, starts=1)
    tau = lw.inverse_dynamics(arm, *move(np.linspace(0.0, 2.0, 20_001)))
    used = (np.abs(tau) / weakest).max(axis=0)
    assert 0.85 < used.max() <= 0.9


def test_joints_that_turn_without_end_and_limits_by_name() -> None:
    limits = {**LIMITS, "position": {"link1": (-np.inf, np.inf), "link2": (-1, 1), "link3": (0, 2)}}
    move = lw.excitation(ARMS[0], 2, 4.0, limits, starts=1)
    q = move(np.linspace(0.0, 4.0, 1000)).q
    assert (q[:, 1:] > (-1.0, 0.0)).all()
    assert (q[:, 1:] < (1.0, 2.0)).all()
    assert np.isnan(move.margins.position[0])
    assert np.isfinite(move.margins.position[1:]).all()


def test_limits_of_the_table_and_of_joints_that_follow() -> None:
    ends = {"limits": (-1.0, 2.0), "velocity_limit": 3.0}
    rows = [{**row, **ends, "effort_limit": 0.0 if k else 50.0} for k, row in enumerate(ARMS[0].rows)]
    rows[2] |= {"coupled_to": "link2", "ratio": -2.0, "offset": 0.5, "velocity_limit": 4.0}
    limits = MotionLimits.of(lw.Robot.from_dh(rows, gravity=(0, -9.81, 0), convention="standard", name="pair"), None)
    assert limits.lower.tolist() == [-1.0, -0.75]  # -2 q + 0.5 = 2
    assert limits.upper.tolist() == [2.0, 0.75]
    assert limits.velocity.tolist() == [3.0, 2.0]
    assert limits.effort.tolist() == [50.0, np.inf]
    assert limits.acceleration.tolist() == [np.inf, np.inf]
    assert repr(limits).splitlines()[-2].split() == ["link1", "-1", "to", "2", "3", "-", "50"]


@contextmanager
def stopped_at(step: int) -> Iterator[None]:
    kept, count = Search.minimise, iter(range(1000))

    def minimise_(self: Search, *arguments: Any) -> Any:
        if next(count) == step:
            raise KeyboardInterrupt
        return kept(self, *arguments)

    Search.minimise = minimise_  # type: ignore[method-assign]
    try:
        yield
    finally:
        Search.minimise = kept  # type: ignore[method-assign]


def test_control_c_keeps_the_best_so_far() -> None:
    with stopped_at(1), pytest.raises(lw.errors.ExcitationInterrupted, match=r"is kept as \.excitation") as caught:
        lw.excitation(ARMS[0], 2, 4.0, LIMITS, starts=2)
    best = caught.value.excitation
    assert isinstance(best, lw.results.Excitation)
    assert best.condition < 100.0
    with stopped_at(0), pytest.raises(KeyboardInterrupt) as caught_early:
        lw.excitation(ARMS[0], 2, 4.0, LIMITS, starts=2)
    assert not isinstance(caught_early.value, lw.errors.ExcitationInterrupted)


def test_progress_in_lines(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("linkwise.progress.PATIENCE", 0.0)
    lw.excitation(ARMS[3], 2, 4.0, LIMITS, starts=2, progress=True)
    first = capsys.readouterr().err.splitlines()[0]
    assert first.startswith("excitation:")
    assert "start 1 of 2" in first
    bounded(ARMS[3], position=(0, 1))
    assert capsys.readouterr().err == ""


def test_it_is_a_trajectory_like_the_others(tmp_path: Path) -> None:
    move, arm = found(0), ARMS[0]
    assert isinstance(move, lw.trajectories.Trajectory)
    assert "3 harmonics, 4 s; condition" in repr(move)
    assert "least margin 10" in repr(move)
    assert repr(move.margins).splitlines()[1].split() == ["joint", *KINDS]
    approach = lw.trajectories.quintic([0, 0, 0], move(0.0).q, 2.0).then(move)
    start = approach(0.0).q
    law = lw.control.computed_torque(approach, kp=100.0, kd=20.0)
    run = lw.simulate(arm, start, duration=6.0, torque=law, samples=20, rtol=1e-6)
    assert np.abs(run.q - approach(run.t).q).max() < 1e-4
    move.to_csv(tmp_path / "move.csv", 101)
    read = lw.trajectories.read_csv(tmp_path / "move.csv")
    assert read(1.0).q == pytest.approx(move(1.0).q, abs=1e-9)


@pytest.mark.slow
def test_picture(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    move = found(0)
    figure = move.plot(tmp_path / "move.png", 51)
    assert (tmp_path / "move.png").stat().st_size > 10_000
    assert [len(axes.lines) for axes in figure.axes] == [3, 3, 3, 1] * 3  # a limit far from the curve is a number
    assert [text.get_text() for text in figure.axes[3].texts] == ["limit 1000"]
    full = lw.trajectories.quintic([0, 0, 0], move(0.0).q, 2.0).then(move)
    figure = full.plot(degrees=True, samples=11)
    titles = [axes.get_title() for axes in figure.axes[:4]]
    assert titles == ["position (deg)", "rate (deg/s)", "acceleration (deg/s²)", "torque of the drive (N m)"]
    assert figure.axes[0].lines[1].get_ydata()[0] == pytest.approx(np.degrees(-2.0))
    assert len(lw.trajectories.quintic([0, 0], [1, 1], 1.0).plot().axes) == 6
    assert len(lw.trajectories.quintic([0] * 6, [1] * 6, 1.0).plot(robot=lw.load("stanford")).axes) == 24
    satellite = lw.load("satellite")
    still = lw.neutral(satellite)
    assert len(lw.trajectories.quintic(still, still, 1.0, robot=satellite).plot(samples=3, robot=satellite).axes) == 48
    with pytest.raises(ValueError, match="the trajectory has 2 joints, robot 'planar3' has 3"):
        lw.trajectories.quintic([0, 0], [1, 1], 1.0).plot(robot=ARMS[0])
    with pytest.raises(TypeError, match="degrees=True without a robot"):
        lw.trajectories.quintic([0, 0], [1, 1], 1.0).plot(degrees=True)


def test_the_command_line_does_the_same(tmp_path: Path) -> None:
    table = tmp_path / "move.csv"
    options = "--position -2:2.5 --velocity link1=2,link2=2,link3=2 --acceleration 8 --effort 1000,1000,1000"
    options += " --harmonics 3 --duration 4 --starts 1 --noise 1,1,1 --rate 5"
    line = f"excite planar3 {options} --json --csv '{table}'"
    result = linkwise(line)
    assert result.code == 0
    printed, move = json.loads(result.out), found(0)
    assert printed["condition"] == move.condition
    assert printed["sines"] == move.series.sines.tolist()
    assert printed["sigma"] == move.sigma.tolist()
    assert len(table.read_text().splitlines()) == 22
    assert lw.trajectories.read_csv(table)(1.0).q == pytest.approx(move(1.0).q, abs=1e-12)


def test_limits_as_they_are_typed() -> None:
    typed = {"position": "-90:90,-1:1,pi/2:inf", "velocity": "link2=30", "effort": "5"}
    assert parse_limits(ARMS[0], typed, degrees=True) == {
        "position": [(-np.pi / 2, np.pi / 2), (np.radians(-1), np.radians(1)), (np.pi / 2, np.inf)],
        "velocity": {"link2": np.radians(30)},
        "effort": [5.0, 5.0, 5.0],
    }
    velocity = parse_limits(lw.load("stanford"), {"velocity": "2", "effort": None}, degrees=True)["velocity"]
    assert velocity[1:3] == [np.radians(2), 2.0]


def test_the_command_line_keeps_what_was_found_until_it_was_interrupted() -> None:
    with stopped_at(1):
        result = linkwise("excite planar3 --position -2:2 --velocity 2 --harmonics 2 --starts 2")
    assert result.code == 130
    assert "condition number" in result.out
    assert "of the noise (geometric mean)" in result.out
    assert ["link1", "-2:2", "2", "-", "-"] in [line.split() for line in result.out.splitlines()]
    assert "the best motion until then" in result.err


@in_turn(
    [
        ("", "--position link1=LOWER:UPPER in rad, or -inf:inf if it turns without end"),
        ("--position -2:2", "--velocity link1=NUMBER in rad/s"),
        ("--position -2", "'-2' is not a limit (expected such as -1.5:1.5)"),
        ("--velocity 1:2", "'1:2' is not a limit (expected such as 1.5)"),
        ("--velocity 1,2", "--velocity has 2 limits (expected one for all joints, or 3: link1, link2, link3)"),
        ("--velocity joint1=1", "there is no 'joint1'"),
        ("--velocity link1=1,2", "'2' has no name"),
        ("--noise 1,2", "--noise has 2 numbers (expected one, or 3: link1, link2, link3)"),
        ("--rate 5 --samples 3", "--samples and --rate exclude each other"),
        ("--position -2:2 --velocity 2 --effort 1e-3 --starts 1", "a smaller --margin"),
    ]
)
def test_limits_that_are_typed_wrongly(case: tuple[str, str]) -> None:
    options, message = case
    result = linkwise(f"excite planar3 {options}")
    assert result.code == 2
    assert message in result.err


@in_turn(
    [
        (lambda arm: lw.excitation("panda"), TypeError, "did you mean linkwise.load"),
        (lambda arm: lw.excitation(lw.load("satellite")), ValueError, "joint 'bus' of robot 'satellite' is free"),
        (lambda arm: lw.excitation(arm), ValueError, "joint 'link1' of robot 'planar3' has no limits of its position"),
        (lambda arm: lw.excitation(arm, limits={"position": (-1, 1)}), ValueError, "has no velocity limit"),
        (lambda arm: lw.excitation(arm, limits={"velocty": 1}), ValueError, "did you mean 'velocity'"),
        (lambda arm: lw.excitation(arm, limits=[1]), TypeError, "expected a mapping such as"),
        (lambda arm: bounded(arm, position=(1, -1)), ValueError, "lower first"),
        (lambda arm: bounded(arm, position=(0, np.inf)), ValueError, "no limits of its position"),
        (lambda arm: bounded(arm, velocity=0), ValueError, "expected a positive number"),
        (lambda arm: bounded(arm, velocity="fast"), TypeError, r"limits\['velocity'\] is 'fast'"),
        (lambda arm: bounded(arm, velocity=[1, 2]), ValueError, "or one for each of 3"),
        (lambda arm: bounded(arm, effort={"link9": 1}), ValueError, "link9.*did you mean"),
        (lambda arm: bounded(arm, effort=1e-3), ValueError, "joint 'link1' of robot 'planar3' needs .* N m to stand"),
        (lambda arm: lw.excitation(arm, 1, limits=LIMITS), ValueError, "one harmonic alone is never at rest"),
        (lambda arm: lw.excitation(arm, limits=LIMITS, criterion="det"), ValueError, "did you mean 'logdet'"),
        (lambda arm: lw.excitation(arm, limits=LIMITS, margin=1.0), ValueError, "margin is 1.0"),
        (lambda arm: lw.excitation(arm, limits=LIMITS, noise=[1, 0, 1]), ValueError, "noise of joint 2 is 0"),
        (lambda arm: lw.excitation(arm, limits=LIMITS, samples=20), ValueError, "samples is 20"),
        (lambda arm: lw.excitation(arm, limits=LIMITS, starts=0), ValueError, "starts is 0"),
        (lambda arm: lw.excitation(arm, limits=LIMITS, duration=-1), ValueError, "duration is -1"),
    ]
)
def test_what_makes_no_sense_is_refused(case: tuple[Any, type[Exception], str]) -> None:
    call, error, message = case
    with pytest.raises(error, match=message):
        call(ARMS[0])


def bounded(arm: lw.Robot, **limits: Any) -> lw.results.Excitation:
    return lw.excitation(arm, 2, 4.0, {**LIMITS, **limits}, starts=1)


def test_samples_bound_a_series() -> None:
    """The bounds hold, and are near: of series whose peaks lie between the samples."""
    rng = np.random.default_rng(3)
    for harmonics in (1, 2, 5):
        basis = SeriesBasis.make(harmonics, 2.0, rest=False)
        series = basis.piece(rng.normal(size=(basis.count, 50)))
        fine = series.at(np.linspace(0.0, 2.0, 20_001)).q
        for samples in (4 * harmonics + 1, 40 * harmonics):
            low, high = bounds(series.at(basis.times(samples)).q, harmonics)
            assert (low <= fine.min(axis=0)).all()
            assert (high >= fine.max(axis=0)).all()
    assert (high - low <= (fine.max(axis=0) - fine.min(axis=0)) * 1.01).all()


@pytest.mark.parametrize("criterion", [lambda W: smooth_condition(W, 4), smooth_log_det])
def test_criteria_have_their_derivatives(criterion: Any) -> None:
    rng = np.random.default_rng(0)
    W, step = rng.normal(size=(2, 40, 6))
    (ahead, _), (behind, _), (_, slope) = criterion(W + 1e-5 * step), criterion(W - 1e-5 * step), criterion(W)
    assert (slope * step).sum() == pytest.approx((ahead - behind) / 2e-5, rel=1e-7)


def test_the_problem_has_its_derivatives() -> None:
    arm, rng = DRIVEN[1], np.random.default_rng(2)
    limits = MotionLimits.of(arm, LIMITS)
    regressor = compiled_regressor(arm, None, rng.uniform(0.5, 2.0, arm.n))
    problem = ExcitationProblem.make(regressor, SeriesBasis.make(3, 4.0, rest=True), 60, limits, "condition")
    x = problem.start(rng)
    assert x is not None
    step = rng.normal(size=x.shape)

    def slope(f: Any, h: float = 1e-6) -> Any:
        return (f(x + h * step) - f(x - h * step)) / (2.0 * h)

    assert problem.smooth(x)[1] @ step == pytest.approx(slope(lambda x: problem.smooth(x)[0]), rel=1e-6)
    barrier = problem.barrier(x)
    assert barrier.gradient @ step == pytest.approx(slope(lambda x: problem.barrier(x).value), rel=1e-6)
    assert barrier.hessian @ step == pytest.approx(slope(lambda x: problem.barrier(x).gradient), rel=1e-5, abs=1e-9)
    room = problem.room(x, step)
    assert np.isfinite(problem.barrier(x + 0.999 * room * step).value)
    assert problem.barrier(x + 1.001 * room * step).value == np.inf


def test_columns_that_others_hide_are_left_out() -> None:
    W = np.random.default_rng(0).normal(size=(50, 4))
    W = np.hstack([W[:, :2], (W[:, :1] - 2.0 * W[:, 1:2]) + 1e-6 * W[:, 2:3], W[:, 3:]])
    W /= np.linalg.norm(W, axis=0)
    assert independent(W.T @ W) == [0, 1, 3]


class Corner:
    """|x - c|² within |x_k| < 1, with a small barrier: the nearest corner."""

    centre = np.array([3.0, -2.0, 0.5])

    def smooth(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        return float(((x - self.centre) ** 2).sum()), 2.0 * (x - self.centre)

    def barrier(self, x: np.ndarray) -> Barrier:
        room = 1.0 - x**2
        if (room <= 0.0).any():
            return Barrier(np.inf, 0.0 * x, np.zeros((3, 3)))
        return Barrier(
            -1e-8 * float(np.log(room).sum()), 2e-8 * x / room, np.diag(2e-8 * (1.0 + x**2) / room**2)
        )  # fmt: skip

    def room(self, x: np.ndarray, step: np.ndarray) -> float:
        return float(((np.sign(step) - x) / step).min())


def test_the_minimum_may_be_at_limits() -> None:
    assert minimise(Corner(), np.zeros(3), 200, 1e-12) == pytest.approx([1.0, -1.0, 0.5], abs=1e-5)


def test_a_singular_curvature_gives_a_direction() -> None:
    direction = newton_direction(np.diag([2.0, 0.0]), np.array([1.0, 0.0]))
    assert np.allclose(direction, [0.5, 0.0])


def test_motions_that_are_too_small_or_too_slow_say_so() -> None:
    """Limits and duration scale the columns too, so that the condition number does not tell."""
    arm = TEXTBOOK[1]
    narrow = {**LIMITS, "position": dict.fromkeys(arm.q_names, (-1.0, 1.0)) | {arm.q_names[1]: (1.0, 1.0 + 1e-6)}}
    with pytest.warns(UserWarning, match=f"hardly moves: {arm.q_names[1]} "):
        lw.excitation(arm, 2, 4.0, narrow, starts=1)
    with warns(UserWarning, "robot 'planar3'", "3.2e-08 %"):
        slow = lw.excitation(arm, 2, 1e5, LIMITS, starts=1)
    assert len(slow.notes) == 1
    assert not found(0).notes


def test_slower_motions_are_worth_less_by_every_number_and_say_so() -> None:
    """Columns are scaled by the limits alone, so that motions of any duration can be compared."""
    arm, fast = ARMS[3], found(3)
    with warns(UserWarning, "robot 'gantry'", "86 %", "18 %"):
        slow = lw.excitation(arm, 3, 20.0, LIMITS, starts=1)
    assert np.array_equal(slow.column_scale, fast.column_scale)
    assert slow.condition > fast.condition
    assert slow.typical_sigma > fast.typical_sigma
    assert slow.worst_sigma > fast.worst_sigma
    assert "more harmonics than 3, or a shorter duration than 20 s" in slow.notes[0]
    with warns(UserWarning, "robot 'gantry'", "0.032 rad/s", "0.1 m/s²"):
        lw.excitation(arm, 3, 4.0, {**LIMITS, "acceleration": 0.1}, starts=1)


def test_harmonics_follow_the_duration() -> None:
    assert [default_harmonics(t) for t in (0.1, 10.0, 10.1, 20.0, 1e4)] == [5, 5, 6, 10, 15]


def test_a_motion_for_a_controller(tmp_path: Path) -> None:
    move, path = found(0), tmp_path / "move.csv"
    full = lw.trajectories.quintic([0.0, 0.0, 0.0], move(0.0).q, 2.0).then(move).then(move)
    assert (full.robot, full.limits) == (move.robot, move.limits)
    full.to_csv(path, rate=12.5, names=True, degrees=True)
    head, *rows = path.read_text().splitlines()
    assert head.startswith("t,q_link1,q_link2,q_link3,qd_link1")
    assert [float(row.split(",")[0]) for row in rows] == [k / 12.5 for k in range(126)]
    read = lw.trajectories.read_csv(path, robot=ARMS[0], degrees=True)
    assert read(3.04).q == pytest.approx(full(3.04).q, abs=1e-12)
    full.to_csv(path, rate=3.0)
    assert path.read_text().splitlines()[-1].startswith(f"{30 / 3.0!r},")
    assert lw.torque_along(ARMS[0], full, rate=0.3, loads=False).t.tolist() == [0.0, 1 / 0.3, 2 / 0.3, 3 / 0.3]
    plain = lw.trajectories.quintic([0.0, 0.0], [1.0, 1.0], 1.0)
    for option in ("degrees", "names"):
        with raises(ValueError, f"{option}=True", "lw.excitation"):
            plain.to_csv(path, **{option: True})
    with pytest.raises(ValueError, match="rate is -1"):
        plain.to_csv(path, rate=-1)
