"""Trajectories by formulas: cycloid, polynomials and trapezoid between two points (`pieces`), Fourier series, splines.

    q(t) = offset + Σ_k s_k sin(k ω t) + c_k cos(k ω t),   ω = 2π / duration,   k = 1 ... harmonics

The series is periodic. It is at rest at its ends where Σ k s_k = 0 (rates) and Σ k² c_k = 0 (accelerations).

The spline is known by its rates d_j at the knots. With h_j = t_{j+1} − t_j and the slopes m_j = (q_{j+1} − q_j) / h_j,
accelerations that agree at the inner knots mean

    h_j d_{j−1} + 2 (h_{j−1} + h_j) d_j + h_{j−1} d_{j+1} = 3 (h_j m_{j−1} + h_{j−1} m_j)

and the ends add two equations: rates of zero (clamped), accelerations of zero (natural), or equal rates and
accelerations (periodic). C. de Boor, A Practical Guide to Splines, 1978, chapter IV.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from ..api.states import Array
from ..errors import one_of
from ..robot import Robot
from ..robot.layout import Layout
from .limits import Floats, broadcast_to_joints, frozen_array, joint_numbers, positive_number
from .pieces import (
    Cycloid,
    JointMotion,
    Polynomials,
    QuaternionPiece,
    StraightLine,
    check_configurations,
    hermite,
    layout_of,
    rates_at_knots,
)
from .trajectory import SLACK, Trajectory

SMALLEST = 1e-100  # shorter distances count as zero
SIDES = ("start", "end")
Ends = Literal["clamped", "natural", "periodic"]
ALIKE = 1e-12  # largest difference between the ends of a periodic spline, relative to the largest value


def cycloid(start: Array, end: Array, duration: float, *, robot: Robot | None = None) -> Trajectory:
    """Move from rest to rest along a cycloid: [Saha99] eqs. (38), (39).

        q(t) = q(0) + (q(T) − q(0)) [s − sin(2πs) / 2π],   s = t / T

    Accelerations start and end at zero.

    Parameters
    ----------
    start, end : array_like, shape (n,), or (nq,) with `robot`
        Positions; a plain number for one joint.
    duration : float
        Time in s.
    robot : Robot, optional
        Needed for robots with quaternions: `start` and `end` are then configurations. Orientations turn
        the shortest way, about a fixed axis, while positions move along straight lines.

    Returns
    -------
    Trajectory

    Examples
    --------
    >>> import numpy as np
    >>> cycloid(0, np.pi, duration=10)(5.0).q.round(6)
    array([1.570796])
    """
    line = StraightLine.between(start, end, robot)
    piece = Cycloid(line.first, frozen_array(line.last - line.first), positive_number(duration, "duration"))
    return Trajectory((line.piece(piece),), "cycloid", line.layout)


def cubic(
    start: Array,
    end: Array,
    duration: float,
    start_rate: Array = 0.0,
    end_rate: Array = 0.0,
    *,
    robot: Robot | None = None,
) -> Trajectory:
    """Move along the cubic with given positions and rates at its ends.

    Parameters
    ----------
    start, end : array_like, shape (n,), or (nq,) with `robot`
        Positions; a plain number for one joint.
    duration : float
        Time in s.
    start_rate, end_rate : float or array_like, shape (n,)
        Rates; zero for orientations.
    robot : Robot, optional
        Needed for robots with quaternions; see `lw.trajectories.cycloid`.

    Returns
    -------
    Trajectory

    Examples
    --------
    >>> cubic(0, 1, duration=2, end_rate=0.5)(2.0).qd
    array([0.5])
    """
    return two_point("cubic", start, end, duration, [("rate", start_rate, end_rate)], robot)


def quintic(
    start: Array,
    end: Array,
    duration: float,
    start_rate: Array = 0.0,
    end_rate: Array = 0.0,
    start_acceleration: Array = 0.0,
    end_acceleration: Array = 0.0,
    *,
    robot: Robot | None = None,
) -> Trajectory:
    """Move along the polynomial of degree 5 with given positions, rates and accelerations at its ends.

    Parameters
    ----------
    start, end : array_like, shape (n,), or (nq,) with `robot`
        Positions; a plain number for one joint.
    duration : float
        Time in s.
    start_rate, end_rate, start_acceleration, end_acceleration : float or array_like, shape (n,)
        Derivatives at the ends; zero for orientations.
    robot : Robot, optional
        Needed for robots with quaternions; see `lw.trajectories.cycloid`.

    Returns
    -------
    Trajectory
    """
    ends = [("rate", start_rate, end_rate), ("acceleration", start_acceleration, end_acceleration)]
    return two_point("quintic", start, end, duration, ends, robot)


def septic(
    start: Array,
    end: Array,
    duration: float,
    start_rate: Array = 0.0,
    end_rate: Array = 0.0,
    start_acceleration: Array = 0.0,
    end_acceleration: Array = 0.0,
    start_jerk: Array = 0.0,
    end_jerk: Array = 0.0,
    *,
    robot: Robot | None = None,
) -> Trajectory:
    """Move along the polynomial of degree 7 with given positions, rates, accelerations and jerks at its ends.

    Parameters
    ----------
    start, end : array_like, shape (n,), or (nq,) with `robot`
        Positions; a plain number for one joint.
    duration : float
        Time in s.
    start_rate, end_rate, start_acceleration, end_acceleration, start_jerk, end_jerk : float or array_like, shape (n,)
        Derivatives at the ends; zero for orientations.
    robot : Robot, optional
        Needed for robots with quaternions; see `lw.trajectories.cycloid`.

    Returns
    -------
    Trajectory
    """
    ends = [("rate", start_rate, end_rate), ("acceleration", start_acceleration, end_acceleration)]
    return two_point("septic", start, end, duration, [*ends, ("jerk", start_jerk, end_jerk)], robot)


def two_point(
    name: str, start: Any, end: Any, duration: float, ends: list[tuple[str, Any, Any]], robot: Robot | None
) -> Trajectory:
    line = StraightLine.between(start, end, robot)
    knots = frozen_array([0.0, positive_number(duration, "duration")])
    derivatives = [[line.first, line.last]]
    for word, *pair in ends:
        rates = [(f"{side}_{word}", x) for side, x in zip(SIDES, pair, strict=True)]
        derivatives.append([line.at_ends(broadcast_to_joints(x, len(line.change), side), side) for side, x in rates])
    return Trajectory((line.piece(hermite(knots, np.array(derivatives))),), name, line.layout)


def trapezoid(
    start: Array,
    end: Array,
    *,
    duration: float | None = None,
    speed: Array | None = None,
    acceleration: Array | None = None,
    robot: Robot | None = None,
) -> Trajectory:
    """Move with constant acceleration, constant rate and constant deceleration, all joints in step.

    The path is a straight line in joint space; accelerations jump. Exactly two of `duration`, `speed`
    and `acceleration` must be given:

    - `speed` and `acceleration`: the shortest motion in which no joint exceeds its own limit;
    - `duration` and `speed`: the joint that needs it cruises at its speed;
    - `duration` and `acceleration`: the joint that needs it uses its acceleration.

    Parameters
    ----------
    start, end : array_like, shape (n,), or (nq,) with `robot`
        Positions; a plain number for one joint.
    duration : float, optional
        Time in s.
    speed, acceleration : float or array_like, shape (n,), optional
        Limits for all joints, or one for each degree of freedom.
    robot : Robot, optional
        Needed for robots with quaternions; see `lw.trajectories.cycloid`.

    Returns
    -------
    Trajectory

    Examples
    --------
    >>> trapezoid([0, 0], [1, 2], speed=1.0, acceleration=2.0)
    <Trajectory of 2 joints: trapezoid, 2.5 s>
    """
    line = StraightLine.between(start, end, robot)
    first, last, change = line.first, line.last, line.last - line.first
    limits = {"duration": duration, "speed": speed, "acceleration": acceleration}
    names = [name for name, value in limits.items() if value is not None]
    if len(names) != 2:
        raise ValueError(
            f"trapezoid: {' and '.join(names) or 'nothing'} given (expected two of duration, speed and acceleration)"
        )
    T = None if duration is None else positive_number(duration, "duration")
    v, a = (
        None if value is None else unit_limit(value, line.change, name)
        for name, value in (("speed", speed), ("acceleration", acceleration))
    )
    if np.abs(change).max() < SMALLEST:
        if T is None:
            raise ValueError("trapezoid: start and end are the same (expected duration=..., the time at rest)")
        standing = hermite(frozen_array([0.0, T]), np.array([[first, last], [change, change]]))
        return Trajectory((line.piece(standing),), "trapezoid", line.layout)
    T, blend = unit_profile(T, v, a)
    rate = change / (T - blend)
    part = rate * blend / 2.0  # change while accelerating, and again while slowing down
    brake, zero = T - blend, 0.0 * change
    rows = [
        (0.0, blend, [first, zero, part]),
        (blend, brake, [first + part, rate * (brake - blend), zero]),
        (brake, T, [last - part, 2.0 * part, -part]),
    ]
    phases = [row for row in rows if row[1] - row[0] > SLACK * T]
    knots = frozen_array([*(begin for begin, _, _ in phases), T])
    return Trajectory(
        (line.piece(Polynomials(knots, frozen_array([c for _, _, c in phases]))),), "trapezoid", line.layout
    )


def unit_limit(limits: Any, change: Floats, name: str) -> float:
    """The largest speed or acceleration of a motion from 0 to 1 with every joint within its limit."""
    limit = broadcast_to_joints(limits, len(change), name)
    if not (limit > 0.0).all():
        k = int(np.argmin(limit > 0.0))
        raise ValueError(f"{name} of joint {k + 1} is {limit[k]:g} (expected a positive number in both directions)")
    return 1.0 / max(float(np.max(np.abs(change) / limit)), SMALLEST)


def unit_profile(T: float | None, v: float | None, a: float | None) -> tuple[float, float]:
    """Duration and acceleration time of a motion from 0 to 1, from two of duration, speed and acceleration."""
    if T is None:
        assert v is not None
        assert a is not None
        blend = min(v / a, 1.0 / math.sqrt(a))
        return blend + 1.0 / (a * blend), blend
    if v is not None:
        if not 1.0 < v * T <= 2.0 * (1.0 + SLACK):
            raise ValueError(
                f"trapezoid: with this speed {T:g} s is too {'short' if v * T <= 1.0 else 'long'} (expected a duration"
                f" above {1 / v:.6g} s, since accelerations are finite, and of at most {2 / v:.6g} s, so that the speed"
                " is reached)"
            )
        return T, min(T - 1.0 / v, T / 2.0)
    assert a is not None
    if a * T**2 < 4.0 * (1.0 - SLACK):
        raise ValueError(
            f"trapezoid: with this acceleration {T:g} s is too short (expected a duration of at least"
            f" {2 / math.sqrt(a):.6g} s)"
        )
    return T, min(2.0 / (a * (T + math.sqrt(max(T**2 - 4.0 / a, 0.0)))), T / 2.0)


@dataclass(frozen=True, eq=False)
class Fourier:
    offset: Floats  # (n,)
    sines: Floats  # (harmonics, n)
    cosines: Floats
    duration: float
    formulas = 1

    @property
    def n(self) -> int:
        return len(self.offset)

    def at(self, t: Any) -> JointMotion:
        frequencies = 2.0 * math.pi / self.duration * np.arange(1, len(self.sines) + 1)
        angles, w = t[..., None] * frequencies, frequencies[:, None]
        sine, cosine = np.sin(angles), np.cos(angles)
        return JointMotion(
            self.offset + sine @ self.sines + cosine @ self.cosines,
            cosine @ (w * self.sines) - sine @ (w * self.cosines),
            -(sine @ (w**2 * self.sines)) - cosine @ (w**2 * self.cosines),
        )


def fourier(offset: Array, sines: Array, cosines: Array, duration: float, *, robot: Robot | None = None) -> Trajectory:
    """Move along one period of a Fourier series.

        q(t) = offset + Σ_k s_k sin(k ω t) + c_k cos(k ω t),   ω = 2π / duration,   k = 1, 2, ...

    Parameters
    ----------
    offset : array_like, shape (n,)
    sines, cosines : array_like, shape (harmonics, n)
        Amplitudes s_k and c_k.
    duration : float
        The period in s.
    robot : Robot, optional
        Its joints name the columns of files. Joints with quaternions have no such series.

    Returns
    -------
    Trajectory

    Examples
    --------
    >>> wave = fourier(offset=[1.0], sines=[[0.0], [0.5]], cosines=[[0.2], [0.0]], duration=2.0)
    >>> wave([0.0, 0.25, 2.0]).q.round(6)[:, 0]
    array([1.2     , 1.641421, 1.2     ])
    """
    middle = joint_numbers(offset, "offset")
    s, c = joint_numbers(sines, "sines", dims=2), joint_numbers(cosines, "cosines", dims=2)
    shape = (len(s), len(middle))
    for x, name in ((s, "sines"), (c, "cosines")):
        if x.shape != shape:
            expected = f"{shape}: a row for each harmonic, of a number for each joint"
            raise ValueError(f"{name} has shape {x.shape} (expected {expected})")
    piece = Fourier(middle, s, c, positive_number(duration, "duration"))
    return Trajectory((piece,), series_name(len(s)), None if robot is None else scalar_layout(robot, len(middle)))


def series_name(harmonics: int) -> str:
    return f"Fourier series of {harmonics} harmonic{'s' * (harmonics != 1)}"


def scalar_layout(robot: Robot, n: int) -> Layout:
    layout = layout_of(robot)
    if layout.quaternions:
        raise ValueError(f"robot {robot.name!r} has quaternions (expected joints of one coordinate each)")
    if n != robot.n:
        raise ValueError(
            f"offset has {n} numbers, robot {robot.name!r} has {robot.n} joints: {', '.join(robot.v_names)}"
        )
    return layout


def spline(times: Array, points: Array, *, ends: Ends = "clamped", robot: Robot | None = None) -> Trajectory:
    """Move along the cubic spline through points; rates and accelerations are continuous.

    Parameters
    ----------
    times : array_like, shape (m,)
        Increasing, from 0 on.
    points : array_like, shape (m, n), or (m, nq) with `robot`
    ends : {"clamped", "natural", "periodic"}
        At rest, without acceleration, or as it began (the last point is then the first).
    robot : Robot, optional
        Needed for robots with quaternions: `points` are then configurations. Orientations follow the
        spline of their quaternions, divided by its length.

    Returns
    -------
    Trajectory

    Examples
    --------
    >>> wave = spline([0, 1, 2], [[0, 0], [1, 2], [0, 0]])
    >>> wave([0, 1, 2]).q
    array([[0., 0.],
           [1., 2.],
           [0., 0.]])
    """
    one_of(ends, get_args(Ends), "ends")
    knots = joint_numbers(times, "times")
    values = (
        joint_numbers(points, "points", dims=2)
        if robot is None
        else check_configurations(points, "points", robot, dims=2)
    )
    if len(knots) != len(values):
        raise ValueError(
            f"times has {len(knots)} numbers and points has {len(values)} rows (expected one row for each time)"
        )
    check_times(knots)
    if ends == "periodic":
        check_periodic(values, () if robot is None else robot.quaternions)
    name = f"{ends} spline through {len(knots)} points"
    return trajectory_through(robot, hermite(knots, np.stack([values, rates_at_knots(knots, values, ends)])), name)


def trajectory_through(robot: Robot | None, curve: Polynomials, name: str) -> Trajectory:
    """The trajectory of polynomials for all numbers of q."""
    layout = None if robot is None else layout_of(robot)
    turning = layout is not None and bool(layout.quaternions)
    return Trajectory((QuaternionPiece(curve, layout) if layout and turning else curve,), name, layout)


def check_times(knots: Floats) -> None:
    if len(knots) < 2:
        raise ValueError(f"times has {len(knots)} number (expected at least two points to move between)")
    if knots[0] != 0.0:
        raise ValueError(f"times[0] is {knots[0]:g} (expected 0, where trajectories begin: subtract it from all)")
    if not (np.diff(knots) > 0.0).all():
        k = int(np.argmin(np.diff(knots) > 0.0)) + 1
        raise ValueError(f"times[{k}] is {knots[k]:.9g}, after {knots[k - 1]:.9g} (expected increasing times)")


def check_periodic(values: Floats, quaternions: tuple[int, ...] = ()) -> None:
    if len(values) < 3:
        raise ValueError(f"points has {len(values)} rows (expected at least three for a periodic spline)")
    for p in quaternions:
        if values[0, p : p + 4] @ values[-1, p : p + 4] < 0.0:
            raise ValueError(
                f"the orientation at q[{p}] turns all the way round, to the opposite quaternion, which a periodic"
                " spline does not (expected other ends, such as 'clamped')"
            )
    apart = np.abs(values[-1] - values[0]) > ALIKE * np.abs(values).max(axis=0)
    if apart.any():
        k = int(np.argmax(apart))
        raise ValueError(
            f"joint {k + 1} starts at {values[0, k]:.9g} and ends at {values[-1, k]:.9g} (a periodic spline must end"
            " where it starts)"
        )
