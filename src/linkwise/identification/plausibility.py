"""Faults of clocks, encoders and loggers: times with gaps, times that are less regular than their clock, angles that
wrap at 2 π, values that are held for several rows.
"""

from __future__ import annotations

import numpy as np

from ..robot import Robot
from ..robot.layout import angle_mask, join_names
from .recorded import LEAST, MASKED, Arrays, Recorded, is_number, plain

JITTER = 1e-3  # of the period: the largest deviation of times that count as equally spaced
GAP, BRIDGED = 4.5, 0.02  # periods, and seconds, without a sample: a gap longer than both is not filled
SLOWEST = 0.2  # s: steps that are larger are probably in milliseconds
INDEX = "; the index of a DataFrame is the time if it is named so: data.rename_axis('t'), or reset_index()"
NEAR = 0.3  # of the period: samples at smaller steps belong to a burst
BURST, MOST = 0.5, 0.85  # of the mean step: a shorter median is that of bursts, unless most steps are as short
LONGER = 4  # times the number of samples: interpolation adds no more
PRINTED = 0.51  # of the last digit of printed times: their largest rounding error
SMOOTHER = 0.5  # of the roughness at recorded times: at most, positions at equal times have this roughness


def times(recorded: Recorded, count: int, dt: float | None) -> tuple[np.ndarray | None, float]:
    """The times, or None without a column of times, and the period between samples."""
    t, name = recorded.values.get("t"), recorded.name
    unit = recorded.units.get("t", [None])[0]
    if dt is not None and not (is_number(dt) and 0.0 < dt < 1.0):
        raise ValueError(f"dt is {dt!r} (expected the time between samples in seconds, below 1)")
    if t is None:
        if dt is None:
            among = f" among {join_names(recorded.columns)}" if recorded.columns else ""
            raise ValueError(
                f"{name}: there is no time{among} (expected t, in seconds, columns={{'t': ...}}, which names it, or"
                f" dt=...{INDEX if recorded.index else ''})"
            )
        return None, float(dt)
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
    if dt is not None:
        raise ValueError(f"{name}: has times t, and dt is given too (expected one of them)")
    steps = np.diff(t)
    if not (steps > 0.0).all():
        row = int(np.flatnonzero(steps <= 0.0)[0])
        raise ValueError(
            f"{name}: t is {t[row + 1]:.9g} in row {row + 1}, after {t[row]:.9g} (expected increasing times; several"
            " recordings go in a list)"
        )
    usual = usual_step(t)
    if usual >= SLOWEST and not dates and (unit is None or not unit.text):
        raise ValueError(
            f"{name}: samples are {usual:.4g} apart in time (expected seconds: divide milliseconds by 1000, nanoseconds"
            " by 1e9, or name the column 't [ms]', or 't [s]' if these are seconds)"
        )
    return t, usual_period(t)


def usual_step(t: np.ndarray) -> float:
    """The median of the steps, without interpolation; a burst of samples counts as one."""
    steps = np.diff(t)
    usual = float(np.percentile(steps, 50.0, method="lower"))
    mean = float(np.mean(np.minimum(steps, np.percentile(steps, 99.0))))  # without gaps
    if usual < BURST * mean and np.mean(steps < NEAR * mean) < MOST:
        usual = float(np.percentile(np.diff(t[starts(t, NEAR * mean)]), 50.0, method="lower"))
    return usual


def usual_period(t: np.ndarray) -> float:
    usual = usual_step(t)
    steps = np.diff(t[starts(t, NEAR * usual)])
    return float(steps[(steps > 0.5 * usual) & (steps < 1.5 * usual)].mean())


def starts(t: np.ndarray, near: float) -> np.ndarray:
    """The first sample of each burst, in which steps are shorter than `near`."""
    return np.flatnonzero(np.append(True, np.diff(t) > near))


def long_gaps(t: np.ndarray, dt: float) -> np.ndarray:
    """The rows after which a gap is too long to be filled."""
    return np.flatnonzero(np.diff(t) > max(GAP * dt, BRIDGED))


def notes_on_gaps(t: np.ndarray, dt: float, cuts: np.ndarray, name: str) -> list[str]:
    steps, notes = np.diff(t), []
    filled = np.setdiff1d(np.flatnonzero(steps > GAP * dt), cuts)
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


def on_grid(given: Arrays, t: np.ndarray, dt: float) -> tuple[Arrays, float, str]:
    """Values at equal times, their period, and how they were obtained: "", "resampled" or "counted".

    A clock may be more regular than its recorded times, which are rounded or noted late. Samples are taken to be
    equally spaced if times differ from that by the rounding of their last digit only, or if positions are then
    smoother. Lost samples are filled.
    """
    even = np.linspace(t[0], t[-1], 1 + round((t[-1] - t[0]) / dt))
    if len(even) == len(t) and np.abs(t - even).max() <= JITTER * dt:
        return given, float(even[1] - even[0]), ""
    apart, times_apart = merged(given, t, NEAR * dt)
    even = np.linspace(times_apart[0], times_apart[-1], 1 + round((times_apart[-1] - times_apart[0]) / dt))
    moved = resampled(apart, even, times_apart)
    for k in (counted(t, dt), np.round((t - t[0]) / dt), np.arange(float(len(t)))):
        if (np.diff(k) < 1.0).any() or k[-1] >= LONGER * len(t):
            continue
        step, start = np.polyfit(k, t, 1)
        grid, off = np.arange(k[-1] + 1.0), np.abs(t - start - step * k).max()
        equal = given if len(grid) == len(t) else resampled(given, grid, k)
        if off <= JITTER * step:
            return equal, float((t[-1] - t[0]) / k[-1]), "" if equal is given else "resampled"
        rounded = off <= PRINTED * last_digit(t) < step
        if rounded or roughness(equal["q"]) <= SMOOTHER * roughness(moved["q"]):
            return equal, float(step), "counted"
    return moved, float(even[1] - even[0]), "resampled"


def counted(t: np.ndarray, dt: float) -> np.ndarray:
    """The number of periods since the start: each step is an integer number of periods."""
    return np.append(0.0, np.cumsum(np.round(np.diff(t) / dt)))


def resampled(given: Arrays, grid: np.ndarray, t: np.ndarray) -> Arrays:
    return {quantity: interpolated(grid, t, array) for quantity, array in given.items()}


def merged(given: Arrays, t: np.ndarray, near: float) -> tuple[Arrays, np.ndarray]:
    """Replace samples that are close in time by their mean: a cubic through them would amplify their noise."""
    first = starts(t, near)
    if len(first) == len(t):
        return given, t
    count = np.diff(np.append(first, len(t)))
    means = {name: np.add.reduceat(array, first, axis=0) / count[:, None] for name, array in given.items()}
    return means, np.add.reduceat(t - t[0], first) / count + t[0]


def last_digit(t: np.ndarray) -> float:
    """The unit of the last decimal of the times, from 1 ms to 1 µs; 0 if they have more decimals."""
    for digits in range(3, 7):
        scaled = (t - t[0]) * 10.0**digits
        if np.abs(scaled - np.round(scaled)).max() < 1e-3:
            return float(10.0**-digits)
    return 0.0


def roughness(q: np.ndarray) -> float:
    """The root mean square of fourth differences, in which errors of times dominate over motion."""
    return float(np.sqrt(np.mean(np.diff(q, 4, axis=0) ** 2)))


def interpolated(grid: np.ndarray, t: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Values at other times, by the cubic through the four nearest samples."""
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


SMOOTH, ROUGH = 3.0, 0.1  # a step next to a jump of 2 π is at most so many times the usual step, or so many rad
OFTEN = 0.3  # of the steps: an angle that jumps more often is no angle in radians
OUTSIDE = 0.1  # of the range between a joint's limits: positions that far outside are noted
REGULAR = 0.8  # of the runs of equal values that have one length if a logger repeats values
ENOUGH = 20  # changes of value that are needed to detect this
SATURATED = 0.01  # of the rows are at the largest value where a drive saturates, five times as many as at the next


def unwrapped(robot: Robot, q: np.ndarray, name: str, cuts: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """Angles without the jumps of 2 π of single-turn encoders; other jumps are errors, except after `cuts`."""
    steps = np.diff(q, axis=0)
    steps[cuts] = 0.0
    jumping = (np.abs(steps) > np.pi) & np.array(angle_mask(robot, "q"))
    if not jumping.any():
        return q, []
    q, notes = q.copy(), []
    for k in np.flatnonzero(jumping.any(axis=0)):
        joint, rows = robot.q_names[k], np.flatnonzero(jumping[:, k])
        turns = np.round(steps[:, k] / (2.0 * np.pi)) * jumping[:, k]
        smooth = steps[:, k] - 2.0 * np.pi * turns
        usual = np.abs(steps[~jumping[:, k], k]).max(initial=0.0)
        often = len(rows) > OFTEN * len(steps)
        rough = rows if often else rows[np.abs(smooth[rows]) > max(SMOOTH * usual, ROUGH)]
        if len(rough):
            row = int(rough[0])
            raise ValueError(
                f"{name}: q of {joint!r} jumps by {steps[row, k]:.4g} rad from row {row} to row {row + 1} (expected"
                " steps below pi, or jumps of 2 pi, which are taken out; are angles in degrees (degrees=True), or are"
                " these several recordings, which go in a list?)"
            )
        q[1:, k] -= 2.0 * np.pi * np.cumsum(turns)
        times = f"{len(rows)} times" if len(rows) > 1 else f"once, after row {rows[0]}"
        notes.append(f"{name}: q of {joint!r} jumps by 2 pi ({times}): taken out")
    return q, notes


def outside_limits(robot: Robot, q: np.ndarray, name: str) -> list[str]:
    """Notes on positions beyond the limits of a joint."""
    notes, turning = [], angle_mask(robot, "q")
    for link, slot in robot.driving:
        if link.joint.limits is None or link.joint.width != 1:
            continue
        (lower, upper), own = map(float, link.joint.limits), q[:, slot.q]
        most = own[np.argmax(np.maximum(own - upper, lower - own))]
        if max(most - upper, lower - most) > OUTSIDE * (upper - lower):
            why = "are angles in degrees (degrees=True)?" if turning[slot.q] else "is it in metres?"
            joint, limits = robot.q_names[slot.q], f"{lower:.4g} to {upper:.4g}"
            notes.append(f"{name}: q of {joint!r} goes to {most:.4g}, beyond its limits, {limits}: {why}")
    return notes


def unmeasured(robot: Robot, tau: np.ndarray, recorded: Recorded) -> tuple[np.ndarray, list[str]]:
    """Which joints have no torque in any row (n,), with notes; in simulations such joints are valid."""
    zero = np.all(tau == 0.0, axis=0) & (not recorded.simulated)
    for joint in robot.moving:
        if joint.kind.name == "free":  # a floating base has no drive: its torques are really zero
            zero[joint.v] = False
    names = [joint for joint, z in zip(robot.v_names, zero, strict=True) if z]
    if not names or zero.all():  # reported as an error later
        return zero, []
    return zero, [f"{recorded.name}: tau of {', '.join(names)} is 0 in all rows: taken as not recorded, and not used"]


def saturated(robot: Robot, tau: np.ndarray, name: str) -> list[str]:
    """Notes on torques that are often at their largest value: a limit of the drive."""
    joints = []
    for joint, column in zip(robot.v_names, np.abs(tau).T, strict=True):
        values, counts = np.unique(column, return_counts=True)
        if len(values) > ENOUGH and counts[-1] >= max(SATURATED * len(column), 5 * counts[-2]):
            joints.append(joint)
    if not joints:
        return []
    return [
        f"{name}: torques of {', '.join(joints)} are often at their largest value: where a drive is at its limit, what"
        " is recorded may not be what acts (expected a slower motion)"
    ]


def held_rows(q: np.ndarray, name: str) -> tuple[np.ndarray, list[str]]:
    """The rows in which positions were measured: all, or those in which they change; with notes."""
    every = np.arange(len(q))
    usual = held_for(q)
    if usual is None:
        return every, held_alone(q, name)
    changed = np.flatnonzero((np.diff(q, axis=0) != 0.0).any(axis=1)) + 1
    return changed, [f"{name}: q changes in one row in {usual:g} and is held between: only those rows are used"]


def held_alone(q: np.ndarray, name: str) -> list[str]:
    """Notes on joints that are logged more slowly than others."""
    columns = [str(j) for j in range(q.shape[1]) if held_for(q[:, [j]]) is not None]
    if not columns:
        return []
    return [
        f"{name}: q is held for several rows in columns {', '.join(columns)} alone: rates there are not those of the"
        " robot (expected rows in which all positions are new)"
    ]


def held(quantity: str, values: np.ndarray, name: str) -> list[str]:
    """Notes on values that change only every few rows: the logger is faster than its source."""
    usual = held_for(values)
    if usual is None:
        return []
    return [
        f"{name}: {quantity} changes in one row in {usual:g} and is held between: the table has more rows than were"
        " measured (expected those where it changes, with their times)"
    ]


def held_for(values: np.ndarray) -> float | None:
    """The number of rows for which values are held; None if they are not held.

    Encoders repeat values too, in slow motions; these change by single steps of the encoder, at irregular times.
    """
    changes = np.diff(values, axis=0)
    changed = np.flatnonzero((changes != 0.0).any(axis=1))
    if len(changed) < ENOUGH:
        return None
    runs = np.diff(changed)
    usual = float(np.median(runs))
    if usual < 2.0 or np.mean(np.abs(runs - usual) <= 1.0) < REGULAR:
        return None
    sizes = np.abs(changes[changes != 0.0])
    return None if np.mean(sizes < 1.01 * sizes.min()) > 0.5 else usual  # single steps
