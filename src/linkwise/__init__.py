"""Linkwise: robot dynamics, link by link.

Every algorithm is written once, as a plain Python function over generic scalars. The same text runs on NumPy, torch and
JAX arrays and on many-digit numbers, and counts its own operations.

>>> import linkwise as lw
>>> arm = lw.load("stanford")
>>> tau = lw.inverse_dynamics(arm, q=[0, 1.5, 0.1, 0, 0, 0], qd=[0] * 6, qdd=[0] * 6)
"""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from .kernels.lock import LOCK
from .version import __version__ as __version__

if TYPE_CHECKING:  # at run time each of these is imported when it is first used: see LAZY_IMPORTS
    from . import control as control
    from . import derivatives as derivatives
    from . import errors as errors
    from . import formulations as formulations
    from . import graph as graph
    from . import identification as identification
    from . import results as results
    from . import sweeps as sweeps
    from . import trajectories as trajectories
    from .api.budgets.budget import budget as budget
    from .api.call import BaseMotion as BaseMotion
    from .api.compiling import compile as compile
    from .api.compiling import ptx_source as ptx_source
    from .api.compiling import wasm as wasm
    from .api.constrained import constrained_dynamics as constrained_dynamics
    from .api.constrained import impact as impact
    from .api.constrained import task_inertia as task_inertia
    from .api.functions import bias_torque as bias_torque
    from .api.functions import forward_dynamics as forward_dynamics
    from .api.functions import gravity_torque as gravity_torque
    from .api.functions import inertia_matrix as inertia_matrix
    from .api.functions import inverse_dynamics as inverse_dynamics
    from .api.functions import joint_wrenches as joint_wrenches
    from .api.functions import kinetic_energy as kinetic_energy
    from .api.functions import potential_energy as potential_energy
    from .api.inverse_kinematics import inverse_kinematics as inverse_kinematics
    from .api.kinematics import configuration_rate as configuration_rate
    from .api.kinematics import difference as difference
    from .api.kinematics import integrate as integrate
    from .api.kinematics import jacobian as jacobian
    from .api.kinematics import jacobian_rate as jacobian_rate
    from .api.kinematics import mass_centres as mass_centres
    from .api.kinematics import normalize as normalize
    from .api.kinematics import poses as poses
    from .api.matrices import constraint_wrenches as constraint_wrenches
    from .api.matrices import coriolis_matrix as coriolis_matrix
    from .api.matrices import inverse_inertia_matrix as inverse_inertia_matrix
    from .api.method_table import methods as methods
    from .api.momentum import base_wrench as base_wrench
    from .api.momentum import centre_of_mass as centre_of_mass
    from .api.momentum import floating_dynamics as floating_dynamics
    from .api.momentum import generalized_jacobian as generalized_jacobian
    from .api.momentum import momentum as momentum
    from .api.momentum import momentum_bias as momentum_bias
    from .api.momentum import momentum_matrix as momentum_matrix
    from .api.momentum import total_mass as total_mass
    from .api.references import cite as cite
    from .comparison import compare as compare
    from .control.events import Event as Event
    from .derivatives.closed_form_derivatives import curvature as curvature
    from .derivatives.closed_form_derivatives import forward_dynamics_derivatives as forward_dynamics_derivatives
    from .derivatives.closed_form_derivatives import (
        forward_dynamics_second_derivatives as forward_dynamics_second_derivatives,
    )
    from .derivatives.closed_form_derivatives import inverse_dynamics_derivatives as inverse_dynamics_derivatives
    from .derivatives.closed_form_derivatives import (
        inverse_dynamics_second_derivatives as inverse_dynamics_second_derivatives,
    )
    from .derivatives.equilibria import equilibrium as equilibrium
    from .derivatives.graph_derivatives import derivative as derivative
    from .derivatives.graph_derivatives import jvp as jvp
    from .derivatives.graph_derivatives import vjp as vjp
    from .derivatives.linear_models import linearize as linearize
    from .drawing import draw as draw
    from .explanation import accuracy as accuracy
    from .explanation import explain as explain
    from .export import c_source as c_source
    from .export import equations_of_motion as equations_of_motion
    from .export import latex as latex
    from .export import python_source as python_source
    from .export import sympy as sympy
    from .formats import LIBRARY as LIBRARY
    from .formats import load as load
    from .formats import save as save
    from .formats.conventions import convert_force as convert_force
    from .formats.conventions import convert_state as convert_state
    from .formats.conversion import convert as convert
    from .formats.mujoco_model import from_mujoco as from_mujoco
    from .formats.pinocchio_model import from_pinocchio as from_pinocchio
    from .identification.exciting_motions import excitation as excitation
    from .identification.fitting import identify as identify
    from .kernels.dispatch import use_kernels as use_kernels
    from .recording import Recording as Recording
    from .recording import load_recording as load_recording
    from .regressors.base_parameters import base_parameters as base_parameters
    from .regressors.parameters import parameters as parameters
    from .regressors.regressors import regressor as regressor
    from .robot import Frame as Frame
    from .robot import Friction as Friction
    from .robot import Joint as Joint
    from .robot import Link as Link
    from .robot import Robot as Robot
    from .robot import chain as chain
    from .robot import describe as describe
    from .robot import random_tree as random_tree
    from .robot.configurations import neutral as neutral
    from .robot.configurations import random_configuration as random_configuration
    from .robot.symbols import bind as bind
    from .robot.symbols import symbols_of as symbols_of
    from .simulation import per_trajectory as per_trajectory
    from .simulation import rollout as rollout
    from .simulation import simulate as simulate
    from .sweeps.sweeping import sweep as sweep
    from .symbolic import symbols as symbols
    from .tracing import Input as Input
    from .tracing import count as count
    from .tracing import trace as trace
    from .trajectories.loads import torque_along as torque_along

LAZY_IMPORTS = {  # the public names, by the modules that are imported when one of them is first used
    module: tuple(names.split())
    for module, names in {
        "api.budgets.budget": "budget",
        "api.call": "BaseMotion",
        "api.compiling": "compile ptx_source wasm",
        "api.constrained": "constrained_dynamics impact task_inertia",
        "api.functions": (
            "bias_torque forward_dynamics gravity_torque inertia_matrix inverse_dynamics joint_wrenches "
            "kinetic_energy potential_energy"
        ),
        "api.inverse_kinematics": "inverse_kinematics",
        "api.kinematics": (
            "configuration_rate difference integrate jacobian jacobian_rate mass_centres normalize poses"
        ),
        "api.matrices": "constraint_wrenches coriolis_matrix inverse_inertia_matrix",
        "api.method_table": "methods",
        "api.momentum": (
            "base_wrench centre_of_mass floating_dynamics generalized_jacobian momentum momentum_bias "
            "momentum_matrix total_mass"
        ),
        "api.references": "cite",
        "comparison": "compare",
        "control.events": "Event",
        "derivatives.closed_form_derivatives": (
            "curvature forward_dynamics_derivatives forward_dynamics_second_derivatives inverse_dynamics_derivatives "
            "inverse_dynamics_second_derivatives"
        ),
        "derivatives.equilibria": "equilibrium",
        "derivatives.graph_derivatives": "derivative jvp vjp",
        "derivatives.linear_models": "linearize",
        "drawing": "draw",
        "explanation": "accuracy explain",
        "export": "c_source equations_of_motion latex python_source sympy",
        "formats": "LIBRARY load save",
        "formats.conventions": "convert_force convert_state",
        "formats.conversion": "convert",
        "formats.mujoco_model": "from_mujoco",
        "formats.pinocchio_model": "from_pinocchio",
        "identification.exciting_motions": "excitation",
        "identification.fitting": "identify",
        "kernels.dispatch": "use_kernels",
        "recording": "Recording load_recording",
        "regressors.base_parameters": "base_parameters",
        "regressors.parameters": "parameters",
        "regressors.regressors": "regressor",
        "robot": "Frame Friction Joint Link Robot chain describe random_tree",
        "robot.configurations": "neutral random_configuration",
        "robot.symbols": "bind symbols_of",
        "simulation": "per_trajectory rollout simulate",
        "sweeps.sweeping": "sweep",
        "symbolic": "symbols",
        "tracing": "Input count trace",
        "trajectories.loads": "torque_along",
    }.items()
}
NAMESPACES = (
    "control",
    "derivatives",
    "errors",
    "formulations",
    "graph",
    "identification",
    "results",
    "sweeps",
    "trajectories",
)
PACKAGE_OF = {name: package for package, names in LAZY_IMPORTS.items() for name in names}
__all__ = [*NAMESPACES, *PACKAGE_OF]
OURS = {  # names of other packages and of earlier versions: what stands for them here
    "compile_rollout": "compile(lw.rollout, ...)",
    "compile_simulation": "compile(lw.simulate, ...)",
    "integrators": "methods(lw.simulate)",
    "trajectory_from_csv": "trajectories.read_csv",
    "wasm_interface": "wasm(...).interface",
    "wasm_robot": "wasm(function).robot(robot)",
    "wasm_simulation": "wasm(lw.simulate, ...)",
}


def load_public_name(name: str) -> Any:
    """The public name, imported when it is first used.

    The lock is one that a fork waits for: its child must not find a module half loaded.
    """
    with LOCK:
        if name in PACKAGE_OF or name in NAMESPACES:
            import_module("numpy")  # first: its own import takes longer after ours (seen with CPython 3.11)
            module = import_module(f".{PACKAGE_OF.get(name, name)}", __name__)
            value = globals()[name] = module if name in NAMESPACES else getattr(module, name)
            return value
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{suggestion(name)}", name=name)


if not TYPE_CHECKING:  # type checkers shall report unknown names
    __getattr__ = load_public_name


def suggestion(name: str) -> str:
    """What a name of other packages, of a namespace or one mistyped should be, as the end of an error."""
    if name.startswith("_") or not name.isidentifier() or find_spec(f".{name}", __name__):
        return ""  # Python asks for such names, and `from linkwise import robot` for a package
    from .errors import near_miss  # late: only errors need it
    from .public_names import place_of

    ours = OURS.get(name) or place_of(name)
    return f" (expected lw.{ours})" if ours else near_miss(name, __all__)


def __dir__() -> list[str]:
    return sorted(__all__)
