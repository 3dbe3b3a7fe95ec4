"""The joints of a robot and their coordinates: number, names, and places in q and qd."""

from __future__ import annotations

import math
from typing import Any

from ..errors import RobotError, one_of
from ..lazy import cached_property
from .coordinates import Axis, Coupling, LinkCoordinates, MovingJoint, Slot, axes_of, moving_joints, slots_of
from .link import Link

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
