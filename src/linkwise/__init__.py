"""Linkwise: robot dynamics, link by link.

Every algorithm is written once, as a plain Python function over generic scalars. The same text runs on NumPy, torch and
JAX arrays and on many-digit numbers, and counts its own operations.

>>> import linkwise as lw
>>> arm = lw.load("stanford")
>>> tau = lw.inverse_dynamics(arm, q=[0, 1.5, 0.1, 0, 0, 0], qd=[0] * 6, qdd=[0] * 6)
"""

import numpy  # noqa: F401  first: its own import takes longer after ours (seen with CPython 3.11)

# isort: split
import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from . import api
from .api import *  # noqa: F403  what its `__all__` lists
from .api.derivatives import Derivative, JacobianVector, VectorJacobian, derivative, jvp, vjp
from .api.packing import Packed, packed
from .errors import EquilibriumError, FileError, RobotError, SingularError
from .formats import LIBRARY, load, save
from .graph import Count, Program, evaluate
from .kernels.lock import LOCK
from .robot import Frame, Friction, Joint, Link, Robot, chain, describe, random_tree
from .symbolic import symbols
from .trace import Input, bind, count, symbols_of, trace
from .version import __version__ as __version__

if TYPE_CHECKING:  # at run time these are imported when they are first used: see __getattr__
    from .compare import Comparison as Comparison
    from .compare import Finding as Finding
    from .compare import compare as compare
    from .control import computed_torque as computed_torque
    from .control import diagonal_control as diagonal_control
    from .control import limited as limited
    from .control import pd_gravity as pd_gravity
    from .control import springs as springs
    from .control import with_gears as with_gears
    from .drawing import Animation as Animation
    from .drawing import draw as draw  # type: ignore[no-redef]
    from .explain import Accuracy as Accuracy
    from .explain import Explanation as Explanation
    from .explain import accuracy as accuracy  # type: ignore[no-redef]
    from .explain import cite as cite
    from .explain import explain as explain
    from .export import CSource as CSource
    from .export import c_source as c_source  # type: ignore[no-redef]
    from .export import latex as latex
    from .export import python_source as python_source
    from .export import sympy as sympy
    from .formats.conversion import convert as convert
    from .formats.models import from_mujoco as from_mujoco
    from .formats.models import from_pinocchio as from_pinocchio
    from .kernels.compiler import Compiled as Compiled
    from .kernels.cuda.driver import CudaError as CudaError
    from .kernels.cuda.kernel import CudaKernel as CudaKernel
    from .ode.registry import integrators as integrators
    from .recording import EventRecord as EventRecord
    from .recording import Recording as Recording
    from .recording import load_recording as load_recording
    from .simulate import CompiledSimulation as CompiledSimulation
    from .simulate import Event as Event
    from .simulate import RolloutResult as RolloutResult
    from .simulate import SimulationError as SimulationError
    from .simulate import SimulationInterrupted as SimulationInterrupted
    from .simulate import compile_simulation as compile_simulation
    from .simulate import joint_limits as joint_limits
    from .simulate import rollout as rollout
    from .simulate import simulate as simulate
    from .simulate.webassembly import wasm_simulation as wasm_simulation
    from .sweep import Sweep as Sweep
    from .sweep import SweepInterrupted as SweepInterrupted
    from .sweep import SweepWarning as SweepWarning
    from .sweep import grid as grid
    from .sweep import monte_carlo as monte_carlo
    from .sweep import open_sweep as open_sweep
    from .sweep import sweep as sweep  # type: ignore[no-redef]
    from .trajectories import JointMotion as JointMotion
    from .trajectories import Loads as Loads
    from .trajectories import Trajectory as Trajectory
    from .trajectories import cubic as cubic
    from .trajectories import cycloid as cycloid
    from .trajectories import quintic as quintic
    from .trajectories import septic as septic
    from .trajectories import spline as spline
    from .trajectories import torque_along as torque_along
    from .trajectories import trajectory_from_csv as trajectory_from_csv
    from .trajectories import trapezoid as trapezoid

__all__ = [
    "LIBRARY",
    "Count",
    "Derivative",
    "EquilibriumError",
    "FileError",
    "Frame",
    "Friction",
    "Input",
    "JacobianVector",
    "Joint",
    "Link",
    "Packed",
    "Program",
    "Robot",
    "RobotError",
    "SingularError",
    "VectorJacobian",
    "bind",
    "chain",
    "count",
    "derivative",
    "describe",
    "evaluate",
    "jvp",
    "load",
    "packed",
    "random_tree",
    "save",
    "symbols",
    "symbols_of",
    "trace",
    "vjp",
]
__all__ += api.__all__
LAZY_IMPORTS = {  # packages that are imported when one of their names is first used
    "compare": ("Comparison", "Finding", "compare"),
    "control": (
        "computed_torque",
        "diagonal_control",
        "limited",
        "pd_gravity",
        "pid",
        "sampled",
        "springs",
        "with_gears",
    ),
    "drawing": ("Animation", "draw"),
    "explain": ("Accuracy", "Explanation", "accuracy", "cite", "explain"),
    "export": ("CSource", "c_source", "latex", "python_source", "sympy"),
    "formats.conversion": ("convert",),
    "formats.models": ("from_mujoco", "from_pinocchio"),
    "kernels.compiler": ("Compiled",),
    "kernels.cuda.driver": ("CudaError",),
    "kernels.cuda.kernel": ("CudaKernel",),
    "ode.registry": ("integrators",),
    "recording": ("EventRecord", "Recording", "load_recording"),
    "simulate": (
        "CompiledSimulation",
        "Event",
        "RolloutResult",
        "SimulationError",
        "SimulationInterrupted",
        "compile_simulation",
        "joint_limits",
        "rollout",
        "simulate",
    ),
    "simulate.webassembly": ("wasm_simulation",),
    "sweep": ("Sweep", "SweepInterrupted", "SweepWarning", "grid", "monte_carlo", "open_sweep", "sweep"),
    "trajectories": (
        "JointMotion",
        "Loads",
        "Trajectory",
        "cubic",
        "cycloid",
        "held",
        "quintic",
        "septic",
        "spline",
        "torque_along",
        "trajectory_from_csv",
        "trapezoid",
    ),
}
PACKAGE_OF = {name: package for package, names in LAZY_IMPORTS.items() for name in names}
__all__ += PACKAGE_OF


def __getattr__(name: str) -> Any:
    if name not in PACKAGE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with LOCK:  # which a fork waits for: its child must not find a module half loaded
        value = globals()[name] = getattr(import_module(f".{PACKAGE_OF[name]}", __name__), name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


class LazyModule(ModuleType):
    """Some functions have the name of a subpackage: `lw.simulate` stays the function when the package is imported."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (isinstance(value, ModuleType) and name in __all__):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = LazyModule
