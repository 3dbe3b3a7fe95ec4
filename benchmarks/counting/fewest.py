"""Sections of the page: the fewest operations, customised to robots, and on a base that floats."""

from __future__ import annotations

from functools import cache

import linkwise as lw

from .cases import CASES, FORMLESS, LIBRARY, OBLIQUE, best, counted, general, robot, with_general_bodies
from .derivatives import table
from .forms import at, written
from .published import INVERSE, OPENSYMORO, TOTALS
from .text import number, of_label, pair

FLOATING_NOTES = """\
`robot.with_free_base(mass, com, inertia)` adds six degrees of freedom and a body, of which no number is zero here.
Operations in all, by the method that takes the fewest; without rotors. Those that make a rotation of the quaternion are
included."""
CUSTOMISED_NOTES = """\
OpenSYMORO 0.2 (github.com/symoro/symoro, commit ba07d97) was run on these robots once; its figures are kept in
benchmarks/counting/published.py. Its equations were counted as ours are, with numbers for the parameters, so that
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
    lines += ["", "Forward dynamics of the general arm, bias included, M + A (with divisions and functions):", ""]
    kalman, brandl = TOTALS[7].form, TOTALS[5].form
    rows = [
        ["published: Kalman, Kozłowski 1993", number(at(kalman, 6)), number(at(kalman, 12))],
        ["published: Brandl et al. 1986", number(at(brandl, 6)), number(at(brandl, 12))],
    ]
    for method in ("composite-udu", "articulated-regrouped"):
        here = [counted(f"forward_dynamics/{method}", "chain", n) for n in (6, 12)]
        rows.append([f'`"{method}"`', *(both(c) for c in here)])
    lines += table(["", "n = 6", "n = 12"], rows)
    names = " and ".join(f'`"{best("forward_dynamics", "chain", n)[0]}"` at n = {n}' for n in (6, 12))
    long_arms = 'takes `"articulated-regrouped"` (for the inertia matrix `"composite-regrouped"`)'
    lines += ["", f'`method="fewest"` counts and takes the better one: {names}. Beyond 60 links it does not']
    lines += [f"count and {long_arms}. The published figures are M + A.", ""]
    return lines + customised()


def both(count: lw.results.Count) -> str:
    """M + A, as published figures are, and all operations."""
    return f"{number(count.multiplications + count.additions)} ({number(count.total)})"


@cache
def oblique_fewest(n: int) -> lw.results.Count:
    return CASES["inverse_dynamics/fewest"].count(general(n).with_gravity(OBLIQUE))


@cache
def cheapest(function: str, arm: lw.Robot) -> tuple[str, lw.results.Count]:
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
