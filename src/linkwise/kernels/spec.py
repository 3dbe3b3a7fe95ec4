"""Specs of kernels: straight-line code specialized to a robot, or loops over its links."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import graph
from ..graph import Count, Program
from ..lazy import cached_property
from ..robot import Robot, WrenchFrames
from ..robot.coordinates import QUATERNION
from ..robot.fingerprint import NoFingerprintError
from ..tracing import Input, trace
from ..tracing.tracing import ONE_NUMBER, Inputs, Prepared, declared_inputs, function_name, prefer_fewest
from . import cache
from .dispatch import MAX_AT_ONCE, MAX_STRAIGHT_LINKS, MAX_STRAIGHT_OPERATIONS, MAX_WITHOUT_LOOPS, SHARE_OF_LOOPS
from .interface import Argument, Interface, Links, arguments
from .llvm import environment, load_or_compile_as
from .sources import plain_of, qualified_name
from .target import Code, CodeTarget, Target, this_machine

if TYPE_CHECKING:
    from ..codegen.llvm.loops import LoopText
    from ..tracing.loop_tracing import Rolled

PLAIN = (str, int, float, bool, type(None), Input, Inputs, WrenchFrames)  # options determined by their `repr`
FORMS = ("auto", "straight", "loops", "rounds")
ROUNDS = "parallel"  # the method of rounds


class KernelSpec:
    """A function, a robot and options, to be compiled as straight-line code."""

    straight = True  # whether it is one program, which can be written in other languages

    def __init__(
        self,
        function: Callable[..., Any],
        robot: Robot,
        dtype: str,
        keywords: dict[str, Any],
        passes: tuple[str, ...] = (),
        target: Target | None = None,  # default: this machine
        loops: LoopSpec | None = None,  # the form with loops, if there is one
    ) -> None:
        self.function, self.robot, self.dtype, self.loops = function, robot, dtype, loops
        self.keywords, self.passes, self._target = keywords, passes, target

    @cached_property
    def target(self) -> CodeTarget[Any]:
        """The target, which must take texts."""
        target = this_machine() if self._target is None else self._target
        assert isinstance(target, CodeTarget)
        return target

    @property
    def name(self) -> str:
        return function_name(self.function)

    @cached_property
    def program(self) -> Program:
        with prefer_fewest():  # for public functions that a user's function calls without a method
            return trace(plain_of(self.function), self.robot, passes=self.passes, **self.keywords)

    @cached_property
    def count(self) -> Count:
        return graph.count(self.program)

    @cached_property
    def interface(self) -> Interface:
        inputs, outputs = arguments(self.program.inputs), arguments(self.program.outputs)
        return Interface(inputs, outputs, self.dtype, self.count.total)

    @cached_property
    def text(self) -> str:
        """LLVM assembly."""
        return self.target.text(self.program, self.interface)

    @property
    def links(self) -> Links | None:
        """Arguments of loops besides the arrays."""
        return None

    @cached_property
    def key(self) -> str:
        """The cache key of the compiled code, known without tracing for functions of Linkwise itself."""
        return cache.key(self.identity or self.text, repr(self.target), self.dtype, *environment())

    @cached_property
    def cached(self) -> cache.Entry | None:
        """The cache entry of the key, read once."""
        return cache.load(self.key)

    def load(self, metadata: Callable[[], dict[str, str]]) -> Code:
        """The code, from the cache or compiled and stored with `metadata`."""
        code: Code = load_or_compile_as(self.key, self.cached, self.target, lambda: self.text, metadata)
        return code

    @cached_property
    def identity(self) -> str | None:
        """All data that the text depends on, if known without tracing."""
        prepared = self.function if isinstance(self.function, Prepared) else None
        name = prepared.identity if prepared else qualified_name(self.function)
        if name is None or self.robot.non_floats or not all(map(is_plain, self.keywords.values())):
            return None  # for symbols, the order of operands depends on their creation
        try:
            robot = self.robot.fingerprint
        except NoFingerprintError:  # for example, a user's joint class
            return None
        keywords = self.keywords if prepared else without_defaults(self.function, self.keywords)
        return repr((name, sorted(keywords.items()), self.passes, robot))


def is_plain(option: Any) -> bool:
    """Whether an option is determined by its `repr`."""
    return all(map(is_plain, option)) if type(option) is tuple else type(option) in PLAIN


class LoopSpec(KernelSpec):
    """A function, a robot and options, to be compiled as loops over the links."""

    straight = False

    @cached_property
    def rolled(self) -> Rolled:
        arrays = {
            name: () if shape is None else shape[1:] for name, shape in inputs_of(self.function, self.keywords).items()
        }
        if "q" in arrays and needs_link_rows(self.robot):
            arrays["q"] = (QUATERNION,)
        options = {name: value for name, value in self.keywords.items() if name not in arrays}
        from ..tracing.loop_tracing import trace_rolled

        return trace_rolled(plain_of(self.function), self.robot, arrays, **options)

    @cached_property
    def loop_text(self) -> LoopText:
        from ..codegen.llvm.loops import LoopText

        return LoopText(self.rolled.program, self.rolled.chain)

    @cached_property
    def count(self) -> Count:
        from ..graph.loops import count_loops

        return count_loops(self.rolled.program, self.rolled.kinds)

    @cached_property
    def interface(self) -> Interface:
        n, program = self.robot.n, self.rolled.program
        bodies, nq = len(self.robot.names), self.robot.nq
        shapes = {port.name: (bodies if port.shape else n, *port.shape) for port in program.inputs} | {"q": (nq,)}
        inputs = tuple(Argument(port.name, shapes[port.name]) for port in program.inputs)
        outputs = tuple(Argument(function_name(self.function), (n, *port.shape)) for port in program.outputs)
        return Interface(inputs, outputs, self.dtype, self.count.total)

    @cached_property
    def text(self) -> str:
        return self.target.text(self.loop_text, self.interface)

    @property
    def links(self) -> Links:
        table = np.ascontiguousarray(self.rolled.table, dtype=self.dtype)
        vectors = self.target.loop_vectors(self.loop_text, self.robot.n, int(self.rolled.tree[0, 0]))
        return Links(table, self.rolled.tree, vectors, LinkRows(self.robot) if needs_link_rows(self.robot) else None)

    @cached_property
    def identity(self) -> None:
        return None  # the text does not depend on the number of links: one cached code serves many robots


def spec_for(
    function: Callable[..., Any],
    robot: Robot,
    dtype: str,
    keywords: dict[str, Any],
    loop_method: str | None = None,
    form: str = "auto",
    passes: tuple[str, ...] = (),
    target: Target | None = None,
) -> KernelSpec:
    """The spec of a kernel: straight-line code, or loops or rounds if that would be too long.

    `loop_method` is the method of the form with loops; None if there is no such form.
    """
    beyond = None if target is None else target.rounds_beyond
    long = keywords.get("method") == ROUNDS and beyond is not None and robot.n > beyond
    if form == "rounds" or (form == "auto" and long):
        from .rounds import rounds_for

        return rounds_for(function, robot, dtype, keywords, passes, target)
    straight = straight_spec(function, robot, dtype, keywords, loop_method, passes, target)
    if straight.loops is None or form == "straight" or (form == "auto" and not too_long(straight)):
        return straight
    return straight.loops


def straight_spec(
    function: Callable[..., Any],
    robot: Robot,
    dtype: str,
    keywords: dict[str, Any],
    loop_method: str | None,
    passes: tuple[str, ...] = (),
    target: Target | None = None,
) -> KernelSpec:
    """The spec of straight-line code, with its form with loops if there is one."""
    loops = None
    if loop_method is not None:
        shapes = inputs_of(function, keywords).values()
        per_link = not robot.couplings and all(
            shape is None or (len(shape) == 2 and shape[0] == len(robot.names)) for shape in shapes
        )
        uniform = getattr(keywords.get("friction"), "uniform", True)  # the loops' table has no numbers of friction laws
        has_loops = target is None or target.has_loops
        can_loop = has_loops and per_link and uniform and not passes and robot.n > 0 and not robot.non_floats
        if can_loop and not constant_arrays(keywords):
            loops = LoopSpec(function, robot, dtype, {**keywords, "method": loop_method}, target=target)
    return KernelSpec(function, robot, dtype, keywords, passes, target, loops)


def constant_arrays(keywords: Mapping[str, Any]) -> list[str]:
    """The keywords that are constant arrays, or wrenches by frame, which loops and rounds cannot take."""
    others = {name: value for name, value in keywords.items() if not isinstance(value, (str, Input))}
    return [name for name, x in others.items() if isinstance(x, (Mapping, WrenchFrames)) or np.ndim(x) > 0]


def needs_link_rows(robot: Robot) -> bool:
    """Whether a link has not exactly one number of q."""
    return any(link.joint.width != 1 or link.virtual for link in robot.links)


class LinkRows:
    """Arrays of a robot with joints of several degrees of freedom, as loops over its links read them.

    q has four numbers for each link: the coordinates of its joint, then repetitions of the first one. Wrenches and
    points have rows for all links, with zeros for links without a body. A quaternion that cannot be normalized becomes
    NaN.
    """

    def __init__(self, robot: Robot) -> None:
        self.bodies, self.count = [joint.link for joint in robot.moving], robot.n
        self.quaternions = list(robot.quaternions)
        self.positions = np.zeros((robot.n, QUATERNION), dtype=np.intp)
        for row, slot, link in zip(self.positions, robot.slots, robot.links, strict=True):
            if link.joint.width:
                row[:] = slot.q
                row[: link.joint.width] += np.arange(link.joint.width)

    def rearrange(self, argument: Argument, array: np.ndarray) -> np.ndarray:
        if argument.name == "q":
            return np.take(self._mark_zero_quaternions(array), self.positions, axis=-1)
        if len(argument.shape) == 1:
            return array
        rows = np.zeros((*array.shape[:-2], self.count, array.shape[-1]), array.dtype)
        rows[..., self.bodies, :] = array
        return rows

    def _mark_zero_quaternions(self, q: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            for start in self.quaternions:
                square = (q[..., start : start + QUATERNION] ** 2).sum(axis=-1)
                bad = ~(np.isfinite(square) & np.isfinite(1.0 / square))
                if bad.any():
                    q = q.copy()
                    q[bad, start] = np.nan
        return q


def too_long(spec: KernelSpec) -> bool:
    """Whether straight-line code would be too long, cached or not."""
    if isinstance(spec, LoopSpec):
        return False
    if spec.robot.n > MAX_STRAIGHT_LINKS and not isinstance(spec.function, Prepared):
        return True
    if spec.target.max_operations is not None and operations(spec) > spec.target.max_operations:
        return True
    if isinstance(spec.function, Prepared):
        return operations(spec) > spec.function.max_operations
    if spec.loops is None:
        return operations(spec) > MAX_WITHOUT_LOOPS
    length = operations(spec)
    if length <= MAX_AT_ONCE:
        return False
    return length > MAX_STRAIGHT_OPERATIONS or length > SHARE_OF_LOOPS * spec.loops.count.total


def operations(spec: KernelSpec) -> int:
    """Operations for one state, read from the cache if possible."""
    cached = spec.cached if spec.identity else None
    return (spec.count if cached is None else read_count(cached[0])).total


def is_long(spec: KernelSpec) -> bool:
    """Whether it is straight-line code of more than MAX_AT_ONCE operations without a form with loops."""
    return spec.straight and spec.loops is None and operations(spec) > MAX_AT_ONCE


def read_count(data: dict[str, str]) -> Count:
    return Count(*map(int, data["count"].split()))


def without_defaults(function: Callable[..., Any], keywords: dict[str, Any]) -> dict[str, Any]:
    """The keywords that differ from the function's defaults."""
    defaults = {p.name: p.default for p in inspect.signature(function).parameters.values()}
    return {k: x for k, x in keywords.items() if not (type(x) is type(defaults.get(k)) and x == defaults.get(k))}


def inputs_of(function: Callable[..., Any], keywords: dict[str, Any]) -> dict[str, tuple[int, ...] | None]:
    """The array parameters of a function: None for one number per joint, otherwise the shape of the `Input`."""
    parameters = list(inspect.signature(function).parameters.values())[1:]
    optional = getattr(function, "traced_inputs", ())
    needed = [
        p.name for p in parameters if p.name in optional or (p.default is p.empty and p.kind is not p.VAR_KEYWORD)
    ]
    shapes: dict[str, tuple[int, ...] | None] = {name: () if name in ONE_NUMBER else None for name in needed}
    return {**shapes, **{name: value.shape for name, value in declared_inputs(keywords).items()}}
