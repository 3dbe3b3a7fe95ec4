"""Torque functions: controllers, springs, torque limits and gears."""

from .controllers import computed_torque, diagonal_control, pd_gravity
from .drives import limited, springs, with_gears

__all__ = ["computed_torque", "diagonal_control", "limited", "pd_gravity", "springs", "with_gears"]
