"""Styles of curves and panels in all figures, and writing pictures."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .errors import FileError
from .extras import import_optional
from .files import atomic_write

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#7a5c00", "#56b4e9")
STYLES = (  # of joints 1 to 6, 7 to 12, ...
    "-",
    "--",
    ":",
    "-.",
    (0, (1.5, 1)),
    (0, (1, 4)),
    (0, (4, 1.5, 1, 1.5, 1, 1.5)),
    (0, (4, 4)),
)
GREYS = ("0.15", "0.6")
LIGHTER = 0.35  # fraction of the way to white, on a dark background
LETTERS = 48  # longest name in a picture


def new_figure(width: float, height: float) -> Figure:
    """An empty figure; sizes in inches."""
    require_matplotlib()
    from .notebook_figure import NotebookFigure

    return NotebookFigure(figsize=(width, height), layout="constrained")


def require_matplotlib() -> None:
    import_optional("matplotlib.figure")


def theme_colour(colour: str) -> Any:
    """Adapt a colour to matplotlib's style: with light text, greys are inverted and other colours lighter."""
    rcParams, to_rgb = import_optional("matplotlib").rcParams, import_optional("matplotlib.colors").to_rgb

    if sum(to_rgb(rcParams["text.color"])) < 1.5:
        return colour
    rgb = to_rgb(colour)
    return tuple(1.0 - x for x in rgb) if len(set(rgb)) == 1 else tuple(x + LIGHTER * (1.0 - x) for x in rgb)


def plot_text(text: str) -> str:
    """Shorten a text, and escape it for matplotlib.

    Otherwise text between two $ is a formula, and labels that begin with _ are not in legends.
    """
    if len(text) > LETTERS:
        text = f"{text[: LETTERS // 2]}…{text[-(LETTERS // 2) :]}"
    return ("\N{HAIR SPACE}" if text.startswith("_") else "") + text.replace("$", r"\$")


def joint_style(k: int) -> dict[str, Any]:
    """The colour and style of the curves of joint k."""
    return {"color": theme_colour(COLOURS[k % len(COLOURS)]), "linestyle": STYLES[k // len(COLOURS) % len(STYLES)]}


def grey_style(k: int) -> dict[str, Any]:
    """The k-th style of curves that do not belong to one degree of freedom."""
    return {"color": theme_colour(GREYS[k // len(STYLES) % len(GREYS)]), "linestyle": STYLES[k % len(STYLES)]}


def style_axes(axes: Axes, *, zero: float = 0.8, upright: bool = False) -> None:
    """Style a panel: a grid, a zero line of this width, no frame above and right; `upright` means values along x."""
    if zero:
        line = axes.axvline if upright else axes.axhline
        line(0.0, color=theme_colour("0.6"), linewidth=zero, zorder=0)
    axes.grid(color=theme_colour("0.92"), axis="x" if upright else "both")
    axes.spines[["top", "right"]].set_visible(False)


def save_figure(figure: Figure, path: str | os.PathLike[str] | None) -> Figure:
    """Write the figure if there is a path, in the format of its ending, and return it."""
    if path is None:
        return figure
    target = Path(path)
    known = figure.canvas.get_supported_filetypes()
    ending = target.suffix.lower().lstrip(".")
    if ending not in known:
        given = target.suffix or "files without an ending"
        raise FileError(f"{target}: cannot draw {given} (expected {', '.join(sorted(known))})")
    with atomic_write(target) as file:
        figure.savefig(file, format=ending, dpi=150)
    return figure
