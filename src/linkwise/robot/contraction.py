"""Recursions over the links in O(log n) rounds: the tree is contracted to one element, and opened again.

At first every link is an element. In each round elements that touch become one, many pairs at once:

    series(near, far) -> kept, joined     far is all that hangs on the tail of near
    beside(one, leaf) -> merged           both hang on the same tail, and nothing hangs on leaf

(compress and rake, Miller and Reif 1985). When one element is left on each branch of the base, the rounds are gone
through backwards: an element with x at its head and z for its inside tells the two that it was made of,

    between(kept, x, z) -> y, z_near, z_far      the tail of near, which is the head of far, is at y

until every link has its own x and z. A chain of n links takes ⌈log₂ n⌉ rounds, every tree O(log n).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from .walk import Contraction, OfLinks

if TYPE_CHECKING:
    from .model import Robot

Pairs = list[tuple[int, int]]


class Round(NamedTuple):
    """Which elements become one, `beside` before `series`. An element has the name of its first link."""

    beside: Pairs
    series: Pairs


def contracted(robot: Robot, how: Contraction, base: Any, elements: Sequence[Any]) -> list[tuple[Any, Any]]:
    """x and z of every link, from the elements of the links and x on the base."""
    return robot.walk.contracted(robot, how, base, elements)


def of_tree(robot: Robot, values: OfLinks) -> list[Any]:
    """A value for every link that follows from the robot alone, and from other links than its parent."""
    return robot.walk.of_tree(robot, values)


def rounds(parents: Sequence[int]) -> Iterator[Round]:
    """The rounds that leave one element on each branch of the base."""
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
        for link in inner:  # parents come first, so pairs are formed from the upper end of a path
            if link not in taken and len(children[link]) == 1:
                joined.append((link, children[link][0]))
                taken.add(children[link][0])
        for near, far in joined:
            children[near] = children[far]
        yield Round(merged, joined)
        inner = [link for link in inner if children[link] and link not in taken]


def siblings(together: Sequence[int], children: Sequence[Sequence[int]]) -> Pairs:
    """The leaves among siblings in pairs; one that is left over goes with a sibling that is no leaf."""
    leaves = [link for link in together if not children[link]]
    others = [link for link in together if children[link]]
    pairs = list(zip(leaves[::2], leaves[1::2], strict=False))
    return [*pairs, (others[0], leaves[-1])] if len(leaves) % 2 and others else pairs
