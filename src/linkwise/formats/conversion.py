"""One robot as a table of another convention: standard DH, modified DH, or frames.

First, each row is split into the placement of its joint and that of the link's frame on the joint.

    O_i = O_β · before · motion(q_i) · after      β is the parent of row i, O its table frame, J = O_β · before at q = 0

A table of another convention has other frames F on the same links, F_i = J_i · motion · S_i, with S_i fixed. The old
frame in the new one, `offset` = S⁻¹ · after, then gives mass centres, tensors and children.

Joints, their order and their coordinates stay: theta and b contain the joint's placement at q = 0. Fixed frames keep
their names and places. Frames of links move where the convention requires it, and com and inertia with them:

    modified    F = J · Z           z on the link's own axis; x toward the first joint that the link carries
    standard    F = J · Z X         z on the axis of the first joint that the link carries
    frames      F = the old frame; that of the joint, where it turns about several axes

A row of a DH table is one Z and one X. Where a joint needs more (a second child, a base whose z is not on the first
axis, an arbitrary fixed frame), fixed rows called "..._mount" precede it.

A placement as alternating screws along z and x, the parts of the rows of a DH table.

    G = Z(θ₁, b₁) X(α, a) Z(θ₂, b₂)      Z: turn about z and shift along z; X: likewise for x

Any placement has this form: X is along the common normal of the two z axes. If these are nearly parallel, the normal
is far away and digits would be lost: then the first screws reach the origin, and the others turn in place.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

from ..errors import RobotError, one_of
from ..robot import KINDS, Robot, from_table, require_robot
from ..robot.build import BASE
from ..robot.entries import nearest_rotation
from ..robot.kinds import STAYS
from ..robot.tables import CONVENTIONS, DH, FRAMES, NO_TENSOR, Z, free_name, table_size
from ..spatial import Placement, Rotation, Scalar, Symmetric, Vector, is_zero, turn_x, turn_z
from .agreement import require_agreement

QUARTER = math.pi / 2.0
ANGLE = 1e-12  # an angle this close to a multiple of a quarter turn is rounded to it, as in rotations
LENGTH = 1e-14  # relative to the robot: a smaller length is a rounding error
NEARLY_PARALLEL = 1e-4  # below this sine the common normal is not used


class Screw(NamedTuple):
    """A turn about an axis, x or z, and a shift along it."""

    axis: str
    turn: float = 0.0
    shift: float = 0.0

    @property
    def identity(self) -> bool:
        return self.turn == 0.0 and self.shift == 0.0

    @property
    def placement(self) -> Placement:
        if self.axis == "z":
            return Placement(turn_z(self.turn), Vector(0.0, 0.0, self.shift))
        return Placement(turn_x(self.turn), Vector(self.shift, 0.0, 0.0))

    def and_then(self, other: Screw) -> Screw:
        """Compose with a screw about the same axis."""
        return Screw(self.axis, wrap_angle(self.turn + other.turn), self.shift + other.shift)


def compose(screws: Iterable[Screw]) -> Placement:
    placement = Placement.identity()
    for screw in screws:
        placement = placement.then(screw.placement)
    return placement


def decompose(placement: Placement, size: float) -> list[Screw]:
    """Z X Z, or Z X Z X Z where the axes are nearly parallel. `size` is the largest length of the robot."""
    turn = nearest_rotation(placement.axes)
    ((r00, _, r02), (r10, _, r12), (r20, _, r22)) = (tuple(map(float, row)) for row in turn.rows)
    x, y, z = (snap_length(float(p), size) for p in placement.translation)
    slope = math.hypot(r02, r12)
    if slope == 0.0:
        around, far = signed_polar(x, y)
        first, total = snap_angle(around), math.atan2(r10, r00)
        second = total - first if r22 > 0.0 else first - total
        tilt = 0.0 if r22 > 0.0 else math.pi
        return [Screw("z", first), Screw("x", tilt, far), Screw("z", wrap_angle(second), z if r22 > 0.0 else -z)]
    first, slope = within_quarter_turn(math.atan2(r02, -r12), slope)
    tilt = snap_angle(math.atan2(slope, r22))
    (c, _, _), (s, _, _), _ = turn_z(first).rows
    _, (_, ct, _), (_, st, _) = turn_x(
        tilt
    ).rows  # the rest of the rotation after the first two: accurate also for small slopes
    second = snap_angle(math.atan2(ct * (c * r10 - s * r00) + st * r20, c * r00 + s * r10))
    if abs(slope) < NEARLY_PARALLEL:
        around, far = signed_polar(x, y)
        around = snap_angle(around)
        to_origin = [Screw("z", around, z), Screw("x", 0.0, far)] if far else [Screw("z", 0.0, z), Screw("x")]
        return [*to_origin, Screw("z", wrap_angle(first - to_origin[0].turn)), Screw("x", tilt), Screw("z", second)]
    rise = snap_length((s * x - c * y) / slope, size)
    far = snap_length(c * x + s * y, size)
    return [Screw("z", first, snap_length(z - r22 * rise, size)), Screw("x", tilt, far), Screw("z", second, rise)]


def signed_polar(x: float, y: float) -> tuple[float, float]:
    """Angle, at most a quarter turn, and distance, which may be negative."""
    return within_quarter_turn(math.atan2(y, x), math.hypot(x, y))


def within_quarter_turn(angle: float, length: float) -> tuple[float, float]:
    """Reduce the angle to at most a quarter turn, with the opposite sign of the length."""
    angle = snap_angle(angle)
    if abs(angle) > QUARTER:
        return snap_angle(angle - math.copysign(math.pi, angle)), -length
    return angle, length


def snap_length(length: float, size: float) -> float:
    return 0.0 if abs(length) <= LENGTH * size else length


def snap_angle(angle: float) -> float:
    quarters = round(angle / QUARTER)
    return quarters * QUARTER if abs(angle - quarters * QUARTER) < ANGLE else angle


def wrap_angle(angle: float) -> float:
    """Between -π and π."""
    return snap_angle(math.remainder(angle, 2.0 * math.pi))


def snap_placement(placement: Placement, size: float) -> Placement:
    """Remove rounding errors: zeros, ones and right angles become exact."""
    x, y, z = (snap_length(p, size) if type(p) is float else p for p in placement.translation)
    axes = placement.axes
    plain = all(type(entry) is float for row in axes.rows for entry in row)
    return Placement(nearest_rotation(Rotation(axes.rows)) if plain else axes, Vector(x, y, z))


GEOMETRY = (*DH, *FRAMES)
IDENTITY_Z, IDENTITY_X = Screw("z"), Screw("x")
Convention = Literal["standard", "modified", "frames"]
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
        """Whether the joint moves only along and about z; its frame may then be anywhere on z."""
        return self.joint in KINDS and KINDS[self.joint].on_z


@dataclass
class Table:
    """The split rows of a robot, and the rows of the new table."""

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
        """Add a new row. `seat` is S, its frame in the joint frame; `parent` is the row that carries it."""
        part = self.parts[index]
        offset = STAYS if part.fixed else seat.inverse().then(part.after)
        self.offsets[index] = offset = snap_placement(offset, self.size)
        others = {key: entry for key, entry in part.row.items() if key not in GEOMETRY}
        body = transform_body(part.row, offset, self.size) if "mass" in part.row else {}
        self.rows.append({**others, **body, **geometry, "parent": parent})

    def add_fixed(self, index: int, geometry: Mapping[str, Any], parent: str | None) -> str:
        """Add a fixed row before a row, and return its name."""
        taken = {part.name for part in self.parts} | {row["name"] for row in self.rows}
        name = free_name(f"{self.parts[index].name}_mount", taken)
        self.rows.append({"name": name, "parent": parent, "joint": "fixed", **geometry})
        return name

    def parent_name(self, index: int) -> str | None:
        parent = self.parts[index].parent
        return None if parent < 0 else self.parts[parent].name

    def refuse_symbols(self, target: str, keys: Iterable[str] = GEOMETRY) -> None:
        """Raise if an entry is symbolic: screws are computed with floats."""
        for part in self.parts:
            for key in keys:
                for value in flatten(part.row.get(key, ())):
                    if type(value) is not float:
                        raise RobotError(
                            f"robot {self.robot.name!r}, link {part.name!r}: {key} is {value!r}, and conversion"
                            f" to the convention {target!r} needs plain numbers (expected a float; lw.bind replaces"
                            " symbols)"
                        )


def flatten(entry: Any) -> list[Any]:
    return [x for part in entry for x in flatten(part)] if isinstance(entry, (tuple, list)) else [entry]


def transform_body(row: Mapping[str, Any], offset: Placement, size: float) -> dict[str, Any]:
    """Express `com` and `inertia` in another frame of the link; bit for bit the same where the frame stays."""
    com, tensor = row.get("com", (0.0,) * 3), row.get("inertia", NO_TENSOR)
    if is_identity(offset):
        return {"com": com, "inertia": tensor}
    centre = tuple(snap_scalar(x, size) for x in offset.point(Vector(*com)))
    if offset.axes == Rotation.identity():
        return {"com": centre, "inertia": tensor}
    upper = Symmetric.from_upper(lambda i, j: tensor[i][j])
    rotated = offset.axes.turned(upper).rows
    largest = max((abs(x) for line in tensor for x in line if type(x) is float), default=0.0)
    return {"com": centre, "inertia": tuple(tuple(snap_scalar(x, largest) for x in line) for line in rotated)}


def is_identity(place: Placement) -> bool:
    return place.axes == Rotation.identity() and all(map(is_zero, place.translation))


def snap_scalar(x: Scalar, size: float) -> Scalar:
    return snap_length(x, size) if type(x) is float else x


def convert(robot: Robot, convention: Convention) -> Robot:
    """Convert a robot to a table of another convention.

    Joints, q, gravity, base, drives, limits and the frames of fixed joints stay the same. Frames of
    links move where the convention requires it. Where one row is not enough, fixed rows called
    "..._mount" are added. The result is compared with the robot on random states.

    Parameters
    ----------
    robot : Robot
    convention : {"standard", "modified", "frames"}
        DH table in the standard or the modified convention, or frames.

    Returns
    -------
    Robot

    Examples
    --------
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
    CONVERTERS[convention](table)
    return build_robot(table, convention)


def build_robot(table: Table, convention: Convention) -> Robot:
    """Build the robot of the new rows, and compare it with the old one."""
    robot = table.robot
    converted = replace(from_table(table.rows, convention, robot.gravity, robot.name), about=robot.about)
    offsets = {part.name: table.offsets[index] for index, part in enumerate(table.parts)}
    require_agreement(robot, converted, offsets, f"its table as {convention!r}")
    return converted if robot.links[0].grouped is None else converted.regrouped()


def to_modified(table: Table) -> None:
    to_dh(table, "modified", 1)


def to_standard(table: Table) -> None:
    to_dh(table, "standard", 2)


def to_dh(table: Table, convention: str, count: int) -> None:
    """`count` is the number of screws Z, X from a joint to the frame of its link: 1 or 2."""
    table.refuse_symbols(convention)
    pending: dict[int, list[Screw]] = {}  # from the frame of the parent to the joint of a row
    for index, part in enumerate(table.parts):
        lead = pending.pop(index, None) or decompose(table.joint_frame(index), table.size)
        tail, child, rest = seat_screws(table, index, count)
        if child is not None:
            pending[child] = rest
        pairs = modified_pairs(lead, tail) if count == 1 else standard_pairs(part, lead, tail)
        parent = table.parent_name(index)
        for pair in pairs[:-1]:
            parent = table.add_fixed(index, dh_entries(pair), parent)
        table.add(index, dh_entries(pairs[-1]), compose(tail), parent)


def seat_screws(table: Table, index: int, count: int) -> tuple[list[Screw], int | None, list[Screw]]:
    """Return the screws from a joint to its frame, the child they lead to, and the remaining screws to that child."""
    part = table.parts[index]
    if part.fixed or (count == 1 and not part.on_a_line):
        return [], None, []
    children = table.children(index)
    moving = [k for k in children if not table.parts[k].fixed]
    if not moving:
        screws_to_frame = fit_screws(decompose(part.after, table.size), count)
        if screws_to_frame is not None or not children:
            return screws_to_frame or [], None, []
    child = (moving or children)[0]
    inner = table.parts[child]
    to_child = part.after.then(inner.before)
    screws = decompose(to_child.then(inner.after) if inner.fixed else to_child, table.size)
    return screws[:count], child, screws[count:]


def fit_screws(screws: list[Screw], count: int) -> list[Screw] | None:
    """Merge the screws into `count` screws; None if they are more."""
    z, x, last, *more = screws
    if x.identity:
        z, last = z.and_then(last), IDENTITY_Z
    if more or not last.identity or (count == 1 and not x.identity):
        return None
    return [z, x][:count]


def modified_pairs(lead: list[Screw], tail: list[Screw]) -> list[Pair]:
    """Split X, Z, X, Z, ... into pairs, one for each row. The joint moves along the last Z."""
    if lead[0].axis == "z":
        lead = lead[1:] if lead[0].identity else [IDENTITY_X, *lead]
    pairs = [(z, x) for x, z in zip(lead[::2], lead[1::2], strict=True)]
    if tail:
        pairs[-1] = (pairs[-1][0].and_then(tail[0]), pairs[-1][1])
    return pairs


def standard_pairs(part: PlacedRow, lead: list[Screw], tail: list[Screw]) -> list[Pair]:
    """Split Z, X, ... into pairs, one for each row. A joint on a line moves along the last Z, others before it."""
    *before, last = lead
    pairs = [(z, x) for z, x in zip(before[::2], before[1::2], strict=True) if not (z.identity and x.identity)]
    own_z, own_x = (tail[0], tail[1]) if tail else (IDENTITY_Z, IDENTITY_X)
    if part.on_a_line:
        return [*pairs, (last.and_then(own_z), own_x)]
    if not last.identity:
        pairs.append((last, IDENTITY_X))
    if part.fixed:
        return pairs or [(IDENTITY_Z, IDENTITY_X)]
    return [*pairs, (own_z, own_x)]


def dh_entries(pair: Pair) -> dict[str, float]:
    z, x = pair
    return {"a": x.shift, "b": z.shift, "alpha": x.turn, "theta": z.turn}


def to_frames(table: Table, anchored: bool = True) -> None:
    """Keep the frames. With `anchored=False` a frame that is not on its axis of rotation moves onto the axis."""
    table.refuse_symbols("frames", ("alpha", "theta"))  # lengths may be symbols
    for index, part in enumerate(table.parts):
        frame = snap_placement(part.after, table.size) if part.on_a_line or part.fixed else STAYS
        anchor = frame.inverse().translation
        if not anchored and part.on_a_line:
            anchor = Vector.zero()
            if any(joint.turns for joint in KINDS[part.joint].joints(part.row)):  # else its place does not matter
                frame = Placement(frame.axes, Vector.zero())
        table.add(index, frame_entries(table, index, frame, anchor), frame, table.parent_name(index))


def frame_entries(table: Table, index: int, frame: Placement, anchor: Vector) -> dict[str, Any]:
    part = table.parts[index]
    place = table.joint_frame(index)
    place = snap_placement(place if part.fixed else place.then(frame), table.size)
    geometry: dict[str, Any] = {"translation": tuple(place.translation), "rotation": place.axes.rows}
    if part.on_a_line:
        geometry["axis"] = tuple(frame.axes.T @ Vector(*Z))
    stays = part.fixed or is_identity(snap_placement(frame.inverse().then(part.after), table.size))
    if table.robot.convention == "frames" and stays and is_identity(table.offsets[part.parent]):
        geometry = {key: part.row.get(key, entry) for key, entry in geometry.items()}  # to the last bit
    if part.on_a_line and any(not is_zero(x) for x in anchor):
        geometry["anchor"] = tuple(anchor)
    return geometry


CONVERTERS: dict[str, Callable[[Table], None]] = {"standard": to_standard, "modified": to_modified, "frames": to_frames}
