"""Who computes what: the six functions of the tables, each by Linkwise and by every peer that is installed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from arms import Arm
from timing import Contestant, optional

import linkwise as lw

PEERS = ("pinocchio", "mujoco", "casadi", "jax")


class Task(NamedTuple):
    label: str
    function: Callable[..., Any]
    inputs: tuple[str, ...]
    textbook: str | None  # the method of the plain text that CasADi gets
    fewest: str | None  # the one that Linkwise compiles
    pinocchio: str


TASKS = (
    Task("inverse dynamics", lw.inverse_dynamics, ("q", "qd", "qdd"), "newton-euler", "fewest", "rnea"),
    Task("forward dynamics", lw.forward_dynamics, ("q", "qd", "tau"), "articulated", "fewest", "aba"),
    Task("inertia matrix", lw.inertia_matrix, ("q",), "composite", "fewest", "crba"),
    Task("its inverse", lw.inverse_inertia_matrix, ("q",), None, None, "computeMinverse"),
    Task("bias", lw.bias_torque, ("q", "qd"), None, None, "nonLinearEffects"),
    Task("gravity", lw.gravity_torque, ("q",), None, None, "computeGeneralizedGravity"),
)
ID, FD, M = TASKS[:3]
SYMMETRIC = ("crba", "computeMinverse")

KERNEL, KERNEL_OUT, KERNEL_THREADS = "Linkwise kernel", "Linkwise kernel, out=", "Linkwise kernel, threads=1"
FUNCTION, PLAIN = "Linkwise function", "Linkwise plain text"
PARALLEL, LOOP, MUJOCO = "Pinocchio …InParallel(1)", "Pinocchio, Python loop", "MuJoCo, Python loop"
CASADI, CASADI_FEWEST = "CasADi C, gcc", "CasADi C, gcc, our equations"
JAX = "JAX, scan, vmap, jit"
CALL, MUJOCO_CALL, CASADI_CALL = "Pinocchio", "MuJoCo", "CasADi C, arrays bound once"


MODULES = {"pinocchio": "pinocchio", "mujoco": "mujoco", "casadi": "casadi_c", "jax": "jax_scan"}
NAMES = {"pinocchio": "Pinocchio", "mujoco": "MuJoCo", "casadi": "CasADi with gcc", "jax": "JAX"}


def absent(peers: Sequence[str]) -> list[str]:
    """Those that cannot run here."""
    return [NAMES[peer] for peer in peers if optional(MODULES[peer]) is None]


def plain(function: Callable[..., Any], arm: lw.Robot, *arrays: np.ndarray) -> Any:
    with lw.use_kernels("never"):
        return function(arm, *arrays)


def linkwise(arm: Arm, task: Task, arrays: Sequence[np.ndarray]) -> Iterator[Contestant]:
    """The kernel in hand, and the public function after it has been compiled."""
    inputs = ", ".join(task.inputs)
    kernel = lw.compile(task.function, arm.robot)
    names = dict(zip(task.inputs, arrays, strict=True))
    names |= {"kernel": kernel, "function": task.function, "arm": arm.robot, "plain": plain}
    with lw.use_kernels("always"):
        names["out"] = task.function(arm.robot, *arrays)
    yield Contestant(KERNEL, f"kernel({inputs})", names)
    yield Contestant(KERNEL_OUT, f"kernel({inputs}, out=out)", names)
    yield Contestant(KERNEL_THREADS, f"kernel({inputs}, threads=1)", names)
    yield Contestant(FUNCTION, f"function(arm, {inputs})", names)
    yield Contestant(PLAIN, f"plain(function, arm, {inputs})", names)


def whole(matrix: np.ndarray) -> np.ndarray:
    """Pinocchio fills the upper triangle of a symmetric matrix."""
    upper = np.triu(matrix)
    return upper + np.triu(matrix, 1).T


def pinocchio_names(arm: Arm, task: Task, arrays: Sequence[np.ndarray]) -> dict[str, Any]:
    pin = optional("pinocchio")
    names = {"pin": pin, "f": getattr(pin, task.pinocchio), "model": arm.pinocchio, "data": arm.pinocchio.createData()}
    return {**names, **dict(zip(task.inputs, arrays, strict=True)), "np": np, "whole": whole}


def pinocchio_batch(arm: Arm, task: Task, arrays: Sequence[np.ndarray]) -> Iterator[Contestant]:
    names = pinocchio_names(arm, task, arrays)
    kept = "whole(f(model, data, *x))" if task.pinocchio in SYMMETRIC else "f(model, data, *x)"
    loop = "[{} for x in zip(" + ", ".join(task.inputs) + ")]"
    if task in (ID, FD):
        yield in_parallel(arm, task, arrays, 1)
    yield Contestant(LOOP, loop.format("f(model, data, *x)"), names, f"np.array({loop.format(kept)})")


def in_parallel(arm: Arm, task: Task, arrays: Sequence[np.ndarray], threads: int, label: str = PARALLEL) -> Contestant:
    pin = optional("pinocchio")
    names = {name: np.asfortranarray(array.T) for name, array in zip(task.inputs, arrays, strict=True)}
    names |= {"f": getattr(pin, f"{task.pinocchio}InParallel"), "pool": pin.ModelPool(arm.pinocchio, threads)}
    names["out"] = np.zeros_like(names["q"])
    return Contestant(label, f"f({threads}, pool, {', '.join(task.inputs)}, out)", names, "out.T")


def mujoco_call(arm: Arm, task: Task) -> Callable[..., np.ndarray]:
    """Set the state, call, copy the result out."""
    mujoco = optional("mujoco")
    model, data = arm.mujoco, mujoco.MjData(arm.mujoco)
    inverse, forward = mujoco.mj_inverse, mujoco.mj_forward
    qpos, qvel, qacc = data.qpos, data.qvel, data.qacc
    needed, applied = data.qfrc_inverse, data.qfrc_applied

    def inverse_dynamics(q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        qpos[:], qvel[:], qacc[:] = q, qd, qdd
        inverse(model, data)
        return needed.copy()

    def forward_dynamics(q: np.ndarray, qd: np.ndarray, tau: np.ndarray) -> np.ndarray:
        qpos[:], qvel[:], applied[:] = q, qd, tau
        forward(model, data)
        return qacc.copy()

    return inverse_dynamics if task is ID else forward_dynamics


def casadi_loop(arm: Arm, task: Task, arrays: Sequence[np.ndarray], label: str, method: str | None) -> Contestant:
    code = optional("casadi_c").Loop(task.function, arm.robot, task.inputs, method)
    loop, out = code.bound(arrays)
    return Contestant(label, "loop()", {"loop": loop, "out": out, "kept": code}, "out")


def batch(arm: Arm, task: Task, count: int, peers: Sequence[str] = PEERS) -> list[Contestant]:
    """Everyone, on a batch of so many states."""
    states = arm.states(count)
    arrays = [states[name] for name in task.inputs]
    found = list(linkwise(arm, task, arrays))
    if "pinocchio" in peers and arm.pinocchio:
        found += pinocchio_batch(arm, task, arrays)
    if "mujoco" in peers and arm.mujoco and task in (ID, FD):
        names = {"f": mujoco_call(arm, task), **dict(zip(task.inputs, arrays, strict=True))}
        found.append(Contestant(MUJOCO, f"[f(*x) for x in zip({', '.join(task.inputs)})]", names))
    if "casadi" in peers and optional("casadi_c"):
        for label, method in ((CASADI, task.textbook), (CASADI_FEWEST, task.fewest)):
            if label == CASADI or method:
                found.append(casadi_loop(arm, task, arrays, label, method))
    jax = optional("jax_scan") if "jax" in peers else None
    if jax:
        names = {name: jax.jnp.asarray(array) for name, array in zip(task.inputs, arrays, strict=True)}
        names["f"] = jax.functions(arm.robot)[task.function]
        found.append(Contestant(JAX, f"f({', '.join(task.inputs)}).block_until_ready()", names))
    return found


def one_state(arm: Arm, task: Task, peers: Sequence[str] = PEERS) -> list[Contestant]:
    """Everyone, on the arrays of one state."""
    states = arm.states(1)
    arrays = [states[name][0] for name in task.inputs]
    found = [c for c in linkwise(arm, task, arrays) if c.label != KERNEL_THREADS]
    if "pinocchio" in peers and arm.pinocchio:
        names, call = pinocchio_names(arm, task, arrays), f"f(model, data, {', '.join(task.inputs)})"
        found.append(Contestant(CALL, call, names, f"whole({call})" if task.pinocchio in SYMMETRIC else ""))
    if "mujoco" in peers and arm.mujoco and task in (ID, FD):
        names = {"f": mujoco_call(arm, task), **dict(zip(task.inputs, arrays, strict=True))}
        found.append(Contestant(MUJOCO_CALL, f"f({', '.join(task.inputs)})", names))
    if "casadi" in peers and optional("casadi_c"):
        found.append(casadi_loop(arm, task, arrays, CASADI_CALL, task.textbook))
    return found
