"""Kinematics as public functions: poses of frames, Jacobians of points, motions of mass centres; configurations moved
by velocities, and the velocities between configurations.

q may have one number more than v for each ball and free joint: its quaternion. On the orientations

    integrate            q ∘ exp(v dt)            exp: half the angle about the body's own axis, as a quaternion
    difference           log(q0⁻¹ ∘ q1)           the shortest turn from q0 to q1, in the axes of the body at q0
    configuration_rate   q̇ = ½ q ∘ (0, ω)

and on all other coordinates q + v dt, q1 - q0 and q̇ = v.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, Literal

import numpy as np

from ..dynamics import centres, kinematics
from ..errors import is_integer, one_of
from ..robot import Frame, Link, Robot
from ..robot.coordinates import QUATERNION
from ..robot.entries import check_vector
from ..spatial import (
    Placement,
    Rotation,
    Scalar,
    Scalars,
    Vector,
    add,
    mul,
    quaternion_exp,
    quaternion_product,
    sub,
    turn_between,
    unit_quaternion,
)
from ..tracing import Input
from .call import BaseMotion, Call, PublicFunction, base_motion, base_velocity, public_function
from .states import AXES, Array, ComponentAxes, States, component


def centre_motions(states: States, base: BaseMotion | None) -> list[list[list[Any]]]:
    moving, velocity = base_motion(states, base), base_velocity(states, base)
    vectors = centres.mass_centres(states.links, *states.motion(), moving, velocity)
    return [[list(part[joint.link]) for joint in states.robot.moving] for part in vectors]


@PublicFunction([("links", 3)] * 3, centre_motions, takes_base_motion=True)
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


def pose_matrices(states: States, frames: tuple[str, ...] | None, frame: str | None) -> list[Any]:
    robot, links = states.robot, kinematics.poses(states.links, states.positions())
    if frame is not None:
        return frame_pose(robot, links, frame).matrix()
    if frames == robot.names:
        bodies = ((link, pose) for link, pose in zip(robot.links, links, strict=True) if not link.virtual)
        return [pose.then(link.frame).matrix() for link, pose in bodies]
    return [frame_pose(robot, links, name).matrix() for name in frames or ()]


def frame_pose(robot: Robot, links: Sequence[Placement], name: str) -> Placement:
    """The pose of a frame in the base, from the poses of all links."""
    link, placement = robot.seat(robot.frame(name))
    return links[link].then(placement) if link >= 0 else placement


def check_frames(robot: Robot, frame: str | None, frames: Iterable[str] | None) -> dict[str, Any]:
    """The names of the frame or the frames, each of which the robot must have."""
    if frame is not None:
        return {"frame": robot.frame(frame).name, "frames": None}
    if frames is None:
        return {"frame": None, "frames": robot.names}
    return {"frame": None, "frames": tuple(robot.frame(name).name for name in frames)}


@PublicFunction(
    lambda robot, frame, frames: (4, 4) if frames is None else (len(frames), 4, 4),
    pose_matrices,
    normalize_options=check_frames,
)
def poses(
    robot: Robot, q: Array, *, frame: str | None = None, frames: Iterable[str] | None = None, check: bool = False
) -> Array:
    """Homogeneous matrices of the links' table frames (DH: the DH frames) in the base frame, or of other frames.

    Parameters
    ----------
    robot : Robot
    q : array_like, (..., nq)
    frame : str, optional
        Name of a link, a joint or a frame of the file: the pose of this frame alone.
    frames : sequence of str, optional
        Names of several; by default `robot.names`.
    check : bool
        Refuse numbers that are not finite.

    Returns
    -------
    Array, (..., len(frames), 4, 4), or (..., 4, 4) of one `frame`

    Examples
    --------
    >>> import linkwise as lw
    >>> dog = lw.load("go1")
    >>> lw.poses(dog, lw.neutral(dog), frame="FL_foot")[:3, 3].round(4)
    array([ 0.1881,  0.1268, -0.426 ])
    """
    if isinstance(frames, str):
        raise TypeError(f"frames is {frames!r} (expected a list of names: [{frames!r}])")
    if frame is not None and frames is not None:
        raise TypeError(f"frame={frame!r} and frames={frames!r} are both given (expected one of them)")


def check_link_and_point(robot: Robot, link: str | int | None, point: str | Iterable[float]) -> dict[str, Any]:
    """The name of the link, or of the frame on it, and the point; both checked."""
    names, count = robot.names, len(robot.names)
    if link is None:
        link = count - 1
    if isinstance(link, str):
        link = moving_frame(robot, link).name
    elif not is_integer(link):
        raise TypeError(f"link is {link!r} (expected a name, or a whole number below {count})")
    elif not -count <= link < count:
        raise ValueError(f"link is {link} (expected a name, or a whole number below {count})")
    if isinstance(point, str):
        one_of(point, ("frame", "com"), "point")
    else:
        point = tuple(check_vector(point, "point"))
    return {"link": link if isinstance(link, str) else names[link], "point": point}


def check_place(
    robot: Robot, frame: str | None, axes: str, link: str | int | None, point: str | Iterable[float]
) -> dict[str, Any]:
    """The place of a Jacobian: a frame, or a point of a link; with the axes, all checked."""
    one_of(axes, AXES, "axes")
    if frame is None:
        return {**check_link_and_point(robot, link, point), "frame": None, "axes": axes}
    if link is not None or not (isinstance(point, str) and point == "frame"):
        others = f"link={link!r}" if link is not None else f"point={point!r}"
        raise TypeError(f"frame={frame!r} and {others} are both given (expected a frame, or a link and a point of it)")
    return {"link": None, "point": point, "frame": moving_frame(robot, frame).name, "axes": axes}


def moving_frame(robot: Robot, name: str) -> Frame:
    """The frame of this name, which must be on a link."""
    frame = robot.frame(name)
    if frame.on_base:
        raise ValueError(f"the frame {name!r} of robot {robot.name!r} is fixed to the base, which does not move")
    return frame


def place_on_link(
    robot: Robot, frame: str | None, axes: str, link: str | None, point: Any
) -> tuple[int, Vector, Rotation | None]:
    """The index of the link, the point, and the axes of its frame (None: the base's), of `check_place`."""
    name = frame if frame is not None else str(link)
    body, at = point_of_link(robot, name, point)
    return body.index, at, None if axes == "base" else robot.seat(robot.frame(name))[1].axes


def jacobian_rows(states: States, frame: str | None, axes: str, link: str | None, point: Any) -> list[list[Any]]:
    place = place_on_link(states.robot, frame, axes, link, point)
    rows = kinematics.jacobian(states.links, states.positions(), *place)
    return [states.coordinates.torques(row) for row in rows]  # J G


@PublicFunction((6, "n"), jacobian_rows, normalize_options=check_place)
def jacobian(
    robot: Robot,
    q: Array,
    *,
    frame: str | None = None,
    axes: ComponentAxes = "base",
    link: str | int | None = None,
    point: Literal["frame", "com"] | Iterable[float] = "frame",
    check: bool = False,
) -> Array:
    """The matrix from joint rates to the twist of a frame or a link, angular part first.

    Parameters
    ----------
    robot : Robot
    q : array_like, (..., nq)
    frame : str, optional
        Name of a link, a joint or a frame of the file. The linear part is the velocity of its origin.
    axes : {"base", "frame"}
        Components along the axes of the base, or of the frame (of the link: its table frame).
    link : str or int, optional
        In place of `frame`: name or index of the link; by default the last one.
    point : {"frame", "com"} or three numbers
        With `link`, the point of the linear part: the origin of the link's table frame, its centre of mass, or
        coordinates in the table frame.
    check : bool
        Refuse numbers that are not finite.

    Returns
    -------
    Array, (..., 6, n)

    Examples
    --------
    >>> import linkwise as lw
    >>> dog = lw.load("go1")
    >>> J = lw.jacobian(dog, lw.neutral(dog), frame="FL_foot")
    >>> J[3:, dog.v_slice("FL_calf_joint")].T.round(4) + 0.0
    array([[-0.213,  0.   ,  0.   ]])
    """


def jacobian_rate_rows(states: States, frame: str | None, axes: str, link: str | None, point: Any) -> list[list[Any]]:
    place = place_on_link(states.robot, frame, axes, link, point)
    rows = kinematics.jacobian_rate(states.links, states.positions(), states.rates(), *place)
    return [states.coordinates.torques(row) for row in rows]  # J̇ G


@PublicFunction((6, "n"), jacobian_rate_rows, normalize_options=check_place)
def jacobian_rate(
    robot: Robot,
    q: Array,
    qd: Array,
    *,
    frame: str | None = None,
    axes: ComponentAxes = "base",
    link: str | int | None = None,
    point: Literal["frame", "com"] | Iterable[float] = "frame",
    check: bool = False,
) -> Array:
    """The rate J̇ of `lw.jacobian` in the motion qd.

    In the axes of the base, J qdd + J̇ qd are the angular acceleration of the frame and the acceleration of its origin.
    In the axes of the frame they are the rates of ω and v along these axes: the acceleration less ω × v.

    Parameters
    ----------
    robot : Robot
    q : array_like, (..., nq)
    qd : array_like, (..., n)
    frame, axes, link, point, check
        As for `lw.jacobian`.

    Returns
    -------
    Array, (..., 6, n)

    Examples
    --------
    >>> import linkwise as lw
    >>> arm, q, qd = lw.load("planar3"), [0, 0, 0], [1, 0, 0]
    >>> (lw.jacobian_rate(arm, q, qd) @ qd).round(4) + 0.0      # towards the first joint
    array([ 0.  ,  0.  ,  0.  , -0.77,  0.  ,  0.  ])
    """


def point_of_link(robot: Robot, link: str, point: Any) -> tuple[Link, Vector]:
    """The link that moves, and the point on it, from the options of `check_link_and_point`."""
    index, seat = robot.seat(robot.frame(link))
    body = robot.links[index]
    if point == "com":
        return body, body.com
    return body, seat.translation if point == "frame" else seat.point(Vector(*point))


@partial(public_function, inputs=("dt",))
def integrate(robot: Robot, q: Array, v: Array, dt: Array = 1.0, *, check: bool = False) -> Call:
    """The configuration reached from q in the time dt at constant velocities v.

    The position of a free joint moves along a straight line, and its body turns about a fixed axis.

    Parameters
    ----------
    robot : Robot
    q : array_like, (..., nq)
    v : array_like, (..., n)
        As qd: rates of angles and displacements; of a ball joint the angular velocity in the body's frame; of a
        free joint the linear velocity in the parent's axes, then the angular velocity in the body's frame.
    dt : float or array_like, (...)
        Time in s.
    check : bool
        Refuse numbers that are not finite.

    Returns
    -------
    Array, (..., nq)
        Quaternions have unit length.

    Examples
    --------
    >>> import numpy as np, linkwise as lw
    >>> ball = lw.chain(1, joints="S")
    >>> lw.integrate(ball, [1, 0, 0, 0], [0, 0, np.pi], dt=0.5).round(6)
    array([0.707107, 0.      , 0.      , 0.707107])
    """
    constant = type(dt) in (int, float) and dt == 1
    if type(dt) in (int, float) and all(getattr(x, "dtype", None) == np.float32 for x in (q, v)):
        dt = np.float32(dt)  # a plain number does not widen the result
    states = States(robot, {"q": q, "v": v}, check=check, others={} if constant else {"dt": (dt, ())})

    def integrate_coordinates() -> list[Scalar]:
        time = 1.0 if constant else time_scalar(states, dt)
        numbers, moves = states.scalars("q"), iter([mul(time, x) for x in states.scalars("v")])
        result: list[Scalar] = []
        for first, width in coordinate_ranges(robot):
            if width == QUATERNION:
                result += rotate(numbers[first : first + width], [next(moves) for _ in range(3)])
            else:
                result.append(add(numbers[first], next(moves)))
        return result

    return Call(integrate, states, integrate_coordinates, (robot.nq,), {"dt": None if constant else Input()})


vars(integrate)["result_names"] = ("q1",)


def time_scalar(states: States, dt: Array) -> Scalar:
    """The time as a scalar; if the states are nodes, a plain number is a constant."""
    return float(dt) if type(dt) in (int, float) and not states.numeric else component(states.arrays["dt"])


def rotate(quaternion: Scalars, turn: Scalars) -> Scalars:
    """The orientation after a turn in the body's axes."""
    return unit_quaternion(quaternion_product(quaternion, quaternion_exp(turn)))


def velocities(states: States) -> list[Scalar]:
    start, end = states.scalars("q0"), states.scalars("q1")
    result: list[Scalar] = []
    for first, width in coordinate_ranges(states.robot):
        if width == QUATERNION:
            result += turn_between(start[first : first + width], end[first : first + width])
        else:
            result.append(sub(end[first], start[first]))
    return result


@PublicFunction(("n",), velocities, result_names=("v",))
def difference(robot: Robot, q0: Array, q1: Array, *, check: bool = False) -> Array:
    """The velocities v that lead from q0 to q1 in unit time: `integrate(robot, q0, v)` is q1.

    Orientations take the shortest turn, of at most π; a quaternion and its opposite are the same orientation. At
    exactly half a turn the axis is the vector part of q0⁻¹ q1. Angles and displacements are subtracted: an angle
    is not brought into (-π, π).

    Parameters
    ----------
    robot : Robot
    q0, q1 : array_like, (..., nq)
    check : bool
        Refuse numbers that are not finite.

    Returns
    -------
    Array, (..., n)

    Examples
    --------
    >>> import numpy as np, linkwise as lw
    >>> ball = lw.chain(1, joints="S")
    >>> lw.difference(ball, [1, 0, 0, 0], [0, 0, 0, -2]).round(6) + 0.0
    array([ 0.      ,  0.      , -3.141593])
    """


def unit_quaternions(states: States) -> list[Scalar]:
    numbers = states.scalars("q")
    result: list[Scalar] = []
    for first, width in coordinate_ranges(states.robot):
        part = numbers[first : first + width]
        result += unit_quaternion(part) if width == QUATERNION else part
    return result


@PublicFunction(("nq",), unit_quaternions)
def normalize(robot: Robot, q: Array, *, check: bool = False) -> Array:
    """The same configuration with quaternions of unit length.

    Linkwise itself takes quaternions of any length but zero.

    Parameters
    ----------
    robot : Robot
    q : array_like, (..., nq)
    check : bool
        Refuse numbers that are not finite.

    Returns
    -------
    Array, (..., nq)

    Examples
    --------
    >>> import linkwise as lw
    >>> lw.normalize(lw.chain(2, joints="RS"), [3, 0, 2, 0, 0])
    array([3., 0., 1., 0., 0.])
    """


def rates(states: States) -> list[Scalar]:
    return states.coordinates.configuration_rates(states.scalars("q"), states.scalars("v"))


@PublicFunction(("nq",), rates)
def configuration_rate(robot: Robot, q: Array, v: Array, *, check: bool = False) -> Array:
    """The rates q̇ of the coordinates at velocities v.

    Of a quaternion the rate is ½ q (0, ω), which keeps the quaternion's length; of other coordinates it is v.

    Parameters
    ----------
    robot : Robot
    q : array_like, (..., nq)
    v : array_like, (..., n)
    check : bool
        Refuse numbers that are not finite.

    Returns
    -------
    Array, (..., nq)

    Examples
    --------
    >>> import linkwise as lw
    >>> lw.configuration_rate(lw.chain(1, joints="S"), [1, 0, 0, 0], [0, 0, 3]) + 0.0
    array([0. , 0. , 0. , 1.5])
    """


def coordinate_ranges(robot: Robot) -> list[tuple[int, int]]:
    """The start and the width of each number and each quaternion in q."""
    return [(slot.q, link.joint.width) for link, slot in robot.driving if link.joint.width]
