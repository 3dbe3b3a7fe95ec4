"""Measured samples of one recording: equally spaced in time, checked."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..robot import Robot
from .plausibility import dead, held, outside_limits, unwrapped
from .units import Unit, converted

JITTER = 1e-3  # of the period: times that are this regular are regular
GAP, BRIDGED = 4.5, 0.02  # periods, and seconds, without a sample: a gap longer than both is not filled
LEAST = 20  # samples
SLOWEST = 0.2  # s: times further apart are likely to be milliseconds, of 5 kHz and less
MASKED = "masked"
INDEX = "; the index of a DataFrame is the time if it is named so: data.rename_axis('t'), or reset_index()"
Arrays = dict[str, Any]


@dataclass(frozen=True)
class Recorded:
    """What one recording holds, t, q, qd, qdd and tau as they were found, and the units that its columns' names say."""

    values: Arrays
    name: str
    units: dict[str, list[Unit | None]] = field(default_factory=dict)
    columns: tuple[str, ...] = ()  # all that there are
    index: bool = False  # whether it is a DataFrame whose index could be the time

    def without(self, *quantities: str) -> Recorded:
        return replace(self, values={key: value for key, value in self.values.items() if key not in quantities})


@dataclass(frozen=True)
class Samples:
    """q (N, nq), tau (N, n) and, where recorded, qd and qdd (N, n), every `period` seconds from `start` on."""

    start: float
    period: float
    q: np.ndarray
    tau: np.ndarray
    qd: np.ndarray | None
    qdd: np.ndarray | None
    name: str
    resampled: bool = False  # whether times were irregular, so that values were interpolated
    part: bool = False  # whether it is what is between two gaps of a recording
    notes: tuple[str, ...] = ()  # what was changed, and what looks wrong

    @property
    def rate(self) -> float:
        return 1.0 / self.period

    @property
    def t(self) -> np.ndarray:
        return np.asarray(self.start + self.period * np.arange(len(self.q)))


def samples_of(
    arm: Robot, recorded: Recorded, period: float | None, degrees: bool, gains: Any, delay: float = 0.0
) -> list[Samples]:
    """The samples of a recording, in SI units: of each part, if there are long gaps between some."""
    values, name, units = recorded.values, recorded.name, dict(recorded.units)
    for quantity in ("q", "tau"):
        if values.get(quantity) is None:
            raise ValueError(
                f"{name}: there is no {quantity!r} (expected t, q and tau and, if recorded, qd and qdd; there is"
                f" {', '.join(key for key, value in values.items() if value is not None) or 'nothing'})"
            )
    count = len(np.atleast_1d(values["q"])) if values.get("t") is None else np.size(values["t"])
    arrays = {
        quantity: checked(arm, values.get(quantity), quantity, count, name) for quantity in ("q", "qd", "qdd", "tau")
    }
    if count < LEAST:
        raise ValueError(f"{name}: has {count} samples (expected at least {LEAST}, and better thousands)")
    t, own = times(recorded, count, period)
    given = {quantity: array for quantity, array in arrays.items() if array is not None}
    if gains is not None:
        units.pop("tau", None)  # the factors are from what was recorded, whatever its unit is
    given, conversions = converted(
        arm, given, {k: spread(u, given[k]) for k, u in units.items() if k in given}, degrees, name
    )
    unit = units.get("t", [None])[0]
    if unit is not None and unit.factor != 1.0:
        conversions.insert(0, f"t from {unit.text}")
    notes = [f"{name}: converted by the names of the columns: {', '.join(conversions)}"] if conversions else []
    if gains is not None:
        given["tau"] = given["tau"] * checked_gains(arm, gains)
    notes += dead(arm, given["tau"], name)
    notes += [note for quantity in ("q", "tau") for note in held(quantity, given[quantity], name)]
    cuts = np.array([], dtype=int) if t is None else long_gaps(t, own)
    given["q"], unwrapping = unwrapped(arm, given["q"], name, cuts)
    notes += [*unwrapping, *outside_limits(arm, given["q"], name)]
    if t is not None:
        notes += notes_on_gaps(t, own, cuts, name)
    ends = [0, *(cuts + 1), count]
    parts = [slice(a, b) for a, b in itertools.pairwise(ends) if b - a >= LEAST]
    if not parts:
        raise ValueError(f"{name}: no part between two gaps has {LEAST} samples (expected longer ones)")
    result = []
    for k, part in enumerate(parts):
        own_name = name if not len(cuts) else f"{name}, rows {part.start} to {part.stop - 1}"
        values = {quantity: array[part] for quantity, array in given.items()}
        samples = equally_spaced(values, None if t is None else t[part], own, own_name, delay)
        result.append(replace(samples, part=bool(len(cuts)), notes=tuple(notes) if k == 0 else ()))
    return result


def equally_spaced(
    given: dict[str, np.ndarray], t: np.ndarray | None, period: float, name: str, delay: float
) -> Samples:
    """Samples without long gaps, resampled where times are irregular."""
    resampled = False
    if t is not None:
        grid = np.linspace(t[0], t[-1], 1 + round((t[-1] - t[0]) / period))
        period = float(grid[1] - grid[0])
        if len(grid) != len(t) or np.abs(t - grid).max() > JITTER * period:
            given = {quantity: interpolated(grid, t, array) for quantity, array in given.items()}
            resampled = True
    start = 0.0 if t is None else float(t[0])
    if delay:
        given, cut = advanced(given, delay / period, name)
        start += cut * period
    return Samples(start, period, given["q"], given["tau"], given.get("qd"), given.get("qdd"), name, resampled)


def long_gaps(t: np.ndarray, period: float) -> np.ndarray:
    """The rows after which too long a time passes to be filled."""
    return np.flatnonzero(np.diff(t) > max(GAP * period, BRIDGED))


def notes_on_gaps(t: np.ndarray, period: float, cuts: np.ndarray, name: str) -> list[str]:
    steps, notes = np.diff(t), []
    filled = np.setdiff1d(np.flatnonzero(steps > GAP * period), cuts)
    if len(filled):
        notes.append(
            f"{name}: no samples for up to {steps[filled].max():.2g} s in {len(filled)}"
            f" place{'s' * (len(filled) != 1)}, first after row {filled[0]}: filled by interpolation"
        )
    if len(cuts):
        short = np.diff([-1, *cuts, len(t) - 1]) < LEAST
        more = "" if len(cuts) == 1 else f" and {len(cuts) - 1} more gap{'s' * (len(cuts) > 2)}"
        lost = f"; parts of less than {LEAST} samples are left out" if short.any() else ""
        notes.append(
            f"{name}: no sample for {steps[cuts[0]]:.4g} s after t = {t[cuts[0]]:.6g} s{more}: the parts between gaps"
            f" are taken as separate recordings{lost}"
        )
    return notes


def spread(units: list[Unit | None], array: np.ndarray) -> list[Unit | None]:
    """One unit for each column; an array of all joints has one in all."""
    return units * array.shape[1] if len(units) == 1 else units


def advanced(given: dict[str, np.ndarray], steps: float, name: str) -> tuple[dict[str, np.ndarray], int]:
    """The torques of so many samples later beside the motion; the ends that have no partner are cut off."""
    count, k = len(given["q"]), np.arange(len(given["q"]), dtype=float)
    inside = (k + steps >= 0.0) & (k + steps <= count - 1.0)
    if inside.sum() < LEAST:
        raise ValueError(f"{name}: a delay of {steps:.4g} samples leaves {inside.sum()} of {count} (in seconds?)")
    tau = interpolated(k[inside] + steps, k, given["tau"])
    return {**{key: value[inside] for key, value in given.items()}, "tau": tau}, int(np.argmax(inside))


def plain(value: Any) -> np.ndarray:
    """An array; the numbers that a mask hides must not be used."""
    if np.ma.is_masked(value):
        return np.where(np.ma.getmaskarray(value), MASKED, np.asarray(value.data, dtype=object))
    return np.asarray(value)


def checked(arm: Robot, value: Any, quantity: str, count: int, name: str) -> np.ndarray | None:
    if value is None:
        return None
    value = plain(value)
    if value.dtype.kind == "c":
        raise ValueError(f"{name}: {quantity} has complex numbers (expected floats)")
    hidden = value == MASKED if value.dtype == object else np.zeros(value.shape, dtype=bool)
    try:
        array = np.where(hidden, np.nan, value).astype(float) if hidden.any() else value.astype(float)
    except (TypeError, ValueError):
        raise ValueError(f"{name}: {quantity} is not an array of numbers (expected floats)") from None
    width = arm.nq if quantity == "q" else arm.n
    if array.ndim == 1 and width == 1:
        array = array[:, None]
    if array.shape != (count, width):
        hint = ""
        if array.shape == (width, count) and width != count:
            hint = "; it looks transposed: samples are rows"
        raise ValueError(
            f"{name}: {quantity} has the shape {array.shape} (expected ({count}, {width}): {count} samples of"
            f" {width} {'coordinates' if quantity == 'q' else 'joints'}{hint})"
        )
    bad = ~np.isfinite(array)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        joint = (arm.q_names if quantity == "q" else arm.v_names)[column]
        rows = int(bad.any(axis=1).sum())
        found = MASKED if hidden.reshape(array.shape)[row, column] else array[row, column]
        raise ValueError(
            f"{name}: {quantity} of {joint!r} is {found} in row {row}, {rows} row{'s' * (rows != 1)} in"
            " all (expected finite numbers: leave such rows out, times tell where they were, or cut the recording"
            " there and give the parts as a list)"
        )
    return array


def checked_gains(arm: Robot, gains: Any) -> np.ndarray:
    try:
        values = np.asarray(gains, dtype=float)
    except (TypeError, ValueError):
        values = np.array(np.nan)
    if values.shape not in ((), (arm.n,)) or not np.isfinite(values).all() or (values == 0.0).any():
        raise ValueError(
            f"gains is {gains!r} (expected a factor, or one for each of {arm.n} joints: torque = gain x recorded)"
        )
    return values


def times(recorded: Recorded, count: int, period: float | None) -> tuple[np.ndarray | None, float]:
    """The times, if there are, and the period between samples."""
    t, name = recorded.values.get("t"), recorded.name
    unit = recorded.units.get("t", [None])[0]
    if period is not None and not (is_number(period) and 0.0 < period < 1.0):
        raise ValueError(f"period is {period!r} (expected the time between samples in seconds, below 1)")
    if t is None:
        if period is None:
            among = f" among {listed(recorded.columns)}" if recorded.columns else ""
            raise ValueError(
                f"{name}: there is no time{among} (expected t, in seconds, columns={{'t': ...}}, which names it, or"
                f" period=...{INDEX if recorded.index else ''})"
            )
        return None, float(period)
    t = plain(t)
    if t.dtype == object and t.size and hasattr(t.flat[0], "tzinfo"):  # dates with a time zone
        t = np.array([date - t.flat[0] for date in t.flat], dtype="timedelta64[ns]")
    dates = t.dtype.kind in ("M", "m")
    if unit is not None and unit.of != "time":
        raise ValueError(f"{name}: the time is in {unit.text}, by the name of its column (expected s, ms, us or ns)")
    if t.dtype.kind == "M":  # dates
        t = (t - t[:1]) / np.timedelta64(1, "s")
    elif t.dtype.kind == "m":
        t = t / np.timedelta64(1, "s")
    try:
        t = np.where(t == MASKED, np.nan, t) if t.dtype == object else t
        t = t.astype(float).reshape(-1) * (1.0 if unit is None or dates else unit.factor)
    except (TypeError, ValueError):
        raise ValueError(f"{name}: t is not an array of numbers (expected seconds, or dates)") from None
    if not np.isfinite(t).all():
        raise ValueError(f"{name}: t is {t[~np.isfinite(t)][0]} in row {np.flatnonzero(~np.isfinite(t))[0]}")
    if period is not None:
        raise ValueError(f"{name}: has times t, and period is given too (expected one of them)")
    steps = np.diff(t)
    if not (steps > 0.0).all():
        row = int(np.flatnonzero(steps <= 0.0)[0])
        raise ValueError(
            f"{name}: t is {t[row + 1]:.9g} in row {row + 1}, after {t[row]:.9g} (expected increasing times; several"
            " recordings go in a list)"
        )
    usual = float(np.median(steps))
    if usual >= SLOWEST and not dates and (unit is None or not unit.text):
        raise ValueError(
            f"{name}: samples are {usual:.4g} apart in time (expected seconds: divide milliseconds by 1000, nanoseconds"
            " by 1e9, or name the column 't [ms]', or 't [s]' if these are seconds)"
        )
    spread = steps[(steps > 0.5 * usual) & (steps < 1.5 * usual)]
    return t, float(spread.mean())


def is_number(value: Any) -> bool:
    """Whether an option is one finite number."""
    real = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    return real and math.isfinite(value)


def listed(names: Iterable[str], most: int = 12) -> str:
    names = list(map(str, names))
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def interpolated(grid: np.ndarray, t: np.ndarray, values: np.ndarray) -> np.ndarray:
    """At other times, by the cubic through the four nearest samples."""
    first = np.clip(np.searchsorted(t, grid, side="right") - 2, 0, len(t) - 4)
    nodes = t[first[:, None] + np.arange(4)]
    result = np.zeros((len(grid), values.shape[1]))
    for i in range(4):
        weight = np.ones(len(grid))
        for j in range(4):
            if j != i:
                weight *= (grid - nodes[:, j]) / (nodes[:, i] - nodes[:, j])
        result += weight[:, None] * values[first + i]
    return result
