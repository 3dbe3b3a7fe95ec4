"""Torque functions: controllers, sampled control, springs, torque limits and gears."""

from .controllers import computed_torque, diagonal_control, pd_gravity
from .drives import limited, springs, with_gears
from .sampled_laws import Sampled, pid, sampled

__all__ = [
    "Sampled",
    "computed_torque",
    "diagonal_control",
    "limited",
    "pd_gravity",
    "pid",
    "sampled",
    "springs",
    "with_gears",
]
