"""What is odd about an identification, in sentences: data that do not fit the robot, or one another."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..api.functions import inverse_dynamics
from ..regressors.parameters import parameters
from ..robot import Robot
from .filtering import TORQUE, LowPass, decimated
from .least_squares import solved, triangle
from .model import ZERO
from .preparing import Motion, reduced, rows_of
from .systematic import systematic_errors
from .text import percent

if TYPE_CHECKING:
    from .result import Identification

VAGUE = 0.8  # of the base parameters: fewer that are not distinguishable from zero are usual
BIASED = 4.0  # standard errors of a joint's mean residual above which it has an offset
LAGGING, LAG_SIGMAS = 0.03, 6.0  # of the residuals' power, and σ of the lag: above both a lag of the torques is likely
REVERSAL = 0.2  # of the root mean square of a joint's rate: slower rows tell nothing of lags
NEGLIGIBLE = 1e-6  # of a joint's torques: smaller offsets are rounding
LITTLE, POOR = 0.5, 0.8  # R² below which something is wrong with a joint, and below which a fit is no good one
EXPENSIVE = 0.05  # of the sum of squares: what possible bodies may cost before it is said
REVERSED, ALIKE, UNLIKE = -0.5, 0.9, 0.3  # correlations of measured torques with those of the nominal robot


def notes(result: Identification) -> Iterator[tuple[str, bool]]:
    """Each with whether it is of a wrong result: systematic errors, wrong units, signs or order of the joints."""
    yield from graded(result.data_notes, False)
    if not result.friction and has_friction(result.nominal):
        yield (
            "friction=False leaves out the friction that the nominal robot has: the torques are taken to have none",
            False,
        )
    yield from graded(on_bodies(result), False)
    yield from graded(on_torques(result), True)
    told, beside_nominal = systematic_errors(result)
    yield from graded((*told, *beside_nominal), True)
    yield from graded(on_lag(result), True)
    biased = with_offset(result)
    if biased and not told:  # gains and zeros make means too
        yield f"the residuals of {', '.join(biased)} have a mean that is not zero: offset=True identifies it", False


def graded(texts: Iterable[str], serious: bool) -> Iterator[tuple[str, bool]]:
    return ((text, serious) for text in texts)


def has_friction(robot: Robot) -> bool:
    return bool(np.asarray(parameters(robot, friction=True))[len(parameters(robot)) :].any())


def on_bodies(result: Identification) -> Iterator[str]:
    impossible = [name for name, certificate in result.certificates.items() if not certificate.possible]
    if impossible:
        yield f"{', '.join(impossible)}: not physically consistent; physical=True finds the nearest consistent bodies"
    if result.cost is not None:
        squares = sum(len(part.t) for part in result.torques) * result.nominal.n
        unknowns = len(result.base)
        chance = unknowns + 3.0 * np.sqrt(2.0 * unknowns)  # of χ², which right models come to, however few the rows
        if result.cost > max(EXPENSIVE * squares, chance):
            yield (
                f"physically consistent bodies, close to the nominal robot, fit worse: the weighted sum of squares is"
                f" {percent(result.cost / squares)} larger than without (a smaller regularization=... draws less;"
                " or the model lacks something: geometry, friction, gear ratios)"
            )
        yield from on_bounds(result)
    if not result.settled:
        yield "the fit of physically consistent bodies did not settle: these bodies are the best that were reached"
    base = result.base
    vague = int(np.sum(np.isfinite(base.sigma) & (np.abs(base.values) < ZERO * base.sigma)))
    if vague > VAGUE * len(base):
        yield (
            f"{vague} of {len(base)} base parameters are not distinguishable from zero: they are small, or a longer or"
            " richer motion is needed"
        )


def on_bounds(result: Identification) -> Iterator[str]:
    """Which rotors and coefficients of friction least squares has below zero."""
    base, kinds = result.least_squares, ("rotor", "viscous", "coulomb")
    below = [
        f"{name} = {value:.3g} ± {sigma:.2g}"
        for name, value, sigma in zip(base.names, base.values, base.sigma, strict=True)
        if name.rpartition(".")[2] in kinds and value < -ZERO * sigma
    ]
    if below:
        yield (
            f"least squares has {', '.join(below)}, which cannot be below zero: are torques of another sign, or does a"
            " drive compensate for friction?"
        )


def on_torques(result: Identification) -> Iterator[str]:
    """Signs and order of the joints' torques, beside those of the nominal robot."""
    names = result.nominal.v_names
    measured = np.nan_to_num(np.concatenate([part.measured for part in result.torques]))
    believed = np.concatenate([nominal_torques(result, motion) for motion in result.motions])
    alike = correlations(measured, believed)
    own = np.diagonal(alike)
    poor = (result.residuals.r2 < LITTLE) & moving(result)  # a drive at rest holds what it may
    suspect = poor if result.physical else poor | (own < REVERSED)
    against = [name for name, yes in zip(names, suspect & (own < REVERSED), strict=True) if yes]
    if against:
        yield (
            f"the torques of {', '.join(against)} run against those of the nominal robot: is their sign that of the"
            " robot? (gains=-1, or one for each joint, reverses them)"
        )
    best = np.argmax(alike, axis=1)
    swapped = suspect & (alike.max(axis=1) > ALIKE) & (own < alike.max(axis=1) - UNLIKE)
    for j in np.flatnonzero(swapped):
        yield f"the torque of {names[j]} looks like that of {names[best[j]]}: is the joints' order that of the robot?"
    lost = [name for name, yes in zip(names, poor, strict=True) if yes]
    if result.model.chosen:
        yield from on_nominal_robot(result)
    elif lost:
        yield (
            f"the model explains little of the torque of {', '.join(lost)}: are the joints' order, signs and zeros"
            " those of the robot, angles in radians (degrees=True), torques in N m (gains=...) and not delayed"
            f"{'' if result.friction else ', and have they no friction, as friction=False says'}?"
        )


def moving(result: Identification) -> np.ndarray:
    """Of each joint whether it moves in some recording: (n,)."""
    return np.asarray(np.max([np.abs(motion.qd).max(axis=0) for motion in result.motions], axis=0) > 0.0)


def on_nominal_robot(result: Identification) -> Iterator[str]:
    """Of fits of some links: whether the others may be wrong."""
    poor = (result.residuals.r2 < POOR) & moving(result)
    if poor.any():
        names = ", ".join(name for name, yes in zip(result.nominal.v_names, poor, strict=True) if yes)
        friction = "" if not result.friction or has_friction(result.nominal) else " (the nominal robot has no friction)"
        yield (
            f"much of the torque of {names} is neither that of the nominal robot nor of what is free: is the nominal"
            f" robot the arm as it was identified without its load, friction and rotors included{friction}?"
        )


def nominal_torques(result: Identification, motion: Motion) -> np.ndarray:
    """Torques of the nominal robot with its friction, filtered and decimated as for the fit."""
    believed = np.asarray(
        inverse_dynamics(result.nominal, motion.q, motion.qd, motion.qdd, friction=result.model.friction)
    )
    return filtered(result, motion, believed)


def filtered(result: Identification, motion: Motion, values: np.ndarray) -> np.ndarray:
    step = result.filtering.step_at(1.0 / motion.dt)
    if result.filtering.torque is None:
        return values[::step]
    return decimated(values, LowPass.design(1.0 / motion.dt, result.filtering.torque, TORQUE).taps, step)


def correlations(measured: np.ndarray, believed: np.ndarray) -> np.ndarray:
    """(n, n): of each measured torque (rows) with each of the robot; 0 where one does not vary."""
    a, b = measured - measured.mean(axis=0), believed - believed.mean(axis=0)
    sizes = np.outer(np.linalg.norm(a, axis=0), np.linalg.norm(b, axis=0))
    return np.asarray(np.where(sizes > 0.0, a.T @ b / np.where(sizes > 0.0, sizes, 1.0), 0.0))


def usual_r2(result: Identification) -> float:
    """The median of the joints' R²."""
    r2 = result.residuals.r2
    return float(np.median(r2[np.isfinite(r2)])) if np.isfinite(r2).any() else 0.0


def on_lag(result: Identification) -> Iterator[str]:
    """Of torques that lag, if the model explains them when they are moved: otherwise more is wrong than a lag."""
    lag, sigmas, share = lag_of(result)
    if not (share > LAGGING and sigmas > LAG_SIGMAS):
        return
    left = left_when_moved(result, lag)
    if left < 1.0 - LAGGING and 1.0 - left * (1.0 - usual_r2(result)) > POOR:
        how = "lag behind" if lag > 0.0 else "be ahead of"
        yield (
            f"torques seem to {how} positions by about {1e3 * abs(lag):.2g} ms, and parameters take up some of that:"
            f" try delay={lag:.2g}"
        )


def lag_of(result: Identification) -> tuple[float, float, float]:
    """By how much measured torques are late, in how many σ, and the share of the residuals' power that this explains.

    A torque that is late by d is short of d times its slope: -d is the unknown of a column more in the regressor.
    Friction is left out of the slope, and so are rows near reversals, where it differs from the law in ways that look
    like a lag.
    """
    columns = len(result.model.base_names)
    R, count = np.zeros((0, columns + 2)), 0
    for motion in result.motions:
        smooth = np.asarray(inverse_dynamics(result.robot, motion.q, motion.qd, motion.qdd))
        slopes = filtered(result, motion, np.gradient(smooth, motion.dt, axis=0))
        least = np.maximum(result.minimum_speed, REVERSAL * np.sqrt(np.mean(motion.qd**2, axis=0)))
        first = 0
        for _, qd, rows, _ in rows_of(result.model, motion, result.filtering):
            slope = slopes[first : first + len(rows), :, None]
            first += len(rows)
            both = np.concatenate([rows[: len(slope), :, :-1], slope, rows[: len(slope), :, -1:]], axis=-1)
            used = ((np.abs(qd[: len(slope)]) >= least) & ~motion.unmeasured)[..., None]
            count += int(used.sum())
            R = triangle(np.concatenate([R, (both * used / result.noise[:, None]).reshape(-1, columns + 2)]))
    if len(R) < columns + 2 or not abs(R[columns, columns]) > 1e-9 * np.linalg.norm(R[:, columns]):
        return 0.0, 0.0, 0.0
    along, left = float(R[columns, -1]), float(np.sum(R[columns + 1 :, -1] ** 2))
    share = along**2 / (along**2 + left) if along else 0.0
    sigmas = abs(along) * np.sqrt(max(0, count - columns - 1) / left) if left else np.inf
    return -along / float(R[columns, columns]), float(sigmas), share


def left_when_moved(result: Identification, lag: float) -> float:
    """The share of the sum of squares that torques moved by a lag leave: where joints differ, a lag may not help."""
    squares = []
    for moved in (0.0, lag):
        motions = [later(motion, moved, abs(lag)) for motion in result.motions]
        fast, _ = reduced(result.model, motions, result.filtering, 1, result.minimum_speed)
        system = fast.of_blocks(range(len(fast.triangles)), 1.0 / result.noise)
        x = solved(system, result.model.base_nominal, result.noise, fast.sizes).x
        squares.append(float(np.sum((system @ np.append(x, -1.0)) ** 2)))
    return squares[1] / squares[0] if squares[0] else 1.0


def later(motion: Motion, lag: float, cut: float) -> Motion:
    """The motion beside the torques of so much later, without the ends that are nearer than `cut`."""
    ends = slice(math.ceil(cut / motion.dt), len(motion.t) - math.ceil(cut / motion.dt))
    tau = np.stack([np.interp(motion.t + lag, motion.t, column) for column in motion.tau.T], axis=-1)
    inner = {name: getattr(motion, name)[ends] for name in ("t", "q", "qd", "qdd")}
    return replace(motion, **inner, tau=tau[ends])


def with_offset(result: Identification) -> list[str]:
    """Joints whose mean residual is far from zero."""
    if result.offsets.any():
        return []
    measured = np.concatenate([part.measured for part in result.torques])
    used = np.abs(np.concatenate([part.speed for part in result.torques])) >= result.minimum_speed
    used &= ~np.isnan(measured)
    measured = np.nan_to_num(measured)
    left = measured - np.concatenate([part.predicted for part in result.torques])
    count = np.maximum(used.sum(axis=0), 1)
    size, mean = np.sqrt(np.mean(measured**2, axis=0)), np.sum(left * used, axis=0) / count
    spread, mean = np.sqrt(np.sum((left - mean) ** 2 * used, axis=0) / count), np.abs(mean)
    large = (mean > BIASED * spread / np.sqrt(count)) & (mean > 0.3 * spread) & (mean > NEGLIGIBLE * size)
    return [name for name, yes in zip(result.nominal.v_names, large, strict=True) if yes]
