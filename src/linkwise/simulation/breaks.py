"""Breaks: times at which the right-hand side changes its formula, such as the end of a tracked trajectory.

Accelerations jump there, and a long step could skip a short motion. The times are known before the integration: a
select of the torque function switches where its condition, a line a t + b, is zero, and np.where, np.clip and others
switch where two such lines meet. The numbers a and b may depend on parameters, and so differ between trajectories. An
integrator ends a step just before each break, makes the shortest possible step across it, and restarts after it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from ..graph import Graph, Node
from ..graph.derivative import CHOICES
from ..ode.lanes import DONE, RUNNING, STEP_TOO_SMALL, Trajectories
from .parameters import PREFIX, call_torque
from .problem import Problem
from .traced_functions import TracedFunction

Number = Any  # a float, or one for each trajectory
Line = tuple[Number | None, Number]  # slope and offset of a node slope · t + offset; None: constant
Group = tuple[np.ndarray, tuple[float, ...]]  # trajectories and their sorted breaks
ULPS = 4  # distance of the ends of steps from a break


def breaks_of(problem: Problem, start: np.ndarray, parameters: np.ndarray) -> list[Group]:
    """The trajectories in groups with the same breaks; no groups if there are no breaks.

    A function that was not traced is called once with a node as its time. If that fails its breaks are unknown.
    """
    if not len(start):
        return []
    of_base = break_times(problem.base.program.nodes, {}) if isinstance(problem.base, TracedFunction) else []
    if problem.torque is None:
        return group_by_times(of_base, len(start)) if of_base else []
    if isinstance(problem.torque, TracedFunction):
        known = {
            (name, position): parameters[:, column.start + position]
            for name, column in problem.columns.items()
            for position in range(column.stop - column.start)
        }
        return group_by_times([*break_times(problem.torque.program.nodes, known), *of_base], len(start))
    columns = [column for name, column in problem.columns.items() if name.startswith(PREFIX)]
    rows = np.concatenate([parameters[:, :0], *(parameters[:, column] for column in columns)], axis=1)
    _, first, inverse = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    rows_with: dict[tuple[float, ...], list[int]] = {}
    for row, k in enumerate(first.tolist()):
        rows_with.setdefault(probe_breaks(problem, start[k], parameters[k]), []).append(row)
    return [(np.flatnonzero(np.isin(inverse.ravel(), same)), times) for times, same in rows_with.items()]


def probe_breaks(problem: Problem, start: np.ndarray, parameters: np.ndarray) -> tuple[float, ...]:
    """The breaks of a function that runs in Python, from a call with a node for t and numbers for the state."""
    graph = Graph()
    assert problem.torque is not None
    q, v = (part.copy() for part in problem.split(start))
    by_name = problem.parameters_by_name(parameters)
    values = {name: by_name[PREFIX + name] for name, _ in problem.torque_parameters}
    try:
        with np.errstate(all="ignore"):
            qd = np.asarray(problem.rates(q, v))
            call_torque(problem.torque, problem.robot, graph.input("t"), q, qd, values)
    except Exception:  # of any kind: the function expects a number for t
        return ()
    return group_by_times(break_times(graph.nodes, {}), 1)[0][1]


def break_times(nodes: Iterable[Node], known: Mapping[tuple[str, int], Number], time: str = "t") -> list[Number]:
    """The times at which some select switches in every state; infinite for lines without a zero."""
    lines: dict[int, Line] = {}
    times: dict[int, Number] = {}
    for node in nodes:
        line = line_of(node, lines, known, time)
        if line is not None:
            lines[node.index] = line
        if node.op == "select":
            collect_roots(node.args[0], lines, times)
        elif node.op in CHOICES:
            collect_meeting(node, lines, times)
    return list(times.values())


def line_of(node: Node, lines: dict[int, Line], known: Mapping[tuple[str, int], Number], time: str) -> Line | None:
    if node.op == "const":
        return None, node.payload
    if node.op == "input":
        return (1.0, 0.0) if node.payload[0] == time else (None, known[node.payload]) if node.payload in known else None
    if any(a.index not in lines for a in node.args):
        return None
    match node.op, [lines[a.index] for a in node.args]:
        case "neg", [(a, b)]:
            return None if a is None else -a, -b
        case "add", [(a, b), (c, d)]:
            return c if a is None else a if c is None else a + c, b + d
        case "sub", [(a, b), (c, d)]:
            return (None if c is None else -c) if a is None else a if c is None else a - c, b - d
        case "mul", [(a, b), (None, d)] | [(None, d), (a, b)]:
            return None if a is None else a * d, b * d
        case "div", [(a, b), (None, d)]:
            with np.errstate(all="ignore"):
                return None if a is None else np.divide(a, d), np.divide(b, d)
    return None


def collect_roots(node: Node, lines: dict[int, Line], times: dict[int, Number]) -> None:
    """Add the time at which a line in t is zero; of a select of lines, the times of all."""
    if node.index in lines:
        if lines[node.index][0] is not None:
            times[node.index] = zero_time(lines[node.index])
    elif node.op in CHOICES:
        for operand in node.args:
            collect_roots(operand, lines, times)


def collect_meeting(node: Node, lines: dict[int, Line], times: dict[int, Number]) -> None:
    """Add the time at which the two lines in t that a node compares meet."""
    if all(operand.index in lines for operand in node.args[:2]):
        (a, b), (c, d) = (lines[operand.index] for operand in node.args[:2])
        if a is not None or c is not None:
            times[node.index] = zero_time(((0.0 if a is None else a) - (0.0 if c is None else c), b - d))


def zero_time(line: Line) -> Number:
    """The time at which a line is zero; infinite if there is none."""
    slope, offset = 0.0 if line[0] is None else line[0], line[1]
    with np.errstate(all="ignore"):
        time = np.divide(np.negative(offset), slope)
    return np.where(np.isfinite(time), time, np.inf)


def group_by_times(times: list[Number], count: int) -> list[Group]:
    """The trajectories in groups with the same times. A time is one number, or one for each trajectory."""
    if all(np.ndim(time) == 0 for time in times):
        return [(np.arange(count), tuple(sorted({float(time) for time in times if time < math.inf})))]
    table = np.sort(np.stack([np.broadcast_to(time, (count,)) for time in times], axis=1), axis=1)
    rows, inverse = np.unique(table, axis=0, return_inverse=True)
    finite = [tuple(dict.fromkeys(row[np.isfinite(row)].tolist())) for row in rows]
    return [(np.flatnonzero(inverse.ravel() == k), row) for k, row in enumerate(finite)]


def integrate_across_breaks(
    trajectories: Trajectories, groups: list[Group], end: float, first_step: float, integrate: Callable[[float], None]
) -> None:
    """Call `integrate(until)` from break to break up to the end, for the trajectories that are still running."""
    if not any(times for _, times in groups):
        integrate(end)
        return
    for which, times in groups:
        waiting = trajectories.status == RUNNING
        waiting[which] = False
        trajectories.status[waiting] = DONE
        try:
            integrate_group(trajectories, which, times, end, first_step, integrate)
        finally:
            trajectories.status[waiting] = RUNNING


def integrate_group(
    trajectories: Trajectories,
    which: np.ndarray,
    times: tuple[float, ...],
    end: float,
    first_step: float,
    integrate: Callable[[float], None],
) -> None:
    selected = np.zeros(len(trajectories.t), dtype=bool)
    selected[which] = True
    try:
        for time in times:
            before, after = (time + sign * ULPS * math.ulp(time) for sign in (-1, 1))
            if not 0.0 < before < after < end:
                continue
            advance_selected(trajectories, selected, before, integrate)
            at_break = selected & (trajectories.status == DONE) & (trajectories.t == before)
            advance_selected(trajectories, selected, after, integrate)
            # the jump exceeds the tolerance even in the shortest step: accept it
            across = (trajectories.t >= before) & (trajectories.t < after)
            refused = selected & across & (trajectories.status == STEP_TOO_SMALL)
            trajectories.t[refused], trajectories.status[refused] = after, DONE
            trajectories.restart(at_break, first_step)
        advance_selected(trajectories, selected, end, integrate)
    finally:
        trajectories.status[selected & (trajectories.status == DONE) & (trajectories.t < end)] = RUNNING


def advance_selected(
    trajectories: Trajectories, selected: np.ndarray, until: float, integrate: Callable[[float], None]
) -> None:
    going = selected & ((trajectories.status == RUNNING) | (trajectories.status == DONE))
    trajectories.status[going] = np.where(trajectories.t[going] < until, RUNNING, DONE)
    if (trajectories.status == RUNNING).any():
        integrate(until)
