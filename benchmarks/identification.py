"""Identification: how long do 20,000 samples of an arm of seven joints take?

python benchmarks/identification.py [--samples 20000] [--rounds 5]
"""

from __future__ import annotations

import time

import numpy as np
from report import Section, Table, at_most, spread
from timing import Contestant, command, interleaved, optional

import linkwise as lw
from linkwise.identification.physical import PhysicalProblem

SAMPLES, ROUNDS, SECONDS = 20_000, 5, 20.0
RECORDED, POSITIONS = "rates and accelerations recorded, all choices fixed", "positions alone, all choices fixed"
CHOSEN = "positions alone, all choices made by cross-validation"
FIXED = "offset=False, terms=(), minimum_speed=0, weighted=True, delay=0, friction=lw.Friction()"
ABOUT = (
    "All cores, NumPy with its BLAS as installed. The Panda with its fingers locked, friction and rotors among the"
    " unknowns: 62 base parameters of 91."
    " Torques have noise of 2 %. `lw.identify` reads, filters, computes the regressor, weights the joints, fits bodies"
    " that can exist, and cross-validates with five more such fits."
)


def data(arm: lw.Robot, samples: int) -> dict[str, np.ndarray]:
    """Sums of sines and the torques that they need, with noise."""
    rng = np.random.default_rng(0)
    t = np.linspace(0.0, SECONDS, samples, endpoint=False)
    w = 2.0 * np.pi * np.arange(1, 6)[:, None] * rng.uniform(0.08, 0.12, (5, arm.n))
    a, b = 0.4 * rng.normal(size=(2, 5, arm.n))
    s, c = np.sin(t[:, None, None] * w), np.cos(t[:, None, None] * w)
    q, qd, qdd = (
        np.sum(a * s + b * c, axis=1),
        np.sum(w * (a * c - b * s), axis=1),
        -np.sum(w * w * (a * s + b * c), axis=1),
    )
    tau = np.asarray(lw.inverse_dynamics(arm, q, qd, qdd))
    tau = tau + 0.02 * np.sqrt(np.mean(tau**2, axis=0)) * rng.normal(size=tau.shape)
    return {"t": t, "q": q, "qd": qd, "qdd": qdd, "tau": tau}


def bodies(links: int = 7, scalars: int = 21) -> PhysicalProblem:
    """A fit of the same size, of which some bodies are at the boundary of what can exist."""
    rng = np.random.default_rng(0)
    factors = rng.normal(size=(links, 4, 4))
    matrix = rng.normal(size=(62, 10 * links + scalars))
    target = matrix @ rng.normal(size=10 * links + scalars)
    return PhysicalProblem(matrix, target, factors @ factors.swapaxes(-1, -2), np.ones(scalars), 0.1, np.ones(scalars))


def measure(samples: int = SAMPLES, rounds: int = ROUNDS) -> Section:
    section = Section("Identification", "python benchmarks/identification.py", ABOUT)
    arm = lw.load("panda").with_locked("panda_finger_joint1", 0.02)
    full = data(arm, samples)
    positions = {name: full[name] for name in ("t", "q", "tau")}
    start = time.perf_counter()
    lw.identify(arm, full)
    first = time.perf_counter() - start
    names = {"lw": lw, "arm": arm, "full": full, "positions": positions}
    entered = [
        Contestant(RECORDED, f"lw.identify(arm, full, {FIXED}).base", names),
        Contestant(POSITIONS, f"lw.identify(arm, positions, cutoff=10.0, {FIXED}).base", names),
        Contestant(CHOSEN, "lw.identify(arm, positions).base", names),
    ]
    times = interleaved(entered, rounds)
    solvers = [Contestant("newton", "problem.solve().values", {"problem": bodies()})]
    if optional("cvxpy") and optional("clarabel"):
        from conic import solve_with_clarabel

        conic = {"problem": bodies(), "solve": solve_with_clarabel}
        solvers.append(Contestant("clarabel", "solve(problem).values", conic))
    fits = interleaved(solvers, rounds)
    rows = [[name, spread(each)] for name, each in times.items()]
    section.tables = [
        Table(f"{samples:,} samples, seconds:", ["", "identification"], rows),
        Table(
            "One fit of seven bodies and 21 coefficients, milliseconds:",
            ["", "fit"],
            [[name, spread(each, 1e3)] for name, each in fits.items()],
        ),
    ]
    section.remarks = [
        f"The first call took {first:.1f} s: it finds the base parameters and compiles the regressor, or loads it from"
        " the cache of an earlier process.",
        "Clarabel is called through cvxpy, which also builds the problem.",
        "Decompositions of matrices of 60 columns are shared among threads by NumPy's BLAS. On a machine that is busy"
        " with other work these wait for each other, which takes seconds; `OPENBLAS_NUM_THREADS=1` prevents that.",
    ]
    fixed = {name: each for name, each in times.items() if name != CHOSEN}
    section.claims = [
        at_most("20,000 samples of an arm of seven joints in under 1 s with all choices fixed", 1.0, fixed, "s"),
        at_most("20,000 samples in under 8 s with all choices made", 8.0, {CHOSEN: times[CHOSEN]}, "s"),
    ]
    return section


if __name__ == "__main__":
    print(measure(**command(__doc__, samples=SAMPLES, rounds=ROUNDS)))
