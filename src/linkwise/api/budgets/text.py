"""The terms of a robot's torques: their names, columns and symbols; those of one joint in words, as a table and in
LaTeX, the largest first.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ...errors import is_integer, near_miss, one_of
from ...lazy import cached_property
from ...robot import PerRobot, Robot
from ...robot.description import grid
from ...robot.entries import is_symbol
from ...symbolic.equations import Expressions, Intermediates
from ...symbolic.latex.format import decimal
from ...symbolic.latex.program import display_equations

VIEWS = ("joints", "links", "terms", "kinds")
FRICTION = ("viscous friction", "Coulomb friction")  # with quadratic friction; with all dry friction
BASE = "motion of the base"
Key = tuple[int, int, int]  # a link (of `names`), and two rates (of `v_names`), the first of them first


class Term(NamedTuple):
    """One term of the torques: its cause, its link, and the joints whose motion it depends on."""

    what: str  # "acceleration", "bias acceleration", "bias force", "gravity", "wrench", "rotor", of FRICTION, or BASE
    link: str = ""
    joints: tuple[str, ...] = ()  # whose acceleration; of bias terms, whose rates: one or two

    @property
    def rates(self) -> str:
        """Of bias terms: "centrifugal", of one joint's rate, or "Coriolis", of two."""
        return ("centrifugal" if len(self.joints) == 1 else "Coriolis") if self.what.startswith("bias") else ""

    def label(self, by: str) -> str:
        """The label of the term in a view; terms with the same label are added up."""
        of_joints = " and ".join(self.joints)
        if self.rates:
            by_link, by_joint = f"{self.what} of {self.link}", f"{self.rates} of {of_joints}"
            return {"terms": f"{by_link}, {by_joint}", "links": by_link, "joints": by_joint, "kinds": self.rates}[by]
        if self.what in FRICTION:
            return "friction" if by == "kinds" else self.what
        if by == "kinds" or self.what in ("rotor", BASE):
            return self.what
        preposition = "on" if self.what == "wrench" else "of"
        return f"{self.what} of {of_joints}" if self.joints else f"{self.what} {preposition} {self.link}"


class TermTable:
    """The terms of a robot's torques, in the order of the fields of `Budget`.

    `accelerations` and `forces` are the columns of the bias accelerations and of the bias forces, by `Key`.
    """

    def __init__(self, robot: Robot) -> None:
        self.robot = robot
        self.owners = [k for k, joint in enumerate(robot.moving) for _ in range(joint.first, joint.link + 1)]
        turning = {index: x for x in robot.balls for index in range(x, x + 3)}  # the ball of a link
        accelerations, forces = dict[Key, int](), dict[Key, int]()
        for j, _ in enumerate(robot.links):
            for i in robot.ancestors(j)[:0:-1]:
                if turning.get(i, -1) != turning.get(j, -2):  # the rates of one ball make no bias acceleration
                    accelerations.setdefault(self.key(j, i, j), len(accelerations))
        for joint in robot.moving:
            path = robot.ancestors(joint.link)[::-1]
            for j in path:
                for i in path[: path.index(j) + 1]:
                    forces.setdefault(self.key(joint.link, i, j), len(forces))
        self.accelerations, self.forces = accelerations, forces

    def key(self, link: int, i: int, j: int) -> Key:
        """The key of a bias term: links of one joint share it, and so do the rates of coupled joints."""
        first, second = sorted((self.robot.slots[i].v, self.robot.slots[j].v))
        return self.owners[link], first, second

    @cached_property
    def terms(self) -> tuple[Term, ...]:
        names, rates = self.robot.names, self.robot.v_names
        biased = (("bias acceleration", self.accelerations), ("bias force", self.forces))
        return (
            *(Term("acceleration", joints=(joint,)) for joint in rates),
            *(
                Term(what, names[m], (rates[i],) if i == j else (rates[i], rates[j]))
                for what, keys in biased
                for m, i, j in keys
            ),
            *(Term(what, name) for what in ("gravity", "wrench") for name in names),
            Term("rotor"),
            *map(Term, (*FRICTION, BASE)),
        )

    def through(self, k: int, term: Term) -> str:
        """For accelerations and bias accelerations: the first link of the composite body that acts on torque k."""
        if term.what not in ("acceleration", "bias acceleration"):
            return ""
        indices = [index for index, slot in enumerate(self.robot.slots) if slot.v == k]
        if term.what == "acceleration":
            others = [i for i, slot in enumerate(self.robot.slots) if self.robot.v_names[slot.v] == term.joints[0]]
        else:
            others = [i for i, owner in enumerate(self.owners) if self.robot.names[owner] == term.link]
        outer = {max(a, b): None for a in indices for b in others if min(a, b) in self.robot.ancestors(max(a, b))}
        names = dict.fromkeys(self.robot.names[self.owners[index]] for index in outer)
        return ", ".join(names)


@PerRobot
def term_table(robot: Robot) -> TermTable:
    """Made once for a robot."""
    return TermTable(robot)


def groups(terms: Sequence[Term], by: str) -> dict[str, list[int]]:
    """The labels of a view, and the columns of the terms that each adds up."""
    one_of(by, VIEWS, "by")
    columns: dict[str, list[int]] = {}
    for column, term in enumerate(terms):
        columns.setdefault(term.label(by), []).append(column)
    return columns


RATE, ACCELERATION = r"\dot{\theta}", r"\ddot{\theta}"
FORCES = {"bias force": "b", "gravity": "b^g", "wrench": "b^e"}


def has_shared_numbers(robot: Robot) -> bool:
    """Whether each joint has one degree of freedom and no coupling, so that joints and links have the same numbers."""
    return all(joint.kind.degrees == 1 and joint.coupling is None for joint in robot.moving)


def torque_symbol(robot: Robot, k: int, term: Term, by: str) -> str:
    """A term of torque k as in [Kozłowski] (39); by joints, with the Christoffel symbols of the inertia matrix."""
    joints = [robot.v_names.index(name) + 1 for name in term.joints]
    m, k = (robot.names.index(term.link) + 1 if term.link else 0), k + 1
    pair = rf"^{{({joints[0]},{joints[-1]})}}" if term.rates and by == "terms" else ""
    if term.what == "acceleration":
        return through_composite(k, joints[0], rf"H_{{{joints[0]}}}^* {ACCELERATION}_{{{joints[0]}}}")
    if term.rates and by == "joints":
        return christoffel(k, joints[0], joints[-1])
    if term.what == "bias acceleration":
        return through_composite(k, m, f"a_{{{m}}}{pair}")
    if term.what in FORCES:
        return rf"{inward('Phi', k, m)} {FORCES[term.what]}_{{{m}}}{pair}"
    symbols = {"rotor": rf"J_{{{k}}} {ACCELERATION}_{{{k}}}", FRICTION[0]: rf"f_{{v,{k}}} {RATE}_{{{k}}}"}
    symbols[BASE] = rf"\tau_{{\text{{base}},{k}}}"
    return symbols.get(term.what, rf"f_{{c,{k}}}({RATE}_{{{k}}})")


def inward(operator: str, k: int, m: int) -> str:
    """H_k Φ_km"""
    return rf"H_{{{k}}}" if k == m else rf"H_{{{k}}} \{operator}_{{{k},{m}}}"


def through_composite(k: int, j: int, x: str) -> str:
    """The share in torque k of x at link j."""
    if j >= k:
        return rf"{inward('Phi', k, j)} r_{{{j}}} {x}"
    return rf"H_{{{k}}} r_{{{k}}} \Phi^*_{{{j},{k}}} {x}"


def christoffel(k: int, i: int, j: int) -> str:
    symbol = rf"\Gamma_{{{k},{i},{j}}}"
    return rf"{symbol} {RATE}_{{{i}}}^2" if i == j else rf"2 {symbol} {RATE}_{{{i}}} {RATE}_{{{j}}}"


def element_symbol(k: int, i: int, m: int, normalized: bool) -> str:
    """c_ki times the quasi-velocity, or with m ≥ 0 its summand of joint m in (48)."""
    k, i, m = k + 1, i + 1, m + 1
    velocity = rf"\{'nu' if normalized else 'xi'}_{{{i}}}"
    if m <= 0:
        return rf"c_{{{k},{i}}} {velocity}"
    sign = "-" if k > i else ""  # c_ki = -c_ik
    a, b = min(k, i), max(k, i)
    outer = r"\Omega_\delta^*"
    summand = rf"{inward('Psi', a, m)} P_{{{m}}} {outer}({m}) \Psi^*_{{{b},{m}}} H_{{{b}}}^*"
    scaled = rf"D_{{{a}}}^{{-1/2}} {summand} D_{{{b}}}^{{-1/2}}" if normalized else summand
    return f"{sign}{scaled} {velocity}"


def quasi_force_symbol(what: str, k: int, m: int, normalized: bool) -> str:
    """D_k^-½ H_k Ψ_km b_m"""
    scale = rf"D_{{{k + 1}}}^{{-1/2}} " if normalized else ""
    return rf"{scale}{inward('Psi', k + 1, m + 1)} {FORCES[what]}_{{{m + 1}}}"


UNITS = {"N m": r"\mathrm{N\,m}", "N": r"\mathrm{N}", "√J/s": r"\sqrt{\mathrm{J}}/\mathrm{s}"}
MARKS = str.maketrans(  # within \text{}
    {mark: rf"\{mark}" for mark in "_&%$#{}"}
    | {"ν": r"$\nu$", "ξ": r"$\xi$"}
    | {"~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "\\": r"\textbackslash{}"}
)
NOISE = 1e-9  # relative to the sum of magnitudes: smaller terms are not shown


@dataclass(frozen=True, repr=False)
class JointBudget:
    """The terms of one joint at one state. Prints as a table; `sentence()` and `why()` are shorter."""

    name: str
    symbol: str  # of the total
    unit: str
    total: float
    limit: float  # of the magnitude; infinite without a limit
    terms: tuple[tuple[str, float], ...]  # labels and values
    through: Mapping[str, str] = field(default_factory=dict)  # by label: first link of the composite body
    when: str = ""  # the state of a batch
    beyond: str = ""  # how long a trajectory exceeds the limit
    most: int | None = None  # terms to list

    @property
    def scale(self) -> float:
        """The sum of the magnitudes of all terms."""
        return math.fsum(abs(x) for _, x in self.terms)

    @property
    def largest(self) -> list[tuple[str, float]]:
        """The terms that are not negligible, the largest first."""
        seen = [(label, x) for label, x in self.terms if not abs(x) <= NOISE * self.scale]
        return sorted(seen, key=lambda term: -abs(term[1]))

    def shortened(self, most: int | None) -> list[tuple[str, float]]:
        """The `most` largest terms, and the sum of the others as one."""
        return largest_and_rest(self.largest, most)

    def __getitem__(self, label: str) -> float:
        terms = dict(self.terms)
        if label not in terms:
            raise KeyError(f"{label!r} is not a term{near_miss(label, terms)} (expected one of {', '.join(terms)})")
        return terms[label]

    @property
    def _at(self) -> str:
        return f" at {self.when}" if self.when else ""

    def sentence(self, most: int = 4) -> str:
        """The total as a sum on one line, with the `most` largest terms and the rest."""
        if math.isnan(self.total):
            return self._not_finite
        terms = self.shortened(most)
        first = not terms and "0"
        parts = [f"{'-' if x < 0 else '+'} {format_number(abs(x))} {label}" for label, x in terms]
        text = first or " ".join(parts).removeprefix("+ ").replace("- ", "-", 1 if terms[0][1] < 0 else 0)
        return f"{self.name}: {format_number(self.total)} {self.unit} = {text}{self._at}"

    def why(self, most: int = 4) -> str:
        """The terms that drive the total and those that oppose it, as shares of the limit, or of the total."""
        if math.isnan(self.total):
            return self._not_finite
        base, of = (self.limit, "limit") if math.isfinite(self.limit) else (abs(self.total), "total")
        head = f"{self.name}: {format_number(self.total)} {self.unit}{self._at}"
        if of == "limit":
            share = format_percent(abs(self.total), self.limit)
            head += f", {share} of its limit of {format_number(self.limit)} {self.unit}"
            head += f", which it passes for {self.beyond}" if self.beyond else ""
        if not self.largest:
            return f"{head}: nothing acts on it"
        if abs(self.total) <= NOISE * self.scale:
            base, of = self.scale, "sum of magnitudes"
        sign = math.copysign(1.0, self.total)
        lines = [f"{head}. Of the {of}:"]
        for words, way in (("towards it", sign), ("against it", -sign)):
            driving_terms = largest_and_rest([(label, x) for label, x in self.largest if x * way > 0], most)
            if driving_terms:
                text = ", ".join(
                    f"{format_percent(sign * x, base)} {label}{self.passed(label)}" for label, x in driving_terms
                )
                lines.append(f"  {words}: {text}")
        return "\n".join(lines)

    def passed(self, label: str) -> str:
        """The body through which an acceleration acts, in words."""
        return f" (through the body from {self.through[label]} on)" if label in self.through else ""

    @property
    def _not_finite(self) -> str:
        return f"{self.name}: nan {self.unit}{self._at}, of a state with a number that is not finite"

    def __str__(self) -> str:
        if math.isnan(self.total):
            return self._not_finite
        limited, terms = math.isfinite(self.limit), self.shortened(self.most)
        head = [self.name, self.unit, f"of |{self.symbol}|"]
        rows = [[label, format_number(x), format_percent(x, self.whole)] for label, x in terms]
        rows.append([self.symbol, format_number(self.total), format_percent(self.total, self.whole)])
        if limited:
            head.append("of limit")
            values = [*(x for _, x in terms), self.total]
            for row, x in zip(rows, values, strict=True):
                row.append(format_percent(x, self.limit))
        if any(label in self.through for label, _ in terms):
            head.append("through the body from")
            for row in rows:
                row.append(self.through.get(row[0], ""))
        lines = grid(head, rows, right=range(1, 3 + limited))
        if limited:
            lines.append(f"limit {format_number(self.limit)} {self.unit}")
        return "\n".join(([f"{self.name}{self._at}"] if self.when else []) + lines)

    __repr__ = __str__

    @property
    def whole(self) -> float:
        """|total|, or 0 if it is negligible relative to its terms."""
        return abs(self.total) if abs(self.total) > NOISE * self.scale else 0.0


def largest_and_rest(terms: Sequence[tuple[str, float]], most: int | None) -> list[tuple[str, float]]:
    """The first terms, and the sum of the others as one."""
    if most is not None:
        check_most(most)
    if most is None or len(terms) <= most + 1:
        return list(terms)
    rest = terms[most:]
    return [*terms[:most], (f"({len(rest)} others)", math.fsum(x for _, x in rest))]


def check_most(most: int) -> None:
    if not is_integer(most) or most < 1:
        raise ValueError(f"most is {most!r} (expected a number of terms, 1 or more)")


def format_number(x: float) -> str:
    return f"{float(x) + 0.0:.4g}"


def format_percent(x: float, whole: float) -> str:
    """A share in percent; "-" of a total of zero."""
    return "-" if whole == 0.0 else f"{100.0 * x / whole:.3g} %"


def joint_latex(
    total: str,
    labels: Sequence[str],
    values: Sequence[Any],
    unit: str,
    digits: int,
    most: int | None,
    symbols: Mapping[str, str],
    intermediates: Intermediates,
) -> str:
    """An aligned display: the total, and a line for each term with its symbol and its name."""
    labelled = list(zip(labels, values, strict=True))
    if any(is_symbol(x) for x in values):
        expressions = Expressions([x for x in values if is_symbol(x)], digits, before=intermediates.count)
        shared, cells = intermediates.share(*expressions.latex())
        texts = iter(cells)
        lines = [(label, next(texts) if is_symbol(x) else decimal(float(x), digits)) for label, x in labelled]
        lines = [line for line in lines if line[1] not in ("0", "-0")]
        return "\n".join([*display_equations(shared, None), display(total, lines, symbols)])
    terms = tuple((label, float(x)) for label, x in labelled)
    joint_budget = JointBudget("", total, unit, math.fsum(x for _, x in terms), math.inf, terms)
    left = rf"{total} = {decimal(joint_budget.total + 0.0, digits)}\,{UNITS[unit]}"
    return display(left, [(label, decimal(x, digits)) for label, x in joint_budget.shortened(most)], symbols)


def display(left: str, lines: Sequence[tuple[str, str]], symbols: Mapping[str, str]) -> str:
    rows = []
    for place, (label, text) in enumerate(lines):
        sign = "" if text.startswith("-") or not place else "+"
        symbol = f" && {symbols[label]}" if label in symbols else " &&" if symbols else ""
        rows.append(rf"{sign}{text}{symbol} && \text{{{label.translate(MARKS)}}}")
    body = " \\\\\n    &\\phantom{=}\\;".join(rows) if rows else "0"
    return f"\\begin{{align*}}\n  {left} &= {body}\n\\end{{align*}}"
