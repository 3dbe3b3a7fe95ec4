"""Replace files atomically: readers see the old content or the new, never a part."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from .errors import FileError


@contextmanager
def atomic_replace(
    path: Path,
    temporary: Path,
    *,
    durable: bool = False,
    opener: Callable[[str, int], int] | None = None,
    place: Callable[[Path, Path], None] | None = None,
) -> Iterator[BinaryIO]:
    """Open a temporary file that replaces `path` when it is complete. Both must be on one disk.

    `durable` flushes the content to the disk before renaming. `place(temporary, path)` replaces the renaming.
    """
    try:
        with open(temporary, "xb", opener=opener) as file:
            yield file
            if durable:
                file.flush()
                os.fsync(file.fileno())
        (place or os.replace)(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def atomic_write(target: Path) -> Iterator[BinaryIO]:
    """Write atomically to a path of a user: links are followed, and errors are `FileError`s.

    Pipes and devices are written directly.
    """
    before = check_target(target)
    real = Path(os.path.realpath(target))
    mode = None if before is None else before & 0o7777
    try:
        if before is not None and not stat.S_ISREG(before):
            with open(target, "wb") as file:
                yield file
            return
        with atomic_replace(real, real.with_name(f".{real.name[:100]}.{os.urandom(4).hex()}")) as file:
            yield file
            if mode is not None:  # a private file stays private
                os.chmod(file.name, mode)
    except OSError as problem:
        raise FileError(f"{target}: cannot be written ({problem.strerror or problem})") from None


def check_target(target: Path) -> int | None:
    """Raise if no file can be written to a path; return the mode of an existing file."""
    if "\0" in str(target):
        raise FileError(f"{str(target)!r}: a path cannot have a null character")
    try:
        mode = os.stat(target).st_mode
    except (FileNotFoundError, NotADirectoryError):
        mode = None
    except OSError as problem:
        raise FileError(f"{target}: cannot be written ({problem.strerror or problem})") from None
    if mode is None and not Path(os.path.realpath(target)).parent.is_dir():
        raise FileError(f"{target}: the folder {str(target.parent)!r} does not exist")
    if mode is not None and stat.S_ISDIR(mode):
        raise FileError(f"{target}: is a folder (expected a file)")
    return mode
