"""Principal moments and axes of an inertia tensor."""

from __future__ import annotations

import math

import numpy as np

from .orientation import Array, about

PRODUCTS = ((0, 1, 2), (0, 2, 1), (1, 2, 0))  # row, column, and the axis of the turn that takes the product away
NEGLECTED = 1e-7  # of the largest moment about the axes of the mesh


def principal(tensor: Array) -> tuple[Array, Array]:
    """The moments, and the rotation whose columns are the axes. Which axis comes first, and its sense, is arbitrary."""
    if not np.isfinite(tensor).all():
        return np.full(3, np.nan), np.eye(3)
    moments, axes = np.linalg.eigh(tensor)
    return moments, proper(axes)


def nearly_principal(tensor: Array) -> tuple[Array, Array]:
    """The same, largest moment first, as MuJoCo has it for meshes, whose vertices have seven digits: small products of
    inertia are taken as zero."""
    axes = np.eye(3)
    for _ in range(100):
        turned = axes.T @ tensor @ axes
        row, column, third = max(PRODUCTS, key=lambda p: abs(turned[p[0], p[1]]))
        product = turned[row, column]
        if not abs(product) > NEGLECTED * tensor.max():
            break
        difference = turned[row, row] - turned[column, column]
        angle = 0.5 * math.atan2(math.copysign(2.0, difference) * product, abs(difference))
        axes = axes @ about(np.eye(3)[third], -angle if third == 1 else angle)
    order = np.argsort(-np.diag(turned), kind="stable")
    return np.diag(turned)[order], proper(axes[:, order])


def proper(axes: Array) -> Array:
    """The axes, or with one of them in the other sense, so that they are a rotation."""
    return axes if np.linalg.det(axes) > 0.0 else axes * np.array([-1.0, 1.0, 1.0])
