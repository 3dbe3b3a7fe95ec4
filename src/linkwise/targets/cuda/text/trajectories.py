"""Trajectories on a GPU, one per thread: adaptive steps, and rollouts, which keep their state in registers.

    void @kernel(i64 count, and the arguments of advance_1 but its memory)

`count` threads take trajectories from the queue until it is empty, by `advance_1` of `targets.driver_text`. Each
thread has its own memory in the GPU's cache. CPU and GPU share the text and give the same bits.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ....codegen.llvm.elementary import functions_text
from ....codegen.llvm.flow import Flow, Layout, assemble
from ....codegen.llvm.program import fused_products
from ....codegen.llvm.rollout import NO_UNROLLING, Rollout, RolloutWriter
from ....graph import Node
from ...driver_text import HEAD as ADVANCE
from .kernel import HEAD, METADATA, REGISTERS, Shape, attributes, cuda_functions, fewest_live, thread_number
from .nodes import ThreadNodes
from .rows import GLOBAL

LAYOUT = Layout("double", 1, True)


def cuda_driver_text(nodes: Iterable[Node], advance: str, vectors: int, shape: Shape) -> str:
    """The module around the text of `advance_1`, which needs `vectors` numbers of memory."""
    flow = Flow(LAYOUT)
    arguments = ADVANCE.split("(", 1)[1].rstrip(")").split(", ")
    thread = thread_number(flow)
    memory = flow.slot("double", vectors)
    with flow.when(flow.emit(f"icmp ult i64 {thread}, %count")):
        with flow.counted(vectors) as k:
            flow.store(LAYOUT.constant(0.0), memory, k)
        passed = ", ".join(f"ptr {memory}" if argument == "ptr %context" else argument for argument in arguments)
        flow.lines.append(f"  call void @advance_1({passed})")
    passed_on = ", ".join(argument for argument in arguments if argument != "ptr %context")
    start, *body = flow.lines
    head = f"define ptx_kernel void @kernel(i64 %count, {passed_on}) #2 {{"
    text = "\n".join([head, start, *flow.slots, *body, "  ret void", "}"])
    inside = advance.replace("define void @advance_1(", "define internal void @advance_1(")
    module = assemble(*functions_text(nodes, [LAYOUT]), REGISTERS, inside, text)
    return HEAD + module + attributes(shape) + METADATA


class ThreadRollout(RolloutWriter):
    """Emits the rollout of one thread. Parameters are loaded at each use, from the cache."""

    space = GLOBAL
    no_unroll = True  # unrolled stages would exceed the instruction cache
    reads_late = True

    def rates(self, t: str, z: Sequence[str], held: dict[tuple[str, int], str]) -> list[str]:
        program = self.rollout.program
        (results,) = program.results
        live_out = [node.index for node in results]
        order = fewest_live(program, fused_products(program.nodes, set(live_out)))
        nodes = ThreadNodes(self.flow, order, live_out, self.input_reader(t, z, dict(held)))
        nodes.emit_all()
        return [nodes.result(node) for node in results]


def cuda_rollout_text(rollout: Rollout, real: str, shape: Shape) -> str:
    """The whole module."""
    layout = Layout(real, 1, True)
    writer = ThreadRollout(rollout, layout)
    flow = writer.flow
    thread = thread_number(flow)
    flow.branch(flow.emit(f"icmp ult i64 {thread}, %count"), "inside", "done")
    flow.enter("inside")
    writer.lanes.append(thread)
    writer.trajectories()
    flow.go("done")
    flow.enter("done")
    head = f"define ptx_kernel void @kernel(i64 %count, {rollout.arguments(real, GLOBAL)}) #2 {{"
    text = "\n".join([*sorted(flow.declared), head, *flow.lines, "  ret void", "}"])
    functions = cuda_functions({node.op for node in rollout.program.nodes}, layout)
    return HEAD + assemble(*functions, REGISTERS, text) + attributes(shape) + METADATA + NO_UNROLLING
