"""Linkwise: robot dynamics, link by link.

Every algorithm is written once, as a plain Python function over generic scalars. The same text runs on NumPy, torch and
JAX arrays and on many-digit numbers, and counts its own operations.

>>> import linkwise as lw
>>> arm = lw.load("stanford")
>>> tau = lw.inverse_dynamics(arm, q=[0, 1.5, 0.1, 0, 0, 0], qd=[0] * 6, qdd=[0] * 6)
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from .api import (
    BaseMotion,
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
from .api.derivatives import Derivative, derivative
from .errors import FileError, RobotError, SingularError
from .formats import LIBRARY, load, save
from .graph import Count, Program, evaluate
from .kernels.lock import LOCK
from .robot import Frame, Friction, Joint, Link, Robot, chain, describe, random_tree
from .symbolic import symbols
from .trace import Input, bind, count, symbols_of, trace
from .version import __version__ as __version__

if TYPE_CHECKING:  # at run time these come when they are asked for: see __getattr__
    from .control import computed_torque, diagonal_control, limited, pd_gravity, springs, with_gears
    from .explain import Accuracy, Explanation, accuracy, cite, explain  # type: ignore[no-redef]
    from .export import CSource, c_source, latex, python_source, sympy  # type: ignore[no-redef]
    from .kernels.compiler import Compiled
    from .ode.registry import integrators
    from .recording import EventRecord, Recording, load_recording
    from .simulate import (
        CompiledSimulation,
        Event,
        SimulationError,
        SimulationInterrupted,
        compile_simulation,
        joint_limits,
        simulate,
    )
    from .sweep import Sweep, SweepInterrupted, SweepWarning, grid, monte_carlo, open_sweep, sweep  # type: ignore[no-redef]
    from .trajectories import (
        JointMotion,
        Loads,
        Trajectory,
        cubic,
        cycloid,
        quintic,
        septic,
        spline,
        torque_along,
        trajectory_from_csv,
        trapezoid,
    )

__all__ = [
    "LIBRARY",
    "Accuracy",
    "BaseMotion",
    "CSource",
    "Compiled",
    "CompiledSimulation",
    "Count",
    "Derivative",
    "Event",
    "EventRecord",
    "Explanation",
    "FileError",
    "Frame",
    "Friction",
    "Input",
    "Joint",
    "JointMotion",
    "Link",
    "Loads",
    "Program",
    "Recording",
    "Robot",
    "RobotError",
    "SimulationError",
    "SimulationInterrupted",
    "SingularError",
    "Sweep",
    "SweepInterrupted",
    "SweepWarning",
    "Trajectory",
    "accuracy",
    "base_parameters",
    "bias_torque",
    "bind",
    "c_source",
    "chain",
    "cite",
    "compile",
    "compile_simulation",
    "complement_matrices",
    "computed_torque",
    "constraint_wrenches",
    "coriolis_matrix",
    "count",
    "cubic",
    "cycloid",
    "denoc_matrices",
    "derivative",
    "describe",
    "diagonal_control",
    "evaluate",
    "explain",
    "forward_dynamics",
    "gravity_torque",
    "grid",
    "inertia_matrix",
    "integrators",
    "inverse_dynamics",
    "inverse_inertia_matrix",
    "jacobian",
    "joint_limits",
    "joint_wrenches",
    "kinetic_energy",
    "kinetic_gradient",
    "latex",
    "limited",
    "load",
    "load_recording",
    "mass_centres",
    "mass_factor",
    "mass_factor_rate",
    "methods",
    "monte_carlo",
    "normalized",
    "open_sweep",
    "operator_rates",
    "operators",
    "pd_gravity",
    "poses",
    "potential_energy",
    "python_source",
    "quintic",
    "random_tree",
    "save",
    "septic",
    "simulate",
    "spline",
    "springs",
    "sweep",
    "symbols",
    "symbols_of",
    "sympy",
    "torque_along",
    "trace",
    "trajectory_from_csv",
    "trapezoid",
    "udu",
    "unnormalized",
    "use_kernels",
    "with_gears",
]

LATE = {  # rooms that are not entered before one of their names is asked for
    "control": ("computed_torque", "diagonal_control", "limited", "pd_gravity", "springs", "with_gears"),
    "explain": ("Accuracy", "Explanation", "accuracy", "cite", "explain"),
    "export": ("CSource", "c_source", "latex", "python_source", "sympy"),
    "kernels.compiler": ("Compiled",),
    "ode.registry": ("integrators",),
    "recording": ("EventRecord", "Recording", "load_recording"),
    "simulate": (
        "CompiledSimulation",
        "Event",
        "SimulationError",
        "SimulationInterrupted",
        "compile_simulation",
        "joint_limits",
        "simulate",
    ),
    "sweep": ("Sweep", "SweepInterrupted", "SweepWarning", "grid", "monte_carlo", "open_sweep", "sweep"),
    "trajectories": (
        "JointMotion",
        "Loads",
        "Trajectory",
        "cubic",
        "cycloid",
        "quintic",
        "septic",
        "spline",
        "torque_along",
        "trajectory_from_csv",
        "trapezoid",
    ),
}
ROOM_OF = {name: room for room, names in LATE.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in ROOM_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with LOCK:  # which a fork waits for: its child must not find a module half loaded
        value = globals()[name] = getattr(import_module(f".{ROOM_OF[name]}", __name__), name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


class House(ModuleType):
    """Some functions are called as the room they live in: `lw.simulate` is the function, whatever is imported when."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (isinstance(value, ModuleType) and name in __all__):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = House
