"""This machine's processor, and LLVM, which turns assembly into code for it.

LLVM takes longer to load than a kernel takes to run for a second, so it is asked only where nobody else knows: what it
said of this processor is kept in the cache, and code that it made earlier is loaded without it (see `image`).
"""

from __future__ import annotations

import os
import sys
from functools import lru_cache
from typing import Any, NamedTuple

from . import cache, image
from .lock import LOCK
from .sources import AT_IMPORT

ATTRIBUTES = """
attributes #0 = { nounwind "prefer-vector-width"="512" "min-legal-vector-width"="512" }
attributes #1 = { nounwind noinline "prefer-vector-width"="512" "min-legal-vector-width"="512" }
"""  # vectors of 64 bytes stay whole on processors that LLVM thinks are happier with 32
IDENTITY = "/sys/devices/system/cpu/modalias"  # Linux: maker, family and model of the processor, and all its features
ANYWHERE, ONE_IMAGE = "jitdefault", "small"  # how far apart LLVM has to expect code and data


class CompileError(RuntimeError):
    """LLVM did not take a text: a fault of ours."""


class Processor(NamedTuple):
    """What code is made for."""

    name: str
    features: str
    vector_bytes: int  # of its widest vectors
    fused: bool  # whether it multiplies and adds in one operation

    def lanes(self, dtype: str) -> int:
        return self.vector_bytes // (8 if dtype == "float64" else 4)


@lru_cache(maxsize=1)
def llvm() -> Any:
    """LLVM's Python binding, ready to make code for this machine; ImportError if it is not installed."""
    import llvmlite.binding as binding

    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    return binding


@lru_cache(maxsize=1)
def llvm_version() -> str:
    """Of the binding, hence of LLVM, which is not loaded for this; ImportError if it is not installed."""
    import llvmlite

    return str(llvmlite.__version__)


@lru_cache(maxsize=1)
def processor() -> Processor:
    """The processor that this runs on."""
    found = kept_processor()
    if found is None:
        found, key = detected(), processor_key()
        if key is not None:
            cache.store(key, found._asdict(), b"")
    return found


def known_processor() -> Processor | None:
    """The processor, if LLVM need not be loaded to find out."""
    return processor() if processor.cache_info().currsize else kept_processor()


def kept_processor() -> Processor | None:
    key = processor_key()
    kept = cache.load(key) if key is not None else None
    return None if kept is None else Processor(**kept[0])


def processor_key() -> str | None:
    """Under which the cache keeps what LLVM said of this processor; None where only LLVM can tell processors apart."""
    try:
        with open(IDENTITY, "rb") as file:
            identity = file.read().decode(errors="replace")
    except OSError:  # another platform
        return None
    return cache.key("processor", identity, *surroundings())


def detected() -> Processor:
    """The processor that LLVM finds."""
    with LOCK:
        try:
            features = llvm().get_host_cpu_features()
        except RuntimeError:  # LLVM cannot tell on some platforms
            features = {}
        name = llvm().get_host_cpu_name()
    has = {feature for feature, there in features.items() if there}
    flat = features.flatten() if features else ""
    width = 64 if "avx512f" in has else 32 if "avx" in has else 16
    return Processor(name, flat, width, "fma" in has or system()[-1].lower() in ("arm64", "aarch64"))


@lru_cache(maxsize=1)
def system() -> tuple[str, ...]:
    """The operating system and, last, the kind of machine."""
    if hasattr(os, "uname"):
        said = os.uname()
        return said.sysname, said.release, said.version, said.machine
    import platform  # slow, since it looks everywhere

    return platform.platform(), platform.machine()


@lru_cache(maxsize=1)
def surroundings() -> tuple[str, ...]:
    """What else compiled code depends on: versions, the machine, and the files of Linkwise itself."""
    from numpy import __version__ as numpy_version

    from .object_layout import object_layout

    python = (sys.version, getattr(sys, "abiflags", ""), str(sys.maxsize), repr(object_layout()))
    return (llvm_version(), numpy_version, *python, *system(), repr(AT_IMPORT))


class Code:
    """Machine code in memory, for as long as this object lives."""

    def __init__(self, target: Processor, *, text: str = "", made: bytes = b"") -> None:
        """From assembly text, or from what was `made` of it earlier: an image, or where there is none, object code."""
        with LOCK:
            self.made = made or compiled(target, text)
            self._loaded = image.Loaded(self.made) if self.made.startswith(image.MAGIC) else Engine(target, self.made)

    def function(self, name: str) -> int:
        """The address of a function; 0 if there is none."""
        return self._loaded.address(name)

    def variable(self, name: str) -> int:
        return self._loaded.address(name)


def compiled(target: Processor, text: str) -> bytes:
    """An image of the code where that is possible, otherwise object code for LLVM to load."""
    if image.supported():
        from . import elf  # what was made earlier needs none of this

        try:
            return elf.image_of(object_code(target, text, ONE_IMAGE))
        except elf.NoImageError:  # it needs something from outside
            pass
    return object_code(target, text, ANYWHERE)


def object_code(target: Processor, text: str, model: str) -> bytes:
    try:
        module = llvm().parse_assembly(text + ATTRIBUTES if text else "")
        module.verify()
    except RuntimeError as error:
        raise CompileError(f"LLVM did not take the text: {error}") from error
    return bytes(target_machine(target, model).emit_object(module))


def target_machine(target: Processor, model: str) -> Any:
    return (
        llvm()
        .Target.from_default_triple()
        .create_target_machine(cpu=target.name, features=target.features, opt=2, reloc="pic", codemodel=model)
    )


class Engine:
    """Object code, loaded by LLVM."""

    def __init__(self, target: Processor, made: bytes) -> None:
        binding = llvm()
        self._engine = binding.create_mcjit_compiler(binding.parse_assembly(""), target_machine(target, ANYWHERE))
        self._engine.add_object_file(binding.ObjectFileRef.from_data(made))
        self._engine.finalize_object()

    def address(self, name: str) -> int:
        return int(self._engine.get_function_address(name) or self._engine.get_global_value_address(name))
