"""A Panda reaches for a point by model predictive path integral control: hundreds of rollouts for every torque.

In each period the plan, a table of torques, is disturbed in many ways; all tables are simulated, and the plan becomes
their mean with the weights exp(-cost / temperature). The arm that is moved holds a load of which the model knows
nothing. With `--target cuda` rollouts and costs are computed on a GPU, from tensors of torch.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import linkwise as lw

PICTURES = Path(__file__).resolve().parent.parent / "pictures"
START = np.array([0.0, -0.3, 0.0, -2.2, 0.0, 2.0, 0.8])
GOAL = np.array([0.4, 0.35, 0.45])  # m, of the hand
ROWS, HOLD, STEP = 16, 4, 0.005  # rows of a plan, each held over so many steps of that length
NOISE = np.array([12.0, 12.0, 8.0, 8.0, 2.0, 2.0, 1.0])  # N m
DAMPING = np.array([16.0, 16.0, 16.0, 16.0, 2.0, 2.0, 0.6])  # N m s/rad, of the drives
TEMPERATURE = 0.005
HAND = "panda_hand_tcp"
FRICTION = lw.Friction(viscous=0.5, coulomb=0.3, smooth=0.4)  # as smooth as such steps need: docs/rollouts.md


def cost(arm: lw.Robot, q: np.ndarray, qd: np.ndarray, goal: np.ndarray) -> np.ndarray:
    """How far the hand is from the goal (m, and more where it is near), and how fast the joints are."""
    off = lw.poses(arm, q, frames=[HAND])[0, :3, 3] - goal
    square = (off * off).sum()
    return np.sqrt(square + 1e-6) + 5.0 * square + 0.004 * (qd * qd).sum()


def reach(target: str = "cpu", rollouts: int = 512, periods: int = 75, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """After each period: how far the hand is from the goal (m), and the torques beside gravity (N m)."""
    model = lw.load("panda").with_locked("panda_finger_joint1", 0.02)
    loaded = model.with_payload(1.0, link=HAND)

    def carry(arm: lw.Robot, t: Any, q: Any, qd: Any) -> Any:
        return lw.gravity_torque(model, q) - DAMPING * qd  # without the load

    options: dict[str, Any] = {"dt": STEP, "hold": HOLD, "torque": carry, "friction": FRICTION}
    imagine = lw.compile(lw.rollout, model, steps=ROWS * HOLD, every=HOLD, target=target, dtype="float32", **options)
    move = lw.compile(lw.rollout, loaded, steps=HOLD, **options)
    costs = lw.compile(cost, model, goal=lw.Input(3), target=target, dtype="float32")
    xp, array = library(target)
    rng, goal, plan = np.random.default_rng(seed), array(GOAL), array(np.zeros((ROWS, model.n)))
    q, qd, distances, torques = START, np.zeros(model.n), [], []
    for _ in range(periods):
        tables = plan + array(NOISE * rng.standard_normal((rollouts, ROWS, model.n), dtype=np.float32))
        runs = imagine(array(q), array(qd), table=tables)
        total = xp.nan_to_num(costs(runs.q, runs.qd, goal).mean(-1), nan=100.0).clip(max=100.0)  # NaN: it was lost
        weights = xp.exp((total.min() - total) / TEMPERATURE)
        plan = xp.einsum("k,krn->rn", weights / weights.sum(), tables)
        torques.append(plan[0].tolist())
        end = move(q, qd, table=torques[-1:])
        q, qd, plan = end.q_end, end.qd_end, xp.concatenate([plan[1:], plan[-1:]])
        distances.append(np.linalg.norm(lw.poses(loaded, q, frames=[HAND])[0, :3, 3] - GOAL))
    return np.array(distances), np.array(torques)


def library(target: str) -> tuple[Any, Callable[[Any], Any]]:
    """NumPy or, on a GPU, torch; and what makes an array of it."""
    if target == "cpu":
        return np, lambda x: np.asarray(x, dtype=np.float32)
    import torch

    return torch, lambda x: torch.as_tensor(np.asarray(x, dtype=np.float32), device="cuda")


def picture(distances: np.ndarray, torques: np.ndarray) -> Figure:
    figure = Figure(figsize=(9.0, 3.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    t = HOLD * STEP * np.arange(1, len(distances) + 1)
    left.semilogy(t, 100 * distances)
    left.minorticks_off()
    left.set_yticks([1, 2, 5, 10, 20, 40], ["1", "2", "5", "10", "20", "40"])
    left.set(xlabel="t (s)", ylabel="from the goal (cm)", title="The hand")
    right.step(t, torques, where="pre", label=[f"joint {k}" for k in range(1, 8)])
    right.set(xlabel="t (s)", ylabel="torque beside gravity (N m)", title="What was applied")
    right.legend(fontsize="x-small", ncols=2)
    return figure


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--out", type=Path, default=PICTURES)
    parser.add_argument("--target", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--rollouts", type=int, default=512)
    options = parser.parse_args(arguments)
    begin = time.perf_counter()
    distances, torques = reach(options.target, options.rollouts)
    seconds = (time.perf_counter() - begin) / len(distances)
    print(f"{options.rollouts} rollouts of {ROWS * HOLD} steps in each period, which took {1e3 * seconds:.0f} ms")
    print(f"the hand was {100 * distances[0]:.1f} cm from the goal, and is {100 * distances[-10:].mean():.1f} cm now")
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / "mppi.png"
    picture(distances, torques).savefig(path, dpi=150)
    print(path)


if __name__ == "__main__":
    main()
