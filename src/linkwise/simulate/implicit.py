"""Stiff problems: SciPy's Radau, with the right-hand side and its exact derivative in machine code.

Radau IIA of order 5 (Hairer and Wanner, Solving Ordinary Differential Equations II, section IV.8) is implicit: where an
explicit method must keep its steps shorter than the time in which the fastest spring or friction dies out, it steps
over that, and solves for the state after the step by Newton's method with ∂f/∂y. That comes from the graph of f, as in
`lw.derivative`, up to as many operations as compile in a moment; beyond, SciPy takes differences.

Trajectories of a batch follow one another, each step driven from Python. Samples lie on the polynomial of degree 3
through the stages of a step: near, but not quite as exact as, the steps.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from ..compile import cache
from ..compile.kernel import Interface, Kernel, kernel_text
from ..compile.machine import Code, processor
from ..edge.kernels import LONGEST
from ..edge.recipes import arguments, surroundings
from ..graph import Program, count
from ..graph.derivative import derivative
from ..render.llvm import llvm_text
from ..render.llvm_block import Layout
from ..render.llvm_lanes import DONE, LOST, RUNNING, STUCK
from .plain import Progress
from .problem import Problem

Side = Callable[[Any, np.ndarray], np.ndarray]  # t, y (..., m) -> dy/dt (..., m)
Slope = Callable[[float, np.ndarray], np.ndarray]  # t, y (m,) -> ∂(dy/dt)/∂y (m, m)
Watch = Callable[[Progress], None]
MOMENT = 1.0  # seconds between two looks of the watch


def run_implicit(
    problem: Problem,
    parameters: np.ndarray,
    now: Progress,
    end: float,
    times: np.ndarray,
    out: np.ndarray,
    rtol: float,
    atol: np.ndarray,
    watch: Watch | None = None,
) -> None:
    """Integrate to the end, from wherever `now` is, the right-hand side running in Python."""
    refuse_events(problem)

    def side(k: int) -> Side:
        plain = problem.plain_side(parameters[k : k + 1])

        def found(t: Any, y: np.ndarray) -> np.ndarray:
            if y.ndim == 1:
                return np.asarray(plain(np.array([t]), y[None])[0])
            return np.array([plain(np.array([t]), row[None])[0] for row in y])

        return found

    follow_all(lambda k: (side(k), None), now, end, times, out, rtol, atol, watch)


class ImplicitMachine:
    """A problem's right-hand side and its derivative, compiled."""

    def __init__(self, problem: Problem) -> None:
        refuse_events(problem)
        program = problem.program()
        slope = derivative(program, "y")
        self.side = kernel_of(program, "side")
        self.slope = kernel_of(slope, "slope") if count(slope).total <= LONGEST else None
        sizes = [int(np.prod(given.shape)) for given in problem.parameters.values()]
        self.shapes = [given.shape for given in problem.parameters.values()]
        self.cuts = np.cumsum(sizes)[:-1].tolist()

    def run(
        self,
        now: Progress,
        end: float,
        times: np.ndarray,
        out: np.ndarray,
        parameters: np.ndarray,
        rtol: float,
        atol: np.ndarray,
        threads: int | None = None,
        watch: Watch | None = None,
    ) -> None:
        """Integrate to the end, from wherever `now` is; it is kept up to date, whatever stops the run."""

        def functions(k: int) -> tuple[Side, Slope | None]:
            parts = np.split(parameters[k], self.cuts)[: len(self.shapes)]
            given = [part.reshape(shape).copy() for part, shape in zip(parts, self.shapes, strict=True)]
            exact = self.slope

            def side(t: Any, y: np.ndarray) -> np.ndarray:
                return np.asarray(self.side(np.float64(t), np.ascontiguousarray(y), *given))

            if exact is None:
                return side, None
            return side, lambda t, y: np.asarray(exact(np.float64(t), np.ascontiguousarray(y), *given))

        follow_all(functions, now, end, times, out, rtol, atol, watch)


def refuse_events(problem: Problem) -> None:
    if problem.events:
        raise ValueError("integrator 'radau' searches for no events (expected another integrator, or none of them)")


def kernel_of(program: Program, name: str) -> Kernel:
    target = processor()
    interface = Interface(
        arguments(program.inputs), arguments(program.outputs), "float64", operations=count(program).total
    )
    layouts = [Layout("double", width, target.fused) for width in sorted({1, target.lanes("float64")})]
    text = kernel_text(llvm_text(program, layouts), interface, target)
    key = cache.key(name, text, repr(target), *surroundings())
    kept = cache.load(key)
    code = Code(target, made=kept[1]) if kept else Code(target, text=text)
    if kept is None:
        cache.store(key, {}, code.made)
    return Kernel(name, code, interface)


def follow_all(
    functions: Callable[[int], tuple[Side, Slope | None]],
    now: Progress,
    end: float,
    times: np.ndarray,
    out: np.ndarray,
    rtol: float,
    atol: np.ndarray,
    watch: Watch | None,
) -> None:
    """One trajectory after another, `functions` giving the right-hand side and its derivative of each."""
    radau, looked = scipy_radau(), time.monotonic()
    if now.evaluations is None:
        now.evaluations = np.zeros_like(now.steps)
    for k in np.flatnonzero(now.status == RUNNING).tolist():
        side, slope = functions(k)
        counted = Counted(side, int(now.evaluations[k]))
        options = {"rtol": rtol, "atol": atol, "first_step": min(now.h[k], end - now.t[k])}
        options |= {"jac": slope} if slope else {"vectorized": True}
        try:
            with np.errstate(all="ignore"):
                solver = radau(counted, now.t[k], now.y[k].copy(), end, **options)
                while solver.status == "running":
                    counted.begin()
                    solver.step()
                    refused = counted.tries - (solver.status != "failed")
                    record(now, k, solver, times, out, refused, counted.states)
                    if watch is not None and time.monotonic() - looked > MOMENT:
                        looked = time.monotonic()
                        watch(now)
            now.status[k] = DONE if solver.status == "finished" else LOST if counted.strange else STUCK
        except ValueError as error:
            if "NaN" not in str(error):  # which is what SciPy says of a derivative that is not finite
                raise
            now.status[k] = LOST


class Counted:
    """A right-hand side as SciPy wants it: y is (m,), or (m, states) where differences are taken."""

    def __init__(self, side: Side, states: int = 0) -> None:
        self.side, self.states = side, states  # how many states it was asked for
        self.begin()

    def begin(self) -> None:
        """A step."""
        self.times: set[float] = set()
        self.strange = False  # whether a rate was not finite

    def __call__(self, t: float, y: np.ndarray) -> np.ndarray:
        self.times.add(t)
        self.states += 1 if y.ndim == 1 else y.shape[1]
        found = self.side(t, y) if y.ndim == 1 else self.side(t, y.T).T
        self.strange = self.strange or not np.isfinite(found).all()
        return found

    @property
    def tries(self) -> int:
        """Steps that were tried: each asks at three times of its own, and some once more where they start or end."""
        return max(1, len(self.times) // 3)


def record(
    now: Progress, k: int, solver: Any, times: np.ndarray, out: np.ndarray, refused: int, evaluations: int
) -> None:
    """Steps were tried, and one was made unless all failed: the samples on its way, and where it led."""
    assert now.evaluations is not None
    now.evaluations[k] = evaluations
    now.rejected[k] += refused
    if solver.status == "failed":
        return
    reached = int(np.searchsorted(times, solver.t, side="right"))
    if reached > now.next[k]:
        out[k, now.next[k] : reached] = solver.dense_output()(times[now.next[k] : reached]).T
        now.next[k] = reached
    now.t[k], now.y[k], now.h[k] = solver.t, solver.y, solver.step_size
    now.steps[k] += 1


def scipy_radau() -> Any:
    try:
        from scipy.integrate import Radau
    except ImportError:
        raise ImportError("integrator='radau' needs SciPy: pip install 'linkwise[stiff]'") from None
    return Radau
