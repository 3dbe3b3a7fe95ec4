"""Motion in time: integrators, friction, drives, controllers, recordings."""

from .control import computed_torque, diagonal_control, pd_gravity
from .drives import limited, springs, with_gears
from .friction import Friction
from .recording import Recording
from .simulation import SimulationError, SimulationInterrupted, simulate
from .tableaux import integrators

__all__ = [
    "Friction",
    "Recording",
    "SimulationError",
    "SimulationInterrupted",
    "computed_torque",
    "diagonal_control",
    "integrators",
    "limited",
    "pd_gravity",
    "simulate",
    "springs",
    "with_gears",
]
