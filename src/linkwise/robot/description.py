"""A robot as readable tables."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Collection, Mapping
from typing import Any

from ..printing import Description, align_columns
from ..spatial import Rotation
from .coordinates import size_in_words
from .entries import is_symbol
from .joint import Joint
from .kinds import KINDS, link_joints
from .link import own_numbers
from .model import Robot, require_robot
from .tables import CONVENTIONS, DH, DH_CONVENTIONS, DRIVE, ENTRIES, RATINGS

MOST_LETTERS = 40
WIDEST = 100  # letters of a line of prose


def describe(robot: Robot) -> Description:
    """The robot's tables as text: joints, bodies, drives, with convention, units and gravity.

    Parameters
    ----------
    robot : Robot

    Returns
    -------
    Description
        A str that shows itself at the prompt and in notebooks; in a script use print().

    Examples
    --------
    >>> from linkwise import load
    >>> describe(load("gantry")).splitlines()[0]
    'gantry: 3 joints (PPP), a chain'
    """
    require_robot(robot)
    shape = "a chain" if all(link.parent == link.index - 1 for link in robot.links) else "a tree"
    g = ", ".join(format_number(x) for x in robot.gravity)
    head, cells = geometry(robot, shape == "a tree")
    starred = any(cell.endswith("*") for row in cells for cell in row[-4:])
    star = ", * is the joint's variable at q = 0" if starred and "theta (deg)" in head else ""
    lines = [
        f"{robot.name}: {size_of(robot)}, {shape}",
        *textwrap.wrap(robot.about, WIDEST, break_long_words=False, break_on_hyphens=False),
        *masses(robot),
        f"convention: {CONVENTIONS[robot.convention].meaning}",
        f"gravity: ({g}) m/s2 in the base frame; SI units, angles in degrees here{star}",
    ]
    for heading, (names, rows) in tables(robot).items():
        lines += [heading, *grid(names, rows)]
    return Description("\n".join(lines))


def size_of(robot: Robot) -> str:
    """The number of joints and their kinds: "6 joints (RRPRRR)"; long robots are abbreviated."""
    kinds = robot.joints if len(robot.joints) <= MOST_LETTERS else f"{robot.joints[:MOST_LETTERS]}..."
    return f"{size_in_words(robot.n, len(robot.names))} ({kinds})"


Cells = tuple[list[str], list[list[str]]]  # the names of columns, and rows


def tables(robot: Robot) -> dict[str, Cells]:
    """The tables of a description, by heading."""
    tree = any(link.parent != link.index - 1 for link in robot.links)
    every = {
        "joints: where each link sits in its parent": geometry(robot, tree),
        "coordinates: which numbers of q and of qd, qdd and tau each joint has": coordinates(robot),
        "coupled joints: each moves as another does": couplings(robot),
        "bodies: centre of mass (m) and inertia about it (kg m2), in the link's table frame": bodies(robot),
        "drives and friction, as seen at the joint": drives(robot),
    }
    return {heading: (head, rows) for heading, (head, rows) in every.items() if rows}


def drives(robot: Robot) -> Cells:
    driven = [row for row in robot.rows if any(key in row for key in (*DRIVE, *RATINGS))]
    keys = [key for key in (*DRIVE, *RATINGS) if any(key in row for row in driven)]
    head = ["joint", *(ENTRIES[key].title for key in keys)]
    return head, [[row.get("joint_name", row["name"]), *(format_entry(row, key) for key in keys)] for row in driven]


def masses(robot: Robot) -> list[str]:
    """The total mass of the links, if it is a number."""
    moving = [link.mass for link in robot.links]
    return [] if any(map(is_symbol, moving)) else [f"moving mass: {format_number(sum(map(float, moving)))} kg"]


def geometry(robot: Robot, tree: bool) -> Cells:
    further = {key: f"{key} ({unit.unit})" for joint in link_joints() for key, unit in own_numbers(joint).items()}
    keys = DH if robot.convention in DH_CONVENTIONS else ("translation", "axis", "rotation")
    titles = {key: ENTRIES[key].title for key in keys}
    further["anchor"] = ENTRIES["anchor"].title
    titles |= {key: title for key, title in further.items() if any(key in row for row in robot.rows)}
    named = any("joint_name" in row for row in robot.rows)
    body = []
    for row in robot.rows:
        varies = KINDS[row["joint"]].dh_variables if row["joint"] in KINDS else ()
        cells = [row["name"], row["joint"], *([row.get("joint_name", row["name"])] if named else [])]
        cells += [row["parent"]] if tree else []
        body.append([*cells, *(format_entry(row, key) + "*" * (key in varies) for key in titles)])
    head = ["link", *(["kind", "joint"] if named else ["joint"]), *(["parent"] if tree else [])]
    return [*head, *titles.values()], body


def coordinates(robot: Robot) -> Cells:
    """The places of the joints in q and qd; empty if each joint has one coordinate."""
    needed = bool(robot.couplings) or any(joint.kind.degrees > 1 for joint in robot.moving)
    joints = robot.driving_joints if needed else ()
    body = [[joint.joint, indices(joint.q), indices(joint.v), joint.kind.meaning] for joint in joints]
    return ["joint", "q", "qd", "what they are"], body


def indices(part: slice) -> str:
    """First and last index: `6`, `0..3`."""
    return str(part.start) if part.stop == part.start + 1 else f"{part.start}..{part.stop - 1}"


def couplings(robot: Robot) -> Cells:
    rows = [row for row in robot.rows if "coupled_to" in row]
    body = [[row["name"], format_coupling(row["coupled_to"], row["ratio"], row.get("offset", 0.0))] for row in rows]
    return ["link", "its q"], body


def format_coupling(leader: str, ratio: Any, offset: Any) -> str:
    """`2 q(link1) + 0.5`, in radians and metres."""
    shift = f" {'-' if format_number(offset).startswith('-') else '+'} {format_number(offset).removeprefix('-')}"
    times = {"1": "", "-1": "-"}.get(format_number(ratio), f"{format_number(ratio)} ")
    return f"{times}q({leader})" + ("" if format_number(offset) == "0" else shift)


def bodies(robot: Robot) -> Cells:
    head = ["link", "mass (kg)", "centre of mass", "Ixx", "Iyy", "Izz", "Ixy", "Ixz", "Iyz"]
    body = []
    for row in robot.rows:
        if "mass" not in row:
            continue
        i = row["inertia"]
        entries = (i[0][0], i[1][1], i[2][2], i[0][1], i[0][2], i[1][2])
        body.append([row["name"], format_number(row["mass"]), format_vector(row["com"]), *map(format_number, entries)])
    return head, body


def grid(head: list[str], body: list[list[str]], right: Collection[int] = ()) -> list[str]:
    rows = align_columns([head, *body], right)
    return [rows[0], "-" * max(map(len, rows)), *rows[1:]]


def format_number(x: Any) -> str:
    return str(x) if is_symbol(x) else f"{float(x) + 0.0:.6g}"


def format_degrees(x: Any) -> str:
    return str(x) if is_symbol(x) else f"{math.degrees(float(x)) + 0.0:.6g}"


def format_vector(v: Any) -> str:
    return "(" + ", ".join(map(format_number, v)) + ")"


def format_entry(row: Mapping[str, Any], key: str) -> str:
    if key not in row:
        return "-"
    x, kind = row[key], KINDS.get(row["joint"])
    if key == "rotation":
        return "none" if x == Rotation.identity().rows else " ".join(map(format_vector, x))
    if key == "limits" and kind is not None:
        return ", ".join(map(format_limits, kind.links, x if kind.degrees > 1 else [x]))
    if isinstance(x, tuple):
        return format_vector(x)
    turning = key == "rest" and kind is not None and kind.links[0].angular
    return (format_degrees if turning or key in ("alpha", "theta") else format_number)(x)


def format_limits(joint: type[Joint], pair: Any) -> str:
    """Limits of an angle in degrees, of a displacement in metres."""
    return "({}, {})".format(*map(format_degrees if joint.angular else format_number, pair))
