"""Tensors of torch: public functions forward and backward, beside the kernels' own time. On the CPU, and on a GPU.

    python benchmarks/torch_operators.py

Each time is the best of several, in µs. GPU iterations are queued, and synchronized once at the end.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Callable
from typing import Any

import torch

import linkwise as lw

FUNCTIONS = {lw.inverse_dynamics: ("q", "qd", "qdd"), lw.forward_dynamics: ("q", "qd", "tau")}
ROBOTS = ("ur5e", "iiwa14", "panda")


def best(function: Callable[[], Any], calls: int, repeats: int = 7, wait: Callable[[], None] = lambda: None) -> float:
    """The shortest time of one call in µs."""
    function()
    times = []
    for _ in range(repeats):
        wait()
        start = time.perf_counter()
        for _ in range(calls):
            function()
        wait()
        times.append((time.perf_counter() - start) / calls)
    return 1e6 * min(times)


def tensors(robot: lw.Robot, states: int, device: str, dtype: Any) -> list[Any]:
    """States and a weight of the results."""
    sizes = (robot.nq, robot.n, robot.n, robot.n)
    return [torch.randn((states, size), device=device, dtype=dtype) for size in sizes]


def on_cpu(robot: lw.Robot, function: Callable[..., Any], states: int = 4096) -> str:
    *arrays, weight = tensors(robot, states, "cpu", torch.float64)
    kernel = lw.compile(function, robot)
    product = lw.compile(lw.vjp(function, robot, FUNCTIONS[function]), robot)
    numbers = [x.numpy() for x in arrays]
    inputs = [x.clone().requires_grad_() for x in arrays]
    alone = best(lambda: (kernel(*numbers), product(*numbers, weight.numpy())), 4, 30)
    both = best(lambda: torch.autograd.grad(function(robot, *inputs), inputs, weight), 4, 30)
    one, one_input = [x[0].clone() for x in arrays], [x[0].clone().requires_grad_() for x in arrays]
    times = [best(lambda: function(robot, *one), 200, 30), best(lambda: function(robot, *one_input), 200, 30)]
    times.append(best(lambda: torch.autograd.grad(function(robot, *one_input), one_input, weight[0]), 50, 30))
    least = best(lambda: torch.autograd.grad(torch.addcmul(*one_input), one_input, weight[0]), 50, 30)
    return (
        f"{states} states: kernels {alone:.0f}, forward and backward {both:.0f} ({both / alone:.2f}); one state: call"
        f" {times[0]:.1f}, recorded {times[1]:.1f}, forward and backward {times[2]:.0f} (torch.addcmul {least:.0f})"
    )


def on_gpu(robot: lw.Robot, function: Callable[..., Any], dtype: Any, states: int = 65_536) -> str:
    *arrays, weight = tensors(robot, states, "cuda", dtype)
    inputs = [x.clone().requires_grad_() for x in arrays]
    name, wait = str(dtype).removeprefix("torch."), torch.cuda.synchronize
    kernel = lw.compile(function, robot, target="cuda", dtype=name)
    expected = lw.compile(function, robot, dtype=name)(*(x[:1000].cpu().numpy() for x in arrays))
    error = abs(function(robot, *arrays)[:1000].cpu().numpy() - expected).max() / abs(expected).max()
    small = [x[:64].contiguous() for x in arrays]
    host = best(lambda: kernel(*small), 1000)
    forward = best(lambda: function(robot, *arrays), 100, wait=wait)
    both = best(lambda: torch.autograd.grad(function(robot, *inputs), inputs, weight), 100, wait=wait)
    return (
        f"{name}, {states} states: forward {forward:.1f}, forward and backward {both:.1f}; host time of a compiled"
        f" kernel's call {host:.1f}; error beside the CPU {error:.0e}"
    )


def main() -> None:
    torch.set_num_threads(1)
    print(
        f"{platform.processor() or platform.machine()}, Python {platform.python_version()}, torch {torch.__version__}"
    )
    for name in ROBOTS:
        robot = lw.load(name)
        for function in FUNCTIONS:
            print(f"{name}, {function.__name__}: {on_cpu(robot, function)}", flush=True)
    if torch.cuda.is_available():
        print(torch.cuda.get_device_name())
        for name in ROBOTS:
            robot = lw.load(name)
            for function in FUNCTIONS:
                for dtype in (torch.float32, torch.float64):
                    print(f"{name}, {function.__name__}: {on_gpu(robot, function, dtype)}", flush=True)


if __name__ == "__main__":
    main()
