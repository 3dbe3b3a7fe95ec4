"""When samples were taken: times, gaps between them, and clocks that are more regular than what is printed of them."""

from __future__ import annotations

import numpy as np

from .recorded import LEAST, MASKED, Recorded, is_number, listed, plain

JITTER = 1e-3  # of the period: times that are this regular are regular
GAP, BRIDGED = 4.5, 0.02  # periods, and seconds, without a sample: a gap longer than both is not filled
SLOWEST = 0.2  # s: times further apart are likely to be milliseconds, of 5 kHz and less
INDEX = "; the index of a DataFrame is the time if it is named so: data.rename_axis('t'), or reset_index()"
SMOOTHER = 0.5  # times the roughness of positions at their times: at equal times they are that smooth, or smoother


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
    usual = usual_step(t)
    if usual >= SLOWEST and not dates and (unit is None or not unit.text):
        raise ValueError(
            f"{name}: samples are {usual:.4g} apart in time (expected seconds: divide milliseconds by 1000, nanoseconds"
            " by 1e9, or name the column 't [ms]', or 't [s]' if these are seconds)"
        )
    return t, usual_period(t)


def usual_step(t: np.ndarray) -> float:
    """The median of the steps, one that there is."""
    return float(np.percentile(np.diff(t), 50.0, method="lower"))


def usual_period(t: np.ndarray) -> float:
    steps, usual = np.diff(t), usual_step(t)
    return float(steps[(steps > 0.5 * usual) & (steps < 1.5 * usual)].mean())


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


def on_grid(given: dict[str, np.ndarray], t: np.ndarray, period: float) -> tuple[dict[str, np.ndarray], float, str]:
    """Values at equal times, their period, and what was done to them: "", "resampled" or "counted".

    A clock may be more regular than what is printed of it: times are rounded, or noted late. Where as many samples as
    there would be at equal times are smoother if they are taken to be at these, they are.
    """
    grid = np.linspace(t[0], t[-1], 1 + round((t[-1] - t[0]) / period))
    period = float(grid[1] - grid[0])
    if len(grid) == len(t) and np.abs(t - grid).max() <= JITTER * period:
        return given, period, ""
    moved = {quantity: interpolated(grid, t, array) for quantity, array in given.items()}
    if len(grid) == len(t) and roughness(given["q"]) <= SMOOTHER * roughness(moved["q"]):
        return given, period, "counted"
    return moved, period, "resampled"


def roughness(q: np.ndarray) -> float:
    """The root mean square of fourth differences, in which motions are small and errors of times are not."""
    return float(np.sqrt(np.mean(np.diff(q, 4, axis=0) ** 2)))


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
