"""Which code integrates a problem: a compiled integrator, NumPy over compiled loops, or Python alone."""

from __future__ import annotations

import warnings
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ..graph import count
from ..ode.compiled import MachineIntegrator
from ..ode.methods import RADAU
from ..ode.methods import method as tableau
from ..ode.radau import ImplicitMachine
from .long import MOST_OPERATIONS, LoopDynamics, is_long, loops_for
from .problem import Problem, program_of
from .traced import UntraceableFunctionError


class Backend(NamedTuple):
    """How a problem is integrated: by a compiled integrator; or in NumPy, over compiled loops; or all in Python."""

    problem: Problem  # with the user's functions as they are now, where they were traced
    machine: MachineIntegrator | ImplicitMachine | None = None
    loops: LoopDynamics | None = None


def backend_for(
    problem: Problem, integrator: str, start: np.ndarray, parameters: np.ndarray, compiled: bool | None
) -> Backend:
    if compiled is False:
        return Backend(problem)
    try:
        if compiled is None and is_long(problem.robot):
            why = f"the robot has {problem.robot.n} links, and these options have no form with loops over them"
        else:
            problem = freshly_traced(problem, start, parameters, compiled)
            machine = machine_of(problem, integrator, compiled is True)
            if machine is not None:
                return Backend(problem, machine)
            why = f"its right-hand side has more than {MOST_OPERATIONS:,} operations, too many to compile"
        loops = loops_for(problem)
        if loops is not None:
            return Backend(problem, None, loops)
    except (UntraceableFunctionError, ImportError) as reason:
        if compiled:
            raise
        why = str(reason)
    warnings.warn(f"this simulation runs in Python, which is slower: {why}", RuntimeWarning, stacklevel=4)
    return Backend(problem)


def freshly_traced(problem: Problem, start: np.ndarray, parameters: np.ndarray, compiled: bool | None) -> Problem:
    """The problem with its functions as they are now. What is wrong with one on numbers too is raised as it is."""
    try:
        return problem.traced()
    except UntraceableFunctionError as reason:
        if problem.symbols:  # there are no numbers to try it on
            raise
        if len(start):
            n = problem.robot.n
            q, v = start[0, :n], start[0, n : 2 * n]
            problem.call_functions(q, np.asarray(problem.rates(q, v)), problem.given(parameters[0]))
        if compiled:
            remedy = "Without compiled=True the simulation runs in Python, which is slower"
            raise UntraceableFunctionError(f"{reason}. {remedy}") from reason
        raise


@lru_cache(maxsize=64)
def machine_of(
    problem: Problem, integrator: str, however_long: bool = False
) -> MachineIntegrator | ImplicitMachine | None:
    """The compiled integrator of a problem whose functions are frozen, or None where its code would be too long."""
    program = program_of(problem)
    if not however_long and count(program).total > MOST_OPERATIONS:
        return None
    if integrator == RADAU:
        return ImplicitMachine(problem, program)
    return MachineIntegrator(program, tableau(integrator), problem.crossings)
