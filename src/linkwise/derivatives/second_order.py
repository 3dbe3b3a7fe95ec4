"""Second derivatives of forward dynamics in machine code: kernels of first and second derivatives, then products.

First derivatives, then the values of the second derivatives of inverse dynamics (`packed`), then
`codegen.llvm.solves`; for a block of states at a time, so that intermediates stay in the cache.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..api.functions import forward_dynamics
from ..graph import Count
from ..kernels.interface import Argument, Interface
from ..kernels.kernel import Kernel
from ..kernels.lock import LOCK
from ..kernels.target import this_machine
from ..robot import Robot
from ..robot.fingerprint import NoFingerprintError
from .derived import Packed
from .graph_derivatives import derivative

BLOCK = 16  # states
BALL = ((0, 1, 2), (1, 2, 0), (2, 0, 1))


class SecondOrder(Kernel):
    """∂²q̈/∂q², ∂²q̈/∂q∂q̇, ∂²q̈/∂q̇² and ∂²q̈/∂q∂τ, compiled for a robot; called as every kernel is.

    `count` are the operations of the compiled functions that it begins with, without the products that follow.
    """

    def __init__(self, robot: Robot, packed: Packed, dtype: str) -> None:
        started, n = time.perf_counter(), robot.n
        self.robot, self.packed = robot, packed
        slopes = derivative(forward_dynamics, robot, ("q", "qd", "tau"), mode="closed-form", value=True)
        with LOCK:
            target = this_machine()
            self.slopes, self.seconds = slopes.compiled(dtype), packed.compiled(dtype)
            count = self.seconds.interface.outputs[0].size
            code = target.solves(lambda: packed.places, n, count, packed_identity(packed), dtype)
        counts = [kernel.count for kernel in (self.slopes, self.seconds)]
        self.count = Count(*(sum(each) for each in zip(*map(fields, counts), strict=True)))
        inputs = self.slopes.interface.inputs
        outputs = tuple(Argument(f"forward_dynamics_second_derivatives_{k}", (n,) * 3) for k in range(4))
        interface = Interface(inputs, outputs, dtype, self.count.total + 4 * n**4)
        matrices = tuple(Argument(name, (n, n)) for name in ("inverse", "by_q", "by_qd"))
        solve_interface = Interface((*matrices, *self.seconds.interface.outputs), outputs, dtype, 0)
        self._solve = target.call(code, solve_interface)
        super().__init__("forward_dynamics_second_derivatives", code, interface, explain_non_finite)
        self._part = self._run_states
        self.compile_seconds = time.perf_counter() - started

    def entry(self, fallback: Any) -> Any:
        return fallback  # several kernels have no fast path

    def _run_states(self, begin: int, end: int, arrays: Sequence[np.ndarray]) -> int:
        sizes = [argument.size for argument in (*self.interface.inputs, *self.interface.outputs)]
        shapes = [argument.shape for argument in (*self.slopes.interface.outputs, *self.seconds.interface.outputs)]
        intermediates = [np.empty((BLOCK, *shape), self.interface.dtype) for shape in shapes]
        qdd, by_q, by_qd, inverse, values = intermediates
        rows = [array.reshape((-1, size)) for array, size in zip(arrays, sizes, strict=True)]
        non_finite = 0
        for k in range(begin, end, BLOCK):
            count = min(BLOCK, end - k)
            q, qd, tau, q_q, q_qd, qd_qd, q_tau = (row[k : k + count] for row in rows)
            non_finite += self.slopes._part(0, count, [q, qd, tau, *intermediates[:-1]])
            self.seconds._part(0, count, [q, qd, qdd, values])
            self._solve(0, count, [inverse, by_q, by_qd, values, q_tau, q_q, q_qd, qd_qd])
            add_commutators(self.robot, q_q.reshape((count, *(self.robot.n,) * 3)), by_q[:count])
        return non_finite


def packed_identity(packed: Packed) -> str | None:
    """The cache key of the places of the values, if it is known without them."""
    try:
        return packed.identity and repr((packed.identity, packed.robot.fingerprint))
    except NoFingerprintError:
        return None


def fields(count: Count) -> tuple[int, ...]:
    return tuple(vars(count).values())


def explain_non_finite(kernel: Any, rows: Sequence[np.ndarray], results: Sequence[np.ndarray]) -> None:
    """Let forward dynamics raise its error for a finite state without a finite result."""
    forward_dynamics(kernel.robot, *rows)


def add_commutators(robot: Robot, q_q: np.ndarray, by_q: np.ndarray) -> None:
    """Add the commutators of the axes of ball joints: ∂²/∂q_j∂q_i - ∂²/∂q_i∂q_j = ∂/∂q_k.

    The products give half the sum of both orders.
    """
    for first in balls(robot):
        for i, j, k in BALL:
            half = 0.5 * by_q[..., first + k]
            q_q[..., first + i, first + j] -= half
            q_q[..., first + j, first + i] += half


def balls(robot: Robot) -> list[int]:
    """The index of the first velocity of each ball joint."""
    return [axes[0].v for axes in robot.axes if len(axes) > 1]
