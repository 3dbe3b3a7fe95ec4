"""Classes of results, for annotations and `isinstance`."""

from .api.budgets.budget import QuasiBudget
from .api.budgets.result import Budget
from .api.compiling import WasmModule
from .api.constrained import ConstrainedMotion, Impact, TaskInertia
from .api.contacts import ContactBounds, Support
from .api.inverse_kinematics import InverseKinematics
from .comparison import Comparison, Finding
from .derivatives.derived import Packed
from .derivatives.equilibria import Equilibrium
from .derivatives.graph_derivatives import Derivative, JacobianVector, VectorJacobian
from .derivatives.linear_models import LinearModel
from .drawing import Animation
from .explanation import Accuracy, Explanation
from .export import CSource
from .graph import Count, Program
from .identification.estimates import JointErrors
from .identification.exciting_motions import Excitation
from .identification.reading import MeasuredMotion
from .identification.result import Identification
from .kernels.kernel import Compiled
from .recording import EventRecord
from .regressors.parameters import Parameters
from .simulation import CompiledRollout, CompiledSimulation, RolloutResult
from .sweeps.sweeping import Sweep
from .targets.cuda.kernel import CudaKernel
from .trajectories.loads import Loads

__all__ = [
    "Accuracy",
    "Animation",
    "Budget",
    "CSource",
    "Comparison",
    "Compiled",
    "CompiledRollout",
    "CompiledSimulation",
    "ConstrainedMotion",
    "ContactBounds",
    "Count",
    "CudaKernel",
    "Derivative",
    "Equilibrium",
    "EventRecord",
    "Excitation",
    "Explanation",
    "Finding",
    "Identification",
    "Impact",
    "InverseKinematics",
    "JacobianVector",
    "JointErrors",
    "LinearModel",
    "Loads",
    "MeasuredMotion",
    "Packed",
    "Parameters",
    "Program",
    "QuasiBudget",
    "RolloutResult",
    "Support",
    "Sweep",
    "TaskInertia",
    "VectorJacobian",
    "WasmModule",
]
