"""Other ways to run the equations on a GPU, for `gpu.py`: None where what they need is not installed."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from timing import optional

import linkwise as lw
from linkwise.codegen.c import CFunction

LAUNCH = """
extern "C" __global__ void __launch_bounds__({threads}) peer(long long count, {parameters}) {{
    long long state = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (state >= count) return;
{loads}
    {name}({arguments});
{stores}
}}
"""


def cuda_text(robot: lw.Robot, function: Callable[..., Any], dtype: str, threads: int) -> str:
    """The C function, and a kernel that calls it for each state."""
    program = lw.trace(function, robot, method="fewest")
    c = CFunction(program, "one_state", ("out",), dtype)
    body = c.source("").split("}\n#endif\n", 1)[-1]
    body = body[body.index("void one_state(") :]
    real = {"float64": "double", "float32": "float"}[dtype]
    inputs, (output,) = program.inputs, program.outputs
    loads = [f"    {real} x{k}[{port.size}];" for k, port in enumerate(inputs)]
    for k, port in enumerate(inputs):
        loads += [f"    x{k}[{j}] = in{k}[state * {port.size} + {j}];" for j in range(port.size)]
    loads.append(f"    {real} y[{output.size}];")
    kernel = LAUNCH.format(
        threads=threads,
        parameters=", ".join(
            [*(f"const {real}* __restrict__ in{k}" for k in range(len(inputs))), f"{real}* __restrict__ out"]
        ),
        loads="\n".join(loads),
        name="one_state",
        arguments=", ".join([*(f"x{k}" for k in range(len(inputs))), "y"]),
        stores="\n".join(f"    out[state * {output.size} + {j}] = y[{j}];" for j in range(output.size)),
    )
    return f"__device__ __forceinline__ {body}\n{kernel}"


def nvrtc_peer(
    robot: lw.Robot, function: Callable[..., Any], dtype: str, pointers: list[int], states: int, threads: int = 64
) -> Callable[[], None] | None:
    """A launch on arrays at these addresses, on the default stream."""
    cupy = optional("cupy")
    if cupy is None:
        return None
    kernel = cupy.RawKernel(cuda_text(robot, function, dtype, threads), "peer")
    arguments = (np.int64(states), *map(np.uint64, pointers))
    blocks = -(-states // threads)

    def run() -> None:
        kernel((blocks,), (threads,), arguments)

    run()
    return run


def timed(run: Callable[[], Any], wait: Callable[[Any], Any], rounds: int = 7) -> list[float]:
    for _ in range(2):
        wait(run())
    seconds = []
    for _ in range(rounds):
        started = time.perf_counter()
        wait(run())
        seconds.append(time.perf_counter() - started)
    return seconds


def torch_peer(robot: lw.Robot, function: Callable[..., Any], dtype: str, states: int) -> list[float]:
    torch = optional("torch")
    if torch is None or not torch.cuda.is_available():
        return []
    given = [torch.rand((states, robot.n), dtype=getattr(torch, dtype), device="cuda") for _ in range(3)]
    with torch.no_grad(), lw.use_kernels("never"):
        return timed(lambda: function(robot, *given, method="fewest"), lambda _: torch.cuda.synchronize(), 3)


def jax_peer(robot: lw.Robot, function: Callable[..., Any], dtype: str, states: int) -> list[float]:
    jax = optional("jax")
    if jax is None or jax.default_backend() not in ("gpu", "cuda"):
        return []
    jax.config.update("jax_enable_x64", True)
    given = [jax.random.uniform(jax.random.key(k), (states, robot.n), dtype=dtype) for k in range(3)]
    with lw.use_kernels("never"):
        compiled = jax.jit(lambda q, qd, x: function(robot, q, qd, x, method="fewest")).lower(*given).compile()
    seconds = timed(lambda: compiled(*given), jax.block_until_ready)
    assert statistics.median(seconds) > 0.0
    return seconds
