"""One trajectory of a recording: cut at its end, and as a motion for drawing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..drawing import Motion
from .recording import Recording


def motion_of(recording: Recording, trajectory: Any = None) -> Motion:
    """The reached part of a trajectory; of a batch, by default of the first."""
    index = index_of(recording, trajectory)
    parts = reached_parts(recording, index, ("t", "q", "qd"))
    status, reached = str(np.asarray(recording.status)[index]), float(np.asarray(recording.reached)[index])
    name = recording.robot.name
    which = f", trajectory {index[0] if len(index) == 1 else index}" if index else ""
    if not len(parts["t"]):
        raise ValueError(f"{name}{which} has no sample with finite numbers: {status} at {reached:g} s")
    note = "" if status == "done" else f"{status} at {reached:.4g} s"
    return Motion(recording.robot, **parts, title=name + which, note=note)


def reached_parts(recording: Recording, index: tuple[int, ...], names: Sequence[str]) -> dict[str, Any]:
    """These arrays of one trajectory while it is finite, and then its end state if that is later."""
    arrays = {name: getattr(recording, name) for name in names}
    parts = {name: x if name == "t" else x[index] for name, x in arrays.items() if x is not None}
    finite = np.isfinite(parts["q"]).all(axis=-1) & np.isfinite(parts["qd"]).all(axis=-1)
    count = len(finite) if finite.all() else int(np.argmin(finite))
    parts = {name: x[:count] for name, x in parts.items()}
    end = {} if recording.end is None else recording.end._asdict()
    last = {name: x[index] for name, x in end.items() if x is not None} | {"t": np.asarray(recording.reached)[index]}
    complete = all(name in last and np.isfinite(last[name]).all() for name in parts)
    if count and complete and last["t"] > parts["t"][-1]:
        parts = {name: np.concatenate([x, np.asarray(last[name])[None]]) for name, x in parts.items()}
    return parts


def index_of(recording: Recording, trajectory: Any) -> tuple[int, ...]:
    """The trajectory's index in the batch, from its number in the order of `numpy.ravel` or one number per axis."""
    batch = recording.batch
    if not batch:
        if trajectory not in (None, 0):
            raise ValueError(f"trajectory is {trajectory!r}, but the recording has one (expected none)")
        return ()
    count = int(np.prod(batch, dtype=int))
    expected = f"(expected a whole number below {count}" + (f", or {len(batch)} of them)" if len(batch) > 1 else ")")
    if not count:
        raise ValueError("the recording has no trajectories (expected at least one)")
    chosen = 0 if trajectory is None else trajectory
    try:
        if isinstance(chosen, tuple):
            index = tuple(int(k) % size if -size <= k < size else size for k, size in zip(chosen, batch, strict=True))
        else:
            number = chosen.__index__()
            index = tuple(map(int, np.unravel_index(number % count if -count <= number < count else count, batch)))
    except (AttributeError, TypeError, ValueError):
        raise ValueError(f"trajectory is {trajectory!r} {expected}") from None
    if any(k >= size for k, size in zip(index, batch, strict=True)):
        raise ValueError(f"trajectory is {trajectory!r} {expected}")
    return index


def until_end(recording: Recording) -> Recording:
    """A single trajectory without the samples it did not reach; its last sample is the end state.

    A batch is returned as it is: its trajectories share their times.
    """
    finite = np.isfinite(recording.q).all(axis=-1) & np.isfinite(recording.qd).all(axis=-1)
    if recording.batch or finite.all() or not finite.any():
        return recording
    return replace(recording, **reached_parts(recording, (), ("t", "q", "qd", "work", "heat")))
