"""The public functions: arrays of any batch shape in, checked; arrays out."""

from .base import BaseMotion
from .functions import (
    bias_torque,
    forward_dynamics,
    gravity_torque,
    inertia_matrix,
    inverse_dynamics,
    jacobian,
    joint_wrenches,
    kinetic_energy,
    mass_centres,
    methods,
    poses,
    potential_energy,
    udu,
)
from .matrices import (
    Operators,
    complement_matrices,
    constraint_wrenches,
    coriolis_matrix,
    denoc_matrices,
    inverse_inertia_matrix,
    operators,
)
from .quasi import QuasiCoordinates, normalized, unnormalized

__all__ = [
    "BaseMotion",
    "Operators",
    "QuasiCoordinates",
    "bias_torque",
    "complement_matrices",
    "constraint_wrenches",
    "coriolis_matrix",
    "denoc_matrices",
    "forward_dynamics",
    "gravity_torque",
    "inertia_matrix",
    "inverse_dynamics",
    "inverse_inertia_matrix",
    "jacobian",
    "joint_wrenches",
    "kinetic_energy",
    "mass_centres",
    "methods",
    "normalized",
    "operators",
    "poses",
    "potential_energy",
    "udu",
    "unnormalized",
]
