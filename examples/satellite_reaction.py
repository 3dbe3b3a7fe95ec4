"""A satellite in free fall moves its arm around a closed path and is turned afterwards, although its momentum is zero.

The drives swing the arm to the left while it is stretched and back to the right while it is folded. Each swing turns
the satellite the other way, the first one more than the second. No force acts from outside: momentum and angular
momentum stay zero, and the mass centre stays where it is. Cats that fall on their feet do the same.
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
SECONDS, TURNS = 24.0, 2  # two times around the path
STIFFNESS = np.array([3000.0, 800.0, 300.0, 10.0, 5.0, 0.2])  # of the drives, N m/rad
DAMPING = np.array([800.0, 120.0, 40.0, 0.8, 0.4, 0.02])  # N m s/rad
SHOWN = (0.0, 0.125, 0.25, 0.375, 0.5)  # in the picture, as parts of the time
COLOURS = mpl.colormaps["viridis_r"]


def path(t: Any) -> tuple[Any, Any]:
    """Angles of the joints that the drives are to follow, and their rates: once around the path in every turn."""
    s, rate = 2.0 * np.pi * TURNS * t / SECONDS, 2.0 * np.pi * TURNS / SECONDS
    swing, fold = 1.1 * np.sin(s), 1.2 * (1.0 - np.cos(s))
    angles = np.array([swing, -0.5 * fold, fold, -0.5 * fold, 0.0 * s, 0.0 * s])
    swing_rate, fold_rate = 1.1 * rate * np.cos(s), 1.2 * rate * np.sin(s)
    rates = np.array([swing_rate, -0.5 * fold_rate, fold_rate, -0.5 * fold_rate, 0.0 * s, 0.0 * s])
    return angles, rates


def drives(arm: lw.Robot, t: Any, q: Any, qd: Any) -> Any:
    """Torques in the six joints of the arm; none and no force on the satellite."""
    angles, rates = path(t)
    torques = STIFFNESS * (angles - q[7:]) + DAMPING * (rates - qd[6:])
    return np.concatenate([np.zeros(6), torques])


def motion() -> lw.Recording:
    """From a motion in which the joints follow the path already, with momentum zero."""
    arm = lw.load("satellite")
    angles, rates = path(0.0)
    q0 = np.concatenate([[0, 0, 0, 1, 0, 0, 0], angles])
    matrix = lw.momentum_matrix(arm, q0)
    base = np.linalg.solve(matrix[:, :6], -matrix[:, 6:] @ rates)
    return lw.simulate(arm, q0, np.concatenate([base, rates]), SECONDS, torque=drives, rtol=1e-9, samples=961)


def turned(recording: lw.Recording) -> np.ndarray:
    """The angle about z through which the satellite has turned, in degrees."""
    axes = lw.poses(recording.robot, recording.q)[:, 0, :3, :3]
    return np.degrees(np.unwrap(np.arctan2(axes[:, 1, 0], axes[:, 0, 0])))


def picture(recording: lw.Recording) -> Figure:
    figure = Figure(figsize=(11, 5.0), layout="constrained")
    above, plot = figure.subplots(1, 2, width_ratios=(1.1, 1.0))
    poses = lw.poses(recording.robot, recording.q)
    square = np.array([[-0.6, -0.6, 0], [0.6, -0.6, 0], [0.6, 0.6, 0], [-0.6, 0.6, 0], [-0.6, -0.6, 0]])
    for part in SHOWN:
        k = round(part * (len(poses) - 1))
        late = part / SHOWN[-1]
        colour = COLOURS(0.1 + 0.85 * late)
        box = square @ poses[k, 0, :3, :3].T + poses[k, 0, :3, 3]
        above.plot(*box[:, :2].T, color=colour, linewidth=1.2 + 1.5 * late)
        hand = poses[k, -1, :3, 3] + 0.2 * poses[k, -1, :3, 0]
        arm = np.concatenate([poses[k, 1:, :3, 3], hand[None]])
        above.plot(*arm[:, :2].T, "-o", color=colour, linewidth=2.0 + 2.0 * late, markersize=3 + 2 * late)
        above.annotate(f"{recording.t[k]:.1f} s", hand[:2], xytext=(6, 3), textcoords="offset points", color=colour)
    above.plot(*lw.centre_of_mass(recording.robot, recording.q[0])[:2], "k+", markersize=11)
    above.set_title("seen from above, once around; + is the mass centre of all", fontsize="medium")
    above.set_aspect("equal")
    above.margins(x=0.12)
    above.set_axis_off()
    plot.plot(recording.t, turned(recording), "k", label="satellite", linewidth=2.0)
    for k, name in ((7, "arm, left and right"), (9, "arm, folding")):
        plot.plot(recording.t, np.degrees(recording.q[:, k]), label=name, linewidth=1.2)
    plot.set_xlabel("time (s)")
    plot.set_ylabel("angle (degrees)")
    plot.set_xlim(0, SECONDS)
    plot.grid(alpha=0.3)
    plot.legend(ncols=3, frameon=False, fontsize="small", loc="lower center", bbox_to_anchor=(0.5, 1.0))
    return figure


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=PICTURES, help="folder for the picture")
    folder = parser.parse_args(arguments).out
    folder.mkdir(parents=True, exist_ok=True)
    recording = motion()
    arm, angle = recording.robot, turned(recording)
    momentum = np.abs(lw.momentum(arm, recording.q, recording.qd)).max(axis=0)
    centre = lw.centre_of_mass(arm, recording.q)
    print(f"{arm.name}: {SECONDS:.0f} s, {recording.steps} steps; the arm goes around its path {TURNS} times")
    for turn in range(1, TURNS + 1):
        k = turn * (len(angle) - 1) // TURNS
        off = np.degrees(np.abs(recording.q[k, 7:] - recording.q[0, 7:]).max())
        print(
            f"after {recording.t[k]:4.1f} s the arm is back to {off:.1g} degrees, and the satellite has turned by",
            end="",
        )
        print(f" {angle[k] - angle[0]:.1f} degrees")
    print(f"angular momentum stays below {momentum[:3].max():.0e} N m s, momentum below {momentum[3:].max():.0e} N s,")
    print(f"and the mass centre moves by less than {np.abs(centre - centre[0]).max():.0e} m")
    picture(recording).savefig(folder / "satellite_reaction.png", dpi=110)
    print(f"picture: {folder / 'satellite_reaction.png'}")


if __name__ == "__main__":
    main()
