"""A chain of eight links on ball joints is let go from the side, with a push sideways, and whips around.

The picture shows the chain at equal times, early ones pale and late ones dark, and the path of its end; beside it the
energies, whose sum stays the same.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

import linkwise as lw

PICTURES = Path(__file__).resolve().parent.parent / "pictures"
SECONDS = 1.6
ANGLE = 1.4  # rad from the vertical, at the start
PUSH = 1.5  # rad/s about the vertical, at the start
SHOWN = 21  # positions of the chain in the picture
COLOURS = mpl.colormaps["viridis_r"]


def motion() -> lw.Recording:
    """The chain as a straight line at first, its upper end at the origin."""
    arm = lw.load("ball_chain")
    q0, qd0 = lw.neutral(arm), np.zeros(arm.n)
    q0[:4] = np.cos(ANGLE / 2), 0.0, -np.sin(ANGLE / 2), 0.0  # the first link about y; the others follow
    qd0[:3] = np.array([np.sin(ANGLE), 0.0, np.cos(ANGLE)]) * PUSH  # the vertical, in the axes of the first link
    return lw.simulate(arm, q0, qd0, SECONDS, rtol=1e-10, samples=641)


def joint_positions(recording: lw.Recording) -> np.ndarray:
    """Where the joints and the lower end of the chain are: (samples, 9, 3)."""
    poses = lw.poses(recording.robot, recording.q)
    end = poses[:, -1, :3, 3] - 0.2 * poses[:, -1, :3, 2]
    return np.concatenate([poses[..., :3, 3], end[:, None]], axis=1)


def energies(recording: lw.Recording) -> tuple[np.ndarray, np.ndarray]:
    """Kinetic, and potential above the lowest that the chain can have."""
    arm = recording.robot
    lowest = lw.potential_energy(arm, lw.neutral(arm))
    return lw.kinetic_energy(arm, recording.q, recording.qd), lw.potential_energy(arm, recording.q) - lowest


def picture(recording: lw.Recording) -> Figure:
    points = joint_positions(recording)
    figure = Figure(figsize=(10, 4.8), layout="constrained")
    left, right = figure.subfigures(1, 2, width_ratios=(1.2, 1.0))
    space = left.add_subplot(projection="3d")
    for k in np.linspace(0, len(points) - 1, SHOWN).astype(int):
        late = k / (len(points) - 1)
        shade = {"color": COLOURS(0.15 + 0.8 * late), "alpha": 0.35 + 0.65 * late}
        space.plot(*points[k].T, "-o", linewidth=1.2 + 1.8 * late, markersize=1.5 + 2.5 * late, **shade)
    space.plot(*points[:, -1].T, color="#d55e00", linewidth=1.0)
    space.text(*points[0, -1], "  start", ha="left", va="bottom", fontweight="bold")
    space.set_box_aspect(np.ptp(points.reshape(-1, 3), axis=0), zoom=1.3)
    space.view_init(elev=18, azim=-62)
    space.set_axis_off()
    axes = right.add_subplot()
    kinetic, potential = energies(recording)
    axes.plot(recording.t, kinetic, label="kinetic", linewidth=1.4)
    axes.plot(recording.t, potential, label="potential", linewidth=1.4)
    axes.plot(recording.t, kinetic + potential, "k--", label="sum", linewidth=1.0)
    axes.set_xlabel("time (s)")
    axes.set_ylabel("energy (J)")
    axes.set_xlim(0, SECONDS)
    axes.set_ylim(0, 1.15 * (kinetic + potential).max())
    axes.grid(alpha=0.3)
    axes.legend(ncols=3, frameon=False, fontsize="small", loc="upper center")
    return figure


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=PICTURES, help="folder for the picture")
    folder = parser.parse_args(arguments).out
    folder.mkdir(parents=True, exist_ok=True)
    recording = motion()
    end = joint_positions(recording)[:, -1]
    speed = np.linalg.norm(np.gradient(end, recording.t, axis=0), axis=1)
    fastest = int(speed.argmax())
    lost = np.abs(recording.imbalance).max() / energies(recording)[0].max()
    print(f"{recording.robot.name}: {recording.robot.n} degrees of freedom, {SECONDS} s in {recording.steps} steps")
    print(f"its end is fastest at {recording.t[fastest]:.2f} s, with {speed[fastest]:.1f} m/s")
    print(f"energy, relative to the largest kinetic energy, changed by {lost:.0e}")
    picture(recording).savefig(folder / "ball_chain_swing.png", dpi=110)
    print(f"picture: {folder / 'ball_chain_swing.png'}")


if __name__ == "__main__":
    main()
