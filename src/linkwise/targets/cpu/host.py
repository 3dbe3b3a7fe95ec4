"""The target "cpu": this machine's processor.

Loading LLVM is slow. So its description of this processor is cached, and cached code is loaded without LLVM (see
`image`).
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph import Program
from ...kernels import cache, llvm
from ...kernels.dispatch import MAX_STRAIGHT_LINKS
from ...kernels.entry import Entry, has_entry
from ...kernels.interface import REALS, Interface, Links
from ...kernels.llvm import binding, environment, load_or_compile, load_or_compile_as, parse_module, system
from ...kernels.lock import LOCK
from ...kernels.target import BatchFunction, CodeTarget
from . import image

if TYPE_CHECKING:
    from ...codegen.llvm.flow import Layout
    from ...codegen.llvm.loops import LoopText
    from ...codegen.llvm.rollout import Rollout
    from ...codegen.llvm.solves import Row
    from ...kernels.kernel import Compiled
    from ...ode.events import Crossing
    from ...ode.interface import Integrator, Solver
    from .operator import HostOperator
    from .rollout import HostRollout

ATTRIBUTES = """
attributes #0 = { nounwind "prefer-vector-width"="512" "min-legal-vector-width"="512" }
attributes #1 = { nounwind noinline "prefer-vector-width"="512" "min-legal-vector-width"="512" }
"""  # 64-byte vectors also on processors where LLVM prefers 32
IDENTITY = "/sys/devices/system/cpu/modalias"  # Linux: maker, family and model of the processor, and all its features
ANYWHERE, ONE_IMAGE = "jitdefault", "small"  # LLVM's code models, which bound the distance of code and data
OPTIMIZATION_OF_LONG_TEXTS = 1  # compiles faster, to straight-line code of the same speed
LONG_TEXT = 1_000_000  # characters


@dataclass(frozen=True)
class HostTarget(CodeTarget["MachineCode"]):
    """The processor of this machine. Its fields are part of cache keys."""

    kind = "cpu"
    entered_from_python = True
    has_threads = True
    python_takes_over = True
    rounds_beyond = MAX_STRAIGHT_LINKS

    name: str
    features: str
    vector_bytes: int  # of its widest vectors
    fused: bool  # whether it multiplies and adds in one operation

    def text(self, program: Program | LoopText, interface: Interface) -> str:
        """LLVM assembly: blocks of one state and of one vector of states, the batch loop, the Python entry.

        Very long programs have only the second kind of block, also for one state.
        """
        if not isinstance(program, Program):
            return program.text(self.layouts(interface.dtype))
        from ...codegen.llvm.program import is_long, llvm_text, work_vectors  # code from the cache needs none of this
        from .batch import Batch

        layouts = self.layouts(interface.dtype)[-1 if is_long(program) else 0 :]
        blocks, vectors = llvm_text(program, layouts), work_vectors(program)
        sizes = [argument.size for argument in (*interface.inputs, *interface.outputs)]
        lanes, real = self.lanes(interface.dtype), REALS[interface.dtype]
        batch = Batch(sizes, len(interface.inputs), real, lanes, vectors)
        texts = [blocks, batch.text()]
        if has_entry(interface):
            inputs, outputs = ([argument.shape for argument in part] for part in (interface.inputs, interface.outputs))
            block_bytes = vectors * np.dtype(interface.dtype).itemsize if len(layouts) > 1 else None
            entry = Entry(inputs, outputs, interface.dtype, interface.at_once, block_bytes, batch.work_bytes)
            texts.append(entry.text())
        return "\n".join(texts)

    def load(self, text: str = "", binary: bytes = b"") -> MachineCode:
        """Compile a text, or load the binary that was compiled from it."""
        return MachineCode(self, text, binary)

    def solves(
        self, places: Callable[[], Sequence[np.ndarray]], n: int, count: int, identity: str | None, dtype: str
    ) -> MachineCode:
        """The code of `codegen.llvm.solves`, for `count` values at these places in the derivatives of torques.

        The places are the structural nonzeros of ∂²τ/∂q², ∂²τ/∂q∂q̇, ∂²τ/∂q̇² and ∂I/∂q, which `identity` determines.
        """

        def text() -> str:
            from ...codegen.llvm.solves import Solves  # code from the cache needs none of this

            return Solves(n, count, rows_of(places()), self.layouts(dtype)[-1]).text()

        if identity is None:
            return load_or_compile("solves", text(), self)
        key = cache.key("solves", identity, dtype, repr(self), *environment())
        return load_or_compile_as(key, cache.load(key), self, text)

    def call(self, code: MachineCode, interface: Interface, links: Links | None = None) -> BatchFunction:
        """The function that computes a range of states of a batch, on contiguous arrays."""
        pointers = [ctypes.c_void_p] * (1 + len(interface.inputs) + len(interface.outputs))
        loops = [ctypes.c_int64, *[ctypes.c_void_p] * (len(links.arguments) - 1)] if links else []
        prototype = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64, *loops, *pointers)
        batch = prototype(code.address("batch"))
        looped = links.vectors * self.lanes(interface.dtype) * links.table.itemsize if links else 0
        memory = WorkMemory(looped if links else work_bytes(code))

        def run(begin: int, end: int, arrays: Sequence[np.ndarray]) -> int:
            addresses = [address(array) for array in arrays]
            with memory.address() as work:
                return int(batch(begin, end, *(links.arguments if links else ()), work, *addresses))

        return run

    def operator_body(self, kernel: Compiled, library: Callable[[str], int]) -> HostOperator | None:
        from .operator import host_operator

        return host_operator(kernel, library)

    def solver(self, program: Program, integrator: Integrator, crossings: tuple[Crossing, ...]) -> Solver:
        from .solver import CompiledDriver

        if integrator.method is None:
            return super().solver(program, integrator, crossings)
        return CompiledDriver(program, integrator.method, crossings)

    def rollout(self, rollout: Rollout, dtype: str) -> HostRollout:
        from .rollout import HostRollout

        return HostRollout(rollout, dtype)

    def lanes(self, dtype: str) -> int:
        return self.vector_bytes // (8 if dtype == "float64" else 4)

    def layouts(self, dtype: str) -> list[Layout]:
        """Layouts of one state and of one vector of states."""
        from ...codegen.llvm.flow import Layout

        return [Layout(REALS[dtype], width, self.fused) for width in sorted({1, self.lanes(dtype)})]


class MachineCode:
    """Machine code in memory while this object lives."""

    metadata: dict[str, str]  # what the cache keeps with it; see `load_or_compile_as`
    from_cache = False

    def __init__(self, target: HostTarget, text: str = "", binary: bytes = b"") -> None:
        """From assembly text, or from its binary: an image if possible, otherwise object code."""
        with LOCK:
            self.target, self.metadata = target, {}
            self.binary = binary or compile_binary(target, text)
            is_image = self.binary.startswith(image.MAGIC)
            self._loaded = image.Loaded(self.binary) if is_image else Engine(target, self.binary)

    def address(self, name: str) -> int:
        """Address of a function or variable; 0 if there is none."""
        return self._loaded.address(name)


class WorkMemory:
    """Work memory of machine code, with separate memory for concurrent calls."""

    def __init__(self, size: int) -> None:
        """`size` in bytes."""
        self.size = size
        self._spare: list[np.ndarray] = []  # reused, since new memory must be mapped and cleared

    @contextmanager
    def address(self) -> Iterator[int]:
        """Borrow memory; its address, or 0 if the size is 0."""
        if not self.size:
            yield 0
            return
        try:
            work = self._spare.pop()
        except IndexError:
            work = np.empty(self.size + 64, np.uint8)
        yield work.ctypes.data + -work.ctypes.data % 64
        self._spare.append(work)


def work_bytes(code: MachineCode) -> int:
    """Size of the work memory of straight-line code; see `batch`."""
    return int(ctypes.c_int64.from_address(code.address("work_bytes")).value)


def address(array: np.ndarray) -> int:
    """Address of a contiguous array's numbers, in a third of the time of `array.ctypes.data`."""
    try:
        return ctypes.addressof(ctypes.c_char.from_buffer(array))  # type: ignore[arg-type]
    except (TypeError, ValueError):  # read-only, empty or not contiguous
        return int(array.ctypes.data)


def rows_of(places: Sequence[np.ndarray]) -> list[list[Row]]:
    """For each joint, the rows of its products with structural nonzeros, at least one."""
    from ...codegen.llvm.solves import Row  # code from the cache needs none of this

    q_q, q_qd, qd_qd, inertia = places
    joints = []
    for j in range(len(inertia)):
        rows = [
            Row(
                m,
                sparse_entries(inertia[m, :, j]),
                [[], *(sparse_entries(tensor[m, j]) for tensor in (q_q, q_qd, qd_qd))],
            )
            for m in range(len(inertia))
        ]
        joints.append([row for row in rows if row.slopes or any(row.seconds)] or rows[j : j + 1])
    return joints


def sparse_entries(places: np.ndarray) -> list[tuple[int, int]]:
    """The column and the number of each value."""
    return [(k, number) for k, number in enumerate(places.tolist()) if number >= 0]


# the processor


@lru_cache(maxsize=1)
def host_target() -> HostTarget:
    """The processor of this machine."""
    target = read_cached_host()
    if target is None:
        target, key = detect_host(), host_key()
        if key is not None:
            cache.store(key, {name: str(value) for name, value in asdict(target).items()}, b"")
    return target


def read_cached_host() -> HostTarget | None:
    key = host_key()
    cached = cache.load(key) if key is not None else None
    if cached is None:
        return None
    fields = cached[0]
    return HostTarget(fields["name"], fields["features"], int(fields["vector_bytes"]), fields["fused"] == "True")


def host_key() -> str | None:
    """The cache key of LLVM's description of this processor; None if the system does not identify processors."""
    try:
        with open(IDENTITY, "rb") as file:
            identity = file.read().decode(errors="replace")
    except OSError:  # another platform
        return None
    return cache.key("processor", identity, *environment())


def detect_host() -> HostTarget:
    """The processor as LLVM describes it."""
    with LOCK:
        try:
            features = binding().get_host_cpu_features()
        except RuntimeError:  # LLVM cannot tell on some platforms
            features = {}
        name = binding().get_host_cpu_name()
    has = {feature for feature, present in features.items() if present}
    flat = features.flatten() if features else ""
    width = 64 if "avx512f" in has else 32 if "avx" in has else 16
    return HostTarget(name, flat, width, "fma" in has or system()[-1].lower() in ("arm64", "aarch64"))


def compile_binary(target: HostTarget, text: str) -> bytes:
    """Compile to an image if possible, otherwise to object code that LLVM loads."""
    if image.supported():
        from . import elf  # code from the cache needs none of this

        try:
            return elf.image_of(object_code(target, text, ONE_IMAGE))
        except elf.NoImageError:  # it refers to symbols outside
            pass
    return object_code(target, text, ANYWHERE)


def object_code(target: HostTarget, text: str, model: str) -> bytes:
    module = parse_module(text + ATTRIBUTES if text else "")
    level = min(llvm.OPTIMIZATION, OPTIMIZATION_OF_LONG_TEXTS) if len(text) > LONG_TEXT else llvm.OPTIMIZATION
    return bytes(target_machine(target, model, level).emit_object(module))


def target_machine(target: HostTarget, model: str, level: int) -> Any:
    return (
        binding()
        .Target.from_default_triple()
        .create_target_machine(cpu=target.name, features=target.features, opt=level, reloc="pic", codemodel=model)
    )


class Engine:
    """Object code loaded by LLVM."""

    def __init__(self, target: HostTarget, binary: bytes) -> None:
        library = binding()
        self._engine = library.create_mcjit_compiler(
            library.parse_assembly(""), target_machine(target, ANYWHERE, llvm.OPTIMIZATION)
        )
        self._engine.add_object_file(library.ObjectFileRef.from_data(binary))
        self._engine.finalize_object()

    def address(self, name: str) -> int:
        return int(self._engine.get_function_address(name) or self._engine.get_global_value_address(name))
