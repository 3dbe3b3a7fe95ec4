"""The rates of the quasi-velocities of joint rates w that stay the same while the robot moves by θ̇.

With V = V(w) the twists of w, β the parent of i, and the rates of V seen from the links:

    ξ_i = w_i + G_i* V⁺       ξ̇_i = D⁻¹ H Ṗ ψ_i* V_β + G_i* V̇_i      V̇_i = φ_i* V̇_β + V_i × H* θ̇_i
    ν_i = D^½ ξ_i             ν̇_i = D^½ ξ̇_i + ½ D^-½ Ḋ ξ_i            Ḋ = H λ̇ H*

For w = θ̇ this is (36) of [Kozłowski] without θ̈; equations as in `quasi`.
"""

from collections.abc import Callable
from typing import NamedTuple

from ..robot import Link, Robot, outward
from ..spatial import Scalar, Scalars, Twist, add, cross_twist, mul, power
from .diagonal import InertiaRates, QuasiMotion, from_joint_rates, rates
from .quasi import Unnormalized
from .udu import Articulated, articulated_bodies


class Rate(NamedTuple):
    twist: Twist  # V̇
    xi: Scalar  # ξ
    xi_dot: Scalar
    D_dot: Scalar


RATES: dict[str, Callable[[Unnormalized, Articulated, Rate], Scalar]] = {  # of the quasi-velocities, by name
    "unnormalized": lambda quasi, body, rate: rate.xi_dot,
    "normalized": lambda quasi, body, rate: add(
        mul(quasi.scale(body), rate.xi_dot), mul(quasi.inverse_scale(body), mul(mul(0.5, rate.xi), rate.D_dot))
    ),
}


def velocity_rate(quasi: Unnormalized, robot: Robot, q: Scalars, qd: Scalars, w: Scalars) -> list[Scalar]:
    """ν̇ or ξ̇."""
    bodies = articulated_bodies(robot, q)
    inertias = rates(robot, bodies, from_joint_rates(robot, bodies, qd))
    moved = outward(robot, move, ZERO, bodies, qd, from_joint_rates(robot, bodies, w), inertias)
    return [RATES[quasi.name](quasi, *pair) for pair in zip(bodies, moved, strict=True)]


def move(link: Link, parent: Rate, body: Articulated, qd: Scalar, held: QuasiMotion, inertia: InertiaRates) -> Rate:
    axis = link.joint.axis
    let_through = held.twist - axis * held.xi  # ψ* V_β
    turning = mul(power(axis, inertia.P_dot @ let_through), body.inverse_pivot)
    drift = parent.twist.to_child(body.pose) + cross_twist(held.twist, axis * qd)
    return Rate(drift, held.xi, add(turning, power(drift, body.psi)), power(axis, inertia.lambda_dot @ axis))


ZERO = Rate(Twist.zero(), 0.0, 0.0, 0.0)
