"""The matrices of the formulations, as public functions."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..dynamics import constraints, coriolis, denoc, elimination, fewest, kinematics, operator_matrices
from ..dynamics import mass_factor as factor
from ..dynamics import operator_rates as table
from ..errors import one_of
from ..robot import Robot
from ..spatial import Placement, Scalars, Wrench, cross, dot
from .call import Call, fast, public
from .functions import external_wrenches, refuse_coupled
from .method_table import algorithm
from .recentring import recentred_coriolis, recentred_factor_rate, recentred_gradient
from .singular import explained, refuse_singular
from .states import Array, States


@fast
def coriolis_matrix(arm: Robot, q: Array, qd: Array, *, check: bool = False) -> Call:
    """The matrix C(q, qd) of Saha's equation (29): (..., n, n). C qd are the Coriolis and centrifugal torques.

    The rate of the inertia matrix is C + Cᵀ, that is, İ - 2C is skew. C is not the matrix of Christoffel symbols.
    """
    states = States(arm, {"q": q, "qd": qd}, check=check)

    def matrix() -> list[list[Any]]:
        q_links, rates = states.positions(), states.rates()
        C = coriolis.coriolis_matrix(states.links, q_links, rates)
        return states.coordinates.matrix(recentred_coriolis(states.links, q_links, rates, C))

    return Call(coriolis_matrix, states, matrix, (arm.n, arm.n), {})


@fast
def inverse_inertia_matrix(arm: Robot, q: Array, *, method: str | None = None, check: bool = False) -> Call:
    """The inverse of the inertia matrix, element by element by Saha's recursions: (..., n, n).

    `method="elimination"` takes the elements of I instead, as in formulas; `"fewest"` whichever is shorter.
    """
    plain = algorithm(inverse_inertia_matrix, method, arm)
    states, options = States(arm, {"q": q}, check=check), {"method": method}

    def inverse(links: Robot, q: Scalars) -> Any:
        if not arm.couplings:
            return plain(links, q)
        return elimination.inverse_of(states.coordinates.matrix(fewest.composite_matrix(links, q)))

    compute = states.applied(inverse, "q")
    return Call(inverse_inertia_matrix, states, compute, (arm.n, arm.n), options, divides=True)


def denoc_matrices(arm: Robot, q: Array, *, check: bool = False) -> tuple[Array, Array]:
    """The decoupled natural orthogonal complement: N_l (..., 6n, 6n) and N_d (..., 6n, n).

    N_l N_d qd are the links' twists, angular part first, at their mass centres, in the base frame.
    """
    states = States(arm, {"q": q}, check=check)
    refuse_coupled(arm, "the matrices of the DeNOC")
    with np.errstate(all="ignore"):
        N_l, N_d = denoc.matrices(arm, states.positions())
    return states.join(N_l, (6 * arm.n, 6 * arm.n)), states.join(N_d, (6 * arm.n, arm.n))


def complement_matrices(arm: Robot, q: Array, *, check: bool = False) -> tuple[Array, Array]:
    """Angeles' constraint matrix K (..., 6n, 6n), of rank 5n, and its complement T (..., 6n, n): K T = 0.

    For twists at the mass centres, angular part first, in the base frame.
    """
    states = States(arm, {"q": q}, check=check)
    refuse_coupled(arm, "the constraint matrices")
    with np.errstate(all="ignore"):
        K, T = constraints.matrices(arm, states.positions())
    return states.join(K, (6 * arm.n, 6 * arm.n)), states.join(T, (6 * arm.n, arm.n))


@public
def constraint_wrenches(
    arm: Robot,
    q: Array,
    qd: Array,
    qdd: Array,
    wrench: Array | None = None,
    *,
    point: Array | None = None,
    check: bool = False,
) -> Call:
    """What each joint transmits without its drives, from the multipliers of Angeles' constraints: (..., joints, 6).

    A row for each of `arm.names`, as `joint_wrenches` has: moment about the joint, then force, in the base frame. The
    drives' part of `joint_wrenches` is left out: the components along the axes in which the joint moves, forces of
    drives at the link's own frame. The drive of a screw turns it. Of a ball joint no moment is left, of a free joint
    nothing. `wrench` and `point` as for `inverse_dynamics`.

    >>> import linkwise as lw
    >>> arm = lw.load("planar3").with_free_base()
    >>> lw.constraint_wrenches(arm, q=[0, 0, 0, 1, 0, 0, 0, 0, 0, 0], qd=[0] * 9, qdd=[0] * 9).shape
    (4, 6)
    """
    states = States(arm, {"q": q, "qd": qd, "qdd": qdd}, wrench, check, point=point)

    def loads() -> list[list[Any]]:
        motion = states.positions(), states.rates(), states.accelerations()
        wrenches = constraints.constraint_wrenches(states.links, *motion, external_wrenches(states))
        return [list(load) for load in without_other_drives(states, wrenches)]

    return Call(constraint_wrenches, states, loads, (len(arm.names), 6), {})


def without_other_drives(states: States, wrenches: list[Wrench]) -> list[Wrench]:
    """What each joint of the table transmits, from what its last link gets without the drive of that link alone.

    The axes in which a joint turns are orthogonal, and so are those in which it slides; the last link turns, and its
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
            arm = frames[joint.link].translation - base.point(first.placement.translation)
            moment = moment + cross(arm, force)
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


def operators(arm: Robot, q: Array, *, check: bool = False) -> Operators:
    """The spatial operators H, M, E_Φ, Φ, P, D, G, K, τ̄, E_Ψ, Ψ as arrays (..., rows, columns), links base first.

    The inertia matrix is H Φ M Φ* H* = (1 + H Φ K) D (1 + H Φ K)*, and (1 + H Φ K)⁻¹ = 1 - H Ψ K. Components are in the
    links' joint-aligned frames. For robots whose drives have no inertia of their own (see `Robot.without_rotors`).
    """
    states = States(arm, {"q": q}, check=check)
    arm.refuse_rotors("the spatial operators")
    refuse_coupled(arm, "the spatial operators")
    with np.errstate(all="ignore"), explained(states):
        matrices: Any = operator_matrices.operators(arm, states.positions())
        arrays = [states.join(matrix, (len(matrix), len(matrix[0]))) for matrix in matrices]
    return Operators(*(refuse_singular(states, array) for array in arrays))


class OperatorRates(NamedTuple):
    """How the spatial operators change: see `operator_rates`."""

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
    omega: Array  # Ω: how the links turn
    omega_delta: Array  # Ω_δ: how the joints move


def operator_rates(arm: Robot, q: Array, qd: Array, *, seen_from: str = "links", check: bool = False) -> OperatorRates:
    """Kozłowski's Table 1: the rates of the spatial operators, seen from the links or from the ground.

    `seen_from="links"` gives the local rates, `"ground"` the inertial ones, both with components in the links'
    joint-aligned frames. Shapes and robots as for `operators`.
    """
    one_of(seen_from, ("links", "ground"), "seen_from")
    states = States(arm, {"q": q, "qd": qd}, check=check)
    arm.refuse_rotors("the rates of the spatial operators")
    refuse_coupled(arm, "the rates of the spatial operators")
    with np.errstate(all="ignore"), explained(states):
        rates = table.operator_rates(arm, states.positions(), states.rates())
        named = rates.local if seen_from == "links" else rates.inertial
        matrices = [*named.values(), rates.P_dot, rates.lambda_dot, rates.omega, rates.omega_delta]
        arrays = [states.join(matrix, (len(matrix), len(matrix[0]))) for matrix in matrices]
    return OperatorRates(*(refuse_singular(states, array) for array in arrays))


@public
def mass_factor(arm: Robot, q: Array, *, check: bool = False) -> Call:
    """Kozłowski's m = (1 + H Φ K) D^½ of the inertia matrix m mᵀ: (..., n, n). The normalized velocities are mᵀ qd."""
    states = States(arm, {"q": q}, check=check)
    refuse_coupled(arm, "the factors of the inertia matrix")
    return Call(mass_factor, states, states.applied(factor.mass_factor, "q"), (arm.n, arm.n), {}, divides=True)


@public
def mass_factor_rate(arm: Robot, q: Array, qd: Array, *, check: bool = False) -> Call:
    """The rate of `mass_factor`, by Kozłowski's equation (29): (..., n, n). For robots without rotor inertias."""
    states = States(arm, {"q": q, "qd": qd}, check=check)
    arm.refuse_rotors("the rates of the mass factor")
    refuse_coupled(arm, "the rates of the mass factor")

    def rate() -> Any:
        q_links, rates = states.positions(), states.rates()
        m_dot = factor.mass_factor_rate(states.links, q_links, rates)
        if not arm.balls:
            return m_dot
        return recentred_factor_rate(states.links, rates, factor.mass_factor(states.links, q_links), m_dot)

    return Call(mass_factor_rate, states, rate, (arm.n, arm.n), divides=True)


@public
def kinetic_gradient(arm: Robot, q: Array, qd: Array, *, check: bool = False) -> Call:
    """The vector of qdᵀ (∂I/∂q_k) qd, by Kozłowski's equation (32): (..., n). For robots without rotor inertias."""
    states = States(arm, {"q": q, "qd": qd}, check=check)
    arm.refuse_rotors("the gradients of the kinetic energy")
    refuse_coupled(arm, "the gradients of the kinetic energy")

    def gradient(links: Robot, q: Scalars, rates: Scalars) -> Any:
        return recentred_gradient(links, q, rates, factor.kinetic_gradient(links, q, rates))

    return Call(kinetic_gradient, states, states.applied(gradient, "q", "qd"), (arm.n,), divides=True)
