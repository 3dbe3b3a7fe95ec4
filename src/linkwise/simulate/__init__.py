"""Motion in time: trajectories and what they ask of a robot; integrators, drives, controllers, recordings."""

from .control import computed_torque, diagonal_control, pd_gravity
from .drives import limited, springs, with_gears
from .events import Event, Happening, joint_limits
from .files import load_recording
from .friction import Friction
from .loads import Loads, Peaks, torque_along
from .recording import Recording
from .simulation import SimulationError, SimulationInterrupted, simulate
from .splines import spline, trajectory_from_csv
from .tableaux import integrators
from .trajectories import JointMotion, Trajectory, cubic, cycloid, quintic, septic, trapezoid

__all__ = [
    "Event",
    "Friction",
    "Happening",
    "JointMotion",
    "Loads",
    "Peaks",
    "Recording",
    "SimulationError",
    "SimulationInterrupted",
    "Trajectory",
    "computed_torque",
    "cubic",
    "cycloid",
    "diagonal_control",
    "integrators",
    "joint_limits",
    "limited",
    "load_recording",
    "pd_gravity",
    "quintic",
    "septic",
    "simulate",
    "spline",
    "springs",
    "torque_along",
    "trajectory_from_csv",
    "trapezoid",
    "with_gears",
]
