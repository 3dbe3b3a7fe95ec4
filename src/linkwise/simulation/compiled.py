"""A simulation that is compiled beforehand, for many short runs."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ..control import Sampled
from ..control.drives import Sum
from ..kernels.arrays import has, on_gpu
from ..kernels.interface import numpy_array
from ..kernels.target import target_named
from ..ode.registry import integrator as integrator_of
from ..recording.recording import Recording
from ..robot import Robot
from ..robot.configurations import neutral
from ..tracing import Input
from . import sampling
from .backend import backend_for, freshly_traced
from .parameters import PerTrajectory, parameters_of
from .prepared import prepared
from .problem import Problem
from .simulation import arguments, refuse_unknown, simulate

COMPILE = "lw.compile(lw.simulate, ...)"
FROZEN = (
    "torque",
    "wrench",
    "point",
    "friction",
    "coordinates",
    "method",
    "integrator",
    "events",
    "compiled",
    "target",
)


class CompiledSimulation:
    """`run(q0, qd0, duration)`: as `lw.simulate`, with torque and event functions frozen as they were.

    Whatever those functions read, globals, attributes or lists, was read once, when this was made, and arrays were
    copied. `samples`, `rtol` and the other numbers may be given again for each run.
    """

    def __init__(
        self, arm: Robot, problem: Problem, laws: tuple[Sampled, ...], options: dict[str, Any], defaults: Sequence[str]
    ) -> None:
        """`defaults` are parameters of the torque function that were not named."""
        self.robot, self.options = arm, {name: frozen(value, name) for name, value in options.items()}
        self.parameters, self.defaults = self.options.pop("parameters", None) or {}, defaults
        parts: tuple[Any, ...] = (*([problem.torque] if problem.torque else []), *laws)
        self.options |= {"events": problem.events}
        if parts:
            self.options["torque"] = Sum(parts) if len(parts) > 1 else parts[0]

    def __call__(self, q0: Any, qd0: Any = None, duration: Any = None, **others: Any) -> Recording:
        for name in others:
            if name in FROZEN:
                raise TypeError(f"{name!r} is frozen in {self!r} (expected it in {COMPILE})")
        given = {**self.parameters, **(others.pop("parameters", None) or {})}
        refuse_defaults(self.defaults, given, self, COMPILE)
        numbers = {name: value for name, value in given.items() if not isinstance(value, Input)}
        return simulate(self.robot, q0, qd0, duration, **{**self.options, **others, "parameters": numbers})

    def __repr__(self) -> str:
        names = ", ".join(name for name in self.options if name in FROZEN and self.options[name])
        return f"<Simulation of robot {self.robot.name!r}, frozen{': ' if names else ''}{names}>"


def frozen(value: Any, name: str) -> Any:
    """A NumPy copy of numbers that others may change, arrays, lists, and mappings of them; not of arrays on a GPU."""
    if isinstance(value, Mapping):
        return {each: frozen(part, f"{name}: {each!r}") for each, part in value.items()}
    if isinstance(value, PerTrajectory):
        return PerTrajectory(frozen(value.values, name))
    if not isinstance(value, (list, tuple)) and (not has(value, "__array__") or on_gpu(value)):
        return value
    array = np.array(numpy_array(name, value))
    return value if array.dtype == object else array  # such as events


def refuse_defaults(defaults: Sequence[str], given: Iterable[str], compiled: Any, function: str) -> None:
    """Raise an error if a run is given a parameter that was traced with its default."""
    for name in given:
        if name in defaults:
            raise ValueError(
                f"parameters: {name!r} has its default in {compiled!r} (expected parameters={{{name!r}: lw.Input(...)}}"
                f" in {function}, with the shape that one trajectory has of it)"
            )


def per_trajectory_too_early(name: str, function: str) -> ValueError:
    """The error of numbers for each trajectory where a function is traced: how many axes a batch has is not known."""
    return ValueError(
        f"parameters: {name!r} is marked lw.per_trajectory (expected lw.Input(...) in {function}, with the shape that"
        " one trajectory has of it, and the numbers in each run)"
    )


def compile_simulation(arm: Robot, **options: Any) -> CompiledSimulation:
    """`lw.compile(lw.simulate, arm, ...)`: traced and compiled now, to be called as run(q0, qd0, duration).

    >>> import linkwise as lw
    >>> run = lw.compile(lw.simulate, lw.load("planar3"), torque=lw.pd_gravity([0.5, -0.3, 0.2], kp=60, kd=20))
    >>> run
    <Simulation of robot 'planar3', frozen: torque>
    >>> run([0, 0, 0], duration=20.0).q[-1].round(4)
    array([ 0.5, -0.3,  0.2])
    """
    refuse_unknown(options, COMPILE)
    target_named(options.get("target", "cpu")).check_run(options.get("threads"))
    inspect.signature(simulate).bind(arm, None, **options)  # complains of q0
    given = options.get("parameters") or {}
    defaults = [name for name in parameters_of(sampling.parted(options.get("torque"))[0]) if name not in given]
    return CompiledSimulation(arm, *compiled_problem(arm, {**arguments(), **options}), options, defaults)


def compiled_problem(arm: Robot, options: dict[str, Any]) -> tuple[Problem, tuple[Sampled, ...]]:
    """What `simulate` integrates with these options, its functions frozen and its code compiled; and sampled laws."""
    names = [name for name in inspect.signature(prepared).parameters if name not in ("arm", "q0", "qd0")]
    given = options["parameters"] or {}
    for name, value in given.items():
        if isinstance(value, PerTrajectory):
            raise per_trajectory_too_early(name, COMPILE)
    numbers = {name: np.zeros(value.shape) if isinstance(value, Input) else value for name, value in given.items()}
    options = {**options, "parameters": numbers}
    q0 = neutral(arm) if isinstance(arm, Robot) else None  # which `prepared` refuses
    inputs = prepared(arm, q0, None, **{name: options[name] for name in names})
    problem = freshly_traced(inputs.problem, inputs.start, inputs.parameters, None)
    integrator = integrator_of(options["integrator"])
    problem = backend_for(
        problem, integrator, inputs.start, inputs.parameters, None, target_named(options["target"])
    ).problem
    return problem, sampling.frozen(inputs.laws, arm)
