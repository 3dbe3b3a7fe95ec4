"""The two sets of quasi-coordinates as a user meets them, and forward dynamics by them. Equations as in `diagonal`.

    normalized     ν, ε, C(θ, ν)      ν̇ = ε - C(θ, ν)
    unnormalized   ξ, κ, C(θ, ξ)      ξ̇ = D⁻¹ (κ - C(θ, ξ))

Joint accelerations from them, outward; A is the acceleration of a link seen from its frame, a_i = V_i × H* θ̇_i:

    ξ̇_i = D⁻¹ H Ṗ ψ_i* V_β + G_i* (φ_i* A_β + a_i) + θ̈_i      A_i = φ_i* A_β + a_i + H* θ̈_i           (36)
    ν̇_i = D^½ ξ̇_i + ½ D^-½ Ḋ ξ_i      Ḋ = H λ̇ H*

A base that moves makes inertia forces in b; ξ and ν are of joint rates alone. Print of (36) mixes Ṗ with the sum of λ̇.
"""

from collections.abc import Sequence

from ..robot import Link, Robot, outward
from ..spatial import Scalar, Scalars, Twist, Wrench, cross_twist, mul, power, sqrt, sub
from . import components, diagonal
from .diagonal import InertiaRates, QuasiMotion, from_joint_rates, from_quasi_velocities, rates
from .newton_euler import LinkMotion, inertia_forces
from .operators import bias_wrenches
from .udu import Articulated, articulated_bodies

Wrenches = Sequence[Wrench]
Bodies = Sequence[Articulated]
Motions = Sequence[QuasiMotion]
Base = LinkMotion | None
CORIOLIS = {"recursive": diagonal, "component": components}


class Unnormalized:
    """ξ and κ."""

    name = "unnormalized"

    def scale(self, body: Articulated) -> Scalar:
        """The factor from ξ to the quasi-velocity."""
        return 1.0

    def inverse_scale(self, body: Articulated) -> Scalar:
        return 1.0

    def coriolis_of(self, robot: Robot, bodies: Bodies, motions: Motions, b: Wrenches, method: str) -> list[Scalar]:
        forces: list[Scalar] = CORIOLIS[method].coriolis_xi(robot, bodies, motions, b)
        return forces

    def rate(self, body: Articulated, force: Scalar, coriolis: Scalar) -> Scalar:
        """The rate, from D ξ̇ + C = κ."""
        return mul(sub(force, coriolis), body.inverse_pivot)  # (44)

    def xi_rate(self, link: Link, body: Articulated, rate: InertiaRates, xi: Scalar, acceleration: Scalar) -> Scalar:
        """ξ̇ from the rate of the quasi-velocity."""
        return acceleration

    def velocity(self, robot: Robot, q: Scalars, qd: Scalars) -> list[Scalar]:
        bodies = articulated_bodies(robot, q)
        return self._scaled(bodies, [m.xi for m in from_joint_rates(robot, bodies, qd)])

    def joint_rates(self, robot: Robot, q: Scalars, velocity: Scalars) -> list[Scalar]:
        bodies = articulated_bodies(robot, q)
        return [m.qd for m in from_quasi_velocities(robot, bodies, self._unscaled(bodies, velocity))]

    def force(self, robot: Robot, q: Scalars, tau: Scalars) -> list[Scalar]:
        bodies = articulated_bodies(robot, q)
        return self._unscaled(bodies, diagonal.quasi_force(robot, bodies, tau))

    def joint_torque(self, robot: Robot, q: Scalars, force: Scalars) -> list[Scalar]:
        bodies = articulated_bodies(robot, q)
        return diagonal.joint_torque(robot, bodies, self._scaled(bodies, force))

    def coriolis(
        self, robot: Robot, q: Scalars, velocity: Scalars, external: Wrenches, method: str = "recursive"
    ) -> list[Scalar]:
        bodies = articulated_bodies(robot, q)
        motions = from_quasi_velocities(robot, bodies, self._unscaled(bodies, velocity))
        b = bias_wrenches(robot, q, [m.twist for m in motions], external)
        return self.coriolis_of(robot, bodies, motions, b, method)

    def acceleration(
        self, robot: Robot, q: Scalars, velocity: Scalars, tau: Scalars, external: Wrenches, base: Base = None
    ) -> list[Scalar]:
        bodies = articulated_bodies(robot, q)
        motions = from_quasi_velocities(robot, bodies, self._unscaled(bodies, velocity))
        return self._rates(robot, q, bodies, motions, tau, external, base)

    def forward_dynamics(
        self, robot: Robot, q: Scalars, qd: Scalars, tau: Scalars, external: Wrenches, base: Base = None
    ) -> list[Scalar]:
        bodies = articulated_bodies(robot, q)
        motions = from_joint_rates(robot, bodies, qd)
        accelerations = self._rates(robot, q, bodies, motions, tau, external, base)

        def step(
            link: Link,
            parent: tuple[Twist, Scalar],
            body: Articulated,
            motion: QuasiMotion,
            rate: InertiaRates,
            acceleration: Scalar,
        ) -> tuple[Twist, Scalar]:
            xi_dot = self.xi_rate(link, body, rate, motion.xi, acceleration)
            let_through = motion.twist - link.joint.axis * motion.xi  # ψ* V_β
            turning = mul(power(link.joint.axis, rate.P_dot @ let_through), body.inverse_pivot)
            drift = parent[0].to_child(body.pose) + cross_twist(motion.twist, link.joint.axis * motion.qd)
            qdd = sub(sub(xi_dot, turning), power(drift, body.psi))  # (36)
            return drift + link.joint.axis * qdd, qdd

        moved = outward(robot, step, (Twist.zero(), 0.0), bodies, motions, rates(robot, bodies, motions), accelerations)
        return [qdd for _, qdd in moved]

    def _rates(
        self, robot: Robot, q: Scalars, bodies: Bodies, motions: Motions, tau: Scalars, external: Wrenches, base: Base
    ) -> list[Scalar]:
        loads = inertia_forces(robot, q, [m.qd for m in motions], external, base)
        b = bias_wrenches(robot, q, [m.twist for m in motions], loads)
        coriolis = self.coriolis_of(robot, bodies, motions, b, "recursive")
        return list(map(self.rate, bodies, self._unscaled(bodies, diagonal.quasi_force(robot, bodies, tau)), coriolis))

    def _scaled(self, bodies: Bodies, x: Scalars) -> list[Scalar]:
        return [mul(self.scale(body), x_i) for body, x_i in zip(bodies, x, strict=True)]

    def _unscaled(self, bodies: Bodies, x: Scalars) -> list[Scalar]:
        return [mul(self.inverse_scale(body), x_i) for body, x_i in zip(bodies, x, strict=True)]


class Normalized(Unnormalized):
    """ν and ε."""

    name = "normalized"

    def scale(self, body: Articulated) -> Scalar:
        return sqrt(body.pivot)

    def inverse_scale(self, body: Articulated) -> Scalar:
        return sqrt(body.inverse_pivot)

    def coriolis_of(self, robot: Robot, bodies: Bodies, motions: Motions, b: Wrenches, method: str) -> list[Scalar]:
        twice = CORIOLIS[method].twice_coriolis_nu(robot, bodies, motions, b)
        return [mul(0.5, mul(self.inverse_scale(body), x)) for body, x in zip(bodies, twice, strict=True)]

    def rate(self, body: Articulated, force: Scalar, coriolis: Scalar) -> Scalar:
        return sub(force, coriolis)  # (40)

    def xi_rate(self, link: Link, body: Articulated, rate: InertiaRates, xi: Scalar, acceleration: Scalar) -> Scalar:
        D_dot = power(link.joint.axis, rate.lambda_dot @ link.joint.axis)
        return sub(mul(self.inverse_scale(body), acceleration), mul(mul(0.5, xi), mul(D_dot, body.inverse_pivot)))


normalized = Normalized()
unnormalized = Unnormalized()
