"""Numbers as they are typed: `0.1,pi/2,-30deg`, `link2=0.5`, `@states.csv`; limits: `1,2,3`, `link2=-90deg:90deg`."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import linkwise as lw

from ..errors import FileError, near_miss
from ..robot.layout import Layout, angle_mask, canonical_names, coordinate_indices, is_canonical, refuse_degrees
from ..tables import comments_of, is_number, read_table, read_text, refuse_separator
from .screen import warn

NUMBER = r"[0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+\."
PLAIN = re.compile(rf"([+-]?)({NUMBER})\s*(deg|°)?")
PI = re.compile(rf"([+-]?)(?:({NUMBER})\s*\*?\s*)?pi(?:\s*/\s*({NUMBER}))?")

EXPECTED = {"q": "metres", "qd": "metres per second", "qdd": "m/s²"}
KINDS = {"position": "q", "velocity": "qd", "acceleration": "qdd", "effort": "tau"}  # of limits; what has their units
ENDLESS = {"inf": math.inf, "+inf": math.inf, "-inf": -math.inf}


class Typed(NamedTuple):
    """A number; `own` where it says of itself that it is in degrees or a multiple of pi, so in radians."""

    value: float
    own: bool = False
    degrees: bool = False


def number(text: str, what: str) -> Typed:
    text = text.strip()
    if match := PLAIN.fullmatch(text):
        sign, digits, degrees = match.groups()
        value = float(digits)
        found = Typed(math.radians(value), True, True) if degrees else Typed(value)
    elif (match := PI.fullmatch(text)) and float(match[3] or 1.0):
        sign, factor, divisor = match.groups()
        found = Typed(float(factor or 1.0) * math.pi / float(divisor or 1.0), True)
    else:
        raise ValueError(f"{what}: {text!r} is not a number (expected such as 0.5, -1e-3, pi/2 or 30deg)")
    if not math.isfinite(found.value):
        raise ValueError(f"{what}: {text!r} is too large (expected a finite number)")
    return found._replace(value=-found.value) if sign == "-" else found


def numbers(text: str, what: str) -> list[float]:
    """Numbers between commas or spaces, none of them an angle."""
    found = [number(part, what) for part in split(text)]
    for part, typed in zip(split(text), found, strict=True):
        if typed.degrees:
            raise ValueError(f"{what}: {part!r} is no angle here (expected a number without deg)")
    return [typed.value for typed in found]


def split(text: str) -> list[str]:
    return [part for part in re.split(r"[,\s]+", text.strip().strip("[]()")) if part]


def listed(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= 12 else f"{', '.join(names[:10])}, ... {names[-1]}"


def states(robot: lw.Robot, given: Mapping[str, tuple[str, str | None]], degrees: bool) -> list[Any]:
    """What was typed for each option, with the word that it reads: (nq,), (n,), or (rows, ...) from a table.

    Columns that none of the options reads are warned of.
    """
    found = [
        None if text is None else Quantity(robot, word, option, degrees and word != "tau").state(text)
        for option, (word, text) in given.items()
    ]
    warn_of_unread(robot, given)
    return found


class Quantity(NamedTuple):
    """What the text of an option stands for: q, qd, qdd or tau of a robot, its angles in radians or in degrees."""

    robot: lw.Robot
    word: str
    option: str
    degrees: bool

    @property
    def names(self) -> Sequence[str]:
        return self.robot.q_names if self.word == "q" else self.robot.v_names

    @property
    def places(self) -> dict[str, int]:
        """Where the number of each joint is, or of its link."""
        return coordinate_indices(self.robot, self.word)

    @property
    def every(self) -> str:
        """The names of joints, and those of links where they are others."""
        links = [name for name in self.places if name not in self.names]
        return listed(self.names) + (f", or their links {listed(links)}" if links else "")

    def state(self, text: str) -> Any:
        names, option = self.names, self.option
        if text.startswith("@"):
            values = self.rows(Path(text[1:]))
            return np.where(angle_mask(self.robot, self.word), np.radians(values), values) if self.degrees else values
        parts = split(text)
        if any("=" in part for part in parts):
            return self.by_name(parts)
        typed = [number(part, option) for part in parts]
        if len(typed) != len(names):
            raise ValueError(
                f"{option} has {len(typed)} numbers (expected {len(names)} for robot {self.robot.name!r}:"
                f" {listed(names)}; or some by name, as in {option} {names[-1]}=0.1)"
            )
        return np.array([self.value(k, x) for k, x in enumerate(typed)])

    def by_name(self, parts: Sequence[str]) -> Any:
        """Some numbers by name; the others are as in the neutral configuration, or zero."""
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
            values[k] = self.value(k, number(text, f"{self.option} {name}"))
        return values

    def value(self, k: int, typed: Typed) -> float:
        """Number k, in radians where it is an angle."""
        turns = angle_mask(self.robot, self.word)[k]
        if typed.degrees and (self.word == "tau" or not turns):
            lengths = [s.q if self.word == "q" else s.v for link, s in self.robot.driving if not link.joint.angular]
            what, wanted = "is no angle", "a number"
            if self.word == "tau":
                what = "is a torque or force, no angle"
            elif k in lengths:
                what, wanted = "slides", EXPECTED[self.word]
            raise ValueError(f"{self.option}: {self.names[k]!r} {what} (expected {wanted}, without deg)")
        return math.radians(typed.value) if self.degrees and turns and not typed.own else typed.value

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
        """Raise an error for names of columns in a comment, where np.savetxt writes them."""
        for line, names in comments_of(read_text(file)):
            cells = [cell.strip() for cell in names.split(",")]
            if any(map(is_canonical, canonical_names(f"{file}:{line}", cells, self.robot, self.word))):
                raise FileError(
                    f"{file}:{line}: {names!r} stands in a comment (expected a header without '#', or no names and the"
                    " numbers in the robot's order)"
                )

    def columns(self, where: str, head: list[str]) -> list[int]:
        """Where the numbers stand in a table with this header."""
        refuse_separator(where, head)
        wanted = Layout.of(self.robot).columns(self.word)
        own = own_names(self.robot, where, head, self.word)
        expected = f"{', '.join(wanted)}, or the names {self.every}"
        if "t" in own and self.option != f"--{self.word}":  # which is computed at every row
            raise FileError(
                f"{where}: column {head[own.index('t')]!r} shows that the rows are a motion in time (expected states"
                f" for {self.option}, a row for each, without times: {expected})"
            )
        for k, name in enumerate(own):
            if not is_canonical(name):
                close = near_miss(name, (*wanted, *self.places))
                raise FileError(f"{where}: column {name!r} is of no joint{close} (expected {expected})")
            if name in own[:k]:
                also = "" if head[k] == name else f", as {head[k]!r} too"
                raise FileError(f"{where}: column {head[own.index(name)]!r} occurs twice{also}")
        if set(wanted) <= set(own):
            return [own.index(name) for name in wanted]
        raise FileError(f"{where}: the columns are {', '.join(head)} (expected {expected})")


def own_names(robot: lw.Robot, where: str, head: list[str], word: str) -> list[str]:
    """The header in our own names; joints alone are columns of this word, unless others have names of ours."""
    return canonical_names(where, head, robot, bare="q" if any(map(is_canonical, head)) else word)


def warn_of_unread(robot: lw.Robot, given: Mapping[str, tuple[str, str | None]]) -> None:
    """Say which columns of tables are not read."""
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
        own = own_names(robot, table.where, table.names, words[0])
        left = [head for head, name in zip(table.names, own, strict=True) if name not in read]
        if left:
            free = [name for name, (word, x) in given.items() if x is None and {*layout.columns(word)} <= {*own}]
            would = f"; {' and '.join(f'{option} @{file}' for option in free)} would" if free else ""
            verb = "do" if options[1:] else "does"
            warn(f"{file}: {' and '.join(options)} {verb} not read {listed(list(map(repr, left)))}{would}")


def named_columns(texts: list[str] | None) -> dict[str, list[str]] | None:
    """Of q=left,right and t=stamp."""
    found: dict[str, list[str]] = {}
    for text in texts or []:
        quantity, equals, names = text.partition("=")
        quantity = quantity.strip()
        if not equals or not names.strip() or quantity in found:
            twice = " again" if quantity in found else ""
            raise ValueError(f"--columns: {text!r}{twice} (expected q=NAME,NAME,..., and likewise t, qd, qdd or tau)")
        found[quantity] = [name.strip() for name in names.split(",")]
    return found or None


def noise_of(robot: lw.Robot, text: str | None) -> list[float] | None:
    """One for each joint of what was typed for all, or for each."""
    if text is None:
        return None
    values = [number(part, "--noise") for part in split(text)]
    if len(values) not in (1, robot.n):
        raise ValueError(f"--noise has {len(values)} numbers (expected one, or {robot.n}: {', '.join(robot.v_names)})")
    torques = Quantity(robot, "tau", "--noise", False)
    return [torques.value(k, values[k % len(values)]) for k in range(robot.n)]


def limits_of(robot: lw.Robot, typed: Mapping[str, str | None], degrees: bool) -> dict[str, Any]:
    """For `limits=`, what was typed for each kind."""
    return {
        kind: limits(Quantity(robot, KINDS[kind], f"--{kind}", degrees and kind != "effort"), text)
        for kind, text in typed.items()
        if text is not None
    }


def limits(of: Quantity, text: str) -> Any:
    """One for each joint of what was typed for all, or for each; or some by name."""
    robot, option, parts, where = of.robot, of.option, split(text), coordinate_indices(of.robot, "qd")
    example = "-1.5:1.5" if of.word == "q" else "1.5"

    def limit(text: str, joint: int) -> Any:
        ends = text.split(":")
        if len(ends) != (2 if of.word == "q" else 1):
            raise ValueError(f"{option}: {text!r} is no limit (expected such as {example})")
        values = [of.value(joint, Typed(ENDLESS[x], True) if x in ENDLESS else number(x, option)) for x in ends]
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
