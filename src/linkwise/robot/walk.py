"""How recursions visit the links of a robot: one after the other, or as other rooms record and run them.

A pass is handed to the robot's `walk`. `Unrolled` runs it link by link. Others record it for links that stand for many
(`tracing.loop_tracing`, `tracing.round_tracing`), or run it on arrays of links (`api.side_by_side`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from .link import Link

if TYPE_CHECKING:
    from .model import Robot

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
    """Runs the passes of `robot.recursion` and `robot.contraction`; their arguments are explained there."""

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
