"""Measured rows (Y, τ) reduced to triangles by QR decomposition: blocks of time times joints.

A block of a joint's rows is replaced by the triangle R of its QR decomposition, with the torque as the last column: for
every x, ‖Y x - τ‖ is ‖R (x, -1)‖. All that follows, weights of joints, least squares, cross-validation and the spread
between blocks, needs these triangles alone, and no digits are lost to a product YᵀY. Of a joint's rows only the columns
are kept that can be other than zero: those of the links that it carries.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

BLOCKS = 40  # of time
STORED = 30_000_000  # numbers at most in all triangles together


@dataclass
class Factors:
    """Triangles of all blocks and joints: `triangles[block][joint]`, each (rows, own columns + 1)."""

    sizes: np.ndarray  # of each column's unknown: what it is small beside
    arms: np.ndarray  # (n,): 1, or the size of the robot where a joint slides: what its force is times, to be a torque
    support: list[np.ndarray]  # of each joint: the columns that are not zero
    triangles: list[list[np.ndarray]] = field(default_factory=list)
    counts: list[list[int]] = field(default_factory=list)  # of samples
    torque: list[list[tuple[float, float]]] = field(default_factory=list)  # sums of measured torques and their squares

    @property
    def columns(self) -> int:
        return len(self.sizes)

    @property
    def joints(self) -> int:
        return len(self.support)

    def add_block(self) -> None:
        self.triangles.append([np.zeros((0, len(own) + 1)) for own in self.support])
        self.counts.append([0] * self.joints)
        self.torque.append([(0.0, 0.0)] * self.joints)

    def add_rows(self, joint: int, rows: np.ndarray, tau: np.ndarray) -> None:
        """Rows (Y, τ less what is known) of a joint in the block that was begun last, and its measured torques."""
        own, counts, torque = self.triangles[-1], self.counts[-1], self.torque[-1]
        kept = np.append(self.support[joint], self.columns)
        counts[joint] += len(rows)
        torque[joint] = (torque[joint][0] + float(tau.sum()), torque[joint][1] + float(tau @ tau))
        own[joint] = np.concatenate([own[joint], rows[:, kept]])
        if len(own[joint]) > 4 * len(kept):
            own[joint] = triangle(own[joint])

    def with_rows_of(self, other: Factors, joints: Iterable[int]) -> Factors:
        """These rows and, of some joints, those of others in the same blocks of time."""
        added = set(joints)
        every = range(self.joints)
        joined = Factors(self.sizes, self.arms, self.support)
        for b, own in enumerate(self.triangles):
            joined.triangles.append(
                [np.concatenate([own[j], other.triangles[b][j]]) if j in added else own[j] for j in every]
            )
            joined.counts.append([self.counts[b][j] + (other.counts[b][j] if j in added else 0) for j in every])
            sums = [(self.torque[b][j], other.torque[b][j] if j in added else (0.0, 0.0)) for j in every]
            joined.torque.append([(a[0] + c[0], a[1] + c[1]) for a, c in sums])
        return joined

    def samples(self, joint: int) -> int:
        return sum(counts[joint] for counts in self.counts)

    def variation(self, joint: int) -> tuple[float, float]:
        """The root mean square of a joint's measured torque, and about its mean."""
        count = max(1, self.samples(joint))
        total = sum(torque[joint][0] for torque in self.torque)
        squares = sum(torque[joint][1] for torque in self.torque)
        return (squares / count) ** 0.5, max(0.0, squares / count - (total / count) ** 2) ** 0.5

    def of_joint(self, joint: int) -> np.ndarray:
        """All rows of a joint, in its own columns."""
        return triangle(np.concatenate([own[joint] for own in self.triangles]))

    def of_blocks(self, blocks: Iterable[int], weights: np.ndarray) -> np.ndarray:
        """The rows of all joints in these blocks, each times its weight, in all columns."""
        return self.stacked([(j, self.triangles[b][j]) for b in blocks for j in range(self.joints)], weights)

    def stacked(self, parts: Sequence[tuple[int, np.ndarray]], weights: np.ndarray) -> np.ndarray:
        """One triangle of rows of several joints."""
        rows = np.zeros((sum(len(part) for _, part in parts), self.columns + 1))
        k = 0
        for joint, part in parts:
            rows[k : k + len(part), np.append(self.support[joint], self.columns)] = part * weights[joint]
            k += len(part)
        return triangle(rows)

    def at(self, joint: int, x: np.ndarray) -> np.ndarray:
        """(x, -1) in the columns of a joint."""
        return np.append(x[self.support[joint]], -1.0)

    def errors(self, joint: int, x: np.ndarray, blocks: Iterable[int] | None = None) -> float:
        """The sum of squares of Y x - τ."""
        at = self.at(joint, x)
        chosen = range(len(self.triangles)) if blocks is None else blocks
        return sum(float(np.sum((self.triangles[b][joint] @ at) ** 2)) for b in chosen)


def triangle(rows: np.ndarray) -> np.ndarray:
    """The triangle of a QR decomposition, or the rows themselves where they are fewer than their columns."""
    if len(rows) <= rows.shape[1]:
        return rows
    return np.asarray(np.linalg.qr(rows, mode="r"))


def blocks_for(joints: int, columns: int) -> int:
    """How many blocks of time there can be in the memory that triangles may take."""
    return int(np.clip(STORED // (joints * (columns + 1) ** 2), 10, BLOCKS))
