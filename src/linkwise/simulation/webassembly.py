"""`lw.wasm(lw.simulate, ...)`: a simulation as a WebAssembly module."""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import one_of
from ..kernels.lock import LOCK
from ..ode.lanes import CODES, RECORD, Trajectories
from ..ode.registry import RungeKutta, members
from ..ode.registry import integrator as integrator_of
from ..robot import Robot
from ..robot.configurations import neutral
from ..robot.named_arrays import PerTrajectory
from ..robot.symbols import bind, symbols_of
from ..targets.wasm.module import heap_of, with_data, with_interface
from ..targets.wasm.solver import Block, driver_module
from .backend import trace_problem
from .breaks import breaks_of
from .friction_steps import warn_of_long_steps
from .parameters import PREFIX, check_names, real_numbers
from .preparation import SimulationInputs, check_numbers, prepare
from .problem import Problem, program_of
from .sampling import history_of, split_sampled_laws
from .simulation import arguments, refuse_unknown

WASM = "lw.wasm(lw.simulate, ...)"
NUMBER = 8  # bytes
FOREVER = 1 << 62
NOT_IN_MODULES = ("duration", "samples", "threads", "compiled", "progress", "target")  # arguments of `simulate`


def wasm_simulation(robot: Robot, q0: Any = None, qd0: Any = None, **options: Any) -> bytes:
    """A module that continues the simulation from call to call: `lw.wasm(lw.simulate, robot, ...)`."""
    for name in NOT_IN_MODULES:
        if name in options:
            raise TypeError(f"{WASM} has no argument {name!r} (expected it in the calls of the module)")
    refuse_unknown(options, WASM, NOT_IN_MODULES)
    options = {**arguments(), **options}
    explicit = [name for name, scheme in members().items() if isinstance(scheme, RungeKutta)]
    one_of(options["integrator"], explicit, "integrator")
    scheme = integrator_of(options["integrator"])
    assert isinstance(scheme, RungeKutta)
    numbers = check_numbers(scheme, 1.0, *(options[name] for name in ("rtol", "atol", "dt", "first_step", "max_steps")))
    if isinstance(robot, Robot) and history_of(robot, options["torque"], "cubic") is not None:
        raise ValueError("torque is a history, which modules do not have (expected a torque function of t)")
    inputs = prepare_with_symbols(robot, q0, qd0, options)
    if inputs.batch:
        raise ValueError(f"the arrays have the batch shape {inputs.batch} (expected one trajectory)")
    if scheme.fixed and inputs.problem.friction is not None:
        values = inputs.parameters[0, -len(inputs.problem.symbols) :] if inputs.problem.symbols else ()
        symbols = dict(zip(inputs.problem.symbols, values, strict=True))
        warn_of_long_steps(robot, inputs.problem.friction, numbers["step"], scheme.name, symbols)
    with LOCK:
        problem = trace_problem(inputs.problem, inputs.start, inputs.parameters, None)
        refuse_what_python_drives(problem, bool(inputs.laws), inputs.start, inputs.parameters)
        binary, block = driver_module(program_of(problem), scheme.method)
    trajectory = Trajectories(inputs.start, numbers["step"])
    most = FOREVER if math.isinf(numbers["most"]) else int(numbers["most"])
    tolerance = problem.tolerance(numbers.get("atol"), numbers["rtol"])
    filled = block.filled(trajectory.with_parameters(inputs.parameters)[0], numbers["rtol"], tolerance, most)
    content = filled.tobytes().rstrip(b"\0")  # memory is zero at first
    module = with_data(binary, content, filled.nbytes - len(content), 0)
    about = {"version": 1, "function": "simulation", "dtype": "float64", "robot": robot.name, "integrator": scheme.name}
    place = heap_of(binary)
    described = {"simulation": place, "codes": CODES, "numbers": number_entries(problem, block, place)}
    return with_interface(module, about | described)


def prepare_with_symbols(robot: Robot, q0: Any, qd0: Any, options: Mapping[str, Any]) -> SimulationInputs:
    """As `prepare`; the symbols of the robot are parameters after all others."""
    names = [name for name in inspect.signature(prepare).parameters if name not in ("robot", "q0", "qd0")]
    wanted = {name: options[name] for name in names if name in options}
    start = neutral(robot) if q0 is None and isinstance(robot, Robot) else q0
    symbols = symbols_of(robot) if isinstance(robot, Robot) and robot.symbolic else ()
    given = dict(wanted["parameters"] or {})
    check_names(split_sampled_laws(wanted["torque"])[0], given, robot, symbols)
    if not symbols:
        return prepare(robot, start, qd0, **wanted)
    values = {name: check_one_number(name, given.pop(name)) for name in symbols}
    bound = bind(robot, **values)
    inputs = prepare(bound, start, qd0, **{**wanted, "parameters": given})
    if inputs.problem.sticking is not None:  # refused later, by name
        return inputs
    columns = np.tile(list(values.values()), (len(inputs.start), 1))
    return inputs._replace(
        problem=replace(inputs.problem, robot=robot, symbols=symbols, like=bound),
        parameters=np.concatenate([inputs.parameters, columns], axis=1),
    )


def check_one_number(name: str, value: Any) -> float:
    array = real_numbers(name, value)
    if array.shape or isinstance(value, PerTrajectory):
        raise ValueError(
            f"parameters: {name!r} has shape {array.shape} (expected a number: it is a symbol of the robot)"
        )
    return float(array)


def refuse_what_python_drives(problem: Problem, laws: bool, start: np.ndarray, parameters: np.ndarray) -> None:
    """Raise a ValueError for what Python does between calls of the driver, since a module has the driver alone."""
    of_torque, of_base = (
        any(len(times) for _, times in breaks_of(part, start, parameters))
        for part in (replace(problem, base=None), replace(problem, torque=None))
    )
    has = [
        ("events", bool(problem.events), "none: test q and qd after each advance"),
        ("exact friction", problem.sticking is not None, "lw.Friction with smooth above 0"),
        ("a sampled law", laws, "torque= an array of constant torques, and `tau` written after each advance"),
        ("a torque that jumps in time", of_torque, "torque= an array, and `tau` written at these times"),
        ("a motion of the base that jumps in time", of_base, "a function of t without jumps"),
        ("quasi-velocities", problem.coordinates != "joint", "coordinates='joint'"),
    ]
    for what, there, expected in has:
        if there:
            raise ValueError(f"a simulation with {what} has no form in WebAssembly (expected {expected})")


def number_entries(problem: Problem, block: Block, place: int) -> list[dict[str, Any]]:
    """Names, shapes and offsets of the numbers of a simulation in the memory of the module."""

    def entry(name: str, at: int, shape: tuple[int, ...] = (), kind: str = "float64") -> dict[str, Any]:
        return {"name": name, "type": kind, "shape": list(shape), "offset": place + NUMBER * at}

    kinds = {float: "float64", int: "int64"}
    fields = [
        entry(name, block.record + k, kind=kinds[kind])
        for k, (name, kind) in enumerate(RECORD.items())
        if name not in ("error", "refused", "next", "logged")  # of the driver
    ]
    nq, n = problem.robot.nq, problem.robot.n
    state = [entry("q", block.y, (nq,)), entry("qd", block.y + nq, (n,))]
    if problem.has_energy_balance:
        state += [entry("work", block.y + nq + n), entry("heat", block.y + nq + n + 1)]
    shapes, parameters = problem.parameters, []
    for name, part in problem.columns.items():
        parameters.append(
            entry(
                name if name in problem.symbols else name.removeprefix(PREFIX),
                block.first_parameter + part.start,
                shapes[name].shape,
            )
        )
    settings = [entry("rtol", 0), entry("max_steps", 1, kind="int64")]
    every = [*settings, *fields, *state, *parameters, entry("atol", block.tolerance, (block.size,))]
    names = [number["name"] for number in every]
    for name in names:
        if names.count(name) > 1:
            whose = "symbol of the robot" if name in problem.symbols else "parameter of the torque function"
            raise ValueError(
                f"{name!r}, a {whose}, is also the name of another number of the module (expected another name)"
            )
    return every
