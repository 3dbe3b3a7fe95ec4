"""From the rows of a table to a robot: resolve names and parents, merge fixed joints, check every number."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from ..errors import RobotError, RowError, near_miss, one_of
from ..spatial import Placement, RigidInertia, Scalar, Symmetric, Vector, add, is_zero, mul
from .coordinates import Coupling
from .entries import INERTIA_HINT, EntryError, check_number, is_finite, items_of
from .kinds import KINDS, STAYS, JointKind, one_degree_kinds
from .link import Frame, Link, empty_link, number_fields, numbers_of
from .tables import REFUSE, WARN, CheckedRow, Convention, check_row, table_size

BASE = "base"
NO_LINK = ""  # the base: no link can have this name
CORRECTION_LIMIT = 1e-12  # larger corrections of rotations and axes cause a warning


class Seat(NamedTuple):
    """The pose of a row's frame, for algorithms and for users."""

    link: int  # index among all links; -1: the base
    placement: Placement  # in its joint-aligned frame
    frame: Frame


def assemble(
    rows: Iterable[Mapping[str, Any]],
    convention: Convention,
    gravity: Iterable[Scalar],
    name: str,
    unphysical: str = REFUSE,
) -> tuple[dict[str, Any], list[str]]:
    """The fields of a robot from its table, and warnings: corrections, inconsistent bodies, probable mistakes."""
    one_of(unphysical, (REFUSE, WARN), "unphysical")
    table = Assembly(rows, name)
    size = table_size(table.rows)
    for index in range(len(table.rows)):
        try:
            parent = table.parent_of(index)
            table.add(index, parent, check_row(table.rows[index], convention, size))
        except EntryError as problem:
            raise table.error(index, problem.key, str(problem)) from None
    return table.parts(gravity, unphysical)


class Assembly:
    """Builds a robot from the rows of a table. Errors name the robot and the row."""

    def __init__(self, rows: Iterable[Mapping[str, Any]], robot: str) -> None:
        self.robot = robot
        self.row_of: dict[str, int] = {}
        self.rows = self.check_mappings(rows)
        self.names = list(self.row_names())
        self.base_word = NO_LINK if BASE in self.row_of else BASE  # the table's name for the base
        still = Placement.identity()
        self.seats = {NO_LINK: Seat(-1, still, Frame(NO_LINK, -1, still))}  # of each row, by name
        self.links: list[Link] = []
        self.bodies: dict[int, RigidInertia] = {}  # of links with fixed joints on them, merged
        self.heavier: set[int] = set()  # links changed by merging
        self.joints = 0  # not fixed
        self.frames: list[Frame] = []
        self.table: list[dict[str, Any]] = []
        self.corrections: list[str] = []
        self.inconsistent: dict[str, str] = {}
        self.suspects: list[str] = []

    def error(self, index: int, key: str | None, text: str, who: str = "") -> RowError:
        return RowError(f"robot {self.robot!r}, {who or f'link {self.names[index]!r}'}: {text}", index, key)

    def check_mappings(self, rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        expected = "a list of rows, each a mapping from keys such as 'joint' and 'mass' to their values"
        if isinstance(rows, (str, Mapping)) or not isinstance(rows, Iterable):
            raise RobotError(f"robot {self.robot!r}: the table is a {type(rows).__name__} (expected {expected})")
        table = list(rows)
        for index, row in enumerate(table):
            if not isinstance(row, Mapping):
                raise self.error(index, None, f"is {row!r} (expected {expected})", f"row {index + 1}")
        return [dict(row) for row in table]

    def row_names(self) -> Iterator[str]:
        for index, row in enumerate(self.rows):
            label, who = row.get("name", f"link{index + 1}"), f"row {index + 1}"
            if not isinstance(label, str) or not label.strip() or not label.isprintable():
                raise self.error(index, "name", f"name is {label!r} (expected one printable line)", who)
            if label in self.row_of:
                raise self.error(
                    index, "name", f"the name {label!r} belongs to row {self.row_of[label] + 1} already", who
                )
            self.row_of[label] = index
            yield label

    def parent_of(self, index: int) -> str:
        """The name of the parent, by default the row before; "" is the base.

        The table calls the base "base". If a link has that name, later rows mean the link, and None or "" the base.
        """
        parent, row_of = self.stated_parent(index), self.row_of
        if not isinstance(parent, str):
            raise EntryError("parent", f"is {parent!r}, which no link has as its name (expected text)")
        if parent == BASE and row_of.get(BASE, index) == index:
            return NO_LINK  # no other link has this name
        if parent == NO_LINK or (parent in row_of and row_of[parent] < index):
            return parent
        if parent not in row_of:
            raise EntryError("parent", f"is {parent!r}, which no link has as its name{near_miss(parent, self.names)}")
        if parent == BASE:
            raise EntryError(
                "parent",
                f"is {BASE!r}, which means the base but is also the name of row {row_of[BASE] + 1}, a later row"
                " (expected None or an empty text for the base)",
            )
        path = [self.names[index]]
        while isinstance(parent, str) and parent not in path and parent in row_of:
            path.append(parent)
            parent = self.stated_parent(row_of[parent])
        if parent in path:
            cycle = " -> ".join([*path[path.index(parent) :], parent])
            raise EntryError("parent", f"closes a loop: {cycle} (expected a tree that grows from the base)")
        later = self.rows[index]["parent"]
        raise EntryError("parent", f"is {later!r}, which comes later (expected each parent before its children)")

    def stated_parent(self, index: int) -> Any:
        """The entry `parent` of a row, with None as ""; by default the row before."""
        parent = self.rows[index].get("parent", self.names[index - 1] if index else NO_LINK)
        return NO_LINK if parent is None else parent

    def add(self, index: int, parent: str, row: CheckedRow) -> None:
        """Add a row; its parent was added before."""
        label, geometry, seat = self.names[index], row.geometry, self.seats[parent]
        self.corrections += [
            f"{label!r}: {key} is off by {far:.1e}"
            for key, far in geometry.corrections.items()
            if far > CORRECTION_LIMIT
        ]
        if row.in_degrees:
            self.suspects.append(label)
        if row.problem:
            self.inconsistent[label] = f"inertia {row.problem}"
        before = seat.placement.then(geometry.before)
        if row.kind is None:
            in_table = seat.frame.placement.then(geometry.before).then(geometry.after)
            seat = Seat(seat.link, before.then(geometry.after), Frame(label, seat.frame.carrier, in_table))
            self.frames.append(seat.frame)
            if seat.link >= 0:
                body = RigidInertia.of_body(row.mass, row.com, row.inertia).to_parent(seat.placement)
                self.bodies[seat.link] = self.bodies.get(seat.link, self.links[seat.link].rigid) + body
                if not all(map(is_zero, (row.mass, *row.inertia.upper))):
                    self.heavier.add(seat.link)
        else:
            kind = row.kind
            after = geometry.after if kind.after is STAYS else kind.after.then(geometry.after)
            parent_link, placement = add_virtual_links(self.links, kind, label, seat.link, before, row.of_joint)
            link = Link(
                label,
                len(self.links),
                parent_link,
                kind.links[-1](**drive_of(row.of_joint, kind, kind.degrees - 1)),
                placement,
                row.mass,
                after.point(row.com),
                after.axes.turned(row.inertia),
                frame=after,
                joint_kind=kind.name if kind.degrees > 1 else "",
                joint_name=row.entries.get("joint_name", ""),
            )
            seat = Seat(link.index, after, Frame(label, self.joints, Placement.identity()))
            self.links.append(link)
            self.joints += 1
        self.seats[label] = seat
        self.table.append({"name": label, "parent": parent or self.base_word, **row.entries})

    def parts(self, gravity: Iterable[Scalar], unphysical: str) -> tuple[dict[str, Any], list[str]]:
        """The robot's fields and warnings, after the checks of the whole table."""
        links = self.links
        if not links:
            problem = f"robot {self.robot!r} has no joint that moves (expected at least one joint that is not fixed)"
            raise RowError(problem, 0, "joint") if self.rows else RobotError(problem)
        self.refuse_names_of_coordinates()
        for k in self.heavier:
            mass, com, inertia = body_about_centre(self.bodies[k])
            links[k] = replace(links[k], mass=mass, com=com, inertia=inertia)
        for link in links:  # sums of finite entries may overflow
            if not all(map(is_finite, numbers_of(link))):
                text = "its numbers, with those of all that is fixed to it, exceed 1.8e308 (expected smaller ones)"
                raise RowError(
                    f"robot {self.robot!r}, link {link.name!r}: {text}", self.row_of.get(link.name, 0), "mass"
                )
        if unphysical == REFUSE:
            self.refuse_inconsistent_bodies()
        couplings = tuple(self.couplings())
        if len(couplings) == len(links):
            raise RowError(f"robot {self.robot!r} has no joint that moves on its own (expected one)", 0, "coupled_to")
        fields = {
            "links": tuple(links),
            "frames": tuple(self.frames),
            "gravity": check_gravity(gravity, self.robot),
            "table": tuple(tuple(row.items()) for row in self.table),
            "couplings": couplings,
        }
        return fields, warnings_of(self.robot, self.corrections, self.inconsistent, self.suspects)

    def refuse_names_of_coordinates(self) -> None:
        """No two moving joints have one name; none, and no link, is called as a coordinate of another: "base.x"."""
        for key in ("name", "joint_name"):
            index_of: dict[str, int] = {}
            for index, row in enumerate(self.table):
                if key == "joint_name" and row["joint"] == "fixed":
                    continue  # it has no coordinate that a name would stand for
                label = row.get(key, row["name"])
                if label in index_of:
                    owner = self.names[index_of[label]]
                    text = f"{key} is {label!r}, the name of the joint of link {owner!r} already (expected another)"
                    raise self.error(index, key, text)
                index_of[label] = index
            for label, index in index_of.items():
                kind = KINDS.get(self.table[index]["joint"])
                if kind is None or kind.degrees == 1:
                    continue
                for part in {*kind.q_labels, *kind.v_labels}:
                    other = index_of.get(f"{label}.{part}")
                    if other is not None:
                        text = f"the name '{label}.{part}' is that of a coordinate of joint {label!r}"
                        raise self.error(other, key, f"{text} (expected another)", f"row {other + 1}")

    def refuse_inconsistent_bodies(self) -> None:
        """Raise one error for all bodies that are not physically consistent, at the first of them."""
        for label, problem in self.inconsistent.items():
            others = [repr(other) for other in self.inconsistent if other != label]
            more = f"; the inertia of {', '.join(others)} is impossible as well" if others else ""
            raise self.error(self.row_of[label], "inertia", f"{problem}; {INERTIA_HINT}{more}")

    def couplings(self) -> Iterator[Coupling]:
        """The coupled joints. A follower of a coupled joint is coupled to the end of the path."""
        ends: dict[str, tuple[str, Scalar, Scalar]] = {}  # the end of a joint's path, ratio and offset
        for row in self.table:
            if "coupled_to" in row:
                end, ratio, offset = self.end_of_path(row["name"], ends)
                yield Coupling(self.seats[row["name"]].link, self.seats[end].link, ratio, offset)

    def end_of_path(self, start: str, known: dict[str, tuple[str, Scalar, Scalar]]) -> tuple[str, Scalar, Scalar]:
        """The independent joint that a coupled one follows, with ratio and offset; `known` caches the whole path."""
        path: dict[str, dict[str, Any]] = {}  # rows by their names, from the follower on
        name = start
        while name not in known and "coupled_to" in (row := self.table[self.row_of[name]]):
            path[name] = row
            leader = self.leader_of(name, row["coupled_to"])
            if leader in path:
                passed = list(path)
                cycle = " -> ".join([*passed[passed.index(leader) :], leader])
                text = f"coupled_to closes a loop: {cycle} (expected a joint that moves on its own at the end)"
                raise self.error(self.row_of[start], "coupled_to", text)
            name = leader
        end, ratio, offset = known.get(name, (name, 1.0, 0.0))
        for follower, row in reversed(path.items()):
            ratio, offset = mul(row["ratio"], ratio), add(row.get("offset", 0.0), mul(row["ratio"], offset))
            if not (is_finite(ratio) and is_finite(offset)):
                text = f"ratio and offset to {end!r} are {ratio} and {offset} (expected finite numbers)"
                raise self.error(self.row_of[follower], "ratio", text)
            known[follower] = end, ratio, offset
        return known[start]

    def leader_of(self, name: str, leader: str) -> str:
        """The joint that another is coupled to."""
        index, text = self.row_of[name], f"coupled_to is {leader!r}"
        if leader not in self.row_of:
            raise self.error(
                index, "coupled_to", f"{text}, which no link has as its name{near_miss(leader, self.row_of)}"
            )
        joint = self.table[self.row_of[leader]]["joint"]
        if joint not in one_degree_kinds():
            raise self.error(index, "coupled_to", f"{text}, a {joint} joint (expected {', '.join(one_degree_kinds())})")
        return leader


def add_virtual_links(
    links: list[Link], kind: JointKind, label: str, parent: int, before: Placement, drive: Mapping[str, Any]
) -> tuple[int, Placement]:
    """Add all links of a joint except the last, without bodies. Returns the last link's parent and its placement."""
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
    """The drive entries of a joint's k-th degree of freedom."""
    keys = (*number_fields(kind.links[k]), "limits")
    entries = {key: value for key, value in drive.items() if key in keys}
    if kind.degrees > 1 and entries["limits"] is not None:
        entries["limits"] = entries["limits"][k]
    return entries


def warnings_of(robot: str, moved: list[str], problems: Mapping[str, str], suspects: Sequence[str] = ()) -> list[str]:
    """Warnings: one for all corrected rotations and axes, one for all inconsistent bodies, one for limits."""
    texts = []
    if moved:
        more = f" (and {len(moved) - 1} more)" if len(moved) > 1 else ""
        texts.append(f", link {moved[0]}{more}; the nearest rotation or unit vector is used: give more digits")
    if problems:
        listed = "; ".join(f"{label!r}: {problem}" for label, problem in problems.items())
        texts.append(f" has bodies that are not physically consistent, used as they are: {listed}")
    if suspects:
        texts.append(
            f" has limits of over two turns, in radians: {', '.join(map(repr, suspects))}; were degrees meant?"
        )
    return [f"robot {robot!r}{text}" for text in texts]


def body_about_centre(body: RigidInertia) -> tuple[Scalar, Vector, Symmetric]:
    """Mass, mass centre, and tensor about the mass centre of a body."""
    if is_zero(body.mass):
        return body.mass, Vector.zero(), body.tensor
    com = body.moment * (1.0 / body.mass)
    return body.mass, com, body.tensor - RigidInertia.of_body(body.mass, com, Symmetric.zero()).tensor


def check_gravity(gravity: Iterable[Scalar], robot: str) -> tuple[Scalar, Scalar, Scalar]:
    try:
        items = items_of(gravity, 3, "gravity")
        if items is None:
            raise EntryError("gravity", f"is {gravity!r} (expected three numbers, in m/s2, in the base frame)")
        x, y, z = (check_number(item, f"gravity[{i}]") for i, item in enumerate(items))
    except EntryError as problem:
        raise RobotError(f"robot {robot!r}: {problem}") from None
    return x, y, z
