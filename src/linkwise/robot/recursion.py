"""The two passes over the links that every recursion is made of, and the walk to the base.

    outward   base to tip:  what the parent has, and the link's own values  ->  what the link has
    inward    tip to base:  what the children pass down, added up, and own  ->  what the link keeps, what it passes on

A step is a pure function of the link and of values handed to it, never of an index: that is what lets the same step be
unrolled for a six-axis arm or become the body of a loop over ten thousand links (`Robot.walk`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from ..spatial import Placement, Wrench
from .link import Link

if TYPE_CHECKING:
    from .model import Robot

Value = TypeVar("Value")
Passed = TypeVar("Passed")


def outward(robot: Robot, step: Callable[..., Value], base: Value, *per_link: Sequence[Any]) -> list[Value]:
    """`step(link, parent's result, *values)` from base to tip; `base` stands for the result of the base."""
    return robot.walk.outward(robot, step, base, per_link)


def inward(
    robot: Robot, step: Callable[..., tuple[Value, Passed]], nothing: Passed, *per_link: Sequence[Any]
) -> list[Value]:
    """`step(link, received, *values) -> kept, passed` from tip to base; a leaf receives `nothing`, others the sum."""
    return robot.walk.inward(robot, step, nothing, per_link)


def toward_base(robot: Robot, link: Link, wrench: Wrench, poses: Sequence[Placement]) -> Iterator[tuple[Link, Wrench]]:
    """A wrench on `link`, carried to its parent, to the parent's parent, and so on to the link on the base."""
    while link.parent >= 0:
        wrench = wrench.to_parent(poses[link.index])
        link = robot.links[link.parent]
        yield link, wrench
