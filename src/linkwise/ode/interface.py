"""What an integrator is: it makes a solver for a problem, and the solver integrates trajectories."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..graph import Program
from .chattering import Chattering
from .events import Crossing
from .lanes import Function, Functions
from .methods import Method
from .trajectories import Trajectories

NAMES = ("rhs", "event_values")  # of the results of a program
Bind = Callable[[np.ndarray], Functions]  # rows of parameters, one for each state -> the functions of such states
FunctionOf = Callable[[Program, str], Callable[..., Any]]  # of a target: a program, with a name, on arrays
Watch = Callable[[Trajectories], None]  # told where all trajectories are, now and then; may raise to stop


class Task(NamedTuple):
    """What is asked for: samples at the times, within the tolerances and bounds."""

    times: np.ndarray
    out: np.ndarray  # (count, times, size)
    parameters: np.ndarray  # a row for each trajectory
    rtol: float
    atol: np.ndarray  # of each number of the state
    max_steps: float = math.inf  # of each trajectory, refused ones with them
    chattering: Chattering | None = None  # watches integrations that Python drives; machine code is fast enough without
    threads: int | None = None
    watch: Watch | None = None


class Solver(Protocol):
    """An integrator of one problem."""

    def run(self, trajectories: Trajectories, task: Task, end: float) -> None:
        """Integrate to the end, from wherever they are. `trajectories` are up to date, even if an error is raised."""


class Integrator(Protocol):
    """One of `integrators()`."""

    def __hash__(self) -> int: ...
    @property
    def name(self) -> str: ...
    @property
    def fixed(self) -> bool:
        """Whether its step is the user's."""

    @property
    def method(self) -> Method | None:
        """Its tableau, which targets compile together with a right-hand side; None: Python drives its steps."""

    def plain(self, bind: Bind, crossings: tuple[Crossing, ...]) -> Solver:
        """Over functions of NumPy arrays."""

    def over(self, program: Program, function_of: FunctionOf, crossings: tuple[Crossing, ...]) -> Solver:
        """Over a program of t, y and parameters, whose results are y' and, if there are events, their values."""

    def evaluations(self, trajectories: Trajectories) -> np.ndarray:
        """How often the right-hand side was asked for, for steps."""


def result_of(program: Program, which: int) -> Program:
    """A program of one of the results alone."""
    graph = program.nodes[0].graph
    return Program.of(graph, program.inputs, [program.outputs[which]], [program.results[which]])


def bind_program(program: Program, function_of: FunctionOf) -> Bind:
    """The functions of a program, with rows of parameters."""
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
