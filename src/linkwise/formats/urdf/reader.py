"""The robot of a URDF. Elements are read, skipped if they cannot change the dynamics, or refused."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from ...errors import FileError, RobotError, RowError, near_miss
from ...printing import warn
from ...robot import Robot, from_table
from ...robot.layout import join_names
from ...robot.tables import new_name
from .. import xml
from ..files import Options
from ..xml import Element, shorten
from .rows import Branch, branches, line_of, read_rotors, resolve_name, row_of, single_axis_types

EARTH = (0.0, 0.0, -9.81)
MOST_ROOTS = 100  # roots in the warning
READ = {  # children that are read, by element
    "robot": ("link", "joint"),
    "link": ("inertial",),
    "inertial": ("origin", "mass", "inertia"),
    "joint": ("parent", "child", "origin", "axis", "limit", "dynamics", "mimic"),
}
SKIPPED = {  # common children for appearance, contact and control
    "robot": ("material", "gazebo", "transmission", "ros2_control"),
    "link": ("visual", "collision", "material", "gazebo"),
    "inertial": (),
    "joint": ("safety_controller", "calibration", "gazebo"),
}
ATTRIBUTES = {  # of elements that affect the dynamics: unknown attributes are refused
    "origin": ("xyz", "rpy"),
    "axis": ("xyz",),
    "mass": ("value",),
    "inertia": ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"),
    "mimic": ("joint", "multiplier", "offset"),
    "parent": ("link",),
    "child": ("link",),
}
OTHER_ATTRIBUTES = {"limit": ("lower", "upper", "effort", "velocity"), "dynamics": ("damping", "friction")}
REFUSED = {"loop_joint": "closes a kinematic loop"}  # elements that change the dynamics and are not supported
LIKELY = 0.7  # similarity to a known tag at which a tag is taken for a misspelling
SLIP = 0.85  # likewise for attributes: dampening is misspelled, gear_velocity is not
LINES = 8  # line numbers for each skipped element in the warning
SYNONYMS = {"min": "lower", "max": "upper"}
WITHOUT_MIMIC = 'mimic="independent" reads the file without mimic'
XACRO = ("${", "$(")


def read(path: Path, options: Options) -> Robot:
    return robot_of(xml.read(path), options)


def robot_of(root: Element, options: Options) -> Robot:
    """The robot of a file's root element."""
    if root.tag != "robot":
        root.fail('is not the root of a URDF (expected <robot name="...">)')
    check_content(root, options.ignore)
    order = branches(root)
    roots = [branch for branch in order if branch.joint is None]
    warn_of_roots(root, roots)
    bases = bases_of(root, roots, options.base)
    rows = [row_of(branch) for branch in order]
    place_roots(order, rows, bases)
    if "transmission" not in options.ignore:
        read_rotors(root, order, rows)
    if options.mimic == "coupled":
        couple(order, rows)
    if all(row["joint"] == "fixed" for row in rows):
        root.fail('has no joint that moves (expected one that is not fixed, or base="free")')
    name = root.get("name", root.path.stem)
    try:
        return from_table(rows, "frames", EARTH, name, unphysical=options.unphysical)
    except RowError as problem:
        line = line_of(order[problem.row], problem.key or "name")
        raise FileError(f"{root.path}:{line}: {problem}") from None
    except RobotError as problem:
        raise FileError(f"{root.path}:{root.line}: {problem}") from None


def warn_of_roots(root: Element, roots: list[Branch]) -> None:
    if len(roots) > 1:
        names = join_names((f'"{shorten(branch.name)}" (line {branch.link.line})' for branch in roots), MOST_ROOTS)
        warn(f"{root.path}: {len(roots)} links are moved by no joint: {names}; each stands on the base, at its origin")


def bases_of(root: Element, roots: list[Branch], base: Any) -> dict[str, str]:
    """Whether each root is fixed, the default, or free."""
    names = [branch.name for branch in roots]
    requested = base if isinstance(base, Mapping) else dict.fromkeys(names, base or "fixed")
    for name in requested:
        if name not in names:
            known = ", ".join(map(repr, names[:MOST_ROOTS]))
            root.fail(f"base names {name!r}, which is no root of the tree{near_miss(name, names)} (expected {known})")
    return dict(requested)


def place_roots(order: list[Branch], rows: list[dict[str, Any]], bases: Mapping[str, str]) -> None:
    """Give free roots a free joint, and each root a unique joint name."""
    joint_names: set[str] = set()
    carried: dict[str, list[Element]] = {}  # the joints on each link
    for branch in order:
        if branch.joint is not None:
            joint_names.add(branch.joint.attributes["name"])
            carried.setdefault(branch.parent, []).append(branch.joint)
    for branch, row in zip(order, rows, strict=True):
        if branch.joint is None:
            row |= root_joint(branch, joint_names)
            if bases.get(branch.name) == "free":
                refuse_second_free_joint(branch, row, carried.get(branch.name, []))
                row["joint"] = "free"


def root_joint(branch: Branch, joint_names: set[str]) -> dict[str, str]:
    """Name a root's joint after the root, unless a joint of the file has that name."""
    name = new_name(branch.name, joint_names, "_root")
    return {"joint_name": name} if name != branch.name else {}


def refuse_second_free_joint(branch: Branch, row: dict[str, Any], joints: list[Element]) -> None:
    """Refuse a massless free root that carries only floating joints: its motion would be undetermined."""
    if row["mass"] == 0.0 and joints and all(joint.attributes["type"] == "floating" for joint in joints):
        joints[0].fail(
            f'is floating, and base="free" would free its parent "{shorten(branch.name)}" as well, which has no mass'
            ' (expected base="fixed")'
        )


def couple(order: list[Branch], rows: list[dict[str, Any]]) -> None:
    """Couple joints with <mimic> to their leaders."""
    link_of = {branch.joint.attributes["name"]: branch for branch in order if branch.joint is not None}
    for branch, row in zip(order, rows, strict=True):
        mimic = branch.joint.only("mimic") if branch.joint is not None else None
        if mimic is None or branch.joint is None or row["joint"] == "fixed":
            continue
        name = resolve_name(mimic, "joint", "joint", link_of, f" ({WITHOUT_MIMIC})")
        leader = link_of[name]
        for joint in (branch.joint, leader.joint):
            if joint is not None and joint.attributes["type"] not in single_axis_types():
                mimic.fail(
                    f'joint "{shorten(joint.attributes["name"])}" is {joint.attributes["type"]} (expected'
                    f" {', '.join(single_axis_types())}; {WITHOUT_MIMIC})"
                )
        row |= {
            "coupled_to": leader.name,
            "ratio": mimic.number("multiplier", 1.0),
            "offset": mimic.number("offset", 0.0),
        }


def check_content(root: Element, ignore: Collection[str] = ()) -> None:
    """Refuse unsupported elements that may change the dynamics; issue one warning for those skipped."""
    skipped: dict[str, list[int]] = {}
    pending, ignored = [root], set()
    while pending:
        element = pending.pop()
        check_attributes(element, skipped)
        if element.tag not in READ:
            refuse_text(element)
            continue
        known, silent = READ[element.tag], SKIPPED[element.tag]
        pending.extend(child for child in reversed(element.children) if child.tag in known)
        for child in element.children:
            if child.tag in known:
                continue
            if child.tag in ignore:
                ignored.add(child.tag)
                continue
            if child.tag not in silent:
                refuse_unknown_element(child, element, known)
                skipped.setdefault(f"<{shorten(child.tag)}>", []).append(child.line)
            elif child.tag == "gazebo" and child.find("joint") is not None:
                skipped.setdefault("<joint> in <gazebo>", []).append(child.line)
    for name in ignore:
        if name not in ignored:
            root.fail(f"ignore has {name!r}, and no such element is skipped in this file (expected its tag)")
    warn_of_skipped(root, skipped)


def refuse_text(element: Element) -> None:
    """Refuse numbers between tags, such as <mass>2.5</mass>."""
    if element.tag in ATTRIBUTES and element.text.strip():
        known = " ".join(f'{key}="..."' for key in ATTRIBUTES[element.tag])
        element.fail(f'has the text "{shorten(element.text.strip())}" (expected <{element.tag} {known}/>)')


def check_attributes(element: Element, skipped: dict[str, list[int]]) -> None:
    known = ATTRIBUTES.get(element.tag)
    others = OTHER_ATTRIBUTES.get(element.tag)
    for key, value in element.attributes.items():
        if "$" in value and any(sign in value for sign in XACRO):
            element.fail(f'{key} is "{shorten(value)}", of xacro (expected plain URDF: run xacro on the file first)')
        if known is not None and key not in known:
            element.fail(
                f"{shorten(key)} is not one of its attributes{near_miss(key, known)} (expected {', '.join(known)})"
            )
        if others is not None and key not in others:
            meant = SYNONYMS.get(key) or next(iter(difflib.get_close_matches(key, others, n=1, cutoff=SLIP)), "")
            if meant:
                element.fail(f"{key} is not one of its attributes, did you mean {meant!r}? ({', '.join(others)})")
            skipped.setdefault(f"{shorten(key)} of <{element.tag}>", []).append(element.line)


def refuse_unknown_element(child: Element, element: Element, read: tuple[str, ...]) -> None:
    if child.tag.startswith("xacro:"):
        child.fail("is a macro of xacro (expected plain URDF: run xacro on the file first)")
    if child.tag in REFUSED:
        child.fail(f'{REFUSED[child.tag]}, which is not read (ignore=["{child.tag}"] leaves it out)')
    close = difflib.get_close_matches(child.tag, read, n=1, cutoff=LIKELY)
    if close:
        child.fail(
            f'is not an element of <{element.tag}>, did you mean <{close[0]}>? (ignore=["{child.tag}"] leaves it out)'
        )


def warn_of_skipped(root: Element, skipped: dict[str, list[int]]) -> None:
    if not skipped:
        return
    texts = [f"{what} ({line_numbers_text(lines)})" for what, lines in skipped.items()]
    warn(f"{root.path}: skipped, as URDF does not define it: {', '.join(texts)}")


def line_numbers_text(lines: list[int]) -> str:
    return f"{'line' if len(lines) == 1 else 'lines'} {join_names(map(str, sorted(lines)), LINES)}"
