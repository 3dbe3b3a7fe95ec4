"""Tables of changed robots: payloads, another base, locked joints, other bodies, rotors and friction."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import RobotError, is_real, one_of
from ..spatial import RigidInertia, Rotation, Scalar, Vector, is_zero, mul
from .build import BASE, body_about_centre, warnings_of
from .entries import RESIDUE, friction_problems, inconsistency_of_inertia, is_finite, is_symbol
from .joint import FRICTION_NUMBERS
from .kinds import KINDS, one_degree_kinds
from .link import Link
from .named_arrays import refuse_gradients, refuse_labels
from .regroup import TEN, body_of, ten_numbers
from .tables import BODY, CONVENTIONS, DH, REFUSE, STRIBECK, WARN, as_fixed

if TYPE_CHECKING:
    from .friction import Friction
    from .model import Robot

Rows = list[dict[str, Any]]
DRIVE_KEYS = {"rotor": "rotor_inertia", **FRICTION_NUMBERS}
UNPHYSICAL_HINT = 'with unphysical="warn" they are used as they are'


def add_free_base(rows: Rows, name: str, body: Mapping[str, Any], convention: str) -> Rows:
    """Rows with a base on a free joint in front; rows on the ground are moved to this base."""
    base = {"name": name, "parent": None, "joint": "free", **CONVENTIONS[convention].at_parent, **body}
    ground = ("", None) if any(row["name"] == BASE for row in rows) else (BASE, "", None)
    return [base, *({**row, "parent": name if row["parent"] in ground else row["parent"]} for row in rows)]


def fix_base(rows: Rows, floating: Iterable[str]) -> Rows:
    """Rows with these joints fixed; rows without mass and displacement are removed."""
    result: Rows = []
    removed: dict[str, str] = {}  # their parents
    for row in rows:
        row = {**row, "parent": removed.get(row["parent"], row["parent"])}
        if row["name"] in floating:
            row = as_fixed(row)
            if is_empty_row(row):
                removed[row["name"]] = row["parent"]
                continue
        result.append(row)
    return result


def is_empty_row(row: Mapping[str, Any]) -> bool:
    """Whether a row has no mass, and its frame is that of its parent."""
    numbers = [row["mass"], *row["com"], *(x for line in row["inertia"] for x in line)]
    if "translation" in row:
        return row["rotation"] == Rotation.identity().rows and all(map(is_zero, [*numbers, *row["translation"]]))
    return all(map(is_zero, [*numbers, *(row[key] for key in DH)]))


def payload_parent(robot: Robot, link: str | int | None) -> str:
    """The name of the link or frame that carries a payload: the given one, or the only tip."""
    if link is None:
        if len(robot.leaves) > 1:
            tips = ", ".join(repr(robot.links[i].name) for i in robot.leaves)
            expected = f"(expected link=... to choose one{carrier_hint(robot)})"
            raise RobotError(f"robot {robot.name!r} has several tips: {tips} {expected}")
        link = robot.links[robot.leaves[0]].name
    if isinstance(link, str):
        if robot.frame(link).on_base:
            raise RobotError(f"the frame {link!r} of robot {robot.name!r} is fixed to the base, which does not move")
        return robot.frame(link).name
    if isinstance(link, bool) or not hasattr(link, "__index__") or not -len(robot.names) <= link < len(robot.names):
        raise RobotError(f"link is {link!r} (expected a name, or a whole number below {len(robot.names)})")
    return robot.names[link]


def carrier_hint(robot: Robot) -> str:
    """A hint that names the one link that carries all tips, as a hand its fingers; empty if there is none."""
    carriers = {robot.links[tip].parent for tip in robot.leaves}
    if len(carriers) > 1 or carriers == {-1}:
        return ""
    (link,) = carriers
    fixed = (frame.name for frame in robot.frames if robot.seat(frame)[0] == link)
    return f", or what carries them: {', '.join(map(repr, (robot.links[link].name, *fixed)))}"


def values_by_link(robot: Robot, values: Mapping[str, float]) -> dict[str, float]:
    """The values at which joints are locked, by the names of their links."""
    by_link: dict[str, float] = {}
    for name, value in values.items():
        joint = robot._joint(name)
        if joint.coupling is not None:
            leader = robot.links[joint.coupling.to].name
            raise RobotError(f"robot {robot.name!r}: joint {name!r} follows {leader!r} (expected {leader!r} locked)")
        if joint.kind.degrees > 1:
            raise RobotError(
                f"robot {robot.name!r}: joint {name!r} is {joint.kind.name} (expected {', '.join(one_degree_kinds())};"
                " a free joint of a base is fixed by robot.with_fixed_base())"
            )
        if not is_real(value) or not math.isfinite(value):
            raise RobotError(
                f"robot {robot.name!r}: joint {name!r} is locked at {value!r} (expected a number, rad or m)"
            )
        by_link[joint.name] = float(value)
    return by_link


def lock_joints(rows: Rows, values: Mapping[str, Scalar], convention: str) -> Rows:
    """Rows with the joints of these links fixed at these values; joints coupled to them are fixed accordingly."""
    all_values = dict(values)
    for _ in rows:  # a joint may follow a follower
        for row in rows:
            if row.get("coupled_to") in all_values:
                leader = all_values[row["coupled_to"]]
                all_values[row["name"]] = row.get("ratio", 1.0) * leader + row.get("offset", 0.0)
    return [fix_joint(row, all_values[row["name"]], convention) if row["name"] in all_values else row for row in rows]


def fix_joint(row: dict[str, Any], value: Scalar, convention: str) -> dict[str, Any]:
    """A row with its joint fixed at this value."""
    (joint,) = KINDS[row["joint"]].joints(row)
    turn, slide = mul(joint.axis.angular.z, value), mul(joint.axis.linear.z, value)
    fixed = as_fixed(row)
    if convention != "frames":
        return fixed | {"theta": row["theta"] + turn, "b": row["b"] + slide}
    axis, anchor = np.array(row.get("axis", (0.0, 0.0, 1.0))), np.array(row.get("anchor", (0.0, 0.0, 0.0)))
    place, turned = np.array(row["rotation"]), rotation_about(axis, turn)
    shift = place @ (axis * slide + anchor - turned @ anchor)
    return fixed | {
        "translation": tuple(np.array(row["translation"]) + shift),
        "rotation": tuple(map(tuple, place @ turned)),
    }


def rotation_about(axis: np.ndarray, angle: Scalar) -> np.ndarray:
    """1 + sin θ [e]× + (1 - cos θ) [e]×² (Rodrigues)."""
    x, y, z = axis
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.asarray(np.eye(3) + np.sin(angle) * cross + (1.0 - np.cos(angle)) * (cross @ cross))


class Changed(NamedTuple):
    """Rows with other parameters, and warnings about them."""

    rows: Rows
    warnings: list[str]


def parameter_names(robot: Robot, law: Friction | None) -> list[str]:
    """The names of parameters: ten for each body, then the rotors, then each friction coefficient of all joints."""
    kinds = ("rotor",) if law is None else ("rotor", *law.coefficients(robot))
    of_bodies = [f"{link}.{number}" for link in robot.names for number in TEN]
    return of_bodies + [f"{link}.{kind}" for kind in kinds for link in robot.names]


def changed_rows(robot: Robot, values: Any, law: Friction | None, unphysical: str) -> Changed:
    """The table of the robot with these parameters, in the order of `parameter_names`."""
    one_of(unphysical, (REFUSE, WARN), "unphysical")
    refuse_labels("parameters", values, ", that of lw.parameters")
    refuse_gradients("parameters", values)
    names, links = parameter_names(robot, law), robot.names
    numbers = dict(zip(names, check_values(robot, values, names), strict=True))
    entries: dict[str, dict[str, Any]] = {}
    problems: dict[str, str] = {}
    for joint in robot.moving:
        link = robot.links[joint.link]
        body = body_of([numbers[f"{link.name}.{number}"] for number in TEN])
        drive = {f"{link.name}.{kind}": key for kind, key in DRIVE_KEYS.items()}
        changes: dict[str, Any] = {key: numbers[name] for name, key in drive.items() if name in numbers}
        before = vars(link.joint)
        new = {key: x for key, x in changes.items() if not equal_numbers([x], [before[key]])}
        errors = [f"{key} is {x}" for key, x in new.items() if is_negative(x) and key != "coulomb_offset"]
        if not errors and new.keys() - {"rotor_inertia"}:
            errors += [f"{key} {problem}" for key, problem in friction_problems(changes)]
        if law is not None:
            changes |= other_friction(robot, law, joint.link, changes)
        if not equal_numbers(ten_numbers(body), ten_numbers(link.rigid)):
            changes |= body_entries(robot, link, body)
            errors += inconsistencies(body, changes)
        if errors:
            problems[link.name] = ", ".join(errors)
            changes["unphysical"] = True
        entries[link.name] = changes
    if unphysical == REFUSE:
        for label, problem in problems.items():
            more = ", ".join(repr(link) for link in links if link in problems and link != label)
            others = f"; {more}: impossible as well" if more else ""
            raise RobotError(f"robot {robot.name!r}, link {label!r}: {problem}; {UNPHYSICAL_HINT}{others}")
    return Changed(list(replace_entries(robot, entries)), warnings_of(robot.name, [], problems))


def other_friction(robot: Robot, law: Friction, link: int, changes: Mapping[str, Any]) -> dict[str, Any]:
    """The numbers of a link's joint that the law gives or leaves out, and that are no parameters; None: no entry."""
    entries: dict[str, Any] = {}
    for name, key in FRICTION_NUMBERS.items():
        if key not in changes and law.argument(name):
            entries[key] = law.of_links(robot, name)[link]
    if "stribeck_friction" in entries:  # as Coulomb friction
        entries |= dict.fromkeys(STRIBECK)
    elif "stribeck_friction" not in changes:
        entries.pop("stribeck_rate", None)
    return entries


def check_values(robot: Robot, values: Any, names: Sequence[str]) -> list[Scalar]:
    """As many numbers as there are names."""
    labels = tuple(getattr(values, "names", ()))
    array = np.asarray(values)
    expected = f"the {len(names)} of linkwise.parameters: {names[0]}, {names[1]}, ... {names[-1]}"
    if array.shape != (len(names),) or array.dtype.kind not in "fiuO":
        raise RobotError(f"robot {robot.name!r}: parameters have shape {array.shape} (expected {expected})")
    if labels and labels != tuple(names):
        k = next(k for k, pair in enumerate(zip(labels, names, strict=True)) if pair[0] != pair[1])
        raise RobotError(f"robot {robot.name!r}: parameter {k} is {labels[k]!r} (expected {names[k]!r}: {expected})")
    numbers = [float(x) if isinstance(x, (int, float)) else x for x in array.tolist()]  # others: symbols, mpmath
    for name, x in zip(names, numbers, strict=True):
        if not is_finite(x):
            raise RobotError(f"robot {robot.name!r}: parameter {name} is {x} (expected a finite number)")
    return numbers


def equal_numbers(a: Sequence[Scalar], b: Sequence[Scalar]) -> bool:
    """Whether numbers are equal; symbols, whether they are the same objects."""
    return all(x is y or not (is_symbol(x) or is_symbol(y) or x != y) for x, y in zip(a, b, strict=True))


def is_negative(x: Scalar) -> bool:
    return not is_symbol(x) and x < 0.0


def body_entries(robot: Robot, link: Link, body: RigidInertia) -> dict[str, Any]:
    """The entries of a body in the row of its link, in the table frame."""
    if is_zero(body.mass) and not all(map(is_zero, body.moment)):
        moment = list(body.moment)
        raise RobotError(
            f"robot {robot.name!r}, link {link.name!r}: its mass is 0 and its first moment {moment} (expected 0, too)"
        )
    mass, centre, inertia = body_about_centre(body)
    back = link.frame.inverse()
    seat = Vector.zero() if is_zero(mass) else back.point(centre)
    tensor = back.axes.turned(inertia)
    return {"mass": mass, "com": tuple(seat), "inertia": tuple(map(tuple, tensor.rows))}


def inconsistencies(body: RigidInertia, entries: Mapping[str, Any]) -> Iterator[str]:
    """Why a body is not physically consistent."""
    if is_negative(body.mass):
        yield f"its mass is {body.mass}"
    residue = max((abs(float(x)) for x in body.tensor.upper if not is_symbol(x)), default=0.0) * RESIDUE
    problem = inconsistency_of_inertia(entries["inertia"], residue)
    if problem:
        yield f"its inertia about the mass centre {problem}"


def replace_entries(robot: Robot, entries: Mapping[str, Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """The rows with these entries; bodies fixed to a link with a new body are removed, since it includes them."""
    hosts = {frame.name: robot.names[frame.link] for frame in robot.frames if not frame.on_base}
    for row in robot.rows:
        changes = entries.get(row["name"], {})
        if "mass" in changes or "mass" in entries.get(hosts.get(row["name"], ""), {}):
            row = {key: x for key, x in row.items() if key not in (*BODY, "unphysical")}
        yield {**row, **changes}
