"""The matrices, operators and quasi-coordinates of the papers' formulations."""

from .api.matrices import (
    complement_matrices,
    denoc_matrices,
    kinetic_gradient,
    mass_factor,
    mass_factor_rate,
    operator_rates,
    operators,
    udu,
)
from .api.quasi import normalized, unnormalized

__all__ = [
    "complement_matrices",
    "denoc_matrices",
    "kinetic_gradient",
    "mass_factor",
    "mass_factor_rate",
    "normalized",
    "operator_rates",
    "operators",
    "udu",
    "unnormalized",
]
