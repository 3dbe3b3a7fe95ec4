"""Moving pictures: GIF by Pillow, a dependency of matplotlib, MP4 by the program ffmpeg, and pages for browsers.

Frames are drawn by matplotlib into one figure, in which only moving parts are redrawn. All frames of a GIF have the
same palette, and their durations add up exactly. The writers of `matplotlib.animation` redraw whole figures, with a
palette for each, at a constant rate.
"""

from __future__ import annotations

import base64
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from ..errors import FileError, is_real
from ..extras import import_optional
from ..figures import new_figure
from ..files import atomic_write
from ..progress import ProgressDisplay
from .camera import Camera, Mesh, View, camera_of
from .motion import MOST_TRAILS, Framing, Motion, frame_count, framing_of, page_of
from .painter import INK, Painter, show_window, window_of
from .pictures import heading, legend, poses_at, seen_corners
from .scene import Scene, SceneOptions, scene_of, to_base
from .skeleton import Floats, Point, skeleton_of

if TYPE_CHECKING:
    from PIL.Image import Image

ENDINGS = (".gif", ".mp4", ".html")
NARROWEST, WIDEST = 40, 8000  # pixels
SAMPLED = 60  # frames that determine the extent of the picture
DPI = 100
FAILED = "#b00020"
PIECES, MOST_POINTS = 8, 10_000  # of a trail: pieces between frames, and points in all
CLOCK = 0.8  # inches beside the title
ROOM = 0.8  # inches above and below the picture, for title and legend
FASTEST = 50.0  # frames per second that browsers show in real time
COLOURS = 255
NEARLY_WHITE = 10  # steps of 255
HUNDREDTH = 10  # milliseconds: the unit of time in a GIF
LONGEST = 655.35  # seconds that a frame of a GIF can be shown: 16 bits of hundredths


@dataclass(frozen=True)
class Animation:
    """A moving picture of a robot: the times of its frames, and the file it is in. Notebooks show it.

    Attributes
    ----------
    times : ndarray, shape (frames,)
    poses : ndarray, shape (frames, 1 + links, 4, 4)
        Of the base and of the links.
    fps, speed : float
        Frames per second, and seconds of the motion per second of the picture.
    path : Path or None
    html : str
        A page that shows the motion, complete in itself.
    """

    motion: Motion
    scene: Scene = field(repr=False)
    camera: Camera = field(repr=False)
    times: Floats = field(repr=False)
    poses: Floats = field(repr=False)  # (frames, 1 + links, 4, 4)
    framing: Framing = field(repr=False)
    fps: float
    speed: float
    path: Path | None = None

    def __repr__(self) -> str:
        where = "" if self.path is None else f" in {str(self.path)!r}"
        return f"<Animation of {self.motion.title!r}: {len(self.times)} frames, {self.fps:g} per second{where}>"

    @property
    def html(self) -> str:
        """A page that shows the motion, complete in itself."""
        return page_of(self)

    def _repr_html_(self) -> str:
        from html import escape

        if self.path is not None and self.path.suffix.lower() == ".gif" and self.path.is_file():
            data = base64.b64encode(self.path.read_bytes()).decode()
            return f'<img src="data:image/gif;base64,{data}" alt="{escape(self.motion.title)}">'
        style = "width:100%;max-width:760px;height:520px;border:0"
        return f'<iframe sandbox="allow-scripts" style="{style}" srcdoc="{escape(self.html)}"></iframe>'


class Film:
    """The frames of an animation; `sampled` are poses that determine the extent of the picture."""

    def __init__(self, animation: Animation, sampled: Floats, width: int, trail: bool | None) -> None:
        motion, scene, camera, framing = animation.motion, animation.scene, animation.camera, animation.framing
        self.motion, self.times, self.poses = motion, animation.times, framing.of(animation.poses)
        mesh = Mesh(scene)
        corners = np.concatenate([seen_corners(mesh, camera, pose) for pose in sampled])
        measured = camera.measures and not framing.follows
        window = window_of(framing.limited(corners, camera), 3.0 * scene.radius, not measured)
        inches = width / DPI
        height = float(np.clip(inches * window.height / window.width, 0.4 * inches, 1.1 * inches)) + ROOM
        self.figure = new_figure(inches, even_pixels(height * DPI) / DPI)
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
        has_trails = len(tips) <= MOST_TRAILS if trail is None else trail
        self.pieces, points = trail_points(motion, self.times, tips if has_trails else ())
        self.paths = camera.project(points)[0]
        self.shift = camera.project(framing.shift)[0]
        self.moving = (self.painter.trails, self.painter.solids, self.painter.centres, self.clock)
        self.canvas = import_optional("matplotlib.backends.backend_agg").FigureCanvasAgg(
            self.figure
        )  # which has pixels
        self.clock.set_text(self.time_text(0))
        self.canvas.draw()  # computes the layout, which is then kept for all frames
        self.figure.set_layout_engine("none")
        for artist in self.moving:
            artist.set_animated(True)
        self.canvas.draw()
        self.background = self.canvas.copy_from_bbox(self.figure.bbox)  # static parts are drawn once

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
    """The number of pieces between frames, and the paths of the tips (points, tips, 3)."""
    steps = max(len(times) - 1, 1)
    pieces = max(1, min(PIECES, MOST_POINTS // steps))
    between = np.interp(np.arange(len(times) * pieces - pieces + 1) / pieces, np.arange(len(times)), times)
    return pieces, to_base(tips, poses_at(motion.robot, motion.at(between)))


def even_pixels(length: float) -> int:
    """Round to an even number of pixels, as video formats require."""
    return 2 * round(length / 2)


def write_gif(file: BinaryIO, film: Film, images: Iterator[Image], seconds: Floats, fps: float, pause: float) -> None:
    """`seconds` are the times at which frames are shown; the last one stays for `pause`, at least for 1/fps."""
    from PIL import Image

    if fps > FASTEST:
        raise ValueError(f"fps is {fps:g} (expected at most {FASTEST:g} in a GIF, which browsers show in real time)")
    shown_for = durations(seconds, fps, pause)
    if max(shown_for) > 1000.0 * LONGEST:
        what = f"a frame is shown for {max(shown_for) / 1000.0:g} s"
        raise ValueError(f"{what} (expected at most {LONGEST:g} s in a GIF: a larger fps, or a shorter pause)")
    count = len(seconds)
    typical = [np.asarray(film.image(k)) for k in sorted({0, count // 2, count - 1})]
    palette = whiten_palette(Image.fromarray(np.concatenate(typical)).quantize(COLOURS))
    flat = (image.quantize(palette=palette, dither=Image.Dither.NONE) for image in images)
    first = next(flat)
    first.save(file, "GIF", save_all=True, append_images=flat, duration=shown_for, loop=0, optimize=False, disposal=1)


def whiten_palette(palette: Image) -> Image:
    """Replace nearly white colours of the palette by white: Pillow's palettes deviate by a few steps."""
    colours = np.array(palette.getpalette()).reshape(-1, 3)
    far = (255 - colours).max(axis=-1)
    colours[(far < NEARLY_WHITE) | (far == far.min())] = 255
    palette.putpalette(colours.ravel().tolist())
    return palette


def durations(seconds: Floats, fps: float, pause: float) -> list[int]:
    """Milliseconds for each frame, in whole hundredths whose partial sums are correctly rounded."""
    ends = np.append(seconds[1:], seconds[-1] + max(pause, 1.0 / fps)) - seconds[0]
    hundredths = np.maximum.accumulate(np.rint(ends * 1000.0 / HUNDREDTH).astype(int))
    return [int(k) * HUNDREDTH for k in np.diff(hundredths, prepend=0)]


def encoder() -> str:
    program = shutil.which("ffmpeg")
    if program is None:
        raise FileError(
            "MP4 needs the program ffmpeg, which is not on the path (expected ffmpeg, or a .gif or .html file)"
        )
    return program


def write_mp4(file: BinaryIO, film: Film, images: Iterator[Image], fps: float, pause: float) -> None:
    """Send frames to ffmpeg as they are drawn. It needs a seekable file, so it writes a temporary one."""
    width, height = (2 * (side // 2) for side in film.canvas.get_width_height())
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as log:
        output = Path(folder) / "film.mp4"
        command = [encoder(), "-loglevel", "error", "-y", "-f", "rawvideo", "-pix_fmt", "rgb24"]
        command += ["-video_size", f"{width}x{height}", "-framerate", f"{fps:g}", "-i", "-", "-an"]
        command += ["-c:v", "libx264", "-pix_fmt", "yuv420p", "-crf", "20", "-movflags", "+faststart", str(output)]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=log)
        try:
            assert process.stdin is not None
            for image in images:
                pixels = image.crop((0, 0, width, height)).tobytes()
                process.stdin.write(pixels)
            for _ in range(round(pause * fps)):
                process.stdin.write(pixels)
            process.stdin.close()
        except BrokenPipeError:
            pass  # ffmpeg's message is reported below
        except BaseException:
            process.kill()
            raise
        finally:
            code = process.wait()
        log.seek(0)
        if code != 0:
            raise FileError(f"ffmpeg could not make an MP4: {log.read().decode(errors='replace').strip()}")
        with open(output, "rb") as source:
            shutil.copyfileobj(source, file)


def animate(
    motion: Motion,
    path: str | os.PathLike[str] | None,
    *,
    fps: float,
    speed: float,
    view: View | None,
    width: int,
    pause: float,
    trail: bool | None,
    options: SceneOptions,
    progress: bool | None,
) -> Animation:
    target = None if path is None else Path(path)
    ending = check_film(target, motion.duration, fps, speed)
    check_positive(width=width)
    if not NARROWEST <= width <= WIDEST:
        raise ValueError(f"width is {width!r} (expected from {NARROWEST} to {WIDEST} pixels)")
    if not (np.isfinite(pause) and pause >= 0.0):
        raise ValueError(f"pause is {pause!r} (expected seconds, not negative)")
    skeleton = skeleton_of(motion.robot)
    times = motion.frame_times(fps, speed)
    poses = poses_at(motion.robot, motion.at(times))
    scene = scene_of(skeleton, poses[:1], options)
    framing = framing_of(scene, poses)
    sampled = framing.of(poses)[np.unique(np.linspace(0, len(poses) - 1, SAMPLED).astype(int))]
    points = to_base(skeleton.points(), sampled).reshape(-1, 3)
    camera = camera_of(view, skeleton, poses[0], points)
    result = Animation(motion, scene, camera, times, poses, framing, fps, speed, target)
    if target is None:
        return result
    with atomic_write(target) as file:
        if ending == ".html":
            file.write(result.html.encode())
            return result
        film = Film(result, sampled, width, trail)
        images = with_progress(film, len(times), target.name, progress)
        if ending == ".gif":
            write_gif(file, film, images, times / speed, fps, pause)
        else:
            write_mp4(file, film, images, fps, pause)
    return result


def check_film(target: Path | None, duration: float, fps: float, speed: float) -> str:
    """Check that the film can be written, before anything is computed, and return its ending."""
    ending = ".html" if target is None else target.suffix.lower()
    if ending not in ENDINGS:
        given = ending or "files without an ending"
        raise FileError(f"{target}: cannot write {given} (expected {', '.join(ENDINGS)})")
    if ending == ".mp4":
        encoder()
    check_positive(fps=fps, speed=speed)
    frame_count(duration, fps, speed)
    return ending


def check_positive(**values: float) -> None:
    for name, value in values.items():
        if not is_real(value):
            raise TypeError(f"{name} is {value!r} (expected a number)")
        if not (np.isfinite(value) and value > 0.0):
            raise ValueError(f"{name} is {value!r} (expected a number above zero)")


def with_progress(film: Film, count: int, name: str, shown: bool | None) -> Iterator[Any]:
    """Iterate over the images of a film; long work shows its progress on stderr."""
    with ProgressDisplay.of_long_work(shown) as display:
        for k in range(count):
            yield film.image(k)
            display.update(k + 1, count, name, f"{name}: {k + 1} of {count} frames after {display.seconds:.0f} s")
