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

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..api.functions import gravity_torque
from ..derivatives.closed_form_derivatives import inverse_dynamics_derivatives
from ..robot.regroup import TEN
from .least_squares import (
    EXACT,
    HIDDEN,
    RANK,
    SETTLED,
    Factors,
    Solution,
    Spread,
    blocks_for,
    least_squares,
    sigma_of,
    spread_of,
)
from .preparing import reduced

if TYPE_CHECKING:
    from .result import Identification

SIGMAS = 5.0  # of tens of numbers none is so far off by chance
GAIN = 0.05  # relative: friction that depends on the load is more than that on few arms
RELEVANT = 0.02  # of a joint's torque: zeros with a smaller effect are not noted
VAGUE = 0.2  # σ of a gain, or of a sum of gains, above which it is left as it is
ROUNDS = 50  # of total least squares
RESTART = 2.0  # times a gain, or divided by it: another start
UNEXPLAINED = 0.5  # of a joint's torque, root mean square: a fit with more is no ground for numbers
MOST = 0.9  # of a sum of squares
UNCERTAIN = 0.1  # of the gravity torques: nominal robots are seldom better known
LIGHTEST, HEAVIEST = 0.5, 10.0  # times its nominal mass: what a link may be, with a load or made otherwise
STATES = 200  # in which gravity is compared


def systematic_errors(result: Identification) -> tuple[list[str], list[str]]:
    """What the data say of gains and zeros; if that is nothing, what shows beside the nominal robot."""
    if 2 * (len(result.base) + 2 * result.nominal.n) > result.rows * result.nominal.n:
        return [], []  # too few rows to tell
    fit = fit_with_gains(result)
    gains = on_gains(result, fit)
    told = gains + on_zeros(result, fit if gains else fit.at(np.ones(result.nominal.n), result.base.values))
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

    plain: Factors
    gains: np.ndarray  # (n,)
    factors: Factors
    solution: Solution
    spread: Spread
    again: np.ndarray  # gains from another start
    settled: bool  # whether both iterations did

    def at(self, gains: np.ndarray, x: np.ndarray) -> FitWithGains:
        """The fit about other gains."""
        return fit_about(self.plain, gains, x, gains, True)

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
    starts = [np.ones(n), RESTART ** (-1.0) ** np.arange(n)]
    first, second = (iterated_gains(plain, gains, b) for gains in starts)
    if not first.settled:
        first = Gains(np.ones(n), result.base.values, False)
    return fit_about(plain, first.gains, first.x, second.gains, first.settled and second.settled)


def fit_about(plain: Factors, gains: np.ndarray, x: np.ndarray, again: np.ndarray, settled: bool) -> FitWithGains:
    factors, start = linearized(plain, x, gains), np.concatenate([x, np.zeros(2 * len(gains))])
    solution = least_squares(factors, start, True)
    return FitWithGains(plain, gains, factors, solution, spread_of(factors, solution), again, settled)


class Gains(NamedTuple):
    """A round of `iterated_gains`, or its result."""

    gains: np.ndarray
    x: np.ndarray
    settled: bool


def iterated_gains(plain: Factors, gains: np.ndarray, b: int) -> Gains:
    """Gains and base parameters, from some gains.

    Torques are linear in x, zeros, and *inverse* gains, c_j τ_j / g_j = Y_j x + f_j + ..., so that a round finds c
    however far g is off, and rounds differ by the weights |g_j| / σ_j alone. σ_j does not depend on gains: it is what
    the columns of a joint leave of its torque where x may differ from joint to joint.
    """
    parts = [plain.of_joint(j) for j in range(plain.joints)]
    counts = np.array([plain.samples(j) for j in range(plain.joints)])
    noise = np.array([noise_alone(part, count) for part, count in zip(parts, counts, strict=True)])
    now = Gains(gains, np.zeros(b), False)
    for _ in range(ROUNDS):
        now = total_least_squares(plain, parts, counts, noise, now)
        if now.settled or not np.isfinite(now.gains).all():
            break
    if any(part[:, -2].any() for part in parts) or not np.isfinite(now.gains).all():
        return now
    scale = np.median(np.abs(now.gains))  # which is open where nothing is known; slopes are those of gains about 1
    return Gains(now.gains / scale, now.x * scale, now.settled)


def noise_alone(part: np.ndarray, count: int) -> float:
    """Of a joint's torque, beside the best fit of its columns to it; 1 without rows."""
    A, tau = part[:, :-1], part[:, -1]
    if not tau.any():
        return 1.0
    scale = np.linalg.norm(A, axis=0)
    solution, _, rank, _ = np.linalg.lstsq(A / np.where(scale > 0.0, scale, 1.0), tau, rcond=RANK)
    left = np.linalg.norm(tau - A / np.where(scale > 0.0, scale, 1.0) @ solution) / np.sqrt(max(count - rank, 1))
    return float(max(left, EXACT * np.linalg.norm(tau) / np.sqrt(count)))


def total_least_squares(
    plain: Factors, parts: Sequence[np.ndarray], counts: np.ndarray, noise: np.ndarray, now: Gains
) -> Gains:
    """min Σ_j ‖c_j τ_j / g_j - Y_j x - ...‖² g_j² / σ_j² for Σ_j N_j c_j² = 1, with N_j rows of joint j.

    Of all c that fit as the best one does, but for chance, that nearest to 1 is taken.
    """
    n, b = plain.joints, len(now.x)
    others, used = b + n + 1, counts > 0
    rows = []
    for j, (k, part) in enumerate(zip(plain.support, parts, strict=True)):
        spread = np.zeros((len(part), others + n))
        spread[:, k], spread[:, others + j] = part[:, :-1], part[:, -1] / now.gains[j]
        rows.append(spread * (np.abs(now.gains[j]) / noise[j]))
    A, B = np.split(np.concatenate(rows), [others], axis=1)
    scale = np.linalg.norm(A, axis=0)
    scale = np.where(scale > 0.0, scale, 1.0)
    inverse = np.linalg.pinv(A / scale, rcond=RANK) / scale[:, None]
    B, root = B[:, used], np.sqrt(counts[used])
    _, s, Vt = np.linalg.svd((B - A @ (inverse @ B)) / root, full_matrices=False)
    V, least = Vt.T / root[:, None], max(1.0, s[-1])
    excess, chance = np.square(s / least) - 1.0, 2.0 * SIGMAS / np.sqrt(counts.sum())  # of ratios of two variances
    alike = V[:, (excess < chance) | (excess * VAGUE**2 < np.sum(V**2, axis=0))]
    c = np.ones(n)
    c[used] = alike @ np.linalg.lstsq(alike, c[used], rcond=None)[0]
    at = inverse @ (B @ c[used])
    known = A[:, -1] - A[:, :-1] / scale[:-1] @ np.linalg.lstsq(A[:, :-1] / scale[:-1], A[:, -1], rcond=RANK)[0]
    if VAGUE * abs(at[-1]) * np.linalg.norm(known) > least:
        c, at = c / at[-1], at / at[-1]  # what is known is not scaled
    gains = np.divide(now.gains, c, out=np.full(n, np.inf), where=np.abs(c) > RANK)
    return Gains(gains, at[:b], bool(np.abs(c - 1.0).max() < SETTLED))


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


def on_gains(result: Identification, fit: FitWithGains) -> list[str]:
    """Of joints whose gain is not that of most others; or not 1, where the data tell that."""
    names, rows = result.nominal.v_names, fit.unknowns(2 * len(fit.gains))
    absolute = bool(np.isfinite(fit.sigma(rows)).any())
    beside = [(1.0, np.zeros(rows.shape[1]))] if absolute else list(zip(fit.gains, rows, strict=True))
    steps = np.stack([(rows - row) @ fit.solution.x for _, row in beside], axis=1)
    ratios = np.stack([fit.gains / gain for gain, _ in beside], axis=1) * (1.0 + steps)
    sigma = np.stack([np.abs(fit.gains / gain) * fit.sigma(rows - row) for gain, row in beside], axis=1)
    known, apart = sigma <= VAGUE * np.abs(ratios), np.abs(ratios - 1.0)
    off = known & (apart > np.maximum(SIGMAS * sigma, GAIN))
    if not off.any():
        return []
    agree = np.where(off.any(axis=0), np.sum(known & ~off, axis=0), 0)
    says = "what the known bodies say" if absolute else "what the others say"
    nearest = sigma.sum(axis=0) if agree.max() > 1 or absolute else like_nominal(result, fit)
    k = int(np.lexsort([nearest, -known.sum(axis=0), -agree])[0])  # the gain of most, or most like the nominal robot's
    blamed = np.flatnonzero(off[:, k])
    again = fit.again / (1.0 if absolute else fit.again[k])
    near = np.maximum(sigma[:, k], GAIN * np.abs(ratios[:, k]))
    stable = (np.abs(steps[:, k] * ratios[:, k]) < near) & (np.abs(again - ratios[:, k]) < near)
    if not (fit.settled and stable[blamed].all() and explained(fit)):
        return [
            "torques of the joints do not agree with one another, and these data do not tell by which factors: are"
            " torque constants, gear ratios, signs and units right, or are these motor currents (gains=...)?"
        ]
    if not absolute and agree[k] < 2:
        says = f"what that of {names[k]} says"
    which = [f"that of {names[j]} is {ratios[j, k]:.3g} times {says} (σ {sigma[j, k]:.1g})" for j in blamed]
    return [
        f"torques of the joints do not agree with one another: {', '.join(which)}; are torque"
        " constants, gear ratios and units right, or are these motor currents (gains=...)? Masses follow them"
    ]


def like_nominal(result: Identification, fit: FitWithGains) -> np.ndarray:
    """Of each joint how far its gain is from 1, as a logarithm, if the nominal robot has torques of the right size."""
    R, b = fit.solution.system[:, : len(result.base)], len(result.base)
    torques, nominal = R @ fit.solution.x[:b], R @ result.model.base_nominal
    return np.asarray(np.abs(np.log(fit.gains * (torques @ torques) / (torques @ nominal) + 0.0j)))  # of signs too


def explained(fit: FitWithGains) -> bool:
    """Whether the fit with gains explains the torques of all joints."""
    factors = fit.factors
    measured = [j for j in range(factors.joints) if factors.samples(j)]
    left = [(factors.errors(j, fit.solution.x) / factors.samples(j)) ** 0.5 for j in measured]
    return all(error <= UNEXPLAINED * factors.variation(j)[0] for j, error in zip(measured, left, strict=True))


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
