"""Write a robot as URDF, without meshes. The text is read back and compared with the robot before it is saved.

URDF has revolute, continuous, prismatic, fixed and floating joints. Cylindrical, universal and planar joints are
written as two or three joints with massless links between them, named after their coordinates, so that q stays the
same. Springs, other gravity, screws and balls are refused, and rotor inertias unless the caller allows to drop them or
to write transmissions. Frames of links move to their joints; frames of fixed joints stay.
"""

from __future__ import annotations

import math
import re
import tempfile
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn
from xml.sax.saxutils import escape, quoteattr

from ...errors import FileError, RobotError
from ...files import atomic_write
from ...robot import KINDS, Robot
from ...robot.coordinates import label
from ...robot.tables import FURTHER_FRICTION, ORIGIN, Z, free_name
from ...spatial import is_zero
from ..agreement import require_agreement
from ..conversion import Table, flatten, to_frames
from ..files import Options, UrdfRotors
from .reader import EARTH, read
from .rows import NAMESPACE, UNBOUNDED, rotor_text, rotors_of, transmission

FLOATING = "floating"
NOT_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
DYNAMICS = ("viscous_friction", "coulomb_friction", "velocity_limit", "effort_limit", "rotor_inertia")
DROPPED = "Without the inertias of its rotors, which URDF has no place for, so that torques and accelerations differ:"
IN_TRANSMISSIONS = "Inertias of rotors, as the joints feel them, stand in transmissions; programs that pass over these"
IN_TRANSMISSIONS += " take a robot without rotors:"
DROP = "leave it out of its row"
REFUSED = ("stiffness", "rest", *FURTHER_FRICTION)


def write(robot: Robot, path: Path, rotors: UrdfRotors = "refuse") -> None:
    """Write the file. `rotors` is the treatment of rotor inertias."""
    remark = ""
    if rotor_list := rotors_of(robot):
        if rotors == "refuse":
            refuse_rotors(robot, path, rotor_list)
        remark = f"{IN_TRANSMISSIONS if rotors == 'transmission' else DROPPED} {rotor_text(rotor_list)}."
        robot = robot.without_rotors() if rotors == "drop" else robot
    table = frames_table(robot, path)
    text = Writer(table, remark).text()
    verify_text(table, text, path)
    with atomic_write(path) as file:
        file.write(text.encode())


def refuse_rotors(robot: Robot, path: Path, rotors: list[tuple[str, float, str]]) -> NoReturn:
    name, inertia, unit = max(rotors, key=lambda rotor: abs(rotor[1]))
    raise FileError(
        f"{path}: cannot write robot {robot.name!r}: URDF has no place for rotor inertias, and {len(rotors)} of its"
        f" joints have one, the largest {inertia:.4g} {unit} at joint {name!r} (expected a .toml file;"
        ' urdf_rotors="transmission", where Drake and lw.load read them, and Pinocchio, MuJoCo and ROS do not; or'
        ' urdf_rotors="drop", which leaves them out and says so in the file)'
    )


def frames_table(robot: Robot, path: Path) -> Table:
    """Return the rows as frames at the joints; an error if URDF cannot express them."""
    if robot.non_floats:
        raise FileError(
            f"{path}: cannot write robot {robot.name!r}: URDF holds plain numbers only (lw.bind binds symbols)"
        )
    if robot.gravity != EARTH:
        raise FileError(
            f"{path}: cannot write robot {robot.name!r}: gravity is {list(robot.gravity)}, and a URDF has none; it is"
            f" read with {list(EARTH)} (expected a robot on a base whose z points up, docs/files.md#saving shows how to"
            f" turn it, or a .toml file; robot.with_gravity({EARTH}) is another arm, with other weights at its joints)"
        )
    for row in robot.rows:
        where = f"{path}: cannot write robot {robot.name!r}, link {row['name']!r}:"
        if not all(types_of(row["joint"])):
            raise FileError(f"{where} URDF has no {row['joint']} joint (expected a .toml file)")
        for key in REFUSED:
            if not is_zero(row.get(key, 0.0)):
                raise FileError(
                    f"{where} {key} is {row[key]!r}, and URDF has none (expected none: {DROP}; or a .toml file)"
                )
        if types_of(row["joint"]) == (FLOATING,) and (
            unsupported := [key for key in DYNAMICS if not is_zero(row.get(key, 0.0))]
        ):
            raise FileError(
                f"{where} {unsupported[0]} of a {row['joint']} joint has no place in URDF (expected none: {DROP})"
            )
    table = Table.of(robot)
    to_frames(table, anchored=False)
    return table


def verify_text(table: Table, text: str, path: Path) -> None:
    """Read the text as `load` does, and compare the robots."""
    offsets = {part.name: table.offsets[index] for index, part in enumerate(table.parts)}
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about inertias that are not physically consistent: the robot has them
        copy = Path(folder) / "copy.urdf"
        copy.write_text(text, encoding="utf-8")
        result = read(copy, Options(unphysical="warn"))
    try:
        require_agreement(table.robot, result, offsets, f"what {path} would hold")
    except RobotError as problem:
        raise FileError(f"{path}: not written: {problem}") from None


class Writer:
    """The text of a file."""

    def __init__(self, table: Table, remark: str = "") -> None:
        self.table, self.robot, self.remark = table, table.robot, remark
        self.transmissions: list[str] = []
        self.taken = {row["name"] for row in table.rows}
        self.joint_names = {row.get("joint_name", row["name"]) for row in table.rows if row["joint"] != "fixed"}
        self.lines: list[str] = []

    def text(self) -> str:
        rows = list(self.table.rows)
        about = f"{self.robot.about}\n" if self.robot.about else ""
        namespace = f' xmlns:drake="{NAMESPACE}"' if rotors_of(self.robot) else ""
        self.lines = [
            '<?xml version="1.0" encoding="utf-8"?>',
            *comment(about),
            *comment(self.remark),
            f"<robot name={quoteattr(self.robot.name)}{namespace}>",
        ]
        roots = [row for row in rows if row["parent"] is None]
        if len(roots) == 1 and is_root(roots[0]):
            root = roots[0]["name"]
            self.link(root, roots[0])
            rows.remove(roots[0])
        else:
            root = self.new_name("base" if "base" not in self.taken else "world", self.taken)
            self.link(root, {})
        for row in rows:
            self.row(row, row["parent"] or root)
        return "\n".join([*self.lines, *self.transmissions, "</robot>"]) + "\n"

    def row(self, row: Mapping[str, Any], parent: str) -> None:
        """Write a link and its joint; several of them for a joint of several degrees of freedom."""
        name, types = row.get("joint_name", row["name"]), types_of(row["joint"])
        place = row["translation"], row["rotation"]
        if types in (("fixed",), (FLOATING,)):
            self.link(row["name"], row)
            stem = row.get("joint_name", f"{row['name']}_joint")  # Pinocchio finds frames of links and joints by name
            joint_name = self.new_name(stem, self.joint_names) if types == ("fixed",) else name
            self.joint(joint_name, types[0], parent, row["name"], place)
            return
        kind = KINDS[row["joint"]]
        directions = [row.get("axis", Z)] * kind.degrees if kind.on_z else kind.directions
        for k, (part, urdf_type, direction) in enumerate(zip(kind.q_labels, types, directions, strict=True)):
            last = k == kind.degrees - 1
            link = row["name"] if last else self.new_name(f"{row['name']}.{part}", self.taken)
            limits = row.get("limits")
            limits = limits[k] if limits and kind.degrees > 1 else limits
            self.link(link, row if last else {})
            inner = [f"<axis xyz={numbers(direction)}/>", *self.mimic(row), *drive(row, urdf_type, limits)]
            joint = label(name, part)
            self.joint(joint, type_of(urdf_type, limits), parent, link, place, inner)
            self.rotor(joint, row)
            parent, place = link, (ORIGIN, None)

    def link(self, name: str, row: Mapping[str, Any]) -> None:
        mass, tensor = row.get("mass", 0.0), row.get("inertia", ())
        if is_zero(mass) and all(map(is_zero, flatten(tensor))):
            self.lines.append(f"  <link name={quoteattr(name)}/>")
            return
        (xx, xy, xz), (_, yy, yz), (_, _, zz) = tensor
        moments = zip(("ixx", "ixy", "ixz", "iyy", "iyz", "izz"), (xx, xy, xz, yy, yz, zz), strict=True)
        self.lines += [
            f"  <link name={quoteattr(name)}>",
            "    <inertial>",
            f'      <origin xyz={numbers(row["com"])} rpy="0 0 0"/>',
            f"      <mass value={numbers([mass])}/>",
            f"      <inertia {' '.join(f'{key}={numbers([x])}' for key, x in moments)}/>",
            "    </inertial>",
            "  </link>",
        ]

    def joint(self, name: str, kind: str, parent: str, child: str, place: Any, inner: Iterable[str] = ()) -> None:
        translation, rotation = place
        angles = ORIGIN if rotation is None else roll_pitch_yaw(rotation)
        self.lines += [
            f'  <joint name={quoteattr(name)} type="{kind}">',
            f"    <parent link={quoteattr(parent)}/>",
            f"    <child link={quoteattr(child)}/>",
            f"    <origin xyz={numbers(translation)} rpy={numbers(angles)}/>",
            *(f"    {line}" for line in inner),
            "  </joint>",
        ]

    def rotor(self, joint: str, row: Mapping[str, Any]) -> None:
        if not is_zero(row.get("rotor_inertia", 0.0)):
            inertia = numbers([row["rotor_inertia"]])
            self.transmissions += transmission(quoteattr(joint), inertia, quoteattr(f"{joint}_rotor"))

    def mimic(self, row: Mapping[str, Any]) -> list[str]:
        """The final leader of a coupled joint: URDF has no chains of mimics."""
        if "coupled_to" not in row:
            return []
        by_name = {link.name: link for link in self.robot.links}
        (coupling,) = (c for c in self.robot.couplings if c.link == by_name[row["name"]].index)
        leader = self.robot.links[coupling.to].name
        (other,) = (r for r in self.table.rows if r["name"] == leader)
        values = f"multiplier={numbers([coupling.ratio])} offset={numbers([coupling.offset])}"
        return [f"<mimic joint={quoteattr(other.get('joint_name', leader))} {values}/>"]

    def new_name(self, stem: str, taken: set[str]) -> str:
        name = free_name(stem, taken)
        taken.add(name)
        return name


def types_of(joint: str) -> tuple[str, ...]:
    """The URDF types of the joints that represent a joint, one for each coordinate; "" if there is none."""
    if joint == "fixed" or KINDS[joint].urdf:
        return (KINDS[joint].urdf if joint in KINDS else joint,)
    return tuple(KINDS[link.kind].urdf if KINDS[joint].degrees > 1 else "" for link in KINDS[joint].links)


def is_root(row: Mapping[str, Any]) -> bool:
    """Whether a row is fixed to the base at the base frame."""
    still = row["joint"] == "fixed" and all(map(is_zero, row["translation"]))
    return still and row["rotation"] == ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


def type_of(kind: str, limits: Any) -> str:
    return "continuous" if kind == "revolute" and limits is None else kind


def drive(row: Mapping[str, Any], kind: str, limits: Any) -> list[str]:
    """Limits, ratings and friction. URDF requires numbers: 1e308 is written where there is no limit."""
    lines = []
    ratings = {"effort": row.get("effort_limit"), "velocity": row.get("velocity_limit")}
    if limits is not None or kind == "prismatic" or any(x is not None for x in ratings.values()):
        ends = limits if limits is not None else (-UNBOUNDED, UNBOUNDED)
        bounds = {"lower": ends[0], "upper": ends[1]} if limits is not None or kind == "prismatic" else {}
        entries = {**bounds, **{key: UNBOUNDED if x is None else x for key, x in ratings.items()}}
        lines.append(f"<limit {' '.join(f'{key}={numbers([x])}' for key, x in entries.items())}/>")
    friction = {"damping": row.get("viscous_friction", 0.0), "friction": row.get("coulomb_friction", 0.0)}
    if not all(map(is_zero, friction.values())):
        lines.append(f"<dynamics {' '.join(f'{key}={numbers([x])}' for key, x in friction.items())}/>")
    return lines


def roll_pitch_yaw(rotation: Sequence[Sequence[float]]) -> tuple[float, float, float]:
    """R = R_z(yaw) R_y(pitch) R_x(roll). Yaw is arbitrary where pitch is a quarter turn."""
    (r00, r01, r02), (r10, r11, r12), (r20, _, _) = rotation
    yaw = math.atan2(r10, r00) if (r10, r00) != (0.0, 0.0) else 0.0
    c, s = math.cos(yaw), math.sin(yaw)
    pitch = math.atan2(-r20, c * r00 + s * r10)
    roll = math.atan2(s * r02 - c * r12, c * r11 - s * r01)
    return roll + 0.0, pitch + 0.0, yaw + 0.0


def numbers(values: Iterable[float]) -> str:
    """Numbers in quotes, with all digits."""
    return '"' + " ".join(repr(x + 0.0) for x in values) + '"'


def comment(text: str) -> list[str]:
    """The text as an XML comment, without double hyphens, which would end it."""
    line = re.sub("-(?=-|$)", "- ", " ".join(NOT_XML.sub("?", text).split()))
    return [f"<!-- {escape(line)} -->"] if line else []
