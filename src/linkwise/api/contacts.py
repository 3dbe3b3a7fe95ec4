"""Robots that stand: torques and ground forces for a motion, and the quadratic program with friction."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from ..dynamics import ALL_INVERSE_DYNAMICS, support
from ..errors import is_real
from ..robot import Friction, Robot
from ..robot.entries import check_vector
from ..spatial import Vector, add, cross, dot
from ..spatial.dense import Column, Dense
from .call import PublicFunction, Shape
from .constrained import Hold, Holds, by_frame, check_holds, frame_jacobian, wrench_rows
from .functions import external_wrenches, joint_torques, sums
from .momentum import free_base
from .states import Array, ComponentAxes, States


class Support(NamedTuple):
    """The result of `lw.inverse_dynamics` with `contacts`."""

    tau: Array
    """(..., n), zero at the free joint"""
    wrenches: Mapping[str, Array]
    """The wrenches of the ground by frame, (..., 6): moment about its origin, then force, in base axes."""
    missing: Array
    """(..., 6): the part of the six torques of the free joint that the contacts cannot provide; otherwise rounding"""


class ContactBounds(NamedTuple):
    """lower ≤ A f ≤ upper, for the forces f (..., 3 k) of k contacts; the result of `lw.control.contact_bounds`."""

    A: Array
    """(..., rows, 3 k)"""
    lower: Array
    """(..., rows); -1e30 where there is no bound"""
    upper: Array
    """(..., rows); 1e30 where there is no bound"""


def check_contacts(robot: Robot, *, contacts: Any, **options: Any) -> dict[str, Any]:
    """The contacts as held frames."""
    free_base(robot)
    return {**options, "contacts": check_holds(robot, contacts, "contacts")}


def needed_torques(states: States, algorithm_name: str = "fewest") -> Column:
    """The torques that drives and contacts must provide together."""
    algorithm = ALL_INVERSE_DYNAMICS[algorithm_name]
    return joint_torques(states, algorithm(states.links, *states.motion(), external_wrenches(states)))


def support_torques(
    states: States, contacts: Holds, law: Friction | None, algorithm_name: str
) -> tuple[Column, Dense, Column]:
    robot, rates, base = states.robot, states.scalars("qd"), free_base(states.robot).v
    needed, jacobian = needed_torques(states, algorithm_name), frame_jacobian(states, contacts)
    if law is not None:
        needed[base] = sums(needed, law.torques(robot, rates, applied=[0.0] * robot.n))[base]  # which has no drive
    tau, forces, missing = support.least_forces(needed, jacobian, base)
    if law is not None:
        friction = law.torques(robot, rates, load=tau)
        tau = [x if k in range(robot.n)[base] else add(x, friction[k]) for k, x in enumerate(tau)]
    return tau, wrench_rows(contacts, forces), missing


def pack_support(results: list[Array], contacts: Holds) -> Support:
    tau, wrenches, missing = results
    return Support(tau, by_frame(contacts, wrenches), missing)


supported = PublicFunction(
    lambda robot, contacts, **_: [("n",), (len(contacts), 6), (6,)],
    support_torques,
    normalize_options=check_contacts,
    pack=pack_support,
    result_names=("tau", "wrenches", "missing"),
)


@supported
def supported_dynamics(  # type: ignore[empty-body]
    robot: Robot,
    q: Array,
    qd: Array,
    qdd: Array,
    wrench: Array | Mapping[str, Array] | None = None,
    *,
    contacts: Iterable[str] | Mapping[str, Hold] | None = None,
    algorithm_name: str = "fewest",
    point: Array | None = None,
    axes: ComponentAxes = "base",
    friction: bool | Friction = False,
    check: bool = False,
) -> Support:
    """`lw.inverse_dynamics` with contacts."""


def check_bounds(robot: Robot, *, contacts: Any, coefficient: float, normal: Any, least: float) -> dict[str, Any]:
    holds = check_contacts(robot, contacts=contacts)["contacts"]
    refused = [frame for frame, hold in holds if hold != "point"]
    if refused:
        raise ValueError(f"contacts has a pose, {refused[0]!r} (expected points: a flat foot has one at each corner)")
    for name, value in (("coefficient", coefficient), ("least", least)):
        if not is_real(value) or not 0.0 <= value < math.inf:
            raise ValueError(f"{name} is {value!r} (expected a number, 0 or more)")
    direction = tuple(map(float, check_vector(normal, "normal")))
    if not 0.0 < math.hypot(*direction) < math.inf:
        raise ValueError(f"normal is {normal!r} (expected a direction)")
    return {"contacts": holds, "coefficient": float(coefficient), "normal": direction, "least": float(least)}


def pyramid_rows(normal: Vector, coefficient: float) -> Dense:
    """n, then ± s - μ/√2 n and ± t - μ/√2 n."""
    n = normal * (1.0 / math.hypot(*normal))
    along = Vector(1.0, 0.0, 0.0) if abs(n.x) < 0.8 else Vector(0.0, 1.0, 0.0)
    s = along - n * dot(along, n)
    s = s * (1.0 / math.hypot(*s))
    slope = coefficient / math.sqrt(2.0)
    sides = [tangent * sign - n * slope for tangent in (s, cross(n, s)) for sign in (1.0, -1.0)]
    return [list(n), *map(list, sides)]


def bound_shapes(robot: Robot, contacts: Holds, **_: Any) -> list[Shape]:
    rows = 6 + 5 * len(contacts) + len(support.limited(robot.effort_limits, free_base(robot).v))
    return [(rows, 3 * len(contacts)), (rows,), (rows,)]


def bound_arrays(
    states: States, contacts: Holds, coefficient: float, normal: tuple[float, ...], least: float
) -> tuple[Any, ...]:
    robot, pyramid = states.robot, pyramid_rows(Vector(*normal), coefficient)
    needed, jacobian, base = needed_torques(states), frame_jacobian(states, contacts), free_base(robot).v
    return support.friction_bounds(needed, jacobian, base, robot.effort_limits, pyramid, least)


@PublicFunction(
    bound_shapes,
    bound_arrays,
    normalize_options=check_bounds,
    pack=ContactBounds._make,
    result_names=("A", "lower", "upper"),
)
def contact_bounds(  # type: ignore[empty-body]
    robot: Robot,
    q: Array,
    qd: Array,
    qdd: Array,
    wrench: Array | Mapping[str, Array] | None = None,
    *,
    contacts: Iterable[str] | None = None,
    coefficient: float = 0.7,
    normal: Iterable[float] = (0.0, 0.0, 1.0),
    least: float = 0.0,
    point: Array | None = None,
    axes: ComponentAxes = "base",
    check: bool = False,
) -> ContactBounds:
    """Bounds of a quadratic program for ground forces that accelerate a floating robot by qdd without sliding.

    Rows of A, with the forces f on the contacts, three numbers each in base axes: the six equations of the free joint;
    for each contact the force along the normal, and the four sides of a pyramid inside the cone of friction; the
    torque of each joint with an `effort_limit`. With P = 1 the program ½ fᵀ P f → min is that of the least forces.

    Parameters
    ----------
    robot : Robot
        With exactly one free joint on its base.
    q : array_like, (..., nq)
    qd, qdd : array_like, (..., n)
    wrench, point, axes, check
        As for `lw.inverse_dynamics`.
    contacts : sequence of str
        Frames or links whose origins touch the ground.
    coefficient : float
        Coefficient of friction between the contacts and the ground.
    normal : array_like, (3,)
        Of the ground, in base axes; of any length but zero.
    least : float
        Least normal force of each contact, in N.

    Returns
    -------
    ContactBounds
        Named tuple of A (..., rows, 3 k), lower and upper (..., rows).

    Examples
    --------
    >>> import linkwise as lw
    >>> dog = lw.load("go1")
    >>> still = [0] * dog.n
    >>> bounds = lw.control.contact_bounds(dog, lw.neutral(dog), still, still, contacts=["FL_foot", "RR_foot"])
    >>> bounds.A.shape
    (16, 6)
    """
