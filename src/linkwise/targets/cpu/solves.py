"""The machine code of `codegen.llvm.solves`, for a sparsity pattern of second derivatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...kernels import cache
from ...kernels.llvm import environment
from ...kernels.loader import load_or_compile, load_or_compile_as
from .host import HostTarget, MachineCode

if TYPE_CHECKING:
    from ...codegen.llvm.solves import Row


def solves_code(
    places: Callable[[], Sequence[np.ndarray]], n: int, count: int, identity: str | None, dtype: str, target: HostTarget
) -> MachineCode:
    """Code for `count` values at the nonzeros of ∂²τ/∂q², ∂²τ/∂q∂q̇, ∂²τ/∂q̇² and ∂I/∂q, which `identity` determines."""

    def text() -> str:
        from ...codegen.llvm.solves import Solves  # code from the cache needs none of this

        return Solves(n, count, rows_of(places()), target.layouts(dtype)[-1]).text()

    if identity is None:
        return load_or_compile("solves", text(), target)
    key = cache.key("solves", identity, dtype, repr(target), *environment())
    return load_or_compile_as(key, cache.load(key), target, text)


def rows_of(places: Sequence[np.ndarray]) -> list[list[Row]]:
    """For each joint, the rows of its products with structural nonzeros, at least one."""
    from ...codegen.llvm.solves import Row

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
