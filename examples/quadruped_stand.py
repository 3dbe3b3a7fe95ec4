"""What a four-legged robot's drives must hold while it stands, from legs that are nearly stretched to a crouch.

The feet stand still and the trunk is level. The ground's forces on the feet are those with which the free trunk is in
equilibrium, without forces along the ground; then inverse dynamics gives the torques in the twelve joints.
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
LEG = 0.3  # m, thighs and shanks alike; the foot is the end of the shank
LEGS = ("front_left", "front_right", "hind_left", "hind_right")
ANGLES = np.linspace(0.15, 1.2, 43)  # of the thighs from the vertical, rad
SHOWN = (0, 21, 42)  # in the picture
COLOURS = mpl.colormaps["viridis_r"]


def standing(arm: lw.Robot, thighs: np.ndarray) -> np.ndarray:
    """Configurations with knees bent so that each foot is below its hip: (..., nq)."""
    q = np.tile(lw.neutral(arm), (*thighs.shape, 1))
    q[..., 2] = 2.0 * LEG * np.cos(thighs)  # the height of the trunk above the ground
    for leg in LEGS:
        q[..., arm.q_slice(f"{leg}_thigh")] = thighs[..., None]
        q[..., arm.q_slice(f"{leg}_shank")] = -2.0 * thighs[..., None]
    return q


def holding(arm: lw.Robot, q: np.ndarray, forces: np.ndarray) -> np.ndarray:
    """Forces on the trunk and torques of the joints at rest, with upward forces (..., 4) of the ground on the feet."""
    wrench = np.zeros((*forces.shape[:-1], len(arm.names), 6))
    point = np.zeros((len(arm.names), 3))
    for k, leg in enumerate(LEGS):
        shank = arm.names.index(f"{leg}_shank")
        wrench[..., shank, 5] = forces[..., k]
        point[shank] = 0.0, 0.0, -LEG
    still = np.zeros(arm.n)
    return lw.inverse_dynamics(arm, q, still, still, wrench, point=point)


def ground_forces(arm: lw.Robot, q: np.ndarray) -> np.ndarray:
    """The upward forces on the four feet that leave nothing to hold the trunk: (..., 4); of all such, the smallest."""
    alone = holding(arm, q, np.zeros((*q.shape[:-1], 4)))[..., :6]
    each = np.stack([holding(arm, q, np.broadcast_to(np.eye(4)[k], (*q.shape[:-1], 4)))[..., :6] for k in range(4)], -1)
    return -np.einsum("...kb,...b->...k", np.linalg.pinv(each - alone[..., None]), alone)


def picture(arm: lw.Robot, q: np.ndarray, torques: np.ndarray) -> Figure:
    figure = Figure(figsize=(10, 4.4), layout="constrained")
    side, plot = figure.subplots(1, 2, width_ratios=(1.1, 1.0))
    poses = lw.poses(arm, q)
    for number, k in enumerate(SHOWN):
        shift, colour = 0.95 * number, COLOURS(0.15 + 0.4 * number)
        x, z = poses[k, 0, [0, 2], 3]
        outline = np.array([[-0.3, -0.08], [0.3, -0.08], [0.3, 0.08], [-0.3, 0.08], [-0.3, -0.08]])
        side.fill(*(outline + np.array([x + shift, z])).T, color=colour, alpha=0.35, linewidth=0)
        for end in ("front_left", "hind_left"):
            links = [poses[k, arm.names.index(f"{end}_{part}")] for part in ("thigh", "shank")]
            foot = links[1][:3, 3] - LEG * links[1][:3, 2]
            line = np.array([links[0][:3, 3], links[1][:3, 3], foot])
            side.plot(line[:, 0] + shift, line[:, 2], "-o", color=colour, linewidth=4, markersize=5)
    side.axhline(0.0, color="0.4", linewidth=1.0)
    side.set_aspect("equal")
    side.set_axis_off()
    height = q[:, 2]
    for part, style in (("thigh", "-"), ("shank", "--")):
        for end, colour in (("front", "tab:blue"), ("hind", "tab:orange")):
            torque = torques[:, arm.v_slice(f"{end}_left_{part}")][:, 0]
            joint = "hip" if part == "thigh" else "knee"
            plot.plot(height, torque, style, color=colour, label=f"{joint}, {end}", linewidth=1.6)
    plot.set_xlabel("height of the trunk (m)")
    plot.set_ylabel("torque (N m)")
    plot.grid(alpha=0.3)
    plot.legend(frameon=False, fontsize="small")
    return figure


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=PICTURES, help="folder for the picture")
    folder = parser.parse_args(arguments).out
    folder.mkdir(parents=True, exist_ok=True)
    arm = lw.load("quadruped")
    q = standing(arm, ANGLES)
    forces = ground_forces(arm, q)
    torques = holding(arm, q, forces)
    weight = -arm.gravity[2] * lw.total_mass(arm)
    print(f"{arm.name}: weight {weight:.1f} N; the feet carry it to {np.abs(forces.sum(-1) - weight).max():.0e} N")
    print("height   front foot   hind foot   front knee   hind knee   largest hip")
    knees = [arm.v_slice(f"{end}_left_shank").start for end in ("front", "hind")]
    hips = [arm.v_slice(f"{leg}_thigh").start for leg in LEGS]
    for k in SHOWN:
        front, hind = torques[k, knees]
        hip = np.abs(torques[k, hips]).max()
        print(f"{q[k, 2]:.3f} m   {forces[k, 0]:6.2f} N    {forces[k, 2]:6.2f} N", end="")
        print(f"   {front:6.2f} N m   {hind:6.2f} N m   {hip:6.2f} N m")
    print(f"nothing holds the trunk: {np.abs(torques[:, :6]).max():.0e} N")
    picture(arm, q, torques).savefig(folder / "quadruped_stand.png", dpi=110)
    print(f"picture: {folder / 'quadruped_stand.png'}")


if __name__ == "__main__":
    main()
