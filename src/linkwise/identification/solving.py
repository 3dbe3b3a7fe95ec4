"""Fits to reduced rows: least squares, physically consistent bodies, their estimates, errors and cross-validation.

The prior of a fit of physically consistent bodies: the nominal robot, made positive definite where it is not.

The entropic distance needs bodies with mass and extent in all directions. What a nominal link lacks is filled in by
these rules, and each case is noted:

- a link without mass: a tenth of the mean mass of the others, spread over a quarter of the mean distance between
  joints; if no link has any, the mass with which all of them together explain the size of the torques;
- a link that is thinner than a twentieth of that distance in some direction (rods, point masses, inconsistent
  numbers): that thickness;
- a rotor inertia or a coefficient of friction that is zero: a tenth of the value that alone would explain all torques.
  It stays zero, up to rounding, if it has no effect in the data, if its σ is larger than that tenth, or if its σ is
  larger than a tenth of that tenth and not smaller than the value itself. If torques cannot separate it from parameters
  of bodies (the rotor of a first joint), its distance has little weight: bodies that explain the torques remain, and
  inertia that they lack is assigned to the rotor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ..robot import Robot
from ..robot.scales import reach
from .estimates import Certificate, Estimates, JointErrors, parameter_scales, parameter_units
from .identifiability import lost, padded, recovery, sigma_of_unknowns
from .least_squares import Factors, Solution, Spread, noise_of, sigma_of, solved, spread_of, triangle, whole
from .model import TorqueModel
from .physical import PhysicalFit, PhysicalProblem, pseudo_inertias, ten_numbers

LITTLE_MASS = 1e-3  # of the mean mass
SHARE = 0.1
SPREAD, THIN = 0.25, 0.05  # of the mean distance between joints
NO_EFFECT, NOTHING = 1e-9, 1e-12  # a column of a scalar beside the others; a scalar beside a mass times a distance²
AT_ONE_PLACE = 1e-6  # of the largest distance between joints
VAGUE = 0.1  # of that tenth: the largest σ of a value that is not larger than its σ
LITTLE_SHARE = 1e-4  # weight of such a distance: its root is the share that a rotor takes from a body without need
DISTANCE = 0.2  # of the robot's size, where all joints are in one place


class Prior(NamedTuple):
    bodies: np.ndarray  # (links, 4, 4)
    scalars: np.ndarray
    shares: np.ndarray  # of the scalars in the distance
    notes: tuple[str, ...]
    kept: tuple[str, ...] = ()  # a note on scalars that are kept at zero


class Evidence(NamedTuple):
    """The information of torques about scalars, and the columns of bodies."""

    bodies: np.ndarray
    columns: np.ndarray
    alone: np.ndarray  # which of them torques separate from other parameters
    sigma: np.ndarray  # larger where the value is smaller than it
    torque: float  # the size of all torques


def prior_of(
    robot: Robot,
    links: Sequence[int],
    ten: np.ndarray,
    scalars: np.ndarray,
    names: Sequence[str],
    evidence: Evidence,
) -> Prior:
    """The prior from the nominal numbers (links, 10) of these links, and the scalars with their names."""
    nominal = pseudo_inertias(ten)
    notes: list[str] = []
    thin: list[str] = []
    masses = nominal[:, 3, 3]
    positive = masses[masses > 0.0]
    away = [float(np.linalg.norm([float(x) for x in link.placement.translation])) for link in robot.links]
    away = [x for x in away if x > AT_ONE_PLACE * max(away)]
    distance = float(np.mean(away)) if away else DISTANCE * reach(robot)
    spread = (SPREAD * distance) ** 2 * np.eye(3)
    mass = float(positive.mean()) if len(positive) else explaining_mass(evidence, spread) / SHARE
    bodies = np.empty_like(nominal)
    for k, (name, P) in enumerate(zip([robot.names[k] for k in links], nominal, strict=True)):
        if P[3, 3] <= LITTLE_MASS * mass:
            bodies[k] = pseudo_inertia_of(SHARE * mass, np.zeros(3), spread)
            notes.append(f"{name} has no mass in the nominal robot: drawn to {SHARE * mass:.3g} kg at its joint")
            continue
        centre = P[:3, 3] / P[3, 3]
        values, vectors = np.linalg.eigh(P[:3, :3] / P[3, 3] - np.outer(centre, centre))
        least = (THIN * distance) ** 2
        if values[0] < least:
            thin.append(name)
        bodies[k] = pseudo_inertia_of(P[3, 3], centre, (vectors * np.maximum(values, least)) @ vectors.T)
    words = f"{', '.join(thin)}: thin, or no body, in the nominal robot; drawn to one {THIN * distance:.2g} m thick"
    own = parameter_scales(robot, names, mass, distance)
    sizes = np.linalg.norm(evidence.columns, axis=0)
    effective = sizes * own > NO_EFFECT * (sizes * own).max(initial=0.0)
    guess = np.where(effective, SHARE * evidence.torque / np.where(effective, sizes, 1.0), 0.0)
    vague, kept = effective & evidence.alone & (scalars <= 0.0) & (evidence.sigma > guess), tuple[str, ...]()
    if vague.any():
        which = ", ".join(name for name, yes in zip(names, vague, strict=True) if yes)
        kept = (f"{which}: not determined by these data; zero in the nominal robot, and kept at zero",)
    guess = np.where(vague, 0.0, guess)
    shares = np.where(effective & ~evidence.alone & (scalars <= 0.0), LITTLE_SHARE, 1.0)
    scalars = np.where(scalars > 0.0, scalars, np.maximum(guess, NOTHING * own))
    return Prior(bodies, scalars, shares, (*notes, words) if thin else tuple(notes), kept)


def explaining_mass(evidence: Evidence, spread: np.ndarray) -> float:
    """The mass at the joint of each link with which torques have their measured magnitude; 1 kg if none does."""
    body = ten_numbers(pseudo_inertia_of(1.0, np.zeros(3), spread))
    torque = np.linalg.norm(evidence.bodies.reshape(len(evidence.bodies), -1, len(body)).sum(axis=1) @ body)
    return float(evidence.torque / torque) if torque > 0.0 else 1.0


def pseudo_inertia_of(mass: float, centre: np.ndarray, spread: np.ndarray) -> np.ndarray:
    """P of a mass with these second moments (per mass) about its centre."""
    P = np.empty((4, 4))
    P[:3, :3] = mass * (spread + np.outer(centre, centre))
    P[:3, 3] = P[3, :3] = mass * centre
    P[3, 3] = mass
    return P


ROUNDS, GROWTH = 6, 1.1  # of weighting by the residuals of possible bodies, where those of a joint grew by so much
# γ, in units of noise and of all torques, of the bodies that least squares' base parameters are split into
AS_FOUND = (1e-6, 1e-13)
POSSIBLE = 1e-9  # of the largest eigenvalue of a pseudo-inertia: smaller negative ones are rounding


@dataclass(frozen=True)
class Fitted:
    """Unknowns, torque offsets and base parameters x of a fit, with its least-squares solution and spread."""

    unknowns: np.ndarray
    offsets: np.ndarray
    x: np.ndarray
    solution: Solution
    spread: Spread
    prior: Prior
    problem: PhysicalProblem | None = None  # of physically consistent bodies
    found: PhysicalFit | None = None


def fitted(
    factors: Factors,
    model: TorqueModel,
    solution: Solution,
    physical: bool,
    regularization: float,
    gain_sigma: np.ndarray | None = None,
) -> Fitted:
    """The requested fit, from that of least squares."""
    spread = spread_of(factors, solution, gain_sigma)
    problem, prior = physical_problem(model, solution, spread, regularization)
    combined = len(model.T)
    if not physical:
        return Fitted(split(model, solution, prior), solution.x[combined:], solution.x, solution, spread, prior)
    found = problem.solve()
    x = np.concatenate([model.T @ found.values, found.free])
    return Fitted(found.values, found.free, x, solution, spread, prior, problem, found)


def weighted_fit(
    factors: Factors,
    model: TorqueModel,
    solution: Solution,
    regularization: float,
    gain_sigma: np.ndarray | None = None,
) -> Fitted:
    """Physically consistent bodies, with joints weighted by the residuals that these bodies leave."""
    fit = fitted(factors, model, solution, True, regularization, gain_sigma)
    for _ in range(ROUNDS):
        again = reweighted(factors, fit.solution, fit.x)
        if again is None:
            break
        fit = fitted(factors, model, again, True, regularization, gain_sigma)
    return fit


def reweighted(factors: Factors, solution: Solution, x: np.ndarray) -> Solution | None:
    """Least squares weighted by the residuals of x, if those of some joints exceed their noise.

    A joint with a wrong sign or gain, which no consistent bodies fit, would otherwise spoil the fit of all others: its
    noise is that of least squares, which fits it by bodies that are not physically consistent.
    """
    joints = [factors.of_joint(j) for j in range(factors.joints)]
    noise = noise_of(factors, joints, replace(solution, x=x), solution.noise)
    if (noise <= GROWTH * solution.noise).all():
        return None
    return solved(whole(factors, joints, 1.0 / noise), solution.nominal, noise, factors.sizes)


def physical_problem(
    model: TorqueModel, solution: Solution, spread: Spread, regularization: float
) -> tuple[PhysicalProblem, Prior]:
    system = solution.project(solution.system)
    matrix = matrix_of(model, system)
    size, start = model.body_size, model.nominal[model.free]
    target = float(np.linalg.norm(system[:, -1]))
    scalars = matrix[:, size : len(start)]
    inverse, alone = recovery(model)
    sigma = sigma_of(solution, spread, padded(inverse[size:], solution))[1]
    sigma = np.where(lost(inverse, solution)[size:], np.inf, sigma)
    plain = (inverse @ solution.x[: inverse.shape[1]])[size:]
    evidence = Evidence(matrix[:, :size], scalars, alone[size:], np.where(plain < sigma, sigma / VAGUE, sigma), target)
    bodies = start[:size].reshape(size // 10, 10)
    prior = prior_of(model.robot, model.links, bodies, start[size:], model.unknowns[size:], evidence)
    return PhysicalProblem(matrix, system[:, -1], prior.bodies, prior.scalars, regularization, prior.shares), prior


def matrix_of(model: TorqueModel, system: np.ndarray) -> np.ndarray:
    """R T, and R itself for offsets."""
    combined = len(model.T)
    return np.concatenate([system[:, :combined] @ model.T, system[:, combined:-1]], axis=1)


def split(model: TorqueModel, solution: Solution, prior: Prior) -> np.ndarray:
    """Unknowns with exactly the identified base parameters: physically consistent bodies, if any have these.

    From the fit of possible bodies to the base parameters, the rest of the way is the shortest one, each parameter
    measured by its size: if possible bodies have the base parameters, it is nothing but rounding.
    """
    T, base = model.T, solution.x[: len(model.T)]
    system = solution.project(solution.system)
    matrix = matrix_of(model, system)[:, : T.shape[1]]
    target = system[:, : len(T)] @ base
    weight = max(AS_FOUND[0], AS_FOUND[1] * float(target @ target))  # small, and not lost in rounding beside the target
    start = PhysicalProblem(matrix, target, prior.bodies, prior.scalars, weight, prior.shares).solve().values
    mass = prior.bodies[:, 3, 3]
    inertia = np.trace(prior.bodies[:, :3, :3], axis1=1, axis2=2)
    sizes = np.stack([mass, *[np.sqrt(mass * inertia)] * 3, *[inertia] * 6], axis=-1).ravel()
    sizes = np.concatenate([sizes, prior.scalars])
    own = model.sizes[: len(T)]
    rest = (base - T @ start) / own
    step = np.where(T.any(axis=0), np.linalg.lstsq(T * sizes / own[:, None], rest, rcond=None)[0], 0.0)
    return np.asarray(start + sizes * step)


def base_estimates(model: TorqueModel, solution: Solution, spread: Spread, x: np.ndarray) -> Estimates:
    sigma, white = sigma_of(solution, spread, np.eye(len(x)))
    known = solution.determined
    sigma, white = np.where(known, sigma, np.inf), np.where(known, white, np.inf)
    names = tuple(model.base_names)
    return Estimates(names, x, sigma, white, model.base_nominal, parameter_units(model.robot, names))


def all_estimates(model: TorqueModel, solution: Solution, spread: Spread, every: np.ndarray) -> Estimates:
    full, white = np.zeros((2, len(every)))
    full[model.free], white[model.free] = sigma_of_unknowns(model, solution, spread, np.eye(int(model.free.sum())))
    return Estimates(model.names, every, full, white, model.nominal, parameter_units(model.robot, model.names))


def errors_of(
    robot: Robot, parts: Sequence[Factors], solutions: Sequence[np.ndarray], folds: Sequence[list[int] | None]
) -> JointErrors:
    """Errors of each joint over all rows and all folds, each with its own solution; NaN of joints without rows."""
    joints = range(robot.n)
    pairs = [(part, x, fold) for part in parts for x, fold in zip(solutions, folds, strict=True)]
    squares = [sum(part.errors(j, x, fold) for part, x, fold in pairs) for j in joints]
    counts = [sum(part.samples(j) for part in parts) for j in joints]
    rms = np.array([(s / count) ** 0.5 if count else np.nan for s, count in zip(squares, counts, strict=True)])
    every = Factors.together(parts)
    sizes = np.array([every.variation(j) for j in joints])
    return JointErrors.of(robot, rms, sizes[:, 0], sizes[:, 1])


def cross_validation(factors: Factors, fit: Fitted, model: TorqueModel) -> list[np.ndarray]:
    """For each fold of contiguous blocks, the solution of a fit to the others, by the same method."""
    solution, spread, problem = fit.solution, fit.spread, fit.problem
    parts, solutions = [factors.of_blocks(fold, 1.0 / solution.scale) for fold in spread.folds], []
    for k in range(len(parts)):
        system = solution.project(triangle(np.concatenate(parts[:k] + parts[k + 1 :])))
        if problem is None:
            solutions.append(solved(system, solution.nominal, solution.scale, factors.sizes).x)
            continue
        others = replace(problem, matrix=matrix_of(model, system), target=system[:, -1])
        left = others.solve(start=fit.found)
        solutions.append(np.concatenate([model.T @ left.values, left.free]))
    return solutions


def certificates(robot: Robot, ten: np.ndarray) -> dict[str, Certificate]:
    """Certificates of links, with eigenvalues in SI units; consistency is decided in lengths of the robot's size."""
    P, k = pseudo_inertias(ten), np.array([*[1.0 / reach(robot)] * 3, 1.0])
    least, most = np.linalg.eigvalsh(P * np.outer(k, k))[:, [0, -1]].T
    possible = least >= -POSSIBLE * np.abs(most)
    values = np.linalg.eigvalsh(P)
    return {name: Certificate(*own) for name, *own in zip(robot.names, values, possible.tolist(), strict=True)}


def cost_of(solution: Solution, x: np.ndarray) -> float:
    """The growth of the weighted sum of squares from the least-squares solution to x."""
    R, d = solution.system[:, :-1], solution.system[:, -1]
    return float(np.sum((R @ x - d) ** 2) - np.sum((R @ solution.x - d) ** 2))
