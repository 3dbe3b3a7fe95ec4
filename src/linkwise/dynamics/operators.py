"""Spatial operators, [Kozłowski] after Rodriguez, for trees. His k + 1 is our parent β; links stand base first.

    P_i = M_i + Σ_k ψ_k P_k ψ_k*      D = H P H*      G = P H* D⁻¹      τ̄ = 1 - G H      ψ_k = φ_k τ̄_k        (12)
    E_Φ, E_Ψ have the blocks (β, i) φ_i, ψ_i      Φ = (1 - E_Φ)⁻¹      Ψ = (1 - E_Ψ)⁻¹      K = E_Φ G
    𝓜 = H Φ M Φ* H* = (1 + H Φ K) D (1 + H Φ K)*      (1 + H Φ K)⁻¹ = 1 - H Ψ K                          (22)-(25)
    V = Φ* H* θ̇      𝓜 θ̈ + H Φ (M Φ* a + b) = τ                                                            (38)

φ_i carries forces from O_i to O_β and contains the rotation A. Applying Φ* is an outward pass, applying Φ an inward
one: so the standard equations are solved here in O(n). a = V × H* θ̇, and b = V × M V less gravity and external
wrenches, with m ω × v where print has m p × v; l(k, k-1) runs from O_k to O_{k-1}, against print. Rotor inertia joins
D. Link i: in its own frame about O_i.
"""

from collections.abc import Sequence

from ..robot import Link, Robot, inward, outward
from ..spatial import Placement, Scalar, Scalars, Twist, Vector, Wrench, add, cross_twist, cross_wrench, mul, power
from .kinematics import in_link_frames, twists
from .newton_euler import LinkMotion, base_twists


def link_poses(robot: Robot, q: Scalars) -> list[Placement]:
    return [link.pose(q_i) for link, q_i in zip(robot.links, q, strict=True)]


def phi_star(robot: Robot, poses: Sequence[Placement], x: Sequence[Twist], base: Twist | None = None) -> list[Twist]:
    """Φ* x: twists gathered from the base outward, on top of that of the base."""

    def step(link: Link, parent: Twist, pose: Placement, own: Twist) -> Twist:
        return parent.to_child(pose) + own

    return outward(robot, step, base or Twist.zero(), poses, x)


def phi(robot: Robot, poses: Sequence[Placement], x: Sequence[Wrench]) -> list[Wrench]:
    """Φ x: wrenches gathered from the tips inward."""

    def step(link: Link, children: Wrench, pose: Placement, own: Wrench) -> tuple[Wrench, Wrench]:
        return own + children, (own + children).to_parent(pose)

    return inward(robot, step, Wrench.zero(), poses, x)


def e_phi(robot: Robot, poses: Sequence[Placement], x: Sequence[Wrench]) -> list[Wrench]:
    """E_Φ x: the sum of the children's wrenches."""

    def step(link: Link, children: Wrench, pose: Placement, own: Wrench) -> tuple[Wrench, Wrench]:
        return children, own.to_parent(pose)

    return inward(robot, step, Wrench.zero(), poses, x)


def h_star(robot: Robot, x: Scalars) -> list[Twist]:
    return [link.joint.axis * x_i for link, x_i in zip(robot.links, x, strict=True)]


def h(robot: Robot, x: Sequence[Wrench]) -> list[Scalar]:
    return [power(link.joint.axis, x_i) for link, x_i in zip(robot.links, x, strict=True)]


def bias_acceleration(robot: Robot, V: Sequence[Twist], qd: Scalars) -> list[Twist]:
    """a = V × H* θ̇"""
    return [cross_twist(v, joint) for v, joint in zip(V, h_star(robot, qd), strict=True)]


def bias_wrench(link: Link, V: Twist, gravity: Vector, external: Wrench) -> Wrench:
    """b = V × M V - [p × (m g + f); m g + f] - [n; 0], gravity in the frame of the link."""
    outside = Wrench(external.moment, gravity * link.mass + external.force)
    return cross_wrench(V, link.body @ V) - outside.acting_at(link.com)


def bias_wrenches(robot: Robot, q: Scalars, V: Sequence[Twist], external: Sequence[Wrench]) -> list[Wrench]:
    down = Wrench(Vector.zero(), Vector.of(robot.gravity))
    local = in_link_frames(robot, q, [down] * robot.n)
    return [bias_wrench(k, v, w.force, e) for k, v, w, e in zip(robot.links, V, local, external, strict=True)]


def inverse_dynamics(
    robot: Robot, q: Scalars, qd: Scalars, qdd: Scalars, external: Sequence[Wrench], base: LinkMotion | None = None
) -> list[Scalar]:
    twist, rate = base_twists(base)
    poses, V = link_poses(robot, q), twists(robot, q, qd, twist)
    a, b = bias_acceleration(robot, V, qd), bias_wrenches(robot, q, V, external)
    alpha = phi_star(robot, poses, [x + y for x, y in zip(h_star(robot, qdd), a, strict=True)], rate)
    inertial = [link.body @ alpha_i + b_i for link, alpha_i, b_i in zip(robot.links, alpha, b, strict=True)]
    tau = h(robot, phi(robot, poses, inertial))  # (38)
    return [add(t, mul(k.joint.rotor_inertia, x)) for t, k, x in zip(tau, robot.links, qdd, strict=True)]


def inertia_matrix(robot: Robot, q: Scalars) -> list[list[Scalar]]:
    """𝓜 = H Φ M Φ* H*, column by column."""
    poses, columns = link_poses(robot, q), []
    for link in robot.links:
        unit = [float(i == link.index) for i in range(robot.n)]
        moved = phi_star(robot, poses, h_star(robot, unit))
        column = h(robot, phi(robot, poses, [k.body @ x for k, x in zip(robot.links, moved, strict=True)]))  # (22)
        column[link.index] = add(column[link.index], link.joint.rotor_inertia)
        columns.append(column)
    return [[columns[max(i, j)][min(i, j)] for j in range(robot.n)] for i in range(robot.n)]
