"""The table of a robot: the entries of rows, their checks, and the geometry of each convention.

An entry is declared once, in `ENTRIES`: check, default, names in other formats, title in descriptions. Numbers of
single kinds of joints are declared in their classes.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple

import numpy as np

from ..errors import near_miss
from ..spatial import Placement, Rotation, Scalar, Symmetric, Vector, is_zero, turn_x, turn_z
from .entries import (
    ANGLE_IN_WORDS,
    LENGTH,
    RESIDUE,
    TURNS,
    EntryError,
    Rows,
    check_angle,
    check_any_sign,
    check_length,
    check_limits,
    check_not_negative,
    check_number,
    check_positive,
    check_rotation,
    check_tensor,
    check_unit_vector,
    check_vector,
    distance,
    friction_problems,
    inconsistency_of_inertia,
    items_of,
    nearest_rotation,
    positive_part,
)
from .joint import STRIBECK_RATE, Joint
from .kinds import KINDS, JointKind, joint_numbers, link_joints, one_degree_kinds
from .link import own_numbers

Row = Mapping[str, Any]
NOTHING: Any = object()  # the default of an entry that must be given
Z = (0.0, 0.0, 1.0)
ORIGIN = (0.0, 0.0, 0.0)
NO_TENSOR = (ORIGIN,) * 3
NO_BODY: Row = {"mass": 0.0, "com": ORIGIN, "inertia": NO_TENSOR}
BODY = tuple(NO_BODY)


class Entry(NamedTuple):
    """An entry of rows: `read` checks a value. Texts, and entries that depend on others, are checked elsewhere."""

    key: str
    read: Callable[..., Any] = check_number
    expected: str = "a number"
    default: Any = NOTHING
    title: str = ""  # in descriptions, with the units for rotation and sliding
    elsewhere: tuple[str, ...] = ()  # names in URDF, MJCF and SDF

    def of(self, row: Row, *options: float) -> Any:
        """Its value in a row, checked."""
        if self.key not in row and self.default is NOTHING:
            raise EntryError(self.key, f"is missing (expected {self.expected})")
        return self.read(row.get(self.key, self.default), self.key, *options)


ENTRIES: dict[str, Entry] = {}


def declare(*entries: Entry) -> tuple[str, ...]:
    """Add entries to `ENTRIES`; returns their keys."""
    ENTRIES.update((entry.key, entry) for entry in entries)
    return tuple(entry.key for entry in entries)


COMMON = declare(
    Entry("name"), Entry("parent"), Entry("joint", elsewhere=("type",)), Entry("joint_name"),
    Entry("mass", check_not_negative, elsewhere=("weight", "m")),
    Entry("com", check_vector, "three numbers", elsewhere=("center_of_mass", "centre_of_mass", "cog")),
    Entry("inertia", check_tensor, "a 3 x 3 matrix", elsewhere=("I",)), Entry("unphysical"),
)  # fmt: skip
DRIVE = declare(
    Entry("rotor_inertia", check_not_negative, "", 0.0, "rotor inertia (kg m2, kg)", ("armature",)),
    Entry("viscous_friction", check_not_negative, "", 0.0, "viscous (N m s/rad, N s/m)", ("damping",)),
    Entry("coulomb_friction", check_not_negative, "", 0.0, "Coulomb (N m, N)", ("friction", "frictionloss")),
    Entry("coulomb_offset", check_any_sign, "", 0.0, "Coulomb offset (N m, N)"),
    Entry("quadratic_friction", check_not_negative, "", 0.0, "quadratic (N m s2/rad2, N s2/m2)"),
    Entry("stribeck_friction", check_not_negative, "", 0.0, "Stribeck (N m, N)", ("static_friction", "stiction")),
    Entry("stribeck_rate", check_positive, "", STRIBECK_RATE, "Stribeck rate (rad/s, m/s)"),
    Entry("load_friction", check_not_negative, "", 0.0, "per load"),
    Entry("limits", check_limits, title="limits (deg, m)"),
)
DRIVE_NUMBERS = DRIVE[:-1]
FURTHER_FRICTION = DRIVE_NUMBERS[3:]  # which few other formats have
STRIBECK = ("stribeck_friction", "stribeck_rate")
RATINGS = declare(  # without effect on the dynamics
    Entry("velocity_limit", check_not_negative, title="velocity limit (rad/s, m/s)", elsewhere=("velocity",)),
    Entry("effort_limit", check_not_negative, title="effort limit (N m, N)", elsewhere=("effort",)),
    Entry("stiffness", check_not_negative, title="stiffness (N m/rad, N/m)"),
    Entry("rest", check_angle, title="rest (deg, m)", elsewhere=("springref",)),
)
COUPLING = declare(
    Entry("coupled_to", elsewhere=("mimic",)), Entry("ratio", default=1.0, elsewhere=("multiplier",)),
    Entry("offset", check_angle, default=0.0),
)  # fmt: skip
DH = declare(
    Entry("a", check_length, LENGTH, title="a (m)"), Entry("b", check_length, LENGTH, title="b (m)"),
    *(Entry(key, check_angle, ANGLE_IN_WORDS, title=f"{key} (deg)") for key in ("alpha", "theta")),
)  # fmt: skip
FRAMES = declare(
    Entry("translation", check_vector, "three numbers", title="translation (m)", elsewhere=("origin", "xyz", "pos")),
    Entry("rotation", check_rotation, title="rotation (rows)", elsewhere=("rpy",)),
    Entry("axis", check_unit_vector, default=Z, title="axis"),
    Entry("anchor", check_vector, default=ORIGIN, title="anchor (m)"),
)
LENGTHS = ("com", "r", "a", "b", "d", "translation", "anchor")
LARGEST = 1e100  # larger masses and lengths are ignored in the size of a robot
LARGEST_IN_DEGREES = 720.0
Unphysical = Literal["refuse", "warn"]  # treatment of bodies that are not physically consistent
REFUSE: Final = "refuse"
WARN: Final = "warn"


def refuse_taken_names(joints: Iterable[type[Joint]]) -> None:
    """The numbers of a kind of joint are no entries that other rows have as well."""
    for joint in joints:
        for name in own_numbers(joint):
            if name in (*ENTRIES, "d"):
                raise TypeError(f"joint class {joint.__name__}: {name} is an entry of all rows (expected another name)")


refuse_taken_names(link_joints())


def joint_keys() -> tuple[str, ...]:
    """The entries of joints that are not fixed."""
    return (*DRIVE, *RATINGS, *COUPLING, *joint_numbers())


def as_fixed(row: Row) -> dict[str, Any]:
    """The row with its joint fixed."""
    removed = (*joint_keys(), "joint_name", "axis", "anchor")
    return {key: entry for key, entry in row.items() if key not in removed} | {"joint": "fixed"}


def free_name(name: str, taken: Container[str]) -> str:
    """The first of name, name2, name3, ... that is not taken."""
    names = (name if count == 1 else f"{name}{count}" for count in itertools.count(1))
    return next(candidate for candidate in names if candidate not in taken)


def new_name(name: str, taken: set[str], suffix: str = "_") -> str:
    """The name with as many suffixes as needed to be unique; it is added to `taken`."""
    while name in taken:
        name += suffix
    taken.add(name)
    return name


@dataclass(frozen=True)
class Geometry:
    """The joint frame in the parent's frame, and the row's own frame in the moving joint frame."""

    before: Placement
    after: Placement
    entries: dict[str, Any]  # normalised entries, as written to files
    corrections: Mapping[str, float] = field(default_factory=dict)  # distance of entries from a rotation or unit vector


@dataclass(frozen=True)
class Convention:
    name: str
    keys: tuple[str, ...]
    meaning: str
    read: Callable[[Row, JointKind | None], Geometry]  # None: a fixed joint

    @property
    def at_parent(self) -> dict[str, Any]:
        """The geometry of a row whose frame is that of its parent."""
        return {"translation": ORIGIN} if "translation" in self.keys else dict.fromkeys(DH, 0.0)


def along_z(x: Scalar) -> Placement:
    return Placement(Rotation.identity(), Vector(0.0, 0.0, x))


def about_z(x: Scalar) -> Placement:
    return Placement(turn_z(x), Vector.zero())


def screw_x(a: Scalar, alpha: Scalar) -> Placement:
    """TransX(a) RotX(alpha), which commute."""
    return Placement(turn_x(alpha), Vector(a, 0.0, 0.0))


def dh_entries(row: Row, kind: JointKind | None) -> dict[str, Scalar]:
    """a, b, alpha, theta; variables of the joint default to 0."""
    varies = kind.dh_variables if kind else ()
    return {key: 0.0 if key not in row and key in varies else ENTRIES[key].of(row) for key in DH}


def standard_geometry(row: Row, kind: JointKind | None) -> Geometry:
    """RotZ(theta) TransZ(b) TransX(a) RotX(alpha), split at the joint; if the joint moves none of them, in front."""
    w = dh_entries(row, kind)
    turn, rise, reach = about_z(w["theta"]), along_z(w["b"]), screw_x(w["a"], w["alpha"])
    varies = kind.dh_variables if kind else ("theta",)
    if varies == ("b",):
        return Geometry(rise, turn.then(reach), w)
    if varies == ("theta",):
        return Geometry(turn, rise.then(reach), w)
    if varies:
        return Geometry(turn.then(rise), reach, w)
    return Geometry(Placement.identity(), turn.then(rise).then(reach), w)


def modified_geometry(row: Row, kind: JointKind | None) -> Geometry:
    """RotX(alpha) TransX(a) RotZ(theta) TransZ(b): the joint moves last, so the row's frame is the joint frame."""
    w = dh_entries(row, kind)
    before = screw_x(w["a"], w["alpha"]).then(about_z(w["theta"])).then(along_z(w["b"]))
    return Geometry(before, Placement.identity(), w)


def frames_geometry(row: Row, kind: JointKind | None) -> Geometry:
    """The link's frame with an orthogonal rotation; the joint frame is at the anchor, with z along the axis."""
    if kind and not kind.axis and "axis" in row:
        about = "which turns about any axis" if not kind.bounded else "whose axes are those of its frame"
        raise EntryError("axis", f"is given for a {kind.name} joint, {about} (expected none)")
    translation = ENTRIES["translation"].of(row)
    turn = given = Rotation.identity()
    if "rotation" in row:
        given = Rotation(ENTRIES["rotation"].of(row))
        turn = nearest_rotation(given)
    axis, stretched = ENTRIES["axis"].of(row)
    link_frame = Placement(turn, Vector(*translation))
    align = Placement(z_to(Vector(*axis)), Vector.zero())
    entries = {"translation": translation, "rotation": given.rows, "axis": axis}
    if kind and not kind.axis:
        del entries["axis"]
    anchor = ENTRIES["anchor"].of(row)
    if any(type(x) is not float or x != 0.0 for x in anchor):
        if not kind:
            raise EntryError("anchor", "is given for a fixed joint, which does not move")
        entries["anchor"] = anchor
        align = Placement(align.axes, Vector(*anchor))
    corrections = {"rotation": distance(turn, given), "axis": stretched}
    return Geometry(link_frame.then(align), align.inverse(), entries, corrections)


def z_to(direction: Vector) -> Rotation:
    """The shortest rotation from z to a unit vector."""
    x, y, z = direction
    off_axis = x * x + y * y
    if z < 0.0 and off_axis < 1e-24:
        return Rotation(((1.0, 0.0, 0.0), (0.0, -1.0, 0.0), (0.0, 0.0, -1.0)))
    k = 1.0 / (1.0 + z) if z >= 0.0 else (1.0 - z) / off_axis  # equal, without cancellation
    return nearest_rotation(Rotation(((1.0 - k * x * x, -k * x * y, x), (-k * x * y, 1.0 - k * y * y, y), (-x, -y, z))))


STANDARD = "standard"
CONVENTIONS = {
    STANDARD: Convention(
        STANDARD,
        DH,
        "standard DH (Saha, Angeles): frame i+1 on link i, RotZ(theta) TransZ(b) TransX(a) RotX(alpha)",
        standard_geometry,
    ),
    "modified": Convention(
        "modified",
        DH,
        "modified DH (Craig, Kozlowski): frame i on link i, RotX(alpha) TransX(a) RotZ(theta) TransZ(b)",
        modified_geometry,
    ),
    "frames": Convention(
        "frames",
        FRAMES,
        "frames: each joint frame placed in its parent link, joint along or about `axis`",
        frames_geometry,
    ),
}
DH_CONVENTIONS = ("standard", "modified")


def key_hint(key: Any, keys: Sequence[str]) -> str:
    """A hint for a key that rows of this convention do not have."""
    owners = [repr(c.name) for c in CONVENTIONS.values() if key in c.keys or (key == "d" and "b" in c.keys)]
    owners += [repr(STANDARD)] * (key == "r")
    if owners:
        return f", but of {' and '.join(owners)} rows"
    meant = next((entry.key for entry in ENTRIES.values() if key in entry.elsewhere), None)
    if meant in keys:
        return f", did you mean {meant!r}?"
    return near_miss(key, keys)


class Size(NamedTuple):
    """The largest mass and length of a table; tiny values relative to them may be rounding residue."""

    mass: float
    length: float


class CheckedRow(NamedTuple):
    """The contents of a row, checked."""

    kind: JointKind | None  # None: a fixed joint
    geometry: Geometry
    mass: Scalar
    com: Vector
    inertia: Symmetric
    of_joint: dict[str, Any]  # drive, numbers of the kind, coupling and ratings; empty for a fixed joint
    entries: dict[str, Any]  # the row without name and parent, as in a file, in a fixed order of keys
    problem: str  # of a body that is not physically consistent, without `unphysical`

    @property
    def in_degrees(self) -> bool:
        """Whether limits of an angle are whole numbers from two turns to 720: probably degrees."""
        pairs = self.of_joint.get("limits")
        if pairs is None or self.kind is None:
            return False
        pairs = pairs if self.kind.degrees > 1 else [pairs]
        ends = [x for link, pair in zip(self.kind.links, pairs, strict=True) if link.angular for x in pair]
        return any(TURNS < abs(x) <= LARGEST_IN_DEGREES and x == int(x) for x in ends)


def table_size(table: list[dict[str, Any]]) -> Size:
    """The size of a table, from the entries that are numbers; wrong entries are reported elsewhere."""
    masses = [magnitude(row.get("mass")) for row in table]
    entries = [row.get(key) for row in table for key in LENGTHS]
    lengths = [magnitude(x) for entry in entries for x in (items_of(entry, 3) or [entry])]
    return Size(max(masses, default=0.0), max(lengths, default=0.0))


def magnitude(value: Any) -> float:
    """The magnitude of a number; 0 for symbols, other objects and numbers above LARGEST."""
    if not isinstance(value, (int, float, np.integer, np.floating)):
        return 0.0
    try:
        size = abs(float(value))
    except OverflowError:
        return 0.0
    return size if size < LARGEST else 0.0


def check_row(row: Row, convention: Convention, size: Size) -> CheckedRow:
    row = check_keys(row, convention)
    kind = kind_of(row)
    geometry = convention.read(row, kind)
    has_body = kind is not None or any(key in row for key in BODY)
    if kind is None:
        row = {**NO_BODY, **row}
    any_sign = row.get("unphysical") is True  # such as identified parameters
    stated = ENTRIES["mass"].of(row, math.inf if any_sign else RESIDUE * size.mass)
    mass = stated if any_sign else positive_part(stated)
    com = ENTRIES["com"].of(row)
    residue = RESIDUE * size.length**2 * magnitude(mass)
    rows = ENTRIES["inertia"].of(row, residue)
    inertia, accepted, problem = inertia_of(row, rows, residue)
    of_joint = drive_numbers(row, any_sign)
    if kind is None:
        of_joint = {}
        for key in joint_keys():
            if row.get(key) is not None and not is_zero(row[key]):
                raise EntryError(key, "is given for a fixed joint, which does not move")
    else:
        of_joint["limits"] = limits_of(row, kind)
        of_joint |= numbers_of_kind(row, kind) | coupling_of(row, kind) | ratings_of(row, kind)
    always = (*joint_numbers(), "ratio", "stribeck_friction", *RATINGS)  # written even if 0
    entries = {"joint": kind.name if kind else "fixed", **joint_name_of(row), **geometry.entries}
    entries |= {"mass": stated, "com": com, "inertia": rows} if has_body else {}
    entries |= {"unphysical": True} if accepted else {}
    left_out = () if row.get("stribeck_friction") is not None else STRIBECK
    written = {key: x for key, x in of_joint.items() if key in always or not (x is None or is_zero(x))}
    entries |= {key: x for key, x in written.items() if key not in left_out}
    return CheckedRow(kind, geometry, mass, Vector(*com), inertia, of_joint, entries, problem)


def drive_numbers(row: Row, any_sign: bool) -> dict[str, Any]:
    """Rotor inertia and friction. Without an entry the friction on breaking loose is Coulomb friction."""
    if row.get("stribeck_friction") is None:
        if row.get("stribeck_rate") is not None:
            raise EntryError("stribeck_rate", "is given without stribeck_friction (expected the friction at rest)")
        row = {**row, "stribeck_friction": row.get("coulomb_friction", 0.0), "stribeck_rate": STRIBECK_RATE}
    drive = {key: ENTRIES[key].of(row, math.inf if any_sign else 0.0) for key in DRIVE_NUMBERS}
    for key, problem in () if any_sign else friction_problems(drive):
        raise EntryError(key, problem)
    if row.get("coupled_to") is not None and not is_zero(drive["load_friction"]):
        raise EntryError("load_friction", "is given for a coupled joint, whose load is not known apart (expected none)")
    return drive


def check_keys(row: Row, convention: Convention) -> dict[str, Any]:
    """The row with `b` for `d`, and `com` for Saha's `r` in standard rows; an unknown key is an error."""
    keys = (*COMMON, *convention.keys, *joint_keys())
    row = dict(row)
    if "d" in row and "b" in convention.keys:
        if "b" in row:
            raise EntryError("d", "and b are both given, and mean the same")
        row["b"] = row.pop("d")
    if "r" in row and convention.name == STANDARD:  # from the mass centre to the origin of the link's frame
        if "com" in row:
            raise EntryError("r", "and com are both given, and mean the same: com = -r")
        row["com"] = tuple(-x for x in check_vector(row.pop("r"), "r"))
    for key in row:
        if key not in keys:
            known = ", ".join(keys)
            raise EntryError(str(key), f"is not a key of a {convention.name!r} row{key_hint(key, keys)} ({known})")
    return row


def kind_of(row: Row) -> JointKind | None:
    """The kind of a row's joint; None for a fixed joint."""
    joint = row.get("joint")
    if isinstance(joint, str) and (joint in KINDS or joint == "fixed"):
        return KINDS.get(joint)
    known = ", ".join(map(repr, KINDS))
    letters = {kind.letter: name for name, kind in KINDS.items()}
    meant = letters.get(joint) if isinstance(joint, str) else None
    close = f", did you mean {meant!r}?" if meant else near_miss(joint, (*KINDS, "fixed"))
    raise EntryError("joint", f"is {joint!r}{close} (expected {known} or 'fixed')")


def joint_name_of(row: Row) -> dict[str, str]:
    """The joint's name, if it is not that of the link."""
    name = row.get("joint_name", "")
    if not isinstance(name, str) or ("joint_name" in row and not name.strip()) or not name.isprintable():
        raise EntryError("joint_name", f"is {name!r} (expected one printable line)")
    return {"joint_name": name} if name and name != row.get("name") else {}


def inertia_of(row: Row, rows: Rows, residue: float) -> tuple[Symmetric, bool, str]:
    """The tensor; whether it is accepted although it is not physically consistent; otherwise what is wrong with it."""
    accepted = row.get("unphysical", False)
    if not isinstance(accepted, bool):
        raise EntryError("unphysical", f"is {accepted!r} (expected true for a physically inconsistent inertia)")
    problem = "" if accepted else inconsistency_of_inertia(rows, residue)
    zero = positive_part if not (accepted or problem) else lambda x: x
    symmetric = Symmetric.from_upper(lambda i, j: zero(rows[i][i]) if i == j else rows[i][j])
    return symmetric, accepted or bool(problem), problem


def ratings_of(row: Row, kind: JointKind) -> dict[str, Scalar]:
    """`velocity_limit`, `effort_limit`, `stiffness` and `rest`."""
    ratings = {key: ENTRIES[key].of(row) for key in RATINGS[:3] if row.get(key) is not None}
    if row.get("rest") is None:
        return ratings
    if kind.degrees > 1:
        raise EntryError("rest", f"is given for a {kind.name} joint, whose spring rests at zero (expected none)")
    if "stiffness" not in ratings:
        raise EntryError("rest", "is given without stiffness (expected the stiffness of a spring)")
    return ratings | {"rest": ENTRIES["rest"].of(row)}


def limits_of(row: Row, kind: JointKind) -> Any:
    """A pair, or a pair for each degree of freedom; None without limits."""
    value = row.get("limits")
    if value is None or kind.degrees == 1:
        return None if value is None else check_limits(value, "limits")
    if not kind.bounded:
        problem = f"is given for a {kind.name} joint, whose coordinates are not angles (expected none)"
        raise EntryError("limits", problem)
    pairs = items_of(value, kind.degrees, "limits")
    if pairs is None or any(items_of(pair, 2, "limits") is None for pair in pairs):
        labels = ", ".join(kind.q_labels)
        raise EntryError("limits", f"is {value!r} (expected a pair [lower, upper] for each of {labels})")
    return tuple(check_limits(pair, "limits") for pair in pairs)


def numbers_of_kind(row: Row, kind: JointKind) -> dict[str, Scalar]:
    """The numbers of this kind of joint, such as `pitch`."""
    for key in joint_numbers():
        if key in row and key not in kind.numbers:
            having = " or ".join(other.name for other in KINDS.values() if key in other.numbers)
            raise EntryError(key, f"is given for a {kind.name} joint (expected a {having} joint)")
    units = {key: unit.in_words for link in kind.links for key, unit in own_numbers(link).items()}
    return {key: Entry(key, check_number, f"a number, in {words}").of(row) for key, words in units.items()}


def coupling_of(row: Row, kind: JointKind) -> dict[str, Any]:
    """`coupled_to`, `ratio` and `offset`."""
    leader = row.get("coupled_to")
    if leader is None:
        for key in COUPLING[1:]:
            if key in row:
                raise EntryError(key, "is given without coupled_to (expected the name of another joint there)")
        return {}
    if kind.degrees > 1:
        raise EntryError("coupled_to", f"is given for a {kind.name} joint (expected {', '.join(one_degree_kinds())})")
    if not isinstance(leader, str):
        raise EntryError("coupled_to", f"is {leader!r} (expected the name of another joint)")
    return {"coupled_to": leader, "ratio": ENTRIES["ratio"].of(row), "offset": ENTRIES["offset"].of(row)}
