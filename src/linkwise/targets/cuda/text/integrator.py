"""The driver of trajectories on a GPU: each thread calls the function for one lane, `advance_1` of `integrator`.

    void @kernel(i64 count, and the arguments of advance_1 but its memory)

`count` threads take trajectories from the queue until none waits. Each has memory of its own, which the GPU's cache
holds; there is one text, so that the bits are those of the CPU.
"""

from __future__ import annotations

from collections.abc import Iterable

from ....codegen.llvm.block import Layout, assembled
from ....codegen.llvm.flow import Flow
from ....codegen.llvm.functions import functions_text
from ....codegen.llvm.integrator import HEAD as ADVANCE
from ....graph import Node
from .kernel import HEAD, METADATA, REGISTERS, Shape, attributes

LAYOUT = Layout("double", 1, True)


def cuda_driver_text(nodes: Iterable[Node], advance: str, vectors: int, shape: Shape) -> str:
    """The whole module, around the text of `advance_1`, which needs so many numbers of memory."""
    flow = Flow(LAYOUT)
    arguments = ADVANCE.split("(", 1)[1].rstrip(")").split(", ")
    thread, block, size = (
        flow.emit(f"zext i32 {flow.emit(f'call i32 @llvm.nvvm.read.ptx.sreg.{name}.x()')} to i64")
        for name in ("tid", "ctaid", "ntid")
    )
    own = flow.emit(f"add i64 {flow.emit(f'mul i64 {block}, {size}')}, {thread}")
    memory = flow.slot("double", vectors)
    with flow.when(flow.emit(f"icmp ult i64 {own}, %count")):
        with flow.counted(vectors) as k:
            flow.store(LAYOUT.constant(0.0), memory, k)
        passed = ", ".join(f"ptr {memory}" if argument == "ptr %context" else argument for argument in arguments)
        flow.lines.append(f"  call void @advance_1({passed})")
    given = ", ".join(argument for argument in arguments if argument != "ptr %context")
    start, *body = flow.lines
    head = f"define ptx_kernel void @kernel(i64 %count, {given}) #2 {{"
    text = "\n".join([head, start, *flow.slots, *body, "  ret void", "}"])
    inside = advance.replace("define void @advance_1(", "define internal void @advance_1(")
    module = assembled(*functions_text(nodes, [LAYOUT]), REGISTERS, inside, text)
    return HEAD + module + attributes(shape) + METADATA
