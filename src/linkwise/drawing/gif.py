"""Moving pictures as GIF, by Pillow, which matplotlib brings along."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from .skeleton import Floats

if TYPE_CHECKING:
    from PIL.Image import Image

    from .film import Film

FASTEST = 50.0  # frames per second that browsers show as they are
COLOURS = 255
NEARLY_WHITE = 10  # steps of 255
HUNDREDTH = 10  # milliseconds: the unit of time in a GIF


def write(file: BinaryIO, film: Film, images: Iterator[Image], seconds: Floats, fps: float, pause: float) -> None:
    """`seconds` are the times at which frames are shown; the last one stays for `pause`, at least for 1/fps."""
    from PIL import Image as Pillow

    if fps > FASTEST:
        raise ValueError(f"fps is {fps:g} (expected at most {FASTEST:g} in a GIF, which browsers show in real time)")
    count = len(seconds)
    typical = [np.asarray(film.image(k)) for k in sorted({0, count // 2, count - 1})]
    palette = with_white(Pillow.fromarray(np.concatenate(typical)).quantize(COLOURS))
    flat = (image.quantize(palette=palette, dither=Pillow.Dither.NONE) for image in images)
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
