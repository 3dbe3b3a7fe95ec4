"""The public functions: arrays of any batch shape in, checked; arrays out."""

from ..kernels.dispatch import use_kernels
from .base_motion import BaseMotion
from .base_parameters import base_parameters
from .closed_form_derivatives import (
    forward_dynamics_derivatives,
    forward_dynamics_second_derivatives,
    inverse_dynamics_derivatives,
    inverse_dynamics_second_derivatives,
)
from .compiling import compile, ptx_source
from .configuration import neutral, random_configuration
from .conventions import convert_force, convert_state
from .equilibria import Equilibrium, equilibrium
from .free_flying import base_wrench, floating_dynamics, generalized_jacobian
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
    poses,
    potential_energy,
    udu,
)
from .integration import configuration_rate, difference, integrate, normalize
from .linear_models import LinearModel, linearize
from .matrices import (
    complement_matrices,
    constraint_wrenches,
    coriolis_matrix,
    denoc_matrices,
    inverse_inertia_matrix,
    kinetic_gradient,
    mass_factor,
    mass_factor_rate,
    operator_rates,
    operators,
)
from .method_table import methods
from .momentum import centre_of_mass, momentum, momentum_bias, momentum_matrix, total_mass
from .quasi import normalized, unnormalized
from .webassembly import wasm, wasm_interface, wasm_robot

__all__ = [
    "BaseMotion",
    "Equilibrium",
    "LinearModel",
    "base_parameters",
    "base_wrench",
    "bias_torque",
    "centre_of_mass",
    "compile",
    "complement_matrices",
    "configuration_rate",
    "constraint_wrenches",
    "convert_force",
    "convert_state",
    "coriolis_matrix",
    "denoc_matrices",
    "difference",
    "equilibrium",
    "floating_dynamics",
    "forward_dynamics",
    "forward_dynamics_derivatives",
    "forward_dynamics_second_derivatives",
    "generalized_jacobian",
    "gravity_torque",
    "inertia_matrix",
    "integrate",
    "inverse_dynamics",
    "inverse_dynamics_derivatives",
    "inverse_dynamics_second_derivatives",
    "inverse_inertia_matrix",
    "jacobian",
    "joint_wrenches",
    "kinetic_energy",
    "kinetic_gradient",
    "linearize",
    "mass_centres",
    "mass_factor",
    "mass_factor_rate",
    "methods",
    "momentum",
    "momentum_bias",
    "momentum_matrix",
    "neutral",
    "normalize",
    "normalized",
    "operator_rates",
    "operators",
    "poses",
    "potential_energy",
    "ptx_source",
    "random_configuration",
    "total_mass",
    "udu",
    "unnormalized",
    "use_kernels",
    "wasm",
    "wasm_interface",
    "wasm_robot",
]
