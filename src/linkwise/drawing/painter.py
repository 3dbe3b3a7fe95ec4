"""Draw scenes into matplotlib axes: polygons in parallel projection with equal scales."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .camera import Camera, Faces, Mesh
from .scene import AXES, Scene, to_base, up_of
from .skeleton import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PolyCollection

INK = "#22272e"
PALE = "#8a929b"
GRAVITY = "#6a3d9a"
FAR = 1.2  # labels farther than this from their joint get a line
WEDGE = 7  # corners of the arc of a quarter
NICE = (1.0, 2.0, 5.0)
LETTER = 5.1  # width of a letter and height of a line, in points
LINE = 10.5
DIRECTIONS = 16
SAMPLES = 21  # of a line
DISTANCES = (0.8, 1.1, 1.5, 2.0, 2.8)
Place = tuple[float, float, str, float]  # position, alignment and distance from its point


class Window(NamedTuple):
    """The part of the plane that a picture shows."""

    left: float
    right: float
    bottom: float
    top: float

    @property
    def width(self) -> float:
        return self.right - self.left

    @property
    def height(self) -> float:
        return self.top - self.bottom


def window_of(points: Floats, margin: float, foot: bool, labels: bool = False) -> Window:
    """The window around all points (..., 2) with a margin; `foot` leaves room for the scale."""
    flat = points.reshape(-1, 2)
    low, high = flat.min(axis=0) - margin, flat.max(axis=0) + margin
    width, height = high - low
    wide, tall = max(width, (0.75 if labels else 0.45) * height), max(height, 0.3 * width)  # no strip, no column
    middle = (low + high) / 2
    bottom = middle[1] - tall / 2 - (3.0 * arrow_length(wide, tall) if foot else 0.0)
    return Window(middle[0] - wide / 2, middle[0] + wide / 2, bottom, middle[1] + tall / 2)


def arrow_length(width: float, height: float) -> float:
    """Length of the direction arrows at the foot of a picture."""
    return 0.065 * min(width, 1.6 * height)


def show_window(axes: Axes, window: Window, camera: Camera, size: float, coordinates: bool) -> None:
    """Set limits, equal scales, and coordinates if requested and the view has them."""
    axes.set_xlim(window.left, window.right)
    axes.set_ylim(window.bottom, window.top)
    axes.set_aspect("equal", adjustable="box")
    axes.set_facecolor("white")
    along = camera.axes
    if along is None or not coordinates:
        axes.set_axis_off()
        return
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    factor, unit = unit_for(size)
    for axis, (letter, sign), span in ((axes.xaxis, along[0], window.width), (axes.yaxis, along[1], window.height)):
        axis.set_major_locator(MaxNLocator(6 if span > 0.5 * size else 3))
        axis.set_major_formatter(FuncFormatter(lambda x, _, sign=sign: f"{sign * x / factor + 0.0:.4g}"))
        axis.set_label_text(f"{letter} ({unit})", color=INK, fontsize=9)
        axis.set_tick_params(labelsize=8, color=PALE, labelcolor=INK)
    axes.grid(color="#eceff2", linewidth=0.8)
    axes.set_axisbelow(True)
    for spine in axes.spines.values():
        spine.set_color("#c9d0d6")


def unit_for(size: float) -> tuple[float, str]:
    if size > 5e3:
        return 1e3, "km"
    return (1e-6, "µm") if size < 2e-4 else (1e-3, "mm") if size < 0.2 else (1.0, "m")


class Painter:
    """Draws a scene into axes, repeatedly at different poses."""

    def __init__(self, axes: Axes, scene: Scene, mesh: Mesh, camera: Camera) -> None:
        from matplotlib.collections import LineCollection

        self.axes, self.scene, self.mesh, self.camera = axes, scene, mesh, camera
        self.solids = self.polygons(zorder=3.0)
        self.centres = self.polygons(zorder=4.0, linewidths=0.5, edgecolors=INK)
        self.trails = LineCollection([], zorder=2.5, linewidths=1.1, colors="#d9822b", alpha=0.75)
        axes.add_collection(self.trails, autolim=False)

    def polygons(self, **style: Any) -> PolyCollection:
        from matplotlib.collections import PolyCollection

        collection = PolyCollection([], **style)
        self.axes.add_collection(collection, autolim=False)
        return collection

    def ghost(self, poses: Floats, paleness: float) -> Floats:
        """Draw the robot at an earlier configuration, behind the others. Return the corners of its polygons."""
        return fill(self.polygons(zorder=3.0 - 0.5 * paleness), self.mesh.seen_by(self.camera, poses, paleness))

    def paint(self, poses: Floats) -> Floats:
        """Redraw the robot at poses (frames, 4, 4). Return the corners of all polygons."""
        corners = fill(self.solids, self.mesh.seen_by(self.camera, poses))
        wedges, colours = self.quarters(poses)
        self.centres.set_verts(wedges)
        self.centres.set_facecolor(colours)
        return np.concatenate([corners, *wedges])

    def quarters(self, poses: Floats) -> tuple[list[Floats], list[str]]:
        """Mass centre symbols: circles with quarters in black and white."""
        centres = self.scene.centres
        flat, near = self.camera.project(to_base(tuple(centre.point for centre in centres), poses[None])[0])
        wedges: list[Floats] = []
        for k in np.argsort(near):
            for quarter in range(4):
                angles = np.linspace(quarter, quarter + 1, WEDGE) * np.pi / 2
                arc = centres[k].radius * np.stack([np.cos(angles), np.sin(angles)], axis=-1)
                wedges.append(np.concatenate([flat[k : k + 1], flat[k] + arc]))
        return wedges, ["white", INK] * (2 * len(centres))

    def label(self, poses: Floats, corners: Floats, window: Window, points_per_metre: float) -> None:
        """Write the links' names beside their joints, where they cover least of the drawing."""
        labels = self.scene.labels
        spots, _ = self.camera.project(to_base(tuple(label.point for label in labels), poses[None])[0])
        ends = [point for tube in self.scene.tubes for point in (tube.start, tube.end)]
        lines = self.camera.project(to_base(tuple(ends), poses[None])[0])[0].reshape(-1, 2, 2)
        texts = [label.text for label in labels]
        places = place_labels(spots, texts, corners, lines, window, points_per_metre, 4.0 * self.scene.radius)
        for (x, y, align, distance), text, spot in zip(places, texts, spots, strict=True):
            if distance > FAR:
                self.axes.plot([spot[0], x], [spot[1], y], color=PALE, linewidth=0.6, zorder=4.5)
            paper = {"facecolor": "white", "alpha": 0.65, "edgecolor": "none", "pad": 0.6}
            look: dict[str, Any] = {
                "fontsize": 8,
                "color": INK,
                "ha": align,
                "va": "center",
                "zorder": 5,
                "bbox": paper,
            }
            self.axes.text(x, y, text, parse_math=False, clip_on=True, **look)

    def foot(self, window: Window) -> None:
        """Draw the directions of axes and gravity, and a scale, at the bottom."""
        self.directions(window)
        length, text = nice_length(0.3 * window.width)
        right, bottom = window.right - 0.03 * window.width, window.bottom + 0.05 * window.height
        self.axes.plot([right - length, right], [bottom, bottom], color=INK, linewidth=2.0, solid_capstyle="butt")
        middle = right - length / 2
        self.axes.text(middle, bottom + 0.012 * window.height, text, fontsize=8, color=INK, ha="center", va="bottom")

    def directions(self, window: Window) -> None:
        reach = arrow_length(window.width, window.height)
        corner = np.array([window.left + 1.5 * reach, window.bottom + 1.3 * reach])
        if any(float(x) for x in self.scene.skeleton.robot.gravity):
            aside = corner + np.array([3.0, 0.5]) * reach
            self.arrow(aside, -reach * up_of(self.scene.skeleton), GRAVITY, "g", reach)
        for k in np.argsort(self.camera.toward, kind="stable"):  # the nearest last
            self.arrow(corner, reach * np.eye(3)[k], AXES[k], "xyz"[k], reach)

    def arrow(self, start: Floats, vector: Floats, colour: str, letter: str, reach: float) -> None:
        flat, _ = self.camera.project(vector)
        if np.linalg.norm(flat) < 0.08 * reach:  # seen from its end
            return
        style = {"arrowstyle": "-|>", "color": colour, "linewidth": 1.4, "shrinkA": 0, "shrinkB": 0}
        tip, tail = (start + flat).tolist(), start.tolist()
        self.axes.annotate("", tip, tail, arrowprops={**style, "mutation_scale": 7}, zorder=6)
        x, y = start + flat + 0.3 * reach * flat / np.linalg.norm(flat)
        self.axes.text(x, y, letter, color=colour, fontsize=8, ha="center", va="center", zorder=6)


def fill(collection: PolyCollection, faces: Faces) -> Floats:
    """Set the polygons of a collection; edges close the seams between them."""
    edges = faces.colours.copy()
    edges[faces.clear, :3] *= 0.75
    edges[faces.clear, 3] = 0.8
    collection.set_verts(faces.polygons)
    collection.set(facecolor=faces.colours, edgecolor=edges, linewidth=np.where(faces.clear, 0.6, 0.35))
    return np.concatenate([np.empty((0, 2)), *faces.polygons])


def nice_length(about: float) -> tuple[float, str]:
    """The largest round length up to `about`, and its text."""
    power = 10.0 ** np.floor(np.log10(about))
    length = float(max(x * power for x in NICE if x * power <= about * (1.0 + 1e-9)))
    factor, unit = unit_for(length)
    return length, f"{length / factor:.4g} {unit}"


def place_labels(
    spots: Floats,
    texts: Sequence[str],
    corners: Floats,
    lines: Floats,
    window: Window,
    points_per_metre: float,
    gap: float,
) -> list[Place]:
    """Place the texts so that they cover few corners (n, 2) and lines (n, 2, 2)."""
    samples = np.linspace(0.0, 1.0, SAMPLES)[:, None]
    crowd = np.concatenate([corners, *(start + samples * (end - start) for start, end in lines)])
    angles = np.tile(2.0 * np.pi * np.arange(DIRECTIONS) / DIRECTIONS, len(DISTANCES))
    directions, distances = np.stack([np.cos(angles), np.sin(angles)], axis=-1), np.repeat(DISTANCES, DIRECTIONS)
    side = np.select([directions[:, 0] > 0.35, directions[:, 0] < -0.35], [0, 2], 1)  # of the text, at its point
    slack, taken, places = 0.25 * gap, np.empty((0, 2, 2)), []
    for spot, text in zip(spots, texts, strict=True):
        size = np.array([LETTER * len(text) + 3.0, LINE]) / points_per_metre
        low = spot + (gap * distances)[:, None] * directions
        low -= np.stack([side * size[0] / 2, size[1] / 2 - 0.5 * size[1] * directions[:, 1]], axis=-1)
        high = low + size
        near = crowd[in_rectangle(crowd, low.min(axis=0) - slack, high.max(axis=0) + slack)]
        covered = in_rectangle(near, low[:, None] - slack, high[:, None] + slack).sum(axis=-1)
        overlaps = ((low[:, None] < taken[:, 1]) & (high[:, None] > taken[:, 0])).all(axis=-1).sum(axis=-1)
        out_of_sight = (low < (window.left, window.bottom)) | (high > (window.right, window.top))
        costs = 2.0 * np.minimum(covered, 5) + 12.0 * overlaps + 20.0 * out_of_sight.any(axis=-1) + 2.5 * distances
        best = int(np.argmin(costs))
        taken = np.concatenate([taken, [[low[best], high[best]]]])
        x, y = low[best] + (side[best] / 2, 0.5) * size
        places.append((float(x), float(y), ("left", "center", "right")[side[best]], float(distances[best])))
    return places


def in_rectangle(points: Floats, low: Floats, high: Floats) -> np.ndarray:
    """Which points are in a rectangle."""
    return np.asarray(((points > low) & (points < high)).all(axis=-1))
