"""The nearest fit whose links are physically consistent bodies, by a barrier method.

A body is physically consistent if its pseudo-inertia P, the matrix of second moments of mass, is positive semidefinite
(Wensing, Kim, Slotine: Linear matrix inequalities for physically consistent inertial parameter identification, 2018):

    P = | Σ   h |      Σ = ½ tr(J) 1 - J                                                       (1)
        | hᵀ  m |

The fit minimises the sum of weighted residuals and the entropic distance to the nominal robot P₀ (Lee, Wensing, Park:
Geometric robot dynamic identification, 2020), in units of the noise:

    F(π) = ½ ‖R T π - d‖² + γ Σ ( tr(P₀⁻¹ P) - log det P )                                     (2)

and γ w (x / x₀ - log x) for each rotor inertia and coefficient of friction x; w is 1, or little where a body could have
the effect of a rotor that is not in the nominal robot (see `solving`). The logarithms are a self-concordant barrier of
the cone: (2) has its minimum inside. With a larger weight β in place of γ before the logarithms alone, Newton's method
finds the minimum from the nominal robot, and follows it while β shrinks to γ. With P = C Cᵀ and a step to C (1 + Z) Cᵀ,
Newton's step is

    Z = argmin ‖J Z - r‖² + β ‖Z + γ/β Cᵀ P₀⁻¹ C - 1‖²,     r = d - R T π,  J Z = R T (C Z Cᵀ)      (3)

a least-squares problem with the identity below J, however close to the boundary P is. At the minimum γ P⁻¹ are the
multipliers of P ⪰ 0: F without its logarithms is above its own minimum by γ ν at most, ν the number of eigenvalues.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

ROWS = np.array([0, 0, 0, 1, 1, 2, 0, 1, 2, 3])  # of the ten independent entries of a symmetric 4 × 4 matrix
COLUMNS = np.array([0, 1, 2, 1, 2, 2, 3, 3, 3, 3])
ROOT = np.where(ROWS == COLUMNS, 1.0, np.sqrt(2.0))  # entries beside the diagonal occur twice
SHRINK = 0.02  # of β, from one minimum to the next
NEAR, AT = 0.1, 1e-7  # Newton's decrement, squared, in units of β, at a minimum: for each β, and for the last one
LOST = 1e-3  # a larger decrement that no longer falls is not due to rounding
SILENT = 1e-12  # of the largest column of torque offsets and further terms: a smaller column has no effect
INSIDE = 0.99  # of the distance to the boundary: the longest step
STAGE = 60  # steps for one β, if an earlier one has reached its minimum
STEPS = 500  # of Newton's method in all, at most; some tens are usual


def unit_pseudo_inertias() -> np.ndarray:
    """(10, 4, 4): P of each of m, hx, hy, hz, Jxx, Jxy, Jxz, Jyy, Jyz, Jzz alone."""
    units = np.zeros((10, 4, 4))
    units[0, 3, 3] = 1.0
    for i in range(3):
        units[1 + i, i, 3] = units[1 + i, 3, i] = 1.0
    for k, (i, j) in enumerate(((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)), 4):
        units[k, i, j] -= 1.0
        if i == j:
            units[k, :3, :3] += 0.5 * np.eye(3)
        else:
            units[k, j, i] -= 1.0
    return units


def unit_entries() -> np.ndarray:
    """(10, 4, 4): an orthonormal basis of symmetric matrices."""
    entries = np.zeros((10, 4, 4))
    entries[range(10), ROWS, COLUMNS] = entries[range(10), COLUMNS, ROWS] = 1.0 / ROOT
    return entries


UNITS = unit_pseudo_inertias()
ENTRIES = unit_entries()
AS_TEN = np.linalg.inv(UNITS[:, ROWS, COLUMNS]).T  # ten numbers from the ten entries: ten = AS_TEN @ entries


def pseudo_inertias(ten: np.ndarray) -> np.ndarray:
    """(..., 10) to (..., 4, 4)."""
    return np.asarray(np.tensordot(ten, UNITS, 1))


def ten_numbers(P: np.ndarray) -> np.ndarray:
    """(..., 4, 4) to (..., 10)."""
    return np.asarray(P[..., ROWS, COLUMNS] @ AS_TEN.T)


@dataclass(frozen=True)
class PhysicalFit:
    """The unknowns at the minimum of (2)."""

    bodies: np.ndarray  # (links, 4, 4): P
    roots: np.ndarray  # C
    scalars: np.ndarray  # rotors and friction
    free: np.ndarray  # offsets
    gap: float  # γ ν, see above; β ν where rounding ended the path at β > γ
    steps: int
    decrement: float

    @property
    def values(self) -> np.ndarray:
        return np.concatenate([ten_numbers(self.bodies).ravel(), self.scalars])


@dataclass(frozen=True)
class PhysicalProblem:
    """R T π - d, in units of the noise, and the prior."""

    matrix: np.ndarray  # (rows, 10 links + scalars + free): R T, and R for what is free
    target: np.ndarray  # d
    prior: np.ndarray  # (links, 4, 4): P₀
    prior_scalars: np.ndarray  # x₀
    weight: float  # γ
    shares: np.ndarray  # w: of γ, for each scalar

    @property
    def sizes(self) -> tuple[int, int, int]:
        links, scalars = len(self.prior), len(self.prior_scalars)
        return links, scalars, self.matrix.shape[1] - 10 * links - scalars

    @property
    def eigenvalues(self) -> float:
        """ν"""
        return 4 * len(self.prior) + float(self.shares.sum())

    def solve(self, start: PhysicalFit | None = None) -> PhysicalFit:
        """Follow the minimum of (2) from the nominal robot, or from the result of a similar problem."""
        return Path(self).follow(start)


class Path:
    """The state of the method on its way to the minimum."""

    def __init__(self, problem: PhysicalProblem) -> None:
        self.problem = problem
        links, scalars, _ = problem.sizes
        self.links, self.cut = links, 10 * links + scalars
        blocks = problem.matrix[:, : 10 * links].reshape(len(problem.matrix), links, 10)
        self.bodies = np.swapaxes(blocks, 0, 1)  # (links, rows, 10)
        self.inverse = np.linalg.inv(problem.prior)
        self.roots = np.sqrt(np.concatenate([np.ones(10 * links), problem.shares]))
        self.C, self.x = np.linalg.cholesky(problem.prior), problem.prior_scalars.copy()
        self.free = np.zeros(problem.sizes[2])
        sizes = np.linalg.norm(problem.matrix[:, self.cut :], axis=0)
        self.silent = sizes <= SILENT * sizes.max(initial=0.0)  # terms without effect, which are not changed
        if self.free.size:
            self.free = np.linalg.lstsq(problem.matrix[:, self.cut :], self.residual(), rcond=None)[0]

    @property
    def P(self) -> np.ndarray:
        return np.asarray(self.C @ np.swapaxes(self.C, -1, -2))

    def residual(self) -> np.ndarray:
        """r = d - R T π"""
        own = np.concatenate([ten_numbers(self.P).ravel(), self.x, self.free])
        return np.asarray(self.problem.target - self.problem.matrix @ own)

    def follow(self, start: PhysicalFit | None) -> PhysicalFit:
        problem, steps, own, decrement = self.problem, 0, 0, np.inf
        if start is not None:
            self.C, self.x, self.free = start.roots, start.scalars, start.free
            beta = problem.weight
        else:
            J, r = self.scaled()
            beta = max(problem.weight, float(np.linalg.norm(J[:, : self.cut].T @ r)))
        reached = None
        while steps < STEPS:
            before = decrement
            decrement = self.step(beta)
            steps, own = steps + 1, own + 1
            last = beta <= problem.weight
            stalled = last and decrement < LOST and decrement > 0.5 * before  # by rounding
            if decrement <= (AT if last else NEAR) or stalled:
                reached = self.fit(beta, steps, decrement)
                if last:
                    return reached
                beta, decrement, own = max(problem.weight, SHRINK * beta), np.inf, 0
            elif own == STAGE and (reached is not None or start is not None):
                break  # rounding prevents a smaller β, or the start is too far away
        if reached is None and start is not None:
            return Path(problem).follow(None)
        return reached if reached is not None else self.fit(beta, steps, decrement)

    def fit(self, beta: float, steps: int, decrement: float) -> PhysicalFit:
        gap = beta * self.problem.eigenvalues
        return PhysicalFit(self.P, self.C, self.x, self.free, gap, steps, decrement)

    def scaled(self) -> tuple[np.ndarray, np.ndarray]:
        """J of (3), in the ten entries of each Z; and r."""
        turned = self.C[:, None] @ ENTRIES @ np.swapaxes(self.C, -1, -2)[:, None]  # C Z Cᵀ for each entry of Z
        columns = self.bodies @ np.swapaxes(ten_numbers(turned), -1, -2)
        bodies = np.swapaxes(columns, 0, 1).reshape(columns.shape[1], 10 * self.links)
        scalars = self.problem.matrix[:, 10 * self.links : self.cut] * self.x
        J = np.concatenate([bodies, scalars, self.problem.matrix[:, self.cut :]], axis=1)
        return J, self.residual()

    def step(self, beta: float) -> float:
        """Take a step of Newton's method, (3), to the least F along it; its decrement, squared, in units of β."""
        J, r = self.scaled()
        root = np.sqrt(beta)
        share = self.problem.weight / beta
        pull = share * (np.swapaxes(self.C, -1, -2) @ self.inverse @ self.C) - np.eye(4)
        of_scalars = share * self.x / self.problem.prior_scalars - 1.0
        pulls = np.concatenate([(pull[:, ROWS, COLUMNS] * ROOT).ravel(), of_scalars]) * self.roots
        below = np.diag(np.concatenate([root * self.roots, self.silent]))
        right = np.concatenate([r, -root * pulls, np.zeros(len(self.free))])
        rows = np.concatenate([np.concatenate([J, below]), right[:, None]], axis=1)
        R = np.asarray(np.linalg.qr(rows, mode="r"))
        z = np.linalg.solve(R[: J.shape[1], :-1], R[: J.shape[1], -1])
        ahead = J @ z
        decrement = float(np.sum(ahead**2) / beta + np.sum((self.roots * z[: self.cut]) ** 2))  # zᵀ H z / β
        Z = np.zeros((self.links, 4, 4))
        Z[:, ROWS, COLUMNS] = z[: 10 * self.links].reshape(self.links, 10) / ROOT
        Z = Z + np.swapaxes(Z, -1, -2) - Z * np.eye(4)
        ratios = z[10 * self.links : self.cut]
        grown = np.concatenate([np.linalg.eigvalsh(Z).ravel(), ratios])
        weights = np.concatenate([np.ones(4 * self.links), self.problem.shares])
        pulled = float(pulls @ (self.roots * z[: self.cut]) + weights @ grown)
        length = line_minimum(pulled - float(r @ ahead) / beta, float(ahead @ ahead) / beta, grown, weights)
        self.C = self.C @ np.linalg.cholesky(np.eye(4) + length * Z)  # never of P, which may be close to singular
        self.x = self.x * (1.0 + length * ratios)
        self.free = self.free + length * z[self.cut :]
        return decrement


def line_minimum(slope: float, curvature: float, grown: np.ndarray, weights: np.ndarray) -> float:
    """The t > 0 of least slope t + ½ curvature t² - Σ w log(1 + grown t), by Newton's method inside the interval."""
    lowest = float(grown.min(initial=0.0))
    end = np.inf if lowest >= 0.0 else -INSIDE / lowest
    t = min(1.0, 0.5 * end)
    for _ in range(30):
        inside = grown / (1.0 + grown * t)
        first = slope + curvature * t - float(weights @ inside)
        second = curvature + float(weights @ inside**2)
        step = -first / max(second, 1e-300)
        step = min(max(step, -0.9 * t), 0.9 * (end - t)) if np.isfinite(end) else max(step, -0.9 * t)
        t += step
        if abs(step) <= 1e-3 * t:
            break
    return t
