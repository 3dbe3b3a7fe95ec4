"""Equations to read: how long do LaTeX and SymPy forms take?

python benchmarks/equations.py [--rounds 5]
"""

from __future__ import annotations

from report import Section, Table, at_most, spread
from timing import ROUNDS, Contestant, command, interleaved, one_core, optional

import linkwise as lw

ABOUT = (
    "One core. `lw.latex` of inertia matrix, Coriolis matrix, gravity torques and inverse dynamics, all four;"
    " `lw.sympy` of the inertia matrix as one closed matrix in normal form, SymPy imported before."
)
FUNCTIONS = (lw.inertia_matrix, lw.coriolis_matrix, lw.gravity_torque, lw.inverse_dynamics)


def measure(rounds: int = ROUNDS) -> Section:
    section = Section("Equations", "python benchmarks/equations.py", ABOUT)
    rows, found = [], {}
    with one_core():
        for name in ("stanford", "planar3"):
            names = {"lw": lw, "arm": lw.load(name), "functions": FUNCTIONS}
            entered = [Contestant("latex", "[lw.latex(function, arm) for function in functions]", names)]
            if optional("sympy"):
                entered.append(Contestant("sympy", "lw.sympy(lw.inertia_matrix, arm, simplify=True)", names))
            times = interleaved(entered, rounds)
            rows.append([name, *(spread(times[way], 1e3) if way in times else "" for way in ("latex", "sympy"))])
            found |= {(name, way): each for way, each in times.items()}
    section.tables = [Table("Milliseconds:", ["", "LaTeX, four functions", "SymPy, inertia matrix"], rows)]
    section.claims = [
        at_most(
            "four functions as LaTeX in under 1 s", 1.0, {n: t for (n, w), t in found.items() if w == "latex"}, "s"
        ),
        at_most("a closed SymPy matrix in under 5 s", 5.0, {n: t for (n, w), t in found.items() if w == "sympy"}, "s"),
    ]
    return section


if __name__ == "__main__":
    print(measure(**command(__doc__, rounds=ROUNDS)))
