"""What a URDF may hold: what is read, what is skipped because it cannot change the dynamics, and what is refused."""

from __future__ import annotations

import difflib
from collections.abc import Collection

from ...errors import near_miss
from ...notices import warn
from ..xml import Element, shortened

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
LISTED = 8  # lines of each skipped element in the warning
MEANT = {"min": "lower", "max": "upper"}
XACRO = ("${", "$(")


def check(root: Element, ignore: Collection[str] = ()) -> None:
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
    shown = ", ".join(map(str, sorted(lines)[:LISTED]))
    more = f" and {len(lines) - LISTED} more" if len(lines) > LISTED else ""
    return f"{'line' if len(lines) == 1 else 'lines'} {shown}{more}"
