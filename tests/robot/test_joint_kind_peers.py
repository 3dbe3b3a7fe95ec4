"""Joints of every kind: agreement with Pinocchio and MuJoCo."""

import numpy as np
import pytest

import linkwise as lw
from joint_kinds import jointed, states
from linkwise.robot.kinds import KINDS
from robots import conditioned, relative

pin = pytest.importorskip("pinocchio", reason="Pinocchio has no wheel for Windows")
mujoco = pytest.importorskip("mujoco")

from jointed_peers import from_pinocchio, in_mujoco, in_pinocchio, pinocchio_state  # noqa: E402

ALIKE = 1e-10
SIZES = (1, 2, 3, 4, 6, 9)
COMMON = "".join(kind.letter for kind in KINDS.values() if "pinocchio" in kind.libraries)
TREES = [(n, seed, COMMON) for n in SIZES for seed in range(2)] + [(n, 7, COMMON) for n in (20, 40)]
ALONE = [(1, k, letter) for k, letter in enumerate("SFH")]
IN_MUJOCO = [(n, seed, "RPCUES") for n in SIZES for seed in (3, 4)]


@pytest.fixture
def robot(request):
    return jointed(*request.param)


def over(many, quick):
    """The robots made of these arguments; those that are not quick run with the slow tests."""
    marks = [() if each in quick else pytest.mark.slow for each in many]
    made = [pytest.param(each, id="-".join(map(str, each)), marks=mark) for each, mark in zip(many, marks, strict=True)]
    return pytest.mark.parametrize("robot", made, indirect=True)


@over(TREES + ALONE, [*TREES[1:12:4], *ALONE])
def test_pinocchio_agrees(robot):
    model, data = in_pinocchio(robot)
    q, v, a, _ = states(robot)
    theirs = pinocchio_state(robot, q, v, a)
    tau = lw.inverse_dynamics(robot, q, v, a)
    assert relative(tau, from_pinocchio(robot, q, pin.rnea(model, data, *theirs))) < ALIKE
    bound = max(ALIKE, conditioned(robot, q))
    assert relative(lw.forward_dynamics(robot, q, v, tau, method="fewest"), a) < bound
    mass = pin.crba(model, data, theirs[0])
    mass = np.triu(mass) + np.triu(mass, 1).T
    energy = 0.5 * theirs[1] @ mass @ theirs[1]
    assert relative(lw.kinetic_energy(robot, q, v), energy) < ALIKE
    assert relative(0.5 * v @ lw.inertia_matrix(robot, q) @ v, energy) < ALIKE
    assert relative(lw.potential_energy(robot, q), pin.computePotentialEnergy(model, data, theirs[0])) < ALIKE


@over(IN_MUJOCO, IN_MUJOCO[1::2])
def test_mujoco_agrees_in_our_own_coordinates(robot):
    """Also with rotors, in ball joints too; free joints stand on the base, at its origin."""
    rows = [{**row, "rotor_inertia": 0.02 * (k + 1)} for k, row in enumerate(robot.rows)]
    root = lw.Robot.from_frames(rows, gravity=robot.gravity).with_free_base(2.0, (0.1, 0.2, 0.3), np.eye(3) * 0.1)
    model = in_mujoco(root)
    data = mujoco.MjData(model)
    q, v, a, _ = states(root)
    for start in root.quaternions:  # MuJoCo wants them of unit length
        q[start : start + 4] /= np.linalg.norm(q[start : start + 4])
    data.qpos, data.qvel, data.qacc = q, v, a
    mujoco.mj_inverse(model, data)
    assert relative(lw.inverse_dynamics(root, q, v, a), data.qfrc_inverse) < ALIKE
    mass = np.zeros((root.n, root.n))
    mujoco.mj_fullM(model, data, mass)
    assert relative(lw.inertia_matrix(root, q), mass) < ALIKE
    assert relative(lw.poses(root, q)[:, :3, 3], data.xpos[1:]) < ALIKE
    assert relative(lw.poses(root, q)[:, :3, :3].reshape(-1, 9), data.xmat[1:]) < ALIKE
