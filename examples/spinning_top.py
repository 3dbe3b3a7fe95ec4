"""A T-shaped handle that spins in free fall about its middle principal axis turns over, and over again.

No torque acts. The angular momentum stays as it is in space, but rotation about the axis of the middle moment of
inertia is unstable: every few seconds the handle flips (Dzhanibekov saw a wing nut do so in orbit). The times between
flips are compared with Euler's solution, an elliptic integral.
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
SECONDS = 12.0
SPIN = np.array([0.02, 10.0, 0.0])  # rad/s at the start, about x, y (along the stem) and z of the handle
BAR, STEM = (0.06, 0.12), (0.03, 0.06)  # kg and m of two thin rods: the bar along x, the stem from its middle along y
SHOWN = 15  # positions of the handle in the picture
COLOURS = mpl.colormaps["viridis_r"]


def handle() -> lw.Robot:
    """The two rods as one free body, with its frame where they meet."""
    (bar, width), (stem, length) = BAR, STEM
    mass, centre = bar + stem, stem * length / 2 / (bar + stem)
    about_x = stem * length**2 / 3 - mass * centre**2  # about the mass centre
    about_y = bar * width**2 / 12
    row = {"name": "handle", "joint": "free", "translation": (0, 0, 0), "mass": mass, "com": (0, centre, 0)}
    row["inertia"] = np.diag([about_x, about_y, about_x + about_y])
    return lw.Robot.from_frames([row], gravity=(0, 0, 0), name="handle")


def motion() -> lw.Recording:
    """The handle with its stem upright; its mass centre is at rest."""
    arm = handle()
    centre, axes = np.array(arm.rows[0]["com"]), np.array([[1, 0, 0], [0, 0, -1], [0, 1, 0]])
    upright = [np.sqrt(0.5), np.sqrt(0.5), 0, 0]  # y of the handle along z of space
    velocity = -axes @ np.cross(SPIN, centre)  # of the frame's origin, which goes around the mass centre
    return lw.simulate(arm, [0, 0, 0, *upright], [*velocity, *SPIN], SECONDS, rtol=1e-11, samples=2401)


def time_between_flips(moments: np.ndarray) -> float:
    """Half of the period of ω (Landau and Lifshitz, Mechanics, section 37)."""
    a, b, c = moments
    twice_energy, square = moments @ SPIN**2, moments**2 @ SPIN**2
    if square < twice_energy * b:
        a, c = c, a
    rate = np.sqrt((c - b) * (square - twice_energy * a) / (a * b * c))
    k2 = (b - a) * (twice_energy * c - square) / ((c - b) * (square - twice_energy * a))
    x, y = 1.0, np.sqrt(1.0 - k2)
    for _ in range(20):  # the arithmetic-geometric mean gives the elliptic integral K
        x, y = (x + y) / 2, np.sqrt(x * y)
    return float(2.0 * np.pi / (2.0 * x) / rate)


def flips(recording: lw.Recording) -> np.ndarray:
    """When ω about the stem passes zero."""
    spin, t = recording.qd[:, 4], recording.t
    k = np.flatnonzero(spin[:-1] * spin[1:] < 0.0)
    return np.asarray(t[k] - spin[k] * (t[k + 1] - t[k]) / (spin[k + 1] - spin[k]))


def picture(recording: lw.Recording) -> Figure:
    figure = Figure(figsize=(10, 4.4), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(0.55, 1.3))
    poses = lw.poses(recording.robot, recording.q)[:, 0]
    half, length = BAR[1] / 2, STEM[1]
    lines = np.array([[[-half, 0, 0], [half, 0, 0]], [[0, 0, 0], [0, length, 0]]])
    view = np.array([[0.94, 0.34, 0.0], [0.12, -0.33, 0.94]])  # from the side and a little above
    for k in np.linspace(0, len(poses) - 1, SHOWN).astype(int):
        points = (lines @ poses[k, :3, :3].T) @ view.T / half * 0.36
        colour = COLOURS(0.15 + 0.8 * k / len(poses))
        for (x, y), width in zip(points.transpose(0, 2, 1), (5.0, 3.0), strict=True):
            above.plot(recording.t[k] + x, y, color=colour, linewidth=width, solid_capstyle="round")
    above.set_aspect("equal", adjustable="datalim")
    above.set_axis_off()
    for k, name in enumerate(("about the bar", "about the stem", "across both")):
        below.plot(recording.t, recording.qd[:, 3 + k], label=name, linewidth=1.4)
    for flip in flips(recording):
        below.axvline(flip, color="0.7", linewidth=0.8, zorder=0)
    below.set_xlabel("time (s)")
    below.set_ylabel("angular velocity (rad/s)")
    below.set_xlim(-0.4, SECONDS + 0.4)
    below.grid(alpha=0.3)
    below.legend(ncols=3, frameon=False, fontsize="small", loc="lower center", bbox_to_anchor=(0.5, 1.0))
    return figure


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=PICTURES, help="folder for the picture")
    folder = parser.parse_args(arguments).out
    folder.mkdir(parents=True, exist_ok=True)
    recording = motion()
    momentum = lw.momentum(recording.robot, recording.q, recording.qd)[:, :3]
    changed = np.abs(momentum - momentum[0]).max() / np.abs(momentum[0]).max()
    moments = np.diag(recording.robot.rows[0]["inertia"])
    found = flips(recording)
    print("principal moments: " + ", ".join(f"{x * 1e6:.1f}" for x in moments) + " kg mm2; it spins about the second")
    print("it flips at " + ", ".join(f"{t:.3f}" for t in found) + " s")
    print(f"every {np.diff(found).mean():.4f} s; by Euler's solution every {time_between_flips(moments):.4f} s")
    print(f"angular momentum, relatively, changed by {changed:.0e}")
    picture(recording).savefig(folder / "spinning_top.png", dpi=110)
    print(f"picture: {folder / 'spinning_top.png'}")


if __name__ == "__main__":
    main()
