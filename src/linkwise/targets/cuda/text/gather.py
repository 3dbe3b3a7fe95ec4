"""A CUDA kernel that puts rows in order: row k of the output is row index[k] of the input.

    void @kernel(i64 numbers, ptr index, ptr input, ptr output)

Each thread copies one number.
"""

from __future__ import annotations

from .kernel import HEAD, REGISTERS, launch_bounds

THREADS = 256


def gather_text(real: str, width: int) -> str:
    """The whole module, for rows of so many numbers."""
    array = "ptr addrspace(1) noalias"
    return f"""{HEAD}
{REGISTERS}

define ptx_kernel void @kernel(i64 %count, {array} readonly %index, {array} readonly %in, {array} writeonly %out) #2 {{
  %lane = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %thread32 = zext i32 %lane to i64
  %block64 = zext i32 %block to i64
  %begin = mul i64 %block64, {THREADS}
  %thread = add i64 %begin, %thread32
  %inside = icmp ult i64 %thread, %count
  br i1 %inside, label %copy, label %done

copy:
  %row = udiv i64 %thread, {width}
  %column = urem i64 %thread, {width}
  %place = getelementptr i64, ptr addrspace(1) %index, i64 %row
  %from = load i64, ptr addrspace(1) %place, align 8
  %start = mul i64 %from, {width}
  %position = add i64 %start, %column
  %source = getelementptr {real}, ptr addrspace(1) %in, i64 %position
  %number = load {real}, ptr addrspace(1) %source
  %target = getelementptr {real}, ptr addrspace(1) %out, i64 %thread
  store {real} %number, ptr addrspace(1) %target
  br label %done

done:
  ret void
}}

attributes #2 = {{ nounwind }}
{launch_bounds(THREADS)}"""
