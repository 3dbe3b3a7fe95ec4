"""Motions of the joints in time, and the torques and loads along them."""

from .csv_reader import trajectory_from_csv
from .loads import Loads, Peaks, torque_along
from .pieces import JointMotion
from .profiles import cubic, cycloid, fourier, quintic, septic, spline, trapezoid
from .trajectory import Trajectory, held

__all__ = [
    "JointMotion",
    "Loads",
    "Peaks",
    "Trajectory",
    "cubic",
    "cycloid",
    "fourier",
    "held",
    "quintic",
    "septic",
    "spline",
    "torque_along",
    "trajectory_from_csv",
    "trapezoid",
]
