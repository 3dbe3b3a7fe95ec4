"""A Panda whose tool follows a circle: inverse kinematics along a path, within the limits of the joints.

The tool keeps its orientation. Each configuration starts at the one before, so that the joints move continuously.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import linkwise as lw

PICTURES = Path(__file__).resolve().parent.parent / "pictures"
TOOL = "panda_hand_tcp"
READY = (0.0, -0.35, 0.0, -2.1, 0.0, 1.75, 0.785, 0.02)  # the last one is the gripper
CENTRE, RADIUS, POINTS = np.array([0.5, 0.0, 0.45]), 0.2, 121
SHOWN = range(0, POINTS - 1, 20)


def circle(robot: lw.Robot) -> tuple[np.ndarray, np.ndarray]:
    """The angle along the circle, and the poses of the tool: (points, 4, 4)."""
    angle = np.linspace(0.0, 2.0 * np.pi, POINTS)
    poses = np.tile(lw.poses(robot, READY, frame=TOOL), (POINTS, 1, 1))
    poses[:, :3, 3] = CENTRE + RADIUS * np.stack([np.zeros(POINTS), np.sin(angle), np.cos(angle)], axis=-1)
    return angle, poses


def follow(robot: lw.Robot) -> tuple[np.ndarray, np.ndarray, lw.results.InverseKinematics]:
    angle, poses = circle(robot)
    return angle, poses, lw.inverse_kinematics(robot, {TOOL: poses}, READY, path=True)


def seen(points: np.ndarray) -> np.ndarray:
    """Points (..., 3) seen obliquely from the front."""
    turn, tilt = np.radians(205.0), np.radians(14.0)
    x, y, z = np.moveaxis(points, -1, 0)
    across, depth = -np.sin(turn) * x + np.cos(turn) * y, np.cos(turn) * x + np.sin(turn) * y
    return np.stack([across, np.cos(tilt) * z - np.sin(tilt) * depth], axis=-1)


def draw_arms(axes: Axes, robot: lw.Robot, q: np.ndarray, targets: np.ndarray) -> None:
    frames = [f"panda_link{k}" for k in range(1, 8)]
    colours = mpl.colormaps["turbo"](np.linspace(0.05, 0.95, len(SHOWN)))
    line = seen(targets[:, :3, 3])
    axes.plot(*line.T, color="0.2", linewidth=1.0)
    for k, colour in zip(SHOWN, colours, strict=True):
        joints = lw.poses(robot, q[k], frames=[*frames, "panda_hand", TOOL])[:, :3, 3]
        arm = seen(np.concatenate([np.zeros((1, 3)), joints]))
        axes.plot(*arm.T, "-o", color=colour, linewidth=1.8, markersize=3.5, alpha=0.85)
        axes.plot(*line[k], "o", color=colour, markersize=7, markeredgecolor="0.2")
    axes.set_aspect("equal")
    axes.set_axis_off()


def picture(robot: lw.Robot, angle: np.ndarray, targets: np.ndarray, q: np.ndarray) -> Figure:
    figure = Figure(figsize=(10, 4.4), layout="constrained")
    arms, joints = figure.subplots(1, 2, width_ratios=(1.0, 1.2))
    draw_arms(arms, robot, q, targets)
    low, high = np.array(robot.limits[:7]).T
    for k in range(7):
        share = (q[:, k] - low[k]) / (high[k] - low[k])
        joints.plot(np.degrees(angle), share, label=f"joint {k + 1}", linewidth=1.4)
    joints.set(xlabel="angle along the circle (degrees)", ylabel="position within the limits", ylim=(0.0, 1.0))
    joints.set_xticks(range(0, 361, 60))
    joints.grid(alpha=0.3)
    joints.legend(frameon=False, fontsize="small", ncols=2)
    return figure


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=PICTURES, help="folder for the picture")
    folder = parser.parse_args(arguments).out
    folder.mkdir(parents=True, exist_ok=True)
    robot = lw.load("panda")
    angle, targets, solution = follow(robot)
    print(solution)
    step = np.abs(np.diff(solution.q, axis=0)).max()
    print(f"largest residual {solution.residual.max():.0e}; largest step of a joint {np.degrees(step):.1f} degrees")
    with mpl.rc_context({"svg.hashsalt": "linkwise"}):
        figure = picture(robot, angle, targets, solution.q)
        figure.savefig(folder / "panda_circle.svg", metadata={"Date": None, "Creator": None})
    print(f"picture: {folder / 'panda_circle.svg'}")


if __name__ == "__main__":
    main()
