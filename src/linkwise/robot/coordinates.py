"""The joints of a robot and their coordinates: number, names, and places in q and qd; conversion between the
coordinates of joints and those of links.

q has a quaternion for each ball joint and nothing for coupled joints. The algorithms use one coordinate for each link:
an angle, a displacement, or the rotation of a ball joint (see `robot.kinds`).

    rates            θ̇ = G v                    G: 1, and a ratio for each coupled joint, q_j = ratio · q_i + offset
    accelerations    θ̈ = G v̇ - γ                γ: from Euler angles centred at every state, see `robot.kinds`
    torques          Gᵀ τ
    inertia matrix   Gᵀ I G

Derivatives are taken along the axes of each link's joint, one for each velocity:

    revolute, prismatic, screw    the axis of the joint
    ball                          all three axes on its last link, where they rotate with the body; none on the others

The three links of a ball joint rotate its axes (`turned_by`). A single axis is not moved by its own joint. A coupled
joint has the velocity of its leader, and an axis `ratio` times as long.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from ..errors import RobotError, one_of
from ..lazy import cached_property
from ..spatial import Scalar, Scalars, Twist, Vector, add, mul, quaternion_rate, sub
from .kinds import KINDS, JointKind
from .link import Link
from .walk import inward, outward


class Coupling(NamedTuple):
    """q_link = ratio · q_to + offset, for two links with joints of one degree of freedom."""

    link: int
    to: int
    ratio: Scalar
    offset: Scalar


class Slot(NamedTuple):
    """A link's coordinate is ratio · q[q] + offset, its rate is ratio · v[v]."""

    q: int
    v: int
    ratio: Scalar
    offset: Scalar


class MovingJoint(NamedTuple):
    """A joint of the table, of one or several degrees of freedom."""

    name: str  # of its link
    joint: str  # its own name, by default that of the link
    kind: JointKind
    first: int  # index of its first link
    link: int  # index of its last link, which has the body
    q: slice
    v: slice
    coupling: Coupling | None


def slots_of(links: Sequence[Link], couplings: Sequence[Coupling]) -> tuple[Slot, ...]:
    """The place of each link's coordinate."""
    coupled = {coupling.link: coupling for coupling in couplings}
    slots: dict[int, Slot] = {}
    q = v = 0
    for index, link in enumerate(links):  # not link.index: unknown while loops over links are traced
        if index not in coupled:
            slots[index] = Slot(q, v, 1.0, 0.0)
            q, v = q + link.joint.width, v + 1
    for index, coupling in coupled.items():
        slots[index] = slots[coupling.to]._replace(ratio=coupling.ratio, offset=coupling.offset)
    return tuple(slots[index] for index in range(len(links)))


def moving_joints(
    links: Sequence[Link], slots: Sequence[Slot], couplings: Sequence[Coupling]
) -> tuple[MovingJoint, ...]:
    coupled = {coupling.link: coupling for coupling in couplings}
    joints, first = [], 0
    for index, (link, slot) in enumerate(zip(links, slots, strict=True)):
        if link.virtual:
            continue
        begin = slots[first]
        q = slice(begin.q, slot.q + link.joint.width)
        kind = KINDS[link.joint_kind or link.joint.kind]
        name = link.joint_name or link.name
        v = slice(begin.v, slot.v + 1)
        joints.append(MovingJoint(link.name, name, kind, first, index, q, v, coupled.get(index)))
        first = index + 1
    return tuple(joints)


def size_in_words(degrees: int, joints: int) -> str:
    """The size of a robot: "6 joints", or "9 degrees of freedom, 4 joints" if these differ."""
    text = f"{joints} joint{'s' * (joints != 1)}"
    return text if degrees == joints else f"{degrees} degree{'s' * (degrees != 1)} of freedom, {text}"


class LinkCoordinates:
    """The coordinates of a robot's links, from those of its joints."""

    def __init__(self, robot: Any) -> None:
        self.robot, self.links = robot, robot.uncoupled

    def positions(self, q: Scalars) -> list[Any]:
        pairs = zip(self.robot.links, self.robot.slots, strict=True)
        return [
            link.joint.coordinate([add(mul(s.ratio, x), s.offset) for x in q[s.q : s.q + link.joint.width]])
            for link, s in pairs
        ]

    def rates(self, v: Scalars) -> list[Scalar]:
        return [mul(slot.ratio, v[slot.v]) for slot in self.robot.slots]

    def accelerations(self, v: Scalars, vd: Scalars) -> list[Scalar]:
        """θ̈ from the rates and accelerations of the coordinates."""
        accelerations = self.rates(vd)
        if not self.robot.balls:
            return accelerations
        return [sub(a, g) for a, g in zip(accelerations, self.recentring(self.rates(v)), strict=True)]

    def joint_accelerations(self, v: Scalars, accelerations: Scalars) -> list[Scalar]:
        """v̇ from θ̈; for robots without coupled joints."""
        if not self.robot.balls:
            return list(accelerations)
        return [add(a, g) for a, g in zip(accelerations, self.recentring(v), strict=True)]

    def configuration_rates(self, q: Scalars, v: Scalars) -> list[Scalar]:
        """q̇ of v: the rates themselves, and ½ q ω for a quaternion, whatever its length."""
        rates: list[Scalar] = []
        for link, slot in self.robot.driving:
            if link.joint.width == 1:
                rates.append(v[slot.v])
            elif link.joint.width > 1:
                rates += quaternion_rate(q[slot.q : slot.q + link.joint.width], v[slot.v : slot.v + 3])
        return rates

    def recentring(self, rates: Scalars) -> list[Scalar]:
        """γ for every link."""
        spins = outward(self.links, lambda link, parent, rate: link.joint.spins(parent, rate), Vector.zero(), rates)
        return inward(self.links, lambda link, inner, spins: link.joint.recentring(spins, inner), Vector.zero(), spins)

    def rotor_torques(self, v: Scalars) -> list[Scalar]:
        """The torques of rotors in ball joints that algorithms neglect: rotors resist ω̇, not θ̈."""
        extra = self.recentring(self.rates(v))
        return [mul(link.joint.rotor_inertia, g) for link, g in zip(self.robot.links, extra, strict=True)]

    def torques(self, torques: Scalars) -> list[Scalar]:
        """Gᵀ τ: the torques of the joints from those of the links."""
        if not self.robot.couplings:
            return list(torques)
        result: list[Scalar] = [0.0] * self.robot.n
        for slot, torque in zip(self.robot.slots, torques, strict=True):
            result[slot.v] = add(result[slot.v], mul(slot.ratio, torque))
        return result

    def matrix(self, rows: Sequence[Scalars]) -> list[list[Scalar]]:
        """Gᵀ M G."""
        halves = [self.torques(row) for row in rows]
        columns = [self.torques(column) for column in zip(*halves, strict=True)]
        return [list(row) for row in zip(*columns, strict=True)]


class Axis(NamedTuple):
    """The twist of a link relative to its parent per unit of one velocity, in the link's frame; the rotor inertia."""

    v: int
    twist: Twist
    rotor: Scalar
    turned_by: tuple[int, ...] = ()  # links of the joint that rotate the axis, from the base outward


def axes_of(robot: Any) -> tuple[tuple[Axis, ...], ...]:
    """The axes of each link."""
    axes: list[tuple[Axis, ...]] = []
    for link, slot in zip(robot.links, robot.slots, strict=True):
        rotor = mul(mul(slot.ratio, slot.ratio), link.joint.rotor_inertia)
        axes.append((Axis(slot.v, link.joint.axis * slot.ratio, rotor),))
    for x in robot.balls:
        for link in robot.links[x + 1 : x + 3]:
            pose = link.pose(0.0)  # which is constant
            before = (axis._replace(twist=axis.twist.to_child(pose)) for axis in axes[link.index - 1])
            axes[link.index] = (*before, *axes[link.index])
            axes[link.index - 1] = ()
        ball = tuple(range(x, x + 3))
        axes[ball[-1]] = tuple(axis._replace(turned_by=ball) for axis in axes[ball[-1]])
    return tuple(axes)


QUATERNION = 4  # numbers
CONFIGURATIONS = ("q", "q0", "q1")
BESIDES_BASE = ("qdd_joints",)  # arguments without the free joint on the base


class JointSpace:
    """The coordinates of a robot."""

    name: str
    links: tuple[Link, ...]
    couplings: tuple[Coupling, ...]
    table: tuple[tuple[tuple[str, Any], ...], ...]

    @property
    def n(self) -> int:
        """Degrees of freedom: the length of qd, qdd and tau."""
        return len(self.links) - len(self.couplings)

    @property
    def nv(self) -> int:
        """The same as `n`."""
        return self.n

    @cached_property
    def nq(self) -> int:
        """Length of q: n, plus one for each ball or free joint."""
        return sum(link.joint.width for link, _ in self.driving)

    @property
    def names(self) -> tuple[str, ...]:
        """The links with a body, one for each joint of the table that is not fixed."""
        return tuple(joint.name for joint in self.moving)

    @property
    def joint_names(self) -> tuple[str, ...]:
        """The joints with coordinates, i.e. not coupled to others; by default named as their links."""
        return tuple(joint.joint for joint in self.driving_joints)

    @property
    def joints(self) -> str:
        """A letter for each joint, such as "RRPRRR".

        R revolute, P prismatic, H screw, C cylindrical, U universal, E planar, S ball, F free.
        """
        return "".join(joint.kind.letter for joint in self.moving)

    @cached_property
    def slots(self) -> tuple[Slot, ...]:
        """The place of each link's coordinate."""
        return slots_of(self.links, self.couplings)

    @cached_property
    def coupled(self) -> frozenset[int]:
        """The links of coupled joints."""
        return frozenset(coupling.link for coupling in self.couplings)

    @cached_property
    def driving(self) -> tuple[tuple[Link, Slot], ...]:
        """The links of joints that are not coupled to others, with the place of their coordinate."""
        pairs = enumerate(zip(self.links, self.slots, strict=True))
        return tuple(pair for index, pair in pairs if index not in self.coupled)

    @cached_property
    def moving(self) -> tuple[MovingJoint, ...]:
        """The joints of the table that are not fixed; `moving[k]` carries the link `names[k]`."""
        return moving_joints(self.links, self.slots, self.couplings)

    @cached_property
    def driving_joints(self) -> tuple[MovingJoint, ...]:
        """The joints that are not coupled to others; only these have coordinates."""
        return tuple(joint for joint in self.moving if joint.coupling is None)

    @cached_property
    def free_joints(self) -> tuple[MovingJoint, ...]:
        """The free joints between the base and a link."""
        return tuple(j for j in self.moving if j.kind.name == "free" and self.links[j.first].parent < 0)

    @cached_property
    def balls(self) -> tuple[int, ...]:
        """The index of the first of the three links of each ball joint, free joints included."""
        return tuple(index for index, link in enumerate(self.links) if link.joint.width == QUATERNION)

    @cached_property
    def carriers(self) -> tuple[int, ...]:
        """The link with which the axis of each link's joint turns: that link, or the body of its ball joint."""
        bodies = {index: x + 2 for x in self.balls for index in (x, x + 1)}
        return tuple(bodies.get(index, index) for index in range(len(self.links)))

    @cached_property
    def axes(self) -> tuple[tuple[Axis, ...], ...]:
        """The axes of each link's joint, one for each velocity."""
        return axes_of(self)

    @cached_property
    def rotors_in_balls(self) -> bool:
        """Whether a ball joint has a rotor inertia."""
        return any(link.joint.kind == "ball" and link.joint.has_rotor for link in self.links)

    @cached_property
    def quaternions(self) -> tuple[int, ...]:
        """The first index in q of each quaternion."""
        return tuple(self.slots[index].q for index in self.balls)

    @cached_property
    def coordinates(self) -> LinkCoordinates:
        return LinkCoordinates(self)

    def size_of(self, argument: str) -> int:
        """The size of an argument of this name for one state. qdd_joints leaves out the free joint on the base."""
        if argument in BESIDES_BASE:
            return len(self.labels_of(argument))
        return self.nq if argument in CONFIGURATIONS else self.n

    def labels_of(self, argument: str) -> tuple[str, ...]:
        """A label for each number of an argument of this name."""
        if argument in CONFIGURATIONS:
            return self.q_names
        if argument in BESIDES_BASE and len(self.free_joints) == 1:
            base = self.free_joints[0].v
            return self.v_names[: base.start] + self.v_names[base.stop :]
        return self.v_names

    def q_slice(self, name: str) -> slice:
        """The slice of a joint's coordinates in q.

        Parameters
        ----------
        name : str
            Of the joint or of its link.

        Examples
        --------
        >>> import linkwise as lw
        >>> arm = lw.load("planar3").with_free_base()
        >>> arm.joint_names[0], arm.q_slice(arm.joint_names[0]), arm.v_slice(arm.joint_names[0])
        ('base', slice(0, 7, None), slice(0, 6, None))
        """
        return self._joint(name).q

    def v_slice(self, name: str) -> slice:
        """The slice of a joint in qd, qdd and tau; see `q_slice`."""
        return self._joint(name).v

    def _joint(self, name: str) -> MovingJoint:
        by_name = {joint.name: joint for joint in self.moving} | {joint.joint: joint for joint in self.moving}
        one_of(name, by_name, f"robot {self.name!r}: joint", RobotError)
        return by_name[name]

    @cached_property
    def q_names(self) -> tuple[str, ...]:
        """A label for each number of q: the joint's name, or "base.qw"."""
        return tuple(label(joint.joint, part) for joint in self.driving_joints for part in joint.kind.q_labels)

    @cached_property
    def v_names(self) -> tuple[str, ...]:
        """A label for each number of qd, qdd and tau: the joint's name, or "base.wx"."""
        return tuple(label(joint.joint, part) for joint in self.driving_joints for part in joint.kind.v_labels)

    @property
    def limits(self) -> tuple[tuple[float, float], ...]:
        """Lower and upper limit of each number of q; infinite without limits."""
        pairs: list[tuple[float, float]] = []
        for link, _ in self.driving:
            ends = link.joint.limits or (-math.inf, math.inf)
            pairs += [ends] * link.joint.width
        return tuple(pairs)

    @property
    def velocity_limits(self) -> tuple[float, ...]:
        """The `velocity_limit` of each number of qd; infinite without one."""
        return self._ratings("velocity_limit")

    @property
    def effort_limits(self) -> tuple[float, ...]:
        """The `effort_limit` of each number of tau; infinite without one."""
        return self._ratings("effort_limit")

    @property
    def effort_units(self) -> tuple[str, ...]:
        """The unit of each number of tau, "N m" or "N"."""
        return tuple("N m" if link.joint.angular else "N" for link, _ in self.driving)

    def _ratings(self, key: str) -> tuple[float, ...]:
        by_link = {row["name"]: float(row.get(key, math.inf)) for row in map(dict, self.table)}
        return tuple(by_link[joint.name] for joint in self.driving_joints for _ in joint.kind.links)


def label(name: str, part: str) -> str:
    return f"{name}.{part}" if part else name
