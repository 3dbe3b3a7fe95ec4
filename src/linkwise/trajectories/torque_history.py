"""Torques over time: samples between which they are interpolated by cubics, or held."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from ..api.states import Array, as_array
from ..errors import FileError, one_of
from ..kernels.interface import host_array
from ..lazy import cached_property
from ..robot import Robot
from ..robot.layout import Layout, canonical_names, reorder_columns
from ..robot.named_arrays import refuse_gradients, refuse_mark
from ..tables import read_table, refuse_separator
from .limits import Floats
from .loads import Loads
from .pieces import Polynomials, hermite, spline_rates

Interpolation = Literal["cubic", "held"]
History = tuple[Array, Array] | Loads | str | os.PathLike[str]  # what a user gives


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
    """The history that a torque argument is: a pair (t, tau), loads or a .csv file; None for all others.

    A pair is one where t is (k,) and tau is (k, n) or (k, ..., n).
    """
    one_of(interpolation, get_args(Interpolation), "interpolation")
    if isinstance(torque, TorqueHistory):
        return torque
    if isinstance(torque, (str, os.PathLike)):
        t, tau, where = *read_torques(robot, Path(torque)), f"{os.fspath(torque)}: "
    elif isinstance(torque, Loads):
        check_robot_of_loads(robot, torque)
        t, tau, where = torque.t, torque.tau, "torque: "
    elif is_pair(torque):
        where = "torque: "
        t, tau = as_array(np, host_array("torque: t", torque[0]), "torque: t", None), pair_torques(robot, torque[1])
    else:
        return None
    t, tau = (np.array(x, dtype=float) for x in (t, tau))
    check_history(robot, t, tau, where)
    return TorqueHistory(t, tau, interpolation)


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


def check_robot_of_loads(robot: Robot, loads: Loads) -> None:
    its, ours = (list(zip(x.v_names, x.effort_units, strict=True)) for x in (loads.robot, robot))
    if its != ours:
        raise ValueError(
            f"torque: the loads are of robot {loads.robot.name!r}, whose joints are {', '.join(loads.robot.v_names)}"
            f" (expected those of robot {robot.name!r}: {', '.join(robot.v_names)})"
        )


def check_history(robot: Robot, t: Floats, tau: Floats, where: str) -> None:
    if t.ndim != 1 or tau.ndim < 2 or tau.shape[0] != len(t) or tau.shape[-1] != robot.n:
        raise ValueError(
            f"{where}a pair has the shapes {t.shape} and {tau.shape} (expected a torque history: times (k,) and torques"
            f" (k, {robot.n}) or (k, ..., {robot.n}); or constant torques, as one array: np.array)"
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


def read_torques(robot: Robot, file: Path) -> tuple[Floats, Floats]:
    """Times (k,) and torques (k, n) of a table with the columns t, tau1, tau2, ..., or named after joints or links."""
    table = read_table(file)
    refuse_separator(table.where, table.names)
    names = canonical_names(table.where, table.names, robot, bare="tau")
    wanted = ("t", *Layout.of(robot).columns("tau"))
    if missing := [name for name in wanted if name not in names]:
        raise FileError(
            f"{table.where}: column {missing[0]!r} is missing (expected a torque history of robot {robot.name!r}:"
            f" {', '.join(wanted)}, or the names of its joints or links; the columns are {', '.join(table.names)})"
        )
    if twice := [name for name in wanted if names.count(name) > 1]:
        raise FileError(f"{table.where}: column {twice[0]!r} occurs twice")
    numbers = np.array(table.numbers(picked=[names.index(name) for name in wanted]))
    if len(numbers) < 2:
        raise FileError(f"{file}: has {len(numbers)} rows (expected at least two)")
    return numbers[:, 0], numbers[:, 1:]
