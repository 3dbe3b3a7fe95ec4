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
from linkwise.identification.excitation.excitation import PER_HARMONIC, compiled_regressor
from linkwise.identification.excitation.problem import ExcitationProblem
from linkwise.identification.excitation.series import SeriesBasis
from linkwise.trajectories.limits import MotionLimits

MOTIONS, STARTS, HARMONICS, DURATION = 100, 8, 5, 10.0
HEADER = ["arm", "motion", "condition", "standard deviation, geometric mean", "in the worst direction", "seconds"]
ABOUT = (
    f"Fourier series of {HARMONICS} harmonics in {DURATION:g} s, within the limits of the robot's table, a tenth of"
    " each unused. Standard deviations are in units of the noise of torques, parameters scaled as the columns. Seconds"
    " are those of one search, compilation apart."
)


def arms() -> dict[str, lw.Robot]:
    panda = lw.load("panda")
    return {
        "UR5e": lw.load("ur5e"),
        "Panda, fingers locked": panda.with_locked("panda_finger_joint1", 0.02),
        "Panda": panda,
    }


def deviations(matrix: np.ndarray) -> tuple[float, float, float]:
    """Condition number, and the standard deviations of the parameters: geometric mean, and in the worst direction."""
    singular = np.linalg.svd(matrix, compute_uv=False)
    return singular[0] / singular[-1], float(np.exp(-np.log(singular).mean())), 1.0 / singular[-1]


def searched(arm: lw.Robot, criterion: str, starts: int) -> tuple[tuple[float, float, float], float]:
    lw.excitation(arm, HARMONICS, DURATION, criterion=criterion, starts=1)  # compiles
    start = time.perf_counter()
    move = lw.excitation(arm, HARMONICS, DURATION, criterion=criterion, starts=starts)
    seconds = time.perf_counter() - start
    names = lw.parameters(arm, base=True).names
    columns = [names.index(name) for name in move.parameters]
    Y = lw.regressor(arm, *move(move.times), base=True)[..., columns] / move.column_scale
    return deviations(Y.reshape(-1, len(columns))), seconds


def best_random(arm: lw.Robot, motions: int) -> tuple[float, float, float]:
    """Of so many random motions within the limits, that of the smallest condition number."""
    limits = MotionLimits.of(arm, None)
    regressor = compiled_regressor(arm, None, np.ones(arm.n))
    basis = SeriesBasis.make(HARMONICS, DURATION, rest=True)
    problem = ExcitationProblem.make(regressor, basis, PER_HARMONIC * HARMONICS, limits, "condition", 0.1)
    rng, found = np.random.default_rng(0), []
    while len(found) < motions:
        if (x := problem.start(rng)) is not None:
            found.append(deviations(problem.weighted(x)))
    return min(found)


def measure(motions: int = MOTIONS, starts: int = STARTS, robots: Sequence[str] = ()) -> Section:
    """`robots`: of those of `arms`; otherwise all."""
    section = Section("Excitation", "python benchmarks/excitation.py", ABOUT)
    rows = []
    for name, arm in arms().items():
        if robots and name not in robots:
            continue
        for criterion in ("condition", "logdet"):
            worth, seconds = searched(arm, criterion, starts)
            rows.append([name, f'`"{criterion}"`', *map(number, worth), f"{seconds:.1f}"])
        rows.append([name, f"best of {motions} random motions", *map(number, best_random(arm, motions)), ""])
    section.tables = [Table("Motions that were searched for, and random ones:", HEADER, rows)]
    return section


if __name__ == "__main__":
    print(measure(**command(__doc__, motions=MOTIONS, starts=STARTS)))
