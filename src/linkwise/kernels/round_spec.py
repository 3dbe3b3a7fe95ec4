"""Kernels for one state of a very long robot: parallel rounds over all links (`kernels.rounds`)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..graph import Count, count
from ..lazy import cached_property
from ..robot import Robot
from ..tracing.loop_tracing import NotRollableError
from ..tracing.round_tracing import Rounds, trace_rounds
from ..tracing.tracing import function_name
from .interface import Argument, Interface, Links
from .rounds import Codes, HostMemory, Launch, Plan
from .sources import plain_of
from .spec import ROUNDS, KernelSpec, constant_arrays, inputs_of, needs_link_rows
from .target import BatchFunction, Target


class RoundSpec(KernelSpec):
    """A function, a robot and options, to be compiled as rounds."""

    straight = False

    @cached_property
    def arrays(self) -> dict[str, tuple[int, ...]]:
        """The inputs, with their shapes for one link."""
        shapes = inputs_of(self.function, self.keywords)
        return {name: () if shape is None else shape[1:] for name, shape in shapes.items()}

    @cached_property
    def rounds(self) -> Rounds:
        options = {name: value for name, value in self.keywords.items() if name not in self.arrays}
        try:
            return trace_rounds(plain_of(self.function), self.robot, self.arrays, **options)
        except NotRollableError as error:
            raise ValueError(
                f"{function_name(self.function)} of robot {self.robot.name!r} has no form in rounds: {error}"
            ) from None

    @cached_property
    def plan(self) -> Plan:
        return Plan(self.rounds, self.robot.contraction)

    @cached_property
    def count(self) -> Count:
        """Operations of all links."""
        counts: dict[int, Count] = {}
        total = Count(0, 0, 0, 0, 0)
        for step in self.plan.steps:
            if isinstance(step, Launch):
                total += counts.setdefault(id(step.program), count(step.program)) * step.rows
        return total

    @cached_property
    def interface(self) -> Interface:
        n, result = self.robot.n, self.rounds.phases[-1][0].outputs[0].size
        inputs = tuple(Argument(name, (n, *shape)) for name, shape in self.arrays.items())
        output = Argument(function_name(self.function), (n,) if result == 1 else (n, result))
        return Interface(inputs, (output,), self.dtype, self.count.total)

    @cached_property
    def text(self) -> str:
        """The LLVM assembly of all programs, one after the other."""
        return "\n".join(self.code.codes.texts)

    @cached_property
    def identity(self) -> None:
        return None  # the texts do not depend on the number of links

    def load(self, metadata: Callable[[], dict[str, str]]) -> RoundCode:
        return self.code

    @cached_property
    def code(self) -> RoundCode:
        """The code, compiled or from the cache."""
        return self.target.rounds(self)


def rounds_for(
    function: Callable[..., Any],
    robot: Robot,
    dtype: str,
    keywords: dict[str, Any],
    passes: tuple[str, ...],
    target: Target | None,
) -> RoundSpec:
    """The spec; a ValueError where there are no rounds."""
    if target is not None and target.rounds_beyond is None:
        raise ValueError("this target takes no rounds (expected target 'cuda' or 'cpu')")
    why = refusal(function, robot, keywords, passes)
    if why:
        raise ValueError(f"{function_name(function)} of robot {robot.name!r} has no form in rounds: {why}")
    return RoundSpec(function, robot, dtype, keywords, target=target)


def refusal(function: Callable[..., Any], robot: Robot, keywords: dict[str, Any], passes: Sequence[str]) -> str:
    """Why a function has no rounds; empty if it may have them."""
    if robot.couplings:
        return f"joint {robot.links[robot.couplings[0].link].name!r} is coupled"
    method = keywords.get("method", ROUNDS)
    if method != ROUNDS:
        return f"its method is {method!r} (expected {ROUNDS!r}, which forward_dynamics has)"
    if needs_link_rows(robot):
        joint = next(joint for joint in robot.moving if joint.kind.degrees > 1)
        return f"joint {joint.joint!r} has {joint.kind.degrees} degrees of freedom"
    for name in constant_arrays(keywords):
        return f"{name} is constant (expected an input: {name}=lw.Input(...), numbers of every link)"
    if robot.non_floats or not robot.n:
        return "it has numbers that are no floats" if robot.n else "it has no joints"
    if passes:
        return "passes are for straight-line code"
    for name, shape in inputs_of(function, keywords).items():
        if shape is not None and shape[:1] != (robot.n,):
            return f"{name} has shape {shape} (expected an entry for each link, ({robot.n}, ...))"
    if not getattr(keywords.get("friction"), "uniform", True):
        return "friction has numbers for each joint"  # the tables of the kinds of links have no columns for them
    return ""


class RoundCode:
    """The loaded programs of the rounds of a robot. It is its own target."""

    entered_from_python = False
    binary = b""  # the programs are cached one by one

    def __init__(self, plan: Plan, codes: Codes) -> None:
        self.plan, self.codes = plan, codes
        self.from_cache, self.metadata = codes.from_cache, dict[str, str]()

    @property
    def target(self) -> RoundCode:
        return self

    def call(self, code: RoundCode, interface: Interface, links: Links | None = None) -> Callable[..., Any]:
        raise NotImplementedError


class HostRounds(RoundCode):
    """Rounds on the host, one state after the other: the reference for other machines."""

    def __init__(self, spec: RoundSpec) -> None:
        super().__init__(spec.plan, Codes(spec.plan, spec.target, spec.dtype))
        self.memory, self.lock = HostMemory(self.plan, self.codes), threading.Lock()

    def call(self, code: RoundCode, interface: Interface, links: Links | None = None) -> BatchFunction:
        sizes = [argument.size for argument in (*interface.inputs, *interface.outputs)]

        def run(begin: int, end: int, arrays: Sequence[np.ndarray]) -> int:
            *inputs, result = (array.reshape(-1, size) for array, size in zip(arrays, sizes, strict=True))
            non_finite = 0
            with self.lock:
                for k in range(begin, end):
                    result[k] = self.memory.run([array[k] for array in inputs]).reshape(-1)
                    finite = np.isfinite(result[k]).all() or not all(np.isfinite(array[k]).all() for array in inputs)
                    non_finite += not finite
            return non_finite

        return run
