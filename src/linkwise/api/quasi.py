"""Quasi-coordinates: `normalized` (ν, ε) and `unnormalized` (ξ, κ), the same operations for both; what ball joints
add.

The terms that ball joints add to matrices and quasi-coordinates: their Euler angles are recentred at every state.

The algorithms see Euler angles θ; v are the joints' velocities, v = B(θ) θ̇ with B = 1 at the state, and Ḃ as in
`robot.kinds`. The inertia matrix of v is B⁻ᵀ I B⁻¹, so that at the state

    C   = C_θ - I Ḃ                 İ - 2C is skew if İ_θ - 2C_θ is, since I Ḃ - Ḃᵀ I is
    ṁ   = ṁ_θ - Ḃᵀ m + m S          S: skew, and such that ṁ is upper triangular, as m is
    ν̇   = ν̇_θ - S ν
    vᵀ (∂_k I) v = (vᵀ (∂_k I) v)_θ - 2 vᵀ I (∂_k B) v

Of Ḃᵀ only one element of each ball joint is below the diagonal, (y, x), where it is ω_z. With U, D of I = U D Uᵀ and
m = U D^½, S_yx = -S_xy = ω_z √(D_x / D_y); and for ξ = D^-½ ν

    ξ̇_x = ξ̇_x,θ + ω_z (ξ_y - U_xy ξ_x)            ξ̇_y = ξ̇_y,θ - ω_z (D_x ξ_x / D_y - U_xy ξ_y)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from ..dynamics import composite, quasi
from ..dynamics.quasi import Normalized, Unnormalized
from ..dynamics.quasi_velocity_rate import velocity_rate
from ..dynamics.udu import articulated_bodies
from ..robot import Robot
from ..spatial import Scalar, Scalars, add, dot_product, mul, power, sqrt, sub
from ..spatial.dense import Dense
from .call import BaseMotion, PublicFunction, base_motion
from .functions import differences, external_wrenches, refuse_coupled, sums
from .states import Array, ComponentAxes, States

if TYPE_CHECKING:
    from .budgets.budget import QuasiBudget


def recentred_coriolis(robot: Robot, q: Scalars, rates: Scalars, C: Sequence[Scalars]) -> Dense:
    """C_θ - I Ḃ; rotors resist ω̇ alone."""
    matrix = [list(row) for row in C]
    if not robot.balls:
        return matrix
    inertia = composite.inertia_matrix(robot.without_rotors() if robot.rotors_in_balls else robot, q)
    for row, I in zip(matrix, inertia, strict=True):
        for x in robot.balls:
            y, z = x + 1, x + 2
            row[x] = add(row[x], sub(mul(I[y], rates[z]), mul(I[z], rates[y])))
            row[y] = sub(row[y], mul(I[x], rates[z]))
    return matrix


def quasi_rates(
    kind: Unnormalized, robot: Robot, q: Scalars, velocity: Scalars, joint_rates: Scalars | None = None
) -> tuple[list[Scalar], list[Scalar]]:
    """The terms that recentring adds to ν̇ or ξ̇, and those that it subtracts from C(q, ν) or C(q, ξ) (there times D).

    `joint_rates` are those of the robot's motion, by default those of `velocity`.
    """
    rates: list[Scalar] = [0.0] * robot.n
    forces: list[Scalar] = [0.0] * robot.n
    bodies = articulated_bodies(robot, q)
    joint_rates = kind.joint_rates(robot, q, velocity) if joint_rates is None else joint_rates
    for x in robot.balls:
        y, spin = x + 1, joint_rates[x + 2]
        D_x, D_y = bodies[x].pivot, bodies[y].pivot
        if isinstance(kind, Normalized):
            s = mul(spin, sqrt(D_x / D_y))
            rates[x], rates[y] = mul(s, velocity[y]), -mul(s, velocity[x])
            forces[x], forces[y] = rates[x], rates[y]
        else:
            U_xy = power(robot.links[x].joint.axis.to_child(bodies[y].pose), bodies[y].psi)
            rates[x] = mul(spin, sub(velocity[y], mul(U_xy, velocity[x])))
            rates[y] = mul(spin, sub(mul(U_xy, velocity[y]), mul(D_x / D_y, velocity[x])))
            forces[x], forces[y] = mul(D_x, rates[x]), mul(D_y, rates[y])
    return rates, forces


def recentred_velocity_rate(
    kind: Unnormalized, robot: Robot, q: Scalars, joint_rates: Scalars, w: Scalars
) -> list[Scalar]:
    """The rate of the quasi-velocities of w: L̇_θᵀ w - Lᵀ Ḃ w, and what `quasi_rates` adds."""
    rates = velocity_rate(kind, robot, q, joint_rates, w)
    if not robot.balls:
        return rates
    turned: list[Scalar] = [0.0] * robot.n  # -Ḃ w
    for x in robot.balls:
        y, z = x + 1, x + 2
        turned[x], turned[y] = -mul(joint_rates[z], w[y]), mul(joint_rates[z], w[x])
        turned[z] = -mul(joint_rates[y], w[x])
    more, _ = quasi_rates(kind, robot, q, kind.velocity(robot, q, w), joint_rates)
    return [add(add(a, b), c) for a, b, c in zip(rates, kind.velocity(robot, q, turned), more, strict=True)]


def recentred_factor_rate(robot: Robot, rates: Scalars, m: Sequence[Scalars], m_dot: Sequence[Scalars]) -> Dense:
    """ṁ, from ṁ_θ."""
    matrix = [list(row) for row in m_dot]
    for x in robot.balls:
        y, z = x + 1, x + 2
        for column in range(robot.n):
            outer = sub(mul(rates[y], m[z][column]), mul(rates[z], m[y][column]))
            matrix[x][column] = sub(matrix[x][column], outer)
            matrix[y][column] = sub(matrix[y][column], mul(rates[z], m[x][column]))
        s = mul(rates[z], m[x][x] / m[y][y])
        for row, factor_row in zip(matrix, m, strict=True):
            row[x], row[y] = add(row[x], mul(s, factor_row[y])), sub(row[y], mul(s, factor_row[x]))
        matrix[y][x] = 0.0  # exactly
    return matrix


def recentred_gradient(robot: Robot, q: Scalars, rates: Scalars, gradient: Scalars) -> list[Scalar]:
    """vᵀ (∂_k I) v, from the gradient for Euler angles."""
    recentred = list(gradient)
    if not robot.balls:
        return recentred
    momentum = [dot_product(row, rates) for row in composite.inertia_matrix(robot, q)]
    for x in robot.balls:
        y, z = x + 1, x + 2
        recentred[y] = sub(recentred[y], mul(2.0, mul(momentum[z], rates[x])))
        turning = sub(mul(momentum[x], rates[y]), mul(momentum[y], rates[x]))
        recentred[z] = sub(recentred[z], mul(2.0, turning))
    return recentred


def check_quasi_robot(robot: Robot) -> None:
    """Raise an error for robots that have no diagonalized equations."""
    refuse_coupled(robot, "quasi-coordinates")
    if robot.rotors_in_balls:
        raise ValueError(
            f"robot {robot.name!r} has a ball joint with rotor inertia: quasi-coordinates have no form for it"
        )


def quasi_coriolis(self: QuasiCoordinates, states: States, gravity: bool, method: str) -> list[Any]:
    robot, external = states.robot, external_wrenches(states)
    angles, velocity = states.positions(), states.scalars("velocity")
    with_gravity = robot if gravity else robot.with_gravity((0.0, 0.0, 0.0))
    forces = self._kind.coriolis(with_gravity, angles, velocity, external, method)
    return differences(forces, quasi_rates(self._kind, robot, angles, velocity)[1]) if robot.balls else forces


def quasi_acceleration(self: QuasiCoordinates, states: States, base: BaseMotion | None) -> list[Any]:
    robot, angles = states.robot, states.positions()
    velocity, torques = states.scalars("velocity"), states.scalars("tau")
    external, moving = external_wrenches(states), base_motion(states, base)
    rates = self._kind.acceleration(robot, angles, velocity, torques, external, moving)
    return sums(rates, quasi_rates(self._kind, robot, angles, velocity)[0]) if robot.balls else rates


def quasi_terms(self: QuasiCoordinates, states: States) -> tuple[Any, ...]:
    from .budgets.budget import quasi_term_arrays  # imported only when it is used

    return quasi_term_arrays(self._kind, states)


QuasiFunction = partial(PublicFunction, divides=True, check_robot=check_quasi_robot)
JointQuasiFunction = partial(QuasiFunction, ("n",))


class QuasiCoordinates:
    """Kozłowski's diagonalized equations of motion.

    normalized:    ν = D^½ Uᵀ qd,   ν̇ + C(q, ν) = ε,   ε = D^-½ U⁻¹ tau,   kinetic energy ½ νᵀν
    unnormalized:  ξ = Uᵀ qd,     D ξ̇ + C(q, ξ) = κ,   κ = U⁻¹ tau,        kinetic energy ½ ξᵀD ξ

    with I = U D Uᵀ the inertia matrix. Without gravity νᵀ C(q, ν) = 0: the Coriolis forces do no work.
    """

    def __init__(self, kind: quasi.Unnormalized) -> None:
        self._kind = kind

    def __repr__(self) -> str:
        return f"linkwise.formulations.{self._kind.name}"

    def __reduce__(self) -> str:
        return self._kind.name  # pickled and copied as what this module calls it

    @JointQuasiFunction(lambda self, states: self._kind.velocity(states.links, states.positions(), states.rates()))
    def velocity(self, robot: Robot, q: Array, qd: Array, *, check: bool = False) -> Array:
        """The quasi-velocities of the joint rates qd: (..., n)."""

    @JointQuasiFunction(
        lambda self, states: recentred_velocity_rate(
            self._kind, states.robot, states.positions(), states.rates(), states.scalars("w")
        )
    )
    def velocity_rate(self, robot: Robot, q: Array, qd: Array, w: Array, *, check: bool = False) -> Array:
        """The rate of the quasi-velocities of joint rates w that stay the same while the robot moves by qd: (..., n).

        L̇ᵀ w for ν, U̇ᵀ w for ξ. The quasi-velocities of a motion have the rate of qd itself, and the
        quasi-velocities of its accelerations: `velocity_rate(robot, q, qd, qd) + velocity(robot, q, qdd)`.
        """

    @JointQuasiFunction(
        lambda self, states: self._kind.joint_rates(states.links, states.positions(), states.scalars("velocity"))
    )
    def joint_rates(self, robot: Robot, q: Array, velocity: Array, *, check: bool = False) -> Array:
        """The joint rates of quasi-velocities: (..., n)."""

    @JointQuasiFunction(lambda self, states: self._kind.force(states.links, states.positions(), states.scalars("tau")))
    def force(self, robot: Robot, q: Array, tau: Array, *, check: bool = False) -> Array:
        """The quasi-forces of the torques tau: (..., n)."""

    @JointQuasiFunction(
        lambda self, states: self._kind.joint_torque(states.links, states.positions(), states.scalars("force"))
    )
    def joint_torque(self, robot: Robot, q: Array, force: Array, *, check: bool = False) -> Array:
        """The torques of quasi-forces: (..., n)."""

    @JointQuasiFunction(quasi_coriolis)
    def coriolis(
        self,
        robot: Robot,
        q: Array,
        velocity: Array,
        wrench: Array | Mapping[str, Array] | None = None,
        *,
        point: Array | None = None,
        axes: ComponentAxes = "base",
        gravity: bool = True,
        method: Literal["recursive", "component"] = "recursive",
        check: bool = False,
    ) -> Array:
        """C(q, velocity), gravity and the external wrench included.

        Parameters
        ----------
        robot : Robot
        q : array_like, (..., nq)
        velocity : array_like, (..., n)
            Quasi-velocities.
        wrench, point, axes, check
            As for `lw.inverse_dynamics`.
        gravity : bool
            Include gravity.
        method : {"recursive", "component"}
            O(n) recursion, or the sums of Kozłowski's equation (48).

        Returns
        -------
        Array, (..., n)
        """

    @JointQuasiFunction(quasi_acceleration, takes_base_motion=True)
    def acceleration(
        self,
        robot: Robot,
        q: Array,
        velocity: Array,
        tau: Array,
        wrench: Array | Mapping[str, Array] | None = None,
        *,
        point: Array | None = None,
        axes: ComponentAxes = "base",
        base: BaseMotion | None = None,
        check: bool = False,
    ) -> Array:
        """The rates of the quasi-velocities under the torques tau: (..., n); others as for `lw.forward_dynamics`."""

    def budget(
        self,
        robot: Robot,
        q: Array,
        velocity: Array,
        wrench: Array | Mapping[str, Array] | None = None,
        *,
        point: Array | None = None,
        axes: ComponentAxes = "base",
        t: Array | None = None,
        check: bool = False,
    ) -> QuasiBudget:
        """C(q, velocity), as `coriolis` gives it, split into elements c_ki of Kozłowski's equation (48).

        Parameters
        ----------
        robot : Robot
        q : array_like, (..., nq)
        velocity : array_like, (..., n)
        wrench, point, axes, check
            As for `lw.inverse_dynamics`.
        t : array_like, (samples,), optional
            Times of the states along a trajectory, for tables and plots.

        Returns
        -------
        QuasiBudget
            A named tuple of arrays that prints as a table: the elements with their summands, and the terms of links.
        """
        from .budgets.budget import QuasiBudget

        parts: Any = self._terms(robot, q, velocity, wrench, point, axes, check)
        return QuasiBudget(*parts, robot=robot, kind=self._kind.name, t=t)

    @QuasiFunction([("n", "n", "n"), ("n", "n"), ("n",), *[("n", "links")] * 3], quasi_terms)
    def _terms(
        self,
        robot: Robot,
        q: Array,
        velocity: Array,
        wrench: Array | Mapping[str, Array] | None = None,
        point: Array | None = None,
        axes: ComponentAxes = "base",
        check: bool = False,
    ) -> Array:
        """The arrays of a `QuasiBudget`."""


normalized = QuasiCoordinates(quasi.normalized)
unnormalized = QuasiCoordinates(quasi.unnormalized)
