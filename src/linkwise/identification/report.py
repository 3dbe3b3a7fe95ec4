"""An identification as text."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..printing import Description
from ..robot import Robot
from .diagnosis import ZERO
from .text import percent

if TYPE_CHECKING:
    from .result import Estimates, Identification

WIDTH = 100
MOST = 120  # parameters that are listed


def report(result: Identification) -> Description:
    lines = [*heading(result), "", *joints(result), "", *parameters(result), "", *bodies(result)]
    hidden = grouped_reasons(result)
    if hidden:
        lines += ["", "not identifiable one by one", *hidden]
    if result.notes:
        lines += ["", "notes"]
        for note in result.notes:
            lines += wrapped(note, "- ", "  ")
    return Description("\n".join(lines))


def combinations(result: Identification) -> Description:
    """Each base parameter as the sum that it is."""
    model = result.model
    rows = []
    for name, row in zip(model.combined, model.T, strict=True):
        terms = [(x, unknown) for x, unknown in zip(row, model.unknowns, strict=True) if abs(x) > 1e-9]
        text = " ".join(("- " if x < 0.0 else "+ ") + factor(abs(x)) + unknown for x, unknown in terms)
        rows.append(f"{name} = " + (f"-{text[2:]}" if text.startswith("-") else text[2:]))
    return Description("\n".join(rows))


def factor(x: float) -> str:
    return "" if abs(x - 1.0) < 1e-9 else f"{x:.4g} "


def heading(result: Identification) -> Iterator[str]:
    robot = result.nominal
    yield f"{robot.name}: identified from {result.samples} samples, {result.duration:.4g} s"
    yield from wrapped(result.filtering.text, "  data   ", "         ")
    method = "weighted least squares" if result.weighted else "ordinary least squares"
    if result.physical:
        method += " over bodies that can exist, drawn to the nominal robot"
    yield f"  fit    {method}; {result.rows} rows a joint"
    lacking = len(result.base) - result.rank
    short = "" if not lacking else f"; {lacking} combination{'s' * (lacking != 1)} not excited by these data"
    rank = f"{result.rank} of {len(result.base)} base parameters"
    yield f"  rank   {rank}, condition number {result.condition:.3g}{short}"


def joints(result: Identification) -> list[str]:
    other = "validation: rms" if result.validated else "left out: rms"
    head = ["joint", "unit", "residual rms", "relative", "R²", other, "relative", "R²"]
    units = units_of(result.nominal)
    rows = []
    for j, name in enumerate(result.nominal.v_names):
        cells = [name, units[j]]
        for errors in (result.residuals, result.validation):
            cells += [digits(errors.rms[j], 3), percent(errors.relative[j]), share(errors.r2[j])]
        rows.append(cells)
    return ["torques: measured and predicted", *table(head, rows)]


def parameters(result: Identification) -> list[str]:
    base = result.base
    head = ["base parameter", "value", "σ", "relative", "nominal", ""]
    rows = [estimate(base, k) for k in range(len(base))][:MOST]
    lines = ["base parameters: the combinations that torques depend on", *table(head, rows)]
    return lines + ([f"  and {len(base) - MOST} more"] if len(base) > MOST else [])


def estimate(base: Estimates, k: int) -> list[str]:
    sigma, relative = base.sigma[k], base.relative_sigma[k]
    if np.isinf(sigma):
        return [base.names[k], digits(base.values[k], 4), "-", "-", digits(base.nominal[k], 4), "not excited"]
    word = f"zero within {ZERO:g} σ" if abs(base.values[k]) < ZERO * sigma else ""
    shown = [digits(base.values[k], 4), digits(sigma, 2), percent(relative), digits(base.nominal[k], 4)]
    return [base.names[k], *shown, word]


def bodies(result: Identification) -> list[str]:
    head = ["link", "mass (kg)", "nominal", "centre of mass (m)", "least eigenvalue of P", ""]
    rows = []
    for name, certificate in result.certificates.items():
        ten = [result.parameters[f"{name}.{number}"] for number in ("m", "hx", "hy", "hz")]
        nominal = result.parameters.nominal[result.parameters.names.index(f"{name}.m")]
        centre = "-" if ten[0] == 0.0 else "(" + ", ".join(f"{x / ten[0]:.3g}" for x in ten[1:]) + ")"
        verdict = "can exist" if certificate.possible else "CANNOT EXIST"
        rows.append(
            [name, digits(ten[0], 4), digits(nominal, 4), centre, digits(certificate.eigenvalues[0], 3), verdict]
        )
    frame = "in the joint-aligned frames; what is not identifiable is nearest to the nominal robot"
    return [f"bodies ({frame})", *table(head, rows)]


def grouped_reasons(result: Identification) -> list[str]:
    """Parameters with the same reason on one line."""
    by_reason: dict[str, list[str]] = {}
    for name, reason in result.not_identifiable.items():
        link = name.rpartition(".")[0]
        whose = reason if not reason.startswith("the link") else f"{link} {reason.removeprefix('the link ')}"
        by_reason.setdefault(whose, []).append(name)
    lines: list[str] = []
    for reason, names in by_reason.items():
        lines += wrapped(f"{shortened(names)}: {reason}", "  ", "      ")
    return lines


def shortened(names: Sequence[str]) -> str:
    """link1.m, link1.hx, link1.hy as link1.m, hx, hy."""
    parts, before = [], ""
    for name in names:
        link, _, number = name.rpartition(".")
        parts.append(number if link == before else name)
        before = link
    return ", ".join(parts)


def units_of(robot: Robot) -> list[str]:
    return ["N" if link.joint.kind == "prismatic" else "N m" for link, _ in robot.driving]


def digits(x: float, count: int) -> str:
    return f"{0.0 if abs(x) < 1e-13 else x:.{count}g}"


def share(r2: float) -> str:
    return "-" if not np.isfinite(r2) else f"{r2:.4f}"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Aligned: the first column at the left, numbers at the right, words at the left."""
    widths = [max(len(row[k]) for row in [head, *rows]) for k in range(len(head))]
    right = [k > 0 and all(row[k][:1] in "-0123456789>." for row in rows) for k in range(len(head))]
    lines = []
    for row in [head, *rows]:
        cells = [c.rjust(w) if r else c.ljust(w) for c, w, r in zip(row, widths, right, strict=True)]
        lines.append(("  " + "  ".join(cells)).rstrip())
    return lines


def wrapped(text: str, first: str, others: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=first, subsequent_indent=others, break_on_hyphens=False)
