"""Robots that stand for others: their numbers are nodes or arrays, and base parameters were found in numbers before."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from ..lazy import cached_property
from ..spatial import Scalar
from .link import Link
from .model import Robot


class Regrouping(NamedTuple):
    """Links, and the same with their base parameters."""

    links: tuple[Link, ...]
    regrouped: tuple[Link, ...]


@dataclass(frozen=True, repr=False, eq=False)
class StandIn(Robot):
    """A robot that was regrouped before its numbers became others; one made of it with other links was not."""

    regrouping: Regrouping | None = field(default=None, compare=False, repr=False)

    @property
    def known_links(self) -> tuple[Link, ...] | None:
        known = self.regrouping
        return known.regrouped if known is not None and any(self.links is links for links in known) else None

    @cached_property
    def _regrouped(self) -> Robot:
        if self.known_links is None:
            return super()._regrouped
        return self if self.links is self.known_links else replace(self, links=self.known_links)

    def mapped(self, convert: Callable[[Scalar], Scalar], *, orthonormal: bool = False) -> Robot:
        if self.known_links is None or self.links is self.known_links:
            return super().mapped(convert, orthonormal=orthonormal)
        return before_regrouping(self.regrouped().mapped(convert, orthonormal=orthonormal))


def before_regrouping(regrouped: Robot) -> StandIn:
    """The robot without base parameters, which knows these when it is regrouped."""
    links = tuple(replace(link, grouped=None) for link in regrouped.links)
    return StandIn(
        regrouped.name,
        links,
        regrouped.frames,
        regrouped.gravity,
        regrouped.table,
        regrouped.convention,
        regrouped.about,
        regrouped.couplings,
        regrouped.walk,
        Regrouping(links, regrouped.links),
    )
