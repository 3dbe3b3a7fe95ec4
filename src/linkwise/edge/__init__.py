"""The public functions: arrays of any batch shape in, checked; arrays out."""

from .functions import (
    bias_torque,
    forward_dynamics,
    gravity_torque,
    inertia_matrix,
    inverse_dynamics,
    jacobian,
    joint_wrenches,
    kinetic_energy,
    methods,
    poses,
    potential_energy,
    udu,
)

__all__ = [
    "bias_torque",
    "forward_dynamics",
    "gravity_torque",
    "inertia_matrix",
    "inverse_dynamics",
    "jacobian",
    "joint_wrenches",
    "kinetic_energy",
    "methods",
    "poses",
    "potential_energy",
    "udu",
]
