"""Ten seconds of free fall: one arm against SciPy driving Pinocchio, and 4,096 arms at once against one after another.

python benchmarks/simulation.py [--falls 4096] [--rounds 7]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from arms import Arm, converters
from contestants import PEERS
from report import Claim, Section, Table, at_least, ratios, spread, verdict
from timing import Contestant, command, interleaved, one_core, optional

import linkwise as lw
from linkwise.kernels.kernel import processors

ABOUT = (
    "One core. At rest from the paper's initial states, and the Puma from one of ours, without its drives' inertia;"
    " rtol 1e-8, atol 1e-10 for both sides. SciPy's `solve_ivp` with DOP853 calls `pinocchio.aba`, as a user would"
    " write it. Linkwise is `lw.simulate(...)`, Python and the recording included, after its code has been compiled."
)
SECONDS, SAMPLES = 10.0, 101
WAYS = ("verner65", "dop853", "dverk65")
STARTS = {
    "planar3": [0.0] * 3,
    "stanford": [0.0, np.pi / 2, 0.0, 0.0, 0.0, 0.0],
    "puma560": [0.0, 0.3, -0.2, 0.1, 0.2, 0.3],
}


def with_pinocchio(name: str) -> Arm:
    robot = lw.load(name).without_rotors()
    there = optional("pinocchio") and optional("mujoco")
    return Arm(name, robot, converters().to_pinocchio(robot)[0] if there else None)


def fall(arm: Arm, **options: Any) -> lw.Recording:
    start = STARTS[arm.label]
    return lw.simulate(arm.robot, start, np.zeros(len(start)), **{"duration": SECONDS, "samples": SAMPLES, **options})


def scipy_fall(arm: Arm, seconds: float, rtol: float = 1e-8) -> np.ndarray:
    """The same by SciPy and Pinocchio, (samples, 2 n)."""
    from scipy.integrate import solve_ivp

    pin, n = optional("pinocchio"), arm.robot.n
    model, data, tau = arm.pinocchio, arm.pinocchio.createData(), np.zeros(n)
    side = lambda t, y: np.concatenate([y[n:], pin.aba(model, data, y[:n], y[n:], tau)])  # noqa: E731
    start = np.concatenate([STARTS[arm.label], tau])
    times = np.linspace(0.0, seconds, SAMPLES)
    return np.asarray(solve_ivp(side, (0.0, seconds), start, "DOP853", times, rtol=rtol, atol=rtol / 100).y.T)


def measure(falls: int = 4096, rounds: int = 7, peers: Sequence[str] = PEERS) -> Section:
    section = Section("Simulation", "python benchmarks/simulation.py", ABOUT)
    arms = {name: with_pinocchio(name) for name in STARTS}
    rows, crowds, won, gains, same, drifts, many = [], [], {}, {}, {}, {}, {}
    with one_core():
        for name, arm in arms.items():
            names = {"fall": fall, "scipy_fall": scipy_fall, "arm": arm, "seconds": SECONDS}
            entered = [Contestant(way, f"fall(arm, integrator={way!r})", names) for way in WAYS]
            if "pinocchio" in peers and arm.pinocchio:
                entered.append(Contestant("SciPy", "scipy_fall(arm, seconds)", names))
                exact = scipy_fall(arm, 2.0, 1e-12)[:, : arm.robot.n]
                for way, rtol in (("verner65", 1e-8), ("verner65", 1e-10), ("dop853", 1e-8)):
                    early = fall(arm, duration=2.0, integrator=way, rtol=rtol)
                    same[f"{name}, {way}, rtol {rtol:g}"] = [float(np.abs(early.q - exact).max())]
            times = interleaved(entered, rounds)
            drifts |= {f"{name}, {way}": [drift(arm, way)] for way in WAYS[:2]}
            row = [name, *(f"{spread(times[way], 1e3)}, {fall(arm, integrator=way).steps} steps" for way in WAYS)]
            if "SciPy" in times:
                won[name] = ratios(times["SciPy"], times["verner65"])
                row += [spread(times["SciPy"], 1e3), spread(won[name])]
            rows.append([*row, *[""] * (6 - len(row))])
            many[name] = batch_times(arm, falls, rounds)
            gains[name] = ratios(many[name]["one"], many[name]["all"])
    for name, arm in arms.items():
        ways = {**many[name], "cores": batch_times(arm, falls, rounds, ("all",))["all"]}
        row = [name, spread(ways["one"], 1e6)]
        for way in ("all", "sides", "cores"):
            row += [spread(ways[way], 1e6), spread(ratios(ways["one"], ways[way]))]
        crowds.append(row)
    header = ["", *(f"{way}, ms" for way in WAYS), "SciPy + Pinocchio, ms", "times as long as verner65"]
    crowd = ["µs for a fall:", "one after another", f"{falls:,} at once", "throughput", "right-hand sides alone"]
    crowd += ["throughput", f"on all cores ({processors()})", "throughput"]
    section.tables = [
        Table("Ten seconds of free fall:", header, rows),
        Table("Many falls on one core, and on all:", crowd, crowds),
    ]
    section.remarks = [
        "The planar arm is chaotic: at ten seconds no two correct codes agree. Over the first two seconds they do.",
        "One after another is a loop in Python over `lw.simulate`, each call with its own recording.",
        "Right-hand sides alone: as many evaluations of forward dynamics as the falls took, at the speed of the batch"
        " kernel `lw.compile(lw.forward_dynamics, arm)` on one core: about the most that any driver could reach.",
    ]
    section.claims = [
        at_least("a fall is at least 40 times faster than by SciPy's DOP853 driving pinocchio.aba", 40.0, won),
        Claim(
            "the first two seconds are the same to 1e-7 as by SciPy at rtol 1e-12",
            ", ".join(f"{name} {values[0]:.1e}" for name, values in same.items()) or "nothing to compare with",
            verdict([1e-7 - value for value in values] for values in same.values()),
        ),
        Claim(
            "energy drifts by less than 1e-10 of what is exchanged, at rtol 1e-10",
            ", ".join(f"{name} {values[0]:.1e}" for name, values in drifts.items()),
            verdict([1e-10 - value for value in values] for values in drifts.values()),
        ),
        at_least(
            f"{falls:,} falls at once have at least 20 times the throughput of one after another, on one core",
            20.0,
            gains,
        ),
    ]
    return section


def drift(arm: Arm, integrator: str) -> float:
    run = fall(arm, rtol=1e-10, integrator=integrator)
    return float(np.abs(run.imbalance).max() / np.ptp(lw.potential_energy(arm.robot, run.q)))


def batch_times(
    arm: Arm, falls: int, rounds: int, which: Sequence[str] = ("one", "all", "sides")
) -> dict[str, list[float]]:
    """Seconds for one fall: one after another, in a batch, and of its right-hand sides alone."""
    rng, n = np.random.default_rng(0), arm.robot.n
    q = STARTS[arm.label] + 0.1 * rng.normal(size=(falls, n))
    names = {"lw": lw, "robot": arm.robot, "q": q, "zero": np.zeros(n), "end": SECONDS, "few": q[: min(falls, 64)]}
    some = q[:512]  # as many as stay near the processor
    names |= {"side": lw.compile(lw.forward_dynamics, arm.robot), "some": some, "tau": np.zeros_like(some)}
    run = lw.simulate(arm.robot, q, names["zero"], SECONDS, samples=2)
    entered = {
        "one": ("[lw.simulate(robot, x, zero, end, samples=2) for x in few]", len(names["few"])),
        "all": ("lw.simulate(robot, q, zero, end, samples=2)", falls),
        "sides": ("side(some, some, tau)", len(some) / float(np.mean(run.evaluations))),
    }
    times = interleaved([Contestant(name, entered[name][0], names) for name in which], max(1, rounds // 2))
    return {name: [t / entered[name][1] for t in times[name]] for name in which}


if __name__ == "__main__":
    print(measure(**command(__doc__, falls=4096, rounds=7)))
