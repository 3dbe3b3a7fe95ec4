"""The prescribed motion of a base as a function of (robot, t, q, qd), which is traced as torque functions are.

Its values are ω, v of the origin, ω̇ and the acceleration a of the origin, in the axes of the base, which turn:

    ω̇ = dω/dt      a = dv/dt + ω × v

A motion whose velocity changes without an acceleration is simulated as it is, with a warning. No torque depends on v,
so a motion may leave it out. Gravity's tilt may be in a.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..api.call import COMPONENTS, BaseMotion
from ..control.drives import function_name
from ..printing import warn
from ..robot import Robot
from .traced_functions import TracedFunction, trace_function

MotionOfTime = Callable[[Any], BaseMotion]
BaseFunction = Callable[..., Any]  # base(robot, t, q, qd)


class Constant:
    """A motion that does not change."""

    __name__ = "base"

    def __init__(self, numbers: np.ndarray) -> None:
        self.numbers = numbers

    def __call__(self, robot: Robot, t: Any, q: Any, qd: Any) -> np.ndarray:
        return self.numbers


def base_function(base: BaseMotion | MotionOfTime | TracedFunction | None) -> BaseFunction | None:
    """A constant motion, or a function of t that returns one, as a function of (robot, t, q, qd)."""
    if base is None or isinstance(base, TracedFunction):
        return base
    if isinstance(base, BaseMotion):
        constant = np.array(components(base, "base"), dtype=float)
        if not np.isfinite(constant).all():
            raise ValueError(f"base is {base!r} (expected finite numbers)")
        return Constant(constant)
    if not callable(base):
        raise TypeError(f"base is {base!r} (expected a linkwise.BaseMotion, or a function of t that returns one)")

    def motion(robot: Robot, t: Any, q: Any, qd: Any) -> Any:
        return components(base(t), function_name(base))

    motion.__name__ = function_name(base)
    return motion


def components(motion: object, name: str) -> np.ndarray:
    """The twelve numbers of a motion."""
    if not isinstance(motion, BaseMotion):
        raise TypeError(f"{name} gave {motion!r} (expected a linkwise.BaseMotion)")
    parts = [np.asarray(getattr(motion, component)) for component in COMPONENTS]
    for component, part in zip(COMPONENTS, parts, strict=True):
        if part.shape != (3,):
            raise ValueError(
                f"{name}: {component} has shape {part.shape} (expected (3,): one motion for all trajectories)"
            )
    return np.concatenate(parts)


def trace_base(base: BaseFunction | None, robot: Robot) -> TracedFunction | None:
    """The function as it is now."""
    return None if base is None else trace_function(base, robot, f"the motion of the base {function_name(base)!r}")


def motion_at(base: BaseFunction | None, robot: Robot, t: Any, q: Any, qd: Any) -> BaseMotion | None:
    """The motion in one state, or in many (count, ...)."""
    if base is None:
        return None
    if q.ndim == 1:
        values = np.asarray(base(robot, t, q, qd))
    else:
        times = np.broadcast_to(t, q.shape[:-1])
        if isinstance(base, TracedFunction):
            values = base.values_at(times, q, qd)
        else:
            values = np.array([base(robot, time, None, None) for time in times.tolist()], dtype=float).reshape(-1, 12)
    return BaseMotion(*(values[..., first : first + 3] for first in range(0, 12, 3)))


TIMES = (np.arange(32) + 0.5 * (5**0.5 - 1.0)) / 32  # of the duration: no round numbers, at which motions may jump
STEP = 1e-6  # of the duration, for differences


def warn_of_other_rates(base: BaseFunction | None, robot: Robot, duration: float) -> None:
    """Warn if a velocity changes and its acceleration is zero, as it is if it is left out, or ω does not change with ω̇.

    Accelerations of the origin are taken as they are: the tilt of gravity may be in them.
    """
    if base is None or (isinstance(base, TracedFunction) and only_accelerates(base)):
        return
    t, h = duration * TIMES, duration * STEP
    times, still = np.concatenate([t - h, t, t + h]), np.zeros(robot.n)
    motion = motion_at(base, robot, times, np.zeros((len(times), robot.nq)), np.tile(still, (len(times), 1)))
    assert motion is not None
    omega, v, angular, linear = (np.split(getattr(motion, name), 3) for name in COMPONENTS)
    pairs: list[tuple[Any, ...]] = [("angular_velocity", "angular_acceleration", omega, angular[1], 0.0)]
    if v[1].any():
        pairs.append(("velocity", "acceleration", v, linear[1], np.cross(omega[1], v[1])))
    for name, acceleration, velocity, given, turning in pairs:
        needed = (velocity[2] - velocity[0]) / (2.0 * h) + turning
        changes = np.abs(needed).max() > STEP * np.abs(velocity[1]).max() / duration
        k = int(np.abs(needed - given).max(axis=1).argmax())
        if (changes and not given.any()) or (name == "angular_velocity" and given.any() and not changes):
            warn(
                f"the motion of the base {function_name(base)!r}: at t = {t[k]:.4g} s its {acceleration} is"
                f" {rounded(given[k])}, but its {name} changes by {rounded(needed[k])} per second, in axes that do not"
                f" turn (expected equal ones: docs/simulation.md, A base that moves)"
            )


def only_accelerates(base: TracedFunction) -> bool:
    """Whether ω, v and ω̇ are zero at all times."""
    return all(node.op == "const" and node.payload == 0.0 for node in base.program.results[0][:9])


def rounded(vector: np.ndarray) -> list[float]:
    return [float(f"{x:.4g}") + 0.0 for x in vector]
