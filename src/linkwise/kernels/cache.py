"""Compiled code on disk, in the user's cache folder.

There is one file per key, `<key>.kernel`; `cache_file` has its layout and checks. A cache error never stops the caller:
a `CacheWarning` reports it once, and the code is compiled again. Processes share the folder without locks: files are
replaced atomically, and a file that vanishes is a cache miss.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import sys
import warnings
from hashlib import sha256
from pathlib import Path

from ..errors import CacheWarning, printable
from . import cache_file

Entry = tuple[dict[str, str], bytes]  # metadata and code

LIMIT = 2000  # files; the least recently used are removed beyond it
OURS = r"[0-9a-f]{64}\.(kernel|[0-9a-f]{16}\.tmp)"  # a killed process leaves a .tmp
_warned: set[Path] = set()


def folder() -> Path | None:
    """The folder of LINKWISE_CACHE ("off" or "0": none), otherwise the platform's cache folder."""
    chosen = os.environ.get("LINKWISE_CACHE", "")
    if chosen.lower() in ("off", "0"):
        return None
    try:
        if chosen:
            return Path(chosen).expanduser()
        if sys.platform == "win32":
            return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "linkwise" / "Cache"
        if sys.platform == "darwin":
            return Path.home() / "Library" / "Caches" / "linkwise"
        base = Path(os.environ.get("XDG_CACHE_HOME", ""))
        return (base if base.is_absolute() else Path.home() / ".cache") / "linkwise"
    except RuntimeError:  # this user has no home
        return None


def key(*parts: str) -> str:
    """A hash of all parts with their lengths, so that ("ab", "c") and ("a", "bc") differ."""
    digest = sha256()
    for part in parts:
        text = part.encode()
        digest.update(b"%d:%b" % (len(text), text))
    return digest.hexdigest()


def load(key: str) -> Entry | None:
    """Metadata and code of a key, or None if there is no valid file."""
    directory = folder()
    if directory is None:
        return None
    path, wrong = directory / f"{key}.kernel", directory
    try:
        cache_file.refuse_foreign(directory.lstat(), stat.S_ISDIR)
        wrong = path
        entry = cache_file.unpack(key, cache_file.read(path))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as reason:
        _warn(wrong, f"ignored: {reason}")
        return None
    with contextlib.suppress(OSError):  # the file was removed meanwhile, or the disk is read-only
        os.utime(path)  # time of last use
    return entry


def store(key: str, metadata: dict[str, str], code: bytes) -> None:
    """Store code and metadata (names without spaces, texts of one line) under a key; warn on failure."""
    directory = folder()
    if directory is None:
        return
    content = cache_file.pack(key, metadata, code)
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        cache_file.refuse_foreign(directory.lstat(), stat.S_ISDIR)
        cache_file.write(directory / f"{key}.kernel", content, directory / f"{key}.{os.urandom(8).hex()}.tmp")
    except (OSError, ValueError) as reason:
        _warn(directory, f"compiled code is not kept: {reason}")
        return
    files = _files(directory)
    if len(files) > LIMIT:
        for entry in sorted(files, key=lambda entry: _use_and_size(entry)[0])[:-LIMIT]:
            _remove(entry)


def clear() -> int:
    """Remove the files of the cache; returns their number."""
    directory = folder()
    return sum(_remove(entry) for entry in _files(directory)) if directory else 0


def size() -> tuple[int, int]:
    """The number of files, and their size in bytes."""
    directory = folder()
    files = _files(directory) if directory else []
    return len(files), sum(_use_and_size(entry)[1] for entry in files)


def _files(directory: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(directory) as entries:
            return [
                entry for entry in entries if re.fullmatch(OURS, entry.name) and entry.is_file(follow_symlinks=False)
            ]
    except OSError:
        return []


def _use_and_size(entry: os.DirEntry[str]) -> tuple[int, int]:
    """Time of last use and bytes; zeros for a file that another process has removed meanwhile."""
    try:
        status = entry.stat(follow_symlinks=False)
    except OSError:
        return 0, 0
    return status.st_mtime_ns, status.st_size


def _remove(entry: os.DirEntry[str]) -> bool:
    try:
        os.unlink(entry)
    except OSError:
        return False
    return True


def _warn(path: Path, what: str) -> None:
    if path not in _warned:
        _warned.add(path)
        warnings.warn(printable(f"{path}: {what}"), CacheWarning, stacklevel=3)
