"""Motion in time: integrate the equations of motion of a robot to a recording."""

from .compiled_motions import CompiledRollout, CompiledSimulation
from .parameters import per_trajectory
from .rollouts import RolloutResult, rollout
from .simulation import simulate

__all__ = [
    "CompiledRollout",
    "CompiledSimulation",
    "RolloutResult",
    "per_trajectory",
    "rollout",
    "simulate",
]
