"""How freely a link moves. It decides on which inertial parameters of the link torques depend."""

from __future__ import annotations

from typing import NamedTuple

from ..spatial import Scalar, Vector


class LinkMobility(NamedTuple):
    """The motions that a link's own joint and the joints before it allow.

    `turns` is 0 for a link that only slides, 1 for one that turns about a single direction, 2 for any other. `swings`
    says whether torques depend on a first moment across the joint's axis: gravity acts on it, or the axis does not go
    through a fixed point. `direction` is the single direction, in the link's frame, and `along` says which of its
    components are not zero. `lever` is how far along its axis the link's origin is from the fixed point. They are used
    only where there is such a direction or such a point. `climbs` says, of a screw's link that turns about a single
    direction, whether torques depend on its mass for itself: gravity acts along the axis, or the link is not lifted in
    proportion to its turning alone.
    """

    turns: int
    swings: bool
    along: tuple[bool, bool, bool]
    direction: Vector
    lever: Scalar
    climbs: bool
