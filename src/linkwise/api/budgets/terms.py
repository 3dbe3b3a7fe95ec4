"""The terms of a robot's torques: their names, columns and symbols in LaTeX."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ...errors import one_of
from ...lazy import cached_property
from ...robot import PerRobot, Robot

VIEWS = ("joints", "links", "terms", "kinds")
FRICTION = ("viscous friction", "Coulomb friction")  # Stribeck's part is in the second
Key = tuple[int, int, int]  # a link (of `names`), and two rates (of `v_names`), the first of them first


class Term(NamedTuple):
    """One term of the torques: its cause, its link, and the joints whose motion it depends on."""

    what: str  # "acceleration", "bias acceleration", "bias force", "gravity", "wrench", "rotor", or of FRICTION
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
        if by == "kinds" or self.what == "rotor":
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
            *map(Term, FRICTION),
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
