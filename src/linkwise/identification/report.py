"""An identification as text: sections of tables and sentences, which the command line sets as wide as the terminal."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..printing import Description
from ..robot.scales import reach
from .estimates import OF_DRIVES, UNITS
from .identifiability import SMALL
from .payload import payload_of
from .text import MARK, digits, table, within

if TYPE_CHECKING:
    from .result import Identification

WIDTH = 100
MOST = 120  # rows of the table of parameters
ALIGNED = "in joint-aligned frames (origin on the joint's axis, which is z)"


class Section(NamedTuple):
    """A title, then facts by name, a table and sentences, each optional."""

    title: str
    facts: Sequence[tuple[str, str]] = ()
    head: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    sentences: Sequence[str] = ()
    bullet: str = ""


def report(result: Identification) -> Description:
    return Description("\n\n".join("\n".join(lines_of(section)) for section in sections(result)))


def lines_of(section: Section) -> Iterator[str]:
    yield from wrapped(section.title, "", "")
    widest = max((len(name) for name, _ in section.facts), default=0)
    for name, value in section.facts:
        yield from wrapped(value, f"  {name.ljust(widest)}   ", " " * (widest + 5))
    if section.rows:
        yield from table(section.head, section.rows, "  ")
    for sentence in section.sentences:
        yield from wrapped(sentence, section.bullet or "  ", "  " if section.bullet else "    ")


def wrapped(text: str, first: str, others: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=first, subsequent_indent=others, break_on_hyphens=False)


def sections(result: Identification, frame: str | None = None) -> Iterator[Section]:
    """The sections of a report; `frame`: that of a payload."""
    yield heading(result)
    yield joints(result)
    if result.model.chosen and result.model.links:
        yield loads(result, frame)
    drives = of_drives(result)
    if drives.rows:
        yield drives
    base = parameters(result, in_drives=bool(drives.rows))
    if base.rows:
        yield base
    if result.model.links:
        yield bodies(result)
    hidden = grouped_reasons(result)
    if hidden:
        yield Section("not identifiable one by one", sentences=hidden)
    if result.notes:
        yield Section("notes", sentences=result.notes, bullet="- ")


def combinations(result: Identification) -> Description:
    """Each base parameter as a sum of parameters."""
    model = result.model
    rows = []
    for name, row, sizes in zip(model.combined, model.T, np.abs(model.scaled), strict=True):
        terms = [(x, unknown) for x, unknown, size in zip(row, model.unknowns, sizes, strict=True) if size > SMALL]
        text = " ".join(("- " if x < 0.0 else "+ ") + factor(abs(x)) + unknown for x, unknown in terms)
        rows.append(f"{name} = " + (f"-{text[2:]}" if text.startswith("-") else text[2:]))
    return Description("\n".join(rows))


def factor(x: float) -> str:
    return "" if abs(x - 1.0) < 1e-9 else f"{x:.4g} "


def heading(result: Identification) -> Section:
    robot = result.nominal
    method = "weighted least squares" if result.weighted else "ordinary least squares"
    if result.physical:
        method += " over physically consistent bodies, drawn to the nominal robot"
    facts = [("data", result.filtering.text), ("fit", f"{method}; {result.rows} rows a joint")]
    if result.model.chosen:
        facts.append(("free", f"{', '.join(result.model.chosen)}; all else is that of the nominal robot"))
    taken = [row for row in result.choices.tried if row.taken]
    last = {row.choice if row.choice != "term" else row.candidate: row for row in taken}
    if last:
        words = ", ".join(f"{row.choice} {row.candidate}" for row in last.values())
        facts.append(("chosen", f"{words}, by cross-validation: print(fit.choices)"))
    lacking = len(result.base) - result.rank
    short = "" if not lacking else f"; {lacking} combination{'s' * (lacking != 1)} not excited by these data"
    rank = f"{result.rank} of {len(result.base)} base parameters"
    facts.append(("rank", f"{rank}, condition number {result.condition:.3g}{short}"))
    return Section(f"{robot.name}: identified from {result.samples} samples, {result.duration:.4g} s", facts)


def joints(result: Identification) -> Section:
    other = "validation: rms" if result.validated else "left out: rms"
    units = result.nominal.effort_units
    alike = len(set(units)) == 1
    head = ["joint", *([] if alike else ["unit"]), "rms", "relative", "R²", other, "relative", "R²", "near rest"]
    rows = []
    for j, name in enumerate(result.nominal.v_names):
        cells = [*result.residuals.cells(j), *result.validation.cells(j), result.near_rest.cells(j)[0]]
        rows.append([name, *([] if alike else [units[j]]), *cells])
    meaning = (
        "relative: to the rms of the measured torque; R²: the share of its variance that the model explains; near rest:"
        " left-out rows slower than a tenth of the joint's usual rate"
    )
    unit = f", {units[0]}" if alike else ""
    return Section(f"torques: residuals, measured less predicted{unit}", head=head, rows=rows, sentences=[meaning])


def loads(result: Identification, frame: str | None) -> Section:
    """The payloads of the free links; with the tensor if there is one link, or for the link of a frame."""
    robot = result.nominal
    links = [robot.names[k] for k in result.model.links]
    found = [payload_of(result, link) for link in links] if frame is None else [payload_of(result, frame)]
    fixed = [other.name for other in robot.frames if not other.on_base and robot.names[other.link] in links]
    others = f"; fit.payload({fixed[-1]!r}) gives it in that frame" if fixed and frame is None else ""
    remarks = [f"σ is that of the difference to the nominal robot{others}"]
    if len(found) > 1:
        facts = [(load.link, load.sentence) for load in found]
        return Section("more than the nominal robot", facts, sentences=remarks)
    load = found[0]
    title = f"more than the nominal robot: {load.sentence}"
    head = ["about the mass centre", "value", "σ", "unit"]
    rows = load.rows()[4:] if np.isfinite(load.inertia).any() else []
    return Section(title, head=head, rows=rows, sentences=[*load.remarks()[1:], *remarks])


def of_drives(result: Identification) -> Section:
    """Rotor, friction and offset of each joint of which one was identified, by the names of joints."""
    every, base = result.parameters, result.base
    where = {name: k for k, name in enumerate(every.names)}
    unknown = set(result.model.unknowns)
    kinds = [kind for kind in OF_DRIVES[:3] if any(name.endswith(f".{kind}") for name in unknown)]
    cells: dict[str, dict[str, str]] = {}
    names = {joint.name: joint.joint for joint in result.nominal.moving}
    for joint in result.nominal.moving:
        own = {kind: where[f"{joint.name}.{kind}"] for kind in kinds}
        if any(every.names[k] in unknown for k in own.values()):
            cells[joint.joint] = {kind: within(every.values[k], every.sigma[k]) for kind, k in own.items()}
    sentences = []
    if any(cell.endswith(MARK) for own in cells.values() for cell in own.values()):
        sentences.append(f"{MARK} not separable from others with these torques")
    for kind in dict.fromkeys(kind for kind, _ in result.model.terms):
        kinds.append(kind)
        for k in range(len(result.model.combined), len(base)):
            owner, _, own_kind = base.names[k].rpartition(".")
            if own_kind == kind:
                cells.setdefault(names.get(owner, owner), {})[kind] = within(base.values[k], base.sigma[k])
    if result.model.terms:
        lacking = ", ".join(dict.fromkeys(kind for kind, _ in result.model.terms))
        sentences.append(f"{lacking}: fit.predict includes them, fit.robot and its file do not")
    if "stribeck" in kinds:
        sentences.append(f"stribeck fades as 1 / (1 + (rate / {result.model.stribeck_rate:.3g})²)")
    rows = [[joint, *(own.get(kind, "-") for kind in kinds)] for joint, own in cells.items()]
    slides = sorted({unit == "N" for unit in result.nominal.effort_units})
    words = [kind.replace("coulomb", "Coulomb") for kind in kinds]
    units = [" or ".join(UNITS[kind][k][0] for k in slides) for kind in kinds]
    title = ", ".join(f"{word} ({unit})" for word, unit in zip(words, units, strict=True))
    return Section(f"drives: {title}, ± σ", head=["joint", *words], rows=rows, sentences=sentences)


def parameters(result: Identification, in_drives: bool) -> Section:
    """The table of base parameters of bodies; those of drives are in another table."""
    base = result.base
    drives = tuple(f".{kind}" for kind in OF_DRIVES)
    rows = [base.cells(k, "not excited") for k, name in enumerate(base.names) if not name.endswith(drives)]
    more = [f"and {len(rows) - MOST} more"] if len(rows) > MOST else []
    head = ["base parameter", "value", "σ", "relative", "nominal", ""]
    others = "; those of drives are above" if in_drives else ""
    title = f"base parameters: the combinations that torques depend on, {ALIGNED}; kg, kg m, kg m2{others}"
    return Section(title, head=head, rows=rows[:MOST], sentences=more)


def bodies(result: Identification) -> Section:
    """The bodies of the free links, by default all, in the frames of the robot's table."""
    robot, model, every = result.nominal, result.model, result.parameters
    names = [robot.names[k] for k in model.links]
    impossible = any(not result.certificates[name].possible for name in names)
    rows = []
    for name in names:
        k = every.names.index(f"{name}.m")
        mass = within(every.values[k], every.sigma[k])
        verdict = ["consistent" if result.certificates[name].possible else "NOT CONSISTENT"] if impossible else []
        rows.append([name, mass, digits(every.nominal[k], 4), centre(result, name), *verdict])
    head = ["link", "mass (kg)", "nominal", "centre of mass (m)", *([""] if impossible else [])]
    each = "" if impossible else ", physically consistent"
    sentences = [f"{MARK} not identifiable by itself: nearest to the nominal robot"]
    if model.chosen:
        sentences = [f"{MARK} not identifiable by itself"] if any(MARK in row[1] + row[3] for row in rows) else []
        sentences.append("± is the σ of the difference to the nominal robot, whose own mass may be wrong by more")
    elif not any(MARK in row[1] + row[3] for row in rows):
        sentences = []
    return Section(f"bodies{each}, in the links' table frames", head=head, rows=rows, sentences=sentences)


def centre(result: Identification, name: str) -> str:
    """The mass centre of a link in its table frame, with a mark if mass or moments are not known."""
    place, known = centre_of(result, name)
    if np.isnan(place).any():
        return "-"
    places = max(0, 4 - round(math.log10(reach(result.nominal))))  # ten thousandths of the robot's size
    return f"({', '.join(f'{x:.{places}f}' for x in np.round(place, places) + 0.0)}){'' if known else MARK}"


def centre_of(result: Identification, name: str) -> tuple[np.ndarray, bool]:
    """The mass centre, NaN without a mass, and whether the data determine it."""
    every = result.parameters
    k = every.names.index(f"{name}.m")
    mass, moment = every.values[k], every.values[k + 1 : k + 4]
    _, seat = result.nominal.seat(result.nominal.frame(name))
    into = np.array(seat.inverse().matrix(), dtype=float)
    place = into[:3, :3] @ (moment / mass) + into[:3, 3] if mass else np.full(3, np.nan)
    return place, bool(np.isfinite(every.sigma[k : k + 4]).all())


def grouped_reasons(result: Identification) -> list[str]:
    """Parameters with the same reason in one sentence."""
    by_reason: dict[str, list[str]] = {}
    for name, reason in result.not_identifiable.items():
        link = name.rpartition(".")[0]
        whose = reason if not reason.startswith("the link") else f"{link} {reason.removeprefix('the link ')}"
        by_reason.setdefault(whose, []).append(name)
    return [f"{shortened(names)}: {reason}" for reason, names in by_reason.items()]


def shortened(names: Sequence[str]) -> str:
    """link1.m, link1.hx, link1.hy as link1.m, hx, hy."""
    parts, before = [], ""
    for name in names:
        link, _, number = name.rpartition(".")
        parts.append(number if link == before else name)
        before = link
    return ", ".join(parts)
