"""Choices by cross-validation over blocks of time: cut-off, terms of friction, offsets, rows near rest, weights.

Each candidate is fitted to all blocks but one and scored on all rows of that one, in turn. A score is the mean over the
joints of mean squared errors, each in units of those of the first candidate. The simpler candidate is kept unless
another one is better by more than two standard errors of the logarithm of their ratio over the blocks. Cut-offs are
scored on torques as measured, since filtered ones are easier to predict.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from ..robot import Friction
from .filtering import (
    Filtering,
    Motion,
    candidates,
    ends_of,
    filtered_motion,
    filtering_at,
    least_length,
    rows_in_parallel,
    without_short_parts,
)
from .judging import (
    ENOUGH,
    ROUNDS,
    Choices,
    Comparison,
    Judge,
    Products,
    Tried,
    balanced_on,
    solved_products,
)
from .model import OF_JOINTS, TorqueModel, drive_torque
from .samples import Samples
from .stacking import rows_at

SMOOTHED = "Coulomb friction smoothed"
BLOCKS = 10  # of time
ROWS = 4000  # by which candidates are scored
FARTHEST = 0.1  # of a recording: the longest lag
TELLING = 0.3  # of the longest part between gaps: shorter parts do not count in the choice of a cut-off
SMOOTHING = (0.01, 0.03, 0.1, 0.3)  # times the usual rate of a drive: rates that smooth Coulomb friction
STRIBECK = (0.03, 0.1, 0.3)  # times that rate: Stribeck rates
REST = (0.0, 0.03, 0.1)  # times that rate: rows that are slower may be left out


@dataclass(frozen=True)
class Chosen:
    """What is fitted, and how."""

    filtering: Filtering
    model: TorqueModel
    minimum_speed: np.ndarray  # (n,)
    weighted: bool
    delay: float  # seconds by which torques lag
    table: Choices


class Fixed(NamedTuple):
    """What the user has fixed; None: chosen."""

    cutoff: float | None
    decimate: int | None
    unfiltered: bool  # rates and accelerations were recorded, and are taken as they are
    smoothing: bool
    offset: bool | None
    terms: Sequence[str] | None
    minimum_speed: np.ndarray | None
    weighted: bool | None
    delay: float | None


def choose(samples: Sequence[Samples], model: TorqueModel, fixed: Fixed) -> Chosen:
    """Everything that is not fixed, one after the other."""
    robot, tried = model.robot, list[Tried]()
    offered = offered_terms(model, fixed)
    with_offsets = replace(model, terms=every_joint(model, ["offset"] if "offset" in offered else []))
    if fixed.unfiltered:
        filtering = filtering_at(samples, None, fixed.decimate, "rates and accelerations were recorded")
    elif fixed.cutoff is not None:
        filtering = filtering_at(samples, fixed.cutoff, fixed.decimate, "as asked for")
    else:
        cutoff, tried = best_cutoff(samples, with_offsets)
        filtering = filtering_at(samples, cutoff, fixed.decimate, "chosen by cross-validation")
    samples, _ = without_short_parts(samples, filtering)
    delay = 0.0
    if fixed.delay is None and not fixed.unfiltered:
        samples, delay = lag_of(samples, with_offsets, filtering, tried)
    given = fixed_terms(model, fixed)
    model = replace(model, terms=every_joint(model, given))
    speeds = np.zeros(robot.n) if fixed.minimum_speed is None else fixed.minimum_speed
    open_terms = [kind for kind in offered if kind not in given]
    smoothing = not fixed.smoothing and model.friction is not None and not model.chosen
    rest = fixed.minimum_speed is None and model.friction is not None
    needs_load = "load" in (*given, *open_terms)
    if not (open_terms or smoothing or rest or fixed.weighted is None or needs_load):
        return Chosen(filtering, model, speeds, bool(fixed.weighted), delay, Choices(tuple(tried)))
    motions = [filtered_motion(robot, recording, filtering.cutoff) for recording in samples]
    usual = usual_rates(model, motions)
    limits = REST if rest else (0.0,)
    classes = [speeds] if not rest else [share * usual_joint_rates(motions) for share in limits]
    wide = Wide.of(model, open_terms, usual, smoothing)
    judge, wide = judged(wide, motions, filtering, classes)
    search = Search(wide, judge, tried)
    search.run(open_terms, smoothing, len(limits) if rest else 1, fixed.weighted is None)
    if rest:
        speeds = classes[search.least]
    weighted = search.weighted if fixed.weighted is None else fixed.weighted
    return Chosen(filtering, search.model(), speeds, weighted, delay, Choices(tuple(tried)))


def lag_of(
    samples: Sequence[Samples], model: TorqueModel, filtering: Filtering, tried: list[Tried]
) -> tuple[Sequence[Samples], float]:
    """The samples with shifted torques, and the lag that they had: the coefficient of an added column, by iteration.

    Torques of the bodies that lag by d are smaller by d times their time derivative. Friction is left out of the
    derivative: where a drive reverses, it differs from its law in ways that look like a lag.
    """
    size, lag, step, moved = len(model.base_names), 0.0, Comparison(1.0, 0.0, 0.0), samples
    for k in range(ROUNDS):
        judge = judge_of_lag(moved, model, filtering)
        if k == 0:
            step = Comparison.of(judge.errors(range(size + 1)), judge.errors(range(size)))
        lag += float(judge.solution(range(size + 1))[-1])
        shortest = min(recording.dt * len(recording.q) for recording in samples)
        if not step.better or abs(lag) > FARTHEST * shortest:
            break
        moved, _ = without_short_parts([recording.with_delay(lag) for recording in samples], filtering)
    taken = step.better and abs(lag) <= FARTHEST * shortest
    tried.append(Tried("delay of torques", f"{1e3 * lag:.2g} ms", *step[:3], taken))
    return (moved, lag) if taken else (samples, 0.0)


def judge_of_lag(samples: Sequence[Samples], model: TorqueModel, filtering: Filtering) -> Judge:
    """The columns of the model, and as the last one the time derivative of the torques of the bodies."""
    motions = [filtered_motion(model.robot, recording, filtering.cutoff) for recording in samples]
    parts, size = blocks_of(motions), len(model.base_names)
    products = Products(1, max(first + len(edges) + 1 for first, edges in parts), model.robot.n, size + 1)
    of_bodies = loads_of(model, motions, thinned(motions, filtering))
    for motion, (first, edges) in zip(motions, parts, strict=True):

        def rows(index: np.ndarray, m: Motion = motion) -> np.ndarray:
            Y = model.rows(m.q[index], m.qd[index], m.qdd[index])
            bodies = model.all_columns(m.q[index], m.qd[index], m.qdd[index])[..., : len(of_bodies)] @ of_bodies
            slope = np.gradient(bodies, m.dt * (index[1] - index[0]), axis=0)
            return np.concatenate([Y[..., :-1], -slope[..., None], Y[..., -1:]], axis=-1)

        index, Y = rows_in_parallel(rows, motion, filtering)
        target = motion.tau[index] - Y[..., -1] - Y[..., :-2] @ model.base_nominal
        group = np.where(motion.unmeasured, -1, 0) * np.ones((len(index), 1), dtype=int)
        products.add(Y[..., :-1], target, first + np.searchsorted(edges, motion.t[index]), group)
    return balanced_on(products, size)


def offered_terms(model: TorqueModel, fixed: Fixed) -> list[str]:
    """Kinds of terms that may be added."""
    if fixed.terms is not None:
        kinds = list(fixed.terms)
    elif model.chosen:
        kinds = []
    else:
        kinds = ["quadratic", "stribeck"] if model.friction is not None else []
        if model.friction is not None and model.drives.invertible:
            kinds.append("load")
        if not model.robot.quaternions:
            kinds.append("spring")
    if fixed.offset is not False and not (model.chosen and fixed.offset is None):
        kinds = ["offset", *kinds]
    return kinds


def fixed_terms(model: TorqueModel, fixed: Fixed) -> list[str]:
    return [*(["offset"] if fixed.offset else []), *(fixed.terms or [])]


def every_joint(model: TorqueModel, kinds: Sequence[str]) -> tuple[tuple[str, int], ...]:
    return tuple((kind, joint) for kind in kinds for joint in range(model.joints_of(kind)))


def usual_joint_rates(motions: Sequence[Motion]) -> np.ndarray:
    """(n,) root mean squares."""
    return np.asarray(np.sqrt(np.mean(np.concatenate([motion.qd**2 for motion in motions]), axis=0)))


def usual_rates(model: TorqueModel, motions: Sequence[Motion]) -> float:
    """The median of the drives' rates, as root mean squares, of those that move."""
    rates = np.sqrt(np.mean(np.concatenate([(motion.qd @ model.drives.A.T) ** 2 for motion in motions]), axis=0))
    return float(np.median(rates[rates > 0.0])) if rates.any() else 1.0


def thinned(motions: Sequence[Motion], filtering: Filtering) -> list[np.ndarray]:
    """The rows of each motion by which cut-offs are scored, not filtered."""
    steps = [filtering.row_step(1.0 / motion.dt) for motion in motions]
    total = sum(len(motion.t) // step for motion, step in zip(motions, steps, strict=True))
    factor = max(1, round(total / ROWS))
    return [np.arange(0, len(m.t), factor * step) for m, step in zip(motions, steps, strict=True)]


def blocks_of(motions: Sequence[Motion]) -> list[tuple[int, np.ndarray]]:
    """The first block of each motion, and the times at which its blocks begin and end."""
    total, first, result = sum(m.t[-1] - m.t[0] for m in motions), 0, []
    for m in motions:
        count = max(1, round(BLOCKS * (m.t[-1] - m.t[0]) / total))
        result.append((first, np.linspace(m.t[0], m.t[-1], count + 1)[1:-1]))
        first += count
    return result


def best_cutoff(samples: Sequence[Samples], model: TorqueModel) -> tuple[float, list[Tried]]:
    """The lowest cut-off that is not worse than the best; neighbours of the best are tried after every second one."""
    longest = max(len(recording.q) * recording.dt for recording in samples)
    samples = [r for r in samples if not r.part or len(r.q) * r.dt >= TELLING * longest]
    grid, errors = candidates(samples), dict[int, np.ndarray]()

    def long_enough(k: int) -> bool:
        return all(len(r.q) >= least_length(r.rate, grid[k]) for r in samples)

    if not long_enough(0):
        samples = [max(samples, key=lambda recording: len(recording.q) * recording.dt)]
    usable = [k for k in range(len(grid)) if long_enough(k)] or [0]

    def score(k: int) -> float:
        if k not in errors:
            motions = [filtered_motion(model.robot, recording, grid[k]) for recording in samples]
            judge = judge_of_cutoff(model, samples, motions, grid[k], grid[usable[-1]])
            errors[k] = judge.errors(range(len(model.base_names)))
        return float(np.mean(errors[k] / units))

    units = np.ones(model.robot.n)
    score(usable[0])
    units = errors[usable[0]].mean(axis=0)
    best = min(usable[::2], key=score)
    best = min((k for k in (best, best - 1, best + 1) if k in usable), key=score)
    steps = {k: Comparison.of(errors[k] / units, errors[best] / units) for k in sorted(errors, reverse=True)}
    taken = next(
        k
        for k, step in steps.items()
        if step.difference <= step.error and step.score <= (1.0 + 10.0 * ENOUGH) * step.before
    )
    return grid[taken], [Tried("cut-off", f"{grid[k]:.3g} Hz", *step[:3], k == taken) for k, step in steps.items()]


def judge_of_cutoff(
    model: TorqueModel, samples: Sequence[Samples], motions: Sequence[Motion], cutoff: float, lowest: float
) -> Judge:
    """A judge of fits to filtered torques, scored on torques as measured at times that all cut-offs have."""
    filtering, n = filtering_at(samples, cutoff, None, ""), model.robot.n
    parts, count = blocks_of(motions), len(model.base_names)
    total = max(first + len(edges) + 1 for first, edges in parts)
    fitted, scored = (Products(1, total, n, count) for _ in range(2))
    budget = sum(len(recording.q) for recording in samples)
    for recording, motion, rows, (first, edges) in zip(
        samples, motions, thinned(motions, filtering), parts, strict=True
    ):
        ends, cut = ends_of(recording.rate, lowest), ends_of(recording.rate, cutoff)
        every = np.arange(max(0, ends - cut), len(motion.t) - max(0, ends - cut), max(1, round(budget / ROWS)))
        for products, index, tau in ((fitted, rows, motion.tau), (scored, every, motion.raw)):
            Y = rows_at(model, motion, index)
            target = tau[index] - Y[..., -1] - Y[..., :-1] @ model.base_nominal
            group = np.where(motion.unmeasured, -1, 0) * np.ones((len(index), 1), dtype=int)
            products.add(Y[..., :-1], target, first + np.searchsorted(edges, motion.t[index]), group)
    return replace(balanced_on(fitted, count), scored=scored, units=np.ones(n))


@dataclass(frozen=True)
class Wide:
    """A model with the columns of all candidates, and where they are."""

    model: TorqueModel  # with all terms that do not depend on a rate
    coulomb: dict[float, dict[int, int]]  # by the rate that smooths: columns that replace those of the model
    stribeck: dict[float, dict[int, int]]  # by rate and joint: its column
    terms: dict[str, dict[int, int]]  # by kind and joint: its column

    @staticmethod
    def of(model: TorqueModel, kinds: Sequence[str], usual: float, smoothing: bool) -> Wide:
        """`usual`: the usual rate of the drives, of which the rates that smooth Coulomb friction are shares."""
        more = [kind for kind in kinds if kind != "stribeck"]
        wide = replace(model, terms=(*model.terms, *every_joint(model, more)))
        first = len(model.base_names)
        terms = {kind: dict[int, int]() for kind in more}
        for k, (kind, joint) in enumerate(wide.terms[len(model.terms) :]):
            terms[kind][joint] = first + k
        first += sum(map(len, terms.values()))
        names, owners = list(model.combined), model.robot.names
        at = {j: names.index(f"{owner}.coulomb") for j, owner in enumerate(owners) if f"{owner}.coulomb" in names}
        coulomb: dict[float, dict[int, int]] = {}
        for share in SMOOTHING if smoothing else ():
            coulomb[share * usual] = {column: first + k for k, column in enumerate(at.values())}
            first += len(at)
        stribeck: dict[float, dict[int, int]] = {}
        for share in STRIBECK if "stribeck" in kinds else ():
            stribeck[share * usual] = {joint: first + k for k, joint in enumerate(range(len(owners)))}
            first += len(owners)
        return Wide(wide, coulomb, stribeck, terms)

    @property
    def size(self) -> int:
        more = [*self.coulomb.values(), *self.stribeck.values()]
        return len(self.model.base_names) + sum(map(len, more))

    def rows(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        rows = self.model.rows(q, qd, qdd)
        law, drives, owners = self.model.friction or Friction(), self.model.drives, self.model.robot.names
        s, parts = qd @ drives.A.T, [rows[..., :-1]]
        for smooth, columns in self.coulomb.items():
            every = drives.columns(drive_torque("coulomb", s, replace(law, smooth=smooth), 1.0, None))
            names = [self.model.combined[k].rpartition(".")[0] for k in columns]
            parts.append(every[..., [owners.index(name) for name in names]])
        for rate in self.stribeck:
            parts.append(drives.columns(drive_torque("stribeck", s, law, rate, None)))
        return np.concatenate([*parts, rows[..., -1:]], axis=-1)


def judged(
    wide: Wide, motions: Sequence[Motion], filtering: Filtering, classes: Sequence[np.ndarray]
) -> tuple[Judge, Wide]:
    """The products of all columns; the load of drives, where it is needed, is that of a first fit."""
    parts, n = blocks_of(motions), wide.model.robot.n
    total = max(first + len(edges) + 1 for first, edges in parts)
    rows = thinned(motions, filtering)
    if "load" in wide.terms or any(kind == "load" for kind, _ in wide.model.terms):
        plain = replace(wide.model, terms=tuple(term for term in wide.model.terms if term[0] == "offset"))
        wide = replace(wide, model=replace(wide.model, carried=loads_of(plain, motions, rows)))
    products = Products(len(classes), total, n, wide.size)
    for motion, (start, edges) in zip(motions, parts, strict=True):
        index, Y = rows_in_parallel(partial(rows_at, wide, motion), motion, filtering)
        base = np.concatenate([wide.model.base_nominal, np.zeros(wide.size - len(wide.model.base_names))])
        target = motion.tau[index] - Y[..., -1] - Y[..., :-1] @ base
        speed = np.abs(motion.qd[index])
        group = np.sum([speed >= edge for edge in classes], axis=0) - 1
        group = np.where(motion.unmeasured, -1, group)
        products.add(Y[..., :-1], target, start + np.searchsorted(edges, motion.t[index]), group)
    return balanced_on(products, len(wide.model.base_names) - sum(map(len, wide.terms.values()))), wide


def loads_of(model: TorqueModel, motions: Sequence[Motion], rows: Sequence[np.ndarray]) -> np.ndarray:
    """Base parameters of bodies by ordinary least squares: good enough for the load of drives."""
    size = len(model.base_names)
    total = np.zeros((size + 1, size + 1))
    for motion, index in zip(motions, rows, strict=True):
        Y = model.rows(motion.q[index], motion.qd[index], motion.qdd[index])
        target = motion.tau[index] - Y[..., -1] - Y[..., :-1] @ model.base_nominal
        every = np.concatenate([Y[..., :-1], target[..., None]], axis=-1)[:, ~motion.unmeasured].reshape(-1, size + 1)
        total += every.T @ every
    return model.base_of_bodies(model.base_nominal + solved_products(total[None])[0])


class Offer(NamedTuple):
    """A candidate: the columns that it has, and how much better it is."""

    name: str
    kind: str
    rate: float
    joints: list[int]
    columns: list[int]
    step: Comparison


class Search:
    """The candidates that were taken so far."""

    def __init__(self, wide: Wide, judge: Judge, tried: list[Tried]) -> None:
        self.wide, self.judge, self.tried = wide, judge, tried
        first = len(wide.model.base_names) - sum(map(len, wide.terms.values()))
        self.columns = list(range(first))
        self.smooth: float | None = None
        self.rate = 1.0
        self.added: list[tuple[str, int]] = []
        self.least, self.weighted = 0, True
        self.errors = judge.errors(self.columns)

    def run(self, kinds: Sequence[str], smoothing: bool, classes: int, weights: bool) -> None:
        for least in range(1, classes):
            self.consider(
                "rows near rest", f"left out below {REST[least]:g} of the usual rate", self.columns, least=least
            )
        left = [*kinds, *([SMOOTHED] if smoothing else [])]
        while left:
            offers = [offer for kind in left for offer in self.offers(kind)]
            if not offers:
                break
            offer = min(offers, key=lambda offer: offer.step.difference)
            self.tried.append(Tried("term", offer.name, *offer.step[:3], offer.step.better))
            if not offer.step.better:
                break
            self.take(offer)
            left = [kind for kind in left if kind != offer.kind]
        if weights:
            alike = np.where(self.judge.weights > 0.0, np.median(self.judge.weights), 0.0)
            step = Comparison.of(self.judge.errors(self.columns, alike, self.least), self.errors)
            self.tried.append(Tried("weights", "all joints alike", *step[:3], step.better))
            self.weighted = not step.better

    def consider(self, choice: str, candidate: str, columns: list[int], least: int | None = None) -> bool:
        """Take a candidate if it is better."""
        least = self.least if least is None else least
        errors = self.judge.errors(columns, least=least)
        step = Comparison.of(errors, self.errors)
        self.tried.append(Tried(choice, candidate, *step[:3], step.better))
        if step.better:
            self.columns, self.least, self.errors = columns, least, errors
        return step.better

    def offers(self, kind: str) -> list[Offer]:
        """A term at the joints where it helps, for each rate; or Coulomb friction, for each rate that smooths it."""
        if kind == SMOOTHED:
            swapped = {smooth: [own.get(k, k) for k in self.columns] for smooth, own in self.wide.coulomb.items()}
            return [
                Offer(f"{kind} at {smooth:.2g}", kind, smooth, [], columns, self.compared(columns))
                for smooth, columns in swapped.items()
            ]
        options = self.wide.stribeck.items() if kind == "stribeck" else [(1.0, self.wide.terms[kind])]
        result = []
        for rate, own in options:
            name = f"{kind} at {rate:.2g}" if kind == "stribeck" else kind
            every = self.judge.errors([*self.columns, *own.values()], least=self.least)
            joints = [joint for joint in own if self.helped(kind, joint, every)]
            if not joints:
                step = Comparison.of(every, self.errors)
                self.tried.append(Tried("term", f"{name}, {in_joints(own)}", *step[:3], False))
                continue
            columns = [*self.columns, *(own[joint] for joint in joints)]
            result.append(Offer(f"{name}, {in_joints(joints)}", kind, rate, joints, columns, self.compared(columns)))
        return result

    def compared(self, columns: list[int]) -> Comparison:
        return Comparison.of(self.judge.errors(columns, least=self.least), self.errors)

    def helped(self, kind: str, joint: int, errors: np.ndarray) -> bool:
        robot = self.wide.model.robot
        own = slice(joint, joint + 1) if kind in OF_JOINTS else robot.moving[joint].v
        return Comparison.of(errors[:, own], self.errors[:, own]).better

    def take(self, offer: Offer) -> None:
        self.columns = offer.columns
        self.errors = self.judge.errors(self.columns, least=self.least)
        self.added += [(offer.kind, joint) for joint in offer.joints]
        if offer.kind == "stribeck":
            self.rate = offer.rate
        if offer.kind == SMOOTHED:
            self.smooth = offer.rate

    def model(self) -> TorqueModel:
        """The model with the candidates that were taken."""
        wide, count = self.wide.model, sum(map(len, self.wide.terms.values()))
        terms = (*wide.terms[: len(wide.terms) - count], *self.added)
        law = (
            wide.friction
            if self.smooth is None or wide.friction is None
            else replace(wide.friction, smooth=self.smooth)
        )
        carried = wide.carried if any(kind == "load" for kind, _ in terms) else None
        return replace(wide, friction=law, terms=terms, stribeck_rate=self.rate, carried=carried)


def in_joints(joints: Collection[int]) -> str:
    return f"{len(joints)} joint{'s' * (len(joints) != 1)}"
