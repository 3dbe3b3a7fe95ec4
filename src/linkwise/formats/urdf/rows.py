"""The links of a URDF as rows of a table of frames, parents before children; rotor inertias of transmissions.

URDF places the joint frame in the parent's frame by xyz, then rpy: R = R_z(yaw) R_y(pitch) R_x(roll). The link's frame
is the joint frame, moved along or about the axis, which is given in it and may have any length but zero. The mass
centre is the origin of the inertial frame, in which the tensor is given.

Rotor inertias in URDF, by two elements that Drake has added to the <actuator> of a <transmission>.

    <transmission name="...">
      <type>transmission_interface/SimpleTransmission</type>
      <joint name="..."/>
      <actuator name="..."><drake:rotor_inertia value="J"/><drake:gear_ratio value="N"/></actuator>
    </transmission>

The inertia at the joint is N² J; the default of N is 1. Pinocchio, MuJoCo and ROS skip these elements; Drake skips
transmissions of joints whose effort limit is 0.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple, NoReturn

from ...errors import near_miss
from ...robot import KINDS, Robot
from ...robot.entries import TURNS
from ...robot.kinds import one_degree_kinds
from ...robot.tables import NO_BODY, ORIGIN
from ...spatial import is_zero
from ..xml import Element, shorten

MOST_NAMES = 20  # names in a message
HINTS = 1000  # names compared with a wrong one
Matrix = tuple[tuple[float, ...], ...]
UNBOUNDED = 1e308  # written where there is no limit
NO_LIMIT = 1e300  # larger limits count as none
X = (1.0, 0.0, 0.0)
MOMENTS = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
PLACES = {  # the element of the joint or the link for each entry of a row
    "joint": "joint", "joint_name": "joint", "parent": "joint/parent", "translation": "joint/origin",
    "rotation": "joint/origin", "axis": "joint/axis", "limits": "joint/limit", "velocity_limit": "joint/limit",
    "effort_limit": "joint/limit", "viscous_friction": "joint/dynamics", "coulomb_friction": "joint/dynamics",
    "coupled_to": "joint/mimic", "ratio": "joint/mimic", "offset": "joint/mimic", "name": "link",
    "mass": "link/inertial/mass", "com": "link/inertial/origin", "inertia": "link/inertial/inertia",
}  # fmt: skip


class Branch(NamedTuple):
    """A link and the joint that moves it; a root has none."""

    link: Element
    joint: Element | None
    parent: str  # the name of the parent link; of a root ""

    @property
    def name(self) -> str:
        return self.link.attributes["name"]


def branches(robot: Element) -> list[Branch]:
    """All links, depth first, in the order of the joints in the file."""
    links, joints = elements_by_name(robot, "link"), elements_by_name(robot, "joint")
    if not links:
        robot.fail('has no links (expected <link name="..."> elements)')
    joint_of: dict[str, Element] = {}  # by the name of the child
    children: dict[str, list[str]] = {name: [] for name in links}
    second: list[tuple[str, Element]] = []  # joints whose child another joint moves
    for joint in joints.values():
        parent, child = link_of(joint, "parent", links), link_of(joint, "child", links)
        if parent == child:
            joint.fail(f'joins link "{shorten(parent)}" to itself (expected two links)')
        if child in joint_of:
            second.append((child, joint))
            continue
        joint_of[child] = joint
        children[parent].append(child)
    for child, joint in second:
        refuse_second_parent(child, joint_of[child], joint, joint_of)
    order: list[Branch] = []
    waiting = [name for name in reversed(links) if name not in joint_of]
    while waiting:
        name = waiting.pop()
        above = joint_of.get(name)
        order.append(Branch(links[name], above, parent_of(above) if above is not None else ""))
        waiting.extend(reversed(children[name]))
    if len(order) < len(links):
        reached = {branch.name for branch in order}
        refuse_cycle(next(name for name in links if name not in reached), joint_of)
    return order


def elements_by_name(robot: Element, tag: str) -> dict[str, Element]:
    """The elements with this tag, by name."""
    elements: dict[str, Element] = {}
    for element in robot.all(tag):
        name = element.get("name", expected=f"the name of the {tag}")
        if name in elements:
            element.fail(f"line {elements[name].line} has a {tag} of that name already (expected another name)")
        elements[name] = element
    return elements


def link_of(joint: Element, tag: str, links: dict[str, Element]) -> str:
    """The name of a joint's parent or child."""
    end = joint.only(tag)
    if end is None:
        joint.fail(f'has no <{tag}> (expected <{tag} link="..."/>)')
    return resolve_name(end, "link", "link", links)


def resolve_name(element: Element, key: str, kind: str, known: Collection[str], otherwise: str = "") -> str:
    """An attribute that names a link or a joint of the file."""
    name: str = element.get(key, expected=f"the name of a {kind}")
    if name not in known:
        hint = near_miss(name, list(known)[:HINTS])
        element.fail(f'{key} is "{shorten(name)}", which no {kind} has as its name{hint}{otherwise}')
    return name


def parent_of(joint: Element) -> str:
    end = joint.find("parent")
    assert end is not None  # `link_of` has read it
    return end.attributes["link"]


def path_up(name: str, joint_of: dict[str, Element]) -> list[str]:
    """A link and its ancestors, up to the root or the first repetition."""
    path, seen = [name], {name}
    while path[-1] in joint_of:
        above = parent_of(joint_of[path[-1]])
        path.append(above)
        if above in seen:
            break
        seen.add(above)
    return path


def refuse_second_parent(child: str, first: Element, second: Element, joint_of: dict[str, Element]) -> NoReturn:
    """Refuse a link that two joints move; the message shows the loop if they close one."""
    one, other = path_up(parent_of(first), joint_of), path_up(parent_of(second), joint_of)
    others, loop = set(other), ""
    below = next((path for path in (other, one) if child in path), None)
    meeting = next((name for name in one if name in others), None)
    if below is not None:
        loop = f", which closes the loop {join_path([*reversed(below[: below.index(child) + 1]), child])}"
    elif meeting is not None:
        down = [*reversed(one[: one.index(meeting) + 1]), child, *other[: other.index(meeting) + 1]]
        loop = f", which closes the loop {join_path(down)}"
    second.fail(
        f'moves link "{shorten(child)}", which {first.label} of line {first.line} moves already{loop} (expected a'
        " tree: one joint for each link)"
    )


def refuse_cycle(name: str, joint_of: dict[str, Element]) -> NoReturn:
    """Refuse links that form a cycle without a root."""
    path = path_up(name, joint_of)
    cycle = path[path.index(path[-1]) :]
    joints = [f'"{shorten(joint_of[link].attributes["name"])}"' for link in reversed(cycle[:-1])]
    more = f" and {len(joints) - MOST_NAMES} more" if len(joints) > MOST_NAMES else ""
    joint_of[cycle[0]].fail(
        f"closes the loop {join_path(cycle[::-1])}, by the joints {', '.join(joints[:MOST_NAMES])}{more}"
        " (expected a tree that grows from a root link)"
    )


def join_path(names: list[str]) -> str:
    shown = names if len(names) <= MOST_NAMES else [*names[: MOST_NAMES - 2], "...", names[-1]]
    return " -> ".join(shorten(name) for name in shown)


def joint_types() -> dict[str, str]:
    """The kinds of joints by their types in URDF."""
    kinds = {kind.urdf: kind.name for kind in KINDS.values() if kind.urdf}
    order = dict.fromkeys(("revolute", "continuous", "prismatic", "fixed", "floating", "planar"), "")
    return order | kinds | {"continuous": "revolute", "fixed": "fixed", "planar": "planar"}


def single_axis_types() -> list[str]:
    """The types of joints of one degree of freedom."""
    return [word for word, kind in joint_types().items() if kind in one_degree_kinds()]


def row_of(branch: Branch) -> dict[str, Any]:
    """The row of a link and its joint, without couplings; roots are fixed."""
    link, joint = branch.link, branch.joint
    row: dict[str, Any] = {"name": branch.name, "parent": branch.parent or None}
    if joint is None:
        return {**row, "joint": "fixed", "translation": ORIGIN, **body(link)}
    kinds = joint_types()
    urdf_type = joint.word("type", tuple(kinds))
    translation, rotation = placement(joint)
    row |= {"joint": kinds[urdf_type], "joint_name": joint.attributes["name"], "translation": translation}
    if rotation is not None:
        row["rotation"] = rotation
    single = urdf_type in single_axis_types()
    if single or urdf_type == "planar":
        row["axis"] = axis(joint)
    return {**row, **(drive(joint, urdf_type) if single else {}), **body(link)}


def placement(element: Element) -> tuple[tuple[float, ...], Matrix | None]:
    """The translation and the rotation of an <origin>."""
    origin = element.only("origin")
    if origin is None:
        return ORIGIN, None
    angles = origin.numbers("rpy", 3, ORIGIN)
    if max(map(abs, angles)) > TURNS:
        text = origin.attributes["rpy"]
        origin.fail(f'rpy is "{text}", over two turns (expected radians: 90 degrees are 1.570796326794897)')
    rotation = rotation_of(*angles) if any(angles) else None
    return origin.numbers("xyz", 3, ORIGIN), rotation


def rotation_of(roll: float, pitch: float, yaw: float) -> Matrix:
    cr, sr, cp, sp, cy, sy = (f(x) for x in (roll, pitch, yaw) for f in (math.cos, math.sin))
    return (
        (cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr),
        (sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr),
        (-sp, cp * sr, cp * cr),
    )


def axis(joint: Element) -> tuple[float, ...]:
    """The unit vector along the axis; URDF gives its length no meaning."""
    element = joint.only("axis")
    if element is None:
        return X
    direction: tuple[float, ...] = element.numbers("xyz", 3)
    largest = max(map(abs, direction))
    if largest == 0.0:
        element.fail(f'xyz is "{element.attributes["xyz"]}" (expected a direction, not zero)')
    if math.hypot(*direction) == 1.0:
        return direction
    scaled = [x / largest for x in direction]
    length = math.hypot(*scaled)
    return tuple(x / length for x in scaled)


def drive(joint: Element, urdf_type: str) -> dict[str, Any]:
    """Limits and friction of a joint of one degree of freedom."""
    row: dict[str, Any] = {}
    limit, dynamics = joint.only("limit"), joint.only("dynamics")
    if limit is not None:
        lower, upper = limit.number("lower", None), limit.number("upper", None)
        bounded = min(-(lower or 0.0), upper or 0.0) < NO_LIMIT
        if urdf_type != "continuous" and (lower, upper) != (None, None) and bounded:
            row["limits"] = (lower or 0.0, upper or 0.0)  # URDF's default for one that is left out is 0
        for key, rating in (("velocity_limit", "velocity"), ("effort_limit", "effort")):
            most = limit.number(rating, None)
            row[key] = most if most is None or most < NO_LIMIT else None
    if dynamics is not None:
        row["viscous_friction"] = dynamics.number("damping", None)
        row["coulomb_friction"] = dynamics.number("friction", None)
    return {key: value for key, value in row.items() if value is not None}


def body(link: Element) -> dict[str, Any]:
    """Mass, mass centre and the tensor about it along the axes of the link; a link without <inertial> has no mass."""
    inertial = link.only("inertial")
    if inertial is None:
        return dict(NO_BODY)
    mass, inertia = (
        require_child(inertial, "mass", 'value="..."'),
        require_child(inertial, "inertia", 'ixx="..." ... izz="..."'),
    )
    com, rotation = placement(inertial)
    xx, xy, xz, yy, yz, zz = (inertia.number(key) for key in MOMENTS)
    tensor = ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))
    return {"mass": mass.number("value"), "com": com, "inertia": rotate_tensor(tensor, rotation)}


def require_child(inertial: Element, tag: str, attributes: str) -> Element:
    element = inertial.only(tag)
    if element is None:
        inertial.fail(f"has no <{tag}> (expected <{tag} {attributes}/>)")
    return element


def rotate_tensor(tensor: Matrix, rotation: Matrix | None) -> Matrix:
    """R I Rᵀ, exactly symmetric."""
    if rotation is None:
        return tensor
    half = [[sum(r * t for r, t in zip(row, column, strict=True)) for column in tensor] for row in rotation]
    full = [[sum(h * r for h, r in zip(row, other, strict=True)) for other in rotation] for row in half]
    return tuple(tuple(full[min(i, j)][max(i, j)] for j in range(3)) for i in range(3))


def line_of(branch: Branch, key: str) -> int:
    """The line of an entry of a link's row, or of the nearest enclosing element."""
    start, *path = PLACES.get(key.partition("[")[0], "link").split("/")
    element = branch.joint if start == "joint" and branch.joint is not None else branch.link
    for tag in path:
        below = element.find(tag)
        if below is None:
            break
        element = below
    return element.line


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
