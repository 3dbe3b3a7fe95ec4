"""A robot from MuJoCo's `MjModel`: bodies, joints, springs, ranges, flags, actuators' armature, joint equalities.

Parts that change the smooth dynamics and cannot be represented are refused.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple, NoReturn

import numpy as np

from ..errors import RobotError
from ..robot import KINDS, Robot
from ..robot.tables import NO_BODY, new_name
from ..spatial import rotation_of
from .joint_forms import ModelJoint

JOINT_KINDS = ("free", "ball", "prismatic", "revolute")  # our kinds, by mjtJoint
Row = dict[str, Any]
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
EQUALITY_KINDS = {0: "between bodies (a closed loop)", 1: "between bodies (a closed loop)", 3: "between tendons"}
Part = tuple[str, int]
TENDON_FORCES = ("stiffness", "damping", "armature", "frictionloss", "stiffnesspoly", "dampingpoly")


def from_mujoco(model: Any) -> Robot:
    """Make a robot of a MuJoCo model, with its gravity, as `lw.load` does from the model's file.

    Links are the bodies. A body with several joints becomes several links; the first ones are named
    after their joints and have no mass. Bodies without joints, and sites, become fixed frames. q is
    MuJoCo's qpos, v its qvel. A joint that an active equality ties to another by a straight line is
    coupled and has no coordinate; a joint that it fixes does not move. Armature and damping of
    actuators on hinges and slides are added to those of the joint. Forces that a flag of the model
    switches off are absent. Contacts, forces of actuators and sensors are left out.

    Parameters
    ----------
    model : mujoco.MjModel

    Returns
    -------
    Robot

    Raises
    ------
    RobotError
        If the model has what changes the smooth dynamics and a robot cannot represent: fluids, gravity
        compensation, springs and armature of tendons, other equalities, plugins, flexes.
    """
    if type(model).__module__.partition(".")[0] != "mujoco" or not hasattr(model, "body_parentid"):
        raise TypeError(f"the model is a {type(model).__name__} (expected a mujoco.MjModel)")
    reading = ModelReader(model)
    return Robot.from_frames(reading.rows, gravity=reading.gravity, name=model_name(model), unphysical="warn")


def model_name(model: Any) -> str:
    return bytes(model.names).split(b"\0", 1)[0].decode() or "model"


def mujoco_joints(model: Any) -> Iterator[ModelJoint]:
    """The joints of a model; those that an equality locks have a value."""
    names, locked = Names(model), locked_joints(model, disabled_flags(model))
    for joint in range(model.njnt):
        kind = JOINT_KINDS[int(model.jnt_type[joint])]
        q, v = int(model.jnt_qposadr[joint]), int(model.jnt_dofadr[joint])
        nq, nv = KINDS[kind].sizes
        link = names.link_of[joint]
        name = names.joint_name(joint).get("joint_name", link)
        yield ModelJoint(name, name, link, kind, range(q, q + nq), range(v, v + nv), locked.get(joint))


class Names:
    """Names of links and joints: those of the model, and generated ones."""

    def __init__(self, model: Any) -> None:
        self.own_bodies = [name_of(model, model.name_bodyadr, body) for body in range(model.nbody)]
        self.own_joints = [name_of(model, model.name_jntadr, joint) for joint in range(model.njnt)]
        self.links, self.joints = set(filter(None, self.own_bodies[1:])), set(filter(None, self.own_joints))
        self.bodies: list[str | None] = [None]  # the last link of each body; None for the world
        self.link_of: list[str] = []  # of joints
        for body in range(1, model.nbody):
            self.bodies.append(self.own_bodies[body] or new_name(f"body{body}", self.links))
            first, count = int(model.body_jntadr[body]), int(model.body_jntnum[body])
            for k in range(count):
                name = self.own_joints[first + k] or f"{self.bodies[body]}_joint{k + 1}"
                self.link_of.append(new_name(name, self.links) if k < count - 1 else str(self.bodies[body]))

    def joint_name(self, joint: int) -> Row:
        name, link = self.own_joints[joint], self.link_of[joint]
        if name:
            return {"joint_name": name} if name != link else {}
        return {"joint_name": new_name(f"{link}_joint", self.joints)} if link in self.joints else {}


class ModelReader(Names):
    """Reads a model into rows, each with the part of the model that it represents."""

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        self.model, self.off = model, disabled_flags(model)
        refuse_unsupported(model, self.off)
        self.ties, self.drives = joint_equalities(model, self.off), actuator_drives(model, self.off)
        self.gravity = np.zeros(3) if "gravity" in self.off else np.array(model.opt.gravity)
        self.rows: list[Row] = []
        self.parts: list[Part] = []
        for body in range(1, model.nbody):
            self.add_body(body)
        for site in range(model.nsite):
            self.add_site(site)

    def add(self, part: Part, row: Row) -> None:
        self.parts.append(part)
        self.rows.append(row)

    def add_body(self, body: int) -> None:
        model, parent = self.model, self.bodies[int(self.model.body_parentid[body])]
        first, count = int(model.body_jntadr[body]), int(model.body_jntnum[body])
        where: Row = {
            "translation": np.array(model.body_pos[body]),
            "rotation": self.rotation("body", body, model.body_quat),
        }
        if not count:
            row: Row = {"name": self.bodies[body], "parent": parent, "joint": "fixed"}
            self.add(("body", body), {**row, **where, **self.inertial(body)})
        for k, joint in enumerate(range(first, first + count)):
            link = self.link_of[joint]
            mass = self.inertial(body) if k == count - 1 else NO_BODY
            row = {"name": link, "parent": parent}
            self.add(("joint", joint), {**row, **self.joint_entries(joint, where), **mass})
            parent, where = link, {"translation": np.zeros(3), "rotation": np.eye(3)}

    def inertial(self, body: int) -> Row:
        R = self.rotation("body", body, self.model.body_iquat)
        moments = np.array(self.model.body_inertia[body])
        tensor = R @ np.diag(moments) @ R.T
        com = np.array(self.model.body_ipos[body])
        return {"mass": float(self.model.body_mass[body]), "com": com, "inertia": (tensor + tensor.T) / 2.0}

    def joint_entries(self, joint: int, where: Row) -> Row:
        """Placement, axis and drive of a joint; only the placement if an equality locks it."""
        model, kind, tie = self.model, JOINT_KINDS[int(self.model.jnt_type[joint])], self.ties.get(joint)
        anchor, axis = np.array(model.jnt_pos[joint]), np.array(model.jnt_axis[joint])
        row: Row = {"joint": kind, **where}
        if kind == "free":  # its qpos is the pose in the world, not relative to the body's own placement
            row |= {"translation": np.zeros(3), "rotation": np.eye(3)}
        elif kind != "ball":
            at = 0.0 if tie is None or tie.leader is not None else tie.offset
            back = axis_motion(kind, axis, anchor, at - float(model.qpos0[int(model.jnt_qposadr[joint])]))
            R, t = where["rotation"], where["translation"]
            row |= {"rotation": R @ back[:3, :3], "translation": t + R @ back[:3, 3], "axis": axis}
        if tie is not None and tie.leader is None:  # locked; only hinges and slides have equalities
            return {key: row[key] for key in where} | {"joint": "fixed"}
        if kind in ("revolute", "ball"):
            row["anchor"] = anchor
        return row | self.joint_name(joint) | self.drive(joint, kind) | self.coupling(tie)

    def drive(self, joint: int, kind: str) -> Row:
        model, added = self.model, self.drives.get(joint, Drive())
        begin = int(model.jnt_dofadr[joint])
        dofs = slice(begin, begin + KINDS[kind].degrees)
        values = {"rotor_inertia": self.one_value(joint, model.dof_armature[dofs], "armature") + added.armature}
        if "damper" not in self.off:
            values["viscous_friction"] = self.one_value(joint, model.dof_damping[dofs], "damping") + added.damping
            if hasattr(model, "dof_dampingpoly"):  # of the second power, times |q̇| q̇
                values["quadratic_friction"] = self.one_value(joint, model.dof_dampingpoly[dofs, 0], "damping")
        if not self.off & {"frictionloss", "constraint"}:
            values["coulomb_friction"] = self.one_value(joint, model.dof_frictionloss[dofs], "frictionloss")
        row: Row = {key: value for key, value in values.items() if value}
        if kind in ("prismatic", "revolute") and bool(model.jnt_limited[joint]):
            row["limits"] = tuple(float(x) for x in model.jnt_range[joint])
        if kind != "free" and bool(model.jnt_actfrclimited[joint]):
            low, high = (float(x) for x in model.jnt_actfrcrange[joint])
            row |= {"effort_limit": high} if low == -high else {}
        return row | self.spring(joint, kind)

    def one_value(self, joint: int, values: Any, what: str) -> float:
        values = np.array(values, dtype=float)
        if np.ptp(values) > 0.0:
            problem = f"has {what} {values.tolist()}, different for its degrees of freedom"
            refuse(self.model, "joint", joint, problem, "the same")
        return float(values[0])

    def spring(self, joint: int, kind: str) -> Row:
        stiffness = float(self.model.jnt_stiffness[joint])
        if stiffness == 0.0 or "spring" in self.off:
            return {}
        if kind == "free":
            refuse(self.model, "joint", joint, "has stiffness, a spring of a free joint", ignore="spring")
        begin = int(self.model.jnt_qposadr[joint])
        if kind != "ball":
            return {"stiffness": stiffness, "rest": float(self.model.qpos_spring[begin])}
        rest = np.array(self.model.qpos_spring[begin : begin + 4])
        if abs(rest[0]) != 1.0:  # Linkwise's ball springs rest at the quaternion (1, 0, 0, 0)
            refuse(self.model, "joint", joint, f"has a spring that rests at {rest.tolist()}", "1, 0, 0, 0 of a ball")
        return {"stiffness": stiffness}

    def rotation(self, kind: str, index: int, quaternions: Any) -> np.ndarray:
        quaternion = [float(x) for x in quaternions[index]]  # MuJoCo gives zeros where its length is out of range
        if not 0.0 < math.hypot(*quaternion) < math.inf:
            refuse(self.model, kind, index, f"has the quaternion {quaternion}", "one of a rotation")
        return rotation(quaternion)

    def coupling(self, tie: JointEquality | None) -> Row:
        if tie is None or tie.leader is None:
            return {}
        return {"coupled_to": self.link_of[tie.leader], "ratio": tie.ratio, "offset": tie.offset}

    def add_site(self, site: int) -> None:
        """Add a named site as a fixed frame, unless a link has this name."""
        model, name = self.model, name_of(self.model, self.model.name_siteadr, site)
        if name and name not in self.links:
            self.links.add(name)
            row: Row = {"name": name, "parent": self.bodies[int(model.site_bodyid[site])], "joint": "fixed"}
            place = {
                "translation": np.array(model.site_pos[site]),
                "rotation": self.rotation("site", site, model.site_quat),
            }
            self.add(("site", site), row | place)


def axis_motion(kind: str, axis: np.ndarray, anchor: np.ndarray, q: float) -> np.ndarray:
    """The motion of a hinge or slide at q."""
    T = np.eye(4)
    if kind == "prismatic":
        T[:3, 3] = q * axis
        return T
    half = np.sin(q / 2.0) * axis
    R = rotation([np.cos(q / 2.0), *half])
    T[:3, :3], T[:3, 3] = R, anchor - R @ anchor
    return T


def rotation(quaternion: Any) -> np.ndarray:
    return np.array(rotation_of([float(x) for x in quaternion]).rows, dtype=float)


class JointEquality(NamedTuple):
    """An equality that couples a joint to a leader, or locks it at `offset`; in numbers of qpos."""

    leader: int | None
    ratio: float
    offset: float
    equality: int
    linear: bool


class Drive(NamedTuple):
    """Armature and damping that actuators add to a joint."""

    armature: float = 0.0
    damping: float = 0.0


class ModelError(RobotError):
    """A part of the model, by kind and index, that a robot cannot represent."""

    def __init__(self, part: Part, name: str, problem: str, expected: str, ignore: str) -> None:
        subject = f"{part[0]} {name!r}: " if name else ""
        super().__init__(f"MuJoCo model: {subject}{problem}{in_parentheses(expected)}")
        self.part, self.problem, self.expected, self.ignore = part, problem, expected, ignore

    @property
    def without_part(self) -> str:
        """The message without the name of the part, for readers that name it themselves."""
        hint = f'ignore=["{self.ignore}"] leaves it out' if self.ignore else ""
        return f"{self.problem}{in_parentheses(self.expected, hint)}"


def in_parentheses(expected: str, hint: str = "") -> str:
    parts = [*([f"expected {expected}"] if expected else []), *([hint] if hint else [])]
    return f" ({'; '.join(parts)})" if parts else ""


def refuse(model: Any, kind: str, index: int, problem: str, expected: str = "none", ignore: str = "") -> NoReturn:
    """Raise a `ModelError`. `ignore` is the option of file readers that leaves the part out."""
    addresses = getattr(model, NAMES.get(kind, ""), None)
    name = "" if addresses is None else name_of(model, addresses, index) or str(index)
    raise ModelError((kind, index), name, problem, expected, ignore)


def name_of(model: Any, addresses: Any, index: int) -> str:
    start = int(addresses[index])
    return bytes(model.names[start:]).split(b"\0", 1)[0].decode()


def disabled_flags(model: Any) -> set[str]:
    """The flags that are switched off; their bits are taken from the loaded library."""
    bits, flags = sys.modules["mujoco"].mjtDisableBit, int(model.opt.disableflags)
    off = {flag for flag in FLAGS if flags & int(getattr(bits, f"mjDSBL_{flag.upper()}", 0))}
    passive = int(getattr(bits, "mjDSBL_PASSIVE", 0))  # in older versions, springs and dampers together
    return off | ({"spring", "damper"} if flags & passive else set())


def refuse_unsupported(model: Any, off: set[str]) -> None:
    """Refuse parts that change the smooth dynamics and that a robot does not have."""
    if float(model.opt.density) or float(model.opt.viscosity):
        refuse(model, "option", 0, "has a fluid, option density or viscosity", ignore="fluid")
    for body in np.flatnonzero(np.array(model.body_gravcomp)).tolist():
        refuse(model, "body", body, "has gravcomp, a force that compensates its weight", ignore="gravcomp")
    if model.nflex:
        refuse(model, "option", 0, "has flexes", "rigid bodies alone")
    if model.nplugin:
        refuse(model, "option", 0, "has plugins")
    for what in TENDON_FORCES:
        for tendon in nonzero_rows(model, f"tendon_{what}"):
            refuse(model, "tendon", tendon, f"has {what}, which acts on the joints", ignore="tendon")
    refuse_nonlinear(model, off)


def refuse_nonlinear(model: Any, off: set[str]) -> None:
    """Refuse springs that are not linear, and dampers above the second power."""
    linear = "only the first, linear one"
    if "damper" not in off:
        for dof in nonzero_rows(model, "dof_dampingpoly"):
            if np.array(model.dof_dampingpoly)[dof, 1:].any():
                refuse(model, "joint", int(model.dof_jntid[dof]), "has damping of higher powers", "only the first two")
        for actuator in nonzero_rows(model, "actuator_dampingpoly"):
            refuse(model, "actuator", actuator, "has damping of higher powers", linear)
    if "spring" not in off:
        for joint in nonzero_rows(model, "jnt_stiffnesspoly"):
            refuse(model, "joint", joint, "has stiffness of higher powers", linear)
        for joint in nonzero_rows(model, "jnt_springyield"):
            if float(model.jnt_stiffness[joint]):
                refuse(model, "joint", joint, "has a spring that yields", ignore="spring")


def nonzero_rows(model: Any, key: str) -> list[int]:
    """The rows of a model's array that are not zero; older versions lack some arrays."""
    values = np.array(getattr(model, key, ()))
    return [
        int(k) for k in np.flatnonzero(values.any(axis=tuple(range(1, values.ndim))) if values.ndim > 1 else values)
    ]


def actuator_drives(model: Any, off: set[str]) -> dict[int, Drive]:
    """Armature and damping of actuators by joint, times the square of the gear ratio."""
    drives: dict[int, Drive] = {}
    for actuator in sorted({*nonzero_rows(model, "actuator_armature"), *nonzero_rows(model, "actuator_damping")}):
        joint = int(model.actuator_trnid[actuator][0])
        on_joint = int(model.actuator_trntype[actuator]) in ON_JOINTS
        if not on_joint or int(model.jnt_type[joint]) not in HINGE_OR_SLIDE:
            problem = "has armature or damping that does not act on one hinge or slide"
            refuse(model, "actuator", actuator, problem, ignore="actuator")
        square = float(model.actuator_gear[actuator][0]) ** 2
        armature, damping = float(model.actuator_armature[actuator]), float(model.actuator_damping[actuator])
        before = drives.get(joint, Drive())
        damping = 0.0 if "damper" in off else damping
        drives[joint] = Drive(before.armature + armature * square, before.damping + damping * square)
    return drives


def joint_equalities(model: Any, off: set[str]) -> dict[int, JointEquality]:
    """The active equalities by joint; others than those of joints are refused."""
    equalities: dict[int, JointEquality] = {}
    for k in active_equalities(model, off):
        if int(model.eq_type[k]) != JOINT_EQUALITY:
            tied = EQUALITY_KINDS.get(int(model.eq_type[k]), "of flexible bodies")
            problem = f"the model has an equality constraint {tied}, which Linkwise cannot represent"
            refuse(model, "equality", k, problem, "", "equality")
        joint, equality = equality_of(model, k)
        if joint in equalities:
            name = name_of(model, model.name_jntadr, joint)
            refuse(model, "equality", k, f"ties joint {name!r} a second time", "once", "equality")
        if not equality.linear:
            refuse(model, "equality", k, "is not a straight line", "polycoef of two numbers", "equality")
        equalities[joint] = equality
    return equalities


def locked_joints(model: Any, off: set[str]) -> dict[int, float]:
    """The joints that an equality locks, with their qpos."""
    of_joints = (k for k in active_equalities(model, off) if int(model.eq_type[k]) == JOINT_EQUALITY)
    equalities = (equality_of(model, k) for k in of_joints)
    return {joint: equality.offset for joint, equality in equalities if equality.leader is None and equality.linear}


def active_equalities(model: Any, off: set[str]) -> list[int]:
    return [] if off & {"equality", "constraint"} else [k for k in range(model.neq) if bool(model.eq_active0[k])]


def equality_of(model: Any, k: int) -> tuple[int, JointEquality]:
    """The joint of an equality y - y0 = c0 + c1 (x - x0), with y0 and x0 from qpos0, and what it does to the joint."""
    joint, leader = int(model.eq_obj1id[k]), int(model.eq_obj2id[k])
    c0, c1, *higher = (float(x) for x in model.eq_data[k][:5])
    offset = float(model.qpos0[model.jnt_qposadr[joint]]) + c0
    if leader < 0:
        return joint, JointEquality(None, 0.0, offset, k, True)
    if c1 == 0.0:
        return joint, JointEquality(None, 0.0, offset, k, not any(higher))
    offset -= c1 * float(model.qpos0[model.jnt_qposadr[leader]])
    return joint, JointEquality(leader, c1, offset, k, not any(higher))
