"""The frames of a moving picture as images, drawn by matplotlib one after the other into the same figure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..figures import new_figure
from .camera import Camera
from .faces import Mesh
from .framing import Framing
from .motion import Motion
from .painter import INK, Painter, show_window, window_of
from .pictures import heading, legend, poses_at, seen_corners
from .scene import Scene, world
from .skeleton import Floats, Point

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from PIL.Image import Image

DPI = 100
FAILED = "#b00020"
MOST_TRAILS = 6
PIECES, MOST_POINTS = 8, 10_000  # of a trail: from frame to frame, and in all
CLOCK = 0.8  # inches beside the title
ROOM = 0.8  # inches above and below the picture, for title and legend


class Film:
    def __init__(
        self,
        motion: Motion,
        scene: Scene,
        mesh: Mesh,
        camera: Camera,
        framing: Framing,
        times: Floats,
        poses: Floats,
        sampled: Floats,
        *,
        width: int,
        trail: bool | None,
    ) -> None:
        self.motion, self.times, self.poses = motion, times, framing.of(poses)
        corners = np.concatenate([seen_corners(mesh, camera, pose) for pose in sampled])
        measured = camera.measures and not framing.follows
        window = window_of(framing.limited(corners, camera), 3.0 * scene.radius, not measured)
        inches = width / DPI
        height = float(np.clip(inches * window.height / window.width, 0.4 * inches, 1.1 * inches)) + ROOM
        self.figure = new_figure(inches, even(height * DPI) / DPI)
        self.figure.set_dpi(DPI)
        self.figure.set_facecolor("white")
        axes = self.figure.add_subplot()
        show_window(axes, window, camera, scene.size, measured)
        self.painter = Painter(axes, scene, mesh, camera)
        if not measured:
            self.painter.foot(window)
        heading(self.figure, framing.titled(motion.title), inches - CLOCK, 10)
        self.clock = self.figure.text(0.985, 0.985, "", ha="right", va="top", fontsize=10, color=INK)
        legend(self.figure, scene)
        tips = scene.skeleton.tips
        wanted = len(tips) <= MOST_TRAILS if trail is None else trail
        self.pieces, points = trail_points(motion, times, tips if wanted else ())
        self.paths = camera.project(points)[0]
        self.shift = camera.project(framing.shift)[0]
        self.moving = (self.painter.trails, self.painter.solids, self.painter.centres, self.clock)
        self.canvas = raster_canvas(self.figure)
        self.clock.set_text(self.time_text(0))
        self.canvas.draw()  # decides the layout, which is then the same in every frame
        self.figure.set_layout_engine("none")
        for artist in self.moving:
            artist.set_animated(True)
        self.canvas.draw()
        self.background = self.canvas.copy_from_bbox(self.figure.bbox)  # what stands still is drawn once

    def image(self, k: int) -> Image:
        """Frame k, in red, green and blue."""
        from PIL import Image

        self.painter.paint(self.poses[k])
        until = k * self.pieces + 1
        self.painter.trails.set_segments([path - self.shift[k] for path in np.moveaxis(self.paths[:until], 1, 0) if k])
        self.clock.set_text(self.time_text(k))
        self.clock.set_color(FAILED if self.ends_early(k) else INK)
        self.canvas.restore_region(self.background)
        for artist in self.moving:
            self.figure.draw_artist(artist)
        pixels = np.asarray(self.canvas.buffer_rgba())[..., :3]
        return Image.fromarray(np.ascontiguousarray(pixels))

    def ends_early(self, k: int) -> bool:
        return bool(self.motion.note) and k == len(self.times) - 1

    def time_text(self, k: int) -> str:
        return self.motion.note if self.ends_early(k) else f"{self.times[k]:.2f} s"


def trail_points(motion: Motion, times: Floats, tips: tuple[Point, ...]) -> tuple[int, Floats]:
    """The paths of the tips, (points, tips, 3), in pieces from frame to frame, and how many pieces these are."""
    steps = max(len(times) - 1, 1)
    pieces = max(1, min(PIECES, MOST_POINTS // steps))
    between = np.interp(np.arange(len(times) * pieces - pieces + 1) / pieces, np.arange(len(times)), times)
    return pieces, world(tips, poses_at(motion.robot, motion.at(between)))


def raster_canvas(figure: Figure) -> Any:
    """A canvas that has pixels, whatever backend is chosen."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    return FigureCanvasAgg(figure)


def even(length: float) -> int:
    """Pixels, a number that video formats can halve."""
    return 2 * round(length / 2)
