"""Rollouts on a GPU: a trajectory for each thread, which keeps its state in registers."""

from __future__ import annotations

from collections.abc import Sequence

from ....codegen.llvm.block import Layout, assembled
from ....codegen.llvm.program import fused_products
from ....codegen.llvm.rollout import NO_UNROLLING, Rollout, RolloutWriter
from ....graph.order import fewest_live
from .kernel import HEAD, METADATA, REGISTERS, Shape, attributes, cuda_functions
from .nodes import ThreadNodes
from .rows import GLOBAL


class ThreadRollout(RolloutWriter):
    """The text of one thread. Parameters are read where they are needed: the cache has them."""

    space = GLOBAL
    marked = True  # unrolled stages take longer: their code does not fit in the cache of instructions
    lazy = True

    def rates(self, t: str, z: Sequence[str], held: dict[tuple[str, int], str]) -> list[str]:
        program = self.rollout.program
        (results,) = program.results
        wanted = [node.index for node in results]
        order = fewest_live(program, fused_products(program.nodes, set(wanted)))
        nodes = ThreadNodes(self.flow, order, wanted, self.given(t, z, dict(held)))
        nodes.written()
        return [nodes.result(node) for node in results]


def cuda_rollout_text(rollout: Rollout, real: str, shape: Shape) -> str:
    """The whole module."""
    layout = Layout(real, 1, True)
    writer = ThreadRollout(rollout, layout)
    flow = writer.flow
    thread, block, size = (
        flow.emit(f"zext i32 {flow.emit(f'call i32 @llvm.nvvm.read.ptx.sreg.{name}.x()')} to i64")
        for name in ("tid", "ctaid", "ntid")
    )
    own = flow.emit(f"add i64 {flow.emit(f'mul i64 {block}, {size}')}, {thread}")
    flow.branch(flow.emit(f"icmp ult i64 {own}, %count"), "inside", "done")
    flow.enter("inside")
    writer.lanes.append(own)
    writer.trajectories()
    flow.go("done")
    flow.enter("done")
    head = f"define ptx_kernel void @kernel(i64 %count, {rollout.arguments(real, GLOBAL)}) #2 {{"
    text = "\n".join([*sorted(flow.declared), head, *flow.lines, "  ret void", "}"])
    functions = cuda_functions({node.op for node in rollout.program.nodes}, layout)
    return HEAD + assembled(*functions, REGISTERS, text) + attributes(shape) + METADATA + NO_UNROLLING
