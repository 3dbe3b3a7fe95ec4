"""A four-legged robot that shifts its weight: its feet stand still while the trunk swings to one side and back.

The feet are frames that are held. Velocities and accelerations of the joints are those that give the trunk its motion;
drives and ground share the work by the least forces of the ground, and, where OSQP is installed, by the least forces
within the pyramids of friction.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import linkwise as lw

PICTURES = Path(__file__).resolve().parent.parent / "pictures"
LEGS = ("FL", "FR", "RL", "RR")
FEET = tuple(f"{leg}_foot" for leg in LEGS)
COLOURS = dict(zip(FEET, ("#1f77b4", "#ff7f0e", "#2ca02c", "#d62728"), strict=True))
SHIFT, TURN = np.array([-0.03, 0.07, -0.02]), 0.12  # m, rad about x
DURATION, SAMPLES, FRICTION = 0.8, 41, 0.45


def crouched(robot: lw.Robot, thigh: float = 0.8) -> np.ndarray:
    q = lw.neutral(robot)
    for leg in LEGS:
        q[robot.q_slice(f"{leg}_thigh_joint")], q[robot.q_slice(f"{leg}_calf_joint")] = thigh, -2.0 * thigh
    return q


def feet_of(robot: lw.Robot, q: np.ndarray) -> np.ndarray:
    """Positions of the feet: (..., 12)."""
    return lw.poses(robot, q, frames=FEET)[..., :3, 3].reshape(*q.shape[:-1], 12)


def with_feet_at(robot: lw.Robot, q: np.ndarray, places: np.ndarray) -> np.ndarray:
    """The configurations with the trunk as in q and the feet at these places, by Newton's method on the legs."""
    for _ in range(20):
        legs = np.concatenate([lw.jacobian(robot, q, frame=foot)[..., 3:, 6:] for foot in FEET], axis=-2)
        step = np.linalg.solve(legs, (places - feet_of(robot, q))[..., None])[..., 0]
        q = lw.integrate(robot, q, np.concatenate([np.zeros((*q.shape[:-1], 6)), step], axis=-1))
    return q


def motion(robot: lw.Robot) -> tuple[np.ndarray, ...]:
    """Times, and q, qd, qdd of the robot on its feet."""
    swing = lw.trajectories.quintic([0.0], [1.0], duration=DURATION / 2)
    t = np.linspace(0.0, DURATION, SAMPLES)
    s, sd, sdd = (x[:, 0] for x in swing(np.minimum(t, DURATION - t)))
    sd *= np.where(t > DURATION / 2, -1.0, 1.0)
    stand = crouched(robot)
    q = np.tile(stand, (SAMPLES, 1))
    q[:, :3] += s[:, None] * SHIFT
    q[:, 3], q[:, 4] = np.cos(TURN * s / 2), np.sin(TURN * s / 2)
    q = with_feet_at(robot, q, feet_of(robot, stand))
    held = {**dict.fromkeys(FEET, "point"), robot.names[0]: "pose"}
    twist, rest = np.array([TURN, 0, 0, *SHIFT]), np.zeros((SAMPLES, robot.n))
    qd = lw.impact(robot, q, rest, fixed=held, velocity={robot.names[0]: sd[:, None] * twist}).qd
    moved = {robot.names[0]: sdd[:, None] * twist}
    qdd = lw.constrained_dynamics(robot, q, qd, rest, fixed=held, acceleration=moved).qdd
    return t, q, qd, qdd


def within_friction(bounds: Any) -> np.ndarray:
    """The least forces within the bounds, one quadratic program for each state: (..., 4, 3)."""
    import osqp
    from scipy import sparse

    forces = []
    for A, lower, upper in zip(*bounds, strict=True):
        solver, unit = osqp.OSQP(), sparse.identity(A.shape[1], format="csc")
        settings = {"verbose": False, "eps_abs": 1e-9, "eps_rel": 1e-9, "polishing": True, "max_iter": 20000}
        solver.setup(unit, np.zeros(A.shape[1]), sparse.csc_matrix(A), lower, upper, **settings)
        forces.append(solver.solve(raise_error=True).x)
    return np.array(forces).reshape(-1, len(FEET), 3)


def slope(forces: np.ndarray) -> np.ndarray:
    """Force along the ground by force on it; infinite where the ground would have to pull."""
    pressed = forces[..., 2] > 0.0
    along = np.linalg.norm(forces[..., :2], axis=-1)
    return np.divide(along, forces[..., 2], out=np.full(along.shape, np.inf), where=pressed)


def draw_robot(axes: Axes, robot: lw.Robot, q: np.ndarray, forces: np.ndarray, shade: float) -> None:
    """The robot from behind, with the forces on its feet."""
    poses = dict(zip(robot.names, lw.poses(robot, q), strict=True))
    ends = dict(zip(FEET, feet_of(robot, q).reshape(4, 3), strict=True))
    for k, (leg, foot) in enumerate(zip(LEGS, FEET, strict=True)):
        joints = [poses["trunk"], *(poses[f"{leg}_{part}"] for part in ("hip", "thigh", "calf"))]
        line = np.array([*(pose[:3, 3] for pose in joints), ends[foot]])
        axes.plot(-line[:, 1], line[:, 2], "-o", color=COLOURS[foot], alpha=shade, linewidth=2.5, markersize=3)
        if shade == 1.0:
            tip = ends[foot] + forces[k] / 200.0
            ends_of_arrow = {"xy": (-tip[1], tip[2]), "xytext": (-ends[foot][1], ends[foot][2])}
            axes.annotate("", **ends_of_arrow, arrowprops={"arrowstyle": "-|>", "color": "0.25", "linewidth": 1.2})


def picture(robot: lw.Robot, t: np.ndarray, q: np.ndarray, solutions: dict[str, np.ndarray]) -> Figure:
    figure = Figure(figsize=(10, 4.2), layout="constrained")
    side, load, ratio = figure.subplots(1, 3, width_ratios=(0.8, 1.0, 1.0))
    first = next(iter(solutions.values()))
    for k, shade in ((0, 0.3), (SAMPLES // 2, 1.0)):
        draw_robot(side, robot, q[k], first[k], shade)
    side.set_aspect("equal")
    side.set_axis_off()
    side.set_title("from behind, at rest and shifted;\narrows: forces of the ground", fontsize="medium")
    for (name, forces), style in zip(solutions.items(), ("-", "--"), strict=False):
        for k, foot in enumerate(FEET):
            label = foot if style == "-" else None
            load.plot(t, forces[:, k, 2], style, color=COLOURS[foot], label=label, linewidth=1.4)
            ratio.plot(t, slope(forces)[:, k], style, color=COLOURS[foot], linewidth=1.4)
        ratio.plot([], [], style, color="0.3", label=name)
    ratio.axhline(FRICTION, color="0.3", linewidth=0.8, linestyle=":", label="coefficient of friction")
    load.set(xlabel="time (s)", ylabel="force on the foot, upward (N)")
    ratio.set(xlabel="time (s)", ylabel="force along the ground / upward", ylim=(0.0, 1.2))
    for axes in (load, ratio):
        axes.grid(alpha=0.3)
        axes.legend(framealpha=1.0, edgecolor="none", fontsize="small")
    return figure


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=PICTURES, help="folder for the picture")
    folder = parser.parse_args(arguments).out
    folder.mkdir(parents=True, exist_ok=True)
    robot = lw.load("go1")
    t, q, qd, qdd = motion(robot)
    support = lw.inverse_dynamics(robot, q, qd, qdd, contacts=FEET)
    least = np.stack([support.wrenches[foot][:, 3:] for foot in FEET], axis=1)
    solutions = {"least forces": least}
    weight = lw.total_mass(robot) * 9.81
    print(f"{robot.name}: weight {weight:.1f} N; largest torque {np.abs(support.tau).max():.1f} N m")
    missing, lowest = np.abs(support.missing).max(), least[..., 2].min()
    print(f"the feet carry the trunk to {missing:.0e} N; the least upward force is {lowest:.1f} N")
    try:
        bounds = lw.control.contact_bounds(robot, q, qd, qdd, contacts=FEET, coefficient=FRICTION, least=1.0)
        solutions["in the pyramids"] = within_friction(bounds)
        print(f"within the pyramids of friction of {FRICTION}: {slope(solutions['in the pyramids']).max():.2f}")
    except ImportError as error:
        print(f"{error.name} is not installed: no forces within the pyramids of friction")
    with mpl.rc_context({"svg.hashsalt": "linkwise"}):
        picture(robot, t, q, solutions).savefig(folder / "weight_shift.svg", metadata={"Date": None, "Creator": None})
    print(f"picture: {folder / 'weight_shift.svg'}")


if __name__ == "__main__":
    main()
