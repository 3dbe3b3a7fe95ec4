"""What encoders and loggers do to recorded values: angles that wrap at 2 π, values that are held for several rows."""

from __future__ import annotations

import numpy as np

from ..robot import Robot
from ..robot.layout import angle_mask
from .recorded import Recorded

SMOOTH, ROUGH = 3.0, 0.1  # a step beside a jump of 2 π is at most so many times the others, or so many rad
OFTEN = 0.3  # of the steps: an angle that jumps more often is no angle in radians
OUTSIDE = 0.1  # of the range between a joint's limits
REGULAR = 0.8  # of the runs of equal values are of one length, where a logger repeats them
ENOUGH = 20  # changes, to tell
SATURATED = 0.01  # of the rows at the largest value, and five times as many as at the next


def unwrapped(robot: Robot, q: np.ndarray, name: str, cuts: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """Angles without the jumps of 2 π that encoders of one turn have; other jumps are refused, but after `cuts`."""
    steps = np.diff(q, axis=0)
    steps[cuts] = 0.0
    jumping = (np.abs(steps) > np.pi) & np.array(angle_mask(robot, "q"))
    if not jumping.any():
        return q, []
    q, notes = q.copy(), []
    for k in np.flatnonzero(jumping.any(axis=0)):
        joint, rows = robot.q_names[k], np.flatnonzero(jumping[:, k])
        turns = np.round(steps[:, k] / (2.0 * np.pi)) * jumping[:, k]
        smooth = steps[:, k] - 2.0 * np.pi * turns
        usual = np.abs(steps[~jumping[:, k], k]).max(initial=0.0)
        often = len(rows) > OFTEN * len(steps)
        rough = rows if often else rows[np.abs(smooth[rows]) > max(SMOOTH * usual, ROUGH)]
        if len(rough):
            row = int(rough[0])
            raise ValueError(
                f"{name}: q of {joint!r} jumps by {steps[row, k]:.4g} rad from row {row} to row {row + 1} (expected"
                " steps below pi, or jumps of 2 pi, which are taken out; are angles in degrees (degrees=True), or are"
                " these several recordings, which go in a list?)"
            )
        q[1:, k] -= 2.0 * np.pi * np.cumsum(turns)
        times = f"{len(rows)} times" if len(rows) > 1 else f"once, after row {rows[0]}"
        notes.append(f"{name}: q of {joint!r} jumps by 2 pi ({times}): taken out")
    return q, notes


def outside_limits(robot: Robot, q: np.ndarray, name: str) -> list[str]:
    """What is said of positions that a joint cannot have."""
    notes, turning = [], angle_mask(robot, "q")
    for link, slot in robot.driving:
        if link.joint.limits is None or link.joint.width != 1:
            continue
        (lower, upper), own = map(float, link.joint.limits), q[:, slot.q]
        most = own[np.argmax(np.maximum(own - upper, lower - own))]
        if max(most - upper, lower - most) > OUTSIDE * (upper - lower):
            why = "are angles in degrees (degrees=True)?" if turning[slot.q] else "is it in metres?"
            joint, limits = robot.q_names[slot.q], f"{lower:.4g} to {upper:.4g}"
            notes.append(f"{name}: q of {joint!r} goes to {most:.4g}, beyond its limits, {limits}: {why}")
    return notes


def unmeasured(robot: Robot, tau: np.ndarray, recorded: Recorded) -> tuple[np.ndarray, list[str]]:
    """Which joints have no torque in any row (n,), and what is said of them; those of simulations may have none."""
    zero = np.all(tau == 0.0, axis=0) & (not recorded.simulated)
    for joint in robot.moving:
        if joint.kind.name == "free":  # nothing drives a base that flies: zeros are wrenches
            zero[joint.v] = False
    names = [joint for joint, z in zip(robot.v_names, zero, strict=True) if z]
    if not names or zero.all():  # an error, later
        return zero, []
    return zero, [f"{recorded.name}: tau of {', '.join(names)} is 0 in all rows: taken as not recorded, and not used"]


def saturated(robot: Robot, tau: np.ndarray, name: str) -> list[str]:
    """What is said of torques that are often at their largest value: a limit of the drive."""
    joints = []
    for joint, column in zip(robot.v_names, np.abs(tau).T, strict=True):
        values, counts = np.unique(column, return_counts=True)
        if len(values) > ENOUGH and counts[-1] >= max(SATURATED * len(column), 5 * counts[-2]):
            joints.append(joint)
    if not joints:
        return []
    return [
        f"{name}: torques of {', '.join(joints)} are often at their largest value: where a drive is at its limit, what"
        " is recorded may not be what acts (expected a slower motion)"
    ]


def held_rows(q: np.ndarray, name: str) -> tuple[np.ndarray, list[str]]:
    """The rows in which positions were measured, all of them or those in which they change, and what is said of it."""
    every = np.arange(len(q))
    usual = held_for(q)
    if usual is None:
        return every, held_alone(q, name)
    changed = np.flatnonzero((np.diff(q, axis=0) != 0.0).any(axis=1)) + 1
    return changed, [f"{name}: q changes in one row in {usual:g} and is held between: those rows alone are taken"]


def held_alone(q: np.ndarray, name: str) -> list[str]:
    """What is said where single joints are logged more slowly than others."""
    columns = [str(j) for j in range(q.shape[1]) if held_for(q[:, [j]]) is not None]
    if not columns:
        return []
    return [
        f"{name}: q is held for several rows in columns {', '.join(columns)} alone: rates there are not those of the"
        " robot (expected rows in which all positions are new)"
    ]


def held(quantity: str, values: np.ndarray, name: str) -> list[str]:
    """What is said where values change in one row of several: a logger that is faster than what it logs."""
    usual = held_for(values)
    if usual is None:
        return []
    return [
        f"{name}: {quantity} changes in one row in {usual:g} and is held between: the table has more rows than were"
        " measured (expected those where it changes, with their times)"
    ]


def held_for(values: np.ndarray) -> float | None:
    """For how many rows values are held; None: they are not.

    Encoders repeat values too, in slow motions; these change by single steps of the encoder, at irregular times.
    """
    changes = np.diff(values, axis=0)
    changed = np.flatnonzero((changes != 0.0).any(axis=1))
    if len(changed) < ENOUGH:
        return None
    runs = np.diff(changed)
    usual = float(np.median(runs))
    if usual < 2.0 or np.mean(np.abs(runs - usual) <= 1.0) < REGULAR:
        return None
    sizes = np.abs(changes[changes != 0.0])
    return None if np.mean(sizes < 1.01 * sizes.min()) > 0.5 else usual  # single steps
