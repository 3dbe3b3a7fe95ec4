"""From the arguments of a rollout to its problem, and the rows of numbers that each trajectory has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ..api.states import require_robot
from ..errors import near_miss
from ..kernels.interface import broadcast
from ..robot import Friction, Robot
from ..trace import symbols_of
from .parameters import parameters_of
from .problem import Problem
from .rollout_arrays import Arrays, Shape
from .sampling import parted


class Inputs(NamedTuple):
    """What is integrated, from where."""

    problem: Problem  # with the user's function as it is now
    batch: Shape
    rows: list[tuple[Any, int]]  # arrays, and how many numbers a trajectory has in each; 0: all share them
    table: str  # the parameter that has a row for each step


def rollout_inputs(
    arm: Robot,
    arrays: Arrays,
    q0: Any,
    qd0: Any,
    steps: int,
    *,
    torque: Any,
    table: Any,
    wrench: Any,
    friction: bool | Friction,
    parameters: Mapping[str, Any] | None,
) -> Inputs:
    require_robot(arm)
    if parted(torque)[1]:
        raise ValueError("the torque has a sampled law, which has a memory (expected lw.simulate for it)")
    function, given = torque if callable(torque) else None, dict(parameters or {})
    values = {"q0": q0, "qd0": np.zeros(arm.n) if qd0 is None else qd0}
    own: dict[str, Shape] = {"q0": (arm.nq,), "qd0": (arm.n,)}
    if torque is not None and function is None:
        values["torque"], own["torque"] = torque, (arm.n,)
    if table is not None:
        if "torque" in values:
            raise ValueError("torque is constant, and table is given (expected one of them, or a function and table)")
        values["table"], own["table"] = table, (steps, arm.n)
    if wrench is not None:
        values["wrench"] = wrench
        axes = max(len(arrays.shape(name, values[name])) for name in ("q0", "qd0")) - 1
        own["wrench"] = wrench_shape(arm, arrays.shape("wrench", wrench), axes)
    symbols = symbols_of(arm) if arm.symbolic else ()
    refuse_wrong_names(arm, torque, symbols, given)
    for name in symbols:
        values[name], own[name] = given.pop(name), ()
    shapes = {name: arrays.shape(name, value) for name, value in values.items()}
    batch = batch_of(arm, own, shapes)
    for name in sorted(given):
        shape = arrays.shape(f"parameters: {name!r}", given[name])
        values[name], shapes[name] = given[name], shape
        own[name] = shape[len(batch) :] if batch and shape[: len(batch)] == batch else shape
    problem = Problem(
        arm,
        function,
        "torque" in values or "table" in values,
        own.get("wrench"),
        Friction.of(friction),
        symbols=symbols,
        torque_parameters=tuple((name, own[name]) for name in sorted(given)),
        energy_balance=False,
    )
    if problem.sticking is not None:
        raise ValueError("friction is exact: joints stick (expected Friction with smooth above 0, or lw.simulate)")
    first = ("q0", "qd0", "torque", "table", "wrench")
    order = [name for name in first if name in values] + sorted(given) + list(symbols)
    rows = []
    for name in order:
        shared = len(shapes[name]) == len(own[name])
        shape = own[name] if shared else (*batch, *own[name])
        rows.append((arrays.rows(name, values[name], shape), 0 if shared else int(np.prod(own[name]))))
    return Inputs(problem.traced(), batch, rows, "tau" if "table" in values else "")


def wrench_shape(arm: Robot, shape: Shape, axes: int) -> Shape:
    """(6,) for a wrench on the tip, (bodies, 6) for one on every link; `axes` has the batch."""
    bodies, one_tip = len(arm.names), len(arm.leaves) == 1
    if shape[-1:] == (6,) and len(shape) <= axes + 1 and one_tip:
        return (6,)
    if shape[-2:] == (bodies, 6) and len(shape) == axes + 2:
        return (bodies, 6)
    front = "..., " * bool(axes)
    tip = f"({front or ''}6) for the tip or " if one_tip else ""
    raise ValueError(
        f"wrench has shape {shape} (expected {tip}({front}{bodies}, 6) for every link: moment, then force, in the base"
        " frame, at the centre of mass)"
    )


def refuse_wrong_names(arm: Robot, torque: Any, symbols: tuple[str, ...], given: Mapping[str, Any]) -> None:
    """Every parameter is known, and has a value if it needs one."""
    laws = parameters_of(torque)
    known = {**dict.fromkeys(symbols, True), **laws}
    for name in given:
        if name not in known:
            expected = f"expected {', '.join(known)}" if known else "there are none"
            raise ValueError(
                f"parameters: {name!r} is neither a symbol of robot {arm.name!r} nor a parameter of the torque function"
                f"{near_miss(name, known)} ({expected})"
            )
    for name in symbols:
        if name in laws:
            raise ValueError(f"{name!r} is a symbol of the robot and a parameter of the torque function (expected one)")
    for name, needed in known.items():
        if needed and name not in given:
            raise ValueError(f"parameters: {name!r} has no value (expected numbers: parameters={{{name!r}: ...}})")


def batch_of(arm: Robot, own: Mapping[str, Shape], shapes: Mapping[str, Shape]) -> Shape:
    """The one batch shape of arrays whose last axes are known."""
    batches = {}
    for name, shape in shapes.items():
        dims = len(shape) - len(own[name])
        if dims < 0 or shape[dims:] != own[name]:
            expected = ", ".join(("...", *map(str, own[name])))
            labels = arm.q_names if name == "q0" else arm.v_names
            numbers = f": one number for each of {', '.join(labels[:6])}" if name in ("q0", "qd0", "torque") else ""
            raise ValueError(f"{name} has shape {shape} (expected ({expected}){numbers})")
        batches[name] = shape[:dims]
    return broadcast(batches)
