"""Rotor inertias in URDF, by two elements that Drake has added to the <actuator> of a <transmission>.

    <transmission name="...">
      <type>transmission_interface/SimpleTransmission</type>
      <joint name="..."/>
      <actuator name="..."><drake:rotor_inertia value="J"/><drake:gear_ratio value="N"/></actuator>
    </transmission>

The inertia at the joint is N² J; the default of N is 1. Pinocchio, MuJoCo and ROS skip these elements; Drake skips
transmissions of joints whose effort limit is 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...robot import KINDS, Robot
from ...spatial import is_zero
from ..xml import Element
from .rows import Branch, resolve_name, single_axis_types

NAMESPACE = "http://drake.mit.edu"
ROTOR, GEAR, SIMPLE = "drake:rotor_inertia", "drake:gear_ratio", "SimpleTransmission"
LEFT_OUT = '(ignore=["transmission"] leaves it out)'


def read_rotors(root: Element, order: list[Branch], rows: list[dict[str, Any]]) -> None:
    """Add the rotor inertias of transmissions to the rows of their joints."""
    joints = {branch.joint.attributes["name"]: k for k, branch in enumerate(order) if branch.joint is not None}
    for transmission in root.all("transmission"):
        rotors = [(actuator, rotor) for actuator in transmission.all("actuator") for rotor in actuator.all(ROTOR)]
        for actuator, element in rotors:
            rotor = element.number("value")
            gear = actuator.only(GEAR)
            ratio = 1.0 if gear is None else gear.number("value")
            if rotor < 0.0:
                element.fail(f"value is {rotor!r} (expected an inertia, not negative)")
            row = rows[joint_of(transmission, element, joints, order)]
            row["rotor_inertia"] = row.get("rotor_inertia", 0.0) + ratio**2 * rotor


def joint_of(transmission: Element, rotor: Element, joints: Mapping[str, int], order: list[Branch]) -> int:
    """The row of the joint that a transmission drives."""
    kind = transmission.find("type")
    transmission_type = "" if kind is None else kind.text.strip() or kind.attributes.get("name", "")
    driven = transmission.all("joint")
    if SIMPLE not in (transmission_type or transmission.attributes.get("type", SIMPLE)) or len(driven) != 1:
        rotor.fail(f"stands in a transmission that is not simple (expected a {SIMPLE} of one joint) {LEFT_OUT}")
    name = resolve_name(driven[0], "name", "joint", joints, f" {LEFT_OUT}")
    joint = order[joints[name]].joint
    if joint is not None and joint.attributes["type"] not in single_axis_types():
        rotor.fail(f"its joint is {joint.attributes['type']} (expected {', '.join(single_axis_types())}) {LEFT_OUT}")
    return joints[name]


def rotors_of(robot: Robot) -> list[tuple[str, float, str]]:
    """Names, inertias and units of joints with rotors."""
    driven = [row for row in robot.rows if not is_zero(row.get("rotor_inertia", 0.0))]
    turning = [any(joint.angular for joint in KINDS[row["joint"]].links) for row in driven]
    return [
        (row.get("joint_name", row["name"]), row["rotor_inertia"], "kg m2" if turns else "kg")
        for row, turns in zip(driven, turning, strict=True)
    ]


def rotor_text(rotors: list[tuple[str, float, str]]) -> str:
    return ", ".join(f"{name} {inertia!r} {unit}" for name, inertia, unit in rotors)


def transmission(joint: str, rotor: str, quoted: str) -> Iterator[str]:
    """The lines of a transmission. `joint` (its name), `rotor` (its inertia) and `quoted` are quoted already."""
    yield f"  <transmission name={quoted}>"
    yield f"    <type>transmission_interface/{SIMPLE}</type>"
    yield f"    <joint name={joint}/>"
    yield f"    <actuator name={quoted}>"
    yield f"      <{ROTOR} value={rotor}/>"
    yield f'      <{GEAR} value="1.0"/>'
    yield "    </actuator>"
    yield "  </transmission>"
