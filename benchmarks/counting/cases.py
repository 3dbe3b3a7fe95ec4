"""The robots and the functions whose operations are counted."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import linkwise as lw

SIZES = range(3, 10)  # the n that a closed form is fitted to and checked on
SEEDS = range(3)  # arms that are compared where one arm alone gives no closed form
KINDS = ("multiplications", "additions", "divisions", "functions")
NOWHERE = (0.0, 0.0, 0.0)
OBLIQUE = (1.0, 2.0, -9.0)  # gravity along no axis


@cache
def general(n: int, seed: int = 0) -> lw.Robot:
    """Every a, b, alpha, mass centre and inertia non-zero; gravity along the first axis."""
    return lw.chain(n, seed=seed)


@cache
def perpendicular(n: int, seed: int = 0) -> lw.Robot:
    """Case 2 of kozlowski1995: each axis perpendicular to the next, displaced along x alone; general inertias."""
    return square(n, (1,), seed)


def square(n: int, quarters: Sequence[int], seed: int = 0) -> lw.Robot:
    """Twists of whole quarter turns, repeated until there are enough; b = 0, a and the bodies those of `lw.chain`."""
    rows = [
        {**row, "b": 0.0, "alpha": quarters[i % len(quarters)] * math.pi / 2}
        for i, row in enumerate(lw.chain(n, seed=seed).rows)
    ]
    return lw.Robot.from_dh(rows, convention="standard", name=f"square-{n}-{seed}")


FAMILIES: dict[str, Callable[[int, int], lw.Robot]] = {"chain": general, "perpendicular": perpendicular}
LIBRARY = ("planar3", "puma560", "stanford")


@cache
def robot(name: str) -> lw.Robot:
    return lw.load(name).without_rotors()


@cache
def with_general_bodies(name: str) -> lw.Robot:
    """A robot of the library with the bodies of the general arm: nothing of a mass centre or an inertia is zero."""
    arm = robot(name)
    bodies = [{key: row[key] for key in ("mass", "com", "inertia")} for row in general(arm.n).rows]
    rows = [{**row, **body} for row, body in zip(arm.rows, bodies, strict=True)]
    return lw.Robot.from_dh(rows, convention=arm.convention, gravity=arm.gravity, name=f"{name}-general")


@dataclass(frozen=True)
class Case:
    """A function of Linkwise, with a method where there is a choice."""

    name: str
    function: Callable[..., Any]
    method: str | None = None

    @property
    def label(self) -> str:
        return f"{self.name}/{self.method}" if self.method else self.name

    def count(self, arm: lw.Robot) -> lw.results.Count:
        return lw.count(self.function, arm, **({"method": self.method} if self.method else {}))


def all_cases() -> list[Case]:
    choices = (lw.inverse_dynamics, lw.forward_dynamics, lw.inertia_matrix)
    plain = (lw.formulations.udu, lw.inverse_inertia_matrix, lw.bias_torque, lw.gravity_torque, lw.coriolis_matrix)
    cases = [Case(f.__name__, f, method) for f in choices for method in lw.methods(f)]
    cases += [Case(f.__name__, f) for f in plain]
    quasi_coordinates = (lw.formulations.normalized, lw.formulations.unnormalized)
    names = ("normalized.acceleration", "unnormalized.acceleration")
    return cases + [Case(name, q.acceleration) for name, q in zip(names, quasi_coordinates, strict=True)]


CASES = {case.label: case for case in all_cases()}
UNROLLED = "forward_dynamics/walker-orin-4"  # 3 n steps of conjugate gradients, each an inverse dynamics
ROUNDS = "forward_dynamics/parallel"  # short robots take fewer than six axes
CHOOSERS = ("forward_dynamics/fewest", "inertia_matrix/fewest")  # one method or another, whichever takes fewer
FORMLESS = (UNROLLED, ROUNDS, *CHOOSERS)  # no closed form is looked for


@cache
def counted(label: str, family: str, n: int, seed: int = 0) -> lw.results.Count:
    return CASES[label].count(FAMILIES[family](n, seed))


@cache
def counted_on(label: str, name: str) -> lw.results.Count:
    return CASES[label].count(robot(name))


def best(function: str, family: str, n: int) -> tuple[str, lw.results.Count]:
    """The method that takes the fewest operations, and its count."""
    offered = [label for label in CASES if label.startswith(function + "/") and label not in FORMLESS]
    label = min(offered, key=lambda each: counted(each, family, n).total)
    return CASES[label].method or "", counted(label, family, n)
