"""The rows of a robot with other parameters: bodies, rotors and friction from an array, back into the table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import RobotError, one_of
from ..spatial import RigidInertia, Scalar, Vector, is_zero
from .build import about_centre, impossible_warning
from .entries import RESIDUE, finite, impossible_body, is_symbol
from .link import Link
from .named_arrays import refuse_gradients, refuse_labels
from .regroup import TEN, body_of, ten_numbers
from .rows import REFUSE, WARN

if TYPE_CHECKING:
    from .friction import Friction
    from .model import Robot

OF_DRIVES = {"rotor": "rotor_inertia", "viscous": "viscous_friction", "coulomb": "coulomb_friction"}
BODY = ("mass", "com", "inertia")
KEPT = 'with unphysical="warn" they are used as they are'


class Changed(NamedTuple):
    """The rows with other parameters, and what is to be said of them."""

    rows: list[dict[str, Any]]
    warnings: tuple[str, ...]


def parameter_names(robot: Robot, law: Friction | None) -> list[str]:
    """Ten for the body of each link, then the rotor of each joint, then each coefficient of friction of each joint."""
    kinds = ("rotor",) if law is None else ("rotor", *law.coefficients)
    of_bodies = [f"{link}.{number}" for link in robot.names for number in TEN]
    return of_bodies + [f"{link}.{kind}" for kind in kinds for link in robot.names]


def changed_rows(robot: Robot, values: Any, law: Friction | None, unphysical: str) -> Changed:
    """The table of the robot with these parameters, in the order of `parameter_names`."""
    one_of(unphysical, (REFUSE, WARN), "unphysical")
    if law is not None and law.stribeck is not None:
        raise RobotError("friction has a Stribeck coefficient, which tables of robots have not (expected none)")
    refuse_labels("parameters", values, ", that of lw.parameters")
    refuse_gradients("parameters", values)
    names, links = parameter_names(robot, law), robot.names
    numbers = dict(zip(names, checked_values(robot, values, names), strict=True))
    entries: dict[str, dict[str, Any]] = {}
    problems: dict[str, str] = {}
    for joint in robot.moving:
        link = robot.links[joint.link]
        body = body_of([numbers[f"{link.name}.{number}"] for number in TEN])
        own: dict[str, Any] = {}
        for kind, key in OF_DRIVES.items():
            if f"{link.name}.{kind}" in numbers:
                own[key] = numbers[f"{link.name}.{kind}"]
        before = vars(link.joint)
        found = [f"{key} is {x}" for key, x in own.items() if is_negative(x) and not same([x], [before[key]])]
        if not same(ten_numbers(body), ten_numbers(link.rigid)):
            own |= body_entries(robot, link, body)
            found += impossible(body, own)
        if found:
            problems[link.name] = ", ".join(found)
            own["unphysical"] = True
        entries[link.name] = own
    if unphysical == REFUSE:
        for label, problem in problems.items():
            more = ", ".join(repr(link) for link in links if link in problems and link != label)
            others = f"; {more}: impossible as well" if more else ""
            raise RobotError(f"robot {robot.name!r}, link {label!r}: {problem}; {KEPT}{others}")
    warnings = tuple(f"robot {robot.name!r}{text}" for text in impossible_warning(problems))
    return Changed(list(rows_with(robot, entries)), warnings)


def checked_values(robot: Robot, values: Any, names: Sequence[str]) -> list[Scalar]:
    """As many numbers as there are names."""
    named = tuple(getattr(values, "names", ()))
    array = np.asarray(values)
    wanted = f"the {len(names)} of linkwise.parameters: {names[0]}, {names[1]}, ... {names[-1]}"
    if array.shape != (len(names),) or array.dtype.kind not in "fiuO":
        raise RobotError(f"robot {robot.name!r}: parameters have shape {array.shape} (expected {wanted})")
    if named and named != tuple(names):
        k = next(k for k, pair in enumerate(zip(named, names, strict=True)) if pair[0] != pair[1])
        raise RobotError(f"robot {robot.name!r}: parameter {k} is {named[k]!r} (expected {names[k]!r}: {wanted})")
    numbers = [float(x) if isinstance(x, (int, float)) else x for x in array.tolist()]  # others: symbols, many digits
    for name, x in zip(names, numbers, strict=True):
        if not finite(x):
            raise RobotError(f"robot {robot.name!r}: parameter {name} is {x} (expected a finite number)")
    return numbers


def same(a: Sequence[Scalar], b: Sequence[Scalar]) -> bool:
    """Of symbols, whether they are the same objects."""
    return all(x is y or not (is_symbol(x) or is_symbol(y) or x != y) for x, y in zip(a, b, strict=True))


def is_negative(x: Scalar) -> bool:
    return not is_symbol(x) and x < 0.0


def body_entries(robot: Robot, link: Link, body: RigidInertia) -> dict[str, Any]:
    """What the row of the link has of its body, in the table's frame."""
    if is_zero(body.mass) and not all(map(is_zero, body.moment)):
        moment = list(body.moment)
        raise RobotError(
            f"robot {robot.name!r}, link {link.name!r}: its mass is 0 and its first moment {moment} (expected 0, too)"
        )
    mass, centre, inertia = about_centre(body)
    back = link.frame.inverse()
    seat = Vector.zero() if is_zero(mass) else back.point(centre)
    tensor = back.axes.turned(inertia)
    return {"mass": mass, "com": tuple(seat), "inertia": tuple(map(tuple, tensor.rows))}


def impossible(body: RigidInertia, entries: Mapping[str, Any]) -> Iterator[str]:
    """Why the body cannot exist."""
    if is_negative(body.mass):
        yield f"its mass is {body.mass}"
    residue = max((abs(float(x)) for x in body.tensor.upper if not is_symbol(x)), default=0.0) * RESIDUE
    problem = impossible_body(entries["inertia"], residue)
    if problem:
        yield f"its inertia about the mass centre {problem}"


def rows_with(robot: Robot, entries: Mapping[str, Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """The rows with these entries; what was fixed to a link with another body is in that body."""
    hosts = {frame.name: robot.names[frame.link] for frame in robot.frames if not frame.on_base}
    for row in robot.rows:
        own = entries.get(row["name"], {})
        if "mass" in own or "mass" in entries.get(hosts.get(row["name"], ""), {}):
            row = {key: x for key, x in row.items() if key not in (*BODY, "unphysical")}
        yield {**row, **own}
