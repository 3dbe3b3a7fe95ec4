"""Sections of the page: tables of the literature, row by row beside ours, and every method."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import linkwise as lw

from .cases import CASES, FAMILIES, FORMLESS, LIBRARY, UNROLLED, counted, counted_on, square
from .derivatives import table
from .forms import at, forms, written
from .published import FORWARD, INVERSE, INWARD, KINEMATICS, OWN_ROWS, SHARED_ROWS, TOTALS, Row, column_sums
from .stages import (
    centre_counts,
    centre_stage,
    diagonal_stage,
    newton_euler_counts,
    newton_euler_stage,
    recursion_about_centres,
    unbiased,
    weightless,
    weightless_stage,
)
from .text import both, four, measured_cells, number, pair, plain, times_n


def inverse_section() -> list[str]:
    rows = []
    for each in INVERSE:
        if each.M is not None and each.A is not None:
            row = [each.who, written(each.M), written(each.A), f"{number(at(each.M, 6))}, {number(at(each.A, 6))}"]
        else:
            row = [each.who, "", "", each.at_six]
        frames = measured_cells("inverse_dynamics", each.in_frames)
        rows.append([*row, *measured_cells("inverse_dynamics", each.ours), *frames, each.why])
    measured = ["M", "A", "n = 6"]
    header = ["published", *measured, "measured", *measured, "in the authors' frames", *measured, "why they differ"]
    ridim = ", ".join(forms(recursion_about_centres))
    operators_alone = forms(partial(weightless, "inverse_dynamics/operators"))
    return [
        "## Inverse dynamics: saha1999jam Table 1, angeles Tables 7.3 and 7.4",
        "",
        *table(header, rows),
        "",
        "In the authors' frames vectors are about mass centres and levers have three components:"
        ' `"newton-euler-centres"` is algorithms 7.4.1 and 7.4.2 line by line, `"denoc-centres"` is RIDIM. The columns'
        " count the torques of an arm on a base at rest. Counted as in angeles (the base moves, a wrench acts on the"
        ' tip, and no product of constants is computed in advance), `"newton-euler-centres"` takes exactly the printed'
        f' rows (next section), and `"denoc-centres"` {ridim}; saha1999jam does not list the rows of its count.',
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


def prismatic(counts: Callable[[str, int], dict[str, lw.results.Count]], name: str) -> str:
    """What a prismatic joint adds: a period R, R, P of a long arm, less two revolute joints of `lw.chain`."""

    def adds(kind: str) -> int:
        longer, shorter = (getattr(counts("RRP", n)[name], kind) for n in (12, 9))
        one_more, one = (getattr(counts("R", n)[name], kind) for n in (9, 8))
        return int(longer - shorter - 2 * (one_more - one))

    return f"{adds('multiplications')}, {adds('additions')}"


def stages_section() -> list[str]:
    rest = centre_stage(["τ"], 6)
    return [
        "## Newton-Euler by stages: angeles Tables 7.1 and 7.2",
        "",
        "The stages in the order of print, each with the operations that it adds if complete vectors are returned."
        " *Measured*: the stages of `newton_euler.py`, on a base at rest. Torques need less: no c, of ċ only ω × s and"
        " ω × c, and of the first link only n_z. *In its frames*: the stages of `newton_euler_centres.py`, counted as"
        " in the book: the base moves, a wrench acts on the tip, and no product of constants is computed in advance.",
        "",
        *outward_table(),
        "",
        "A P joint is measured in an arm R, R, P, R, R, P, ...: the operations of a period less two revolute joints. In"
        " `newton_euler.py` the constant turn about z of a P joint is multiplied with the twist of the next axis: 8 M"
        " and 5 A for a vector there, instead of 4 and 2.",
        "",
        *inward_table(),
        "",
        "Print gives 308 M and 250 A at n = 6 (7.42). It turns wrenches by Q of the wrong link. With the right Q, τ is"
        f" a component of Q n, which the next step needs; at the first joint it takes {pair(rest)} in addition. In"
        " `newton_euler.py` e = z in the frame of the link itself.",
        "",
    ]


def stage_cells(names: Sequence[str]) -> list[str]:
    return [", ".join(forms(partial(stage, names))) for stage in (newton_euler_stage, centre_stage)]


def outward_table() -> list[str]:
    rows = []
    for name, revolute, slide, why in KINEMATICS:
        there = [prismatic(counts, name) for counts in (newton_euler_counts, centre_counts)]
        rows.append([name, times_n(revolute), *stage_cells([name]), f"{slide[0]}, {slide[1]}", *there, why])
    sums = stage_cells([row[0] for row in KINEMATICS])
    rows.append(["**in all**", "**82n, 66n**", sums[0], f"**{sums[1]}**", "", "", "", ""])
    columns = ["measured", "in its frames"]
    header = ["outward", "published, R joints", *columns, "published, a P joint", *columns, "why they differ"]
    return table(header, rows)


def inward_table() -> list[str]:
    rows = []
    for name, (m, a), why in INWARD:
        rows.append([name, f"{written(plain(m))}, {written(plain(a))}", *stage_cells([name]), why])
    sums = stage_cells([row[0] for row in INWARD])
    rows.append(["**in all (7.41)**", "**55n − 22, 44n − 14**", sums[0], f"**{sums[1]}**", ""])
    both_passes = ", ".join(forms(partial(centre_stage, [row[0] for row in (*KINEMATICS, *INWARD)])))
    rows.append(["**with the outward pass (7.43)**", "**137n − 22, 110n − 14**", "", f"**{both_passes}**", ""])
    return table(["inward", "published", "measured", "in its frames", "why they differ"], rows)


def forward_section() -> list[str]:
    sizes = range(3, 30)
    crossing = next(n for n in sizes if unbiased("articulated", n).total < unbiased("walker-orin-3", n).total)
    kalman = forms(partial(weightless, "forward_dynamics/kalman"))
    return [
        "## Forward dynamics: saha1999jam Table 2 and kozlowski1995 Table 3",
        "",
        "saha1999jam Table 2 seems to leave out the bias, to judge by its size. So the methods are measured"
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
        "ᵉ Print has 5,967 and 21,537, which this form does not give; which of them is wrong is not known.",
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
        why = f"the sum of the rows; `lw.formulations.{kind}.acceleration` needs less at both ends: {used[0]}"
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
