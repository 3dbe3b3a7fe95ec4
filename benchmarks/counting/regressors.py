"""Operation counts of regressors, for `operation_counts`: the recursion, and inverse dynamics column by column."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

import linkwise as lw
from linkwise.robot.regroup import TEN, body_of
from linkwise.spatial import RigidInertia

from .derivatives import ROBOTS, table

BASE = "base parameters"


@cache
def by_recursion(arm: lw.Robot, base: bool) -> lw.results.Count:
    return lw.count(lw.regressor, arm, base=base)


def column_by_column(arm: lw.Robot) -> lw.results.Count:
    """Each column as the torques of a robot with a single unit body, in one program."""
    units = [body_of(unit) for unit in np.eye(len(TEN)).tolist()]
    alone = [with_one_body(arm, joint.link, unit) for joint in arm.moving for unit in units]

    def columns(arm: lw.Robot, q: Any, qd: Any, qdd: Any) -> Any:
        return tuple(lw.inverse_dynamics(one, q, qd, qdd, method="denoc") for one in alone)

    return lw.count(columns, arm)


def with_one_body(arm: lw.Robot, index: int, body: RigidInertia) -> lw.Robot:
    none = RigidInertia.zero()
    links = (replace(link, grouped=body if k == index else none) for k, link in enumerate(arm.links))
    return replace(arm.without_rotors(), links=tuple(links))


def entries(robots: Iterable[str]) -> dict[str, lw.results.Count]:
    """For the golden file."""
    arms = {name: lw.load(name) for name in robots}
    every = {f"{name}/regressor": by_recursion(arm, base=False) for name, arm in arms.items()}
    return every | {f"{name}/regressor, {BASE}": by_recursion(arm, base=True) for name, arm in arms.items()}


def row(name: str, arm: lw.Robot) -> list[str]:
    full, base = by_recursion(arm, base=False), by_recursion(arm, base=True)
    columns = len(lw.parameters(arm)), len(lw.parameters(arm, base=True))
    pairs = [f"{count.multiplications:,}, {count.additions:,}" for count in (full, base)]
    own = lw.count(lw.inverse_dynamics, arm, method="fewest").total
    cells = (f"{own:,}", f"{column_by_column(arm).total:,}", f"{full.total:,}", pairs[0])
    return [name, str(arm.n), *cells, str(columns[0]), pairs[1], str(columns[1])]


def section(general: Mapping[str, lw.Robot]) -> list[str]:
    """Of the page, for general arms and robots of the library."""
    arms = {**general, **{f"`{name}`": lw.load(name) for name in ROBOTS}}
    rows = [row(name, arm) for name, arm in arms.items()]
    head = ("robot", "n", "inverse dynamics", "column by column", "recursion", "its M, A", "columns")
    head = (*head, "base parameters: M, A", "columns")
    return ["", "## Regressors", "", *ABOUT.splitlines(), "", *table(head, rows), ""]


ABOUT = """
All entries of `lw.regressor`, by its recursion, and with the columns of the base parameters alone; the columns of
rotors cost nothing. Column by column: the torques of the robot with a unit of each parameter and nothing else, by
method `denoc`, in one program, so that what they share counts once. Beside them the torques themselves, by `fewest`.
""".strip()
