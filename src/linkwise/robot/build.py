"""From the rows of a table to a robot: names and parents resolved, fixed joints merged, every number checked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from ..errors import RobotError, RowError, near_miss, one_of
from ..spatial import Placement, RigidInertia, Scalar, Symmetric, Vector, add, is_zero, mul
from .coordinates import Coupling
from .entries import IMPOSSIBLE, EntryError, finite, number, sequence, square
from .kinds import KINDS, STAYS, JointKind, joint_numbers, of_one_degree
from .link import Frame, Link, empty_link
from .mapping import number_fields, numbers_of
from .tables import NO_TENSOR, RATINGS, REFUSE, WARN, CheckedRow, Convention, checked_row, size_of

BASE = "base"
NO_LINK = ""  # stands for the base: no link can have this name
MOVED = 1e-12  # a rotation or an axis that is corrected by more than this causes a warning


class Seat(NamedTuple):
    """Where the frame of a row is: as algorithms need it, and as users see it."""

    link: int  # which of all links; -1: the base
    placement: Placement  # in its joint-aligned frame
    frame: Frame


class Parts(NamedTuple):
    """The data of a robot."""

    links: tuple[Link, ...]
    frames: tuple[Frame, ...]
    gravity: tuple[Scalar, Scalar, Scalar]
    table: tuple[tuple[tuple[str, Any], ...], ...]
    couplings: tuple[Coupling, ...]
    warnings: tuple[str, ...]  # what was corrected, taken as it is, or is probably a mistake


def assemble(
    rows: Iterable[Mapping[str, Any]],
    convention: Convention,
    gravity: Iterable[Scalar],
    name: str,
    unphysical: str = REFUSE,
) -> Parts:
    """The parts of a robot from its table."""
    one_of(unphysical, (REFUSE, WARN), "unphysical")
    table = row_mappings(rows, name)
    names = row_names(table, name)
    size = size_of(table)
    row_of = {label: index for index, label in enumerate(names)}
    base_word = NO_LINK if BASE in row_of else BASE  # how the table names the base
    identity = Placement.identity()
    seats = {NO_LINK: Seat(-1, identity, Frame(NO_LINK, -1, identity))}  # each row's own frame, by its name
    links: list[Link] = []
    bodies: dict[int, RigidInertia] = {}  # of links with what is fixed to them
    heavier: set[int] = set()  # the links that this changes
    labels: list[str] = []  # of the links that are not fixed
    frames: list[Frame] = []
    clean: list[dict[str, Any]] = []
    moved: list[str] = []
    impossible: dict[str, str] = {}
    suspects: list[str] = []
    for index, (row, label) in enumerate(zip(table, names, strict=True)):
        try:
            parent = parent_of(index, names, row_of, table)
            entries = checked_row(row, convention, size)
        except EntryError as problem:
            raise RowError(f"robot {name!r}, link {label!r}: {problem}", index, problem.key) from None
        geometry, mass, com, inertia = entries.geometry, entries.mass, entries.com, entries.inertia
        moved += [f"{label!r}: {key} is off by {far:.1e}" for key, far in geometry.moved.items() if far > MOVED]
        if entries.in_degrees:
            suspects.append(label)
        if entries.problem:
            impossible[label] = f"inertia {entries.problem}"
        seat = seats[parent]
        before = seat.placement.then(geometry.before)
        if entries.joint == "fixed":
            in_table = seat.frame.placement.then(geometry.before).then(geometry.after)
            seat = Seat(seat.link, before.then(geometry.after), Frame(label, seat.frame.carrier, in_table))
            frames.append(seat.frame)
            if seat.link >= 0:
                body = RigidInertia.of_body(mass, com, inertia).to_parent(seat.placement)
                bodies[seat.link] = bodies.get(seat.link, links[seat.link].rigid) + body
                if not all(map(is_zero, (mass, *inertia.upper))):
                    heavier.add(seat.link)
        else:
            kind = KINDS[entries.joint]
            after = geometry.after if kind.after is STAYS else kind.after.then(geometry.after)
            parent_link, placement = add_virtual_links(links, kind, label, seat.link, before, entries.of_joint)
            links.append(
                Link(
                    label,
                    len(links),
                    parent_link,
                    kind.links[-1](**drive_of(entries.of_joint, kind, kind.degrees - 1)),
                    placement,
                    mass,
                    after.point(com),
                    after.axes.turned(inertia),
                    frame=after,
                    joint_kind=entries.joint if kind.degrees > 1 else "",
                    joint_name=entries.joint_name,
                )
            )
            seat = Seat(len(links) - 1, after, Frame(label, len(labels), identity))
            labels.append(label)
        seats[label] = seat
        clean.append(normalized_row(label, parent or base_word, row, entries))
    if not links:
        expected = "at least one joint that is not fixed"
        raise RowError(f"robot {name!r} has no joint that moves (expected {expected})", 0, "joint")
    refuse_names_of_coordinates(clean, name)
    for k in heavier:
        mass, com, inertia = about_centre(bodies[k])
        links[k] = replace(links[k], mass=mass, com=com, inertia=inertia)
    refuse_overflow(links, row_of, name)
    if unphysical == REFUSE:
        refuse_impossible(impossible, row_of, name)
    rows_kept = tuple(tuple(row.items()) for row in clean)
    couplings = tuple(couplings_of(clean, row_of, seats, name))
    if len(couplings) == len(links):
        raise RowError(f"robot {name!r} has no joint that moves on its own (expected one)", 0, "coupled_to")
    warnings = tuple(warnings_of(name, moved, impossible, suspects))
    return Parts(tuple(links), tuple(frames), checked_gravity(gravity, name), rows_kept, couplings, warnings)


def refuse_names_of_coordinates(rows: list[dict[str, Any]], robot: str) -> None:
    """No two moving joints have one name, and none is called as a coordinate of another is: "base.x"; nor are links."""
    for key in ("name", "joint_name"):
        index_of: dict[str, int] = {}
        for index, row in enumerate(rows):
            if key == "joint_name" and row["joint"] == "fixed":
                continue  # it has no coordinate that a name would stand for
            label = row.get(key, row["name"])
            if label in index_of:
                text = f"{key} is {label!r}, the name of the joint of link {rows[index_of[label]]['name']!r} already"
                raise RowError(f"robot {robot!r}, link {row['name']!r}: {text} (expected another)", index, key)
            index_of[label] = index
        for label, index in index_of.items():
            kind = KINDS.get(rows[index]["joint"])
            if kind is None or kind.degrees == 1:
                continue
            for part in {*kind.q_labels, *kind.v_labels}:
                other = index_of.get(f"{label}.{part}")
                if other is not None:
                    text = f"the name '{label}.{part}' is that of a coordinate of joint {label!r} (expected another)"
                    raise RowError(f"robot {robot!r}, row {other + 1}: {text}", other, key)


def add_virtual_links(
    links: list[Link], kind: JointKind, label: str, parent: int, before: Placement, drive: Mapping[str, Any]
) -> tuple[int, Placement]:
    """The links of a joint before its last: without bodies. Returns the parent of the last, and its placement there."""
    placement = before if kind.before[0] is STAYS else before.then(kind.before[0])
    for k, joint in enumerate(kind.links[:-1]):
        empty = empty_link(joint(**drive_of(drive, kind, k)))
        name = f"{label}.{kind.v_labels[k]}"
        links.append(
            replace(empty, name=name, index=len(links), parent=parent, placement=placement, grouped=None, virtual=True)
        )
        parent, placement = len(links) - 1, kind.before[k + 1]
    return parent, placement


def drive_of(drive: Mapping[str, Any], kind: JointKind, k: int) -> dict[str, Any]:
    """What the table says of a joint's drive, for its k-th degree of freedom."""
    taken = (*number_fields(kind.links[k]), "limits")
    own = {key: value for key, value in drive.items() if key in taken}
    if kind.degrees > 1 and own["limits"] is not None:
        own["limits"] = own["limits"][k]
    return own


def couplings_of(
    rows: list[dict[str, Any]], row_of: Mapping[str, int], seats: Mapping[str, Seat], robot: str
) -> Iterator[Coupling]:
    """The joints that move as others do; those that follow a coupled joint follow the one at the end of the path."""
    known: dict[str, tuple[str, Scalar, Scalar]] = {}  # of a joint: the one at the end of its path, ratio and offset
    for row in rows:
        if "coupled_to" in row:
            end, ratio, offset = end_of_path(row["name"], rows, row_of, known, robot)
            yield Coupling(seats[row["name"]].link, seats[end].link, ratio, offset)


def end_of_path(
    start: str,
    rows: list[dict[str, Any]],
    row_of: Mapping[str, int],
    known: dict[str, tuple[str, Scalar, Scalar]],
    robot: str,
) -> tuple[str, Scalar, Scalar]:
    """The joint that a coupled one follows in the end, with ratio and offset; those on the way become known too."""
    path: dict[str, dict[str, Any]] = {}  # rows by their names, from the follower on
    name = start
    while name not in known and "coupled_to" in (row := rows[row_of[name]]):
        path[name] = row
        try:
            leader = rows[leader_of(row["coupled_to"], row_of, rows)]["name"]
        except EntryError as problem:
            raise RowError(f"robot {robot!r}, link {name!r}: {problem}", row_of[name], problem.key) from None
        if leader in path:
            passed = list(path)
            cycle = " -> ".join([*passed[passed.index(leader) :], leader])
            raise RowError(
                f"robot {robot!r}, link {start!r}: coupled_to closes a loop: {cycle} (expected a joint that"
                " moves on its own at the end)",
                row_of[start],
                "coupled_to",
            )
        name = leader
    end, ratio, offset = known.get(name, (name, 1.0, 0.0))
    for follower, row in reversed(path.items()):
        ratio, offset = mul(row["ratio"], ratio), add(row.get("offset", 0.0), mul(row["ratio"], offset))
        if not (finite(ratio) and finite(offset)):
            text = f"ratio and offset to {end!r} are {ratio} and {offset} (expected finite numbers)"
            raise RowError(f"robot {robot!r}, link {follower!r}: {text}", row_of[follower], "ratio")
        known[follower] = end, ratio, offset
    return known[start]


def leader_of(name: Any, row_of: Mapping[str, int], rows: list[dict[str, Any]]) -> int:
    """The row of the joint that another is coupled to."""
    if name not in row_of:
        raise EntryError("coupled_to", f"is {name!r}, which no link has as its name{near_miss(name, row_of)}")
    joint = rows[row_of[name]]["joint"]
    if joint not in of_one_degree():
        raise EntryError("coupled_to", f"is {name!r}, a {joint} joint (expected {', '.join(of_one_degree())})")
    return row_of[name]


def refuse_overflow(links: Sequence[Link], row_of: Mapping[str, int], robot: str) -> None:
    """Entries that are finite each may together be too large: bodies on fixed joints, distances along them."""
    for link in links:
        if not all(map(finite, numbers_of(link))):
            text = "its numbers, with those of all that is fixed to it, exceed 1.8e308 (expected smaller ones)"
            raise RowError(f"robot {robot!r}, link {link.name!r}: {text}", row_of.get(link.name, 0), "mass")


def refuse_impossible(problems: Mapping[str, str], row_of: Mapping[str, int], robot: str) -> None:
    """One error for all bodies that cannot exist, at the first of them."""
    for label, problem in problems.items():
        others = [repr(other) for other in problems if other != label]
        more = f"; the inertia of {', '.join(others)} is impossible as well" if others else ""
        raise RowError(f"robot {robot!r}, link {label!r}: {problem}; {IMPOSSIBLE}{more}", row_of[label], "inertia")


def warnings_of(robot: str, moved: list[str], problems: Mapping[str, str], suspects: Sequence[str] = ()) -> list[str]:
    """One warning for all rotations and axes that were corrected, one for bodies that cannot exist, one for limits."""
    texts = []
    if moved:
        more = f" (and {len(moved) - 1} more)" if len(moved) > 1 else ""
        texts.append(f", link {moved[0]}{more}; the nearest rotation or unit vector is used: give more digits")
    if problems:
        listed = "; ".join(f"{label!r}: {problem}" for label, problem in problems.items())
        texts.append(f" has bodies that cannot exist, used as they are: {listed}")
    if suspects:
        texts.append(
            f" has limits of over two turns, in radians: {', '.join(map(repr, suspects))}; were degrees meant?"
        )
    return [f"robot {robot!r}{text}" for text in texts]


def row_mappings(rows: Iterable[Mapping[str, Any]], robot: str) -> list[dict[str, Any]]:
    expected = "a list of rows, each a mapping from keys such as 'joint' and 'mass' to their values"
    if isinstance(rows, (str, Mapping)) or not isinstance(rows, Iterable):
        raise RobotError(f"robot {robot!r}: the table is a {type(rows).__name__} (expected {expected})")
    table = list(rows)
    for index, row in enumerate(table):
        if not isinstance(row, Mapping):
            raise RowError(f"robot {robot!r}, row {index + 1}: is {row!r} (expected {expected})", index)
    return [dict(row) for row in table]


def row_names(table: list[dict[str, Any]], robot: str) -> list[str]:
    row_of: dict[str, int] = {}
    for index, row in enumerate(table):
        label = row.get("name", f"link{index + 1}")
        if not isinstance(label, str) or not label.strip() or not label.isprintable():
            raise RowError(
                f"robot {robot!r}, row {index + 1}: name is {label!r} (expected one printable line)", index, "name"
            )
        if label in row_of:
            raise RowError(
                f"robot {robot!r}, row {index + 1}: the name {label!r} belongs to row {row_of[label] + 1} already",
                index,
                "name",
            )
        row_of[label] = index
    return list(row_of)


def parent_of(index: int, names: list[str], row_of: Mapping[str, int], table: list[dict[str, Any]]) -> str:
    """The name of the parent, by default the row before; "" is the base.

    In the table the base is "base". If a link has that name, rows after it mean the link, and the base is None or "".
    """
    parent = stated_parent(index, names, table)
    if not isinstance(parent, str):
        raise EntryError("parent", f"is {parent!r}, which no link has as its name (expected text)")
    if parent == BASE and row_of.get(BASE, index) == index:
        return NO_LINK  # no link has this name, or only this one, which is not its own parent
    if parent == NO_LINK or (parent in row_of and row_of[parent] < index):
        return parent
    if parent not in row_of:
        raise EntryError("parent", f"is {parent!r}, which no link has as its name{near_miss(parent, names)}")
    if parent == BASE:
        raise EntryError(
            "parent",
            f"is {BASE!r}, the base, and the name of row {row_of[BASE] + 1}, which comes later (expected None or"
            " an empty text for the base, where a link has its name)",
        )
    path = [names[index]]
    while isinstance(parent, str) and parent not in path and parent in row_of:
        path.append(parent)
        parent = stated_parent(row_of[parent], names, table)
    if parent in path:
        cycle = " -> ".join([*path[path.index(parent) :], parent])
        raise EntryError("parent", f"closes a loop: {cycle} (expected a tree that grows from the base)")
    later = table[index]["parent"]
    raise EntryError("parent", f"is {later!r}, which comes later (expected each parent before its children)")


def stated_parent(index: int, names: list[str], table: list[dict[str, Any]]) -> Any:
    """The entry `parent` of a row, with None as ""; by default the row before."""
    parent = table[index].get("parent", names[index - 1] if index else NO_LINK)
    return NO_LINK if parent is None else parent


def normalized_row(label: str, parent: str, row: Mapping[str, Any], entries: CheckedRow) -> dict[str, Any]:
    """The row as a file would have it, in one fixed order of keys."""
    clean: dict[str, Any] = {"name": label, "parent": parent, "joint": entries.joint}
    if entries.joint_name:
        clean["joint_name"] = entries.joint_name
    clean |= entries.geometry.entries
    if entries.joint != "fixed" or not row.keys().isdisjoint(("mass", "com", "inertia")):
        clean["mass"] = number(row.get("mass", 0.0), "mass")
        clean["com"] = tuple(entries.com)
        clean["inertia"] = square(row, "inertia", NO_TENSOR)
    if entries.unphysical:
        clean["unphysical"] = True
    kept = (*joint_numbers(), "ratio", *RATINGS)
    return clean | {key: x for key, x in entries.of_joint.items() if key in kept or not (x is None or is_zero(x))}


def about_centre(body: RigidInertia) -> tuple[Scalar, Vector, Symmetric]:
    """Mass, mass centre and tensor about the mass centre of several bodies together."""
    if is_zero(body.mass):
        return body.mass, Vector.zero(), body.tensor
    com = body.moment * (1.0 / body.mass)
    return body.mass, com, body.tensor - RigidInertia.of_body(body.mass, com, Symmetric.zero()).tensor


def checked_gravity(gravity: Iterable[Scalar], robot: str) -> tuple[Scalar, Scalar, Scalar]:
    try:
        items = sequence(gravity, 3, "gravity")
        if items is None:
            raise EntryError("gravity", f"is {gravity!r} (expected three numbers, in m/s2, in the base frame)")
        x, y, z = (number(item, f"gravity[{i}]") for i, item in enumerate(items))
    except EntryError as problem:
        raise RobotError(f"robot {robot!r}: {problem}") from None
    return x, y, z
