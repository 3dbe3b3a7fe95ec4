"""Events within an accepted step, in NumPy: the definition of what `codegen.llvm.events` does.

An event that was on one side of zero counts as soon as its value reaches zero, in the direction asked for. One that was
exactly zero, at the start of a trajectory or right after it was met, counts as soon as it is beyond zero.

A step's ends do not show a value that goes beyond zero and comes back between them. So, unless it is far from zero at
both ends and at two points between them, it is also looked at within the step: at LOOKS points on the polynomial that
the samples lie on, and where a parabola through three of them has a peak near zero. If it is beyond zero there, or
nearly so, the step ends there; what remains is a crossing between two ends. Either way counts in this: of a value that
goes out and back within a step, the return may be the crossing that is asked for. The step after one that was ended
within is no longer than the distance of two points, so that it does not leap over what comes right behind.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..codegen.llvm.events import EDGE, FAR, LOOKS, REACH, REFINED, TINY, Crossing, either_way

ValuesAt = Callable[[np.ndarray], np.ndarray]  # parts of steps (p, B) -> values of the events (p, B, e)


def ahead(crossings: tuple[Crossing, ...], before: np.ndarray, values: np.ndarray) -> np.ndarray:
    """How far each event is beyond zero, coming from `before`: below 0 until it has crossed."""
    direction = np.array([crossing.direction for crossing in crossings])
    up, down = (before < 0) & (direction >= 0), (before > 0) & (direction <= 0)
    leaving = np.where(direction == 0, np.abs(values), direction * values)
    found = np.where(up, values, np.where(down, -values, np.where(before == 0, leaving, FAR)))
    found = np.where((np.abs(before) <= TINY) & ~(found > 0) & (found > FAR), -TINY, found)
    return np.asarray(np.fmax(found, FAR))


def remembered(crossings: tuple[Crossing, ...], before: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The values, as they are `before` for what follows: of one that is exactly zero, the side that it came to."""
    met = ahead(either_way(crossings), before, values) >= 0
    zero = np.where(met, -TINY * np.sign(before), before)
    return np.asarray(np.where(values == 0, zero, values))


def begun(before: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The same where an integration begins, or goes on; `before` is NaN if nothing is known yet."""
    return np.asarray(np.where((values == 0) & ~np.isnan(before), TINY * np.sign(before), values))


def nearby(crossings: tuple[Crossing, ...], before: np.ndarray, seen: list[np.ndarray]) -> np.ndarray:
    """Which trajectories (B,) have an event that may be beyond zero within a step, as seen at some points (B, e)."""
    looked_at = np.array([crossing.inside for crossing in crossings])
    crossings = either_way(crossings)
    values = np.array([ahead(crossings, before, each) for each in (before, *seen)])
    low, high = values.min(axis=0), values.max(axis=0)
    return np.asarray((looked_at & (low > FAR) & (high + REACH * (high - low) >= 0)).any(axis=1))


def look_closely(
    crossings: tuple[Crossing, ...], before: np.ndarray, accepted: np.ndarray, values_at: ValuesAt
) -> np.ndarray:
    """As `look_within`, and once more within what is left: another event may have gone out and back before."""
    ends = look_within(crossings, before, accepted, values_at)
    cut = accepted & (ends < 1.0)
    if not cut.any():
        return ends
    return np.asarray(ends * look_within(crossings, before, cut, lambda parts: values_at(parts * ends)))


def look_within(
    crossings: tuple[Crossing, ...], before: np.ndarray, accepted: np.ndarray, values_at: ValuesAt
) -> np.ndarray:
    """At which part of a step it is to end, so that its ends show what is beyond zero: (B,), 1 where at its end."""
    looked_at, count = np.array([crossing.inside for crossing in crossings]), len(before)
    crossings = either_way(crossings)

    def beyond(parts: np.ndarray) -> np.ndarray:
        return np.where(looked_at, ahead(crossings, before, values_at(parts)), FAR)

    numbers = np.arange(1, LOOKS + 1)[:, None]
    start = np.where(looked_at, ahead(crossings, before, before), FAR)
    values = np.concatenate([start[None], beyond(np.broadcast_to(numbers / LOOKS, (LOOKS, count)))])
    offset = first_peak(values)
    # in order of time: is it beyond zero at a point, has it a peak about that point
    found = np.stack([values[1:-1].max(axis=2) >= 0, np.isfinite(offset)], axis=1).reshape(-1, count)
    which = np.where(found.any(axis=0) & accepted, found.argmax(axis=0), -1)
    point, peaked = which // 2, which % 2 == 1
    ends = np.where(which < 0, 1.0, (point + 1) / LOOKS)
    peaked &= which >= 0
    if peaked.any():
        about = np.where(peaked, offset[point, np.arange(count)], 0.0)
        ends = np.where(peaked, refined(beyond, (point + 1 + about) / LOOKS), ends)
    return ends


def first_peak(values: np.ndarray) -> np.ndarray:
    """Where the first of the parabolas through three values (p, B, e) has a peak near zero: (p - 2, B), or infinite.

    It is given from the middle one, in units of the distance of two.
    """
    a, b, c = values[:-2], values[1:-1], values[2:]
    with np.errstate(all="ignore"):
        bend = 2.0 * b - a - c
        offset = (c - a) / (2.0 * bend)
        near = b + bend * (0.5 * offset * offset + 0.125) >= 0
    least, most = np.full((len(b), 1, 1), -0.5), np.full((len(b), 1, 1), 0.5)
    least[0], most[-1] = -1.0 + EDGE, 1.0 - EDGE
    known = (a > FAR) & (b > FAR) & (c > FAR) & (bend > 0)
    found = known & near & (offset >= least) & (offset <= most)
    return np.asarray(np.where(found, offset, np.inf).min(axis=2))


def refined(beyond: Callable[[np.ndarray], np.ndarray], part: np.ndarray) -> np.ndarray:
    """A peak to more digits, by parabolas through points closer to it."""
    width = 0.125 / LOOKS
    for _ in range(REFINED):
        a, b, c = beyond(part + np.array([-width, 0.0, width])[:, None]).max(axis=2)
        bend = 2.0 * b - a - c
        with np.errstate(all="ignore"):
            offset = np.fmin(np.fmax((c - a) / (2.0 * bend), -1.0), 1.0)
        part = part + width * np.where(bend > 0, offset, 0.0)
        width *= 0.125
    return np.asarray(np.fmin(np.fmax(part, EDGE / LOOKS), 1.0 - EDGE / LOOKS))
