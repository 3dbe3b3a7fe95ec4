"""A recording that ends where its trajectory did."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .recording import Recording


def until_end(recording: Recording) -> Recording:
    """One trajectory without the samples that it did not reach; the last is the state in which it ended.

    A batch stays as it is: its trajectories share their times.
    """
    finite = np.isfinite(recording.q).all(axis=-1) & np.isfinite(recording.qd).all(axis=-1)
    if recording.batch or finite.all() or not finite.any():
        return recording
    count, end = int(np.argmin(finite)), recording.end
    parts = {
        name: value[:count]
        for name in ("t", "q", "qd", "work", "heat")
        if (value := getattr(recording, name)) is not None
    }
    last = {"t": recording.reached} | ({} if end is None else end._asdict())
    complete = all(last.get(name) is not None and np.isfinite(last[name]).all() for name in parts)
    if complete and float(recording.reached) > parts["t"][-1]:
        parts = {name: np.concatenate([value, np.asarray(last[name])[None]]) for name, value in parts.items()}
    return replace(recording, **parts)
