"""Values by links, and the move from a link's frame to the frames of Saha and Angeles."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..dynamics.denoc_rates import centres
from ..dynamics.kinematics import poses
from ..dynamics.operator_matrices import of_twists
from ..robot import Robot
from ..spatial import Placement, Scalars, Twist, Vector, Wrench
from ..spatial.dense import Dense

Values = dict[tuple[int, ...], Any]  # by indices of links, from 0, or () for the whole robot


def per_link(values: Iterable[Any]) -> Values:
    return {(i,): value for i, value in enumerate(values)}


def vectors(values: Iterable[Iterable[Any]]) -> Values:
    return per_link([list(value) for value in values])


def matrices(maps: Iterable[Any]) -> Values:
    """Inertias as matrices."""
    return per_link([of_twists(x.__matmul__) for x in maps])


class Seats:
    """The links' joint-aligned frames, seen from the mass centres with the axes of the base."""

    def __init__(self, robot: Robot, q: Scalars) -> None:
        points = zip(poses(robot, q), centres(robot, q), strict=True)
        self.seats = [Placement(pose.axes, pose.translation - centre) for pose, centre in points]

    def wrench(self, i: int, w: Wrench) -> list[Any]:
        return list(w.to_parent(self.seats[i]))

    def wrenches(self, of_links: Sequence[Wrench]) -> Values:
        return per_link([self.wrench(i, w) for i, w in enumerate(of_links)])

    def twists(self, of_links: Sequence[Twist]) -> Values:
        """Twists whose linear parts are velocities of the origins, or accelerations of them where nothing moves."""
        moved = (t.to_child(seat.inverse()) for t, seat in zip(of_links, self.seats, strict=True))
        return vectors(moved)

    def inertia(self, i: int, inertia: Any) -> Dense:
        return of_twists(inertia.to_parent(self.seats[i]).__matmul__)

    def inertias(self, of_links: Sequence[Any]) -> Values:
        return per_link([self.inertia(i, x) for i, x in enumerate(of_links)])


def six(angular: Vector, linear: Vector) -> list[Any]:
    return [*angular, *linear]
