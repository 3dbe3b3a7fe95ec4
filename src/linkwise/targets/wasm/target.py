"""The target "wasm": LLVM assembly for `wasm32`, a module, and its calls by wasmtime."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph import Program
from ...kernels import llvm
from ...kernels.interface import REALS, Interface, Links
from ...kernels.llvm import foreign_target, parse_module
from ...kernels.lock import LOCK
from ...kernels.target import BatchFunction, CodeTarget
from .module import module_of

if TYPE_CHECKING:
    from ...codegen.llvm.loops import LoopText
    from ...kernels.spec import KernelSpec
    from ...robot import Robot

TRIPLE = "wasm32-unknown-unknown"
EXPORTED = ("run", "work_bytes", "advance")


@dataclass(frozen=True)
class WasmTarget(CodeTarget["WasmCode"]):
    """WebAssembly 1.0, without vectors, threads and imports."""

    kind = "wasm"

    def text(self, program: Program | LoopText, interface: Interface) -> str:
        """LLVM assembly of the exported functions."""
        from .frame import loops_text, straight_text

        real = REALS[interface.dtype]
        return straight_text(program, real) if isinstance(program, Program) else loops_text(program, real)

    def load(self, text: str = "", binary: bytes = b"") -> WasmCode:
        """Compile a text to a module, or wrap a module from the cache."""
        return WasmCode(self, binary or module_of(object_of(text), EXPORTED))

    def module(self, spec: KernelSpec) -> bytes:
        from .files import robot_module

        return robot_module(spec)

    def universal_module(self, function: Any, arrays: Any, dtype: str, keywords: Any) -> bytes:
        from .files import universal_module

        return universal_module(function, arrays, dtype, keywords)

    def interface_of(self, module: bytes) -> dict[str, Any]:
        from .module import interface_of

        return interface_of(module)

    def robot_as_data(self, robot: Robot, dtype: str) -> bytes:
        from .files import record_of_robot

        return record_of_robot(robot, dtype)

    def check_run(self, threads: int | None = None, stream: Any = None) -> None:
        raise ValueError(
            "target is 'wasm' (expected 'cpu' or 'cuda'; lw.wasm(lw.simulate, ...) gives a simulation as a module)"
        )

    def call(self, code: WasmCode, interface: Interface, links: Links | None = None) -> BatchFunction:
        """A function that copies arrays into the module's memory, runs it, and copies the results back."""
        from .files import record_of_links
        from .runtime import Instances

        instances = Instances(code.binary, b"" if links is None else record_of_links(links, interface.dtype))
        inputs = len(interface.inputs)
        sizes = [argument.size for argument in (*interface.inputs, *interface.outputs)]

        def run(begin: int, end: int, arrays: Sequence[np.ndarray]) -> int:
            row_sizes = sizes
            if links is not None:  # `Links.rows` may have widened q
                count = max(arrays[-1].size // sizes[-1], 1)
                row_sizes = [array.size // count for array in arrays]
            rows = [array.reshape(-1)[s * begin : s * end] for array, s in zip(arrays, row_sizes, strict=True)]
            with instances.borrow() as instance:
                return instance.run(end - begin, rows[:inputs], rows[inputs:], row_sizes)

        return run


class WasmCode:
    """A WebAssembly module."""

    metadata: dict[str, str]
    from_cache = False

    def __init__(self, target: WasmTarget, binary: bytes) -> None:
        self.target, self.binary, self.metadata = target, binary, {}


def object_of(text: str) -> bytes:
    """Compile a text to an object file."""
    with LOCK:
        machine = foreign_target(TRIPLE).create_target_machine(
            opt=llvm.OPTIMIZATION, reloc="static", codemodel="default"
        )
        return bytes(machine.emit_object(parse_module(text)))
