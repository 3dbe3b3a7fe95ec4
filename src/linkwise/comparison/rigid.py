"""Placements and bodies as 4 x 4 arrays of numbers.

A body is its pseudo-inertia Σ = ∫ (x, 1)(x, 1)ᵀ dm: mass, first moments and second moments. Transformed by T it is
T Σ Tᵀ. Pseudo-inertias of bodies that move together add up.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..spatial import Placement

Array = np.ndarray
FLIP = np.diag([1.0, -1.0, -1.0, 1.0])  # half a turn about x
EYE = np.eye(4)
EYE.flags.writeable = FLIP.flags.writeable = False


def matrix(placement: Placement) -> Array:
    return np.array([[float(x) for x in row] for row in placement.matrix()])


def make_pose(rotation: Any = None, point: Any = None) -> Array:
    T = np.eye(4)
    if rotation is not None:
        T[:3, :3] = rotation
    if point is not None:
        T[:3, 3] = point
    return T


def inverse(T: Array) -> Array:
    R = T[:3, :3].T
    return make_pose(R, -R @ T[:3, 3])


def pose_difference(T: Array, U: Array, size: float) -> float:
    """The largest difference of two placements: of rotation entries, and of positions relative to a length."""
    return float(max(np.abs(T[:3, :3] - U[:3, :3]).max(), np.abs(T[:3, 3] - U[:3, 3]).max() / size))


def about_z(angle: float) -> Array:
    c, s = np.cos(angle), np.sin(angle)
    return make_pose([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def along_z(distance: float) -> Array:
    return make_pose(point=(0.0, 0.0, distance))


def angle_of(R: Array) -> float:
    """The angle of a rotation; accurate also for small angles."""
    R = R[:3, :3]
    axis = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    return float(np.arctan2(np.linalg.norm(axis) / 2.0, (np.trace(R) - 1.0) / 2.0))


def axis_of(R: Array) -> Array:
    """The unit axis of a rotation."""
    R = R[:3, :3]
    values, vectors = np.linalg.eig(R)
    axis = np.real(vectors[:, np.argmin(np.abs(values - 1.0))])
    turn = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    return np.asarray(axis if axis @ turn >= 0.0 else -axis)


def shortest_turn(source: Array, target: Array) -> Array:
    """The rotation of least angle that maps one direction to another."""
    a, b = source / np.linalg.norm(source), target / np.linalg.norm(target)
    v, c = np.cross(a, b), float(a @ b)
    if c < -1.0 + 1e-12:  # half a turn, about any axis across
        across = np.eye(3)[np.argmin(np.abs(a))]
        across = across - a * (a @ across)
        across /= np.linalg.norm(across)
        return 2.0 * np.outer(across, across) - np.eye(3)
    K = np.array([[0.0, -v[2], v[1]], [v[2], 0.0, -v[0]], [-v[1], v[0], 0.0]])
    return np.asarray(np.eye(3) + K + K @ K / (1.0 + c))


def nearest_rotation(R: Array) -> Array:
    U, _, V = np.linalg.svd(R)
    return np.asarray(U @ np.diag([1.0, 1.0, np.sign(np.linalg.det(U @ V))]) @ V)


def pseudo_inertia(mass: float, com: Any, inertia: Any) -> Array:
    """The pseudo-inertia of mass, mass centre and tensor about the mass centre."""
    c, inertia = np.asarray(com, dtype=float), np.asarray(inertia, dtype=float)
    S = np.zeros((4, 4))
    S[:3, :3] = np.trace(inertia) / 2.0 * np.eye(3) - inertia + mass * np.outer(c, c)
    S[:3, 3] = S[3, :3] = mass * c
    S[3, 3] = mass
    return S


def mass_properties(body: Array) -> tuple[float, Array, Array]:
    """Mass, mass centre (the origin if there is no mass) and tensor about it."""
    mass = float(body[3, 3])
    com = body[:3, 3] / mass if mass else np.zeros(3)
    second = body[:3, :3] - mass * np.outer(com, com)
    return mass, com, np.asarray(np.trace(second) * np.eye(3) - second)


def transform_body(body: Array, T: Array) -> Array:
    return np.asarray(T @ body @ T.T)


def parallel_axis_term(mass: float, com: Array) -> Array:
    """The tensor about the origin minus that about the mass centre."""
    return np.asarray(mass * (com @ com * np.eye(3) - np.outer(com, com)))
