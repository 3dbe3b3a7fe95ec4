"""From the arguments of a simulation to its problem, the states at the start and the parameters of each trajectory."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ..api.states import States
from ..control import Sampled
from ..kernels.interface import described, host_array
from ..robot import Friction, Robot
from ..tracing import refuse_symbols
from .events import events_of
from .parameters import checked_parameters
from .problem import Problem
from .sampling import parted
from .sticking import Point


class Prepared(NamedTuple):
    """What is integrated, and from where."""

    problem: Problem
    batch: tuple[int, ...]
    start: np.ndarray  # (count, size): y of each trajectory of the batch
    parameters: np.ndarray  # (count, ...): a row for each
    tau: np.ndarray | None  # the constant torques and the wrench, with the batch in front
    wrench: np.ndarray | None
    own: dict[str, np.ndarray]  # parameters of the torque function, each with the batch in front
    laws: tuple[Sampled, ...]  # those that are sampled


def prepared(
    arm: Robot,
    q0: Any,
    qd0: Any,
    torque: Any,
    wrench: Any,
    *,
    point: Any,
    friction: bool | Friction,
    coordinates: str,
    method: str | None,
    events: Any,
    parameters: Mapping[str, Any] | None,
) -> Prepared:
    torque, laws = parted(torque)
    function = torque if callable(torque) else None
    arrays = {"q0": q0, "qd0": np.zeros(arm.n) if qd0 is None and isinstance(arm, Robot) else qd0}
    if torque is not None and function is None:
        arrays["torque"] = torque
    arrays = {name: host_array(name, array) for name, array in arrays.items()}
    states = States(arm, arrays, host_array("wrench", wrench), True, point=host_array("point", point))
    refuse_symbols(arm)
    for name, array in states.arrays.items():
        if array.dtype.kind != "f":
            raise TypeError(f"{name} is {described(array.flat[0])} (expected plain numbers)")
    batch, count = states.batch, math.prod(states.batch)
    full = {name: states.full(name) for name in states.arrays}
    own = checked_parameters(torque, parameters, batch)
    problem = Problem(
        arm,
        function,
        "torque" in full or bool(laws),
        full["wrench"].shape[len(batch) :] if "wrench" in full else None,
        Friction.of(friction),
        coordinates,
        method,
        events_of(events),
        torque_parameters=tuple((name, array.shape[len(batch) :]) for name, array in own.items()),
        point=constant_point(states) if "point" in full else None,
    )
    held = {"torque": np.zeros((*batch, arm.n))} if laws else {}
    columns = [array for array in ({**full, **held}.get(name) for name in ("torque", "wrench")) if array is not None]
    if problem.sticking is not None:
        columns.append(np.zeros((*batch, arm.n + 1)))  # modes of the joints, and since when
    rows = [x.reshape(count, math.prod(x.shape[len(batch) :])) for x in (*columns, *own.values())]
    return Prepared(
        problem,
        batch,
        problem.initial(full["q0"], full["qd0"]).reshape(count, problem.size),
        np.concatenate(rows, axis=1) if rows else np.zeros((count, 0)),
        full.get("torque"),
        full.get("wrench"),
        own,
        laws,
    )


def constant_point(states: States) -> Point:
    """Where the wrench acts: numbers that are the same for all trajectories."""
    point, own = states.own("point"), dict(states.acting)["point"]
    if point.shape != own:
        raise ValueError(f"point has shape {point.shape} (expected {own}: one for all trajectories)")
    return tuple(tuple(x) if isinstance(x, list) else x for x in point.tolist())
