"""A Panda lifts a load with as little torque as possible: the motion is found by iLQR.

Iterative linear-quadratic regulation improves a motion step by step: the arm is linearised along it (`lw.linearize`,
all points at once), the Riccati recursion runs back from the goal, and the torques it asks for are tried on the arm,
eight step sizes at a time, in one batch of `lw.forward_dynamics`. The picture compares the motion with a quintic
trajectory between the same poses in the same time.

Angles and rates beyond the limits of the joints cost, so that the motion stays within them but for a little.

W. Li, E. Todorov: Iterative linear quadratic regulator design for nonlinear biological movement systems, ICINCO 2004;
the damping is that of Y. Tassa, T. Erez, E. Todorov, IROS 2012.
"""

from __future__ import annotations

import argparse
import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

import linkwise as lw

PICTURES = Path(__file__).resolve().parent.parent / "pictures"
START = np.array([-0.9, 0.9, 0.2, -1.6, 0.0, 2.3, 0.8])
GOAL = np.array([0.9, -0.4, -0.2, -1.9, 0.0, 2.0, 0.8])
LOAD = 2.0  # kg in the hand
SECONDS, STEPS = 1.6, 160
H = SECONDS / STEPS
NEAR, STILL = 2e3, 50.0  # weights of the goal: rad² and (rad/s)²
BEYOND = 20.0  # weight of angles and rates beyond their limits
TRIED = 0.5 ** np.arange(8)  # parts of a step
ITERATIONS = 60
COLOURS = mpl.colormaps["viridis_r"]


class Motion(NamedTuple):
    """States (STEPS + 1, 2n) and torques (STEPS, n); with several in front, as many motions."""

    x: np.ndarray
    u: np.ndarray


class Task(NamedTuple):
    arm: lw.Robot
    R: np.ndarray  # of torques, each beside what its drive can give
    low: np.ndarray  # limits of angles and rates
    high: np.ndarray

    def rate(self, x: np.ndarray, u: np.ndarray) -> np.ndarray:
        """ẋ = (q̇, q̈)."""
        q, qd = np.split(x, 2, axis=-1)
        return np.concatenate([qd, lw.forward_dynamics(self.arm, q, qd, u)], axis=-1)

    def step(self, x: np.ndarray, u: np.ndarray) -> np.ndarray:
        """One step by Runge and Kutta's method, the torques held."""
        k1 = self.rate(x, u)
        k2 = self.rate(x + H / 2 * k1, u)
        k3 = self.rate(x + H / 2 * k2, u)
        return x + H / 6 * (k1 + 2 * k2 + 2 * k3 + self.rate(x + H * k3, u))

    def slopes(self, x: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The exact derivatives of all steps, by x and by u: the chain rule over the four stages."""
        by_x, by_u, k = [], [], np.zeros_like(x)
        one = np.eye(x.shape[-1])
        for part in (0.0, 0.5, 0.5, 1.0):
            at = x + part * H * k
            A, B = lw.linearize(self.arm, *np.split(at, 2, axis=-1), u)
            by_u.append(B + part * H * A @ (by_u[-1] if by_u else 0 * B))
            by_x.append(A @ (one + part * H * (by_x[-1] if by_x else 0 * A)))
            k = self.rate(at, u)
        (a1, a2, a3, a4), (b1, b2, b3, b4) = by_x, by_u
        return one + H / 6 * (a1 + 2 * a2 + 2 * a3 + a4), H / 6 * (b1 + 2 * b2 + 2 * b3 + b4)

    def cost(self, motion: Motion) -> np.ndarray:
        miss, rest = np.split(motion.x[..., -1, :] - self.goal, 2, axis=-1)
        effort = H / 2 * np.einsum("...ki,ij,...kj", motion.u, self.R, motion.u)
        limits = H * BEYOND / 2 * (self.beyond(motion.x) ** 2).sum((-2, -1))
        return effort + limits + NEAR / 2 * (miss**2).sum(-1) + STILL / 2 * (rest**2).sum(-1)

    def beyond(self, x: np.ndarray) -> np.ndarray:
        """How far each number is beyond its limits; 0 within."""
        return np.maximum(x - self.high, 0.0) + np.minimum(x - self.low, 0.0)

    @property
    def goal(self) -> np.ndarray:
        return np.concatenate([GOAL, np.zeros(self.arm.n)])


def task() -> Task:
    arm = panda().with_payload(LOAD, (0, 0, 0.1), 0.002 * np.eye(3))
    low, high = np.transpose([link.joint.limits for link in arm.links])
    fastest = np.array(arm.velocity_limits)
    R = np.diag(1.0 / np.array(arm.effort_limits) ** 2)
    return Task(arm, R, np.concatenate([low, -fastest]), np.concatenate([high, fastest]))


def panda() -> lw.Robot:
    """The robot of the other example."""
    spec = importlib.util.spec_from_file_location("panda_lqr", Path(__file__).with_name("panda_lqr.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.panda()


def quintic(problem: Task) -> Motion:
    """The motion to begin with, along a quintic trajectory."""
    t = H * np.arange(STEPS + 1)
    goal = lw.trajectories.quintic(START, GOAL, SECONDS)(t)
    u = lw.inverse_dynamics(problem.arm, goal.q, goal.qd, goal.qdd)
    return Motion(np.concatenate([goal.q, goal.qd], axis=-1), (u[:-1] + u[1:]) / 2)


def rollout(problem: Task, motion: Motion, k: np.ndarray, K: np.ndarray, parts: np.ndarray) -> Motion:
    """Motions with the torques u + part k + K (x - x_before), one for each part."""
    x = [np.tile(motion.x[0], (len(parts), 1))]
    u = []
    for i in range(STEPS):
        u.append(motion.u[i] + parts[:, None] * k[i] + (x[-1] - motion.x[i]) @ K[i].T)
        x.append(problem.step(x[-1], u[-1]))
    return Motion(np.stack(x, axis=1), np.stack(u, axis=1))


def gains(problem: Task, motion: Motion, damping: float) -> tuple[np.ndarray, np.ndarray]:
    """k, K of each step, by the recursion from the goal back."""
    A, B = problem.slopes(motion.x[:-1], motion.u)
    n = problem.arm.n
    V = np.diag([NEAR] * n + [STILL] * n)
    v = V @ (motion.x[-1] - problem.goal)
    k, K = np.zeros((STEPS, n)), np.zeros((STEPS, n, 2 * n))
    over = problem.beyond(motion.x)
    for i in reversed(range(STEPS)):
        Q_u = H * problem.R @ motion.u[i] + B[i].T @ v
        Q_uu = H * problem.R + B[i].T @ V @ B[i]
        Q_ux = B[i].T @ V @ A[i]
        W = V + damping * np.eye(2 * n)  # leaving the states of the motion costs, so that its model holds
        Q_uu_W = H * problem.R + B[i].T @ W @ B[i]
        k[i], K[i] = -np.linalg.solve(Q_uu_W, Q_u), -np.linalg.solve(Q_uu_W, B[i].T @ W @ A[i])
        v = A[i].T @ v + K[i].T @ (Q_uu @ k[i] + Q_u) + Q_ux.T @ k[i]
        V = A[i].T @ V @ A[i] + K[i].T @ Q_uu @ K[i] + K[i].T @ Q_ux + Q_ux.T @ K[i]
        v, V = v + H * BEYOND * over[i], (V + V.T) / 2 + H * BEYOND * np.diag(over[i] != 0.0)
    return k, K


def optimised(problem: Task) -> tuple[Motion, list[float]]:
    """The motion, and the cost after each iteration."""
    first = quintic(problem)
    inertia = lw.inertia_matrix(problem.arm, first.x[:-1, : problem.arm.n])
    follow = -np.concatenate([100.0 * inertia, 20.0 * inertia], axis=-1)  # errors die out as e^(-10 t)
    motion = rollout(problem, first, np.zeros_like(first.u), follow, np.ones(1))
    motion = Motion(motion.x[0], motion.u[0])
    history, damping = [float(problem.cost(motion))], 1e-3
    for _ in range(ITERATIONS):
        k, K = gains(problem, motion, damping)
        with np.errstate(over="ignore", invalid="ignore"):  # a step that is too long may throw the arm anywhere
            tried = rollout(problem, motion, k, K, TRIED)
            cost = np.nan_to_num(problem.cost(tried), nan=np.inf)
        best = int(cost.argmin())
        if cost[best] >= history[-1]:
            damping *= 5
            continue
        motion, damping = Motion(tried.x[best], tried.u[best]), damping / 3 if best < 3 else damping * 2
        history.append(float(cost[best]))
    return motion, history


def effort(problem: Task, u: np.ndarray) -> float:
    """The root mean square of the torques, each beside what its drive can give."""
    return float(np.sqrt(np.einsum("ki,ij,kj->k", u, problem.R, u).mean()))


def picture(problem: Task, before: Motion, motion: Motion, history: list[float]) -> Figure:
    arm, n = problem.arm, problem.arm.n
    frames = (*(f"panda_link{k}" for k in range(1, 8)), "panda_hand_tcp")
    figure = Figure(figsize=(11, 4.6), layout="constrained")
    left, right = figure.subfigures(1, 2, width_ratios=(1.0, 1.25))
    space = left.add_subplot(projection="3d")
    points = lw.poses(arm, motion.x[:, :n], frames=frames)[..., :3, 3]
    points = np.concatenate([np.zeros_like(points[:, :1]), points], axis=1)
    for k in np.linspace(0, STEPS, 11).astype(int):
        late = k / STEPS
        shade = {"color": COLOURS(0.15 + 0.8 * late), "alpha": 0.4 + 0.6 * late}
        space.plot(*points[k].T, "-o", linewidth=1.5 + 2.0 * late, markersize=2 + 2 * late, **shade)
    space.plot(*points[:, -1].T, color="#d55e00", linewidth=1.6, label="iLQR")
    straight = lw.poses(arm, before.x[:, :n], frames=frames)[:, -1, :3, 3]
    space.plot(*straight.T, color="0.3", linestyle="--", linewidth=1.3, label="quintic")
    space.set_box_aspect(np.ptp(points.reshape(-1, 3), axis=0), zoom=1.2)
    space.view_init(elev=22, azim=-60)
    space.set_axis_off()
    space.legend(frameon=False, fontsize="small", loc="upper left")
    upper, lower = right.subplots(2, 1)
    t = H * (np.arange(STEPS) + 0.5)
    for name, u, style in (("quintic", before.u, "--"), ("iLQR", motion.u, "-")):
        beside = u @ np.sqrt(problem.R)
        label = f"{name}, root mean square {effort(problem, u):.2f}"
        upper.plot(t, np.sqrt((beside**2).sum(-1)), style, color="#d55e00" if style == "-" else "0.3", label=label)
    upper.set_xlabel("time (s)")
    upper.set_ylabel("torques, beside\nwhat the drives give")
    upper.set_xlim(0, SECONDS)
    upper.set_ylim(0)
    upper.legend(frameon=False, fontsize="small", loc="upper right")
    lower.semilogy(np.array(history[:-1]) - history[-1], ".-", color="#0072b2")
    lower.set_xlabel("iteration")
    lower.set_ylabel("cost above the last")
    for axes in (upper, lower):
        axes.grid(alpha=0.3)
    return figure


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=PICTURES, help="folder for the picture")
    folder = parser.parse_args(arguments).out
    folder.mkdir(parents=True, exist_ok=True)
    problem = task()
    before = quintic(problem)
    motion, history = optimised(problem)
    n = problem.arm.n
    print(f"{problem.arm.name} with {LOAD} kg: {STEPS} steps of {H * 1e3:.0f} ms, {len(history) - 1} iterations")
    print(f"cost {history[0]:.4f} at the start, {history[-1]:.4f} at the end")
    print(
        f"effort: quintic {effort(problem, before.u):.3f}, iLQR {effort(problem, motion.u):.3f} of what the drives give"
    )
    miss, rate = np.abs(motion.x[-1, :n] - GOAL).max(), np.abs(motion.x[-1, n:]).max()
    print(f"beyond its limits by {np.abs(problem.beyond(motion.x)).max():.3f} rad or rad/s at most")
    print(f"at the goal to {miss:.1e} rad, {rate:.1e} rad/s")
    picture(problem, before, motion, history).savefig(folder / "panda_ilqr.png", dpi=110)
    print(f"picture: {folder / 'panda_ilqr.png'}")


if __name__ == "__main__":
    main()
