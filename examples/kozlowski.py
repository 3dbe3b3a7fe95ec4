"""Kozłowski, Appl. Math. and Comp. Sci. 5 (1995), worked again: Fig. 1 and (48), Table 1, the torque (39).

An arm of five links at one state: what the last row of C(θ, ξ) is made of, drawn as the paper draws it for N = 5, and
both columns of Table 1. Then one torque of three links, term by term. NumPy alone draws and prints all of it.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import linkwise as lw

Array = NDArray[np.float64]
PICTURES = Path(__file__).resolve().parent.parent / "pictures"
ARM = lw.chain(5)
STATE = np.array([0.4, -0.7, 0.9, -0.5, 0.6]), np.array([1.0, -0.8, 1.2, 0.9, 0.7])
SHORT = lw.chain(3)
SHORT_STATE = np.array([0.3, -0.4, 0.5]), np.array([1.0, -0.7, 0.4]), np.array([0.2, 0.9, -0.6])
TABLE_1 = {  # operator: its field, its local and its inertial derivative
    "E_Φ": ("E_phi", "E_Φ Ω_δ", "+ [Ω, E_Φ]"),
    "Φ": ("phi", "Φ E_Φ Ω_δ Φ", "+ Φ [Ω, E_Φ] Φ"),
    "H": ("H", "0", "- H Ω"),
    "M": ("M", "0", "+ [Ω, M]"),
    "D": ("D", "H Ṗ H*", "the same"),
    "G": ("G", "τ̄ Ṗ H* D⁻¹", "+ Ω G"),
    "τ̄": ("tau_bar", "- Ġ H", "+ [Ω, τ̄]"),
    "E_Ψ": ("E_psi", "E_Ψ (Ω_δ τ̄ - Ṗ H* D⁻¹ H)", "+ [Ω, E_Ψ]"),
}
STEP = 1e-5  # of difference quotients, s
BLUE, RED, GREY = "#0072b2", "#d55e00", "#777777"
FAR, TOP = 190, 60  # between links, and from the upper edge


def last_row() -> tuple[Array, Array]:
    """ξ(i), and the summands of c_Ni ξ(i) of (48), [i, m]: both as the paper counts, tip first."""
    q, qd = STATE
    xi = lw.formulations.unnormalized.velocity(ARM, q, qd)
    terms = lw.formulations.unnormalized.budget(ARM, q, xi).summands[0] * xi[:, None]
    return xi[::-1], terms[::-1, ::-1]


def print_row(xi: Array, terms: Array) -> None:
    """Fig. 1 as text: what each V(m) is made of, and what becomes of it."""
    n = len(xi)
    print(f"\nFig. 1 and (48): the last row of C(θ, ξ), N = {n}, bias forces left out; N m")
    print("  summand (i, m): H(5) Ψ(5,m) P(m) Ω_δ*(m) Ψ*(i,m) H*(i) ξ(i)\n")
    print(" " * 12 + "".join(f"{f'ξ({i + 1})':>10}" for i in range(n)) + f"{'by V(m)':>12}")
    for m in range(n - 1):
        print(
            f"  {f'm = {m + 1}':10}" + "".join(f"{x:10.4f}" if i > m else " " * 10 for i, x in enumerate(terms[:, m])),
            end="",
        )
        print(f"{terms[:, m].sum():12.4f}")
    print(f"  {'c ξ(i)':10}" + "".join(f"{x:10.4f}" for x in terms.sum(1)) + f"{terms.sum():12.4f}")


def figure(xi: Array, terms: Array) -> str:
    """Fig. 1 as SVG: rates go outward and make V(m); Ω_δ* and P make forces of them, which Ψ carries to the base."""
    n, largest = len(xi), np.abs(terms.sum(0)).max()
    parts: list[str] = []

    def text(x: float, y: float, words: str, size: int = 15, colour: str = "black", anchor: str = "middle") -> None:
        place = f'x="{x:g}" y="{y:g}" font-size="{size}" fill="{colour}" text-anchor="{anchor}"'
        parts.append(f"<text {place}>{words}</text>")

    def arrow(
        x: float, y: float, to_x: float, to_y: float, words: str = "", wide: float = 1.5, colour: str = GREY
    ) -> None:
        marker = {GREY: "grey", BLUE: "blue", RED: "red"}[colour]
        parts.append(
            f'<line x1="{x:g}" y1="{y:g}" x2="{to_x:g}" y2="{to_y:g}" stroke="{colour}" stroke-width="{wide:.2f}"'
            f' marker-end="url(#{marker})"/>'
        )
        if words:
            level = y == to_y
            text(
                (x + to_x) / 2 + 7 * (not level),
                (y + to_y) / 2 - 8 * level + 4,
                words,
                13,
                GREY,
                "middle" if level else "start",
            )

    def box(x: float, y: float, words: str) -> None:
        parts.append(f'<rect x="{x - 34:g}" y="{y - 17:g}" width="68" height="34" rx="6" fill="white" stroke="black"/>')
        text(x, y + 5, words)

    places = {k: 90 + FAR * (n - k) for k in range(1, n + 1)}  # the base on the left
    for k, x in places.items():
        text(x, TOP - 30, f"ξ({k}) = {xi[k - 1]:.3g}")
        arrow(x, TOP - 22, x, TOP + 30, f"H*({k})")
        box(x, TOP + 55, f"V({k})")
        if k > 1:
            arrow(x + 36, TOP + 55, x + FAR - 44, TOP + 55, f"Ψ*({k},{k - 1})")
        if k < n:
            share = float(terms[:, k - 1].sum())
            colour, wide = (BLUE if share > 0 else RED), 1 + 4 * abs(share) / largest
            arrow(x, TOP + 73, x, TOP + 107, "", wide, colour)
            box(x, TOP + 132, f'Ω<tspan dy="4" font-size="11">δ</tspan><tspan dy="-4">*({k})</tspan>')
            arrow(x, TOP + 150, x, TOP + 184, "", wide, colour)
            box(x, TOP + 209, f"P({k})")
            arrow(x, TOP + 227, x, TOP + 268, "", wide, colour)
            text(x + 14, TOP + 252, f"{share:.3g}", 13, colour, "start")
            arrow(x - 8, TOP + 285, x - FAR + (44 if k + 1 == n else 10), TOP + 285, f"Ψ({k + 1},{k})")
            parts.append(f'<circle cx="{x}" cy="{TOP + 285}" r="5"/>')
    box(places[n], TOP + 285, f"H({n})")
    text(places[n], TOP + 330, f"Σ c{chr(0x2080 + n)}ᵢ ξ(i) = {terms.sum():.3g} N m")
    by_rates = ", ".join(f"{x:.3g} of ξ({i})" for i, x in enumerate(terms.sum(1), 1) if i > 1)
    text(places[n] + 110, TOP + 330, f"= {by_rates}", 13, GREY, "start")
    markers = "".join(
        f'<marker id="{name}" viewBox="0 0 10 10" refX="8" refY="5" markerWidth="12" markerHeight="12"'
        f' markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0L10 5L0 10z" fill="{colour}"/></marker>'
        for name, colour in (("grey", GREY), ("blue", BLUE), ("red", RED))
    )
    width, height = places[1] + 90, TOP + 350
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="DejaVu Sans, sans-serif">'
        f'<rect width="{width}" height="{height}" fill="white"/><defs>{markers}</defs>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def table_1() -> Iterator[tuple[str, str, str, float, float]]:
    """Operator, its two derivatives, and by how much difference quotients differ from both, of the largest number."""
    q, qd = STATE
    local, inertial = (lw.formulations.operator_rates(ARM, q, qd, seen_from=place) for place in ("links", "ground"))
    before, after = (lw.formulations.operators(ARM, q + s * STEP * qd) for s in (-1, 1))
    turns = [frames(q + s * STEP * qd) for s in (-1, 0, 1)]
    for name, (field, formula, more) in TABLE_1.items():
        pair = getattr(before, field), getattr(after, field)
        by_links = (pair[1] - pair[0]) / (2 * STEP)
        moved = [turned(x, S) for x, S in zip(pair, turns[::2], strict=True)]
        by_base = turned((moved[1] - moved[0]) / (2 * STEP), turns[1].T)
        results = getattr(local, field), getattr(inertial, field)
        errors = [
            np.abs(a - b).max() / max(np.abs(b).max(), 1) for a, b in zip((by_links, by_base), results, strict=True)
        ]
        yield name, formula, more, *errors


def frames(q: Array) -> Array:
    """Rotations of the links' six-vectors to the base, on a diagonal."""
    S, turns = np.zeros((6 * ARM.n, 6 * ARM.n)), [np.eye(3)]
    for k, (link, x) in enumerate(zip(ARM.links, q, strict=True)):
        turns.append(turns[-1] @ np.array(link.pose(x).matrix())[:3, :3])
        S[6 * k : 6 * k + 6, 6 * k : 6 * k + 6] = np.kron(np.eye(2), turns[-1])
    return S


def turned(x: Array, S: Array) -> Array:
    """An operator in other axes: six-vectors are turned, numbers of the joints are not."""
    x = S @ x if x.shape[0] == len(S) else x
    return x @ S.T if x.shape[1] == len(S) else x


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, epilog="example: python examples/kozlowski.py --out here")
    parser.add_argument("--out", type=Path, default=PICTURES, metavar="DIR", help="folder to draw in [%(default)s]")
    out: Path = parser.parse_args(argv).out
    begin = time.perf_counter()
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        parser.error(f"--out {out}: cannot make this folder ({error.strerror})")
    xi, terms = last_row()
    print_row(xi, terms)
    (out / "kozlowski_fig1.svg").write_text(figure(xi, terms), encoding="utf-8")
    print("\nTable 1: rates of the operators, and the relative error of difference quotients against them\n")
    print(f"  {'':5}{'seen from the links':28}{'error':>8}   {'seen from the base':16}{'error':>8}")
    for name, formula, more, by_links, by_base in table_1():
        print(
            f"  {name:<{5 + name.count(chr(0x304))}}{formula:<{28 + formula.count(chr(0x304))}}{by_links:8.0e}",
            end="   ",
        )
        print(f"{more:<{16 + more.count(chr(0x304))}}{by_base:8.0e}")
    print("\n(39): the torque of the second of three links, term by term\n")
    print(lw.budget(SHORT, *SHORT_STATE).joint("link2", by="links", most=None))
    print(f"\n[{time.perf_counter() - begin:.1f} s] done; the picture is in {out.resolve()}")


if __name__ == "__main__":
    main()
