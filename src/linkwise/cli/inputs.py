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
from ..robot.layout import Layout, angles, canonical_names, is_canonical, places, refuse_degrees
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
    if match := PLAIN.fullmatch(text.strip()):
        sign, digits, degrees = match.groups()
        value = float(sign + digits)
        if not math.isfinite(value):
            raise ValueError(f"{what}: {text.strip()!r} is too large (expected a finite number)")
        return Typed(math.radians(value), True, True) if degrees else Typed(value)
    if match := PI.fullmatch(text.strip()):
        sign, factor, divisor = match.groups()
        value = float(factor or 1.0) * math.pi / float(divisor or 1.0)
        return Typed(-value if sign == "-" else value, True)
    raise ValueError(f"{what}: {text.strip()!r} is not a number (expected such as 0.5, -1e-3, pi/2 or 30deg)")


def numbers(text: str, what: str) -> list[float]:
    """Numbers between commas or spaces, none of them an angle."""
    found = [number(part, what) for part in split(text)]
    for part, typed in zip(split(text), found, strict=True):
        if typed.degrees:
            raise ValueError(f"{what}: {part!r} is no angle here (expected a number without deg)")
    return [typed.value for typed in found]


def split(text: str) -> list[str]:
    return [part for part in re.split(r"[,\s]+", text.strip().strip("[]()")) if part]


def states(arm: lw.Robot, given: Mapping[str, tuple[str, str | None]], degrees: bool) -> list[Any]:
    """What was typed for each option, with the word that it reads; a warning of columns that none of them reads."""
    found = [
        None if text is None else state(arm, text, word, option, degrees and word != "tau")
        for option, (word, text) in given.items()
    ]
    warn_of_unread(arm, given)
    return found


def state(arm: lw.Robot, text: str, word: str, option: str, degrees: bool) -> Any:
    """An array (nq,) or (n,), or (rows, ...) from a table."""
    names = arm.q_names if word == "q" else arm.v_names
    turning = angles(arm, word)
    if text.startswith("@"):
        values = read_states(arm, Path(text[1:]), word, option, degrees)
        return np.where(turning, np.radians(values), values) if degrees else values
    parts = split(text)
    if any("=" in part for part in parts):
        return named(arm, parts, word, option, degrees)
    typed = [number(part, option) for part in parts]
    if len(typed) != len(names):
        raise ValueError(
            f"{option} has {len(typed)} numbers (expected {len(names)} for robot {arm.name!r}: {listed(names)};"
            f" or some by name, as in {option} {names[-1]}=0.1)"
        )
    return np.array([converted(arm, word, k, x, option, degrees) for k, x in enumerate(typed)])


def named(arm: lw.Robot, parts: Sequence[str], word: str, option: str, degrees: bool) -> Any:
    """Some numbers by name; the others are as in the neutral configuration, or zero."""
    names = arm.q_names if word == "q" else arm.v_names
    values = np.array(lw.neutral(arm), dtype=float) if word == "q" else np.zeros(arm.n)
    known = places(arm, word)
    given: dict[int, str] = {}
    for part in parts:
        name, equals, text = part.partition("=")
        if not equals:
            raise ValueError(f"{option}: {part!r} stands among joints by name (expected such as {names[-1]}=0.1)")
        if name not in known:
            raise ValueError(
                f"{option}: there is no {name!r}{near_miss(name, known)} (expected one of {all_listed(arm, word)})"
            )
        k = known[name]
        if k in given:
            before = f", by its link {name!r} too" if given[k] != name else ""
            raise ValueError(f"{option}: {names[k]!r} is given twice{before} (expected once)")
        given[k] = name
        values[k] = converted(arm, word, k, number(text, f"{option} {name}"), option, degrees)
    return values


def converted(arm: lw.Robot, word: str, k: int, typed: Typed, option: str, degrees: bool) -> float:
    """Number k of a state, in radians where it is an angle."""
    turns = angles(arm, word)[k]
    if typed.degrees and (word == "tau" or not turns):
        name = (arm.q_names if word == "q" else arm.v_names)[k]
        what = (
            "is a torque or force, no angle" if word == "tau" else "slides" if slides(arm, word, k) else "is no angle"
        )
        expected = EXPECTED.get(word, "a number") if what == "slides" else "a number"
        raise ValueError(f"{option}: {name!r} {what} (expected {expected}, without deg)")
    return math.radians(typed.value) if degrees and turns and not typed.own else typed.value


def slides(arm: lw.Robot, word: str, k: int) -> bool:
    """Whether a number is a length; those of quaternions are none."""
    places_ = {slot.q if word == "q" else slot.v for link, slot in arm.driving if not link.joint.angular}
    return k in places_


def listed(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= 12 else f"{', '.join(names[:10])}, ... {names[-1]}"


def all_listed(arm: lw.Robot, word: str) -> str:
    """The names of joints, and those of links where they are others."""
    names = arm.q_names if word == "q" else arm.v_names
    links = [name for name in places(arm, word) if name not in names]
    return listed(names) + (f", or their links {listed(links)}" if links else "")


def read_states(arm: lw.Robot, file: Path, word: str, option: str, degrees: bool) -> Any:
    """Rows of a table: columns q1, q2, ... (or names of joints or links, or no header and just the numbers)."""
    names = arm.q_names if word == "q" else arm.v_names
    table = read_table(file)
    if not table.names:
        raise FileError(f"{file}: has no rows (expected {len(names)} columns of numbers)")
    if degrees:
        refuse_degrees(file, table.names)
    if all(map(is_number, table.names)):
        refuse_hidden_header(arm, file, word)
        rows = table._replace(names=list(names), rows=[(table.line, table.names), *table.rows]).numbers()
    else:
        rows = table.numbers(picked=columns(arm, table.where, table.names, word, option))
    if not rows:
        raise FileError(f"{file}: has a header and no rows")
    return np.array(rows[0] if len(rows) == 1 else rows)


def refuse_hidden_header(arm: lw.Robot, file: Path, word: str) -> None:
    """Raise an error for names of columns in a comment, where np.savetxt writes them."""
    for line, names in comments_of(read_text(file)):
        cells = [cell.strip() for cell in names.split(",")]
        if any(map(is_canonical, canonical_names(f"{file}:{line}", cells, arm, word))):
            raise FileError(
                f"{file}:{line}: {names!r} stands in a comment (expected a header without '#', or no names and the"
                " numbers in the robot's order)"
            )


def columns(arm: lw.Robot, where: str, head: list[str], word: str, option: str) -> list[int]:
    """Where the numbers of a state stand in a table with this header."""
    refuse_separator(where, head)
    wanted, known = Layout.of(arm).columns(word), places(arm, word)
    own = own_names(arm, where, head, word)
    if "t" in own and option != f"--{word}":  # which is computed at every row
        raise FileError(
            f"{where}: column {head[own.index('t')]!r} shows that the rows are a motion in time (expected states for"
            f" {option}, a row for each, without times: {expected(arm, wanted, word)})"
        )
    for k, name in enumerate(own):
        if not is_canonical(name):
            close = near_miss(name, (*wanted, *known))
            raise FileError(f"{where}: column {name!r} is of no joint{close} (expected {expected(arm, wanted, word)})")
        if name in own[:k]:
            also = "" if head[k] == name else f", as {head[k]!r} too"
            raise FileError(f"{where}: column {head[own.index(name)]!r} occurs twice{also}")
    if set(wanted) <= set(own):
        return [own.index(name) for name in wanted]
    raise FileError(f"{where}: the columns are {', '.join(head)} (expected {expected(arm, wanted, word)})")


def own_names(arm: lw.Robot, where: str, head: list[str], word: str) -> list[str]:
    """The header in our own names; joints alone are columns of this word, unless others have names of ours."""
    return canonical_names(where, head, arm, bare="q" if any(map(is_canonical, head)) else word)


def warn_of_unread(arm: lw.Robot, given: Mapping[str, tuple[str, str | None]]) -> None:
    """Say which columns of tables are not read. `given`: options, each with the word that it reads and its text."""
    files: dict[str, list[str]] = {}
    for option, (_, text) in given.items():
        if text is not None and text.startswith("@"):
            files.setdefault(text[1:], []).append(option)
    layout = Layout.of(arm)
    for file, options in files.items():
        table, words = read_table(Path(file)), [given[option][0] for option in options]
        if all(map(is_number, table.names)):
            continue
        read = {"t", "trajectory", *(name for word in words for name in layout.columns(word))}
        own = own_names(arm, table.where, table.names, words[0])
        left = [head for head, name in zip(table.names, own, strict=True) if name not in read]
        if not left:
            continue
        free = [
            option for option, (word, text) in given.items() if text is None and set(layout.columns(word)) <= {*own}
        ]
        others = [f"{option} @{file}" for option in free]
        would = f"; {' and '.join(others)} would" if others else ""
        verb = "do" if options[1:] else "does"
        warn(f"{file}: {' and '.join(options)} {verb} not read {listed(list(map(repr, left)))}{would}")


def expected(arm: lw.Robot, wanted: Sequence[str], word: str) -> str:
    return f"{', '.join(wanted)}, or the names {all_listed(arm, word)}"


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


def limits_of(arm: lw.Robot, typed: Mapping[str, str | None], degrees: bool) -> dict[str, Any]:
    """For `limits=`, what was typed for each kind."""
    return {kind: of_kind(arm, text, kind, degrees) for kind, text in typed.items() if text is not None}


def noise_of(arm: lw.Robot, text: str | None) -> list[float] | None:
    """One for each joint of what was typed for all, or for each."""
    if text is None:
        return None
    values = [number(part, "--noise") for part in split(text)]
    if len(values) not in (1, arm.n):
        raise ValueError(f"--noise has {len(values)} numbers (expected one, or {arm.n}: {', '.join(arm.v_names)})")
    return [converted(arm, "tau", k, values[k % len(values)], "--noise", False) for k in range(arm.n)]


def of_kind(arm: lw.Robot, text: str, kind: str, degrees: bool) -> Any:
    option, parts, where = f"--{kind}", split(text), places(arm, "qd")
    if any("=" in part for part in parts):
        given: dict[str, Any] = {}
        for part in parts:
            name, equals, value = part.partition("=")
            if not equals or name not in where:
                wrong = f"there is no {name!r}{near_miss(name, where)}" if equals else f"{part!r} has no name"
                raise ValueError(f"{option}: {wrong} (expected such as {arm.v_names[-1]}={example(kind)})")
            given[name] = limit(arm, value, kind, where[name], degrees)
        return given
    if len(parts) not in (1, arm.n):
        counts = f"one for all joints, or {arm.n}: {', '.join(arm.v_names)}" if arm.n > 1 else "one"
        raise ValueError(f"{option} has {len(parts)} limits (expected {counts})")
    return [limit(arm, parts[k % len(parts)], kind, k, degrees) for k in range(arm.n)]


def limit(arm: lw.Robot, text: str, kind: str, joint: int, degrees: bool) -> Any:
    ends = text.split(":")
    if len(ends) != (2 if kind == "position" else 1):
        raise ValueError(f"--{kind}: {text!r} is no limit (expected such as {example(kind)})")
    values = [end(arm, part, kind, joint, degrees) for part in ends]
    return tuple(values) if kind == "position" else values[0]


def end(arm: lw.Robot, text: str, kind: str, joint: int, degrees: bool) -> float:
    typed = Typed(ENDLESS[text], True) if text in ENDLESS else number(text, f"--{kind}")
    return converted(arm, KINDS[kind], joint, typed, f"--{kind}", degrees and kind != "effort")


def example(kind: str) -> str:
    return "-1.5:1.5" if kind == "position" else "1.5"
