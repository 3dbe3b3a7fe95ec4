"""The prescribed motion of a base as a function of (robot, t, q, qd), which is traced as torque functions are.

Its values are ω, ω̇ and the acceleration of the origin, in the axes of the base: all that torques depend on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..api.call import STILL, BaseMotion
from ..control.drives import function_name
from ..robot import Robot
from .traced_functions import TracedFunction, trace_function

COMPONENTS = ("angular_velocity", "angular_acceleration", "acceleration")
MotionOfTime = Callable[[Any], BaseMotion]
BaseFunction = Callable[..., Any]  # base(robot, t, q, qd)


def base_function(base: BaseMotion | MotionOfTime | TracedFunction | None) -> BaseFunction | None:
    """A constant motion, or a function of t that returns one, as a function of (robot, t, q, qd)."""
    if base is None or isinstance(base, TracedFunction):
        return base
    if isinstance(base, BaseMotion):
        constant = np.array(components(base, "base"), dtype=float)
        if not np.isfinite(constant).all():
            raise ValueError(f"base is {base!r} (expected finite numbers)")
        return lambda robot, t, q, qd: constant
    if not callable(base):
        raise TypeError(f"base is {base!r} (expected a linkwise.BaseMotion, or a function of t that returns one)")

    def motion(robot: Robot, t: Any, q: Any, qd: Any) -> Any:
        return components(base(t), function_name(base))

    motion.__name__ = function_name(base)
    return motion


def components(motion: object, name: str) -> np.ndarray:
    """The nine numbers of a motion."""
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
            values = np.array([base(robot, time, None, None) for time in times.tolist()], dtype=float).reshape(-1, 9)
    return BaseMotion(values[..., :3], STILL, values[..., 3:6], values[..., 6:])
