"""The bodies of <worldbody>, depth first, with their joints and geoms; frames and replicas are resolved here.

This is also the order in which MuJoCo numbers bodies and joints.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from ..xml import Element
from .defaults import MAIN, Defaults
from .grammar import BODY, REFUSED_IN_BODY, SKIPPED_IN_BODY, check_attributes, refuse_tag
from .orientation import Array, Pose, euler, identity, pose, unit
from .settings import Settings
from .skipped import Skipped

KINDS = ("hinge", "slide", "ball", "free")
COPIES = 5_000  # of elements, by <replicate>
LARGEST = 1e9
SCALING = ("scale", "massscale", "scaling")


@dataclass
class Joint:
    """Axis and position in the frame of the body."""

    element: Element
    name: str
    kind: str
    axis: Array
    position: Array


@dataclass
class Geom:
    element: Element
    frame: Pose  # of the <frame> around it, in the body


@dataclass
class Site:
    """A named frame."""

    element: Element
    name: str
    pose: Pose  # in the body


@dataclass
class Body:
    element: Element
    name: str
    parent: int  # -1 for the world
    pose: Pose  # in the parent
    stated_pose: Pose  # in the <frame> around it
    joints: list[Joint] = field(default_factory=list)
    geoms: list[Geom] = field(default_factory=list)
    sites: list[Site] = field(default_factory=list)
    inertial: Element | None = None
    children: int = 0


@dataclass(frozen=True)
class Scope:
    """Where in the tree an element stands."""

    body: int
    frame: Pose  # in the body
    childclass: str = MAIN
    suffix: str = ""  # of names in replicas
    around: str = ""  # the tag of what is directly around: frame or replicate


class Tree:
    """Bodies as they are found."""

    def __init__(self, settings: Settings, defaults: Defaults, skipped: Skipped) -> None:
        self.settings, self.defaults, self.skipped = settings, defaults, skipped
        self.bodies: list[Body] = []
        self.sites: list[Site] = []  # of the world
        self.copies = 0

    def add_world(self, section: Element) -> None:
        if section.attributes:
            section.fail(f"has the attribute {next(iter(section.attributes))} (expected none)")
        self._contents(section, Scope(-1, identity()))

    def _contents(self, around: Element, scope: Scope) -> None:
        for element in around.children:
            if scope.suffix:
                self._count(element)
            if element.tag in SKIPPED_IN_BODY:
                self.skipped.add(SKIPPED_IN_BODY[element.tag])
            elif element.tag in REFUSED_IN_BODY:
                what = REFUSED_IN_BODY[element.tag]
                element.fail(f"{what} are not read here (expected bodies, joints and geoms; MuJoCo can save them so)")
            elif element.tag in BODY:
                check_attributes(element)
                getattr(self, f"_{element.tag}")(element, scope)
            else:
                refuse_tag(element, around, (*BODY, *SKIPPED_IN_BODY))

    def _body(self, element: Element, scope: Scope) -> None:
        stated = pose(element, self.settings)
        if element.number("gravcomp", 0.0) != 0.0:
            self.skipped.refuse(
                "gravcomp", element, "has gravity compensation (gravcomp), which is a force on the body"
            )
        if element.word("mocap", ("true", "false"), "false") == "true":
            self.skipped.add("mocap (bodies are fixed where the file has them)")
        name = element.get("name", "")
        body = Body(element, name and name + scope.suffix, scope.body, scope.frame.then(stated), stated)
        self.bodies.append(body)
        if scope.body >= 0:
            self.bodies[scope.body].children += 1
        index, childclass = len(self.bodies) - 1, self._childclass(element, scope)
        self._contents(element, Scope(index, identity(), childclass, scope.suffix))

    def _frame(self, element: Element, scope: Scope) -> None:
        for key in SCALING:
            if key in element.attributes:
                element.fail(f"{key} is given: frames that scale their contents are not read here (expected none)")
        frame = scope.frame.then(pose(element, self.settings))
        childclass = self._childclass(element, scope)
        self._contents(element, replace(scope, frame=frame, childclass=childclass, around="frame"))

    def _replicate(self, element: Element, scope: Scope) -> None:
        count = element.number("count")
        if not 1 <= count <= COPIES or count != int(count):
            element.fail(f"count is {count:g} (expected a whole number from 1 to {COPIES})")
        offset = np.array(element.numbers("offset", 3, (0.0, 0.0, 0.0)))
        angles, childclass = element.numbers("euler", 3, (0.0, 0.0, 0.0)), self._childclass(element, scope)
        position = np.zeros(3)
        if max(map(abs, angles)) > LARGEST:
            element.fail(f"euler is {list(angles)} (expected angles of at most {LARGEST:g})")
        for i in range(int(count)):
            self._count(element)
            turn = euler(tuple(i * angle for angle in angles), self.settings)
            suffix = element.get("sep", "") + str(i).zfill(len(str(int(count) - 1))) + scope.suffix
            frame = scope.frame.then(Pose(turn, position))
            self._contents(element, Scope(scope.body, frame, childclass, suffix, "replicate"))
            position = position + turn @ offset

    def _count(self, element: Element) -> None:
        self.copies += 1
        if self.copies > COPIES:
            element.fail(f"is copied by <replicate>, which makes more than {COPIES} elements (expected fewer)")

    def _childclass(self, element: Element, scope: Scope) -> str:
        name: str = element.get("childclass", scope.childclass)
        self.defaults.named(name, element)
        return name

    def _inertial(self, element: Element, scope: Scope) -> None:
        body = self._owner(element, scope)
        if scope.around:
            element.fail(f"stands in <{scope.around}> (expected it in the body itself)")
        if body.inertial is not None:
            element.fail(f"is given twice (line {body.inertial.line} has the first; expected one)")
        body.inertial = element

    def _geom(self, element: Element, scope: Scope) -> None:
        merged = self.defaults.applied(element, scope.childclass)
        for child in element.children:
            child.fail("is not read here (expected a geom of a simple shape or a mesh)")
        if scope.body >= 0:  # those of the world are fixed
            self.bodies[scope.body].geoms.append(Geom(merged, scope.frame))

    def _site(self, element: Element, scope: Scope) -> None:
        """A frame, if it has a name; the shape with which it is drawn has no meaning here."""
        merged, name = self.defaults.applied(element, scope.childclass), element.get("name", "")
        if "fromto" in merged.attributes or "mesh" in merged.attributes:
            self.skipped.add("sites placed by fromto or a mesh")
        elif name:
            sites = self.bodies[scope.body].sites if scope.body >= 0 else self.sites
            sites.append(Site(element, name + scope.suffix, scope.frame.then(pose(merged, self.settings))))
        else:
            self.skipped.add("sites without a name")

    def _freejoint(self, element: Element, scope: Scope) -> None:
        self._add_joint(element, "free", scope)

    def _joint(self, element: Element, scope: Scope) -> None:
        merged = self.defaults.applied(element, scope.childclass)
        self._add_joint(merged, merged.word("type", KINDS, "hinge"), scope)

    def _add_joint(self, element: Element, kind: str, scope: Scope) -> None:
        body = self._owner(element, scope)
        if scope.around == "replicate":
            element.fail("stands in <replicate> (expected a body around it)")
        if kind == "free" and (body.parent >= 0 or body.joints):
            element.fail("is a free joint of a body that has other joints or a parent (expected a child of the world)")
        if body.joints and body.joints[0].kind == "free":
            element.fail("follows a free joint of the same body (expected that one alone)")
        if kind in ("hinge", "ball") and any(joint.kind == "ball" for joint in body.joints):
            element.fail("is a rotation after a ball joint of the same body (expected it before, or another body)")
        name = element.get("name", "")
        axis, position = np.array([0.0, 0.0, 1.0]), np.zeros(3)
        if kind in ("hinge", "slide"):
            axis = scope.frame.rotation @ unit(element.numbers("axis", 3, (0.0, 0.0, 1.0)), element, "axis")
        if kind != "free":
            position = scope.frame.then(Pose(np.eye(3), np.array(element.numbers("pos", 3, (0.0, 0.0, 0.0))))).position
        body.joints.append(Joint(element, name and name + scope.suffix, kind, axis, position))

    def _owner(self, element: Element, scope: Scope) -> Body:
        if scope.body < 0:
            element.fail("stands in the world, which does not move (expected a body around it)")
        return self.bodies[scope.body]
