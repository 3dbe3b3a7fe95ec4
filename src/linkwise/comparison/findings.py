"""What a comparison finds, one difference at a time, and how the result is written."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

import numpy as np

from ..robot.description import grid
from ..robot.layout import join_names
from .matching import Match
from .rigid import Array, angle_of, axis_of, placed

WIDTH = 100
MOST = 12  # findings with effect that are written out
FEW = 3  # of one kind and without effect
LEFT = 1e-8  # a relative difference above this is more than rounding
STRUCTURE = ("missing joint", "coupling", "parent")
FRICTION, SPRINGS = ("viscous friction", "Coulomb friction"), ("stiffness", "rest")
ASIDE = (*FRICTION, *SPRINGS)  # torques are compared without these


@dataclass(frozen=True)
class Finding:
    """A difference between two robots.

    `share` is the part of the difference in torque that went away when this was corrected: parents first, then
    coordinates, places and bodies, of these the most effective first. None for what has no effect on torques, and for
    friction and springs, without which torques are compared. Values are in the frames and coordinates of robot a.
    """

    kind: str
    where: str  # a joint or a link of a, or "" for the whole robot
    message: str
    value_a: Any = None
    value_b: Any = None
    share: float | None = None

    def __str__(self) -> str:
        return f"{self.message} ({self.effect})"

    @property
    def effect(self) -> str:
        """What correcting it does to the difference in torque."""
        if self.share is not None:
            return f"{percent(self.share)} of the difference"
        if self.kind in STRUCTURE:
            return "joints that differ"
        return "not in the torques compared" if self.kind in ASIDE else "no effect on torques"


@dataclass(frozen=True)
class Increment:
    """A change of bodies and rotors, in which torques are linear: what the finding would correct."""

    finding: Finding
    unit: int
    bodies: Mapping[int, Array] = field(default_factory=dict)
    rotor: float = 0.0


def percent(share: float) -> str:
    if share >= 0.9995:
        return "100 %"
    return f"{100.0 * share:.1f} %" if share <= -0.0005 or share >= 0.0005 else "< 0.1 %"


def number(x: float) -> str:
    return f"{x + 0.0:.6g}"


def vector(x: Any) -> str:
    """Components that rounding has left beside the largest are zero."""
    largest = np.abs(x).max()
    return "(" + ", ".join(number(0.0 if abs(v) < 1e-9 * largest else float(v)) for v in np.asarray(x)) + ")"


def sides(shown: Sequence[str], off: float, unit: str = "", most: str = "") -> str:
    """ "0.3 kg in a, 0.4 kg in b"; where the two look the same, also by how much they differ (`most`: "at most")."""
    by = f" (they differ by {most}{off:.2g}{unit})" if shown[0] == shown[1] else ""
    return f"{shown[0]}{unit} in a, {shown[1]}{unit} in b{by}"


def both(x: Any, y: Any, unit: str = "", zero: str = "") -> str:
    """The same of two numbers, or of vectors by their components; `zero` is the word for none, and for 0."""
    many = np.ndim(x) > 0
    shown = [vector(v) if many else number(v) if v or not zero else zero for v in (x, y)]
    off = np.abs(np.subtract(x, y)).max() if many else abs((x or 0.0) - (y or 0.0))
    return sides(shown, float(off), unit, "at most " if many else "")


def ratio(a: float, b: float) -> str:
    """ " (1000 times)" where that says more than the two numbers."""
    if a and b:
        times = b / a
        if times < 0.0 or (abs(times - round(times)) < 1e-6 * times and times >= 2.0):
            return f" ({number(times)} times)"
        if abs(1.0 / times - round(1.0 / times)) < 1e-6 / times and times <= 0.5:
            return f" (1/{number(1.0 / times)})"
    return ""


def turn(T: Array, size: float) -> str:
    """A placement in words: "turned by 90 deg about (0, 0, 1), shifted by (0, 0, 0.1) m"; `size` is the robot's."""
    parts = []
    angle = angle_of(T)
    if angle > 1e-9:
        parts.append(f"turned by {number(np.degrees(angle))} deg about {vector(axis_of(T).round(9))}")
    if np.abs(T[:3, 3]).max() > 1e-12 * size:
        parts.append(f"shifted by {vector(T[:3, 3])} m")
    return ", ".join(parts) or "in the same place"


def moved_in_words(P: Array, Q: Array, size: float) -> str:
    """How Q stands to P, both seen from one frame, in the axes of that frame."""
    return turn(placed(Q[:3, :3] @ P[:3, :3].T, Q[:3, 3] - P[:3, 3]), size)


def quoted(names: Iterable[object]) -> str:
    return join_names(map(repr, names), 6)


@dataclass(frozen=True)
class Difference:
    """Of one quantity over all states: the largest, and relative to the largest such value of that joint."""

    quantity: str
    largest: float
    relative: float
    where: str  # the joint with the largest relative difference; "" if that is rounding


@dataclass(frozen=True, repr=False)
class Comparison:
    """Two robots, a and b: `print` it.

    `same` is whether all torques agree, once the coordinates of b are taken as those of a: rigid-body dynamics with
    rotors and gravity, without friction and limits. `findings` that explain most of the difference in torque come
    first, friction, springs and those without effect last. `differences` are between a and b in the coordinates of a;
    `remaining` is the relative difference in torque that is left when robot a is given all that the findings name.
    """

    a: str
    b: str
    same: bool = False
    findings: tuple[Finding, ...] = ()
    matches: tuple[Match, ...] = ()
    coordinates: tuple[str, ...] = ()  # for each match, q_b of q_a
    differences: tuple[Difference, ...] = ()
    remaining: float = float("inf")
    verdict: str = ""
    first: str | None = None  # the first joint, from the base, at which a difference has an effect
    states: int = 0
    seed: int = 0

    def table(self) -> list[dict[str, Any]]:
        """The findings as rows: kind, where, message, a, b, share."""
        return [
            {"kind": f.kind, "where": f.where, "message": f.message, "a": f.value_a, "b": f.value_b, "share": f.share}
            for f in self.findings
        ]

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        """What a notebook shows: the verdict, and the findings as a table."""
        shares = [f.effect if f.share is None else percent(f.share) for f in self.findings]
        rows = [(share, f.message) for share, f in zip(shares, self.findings, strict=True)]
        cells = "".join(f"<tr><td>{escape(share)}</td><td>{escape(message)}</td></tr>" for share, message in rows)
        table = f"<table><tr><th>share of the difference</th><th>finding</th></tr>{cells}</table>" if rows else ""
        return f"<p>a: {escape(self.a)}<br>b: {escape(self.b)}<br><b>{escape(self.verdict)}</b></p>{table}"

    def __str__(self) -> str:
        return self.text()

    def text(self, width: int = WIDTH) -> str:
        """What `print` shows, with sentences broken at a width; tables keep theirs."""
        lines = [f"a: {self.a}", f"b: {self.b}", *wrapped(self.verdict, "", width), ""]
        if self.matches:
            lines += ["joints", *match_lines(self, width), ""]
        lines += finding_lines(self.findings, width)
        if self.differences:
            lines += [f"differences over {self.states} random states (seed {self.seed}), b in the coordinates of a"]
            lines += difference_lines(self)
        return "\n".join(lines).rstrip()


def match_lines(result: Comparison, width: int) -> list[str]:
    head = ["a", "b", "coordinate", "matched by"]
    rows = [[m.a, m.b, c, m.how] for m, c in zip(result.matches, result.coordinates, strict=True)]
    if all(m.a == m.b and c == "q_b = q_a" for m, c in zip(result.matches, result.coordinates, strict=True)):
        names = ", ".join(m.a for m in result.matches)
        return wrapped(f"{len(rows)} in both, by the same names, with q_b = q_a: {names}", "  ", width)
    return indented(head, rows)


def finding_lines(findings: tuple[Finding, ...], width: int) -> list[str]:
    effective = [f for f in findings if f.share is not None]
    lines: list[str] = []
    if effective:
        lines += ["findings, with the share of the difference in torque that each explains"]
        for f in effective[:MOST]:
            lines += wrapped(f.message, f"{percent(f.share or 0.0):>8}  ", width)
        if effective[MOST:]:
            rest = sum(f.share or 0.0 for f in effective[MOST:])
            where = ", ".join(f"{f.kind} of {f.where!r}" for f in effective[MOST:])
            lines += wrapped(f"{len(effective) - MOST} more, together: {where}", f"{percent(rest):>8}  ", width)
        lines += [""]
    structure = [f for f in findings if f.share is None and f.kind in STRUCTURE]
    aside = [f for f in findings if f.share is None and f.kind in ASIDE]
    others = [f for f in findings if f.share is None and f.kind not in (*STRUCTURE, *ASIDE)]
    for title, group in (
        ("joints that differ", structure),
        ("friction and springs; torques are compared without these", aside),
        ("without effect on torques", others),
    ):
        if group:
            lines += [title, *(line for text in by_kind(group) for line in wrapped(text, "       -  ", width)), ""]
    return lines


def by_kind(findings: list[Finding]) -> list[str]:
    """The messages, those of one kind that are many as one."""
    texts, kinds = [], list(dict.fromkeys(f.kind for f in findings))
    for kind in kinds:
        group = [f for f in findings if f.kind == kind]
        if len(group) <= FEW:
            texts += [f.message for f in group]
        else:
            texts.append(f"{group[0].message}; and so at {', '.join(repr(f.where) for f in group[1:])}")
    return texts


def difference_lines(result: Comparison) -> list[str]:
    head = ["", "largest", "relative", "most at joint"]
    rows = [[d.quantity, f"{d.largest:.2g}", f"{d.relative:.1e}", d.where] for d in result.differences]
    if result.findings:
        rows.append(["torque, findings corrected", "", f"{result.remaining:.1e}", ""])
    return indented(head, rows)


def wrapped(text: str, indent: str, width: int) -> list[str]:
    return textwrap.wrap(
        text, max(width, len(indent) + 20), initial_indent=indent, subsequent_indent=" " * len(indent)
    ) or [""]


def indented(head: list[str], rows: list[list[str]]) -> list[str]:
    first, _, *others = grid(head, rows)
    return [f"  {line}".rstrip() for line in (first, *others)]
