"""The contents of a recording, unchanged, and the units in the names of its columns."""

from __future__ import annotations

import math
import re
from collections.abc import Container, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from ..errors import is_real
from ..robot import Robot
from ..robot.layout import angle_mask

DEGREE, TURN = math.pi / 180.0, 2.0 * math.pi
NAMES = {  # by quantity: factors to SI with names of units, in lower case without blanks and points
    "angle": (
        (1.0, "rad rads radian radians"),
        (DEGREE, "deg degs degree degrees °"),
        (TURN, "rev revs turn turns"),
    ),
    "length": ((1.0, "m meter meters metre metres"), (1e-2, "cm"), (1e-3, "mm")),
    "torque": ((1.0, "nm"), (1e-3, "mnm nmm"), (1e-2, "ncm"), (1e3, "knm")),
    "force": ((1.0, "n"), (1e-3, "mn"), (1e3, "kn")),
    "time": (
        (1.0, "s sec secs second seconds"),
        (1e-3, "ms msec msecs millis millisecond milliseconds"),
        (1e-6, "us µs μs usec usecs micros microsecond microseconds"),
        (1e-9, "ns nsec nsecs nanos nanosecond nanoseconds"),
    ),
    "current": ((1.0, "a amp amps ampere amperes"), (1e-3, "ma")),
}
BASES = {name: (of, factor) for of, rows in NAMES.items() for factor, names in rows for name in names.split()}
RATES = {"rpm": TURN / 60.0, "dps": DEGREE, "rps": TURN}
PER = r"(?:/|_?per_?|_)(?:s|sec|second)(\^?2|\*\*2|²|/s)?|s(\^?-[12]|⁻[¹²])"
TEXT = re.compile(rf"([a-zµμ°]+?)(?:{PER})?")
BRACKETS = re.compile(r"[\[(]([^\[\]()]*)[\])]")
ANGLE = r"(?:deg|degs|degrees?|rad|radians?)(?:(?:/|[ _]per[ _]|[ _])s(?:ec)?(?:\^?2|²|/s)?)?"
WORD = re.compile(rf"(?<![a-z])(mnm|knm|nm|rpm|{ANGLE})(?![a-z])")  # units without brackets: no other words
UNKNOWN = re.compile(r"%|[A-Za-zµ]{1,12}(/\w+)?")  # in brackets
ORDER = {"q": 0, "qd": 1, "qdd": 2}
CALLED = {"angle": "an angle", "length": "a length", "torque": "a torque", "force": "a force"}


class Unit(NamedTuple):
    """A unit as written; `of` is its quantity ("" if unknown), `order` the power of time that it is divided by."""

    text: str
    of: str
    order: int = 0
    factor: float = 1.0


def unit_of(text: str) -> Unit | None:
    """The unit of a text such as "rad/s^2", or None."""
    plain = re.sub(r"[\s·⋅.]|(?<=n)[*-](?=m)", "", text.strip().lower())
    if plain in RATES:
        return Unit(text.strip(), "angle", 1, RATES[plain])
    match = TEXT.fullmatch(plain)
    if match is None or match[1] not in BASES or text.strip().startswith("MN"):  # MN is not mN
        return None
    of, factor = BASES[match[1]]
    order = 0
    if match.end(1) < len(plain):
        second = (match[2] or "").strip() or (match[3] or "")
        order = 2 if re.search(r"2|²|/s", second) else 1
    return Unit(text.strip(), of, order, factor)


def without_unit(name: str, words: Container[str] = ()) -> tuple[str, Unit | None]:
    """A column's name without its unit. Brackets that hold an index, or some of the `words`, are left as they are."""
    for match in BRACKETS.finditer(name):
        text = match[1].strip()
        unit = unit_of(text)
        if unit is None and UNKNOWN.fullmatch(text) and text.lower() not in words:
            unit = Unit(text, "")
        if unit is not None:
            return f"{name[: match.start()]} {name[match.end() :]}", unit
    word = WORD.search(name.lower())
    if word is None or not name[: word.start()].strip(" _./"):
        return name, None
    return f"{name[: word.start()]} {name[word.end() :]}", unit_of(word[1].replace(" ", "_"))


def converted(
    robot: Robot, given: dict[str, np.ndarray], units: dict[str, Sequence[Unit | None]], degrees: bool, where: str
) -> tuple[dict[str, np.ndarray], list[str]]:
    """The arrays in SI units and the conversions, by the units of columns; `degrees`: of angles without a unit."""
    arrays, conversions = dict(given), []
    strange = next((u for q in ORDER for u in units.get(q, ()) if u and u.of == "angle" and u.factor != 1.0), None)
    for quantity, values in given.items():
        turning = angle_mask(robot, "q" if quantity == "q" else "qd")
        names = robot.q_names if quantity == "q" else robot.v_names
        factors = np.ones(values.shape[1])
        for k, unit in enumerate(units.get(quantity) or [None] * values.shape[1]):
            joint = f"{quantity} of {names[k]!r}"
            if unit is None:
                if quantity not in ORDER or not turning[k]:
                    continue
                if strange is not None and not degrees:
                    raise ValueError(
                        f"{where}: some columns of {quantity} have no unit, and others are in {strange.text} (expected"
                        " units in the names of all columns of angles, or degrees=True)"
                    )
                factors[k] = DEGREE if degrees else 1.0
                continue
            check_unit(unit, quantity, turning[k], f"{where}: {joint}", degrees)
            factors[k] = unit.factor
            if unit.factor != 1.0 and f"{quantity} from {unit.text}" not in conversions:
                conversions.append(f"{quantity} from {unit.text}")
        if (factors != 1.0).any():
            arrays[quantity] = values * factors
    return arrays, conversions


def check_unit(unit: Unit, quantity: str, turning: bool, where: str, degrees: bool) -> None:
    if unit.of == "current" or (not unit.of and quantity == "tau"):
        raise ValueError(f"{where} is in {unit.text} (expected torques, or gains=..., the factors to torques)")
    turns, slides = ("torque", "force") if quantity == "tau" else ("angle", "length")
    wanted = turns if turning else slides
    if unit.of != wanted or (unit.order and unit.order != ORDER.get(quantity, 0)):
        raise ValueError(
            f"{where} is in {unit.text}, by the name of its column (expected {CALLED[wanted]}"
            f"{('', ' per second', ' per second squared')[ORDER.get(quantity, 0)]}, or a column of another name)"
        )
    if degrees and unit.of == "angle" and unit.factor == 1.0:
        raise ValueError(f"{where} is in {unit.text}, by the name of its column, and degrees=True is given")


LEAST = 20  # samples
MASKED = "masked"
Arrays = dict[str, Any]


@dataclass(frozen=True)
class Recorded:
    """One recording: t, q, qd, qdd and tau, unchanged, with the units in the names of its columns."""

    values: Arrays
    name: str
    units: dict[str, list[Unit | None]] = field(default_factory=dict)
    columns: tuple[str, ...] = ()  # all columns of the table
    index: bool = False  # whether it is a DataFrame whose index could be the time
    text: dict[str, str] = field(default_factory=dict)  # by quantity: a message on text in its columns
    simulated: bool = False  # so that torques of zero are torques
    notes: tuple[str, ...] = ()

    def without(self, *quantities: str) -> Recorded:
        return replace(self, values={key: value for key, value in self.values.items() if key not in quantities})


def plain(value: Any) -> np.ndarray:
    """An array; masked numbers must not be used."""
    if np.ma.is_masked(value):
        return np.where(np.ma.getmaskarray(value), MASKED, np.asarray(value.data, dtype=object))
    return np.asarray(value)


def is_number(value: Any) -> bool:
    """Whether an option is one finite number."""
    real = is_real(value)
    return real and math.isfinite(value)
