"""The terms that a torque is made of: which there are on a robot, and what they are called."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..errors import one_of
from ..lazy import cached_property
from ..robot import PerRobot, Robot

VIEWS = ("joints", "links", "terms", "kinds")
FRICTION = ("viscous friction", "Coulomb friction")  # with what there is of Stribeck's in the second
Key = tuple[int, int, int]  # a link (of `names`), and two rates (of `v_names`), the first of them first


class Term(NamedTuple):
    """One term of the torques: what it comes from, on which link, and by the motion of which joints."""

    what: str  # "acceleration", "bias acceleration", "bias force", "gravity", "wrench", "rotor", or of FRICTION
    link: str = ""
    joints: tuple[str, ...] = ()  # whose acceleration; of bias terms, whose rates: one or two

    @property
    def rates(self) -> str:
        """Of bias terms: "centrifugal", of one joint's rate, or "Coriolis", of two."""
        return ("centrifugal" if len(self.joints) == 1 else "Coriolis") if self.what.startswith("bias") else ""

    def label(self, by: str) -> str:
        """What it is called in a view; terms of the same name are added up."""
        of_joints = " and ".join(self.joints)
        if self.rates:
            by_link, by_joint = f"{self.what} of {self.link}", f"{self.rates} of {of_joints}"
            return {"terms": f"{by_link}, {by_joint}", "links": by_link, "joints": by_joint, "kinds": self.rates}[by]
        if self.what in FRICTION:
            return "friction" if by == "kinds" else self.what
        if by == "kinds" or self.what == "rotor":
            return self.what
        return f"{self.what} of {of_joints}" if self.joints else f"{self.what} {preposition(self.what)} {self.link}"


def preposition(what: str) -> str:
    return "on" if what == "wrench" else "of"


class TermTable:
    """The terms of a robot's torques, in the order of the fields of `Budget`.

    `accelerations` and `forces` are the columns of the bias accelerations and of the bias forces, by `Key`.
    """

    def __init__(self, arm: Robot) -> None:
        self.arm = arm
        self.owners = [k for k, joint in enumerate(arm.moving) for _ in range(joint.first, joint.link + 1)]
        turning = {index: x for x in arm.balls for index in range(x, x + 3)}  # the ball of a link
        accelerations, forces = dict[Key, int](), dict[Key, int]()
        for j, _ in enumerate(arm.links):
            for i in arm.ancestors(j)[:0:-1]:
                if turning.get(i, -1) != turning.get(j, -2):  # the rates of one ball make no bias acceleration
                    accelerations.setdefault(self.key(j, i, j), len(accelerations))
        for joint in arm.moving:
            path = arm.ancestors(joint.link)[::-1]
            for j in path:
                for i in path[: path.index(j) + 1]:
                    forces.setdefault(self.key(joint.link, i, j), len(forces))
        self.accelerations, self.forces = accelerations, forces

    def key(self, link: int, i: int, j: int) -> Key:
        """Where a bias term of links belongs: links of one joint together, the rates of coupled joints together."""
        first, second = sorted((self.arm.slots[i].v, self.arm.slots[j].v))
        return self.owners[link], first, second

    @cached_property
    def terms(self) -> tuple[Term, ...]:
        names, rates = self.arm.names, self.arm.v_names
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
        """Of an acceleration or a bias acceleration: the link from which on a composite body passes it to torque k."""
        if term.what not in ("acceleration", "bias acceleration"):
            return ""
        own = [index for index, slot in enumerate(self.arm.slots) if slot.v == k]
        if term.what == "acceleration":
            others = [i for i, slot in enumerate(self.arm.slots) if self.arm.v_names[slot.v] == term.joints[0]]
        else:
            others = [i for i, owner in enumerate(self.owners) if self.arm.names[owner] == term.link]
        outer = {max(a, b): None for a in own for b in others if min(a, b) in self.arm.ancestors(max(a, b))}
        names = dict.fromkeys(self.arm.names[self.owners[index]] for index in outer)
        return ", ".join(names)


@PerRobot
def term_table(arm: Robot) -> TermTable:
    """Made once for a robot."""
    return TermTable(arm)


def groups(terms: Sequence[Term], by: str) -> dict[str, list[int]]:
    """The labels of a view, and which terms each of them adds up."""
    one_of(by, VIEWS, "by")
    found: dict[str, list[int]] = {}
    for column, term in enumerate(terms):
        found.setdefault(term.label(by), []).append(column)
    return found
