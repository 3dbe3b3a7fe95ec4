"""From a link and its joint to the row of a table of frames.

URDF places the joint frame in the parent's frame by xyz, then rpy: R = R_z(yaw) R_y(pitch) R_x(roll). The link's frame
is the joint frame, moved along or about the axis, which is given in it and may have any length but zero. The mass
centre is the origin of the inertial frame, in which the tensor is given.
"""

from __future__ import annotations

import math
from typing import Any

from ...robot.entries import TURNS
from ..xml import Element
from .tree import Branch

Matrix = tuple[tuple[float, ...], ...]
KINDS = {
    "revolute": "revolute", "continuous": "revolute", "prismatic": "prismatic", "fixed": "fixed", "floating": "free",
    "planar": "planar",
}  # fmt: skip
ONE_DEGREE = ("revolute", "continuous", "prismatic")
UNBOUNDED = 1e308  # written for a limit that there is none of
NO_LIMIT = 1e300  # limits beyond are none
ORIGIN = (0.0, 0.0, 0.0)
X = (1.0, 0.0, 0.0)
MOMENTS = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
PLACES = {  # of a row's entries: the element of the joint or the link in which they stand
    "joint": "joint", "joint_name": "joint", "parent": "joint/parent", "translation": "joint/origin",
    "rotation": "joint/origin", "axis": "joint/axis", "limits": "joint/limit", "velocity_limit": "joint/limit",
    "effort_limit": "joint/limit", "viscous_friction": "joint/dynamics", "coulomb_friction": "joint/dynamics",
    "coupled_to": "joint/mimic", "ratio": "joint/mimic", "offset": "joint/mimic", "name": "link",
    "mass": "link/inertial/mass", "com": "link/inertial/origin", "inertia": "link/inertial/inertia",
}  # fmt: skip


def row_of(branch: Branch) -> dict[str, Any]:
    """A link on its joint, without the coupling to other joints; a root stands fixed."""
    link, joint = branch.link, branch.joint
    row: dict[str, Any] = {"name": branch.name, "parent": branch.parent or None}
    if joint is None:
        return {**row, "joint": "fixed", "translation": ORIGIN, **body(link)}
    written = joint.word("type", tuple(KINDS))
    translation, rotation = placement(joint)
    row |= {"joint": KINDS[written], "joint_name": joint.attributes["name"], "translation": translation}
    if rotation is not None:
        row["rotation"] = rotation
    if written in ONE_DEGREE or written == "planar":
        row["axis"] = axis(joint)
    return {**row, **(drive(joint, written) if written in ONE_DEGREE else {}), **body(link)}


def placement(element: Element) -> tuple[tuple[float, ...], Matrix | None]:
    """The translation and the rotation of an <origin>."""
    origin = element.only("origin")
    if origin is None:
        return ORIGIN, None
    angles = origin.numbers("rpy", 3, ORIGIN)
    if max(map(abs, angles)) > TURNS:
        text = origin.attributes["rpy"]
        origin.fail(f'rpy is "{text}", over two turns (expected radians: 90 degrees are 1.570796326794897)')
    return origin.numbers("xyz", 3, ORIGIN), rotation_of(*angles)


def rotation_of(roll: float, pitch: float, yaw: float) -> Matrix | None:
    if roll == pitch == yaw == 0.0:
        return None
    cr, sr, cp, sp, cy, sy = (f(x) for x in (roll, pitch, yaw) for f in (math.cos, math.sin))
    return (
        (cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr),
        (sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr),
        (-sp, cp * sr, cp * cr),
    )


def axis(joint: Element) -> tuple[float, ...]:
    """The unit vector along the axis: the length that the file gives has no meaning."""
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


def drive(joint: Element, written: str) -> dict[str, Any]:
    """Limits and friction of a joint of one degree of freedom."""
    row: dict[str, Any] = {}
    limit, dynamics = joint.only("limit"), joint.only("dynamics")
    if limit is not None:
        lower, upper = limit.number("lower", None), limit.number("upper", None)
        bounded = min(-(lower or 0.0), upper or 0.0) < NO_LIMIT
        if written != "continuous" and (lower, upper) != (None, None) and bounded:
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
        return {"mass": 0.0, "com": ORIGIN, "inertia": (ORIGIN,) * 3}
    mass, inertia = needed(inertial, "mass", 'value="..."'), needed(inertial, "inertia", 'ixx="..." ... izz="..."')
    com, rotation = placement(inertial)
    xx, xy, xz, yy, yz, zz = (inertia.number(key) for key in MOMENTS)
    tensor = ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))
    return {"mass": mass.number("value"), "com": com, "inertia": turned(tensor, rotation)}


def needed(inertial: Element, tag: str, attributes: str) -> Element:
    element = inertial.only(tag)
    if element is None:
        inertial.fail(f"has no <{tag}> (expected <{tag} {attributes}/>)")
    return element


def turned(tensor: Matrix, rotation: Matrix | None) -> Matrix:
    """R I Rᵀ, exactly symmetric."""
    if rotation is None:
        return tensor
    half = [[sum(r * t for r, t in zip(row, column, strict=True)) for column in tensor] for row in rotation]
    full = [[sum(h * r for h, r in zip(row, other, strict=True)) for other in rotation] for row in half]
    return tuple(tuple(full[min(i, j)][max(i, j)] for j in range(3)) for i in range(3))


def line_of(branch: Branch, key: str) -> int:
    """The line on which an entry of a link's row stands; otherwise that of the nearest element around it."""
    start, *path = PLACES.get(key.partition("[")[0], "link").split("/")
    element = branch.joint if start == "joint" and branch.joint is not None else branch.link
    for tag in path:
        below = element.find(tag)
        if below is None:
            break
        element = below
    return element.line
