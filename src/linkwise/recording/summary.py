"""A recording in a few lines of text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..api.functions import kinetic_energy
from ..printing import Description
from ..robot.description import size_of
from .recording import Recording

MOST_EVENTS = 20  # lines for the events of one trajectory


def summary(recording: Recording) -> Description:
    """
    >>> import linkwise as lw
    >>> print(lw.simulate(lw.load("planar3"), [0, 0, 0], [0, 0, 0], 1.0, samples=11).summary())
    planar3: 3 joints (RRR)
    samples            11, from 0 to 1 s
    status             done
    steps              ...
    rejected           ...
    evaluations        ...
    integrator         ..., rtol 1e-08, atol 1e-10, compiled
    largest imbalance  ... J at ... s; kinetic energy up to ... J
    """
    robot = recording.robot
    t = recording.t
    rows = {"trajectories": " x ".join(map(str, recording.batch))} if recording.batch else {}
    rows |= {
        "samples": f"{len(t)}, from {t[0]:g} to {t[-1]:g} s",
        "status": recording.ends,
        "steps": counted(recording.steps),
        "rejected": counted(recording.rejected),
        "evaluations": counted(recording.evaluations),
        "integrator": f"{recording.integrator}, rtol {recording.rtol:g}, atol {recording.atol:g}, "
        + ("compiled" if recording.compiled else "in Python"),
        "largest imbalance": worst(recording),
    }
    width = max(map(len, rows))
    title = f"{robot.name}: {size_of(robot)}"
    lines = [title, *(f"{name:{width}}  {text}" for name, text in rows.items()), *event_lines(recording)]
    return Description("\n".join(lines))


def event_lines(recording: Recording) -> list[str]:
    """A table of the events: all of one trajectory; of several, how often each name occurs."""
    events = recording.event_list
    if not events:
        return []
    if not recording.batch:
        shown = [(f"{t:.6g} s", name) for _, t, name in events[:MOST_EVENTS]]
        more = [f"and {len(events) - MOST_EVENTS} more"] if len(events) > MOST_EVENTS else []
        return [f"events: {len(events)}", *aligned([("time", "name"), *shown]), *more]
    rows = [("name", "met", "trajectories", "first", "last")]
    for name in dict.fromkeys(name for _, _, name in events):
        same = [(index, t) for index, t, other in events if other == name]
        times = [t for _, t in same]
        ends = f"{min(times):.6g} s", f"{max(times):.6g} s"
        rows.append((name, str(len(same)), str(len({index for index, _ in same})), *ends))
    return [f"events: {len(events)}", *aligned(rows)]


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def counted(counts: Any) -> str:
    array = np.asarray(counts)
    if not array.ndim or not array.size:
        return f"{int(array.sum())}"
    return f"{array.min()} to {array.max()}, median {np.median(array):g}, {array.sum()} in all"


def worst(recording: Recording) -> str:
    size = np.abs(recording.imbalance)
    if not np.isfinite(size).any():
        return "unknown"
    worst_at = np.unravel_index(int(np.nanargmax(size)), size.shape)
    batch = worst_at[:-1]
    where = f" of trajectory {batch[0] if len(batch) == 1 else tuple(map(int, batch))}" if batch else ""
    kinetic = np.nanmax(kinetic_energy(recording.robot, recording.q[batch], recording.qd[batch]))
    when = f"at {recording.t[worst_at[-1]]:g} s{where}"
    return f"{size[worst_at]:.2g} J {when}; kinetic energy up to {kinetic:.3g} J"
