"""The matrices of the formulations, as public functions."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np

from ..dynamics import composite, constraints, coriolis, denoc, elimination, fewest, kinematics, operator_matrices
from ..dynamics import mass_factor as factor
from ..dynamics import operator_rates as table
from ..errors import one_of
from ..robot import Robot
from ..spatial import Placement, Wrench, cross, dot
from .call import BaseMotion, PublicFunction, base_motion
from .functions import external_wrenches, refuse_coupled
from .quasi import recentred_coriolis, recentred_factor_rate, recentred_gradient
from .states import Array, ComponentAxes, States


def refuse_rotors_and_couplings(robot: Robot, what: str) -> None:
    """Raise an error that names the joint with a rotor or a coupling, for formulations without a form for them."""
    robot.refuse_rotors(what)
    refuse_coupled(robot, what)


def coriolis_elements(states: States) -> list[list[Any]]:
    q, rates = states.positions(), states.rates()
    C = coriolis.coriolis_matrix(states.links, q, rates)
    return states.coordinates.matrix(recentred_coriolis(states.links, q, rates, C))


@PublicFunction(("n", "n"), coriolis_elements, published="coriolis")
def coriolis_matrix(robot: Robot, q: Array, qd: Array, *, check: bool = False) -> Array:
    """The matrix C(q, qd) of Saha's equation (29); C qd are the Coriolis and centrifugal torques.

    İ = C + Cᵀ, so İ - 2C is skew. C is not the matrix of Christoffel symbols.

    Parameters
    ----------
    robot : Robot
    q : array_like, (..., nq)
    qd : array_like, (..., n)
    check : bool
        Refuse numbers that are not finite.

    Returns
    -------
    Array, (..., n, n)
    """


def udu_factors(states: States, algorithm: Any) -> tuple[Any, list[Any]]:
    robot, q = states.robot, states.positions()
    if robot.couplings:
        matrix = states.coordinates.matrix(composite.inertia_matrix(states.links, q))
        upper, diagonal = elimination.udu_of(matrix)
    else:
        upper, diagonal = algorithm(robot, q)
    return upper, [np.where(x == 0.0, np.nan, x) for x in diagonal] if states.numeric else diagonal  # 0: singular


@PublicFunction([("n", "n"), ("n",)], udu_factors, divides=True, compiled=False, result_names=("U", "D"))
def udu(robot: Robot, q: Array, *, method: str | None = None, check: bool = False) -> tuple[Array, Array]:  # type: ignore[empty-body]
    """The factors of I = U D Uᵀ.

    Parameters
    ----------
    robot : Robot
    q : array_like, (..., nq)
    method : str, optional
        "denoc" (default), the recursion of the articulated bodies, or "elimination" of the elements of I.
    check : bool
        Refuse numbers that are not finite.

    Returns
    -------
    U : Array, (..., n, n)
        Unit upper triangular.
    D : Array, (..., n)
        Diagonal of D, all positive.

    Examples
    --------
    >>> import linkwise as lw
    >>> U, D = lw.formulations.udu(lw.load("planar3"), [0.1, 0.2, 0.3])
    >>> U.shape, D.shape
    ((3, 3), (3,))
    """


def inverse_inertia(states: States, algorithm: Any) -> Any:
    links, q = states.links, states.positions()
    if not states.robot.couplings:
        return algorithm(links, q)
    return elimination.inverse_of(states.coordinates.matrix(fewest.composite_matrix(links, q)))


@PublicFunction(("n", "n"), inverse_inertia, divides=True)
def inverse_inertia_matrix(robot: Robot, q: Array, *, method: str | None = None, check: bool = False) -> Array:
    """The inverse of the inertia matrix, element by element by Saha's recursions.

    Parameters
    ----------
    robot : Robot
    q : array_like, (..., nq)
    method : str, optional
        "inverse-inertia" (default) is a recursion over the links; "elimination" works on the elements of I, and is the
        default where joints are coupled; "fewest" is the one with fewer operations.
    check : bool
        Refuse numbers that are not finite.

    Returns
    -------
    Array, (..., n, n)
    """


@PublicFunction(
    [("6n", "6n"), ("6n", "n")],
    lambda states: denoc.matrices(states.robot, states.positions()),
    compiled=False,
    check_robot=partial(refuse_coupled, what="the matrices of the DeNOC"),
    published="denoc",
)
def denoc_matrices(robot: Robot, q: Array, *, check: bool = False) -> tuple[Array, Array]:  # type: ignore[empty-body]
    """The decoupled natural orthogonal complement N_l N_d.

    N_l N_d qd are the links' twists, angular part first, at their mass centres, in the base frame.

    Parameters
    ----------
    robot : Robot
        Without coupled joints.
    q : array_like, (..., nq)
    check : bool
        Refuse numbers that are not finite.

    Returns
    -------
    N_l : Array, (..., 6n, 6n)
    N_d : Array, (..., 6n, n)
    """


@PublicFunction(
    [("6n", "6n"), ("6n", "n")],
    lambda states: constraints.matrices(states.robot, states.positions()),
    compiled=False,
    check_robot=partial(refuse_coupled, what="the constraint matrices"),
    published="constraints",
    result_names=("K", "T"),
)
def complement_matrices(robot: Robot, q: Array, *, check: bool = False) -> tuple[Array, Array]:  # type: ignore[empty-body]
    """Angeles' constraint matrix K, of rank 5n, and its complement T: K T = 0.

    For twists at the mass centres, angular part first, in the base frame.

    Parameters
    ----------
    robot : Robot
        Without coupled joints.
    q : array_like, (..., nq)
    check : bool
        Refuse numbers that are not finite.

    Returns
    -------
    K : Array, (..., 6n, 6n)
    T : Array, (..., 6n, n)
    """


def constraint_wrench_rows(states: States, base: BaseMotion | None) -> list[list[Any]]:
    external, moving = external_wrenches(states), base_motion(states, base)
    wrenches = constraints.constraint_wrenches(states.links, *states.motion(), external, moving)
    return [list(load) for load in remove_drive_components(states, wrenches)]


@PublicFunction(("links", 6), constraint_wrench_rows, takes_base_motion=True, published="constraints")
def constraint_wrenches(
    robot: Robot,
    q: Array,
    qd: Array,
    qdd: Array,
    wrench: Array | Mapping[str, Array] | None = None,
    *,
    point: Array | None = None,
    axes: ComponentAxes = "base",
    base: BaseMotion | None = None,
    check: bool = False,
) -> Array:
    """The constraint wrench of each joint, from the multipliers of Angeles' constraints.

    It is the wrench of `lw.joint_wrenches` without what the drive gives: no component along an axis in which the
    joint moves. The drive of a screw is a moment about its axis. A ball joint transmits forces only, a free joint
    nothing.

    Parameters
    ----------
    robot : Robot
    q : array_like, (..., nq)
    qd, qdd : array_like, (..., n)
    wrench, point, axes, base, check
        As for `lw.inverse_dynamics`.

    Returns
    -------
    Array, (..., joints, 6)
        For each of `robot.names` moment about the joint, then force, in the base frame.

    Examples
    --------
    >>> import linkwise as lw
    >>> arm = lw.load("planar3").with_free_base()
    >>> lw.constraint_wrenches(arm, q=[0, 0, 0, 1, 0, 0, 0, 0, 0, 0], qd=[0] * 9, qdd=[0] * 9).shape
    (4, 6)
    """


def remove_drive_components(states: States, wrenches: list[Wrench]) -> list[Wrench]:
    """The wrench at each joint of the table, from that of its last link without the drive of that link alone.

    The axes in which a joint turns are orthogonal, and so are those in which it slides. The last link turns; its
    wrench is about its own origin, where the forces of the drives act.
    """
    frames = kinematics.poses(states.links, states.positions())
    loads = []
    for joint in states.robot.moving:
        load, first = wrenches[joint.link], states.links.links[joint.first]
        moment, force = load.moment, load.force
        for index in range(joint.first, joint.link):
            axis, turn = states.links.links[index].joint.axis, frames[index].axes
            turning, sliding = turn @ axis.angular, turn @ axis.linear
            moment, force = moment - turning * dot(turning, moment), force - sliding * dot(sliding, force)
        if joint.first != joint.link:
            base = frames[first.parent] if first.parent >= 0 else Placement.identity()
            robot = frames[joint.link].translation - base.point(first.placement.translation)
            moment = moment + cross(robot, force)
        loads.append(Wrench(moment, force))
    return loads


class Operators(NamedTuple):
    """Kozłowski's spatial operators as matrices, links base first: see `operators`."""

    H: Array
    M: Array
    E_phi: Array
    phi: Array
    P: Array
    D: Array
    G: Array
    K: Array
    tau_bar: Array
    E_psi: Array
    psi: Array


SQUARE, COLUMNS = ("6n", "6n"), ("6n", "n")


@PublicFunction(
    [("n", "6n"), *[SQUARE] * 4, ("n", "n"), COLUMNS, COLUMNS, *[SQUARE] * 3],
    lambda states: operator_matrices.operators(states.robot, states.positions()),
    divides=True,
    compiled=False,
    check_robot=partial(refuse_rotors_and_couplings, what="the spatial operators"),
    pack=Operators._make,
    published="operators",
)
def operators(robot: Robot, q: Array, *, check: bool = False) -> Operators:  # type: ignore[empty-body]
    """Kozłowski's spatial operators H, M, E_Φ, Φ, P, D, G, K, τ̄, E_Ψ, Ψ, links base first.

    I = H Φ M Φ* H* = (1 + H Φ K) D (1 + H Φ K)*, and (1 + H Φ K)⁻¹ = 1 - H Ψ K.

    Parameters
    ----------
    robot : Robot
        Without coupled joints and rotor inertias (see `Robot.without_rotors`).
    q : array_like, (..., nq)
    check : bool
        Refuse numbers that are not finite.

    Returns
    -------
    Operators
        Named tuple of arrays (..., rows, columns), with components in the links' joint-aligned frames.
    """


class OperatorRates(NamedTuple):
    """Rates of the spatial operators: see `operator_rates`."""

    E_phi: Array
    phi: Array
    H: Array
    M: Array
    D: Array
    G: Array
    tau_bar: Array
    E_psi: Array
    P: Array  # always seen from the links
    lambda_: Array  # λ̇: the rate of P seen from the parents
    omega: Array  # Ω: rotation of the links
    omega_delta: Array  # Ω_δ: motion of the joints


def rates_of_operators(states: States, seen_from: str) -> list[Any]:
    rates = table.operator_rates(states.robot, states.positions(), states.rates())
    rate_by_operator = rates.local if seen_from == "links" else rates.inertial
    return [*rate_by_operator.values(), rates.P_dot, rates.lambda_dot, rates.omega, rates.omega_delta]


@PublicFunction(
    [SQUARE, SQUARE, ("n", "6n"), SQUARE, ("n", "n"), COLUMNS, *[SQUARE] * 6],
    rates_of_operators,
    divides=True,
    compiled=False,
    check_robot=partial(refuse_rotors_and_couplings, what="the rates of the spatial operators"),
    pack=OperatorRates._make,
)
def operator_rates(  # type: ignore[return]
    robot: Robot, q: Array, qd: Array, *, seen_from: Literal["links", "ground"] = "links", check: bool = False
) -> OperatorRates:
    """The rates of the spatial operators by Kozłowski's Table 1.

    Parameters
    ----------
    robot : Robot
        As for `operators`.
    q : array_like, (..., nq)
    qd : array_like, (..., n)
    seen_from : {"links", "ground"}
        Local or inertial rates; both have components in the links' joint-aligned frames.
    check : bool
        Refuse numbers that are not finite.

    Returns
    -------
    OperatorRates
        Named tuple of arrays, with shapes as for `operators`.
    """
    one_of(seen_from, ("links", "ground"), "seen_from")


@PublicFunction(
    ("n", "n"),
    lambda states: factor.mass_factor(states.links, states.positions()),
    divides=True,
    check_robot=partial(refuse_coupled, what="the factors of the inertia matrix"),
    published="mass-factor",
)
def mass_factor(robot: Robot, q: Array, *, check: bool = False) -> Array:
    """Kozłowski's m = (1 + H Φ K) D^½ of the inertia matrix m mᵀ. The normalized velocities are mᵀ qd.

    Parameters
    ----------
    robot : Robot
        Without coupled joints.
    q : array_like, (..., nq)
    check : bool
        Refuse numbers that are not finite.

    Returns
    -------
    Array, (..., n, n)
    """


def factor_rate(states: States) -> Any:
    links, q, rates = states.links, states.positions(), states.rates()
    m_dot = factor.mass_factor_rate(links, q, rates)
    return recentred_factor_rate(links, rates, factor.mass_factor(links, q), m_dot) if states.robot.balls else m_dot


@PublicFunction(
    ("n", "n"),
    factor_rate,
    divides=True,
    compiled=False,
    check_robot=partial(refuse_rotors_and_couplings, what="the rates of the mass factor"),
    published="mass-factor",
)
def mass_factor_rate(robot: Robot, q: Array, qd: Array, *, check: bool = False) -> Array:
    """The rate of `mass_factor`, by Kozłowski's equation (29).

    Parameters
    ----------
    robot : Robot
        Without coupled joints and rotor inertias.
    q : array_like, (..., nq)
    qd : array_like, (..., n)
    check : bool
        Refuse numbers that are not finite.

    Returns
    -------
    Array, (..., n, n)
    """


def gradient(states: States) -> list[Any]:
    at = states.links, states.positions(), states.rates()
    return recentred_gradient(*at, factor.kinetic_gradient(*at))


@PublicFunction(
    ("n",),
    gradient,
    divides=True,
    compiled=False,
    check_robot=partial(refuse_rotors_and_couplings, what="the gradients of the kinetic energy"),
)
def kinetic_gradient(robot: Robot, q: Array, qd: Array, *, check: bool = False) -> Array:
    """The vector of qdᵀ (∂I/∂q_k) qd, by Kozłowski's equation (32): twice the gradient of the kinetic energy by q.

    Parameters
    ----------
    robot : Robot
        Without coupled joints and rotor inertias.
    q : array_like, (..., nq)
    qd : array_like, (..., n)
    check : bool
        Refuse numbers that are not finite.

    Returns
    -------
    Array, (..., n)
    """
