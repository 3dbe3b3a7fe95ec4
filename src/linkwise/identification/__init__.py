"""Identification of a robot's parameters: motions that excite them, least squares on what was measured."""

from ..regressors.regressors import energy_regressor, slotine_li_regressor
from .identifiability import joint_inertias
from .reading import measured_motion

__all__ = ["energy_regressor", "joint_inertias", "measured_motion", "slotine_li_regressor"]


def __dir__() -> list[str]:
    return __all__  # not the modules that make them
