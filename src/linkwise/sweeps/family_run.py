"""The members of a family, simulated side by side by one compiled program; each has its numbers as parameters."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..api.functions import kinetic_energy, potential_energy
from ..ode.registry import integrator as integrator_of
from ..ode.trajectories import Trajectories
from ..recording.recording import STATUS, EventRecord
from ..robot import Friction, Robot
from ..simulation.events import events_of
from ..simulation.integration import integrated
from ..simulation.numbers import checked_numbers, sample_times
from ..simulation.parameters import checked_parameters
from ..simulation.problem import COORDINATES, Problem
from ..simulation.recorded import event_records
from .family import Family


class TrajectoryResults(NamedTuple):
    """The results of some trajectories: columns of a chunk; q and qd in them are those at the times t."""

    t: np.ndarray
    columns: dict[str, np.ndarray]
    events: Sequence[Sequence[EventRecord]]  # none where no events are asked for

    def select(self, which: np.ndarray) -> TrajectoryResults:
        """Those trajectories alone."""
        columns = {name: column[which] for name, column in self.columns.items()}
        return TrajectoryResults(self.t, columns, list(itertools.compress(self.events, which)))


def simulate_family(
    family: Family, numbers: np.ndarray, q0: np.ndarray, qd0: np.ndarray, duration: float, options: Mapping[str, Any]
) -> TrajectoryResults:
    """As `simulate` with the options of a sweep, each trajectory with a row of numbers; always compiled."""
    count = len(q0)
    scheme = integrator_of(options["integrator"])
    checked = checked_numbers(scheme, duration, options["rtol"], options["atol"], options["step"], options["max_steps"])
    times = sample_times(options["samples"], duration)
    loads = loads_of(options, count)
    problem = family_problem(family, options, loads)
    quasi = COORDINATES[problem.coordinates]
    v = qd0 if quasi is None else family.evaluated(quasi.velocity, numbers, q=q0[:, None], qd=qd0[:, None])[:, 0]
    start = np.concatenate([problem.normalized(q0), v, np.zeros((count, problem.size - problem.rest))], axis=1)
    parameters = np.concatenate([*(load.reshape(count, -1) for load in loads.values()), numbers], axis=1)
    run = integrated(
        problem, scheme, start, parameters, times, checked, options["threads"], True, False, (), options["target"]
    )
    if run.interrupted is not None:
        raise run.interrupted
    now = run.trajectories
    y = np.concatenate([run.out, now.y[:, None]], axis=1)  # the end, wherever it is, comes last
    reached = np.isfinite(run.out[:, -1]).all(axis=1)
    y[reached, -1] = run.out[reached, -1]
    q, v = problem.split(y)
    q = problem.normalized(q)
    qd = v if quasi is None else family.evaluated(quasi.joint_rates, numbers, q=q, velocity=v)
    kept = family.evaluated(energy, numbers, q=q[:, [0, -1]], qd=qd[:, [0, -1]])
    if problem.has_energy_balance:
        work, heat = (y[:, [0, -1], problem.rest + k] for k in range(2))
        kept = kept - (work - heat)
    columns = {
        "status": np.array([STATUS[int(code)] for code in now.status]),
        "reached": now.t,
        "steps": now.steps,
        "rejected": now.rejected,
        "q_end": q[:, -1],
        "qd_end": qd[:, -1],
        "imbalance": kept[:, -1] - kept[:, 0],
        "q": q[:, :-1],
        "qd": qd[:, :-1],
    }
    return TrajectoryResults(times, columns, family_events(family, problem, now, numbers))


def family_problem(family: Family, options: Mapping[str, Any], loads: Mapping[str, np.ndarray]) -> Problem:
    torque = options["torque"]
    return Problem(
        family.robot,
        torque if callable(torque) else None,
        "tau" in loads,
        loads["wrench"].shape[1:] if "wrench" in loads else None,
        Friction.of(options["friction"]),
        options["coordinates"],
        options["method"],
        events_of(options["events"]),
        family.symbols,
        tuple((name, loads[name].shape[1:]) for name in loads if name not in ("tau", "wrench")),
        None if options["point"] is None else tuple(map(plain_tuple, options["point"])),
    )


def loads_of(options: Mapping[str, Any], count: int) -> dict[str, np.ndarray]:
    """What acts on each trajectory, and the parameters of the torque function, in the order of `Problem.loads`."""
    torque = options["torque"]
    constant = {"tau": None if callable(torque) else torque, "wrench": options["wrench"]}
    loads = {name: spread(load, count) for name, load in constant.items() if load is not None}
    return {**loads, **checked_parameters(torque, options.get("parameters"), (count,))}


def family_events(
    family: Family, problem: Problem, now: Trajectories, numbers: np.ndarray
) -> tuple[tuple[EventRecord, ...], ...]:
    """The events of each trajectory; the rates of quasi-velocities are those of its own robot."""
    if not problem.events:
        return ()
    quasi, events = COORDINATES[problem.coordinates], []
    for k in range(len(now.log)):
        records = event_records(replace(problem, coordinates="joint"), now, k)
        if quasi is not None and records:
            q, v = (np.array([getattr(record, name) for record in records])[None] for name in ("q", "qd"))
            rates = family.evaluated(quasi.joint_rates, numbers[[k]], q=q, velocity=v)[0]
            records = tuple(record._replace(qd=qd) for record, qd in zip(records, rates, strict=True))
        events.append(records)
    return tuple(events)


def plain_tuple(x: Any) -> Any:
    """A number as a float, a row of them as a tuple."""
    return tuple(map(float, x)) if np.ndim(x) else float(x)


def spread(load: Any, count: int) -> np.ndarray:
    """A load for each trajectory, from such, or from one for all."""
    array = np.asarray(load, dtype=float)
    return np.broadcast_to(array, (count, *(array.shape if array.ndim == 1 else array.shape[1:])))


def energy(arm: Robot, q: Any, qd: Any) -> Any:
    return kinetic_energy(arm, q, qd) + potential_energy(arm, q)
