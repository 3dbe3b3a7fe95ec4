"""Motions of the joints in time, and the torques and loads along them."""

from .loads import Loads, Peaks, torque_along
from .profiles import JointMotion, Trajectory, cubic, cycloid, quintic, septic, trapezoid
from .splines import spline, trajectory_from_csv

__all__ = [
    "JointMotion",
    "Loads",
    "Peaks",
    "Trajectory",
    "cubic",
    "cycloid",
    "quintic",
    "septic",
    "spline",
    "torque_along",
    "trajectory_from_csv",
    "trapezoid",
]
