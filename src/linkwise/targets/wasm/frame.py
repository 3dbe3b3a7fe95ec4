"""A program as a WebAssembly module in LLVM assembly: the block of one state, and the exported functions.

    i32 @run(i32 count, ptr input, ..., ptr output, ...)                         straight-line code
    i32 @run(i32 count, ptr robot, ptr work, ptr input, ..., ptr output, ...)    loops over the links
    i32 @work_bytes(ptr robot)                                                   loops: size of `work`

Inputs and outputs are `count` contiguous rows each; no output may share memory with an input. `run` returns the number
of finite states with a non-finite result. A robot is a record that begins with 32-bit numbers (`RECORD`), among them
the offsets of its parts in bytes. Table and tree are those of `loops`. `places` has four 32-bit numbers for each link:
the positions of its coordinates in q. A single position is repeated.

Products are not fused into sums, since WebAssembly has no fused multiply-add. The results have the bits of a processor
without it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...codegen.llvm.flow import Flow, Layout, assemble
from ...codegen.llvm.loops import LoopText
from ...codegen.llvm.program import llvm_text, work_vectors
from ...graph import Program

# Library functions that LLVM calls where WebAssembly has no instruction: 128-bit integers, and minimum and maximum with
# NaN operands.

WIDE_INTEGERS = """
define internal i64 @upper_half_of_product(i64 %a, i64 %b) {
  %a0 = and i64 %a, 4294967295
  %a1 = lshr i64 %a, 32
  %b0 = and i64 %b, 4294967295
  %b1 = lshr i64 %b, 32
  %low = mul i64 %a0, %b0
  %first = mul i64 %a1, %b0
  %second = mul i64 %a0, %b1
  %high = mul i64 %a1, %b1
  %carried = lshr i64 %low, 32
  %sum = add i64 %first, %carried
  %sum0 = and i64 %sum, 4294967295
  %sum1 = lshr i64 %sum, 32
  %middle = add i64 %second, %sum0
  %middle1 = lshr i64 %middle, 32
  %top = add i64 %high, %sum1
  %all = add i64 %top, %middle1
  ret i64 %all
}
define hidden void @__multi3(ptr %product, i64 %a0, i64 %a1, i64 %b0, i64 %b1) {
  %low = mul i64 %a0, %b0
  %carried = call i64 @upper_half_of_product(i64 %a0, i64 %b0)
  %first = mul i64 %a1, %b0
  %second = mul i64 %a0, %b1
  %sum = add i64 %first, %second
  %high = add i64 %sum, %carried
  %place = getelementptr i64, ptr %product, i64 1
  store i64 %low, ptr %product
  store i64 %high, ptr %place
  ret void
}
define hidden void @__ashlti3(ptr %shifted, i64 %a0, i64 %a1, i32 %by) {
  %count = zext i32 %by to i64
  %far = icmp ugt i32 %by, 63
  %rest = and i64 %count, 63
  %low = shl i64 %a0, %rest
  %own = shl i64 %a1, %rest
  %half = lshr i64 %a0, 1
  %less = xor i64 %rest, 63
  %moved = lshr i64 %half, %less
  %near = or i64 %own, %moved
  %low_all = select i1 %far, i64 0, i64 %low
  %high_all = select i1 %far, i64 %low, i64 %near
  %place = getelementptr i64, ptr %shifted, i64 1
  store i64 %low_all, ptr %shifted
  store i64 %high_all, ptr %place
  ret void
}
"""

EXTREMES = "".join(
    f"""
define hidden {real} @{name}({real} %a, {real} %b) {{
  %first = fcmp {compared} {real} %a, %b
  %lost = fcmp uno {real} %b, %b
  %taken = or i1 %first, %lost
  %x = select i1 %taken, {real} %a, {real} %b
  ret {real} %x
}}
"""
    for real, suffix in (("double", ""), ("float", "f"))
    for name, compared in ((f"fmax{suffix}", "ogt"), (f"fmin{suffix}", "olt"))
)


HEAD = """target triple = "wasm32-unknown-unknown"
target datalayout = "e-m:e-p:32:32-p10:8:8-p20:8:8-i64:64-i128:128-n32:64-S128-ni:1:10:20"
"""
ATTRIBUTES = """
attributes #0 = { nounwind }
attributes #1 = { nounwind noinline }
"""
RECORD = ("magic", "n", "nq", "levels", "gravity", "table", "tree", "places", "bytes", "columns", "itemsize")
PLACES = 4  # numbers of q that a link may have


def straight_text(program: Program, real: str) -> str:
    """The module of a straight-line program."""
    layout, vectors = Layout(real, 1, False), work_vectors(program)
    flow, work = Flow(layout), "@work" if vectors else "null"
    sizes = [str(port.size) for port in (*program.inputs, *program.outputs)]
    arrays = [*(f"%in{k}" for k in range(len(program.inputs))), *(f"%out{k}" for k in range(len(program.outputs)))]

    def state(rows: list[str]) -> str:
        return flow.emit(f"call i64 @block_1({pointers([work, *rows])})")

    run = function("run", flow, ["i32 %count", pointers(arrays)], each_state(flow, arrays, sizes, state))
    memory = f"@work = internal global [{vectors} x {real}] zeroinitializer, align 16\n" if vectors else ""
    return module(memory, llvm_text(program, [layout]), run)


def loops_text(loops: LoopText, real: str) -> str:
    """The module of a program of loops."""
    layout, program = Layout(real, 1, False), loops.program
    flow, gathers = Flow(layout), [port.name == "q" and port.size == PLACES for port in program.inputs]
    n, nq = record_number(flow, "n"), record_number(flow, "nq")
    parts = [record_part(flow, name) for name in ("table", "tree", *(("gravity",) if loops.has_gravity else ()))]
    sizes = [
        nq if gathered else flow.emit(f"mul i64 {n}, {port.size}")
        for port, gathered in zip((*program.inputs, *program.outputs), (*gathers, False), strict=True)
    ]
    arrays = [*(f"%in{k}" for k in range(len(program.inputs))), "%out0"]
    work = flow.element(real, "%work", flow.emit(f"mul i64 {n}, {PLACES * any(gathers)}"))

    def state(rows: list[str]) -> str:
        if any(gathers):
            k = gathers.index(True)
            gather(flow, rows[k], n)
            rows[k] = "%work"
        return flow.emit(f"call i64 @block_1(i64 0, i64 1, i64 {n}, {pointers([*parts, work, *rows])})")

    total = each_state(flow, arrays, sizes, state)
    run = function("run", flow, ["i32 %count", pointers(["%robot", "%work", *arrays])], total)
    return module(loops.block_texts([layout]), run, work_bytes(loops, layout))


def gathers_q(loops: LoopText) -> bool:
    """Whether the block reads four numbers of q per link, gathered from the joints' coordinates."""
    return any(port.name == "q" and port.size == PLACES for port in loops.program.inputs)


def work_numbers(loops: LoopText, n: int, levels: int) -> int:
    """Size of `work` in numbers for n links."""
    return loops.vectors(n, levels) + PLACES * n * gathers_q(loops)


def work_bytes(loops: LoopText, layout: Layout) -> str:
    flow = Flow(layout)
    of_links = flow.emit(f"mul i64 {record_number(flow, 'n')}, {work_numbers(loops, 1, 0)}")
    of_levels = flow.emit(f"mul i64 {record_number(flow, 'levels')}, {work_numbers(loops, 0, 1)}")
    numbers = flow.emit(f"add i64 {of_links}, {of_levels}")
    return function("work_bytes", flow, ["ptr %robot"], flow.emit(f"mul i64 {numbers}, {layout.bits // 8}"))


def each_state(flow: Flow, arrays: Sequence[str], sizes: Sequence[str], state: Callable[[list[str]], str]) -> str:
    """Emit a loop that calls `state` on the rows of each state; the sum of its results."""
    real, total = flow.layout.real, flow.slot("i64")
    flow.lines.append(f"  store i64 0, ptr {total}")
    with flow.when(flow.emit("icmp sgt i32 %count, 0")):
        count = flow.emit("zext i32 %count to i64")
        with flow.counted(count) as index:
            rows = [
                flow.element(real, array, flow.emit(f"mul i64 {index}, {size}"))
                for array, size in zip(arrays, sizes, strict=True)
            ]
            more = state(rows)
            sum_ = flow.emit(f"add i64 {flow.emit(f'load i64, ptr {total}')}, {more}")
            flow.lines.append(f"  store i64 {sum_}, ptr {total}")
    return flow.emit(f"load i64, ptr {total}")


def gather(flow: Flow, q: str, n: str) -> None:
    """Gather four numbers of q for each link; NaN for a quaternion that cannot be normalized."""
    layout, places = flow.layout, record_part(flow, "places")
    zero, one, nan = (layout.constant(x) for x in (0.0, 1.0, float("nan")))
    with flow.counted(n) as link:
        first = flow.emit(f"mul i64 {link}, {PLACES}")
        at = [flow.emit(f"add i64 {first}, {k}") for k in range(PLACES)]
        indices = [flow.emit(f"load i32, ptr {flow.element('i32', places, place)}") for place in at]
        x = [flow.emit(f"load {layout.real}, ptr {flow.element(layout.real, q, index_of(flow, k))}") for k in indices]
        square = zero
        for number in x:
            square = flow.multiply_add(number, number, square)
        sum_ = flow.do("fadd", square, flow.do("fdiv", one, square))
        useless = flow.emit(f"fcmp uno {layout.vector} {flow.do('fmul', sum_, zero)}, {zero}")
        quaternion = flow.emit(f"icmp ne i32 {indices[0]}, {indices[1]}")
        x[0] = flow.select(flow.emit(f"and i1 {useless}, {quaternion}"), nan, x[0])
        for number, place in zip(x, at, strict=True):
            flow.lines.append(f"  store {layout.real} {number}, ptr {flow.element(layout.real, '%work', place)}")


def index_of(flow: Flow, x: str) -> str:
    return flow.emit(f"zext i32 {x} to i64")


def record_number(flow: Flow, name: str) -> str:
    """A number of the robot's record."""
    return index_of(flow, flow.emit(f"load i32, ptr {flow.element('i32', '%robot', RECORD.index(name))}"))


def record_part(flow: Flow, name: str) -> str:
    """The address of a part of the record."""
    return flow.element("i8", "%robot", record_number(flow, name))


def pointers(names: Sequence[str]) -> str:
    return ", ".join(f"ptr {name}" for name in names)


def function(name: str, flow: Flow, arguments: Sequence[str], result: str) -> str:
    """An exported function, which returns the lower 32 bits of the result."""
    short = flow.emit(f"trunc i64 {result} to i32")
    start, *body = flow.lines
    head = f"define i32 @{name}({', '.join(argument for argument in arguments if argument)}) #0 {{"
    return "\n".join([*sorted(flow.declared), head, start, *flow.slots, *body, f"  ret i32 {short}", "}", ""])


def module(*texts: str) -> str:
    """One module of several texts, with the library functions that it needs."""
    libcalls = [(WIDE_INTEGERS, "i128"), (EXTREMES, "@llvm.maxnum"), (EXTREMES, "@llvm.minnum")]
    needed = dict.fromkeys(functions for functions, word in libcalls if any(word in text for text in texts))
    return HEAD + assemble(*texts, *needed) + ATTRIBUTES
