"""From motions to rows, and their triangles: blocks of time times joints, separated by the speed of the joint."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Protocol

import numpy as np

from .filtering import Filtering, Motion, rows_in_parallel
from .least_squares import Factors


class HasRows(Protocol):
    """A model with columns."""

    def rows(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray: ...


class Rows(HasRows, Protocol):
    """A model to fit: a `TorqueModel`, or one with further columns."""

    @property
    def sizes(self) -> np.ndarray: ...

    @property
    def arms(self) -> np.ndarray: ...

    @property
    def support(self) -> list[np.ndarray]: ...


CHUNK = 4096  # samples whose regressor is computed at a time


def stacked(
    model: Rows, motions: Sequence[Motion], filtering: Filtering, blocks: int, edges: Sequence[np.ndarray]
) -> list[Factors]:
    """The triangles of all recordings; a block of time is within one of them.

    Rows of a joint are separated at the rates `edges`, (n,) each and increasing: first those below the first edge.
    """
    parts = [Factors(model.sizes, model.arms, model.support) for _ in range(len(edges) + 1)]
    total = sum(len(motion.t) for motion in motions)
    for motion in motions:
        index, rows = rows_in_parallel(partial(rows_at, model, motion), motion, filtering)
        count = max(1, round(blocks * len(motion.t) / total))
        for block in np.array_split(np.arange(len(index)), min(count, len(index))):
            for factors in parts:
                factors.add_block()
            add_rows(motion, index[block], rows[block], parts, edges)
    return parts


def rows_at(model: HasRows, motion: Motion, index: np.ndarray) -> np.ndarray:
    """Columns (N, n, columns), and last the torque of what is not identified."""
    parts = [index[k : k + CHUNK] for k in range(0, len(index), CHUNK)]
    return np.concatenate([model.rows(motion.q[k], motion.qd[k], motion.qdd[k]) for k in parts])


def add_rows(
    motion: Motion, index: np.ndarray, Y: np.ndarray, parts: Sequence[Factors], edges: Sequence[np.ndarray]
) -> None:
    tau, speed = motion.tau[index], np.abs(motion.qd[index])
    Y[..., -1] = tau - Y[..., -1]
    which = np.sum([speed >= edge for edge in edges], axis=0, dtype=int) * np.ones(speed.shape, dtype=int)
    for joint in map(int, np.flatnonzero(~motion.unmeasured)):
        for k, factors in enumerate(parts):
            used = which[:, joint] == k
            if used.any():
                factors.add_rows(joint, Y[used, joint], tau[used, joint])
