"""LLVM, which compiles the texts of all targets, its environment, and the loading of code by way of the cache.

LLVM is slow to load, so it is loaded only to compile a text.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ..errors import CompileError
from . import cache
from .lock import LOCK
from .sources import AT_IMPORT

if TYPE_CHECKING:
    from .target import CodeTarget, Loaded

OPTIMIZATION = 2  # level of instruction selection and scheduling; it changes the speed, never a result


@lru_cache(maxsize=1)
def binding() -> Any:
    """LLVM's Python binding, initialized for this machine; ImportError if it is not installed."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm


@lru_cache(maxsize=1)
def llvm_version() -> str:
    """The version of the binding, read without loading LLVM; ImportError if it is not installed."""
    import llvmlite

    return str(llvmlite.__version__)


def parse_module(text: str) -> Any:
    """Parse and verify an assembly text."""
    try:
        module = binding().parse_assembly(text)
        module.verify()
    except RuntimeError as error:
        raise CompileError(f"LLVM refused the assembly: {error}") from error
    return module


def foreign_target(triple: str) -> Any:
    """LLVM's target for another machine."""
    binding().initialize_all_targets()
    binding().initialize_all_asmprinters()
    return binding().Target.from_triple(triple)


@lru_cache(maxsize=1)
def system() -> tuple[str, ...]:
    """The operating system and, last, the machine type."""
    if hasattr(os, "uname"):
        names = os.uname()
        return names.sysname, names.release, names.version, names.machine
    import platform  # slow, since it runs other programs

    return platform.platform(), platform.machine()


@lru_cache(maxsize=1)
def environment() -> tuple[str, ...]:
    """Versions, the machine and the source files of Linkwise, for cache keys."""
    from numpy import __version__ as numpy_version

    from .object_layout import object_layout

    python = (sys.version, getattr(sys, "abiflags", ""), str(sys.maxsize), repr(object_layout()))
    return (llvm_version(), numpy_version, *python, *system(), repr(AT_IMPORT))


def load_or_compile(name: str, text: str, target: CodeTarget[Loaded]) -> Loaded:
    """The code of a text, from the cache or compiled and stored. `name` is the kind of text."""
    key = cache.key(name, text, repr(target), *environment())
    return load_or_compile_as(key, cache.load(key), target, lambda: text)


def load_or_compile_as(
    key: str,
    cached: cache.Entry | None,
    target: CodeTarget[Loaded],
    text: Callable[[], str],
    metadata: Callable[[], dict[str, str]] = dict,
) -> Loaded:
    """The same for a key that is known without the text. `cached` is its cache entry."""
    with LOCK:
        if cached is not None:
            code = target.load(binary=cached[1])
            code.metadata, code.from_cache = cached[0], True
            return code
        code = target.load(text=text())
        code.metadata = metadata()
        cache.store(key, code.metadata, code.binary)
        return code
