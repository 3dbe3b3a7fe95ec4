"""Kinematics as public functions: poses of frames, Jacobians of points, motions of mass centres."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from ..dynamics import centres, kinematics
from ..errors import is_integer, one_of
from ..robot import Link, Robot
from ..robot.entries import check_vector
from ..spatial import Vector
from .call import BaseMotion, PublicFunction, base_motion, base_velocity
from .states import Array, States


def centre_motions(states: States, base: BaseMotion | None) -> list[list[list[Any]]]:
    moving, velocity = base_motion(states, base), base_velocity(states, base)
    vectors = centres.mass_centres(states.links, *states.motion(), moving, velocity)
    return [[list(part[joint.link]) for joint in states.robot.moving] for part in vectors]


@PublicFunction([("links", 3)] * 3, centre_motions, compiled=False, takes_base_motion=True)
def mass_centres(  # type: ignore[empty-body]
    robot: Robot, q: Array, qd: Array, qdd: Array, *, base: BaseMotion | None = None, check: bool = False
) -> tuple[Array, Array, Array]:
    """Positions, velocities and accelerations of the mass centres of the links `robot.names`, in the base frame.

    Parameters
    ----------
    robot : Robot
    q : array_like, (..., nq)
    qd, qdd : array_like, (..., n)
    base : BaseMotion, optional
        Prescribed motion of the base.
    check : bool
        Refuse numbers that are not finite.

    Returns
    -------
    position, velocity, acceleration : Array, (..., links, 3)
    """


def pose_matrices(states: States, frames: tuple[str, ...]) -> list[list[list[Any]]]:
    robot, links = states.robot, kinematics.poses(states.links, states.positions())
    if frames == robot.names:
        bodies = ((link, pose) for link, pose in zip(robot.links, links, strict=True) if not link.virtual)
        return [pose.then(link.frame).matrix() for link, pose in bodies]
    seats = (robot.seat(robot.frame(name)) for name in frames)
    return [(links[link].then(placement) if link >= 0 else placement).matrix() for link, placement in seats]


def check_frames(robot: Robot, frames: Iterable[str] | None) -> dict[str, Any]:
    """The names of the frames, each of which the robot must have."""
    names = robot.names if frames is None else tuple(frames)
    for name in names if frames is not None else ():
        robot.frame(name)
    return {"frames": names}


@PublicFunction(lambda robot, frames: (len(frames), 4, 4), pose_matrices, normalize_options=check_frames)
def poses(robot: Robot, q: Array, *, frames: Iterable[str] | None = None, check: bool = False) -> Array:
    """Homogeneous matrices of the links' table frames (DH: the DH frames) in the base frame.

    Parameters
    ----------
    robot : Robot
    q : array_like, (..., nq)
    frames : sequence of str, optional
        Names of other frames, those of merged fixed joints among them; by default `robot.names`.
    check : bool
        Refuse numbers that are not finite.

    Returns
    -------
    Array, (..., len(frames), 4, 4)
    """
    if isinstance(frames, str):
        raise TypeError(f"frames is {frames!r} (expected a list of names: [{frames!r}])")


def check_link_and_point(robot: Robot, link: str | int | None, point: str | Iterable[float]) -> dict[str, Any]:
    """The name of the link, or of the frame on it, and the point; both checked."""
    names, count = robot.names, len(robot.names)
    if link is None:
        link = count - 1
    if isinstance(link, str):
        if robot.frame(link).on_base:
            raise ValueError(f"the frame {link!r} of robot {robot.name!r} is fixed to the base, which does not move")
    elif not is_integer(link):
        raise TypeError(f"link is {link!r} (expected a name, or a whole number below {count})")
    elif not -count <= link < count:
        raise ValueError(f"link is {link} (expected a name, or a whole number below {count})")
    if isinstance(point, str):
        one_of(point, ("frame", "com"), "point")
    else:
        point = tuple(check_vector(point, "point"))
    return {"link": link if isinstance(link, str) else names[link], "point": point}


def jacobian_rows(states: States, link: str, point: Any) -> list[list[Any]]:
    body, at = point_of_link(states.robot, link, point)
    rows = kinematics.jacobian(states.links, states.positions(), body.index, at)
    return [states.coordinates.torques(row) for row in rows]  # J G


@PublicFunction((6, "n"), jacobian_rows, normalize_options=check_link_and_point)
def jacobian(
    robot: Robot,
    q: Array,
    *,
    link: str | int | None = None,
    point: Literal["frame", "com"] | Iterable[float] = "frame",
    check: bool = False,
) -> Array:
    """The matrix from joint rates to the twist of a link, angular part first, in the base frame.

    Parameters
    ----------
    robot : Robot
    q : array_like, (..., nq)
    link : str or int, optional
        Name (also of a frame on a merged fixed joint) or index; by default the last link.
    point : {"frame", "com"} or three numbers
        Point of the linear part: the origin of the link's table frame, its centre of mass, or coordinates in the
        table frame.
    check : bool
        Refuse numbers that are not finite.

    Returns
    -------
    Array, (..., 6, n)
    """


def point_of_link(robot: Robot, link: str, point: Any) -> tuple[Link, Vector]:
    """The link that moves, and the point on it, from the options of `check_link_and_point`."""
    index, seat = robot.seat(robot.frame(link))
    body = robot.links[index]
    if point == "com":
        return body, body.com
    return body, seat.translation if point == "frame" else seat.point(Vector(*point))
