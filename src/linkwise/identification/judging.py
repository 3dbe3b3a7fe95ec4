"""Scores of candidates by cross-validation over blocks of time.

Each candidate is fitted to all blocks but one and scored on all rows of that one, in turn. Rows are reduced to products
of columns for each block and joint, so that a candidate costs the solution of ten small systems. The fit itself does
not use these products.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .estimates import Tabular
from .exciting_motions.problem import blocks
from .text import table

ENOUGH = 0.01  # of a score: a smaller gain does not justify a term
RIDGE = 1e-9  # of the scaled system: directions that the data do not determine stay nominal
NEGLIGIBLE = 1e-4  # of a joint's torque: smaller errors come from rounding or the filter
DECISIVE = 2.0  # standard errors of a difference: with fewer, chance decides; with more, real friction is left out
ROUNDS = 3  # iterations of weights, and of the search for a lag


class Tried(NamedTuple):
    """A candidate: its score, the score that it was compared with, and the standard error of the difference."""

    choice: str
    candidate: str
    score: float
    difference: float
    error: float
    taken: bool


@dataclass(frozen=True, repr=False)
class Choices(Tabular):
    """The choices of cross-validation, and the candidates that were tried. It prints as a table."""

    tried: tuple[Tried, ...]

    def columns(self) -> dict[str, Any]:
        return {name: [getattr(row, name) for row in self.tried] for name in Tried._fields}

    def lines(self) -> list[str]:
        head = ["choice", "candidate", "held-out error", "log ratio", "± σ", ""]
        rows = [
            [row.choice, row.candidate, f"{row.score:.4f}", f"{row.difference:+.4f}", f"{row.error:.4f}",
             "taken" if row.taken else ""]
            for row in self.tried
        ]  # fmt: skip
        return table(head, rows)

    def __repr__(self) -> str:
        taken = ", ".join(f"{row.choice} {row.candidate}" for row in self.tried if row.taken)
        return f"<Choices among {len(self.tried)} candidates: {taken}>"


class Products:
    """Products of columns, the torque as the last one, for each class of rows, block and joint."""

    def __init__(self, classes: int, blocks: int, joints: int, columns: int) -> None:
        self.sums = np.zeros((classes, blocks, joints, columns + 1, columns + 1))
        self.counts = np.zeros((classes, blocks, joints))

    def add(self, rows: np.ndarray, tau: np.ndarray, block: np.ndarray, group: np.ndarray) -> None:
        """Rows (N, n, columns) with torques (N, n), in blocks (N,); `group` (N, n) is their class, -1 if not used."""
        every = np.concatenate([rows, tau[..., None]], axis=-1)
        for b in np.unique(block):
            for c in range(len(self.sums)):
                for j in range(rows.shape[1]):
                    own = every[(block == b) & (group[:, j] == c), j]
                    self.sums[c, b, j] += np.add.reduce([part.T @ part for part in blocks(own)])
                    self.counts[c, b, j] += len(own)


@dataclass
class Judge:
    """Scores candidates: sets of columns."""

    fitted: Products  # of rows that are fitted
    scored: Products  # of rows that are predicted
    weights: np.ndarray  # (n,)
    units: np.ndarray  # (n,): mean squares that are the units of errors
    floor: np.ndarray  # (n,): mean squares that are negligible

    def errors(self, columns: Sequence[int], weights: np.ndarray | None = None, least: int = 0) -> np.ndarray:
        """Mean squares (blocks, n) of blocks that were left out; rows of classes below `least` are not fitted."""
        pick = [*columns, self.fitted.sums.shape[-1] - 1]
        weights = self.weights if weights is None else weights
        fit = self.fitted.sums[least:].sum(axis=0)[..., pick, :][..., pick]
        own = np.einsum("j,bjkl->bkl", weights**2, fit)
        z = solved_products(own.sum(axis=0) - own)
        at = np.concatenate([z, -np.ones((len(z), 1))], axis=1)
        score = self.scored.sums.sum(axis=0)[..., pick, :][..., pick]
        squares = np.maximum(np.einsum("bk,bjkl,bl->bj", at, score, at), 0.0)
        return np.asarray((squares / np.maximum(self.scored.counts.sum(axis=0), 1.0) + self.floor) / self.units)

    def solution(self, columns: Sequence[int]) -> np.ndarray:
        """The solution of all blocks."""
        pick = [*columns, self.fitted.sums.shape[-1] - 1]
        sums = self.fitted.sums[..., pick, :][..., pick]
        return np.asarray(solved_products(np.einsum("j,cbjkl->kl", self.weights**2, sums)[None])[0])


def solved_products(system: np.ndarray) -> np.ndarray:
    """The solutions (count, k) of products (count, k + 1, k + 1) of columns and a target."""
    scale = np.sqrt(np.maximum(np.einsum("bkk->bk", system), 0.0))[:, :-1]
    scale = np.where(scale > 0.0, scale, 1.0)
    A = system[:, :-1, :-1] / (scale[:, :, None] * scale[:, None, :]) + RIDGE * np.eye(scale.shape[1])
    return np.asarray(np.linalg.solve(A, (system[:, :-1, -1] / scale)[..., None])[..., 0] / scale)


class Comparison(NamedTuple):
    score: float
    difference: float
    error: float
    before: float = np.inf  # the score of the candidate that it is compared with

    @property
    def better(self) -> bool:
        """Whether it is better in most blocks, and in the mean."""
        return self.difference < -DECISIVE * self.error and self.score < (1.0 - ENOUGH) * self.before

    @staticmethod
    def of(new: np.ndarray, old: np.ndarray) -> Comparison:
        """From errors (blocks, joints): the mean, the mean logarithm of their ratios, and its standard error over
        blocks.

        Ratios vary less over blocks than errors: few blocks have most of the torque that a term explains.
        """
        steps = np.log(new / old).mean(axis=1)
        return Comparison(
            float(new.mean()), float(steps.mean()), float(steps.std(ddof=1) / np.sqrt(len(steps))), float(old.mean())
        )


def balanced_on(products: Products, base: int) -> Judge:
    """A judge with joints weighted by the noise of a fit of the first columns, and errors in units of that noise."""
    count, torque, floor = sizes_of_torques(products)
    ones, left = np.ones(len(count)), np.maximum(torque, floor)
    for _ in range(ROUNDS + 1):
        weights = np.where(count > 0.0, 1.0 / np.sqrt(left), 0.0)
        left = Judge(products, products, weights, ones, floor).errors(range(base)).mean(axis=0)
    return Judge(products, products, np.where(count > 0.0, 1.0 / np.sqrt(left), 0.0), left, floor)


def sizes_of_torques(products: Products) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For each joint the number of rows, the mean square of its torque, and the part of it that is negligible."""
    count = products.counts.sum(axis=(0, 1))
    torque = products.sums.sum(axis=(0, 1))[:, -1, -1] / np.maximum(count, 1.0)
    return count, torque, np.where(torque > 0.0, NEGLIGIBLE**2 * torque, 1.0)
