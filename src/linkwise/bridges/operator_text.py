"""An operator of torch in LLVM assembly: the function that LibTorch's C interface registers, over a kernel.

    void @operator(ptr stack, i64 inputs, i64 outputs)

`stack` holds the input tensors, which belong to the operator, and takes the results. The operator tests dtype, device,
layout and shapes, allocates the results by torch, and runs the kernel on the CPU or launches it on torch's current
stream. A call that does not fit ends in torch's own RuntimeError. Tensors are those of the C interface: opaque handles.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ..kernels.interface import Interface
from ..kernels.target import OperatorBody
from ..kernels.target import pointer_text as pointer

MAX_AXES = 64  # of torch
WIDE = 80  # numbers of an array of sizes
ACTS = ("sizes", "axes", "dtype", "device_type", "device_index", "contiguous", "data", "delete", "empty", "check")
MISFIT = "expected contiguous tensors of the operator's dtype, on its device, of one batch shape"
Shape = tuple[int, ...]

HELPERS = """
define internal i1 @same(ptr %a, ptr %b, i64 %count) {
start:
  br label %test
test:
  %i = phi i64 [0, %start], [%next, %go]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %go, label %equal
go:
  %pa = getelementptr i64, ptr %a, i64 %i
  %pb = getelementptr i64, ptr %b, i64 %i
  %x = load i64, ptr %pa
  %y = load i64, ptr %pb
  %next = add i64 %i, 1
  %agree = icmp eq i64 %x, %y
  br i1 %agree, label %test, label %different
equal:
  ret i1 true
different:
  ret i1 false
}
define internal i64 @product(ptr %sizes, i64 %count) {
start:
  br label %test
test:
  %i = phi i64 [0, %start], [%next, %go]
  %total = phi i64 [1, %start], [%times, %go]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %go, label %done
go:
  %p = getelementptr i64, ptr %sizes, i64 %i
  %x = load i64, ptr %p
  %times = mul i64 %total, %x
  %next = add i64 %i, 1
  br label %test
done:
  ret i64 %total
}
; sizes of a result: those of the batch, then those of one state; strides of contiguous memory
define internal void @lay_out(ptr %sizes, ptr %strides, ptr %batch, i64 %axes, ptr %state, i64 %rank) {
start:
  br label %test
test:
  %i = phi i64 [0, %start], [%next, %go]
  %more = icmp slt i64 %i, %axes
  br i1 %more, label %go, label %tail
go:
  %from = getelementptr i64, ptr %batch, i64 %i
  %to = getelementptr i64, ptr %sizes, i64 %i
  %x = load i64, ptr %from
  store i64 %x, ptr %to
  %next = add i64 %i, 1
  br label %test
tail:
  %j = phi i64 [0, %test], [%j_next, %put]
  %left = icmp slt i64 %j, %rank
  br i1 %left, label %put, label %steps
put:
  %tail_from = getelementptr i64, ptr %state, i64 %j
  %at = add i64 %axes, %j
  %tail_to = getelementptr i64, ptr %sizes, i64 %at
  %size = load i64, ptr %tail_from
  store i64 %size, ptr %tail_to
  %j_next = add i64 %j, 1
  br label %tail
steps:
  %total = add i64 %axes, %rank
  br label %back
back:
  %k = phi i64 [%total, %steps], [%before, %fill]
  %step = phi i64 [1, %steps], [%larger, %fill]
  %some = icmp sgt i64 %k, 0
  br i1 %some, label %fill, label %done
fill:
  %before = sub i64 %k, 1
  %stride = getelementptr i64, ptr %strides, i64 %before
  store i64 %step, ptr %stride
  %here = getelementptr i64, ptr %sizes, i64 %before
  %width = load i64, ptr %here
  %zero = icmp eq i64 %width, 0
  %at_least = select i1 %zero, i64 1, i64 %width
  %larger = mul i64 %step, %at_least
  br label %back
done:
  ret void
}
"""


class Place(NamedTuple):
    """A device: its numbers in torch."""

    device_type: int
    dtype: int  # of the tensors


def operator_text(
    name: str, interface: Interface, place: Place, functions: Mapping[str, int], run: OperatorBody
) -> str:
    """`@operator`; `functions` are the addresses of the functions ACTS of the C interface."""
    inputs, outputs = [x.shape for x in interface.inputs], [x.shape for x in interface.outputs]
    call = {act: pointer(functions[act]) for act in ACTS}
    constants, lines = [], ["start:"]
    message = f"linkwise::{name}: {MISFIT}"
    for k, shape in enumerate((*inputs, *outputs)):
        constants.append(f"@shape{k} = internal constant [{max(len(shape), 1)} x i64] {array(shape)}")
    constants += [text_constant("message", message), text_constant("name", name)]
    every = range(len(inputs) + len(outputs))
    lines += [f"  %arrays = alloca [{len(every) + 1} x ptr]", f"  %sizes = alloca [{WIDE} x i64]"]
    lines += [f"  %strides = alloca [{WIDE} x i64]", "  %axes_at = alloca i64"]
    lines += ["  %word = alloca i32", "  %bit = alloca i8", "  %pointer = alloca ptr"]
    for k in range(len(outputs)):
        lines += [f"  %result{k} = alloca ptr", f"  store ptr null, ptr %result{k}"]
    for k in range(len(inputs)):
        lines += [f"  %in{k}_at = getelementptr i64, ptr %stack, i64 {k}", f"  %in{k} = load ptr, ptr %in{k}_at"]
    names = iter(range(10**9))

    def emit(instruction: str) -> str:
        result = f"%x{next(names)}"
        lines.append(f"  {result} = {instruction}")
        return result

    def ask(act: str, tensor: str, there: str, kind: str) -> str:
        emit(f"call i32 {call[act]}(ptr {tensor}, ptr {there})")
        return emit(f"load {kind}, ptr {there}")

    def guard(condition: str) -> None:
        label = f"g{next(names)}"
        lines.extend([f"  br i1 {condition}, label %{label}, label %misfit", f"{label}:"])

    batch, batch_sizes, device = "", "", ""
    for k, shape in enumerate(inputs):
        tensor = f"%in{k}"
        guard(emit(f"icmp eq i32 {ask('dtype', tensor, '%word', 'i32')}, {place.dtype}"))
        guard(emit(f"icmp eq i32 {ask('device_type', tensor, '%word', 'i32')}, {place.device_type}"))
        guard(emit(f"icmp ne i8 {ask('contiguous', tensor, '%bit', 'i8')}, 0"))
        where = ask("device_index", tensor, "%word", "i32")
        here, axes = ask("sizes", tensor, "%pointer", "ptr"), ask("axes", tensor, "%axes_at", "i64")
        leading = emit(f"sub i64 {axes}, {len(shape)}")
        if k == 0:
            batch, batch_sizes, device = leading, here, where
            guard(emit(f"icmp ule i64 {batch}, {MAX_AXES - max(map(len, (*inputs, *outputs)))}"))
        else:
            guard(emit(f"icmp eq i64 {leading}, {batch}"))
            guard(emit(f"icmp eq i32 {where}, {device}"))
            guard(emit(f"call i1 @same(ptr {here}, ptr {batch_sizes}, i64 {batch})"))
        if shape:
            tail = emit(f"getelementptr i64, ptr {here}, i64 {batch}")
            guard(emit(f"call i1 @same(ptr {tail}, ptr @shape{k}, i64 {len(shape)})"))
        data = ask("data", tensor, "%pointer", "ptr")
        lines.append(f"  store ptr {data}, ptr {emit(f'getelementptr ptr, ptr %arrays, i64 {k}')}")
    count = emit(f"call i64 @product(ptr {batch_sizes}, i64 {batch})")
    for k, shape in enumerate(outputs):
        rank, number = len(shape), k + len(inputs)
        sizes = f"ptr %sizes, ptr %strides, ptr {batch_sizes}, i64 {batch}, ptr @shape{number}, i64 {rank}"
        lines.append(f"  call void @lay_out({sizes})")
        axes = emit(f"add i64 {batch}, {rank}")
        kind = f"i32 {place.dtype}, i32 {place.device_type}, i32 {device}"
        made = emit(f"call i32 {call['empty']}(i64 {axes}, ptr %sizes, ptr %strides, {kind}, ptr %result{k})")
        guard(emit(f"icmp eq i32 {made}, 0"))
        data = ask("data", emit(f"load ptr, ptr %result{k}"), "%pointer", "ptr")
        lines.append(f"  store ptr {data}, ptr {emit(f'getelementptr ptr, ptr %arrays, i64 {number}')}")
    lines += [f"  %some = icmp ne i64 {count}, 0", "  br i1 %some, label %compute, label %done", "compute:"]
    guard(emit(f"icmp eq i32 {emit(f'call i32 @run(i64 {count}, i32 {device}, ptr %arrays)')}, 0"))
    lines += ["  br label %done", "done:"]
    lines += [f"  call i32 {call['delete']}(ptr %in{k})" for k in range(len(inputs))]
    for k in range(len(outputs)):
        result = emit(f"load ptr, ptr %result{k}")
        lines.append(f"  store ptr {result}, ptr {emit(f'getelementptr i64, ptr %stack, i64 {k}')}")
    lines += ["  ret void", "misfit:"]
    lines += [f"  call i32 {call['delete']}(ptr %in{k})" for k in range(len(inputs))]
    for k in range(len(outputs)):
        result = emit(f"load ptr, ptr %result{k}")
        lines += [f"  %there{k} = icmp ne ptr {result}, null", f"  br i1 %there{k}, label %drop{k}, label %kept{k}"]
        lines += [f"drop{k}:", f"  call i32 {call['delete']}(ptr {result})", f"  br label %kept{k}", f"kept{k}:"]
    lines += [f"  call void {call['check']}(i1 zeroext false, ptr @name, ptr @name, i32 0, ptr @message)", "  ret void"]
    head = "define void @operator(ptr %stack, i64 %given, i64 %returned) uwtable {"
    return "\n".join([*constants, HELPERS, run.text(len(every)), head, *lines, "}", ""])


def array(shape: Shape) -> str:
    return "[" + ", ".join(f"i64 {size}" for size in shape or (1,)) + "]"


def text_constant(name: str, text: str) -> str:
    content = text.encode("ascii", "replace") + b"\0"
    return f'@{name} = internal constant [{len(content)} x i8] c"' + "".join(f"\\{x:02X}" for x in content) + '"'
