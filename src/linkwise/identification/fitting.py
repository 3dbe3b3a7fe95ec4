"""`lw.identify`: parameters of a robot from recorded motions and torques."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import one_of
from ..robot import Friction, Robot
from .conic import solve_with_clarabel
from .estimates import Estimates, JointErrors, parameter_units
from .factors import Factors, blocks_for, triangle
from .identifiability import lost, not_identifiable, notes_on_condition, padded, recovery, sigma_of_unknowns
from .least_squares import Solution, Spread, fit, noise_of, sigma_of, solved, spread_of, whole
from .model import TorqueModel
from .near_rest import notes_on_rest, slow_speeds, without_rest
from .physical import NEAR, PhysicalFit, PhysicalProblem, pseudo_inertias
from .preparing import (
    Filtering,
    Motion,
    check_motion,
    filtering_of,
    inconsistent_rates,
    motion_of,
    reduced,
    without_short_parts,
)
from .prior import VAGUE, Evidence, Prior, prior_of
from .reading import recordings_of
from .recorded import is_number
from .result import Certificate, Identification
from .stillness import at_rest, inconsistent_accelerations, notes_on_steps, notes_on_still_joints, still_joints

SOLVERS = ("newton", "clarabel")
ROUNDS, GROWTH = 6, 1.1  # of weighting by the residuals of possible bodies, where those of a joint grew by so much
REGULARIZATION = 0.1
# γ, in units of noise and of all torques, of the bodies that least squares' base parameters are split into
AS_FOUND = (1e-6, 1e-13)
POSSIBLE = 1e-9  # of the largest eigenvalue of a pseudo-inertia: smaller negative ones are rounding


def identify(
    arm: Robot,
    data: Any,
    *,
    friction: bool | Friction = True,
    physical: bool = True,
    weighted: bool = True,
    rotors: bool = True,
    offset: bool = False,
    free: Sequence[str] | None = None,
    columns: Mapping[str, Any] | None = None,
    period: float | None = None,
    degrees: bool = False,
    gains: Any = None,
    delay: float = 0.0,
    recorded_rates: bool = True,
    cutoff: float | None = None,
    torque_cutoff: float | None = None,
    decimate: int | None = None,
    minimum_speed: float | Sequence[float] | None = None,
    regularization: float = REGULARIZATION,
    solver: str = "newton",
    validation: Any = None,
) -> Identification:
    """Identify masses, first moments, inertias, rotors and friction of a robot from recorded motions and torques.

    `arm` is the nominal robot: its geometry is taken as it is, and what the data do not tell stays as close to its
    bodies as it can. `data` is a mapping or a DataFrame, the path of a .csv or .npz file, a `Recording`, any object
    with such attributes, or a list of several recordings: times `t` (N,) or `period`, `q` (N, nq) and `tau` (N, n) and,
    where they were recorded, `qd` and `qdd`. Columns of tables have free names, one for each joint: q1, joint2_pos,
    effort_3, ...; `columns={"q": [...], "tau": [...], "t": "clock"}` names others. Units in these names are converted
    (q1_deg, time [ms]); `degrees=True`: angles without one are in degrees. `gains`: factors from what was recorded
    (motor currents) to torques. `delay`: seconds by which recorded torques lag behind recorded positions; the report
    says where they seem to.

    Without rates and accelerations q alone is enough: it is filtered without delay and differentiated. `cutoff` (Hz) is
    that of the motion, `torque_cutoff` that of torques and regressor, of which one row in `decimate` is kept; what is
    not given follows from the band of the motion, and the report says what was taken. With rates and accelerations
    nothing is filtered unless a cut-off is given. `recorded_rates=False` passes over recorded rates and accelerations,
    which may lag behind.

    `friction` identifies viscous and Coulomb coefficients (an `lw.Friction` sets how Coulomb friction is
    smoothed; coefficients in it are nominal ones),
    `rotors` the inertias of rotors (False: those of the nominal robot are kept), `offset` a constant torque of each
    joint's sensor, which `fit.predict` has and `fit.robot` has not. `free=["link6"]` identifies the bodies of these
    links alone, as that of a hand that carries a tool, and `fit.payload()` is what they have more than the nominal
    robot; names such as "link6.viscous" add rotors and friction; all others stay those of that robot. Rows of a joint
    slower than `minimum_speed` (rad/s, m/s; one number, or one for each joint) are left out: near rest friction is not
    what the law says. Without it, and with friction, those below a tenth of the joint's usual rate are left out where
    their residuals are twice those of the others or more, and the report says so; 0 keeps all.

    `physical=True`: every link is a body that can exist and no coefficient is negative, at the least weighted residual
    plus `regularization` times the entropic distance to the nominal robot; otherwise least squares alone. `weighted`:
    each joint counts by its noise, found by iteration. `solver` is "newton", our own method, or "clarabel", a conic
    solver for comparison. `validation` is other data to judge the result by; without it blocks of time are left out in
    turn.

    >>> import numpy as np
    >>> import linkwise as lw
    >>> arm = lw.load("planar3")
    >>> t = np.linspace(0, 10, 2001)
    >>> q = np.stack([np.sin(t), np.sin(1.7 * t + 1), np.cos(2.3 * t)], axis=-1)
    >>> motion = lw.spline(t, q)(t)
    >>> fit = lw.identify(arm, {"t": t, "q": q, "tau": lw.inverse_dynamics(arm, *motion)}, friction=False)
    >>> fit.rank, bool((fit.residuals.relative < 1e-3).all())
    (11, True)
    """
    flags = {"physical": physical, "weighted": weighted, "rotors": rotors, "offset": offset}
    check_options(arm, friction, flags | {"recorded_rates": recorded_rates}, regularization, solver)
    speeds = checked_minimum_speed(arm, 0.0 if minimum_speed is None else minimum_speed)
    reading = {"columns": columns, "period": period, "degrees": degrees, "gains": gains}
    reading |= {"rates": recorded_rates, "delay": checked_delay(delay)}
    samples = recordings_of(arm, data, **reading)
    filtering = filtering_of(samples, cutoff, torque_cutoff, decimate, bool(arm.quaternions))
    samples, too_short = without_short_parts(samples, filtering)
    still = [still_joints(arm, recording, filtering) for recording in samples]
    motions = [at_rest(motion_of(arm, r, filtering), joints) for r, joints in zip(samples, still, strict=True)]
    check_motion(arm, motions)
    model = TorqueModel.of(arm, friction, rotors, offset, free)
    automatic = minimum_speed is None and Friction.of(friction) is not None
    speeds = slow_speeds(motions) if automatic else speeds
    fast, slow = reduced(model, motions, filtering, blocks_for(arm.n, len(model.base_names)), speeds)
    check_rows([fast, slow] if automatic else [fast])
    if automatic:
        factors, solution, ratios = without_rest(fast, slow, model.base_nominal, weighted)
        speeds = np.where(ratios > 0.0, speeds, 0.0)
    else:
        factors, solution = fast, fit(fast, model.base_nominal, weighted)
    spread = spread_of(factors, solution)
    unknowns, offsets, x, problem, found, prior = solve(model, solution, spread, physical, regularization, solver)
    for _ in range(ROUNDS if physical and weighted else 0):
        again = reweighted(factors, solution, x)
        if again is None:
            break
        solution, spread = again, spread_of(factors, again)
        unknowns, offsets, x, problem, found, prior = solve(model, solution, spread, physical, regularization, solver)
    every = model.with_unknowns(unknowns)
    robot = arm.with_parameters(every, friction=friction, unphysical="warn")
    count, duration = sum(len(r.q) for r in samples), sum(len(r.q) * r.period for r in samples)
    source = f"Identified from {count} samples, {duration:.4g} s; nominal robot: {arm.about or arm.name}"
    if offset:
        zeros = ", ".join(f"{name} {x:.4g}" for name, x in zip(arm.v_names, offsets, strict=True))
        source += f"; measured torques have offsets, which the robot has not: {zeros}"
    robot = replace(robot, about=source)
    notes = [*(note for recording in samples for note in recording.notes), *too_short]
    for recording, joints in zip(samples, still, strict=True):
        notes += notes_on_steps(arm, recording, joints)
        notes += inconsistent_rates(arm, recording, filtering, joints)
        notes += inconsistent_accelerations(arm, recording, filtering, joints)
    notes += [
        *notes_on_still_joints(arm, still),
        *notes_on_condition(model, solution),
        *prior.notes,
        *(prior.kept if physical else ()),
    ]
    if automatic:
        notes += notes_on_rest(arm, slow, fast, speeds, ratios)
    missing = np.all([motion.unmeasured for motion in motions], axis=0)
    lost = [
        f"{name} ({v:g})"
        for j, (name, v) in enumerate(zip(arm.v_names, speeds, strict=True))
        if not factors.samples(j) and not missing[j]
    ]
    if lost:
        notes.append(f"{', '.join(lost)}: always slower than minimum_speed, so that no row is left")
    result = Identification(
        robot=robot,
        nominal=arm,
        parameters=all_estimates(model, solution, spread, every),
        base=base_estimates(model, solution, spread, x),
        rank=solution.rank,
        condition=solution.condition,
        singular_values=solution.singular,
        not_identifiable=not_identifiable(model, solution, recovery(model)[1]),
        residuals=errors_of(arm, factors, [x], [None]),
        validation=cross_validation(factors, solution, spread, problem, found, model),
        noise=solution.noise,
        offsets=offsets if offset else np.zeros(arm.n),
        certificates=certificates(arm, every[: 10 * len(arm.names)].reshape(-1, 10)),
        friction=with_own_coefficients(friction),
        physical=physical,
        weighted=weighted,
        filtering=filtering,
        samples=count,
        rows=max(factors.samples(j) for j in range(arm.n)),
        duration=duration,
        gap=found.gap if found is not None else None,
        cost=cost_of(solution, x) if physical else None,
        data_notes=tuple(notes),
        settled=found is None or not found.decrement > NEAR,
        model=model,
        solution=solution,
        spread=spread,
        minimum_speed=speeds,
        validated=False,
        motions=tuple(motions),
        reading=reading,
    )
    if validation is None:
        return result
    return replace(result, validation=result.validate(validation), validated=True)


def check_options(arm: Any, friction: Any, flags: Mapping[str, Any], regularization: float, solver: str) -> None:
    if not isinstance(arm, Robot):
        raise TypeError(f"the first argument is {arm!r} (expected a Robot)")
    if arm.symbolic:
        raise ValueError(f"robot {arm.name!r} has symbols (expected numbers: lw.bind gives them values)")
    for name, value in flags.items():
        if not isinstance(value, bool):
            raise TypeError(f"{name} is {value!r} (expected True or False)")
    if not (is_number(regularization) and regularization > 0.0):
        raise ValueError(f"regularization is {regularization!r} (expected a number above 0, such as {REGULARIZATION})")
    one_of(solver, SOLVERS, "solver")
    law = Friction.of(friction)
    if law is not None and law.stribeck is not None:
        raise ValueError(
            "friction has a Stribeck coefficient, which robots have not (expected viscous and coulomb alone)"
        )


def with_own_coefficients(friction: bool | Friction) -> bool | Friction:
    """The law with the coefficients of the robot that it is used for."""
    return friction if isinstance(friction, bool) else replace(friction, viscous=None, coulomb=None)


def checked_minimum_speed(arm: Robot, value: Any) -> np.ndarray:
    """Of each joint: (n,)."""
    each = list(value) if isinstance(value, (Sequence, np.ndarray)) and not isinstance(value, str) else [value] * arm.n
    if len(each) != arm.n or not all(is_number(speed) and speed >= 0.0 for speed in each):
        raise ValueError(
            f"minimum_speed is {value!r} (expected a rate of at least 0, or one for each of {', '.join(arm.v_names)})"
        )
    return np.array(each, dtype=float)


def checked_delay(delay: float) -> float:
    if not is_number(delay):
        raise ValueError(f"delay is {delay!r} (expected seconds by which torques lag behind positions)")
    return float(delay)


def motions_of(arm: Robot, data: Any, filtering: Filtering, **reading: Any) -> list[tuple[Motion, Filtering]]:
    """The motions of other data, and the cut-offs that their rates allow."""
    recordings = recordings_of(arm, data, **reading)
    filtering = filtering.for_rate(min(recording.rate for recording in recordings))
    recordings, _ = without_short_parts(recordings, filtering)
    return [(at_rest(motion_of(arm, r, filtering), still_joints(arm, r, filtering)), filtering) for r in recordings]


def check_rows(parts: Sequence[Factors]) -> None:
    total = sum(factors.samples(j) for factors in parts for j in range(factors.joints))
    if total < 2 * parts[0].columns:
        raise ValueError(
            f"{total} rows are left for {parts[0].columns} unknowns (expected at least twice as many: a longer"
            " recording, a higher cutoff=..., or a lower minimum_speed=...)"
        )


def solve(
    model: TorqueModel, solution: Solution, spread: Spread, physical: bool, regularization: float, solver: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray, PhysicalProblem | None, PhysicalFit | None, Prior]:
    """The unknowns, offsets and base parameters of the fit that is asked for."""
    problem, prior = physical_problem(model, solution, spread, regularization)
    combined = len(model.T)
    if not physical:
        unknowns = split(model, solution, prior)
        return unknowns, solution.x[combined:], solution.x, None, None, prior
    found = solve_with_clarabel(problem) if solver == "clarabel" else problem.solve()
    x = np.concatenate([model.T @ found.values, found.free])
    return found.values, found.free, x, problem, found, prior


def reweighted(factors: Factors, solution: Solution, x: np.ndarray) -> Solution | None:
    """Least squares with the noise that joints have beside x, if some have more than they were weighted by.

    A joint that no possible bodies fit (its sign, its gain) would otherwise drag all others along: its noise was taken
    from least squares, which fits it with bodies that cannot exist.
    """
    joints = [factors.of_joint(j) for j in range(factors.joints)]
    noise = np.maximum(noise_of(factors, joints, replace(solution, x=x), float(solution.noise.min())), solution.noise)
    if (noise <= GROWTH * solution.noise).all():
        return None
    return solved(whole(factors, joints, 1.0 / noise), solution.nominal, noise)


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
    evidence = Evidence(scalars, alone[size:], np.where(plain < sigma, sigma / VAGUE, sigma))
    bodies = start[:size].reshape(size // 10, 10)
    prior = prior_of(model.arm, model.links, bodies, start[size:], model.unknowns[size:], evidence, target)
    return PhysicalProblem(matrix, system[:, -1], prior.bodies, prior.scalars, regularization, prior.shares), prior


def matrix_of(model: TorqueModel, system: np.ndarray) -> np.ndarray:
    """R T, and R itself for offsets."""
    combined = len(model.T)
    return np.concatenate([system[:, :combined] @ model.T, system[:, combined:-1]], axis=1)


def split(model: TorqueModel, solution: Solution, prior: Prior) -> np.ndarray:
    """Unknowns with exactly the base parameters that were found: bodies that can exist, if any have these.

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
    step = np.where(T.any(axis=0), np.linalg.lstsq(T * sizes, base - T @ start, rcond=None)[0], 0.0)
    return np.asarray(start + sizes * step)


def base_estimates(model: TorqueModel, solution: Solution, spread: Spread, x: np.ndarray) -> Estimates:
    sigma, white = sigma_of(solution, spread, np.eye(len(x)))
    known = solution.determined
    sigma, white = np.where(known, sigma, np.inf), np.where(known, white, np.inf)
    names = tuple(model.base_names)
    return Estimates(names, x, sigma, white, model.base_nominal, parameter_units(model.arm, names))


def all_estimates(model: TorqueModel, solution: Solution, spread: Spread, every: np.ndarray) -> Estimates:
    full, white = np.zeros((2, len(every)))
    full[model.free], white[model.free] = sigma_of_unknowns(model, solution, spread, np.eye(int(model.free.sum())))
    return Estimates(model.names, every, full, white, model.nominal, parameter_units(model.arm, model.names))


def errors_of(arm: Robot, factors: Factors, solutions: list[np.ndarray], folds: list[list[int] | None]) -> JointErrors:
    """Of each joint over all folds, each with its own solution; NaN of joints without rows."""
    joints = range(factors.joints)
    squares = [sum(factors.errors(j, x, f) for x, f in zip(solutions, folds, strict=True)) for j in joints]
    counts = [factors.samples(j) for j in joints]
    rms = np.array([(s / count) ** 0.5 if count else np.nan for s, count in zip(squares, counts, strict=True)])
    sizes = np.array([factors.variation(j) for j in joints])
    return JointErrors.of(arm, rms, sizes[:, 0], sizes[:, 1])


def cross_validation(
    factors: Factors,
    solution: Solution,
    spread: Spread,
    problem: PhysicalProblem | None,
    found: PhysicalFit | None,
    model: TorqueModel,
) -> JointErrors:
    """Each fold of contiguous blocks is predicted by a fit to the others, by the same method."""
    parts, solutions = [factors.of_blocks(fold, 1.0 / solution.scale) for fold in spread.folds], []
    for k in range(len(parts)):
        system = solution.seen(triangle(np.concatenate(parts[:k] + parts[k + 1 :])))
        if problem is None:
            solutions.append(solved(system, solution.nominal, solution.scale).x)
            continue
        matrix = matrix_of(model, system)
        others = replace(problem, matrix=matrix, target=system[:, -1])
        left = others.solve(start=found)
        solutions.append(np.concatenate([model.T @ left.values, left.free]))
    return errors_of(model.arm, factors, solutions, list(spread.folds))


def certificates(arm: Robot, ten: np.ndarray) -> dict[str, Certificate]:
    values = np.linalg.eigvalsh(pseudo_inertias(ten))
    return {
        name: Certificate(own, bool(own[0] >= -POSSIBLE * abs(own[-1])))
        for name, own in zip(arm.names, values, strict=True)
    }


def cost_of(solution: Solution, x: np.ndarray) -> float:
    """How much the weighted sum of squares grows from the least-squares solution to x."""
    R, d = solution.system[:, :-1], solution.system[:, -1]
    return float(np.sum((R @ x - d) ** 2) - np.sum((R @ solution.x - d) ** 2))
