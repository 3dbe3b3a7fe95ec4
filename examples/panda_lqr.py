"""A Panda is pulled away from a pose and brought back by a linear-quadratic regulator: how far does the model reach?

The linear model comes from `lw.linearize` about an equilibrium, the gains from the Riccati equation. It predicts the
motion, and the cost xᵀ P x of bringing the arm back; both are compared with simulations of the whole arm, from near and
from far.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure

import linkwise as lw

PICTURES = Path(__file__).resolve().parent.parent / "pictures"
POSE = np.array([0.0, -0.3, 0.0, -1.9, 0.0, 1.7, 0.8])
SECONDS, SAMPLES = 2.0, 401
STEP = 0.001  # s, of the discrete model
STATES = 300
FARTHEST = 1.2  # rad that a joint is off at most


class Regulator(NamedTuple):
    """τ = τ* - K x, with x = (q - q*, q̇), and the matrix P of the cost xᵀ P x of each deviation."""

    arm: lw.Robot
    rest: lw.results.Equilibrium
    model: lw.results.LinearModel
    K: np.ndarray
    P: np.ndarray

    def __call__(self, arm: lw.Robot, t: object, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        n = arm.n
        return self.rest.tau - self.K[:, :n] @ (q - self.rest.q) - self.K[:, n:] @ qd


def panda() -> lw.Robot:
    """The arm with its fingers closed for good: 7 joints."""
    free = ("name", "parent", "mass", "com", "inertia", "translation", "rotation")
    rows = [
        row if "finger" not in row["name"] else {key: row[key] for key in free if key in row} | {"joint": "fixed"}
        for row in lw.load("panda").rows
    ]
    return lw.Robot.from_frames(rows, gravity=(0, 0, -9.81), name="panda")


def weights(arm: lw.Robot) -> tuple[np.ndarray, np.ndarray]:
    """Of deviations, and of torques beside those that the drives can give: a radian counts as half of these."""
    return np.diag([1.0] * arm.n + [0.05] * arm.n), np.diag((0.5 / np.array(arm.effort_limits)) ** 2)


def riccati(A: np.ndarray, B: np.ndarray, Q: np.ndarray, R: np.ndarray) -> np.ndarray:
    """P of the regulator, by doubling: each step takes the horizon to twice its length."""
    G, P, one = B @ np.linalg.solve(R, B.T), Q, np.eye(len(A))
    for _ in range(60):
        inverse = np.linalg.inv(one + G @ P)
        last, P = P, P + A.T @ P @ inverse @ A
        A, G = A @ inverse @ A, G + A @ inverse @ G @ A.T
        if np.abs(P - last).max() < 1e-13 * np.abs(P).max():
            return P
    raise ArithmeticError("the Riccati equation has no solution that this iteration finds")


def regulator(arm: lw.Robot) -> Regulator:
    rest = lw.equilibrium(arm, POSE)
    model = lw.linearize(arm, rest.q, np.zeros(arm.n), rest.tau, STEP, friction=True)
    Q, R = weights(arm)
    P = riccati(*model, Q * STEP, R * STEP)
    K = np.linalg.solve(R * STEP + model.B.T @ P @ model.B, model.B.T @ P @ model.A)
    return Regulator(arm, rest, model, K, P)


def released(law: Regulator, off: np.ndarray) -> lw.Recording:
    """Simulations of the arm, let go at each of these deviations of its angles."""
    return lw.simulate(law.arm, law.rest.q + off, duration=SECONDS, torque=law, samples=SAMPLES, friction=True)


def predicted(law: Regulator, off: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What the linear model says: times, and the deviations of the angles."""
    x = np.concatenate([off, np.zeros_like(off)])
    closed = law.model.A - law.model.B @ law.K
    path = [x]
    for _ in range(round(SECONDS / STEP)):
        path.append(closed @ path[-1])
    return STEP * np.arange(len(path)), np.array(path)[:, : len(off)]


def costs(law: Regulator, run: lw.Recording) -> np.ndarray:
    """∫ xᵀ Q x + uᵀ R u of each simulation, by the trapezoidal rule."""
    Q, R = weights(law.arm)
    x = np.concatenate([run.q - law.rest.q, run.qd], axis=-1)
    u = run.tau - law.rest.tau
    rate = np.einsum("...i,ij,...j", x, Q, x) + np.einsum("...i,ij,...j", u, R, u)
    return np.trapezoid(rate, run.t, axis=-1)


def deviations(arm: lw.Robot) -> np.ndarray:
    """Directions at random, the largest angle from 0.01 rad to the farthest."""
    random = np.random.default_rng(0)
    off = random.uniform(-1.0, 1.0, size=(STATES, arm.n))
    return off / np.abs(off).max(axis=-1, keepdims=True) * np.geomspace(0.01, FARTHEST, STATES)[:, None]


def picture(law: Regulator, off: np.ndarray, ratio: np.ndarray) -> Figure:
    figure = Figure(figsize=(10.5, 4.2), layout="constrained")
    near, far, cost = figure.subplots(1, 3, width_ratios=(1, 1, 1.1))
    for axes, size in ((near, 0.05), (far, 0.8)):
        start = size * np.array([1.0, -0.8, 0.6, 0.9, -0.7, 0.5, -1.0])
        run, (t, path) = released(law, start), predicted(law, start)
        lines = axes.plot(run.t, run.q - law.rest.q, linewidth=1.6)
        for line, model in zip(lines, path.T, strict=True):
            axes.plot(t, model, "--", color=line.get_color(), linewidth=1.0)
        axes.set_title(f"let go {size} rad off", fontsize="medium")
        axes.set_xlabel("time (s)")
        axes.set_ylabel("deviation of the joints (rad)")
        axes.set_xlim(0, SECONDS)
        axes.grid(alpha=0.3)
    far.plot([], [], "k-", linewidth=1.6, label="the arm")
    far.plot([], [], "k--", linewidth=1.0, label="its linear model")
    far.legend(frameon=False, fontsize="small")
    cost.axhline(1.0, color="0.4", linewidth=1.0)
    cost.plot(np.abs(off).max(axis=-1), ratio, ".", markersize=4)
    cost.set_xscale("log")
    cost.set_xlabel("largest deviation at the start (rad)")
    cost.set_title("cost, beside the model's $x^T P x$", fontsize="medium")
    cost.grid(alpha=0.3)
    return figure


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=PICTURES, help="folder for the picture")
    folder = parser.parse_args(arguments).out
    folder.mkdir(parents=True, exist_ok=True)
    law = regulator(panda())
    slowest = np.abs(np.linalg.eigvals(law.model.A - law.model.B @ law.K)).max()
    print(f"{law.arm.name}: linear model of {law.model.A.shape[0]} states, held for {STEP * 1e3:.0f} ms")
    print(f"open, its fastest mode grows by {np.abs(np.linalg.eigvals(law.model.A)).max():.4f} in a step;", end="")
    print(f" closed, the slowest falls to {slowest:.4f}")
    off = deviations(law.arm)
    run = released(law, off)
    x = np.concatenate([off, np.zeros_like(off)], axis=-1)
    ratio = costs(law, run) / np.einsum("ki,ij,kj->k", x, law.P, x)
    size = np.abs(off).max(axis=-1)
    for low, high in ((0.0, 0.1), (0.1, 0.5), (0.5, FARTHEST + 1)):
        here = ratio[(size >= low) & (size < high)]
        print(f"let go {low} to {min(high, FARTHEST)} rad off: {here.min():.3f} to {here.max():.3f} of the cost x' P x")
    print(f"after {SECONDS} s all of {STATES} arms are within {np.abs(run.q[:, -1] - law.rest.q).max():.1e} rad")
    picture(law, off, ratio).savefig(folder / "panda_lqr.png", dpi=110)
    print(f"picture: {folder / 'panda_lqr.png'}")


if __name__ == "__main__":
    main()
