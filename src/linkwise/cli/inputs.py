"""Numbers as they are typed: `0.1,pi/2,-30deg`, `link2=0.5`, `@states.csv`; limits: `1,2,3`, `link2=-90deg:90deg`."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import linkwise as lw

from ..errors import FileError, near_miss
from ..robot.layout import (
    Layout,
    angle_mask,
    canonical_names,
    coordinate_indices,
    is_canonical,
    quantity_of,
    refuse_degrees,
)
from ..tables import comments_of, is_number, read_table, read_text, refuse_separator
from .screen import warn

NUMBER = r"[0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+\."
PLAIN = re.compile(rf"([+-]?)({NUMBER})\s*(deg|°|rad)?")
PI = re.compile(rf"([+-]?)(?:({NUMBER})\s*\*?\s*)?pi(?:\s*/\s*({NUMBER}))?")

EXPECTED = {"q": "metres", "qd": "metres per second", "qdd": "m/s²"}
KINDS = {"position": "q", "velocity": "qd", "acceleration": "qdd", "effort": "tau"}  # of limits, with their units
ANGLE, OTHER = "0.5, -1e-3, pi/2, 30deg or 0.5rad", "0.5 or -1e-3"  # numbers as they may be typed
WRENCH = ("mx", "my", "mz", "fx", "fy", "fz")
ENDLESS = {"inf": math.inf, "+inf": math.inf, "-inf": -math.inf}


class Typed(NamedTuple):
    """A number. `in_radians`: it was typed with a unit or as a multiple of pi, and is in radians here."""

    value: float
    in_radians: bool = False
    unit: str = ""


def parse_number(text: str, what: str, examples: str = OTHER) -> Typed:
    text = text.strip()
    if match := PLAIN.fullmatch(text):
        sign, digits, unit = match.groups()
        value = float(digits)
        typed = Typed(value if unit == "rad" else math.radians(value), True, unit) if unit else Typed(value)
    elif (match := PI.fullmatch(text)) and float(match[3] or 1.0):
        sign, factor, divisor = match.groups()
        typed = Typed(float(factor or 1.0) * math.pi / float(divisor or 1.0), True)
    else:
        raise ValueError(f"{what}: {text!r} is not a number (expected such as {examples})")
    if not math.isfinite(typed.value):
        raise ValueError(f"{what}: {text!r} is too large (expected a finite number)")
    return typed._replace(value=-typed.value) if sign == "-" else typed


def parse_numbers(text: str, what: str) -> list[float]:
    """Numbers between commas or spaces, none of them an angle with its unit."""
    values = [parse_number(part, what) for part in split_numbers(text)]
    for part, typed in zip(split_numbers(text), values, strict=True):
        if typed.unit:
            raise ValueError(f"{what}: {part!r} is an angle (expected a number without {typed.unit})")
    return [typed.value for typed in values]


def split_numbers(text: str) -> list[str]:
    return [part for part in re.split(r"[,\s]+", text.strip().strip("[]()")) if part]


def shorten_list(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= 12 else f"{', '.join(names[:10])}, ... {names[-1]}"


def parse_states(robot: lw.Robot, given: Mapping[str, tuple[str, str | None]], degrees: bool) -> list[Any]:
    """The arrays of each option: (nq,), (n,), or (rows, ...) from a table; None where it is not given.

    `given` maps an option to its quantity ("q", "qd", "qdd" or "tau") and its text. Columns that no option reads give a
    warning.
    """
    values = [
        None if text is None else Quantity(robot, word, option, degrees and word != "tau").state(text)
        for option, (word, text) in given.items()
    ]
    warn_of_unread_columns(robot, given)
    return values


class Quantity(NamedTuple):
    """The quantity of an option: q, qd, qdd or tau of a robot, its angles in radians or in degrees."""

    robot: lw.Robot
    word: str
    option: str
    degrees: bool

    @property
    def names(self) -> Sequence[str]:
        return self.robot.q_names if self.word == "q" else self.robot.v_names

    @property
    def places(self) -> dict[str, int]:
        """Positions of the numbers, by name of the joint or its link."""
        return coordinate_indices(self.robot, self.word)

    @property
    def every(self) -> str:
        """The names of joints, and of links where these differ."""
        links = [name for name in self.places if name not in self.names]
        return shorten_list(self.names) + (f", or their links {shorten_list(links)}" if links else "")

    @property
    def examples(self) -> str:
        """Numbers as they may be typed: with degrees if some are angles."""
        return ANGLE if self.word != "tau" and any(angle_mask(self.robot, self.word)) else OTHER

    def state(self, text: str) -> Any:
        names, option = self.names, self.option
        if text.startswith("@"):
            values = self.rows(Path(text[1:]))
            return np.where(angle_mask(self.robot, self.word), np.radians(values), values) if self.degrees else values
        if text.lower().endswith(".csv") or os.path.isfile(text):  # of long texts Path.is_file raises
            raise ValueError(f"{option}: {text!r} is a file (expected @{text})")
        parts = split_numbers(text)
        if any("=" in part for part in parts):
            return self.by_name(parts)
        typed = [parse_number(part, option, self.examples) for part in parts]
        if len(typed) != len(names):
            raise ValueError(
                f"{option} has {len(typed)} numbers (expected {len(names)} for robot {self.robot.name!r}:"
                f" {shorten_list(names)}; or some by name, as in {option} {names[-1]}=0.1)"
            )
        return np.array([self.value(k, x) for k, x in enumerate(typed)])

    def by_name(self, parts: Sequence[str]) -> Any:
        """Numbers by name. The others are those of the neutral configuration, or zero."""
        values = np.array(lw.neutral(self.robot), dtype=float) if self.word == "q" else np.zeros(self.robot.n)
        known, given = self.places, dict[int, str]()
        for part in parts:
            name, equals, text = part.partition("=")
            if not equals:
                example = f"{self.names[-1]}=0.1"
                raise ValueError(f"{self.option}: {part!r} stands among joints by name (expected such as {example})")
            if name not in known:
                wrong = f"there is no {name!r}{near_miss(name, known)}"
                raise ValueError(f"{self.option}: {wrong} (expected one of {self.every})")
            k = known[name]
            if k in given:
                before = f", by its link {name!r} too" if given[k] != name else ""
                raise ValueError(f"{self.option}: {self.names[k]!r} is given twice{before} (expected once)")
            given[k] = name
            values[k] = self.value(k, parse_number(text, f"{self.option} {name}", self.examples))
        return values

    def value(self, k: int, typed: Typed) -> float:
        """Number k, in radians where it is an angle."""
        turns = angle_mask(self.robot, self.word)[k]
        if typed.unit and (self.word == "tau" or not turns):
            lengths = [s.q if self.word == "q" else s.v for link, s in self.robot.driving if not link.joint.angular]
            what, wanted = "is not an angle", "a number"
            if self.word == "tau":
                what = "is a torque or force, not an angle"
            elif k in lengths:
                what, wanted = "slides", EXPECTED[self.word]
            raise ValueError(f"{self.option}: {self.names[k]!r} {what} (expected {wanted}, without {typed.unit})")
        return math.radians(typed.value) if self.degrees and turns and not typed.in_radians else typed.value

    def rows(self, file: Path) -> Any:
        """Rows of a table: columns q1, q2, ... (or names of joints or links, or no header and just the numbers)."""
        table = read_table(file)
        if not table.names:
            raise FileError(f"{file}: has no rows (expected {len(self.names)} columns of numbers)")
        if self.degrees:
            refuse_degrees(file, table.names)
        if all(map(is_number, table.names)):
            self.refuse_hidden_header(file)
            rows = table._replace(names=list(self.names), rows=[(table.line, table.names), *table.rows]).numbers()
        else:
            rows = table.numbers(picked=self.columns(table.where, table.names))
        if not rows:
            raise FileError(f"{file}: has a header and no rows")
        return np.array(rows[0] if len(rows) == 1 else rows)

    def refuse_hidden_header(self, file: Path) -> None:
        """Raise where column names stand in a comment: np.savetxt writes them there."""
        for line, names in comments_of(read_text(file)):
            cells = [cell.strip() for cell in names.split(",")]
            if any(map(is_canonical, canonical_names(f"{file}:{line}", cells, self.robot, self.word))):
                raise FileError(
                    f"{file}:{line}: {names!r} stands in a comment (expected a header without '#', or no names and the"
                    " numbers in the robot's order)"
                )

    def columns(self, where: str, head: list[str]) -> list[int]:
        """The columns of the numbers in a table with this header."""
        refuse_separator(where, head)
        wanted = Layout.of(self.robot).columns(self.word)
        names = canonical_header(self.robot, where, head, self.word)
        expected = f"{', '.join(wanted)}, or the names {self.every}"
        if "t" in names and self.option != f"--{self.word}":  # states are computed at every row
            history = f"; --torque-history {where.rpartition(':')[0]} takes torques over time" * (self.word == "tau")
            raise FileError(
                f"{where}: column {head[names.index('t')]!r} shows that the rows are a motion in time (expected states"
                f" for {self.option}, a row for each, without times: {expected}{history})"
            )
        for k, name in enumerate(names):
            if not is_canonical(name):
                close = near_miss(name, (*wanted, *self.places))
                raise FileError(f"{where}: column {name!r} belongs to no joint{close} (expected {expected})")
            if name in names[:k]:
                also = "" if head[k] == name else f", as {head[k]!r} too"
                raise FileError(f"{where}: column {head[names.index(name)]!r} occurs twice{also}")
        for name, given in zip(names, head, strict=True):
            if quantity_of(name) == self.word and name not in wanted:
                raise FileError(
                    f"{where}: column {given!r} is of no joint of robot {self.robot.name!r} (expected {expected})"
                )
        if set(wanted) <= set(names):
            return [names.index(name) for name in wanted]
        raise FileError(f"{where}: the columns are {', '.join(head)} (expected {expected})")


def canonical_header(robot: lw.Robot, where: str, head: list[str], word: str) -> list[str]:
    """The header in canonical names. Bare names of joints mean `word`, or q where another name is canonical."""
    return canonical_names(where, head, robot, bare="q" if any(map(is_canonical, head)) else word)


def warn_of_unread_columns(robot: lw.Robot, given: Mapping[str, tuple[str, str | None]]) -> None:
    """Warn of columns of tables that no option reads."""
    files: dict[str, list[str]] = {}
    for option, (_, text) in given.items():
        if text is not None and text.startswith("@"):
            files.setdefault(text[1:], []).append(option)
    layout = Layout.of(robot)
    for file, options in files.items():
        table, words = read_table(Path(file)), [given[option][0] for option in options]
        if all(map(is_number, table.names)):
            continue
        read = {"t", "trajectory", *(name for word in words for name in layout.columns(word))}
        names = canonical_header(robot, table.where, table.names, words[0])
        unread = [head for head, name in zip(table.names, names, strict=True) if name not in read]
        if unread:
            unused = [name for name, (word, x) in given.items() if x is None and {*layout.columns(word)} <= {*names}]
            would = f"; {' and '.join(f'{option} @{file}' for option in unused)} would" if unused else ""
            verb = "do" if options[1:] else "does"
            warn(f"{file}: {' and '.join(options)} {verb} not read {shorten_list(list(map(repr, unread)))}{would}")


def parse_columns(texts: list[str] | None) -> dict[str, list[str]] | None:
    """Columns by quantity, from texts such as q=left,right and t=stamp."""
    columns: dict[str, list[str]] = {}
    for text in texts or []:
        quantity, equals, names = text.partition("=")
        quantity = quantity.strip()
        if not equals or not names.strip() or quantity in columns:
            twice = " again" if quantity in columns else ""
            raise ValueError(f"--columns: {text!r}{twice} (expected q=NAME,NAME,..., and likewise t, qd, qdd or tau)")
        columns[quantity] = [name.strip() for name in names.split(",")]
    return columns or None


def parse_noise(robot: lw.Robot, text: str | None) -> list[float] | None:
    """The noise of each joint, from one number for all or one for each."""
    if text is None:
        return None
    values = [parse_number(part, "--noise") for part in split_numbers(text)]
    if len(values) not in (1, robot.n):
        raise ValueError(f"--noise has {len(values)} numbers (expected one, or {robot.n}: {', '.join(robot.v_names)})")
    torques = Quantity(robot, "tau", "--noise", False)
    return [torques.value(k, values[k % len(values)]) for k in range(robot.n)]


def parse_wrench(robot: lw.Robot, text: str | None) -> list[float] | dict[str, list[float]] | None:
    """A wrench on the tip, or by the name of a frame at its origin: moment, then force."""
    if text is None:
        return None
    numbers, at, frame = text.partition("@")
    values = parse_numbers(numbers, "--wrench")
    if len(values) != len(WRENCH):
        raise ValueError(f"--wrench has {len(values)} numbers (expected 6: {', '.join(WRENCH)}, in N m and N)")
    if at:
        return {frame: values}
    if len(robot.leaves) > 1:
        tips = [robot.links[k].name for k in robot.leaves]
        raise ValueError(
            f"--wrench {text}: robot {robot.name!r} has several tips: {shorten_list(tips)} (expected a link or frame,"
            f" as in --wrench {text}@{tips[0]}, at whose origin it acts)"
        )
    return values


def parse_limits(robot: lw.Robot, typed: Mapping[str, str | None], degrees: bool) -> dict[str, Any]:
    """The argument `limits=`, from the texts of each kind."""
    return {
        kind: quantity_limits(Quantity(robot, KINDS[kind], f"--{kind}", degrees and kind != "effort"), text)
        for kind, text in typed.items()
        if text is not None
    }


def quantity_limits(of: Quantity, text: str) -> Any:
    """Limits from one text for all joints, one for each, or some by name."""
    robot, option, parts, where = of.robot, of.option, split_numbers(text), coordinate_indices(of.robot, "qd")
    example = "-1.5:1.5" if of.word == "q" else "1.5"

    def limit(text: str, joint: int) -> Any:
        ends = text.split(":")
        if len(ends) != (2 if of.word == "q" else 1):
            raise ValueError(f"{option}: {text!r} is not a limit (expected such as {example})")
        values = [
            of.value(joint, Typed(ENDLESS[x], True) if x in ENDLESS else parse_number(x, option, of.examples))
            for x in ends
        ]
        return tuple(values) if of.word == "q" else values[0]

    if any("=" in part for part in parts):
        given: dict[str, Any] = {}
        for part in parts:
            name, equals, value = part.partition("=")
            if not equals or name not in where:
                wrong = f"there is no {name!r}{near_miss(name, where)}" if equals else f"{part!r} has no name"
                raise ValueError(f"{option}: {wrong} (expected such as {robot.v_names[-1]}={example})")
            given[name] = limit(value, where[name])
        return given
    if len(parts) not in (1, robot.n):
        counts = f"one for all joints, or {robot.n}: {', '.join(robot.v_names)}" if robot.n > 1 else "one"
        raise ValueError(f"{option} has {len(parts)} limits (expected {counts})")
    return [limit(parts[k % len(parts)], k) for k in range(robot.n)]
