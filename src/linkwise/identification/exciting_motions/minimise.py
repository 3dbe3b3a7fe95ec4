"""Minimisation of f(x) + b(x) within a barrier b, by a quasi-Newton method that knows the curvature of the barrier.

    (B + ∇²b) p = -∇f - ∇b

B is the BFGS approximation of ∇²f alone, damped so that it stays positive definite (M. Powell, 1978); b is convex. Near
a limit almost all curvature is that of the barrier, which BFGS would have to learn anew at each active limit. Steps are
found by bisection until they satisfy the weak Wolfe conditions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np

from ...trajectories.limits import Floats

DECREASE, CURVATURE = 1e-4, 0.9  # of the Wolfe conditions
BISECTIONS = 25
INSIDE = 0.99  # of the way to the nearest limit is the longest step
FIRST = 0.1  # the largest change of a variable in the first step
MEMORY = 20  # steps over which the decrease is judged


class Barrier(NamedTuple):
    value: float
    gradient: Floats
    hessian: Floats


class Problem(Protocol):
    def smooth(self, x: Floats) -> tuple[float, Floats]:
        """f and its gradient; an infinite value outside its domain."""
        ...

    def barrier(self, x: Floats) -> Barrier: ...

    def room(self, x: Floats, step: Floats) -> float:
        """The multiple of the step at which the barrier becomes infinite."""
        ...


class Step(NamedTuple):
    move: Floats
    value: float  # of f, there
    gradient: Floats
    barrier: Barrier


def newton_direction(hessian: Floats, downhill: Floats) -> Floats:
    """Newton's step; zero along directions whose learned curvature is lost to rounding."""
    try:
        return np.asarray(np.linalg.solve(hessian, downhill), dtype=float)
    except np.linalg.LinAlgError:
        return np.asarray(np.linalg.lstsq(hessian, downhill, rcond=None)[0], dtype=float)


def minimise(
    problem: Problem, x: Floats, steps: int, enough: float, on_step: Callable[[Floats], None] = lambda x: None
) -> Floats:
    """From x, inside the barrier, until `MEMORY` steps together decrease the value by less than `enough`."""
    (f, gradient), b = problem.smooth(x), problem.barrier(x)
    model, values = np.eye(len(x)), [f + b.value]
    for k in range(steps):
        downhill = -(gradient + b.gradient)
        direction = newton_direction(model + b.hessian, downhill)
        first = FIRST / max(float(np.abs(direction).max()), FIRST) if k == 0 else 1.0
        step = line_search(problem, x, direction, -float(downhill @ direction), values[-1], first)
        if step is None:
            break
        change = step.gradient - gradient
        if k == 0 and change @ step.move > 0.0:
            model *= change @ change / (change @ step.move)
        model = updated(model, step.move, change)
        x, gradient, b = x + step.move, step.gradient, step.barrier
        values.append(step.value + b.value)
        on_step(x)
        if k > MEMORY and values[-MEMORY] - values[-1] < enough:
            break
    return x


def line_search(
    problem: Problem, x: Floats, direction: Floats, slope: float, value: float, first: float
) -> Step | None:
    """A step that decreases the value enough, and the slope too unless a limit is near; None where there is none."""
    longest = INSIDE * problem.room(x, direction)
    short, long, size, found = 0.0, math.inf, min(first, longest), None
    for _ in range(BISECTIONS):
        move = size * direction
        f, gradient = problem.smooth(x + move)
        b = problem.barrier(x + move)
        if not f + b.value <= value + DECREASE * size * slope:
            long = size
        else:
            found = Step(move, f, gradient, b)
            if (gradient + b.gradient) @ direction >= CURVATURE * slope or size >= longest:
                return found
            short = size
        size = (short + long) / 2.0 if long < math.inf else min(2.0 * size, longest)
    return found


def updated(model: Floats, move: Floats, change: Floats) -> Floats:
    """BFGS, with the change of the gradient moved toward that of the model where the curvature is too small."""
    known = model @ move
    along = float(move @ known)
    if move @ change < 0.2 * along:
        share = 0.8 * along / (along - move @ change)
        change = share * change + (1.0 - share) * known
    return np.asarray(model + np.outer(change, change) / (move @ change) - np.outer(known, known) / along)
