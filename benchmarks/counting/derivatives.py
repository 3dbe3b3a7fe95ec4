"""Operation counts of derivatives, for `operation_counts`: forward mode, reverse mode and closed form side by side."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

import linkwise as lw
from linkwise.graph import count
from linkwise.graph.derivative import TangentMap
from linkwise.graph.derivative import derivative as graph_derivative

DERIVED = {  # the method that is differentiated, and the closed form
    "inverse_dynamics": ("fewest", lw.inverse_dynamics_derivatives),
    "forward_dynamics": ("composite-udu", lw.forward_dynamics_derivatives),
}
LONG = 8  # reverse mode of forward dynamics is not counted from this n on: it takes longest, and most operations
ROBOTS = ("planar3", "puma560", "stanford", "ur5e", "iiwa14", "gen3", "panda", "satellite", "solo12", "go1")
TWICE = ("planar3", "puma560", "stanford", "ur5e", "panda")


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [header, ["---"] * len(header), *rows]
    return [f"| {' | '.join(line)} |" for line in lines]


@cache
def by_mode(function: str, mode: str, arm: lw.Robot) -> lw.results.Count:
    """Both derivatives, by q and by qd, of the shortest text in one program: what they share counts once."""
    program = lw.trace(getattr(lw, function), arm, method=DERIVED[function][0])
    moves = {"q": TangentMap(arm.n, arm.coordinates.configuration_rates)} if arm.quaternions else {}
    return count(graph_derivative(program, ("q", "qd"), mode, moves))


@cache
def in_closed_form(function: str, arm: lw.Robot) -> lw.results.Count:
    """The same two derivatives."""

    def both(arm: lw.Robot, q: Any, qd: Any, last: Any) -> Any:
        return DERIVED[function][1](arm, q, qd, last)[:2]

    return lw.count(both, arm)


def entries(robots: Iterable[str]) -> dict[str, lw.results.Count]:
    """For the golden file: closed forms on robots of the library."""
    return {f"{name}/{f}_derivatives": in_closed_form(f, lw.load(name)) for f in DERIVED for name in robots}


def row(name: str, function: str, arm: lw.Robot) -> list[str]:
    forward = by_mode(function, "forward", arm).total
    skipped = function == "forward_dynamics" and arm.n >= LONG
    reverse = "" if skipped else f"{by_mode(function, 'reverse', arm).total:,}"
    closed = in_closed_form(function, arm)
    own = lw.count(getattr(lw, function), arm, method=DERIVED[function][0]).total
    pair = f"{closed.multiplications:,}, {closed.additions:,}"
    cells = (f"{own:,}", f"{forward:,}", reverse, f"{closed.total:,}", pair)
    return [name, str(arm.n), *cells, f"{100 * (1 - closed.total / forward):.0f} %"]


def section(general: Mapping[str, lw.Robot]) -> list[str]:
    """Of the page, for general arms and robots of the library."""
    arms = {**general, **{f"`{name}`": lw.load(name) for name in ROBOTS}}
    lines = ["## First derivatives", "", *ABOUT.splitlines(), ""]
    for function in DERIVED:
        rows = [row(name, function, arm) for name, arm in arms.items()]
        head = ("robot", "n", "the function", "forward mode", "reverse mode", "closed form", "its M, A", "saved")
        lines += [f"Of `lw.{function}`, by q and by q̇:", "", *table(head, rows), ""]
    second = {name: lw.count(lw.inverse_dynamics_second_derivatives, lw.load(name)).total for name in TWICE}
    rows = [[f"`{name}`", f"{total:,}"] for name, total in second.items()]
    return [*lines, *SECOND.splitlines(), "", *table(("robot", "operations"), rows)]


ABOUT = """
Both derivatives of one function, by q and by q̇, in one program, so that what they share counts once. Forward and
reverse mode are those of `lw.derivative` on the text with the fewest operations (`fewest` of inverse dynamics,
`composite-udu` of forward dynamics); the closed form is `lw.inverse_dynamics_derivatives` and
`lw.forward_dynamics_derivatives`. Totals of multiplications, additions, divisions and functions; robots as the library
has them, with their rotors and, on the Panda, its two coupled fingers. Where an arm is short, or its axes are parallel,
forward mode finds most of what the closed form knows. No other counts of derivatives are known to us in print.
""".strip()
SECOND = """
All second derivatives of inverse dynamics, `lw.inverse_dynamics_second_derivatives`: by q twice, by q and q̇, by q̇
twice, and those of the inertia matrix by q.
""".strip()
