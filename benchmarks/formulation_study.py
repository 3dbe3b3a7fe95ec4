"""Is it the formulation or the step? Rounding errors of forward dynamics, and the integrator steps that they cost.

    python benchmarks/formulation_study.py               measure, draw, and put the tables into the page
    python benchmarks/formulation_study.py --out DIR     leave picture and tables there instead

The page is docs/formulation-or-step.md, the picture docs/pictures/formulation_error.png. Errors are those of the plain
text against 50 digits (`lw.accuracy`), with the same states for every method. Falls are integrated by SciPy, with
compiled kernels as right-hand sides. Conjugate gradients (walker-orin-4) and O(log n) rounds (parallel) unroll to far
too much code to fall with.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray
from scipy.integrate import DOP853, RK45

import linkwise as lw

Array = NDArray[np.float64]
DOCS = Path(__file__).resolve().parent.parent / "docs"
PAGE, PICTURE = "formulation-or-step.md", "formulation_error.png"
BEGIN, END = "<!-- measured: make study -->", "<!-- end of measured -->"

GROUPS = {  # who goes which way; names, colours and order of the tables
    "bodies, bias within": (("articulated", "kalman", "normalized", "unnormalized"), "#0072b2"),
    "bias, then bodies": (("denoc", "inverse-inertia"), "#56b4e9"),
    "base parameters, bodies": (("articulated-regrouped",), "#009e73"),
    "bodies, in O(log n) rounds": (("parallel",), "#cc79a7"),
    "bias and I, then I q̈ = φ": (
        ("walker-orin-1", "walker-orin-2", "walker-orin-3", "complement", "composite-udu"),
        "#d55e00",
    ),
    "conjugate gradients": (("walker-orin-4",), "#999999"),
}
METHODS = tuple(method for methods, _ in GROUPS.values() for method in methods)
COLOUR = {method: colour for methods, colour in GROUPS.values() for method in methods}
FALLING = tuple(method for method in METHODS if method not in ("walker-orin-4", "parallel"))
FEW = ("articulated", "kalman", "denoc", "articulated-regrouped", "walker-orin-3", "composite-udu")
SOLVERS = {"DOP853": (DOP853, 12), "RK45": (RK45, 6)}  # and the evaluations that a try takes
BENT = (0.0, 0.3, -0.4, 0.5)  # where ropes with a heavy tip are let go


@dataclass(frozen=True)
class Plan:
    """How much is measured."""

    sizes: tuple[int, ...] = (2, 4, 8, 16, 32, 64)
    states: int = 16
    falls: tuple[int, ...] = (2, 4, 8, 16)
    long_rope: int = 32  # falls at several tolerances
    tolerances: tuple[float, ...] = (1e-8, 1e-10, 1e-12, 1e-13)
    tips: tuple[float, ...] = (1e-8, 1e-4, 1.0, 1e2, 1e4, 1e6, 1e7, 1e8, 1e9, 1e10)
    tries: int = 20_000  # steps accepted or rejected, after which a fall is given up


# --- robots and states -----------------------------------------------------------------------------------------------


@cache
def rope(n: int, tip: float = 1.0) -> lw.Robot:
    """A planar chain of equal rods, 1 m and 1 kg in all; the last one `tip` times as heavy as the others."""
    L = 1.0 / n
    rows = []
    for mass in [L] * (n - 1) + [L * tip]:
        J = mass * L * L / 12.0
        body = {"mass": mass, "com": (-L / 2, 0.0, 0.0), "inertia": [[0.0, 0.0, 0.0], [0.0, J, 0.0], [0.0, 0.0, J]]}
        rows.append({"joint": "revolute", "a": L, "b": 0.0, "alpha": 0.0, **body})
    return lw.Robot.from_dh(rows, convention="standard", gravity=(0.0, -9.81, 0.0), name=f"rope-{n}-{tip:g}")


general = cache(lw.chain)


def random_states(n: int, count: int, spread: float = np.pi) -> tuple[Array, Array, Array]:
    """q within ± spread, rates and torques about 1: (count, n) each, the same whenever asked."""
    rng = np.random.default_rng([n, count])
    return rng.uniform(-spread, spread, (count, n)), rng.normal(size=(count, n)), rng.normal(size=(count, n))


# --- errors ----------------------------------------------------------------------------------------------------------

Errors = dict[float, lw.results.Accuracy]  # by n, or by the weight of the tip


def errors_against_n(make: Callable[[int], lw.Robot], plan: Plan, spread: float = np.pi) -> Errors:
    return {n: lw.accuracy(make(n), *random_states(n, plan.states, spread)) for n in plan.sizes}


def errors_against_tip(plan: Plan) -> Errors:
    return {tip: lw.accuracy(rope(4, tip), *random_states(4, plan.states)) for tip in plan.tips}


def errors_by_load(make: Callable[[int], lw.Robot], plan: Plan) -> dict[str, lw.results.Accuracy]:
    """Moving, at rest, and at rest without gravity, where there is no bias and φ = τ without rounding."""
    n = plan.sizes[-1]
    q, qd, tau = random_states(n, max(1, plan.states // 4))
    robot, still = make(n), np.zeros(n)
    weightless = robot.with_gravity((0.0, 0.0, 0.0))
    return {
        "moving": lw.accuracy(robot, q, qd, tau, methods=FEW),
        "at rest": lw.accuracy(robot, q, still, tau, methods=FEW),
        "at rest, no gravity": lw.accuracy(weightless, q, still, tau, methods=FEW),
    }


# --- falls -----------------------------------------------------------------------------------------------------------


class Fall(NamedTuple):
    """A free fall of 1 s: what the integrator did, and how far it came."""

    accepted: int
    rejected: int
    reached: float

    @property
    def whole(self) -> bool:
        return self.reached == 1.0

    def __str__(self) -> str:
        end = "" if self.whole else f" to {self.reached:.2f} s"
        return f"{self.accepted:,} + {self.rejected:,}{end}"


@cache
def kernel(robot: lw.Robot, method: str) -> Callable[..., Array]:
    return lw.compile(lw.forward_dynamics, robot, method=method)


def fall(robot: lw.Robot, method: str, start: Iterable[float], solver: str, tolerance: float, tries: int) -> Fall:
    """Let go at rest, no torques. Relative and absolute tolerance are the same number."""
    n, still, accelerations = robot.n, np.zeros(robot.n), kernel(robot, method)

    def rate(_: float, state: Array) -> Array:
        found = np.empty(2 * n)
        found[:n] = state[n:]
        found[n:] = accelerations(state[:n], state[n:], still)
        return found

    make, per_try = SOLVERS[solver]
    motion = make(rate, 0.0, np.concatenate([list(start), still]), 1.0, rtol=tolerance, atol=tolerance)
    before, accepted = motion.nfev, 0
    while motion.status == "running" and (motion.nfev - before) // per_try < tries:
        motion.step()
        accepted += motion.status != "failed"
    return Fall(accepted, (motion.nfev - before) // per_try - accepted, float(motion.t))


Falls = dict[str, dict[float, Fall]]  # by method, then by n, tip or tolerance


def falls_against_n(make: Callable[[int], lw.Robot], solver: str, plan: Plan) -> Falls:
    return {
        method: {n: fall(make(n), method, np.zeros(n), solver, 1e-8, plan.tries) for n in plan.falls}
        for method in FALLING
    }


def falls_against_tip(solver: str, plan: Plan) -> Falls:
    tips = [tip for tip in plan.tips if tip >= 1.0]
    return {m: {tip: fall(rope(4, tip), m, BENT, solver, 1e-8, plan.tries) for tip in tips} for m in FEW}


def falls_against_tolerance(plan: Plan) -> Falls:
    n = plan.long_rope
    start = np.linspace(0.0, 0.05, n)
    return {
        m: {tolerance: fall(rope(n), m, start, "DOP853", tolerance, plan.tries) for tolerance in plan.tolerances}
        for m in FEW
    }


# --- tables ----------------------------------------------------------------------------------------------------------


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = [header, ["---"] * len(header), *rows]
    return ["| " + " | ".join(line) + " |" for line in lines] + [""]


def error_table(found: Errors, label: str) -> list[str]:
    """Median, worst."""
    rows = [["κ(I)", *(f"{np.median(each.condition):.0e}" for each in found.values())]]
    for method in METHODS:
        cells = [f"{each[method].median:.0e}, {each[method].worst:.0e}" for each in found.values()]
        rows.append([f"`{method}`", *cells])
    return table(["", *(f"{label} {key:g}" for key in found)], rows)


def fall_table(found: Falls, label: str) -> list[str]:
    """Accepted + rejected; methods that did the same share a row."""
    alike: dict[tuple[str, ...], list[str]] = {}
    for method, falls in found.items():
        alike.setdefault(tuple(map(str, falls.values())), []).append(f"`{method}`")
    first = next(iter(found.values()))
    rows = [[", ".join(methods), *cells] for cells, methods in alike.items()]
    return table(["", *(f"{label} {key:g}" for key in first)], rows)


def spread_of_steps(found: Falls) -> float:
    """The largest number of accepted steps over the smallest, less 1, where every fall came to its end."""
    keys = [key for key in next(iter(found.values())) if all(falls[key].whole for falls in found.values())]
    counts = [[falls[key].accepted for falls in found.values()] for key in keys]
    return max((max(each) / min(each) - 1.0 for each in counts), default=float("nan"))


# --- the picture -----------------------------------------------------------------------------------------------------


def draw_errors(axes: Axes, found: Errors, title: str, xlabel: str) -> None:
    keys = np.array(list(found))
    kappa = np.array([np.median(each.condition) for each in found.values()])
    axes.loglog(keys, np.maximum(kappa * 2.0**-52, 2.0**-53), "k--", linewidth=1.2)
    for method in METHODS:
        median = [max(each[method].median, 1e-17) for each in found.values()]
        axes.loglog(keys, median, "o-", color=COLOUR[method], linewidth=1.4, markersize=3.5)
    axes.set(title=title, xlabel=xlabel, ylabel="relative error, median")
    axes.grid(color="0.92")


def draw_falls(axes: Axes, found: Falls, title: str) -> None:
    for k, (method, falls) in enumerate(found.items()):
        whole = {key: each.accepted + each.rejected for key, each in falls.items() if each.whole}
        width = 7.0 - 1.1 * k  # lines that coincide stay in sight
        axes.loglog(list(whole), list(whole.values()), "-", color=COLOUR[method], linewidth=width)
        stuck = [key for key, each in falls.items() if not each.whole]
        height = 3e4 * 1.22**k
        axes.loglog(stuck, [height] * len(stuck), "x", color=COLOUR[method], markersize=6)
    axes.set(title=title, xlabel="weight of the last rod over that of the others", ylabel="steps tried in 1 s of fall")
    axes.annotate(
        "x: does not arrive, at no particular height", (0.03, 0.93), xycoords="axes fraction", fontsize="small"
    )
    axes.grid(color="0.92")


def draw(ropes: Errors, chains: Errors, tips: Errors, falls: Falls) -> Figure:
    figure = Figure(figsize=(11, 8.4), layout="constrained")
    (a, b), (c, d) = figure.subplots(2, 2)
    draw_errors(a, ropes, "(a) Planar rope of n equal rods", "n")
    draw_errors(b, chains, "(b) General chain of n links", "n")
    for axes in (a, b):
        axes.set_ylim(4e-17, 2e-8)
        axes.set_xticks(list(ropes), [f"{n:g}" for n in ropes])
        axes.minorticks_off()
    draw_errors(
        c, tips, "(c) Rope of 4 rods, the last one heavier or lighter", "weight of the last rod over the others"
    )
    draw_falls(d, falls, "(d) The same, falling: DOP853, tolerance 1e-8")
    handles = [Line2D([], [], color=colour, marker="o", markersize=3.5) for _, colour in GROUPS.values()]
    handles.append(Line2D([], [], color="k", linestyle="--"))
    labels = [f"{name} ({', '.join(methods)})" for name, (methods, _) in GROUPS.items()] + ["κ(I) ε"]
    figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False, fontsize="small")
    return figure


# --- the study -------------------------------------------------------------------------------------------------------


def study(plan: Plan, say: Callable[[str], None] = print) -> tuple[list[str], Figure]:
    """Everything, as lines of Markdown and a picture."""
    n, lines = plan.sizes[-1], list[str]()

    def add(title: str, body: list[str]) -> None:
        lines.extend([f"### {title}", "", *body])
        say(title)

    ropes = errors_against_n(rope, plan)
    about = f"medians and worst of {plan.states} states"
    add(f"Relative error, planar rope of equal rods, folded anyhow; {about}", error_table(ropes, "n ="))
    add("The same rope, nearly straight", error_table(errors_against_n(rope, plan, spread=0.1), "n ="))
    chains = errors_against_n(general, plan)
    add("Relative error, general chain", error_table(chains, "n ="))
    loads = errors_by_load(general, plan)
    rows = [[f"`{m}`", *(f"{each[m].median:.0e}, {each[m].worst:.0e}" for each in loads.values())] for m in FEW]
    add(f"Where it comes from: general chain of {n} links", table(["", *loads], rows))
    tips = errors_against_tip(plan)
    add("Relative error, rope of 4 rods, by the weight of the last one", error_table(tips, "×"))
    for solver in SOLVERS:
        for make, name in ((rope, "planar rope"), (general, "general chain")):
            falls = falls_against_n(make, solver, plan)
            spread = f"*Largest difference in accepted steps: {100 * spread_of_steps(falls):.1f} %.*"
            title = f"Steps in 1 s of fall, accepted + rejected: {name}, {solver}, tolerance 1e-8"
            add(title, [*fall_table(falls, "n ="), spread, ""])
    falls = falls_against_tolerance(plan)
    title = f"Steps by tolerance: planar rope of {plan.long_rope} rods, DOP853"
    add(title, fall_table(falls, "tolerance"))
    heavy = {solver: falls_against_tip(solver, plan) for solver in SOLVERS}
    for solver, falls in heavy.items():
        add(f"Steps by the weight of the last of 4 rods: {solver}, tolerance 1e-8", fall_table(falls, "×"))
    small = min(n, 8)
    compiled = lw.accuracy(rope(small), *random_states(small, plan.states), compiled=True, methods=FALLING)
    plain = ropes[small] if small in ropes else lw.accuracy(rope(small), *random_states(small, plan.states))
    rows = [[f"`{m}`", *(f"{x[m].median:.0e}, {x[m].worst:.0e}" for x in (plain, compiled))] for m in FALLING]
    add(f"Plain text and kernels: planar rope, n = {small}", table(["", "plain", "compiled"], rows))
    return lines, draw(ropes, chains, tips, heavy["DOP853"])


def main(argv: Sequence[str] | None = None, plan: Plan = Plan()) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, metavar="DIR", help="folder for picture and tables [docs]")
    out: Path | None = parser.parse_args(argv).out
    begin = time.perf_counter()
    lines, figure = study(plan, lambda step: print(f"[{time.perf_counter() - begin:5.1f} s] {step}", flush=True))
    print("", *lines, sep="\n")
    where = out or DOCS / "pictures"
    where.mkdir(parents=True, exist_ok=True)
    figure.savefig(where / PICTURE, dpi=120)
    if out:
        (out / PAGE).write_text("\n".join(lines), encoding="utf-8")
    else:
        page = DOCS / PAGE
        page.write_text(with_tables(page.read_text(encoding="utf-8"), lines), encoding="utf-8")
    print(f"[{time.perf_counter() - begin:5.1f} s] in {out or DOCS}")
    return 0


def with_tables(page: str, lines: Sequence[str]) -> str:
    """The page with what stands between its two marks replaced."""
    head, rest = page.split(BEGIN)
    _, tail = rest.split(END)
    return "\n".join([head + BEGIN, "", *lines, END + tail])


if __name__ == "__main__":
    sys.exit(main())
