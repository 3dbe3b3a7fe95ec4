"""The classes of <default>: settings that elements take where they say nothing themselves."""

from __future__ import annotations

from ...errors import near_miss
from ..xml import Element
from .grammar import ACTUATORS, ATTRIBUTES, DEFAULTS, ORIENTATIONS, check_attributes, refuse_tag

MAIN = "main"
PARTIAL = ("size", "damping", "stiffness", "polycoef", "gear")  # given in part, the rest is that of the class
GROUPS = dict.fromkeys(ACTUATORS, "actuator") | {"spatial": "tendon", "fixed": "tendon"}
NUMERIC = (  # checked where the class is defined
    "pos", "quat", "axisangle", "euler", "xyaxes", "zaxis", "size", "fromto", "mass", "density", "group", "armature",
    "damping", "stiffness", "frictionloss", "ref", "springref", "springdamper", "range", "axis", "scale", "refpos",
    "refquat",
)  # fmt: skip
Values = dict[str, str]


class Defaults:
    """Attributes by class and kind of element. A class begins with those of the class that it stands in."""

    def __init__(self) -> None:
        self.classes: dict[str, dict[str, Values]] = {MAIN: {}}

    def add(self, section: Element, parent: str = "") -> None:
        """Read a <default> section: its own elements first, then the classes in it."""
        check_attributes(section)
        name = section.get("class", "" if parent else MAIN)
        if not parent and name != MAIN:
            section.fail(f'class is "{name}" (expected "main" or none for the first class; others stand in it)')
        if not name:
            section.fail("class is missing (expected a name for a class in another)")
        if parent:
            if name in self.classes:
                section.fail(f'class is "{name}", which is defined already (expected another name)')
            self.classes[name] = {group: dict(values) for group, values in self.classes[parent].items()}
        for child in section.children:
            if child.tag in (*DEFAULTS, *ACTUATORS):
                self._read(child, self.classes[name])
            elif child.tag != "default":
                refuse_tag(child, section, (*DEFAULTS, *ACTUATORS, "default"))
        for child in section.all("default"):
            self.add(child, name)

    def _read(self, element: Element, values: dict[str, Values]) -> None:
        table = element.tag if element.tag in ATTRIBUTES else f"default/{element.tag}"
        if table in ATTRIBUTES:
            check_attributes(element, table)
            for key in NUMERIC:
                element.numbers(key, None, ())
        group = group_of(element.tag)
        values[group] = combined(values.get(group, {}), element.attributes)

    def applied(self, element: Element, childclass: str, group: str = "") -> Element:
        """The element with what its class gives."""
        name = element.get("class", childclass)
        values = self.named(name, element).get(group or group_of(element.tag), {})
        if not values:
            return element
        merged = Element(element.tag, combined(values, element.attributes), element.path, element.line, element.parent)
        merged.children = element.children
        return merged

    def named(self, name: str, element: Element) -> dict[str, Values]:
        if name not in self.classes:
            element.fail(f'has the class "{name}", which <default> does not define{near_miss(name, self.classes)}')
        return self.classes[name]


def group_of(tag: str) -> str:
    return GROUPS.get(tag, tag)


def combined(defaults: Values, own: Values) -> Values:
    """Own values over those of a class. An orientation replaces one that is given in another notation."""
    kept = dict(defaults)
    if any(key in own for key in ORIENTATIONS):
        kept = {key: value for key, value in kept.items() if key not in ORIENTATIONS}
    for key, value in own.items():
        rest = kept.get(key, "").split()[len(value.split()) :] if key in PARTIAL else []
        kept[key] = " ".join([value, *rest])
    return kept
