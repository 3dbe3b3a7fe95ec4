"""Fits to reduced rows: least squares, physically consistent bodies, their estimates, errors and cross-validation."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..robot import Robot
from ..robot.scales import reach
from .conic import solve_with_clarabel
from .estimates import Estimates, JointErrors, parameter_units
from .factors import Factors, triangle
from .identifiability import lost, padded, recovery, sigma_of_unknowns
from .least_squares import Solution, Spread, noise_of, sigma_of, solved, spread_of, whole
from .model import TorqueModel
from .physical import PhysicalFit, PhysicalProblem, pseudo_inertias
from .prior import VAGUE, Evidence, Prior, prior_of
from .result import Certificate

ROUNDS, GROWTH = 6, 1.1  # of weighting by the residuals of possible bodies, where those of a joint grew by so much
# γ, in units of noise and of all torques, of the bodies that least squares' base parameters are split into
AS_FOUND = (1e-6, 1e-13)
POSSIBLE = 1e-9  # of the largest eigenvalue of a pseudo-inertia: smaller negative ones are rounding


@dataclass(frozen=True)
class Fitted:
    """Unknowns, torque offsets and base parameters x of a fit, and what is needed to judge it."""

    unknowns: np.ndarray
    offsets: np.ndarray
    x: np.ndarray
    solution: Solution
    spread: Spread
    prior: Prior
    problem: PhysicalProblem | None = None  # of physically consistent bodies
    found: PhysicalFit | None = None


def fitted(
    factors: Factors, model: TorqueModel, solution: Solution, physical: bool, regularization: float, solver: str
) -> Fitted:
    """The fit that is asked for, from that of least squares."""
    spread = spread_of(factors, solution)
    problem, prior = physical_problem(model, solution, spread, regularization)
    combined = len(model.T)
    if not physical:
        return Fitted(split(model, solution, prior), solution.x[combined:], solution.x, solution, spread, prior)
    found = solve_with_clarabel(problem) if solver == "clarabel" else problem.solve()
    x = np.concatenate([model.T @ found.values, found.free])
    return Fitted(found.values, found.free, x, solution, spread, prior, problem, found)


def weighted_fit(
    factors: Factors, model: TorqueModel, solution: Solution, regularization: float, solver: str
) -> Fitted:
    """physically consistent bodies, joints weighted by the noise that these leave."""
    fit = fitted(factors, model, solution, True, regularization, solver)
    for _ in range(ROUNDS):
        again = reweighted(factors, fit.solution, fit.x)
        if again is None:
            break
        fit = fitted(factors, model, again, True, regularization, solver)
    return fit


def reweighted(factors: Factors, solution: Solution, x: np.ndarray) -> Solution | None:
    """Least squares with the noise that joints have beside x, if some have more than they were weighted by.

    A joint that no possible bodies fit (its sign, its gain) would otherwise drag all others along: its noise was taken
    from least squares, which fits it with bodies that are not physically consistent.
    """
    joints = [factors.of_joint(j) for j in range(factors.joints)]
    noise = noise_of(factors, joints, replace(solution, x=x), solution.noise)
    if (noise <= GROWTH * solution.noise).all():
        return None
    return solved(whole(factors, joints, 1.0 / noise), solution.nominal, noise, factors.sizes)


def physical_problem(
    model: TorqueModel, solution: Solution, spread: Spread, regularization: float
) -> tuple[PhysicalProblem, Prior]:
    system = solution.seen(solution.system)
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
    """Unknowns with exactly the base parameters that were found: physically consistent bodies, if any have these.

    From the fit of possible bodies to the base parameters, the rest of the way is the shortest one, each parameter
    measured by its size: if possible bodies have the base parameters, it is nothing but rounding.
    """
    T, base = model.T, solution.x[: len(model.T)]
    system = solution.seen(solution.system)
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
    robot: Robot, factors: Factors, solutions: list[np.ndarray], folds: list[list[int] | None]
) -> JointErrors:
    """Of each joint over all folds, each with its own solution; NaN of joints without rows."""
    joints = range(factors.joints)
    squares = [sum(factors.errors(j, x, f) for x, f in zip(solutions, folds, strict=True)) for j in joints]
    counts = [factors.samples(j) for j in joints]
    rms = np.array([(s / count) ** 0.5 if count else np.nan for s, count in zip(squares, counts, strict=True)])
    sizes = np.array([factors.variation(j) for j in joints])
    return JointErrors.of(robot, rms, sizes[:, 0], sizes[:, 1])


def cross_validation(factors: Factors, fit: Fitted, model: TorqueModel) -> JointErrors:
    """Each fold of contiguous blocks is predicted by a fit to the others, by the same method."""
    solution, spread, problem = fit.solution, fit.spread, fit.problem
    parts, solutions = [factors.of_blocks(fold, 1.0 / solution.scale) for fold in spread.folds], []
    for k in range(len(parts)):
        system = solution.seen(triangle(np.concatenate(parts[:k] + parts[k + 1 :])))
        if problem is None:
            solutions.append(solved(system, solution.nominal, solution.scale, factors.sizes).x)
            continue
        matrix = matrix_of(model, system)
        others = replace(problem, matrix=matrix, target=system[:, -1])
        left = others.solve(start=fit.found)
        solutions.append(np.concatenate([model.T @ left.values, left.free]))
    return errors_of(model.robot, factors, solutions, list(spread.folds))


def certificates(robot: Robot, ten: np.ndarray) -> dict[str, Certificate]:
    """With the eigenvalues in SI units; whether a body is possible is decided with lengths in the robot's size."""
    P, k = pseudo_inertias(ten), np.array([*[1.0 / reach(robot)] * 3, 1.0])
    least, most = np.linalg.eigvalsh(P * np.outer(k, k))[:, [0, -1]].T
    possible = least >= -POSSIBLE * np.abs(most)
    values = np.linalg.eigvalsh(P)
    return {name: Certificate(*own) for name, *own in zip(robot.names, values, possible.tolist(), strict=True)}


def cost_of(solution: Solution, x: np.ndarray) -> float:
    """How much the weighted sum of squares grows from the least-squares solution to x."""
    R, d = solution.system[:, :-1], solution.system[:, -1]
    return float(np.sum((R @ x - d) ** 2) - np.sum((R @ solution.x - d) ** 2))
