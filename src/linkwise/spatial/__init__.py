"""Vectors, rotations, placements, twists, wrenches and inertias over generic scalars. Knows no robots."""

from .inertia import ArticulatedInertia, RigidInertia
from .matrix import Matrix, Rotation, RotationProduct, Symmetric, cross_matrix, outer, turn_x, turn_z
from .placement import Placement
from .quaternion import (
    quaternion_exp,
    quaternion_product,
    quaternion_rate,
    rotation_of,
    turn_between,
    unit_quaternion,
)
from .scalar import Scalar, Scalars, add, cos, dot_product, is_zero, mul, reciprocal, sign, sin, sqrt, sub
from .turning import TurningMap, double_cross
from .twist_wrench import Twist, Wrench, cross_twist, cross_wrench, power
from .vector import Vector, cross, dot

__all__ = [
    "ArticulatedInertia",
    "Matrix",
    "Placement",
    "RigidInertia",
    "Rotation",
    "RotationProduct",
    "Scalar",
    "Scalars",
    "Symmetric",
    "TurningMap",
    "Twist",
    "Vector",
    "Wrench",
    "add",
    "cos",
    "cross",
    "cross_matrix",
    "cross_twist",
    "cross_wrench",
    "dot",
    "dot_product",
    "double_cross",
    "is_zero",
    "mul",
    "outer",
    "power",
    "quaternion_exp",
    "quaternion_product",
    "quaternion_rate",
    "reciprocal",
    "rotation_of",
    "sign",
    "sin",
    "sqrt",
    "sub",
    "turn_between",
    "turn_x",
    "turn_z",
    "unit_quaternion",
]
