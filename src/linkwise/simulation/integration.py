"""Integrate a problem piece by piece until all trajectories have ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..control.sampled_laws import Sampled
from ..kernels.dispatch import current_mode, use_kernels
from ..kernels.target import Target, target_by_name, this_machine
from ..ode.interface import Integrator, Task
from ..ode.registry import integrator
from ..ode.trajectories import Chattering, Trajectories
from ..progress import ProgressDisplay
from .backend import backend_for
from .breaks import breaks_of, integrate_across_breaks
from .mode_changes import integrate_across_mode_changes
from .preparation import check_numbers, sample_times
from .problem import Problem
from .sampling import Sampler


class ProgressCallback:
    """Show progress: called from time to time with all trajectories. `close` ends it."""

    def __init__(self, end: float, shown: bool | None) -> None:
        self.end = end
        self.display = ProgressDisplay.of_long_work(shown)

    def __call__(self, now: Trajectories) -> None:
        if self.display.silent:
            return
        fraction = float(np.mean(np.where(now.status == 0, now.t / self.end, 1.0)))
        line = f"simulate: {fraction:6.1%} after {self.display.seconds:.0f} s"
        self.display.update(fraction, 1.0, f"{len(now.t)} trajectories", line)

    def close(self) -> None:
        self.display.close()


LOG_SIZE = 32  # events of a trajectory that machine code logs before Python reads them


class Run(NamedTuple):
    """The result of an integration: y at the sample times (count, times, size), and the end of each trajectory."""

    problem: Problem  # with the user's functions that acted
    out: np.ndarray
    trajectories: Trajectories
    compiled: bool
    interrupted: BaseException | None
    given_up: dict[int, str]  # trajectories without consistent friction modes, and why
    held: np.ndarray | None = None  # (count, times, n): torques of sampled laws at the sample times


def integrate_with_options(
    problem: Problem, options: Mapping[str, Any], duration: float, start: np.ndarray, parameters: np.ndarray
) -> Run:
    """Integrate with the options of `simulate`; always compiled."""
    scheme, names = integrator(options["integrator"]), ("rtol", "atol", "dt", "first_step", "max_steps")
    numbers = check_numbers(scheme, duration, *(options[name] for name in names))
    times, target = sample_times(options["samples"], duration), target_by_name(options["target"])
    run = integrate_problem(
        problem, scheme, start, parameters, times, numbers, options["threads"], True, False, target=target
    )  # fmt: skip
    if run.interrupted is not None:
        raise run.interrupted
    return run


def integrate_problem(
    problem: Problem,
    scheme: Integrator,
    start: np.ndarray,
    parameters: np.ndarray,
    times: np.ndarray,
    numbers: dict[str, float],
    threads: int | None,
    compiled: bool | None,
    progress: bool | None,
    laws: Sequence[Sampled] = (),
    target: Target | None = None,
) -> Run:
    """Integrate from the start (count, size), each trajectory with its row of parameters; `laws` are sampled."""
    end, first_step = numbers["duration"], min(numbers["step"], numbers["duration"])
    out = np.empty((len(start), len(times), problem.size))
    out.fill(np.nan)  # faster than `np.full`
    trajectories = Trajectories(start, first_step, len(problem.crossings), LOG_SIZE)
    if times[0] == 0.0:
        out[:, 0] = start
        trajectories.next = 1
    problem, solver, in_code = backend_for(problem, scheme, start, parameters, compiled, target or this_machine())
    chattering = None if scheme.fixed else Chattering(numbers["too_far"])
    watch, interrupted = ProgressCallback(end, progress), None
    tolerance = problem.tolerance(numbers.get("atol"), numbers["rtol"])
    task = Task(
        times, out, parameters, numbers["rtol"], tolerance, numbers["most"], chattering, threads, watch,
    )  # fmt: skip
    groups = breaks_of(problem, start, parameters)
    given_up: dict[int, str] = {}

    def integrate(until: float) -> None:
        def piece() -> None:
            integrate_across_breaks(
                trajectories, groups, until, first_step, lambda time: solver.run(trajectories, task, time)
            )

        given_up.update(integrate_across_mode_changes(problem, parameters, trajectories, until, times, out, piece))

    sampler = Sampler(laws, problem, times, len(start), compiled) if laws else None
    try:
        with use_kernels("always" if current_mode() == "auto" else current_mode()):  # counted calls change no bit
            if sampler is None:
                integrate(end)
            else:
                sampler.run(trajectories, parameters, end, first_step, integrate)
    except KeyboardInterrupt as error:
        interrupted = error
    finally:
        if trajectories.log.size:
            trajectories.empty_logs()
        watch.close()
    held = None if sampler is None else sampler.held
    in_code = in_code and (sampler is None or sampler.compiled)
    return Run(problem, out, trajectories, in_code, interrupted, given_up, held)
