"""Where the joints of a robot have their numbers in a model object of Pinocchio or MuJoCo: found by their names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import RobotError
from ..robot import Robot
from ..robot.coordinates import MovingJoint
from .joint_forms import CONVENTIONS, TITLES, PerDegree, SameNumbers

if TYPE_CHECKING:
    from .models import ModelJoint

MOST = 8  # names in a message


class Place(NamedTuple):
    """The form of a joint, and the indices of its numbers."""

    form: SameNumbers
    q: list[int]
    v: list[int]


class Follower(NamedTuple):
    """A joint that the robot couples to another, and that has numbers of its own in the model."""

    place: Place
    q: int  # of its leader, in the robot's q and v
    v: int
    ratio: float
    offset: float


@dataclass(frozen=True)
class Side:
    """All numbers of a state in a library: `places` has one entry for each joint of the robot that moves on its own."""

    title: str
    nq: int
    nv: int
    places: tuple[Place, ...]
    followers: tuple[Follower, ...] = ()
    standing: tuple[tuple[int, float], ...] = ()  # numbers of q of joints that are fixed in the robot

    def add_torques(self, own: np.ndarray, given: np.ndarray) -> None:
        """Torques of joints that follow others act on these, by the ratio."""
        for place, _, v, ratio, _ in self.followers:
            own[..., v] += ratio * given[..., place.v[0]]

    def fill(self, results: Mapping[str, np.ndarray], own_q: np.ndarray, own: Mapping[str, np.ndarray]) -> None:
        """The numbers of joints that follow others, and of those that stand; torques are the leader's alone."""
        for index, value in self.standing:
            results["q"][..., index] = value
        for place, q, v, ratio, offset in self.followers:
            results["q"][..., place.q] = place.form.theirs(ratio * own_q[..., q : q + 1] + offset)
            for name, x in own.items():
                if name != "tau":
                    results[name][..., place.v] = ratio * x[..., v : v + 1]


def side_of_model(arm: Robot, model: Any, which: str) -> Side:
    """The joints of a robot in a model: by the names of joints, then of links; free joints also where one is left."""
    from .models import joints_of_model  # late: the package is imported without it

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
            f"robot {arm.name!r} has joints for which {title} has no numbers: {named(x.joint for x in missing)}"
            f" (expected joints of the same names; it has {named(part.name for part in left) or 'no others'})"
        )
    if left:
        raise RobotError(
            f"{title} has joints that robot {arm.name!r} does not have: {named(part.name for part in left)} (expected"
            " the same joints)"
        )


def named(names: Iterable[str]) -> str:
    names = [repr(name) for name in names]
    return ", ".join(names[:MOST]) + (f" and {len(names) - MOST} more" if len(names) > MOST else "")
