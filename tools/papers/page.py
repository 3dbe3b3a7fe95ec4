"""The page of a paper: a table of its rows for each section."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from .rows import SMALLEST, Paper, Row

FOLDER = Path(__file__).parents[2] / "docs" / "papers"
LONG = 40  # lines, beyond which the names of a page are folded
HEAD = ("in print", "what it says", "call", "measured")


def page(paper: Paper) -> str:
    lines = [f"# {paper.title}", ""]
    lines += ["*This page is written by `make papers` from " + f"[{paper.name}.toml]({paper.name}.toml).*", ""]
    lines += [*paper.about.strip().splitlines(), ""]
    if paper.setup:
        names = ["```python", *preamble(paper), "```"]
        if len(names) > LONG:
            names = ["<details><summary>Show them</summary>", "", *names, "", "</details>"]
        lines += ["The rows below use these names:", "", *names, ""]
    if paper.robots[1:]:
        others = ", ".join(f"`{robot}`" for robot in paper.robots[1:])
        lines += [f"Bounds below hold for {others} too.", ""]
    pictures: list[str] = []  # below the table of their section
    for row in paper.rows:
        if row.section:
            lines += ([*pictures, ""] if pictures or lines[-1] else []) + [
                f"## {row.section}",
                "",
                table(HEAD),
                "| --- | --- | --- | --- |",
            ]
            pictures = []
        lines.append(table((row.at, meaning(row), calls(row), measured(paper, row))))
        if row.picture:
            pictures += ["", f"![{row.at}: {plain(row.text)}](../pictures/{row.picture})"]
    return "\n".join([*lines, *pictures]).rstrip() + "\n"


def preamble(paper: Paper) -> Iterator[str]:
    yield "import numpy as np, linkwise as lw"
    yield f"robot = {paper.robots[0]}"
    yield "n = robot.n"
    yield "q, qd, qdd = np.random.default_rng(0).uniform(-1.0, 1.0, (3, n))"
    yield "tau = lw.inverse_dynamics(robot, q, qd, qdd)"
    yield f"relative = lambda a, b: np.abs(np.subtract(a, b)).max() / max(np.abs(a).max(), np.abs(b).max(), {SMALLEST})"
    yield from paper.setup.strip().splitlines()


def table(cells: tuple[str, ...]) -> str:
    return "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |"


def meaning(row: Row) -> str:
    return plain(row.text) + (f" **Erratum:** {plain(row.erratum)}" if row.erratum else "")


def plain(text: str) -> str:
    """Stars of transposes and operators, not of emphasis; code stays."""
    return "`".join(part if k % 2 else part.replace("*", "\\*") for k, part in enumerate(text.split("`")))


def calls(row: Row) -> str:
    return "; ".join(part for part in (f"`{row.call}`" if row.call else "", row.see) if part)


def measured(paper: Paper, row: Row) -> str:
    parts = []
    if row.shows:
        parts.append(f"here {numbers_text(paper.value(row, row.shows))}")
    if row.residual:
        parts.append(f"`{row.residual}` is below {row.bound:.0e}")
    if row.wrong:
        parts.append(f"as printed it is off by {paper.error_in_print(row):.2g}")
    if row.printed is not None:
        parts.append(f"printed {numbers_text(row.printed)}, computed {numbers_text(rounded(paper, row))}")
    if row.holds:
        parts.append(f"`{row.holds}` holds")
    return "; ".join(parts)


def rounded(paper: Paper, row: Row) -> Any:
    """Computed numbers to the digits of the printed ones."""
    digits = max(0, -math.floor(math.log10(2 * row.within))) if row.within else 0
    return np.round(paper.computed(row), digits).tolist()


def numbers_text(value: Any) -> str:
    if isinstance(value, list | tuple):
        nested = any(isinstance(x, list | tuple) for x in value)
        return ("; " if nested else ", ").join(map(numbers_text, value))
    if isinstance(value, str):
        return f"`{value}`"
    return f"{value:g}" if isinstance(value, float) else str(value)
