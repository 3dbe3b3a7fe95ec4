"""The rows of a paper: what it prints, the call that gives it here, and what is measured against it.

A file docs/papers/NAME.toml has the `title` of a paper, its `key` for `lw.cite`, an introduction `about`, the numbers
of all `equations` of its text, a list of `robots`, `setup` (Python that every row may use), and [[row]]:

    at        what the row is about: "(14)", "(23a) (23b)", "Table 1", "Fig. 5"
    section   heading under which it and the next rows stand, where it changes
    text      what the paper says there, in our words
    call      the expression that gives it: it runs, and the page shows it; below, `result` is its value
    residual  an expression that is zero but for rounding errors
    bound     the largest residual that passes, which the page prints; 1e-12 if it is not given
    printed, computed    numbers of the paper, and the expression beside them, by default the call; `within` is half a
              unit of the last digit
    right     the numbers that belong in place of the printed ones, with which the computed ones are compared
    holds     an expression that is true: what the paper says of its figures and numbers
    erratum   what is wrong in print
    copy      true where the error may be that of the machine-read copy: a letter, a dot, a star or a line that is lost
    wrong     an expression like a residual, of the formula as printed; the page prints it, and it is not small
    picture   a file of docs/pictures, with the paper's own sentence about it in `text`
    shows     an expression beside the call, whose value the page prints
    order     the names of the printed numbers, where they are many
    open      what of the row is not reproduced, and why; the page lists these at its head
    see       a page or an example that shows it, beside a call or in place of one

`start` is the example at the head of the page, as a session of Python.

Links stand base first. The quick tests take the first robot, the slow ones all of them.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import linkwise as lw

BOUND = 1e-12  # of relative residuals in double precision
SMALLEST = 1e-6  # differences of numbers below this are not relative


@dataclass(frozen=True)
class Row:
    at: str
    text: str
    section: str = ""
    call: str = ""
    residual: str = ""
    bound: float = BOUND
    printed: Any = None
    computed: str = ""
    within: float = 0.0
    right: Any = None
    holds: str = ""
    erratum: str = ""
    copy: bool = False
    wrong: str = ""
    picture: str = ""
    shows: str = ""
    order: tuple[str, ...] = ()
    open: str = ""
    see: str = ""

    def __post_init__(self) -> None:
        if not (self.call or self.see or self.picture):
            raise ValueError(f"{self.at}: a row has a call, a picture or a page to see")
        if self.copy and not self.erratum:
            raise ValueError(f"{self.at}: `copy` is about an erratum")
        if (self.printed is None and self.computed) or (self.printed is not None and not (self.computed or self.call)):
            raise ValueError(f"{self.at}: printed numbers and the computed ones beside them belong together")


@dataclass(frozen=True)
class Paper:
    name: str
    title: str
    key: str
    about: str
    equations: str
    rows: tuple[Row, ...]
    start: str = ""
    setup: str = ""
    robots: tuple[str, ...] = field(default=('lw.load("stanford")',))

    def value(self, row: Row, expression: str = "result", robot: int = 0) -> Any:
        """Of an expression of a row, for one of the robots; by default of its call."""
        arguments = (self.robots[robot], robot, self.setup)
        return eval(expression, {**names_of(*arguments), "result": value_of(*arguments, row.call)})

    def residual(self, row: Row, robot: int = 0) -> float:
        return float(np.max(self.value(row, row.residual, robot)))

    def error_in_print(self, row: Row) -> float:
        return float(np.max(self.value(row, row.wrong)))

    def computed(self, row: Row) -> np.ndarray:
        return np.asarray(self.value(row, row.computed or "result"), dtype=float)

    def expected(self, row: Row) -> np.ndarray:
        return np.asarray(row.printed if row.right is None else row.right, dtype=float)

    def missing(self) -> list[str]:
        """The equations of the text that no row is about."""
        covered = {number for row in self.rows for number in numbers(row.at)}
        return [number for number in numbers(self.equations) if number not in covered]


@cache
def names_of(robot: str, seed: int, setup: str) -> dict[str, Any]:
    """What the rows compute with: a robot and a random state of it, and the names of the setup."""
    names: dict[str, Any] = {"lw": lw, "np": np, "relative": relative}
    arm = eval(robot, names)
    q, qd, qdd = np.random.default_rng(seed).uniform(-1.0, 1.0, (3, arm.n))
    names |= {"robot": arm, "n": arm.n, "q": q, "qd": qd, "qdd": qdd}
    names["tau"] = lw.inverse_dynamics(arm, q, qd, qdd)
    exec(setup, names)
    return names


@cache
def value_of(robot: str, seed: int, setup: str, call: str) -> Any:
    """The value of a call, computed once for all expressions of its row."""
    return eval(call, {**names_of(robot, seed, setup)}) if call else None


def numbers(text: str) -> Iterator[str]:
    """The numbers of equations: (25)-(28) is four of them; (7.23), (23a), Table 1, Fig. 5 are one each."""
    for part in text.split(", "):
        first, dash, last = part.partition(")-(")
        if not dash:
            yield part
            continue
        chapter, _, start = first.removeprefix("(").rpartition(".")
        end = last.removesuffix(")").rpartition(".")[2]
        yield from (f"({chapter}{'.' * bool(chapter)}{k})" for k in range(int(start), int(end) + 1))


def relative(a: Any, b: Any) -> float:
    """The largest difference, relative to the largest number in sight."""
    a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    if a.shape != b.shape:
        raise ValueError(f"shapes {a.shape} and {b.shape} are compared")
    scale = max(np.abs(a).max(initial=0.0), np.abs(b).max(initial=0.0), SMALLEST)
    return float(np.abs(a - b).max(initial=0.0) / scale)


def load(path: Path) -> Paper:
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    rows = tuple(Row(**row) for row in data.pop("row"))
    return Paper(name=path.stem, rows=rows, **{k: tuple(v) if k == "robots" else v for k, v in data.items()})
