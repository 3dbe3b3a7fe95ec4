"""The Panda in MJX and in MuJoCo Warp, for `gpu.py`: nothing where they are not installed.

Both step worlds of bodies with contacts and constraints, which are switched off here; each call computes more than the
equations of motion alone. Before one is timed, its results must agree with Linkwise.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from report import Section, Table, spread
from timing import optional

import linkwise as lw

STEP = 1e-3
INVERSE, FORWARD = "inverse dynamics", "forward dynamics"
TASK_FUNCTIONS: dict[str, Any] = {INVERSE: lw.inverse_dynamics, FORWARD: lw.forward_dynamics}
Timed = tuple[list[float], float]  # seconds of calls, and of compilation
TOLERANCE = {"float32": 2e-3, "float64": 1e-9}  # of the largest number


def mjcf(robot: lw.Robot) -> str:
    """A chain of revolute joints in MuJoCo's format."""
    text, end = "", ""
    for link in robot.links:
        axes, origin = np.array(link.placement.axes.rows), np.array(list(link.placement.translation))
        i = link.inertia
        inertia = numbers([i.xx, i.yy, i.zz, i.xy, i.xz, i.yz])
        text += (
            f'<body pos="{numbers(origin)}" xyaxes="{numbers([*axes[:, 0], *axes[:, 1]])}">'
            f'<inertial mass="{link.mass!r}" pos="{numbers(link.com)}" fullinertia="{inertia}"/>'
            f'<joint type="hinge" axis="0 0 1" armature="{link.joint.rotor_inertia!r}"/>'
        )
        end += "</body>"
    return (
        f'<mujoco><compiler angle="radian" balanceinertia="false" boundmass="0" boundinertia="0"/>'
        f'<option gravity="{numbers(robot.gravity)}" integrator="RK4" timestep="{STEP}">'
        '<flag constraint="disable" contact="disable"/></option>'
        f"<worldbody>{text}{end}</worldbody></mujoco>"
    )


def numbers(values: Any) -> str:
    return " ".join(repr(float(x)) for x in values)


def given(robot: lw.Robot, count: int, dtype: str) -> list[np.ndarray]:
    """q, qd, and accelerations or torques."""
    rng = np.random.default_rng(4)
    return [rng.uniform(-x, x, (count, robot.n)).astype(dtype) for x in (1.5, 1.0, 5.0)]


def expected(robot: lw.Robot, task: str, arrays: list[np.ndarray], steps: int) -> np.ndarray:
    few = [x[:16].astype(float) for x in arrays]
    if task in TASK_FUNCTIONS:
        return np.asarray(TASK_FUNCTIONS[task](robot, *few))
    return np.asarray(lw.rollout(robot, few[0], few[1], steps=steps, dt=STEP, torque=few[2]).q_end)


def agree(found: Any, wanted: np.ndarray, dtype: str, who: str) -> None:
    error = np.abs(np.asarray(found)[: len(wanted)] - wanted).max() / np.abs(wanted).max()
    if not error < TOLERANCE[dtype]:
        raise AssertionError(f"{who} differs from Linkwise by {error:.1e} of the largest number")


def timed(call: Callable[[], Any], wait: Callable[[Any], Any], rounds: int = 5) -> Timed:
    started = time.perf_counter()
    wait(call())
    first, seconds = time.perf_counter() - started, []
    for _ in range(rounds):
        started = time.perf_counter()
        wait(call())
        seconds.append(time.perf_counter() - started)
    return seconds, first - min(seconds)


def mjx(robot: lw.Robot, task: str, dtype: str, count: int, steps: int) -> Timed | None:
    """A batch by `vmap` inside `jit`; rollouts are a loop of steps."""
    mujoco, jax = optional("mujoco"), optional("jax")
    module = optional("mujoco.mjx") if mujoco and jax else None
    if module is None:
        return None
    with jax.enable_x64(dtype == "float64"):
        return mjx_times(mujoco, module, jax, robot, task, dtype, count, steps)


def mjx_times(
    mujoco: Any, module: Any, jax: Any, robot: lw.Robot, task: str, dtype: str, count: int, steps: int
) -> Timed:
    plain = mujoco.MjModel.from_xml_string(mjcf(robot))
    model, start = module.put_model(plain), module.make_data(plain)
    arrays = given(robot, count, dtype)

    def one(q: Any, qd: Any, x: Any) -> Any:
        if task == INVERSE:
            return module.inverse(model, start.replace(qpos=q, qvel=qd, qacc=x)).qfrc_inverse
        data = start.replace(qpos=q, qvel=qd, qfrc_applied=x)
        if task == FORWARD:
            return module.forward(model, data).qacc
        return jax.lax.fori_loop(0, steps, lambda _, d: module.step(model, d), data).qpos

    run = jax.jit(jax.vmap(one))
    there = [jax.numpy.asarray(x) for x in arrays]
    figures = timed(lambda: run(*there), jax.block_until_ready)
    agree(run(*there), expected(robot, task, arrays, steps), dtype, "MJX")
    return figures


def warp(robot: lw.Robot, task: str, dtype: str, count: int, steps: int) -> Timed | None:
    """float32 alone; rollouts on a GPU are a CUDA graph of all steps."""
    mujoco, wp = optional("mujoco"), optional("warp")
    module = optional("mujoco_warp") if mujoco and wp and dtype == "float32" else None
    if module is None:
        return None
    wp.config.quiet = True  # its words would stand between the figures
    plain = mujoco.MjModel.from_xml_string(mjcf(robot))
    model, data = module.put_model(plain), module.make_data(plain, nworld=count)
    arrays = given(robot, count, dtype)

    def start() -> None:
        fields = ("qpos", "qvel", "qacc" if task == INVERSE else "qfrc_applied")
        for field, x in zip(fields, arrays, strict=True):
            wp.copy(getattr(data, field), wp.array(x, dtype=float))

    def work() -> None:
        if task == INVERSE:
            module.inverse(model, data)
        elif task == FORWARD:
            module.forward(model, data)
        else:
            for _ in range(steps):
                module.step(model, data)

    started = time.perf_counter()
    start()
    work()  # compiles
    wp.synchronize()
    compiling, call = time.perf_counter() - started, work
    if wp.get_device().is_cuda:
        with wp.ScopedCapture() as captured:
            work()
        graph = captured.graph

        def call() -> None:
            wp.capture_launch(graph)

    start()
    call()
    wp.synchronize()
    result = {INVERSE: "qfrc_inverse", FORWARD: "qacc"}.get(task, "qpos")
    agree(getattr(data, result).numpy(), expected(robot, task, arrays, steps), dtype, "MuJoCo Warp")
    seconds, _ = timed(call, lambda _: wp.synchronize())
    return seconds, compiling


PEERS = {"MJX": mjx, "MuJoCo Warp": warp}


def cases(count: int) -> Iterator[tuple[str, str, int]]:
    """What, in which dtype, with how many steps. Both are used in float32; MJX takes minutes to compile in float64."""
    for task, steps in ((INVERSE, 1), (FORWARD, 1), ("rollouts", 100 if count > 1 << 12 else 3)):
        yield task, "float32", steps


def mujoco_peers(
    section: Section, robot: lw.Robot, own: Callable[[str, str, list[np.ndarray], int], list[float]], count: int
) -> None:
    """Beside `own`, which gives Linkwise's seconds for the same work in the same run."""
    rows = []
    for task, dtype, steps in cases(count):
        found = {name: peer(robot, task, dtype, count, steps) for name, peer in PEERS.items()}
        if not any(found.values()):
            continue
        seconds = own(task, dtype, given(robot, count, dtype), steps)
        row = [f"Panda, {task}", dtype, spread([count * steps / t for t in seconds], 1e-9)]
        for figures in found.values():
            row.append("" if figures is None else spread([count * steps / t for t in figures[0]], 1e-9))
            row.append("" if figures is None else f"{figures[1]:.0f} s")
        rows.append(row)
        print(*row, sep=" | ", file=sys.stderr, flush=True)
    if not rows:
        return
    header = ["1e9 states/s or robot-steps/s", "dtype", "Linkwise"]
    header += [cell for name in PEERS for cell in (name, "compilation")]
    caption = f"MuJoCo on GPUs, {count:,} worlds; rollouts of RK4 with steps of {STEP:g} s:"
    section.tables.append(Table(caption, header, rows))
    section.remarks.append(
        "MJX (inside `jit`) and MuJoCo Warp (a CUDA graph) simulate the same Panda with contacts and constraints off."
        " `mjx.inverse`, `mjx.forward` and `step` compute more than these equations. Their results agree with"
        " Linkwise's before they are timed, by the host's clock, which also times Linkwise here."
    )
