"""Excitation: how well do motions of either criterion determine the parameters, beside random motions?

python benchmarks/excitation.py [--motions 100] [--starts 8]
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
from report import Section, Table, number
from timing import command

import linkwise as lw
from linkwise.identification.exciting_motions.optimization import PER_HARMONIC, compiled_regressor
from linkwise.identification.exciting_motions.problem import ExcitationProblem, Worth
from linkwise.identification.exciting_motions.series import SeriesBasis
from linkwise.trajectories.limits import MotionLimits

MOTIONS, STARTS = 100, 8
MARGIN = 0.1
SERIES = ((5, 10.0), (5, 20.0), (10, 20.0))  # harmonics, duration
HEADER = ["arm", "harmonics", "duration (s)", "motion", "condition", "deviation", "worst direction", "seconds"]
ABOUT = (
    "Fourier series within the limits of the robot's table, a tenth of each unused. Standard deviations of parameters"
    " are those to be expected from 1000 samples, as torques at states all over the limits, in units of the noise:"
    " their geometric mean, and that in the worst direction. Seconds are those of one search, compilation apart."
)


def arms() -> dict[str, lw.Robot]:
    panda = lw.load("panda")
    return {
        "UR5e": lw.load("ur5e"),
        "Panda, fingers locked": panda.with_locked("panda_finger_joint1", 0.02),
        "Panda": panda,
    }


def searched(arm: lw.Robot, series: tuple[int, float], criterion: str, starts: int) -> tuple[list[float], float]:
    lw.excitation(arm, *series, criterion=criterion, starts=1)  # compiles
    start = time.perf_counter()
    move = lw.excitation(arm, *series, criterion=criterion, starts=starts, margin=MARGIN)
    return [move.condition, move.typical_sigma, move.worst_sigma], time.perf_counter() - start


def best_random(arm: lw.Robot, series: tuple[int, float], motions: int) -> list[float]:
    """Of so many random motions within the limits, that of the smallest condition number."""
    limits, (harmonics, duration) = MotionLimits.of(arm, None), series
    regressor = compiled_regressor(arm, None, np.ones(arm.n))
    basis, samples = SeriesBasis.make(harmonics, duration, rest=True), PER_HARMONIC * harmonics
    problem = ExcitationProblem.make(regressor, basis, samples, limits, "condition", MARGIN)
    rng, found = np.random.default_rng(0), []
    while len(found) < motions:
        if (x := problem.start(rng)) is not None:
            worth = Worth.of(problem.weighted(x), samples)
            found.append([worth.condition, float(np.exp(np.log(worth.deviations).mean())), worth.worst])
    return min(found)


def measure(
    motions: int = MOTIONS,
    starts: int = STARTS,
    robots: Sequence[str] = (),
    series: Sequence[tuple[int, float]] = SERIES,
) -> Section:
    """`robots`: of those of `arms`; otherwise all."""
    section = Section("Excitation", "python benchmarks/excitation.py", ABOUT)
    rows = []
    for name, arm in arms().items():
        if robots and name not in robots:
            continue
        for one in series:
            head = [name, str(one[0]), f"{one[1]:g}"]
            for criterion in ("condition", "logdet"):
                worth, seconds = searched(arm, one, criterion, starts)
                rows.append([*head, f'`"{criterion}"`', *map(number, worth), f"{seconds:.1f}"])
            rows.append([*head, f"best of {motions} random motions", *map(number, best_random(arm, one, motions)), ""])
    section.tables = [Table("Motions that were searched for, and random ones:", HEADER, rows)]
    return section


if __name__ == "__main__":
    print(measure(**command(__doc__, motions=MOTIONS, starts=STARTS)))
