"""Systematic errors of recordings that parameters take up without a trace: gains of torques, zeros of positions.

Joints share parameters, and links keep their lengths. So data alone tell the gains g_j of joints relative to one
another, and most zeros δ_k. They are unknowns beside the base parameters x:

    τ_j = g_j (Y_j x + f_j + Σ_k (∂τ_j/∂q_k) δ_k)                               f: torques of what is not identified

Parameters can take up a gain of all joints, and zeros such as the last joint's. These show beside the nominal robot
alone: where one number explains most of the difference between its gravity torques and those identified, and more
than the mass of one link does. A gain of all joints is noted where the gravity torques of all joints agree with it:
not beside a payload that the nominal robot does not have, which changes those of each joint by another factor.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..api.functions import gravity_torque
from ..derivatives.closed_form_derivatives import inverse_dynamics_derivatives
from ..robot.regroup import TEN
from .factors import Factors, blocks_for
from .least_squares import HIDDEN, RANK, Solution, Spread, least_squares, sigma_of, spread_of
from .preparing import reduced

if TYPE_CHECKING:
    from .result import Identification

SIGMAS = 5.0  # of tens of numbers none is so far off by chance
GAIN = 0.05  # relative: friction that depends on the load is more than that on few arms
RELEVANT = 0.02  # of a joint's torque: zeros with a smaller effect are not noted
VAGUE = 0.2  # σ of a gain, or of a sum of gains, above which Newton's method leaves it as it is
ROUNDS = 6  # of Newton's method: torques are bilinear in gains and parameters
MOST = 0.9  # of a sum of squares
UNCERTAIN = 0.1  # of the gravity torques: nominal robots are seldom better known
LIGHTEST, HEAVIEST = 0.5, 10.0  # times its nominal mass: what a link may be, with a load or made otherwise
STATES = 200  # in which gravity is compared


def systematic_errors(result: Identification) -> tuple[list[str], list[str]]:
    """What the data say of gains and zeros; if that is nothing, what shows beside the nominal robot."""
    if 2 * (len(result.base) + 2 * result.nominal.n) > result.rows * result.nominal.n:
        return [], []  # too few rows to tell
    fit = fit_with_gains(result)
    told = on_gains(result, fit) + on_zeros(result, fit)
    return told, [] if told else beside_nominal(result)


@dataclass(frozen=True)
class RowsWithSlopes:
    """The rows of a fit, and as columns more the slopes of its torques by positions, and the torques f."""

    result: Identification

    @property
    def base_names(self) -> list[str]:
        return [*self.result.model.base_names, *(f"{name}.zero" for name in self.result.nominal.v_names), "known"]

    @property
    def sizes(self) -> np.ndarray:
        return np.concatenate([self.result.model.sizes, self.arms, [1.0]])

    @property
    def arms(self) -> np.ndarray:
        return self.result.model.arms

    @property
    def support(self) -> list[np.ndarray]:
        more = np.arange(len(self.result.model.base_names), len(self.base_names))
        return [np.concatenate([own, more]) for own in self.result.model.support]

    def rows(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        rows = self.result.model.rows(q, qd, qdd)
        slopes = np.asarray(inverse_dynamics_derivatives(self.result.robot, q, qd, qdd)[0])
        return np.concatenate([rows[..., :-1], slopes, rows[..., -1:], np.zeros_like(rows[..., -1:])], axis=-1)


@dataclass(frozen=True)
class FitWithGains:
    """A linear fit of (base parameters, relative changes of gains, zeros) about `gains`."""

    gains: np.ndarray  # (n,)
    factors: Factors
    solution: Solution
    spread: Spread

    def unknowns(self, first: int) -> np.ndarray:
        """Rows that pick n unknowns; the first of them is counted from the end."""
        return np.eye(len(self.gains), len(self.solution.x), len(self.solution.x) - first)

    def sigma(self, rows: np.ndarray) -> np.ndarray:
        """σ of rows · x, infinite where the data do not tell it."""
        return np.where(self.solution.told(rows), sigma_of(self.solution, self.spread, rows)[0], np.inf)


def fit_with_gains(result: Identification) -> FitWithGains:
    model, n, b = RowsWithSlopes(result), result.nominal.n, len(result.base)
    blocks = blocks_for(n, len(model.base_names))
    plain = reduced(model, list(result.motions), result.filtering, blocks, result.minimum_speed)[0]
    x, gains = result.base.values, np.ones(n)
    for _ in range(ROUNDS):
        factors, start = linearized(plain, x, gains), np.concatenate([x, np.zeros(2 * n)])
        solution = least_squares(factors, start, True)
        step = well_known_step(solution.system, start, slice(b, b + n))
        if np.abs(step[b : b + n]).max() < GAIN:
            break
        x, gains = x + step[:b], gains * (1.0 + step[b : b + n])
    return FitWithGains(gains, factors, solution, spread_of(factors, solution))


def linearized(plain: Factors, x: np.ndarray, gains: np.ndarray) -> Factors:
    """Rows of x, of relative changes of gains, and of zeros."""
    b, n = len(x), len(gains)
    own, zeros = [columns[columns < b] for columns in plain.support], np.arange(b + n, b + 2 * n)
    sizes = np.concatenate([plain.sizes[:b], np.ones(n), plain.sizes[b : b + n]])
    factors = Factors(sizes, plain.arms, [np.concatenate([k, [b + j], zeros]) for j, k in enumerate(own)])
    factors.counts, factors.torque = plain.counts, plain.torque
    for block in plain.triangles:
        rows = []
        for k, gain, part in zip(own, gains, block, strict=True):
            Y, slopes, known, tau = np.split(part, np.cumsum([len(k), n, 1]), axis=1)
            predicted = gain * np.concatenate([Y, Y @ x[k, None] + known, slopes], axis=1)
            rows.append(np.concatenate([predicted, tau - gain * known], axis=1))
        factors.triangles.append(rows)
    return factors


def well_known_step(system: np.ndarray, start: np.ndarray, some: slice) -> np.ndarray:
    """A step of Newton's method in which some unknowns move only along directions that have a σ below `VAGUE`."""
    R, left = system[:, :-1], system[:, -1] - system[:, :-1] @ start
    scale = np.linalg.norm(R, axis=0)
    scale = np.where(scale > 0.0, scale, 1.0)
    others = np.delete(np.arange(len(start)), some)
    inverse = np.linalg.pinv(R[:, others] / scale[others], rcond=RANK) / scale[others, None]
    U, s, Vt = np.linalg.svd(R[:, some] - R[:, others] @ (inverse @ R[:, some]), full_matrices=False)
    known = s > 1.0 / VAGUE
    step = np.zeros(len(start))
    step[some] = Vt[known].T @ (U[:, known].T @ left / s[known])
    step[others] = inverse @ (left - R[:, some] @ step[some])
    return step


def on_gains(result: Identification, fit: FitWithGains) -> list[str]:
    """Of joints whose gain is not that of most others; or not 1, where the data tell that."""
    names, rows = result.nominal.v_names, fit.unknowns(2 * len(fit.gains))
    absolute = bool(np.isfinite(fit.sigma(rows)).any())
    beside = [(1.0, np.zeros(rows.shape[1]))] if absolute else list(zip(fit.gains, rows, strict=True))
    ratios = np.stack([fit.gains / gain * (1.0 + (rows - row) @ fit.solution.x) for gain, row in beside], axis=1)
    sigma = np.stack([np.abs(fit.gains / gain) * fit.sigma(rows - row) for gain, row in beside], axis=1)
    apart, vague = np.abs(ratios - 1.0), SIGMAS * sigma
    off = apart > np.maximum(vague, GAIN)
    if not off.any():
        return []
    k = int(np.argmin(np.where(off.any(axis=0), np.maximum(apart, vague).sum(axis=0), np.inf)))  # like a median
    says = "what the known bodies say" if absolute else "what the others say"
    which = [
        f"that of {names[j]} is {ratios[j, k]:.3g} times {says} (σ {sigma[j, k]:.1g})"
        for j in np.flatnonzero(off[:, k])
    ]
    return [
        f"torques of the joints do not agree with one another: {', '.join(which)}; are torque"
        " constants, gear ratios and units right, or are these motor currents (gains=...)? Masses follow them"
    ]


def on_zeros(result: Identification, fit: FitWithGains) -> list[str]:
    """Of joints whose positions are off by a constant, to first order."""
    n = len(fit.gains)
    rows = fit.unknowns(n)
    zeros, sigma = rows @ fit.solution.x, fit.sigma(rows)
    slopes = np.stack([np.linalg.norm(fit.factors.of_joint(j)[:, -n - 1 : -1], axis=0) for j in range(n)])
    counts = np.array([[max(1, fit.factors.samples(j))] for j in range(n)])
    off = (np.abs(zeros) > SIGMAS * sigma) & relevant(result, slopes / np.sqrt(counts) * zeros)
    return [f"torques fit better {moved(result, j, zeros[j], sigma[j])}" for j in map(int, np.flatnonzero(off))]


def relevant(result: Identification, effects: np.ndarray) -> np.ndarray:
    """Of effects (n, causes) on torques: which causes change that of some joint by enough."""
    sizes = result.residuals.rms / result.residuals.relative
    return np.asarray((np.abs(effects) > RELEVANT * sizes[:, None]).any(axis=0))


def moved(result: Identification, j: int, zero: float, sigma: float) -> str:
    unit = "m" if result.nominal.effort_units[j] == "N" else "rad"
    return (
        f"with positions of {result.nominal.v_names[j]} moved by {zero:.2g} {unit} (σ {sigma:.1g}): is its zero that"
        " of the robot?"
    )


def beside_nominal(result: Identification) -> list[str]:
    """What is seen of gravity torques, where one number explains how they differ from those of the nominal robot.

    The number is a gain or a zero, and explains more than the mass of any one link would.
    """
    robot, model, count = result.nominal, result.model, len(result.model.combined)
    q = np.concatenate([motion.q for motion in result.motions])
    q = q[np.linspace(0, len(q) - 1, min(STATES, len(q))).astype(int)]
    rest = np.zeros((len(q), robot.n))
    Y = model.rows(q, rest, rest)[..., :count]
    bodies = model.T[:, : model.body_size] * model.nominal[model.free][: model.body_size]
    links = Y @ bodies.reshape(count, len(model.links), len(TEN)).sum(axis=-1)
    gravity = np.asarray(gravity_torque(robot, q))
    slopes = np.asarray(inverse_dynamics_derivatives(robot, q, rest, rest)[0])
    each = np.concatenate([gravity[..., None], slopes, links], axis=-1)
    weights = np.where(np.isfinite(result.residuals.rms), 1.0 / result.noise, 0.0)[:, None]
    causes, Yw = (each * weights).reshape(-1, each.shape[-1]), (Y * weights).reshape(-1, count)
    change = (result.base.values - model.base_nominal)[:count]
    squares, total = np.sum(causes**2, axis=0), float(np.sum((Yw @ change) ** 2))
    rows = quotients(causes.T @ Yw, squares)
    sizes = rows @ change
    explained, ratios = sizes**2 * squares, 1.0 + sizes[1 + robot.n :]
    k = int(np.argmax(explained[: 1 + robot.n]))
    credible = (ratios > LIGHTEST) & (ratios < HEAVIEST)
    sigma = sigma_of_change(result, rows[k : k + 1])[0]
    if not (explained[k] > MOST * total and abs(sizes[k]) > SIGMAS * sigma):
        return []
    if (explained[1 + robot.n :][credible] >= (1.0 - HIDDEN) * explained[k]).any():
        return []
    if k == 0:
        own = quotients(np.einsum("tj,tjb->jb", gravity, Y), np.sum(gravity**2, axis=0))
        return on_gravity(result, sizes[0], rows[0], own @ change, own, np.sqrt(np.mean(gravity**2, axis=0)))
    effects = np.sqrt(np.mean(slopes[..., k - 1] ** 2, axis=0)) * sizes[k]
    if not relevant(result, effects[:, None])[0]:
        return []
    return [f"gravity torques are those of the nominal robot {moved(result, k - 1, sizes[k], sigma)}"]


def on_gravity(
    result: Identification, size: float, row: np.ndarray, own: np.ndarray, rows: np.ndarray, torques: np.ndarray
) -> list[str]:
    """Of one factor 1 + size of gravity torques, where the factors 1 + own of joints that carry gravity agree with it.

    They need not agree where the factor is one that no link may have: then a load is no other explanation. `row` and
    `rows` give size and own from changes of base parameters; `torques` are those of gravity, of the nominal robot.
    """
    factor = abs(1.0 + size)
    carry, margin = relevant(result, np.diag(factor * torques)), min(UNCERTAIN * factor, 0.5 * abs(size))
    apart = np.abs(own - size) > np.maximum(margin, SIGMAS * sigma_of_change(result, rows - row))
    told = np.flatnonzero(carry & (np.abs(own) > SIGMAS * sigma_of_change(result, rows)))
    credible = LIGHTEST < factor < HEAVIEST
    if abs(size) < UNCERTAIN or (credible and (carry & apart).any()) or not len(told):
        return []
    which = ", ".join(f"{result.nominal.v_names[j]} ({1.0 + own[j]:.3g})" for j in told)
    return [
        f"gravity torques of {which} are {1.0 + size:.3g} (σ {sigma_of_change(result, row[None])[0]:.1g}) times those"
        " of the nominal robot: are torques in N m and torque constants right (gains=...), or is the robot as much"
        " heavier or lighter? Masses follow them"
    ]


def quotients(rows: np.ndarray, squares: np.ndarray) -> np.ndarray:
    """Rows by their squares; rows are zero where nothing acts."""
    return rows / np.where(squares > 0.0, squares, 1.0)[:, None]


def sigma_of_change(result: Identification, rows: np.ndarray) -> np.ndarray:
    """σ of rows · x, where x are the base parameters without offsets."""
    more = len(result.base) - rows.shape[1]
    return np.asarray(sigma_of(result.solution, result.spread, np.pad(rows, ((0, 0), (0, more))))[0])
