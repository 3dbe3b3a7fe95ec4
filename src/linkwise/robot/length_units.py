"""A robot with its lengths in another unit, in which they are about 1: decisions then do not depend on its size."""

from __future__ import annotations

import math
from dataclasses import replace

from ..spatial import Placement, Symmetric, mul
from .link import Link
from .mapping import own_numbers
from .model import Robot
from .scales import reach


def length_unit(arm: Robot) -> float:
    """A power of two near the robot's size, so that nothing is rounded; 1 for a robot of symbols."""
    return 1.0 if arm.symbolic else math.ldexp(1.0, round(math.log2(reach(arm))))


def with_lengths_in(arm: Robot, unit: float) -> Robot:
    """The robot of which lengths are in this unit, forces and torques in kg unit/s² and kg unit²/s²; not its table."""
    if unit == 1.0:
        return arm
    k = 1.0 / unit

    def shrunk(placement: Placement) -> Placement:
        return Placement(placement.rotation, placement.translation * k)

    def shrunk_link(link: Link) -> Link:
        own = {
            name: mul(getattr(link.joint, name), k**unit.lengths)
            for name, unit in own_numbers(type(link.joint)).items()
        }
        return replace(
            link,
            joint=replace(link.joint, **own),
            placement=shrunk(link.placement),
            com=link.com * k,
            inertia=Symmetric(*(mul(x, k * k) for x in link.inertia.upper)),
            frame=shrunk(link.frame),
        )

    slides = [1.0 if link.joint.angular else k for link in arm.links]
    couplings = tuple(
        c._replace(ratio=mul(c.ratio, slides[c.link] / slides[c.to]), offset=mul(c.offset, slides[c.link]))
        for c in arm.couplings
    )
    gx, gy, gz = (mul(x, k) for x in arm.gravity)
    return replace(arm, links=tuple(map(shrunk_link, arm.links)), gravity=(gx, gy, gz), couplings=couplings)
