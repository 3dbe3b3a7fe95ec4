"""Trajectories are their own derivatives' integrals, go where they are told, and say what is wrong."""

from collections.abc import Callable
from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.interpolate import CubicSpline

import linkwise as lw
from effort import examples
from facts import raises
from linkwise.trajectories.pieces import HERMITE
from linkwise.trajectories.trajectory import Trajectory
from motions import kinds, over_kinds, over_smooth, periodic, points, smooth

STEP = 1e-30  # of the complex-step derivative, which is exact to rounding
ENDS = ("clamped", "natural", "periodic")
numbers = st.floats(-100.0, 100.0, allow_subnormal=False)
durations = st.floats(1e-3, 1e3)
vectors = st.integers(1, 4).flatmap(lambda n: st.tuples(*[st.lists(numbers, min_size=n, max_size=n)] * 8))


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
    move = lw.trajectories.fourier(offset, sines, cosines, 3.0)
    for here, there in zip(move(0.0), move(3.0), strict=True):
        assert there == pytest.approx(here, abs=1e-11)
    found = np.fft.rfft(move(np.arange(64) * 3.0 / 64).q, axis=0) / 32
    assert found[0].real / 2 == pytest.approx(offset)
    assert found[1:5].real == pytest.approx(cosines)
    assert -found[1:5].imag == pytest.approx(sines)
    assert np.abs(found[5:]).max() < 1e-13
    assert repr(move) == "<Trajectory of 2 joints: Fourier series of 4 harmonics, 3 s>"


def test_fourier_series_that_make_no_sense() -> None:
    with raises(ValueError, "cosines", "(2, 2)", "(3, 2)"):
        lw.trajectories.fourier([0, 0], np.zeros((3, 2)), np.zeros((2, 2)), 1.0)
    with raises(ValueError, "offset", "2", "planar3", "3"):
        lw.trajectories.fourier([0, 0], np.zeros((3, 2)), np.zeros((3, 2)), 1.0, robot=lw.load("planar3"))
    with raises(ValueError, "satellite", "quaternions"):
        lw.trajectories.fourier([0, 0], np.zeros((3, 2)), np.zeros((3, 2)), 1.0, robot=lw.load("satellite"))


@examples(60)
@given(vectors, durations)
def test_boundary_conditions(given_: tuple[list[float], ...], T: float) -> None:
    a, b, *rest = map(np.array, given_)
    rates = [row / T ** (1 + k // 2) for k, row in enumerate(rest)]  # so that none outweighs the others
    size = np.abs(given_).max() + 1e-6
    wanted = {
        "cycloid": (lw.trajectories.cycloid(a, b, T), [0.0 * a] * 4),
        "cubic": (lw.trajectories.cubic(a, b, T, *rates[:2]), rates[:2]),
        "quintic": (lw.trajectories.quintic(a, b, T, *rates[:4]), rates[:4]),
        "septic": (lw.trajectories.septic(a, b, T, *rates[:6]), rates[:4]),
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
    piece = lw.trajectories.septic(a, b, 5.0, *rest).pieces[0]
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
    shapes = {lw.trajectories.cubic: 3 * s**2 - 2 * s**3, lw.trajectories.quintic: 10 * s**3 - 15 * s**4 + 6 * s**5}
    shapes |= {lw.trajectories.septic: 35 * s**4 - 84 * s**5 + 70 * s**6 - 20 * s**7}
    for make, shape in shapes.items():
        assert make(1.0, 3.0, 2.0)(2.0 * s).q[:, 0] == pytest.approx(1.0 + 2.0 * shape, abs=1e-13)


@pytest.mark.parametrize("ends", ENDS)
@pytest.mark.parametrize("count", [2, 3, 4, 5, 40])
def test_splines_are_scipys(count: int, ends: str) -> None:
    if ends == "periodic" and count == 2:
        return
    times, values = (periodic if ends == "periodic" else points)(count, count)
    theirs, t = CubicSpline(times, values, bc_type=ends), np.linspace(0.0, times[-1], 500)
    for k, found in enumerate(lw.trajectories.spline(times, values, ends=ends)(t)):
        assert np.abs(found - theirs(t, k)).max() < 1e-12 * np.abs(theirs(t, k)).max() + 1e-13


@pytest.mark.parametrize("ends", ENDS)
def test_splines_pass_through_their_points_and_are_twice_continuous(ends: str) -> None:
    times, values = (periodic if ends == "periodic" else points)(11, 30)
    move = lw.trajectories.spline(times, values, ends=ends)
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
    move = lw.trajectories.trapezoid(a, b, speed=speed, acceleration=acceleration)
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
    again = lw.trajectories.trapezoid(a, b, duration=T, acceleration=acceleration)
    assert again(T / 3).q == pytest.approx(move(T / 3).q, abs=1e-5)  # a root of what may be nearly nothing
    if len(move.pieces[0].knots) == 4:
        again = lw.trajectories.trapezoid(a, b, duration=T, speed=speed)
        assert again(T / 3).q == pytest.approx(move(T / 3).q, abs=1e-9)


def test_trapezoid_of_speed_and_duration() -> None:
    move = lw.trajectories.trapezoid([0, 0], [1, -2], duration=3.0, speed=1.0)
    assert move(1.5).qd == pytest.approx([0.5, -1.0])
    assert move(0.5).qdd == pytest.approx([0.5, -1.0])
    assert move.pieces[0].knots == pytest.approx([0, 1, 2, 3])
    still = lw.trajectories.trapezoid([1, 2], [1, 2], duration=3.0, speed=1.0)
    assert np.array_equal(still(1.0), [[1, 2], [0, 0], [0, 0]])
    assert lw.trajectories.trapezoid([0, 5], [1, 5], speed=1.0, acceleration=1.0)(2.0).q[1] == 5.0  # one joint stands


def test_times_outside_are_held_and_those_that_are_none_refused() -> None:
    move = lw.trajectories.cubic([0.0], [1.0], 2.0, start_rate=1.0, end_rate=3.0)
    assert move(2.0 + 1e-13).q == move(2.0).q  # rounding
    assert move(2.0 + 1e-13).qd == pytest.approx(3.0)
    q, qd, qdd = move([-1.0, 0.0, 3.0])
    assert q[:, 0] == pytest.approx([0, 0, 1])
    assert qd[:, 0] == pytest.approx([0, 1, 0])
    assert (qdd[[0, 2]] == 0).all()
    for t, message in ((np.nan, "t is nan"), (np.inf, "t is inf")):
        with pytest.raises(ValueError, match=message):
            move(t)
    with raises(TypeError, "t", "dtype"):
        move("now")


def test_shapes_of_times() -> None:
    move = kinds()["joined"]
    for shape in ((), (1,), (4,), (2, 3), (0,)):
        assert all(part.shape == (*shape, 3) for part in move(np.full(shape, 0.5)))
    assert move([0, 1]).q.dtype == np.float64
    assert np.array_equal(move([0.5, 4.0]).q, [move(0.5).q, move(4.0).q])


def test_joined_trajectories_follow_each_other() -> None:
    out, back = lw.trajectories.cycloid([0, 0], [1, 2], 2.0), lw.trajectories.quintic([1, 2], [0, 0], 3.0)
    both = out.then(back)
    assert both.duration == 5.0
    assert np.array_equal(both(1.3), out(1.3))
    assert np.array_equal(both(2.0 + 1.25), back(1.25))
    with raises(ValueError, "joint 2", "2,", "3"):
        out.then(lw.trajectories.cycloid([1, 3], [0, 0], 1.0))
    with raises(ValueError, "1 joint", "2 joints"):
        out.then(lw.trajectories.cycloid([1], [0], 1.0))
    with raises(TypeError, "3", "Trajectory"):
        out.then(3)  # type: ignore[arg-type]


def test_a_trajectory_is_frozen() -> None:
    start = np.zeros(2)
    move = lw.trajectories.cycloid(start, [1, 1], 1.0)
    start[0] = 9.0
    assert move(0.0).q[0] == 0.0
    with pytest.raises(FrozenInstanceError):
        move.pieces = ()  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        move.pieces[0].start[0] = 1.0  # type: ignore[attr-defined]
    assert repr(move) == "<Trajectory of 2 joints: cycloid, 1 s>"


WRONG: dict[str, tuple[Callable[[], object], str]] = {
    "lengths": (lambda: lw.trajectories.cycloid([0, 0], [1], 1.0), "start | 2 | end | 1"),
    "no numbers": (lambda: lw.trajectories.cubic([], [], 1.0), "start | (0,)"),
    "text": (lambda: lw.trajectories.cycloid("here", [1], 1.0), "start | 'here'"),
    "not finite": (lambda: lw.trajectories.quintic([0, np.nan], [1, 1], 1.0), "start[1] | nan"),
    "too many axes": (lambda: lw.trajectories.cycloid([[0]], [[1]], 1.0), "start | (1, 1)"),
    "no duration": (lambda: lw.trajectories.cycloid([0], [1], 0.0), "duration | 0"),
    "negative duration": (lambda: lw.trajectories.septic([0], [1], -1.0), "duration | -1"),
    "endless": (lambda: lw.trajectories.cubic([0], [1], np.inf), "duration | inf"),
    "no number": (lambda: lw.trajectories.cubic([0], [1], "1 s"), "duration | '1 s'"),
    "rates": (lambda: lw.trajectories.cubic([0] * 3, [1] * 3, 1.0, [1, 2]), "start_rate | 2"),
    "jerks": (lambda: lw.trajectories.septic([0], [1], 1.0, end_jerk=[1, 2]), "end_jerk | 2"),
    "nothing": (lambda: lw.trajectories.trapezoid([0], [1]), "trapezoid | duration, speed and acceleration"),
    "duration alone": (lambda: lw.trajectories.trapezoid([0], [1], duration=1), "trapezoid | duration | speed"),
    "all three": (
        lambda: lw.trajectories.trapezoid([0], [1], duration=1, speed=1, acceleration=1),
        "trapezoid | two of",
    ),
    "too slow": (lambda: lw.trajectories.trapezoid([0], [4], duration=3, speed=1), "3 s | 4 s"),
    "too fast": (
        lambda: lw.trajectories.trapezoid([0], [4], duration=9, speed=1),
        "9 s | 8 s",
    ),
    "too lazy": (lambda: lw.trajectories.trapezoid([0], [4], duration=3, acceleration=1), "3 s | 4 s"),
    "backwards": (
        lambda: lw.trajectories.trapezoid([0, 0], [1, -1], speed=[1, -1], acceleration=1),
        "speed | joint 2 | -1",
    ),
    "no way": (lambda: lw.trajectories.trapezoid([1], [1], speed=1, acceleration=1), "start | end | duration=..."),
    "times back": (lambda: lw.trajectories.spline([0, 2, 1], [[0], [1], [2]]), "times[2] | 1 | 2"),
    "times twice": (lambda: lw.trajectories.spline([0, 1, 1], [[0], [1], [2]]), "times[2] | 1"),
    "late": (lambda: lw.trajectories.spline([1, 2], [[0], [1]]), "times[0] | 1 | 0"),
    "one point": (lambda: lw.trajectories.spline([0], [[0]]), "times | 1"),
    "rows": (lambda: lw.trajectories.spline([0, 1], [[0]]), "times | 2 | points | 1"),
    "ragged": (lambda: lw.trajectories.spline([0, 1], [[0], [1, 2]]), "points"),
    "points": (lambda: lw.trajectories.spline([0, 1], [[0, 1], [1, np.inf]]), "points[1, 1] | inf"),
    "ends": (lambda: lw.trajectories.spline([0, 1], [0, 1], ends="clampd"), "ends | 'clampd' | 'clamped'"),
    "open": (
        lambda: lw.trajectories.spline([0, 1, 2], [[0, 0], [1, 1], [0, 2]], ends="periodic"),
        "joint 2 | 0 | 2",
    ),
    "short": (lambda: lw.trajectories.spline([0, 1], [[0], [0]], ends="periodic"), "points | 2 | periodic"),
    "samples": (
        lambda: lw.torque_along(lw.load("gantry"), lw.trajectories.cycloid([0] * 3, [1] * 3, 1), 1),
        "samples | 1",
    ),
    "joints": (
        lambda: lw.torque_along(lw.load("gantry"), lw.trajectories.cycloid([0], [1], 1)),
        "1 joint | 'gantry' | 3",
    ),
    "robot": (lambda: lw.torque_along("gantry", lw.trajectories.cycloid([0], [1], 1)), "linkwise.load"),
    "no trajectory": (lambda: lw.torque_along(lw.load("gantry"), np.zeros(3)), "Trajectory"),
    "axes": (
        lambda: lw.torque_along(lw.load("gantry"), lw.trajectories.cycloid([0] * 3, [1] * 3, 1), axes="x"),
        "axes | 'x'",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_said(case: str) -> None:
    make, facts = WRONG[case]
    with raises((ValueError, TypeError), *facts.split(" | ")):
        make()
