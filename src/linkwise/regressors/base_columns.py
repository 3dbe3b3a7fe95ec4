"""The columns of base parameters in regressors, and the matrix from all parameters to base parameters.

A base parameter is a sum of multiples of the links' own parameters. Its column is the column of any bodies for which it
is one and all other base parameters are zero. Usually this is a unit of the parameter of the same name. Where J_zz is
eliminated from the tensor, it is a unit of J_xx (or J_yy) and J_zz together; where the rest of a body has moved to a
link without one, of J_xx and J_yy. Rotors and coefficients of friction that depend on others are found in random
states.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ..errors import RobotError
from ..robot import Friction, PerRobot, Robot
from ..robot.regroup import TEN, body_of
from ..robot.scales import length_unit
from ..robot.symbols import random_bindings
from ..spatial import RigidInertia, Scalar, add, dot_product, mul
from ..symbolic import Collector
from .base_parameters import (
    DRAWS,
    ROUNDING,
    SMALL,
    BaseParameter,
    Span,
    base_parameters,
    length_degree,
    round_to_integer,
)
from .parameters import Column, all_columns
from .regressors import random_torques

Shares = dict[str, Scalar]  # multiples of parameters, by their names


class Grouping(NamedTuple):
    """Base parameters: their columns, and the multiples of all parameters that add up to each."""

    columns: list[Column]
    shares: list[Shares]
    names: list[str]  # of all parameters

    def values(self, values: Sequence[Scalar]) -> list[Scalar]:
        """The base parameters, from all parameters."""
        of = dict(zip(self.names, values, strict=True))
        collect = Collector()
        return [collect(dot_product(shares.values(), map(of.__getitem__, shares))) for shares in self.shares]

    @property
    def matrix(self) -> np.ndarray:
        """(b, p)"""
        rows = [[shares.get(name, 0.0) for name in self.names] for shares in self.shares]
        numbers = all(type(x) is float for row in rows for x in row)
        return np.array(rows, dtype=float if numbers else object)


@PerRobot
def base_grouping(robot: Robot, law: Friction | None) -> Grouping:
    """The base parameters of a robot, computed once for each robot and law of friction."""
    bodies, made_of = base_bodies(robot)
    every = all_columns(robot, law)
    drives = [column for column in every if column.drive]
    independent_columns = list(range(len(bodies)))
    columns = [*bodies, *drives]
    shares = [*made_of, *({column.name: 1.0} for column in drives)]
    samples = random_bindings(robot, DRAWS) if robot.symbolic else [robot.mapped(float)]
    torques = [random_torques(sample, law, columns) for sample in samples]
    spans = [Span(np.linalg.qr(units(x[:, independent_columns]))[0]) for x in torques]
    dependent: list[int] = []
    for k in range(len(independent_columns), len(columns)):
        independent = [span.extend(units(x[:, k])) for span, x in zip(spans, torques, strict=True)]
        (independent_columns if any(independent) else dependent).append(k)
    of_each = [multiples(x[:, independent_columns], x[:, dependent]) for x in torques]
    for j, k in enumerate(dependent):
        if any(np.abs(of_each[0][:, j] - other[:, j]).max() > SMALL for other in of_each):
            independent_columns.append(k)  # the multiples depend on lengths and angles
            continue
        for i, x in zip(independent_columns, of_each[0][:, j].tolist(), strict=False):
            if x != 0.0:
                shares[i] = {**shares[i], columns[k].name: x}
    independent_columns.sort()
    return Grouping(
        [columns[k] for k in independent_columns],
        [shares[k] for k in independent_columns],
        [column.name for column in every],
    )


@PerRobot
def base_bodies(robot: Robot) -> tuple[tuple[Column, ...], tuple[Shares, ...]]:
    """The columns of the base parameters of the bodies, and the multiples that make up each."""
    base, unit = base_parameters(robot), length_unit(robot)
    return tuple(body_columns(robot, base, unit)), tuple(parameter.made_of for parameter in base)


def body_columns(robot: Robot, base: Sequence[BaseParameter], unit: float) -> Iterator[Column]:
    """The column of each base parameter, as that of one body on one link. Multiples are compared in units of length."""
    collect = Collector()
    parts: dict[str, dict[int, Scalar]] = {}  # what a unit of each link's own parameter has of each base parameter
    for k, parameter in enumerate(base):
        for name, x in parameter.made_of.items():
            parts.setdefault(name, {})[k] = mul(x, unit ** (length_degree(name) - length_degree(parameter.name)))
    bodies = {robot.links[i].name: joint for joint in robot.moving for i in range(joint.first, joint.link + 1)}
    for k, parameter in enumerate(base):
        link, _, number = parameter.name.rpartition(".")
        joint = bodies[link]
        for units in ((number,), (number, "Jzz"), ("Jxx", "Jyy")):
            if is_unit(k, [parts.get(f"{joint.name}.{unit}", {}) for unit in units], collect):
                body = body_of([float(name in units) for name in TEN])
                yield Column(parameter.name, ((joint.link, body),))
                break
        else:
            yield Column(parameter.name, tuple(nearest_bodies(robot, parts, [p.name for p in base], k, unit)))


def is_unit(k: int, parts: Sequence[Mapping[int, Scalar]], collect: Collector) -> bool:
    """Whether the parts add up to one of the k-th base parameter and zero of all others."""
    total: dict[int, Scalar] = {}
    for part in parts:
        for j, x in part.items():
            total[j] = add(total.get(j, 0.0), x)
    return k in total and all(is_close(collect(x), float(j == k)) for j, x in total.items())


def is_close(x: Scalar, number: float) -> bool:
    return type(x) is float and abs(x - number) < ROUNDING


def nearest_bodies(
    robot: Robot, parts: Mapping[str, Mapping[int, Scalar]], base: Sequence[str], k: int, unit: float
) -> Iterator[tuple[int, RigidInertia]]:
    """The smallest bodies for which the k-th base parameter is one, and all others are zero."""
    names = [column.name for column in all_columns(robot, None) if not column.drive]
    if robot.symbolic:
        raise RobotError(
            f"robot {robot.name!r}: the column of {base[k]!r} cannot be found in symbols (expected a robot of numbers)"
        )
    matrix = np.array([[parts.get(name, {}).get(j, 0.0) for name in names] for j in range(len(base))])
    ten = np.linalg.pinv(matrix)[:, k].reshape(-1, len(TEN))
    scale = [unit ** (length_degree(name) - length_degree(base[k])) for name in TEN]
    for joint, numbers in zip(robot.moving, ten.tolist(), strict=True):
        if any(abs(x) > SMALL for x in numbers):
            yield joint.link, body_of(mul(round_to_integer(x), s) for x, s in zip(numbers, scale, strict=True))


def units(columns: np.ndarray) -> np.ndarray:
    """Columns scaled to length one; columns of zeros (drives that do not move) stay zero."""
    sizes = np.linalg.norm(columns, axis=0)
    return np.asarray(columns / np.where(sizes > 0.0, sizes, 1.0))


def multiples(columns: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """The multiples of independent columns that add up to the targets; small ones are set to zero, halves are exact."""
    basis, upper = np.linalg.qr(units(columns))
    solution = np.linalg.solve(upper, basis.T @ units(targets)) if targets.size else np.empty((columns.shape[1], 0))
    solution[np.abs(solution) < SMALL] = 0.0
    scaled = solution * np.linalg.norm(targets, axis=0) / np.linalg.norm(columns, axis=0)[:, None]
    halves = np.round(2.0 * scaled) / 2.0
    return np.asarray(np.where((halves != 0.0) & (np.abs(scaled - halves) < ROUNDING), halves, scaled))
