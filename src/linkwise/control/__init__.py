"""Torque functions for simulations: controllers, springs, torque limits, gears; sampled control; events."""

from ..api.contacts import contact_bounds
from .controllers import computed_torque, diagonal_control, held, pd_gravity
from .drives import limited, springs, with_gears
from .events import joint_limits
from .sampled_laws import pid, sampled

__all__ = [
    "computed_torque",
    "contact_bounds",
    "diagonal_control",
    "held",
    "joint_limits",
    "limited",
    "pd_gravity",
    "pid",
    "sampled",
    "springs",
    "with_gears",
]


def __dir__() -> list[str]:
    return __all__  # not the modules that make them
