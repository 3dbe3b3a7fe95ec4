"""This machine's processor, and LLVM, which turns assembly into code for it."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

ATTRIBUTES = """
attributes #0 = { nounwind "prefer-vector-width"="512" "min-legal-vector-width"="512" }
attributes #1 = { nounwind noinline "prefer-vector-width"="512" "min-legal-vector-width"="512" }
"""  # vectors of 64 bytes stay whole on processors that LLVM thinks are happier with 32


class CompileError(RuntimeError):
    """LLVM did not take a text: a fault of ours."""


@dataclass(frozen=True)
class Processor:
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
def processor() -> Processor:
    """The processor that this runs on."""
    try:
        features = llvm().get_host_cpu_features()
    except RuntimeError:  # LLVM cannot tell on some platforms
        features = {}
    name = llvm().get_host_cpu_name()
    has = {feature for feature, there in features.items() if there}
    flat = features.flatten() if features else ""
    arm = platform.machine().lower() in ("arm64", "aarch64")
    width = 64 if "avx512f" in has else 32 if "avx" in has else 16
    return Processor(name, flat, width, arm or "fma" in has)


class Code:
    """Machine code in memory, for as long as this object lives."""

    def __init__(self, target: Processor, *, text: str = "", made: bytes = b"") -> None:
        """From assembly text, or from object code `made` of it earlier."""
        binding = llvm()
        machine = binding.Target.from_default_triple().create_target_machine(
            cpu=target.name, features=target.features, opt=2, reloc="pic", codemodel="jitdefault"
        )
        try:
            module = binding.parse_assembly(text + ATTRIBUTES if text else "")
            module.verify()
        except RuntimeError as error:
            raise CompileError(f"LLVM did not take the text: {error}") from error
        self.made = made or machine.emit_object(module)
        self._engine = binding.create_mcjit_compiler(binding.parse_assembly(""), machine)
        self._engine.add_object_file(binding.ObjectFileRef.from_data(self.made))
        self._engine.finalize_object()

    def function(self, name: str) -> int:
        """The address of a function; 0 if there is none."""
        return int(self._engine.get_function_address(name))

    def variable(self, name: str) -> int:
        return int(self._engine.get_global_value_address(name))
