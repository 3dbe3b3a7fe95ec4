"""The keys of a robot's table, and what each convention makes of a row's geometry."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..errors import near_miss
from ..spatial import Placement, Rotation, Scalar, Vector, turn_x, turn_z
from .entries import EntryError, angle, axis, length, matrix3, vector3
from .kinds import KINDS, joint_numbers
from .rotations import distance, nearest_rotation

COMMON = ("name", "parent", "joint", "joint_name", "mass", "com", "inertia", "unphysical")
OF_DRIVES = {  # entries, and their titles with the units for joints that turn and for those that slide
    "rotor_inertia": "rotor inertia (kg m2, kg)",
    "viscous_friction": "viscous (N m s/rad, N s/m)",
    "coulomb_friction": "Coulomb (N m, N)",
    "limits": "limits (deg, m)",
    "velocity_limit": "velocity limit (rad/s, m/s)",
    "effort_limit": "effort limit (N m, N)",
    "stiffness": "stiffness (N m/rad, N/m)",
    "rest": "rest (deg, m)",
}
DRIVE = tuple(OF_DRIVES)[:4]
RATINGS = tuple(OF_DRIVES)[4:]  # kept, without effect on the dynamics
COUPLING = ("coupled_to", "ratio", "offset")
DH = ("a", "b", "alpha", "theta")
FRAMES = ("translation", "rotation", "axis", "anchor")
OTHER_KEYS = {  # of URDF, MJCF and SDF, and what they are called here
    "type": "joint",
    "weight": "mass",
    "origin": "translation",
    "xyz": "translation",
    "pos": "translation",
    "rpy": "rotation",
    "mimic": "coupled_to",
    "multiplier": "ratio",
    "damping": "viscous_friction",
    "friction": "coulomb_friction",
    "frictionloss": "coulomb_friction",
    "armature": "rotor_inertia",
    "velocity": "velocity_limit",
    "effort": "effort_limit",
    "springref": "rest",
}
Z = (0.0, 0.0, 1.0)


def joint_keys() -> tuple[str, ...]:
    """The entries of a row that only a joint that moves has."""
    return (*DRIVE, *RATINGS, *COUPLING, *joint_numbers())


def as_fixed(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row with a fixed joint in place of its own."""
    gone = (*joint_keys(), "joint_name", "axis", "anchor")
    return {key: entry for key, entry in row.items() if key not in gone} | {"joint": "fixed"}


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
    c.name: c
    for c in (
        Convention(
            "standard",
            DH,
            "standard DH (Saha, Angeles): frame i+1 on link i, RotZ(theta) TransZ(b) TransX(a) RotX(alpha)",
            standard,
        ),
        Convention(
            "modified",
            DH,
            "modified DH (Craig, Kozlowski): frame i on link i, RotX(alpha) TransX(a) RotZ(theta) TransZ(b)",
            modified,
        ),
        Convention(
            "frames",
            FRAMES,
            "frames: each joint frame placed in its parent link, joint along or about `axis`",
            frames,
        ),
    )
}


def key_hint(key: Any, convention: Convention, keys: Sequence[str]) -> str:
    """What may have been meant by a key that rows of this convention do not have."""
    owners = [repr(c.name) for c in CONVENTIONS.values() if key in c.keys or (key == "d" and "b" in c.keys)]
    if owners:
        return f", but of {' and '.join(owners)} rows"
    if OTHER_KEYS.get(key) in keys:
        return f", did you mean {OTHER_KEYS[key]!r}?"
    return near_miss(key, keys)


DH_CONVENTIONS = ("standard", "modified")
