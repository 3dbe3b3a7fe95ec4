"""Motions of the joints in time, and torques and loads along them."""

from .csv_reader import read_csv
from .pieces import JointMotion
from .profiles import cubic, cycloid, fourier, quintic, septic, spline, trapezoid
from .trajectory import Trajectory

__all__ = [
    "JointMotion",
    "Trajectory",
    "cubic",
    "cycloid",
    "fourier",
    "quintic",
    "read_csv",
    "septic",
    "spline",
    "trapezoid",
]


def __dir__() -> list[str]:
    return __all__  # without the modules that define them
