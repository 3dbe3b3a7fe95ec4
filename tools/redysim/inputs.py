"""ReDySim's inputs.m: modified DH parameters, masses and tensors of a tree of links, as MATLAB assignments.

    fixed base       n dof type alp a b th bt r dx dy dz m g Icxx Icyy Iczz Icxy Icyz Iczx aj al
    floating base    n nq alp a b bt dx dy dz al alt m g Icxx Icyy Iczz Icxy Icyz Iczx

alp, a, b, th are modified DH parameters; bt the parent of each link, 0 the ground; r is 1 for a revolute and 0 for a
prismatic joint; dx, dy, dz the mass centre and Ic.. the tensor about it (products with their minus sign), both in the
link's own frame; g the acceleration of gravity. q takes the place of th of a revolute and of b of a prismatic joint:
what the file has there is a start value, not an offset. In files of a floating base link 1 is the base: it moves in the
plane of x and y for nq = 0, freely for nq = 1; all other joints are revolute, and al, alt, Tp, steps are for drawing
and simulation alone.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

from linkwise.errors import FileError, RobotError, RowError
from linkwise.robot import Robot, from_table

from . import matlab

TENSOR = (("Icxx", "Icxy", "Iczx"), ("Icxy", "Icyy", "Icyz"), ("Iczx", "Icyz", "Iczz"))
MOMENTS = ("Icxx", "Icyy", "Iczz", "Icxy", "Icyz", "Iczx")
LISTS = ("alp", "a", "b", "bt", "dx", "dy", "dz", "m", *MOMENTS)
NAME_OF = {"alpha": "alp", "theta": "th", "parent": "bt", "joint": "r", "mass": "m", "com": "dx"}


def read(path: Path, unphysical: str = "refuse") -> Robot:
    return Inputs(path, matlab.read(path), unphysical).robot()


class Inputs:
    """The variables of a file."""

    def __init__(self, path: Path, variables: dict[str, matlab.Variable], unphysical: str) -> None:
        self.path, self.variables, self.unphysical = path, variables, unphysical
        if "n" not in variables:
            self.fail("n", "is missing (expected the number of links)")
        self.n = self.whole("n", 1, matlab.MOST_ENTRIES)
        self.floating = "nq" in variables and "r" not in variables

    def robot(self) -> Robot:
        self.refuse_loops()
        columns = {name: self.numbers(name, self.n) for name in LISTS}
        if not self.floating:
            columns |= {name: self.numbers(name, self.n) for name in ("th", "r")}
        rows = [self.row(index, {name: values[index] for name, values in columns.items()}) for index in range(self.n)]
        if self.floating:
            self.replace_base(rows)
        gravity = self.numbers("g", 3)
        try:
            robot = from_table(rows, "modified", gravity, self.path.stem, self.unphysical)
        except RowError as problem:
            self.fail(self.name_of(problem.key, problem.row), str(problem), problem.row)
        except RobotError as problem:
            self.fail("g", str(problem))
        return replace(robot, about=self.about())

    def row(self, index: int, numbers: dict[str, float]) -> dict[str, Any]:
        turns = self.floating or self.switch("r", numbers["r"], index)
        parent = numbers["bt"]
        if parent != int(parent) or not 0 <= parent <= self.n:
            self.fail("bt", f"has the parent {parent:g} (expected the number of a link, or 0 for the ground)", index)
        return {
            "name": f"link{index + 1}",
            "parent": f"link{int(parent)}" if parent else None,
            "joint": "revolute" if turns else "prismatic",
            "alpha": numbers["alp"],
            "a": numbers["a"],
            "b": numbers["b"] if turns else 0.0,
            "theta": 0.0 if turns else numbers["th"],
            "mass": numbers["m"],
            "com": [numbers["dx"], numbers["dy"], numbers["dz"]],
            "inertia": [[numbers[name] for name in line] for line in TENSOR],
        }

    def replace_base(self, rows: list[dict[str, Any]]) -> None:
        """Link 1 of a floating-base file has no joint of its own: ReDySim does not read its DH parameters."""
        base = rows[0]
        for key, name in (("alpha", "alp"), ("a", "a"), ("b", "b"), ("parent", "bt")):
            if base[key]:
                self.fail(name, "is not 0 for link 1, the floating base, which has no DH parameters (expected 0)", 0)
        base["joint"] = "free" if self.switch("nq") else "planar"
        for index, row in enumerate(rows[1:], 1):
            if row["parent"] is None:
                self.fail("bt", "is 0, the ground, beside the floating base (expected a link as its parent)", index)

    def refuse_loops(self) -> None:
        if not self.floating and "type" not in self.variables:
            self.fail("type", "is missing (expected 0 for an open and 1 for a closed loop)")
        if "type" in self.variables and self.switch("type"):
            self.fail("type", "is 1, a closed loop, which is not read (expected 0: a tree)")
        if "dof" not in self.variables:
            return
        dof, expected = self.whole("dof", 0, matlab.MOST_ENTRIES), self.n
        if self.floating:
            expected += 5 if self.switch("nq") else 2
        if dof != expected:
            self.fail("dof", f"is {dof} for {self.n} links without loops (expected {expected})")

    def about(self) -> str:
        text = f"From ReDySim's {self.path.name}: q is its q."
        if self.floating:
            text = f"From ReDySim's {self.path.name}, floating base: q of the joints is its th."
        if "aj" in self.variables:
            driven = self.variables["aj"].value.T.reshape(-1)
            passive = [f"link{k + 1}" for k, on in enumerate(driven) if not on]
            if passive and not self.floating:
                text += f" Joints without a drive: {', '.join(passive)}."
        return text

    def numbers(self, name: str, count: int) -> list[float]:
        if name not in self.variables:
            self.fail(name, f"is missing (expected {count} numbers)")
        value = self.variables[name].value
        if value.size != count or 1 not in value.shape:
            rows, columns = value.shape
            self.fail(name, f"is {rows} x {columns} (expected a row or column of {count} numbers)")
        return [float(x) for x in value.T.reshape(-1)]

    def whole(self, name: str, least: int, most: int) -> int:
        (value,) = self.numbers(name, 1)
        if value != int(value) or not least <= value <= most:
            self.fail(name, f"is {value:g} (expected a whole number from {least} on)")
        return int(value)

    def switch(self, name: str, value: float | None = None, index: int | None = None) -> bool:
        if value is None:
            (value,) = self.numbers(name, 1)
        if value not in (0.0, 1.0):
            self.fail(name, f"has {value:g} (expected 0 or 1)", index)
        return value == 1.0

    def name_of(self, key: str | None, index: int) -> str:
        """The variable that an entry of a row comes from; of a tensor's, the one that was assigned last."""
        if key and key.startswith("inertia"):
            return max(MOMENTS, key=lambda name: self.variables[name].lines.get(index + 1, self.variables[name].line))
        if key and key.startswith("com["):
            return ("dx", "dy", "dz")[int(key[4])]
        return NAME_OF.get(key or "", key or "n")

    def fail(self, name: str, message: str, index: int | None = None) -> NoReturn:
        variable = self.variables.get(name)
        line = 1
        if variable is not None:
            line = variable.line if index is None else variable.lines.get(index + 1, variable.line)
        place = name if index is None or (variable is not None and variable.value.size == 1) else f"{name}({index + 1})"
        text = message if message.startswith("robot ") else f"{place} {message}"
        raise FileError(f"{self.path}:{line}: {text}")
