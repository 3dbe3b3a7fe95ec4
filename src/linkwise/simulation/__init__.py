"""Motion in time: the equations of motion of a robot, integrated to a recording."""

from .compiled import CompiledRollout, CompiledSimulation
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
    "joint_limits",
    "per_trajectory",
    "rollout",
    "simulate",
]
