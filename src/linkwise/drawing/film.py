"""Moving pictures as GIF, by Pillow, which matplotlib brings along, and as MP4, by the program ffmpeg.

The frames are drawn by matplotlib one after the other into the same figure, of which only what moves is drawn again;
all frames of a GIF have one palette and times that add up. The writers of `matplotlib.animation` draw whole figures,
with a palette for each, at a constant rate.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, BinaryIO

import numpy as np

from ..errors import FileError
from ..figures import new_figure
from .camera import Camera
from .faces import Mesh
from .motion import Framing, Motion
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
FASTEST = 50.0  # frames per second that browsers show as they are
COLOURS = 255
NEARLY_WHITE = 10  # steps of 255
HUNDREDTH = 10  # milliseconds: the unit of time in a GIF


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


def write_gif(file: BinaryIO, film: Film, images: Iterator[Image], seconds: Floats, fps: float, pause: float) -> None:
    """`seconds` are the times at which frames are shown; the last one stays for `pause`, at least for 1/fps."""
    from PIL import Image

    if fps > FASTEST:
        raise ValueError(f"fps is {fps:g} (expected at most {FASTEST:g} in a GIF, which browsers show in real time)")
    count = len(seconds)
    typical = [np.asarray(film.image(k)) for k in sorted({0, count // 2, count - 1})]
    palette = with_white(Image.fromarray(np.concatenate(typical)).quantize(COLOURS))
    flat = (image.quantize(palette=palette, dither=Image.Dither.NONE) for image in images)
    first = next(flat)
    shown_for = durations(seconds, fps, pause)
    first.save(file, "GIF", save_all=True, append_images=flat, duration=shown_for, loop=0, optimize=False, disposal=1)


def with_white(palette: Image) -> Image:
    """The same palette with pure white for all that is nearly white: Pillow finds colours only up to a few steps."""
    colours = np.array(palette.getpalette()).reshape(-1, 3)
    far = (255 - colours).max(axis=-1)
    colours[(far < NEARLY_WHITE) | (far == far.min())] = 255
    palette.putpalette(colours.ravel().tolist())
    return palette


def durations(seconds: Floats, fps: float, pause: float) -> list[int]:
    """Milliseconds for each frame, whole hundredths whose sum is right wherever one stops to count."""
    ends = np.append(seconds[1:], seconds[-1] + max(pause, 1.0 / fps)) - seconds[0]
    hundredths = np.maximum.accumulate(np.rint(ends * 1000.0 / HUNDREDTH).astype(int))
    return [int(k) * HUNDREDTH for k in np.diff(hundredths, prepend=0)]


def encoder() -> str:
    program = shutil.which("ffmpeg")
    if program is None:
        raise FileError("MP4 needs the program ffmpeg, which is not on the path (expected it, or a .gif or .html file)")
    return program


def write_mp4(file: BinaryIO, film: Film, images: Iterator[Image], fps: float, pause: float) -> None:
    """Frames go to ffmpeg as they are drawn. It needs a file that it can go back in, so it gets one of its own."""
    first = next(images)
    width, height = (2 * (side // 2) for side in first.size)
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "film.mp4"
        command = [encoder(), "-loglevel", "error", "-y", "-f", "rawvideo", "-pix_fmt", "rgb24"]
        command += ["-video_size", f"{width}x{height}", "-framerate", f"{fps:g}", "-i", "-", "-an"]
        command += ["-c:v", "libx264", "-pix_fmt", "yuv420p", "-crf", "20", "-movflags", "+faststart", str(made)]
        with tempfile.TemporaryFile() as said:
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=said)
            try:
                assert process.stdin is not None
                last = first
                feed(process.stdin, first, width, height)
                for last in images:
                    feed(process.stdin, last, width, height)
                for _ in range(round(pause * fps)):
                    feed(process.stdin, last, width, height)
                process.stdin.close()
            except BrokenPipeError:
                pass  # what it says follows
            except BaseException:
                process.kill()
                raise
            finally:
                code = process.wait()
            said.seek(0)
            if code != 0:
                raise FileError(f"ffmpeg could not make an MP4: {said.read().decode(errors='replace').strip()}")
        with open(made, "rb") as source:
            shutil.copyfileobj(source, file)


def feed(stream: IO[bytes], image: Image, width: int, height: int) -> None:
    stream.write(image.crop((0, 0, width, height)).tobytes())
