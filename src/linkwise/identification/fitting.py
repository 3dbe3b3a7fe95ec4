"""`lw.identify`: parameters of a robot from recorded motions and torques."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import one_of
from ..printing import warn
from ..robot import Friction, Robot, require_robot
from .identifiability import not_identifiable, notes_on_condition, recovery
from .least_squares import Factors, blocks_for, least_squares, spread_of
from .model import TorqueModel
from .physical import NEAR
from .preparing import (
    Filtering,
    Motion,
    check_motion,
    check_torques,
    filtering_of,
    inconsistent_rates,
    motion_of,
    reduced,
    without_short_parts,
)
from .reading import recordings_of
from .recorded import is_number
from .result import Identification
from .samples import Samples
from .solving import (
    all_estimates,
    base_estimates,
    certificates,
    cost_of,
    cross_validation,
    errors_of,
    fitted,
    weighted_fit,
)
from .stillness import (
    at_rest,
    inconsistent_accelerations,
    notes_on_rest,
    notes_on_small_motions,
    notes_on_steps,
    notes_on_still_joints,
    slow_speeds,
    still_joints,
    without_rest,
)

SOLVERS = ("newton", "clarabel")
REGULARIZATION = 0.1


def identify(
    robot: Robot,
    data: Any,
    *,
    friction: bool | Friction = True,
    physical: bool = True,
    weighted: bool = True,
    rotors: bool = True,
    offset: bool = False,
    free: Sequence[str] | None = None,
    columns: Mapping[str, Any] | None = None,
    dt: float | None = None,
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

    `robot` is the nominal robot: its geometry is taken as it is, and what the data do not tell stays as close to its
    bodies as it can. `data` is a mapping or a DataFrame, the path of a .csv or .npz file, a `Recording`, any object
    with such attributes, or a list of several recordings: times `t` (N,) or `dt`, `q` (N, nq) and `tau` (N, n) and,
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

    `physical=True`: every link is physically consistent and no coefficient is negative, at the least weighted residual
    plus `regularization` times the entropic distance to the nominal robot; otherwise least squares alone. `weighted`:
    each joint counts by its noise, found by iteration. `solver` is "newton", our own method, or "clarabel", a conic
    solver for comparison. `validation` is other data to judge the result by; without it blocks of time are left out in
    turn.

    >>> import numpy as np
    >>> import linkwise as lw
    >>> arm = lw.load("planar3")
    >>> t = np.linspace(0, 10, 2001)
    >>> q = np.stack([np.sin(t), np.sin(1.7 * t + 1), np.cos(2.3 * t)], axis=-1)
    >>> motion = lw.trajectories.spline(t, q)(t)
    >>> fit = lw.identify(arm, {"t": t, "q": q, "tau": lw.inverse_dynamics(arm, *motion)}, friction=False)
    >>> fit.rank, bool((fit.residuals.relative < 1e-3).all())
    (11, True)
    """
    flags = {"physical": physical, "weighted": weighted, "rotors": rotors, "offset": offset}
    check_options(robot, friction, flags | {"recorded_rates": recorded_rates}, regularization, solver)
    speeds = checked_minimum_speed(robot, 0.0 if minimum_speed is None else minimum_speed)
    reading = {"columns": columns, "dt": dt, "degrees": degrees, "gains": gains}
    reading |= {"rates": recorded_rates, "delay": checked_delay(delay)}
    samples = recordings_of(robot, data, **reading)
    filtering = filtering_of(robot, samples, cutoff, torque_cutoff, decimate)
    samples, too_short = without_short_parts(samples, filtering)
    still = [still_joints(robot, recording, filtering) for recording in samples]
    motions = [at_rest(motion_of(robot, r, filtering), joints) for r, joints in zip(samples, still, strict=True)]
    check_motion(robot, motions)
    check_torques(samples)
    model = TorqueModel.of(robot, friction, rotors, offset, free)
    automatic = minimum_speed is None and Friction.of(friction) is not None
    speeds = slow_speeds(motions) if automatic else speeds
    fast, slow = reduced(model, motions, filtering, blocks_for(robot.n, len(model.base_names)), speeds)
    check_rows([fast, slow] if automatic else [fast])
    if automatic:
        factors, solution, ratios = without_rest(fast, slow, model.base_nominal, weighted)
        speeds = np.where(ratios > 0.0, speeds, 0.0)
    else:
        factors, solution = fast, least_squares(fast, model.base_nominal, weighted)
    if physical and weighted:
        fit = weighted_fit(factors, model, solution, regularization, solver)
    else:
        fit = fitted(factors, model, solution, physical, regularization, solver)
    every = model.with_unknowns(fit.unknowns)
    fitted_robot = robot.with_parameters(every, friction=friction, unphysical="warn")
    fitted_robot = replace(fitted_robot, about=source_of(robot, samples, fit.offsets if offset else None))
    notes = [*notes_on_data(robot, samples, filtering, still), *too_short, *notes_on_condition(model, fit.solution)]
    notes += [*fit.prior.notes, *(fit.prior.kept if physical else ())]
    if automatic:
        notes += notes_on_rest(robot, slow, fast, speeds, ratios)
    notes += notes_on_lost_joints(robot, factors, motions, speeds)
    result = Identification(
        robot=fitted_robot,
        nominal=robot,
        parameters=all_estimates(model, fit.solution, fit.spread, every),
        base=base_estimates(model, fit.solution, fit.spread, fit.x),
        least_squares=base_estimates(model, solution, spread_of(factors, solution), solution.x),
        rank=fit.solution.rank,
        condition=fit.solution.condition,
        singular_values=fit.solution.singular,
        not_identifiable=not_identifiable(model, fit.solution, recovery(model)[1]),
        residuals=errors_of(robot, factors, [fit.x], [None]),
        validation=cross_validation(factors, fit, model),
        noise=fit.solution.noise,
        offsets=fit.offsets if offset else np.zeros(robot.n),
        certificates=certificates(robot, every[: 10 * len(robot.names)].reshape(-1, 10)),
        friction=with_own_coefficients(friction),
        physical=physical,
        weighted=weighted,
        filtering=filtering,
        samples=sum(len(recording.q) for recording in samples),
        rows=max(factors.samples(j) for j in range(robot.n)),
        duration=duration_of(samples),
        gap=fit.found.gap if fit.found is not None else None,
        cost=cost_of(fit.solution, fit.x) if physical else None,
        data_notes=tuple(notes),
        settled=fit.found is None or not fit.found.decrement > NEAR,
        model=model,
        solution=fit.solution,
        spread=fit.spread,
        minimum_speed=speeds,
        validated=False,
        motions=tuple(motions),
        reading=reading,
    )
    if validation is not None:
        result = replace(result, validation=result.validate(validation), validated=True)
    for note, serious in result.graded_notes:
        if serious:
            warn(f"identification of robot {robot.name!r}: {note}")
    return result


def duration_of(samples: Sequence[Samples]) -> float:
    return sum(len(recording.q) * recording.dt for recording in samples)


def source_of(robot: Robot, samples: Sequence[Samples], offsets: np.ndarray | None) -> str:
    """Where the numbers of the identified robot come from."""
    count = sum(len(recording.q) for recording in samples)
    text = f"Identified from {count} samples, {duration_of(samples):.4g} s; nominal robot: {robot.about or robot.name}"
    if offsets is not None:
        zeros = ", ".join(f"{name} {x:.4g}" for name, x in zip(robot.v_names, offsets, strict=True))
        text += f"; measured torques have offsets, which the robot has not: {zeros}"
    return text


def notes_on_data(robot: Robot, samples: Sequence[Samples], filtering: Filtering, still: list[np.ndarray]) -> list[str]:
    notes = [note for recording in samples for note in recording.notes]
    for k, recording in enumerate(samples):
        if any(np.array_equal(recording.q, r.q) and np.array_equal(recording.tau, r.tau) for r in samples[:k]):
            notes.append(f"{recording.name}: the same as one before it, so that σ is too small")
    for recording, joints in zip(samples, still, strict=True):
        notes += notes_on_steps(robot, recording, joints)
        notes += inconsistent_rates(robot, recording, filtering, joints)
        notes += inconsistent_accelerations(robot, recording, filtering, joints)
    return notes + notes_on_still_joints(robot, still) + notes_on_small_motions(robot, samples, still)


def notes_on_lost_joints(robot: Robot, factors: Factors, motions: Sequence[Motion], speeds: np.ndarray) -> list[str]:
    """What is said of joints with torques of which no row is fast enough."""
    missing = np.all([motion.unmeasured for motion in motions], axis=0)
    lost = [
        f"{name} ({v:g})"
        for j, (name, v) in enumerate(zip(robot.v_names, speeds, strict=True))
        if not factors.samples(j) and not missing[j]
    ]
    return [f"{', '.join(lost)}: always slower than minimum_speed, so that no row is left"] if lost else []


def check_options(robot: Any, friction: Any, flags: Mapping[str, Any], regularization: float, solver: str) -> None:
    require_robot(robot)
    if robot.symbolic:
        raise ValueError(f"robot {robot.name!r} has symbols (expected numbers: lw.bind gives them values)")
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


def checked_minimum_speed(robot: Robot, value: Any) -> np.ndarray:
    """Of each joint: (n,)."""
    each = (
        list(value) if isinstance(value, (Sequence, np.ndarray)) and not isinstance(value, str) else [value] * robot.n
    )
    if len(each) != robot.n or not all(is_number(speed) and speed >= 0.0 for speed in each):
        raise ValueError(
            f"minimum_speed is {value!r} (expected a rate of at least 0, or one for each of {', '.join(robot.v_names)})"
        )
    return np.array(each, dtype=float)


def checked_delay(delay: float) -> float:
    if not is_number(delay):
        raise ValueError(f"delay is {delay!r} (expected seconds by which torques lag behind positions)")
    return float(delay)


def motions_of(robot: Robot, data: Any, filtering: Filtering, **reading: Any) -> list[tuple[Motion, Filtering]]:
    """The motions of other data, and the cut-offs that their rates allow."""
    recordings = recordings_of(robot, data, **reading)
    check_torques(recordings)
    filtering = filtering.for_others(robot, recordings)
    recordings, _ = without_short_parts(recordings, filtering)
    return [(at_rest(motion_of(robot, r, filtering), still_joints(robot, r, filtering)), filtering) for r in recordings]


def check_rows(parts: Sequence[Factors]) -> None:
    total = sum(factors.samples(j) for factors in parts for j in range(factors.joints))
    if total < 2 * parts[0].columns:
        raise ValueError(
            f"{total} rows are left for {parts[0].columns} unknowns (expected at least twice as many: a longer"
            " recording, a higher cutoff=..., or a lower minimum_speed=...)"
        )
