"""From the rows of a table to a robot: names and parents resolved, fixed joints merged, every number checked."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..errors import RobotError, RowError, near_miss
from ..spatial import Placement, RigidInertia, Scalar, Symmetric, Vector
from .entries import RESIDUE, EntryError, limits, not_negative, number, positive_part, sequence, square, tensor, vector3
from .joint import ALL_JOINTS, Joint
from .link import Frame, Link
from .tables import COMMON, DRIVE, JOINTS, Convention, Geometry

BASE = "base"
NO_LINK = ""  # stands for the base: no link can have this name
LENGTHS = ("a", "b", "d", "com", "translation")
LARGEST = 1e100  # larger masses and lengths are not taken as the size of a robot
NO_TENSOR = ((0.0,) * 3,) * 3
MOVED = 1e-12  # a rotation or an axis that is corrected by more than this causes a warning


@dataclass
class Draft:
    """A link while the table is read: bodies on fixed joints are added to it."""

    name: str
    parent: int
    joint: Joint
    placement: Placement
    frame: Placement
    body: RigidInertia
    alone: tuple[Scalar, Vector, Symmetric]
    merged: bool = False

    def finished(self, index: int) -> Link:
        mass, com, inertia = self.alone if not self.merged else about_centre(self.body)
        return Link(self.name, index, self.parent, self.joint, self.placement, mass, com, inertia, frame=self.frame)


class Size(NamedTuple):
    """The largest mass and length of a table. Values that are tiny beside them may be rounding residue."""

    mass: float
    length: float


class Parts(NamedTuple):
    """The data of a robot."""

    links: tuple[Link, ...]
    frames: tuple[Frame, ...]
    gravity: tuple[Scalar, Scalar, Scalar]
    table: tuple[tuple[tuple[str, Any], ...], ...]
    moved: tuple[str, ...]  # which rotations and axes were corrected, and by how much


def assemble(rows: Iterable[Mapping[str, Any]], convention: Convention, gravity: Iterable[Scalar], name: str) -> Parts:
    """The parts of a robot from its table."""
    if not isinstance(name, str):
        raise RobotError(f"the robot's name is {name!r} (expected text)")
    table = row_mappings(rows, name)
    names = row_names(table, name)
    size = size_of(table)
    row_of = {label: index for index, label in enumerate(names)}
    base_word = NO_LINK if BASE in row_of else BASE  # how the table names the base
    row_frames = {NO_LINK: Frame(NO_LINK, -1, Placement.identity())}  # each row's own frame, by its name
    drafts: list[Draft] = []
    frames: list[Frame] = []
    clean: list[dict[str, Any]] = []
    moved: list[str] = []
    for index, (row, label) in enumerate(zip(table, names, strict=True)):
        try:
            parent = parent_of(index, names, row_of, table)
            joint, geometry, mass, com, inertia, drive = checked_entries(row, convention, size)
        except EntryError as problem:
            raise RowError(f"robot {name!r}, link {label!r}: {problem}", index, problem.key) from None
        moved += [f"{label!r}: {key} is off by {far:.1e}" for key, far in geometry.moved.items() if far > MOVED]
        parent_frame = row_frames[parent]
        before = parent_frame.placement.then(geometry.before)
        if joint == "fixed":
            frame = Frame(label, parent_frame.link, before.then(geometry.after))
            frames.append(frame)
            if frame.link >= 0:
                host = drafts[frame.link]
                host.body = host.body + RigidInertia.of_body(mass, com, inertia).to_parent(frame.placement)
                host.merged = host.merged or not all(map(is_zero, (mass, *inertia.upper)))
        else:
            centre = geometry.after.point(com)
            turned = geometry.after.axes.turned(inertia)
            body = RigidInertia.of_body(mass, centre, turned)
            moving = ALL_JOINTS[joint](**drive)
            drafts.append(Draft(label, parent_frame.link, moving, before, geometry.after, body, (mass, centre, turned)))
            frame = Frame(label, len(drafts) - 1, geometry.after)
        row_frames[label] = frame
        clean.append(normalized_row(label, parent or base_word, joint, geometry, row, drive))
    if not drafts:
        expected = "at least one revolute or prismatic joint"
        raise RowError(f"robot {name!r} has no joint that moves (expected {expected})", 0, "joint")
    links = tuple(draft.finished(i) for i, draft in enumerate(drafts))
    rows_kept = tuple(tuple(row.items()) for row in clean)
    return Parts(links, tuple(frames), checked_gravity(gravity, name), rows_kept, tuple(moved))


def warn_of_moved(robot: str, moved: tuple[str, ...]) -> None:
    """One warning for all rotations and axes that were corrected."""
    if not moved:
        return
    more = f" (and {len(moved) - 1} more)" if len(moved) > 1 else ""
    warnings.warn(
        f"robot {robot!r}, link {moved[0]}{more}; the nearest rotation or unit vector is used: give more digits",
        UserWarning,
        stacklevel=3,  # where the robot is made
    )


def row_mappings(rows: Iterable[Mapping[str, Any]], robot: str) -> list[dict[str, Any]]:
    expected = "a list of rows, each a mapping from keys such as 'joint' and 'mass' to their values"
    if isinstance(rows, (str, Mapping)) or not isinstance(rows, Iterable):
        raise RobotError(f"robot {robot!r}: the table is a {type(rows).__name__} (expected {expected})")
    table = list(rows)
    for index, row in enumerate(table):
        if not isinstance(row, Mapping):
            raise RowError(f"robot {robot!r}, row {index + 1}: is {row!r} (expected {expected})", index)
    return [dict(row) for row in table]


def size_of(table: list[dict[str, Any]]) -> Size:
    """From the entries that are numbers. Wrong entries are reported where they are read."""
    masses = [plain_size(row.get("mass")) for row in table]
    entries = [row.get(key) for row in table for key in LENGTHS]
    lengths = [plain_size(x) for entry in entries for x in (sequence(entry, 3) or [entry])]
    return Size(max(masses, default=0.0), max(lengths, default=0.0))


def plain_size(value: Any) -> float:
    """The magnitude of a number; 0 for symbols, other objects and numbers above LARGEST."""
    if not isinstance(value, (int, float, np.integer, np.floating)):
        return 0.0
    try:
        size = abs(float(value))
    except OverflowError:
        return 0.0
    return size if size < LARGEST else 0.0


def row_names(table: list[dict[str, Any]], robot: str) -> list[str]:
    row_of: dict[str, int] = {}
    for index, row in enumerate(table):
        label = row.get("name", f"link{index + 1}")
        if not isinstance(label, str) or not label.strip() or not label.isprintable():
            raise RowError(f"robot {robot!r}, row {index + 1}: name is {label!r} (expected one line)", index, "name")
        if label in row_of:
            raise RowError(
                f"robot {robot!r}, row {index + 1}: the name {label!r} belongs to row {row_of[label] + 1} already",
                index,
                "name",
            )
        row_of[label] = index
    return list(row_of)


def parent_of(index: int, names: list[str], row_of: Mapping[str, int], table: list[dict[str, Any]]) -> str:
    """The name of the parent, by default the row before; "" is the base.

    In the table the base is "base". If a link has that name, rows after it mean the link, and the base is None or "".
    """
    parent = stated_parent(index, names, table)
    if not isinstance(parent, str):
        raise EntryError("parent", f"is {parent!r}, which no link has as its name (expected text)")
    if parent == BASE and row_of.get(BASE, index) == index:
        return NO_LINK  # no link has this name, or only this one, which is not its own parent
    if parent == NO_LINK or (parent in row_of and row_of[parent] < index):
        return parent
    if parent not in row_of:
        raise EntryError("parent", f"is {parent!r}, which no link has as its name{near_miss(parent, names)}")
    if parent == BASE:
        raise EntryError(
            "parent",
            f"is {BASE!r}, the base, and the name of row {row_of[BASE] + 1}, which comes later (expected None or"
            " an empty text for the base, where a link has its name)",
        )
    path = [names[index]]
    while isinstance(parent, str) and parent not in path and parent in row_of:
        path.append(parent)
        parent = stated_parent(row_of[parent], names, table)
    if parent in path:
        cycle = " -> ".join([*path[path.index(parent) :], parent])
        raise EntryError("parent", f"closes a loop: {cycle} (expected a tree that grows from the base)")
    later = table[index]["parent"]
    raise EntryError("parent", f"is {later!r}, which comes later (expected each parent before its children)")


def stated_parent(index: int, names: list[str], table: list[dict[str, Any]]) -> Any:
    """The entry `parent` of a row, with None as ""; by default the row before."""
    parent = table[index].get("parent", names[index - 1] if index else NO_LINK)
    return NO_LINK if parent is None else parent


def checked_entries(
    row: Mapping[str, Any], convention: Convention, size: Size
) -> tuple[str, Geometry, Scalar, Vector, Symmetric, dict[str, Any]]:
    """Every entry of a row, checked."""
    keys = (*COMMON, *convention.keys, *DRIVE)
    row = dict(row)
    if "d" in row and "b" in convention.keys:
        if "b" in row:
            raise EntryError("d", "and b are both given, and mean the same")
        row["b"] = row.pop("d")
    for key in row:
        if key not in keys:
            known = ", ".join(keys)
            raise EntryError(str(key), f"is not a key of a {convention.name!r} row{near_miss(key, keys)} ({known})")
    joint = row.get("joint")
    if joint not in JOINTS:
        close = near_miss(joint, JOINTS)
        raise EntryError("joint", f"is {joint!r}{close} (expected 'revolute', 'prismatic' or 'fixed')")
    geometry = convention.read(row, joint)
    still = joint == "fixed"
    if still:
        row = {"mass": 0.0, "com": (0.0, 0.0, 0.0), "inertia": NO_TENSOR, **row}
    mass = positive_part(not_negative(row, "mass", slack=RESIDUE * size.mass))
    com = Vector(*vector3(row, "com"))
    inertia = tensor(row, "inertia", RESIDUE * size.length**2 * plain_size(mass))
    drive: dict[str, Any] = {key: not_negative(row, key, 0.0) for key in DRIVE[:3]}
    drive["limits"] = limits(row)
    if still and any(drive.values()):
        raise EntryError(next(key for key in DRIVE if drive[key]), "is given for a fixed joint, which does not move")
    symmetric = Symmetric.from_upper(lambda i, j: positive_part(inertia[i][i]) if i == j else inertia[i][j])
    return joint, geometry, mass, com, symmetric, drive


def normalized_row(
    label: str, parent: str, joint: str, geometry: Geometry, row: Mapping[str, Any], drive: Mapping[str, Any]
) -> dict[str, Any]:
    """The row as a file would have it, in one fixed order of keys."""
    clean = {"name": label, "parent": parent, "joint": joint, **geometry.entries}
    if joint != "fixed" or not row.keys().isdisjoint(("mass", "com", "inertia")):
        clean["mass"] = number(row.get("mass", 0.0), "mass")
        clean["com"] = vector3({"com": (0.0, 0.0, 0.0), **row}, "com")
        clean["inertia"] = square(row, "inertia", NO_TENSOR)
    clean.update({key: value for key, value in drive.items() if value is not None and not is_zero(value)})
    return clean


def is_zero(value: Any) -> bool:
    return type(value) is float and value == 0.0


def about_centre(body: RigidInertia) -> tuple[Scalar, Vector, Symmetric]:
    """Mass, mass centre and tensor about the mass centre of several bodies together."""
    if is_zero(body.mass):
        return body.mass, Vector.zero(), body.tensor
    com = body.moment * (1.0 / body.mass)
    return body.mass, com, body.tensor - RigidInertia.of_body(body.mass, com, Symmetric.zero()).tensor


def checked_gravity(gravity: Iterable[Scalar], robot: str) -> tuple[Scalar, Scalar, Scalar]:
    items = sequence(gravity, 3)
    if items is None:
        raise RobotError(
            f"robot {robot!r}: gravity is {gravity!r} (expected three numbers, in m/s2, in the base frame)"
        )
    try:
        x, y, z = (number(item, f"gravity[{i}]") for i, item in enumerate(items))
    except EntryError as problem:
        raise RobotError(f"robot {robot!r}: {problem}") from None
    return x, y, z
