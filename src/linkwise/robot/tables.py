"""The table of a robot: what a row may hold, where each convention puts its joint, and the check of every entry.

An entry is declared once, in `ENTRIES`: from there follow which keys a row may have, what is meant by the words of
other formats, and the columns of descriptions. The numbers of some joints alone are declared in their classes.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ..errors import near_miss
from ..spatial import Placement, Rotation, Scalar, Symmetric, Vector, is_zero, turn_x, turn_z
from .entries import (
    RESIDUE,
    TURNS,
    EntryError,
    angle,
    axis,
    distance,
    impossible_body,
    length,
    limits,
    matrix3,
    nearest_rotation,
    not_negative,
    number,
    positive_part,
    present,
    sequence,
    tensor,
    vector3,
)
from .kinds import KINDS, JointKind, joint_numbers, of_one_degree
from .link import own_numbers


class Entry(NamedTuple):
    """An entry of rows."""

    key: str
    title: str = ""  # in descriptions, with the units for joints that turn and for those that slide
    elsewhere: tuple[str, ...] = ()  # what URDF, MJCF and SDF call it
    length: bool = False  # whether its numbers are lengths in m


def keys(*entries: Entry) -> tuple[str, ...]:
    """Adds entries to the list of all, and returns their keys."""
    ENTRIES.update((entry.key, entry) for entry in entries)
    return tuple(entry.key for entry in entries)


ENTRIES: dict[str, Entry] = {}
COMMON = keys(
    Entry("name"), Entry("parent"), Entry("joint", elsewhere=("type",)), Entry("joint_name"),
    Entry("mass", elsewhere=("weight",)), Entry("com", length=True), Entry("inertia"), Entry("unphysical"),
)  # fmt: skip
DRIVE = keys(
    Entry("rotor_inertia", "rotor inertia (kg m2, kg)", ("armature",)),
    Entry("viscous_friction", "viscous (N m s/rad, N s/m)", ("damping",)),
    Entry("coulomb_friction", "Coulomb (N m, N)", ("friction", "frictionloss")),
    Entry("limits", "limits (deg, m)"),
)
RATINGS = keys(  # kept, without effect on the dynamics
    Entry("velocity_limit", "velocity limit (rad/s, m/s)", ("velocity",)),
    Entry("effort_limit", "effort limit (N m, N)", ("effort",)),
    Entry("stiffness", "stiffness (N m/rad, N/m)"),
    Entry("rest", "rest (deg, m)", ("springref",)),
)
COUPLING = keys(Entry("coupled_to", elsewhere=("mimic",)), Entry("ratio", elsewhere=("multiplier",)), Entry("offset"))
DH = keys(
    Entry("a", "a (m)", length=True), Entry("b", "b (m)", length=True), Entry("alpha", "alpha (deg)"),
    Entry("theta", "theta (deg)"),
)  # fmt: skip
FRAMES = keys(
    Entry("translation", "translation (m)", ("origin", "xyz", "pos"), length=True),
    Entry("rotation", "rotation (rows)", ("rpy",)), Entry("axis", "axis"), Entry("anchor", "anchor (m)", length=True),
)  # fmt: skip
LENGTHS = (*(entry.key for entry in ENTRIES.values() if entry.length), "d")
Z = (0.0, 0.0, 1.0)
LARGEST = 1e100  # larger masses and lengths are not taken as the size of a robot
ORIGIN = (0.0, 0.0, 0.0)
NO_TENSOR = (ORIGIN,) * 3
NO_BODY: Mapping[str, Any] = {"mass": 0.0, "com": ORIGIN, "inertia": NO_TENSOR}
OTHER_NAMES = {"hinge": "revolute", "continuous": "revolute", "slide": "prismatic", "helical": "screw"} | {
    "spherical": "ball", "floating": "free", "freeflyer": "free", "cardan": "universal"
}  # fmt: skip
LARGEST_IN_DEGREES = 720.0
REFUSE, WARN = "refuse", "warn"  # what is done with bodies that cannot exist


def joint_keys() -> tuple[str, ...]:
    """The entries of a row that only a joint that moves has."""
    return (*DRIVE, *RATINGS, *COUPLING, *joint_numbers())


def as_fixed(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row with a fixed joint in place of its own."""
    gone = (*joint_keys(), "joint_name", "axis", "anchor")
    return {key: entry for key, entry in row.items() if key not in gone} | {"joint": "fixed"}


def free_name(name: str, taken: Container[str]) -> str:
    """The name, or the first of name2, name3, ... that is not taken."""
    names = (name if count == 1 else f"{name}{count}" for count in itertools.count(1))
    return next(candidate for candidate in names if candidate not in taken)


def new_name(name: str, taken: set[str], suffix: str = "_") -> str:
    """The name, with as many suffixes as it takes to be a new one, which is then taken."""
    while name in taken:
        name += suffix
    taken.add(name)
    return name


@dataclass(frozen=True)
class Geometry:
    """Where a row puts its joint frame in the parent's frame, and its own frame in the moving joint frame."""

    before: Placement
    after: Placement
    entries: dict[str, Any]  # the row's geometry, normalised: what is written back to a file
    moved: Mapping[str, float] = field(default_factory=dict)  # how far entries were from a rotation or a unit vector


@dataclass(frozen=True)
class Convention:
    name: str
    keys: tuple[str, ...]
    meaning: str
    read: Callable[[Mapping[str, Any], str], Geometry]

    @property
    def at_parent(self) -> dict[str, Any]:
        """The entries of a row whose frame is that of its parent."""
        return {"translation": ORIGIN} if "translation" in self.keys else dict.fromkeys(DH, 0.0)


def along_z(x: Scalar) -> Placement:
    return Placement(Rotation.identity(), Vector(0.0, 0.0, x))


def about_z(x: Scalar) -> Placement:
    return Placement(turn_z(x), Vector.zero())


def screw_x(a: Scalar, alpha: Scalar) -> Placement:
    """TransX(a) RotX(alpha), which commute."""
    return Placement(turn_x(alpha), Vector(a, 0.0, 0.0))


def dh_entries(row: Mapping[str, Any], joint: str) -> dict[str, Scalar]:
    """a, b, alpha, theta; those that vary may be left out and are then 0."""
    varies = KINDS[joint].dh_variables if joint in KINDS else ()
    entries: dict[str, Scalar] = {}
    for key in DH:
        read = angle if key in ("alpha", "theta") else length
        entries[key] = 0.0 if key not in row and key in varies else read(row, key)
    return entries


def standard(row: Mapping[str, Any], joint: str) -> Geometry:
    """RotZ(theta) TransZ(b) TransX(a) RotX(alpha), cut where the joint moves: in front, if it moves none of them."""
    w = dh_entries(row, joint)
    turn, rise, reach = about_z(w["theta"]), along_z(w["b"]), screw_x(w["a"], w["alpha"])
    varies = KINDS[joint].dh_variables if joint in KINDS else ("theta",)
    if varies == ("b",):
        return Geometry(rise, turn.then(reach), w)
    if varies == ("theta",):
        return Geometry(turn, rise.then(reach), w)
    if varies:
        return Geometry(turn.then(rise), reach, w)
    return Geometry(Placement.identity(), turn.then(rise).then(reach), w)


def modified(row: Mapping[str, Any], joint: str) -> Geometry:
    """RotX(alpha) TransX(a) RotZ(theta) TransZ(b): the joint moves last, so the row's frame is the joint frame."""
    w = dh_entries(row, joint)
    return Geometry(
        screw_x(w["a"], w["alpha"]).then(about_z(w["theta"])).then(along_z(w["b"])), Placement.identity(), w
    )


def frames(row: Mapping[str, Any], joint: str) -> Geometry:
    """The link's frame as given, its rotation orthogonal; moved to the anchor, its z along the axis, and back."""
    if "axis" in row and joint in KINDS and not KINDS[joint].axis:
        about = "which turns about any axis" if not KINDS[joint].bounded else "whose axes are those of its frame"
        raise EntryError("axis", f"is given for a {joint} joint, {about} (expected none)")
    translation = vector3(row, "translation")
    turn = given = Rotation.identity()
    if "rotation" in row:
        given = Rotation(matrix3(row, "rotation"))
        turn = nearest_rotation(given)
    direction, stretched = axis(row, "axis", default=Z)
    link_frame = Placement(turn, Vector(*translation))
    align = Placement(z_to(Vector(*direction)), Vector.zero())
    entries = {"translation": translation, "rotation": given.rows, "axis": direction}
    if joint in KINDS and not KINDS[joint].axis:
        del entries["axis"]
    if "anchor" in row and any(type(x) is not float or x != 0.0 for x in vector3(row, "anchor")):
        if joint not in KINDS:
            raise EntryError("anchor", "is given for a fixed joint, which does not move")
        entries["anchor"] = vector3(row, "anchor")
        align = Placement(align.axes, Vector(*entries["anchor"]))
    moved = {"rotation": distance(turn, given), "axis": stretched}
    return Geometry(link_frame.then(align), align.inverse(), entries, moved)


def z_to(direction: Vector) -> Rotation:
    """The shortest rotation that takes z to a unit vector."""
    x, y, z = direction
    off_axis = x * x + y * y
    if z < 0.0 and off_axis < 1e-24:  # less than is snapped
        return Rotation(((1.0, 0.0, 0.0), (0.0, -1.0, 0.0), (0.0, 0.0, -1.0)))
    k = 1.0 / (1.0 + z) if z >= 0.0 else (1.0 - z) / off_axis  # equal; each where it does not cancel
    return nearest_rotation(Rotation(((1.0 - k * x * x, -k * x * y, x), (-k * x * y, 1.0 - k * y * y, y), (-x, -y, z))))


CONVENTIONS = {
    "standard": Convention(
        "standard",
        DH,
        "standard DH (Saha, Angeles): frame i+1 on link i, RotZ(theta) TransZ(b) TransX(a) RotX(alpha)",
        standard,
    ),
    "modified": Convention(
        "modified",
        DH,
        "modified DH (Craig, Kozlowski): frame i on link i, RotX(alpha) TransX(a) RotZ(theta) TransZ(b)",
        modified,
    ),
    "frames": Convention(
        "frames", FRAMES, "frames: each joint frame placed in its parent link, joint along or about `axis`", frames
    ),
}
DH_CONVENTIONS = ("standard", "modified")


def key_hint(key: Any, convention: Convention, keys: Sequence[str]) -> str:
    """What may have been meant by a key that rows of this convention do not have."""
    owners = [repr(c.name) for c in CONVENTIONS.values() if key in c.keys or (key == "d" and "b" in c.keys)]
    if owners:
        return f", but of {' and '.join(owners)} rows"
    meant = next((entry.key for entry in ENTRIES.values() if key in entry.elsewhere), None)
    if meant in keys:
        return f", did you mean {meant!r}?"
    return near_miss(key, keys)


class Size(NamedTuple):
    """The largest mass and length of a table. Values that are tiny beside them may be rounding residue."""

    mass: float
    length: float


class CheckedRow(NamedTuple):
    """What a row says."""

    joint: str
    geometry: Geometry
    mass: Scalar
    com: Vector
    inertia: Symmetric
    of_joint: dict[str, Any]  # drive, own numbers, coupling and ratings of a joint that moves
    joint_name: str
    unphysical: bool  # whether a body that cannot exist is taken as it is
    problem: str  # of a body that is taken so for the first time

    @property
    def in_degrees(self) -> bool:
        """Whether ends of travel of an angle are whole numbers of over two turns and up to 720."""
        pairs = self.of_joint.get("limits")
        if pairs is None:
            return False
        kind = KINDS[self.joint]
        pairs = pairs if kind.degrees > 1 else [pairs]
        ends = [x for link, pair in zip(kind.links, pairs, strict=True) if link.angular for x in pair]
        return any(TURNS < abs(x) <= LARGEST_IN_DEGREES and x == int(x) for x in ends)


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


def checked_row(row: Mapping[str, Any], convention: Convention, size: Size) -> CheckedRow:
    row = with_known_keys(row, convention)
    joint = joint_of(row)
    geometry = convention.read(row, joint)
    if joint == "fixed":
        row = {**NO_BODY, **row}
    any_sign = row.get("unphysical") is True  # as identification may find them
    if any_sign:
        mass = number(present(row, "mass", "a number"), "mass")
    else:
        mass = positive_part(not_negative(row, "mass", slack=RESIDUE * size.mass))
    com = Vector(*vector3(row, "com"))
    inertia, accepted, problem = inertia_of(row, RESIDUE * size.length**2 * plain_size(mass))
    own: dict[str, Any] = {
        key: number(row.get(key, 0.0), key) if any_sign else not_negative(row, key, 0.0) for key in DRIVE[:3]
    }
    if joint == "fixed":
        for key in joint_keys():
            if row.get(key) is not None and not is_zero(row[key]):
                raise EntryError(key, "is given for a fixed joint, which does not move")
        own = {}
    else:
        own["limits"] = limits_of(row, KINDS[joint])
        own |= numbers_of_kind(row, joint) | coupling_of(row, joint) | ratings_of(row, joint)
    return CheckedRow(joint, geometry, mass, com, inertia, own, joint_name_of(row), accepted, problem)


def with_known_keys(row: Mapping[str, Any], convention: Convention) -> dict[str, Any]:
    """The row, with `b` for `d`; a key that rows of this convention do not have is an error."""
    keys = (*COMMON, *convention.keys, *joint_keys())
    row = dict(row)
    if "d" in row and "b" in convention.keys:
        if "b" in row:
            raise EntryError("d", "and b are both given, and mean the same")
        row["b"] = row.pop("d")
    for key in row:
        if key not in keys:
            known = ", ".join(keys)
            raise EntryError(
                str(key), f"is not a key of a {convention.name!r} row{key_hint(key, convention, keys)} ({known})"
            )
    return row


def joint_of(row: Mapping[str, Any]) -> str:
    joint = row.get("joint")
    if isinstance(joint, str) and (joint in KINDS or joint == "fixed"):
        return joint
    known = ", ".join(map(repr, KINDS))
    close = (
        f", did you mean {OTHER_NAMES[joint]!r}?"
        if isinstance(joint, str) and joint in OTHER_NAMES
        else near_miss(joint, (*KINDS, "fixed"))
    )
    raise EntryError("joint", f"is {joint!r}{close} (expected {known} or 'fixed')")


def joint_name_of(row: Mapping[str, Any]) -> str:
    """The joint's own name; "" where it is that of the link."""
    name = row.get("joint_name", "")
    if not isinstance(name, str) or ("joint_name" in row and not name.strip()) or not name.isprintable():
        raise EntryError("joint_name", f"is {name!r} (expected one printable line)")
    return "" if name == row.get("name") else name


def inertia_of(row: Mapping[str, Any], residue: float) -> tuple[Symmetric, bool, str]:
    """The tensor; whether it is taken though no body has it; and what is wrong with it, if that is new."""
    rows = tensor(row, "inertia", residue)
    accepted = row.get("unphysical", False)
    if not isinstance(accepted, bool):
        raise EntryError("unphysical", f"is {accepted!r} (expected true where no body has such an inertia)")
    problem = "" if accepted else impossible_body(rows, residue)
    zero = positive_part if not (accepted or problem) else lambda x: x
    symmetric = Symmetric.from_upper(lambda i, j: zero(rows[i][i]) if i == j else rows[i][j])
    return symmetric, accepted or bool(problem), problem


def ratings_of(row: Mapping[str, Any], joint: str) -> dict[str, Scalar]:
    """`velocity_limit`, `effort_limit`, `stiffness` and `rest`, of each degree of freedom."""
    ratings = {key: not_negative(row, key) for key in RATINGS[:3] if row.get(key) is not None}
    if row.get("rest") is None:
        return ratings
    if KINDS[joint].degrees > 1:
        raise EntryError("rest", f"is given for a {joint} joint, whose spring rests at zero (expected none)")
    if "stiffness" not in ratings:
        raise EntryError("rest", "is given without stiffness (expected the stiffness of a spring)")
    return ratings | {"rest": angle(row, "rest")}


def limits_of(row: Mapping[str, Any], kind: JointKind) -> Any:
    """A pair, or one pair for each coordinate of a joint of several degrees of freedom."""
    if row.get("limits") is None or kind.degrees == 1:
        return limits(row)
    if not kind.bounded:
        raise EntryError(
            "limits", f"is given for a {kind.name} joint, whose coordinates are not angles (expected none)"
        )
    pairs = sequence(row["limits"], kind.degrees, "limits")
    if pairs is None or any(sequence(pair, 2, "limits") is None for pair in pairs):
        labels = ", ".join(kind.q_labels)
        raise EntryError("limits", f"is {row['limits']!r} (expected a pair [lower, upper] for each of {labels})")
    return tuple(limits({"limits": pair}) for pair in pairs)


def numbers_of_kind(row: Mapping[str, Any], joint: str) -> dict[str, Scalar]:
    """The numbers that only some kinds of joints have: `pitch`."""
    for key in joint_numbers():
        if key in row and key not in KINDS[joint].numbers:
            having = " or ".join(kind.name for kind in KINDS.values() if key in kind.numbers)
            raise EntryError(key, f"is given for a {joint} joint (expected a {having} joint)")
    units = {key: unit.in_words for link in KINDS[joint].links for key, unit in own_numbers(link).items()}
    return {key: number(present(row, key, f"a number, in {words}"), key) for key, words in units.items()}


def coupling_of(row: Mapping[str, Any], joint: str) -> dict[str, Any]:
    """`coupled_to`, `ratio` and `offset`."""
    if row.get("coupled_to") is None:
        for key in COUPLING[1:]:
            if key in row:
                raise EntryError(key, "is given without coupled_to (expected the name of another joint there)")
        return {}
    if KINDS[joint].degrees > 1:
        raise EntryError("coupled_to", f"is given for a {joint} joint (expected {', '.join(of_one_degree())})")
    if not isinstance(row["coupled_to"], str):
        raise EntryError("coupled_to", f"is {row['coupled_to']!r} (expected the name of another joint)")
    ratio, offset = number(row.get("ratio", 1.0), "ratio"), angle({"offset": row.get("offset", 0.0)}, "offset")
    return {"coupled_to": row["coupled_to"], "ratio": ratio, "offset": offset}
