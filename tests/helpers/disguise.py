"""The same robot in other clothes: other link frames, directions, zeros, base, order and names of joints."""

from collections.abc import Sequence
from typing import Any

import numpy as np

import linkwise as lw
from linkwise.comparison.skeleton import (
    FLIP,
    about_z,
    along_z,
    inverse,
    make_pose,
    mass_properties,
    matrix,
    skeleton_of,
    transform_body,
)


def rotation(rng: np.random.Generator) -> np.ndarray:
    q, r = np.linalg.qr(rng.normal(size=(3, 3)))
    q = q * np.sign(np.diag(r))
    return q if np.linalg.det(q) > 0 else q[:, [1, 0, 2]]


def disguised(
    robot: lw.Robot,
    seed: int = 0,
    *,
    frames: bool = True,
    flips: Sequence[int] = (),
    zeros: dict[int, float] | None = None,
    base: np.ndarray | None = None,
    order: Sequence[int] | None = None,
    names: Any = None,
    gravity: Any = None,
) -> lw.Robot:
    """A table of frames for the same robot: a row for each joint of one degree of freedom, ball or free joint.

    `base` is where the base of the new robot is, seen from the old one; its gravity is turned with it.
    """
    rng = np.random.default_rng(seed)
    old = skeleton_of(robot)
    zeros, X = zeros or {}, np.eye(4) if base is None else base
    T, rows = {-1: X}, {}
    for unit in old.units:
        T[unit.index] = own_frame(unit, rng, frames) @ (FLIP if unit.index in flips else np.eye(4))
        back = unit.motion(-zeros.get(unit.index, 0.0)) if unit.kind not in ("ball", "free") else np.eye(4)
        P = inverse(T[unit.parent]) @ unit.placement @ T[unit.index] @ back
        mass, com, inertia = mass_properties(transform_body(unit.body, inverse(T[unit.index])))
        name = unit.link if names is None else names(unit.index)
        parent = "base" if unit.parent < 0 else rows[unit.parent]["name"]
        rows[unit.index] = {
            "name": name,
            "parent": parent,
            "joint": unit.kind,
            "translation": P[:3, 3],
            "rotation": P[:3, :3],
            "mass": mass,
            "com": com,
            "inertia": inertia,
            "rotor_inertia": unit.joint.rotor_inertia,
            **unit.numbers,
        }
    g = X[:3, :3].T @ np.array(robot.gravity, dtype=float) if gravity is None else gravity
    table = [rows[k] for k in (order or range(len(rows)))]
    return lw.Robot.from_frames(table, gravity=g, name=f"{robot.name} disguised", unphysical="warn")


def own_frame(unit: Any, rng: np.random.Generator, frames: bool) -> np.ndarray:
    if not frames:
        return np.eye(4)
    if unit.kind == "ball":
        return make_pose(rotation(rng))
    if unit.kind == "free":
        return make_pose(rotation(rng), rng.normal(size=3) * 0.2)
    T = about_z(rng.uniform(-3, 3)) @ along_z(rng.normal() * 0.2)
    return make_pose(point=(*rng.normal(size=2) * 0.2, 0.0)) @ T if unit.kind == "prismatic" else T


__all__ = ["disguised", "make_pose", "matrix", "rotation"]
