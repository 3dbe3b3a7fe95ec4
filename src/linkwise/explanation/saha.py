"""Saha's quantities: the decoupled complement, the elimination, RIDIM and RFDSIM."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from ..api.quasi import recentred_coriolis
from ..dynamics import composite, coriolis, denoc, denoc_rates, inverse_inertia, operators, udu
from ..dynamics.constraints import joint_constraints, link_wrenches
from ..dynamics.kinematics import poses
from ..dynamics.newton_euler import inverse_dynamics
from ..dynamics.operator_matrices import block_diagonal
from ..dynamics.reduction import reduced_inertias, reduced_matrix
from ..robot import Robot, inward, outward, toward_base
from ..spatial import ArticulatedInertia, RigidInertia, Scalar, Scalars, Twist, Wrench, cross, mul, sub
from ..spatial.dense import Dense, identity, minus, plus, product, transposed, zeros
from .ball_frames import angular_accelerations
from .definitions import Seats, Values, per_link, six, vectors


def configuration(robot: Robot, q: Scalars) -> dict[str, Values]:
    bodies, seats = udu.articulated_bodies(robot, q), Seats(robot, q)
    N_l, N_d = denoc.matrices(robot, q)
    upper, diagonal = udu.udu(robot, q)
    inverse_upper = inverse_inertia.inverse_upper(robot, bodies)
    composites = inward(robot, composite.freeze, RigidInertia.zero(), [body.pose for body in bodies])
    M, B = denoc_rates.masses(robot, q), denoc_rates.propagations(denoc_rates.centres(robot, q))
    M_tilde, left = seats.inertias(composites), [reduced_inertias(robot, bodies, k) for k in range(robot.n)]
    axes = [[row[i] for row in N_d[6 * i : 6 * i + 6]] for i in range(robot.n)]
    psi = [seats.wrench(i, body.psi) for i, body in enumerate(bodies)]
    Psi = [minus(identity(6), dyad(w, p)) for w, p in zip(psi, axes, strict=True)]
    psi_hat = [[mul(x, body.pivot) for x in w] for w, body in zip(psi, bodies, strict=True)]
    return {
        "B": B,
        "p": per_link(axes),
        **levers(robot, q),
        "M": per_link(M),
        "M_stacked": {(): block_diagonal(M)},
        "M_tilde": M_tilde,
        "M_tilde_stacked": {(): denoc_rates.stacked_composite(robot, list(M_tilde.values()), B)},
        "M_hat": seats.inertias([body.inertia for body in bodies]),
        **reduced(robot, bodies, left, seats),
        "psi_hat": per_link(psi_hat),
        "m_hat": per_link(diagonal),
        "psi": per_link(psi),
        "N_l": {(): N_l},
        "N_d": {(): N_d},
        "I": {(): denoc.inertia_matrix(robot, q)},
        **eliminated(robot, q, bodies, left),
        "U": {(): upper},
        "D": {(): diagonal},
        "Psi": per_link(Psi),
        "B_hat": articulated_transforms(robot, B, Psi),
        "alpha_prime": {(): minus(identity(robot.n), inverse_upper)},
        "U_inverse": {(): inverse_upper},
        "I_inverse": {(): inverse_inertia.inverse_inertia_matrix(robot, q)},
    }


def dyad(a: Sequence[Scalar], b: Sequence[Scalar]) -> Dense:
    return [[mul(x, y) for y in b] for x in a]


def levers(robot: Robot, q: Scalars) -> dict[str, Values]:
    """d_i, and ρ_ij of links i on the way from j to the base"""
    points, joints = denoc_rates.centres(robot, q), joint_constraints(robot, q)
    d = [joint.lever for joint in joints]
    rho = {(i, j): list(d[i] + (points[j] - points[i])) for j in range(robot.n) for i in robot.ancestors(j)[1:]}
    return {"d": vectors(d), "rho": dict(sorted(rho.items()))}


def reduced(
    robot: Robot, bodies: Sequence[udu.Articulated], left: Sequence[Sequence[ArticulatedInertia]], seats: Seats
) -> dict[str, Values]:
    """ψ_ik, ψ̂_ik, M̂_ik and Ψ_ik of links i on the way from k to the base"""
    psi_ik, psi_hat_ik = {}, {}
    steps = [body.pose for body in bodies]
    for link, body in zip(robot.links, bodies, strict=True):
        k = link.index
        psi_ik[k, k] = seats.wrench(k, body.psi)
        for ancestor, wrench in toward_base(robot, link, body.psi, steps):
            psi_ik[ancestor.index, k] = seats.wrench(ancestor.index, wrench)
    for i, k in psi_ik:
        psi_hat_ik[i, k] = [mul(x, bodies[k].pivot) for x in psi_ik[i, k]]
    M_hat, Psi = {}, {}
    for k in range(robot.n):
        for i in robot.ancestors(k):
            M_hat[i, k] = seats.inertia(i, left[k][i])
            free = [l for l in robot.subtree(i) if l >= k]
            Psi[i, k] = plus(zeros(6, 6), *(dyad(psi_hat_ik[i, l], psi_ik[i, l]) for l in free))  # (49)
    return {
        name: dict(sorted(values.items()))
        for name, values in (("psi_ik", psi_ik), ("psi_hat_ik", psi_hat_ik), ("M_hat_ik", M_hat), ("Psi_ik", Psi))
    }


def eliminated(
    robot: Robot, q: Scalars, bodies: Sequence[udu.Articulated], left: Sequence[Sequence[ArticulatedInertia]]
) -> dict[str, Values]:
    """E_k, L_k and I^(k), from the last column on"""
    E: Values = {}
    L: Values = {}
    I_k: Values = {}
    rest = denoc.inertia_matrix(robot, q)
    for k, matrix in zip(reversed(range(1, robot.n)), udu.elimination_matrices(robot, q), strict=True):
        rest = product(matrix, rest)  # (45)
        E[k,], L[k,], I_k[k,] = matrix, rest, reduced_matrix(robot, bodies, left[k], k)
    return {"E": E, "L": L, "I_k": I_k}


def articulated_transforms(robot: Robot, B: denoc_rates.Blocks, Psi: Sequence[Dense]) -> Values:
    """B̂_ji for every link j and every i between it and the base."""
    B_hat: Values = {}
    for j in range(robot.n):
        way = robot.ancestors(j)
        for below, i in pairwise(way):
            step = B[below, i]
            B_hat[j, i] = step if below == j else product(B_hat[j, below], transposed(Psi[below]), step)
    return B_hat


def rates(robot: Robot, q: Scalars, qd: Scalars) -> dict[str, Values]:
    terms = denoc_rates.convective_terms(robot, q, qd, robot.carriers)
    t = denoc_rates.centre_twists(robot, q, qd)
    _, N_d = denoc.matrices(robot, q)
    Omega = block_diagonal(terms.Omega)
    return {
        "t": vectors(t),
        "Omega": per_link(terms.Omega),
        "Omega_stacked": {(): Omega},
        "Omega_ijrr": per_link(terms.W),
        "M_dot": per_link(terms.M_dot),
        "M_dot_stacked": {(): block_diagonal(terms.M_dot)},
        "B_dot": terms.B_dot,
        "N_l_dot": {(): terms.N_l_dot},
        "N_d_dot": {(): product(Omega, N_d)},
        "H_tilde": terms.H_tilde,
        "M_dot_tilde": per_link(terms.M_dot_tilde),
        "H_tilde_stacked": {(): terms.inertial},
        "M_dot_tilde_stacked": {(): terms.gyroscopic},
        "M_tilde_prime": {(): terms.M_tilde_prime},
        "C": {(): recentred_coriolis(robot, q, qd, coriolis.coriolis_matrix(robot, q, qd))},
    }


def accelerations(robot: Robot, q: Scalars, qd: Scalars, qdd: Scalars) -> dict[str, Values]:
    still, seats = [Wrench.zero()] * robot.n, Seats(robot, q)
    theta_ddot = robot.coordinates.accelerations(qd, qdd)
    motions, gammas = denoc.stages(robot, q, qd, theta_ddot, still)
    floating = robot.with_gravity((0.0, 0.0, 0.0))
    resting, _ = denoc.stages(floating, q, qd, theta_ddot, still)
    return {
        "t_dot": centre_rates(robot, q, qd, resting),
        "w": vectors(link_wrenches(floating, q, qd, theta_ddot, still)),
        "ridim_nu": seats.twists([motion.twist for motion in motions]),
        "ridim_xi": centre_rates(robot, q, qd, motions),
        "ridim_gamma": seats.wrenches(gammas),
        "tau": {(): denoc.inverse_dynamics(robot, q, qd, theta_ddot, still)},
    }


def centre_rates(robot: Robot, q: Scalars, qd: Scalars, motions: Sequence[denoc.TwistRate]) -> Values:
    """Rates of the twists of the mass centres from those of the origins."""
    angular, linear = [], []
    for link, pose, motion in zip(robot.links, poses(robot, q), motions, strict=True):
        omega, com = motion.twist.angular, link.com
        turning = cross(motion.rate.angular, com) + cross(omega, cross(omega, com))
        angular.append(pose.rotation @ motion.rate.angular)
        linear.append(pose.rotation @ (motion.rate.linear + turning))
    return vectors(map(six, angular_accelerations(robot, q, qd, angular), linear))


def forces(robot: Robot, q: Scalars, qd: Scalars, tau: Scalars) -> dict[str, Values]:
    """RFDSIM"""
    bodies, seats = udu.articulated_bodies(robot, q), Seats(robot, q)
    still = robot.coordinates.accelerations(qd, [0.0] * robot.n)
    bias = inverse_dynamics(robot, q, qd, still, [Wrench.zero()] * robot.n)
    phi = list(map(sub, tau, bias))  # (33)
    tau_hat = inward(robot, udu.eliminate, Wrench.zero(), bodies, phi)
    moved = outward(robot, udu.accelerate, (Twist.zero(), 0.0), bodies, tau_hat)
    columns = [body.psi * x for body, x in zip(bodies, tau_hat, strict=True)]
    return {
        "phi": {(): phi},
        "tau_hat": {(): tau_hat},
        "eta": seats.wrenches(operators.phi(robot, [body.pose for body in bodies], columns)),
        "tau_tilde": {(): [mul(x, body.inverse_pivot) for body, x in zip(bodies, tau_hat, strict=True)]},
        "mu": seats.twists([twist for twist, _ in moved]),
        "qdd": {(): [x for _, x in moved]},
    }
