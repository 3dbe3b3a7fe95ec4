"""The robot of a URDF."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...errors import FileError, RobotError, RowError, near_miss
from ...notices import warn
from ...robot import Robot, from_table
from .. import xml
from ..options import Options
from ..xml import Element, shortened
from .content import check
from .rows import ONE_DEGREE, line_of, row_of
from .transmissions import read_rotors
from .tree import HINTS, Branch, branches

EARTH = (0.0, 0.0, -9.81)
NAMED = 100  # roots in the warning


def read(path: Path, options: Options) -> Robot:
    return robot_of(xml.read(path), options)


def robot_of(root: Element, options: Options) -> Robot:
    """The robot of a file's root element."""
    if root.tag != "robot":
        root.fail('is not the root of a URDF (expected <robot name="...">)')
    check(root, options.ignore)
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
        names = ", ".join(f'"{shortened(branch.name)}" (line {branch.link.line})' for branch in roots[:NAMED])
        more = f" and {len(roots) - NAMED} more" if len(roots) > NAMED else ""
        warn(
            f"{root.path}: {len(roots)} links are moved by no joint: {names}{more}; each stands on the base, at its"
            " origin"
        )


def bases_of(root: Element, roots: list[Branch], base: Any) -> dict[str, str]:
    """How each root stands: fixed, unless it is asked to be free."""
    names = [branch.name for branch in roots]
    asked = base if isinstance(base, Mapping) else dict.fromkeys(names, base or "fixed")
    for name in asked:
        if name not in names:
            known = ", ".join(map(repr, names[:NAMED]))
            root.fail(f"base names {name!r}, which is no root of the tree{near_miss(name, names)} (expected {known})")
    return dict(asked)


def place_roots(order: list[Branch], rows: list[dict[str, Any]], bases: Mapping[str, str]) -> None:
    """Roots that are free get their joint, and all of them a name for it that no other joint has."""
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
    """A root's joint is called as the root, unless a joint of the file is: links and joints may share names in URDF."""
    name = branch.name
    while name in joint_names:
        name += "_root"
    joint_names.add(name)
    return {"joint_name": name} if name != branch.name else {}


def refuse_second_free_joint(branch: Branch, row: dict[str, Any], joints: list[Element]) -> None:
    """A free root without mass that carries only floating joints would move without any resistance."""
    if row["mass"] == 0.0 and joints and all(joint.attributes["type"] == "floating" for joint in joints):
        joints[0].fail(
            f'is floating, and base="free" would free its parent "{shortened(branch.name)}" as well, which has no mass'
            ' (expected base="fixed")'
        )


def couple(order: list[Branch], rows: list[dict[str, Any]]) -> None:
    """Joints that mimic others are coupled to them."""
    link_of = {branch.joint.attributes["name"]: branch for branch in order if branch.joint is not None}
    for branch, row in zip(order, rows, strict=True):
        mimic = branch.joint.only("mimic") if branch.joint is not None else None
        if mimic is None or branch.joint is None or row["joint"] == "fixed":
            continue
        name = mimic.get("joint", expected="the name of a joint")
        if name not in link_of:
            hint = near_miss(name, list(link_of)[:HINTS])
            mimic.fail(
                f'joint is "{shortened(name)}", which no joint has as its name{hint} (mimic="independent" reads the'
                " file without mimic)"
            )
        leader = link_of[name]
        for joint in (branch.joint, leader.joint):
            if joint is not None and joint.attributes["type"] not in ONE_DEGREE:
                mimic.fail(
                    f'joint "{shortened(joint.attributes["name"])}" is {joint.attributes["type"]} (expected'
                    f' {", ".join(ONE_DEGREE)}; mimic="independent" reads the file without mimic)'
                )
        row |= {
            "coupled_to": leader.name,
            "ratio": mimic.number("multiplier", 1.0),
            "offset": mimic.number("offset", 0.0),
        }
