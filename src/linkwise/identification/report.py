"""An identification as text."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..printing import Description
from ..robot import Robot

if TYPE_CHECKING:
    from .result import Estimates, Identification

WIDTH = 100
ZERO = 3.0  # σ: a parameter nearer to zero is not told from it
BIASED = 4.0  # standard errors of a joint's mean residual above which it has an offset
LAGGING = 0.2  # of the residuals' power: above that a lag of the torques is likely
LITTLE = 0.5  # R² below which something is wrong with a joint
MOST = 120  # parameters that are listed
EXPENSIVE = 0.02  # of the sum of squares: what possible bodies may cost before it is said


def report(result: Identification) -> Description:
    lines = [*heading(result), "", *joints(result), "", *parameters(result), "", *bodies(result)]
    hidden = grouped_reasons(result)
    if hidden:
        lines += ["", "not identifiable one by one", *hidden]
    remarks = list(notes(result))
    if remarks:
        lines += ["", "notes"]
        for remark in remarks:
            lines += wrapped(remark, "- ", "  ")
    return Description("\n".join(lines))


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
    head = ["joint", "unit", "residual rms", "relative", "R²", "left out: rms", "relative", "R²"]
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


def notes(result: Identification) -> Iterator[str]:
    yield from result.notes
    impossible = [name for name, certificate in result.certificates.items() if not certificate.possible]
    if impossible:
        yield f"{', '.join(impossible)}: no body has these numbers; physical=True finds the nearest that can exist"
    if result.cost is not None:
        squares = sum(len(part.t) for part in result.torques) * result.nominal.n
        if result.cost > EXPENSIVE * squares:
            yield (
                f"bodies that can exist, close to the nominal robot, fit worse: the weighted sum of squares is"
                f" {100.0 * result.cost / squares:.2g} % larger than without (a smaller regularization=... draws less;"
                " or the model lacks something: geometry, friction, gear ratios)"
            )
    base = result.base
    vague = int(np.sum(np.isfinite(base.sigma) & (np.abs(base.values) < ZERO * base.sigma)))
    if vague:
        yield (
            f"{vague} of {len(base)} base parameters are not told from zero: they are small, or a longer or richer"
            " motion is needed"
        )
    lost = [name for name, r2 in zip(result.nominal.v_names, result.residuals.r2, strict=True) if r2 < LITTLE]
    if lost:
        yield (
            f"the model explains little of the torque of {', '.join(lost)}: are the joints' order, signs and zeros"
            " those of the robot, angles in radians (degrees=True), torques in N m (gains=...) and not delayed?"
        )
    lag, share = lag_of(result)
    if share > LAGGING:
        yield (
            f"torques seem to lag behind positions by {1e3 * lag:.2g} ms or more: this is {100.0 * share:.0f} % of the"
            " residuals' power, and parameters take up some of it; look for the delay=... of least residuals"
        )
    biased = with_offset(result)
    if biased:
        yield f"the residuals of {', '.join(biased)} have a mean that is not zero: offset=True identifies it"


def lag_of(result: Identification) -> tuple[float, float]:
    """By how much measured torques are late, and the share of the residuals' power that this explains.

    A torque that is late by d is short of d times its slope.
    """
    both = slopes = power = 0.0
    for motion in result.motions:
        torques = result.compared(motion, step=max(1, result.filtering.step // 4))
        slope = np.gradient(torques.predicted, torques.t, axis=0) / result.noise
        short = (torques.predicted - torques.measured) / result.noise
        both += float(np.sum(slope * short))
        slopes, power = slopes + float(np.sum(slope**2)), power + float(np.sum(short**2))
    known = slopes > 0.0 and power > 0.0
    return (both / slopes, both**2 / (slopes * power)) if known else (0.0, 0.0)


def with_offset(result: Identification) -> list[str]:
    """Joints whose mean residual is far from zero."""
    if result.offsets.any():
        return []
    left = np.concatenate([part.measured - part.predicted for part in result.torques])
    error = left.std(axis=0) / np.sqrt(len(left)) + 1e-300
    large = (np.abs(left.mean(axis=0)) > BIASED * error) & (np.abs(left.mean(axis=0)) > 0.3 * left.std(axis=0))
    return [name for name, yes in zip(result.nominal.v_names, large, strict=True) if yes]


def units_of(robot: Robot) -> list[str]:
    return ["N" if link.joint.kind == "prismatic" else "N m" for link, _ in robot.driving]


def digits(x: float, count: int) -> str:
    return f"{0.0 if abs(x) < 1e-13 else x:.{count}g}"


def percent(x: float) -> str:
    if not np.isfinite(x):
        return "-"
    return f"{100.0 * x:.2g} %" if x < 1.0 else f"{100.0 * x:.0f} %" if x < 10.0 else "> 1000 %"


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
