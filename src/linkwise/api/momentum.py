"""Mass, mass centre and momentum of a robot; dynamics of robots on a floating base, with one free joint on it.

Bodies fixed to the ground are left out, and so are the rotors of the drives, whose inertia acts along the joints alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple

from ..dynamics import fewest, free_flying, kinematics
from ..dynamics import momentum as centroidal
from ..errors import RobotError, one_of
from ..robot import Friction, Robot, require_robot
from ..robot.coordinates import MovingJoint
from ..spatial import Rotation, Scalar, Vector, Wrench, add
from .call import PublicFunction
from .functions import external_wrenches, joint_torques
from .kinematics import check_place, frame_pose, place_on_link
from .states import AXES, Array, ComponentAxes, States


def check_mass(robot: Robot) -> None:
    """Raise an error for a robot that has no mass centre."""
    mass = centroidal.total_mass(robot)
    if type(mass) is float and mass == 0.0:
        raise RobotError(
            f"robot {robot.name!r} has no mass (expected a link with mass: otherwise there is no centre of mass)"
        )


def total_mass(robot: Robot) -> Scalar:
    """The mass of all links that move, in kg.

    Parameters
    ----------
    robot : Robot

    Returns
    -------
    float or expression
        An expression of the robot's symbols where it has some.

    Examples
    --------
    >>> import linkwise as lw
    >>> lw.total_mass(lw.load("gantry"))
    12.0
    """
    require_robot(robot)
    return centroidal.total_mass(robot)


def centre_of_mass(
    robot: Robot, q: Array, qd: Array | None = None, qdd: Array | None = None, *, check: bool = False
) -> Array | tuple[Array, ...]:
    """The mass centre of all links, in the base frame.

    Parameters
    ----------
    robot : Robot
    q : array_like, (..., nq)
    qd, qdd : array_like, (..., n), optional
        Rates, for the velocity too; accelerations, for the acceleration too.
    check : bool
        Refuse numbers that are not finite.

    Returns
    -------
    Array, (..., 3)
        The position; with `qd` a tuple of position and velocity, with `qdd` of position, velocity, acceleration.

    Examples
    --------
    >>> import linkwise as lw
    >>> arm = lw.load("planar3")
    >>> lw.centre_of_mass(arm, [0, 0, 0]).round(4)
    array([0.3692, 0.    , 0.    ])
    >>> position, velocity = lw.centre_of_mass(arm, [0, 0, 0], [1, 0, 0])
    >>> velocity.round(4)
    array([0.    , 0.3692, 0.    ])
    """
    if qdd is not None and qd is None:
        raise TypeError("qdd is given without qd (expected both for the acceleration of the mass centre)")
    if qd is None:
        return centre_position(robot, q, check=check)
    motion = (
        centre_velocity(robot, q, qd, check=check) if qdd is None else centre_motion(robot, q, qd, qdd, check=check)
    )
    return tuple(motion[..., k, :] for k in range(2 if qdd is None else 3))


@PublicFunction(
    (3,), lambda states: list(centroidal.centre_of_mass(states.links, states.positions())), check_robot=check_mass
)
def centre_position(robot: Robot, q: Array, *, check: bool = False) -> Array:
    """The position of the mass centre: (..., 3)."""


def motion_of_centre(states: States) -> list[list[Any]]:
    links, q, qd = states.links, states.positions(), states.rates()
    motion = [list(centroidal.centre_of_mass(links, q)), list(centroidal.centre_velocity(links, q, qd))]
    if "qdd" in states.arrays:
        motion.append(list(centroidal.centre_acceleration(links, q, qd, states.accelerations())))
    return motion


@PublicFunction((2, 3), motion_of_centre, check_robot=check_mass)
def centre_velocity(robot: Robot, q: Array, qd: Array, *, check: bool = False) -> Array:
    """Position and velocity of the mass centre: (..., 2, 3)."""


@PublicFunction((3, 3), motion_of_centre, check_robot=check_mass)
def centre_motion(robot: Robot, q: Array, qd: Array, qdd: Array, *, check: bool = False) -> Array:
    """Position, velocity and acceleration of the mass centre: (..., 3, 3)."""


def check_momentum_frame(robot: Robot, frame: str | None, axes: str) -> dict[str, Any]:
    one_of(axes, AXES, "axes")
    if frame is None and axes != "base":
        raise ValueError(f"axes is {axes!r} without a frame (expected frame=... whose axes these are)")
    return {"frame": None if frame is None else robot.frame(frame).name, "axes": axes}


class PlaceOfMomentum(NamedTuple):
    """The coordinates of the links, the point about which momenta are and the axes of their components."""

    positions: list[Any]
    about: Vector | None  # None: the mass centre
    axes: Rotation | None  # None: those of the base

    @staticmethod
    def of(states: States, frame: str | None, axes: str) -> PlaceOfMomentum:
        if frame is None:
            return PlaceOfMomentum(positions_for_momentum(states), None, None)
        fixed = states.robot.frame(frame).on_base
        positions = states.positions() if fixed else positions_for_momentum(states)
        pose = frame_pose(states.robot, kinematics.poses(states.links, positions), frame)
        return PlaceOfMomentum(positions, pose.translation, None if axes == "base" else pose.axes)

    def components(self, momentum: Wrench) -> list[Any]:
        R = self.axes
        return list(momentum if R is None else Wrench(R.T @ momentum.moment, R.T @ momentum.force))


def momentum_at_place(states: States, frame: str | None, axes: str) -> list[Any]:
    place = PlaceOfMomentum.of(states, frame, axes)
    return place.components(centroidal.momentum(states.links, place.positions, states.rates(), place.about))


@PublicFunction(
    (6,),
    momentum_at_place,
    check_robot=check_mass,
    normalize_options=check_momentum_frame,
    published="centroidal-momentum",
)
def momentum(
    robot: Robot,
    q: Array,
    qd: Array,
    *,
    frame: str | None = None,
    axes: ComponentAxes = "base",
    check: bool = False,
) -> Array:
    """Angular momentum of all links about their mass centre or the origin of a frame, then linear momentum.

    The rotors of the drives are not included.

    Parameters
    ----------
    robot : Robot
    q : array_like, (..., nq)
    qd : array_like, (..., n)
    frame : str, optional
        Name of a link, a joint or a frame of the file; by default the angular momentum is about the mass centre.
    axes : {"base", "frame"}
        Components along the axes of the base, or of the frame.
    check : bool
        Refuse numbers that are not finite.

    Returns
    -------
    Array, (..., 6)
        In N·m·s and N·s.

    Examples
    --------
    >>> import linkwise as lw
    >>> lw.momentum(lw.load("gantry"), [0, 0, 0], [1, 0, 0]).round(3) + 0.0
    array([ 0.,  0.,  0., 12.,  0.,  0.])
    """


def matrix(states: States, frame: str | None, axes: str) -> list[list[Any]]:
    place = PlaceOfMomentum.of(states, frame, axes)
    columns = map(place.components, centroidal.momentum_matrix(states.links, place.positions, place.about))
    return [states.coordinates.torques(row) for row in zip(*columns, strict=True)]  # A G


@PublicFunction(
    (6, "n"),
    matrix,
    check_robot=check_mass,
    normalize_options=check_momentum_frame,
    published="centroidal-momentum",
)
def momentum_matrix(
    robot: Robot, q: Array, *, frame: str | None = None, axes: ComponentAxes = "base", check: bool = False
) -> Array:
    """The centroidal momentum matrix A of Orin, Goswami and Lee: `lw.momentum` is A qd.

    Parameters
    ----------
    robot : Robot
    q : array_like, (..., nq)
    frame, axes
        As for `lw.momentum`.
    check : bool
        Refuse numbers that are not finite.

    Returns
    -------
    Array, (..., 6, n)

    Examples
    --------
    >>> import linkwise as lw
    >>> arm, qd = lw.load("planar3"), [0.3, 0.2, 0.1]
    >>> abs(lw.momentum_matrix(arm, [0, 1, 2]) @ qd - lw.momentum(arm, [0, 1, 2], qd)).max() < 1e-15
    np.True_
    """


def bias(states: States) -> list[Any]:
    still = states.coordinates.accelerations(states.scalars("qd"), [0.0] * states.robot.n)
    return list(centroidal.momentum_rate(states.links, positions_for_momentum(states), states.rates(), still))


@PublicFunction((6,), bias, check_robot=check_mass, published="centroidal-momentum")
def momentum_bias(robot: Robot, q: Array, qd: Array, *, check: bool = False) -> Array:
    """The rate of the momentum at zero acceleration, Ȧ qd.

    The rate of the momentum is A qdd + Ȧ qd. It equals the sum of weight, external wrenches and the wrench of the
    ground, about the mass centre.

    Parameters
    ----------
    robot : Robot
    q : array_like, (..., nq)
    qd : array_like, (..., n)
    check : bool
        Refuse numbers that are not finite.

    Returns
    -------
    Array, (..., 6)
        As `lw.momentum`.

    Examples
    --------
    >>> import linkwise as lw
    >>> arm = lw.load("planar3")
    >>> lw.momentum_bias(arm, [0, 0, 0], [1, 0, 0]).round(4) + 0.0   # the mass centre on its circle
    array([ 0.   ,  0.   ,  0.   , -0.443,  0.   ,  0.   ])
    """


def positions_for_momentum(states: States) -> list[Any]:
    """The coordinates of the links, with a floating robot at the origin: the results do not depend on its position."""
    robot = states.robot
    alone = sum(link.parent < 0 for link in robot.links) == len(robot.free_joints) == 1
    return positions_at_origin(states) if alone else states.positions()


def positions_at_origin(states: States) -> list[Any]:
    """The coordinates of the links, with the free joints on the base at the origin, so that no digits are lost."""
    positions = states.positions()
    for joint in states.robot.free_joints:
        for link in range(joint.first, joint.first + 3):
            positions[link] = 0.0
    return positions


def free_base(robot: Robot) -> MovingJoint:
    """The free joint on the base; raises an error if there is none, several, or one with a rotor."""
    require_robot(robot)
    joints = robot.free_joints
    if len(joints) != 1:
        names = ", ".join(repr(joint.joint) for joint in joints)
        actual = f"{len(joints)} free joints on its base: {names}" if joints else "no free joint on its base"
        raise RobotError(
            f"robot {robot.name!r} has {actual} (expected exactly one; robot.with_free_base(mass, com, inertia) puts a"
            " robot on a base that floats)"
        )
    base = joints[0]
    if any(link.joint.has_rotor for link in robot.links[base.first : base.link + 1]):
        raise RobotError(
            f"robot {robot.name!r}, joint {base.name!r}: a free joint with a rotor inertia (expected none: nothing"
            " drives a base that floats)"
        )
    return base


def wrench_at_base(states: States) -> list[Any]:
    robot, q = states.robot, positions_at_origin(states)
    base = free_base(robot)
    tau = fewest.inverse_dynamics(states.links, q, states.rates(), states.accelerations(), external_wrenches(states))
    frames = kinematics.poses(states.links, q)
    at_link = free_flying.base_wrench(states.links, frames, base.first, base.link, tau)
    return list(at_link.acting_at(-(frames[base.link].rotation @ robot.links[base.link].frame.translation)))


@PublicFunction((6,), wrench_at_base, check_robot=free_base)
def base_wrench(
    robot: Robot,
    q: Array,
    qd: Array,
    qdd: Array,
    wrench: Array | Mapping[str, Array] | None = None,
    *,
    point: Array | None = None,
    axes: ComponentAxes = "base",
    check: bool = False,
) -> Array:
    """The wrench that the ground or thrusters must give to the base link of a floating robot for this motion.

    `lw.inverse_dynamics` gives the same six numbers as torques of the free joint, in another order and other axes:
    forces first, then moments in the axes of the link.

    Parameters
    ----------
    robot : Robot
        With exactly one free joint on its base.
    q : array_like, (..., nq)
    qd, qdd : array_like, (..., n)
    wrench, point, axes, check
        As for `lw.inverse_dynamics`.

    Returns
    -------
    Array, (..., 6)
        Moment about the origin of the base link's table frame, then force, in the base frame.

    Examples
    --------
    >>> import linkwise as lw
    >>> arm = lw.load("planar3").with_free_base(mass=10.0, inertia=[[1, 0, 0], [0, 1, 0], [0, 0, 1]])
    >>> rest, still = [0, 0, 0, 1, 0, 0, 0, 0, 0, 0], [0] * 9
    >>> lw.base_wrench(arm, rest, still, still).round(3) + 0.0    # gravity of this robot is along -y
    array([  0.   ,   0.   ,   4.346,   0.   , 109.872,   0.   ])
    """


def floating_motion(states: States, law: Friction | None) -> tuple[list[Any], list[Any]]:
    robot, rates, links = states.robot, states.scalars("qd"), states.links
    base = free_base(robot)
    joints, qdd = driven_indices(robot, base), [0.0] * robot.n
    for k, acceleration in zip(joints, states.scalars("qdd_joints"), strict=True):
        qdd[k] = acceleration
    q, external = positions_at_origin(states), external_wrenches(states)
    tau = fewest.inverse_dynamics(links, q, states.rates(), states.coordinates.accelerations(rates, qdd), external)
    nothing = [0.0] * robot.n
    friction = nothing if law is None else law.torques(robot, rates, applied=nothing)  # the base has no drive
    for link, k in enumerate(range(base.v.start, base.v.stop), base.first):
        tau[link] = add(tau[link], friction[k])
    accelerations, torques = free_flying.released(links, q, base.first, base.link, tau)
    joint_torque = joint_torques(states, torques)
    if law is not None:
        friction = law.torques(robot, rates, load=joint_torque)
    return accelerations, [add(joint_torque[k], friction[k]) for k in joints]


@PublicFunction([(6,), ("n - 6",)], floating_motion, divides=True, check_robot=free_base)
def floating_dynamics(  # type: ignore[empty-body]
    robot: Robot,
    q: Array,
    qd: Array,
    qdd_joints: Array,
    wrench: Array | Mapping[str, Array] | None = None,
    *,
    point: Array | None = None,
    axes: ComponentAxes = "base",
    friction: bool | Friction = False,
    check: bool = False,
) -> tuple[Array, Array]:
    """Inverse dynamics on a free base: acceleration of the base, and torques of the joints.

    `lw.inverse_dynamics` with both accelerations gives the same torques, and zeros for the base.

    Parameters
    ----------
    robot : Robot
        With exactly one free joint on its base, without a rotor inertia.
    q : array_like, (..., nq)
    qd : array_like, (..., n)
    qdd_joints : array_like, (..., n - 6)
        Accelerations of all joints except the free joint, in order.
    wrench, point, axes, friction, check
        As for `lw.inverse_dynamics`.

    Returns
    -------
    acceleration : Array, (..., 6)
        As in qdd: linear in the axes of the ground, then angular in the link's own.
    tau : Array, (..., n - 6)

    Examples
    --------
    >>> import linkwise as lw
    >>> arm = lw.load("planar3").with_free_base(mass=10.0, inertia=[[1, 0, 0], [0, 1, 0], [0, 0, 1]])
    >>> rest, still = [0, 0, 0, 1, 0, 0, 0, 0, 0, 0], [0] * 9
    >>> base, tau = lw.floating_dynamics(arm, rest, still, [0, 0, 0])
    >>> base.round(3) + 0.0, tau.round(3) + 0.0      # it falls, and no joint has to carry anything
    (array([ 0.  , -9.81,  0.  ,  0.  ,  0.  ,  0.  ]), array([0., 0., 0.]))
    """


def check_moving_place(
    robot: Robot, frame: str | None, link: str | int | None, point: str | Iterable[float]
) -> dict[str, Any]:
    place = check_place(robot, frame, "base", link, point)
    return {name: place[name] for name in ("frame", "link", "point")}


def generalized_jacobian_rows(states: States, frame: str | None, link: str | None, point: Any) -> list[list[Any]]:
    robot, base = states.robot, free_base(states.robot)
    index, at, _ = place_on_link(robot, frame, "base", link, point)
    rows = free_flying.generalized_jacobian(states.links, positions_at_origin(states), base.link, index, at)
    joints = driven_indices(robot, base)
    return [[row[k] for k in joints] for row in map(states.coordinates.torques, rows)]  # J* G


@PublicFunction(
    (6, "n - 6"),
    generalized_jacobian_rows,
    divides=True,
    check_robot=free_base,
    normalize_options=check_moving_place,
    published="generalized-jacobian",
)
def generalized_jacobian(
    robot: Robot,
    q: Array,
    *,
    frame: str | None = None,
    link: str | int | None = None,
    point: Literal["frame", "com"] | Iterable[float] = "frame",
    check: bool = False,
) -> Array:
    """From joint rates to the twist of a frame or a link of a free-flying robot without momentum.

    Umetani and Yoshida's J* = J_m - J_b I_bb⁻¹ I_bm, with b for the base and m for the other joints, in order.

    Parameters
    ----------
    robot : Robot
        With exactly one free joint on its base.
    q : array_like, (..., nq)
    frame, link, point, check
        As for `lw.jacobian`.

    Returns
    -------
    Array, (..., 6, n - 6)

    Examples
    --------
    >>> import linkwise as lw
    >>> light = lw.load("planar3").with_free_base(mass=1.0, inertia=[[1, 0, 0], [0, 1, 0], [0, 0, 1]])
    >>> heavy = lw.load("planar3").with_free_base(mass=1e9, inertia=[[1e9, 0, 0], [0, 1e9, 0], [0, 0, 1e9]])
    >>> q = [0, 0, 0, 1, 0, 0, 0, 0, 0, 0]
    >>> lw.generalized_jacobian(light, q)[4].round(3), lw.generalized_jacobian(heavy, q)[4].round(3)
    (array([0.502, 0.366, 0.197]), array([0.77, 0.47, 0.22]))
    """


def driven_indices(robot: Robot, base: MovingJoint) -> list[int]:
    """The indices of all joints except the free base in qd, qdd and tau."""
    return [*range(base.v.start), *range(base.v.stop, robot.n)]
