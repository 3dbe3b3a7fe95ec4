"""Every formulation for n = 3 ... 30: its operations, and the time that they take.

    python benchmarks/formulation_times.py [--out DIR] [--rounds 100]

Kernels in straight-line code of general chains, `lw.chain(n)`, in doubles, batches of 256 states on one thread; all
methods and n take turns of about a millisecond, and the smallest time of the rounds counts: on a machine that does
other things, most turns are disturbed. Operations are multiplications, divisions and additions of the kernel.
Conjugate gradients (walker-orin-4) and O(log n) rounds (parallel) unroll to far too much code. Writes the tables of
docs/open-questions.md and the picture docs/pictures/formulation_times.svg, in some minutes.
"""

from __future__ import annotations

import argparse
import timeit
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from open_questions import COLOURS, DOCS, PAGE, save_svg, tidy, with_tables
from report import markdown, number
from timing import one_core

import linkwise as lw

SIZES = (3, 4, 6, 8, 10, 12, 16, 20, 25, 30)
STATES, CALLS_OF_ONE = 256, 200_000  # calls in a turn of a kernel with one operation
LEFT_OUT = ("walker-orin-4", "parallel", "fewest")
FUNCTIONS = {"Forward dynamics": lw.forward_dynamics, "Inverse dynamics": lw.inverse_dynamics}
PAIRS = (("denoc", "walker-orin-3"), ("articulated", "walker-orin-3"), ("articulated-regrouped", "composite-udu"))
LINEAR = (
    *("denoc", "articulated", "kalman", "normalized", "unnormalized", "articulated-regrouped"),
    *("newton-euler", "operators", "fewest"),
)
MARK, PICTURE = "make times", "formulation_times.svg"


class Cost(NamedTuple):
    operations: int
    seconds: float  # for one state


Costs = dict[str, dict[int, Cost]]  # by method, then by n


def methods_of(function: Callable[..., Any]) -> list[str]:
    left_out = LEFT_OUT if function is lw.forward_dynamics else ()
    return [name for name in lw.methods(function) if name not in left_out]


def costs(function: Callable[..., Any], sizes: Sequence[int], rounds: int, say: Callable[[str], None]) -> Costs:
    """Calls in a turn follow from the operations: by a disturbed clock they would be single ones, with cold caches."""
    result: Costs = {name: {} for name in methods_of(function)}
    timers: dict[tuple[str, int], tuple[timeit.Timer, int]] = {}
    for n in sizes:
        robot, states = lw.chain(n), np.random.default_rng(n).normal(size=(3, STATES, n))
        for name, by_n in result.items():
            kernel = lw.compile(function, robot, method=name, form="straight")
            operations = kernel.count.multiplications + kernel.count.divisions + kernel.count.additions
            timer = timeit.Timer(partial(kernel, *states, threads=1))
            timers[name, n] = timer, max(2, CALLS_OF_ONE // operations)
            by_n[n] = Cost(operations, np.inf)
        say(f"{function.__name__}, n = {n}")
    with one_core():
        for _ in range(rounds):
            for (name, n), (timer, calls) in timers.items():
                seconds = timer.timeit(calls) / calls / STATES
                result[name][n] = result[name][n]._replace(seconds=min(result[name][n].seconds, seconds))
    return result


def crossover(found: Costs, linear: str, cubic: str, quantity: str) -> str:
    """The first n from which the first method takes less than the second, for all larger n too."""
    sizes = list(found[linear])
    less = [getattr(found[linear][n], quantity) < getattr(found[cubic][n], quantity) for n in sizes]
    first = next((k for k in range(len(sizes)) if all(less[k:])), None)
    if first is None:
        return f"beyond {sizes[-1]}"
    return f"n = {sizes[first]}" + (f" (not yet at {sizes[first - 1]})" if first else "")


def tables(found: dict[str, Costs]) -> list[str]:
    lines: list[str] = []
    for title, of_methods in found.items():
        sizes = list(next(iter(of_methods.values())))
        header = ["", *(f"n = {n}" for n in sizes)]
        for what, cell in (
            ("operations", lambda cost: f"{cost.operations:,}"),
            ("time of one state (µs)", lambda cost: number(1e6 * cost.seconds)),
            ("time of one operation (ns)", lambda cost: number(1e9 * cost.seconds / cost.operations)),
        ):
            rows = [[f"`{name}`", *(cell(each[n]) for n in sizes)] for name, each in of_methods.items()]
            lines += [f"### {title}: {what}", "", *markdown(header, rows), ""]
    forward = found["Forward dynamics"]
    rows = [[f"`{a}` below `{b}`", *(crossover(forward, a, b, what) for what in Cost._fields)] for a, b in PAIRS]
    return [*lines, "### Where O(n) overtakes O(n³)", "", *markdown(["", "in operations", "in time"], rows), ""]


def draw(found: dict[str, Costs]) -> Figure:
    figure = Figure(figsize=(11, 8.2), layout="constrained")
    for row, (title, of_methods) in zip(figure.subplots(2, 2), found.items(), strict=True):
        for axes, quantity, scale, label in zip(
            row, Cost._fields, (1.0, 1e6), ("operations", "time of one state (µs)"), strict=True
        ):
            for k, (name, by_n) in enumerate(of_methods.items()):
                values = [scale * getattr(cost, quantity) for cost in by_n.values()]
                style = "-" if name in LINEAR else "--"
                colour = COLOURS[k % len(COLOURS)]
                axes.loglog(list(by_n), values, style, marker="o", markersize=3, color=colour, label=name)
            axes.set_xticks(list(by_n), [str(n) for n in by_n])
            axes.minorticks_off()
            tidy(axes, title, "n", label)
        row[1].legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize="small")
    return figure


def main(argv: Sequence[str] | None = None, sizes: Sequence[int] = SIZES) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, metavar="DIR", help="folder for picture and tables [docs]")
    parser.add_argument("--rounds", type=int, default=100, help="(100)")
    given = parser.parse_args(argv)
    found = {
        title: costs(function, sizes, given.rounds, lambda step: print(step, flush=True))
        for title, function in FUNCTIONS.items()
    }
    lines = tables(found)
    print("", *lines, sep="\n")
    save_svg(draw(found), given.out or DOCS / "pictures", PICTURE)
    if given.out:
        (given.out / "formulation_times.md").write_text("\n".join(lines), encoding="utf-8")
    else:
        page = DOCS / PAGE
        page.write_text(with_tables(page.read_text(encoding="utf-8"), MARK, lines), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
