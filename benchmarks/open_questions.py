"""What the four papers ask, or say without a number: the tables and pictures of docs/open-questions.md.

    python benchmarks/open_questions.py [--out DIR]         # a minute or two: make questions

Curvature of the inertia metric; D along motions and over the workspace; a Riccati recursion that is made only at every
k-th step; tracking in quasi-velocities; steps of integrators in different coordinates. The times of all formulations
are of formulation_times.py.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray
from report import markdown, number

import linkwise as lw
from linkwise.dynamics import diagonal, udu

Array = NDArray[np.float64]
DOCS = Path(__file__).resolve().parent.parent / "docs"
PAGE, MARK = "open-questions.md", "make questions"
COLOURS = (
    *("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#999999", "#8c510a", "#5e3c99"),
    *("#1b3a6b", "#b2182b"),
)
QUASI = ("normalized", "unnormalized")
ORDERS = {"verner65": 6, "dormand54": 5}  # of integrators


@dataclass(frozen=True)
class Plan:
    """How much is measured."""

    states: int = 10_000  # of workspaces
    curved: int = 2_000  # states in which curvature is looked at
    every: tuple[int, ...] = (1, 2, 5, 10, 50)  # steps for which the Riccati recursion is not repeated
    starts: int = 20  # of motions whose steps are counted
    tolerances: tuple[float, ...] = (1e-6, 1e-9)
    seconds: float = 2.0


# --- robots and motions ----------------------------------------------------------------------------------------------


def workspace(robot: lw.Robot, count: int) -> Array:
    """Random configurations: within the limits of the joints, otherwise within half a turn and 1 m."""
    return lw.random_configuration(robot, 0, count)


def saha_motion(robot: lw.Robot) -> lw.trajectories.Trajectory:
    """The cycloid of [Saha JAM] for the Stanford arm, in 2 s in place of 10."""
    start = np.array([0, np.pi / 2, 0.1, 0, 0, 0])
    return lw.trajectories.cycloid(start, start + np.array([1, -0.5, 0.3, 1, 1, 1]) * np.pi / 3, 2.0)


def reach(robot: lw.Robot, seconds: float) -> lw.trajectories.Trajectory:
    """A quintic motion of all joints by a radian or so."""
    start = np.linspace(-0.4, 0.5, robot.n)
    return lw.trajectories.quintic(start, start + np.where(np.arange(robot.n) % 2, -0.9, 1.1), seconds)


# --- curvature -------------------------------------------------------------------------------------------------------


def two_links(centre: float) -> lw.Robot:
    """A planar arm whose second mass centre lies this far from the second axis."""
    rows = [
        {"joint": "revolute", "a": 0.5, "b": 0.0, "alpha": 0.0, "mass": 2.0, "com": (x - 0.5, 0.0, 0.0)}
        | {"inertia": np.diag([0.0, 0.04, 0.04])}
        for x in (0.25, centre)
    ]
    return lw.Robot.from_dh(rows, convention="standard", gravity=(0, -9.81, 0), name=f"two links, {centre:g} m")


def sectional(robot: lw.Robot, q: Array) -> Array:
    """K_ij = R_ijij / (I_ii I_jj - I_ij²), 0 for i = j: (..., n, n)."""
    inertia, R = lw.inertia_matrix(robot, q), lw.curvature(robot, q)
    moments = np.diagonal(inertia, axis1=-2, axis2=-1)
    area = moments[..., :, None] * moments[..., None, :] - inertia**2 + np.eye(robot.n)
    return np.einsum("...ijij->...ij", R) / area


def curvatures(plan: Plan) -> tuple[list[str], Figure]:
    robots = [lw.load("gantry"), two_links(0.0), two_links(0.25)]
    robots += [lw.load(name) for name in ("planar3", "stanford", "puma560", "ur5e", "iiwa7")]
    rows = []
    for robot in robots:
        q = workspace(robot, plan.curved)
        K, R = sectional(robot, q), lw.curvature(robot, q)
        planes = np.abs(K).max(axis=0)[np.triu_indices(robot.n, 1)]
        count = lw.count(lw.curvature, robot)
        largest = np.abs(R).max()
        flat = "flat" if largest < 1e-12 else "curved"
        operations = f"{count.multiplications + count.divisions + count.additions:,}"
        cells = [f"{largest:.1e}", f"{np.sum(planes < 1e-12 * max(planes.max(), 1e-300))} of {len(planes)}"]
        cells[1] = f"{len(planes)} of {len(planes)}" if flat == "flat" else cells[1]
        rows.append([robot.name, str(robot.n), flat, *cells, operations])
    header = ["robot", "n", "metric", "largest R_ijkl", "planes (i, j) that are flat", "+, -, ×, ÷ of `lw.curvature`"]
    figure = Figure(figsize=(10, 3.8), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(1.3, 1.0))
    angles = np.linspace(-np.pi, np.pi, 361)
    for k, centre in enumerate((0.0, 0.1, 0.2, 0.3, 0.4)):
        q = np.stack([np.zeros_like(angles), angles], axis=-1)
        K = sectional(two_links(centre), q)[:, 0, 1]
        left.plot(np.degrees(angles), K, color=COLOURS[k], label=f"{centre:g} m")
    left.legend(title="second mass centre\nto second axis", frameon=False, fontsize="small")
    tidy(left, "(a) Two links: curvature of the metric", "angle of joint 2 (deg)", "K (1/(kg m²))")
    left.set_xticks(range(-180, 181, 60))
    arm = lw.load("stanford")
    largest = np.abs(sectional(arm, workspace(arm, plan.curved))).max(axis=0)
    logarithm = np.ma.array(np.log10(np.maximum(largest, 1e-2)), mask=np.eye(6, dtype=bool))
    shown = right.imshow(logarithm, cmap="viridis", extent=(0.5, 6.5, 6.5, 0.5))
    for i, j in np.ndindex(6, 6):
        if i != j:
            text = "0" if largest[i, j] < 1e-9 else number(largest[i, j])
            colour = "black" if largest[i, j] > 3.0 else "white"
            right.text(j + 1, i + 1, text, ha="center", va="center", color=colour, fontsize="small")
    right.set_title("(b) Stanford arm: largest |K| of joints i, j", loc="left", fontsize="medium")
    right.set(xlabel="joint j", ylabel="joint i")
    figure.colorbar(shown, ax=right, label="log10 |K|", shrink=0.9)
    return markdown(header, rows), figure


# --- D ---------------------------------------------------------------------------------------------------------------


def identified(plan: Plan) -> lw.results.Identification:
    """A Stanford arm from a made-up recording: the angles of encoders, torques with noise of 2 %."""
    arm = lw.load("stanford")
    t = np.arange(0.0, 10.0, 0.004)
    rng = np.random.default_rng(4)
    a, b = rng.normal(size=(2, 5, 6)) / np.arange(1, 6)[:, None] / 3.0
    b[0] -= b.sum(axis=0)
    move = lw.trajectories.fourier([0.0, 1.2, 0.4, 0.0, 0.5, 0.0], a, b, 10.0)
    q, qd, qdd = move(t)
    tau = np.asarray(lw.inverse_dynamics(arm, q, qd, qdd))
    tau += 0.02 * np.sqrt(np.mean(tau**2, axis=0)) * rng.normal(size=tau.shape)
    return lw.identify(arm, {"t": t, "q": q, "tau": tau}, friction=False)


def inertias(plan: Plan) -> tuple[list[str], Figure]:
    lines: list[str] = []
    for name in ("stanford", "puma560", "ur5e"):
        robot = lw.load(name)
        D = lw.formulations.udu(robot, workspace(robot, plan.states))[1]
        diagonal_of = np.diagonal(lw.inertia_matrix(robot, workspace(robot, plan.states)), axis1=-2, axis2=-1)
        rows = [
            [f"{k + 1}", f"{D[:, k].min():.3g}", f"{D[:, k].max():.3g}", f"{D[:, k].max() / D[:, k].min():.3g}",
             f"{diagonal_of[:, k].max() / diagonal_of[:, k].min():.3g}"]
            for k in range(robot.n)
        ]  # fmt: skip
        header = ["k", "least D", "largest D", "ratio", "ratio of I_kk"]
        lines += [f"#### {name}, {plan.states:,} random configurations", "", *markdown(header, rows), ""]
    fit, arm = identified(plan), lw.load("stanford")
    move = saha_motion(arm)
    t = np.linspace(0.0, 2.0, 201)
    q = move(t).q
    true = lw.formulations.udu(arm, q)[1]
    D, sigma = lw.identification.joint_inertias(fit, q)
    rows = [
        [f"{k + 1}", f"{true[:, k].mean():.3g}", f"{np.mean(sigma[:, k] / D[:, k]):.1e}",
         f"{np.max(sigma[:, k] / D[:, k]):.1e}", f"{np.max(np.abs(D - true)[:, k] / sigma[:, k]):.1f}"]
        for k in range(6)
    ]  # fmt: skip
    header = ["k", "mean D", "mean σ / D", "largest σ / D", "largest error / σ"]
    lines += ["#### D of an identified Stanford arm along its cycloid", "", *markdown(header, rows)]
    figure = Figure(figsize=(10, 6), layout="constrained")
    units = ["kg" if kind == "P" else "kg m²" for kind in arm.joints]
    for k, axes in enumerate(figure.subplots(2, 3).flat):
        low, high = D[:, k] - 2.0 * sigma[:, k], D[:, k] + 2.0 * sigma[:, k]
        axes.fill_between(t, low, high, color=COLOURS[5], alpha=0.5, label="identified, ± 2 σ")
        axes.plot(t, true[:, k], color=COLOURS[1], label="true")
        tidy(axes, f"({'abcdef'[k]}) D of joint {k + 1}", "time (s)", units[k])
        spread = max(np.ptp(true[:, k]), 4.0 * sigma[:, k].max(), 1e-3 * D[:, k].max())
        middle = 0.5 * (true[:, k].max() + true[:, k].min())
        axes.set_ylim(middle - 0.9 * spread, middle + 0.9 * spread)
    figure.axes[0].legend(frameon=False, fontsize="small")
    return lines, figure


# --- a Riccati recursion that is not repeated ------------------------------------------------------------------------


def frozen_bodies(robot: lw.Robot, q: Any, held: Any) -> list[udu.Articulated]:
    """P, D, G of the configuration `held`, between the placements of q."""
    bodies = udu.articulated_bodies(robot, [held[..., i] for i in range(robot.n)])
    poses = [link.pose(q[..., link.index]) for link in robot.links]
    return [body._replace(pose=pose) for body, pose in zip(bodies, poses, strict=True)]


def frozen_torque(robot: lw.Robot, q: Any, qd: Any, qdd: Any, held: Any) -> Any:
    """(1 + H Φ K) D (1 + H Φ K)* q̈ + bias, with D and G of `held`."""
    bodies = frozen_bodies(robot, q, held)
    xi = [motion.xi for motion in diagonal.from_joint_rates(robot, bodies, [qdd[..., i] for i in range(robot.n)])]
    kappa = [body.pivot * x for body, x in zip(bodies, xi, strict=True)]
    return np.stack(diagonal.joint_torque(robot, bodies, kappa), axis=-1) + lw.bias_torque(robot, q, qd)


def frozen_acceleration(robot: lw.Robot, q: Any, qd: Any, tau: Any, held: Any) -> Any:
    """(1 - H Ψ K)* D⁻¹ (1 - H Ψ K) (τ - bias), with D and G of `held`."""
    phi = tau - lw.bias_torque(robot, q, qd)
    solved = udu.solve(robot, frozen_bodies(robot, q, held), [phi[..., i] for i in range(robot.n)])
    return np.stack(solved, axis=-1)


def riccati(robot: lw.Robot, q: Any) -> Any:
    """D and G: what is not repeated."""
    bodies = udu.articulated_bodies(robot, [q[..., i] for i in range(robot.n)])
    return np.stack([x for body in bodies for x in (body.pivot, *body.psi)], axis=-1)


def held_rows(q: Array, k: int) -> Array:
    """The configuration of the last of every k samples."""
    return q[(np.arange(len(q)) // k) * k]


def controlled(robot: lw.Robot, move: Any, k: int, dt: float, seconds: float) -> tuple[Array, Array]:
    """Computed torque every dt seconds, with D and G of every k-th sample: times, and the largest error in q."""
    kp, kd, n = 400.0, 40.0, robot.n

    def law(robot: lw.Robot, t: Any, q: Any, qd: Any, state: Any) -> Any:
        counter, held = state[-1], state[:-1]
        renewed = np.stack([np.where(counter < 0.5, now, old) for now, old in zip(q, held, strict=True)])
        target, rate, acceleration = move(t)
        tau = frozen_torque(robot, q, qd, acceleration + kd * (rate - qd) + kp * (target - q), renewed)
        following = np.where(counter > k - 1.5, 0.0, counter + 1.0)
        return tau, np.concatenate([renewed, np.stack([following])])

    start = move(0.0).q + 0.1 * np.where(np.arange(n) % 2, -1.0, 1.0)
    sampled = lw.control.sampled(law, dt, state=np.zeros(n + 1))
    run = lw.simulate(robot, start, np.zeros(n), seconds, torque=sampled, samples=201)
    return run.t, np.abs(run.q - move(run.t).q).max(axis=-1)


def fall(robot: lw.Robot, step: Callable[..., Array], k: int, dt: float, seconds: float) -> Array:
    """rk4 from rest, without torques; D and G of the beginning of every k-th step, for k = 0 of every stage."""
    q, qd, tau, held = np.linspace(0.3, 0.9, robot.n), np.zeros(robot.n), np.zeros(robot.n), np.zeros(robot.n)
    for count in range(round(seconds / dt)):
        held = q if k and count % k == 0 else held

        def slope(q: Array, qd: Array) -> Array:
            return step(q, qd, tau, held if k else q)  # noqa: B023

        a1 = slope(q, qd)
        a2 = slope(q + 0.5 * dt * qd, qd + 0.5 * dt * a1)
        a3 = slope(q + 0.5 * dt * qd + 0.25 * dt * dt * a1, qd + 0.5 * dt * a2)
        a4 = slope(q + dt * qd + 0.5 * dt * dt * a2, qd + dt * a3)
        q = q + dt * qd + dt * dt / 6.0 * (a1 + a2 + a3)
        qd = qd + dt / 6.0 * (a1 + 2.0 * a2 + 2.0 * a3 + a4)
    return q


def frozen(plan: Plan) -> tuple[list[str], Figure]:
    dt, lines = 1e-3, list[str]()
    figure = Figure(figsize=(11, 3.8), layout="constrained")
    axes = figure.subplots(1, 3)
    robots = {name: lw.load(name) for name in ("stanford", "puma560", "ur5e")}
    rows, rates = [], {}
    for place, (name, robot) in enumerate(robots.items()):
        move = reach(robot, plan.seconds)
        t = np.arange(round(plan.seconds / dt) + 1) * dt
        q, qd, qdd = move(t)
        exact = lw.inverse_dynamics(robot, q, qd, qdd)
        scale = np.sqrt(np.mean((exact - lw.gravity_torque(robot, q)) ** 2))
        errors = []
        for k in plan.every:
            held = held_rows(q, k)
            off = frozen_torque(robot, q, qd, qdd, held) - exact
            matrix = np.einsum("...ij,...j->...i", lw.inertia_matrix(robot, held), qdd) + lw.bias_torque(robot, q, qd)
            errors.append(np.sqrt(np.mean(off**2)) / scale)
            rows.append([name, str(k), f"{errors[-1]:.1e}", f"{np.sqrt(np.mean((matrix - exact) ** 2)) / scale:.1e}",
                         f"{np.abs(off).max():.1e}"])  # fmt: skip
        rates[name] = errors
        shown = [(k, error) for k, error in zip(plan.every, errors, strict=True) if k > 1]
        axes[0].loglog(*zip(*shown, strict=True), "o-", color=COLOURS[place], markersize=4, label=name)
    header = ["robot", "k", "error of τ, D and G held", "error of τ, all of I held", "largest error (N m, N)"]
    lines += ["#### Torques along a motion of 2 s in steps of 1 ms, rms relative to those of the motion", ""]
    lines += [*markdown(header, rows), ""]
    tidy(axes[0], "(a) Torque: D and G held", "k, steps of 1 ms", "rms error / rms torque of motion")
    axes[0].set_xticks(plan.every[1:], [str(k) for k in plan.every[1:]])
    axes[0].minorticks_off()
    axes[0].legend(frameon=False, fontsize="small")

    rows, robot = [], robots["puma560"]
    move = reach(robot, plan.seconds)
    for place, k in enumerate(plan.every):
        times, error = controlled(robot, move, k, dt, plan.seconds)
        at = np.abs(times - 0.25).argmin()
        rows.append([str(k), f"{error[0]:.1e}", f"{error[at]:.3e}", f"{error[times > 1.0].max():.2e}"])
        axes[1].semilogy(times, error, color=COLOURS[place], label=f"k = {k}")
    lines += ["#### Puma 560 under computed torque every 1 ms, kp = 400, kd = 40, from 0.1 rad off its motion", ""]
    lines += [*markdown(["k", "error at first (rad)", "at 0.25 s", "largest after 1 s"], rows), ""]
    tidy(axes[1], "(b) Puma 560, computed torque", "time (s)", "largest error of a joint (rad)")
    axes[1].legend(frameon=False, fontsize="small")

    rows = []
    inputs = {"held": lw.Input(robot.n)}
    step = lw.compile(frozen_acceleration, robot, **inputs)
    start = np.linspace(0.3, 0.9, robot.n)
    exact = lw.simulate(robot, start, np.zeros(robot.n), 0.5, rtol=1e-12, samples=2).q[-1]
    steps = (4e-3, 2e-3, 1e-3, 5e-4)
    for place, k in enumerate((0, *plan.every)):
        off = [np.abs(fall(robot, step, k, h, 0.5) - exact).max() for h in steps]
        rows.append([str(k) if k else "every stage", *(f"{x:.1e}" for x in off)])
        axes[2].loglog(steps, off, "o-", markersize=4, color=COLOURS[place], label=f"k = {k}" if k else "every stage")
    lines += ["#### Puma 560 in free fall, 0.5 s of rk4: largest error of a joint (rad)", ""]
    lines += [*markdown(["D and G of every k-th step", *(f"step {h * 1e3:g} ms" for h in steps)], rows), ""]
    tidy(axes[2], "(c) Puma 560, free fall of 0.5 s by rk4", "length of a step (s)", "largest error of a joint (rad)")
    axes[2].set_xticks(steps, [f"{h:g}" for h in steps])
    axes[2].minorticks_off()
    axes[2].legend(frameon=False, fontsize="x-small")

    rows = []
    for name, robot in robots.items():
        parts = [lw.count(riccati, robot).total, lw.count(lw.forward_dynamics, robot, method="denoc").total]
        parts.append(lw.count(lw.inverse_dynamics, robot, method="newton-euler").total)
        rows.append([name, *(f"{x:,}" for x in parts), f"{parts[0] / parts[1]:.0%}"])
    header = ["robot", "D and G", "forward dynamics, `denoc`", "inverse dynamics, `newton-euler`", "share of D and G"]
    lines += ["#### Operations", "", *markdown(header, rows)]
    return lines, figure


# --- tracking --------------------------------------------------------------------------------------------------------


def tracking(plan: Plan) -> tuple[list[str], Figure]:
    figure = Figure(figsize=(11, 3.8), layout="constrained")
    axes, rows = figure.subplots(1, 3), []
    for name in ("planar3", "stanford", "puma560"):
        robot = lw.load(name)
        move = reach(robot, plan.seconds)
        start = move(0.0).q + 0.2 * np.where(np.arange(robot.n) % 2, -1.0, 1.0)
        laws = {
            coordinates: lw.control.diagonal_control(move, 25.0, 10.0, coordinates=coordinates) for coordinates in QUASI
        }
        laws["computed torque"] = lw.control.computed_torque(move, 25.0, 10.0)
        for place, (label, law) in enumerate(laws.items()):
            run = lw.simulate(robot, start, np.zeros(robot.n), plan.seconds, torque=law, rtol=1e-11, samples=101)
            states = list(zip(run.t, run.q, run.qd, strict=True))
            shared = laws[label] if label in QUASI else laws["normalized"]
            errors = np.array([shared.velocity_error(robot, *state) for state in states])
            size = np.sqrt((errors**2).sum(-1))
            away = np.abs(run.q - move(run.t).q).max(axis=-1)
            slope = -np.polyfit(run.t[run.t <= 1.5], np.log(size[run.t <= 1.5]), 1)[0]
            apart = np.abs(errors - errors[0] * np.exp(-5.0 * run.t[:, None])).max() / size[0]
            count = lw.count(law, robot)
            operations = f"{count.multiplications + count.divisions + count.additions:,}"
            cells = [f"{slope:.4f}", f"{apart:.0e}", f"{away[run.t <= 1.0][-1]:.1e}", f"{np.abs(run.tau).max():.3g}"]
            rows.append(
                [name, "ν" if label == "normalized" else "ξ" if label == "unnormalized" else label, *cells, operations]
            )
            if name == "stanford":
                for k in range(robot.n):
                    axes[place].semilogy(
                        run.t, np.maximum(np.abs(errors[:, k]), 1e-12), color=COLOURS[k], label=f"{k + 1}"
                    )
                rate = np.abs(errors[0]).max() * np.exp(-5.0 * run.t)
                axes[place].semilogy(run.t, 2.0 * rate, "k--", linewidth=1.0, label="$e^{-5t}$")
                letter = "s" if place != 1 else "\u03c3"
                title = ("Tracking in ν", "Tracking in ξ", "Computed torque")[place]
                tidy(axes[place], f"({'abc'[place]}) {title}: |{letter}|", "time (s)", "")
                axes[place].set_ylim(1e-6, 20.0)
    axes[0].legend(title="component", frameon=False, fontsize="x-small", ncols=2)
    header = ["robot", "law", "decay of the norm of s or σ (1/s)", "largest distance from s(0) exp(-5 t)",
              "error in q at 1 s (rad, m)", "largest torque", "operations"]  # fmt: skip
    return markdown(header, rows), figure


# --- steps -----------------------------------------------------------------------------------------------------------


def steps(plan: Plan) -> tuple[list[str], Figure]:
    """Steps of random motions, the errors in q at their ends, and the steps that the error of q̇ would have taken."""
    robots = [lw.load(name) for name in ("planar3", "stanford", "puma560", "ur5e")]
    robots += [lw.chain(8), lw.random_tree(8, seed=1)]
    rows, changes = [], dict[tuple[str, str, float], tuple[dict[str, float], dict[str, float]]]()
    for robot in robots:
        rng = np.random.default_rng(robot.n)
        q0, qd0 = rng.uniform(-1.5, 1.5, (plan.starts, robot.n)), rng.normal(size=(plan.starts, robot.n))
        exact = lw.simulate(robot, q0, qd0, 1.0, rtol=1e-13, samples=2).q[:, -1]
        for integrator, order in ORDERS.items():
            for tolerance in plan.tolerances:
                means, errors = {}, {}
                for coordinates in ("joint", *QUASI):
                    run = lw.simulate(
                        robot, q0, qd0, 1.0, rtol=tolerance, coordinates=coordinates, integrator=integrator, samples=2
                    )
                    means[coordinates] = np.mean(run.steps)
                    errors[coordinates] = np.exp(np.mean(np.log(np.abs(run.q[:, -1] - exact).max(axis=-1))))
                change = {key: means[key] / means["joint"] - 1.0 for key in QUASI}
                equal = {
                    key: (1.0 + change[key]) * (errors[key] / errors["joint"]) ** (1.0 / order) - 1.0 for key in QUASI
                }
                changes[robot.name, integrator, tolerance] = change, equal
                rows.append([robot.name, f"`{integrator}`", f"{tolerance:.0e}", *(f"{x:.1f}" for x in means.values()),
                             *(f"{100 * x:+.0f} %" for x in change.values()), *(f"{x:.0e}" for x in errors.values()),
                             *(f"{100 * x:+.0f} %" for x in equal.values())])  # fmt: skip
    header = ["robot", "integrator", "tolerance", "steps in q̇", "ν", "ξ", "ν − q̇", "ξ − q̇", "error in q̇", "ν", "ξ",
              "ν − q̇ at equal error", "ξ − q̇ at equal error"]  # fmt: skip
    figure = Figure(figsize=(11, 3.8), layout="constrained")
    names = [robot.name for robot in robots]
    sets = [(integrator, tolerance) for integrator in ORDERS for tolerance in plan.tolerances]
    titles = ("(a) Steps against those in q̇, at the same tolerance", "(b) The same, at equal error")
    for panel, (axes, title) in enumerate(zip(figure.subplots(1, 2, sharey=True), titles, strict=True)):
        for side, coordinates in enumerate(QUASI):
            for k, name in enumerate(names):
                values = [100.0 * changes[name, *each][panel][coordinates] for each in sets]
                place = k + 0.36 * (side - 0.5) + np.linspace(-0.12, 0.12, len(sets))
                axes.bar(place, values, 0.07, color=COLOURS[side], label="νξ"[side] if not k else None)
        axes.set_xticks(range(len(names)), names, fontsize="small")
        tidy(axes, title, "", "" if panel else "change of steps (%)")
        axes.axhline(0.0, color="0.4", linewidth=0.8)
        axes.legend(frameon=False, loc="upper left")
    return markdown(header, rows), figure


# --- pages and pictures ----------------------------------------------------------------------------------------------


def tidy(axes: Axes, title: str, xlabel: str, ylabel: str) -> None:
    axes.set(xlabel=xlabel, ylabel=ylabel)
    axes.set_title(title, loc="left", fontsize="medium")
    axes.grid(color="0.92")
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def save_svg(figure: Figure, folder: Path, name: str) -> None:
    """The same bytes for the same picture."""
    folder.mkdir(parents=True, exist_ok=True)
    with mpl.rc_context({"svg.hashsalt": "linkwise"}):
        figure.savefig(folder / name, metadata={"Date": None, "Creator": None})


def with_tables(page: str, mark: str, lines: Sequence[str]) -> str:
    """The page with what stands between the two marks replaced."""
    begin, end = f"<!-- measured: {mark} -->", f"<!-- end of {mark} -->"
    head, rest = page.split(begin)
    _, tail = rest.split(end)
    return "\n".join([head + begin, "", *lines, "", end + tail])


QUESTIONS = {  # titles of the tables, their functions, the pictures
    "Curvature": (curvatures, "curvature.svg"),
    "D over the workspace and along a motion": (inertias, "joint_inertias.svg"),
    "A Riccati recursion that is not repeated": (frozen, "frozen_riccati.svg"),
    "Tracking in quasi-velocities": (tracking, "quasi_tracking.svg"),
    "Steps of integrators": (steps, "quasi_steps.svg"),
}


def main(argv: Sequence[str] | None = None, plan: Plan = Plan()) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, metavar="DIR", help="folder for pictures and tables [docs]")
    out: Path | None = parser.parse_args(argv).out
    begin, lines = time.perf_counter(), list[str]()
    for title, (study, picture) in QUESTIONS.items():
        table, figure = study(plan)
        lines += [f"### {title}", "", *table, ""]
        save_svg(figure, out or DOCS / "pictures", picture)
        print(f"[{time.perf_counter() - begin:5.1f} s] {title}", flush=True)
    print("", *lines, sep="\n")
    if out:
        (out / PAGE).write_text("\n".join(lines), encoding="utf-8")
    else:
        page = DOCS / PAGE
        page.write_text(with_tables(page.read_text(encoding="utf-8"), MARK, lines), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
