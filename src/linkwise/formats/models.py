"""Robots and joints of the model objects of other libraries, which are recognised by their class and never imported.

The joints of a robot are found in a model object by their names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import RobotError
from ..robot import Robot
from ..robot.coordinates import MovingJoint
from ..robot.layout import listed
from .joint_forms import CONVENTIONS, TITLES, Follower, PerDegree, Place, SameNumbers, Side
from .mujoco_model import from_mujoco, mujoco_joints
from .pinocchio_model import from_pinocchio, joint_parts

__all__ = [
    "ModelJoint",
    "ModelJoints",
    "from_mujoco",
    "from_pinocchio",
    "joints_of_model",
    "robot_of_model",
    "side_of_model",
]


@dataclass(frozen=True)
class ModelJoint:
    """A joint, with where its numbers are in q and v."""

    name: str  # as the robot of the model has it
    whole: str  # the joint's own name: it may have several parts
    link: str
    kind: str
    q: range
    v: range
    value: float | None = None  # of q, where the model holds the joint

    @property
    def unbounded(self) -> bool:
        """Whether q has a cosine and a sine for one angle."""
        return self.kind == "revolute" and len(self.q) == 2


@dataclass(frozen=True)
class ModelJoints:
    library: str
    nq: int
    nv: int
    joints: tuple[ModelJoint, ...]


def library_of(model: Any) -> str:
    """Of a `pinocchio.Model` or a `mujoco.MjModel`; nothing for any other object."""
    package, name = type(model).__module__.partition(".")[0], type(model).__name__
    return package if (package, name) in (("pinocchio", "Model"), ("mujoco", "MjModel")) else ""


def robot_of_model(model: Any) -> Robot | None:
    """The robot of a model object; None for any other object."""
    library = library_of(model)
    return {"pinocchio": from_pinocchio, "mujoco": from_mujoco}[library](model) if library else None


def joints_of_model(model: Any) -> ModelJoints | None:
    """The joints of a model object; None for any other object."""
    library = library_of(model)
    if library == "pinocchio":
        joints = tuple(
            ModelJoint(part.name, str(model.names[part.joint]), "", part.entries["joint"], part.q, part.v)
            for part in joint_parts(model)
            if len(part.v)
        )
        return ModelJoints("pinocchio", int(model.nq), int(model.nv), joints)
    if library == "mujoco":
        found = tuple(
            ModelJoint(name, name, link, kind, q, v, value) for name, link, kind, q, v, value in mujoco_joints(model)
        )
        return ModelJoints("mujoco", int(model.nq), int(model.nv), found)
    return None


def side_of_model(arm: Robot, model: Any, which: str) -> Side:
    """The joints of a robot in a model: by the names of joints, then of links; free joints also where one is left."""
    layout = joints_of_model(model)
    if layout is None:
        kind = f"{type(model).__module__}.{type(model).__name__}"
        expected = "'linkwise', 'pinocchio', 'mujoco', 'drake', a pinocchio.Model or a mujoco.MjModel"
        raise TypeError(f"{which} is a {kind} (expected {expected})")
    found = matched(arm, layout.joints)
    title = f"the {TITLES[layout.library]} model"
    refuse_others(arm, layout.joints, found, title)
    forms = CONVENTIONS[layout.library]
    places = {joint.link: place_of(arm, joint, parts, forms) for joint, parts in found}
    joints = [joint for joint in arm.moving if joint.coupling is None]
    followers = []
    for joint in arm.moving:
        if joint.coupling is not None and joint.link in places:
            slot = arm.slots[joint.link]
            followers.append(Follower(places[joint.link], slot.q, slot.v, float(slot.ratio), float(slot.offset)))
    used = {part for _, parts in found for part in parts}
    standing = [(part.q[0], part.value) for part in layout.joints if part not in used and part.value is not None]
    own = tuple(places[joint.link] for joint in joints)
    return Side(title, layout.nq, layout.nv, own, tuple(followers), tuple(standing))


def matched(arm: Robot, joints: Sequence[ModelJoint]) -> list[tuple[MovingJoint, list[ModelJoint]]]:
    """Each joint that is found, with the joints of the model that it is."""
    found: list[tuple[MovingJoint, list[ModelJoint]]] = []
    left = list(joints)
    for label in ("joint", "name"):
        for joint in arm.moving:
            if not any(joint is other for other, _ in found):
                parts = parts_named(joint, getattr(joint, label), left)
                if parts:
                    found.append((joint, parts))
                    left = [part for part in left if part not in parts]
    free = [joint for joint in arm.moving if joint.kind.name == "free" and not any(joint is x for x, _ in found)]
    spare = [part for part in left if part.kind == "free"]
    if len(free) == len(spare) == 1:  # the base: "root_joint" in Pinocchio
        found.append((free[0], spare))
    return found


def parts_named(joint: MovingJoint, label: str, joints: Sequence[ModelJoint]) -> list[ModelJoint]:
    """The joints of a model that a joint of this name is: one of its kind, or one for each degree of freedom."""
    kind, degrees = joint.kind.name, joint.kind.v_labels
    separate = [link.kind for link in joint.kind.links] if joint.kind.bounded and joint.kind.degrees > 1 else []
    whole = [part for part in joints if part.whole == label]
    if whole and [part.kind for part in whole] in ([kind], separate):
        return whole
    for key in ("name", "link"):
        one = [part for part in joints if getattr(part, key) == label and part.kind == kind]
        if len(one) == 1:
            return one
    if not separate:
        return []
    several = [part for degree in degrees for part in joints if part.name == f"{label}.{degree}"]
    return several if [part.kind for part in several] == separate else []


def place_of(
    arm: Robot, joint: MovingJoint, parts: Sequence[ModelJoint], forms: Mapping[str, type[SameNumbers]]
) -> Place:
    q, v = ([index for part in parts for index in getattr(part, key)] for key in ("q", "v"))
    if parts[0].kind in ("ball", "free", "planar"):
        return Place(forms.get(joint.kind.name, SameNumbers)(arm, joint), q, v)
    return Place(PerDegree([part.unbounded for part in parts]), q, v)


def refuse_others(
    arm: Robot, joints: Sequence[ModelJoint], found: Sequence[tuple[MovingJoint, list[ModelJoint]]], title: str
) -> None:
    """An error that names the joints that only one of the two has, or that are of another kind there."""
    theirs = {part for _, parts in found for part in parts}
    left = [part for part in joints if part not in theirs and part.value is None]
    missing = [joint for joint in arm.moving if joint.coupling is None and not any(joint is x for x, _ in found)]
    kinds = {part.name: part.kind for part in left}
    for joint in missing:
        if joint.joint in kinds:
            raise RobotError(
                f"robot {arm.name!r}, joint {joint.joint!r} is {joint.kind.name}, and {kinds[joint.joint]} in {title}"
                " (expected the same robot)"
            )
    if missing:
        raise RobotError(
            f"robot {arm.name!r} has joints for which {title} has no numbers: {quoted(x.joint for x in missing)}"
            f" (expected joints of the same names; it has {quoted(part.name for part in left) or 'no others'})"
        )
    if left:
        raise RobotError(
            f"{title} has joints that robot {arm.name!r} does not have: {quoted(part.name for part in left)} (expected"
            " the same joints)"
        )


def quoted(names: Iterable[str]) -> str:
    return listed(map(repr, names), 8)
