"""Findings about unmatched joints, couplings, bases, tools, friction, limits, ratings and order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from typing import Any

import numpy as np

from ..robot import Joint, Robot
from ..robot.tables import RATINGS, STRIBECK
from .dynamics import coordinate_unit
from .explaining import Pair
from .findings import FRICTION, Finding, compare_values, in_both, number, placement_text, quote_names
from .skeleton import EYE, Array, Skeleton, inverse, pose_difference

SAME = 1e-9  # radians, and relative to the robot's size or the number
SAME_LIMIT = 1e-6  # radians, and of the robot's size


def missing_findings(a: Skeleton, b: Skeleton, pairs: Mapping[int, int]) -> Iterator[Finding]:
    only_a = [unit for unit in a.units if unit.index not in pairs]
    only_b = [unit for unit in b.units if unit.index not in pairs.values()]
    for units, robot, other in ((only_a, "a", b), (only_b, "b", a)):
        fixed = {frame.name for frame in other.frames}
        for unit in units:
            status = "fixed in the other" if {unit.link, unit.name} & fixed else "not in the other"
            alike = [one for one in other.units if not set(unit.names).isdisjoint(one.names)]
            if any(one.kind == unit.kind for one in alike):
                status = "in another place of the tree in the other"
            elif alike:
                status = f"{alike[0].kind} in the other"
            text = f"{unit.kind} joint {unit.name!r} is in {robot} only ({status}): held at q = 0 here"
            yield Finding("missing joint", unit.name, text)


def parent_findings(a: Robot, b: Robot) -> tuple[tuple[Finding, ...], tuple[Finding, ...]]:
    """Links with another parent body in b, and links with another parent row.

    Rows that only one of the tables has, such as frames, are skipped.
    """
    tables = [{row["name"]: row["parent"] for row in robot.rows} for robot in (a, b)]
    shared = {"", *tables[0]} & {"", *tables[1]}
    bodies, rows = [], []
    for name in (name for name in tables[0] if name in tables[1]):
        in_a = shared_parent(name, a, tables[0], shared)
        in_b = shared_parent(name, b, tables[1], shared, in_a)
        parents = [shared_parent(name, a, tables[0], shared, in_b), in_b]
        if parents[0] == parents[1]:
            continue
        on = [repr(parent) if parent else "the base" for parent in parents]
        text = f"link {name!r} hangs on {on[0]} in a and on {on[1]} in b"
        rows.append(Finding("parent", name, text, parents[0], parents[1]))
        if all(len({body_of_row(robot, parent) for parent in parents}) > 1 for robot in (a, b)):
            bodies.append(rows[-1])
    return tuple(bodies), tuple(rows)


def shared_parent(name: str, robot: Robot, parents: Mapping[str, str], shared: Set[str], other: str = "") -> str:
    """The nearest ancestor row that both tables have; "" is the base.

    `other` is the parent in the other robot. If it is part of the same body as a skipped row, it is the result: a row
    may have the name of a joint in one table and that of its link in the other.
    """
    parent = parents[name]
    while parent not in shared:
        if other and parent in parents and body_of_row(robot, other) == body_of_row(robot, parent):
            return other
        parent = parents.get(parent, "")
    return parent


def body_of_row(robot: Robot, name: str) -> str:
    """The link that carries a row; "" is the base."""
    frame = robot.frame(name) if name else None
    return "" if frame is None or frame.on_base else robot.names[frame.link]


def order_finding(pair: Pair, pairs: Mapping[int, int]) -> Iterator[Finding]:
    names_a = [unit.name for unit in pair.given.units]
    order = [pairs[k] for k in sorted(pairs, key=lambda k: names_a.index(pair.whole_a.units[k].name))]
    if order != sorted(order):
        names = [pair.whole_b.units[j].name for j in sorted(order)]
        text = f"the joints stand in another order in b: {quote_names(names)}"
        yield Finding("order", "", text, [u.name for u in pair.a.units], names)


def base_finding(pair: Pair) -> Iterator[Finding]:
    X = pair.alignment.base
    if pose_difference(X, EYE, pair.size) > SAME:
        text = f"the base frame of b is {placement_text(X, pair.size)}, seen from that of a"
        yield Finding("base", "", text, None, X.tolist())


def tool_findings(pair: Pair) -> Iterator[Finding]:
    """Compare frames of the same name, and the ends of the robots."""
    frames_b = {frame.name: frame for frame in pair.b.frames}
    compared = set()
    for frame in pair.a.frames:
        other = frames_b.get(frame.name)
        if other is not None and other.unit == frame.unit and not (frame.locked or other.locked):
            offset = inverse(frame.placement) @ frame_in_a(pair, other.unit, other.placement)
            compared.add(frame.unit)
            yield from tool_finding(frame.name, frame.name, offset, pair.size)
    for k in range(len(pair.a.units)):
        if not pair.a.children(k) and k not in compared:
            (name_a, end_a), (name_b, end_b) = end_frame(pair.a, k), end_frame(pair.b, k)
            offset = inverse(end_a) @ frame_in_a(pair, k, end_b)
            yield from tool_finding(name_a, name_b, offset, pair.size, owner_of_end(pair, name_a, name_b))


def frame_in_a(pair: Pair, unit: int, placement: Array) -> Array:
    return np.asarray((pair.alignment.joints[unit].T if unit >= 0 else pair.alignment.base) @ placement)


def end_frame(robot: Skeleton, k: int) -> tuple[str, Array]:
    """The last frame of a link: that of a fixed joint, or its own."""
    fixed = [frame for frame in robot.frames if frame.unit == k and not frame.locked]
    return (fixed[-1].name, fixed[-1].placement) if fixed else (robot.units[k].link, robot.units[k].frame)


def owner_of_end(pair: Pair, name_a: str, name_b: str) -> str:
    """The robot that alone has the frame at the end of a link; "" if neither or both."""
    frames_a, frames_b = ({frame.name for frame in robot.frames} for robot in (pair.a, pair.b))
    lone_a, lone_b = name_a in frames_a - frames_b, name_b in frames_b - frames_a
    if lone_a == lone_b or name_a in frames_b or name_b in frames_a:
        return ""
    return "a" if lone_a else "b"


def tool_finding(name_a: str, name_b: str, offset: Array, size: float, owner: str = "") -> Iterator[Finding]:
    if pose_difference(offset, EYE, size) > SAME:
        ends = f"frame {name_a!r}" if name_a == name_b else f"end frame ({name_a!r} in a, {name_b!r} in b)"
        if owner:
            ends = f"frame {name_a if owner == 'a' else name_b!r} is in {owner} only; {ends}"
        yield Finding("tool", name_a, f"{ends}: in b it is {placement_text(offset, size)}", None, offset.tolist())


def drive_findings(pair: Pair) -> Iterator[Finding]:
    for k, (one, other) in enumerate(zip(pair.a.units, pair.b.units, strict=True)):
        for key, what in FRICTION.items():
            yield from entry_finding(one.name, what, friction_entry(one.joint, key), friction_entry(other.joint, key))
        joint, limits_a, limits_b = pair.alignment.joints[k], one.joint.limits, other.joint.limits
        if limits_b is not None:
            lower, upper = sorted(joint.sign * (x - joint.zero) for x in limits_b)
            limits_b = lower, upper
        if limits_a is None or limits_b is None:
            if limits_a is not limits_b:
                text = f"limits of {one.name!r}: {limits_text(limits_a)} in a, {limits_text(limits_b)} in b"
                yield Finding("limits", one.name, text)
            continue
        off = float(np.abs(np.subtract(limits_a, limits_b)).max())
        if off > SAME_LIMIT * coordinate_unit(one, pair.size):
            text = f"limits of {one.name!r}: {in_both([limits_text(limits_a), limits_text(limits_b)], off)}, in q of a"
            yield Finding("limits", one.name, text, limits_a, limits_b)
    yield from rating_findings(pair)


def friction_entry(joint: Joint, key: str) -> float | None:
    """A number of friction; None of Stribeck's law where it is that of Coulomb."""
    if key in STRIBECK and joint.stribeck_friction == joint.coulomb_friction:
        return None
    return float(getattr(joint, key))


def rating_findings(pair: Pair) -> Iterator[Finding]:
    rows = [{row["name"]: row for row in robot.robot.rows} for robot in (pair.whole_a, pair.whole_b)]
    for one, other in zip(pair.a.units, pair.b.units, strict=True):
        row_a, row_b = (table.get(unit.link, {}) for table, unit in zip(rows, (one, other), strict=True))
        for key in RATINGS:
            x, y = row_a.get(key), row_b.get(key)
            if isinstance(x, float) or isinstance(y, float):
                yield from entry_finding(one.name, key.replace("_", " "), x, y)


def entry_finding(where: str, what: str, x: Any, y: Any) -> Iterator[Finding]:
    if abs((x or 0.0) - (y or 0.0)) > SAME * max(abs(x or 0.0), abs(y or 0.0)):
        yield Finding(what, where, f"{what} of {where!r}: {compare_values(x, y, zero='none')}", x, y)


def limits_text(limits: tuple[float, float] | None) -> str:
    return "none" if limits is None else f"[{number(limits[0])}, {number(limits[1])}]"


def coupling_findings(pair: Pair, pairs: Mapping[int, int]) -> Iterator[Finding]:
    """Joints that are coupled in only one robot, or with another ratio."""
    places = {i: k for k, i in enumerate(pairs)}
    places_b = {j: k for k, j in enumerate(pairs.values())}
    for k, (one, other) in enumerate(zip(pair.a.units, pair.b.units, strict=True)):
        in_a = one.coupling and (places.get(one.coupling[0]), *one.coupling[1:])
        in_b = other.coupling and (places_b.get(other.coupling[0]), *other.coupling[1:])
        if in_b and in_b[0] is not None:
            follower, leader = pair.alignment.joints[k], pair.alignment.joints[in_b[0]]
            _, ratio, offset = in_b
            in_b = (
                in_b[0],
                ratio * leader.sign * follower.sign,
                follower.sign * (offset + ratio * leader.zero - follower.zero),
            )
        if in_a is None and in_b is None:
            continue
        if in_a is None or in_b is None or in_a[0] != in_b[0] or not same_coupling(pair, k, in_a, in_b):
            texts = [coupling_text(pair, x) for x in (in_a, in_b)]
            text = f"joint {one.name!r} moves {texts[0]} in a, {texts[1]} in b"
            yield Finding("coupling", one.name, text, in_a, in_b)


def same_coupling(pair: Pair, k: int, in_a: Any, in_b: Any) -> bool:
    unit = coordinate_unit(pair.a.units[k], pair.size)
    leader = 1.0 if in_a[0] is None else coordinate_unit(pair.a.units[in_a[0]], pair.size)
    (ratio, offset), (other, another) = in_a[1:], in_b[1:]
    allowed = SAME * max(abs(ratio), unit / leader), SAME * max(abs(offset), unit)
    return bool(abs(ratio - other) <= allowed[0] and abs(offset - another) <= allowed[1])


def coupling_text(pair: Pair, coupling: Any) -> str:
    if coupling is None:
        return "on its own"
    leader, ratio, offset = coupling
    name = "a joint that is not shared" if leader is None else f"q({pair.a.units[leader].name})"
    return f"as {number(ratio)} {name}" + (f" + {number(offset)}" if offset else "")
