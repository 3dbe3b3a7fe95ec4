"""Linkwise: robot dynamics, link by link.

Every algorithm is written once, as a plain Python function over generic scalars. The same text runs on NumPy, torch and
JAX arrays and on many-digit numbers, and counts its own operations.

>>> import linkwise as lw
>>> arm = lw.load("stanford")
>>> tau = lw.inverse_dynamics(arm, q=[0, 1.5, 0.1, 0, 0, 0], qd=[0] * 6, qdd=[0] * 6)
"""

from .edge import (
    bias_torque,
    forward_dynamics,
    gravity_torque,
    inertia_matrix,
    inverse_dynamics,
    jacobian,
    joint_wrenches,
    kinetic_energy,
    methods,
    poses,
    potential_energy,
    udu,
)
from .errors import FileError, RobotError, SingularError
from .formats import LIBRARY, load, save
from .graph import Count, Program, evaluate
from .robot import Frame, Joint, Link, Robot, chain, describe, random_tree
from .trace import Input, count, trace

__version__ = "0.1.0"

__all__ = [
    "LIBRARY",
    "Count",
    "FileError",
    "Frame",
    "Input",
    "Joint",
    "Link",
    "Program",
    "Robot",
    "RobotError",
    "SingularError",
    "bias_torque",
    "chain",
    "count",
    "describe",
    "evaluate",
    "forward_dynamics",
    "gravity_torque",
    "inertia_matrix",
    "inverse_dynamics",
    "jacobian",
    "joint_wrenches",
    "kinetic_energy",
    "load",
    "methods",
    "poses",
    "potential_energy",
    "random_tree",
    "save",
    "trace",
    "udu",
]
