"""A row of a table: every entry checked, whatever the convention."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ..errors import near_miss
from ..spatial import Scalar, Symmetric, Vector, is_zero
from .entries import (
    RESIDUE,
    TURNS,
    EntryError,
    angle,
    impossible_body,
    limits,
    not_negative,
    number,
    positive_part,
    present,
    sequence,
    tensor,
    vector3,
)
from .kinds import KINDS, JointKind, joint_numbers, of_one_degree
from .mapping import own_numbers
from .tables import COMMON, COUPLING, DRIVE, RATINGS, Convention, Geometry, joint_keys, key_hint

LENGTHS = ("a", "b", "d", "com", "translation", "anchor")
LARGEST = 1e100  # larger masses and lengths are not taken as the size of a robot
NO_TENSOR = ((0.0,) * 3,) * 3
OTHER_NAMES = {"hinge": "revolute", "continuous": "revolute", "slide": "prismatic", "helical": "screw"} | {
    "spherical": "ball", "floating": "free", "freeflyer": "free", "cardan": "universal"
}  # fmt: skip
LARGEST_IN_DEGREES = 720.0
REFUSE, WARN = "refuse", "warn"  # what is done with bodies that cannot exist


class Size(NamedTuple):
    """The largest mass and length of a table. Values that are tiny beside them may be rounding residue."""

    mass: float
    length: float


class Entries(NamedTuple):
    """The entries of a row."""

    joint: str
    geometry: Geometry
    mass: Scalar
    com: Vector
    inertia: Symmetric
    drive: dict[str, Any]
    ratings: dict[str, Scalar]
    joint_name: str
    unphysical: bool  # whether a body that cannot exist is taken as it is
    problem: str  # of a body that is taken so for the first time
    in_degrees: bool  # whether its limits look like degrees


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


def checked_entries(row: Mapping[str, Any], convention: Convention, size: Size) -> Entries:
    row = with_known_keys(row, convention)
    joint = joint_of(row)
    geometry = convention.read(row, joint)
    still = joint == "fixed"
    if still:
        row = {"mass": 0.0, "com": (0.0, 0.0, 0.0), "inertia": NO_TENSOR, **row}
    any_sign = row.get("unphysical") is True  # as identification may find them
    if any_sign:
        mass = number(present(row, "mass", "a number"), "mass")
    else:
        mass = positive_part(not_negative(row, "mass", slack=RESIDUE * size.mass))
    com = Vector(*vector3(row, "com"))
    inertia, accepted, problem = inertia_of(row, RESIDUE * size.length**2 * plain_size(mass))
    drive: dict[str, Any] = {
        key: number(row.get(key, 0.0), key) if any_sign else not_negative(row, key, 0.0) for key in DRIVE[:3]
    }
    if still:
        for key in joint_keys():
            if row.get(key) is not None and not is_zero(row[key]):
                raise EntryError(key, "is given for a fixed joint, which does not move")
        drive["limits"] = None
    else:
        drive["limits"] = limits_of(row, KINDS[joint])
        drive |= numbers_of_kind(row, joint) | coupling_entries(row, joint)
    ratings = {} if still else ratings_of(row, joint)
    return Entries(
        joint,
        geometry,
        mass,
        com,
        inertia,
        drive,
        ratings,
        joint_name_of(row),
        accepted,
        problem,
        look_like_degrees(drive, joint),
    )


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


def look_like_degrees(drive: Mapping[str, Any], joint: str) -> bool:
    """Whether ends of travel of an angle are whole numbers of over two turns and up to 720."""
    if joint == "fixed" or drive["limits"] is None:
        return False
    kind = KINDS[joint]
    pairs = drive["limits"] if kind.degrees > 1 else [drive["limits"]]
    ends = [x for link, pair in zip(kind.links, pairs, strict=True) if link.angular for x in pair]
    return any(TURNS < abs(x) <= LARGEST_IN_DEGREES and x == int(x) for x in ends)


def numbers_of_kind(row: Mapping[str, Any], joint: str) -> dict[str, Scalar]:
    """The numbers that only some kinds of joints have: `pitch`."""
    for key in joint_numbers():
        if key in row and key not in KINDS[joint].numbers:
            having = " or ".join(kind.name for kind in KINDS.values() if key in kind.numbers)
            raise EntryError(key, f"is given for a {joint} joint (expected a {having} joint)")
    units = {key: unit.in_words for link in KINDS[joint].links for key, unit in own_numbers(link).items()}
    return {key: number(present(row, key, f"a number, in {words}"), key) for key, words in units.items()}


def coupling_entries(row: Mapping[str, Any], joint: str) -> dict[str, Any]:
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
