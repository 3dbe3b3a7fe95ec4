"""One robot as a table of another convention: standard DH, modified DH, or frames.

The rows are taken apart first: where each joint is, and how the link's frame sits on it.

    O_i = O_β · before · motion(q_i) · after      β is the parent of row i, O its table frame, J = O_β · before at q = 0

A table of another convention has other frames F on the same links, F_i = J_i · motion · S_i, with S_i fixed. So
everything follows from `offset` = S⁻¹ · after, where the old frame is in the new one: mass centres, tensors, children.

The joints, their order and their coordinates stay: what a joint has at q = 0 goes into theta and b. Fixed frames stay
where they are, by name. The frames of links move where a convention asks for it, and com and inertia with them:

    modified    F = J · Z           z on the link's own axis; x toward the first joint that the link carries
    standard    F = J · Z X         z on the axis of the first joint that the link carries
    frames      F = the old frame; that of the joint, where it turns about several axes

A row of a DH table is one Z and one X. Where a joint needs more (a second child, a base whose z is not on the first
axis, a fixed frame that stands anywhere), fixed rows called "..._mount" come before it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ..errors import RobotError, one_of
from ..robot import KINDS, Robot, from_table, require_robot
from ..robot.build import BASE
from ..robot.kinds import STAYS
from ..robot.tables import CONVENTIONS, DH, FRAMES, NO_TENSOR, Z, free_name, table_size
from ..spatial import Placement, Rotation, Scalar, Symmetric, Vector, is_zero
from .agreement import require_agreement
from .screws import Screw, alternating, clean, exact, product

GEOMETRY = (*DH, *FRAMES)
NONE_Z, NONE_X = Screw("z"), Screw("x")
Pair = tuple[Screw, Screw]  # Z and X of a row


@dataclass(frozen=True)
class PlacedRow:
    """A row of a table: `parent` is the row's number, -1 for the base."""

    name: str
    joint: str
    row: Mapping[str, Any]
    parent: int
    before: Placement
    after: Placement

    @property
    def fixed(self) -> bool:
        return self.joint == "fixed"

    @property
    def on_a_line(self) -> bool:
        """Whether the joint moves along and about z alone, so that any frame on z does."""
        return self.joint in KINDS and KINDS[self.joint].on_z


@dataclass
class Table:
    """The rows of a robot, taken apart, and the rows of the new table as they are made."""

    robot: Robot
    parts: list[PlacedRow]
    size: float  # the largest length
    rows: list[dict[str, Any]] = field(default_factory=list)
    offsets: dict[int, Placement] = field(default_factory=lambda: {-1: STAYS})  # old frames in the new ones

    @staticmethod
    def of(robot: Robot) -> Table:
        rows = robot.rows
        base = "" if any(row["name"] == BASE for row in rows) else BASE
        number = {row["name"]: index for index, row in enumerate(rows)} | {base: -1}
        read = CONVENTIONS[robot.convention].read
        parts = []
        for row in rows:
            geometry = read(row, KINDS.get(row["joint"]))
            place = number[row["parent"]], geometry.before, geometry.after
            parts.append(PlacedRow(row["name"], row["joint"], row, *place))
        return Table(robot, parts, table_size(rows).length)

    def children(self, index: int) -> list[int]:
        return [k for k, part in enumerate(self.parts) if part.parent == index]

    def joint_frame(self, index: int) -> Placement:
        """J of a row at q = 0, or the frame of a fixed one, in the new frame of the parent."""
        part = self.parts[index]
        place = self.offsets[part.parent].then(part.before)
        return place.then(part.after) if part.fixed else place

    def add(self, index: int, geometry: Mapping[str, Any], seat: Placement, parent: str | None) -> None:
        """The new row: `seat` is S, where its frame sits in the joint frame; `parent` the row that it stands on."""
        part = self.parts[index]
        offset = STAYS if part.fixed else seat.inverse().then(part.after)
        self.offsets[index] = offset = exact(offset, self.size)
        kept = {key: entry for key, entry in part.row.items() if key not in GEOMETRY}
        body = moved_body(part.row, offset, self.size) if "mass" in part.row else {}
        self.rows.append({**kept, **body, **geometry, "parent": parent})

    def add_fixed(self, index: int, geometry: Mapping[str, Any], parent: str | None) -> str:
        """A fixed row on the way to a row; its name."""
        taken = {part.name for part in self.parts} | {row["name"] for row in self.rows}
        name = free_name(f"{self.parts[index].name}_mount", taken)
        self.rows.append({"name": name, "parent": parent, "joint": "fixed", **geometry})
        return name

    def parent_name(self, index: int) -> str | None:
        parent = self.parts[index].parent
        return None if parent < 0 else self.parts[parent].name

    def refuse_symbols(self, target: str, keys: Iterable[str] = GEOMETRY) -> None:
        """Screws are found by arithmetic on floats."""
        for part in self.parts:
            for key in keys:
                for value in flat(part.row.get(key, ())):
                    if type(value) is not float:
                        raise RobotError(
                            f"robot {self.robot.name!r}, link {part.name!r}: {key} is {value!r}, and a table of the"
                            f" convention {target!r} is found from plain numbers (expected a float; lw.bind puts"
                            " numbers in for symbols)"
                        )


def flat(entry: Any) -> list[Any]:
    return [x for part in entry for x in flat(part)] if isinstance(entry, (tuple, list)) else [entry]


def moved_body(row: Mapping[str, Any], offset: Placement, size: float) -> dict[str, Any]:
    """`com` and `inertia` in another frame of the link; to the last bit where the frame stays."""
    com, tensor = row.get("com", (0.0,) * 3), row.get("inertia", NO_TENSOR)
    if is_identity(offset):
        return {"com": com, "inertia": tensor}
    centre = tuple(cleaned(x, size) for x in offset.point(Vector(*com)))
    if offset.axes == Rotation.identity():
        return {"com": centre, "inertia": tensor}
    upper = Symmetric.from_upper(lambda i, j: tensor[i][j])
    turned = offset.axes.turned(upper).rows
    largest = max((abs(x) for line in tensor for x in line if type(x) is float), default=0.0)
    return {"com": centre, "inertia": tuple(tuple(cleaned(x, largest) for x in line) for line in turned)}


def is_identity(place: Placement) -> bool:
    return place.axes == Rotation.identity() and all(map(is_zero, place.translation))


def cleaned(x: Scalar, size: float) -> Scalar:
    return clean(x, size) if type(x) is float else x


def convert(robot: Robot, convention: str) -> Robot:
    """The same robot with a table of another convention: "standard" or "modified" DH, or "frames".

    Joints, q, gravity, base, drives, limits and the frames of fixed joints stay the same. Frames of links may move, as
    DH tables ask for it; fixed rows called "..._mount" are added where one row is not enough. Before it is returned,
    the new robot is compared with the old one on random states.

    >>> import linkwise as lw
    >>> arm = lw.load("stanford")
    >>> craig = lw.convert(arm, "modified")
    >>> [round(row["a"], 3) for row in craig.rows], craig.rows[1]["alpha"] == arm.rows[0]["alpha"]
    ([0.0, 0.0, 0.0, 0.0, 0.0, 0.0], True)
    >>> q = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
    >>> bool(abs(lw.gravity_torque(craig, q) - lw.gravity_torque(arm, q)).max() < 1e-12)
    True
    """
    require_robot(robot, role=", then a convention")
    one_of(convention, CONVENTIONS, "convention", RobotError)
    if convention == robot.convention:
        return robot
    table = Table.of(robot)
    WAYS[convention](table)
    return checked_robot(table, convention)


def checked_robot(table: Table, convention: str) -> Robot:
    """The robot of the new rows, after it was compared with the old one."""
    robot = table.robot
    converted = replace(from_table(table.rows, convention, robot.gravity, robot.name), about=robot.about)
    offsets = {part.name: table.offsets[index] for index, part in enumerate(table.parts)}
    require_agreement(robot, converted, offsets, f"its table as {convention!r}")
    return converted if robot.links[0].grouped is None else converted.regrouped()


def to_modified(table: Table) -> None:
    to_dh(table, "modified", 1)


def to_standard(table: Table) -> None:
    to_dh(table, "standard", 2)


def to_dh(table: Table, convention: str, own: int) -> None:
    """`own` says how many screws, of Z, X, Z, ... from its joint on, lead to the frame of a link."""
    table.refuse_symbols(convention)
    waiting: dict[int, list[Screw]] = {}  # from the frame of the parent to the joint of a row, where known
    for index, part in enumerate(table.parts):
        lead = waiting.pop(index, None) or alternating(table.joint_frame(index), table.size)
        tail, child, rest = seat(table, index, own)
        if child is not None:
            waiting[child] = rest
        pairs = modified_pairs(lead, tail) if own == 1 else standard_pairs(part, lead, tail)
        parent = table.parent_name(index)
        for pair in pairs[:-1]:
            parent = table.add_fixed(index, entries(pair), parent)
        table.add(index, entries(pairs[-1]), product(tail), parent)


def seat(table: Table, index: int, own: int) -> tuple[list[Screw], int | None, list[Screw]]:
    """The screws from the joint of a row to its frame; a child that they lead toward, and the screws that are left."""
    part = table.parts[index]
    if part.fixed or (own == 1 and not part.on_a_line):
        return [], None, []
    children = table.children(index)
    moving = [k for k in children if not table.parts[k].fixed]
    if not moving:
        kept = whole(alternating(part.after, table.size), own)
        if kept is not None or not children:
            return kept or [], None, []
    child = (moving or children)[0]
    inner = table.parts[child]
    there = part.after.then(inner.before)
    screws = alternating(there.then(inner.after) if inner.fixed else there, table.size)
    return screws[:own], child, screws[own:]


def whole(screws: list[Screw], own: int) -> list[Screw] | None:
    """All of these as `own` screws, where they are no more; otherwise None."""
    z, x, last, *more = screws
    if x.identity:
        z, last = z.and_then(last), NONE_Z
    if more or not last.identity or (own == 1 and not x.identity):
        return None
    return [z, x][:own]


def modified_pairs(lead: list[Screw], tail: list[Screw]) -> list[Pair]:
    """X, Z, X, Z, ...: one pair for each row. The joint moves along the last Z."""
    if lead[0].axis == "z":
        lead = lead[1:] if lead[0].identity else [NONE_X, *lead]
    pairs = [(z, x) for x, z in zip(lead[::2], lead[1::2], strict=True)]
    if tail:
        pairs[-1] = (pairs[-1][0].and_then(tail[0]), pairs[-1][1])
    return pairs


def standard_pairs(part: PlacedRow, lead: list[Screw], tail: list[Screw]) -> list[Pair]:
    """Z, X, Z, X, ...: one pair for each row. A joint on a line moves along the last Z, others in front of it."""
    *before, last = lead
    pairs = [(z, x) for z, x in zip(before[::2], before[1::2], strict=True) if not (z.identity and x.identity)]
    own_z, own_x = (tail[0], tail[1]) if tail else (NONE_Z, NONE_X)
    if part.on_a_line:
        return [*pairs, (last.and_then(own_z), own_x)]
    if not last.identity:
        pairs.append((last, NONE_X))
    if part.fixed:
        return pairs or [(NONE_Z, NONE_X)]
    return [*pairs, (own_z, own_x)]


def entries(pair: Pair) -> dict[str, float]:
    z, x = pair
    return {"a": x.shift, "b": z.shift, "alpha": x.turn, "theta": z.turn}


def to_frames(table: Table, anchored: bool = True) -> None:
    """Frames stay where they are; without anchors those that turn beside their joint's axis move to it."""
    table.refuse_symbols("frames", ("alpha", "theta"))  # a rotation is of numbers; lengths may be symbols
    for index, part in enumerate(table.parts):
        frame = exact(part.after, table.size) if part.on_a_line or part.fixed else STAYS
        anchor = frame.inverse().translation
        if not anchored and part.on_a_line:
            anchor = Vector.zero()
            if any(joint.turns for joint in KINDS[part.joint].joints(part.row)):  # else its place does not matter
                frame = Placement(frame.axes, Vector.zero())
        table.add(index, frame_entries(table, index, frame, anchor), frame, table.parent_name(index))


def frame_entries(table: Table, index: int, frame: Placement, anchor: Vector) -> dict[str, Any]:
    part = table.parts[index]
    place = table.joint_frame(index)
    place = exact(place if part.fixed else place.then(frame), table.size)
    geometry: dict[str, Any] = {"translation": tuple(place.translation), "rotation": place.axes.rows}
    if part.on_a_line:
        geometry["axis"] = tuple(frame.axes.T @ Vector(*Z))
    stays = part.fixed or is_identity(exact(frame.inverse().then(part.after), table.size))
    if table.robot.convention == "frames" and stays and is_identity(table.offsets[part.parent]):
        geometry = {key: part.row.get(key, entry) for key, entry in geometry.items()}  # to the last bit
    if part.on_a_line and any(not is_zero(x) for x in anchor):
        geometry["anchor"] = tuple(anchor)
    return geometry


WAYS: dict[str, Callable[[Table], None]] = {"standard": to_standard, "modified": to_modified, "frames": to_frames}
