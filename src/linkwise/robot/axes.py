"""The axes that a link's joint moves it along, by coordinate: what derivatives are taken along.

    revolute, prismatic, screw    one axis, that of the joint
    ball                          on its last link all three, which turn with the body; none on the two before

So a ball joint turns its own axes, by the motion of its three links: `turned_by`. A single axis stays as it is when its
joint moves. A coupled joint moves along the coordinate that it is coupled to: its axis is `ratio` times as long.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..spatial import Scalar, Twist, mul


class Axis(NamedTuple):
    """How one velocity moves a link against its parent, in the link's frame; the joint's rotor, as that sees it."""

    v: int
    twist: Twist
    rotor: Scalar
    turned_by: tuple[int, ...] = ()  # the links of the joint that turn the axis itself, from the base outward


def axes_of(robot: Any) -> tuple[tuple[Axis, ...], ...]:
    """For each link."""
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
