"""Joints of one degree of freedom. Each moves its link about and along the z axis of the joint frame.

A kind of joint is a class here and an entry in `robot.kinds.KINDS`. Algorithms never ask for the kind of a joint;
tables, files, pictures and comparisons ask the class.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

from ..lazy import cached_property
from ..spatial import (
    ArticulatedInertia,
    Matrix,
    Placement,
    RigidInertia,
    Rotation,
    Scalar,
    Scalars,
    Symmetric,
    Twist,
    Vector,
    Wrench,
    add,
    cross_matrix,
    is_zero,
    mul,
    reciprocal,
    sub,
    turn_z,
)


class LinkMobility(NamedTuple):
    """The motions that a link's joint and the joints before it allow.

    `turns`: 0 if the link only slides, 1 if it turns about a single direction, 2 otherwise. `direction`: that single
    direction in the link's frame; `along`: which of its components are not zero. `swings`: whether torques depend on
    a first moment across the joint's axis, because gravity acts on it or the axis does not pass through a fixed point.
    `lever`: the distance along the axis from that fixed point to the link's origin. `climbs`: for a screw's link with
    a single direction, whether torques depend on its mass alone, because gravity acts along the axis or the link's
    lift is not proportional to its own turning.
    """

    turns: int
    swings: bool
    along: tuple[bool, bool, bool]
    direction: Vector
    lever: Scalar
    climbs: bool


def in_unit(unit: str, in_words: str, *, lengths: int) -> dict[str, Any]:
    """Metadata for a field of a joint class that is also an entry of its rows: the unit, in symbols and in words.

    `lengths` is the power of length in the unit.
    """
    return {"unit": unit, "in_words": in_words, "lengths": lengths}


STRIBECK_RATE = 0.01  # rad/s or m/s
FRICTION_NUMBERS = {  # of a joint, by the arguments of `Friction` that replace them
    "viscous": "viscous_friction",
    "coulomb": "coulomb_friction",
    "stribeck": "stribeck_friction",
    "stribeck_rate": "stribeck_rate",
    "offset": "coulomb_offset",
    "quadratic": "quadratic_friction",
    "load": "load_friction",
}


@dataclass(frozen=True)
class Joint:
    """The data of a joint: rotor inertia as seen at the joint, limits of travel, the numbers of `robot.friction`.

    The class variables from `letter` on are for tables, files and pictures. A subclass of another kind does not
    inherit `letter`, `colour`, `urdf` and `libraries`.
    """

    rotor_inertia: Scalar = 0.0
    viscous_friction: Scalar = 0.0
    coulomb_friction: Scalar = 0.0
    limits: tuple[float, float] | None = None
    coulomb_offset: Scalar = 0.0
    quadratic_friction: Scalar = 0.0
    stribeck_friction: Scalar = 0.0  # as coulomb_friction in robots without Stribeck's law
    stribeck_rate: Scalar = STRIBECK_RATE
    load_friction: Scalar = 0.0

    kind: ClassVar[str]
    width: ClassVar[int] = 1  # its numbers in q
    axis: ClassVar[Twist]
    angular: ClassVar[bool] = True  # whether the coordinate is an angle in rad, not a length in m
    letter: ClassVar[str]  # in texts such as "RRP"
    meaning: ClassVar[str] = "angle"  # of the coordinate
    dh_variables: ClassVar[tuple[str, ...]] = ()  # which of a DH row's entries the joint moves
    colour: ClassVar[str] = "#8c8c8c"  # in pictures
    symbol: ClassVar[str] = ""  # "revolute", "prismatic" or "screw"; by default from the axis
    urdf: ClassVar[str] = ""  # the type of such joints in URDF; files with others are refused
    libraries: ClassVar[tuple[str, ...]] = ()  # in which such joints exist: "pinocchio", "mujoco", "drake"

    def coordinate(self, values: Scalars) -> Scalar:
        """The argument of `motion`, from the joint's numbers in q."""
        return values[0]

    def motion(self, q: Scalar) -> Placement:
        """Pose of the link frame in the joint frame."""
        raise no_kind(self)

    def share(self, column: Wrench, inverse_pivot: Scalar) -> Wrench:
        """A column of an articulated inertia over its pivot: exactly 1 along the axis, if no rotor joins the pivot."""
        share = column * inverse_pivot
        return share if self.has_rotor else self.with_unit(share)

    def with_unit(self, share: Wrench) -> Wrench:
        """The wrench with 1 along the joint's axis; a screw returns it unchanged."""
        raise no_kind(self)

    def release(self, inertia: ArticulatedInertia, column: Wrench, share: Wrench) -> ArticulatedInertia:
        """The inertia minus the dyad column shareᵀ: what the parent sees of it if the joint is free."""
        left = inertia.less(column, share)
        return left if self.has_rotor else self.without_axis(left)

    def without_axis(self, left: ArticulatedInertia) -> ArticulatedInertia:
        """The released inertia with exact zeros along the joint's axis."""
        raise no_kind(self)

    @property
    def has_rotor(self) -> bool:
        return not (type(self.rotor_inertia) is float and self.rotor_inertia == 0.0)

    def split(self, body: RigidInertia) -> tuple[RigidInertia, RigidInertia]:
        """A body as two: the part to keep, and the part that can move to the parent without changing any torque."""
        raise no_kind(self)

    def identifiable(self, body: RigidInertia, mobility: LinkMobility) -> tuple[dict[str, Scalar], RigidInertia]:
        """The parameters of a body that torques depend on, by name, and the part that is added to the parent's body."""
        raise no_kind(self)

    def turn(self, rate: Scalar) -> Vector:
        """The angular part of the joint's twist."""
        part: Vector = self.axis.angular * rate
        return part

    def constraint(self, axis: Vector) -> tuple[Matrix, Matrix, Matrix]:
        """The constraint of the joint on the relative velocity: A ω = 0 and L v + B ω = 0. Returns A, L, B."""
        raise no_kind(self)

    @property
    def turns(self) -> bool:
        """Whether the link turns as the joint moves."""
        return not is_zero(self.axis.angular.z)

    @property
    def slides(self) -> bool:
        """Whether the link slides along the axis as the joint moves."""
        return not is_zero(self.axis.linear.z)

    def slide(self, rate: Scalar) -> Vector:
        """The linear part of the joint's twist."""
        part: Vector = self.axis.linear * rate
        return part

    def drive(self, torque: Scalar) -> Wrench:
        """The wrench of the joint's drive on the link, at the joint; its power is torque times rate."""
        return Wrench(self.axis.angular * torque, self.axis.linear * torque)

    def spins(self, parent: Vector, rate: Scalar) -> Vector:
        """In a ball joint: the components of its angular velocity up to this axis; see `robot.kinds`."""
        return Vector.zero()

    def recentring(self, spins: Vector, inner: Vector) -> tuple[Scalar, Vector]:
        """In a ball joint: ω̇ - θ̈ along this axis, and the components of ω for the axis before."""
        return 0.0, Vector.zero()


EVERYWHERE = ("pinocchio", "mujoco", "drake")
no_further_data = dataclass(frozen=True, init=False, repr=False, eq=False)  # inherits methods: faster import


def no_kind(joint: Joint) -> TypeError:
    return TypeError(f"{type(joint).__name__} is not a kind of joint (expected one of robot.kinds.KINDS)")


@no_further_data
class Revolute(Joint):
    kind = "revolute"
    axis = Twist(Vector(0.0, 0.0, 1.0), Vector.zero())
    letter = "R"
    dh_variables = ("theta",)
    colour = "#e07b39"
    urdf = "revolute"
    libraries = EVERYWHERE

    def motion(self, q: Scalar) -> Placement:
        return Placement(turn_z(q), Vector.zero())

    def constraint(self, axis: Vector) -> tuple[Matrix, Matrix, Matrix]:
        return cross_matrix(axis), Rotation.identity(), Matrix.zero()

    def with_unit(self, share: Wrench) -> Wrench:
        n = share.moment
        return Wrench(Vector(n.x, n.y, 1.0), share.force)

    def without_axis(self, left: ArticulatedInertia) -> ArticulatedInertia:
        J, (x, y, _) = left.angular, left.coupling.rows
        return ArticulatedInertia(Symmetric(J.xx, J.xy, 0.0, J.yy, 0.0, 0.0), Matrix((x, y, (0.0,) * 3)), left.linear)

    def split(self, body: RigidInertia) -> tuple[RigidInertia, RigidInertia]:
        """The parent gets a body that is invariant under the joint's rotation, without inertia about the axis.

        It has the mass, the first moment along z, and the multiple of diag(1, 1, 0) that leaves J_zz = J_xx + J_yy.
        """
        h, J = body.moment, body.tensor
        k = mul(0.5, sub(add(J.xx, J.yy), J.zz))
        xx, yy = sub(J.xx, k), sub(J.yy, k)
        kept = RigidInertia(0.0, Vector(h.x, h.y, 0.0), Symmetric(xx, J.xy, J.xz, yy, J.yz, add(xx, yy)))
        return kept, RigidInertia(body.mass, Vector(0.0, 0.0, h.z), Symmetric(k, 0.0, 0.0, k, 0.0, 0.0))

    def identifiable(self, body: RigidInertia, mobility: LinkMobility) -> tuple[dict[str, Scalar], RigidInertia]:
        """As `split`; of a link that turns about the joint's direction alone, only J_zz of the tensor.

        If the first moment does not swing, it enters torques only through the tensor about the fixed point.
        """
        kept, passed = self.split(body)
        h, J = kept.moment, kept.tensor
        swung = {"hx": h.x, "hy": h.y} if mobility.swings else {}
        if mobility.turns == 1:
            return {**swung, "Jzz": body.tensor.zz}, RigidInertia(body.mass, Vector.zero(), Symmetric.zero())
        lever = 0.0 if mobility.swings else mobility.lever
        xz, yz = sub(J.xz, mul(lever, h.x)), sub(J.yz, mul(lever, h.y))
        return {**swung, "Jxx": J.xx, "Jxy": J.xy, "Jxz": xz, "Jyy": J.yy, "Jyz": yz}, passed


@no_further_data
class Prismatic(Joint):
    kind = "prismatic"
    axis = Twist(Vector.zero(), Vector(0.0, 0.0, 1.0))
    angular = False
    letter = "P"
    meaning = "displacement"
    dh_variables = ("b",)
    colour = "#3a9d6e"
    urdf = "prismatic"
    libraries = EVERYWHERE

    def motion(self, q: Scalar) -> Placement:
        return Placement(Rotation.identity(), Vector(0.0, 0.0, q))

    def constraint(self, axis: Vector) -> tuple[Matrix, Matrix, Matrix]:
        return Rotation.identity(), cross_matrix(axis), Matrix.zero()

    def with_unit(self, share: Wrench) -> Wrench:
        f = share.force
        return Wrench(share.moment, Vector(f.x, f.y, 1.0))

    def without_axis(self, left: ArticulatedInertia) -> ArticulatedInertia:
        M, coupling = left.linear, Matrix([(x, y, 0.0) for x, y, _ in left.coupling.rows])
        return ArticulatedInertia(left.angular, coupling, Symmetric(M.xx, M.xy, 0.0, M.yy, 0.0, 0.0))

    def split(self, body: RigidInertia) -> tuple[RigidInertia, RigidInertia]:
        """The link turns with its parent, so the parent gets the whole tensor."""
        kept = RigidInertia(body.mass, body.moment, Symmetric.zero())
        return kept, RigidInertia(0.0, Vector.zero(), body.tensor)

    def identifiable(self, body: RigidInertia, mobility: LinkMobility) -> tuple[dict[str, Scalar], RigidInertia]:
        """As `split`, without first moments if the link does not turn, or without the one along a single direction.

        If that direction is the joint's, the first moment across it moves to the parent.
        """
        kept, passed = self.split(body)
        mass, h = {"m": kept.mass}, kept.moment
        if mobility.turns == 0:
            return mass, RigidInertia.zero()
        if mobility.turns > 1:
            return {**mass, "hx": h.x, "hy": h.y, "hz": h.z}, passed
        if mobility.along == (False, False, True):
            return mass, RigidInertia(0.0, h, passed.tensor)
        moments = dict(zip(("hx", "hy", "hz"), zip(h, mobility.direction, strict=True), strict=True))
        last = [name for name, there in zip(moments, mobility.along, strict=True) if there][-1]
        h_last, n_last = moments.pop(last)
        share = mul(h_last, reciprocal(n_last))
        return {**mass, **{name: sub(h_k, mul(share, n_k)) for name, (h_k, n_k) in moments.items()}}, passed


@dataclass(frozen=True)
class Screw(Joint):
    """A link that slides along the axis as it turns: `pitch` metres a radian."""

    kind = "screw"
    pitch: Scalar = field(default=0.0, metadata=in_unit("m/rad", "metres per radian", lengths=1))
    letter = "H"
    dh_variables = ("theta",)
    colour = "#b5892c"
    symbol = "screw"
    libraries = ("pinocchio", "drake")

    @cached_property
    def axis(self) -> Twist:
        return Twist(Vector(0.0, 0.0, 1.0), Vector(0.0, 0.0, self.pitch))

    def motion(self, q: Scalar) -> Placement:
        return Placement(turn_z(q), Vector(0.0, 0.0, mul(self.pitch, q)))

    def constraint(self, axis: Vector) -> tuple[Matrix, Matrix, Matrix]:
        less = sub(0.0, self.pitch)
        slide = Matrix(((less, 0.0, 0.0), (0.0, less, 0.0), (0.0, 0.0, less)))
        return cross_matrix(axis), Rotation.identity(), slide

    def drive(self, torque: Scalar) -> Wrench:
        """The drive turns the screw; the thread slides it."""
        return Wrench(Vector(0.0, 0.0, torque), Vector.zero())

    def with_unit(self, share: Wrench) -> Wrench:
        return share  # only a combination of moment and force along the axis is 1

    def without_axis(self, left: ArticulatedInertia) -> ArticulatedInertia:
        return left

    def split(self, body: RigidInertia) -> tuple[RigidInertia, RigidInertia]:
        """As for a revolute joint, but only the tensor moves to the parent: the rest changes as the link slides."""
        J = body.tensor
        k = mul(0.5, sub(add(J.xx, J.yy), J.zz))
        kept = Symmetric(sub(J.xx, k), J.xy, J.xz, sub(J.yy, k), J.yz, J.zz)
        passed = RigidInertia(0.0, Vector.zero(), Symmetric(k, 0.0, 0.0, k, 0.0, 0.0))
        return RigidInertia(body.mass, body.moment, kept), passed

    def identifiable(self, body: RigidInertia, mobility: LinkMobility) -> tuple[dict[str, Scalar], RigidInertia]:
        """As `split`; of a link that turns about the joint's direction alone, J_zz and the mass.

        If such a link does not climb (`LinkMobility`), its mass counts as pitch² m in J_zz; a parent that is a screw of
        the same pitch already has that part.
        """
        if type(self.pitch) is float and self.pitch == 0.0:
            return Revolute().identifiable(body, mobility)
        kept, passed = self.split(body)
        (hx, hy, hz), J = kept.moment, kept.tensor
        if mobility.turns > 1:
            tensor = {"Jxx": J.xx, "Jxy": J.xy, "Jxz": J.xz, "Jyy": J.yy, "Jyz": J.yz}  # J.zz is J.xx + J.yy
            return {"m": body.mass, "hx": hx, "hy": hy, "hz": hz, **tensor}, passed
        swung = {"hx": hx, "hy": hy} if mobility.swings else {}
        if mobility.climbs:
            return {"m": body.mass, **swung, "Jzz": J.zz}, RigidInertia.zero()
        turned = mul(mul(self.pitch, self.pitch), body.mass)
        rest = Symmetric(0.0, 0.0, 0.0, 0.0, 0.0, sub(0.0, turned))
        return {**swung, "Jzz": add(J.zz, turned)}, RigidInertia(body.mass, Vector.zero(), rest)
