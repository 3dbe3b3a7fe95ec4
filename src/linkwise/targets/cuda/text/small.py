"""Small CUDA kernels with one thread per number: a gather of rows, and a test for finite numbers."""

from __future__ import annotations

from ....codegen.llvm.flow import hexadecimal
from .kernel import HEAD, REGISTERS, launch_bounds

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
