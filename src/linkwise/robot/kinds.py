"""The kinds of joints that a table may have, each as links of one degree of freedom.

A joint of several degrees of freedom becomes several links when the robot is made: all but the last have no mass. Its
axes are x, y, z of the joint frame. The links' own z lies along their axis; they follow each other by cyclic exchanges
of the axes, which are exact zeros and ones.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..spatial import Placement, Rotation, Vector
from .ball import CYCLE, BallX, BallY, BallZ
from .joint import Joint, Prismatic, Revolute, Screw
from .mapping import own_numbers

STAYS = Placement.identity()
CYCLES = Placement(CYCLE, Vector.zero())
BACK = Placement(Rotation(CYCLE.columns), Vector.zero())


@dataclass(frozen=True)
class JointKind:
    """`before` and `after` say how the axes are exchanged before each of its links, and at the end."""

    name: str
    letter: str  # of the theory of mechanisms
    links: tuple[type[Joint], ...]
    before: tuple[Placement, ...]
    after: Placement
    q_labels: tuple[str, ...]
    v_labels: tuple[str, ...]
    meaning: str  # of the coordinates
    axis: bool = True  # whether a row of frames may give one
    dh_variables: tuple[str, ...] = ()  # which of a DH row's entries the joint moves

    @property
    def degrees(self) -> int:
        return len(self.links)

    @property
    def numbers(self) -> tuple[str, ...]:
        """The entries of a row that only some kinds have, such as the pitch of a screw."""
        return tuple(dict.fromkeys(name for link in self.links for name in own_numbers(link)))

    @property
    def bounded(self) -> bool:
        """Whether each coordinate is a number that limits can be given for."""
        return len(self.q_labels) == len(self.v_labels)

    @property
    def joint_frame(self) -> Placement:
        """Where the joint frame is, seen from that of the first link's joint."""
        return BACK if self.before[0] is CYCLES else STAYS


BALL, BALL_BEFORE = (BallX, BallY, BallZ), (STAYS, CYCLES, CYCLES)  # the first exchange is in BallX: after its rotation
QUATERNION, SPIN = ("qw", "qx", "qy", "qz"), ("wx", "wy", "wz")
KINDS = {
    kind.name: kind
    for kind in (
        JointKind(
            "revolute",
            "R",
            (Revolute,),
            (STAYS,),
            STAYS,
            ("",),
            ("",),
            "angle",
            dh_variables=("theta",),
        ),
        JointKind("prismatic", "P", (Prismatic,), (STAYS,), STAYS, ("",), ("",), "displacement", dh_variables=("b",)),
        JointKind("screw", "H", (Screw,), (STAYS,), STAYS, ("",), ("",), "angle", dh_variables=("theta",)),
        JointKind(
            "cylindrical",
            "C",
            (Prismatic, Revolute),
            (STAYS, STAYS),
            STAYS,
            ("z", "rz"),
            ("z", "rz"),
            "displacement along z, angle about z",
            dh_variables=("b", "theta"),
        ),
        JointKind(
            "universal",
            "U",
            (Revolute, Revolute),
            (CYCLES, CYCLES),
            CYCLES,
            ("rx", "ry"),
            ("rx", "ry"),
            "angle about x, then about the turned y",
            axis=False,
        ),
        JointKind(
            "planar",
            "E",
            (Prismatic, Prismatic, Revolute),
            (CYCLES, CYCLES, CYCLES),
            STAYS,
            ("x", "y", "rz"),
            ("x", "y", "rz"),
            "displacements along x and y, angle about z",
        ),
        JointKind(
            "ball",
            "S",
            BALL,
            BALL_BEFORE,
            STAYS,
            QUATERNION,
            SPIN,
            "quaternion (w, x, y, z); angular velocity in the body's frame",
            axis=False,
        ),
        JointKind(
            "free",
            "F",
            (Prismatic, Prismatic, Prismatic, *BALL),
            (CYCLES, CYCLES, CYCLES, *BALL_BEFORE),
            STAYS,
            ("x", "y", "z", *QUATERNION),
            ("vx", "vy", "vz", *SPIN),
            "position, then quaternion (w, x, y, z); linear velocity in the parent's axes, angular in the body's",
            axis=False,
        ),
    )
}
