"""<actuator> and <tendon>: only the inertia and damping that an actuator adds to its joint is part of a table."""

from __future__ import annotations

from ...errors import near_miss
from ..xml import Element
from .defaults import MAIN, Defaults
from .grammar import ACTUATORS, check_attributes, refuse_tag
from .rows import Row, linear, not_negative
from .settings import Settings
from .skipped import Skipped

PASSIVE = ("stiffness", "damping", "armature", "frictionloss")


def add_actuators(
    sections: list[Element], rows: list[Row], settings: Settings, defaults: Defaults, skipped: Skipped
) -> None:
    """Rotor inertia and damping count with the square of the gear ratio."""
    by_name = {row.joint.name: row for row in rows if row.joint is not None and row.joint.name}
    joints = [name for row in rows if row.joint is not None for name in (row.joint.name,) if name]
    for section in sections:
        for element in section.children:
            if element.tag not in ACTUATORS:
                refuse_tag(element, section, ACTUATORS)
            check_attributes(element)
            skipped.add("actuators")
            merged = defaults.applied(element, MAIN)
            target = merged.get("joint", merged.get("jointinparent", ""))
            if target and target not in joints:
                element.fail(f'joint is "{target}", which no joint has as its name{near_miss(target, joints)}')
            armature, damping = not_negative(merged, "armature"), linear(merged, "damping")
            if armature == 0.0 and damping == 0.0:
                continue
            row = by_name.get(merged.get("joint", ""))
            if row is None or row.joint is None or row.joint.kind not in ("hinge", "slide"):
                skipped.refuse("actuator", element, "has armature or damping that does not act on one hinge or slide")
                continue
            gear = merged.numbers("gear", None, (1.0,))
            square = (gear[0] if gear else 1.0) ** 2
            row.entries["rotor_inertia"] += armature * square
            if "damper" not in settings.disabled:
                row.entries["viscous_friction"] += damping * square


def check_tendons(sections: list[Element], defaults: Defaults, skipped: Skipped) -> None:
    """A tendon without stiffness, damping, friction and inertia exerts nothing by itself."""
    for section in sections:
        for element in section.children:
            if element.tag not in ("spatial", "fixed"):
                refuse_tag(element, section, ("spatial", "fixed"))
            check_attributes(element, f"tendon/{element.tag}")
            merged = defaults.applied(element, MAIN)
            acts = [key for key in PASSIVE if any(merged.numbers(key, None, ()))]
            if acts:
                skipped.refuse("tendon", element, f"has {' and '.join(acts)}, which acts on the joints")
            skipped.add("tendons")
