"""Verify that two robots are the same by comparing them on random states."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..api import functions, kinematics
from ..errors import RobotError
from ..robot import Robot
from ..robot.link import DRIVE
from ..robot.symbols import bind_unchecked, symbols_of
from ..spatial import Placement

STATES = 4
SLACK = 1e-9  # relative
SMALL = 1e-6  # of the largest torque: smaller ones are compared with fewer digits
torques, inertias, poses = (  # not through dispatch, which counts calls to decide when to compile
    vars(function)["plain"] for function in (functions.inverse_dynamics, functions.inertia_matrix, kinematics.poses)
)


def require_agreement(robot: Robot, other: Robot, offsets: Mapping[str, Placement], what: str) -> None:
    """Raise an error unless both robots have the same dynamics.

    `offsets` has the frames of `robot`, by name, in those of `other`. Coordinates are compared by name, in any order.
    """
    names = symbols_of(robot) if robot.symbolic else ()
    values = dict(zip(names, np.linspace(0.7, 1.3, len(names)).tolist(), strict=True))
    problem = first_difference(with_numbers(robot, values), with_numbers(other, values), offsets)
    if problem:
        raise RobotError(
            f"robot {robot.name!r}: {what} is not the same robot: {problem} (expected no difference beyond rounding;"
            " where axes are nearly parallel or lengths very different, digits are lost)"
        )


def first_difference(robot: Robot, other: Robot, offsets: Mapping[str, Placement]) -> str:
    """Return a text about the first difference; empty if there is none."""
    for a, b in ((robot.q_names, other.q_names), (robot.v_names, other.v_names)):
        if sorted(a) != sorted(b):
            odd = sorted(set(a) ^ set(b))
            return f"{odd[0]!r} is a coordinate of only one of them"
    if robot.gravity != other.gravity:
        return f"gravity is {other.gravity} for {robot.gravity}"
    drives, others = drive_entries(robot), drive_entries(other)
    for label, drive in drives.items():
        if others.get(label) != drive:
            return f"the drive of {label!r} has {others.get(label)} for {drive}"
    rng = np.random.default_rng(20)
    q, (qd, qdd) = rng.normal(size=(STATES, robot.nq)), rng.normal(size=(2, STATES, robot.nv))
    in_q = [robot.q_names.index(name) for name in other.q_names]
    in_v = [other.v_names.index(name) for name in robot.v_names]
    back = [robot.v_names.index(name) for name in other.v_names]
    mapped = q[:, in_q], qd[:, back], qdd[:, back]
    return (
        frame_difference(frames_of(robot, q), frames_of(other, mapped[0]), offsets)
        or array_difference("torques", robot, torques(robot, q, qd, qdd), torques(other, *mapped)[:, in_v])
        or array_difference("inertias", robot, inertias(robot, q), inertias(other, mapped[0])[:, in_v][:, :, in_v])
    )


def frame_difference(
    first: dict[str, np.ndarray], second: dict[str, np.ndarray], offsets: Mapping[str, Placement]
) -> str:
    poses = [*first.values(), *second.values()]
    size = max((float(np.abs(pose[:, :3, 3]).max(initial=0.0)) for pose in poses), default=0.0) or 1.0
    for name, pose in first.items():
        if name not in second:
            return f"the frame {name!r} is missing"
        far = pose_difference(pose, second[name] @ np.array(offsets[name].matrix(), dtype=float), size)
        if not far <= SLACK:
            return f"the frame {name!r} is off by {far:.1e}"
    return ""


def array_difference(what: str, robot: Robot, a: np.ndarray, b: np.ndarray) -> str:
    """Compare arrays (states, joints, ...)."""
    scale = np.maximum(np.abs(a).max(axis=0), max(SMALL * np.abs(a).max(initial=0.0), 1e-300))
    far = np.abs(a - b).max(axis=0) / scale
    far = far.max(axis=1) if far.ndim > 1 else far
    if (far <= SLACK).all():
        return ""
    worst = int(np.argmax(far))
    return f"the {what} of {robot.v_names[worst]!r} differ by {far[worst]:.1e} of their size"


def with_numbers(robot: Robot, values: Mapping[str, float]) -> Robot:
    """Bind the robot's symbols to numbers, and round numbers of many digits to floats."""
    if robot.symbolic:
        robot = bind_unchecked(robot, values)
    if robot.symbolic:
        raise RobotError(
            f"robot {robot.name!r} has symbols of another library (expected those of lw.symbols, or numbers)"
        )
    return robot.mapped(float) if robot.non_floats else robot


def drive_entries(robot: Robot) -> dict[str, tuple[Any, ...]]:
    """Rotor, friction, limits and ratings by degree of freedom."""
    drives = {}
    ratings = zip(robot.velocity_limits, robot.effort_limits, strict=True)
    for (link, slot), most in zip(robot.driving, ratings, strict=True):
        joint = link.joint
        numbers = (getattr(joint, name) for name in DRIVE)
        drives[robot.v_names[slot.v]] = (*numbers, joint.limits, *map(float, most))
    return drives


def frames_of(robot: Robot, q: np.ndarray) -> dict[str, np.ndarray]:
    """The pose of every named frame: (states, 4, 4)."""
    names = [*robot.names, *(frame.name for frame in robot.frames)]
    return dict(zip(names, np.moveaxis(poses(robot, q, frames=names), 1, 0), strict=True))


def pose_difference(a: np.ndarray, b: np.ndarray, size: float) -> float:
    """The largest difference of two poses: of rotation entries, and of positions relative to the size."""
    off = np.abs(a - b)
    return float(max(off[:, :3, :3].max(), off[:, :3, 3].max() / size))
