"""The two passes over the links that every recursion is made of, and the walk to the base.

    outward   base to tip:  what the parent has, and the link's own values  ->  what the link has
    inward    tip to base:  what the children pass down, added up, and own  ->  what the link keeps, what it passes on

A step is a pure function of the link and of values handed to it, never of an index: that is what lets the same step be
unrolled for a six-axis arm or become the body of a loop over ten thousand links. A pass is handed to the robot's
`walk`. `Unrolled` runs it link by link. Others record it for links that stand for many (`tracing.loop_tracing`,
`tracing.round_tracing`), or run it on arrays of links (`api.vectorized_links`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from ..spatial import Placement, Wrench
from .link import Link

if TYPE_CHECKING:
    from .model import Robot

Value = TypeVar("Value")
Passed = TypeVar("Passed")
Step = Callable[..., Any]  # of the link, of what is handed to it, and of its own values
PerLink = Sequence[Sequence[Any]]  # values, each a sequence with one for each link
OfLinks = Callable[[Sequence[Link]], Sequence[Any]]


class Contraction(NamedTuple):
    """How elements become one and come apart again; see `robot.contraction`."""

    series: Callable[[Any, Any], tuple[Any, Any]]
    beside: Callable[[Any, Any], Any]
    between: Callable[[Any, Any, Any], tuple[Any, Any, Any]]
    nothing: Any  # z of an element on which nothing hangs


class Walk(Protocol):
    """Runs the passes here and those of `robot.contraction`; their arguments are explained there."""

    def outward(self, robot: Robot, step: Step, base: Any, per_link: PerLink) -> list[Any]: ...

    def inward(self, robot: Robot, step: Step, nothing: Any, per_link: PerLink) -> list[Any]: ...

    def contracted(self, robot: Robot, how: Contraction, base: Any, elements: Sequence[Any]) -> list[Any]: ...

    def of_tree(self, robot: Robot, values: OfLinks) -> list[Any]: ...


class Unrolled:
    """Link by link."""

    def outward(self, robot: Robot, step: Step, base: Any, per_link: PerLink) -> list[Any]:
        results: list[Any] = []
        for link, *values in zip(robot.links, *per_link, strict=True):
            before = results[link.parent] if link.parent >= 0 else base
            results.append(step(link, before, *values))
        return results

    def inward(self, robot: Robot, step: Step, nothing: Any, per_link: PerLink) -> list[Any]:
        received: list[Any] = [nothing] * robot.n
        kept: list[Any] = [None] * robot.n
        for link, *values in reversed(list(zip(robot.links, *per_link, strict=True))):
            kept[link.index], passed = step(link, received[link.index], *values)
            if link.parent >= 0:
                received[link.parent] = received[link.parent] + passed
        return kept

    def contracted(self, robot: Robot, how: Contraction, base: Any, elements: Sequence[Any]) -> list[Any]:
        elements, ends, kept = list(elements), [(base, how.nothing)] * len(elements), {}
        for merged, joined in robot.contraction:
            for one, leaf in merged:
                elements[one] = how.beside(elements[one], elements[leaf])
            for near, far in joined:
                kept[far], elements[near] = how.series(elements[near], elements[far])
        for merged, joined in reversed(robot.contraction):
            for near, far in joined:
                x, z = ends[near]
                y, z_near, z_far = how.between(kept[far], x, z)
                ends[near], ends[far] = (x, z_near), (y, z_far)
            for one, leaf in merged:
                ends[leaf] = ends[one][0], how.nothing
        return ends

    def of_tree(self, robot: Robot, values: OfLinks) -> list[Any]:
        return list(values(robot.links))

    def __reduce__(self) -> str:
        return "UNROLLED"


UNROLLED = Unrolled()


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
