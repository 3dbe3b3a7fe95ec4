"""LLVM, which compiles the texts of all targets, and the environment that compiled code depends on.

LLVM is slow to load, so it is loaded only to compile a text.
"""

from __future__ import annotations

import os
import sys
from functools import lru_cache
from typing import Any

from ..errors import CompileError
from .sources import AT_IMPORT

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
        raise CompileError(f"LLVM refused the text: {error}") from error
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
