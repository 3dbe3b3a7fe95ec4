"""Findings of a comparison, and its report."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

import numpy as np

from ..robot.description import grid
from ..robot.layout import join_names
from .alignment import Match
from .skeleton import Array, angle_of, axis_of, make_pose

WIDTH = 100
MOST = 12  # findings with an effect in the report
FEW = 3  # findings of one kind without effect
LEFT = 1e-8  # a relative difference above this is more than rounding
STRUCTURE = ("missing joint", "coupling", "parent")
FRICTION = {  # kinds of findings, by the numbers of joints
    "viscous_friction": "viscous friction",
    "coulomb_friction": "Coulomb friction",
    "coulomb_offset": "Coulomb offset",
    "quadratic_friction": "quadratic friction",
    "stribeck_friction": "Stribeck friction",
    "stribeck_rate": "Stribeck rate",
    "load_friction": "load friction",
}
SPRINGS = ("stiffness", "rest")
ASIDE = (*FRICTION.values(), *SPRINGS)  # not part of the compared torques


@dataclass(frozen=True)
class Finding:
    """A difference between two robots, with values in the frames and coordinates of robot a.

    Attributes
    ----------
    kind : str
        Such as "mass", "sign", "DH parameter".
    where : str
        A joint or a link of a; "" for the whole robot.
    message : str
    value_a, value_b : Any
    share : float or None
        The part of the difference in torque that disappeared when this was corrected. Parents are
        corrected first, then coordinates, then places and bodies by the size of their effect. None if
        it has no effect on torques, and for friction and springs, which are not in the compared torques.
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
        """The effect of its correction on the difference in torque."""
        if self.share is not None:
            return f"{percent(self.share)} of the difference"
        if self.kind in STRUCTURE:
            return "joints that differ"
        return "not in the torques compared" if self.kind in ASIDE else "no effect on torques"


@dataclass(frozen=True)
class Increment:
    """The correction of a finding: a change of bodies and rotors, in which torques are linear."""

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
    """Format a vector; components that are rounding errors are zero."""
    largest = np.abs(x).max()
    return "(" + ", ".join(number(0.0 if abs(v) < 1e-9 * largest else float(v)) for v in np.asarray(x)) + ")"


def in_both(shown: Sequence[str], off: float, unit: str = "", most: str = "") -> str:
    """ "0.3 kg in a, 0.4 kg in b"; if the two texts are equal, also the difference (`most`: "at most")."""
    by = f" (they differ by {most}{off:.2g}{unit})" if shown[0] == shown[1] else ""
    return f"{shown[0]}{unit} in a, {shown[1]}{unit} in b{by}"


def compare_values(x: Any, y: Any, unit: str = "", zero: str = "") -> str:
    """`in_both` for two numbers or vectors; `zero` is the text for None and 0."""
    many = np.ndim(x) > 0
    texts = [vector(v) if many else number(v) if v or not zero else zero for v in (x, y)]
    off = np.abs(np.subtract(x, y)).max() if many else abs((x or 0.0) - (y or 0.0))
    return in_both(texts, float(off), unit, "at most " if many else "")


def ratio(a: float, b: float) -> str:
    """ " (1000 times)" if the ratio or its inverse is a whole number, or negative."""
    if a and b:
        times = b / a
        if times < 0.0 or (abs(times - round(times)) < 1e-6 * times and times >= 2.0):
            return f" ({number(times)} times)"
        if abs(1.0 / times - round(1.0 / times)) < 1e-6 / times and times <= 0.5:
            return f" (1/{number(1.0 / times)})"
    return ""


def placement_text(T: Array, size: float) -> str:
    """A placement in words: "turned by 90 deg about (0, 0, 1), shifted by (0, 0, 0.1) m"; `size` is the robot's."""
    parts = []
    angle = angle_of(T)
    if angle > 1e-9:
        parts.append(f"turned by {number(np.degrees(angle))} deg about {vector(axis_of(T).round(9))}")
    if np.abs(T[:3, 3]).max() > 1e-12 * size:
        parts.append(f"shifted by {vector(T[:3, 3])} m")
    return ", ".join(parts) or "in the same place"


def displacement_text(P: Array, Q: Array, size: float) -> str:
    """The displacement from P to Q as text, in the axes of their common frame."""
    return placement_text(make_pose(Q[:3, :3] @ P[:3, :3].T, Q[:3, 3] - P[:3, 3]), size)


def quote_names(names: Iterable[object]) -> str:
    return join_names(map(repr, names), 6)


@dataclass(frozen=True)
class Difference:
    """The largest difference of one quantity over all states, absolute and relative to the joint's largest value."""

    quantity: str
    largest: float
    relative: float
    where: str  # the joint with the largest relative difference; "" if that is rounding


@dataclass(frozen=True, repr=False)
class Comparison:
    """The comparison of two robots, a and b; `print` it.

    Attributes
    ----------
    same : bool
        Whether all torques agree in the coordinates of a: rigid-body dynamics, rotors and gravity; friction, springs
        and limits are not compared.
    findings : tuple of Finding
        Those that explain most of the difference first; friction, springs and those without effect last.
    matches : tuple of Match
    coordinates : tuple of str
        For each match, q_b as a function of q_a.
    differences : tuple of Difference
        Between a and b in the coordinates of a.
    remaining : float
        Relative difference in torque that is left when all findings are corrected in robot a.
    verdict : str
        The answer in a sentence.
    first : str or None
        The first joint, from the base, at which a difference has an effect.
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
        """The verdict, and the findings as a table, for notebooks."""
        shares = [f.effect if f.share is None else percent(f.share) for f in self.findings]
        rows = [(share, f.message) for share, f in zip(shares, self.findings, strict=True)]
        cells = "".join(f"<tr><td>{escape(share)}</td><td>{escape(message)}</td></tr>" for share, message in rows)
        table = f"<table><tr><th>share of the difference</th><th>finding</th></tr>{cells}</table>" if rows else ""
        return f"<p>a: {escape(self.a)}<br>b: {escape(self.b)}<br><b>{escape(self.verdict)}</b></p>{table}"

    def __str__(self) -> str:
        return self.text()

    def text(self, width: int = WIDTH) -> str:
        """The report that `print` shows, with sentences wrapped at a width; tables keep theirs."""
        lines = [f"a: {self.a}", f"b: {self.b}", *wrap(self.verdict, "", width), ""]
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
        return wrap(f"{len(rows)} in both, by the same names, with q_b = q_a: {names}", "  ", width)
    return indent_table(head, rows)


def finding_lines(findings: tuple[Finding, ...], width: int) -> list[str]:
    effective = [f for f in findings if f.share is not None]
    lines: list[str] = []
    if effective:
        lines += ["findings, with the share of the difference in torque that each explains"]
        for f in effective[:MOST]:
            lines += wrap(f.message, f"{percent(f.share or 0.0):>8}  ", width)
        if effective[MOST:]:
            rest = sum(f.share or 0.0 for f in effective[MOST:])
            where = ", ".join(f"{f.kind} of {f.where!r}" for f in effective[MOST:])
            lines += wrap(f"{len(effective) - MOST} more, together: {where}", f"{percent(rest):>8}  ", width)
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
            lines += [title, *(line for text in merge_messages(group) for line in wrap(text, "       -  ", width)), ""]
    return lines


def merge_messages(findings: list[Finding]) -> list[str]:
    """The messages; many of one kind become one."""
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
    return indent_table(head, rows)


def wrap(text: str, indent: str, width: int) -> list[str]:
    return textwrap.wrap(
        text, max(width, len(indent) + 20), initial_indent=indent, subsequent_indent=" " * len(indent)
    ) or [""]


def indent_table(head: list[str], rows: list[list[str]]) -> list[str]:
    first, _, *others = grid(head, rows)
    return [f"  {line}".rstrip() for line in (first, *others)]
