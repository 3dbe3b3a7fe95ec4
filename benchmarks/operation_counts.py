"""How many operations does each method take? Counted by tracing, beside the tables of the literature.

    python benchmarks/operation_counts.py            write both files
    python benchmarks/operation_counts.py --check    write nothing; exit with 1 if either would change

The files are docs/operation-counts.md and tests/golden/operation_counts.json.

Every measured number on the page comes from here: a function is called once on the nodes of an expression graph, and
the operations of the graph are counted (`lw.count`). Closed forms in n are polynomials with rational coefficients
through as few n as determine them, and printed only if they hold exactly on all the other n tried.
"""

from __future__ import annotations

import argparse
import difflib
import gc
import json
import math
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial
from pathlib import Path
from typing import Any

import derivative_counts
from derivative_counts import table

import linkwise as lw
from linkwise import dynamics
from linkwise.dynamics import diagonal, kinematics, newton_euler, operators, quasi, udu
from linkwise.graph import Graph, Node
from linkwise.spatial import ArticulatedInertia, Vector, Wrench, cross, mul, power, sub

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "operation-counts.md"
GOLDEN = ROOT / "tests" / "golden" / "operation_counts.json"

SIZES = range(3, 10)  # the n that a closed form is fitted to and checked on
SEEDS = range(3)  # arms that are compared where one arm alone gives no closed form
KINDS = ("multiplications", "additions", "divisions", "functions")
NOWHERE = (0.0, 0.0, 0.0)
OBLIQUE = (1.0, 2.0, -9.0)  # gravity along no axis


# --- robots ----------------------------------------------------------------------------------------------------------


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


# --- counting --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """A function of Linkwise, with a method where there is a choice."""

    name: str
    function: Callable[..., Any]
    method: str | None = None

    @property
    def label(self) -> str:
        return f"{self.name}/{self.method}" if self.method else self.name

    def count(self, arm: lw.Robot) -> lw.Count:
        return lw.count(self.function, arm, **({"method": self.method} if self.method else {}))


def all_cases() -> list[Case]:
    choices = (lw.inverse_dynamics, lw.forward_dynamics, lw.inertia_matrix)
    plain = (lw.udu, lw.inverse_inertia_matrix, lw.bias_torque, lw.gravity_torque, lw.coriolis_matrix)
    cases = [Case(f.__name__, f, method) for f in choices for method in lw.methods(f)]
    cases += [Case(f.__name__, f) for f in plain]
    quasi_coordinates = (lw.normalized, lw.unnormalized)
    names = ("normalized.acceleration", "unnormalized.acceleration")
    return cases + [Case(name, q.acceleration) for name, q in zip(names, quasi_coordinates, strict=True)]


CASES = {case.label: case for case in all_cases()}
UNROLLED = "forward_dynamics/walker-orin-4"  # 3 n steps of conjugate gradients, each an inverse dynamics
ROUNDS = "forward_dynamics/parallel"  # short robots take fewer than six axes
CHOOSERS = ("forward_dynamics/fewest", "inertia_matrix/fewest")  # one method or another, whichever takes fewer
FORMLESS = (UNROLLED, ROUNDS, *CHOOSERS)  # no closed form is looked for


@cache
def counted(label: str, family: str, n: int, seed: int = 0) -> lw.Count:
    return CASES[label].count(FAMILIES[family](n, seed))


@cache
def counted_on(label: str, name: str) -> lw.Count:
    return CASES[label].count(robot(name))


def best(function: str, family: str, n: int) -> tuple[str, lw.Count]:
    """The method that takes the fewest operations, and its count."""
    offered = [label for label in CASES if label.startswith(function + "/") and label not in FORMLESS]
    label = min(offered, key=lambda each: counted(each, family, n).total)
    return CASES[label].method or "", counted(label, family, n)


# --- counting by stages ----------------------------------------------------------------------------------------------

Stage = tuple[str, list[Any]]


def staged(stages: Iterator[Stage]) -> dict[str, lw.Count]:
    """For each stage, the operations that it needs and no earlier stage did. A name may come again: they add up."""
    seen: set[int] = set()
    ops: dict[str, Counter[str]] = {}
    for name, values in stages:
        waiting = [value for value in values if isinstance(value, Node)]
        here = ops.setdefault(name, Counter())
        while waiting:
            node = waiting.pop()
            if node.index not in seen:
                seen.add(node.index)
                here[node.op] += 1
                waiting.extend(node.args)
    return {name: as_count(found) for name, found in ops.items()}


def as_count(ops: Counter[str]) -> lw.Count:
    functions = sum(ops[name] for name in ("sin", "cos", "sign", "sqrt"))
    return lw.Count(ops["mul"], ops["add"] + ops["sub"], ops["div"], functions, ops["neg"])


def inputs(tape: Graph, n: int, *names: str) -> list[list[Node]]:
    return [[tape.input(name, i) for i in range(n)] for name in names]


def components(inertia: ArticulatedInertia) -> list[Any]:
    return [*inertia.angular.upper, *(x for row in inertia.coupling.rows for x in row), *inertia.linear.upper]


def turns(arm: lw.Robot, q: Sequence[Any]) -> list[Any]:
    """The rotations of the joints alone: sines and cosines."""
    motions = [link.joint.motion(q_i) for link, q_i in zip(arm.links, q, strict=True)]
    return [x for motion in motions for row in motion.axes.rows for x in row]


def newton_euler_stages(arm: lw.Robot) -> Iterator[Stage]:
    """The rows of angeles Tables 7.1 and 7.2, in their order."""
    q, qd, qdd = inputs(Graph(), arm.n, "q", "qd", "qdd")
    poses, still = operators.link_poses(arm, q), Wrench.zero()
    V, motions = kinematics.twists(arm, q, qd), newton_euler.link_motions(arm, q, qd, qdd)
    yield "Q", turns(arm, q)
    place = Vector.zero()
    for link, pose in zip(arm.links, poses, strict=True):
        place = pose.rotation.T @ (place + pose.translation)
        yield "c", [*(place + link.com)]
    yield "ω", [x for v in V for x in v.angular]
    yield "ċ", [x for link, v in zip(arm.links, V, strict=True) for x in v.linear + cross(v.angular, link.com)]
    yield "ω̇", [x for m in motions for x in m.angular_acceleration]
    each = zip(arm.links, motions, strict=True)
    yield "c̈", [x for link, m in each for x in newton_euler.centre_acceleration(link, m)]
    carried = still
    for link, motion in reversed(list(zip(arm.links, motions, strict=True))):
        wrench, passed = newton_euler.support(link, carried, motion, still)
        tip = link.index == arm.n - 1
        yield "φ", [*carried.force]
        yield "f of the tip" if tip else "f", [*wrench.force]
        yield "n of the tip" if tip else "n", [*wrench.moment]
        carried = passed


def diagonal_stages(arm: lw.Robot, kind: quasi.Unnormalized) -> Iterator[Stage]:
    """The rows of kozlowski1995 Table 2. The last stage must be the very nodes of the plain text, or this fails."""
    q, velocity, tau = inputs(Graph(), arm.n, "q", "velocity", "tau")
    bodies = udu.articulated_bodies(arm, q)
    yield "sines", turns(arm, q)
    for body in reversed(bodies):
        yield "P", components(body.inertia)
        yield "G", [body.inverse_pivot, *body.psi]
    xi = [mul(kind.inverse_scale(body), v) for body, v in zip(bodies, velocity, strict=True)]
    motions = diagonal.from_quasi_velocities(arm, bodies, xi)
    yield from outward_stages(bodies, motions)
    b = operators.bias_wrenches(arm, q, [m.twist for m in motions], [Wrench.zero()] * arm.n)
    yield "b", [x for each in b for x in each]
    force: list[Any] = []
    yield from inward_stages(arm, bodies, kind, tau, force)
    rates = diagonal.rates(arm, bodies, motions)
    for link, body, motion in zip(arm.links, bodies, motions, strict=True):
        yield "X", components(body.inertia.carried(link.joint.axis * motion.qd))
    yield "λ̇", [x for rate in rates for x in components(rate.lambda_dot)]
    coriolis = kind.coriolis_of(arm, bodies, motions, b, "recursive")
    yield "y, C", coriolis
    rate = [kind.rate(*each) for each in zip(bodies, force, coriolis, strict=True)]
    plain = kind.acceleration(arm, q, velocity, tau, [Wrench.zero()] * arm.n)
    if not all(x is y for x, y in zip(rate, plain, strict=True)):
        raise AssertionError(
            f"the stages of {kind.name} are no longer those of linkwise.dynamics: bring them up to date"
        )
    yield "rate", rate


def outward_stages(bodies: Sequence[udu.Articulated], motions: Sequence[diagonal.Moving]) -> Iterator[Stage]:
    before = diagonal.STILL.twist
    for body, motion in zip(bodies, motions, strict=True):
        yield "V⁺", [*before.angular, *(before.linear + cross(before.angular, body.pose.translation))]
        yield "V", [*motion.above]
        yield "θ̇", [motion.qd]
        yield "V", [*motion.twist]
        before = motion.twist


def inward_stages(
    arm: lw.Robot, bodies: Sequence[udu.Articulated], kind: quasi.Unnormalized, tau: Sequence[Any], force: list[Any]
) -> Iterator[Stage]:
    """z, quasi-force and z⁺ of each link; the quasi-forces are put into `force`, base first."""
    z = Wrench.zero()
    for link, body, tau_i in reversed(list(zip(arm.links, bodies, tau, strict=True))):
        kappa = sub(tau_i, power(link.joint.axis, z))
        force.insert(0, mul(kind.inverse_scale(body), kappa))
        yield "z", [*z]
        yield "force", [force[0]]
        left, turn = z + body.psi * kappa, body.pose.rotation
        if link.parent >= 0:
            yield "z⁺", [*(turn @ left.moment), *(turn @ left.force)]
        z = left.to_parent(body.pose)


@cache
def newton_euler_counts(joints: str, n: int, seed: int = 0) -> dict[str, lw.Count]:
    return staged(newton_euler_stages(lw.chain(n, seed=seed, joints=joints)))


@cache
def diagonal_counts(kind: str, family: str, weight: bool, n: int, seed: int = 0) -> dict[str, lw.Count]:
    arm = FAMILIES[family](n, seed)
    return staged(diagonal_stages(arm if weight else arm.with_gravity(NOWHERE), getattr(quasi, kind)))


def newton_euler_stage(stages: Sequence[str], n: int, seed: int = 0) -> lw.Count:
    return together(newton_euler_counts("R", n, seed), stages)


def diagonal_stage(kind: str, family: str, stages: Sequence[str], n: int, seed: int = 0) -> lw.Count:
    return together(diagonal_counts(kind, family, True, n, seed), stages)


def weightless_stage(stage: str, n: int, seed: int = 0) -> lw.Count:
    return diagonal_counts("normalized", "chain", False, n, seed)[stage]


def together(counts: dict[str, lw.Count], stages: Sequence[str]) -> lw.Count:
    chosen = [counts[stage] for stage in stages]
    return lw.Count(*(sum(getattr(c, kind) for c in chosen) for kind in (*KINDS, "negations")))


@cache
def weightless(label: str, n: int, seed: int = 0) -> lw.Count:
    return CASES[label].count(general(n, seed).with_gravity(NOWHERE))


@cache
def unbiased(method: str, n: int, seed: int = 0) -> lw.Count:
    """Forward dynamics without its bias: at rest and without gravity, where the bias folds away."""
    algorithm = dynamics.ALL_FORWARD_DYNAMICS[method]

    def acceleration(arm: lw.Robot, q: Any, tau: Any) -> Any:
        return algorithm(arm, list(q), [0.0] * arm.n, list(tau), [Wrench.zero()] * arm.n)

    return lw.count(acceleration, general(n, seed).with_gravity(NOWHERE))


# --- closed forms ----------------------------------------------------------------------------------------------------

Polynomial = tuple[Fraction, ...]  # highest power first


def polynomial(*coefficients: str | int) -> Polynomial:
    return tuple(Fraction(c) for c in coefficients)


def at(form: Polynomial, n: int) -> Fraction:
    value = Fraction(0)
    for coefficient in form:
        value = value * n + coefficient
    return value


def through(values: dict[int, int]) -> Polynomial:
    """The polynomial of lowest degree through all values (Lagrange, exact)."""
    result = [Fraction(0)] * len(values)
    for n, value in values.items():
        term = [Fraction(value)]
        for other in values:
            if other != n:
                scale = Fraction(1, n - other)
                shifted = [Fraction(0), *term]
                term = [(a - b * other) * scale for a, b in zip([*term, Fraction(0)], shifted, strict=True)]
        result = [a + b for a, b in zip(result, term, strict=True)]
    while len(result) > 1 and result[0] == 0:
        result.pop(0)
    return tuple(result)


def fitted(values: dict[int, int]) -> Polynomial | None:
    """A polynomial, of degree 3 at most, from the smallest n on which it holds for all larger n: one at least."""
    sizes = sorted(values)
    for start in range(3):
        for degree in range(4):
            used, others = sizes[start : start + degree + 1], sizes[start + degree + 1 :]
            if not others:
                continue
            form = through({n: values[n] for n in used})
            if all(at(form, n) == values[n] for n in others):
                return form
    return None


@dataclass(frozen=True)
class Form:
    """A closed form. `spread`: how much more some arms take, where it is that of the lowest counts and not of all."""

    polynomial: Polynomial | None
    spread: int = 0

    @property
    def exact(self) -> bool:
        return self.polynomial is not None and self.spread == 0

    def __str__(self) -> str:
        text = "none" if self.polynomial is None else written(self.polynomial)
        return text + (" †" if self.spread else "")


Series = Callable[[int, int], lw.Count]  # of n and the seed


def form_of(series: Series, kind: str) -> Form:
    """The form of the first arm's counts; failing that, of the lowest of two arms, then of three."""
    every: dict[int, list[int]] = {n: [] for n in SIZES}
    found = None
    for seed in SEEDS:
        for n, several in every.items():
            several.append(getattr(series(n, seed), kind))
        found = fitted({n: min(several) for n, several in every.items()})
        if found is not None:
            break
    return Form(found, max(max(several) - min(several) for several in every.values()))


def forms(series: Series) -> list[str]:
    """M and A, as text."""
    return [str(form_of(series, kind)) for kind in ("multiplications", "additions")]


@cache
def case_form(label: str, family: str, kind: str) -> Form:
    return form_of(partial(counted, label, family), kind)


def written(form: Polynomial) -> str:
    powers = {3: "n³", 2: "n²", 1: "n", 0: ""}
    text = ""
    for power_, coefficient in zip(reversed(range(len(form))), form, strict=True):
        if coefficient == 0 and len(form) > 1:
            continue
        sign = (" − " if coefficient < 0 else " + ") if text else ("−" if coefficient < 0 else "")
        size = str(abs(coefficient))
        if power_ and "/" in size:
            size = f"({size})"
        text += sign + ("" if size == "1" and power_ else size) + powers[power_]
    return text or "0"


# --- what was published ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Published:
    who: str
    M: Polynomial | None
    A: Polynomial | None
    at_six: str  # where there is no form
    ours: str | None  # the method measured beside it
    why: str


def linear(who: str, m: tuple[int, int], a: tuple[int, int], ours: str | None, why: str) -> Published:
    return Published(who, polynomial(*m), polynomial(*a), "", ours, why)


BOOK = "as for angeles (7.43) below; print does not list its rows"
OTHER = "another algorithm, not here"
INVERSE = [
    linear("Hollerbach 1980", (412, -277), (320, -201), None, OTHER + " (Lagrange)"),
    linear(
        "Luh et al. 1980 ᵃ",
        (150, -48),
        (131, -48),
        "newton-euler",
        BOOK,
    ),
    linear("Walker and Orin 1982", (137, -22), (101, -11), "newton-euler", BOOK),
    Published("Hollerbach and Sahar 1983", None, None, "688, 558", None, OTHER),
    linear(
        "Saha, saha1999jam",
        (120, -44),
        (97, -55),
        "denoc",
        "about joint origins here, mass centres in print; less on the first two links; print does not list its rows",
    ),
    Published("Kane and Levinson 1983", None, None, "646, 394", None, OTHER + "; published for n = 6 alone"),
    linear(
        "Khalil et al. 1986", (105, -92), (94, -86), "fewest", "both on regrouped parameters; ours forms U = ω̇× + ω×ω×"
    ),
    linear(
        "Angeles et al. 1989",
        (105, -109),
        (90, -105),
        "complement",
        "theirs is a recursion in O(n); ours forms T and Ṫ and multiplies them out, in O(n²)",
    ),
    linear(
        "Balafoutis and Patel 1991 ᵇ",
        (93, -69),
        (81, -65),
        "fewest",
        "the same matrix U, here on regrouped parameters: no mass, h_z or Π_zz on revolute links",
    ),
    linear("Li and Sankar 1992", (88, -69), (76, -66), "fewest", "the lowest published; see the row above"),
    linear(
        "Newton-Euler, angeles (7.43)",
        (137, -22),
        (110, -14),
        "newton-euler",
        "print has 4 M a joint for Q, 8 M, 10 A for c and 8 M, 10 A to carry ċ, which no torque needs, and 6 M, 6 A"
        " for levers of three components: 26 M, 26 A",
    ),
    linear(
        "operators, general, kozlowski1995",
        (142, -161),
        (109, -135),
        "operators",
        "gravity: ours is in b, turned into every link by rotations multiplied out (line below)",
    ),
]
FORWARD = [
    Published(
        "Saha, saha1999jam",
        polynomial(201, -335),
        polynomial(193, -361),
        "",
        "denoc",
        "ours moves inertias between joint origins and turns them by two plane rotations of four products each",
    ),
    Published(
        "Featherstone 1983",
        polynomial(199, -198),
        polynomial(174, -173),
        "",
        "articulated",
        "the same recursion; inertias turned as above, and zeros kept along a released axis",
    ),
    Published(
        "Walker and Orin 1982 ᶜ",
        polynomial("1/6", "23/2", "115/3", -47),
        polynomial("1/6", 7, "233/6", -46),
        "",
        "walker-orin-3",
        "composites about joint origins here, turned as above; sines, rotations and levers are shared",
    ),
]


@dataclass(frozen=True)
class Total:
    who: str
    form: Polynomial
    ours: str
    why: str


WALKER = "the bias and the columns share sines, rotations and levers; links at rest cost nothing"
TOTALS = [
    Total(
        "articulated bodies, Featherstone 1987",
        polynomial(579, -526),
        "articulated",
        "sparse rotations, symmetric halves, and zeros along a released axis",
    ),
    Total("Walker and Orin 1", polynomial("1/3", "261/2", "1183/6", -33), "walker-orin-1", WALKER),
    Total("Walker and Orin 2", polynomial("1/3", "133/2", "1567/6", -33), "walker-orin-2", WALKER),
    Total("Walker and Orin 3 ᵈ", polynomial("1/3", "43/2", "2149/6", -113), "walker-orin-3", WALKER),
    Total(
        "Walker and Orin 4 ᵉ",
        polynomial("265/2", 207, -31),
        "walker-orin-4",
        "ours makes 3n steps of conjugate gradients without looking at the residual, print n",
    ),
    Total("Brandl et al. 1986", polynomial(470, -420), "articulated-regrouped", "the same recursion, regrouped here"),
    Total(
        "numerical, Kozłowski 1992",
        polynomial("1/3", "41/2", "2047/6", -395),
        "composite-udu",
        "both form the matrix and solve; ours regroups, and takes the bias by the fewest operations",
    ),
    Total(
        "Kalman, Kozłowski 1993",
        polynomial(477, -503),
        "kalman",
        "gravity is in b, as in operators above (line below)",
    ),
    Total(
        "normalized",
        polynomial(1135, -910),
        "normalized",
        "ours goes on from ν̇ to θ̈; ψ is never formed (stages below)",
    ),
    Total(
        "unnormalized",
        polynomial(926, -605),
        "unnormalized",
        "ours goes on from ξ̇ to θ̈; ψ is never formed (stages below)",
    ),
]

Row = tuple[str, str | None, tuple[tuple[int, int], ...], str]  # row, stage measured, M 1, M 2, A 1, A 2, why
SHARED_ROWS: list[Row] = [
    (
        "P",
        "P",
        ((101, -108), (51, -58), (94, -105), (53, -64)),
        "plane rotations trade M for A; what lies along a released axis is known to be zero",
    ),
    (
        "G",
        "G",
        ((5, -1), (5, -1), (0, 0), (0, 0)),
        "G_z = D · 1/D is multiplied out: 6 for 5; on the last link all are numbers",
    ),
    (
        "V⁺",
        "V⁺",
        ((6, -12), (2, -4), (6, -12), (2, -4)),
        "the lever is (a, 0, b): 4 for 6; in case 2 it has one component in both",
    ),
    ("V", "V", ((16, -29), (8, -16), (9, -17), (5, -9)), "the same"),
    (
        "z",
        "z",
        ((6, -12), (2, -4), (6, -12), (2, -4)),
        "the lever, as in V⁺; whole wrenches at the base here",
    ),
    ("ψ", None, ((44, -1), (12, -1), (19, -1), (5, -1)), "never formed: φ and τ̄ are applied one after the other"),
    (
        "b",
        "b",
        ((59, -43), (55, -53), (40, -27), (38, -35)),
        "gravity is in ours, turned into each link by rotations multiplied out (line below)",
    ),
    ("X", "X", ((18, -12), (18, -12), (0, 0), (0, 0)), "ours is the symmetric sum X + X*, by which λ̇ is then shorter"),
    (
        "λ̇ ᶠ",
        "λ̇",
        ((159, -6), (95, -6), (171, -6), (113, -6)),
        "ψ λ̇ ψ* as a dyad taken off and two plane rotations, symmetric halves",
    ),
]
OWN_ROWS: dict[str, list[Row]] = {
    "normalized": [
        ("θ̇", "θ̇", ((7, -10), (7, -11), (6, -10), (6, -11)), "the same slope; one square root a joint besides"),
        ("ε", "force", ((1, 0), (1, 0), (1, -1), (1, -1)), "the same"),
        ("z⁺", "z⁺", ((23, -4), (14, -3), (15, -8), (10, -7)), "G κ, where print has G D^½ ε"),
        (
            "y",
            "y, C",
            ((158, -223), (134, -211), (162, -249), (140, -217)),
            "C is in this row; ψ is applied as a dyad taken off, X V as a cross product of P V",
        ),
        ("C", None, ((2, -1), (2, -1), (0, 0), (0, 0)), "in the row above"),
        ("ν̇", "rate", ((0, 0), (0, 0), (1, 0), (1, 0)), "the same"),
    ],
    "unnormalized": [
        ("θ̇", "θ̇", ((5, -8), (5, -9), (5, -8), (5, -9)), "G_z times ω_z is taken too: 1 M, 1 A more"),
        ("κ", "force", ((0, 0), (0, 0), (1, -1), (1, -1)), "the same"),
        (
            "z⁺ ᵍ",
            "z⁺",
            ((21, -4), (13, -3), (13, -8), (9, -7)),
            "the part along the axis, G_z κ = κ, is taken too: 1 M, 1 A more",
        ),
        ("y", "y, C", ((59, -83), (47, -71), (61, -89), (50, -78)), "C is in this row; G_z is multiplied out here too"),
        ("C", None, ((0, 0), (0, 0), (0, 0), (0, 0)), "in the row above"),
        ("ξ̇", "rate", ((1, 0), (1, 0), (1, 0), (1, 0)), "the same"),
    ],
}
PRINTED_TOTALS = {  # as printed, all right: M 1, M 2, A 1, A 2
    "normalized": ((605, -462), (406, -381), (530, -448), (376, -359)),
    "unnormalized": ((500, -319), (314, -238), (426, -286), (284, -218)),
}


def column_sums(rows: Sequence[Row]) -> list[tuple[int, int]]:
    return [(sum(row[2][k][0] for row in rows), sum(row[2][k][1] for row in rows)) for k in range(4)]


# --- the page --------------------------------------------------------------------------------------------------------

# What OpenSYMORO (github.com/symoro/symoro, version 0.2, commit ba07d97) takes on these two arms: M and A with the
# links' own parameters, then with the base parameters that it finds. It ran on Python 2.7.18 with SymPy 0.7.4.1 (it
# asks for 0.7.3), on the geometry of the library's robots in Khalil's frames, with a symbol for every number that is
# not zero, and without friction, rotors and a wrench at the tip. Its equations were then counted as `lw.count` counts:
# values in place of the symbols, so that what is constant folds; each expression once; nothing that no result needs.
# Evaluated, they gave our torques, inertia matrices and accelerations, to rounding.
OPENSYMORO: dict[tuple[str, str], dict[str, tuple[int, int, int, int]]] = {
    ("puma560", "its own"): {
        "inverse_dynamics": (267, 208, 208, 158),
        "forward_dynamics": (804, 617, 602, 443),
        "inertia_matrix": (178, 138, 158, 103),
    },
    ("puma560", "general"): {
        "inverse_dynamics": (361, 313, 313, 253),
        "forward_dynamics": (955, 765, 942, 726),
        "inertia_matrix": (256, 205, 246, 180),
    },
    ("stanford", "its own"): {
        "inverse_dynamics": (182, 127, 110, 73),
        "forward_dynamics": (435, 316, 216, 143),
        "inertia_matrix": (77, 51, 66, 35),
    },
    ("stanford", "general"): {
        "inverse_dynamics": (327, 284, 265, 216),
        "forward_dynamics": (761, 619, 735, 571),
        "inertia_matrix": (156, 137, 148, 120),
    },
}
FLOATING_NOTES = """\
`arm.with_free_base(mass, com, inertia)` adds six degrees of freedom and a body, of which no number is zero here.
Operations in all, by the method that takes the fewest; without rotors. Those that make a rotation of the quaternion are
included."""
CUSTOMISED_NOTES = """\
OpenSYMORO 0.2 (github.com/symoro/symoro, commit ba07d97) was run on these robots once; its figures are kept in
benchmarks/operation_counts.py. Its equations were counted as ours are, with numbers for the parameters, so that
constants fold. It has Newton-Euler for inverse dynamics, composite bodies for the inertia matrix and articulated bodies
for forward dynamics; with base parameters there are as many divisions, sines and cosines as here. "Its own" bodies have
the zeros of the library's tables (Armstrong et al. for the Puma, Saha for the Stanford arm), "general" ones none: those
of `lw.chain(6)` on the same geometry. No friction, no rotors.

In print, as far as we have read it:

- Puma 560: Armstrong, Khatib and Burdick (ICRA 1986) say in their abstract that 305 calculations evaluate an explicit
  model from which terms below 1% have been left out, a fifth of what recursive Newton-Euler takes. That is an
  approximation; {puma} M and A here are the whole model, on their inertial parameters.
- Six joints: 646 M and 394 A for Kane and Levinson (1983) in angeles, Table 7.4, which does not say on which arm.

Other customised counts of these arms (Khalil and Kleinfinger, Khosla and Kanade, Murray and Neuman, Burdick) we have
not been able to read, and do not quote."""

HEADER = """# Operation counts

This page is generated by `make counts` (benchmarks/operation_counts.py); do not edit it by hand. Every number under
"measured" is counted there; every number under "published" is from print, corrected where print is wrong, with a mark
and a line below.

## What is counted

`lw.count(function, arm)` calls the function once on the nodes of an expression graph and counts the graph: each
expression once, operations with the robot's zeros and ones for free, changes of sign not counted. M are
multiplications, A additions and subtractions. The published counts are of M and A alone; where a total stands here,
ours includes divisions and functions (sines, cosines, square roots).

- *The general arm* is `lw.chain(n)`: revolute joints, and every a, b, alpha, mass centre and inertia non-zero. Its
  first joint sits in the base frame, and gravity lies along its axis; so q₁ drops out, and there are 2(n − 1) sines and
  cosines, not 2n.
- *Parallel or perpendicular axes*: case 2 of kozlowski1995. Here every alpha is 90°, b = 0, a and the bodies as in the
  general arm. Quarter turns are free.
- *Closed forms* are polynomials in n from the smallest n ≥ 3 on which they hold, with rational coefficients, through as
  few n as determine them; they hold exactly on all further n up to {last}.{dagger}
- In all methods a rotation stays two factors, about z and about x: 8 M and 4 A for a vector. Links are described in
  frames whose z is their own joint's axis, about a point on it: there the lever to the next joint is (a, 0, b), and the
  torque is a component. Links near the base know that it is at rest, which makes the constant terms more negative.
- Where print gives a sum and no rows, a difference cannot be split further than is said here.

The same counts are in `tests/golden/operation_counts.json`, so that a change shows its cost.
"""


DAGGER = """\
- *A form with †* is that of the lowest counts of two or three arms; others take up to {spread} operations more.
  "none †" means that the lowest do not lie on a polynomial either, "none" that all agree and do not. Counts of one arm
  are of the first. There are two causes. The last link's inertias are numbers, so that m̂ · (1/m̂) is a number too,
  which rounds to 1 on some arms and to 1 − 2⁻⁵³ on others; only 1 is free. And a − b is not recognised where b − a is
  known:
  whether both arise depends on signs."""


def number(x: Fraction | int) -> str:
    return f"{int(x):,}" if Fraction(x).denominator == 1 else str(x)


def pair(count: lw.Count) -> str:
    return f"{number(count.multiplications)}, {number(count.additions)}"


def of_label(label: str, kind: str, family: str = "chain") -> str:
    return str(case_form(label, family, kind))


def records() -> list[str]:
    fewest, oblique = counted("inverse_dynamics/fewest", "chain", 6), oblique_fewest(6)
    li = INVERSE[9]
    assert li.M is not None
    assert li.A is not None
    lines = ["## The fewest operations", "", "Inverse dynamics of the general arm:", ""]
    rows = [
        [f"best published: {li.who}", written(li.M), written(li.A), f"{at(li.M, 6)}, {at(li.A, 6)}"],
        [
            '`"fewest"`',
            of_label("inverse_dynamics/fewest", "multiplications"),
            of_label("inverse_dynamics/fewest", "additions"),
            pair(fewest),
        ],
        ['`"fewest"`, gravity along no axis', "", "", pair(oblique)],
    ]
    lines += table(["", "M", "A", "M, A at n = 6"], rows)
    lines += ["", "Complete forward dynamics of the general arm, bias included, operations in all:", ""]
    kalman, brandl = TOTALS[7].form, TOTALS[5].form
    rows = [
        ["published: Kalman, Kozłowski 1993", number(at(kalman, 6)), number(at(kalman, 12))],
        ["published: Brandl et al. 1986", number(at(brandl, 6)), number(at(brandl, 12))],
    ]
    for method in ("composite-udu", "articulated-regrouped"):
        here = [number(counted(f"forward_dynamics/{method}", "chain", n).total) for n in (6, 12)]
        rows.append([f'`"{method}"`', *here])
    lines += table(["", "n = 6", "n = 12"], rows)
    names = " and ".join(f'`"{best("forward_dynamics", "chain", n)[0]}"` at n = {n}' for n in (6, 12))
    long_arms = 'takes `"articulated-regrouped"` (for the inertia matrix `"composite-regrouped"`)'
    lines += ["", f'`method="fewest"` counts and takes the better one: {names}. Beyond 60 links it does not']
    lines += [f"count and {long_arms}. The published figures are M + A.", ""]
    return lines + customised()


@cache
def oblique_fewest(n: int) -> lw.Count:
    return CASES["inverse_dynamics/fewest"].count(general(n).with_gravity(OBLIQUE))


@cache
def cheapest(function: str, arm: lw.Robot) -> tuple[str, lw.Count]:
    """The method that takes the fewest operations on this robot, and how many."""
    offered = [label for label in CASES if label.startswith(function + "/") and label not in FORMLESS]
    counts = {CASES[label].method or "": CASES[label].count(arm) for label in offered}
    return min(counts.items(), key=lambda item: item[1].total)


def customised() -> list[str]:
    """Fewest operations on the robots of the library, for each of the three main functions."""
    lines = ["Customised to a robot, with its own zeros (without rotors); operations in all:", ""]
    rows = []
    for name in LIBRARY:
        row = [name]
        for function in ("inverse_dynamics", "forward_dynamics", "inertia_matrix"):
            method, count = cheapest(function, robot(name))
            row.append(f'{count.total} (`"{method}"`: {pair(count)})')
        rows.append(row)
    header = ["robot", "inverse dynamics (M, A)", "forward dynamics (M, A)", "inertia matrix (M, A)"]
    return [*lines, *table(header, rows), ""]


@cache
def floating(arm: lw.Robot) -> lw.Robot:
    """The arm on a base that floats, of which no number is zero."""
    tensor = [[4.0, 0.1, 0.2], [0.1, 5.0, 0.3], [0.2, 0.3, 6.0]]
    return arm.with_free_base(mass=30.0, com=(0.1, 0.2, -0.3), inertia=tensor)


def floating_section() -> list[str]:
    """Arms of six joints on the ground and on a base that floats, with twelve degrees of freedom."""
    arms = {"general arm": general(6), "puma560": robot("puma560"), "stanford": robot("stanford")}
    lines = ["## On a base that floats", "", *FLOATING_NOTES.splitlines(), ""]
    rows = []
    for name, arm in arms.items():
        for base, placed in (("fixed", arm), ("free", floating(arm))):
            row = [name, base]
            for function in ("inverse_dynamics", "forward_dynamics", "inertia_matrix"):
                method, count = cheapest(function, placed)
                row.append(f'{number(count.total)} (`"{method}"`: {pair(count)})')
            rows.append(row)
    lines += table(["arm", "base", "inverse dynamics (M, A)", "forward dynamics (M, A)", "inertia matrix (M, A)"], rows)
    functions = (lw.base_wrench, lw.floating_dynamics, lw.momentum, lw.momentum_matrix, lw.generalized_jacobian)
    rows = []
    for name, arm in arms.items():
        counts = [lw.count(function, floating(arm)) for function in functions]
        rows.append([name, *(f"{number(count.total)} ({pair(count)})" for count in counts)])
    lines += ["", "Functions for robots whose base floats; operations in all (M, A):", ""]
    return [*lines, *table(["arm", *(f"`{function.__name__}`" for function in functions)], rows), ""]


def customised_section() -> list[str]:
    """Two arms beside OpenSYMORO and the literature."""
    rows = []
    for (name, bodies), figures in OPENSYMORO.items():
        arm = robot(name) if bodies == "its own" else with_general_bodies(name)
        for function, (m, a, m_base, a_base) in figures.items():
            method, count = cheapest(function, arm)
            theirs = [f"{m}, {a}", f"{m_base}, {a_base}", number(m_base + a_base)]
            ours = [f'`"{method}"`', pair(count), number(count.multiplications + count.additions)]
            rows.append([name, bodies, f"`{function}`", *theirs, *ours])
    header = ["arm", "bodies", "function", "OpenSYMORO", "with base parameters", "M + A", "here", "M, A", "M + A"]
    _, puma = cheapest("inverse_dynamics", robot("puma560"))
    notes = CUSTOMISED_NOTES.format(puma=puma.multiplications + puma.additions)
    return ["## Puma 560 and Stanford arm, customised", "", *table(header, rows), "", notes, ""]


def inverse_section() -> list[str]:
    rows = []
    for each in INVERSE:
        if each.M is not None and each.A is not None:
            row = [each.who, written(each.M), written(each.A), f"{number(at(each.M, 6))}, {number(at(each.A, 6))}"]
        else:
            row = [each.who, "", "", each.at_six]
        rows.append([*row, *measured_cells("inverse_dynamics", each.ours), each.why])
    header = ["published", "M", "A", "n = 6", "measured", "M", "A", "n = 6", "why they differ"]
    operators_alone = forms(partial(weightless, "inverse_dynamics/operators"))
    return [
        "## Inverse dynamics: saha1999jam Table 1, angeles Tables 7.3 and 7.4",
        "",
        *table(header, rows),
        "",
        "ᵃ saha1999jam prints 131n + 48 additions, 834 at n = 6; angeles has 131n − 48, 738.",
        "",
        "ᵇ saha1999jam dates it 1988. angeles Table 7.4 prints 420 additions at n = 6; the form gives 421.",
        "",
        f'Without gravity `"operators"` takes {operators_alone[0]} M and {operators_alone[1]} A.',
        "",
        *square_lines(),
        "",
    ]


def square_lines() -> list[str]:
    """Inverse dynamics where axes are parallel or perpendicular."""
    rows = [["kozlowski1995 (n > 2)", "104n − 117", "87n − 102", "507, 420"]]
    for method in ("operators", "newton-euler", "denoc", "fewest"):
        label = f"inverse_dynamics/{method}"
        rows.append([f'`"{method}"`', *both(label, "perpendicular"), pair(counted(label, "perpendicular", 6))])
    mixed = CASES["inverse_dynamics/fewest"].count(square(6, (1, 0, -1, 0)))
    return [
        "Parallel or perpendicular axes, displacement along x:",
        "",
        *table(["", "M", "A", "n = 6"], rows),
        "",
        f'With the twists 90°, 0, −90°, 0 in turn `"fewest"` takes {pair(mixed)} at n = 6.'
        " The reasons are those of the table above.",
    ]


def measured_cells(function: str, method: str | None) -> list[str]:
    if method is None:
        return ["", "", "", ""]
    label = f"{function}/{method}"
    return [f'`"{method}"`', *both(label), pair(counted(label, "chain", 6))]


def both(label: str, family: str = "chain") -> list[str]:
    return [of_label(label, kind, family) for kind in ("multiplications", "additions")]


def prismatic(name: str, kind: str) -> int:
    """What a prismatic joint adds: a period R, R, P of a long arm, less two revolute joints of `lw.chain`."""
    longer, shorter = (getattr(newton_euler_counts("RRP", n)[name], kind) for n in (12, 9))
    one_more, one = (getattr(newton_euler_counts("R", n)[name], kind) for n in (9, 8))
    return int(longer - shorter - 2 * (one_more - one))


KINEMATICS = [
    ("Q", (4, 0), (4, 0), "never multiplied out: two factors, of which one is constant"),
    ("c", (8, 10), (16, 15), "print lost this row: its rows add up to 74n, 56n; the lever (a, 0, b) saves 1 A"),
    ("ω", (8, 5), (8, 4), "the same slope; P: the rotation behind the joint, below"),
    ("ċ", (20, 16), (14, 11), "the lever saves 2 M, 2 A; P: two levers, O to O to C, where print has one, C to C"),
    ("ω̇", (10, 7), (8, 4), "the same slope; P: as ω"),
    ("c̈", (32, 28), (20, 19), "as ċ; P: print has e in the wrong frame, done right it has 22 M, 21 A"),
]
INWARD = [
    ("f of the tip", ((0, 3), (0, 3)), "there is no external force here: 3 A fewer"),
    ("n of the tip", ((0, 30), (0, 27)), "no external moment: 3 A fewer"),
    ("φ", ((8, -8), (4, -4)), "the same"),
    ("f", ((3, -3), (3, -3)), "the force along the first axis is a number for the first link"),
    ("n", ((44, -44), (37, -37)), "the lever (a, 0, b) saves 2 M, 2 A; the first two links take less"),
]


def stages_section() -> list[str]:
    return [
        "## Newton-Euler by stages: angeles Tables 7.1 and 7.2",
        "",
        "The stages of `newton_euler.py` in the order of print: what is new at each, whole vectors returned. Torques"
        " need less: no c, of ċ only ω × s and ω × c, and of the first link only n_z.",
        "",
        *outward_table(),
        "",
        "A P joint is measured in an arm R, R, P, R, R, P, ...: what a period takes, less two revolute joints. The"
        " constant turn about z of a P joint is multiplied with the twist of the next axis: 8 M and 5 A for a vector"
        " there, instead of 4 and 2.",
        "",
        *inward_table(),
        "",
        "Print gives 308 M and 250 A at n = 6 (7.42). It turns wrenches by Q of the wrong link; done right in its"
        " frames, τ takes 2 M and 1 A more a joint. Here e = z in the frame of the link itself, and τ is free.",
        "",
    ]


def outward_table() -> list[str]:
    rows = []
    for name, revolute, slide, why in KINEMATICS:
        here = ", ".join(forms(partial(newton_euler_stage, [name])))
        there = ", ".join(str(prismatic(name, kind)) for kind in ("multiplications", "additions"))
        rows.append([name, times_n(revolute), here, f"{slide[0]}, {slide[1]}", there, why])
    whole = ", ".join(forms(partial(newton_euler_stage, [row[0] for row in KINEMATICS])))
    rows.append(["**in all**", "**82n, 66n**", whole, "", "", ""])
    header = ["outward", "published, R joints", "measured", "published, a P joint", "measured", "why they differ"]
    return table(header, rows)


def times_n(pair_: tuple[int, int]) -> str:
    return ", ".join(written(polynomial(x, 0)) if x else "0" for x in pair_)


def inward_table() -> list[str]:
    rows = []
    for name, (m, a), why in INWARD:
        here = ", ".join(forms(partial(newton_euler_stage, [name])))
        rows.append([name, f"{written(plain(m))}, {written(plain(a))}", here, why])
    whole = ", ".join(forms(partial(newton_euler_stage, [row[0] for row in INWARD])))
    rows.append(["**in all (7.41)**", "**55n − 22, 44n − 14**", whole, ""])
    return table(["inward", "published", "measured", "why they differ"], rows)


def plain(form: tuple[int, int]) -> Polynomial:
    return polynomial(*form) if form[0] else polynomial(form[1])


def forward_section() -> list[str]:
    sizes = range(3, 30)
    crossing = next(n for n in sizes if unbiased("articulated", n).total < unbiased("walker-orin-3", n).total)
    kalman = forms(partial(weightless, "forward_dynamics/kalman"))
    return [
        "## Forward dynamics: saha1999jam Table 2 and kozlowski1995 Table 3",
        "",
        "saha1999jam Table 2 leaves out the bias, as far as can be told from its size. So the methods are measured"
        " without it: at rest and without gravity, where it folds away.",
        "",
        *unbiased_table(),
        "",
        "ᶜ Print has 480 additions at n = 6; the form gives 475.",
        "",
        "By the published forms Saha's count is below Walker and Orin's from n = 12 on, Featherstone's from n = 13 on;"
        f" measured, articulated bodies are below Walker and Orin's from n = {crossing} on.",
        "",
        "kozlowski1995 Table 3, M + A, bias included; measured at n = 6 and 12 in all, with divisions and functions:",
        "",
        *total_table(),
        "",
        "ᵈ Print has n³/6; its values at n = 6 and 12 need n³/3.",
        "",
        "ᵉ Print has 5,967 and 21,537, which this form does not give; which of them is wrong cannot be told.",
        "",
        f'Without gravity `"kalman"` takes {kalman[0]} M and {kalman[1]} A.',
        "",
    ]


def unbiased_table() -> list[str]:
    rows = []
    for each in FORWARD:
        assert each.M is not None
        assert each.A is not None
        assert each.ours is not None
        row = [each.who, written(each.M), written(each.A)]
        row += [f"{number(at(each.M, n))}, {number(at(each.A, n))}" for n in (6, 12)]
        row += [f'`"{each.ours}"`', *forms(partial(unbiased, each.ours))]
        rows.append([*row, *(pair(unbiased(each.ours, n)) for n in (6, 12)), each.why])
    header = ["published", "M", "A", "n = 6", "n = 12", "measured", "M", "A", "n = 6", "n = 12", "why they differ"]
    return table(header, rows)


def total_table() -> list[str]:
    rows = []
    for total in TOTALS:
        row = [total.who, written(total.form), *(number(at(total.form, n)) for n in (6, 12))]
        rows.append([*row, *total_cells(total.ours), total.why])
    header = ["published", "M + A", "n = 6", "n = 12", "measured", "M", "A", "n = 6", "n = 12", "why they differ"]
    return table(header, rows)


def total_cells(method: str) -> list[str]:
    label = f"forward_dynamics/{method}"
    if label == UNROLLED:
        return [f'`"{method}"`', "", "", number(counted(label, "chain", 6).total), ""]
    return [f'`"{method}"`', *both(label), *(number(counted(label, "chain", n).total) for n in (6, 12))]


CASE_COLUMNS = (("chain", 0, 2), ("perpendicular", 1, 3))  # where M and A of each case stand in a row


def stage_row(row: Row, kind: str) -> list[str]:
    """Published and measured, M and A, general arm and case 2."""
    name, stage, published, why = row
    found = [name]
    for family, m, a in CASE_COLUMNS:
        here = forms(partial(diagonal_stage, kind, family, [stage])) if stage else []
        found += [f"{written(plain(published[m]))}, {written(plain(published[a]))}", ", ".join(here)]
    return [*found, why]


def sum_row(name: str, rows: Sequence[Row], kind: str, why: str) -> list[str]:
    sums, stages = column_sums(rows), [row[1] for row in rows if row[1]]
    found = [f"**{name}**"]
    for family, m, a in CASE_COLUMNS:
        found.append(f"**{written(plain(sums[m]))}, {written(plain(sums[a]))}**")
        found.append(", ".join(forms(partial(diagonal_stage, kind, family, stages))))
    return [*found, why]


def diagonal_section() -> list[str]:
    rows = [stage_row(row, "normalized") for row in SHARED_ROWS]
    rows.append(sum_row("subtotal ʰ", SHARED_ROWS, "normalized", "the sum of the rows"))
    for kind, own in OWN_ROWS.items():
        rows += [stage_row(row, kind) for row in own]
        used = ["; ".join(", ".join(both(f"{kind}.acceleration", family)) for family in FAMILIES)]
        why = f"the sum of the rows; `lw.{kind}.acceleration` needs less at both ends: {used[0]}"
        rows.append(sum_row(f"{kind} in all", [*SHARED_ROWS, *own], kind, why))
    header = ["recursion", "published, case 1", "measured", "published, case 2", "measured", "why they differ"]
    b = forms(partial(weightless_stage, "b"))
    return [
        "## The diagonalized equations by recursions: kozlowski1995 Table 2",
        "",
        "M, A for each recursion; case 1 is the general arm, case 2 has parallel or perpendicular axes. Measured: what"
        " is new at each stage of `diagonal.py`, whole vectors returned; the first nine rows in the normalized form.",
        "",
        *table(header, rows),
        "",
        "ᶠ The label is lost in print.",
        "",
        "ᵍ Print has 43n − 3 M in case 2; 13n − 3 makes the column add up.",
        "",
        "ʰ Print has 354n A in case 1; the rows add up to 345n, which the totals also need.",
        "",
        f"Without gravity the row b of the general arm takes {b[0]} M and {b[1]} A.",
        "",
    ]


def methods_section() -> list[str]:
    lines = ["## Every method", "", "The general arm, then parallel or perpendicular axes:", ""]
    rows = []
    for label in CASES:
        row = [f"`{label}`"]
        for family in FAMILIES:
            closed = ["", ""] if label in FORMLESS else both(label, family)
            row += [*closed, pair(counted(label, family, 6))]
        rows.append(row)
    header = ["function", "M", "A", "n = 6", "M", "A", "n = 6"]
    lines += table(header, rows)
    lines += ["", "The robots of the library, without rotors; M, A, divisions and functions:", ""]
    rows = [[f"`{label}`", *(four(counted_on(label, name)) for name in LIBRARY)] for label in CASES]
    return [*lines, *table(["function", *LIBRARY], rows)]


def four(count: lw.Count) -> str:
    return ", ".join(number(getattr(count, kind)) for kind in KINDS)


def spreads() -> list[int]:
    return [
        case_form(label, family, kind).spread
        for label in CASES
        if label not in FORMLESS
        for family in FAMILIES
        for kind in ("multiplications", "additions")
    ]


@contextmanager
def seldom_collected() -> Iterator[None]:
    """Fewer looks for garbage: there are many nodes, and all live until their graph is counted. Saves a fifth."""
    before = gc.get_threshold()
    gc.set_threshold(200_000, 20, 20)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def page() -> str:
    with seldom_collected():
        spread = max(spreads())
        dagger = "\n" + DAGGER.format(spread=spread) if spread else ""
        parts = [
            records(),
            customised_section(),
            floating_section(),
            inverse_section(),
            stages_section(),
            forward_section(),
            diagonal_section(),
            derivative_counts.section({f"general arm, n = {n}": general(n) for n in (6, 7, 12)}),
            methods_section(),
        ]
    head = HEADER.format(last=SIZES[-1], dagger=dagger)
    return head + "\n" + "\n".join(line for part in parts for line in part) + "\n"


# --- the golden file -------------------------------------------------------------------------------------------------


def entries() -> dict[str, dict[str, int]]:
    """Counts by robot, function and method."""
    found = {}
    for label in CASES:
        for family, n in (("chain", 3), ("chain", 6), ("chain", 12), ("perpendicular", 6)):
            if not (label == UNROLLED and n == 12):
                found[f"{family}{n}/{label}"] = counted(label, family, n)
        for name in LIBRARY:
            found[f"{name}/{label}"] = counted_on(label, name)
    found |= derivative_counts.entries(derivative_counts.ROBOTS)
    return {key: {kind: getattr(count, kind) for kind in KINDS} for key, count in found.items()}


def golden() -> str:
    """Sorted, one line for each entry."""
    lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in sorted(entries().items())]
    return "{\n" + ",\n".join(lines) + "\n}\n"


# --- the command -----------------------------------------------------------------------------------------------------


def hint(path: Path, wanted: str, lines: int = 20) -> str:
    """The first lines of what would change in a file; nothing if nothing would."""
    present = path.read_text(encoding="utf-8") if path.exists() else ""
    name = str(path.relative_to(ROOT))
    difference = list(difflib.unified_diff(present.splitlines(), wanted.splitlines(), name, name, n=0, lineterm=""))
    more = [f"... and {len(difference) - lines} lines more"] if len(difference) > lines else []
    return "\n".join(difference[:lines] + more)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if a file would change")
    check = parser.parse_args(argv).check
    changed = False
    for path, text in ((GOLDEN, golden()), (PAGE, page())):
        difference = hint(path, text)
        changed = changed or bool(difference)
        state = "as it was"
        if difference and check:
            print(difference)
            state = "would change"
        elif difference:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            state = "written"
        print(f"{path.relative_to(ROOT)}: {state}")
    if changed and check:
        print("Operation counts changed. If that is meant, run `make counts` and commit both files.")
    return int(changed and check)


if __name__ == "__main__":
    sys.exit(main())
