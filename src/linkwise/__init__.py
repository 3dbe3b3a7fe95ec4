"""Linkwise: robot dynamics, link by link.

Every algorithm is written once, as a plain Python function over generic scalars. The same text runs on NumPy, torch and
JAX arrays and on many-digit numbers, and counts its own operations.

>>> import linkwise as lw
>>> arm = lw.load("stanford")
>>> tau = lw.inverse_dynamics(arm, q=[0, 1.5, 0.1, 0, 0, 0], qd=[0] * 6, qdd=[0] * 6)
"""

from .edge import (
    BaseMotion,
    Compiled,
    base_parameters,
    bias_torque,
    compile,
    complement_matrices,
    constraint_wrenches,
    coriolis_matrix,
    denoc_matrices,
    forward_dynamics,
    gravity_torque,
    inertia_matrix,
    inverse_dynamics,
    inverse_inertia_matrix,
    jacobian,
    joint_wrenches,
    kinetic_energy,
    kinetic_gradient,
    mass_centres,
    mass_factor,
    mass_factor_rate,
    methods,
    normalized,
    operator_rates,
    operators,
    poses,
    potential_energy,
    udu,
    unnormalized,
    use_kernels,
)
from .errors import FileError, RobotError, SingularError
from .explain import Explanation, cite, explain
from .formats import LIBRARY, load, save
from .graph import Count, Program, evaluate, symbols
from .render import latex, python_source, sympy
from .robot import Frame, Joint, Link, Robot, chain, describe, random_tree
from .simulate import Friction, Recording, SimulationError, SimulationInterrupted, integrators, load_recording, simulate
from .source import CSource, c_source
from .trace import Derivative, Input, bind, count, derivative, symbols_of, trace
from .version import __version__ as __version__

__all__ = [
    "LIBRARY",
    "BaseMotion",
    "CSource",
    "Compiled",
    "Count",
    "Derivative",
    "Explanation",
    "FileError",
    "Frame",
    "Friction",
    "Input",
    "Joint",
    "Link",
    "Program",
    "Recording",
    "Robot",
    "RobotError",
    "SimulationError",
    "SimulationInterrupted",
    "SingularError",
    "base_parameters",
    "bias_torque",
    "bind",
    "c_source",
    "chain",
    "cite",
    "compile",
    "complement_matrices",
    "constraint_wrenches",
    "coriolis_matrix",
    "count",
    "denoc_matrices",
    "derivative",
    "describe",
    "evaluate",
    "explain",
    "forward_dynamics",
    "gravity_torque",
    "inertia_matrix",
    "integrators",
    "inverse_dynamics",
    "inverse_inertia_matrix",
    "jacobian",
    "joint_wrenches",
    "kinetic_energy",
    "kinetic_gradient",
    "latex",
    "load",
    "load_recording",
    "mass_centres",
    "mass_factor",
    "mass_factor_rate",
    "methods",
    "normalized",
    "operator_rates",
    "operators",
    "poses",
    "potential_energy",
    "python_source",
    "random_tree",
    "save",
    "simulate",
    "symbols",
    "symbols_of",
    "sympy",
    "trace",
    "udu",
    "unnormalized",
    "use_kernels",
]
