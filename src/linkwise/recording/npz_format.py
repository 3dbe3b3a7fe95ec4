"""Recordings as NumPy archives: every array under its own name; the rest, as JSON, in the bytes of `about`."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from ..robot.layout import Layout
from .file_contents import READING, Values, described, fail, packed


def write(file: BinaryIO, about: dict[str, Any], values: Values, _: Layout) -> None:
    arrays: Values = {name: value for name, value in values.items() if isinstance(value, np.ndarray)}
    text = json.dumps({**about, **{name: packed(values[name], name) for name in values if name not in arrays}})
    np.savez(file, about=np.frombuffer(text.encode(), np.uint8), **arrays)


def read(path: Path, content: bytes) -> tuple[dict[str, Any], Values]:
    if not content.startswith(b"PK"):
        fail(path, "is no NumPy archive (expected a .npz file that Recording.save wrote)")
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except READING as problem:
        fail(path, f"is a damaged archive ({problem})")
    if "about" not in arrays:
        fail(path, "is an archive of something else: it holds no 'about' (expected what Recording.save writes)")
    about, values = described(path, arrays.pop("about").tobytes())
    return about, {**values, **arrays}
