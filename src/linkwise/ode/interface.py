"""What an integrator is: it makes a solver for a problem, and the solver integrates trajectories."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np

from ..graph import Program
from .chattering import Chattering
from .events import Crossing
from .lanes import Functions
from .trajectories import Trajectories

Bind = Callable[[np.ndarray], Functions]  # rows of parameters, one for each state -> the functions of such states
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

    def compiled(self, program: Program, crossings: tuple[Crossing, ...]) -> Solver:
        """Machine code, for a program of t, y and parameters; its results are y' and, if there are events, theirs."""

    def cuda(self, program: Program, crossings: tuple[Crossing, ...]) -> Solver:
        """The same for a GPU; a ValueError if it has no such form."""

    def plain(self, bind: Bind, crossings: tuple[Crossing, ...]) -> Solver:
        """Python, over functions of NumPy arrays."""

    def evaluations(self, trajectories: Trajectories) -> np.ndarray:
        """How often the right-hand side was asked for, for steps."""
