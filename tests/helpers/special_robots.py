"""Robots with many zeros, parallel and perpendicular axes, and gravity along an axis."""

import numpy as np

import linkwise as lw
from joint_kinds import NAME_OF
from linkwise.robot.kinds import KINDS
from linkwise.robot.random_robots import random_body

GRAVITIES = ((0, 0, -9.81), (0, 0, 0), (1.0, 2.0, -9.0), (0, -9.81, 0))
NOTHING = {"a": 0.0, "alpha": 0.0, "com": (0, 0, 0), "inertia": np.zeros((3, 3))}
WIRE = NOTHING | {"joint": "revolute", "b": 0.0, "alpha": "90 deg", "mass": 0.0}
BEAD = NOTHING | {"joint": "prismatic", "theta": 0.0, "mass": 2.0}
TURNS = (np.eye(3), np.eye(3), [[0, 0, 1], [1, 0, 0], [0, 1, 0]], [[1, 0, 0], [0, 0, -1], [0, 1, 0]])


def special(seed: int, letters: str) -> lw.Robot:
    """A chain or a tree with many zeros, parallel and perpendicular axes, equal pitches, and gravity along an axis."""
    rng, rows = np.random.default_rng(seed), []
    for k in range(int(rng.integers(1, 5))):
        joint = NAME_OF[str(rng.choice(list(letters)))]
        row = {"joint": joint, "translation": rng.choice([0, 0, 0, 0.3], 3).tolist(), **random_body(rng)}
        row["rotation"] = np.array(TURNS[int(rng.integers(4))]).tolist()
        for number in KINDS[joint].numbers:
            row[number] = float(rng.choice([0.2, 0.2, 0.1, 0.0 if joint == "screw" else 0.3]))
        if k:
            earlier = ["base", *(f"link{i + 1}" for i in range(k))]
            row["parent"] = str(rng.choice(earlier)) if seed % 3 == 0 else earlier[-1]
        rows.append(row)
    name = f"special-{seed}-{letters}"
    return lw.Robot.from_frames(rows, gravity=GRAVITIES[seed % 4], name=name)


def massless_tip() -> lw.Robot:
    """planar3 without a body on its last link: nothing resists its last joint."""
    rows = lw.load("planar3").rows
    rows[-1] |= {"mass": 0.0, "inertia": np.zeros((3, 3)), "com": (0, 0, 0)}
    return lw.Robot.from_dh(rows, convention="standard", name="light")


def sling(**bead: object) -> lw.Robot:
    """A bead on a wire without mass: singular where q[1] is 0."""
    return lw.Robot.from_dh([WIRE, BEAD | bead], convention="standard", name="sling")
