"""`lw.compile(lw.simulate, ...)` and `lw.compile(lw.rollout, ...)`: functions are traced once, for many short runs."""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import NoneType
from typing import Any, ClassVar

import numpy as np

from ..control.drives import Sum, function_name
from ..control.sampled_laws import Sampled
from ..errors import is_integer, one_of
from ..kernels.arrays import has_attribute, on_gpu, require_finite
from ..kernels.dispatch import DTYPES
from ..kernels.interface import describe_value, kind_of, numpy_array
from ..kernels.kernel import real_array
from ..kernels.target import target_by_name
from ..ode.registry import integrator as integrator_of
from ..ode.rollout import RolloutCode, fixed_step_integrators
from ..recording.recording import Recording
from ..robot import Friction, Robot, require_robot
from ..robot.configurations import neutral
from ..robot.named_arrays import PerTrajectory
from ..robot.symbols import symbols_of
from ..tracing import Input
from ..trajectories.torque_history import TorqueHistory
from . import sampling
from .backend import backend_for, trace_problem
from .base_motions import base_function, trace_base
from .friction_steps import warn_of_long_steps
from .parameters import check_names, parameters_of, unmark
from .preparation import check_numbers, check_positive, prepare, sample_times
from .problem import Problem, torque_shape_error
from .rollout_inputs import refuse_exact_friction, refuse_sampled_laws
from .rollouts import Options, RolloutResult, check_count, compile_rollout_code, refuse_unknown, rollout, run_rollout
from .sampling import history_or_torque
from .simulation import arguments, simulate
from .simulation import refuse_unknown as refuse_unknown_of_simulate
from .traced_functions import TracedFunction, trace_function

SIMULATE, ROLLOUT = "lw.compile(lw.simulate, ...)", "lw.compile(lw.rollout, ...)"
EXPECTED = (
    "expected parameters={{{name!r}: lw.Input(...)}} with the shape that one trajectory has of it, lw.Input(3, 3) for a"
    " matrix, lw.Input() for a number; or numbers"
)
RUN_ARGUMENTS = ("q0", "qd0", "table", "wrench", "stream", "out")  # of a rollout


class CompiledMotion:
    """A robot with frozen options, and the parameters that each run needs."""

    function: ClassVar[str]  # the call that makes it
    frozen: ClassVar[Sequence[str]]  # options that a run cannot change

    def __init__(self, robot: Robot, parameters: Mapping[str, Any], options: Mapping[str, Any], torque: Any) -> None:
        """Parameters of the torque function that are not given keep their defaults."""
        self.robot, self.parameters, self.options = robot, parameters, options
        self.defaults = [name for name in parameters_of(torque) if name not in parameters]

    def run_options(self, parameters: Mapping[str, Any] | None, others: Mapping[str, Any]) -> dict[str, Any]:
        """The options of a run: the frozen ones and its own."""
        for name in others:
            if name in self.frozen:
                raise TypeError(f"{name!r} is frozen in {self!r} (expected it in {self.function})")
        for name in parameters or {}:
            if name in self.defaults:
                raise ValueError(
                    f"parameters: {name!r} has its default in {self!r} (expected parameters={{{name!r}: lw.Input(...)}}"
                    f" in {self.function}, with its shape for one trajectory)"
                )
        numbers = {name: value for name, value in self.parameters.items() if not isinstance(value, Input)}
        return {**self.options, **others, "parameters": {**numbers, **(parameters or {})}}

    @property
    def needed(self) -> dict[str, tuple[int, ...]]:
        """The parameters that each run needs, with their shapes for one trajectory."""
        return {name: value.shape for name, value in self.parameters.items() if isinstance(value, Input)}

    def summary(self, names: Sequence[str]) -> str:
        needed = [f"{name} {shape}" for name, shape in self.needed.items()]
        takes = f"; parameters of a run: {', '.join(needed)}" if needed else ""
        return f"of robot {self.robot.name!r}, frozen{': ' if names else ''}{', '.join(names)}{takes}"


class CompiledSimulation(CompiledMotion):
    """A simulation with frozen torque and event functions: run(q0, qd0, duration) returns a `Recording`.

    Globals, attributes and lists that the functions use were read once, when this was made, and arrays were copied.
    Each run may have its own `duration`, `samples`, `rtol`, steps and `parameters`.
    """

    function = SIMULATE
    frozen = (
        *("torque", "interpolation", "wrench", "point", "axes", "friction", "base", "coordinates", "method"),
        *("integrator", "events", "compiled", "target"),
    )

    def __call__(self, q0: Any, qd0: Any = None, duration: Any = None, **others: Any) -> Recording:
        options = {"duration": None, **self.run_options(others.pop("parameters", None), others)}
        if duration is not None:
            options["duration"] = duration
        return simulate(self.robot, q0, qd0, **options)

    def __repr__(self) -> str:
        return f"<Simulation {self.summary([x for x in self.options if x in self.frozen and self.options[x]])}>"


def compile_simulation(robot: Robot, **options: Any) -> CompiledSimulation:
    """Trace and compile a simulation, `lw.compile(lw.simulate, robot, ...)`.

    Parameters
    ----------
    robot : Robot
    **options
        Arguments of `lw.simulate` except q0 and qd0. Values of `parameters` are numbers, or `lw.Input(...)` for
        numbers that each run is given.

    Returns
    -------
    CompiledSimulation

    Raises
    ------
    UntraceableFunctionError
        A torque or event function cannot be traced.

    Examples
    --------
    >>> import linkwise as lw
    >>> run = lw.compile(lw.simulate, lw.load("planar3"), torque=lw.control.pd_gravity([0.5, -0.3, 0.2], kp=60, kd=20))
    >>> run
    <Simulation of robot 'planar3', frozen: torque>
    >>> run([0, 0, 0], duration=20.0).q[-1].round(4)
    array([ 0.5, -0.3,  0.2])
    """
    refuse_unknown_of_simulate(options, SIMULATE)
    target_by_name(options.get("target", "cpu")).check_run(options.get("threads"))
    inspect.signature(simulate).bind(robot, None, **options)  # raises for q0
    check_run_numbers({**arguments(), **options})
    loads = {name: options.get(name) for name in ("base", "wrench")}
    history = history_or_torque(robot, options.get("torque"), options.pop("interpolation", "cubic"), **loads)
    if isinstance(history, TorqueHistory):
        options["torque"] = history
    problem, laws = compile_problem(robot, {**arguments(), **options})
    parts: tuple[Any, ...] = (*([problem.torque] if problem.torque else []), *laws)
    kept = {name: copy_numbers(value, name) for name, value in options.items()} | {"events": problem.events}
    if problem.base is not None:
        kept["base"] = problem.base
    if isinstance(history, TorqueHistory):
        kept["torque"] = replace(history, law=problem.torque or history.law)
    elif parts:
        kept["torque"] = Sum(parts) if len(parts) > 1 else parts[0]
    law = sampling.split_sampled_laws(options.get("torque"))[0]
    return CompiledSimulation(robot, kept.pop("parameters", None) or {}, kept, law)


def check_run_numbers(options: Mapping[str, Any]) -> None:
    """Check duration, steps, tolerances and samples as a run does; those that are missing may come with the run."""
    scheme = integrator_of(options["integrator"])
    names = ("duration", "rtol", "atol", "dt", "first_step", "max_steps")
    given = {name: options[name] for name in names}
    if given["duration"] is None:
        given["duration"] = 1.0
    if scheme.fixed and given["dt"] is None:
        given["dt"] = 1.0
    numbers = check_numbers(scheme, **given)
    open_end = options["duration"] is None and not is_integer(options["samples"])
    sample_times(options["samples"], math.inf if open_end else numbers["duration"])


def compile_problem(robot: Robot, options: dict[str, Any]) -> tuple[Problem, tuple[Sampled, ...]]:
    """The problem of `simulate` with traced functions and compiled code, and its sampled laws."""
    names = [name for name in inspect.signature(prepare).parameters if name not in ("robot", "q0", "qd0")]
    given = options["parameters"] or {}
    for name, value in given.items():
        if isinstance(value, PerTrajectory):
            raise per_trajectory_error(name, SIMULATE)
    torque = sampling.split_sampled_laws(options["torque"])[0]
    check_names(None if isinstance(torque, TorqueHistory) else torque, given, expected=EXPECTED)
    numbers = {name: np.zeros(value.shape) if isinstance(value, Input) else value for name, value in given.items()}
    options = {**options, "parameters": numbers}
    q0 = neutral(robot) if isinstance(robot, Robot) else None  # `prepare` refuses None
    inputs = prepare(robot, q0, None, **{name: options[name] for name in names})
    problem = trace_problem(inputs.problem, inputs.start, inputs.parameters, None)
    integrator = integrator_of(options["integrator"])
    problem = backend_for(
        problem, integrator, inputs.start, inputs.parameters, None, target_by_name(options["target"])
    ).problem
    return problem, sampling.freeze_laws(inputs.laws, robot)


class CompiledRollout(CompiledMotion):
    """A rollout with a frozen torque function: run(q0, qd0, parameters={...}) returns a `RolloutResult`.

    Globals, attributes and arrays that the function uses were read once, when this was made. Arrays and lists were
    copied; arrays on a GPU are read by each run. Each run may have other numbers. CUDA graphs that captured a run need
    its machine code, which is kept as long as this object.
    """

    function = ROLLOUT
    frozen = ("friction", "base", "integrator", "target", "dtype")  # and a torque function

    def __init__(
        self,
        robot: Robot,
        law: TracedFunction | None,
        parameters: Mapping[str, Any],
        options: Mapping[str, Any],
        torque: Any,
    ) -> None:
        super().__init__(robot, parameters, options, torque)
        self.law = law
        self.solvers: dict[Any, RolloutCode] = {}
        self.warned = False  # whether the warning of steps too long for friction was given
        if (friction := Friction.of(options.get("friction", False))) is not None and "dt" in options:
            symbols = {name: unmark(parameters.get(name)) for name in (symbols_of(robot) if robot.symbolic else ())}
            if all(isinstance(value, (int, float, np.ndarray)) for value in symbols.values()):
                integrator, dt = options.get("integrator", "rk4"), check_positive(dt=options["dt"])["dt"]
                arrays = {name: np.asarray(value, dtype=float) for name, value in symbols.items()}
                self.warned = warn_of_long_steps(robot, friction, dt, integrator, arrays)

    def __call__(
        self, q0: Any, qd0: Any = None, *, parameters: Mapping[str, Any] | None = None, **others: Any
    ) -> RolloutResult:
        if "torque" in others and (self.law is not None or callable(others["torque"])):
            raise TypeError(f"'torque' is frozen in {self!r} (expected it in {ROLLOUT})")
        options = self.run_options(parameters, others)
        refuse_unknown(others, self, Options._fields)
        if self.law is not None:
            options["torque"] = self.law
        for name in ("steps", "dt"):
            if name not in options:
                raise TypeError(f"{name} is missing (expected {name}=..., here or in {ROLLOUT})")
        look = None if self.warned else self.warn_of_friction
        return run_rollout(self.robot, q0, qd0, Options(**options), look, self.solver)

    def solver(self, *key: Any) -> RolloutCode:
        """The machine code of a run, from the few kinds that are kept here."""
        if key not in self.solvers:
            self.solvers[key] = compile_rollout_code(*key)
        return self.solvers[key]

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "solvers": {}}  # machine code is of this process

    def warn_of_friction(self, *given: Any) -> None:
        """Warn once of steps that are too long for friction."""
        self.warned = warn_of_long_steps(*given)

    def __repr__(self) -> str:
        names = ["torque"] * (self.law is not None) + [name for name in self.frozen if name in self.options]
        return f"<Rollout {self.summary(names)}>"

    @property
    def needed(self) -> dict[str, tuple[int, ...]]:
        symbols = symbols_of(self.robot) if self.robot.symbolic else ()
        return super().needed | {name: () for name in symbols if name not in self.parameters}


def compile_rollout(
    robot: Robot, *, torque: Any = None, parameters: Mapping[str, Any] | None = None, **options: Any
) -> CompiledRollout:
    """Trace the torque function of a rollout once, `lw.compile(lw.rollout, robot, ...)`.

    `lw.rollout` traces it at every call, which takes milliseconds. Machine code is made at the first run.

    Parameters
    ----------
    robot : Robot
    torque : callable, optional
        torque(robot, t, q, qd), written with `lw`.
    parameters : mapping from str to number, array_like or Input, optional
        Numbers, or `lw.Input(...)` with the shape for one trajectory, for which each run gives numbers. Parameters of
        the torque function that are missing keep their defaults. Each run gives numbers for missing symbols.
    **options
        `friction`, `base`, `integrator`, `target`, `dtype`. `steps`, `dt`, `every`, `hold` and `threads` may be given
        here or to each run; `table`, `wrench`, `stream` and `out` to each run.

    Returns
    -------
    CompiledRollout

    Examples
    --------
    >>> import numpy as np
    >>> import linkwise as lw
    >>> arm = lw.load("planar3")
    >>> spring = lambda arm, t, q, qd, goal, kp: kp * (goal - q) - 0.5 * qd
    >>> shapes = {"goal": lw.Input(3), "kp": 2.0}
    >>> run = lw.compile(lw.rollout, arm, steps=20, dt=1e-3, torque=spring, parameters=shapes)
    >>> run(np.zeros((1000, 3)), parameters={"goal": [0.1, 0.2, 0.3]})
    <rollout of robot 'planar3': trajectories (1000,), 20 steps of 0.001 s>
    """
    require_robot(robot)
    check_options(robot, options)
    if torque is not None and not callable(torque):
        raise TypeError(
            f"torque is {kind_of(torque)} (expected a torque function; constant torques are given to each"
            " run, and so are histories)"
        )
    refuse_sampled_laws(torque)
    if not isinstance(parameters, (Mapping, NoneType)):
        raise TypeError(
            f"parameters is {describe_value(parameters)} (expected a mapping from names to numbers or lw.Input)"
        )
    given = copy_numbers(parameters or {}, "parameters")
    symbols = symbols_of(robot) if robot.symbolic else ()
    every = {**dict.fromkeys(symbols, Input()), **given}  # symbols without numbers are given to each run
    check_names(torque, every, robot, symbols, EXPECTED)
    for name, x in given.items():
        if isinstance(x, PerTrajectory) and name not in symbols:
            raise per_trajectory_error(name, ROLLOUT)
        if not isinstance(x, Input) and not on_gpu(unmark(x)):
            require_finite(f"parameters: {name!r}", real_array(f"parameters: {name!r}", unmark(x), "float64"))
    shapes = {name: x.shape if isinstance(x, Input) else np.shape(unmark(x)) for name, x in given.items()}
    for name in symbols:
        if isinstance(given.get(name), Input) and shapes[name]:
            raise ValueError(
                f"parameters: {name!r} has the shape {shapes[name]} (expected lw.Input(): it is a symbol of the robot)"
            )
    if options.get("base") is not None:
        options["base"] = trace_base(base_function(options["base"]), robot)
    law = None if torque is None else trace_law(robot, torque, {k: v for k, v in shapes.items() if k not in symbols})
    return CompiledRollout(robot, law, given, options, torque)


def trace_law(robot: Robot, torque: Any, shapes: Mapping[str, tuple[int, ...]]) -> TracedFunction:
    """The torque function, traced with parameters of these shapes."""
    law = trace_function(torque, robot, f"the torque function {function_name(torque)!r}", tuple(sorted(shapes.items())))
    shape = law.program.outputs[0].shape
    if shape != (robot.n,):
        raise torque_shape_error(robot, shape, tuple(sorted(shapes.items())))
    return law


def check_options(robot: Robot, options: Mapping[str, Any]) -> None:
    known = [name for name in inspect.signature(rollout).parameters if name not in ("robot", "unknown", *RUN_ARGUMENTS)]
    for name in options:
        if name in RUN_ARGUMENTS:
            raise TypeError(f"{name!r} is not an argument of {ROLLOUT} (expected it in each run)")
    refuse_unknown(options, ROLLOUT, known)
    target_by_name(options.get("target", "cpu")).check_run(options.get("threads"))
    for name in ("steps", "every", "hold"):
        if options.get(name) is not None:
            check_count(name, options[name])
    if "dt" in options:
        check_positive(dt=options["dt"])
    if (law := Friction.of(options.get("friction", False))) is not None:
        refuse_exact_friction(robot, law)
    one_of(options.get("integrator", "rk4"), fixed_step_integrators(), "integrator")
    one_of(options.get("dtype") or DTYPES[0], DTYPES, "dtype")


def copy_numbers(value: Any, name: str) -> Any:
    """Copy arrays, lists and mappings of them to NumPy, since others may change them; arrays on a GPU stay."""
    if isinstance(value, Mapping):
        return {each: copy_numbers(part, f"{name}: {each!r}") for each, part in value.items()}
    if isinstance(value, PerTrajectory):
        return PerTrajectory(copy_numbers(value.values, name))
    if not isinstance(value, (list, tuple)) and (not has_attribute(value, "__array__") or on_gpu(value)):
        return value
    array = np.array(numpy_array(name, value))
    return value if array.dtype == object else array  # such as events


def per_trajectory_error(name: str, function: str) -> ValueError:
    """The error for marked parameters of a function that is traced before the batch is known."""
    return ValueError(
        f"parameters: {name!r} is marked lw.per_trajectory (expected lw.Input(...) in {function}, with the shape that"
        " one trajectory has of it, and the numbers in each run)"
    )
