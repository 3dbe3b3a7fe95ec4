"""Times at which the right-hand side changes its formula, such as the end of a trajectory that a controller follows.

There accelerations jump, and a long step could leap over a motion that is short. The times are known beforehand: they
are where the selects of the program that look at t alone change over. So an integrator ends a step just before each,
makes one across it that is as short as digits allow, and begins anew behind it.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ..graph import Node, Program
from ..render.llvm_integrator import LEAST_BEFORE
from ..render.llvm_lanes import DONE, RUNNING, STUCK
from .plain import Progress

Line = tuple[float, float]  # slope and offset of a node that is slope · t + offset
ULPS = 4  # how far on either side of a break steps end


def breaks(program: Program, time: str = "t") -> tuple[float, ...]:
    """The times at which some select of the program changes over whatever the state is, in order."""
    lines: dict[int, Line] = {}
    found: set[float] = set()
    for node in program.nodes:
        line = line_of(node, lines, time)
        if line is not None:
            lines[node.index] = line
        if node.op == "select":
            found |= roots(node.args[0], lines)
    return tuple(sorted(found))


def line_of(node: Node, lines: dict[int, Line], time: str) -> Line | None:
    if node.op == "const":
        return 0.0, node.payload
    if node.op == "input":
        return (1.0, 0.0) if node.payload[0] == time else None
    if any(a.index not in lines for a in node.args):
        return None
    match node.op, [lines[a.index] for a in node.args]:
        case "neg", [(a, b)]:
            return -a, -b
        case "add", [(a, b), (c, d)]:
            return a + c, b + d
        case "sub", [(a, b), (c, d)]:
            return a - c, b - d
        case "mul", [(a, b), (0.0, d)] | [(0.0, d), (a, b)]:
            return a * d, b * d
        case "div", [(a, b), (0.0, d)] if d != 0.0:
            return a / d, b / d
    return None


def roots(node: Node, lines: dict[int, Line]) -> set[float]:
    """Where a line in t is zero; of a select of such lines, where any of them is."""
    if node.index in lines:
        slope, offset = lines[node.index]
        return {-offset / slope} if slope else set()
    return set().union(*(roots(a, lines) for a in node.args)) if node.op == "select" else set()


def with_breaks(
    now: Progress, times: tuple[float, ...], end: float, first_step: float, integrate: Callable[[float], None]
) -> None:
    """`integrate(until)` up to the end, by way of the breaks, for the trajectories that are not there yet."""
    try:
        for time in times:
            before, after = (time + side * ULPS * math.ulp(time) for side in (-1, 1))
            if not 0.0 < before < after < end:
                continue
            advance(now, before, integrate)
            at_break = (now.status == DONE) & (now.t == before)
            advance(now, after, integrate)
            refused = (now.status == STUCK) & (now.t >= before) & (now.t < after)
            now.t[refused], now.status[refused] = after, DONE  # a jump too high for the error allowed: digits end here
            now.h[at_break], now.error[at_break], now.again[at_break] = first_step, LEAST_BEFORE, False
        advance(now, end, integrate)
    finally:
        now.status[(now.status == DONE) & (now.t < end)] = RUNNING


def advance(now: Progress, until: float, integrate: Callable[[float], None]) -> None:
    going = (now.status == RUNNING) | (now.status == DONE)
    now.status[going] = np.where(now.t[going] < until, RUNNING, DONE)
    if (now.status == RUNNING).any():
        integrate(until)
