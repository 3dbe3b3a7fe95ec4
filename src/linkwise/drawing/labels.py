"""Where names stand in a picture: beside their points, apart from each other and from the lines of the robot."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from .skeleton import Floats

if TYPE_CHECKING:
    from .painter import Window

LETTER = 5.1  # width of a letter and height of a line, in points
LINE = 10.5
DIRECTIONS = 16
SAMPLES = 21  # of a line
DISTANCES = (0.8, 1.1, 1.5, 2.0, 2.8)
Place = tuple[float, float, str, float]  # where, its alignment, and how far from its point


def placed_labels(
    spots: Floats,
    texts: Sequence[str],
    corners: Floats,
    lines: Floats,
    window: Window,
    points_per_metre: float,
    gap: float,
) -> list[Place]:
    """For each text its position and alignment. Labels should not cover the corners, (n, 2), and lines, (n, 2, 2)."""
    samples = np.linspace(0.0, 1.0, SAMPLES)[:, None]
    crowd = np.concatenate([corners, *(start + samples * (end - start) for start, end in lines)])
    taken: list[Floats] = []
    places: list[Place] = []
    for spot, text in zip(spots, texts, strict=True):
        size = np.array([LETTER * len(text) + 3.0, LINE]) / points_per_metre
        entries = candidates(spot, size, gap)
        near = around(crowd, entries, 0.25 * gap)
        best = min(entries, key=partial(cost, taken=taken, crowd=near, window=window, slack=0.25 * gap))
        taken.append(best[0])
        low, high = best[0]
        align, distance = best[1:]
        x = float(low[0] if align == "left" else high[0] if align == "right" else (low[0] + high[0]) / 2)
        places.append((x, float((low[1] + high[1]) / 2), align, distance))
    return places


def candidates(spot: Floats, size: Floats, gap: float) -> list[tuple[Floats, str, float]]:
    """Rectangles around a point as (2, 2), with the alignment of the text and the distance."""
    rectangles = []
    for distance in DISTANCES:
        for angle in 2.0 * np.pi * np.arange(DIRECTIONS) / DIRECTIONS:
            direction = np.array([np.cos(angle), np.sin(angle)])
            align = "left" if direction[0] > 0.35 else "right" if direction[0] < -0.35 else "center"
            anchor = spot + gap * distance * direction
            shift = {"left": 0.0, "right": -size[0], "center": -size[0] / 2}[align]
            low = np.array([anchor[0] + shift, anchor[1] - size[1] / 2 + 0.5 * size[1] * direction[1]])
            rectangles.append((np.stack([low, low + size]), align, distance))
    return rectangles


def around(crowd: Floats, entries: list[tuple[Floats, str, float]], slack: float) -> Floats:
    """The points that one of the rectangles may cover."""
    corners = np.stack([rectangle for rectangle, _, _ in entries])
    low, high = corners[:, 0].min(axis=0) - slack, corners[:, 1].max(axis=0) + slack
    x, y = crowd.T
    near: Floats = crowd[(x > low[0]) & (x < high[0]) & (y > low[1]) & (y < high[1])]
    return near


def cost(
    entry: tuple[Floats, str, float], taken: Sequence[Floats], crowd: Floats, window: Window, slack: float
) -> float:
    (low, high), _, distance = entry
    covered = np.sum((crowd > low - slack).all(axis=-1) & (crowd < high + slack).all(axis=-1))
    overlaps = sum(bool((low < other[1]).all() and (high > other[0]).all()) for other in taken)
    outside = low[0] < window.left or high[0] > window.right or low[1] < window.bottom or high[1] > window.top
    return float(2.0 * min(covered, 5) + 12.0 * overlaps + 20.0 * outside + 2.5 * distance)
