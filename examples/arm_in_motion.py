"""A Puma 560 swings from one pose to another under computed-torque control; its positions drawn on top of each other.

The picture shows the links at equal times, early ones pale and late ones dark, and the path of the wrist; beside it the
torques that the controller asks for.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import linkwise as lw

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PICTURES = Path(__file__).resolve().parent.parent / "pictures"
SECONDS = 1.6
START = np.array([-2.4, 0.3, -0.6, 0.0, 0.6, 0.0])
END = np.array([0.7, -0.9, 2.3, 0.8, -0.5, 1.0])
SHOWN = 17  # positions of the arm in the picture


def motion() -> lw.Recording:
    """The arm under computed torque, started 0.01 rad off its trajectory."""
    arm = lw.load("puma560")
    goal = lw.trajectories.quintic(START, END, SECONDS)
    controller = lw.control.computed_torque(goal, kp=400.0, kd=40.0)
    return lw.simulate(arm, START + 0.01, duration=SECONDS, torque=controller, samples=241)


def joint_positions(recording: lw.Recording) -> np.ndarray:
    """Where the base and the frames of the links are: (samples, 1 + n, 3)."""
    frames = lw.poses(recording.robot, recording.q)[..., :3, 3]
    return np.concatenate([np.zeros_like(frames[:, :1]), frames], axis=1)


def picture(recording: lw.Recording) -> Figure:
    from matplotlib import colormaps
    from matplotlib.figure import Figure

    points = joint_positions(recording)
    figure = Figure(figsize=(10, 4.8), layout="constrained")
    left, right = figure.subfigures(1, 2, width_ratios=(1.15, 1.0))
    space = left.add_subplot(projection="3d")
    for k in np.linspace(0, len(points) - 1, SHOWN).astype(int):
        late = k / (len(points) - 1)
        shade = {"color": colormaps["viridis_r"](0.15 + 0.8 * late), "alpha": 0.4 + 0.6 * late}
        space.plot(
            *points[k].T, "-o", linewidth=1.5 + 2.5 * late, markersize=2 + 3 * late, solid_capstyle="round", **shade
        )
    space.plot(*points[:, -1].T, color="#d55e00", linewidth=1.2)
    for label, tip in (("start", points[0, -1]), ("end", points[-1, -1])):
        space.text(*tip, f"{label}  ", ha="right", va="bottom", fontweight="bold")
    space.plot([0, 0], [0, 0], [-0.5, 0], color="0.35", linewidth=7, solid_capstyle="butt")
    space.set_box_aspect(np.ptp(np.concatenate([points.reshape(-1, 3), [[0, 0, -0.5]]]), axis=0), zoom=1.3)
    space.view_init(elev=24, azim=-65)
    space.set_axis_off()
    axes = right.add_subplot()
    for k, torque in enumerate(recording.tau.T):
        axes.plot(recording.t, torque, label=f"joint {k + 1}", linewidth=1.4)
    axes.set_xlabel("time (s)")
    axes.set_ylabel("torque (N m)")
    axes.set_xlim(0, SECONDS)
    axes.grid(alpha=0.3)
    axes.legend(ncols=2, frameon=False, fontsize="small")
    return figure


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=PICTURES, help="folder for the picture")
    folder = parser.parse_args(arguments).out
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        parser.error(f"--out {folder}: cannot make this folder ({error.strerror})")
    recording = motion()
    error = np.abs(recording.q[-1] - END).max()
    print(f"{recording.robot.name}: {SECONDS} s, {recording.steps} steps, {error:.1e} rad from the goal at the end")
    if find_spec("matplotlib") is None:
        print("no picture: it needs matplotlib (pip install matplotlib)")
        return
    picture(recording).savefig(folder / "arm_in_motion.png", dpi=110)
    print(f"picture: {folder / 'arm_in_motion.png'}")


if __name__ == "__main__":
    main()
