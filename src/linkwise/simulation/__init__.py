"""Motion in time: the equations of motion of a robot, integrated to a recording."""

from .compiled import CompiledSimulation, compile_simulation
from .compiled_rollout import CompiledRollout, compile_rollout
from .events import Event, joint_limits
from .parameters import per_trajectory
from .rollouts import RolloutResult, rollout
from .simulation import SimulationError, SimulationInterrupted, simulate

__all__ = [
    "CompiledRollout",
    "CompiledSimulation",
    "Event",
    "RolloutResult",
    "SimulationError",
    "SimulationInterrupted",
    "compile_rollout",
    "compile_simulation",
    "joint_limits",
    "per_trajectory",
    "rollout",
    "simulate",
]
