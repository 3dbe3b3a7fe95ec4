"""The source files of Linkwise, on which compiled code depends, and the qualified names of its public functions."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from types import MethodType
from typing import Any


def sources(folder: str) -> list[tuple[str, int, int, int]]:
    """All Python files in a folder and below: name, size, time of content change, time of status change."""
    files, folders = [], [folder]
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in entries:
                if entry.name.endswith(".py"):
                    status = entry.stat()
                    files.append((entry.path[len(folder) :], status.st_size, status.st_mtime_ns, status.st_ctime_ns))
                elif entry.name != "__pycache__" and entry.is_dir():
                    folders.append(entry.path)
    return sorted(files)


# Listed at import, since files edited later are not what this process runs.
AT_IMPORT = sources(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


PUBLIC = tuple(f"linkwise.{room}." for room in ("api", "derivatives", "regressors"))


def qualified_name(function: Callable[..., Any]) -> str | None:
    """The qualified name of a public function of Linkwise; None for other functions, even of the same name."""
    module_name = getattr(function, "__module__", None) or ""
    if not module_name.startswith(PUBLIC):
        return None
    module, owner, name = sys.modules[module_name], getattr(function, "__self__", None), function.__name__
    if owner is None:
        return f"{module_name}.{name}" if getattr(module, name, None) is function else None
    for key, value in vars(module).items():
        if value is owner and getattr(type(owner), name, None) is getattr(function, "__func__", None):
            return f"{module_name}.{key}.{name}"
    return None


def plain_of(function: Callable[..., Any]) -> Callable[..., Any]:
    """The computation of a public function of Linkwise, without dispatch; any other function itself."""
    plain = getattr(function, "plain", None)
    if plain is None or qualified_name(function) is None:
        return function
    owner = getattr(function, "__self__", None)
    return plain if owner is None else MethodType(plain, owner)
