"""Torques of the library's originals in Pinocchio and MuJoCo, joint by joint under the names of the file."""

from pathlib import Path

import mujoco
import numpy as np
import pinocchio as pin

import linkwise as lw


def shares(robot: lw.Robot, names: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """S, s: the joints of these names move by S q + s; one that is coupled has no q of its own."""
    rows = {row["name"]: row for row in robot.rows}
    owner = {row.get("joint_name", name): name for name, row in rows.items()}
    matrix, offsets = np.zeros((len(names), robot.n)), np.zeros(len(names))
    for i, name in enumerate(names):
        row, ratio = rows[owner[name]], 1.0
        while "coupled_to" in row:
            offsets[i] += ratio * row.get("offset", 0.0)
            ratio *= row.get("ratio", 1.0)
            row = rows[row["coupled_to"]]
        matrix[i, robot.v_slice(row["name"])] = ratio
    return matrix, offsets


def pinocchio_torques(robot: lw.Robot, path: Path, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
    """Of a URDF file; the free joint of a robot that has one is its first."""
    free = 6 if robot.free_joints else 0
    model = pin.buildModelFromUrdf(str(path), *([pin.JointModelFreeFlyer()] if free else []))
    data, joints = model.createData(), list(range(2 if free else 1, model.njoints))
    their_q, their_v, their_a = lw.convert_state(robot, q, v, a, target="pinocchio")
    matrix, offsets = shares(robot, [model.names[j] for j in joints])
    base = free + 1 if free else 0
    angles = matrix[:, free:] @ their_q[base:] + offsets
    numbers = [[x] if model.joints[j].nq == 1 else [np.cos(x), np.sin(x)] for j, x in zip(joints, angles, strict=True)]
    moves = [np.concatenate([x[:free], matrix[:, free:] @ x[free:]]) for x in (their_v, their_a)]
    torques = pin.rnea(model, data, np.concatenate([their_q[:base], *numbers]), *moves)
    ours = np.concatenate([torques[:free], matrix[:, free:].T @ torques[free:]])
    return lw.convert_force(robot, their_q, ours, source="pinocchio")


def mujoco_torques(robot: lw.Robot, path: Path, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
    """Of an MJCF file: M a + c, without friction and other passive forces."""
    model = mujoco.MjModel.from_xml_path(str(path))
    data, inertia = mujoco.MjData(model), np.zeros((model.nv, model.nv))
    free = 6 if robot.free_joints else 0
    base = free + 1 if free else 0
    matrix, offsets = shares(robot, [model.joint(j).name for j in range(1 if free else 0, model.njnt)])
    matrix = matrix[:, free:]
    data.qpos[:] = np.concatenate([q[:base], matrix @ q[base:] + offsets])
    data.qvel[:] = np.concatenate([v[:free], matrix @ v[free:]])
    mujoco.mj_forward(model, data)
    mujoco.mj_fullM(model, data, inertia)
    torques = inertia @ np.concatenate([a[:free], matrix @ a[free:]]) + data.qfrc_bias
    return np.concatenate([torques[:free], matrix.T @ torques[free:]])
