"""The part of an operator of torch that launches a kernel on a GPU."""

from __future__ import annotations

import ctypes
from typing import Any

from ...kernels.target import pointer_text
from .driver import Module, driver
from .target import CudaCode

STREAM = "aoti_torch_get_current_cuda_stream"  # of LibTorch
DRIVER = ("cuCtxPushCurrent_v2", "cuCtxPopCurrent_v2", "cuLaunchKernel")
MAX_DEVICES = 64  # GPUs of a machine


def function_address(function: Any) -> int:
    return int(ctypes.cast(function, ctypes.c_void_p).value or 0)


class CudaOperator:
    """A launch of a kernel: one state for each thread."""

    def __init__(self, code: CudaCode, stream: int) -> None:
        """`stream` is the address of LibTorch's function of the current stream."""
        self.code, self.stream = code, stream
        self.functions, self.contexts = ((ctypes.c_void_p * MAX_DEVICES)() for _ in range(2))  # by GPU
        self.modules: list[Module] = []

    def prepare(self, ordinal: int) -> None:
        """Load the kernel onto a GPU, unless it is there."""
        if not self.functions[ordinal]:
            module = self.code.module(ordinal)
            self.modules.append(module)
            self.contexts[ordinal] = module.device.context.value
            self.functions[ordinal] = module.function.value

    def text(self, arrays: int) -> str:
        places = "\n".join(
            f"  %a{k} = getelementptr ptr, ptr %arrays, i64 {k}\n  %l{k} = getelementptr ptr, ptr %list, i64 {k + 1}\n"
            f"  store ptr %a{k}, ptr %l{k}"
            for k in range(arrays)
        )
        functions, contexts = (pointer_text(ctypes.addressof(table)) for table in (self.functions, self.contexts))
        push, pop, launch = (pointer_text(function_address(getattr(driver().library, name))) for name in DRIVER)
        threads = self.code.threads
        grid = f"i32 %blocks, i32 1, i32 1, i32 {threads}, i32 1, i32 1, i32 0, ptr %stream"
        return f"""
define internal i32 @run(i64 %count, i32 %device, ptr %arrays) uwtable {{
start:
  %list = alloca [{arrays + 1} x ptr]
  %number = alloca i64
  %held = alloca ptr
  %stream_at = alloca ptr
  store ptr null, ptr %stream_at
  store i64 %count, ptr %number
  store ptr %number, ptr %list
{places}
  %unnumbered = icmp slt i32 %device, 0
  %ordinal = select i1 %unnumbered, i32 0, i32 %device
  %inside = icmp ult i32 %ordinal, {MAX_DEVICES}
  br i1 %inside, label %look, label %failed
look:
  %wide = zext i32 %ordinal to i64
  %f_at = getelementptr ptr, ptr {functions}, i64 %wide
  %function = load ptr, ptr %f_at
  %c_at = getelementptr ptr, ptr {contexts}, i64 %wide
  %context = load ptr, ptr %c_at
  %loaded = icmp ne ptr %function, null
  br i1 %loaded, label %ask, label %failed
ask:
  %asked = call i32 {pointer_text(self.stream)}(i32 %ordinal, ptr %stream_at)
  %stream = load ptr, ptr %stream_at
  %more = add i64 %count, {threads - 1}
  %whole = udiv i64 %more, {threads}
  %blocks = trunc i64 %whole to i32
  %pushed = call i32 {push}(ptr %context)
  %launched = call i32 {launch}(ptr %function, {grid}, ptr %list, ptr null)
  %popped = call i32 {pop}(ptr %held)
  %one = or i32 %asked, %pushed
  %two = or i32 %launched, %popped
  %code = or i32 %one, %two
  ret i32 %code
failed:
  ret i32 1
}}"""
