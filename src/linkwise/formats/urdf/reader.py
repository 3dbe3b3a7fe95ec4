"""The robot of a URDF: what is read, what is skipped because it cannot change the dynamics, and what is refused."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from ...errors import FileError, RobotError, RowError, near_miss
from ...notices import warn
from ...robot import Robot, from_table
from ...robot.layout import join_names
from ...robot.tables import new_name
from .. import xml
from ..files import Options
from ..xml import Element, shortened
from .rows import Branch, branches, known_name, line_of, one_degree, row_of
from .transmissions import read_rotors

EARTH = (0.0, 0.0, -9.81)
NAMED = 100  # roots in the warning
READ = {  # the elements that are read in each element
    "robot": ("link", "joint"),
    "link": ("inertial",),
    "inertial": ("origin", "mass", "inertia"),
    "joint": ("parent", "child", "origin", "axis", "limit", "dynamics", "mimic"),
}
SKIPPED = {  # elements of every robot that say how it looks, touches and is driven
    "robot": ("material", "gazebo", "transmission", "ros2_control"),
    "link": ("visual", "collision", "material", "gazebo"),
    "inertial": (),
    "joint": ("safety_controller", "calibration", "gazebo"),
}
ATTRIBUTES = {  # of elements whose numbers enter the dynamics: a word that is not known is refused
    "origin": ("xyz", "rpy"),
    "axis": ("xyz",),
    "mass": ("value",),
    "inertia": ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"),
    "mimic": ("joint", "multiplier", "offset"),
    "parent": ("link",),
    "child": ("link",),
}
OTHER_ATTRIBUTES = {"limit": ("lower", "upper", "effort", "velocity"), "dynamics": ("damping", "friction")}
REFUSED = {"loop_joint": "closes a kinematic loop"}  # elements that change the dynamics and are not understood
LIKELY = 0.7  # how near a word must be to one that is read to be taken for a slip of the pen
SLIP = 0.85  # likewise of attributes: gear_velocity is one of its own, dampening is not
LINES = 8  # lines of each skipped element in the warning
MEANT = {"min": "lower", "max": "upper"}
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
        names = join_names((f'"{shortened(branch.name)}" (line {branch.link.line})' for branch in roots), NAMED)
        warn(f"{root.path}: {len(roots)} links are moved by no joint: {names}; each stands on the base, at its origin")


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
    name = new_name(branch.name, joint_names, "_root")
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
        name = known_name(mimic, "joint", "joint", link_of, f" ({WITHOUT_MIMIC})")
        leader = link_of[name]
        for joint in (branch.joint, leader.joint):
            if joint is not None and joint.attributes["type"] not in one_degree():
                mimic.fail(
                    f'joint "{shortened(joint.attributes["name"])}" is {joint.attributes["type"]} (expected'
                    f" {', '.join(one_degree())}; {WITHOUT_MIMIC})"
                )
        row |= {
            "coupled_to": leader.name,
            "ratio": mimic.number("multiplier", 1.0),
            "offset": mimic.number("offset", 0.0),
        }


def check_content(root: Element, ignore: Collection[str] = ()) -> None:
    """Refuse what may change the dynamics and is not understood; warn of what is skipped, in one warning."""
    skipped: dict[str, list[int]] = {}
    waiting, ignored = [root], set()
    while waiting:
        element = waiting.pop()
        check_attributes(element, skipped)
        if element.tag not in READ:
            refuse_text(element)
            continue
        read, quiet = READ[element.tag], SKIPPED[element.tag]
        waiting.extend(child for child in reversed(element.children) if child.tag in read)
        for child in element.children:
            if child.tag in read:
                continue
            if child.tag in ignore:
                ignored.add(child.tag)
                continue
            if child.tag not in quiet:
                refuse_if_it_matters(child, element, read)
                skipped.setdefault(f"<{shortened(child.tag)}>", []).append(child.line)
            elif child.tag == "gazebo" and child.find("joint") is not None:
                skipped.setdefault("<joint> in <gazebo>", []).append(child.line)
    for name in ignore:
        if name not in ignored:
            root.fail(f"ignore has {name!r}, and no such element is skipped in this file (expected its tag)")
    warn_of_skipped(root, skipped)


def refuse_text(element: Element) -> None:
    """Numbers between tags, where URDF has attributes: <mass>2.5</mass>."""
    if element.tag in ATTRIBUTES and element.text.strip():
        known = " ".join(f'{key}="..."' for key in ATTRIBUTES[element.tag])
        element.fail(f'has the text "{shortened(element.text.strip())}" (expected <{element.tag} {known}/>)')


def check_attributes(element: Element, skipped: dict[str, list[int]]) -> None:
    known = ATTRIBUTES.get(element.tag)
    others = OTHER_ATTRIBUTES.get(element.tag)
    for key, value in element.attributes.items():
        if "$" in value and any(sign in value for sign in XACRO):
            element.fail(f'{key} is "{shortened(value)}", of xacro (expected plain URDF: run xacro on the file first)')
        if known is not None and key not in known:
            element.fail(
                f"{shortened(key)} is not one of its attributes{near_miss(key, known)} (expected {', '.join(known)})"
            )
        if others is not None and key not in others:
            meant = MEANT.get(key) or next(iter(difflib.get_close_matches(key, others, n=1, cutoff=SLIP)), "")
            if meant:
                element.fail(f"{key} is not one of its attributes, did you mean {meant!r}? ({', '.join(others)})")
            skipped.setdefault(f"{shortened(key)} of <{element.tag}>", []).append(element.line)


def refuse_if_it_matters(child: Element, element: Element, read: tuple[str, ...]) -> None:
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
    texts = [f"{what} ({lines_in_words(lines)})" for what, lines in skipped.items()]
    warn(f"{root.path}: skipped, as URDF does not define it: {', '.join(texts)}")


def lines_in_words(lines: list[int]) -> str:
    return f"{'line' if len(lines) == 1 else 'lines'} {join_names(map(str, sorted(lines)), LINES)}"
