"""Check the arguments of a rollout; make its problem and the rows of numbers of each trajectory.

Check values of a robot's symbols in a batch: physically inconsistent values are refused, as by `lw.bind`.

Checked are entries of the table that may not be negative, and inertia tensors I about the mass centre: a tensor is
consistent if J = ½ tr(I) 1 - I, the second moments of the mass, is positive semidefinite. The minors of J are computed
for all trajectories at once; trajectories with a negative minor are then checked like a robot of numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, reduce
from typing import Any, NamedTuple

import numpy as np

from ..api.states import AXES, stack_wrenches
from ..api.wrenches import wrench_frames, wrench_on_tip
from ..errors import one_of
from ..graph import Program, evaluate
from ..kernels.arrays import Arrays, Shape
from ..kernels.interface import broadcast, numpy_array
from ..robot import Friction, PerRobot, Robot, WrenchFrames, require_robot
from ..robot.entries import RESIDUE, TENSOR, inconsistency_of_inertia, is_symbol
from ..robot.friction import DRY
from ..robot.named_arrays import PerTrajectory
from ..robot.symbols import symbols_of
from ..robot.tables import DRIVE_NUMBERS, table_size
from ..tracing import trace
from .base_motions import base_function
from .parameters import check_law_numbers, check_names, declared_shapes, trajectory_shape, unmark
from .problem import Problem
from .sampling import split_sampled_laws

NOT_NEGATIVE = ("mass", *(key for key in DRIVE_NUMBERS if key != "coulomb_offset"))
MARGINS: dict[str, Callable[[Mapping[str, Any]], Any]] = {  # which may not be negative either
    "coulomb_friction - |coulomb_offset|": lambda row: (
        row.get("coulomb_friction", 0.0) - np.abs(row["coulomb_offset"]) if "coulomb_offset" in row else 0.0
    ),
    "stribeck_friction - coulomb_friction": lambda row: (
        row["stribeck_friction"] - row.get("coulomb_friction", 0.0) if "stribeck_friction" in row else 0.0
    ),
    "1 - load_friction": lambda row: 1.0 - row.get("load_friction", 0.0),
}
Place = tuple[int, str]  # of an entry: row and key


def refuse_inconsistent_values(robot: Robot, values: Mapping[str, np.ndarray]) -> None:
    """Raise a ValueError if the values of a trajectory are not physically consistent.

    `values` are those of the known symbols. Entries that depend on others are NaN and are not checked. The values of
    the last check are kept, since runs in a loop often have the same ones.
    """
    last = last_values(robot)[0]
    if last.keys() == values.keys() and all(np.array_equal(array, last[name]) for name, array in values.items()):
        return
    places = nonnegative_entries(robot)
    if places:
        entries = evaluate_for_values(program_of_entries(robot), values)
        if (entries < 0.0).any():
            refuse_negative(robot, places, entries)
    places = tensor_entries(robot)
    if places:
        least = evaluate_for_values(program_of_minors(robot), values)
        everything_known = len(values) == len(symbols_of(robot))
        suspects = np.argwhere((least < 0.0) | (not everything_known))
        if len(suspects):
            refuse_tensors(robot, places, values, suspects)
    last_values(robot)[0] = {name: array.copy() for name, array in values.items()}


@PerRobot
def last_values(robot: Robot) -> list[dict[str, np.ndarray]]:
    """A list of one element: the values that were checked last, {} at first."""
    return [{}]


def refuse_negative(robot: Robot, places: list[Place], entries: np.ndarray) -> None:
    for k, (row, key) in enumerate(places):
        slack = RESIDUE * table_size(robot.rows).mass if key == "mass" else 0.0
        negative = np.argwhere(entries[..., k] < -slack)
        if len(negative):
            where = negative[0].tolist()
            raise ValueError(
                f"parameters: {key} of link {robot.rows[row]['name']!r} is {entries[(*where, k)]}"
                f"{trajectory_text(where)} (expected zero or more)"
            )


def refuse_driving_law(robot: Robot, law: Friction | None, values: Mapping[str, np.ndarray]) -> None:
    """Raise an error if a number of the law would drive a joint of a trajectory's robot."""
    if law is None or not law.depends_on_coulomb():
        return
    numbers = evaluate_for_values(program_of_dry_friction(robot, law), values)  # (..., links, 3)
    level, offset, at_rest = np.moveaxis(numbers, -1, 0)
    for where in np.argwhere(((np.abs(offset) > level) | (at_rest < level)).any(axis=-1)).tolist():
        columns = dict(zip(DRY, numbers[tuple(where)].T.tolist(), strict=True))
        law.refuse_driving(robot, columns, f" (parameters{trajectory_text(where)})")


@lru_cache(maxsize=64)
def program_of_dry_friction(robot: Robot, law: Friction) -> Program:
    return trace(lambda bound: np.array([law.of_links(bound, name) for name in DRY], dtype=object).T, robot)


def refuse_tensors(robot: Robot, places: list[Place], values: Mapping[str, np.ndarray], suspects: np.ndarray) -> None:
    batch = np.broadcast_shapes(*(array.shape for array in values.values()))
    suspect_values = {name: np.broadcast_to(array, batch)[tuple(suspects.T)].ravel() for name, array in values.items()}
    tensors, size = evaluate_for_values(program_of_tensors(robot), suspect_values), table_size(robot.rows)
    tensors = tensors.reshape(-1, len(places), 3, 3)
    tensors = np.where(np.isfinite(tensors).all(axis=(2, 3), keepdims=True), tensors, 0.0)
    for k, (row, key) in enumerate(places):
        for m in np.flatnonzero(inconsistent_tensors(tensors[:, k])).tolist():
            numbers = tensors[m, k]
            asymmetric = np.abs(numbers - numbers.T).max() > TENSOR * np.abs(numbers).max()
            problem = (
                "is not symmetric"
                if asymmetric
                else inconsistency_of_inertia(tuple(map(tuple, numbers.tolist())), RESIDUE * size.length**2 * size.mass)
            )
            if problem:
                where = trajectory_text(suspects[m].tolist())
                raise ValueError(f"parameters: {key} of link {robot.rows[row]['name']!r} {problem}{where}")


def inconsistent_tensors(tensors: np.ndarray) -> np.ndarray:
    """Which tensors (count, 3, 3) are inconsistent or on the border, from their principal moments."""
    slack = 0.5 * TENSOR * np.abs(tensors).max(axis=(1, 2))
    small, middle, large = np.linalg.eigvalsh(tensors).T
    asymmetric = (tensors != np.swapaxes(tensors, 1, 2)).any(axis=(1, 2))
    return np.asarray((small < -slack) | (small + middle < large - slack) | asymmetric)


def least_minor(places: list[Place], robot: Any) -> Any:
    """Negative if one of the tensors is inconsistent, and perhaps if one is on the border."""
    return reduce(np.minimum, [x for k, key in places for x in minors(robot.rows[k][key])])


def minors(tensor: Any) -> list[Any]:
    """The minors of J with half the tolerance, and the margin by which the tensor is symmetric."""
    (a, d, e), (g, b, f), (h, i, c) = tensor
    trace = a + b + c
    half = (0.5 + 0.25 * TENSOR) * trace
    x, y, z = half - a, half - b, half - c
    determinant = x * (y * z - f * f) - d * (d * z + e * f) - e * (d * f + e * y)
    pairs = [(one, other) for one, other in ((d, g), (e, h), (f, i)) if is_symbol(one - other)]
    symmetric = [0.5 * TENSOR * trace - np.abs(one - other) for one, other in pairs]
    return [x, y, z, x * y - d * d, x * z - e * e, y * z - f * f, determinant, *symmetric]


def trajectory_text(where: list[int]) -> str:
    return f" for trajectory {where}" if where else ""


@PerRobot
def nonnegative_entries(robot: Robot) -> list[Place]:
    """Entries and margins with symbols that may not be negative."""
    return [
        (k, key)
        for k, row in enumerate(robot.rows)
        for key in (*NOT_NEGATIVE, *MARGINS)
        if is_symbol(entry_or_margin(row, key)) and row.get("unphysical") is not True
    ]


def entry_or_margin(row: Mapping[str, Any], key: str) -> Any:
    return MARGINS[key](row) if key in MARGINS else row.get(key, 0.0)


@PerRobot
def tensor_entries(robot: Robot) -> list[Place]:
    """Inertia tensors with symbols."""
    return [
        (k, "inertia")
        for k, row in enumerate(robot.rows)
        if any(is_symbol(x) for line in row.get("inertia", ()) for x in line) and row.get("unphysical") is not True
    ]


def entries_at(places: list[Place], robot: Any) -> Any:
    return np.stack([np.array(entry_or_margin(robot.rows[k], key), dtype=object) for k, key in places])


@PerRobot
def program_of_entries(robot: Robot) -> Program:
    return trace(lambda bound: entries_at(nonnegative_entries(robot), bound), robot)


@PerRobot
def program_of_tensors(robot: Robot) -> Program:
    return trace(lambda bound: entries_at(tensor_entries(robot), bound), robot)


@PerRobot
def program_of_minors(robot: Robot) -> Program:
    return trace(lambda bound: least_minor(tensor_entries(robot), bound), robot)


def evaluate_for_values(program: Program, values: Mapping[str, np.ndarray]) -> np.ndarray:
    """Evaluate the program with these values of the symbols for each trajectory."""
    arrays = np.broadcast_arrays(*(values.get(port.name, np.nan) for port in program.inputs))
    with np.errstate(all="ignore"):
        return evaluate(program, *arrays)[0]


class RolloutInputs(NamedTuple):
    """The problem and the numbers of a rollout."""

    problem: Problem  # with the user's function traced
    batch: Shape
    rows: list[tuple[Any, int]]  # arrays, and the numbers of each trajectory in them; 0: shared by all
    table: str  # the parameter that changes from row to row of the table
    symbols: Mapping[str, np.ndarray] | None  # values of the robot's symbols; None if some are on a GPU


def rollout_inputs(
    robot: Robot,
    arrays: Arrays,
    q0: Any,
    qd0: Any,
    table_rows: int,
    *,
    torque: Any,
    table: Any,
    wrench: Any,
    axes: str,
    friction: bool | Friction,
    base: Any,
    parameters: Mapping[str, Any] | None,
) -> RolloutInputs:
    require_robot(robot)
    refuse_sampled_laws(torque)
    function, given = torque if callable(torque) else None, dict(parameters or {})
    symbols = symbols_of(robot) if robot.symbolic else ()
    law = Friction.of(friction)
    refuse_exact_friction(robot, law)
    check_names(torque, given, robot, symbols)
    of_symbols = {name: symbol_numbers(arrays, name, given[name]) for name in symbols}
    dims = max((len(array.shape) for array in of_symbols.values()), default=0)
    at = None
    if isinstance(wrench, Mapping):
        at = wrench_frames(robot, wrench, None, axes) if wrench else None
        wrench = stack_wrenches(wrench, as_is) if wrench else None
    one_of(axes, AXES, "axes")
    values = {"q0": q0, "qd0": qd0, "torque": None if function else torque, "table": table, "wrench": wrench}
    known = array_arguments(robot, arrays, values, table_rows, at, dims)
    batch = batch_of(robot, [*known.values(), *of_symbols.values()])
    for name, array in of_symbols.items():
        if array.shape:
            trajectory_shape(name, given[name], array.shape, batch, ())
    values = host_numbers(arrays, {name: array.value for name, array in of_symbols.items()})
    if values:
        refuse_inconsistent_values(robot, values)
        refuse_driving_law(robot, law, values)
    of_laws, declared = {}, declared_shapes(function)
    for name in sorted(set(given) - set(symbols)):
        label, value = f"parameters: {name!r}", unmark(given[name])
        shape = arrays.shape(label, value)
        one_shape = trajectory_shape(name, given[name], shape, batch, declared.get(name))
        of_laws[name] = ArrayArgument(label, value, shape, one_shape)
    numbers = host_numbers(arrays, {name: array.value for name, array in of_laws.items()})
    check_law_numbers(function, {name: (array, of_laws[name].item_shape) for name, array in numbers.items()})
    problem = Problem(
        robot,
        function,
        "torque" in known or "table" in known,
        known["wrench"].item_shape if "wrench" in known else None,
        law,
        symbols=symbols,
        torque_parameters=tuple((name, array.item_shape) for name, array in of_laws.items()),
        point=at,
        energy_balance=False,
        base=base_function(base),
    )
    every = [*known.values(), *of_laws.values(), *of_symbols.values()]  # in the order of the program's inputs
    rows = [rows_of(arrays, array, batch) for array in every]
    every_symbol = values if len(values) == len(symbols) else None
    return RolloutInputs(problem.with_traced_functions(), batch, rows, "tau" if "table" in known else "", every_symbol)


def symbol_numbers(arrays: Arrays, name: str, value: Any) -> ArrayArgument:
    """The values of a symbol: one for all trajectories, or marked as one for each."""
    numbers = unmark(value)
    array = ArrayArgument(f"parameters: {name!r}", numbers, arrays.shape(f"parameters: {name!r}", numbers), ())
    if array.shape and not isinstance(value, PerTrajectory):
        raise ValueError(
            f"{array.name} has shape {array.shape} (expected a number for all trajectories, or lw.per_trajectory(array)"
            " with one for each: it is a symbol of the robot)"
        )
    return array


def host_numbers(arrays: Arrays, given: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """The numbers that are in the memory of the host."""
    host = {name: arrays.on_host(value) for name, value in given.items()}
    return {name: array.astype(float) for name, array in host.items() if array is not None}


class ArrayArgument(NamedTuple):
    """An array of the caller: its name in messages, its value and shape, and its shape for one trajectory."""

    name: str
    value: Any
    shape: Shape
    item_shape: Shape


def as_is(name: str, value: Any) -> Any:
    """An array of a library, or the value as an array of NumPy."""
    return value if hasattr(value, "dtype") else numpy_array(name, value)


def array_arguments(
    robot: Robot, arrays: Arrays, values: Mapping[str, Any], table_rows: int, at: WrenchFrames | None, axes: int
) -> dict[str, ArrayArgument]:
    """The arrays with a given shape, in the order of the program. The batch has at least `axes` axes."""
    if values["torque"] is not None and values["table"] is not None:
        raise ValueError("torque is constant, and table is given (expected one of them, or a function and table)")
    item_shapes: dict[str, Shape] = {
        "q0": (robot.nq,),
        "qd0": (robot.n,),
        "torque": (robot.n,),
        "table": (table_rows, robot.n),
    }
    given = {name: value for name, value in values.items() if value is not None or name == "q0"}
    shapes = {name: arrays.shape(name, value) for name, value in given.items()}
    shapes.setdefault("qd0", (robot.n,))  # zeros
    if at is not None:
        item_shapes["wrench"] = (len(at.names), 6)
    elif "wrench" in given:
        fronts = [shape[: len(shape) - len(item_shapes[name])] for name, shape in shapes.items() if name != "wrench"]
        batch: Shape = max([*fronts, (1,) * axes], key=len)
        on_tip = wrench_on_tip(robot, shapes["wrench"], batch)
        item_shapes["wrench"] = (6,) if on_tip else (len(robot.names), 6)
    return {
        name: ArrayArgument(name, value, shapes[name], item_shapes[name])
        for name, value in values.items()
        if name in shapes
    }


def rows_of(arrays: Arrays, array: ArrayArgument, batch: Shape) -> tuple[Any, int]:
    """The numbers of an array, and how many each trajectory has; 0: shared by all."""
    if array.value is None:
        return arrays.zeros(array.item_shape), 0
    front = array.shape[: len(array.shape) - len(array.item_shape)]
    shared = math.prod(front) == 1
    shape = array.shape if shared else (*batch, *array.item_shape)
    return arrays.rows(array.name, array.value, shape), 0 if shared else math.prod(array.item_shape)


def refuse_exact_friction(robot: Robot, friction: Friction | None) -> None:
    if friction is not None and friction.smooth == 0.0 and (robot.symbolic or friction.dry(robot)):
        raise ValueError("friction is exact: joints stick (expected Friction with smooth above 0, or lw.simulate)")


def refuse_sampled_laws(torque: Any) -> None:
    if split_sampled_laws(torque)[1]:
        raise ValueError(
            "the torque has a sampled law, which is computed at its own times (expected lw.simulate; or a loop with"
            " one rollout for each period, where torque= is what the law gives at its start)"
        )


def batch_of(robot: Robot, arrays: Sequence[ArrayArgument]) -> Shape:
    """The common batch shape of arrays whose last axes are known."""
    batches = {}
    for name, _, shape, item_shape in arrays:
        dims = len(shape) - len(item_shape)
        if dims < 0 or shape[dims:] != item_shape:
            expected = ", ".join(("...", *map(str, item_shape)))
            labels = robot.q_names if name == "q0" else robot.v_names
            names = ", ".join(labels) if len(labels) <= 6 else f"{', '.join(labels[:3])}, ..., {labels[-1]}"
            numbers = f": one number for each of {names}" if name in ("q0", "qd0", "torque") else ""
            raise ValueError(f"{name} has shape {shape} (expected ({expected}){numbers})")
        batches[name] = shape[:dims]
    return broadcast(batches)
