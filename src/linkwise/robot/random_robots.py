"""Random robots for studies: generic, physically consistent, reproducible by their seed."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import RobotError, is_integer
from .kinds import KINDS
from .model import Robot


def chain(n: int, *, seed: int = 0, joints: str = "R") -> Robot:
    """A random serial arm: all constants of its DH table, mass centres and inertias are non-zero.

    Parameters
    ----------
    n : int
        Number of joints.
    seed : int, optional
    joints : str, optional
        Kinds of joints, repeated as needed: R revolute, P prismatic, H screw, C cylindrical, U universal, E planar,
        S ball, F free. "RRP": every third joint is prismatic.

    Returns
    -------
    Robot

    Examples
    --------
    >>> import linkwise as lw
    >>> lw.chain(7, seed=1, joints="RRP").joints
    'RRPRRPR'
    """
    kinds = joint_kinds(n, joints)
    rng = np.random.default_rng(seed)
    rows = []
    for kind in kinds:
        a, b = (float(rng.choice((-1, 1)) * rng.uniform(0.1, 0.4)) for _ in range(2))
        alpha, theta = (float(rng.choice((-1, 1)) * rng.uniform(0.3, 1.3)) for _ in range(2))
        row = {"joint": kind, "a": a, "alpha": alpha, "b": b, "theta": theta, **joint_numbers(kind, rng)}
        rows.append({**row, **dict.fromkeys(KINDS[kind].dh_variables, 0.0), **random_body(rng)})
    return Robot.from_dh(rows, convention="standard", name=f"chain-{n}-{seed}-{joints}")


def random_tree(n: int, *, seed: int = 0, joints: str | None = None) -> Robot:
    """A random tree: each link is on a random earlier link or the base, with random joint frames.

    Parameters
    ----------
    n : int
        Number of joints.
    seed : int, optional
    joints : str, optional
        As for `chain`; by default random revolute and prismatic joints.

    Returns
    -------
    Robot

    Examples
    --------
    >>> import linkwise as lw
    >>> lw.random_tree(5, seed=3).n
    5
    """
    rng = np.random.default_rng(seed)
    if joints is None:
        joints = "".join(rng.choice(list("RP"), size=check_count(n)))
    rows: list[dict[str, Any]] = []
    for index, kind in enumerate(joint_kinds(n, joints)):
        parent = int(rng.integers(-1, index)) if index else -1
        direction = rng.normal(size=3)
        rows.append(
            {
                "joint": kind,
                "parent": f"link{parent + 1}" if parent >= 0 else "base",
                "translation": rng.uniform(-0.4, 0.4, 3).tolist(),
                "rotation": random_rotation(rng).tolist(),
                **({"axis": (direction / np.linalg.norm(direction)).tolist()} if KINDS[kind].axis else {}),
                **joint_numbers(kind, rng),
                **random_body(rng),
            }
        )
    return Robot.from_frames(rows, name=f"tree-{n}-{seed}")


def check_count(n: int) -> int:
    if not is_integer(n) or n < 1:
        raise RobotError(f"n is {n!r} (expected a whole number of links, at least 1)")
    return n


def joint_kinds(n: int, joints: str) -> list[str]:
    names = {kind.letter: kind.name for kind in KINDS.values()}
    if not isinstance(joints, str) or not joints or set(joints) - set(names):
        letters = ", ".join(f"{letter} {name}" for letter, name in names.items())
        raise RobotError(f"joints is {joints!r} (expected a text such as 'RRP', of the letters {letters})")
    return [names[joints[i % len(joints)]] for i in range(check_count(n))]


def joint_numbers(kind: str, rng: np.random.Generator) -> dict[str, float]:
    """Entries of some kinds alone, such as the pitch of a screw."""
    return {name: float(rng.uniform(0.05, 0.3)) for name in KINDS[kind].numbers}


def random_body(rng: np.random.Generator) -> dict[str, Any]:
    """A mass, its centre, and the tensor of a randomly rotated ellipsoid."""
    mass = float(rng.uniform(0.5, 3.0))
    semi_axes = rng.uniform(0.05, 0.2, 3) ** 2
    turn = random_rotation(rng)
    tensor = turn @ np.diag(mass / 5.0 * (semi_axes.sum() - semi_axes)) @ turn.T
    com = rng.choice((-1, 1), 3) * rng.uniform(0.02, 0.15, 3)
    return {"mass": mass, "com": com.tolist(), "inertia": ((tensor + tensor.T) / 2.0).tolist()}


def random_rotation(rng: np.random.Generator) -> np.ndarray:
    q, r = np.linalg.qr(rng.normal(size=(3, 3)))
    q = q * np.sign(np.diag(r))
    return np.asarray(q * np.linalg.det(q))
