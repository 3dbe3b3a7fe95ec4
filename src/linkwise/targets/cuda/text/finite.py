"""A CUDA kernel that tests results: it marks the rows in which a number is infinite or NaN.

    void @kernel(i64 numbers, ptr input, i64 width, ptr marks)

Each thread tests one number. A row has `width` numbers, and a byte of `marks`.
"""

from __future__ import annotations

from ....codegen.llvm.block import hexadecimal
from .kernel import HEAD, REGISTERS, launch_bounds

THREADS = 256


def finite_text(real: str) -> str:
    """The whole module."""
    array, zero = "ptr addrspace(1) noalias", hexadecimal(0.0, real)
    return f"""{HEAD}
{REGISTERS}

define ptx_kernel void @kernel(i64 %count, {array} readonly %in, i64 %width, {array} writeonly %marks) #2 {{
  %lane = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %thread32 = zext i32 %lane to i64
  %block64 = zext i32 %block to i64
  %begin = mul i64 %block64, {THREADS}
  %thread = add i64 %begin, %thread32
  %inside = icmp ult i64 %thread, %count
  br i1 %inside, label %test, label %done

test:
  %place = getelementptr {real}, ptr addrspace(1) %in, i64 %thread
  %number = load {real}, ptr addrspace(1) %place
  %nothing = fmul {real} %number, {zero}
  %lost = fcmp uno {real} %nothing, {zero}
  br i1 %lost, label %mark, label %done

mark:
  %row = udiv i64 %thread, %width
  %its = getelementptr i8, ptr addrspace(1) %marks, i64 %row
  store i8 1, ptr addrspace(1) %its
  br label %done

done:
  ret void
}}

attributes #2 = {{ nounwind }}
{launch_bounds(THREADS)}"""
