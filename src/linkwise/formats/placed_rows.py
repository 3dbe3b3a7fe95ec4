"""The rows of a robot's table, taken apart: where each joint is, and how the link's frame sits on it.

    O_i = O_β · before · motion(q_i) · after      β is the parent of row i, O its table frame, J = O_β · before at q = 0

A table of another convention has other frames F on the same links, F_i = J_i · motion · S_i, with S_i fixed. So
everything follows from `offset` = S⁻¹ · after, where the old frame is in the new one: mass centres, tensors, children.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..errors import RobotError
from ..robot import KINDS, Robot
from ..robot.build import BASE
from ..robot.tables import CONVENTIONS, DH, FRAMES, NO_TENSOR, size_of
from ..spatial import Placement, Rotation, Scalar, Symmetric, Vector, is_zero
from .screws import clean, exact

GEOMETRY = (*DH, *FRAMES)
STAYS = Placement.identity()


@dataclass(frozen=True)
class PlacedRow:
    """A row of a table: `parent` is the row's number, -1 for the base."""

    row: Mapping[str, Any]
    parent: int
    before: Placement
    after: Placement

    @property
    def name(self) -> str:
        name: str = self.row["name"]
        return name

    @property
    def joint(self) -> str:
        joint: str = self.row["joint"]
        return joint

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
            geometry = read(row, row["joint"])
            parts.append(PlacedRow(row, number[row["parent"]], geometry.before, geometry.after))
        return Table(robot, parts, size_of(rows).length)

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
        stem, count = f"{self.parts[index].name}_mount", 1
        while (name := stem if count == 1 else f"{stem}{count}") in taken:
            count += 1
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
