"""Where the numbers of a configuration and of a velocity are, and the names of their columns in tables."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .joint_space import CONFIGURATIONS, QUATERNION, label
from .model import Robot

SPIN = 3  # numbers
NUMBERED = re.compile(r"(?:qdd|qd|q|tau)?0*(\d+)")  # a column by number, or a number alone


def no_orientation(arm: Robot, where: str, start: int) -> str:
    """What is wrong with a quaternion of zeros, `where` in an argument and at `start` in q."""
    joint = next(joint.joint for joint in arm.moving if joint.q.start <= start < joint.q.stop)
    expected = "(expected for example (1, 0, 0, 0), as in lw.neutral(arm))"
    return f"{where}, joint {joint!r}, begins a quaternion of length zero {expected}"


def angles(arm: Robot, word: str) -> list[bool]:
    """Which numbers of q, or of qd and qdd, are angles: those of joints that turn; quaternions are none."""
    turning = [False] * (arm.nq if word == "q" else arm.n)
    for link, slot in arm.driving:
        if link.joint.kind != "prismatic" and (word != "q" or link.joint.width == 1):
            turning[slot.q if word == "q" else slot.v] = True
    return turning


def places(arm: Robot, word: str) -> dict[str, int]:
    """Where each number of q, or of qd, qdd and tau, is: by its label, or that with the link's name for the joint's.

    A name that is a joint's and another one's link is the joint's, as in `arm.q_slice`.
    """
    found: dict[str, int] = {}
    for joint in arm.moving:
        if joint.coupling is None:
            start, parts = (joint.q, joint.kind.q_labels) if word == "q" else (joint.v, joint.kind.v_labels)
            found |= {label(joint.name, part): k for k, part in enumerate(parts, start.start)}
    own = arm.q_names if word == "q" else arm.v_names
    return {**found, **{name: k for k, name in enumerate(own)}}


def named_like_others(arm: Robot) -> bool:
    """Whether a joint or link has the name of another one's column: q1, or 1, in second place."""
    found = ((NUMBERED.fullmatch(name), k) for name, k in places(arm, "qd").items())
    return any(match is not None and int(match[1]) != k + 1 for match, k in found)


@dataclass(frozen=True)
class Layout:
    """The coordinates of a robot: those that are plain numbers, and its quaternions, by where they are in q and qd."""

    q_names: tuple[str, ...]
    v_names: tuple[str, ...]
    plain: tuple[tuple[int, int], ...]  # in q and in qd
    quaternions: tuple[tuple[int, int], ...]  # where they begin in q, and their angular velocities in qd
    labelled: bool  # whether columns have the names of coordinates, since numbers alone would not tell them apart

    @staticmethod
    def of(arm: Robot) -> Layout:
        plain = tuple((slot.q, slot.v) for link, slot in arm.driving if link.joint.width == 1)
        turning = tuple((slot.q, slot.v) for link, slot in arm.driving if link.joint.width == QUATERNION)
        labelled = any(joint.kind.degrees > 1 for joint in arm.moving) or named_like_others(arm)
        return Layout(arm.q_names, arm.v_names, plain, turning, labelled)

    @staticmethod
    def numbered(n: int) -> Layout:
        """Of n joints of one degree of freedom whose names are not known."""
        names = tuple(str(k + 1) for k in range(n))
        return Layout(names, names, tuple((k, k) for k in range(n)), (), False)

    @property
    def nq(self) -> int:
        return len(self.q_names)

    @property
    def n(self) -> int:
        return len(self.v_names)

    def columns(self, word: str) -> list[str]:
        """The columns of q, qd, qdd or tau in a table: q1, q2, ...; or q.base.x, ... where numbers do not tell."""
        names = self.q_names if word in (*CONFIGURATIONS, "q_end") else self.v_names
        return [f"{word}.{name}" if self.labelled else f"{word}{k}" for k, name in enumerate(names, 1)]
