"""The search for exciting motions: a criterion of the regressor, a barrier at the limits, and many starts.

The scales of the columns of regressors, and the accuracy of a motion in these scales.

The scale of a column is the root-mean-square torque that one unit of its parameter makes at states all over the limits:
positions, rates and accelerations are independent of each other. It depends on the robot, its limits and the noise
alone. Scales that random motions of the same duration and harmonics give would be small for slow motions, so that a
slow motion would have as small a condition number as a fast one.

The regressor of all samples, W (samples · n, p), has a row for each torque. Parameters have different units, so its
columns are divided by their sizes at states spread over the limits (see above). These scales are fixed. Columns of unit
length, which many use, would hide that a joint hardly moves, or that a motion is slow: its columns are small, and what
identifies them is noise. With `criterion="condition"` the condition number σ_1 / σ_p of the scaled W is minimised. It
is not smooth where singular values coincide, so bounds are minimised, one after the other, m growing:

    σ_1 / σ_p  ≤  (tr Gᵐ · tr G⁻ᵐ)^(1/2m),   G = WᵀW                             (1)
    -log det G / 2p                                                              (2)

With `criterion="logdet"` it is (2), which scales do not change: the size of the confidence ellipsoid. A small part of
it is also added to the logarithm of (1), which by itself does not tell a large motion from a small one.

Parameters that act like a sum of others but for 1e-4 of their column, as those of tables with rounded angles do, are
left out: no motion determines them, and they would dominate the search.
Gradients by all coefficients come from one product with the transposed derivative of the regressor.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from ...progress import ProgressDisplay
from ...trajectories.limits import Floats, MotionLimits
from .minimise import Barrier, minimise
from .series import SeriesBasis, overshoot

STATES = 1000
SWING = 2.0 * math.pi  # 1/s: accelerations that have no limit are those of a swing in one second at the largest rate
MEASURED = 1000  # samples, of one period or of several: deviations are for so many


def reference_states(limits: MotionLimits) -> tuple[Floats, Floats, Floats]:
    """Positions, rates and accelerations (STATES, n), the same for the same limits."""
    rng = np.random.default_rng(0)
    half = np.where(np.isfinite(limits.half), limits.half, math.pi)
    acceleration = np.where(np.isfinite(limits.acceleration), limits.acceleration, SWING * limits.velocity)
    q, qd, qdd = rng.uniform(-1.0, 1.0, (3, STATES, len(half)))
    return limits.middle + half * q, limits.velocity * qd, acceleration * qdd


class Worth(NamedTuple):
    """The accuracy of a motion, from its regressor: rows divided by the noise and columns by their scales."""

    condition: float
    log_det: float
    deviations: Floats  # (p,) standard deviations of the scaled parameters
    worst: float  # the standard deviation in the worst direction

    @staticmethod
    def of(matrix: Floats, samples: int) -> Worth:
        """Of the regressor at so many times of a period; deviations are for `MEASURED` of them."""
        _, singular, directions = np.linalg.svd(matrix, full_matrices=False)
        if not singular[-1] > 0.0:
            return Worth(math.inf, -math.inf, np.full(len(singular), np.inf), math.inf)
        fewer = math.sqrt(samples / MEASURED)
        deviations = fewer * np.linalg.norm(directions / singular[:, None], axis=0)
        condition, log_det = float(singular[0] / singular[-1]), 2.0 * float(np.log(singular).sum())
        return Worth(condition, log_det, deviations, fewer / float(singular[-1]))


ROUNDING = 1e-15  # of its trace is added to the diagonal of G
INFORMATION = 0.2  # the part of (2) in the criterion "condition"
HIDDEN = 1e-4  # of its length: the remainder of a column that counts as a sum of others
ONE_THREAD = 4 * 65536  # multiplications of a product up to which OpenBLAS uses no other threads
TORQUE_SLACK = 0.99  # of the torque limits, in the search: between samples there may be more
START = 0.98  # of the torque limits is the most that a start takes
AT_ONCE = 100  # reference states
SHRINKS = 8  # of a start, until its torques are within their limits


class Regressor(NamedTuple):
    """Two compiled functions: Y (N, n, p) of q, qd and qdd, and the gradients of Σ weight · Y by these."""

    values: Callable[..., Any]
    gradients: Callable[..., Any]
    parameters: Floats  # (p,) of the robot as it is: Y @ parameters are its torques
    row_weights: Floats  # (n,) by which the rows of the joints are multiplied

    def matrix(self, Y: Floats) -> Floats:
        """The weighted rows of all samples: (samples · n, p)."""
        return (Y * self.row_weights[:, None]).reshape(-1, Y.shape[-1])


def condition_of(matrix: Floats) -> float:
    """The condition number, in the 2-norm."""
    singular = np.linalg.svd(matrix, compute_uv=False)
    return float(singular[0] / singular[-1]) if singular[-1] > 0.0 else math.inf


def log_det_of(matrix: Floats) -> float:
    """log det(WᵀW)."""
    singular = np.linalg.svd(matrix, compute_uv=False)
    return 2.0 * float(np.log(singular).sum()) if singular[-1] > 0.0 else -math.inf


def smooth_condition(matrix: Floats, exponent: int) -> tuple[float, Floats]:
    """The logarithm of the bound (1) and a part of (2), and the derivative by the matrix."""
    G = gram(matrix)
    values, inverse = np.maximum(np.linalg.eigvalsh(G), np.finfo(float).tiny), np.linalg.inv(G)
    low, high, part = values[0], values[-1], INFORMATION / len(G)
    sums = [float((ratio**exponent).sum()) for ratio in (values / high, low / values)]
    bound = math.log(high / low) + sum(map(math.log, sums)) / exponent - part * float(np.log(values).sum())
    up = np.linalg.matrix_power(G / high, exponent - 1) / (high * sums[0])
    down = np.linalg.matrix_power(low * inverse, exponent + 1) / (low * sums[1])
    return bound / 2.0, times(matrix, up - down - part * inverse)


def smooth_log_det(matrix: Floats) -> tuple[float, Floats]:
    """(2) and its derivative by the matrix."""
    G = gram(matrix)
    return -float(np.linalg.slogdet(G)[1]) / (2.0 * len(G)), times(matrix, np.linalg.inv(G)) / -len(G)


def independent(G: Floats) -> list[int]:
    """The columns, of unit length, that are not sums of those before them but for a rest of `HIDDEN`."""
    kept: list[int] = []
    for k in range(len(G)):
        along = G[kept, k]
        if 1.0 - along @ np.linalg.solve(G[np.ix_(kept, kept)], along) > HIDDEN**2:
            kept.append(k)
    return kept


def gram(matrix: Floats) -> Floats:
    """WᵀW, made regular where it is singular."""
    G = np.add.reduce([part.T @ part for part in blocks(matrix)])
    return np.asarray(G + ROUNDING * np.trace(G) * np.eye(len(G)))


def times(matrix: Floats, square: Any) -> Floats:
    return np.concatenate([part @ square for part in blocks(matrix)])


def blocks(matrix: Floats, columns: int | None = None) -> list[Floats]:
    """Rows whose products OpenBLAS computes in one thread: on a busy machine threads that wait for each other cost
    ten times what they save. `columns` are those of the product, if not the matrix's own."""
    rows = max(1, ONE_THREAD // (columns or matrix.shape[1]) ** 2)
    return [matrix[k : k + rows] for k in range(0, len(matrix), rows)]


@dataclass(frozen=True, eq=False)
class Limited:
    """A quantity (samples, n) that is linear in the free coefficients, and its limits about a middle."""

    matrix: Floats  # (samples, count)
    middle: Floats  # (n,)
    limit: Floats  # infinite where there is none

    def share(self, free: Floats) -> Floats:
        return (self.matrix @ free - self.middle) / self.limit


@dataclass(frozen=True, eq=False)
class ExcitationProblem:
    """What is minimised: variables are the free coefficients (count, n), each divided by its scale."""

    regressor: Regressor
    basis: SeriesBasis
    matrices: tuple[Floats, Floats, Floats]
    limited: tuple[Limited, ...]
    effort: Floats  # (n,)
    criterion: str
    scale: Floats  # (count, n)
    columns: list[int]  # of the regressor, that are not left out
    column_scale: Floats  # of these
    exponent: int = 4
    weight: float = 1e-2  # of the barrier
    known: Floats | None = None  # rows over the columns that stand for what was measured before

    @staticmethod
    def make(
        regressor: Regressor,
        basis: SeriesBasis,
        samples: int,
        whole: MotionLimits,
        criterion: str,
        margin: float = 0.0,
    ) -> ExcitationProblem:
        """The problem within the limits, less a share `margin` of each."""
        matrices, share = basis.matrices(samples), 1.0 / overshoot(basis.harmonics, samples)
        limits = whole.kept(1.0 - margin)
        half, zero = limits.half, 0.0 * limits.middle
        parts = ((limits.middle, half), (zero, limits.velocity), (zero, limits.acceleration))
        limited = tuple(Limited(m, mid, share * end) for m, (mid, end) in zip(matrices, parts, strict=True))
        offset = np.where(np.isfinite(half), half, math.pi)
        rate = np.minimum(limits.velocity, 4.0 * math.pi / basis.duration * half)
        scale = np.vstack([offset, np.broadcast_to(rate, (basis.count - 1, len(rate)))])
        effort = TORQUE_SLACK * limits.effort
        every = list(range(len(regressor.parameters)))
        ones = np.ones(len(every))
        made = ExcitationProblem(regressor, basis, matrices, limited, effort, criterion, scale, every, ones)
        return made.scaled(reference_states(whole))

    def scaled(self, states: tuple[Floats, Floats, Floats]) -> ExcitationProblem:
        """With columns divided by their root-mean-square lengths at these states, without those that others hide."""
        count, G = len(states[0]), np.zeros((len(self.columns), len(self.columns)))
        for k in range(0, count, AT_ONCE):
            matrix = self.chosen(self.regressor.values(*(x[k : k + AT_ONCE] for x in states)))
            G += np.add.reduce([part.T @ part for part in blocks(matrix)]) / count
        sizes = np.sqrt(np.maximum(np.diag(G), np.finfo(float).tiny))
        kept = independent(G / np.outer(sizes, sizes))
        return replace(self, columns=kept, column_scale=sizes[kept])

    def beside(self, rows: Floats, names: tuple[str, ...], seconds: float, every: list[str]) -> ExcitationProblem:
        """With what is known: rows over parameters by name; rows of the motion to be recorded every so many seconds."""
        at = [names.index(every[k]) if every[k] in names else None for k in self.columns]
        own = np.stack([np.zeros(len(rows)) if k is None else rows[:, k] for k in at], axis=-1) / self.column_scale
        share = len(self.matrices[0]) * seconds / self.basis.duration  # of a row of one sample of the search
        return replace(self, known=np.asarray(np.sqrt(share) * own))

    def with_known(self, W: Floats) -> Floats:
        return W if self.known is None else np.concatenate([W, self.known])

    def at(self, exponent: int, weight: float) -> ExcitationProblem:
        return replace(self, exponent=exponent, weight=weight)

    def free(self, x: Floats) -> Floats:
        return x.reshape(self.scale.shape) * self.scale

    def motion(self, x: Floats) -> list[Floats]:
        free = self.free(x)
        return [matrix @ free for matrix in self.matrices]

    def weighted(self, x: Floats) -> Floats:
        """The regressor of a motion, rows weighted and columns scaled."""
        return self.chosen(self.regressor.values(*self.motion(x)))

    def chosen(self, Y: Floats) -> Floats:
        return np.asarray(self.regressor.matrix(Y)[:, self.columns] / self.column_scale)

    def torque_share(self, Y: Floats) -> Floats:
        return np.asarray(Y @ self.regressor.parameters) / self.effort

    def smooth(self, x: Floats) -> tuple[float, Floats]:
        """The criterion and the barrier of the torques, with their gradient."""
        motion = self.motion(x)
        Y = self.regressor.values(*motion)
        used = self.torque_share(Y)
        room = 1.0 - used**2
        if not (room > 0.0).all():
            return math.inf, 0.0 * x
        W = self.chosen(Y)
        rows = self.with_known(W)
        value, by_W = smooth_log_det(rows) if self.criterion == "logdet" else smooth_condition(rows, self.exponent)
        by_W = by_W[: len(W)]
        weight = self.weight / len(Y)
        by_Y = np.zeros(Y.shape)
        by_Y[..., self.columns] = (by_W / self.column_scale).reshape(*Y.shape[:2], -1)
        by_Y *= self.regressor.row_weights[:, None]
        by_Y += (2.0 * weight * used / room / self.effort)[..., None] * self.regressor.parameters
        parts = self.regressor.gradients(*motion, by_Y)
        gradient = sum(matrix.T @ part for matrix, part in zip(self.matrices, parts, strict=True))
        return value - weight * float(np.log(room).sum()), (gradient * self.scale).ravel()

    def barrier(self, x: Floats) -> Barrier:
        """-log(1 - u²) of the share u of each limit, added up over the samples, with its curvature."""
        free, (count, n) = self.free(x), self.scale.shape
        weight, value = self.weight / len(self.matrices[0]), 0.0
        gradient, curved = np.zeros((count, n)), np.zeros((n, count, count))
        for part in self.limited:
            used = part.share(free)
            room = 1.0 - used**2
            if not (room > 0.0).all():
                return Barrier(math.inf, gradient.ravel(), np.zeros((count * n, count * n)))
            value -= weight * float(np.log(room).sum())
            gradient += part.matrix.T @ (2.0 * weight * used / room / part.limit)
            curvature = 2.0 * weight * (1.0 + used**2) / (room * part.limit) ** 2
            for rows, weights in zip(blocks(part.matrix), blocks(curvature, count), strict=True):
                curved += (rows.T * weights.T[:, None, :]) @ rows
        scales = self.scale.T
        hessian, joint = np.zeros((count, n, count, n)), np.arange(n)
        hessian[:, joint, :, joint] = curved * scales[:, :, None] * scales[:, None, :]
        return Barrier(value, (gradient * self.scale).ravel(), hessian.reshape(count * n, -1))

    def room(self, x: Floats, step: Floats) -> float:
        free, move, longest = self.free(x), self.free(step), math.inf
        for part in self.limited:
            used, change = part.share(free), part.matrix @ move / part.limit
            moving = change != 0.0
            ends = np.where(change > 0.0, 1.0, -1.0) - used
            longest = min(longest, float((ends[moving] / change[moving]).min(initial=math.inf)))
        return longest

    def score(self, x: Floats) -> float:
        """The score of a motion: smaller is better."""
        matrix = self.with_known(self.weighted(x))
        return -log_det_of(matrix) if self.criterion == "logdet" else condition_of(matrix)

    def random(self, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Coefficients of an offset and of a motion about it, within all limits but those of torques."""
        (count, n), travel = self.scale.shape, self.limited[0]
        still, swing = np.zeros((count, n)), rng.normal(size=(count, n)) * self.scale
        still[0] = travel.middle + rng.uniform(-0.5, 0.5, n) * self.scale[0]
        swing[0] = 0.0
        way = np.abs(travel.matrix @ swing).max(axis=0) / (travel.limit - np.abs(still[0] - travel.middle))
        rates = [np.abs(part.share(swing)).max(axis=0) for part in self.limited[1:]]
        return still, swing * rng.uniform(0.6, 0.95, n) / np.max([way, *rates], axis=0)

    def start(self, rng: np.random.Generator) -> Floats | None:
        """A random motion within all limits, or None where its torques are not even when it is slow and short."""
        still, swing = self.random(rng)
        for _ in range(SHRINKS):
            x = ((still + swing) / self.scale).ravel()
            if (np.abs(self.torque_share(self.regressor.values(*self.motion(x)))) < START).all():
                return x
            swing *= 0.7
        return None


DRAWS = 50  # random motions that are tried for one start


class Stage(NamedTuple):
    """One minimisation: see `problem` for the exponent and the weight of the barrier."""

    exponent: int
    weight: float
    steps: int
    enough: float


FIRST = Stage(4, 1e-2, 150, 1e-3)
REFINED = (Stage(4, 1e-3, 300, 1e-4), Stage(16, 1e-3, 300, 1e-4), Stage(32, 1e-4, 200, 1e-4))


class SearchProgress:
    """`shown`: True, False, or None for a bar on a terminal."""

    def __init__(self, shown: bool | None, starts: int) -> None:
        self.starts, self.total = starts, starts * FIRST.steps + sum(stage.steps for stage in REFINED)
        self.display = ProgressDisplay.of_long_work(shown)

    def update(self, done: int, what: str) -> None:
        line = f"excitation: {done / self.total:6.1%} after {self.display.seconds:.0f} s, {what}"
        self.display.update(done, self.total, what, line)

    def close(self) -> None:
        self.display.close()


@dataclass
class Search:
    """The motions found so far: variables of the problem with their scores; smaller is better."""

    problem: ExcitationProblem
    progress: SearchProgress
    found: list[tuple[float, Floats]] = field(default_factory=list)
    current: Floats | None = None
    done: int = 0

    def run(self, seed: int) -> None:
        for k in range(self.progress.starts):
            if (x := self.drawn(np.random.default_rng([seed, k]))) is None:
                continue
            self.minimise(x, FIRST, f"start {k + 1} of {self.progress.starts}")
            self.done = (k + 1) * FIRST.steps
        if self.found:
            x = min(self.found, key=lambda pair: pair[0])[1]
            for stage in REFINED:
                x = self.minimise(x, stage, "refining the best")

    def drawn(self, rng: np.random.Generator) -> Floats | None:
        starts = (self.problem.start(rng) for _ in range(DRAWS))
        return next((x for x in starts if x is not None), None)

    def minimise(self, x: Floats, stage: Stage, what: str) -> Floats:
        begin = self.done

        def on_step(x: Floats) -> None:
            self.current = x
            self.done += 1
            self.progress.update(self.done, what + self.so_far)

        x = minimise(self.problem.at(stage.exponent, stage.weight), x, stage.steps, stage.enough, on_step)
        self.keep(x)
        self.done = begin + stage.steps
        return x

    def keep(self, x: Floats) -> None:
        self.found.append((self.problem.score(x), x))
        self.current = None

    @property
    def so_far(self) -> str:
        best = min((score for score, _ in self.found), default=math.inf)
        return f", {self.problem.criterion} {abs(best):.4g} so far" if math.isfinite(best) else ""

    def best_first(self) -> Iterator[Floats]:
        """The motions that were found, also that which an interrupted minimisation had reached."""
        if self.current is not None:
            self.keep(self.current)
        for _, x in sorted(self.found, key=lambda pair: pair[0]):
            yield self.problem.free(x)
