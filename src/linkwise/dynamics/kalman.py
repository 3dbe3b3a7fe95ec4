"""Forward dynamics as a Kalman filter and smoother: Rodriguez (1987), Kozłowski (1993), for trees.

    P, D, G as in `operators`: P is the covariance of the Riccati equation, G the gain                (12)
filter, inward; k runs over the children of i:
    z_i = Σ_k φ_k z_k⁺ + b_i + P_i a_i      ε_i = τ_i - H z_i      ν_i = ε_i / D_i      z_i⁺ = z_i + G_i ε_i
smoother, outward; β is the parent of i:
    α⁺ = φ_i* α_β      θ̈_i = ν_i - G_i* α⁺      α_i = α⁺ + H* θ̈_i + a_i

Gravity is in b, so a base at rest does not accelerate: α_0 = 0. ν is the innovation over D, not a quasi-velocity. The
recursion of P, D and G is that of M̂, m̂ and ψ in `udu`. Link i: in its own frame about O_i.
"""

from collections.abc import Sequence

from ..robot import Link, Robot, inward, outward
from ..spatial import Scalar, Scalars, Twist, Wrench, mul, power, sub
from .kinematics import twists
from .newton_euler import LinkMotion, base_twists
from .operators import bias_acceleration, bias_wrenches
from .udu import Articulated, articulated_bodies


def filtered(
    link: Link, children: Wrench, body: Articulated, tau: Scalar, a: Twist, b: Wrench
) -> tuple[Scalar, Wrench]:
    z = children + b + body.inertia @ a
    innovation = sub(tau, power(link.joint.axis, z))
    return mul(innovation, body.inverse_pivot), (z + body.psi * innovation).to_parent(body.pose)


def smoothed(link: Link, parent: tuple[Twist, Scalar], body: Articulated, nu: Scalar, a: Twist) -> tuple[Twist, Scalar]:
    predicted = parent[0].to_child(body.pose)
    qdd = sub(nu, power(predicted, body.psi))
    return predicted + link.joint.axis * qdd + a, qdd


def forward_dynamics(
    robot: Robot, q: Scalars, qd: Scalars, tau: Scalars, external: Sequence[Wrench], base: LinkMotion | None = None
) -> list[Scalar]:
    twist, rate = base_twists(base)
    V = twists(robot, q, qd, twist)
    a, b = bias_acceleration(robot, V, qd), bias_wrenches(robot, q, V, external)
    bodies = articulated_bodies(robot, q)
    nu = inward(robot, filtered, Wrench.zero(), bodies, tau, a, b)
    return [qdd for _, qdd in outward(robot, smoothed, (rate, 0.0), bodies, nu, a)]
