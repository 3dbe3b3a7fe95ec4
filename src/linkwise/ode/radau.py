"""Stiff problems: SciPy's Radau, with the right-hand side and its exact derivative in machine code.

Radau IIA of order 5 (Hairer and Wanner, Solving Ordinary Differential Equations II, section IV.8) is implicit: where an
explicit method must keep its steps shorter than the time in which the fastest spring or friction dies out, it steps
over that, and solves for the state after the step by Newton's method with ∂f/∂y. That comes from the graph of f, as in
`lw.derivative`, up to as many operations as compile in a moment; beyond, SciPy takes differences.

Trajectories of a batch follow one another, each step driven from Python. Samples lie on the polynomial of degree 3
through the stages of a step: near, but not quite as exact as, the steps. Events are searched for on it too, as in
`search` and by halving; one that does not stop leaves the step as it is.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..codegen.llvm.events import TRIALS, Crossing
from ..codegen.llvm.lanes import DONE, HALTED, LOST, RUNNING, STUCK, TOO_MANY
from ..graph import Program, count
from ..graph.derivative import derivative
from ..kernels.dispatch import LONGEST
from ..kernels.host import host_target
from ..kernels.interface import Interface, arguments
from ..kernels.kernel import Kernel
from ..kernels.loader import load_or_compile
from ..simulate.long import LoopDynamics
from ..simulate.problem import Problem
from .chattering import Bounds
from .numpy_driver import Progress
from .search import ahead, begun, look_closely, remembered

Side = Callable[[Any, np.ndarray], np.ndarray]  # t, y (..., m) -> dy/dt (..., m)
Slope = Callable[[float, np.ndarray], np.ndarray]  # t, y (m,) -> ∂(dy/dt)/∂y (m, m)
Gauge = Side  # -> the values of the events (..., e)
Curve = Callable[[Any], np.ndarray]  # t within a step -> y
Watch = Callable[[Progress], None]
MOMENT = 1.0  # seconds between two looks of the watch


class Functions(NamedTuple):
    """Of one trajectory; without `slope` differences are taken, without `gauge` no events are looked for."""

    side: Side
    slope: Slope | None = None
    gauge: Gauge | None = None


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
    loops: LoopDynamics | None = None,
    bounds: Bounds | None = None,
) -> None:
    """Integrate to the end, from wherever `now` is, the right-hand side running in Python, or in compiled loops."""

    def functions(k: int) -> Functions:
        plain, events = problem.plain_side(parameters[k : k + 1]), problem.plain_gauge(parameters[k : k + 1])

        def side(t: Any, y: np.ndarray) -> np.ndarray:
            if y.ndim == 1:
                return np.asarray(plain(np.array([t]), y[None])[0])
            return np.array([plain(np.array([t]), row[None])[0] for row in y])

        def gauge(t: Any, y: np.ndarray) -> np.ndarray:
            if y.ndim == 1:
                return np.asarray(events(np.array([t]), y[None])[0])
            return np.array([events(np.array([time]), row[None])[0] for time, row in zip(t, y, strict=True)])

        all_at_once = problem.batch_side(parameters[k], loops) if loops else side
        return Functions(all_at_once, None, gauge if problem.crossings else None)

    follow_all(functions, problem.crossings, now, end, times, out, rtol, atol, watch, bounds or Bounds())


class ImplicitMachine:
    """A problem's right-hand side and its derivative, compiled; its events too."""

    def __init__(self, problem: Problem, program: Program | None = None) -> None:
        program = program or problem.program()
        rates, *events = (result_of(program, k) for k in range(len(program.outputs)))
        slope = derivative(rates, "y") if count(rates).total <= LONGEST else None  # which is longer still
        self.problem = problem
        self.side = kernel_of(rates, "side")
        self.slope = kernel_of(slope, "slope") if slope and count(slope).total <= LONGEST else None
        self.gauge = kernel_of(events[0], "gauge") if events else None

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
        bounds: Bounds | None = None,
    ) -> None:
        """Integrate to the end, from wherever `now` is; it is kept up to date, whatever stops the run."""

        def functions(k: int) -> Functions:
            given = [part.copy() for part in self.problem.given(parameters[k]).values()]

            def at(kernel: Kernel) -> Side:
                return lambda t, y: np.asarray(kernel(np.asarray(t, float), np.ascontiguousarray(y), *given))

            return Functions(at(self.side), self.slope and at(self.slope), self.gauge and at(self.gauge))

        follow_all(functions, self.problem.crossings, now, end, times, out, rtol, atol, watch, bounds or Bounds())


def result_of(program: Program, which: int) -> Program:
    """A program of one of the results alone."""
    graph = program.nodes[0].graph
    return Program.of(graph, program.inputs, [program.outputs[which]], [program.results[which]])


def kernel_of(program: Program, name: str) -> Kernel:
    target = host_target()
    interface = Interface(
        arguments(program.inputs), arguments(program.outputs), "float64", operations=count(program).total
    )
    return Kernel(name, load_or_compile(name, target.text(program, interface), target), interface)


def follow_all(
    functions: Callable[[int], Functions],
    crossings: tuple[Crossing, ...],
    now: Progress,
    end: float,
    times: np.ndarray,
    out: np.ndarray,
    rtol: float,
    atol: np.ndarray,
    watch: Watch | None,
    bounds: Bounds,
) -> None:
    """One trajectory after another, `functions` giving those of each."""
    radau, looked = scipy_radau(), time.monotonic()
    if now.evaluations is None:
        now.evaluations = np.zeros_like(now.steps)
    for k in np.flatnonzero(now.status == RUNNING).tolist():
        side, slope, gauge = functions(k)
        search = None if gauge is None else Search(gauge, crossings, now, k)
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
                    change = solver.y - now.y
                    record(now, k, solver, times, out, refused, counted.states, search)
                    if now.status[k] == RUNNING and solver.status == "running":
                        if bounds.chattering is not None:
                            bounds.chattering.watch(now, np.array([k]), change, end)
                        if now.status[k] == RUNNING and now.steps[k] + now.rejected[k] >= bounds.most:
                            now.status[k] = TOO_MANY
                    if now.status[k] != RUNNING:
                        break
                    if watch is not None and time.monotonic() - looked > MOMENT:
                        looked = time.monotonic()
                        watch(now)
            if now.status[k] == RUNNING:
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


class Search:
    """The events of trajectory k, which are noted as they are met; `now` says where it was before a step."""

    def __init__(self, gauge: Gauge, crossings: tuple[Crossing, ...], now: Progress, k: int) -> None:
        self.gauge, self.crossings, self.now, self.k = gauge, crossings, now, k
        self.before = now.values[k] = begun(now.values[k], gauge(now.t[k], now.y[k]))
        self.inside = any(crossing.inside for crossing in crossings)

    def meet(self, curve: Curve, end: float, state: np.ndarray) -> float | None:
        """The events on the way to the end of a step, one after another; the time of one that stops."""
        start = float(self.now.t[self.k])
        while start < end:
            until, there = self.shortened(curve, start, end, state)
            until, there = self.first(curve, start, until, there)
            values = self.gauge(until, there)
            which = ahead(self.crossings, self.before, values) >= 0
            self.before = self.now.values[self.k] = remembered(self.crossings, self.before, values)
            if which.any():
                self.now.note(self.k, until, which, there)
            if any(crossing.stop and met for crossing, met in zip(self.crossings, which, strict=True)):
                return until
            start = until
        return None

    def shortened(self, curve: Curve, start: float, end: float, state: np.ndarray) -> tuple[float, np.ndarray]:
        """The end of a step; or where an event is beyond zero, or nearly so, within it."""
        if not self.inside:
            return end, state

        def values_at(parts: np.ndarray) -> np.ndarray:
            times = start + parts[:, 0] * (end - start)
            return self.gauge(times, curve(times).T)[:, None]

        part = float(look_closely(self.crossings, self.before[None], np.array([True]), values_at)[0])
        until = start + part * (end - start)
        return (until, curve(until)) if part < 1.0 and start < until < end else (end, state)

    def first(self, curve: Curve, start: float, end: float, state: np.ndarray) -> tuple[float, np.ndarray]:
        """Where the first event between two times is met, by halving; the end if there is none."""
        if not self.past(self.gauge(end, state)):
            return end, state
        low, high = start, end
        for _ in range(TRIALS):
            middle = 0.5 * (low + high)
            low, high = (low, middle) if self.past(self.gauge(middle, curve(middle))) else (middle, high)
        return (high, curve(high)) if high < end else (end, state)

    def past(self, values: np.ndarray) -> bool:
        return bool((ahead(self.crossings, self.before, values) >= 0).any())


def record(
    now: Progress,
    k: int,
    solver: Any,
    times: np.ndarray,
    out: np.ndarray,
    refused: int,
    evaluations: int,
    search: Search | None,
) -> None:
    """Steps were tried, and one was made unless all failed: the samples and events on its way, and where it led."""
    assert now.evaluations is not None
    now.evaluations[k] = evaluations
    now.rejected[k] += refused
    if solver.status == "failed":
        return
    curve = solver.dense_output()
    t, y = solver.t, solver.y
    stopped = None if search is None else search.meet(curve, t, y)
    if stopped is not None:
        now.status[k] = HALTED
        t, y = stopped, y if stopped == t else curve(stopped)
    reached = int(np.searchsorted(times, t, side="right"))
    if reached > now.next[k]:
        out[k, now.next[k] : reached] = curve(times[now.next[k] : reached]).T
        now.next[k] = reached
    now.t[k], now.y[k], now.h[k] = t, y, solver.step_size
    now.steps[k] += 1


def scipy_radau() -> Any:
    try:
        from scipy.integrate import Radau
    except ImportError:
        raise ImportError("integrator='radau' needs SciPy: pip install 'linkwise[stiff]'") from None
    return Radau
