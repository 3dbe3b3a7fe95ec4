"""Regressors: torques and energies as matrices times the parameters of the robot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..api.call import PublicFunction
from ..api.states import Array, States
from ..dynamics.energy_regressor import energies_of_bodies
from ..dynamics.reference_regressor import reference_torques_of_bodies
from ..dynamics.regressor import torques_of_bodies
from ..robot import Friction, PerRobot, Robot
from ..spatial import RigidInertia, Scalar, Scalars, add
from .parameters import ROTOR, Column, all_columns, parameters


def regressor_rows(states: States, law: Friction | None, base: bool | None) -> list[list[Any]]:
    columns = columns_of(states.robot, law, base)
    of_columns = map(states.coordinates.torques, torques_of_columns(states, law, columns))
    return [list(row) for row in zip(*of_columns, strict=True)]


def regressor_shape(robot: Robot, friction: Friction | None, base: bool | None) -> tuple[int, int]:
    return robot.n, len(columns_of(robot, friction, base))


def check_base(robot: Robot, friction: Friction | None, base: bool) -> dict[str, Any]:
    if not isinstance(base, bool):
        raise TypeError(f"base is {base!r} (expected True for the columns of the base parameters, or False)")
    return {"friction": friction, "base": base or None}


@PublicFunction(
    regressor_shape, regressor_rows, normalize_options=check_base, result_names=("Y",), multiplied=parameters
)
def regressor(
    robot: Robot,
    q: Array,
    qd: Array,
    qdd: Array,
    *,
    friction: bool | Friction = False,
    base: bool = False,
    check: bool = False,
) -> Array:
    """The matrix Y(q, qd, qdd) whose product with the robot's parameters is its torques.

        τ = Y(q, q̇, q̈) π,    π = `lw.parameters(robot)`

    Parameters
    ----------
    robot : Robot
    q : array_like, (..., nq)
    qd, qdd : array_like, (..., n)
    friction : bool or Friction
        Add columns for friction, as for `lw.inverse_dynamics`.
    base : bool
        Columns of `lw.parameters(robot, base=True)` only: no column is a sum of others.
    check : bool
        Refuse numbers that are not finite.

    Returns
    -------
    Array, (..., n, p)
        `lw.parameters(robot).names` names the columns.

    Examples
    --------
    >>> import linkwise as lw
    >>> arm = lw.load("planar3")
    >>> Y = lw.regressor(arm, q=[0, 0, 0], qd=[0, 0, 0], qdd=[0, 0, 0])
    >>> Y.shape, Y @ lw.parameters(arm)
    ((3, 33), array([4.34583, 1.54998, 0.32373]))
    """


def reference_regressor_rows(states: States, law: Friction | None, base: bool | None) -> list[list[Any]]:
    columns = columns_of(states.robot, law, base)
    motion = states.positions(), states.rates(), states.rates("qdr"), states.rates("qddr")
    of_bodies = reference_torques_of_bodies(states.links, *motion, bodies_of_links(states.robot, columns))
    torques = column_torques(states.robot, law, columns, of_bodies, motion[2], motion[3])
    return [list(row) for row in zip(*map(states.coordinates.torques, torques), strict=True)]


def check_no_balls(robot: Robot) -> None:
    if robot.balls:
        name = robot.links[robot.balls[0]].name
        raise ValueError(
            f"robot {robot.name!r} has a ball or free joint, at {name!r} (expected joints whose rates are those of"
            " their coordinates)"
        )


@PublicFunction(
    regressor_shape,
    reference_regressor_rows,
    normalize_options=check_base,
    check_robot=check_no_balls,
    result_names=("Y",),
    multiplied=parameters,
)
def slotine_li_regressor(
    robot: Robot,
    q: Array,
    qd: Array,
    qdr: Array,
    qddr: Array,
    *,
    friction: bool | Friction = False,
    base: bool = False,
    check: bool = False,
) -> Array:
    """The matrix Y(q, qd, qdr, qddr) of adaptive control by Slotine and Li.

    Y π = M(q) q̈_r + C(q, q̇) q̇_r + g(q), with C made of the Christoffel symbols of M, so that Ṁ - 2 C is skew.
    Friction and rotors are those of the reference. For qdr = qd and qddr = qdd it is `lw.regressor`.

    Parameters
    ----------
    robot : Robot
        Without ball and free joints.
    q, qd : array_like, (..., n)
    qdr, qddr : array_like, (..., n)
        Reference rates and accelerations.
    friction, base, check
        As for `lw.regressor`.

    Returns
    -------
    Array, (..., n, p)

    Examples
    --------
    >>> import linkwise as lw
    >>> arm = lw.load("planar3")
    >>> Y = lw.identification.slotine_li_regressor(arm, [0.1, 0.2, 0.3], [1, 2, 3], [1, 1, 1], [0, 0, 0])
    >>> Y @ lw.parameters(arm)
    array([4.07335535, 1.42160718, 0.28656046])
    """


def body_energies(states: States) -> list[Any]:
    columns, rates = columns_of(states.robot, None, base=False), states.rates()
    bodies = bodies_of_links(states.robot, columns)
    of_links = energies_of_bodies(states.links, states.positions(), rates, bodies)
    of_bodies = (energy for of_link in of_links for energy in of_link)
    return [energy_of_rotor(states.robot, column, rates) if column.drive else next(of_bodies) for column in columns]


@PublicFunction(
    lambda robot: (len(columns_of(robot, None, base=False)),),
    body_energies,
    result_names=("Y",),
    multiplied=parameters,
)
def energy_regressor(robot: Robot, q: Array, qd: Array, *, check: bool = False) -> Array:
    """The vector whose product with the robot's parameters is its energy, kinetic and potential.

    Parameters
    ----------
    robot : Robot
    q : array_like, (..., nq)
    qd : array_like, (..., n)
    check : bool
        Refuse numbers that are not finite.

    Returns
    -------
    Array, (..., p)
        For `lw.parameters(robot)`.

    Examples
    --------
    >>> import numpy as np
    >>> import linkwise as lw
    >>> arm = lw.load("planar3")
    >>> energy = lw.identification.energy_regressor(arm, [0.1, 0.2, 0.3], [1, 2, 3]) @ lw.parameters(arm)
    >>> bool(np.isclose(energy, lw.kinetic_energy(arm, [0.1, 0.2, 0.3], [1, 2, 3])
    ...                 + lw.potential_energy(arm, [0.1, 0.2, 0.3])))
    True
    """


def columns_of(robot: Robot, law: Friction | None, base: bool | None) -> list[Column]:
    """The columns of all parameters, or of the base parameters."""
    if not base:
        return cached_columns(robot, law)
    from .base_parameters import base_grouping

    return base_grouping(robot, law).columns


cached_columns = PerRobot(all_columns)


def bodies_of_links(robot: Robot, columns: Sequence[Column]) -> list[list[RigidInertia]]:
    """The bodies on each link, in the order of the columns."""
    bodies: list[list[RigidInertia]] = [[] for _ in robot.links]
    for column in columns:
        for link, body in column.bodies:
            bodies[link].append(body)
    return bodies


def torques_of_columns(states: States, law: Friction | None, columns: Sequence[Column]) -> list[list[Scalar]]:
    """The torques of the links in each column."""
    robot, rates = states.robot, states.rates()
    motion = states.positions(), rates, states.accelerations()
    of_bodies = torques_of_bodies(states.links, *motion, bodies_of_links(robot, columns))
    # accelerations of the coordinates, also where those of links differ: in balls
    return column_torques(robot, law, columns, of_bodies, rates, states.rates("qdd"))


def column_torques(
    robot: Robot,
    law: Friction | None,
    columns: Sequence[Column],
    of_bodies: Sequence[Sequence[Scalars]],
    rates: Scalars,
    accelerations: Scalars,
) -> list[list[Scalar]]:
    """The torques of the links in each column, from those of the bodies and drives."""
    on_links = dict(enumerate(map(iter, of_bodies)))
    drives = {ROTOR: accelerations}
    if law is not None:
        drives |= law.unit_torques(robot, rates)
    torques = []
    for column in columns:
        if column.drive:
            kind, k = column.drive
            driven = range(robot.moving[k].first, robot.moving[k].link + 1)
            torques.append([x if i in driven else 0.0 for i, x in enumerate(drives[kind])])
        else:
            torques.append(sum_columns([next(on_links[link]) for link, _ in column.bodies]))
    return torques


def sum_columns(columns: Sequence[Scalars]) -> list[Scalar]:
    first, *others = columns
    for other in others:
        first = [add(*pair) for pair in zip(first, other, strict=True)]
    return list(first)


def energy_of_rotor(robot: Robot, column: Column, rates: Scalars) -> Scalar:
    """The energy of a unit of rotor inertia in each degree of freedom of the joint."""
    energy: Scalar = 0.0
    assert column.drive is not None
    joint = robot.moving[column.drive[1]]
    for rate in rates[joint.first : joint.link + 1]:
        energy = add(energy, 0.5 * (rate * rate))
    return energy


def random_torques(robot: Robot, law: Friction | None, columns: Sequence[Column]) -> np.ndarray:
    """The columns of a robot of numbers in random states: (states · n, columns)."""
    rng, count = np.random.default_rng(robot.n), 2 * len(columns) // robot.n + 20
    q, (qd, qdd) = rng.normal(size=(count, robot.nq)), rng.normal(size=(2, count, robot.n))
    states = States(robot, {"q": q, "qd": qd, "qdd": qdd})
    torques = map(robot.coordinates.torques, torques_of_columns(states, law, columns))
    return np.array([[np.broadcast_to(x, count) for x in column] for column in torques]).reshape(len(columns), -1).T
