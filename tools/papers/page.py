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
    lines += ["To begin with:", "", "```python", *paper.start.strip().splitlines(), "", "```", ""]
    lines += [*guide(paper), ""]
    if missing := [row for row in paper.rows if row.open]:
        lines += ["Not reproduced:", "", *(f"- {row.at}: {plain(row.open)}" for row in missing), ""]
    names = ["```python", *preamble(paper), "```"]
    if len(names) > LONG:
        names = ["<details><summary>The names that calls and checks use</summary>", "", *names, "", "</details>"]
    lines += [*names, ""]
    for section in sections(paper):
        lines += [f"## {section[0].section}", "", table(HEAD), "| --- | --- | --- | --- |"]
        lines += [table((row.at, meaning(row), calls(row), measured(paper, row))) for row in section]
        for row in section:
            if row.picture:
                lines += ["", f"![{row.at}: {plain(row.text)}](../pictures/{row.picture})"]
        checks = [f"- {row.at}: {check}" for row in section for check in checks_of(row)]
        if checks:
            lines += ["", "<details><summary>Checks of this section</summary>", "", *checks, "", "</details>"]
        lines += [""]
    return "\n".join(lines).rstrip() + "\n"


def guide(paper: Paper) -> list[str]:
    """How the tables are read."""
    others = ", ".join(f"`{robot}`" for robot in paper.robots[1:])
    text = [
        "Each row has the call that gives a thing in print, and what was measured. *Agrees to 1e-12* is the largest"
        " relative residual against a formula written from the text; it stands below the table, where `result` is the"
        " value of the call.",
    ]
    if others:
        text.append(f"The residuals are those of `{paper.robots[0]}`; they are as small for {others}.")
    copied = "An erratum *perhaps of the copy* is a lost letter, dot, star or line: the machine-read copy that was used"
    text.append(f"{copied} may have lost it, not print. The others are wrong in their sense.")
    return text


def sections(paper: Paper) -> list[list[Row]]:
    """The rows of each section; the first row of a section has its heading."""
    groups: list[list[Row]] = []
    for row in paper.rows:
        groups += [[]] if row.section else []
        groups[-1].append(row)
    return groups


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
    head = "Erratum, perhaps of the copy:" if row.copy else "Erratum:"
    return plain(row.text) + (f" **{head}** {plain(row.erratum)}" if row.erratum else "")


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
        parts.append(f"agrees to {row.bound:.0e}")
    if row.wrong:
        parts.append(f"as printed it is off by {paper.error_in_print(row):.2g}")
    if row.printed is not None:
        parts += compared(row, rounded(paper, row))
    if row.holds:
        parts.append("holds")
    return "; ".join(parts) or "nothing to measure"


def compared(row: Row, computed: Any) -> Iterator[str]:
    """Printed numbers beside the computed ones, each with its name where they have names."""
    if not row.order:
        yield f"printed {numbers_text(row.printed)}, computed {numbers_text(computed)}"
        return
    each = len(row.printed) // len(row.order)
    for k, name in enumerate(row.order):
        pair = [numbers_text(values[each * k : each * k + each]) for values in (row.printed, computed)]
        yield f"{name} {pair[0]}" + (f" (computed {pair[1]})" if pair[0] != pair[1] else "")
    yield "printed and computed numbers are the same where one is given"


def checks_of(row: Row) -> Iterator[str]:
    """The expressions behind the words of `measured`."""
    for expression, end in ((row.residual, f" is below {row.bound:.0e}"), (row.holds, " holds")):
        if expression:
            yield f"`{' '.join(expression.split())}`{end}"
    if row.computed:
        yield f"computed: `{' '.join(row.computed.split())}`"
    if row.wrong:
        yield f"as printed: `{' '.join(row.wrong.split())}`"


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
