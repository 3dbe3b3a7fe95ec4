"""Trajectories are their own derivatives' integrals, go where they are told, and ask of a robot what mechanics says."""

import builtins
import re
from collections.abc import Callable
from dataclasses import FrozenInstanceError
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import simpson
from scipy.interpolate import BPoly, CubicSpline

import linkwise as lw
from effort import examples
from linkwise.trajectories.pieces import HERMITE
from linkwise.trajectories.trajectory import Trajectory
from reference import DATA, ROBOTS

STEP = 1e-30  # of the complex-step derivative, which is exact to rounding
ENDS = ("clamped", "natural", "periodic")
PAPER = {  # Eqs. (38) and (39), with amplitudes that reach the stated ends
    "planar3R": (np.zeros(3), np.full(3, np.pi)),
    "stanford": (np.array([0, np.pi / 2, 0, 0, 0, 0]), np.array([1, 1, 0.3 / np.pi, 1, 1, 1]) * np.pi / 3),
}
numbers = st.floats(-100.0, 100.0, allow_subnormal=False)
durations = st.floats(1e-3, 1e3)
vectors = st.integers(1, 4).flatmap(lambda n: st.tuples(*[st.lists(numbers, min_size=n, max_size=n)] * 8))


def points(seed: int, count: int, n: int = 3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return np.append(0.0, np.cumsum(rng.uniform(0.1, 2.0, count - 1))), rng.normal(size=(count, n))


def periodic(seed: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    times, values = points(seed, count)
    return times, np.concatenate([values[:-1], values[:1]])


def smooth() -> dict[str, Trajectory]:
    a, b, *rest = np.random.default_rng(5).normal(size=(8, 3))
    return {
        "cycloid": lw.cycloid(a, b, 3.0),
        "cubic": lw.cubic(a, b, 2.0, *rest[:2]),
        "quintic": lw.quintic(a, b, 0.7, *rest[:4]),
        "septic": lw.septic(a, b, 5.0, *rest[:6]),
        "fourier": lw.fourier(a, rest[:3], rest[3:6], 4.0),
    }


def kinds() -> dict[str, Trajectory]:
    """One of each kind; being in this list is being held to the laws."""
    a, b = np.random.default_rng(6).normal(size=(2, 3))
    return {
        **smooth(),
        "trapezoid": lw.trapezoid(a, b, speed=[1.0, 2.0, 3.0], acceleration=4.0),
        "triangle": lw.trapezoid(a, b, speed=50.0, acceleration=4.0),
        "clamped": lw.spline(*points(1, 9)),
        "natural": lw.spline(*points(2, 9), ends="natural"),
        "periodic": lw.spline(*periodic(3, 9), ends="periodic"),
        "joined": lw.cycloid(a, b, 3.0).then(lw.septic(b, a, 2.0)).then(lw.spline([0, 1, 2], [a, b, a])),
    }


over_kinds = pytest.mark.parametrize("kind", kinds())
over_smooth = pytest.mark.parametrize("kind", smooth())


@over_kinds
def test_rate_and_acceleration_are_the_derivatives(kind: str) -> None:
    for piece in kinds()[kind].pieces:
        t = np.random.default_rng(0).uniform(0.0, piece.duration, 200)
        plain, stepped = piece.at(t), piece.at(t + 1j * STEP)
        for slope, expected in ((stepped.q.imag / STEP, plain.qd), (stepped.qd.imag / STEP, plain.qdd)):
            assert np.abs(slope - expected).max() < 1e-13 * np.abs(expected).max()


@over_kinds
def test_the_call_agrees_with_its_pieces_and_integrates(kind: str) -> None:
    """Gauss-Legendre over many short stretches: what the rates add up to is the change of position."""
    move = kinds()[kind]
    nodes, weights = np.polynomial.legendre.leggauss(8)
    breaks = np.unique(np.concatenate([np.linspace(0.0, move.duration, 41), *knots_of(move)]))
    half = np.diff(breaks) / 2.0
    t = (breaks[:-1] + half)[:, None] + half[:, None] * nodes
    found = move(t)
    assert found.q.shape == (*t.shape, move.n)
    change = ((half[:, None] * weights)[..., None] * found.qd).sum((0, 1))
    assert change == pytest.approx(move(move.duration).q - move(0.0).q, abs=1e-12)
    change = ((half[:, None] * weights)[..., None] * found.qdd).sum((0, 1))
    assert change == pytest.approx(move(move.duration).qd - move(0.0).qd, abs=1e-11)


def knots_of(move: Trajectory) -> list[np.ndarray]:
    begins = np.cumsum([0.0, *(piece.duration for piece in move.pieces)])
    return [begin + getattr(piece, "knots", np.zeros(1)) for begin, piece in zip(begins, move.pieces, strict=False)]


@over_smooth
def test_a_traced_time_gives_the_same_and_its_derivative_by_the_graph(kind: str) -> None:
    move, arm = smooth()[kind], lw.load("planar3")
    slopes = [
        lw.derivative(lambda arm, t, k=k: move(t)[k], arm, "t", t=lw.Input()) for k in (0, 1)
    ]  # fmt: skip
    for t in np.linspace(0.0, move.duration, 7):
        assert slopes[0](t) == pytest.approx(move(t).qd, rel=1e-12, abs=1e-12)
        assert slopes[1](t) == pytest.approx(move(t).qdd, rel=1e-12, abs=1e-12)


@over_smooth
def test_a_trajectory_compiles_with_what_follows_it(kind: str) -> None:
    move, arm = smooth()[kind], lw.load("planar3")
    kernel = lw.compile(lambda arm, t: lw.inverse_dynamics(arm, *move(t)), arm, t=lw.Input())
    t = np.linspace(0.0, move.duration, 50)
    expected = lw.inverse_dynamics(arm, *move(t))
    assert np.abs(kernel(t) - expected).max() < 1e-12 * np.abs(expected).max()


def test_many_digits() -> None:
    mp = pytest.importorskip("mpmath")
    move = smooth()["septic"]
    with mp.workdps(40):
        found = move(mp.mpf(2))
        assert mp.diff(lambda t: move(t).q[0], mp.mpf(2)) == pytest.approx(found.qd[0], rel=1e-15)
    assert np.array(found.q, dtype=float) == pytest.approx(move(2.0).q, rel=1e-14)


def test_a_fourier_series_repeats_itself_and_has_the_coefficients_it_was_made_of() -> None:
    rng = np.random.default_rng(7)
    offset, sines, cosines = rng.normal(size=2), rng.normal(size=(4, 2)), rng.normal(size=(4, 2))
    move = lw.fourier(offset, sines, cosines, 3.0)
    for here, there in zip(move(0.0), move(3.0), strict=True):
        assert there == pytest.approx(here, abs=1e-11)
    found = np.fft.rfft(move(np.arange(64) * 3.0 / 64).q, axis=0) / 32
    assert found[0].real / 2 == pytest.approx(offset)
    assert found[1:5].real == pytest.approx(cosines)
    assert -found[1:5].imag == pytest.approx(sines)
    assert np.abs(found[5:]).max() < 1e-13
    assert repr(move) == "<Trajectory of 2 joints: Fourier series of 4 harmonics, 3 s>"


def test_fourier_series_that_make_no_sense() -> None:
    with pytest.raises(ValueError, match=r"cosines has shape \(2, 2\) \(expected \(3, 2\)"):
        lw.fourier([0, 0], np.zeros((3, 2)), np.zeros((2, 2)), 1.0)
    with pytest.raises(ValueError, match="offset has 2 numbers, robot 'planar3' has 3 joints"):
        lw.fourier([0, 0], np.zeros((3, 2)), np.zeros((3, 2)), 1.0, arm=lw.load("planar3"))
    with pytest.raises(ValueError, match="robot 'satellite' has quaternions"):
        lw.fourier([0, 0], np.zeros((3, 2)), np.zeros((3, 2)), 1.0, arm=lw.load("satellite"))


@examples(60)
@given(vectors, durations)
def test_boundary_conditions(given_: tuple[list[float], ...], T: float) -> None:
    a, b, *rest = map(np.array, given_)
    rates = [row / T ** (1 + k // 2) for k, row in enumerate(rest)]  # so that none outweighs the others
    size = np.abs(given_).max() + 1e-6
    wanted = {
        "cycloid": (lw.cycloid(a, b, T), [0.0 * a] * 4),
        "cubic": (lw.cubic(a, b, T, *rates[:2]), rates[:2]),
        "quintic": (lw.quintic(a, b, T, *rates[:4]), rates[:4]),
        "septic": (lw.septic(a, b, T, *rates[:6]), rates[:4]),
    }
    for move, ends in wanted.values():
        assert move.duration == T
        first, last = move(0.0), move(T)
        assert np.abs(first.q - a).max() <= 1e-15 * size
        assert np.abs(last.q - b).max() <= 1e-12 * size
        for k, (start, end) in enumerate(zip(ends[::2], ends[1::2], strict=True), 1):
            assert np.abs(first[k] - start).max() <= 1e-11 * size / T**k
            assert np.abs(last[k] - end).max() <= 1e-11 * size / T**k


def test_jerks_of_a_septic() -> None:
    a, b, *rest = np.random.default_rng(5).normal(size=(8, 3))
    piece = lw.septic(a, b, 5.0, *rest).pieces[0]
    for t, jerk in ((0.0, rest[4]), (5.0, rest[5])):
        assert piece.at(np.array(t + 1j * STEP)).qdd.imag / STEP == pytest.approx(jerk, abs=1e-12)


@pytest.mark.parametrize("count", HERMITE)
def test_the_table_of_hermite_solves_its_equations(count: int) -> None:
    """Derivative k of Σ c_i sⁱ at s = 1, with the lower coefficients given, for each of the unknowns in turn."""
    falling = [[float(np.prod([i - j for j in range(k)])) for i in range(2 * count)] for k in range(count)]
    ones = np.eye(2 * count)  # value, rate, ... at 0, then at 1
    lower = [ones[k] / np.prod(np.arange(1, k + 1)) for k in range(count)]
    known = ones[count:] - np.array([[falling[k][i] for i in range(count)] for k in range(count)]) @ lower
    upper = np.linalg.solve(np.array(falling)[:, count:], known)
    order = [row for k in range(1, count) for row in (k, count + k)]
    assert np.array(HERMITE[count]) == pytest.approx(upper[:, [count, *order]], abs=1e-10)


def test_the_published_shapes_from_rest_to_rest() -> None:
    s = np.linspace(0.0, 1.0, 11)
    shapes = {lw.cubic: 3 * s**2 - 2 * s**3, lw.quintic: 10 * s**3 - 15 * s**4 + 6 * s**5}
    shapes |= {lw.septic: 35 * s**4 - 84 * s**5 + 70 * s**6 - 20 * s**7}
    for make, shape in shapes.items():
        assert make(1.0, 3.0, 2.0)(2.0 * s).q[:, 0] == pytest.approx(1.0 + 2.0 * shape, abs=1e-13)


@pytest.mark.parametrize("ends", ENDS)
@pytest.mark.parametrize("count", [2, 3, 4, 5, 40])
def test_splines_are_scipys(count: int, ends: str) -> None:
    if ends == "periodic" and count == 2:
        return
    times, values = (periodic if ends == "periodic" else points)(count, count)
    theirs, t = CubicSpline(times, values, bc_type=ends), np.linspace(0.0, times[-1], 500)
    for k, found in enumerate(lw.spline(times, values, ends=ends)(t)):
        assert np.abs(found - theirs(t, k)).max() < 1e-12 * np.abs(theirs(t, k)).max() + 1e-13


@pytest.mark.parametrize("ends", ENDS)
def test_splines_pass_through_their_points_and_are_twice_continuous(ends: str) -> None:
    times, values = (periodic if ends == "periodic" else points)(11, 30)
    move = lw.spline(times, values, ends=ends)
    assert np.abs(move(times).q - values).max() < 1e-14 * np.abs(values).max()
    piece = move.pieces[0]
    before = [piece.at(np.nextafter(t, 0.0)) for t in times[1:-1]]  # in the earlier polynomial
    for k, tolerance in enumerate((1e-13, 1e-12, 1e-10)):
        jump = np.array([motion[k] for motion in before]) - move(times[1:-1])[k]
        assert np.abs(jump).max() < tolerance
    first, last = move(0.0), move(times[-1])
    zero = {"clamped": [first.qd, last.qd], "natural": [first.qdd, last.qdd]}
    zero["periodic"] = [first.qd - last.qd, first.qdd - last.qdd]
    assert np.abs(zero[ends]).max() < 1e-11


@examples(60)
@given(vectors, st.floats(0.1, 10.0), st.floats(0.1, 10.0))
def test_trapezoids_keep_to_their_limits_and_reach_one(given_: Any, speed: float, acceleration: float) -> None:
    a, b = map(np.array, given_[:2])
    if np.abs(b - a).max() < 1e-3:
        return
    move = lw.trapezoid(a, b, speed=speed, acceleration=acceleration)
    T = move.duration
    t = np.append(np.linspace(0.0, T, 401), move.pieces[0].knots)
    q, qd, qdd = move(t)
    rounding = 1e-14 + 1e-15 * T / move.pieces[0].knots[1]  # of the difference of two times
    assert np.abs(qd).max() <= speed * (1 + rounding)
    assert np.abs(qdd).max() == pytest.approx(acceleration, rel=2 * rounding)
    assert np.abs(qd).max() == pytest.approx(min(speed, T / 2 * acceleration), rel=1e-9)
    along = (q - a) @ (b - a) / ((b - a) @ (b - a))
    assert np.abs(q - a - along[:, None] * (b - a)).max() < 1e-11 * np.abs([a, b]).max()  # a straight line
    assert move(0.0).q == pytest.approx(a, abs=1e-12)
    assert move(T).q == pytest.approx(b, abs=1e-12)
    assert np.abs(move([0.0, T]).qd).max() < 1e-12 * speed
    again = lw.trapezoid(a, b, duration=T, acceleration=acceleration)
    assert again(T / 3).q == pytest.approx(move(T / 3).q, abs=1e-5)  # a root of what may be nearly nothing
    if len(move.pieces[0].knots) == 4:
        again = lw.trapezoid(a, b, duration=T, speed=speed)
        assert again(T / 3).q == pytest.approx(move(T / 3).q, abs=1e-9)


def test_trapezoid_of_speed_and_duration() -> None:
    move = lw.trapezoid([0, 0], [1, -2], duration=3.0, speed=1.0)
    assert move(1.5).qd == pytest.approx([0.5, -1.0])
    assert move(0.5).qdd == pytest.approx([0.5, -1.0])
    assert move.pieces[0].knots == pytest.approx([0, 1, 2, 3])
    still = lw.trapezoid([1, 2], [1, 2], duration=3.0, speed=1.0)
    assert np.array_equal(still(1.0), [[1, 2], [0, 0], [0, 0]])
    assert lw.trapezoid([0, 5], [1, 5], speed=1.0, acceleration=1.0)(2.0).q[1] == 5.0  # one joint stands


def test_times_outside_are_held_and_those_that_are_none_refused() -> None:
    move = lw.cubic([0.0], [1.0], 2.0, start_rate=1.0, end_rate=3.0)
    assert move(2.0 + 1e-13).q == move(2.0).q  # rounding
    assert move(2.0 + 1e-13).qd == pytest.approx(3.0)
    q, qd, qdd = move([-1.0, 0.0, 3.0])
    assert q[:, 0] == pytest.approx([0, 0, 1])
    assert qd[:, 0] == pytest.approx([0, 1, 0])
    assert (qdd[[0, 2]] == 0).all()
    for t, message in ((np.nan, "t is nan"), (np.inf, "t is inf")):
        with pytest.raises(ValueError, match=message):
            move(t)
    with pytest.raises(TypeError, match="t has dtype"):
        move("now")


def test_shapes_of_times() -> None:
    move = kinds()["joined"]
    for shape in ((), (1,), (4,), (2, 3), (0,)):
        assert all(part.shape == (*shape, 3) for part in move(np.full(shape, 0.5)))
    assert move([0, 1]).q.dtype == np.float64
    assert np.array_equal(move([0.5, 4.0]).q, [move(0.5).q, move(4.0).q])


def test_joined_trajectories_follow_each_other() -> None:
    out, back = lw.cycloid([0, 0], [1, 2], 2.0), lw.quintic([1, 2], [0, 0], 3.0)
    both = out.then(back)
    assert both.duration == 5.0
    assert np.array_equal(both(1.3), out(1.3))
    assert np.array_equal(both(2.0 + 1.25), back(1.25))
    with pytest.raises(ValueError, match="joint 2 would jump from 2, where one ends, to 3"):
        out.then(lw.cycloid([1, 3], [0, 0], 1.0))
    with pytest.raises(ValueError, match="of 1 joint cannot follow one of 2 joints"):
        out.then(lw.cycloid([1], [0], 1.0))
    with pytest.raises(TypeError, match="what follows is 3"):
        out.then(3)  # type: ignore[arg-type]


def test_a_trajectory_is_frozen() -> None:
    start = np.zeros(2)
    move = lw.cycloid(start, [1, 1], 1.0)
    start[0] = 9.0
    assert move(0.0).q[0] == 0.0
    with pytest.raises(FrozenInstanceError):
        move.pieces = ()  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        move.pieces[0].start[0] = 1.0  # type: ignore[attr-defined]
    assert repr(move) == "<Trajectory of 2 joints: cycloid, 1 s>"


WRONG: dict[str, tuple[Callable[[], object], str]] = {
    "lengths": (lambda: lw.cycloid([0, 0], [1], 1.0), "start has 2 and end has 1 number "),
    "no numbers": (lambda: lw.cubic([], [], 1.0), r"start has shape \(0,\)"),
    "text": (lambda: lw.cycloid("here", [1], 1.0), "start is 'here'"),
    "not finite": (lambda: lw.quintic([0, np.nan], [1, 1], 1.0), r"start\[1\] is nan"),
    "too many axes": (lambda: lw.cycloid([[0]], [[1]], 1.0), r"start has shape \(1, 1\)"),
    "no duration": (lambda: lw.cycloid([0], [1], 0.0), "duration is 0"),
    "negative duration": (lambda: lw.septic([0], [1], -1.0), "duration is -1"),
    "endless": (lambda: lw.cubic([0], [1], np.inf), "duration is inf"),
    "no number": (lambda: lw.cubic([0], [1], "1 s"), "duration is '1 s'"),
    "rates": (lambda: lw.cubic([0] * 3, [1] * 3, 1.0, [1, 2]), "start_rate has 2 numbers"),
    "jerks": (lambda: lw.septic([0], [1], 1.0, end_jerk=[1, 2]), "end_jerk has 2 numbers"),
    "nothing": (lambda: lw.trapezoid([0], [1]), "under-determined by nothing"),
    "duration alone": (lambda: lw.trapezoid([0], [1], duration=1), "under-determined by duration"),
    "all three": (lambda: lw.trapezoid([0], [1], duration=1, speed=1, acceleration=1), "over-determined"),
    "too slow": (lambda: lw.trapezoid([0], [4], duration=3, speed=1), "does not arrive .* above 4 s"),
    "too fast": (lambda: lw.trapezoid([0], [4], duration=9, speed=1), "more than such a motion can use .* at most 8 s"),
    "too lazy": (lambda: lw.trapezoid([0], [4], duration=3, acceleration=1), "at least 4 s"),
    "backwards": (lambda: lw.trapezoid([0, 0], [1, -1], speed=[1, -1], acceleration=1), "speed of joint 2 is -1"),
    "no way": (lambda: lw.trapezoid([1], [1], speed=1, acceleration=1), "start and end are the same"),
    "times back": (lambda: lw.spline([0, 2, 1], [[0], [1], [2]]), r"times\[2\] is 1, after 2"),
    "times twice": (lambda: lw.spline([0, 1, 1], [[0], [1], [2]]), r"times\[2\] is 1, after 1"),
    "late": (lambda: lw.spline([1, 2], [[0], [1]]), r"times\[0\] is 1 \(expected 0"),
    "one point": (lambda: lw.spline([0], [[0]]), "at least two points"),
    "rows": (lambda: lw.spline([0, 1], [[0]]), "times has 2 numbers and points has 1 rows"),
    "ragged": (lambda: lw.spline([0, 1], [[0], [1, 2]]), "points is .* a row for each time"),
    "points": (lambda: lw.spline([0, 1], [[0, 1], [1, np.inf]]), r"points\[1, 1\] is inf"),
    "ends": (lambda: lw.spline([0, 1], [0, 1], ends="clampd"), "ends is 'clampd', did you mean 'clamped'"),
    "open": (lambda: lw.spline([0, 1, 2], [[0, 0], [1, 1], [0, 2]], ends="periodic"), "joint 2 starts at 0 and ends"),
    "short": (lambda: lw.spline([0, 1], [[0], [0]], ends="periodic"), "at least three"),
    "samples": (lambda: lw.torque_along(lw.load("gantry"), lw.cycloid([0] * 3, [1] * 3, 1), 1), "samples is 1"),
    "joints": (
        lambda: lw.torque_along(lw.load("gantry"), lw.cycloid([0], [1], 1)),
        "the trajectory has 1 joint, robot 'gantry' has 3: .*, ",
    ),
    "robot": (lambda: lw.torque_along("gantry", lw.cycloid([0], [1], 1)), "did you mean linkwise.load"),
    "no trajectory": (lambda: lw.torque_along(lw.load("gantry"), np.zeros(3)), "expected a Trajectory"),
    "frame": (lambda: lw.torque_along(lw.load("gantry"), lw.cycloid([0] * 3, [1] * 3, 1), frame="x"), "frame is 'x'"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_said(case: str) -> None:
    make, message = WRONG[case]
    with pytest.raises((ValueError, TypeError), match=message):
        make()


# Files


def test_a_table_of_motion_comes_back_at_its_rows_and_between(tmp_path: Path) -> None:
    move = smooth()["quintic"]
    move.to_csv(tmp_path / "move.csv", samples=7)
    again = lw.trajectory_from_csv(tmp_path / "move.csv")
    assert again.n == 3
    assert again.duration == move.duration
    assert repr(again) == "<Trajectory of 3 joints: polynomials of degree 5 through 7 rows of move.csv, 0.7 s>"
    t = np.linspace(0.0, move.duration, 100)  # a quintic is its own Hermite interpolant
    for k, tolerance in enumerate((1e-13, 1e-12, 1e-9)):
        assert np.abs(again(t)[k] - move(t)[k]).max() < tolerance


def test_tables_of_positions_and_of_rates(tmp_path: Path) -> None:
    times, values = points(4, 6, 2)
    table = tmp_path / "points.csv"
    head, rows = "t,q1,q2", np.column_stack([times, values])
    np.savetxt(table, rows, delimiter=",", header=head, comments="", fmt="%.17g")
    for ends in (None, "natural"):
        expected = lw.spline(times, values, ends=ends or "clamped")
        found = lw.trajectory_from_csv(table, ends=ends)
        assert np.array_equal(found(times / 2.0), expected(times / 2.0))
    rates = np.random.default_rng(0).normal(size=values.shape)
    rows = np.column_stack([rates, times, values])  # in any order
    np.savetxt(table, rows, delimiter=" , ", header="qd1, qd2, t, q1, q2\n\n", comments="", fmt="%.17g")
    found = lw.trajectory_from_csv(table)
    theirs = BPoly.from_derivatives(times, np.stack([values, rates], axis=1))
    t = np.linspace(0.0, times[-1], 100)
    assert np.abs(found(t).q - theirs(t)).max() < 1e-12
    assert np.abs(found(t).qd - theirs.derivative()(t)).max() < 1e-12
    with pytest.raises(ValueError, match=r"ends is 'natural', but .*points\.csv gives the rates"):
        lw.trajectory_from_csv(table, ends="natural")


TABLES = {
    "word": ("t,q1\n0,0\n1,two\n", r":3: column 'q1' is 'two' \(expected a finite number\)"),
    "nan": ("t,q1\n0,0\n1,nan\n", r":3: column 'q1' is 'nan'"),
    "empty cell": ("t,q1\n0,0\n\n1,\n", r":4: column 'q1' is ''"),
    "short row": ("t,q1,q2\n0,0,0\n1,2\n", r":3: has 2 cells \(expected 3: t, q1, q2\)"),
    "times": ("t,q1\n0,0\n1,2\n1,3\n", r":4: column 't' is 1, after 1 in the row before"),
    "late": ("t,q1\n2,0\n3,2\n", r":2: column 't' begins at 2 \(expected 0"),
    "unknown": ("t,q1,speed\n0,0,0\n1,1,1\n", r":1: column 'speed' \(expected t, q1"),
    "no number": ("seconds,q1\n0,0\n1,1\n", r":1: column 'seconds'"),
    "twice": ("t,q1,q1\n0,0,0\n1,1,1\n", r":1: column 'q1' occurs twice"),
    "gap": ("t,q1,q3\n0,0,0\n1,1,1\n", r":1: column 'q2' is missing, of 2 joints"),
    "no time": ("q1,q2\n0,0\n1,1\n", r":1: column 't' is missing"),
    "no joints": ("t\n0\n1\n", r":1: column 'q1' is missing"),
    "rates": ("t,q1,q2,qd1\n0,0,0,0\n1,1,1,1\n", r":1: column 'qd2' is missing"),
    "acceleration": ("t,q1,qdd1\n0,0,0\n1,1,1\n", r":1: column 'qd1' is missing"),
    "more rates": ("t,q1,qd1,qd2\n0,0,0,0\n1,1,1,1\n", r":1: column 'qd2' belongs to no joint, of 1"),
    "late header": ("\n\nt,q2\n0,0\n1,1\n", r":3: column 'q1' is missing, of 1 joint "),
    "no header": ("0,0\n1,1\n2,2\n", r":1: column '0'"),
    "one row": ("t,q1\n0,0\n", r":2: ends after 1 rows"),
    "nothing": ("", r":1: ends after 0 rows"),
}


@pytest.mark.parametrize("case", TABLES)
def test_a_wrong_table_is_named_with_line_and_column(case: str, tmp_path: Path) -> None:
    text, message = TABLES[case]
    file = tmp_path / "wrong.csv"
    file.write_text(text)
    with pytest.raises(lw.FileError, match=re.escape(str(file)) + message):
        lw.trajectory_from_csv(file)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(lw.FileError, match=r"none\.csv: cannot be read"):
        lw.trajectory_from_csv(tmp_path / "none.csv")
    with pytest.raises(lw.FileError, match="cannot be read"):
        lw.trajectory_from_csv(tmp_path)
    (tmp_path / "bytes.csv").write_bytes(b"\xff\xfe\x00t")
    with pytest.raises(lw.FileError, match="is not text"):
        lw.trajectory_from_csv(tmp_path / "bytes.csv")
    (tmp_path / "open.csv").write_text("t,q1\n0,0\n1,1\n2,3\n")
    with pytest.raises(lw.FileError, match=r"open\.csv: joint 1 starts at 0 and ends at 3"):
        lw.trajectory_from_csv(tmp_path / "open.csv", ends="periodic")
    (tmp_path / "mark.csv").write_text("\ufefft,q1\r\n0,0\r\n1,1\r\n", encoding="utf-8")  # as spreadsheets write
    assert lw.trajectory_from_csv(tmp_path / "mark.csv")(1.0).q == 1.0


# Loads


@pytest.mark.parametrize("record", DATA["inverse_dynamics_trajectories"], ids=lambda r: r["robot"])
def test_the_papers_cycloids_and_their_torques(record: dict[str, Any]) -> None:
    """[Saha99] eqs. (38), (39): 40-digit values of the motion and of the torques of Figs. 5 and 8."""
    move = lw.cycloid(*PAPER[record["robot"]], record["T"])
    samples = {key: np.array([s[key] for s in record["samples"]]) for key in ("t", "q", "qd", "qdd", "tau")}
    for word, found in move(samples["t"])._asdict().items():
        assert np.abs(found - samples[word]).max() < 1e-14 * max(1.0, np.abs(samples[word]).max())
    along = lw.torque_along(ROBOTS[record["robot"]], move, 21)
    at = np.searchsorted(along.t, samples["t"] - 1e-9)
    assert along.t[at] == pytest.approx(samples["t"])
    assert np.abs(along.tau[at] - samples["tau"]).max() < 1e-12 * np.abs(samples["tau"]).max()


@pytest.mark.parametrize("name", ["gantry", "planar3", "puma560", "stanford"])
@pytest.mark.parametrize("kind", ["cycloid", "septic", "spline"])
def test_the_work_of_the_drives_is_the_change_of_energy(name: str, kind: str) -> None:
    arm = lw.load(name)
    a, b, *rest = np.random.default_rng(2).normal(size=(8, arm.n))
    make = {"cycloid": lambda: lw.cycloid(a, b, 2.0), "septic": lambda: lw.septic(a, b, 2.0, *rest)}
    make["spline"] = lambda: lw.spline([0, 0.5, 1.0, 1.5, 2.0], [a, b, *rest[:3]], ends="natural")
    along = lw.torque_along(arm, make[kind](), 4001, loads=False)
    energy = lw.kinetic_energy(arm, along.q, along.qd) + lw.potential_energy(arm, along.q)
    work = simpson(along.power.sum(-1), x=along.t)
    assert work == pytest.approx(energy[-1] - energy[0], abs=1e-9 * np.abs(energy).max())


def test_peaks_are_those_of_the_arrays() -> None:
    arm, move = lw.load("stanford"), lw.cycloid(*PAPER["stanford"], 2.0)
    along = lw.torque_along(arm, move, 301)
    peaks = along.peaks()
    for k in range(6):
        j = max(range(301), key=lambda j: abs(along.tau[j, k]))
        assert peaks.tau[k] == abs(along.tau[j, k])
        assert peaks.when[k] == along.t[j]
        assert peaks.power[k] == max(abs(along.tau[:, k] * along.qd[:, k]))
        assert peaks.rms[k] ** 2 * 2.0 == pytest.approx(simpson(along.tau[:, k] ** 2, x=along.t), rel=1e-4)
        for i in range(6):
            assert peaks.loads[k, i] == max(abs(along.loads[:, k, i]))
    assert peaks.joints == arm.names
    assert peaks.units == ("N m", "N m", "N", "N m", "N m", "N m")
    text = str(peaks).splitlines()
    assert text[0].startswith("stanford, largest magnitudes of 301 samples over 2 s; loads in the base frame")
    components = [f"|{axis}|" for axis in ("mx", "my", "mz", "fx", "fy", "fz")]
    named = ["joint", "unit", "|tau|", "at", "(s)", "rms", "tau", "power", "(W)"]
    assert text[1].split() == [*named, *components, "radial", "axial", "tilting"]
    assert len({len(line) - len(line.lstrip()) for line in text[3:]}) == 1
    assert text[5].split()[:4] == ["link3", "N", f"{peaks.tau[2]:.4g}", f"{peaks.when[2]:.4g}"]
    few = lw.torque_along(arm, move, 11, loads=False).peaks()
    assert few.loads is None
    assert "|mx|" not in str(few)


def test_rms_of_a_constant_torque_is_that_torque() -> None:
    arm = lw.load("planar3")
    here = [0.3, 0.2, 0.1]
    peaks = lw.torque_along(arm, lw.cycloid(here, here, 2.0), 50).peaks()
    assert peaks.rms == pytest.approx(np.abs(lw.gravity_torque(arm, here)), rel=1e-14)


def test_loads_are_joint_wrenches_and_the_drive_is_along_the_axis() -> None:
    arm, move = lw.load("stanford"), lw.septic(*PAPER["stanford"], 2.0)
    along = lw.torque_along(arm, move, 5, frame="joint")
    assert np.array_equal(along.loads, lw.joint_wrenches(arm, *move(along.t), frame="joint"))
    axis = np.where([kind == "P" for kind in arm.joints], 5, 2)
    assert np.take_along_axis(along.loads, axis[None, :, None], -1)[..., 0] == pytest.approx(along.tau, abs=1e-12)
    turned = lw.torque_along(arm, move, 5, frame="base")
    assert np.linalg.norm(turned.loads[..., 3:], axis=-1) == pytest.approx(
        np.linalg.norm(along.loads[..., 3:], axis=-1), abs=1e-12
    )
    assert repr(along) == "<Loads of robot 'stanford': 5 samples over 2 s>"


def test_wrenches_and_friction_reach_the_torques() -> None:
    rows = [{**row, "viscous_friction": 0.5} for row in lw.load("planar3").rows]
    arm = lw.Robot.from_dh(rows, convention="standard", gravity=(0, -9.81, 0))
    move = lw.cycloid([0, 0, 0], [1, 2, 3], 2.0)
    plain, rough = lw.torque_along(arm, move, 9), lw.torque_along(arm, move, 9, friction=True)
    assert rough.tau - plain.tau == pytest.approx(0.5 * plain.qd, abs=1e-12)
    assert np.array_equal(rough.loads, plain.loads)
    wrench = np.array([0.0, 0.0, 1.0, 3.0, 2.0, 0.0])
    pushed = lw.torque_along(arm, move, 9, wrench=wrench)
    expected = lw.jacobian(arm, plain.q, point="com").swapaxes(-1, -2) @ wrench
    assert plain.tau - pushed.tau == pytest.approx(expected, abs=1e-12)
    each = np.zeros((9, 3, 6))
    each[:, 2] = wrench
    for same in (np.tile(wrench, (9, 1)), each, each[:1]):
        assert lw.torque_along(arm, move, 9, wrench=same).tau == pytest.approx(pushed.tau, abs=1e-12)
    with pytest.raises(ValueError, match="wrench"):
        lw.torque_along(arm, move, 9, wrench=each[0])  # three links are no nine samples


def test_a_robot_of_symbols_is_refused() -> None:
    rows = [{**row, "mass": lw.symbols("m")} for row in lw.load("planar3").rows]
    arm = lw.Robot.from_dh(rows, convention="standard", gravity=(0, -9.81, 0))
    with pytest.raises(ValueError, match="has symbols"):
        lw.torque_along(arm, lw.cycloid([0] * 3, [1] * 3, 1.0))


def test_the_table_of_loads_is_complete_and_its_motion_is_read_back(tmp_path: Path) -> None:
    arm, move = lw.load("planar3"), lw.cycloid([0, 0, 0], [1, 2, 3], 2.0)
    along = lw.torque_along(arm, move, 33)
    along.to_csv(tmp_path / "loads.csv")
    table = np.genfromtxt(tmp_path / "loads.csv", delimiter=",", names=True)
    assert len(table.dtype.names) == 1 + 4 * 3 + 9 * 3
    for k in range(3):
        for word, values in (("q", along.q), ("qd", along.qd), ("qdd", along.qdd), ("tau", along.tau)):
            assert np.array_equal(table[f"{word}{k + 1}"], values[:, k])
        assert np.array_equal(table[f"fy{k + 1}"], along.loads[:, k, 4])
    again = lw.trajectory_from_csv(tmp_path / "loads.csv")
    assert np.abs(again(along.t).q - along.q).max() < 1e-14
    t = np.linspace(0.0, 2.0, 500)
    assert np.abs(again(t).q - move(t).q).max() < 1e-8  # the cycloid by quintics, h⁶ small
    lw.torque_along(arm, move, 3, loads=False).to_csv(tmp_path / "few.csv")
    assert (tmp_path / "few.csv").read_text().splitlines()[0].endswith("tau1,tau2,tau3")


def test_pictures(tmp_path: Path) -> None:
    along = lw.torque_along(lw.load("stanford"), lw.cycloid(*PAPER["stanford"], 10.0), 101)
    figure = along.plot()
    assert [axes.get_ylabel() for axes in figure.axes] == ["torque of the drive (N m)", "force of the drive (N)"]
    drawn = {line.get_label(): line.get_ydata() for axes in figure.axes for line in axes.lines}
    for k, name in enumerate(along.arm.names):
        assert np.array_equal(drawn[name], along.tau[:, k])
    whole = along.plot(loads=True)
    assert sum(len(part.axes) for part in whole.subfigs) == 8
    whole.savefig(tmp_path / "loads.png")
    assert (tmp_path / "loads.png").stat().st_size > 10_000
    assert len(lw.torque_along(lw.load("gantry"), lw.cycloid([0] * 3, [1] * 3, 1.0), 9).plot().axes) == 1
    with pytest.raises(ValueError, match="the loads were left out"):
        lw.torque_along(along.arm, lw.cycloid(*PAPER["stanford"], 1.0), 9, loads=False).plot(loads=True)


def test_without_matplotlib_the_rest_works(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def missing(name: str, *rest: Any) -> Any:
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", missing)
    along = lw.torque_along(lw.load("gantry"), lw.cycloid([0] * 3, [1] * 3, 1.0), 9)
    with pytest.raises(ImportError, match="matplotlib is not installed: pip install"):
        along.plot()
    assert str(along.peaks())


def test_a_table_that_is_not_finished_leaves_the_one_before(tmp_path):
    from linkwise.trajectories.csv_writer import write_csv

    class Interrupted(np.ndarray):
        def tolist(self):
            raise KeyboardInterrupt

    path = tmp_path / "motion.csv"
    write_csv(path, {"t": np.array([0.0, 1.0])})
    before = path.read_bytes()
    with pytest.raises(KeyboardInterrupt):
        write_csv(path, {"t": np.array([0.0, 1.0]), "q1": np.zeros(2).view(Interrupted)})
    assert path.read_bytes() == before == b"t\r\n0.0\r\n1.0\r\n"
    assert list(tmp_path.iterdir()) == [path]
