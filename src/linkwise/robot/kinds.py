"""The kinds of joints in tables, each made of links of one degree of freedom.

A joint of several degrees of freedom becomes several links when the robot is made; all but the last have no mass. Its
axes are x, y, z of the joint frame. The z axis of each link lies along the axis of its joint. The rotations between
links are cyclic exchanges of the axes, with exact zeros and ones.

A ball joint is three revolute joints x, y, z, all at angle zero behind the rotation R of the state.

These are Euler angles θ that are centred at every state, so they are never singular. At zero their rates are the
angular velocity ω in the body's frame, their torques are about the body's axes, and

    ω = B(θ) θ̇,   B(0) = 1,   Ḃ = [[0, ω_z, 0], [-ω_z, 0, 0], [ω_y, 0, 0]]
    ω̇ = θ̈ + γ,    γ = Ḃ ω = (ω_y ω_z, -ω_x ω_z, ω_x ω_y)

The public functions subtract γ from their inputs and add it to their results (`robot.coordinates`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from ..lazy import cached_property
from ..spatial import Placement, RigidInertia, Rotation, Scalar, Scalars, Symmetric, Vector, mul, rotation_of
from .joint import EVERYWHERE, Joint, LinkMobility, Prismatic, Revolute, Screw, no_further_data
from .link import own_numbers

CYCLE = Rotation(((0.0, 0.0, 1.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)))  # its z is x, its x is y, its y is z


@no_further_data
class BallAxis(Revolute):
    """One of the three axes; `spins` are the components of ω up to this axis."""

    kind = "ball"
    width: ClassVar[int] = 0  # the angle is always zero

    def coordinate(self, values: Scalars) -> Scalar:
        return 0.0

    def motion(self, q: Scalar) -> Placement:
        return Placement.identity()

    def split(self, body: RigidInertia) -> tuple[RigidInertia, RigidInertia]:
        """Only the mass can move to the parent, as a point at the joint's centre."""
        kept = RigidInertia(0.0, body.moment, body.tensor)
        return kept, RigidInertia(body.mass, Vector.zero(), Symmetric.zero())

    def identifiable(self, body: RigidInertia, mobility: LinkMobility) -> tuple[dict[str, Scalar], RigidInertia]:
        return {}, body  # the body is on the last of the three


@no_further_data
class BallX(BallAxis):
    width: ClassVar[int] = 4

    def coordinate(self, values: Scalars) -> Rotation:
        return rotation_of(values)

    def motion(self, q: Rotation) -> Placement:
        """The rotation of the state, and then x as the axis."""
        return Placement(q.then(CYCLE), Vector.zero())

    def spins(self, parent: Vector, rate: Scalar) -> Vector:
        return Vector(rate, 0.0, 0.0)

    def recentring(self, spins: Vector, inner: Vector) -> tuple[Scalar, Vector]:
        return mul(inner.y, inner.z), Vector.zero()


@no_further_data
class BallY(BallAxis):
    def spins(self, parent: Vector, rate: Scalar) -> Vector:
        return Vector(parent.x, rate, 0.0)

    def recentring(self, spins: Vector, inner: Vector) -> tuple[Scalar, Vector]:
        return mul(-1.0, mul(spins.x, inner.z)), Vector(0.0, spins.y, inner.z)


@no_further_data
class BallZ(BallAxis):
    def spins(self, parent: Vector, rate: Scalar) -> Vector:
        return Vector(parent.x, parent.y, rate)

    def recentring(self, spins: Vector, inner: Vector) -> tuple[Scalar, Vector]:
        return mul(spins.x, spins.y), Vector(0.0, 0.0, spins.z)

    def identifiable(self, body: RigidInertia, mobility: LinkMobility) -> tuple[dict[str, Scalar], RigidInertia]:
        """The whole tensor, and the first moment if gravity acts or the centre moves."""
        h, J = body.moment, body.tensor
        swung = {"hx": h.x, "hy": h.y, "hz": h.z} if mobility.swings else {}
        tensor = {"Jxx": J.xx, "Jxy": J.xy, "Jxz": J.xz, "Jyy": J.yy, "Jyz": J.yz, "Jzz": J.zz}
        return {**swung, **tensor}, RigidInertia(body.mass, Vector.zero(), Symmetric.zero())


STAYS = Placement.identity()
CYCLES = Placement(CYCLE, Vector.zero())
BACK = Placement(Rotation(CYCLE.columns), Vector.zero())


@dataclass(frozen=True)
class JointKind:
    """A kind of joint. `before` and `after` are the exchanges of axes before each of its links and at the end."""

    name: str
    letter: str  # of the theory of mechanisms
    links: tuple[type[Joint], ...]
    meaning: str  # of the coordinates
    colour: str  # in pictures
    before: tuple[Placement, ...] = (STAYS,)
    after: Placement = STAYS
    q_labels: tuple[str, ...] = ("",)
    v_labels: tuple[str, ...] = ("",)
    axis: bool = True  # whether a row of frames may give one
    dh_variables: tuple[str, ...] = ()  # which of a DH row's entries the joint moves
    symbol: str = ""  # in pictures, where it is not that of the axis
    urdf: str = ""  # its type in URDF, if it is one joint there
    libraries: tuple[str, ...] = EVERYWHERE  # in which such joints exist, as one joint or as several

    @staticmethod
    def of(joint: type[Joint]) -> JointKind:
        """The kind of a joint class, which holds all that tables, files and pictures need."""
        fields = vars(joint)
        for name, what in (("kind", "a name"), ("letter", "one character")):
            if not fields.get(name) or (name == "letter" and len(fields[name]) != 1):
                given = repr(fields[name]) if name in fields else "missing"
                raise TypeError(
                    f"joint class {joint.__name__}: {name} is {given} (expected {what} that no other kind has)"
                )
        return JointKind(
            fields["kind"],
            fields["letter"],
            (joint,),
            joint.meaning,
            fields.get("colour", Joint.colour),
            dh_variables=joint.dh_variables,
            symbol=joint.symbol,
            urdf=fields.get("urdf", ""),
            libraries=fields.get("libraries", ()),
        )

    @property
    def degrees(self) -> int:
        return len(self.links)

    @property
    def sizes(self) -> tuple[int, int]:
        """The numbers of its coordinates in q and in v."""
        return len(self.q_labels), len(self.v_labels)

    @cached_property
    def numbers(self) -> tuple[str, ...]:
        """The entries of a row that only some kinds have, such as the pitch of a screw."""
        return tuple(dict.fromkeys(name for link in self.links for name in own_numbers(link)))

    @property
    def bounded(self) -> bool:
        """Whether each coordinate is one number, which can have limits."""
        return len(self.q_labels) == len(self.v_labels)

    @property
    def on_z(self) -> bool:
        """Whether all its links move about and along z of the joint frame."""
        return all(place is STAYS for place in self.before)

    @property
    def directions(self) -> tuple[tuple[Scalar, ...], ...]:
        """The axes of its links in the joint frame at zero; wrong for balls, which exchange axes themselves."""
        place, axes = STAYS, []
        for before in self.before:
            place = place.then(before)
            axes.append(tuple(place.axes.columns[2]))
        return tuple(axes)

    def joints(self, row: Mapping[str, Any]) -> list[Joint]:
        """Its joints, with the numbers of a row such as the pitch of a screw."""
        return [joint(**{name: row[name] for name in own_numbers(joint)}) for joint in self.links]

    @property
    def joint_frame(self) -> Placement:
        """The placement of the joint frame in the frame of the first link's joint."""
        return BACK if self.before[0] is CYCLES else STAYS


BALL, BALL_BEFORE = (BallX, BallY, BallZ), (STAYS, CYCLES, CYCLES)  # the first exchange is in BallX: after its rotation
QUATERNION, SPIN = ("qw", "qx", "qy", "qz"), ("wx", "wy", "wz")


def kinds_by_name(*kinds: JointKind) -> dict[str, JointKind]:
    """Kinds by name; raise a TypeError if two have the same name or letter."""
    for key in ("name", "letter"):
        taken: dict[str, JointKind] = {}
        for kind in kinds:
            value = getattr(kind, key)
            if value in taken:
                one, other = (f"{k.name} ({', '.join(j.__name__ for j in k.links)})" for k in (taken[value], kind))
                raise TypeError(f"{one} and {other} have the {key} {value!r} (expected a different one for each)")
            taken[value] = kind
    return {kind.name: kind for kind in kinds}


KINDS = kinds_by_name(
    JointKind.of(Revolute),
    JointKind.of(Prismatic),
    JointKind.of(Screw),
    JointKind(
        "cylindrical",
        "C",
        (Prismatic, Revolute),
        "displacement along z, angle about z",
        "#2f9aa8",
        before=(STAYS, STAYS),
        q_labels=("z", "rz"),
        v_labels=("z", "rz"),
        dh_variables=("b", "theta"),
    ),
    JointKind(
        "universal",
        "U",
        (Revolute, Revolute),
        "angle about x, then about the turned y",
        "#c2557f",
        before=(CYCLES, CYCLES),
        after=CYCLES,
        q_labels=("rx", "ry"),
        v_labels=("rx", "ry"),
        axis=False,
    ),
    JointKind(
        "planar",
        "E",
        (Prismatic, Prismatic, Revolute),
        "displacements along x and y, angle about z",
        "#8a7a2f",
        before=(CYCLES, CYCLES, CYCLES),
        q_labels=("x", "y", "rz"),
        v_labels=("x", "y", "rz"),
    ),
    JointKind(
        "ball",
        "S",
        BALL,
        "quaternion (w, x, y, z); angular velocity in the body's frame",
        "#7d5bb5",
        before=BALL_BEFORE,
        q_labels=QUATERNION,
        v_labels=SPIN,
        axis=False,
    ),
    JointKind(
        "free",
        "F",
        (Prismatic, Prismatic, Prismatic, *BALL),
        "position, then quaternion (w, x, y, z); linear velocity in the parent's axes, angular in the body's",
        "#5b6f8f",
        before=(CYCLES, CYCLES, CYCLES, *BALL_BEFORE),
        q_labels=("x", "y", "z", *QUATERNION),
        v_labels=("vx", "vy", "vz", *SPIN),
        axis=False,
        urdf="floating",
    ),
)


def joint_numbers() -> tuple[str, ...]:
    """The entries of rows that only some kinds of joints have."""
    return tuple(dict.fromkeys(name for kind in KINDS.values() for name in kind.numbers))


def link_joints() -> tuple[type[Joint], ...]:
    """The joints of one degree of freedom that all kinds are made of."""
    return tuple(dict.fromkeys(joint for kind in KINDS.values() for joint in kind.links))


def one_degree_kinds() -> tuple[str, ...]:
    """The names of the kinds of one degree of freedom, which can be locked, coupled and held by a spring."""
    return tuple(kind.name for kind in KINDS.values() if kind.degrees == 1)
