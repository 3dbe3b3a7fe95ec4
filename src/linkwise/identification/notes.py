"""Notes on suspicious data, models or results of an identification: at most ten, the most important first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from ..api.functions import gravity_torque, inverse_dynamics
from ..regressors.parameters import parameters
from ..robot import Robot
from .estimates import OF_DRIVES, ZERO
from .filtering import rows_in_parallel
from .identifiability import notes_on_condition

if TYPE_CHECKING:
    from .result import Identification

MOST = 10  # notes
POOR = 0.5  # R² below which the model does not explain a joint's torque
WORSE = 2.0  # ratio of errors that deserves a note: of a joint to the others, of rows near rest to all rows
FACTOR = 3.0  # of gravity torques: the mass of a link is known better than to this factor
SMALL = 0.01  # of a torque: smaller errors need no note
ALIKE = 0.9  # correlation of torques that look like those of another joint


def notes(result: Identification) -> Iterator[tuple[str, bool]]:
    """Each note with whether `lw.identify` warns of it: the result is then probably wrong, or of another robot."""
    serious = [*on_torques(result), *on_gravity(result), *on_poor_joints(result)]
    others = [*on_bodies(result), *on_rest(result)]
    if "delay of torques" in [row.choice for row in result.choices.tried if row.taken]:
        lag = result.reading["delay"]
        others.append(f"torques {'lag behind' if lag > 0.0 else 'are ahead of'} positions: moved by {1e3 * lag:.2g} ms"
                      " (delay=0 keeps them)")  # fmt: skip
    if (result.minimum_speed > 0.0).any():
        which = ", ".join(
            f"{n} (below {v:.2g})" for n, v in zip(result.nominal.v_names, result.minimum_speed, strict=True)
        )
        others.append(f"rows near rest are not fitted: {which} (minimum_speed=0 keeps them); errors are of all rows")
    if not result.friction and has_friction(result.nominal):
        others.append("friction=False leaves out the friction that the nominal robot has")
    others += notes_on_condition(result.model, result.solution)
    if result.data_notes:
        others.append("; ".join(result.data_notes))
    if result.prior_notes:
        others.append("; ".join(result.prior_notes))
    graded = [(text, True) for text in serious] + [(text, False) for text in others]
    return iter(graded[:MOST])


def has_friction(robot: Robot) -> bool:
    return bool(np.asarray(parameters(robot, friction=True))[len(parameters(robot)) :].any())


def on_torques(result: Identification) -> Iterator[str]:
    """Signs and order of the joints' torques, compared with those of the nominal robot."""
    names = result.nominal.v_names
    measured = np.nan_to_num(np.concatenate([part.measured for part in result.torques]))
    believed = np.concatenate([nominal_torques(result, k) for k in range(len(result.motions))])
    a, b = measured - measured.mean(axis=0), believed - believed.mean(axis=0)
    sizes = np.outer(np.linalg.norm(a, axis=0), np.linalg.norm(b, axis=0))
    alike = np.where(sizes > 0.0, a.T @ b / np.where(sizes > 0.0, sizes, 1.0), 0.0)
    own, poor = np.diagonal(alike), result.plain.r2 < ALIKE if result.physical else np.ones(len(names), dtype=bool)
    poor = poor | (result.residuals.r2 < POOR)
    against = [name for name, yes in zip(names, poor & (own < -POOR), strict=True) if yes]
    if against:
        yield (
            f"the torques of {', '.join(against)} have the opposite sign to those of the nominal robot: is their sign"
            " that of the robot? (gains=-1, or one for each joint, reverses them)"
        )
    best = np.argmax(alike, axis=1)
    for j in np.flatnonzero(poor & (alike.max(axis=1) > ALIKE) & (own < POOR)):
        yield f"the torque of {names[j]} looks like that of {names[best[j]]}: is the joints' order that of the robot?"


def nominal_torques(result: Identification, k: int) -> np.ndarray:
    """Torques of the nominal robot with its friction along a motion, filtered as for the fit."""
    motion = result.motions[k]

    def torque(index: np.ndarray) -> np.ndarray:
        states = (motion.q[index], motion.qd[index], motion.qdd[index])
        return np.asarray(inverse_dynamics(result.nominal, *states, friction=result.friction))

    return rows_in_parallel(torque, motion, result.filtering)[1]


def on_gravity(result: Identification) -> Iterator[str]:
    """A common factor between gravity torques and those of the nominal robot."""
    if result.model.chosen:
        return
    q = np.concatenate([motion.q[:: max(1, len(motion.q) // 200)] for motion in result.motions])
    rest = np.zeros((len(q), result.nominal.n))
    rows = result.model.all_columns(q, rest, rest)[..., : len(result.model.bodies)]
    found, believed = (
        rows @ result.model.base_of_bodies(result.base.values),
        np.asarray(gravity_torque(result.nominal, q)),
    )
    if not believed.any() or not found.any():
        return
    factor = float(np.sum(found * believed) / np.sum(believed**2))
    left = float(np.sum((found - factor * believed) ** 2) / np.sum(found**2))
    if left < POOR and not 1.0 / FACTOR < factor < FACTOR:
        yield (
            f"gravity torques are {factor:.3g} times those of the nominal robot: are torques in N m, or are these motor"
            " currents (gains=...)? Masses follow them; lw.identification.drive_gains finds gains from a known load"
        )


def on_poor_joints(result: Identification) -> Iterator[str]:
    """Joints with much larger errors than others, or than those of least squares without bodies."""
    names, errors = result.nominal.v_names, result.validation
    moving = np.max([np.abs(motion.qd).max(axis=0) for motion in result.motions], axis=0) > 0.0
    known = np.isfinite(errors.r2) & moving
    lost = [name for name, r2, yes in zip(names, errors.r2, known, strict=True) if yes and r2 < POOR]
    if lost and result.model.chosen:
        lacking = result.friction and not has_friction(result.nominal)
        friction = " (the nominal robot has no friction)" if lacking else ""
        yield (
            f"much of the torque of {', '.join(lost)} is neither that of the nominal robot nor of what is free: is the"
            f" nominal robot the arm as it was identified without its load, friction and rotors included{friction}?"
        )
    elif lost:
        yield (
            f"the model explains little of the torque of {', '.join(lost)}: are the joints' order, signs and zeros"
            " those of the robot, angles in radians (degrees=True), torques in N m (gains=...) and not delayed"
            f"{'' if result.friction else ', and have they no friction, as friction=False says'}? Does a motor turn"
            " with several joints (transmission=...)?"
        )
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = errors.rms / result.plain.rms
        costly = known & (ratio > WORSE) & (errors.relative > SMALL)
    if result.physical and costly.any():
        which = ", ".join(f"{n} ({x:.2g} times)" for n, x, y in zip(names, ratio, costly, strict=True) if y)
        yield (
            f"no physically consistent bodies explain the torque of {which} as least squares does: gains of torques,"
            " signs, geometry or a coupled drive are not those of the robot (gains=..., transmission=...)"
        )
    if not known.any():
        return
    usual = float(np.median(np.sqrt(np.maximum(1.0 - errors.r2[known], 0.0))))
    share = np.sqrt(np.maximum(1.0 - np.where(known, errors.r2, 1.0), 0.0))
    worse = known & ~costly & (errors.r2 >= POOR) & (errors.r2 < ALIKE) & (share > WORSE * usual)
    if worse.any():
        which = ", ".join(f"{n} (R² {r:.2f})" for n, r, y in zip(names, errors.r2, worse, strict=True) if y)
        yield (
            f"{which}: explained much worse than the other joints: friction that the model lacks, a spring"
            " (terms=['spring']), or a drive that turns with several joints (transmission=...)?"
        )


def on_bodies(result: Identification) -> Iterator[str]:
    impossible = [name for name, certificate in result.certificates.items() if not certificate.possible]
    if impossible:
        yield f"{', '.join(impossible)}: not physically consistent; physical=True finds the nearest consistent bodies"
    if not result.settled:
        yield "the fit of physically consistent bodies did not settle: these bodies are the best that were reached"
    base = result.least_squares
    below = [
        f"{name} = {value:.3g} ± {sigma:.2g}"
        for name, value, sigma in zip(base.names, base.values, base.sigma, strict=True)
        if name.rpartition(".")[2] in OF_DRIVES[:3] and value < -ZERO * sigma
    ]
    if below and result.physical:
        yield (
            f"least squares has {', '.join(below)}, which cannot be below zero: are torques of another sign, or does a"
            " drive compensate for friction?"
        )
    yield from on_small_motions(result)


def on_small_motions(result: Identification) -> Iterator[str]:
    """Joints that hardly move, or no more than noise."""
    robot = result.nominal
    if robot.quaternions:
        return
    still = np.all([motion.still for motion in result.motions], axis=0)
    if still.any():
        names = [name for name, yes in zip(robot.v_names, still, strict=True) if yes]
        yield (
            f"{', '.join(names)} {'stands' if len(names) == 1 else 'stand'} still but for noise: rotor and friction"
            " there, and all that only this motion could determine, stay those of the nominal robot"
        )
    spans = np.max([np.ptp(motion.q, axis=0) for motion in result.motions], axis=0)
    units = ["m" if unit == "N" else "rad" for unit in robot.effort_units]
    small = ~still & (spans / result.model.arms < SMALL)
    if small.any():
        which = ", ".join(f"{robot.v_names[k]} ({spans[k]:.2g} {units[k]})" for k in np.flatnonzero(small))
        yield f"joints that hardly move: {which}: what only their motion would tell is not to be trusted"


def on_rest(result: Identification) -> Iterator[str]:
    """Errors of rows near rest."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = result.near_rest.rms / result.validation.rms
    worse = (ratio > WORSE) & (result.validation.relative > SMALL)
    if worse.any():
        names = [f"{n} ({x:.2g} times)" for n, x, y in zip(result.nominal.v_names, ratio, worse, strict=True) if y]
        yield (
            f"near rest errors are larger: {', '.join(names)} those of all rows, since friction at rest holds any"
            " torque up to that at which it breaks loose"
        )
