"""The members of a family, simulated side by side by one compiled program; each has its numbers as parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from .. import edge
from ..robot import Friction, Robot
from .events import events_of
from .family import Family
from .problem import COORDINATES, Problem
from .recording import STATUS
from .simulation import checked_numbers, integrated, sample_times
from .tableaux import method as tableau


@dataclass(frozen=True)
class Followed:
    """What became of each trajectory: the states at the times t, and what a `Recording` would say of it."""

    t: np.ndarray
    q: np.ndarray
    qd: np.ndarray
    status: np.ndarray
    reached: np.ndarray
    steps: np.ndarray
    rejected: np.ndarray
    imbalance: np.ndarray  # at the last time

    @property
    def strange(self) -> np.ndarray:
        """Which trajectories did not get away from the start."""
        return np.asarray(np.isin(self.status, ["lost", "step too small"]) & (self.steps == 0))

    def some(self, which: np.ndarray) -> Followed:
        """Those trajectories alone."""
        parts = {each.name: getattr(self, each.name)[which] for each in fields(self) if each.name != "t"}
        return replace(self, **parts)


def followed(
    family: Family, numbers: np.ndarray, q0: np.ndarray, qd0: np.ndarray, duration: float, options: Mapping[str, Any]
) -> Followed:
    """As `simulate`, with the options of a sweep, each trajectory with a row of numbers; there is no road but code."""
    count, n = q0.shape
    scheme = tableau(options["integrator"])
    checked = checked_numbers(scheme, duration, options["rtol"], options["atol"], options["step"], options["max_steps"])
    times = sample_times(options["samples"], duration)
    torque, wrench = options["torque"], options["wrench"]
    constant = {"tau": None if callable(torque) else torque, "wrench": wrench}
    loads = {name: spread(load, count) for name, load in constant.items() if load is not None}
    problem = Problem(
        family.robot,
        torque if callable(torque) else None,
        "tau" in loads,
        loads["wrench"].shape[1:] if "wrench" in loads else None,
        Friction.of(options["friction"]),
        options["coordinates"],
        options["method"],
        events_of(options["events"]),
        family.symbols,
    )
    quasi = COORDINATES[problem.coordinates]
    v = qd0 if quasi is None else family.evaluated(quasi.velocity, numbers, q=q0[:, None], qd=qd0[:, None])[:, 0]
    start = np.concatenate([q0, v, np.zeros((count, problem.size - 2 * n))], axis=1)
    parameters = np.concatenate([*(load.reshape(count, -1) for load in loads.values()), numbers], axis=1)
    run = integrated(problem, scheme, start, parameters, times, checked, options["threads"], True, False)
    if run.interrupted is not None:
        raise run.interrupted
    q, v = run.out[..., :n], run.out[..., n : 2 * n]
    qd = v if quasi is None else family.evaluated(quasi.joint_rates, numbers, q=q, velocity=v)
    ends = {"q": q[:, [0, -1]], "qd": qd[:, [0, -1]]}
    kept = family.evaluated(energy, numbers, **ends)
    if problem.accounted:
        work, heat = (run.out[:, [0, -1], 2 * n + k] for k in range(2))
        kept = kept - (work - heat)
    now = run.now
    status = np.array([STATUS[int(code)] for code in now.status])
    return Followed(times, q, qd, status, now.t, now.steps, now.rejected, kept[:, -1] - kept[:, 0])


def spread(given: Any, count: int) -> np.ndarray:
    """A load for each trajectory, from such, or from one for all."""
    array = np.asarray(given, dtype=float)
    return np.broadcast_to(array, (count, *(array.shape if array.ndim == 1 else array.shape[1:])))


def energy(arm: Robot, q: Any, qd: Any) -> Any:
    return edge.kinetic_energy(arm, q, qd) + edge.potential_energy(arm, q)
