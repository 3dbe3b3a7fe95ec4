"""A robot from Pinocchio's `Model`: joints, bodies, rotors, friction, limits, frames."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn

import numpy as np

from ..errors import RobotError
from ..robot import Robot

AXES = {"X": (1.0, 0.0, 0.0), "Y": (0.0, 1.0, 0.0), "Z": (0.0, 0.0, 1.0)}
ALIGNED = {"R": "revolute", "RUB": "revolute", "P": "prismatic", "H": "screw"}
UNALIGNED = {
    "RevoluteUnaligned": "revolute",
    "RevoluteUnboundedUnaligned": "revolute",
    "PrismaticUnaligned": "prismatic",
    "HelicalUnaligned": "screw",
}
WHOLE = {"Spherical": "ball", "FreeFlyer": "free"}
UNBOUNDED = 1e10  # Pinocchio's limits of what has none are infinite or the largest number
Part = dict[str, Any]


def from_pinocchio(model: Any) -> Robot:
    """The robot of a `pinocchio.Model`, with its gravity.

    Links have the names of the joints. q, v and torques are in Linkwise's coordinates: `lw.convert_state` converts them
    for ball, free and planar joints; unbounded revolute joints, a cosine and a sine in Pinocchio, are angles. Frames of
    the model become fixed frames. Rotor inertias are the model's `armature`, as in Pinocchio's algorithms, which do not
    read `rotorInertia` and `rotorGearRatio`. What Linkwise has no joint for is an error.
    """
    if type(model).__module__.partition(".")[0] != "pinocchio" or not hasattr(model, "jointPlacements"):
        raise TypeError(f"the model is a {type(model).__name__} (expected a pinocchio.Model)")
    names = unique_names(model)
    rows: list[Part] = []
    last: dict[int, str | None] = {0: None}
    for index in range(1, model.njoints):
        name, parent = names[index], last[model.parents[index]]
        placement = model.jointPlacements[index]
        parts = list(parts_of(model.joints[index], model, name))
        for k, part in enumerate(parts):
            final = k == len(parts) - 1
            where = placement * part.pop("placement") if "placement" in part else placement
            row = {"name": name if final else f"{name}-{k + 1}", "parent": parent, **pose(where), **part}
            body = model.inertias[index] if final else None
            row |= body_entries(body) | drive_entries(model, index, part, k, len(parts))
            rows.append(row)
            parent, placement = row["name"], where.Identity()
        last[index] = parent
    rows += list(frame_rows(model, names, last))
    return Robot.from_frames(
        rows, gravity=np.array(model.gravity.linear), name=model.name or "model", unphysical="warn"
    )


def unique_names(model: Any) -> list[str]:
    """One name for each joint; the parts of a joint that becomes several get numbers behind it."""
    return [str(name) for name in model.names]


def refuse(name: str, message: str) -> NoReturn:
    raise RobotError(f"Pinocchio model, joint {name!r}: {message}")


def parts_of(joint: Any, model: Any, name: str) -> Iterator[Part]:
    """The joints of Linkwise that a joint is."""
    own = joint.extract() if hasattr(joint, "extract") else joint
    kind = own.shortname().removeprefix("JointModel")
    if kind[-1:] in AXES and kind[:-1] in ALIGNED:
        yield with_pitch({"joint": ALIGNED[kind[:-1]], "axis": AXES[kind[-1]]}, own)
    elif kind in UNALIGNED:
        axis = np.array(own.axis, dtype=float).ravel()
        yield with_pitch({"joint": UNALIGNED[kind], "axis": axis / np.linalg.norm(axis)}, own)
    elif kind in WHOLE:
        yield {"joint": WHOLE[kind]}
    elif kind == "Planar":
        yield {"joint": "planar"}
    elif kind == "Translation":
        yield from ({"joint": "prismatic", "axis": axis} for axis in AXES.values())
    elif kind == "SphericalZYX":
        yield from ({"joint": "revolute", "axis": AXES[axis]} for axis in "ZYX")
    elif kind == "Universal":
        yield from ({"joint": "revolute", "axis": np.array(axis).ravel()} for axis in (own.axis1, own.axis2))
    elif kind == "Composite":
        for inner, placement in zip(own.joints, own.jointPlacements, strict=True):
            for k, part in enumerate(parts_of(inner, model, name)):
                yield {**part, **({} if k else {"placement": placement})}
    elif kind.startswith("Mimic"):
        yield from mimic(own, model, name)
    else:
        refuse(name, f"is a {joint.shortname()}, which Linkwise does not have")


def with_pitch(part: Part, joint: Any) -> Part:
    return {**part, "pitch": float(joint.pitch)} if part["joint"] == "screw" else part


def mimic(joint: Any, model: Any, name: str) -> Iterator[Part]:
    """A joint that follows another: the object tells ratio, offset and leader; its axis is found by moving it."""
    index = int(joint.id)
    leaders = [int(j) for i, j in zip(model.mimicking_joints, model.mimicked_joints, strict=True) if int(i) == index]
    if len(leaders) != 1:
        refuse(name, "mimics another joint that the model does not name")
    scale = float(joint.scaling)
    if scale == 0.0:
        refuse(name, "mimics another joint with the ratio 0 (expected a fixed joint)")
    poses, data = [], joint.createData()
    for q in (0.0, 0.5 / scale):
        joint.calc(data, np.full(model.nq, q))
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
    if body is None:
        return {"mass": 0.0, "com": (0.0, 0.0, 0.0), "inertia": np.zeros((3, 3))}
    return {"mass": float(body.mass), "com": np.array(body.lever).ravel(), "inertia": np.array(body.inertia)}


def drive_entries(model: Any, index: int, part: Part, k: int, parts: int) -> Part:
    """Rotor, friction and limits of the k-th part of a joint."""
    joint = model.joints[index]
    if "coupled_to" in part or joint.nv == 0:
        return {}
    degrees = joint.nv // parts if parts > 1 else joint.nv
    v = slice(joint.idx_v + k * degrees, joint.idx_v + (k + 1) * degrees)
    name = str(model.names[index])
    entries: Part = {"rotor_inertia": one_value(np.array(model.armature)[v], name, "armature")}
    if entries["rotor_inertia"] and part["joint"] in ("free", "planar"):
        refuse(
            name, f"has armature, which Pinocchio takes along the moving axes of a {part['joint']} joint (expected 0)"
        )
    if hasattr(model, "damping"):
        entries["viscous_friction"] = one_value(np.array(model.damping)[v], name, "damping")
    dry = getattr(model, "upperDryFrictionLimit", getattr(model, "friction", None))
    if dry is not None:
        entries["coulomb_friction"] = one_value(np.array(dry)[v], name, "friction")
    entries = {key: value for key, value in entries.items() if value}
    if degrees == 1 and joint.nq == joint.nv:
        q = joint.idx_q + k
        lower, upper = float(model.lowerPositionLimit[q]), float(model.upperPositionLimit[q])
        if abs(lower) < UNBOUNDED and abs(upper) < UNBOUNDED and lower < upper:
            entries["limits"] = lower, upper
    if degrees == 1:
        for key, values in (("velocity_limit", model.velocityLimit), ("effort_limit", model.effortLimit)):
            value = float(values[v.start])
            if 0.0 <= value < UNBOUNDED:
                entries[key] = value
    return entries


def one_value(values: np.ndarray, name: str, what: str) -> float:
    """Of all degrees of freedom of a joint; Linkwise has one number for them."""
    if np.ptp(values) > 0.0:
        refuse(name, f"has {what} {values.tolist()}, different for its degrees of freedom (expected the same)")
    return float(values[0])


def frame_rows(model: Any, names: list[str], last: dict[int, str | None]) -> Iterator[Part]:
    """The frames that are not those of joints, by name, without bodies: these are in the joints' already."""
    taken = set(names[1:]) | {"base", "universe", ""}
    for frame in model.frames:
        name = str(frame.name)
        joint = int(frame.parentJoint if hasattr(frame, "parentJoint") else frame.parent)
        if name in taken or not name.isprintable() or not name.strip():
            continue
        taken.add(name)
        yield {"name": name, "parent": last[joint], "joint": "fixed", **pose(frame.placement)}
