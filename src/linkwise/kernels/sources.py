"""The files that Linkwise itself is made of: compiled code depends on them as well."""

from __future__ import annotations

import os


def sources(place: str) -> list[tuple[str, int, int, int]]:
    """All files of Python text in a folder and below: name, bytes, when written, when last changed in any way."""
    found, folders = [], [place]
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in entries:
                if entry.name.endswith(".py"):
                    status = entry.stat()
                    found.append((entry.path[len(place) :], status.st_size, status.st_mtime_ns, status.st_ctime_ns))
                elif entry.name != "__pycache__" and entry.is_dir():
                    folders.append(entry.path)
    return sorted(found)


# Looked at when Linkwise is imported: files that are edited later are not those that this process runs.
AT_IMPORT = sources(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
