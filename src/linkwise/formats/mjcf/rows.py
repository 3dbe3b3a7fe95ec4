"""From the bodies of an MJCF file to the rows of a table of frames.

Joints of one body move it one after the other, so each is a row; the last has the body. The numbers of q and v are
then those of MuJoCo's qpos and qvel, in the same order.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..xml import Element
from .bodies import Body, Joint, Site
from .inertia import Inertia
from .orientation import Array, Pose, about, identity
from .settings import Settings
from .skipped import Skipped

JOINTS = {"hinge": "revolute", "slide": "prismatic", "ball": "ball", "free": "free"}
OF_THE_BODY = ("mass", "com", "inertia")
LIMITED = ("false", "true", "auto")


@dataclass
class Row:
    """A row of the table, and what it comes from."""

    entries: dict[str, Any]
    body: Body | None  # none for a site of the world
    joint: Joint | None
    before: Pose = field(default_factory=identity)  # where the joint leaves the frame when it is at its reference
    site: Element | None = None

    @property
    def name(self) -> str:
        return str(self.entries["name"])

    def element(self, key: str | None) -> Element:
        """Where in the file an entry stands."""
        if self.site is not None or self.body is None:
            assert self.site is not None
            return self.site
        if key is not None and key.startswith(OF_THE_BODY):
            return self.body.inertial or self.body.element
        return self.body.element if self.joint is None or key in ("name", "parent") else self.joint.element


class Table:
    """Rows, with names that are different from each other."""

    def __init__(self, bodies: list[Body], settings: Settings, skipped: Skipped) -> None:
        self.settings, self.skipped = settings, skipped
        self.rows: list[Row] = []
        self.links = {body.name for body in bodies if body.name}
        self.joints = {joint.name for body in bodies for joint in body.joints if joint.name}
        self.last: list[str] = []  # of each body, the name of its row

    def add(self, body: Body, inertia: Inertia) -> None:
        """The rows of a body, after those of its parent."""
        name = body.name or self._unused(f"body{len(self.last) + 1}", self.links)
        parent = self.last[body.parent] if body.parent >= 0 else ""
        place, joints = body.pose, body.joints
        if not joints:
            self.rows.append(Row({"name": name, "parent": parent, "joint": "fixed"} | placed(place), body, None, place))
        for i, joint in enumerate(joints):
            link = name if i == len(joints) - 1 else self._unused(joint.name or f"{name}_joint{i + 1}", self.links)
            self.rows.append(self._moving(body, joint, link, parent, place))
            parent, place = link, identity()
        for row in self.rows[-max(1, len(joints)) :]:
            row.entries |= massless()
        self.rows[-1].entries |= {
            "mass": inertia.mass,
            "com": numbers(inertia.frame.position),
            "inertia": [numbers(line) for line in inertia.tensor],
        }
        self.last.append(name)

    def add_sites(self, sites: list[Site], body: Body | None, link: str) -> None:
        """Rows of frames without mass, after those of all bodies; one that is called as a body is not needed."""
        for site in sites:
            if site.name in self.links:
                self.skipped.add("sites called as bodies")
                continue
            self.links.add(site.name)
            entries = {"name": site.name, "parent": link, "joint": "fixed"} | placed(site.pose)
            self.rows.append(Row(entries, body, None, site.pose, site.element))

    def _moving(self, body: Body, joint: Joint, link: str, parent: str, place: Pose) -> Row:
        if joint.kind == "free":
            place = identity()  # its coordinates are the pose in the world
        entries: dict[str, Any] = {"name": link, "parent": parent, "joint": JOINTS[joint.kind]}
        if joint.name and joint.name != link:
            entries["joint_name"] = joint.name
        elif not joint.name and link in self.joints:
            entries["joint_name"] = self._unused(f"{link}_joint", self.joints)
        entries |= placed(place.then(moved(joint, -self.reference(joint))))
        if joint.kind in ("hinge", "slide"):
            entries["axis"] = numbers(joint.axis)
        if joint.kind in ("hinge", "ball") and joint.position.any():
            entries["anchor"] = numbers(joint.position)
        return Row(entries | self._drive(joint), body, joint, place)

    def reference(self, joint: Joint) -> float:
        """The coordinate at which a joint leaves the body where the file has it."""
        return self._coordinate(joint, "ref") if joint.kind in ("hinge", "slide") else 0.0

    def _coordinate(self, joint: Joint, key: str) -> float:
        value = float(joint.element.number(key, 0.0))
        return self.settings.angle(value) if joint.kind == "hinge" else value

    def _drive(self, joint: Joint) -> dict[str, Any]:
        element, off = joint.element, self.settings.disabled
        friction = "frictionloss" not in off and "constraint" not in off
        entries = {
            "rotor_inertia": not_negative(element, "armature"),
            "viscous_friction": linear(element, "damping") if "damper" not in off else 0.0,
            "coulomb_friction": not_negative(element, "frictionloss") if friction else 0.0,
        }
        if any(element.numbers("springdamper", 2, (0.0, 0.0))):
            problem = "has a spring and a damper that depend on the inertia of the whole robot (springdamper)"
            self.skipped.refuse("springdamper", element, problem)
        return entries | self._spring(joint) | self._limits(joint)

    def _spring(self, joint: Joint) -> dict[str, Any]:
        stiffness = linear(joint.element, "stiffness")
        if stiffness == 0.0 or "spring" in self.settings.disabled:
            return {}
        if joint.kind == "free" or joint.element.number("springyield", 0.0) != 0.0:
            what = "a free joint" if joint.kind == "free" else "a joint that yields (springyield)"
            self.skipped.refuse("spring", joint.element, f"is a spring at {what}, which has no entry in a table,")
            return {}
        rest = {"rest": self._coordinate(joint, "springref")} if joint.kind != "ball" else {}
        return {"stiffness": stiffness} | rest

    def _limits(self, joint: Joint) -> dict[str, Any]:
        entries: dict[str, Any] = {}
        travel = self._range(joint, "limited", "range")
        if travel is not None:
            if joint.kind in ("hinge", "slide"):
                turn = self.settings.angle if joint.kind == "hinge" else float
                entries["limits"] = tuple(turn(x) for x in travel)
            else:
                self.skipped.add("ranges of ball joints")
        effort = self._range(joint, "actuatorfrclimited", "actuatorfrcrange")
        if effort is not None and effort[0] == -effort[1]:
            entries["effort_limit"] = effort[1]
        return entries

    def _range(self, joint: Joint, switch: str, key: str) -> tuple[float, float] | None:
        """A range that is given and not switched off."""
        element = joint.element
        limited, (low, high) = element.word(switch, LIMITED, "auto"), element.numbers(key, 2, (0.0, 0.0))
        given = low != 0.0 or high != 0.0
        if joint.kind == "free" or limited == "false" or (limited == "auto" and not given):
            return None
        if limited == "auto" and not self.settings.autolimits:
            element.fail(f'has {key}, and neither {switch} nor autolimits in <compiler> (expected {switch}="true")')
        if low >= high and joint.kind != "ball":
            element.fail(f"{key} is {low:g} to {high:g} (expected the smaller number first)")
        return low, high

    def _unused(self, name: str, taken: set[str]) -> str:
        while name in taken:
            name += "_"
        taken.add(name)
        return name


def lock(row: Row, coordinate: float) -> None:
    """Fix a joint of one degree of freedom, where its coordinate has this distance from its reference."""
    assert row.joint is not None
    place = row.before.then(moved(row.joint, coordinate))
    kept = {key: value for key, value in row.entries.items() if key in ("name", "parent", *OF_THE_BODY)}
    row.entries = kept | {"joint": "fixed"} | placed(place)


def moved(joint: Joint, coordinate: float) -> Pose:
    """How a joint moves the frame of its body."""
    if joint.kind == "slide":
        return Pose(np.eye(3), coordinate * joint.axis)
    if joint.kind != "hinge" or coordinate == 0.0:
        return identity()
    turn = about(joint.axis, coordinate)
    return Pose(turn, joint.position - turn @ joint.position)


def placed(place: Pose) -> dict[str, Any]:
    return {"translation": numbers(place.position), "rotation": [numbers(line) for line in place.rotation]}


def massless() -> dict[str, Any]:
    return {"mass": 0.0, "com": (0.0, 0.0, 0.0), "inertia": [(0.0, 0.0, 0.0)] * 3}


def numbers(values: Array) -> tuple[float, ...]:
    return tuple(values.tolist())


def not_negative(element: Element, key: str) -> float:
    value = float(element.number(key, 0.0))
    if value < 0.0:
        element.fail(f"{key} is {value:g} (expected a number that is not negative)")
    return value


def linear(element: Element, key: str) -> float:
    """A coefficient, of which MuJoCo has up to three: of the first, second and third power."""
    given = element.numbers(key, None, ())
    if len(given) > 3 or (key in element.attributes and not given):
        element.fail(f"{key} has {len(given)} numbers (expected 1 to 3)")
    if any(given[1:]):
        element.fail(f"{key} has terms of higher powers, {list(given[1:])} (expected only the first, linear one)")
    if given and given[0] < 0.0:
        element.fail(f"{key} is {given[0]:g} (expected a number that is not negative)")
    return float(given[0]) if given else 0.0
