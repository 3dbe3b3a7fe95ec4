"""Linkwise: robot dynamics, link by link.

Every algorithm is written once, as a plain Python function over generic scalars. The same text runs on NumPy, torch and
JAX arrays and on many-digit numbers, and counts its own operations.

>>> import linkwise as lw
>>> arm = lw.load("stanford")
>>> tau = lw.inverse_dynamics(arm, q=[0, 1.5, 0.1, 0, 0, 0], qd=[0] * 6, qdd=[0] * 6)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .kernels.lock import LOCK
from .version import __version__ as __version__

if TYPE_CHECKING:  # at run time each of these is imported when it is first used: see LAZY_IMPORTS
    from .api.base_motion import BaseMotion as BaseMotion
    from .api.budgets.budget import QuasiBudget as QuasiBudget
    from .api.budgets.budget import budget as budget
    from .api.budgets.result import Budget as Budget
    from .api.compiling import compile as compile
    from .api.compiling import ptx_source as ptx_source
    from .api.compiling import wasm as wasm
    from .api.functions import bias_torque as bias_torque
    from .api.functions import forward_dynamics as forward_dynamics
    from .api.functions import gravity_torque as gravity_torque
    from .api.functions import inertia_matrix as inertia_matrix
    from .api.functions import inverse_dynamics as inverse_dynamics
    from .api.functions import jacobian as jacobian
    from .api.functions import joint_wrenches as joint_wrenches
    from .api.functions import kinetic_energy as kinetic_energy
    from .api.functions import mass_centres as mass_centres
    from .api.functions import poses as poses
    from .api.functions import potential_energy as potential_energy
    from .api.functions import udu as udu
    from .api.integration import configuration_rate as configuration_rate
    from .api.integration import difference as difference
    from .api.integration import integrate as integrate
    from .api.integration import normalize as normalize
    from .api.matrices import complement_matrices as complement_matrices
    from .api.matrices import constraint_wrenches as constraint_wrenches
    from .api.matrices import coriolis_matrix as coriolis_matrix
    from .api.matrices import denoc_matrices as denoc_matrices
    from .api.matrices import inverse_inertia_matrix as inverse_inertia_matrix
    from .api.matrices import kinetic_gradient as kinetic_gradient
    from .api.matrices import mass_factor as mass_factor
    from .api.matrices import mass_factor_rate as mass_factor_rate
    from .api.matrices import operator_rates as operator_rates
    from .api.matrices import operators as operators
    from .api.method_table import methods as methods
    from .api.momentum import base_wrench as base_wrench
    from .api.momentum import centre_of_mass as centre_of_mass
    from .api.momentum import floating_dynamics as floating_dynamics
    from .api.momentum import generalized_jacobian as generalized_jacobian
    from .api.momentum import momentum as momentum
    from .api.momentum import momentum_bias as momentum_bias
    from .api.momentum import momentum_matrix as momentum_matrix
    from .api.momentum import total_mass as total_mass
    from .api.quasi import normalized as normalized
    from .api.quasi import unnormalized as unnormalized
    from .api.references import cite as cite
    from .comparison import Comparison as Comparison
    from .comparison import Finding as Finding
    from .comparison import compare as compare
    from .control import computed_torque as computed_torque
    from .control import diagonal_control as diagonal_control
    from .control import limited as limited
    from .control import pd_gravity as pd_gravity
    from .control import pid as pid
    from .control import sampled as sampled
    from .control import springs as springs
    from .control import with_gears as with_gears
    from .derivatives.closed_form_derivatives import forward_dynamics_derivatives as forward_dynamics_derivatives
    from .derivatives.closed_form_derivatives import (
        forward_dynamics_second_derivatives as forward_dynamics_second_derivatives,
    )
    from .derivatives.closed_form_derivatives import inverse_dynamics_derivatives as inverse_dynamics_derivatives
    from .derivatives.closed_form_derivatives import (
        inverse_dynamics_second_derivatives as inverse_dynamics_second_derivatives,
    )
    from .derivatives.equilibria import Equilibrium as Equilibrium
    from .derivatives.equilibria import equilibrium as equilibrium
    from .derivatives.graph_derivatives import Derivative as Derivative
    from .derivatives.graph_derivatives import JacobianVector as JacobianVector
    from .derivatives.graph_derivatives import VectorJacobian as VectorJacobian
    from .derivatives.graph_derivatives import derivative as derivative
    from .derivatives.graph_derivatives import jvp as jvp
    from .derivatives.graph_derivatives import vjp as vjp
    from .derivatives.linear_models import LinearModel as LinearModel
    from .derivatives.linear_models import linearize as linearize
    from .derivatives.packing import Packed as Packed
    from .derivatives.packing import packed as packed
    from .drawing import Animation as Animation
    from .drawing import draw as draw
    from .errors import EquilibriumError as EquilibriumError
    from .errors import FileError as FileError
    from .errors import RobotError as RobotError
    from .errors import SingularError as SingularError
    from .explanation import Accuracy as Accuracy
    from .explanation import Explanation as Explanation
    from .explanation import accuracy as accuracy
    from .explanation import explain as explain
    from .export import CSource as CSource
    from .export import c_source as c_source
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
    from .graph import Count as Count
    from .graph import Program as Program
    from .graph import evaluate as evaluate
    from .identification.estimates import JointErrors as JointErrors
    from .identification.excitation import Excitation as Excitation
    from .identification.excitation import ExcitationInterrupted as ExcitationInterrupted
    from .identification.excitation import excitation as excitation
    from .identification.fitting import identify as identify
    from .identification.measured_motion import MeasuredMotion as MeasuredMotion
    from .identification.measured_motion import measured_motion as measured_motion
    from .identification.result import Identification as Identification
    from .kernels.compiler import Compiled as Compiled
    from .kernels.dispatch import use_kernels as use_kernels
    from .ode.registry import integrators as integrators
    from .recording import EventRecord as EventRecord
    from .recording import Recording as Recording
    from .recording import load_recording as load_recording
    from .regressors.base_parameters import base_parameters as base_parameters
    from .regressors.parameters import Parameters as Parameters
    from .regressors.parameters import parameters as parameters
    from .regressors.regressors import energy_regressor as energy_regressor
    from .regressors.regressors import regressor as regressor
    from .regressors.regressors import slotine_li_regressor as slotine_li_regressor
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
    from .simulation import CompiledRollout as CompiledRollout
    from .simulation import CompiledSimulation as CompiledSimulation
    from .simulation import Event as Event
    from .simulation import RolloutResult as RolloutResult
    from .simulation import SimulationError as SimulationError
    from .simulation import SimulationInterrupted as SimulationInterrupted
    from .simulation import joint_limits as joint_limits
    from .simulation import per_trajectory as per_trajectory
    from .simulation import rollout as rollout
    from .simulation import simulate as simulate
    from .sweeps import Sweep as Sweep
    from .sweeps import SweepInterrupted as SweepInterrupted
    from .sweeps import SweepWarning as SweepWarning
    from .sweeps import grid as grid
    from .sweeps import monte_carlo as monte_carlo
    from .sweeps import open_sweep as open_sweep
    from .sweeps import sweep as sweep
    from .symbolic import symbols as symbols
    from .targets.cuda.driver import CudaError as CudaError
    from .targets.cuda.kernel import CudaKernel as CudaKernel
    from .targets.wasm.files import wasm_robot as wasm_robot
    from .targets.wasm.module import wasm_interface as wasm_interface
    from .tracing import Input as Input
    from .tracing import count as count
    from .tracing import trace as trace
    from .trajectories import JointMotion as JointMotion
    from .trajectories import Loads as Loads
    from .trajectories import Trajectory as Trajectory
    from .trajectories import cubic as cubic
    from .trajectories import cycloid as cycloid
    from .trajectories import fourier as fourier
    from .trajectories import held as held
    from .trajectories import quintic as quintic
    from .trajectories import septic as septic
    from .trajectories import spline as spline
    from .trajectories import torque_along as torque_along
    from .trajectories import trajectory_from_csv as trajectory_from_csv
    from .trajectories import trapezoid as trapezoid

LAZY_IMPORTS = {  # the public names, by the modules that are imported when one of them is first used
    module: tuple(names.split())
    for module, names in {
        "api.base_motion": "BaseMotion",
        "api.budgets.budget": "QuasiBudget budget",
        "api.budgets.result": "Budget",
        "api.compiling": "compile ptx_source wasm",
        "api.functions": (
            "bias_torque forward_dynamics gravity_torque inertia_matrix inverse_dynamics jacobian joint_wrenches "
            "kinetic_energy mass_centres poses potential_energy udu"
        ),
        "api.integration": "configuration_rate difference integrate normalize",
        "api.matrices": (
            "complement_matrices constraint_wrenches coriolis_matrix denoc_matrices inverse_inertia_matrix "
            "kinetic_gradient mass_factor mass_factor_rate operator_rates operators"
        ),
        "api.method_table": "methods",
        "api.momentum": (
            "base_wrench centre_of_mass floating_dynamics generalized_jacobian momentum momentum_bias momentum_matrix "
            "total_mass"
        ),
        "api.quasi": "normalized unnormalized",
        "api.references": "cite",
        "comparison": "Comparison Finding compare",
        "control": "computed_torque diagonal_control limited pd_gravity pid sampled springs with_gears",
        "derivatives.closed_form_derivatives": (
            "forward_dynamics_derivatives forward_dynamics_second_derivatives inverse_dynamics_derivatives "
            "inverse_dynamics_second_derivatives"
        ),
        "derivatives.equilibria": "Equilibrium equilibrium",
        "derivatives.graph_derivatives": "Derivative JacobianVector VectorJacobian derivative jvp vjp",
        "derivatives.linear_models": "LinearModel linearize",
        "derivatives.packing": "Packed packed",
        "drawing": "Animation draw",
        "errors": "EquilibriumError FileError RobotError SingularError",
        "explanation": "Accuracy Explanation accuracy explain",
        "export": "CSource c_source latex python_source sympy",
        "formats": "LIBRARY load save",
        "formats.conventions": "convert_force convert_state",
        "formats.conversion": "convert",
        "formats.mujoco_model": "from_mujoco",
        "formats.pinocchio_model": "from_pinocchio",
        "graph": "Count Program evaluate",
        "identification.estimates": "JointErrors",
        "identification.excitation": "Excitation ExcitationInterrupted excitation",
        "identification.fitting": "identify",
        "identification.measured_motion": "MeasuredMotion measured_motion",
        "identification.result": "Identification",
        "kernels.compiler": "Compiled",
        "kernels.dispatch": "use_kernels",
        "ode.registry": "integrators",
        "recording": "EventRecord Recording load_recording",
        "regressors.base_parameters": "base_parameters",
        "regressors.parameters": "Parameters parameters",
        "regressors.regressors": "energy_regressor regressor slotine_li_regressor",
        "robot": "Frame Friction Joint Link Robot chain describe random_tree",
        "robot.configurations": "neutral random_configuration",
        "robot.symbols": "bind symbols_of",
        "simulation": (
            "CompiledRollout CompiledSimulation Event RolloutResult SimulationError SimulationInterrupted joint_limits "
            "per_trajectory rollout simulate"
        ),
        "sweeps": "Sweep SweepInterrupted SweepWarning grid monte_carlo open_sweep sweep",
        "symbolic": "symbols",
        "targets.cuda.driver": "CudaError",
        "targets.cuda.kernel": "CudaKernel",
        "targets.wasm.files": "wasm_robot",
        "targets.wasm.module": "wasm_interface",
        "tracing": "Input count trace",
        "trajectories": (
            "JointMotion Loads Trajectory cubic cycloid fourier held quintic septic spline torque_along "
            "trajectory_from_csv trapezoid"
        ),
    }.items()
}
PACKAGE_OF = {name: package for package, names in LAZY_IMPORTS.items() for name in names}
__all__ = list(PACKAGE_OF)
SPELLED = {  # names of earlier versions
    "compile_rollout": "compile(lw.rollout, ...)",
    "compile_simulation": "compile(lw.simulate, ...)",
    "wasm_simulation": "wasm(lw.simulate, ...)",
}


def __getattr__(name: str) -> Any:
    if name not in PACKAGE_OF:
        instead = f" (expected lw.{SPELLED[name]})" if name in SPELLED else ""
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{instead}")
    with LOCK:  # which a fork waits for: its child must not find a module half loaded
        import_module("numpy")  # first: its own import takes longer after ours (seen with CPython 3.11)
        value = globals()[name] = getattr(import_module(f".{PACKAGE_OF[name]}", __name__), name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
