"""Section 6 of Saha, ASME Journal of Applied Mechanics 66 (1999) 986-996, worked again: Figs. 5, 6, 8 and 9.

Two arms follow the paper's cycloidal trajectories, which gives their joint torques (RIDIM, recursive inverse dynamics),
and fall freely under gravity, which gives their motion (RFDSIM, recursive forward dynamics). Under the torques alone
the planar arm stays on its motion for 2 s. Operation counts stand beside those of the paper's tables.
docs/papers/saha-1999-jam.md has every equation.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

import linkwise as lw
from linkwise.dynamics import udu

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Array = NDArray[np.float64]
PICTURES = Path(__file__).resolve().parent.parent / "pictures"
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#7a5c00", "#56b4e9")  # joint 1, 2, ... in every figure
MOVE_SECONDS = 10.0

Polynomial = tuple[Fraction | int, ...]  # in n, the highest power first
Published = dict[str, tuple[Polynomial, Polynomial]]
# Multiplications and additions for an arm of n revolute joints, as in Tables 1 and 2.
PUBLISHED_INVERSE: Published = {
    "Hollerbach (1980)": ((412, -277), (320, -201)),
    "Luh et al. (1980)": ((150, -48), (131, -48)),  # Saha prints 131n+48, Angeles 131n-48
    "Walker and Orin (1982)": ((137, -22), (101, -11)),
    "Saha (1999)": ((120, -44), (97, -55)),
    "Khalil et al. (1986)": ((105, -92), (94, -86)),
    "Angeles et al. (1989)": ((105, -109), (90, -105)),
    "Balafoutis and Patel (1988)": ((93, -69), (81, -65)),
}
PUBLISHED_FORWARD: Published = {
    "Saha (1999)": ((201, -335), (193, -361)),
    "Featherstone (1983)": ((199, -198), (174, -173)),
    "Walker and Orin (1982)": (  # Saha prints 480 additions at n = 6; this form gives 475
        (Fraction(1, 6), Fraction(23, 2), Fraction(115, 3), -47),
        (Fraction(1, 6), 7, Fraction(233, 6), -46),
    ),
}


@dataclass(frozen=True)
class Example:
    """An arm, its cycloidal motion, and for how long it falls from where that starts."""

    arm: lw.Robot
    move: lw.trajectories.Trajectory
    fall_seconds: float


def planar() -> Example:
    """Eq. (38): every joint turns from 0 to 180 deg.

    The falling arm is a triple pendulum, and chaotic: after 5 s its angles are good to 1e-6 rad, after 8 s to nothing.
    """
    return Example(
        lw.load("planar3"), lw.trajectories.cycloid(np.zeros(3), np.full(3, np.pi), MOVE_SECONDS), fall_seconds=5.0
    )


def stanford() -> Example:
    """Eq. (39), with the amplitudes that reach the stated end (60 deg, and 0.1 m for joint 3); it prints 1/2 for all.

    Joint 3 has no stop: in a fall of 1 s it slides out by 3 m, and by 13 m in the next second.
    """
    start = np.array([0, np.pi / 2, 0, 0, 0, 0])
    end = np.array([np.pi / 3, np.pi / 3, 0.1, np.pi / 3, np.pi / 3, np.pi / 3])
    return Example(lw.load("stanford"), lw.trajectories.cycloid(start, end, MOVE_SECONDS), fall_seconds=1.0)


def torques_along(example: Example, samples: int) -> lw.results.Loads:
    """RIDIM: the joint torques and forces (samples, joints) that the cycloidal motion needs, all times in one call."""
    return lw.torque_along(example.arm, example.move, samples, loads=False, method="denoc")


def fall(arm: lw.Robot, start: Array, t: Array) -> lw.Recording:
    """RFDSIM: the arm let go at rest from `start`, no torque at its joints, at the times t."""
    return lw.simulate(arm, start, np.zeros(arm.n), duration=t[-1], rtol=1e-10, samples=t, method="denoc")


def print_return(example: Example, seconds: float) -> None:
    """RFDSIM under the torques of RIDIM: nothing holds the arm on its motion, and small errors grow from 3 s on."""
    run = lw.simulate(
        example.arm,
        example.move(0.0).q,
        duration=seconds,
        torque=torques_along(example, 501),
        rtol=1e-10,
        method="denoc",
    )
    off = np.abs(run.q - [example.move(t).q for t in run.t]).max()
    print(f"\n{example.arm.name} under these torques alone for {seconds:g} s: {off:.1e} rad off its cycloid at most")


def by_joint(arm: lw.Robot, revolute: str, prismatic: str) -> list[str]:
    """One of two words for each joint: `by_joint(arm, "N m", "N")` are the units of the arm's torques and forces."""
    return [prismatic if kind == "P" else revolute for kind in arm.joints]


def in_degrees(arm: lw.Robot, q: Array) -> Array:
    """Joint positions (times, joints) for the eye: angles in degrees, displacements left in metres."""
    return np.where([kind == "P" for kind in arm.joints], q, np.degrees(q))


def tidy(axes: Axes, ylabel: str, seconds: float) -> None:
    """What all axes share: labels, a line at zero, a faint grid."""
    axes.set(xlabel="time (s)", ylabel=ylabel, xlim=(0, seconds))
    axes.axhline(0, color="0.6", linewidth=0.8, zorder=0)
    axes.grid(color="0.92")
    axes.ticklabel_format(axis="y", scilimits=(-2, 4), useMathText=True)
    axes.spines[["top", "right"]].set_visible(False)


def one_axes(title: str, ylabel: str, symbol: str, t: Array, curves: Array) -> Figure:
    """All joints in one picture, with the legend beside it."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4.8), layout="constrained")
    axes = figure.subplots()
    for joint, curve in enumerate(curves.T):
        axes.plot(t, curve, color=COLOURS[joint], linewidth=1.8, label=f"${symbol}_{joint + 1}$, joint {joint + 1}")
    axes.set_title(title, pad=12)
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
    tidy(axes, ylabel, t[-1])
    return figure


def six_panels(title: str, ylabels: list[str], t: Array, curves: Array, dashed: Array | None = None) -> Figure:
    """One panel, (a) to (f), for each joint; a second curve dashed."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 6.5), layout="constrained")
    for joint, axes in enumerate(figure.subplots(2, 3).flat):
        axes.plot(t, curves[:, joint], color=COLOURS[joint], linewidth=1.8)
        if dashed is not None:
            axes.plot(t, dashed[:, joint], color="0.2", linewidth=1.2, linestyle="--")
        axes.set_title(f"({'abcdef'[joint]}) Joint {joint + 1}", loc="left", fontsize="medium")
        tidy(axes, ylabels[joint], t[-1])
    figure.suptitle(title)
    return figure


def fig5_planar_torques(arm: lw.Robot, t: Array, tau: Array) -> Figure:
    title = "Fig. 5  Planar arm: torques as every joint turns from 0 to 180 deg, Eq. (38)"
    return one_axes(title, "torque (N m)", r"\tau", t, tau)


def fig6_planar_fall(arm: lw.Robot, t: Array, q: Array) -> Figure:
    from matplotlib.ticker import MultipleLocator

    title = f"Fig. 6  Planar arm: {t[-1]:g} s of free fall, let go at rest, straight out along $X$"
    figure = one_axes(title, "angle (deg)", r"\theta", t, in_degrees(arm, q))
    figure.axes[0].yaxis.set_major_locator(MultipleLocator(180))
    return figure


def fig8_stanford_torques(arm: lw.Robot, t: Array, tau: Array) -> Figure:
    title = "Fig. 8  Stanford arm: torques and force on the cycloid of Eq. (39), amplitudes corrected"
    return six_panels(title, by_joint(arm, "torque (N m)", "force (N)"), t, tau)


def fig9_stanford_fall(arm: lw.Robot, t: Array, q: Array) -> Figure:
    """Print does not say where gravity points: along -Z_1 theta_2 falls from 90 deg, along +Z_1 it grows beyond."""
    other = fall(arm.with_gravity([-g for g in arm.gravity]), q[0], t)
    title = (
        f"Fig. 9  Stanford arm: {t[-1]:g} s of free fall, let go at rest, gravity along $-Z_1$; dashed along $+Z_1$\n"
        "The boom tips away from level (joint 2 at 90 deg); joint 3, without a stop, slides out"
    )
    units = by_joint(arm, "angle (deg)", "displacement (m)")
    return six_panels(title, units, t, in_degrees(arm, q), in_degrees(arm, other.q))


def operations(function: Callable[..., object], arm: lw.Robot, **keywords: str) -> tuple[int, int]:
    """Multiplications with divisions, and additions with subtractions, as the published tables count them."""
    found = lw.count(function, arm, **keywords)
    return found.multiplications + found.divisions, found.additions


def accelerations(arm: lw.Robot, q: Array, phi: Array) -> list[object]:
    """Forward dynamics with the bias already taken from the torques: what the published counts are of."""
    return udu.solve(arm, udu.articulated_bodies(arm, q), phi)


def print_torques(example: Example) -> None:
    along = torques_along(example, 3)
    print(f"\nTorques of {example.arm.name} on its cycloid")
    print(f"  {'time':8}" + "".join(f"{f'{k} ({u})':>12}" for k, u in enumerate(by_joint(example.arm, "N m", "N"), 1)))
    for t, row in zip(along.t, along.tau, strict=True):
        print(f"  {t:4.1f} s  " + "".join(f"{value + 0.0:12.6f}" for value in row.round(6)))


def print_counts() -> None:
    print("\nOperation counts: M multiplications and divisions, A additions and subtractions; no sines and cosines")
    print(f"  {'':19}{'inverse dynamics':>19}{'forward dynamics':>19}{'inertia matrix':>19}")
    arms = {name: lw.load(name) for name in ("planar3", "stanford", "puma560")}
    arms |= {f"general arm, n = {n}": lw.chain(n) for n in (6, 12)}
    for name, arm in arms.items():
        pairs = [operations(f, arm) for f in (lw.inverse_dynamics, lw.forward_dynamics, lw.inertia_matrix)]
        print(f"  {name:19}" + "".join(f"{m:>11}M {a:>5}A" for m, a in pairs))
    general = [lw.chain(n) for n in (6, 12)]
    inverse = {
        "Linkwise, Newton-Euler": [operations(lw.inverse_dynamics, arm) for arm in general],
        "Linkwise, as Saha": [operations(lw.inverse_dynamics, arm, method="denoc") for arm in general],
        "Linkwise, in Angeles' frames": [
            operations(lw.inverse_dynamics, arm, method="newton-euler-centres") for arm in general
        ],
        "Linkwise, in Saha's frames": [operations(lw.inverse_dynamics, arm, method="denoc-centres") for arm in general],
        "Linkwise, fewest": [operations(lw.inverse_dynamics, arm, method="fewest") for arm in general],
    }
    forward = {"Linkwise, as Saha": [operations(accelerations, arm) for arm in general]}
    complete = {
        "Linkwise, as Saha": [operations(lw.forward_dynamics, arm) for arm in general],
        "Linkwise, fewest": [operations(lw.forward_dynamics, arm, method="fewest") for arm in general],
    }
    print_published("Inverse dynamics", inverse, PUBLISHED_INVERSE)
    print_published("Forward dynamics, bias given", forward, PUBLISHED_FORWARD)
    print_published("Forward dynamics, complete", complete, {})
    print()


def in_n(form: Polynomial) -> str:
    """The polynomial as text."""
    powers = ("", "n", "n²", "n³")[: len(form)]
    terms = zip(form, reversed(powers), strict=True)
    return " ".join([f"{c:+}{power}" if c == int(c) else f"+({c}){power}" for c, power in terms]).removeprefix("+")


def value(form: Polynomial, n: int) -> int:
    return int(sum(c * n**k for k, c in enumerate(reversed(form))))


def print_published(title: str, rows: dict[str, list[tuple[int, int]]], published: Published) -> None:
    """The general revolute arm of 6 and of 12 joints: what Linkwise takes, and what the literature reports."""
    for source, (m, a) in published.items():
        rows[f"{source:28}{in_n(m)}M  {in_n(a)}A"] = [(value(m, n), value(a, n)) for n in (6, 12)]
    print(f"\n  {title + ', general arm':88}{'n = 6':>14}{'n = 12':>14}")
    for name, pairs in rows.items():
        print(f"  {name:88}" + "".join(f"{m:>6}M {a:>5}A" for m, a in pairs))


def main(argv: Sequence[str] | None = None) -> None:
    """Compute and draw, then print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, epilog="example: python examples/saha_figures.py --out here")
    parser.add_argument("--out", type=Path, default=PICTURES, metavar="DIR", help="folder to draw in [%(default)s]")
    out: Path = parser.parse_args(argv).out
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        parser.error(f"--out {out}: cannot make this folder ({error.strerror})")
    begin = time.perf_counter()

    def say(step: str) -> None:
        print(f"[{time.perf_counter() - begin:5.1f} s] {step}", flush=True)

    drawn = find_spec("matplotlib") is not None
    work = ((planar(), fig5_planar_torques, fig6_planar_fall), (stanford(), fig8_stanford_torques, fig9_stanford_fall))
    drifts = []
    for example, draw_torques, draw_fall in work:
        arm, seconds = example.arm, example.fall_seconds
        say(f"{arm.name}: torques along the cycloid, 501 states in one call")
        along = torques_along(example, 501)
        if drawn:
            draw_torques(arm, along.t, along.tau).savefig(out / f"{draw_torques.__name__}.png", dpi=100)
        say(f"{arm.name}: free fall of {seconds:g} s, forward dynamics at every step of the integrator")
        t_fall = np.linspace(0, seconds, 1001)
        fallen = fall(arm, example.move(0.0).q, t_fall)
        if drawn:
            draw_fall(arm, t_fall, fallen.q).savefig(out / f"{draw_fall.__name__}.png", dpi=100)
        drift, kinetic = np.abs(fallen.imbalance).max(), lw.kinetic_energy(arm, fallen.q, fallen.qd).max()
        steps = f"{fallen.steps} steps of {fallen.integrator}"
        drifts.append(f"  {arm.name:9}{seconds:g} s, {steps}: {drift:.1e} J, kinetic energy up to {kinetic:.1f} J")
    for example, *_ in work:
        print_torques(example)
    print_return(work[0][0], 2.0)
    print("\nEnergy drift in free fall", *drifts, sep="\n")
    print_counts()
    needs = "no pictures: these need matplotlib (pip install matplotlib)"
    say(f"done; the pictures are in {out.resolve()}" if drawn else f"done; {needs}")


if __name__ == "__main__":
    main()
