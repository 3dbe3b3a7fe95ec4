"""Torques over time: samples between which they are interpolated by cubics, or held."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from ..api.states import Array, as_array
from ..errors import FileError, near_miss, one_of
from ..kernels.interface import host_array
from ..lazy import cached_property
from ..printing import warn
from ..robot import Robot
from ..robot.layout import (
    MOTION,
    OF_NO_JOINT,
    Layout,
    canonical_names,
    coordinate_indices,
    labelled_columns,
    quantity_of,
    reorder_columns,
)
from ..robot.named_arrays import labels_of, refuse_gradients, refuse_mark
from ..tables import RECORDING, Table, comments_of, parse_table, read_text, refuse_separator
from .csv_reader import check_once, check_rows, check_times_of_rows
from .limits import Floats
from .loads import Loads
from .pieces import Polynomials, hermite, spline_rates

Interpolation = Literal["cubic", "held"]
INTERPOLATIONS = get_args(Interpolation)
BESIDE = {"base": "a motion of the base", "wrench": "a wrench"}  # what may act beside torques
History = tuple[Array, Array] | Loads | str | os.PathLike[str]  # what a user gives, or a table as of pandas


def history_torque(robot: Robot, t: Any, q: Any, qd: Any, begin: Any, width: Any, coefficients: Any) -> Any:
    """The torques of one piece of a history: a polynomial in s, from 0 to 1."""
    s = (t - begin) / width
    value = coefficients[-1]
    for coefficient in coefficients[-2::-1]:
        value = value * s + coefficient
    return value


@dataclass(frozen=True, eq=False)
class TorqueHistory:
    """Torques at increasing times, from 0 on; `law` gives them within one piece."""

    t: Floats  # (k,)
    tau: Floats  # (k, ..., n)
    interpolation: Interpolation
    law: Callable[..., Any] = history_torque
    also: tuple[str, ...] = ()  # what acted beside the torques: "base", "wrench"

    @property
    def duration(self) -> float:
        return float(self.t[-1])

    @cached_property
    def pieces(self) -> Polynomials:
        """A polynomial for each interval, in s from 0 to 1: of degree 3, or constant."""
        rows = self.tau.reshape(len(self.t), -1)
        if self.interpolation == "held":
            return Polynomials(self.t, rows[:-1, None])
        return hermite(self.t, np.stack([rows, spline_rates(self.t, rows)]))

    def parameters(self, piece: int) -> dict[str, Any]:
        """The parameters of the law within a piece; coefficients are (degree + 1, ..., n)."""
        coefficients = self.pieces.coefficients[piece]
        begin, end = self.t[piece : piece + 2]
        return {
            "begin": begin,
            "width": end - begin,
            "coefficients": coefficients.reshape(len(coefficients), *self.tau.shape[1:]),
        }

    def at(self, t: Floats) -> Floats:
        """Torques at times: (..., len(t), n)."""
        rows = np.asarray(self.pieces.at(t).q)
        values = np.broadcast_to(rows, (len(t), rows.shape[-1])).reshape(len(t), *self.tau.shape[1:])
        return np.moveaxis(values, 0, -2)


def torque_history(robot: Robot, torque: Any, interpolation: Interpolation) -> TorqueHistory | None:
    """The history that a torque argument is: a pair (t, tau), loads, a table or a .csv file; None for all others.

    A pair is one where t is (k,) and tau is (k, n) or (k, ..., n). A table has named columns, one of them t.
    """
    one_of(interpolation, INTERPOLATIONS, "interpolation")
    also: tuple[str, ...] = ()
    if torque is None or callable(torque):
        return None
    if isinstance(torque, TorqueHistory):
        return torque
    if isinstance(torque, (str, os.PathLike)):
        table = read_torques(robot, Path(torque))
        t, tau, where, also = table.t, table.tau, f"{os.fspath(torque)}: ", table.also
    elif isinstance(torque, Loads):
        check_robot_of(robot, torque, "the loads")
        t, tau, where, also = torque.t, torque.tau, "torque: ", loads_beside(torque)
    elif is_table(robot, torque):
        where = "torque: "
        t, tau = torques_of_table(robot, torque)
    elif is_pair(torque):
        where = "torque: "
        t, tau = as_array(np, host_array("torque: t", torque[0]), "torque: t", None), pair_torques(robot, torque[1])
    else:
        return None
    t, tau = (np.array(x, dtype=float) for x in (t, tau))
    check_history(robot, t, tau, where)
    return TorqueHistory(t, tau, interpolation, also=also)


def loads_beside(result: Any) -> tuple[str, ...]:
    """What acted beside the torques of loads or of a recording."""
    return tuple(name for name in BESIDE if is_given(getattr(result, name)))


def is_given(load: Any) -> bool:
    """Whether a load is given: None and {} are none."""
    return load is not None and not (isinstance(load, Mapping) and not load)


def with_its_loads(history: TorqueHistory, **loads: Any) -> TorqueHistory:
    """The history, with a warning if what acted beside its torques is not among the loads of the simulation."""
    if missing := [name for name in history.also if not is_given(loads[name])]:
        acted, options = (" and ".join(words) for words in ((BESIDE[x] for x in missing), (f"{x}=" for x in missing)))
        warn(
            f"torque: beside these torques acted {acted}, but not here (expected {options} too; or times and torques,"
            f" {pair_text(history.tau.ndim > 2)})"
        )
    return replace(history, also=())


def pair_text(batch: bool) -> str:
    """The torques of loads or of a recording x as a pair."""
    return "torque=(x.t, np.moveaxis(x.tau, -2, 0))" if batch else "torque=(x.t, x.tau)"


def is_pair(torque: Any) -> bool:
    """Whether it is a tuple of two arrays; numbers of a robot of two joints are not."""
    if not isinstance(torque, tuple) or len(torque) != 2:
        return False
    for x in torque:
        if callable(x):
            raise TypeError(
                f"torque is a tuple with a function, {x!r} (expected a function, a sum of laws, or a history (t, tau))"
            )
        refuse_gradients("torque", x)
        refuse_mark("torque", x)
    return any(hasattr(x, "__len__") for x in torque)


def pair_torques(robot: Robot, tau: Any) -> Any:
    """The torques of a pair, with named columns in the robot's order."""
    return as_array(np, host_array("torque: tau", reorder_columns(robot, "torque", tau)), "torque: tau", None)


def is_table(robot: Robot, torque: Any) -> bool:
    """Whether it has named columns with times among them."""
    if callable(torque) or isinstance(torque, tuple) or not isinstance(robot, Robot):
        return False
    if isinstance(torque, Mapping) or (isinstance(torque, list) and [min(depth(x), 2) for x in torque] == [1, 2]):
        raise TypeError(
            f"torque is a {type(torque).__name__} (expected a torque history as a tuple, torque=(t, tau), or as a table"
            " with columns t, tau1, ...)"
        )
    labels = labels_of(torque) or ()
    return any(label in ("t", "time") and label not in coordinate_indices(robot, "tau") for label in labels)


def depth(value: Any) -> int:
    """The number of axes, of nested lists by their first elements."""
    if isinstance(value, (list, tuple)):
        return 1 + depth(value[0]) if value else 1
    return int(getattr(value, "ndim", 0))


def torques_of_table(robot: Robot, torque: Any) -> tuple[Any, Any]:
    head = list(map(str, labels_of(torque) or ()))
    try:
        names = canonical_names("torque", head, robot, bare="tau")
        check_columns(robot, "torque", head, names)
    except FileError as error:
        raise ValueError(str(error)) from None
    labels = labels_of(torque) or []
    times = np.asarray(torque[labels[names.index("t")]])
    if times.dtype.kind in "mM":
        raise TypeError(
            f"torque: column {head[names.index('t')]!r} has dtype {times.dtype} (expected seconds, as numbers:"
            " t.dt.total_seconds() of time differences of pandas)"
        )
    table = labelled_columns(torque, labels)
    if "trajectory" in names:
        which = table[:, names.index("trajectory")]
        if len(others := np.flatnonzero(which != which[:1])):
            raise ValueError(
                f"torque: trajectory {which[others[0]]:g} begins in row {others[0]} (expected a table of one"
                " trajectory)"
            )
    values = table[:, [names.index(name) for name in torque_columns(robot)]]
    numbers = as_array(np, host_array("torque", values), "torque", None)
    return numbers[:, 0], numbers[:, 1:]


def check_robot_of(robot: Robot, result: Any, what: str) -> None:
    """Raise a ValueError unless a result has the joints of the robot, and warn if it is of another robot."""
    its, ours = (list(zip(x.v_names, x.effort_units, strict=True)) for x in (result.robot, robot))
    if its != ours:
        raise ValueError(
            f"torque: {what} are of robot {result.robot.name!r}, whose joints are {', '.join(result.robot.v_names)}"
            f" (expected those of robot {robot.name!r}: {', '.join(robot.v_names)})"
        )
    if result.robot.name != robot.name:
        warn(
            f"torque: {what} are of robot {result.robot.name!r}, not of {robot.name!r}, whose joints have these names"
            f" (expected those of this robot; or times and torques, {pair_text(result.q.ndim > 2)})"
        )


def check_history(robot: Robot, t: Floats, tau: Floats, where: str) -> None:
    if t.ndim != 1 or tau.ndim < 2 or tau.shape[0] != len(t) or tau.shape[-1] != robot.n:
        recorded = t.ndim == 1 and tau.ndim > 2 and tau.shape[-2] == len(t)
        hint = "; as recordings have them, with np.moveaxis(tau, -2, 0)" if recorded else ""
        raise ValueError(
            f"{where}a pair has the shapes {t.shape} and {tau.shape} (expected a torque history: times (k,) and torques"
            f" (k, {robot.n}) or (k, ..., {robot.n}){hint}; or constant torques, as one array: np.array)"
        )
    if len(t) < 2:
        raise ValueError(f"{where}has {len(t)} time (expected at least two)")
    if not (np.isfinite(t).all() and np.isfinite(tau).all()):
        raise ValueError(f"{where}has numbers that are not finite (expected finite times and torques)")
    if t[0] != 0.0:
        raise ValueError(f"{where}t[0] is {t[0]:g} (expected 0, where simulations begin: subtract it from all)")
    if not (np.diff(t) > 0.0).all():
        k = int(np.argmin(np.diff(t) > 0.0)) + 1
        raise ValueError(f"{where}t[{k}] is {t[k]:.9g}, after {t[k - 1]:.9g} (expected increasing times)")


class TorqueTable(NamedTuple):
    """Times (k,) and torques (k, n) of a table, and its columns by their canonical names."""

    t: Floats
    tau: Floats
    table: Table
    names: list[str]
    also: tuple[str, ...]  # what acted beside them, of a recording


def read_torques(robot: Robot, file: Path) -> TorqueTable:
    """Read a table with the columns t, tau1, tau2, ..., or named after joints or links, and perhaps a motion."""
    table = parse_table(file, text := read_text(file))
    refuse_separator(table.where, table.names)
    names = canonical_names(table.where, table.names, robot, bare="tau")
    check_rows(table, names, "tau1")
    check_columns(robot, table.where, table.names, names)
    wanted = torque_columns(robot)
    numbers = np.array(table.numbers(picked=[names.index(name) for name in wanted]))
    check_times_of_rows(table, numbers[:, 0])
    keys = [comment.partition(":")[0].partition(".")[0] for _, comment in comments_of(text)]
    also = [name for name in BESIDE if name in keys and RECORDING in keys]
    return TorqueTable(numbers[:, 0], numbers[:, 1:], table, names, tuple(also))


def torque_columns(robot: Robot) -> list[str]:
    return ["t", *Layout.of(robot).columns("tau")]


def check_columns(robot: Robot, where: str, head: Sequence[str], names: list[str]) -> None:
    """Raise a FileError unless the columns are those of a torque history of this robot, each once."""
    layout, wanted = Layout.of(robot), torque_columns(robot)
    expected = (
        f"(expected a torque history of robot {robot.name!r}: {', '.join(wanted)}, or the names of its joints or links)"
    )
    check_once(where, head, names)
    words = [*MOTION, "tau"]
    known = {"t", "trajectory", *OF_NO_JOINT, *(name for word in words for name in layout.columns(word))}
    others = [name for name in names if name not in known]
    for word in reversed(words):
        if of_others := [name for name in others if quantity_of(name) == word]:
            count = sum(quantity_of(name) == word for name in names)
            raise FileError(
                f"{where}: has {count} columns of {word}, and {of_others[0]!r} is of no joint of the robot {expected}"
            )
    if missing := [name for name in wanted if name not in names]:
        raise FileError(f"{where}: column {missing[0]!r} is missing {expected}; the columns are {', '.join(head)}")
    if unknown := [name for name in others if quantity_of(name) is None]:
        raise FileError(f"{where}: column {unknown[0]!r}{near_miss(unknown[0], sorted(known))} {expected}")
