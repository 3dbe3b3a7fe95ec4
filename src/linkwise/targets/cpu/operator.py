"""The part of an operator of torch that runs a kernel on this machine's processor."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import NamedTuple

from ...kernels.interface import Links
from ...kernels.kernel import Compiled
from ...kernels.target import pointer_text
from .host import MachineCode, work_bytes

PARALLEL = "torch_parallel_for"  # LibTorch's loop over threads


def host_operator(kernel: Compiled, library: Callable[[str], int]) -> HostOperator | None:
    links, code = kernel.links, kernel.code
    if not isinstance(code, MachineCode) or (links is not None and links.rows is not None):
        return None  # Python rearranges the arrays
    lanes = code.target.lanes(kernel.interface.dtype)
    size = work_bytes(code) if links is None else links.vectors * lanes * links.table.itemsize
    memory = ctypes.pythonapi.PyMem_RawMalloc, ctypes.pythonapi.PyMem_RawFree
    allocate, free = (int(ctypes.cast(function, ctypes.c_void_p).value or 0) for function in memory)
    batch, at_once = code.address("batch"), kernel.interface.at_once
    return HostOperator(batch, links, size, at_once, allocate, free, library(PARALLEL))


class HostOperator(NamedTuple):
    """A call of a kernel in the host's memory: `batch` of `targets.cpu.batch`."""

    batch: int  # address
    links: Links | None  # of loops over links
    work_bytes: int
    at_once: int  # states that justify a thread
    allocate: int  # addresses of malloc, free and torch's loop over threads; 0: one thread
    free: int
    parallel: int

    def prepare(self, ordinal: int) -> None:
        pass

    def text(self, arrays: int) -> str:
        loads = "\n".join(
            f"  %s{k} = getelementptr ptr, ptr %arrays, i64 {k}\n  %p{k} = load ptr, ptr %s{k}" for k in range(arrays)
        )
        pointers = ", ".join(f"ptr %p{k}" for k in range(arrays))
        links = ""
        if self.links is not None:
            count, *tables = self.links.arguments
            links = ", ".join([f"i64 {count}", *(f"ptr {pointer_text(table)}" for table in tables), ""])
        call = f"  %bad = call i64 {pointer_text(self.batch)}(i64 %begin, i64 %end, {links}ptr %work, {pointers})"
        if self.work_bytes:
            call = f"""  %work = call ptr {pointer_text(self.allocate)}(i64 {self.work_bytes})
  %none = icmp eq ptr %work, null
  br i1 %none, label %done, label %go
go:
{call}
  call void {pointer_text(self.free)}(ptr %work)
  br label %done
done:
  %bad_or_not = phi i64 [1, %start], [0, %go]
  call void @mark(ptr %arrays, i64 %bad_or_not)"""
        else:
            call = f"  %work = inttoptr i64 0 to ptr\n{call}"
        mark = f"""
define internal void @mark(ptr %arrays, i64 %failed) {{
  %place = getelementptr i64, ptr %arrays, i64 {arrays}
  %some = icmp ne i64 %failed, 0
  br i1 %some, label %yes, label %no
yes:
  store atomic i64 1, ptr %place monotonic, align 8
  br label %no
no:
  ret void
}}"""
        threads = f"""
  %many = icmp uge i64 %count, {2 * self.at_once}
  br i1 %many, label %several, label %one
several:
  call i32 {pointer_text(self.parallel)}(i64 0, i64 %count, i64 {self.at_once}, ptr @part, ptr %arrays)
  br label %end"""
        return f"""{mark}
define internal void @part(i64 %begin, i64 %end, ptr %arrays) uwtable {{
start:
{loads}
{call}
  ret void
}}
define internal i32 @run(i64 %count, i32 %device, ptr %arrays) uwtable {{
  %place = getelementptr i64, ptr %arrays, i64 {arrays}
  store i64 0, ptr %place{
            threads
            if self.parallel
            else '''
  br label %one'''
        }
one:
  call void @part(i64 0, i64 %count, ptr %arrays)
  br label %end
end:
  %failed = load i64, ptr %place
  %code = trunc i64 %failed to i32
  ret i32 %code
}}"""
