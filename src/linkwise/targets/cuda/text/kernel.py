"""A program as a CUDA kernel, in LLVM assembly.

    void @kernel(i64 count, ptr input, ..., ptr output, ...)

Each thread computes one state with the operations of `program`, and so with the same bits. `rows` loads and stores its
rows, `nodes` emits its nodes. A state with a non-finite input gives NaN throughout. No output may share memory with an
input.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from ....codegen.llvm.elementary import FUNCTIONS, elementary_function
from ....codegen.llvm.flow import Flow, Layout, assemble
from ....codegen.llvm.program import fused_products, lengths
from ....codegen.llvm.sine import large_angle
from ....graph import Node, Program
from ....graph.order import fewest_live, peak_live
from .nodes import INFINITE, FastNodes, ThreadNodes, upper_half
from .rows import GLOBAL, SHARED_BYTES, WARP, DirectRows, StagedRows, tile_numbers

HEAD = """target triple = "nvptx64-nvidia-cuda"
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
"""
REGISTERS = "\n".join(f"declare i32 @llvm.nvvm.read.ptx.sreg.{name}.x()" for name in ("tid", "ctaid", "ntid"))
METADATA = """
!0 = !{!"branch_weights", i32 1, i32 100000}
!1 = !{}
"""
# The rules below follow measurements of `benchmarks/gpu.py --parts variants`.
LIGHT, HEAVY = 20, 36  # nodes per number read or written: bounds of light and heavy programs
DIRECT_IF_LIGHT, DIRECT, DIRECT_IF_HEAVY = 5, 8, 12  # numbers in a row: longer rows are staged
FAST_NODES = 2_600  # for longer programs a second path costs more than it gains
FAST_LIVE, FAST_LIVE_IF_HEAVY = 110, 120  # likewise for more live values
SLIM_LIVE = range(73, 95)  # live values of heavy programs that gain by 72 registers, with which 14 blocks of 64 fit
SLIM_THREADS = 14 * 64


@dataclass(frozen=True)
class Shape:
    """The launch of a kernel, and how its threads access rows."""

    threads: int  # in a block
    blocks: int  # to fit on a multiprocessor at a time; 0: no bound
    staged: bool = False
    fast: bool = False  # with a fast path for usual states


def shape_of(
    program: Program,
    real: str,
    threads: int = 64,
    staged: bool | None = None,
    blocks: int | None = None,
    fast: bool | None = None,
) -> Shape:
    """The shape for a program: long rows are staged if shared memory has room for them.

    Fast paths gain for floats, whose arithmetic is cheaper than the tests for unusual states, and for light programs.
    """
    align = 8 if real == "double" else 4
    fitting = SHARED_BYTES // max(1, tile_numbers(program, 16 // align) * align)
    sizes = [port.size for port in (*program.inputs, *program.outputs)]
    light, heavy = (len(program.nodes) < LIGHT * sum(sizes), len(program.nodes) >= HEAVY * sum(sizes))
    if staged is None:
        direct = DIRECT_IF_LIGHT if light else DIRECT_IF_HEAVY if heavy else DIRECT
        staged = max(sizes, default=0) > direct and fitting > 0
    live = values_at_a_time(program) if real == "float" and len(program.nodes) <= FAST_NODES else None
    if fast is None:
        fast = (light and not staged) if live is None else live <= (FAST_LIVE_IF_HEAVY if heavy else FAST_LIVE)
    if staged:
        threads = min(threads, WARP * fitting)
    if blocks is None:
        slim = fast and heavy and not staged and live in SLIM_LIVE
        blocks = SLIM_THREADS // threads if slim else 0
    return Shape(threads, blocks, staged, fast)


def values_at_a_time(program: Program) -> int:
    live_out = [node for flat in program.results for node in flat]
    absorbed = fused_products(program.nodes, {node.index for node in live_out})
    return peak_live(fewest_live(program, absorbed), absorbed, live_out)


def cuda_text(program: Program, real: str, shape: Shape) -> str:
    """The whole module."""
    layout = Layout(real, 1, True)
    flow = Flow(layout)
    rows = (StagedRows if shape.staged else DirectRows)(flow, program, shape.threads)
    live_out = [node.index for flat in program.results for node in flat]
    order = fewest_live(program, fused_products(program.nodes, set(live_out)))
    functions = cuda_functions({node.op for node in program.nodes}, layout)
    inputs = [f"{GLOBAL} noalias readonly %in{k}" for k in range(len(program.inputs))]
    outputs = [f"{GLOBAL} noalias writeonly %out{k}" for k in range(len(program.outputs))]
    arrays = [*inputs, *outputs]
    rows.enter()
    if shape.fast:
        functions.append(full_function(program, layout, order, arrays))
        fast_results(flow, program, rows, order)
    else:
        rows.store_results(full_results(flow, program, rows, order))
    flow.go("done")
    flow.enter("done")
    head = f"define ptx_kernel void @kernel({', '.join(['i64 %count', *arrays])}) #2 {{"
    text = "\n".join([*sorted(flow.declared), head, *flow.lines, "  ret void", "}"])
    return HEAD + rows.declarations + assemble(*functions, REGISTERS, text) + attributes(shape) + METADATA


def full_function(program: Program, layout: Layout, order: Sequence[Node], arrays: Sequence[str]) -> str:
    """`void @full(i64 state, ptr input, ..., ptr output, ...)`: one state, usual or not."""
    flow = Flow(layout)
    rows = DirectRows(flow, program, 0)
    rows.state = "%state"
    rows.store_results(full_results(flow, program, rows, order))
    return flow.function(f"internal void @full({', '.join(['i64 %state', *arrays])})")


def full_results(flow: Flow, program: Program, rows: DirectRows, order: Sequence[Node]) -> list[list[str]]:
    """Emit the computation for any state; the names of the results."""
    live_out = [node for flat in program.results for node in flat]
    bad = non_finite_flag(flow, program, rows)
    compute = flow.fresh("compute")
    flow.go(compute)
    flow.enter(compute)
    nodes = ThreadNodes(flow, order, [node.index for node in live_out], rows.load)
    nodes.emit_all()
    nan = flow.layout.constant(float("nan"))
    blank: dict[str, str] = {}
    for node in live_out:
        x = nodes.result(node)
        if x not in blank:
            blank[x] = flow.select(bad, nan, x) if bad else x
    return [[blank[nodes.result(node)] for node in flat] for flat in program.results]


def fast_results(flow: Flow, program: Program, rows: DirectRows, order: Sequence[Node]) -> None:
    """Compute and store the results of usual states; unusual states are computed again by @full."""
    live_out = [node.index for flat in program.results for node in flat]
    nodes = FastNodes(flow, order, live_out, rows.load)
    nodes.emit_all()
    results = [[nodes.result(node) for node in flat] for flat in program.results]
    quaternions = {
        (port.name, start + k): rows.load(port.name, start + k)
        for port in program.inputs
        for start in port.quaternions
        for k in range(4)
    }
    unusual = nodes.unusual_flag(program.inputs, lengths(flow, program, quaternions))
    rows.store_results(results)
    if unusual:
        rows.finish()
        flow.lines.append(f"  br i1 {unusual}, label %again, label %done, !prof !0")
        flow.enter("again")
        ports = [*(f"%in{k}" for k in range(len(program.inputs))), *(f"%out{k}" for k in range(len(program.outputs)))]
        pointers = ", ".join(f"{GLOBAL} {port}" for port in ports)
        flow.lines.append(f"  call void @full(i64 {rows.state}, {pointers})")


def cuda_functions(used: Iterable[str], layout: Layout) -> list[str]:
    """The functions that the nodes call."""
    used = set(used)
    texts = [large_angle()] if used & {"sin", "cos"} else []
    return [*texts, *(elementary_function(op, layout) for op in FUNCTIONS if op in used)]


def attributes(shape: Shape) -> str:
    return f"""
attributes #1 = {{ nounwind noinline }}
attributes #2 = {{ nounwind }}
{launch_bounds(shape.threads, shape.blocks)}"""


def thread_number(flow: Flow) -> str:
    """The global number of this thread."""
    thread, block, size = (
        flow.emit(f"zext i32 {flow.emit(f'call i32 @llvm.nvvm.read.ptx.sreg.{name}.x()')} to i64")
        for name in ("tid", "ctaid", "ntid")
    )
    return flow.emit(f"add i64 {flow.emit(f'mul i64 {block}, {size}')}, {thread}")


def launch_bounds(threads: int, blocks: int = 0) -> str:
    """Threads in a block, and blocks on a multiprocessor unless 0, in a form that all versions of LLVM read."""
    bounds = {"maxntidx": threads, **({"minctasm": blocks} if blocks else {})}
    nodes = [f'!{90 + k} = !{{ptr @kernel, !"{name}", i32 {x}}}' for k, (name, x) in enumerate(bounds.items())]
    names = ", ".join(f"!{90 + k}" for k in range(len(nodes)))
    return "\n".join([f"!nvvm.annotations = !{{{names}}}", *nodes, ""])


def non_finite_flag(flow: Flow, program: Program, rows: DirectRows) -> str:
    """A flag for infinite or NaN inputs."""
    loaded = rows.tested_values()
    names = [(port.name, k) for port in program.inputs for k in range(port.size)]
    values = [*loaded, *lengths(flow, program, dict(zip(names, loaded, strict=True)))]
    if not values:
        return ""
    if flow.layout.real == "float":
        largest = reduce_pairwise(
            [flow.call("fabs", x) for x in values], partial(flow.call, "maximum")
        )  # NaN if one is
        return flow.emit(f"fcmp uge float {largest}, {flow.layout.constant(float('inf'))}")
    flow.declared.add("declare i32 @llvm.umax.i32(i32, i32)")
    exponents = [upper_half(flow, x) for x in values]  # GPUs have no maximum of doubles
    largest = reduce_pairwise(exponents, lambda a, b: flow.emit(f"call i32 @llvm.umax.i32(i32 {a}, i32 {b})"))
    return flow.emit(f"icmp uge i32 {largest}, {INFINITE}")


def reduce_pairwise(values: list[str], combine: Callable[[str, str], str]) -> str:
    """Reduce values in a balanced tree, for short dependency chains."""
    while len(values) > 1:
        pairs = [values[k : k + 2] for k in range(0, len(values), 2)]
        values = [combine(*pair) if len(pair) == 2 else pair[0] for pair in pairs]
    return values[0]
