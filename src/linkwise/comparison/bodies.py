"""Differences between the tables and between the bodies of two aligned robots, each with its correction.

Compare two tables of one convention entry by entry, and read tables in the other convention.

If two tables have the same rows, a typing error is one entry: "d of 'link3': 0.3 in a, 0.316 in b". The search of
`alignment` would report its several effects instead: a displaced joint and another mass centre.

Bodies are compared in the frames of a's table. Common mistakes are recognised: products of inertia with the opposite
sign, a tensor about the joint instead of the mass centre, the body of a fixed link left out. A cause is reported only
if the residual is small relative to the difference itself, not only relative to the numbers that differ.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import RobotError
from ..robot import Robot, from_table
from .alignment import Alignment, JointAlignment, characteristic_length
from .dynamics import DynamicParameters, parameters_of
from .findings import Finding, Increment, compare_values, displacement_text, number, ratio, vector
from .skeleton import (
    EYE,
    Array,
    Skeleton,
    angle_of,
    inverse,
    make_pose,
    mass_properties,
    nearest_rotation,
    parallel_axis_term,
    pose_difference,
    pseudo_inertia,
    skeleton_of,
    transform_body,
)

DH = {"a": "a", "b": "d", "alpha": "alpha", "theta": "theta"}  # keys of rows and their names in messages
ANGLES = ("alpha", "theta")
OTHER = {"standard": "modified", "modified": "standard"}
SAME_ENTRY = 1e-10  # radians, and of the robot's size
MOST = 12  # tables with more differing entries are not compared


@dataclass(frozen=True)
class Step:
    """An entry that differs, with the parameters of robot a after correcting it and those before it."""

    unit: int
    finding: Finding
    numbers: DynamicParameters


@dataclass(frozen=True)
class TableDifference:
    start: DynamicParameters
    steps: tuple[Step, ...]
    corrected: Skeleton  # a with the placements of b


def table_difference(a: Skeleton, b: Skeleton, order: list[int], size: float) -> TableDifference | None:
    """The differing entries of joint placements; None if the tables do not have the same rows."""
    robot_a, robot_b = a.robot, b.robot
    rows_a, rows_b = ([dict(row) for row in robot.rows] for robot in (robot_a, robot_b))
    if robot_a.convention != robot_b.convention or structure(rows_a) != structure(rows_b):
        return None
    changes = [
        (k, *change) for k in range(len(rows_a)) for change in row_differences(robot_a, rows_a[k], rows_b[k], size)
    ]
    if not 0 < len(changes) <= MOST:
        return None
    steps, corrected = [], a
    for k, message, kind, keys in changes:
        link = str(rows_a[k]["name"])
        where = link if kind == "DH parameter" else str(rows_a[k].get("joint_name", link))
        values = [row_placement(row).tolist() if len(keys) > 1 else row.get(keys[0]) for row in (rows_a[k], rows_b[k])]
        rows_a[k] = {key: x for key, x in rows_a[k].items() if key not in keys}
        rows_a[k] |= {key: rows_b[k][key] for key in keys if key in rows_b[k]}
        try:
            corrected = skeleton_of(rebuild(robot_a, rows_a, robot_a.convention))
        except RobotError:
            return None  # entries that depend on each other
        finding = Finding(kind, where, message, *values)
        steps.append(Step(unit_of(a, link), finding, parameters_of(corrected.kept(order))))
    return TableDifference(parameters_of(a.kept(order)), tuple(steps), corrected.kept(order))


def structure(rows: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """For each row the kind of its joint, its parent and its leader, independent of names."""
    index = {row["name"]: k for k, row in enumerate(rows)}
    return [(row["joint"], index.get(row["parent"]), index.get(row.get("coupled_to"))) for row in rows]


def row_placement(row: Mapping[str, Any]) -> Array:
    """The placement of a row of frames."""
    return make_pose(row.get("rotation", np.eye(3)), row.get("translation", np.zeros(3)))


def row_differences(
    robot: Robot, one: Mapping[str, Any], other: Mapping[str, Any], size: float
) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Message, kind and keys of each difference in the placement of a joint."""
    name = one["name"]
    if robot.convention != "frames":
        for key, word in DH.items():
            x, y = float(one.get(key, 0.0)), float(other.get(key, 0.0))
            if abs(x - y) > SAME_ENTRY * (1.0 if key in ANGLES else size):
                unit, times = (" deg", np.degrees(1.0)) if key in ANGLES else (" m", 1.0)
                yield f"{word} of {name!r}: {compare_values(x * times, y * times, unit)}", "DH parameter", (key,)
        return
    place, other_place = row_placement(one), row_placement(other)
    joint = one.get("joint_name", name)
    if pose_difference(place, other_place, size) > SAME_ENTRY:
        on_link = any(row["name"] == one["parent"] for row in robot.rows)
        frame = f"the frame of {one['parent']!r}" if on_link else "the base frame"
        what = f"frame {name!r}" if one["joint"] == "fixed" else f"joint {joint!r}"
        text = f"{what} stands in another place in b: {displacement_text(place, other_place, size)}, in {frame}"
        yield text, "placement", ("translation", "rotation")
    for key, default, scale in (("axis", (0.0, 0.0, 1.0), 1.0), ("anchor", (0.0, 0.0, 0.0), size)):
        lines = [np.array(row.get(key, default), dtype=float) for row in (one, other)]
        if np.abs(lines[0] - lines[1]).max() > SAME_ENTRY * scale:
            yield f"{key} of joint {joint!r}: {compare_values(lines[0], lines[1])}", key, (key,)


def unit_of(a: Skeleton, link: str) -> int:
    """The unit of a row's joint; for a fixed row, the unit that carries it."""
    for unit in a.units:  # of several degrees of freedom, the first
        if unit.link == link or unit.link.startswith(f"{link}."):
            return unit.index
    return next((frame.unit for frame in a.frames if frame.name == link), -1)


def identity_alignment(count: int) -> Alignment:
    """The alignment of tables with the same frames: q_b = q_a."""
    return Alignment(EYE, tuple(JointAlignment(EYE, EYE, 0.0, 1, 0.0) for _ in range(count)), 0.0)


def rebuild(robot: Robot, rows: list[dict[str, Any]], convention: str) -> Robot:
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", UserWarning
        )  # about inertias that are not physically consistent: the robot has them
        return from_table(rows, convention, robot.gravity, robot.name, unphysical="warn")


def reattach(robot: Robot, parents: Mapping[str, str]) -> Iterator[tuple[Robot, str]]:
    """The robot with some links on other parents, and a note: with the same rows, then with the same poses at q = 0.

    Nothing if the result is no tree; the second only for tables of frames.
    """
    left = [{**row, "parent": parents.get(row["name"], row["parent"])} for row in robot.rows]
    rows = sort_parents_first(left)
    if rows is None:
        return
    yield rebuild(robot, rows, robot.convention), ""
    if robot.convention != "frames":
        return
    poses = {"": EYE}
    for row in robot.rows:
        poses[row["name"]] = poses.get(row["parent"], EYE) @ row_placement(row)
    for k, row in enumerate(rows):
        if row["name"] in parents:
            place = inverse(poses.get(row["parent"], EYE)) @ poses[row["name"]]
            rows[k] = {**row, "translation": place[:3, 3].tolist(), "rotation": place[:3, :3].tolist()}
    yield rebuild(robot, rows, robot.convention), ", at the same place at q = 0"


def sort_parents_first(remaining: list[dict[str, Any]]) -> list[dict[str, Any]] | None:
    """The rows with parents first; None if there is a cycle."""
    remaining = list(remaining)
    rows: list[dict[str, Any]] = []
    while remaining:
        names = {row["name"] for row in remaining}
        ready = next((row for row in remaining if row["parent"] not in names), None)
        if ready is None:
            return None
        remaining.remove(ready)
        rows.append(ready)
    return rows


def other_conventions(a: Skeleton, b: Skeleton) -> Iterator[tuple[Skeleton, Skeleton, str]]:
    """The two robots with one DH table read in the other convention, and the message for it."""
    for robot, which in ((b, "b"), (a, "a")):
        convention = robot.robot.convention
        if convention not in OTHER:
            continue
        try:
            reread = skeleton_of(rebuild(robot.robot, [dict(row) for row in robot.robot.rows], OTHER[convention]))
        except RobotError:
            continue
        same_as, other = ("b", b) if which == "a" else ("a", a)
        text = f"the DH table of {which} is read as {convention}; read as {OTHER[convention]} it is the robot {same_as}"
        if other.robot.convention == OTHER[convention]:
            text = f"one DH table, read as {a.robot.convention} in a and as {b.robot.convention} in b"
        yield (reread, b, text) if which == "a" else (a, reread, text)


SAME = 1e-9  # relative
ALIKE = 1e-6  # relative: close enough for a cause to be recognised
SLIGHT = 1e-5  # relative: few digits rather than another body
LEFT = 0.05  # largest residual of a cause, relative to the difference
PRODUCTS = {"Ixy": (0, 1), "Ixz": (0, 2), "Iyz": (1, 2)}


def body_increments(a: Skeleton, b: Skeleton, bodies: tuple[Array, ...], alignment: Alignment) -> Iterator[Increment]:
    """Iterate over all differences. `bodies` are those of b in the frames of a's links."""
    remaining = list(bodies)
    for increment in fixed_bodies(a, b, bodies, alignment):
        yield increment
        for k, change in increment.bodies.items():
            remaining[k] = remaining[k] - change
    for k, body in enumerate(remaining):
        yield from body_differences(a, b, k, body, alignment)


def body_differences(a: Skeleton, b: Skeleton, k: int, body: Array, alignment: Alignment) -> Iterator[Increment]:
    """Compare mass, then mass centre, then tensor; each correction starts from the result of the one before.

    If all three differ, and the tensor by no known cause, it is another body.
    """
    unit = a.units[k]
    frame = unit.frame
    one, other = (transform_body(S, inverse(frame)) for S in (unit.body, body))
    (mass_a, com_a, tensor_a), (mass_b, com_b, tensor_b) = map(mass_properties, (one, other))
    size = float(np.sqrt(max(np.trace(one[:3, :3]), np.trace(other[:3, :3]), 0.0) / max(mass_a, mass_b, 1e-300)))

    def change(before: Array, after: Array, kind: str, message: str, x: object, y: object) -> Increment:
        finding = Finding(kind, unit.link, f"{kind} of {unit.link!r}: {message}", x, y)
        return Increment(finding, k, {k: transform_body(after - before, frame)})

    if np.abs(one - other).max() <= SAME * max(np.abs(one).max(), np.abs(other).max(), 1e-300) and same_mass_properties(
        one, other
    ):
        return
    if mass_a == 0.0 or mass_b == 0.0:
        texts = [f"{number(mass)} kg" if mass else "none" for mass in (mass_a, mass_b)]
        yield change(one, other, "body", f"{texts[0]} in a, {texts[1]} in b", mass_a, mass_b)
        return
    steps: list[tuple[Array, str, str, object, object]] = []
    if abs(mass_a - mass_b) > SAME * max(mass_a, mass_b):
        text = compare_values(mass_a, mass_b, " kg") + ratio(mass_a, mass_b)
        steps.append((pseudo_inertia(mass_b, com_a, tensor_a), "mass", text, mass_a, mass_b))
    if np.abs(com_a - com_b).max() > SAME * size:
        text = f"{compare_values(com_a, com_b)}, m{com_hint(com_a, com_b)}"
        after = pseudo_inertia(mass_b, com_b, tensor_a)
        steps.append((after, "centre of mass", text, tuple(com_a.tolist()), tuple(com_b.tolist())))
    reach = max(np.abs(tensor_a).max(), np.abs(tensor_b).max())
    if np.abs(tensor_a - tensor_b).max() > SAME * reach + 1e-13 * mass_b * size**2:
        to_b = inverse(b.units[k].frame) @ inverse(alignment.joints[k].T) @ frame  # table frame of a -> that of b
        kind, text = describe_tensor_difference(tensor_a, tensor_b, (mass_a, com_a), (mass_b, com_b), to_b)
        steps.append((other, kind, text, tensor_a.tolist(), tensor_b.tolist()))
    if len(steps) == 3 and steps[2][1] == "inertia":
        parts_off = (mass_a - mass_b) / mass_b, (com_a - com_b) / size, (tensor_a - tensor_b) / reach
        off = max(float(np.abs(x).max()) for x in parts_off)
        text = f"another one: {number(mass_a)} kg at {vector(com_a)} in a, {number(mass_b)} kg at {vector(com_b)} in b"
        if off < SLIGHT:
            text = f"mass, mass centre and tensor differ slightly, by {off:.0e} of them at most: few digits?"
        yield change(one, other, "body", text, one.tolist(), other.tolist())
        return
    for after, kind, text, x, y in steps:
        yield change(one, after, kind, text, x, y)
        one = after


def same_mass_properties(one: Array, other: Array) -> bool:
    """Whether mass, first moments and second moments agree, each relative to its own size."""
    groups = ((slice(3, 4), slice(3, 4)), (slice(0, 3), slice(3, 4)), (slice(0, 3), slice(0, 3)))
    scale = [np.abs(one[g]).max() + np.abs(other[g]).max() for g in groups]
    scale[1] = max(scale[1], 1e-3 * float(np.sqrt(scale[0] * scale[2])))
    return all(np.abs(one[g] - other[g]).max() <= SAME * s for g, s in zip(groups, scale, strict=True))


def allowed_residual(a: Array, b: Array) -> float:
    """The largest residual with which a cause explains the difference between a and b."""
    return float(min(ALIKE * max(np.abs(a).max(), np.abs(b).max()), LEFT * np.abs(a - b).max()))


def com_hint(com_a: Array, com_b: Array) -> str:
    largest = int(np.argmax(np.abs(com_a)))
    times = com_b[largest] / com_a[largest] if com_a[largest] else 0.0
    if times and np.abs(com_b - times * com_a).max() < allowed_residual(com_a, com_b):
        return ratio(1.0, times)
    if np.abs(np.abs(com_a) - np.abs(com_b)).max() < allowed_residual(com_a, com_b):
        return " (opposite sign)"
    return ""


def describe_tensor_difference(
    a: Array, b: Array, body_a: tuple[float, Array], body_b: tuple[float, Array], to_b: Array
) -> tuple[str, str]:
    """The kind of the difference and a text. Tensors are in the table frame of a."""
    close = allowed_residual(a, b)
    R = to_b[:3, :3]
    for tensor_a, tensor_b, whose in ((a, b, "a"), (R @ a @ R.T, R @ b @ R.T, "b")):
        flipped = [
            name for name, at in PRODUCTS.items() if abs(tensor_a[at] + tensor_b[at]) < close < abs(tensor_a[at])
        ]
        corrected = tensor_b.copy()
        for name in flipped:
            i, j = PRODUCTS[name]
            corrected[i, j], corrected[j, i] = -corrected[i, j], -corrected[j, i]
        if flipped and np.abs(corrected - tensor_a).max() < close:
            names = " and ".join([", ".join(flipped[:-1]), flipped[-1]] if flipped[1:] else flipped)
            values = ", ".join(f"{name} = {number(tensor_a[PRODUCTS[name]])}" for name in flipped)
            frame = "" if whose == "a" else ", in the frame of b's link"
            return "products of inertia", f"{names} with the opposite sign in b ({values} in a{frame})"
    origin = origin_of_b(to_b)
    for point, where in ((np.zeros(3), "the origin of its frame"), (origin, "the origin of b's frame")):
        for tensor, other, (mass, com), wrong, right in ((b, a, body_b, "b", "a"), (a, b, body_a, "a", "b")):
            if np.abs(tensor - other - parallel_axis_term(mass, com - point)).max() < close:
                text = f"that of {wrong} is that of {right} taken about {where}, not about the mass centre"
                return "inertia about the joint", text
    largest = np.unravel_index(int(np.argmax(np.abs(a))), (3, 3))
    times = b[largest] / a[largest] if a[largest] else 0.0
    if times and np.abs(b - times * a).max() < close:
        near = (
            f"1 {'-' if times < 1.0 else '+'} {number(abs(times - 1.0))}" if abs(times - 1.0) < 1e-4 else number(times)
        )
        return "inertia", f"that of b is {near} times that of a"
    (values_a, axes_a), (values_b, axes_b) = map(np.linalg.eigh, (a, b))
    if np.abs(values_a - values_b).max() < close:
        angle = min(angle_of(nearest_rotation(axes_b @ np.diag(s) @ axes_a.T)) for s in SIGNS)
        return "axes of inertia", f"the same principal moments, axes turned by {number(np.degrees(angle))} deg"
    worst = max(((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)), key=lambda at: abs(a[at] - b[at]))
    name = "I" + "xyz"[worst[0]] + "xyz"[worst[1]]
    return "inertia", f"most in {name}: {compare_values(float(a[worst]), float(b[worst]))}, kg m2"


SIGNS = [np.array([x, y, z]) for x in (1.0, -1.0) for y in (1.0, -1.0) for z in (1.0, -1.0)]


def origin_of_b(to_b: Array) -> Array:
    """The origin of b's table frame in that of a."""
    return np.asarray(inverse(to_b)[:3, 3])


def fixed_bodies(a: Skeleton, b: Skeleton, bodies: tuple[Array, ...], alignment: Alignment) -> Iterator[Increment]:
    """Iterate over bodies of fixed joints that only one robot has, or that another link carries."""
    in_a = {
        f.name: (f.unit, transform_body(f.body, f.placement)) for f in a.frames if f.body is not None and f.unit >= 0
    }
    in_b = {
        f.name: (f.unit, transform_body(f.body, alignment.joints[f.unit].T @ f.placement))
        for f in b.frames
        if f.body is not None and f.unit >= 0
    }
    left = [S - unit.body for S, unit in zip(bodies, a.units, strict=True)]
    unit = np.diag([1.0 / characteristic_length(a, b)] * 3 + [1.0])  # lengths relative to the size: all entries in kg
    changes: dict[str, dict[int, Array]] = {}
    for name in [*in_a, *(name for name in in_b if name not in in_a)]:
        changes[name] = {}
        for part, sign in ((in_a.get(name), -1.0), (in_b.get(name), 1.0)):
            if part is not None:
                changes[name][part[0]] = changes[name].get(part[0], np.zeros((4, 4))) + sign * part[1]
    total = [sum((change[k] for change in changes.values() if k in change), np.zeros((4, 4))) for k in range(len(left))]
    explained_together = [
        explains(*pair, unit) for pair in zip(left, total, strict=True)
    ]  # by all fixed links of that link together
    for name, change in changes.items():
        change = {k: S for k, S in change.items() if largest(S, unit) > SAME * largest(a.units[k].body, unit)}
        if not change or not all(explained_together[k] or explains(left[k], S, unit) for k, S in change.items()):
            continue
        for k, S in change.items():
            left[k] = left[k] - S
        yield Increment(fixed_finding(a, b, name, in_a.get(name), in_b.get(name)), min(change), change)


def largest(body: Array, unit: Array) -> float:
    return float(np.abs(transform_body(body, unit)).max())


def explains(difference: Array, change: Array, unit: Array) -> bool:
    """Whether the change equals the difference of the bodies."""
    scale = max(largest(difference, unit), largest(change, unit))
    return largest(difference - change, unit) < ALIKE * scale


def fixed_finding(
    a: Skeleton, b: Skeleton, name: str, in_a: tuple[int, Array] | None, in_b: tuple[int, Array] | None
) -> Finding:
    masses = [None if part is None else float(part[1][3, 3]) for part in (in_a, in_b)]
    both = ", ".join(
        f"{number(mass)} kg in {side}" if mass else f"no mass in {side}"
        for mass, side in zip(masses, "ab", strict=True)
    )
    carrier = a.units[(in_a or in_b or (0,))[0]].link
    frames = [next((frame for frame in robot.frames if frame.name == name), None) for robot in (a, b)]
    what = f"link {name!r}" if any(frame is not None and frame.locked for frame in frames) else f"fixed link {name!r}"
    if in_a is not None and in_b is not None and in_a[0] != in_b[0]:
        text = f"{what} is carried by {carrier!r} in a, by {a.units[in_b[0]].link!r} in b"
    elif in_a is not None and in_b is not None and bool(masses[0]) == bool(masses[1]):
        text = f"{what} on {carrier!r}: another body or place ({both})"
    elif all(frame is not None and frame.unit >= 0 for frame in frames):
        text = f"{what}: {both}"
    else:
        there, missing, other = ("b", "a", a) if in_a is None else ("a", "b", b)
        mass = number(masses["ab".index(there)] or 0.0)
        text = f"{what} ({mass} kg, on {carrier!r}) is in {there} only: the mass is missing in {missing}"
        if frames["ab".index(missing)] is not None:
            text = f"{what} ({mass} kg) hangs on {carrier!r} in {there} and on the base in {missing}"
        elif any(unit.link == name for unit in other.units):
            text = f"link {name!r} ({mass} kg) is fixed to {carrier!r} in {there} and moves in {missing}"
    return Finding("fixed link", name, text, masses[0], masses[1])
