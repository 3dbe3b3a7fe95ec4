"""Agreement with Pinocchio and MuJoCo."""

import numpy as np
import pytest

import linkwise as lw
from effort import rest_slow
from robots import ALL, QUICK, TREES, conditioned, ids, relative, states

pin = pytest.importorskip("pinocchio", reason="Pinocchio has no wheel for Windows")
mujoco = pytest.importorskip("mujoco")

from peers import depth_first, to_mujoco, to_pinocchio  # noqa: E402

CLOSE = 1e-10


def has_body(link: lw.Link) -> bool:
    """Whether MuJoCo accepts the link: it wants mass, and inertia about every axis."""
    return link.mass > 0 and np.linalg.eigvalsh(link.inertia.rows).min() > 1e-9


SOLID = [robot for robot in ALL if all(map(has_body, robot.links))]
SOME = [QUICK[2], TREES[4]]
over_all = pytest.mark.parametrize("robot", rest_slow(ALL, SOME), ids=ids(ALL))


@over_all
def test_pinocchio_agrees(robot: lw.Robot) -> None:
    model, data = to_pinocchio(robot)
    order = depth_first(robot)
    square = np.ix_(order, order)
    for q, qd, qdd, tau in zip(*states(robot, count=2), strict=True):
        theirs, rate, acceleration, torque = q[order], qd[order], qdd[order], tau[order]

        needed = pin.rnea(model, data, theirs, rate, acceleration)
        for method in lw.methods(lw.inverse_dynamics):
            assert relative(lw.inverse_dynamics(robot, q, qd, qdd, method=method)[order], needed) < CLOSE
        loads = lw.joint_wrenches(robot, q, qd, qdd, axes="frame")
        for joint, index in enumerate(order, start=1):
            moved = data.liMi[joint] * data.f[joint]
            at_joint = model.jointPlacements[joint].actInv(moved)
            felt = np.concatenate([at_joint.angular, at_joint.linear])
            assert np.abs(loads[index] - felt).max() < CLOSE * max(1.0, np.abs(loads).max())

        bias = pin.nonLinearEffects(model, data, theirs, rate)
        assert relative(lw.bias_torque(robot, q, qd)[order], bias) < CLOSE
        gravity = pin.computeGeneralizedGravity(model, data, theirs)
        assert np.abs(lw.gravity_torque(robot, q)[order] - gravity).max() < CLOSE * max(1.0, np.abs(gravity).max())

        upper = np.triu(pin.crba(model, data, theirs))
        matrix = upper + upper.T - np.diag(np.diag(upper))
        for method in lw.methods(lw.inertia_matrix):
            assert relative(lw.inertia_matrix(robot, q, method=method)[square], matrix) < CLOSE
        solved = pin.aba(model, data, theirs, rate, torque)
        for method in lw.methods(lw.forward_dynamics):
            if robot.n > 12 and method == "walker-orin-4":
                continue  # which is right but slow
            found = lw.forward_dynamics(robot, q, qd, tau, method=method)[order]
            assert relative(found, solved) < max(CLOSE, conditioned(robot, q))

        kinetic = pin.computeKineticEnergy(model, data, theirs, rate)
        assert relative(lw.kinetic_energy(robot, q, qd), kinetic) < CLOSE
        potential = pin.computePotentialEnergy(model, data, theirs)
        assert abs(lw.potential_energy(robot, q) - potential) < CLOSE * max(1.0, abs(potential))


@over_all
def test_pinocchio_has_the_same_factors_poses_and_jacobians(robot: lw.Robot) -> None:
    model, data = to_pinocchio(robot)
    order = depth_first(robot)
    for q in states(robot)[0]:
        pin.crba(model, data, q[order])
        pin.cholesky.decompose(model, data)
        factor, diagonal = lw.formulations.udu(robot, q)
        bound = max(CLOSE, conditioned(robot, q))
        assert relative(factor[np.ix_(order, order)], data.U) < bound
        assert relative(diagonal[order], data.D) < bound
        pin.computeJointJacobians(model, data, q[order])
        poses = lw.poses(robot, q)
        for joint, index in enumerate(order, start=1):
            frame = robot.links[index].frame
            ours = poses[index] @ np.array(frame.inverse().matrix())
            assert np.abs(ours - data.oMi[joint].homogeneous).max() < CLOSE
            origin = list(frame.inverse().translation)
            jacobian = pin.getJointJacobian(model, data, joint, pin.LOCAL_WORLD_ALIGNED).reshape(6, robot.n)
            ours = lw.jacobian(robot, q, link=index, point=origin)[:, order]
            assert np.abs(ours - np.vstack([jacobian[3:], jacobian[:3]])).max() < CLOSE


@pytest.mark.parametrize("robot", rest_slow(SOLID, [robot for robot in SOME if robot in SOLID]), ids=ids(SOLID))
def test_mujoco_agrees(robot: lw.Robot) -> None:
    model = to_mujoco(robot)
    data = mujoco.MjData(model)
    order = depth_first(robot)
    for q, qd, qdd, tau in zip(*states(robot), strict=True):
        data.qpos[:], data.qvel[:], data.qfrc_applied[:] = q[order], qd[order], tau[order]
        mujoco.mj_forward(model, data)
        matrix = np.empty((robot.n, robot.n))
        mujoco.mj_fullM(model, data, matrix)
        assert relative(lw.inertia_matrix(robot, q)[np.ix_(order, order)], matrix) < CLOSE
        assert relative(lw.bias_torque(robot, q, qd)[order], data.qfrc_bias) < CLOSE
        solved = lw.forward_dynamics(robot, q, qd, tau)[order]
        assert relative(solved, data.qacc) < max(CLOSE, conditioned(robot, q))
        energies = [lw.potential_energy(robot, q), lw.kinetic_energy(robot, q, qd)]
        assert relative(energies, data.energy) < CLOSE
        data.qacc[:] = qdd[order]
        data.qfrc_applied[:] = 0.0
        mujoco.mj_inverse(model, data)
        assert relative(lw.inverse_dynamics(robot, q, qd, qdd)[order], data.qfrc_inverse) < CLOSE
