"""What acts on the joints of MuJoCo's `MjModel`: flags, actuators, equalities, and what a robot has no place for."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple, NoReturn

import numpy as np

from ..errors import RobotError

FLAGS = ("constraint", "equality", "frictionloss", "spring", "damper", "gravity")
JOINT_EQUALITY = 2
HINGE_OR_SLIDE = (3, 2)
ON_JOINTS = (0, 1)  # of actuators: mjTRN_JOINT and mjTRN_JOINTINPARENT
NAMES = {  # of the parts of a model, by their kind
    "actuator": "name_actuatoradr",
    "body": "name_bodyadr",
    "equality": "name_eqadr",
    "joint": "name_jntadr",
    "site": "name_siteadr",
    "tendon": "name_tendonadr",
}
TIED = {0: "between bodies (a closed loop)", 1: "between bodies (a closed loop)", 3: "between tendons"}
Part = tuple[str, int]
TENDON_FORCES = ("stiffness", "damping", "armature", "frictionloss", "stiffnesspoly", "dampingpoly")


class Tie(NamedTuple):
    """What an equality does to a joint: it follows another, or stands where `offset` says; in numbers of qpos."""

    leader: int | None
    ratio: float
    offset: float
    equality: int
    linear: bool


class Drive(NamedTuple):
    """What actuators add to a joint."""

    armature: float = 0.0
    damping: float = 0.0


class ModelError(RobotError):
    """What a model has and a robot has no place for: a part of the model, by its kind and its number there."""

    def __init__(self, part: Part, name: str, problem: str, expected: str, ignore: str) -> None:
        subject = f"{part[0]} {name!r}: " if name else ""
        super().__init__(f"MuJoCo model: {subject}{problem}{in_parentheses(expected)}")
        self.part, self.problem, self.expected, self.ignore = part, problem, expected, ignore

    @property
    def without_part(self) -> str:
        """The message of a reader that says itself which part it is."""
        hint = f'ignore=["{self.ignore}"] leaves it out' if self.ignore else ""
        return f"{self.problem}{in_parentheses(self.expected, hint)}"


def in_parentheses(expected: str, hint: str = "") -> str:
    parts = [*([f"expected {expected}"] if expected else []), *([hint] if hint else [])]
    return f" ({'; '.join(parts)})" if parts else ""


def refuse(model: Any, kind: str, index: int, problem: str, expected: str = "none", ignore: str = "") -> NoReturn:
    """`ignore` is the name by which a reader of files is asked to leave such a part out."""
    addresses = getattr(model, NAMES.get(kind, ""), None)
    name = "" if addresses is None else name_of(model, addresses, index) or str(index)
    raise ModelError((kind, index), name, problem, expected, ignore)


def name_of(model: Any, addresses: Any, index: int) -> str:
    start = int(addresses[index])
    return bytes(model.names[start:]).split(b"\0", 1)[0].decode()


def disabled_flags(model: Any) -> set[str]:
    """The flags that are switched off. Their bits are those of the library that made the model, which is loaded."""
    bits, given = sys.modules["mujoco"].mjtDisableBit, int(model.opt.disableflags)
    off = {flag for flag in FLAGS if given & int(getattr(bits, f"mjDSBL_{flag.upper()}", 0))}
    passive = int(getattr(bits, "mjDSBL_PASSIVE", 0))  # in older versions, springs and dampers together
    return off | ({"spring", "damper"} if given & passive else set())


def refuse_unknown(model: Any, off: set[str]) -> None:
    """What changes the smooth dynamics and is not in a robot."""
    if float(model.opt.density) or float(model.opt.viscosity):
        refuse(model, "option", 0, "has a fluid, option density or viscosity", ignore="fluid")
    for body in np.flatnonzero(np.array(model.body_gravcomp)).tolist():
        refuse(model, "body", body, "has gravcomp, a force that compensates its weight", ignore="gravcomp")
    if model.nflex:
        refuse(model, "option", 0, "has flexes", "rigid bodies alone")
    if model.nplugin:
        refuse(model, "option", 0, "has plugins")
    for what in TENDON_FORCES:
        for tendon in rows_with(model, f"tendon_{what}"):
            refuse(model, "tendon", tendon, f"has {what}, which acts on the joints", ignore="tendon")
    refuse_curved(model, off)


def refuse_curved(model: Any, off: set[str]) -> None:
    """Springs and dampers that are not linear."""
    linear = "only the first, linear one"
    if "damper" not in off:
        for dof in rows_with(model, "dof_dampingpoly"):
            refuse(model, "joint", int(model.dof_jntid[dof]), "has damping of higher powers", linear)
        for actuator in rows_with(model, "actuator_dampingpoly"):
            refuse(model, "actuator", actuator, "has damping of higher powers", linear)
    if "spring" not in off:
        for joint in rows_with(model, "jnt_stiffnesspoly"):
            refuse(model, "joint", joint, "has stiffness of higher powers", linear)
        for joint in rows_with(model, "jnt_springyield"):
            if float(model.jnt_stiffness[joint]):
                refuse(model, "joint", joint, "has a spring that yields", ignore="spring")


def rows_with(model: Any, key: str) -> list[int]:
    """The indices at which an array of the model has something else than zero; older versions do not have them all."""
    values = np.array(getattr(model, key, ()))
    return [
        int(k) for k in np.flatnonzero(values.any(axis=tuple(range(1, values.ndim))) if values.ndim > 1 else values)
    ]


def drives(model: Any, off: set[str]) -> dict[int, Drive]:
    """What actuators add to their joints: armature and damping, times the square of the gear ratio."""
    found: dict[int, Drive] = {}
    for actuator in sorted({*rows_with(model, "actuator_armature"), *rows_with(model, "actuator_damping")}):
        joint = int(model.actuator_trnid[actuator][0])
        on_joint = int(model.actuator_trntype[actuator]) in ON_JOINTS
        if not on_joint or int(model.jnt_type[joint]) not in HINGE_OR_SLIDE:
            problem = "has armature or damping that does not act on one hinge or slide"
            refuse(model, "actuator", actuator, problem, ignore="actuator")
        square = float(model.actuator_gear[actuator][0]) ** 2
        armature, damping = float(model.actuator_armature[actuator]), float(model.actuator_damping[actuator])
        before = found.get(joint, Drive())
        damping = 0.0 if "damper" in off else damping
        found[joint] = Drive(before.armature + armature * square, before.damping + damping * square)
    return found


def ties(model: Any, off: set[str]) -> dict[int, Tie]:
    """What equalities do to joints."""
    found: dict[int, Tie] = {}
    for k in active_equalities(model, off):
        if int(model.eq_type[k]) != JOINT_EQUALITY:
            tied = TIED.get(int(model.eq_type[k]), "of flexible bodies")
            problem = f"the model has an equality constraint {tied}, which Linkwise cannot represent"
            refuse(model, "equality", k, problem, "", "equality")
        joint, tie = tie_of(model, k)
        if joint in found:
            name = name_of(model, model.name_jntadr, joint)
            refuse(model, "equality", k, f"ties joint {name!r} a second time", "once", "equality")
        if not tie.linear:
            refuse(model, "equality", k, "is not a straight line", "polycoef of two numbers", "equality")
        found[joint] = tie
    return found


def held_joints(model: Any, off: set[str]) -> dict[int, float]:
    """The joints that an equality fixes, and where, in numbers of qpos."""
    of_joints = (k for k in active_equalities(model, off) if int(model.eq_type[k]) == JOINT_EQUALITY)
    found = (tie_of(model, k) for k in of_joints)
    return {joint: tie.offset for joint, tie in found if tie.leader is None and tie.linear}


def active_equalities(model: Any, off: set[str]) -> list[int]:
    return [] if off & {"equality", "constraint"} else [k for k in range(model.neq) if bool(model.eq_active0[k])]


def tie_of(model: Any, k: int) -> tuple[int, Tie]:
    """A joint and what an equality does to it: y - y0 = c0 + c1 (x - x0), with y0 and x0 the numbers of qpos0."""
    joint, leader = int(model.eq_obj1id[k]), int(model.eq_obj2id[k])
    c0, c1, *higher = (float(x) for x in model.eq_data[k][:5])
    offset = float(model.qpos0[model.jnt_qposadr[joint]]) + c0
    if leader < 0:
        return joint, Tie(None, 0.0, offset, k, True)
    if c1 == 0.0:
        return joint, Tie(None, 0.0, offset, k, not any(higher))
    return joint, Tie(leader, c1, offset - c1 * float(model.qpos0[model.jnt_qposadr[leader]]), k, not any(higher))
