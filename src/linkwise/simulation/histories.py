"""Torque histories (`trajectories.torque_history`): the integration runs from one sample of the torques to the next.

Between two samples torques are polynomials of time, whose coefficients are parameters of the right-hand side. So code
is compiled once for all histories, of any length.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from ..ode.trajectories import Trajectories
from ..robot import Robot
from ..trajectories.torque_history import Interpolation, TorqueHistory, torque_history
from .parameters import PREFIX
from .problem import Problem
from .sampling import advance, on_their_way


class HistoryPlayer:
    """Gives the parameters of the right-hand side their numbers, piece by piece."""

    def __init__(self, history: TorqueHistory, problem: Problem, batch: tuple[int, ...], fixed: bool) -> None:
        self.history, self.problem, self.batch, self.fixed = history, problem, batch, fixed

    def run(
        self,
        trajectories: Trajectories,
        parameters: np.ndarray,
        end: float,
        first_step: float,
        integrate: Callable[[float], None],
    ) -> None:
        """`integrate(until)` from sample to sample. Steps that adapt begin with a whole piece: torques do not jump."""
        knots = [t for t in self.history.t.tolist() if t < end] + [end]
        for piece, (t, until) in enumerate(itertools.pairwise(knots)):
            for name, value in of_batch(self.history, piece, self.batch).items():
                parameters[:, self.problem.columns[PREFIX + name]] = value.reshape(len(parameters), -1)
            step = first_step if self.fixed or piece == 0 else until - t
            advance(trajectories, on_their_way(trajectories), until, min(step, until - t), integrate)

    def at(self, times: np.ndarray) -> np.ndarray:
        """Torques at the sample times: (*batch, times, n)."""
        torques = self.history.at(times)
        return np.broadcast_to(torques, (*self.batch, *torques.shape[-2:]))


def history_or_torque(robot: Robot, torque: Any, interpolation: Interpolation) -> Any:
    """The torque argument of a simulation, as a `TorqueHistory` where it is one."""
    history = torque_history(robot, torque, interpolation)
    if history is None and interpolation != "cubic":
        raise ValueError(f"interpolation is {interpolation!r} (expected a torque history too: torque=(t, tau))")
    return torque if history is None else history


def check_end(history: TorqueHistory, duration: float) -> None:
    if duration > history.duration:
        raise ValueError(
            f"duration is {duration:g} (expected at most {history.duration:g}: the torque history ends there)"
        )


def of_batch(history: TorqueHistory, piece: int, batch: tuple[int, ...]) -> dict[str, np.ndarray]:
    """The parameters of a piece, with the axes of the batch in front."""
    values: dict[str, Any] = history.parameters(piece)
    coefficients = np.moveaxis(values["coefficients"], 0, -2)
    values["coefficients"] = np.broadcast_to(coefficients, (*batch, *coefficients.shape[-2:]))
    return {name: np.broadcast_to(x, batch) if np.ndim(x) == 0 else x for name, x in values.items()}
