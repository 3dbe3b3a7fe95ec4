"""The interface of targets, and the list of targets by the name for `target=`.

A function of a robot or its motion becomes a program, and a target computes programs. Other packages use the interface
`Target` and never ask which target it is. `CodeTarget` is a target that compiles texts. The text of the nodes is the
same for all of them (`codegen.llvm.program`); a target adds the frame around it, which reads and writes rows of numbers
and is the entry of the code.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cache, partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar

import numpy as np

from ..errors import one_of
from ..graph import Program, count
from .interface import Interface, Links, arguments

if TYPE_CHECKING:
    from ..codegen.llvm.loops import LoopText
    from ..codegen.llvm.rollout import Rollout
    from ..ode.events import Crossing
    from ..ode.interface import Integrator, Solver
    from ..ode.rollout import RolloutCode
    from ..robot import Robot
    from .arrays import Arrays
    from .kernel import Compiled
    from .rounds import RoundCode, RoundSpec
    from .spec import KernelSpec

BatchFunction = Callable[[int, int, Sequence[np.ndarray]], int]  # from state, to state, arrays -> non-finite results
Explain = Callable[..., None]  # may raise an error for states whose results are not finite


class Target(ABC):
    """A machine that computes programs on arrays."""

    kind: ClassVar[str]  # its name in `TARGETS`
    has_loops: ClassVar[bool] = False  # whether it takes programs of loops
    rounds_beyond: ClassVar[int | None] = None  # the most links for which rounds are straight-line code
    has_threads: ClassVar[bool] = False  # whether a run takes `threads`
    has_streams: ClassVar[bool] = False  # whether a run takes `stream`
    max_operations: ClassVar[int | None] = None  # of straight-line code, where there is a limit
    chunk: ClassVar[int] = 256  # trajectories in a chunk of a sweep
    python_takes_over: ClassVar[bool] = False  # whether NumPy drives simulations that have no compiled form

    @abstractmethod
    def function(self, program: Program, name: str) -> Callable[..., Any]:
        """The program as a function of its inputs, in order: arrays of float64, of one state or of any batch."""

    def kernel(self, spec: KernelSpec, explain: Explain | None = None) -> Any:
        """The result of `lw.compile`. By default it calls `function` on checked arrays."""
        from .kernel import full_rows, in_order

        if spec.dtype != "float64":
            raise ValueError(f"dtype is {spec.dtype!r}, and target is {self.kind!r} (expected dtype='float64')")
        inputs, function = arguments(spec.program.inputs), self.function(spec.program, spec.name)

        def kernel(*arrays: Any, **named: Any) -> Any:
            _, rows = full_rows(inputs, in_order(spec.name, inputs, arrays, named), spec.dtype)
            return function(*rows)

        return kernel

    def module(self, spec: KernelSpec) -> bytes:
        """The result of `lw.wasm`: a file of the kernel that describes itself."""
        raise ValueError(f"target {self.kind!r} has no modules")

    def universal_module(self, function: Any, arrays: Any, dtype: str, keywords: Any) -> bytes:
        """A module for any robot: of a function of such arrays, with their shapes for each link."""
        raise ValueError(f"target {self.kind!r} has no modules")

    def interface_of(self, module: bytes) -> dict[str, Any]:
        """The description in a module."""
        raise ValueError(f"target {self.kind!r} has no modules")

    def robot_as_data(self, robot: Robot, dtype: str) -> bytes:
        """The numbers of a robot for modules of any robot."""
        raise ValueError(f"target {self.kind!r} has no modules")

    def solver(self, program: Program, integrator: Integrator, crossings: tuple[Crossing, ...]) -> Solver:
        """A solver for a program of t, y and parameters with the results y' and, if there are events, their values."""
        return integrator.program_solver(program, self.function, crossings)

    def rollout(self, rollout: Rollout, dtype: str) -> RolloutCode:
        """A compiled rollout."""
        raise ValueError(f"target {self.kind!r} has no rollouts")

    def arrays(self, q0: Any, dtype: str | None, stream: Any) -> Arrays:
        """The kind of arrays of a rollout, from q0."""
        from .arrays import host_arrays

        return host_arrays(q0, dtype)

    def check_run(self, threads: int | None = None, stream: Any = None) -> None:
        """Raise a ValueError if it cannot run simulations and rollouts with these options."""
        if threads is not None and not self.has_threads:
            raise ValueError(f"threads is given, and target is {self.kind!r} (expected target='cpu')")
        if stream is not None and not self.has_streams:
            raise ValueError(f"stream is given, and target is {self.kind!r} (expected target='cuda')")

    def check_there(self) -> None:
        """Raise an error if the machine is not available now."""
        self.check_run()


class OperatorBody(Protocol):
    """The part of an operator of torch that runs a kernel; see `bridges.operator_text`."""

    def text(self, arrays: int) -> str:
        """LLVM assembly of i32 @run(i64 count, i32 device, ptr arrays) over this many addresses; 0: it ran.

        Behind the addresses is room for one more word.
        """

    def prepare(self, ordinal: int) -> None:
        """Load what a call on the device of this number needs."""


def pointer_text(address: int) -> str:
    """A constant address in LLVM assembly."""
    return f"inttoptr (i64 {address} to ptr)"


class Code(Protocol):
    """Loaded code. The cache keeps `binary` and `metadata`."""

    binary: bytes
    metadata: dict[str, str]
    from_cache: bool

    @property
    def target(self) -> Any:
        """The target that loaded it."""


Loaded = TypeVar("Loaded", bound=Code)


class CodeTarget(Target, Generic[Loaded]):
    """A machine for which texts are compiled: a frozen dataclass whose `repr` is part of cache keys."""

    has_loops = True
    entered_from_python: ClassVar[bool] = False  # whether its code has the entry of `kernels.entry`

    @abstractmethod
    def text(self, program: Program | LoopText, interface: Interface) -> str:
        """The program in the language of the target."""

    @abstractmethod
    def load(self, text: str = "", binary: bytes = b"") -> Loaded:
        """Load code from a text, or from the binary that was compiled from it before."""

    @abstractmethod
    def call(self, code: Loaded, interface: Interface, links: Links | None = None) -> Callable[..., Any]:
        """The function that computes states; a `BatchFunction` if arrays are in the host's memory."""

    def function(self, program: Program, name: str) -> Callable[..., Any]:
        from .kernel import Kernel
        from .llvm import load_or_compile

        inputs, outputs = arguments(program.inputs), arguments(program.outputs)
        interface = Interface(inputs, outputs, "float64", count(program).total)
        return Kernel(name, load_or_compile(name, self.text(program, interface), self), interface)

    def kernel(self, spec: KernelSpec, explain: Explain | None = None) -> Compiled:
        from .kernel import Compiled

        return Compiled(spec, explain)

    def operator_body(self, kernel: Compiled, library: Callable[[str], int]) -> OperatorBody | None:
        """The machine code that runs a kernel for torch; None if Python has to. `library` finds LibTorch's functions.

        `library(name)` is an address, 0 without such a function.
        """
        return None

    def loop_vectors(self, loops: LoopText, links: int, levels: int) -> int:
        """The number of vectors that loops store at a time, for so many links in so many levels."""
        return loops.vectors(links, levels)

    def source(self, spec: KernelSpec) -> str:
        """The program in the language of the machine's compiler: PTX for GPUs, the result of `lw.ptx_source`."""
        raise ValueError(f"target {self.kind!r} has no source")

    def solves(self, places: Any, n: int, count: int, identity: str | None, dtype: str) -> Loaded:
        """The code of `codegen.llvm.solves` for `count` values at such places; `identity` determines the places."""
        raise NotImplementedError

    def rounds(self, spec: RoundSpec) -> RoundCode:
        """The code of a function in rounds."""
        from .rounds import HostRounds

        return HostRounds(spec)


@cache
def import_name(module: str, name: str) -> Callable[..., Any]:
    return getattr(import_module(f"linkwise.targets.{module}"), name)  # type: ignore[no-any-return]


def make_target(module: str, maker: str, **options: Any) -> Any:
    """Make a target; its module is imported at the first use."""
    return import_name(module, maker)(**options)


CPU = "cpu.host", "host_target"
TARGETS: dict[str, Callable[..., Target]] = {
    "cpu": partial(make_target, *CPU),
    "cuda": partial(make_target, "cuda.target", "CudaTarget"),
    "wasm": partial(make_target, "wasm.target", "WasmTarget"),
}


def target_by_name(name: str, **options: Any) -> Target:
    """The target with a name of `TARGETS`."""
    one_of(name, TARGETS, "target")
    return TARGETS[name](**options)


def this_machine() -> CodeTarget[Any]:
    """The default target: the CPU."""
    target: CodeTarget[Any] = make_target(*CPU)
    return target
