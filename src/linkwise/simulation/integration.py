"""Integrate a problem piece by piece until all trajectories have ended.

Integrate joints with exact friction from one change of their modes to the next (see `sticking`).

An integrator runs until the modes of a trajectory end, which is an event that recordings do not show. Then rates that
reached zero are set to zero, modes are decided, and the trajectory continues. Each trajectory of a batch has its own
modes. A trajectory whose modes change on and on while time stands still is given up.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..control.sampled_laws import Sampled
from ..kernels.dispatch import current_mode, use_kernels
from ..kernels.target import Target, target_by_name, this_machine
from ..ode.interface import Integrator, Task
from ..ode.lanes import CHATTERING, RUNNING, STOPPED, Chattering, Trajectories
from ..ode.registry import integrator
from ..progress import ProgressDisplay
from .backend import backend_for
from .base_motions import motion_at
from .breaks import breaks_of, integrate_across_breaks
from .preparation import check_numbers, sample_times
from .problem import Problem
from .sampling import HistoryPlayer, Sampler
from .sticking import ModeDecision, Sticking

# a trajectory is given up after so many changes within so many seconds, or within this part of a run below 1 s
CHANGES, MOMENT = 200, 1e-4


def integrate_across_mode_changes(
    problem: Problem,
    parameters: np.ndarray,
    trajectories: Trajectories,
    end: float,
    times: np.ndarray,
    out: np.ndarray,
    integrate: Callable[[], None],
) -> dict[int, str]:
    """Integrate across all changes of modes; return the trajectories that were given up, and why."""
    if problem.sticking is None:
        integrate()
        return {}
    modes = ModeChanges(problem, problem.sticking, parameters, trajectories, end)
    changing = np.arange(len(trajectories.t))
    while changing.size:
        modes.decide_and_restart(changing, times, out)
        running = trajectories.status == RUNNING
        try:
            integrate()
        finally:
            changing = modes.resume(np.flatnonzero(running & (trajectories.status == STOPPED)))
    return modes.given_up


class ModeChanges:
    """The friction modes of all trajectories, and their changes."""

    def __init__(
        self, problem: Problem, sticking: Sticking, parameters: np.ndarray, trajectories: Trajectories, end: float
    ) -> None:
        n, self.v = problem.robot.n, slice(problem.robot.nq, problem.rest)
        self.problem, self.sticking, self.trajectories, self.end = problem, sticking, trajectories, end
        self.parameters = problem.parameters_by_name(parameters)
        self.modes = parameters[:, problem.columns["modes"]]  # of each joint, and since when; changed in place
        self.modes[:, :n] = np.sign(trajectories.y[:, self.v])
        self.first_step = trajectories.h.copy()
        self.changes = [deque([-np.inf] * CHANGES, CHANGES) for _ in trajectories.t]
        self.given_up: dict[int, str] = {}

    def decide_and_restart(self, which: np.ndarray, times: np.ndarray, out: np.ndarray) -> None:
        """Decide the modes of some trajectories and restart their integration."""
        trajectories, n = self.trajectories, self.problem.robot.n
        before = self.modes[which, :n]
        trajectories.y[which, self.v] = np.where(self.stopped_joints(which), 0.0, trajectories.y[which, self.v])
        trajectories.y[which, -1] = 0.0
        decided = self.decide(which)
        self.modes[which, :n], self.modes[which, n] = decided.mode, trajectories.t[which]
        trajectories.restart(which, np.minimum(trajectories.h, self.first_step)[which])
        for k, old, new, left in zip(which.tolist(), before, decided.mode, decided.open.tolist(), strict=True):
            if trajectories.next[k] and times[trajectories.next[k] - 1] == trajectories.t[k]:
                out[k, trajectories.next[k] - 1] = trajectories.y[k]
            self.watch(k, (new == 0.0) | (old != new), left)

    def stopped_joints(self, which: np.ndarray) -> np.ndarray:
        """The joints that stick, or do not slide in the direction of their modes."""
        n = self.problem.robot.n
        dry = np.isin(np.arange(n), self.sticking.joints)
        return np.asarray(dry & (self.modes[which, :n] * self.trajectories.y[which, self.v] <= 0.0))

    def decide(self, which: np.ndarray) -> ModeDecision:
        problem, trajectories = self.problem, self.trajectories
        q, qd = problem.split(trajectories.y[which])
        constants = {name: array[which] for name, array in self.parameters.items() if name != "modes"}
        tau, wrench = constants.pop("tau", np.zeros_like(qd)), constants.pop("wrench", None)
        rows = [{name: array[k] for name, array in constants.items()} for k in range(len(which))]
        states = zip(trajectories.t[which].tolist(), q, qd, tau, rows, strict=True)
        applied = np.array([problem.applied_torques(problem.robot, *state) for state in states], dtype=float)
        base = motion_at(problem.base, problem.robot, trajectories.t[which], q, qd)
        return self.sticking.decide_modes(problem.robot, q, qd, applied.reshape(qd.shape), wrench, base)

    def watch(self, k: int, moved: np.ndarray, left: int) -> None:
        """Give a trajectory up if its modes cannot be decided or change on and on."""
        trajectories, robot = self.trajectories, self.problem.robot
        t, long_ago = trajectories.t[k], self.changes[k][0]
        self.changes[k].append(t)
        if left < 0 and t - long_ago > MOMENT * min(self.end, 1.0):
            return
        trajectories.status[k] = CHATTERING
        q, qd = self.problem.split(trajectories.y[k])
        name = robot.v_names[left if left >= 0 else int(np.argmax(moved))]
        changing = f"has stuck and come loose {CHANGES} times since t = {long_ago:.9g} s"
        self.given_up[k] = (
            f"robot {robot.name!r} at t = {t:.9g} s, q = {q.tolist()}, qd = {qd.tolist()}: joint of link {name!r}"
            f" {'has no friction mode that is consistent' if left >= 0 else changing}"
        )

    def resume(self, which: np.ndarray) -> np.ndarray:
        """Resume the stopped trajectories that no event of the user ends; return them."""
        going_on = [k for k in which.tolist() if self.continues(k)]
        self.trajectories.status[going_on] = RUNNING
        return np.array(going_on, dtype=int)

    def continues(self, k: int) -> bool:
        """Whether a trajectory goes on; ends of modes are removed from its log."""
        met, events = self.trajectories.met[k], self.problem.events
        asked_for = int(met[-1][1]) & ((1 << len(events)) - 1)
        met[-1][1] = asked_for
        if not asked_for:
            met.pop()
        return not any(event.stop and asked_for >> e & 1 for e, event in enumerate(events))


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
    player: HistoryPlayer | None = None,
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
            if (pieces := sampler or player) is None:
                integrate(end)
            else:
                pieces.run(trajectories, parameters, end, first_step, integrate)
    except KeyboardInterrupt as error:
        interrupted = error
    finally:
        if trajectories.log.size:
            trajectories.empty_logs()
        watch.close()
    held = None if sampler is None else sampler.held
    in_code = in_code and (sampler is None or sampler.compiled)
    return Run(problem, out, trajectories, in_code, interrupted, given_up, held)
