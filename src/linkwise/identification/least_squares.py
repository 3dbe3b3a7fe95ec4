"""Measured rows (Y, τ) reduced to triangles by QR decomposition: blocks of time times joints.

A block of a joint's rows is replaced by the triangle R of its QR decomposition, with the torque as the last column: for
every x, ‖Y x - τ‖ is ‖R (x, -1)‖. Weights of joints, least squares, cross-validation and the spread between blocks need
only these triangles, and no digits are lost to a product YᵀY. Of a joint's rows only the columns are kept that can
differ from zero: those of the links that the joint carries.

Least squares on triangles: rank, weights of the joints, σ, and cross-validation over blocks of time.

    x = argmin Σ_j ‖Y_j x - τ_j‖² / σ_j²                                    σ_j: noise of joint j, found by iteration

Directions of x that the data do not determine stay as they are in the nominal robot. σ of a parameter is the larger of
two: that of white noise, from (Yᵀ W Y)⁻¹, and that of the jackknife, from the change of the result when one block of
time or two or four neighbours are left out, whichever is largest. The jackknife remains valid where residuals are
correlated: where data were filtered, or where the model lacks a term, since errors of friction last as long as a
stroke. Without weights white noise has the covariance (YᵀY)⁻¹ (Σ σ_j² Y_jᵀ Y_j) (YᵀY)⁻¹.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

BLOCKS = 40  # of time
STORED = 30_000_000  # numbers at most in all triangles together


@dataclass
class Factors:
    """Triangles of all blocks and joints: `triangles[block][joint]`, each (rows, own columns + 1)."""

    sizes: np.ndarray  # the scale of each column's unknown
    arms: np.ndarray  # (n,): lever arms that make forces torques: 1, or the size of the robot where a joint slides
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
        """Add rows (Y, τ less known torques) of a joint to the latest block, and its measured torques."""
        own, counts, torque = self.triangles[-1], self.counts[-1], self.torque[-1]
        kept = np.append(self.support[joint], self.columns)
        counts[joint] += len(rows)
        torque[joint] = (torque[joint][0] + float(tau.sum()), torque[joint][1] + float(tau @ tau))
        own[joint] = np.concatenate([own[joint], rows[:, kept]])
        if len(own[joint]) > 4 * len(kept):
            own[joint] = triangle(own[joint])

    @staticmethod
    def together(parts: Sequence[Factors]) -> Factors:
        """All rows of parts that have the same blocks of time."""
        first = parts[0]
        joined = Factors(first.sizes, first.arms, first.support)
        for b in range(len(first.triangles)):
            rows = [[part.triangles[b][j] for part in parts] for j in range(first.joints)]
            joined.triangles.append([triangle(np.concatenate(own)) for own in rows])
            joined.counts.append([sum(part.counts[b][j] for part in parts) for j in range(first.joints)])
            sums = [[part.torque[b][j] for part in parts] for j in range(first.joints)]
            joined.torque.append([(sum(x for x, _ in own), sum(y for _, y in own)) for own in sums])
        return joined

    def samples(self, joint: int) -> int:
        return sum(counts[joint] for counts in self.counts)

    def variation(self, joint: int) -> tuple[float, float]:
        """The root mean square of a joint's measured torque, and its standard deviation."""
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
    """How many blocks of time fit into the memory for triangles."""
    return int(np.clip(STORED // (joints * (columns + 1) ** 2), 10, BLOCKS))


RANK = 1e-10  # singular values of the scaled regressor below this share of the largest are zero
ROUNDS = 20  # of weighting, at most
SETTLED = 1e-3  # relative change of the weights at convergence
EXACT = 1e-10  # of the magnitude of the torques: smaller noise is rounding
NOTHING = 1e-11  # of the largest column, columns scaled by their unknowns: a smaller column has no effect
HIDDEN = 1e-8  # of a sum of unknowns: a smaller part along undetermined directions is rounding
LEVERAGE = 0.95  # of a block, at most: the jackknife divides by 1 - leverage
NEIGHBOURS, GROUPS = (1, 2, 4), 8  # neighbouring blocks to leave out together, if they form at least 8 groups
FOLDS = 5


@dataclass(frozen=True)
class Solution:
    """A fit x of the base parameters, with its noise, rank and scales.

    Determined directions have coordinates z in which the weighted problem is the identity: x = nominal + basis z.
    """

    x: np.ndarray
    nominal: np.ndarray
    basis: np.ndarray  # (b, rank): x of unit z
    noise: np.ndarray  # (n,): σ_j
    scale: np.ndarray  # (n,): the divisor of rows: σ_j, or one σ for all joints (ordinary least squares)
    singular: np.ndarray  # of the weighted regressor, columns scaled
    rank: int
    undetermined: np.ndarray  # (b, b - rank): directions of x without effect on the torques
    projection: np.ndarray  # (b, b): onto the directions that the data determine
    system: np.ndarray  # (R, d): the weighted triangle of all data
    condition: float

    def project(self, system: np.ndarray) -> np.ndarray:
        """The part of a triangle (R, d) along directions that the data determine; others stay nominal."""
        if not self.undetermined.size:
            return system
        R = system[:, :-1]
        part = R @ self.projection
        return np.column_stack([part, system[:, -1] - (R - part) @ self.nominal])

    @property
    def determined(self) -> np.ndarray:
        """Whether the data determine each parameter."""
        return self.is_determined(np.eye(len(self.x)))

    def is_determined(self, rows: np.ndarray) -> np.ndarray:
        """Which elements of rows · x the data determine."""
        sizes = np.linalg.norm(self.basis, axis=1) + np.linalg.norm(self.undetermined, axis=1)
        return np.asarray(np.linalg.norm(rows @ self.undetermined, axis=1) <= HIDDEN * (np.abs(rows) @ sizes))


def solved(system: np.ndarray, nominal: np.ndarray, noise: np.ndarray, sizes: np.ndarray) -> Solution:
    """The least-squares solution of the triangle (R, d), nearest to the nominal where R does not determine it.

    `sizes` are the scales of the unknowns.
    """
    R, d = system[:, :-1], system[:, -1]
    scale = np.linalg.norm(R, axis=0)
    largest = (scale * sizes).max(initial=0.0)
    effective = scale * sizes > NOTHING * largest
    safe = np.where(effective, scale, (largest or 1.0) / sizes)
    U, s, Vt = np.linalg.svd(np.where(effective, R / safe, 0.0), full_matrices=True)
    rank = int(np.sum(s > RANK * s[0])) if len(s) else 0
    basis = (Vt[:rank].T / s[:rank]) / safe[:, None]
    z = U[:, :rank].T @ (d - R @ nominal)
    undetermined = Vt[rank:].T / safe[:, None]
    condition = float(s[0] / s[rank - 1]) if rank else np.inf
    projection = np.where(np.outer(effective, effective), basis @ (s[:rank, None] * Vt[:rank] * safe), 0.0)
    x = nominal + basis @ z
    return Solution(x, nominal, basis, noise, noise, s, rank, undetermined, projection, system, condition)


def least_squares(factors: Factors, nominal: np.ndarray, weighted: bool) -> Solution:
    """Least squares: ordinary, with forces times the robot's size, or weighted by the inverse of each joint's noise."""
    joints = [factors.of_joint(j) for j in range(factors.joints)]
    sizes = [factors.variation(j)[0] * factors.arms[j] for j in range(factors.joints)]
    floor = EXACT * max(1e-300, *sizes) / factors.arms
    noise = 1.0 / factors.arms
    solution = solved(whole(factors, joints, 1.0 / noise), nominal, noise, factors.sizes)
    if not weighted:
        found = noise_of(factors, joints, solution, floor)
        rows = [factors.samples(j) for j in range(factors.joints)]
        common = np.sqrt(np.average((found * factors.arms) ** 2, weights=rows)) / factors.arms
        return replace(solved(whole(factors, joints, 1.0 / common), nominal, common, factors.sizes), noise=found)
    for _ in range(ROUNDS):
        found = noise_of(factors, joints, solution, floor)
        settled = bool(np.all(np.abs(found - noise) <= SETTLED * found))
        noise = found
        solution = solved(whole(factors, joints, 1.0 / noise), nominal, noise, factors.sizes)
        if settled:
            break
    return solution


def whole(factors: Factors, joints: list[np.ndarray], weights: np.ndarray) -> np.ndarray:
    return factors.stacked(list(enumerate(joints)), weights)


def noise_of(factors: Factors, joints: list[np.ndarray], solution: Solution, floor: np.ndarray) -> np.ndarray:
    """σ_j, from residuals and the degrees of freedom that the fit leaves to the joint."""
    noise = np.empty(factors.joints)
    for j, rows in enumerate(joints):
        leverage = float(np.sum((rows[:, :-1] @ solution.basis[factors.support[j]] / solution.scale[j]) ** 2))
        left = max(factors.samples(j) - leverage, 1.0)
        noise[j] = max((float(np.sum((rows @ factors.at(j, solution.x)) ** 2)) / left) ** 0.5, floor[j])
    return noise


@dataclass(frozen=True)
class Spread:
    """Covariances of z (see `Solution`): of white noise, the identity if rows are weighted, and the jackknives'."""

    white: np.ndarray
    jackknives: list[np.ndarray]
    folds: list[list[int]]  # for cross-validation: the blocks of each
    gains: np.ndarray  # the covariance that uncertain gains add to each


def spread_of(factors: Factors, solution: Solution, gain_sigma: np.ndarray | None = None) -> Spread:
    """How the solution changes when a block, or several neighbours, are left out; `gain_sigma` (n,) is relative.

    With U_b the rows of block b in the coordinates z, Σ U_bᵀ U_b = 1 and the change is -(1 - U_bᵀ U_b)⁻¹ U_bᵀ r_b.
    """
    parts = []
    for own in factors.triangles:
        U = np.concatenate(
            [
                rows[:, :-1] @ solution.basis[k] / s
                for rows, k, s in zip(own, factors.support, solution.scale, strict=True)
            ]
        )
        left = [rows @ factors.at(j, solution.x) / solution.scale[j] for j, rows in enumerate(own)]
        parts.append((U.T @ U, -U.T @ np.concatenate(left)))
    count = len(parts)
    jackknives = []
    for size in NEIGHBOURS:
        groups = np.array_split(np.arange(count), -(-count // size))
        if size > 1 and len(groups) < GROUPS:
            break
        changes = np.array(
            [change(sum(parts[b][0] for b in group), sum(parts[b][1] for b in group)) for group in groups]
        )
        jackknives.append(changes.T @ changes * ((len(groups) - 1) / len(groups)))
    folds = [list(map(int, part)) for part in np.array_split(np.arange(count), min(FOLDS, count)) if len(part)]
    return Spread(white_covariance(factors, solution), jackknives, folds, of_gains(factors, solution, gain_sigma))


def of_gains(factors: Factors, solution: Solution, sigma: np.ndarray | None) -> np.ndarray:
    """The covariance of z from an uncertain gain of each joint's torques."""
    total = np.zeros((solution.rank, solution.rank))
    for j, own in enumerate(factors.support if sigma is not None else []):
        rows = factors.of_joint(j)
        change = (rows[:, :-1] @ solution.basis[own]).T @ rows[:, -1] / solution.scale[j] ** 2
        total += np.outer(change, change) * float(sigma[j]) ** 2  # type: ignore[index]
    return total


def white_covariance(factors: Factors, solution: Solution) -> np.ndarray:
    """Of z: Σ_j U_jᵀ U_j σ_j² / scale_j², U_j the rows of joint j in the coordinates z."""
    if np.array_equal(solution.noise, solution.scale):
        return np.eye(solution.rank)
    total = np.zeros((solution.rank, solution.rank))
    for j, own in enumerate(factors.support):
        U = factors.of_joint(j)[:, :-1] @ solution.basis[own] * (solution.noise[j] / solution.scale[j] ** 2)
        total += U.T @ U
    return total


def change(gram: np.ndarray, score: np.ndarray) -> np.ndarray:
    if np.abs(gram).sum(axis=1).max(initial=0.0) < LEVERAGE:  # a bound of the largest eigenvalue
        return np.asarray(-np.linalg.solve(np.eye(len(gram)) - gram, score))
    values, vectors = np.linalg.eigh(gram)
    return np.asarray(-vectors @ ((vectors.T @ score) / (1.0 - np.minimum(values, LEVERAGE))))


def sigma_of(solution: Solution, spread: Spread, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """σ of rows · x: the largest of all, and that of white noise alone."""
    at = rows @ solution.basis
    every = [
        np.sqrt(np.maximum(0.0, np.einsum("ij,jk,ik->i", at, covariance + spread.gains, at)))
        for covariance in (spread.white, *spread.jackknives)
    ]
    return np.max(every, axis=0), every[0]
