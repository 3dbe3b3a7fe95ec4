"""`lw.identify`: read, resample, filter, choose, stack, solve, make physical, validate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import one_of
from ..printing import warn
from ..robot import Friction, Robot, require_robot
from .choosing import Fixed, choose, usual_joint_rates
from .estimates import Estimates
from .filtering import Filtering, Motion, check_filters, filtered_motion, has_rates, without_short_parts
from .identifiability import not_identifiable, recovery
from .least_squares import Factors, blocks_for, least_squares, spread_of
from .model import TERMS, TorqueModel
from .physical import NEAR
from .reading import recordings_of
from .recorded import is_number
from .result import Identification
from .samples import Samples, position_scales
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
from .stacking import stacked

REGULARIZATION = 0.1  # the pull of a nominal robot whose bodies are known to a factor of about three
STILL = 1e-9  # rad, or of the robot's size: rounding
REST = 0.1  # of the usual rate of a joint: below, it is near rest


def identify(
    robot: Robot | Identification,
    data: Any,
    *,
    friction: bool | Friction = True,
    physical: bool = True,
    weighted: bool | None = None,
    rotors: bool = True,
    offset: bool | None = None,
    terms: Sequence[str] | None = None,
    transmission: Any = None,
    free: Sequence[str] | None = None,
    columns: Mapping[str, Any] | None = None,
    dt: float | None = None,
    degrees: bool = False,
    gains: Any = None,
    delay: float | None = None,
    recorded_rates: bool = True,
    cutoff: float | None = None,
    decimate: int | None = None,
    minimum_speed: float | Sequence[float] | None = None,
    regularization: float = REGULARIZATION,
    validation: Any = None,
) -> Identification:
    """Identify masses, first moments, inertias, rotors and friction of a robot from recorded motions and torques.

    What is not given is chosen by cross-validation over blocks of time; `fit.choices` prints what was tried. Needs
    SciPy: `pip install 'linkwise[identify]'`.

    Parameters
    ----------
    robot : Robot or Identification
        The nominal robot: its geometry is taken as it is. What the data do not determine stays as close to its bodies
        as possible. An `Identification` stands for its robot with the offsets and terms of friction that were
        identified: the arm without its payload, for instance.
    data : mapping, DataFrame, path, Recording or list of these
        Times `t` (N,) or `dt`, `q` (N, nq) and `tau` (N, n) and, where they were recorded, `qd` and `qdd`. Columns of
        tables have free names, one for each joint: q1, joint2_pos, effort_3, ...
    friction : bool or Friction
        Identify viscous and Coulomb coefficients. A `Friction` sets how Coulomb friction is smoothed; coefficients in
        it are nominal ones.
    physical : bool
        Every link is physically consistent and no coefficient is negative. False: least squares alone.
    weighted : bool, optional
        Whether joints are weighted by the inverse of their noise, or equally. Default: chosen.
    rotors : bool
        Whether rotors are identified; otherwise those of the nominal robot are kept.
    offset : bool, optional
        A constant torque of each joint, of its sensor or of friction that differs between directions. Default: chosen.
        `fit.predict` includes it, `fit.robot` does not.
    terms : sequence of {"quadratic", "stribeck", "load", "spring"}, optional
        Further terms: friction with the square of the rate, more friction near rest, a share of the load; and springs.
        Default: chosen, joint by joint; (): none.
    transmission : array_like, (n, n), optional
        Rates of the motors are this matrix times those of the joints: rotors and friction are at the motors, as in
        wrists where one motor turns with two joints. q and tau are those of the joints.
    free : sequence of str, optional
        Links whose bodies are identified, such as a hand that carries a tool, and names such as "link6.viscous". All
        else stays as in the nominal robot. `fit.payload()` is the body that the link carries.
    columns : mapping, optional
        Names of columns: {"q": [...], "tau": [...], "t": "clock"}.
    dt : float, optional
        Seconds between rows, where there is no time.
    degrees : bool
        Angles whose columns say no unit are in degrees.
    gains : float, array_like, mapping or Estimates, optional
        Factors from what was recorded (motor currents) to torques; those of `lw.identification.drive_gains` have a σ,
        which the σ of the parameters includes.
    delay : float, optional
        Seconds by which recorded torques lag behind recorded positions. Default: chosen; 0: none.
    recorded_rates : bool
        False: ignore recorded rates and accelerations, which may lag.
    cutoff : float, optional
        Hz, of positions and torques. Default: chosen; with recorded rates and accelerations nothing is filtered.
    decimate : int, optional
        Keep one row in so many. Default: four for each period of the cut-off.
    minimum_speed : float or sequence of float, optional
        Rows of a joint that are slower (rad/s, m/s) are not fitted, since friction at rest holds any torque. Default:
        chosen; 0 keeps all. Errors are always of all rows.
    regularization : float
        Weight of the entropic distance to the nominal robot, with `physical=True`.
    validation : as data, optional
        Another recording to judge the fit by; otherwise blocks of time are left out in turn.

    Returns
    -------
    Identification

    Examples
    --------
    >>> import numpy as np
    >>> import linkwise as lw
    >>> arm = lw.load("planar3")
    >>> t = np.linspace(0, 10, 2001)
    >>> q = np.stack([np.sin(t), np.sin(1.7 * t + 1), np.cos(2.3 * t)], axis=-1)
    >>> motion = lw.trajectories.spline(t, q)(t)
    >>> fit = lw.identify(arm, {"t": t, "q": q, "tau": lw.inverse_dynamics(arm, *motion)}, friction=False)
    >>> bool((fit.residuals.relative < 0.01).all())
    True
    """
    before = robot if isinstance(robot, Identification) else None
    nominal = robot.robot if isinstance(robot, Identification) else robot
    if before is not None:
        friction, transmission = before.friction, before.transmission if transmission is None else transmission
        offset, terms = (False, ()) if free is not None else (offset, terms)
    smoothing = isinstance(friction, Friction) or not friction
    friction = plain_friction(nominal) if friction is True else friction
    flags = {"physical": physical, "rotors": rotors, "recorded_rates": recorded_rates}
    check_options(nominal, friction, flags, {"weighted": weighted, "offset": offset}, terms, regularization)
    speeds = None if minimum_speed is None else check_minimum_speed(nominal, minimum_speed)
    reading = {"columns": columns, "dt": dt, "degrees": degrees, "gains": gains}
    reading |= {"rates": recorded_rates, "delay": check_delay(delay)}
    fixed = (offset, terms, speeds, weighted, delay)

    samples = recordings_of(nominal, data, **reading)
    check_filters(min(recording.rate for recording in samples), cutoff, decimate)
    check_rates(nominal, samples)
    check_torques(samples)
    model = TorqueModel.of(nominal, friction, rotors, (), free, transmission)
    if before is not None and free is not None and before.model.terms:
        model = replace(model, known=(before.model, before.base.values[len(before.model.T) :]))
    unfiltered = cutoff is None and has_rates(samples)
    chosen = choose(samples, model, Fixed(cutoff, decimate, unfiltered, smoothing, *fixed))
    model, filtering = chosen.model, chosen.filtering
    if chosen.delay:
        samples = [recording.with_delay(chosen.delay) for recording in samples]
        reading["delay"] = chosen.delay
    samples, too_short = without_short_parts(samples, filtering)
    motions = [filtered_motion(nominal, recording, filtering.cutoff) for recording in samples]
    check_motion(nominal, motions)

    rest = np.maximum(chosen.minimum_speed, REST * usual_joint_rates(motions))
    edges = [chosen.minimum_speed, rest]
    blocks = blocks_for(nominal.n, len(model.base_names))
    for again in (True, False) if model.depends_on_load else (False,):  # the load follows from the identified bodies
        slowest, slow, fast = stacked(model, motions, filtering, blocks, edges)
        factors = Factors.together([slow, fast])
        check_rows(factors)
        solution = least_squares(factors, model.base_nominal, chosen.weighted)
        if again:
            model = model.carrying(model.base_of_bodies(solution.x))
    gain_sigma = relative_gain_sigma(gains)
    if physical and chosen.weighted:
        fit = weighted_fit(factors, model, solution, regularization, gain_sigma)
    else:
        fit = fitted(factors, model, solution, physical, regularization, gain_sigma)
    every = model.with_unknowns(fit.unknowns)
    fitted_robot = nominal.with_parameters(every, friction=friction, unphysical="warn")
    offsets = offsets_of(model, fit.offsets)
    left_out, folds = cross_validation(factors, fit, model), list(fit.spread.folds)
    plain = cross_validation(factors, replace(fit, problem=None), model)
    result = Identification(
        robot=replace(fitted_robot, about=source_of(nominal, samples, offsets)),
        nominal=nominal,
        parameters=all_estimates(model, fit.solution, fit.spread, every),
        base=base_estimates(model, fit.solution, fit.spread, fit.x),
        least_squares=base_estimates(model, solution, spread_of(factors, solution, gain_sigma), solution.x),
        rank=fit.solution.rank,
        condition=fit.solution.condition,
        singular_values=fit.solution.singular,
        not_identifiable=not_identifiable(model, fit.solution, recovery(model)[1]),
        residuals=errors_of(nominal, [slowest, slow, fast], [fit.x], [None]),
        validation=errors_of(nominal, [slowest, slow, fast], left_out, folds),
        near_rest=errors_of(nominal, [slowest, slow], left_out, folds),
        plain=errors_of(nominal, [slowest, slow, fast], plain, folds),
        noise=fit.solution.noise,
        offsets=offsets,
        certificates=certificates(nominal, every[: 10 * len(nominal.names)].reshape(-1, 10)),
        friction=False if model.friction is None else replace(model.friction, viscous=None, coulomb=None),
        physical=physical,
        weighted=chosen.weighted,
        filtering=filtering,
        choices=chosen.table,
        samples=sum(len(recording.q) for recording in samples),
        rows=max(factors.samples(j) for j in range(nominal.n)),
        duration=duration_of(samples),
        gap=fit.found.gap if fit.found is not None else None,
        cost=cost_of(fit.solution, fit.x) if physical else None,
        data_notes=(*(note for recording in samples for note in recording.notes), *too_short, *repeated(samples)),
        prior_notes=(*fit.prior.notes, *(fit.prior.kept if physical else ())),
        settled=fit.found is None or not fit.found.decrement > NEAR,
        model=model,
        solution=fit.solution,
        spread=fit.spread,
        transmission=transmission,
        minimum_speed=chosen.minimum_speed,
        validated=False,
        motions=tuple(motions),
        reading=reading,
    )
    if validation is not None:
        result = replace(result, validation=result.validate(validation), validated=True)
    for note, serious in result.graded_notes:
        if serious:
            warn(f"identification of robot {nominal.name!r}: {note}")
    return result


def plain_friction(robot: Robot) -> bool | Friction:
    """Viscous and Coulomb friction of the nominal robot without its other terms, which are identified anew."""
    require_robot(robot)
    if robot.symbolic or not any(
        link.joint.stribeck_friction
        or link.joint.quadratic_friction
        or link.joint.coulomb_offset
        or link.joint.load_friction
        for link in robot.links
    ):
        return True
    links = [link for link, _ in robot.driving]
    return Friction(
        viscous=tuple(float(link.joint.viscous_friction) for link in links),
        coulomb=tuple(float(link.joint.coulomb_friction) for link in links),
    )


def duration_of(samples: Sequence[Samples]) -> float:
    return sum(len(recording.q) * recording.dt for recording in samples)


def offsets_of(model: TorqueModel, values: np.ndarray) -> np.ndarray:
    """(n,) constant torques among the terms."""
    offsets = np.zeros(model.robot.n)
    for (kind, joint), x in zip(model.terms, values, strict=True):
        if kind == "offset":
            offsets[joint] = x
    return offsets


def source_of(robot: Robot, samples: Sequence[Samples], offsets: np.ndarray) -> str:
    """The source of the identified robot's numbers, as text."""
    count = sum(len(recording.q) for recording in samples)
    text = f"Identified from {count} samples, {duration_of(samples):.4g} s; nominal robot: {robot.about or robot.name}"
    if offsets.any():
        zeros = ", ".join(f"{name} {x:.4g}" for name, x in zip(robot.v_names, offsets, strict=True) if x)
        text += f"; measured torques have offsets, which are not in the robot: {zeros}"
    return text


def repeated(samples: Sequence[Samples]) -> list[str]:
    """A note on recordings that occur twice."""
    twice = [
        recording.name
        for k, recording in enumerate(samples)
        if any(np.array_equal(recording.q, r.q) and np.array_equal(recording.tau, r.tau) for r in samples[:k])
    ]
    return [f"{', '.join(twice)}: the same as an earlier recording, so that σ is too small"] if twice else []


def relative_gain_sigma(gains: Any) -> np.ndarray | None:
    """The relative σ of gains that were identified; None for other gains."""
    return gains.relative_sigma if isinstance(gains, Estimates) else None


def check_options(
    robot: Any,
    friction: Any,
    flags: Mapping[str, Any],
    choices: Mapping[str, Any],
    terms: Any,
    regularization: float,
) -> None:
    require_robot(robot)
    if robot.symbolic:
        raise ValueError(f"robot {robot.name!r} has symbols (expected numbers: lw.bind gives them values)")
    for name, value in flags.items():
        if not isinstance(value, bool):
            raise TypeError(f"{name} is {value!r} (expected True or False)")
    for name, value in choices.items():
        if not (value is None or isinstance(value, bool)):
            raise TypeError(f"{name} is {value!r} (expected True, False, or None: chosen)")
    if isinstance(terms, str):
        raise TypeError(f"terms is {terms!r} (expected a list, such as [{terms!r}])")
    for kind in terms or ():
        one_of(kind, TERMS[1:], "terms")
    if not (is_number(regularization) and regularization > 0.0):
        raise ValueError(f"regularization is {regularization!r} (expected a number above 0, such as {REGULARIZATION})")
    law = Friction.of(friction)
    if law is not None and set(law.coefficients(robot)) - {"viscous", "coulomb"}:
        raise ValueError(
            "friction has more than viscous and Coulomb coefficients (expected these alone; terms=['stribeck'] and the"
            " like identify others)"
        )


def check_minimum_speed(robot: Robot, value: Any) -> np.ndarray:
    """Of each joint: (n,)."""
    each = (
        list(value) if isinstance(value, (Sequence, np.ndarray)) and not isinstance(value, str) else [value] * robot.n
    )
    if len(each) != robot.n or not all(is_number(speed) and speed >= 0.0 for speed in each):
        raise ValueError(
            f"minimum_speed is {value!r} (expected a rate of at least 0, or one for each of {', '.join(robot.v_names)})"
        )
    return np.array(each, dtype=float)


def check_delay(delay: float | None) -> float:
    if delay is not None and not is_number(delay):
        raise ValueError(f"delay is {delay!r} (expected seconds by which torques lag behind positions)")
    return float(delay or 0.0)


def check_rates(robot: Robot, samples: Sequence[Samples]) -> None:
    for recording in samples:
        if recording.qd is None and robot.quaternions:
            raise ValueError(
                f"{recording.name}: there is no 'qd', and a quaternion is not differentiated (expected qd where a robot"
                " has ball joints or a free base)"
            )


def check_torques(samples: Sequence[Samples]) -> None:
    for recording in samples:
        if recording.unmeasured.all() or not recording.tau.any():
            raise ValueError(
                f"{recording.name}: all torques are zero in these data, or NaN (expected measured torques, or currents"
                " with gains=...)"
            )


def check_motion(robot: Robot, motions: Sequence[Motion]) -> None:
    """Refuse recordings of a robot at rest: they determine only its gravity torques in one configuration."""
    spans = np.max([np.ptp(motion.q, axis=0) for motion in motions], axis=0)
    if (spans < STILL * position_scales(robot)).all():
        raise ValueError(
            "nothing moves in these data (expected a motion that excites every joint, such as lw.excitation gives; are"
            " angles in radians and times in seconds?)"
        )


def check_rows(factors: Factors) -> None:
    total = sum(factors.samples(j) for j in range(factors.joints))
    if total < 2 * factors.columns:
        raise ValueError(
            f"{total} rows are left for {factors.columns} unknowns (expected at least twice as many: a longer"
            " recording, a higher cutoff=..., or a lower minimum_speed=...)"
        )


def motions_of(robot: Robot, data: Any, filtering: Filtering, **reading: Any) -> list[tuple[Motion, Filtering]]:
    """The motions of other data, below the same cut-off as far as their rates allow it."""
    recordings = recordings_of(robot, data, **reading)
    check_torques(recordings)
    filtering = filtering.for_others(recordings)
    recordings, _ = without_short_parts(recordings, filtering)
    return [(filtered_motion(robot, recording, filtering.cutoff), filtering) for recording in recordings]
