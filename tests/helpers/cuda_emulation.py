"""The text of a CUDA kernel, run on this processor: every thread of a launch is a call of the same function.

What only a GPU has is replaced, nothing else: the numbers of thread and block become arguments, copies to shared memory
are made at once, and threads of a warp that wait for one another wait in Python, each in a thread of its own.
"""

import ctypes
import re
import threading
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from linkwise.kernels import llvm

WARP = 32
MEET = ctypes.CFUNCTYPE(None, ctypes.c_int32)
KINDS: dict[str, Any] = {
    "ptr": ctypes.c_uint64,
    "i64": ctypes.c_int64,
    "double": ctypes.c_double,
    "float": ctypes.c_float,
}
COPY = """
define internal void @copy16(ptr %to, ptr %from) {
  %x = load <2 x i64>, ptr %from, align 16
  store <2 x i64> %x, ptr %to, align 16
  ret void
}
"""
ESTIMATE = """
define internal float @estimate(float %x) {
  %size = call float @llvm.fabs.f32(float %x)
  %tiny = fcmp olt float %size, 0x3810000000000000
  %none = call float @llvm.copysign.f32(float 0.0, float %x)
  %flushed = select i1 %tiny, float %none, float %x
  %y = fdiv float 1.0, %flushed
  %ysize = call float @llvm.fabs.f32(float %y)
  %ytiny = fcmp olt float %ysize, 0x3810000000000000
  %nothing = call float @llvm.copysign.f32(float 0.0, float %y)
  %result = select i1 %ytiny, float %nothing, float %y
  ret float %result
}
"""  # of 1/x, on a GPU within one unit of its last digit; numbers that are not normal are taken as zero


def host_text(text: str) -> str:
    text = re.sub(r"^(target|declare .*@llvm\.nvvm|!nvvm\.annotations|!9\d = ).*\n", "", text, flags=re.M)
    text = re.sub(r" addrspace\(\d\)", "", text)
    text = re.sub(r"call i32 @llvm\.nvvm\.read\.ptx\.sreg\.(\w+)\.x\(\)", r"add i32 %\1, 0", text)
    text = text.replace("@llvm.nvvm.cp.async.cg.shared.global.16(", "@copy16(")
    text = text.replace("  call void @llvm.nvvm.cp.async.wait.all()\n", "")
    text = text.replace("@llvm.nvvm.bar.warp.sync(", "%meet(")
    text = text.replace("@llvm.nvvm.rcp.approx.ftz.f(", "@estimate(")
    head = "define ptx_kernel void @kernel("
    assert head in text
    text = text.replace(head, "define void @kernel(i32 %tid, i32 %ctaid, i32 %ntid, ptr %meet, ")
    assert "nvvm." not in text, "an operation that only a GPU has"
    if "@estimate(" in text:
        names = ("fabs.f32(float)", "copysign.f32(float, float)")
        declared = [f"declare float @llvm.{name}\n" for name in names if f"float @llvm.{name}" not in text]
        text = "".join(declared) + text + ESTIMATE
    return text + (COPY if "@copy16(" in text else "")


@cache
def compiled(text: str, optimization: int) -> Any:
    binding = llvm.binding()
    module = binding.parse_assembly(host_text(text))
    module.verify()
    features = binding.get_host_cpu_features().flatten()
    machine = binding.Target.from_default_triple().create_target_machine(
        cpu=binding.get_host_cpu_name(), features=features, opt=optimization, reloc="pic", codemodel="jitdefault"
    )
    engine = binding.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    return engine


def launch(text: str, threads: int, arrays: Sequence[np.ndarray], count: int) -> None:
    """Run the kernel on arrays whose rows are states, inputs before outputs, block by block and warp by warp."""
    launch_at(text, threads, [array.ctypes.data for array in arrays], count)


def kinds_of(text: str) -> list[str]:
    """The types of the kernel's arguments."""
    head = text[text.index("@kernel(") + len("@kernel(") :].split(") #2", 1)[0]
    return [argument.split()[0] for argument in head.split(", ")]


def launch_at(text: str, threads: int, arguments: Sequence[Any], count: int) -> None:
    """The same with all arguments after the first, arrays by their addresses."""
    kinds = [KINDS[kind] for kind in kinds_of(text)]
    prototype = ctypes.CFUNCTYPE(None, *[ctypes.c_int32] * 3, ctypes.c_void_p, *kinds)
    function = prototype(compiled(text, llvm.OPTIMIZATION).get_function_address("kernel"))
    together = "%meet(" in host_text(text)
    for block in range(-(-count // threads)):
        for first in range(0, threads, WARP):
            lanes = range(first, min(first + WARP, threads))
            if not together:
                for thread in lanes:
                    function(thread, block, threads, None, count, *arguments)
                continue
            members = min(WARP, count - block * threads - first)
            barrier = threading.Barrier(max(members, 1), timeout=20)
            masks = set()

            def meet(mask: int, barrier: threading.Barrier = barrier, masks: set[int] = masks) -> None:
                masks.add(mask & 0xFFFFFFFF)
                barrier.wait()

            callback = MEET(meet)
            where = ctypes.cast(callback, ctypes.c_void_p)
            workers = [
                threading.Thread(target=function, args=(thread, block, threads, where, count, *arguments))
                for thread in lanes
            ]
            for worker in workers:
                worker.start()
            for worker in workers:
                worker.join()
            assert not barrier.broken
            assert masks <= {(1 << max(members, 0)) - 1}
