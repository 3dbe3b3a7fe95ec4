"""Check the arguments of a simulation; make its problem, start and the parameters of each trajectory."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..api.states import States
from ..control.events import events_of
from ..control.sampled_laws import Sampled
from ..errors import is_integer, is_real, near_miss
from ..kernels.interface import describe_value, host_array
from ..ode.interface import Integrator
from ..ode.lanes import TOO_FAR
from ..robot import Friction, Robot
from ..robot.named_arrays import refuse_gradients, refuse_mark
from ..robot.symbols import refuse_symbols
from ..trajectories.torque_history import TorqueHistory
from .base_motions import base_function
from .parameters import check_parameters
from .problem import Problem
from .sampling import of_batch, split_sampled_laws
from .sticking import Point

MAX_STEPS = 10_000_000  # of a trajectory, unless its steps are fixed
MIN_RTOL = 100 * float(np.finfo(float).eps)  # below this, error estimates are rounding errors
FIRST_STEP = 1e-3  # seconds; if it is too small it grows tenfold at each step


def check_numbers(
    scheme: Integrator,
    duration: Any,
    rtol: Any,
    atol: Any = None,
    dt: Any = None,
    first_step: Any = None,
    max_steps: Any = None,
) -> dict[str, float]:
    numbers = check_positive(duration=duration, rtol=rtol) | {"step": step_length(scheme, dt, first_step)}
    if numbers["rtol"] < MIN_RTOL:
        raise ValueError(f"rtol is {rtol!r} (expected at least {MIN_RTOL:.3g}: smaller errors are rounding errors)")
    if max_steps is None:
        numbers["most"], numbers["too_far"] = math.inf if scheme.fixed else MAX_STEPS, TOO_FAR
    elif not is_integer(max_steps):
        raise TypeError(f"max_steps is {max_steps!r} (expected a whole number, or None)")
    elif max_steps < 1:
        raise ValueError(f"max_steps is {max_steps} (expected at least 1)")
    else:
        numbers["most"] = numbers["too_far"] = int(max_steps)
    return numbers if atol is None else numbers | check_positive(atol=atol)


def step_length(scheme: Integrator, dt: Any, first_step: Any) -> float:
    """The length of every step, or of the first step, in seconds."""
    if not scheme.fixed:
        if dt is not None:
            raise ValueError(
                f"integrator {scheme.name!r} adapts the length of its steps, so it takes no dt=... (expected"
                ' first_step=..., or integrator="rk4" with dt=...)'
            )
        return FIRST_STEP if first_step is None else check_positive(first_step=first_step)["first_step"]
    if first_step is not None:
        raise ValueError(f"integrator {scheme.name!r} makes steps of one length (expected dt=..., not first_step=...)")
    if dt is None:
        raise ValueError(f"integrator {scheme.name!r} makes steps of one length (expected dt=..., in seconds)")
    return check_positive(dt=dt)["dt"]


def refuse_others(names: Iterable[str], function: object, known: Sequence[str]) -> None:
    """Raise a TypeError that suggests another name if one of these is not an argument of the function."""
    for name in names:
        if name in known:
            continue
        if name == "step":
            expected = "dt: seconds, the length of every step"
            if "first_step" in known:
                expected += "; or first_step with an integrator that adapts its steps"
            raise TypeError(f"{function} has no argument 'step' (expected {expected})")
        if name == "duration" and "steps" in known:
            raise TypeError(f"{function} has no argument 'duration' (expected steps: duration / dt)")
        raise TypeError(f"{function} has no argument {name!r}{near_miss(name, known)} (it has {', '.join(known)})")


def check_positive(**numbers: Any) -> dict[str, float]:
    """The numbers as floats; raise an error unless each is finite and above 0."""
    positive = {}
    for name, value in numbers.items():
        if not is_real(value):
            raise TypeError(f"{name} is {value!r} (expected a number)")
        if not (math.isfinite(value) and value > 0):
            raise ValueError(f"{name} is {value!r} (expected a finite number above 0)")
        positive[name] = float(value)
    return positive


def sample_times(samples: Any, end: float) -> np.ndarray:
    """The times of samples, from their number or from an array of times, (times,)."""
    if is_integer(samples):
        if samples < 2:
            raise ValueError(f"samples is {samples} (expected at least 2, or an array of times)")
        return even_times(int(samples), end).copy()
    refuse_mark("samples", samples)
    refuse_gradients("samples", samples)
    times = np.array(samples, dtype=float, order="C")
    if times.ndim != 1 or not times.size:
        raise ValueError(f"samples has shape {times.shape} (expected a number of samples, or an array of times)")
    if not (np.isfinite(times).all() and (np.diff(times) > 0).all() and times[0] >= 0 and times[-1] <= end):
        raise ValueError(f"samples are not increasing times from 0 to {end:g}")
    return times


@lru_cache(maxsize=16)
def even_times(samples: int, end: float) -> np.ndarray:
    return np.linspace(0.0, end, samples)


class SimulationInputs(NamedTuple):
    """The problem and the start of a simulation."""

    problem: Problem
    batch: tuple[int, ...]
    start: np.ndarray  # (count, size): y of each trajectory of the batch
    parameters: np.ndarray  # (count, ...): a row for each
    tau: np.ndarray | None  # the constant torques and the wrench, with the batch in front
    wrench: np.ndarray | None
    torque_parameters: dict[str, np.ndarray]  # parameters of the torque function, each with the batch in front
    laws: tuple[Sampled, ...]  # sampled laws
    history: TorqueHistory | None = None


def prepare(
    robot: Robot,
    q0: Any,
    qd0: Any,
    torque: Any,
    wrench: Any,
    *,
    point: Any,
    friction: bool | Friction,
    base: Any,
    coordinates: str,
    method: str | None,
    events: Any,
    parameters: Mapping[str, Any] | None,
    axes: str = "base",
) -> SimulationInputs:
    torque, laws = split_sampled_laws(torque)
    history = torque if isinstance(torque, TorqueHistory) else None
    function = history.law if history else torque if callable(torque) else None
    arrays = {"q0": q0, "qd0": np.zeros(robot.n) if qd0 is None and isinstance(robot, Robot) else qd0}
    if torque is not None and (history or function is None):
        arrays["torque"] = history.tau[0] if history else torque
    arrays = {name: host_array(name, array) for name, array in arrays.items()}
    if isinstance(wrench, Mapping):
        wrench = {name: host_array(f"wrench[{name!r}]", array) for name, array in wrench.items()}
    states = States(robot, arrays, host_array("wrench", wrench), True, point=host_array("point", point), axes=axes)
    refuse_symbols(robot)
    for name, array in states.arrays.items():
        if array.dtype.kind != "f":
            raise TypeError(f"{name} is {describe_value(array.flat[0])} (expected plain numbers)")
    batch, count = states.batch, math.prod(states.batch)
    full = {name: states.expanded_copy(name) for name in states.arrays}
    if history:
        check_parameters(None, parameters, batch)
        torque_parameters, _ = of_batch(history, 0, batch), full.pop("torque")
        torque_parameters = dict(sorted(torque_parameters.items()))
    else:
        torque_parameters = check_parameters(torque, parameters, batch)
    problem = Problem(
        robot,
        function,
        "torque" in full or bool(laws),
        full["wrench"].shape[len(batch) :] if "wrench" in full else None,
        Friction.of(friction),
        coordinates,
        method,
        events_of(events),
        torque_parameters=tuple((name, array.shape[len(batch) :]) for name, array in torque_parameters.items()),
        point=constant_point(states) if "point" in full else states.at,
        base=base_function(base),
    )
    held = {"torque": np.zeros((*batch, robot.n))} if laws else {}
    columns = [array for array in ({**full, **held}.get(name) for name in ("torque", "wrench")) if array is not None]
    if problem.sticking is not None:
        columns.append(np.zeros((*batch, robot.n + 1)))  # modes of the joints, and since when
    rows = [x.reshape(count, math.prod(x.shape[len(batch) :])) for x in (*columns, *torque_parameters.values())]
    return SimulationInputs(
        problem,
        batch,
        problem.initial(full["q0"], full["qd0"]).reshape(count, problem.size),
        np.concatenate(rows, axis=1) if rows else np.zeros((count, 0)),
        full.get("torque"),
        full.get("wrench"),
        torque_parameters,
        laws,
        history,
    )


def constant_point(states: States) -> Point:
    """Where the wrench acts, which is the same for all trajectories."""
    point, expected = states.argument("point"), dict(states.load_shapes)["point"]
    if point.shape != expected:
        raise ValueError(f"point has shape {point.shape} (expected {expected}: one for all trajectories)")
    return tuple(tuple(x) if isinstance(x, list) else x for x in point.tolist())
