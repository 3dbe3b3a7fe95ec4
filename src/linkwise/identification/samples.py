"""Measured samples of one recording: equally spaced in time, checked."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..robot import Robot
from ..robot.layout import angle_mask, coordinate_indices, join_names, reorder_columns
from ..robot.named_arrays import refuse_gradients
from ..robot.scales import reach
from .plausibility import (
    held,
    held_rows,
    interpolated,
    long_gaps,
    notes_on_gaps,
    on_grid,
    outside_limits,
    saturated,
    times,
    unmeasured,
    unwrapped,
    usual_period,
)
from .recorded import LEAST, MASKED, Recorded, Unit, converted, plain


@dataclass(frozen=True)
class Samples:
    """q (N, nq), tau (N, n) and, where recorded, qd and qdd (N, n), every `dt` seconds from `start` on."""

    start: float
    dt: float
    q: np.ndarray
    tau: np.ndarray
    qd: np.ndarray | None
    qdd: np.ndarray | None
    name: str
    unmeasured: np.ndarray  # (n,): joints whose torques were not recorded
    part: bool = False  # whether it is a part of a recording, between gaps
    notes: tuple[str, ...] = ()  # on changes and suspicious data

    @property
    def rate(self) -> float:
        return 1.0 / self.dt

    def with_delay(self, delay: float) -> Samples:
        """The motion with the torques that were recorded `delay` seconds later."""
        every = {"q": self.q, "tau": self.tau, "qd": self.qd, "qdd": self.qdd}
        given = {name: values for name, values in every.items() if values is not None}
        moved, first = advanced(given, delay / self.dt, self.name)
        return replace(
            self,
            start=self.start + first * self.dt,
            q=moved["q"],
            tau=moved["tau"],
            qd=moved.get("qd"),
            qdd=moved.get("qdd"),
        )

    @property
    def t(self) -> np.ndarray:
        return np.asarray(self.start + self.dt * np.arange(len(self.q)))


def samples_of(
    robot: Robot, recorded: Recorded, dt: float | None, degrees: bool, gains: Any, delay: float = 0.0
) -> list[Samples]:
    """The samples of a recording, in SI units; with long gaps, those of each part between them."""
    values, name, units = recorded.values, recorded.name, dict(recorded.units)
    for quantity in ("q", "tau"):
        if values.get(quantity) is None:
            raise ValueError(
                f"{name}: there is no {quantity!r} (expected t, q and tau and, if recorded, qd and qdd; there is"
                f" {', '.join(key for key, value in values.items() if value is not None) or 'nothing'})"
            )
    for quantity, where in recorded.text.items():
        if values.get(quantity) is not None:
            raise ValueError(f"{name}:{where}")
    count = len(np.atleast_1d(values["q"])) if values.get("t") is None else np.size(values["t"])
    arrays = {
        quantity: checked(robot, values.get(quantity), quantity, count, name) for quantity in ("q", "qd", "qdd", "tau")
    }
    if count < LEAST:
        raise ValueError(f"{name}: has {count} samples (expected at least {LEAST}, and better thousands)")
    t, own = times(recorded, count, dt)
    given = {quantity: array for quantity, array in arrays.items() if array is not None}
    if gains is not None:
        units.pop("tau", None)  # the factors are from what was recorded, whatever its unit is
    given, conversions = converted(
        robot, given, {k: spread(u, given[k]) for k, u in units.items() if k in given}, degrees, name
    )
    unit = units.get("t", [None])[0]
    if unit is not None and unit.factor != 1.0:
        conversions.insert(0, f"t from {unit.text}")
    notes = list(recorded.notes)
    if conversions:
        notes.append(f"{name}: converted by the names of the columns: {', '.join(conversions)}")
    if gains is not None:
        given["tau"] = given["tau"] * checked_gains(robot, gains)
    missing, said = unmeasured(robot, given["tau"], recorded)
    notes += [*said, *saturated(robot, given["tau"], name)]
    given["q"] = one_signed(robot, given["q"])
    rows, said = held_rows(given["q"], name)
    notes += said or held("tau", given["tau"], name)
    if len(rows) < count:
        given, count = {quantity: array[rows] for quantity, array in given.items()}, len(rows)
        t = (own * np.arange(rows[-1] + 1) if t is None else t)[rows]
        own = usual_period(t)
    cuts = np.array([], dtype=int) if t is None else long_gaps(t, own)
    given["q"], unwrapping = unwrapped(robot, given["q"], name, cuts)
    notes += [*unwrapping, *outside_limits(robot, given["q"], name)]
    if t is not None:
        notes += notes_on_gaps(t, own, cuts, name)
    ends = [0, *(cuts + 1), count]
    parts = [slice(a, b) for a, b in itertools.pairwise(ends) if b - a >= LEAST]
    if not parts:
        raise ValueError(f"{name}: gaps leave no part of {LEAST} samples (expected longer parts)")
    result = []
    for part in parts:
        own_name = name if not len(cuts) else f"{name}, rows {part.start} to {part.stop - 1}"
        values = {quantity: array[part] for quantity, array in given.items()}
        start, step = 0.0, own
        if t is not None:
            start = float(t[part.start])
            values, step, how = on_grid(values, t[part], own)
            notes += notes_on_grid(how, step, own_name)
        qd, qdd = values.get("qd"), values.get("qdd")
        part_of = Samples(start, step, values["q"], values["tau"], qd, qdd, own_name, missing, part=bool(len(cuts)))
        result.append(part_of.with_delay(delay) if delay else part_of)
    result[0] = replace(result[0], notes=tuple(notes))
    return result


def position_scales(robot: Robot) -> np.ndarray:
    """The scale of motion of each number of q: 1 rad, the robot's size, and 1 for numbers of quaternions."""
    scales = np.where(angle_mask(robot, "q"), 1.0, reach(robot))
    for first in robot.quaternions:
        scales[first : first + 4] = 1.0
    return scales


def one_signed(robot: Robot, q: np.ndarray) -> np.ndarray:
    """Quaternions without changes of sign between rows: both signs are the same rotation, but filters need one sign."""
    q = q.copy() if robot.quaternions else q
    for first in robot.quaternions:
        own = slice(first, first + 4)
        turned = np.sum(q[1:, own] * q[:-1, own], axis=1) < 0.0
        q[1:, own] *= np.where(np.cumsum(turned) % 2, -1.0, 1.0)[:, None]
    return q


def notes_on_grid(how: str, step: float, name: str) -> list[str]:
    said = {
        "resampled": f"{name}: times are irregular; resampled every {step:.6g} s",
        "counted": f"{name}: times are less regular than positions, as rounded ones are; samples are taken to be"
        f" {step:.6g} s apart",
    }
    return [said[how]] if how else []


def spread(units: list[Unit | None], array: np.ndarray) -> list[Unit | None]:
    """One unit for each column; an array of all joints has one unit."""
    return units * array.shape[1] if len(units) == 1 else units


def advanced(given: dict[str, np.ndarray], steps: float, name: str) -> tuple[dict[str, np.ndarray], int]:
    """The motion with torques of `steps` samples later, without the ends that lack one of them."""
    count, k = len(given["q"]), np.arange(len(given["q"]), dtype=float)
    inside = (k + steps >= 0.0) & (k + steps <= count - 1.0)
    if inside.sum() < LEAST:
        raise ValueError(f"{name}: a delay of {steps:.4g} samples leaves {inside.sum()} of {count} (in seconds?)")
    tau = interpolated(k[inside] + steps, k, given["tau"])
    return {**{key: value[inside] for key, value in given.items()}, "tau": tau}, int(np.argmax(inside))


def checked(robot: Robot, value: Any, quantity: str, count: int, name: str) -> np.ndarray | None:
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
    width = robot.nq if quantity == "q" else robot.n
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
    if quantity == "tau":  # of a joint without a sensor
        array = np.where(np.isnan(array).all(axis=0), 0.0, array)
    bad = ~np.isfinite(array)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        joint = (robot.q_names if quantity == "q" else robot.v_names)[column]
        rows = int(bad.any(axis=1).sum())
        found = MASKED if hidden.reshape(array.shape)[row, column] else array[row, column]
        raise ValueError(
            f"{name}: {quantity} of {joint!r} is {found} in row {row}, {rows} row{'s' * (rows != 1)} in"
            " all (expected finite numbers: leave such rows out, times tell where they were, or cut the recording"
            " there and give the parts as a list)"
        )
    return array


def checked_gains(robot: Robot, gains: Any) -> np.ndarray:
    refuse_gradients("gains", list(gains.values()) if isinstance(gains, Mapping) else gains)
    if isinstance(gains, Mapping):
        joints, given = coordinate_indices(robot, "qd"), {name: plain(gain).tolist() for name, gain in gains.items()}
        by_place = {joints.get(name): gain for name, gain in given.items()}
        if len(by_place) != len(given) or set(by_place) != set(range(robot.n)):
            raise ValueError(f"gains is {given} (expected a factor for each of {join_names(robot.v_names)})")
        gains = [by_place[j] for j in range(robot.n)]
    try:
        values = np.asarray(reorder_columns(robot, "gains", gains), dtype=float)
    except (TypeError, ValueError):
        values = np.array(np.nan)
    if values.shape not in ((), (robot.n,)) or not np.isfinite(values).all() or (values == 0.0).all():
        raise ValueError(
            f"gains is {gains!r} (expected a factor, or one for each of {robot.n} joints: torque = gain x recorded; 0"
            " for a joint whose torque is not to be used)"
        )
    return values
