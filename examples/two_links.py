"""Two rods in a plane by Saha, IJRR 18 (1999), and by Angeles, chapter 7: text, and a sheet of formulas in LaTeX.

The inverse of the inertia matrix with every step of the elimination that gives it. Then what the two joints forbid, K,
what they allow, T, and the multipliers λ of what they carry, at one state.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import linkwise as lw

PICTURES = Path(__file__).resolve().parent.parent / "pictures"
NUMBERS = {"l1": 0.3, "l2": 0.25, "m1": 0.5, "m2": 0.4}
STATE = np.array([0.6, 0.5]), np.array([1.0, -2.0]), np.array([3.0, 1.0])  # θ, θ̇, θ̈


def rods() -> lw.Robot:
    """Uniform rods of lengths l1, l2 and masses m1, m2; gravity along -y."""
    rows = []
    for i in (1, 2):
        l, m = lw.symbols(f"l{i} m{i}")
        I = m * l**2 / 12
        rows.append(
            {"joint": "revolute", "a": l, "b": 0, "alpha": 0, "mass": m, "com": (-0.5 * l, 0, 0)}
            | {"inertia": [[0, 0, 0], [0, I, 0], [0, 0, I]]}
        )
    return lw.Robot.from_dh(rows, convention="standard", gravity=(0, -9.81, 0), name="rods")


def laws(e: lw.results.Explanation) -> list[tuple[str, str, float]]:
    """Equation, what is zero in it but for rounding errors, and how large it is here."""
    stacked = {name: np.concatenate([*e[name].values()]) for name in ("w_A", "w_C", "w_G", "lambda")}
    (_, qd, qdd), K, T, M = STATE, e["K"], e["T"], e["M_stacked"]
    convective = T.T @ (M @ e["T_dot"] + e["W"] @ M @ T) @ qd
    rows = [
        ("(7.55b)", "K T", K @ T),
        ("(7.53)", "w^C - Kᵀ λ", stacked["w_C"] - K.T @ stacked["lambda"]),
        ("(7.51)", "Tᵀ w^C", T.T @ stacked["w_C"]),
        (
            "(7.57)",
            "I θ̈ + Tᵀ (M Ṫ + W M T) θ̇ - Tᵀ (w^A + w^G)",
            e["I"] @ qdd + convective - T.T @ (stacked["w_A"] + stacked["w_G"]),
        ),
        ("(48)", "I I⁻¹ - 1", e["I"] @ e["I_inverse"] - np.eye(len(qd))),
    ]
    return [(equation, law, float(np.abs(values).max())) for equation, law, values in rows]


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, epilog="example: python examples/two_links.py --out here")
    parser.add_argument("--out", type=Path, default=PICTURES, metavar="DIR", help="folder for the sheet [%(default)s]")
    out: Path = parser.parse_args(argv).out
    begin = time.perf_counter()
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        parser.error(f"--out {out}: cannot make this folder ({error.strerror})")
    arm = rods()
    sheet = lw.latex(lw.inverse_inertia_matrix, arm, method="elimination")
    print("The inverse of the inertia matrix, Saha (IJRR 1999), (43) to (48)\n")
    print(sheet.text)
    (out / "two_links.tex").write_text(str(sheet), encoding="utf-8")
    e = lw.explain(lw.bind(arm, **NUMBERS), *STATE)
    print("\nWhat the joints forbid, allow and carry, Angeles (7.50) to (7.57)\n")
    print(e.text("K", "T", "lambda"))
    print("\nThe largest number in each of these, all of which are zero:\n")
    for equation, law, value in laws(e):
        print(f"  {value:.0e}   {equation:9}{law}")
    print(f"\n[{time.perf_counter() - begin:.1f} s] done; the formulas in LaTeX are in {out.resolve()}")


if __name__ == "__main__":
    main()
