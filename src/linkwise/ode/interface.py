"""The interface of integrators: an integrator makes a solver of a problem, and the solver integrates trajectories."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..graph import Program
from .events import Crossing
from .lanes import Chattering, Function, Functions, Trajectories
from .methods import Method

NAMES = ("rhs", "event_values")  # of the results of a program
Bind = Callable[[np.ndarray], Functions]  # rows of parameters, one for each state -> functions of such states
FunctionOf = Callable[[Program, str], Callable[..., Any]]  # of a target: program, name -> function of arrays
Watch = Callable[[Trajectories], None]  # called from time to time with all trajectories; may raise to stop


class Task(NamedTuple):
    """The sample times, tolerances and bounds of an integration."""

    times: np.ndarray
    out: np.ndarray  # (count, times, size)
    parameters: np.ndarray  # a row for each trajectory
    rtol: float
    atol: np.ndarray  # for each number of the state
    max_steps: float = math.inf  # of each trajectory, refused ones included
    chattering: Chattering | None = None  # for integrations driven by Python
    threads: int | None = None
    watch: Watch | None = None


class Solver(Protocol):
    """An integrator of one problem."""

    def run(self, trajectories: Trajectories, task: Task, end: float) -> None:
        """Integrate all trajectories to `end`. They are up to date even if an error is raised."""


class Integrator(Protocol):
    """One of `integrators()`."""

    def __hash__(self) -> int: ...
    @property
    def name(self) -> str: ...
    @property
    def fixed(self) -> bool:
        """Whether the user sets the step."""

    @property
    def method(self) -> Method | None:
        """The tableau, which targets compile together with a right-hand side; None: Python drives the steps."""

    def array_solver(self, bind: Bind, crossings: tuple[Crossing, ...]) -> Solver:
        """A solver over functions of NumPy arrays."""

    def program_solver(self, program: Program, function_of: FunctionOf, crossings: tuple[Crossing, ...]) -> Solver:
        """A solver of a program of t, y and parameters; its results are y' and, if any, the values of events."""

    def evaluations(self, trajectories: Trajectories) -> np.ndarray:
        """The evaluations of the right-hand side for steps."""


def result_of(program: Program, which: int) -> Program:
    """The program of one result."""
    graph = program.nodes[0].graph
    return Program.of(graph, program.inputs, [program.outputs[which]], [program.results[which]])


def bind_program(program: Program, function_of: FunctionOf) -> Bind:
    """The functions of a program, to be bound to rows of parameters."""
    rates, *events = (function_of(result_of(program, k), name) for k, name in enumerate(NAMES[: len(program.outputs)]))
    ports = program.inputs[2:]

    def bind(parameters: np.ndarray) -> Functions:
        ends = np.cumsum([port.size for port in ports])[:-1]
        parts = zip(ports, np.split(parameters, ends, axis=1) if ports else [], strict=True)
        arrays = [np.ascontiguousarray(part).reshape(-1, *port.shape) for port, part in parts]

        def at(function: Callable[..., Any]) -> Function:
            def values(t: np.ndarray, y: np.ndarray) -> np.ndarray:
                return np.asarray(function(np.broadcast_to(t, len(y)), y, *arrays))

            return values

        return Functions(at(rates), *map(at, events))

    return bind
