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
EDGE = 1.25  # a limit farther off than so many times the curves would squeeze them: it is left out


def stacked(
    budget: Any, path: str | os.PathLike[str] | None, joints: Sequence[str | int] | None, by: str, most: int
) -> Any:
    """A panel for each joint."""
    if len(budget.batch) != 1 or budget.batch[0] < 2:
        raise ValueError(f"a plot is over time (expected states (samples, n), not of the batch {budget.batch})")
    chosen = [budget.index_of(joint) for joint in joints] if joints is not None else range(budget.arm.n)
    labels, values = budget.view(by)
    shown = [largest(values[:, k], most) for k in chosen]
    legends = [len(columns) + 2 for columns in shown]
    heights = [max(PANEL, 0.6 + LEGEND * lines) for lines in legends]
    colours = look(shown)
    figure = new_figure(10, 0.6 + sum(heights))
    t = np.arange(budget.batch[0]) if budget.t is None else budget.t
    panels = figure.subplots(len(shown), 1, squeeze=False, sharex=True, height_ratios=heights)[:, 0]
    for axes, k, columns in zip(panels, chosen, shown, strict=True):
        draw(axes, budget, t, k, columns, labels, values[:, k], colours)
    panels[-1].set_xlabel("sample" if budget.t is None else "time (s)")
    figure.suptitle(f"{budget.arm.name}: where the {budget.what.rstrip(',')} come from")
    if path is not None:
        save_figure(figure, path)
    return figure


def largest(values: np.ndarray, most: int) -> list[int]:
    """The terms (samples, terms) of the largest mean magnitude that are not zero, the largest first."""
    size = np.nanmean(np.abs(values), axis=0)
    order = [int(i) for i in np.argsort(-size, kind="stable") if size[i] > 1e-12 * size.sum()]
    return order if len(order) <= most + 1 else order[:most]


def look(shown: Sequence[Sequence[int]]) -> dict[int, str]:
    """A colour for each term, the same in all panels."""
    palette, columns = (*COLOURS, *LIGHT), dict.fromkeys(column for own in shown for column in own)
    return {column: palette[k % len(palette)] for k, column in enumerate(columns)}


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
    if len(rest) and np.abs(others := values[:, rest].sum(-1)).max() > 0.0:
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
    limit = float(budget.limits()[k])
    if math.isfinite(limit) and limit <= EDGE * reach:
        axes.axhline(limit, color="black", linestyle="--", linewidth=0.9, label="limit")
        axes.axhline(-limit, color="black", linestyle="--", linewidth=0.9)
    axes.set(ylabel=f"{budget.arm.v_names[k]} ({budget.units()[k]})", xlim=(t[0], t[-1]))
    axes.axhline(0.0, color="0.3", linewidth=0.8)
    axes.grid(color="0.92")
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.03), frameon=False, fontsize="small")
