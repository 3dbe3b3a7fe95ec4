"""Which code integrates a problem: a compiled integrator, NumPy over compiled loops, or Python alone."""

from __future__ import annotations

import warnings
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ..graph import count
from ..kernels.target import Target
from ..ode.interface import Integrator, Solver
from ..ode.lanes import Functions
from .loop_dynamics import MOST_OPERATIONS, LoopDynamics, is_long, loops_for
from .problem import Problem, program_of
from .traced import UntraceableFunctionError


class Backend(NamedTuple):
    """How a problem is integrated."""

    problem: Problem  # with the user's functions as they are now, where they were traced
    solver: Solver
    compiled: bool  # whether no function of it runs in Python


def backend_for(
    problem: Problem,
    integrator: Integrator,
    start: np.ndarray,
    parameters: np.ndarray,
    compiled: bool | None,
    target: Target,
) -> Backend:
    if not target.python_takes_over:
        return backend_on(target, problem, integrator, start, parameters, compiled)
    if compiled is False:
        return plain_backend(problem, integrator)
    try:
        if compiled is None and is_long(problem.robot):
            why = f"the robot has {problem.robot.n} links, and these options have no form with loops over them"
        else:
            problem = freshly_traced(problem, start, parameters, compiled)
            solver = compiled_solver(problem, integrator, target, compiled is True)
            if solver is not None:
                return Backend(problem, solver, True)
            why = f"its right-hand side has more than {MOST_OPERATIONS:,} operations, too many to compile"
        loops = loops_for(problem)
        if loops is not None:
            return plain_backend(problem, integrator, loops)
    except (UntraceableFunctionError, ImportError) as reason:
        if compiled:
            raise
        why = str(reason)
    warnings.warn(f"this simulation runs in Python, which is slower: {why}", RuntimeWarning, stacklevel=4)
    return plain_backend(problem, integrator)


def backend_on(
    target: Target,
    problem: Problem,
    integrator: Integrator,
    start: np.ndarray,
    parameters: np.ndarray,
    compiled: bool | None,
) -> Backend:
    """On this target, or not at all."""
    if compiled is False:
        raise ValueError(f"compiled is False, and target is {target.kind!r} (expected target 'cpu', or compiled code)")
    problem = freshly_traced(problem, start, parameters, None)
    solver = compiled_solver(problem, integrator, target)
    if solver is None:
        raise ValueError(
            f"the right-hand side has {count(program_of(problem)).total:,} operations (target {target.kind!r} takes at"
            f" most {MOST_OPERATIONS:,}; expected a robot of fewer joints, or target 'cpu')"
        )
    return Backend(problem, solver, True)


def plain_backend(problem: Problem, integrator: Integrator, loops: LoopDynamics | None = None) -> Backend:
    """NumPy drives; dynamics are those of `loops`, or run in Python."""

    def bind(parameters: np.ndarray) -> Functions:
        rhs = problem.batch_rhs(parameters, loops) if loops else problem.plain_rhs(parameters)
        return Functions(rhs, problem.plain_event_values(parameters) if problem.crossings else None)

    return Backend(problem, integrator.plain(bind, problem.crossings), loops is not None and problem.frozen)


def freshly_traced(problem: Problem, start: np.ndarray, parameters: np.ndarray, compiled: bool | None) -> Problem:
    """The problem with its functions as they are now. What is wrong with one on numbers too is raised as it is."""
    try:
        return problem.traced()
    except UntraceableFunctionError as reason:
        if problem.symbols:  # there are no numbers to try it on
            raise
        if len(start):
            q, v = problem.split(start[0])
            problem.call_functions(q, np.asarray(problem.rates(q, v)), problem.parameters_by_name(parameters[0]))
        if compiled:
            remedy = "Without compiled=True the simulation runs in Python, which is slower"
            raise UntraceableFunctionError(f"{reason}. {remedy}") from reason
        raise


@lru_cache(maxsize=64)
def compiled_solver(problem: Problem, integrator: Integrator, target: Target, unlimited: bool = False) -> Solver | None:
    """The compiled integrator of a problem whose functions are frozen, or None where its code would be too long."""
    program = program_of(problem)
    if not unlimited and count(program).total > MOST_OPERATIONS:
        return None
    return target.solver(program, integrator, problem.crossings)
