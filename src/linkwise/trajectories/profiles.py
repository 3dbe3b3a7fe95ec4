"""Trajectories by formulas: cycloid, polynomials and trapezoid between two points (see `pieces`), Fourier series.

    q(t) = offset + Σ_k s_k sin(k ω t) + c_k cos(k ω t),   ω = 2π / duration,   k = 1 ... harmonics

The series is periodic. It is at rest at its ends where Σ k s_k = 0 (rates) and Σ k² c_k = 0 (accelerations).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..robot import Robot
from ..robot.layout import Layout
from .checks import Floats, frozen, numbers, positive, spread
from .orientations import Way, layout_of
from .pieces import Cycloid, JointMotion, Polynomials, hermite
from .trajectory import SLACK, Trajectory

NOTHING = 1e-100  # a distance that counts as none
SIDES = ("start", "end")


def cycloid(start: Any, end: Any, duration: float, *, arm: Robot | None = None) -> Trajectory:
    """From rest to rest along a cycloid, accelerations starting and ending at zero: [Saha99] eqs. (38), (39).

    `start` and `end` are n numbers, one for each joint (or plain numbers, for one joint). Those of a robot with
    quaternions are configurations, nq numbers, and `arm` is that robot: orientations turn the shortest way, about an
    axis that is fixed, while positions move along straight lines.

    >>> import numpy as np
    >>> cycloid(0, np.pi, duration=10)(5.0).q.round(6)
    array([1.570796])
    """
    way = Way.between(start, end, arm)
    piece = Cycloid(way.first, frozen(way.last - way.first), positive(duration, "duration"))
    return Trajectory((way.piece(piece),), "cycloid", way.layout)


def cubic(
    start: Any, end: Any, duration: float, start_rate: Any = 0.0, end_rate: Any = 0.0, *, arm: Robot | None = None
) -> Trajectory:
    """The cubic with the given positions and rates at its ends (rates: numbers, or one for each joint).

    `arm` is the robot, if it has quaternions: see `lw.cycloid`. The rates of orientations are zero at both ends.

    >>> cubic(0, 1, duration=2, end_rate=0.5)(2.0).qd
    array([0.5])
    """
    return two_point("cubic", start, end, duration, [("rate", start_rate, end_rate)], arm)


def quintic(
    start: Any,
    end: Any,
    duration: float,
    start_rate: Any = 0.0,
    end_rate: Any = 0.0,
    start_acceleration: Any = 0.0,
    end_acceleration: Any = 0.0,
    *,
    arm: Robot | None = None,
) -> Trajectory:
    """The polynomial of degree 5 with the given positions, rates and accelerations at its ends; `arm` as `lw.cubic`."""
    ends = [("rate", start_rate, end_rate), ("acceleration", start_acceleration, end_acceleration)]
    return two_point("quintic", start, end, duration, ends, arm)


def septic(
    start: Any,
    end: Any,
    duration: float,
    start_rate: Any = 0.0,
    end_rate: Any = 0.0,
    start_acceleration: Any = 0.0,
    end_acceleration: Any = 0.0,
    start_jerk: Any = 0.0,
    end_jerk: Any = 0.0,
    *,
    arm: Robot | None = None,
) -> Trajectory:
    """The polynomial of degree 7 with the given positions, rates, accelerations and jerks at its ends.

    `arm` is as in `lw.cubic`.
    """
    ends = [("rate", start_rate, end_rate), ("acceleration", start_acceleration, end_acceleration)]
    return two_point("septic", start, end, duration, [*ends, ("jerk", start_jerk, end_jerk)], arm)


def two_point(
    name: str, start: Any, end: Any, duration: float, ends: list[tuple[str, Any, Any]], arm: Robot | None
) -> Trajectory:
    way = Way.between(start, end, arm)
    knots = frozen([0.0, positive(duration, "duration")])
    derivatives = [[way.first, way.last]]
    for word, *pair in ends:
        named = [(f"{side}_{word}", x) for side, x in zip(SIDES, pair, strict=True)]
        derivatives.append([way.at_ends(spread(x, len(way.change), side), side) for side, x in named])
    return Trajectory((way.piece(hermite(knots, np.array(derivatives))),), name, way.layout)


def trapezoid(
    start: Any,
    end: Any,
    *,
    duration: float | None = None,
    speed: Any = None,
    acceleration: Any = None,
    arm: Robot | None = None,
) -> Trajectory:
    """Constant acceleration, constant rate, constant deceleration, all joints in step: a straight line in joint space.

    Exactly two of three are given; one leaves the motion open, three contradict each other:

    - `speed` and `acceleration`: the shortest motion in which no joint exceeds its own (it peaks without a stretch of
      constant rate where the speed is never reached);
    - `duration` and `speed`: the joint that needs it cruises at its speed; the acceleration follows;
    - `duration` and `acceleration`: the joint that needs it takes its acceleration; the speed follows.

    Speed and acceleration are a number for all joints or one for each. Accelerations jump. `arm` is the robot, if it
    has quaternions: see `lw.cycloid`. Limits are then one for each degree of freedom, such as its angular velocities.

    >>> trapezoid([0, 0], [1, 2], speed=1.0, acceleration=2.0)
    <Trajectory of 2 joints: trapezoid, 2.5 s>
    """
    way = Way.between(start, end, arm)
    first, last, change = way.first, way.last, way.last - way.first
    limits = {"duration": duration, "speed": speed, "acceleration": acceleration}
    names = [name for name, value in limits.items() if value is not None]
    if len(names) != 2:
        state = "under-determined" if len(names) < 2 else "over-determined"
        raise ValueError(
            f"trapezoid: {state} by {', '.join(names) or 'nothing'} (expected two of duration, speed and acceleration)"
        )
    T = None if duration is None else positive(duration, "duration")
    v, a = (
        None if value is None else per_unit(value, way.change, name)
        for name, value in (("speed", speed), ("acceleration", acceleration))
    )
    if np.abs(change).max() < NOTHING:
        if T is None:
            raise ValueError("trapezoid: start and end are the same (expected a duration, for which to stand there)")
        standing = hermite(frozen([0.0, T]), np.array([[first, last], [change, change]]))
        return Trajectory((way.piece(standing),), "trapezoid", way.layout)
    T, blend = unit_profile(T, v, a)
    rate = change / (T - blend)
    part = rate * blend / 2.0  # of the change, made while accelerating, and again while slowing down
    brake, zero = T - blend, 0.0 * change
    rows = [
        (0.0, blend, [first, zero, part]),
        (blend, brake, [first + part, rate * (brake - blend), zero]),
        (brake, T, [last - part, 2.0 * part, -part]),
    ]
    kept = [row for row in rows if row[1] - row[0] > SLACK * T]
    knots = frozen([*(begin for begin, _, _ in kept), T])
    return Trajectory((way.piece(Polynomials(knots, frozen([c for _, _, c in kept]))),), "trapezoid", way.layout)


def per_unit(limits: Any, change: Floats, name: str) -> float:
    """The largest speed or acceleration of a motion from 0 to 1 that keeps every joint within its limit."""
    limit = spread(limits, len(change), name)
    if not (limit > 0.0).all():
        k = int(np.argmin(limit > 0.0))
        raise ValueError(f"{name} of joint {k + 1} is {limit[k]:g} (expected a positive number in both directions)")
    return 1.0 / max(float(np.max(np.abs(change) / limit)), NOTHING)


def unit_profile(T: float | None, v: float | None, a: float | None) -> tuple[float, float]:
    """A motion from 0 to 1: its duration and the time spent accelerating, from two of duration, speed, acceleration."""
    if T is None:
        assert v is not None
        assert a is not None
        blend = min(v / a, 1.0 / math.sqrt(a))
        return blend + 1.0 / (a * blend), blend
    if v is not None:
        if not 1.0 < v * T <= 2.0 * (1.0 + SLACK):
            problem = "does not arrive" if v * T <= 1.0 else "is more than such a motion can use"
            raise ValueError(
                f"trapezoid: in {T:g} s this speed {problem} (expected a duration above {1 / v:.6g} s, or the"
                f" acceleration would be infinite, and of at most {2 / v:.6g} s, or the speed would not be reached)"
            )
        return T, min(T - 1.0 / v, T / 2.0)
    assert a is not None
    if a * T**2 < 4.0 * (1.0 - SLACK):
        raise ValueError(
            f"trapezoid: in {T:g} s this acceleration does not arrive (expected a duration of at least"
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


def fourier(offset: Any, sines: Any, cosines: Any, duration: float, *, arm: Robot | None = None) -> Trajectory:
    """The Fourier series with these amplitudes, one period of it: q = offset + Σ_k s_k sin(k ω t) + c_k cos(k ω t).

    `offset` has a number for each joint, `sines` and `cosines` (harmonics, n) a row for each harmonic k = 1, 2, ...;
    ω is 2π / duration. With `arm` its joints name the columns of files; joints with quaternions have no such series.

    >>> wave = fourier(offset=[1.0], sines=[[0.0], [0.5]], cosines=[[0.2], [0.0]], duration=2.0)
    >>> wave([0.0, 0.25, 2.0]).q.round(6)[:, 0]
    array([1.2     , 1.641421, 1.2     ])
    """
    middle = numbers(offset, "offset")
    s, c = numbers(sines, "sines", dims=2), numbers(cosines, "cosines", dims=2)
    shape = (len(s), len(middle))
    for x, name in ((s, "sines"), (c, "cosines")):
        if x.shape != shape:
            expected = f"{shape}: a row for each harmonic, of a number for each joint"
            raise ValueError(f"{name} has shape {x.shape} (expected {expected})")
    piece = Fourier(middle, s, c, positive(duration, "duration"))
    return Trajectory((piece,), series_name(len(s)), None if arm is None else checked_layout(arm, len(middle)))


def series_name(harmonics: int) -> str:
    return f"Fourier series of {harmonics} harmonic{'s' * (harmonics != 1)}"


def checked_layout(arm: Robot, n: int) -> Layout:
    layout = layout_of(arm)
    if layout.quaternions:
        raise ValueError(f"robot {arm.name!r} has quaternions (expected joints that a number each describes)")
    if n != arm.n:
        raise ValueError(f"offset has {n} numbers, robot {arm.name!r} has {arm.n} joints: {', '.join(arm.v_names)}")
    return layout
