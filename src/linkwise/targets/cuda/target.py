"""The target "cuda": LLVM assembly for `nvptx64`, PTX, and its launches."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...errors import CompileError, one_of
from ...graph import Program
from ...kernels.interface import REALS, Interface, Links
from ...kernels.llvm import foreign_target, parse_module
from ...kernels.lock import LOCK
from ...kernels.target import CodeTarget, Explain
from .driver import Module, device

if TYPE_CHECKING:
    from ...codegen.llvm.loops import LoopText
    from ...codegen.llvm.rollout import Rollout
    from ...kernels.arrays import Arrays
    from ...kernels.kernel import Compiled
    from ...kernels.rounds import RoundSpec
    from ...kernels.spec import KernelSpec
    from ...ode.events import Crossing
    from ...ode.interface import Integrator
    from .kernel import CudaKernel
    from .operator import CudaOperator
    from .rounds import CudaRounds
    from .trajectories import CudaDriver, CudaRollout

Launch = Callable[[int, int, Sequence[int], int], None]  # ordinal of the device, states, addresses, stream
TRIPLE = "nvptx64-nvidia-cuda"
ARCHITECTURES = ("sm_80", "sm_86", "sm_89", "sm_90")  # the first is as fast as the others, and runs on them
LONG = 12  # links: beyond, rounds replace straight-line code
MAX_OPERATIONS = 30_000  # longer straight-line code takes minutes to compile and spills most registers


@dataclass(frozen=True)
class CudaTarget(CodeTarget["CudaCode"]):
    """NVIDIA GPUs of compute capability 8.0 and higher. Fields after the first serve measurements."""

    kind = "cuda"
    has_streams = True
    chunk = 16_384
    rounds_beyond = LONG
    max_operations = MAX_OPERATIONS

    architecture: str = ARCHITECTURES[0]
    threads: int = 64  # in a block; fewer where their rows do not fit in shared memory
    blocks: int | None = None  # to fit on a multiprocessor at a time; 0: any; None: chosen by the kind of program
    staged: bool | None = None  # whether rows go through shared memory; None: long ones
    fast: bool | None = None  # whether usual states have a fast path; None: where it gains

    def __post_init__(self) -> None:
        one_of(self.architecture, ARCHITECTURES, "architecture")

    def text(self, program: Program | LoopText, interface: Interface) -> str:
        """LLVM assembly of a kernel: one state per thread, or several in turn for loops."""
        from .text.kernel import Shape, cuda_text, shape_of

        real = REALS[interface.dtype]
        if not isinstance(program, Program):
            from .text.loops import cuda_loops_text

            return cuda_loops_text(program, real, Shape(self.threads, self.blocks or 0))
        if interface.operations > MAX_OPERATIONS:
            raise ValueError(
                f"the program has {interface.operations:,} operations (target 'cuda' takes straight-line code of at"
                f" most {MAX_OPERATIONS:,}; expected a robot of fewer joints, lw.compile of a function that has a form"
                " with loops, or target 'cpu')"
            )
        return cuda_text(program, real, shape_of(program, real, self.threads, self.staged, self.blocks, self.fast))

    def source(self, spec: KernelSpec) -> str:
        return self.load(spec.text).ptx

    def kernel(self, spec: KernelSpec, explain: Explain | None = None) -> CudaKernel:
        from .kernel import CudaKernel

        return CudaKernel(spec, explain)

    def solver(self, program: Program, integrator: Integrator, crossings: tuple[Crossing, ...]) -> CudaDriver:
        from .trajectories import CudaDriver

        if integrator.method is None:
            raise ValueError(
                f"integrator {integrator.name!r} has no form for target 'cuda' (expected another, or target 'cpu')"
            )
        return CudaDriver(program, integrator.method, crossings)

    def rollout(self, rollout: Rollout, dtype: str) -> CudaRollout:
        from .trajectories import CudaRollout

        return CudaRollout(rollout, dtype)

    def arrays(self, q0: Any, dtype: str | None, stream: Any) -> Arrays:
        from .rollout_arrays import gpu_arrays

        return gpu_arrays(q0, dtype, stream)

    def check_there(self) -> None:
        device(0)

    def loop_vectors(self, loops: LoopText, links: int, levels: int) -> int:
        return loops.stored_vectors(links, levels)

    def rounds(self, spec: RoundSpec) -> CudaRounds:
        from .rounds import CudaRounds

        return CudaRounds(spec)

    def load(self, text: str = "", binary: bytes = b"") -> CudaCode:
        """Compile a text to PTX, or wrap PTX from the cache. A GPU loads it at the first launch."""
        return CudaCode(self, binary or ptx_of(text, self.architecture).encode())

    def operator_body(self, kernel: Compiled, library: Callable[[str], int]) -> CudaOperator | None:
        from .operator import STREAM, CudaOperator

        stream = library(STREAM)
        return CudaOperator(kernel.code, stream) if stream and kernel.links is None else None  # type: ignore[arg-type]

    def call(self, code: CudaCode, interface: Interface, links: Links | None = None) -> Launch:
        """A function that launches the kernel on arrays given by their GPU addresses."""
        if links is not None:
            from .loops import loop_launcher

            return loop_launcher(self, code, interface, links)
        pointers = len(interface.inputs) + len(interface.outputs)
        threads = code.threads

        def launch(ordinal: int, count: int, addresses: Sequence[int], stream: int) -> None:
            values: list[Any] = [ctypes.c_int64(count), *map(ctypes.c_uint64, addresses)]
            places = (ctypes.c_void_p * (pointers + 1))(*map(ctypes.addressof, values))
            code.module(ordinal).launch(-(-count // threads), threads, places, stream)

        return launch


class CudaCode:
    """PTX, and the modules that GPUs loaded from it."""

    metadata: dict[str, str]
    from_cache = False

    def __init__(self, target: CudaTarget, ptx: bytes) -> None:
        self.target, self.binary, self.metadata = target, ptx, {}
        self._modules: dict[int, Module] = {}

    @property
    def ptx(self) -> str:
        return self.binary.decode()

    @property
    def threads(self) -> int:
        """How many threads a block of the kernel has."""
        match = re.search(r"\.maxntid\s+(\d+)", self.ptx)
        if match is None:
            raise CompileError("the PTX does not say how many threads a block has")
        return int(match[1])

    def module(self, ordinal: int) -> Module:
        """The kernel on a GPU, loaded at the first use."""
        if ordinal not in self._modules:
            with LOCK:
                self._modules.setdefault(ordinal, Module(device(ordinal), self.binary, "kernel"))
        return self._modules[ordinal]


def ptx_of(text: str, architecture: str) -> str:
    """Compile a text to PTX for GPUs of this architecture and newer ones."""
    with LOCK:
        machine = foreign_target(TRIPLE).create_target_machine(cpu=architecture, opt=3)
        return str(machine.emit_assembly(parse_module(text)))
