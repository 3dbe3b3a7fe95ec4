"""Moving pictures of a trajectory: GIF, MP4 and pages that need nothing but a browser."""

from __future__ import annotations

import base64
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import FileError, is_real
from ..files import saving
from ..progress import ProgressDisplay, on_terminal
from .camera import Camera, camera_of
from .faces import Mesh
from .film import Film, encoder, write_gif, write_mp4
from .motion import Framing, Motion, frame_count, framing_of
from .page import page_of
from .pictures import poses_at
from .scene import Scene, Shown, scene_of, world
from .skeleton import Floats, skeleton_of

ENDINGS = (".gif", ".mp4", ".html")
NARROWEST, WIDEST = 40, 8000  # pixels
SAMPLED = 60  # frames that decide how much a picture must show
PATIENCE, RARELY = 1.0, 60.0  # seconds before progress is shown, and between its lines after some time


@dataclass(frozen=True)
class Animation:
    """A moving picture: the times of its frames, and the file it is in. Notebooks show it."""

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
        return page_of(self.motion, self.scene, self.camera, self.framing, self.times, self.poses, self.speed)

    def _repr_html_(self) -> str:
        from html import escape

        if self.path is not None and self.path.suffix.lower() == ".gif" and self.path.is_file():
            data = base64.b64encode(self.path.read_bytes()).decode()
            return f'<img src="data:image/gif;base64,{data}" alt="{escape(self.motion.title)}">'
        style = "width:100%;max-width:760px;height:520px;border:0"
        return f'<iframe sandbox="allow-scripts" style="{style}" srcdoc="{escape(self.html)}"></iframe>'


def animated(
    motion: Motion,
    path: str | os.PathLike[str] | None,
    *,
    fps: float,
    speed: float,
    view: Any,
    width: int,
    pause: float,
    trail: bool | None,
    shown: Shown,
    progress: bool | None,
) -> Animation:
    target = None if path is None else Path(path)
    ending = ".html" if target is None else target.suffix.lower()
    check_film(target, motion.duration, fps, speed)
    checked(width=width)
    if not NARROWEST <= width <= WIDEST:
        raise ValueError(f"width is {width!r} (expected from {NARROWEST} to {WIDEST} pixels)")
    if not (np.isfinite(pause) and pause >= 0.0):
        raise ValueError(f"pause is {pause!r} (expected seconds, not negative)")
    skeleton = skeleton_of(motion.robot)
    times = motion.frame_times(fps, speed)
    poses = poses_at(motion.robot, motion.at(times))
    scene = scene_of(skeleton, poses[:1], shown)
    framing = framing_of(scene, poses)
    sampled = framing.of(poses)[np.unique(np.linspace(0, len(poses) - 1, SAMPLED).astype(int))]
    points = world(skeleton.points(), sampled).reshape(-1, 3)
    camera = camera_of(view, skeleton, poses[0], points)
    result = Animation(motion, scene, camera, times, poses, framing, fps, speed, target)
    if target is None:
        return result
    with saving(target) as file:
        if ending == ".html":
            file.write(result.html.encode())
            return result
        film = Film(motion, scene, Mesh(scene), camera, framing, times, poses, sampled, width=width, trail=trail)
        images = shown_progress(film, len(times), f"{target.name}", progress)
        if ending == ".gif":
            write_gif(file, film, images, times / speed, fps, pause)
        else:
            write_mp4(file, film, images, fps, pause)
    return result


def check_film(target: Path | None, duration: float, fps: float, speed: float) -> None:
    """Whether a film of so many seconds can be made at all, before anything is computed for it."""
    ending = ".html" if target is None else target.suffix.lower()
    if ending not in ENDINGS:
        given = ending or "files without an ending"
        raise FileError(f"{target}: cannot write {given} (expected {', '.join(ENDINGS)})")
    if ending == ".mp4":
        encoder()
    checked(fps=fps, speed=speed)
    frame_count(duration, fps, speed)


def checked(**values: float) -> None:
    for name, value in values.items():
        if not is_real(value):
            raise TypeError(f"{name} is {value!r} (expected a number)")
        if not (np.isfinite(value) and value > 0.0):
            raise ValueError(f"{name} is {value!r} (expected a number above zero)")


def shown_progress(film: Film, count: int, name: str, shown: bool | None) -> Iterator[Any]:
    """The images of a film, one after the other; long work says on stderr how far it is."""
    display = None
    if on_terminal() if shown is None else shown:
        display = ProgressDisplay(PATIENCE, PATIENCE, PATIENCE, RARELY)
    try:
        for k in range(count):
            yield film.image(k)
            if display is not None:
                line = f"{name}: {k + 1} of {count} frames after {display.seconds:.0f} s"
                display.update(k + 1, count, name, line)
    finally:
        if display is not None:
            display.close()
