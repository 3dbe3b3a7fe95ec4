"""The Riemann symbols of the inertia metric: whether quasi-velocities are the rates of coordinates."""

from __future__ import annotations

from typing import Any

from ..api.call import PublicFunction
from ..api.momentum import positions_at_origin
from ..api.states import Array, States
from ..dynamics import composite
from ..dynamics.curvature import riemann_symbols
from ..robot import Robot


def check_rotors(robot: Robot) -> None:
    """Raise an error for the one kind of robot whose metric is not that of particles with rotors beside them."""
    if robot.rotors_in_balls:
        raise ValueError(
            f"robot {robot.name!r} has a ball joint with rotor inertia (expected rotors on joints of one degree of"
            " freedom: a rotor about three axes has a curvature of its own)"
        )


def symbols(states: States) -> Any:
    q = positions_at_origin(states)
    inertia = states.coordinates.matrix(composite.inertia_matrix(states.links, q))
    return riemann_symbols(states.robot, q, inertia)


@PublicFunction(("n",) * 4, symbols, divides=True, check_robot=check_rotors, published="curvature", result_names=("R",))
def curvature(robot: Robot, q: Array, *, check: bool = False) -> Array:
    """The Riemann symbols of the first kind, R_ijkl, of the metric that the inertia matrix I(q) is.

    They vanish for all q if and only if I = Lᵀ L with L q̇ the rate of some coordinates Q(q). In these the robot moves
    as free unit masses do: the normalized quasi-velocities would be integrable. With the Christoffel symbols of the
    first kind Γ_ij,k = ½ (∂I_jk/∂q_i + ∂I_ik/∂q_j - ∂I_ij/∂q_k),

        R_ijkl = ½ (∂²I_il/∂q_j∂q_k + ∂²I_jk/∂q_i∂q_l - ∂²I_ik/∂q_j∂q_l - ∂²I_jl/∂q_i∂q_k)
                 + Γ_il · I⁻¹ Γ_jk - Γ_ik · I⁻¹ Γ_jl

    The sign is the one with which a sphere has R_ijij > 0: R_ijij / (I_ii I_jj - I_ij²) is the curvature of the
    surface on which joints i and j move. The result is exact, by Gauss's equation, without differences.

    Parameters
    ----------
    robot : Robot
        With ball and free joints the components are along the velocities, as in `lw.derivative`.
    q : array_like, (..., nq)
    check : bool
        Refuse numbers that are not finite.

    Returns
    -------
    Array, (..., n, n, n, n)
        R_ijkl = -R_jikl = -R_ijlk = R_klij, and R_ijkl + R_iklj + R_iljk = 0. Units follow the joints: kg m² if all
        are revolute.

    Raises
    ------
    ValueError
        If a ball joint has a rotor inertia.
    SingularError
        If nothing resists the motion of a joint.

    Examples
    --------
    >>> import numpy as np, linkwise as lw
    >>> np.abs(lw.curvature(lw.load("gantry"), [0.1, 0.2, 0.3])).max()       # three slides: flat
    np.float64(0.0)
    >>> R = lw.curvature(lw.load("stanford"), [0, 1.2, 0.1, 0, 0.5, 0])
    >>> R.shape, bool(np.abs(R).max() > 1.0), bool(np.allclose(R, -R.swapaxes(0, 1)))
    ((6, 6, 6, 6), True, True)
    """
