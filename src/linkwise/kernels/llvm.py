"""LLVM, which compiles the texts of all targets, and what else compiled code depends on.

LLVM takes longer to load than a kernel takes to run for a second: nothing here loads it before a text is compiled.
"""

from __future__ import annotations

import os
import sys
from functools import lru_cache
from typing import Any

from ..errors import CompileError
from .sources import AT_IMPORT

OPTIMIZATION = 2  # level at which LLVM selects and schedules instructions; it changes the time, never a result


@lru_cache(maxsize=1)
def binding() -> Any:
    """LLVM's Python binding, ready to compile for this machine; ImportError if it is not installed."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm


@lru_cache(maxsize=1)
def llvm_version() -> str:
    """Of the binding, hence of LLVM, which is not loaded for this; ImportError if it is not installed."""
    import llvmlite

    return str(llvmlite.__version__)


def parse_module(text: str) -> Any:
    """LLVM's module of a text."""
    try:
        module = binding().parse_assembly(text)
        module.verify()
    except RuntimeError as error:
        raise CompileError(f"LLVM refused the text: {error}") from error
    return module


def foreign_target(triple: str) -> Any:
    """LLVM's target for other machines than this one."""
    binding().initialize_all_targets()
    binding().initialize_all_asmprinters()
    return binding().Target.from_triple(triple)


@lru_cache(maxsize=1)
def system() -> tuple[str, ...]:
    """The operating system and, last, the kind of machine."""
    if hasattr(os, "uname"):
        names = os.uname()
        return names.sysname, names.release, names.version, names.machine
    import platform  # slow: it runs other programs

    return platform.platform(), platform.machine()


@lru_cache(maxsize=1)
def environment() -> tuple[str, ...]:
    """What else compiled code depends on: versions, the machine, and the files of Linkwise itself."""
    from numpy import __version__ as numpy_version

    from .object_layout import object_layout

    python = (sys.version, getattr(sys, "abiflags", ""), str(sys.maxsize), repr(object_layout()))
    return (llvm_version(), numpy_version, *python, *system(), repr(AT_IMPORT))
