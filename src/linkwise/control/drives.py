"""Torque functions that can be traced, added and nested: springs and torque limits; gears; position errors from q to
the target q*.

    springs      τ = k (q₀ - q) - d q̇                           energy ½ Σ k (q - q₀)²;  J⁻ᵀ k e for orientations
    limited      τ = τ₀ where |τ₀| ≤ m,  m sign(τ₀) outside
    with_gears   a rotor of inertia J_m at N times the joint's rate:   ½ J_m (N q̇)² = ½ (N² J_m) q̇²

The limit has no branch. With s = sign(|x| - m), which is -1 inside, 0 at the limit and 1 outside,

    limited x = ½ (1 - s) x + ½ (1 + s) m sign(x)

Each factor is 0, ½ or 1, so there is no rounding error. (The shorter ½ (|x + m| - |x - m|) cancels: it loses digits of
a small x, and of m if x is large.)

Position errors e from q to the target q*: one number for each degree of freedom.

    e = q* - q                     plain coordinates
    e = log(q⁻¹ q*)                quaternions: axis times angle, at most π, in the body's frame: `lw.difference`

A rotation error has the rate ω_e = R ω* - ω. The columns of R = exp(e) are the axes of the target, and ω* is in these
axes. With φ = |e|,

    ė = J⁻¹ ω_e         J⁻¹ = 1 - ½ [e×] + k [e×]²         k = (1 - ½ φ cot ½φ) / φ²

so the torque J⁻ᵀ K e does the work by which ½ eᵀ K e falls. It is K e if K is one number for the three axes. J⁻¹ is
from F. Bullo and R. M. Murray, Proportional Derivative (PD) Control on the Euclidean Group, European Control
Conference 1995.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..api.kinematics import difference
from ..api.torque_functions import check_arguments, evaluate_torques, host_array
from ..errors import one_of
from ..robot import Robot, from_table, require_robot
from ..robot.configurations import neutral
from ..robot.layout import Layout, zero_quaternion_message
from ..robot.named_arrays import plain_numbers
from ..spatial import Vector, cross, dot, mul, quaternion_product, rotation_of, sign
from ..spatial.scalar import TINY, cos_and_sinc

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


class PositionError:
    """The error from q (..., nq) to the target (nq,); `vector` is e, (..., n)."""

    def __init__(self, robot: Robot, q: Any, target: Any) -> None:
        self.q, self.target = np.asanyarray(q), target
        self.quaternions = Layout.of(robot).quaternions if robot.quaternions else ()
        self.vector = difference(robot, q, target) if self.quaternions else target - self.q

    def torque(self, force: Any) -> Any:
        """J⁻ᵀ f: the torques equivalent to forces (..., n) along e."""
        return self._along_error(force, 0.5)

    def rate(self, rate_error: Any) -> Any:
        """ė = J⁻¹ ω_e, of the errors (..., n) of the rates in the axes of the bodies."""
        return self._along_error(rate_error, -0.5)

    def _along_error(self, array: Any, half: float) -> Any:
        """(1 + half [e×] + k [e×]²) of the parts of orientations."""
        if not self.quaternions:
            return array
        parts = components(array)
        for _, v in self.quaternions:
            e, f = (Vector(*(x[..., v + i] for i in range(3))) for x in (self.vector, array))
            parts[v : v + 3] = along_error(e, f, half)
        return stack_last_axis(parts)

    def reference_in_body_axes(self, qd: Any, rate: Any, acceleration: Any) -> tuple[Any, Any]:
        """The target's rate and acceleration in the axes of the bodies: R ω* and its derivative."""
        if not self.quaternions:
            return rate, acceleration
        rates, accelerations = components(rate), components(acceleration)
        for p, v in self.quaternions:
            w, x, y, z = (self.q[..., p + i] for i in range(4))
            R = rotation_of(quaternion_product((w, -x, -y, -z), components(self.target)[p : p + 4]))
            spin = Vector(*(qd[..., v + i] for i in range(3)))
            rotated = R @ Vector.of(rates[v : v + 3])
            rates[v : v + 3] = rotated
            accelerations[v : v + 3] = R @ Vector.of(accelerations[v : v + 3]) - cross(spin, rotated)
        return stack_last_axis(rates), stack_last_axis(accelerations)


def along_error(e: Vector, f: Vector, half: float) -> Vector:
    """(1 + half [e×] + k [e×]²) f"""
    square = dot(e, e)
    cosine, sinc = cos_and_sinc(mul(0.25, square))
    k = (1.0 - cosine / sinc) / (square + TINY)
    product = cross(e, f)
    result: Vector = f + product * half + cross(e, product) * k
    return result


def components(array: Any) -> list[Any]:
    """The entries along the last axis; plain numbers become floats, which the graph folds."""
    parts = [array[..., i] for i in range(array.shape[-1])]
    return [float(x) if isinstance(x, (float, np.floating)) else x for x in parts]


def stack_last_axis(parts: Sequence[Any]) -> np.ndarray:
    """Stack numbers, batch arrays or nodes along a new last axis."""
    return np.stack(np.broadcast_arrays(*map(np.asarray, parts)), axis=-1)


JointNumbers = float | tuple[float, ...]  # one number for all joints, or one for each
TorqueFunction = Callable[..., Any]  # torque(robot, t, q, qd)


class Law:
    """A torque function, torque(robot, t, q, qd), as a value: laws with equal numbers are equal and compile once.

    Laws and other torque functions can be added: `lw.control.springs(20, 0) + my_function`.
    """

    constructor_name: ClassVar[str] = "torque"  # the public function that makes it, if there is one
    result_names: ClassVar[tuple[str, ...]] = ("tau",)  # in source files

    @property
    def __name__(self) -> str:
        """The name in compiled and exported code."""
        return self.constructor_name

    def __call__(self, robot: Robot, t: Any, q: Any, qd: Any) -> Any:
        return self._torques(robot, t, host_array("q", q), host_array("qd", qd))

    def _torques(self, robot: Robot, t: Any, q: Any, qd: Any) -> Any:
        """The torques for NumPy arrays, of numbers or of nodes."""
        raise TypeError(f"{type(self).__name__} must define _torques")

    def __add__(self, other: Any) -> Any:
        return Sum((*terms(self), *terms(other))) if callable(other) else NotImplemented

    def __radd__(self, other: Any) -> Any:
        if type(other) is int and other == 0:  # the start value of the built-in sum
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
    """Whether a field is a parameter that is being traced."""
    return isinstance(value, np.ndarray) or hasattr(value, "graph")


@dataclass(frozen=True, repr=False)
class Sum(Law):
    """Torque functions that act together."""

    parts: tuple[TorqueFunction, ...]

    def __post_init__(self) -> None:
        for part in self.parts:
            check_arguments(part, parameters=True)

    def _torques(self, robot: Robot, t: Any, q: Any, qd: Any) -> Any:
        # copied: functions may reuse one array for their results
        first, *others = (evaluate_law(part, robot, t, q, qd).copy() for part in self.parts)
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
        error = PositionError(robot, q, law_configuration(self, "rest", robot))
        return error.torque(k * error.vector) - d * np.asarray(qd)

    def energy(self, q: Any, robot: Robot | None = None) -> Any:
        """Potential energy in J: (...). `robot` is needed if q has quaternions."""
        if robot is not None and robot.quaternions:
            error = PositionError(robot, q, law_configuration(self, "rest", robot)).vector
            return 0.5 * (per_joint(self, "stiffness", robot) * error**2).sum(-1)
        return 0.5 * (np.asarray(self.stiffness) * (np.asarray(q) - np.asarray(self.rest)) ** 2).sum(-1)


def springs(stiffness: ArrayLike | Robot, rest: ArrayLike = 0.0, damping: ArrayLike = 0.0) -> Springs:
    """Springs and dampers at the joints: τ = stiffness (rest - q) - damping q̇.

    Parameters
    ----------
    stiffness : array_like or Robot
        N m/rad or N/m: one number, or (n,). A robot: the entries `stiffness` and `rest` of its table.
    rest : array_like, optional
        rad or m: one number, or (n,). With quaternions a configuration (nq,), or 0 for the neutral one.
    damping : array_like, optional
        N m s/rad or N s/m: one number, or (n,).

    Returns
    -------
    Springs
        A torque function. Its method `energy(q, robot)` gives the potential energy.

    Examples
    --------
    >>> import linkwise as lw
    >>> lw.control.springs(20, rest=[0, 0.3, 0]) + lw.control.springs(0, damping=0.5)
    springs(stiffness=20.0, rest=(0.0, 0.3, 0.0)) + springs(stiffness=0.0, damping=0.5)
    """
    if isinstance(stiffness, Robot):
        if np.ndim(rest) or rest != 0.0:
            raise ValueError(
                f"rest is {rest!r}, but springs of a robot's table have rest positions there (expected no rest)"
            )
        stiffness, rest = table_springs(stiffness)
    k, d = check_numbers("stiffness", stiffness, least=0.0), check_numbers("damping", damping, least=0.0)
    return Springs(k, check_numbers("rest", rest), d)


def table_springs(robot: Robot) -> tuple[np.ndarray, np.ndarray]:
    """Stiffness (n,) and rest (nq,) of the springs in a robot's table.

    The spring of a coupled joint, k at ratio · q + offset, acts on its leader: stiffness ratio² k, force times ratio.
    """
    rows = {row["name"]: row for row in robot.rows}
    k, force, rest = np.zeros(robot.n), np.zeros(robot.n), neutral(robot)
    for joint in robot.moving:
        slot, row = robot.slots[joint.link], rows[joint.name]
        stiffness = float(row.get("stiffness", 0.0)) * float(slot.ratio) ** 2
        k[joint.v] += stiffness
        if joint.kind.degrees == 1 and stiffness:
            force[slot.v] += stiffness * (float(row.get("rest", 0.0)) - float(slot.offset)) / float(slot.ratio)
    for link, slot in robot.driving:
        if link.joint.width == 1 and k[slot.v]:
            rest[slot.q] = force[slot.v] / k[slot.v]
    return k, rest


@dataclass(frozen=True, repr=False)
class Limited(Law):
    """The torques of a function, limited in magnitude."""

    torque: TorqueFunction
    most: JointNumbers
    constructor_name = "limited"

    def _torques(self, robot: Robot, t: Any, q: Any, qd: Any) -> Any:
        tau, most = evaluate_law(self.torque, robot, t, q, qd), per_joint(self, "most", robot)
        return np.stack([saturate(tau[..., i], most[i]) for i in range(robot.n)], axis=-1)

    def _arguments(self) -> Iterator[str]:
        yield function_name(self.torque)
        yield "most=..." if has_nodes(self.most) else f"most={self.most!r}"


def limited(torque: TorqueFunction, most: ArrayLike) -> Limited:
    """Limit a torque function to ±most: τ itself within the limits, exactly ±most outside.

    Parameters
    ----------
    torque : function
        torque(robot, t, q, qd).
    most : array_like
        N m or N: one number, or (n,). math.inf: no limit.

    Returns
    -------
    Limited
        A torque function.

    Examples
    --------
    >>> import linkwise as lw
    >>> drive = lw.control.limited(lw.control.springs(100, rest=1), most=30)
    >>> drive
    limited(springs(stiffness=100.0, rest=1.0), most=30.0)
    >>> drive(lw.load("planar3"), 0, [0, 0.9, 2], [0, 0, 0]).round(9)
    array([ 30.,  10., -30.])
    """
    if not callable(torque):
        raise TypeError(f"torque is {torque!r} (expected a function torque(robot, t, q, qd))")
    check_arguments(torque, parameters=True)
    return Limited(torque, check_numbers("most", most, least=0.0, infinite=True))


def saturate(x: Any, most: float) -> Any:
    if isinstance(most, float) and math.isinf(most):  # not a node
        return x
    direction = sign(x)
    s = sign(x * direction - most)
    return 0.5 * (1.0 - s) * x + 0.5 * (1.0 + s) * (most * direction)


def with_gears(robot: Robot, ratio: ArrayLike, motor_inertia: ArrayLike) -> Robot:
    """The robot with geared motors: the rotor inertia of each joint is ratio² motor_inertia.

    This sets the rotor inertia of all joints with one degree of freedom that are not coupled to others. Gyroscopic
    torques of the rotors, which grow with the ratio, are neglected, as everywhere with `rotor_inertia`.

    Parameters
    ----------
    robot : Robot
    ratio : array_like
        Turns of the rotor per turn of the joint, or rad/m if it slides: one number, or one for each of these joints.
    motor_inertia : array_like
        kg m²: one number, or one for each of these joints.

    Returns
    -------
    Robot

    Examples
    --------
    >>> import linkwise as lw
    >>> lw.control.with_gears(lw.load("planar3"), ratio=[100, 80, 50], motor_inertia=2e-5).rows[1]["rotor_inertia"]
    0.128
    """
    require_robot(robot)
    single = [joint.name for joint in robot.moving if joint.kind.degrees == 1 and joint.coupling is None]
    count = len(single)
    both = {
        "ratio": check_numbers("ratio", ratio),
        "motor_inertia": check_numbers("motor_inertia", motor_inertia, least=0.0),
    }
    for name, value in both.items():
        if np.shape(value) not in ((), (count,)):
            raise ValueError(
                f"{name} has {number_count(np.size(value))} (expected one, or one for each of {count} joints)"
            )
    ratios, motors = (np.broadcast_to(np.asarray(value), (count,)) for value in both.values())
    inertias = dict(zip(single, (ratios**2 * motors).tolist(), strict=True))
    rows = [row | ({"rotor_inertia": inertias[row["name"]]} if row["name"] in inertias else {}) for row in robot.rows]
    geared = from_table(rows, robot.convention, robot.gravity, robot.name)
    grouped = any(link.grouped is not None for link in robot.links)
    return replace(geared.regrouped() if grouped else geared, about=robot.about)


def number_count(count: int) -> str:
    return f"{count} number{'s' * (count != 1)}"


def check_numbers(name: str, value: Any, *, least: float = -math.inf, infinite: bool = False) -> JointNumbers:
    """A float or a tuple of floats, or an error."""
    array = plain_numbers(name, value, "a number, or one for each joint")
    fine = ~np.isnan(array) if infinite else np.isfinite(array)
    if array.ndim > 1 or not (fine & (array >= least)).all():
        kind = "numbers" if infinite else "finite numbers"
        bound = "" if least == -math.inf else f" from {least:g} on"
        raise ValueError(f"{name} is {value!r} (expected a number, or one for each joint: {kind}{bound})")
    return float(array) if array.ndim == 0 else tuple(array.tolist())


def per_joint(law: Any, name: str, robot: Robot) -> np.ndarray:
    """A law's field, one number for each joint of the robot."""
    return broadcast_to_joints(getattr(law, name), f"{law.constructor_name}: {name}", robot)


def broadcast_to_joints(value: JointNumbers, name: str, robot: Robot) -> np.ndarray:
    array = np.asarray(value)
    if array.shape not in ((), (robot.n,)):
        raise ValueError(
            f"{name} has {number_count(array.size)} (expected one, or one for each of {robot.n} {joint_noun(robot)})"
        )
    return np.broadcast_to(array, (robot.n,))


def joint_noun(robot: Robot) -> str:
    return "joints" if len(robot.joints) == robot.n else "degrees of freedom"


def law_configuration(law: Any, name: str, robot: Robot) -> np.ndarray:
    """A law's configuration (nq,). If the robot has quaternions, 0 is the neutral one."""
    if not robot.quaternions:
        return per_joint(law, name, robot)
    array = np.asarray(getattr(law, name))
    if array.shape == () and array.dtype != object and array == 0.0:
        array = neutral(robot)
    if array.shape != (robot.nq,):
        raise ValueError(
            f"{law.constructor_name}: {name} has {number_count(array.size)} (expected the {robot.nq} of a configuration"
            f" of robot {robot.name!r}: {', '.join(robot.q_names)})"
        )
    for start in robot.quaternions if array.dtype != object else ():
        if not array[start : start + 4].any():
            raise ValueError(zero_quaternion_message(robot, f"{law.constructor_name}: {name}[{start}]", start))
    return array


def check_joint_names(name: str, value: Any) -> tuple[str, ...]:
    names = (value,) if isinstance(value, str) else tuple(value)
    for joint in names:
        if not isinstance(joint, str):
            raise TypeError(f"{name} has {joint!r} (expected names of joints)")
    return names


def passive_degrees(law: Any, robot: Robot) -> tuple[int, ...]:
    """The degrees of freedom of a law's passive joints."""
    for name in law.passive:
        one_of(name, robot.joint_names, f"{law.constructor_name}: passive")
    passive = {i for name in law.passive for i in range(robot.n)[robot.v_slice(name)]}
    if len(passive) == robot.n:
        raise ValueError(
            f"{law.constructor_name}: passive names all joints of robot {robot.name!r} (expected at least one with a"
            " drive)"
        )
    return tuple(sorted(passive))


def evaluate_law(torque: TorqueFunction, robot: Robot, t: Any, q: Any, qd: Any) -> np.ndarray:
    return evaluate_torques(torque, robot, t, q, qd, function_name(torque))


def function_name(torque: TorqueFunction) -> str:
    return repr(torque) if isinstance(torque, Law) else str(getattr(torque, "__name__", repr(torque)))
