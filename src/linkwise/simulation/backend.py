"""Choose the code that integrates a problem: a compiled integrator, NumPy over compiled loops, or Python alone.

The straight-line code of a right-hand side grows with the robot, and its compile time grows faster. Loops over the
links compile quickly for any number of links (`kernels.dispatch`). NumPy then drives the steps and calls functions of
the user as they are, one state at a time.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..api.compiling import compile as compile_kernel
from ..api.functions import bias_torque, forward_dynamics, gravity_torque
from ..api.method_table import LOOP_METHODS
from ..errors import UntraceableFunctionError
from ..graph import count
from ..kernels.dispatch import MAX_STRAIGHT_LINKS
from ..kernels.target import Target
from ..ode.interface import Integrator, Solver
from ..ode.lanes import Functions
from ..printing import warn
from ..robot import Robot, WrenchFrames
from ..tracing import Input
from .problem import Problem, program_of
from .sticking import Point

MAX_OPERATIONS = 40_000  # of a right-hand side: enough for a falling chain of MAX_STRAIGHT_LINKS links


class Backend(NamedTuple):
    """The code that integrates a problem."""

    problem: Problem  # with the user's functions traced, if they can be
    solver: Solver
    compiled: bool  # whether none of its functions runs in Python


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
        if compiled is None and problem.robot.n > MAX_STRAIGHT_LINKS:  # straight-line code is not even tried
            why = f"the robot has {problem.robot.n} links, and these options have no form with loops over them"
        else:
            problem = trace_problem(problem, start, parameters, compiled)
            solver = compile_solver(problem, integrator, target, compiled is True)
            if solver is not None:
                return Backend(problem, solver, True)
            why = f"its right-hand side has more than {MAX_OPERATIONS:,} operations, too many to compile"
        loops = loops_for(problem)
        if loops is not None:
            return plain_backend(problem, integrator, loops)
    except (UntraceableFunctionError, ImportError) as reason:
        if compiled:
            raise
        why = str(reason)
    warn(f"this simulation runs in Python, which is slower: {why}", RuntimeWarning)
    return plain_backend(problem, integrator)


def backend_on(
    target: Target,
    problem: Problem,
    integrator: Integrator,
    start: np.ndarray,
    parameters: np.ndarray,
    compiled: bool | None,
) -> Backend:
    """Compiled code on this target; raise a ValueError if there is none."""
    if compiled is False:
        raise ValueError(f"compiled is False, and target is {target.kind!r} (expected target 'cpu', or compiled code)")
    problem = trace_problem(problem, start, parameters, None)
    solver = compile_solver(problem, integrator, target)
    if solver is None:
        raise ValueError(
            f"the right-hand side has {count(program_of(problem)).total:,} operations (target {target.kind!r} takes at"
            f" most {MAX_OPERATIONS:,}; expected a robot of fewer joints, or target 'cpu')"
        )
    return Backend(problem, solver, True)


def plain_backend(problem: Problem, integrator: Integrator, loops: LoopDynamics | None = None) -> Backend:
    """NumPy drives the steps. The dynamics are compiled loops, or run in Python."""

    def bind(parameters: np.ndarray) -> Functions:
        rhs = problem.batch_rhs(parameters, loops) if loops else problem.plain_rhs(parameters)
        return Functions(rhs, problem.plain_event_values(parameters) if problem.crossings else None)

    return Backend(problem, integrator.array_solver(bind, problem.crossings), loops is not None and problem.frozen)


def trace_problem(problem: Problem, start: np.ndarray, parameters: np.ndarray, compiled: bool | None) -> Problem:
    """The problem with traced functions. A function that also fails with numbers raises its own error."""
    try:
        return problem.with_traced_functions()
    except UntraceableFunctionError as reason:
        if problem.symbols:  # no numbers to call it with
            raise
        if len(start):
            q, v = problem.split(start[0])
            problem.call_functions(q, np.asarray(problem.rates(q, v)), problem.parameters_by_name(parameters[0]))
        if compiled:
            remedy = "Without compiled=True the simulation runs in Python, which is slower"
            raise UntraceableFunctionError(f"{reason}. {remedy}") from reason
        raise


@lru_cache(maxsize=64)
def compile_solver(problem: Problem, integrator: Integrator, target: Target, unlimited: bool = False) -> Solver | None:
    """The compiled integrator of a problem with traced functions; None if its code would be too long."""
    program = program_of(problem)
    if not unlimited and count(program).total > MAX_OPERATIONS:
        return None
    return target.solver(program, integrator, problem.crossings)


def loops_for(problem: Problem) -> LoopDynamics | None:
    """The compiled loops of a problem; None if its dynamics cannot loop over the links."""
    robot = problem.robot
    plain = problem.coordinates == "joint" and problem.sticking is None and not (robot.non_floats or robot.couplings)
    if not plain or problem.base is not None or (problem.method or "fewest") not in LOOP_METHODS["forward_dynamics"]:
        return None
    if isinstance(problem.point, WrenchFrames):
        return None
    return loop_dynamics(problem.robot, problem.method, problem.wrench, problem.point)


@lru_cache(maxsize=16)
def loop_dynamics(
    robot: Robot, method: str | None, wrench: tuple[int, ...] | None, point: Point | None
) -> LoopDynamics:
    return LoopDynamics(robot, method, wrench, point)


class LoopDynamics:
    """Compiled loops, for one robot, of the functions of `api.functions` that a right-hand side calls."""

    def __init__(self, robot: Robot, method: str | None, wrench: tuple[int, ...] | None, point: Point | None) -> None:
        self.bodies = len(robot.names)
        self.tip = [joint.link for joint in robot.moving].index(robot.leaves[0])
        self.on_tip = wrench == (6,)
        loads: dict[str, Any] = {"wrench": Input(self.bodies, 6)} if wrench else {}
        self.points: list[np.ndarray] = []
        if point is not None:
            loads["point"] = Input(self.bodies, 3)
            self.points = [np.zeros((self.bodies, 3))]
            self.points[0][self.tip if self.on_tip else ...] = point
        options: dict[str, Any] = {"method": method} if method else {}
        self.forward = compile_kernel(forward_dynamics, robot, form="loops", **options, **loads)
        if wrench:
            self.gravity = compile_kernel(gravity_torque, robot, form="loops")
            self.bias = compile_kernel(bias_torque, robot, form="loops", **loads)

    def forward_dynamics(self, _: Robot, q: Any, qd: Any, tau: Any, wrench: Any = None, **__: Any) -> Any:
        """Method and point are fixed."""
        return self.forward(q, qd, tau, *self.loads(q, wrench))

    def gravity_torque(self, _: Robot, q: Any) -> Any:
        return self.gravity(q)

    def bias_torque(self, _: Robot, q: Any, qd: Any, wrench: Any, *, point: Any) -> Any:
        return self.bias(q, qd, *self.loads(q, wrench))

    def loads(self, q: np.ndarray, wrench: Any) -> list[np.ndarray]:
        """The wrench on every link (..., m, 6), also if it acts on the tip, and the points, if any."""
        if wrench is None:
            return []
        if not self.on_tip:
            return [wrench, *self.points]
        every = np.zeros((*q.shape[:-1], self.bodies, 6))
        every[..., self.tip, :] = wrench
        return [every, *self.points]
