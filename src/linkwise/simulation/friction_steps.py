"""Check that steps of one length are short enough for the friction of a robot.

Near rest friction is linear in the rates, and without other torques

    M(q) v' = -(B + C/ε) v            B: viscous friction, C: friction on breaking loose, ε: `smooth`

An explicit method damps this motion only if its step times λ, the largest eigenvalue of M⁻¹ (B + C/ε), is within its
stability limit. Beyond the limit, joints that should come to rest rattle or run away, with finite numbers. M is that of
the neutral position, so that no state is read. For symbols the trajectories with the smallest and the largest value of
each symbol are checked.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..api import functions
from ..graph import Program, evaluate
from ..ode.methods import stability_limit
from ..ode.registry import integrator as integrator_of
from ..printing import warn
from ..robot import Friction, Robot
from ..robot.configurations import neutral
from ..robot.symbols import symbols_of
from ..tracing import trace

MAX_JOINTS = 64  # of robots that are checked: M⁻¹ of larger ones is slow
NONE: Mapping[str, np.ndarray] = {}
SUPPRESSED: ContextVar[bool] = ContextVar("suppressed", default=False)  # by `suppress_warnings`
Values = tuple[tuple[float, ...], ...]  # of all symbols, for some trajectories


@contextmanager
def suppress_warnings() -> Iterator[None]:
    """Give no advice about steps and small motions within this context: it was given for all of it before."""
    before = SUPPRESSED.set(True)
    try:
        yield
    finally:
        SUPPRESSED.reset(before)


def warn_of_long_steps(
    robot: Robot,
    friction: Friction | None,
    step: float,
    integrator: str,
    symbols: Mapping[str, np.ndarray] | None = NONE,
) -> bool:
    """Warn if the steps of this method are too long for the friction; return whether they are.

    `symbols` are the values of all symbols; None if some are unknown, and then nothing is checked.
    """
    if friction is None or symbols is None or robot.n > MAX_JOINTS or SUPPRESSED.get():
        return False
    message = warning_text(robot, friction, step, integrator, extremes(symbols) if symbols else ())
    if message:
        warn(message)
    return bool(message)


def warn_of_options(robot: Robot, options: Mapping[str, Any]) -> None:
    """Warn of steps that are too long, from the options of `simulate`."""
    friction = Friction.of(options["friction"])
    if friction is not None and integrator_of(options["integrator"]).fixed:
        warn_of_long_steps(robot, friction, float(options["dt"]), options["integrator"])


def extremes(symbols: Mapping[str, np.ndarray]) -> Values:
    """The rows of values, in order of the names, in which a symbol is smallest or largest."""
    arrays = np.broadcast_arrays(*(symbols[name] for name in sorted(symbols)))
    columns = np.stack([np.ravel(array) for array in arrays])
    if not columns.size:
        return ()
    rows = np.unique(np.concatenate([columns.argmin(axis=1), columns.argmax(axis=1)]))
    return tuple(map(tuple, columns[:, rows].T.tolist()))


class Damping(NamedTuple):
    """M, B and C for each row of values of the symbols; one row if there are no symbols."""

    inertia: np.ndarray  # (rows, n, n)
    viscous: np.ndarray  # (rows, n)
    breakaway: np.ndarray


@lru_cache(maxsize=256)
def warning_text(robot: Robot, friction: Friction, step: float, integrator: str, values: Values) -> str:
    """The warning about steps of this length; "" if they are short enough."""
    if robot.symbolic and not values:
        return ""
    limit = stability_limit(integrator)
    try:
        with np.errstate(all="ignore"):
            damping = damping_of(robot, friction, values)
            slope = damping.viscous + (damping.breakaway / friction.smooth if friction.smooth else 0.0)
            rates, motions = largest_eigenpair(damping.inertia, slope)
    except np.linalg.LinAlgError:  # the robot is singular at its neutral position
        return ""
    worst = int(rates.argmax())
    rate = float(rates[worst])
    if not limit < step * rate < math.inf:
        return ""
    joint = robot.v_names[int(np.abs(motions[worst]).argmax())]
    most, least = round_digits(limit / rate, math.floor), smooth_for(damping, limit / step)
    law = f"lw.Friction(smooth={least}) or more, or " if least else ""
    return (
        f"dt is {step:g} s, and friction slows joint {joint!r} near rest at a rate of {rate:.3g} 1/s: with steps"
        f" above {most} s {integrator} is unstable there: rates rattle or grow without bound (expected {law}steps of"
        f" at most {most} s; computed at the neutral position)"
    )


@lru_cache(maxsize=64)
def damping_program(robot: Robot, friction: Friction) -> Program | np.ndarray:
    """M, B + C and B, concatenated: numbers, or a program of the robot's symbols."""
    both = replace(friction, smooth=1.0)  # whose slope at rest is B + C
    alone, _ = both.parts

    def parts(robot: Any) -> Any:
        rest, load = [0.0] * robot.n, None
        if both.grows(robot):
            weights = functions.gravity_torque(robot, neutral(robot))
            load = [weights[i] for i in range(robot.n)]
        slopes = [np.array(law.slopes(robot, rest, load), dtype=object) for law in (both, alone)]
        return np.concatenate([np.ravel(functions.inertia_matrix(robot, neutral(robot))), *slopes])

    return trace(parts, robot) if robot.symbolic else np.array(parts(robot), dtype=float)


def damping_of(robot: Robot, friction: Friction, values: Values) -> Damping:
    """M, B and C of a robot of numbers, or of one of symbols with these values."""
    known = damping_program(robot, friction)
    if isinstance(known, Program):
        columns = dict(zip(sorted(symbols_of(robot)), np.array(values).T, strict=True))
        (numbers,) = evaluate(known, *(columns[port.name] for port in known.inputs))
        numbers = np.broadcast_to(numbers, (len(values), numbers.shape[-1]))
    else:
        numbers = known[None]
    split = robot.n * robot.n
    inertia = numbers[:, :split].reshape(-1, robot.n, robot.n)
    every, viscous = numbers[:, split : split + robot.n], numbers[:, split + robot.n :]
    return Damping(inertia, viscous, every - viscous)


def largest_eigenpair(matrix: np.ndarray, diagonal: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The largest eigenvalue of A⁻¹ D for each symmetric A and diagonal D, and √D times its eigenvector."""
    root = np.sqrt(np.maximum(diagonal, 0.0))
    np.linalg.cholesky(matrix)  # raises unless positive definite
    values, vectors = np.linalg.eigh(root[:, :, None] * np.linalg.inv(matrix) * root[:, None, :])
    return values[:, -1], vectors[:, :, -1]


def smooth_for(damping: Damping, rate: float) -> str:
    """The smallest ε for which no rate exceeds this one; "" if viscous friction alone exceeds it.

    λ M - B - C/ε is singular where ε is an eigenvalue of (λ M - B)⁻¹ C.
    """
    left = rate * damping.inertia - damping.viscous[:, :, None] * np.eye(damping.viscous.shape[1])
    try:
        with np.errstate(all="ignore"):
            least = float(largest_eigenpair(left, damping.breakaway)[0].max())
    except np.linalg.LinAlgError:
        return ""
    return round_digits(least, math.ceil) if 0.0 < least < math.inf else ""


def round_digits(number: float, how: Callable[[float], int]) -> str:
    """Round to two digits with math.floor or math.ceil."""
    digits, _, power = f"{number:.15e}".partition("e")
    return f"{float(f'{how(10.0 * float(digits)) / 10.0}e{power}'):.2g}"
