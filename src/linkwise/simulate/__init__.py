"""Motion in time: trajectories and what they ask of a robot, integrators, friction, recordings."""

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
    "cubic",
    "cycloid",
    "integrators",
    "joint_limits",
    "load_recording",
    "quintic",
    "septic",
    "simulate",
    "spline",
    "torque_along",
    "trajectory_from_csv",
    "trapezoid",
]
