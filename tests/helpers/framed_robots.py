"""Robots with frames: a mount on the base and tools on links, by the names of frames and of their joints."""

import numpy as np

import linkwise as lw
from linkwise.robot.model import from_table

BODY = {"mass": 0.3, "com": (0.1, 0.0, 0.2), "inertia": 0.1 * np.eye(3)}
TURN = np.linalg.qr(np.random.default_rng(7).normal(size=(3, 3)))[0]


def with_tools(robot: lw.Robot) -> lw.Robot:
    """With a frame on the base, and a tool on the last link; the names of their fixed joints are others."""
    rows, frames = robot.rows, robot.convention == "frames"
    placed = {"translation": (0.3, -0.1, 0.2), "rotation": TURN * np.linalg.det(TURN)}
    place = placed if frames else {"a": 0.3, "b": -0.1, "alpha": 0.4, "theta": 0.7}
    rows.append({"name": "mount", "parent": "", "joint": "fixed", "joint_name": "mounting", **place})
    rows.append({"name": "tool", "parent": robot.names[-1], "joint": "fixed", "joint_name": "grip", **place, **BODY})
    return from_table(rows, robot.convention, robot.gravity, robot.name)


def motions(robot: lw.Robot, *batch: int, seed: int = 0) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng([seed, robot.nq])
    return lw.random_configuration(robot, rng, batch), *rng.normal(size=(2, *batch, robot.n))
