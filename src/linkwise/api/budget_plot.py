"""Budgets along a trajectory as a picture: terms stacked above and below zero."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..figures import COLOURS, new_figure, save_figure

OTHERS = "0.8"
LIGHT = ("#9fcbe6", "#f2b48c", "#8fd1bb", "#e8c5d8", "#c9b98a", "#c2e3f6")  # after the six colours of joints
PANEL, LEGEND = 2.6, 0.24  # heights in inches, of a panel at least, and of a line of its legend
NOISE = 1e-9  # of the largest term: what is smaller is not shown
EDGE = 1.25  # a limit farther off than so many times the curves would squeeze them: it is left out


def stacked(
    budget: Any, path: str | os.PathLike[str] | None, joints: Sequence[str | int] | None, by: str, most: int
) -> Any:
    """A panel for each joint."""
    if len(budget.batch) > 1 or budget.batch in ((0,), (1,)):
        raise ValueError(f"a plot is of one state or over time (expected (n,) or (samples, n), not {budget.batch})")
    chosen = [budget.index_of(joint) for joint in joints] if joints is not None else range(budget.arm.n)
    labels, values = budget.view(by)
    if not budget.batch:
        idle = [] if joints is not None else [k for k in chosen if not values[k].any()]  # nothing acts on them
        figure = bars(budget, [k for k in chosen if k not in idle] or chosen, labels, values, most)
        return saved(figure, path)
    shown = [largest(values[:, k], most) for k in chosen]
    legends = [len(columns) + 2 for columns in shown]
    heights = [max(PANEL, 0.6 + LEGEND * lines) for lines in legends]
    figure = new_figure(10, 0.6 + sum(heights))
    t = np.arange(budget.batch[0]) if budget.t is None else budget.t
    panels = figure.subplots(len(shown), 1, squeeze=False, sharex=True, height_ratios=heights)[:, 0]
    for axes, k, columns, colours in zip(panels, chosen, shown, look(shown), strict=True):
        draw(axes, budget, t, k, columns, labels, values[:, k], colours)
    panels[-1].set_xlabel("sample" if budget.t is None else "time (s)")
    figure.suptitle(heading(budget))
    return saved(figure, path)


def saved(figure: Any, path: str | os.PathLike[str] | None) -> Any:
    if path is not None:
        save_figure(figure, path)
    return figure


def heading(budget: Any) -> str:
    what = budget.what.partition(",")[0]
    return f"{budget.arm.name}: where {'the ' if what == 'torques' else ''}{what} come{'s' * (what != 'torques')} from"


def bars(budget: Any, chosen: Sequence[int], labels: Sequence[str], values: np.ndarray, most: int) -> Any:
    """Of one state: a bar for each of the largest terms, the others as one, and the total."""
    rows: list[list[tuple[str, float]]] = []
    for k in chosen:
        columns = largest(values[None, k], most)
        rest = values[k].sum() - values[k, columns].sum()
        named = [(labels[column], float(values[k, column])) for column in columns]
        others = [("others", float(rest))] if abs(rest) > NOISE * np.abs(values[k]).sum() else []
        rows.append([*named, *others, (budget.symbol, float(values[k].sum()))])
    heights = [0.5 + LEGEND * len(own) for own in rows]
    figure = new_figure(9, 0.6 + sum(heights))
    panels = figure.subplots(len(rows), 1, squeeze=False, height_ratios=heights)[:, 0]
    for axes, k, own in zip(panels, chosen, rows, strict=True):
        names, sizes = zip(*own, strict=True)
        colours = [COLOURS[1] if x < 0.0 else COLOURS[0] for x in sizes]
        axes.barh(range(len(own)), sizes, color=[*colours[:-1], "black"])
        axes.set_yticks(range(len(own)), names, fontsize="small")
        axes.invert_yaxis()
        axes.set(xlabel=f"{budget.arm.v_names[k]} ({budget.units()[k]})")
        mark_limit(axes.axvline, float(budget.limits()[k]), max(abs(x) for x in sizes))
        axes.axvline(0.0, color="0.3", linewidth=0.8)
        axes.grid(color="0.92", axis="x")
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
    figure.suptitle(heading(budget))
    return figure


def mark_limit(line: Any, limit: float, reach: float) -> None:
    if math.isfinite(limit) and limit <= EDGE * reach:
        line(limit, color="black", linestyle="--", linewidth=0.9, label="limit")
        line(-limit, color="black", linestyle="--", linewidth=0.9)


def largest(values: np.ndarray, most: int) -> list[int]:
    """The terms (samples, terms) of the largest mean magnitude that are not zero, the largest first."""
    size = np.nanmean(np.abs(values), axis=0)
    order = [int(i) for i in np.argsort(-size, kind="stable") if size[i] > NOISE * size.sum()]
    return order if len(order) <= most + 1 else order[:most]


def look(shown: Sequence[Sequence[int]]) -> list[dict[int, str]]:
    """A colour for each term of each panel: the same in all panels, unless two terms of one would share it."""
    palette, known, looks = (*COLOURS, *LIGHT), dict[int, str](), list[dict[int, str]]()
    for columns in shown:
        own: dict[int, str] = {}
        for place, column in enumerate(columns):
            taken = set(own.values())
            colour = known.get(column, palette[len(known) % len(palette)])
            free = [other for other in palette if other not in taken]
            own[column] = colour if colour not in taken else free[0] if free else palette[place % len(palette)]
            known.setdefault(column, own[column])
        looks.append(own)
    return looks


def draw(
    axes: Any,
    budget: Any,
    t: np.ndarray,
    k: int,
    columns: Sequence[int],
    labels: Sequence[str],
    values: np.ndarray,
    colours: dict[int, str],
) -> None:
    own = [values[:, column] for column in columns]
    named = [(labels[column], colours[column]) for column in columns]
    rest = [column for column in range(len(labels)) if column not in columns]
    if rest and np.abs(others := values[:, rest].sum(-1)).max() > NOISE * np.abs(values).max():
        own, named = [*own, others], [*named, ("others", OTHERS)]
    bottoms = {1.0: np.zeros(len(t)), -1.0: np.zeros(len(t))}
    for term, (label, colour) in zip(own, named, strict=True):
        for sign, bottom in bottoms.items():
            part = np.where(sign * term > 0.0, term, 0.0)
            once = label if sign > 0.0 else None
            axes.fill_between(t, bottom, bottom + part, color=colour, linewidth=0.0, label=once)
            bottoms[sign] = bottom + part
    total = values.sum(-1)
    axes.plot(t, total, color="black", linewidth=1.4, label=budget.symbol)
    reach = max(float(np.abs(edge).max()) for edge in (*bottoms.values(), total))
    mark_limit(axes.axhline, float(budget.limits()[k]), reach)
    axes.set(ylabel=f"{budget.arm.v_names[k]} ({budget.units()[k]})", xlim=(t[0], t[-1]))
    axes.axhline(0.0, color="0.3", linewidth=0.8)
    axes.grid(color="0.92")
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.03), frameon=False, fontsize="small")
