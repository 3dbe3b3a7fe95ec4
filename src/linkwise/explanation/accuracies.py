"""`accuracy`: the error of each method of forward dynamics, measured against many-digit accelerations.

The exact accelerations are those of the robot and the state as stored in binary. Two methods that have little in
common, articulated bodies and the inertia matrix by composite bodies, compute them with many digits. They must agree to
all but ten of the requested digits; otherwise both repeat with more. Rotations are first made orthogonal to all digits,
so an error includes the rounding of their elements to floats.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ..api.compiling import compile as compiled_kernel
from ..api.compiling import too_long_to_compile
from ..api.functions import forward_dynamics, inertia_matrix, refuse_coupled
from ..api.method_table import methods
from ..api.states import REAL, Array, ComponentAxes, States
from ..api.wrenches import OnTip
from ..equality import ComparesArrays
from ..errors import RobotError, SingularError, is_integer, one_of
from ..extras import import_optional
from ..printing import align_columns
from ..robot import Robot, WrenchFrames

PLAIN_ACCELERATIONS: Any = vars(forward_dynamics)["plain"]
PLAIN_INERTIA: Any = vars(inertia_matrix)["plain"]
REFERENCE_METHODS = ("articulated", "walker-orin-3")  # the exact answer, and the one it is checked against
SPARE = 10  # digits in which the two may differ
LEAST_DIGITS, MOST_DIGITS = 30, 800
UNROLLED = "walker-orin-4"  # 3 n products with I: compiled only on request
NO_FRAMES: Mapping[str, Any] = {}


@dataclass(frozen=True, eq=False)
class MethodAccuracy(ComparesArrays):
    """The errors of one method. Arrays have the batch shape, except `result`."""

    method: str
    result: np.ndarray  # its accelerations (..., n)
    absolute: np.ndarray  # the largest error of a joint, rad/s² or m/s²
    relative: np.ndarray  # the same over the largest acceleration of a joint
    units: np.ndarray  # the same in units of κ(I) ε
    joint: np.ndarray  # at which joint, counted from 0

    @property
    def worst(self) -> float:
        """The largest relative error over the states."""
        return float(self.relative.max())

    @property
    def median(self) -> float:
        """The median of the relative error over the states."""
        return float(np.median(self.relative))


@dataclass(frozen=True, repr=False, eq=False)
class Accuracy(ComparesArrays, Mapping[str, MethodAccuracy]):
    """Errors by method, the smallest worst error first. Prints as a table.

    `exact` are the accelerations (..., n), rounded once; `condition` is κ(I) for each state in double precision (beyond
    1e15 only known to be large); `digits` is the final precision, at which the two reference methods agree to
    `agreement`; `left_out` are methods whose code is too long to compile unless requested.
    """

    robot: Robot
    results: dict[str, MethodAccuracy]
    exact: np.ndarray
    condition: np.ndarray
    digits: int
    asked: int
    agreement: float
    compiled: bool
    left_out: tuple[str, ...]

    def __getitem__(self, method: str) -> MethodAccuracy:
        if method not in self.results:
            raise KeyError(f"{method!r} was not measured (these were: {', '.join(self.results)})")
        return self.results[method]

    def __iter__(self) -> Iterator[str]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        batch, count = self.condition.shape, self.condition.size
        states = f"{count} states" if batch else "one state"
        kappa = f"{np.median(self.condition):.1e}" + (f" (median; largest {self.condition.max():.1e})" if batch else "")
        enough = "" if self.digits == self.asked else f"; {self.asked} were not enough"
        lines = [
            f"forward dynamics of {self.robot.name!r}, {states}, {'compiled' if self.compiled else 'plain Python'},"
            f" {self.exact.dtype.name}",
            f"exact: {self.digits} digits, two methods agree to {self.agreement:.0e}{enough}",
            f"κ(I) = {kappa}",
            *self._rows(bool(batch)),
        ]
        if self.left_out:
            lines.append(f"left out, code too long unless asked for: {', '.join(self.left_out)}")
        return "\n".join(lines)

    def _rows(self, batch: bool) -> list[str]:
        rows: list[list[str]] = []
        for name, result in self.items():
            worst = np.unravel_index(int(np.argmax(result.relative)), result.relative.shape)
            figures = [result.relative, result.units] if batch else []
            cells = [f"{np.median(x):.1e}" for x in figures]
            cells += [f"{x[worst]:.1e}" for x in (result.relative, result.units, result.absolute)]
            rows.append([name, *cells, self.robot.v_names[result.joint[worst]]])
        head = ["method", "relative error", "in κ(I) ε", "absolute", "worst joint"]
        if batch:
            head = ["method", "median", "in κ(I) ε", "worst", "in κ(I) ε", "absolute", "worst joint"]
        return align_columns([head, *rows], right=range(1, len(head) - 1))


def accuracy(
    robot: Robot,
    q: Array,
    qd: Array,
    tau: Array,
    *,
    methods: Iterable[str] | None = None,
    digits: int = 50,
    wrench: Array | Mapping[str, Array] | None = None,
    point: Array | None = None,
    axes: ComponentAxes = "base",
    compiled: bool = False,
) -> Accuracy:
    """The error of every method of forward dynamics against exact accelerations.

    The relative error is the largest error of a joint over the largest acceleration of a joint. It is also given in
    units of κ(I) ε, the error bound of a backward stable solution with the inertia matrix. Of a batch the table shows
    the median and the worst state. A method without a finite result has an infinite error. Needs mpmath: pip install
    'linkwise[exact]'.

    Parameters
    ----------
    robot : Robot
    q : array_like, (..., nq)
    qd, tau : array_like, (..., n)
    methods : iterable of str, optional
        By default all of `lw.methods(lw.forward_dynamics)`.
    digits : int
        Digits of the exact accelerations, at least 30; the reference methods agree to all but ten of them.
    wrench, point, axes
        As for `lw.forward_dynamics`.
    compiled : bool
        Measure compiled kernels instead of plain Python; methods with long code must then be named.

    Returns
    -------
    Accuracy

    Examples
    --------
    >>> import linkwise as lw
    >>> found = lw.accuracy(lw.load("stanford"), [0, 1, 0.1, 0.2, 0.3, 0.4], [0.1] * 6, [0] * 6)
    >>> found["articulated"].worst < 1e-14, found.digits
    (True, 50)
    """
    mpmath = many_digits()
    if not is_integer(digits) or digits < LEAST_DIGITS:
        raise ValueError(f"digits is {digits!r} (expected a whole number, at least {LEAST_DIGITS})")
    states = check_states(robot, q, qd, tau, wrench=wrench, point=point, axes=axes)
    arrays = broadcast_arrays(states)
    dtype: Any = arrays["q"].dtype.name
    selected, left_out = select_methods(robot, methods, compiled, dtype, states.loads)
    condition = np.asarray(np.linalg.cond(np.asarray(PLAIN_INERTIA(robot, arrays["q"]), dtype=float)))
    exact, context, agreement = exact_accelerations(mpmath, robot, arrays, int(digits), states.frames)
    results = []
    for name in selected:
        if compiled:
            run: Any = compiled_kernel(forward_dynamics, robot, dtype=dtype, method=name, **states.loads)
        else:
            run = partial(plain_accelerations, robot, name, states.at)
        result = finite_or_nan(run, arrays)
        results.append(method_errors(context, name, result, exact, condition))
    results.sort(key=lambda result: (result.worst, result.median))
    results_by_method = {result.method: result for result in results}
    exact_floats = np.array([float(x) for x in exact.flat]).reshape(exact.shape).astype(arrays["q"].dtype)
    return Accuracy(
        robot,
        results_by_method,
        exact_floats,
        condition,
        context.dps,
        int(digits),
        agreement,
        compiled,
        tuple(left_out),
    )


def many_digits() -> Any:
    return import_optional("mpmath")


def check_states(robot: Robot, q: Array, qd: Array, tau: Array, **loads: Any) -> States:
    """The checked states: finite plain numbers, of a robot of plain numbers."""
    if isinstance(robot, Robot) and robot.non_floats:
        kind = (
            "symbols; give them values with lw.bind"
            if robot.symbolic
            else f"{type(robot.non_floats[0]).__name__} numbers"
        )
        raise RobotError(f"robot {robot.name!r}: accuracy is measured on a robot of floats, and this one holds {kind}")
    states = States(robot, {"q": q, "qd": qd, "tau": tau}, check=True, **loads)
    refuse_coupled(robot, "the methods that are compared")
    if not states.numeric or any(array.dtype.name not in REAL for array in states.arrays.values()):
        raise TypeError("accuracy is measured on NumPy arrays or lists of plain numbers, float64 or float32")
    if robot.n == 0 or 0 in states.batch:
        reason = (
            f"robot {robot.name!r} has no joint that moves" if robot.n == 0 else f"the batch {states.batch} is empty"
        )
        raise ValueError(f"{reason}: there is nothing to measure")
    return states


def broadcast_arrays(states: States) -> dict[str, np.ndarray]:
    """All arrays in one dtype, with the whole batch shape in front."""
    dtype = np.result_type(*(array.dtype for array in states.arrays.values()))
    shapes = {**{name: (states.robot.size_of(name),) for name in states.arrays}, **dict(states.load_shapes)}
    return {name: states.rows(name, shape).astype(dtype, copy=False) for name, shape in shapes.items()}


def select_methods(
    robot: Robot, requested: Iterable[str] | None, compiled: bool, dtype: str, loads: Mapping[str, Any]
) -> tuple[list[str], list[str]]:
    """The methods to measure, and those left out for the length of their code."""
    offered = methods(forward_dynamics)
    if requested is not None:
        if isinstance(requested, str):
            raise TypeError(f"methods is {requested!r} (expected a list of names: [{requested!r}])")
        names = list(dict.fromkeys(requested))
        for name in names:
            one_of(name, offered, "methods: one of them")
        if not names:
            raise ValueError("methods is empty (expected names of methods, or None for all)")
        return names, []
    names = [name for name in offered if name != "fewest"]  # which is one of the others
    if not compiled:
        return names, []

    def is_short(method: str) -> bool:
        return not too_long_to_compile(forward_dynamics, robot, dtype, {"method": method, **loads})

    short = [name for name in names if name != UNROLLED and is_short(name)]
    return short, [name for name in names if name not in short]


def plain_accelerations(robot: Robot, method: str, at: WrenchFrames | None, *arrays: Array) -> Any:
    """The method, by its algorithm."""
    q, qd, tau, *loads = arrays
    wrench = loads[0] if loads else None
    point: Any = loads[1] if len(loads) > 1 else at
    if wrench is not None and wrench.ndim == q.ndim:
        point = OnTip(point)
    return PLAIN_ACCELERATIONS(robot, q, qd, tau, wrench, point=point, method=method)


def finite_or_nan(run: Callable[..., np.ndarray], arrays: Mapping[str, np.ndarray]) -> np.ndarray:
    """The result of the method; NaN for states that it wrongly reports as singular."""
    try:
        return np.asarray(run(*arrays.values()))
    except SingularError:
        batch, n = arrays["tau"].shape[:-1], arrays["tau"].shape[-1]
        if not batch:
            return np.full(n, np.nan, arrays["q"].dtype)
        results = [finite_or_nan(run, {name: a[index] for name, a in arrays.items()}) for index in np.ndindex(batch)]
        return np.array(results).reshape((*batch, n))


def exact_accelerations(
    mpmath: Any, robot: Robot, arrays: Mapping[str, np.ndarray], requested: int, frames: Mapping[str, Any] = NO_FRAMES
) -> tuple[np.ndarray, Any, float]:
    """Accelerations in many-digit numbers, their context, and the agreement of the two reference methods."""
    digits = requested
    while True:
        context = mpmath.MPContext()
        context.dps = digits
        exact, other = (many_digit_result(context, robot, arrays, name, frames) for name in REFERENCE_METHODS)
        tiny = context.mpf(10) ** -digits
        agreement = max(
            max_norm(exact[k] - other[k]) / max(max_norm(exact[k]), tiny) for k in np.ndindex(arrays["q"].shape[:-1])
        )
        if agreement <= context.mpf(10) ** (SPARE - requested):
            return exact, context, float(agreement)
        if 2 * digits > MOST_DIGITS:
            raise ArithmeticError(
                f"robot {robot.name!r}: {REFERENCE_METHODS[0]!r} and {REFERENCE_METHODS[1]!r} differ relatively by"
                f" {float(agreement):.0e} with {digits} digits: one of them is wrong, or nothing resists a joint"
            )
        digits *= 2


def many_digit_result(
    context: Any, robot: Robot, arrays: Mapping[str, np.ndarray], method: str, frames: Mapping[str, Any] = NO_FRAMES
) -> np.ndarray:
    exact = robot.cast(context.mpf)
    batch = arrays["q"].shape[:-1]
    result = np.empty((*batch, robot.n), dtype=object)
    for k in np.ndindex(batch):
        state: dict[str, Any] = {name: exact_numbers(context, array[k]) for name, array in arrays.items()}
        result[k] = forward_dynamics(exact, **state, **frames, method=method)
    return result


def exact_numbers(context: Any, array: np.ndarray) -> np.ndarray:
    """The same numbers, exactly."""
    converted = np.empty(array.shape, dtype=object)
    for k in np.ndindex(array.shape):
        converted[k] = context.mpf(float(array[k]))
    return converted


def max_norm(vector: Iterable[Any]) -> Any:
    return max(map(abs, vector))


def method_errors(
    context: Any, method: str, result: np.ndarray, exact: np.ndarray, condition: np.ndarray
) -> MethodAccuracy:
    """The errors of a method, subtracted with all digits so that errors below a float's last place are seen."""
    batch = exact.shape[:-1]
    absolute, relative, joint = np.empty(batch), np.empty(batch), np.empty(batch, dtype=int)
    for k in np.ndindex(batch):
        errors = np.abs(exact_numbers(context, result[k]) - exact[k])
        errors[~np.isfinite(result[k])] = context.inf
        joint[k] = max(range(len(errors)), key=errors.__getitem__)
        off, largest = errors[joint[k]], max_norm(exact[k])
        absolute[k] = off
        relative[k] = off / largest if largest else context.inf if off else 0.0
    units = np.asarray(relative / (condition * np.finfo(result.dtype).eps))
    return MethodAccuracy(method, result, absolute, relative, units, joint)
