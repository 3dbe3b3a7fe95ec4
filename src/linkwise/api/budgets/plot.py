"""Plots of budgets: terms stacked above and below zero along a trajectory, bars for one state."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...figures import COLOURS, new_figure, plot_text, save_figure, style_axes, theme_colour
from .text import BASE, check_most, format_number

OTHERS = "0.8"
MORE = ("#f0e442", "#332288", "#b2df8a", "#882255", "#fbb4a0", "#c5b0e5")  # after the six colours of joints
KINDS = {
    "gravity": COLOURS[0],
    "acceleration": COLOURS[1],
    "Coriolis": COLOURS[2],
    "centrifugal": COLOURS[3],
    "friction": COLOURS[4],
    "rotor": COLOURS[5],
    "wrench": MORE[0],
    BASE: MORE[1],
}
HATCHES = ("", "////", "....", "xxxx", "----", "oo", "\\\\\\\\", "++")  # of terms 1 to 12, 13 to 24, ...
PANEL, LEGEND = 2.6, 0.24  # heights in inches: least of a panel, and of a line of its legend
NOISE = 1e-9  # relative to the largest term: smaller terms are not shown
FAR_LIMIT = 2.0  # times the sum of terms: limits beyond that would squeeze the plot and are given in words


def plot_budget(
    budget: Any, path: str | os.PathLike[str] | None, joints: Sequence[str | int] | None, by: str, most: int
) -> Any:
    """A panel for each joint."""
    check_most(most)
    if len(budget.batch) > 1 or budget.batch in ((0,), (1,)):
        raise ValueError(f"the batch is {budget.batch} (expected one state or a trajectory to plot: () or (samples,))")
    indices = [budget.index_of(joint) for joint in joints] if joints is not None else range(budget.robot.n)
    labels, values = budget.view(by)
    if not budget.batch:
        idle = [] if joints is not None else [k for k in indices if not values[k].any()]  # nothing acts on them
        figure = draw_bars(budget, [k for k in indices if k not in idle] or indices, labels, values, most)
        return save_figure(figure, path)
    shown = [largest(values[:, k], most) for k in indices]
    legends = [len(columns) + 3 for columns in shown]
    heights = [max(PANEL, 0.6 + LEGEND * lines) for lines in legends]
    figure = new_figure(10, 0.6 + sum(heights))
    t = np.arange(budget.batch[0]) if budget.t is None else budget.t
    panels = figure.subplots(len(shown), 1, squeeze=False, sharex=True, height_ratios=heights)[:, 0]
    styles = term_styles(shown, labels)
    for axes, k, columns in zip(panels, indices, shown, strict=True):
        draw_panel(axes, budget, t, k, columns, labels, values[:, k], styles)
    panels[-1].set_xlabel("sample" if budget.t is None else "time (s)")
    figure.suptitle(heading(budget))
    return save_figure(figure, path)


def heading(budget: Any) -> str:
    comes = "the torques come" if budget.what == "torques" else f"{budget.symbol} comes"
    return f"{plot_text(budget.robot.name)}: where {comes} from"


def draw_bars(budget: Any, chosen: Sequence[int], labels: Sequence[str], values: np.ndarray, most: int) -> Any:
    """One state: bars of the largest terms, of the rest, and of the total."""
    rows: list[list[tuple[str, float]]] = []
    for k in chosen:
        columns = largest(values[None, k], most)
        rest = values[k].sum() - values[k, columns].sum()
        largest_terms = [(labels[column], float(values[k, column])) for column in columns]
        others = [("others", float(rest))] if abs(rest) > NOISE * np.abs(values[k]).sum() else []
        rows.append([*largest_terms, *others, (budget.symbol, float(values[k].sum()))])
    heights = [0.5 + LEGEND * len(row) for row in rows]
    figure = new_figure(9, 0.6 + sum(heights))
    panels = figure.subplots(len(rows), 1, squeeze=False, height_ratios=heights)[:, 0]
    for axes, k, row in zip(panels, chosen, rows, strict=True):
        names, sizes = zip(*row, strict=True)
        colours = [COLOURS[1] if x < 0.0 else COLOURS[0] for x in sizes]
        axes.barh(range(len(row)), sizes, color=[*map(theme_colour, colours[:-1]), theme_colour("black")])
        axes.set_yticks(range(len(row)), [plot_text(name) for name in names], fontsize="small")
        axes.invert_yaxis()
        limit = mark_limit(axes.axvline, budget, k, [math.copysign(1.0, sizes[-1])])
        axes.set(xlabel=f"{plot_text(budget.robot.v_names[k])} ({budget.units()[k]}){f', {limit}' if limit else ''}")
        axes.axvline(0.0, color=theme_colour("0.3"), linewidth=0.8)
        style_axes(axes, zero=0.0, upright=True)
        axes.set_axisbelow(True)
    figure.suptitle(heading(budget))
    return figure


def mark_limit(line: Any, budget: Any, k: int, signs: Sequence[float] = (1.0, -1.0)) -> str:
    """Lines at the limit of joint k unless it is far off, and its text; nothing without a limit.

    Whether it is far off does not depend on the view, so that pictures of one motion have the same lines.
    """
    limit = float(budget.limits()[k])
    if not math.isfinite(limit):
        return ""
    words = f"limit {format_number(limit)} {budget.units()[k]}"
    values = budget.view()[1][..., k, :]
    reach = max(float(np.nanmax(np.where(sign * values > 0.0, sign * values, 0.0).sum(-1))) for sign in (1.0, -1.0))
    if limit > FAR_LIMIT * reach:
        return f"{words}, off the scale"
    for sign in signs:
        line(sign * limit, color=theme_colour("black"), linestyle="--", linewidth=0.9)
    return words


def largest(values: np.ndarray, most: int) -> list[int]:
    """The columns of the terms (samples, terms) with the largest mean magnitude, the largest first, without zeros."""
    size = np.nanmean(np.abs(values), axis=0)
    order = [int(i) for i in np.argsort(-size, kind="stable") if size[i] > NOISE * size.sum()]
    return order if len(order) <= most + 1 else order[:most]


def term_styles(shown: Sequence[Sequence[int]], labels: Sequence[str]) -> dict[int, dict[str, Any]]:
    """The style of each term, the same in all panels: a colour, hatched after the last colour.

    Kinds of terms have the same colours in all pictures, so that two motions can be compared.
    """
    palette = (*COLOURS, *MORE)
    order = dict.fromkeys(column for columns in shown for column in columns)
    if all(labels[column] in KINDS for column in order):
        return {column: {"facecolor": theme_colour(KINDS[labels[column]]), "hatch": ""} for column in order}
    return {
        column: {
            "facecolor": theme_colour(palette[k % len(palette)]),
            "hatch": HATCHES[k // len(palette) % len(HATCHES)],
        }
        for k, column in enumerate(order)
    }


def draw_panel(
    axes: Any,
    budget: Any,
    t: np.ndarray,
    k: int,
    columns: Sequence[int],
    labels: Sequence[str],
    values: np.ndarray,
    styles: dict[int, dict[str, Any]],
) -> None:
    stacked = [values[:, column] for column in columns]
    labels_and_styles: list[tuple[str, dict[str, Any]]] = [(labels[column], styles[column]) for column in columns]
    rest = [column for column in range(len(labels)) if column not in columns]
    if rest and np.abs(others := values[:, rest].sum(-1)).max() > NOISE * np.abs(values).max():
        stacked, labels_and_styles = (
            [*stacked, others],
            [*labels_and_styles, ("others", {"facecolor": theme_colour(OTHERS)})],
        )
    bottoms = {1.0: np.zeros(len(t)), -1.0: np.zeros(len(t))}
    for term, (label, style) in zip(stacked, labels_and_styles, strict=True):
        for sign, bottom in bottoms.items():
            part = np.where(sign * term > 0.0, term, 0.0)
            once = plot_text(label) if sign > 0.0 else None
            axes.fill_between(
                t, bottom, bottom + part, edgecolor=theme_colour("white"), linewidth=0.0, label=once, **style
            )
            bottoms[sign] = bottom + part
    total = values.sum(-1)
    axes.plot(t, total, color=theme_colour("black"), linewidth=1.4, label=budget.symbol)
    limit = mark_limit(axes.axhline, budget, k)
    if limit:
        axes.plot([], [], color=theme_colour("black"), linestyle="--", linewidth=0.9, label=limit)
    axes.set(ylabel=f"{plot_text(budget.robot.v_names[k])} ({budget.units()[k]})", xlim=(t[0], t[-1]))
    axes.axhline(0.0, color=theme_colour("0.3"), linewidth=0.8)
    style_axes(axes, zero=0.0)
    axes.set_axisbelow(True)
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.03), frameon=False, fontsize="small")
