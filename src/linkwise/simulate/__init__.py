"""Motions in time: trajectories, and what they ask of a robot."""

from .loads import Loads, Peaks, torque_along
from .splines import spline, trajectory_from_csv
from .trajectories import JointMotion, Trajectory, cubic, cycloid, quintic, septic, trapezoid

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
