"""Base inertial parameters: fewer numbers, the same torques and the same inertia matrix.

From the tips to the base, each joint splits the body it carries in two (`Joint.split`): what it moves, and what may as
well belong to the parent, because no torque can tell. The second part is added to the parent, where it is split again;
what arrives at the base is dropped. A revolute joint keeps seven numbers of ten (h_x, h_y and five of the tensor, J_zz
= J_xx + J_yy), a prismatic joint four (mass and first moment). The set is that of Gautier and Khalil (1990), with
another choice of what to eliminate from the tensor: theirs makes J_yy zero, ours leaves fewer products.

What no torque feels at all (the tensor of a first link except about its axis, say) is not touched: it costs nothing,
since what no result needs is not computed.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..spatial import RigidInertia, Scalar
from .link import Link
from .motion import Motion


def regrouped_bodies(links: Sequence[Link], *, grouped: bool = False) -> list[RigidInertia]:
    """The inertia of each link after regrouping; `grouped` starts from `link.body`."""
    bodies = [link.body if grouped else link.rigid for link in links]
    for link in reversed(links):
        bodies[link.index], passed = link.joint.split(bodies[link.index])
        if link.parent >= 0:
            bodies[link.parent] = bodies[link.parent] + passed.to_parent(link.placement)
    return bodies


def felt_numbers(
    links: Sequence[Link], motions: Sequence[Motion], bodies: Sequence[RigidInertia]
) -> list[dict[str, Scalar]]:
    """What torques feel of these bodies on each link, by name: the least set of numbers."""
    bodies = list(bodies)
    felt: list[dict[str, Scalar]] = [{} for _ in links]
    for link, motion in zip(reversed(links), reversed(motions), strict=True):
        felt[link.index], passed = link.joint.felt(bodies[link.index], motion)
        if link.parent >= 0:
            bodies[link.parent] = bodies[link.parent] + passed.to_parent(link.placement)
    return felt
