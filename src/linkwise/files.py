"""Files are replaced as a whole: whoever reads one sees the old content or the new, never a part."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from .errors import FileError


@contextmanager
def replacing(
    path: Path, temporary: Path, *, durable: bool = False, opener: Callable[[str, int], int] | None = None
) -> Iterator[BinaryIO]:
    """A file to write; it takes the place of `path` when it is complete. Both must be on one disk.

    `durable`: the content is on the disk before the name is.
    """
    try:
        with open(temporary, "xb", opener=opener) as file:
            yield file
            if durable:
                file.flush()
                os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def saving(target: Path) -> Iterator[BinaryIO]:
    """The same for a path that a user gave: links are followed, and what is wrong is a `FileError`."""
    if "\0" in str(target):
        raise FileError(f"{str(target)!r}: a path cannot have a null character")
    try:
        real = Path(os.path.realpath(target))
        mode = os.stat(real).st_mode & 0o7777 if real.is_file() else None
    except OSError as problem:
        raise FileError(f"{target}: cannot be written ({problem.strerror or problem})") from None
    if not real.parent.is_dir():
        raise FileError(f"{target}: the folder {str(target.parent)!r} does not exist")
    if real.is_dir():
        raise FileError(f"{target}: is a folder (expected a file)")
    try:
        with replacing(real, real.with_name(f".{real.name[:100]}.{os.urandom(4).hex()}")) as file:
            yield file
            if mode is not None:  # a private file stays private
                os.chmod(file.name, mode)
    except OSError as problem:
        raise FileError(f"{target}: cannot be written ({problem.strerror or problem})") from None
