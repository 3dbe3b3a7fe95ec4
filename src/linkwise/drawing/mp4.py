"""Moving pictures as MP4, by the program ffmpeg."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from ..errors import FileError

if TYPE_CHECKING:
    from PIL.Image import Image

    from .film import Film


def encoder() -> str:
    program = shutil.which("ffmpeg")
    if program is None:
        raise FileError("MP4 needs the program ffmpeg, which is not on the path (expected it, or a .gif or .html file)")
    return program


def write(file: BinaryIO, film: Film, images: Iterator[Image], fps: float, pause: float) -> None:
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


def feed(stream: object, image: Image, width: int, height: int) -> None:
    stream.write(image.crop((0, 0, width, height)).tobytes())  # type: ignore[attr-defined]
