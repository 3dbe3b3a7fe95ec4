"""A robot from Pinocchio's `Model`: joints, bodies, rotors, friction, limits, frames."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, NoReturn

import numpy as np

from ..errors import RobotError
from ..robot import KINDS, Robot
from ..robot.tables import NO_BODY, new_name
from .joint_forms import ModelJoint

AXES = {"X": (1.0, 0.0, 0.0), "Y": (0.0, 1.0, 0.0), "Z": (0.0, 0.0, 1.0)}
ALIGNED = {"R": "revolute", "RUB": "revolute", "P": "prismatic", "H": "screw"}
UNALIGNED = {
    "RevoluteUnaligned": "revolute",
    "RevoluteUnboundedUnaligned": "revolute",
    "PrismaticUnaligned": "prismatic",
    "HelicalUnaligned": "screw",
}
MULTI_DEGREE = {"Spherical": "ball", "FreeFlyer": "free", "Planar": "planar"}
UNBOUNDED = 1e10  # Pinocchio writes infinity or the largest number where there is no limit
Part = dict[str, Any]


class JointPart(NamedTuple):
    """A joint of Linkwise: a joint of Pinocchio, or one part of it."""

    joint: int  # index in the model
    name: str
    entries: Part
    placement: Any  # in the previous part, or in the parent
    last: bool
    q: range  # where its numbers are in Pinocchio's q: for an unbounded revolute joint a cosine and a sine
    v: range


def from_pinocchio(model: Any) -> Robot:
    """Make a robot of a Pinocchio model, with its gravity.

    Links have the names of the joints, and frames of the model become fixed frames. q, v and torques
    are in Linkwise's coordinates (`lw.convert_state` converts): an unbounded revolute joint, a cosine
    and a sine in Pinocchio, is an angle. Rotor inertias are the model's `armature`, which Pinocchio's
    algorithms use; `rotorInertia` and `rotorGearRatio` are not read.

    Parameters
    ----------
    model : pinocchio.Model

    Returns
    -------
    Robot

    Raises
    ------
    RobotError
        If Linkwise has no such joint.
    """
    require_model(model)
    rows: list[Part] = []
    last: dict[int, str | None] = {0: None}
    parent: str | None = None
    first = True
    for part in joint_parts(model):
        parent = last[int(model.parents[part.joint])] if first else parent
        first = part.last
        row = {"name": part.name, "parent": parent, **pose(part.placement), **part.entries}
        row |= body_entries(model.inertias[part.joint]) if part.last else NO_BODY
        rows.append(row | drive_entries(model, part))
        parent = last[part.joint] = part.name
    rows += list(frame_rows(model, {row["name"] for row in rows}, last))
    return Robot.from_frames(
        rows, gravity=np.array(model.gravity.linear), name=model.name or "model", unphysical="warn"
    )


def require_model(model: Any) -> None:
    if type(model).__module__.partition(".")[0] != "pinocchio" or not hasattr(model, "jointPlacements"):
        raise TypeError(f"the model is a {type(model).__name__} (expected a pinocchio.Model)")


def joint_parts(model: Any) -> Iterator[JointPart]:
    """All joints in the order of the model, split into parts; the last part has the joint's name."""
    taken = {str(name) for name in model.names}
    for index in range(1, model.njoints):
        name, joint = str(model.names[index]), model.joints[index]
        parts = list(expand_joint(joint, model, name))
        q, v, placement = int(joint.idx_q), int(joint.idx_v), model.jointPlacements[index]
        for k, entries in enumerate(parts):
            last = k == len(parts) - 1
            where = placement * entries.pop("placement") if "placement" in entries else placement
            part_name = name if last else new_name(f"{name}-{k + 1}", taken)
            nq, nv = (0, 0) if "coupled_to" in entries else KINDS[entries["joint"]].sizes
            nq += entries.pop("unbounded", 0) + (entries["joint"] == "planar")  # cosine and sine of an angle
            yield JointPart(index, part_name, entries, where, last, range(q, q + nq), range(v, v + nv))
            q, v, placement = q + nq, v + nv, where.Identity()


def pinocchio_joints(model: Any) -> Iterator[ModelJoint]:
    """The joints of a model that have coordinates."""
    for part in joint_parts(model):
        if len(part.v):
            yield ModelJoint(part.name, str(model.names[part.joint]), "", part.entries["joint"], part.q, part.v)


def refuse(name: str, message: str) -> NoReturn:
    raise RobotError(f"Pinocchio model, joint {name!r}: {message}")


def expand_joint(joint: Any, model: Any, name: str) -> Iterator[Part]:
    """The joints of Linkwise that represent a joint."""
    derived = joint.extract() if hasattr(joint, "extract") else joint
    kind = derived.shortname().removeprefix("JointModel")
    endless = {"unbounded": 1} if "Unbounded" in kind or kind.startswith("RUB") else {}
    if kind[-1:] in AXES and kind[:-1] in ALIGNED:
        yield with_pitch({"joint": ALIGNED[kind[:-1]], "axis": AXES[kind[-1]]} | endless, derived)
    elif kind in UNALIGNED:
        yield with_pitch({"joint": UNALIGNED[kind], "axis": axis_of(derived)} | endless, derived)
    elif kind in MULTI_DEGREE:
        yield {"joint": MULTI_DEGREE[kind]}
    elif kind == "Translation":
        yield from ({"joint": "prismatic", "axis": axis} for axis in AXES.values())
    elif kind == "SphericalZYX":
        yield from ({"joint": "revolute", "axis": AXES[axis]} for axis in "ZYX")
    elif kind == "Universal":
        yield from ({"joint": "revolute", "axis": np.array(axis).ravel()} for axis in (derived.axis1, derived.axis2))
    elif kind == "Composite":
        if not len(derived.joints):
            refuse(name, "is a JointModelComposite without joints (expected some)")
        for inner, placement in zip(derived.joints, derived.jointPlacements, strict=True):
            for k, part in enumerate(expand_joint(inner, model, name)):
                if k == 0:
                    part["placement"] = placement * part["placement"] if "placement" in part else placement
                yield part
    elif kind.startswith("Mimic"):
        yield from mimic(derived, model, name)
    else:
        refuse(name, f"is a {joint.shortname()}, which Linkwise does not have")


def axis_of(joint: Any) -> np.ndarray:
    """The axis of an unaligned joint; from the motion subspace if the joint has no attribute for it."""
    axis = joint.axis if hasattr(joint, "axis") else np.array(joint.createData().S).ravel()[3:]
    axis = np.array(axis, dtype=float).ravel()
    return np.asarray(axis / np.linalg.norm(axis))


def with_pitch(part: Part, joint: Any) -> Part:
    return {**part, "pitch": float(joint.pitch)} if part["joint"] == "screw" else part


def mimic(joint: Any, model: Any, name: str) -> Iterator[Part]:
    """A mimicking joint. Its ratio, offset and leader are attributes; its axis is found by moving it."""
    index = int(joint.id)
    leaders = [int(j) for i, j in zip(model.mimicking_joints, model.mimicked_joints, strict=True) if int(i) == index]
    if len(leaders) != 1:
        refuse(name, "mimics another joint that the model does not name")
    scale = float(joint.scaling)
    if scale == 0.0:
        refuse(name, "mimics another joint with the ratio 0 (expected a fixed joint)")
    leader = model.joints[leaders[0]]
    if leader.shortname().endswith("HelicalUnaligned"):
        refuse(name, "mimics a JointModelHelicalUnaligned, with which Pinocchio itself breaks down")
    poses, data = [], joint.createData()
    for angle in (0.0, 0.5 / scale):
        q = np.zeros(model.nq)
        q[leader.idx_q : leader.idx_q + leader.nq] = angle if leader.nq == 1 else (np.cos(angle), np.sin(angle))
        joint.calc(data, q)
        poses.append(np.array(data.M.homogeneous))
    turn = np.linalg.inv(poses[0]) @ poses[1]  # by half a radian or half a metre
    sines = np.array([turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]])
    turns = float(np.linalg.norm(sines)) > 0.1
    axis = sines if turns else turn[:3, 3]
    axis = axis / np.linalg.norm(axis)
    part: Part = {"joint": "revolute" if turns else "prismatic", "axis": axis}
    pitch = 2.0 * float(turn[:3, 3] @ axis)
    if turns and abs(pitch) > 1e-12:
        part |= {"joint": "screw", "pitch": pitch}
    yield {**part, "coupled_to": str(model.names[leaders[0]]), "ratio": scale, "offset": float(joint.offset)}


def pose(placement: Any) -> Part:
    return {"translation": np.array(placement.translation).ravel(), "rotation": np.array(placement.rotation)}


def body_entries(body: Any) -> Part:
    return {"mass": float(body.mass), "com": np.array(body.lever).ravel(), "inertia": np.array(body.inertia)}


def drive_entries(model: Any, part: JointPart) -> Part:
    """Rotor, friction and limits."""
    v, name, kind = part.v, str(model.names[part.joint]), part.entries["joint"]
    if not v:
        return {}
    entries: Part = {"rotor_inertia": one_value(np.array(model.armature)[list(v)], name, "armature")}
    if entries["rotor_inertia"] and kind in ("free", "planar"):
        refuse(name, f"has armature, which Pinocchio takes along the moving axes of a {kind} joint (expected 0)")
    if hasattr(model, "damping"):
        entries["viscous_friction"] = one_value(np.array(model.damping)[list(v)], name, "damping")
    dry = getattr(model, "upperDryFrictionLimit", getattr(model, "friction", None))
    if dry is not None:
        entries["coulomb_friction"] = one_value(np.array(dry)[list(v)], name, "friction")
    entries = {key: value for key, value in entries.items() if value}
    if len(part.q) == 1:
        lower, upper = float(model.lowerPositionLimit[part.q[0]]), float(model.upperPositionLimit[part.q[0]])
        if abs(lower) < UNBOUNDED and abs(upper) < UNBOUNDED and lower <= upper:
            entries["limits"] = lower, upper
    if len(v) == 1:
        for key, values in (("velocity_limit", model.velocityLimit), ("effort_limit", model.effortLimit)):
            value = float(values[v[0]])
            if 0.0 <= value < UNBOUNDED:
                entries[key] = value
    return entries


def one_value(values: np.ndarray, name: str, what: str) -> float:
    """The common value of all degrees of freedom of a joint."""
    if np.ptp(values) > 0.0:
        refuse(name, f"has {what} {values.tolist()}, different for its degrees of freedom (expected the same)")
    return float(values[0])


def frame_rows(model: Any, names: set[str], last: dict[int, str | None]) -> Iterator[Part]:
    """Frames other than those of joints, without bodies: the joints' bodies include them."""
    taken = names | {"base", "universe", ""}
    for frame in model.frames:
        name = str(frame.name)
        joint = int(frame.parentJoint if hasattr(frame, "parentJoint") else frame.parent)
        if name in taken or not name.isprintable() or not name.strip():
            continue
        taken.add(name)
        yield {"name": name, "parent": last[joint], "joint": "fixed", **pose(frame.placement)}
