"""The matrices of the formulations, as public functions."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..dynamics import constraints, denoc, inverse_inertia, operator_matrices
from ..dynamics.coriolis import coriolis_matrix as convective
from ..errors import RobotError
from ..robot import Robot
from .arrays import Array, States
from .functions import computed, external_wrenches, guarded


def coriolis_matrix(arm: Robot, q: Array, qd: Array, *, check: bool = False) -> Array:
    """The matrix C(q, qd) of Saha's equation (29): (..., n, n). C qd are the Coriolis and centrifugal torques.

    The rate of the inertia matrix is C + Cᵀ, that is, İ - 2C is skew. C is not the matrix of Christoffel symbols.
    """
    states = States(arm, {"q": q, "qd": qd}, check=check)
    return computed(states, lambda: convective(arm, states.scalars("q"), states.scalars("qd")), (arm.n, arm.n))


def inverse_inertia_matrix(arm: Robot, q: Array, *, check: bool = False) -> Array:
    """The inverse of the inertia matrix, element by element by Saha's recursions: (..., n, n)."""
    states = States(arm, {"q": q}, check=check)
    return guarded(states, lambda: inverse_inertia.inverse_inertia_matrix(arm, states.scalars("q")), (arm.n, arm.n))


def denoc_matrices(arm: Robot, q: Array, *, check: bool = False) -> tuple[Array, Array]:
    """The decoupled natural orthogonal complement: N_l (..., 6n, 6n) and N_d (..., 6n, n).

    N_l N_d qd are the links' twists, angular part first, at their mass centres, in the base frame.
    """
    states = States(arm, {"q": q}, check=check)
    with np.errstate(all="ignore"):
        N_l, N_d = denoc.matrices(arm, states.scalars("q"))
    return states.join(N_l, (6 * arm.n, 6 * arm.n)), states.join(N_d, (6 * arm.n, arm.n))


def complement_matrices(arm: Robot, q: Array, *, check: bool = False) -> tuple[Array, Array]:
    """Angeles' constraint matrix K (..., 6n, 6n), of rank 5n, and its complement T (..., 6n, n): K T = 0.

    For twists at the mass centres, angular part first, in the base frame.
    """
    states = States(arm, {"q": q}, check=check)
    with np.errstate(all="ignore"):
        K, T = constraints.matrices(arm, states.scalars("q"))
    return states.join(K, (6 * arm.n, 6 * arm.n)), states.join(T, (6 * arm.n, arm.n))


def constraint_wrenches(
    arm: Robot, q: Array, qd: Array, qdd: Array, wrench: Array | None = None, *, check: bool = False
) -> Array:
    """What each joint transmits without its drive, from the multipliers of Angeles' constraints: (..., n, 6).

    Moment about the joint, then force, in the base frame: `joint_wrenches` less its component along the joint's axis.
    """
    states = States(arm, {"q": q, "qd": qd, "qdd": qdd}, wrench, check)

    def loads() -> list[list[Any]]:
        motion = (states.scalars("q"), states.scalars("qd"), states.scalars("qdd"))
        return [list(load) for load in constraints.constraint_wrenches(arm, *motion, external_wrenches(states))]

    return computed(states, loads, (arm.n, 6))


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
    for link in arm.links:
        if not (type(link.joint.rotor_inertia) is float and link.joint.rotor_inertia == 0.0):
            raise RobotError(
                f"robot {arm.name!r}, link {link.name!r}: the spatial operators know no rotor inertia; ask for them of"
                " arm.without_rotors()"
            )
    with np.errstate(all="ignore"):
        found: Any = operator_matrices.operators(arm, states.scalars("q"))
    return Operators(*(states.join(matrix, (len(matrix), len(matrix[0]))) for matrix in found))
