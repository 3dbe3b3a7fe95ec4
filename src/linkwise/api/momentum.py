"""Mass, mass centre and momentum of a whole robot, as public functions.

Bodies that are fixed to the ground do not move and do not count; nor do the rotors of the drives, whose inertia acts
along the joints alone.
"""

from __future__ import annotations

from typing import Any

from ..dynamics import momentum as whole
from ..errors import RobotError
from ..robot import Robot, require_robot
from ..spatial import Scalar
from .call import Declared
from .states import Array, States


def refuse_massless(arm: Robot) -> None:
    """Raise an error for a robot that has no mass centre."""
    mass = whole.total_mass(arm)
    if type(mass) is float and mass == 0.0:
        raise RobotError(f"robot {arm.name!r} has no mass (expected some, for a centre of mass)")


def total_mass(arm: Robot) -> Scalar:
    """The mass of all links that move, in kg: a number, or an expression of the robot's symbols.

    >>> import linkwise as lw
    >>> lw.total_mass(lw.load("gantry"))
    12.0
    """
    require_robot(arm)
    return whole.total_mass(arm)


def centre_of_mass(
    arm: Robot, q: Array, qd: Array | None = None, qdd: Array | None = None, *, check: bool = False
) -> Array | tuple[Array, ...]:
    """The mass centre of all links, in the base frame: (..., 3).

    With `qd`, a tuple of its position and velocity; with `qdd` too, position, velocity and acceleration.

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
        return centre_position(arm, q, check=check)
    motion = centre_velocity(arm, q, qd, check=check) if qdd is None else centre_motion(arm, q, qd, qdd, check=check)
    return tuple(motion[..., k, :] for k in range(2 if qdd is None else 3))


@Declared((3,), lambda states: list(whole.centre_of_mass(states.links, states.positions())), refuse=refuse_massless)
def centre_position(arm: Robot, q: Array, *, check: bool = False) -> Array:
    """The position of the mass centre: (..., 3)."""


def motion_of_centre(states: States) -> list[list[Any]]:
    links, q, qd = states.links, states.positions(), states.rates()
    motion = [list(whole.centre_of_mass(links, q)), list(whole.centre_velocity(links, q, qd))]
    if "qdd" in states.arrays:
        motion.append(list(whole.centre_acceleration(links, q, qd, states.accelerations())))
    return motion


@Declared((2, 3), motion_of_centre, refuse=refuse_massless)
def centre_velocity(arm: Robot, q: Array, qd: Array, *, check: bool = False) -> Array:
    """Position and velocity of the mass centre: (..., 2, 3)."""


@Declared((3, 3), motion_of_centre, refuse=refuse_massless)
def centre_motion(arm: Robot, q: Array, qd: Array, qdd: Array, *, check: bool = False) -> Array:
    """Position, velocity and acceleration of the mass centre: (..., 3, 3)."""


@Declared(
    (6,),
    lambda states: list(whole.momentum(states.links, about_centre(states), states.rates())),
    refuse=refuse_massless,
    fast=True,
    published="centroidal-momentum",
)
def momentum(arm: Robot, q: Array, qd: Array, *, check: bool = False) -> Array:
    """Angular momentum about the mass centre of all links, then linear momentum, in the base frame: (..., 6).

    In N·m·s and N·s. The rotors of the drives are not in it.

    >>> import linkwise as lw
    >>> lw.momentum(lw.load("gantry"), [0, 0, 0], [1, 0, 0]).round(3) + 0.0
    array([ 0.,  0.,  0., 12.,  0.,  0.])
    """


def matrix(states: States) -> list[list[Any]]:
    rows = whole.momentum_matrix(states.links, about_centre(states))
    return [states.coordinates.torques(row) for row in rows]  # A G


@Declared((6, "n"), matrix, refuse=refuse_massless, fast=True, published="centroidal-momentum")
def momentum_matrix(arm: Robot, q: Array, *, check: bool = False) -> Array:
    """The centroidal momentum matrix A of Orin, Goswami and Lee: (..., 6, n). `lw.momentum` is A qd.

    >>> import linkwise as lw
    >>> arm, qd = lw.load("planar3"), [0.3, 0.2, 0.1]
    >>> abs(lw.momentum_matrix(arm, [0, 1, 2]) @ qd - lw.momentum(arm, [0, 1, 2], qd)).max() < 1e-15
    np.True_
    """


def bias(states: States) -> list[Any]:
    still = states.coordinates.accelerations(states.scalars("qd"), [0.0] * states.robot.n)
    return list(whole.momentum_rate(states.links, about_centre(states), states.rates(), still))


@Declared((6,), bias, refuse=refuse_massless, fast=True, published="centroidal-momentum")
def momentum_bias(arm: Robot, q: Array, qd: Array, *, check: bool = False) -> Array:
    """The rate of the momentum at zero acceleration, Ȧ qd: (..., 6), as `lw.momentum`.

    The rate of the momentum is A qdd + Ȧ qd. It is the sum of all that acts from outside, about the mass centre:
    weight, external wrenches, and what the ground gives.

    >>> import linkwise as lw
    >>> arm = lw.load("planar3")
    >>> lw.momentum_bias(arm, [0, 0, 0], [1, 0, 0]).round(4) + 0.0   # the mass centre on its circle
    array([ 0.   ,  0.   ,  0.   , -0.443,  0.   ,  0.   ])
    """


def about_centre(states: States) -> list[Any]:
    """The coordinates of the links, for what does not depend on where a floating robot is: it is put at the origin."""
    robot, positions = states.robot, states.positions()
    on_base = [link for link in robot.links if link.parent < 0]
    if len(on_base) == len(robot.free_joints) == 1:
        positions = at_origin(states)
    return positions


def at_origin(states: States) -> list[Any]:
    """The coordinates of the links, with the free joints on the base at the origin: no digits are lost far from it."""
    positions = states.positions()
    for joint in states.robot.free_joints:
        for link in range(joint.first, joint.first + 3):
            positions[link] = 0.0
    return positions
