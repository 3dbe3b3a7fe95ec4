"""A person takes a run, jumps, tucks in the air and turns over: a somersault.

In the air only the weight acts. So the mass centre follows a parabola, and the angular momentum about it stays the
same, whatever the muscles do. But they can pull in arms and legs, and then the body turns faster. Springs and dampers
in the joints, whose rest position moves, stand for the muscles.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

import linkwise as lw

PICTURES = Path(__file__).resolve().parent.parent / "pictures"
SECONDS = 0.9
JUMP = (5.0, 0.0, 4.4)  # m/s, of the mass centre at take-off
SPIN = 5.15  # rad/s, forward, of the whole body at take-off
TUCKED = {  # rad: how far the joints bend forward at most; about y of their links
    "upper_arm": -0.9,
    "forearm": -1.6,
    "thigh": -2.0,
    "shank": 2.1,
    "abdomen": 0.4,
    "head": 0.3,
}
STIFFNESS = {  # N m/rad; the dampers are in proportion
    "upper_arm": 80.0,
    "forearm": 25.0,
    "hand": 4.0,
    "thigh": 900.0,
    "shank": 250.0,
    "foot": 40.0,
    "abdomen": 1500.0,
    "thorax": 600.0,
    "head": 60.0,
}
DAMPING = 0.08  # s: damper over spring
SHOWN = 8  # figures in the picture
COLOURS = mpl.colormaps["viridis_r"]


def part(name: str) -> str:
    """The name of a link without its side."""
    return name.removeprefix("left_").removeprefix("right_")


def muscles(arm: lw.Robot, t: Any, q: Any, qd: Any) -> Any:
    """Springs and dampers in all joints; nothing on the pelvis."""
    bend = np.sin(np.pi * t / SECONDS) ** 2  # 0 at take-off and landing, 1 between
    torques = [0.0 * t] * arm.n
    for joint in arm.moving[1:]:
        stiffness, goal = STIFFNESS[part(joint.name)], TUCKED.get(part(joint.name), 0.0) * bend
        if joint.kind.name == "ball":  # twice the vector part of the rotation from the position to the goal
            w, x, y, z = q[joint.q]
            c, s = np.cos(0.5 * goal), np.sin(0.5 * goal)
            off = [2.0 * (s * z - c * x), 2.0 * (s * w - c * y), -2.0 * (s * x + c * z)]
        else:  # the last of its angles bends
            angles = q[joint.q]
            off = [-angle for angle in angles[:-1]] + [goal - angles[-1]]
        rates = qd[joint.v]
        for k, (error, rate) in enumerate(zip(off, rates, strict=True)):
            torques[joint.v.start + k] = stiffness * (error - DAMPING * rate)
    return np.array(torques, dtype=object)


def motion() -> lw.Recording:
    """Upright at first, and turning as one body."""
    arm = lw.load("humanoid")
    q0, qd0 = lw.neutral(arm), np.zeros(arm.n)
    q0[2] = 0.93  # the soles on the ground
    lever = lw.centre_of_mass(arm, q0) - q0[:3]
    qd0[:3] = JUMP - np.cross([0.0, SPIN, 0.0], lever)
    qd0[4] = SPIN
    return lw.simulate(arm, q0, qd0, SECONDS, torque=muscles, rtol=1e-9, samples=361)


def drawn(arm: lw.Robot, poses: np.ndarray) -> list[np.ndarray]:
    """The lines of a figure: limbs from joint to joint, to fingertips and toes; the trunk."""
    at = dict(zip(arm.names, poses, strict=True))

    def point(link: str, *place: float) -> np.ndarray:
        return np.asarray(at[link][:3, 3] + at[link][:3, :3] @ place)

    lines = [np.array([point("pelvis", 0, 0, 0), point("abdomen", 0, 0, 0), point("thorax", 0, 0, 0.3)])]
    for side in ("left", "right"):
        arms = [point(f"{side}_{link}", 0, 0, 0) for link in ("upper_arm", "forearm", "hand")]
        legs = [point(f"{side}_{link}", 0, 0, 0) for link in ("thigh", "shank", "foot")]
        sole = [point(f"{side}_foot", -0.06, 0, -0.07), point(f"{side}_foot", 0.2, 0, -0.07)]
        lines.append(np.array([point("thorax", 0, 0, 0.26), *arms, point(f"{side}_hand", 0, 0, -0.19)]))
        lines.append(np.array([point("pelvis", 0, 0, 0), *legs, *sole]))
    return lines


def picture(recording: lw.Recording) -> Figure:
    arm, t = recording.robot, recording.t
    figure = Figure(figsize=(12, 4.6), layout="constrained")
    side, plot = figure.subplots(1, 2, width_ratios=(2.2, 1.0))
    poses = lw.poses(arm, recording.q)
    head = arm.names.index("head")
    for k in np.linspace(0, len(t) - 1, SHOWN).astype(int):
        colour = COLOURS(0.15 + 0.8 * k / len(t))
        for line in drawn(arm, poses[k]):
            side.plot(line[:, 0], line[:, 2], color=colour, linewidth=2.8, solid_capstyle="round")
        x, z = (poses[k, head, :3, 3] + 0.14 * poses[k, head, :3, 2])[[0, 2]]
        side.add_patch(mpl.patches.Circle((x, z), 0.11, color=colour))
    centre = lw.centre_of_mass(arm, recording.q)
    side.plot(centre[:, 0], centre[:, 2], color="#d55e00", linewidth=1.4)
    side.axhline(0.0, color="0.4", linewidth=1.0)
    side.set_title("the mass centre on its parabola", fontsize="medium")
    side.set_aspect("equal")
    side.set_axis_off()
    momentum = lw.momentum(arm, recording.q, recording.qd)[:, 1]
    plot.plot(t, recording.qd[:, 4], label="angular velocity of the pelvis (rad/s)", linewidth=1.6)
    plot.plot(t, momentum / 10.0, "k--", label="angular momentum (10 N m s)", linewidth=1.2)
    plot.set_xlabel("time (s)")
    plot.set_xlim(0, SECONDS)
    plot.set_ylim(bottom=0.0)
    plot.grid(alpha=0.3)
    plot.legend(frameon=False, fontsize="small", loc="lower center", bbox_to_anchor=(0.5, 1.0))
    return figure


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=PICTURES, help="folder for the picture")
    folder = parser.parse_args(arguments).out
    folder.mkdir(parents=True, exist_ok=True)
    recording = motion()
    arm, t = recording.robot, recording.t
    centre = lw.centre_of_mass(arm, recording.q)
    parabola = centre[0] + np.multiply.outer(t, JUMP) + 0.5 * np.multiply.outer(t**2, arm.gravity)
    momentum = lw.momentum(arm, recording.q, recording.qd)[:, :3]
    changed = np.abs(momentum - momentum[0]).max() / np.abs(momentum[0]).max()
    rates = recording.qd[:, 4]
    turned = np.degrees(np.sum(0.5 * (rates[1:] + rates[:-1]) * np.diff(t)))
    print(f"{arm.name}: {arm.n} degrees of freedom, {SECONDS} s, {recording.steps} steps")
    print(f"the mass centre rises by {centre[:, 2].max() - centre[0, 2]:.2f} m,", end="")
    print(f" on its parabola to {np.abs(centre - parabola).max():.0e} m")
    print(f"angular momentum {momentum[0, 1]:.1f} N m s, relatively kept to {changed:.0e}")
    print(f"the pelvis turns at {rates[0]:.1f} rad/s at take-off, at {rates.max():.1f} rad/s at most", end="")
    print(f", and by {turned:.0f} degrees")
    picture(recording).savefig(folder / "humanoid_flight.png", dpi=110)
    print(f"picture: {folder / 'humanoid_flight.png'}")


if __name__ == "__main__":
    main()
