"""How freely a link moves: what decides which of its inertial numbers torques depend on."""

from __future__ import annotations

from dataclasses import dataclass

from ..spatial import Scalar, Vector


@dataclass(frozen=True)
class LinkMobility:
    """What the joints before a link, and its own, let it do.

    `turns` is 0 for a link that only slides, 1 for one that turns about a single direction, 2 for any other. `swings`
    says whether a first moment across the joint's axis is felt: gravity pulls it about, or the axis does not go through
    a point that stands still. `direction` is that single direction and `along` says which of its components are not
    zero; `lever` is how far along its axis the link's origin is from the point that stands still. Both are in the
    link's frame, and mean something only where there is such a direction, such a point.
    """

    turns: int
    swings: bool
    along: tuple[bool, bool, bool]
    direction: Vector
    lever: Scalar
