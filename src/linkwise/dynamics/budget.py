"""Where a torque comes from: [Kozłowski] (38), (39) and (48), (49) term by term, for trees. Links stand base first.

    τ = H Φ M Φ* (H* θ̈ + a) + H Φ b                                                                       (38)

Its terms in torque k, with r_k the composite inertia of link k and all that it carries:

    H_k Φ_kj r_j H_j* θ̈_j       j = k or outward of k           of the acceleration of joint j                 (39)
    H_k r_k Φ*_jk H_j* θ̈_j      j between k and the base
    the same of a_j for H_j* θ̈_j                               of the bias acceleration of link j
    H_k Φ_km b_m                m = k or outward of k           of the bias force of link m, its weight, its wrench

Bias accelerations and forces are quadratic in the rates. With T_mi = Φ*_im H_i* the axis of joint i seen from link m:

    a_j = V_j × H_j* θ̇_j = Σ_i θ̇_i θ̇_j  T_ji × H_j*                                        i between j and the base
    b_m = V_m × M_m V_m  = Σ_ij θ̇_i θ̇_j  T_mi × M_m T_mj                                    i, j = m or between
    H_k Φ_km b_m         = Σ_ij θ̇_i θ̇_j (T_mk × T_mi) · M_m T_mj                           (*)

Terms of one joint's rate are centrifugal, those of two are of Coriolis; added up over the links they are the
Christoffel symbols of 𝓜 times the rates. Of the diagonalized equations, with the articulated Ψ for Φ:

    C(θ, ξ)_k = Σ_i c_ki ξ_i + Σ_m H_k Ψ_km b_m       c_ki = Σ_m H_k Ψ_km P_m Ω_δ*_m Ψ*_im H_i*       (45), (48)
    C(θ, ν)_k = Σ_i c_ki ν_i + D_k^-½ Σ_m H_k Ψ_km b_m      c_ki = D_k^-½ (the same sum) D_i^-½, c_kk = 0   (42), (48)

Rotors and friction are the joints' own. Print has Ω_δ in (48), see `components`. O(n⁴) in a chain for the terms of b,
otherwise O(n³). Link i: in its own frame about O_i.
"""

from collections.abc import Sequence
from typing import NamedTuple

from ..robot import Robot, inward, toward_base
from ..spatial import RigidInertia, Scalar, Scalars, Vector, Wrench, add, cross_twist, cross_wrench, mul, power, sub
from .complement import Columns, complement
from .components import articulated_columns, summands
from .composite import freeze
from .diagonal import QuasiMotion
from .kinematics import in_link_frames
from .operators import link_poses
from .udu import Articulated

Terms = dict[tuple[int, ...], Scalar]  # keys: indices of links, that of the torque first; missing terms are zero


class Shares(NamedTuple):
    """The terms of the torques at the links."""

    acceleration: Terms  # of joint j: (k, j)
    bias_acceleration: Terms  # of link j, its part of the rates of i and j: (k, j, i, j)
    bias_force: Terms  # of link m, its part of the rates of i and j, i ≤ j: (k, m, i, j)
    gravity: Terms  # on link m: (k, m)
    wrench: Terms  # on link m: (k, m)


class QuasiShares(NamedTuple):
    """The terms of C(θ, ξ), or those of D^½ C(θ, ν) if c_kk is left out."""

    summands: Terms  # of (48), without D: (k, i, m)
    bias_force: Terms  # of link m: (k, m)
    gravity: Terms
    wrench: Terms


def shares(robot: Robot, q: Scalars, qd: Scalars, qdd: Scalars, external: Sequence[Wrench]) -> Shares:
    axes, poses = [link.joint.axis for link in robot.links], link_poses(robot, q)
    T, r = complement(robot, q), inward(robot, freeze, RigidInertia.zero(), poses)
    acceleration: Terms = {}
    carried: list[dict[int, Wrench]] = []  # Φ_jk r_k H_k* at link k and at every j between it and the base
    for link in robot.links:
        k, own = link.index, r[link.index] @ link.joint.axis
        carried.append({k: own} | {j.index: wrench for j, wrench in toward_base(robot, link, own, poses)})
        for j, wrench in carried[k].items():
            element = power(axes[j], wrench)
            acceleration[k, j], acceleration[j, k] = mul(element, qdd[j]), mul(element, qdd[k])  # (39)
    bias_acceleration: Terms = {}
    for j, axis in enumerate(axes):
        outward = robot.subtree(j)[1:]
        for i, seen in T[j].items():
            if i == j:
                continue
            a = cross_twist(seen, axis) * mul(qd[i], qd[j])
            wrench = r[j] @ a
            for k, column in T[j].items():
                bias_acceleration[k, j, i, j] = power(column, wrench)
            for k in outward:
                bias_acceleration[k, j, i, j] = power(a, carried[k][j])
    down = weights(robot, q)
    outside = [w.acting_at(link.com) for w, link in zip(external, robot.links, strict=True)]
    return Shares(
        acceleration,
        bias_acceleration,
        bias_forces(robot, T, qd),
        torques_against(T, down),
        torques_against(T, outside),
    )


def bias_forces(robot: Robot, T: Columns, qd: Scalars) -> Terms:
    terms: Terms = {}
    for link, columns in zip(robot.links, T, strict=True):
        m, momenta = link.index, [link.body @ column for column in columns.values()]
        for i, other in columns.items():
            for k, column in columns.items():
                if k == i:
                    continue
                turned = cross_twist(column, other)
                for j, momentum in zip(columns, momenta, strict=True):
                    key = (k, m, min(i, j), max(i, j))
                    terms[key] = add(terms.get(key, 0.0), power(turned, momentum))  # (*)
    return {(k, m, i, j): mul(term, mul(qd[i], qd[j])) for (k, m, i, j), term in terms.items()}


def weights(robot: Robot, q: Scalars) -> list[Wrench]:
    """[p × m g; m g] of each link."""
    down = in_link_frames(robot, q, [Wrench(Vector.zero(), Vector.of(robot.gravity))] * robot.n)
    own = zip(robot.links, down, strict=True)
    return [Wrench(Vector.zero(), w.force * link.mass).acting_at(link.com) for link, w in own]


def torques_against(columns: Columns, wrenches: Sequence[Wrench]) -> Terms:
    """What drives must give against wrenches on the links: -H_k Φ_km w_m, or with Ψ."""
    pairs = enumerate(zip(columns, wrenches, strict=True))
    return {(k, m): sub(0.0, power(column, w)) for m, (own, w) in pairs for k, column in own.items()}


def quasi_shares(
    robot: Robot,
    q: Scalars,
    bodies: Sequence[Articulated],
    motions: Sequence[QuasiMotion],
    external: Sequence[Wrench],
) -> QuasiShares:
    columns = articulated_columns(robot, bodies)
    elements: Terms = {}
    for k, i, m, value in summands(robot, bodies, motions, columns):
        elements[k, i, m] = value
        if k != i:
            elements[i, k, m] = sub(0.0, value)  # c_ik = -c_ki
    forces = [cross_wrench(x.twist, link.body @ x.twist) for link, x in zip(robot.links, motions, strict=True)]
    against = [Wrench.zero() - force for force in forces]
    outside = [w.acting_at(link.com) for w, link in zip(external, robot.links, strict=True)]
    return QuasiShares(
        elements,
        torques_against(columns, against),
        torques_against(columns, weights(robot, q)),
        torques_against(columns, outside),
    )
