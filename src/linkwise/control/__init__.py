"""Torque functions for simulations: controllers, springs, torque limits, gears; sampled control; events."""

from ..api.contacts import contact_bounds
from ..api.kinematic_step import inverse_kinematics_step
from .controllers import computed_torque, diagonal_control, held, pd_gravity
from .drives import limited, springs, with_gears
from .events import joint_limits
from .sampled_laws import pid, sampled
from .task_space import impedance, operational_space

__all__ = [
    "computed_torque",
    "contact_bounds",
    "diagonal_control",
    "held",
    "impedance",
    "inverse_kinematics_step",
    "joint_limits",
    "limited",
    "operational_space",
    "pd_gravity",
    "pid",
    "sampled",
    "springs",
    "with_gears",
]


def __dir__() -> list[str]:
    return __all__  # without the modules that define them
