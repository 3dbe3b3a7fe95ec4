"""The columns of regressors: which parameters they belong to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..regressors.parameters import Parameters, parameters
from ..regressors.regressors import energy_regressor, regressor, slotine_li_regressor
from ..robot import Robot

REGRESSORS = (regressor, slotine_li_regressor, energy_regressor)


def parameters_of(function: Callable[..., Any], arm: Robot, keywords: Mapping[str, Any]) -> Parameters | None:
    """What the results of the function are to be multiplied by, if it is a regressor."""
    if not any(function is known for known in REGRESSORS):
        return None
    return parameters(arm, keywords.get("friction", False), bool(keywords.get("base", False)))
