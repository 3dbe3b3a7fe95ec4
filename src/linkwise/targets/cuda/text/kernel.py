"""A program as a CUDA kernel, in LLVM assembly; small kernels with one thread per number.

    void @kernel(i64 count, ptr input, ..., ptr output, ...)

Each thread computes one state with the operations of `program`, and so with the same bits. `rows` loads and stores its
rows, `nodes` emits its nodes. A state with a non-finite input gives NaN throughout. No output may share memory with an
input.

The order of computation, chosen so that few values are live at a time.

Absorbed nodes are computed together with the nodes that use them, as a product in a fused sum.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from ....codegen.llvm.elementary import FUNCTIONS, elementary_function
from ....codegen.llvm.flow import Flow, Layout, assemble, hexadecimal
from ....codegen.llvm.program import fused_products, lengths
from ....codegen.llvm.sine import large_angle
from ....graph import Node, Program
from .nodes import INFINITE, FastNodes, ThreadNodes, upper_half
from .rows import GLOBAL, SHARED_BYTES, WARP, DirectRows, StagedRows, tile_numbers


def fewest_live(program: Program, absorbed: Collection[int]) -> list[Node]:
    """The best of five orders: the program's own, and depth first from the first or the last result.

    Depth first suits trees; long chains are best in the program's order.
    """
    results = [node for flat in program.results for node in flat]
    depth: dict[int, int] = {}
    for node in program.nodes:
        depth[node.index] = 1 + max((depth[x.index] for x in node.args), default=0)
    orders = [list(program.nodes)]
    for ends in (results, results[::-1]):
        orders += [depth_first(ends), depth_first(ends, lambda node: -depth[node.index])]
    return min(orders, key=lambda order: peak_live(order, absorbed, results))


def depth_first(results: list[Node], key: Callable[[Node], int] | None = None) -> list[Node]:
    """Each result after all that it needs; operands in their order, or sorted by a key."""
    seen: set[int] = set()
    order = []
    for result in results:
        waiting: list[tuple[Node, list[Node] | None]] = [(result, None)]
        while waiting:
            node, left = waiting.pop()
            if node.index in seen:
                continue
            if left is None:
                left = list(node.args) if key is None else sorted(node.args, key=key)
            if left:
                waiting += [(node, left[1:]), (left[0], None)]
            else:
                seen.add(node.index)
                order.append(node)
    return order


def peak_live(order: list[Node], absorbed: Collection[int], results: list[Node]) -> int:
    """The largest number of live values. Results live to the end."""
    written = [node for node in order if node.index not in absorbed and node.op not in ("const", "input")]
    last = {x.index: k for k, node in enumerate(written) for x in operands(node, absorbed)}
    last |= {node.index: len(written) for node in results}
    dying = [0] * (len(written) + 1)
    for position in last.values():
        dying[position] += 1
    live = peak = 0
    computed: set[int] = set()
    for k, node in enumerate(written):
        loaded = {x.index for x in operands(node, absorbed) if x.op == "input"} - computed
        computed |= loaded | {node.index}
        live += len(loaded) + 1
        peak = max(peak, live)
        live -= dying[k]
    return peak


def operands(node: Node, absorbed: Collection[int]) -> Iterator[Node]:
    """The nodes that are read when the node is computed, without constants."""
    for x in node.args:
        if x.index in absorbed:
            yield from operands(x, absorbed)
        elif x.op != "const":
            yield x


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


THREADS = 256
ARRAY = "ptr addrspace(1) noalias"


def each_number(arguments: str, first: str, body: str) -> str:
    """The module; `first` is the label of the body, `done` the label behind it."""
    return f"""{HEAD}
{REGISTERS}

define ptx_kernel void @kernel(i64 %count, {arguments}) #2 {{
  %lane = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %thread32 = zext i32 %lane to i64
  %block64 = zext i32 %block to i64
  %begin = mul i64 %block64, {THREADS}
  %thread = add i64 %begin, %thread32
  %inside = icmp ult i64 %thread, %count
  br i1 %inside, label %{first}, label %done

{first}:
{body}
  br label %done

done:
  ret void
}}

attributes #2 = {{ nounwind }}
{launch_bounds(THREADS)}"""


def gather_text(real: str, width: int) -> str:
    """Row k of the output is row index[k] of the input; rows have `width` numbers.

    void @kernel(i64 numbers, ptr index, ptr input, ptr output)
    """
    arguments = f"{ARRAY} readonly %index, {ARRAY} readonly %in, {ARRAY} writeonly %out"
    body = f"""  %row = udiv i64 %thread, {width}
  %column = urem i64 %thread, {width}
  %place = getelementptr i64, ptr addrspace(1) %index, i64 %row
  %from = load i64, ptr addrspace(1) %place, align 8
  %start = mul i64 %from, {width}
  %position = add i64 %start, %column
  %source = getelementptr {real}, ptr addrspace(1) %in, i64 %position
  %number = load {real}, ptr addrspace(1) %source
  %target = getelementptr {real}, ptr addrspace(1) %out, i64 %thread
  store {real} %number, ptr addrspace(1) %target"""
    return each_number(arguments, "copy", body)


def finite_text(real: str) -> str:
    """Set the byte in `marks` of each row of `width` numbers with an infinity or NaN.

    void @kernel(i64 numbers, ptr input, i64 width, ptr marks)
    """
    zero = hexadecimal(0.0, real)
    arguments = f"{ARRAY} readonly %in, i64 %width, {ARRAY} writeonly %marks"
    body = f"""  %place = getelementptr {real}, ptr addrspace(1) %in, i64 %thread
  %number = load {real}, ptr addrspace(1) %place
  %nothing = fmul {real} %number, {zero}
  %lost = fcmp uno {real} %nothing, {zero}
  br i1 %lost, label %mark, label %done

mark:
  %row = udiv i64 %thread, %width
  %its = getelementptr i8, ptr addrspace(1) %marks, i64 %row
  store i8 1, ptr addrspace(1) %its"""
    return each_number(arguments, "test", body)
