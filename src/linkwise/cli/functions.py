"""The functions of a robot that can be counted, written as equations and exported, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import one_of
from .declare import arg

FUNCTIONS = (
    "inverse_dynamics", "budget", "forward_dynamics", "inertia_matrix", "inverse_inertia_matrix",
    "coriolis_matrix", "gravity_torque", "bias_torque", "kinetic_energy", "potential_energy", "regressor",
    "slotine_li_regressor", "energy_regressor", "jacobian", "poses", "udu", "joint_wrenches", "centre_of_mass",
    "momentum", "inverse_dynamics_derivatives", "forward_dynamics_derivatives",
    "inverse_dynamics_second_derivatives", "forward_dynamics_second_derivatives", "linearize",
    "momentum_matrix", "momentum_bias", "mass_centres", "mass_factor", "mass_factor_rate", "kinetic_gradient",
    "constraint_wrenches", "denoc_matrices", "complement_matrices", "operators", "operator_rates",
    "base_wrench", "floating_dynamics", "generalized_jacobian", "configuration_rate", "integrate", "difference",
    "normalize",
)  # fmt: skip


def names(incomplete: str) -> list[str]:
    """For shells."""
    return [name for name in FUNCTIONS if name.startswith(incomplete.replace("-", "_"))]


BY_NAME = "By its name in Python: inverse_dynamics, inertia_matrix, gravity_torque, forward_dynamics_derivatives, ..."
Function = arg("function", BY_NAME, names)


def method_keywords(name: str, method: str | None) -> dict[str, Any]:
    """For functions that take a method: the one that was asked for."""
    from ..api.method_table import has_methods

    if method is not None and not has_methods(function_of(name)):
        raise ValueError(f"--method {method}: {name} is computed in one way (expected no method)")
    return {} if method is None else {"method": method}


def function_of(name: str) -> Callable[..., Any]:
    """A public function by its name."""
    import linkwise as lw

    function: Callable[..., Any] = getattr(lw, known(name))
    return function


def known(name: str) -> str:
    """The name of a function; - and _ are the same."""
    wanted = name.replace("-", "_")
    one_of(wanted, FUNCTIONS, "the function")
    return wanted
