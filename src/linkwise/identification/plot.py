"""Pictures of identifications: torques with residuals, and parameters with their uncertainty."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..figures import COLOURS, new_figure, plot_text, style_axes, theme_colour
from .estimates import ZERO
from .text import percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from .result import Identification, Torques

MEASURED, PREDICTED, LEFT = "0.65", COLOURS[0], COLOURS[1]
SLOW = "0.93"  # shade of rows that minimum_speed leaves out
HEIGHT = 1.15  # inches a joint
ROW = 0.17  # inches a parameter
SIGMAS = 2.0
FINER = 8  # samples that are drawn for each fitted one


def figure_of(result: Identification, recording: int) -> Figure:
    motions = result.motions
    if not -len(motions) <= recording < len(motions):
        raise ValueError(f"recording is {recording!r} (expected a number below {len(motions)})")
    finer = replace(result.filtering, step=max(1, result.filtering.step // FINER))
    torques = result.compared(motions[recording], finer)
    n, count = result.nominal.n, len(result.base)
    height = max(2.0 + HEIGHT * n, 1.5 + ROW * count)
    figure = new_figure(16.0, min(height, 24.0))
    left, right = np.asarray(figure.subfigures(1, 2, width_ratios=(2.2, 1.0))).tolist()
    axes = left.subplots(n, 3, sharex="col", squeeze=False, width_ratios=(1.7, 1.0, 0.7))
    for j in range(n):
        draw_joint(axes[j, 0], axes[j, 1], result, torques, j)
        draw_by_speed(axes[j, 2], torques, j)
    for bottom, text in zip(axes[-1], ("time (s)", "time (s)", "speed"), strict=True):
        bottom.set_xlabel(text)
    left.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper left", ncols=2, frameon=False)
    left.align_ylabels()
    draw_parameters(right.subplots(), result)
    which = "" if len(motions) == 1 else f", recording {recording % len(motions) + 1} of {len(motions)}"
    figure.suptitle(
        f"{plot_text(result.nominal.name)}: identified from {result.samples} samples{which}", x=0.01, ha="left"
    )
    return figure


def draw_joint(torque: Axes, residual: Axes, result: Identification, torques: Torques, j: int) -> None:
    """Draw the torques on the left, and the residual on its own scale on the right."""
    measured, predicted = torques.measured[:, j], torques.predicted[:, j]
    torque.plot(torques.t, measured, color=theme_colour(MEASURED), linewidth=2.4, label="measured")
    torque.plot(torques.t, predicted, color=theme_colour(PREDICTED), linewidth=1.0, label="predicted")
    slow = np.abs(torques.speed[:, j]) < result.minimum_speed[j]
    residual.plot(torques.t, np.where(slow, np.nan, measured - predicted), color=theme_colour(LEFT), linewidth=0.8)
    if slow.any():  # neither the fit nor its rms includes them
        across = residual.get_xaxis_transform()
        residual.fill_between(
            torques.t, 0.0, 1.0, where=slow, color=theme_colour(SLOW), linewidth=0.0, transform=across, zorder=0
        )
    for axes in (torque, residual):
        style_axes(axes, zero=0.6)
        axes.set_xlim(torques.t[0], torques.t[-1])
    name, unit = result.nominal.v_names[j], result.nominal.effort_units[j]
    torque.set_ylabel(f"{short(plot_text(name))}\n({unit})")
    text = f"residual: rms {result.residuals.rms[j]:.2g} {unit}, {percent(result.residuals.relative[j])}"
    residual.set_title(text, loc="right", fontsize="small", pad=2.0, color=theme_colour("0.35"))


def draw_by_speed(axes: Axes, torques: Torques, j: int) -> None:
    """Draw the residual over the rate of the joint, where missing terms of friction are visible."""
    left = torques.measured[:, j] - torques.predicted[:, j]
    axes.plot(torques.speed[:, j], left, ".", markersize=1.5, color=theme_colour(LEFT), alpha=0.5)
    style_axes(axes, zero=0.6)


def draw_parameters(axes: Axes, result: Identification) -> None:
    """Draw base parameters in units of their magnitudes: a mark and bars of 2 σ, and a ring at the nominal value."""
    base = result.base
    rows = np.arange(len(base))[::-1]
    size = np.maximum(np.abs(base.values), np.abs(base.nominal))
    size = np.where(size > 0.0, size, 1.0)
    known = np.isfinite(base.sigma)
    bars = np.minimum(SIGMAS * np.where(known, base.sigma, 0.0) / size, 4.0)
    blue = theme_colour(PREDICTED)
    axes.errorbar(
        base.values / size, rows, xerr=bars, fmt="o", markersize=3.5, color=blue, ecolor=blue, elinewidth=1.2,
        linestyle="", label="identified, ± 2 σ",
    )  # fmt: skip
    axes.plot(
        base.nominal / size,
        rows,
        "o",
        markersize=5.5,
        markerfacecolor="none",
        color=theme_colour("0.4"),
        label="nominal",
    )
    axes.set_yticks(rows, [plot_text(name) for name in base.names], fontsize="x-small")
    for label, sure in zip(axes.get_yticklabels(), np.abs(base.values) >= ZERO * base.sigma, strict=True):
        label.set_color(theme_colour("black" if sure else "0.6"))
    axes.set_ylim(-1.0, len(base))
    axes.set_xlim(-2.0, 2.0)
    style_axes(axes, zero=0.6, upright=True)
    axes.set_xlabel("relative to the larger of both values\n(grey names: zero within 3 σ)")
    axes.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2, frameon=False, fontsize="small")


def short(name: str, most: int = 14) -> str:
    """A name broken into short lines after underscores."""
    lines = [""]
    for part in re.findall(r"[^_]*_|[^_]+", name):
        if len(lines[-1]) + len(part) > most:
            lines.append("")
        lines[-1] += part
    return "\n".join(line for line in lines if line)
