"""A recording in a few lines of text."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import edge
from ..robot.describe import Description
from .recording import Recording


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
    title = f"{robot.name}: {robot.n} joint{'s' * (robot.n != 1)} ({robot.joints})"
    return Description("\n".join([title, *(f"{name:{width}}  {text}" for name, text in rows.items())]))


def counted(counts: Any) -> str:
    array = np.asarray(counts)
    if not array.ndim or not array.size:
        return f"{int(array.sum())}"
    return f"{array.min()} to {array.max()}, median {np.median(array):g}, {array.sum()} in all"


def worst(recording: Recording) -> str:
    size = np.abs(recording.imbalance)
    if not np.isfinite(size).any():
        return "unknown"
    place = np.unravel_index(int(np.nanargmax(size)), size.shape)
    batch = place[:-1]
    where = f" of trajectory {batch[0] if len(batch) == 1 else tuple(map(int, batch))}" if batch else ""
    kinetic = np.nanmax(edge.kinetic_energy(recording.robot, recording.q[batch], recording.qd[batch]))
    when = f"at {recording.t[place[-1]]:g} s{where}"
    return f"{size[place]:.2g} J {when}; kinetic energy up to {kinetic:.3g} J"
