"""The diagonalized equations of motion, [Kozłowski] after Jain and Rodriguez, for trees. β is the parent of i.

    ξ = (1 + H Φ K)* θ̇      ν = D^½ ξ      κ = (1 - H Ψ K) τ      ε = D^-½ κ                      (28), (34)
    D ξ̇ + C(θ, ξ) = κ       C(θ, ξ) = H Ψ (λ̇ H* ξ - X V + b)                                     (44), (45)
    ν̇ + C(θ, ν) = ε         C(θ, ν) = ½ D^-½ H Ψ (E_Ψ λ̇ V - λ̇ E_Ψ* V - X V + X* V + 2 b)         (40), (42)
    X = Ω_δ P      Ω_δ = (H* θ̇)×      λ̇ = Ṗ + X + X*      Ṗ = E_Ψ λ̇ E_Ψ*                         (16)-(21)

Kinetic energy ½ ν*ν = ½ ξ*D ξ; without gravity ν* C(θ, ν) = 0 (47). By link, k running over the children:

    outward   V⁺ = φ_i* V_β      ξ_i = θ̇_i + G_i* V⁺      V_i = V⁺ + H* θ̇_i      back: θ̇_i = ξ_i - G_i* V⁺
    inward    z = Σ φ_k z_k⁺     κ_i = τ_i - H z          z_i⁺ = z + G_i κ_i     back: τ_i = κ_i + H z
    ξ-form    y_i = Σ ψ_k y_k + λ̇_i H* ξ_i - X V_i + b_i                                  C_i = H y_i
    ν-form    y_i = Σ ψ_k (y_k + λ̇_k V_k) - λ̇_i ψ_i* V_β + (X* - X) V_i + 2 b_i           C_i = ½ D_i^-½ H y_i

Against print: Ω_δ is (H* θ̇)× also where the joint slides, and P Ω_δ* stands for -P Ω_δ; [E_Ψ, λ̇] means
E_Ψ λ̇ - λ̇ E_Ψ*. b = V × M V less gravity and external wrenches. Rotor inertia joins D. Link i: in its own frame
about O_i.
"""

from collections.abc import Sequence
from typing import NamedTuple

from ..robot import Link, Robot, inward, outward
from ..spatial import (
    ArticulatedInertia,
    Scalar,
    Scalars,
    Twist,
    Wrench,
    add,
    cross_twist,
    cross_wrench,
    mul,
    power,
    sub,
)
from .udu import Articulated


class QuasiMotion(NamedTuple):
    above: Twist  # V⁺
    twist: Twist  # V
    qd: Scalar
    xi: Scalar


class InertiaRates(NamedTuple):
    P_dot: ArticulatedInertia
    lambda_dot: ArticulatedInertia


STILL = QuasiMotion(Twist.zero(), Twist.zero(), 0.0, 0.0)


def from_joint_rates(robot: Robot, bodies: Sequence[Articulated], qd: Scalars) -> list[QuasiMotion]:
    def step(link: Link, parent: QuasiMotion, body: Articulated, qd: Scalar) -> QuasiMotion:
        above = parent.twist.to_child(body.pose)
        return QuasiMotion(above, above + link.joint.axis * qd, qd, add(qd, power(above, body.psi)))

    return outward(robot, step, STILL, bodies, qd)


def from_quasi_velocities(robot: Robot, bodies: Sequence[Articulated], xi: Scalars) -> list[QuasiMotion]:
    def step(link: Link, parent: QuasiMotion, body: Articulated, xi: Scalar) -> QuasiMotion:
        above = parent.twist.to_child(body.pose)
        qd = sub(xi, power(above, body.psi))
        return QuasiMotion(above, above + link.joint.axis * qd, qd, xi)

    return outward(robot, step, STILL, bodies, xi)


def quasi_force(robot: Robot, bodies: Sequence[Articulated], tau: Scalars) -> list[Scalar]:
    """κ of τ"""

    def step(link: Link, z: Wrench, body: Articulated, tau: Scalar) -> tuple[Scalar, Wrench]:
        kappa = sub(tau, power(link.joint.axis, z))
        return kappa, (z + body.psi * kappa).to_parent(body.pose)

    return inward(robot, step, Wrench.zero(), bodies, tau)


def joint_torque(robot: Robot, bodies: Sequence[Articulated], kappa: Scalars) -> list[Scalar]:
    """τ of κ"""

    def step(link: Link, z: Wrench, body: Articulated, kappa: Scalar) -> tuple[Scalar, Wrench]:
        return add(kappa, power(link.joint.axis, z)), (z + body.psi * kappa).to_parent(body.pose)

    return inward(robot, step, Wrench.zero(), bodies, kappa)


def rates(
    robot: Robot, bodies: Sequence[Articulated], motions: Sequence[QuasiMotion], turns: Sequence[Twist] | None = None
) -> list[InertiaRates]:
    """Ṗ and λ̇; `turns` are the motions of the links' frames against those of their parents, by default H* θ̇."""

    def step(
        link: Link, P_dot: ArticulatedInertia, body: Articulated, turn: Twist
    ) -> tuple[InertiaRates, ArticulatedInertia]:
        lambda_dot = P_dot + body.inertia.carried(turn)  # (20)
        column = lambda_dot @ link.joint.axis
        half = mul(0.5, power(link.joint.axis, column))
        projected = lambda_dot.less_both(body.psi, column - body.psi * half)  # τ̄ λ̇ τ̄*
        return InertiaRates(P_dot, lambda_dot), projected.to_parent(body.pose)  # (16)

    if turns is None:
        turns = [link.joint.axis * motion.qd for link, motion in zip(robot.links, motions, strict=True)]
    return inward(robot, step, ArticulatedInertia.zero(), bodies, turns)


def through(link: Link, body: Articulated, y: Wrench) -> Wrench:
    """ψ y: what the joint lets through to the parent."""
    left: Wrench = y - body.psi * power(link.joint.axis, y)
    return left.to_parent(body.pose)


def coriolis_xi(
    robot: Robot, bodies: Sequence[Articulated], motions: Sequence[QuasiMotion], b: Sequence[Wrench]
) -> list[Scalar]:
    """C(θ, ξ)"""

    def step(
        link: Link, children: Wrench, body: Articulated, motion: QuasiMotion, rate: InertiaRates, b: Wrench
    ) -> tuple[Scalar, Wrench]:
        X_V = cross_wrench(link.joint.axis * motion.qd, body.inertia @ motion.twist)
        y = children + rate.lambda_dot @ (link.joint.axis * motion.xi) - X_V + b
        return power(link.joint.axis, y), through(link, body, y)

    return inward(robot, step, Wrench.zero(), bodies, motions, rates(robot, bodies, motions), b)  # (45)


def twice_coriolis_nu(
    robot: Robot, bodies: Sequence[Articulated], motions: Sequence[QuasiMotion], b: Sequence[Wrench]
) -> list[Scalar]:
    """2 D^½ C(θ, ν)"""

    def step(
        link: Link, children: Wrench, body: Articulated, motion: QuasiMotion, rate: InertiaRates, b: Wrench
    ) -> tuple[Scalar, Wrench]:
        joint, V = link.joint.axis * motion.qd, motion.twist
        let_through = V - link.joint.axis * motion.xi  # ψ* V_β
        X_V = cross_wrench(joint, body.inertia @ V)
        X_star_V = body.inertia @ cross_twist(V, joint)
        y = children - rate.lambda_dot @ let_through + X_star_V - X_V + b + b
        return power(link.joint.axis, y), through(link, body, y + rate.lambda_dot @ V)

    return inward(robot, step, Wrench.zero(), bodies, motions, rates(robot, bodies, motions), b)  # (42)
