"""Joints at rest: those that stand still in a recording, and rows in which a joint is near rest.

Joints that stand still in a recording but for the noise of their encoders.

The low-pass filter of the motion leaves `e |taps|` of white noise of size e, and e is seen in what it takes away. A
joint whose filtered position varies by no more than some times that does not move: its rates and accelerations are
noise, and a regressor of noise would be fitted to torques. Recorded accelerations are judged by the same noise.

Rows in which a joint is near rest, where friction is not what the law says.

A drive at rest holds any torque up to that at which it breaks loose, and just above it friction falls before it grows.
No law of viscous and Coulomb friction has that, so that such rows are worse than others by several times on most arms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..robot import Robot
from .filtering import HIGHEST, MOTION, MOTION_CUTOFF, LowPass
from .least_squares import Factors, Solution, least_squares
from .preparing import INCONSISTENT, STILL, Filtering, Motion, band_in
from .samples import Samples, position_scales
from .text import percent

DETECTABLE = 4.0  # times the noise that passes the filter: a motion below that is not distinguishable from noise
STEP, ALONE = 0.05, 20.0  # of a joint's travel, and times the changes beside it: a position that jumps
NOISIEST = 0.02  # rad, or of the robot's size: no encoder has more noise, so that what is farther apart has moved
SMALL, NARROW = 0.02, 0.02  # rad or of the robot's size, and of the longest motion: a smaller motion tells little
UNFILTERED = 0.1  # of the sampling rate: the cut-off where none is given


def still_joints(robot: Robot, samples: Samples, filtering: Filtering) -> np.ndarray:
    """Which joints do not move in a recording: (n,); none of robots with quaternions."""
    if robot.quaternions:
        return np.zeros(robot.n, dtype=bool)
    span = np.ptp(samples.q, axis=0) / position_scales(robot)
    low_pass = LowPass.design(samples.rate, filtering.motion or UNFILTERED * samples.rate, MOTION)
    if len(samples.q) < 4 * low_pass.half:
        return np.asarray(span < STILL)
    smooth, noise = low_pass.apply(samples.q), noise_of_positions(samples.q, low_pass)
    hidden = np.std(smooth, axis=0) <= DETECTABLE * np.linalg.norm(low_pass.taps) * noise
    return np.asarray((span < STILL) | (hidden & (span < NOISIEST)))


def noise_of_positions(q: np.ndarray, low_pass: LowPass) -> np.ndarray:
    """e of each joint, if it is white: from what the filter takes away."""
    taken = np.std(q[low_pass.half : len(q) - low_pass.half] - low_pass.apply(q), axis=0)
    share = 1.0 - 2.0 * low_pass.taps[low_pass.half] + np.linalg.norm(low_pass.taps) ** 2
    return np.asarray(taken / np.sqrt(max(share, 1e-3)))


def inconsistent_accelerations(robot: Robot, samples: Samples, filtering: Filtering, still: np.ndarray) -> list[str]:
    """What is said where recorded accelerations are not the second derivative of positions, noise of these apart."""
    if samples.qdd is None or robot.quaternions:
        return []
    cutoff = filtering.motion or min(MOTION_CUTOFF * band_in(robot, samples), HIGHEST * samples.rate)
    low_pass = LowPass.design(samples.rate, cutoff, MOTION) if cutoff > 0.0 else None
    if low_pass is None or len(samples.q) < 4 * low_pass.half:
        return []
    inner = slice(low_pass.half, len(samples.q) - low_pass.half)
    slope = low_pass.apply(samples.q, 2)
    used = samples.qdd[inner] if filtering.motion is None else low_pass.apply(samples.qdd)
    noise = noise_of_positions(samples.q, low_pass) * np.linalg.norm(low_pass.derivative(2))
    size = np.sqrt(np.mean(slope**2, axis=0))
    off = np.sqrt(np.maximum(0.0, np.mean((used - slope) ** 2, axis=0) - 2.0 * noise**2))
    off = off / np.where((size > 0.0) & ~still, size, np.inf)
    joints = [name for name, x in zip(robot.v_names, off, strict=True) if x > INCONSISTENT]
    if not joints:
        return []
    return [
        f"{samples.name}: the recorded accelerations of {', '.join(joints)} are up to {percent(float(off.max()))} off"
        " the second derivative of the positions: other units, another sign, a lag, or noise (recorded_rates=False"
        " takes positions alone)"
    ]


def at_rest(motion: Motion, still: np.ndarray) -> Motion:
    """The motion with these joints at their mean position, without rates and accelerations."""
    if not still.any():
        return motion
    moving = ~still
    q = np.where(moving, motion.q, motion.q.mean(axis=0))
    return replace(motion, q=q, qd=motion.qd * moving, qdd=motion.qdd * moving)


def notes_on_still_joints(robot: Robot, every: list[np.ndarray]) -> list[str]:
    """Joints that are still in all recordings: (n,) of each."""
    names = [name for name, still in zip(robot.v_names, np.all(every, axis=0), strict=True) if still]
    if not names:
        return []
    stand = "stands" if len(names) == 1 else "stand"
    return [
        f"{', '.join(names)} {stand} still but for noise: rotor and friction there, and what only this motion would"
        " tell, stay those of the nominal robot"
    ]


def notes_on_steps(robot: Robot, samples: Samples, still: np.ndarray) -> list[str]:
    """Positions that jump from one row to the next, as where poses at rest are recorded one after the other."""
    if robot.quaternions or len(samples.q) < 4:
        return []
    change = np.abs(np.diff(samples.q, axis=0))
    beside = np.maximum(change[:-2], change[2:])
    large = (change[1:-1] > STEP * np.ptp(samples.q, axis=0)) & (change[1:-1] > ALONE * beside) & ~still
    joints = [name for name, yes in zip(robot.v_names, large.any(axis=0), strict=True) if yes]
    if not joints:
        return []
    row = int(np.argmax(large.any(axis=1))) + 2
    return [
        f"{samples.name}: positions of {', '.join(joints)} jump from one row to the next, first at row {row}: rates and"
        " accelerations there are not those of the robot (expected motions from pose to pose too, or a list of"
        " recordings without jumps)"
    ]


def notes_on_small_motions(robot: Robot, samples: Sequence[Samples], still: Sequence[np.ndarray]) -> list[str]:
    """Joints that move, but hardly: little beside the others, and no farther than one degree or so."""
    if robot.quaternions:
        return []
    spans = np.max([np.ptp(recording.q, axis=0) for recording in samples], axis=0)
    relative = spans / position_scales(robot)
    little = (relative < min(SMALL, NARROW * relative.max(initial=0.0))) & ~np.all(still, axis=0)
    if not little.any():
        return []
    units = ["m" if unit == "N" else "rad" for unit in robot.effort_units]
    which = ", ".join(f"{robot.v_names[k]} ({spans[k]:.2g} {units[k]})" for k in np.flatnonzero(little))
    return [
        f"joints that hardly move: {which}: friction, rotor and what only their motion would tell are not to be trusted"
        " there (larger motions, or free=[...] without them)"
    ]


SHARE = 0.1  # of the root mean square of a joint's rate: below it is near rest
WORSE = 2.0  # times the residuals of other rows: rows near rest are left out
ENOUGH = 8  # rows near rest, to tell
ROUNDING = 1e-6  # of a joint's torques: smaller residuals tell nothing
MOVING = 0.2  # of a joint's rows, at least, are in motion


def slow_speeds(motions: Sequence[Motion]) -> np.ndarray:
    """Of each joint the rate below which it is near rest: (n,)."""
    squares = np.concatenate([motion.qd**2 for motion in motions])
    return np.asarray(SHARE * np.sqrt(squares.mean(axis=0)))


def without_rest(
    fast: Factors, slow: Factors, nominal: np.ndarray, weighted: bool
) -> tuple[Factors, Solution, np.ndarray]:
    """All rows but those near rest of joints where these are much worse than others, the fit, and those ratios (n,).

    The ratio is 0 for a joint of which all rows are kept. Rows that the rank depends on are kept.
    """
    joints = range(fast.joints)
    every = fast.with_rows_of(slow, joints)
    solution = least_squares(every, nominal, weighted)
    judge = solution  # or, better, what rows in motion say alone
    if sum(map(fast.samples, joints)) >= 2 * fast.columns:
        alone = least_squares(fast, nominal, weighted)
        judge = alone if alone.rank >= solution.rank else solution
    ratios = np.zeros(fast.joints)
    for j in joints:
        few, many = slow.samples(j), fast.samples(j)
        if few >= ENOUGH and many >= MOVING * (few + many):
            near, other = slow.errors(j, judge.x) / few, fast.errors(j, judge.x) / many
            if near > (ROUNDING * every.variation(j)[0]) ** 2:
                ratios[j] = np.sqrt(near / other) if other > 0.0 else 0.0
    ratios = np.where(ratios > WORSE, ratios, 0.0)
    if not ratios.any():
        return every, solution, ratios
    chosen = fast.with_rows_of(slow, [j for j in joints if not ratios[j]])
    if sum(map(chosen.samples, joints)) < 2 * chosen.columns:
        return every, solution, np.zeros(fast.joints)
    again = least_squares(chosen, nominal, weighted)
    if again.rank < solution.rank:
        return every, solution, np.zeros(fast.joints)
    return chosen, again, ratios


def notes_on_rest(robot: Robot, slow: Factors, fast: Factors, speeds: np.ndarray, ratios: np.ndarray) -> list[str]:
    names = [f"{name} (below {v:.2g})" for name, v, x in zip(robot.v_names, speeds, ratios, strict=True) if x]
    if not names:
        return []
    rows = [j for j in range(robot.n) if ratios[j]]
    share = sum(map(slow.samples, rows)) / sum(slow.samples(j) + fast.samples(j) for j in rows)
    worst = f"up to {ratios.max():.2g} times" if len(names) > 1 else f"{ratios.max():.2g} times"
    return [
        f"rows near rest are left out: {', '.join(names)}; {percent(share)} of the rows there, with residuals {worst}"
        " those of the others: friction at rest is not what the law says (minimum_speed=0 keeps them)"
    ]
