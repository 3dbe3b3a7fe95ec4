"""The robots and states that the laws run over."""

from typing import Any

import numpy as np

import linkwise as lw

TEXTBOOK = [lw.load(name) for name in ("gantry", "planar3", "puma560", "stanford")]
FREE = [lw.load(name) for name in ("satellite", "quadruped", "humanoid", "ball_chain")]  # free bases, ball joints
KINDS = (
    *((1, "R"), (1, "P"), (2, "RP"), (2, "PR"), (3, "RRP"), (3, "PRP"), (3, "PPP"), (4, "RRPR"), (5, "R")),
    *((6, "RRPRPR"), (7, "R"), (8, "PRRRP"), (12, "RRP"), (20, "R"), (30, "RRRP")),
)
CHAINS = [lw.chain(n, seed=seed, joints=joints) for seed, (n, joints) in enumerate(KINDS)]
TREES = [lw.random_tree(n, seed=n) for n in (1, 2, 3, 4, 6, 9, 14, 22, 30)]


def with_drives(robot: lw.Robot, seed: int) -> lw.Robot:
    """The same robot with rotor inertias and gravity along no axis in particular."""
    rng = np.random.default_rng(seed)
    rows = [{**row, "rotor_inertia": float(rng.uniform(0.01, 0.5))} for row in robot.rows]
    gravity = rng.normal(size=3) * 5.0
    name = f"{robot.name}-driven"
    if robot.convention == "frames":
        return lw.Robot.from_frames(rows, gravity=gravity, name=name)
    return lw.Robot.from_dh(rows, convention=robot.convention, gravity=gravity, name=name)


DRIVEN = [with_drives(robot, seed) for seed, robot in enumerate((TEXTBOOK[3], CHAINS[4], CHAINS[9], TREES[4]))]
ALL = TEXTBOOK + CHAINS + TREES + DRIVEN
SMALL = [robot for robot in ALL if robot.n <= 9]
QUICK = [*TEXTBOOK[:2], TEXTBOOK[3], CHAINS[0], CHAINS[5], TREES[3], DRIVEN[1]]  # one of each sort


def pendulum(mass: Any) -> lw.Robot:
    """A body of this mass, which may be a symbol, on a rod."""
    row = {"joint": "revolute", "a": 0.7, "alpha": 0.0, "d": 0.0, "mass": mass, "com": (0.0, 0.0, 0.0)}
    rows = [{**row, "inertia": np.diag([0.01, 0.01, 0.01]).tolist()}]
    return lw.Robot.from_dh(rows, convention="standard", name="p", gravity=(0, -9.81, 0))


SLIDE = {"joint": "prismatic", "a": 0, "alpha": 0, "theta": 0, "mass": 2.0, "com": (0, 0, 0), "inertia": np.eye(3)}
CART = lw.Robot.from_dh([SLIDE], convention="standard", gravity=(0, 0, 0), name="cart")


def ids(robots: list[lw.Robot]) -> list[str]:
    return [robot.name for robot in robots]


def states(robot: lw.Robot, count: int = 3, seed: int = 0) -> tuple[np.ndarray, ...]:
    """q, qd, qdd, tau: arrays (count, n) of numbers about 1."""
    rng = np.random.default_rng([seed, robot.n])
    return tuple(rng.normal(size=(4, count, robot.n)))


def scalars(array: np.ndarray) -> list[Any]:
    """The components of an (..., n) array, as the functions of linkwise.dynamics take them."""
    return [array[..., i] for i in range(array.shape[-1])]


def relative(a: Any, b: Any) -> float:
    """The largest difference, relative to the largest number in sight; what is below 1e-6 counts as 1e-6."""
    a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    scale = max(np.abs(a).max(initial=0.0), np.abs(b).max(initial=0.0), 1e-6)
    return float(np.abs(a - b).max(initial=0.0) / scale)


def conditioned(robot: lw.Robot, q: np.ndarray) -> float:
    """2 κ(I) ε: how far two correct solutions with the inertia matrix may lie apart, relatively."""
    return float(2.0 * np.linalg.cond(lw.inertia_matrix(robot, q)).max() * np.finfo(float).eps)
