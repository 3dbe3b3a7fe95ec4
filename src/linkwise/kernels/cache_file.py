"""A file of compiled code: its layout, and the checks before it is used.

    linkwise kernel 4                 kind and version of this layout
    sha256 of all that follows
    key                               repeated, so that a renamed file is refused
    length of the metadata in bytes
    metadata: a name and its text on every line; then the code

The code is executed, so a file is used only if its hash is right and only its user can write it. Every failed check
raises an OSError or a ValueError with the reason.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

from ..files import atomic_replace

MAGIC = b"linkwise kernel 4"


def pack(key: str, metadata: dict[str, str], code: bytes) -> bytes:
    """The content of a file."""
    text = "\n".join(f"{name} {value}" for name, value in metadata.items()).encode()
    if parse_metadata(text) != metadata:
        raise ValueError(f"metadata are {metadata!r} (expected names without spaces, and texts of one line)")
    rest = b"%b\n%d\n%b%b" % (key.encode(), len(text), text, code)
    return b"%b\n%b\n%b" % (MAGIC, sha256(rest).hexdigest().encode(), rest)


def unpack(key: str, content: bytes) -> tuple[dict[str, str], bytes]:
    """Metadata and code of a file's content; a ValueError if it is not valid for this key."""
    magic, _, signed = content.partition(b"\n")
    if magic != MAGIC:
        raise ValueError("it is of another kind or version")
    digest, _, rest = signed.partition(b"\n")
    if digest != sha256(rest).hexdigest().encode():
        raise ValueError("it is damaged")
    its_key, length, payload = rest.split(b"\n", 2)
    if its_key != key.encode():
        raise ValueError("it was made for another key")
    return parse_metadata(payload[: int(length)]), payload[int(length) :]


def parse_metadata(text: bytes) -> dict[str, str]:
    """The metadata of a text."""
    lines = [line.partition(" ") for line in text.decode().split("\n")] if text else []
    if not all(space for _, space, _ in lines):
        raise ValueError("its metadata are not a table")
    return {name: value for name, _, value in lines}


def read(path: Path) -> bytes:
    """A file's content, if only this user can write the file."""
    refuse_foreign(path.lstat(), stat.S_ISREG)  # before opening, since a pipe would block
    with open(path, "rb", opener=_private) as file:
        refuse_foreign(os.fstat(file.fileno()), stat.S_ISREG)  # the opened file, since the name may have been replaced
        return file.read()


def write(path: Path, content: bytes, temporary: Path) -> None:
    """Write a file atomically."""
    with atomic_replace(path, temporary, opener=_private) as file:
        file.write(content)


def refuse_foreign(status: os.stat_result, is_expected: Callable[[int], bool]) -> None:
    """Refuse another kind of file (also a link), another owner, or write access for others."""
    if not is_expected(status.st_mode):
        raise ValueError("it is a link" if stat.S_ISLNK(status.st_mode) else "it is of another kind")
    if sys.platform != "win32":
        if status.st_uid != os.geteuid():
            raise ValueError("it belongs to another user")
        if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise ValueError("others may write to it (expected: its owner alone, as after chmod go-w)")


def _private(name: str, flags: int) -> int:
    return os.open(name, flags | getattr(os, "O_NOFOLLOW", 0), 0o600)
