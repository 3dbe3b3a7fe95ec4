"""Torque functions that can be traced, added and wrapped: springs, torque limits and gears.

    springs      τ = k (q₀ - q) - d q̇                           energy ½ Σ k (q - q₀)²;  J⁻ᵀ k e for orientations
    limited      τ = τ₀ where |τ₀| ≤ m,  m sign(τ₀) outside
    with_gears   the rotor, J_m, turns N times as fast as the joint:  ½ J_m (N q̇)² = ½ (N² J_m) q̇²

Limits without branching, by s = sign(|x| - m), which is -1 inside, 0 at the limit and 1 outside:

    limited x = ½ (1 - s) x + ½ (1 + s) m sign(x)

Each of its factors is 0, ½ or 1, so nothing is rounded: inside it is x to the last bit, from the limit on m. (The
shorter ½ (|x + m| - |x - m|) cancels: it loses the digits of a small x, and those of m when x is large.)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

import numpy as np

from ..api.torque_functions import check_arguments, evaluate_torques, host_array
from ..errors import one_of
from ..robot import Robot, from_table, require_robot
from ..robot.configurations import neutral
from ..robot.layout import no_orientation
from ..robot.named_arrays import plain_numbers
from ..spatial import sign
from .errors import PositionError

JointNumbers = float | tuple[float, ...]  # one number for all joints, or one for each
TorqueFunction = Callable[..., Any]  # torque(robot, t, q, qd)


BOUND = "; functools.partial gives a function its further arguments"


class Law:
    """A torque function, torque(robot, t, q, qd), known by its numbers: laws with equal ones are equal, and compile
    once.

    Laws and other torque functions add up: `lw.control.springs(20, 0) + my_function`.
    """

    constructor_name: ClassVar[str] = "torque"  # the function that makes it, if there is one
    result_names: ClassVar[tuple[str, ...]] = ("tau",)  # in source files

    @property
    def __name__(self) -> str:
        """What it is called where it is compiled or exported."""
        return self.constructor_name

    def __call__(self, robot: Robot, t: Any, q: Any, qd: Any) -> Any:
        return self._torques(robot, t, host_array("q", q), host_array("qd", qd))

    def _torques(self, robot: Robot, t: Any, q: Any, qd: Any) -> Any:
        """The torques for NumPy arrays, of numbers or of nodes."""
        raise TypeError(f"{type(self).__name__} must define _torques")

    def __add__(self, other: Any) -> Any:
        return Sum((*terms(self), *terms(other))) if callable(other) else NotImplemented

    def __radd__(self, other: Any) -> Any:
        if type(other) is int and other == 0:  # what the built-in sum begins with
            return self
        return Sum((*terms(other), *terms(self))) if callable(other) else NotImplemented

    def __repr__(self) -> str:
        return f"{self.constructor_name}({', '.join(self._arguments())})"

    def _arguments(self) -> Iterator[str]:
        for field in fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            if has_nodes(value):
                yield f"{field.name}=..."
            elif value != field.default:
                yield f"{field.name}={value!r}"


def has_nodes(value: Any) -> bool:
    """Whether it stands for numbers that are not known yet: a parameter, while the law is traced."""
    return isinstance(value, np.ndarray) or hasattr(value, "graph")


@dataclass(frozen=True, repr=False)
class Sum(Law):
    """Torque functions that act together."""

    parts: tuple[TorqueFunction, ...]

    def __post_init__(self) -> None:
        for part in self.parts:
            check_arguments(part, hint=BOUND)

    def _torques(self, robot: Robot, t: Any, q: Any, qd: Any) -> Any:
        # copied: functions may write their results to one array
        first, *others = (checked(part, robot, t, q, qd).copy() for part in self.parts)
        for torque in others:
            first = first + torque
        return first

    def __repr__(self) -> str:
        return " + ".join(map(function_name, self.parts))


def terms(torque: TorqueFunction) -> tuple[TorqueFunction, ...]:
    return torque.parts if isinstance(torque, Sum) else (torque,)


@dataclass(frozen=True, repr=False)
class Springs(Law):
    """stiffness (rest - q) - damping qd"""

    stiffness: JointNumbers
    rest: JointNumbers = 0.0
    damping: JointNumbers = 0.0
    constructor_name = "springs"

    def _torques(self, robot: Robot, t: Any, q: Any, qd: Any) -> Any:
        k, d = (per_joint(self, name, robot) for name in ("stiffness", "damping"))
        error = PositionError(robot, q, configuration(self, "rest", robot))
        return error.torque(k * error.vector) - d * np.asarray(qd)

    def energy(self, q: Any, robot: Robot | None = None) -> Any:
        """What the springs hold: (...). The robot says which numbers of q are quaternions; without it, none are."""
        if robot is not None and robot.quaternions:
            error = PositionError(robot, q, configuration(self, "rest", robot)).vector
            return 0.5 * (per_joint(self, "stiffness", robot) * error**2).sum(-1)
        return 0.5 * (np.asarray(self.stiffness) * (np.asarray(q) - np.asarray(self.rest)) ** 2).sum(-1)


def springs(stiffness: Any, rest: Any = 0.0, damping: Any = 0.0) -> Springs:
    """Springs at the joints, with dampers beside them: τ = k (rest - q) - damping q̇.

    Each is a number for all joints or one for each, in N m/rad or N/m, rad or m, N m s/rad or N s/m. For a robot with
    quaternions `rest` is a configuration, nq numbers, or 0: every joint at zero, every orientation that of its parent.
    `lw.control.springs(robot)` are the springs of the robot's own table, its entries `stiffness` and `rest`.

    >>> import linkwise as lw
    >>> lw.control.springs(20, rest=[0, 0.3, 0]) + lw.control.springs(0, damping=0.5)
    springs(stiffness=20.0, rest=(0.0, 0.3, 0.0)) + springs(stiffness=0.0, damping=0.5)
    """
    if isinstance(stiffness, Robot):
        if rest != 0.0:
            raise ValueError(f"rest is {rest!r}, and the springs are those of a robot's table (expected none)")
        stiffness, rest = table_springs(stiffness)
    k, d = numbers("stiffness", stiffness, least=0.0), numbers("damping", damping, least=0.0)
    return Springs(k, numbers("rest", rest), d)


def table_springs(robot: Robot) -> tuple[np.ndarray, np.ndarray]:
    """Stiffness and rest of the springs in a robot's table, for each degree of freedom and as a configuration.

    The spring of a coupled joint, k at ratio · q + offset, is felt by the joint that it follows: the force ratio times.
    """
    rows = {row["name"]: row for row in robot.rows}
    k, force, rest = np.zeros(robot.n), np.zeros(robot.n), neutral(robot)
    for joint in robot.moving:
        slot, row = robot.slots[joint.link], rows[joint.name]
        own = float(row.get("stiffness", 0.0)) * float(slot.ratio) ** 2
        k[joint.v] += own
        if joint.kind.degrees == 1 and own:
            force[slot.v] += own * (float(row.get("rest", 0.0)) - float(slot.offset)) / float(slot.ratio)
    for link, slot in robot.driving:
        if link.joint.width == 1 and k[slot.v]:
            rest[slot.q] = force[slot.v] / k[slot.v]
    return k, rest


@dataclass(frozen=True, repr=False)
class Limited(Law):
    """A torque, but at most what its limit is, in either direction."""

    torque: TorqueFunction
    most: JointNumbers
    constructor_name = "limited"

    def _torques(self, robot: Robot, t: Any, q: Any, qd: Any) -> Any:
        wanted, most = checked(self.torque, robot, t, q, qd), per_joint(self, "most", robot)
        return np.stack([saturated(wanted[..., i], most[i]) for i in range(robot.n)], axis=-1)

    def _arguments(self) -> Iterator[str]:
        yield function_name(self.torque)
        yield "most=..." if has_nodes(self.most) else f"most={self.most!r}"


def limited(torque: TorqueFunction, most: Any) -> Limited:
    """A torque function that gives at most ±`most`, a number for all joints or one for each (math.inf: no limit).

    Inside the limits it is that function to the last bit, outside exactly the limit.

    >>> import linkwise as lw
    >>> drive = lw.control.limited(lw.control.springs(100, rest=1), most=30)
    >>> drive
    limited(springs(stiffness=100.0, rest=1.0), most=30.0)
    >>> drive(lw.load("planar3"), 0, [0, 0.9, 2], [0, 0, 0]).round(9)
    array([ 30.,  10., -30.])
    """
    if not callable(torque):
        raise TypeError(f"torque is {torque!r} (expected a function torque(robot, t, q, qd))")
    check_arguments(torque, hint=BOUND)
    return Limited(torque, numbers("most", most, least=0.0, infinite=True))


def saturated(x: Any, most: float) -> Any:
    if isinstance(most, float) and math.isinf(most):  # not a node
        return x
    direction = sign(x)
    s = sign(x * direction - most)
    return 0.5 * (1.0 - s) * x + 0.5 * (1.0 + s) * (most * direction)


def with_gears(robot: Robot, ratio: Any, motor_inertia: Any) -> Robot:
    """The same robot, driven through gears: the rotor inertia that each joint feels is ratio² motor_inertia.

    Each is a number for all joints or one for each: `ratio` in turns of the rotor per turn of the joint (rad/m where it
    slides), `motor_inertia` in kg m². These joints are those of one degree of freedom that are not coupled to others;
    what rotors they had are replaced. The rotor's own spin is not felt by other
    joints: gyroscopic torques, which grow with the ratio itself, are left out, as everywhere with `rotor_inertia`.

    >>> import linkwise as lw
    >>> lw.control.with_gears(lw.load("planar3"), ratio=[100, 80, 50], motor_inertia=2e-5).rows[1]["rotor_inertia"]
    0.128
    """
    require_robot(robot)
    single = [joint.name for joint in robot.moving if joint.kind.degrees == 1 and joint.coupling is None]
    count = len(single)
    both = {"ratio": numbers("ratio", ratio), "motor_inertia": numbers("motor_inertia", motor_inertia, least=0.0)}
    for name, value in both.items():
        if np.shape(value) not in ((), (count,)):
            raise ValueError(f"{name} has {counted(np.size(value))} (expected one, or one for each of {count} joints)")
    ratios, motors = (np.broadcast_to(np.asarray(value), (count,)) for value in both.values())
    inertias = dict(zip(single, (ratios**2 * motors).tolist(), strict=True))
    rows = [row | ({"rotor_inertia": inertias[row["name"]]} if row["name"] in inertias else {}) for row in robot.rows]
    geared = from_table(rows, robot.convention, robot.gravity, robot.name)
    grouped = any(link.grouped is not None for link in robot.links)
    return replace(geared.regrouped() if grouped else geared, about=robot.about)


def counted(count: int) -> str:
    return f"{count} number{'s' * (count != 1)}"


def numbers(name: str, value: Any, *, least: float = -math.inf, infinite: bool = False) -> JointNumbers:
    """A number or a tuple of them, checked."""
    array = plain_numbers(name, value, "a number, or one for each joint")
    fine = ~np.isnan(array) if infinite else np.isfinite(array)
    if array.ndim > 1 or not (fine & (array >= least)).all():
        kind = "numbers" if infinite else "finite numbers"
        bound = "" if least == -math.inf else f" from {least:g} on"
        raise ValueError(f"{name} is {value!r} (expected a number, or one for each joint: {kind}{bound})")
    return float(array) if array.ndim == 0 else tuple(array.tolist())


def per_joint(law: Any, name: str, robot: Robot) -> np.ndarray:
    """A law's numbers, one for each joint of the robot."""
    return broadcast(getattr(law, name), f"{law.constructor_name}: {name}", robot)


def broadcast(value: JointNumbers, name: str, robot: Robot) -> np.ndarray:
    array = np.asarray(value)
    if array.shape not in ((), (robot.n,)):
        raise ValueError(f"{name} has {counted(array.size)} (expected one, or one for each of {robot.n} {noun(robot)})")
    return np.broadcast_to(array, (robot.n,))


def noun(robot: Robot) -> str:
    return "joints" if len(robot.joints) == robot.n else "degrees of freedom"


def configuration(law: Any, name: str, robot: Robot) -> np.ndarray:
    """A law's configuration, nq numbers. Where the robot has quaternions, 0 is every joint at zero."""
    if not robot.quaternions:
        return per_joint(law, name, robot)
    array = np.asarray(getattr(law, name))
    if array.shape == () and array.dtype != object and array == 0.0:
        array = neutral(robot)
    if array.shape != (robot.nq,):
        raise ValueError(
            f"{law.constructor_name}: {name} has {counted(array.size)} (expected the {robot.nq} of a configuration of"
            f" robot {robot.name!r}: {', '.join(robot.q_names)})"
        )
    for start in robot.quaternions if array.dtype != object else ():
        if not array[start : start + 4].any():
            raise ValueError(no_orientation(robot, f"{law.constructor_name}: {name}[{start}]", start))
    return array


def joint_names(name: str, value: Any) -> tuple[str, ...]:
    names = (value,) if isinstance(value, str) else tuple(value)
    for joint in names:
        if not isinstance(joint, str):
            raise TypeError(f"{name} has {joint!r} (expected names of joints)")
    return names


def undriven(law: Any, robot: Robot) -> tuple[int, ...]:
    """Which degrees of freedom belong to the passive joints of a law."""
    for name in law.passive:
        one_of(name, robot.joint_names, f"{law.constructor_name}: passive")
    chosen = {i for name in law.passive for i in range(robot.n)[robot.v_slice(name)]}
    if len(chosen) == robot.n:
        raise ValueError(
            f"{law.constructor_name}: passive are all joints of robot {robot.name!r} (expected one with a drive)"
        )
    return tuple(sorted(chosen))


def checked(torque: TorqueFunction, robot: Robot, t: Any, q: Any, qd: Any) -> np.ndarray:
    return evaluate_torques(torque, robot, t, q, qd, function_name(torque))


def function_name(torque: TorqueFunction) -> str:
    return repr(torque) if isinstance(torque, Law) else str(getattr(torque, "__name__", repr(torque)))
