"""Identification of a robot's parameters: motions that excite them, least squares on what was measured."""

from ..regressors.regressors import energy_regressor, slotine_li_regressor
from .gains import drive_gains
from .identifiability import joint_inertias
from .iterating import next_motion
from .reading import measured_motion, read_log

__all__ = [
    "drive_gains",
    "energy_regressor",
    "joint_inertias",
    "measured_motion",
    "next_motion",
    "read_log",
    "slotine_li_regressor",
]


def __dir__() -> list[str]:
    return __all__  # not the modules that make them
