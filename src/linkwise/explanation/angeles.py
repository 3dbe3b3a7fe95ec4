"""Angeles' quantities: motion of the mass centres, the natural orthogonal complement, wrenches."""

from __future__ import annotations

from ..dynamics import constraints, denoc, denoc_rates
from ..dynamics.centres import mass_centres
from ..dynamics.kinematics import in_base_frame, in_joint_frames, poses
from ..dynamics.newton_euler import inverse_dynamics, joint_wrenches, link_motions
from ..dynamics.operator_matrices import block_diagonal
from ..robot import Robot
from ..robot.friction import Friction
from ..spatial import Scalars, Vector, Wrench, add, sub
from ..spatial.dense import plus, product
from .ball_frames import angular_accelerations
from .definitions import Values, six, vectors


def configuration(robot: Robot, q: Scalars) -> dict[str, Values]:
    K, T = constraints.matrices(robot, q)
    g = Vector.of(robot.gravity)
    return {
        "c": vectors(denoc_rates.centres(robot, q)),
        "K": {(): K},
        "T": {(): T},
        "w_G": vectors(six(Vector.zero(), g * link.mass) for link in robot.links),
    }


def rates(robot: Robot, q: Scalars, qd: Scalars) -> dict[str, Values]:
    t, terms = denoc_rates.centre_twists(robot, q, qd), denoc_rates.convective_terms(robot, q, qd, robot.carriers)
    N_l, N_d = denoc.matrices(robot, q)
    turning = product(N_l, block_diagonal(terms.Omega), N_d)
    resisting = [sub(0.0, x) for x in Friction().torques(robot, qd)]
    joints = constraints.joint_constraints(robot, q)
    return {
        "omega": vectors(x.angular for x in t),
        "c_dot": vectors(x.linear for x in t),
        "W": {(): block_diagonal(terms.W)},
        "T_dot": {(): plus(product(terms.N_l_dot, N_d), turning)},
        "w_D": vectors(constraints.drive_wrenches(robot, q, joints, resisting)),
    }


def accelerations(robot: Robot, q: Scalars, qd: Scalars, qdd: Scalars) -> dict[str, Values]:
    still, joints = [Wrench.zero()] * robot.n, constraints.joint_constraints(robot, q)
    theta_ddot = robot.coordinates.accelerations(qd, qdd)
    motions = link_motions(robot, q, qd, theta_ddot)
    turned = [pose.rotation @ m.angular_acceleration for pose, m in zip(poses(robot, q), motions, strict=True)]
    transmitted = in_base_frame(robot, q, in_joint_frames(robot, q, joint_wrenches(robot, q, qd, theta_ddot, still)))
    tau = inverse_dynamics(robot.without_rotors(), q, qd, theta_ddot, still)
    against = map(add, tau, Friction().torques(robot, qd))
    active = constraints.drive_wrenches(robot, q, joints, tau)
    needed = constraints.link_wrenches(robot, q, qd, theta_ddot, still)
    left = [w - a for w, a in zip(needed, active, strict=True)]
    return {
        "omega_dot": vectors(angular_accelerations(robot, q, qd, turned)),
        "c_ddot": vectors(mass_centres(robot, q, qd, theta_ddot)[2]),
        "f_P": vectors(w.force for w in transmitted),
        "n_P": vectors(w.moment for w in transmitted),
        "w_A": vectors(constraints.drive_wrenches(robot, q, joints, list(against))),
        "w_C": vectors(left),
        "lambda": vectors(constraints.multipliers(robot, q, left)),
    }
