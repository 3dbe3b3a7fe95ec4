"""The functions of a robot that can be counted, written as equations and exported, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import typer

from ..errors import one_of

FUNCTIONS = (
    "inverse_dynamics",
    "forward_dynamics",
    "inertia_matrix",
    "inverse_inertia_matrix",
    "coriolis_matrix",
    "gravity_torque",
    "bias_torque",
    "kinetic_energy",
    "potential_energy",
    "jacobian",
    "poses",
    "udu",
    "joint_wrenches",
    "centre_of_mass",
    "momentum",
)


def names(incomplete: str) -> list[str]:
    """For shells."""
    return [name for name in FUNCTIONS if name.startswith(incomplete)]


Function = typer.Argument(
    metavar="function",
    help="inverse_dynamics, forward_dynamics, inertia_matrix, coriolis_matrix, gravity_torque, ...",
    autocompletion=names,
    show_default=False,
)


def method_keywords(name: str, method: str | None) -> dict[str, Any]:
    """For functions that take a method: the one that was asked for."""
    from ..api.method_table import has_methods

    if method is not None and not has_methods(function_of(name)):
        raise ValueError(f"--method {method}: {name} is computed in one way (expected no method)")
    return {} if method is None else {"method": method}


def function_of(name: str) -> Callable[..., Any]:
    """A public function by its name; - and _ are the same."""
    from .. import api

    wanted = name.replace("-", "_")
    one_of(wanted, FUNCTIONS, "the function")
    function: Callable[..., Any] = getattr(api, wanted)
    return function
