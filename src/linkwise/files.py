"""Files are replaced as a whole: whoever reads one sees the old content or the new, never a part."""

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
    """A file to write; it takes the place of `path` when it is complete. Both must be on one disk.

    `durable`: the content is on the disk before the name is. `place(temporary, path)` gives it its name in another way.
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
    """The same for a path that a user gave: links are followed, and what is wrong is a `FileError`.

    Pipes and devices are written to as they are.
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
    """Refuse a path that no file can be written to; the mode of what is there now."""
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
