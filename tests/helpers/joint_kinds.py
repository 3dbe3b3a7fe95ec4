"""Robots with joints of every kind and with coupled joints, their states, and differences along velocities."""

from collections.abc import Callable
from typing import Any

import numpy as np

import linkwise as lw
from linkwise.robot.kinds import KINDS
from robots import with_drives

NAME_OF = {kind.letter: kind.name for kind in KINDS.values()}
EVERY_KIND = "".join(NAME_OF)
FURTHER = "".join(sorted(set(EVERY_KIND) - set("RPHCUESF")))  # kinds that none of these robots is made for


def coupled(robot: lw.Robot, seed: int = 0) -> lw.Robot:
    """The same robot with every second of its joints of one degree of freedom coupled to the one before."""
    rng, rows, leader = np.random.default_rng(seed), robot.rows, ""
    for row in rows:
        if row["joint"] == "fixed" or KINDS[row["joint"]].degrees > 1:
            continue
        if leader:
            row |= {"coupled_to": leader, "ratio": float(rng.uniform(-2, 2)), "offset": float(rng.normal())}
        leader = "" if leader else row["name"]
    assert any("coupled_to" in row for row in rows)
    if robot.convention == "frames":
        return lw.Robot.from_frames(rows, gravity=robot.gravity, name=f"{robot.name}-coupled")
    return lw.Robot.from_dh(rows, convention=robot.convention, gravity=robot.gravity, name=f"{robot.name}-coupled")


def jointed(n: int, seed: int, joints: str = EVERY_KIND, gravity: Any = None) -> lw.Robot:
    """A random tree of n joints, of kinds drawn from `joints`, in depth-first order."""
    rng = np.random.default_rng([seed, n])
    drawn = "".join(rng.choice(list(joints), size=n))
    rows = lw.random_tree(n, seed=seed, joints=drawn).rows
    order, waiting = [], [row for row in reversed(rows) if row["parent"] == "base"]
    while waiting:
        order.append(waiting.pop())
        waiting += [row for row in reversed(rows) if row["parent"] == order[-1]["name"]]
    gravity = rng.normal(size=3) * 5.0 if gravity is None else gravity
    return lw.Robot.from_frames(order, gravity=gravity, name=f"jointed-{n}-{seed}")


TREE = lw.random_tree(9 + len(FURTHER), seed=3, joints=f"RSPFUECHR{FURTHER}")
SECOND = lw.random_tree(8, seed=5, joints="HFRESCUP")
CHAIN = lw.chain(5, seed=2, joints="FSRHE")
ARM = lw.chain(3, seed=7).with_free_base(4.0, (0.1, -0.2, 0.3), [[0.5, 0, 0], [0, 0.6, 0.1], [0, 0.1, 0.7]])
COUPLED = coupled(lw.random_tree(8, seed=11, joints="RPSRHERU"))
BALL = lw.chain(2, seed=1, joints="SR")
SCREWS = with_drives(coupled(lw.random_tree(5, seed=8, joints="RSHPR")), 3)  # of every kind, coupled ones and rotors
EVERY = [TREE, SECOND, CHAIN, ARM, COUPLED]


def states(robot: lw.Robot, *batch: int, seed: int = 0) -> tuple[np.ndarray, ...]:
    """q, whose quaternions have any length, and qd, qdd, tau."""
    rng = np.random.default_rng([seed, robot.nq])
    return rng.normal(size=(*batch, robot.nq)), *rng.normal(size=(3, *batch, robot.nv))


def slopes(robot: lw.Robot, function: Callable[..., Any], q: np.ndarray, step: float = 1e-6) -> np.ndarray:
    """Central differences along each velocity of a function that takes batches, q being one state: (..., n)."""
    ahead, behind = (function(lw.integrate(robot, q, sign * step * np.eye(robot.n))) for sign in (1.0, -1.0))
    return np.moveaxis((ahead - behind) / (2 * step), 0, -1)
