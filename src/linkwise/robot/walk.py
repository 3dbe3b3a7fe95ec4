"""Recursions over the links: two passes, the walk to the base, and contraction of the tree in O(log n) rounds.

    outward   base to tip:  parent's result, link's values             ->  link's result
    inward    tip to base:  sum of the children's parts, link's values  ->  link's result, part for the parent

A step is a pure function of the link and of values, never of an index. So one step can be unrolled for a six-axis arm
or become the body of a loop over ten thousand links. The robot's `walk` runs the passes: `Unrolled` link by link,
`tracing.loop_tracing` and `tracing.round_tracing` record them, `api.vectorized_links` runs them on arrays of links.

Contraction starts with every link as an element. In each round adjacent elements become one, many pairs at once:

    series(near, far) -> kept, joined     far is everything on the tail of near
    beside(one, leaf) -> merged           both are on the same tail, and nothing is on leaf

(compress and rake, Miller and Reif 1985) until each branch of the base is one element. Then the rounds are undone in
reverse order. An element with x at its head and z for its inside gives those of its two parts,

    between(kept, x, z) -> y, z_near, z_far      y: the value at the tail of near, the head of far

until every link has its own x and z. A chain of n links takes ⌈log₂ n⌉ rounds, every tree O(log n).
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
Step = Callable[..., Any]  # of the link, the incoming value, and the link's values
PerLink = Sequence[Sequence[Any]]  # sequences with a value for each link
OfLinks = Callable[[Sequence[Link]], Sequence[Any]]
Pairs = list[tuple[int, int]]


class Round(NamedTuple):
    """Pairs of elements that become one, first by `beside`, then by `series`; an element is named by its first link."""

    beside: Pairs
    series: Pairs


class Contraction(NamedTuple):
    """The functions of a contraction; see above."""

    series: Callable[[Any, Any], tuple[Any, Any]]
    beside: Callable[[Any, Any], Any]
    between: Callable[[Any, Any, Any], tuple[Any, Any, Any]]
    nothing: Any  # z of an element with nothing on its tail


class Walk(Protocol):
    """Runs the recursions; the functions below explain the arguments."""

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
        results: list[Any] = [None] * robot.n
        for link, *values in reversed(list(zip(robot.links, *per_link, strict=True))):
            results[link.index], passed = step(link, received[link.index], *values)
            if link.parent >= 0:
                received[link.parent] = received[link.parent] + passed
        return results

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
    """`step(link, parent's result, *values)` from base to tip; `base` is the result of the base."""
    return robot.walk.outward(robot, step, base, per_link)


def inward(
    robot: Robot, step: Callable[..., tuple[Value, Passed]], nothing: Passed, *per_link: Sequence[Any]
) -> list[Value]:
    """`step(link, received, *values) -> result, passed` from tip to base; a leaf receives `nothing`, others the sum."""
    return robot.walk.inward(robot, step, nothing, per_link)


def toward_base(robot: Robot, link: Link, wrench: Wrench, poses: Sequence[Placement]) -> Iterator[tuple[Link, Wrench]]:
    """A wrench on `link`, transformed to its parent, the parent's parent, and so on to the link on the base."""
    while link.parent >= 0:
        wrench = wrench.to_parent(poses[link.index])
        link = robot.links[link.parent]
        yield link, wrench


def contracted(robot: Robot, how: Contraction, base: Any, elements: Sequence[Any]) -> list[tuple[Any, Any]]:
    """x and z of every link, from the elements of the links and x on the base."""
    return robot.walk.contracted(robot, how, base, elements)


def of_tree(robot: Robot, values: OfLinks) -> list[Any]:
    """A value for every link that depends on the robot alone, also on links other than its parent."""
    return robot.walk.of_tree(robot, values)


def rounds(parents: Sequence[int]) -> Iterator[Round]:
    """The rounds that contract each branch of the base to one element."""
    children: list[list[int]] = [[] for _ in parents]
    for link, parent in enumerate(parents):
        if parent >= 0:
            children[parent].append(link)
    inner = [link for link in range(len(parents)) if children[link]]
    while inner:
        merged = [pair for link in inner for pair in siblings(children[link], children)]
        gone = {leaf for _, leaf in merged}
        for link in inner:
            children[link] = [child for child in children[link] if child not in gone]
        joined: Pairs = []
        taken: set[int] = set()
        for link in inner:  # parents come first: pairs start at the upper end of a path
            if link not in taken and len(children[link]) == 1:
                joined.append((link, children[link][0]))
                taken.add(children[link][0])
        for near, far in joined:
            children[near] = children[far]
        yield Round(merged, joined)
        inner = [link for link in inner if children[link] and link not in taken]


def siblings(links: Sequence[int], children: Sequence[Sequence[int]]) -> Pairs:
    """Pairs of leaves among siblings; a leaf left over is paired with a sibling that is not a leaf."""
    leaves = [link for link in links if not children[link]]
    others = [link for link in links if children[link]]
    pairs = list(zip(leaves[::2], leaves[1::2], strict=False))
    return [*pairs, (others[0], leaves[-1])] if len(leaves) % 2 and others else pairs
