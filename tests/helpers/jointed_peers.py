"""Robots with joints of every kind in Pinocchio and MuJoCo, built from their tables.

Pinocchio has screws, ball and free joints of its own; MuJoCo ball and free joints, the latter on the base alone. Joints
of other kinds are several joints there. Rows are in depth-first order, which both want.
"""

from typing import Any

import mujoco
import numpy as np
import pinocchio as pin

import linkwise as lw
from peers import quaternion

AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}


def turned(axis: str, row: dict[str, Any]) -> np.ndarray:
    """An axis of the row's joint frame; of planar and cylindrical joints, z is the row's own axis."""
    if "axis" not in row:
        return np.array(AXES[axis])
    x, y, z = row["axis"]
    v = np.cross((0.0, 0.0, 1.0), (x, y, z))
    cross = np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])
    return (np.eye(3) + cross + cross @ cross / (1.0 + z)) @ AXES[axis]


def pinocchio_parts(row: dict[str, Any]) -> list[Any]:
    def revolute(axis: str) -> Any:
        return pin.JointModelRevoluteUnaligned(turned(axis, row))

    def prismatic(axis: str) -> Any:
        return pin.JointModelPrismaticUnaligned(turned(axis, row))

    return {
        "revolute": lambda: [revolute("z")],
        "prismatic": lambda: [prismatic("z")],
        "screw": lambda: [pin.JointModelHelicalUnaligned(turned("z", row), row["pitch"])],
        "cylindrical": lambda: [prismatic("z"), revolute("z")],
        "universal": lambda: [revolute("x"), revolute("y")],
        "planar": lambda: [prismatic("x"), prismatic("y"), revolute("z")],
        "ball": lambda: [pin.JointModelSpherical()],
        "free": lambda: [pin.JointModelFreeFlyer()],
    }[row["joint"]]()


def in_pinocchio(robot: lw.Robot) -> tuple[pin.Model, pin.Data]:
    model = pin.Model()
    model.gravity.linear = np.array(robot.gravity)
    last = {"base": 0, "": 0}  # no parent: a free base
    for row in robot.rows:
        parent, where = last[row["parent"]], pin.SE3(np.array(row["rotation"]), np.array(row["translation"]))
        for k, part in enumerate(pinocchio_parts(row)):
            parent = model.addJoint(parent, part, where, f"{row['name']}-{k}")
            where = pin.SE3.Identity()
        body = pin.Inertia(row["mass"], np.array(row["com"]), np.array(row["inertia"]))
        model.appendBodyToJoint(parent, body, pin.SE3.Identity())
        last[row["name"]] = parent
    return model, model.createData()


def rotation(quaternion: np.ndarray) -> np.ndarray:
    w, x, y, z = quaternion / np.linalg.norm(quaternion)
    return np.asarray(pin.Quaternion(w, x, y, z).matrix())


def pinocchio_state(
    robot: lw.Robot, q: np.ndarray, v: np.ndarray, a: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Quaternions with w last, and a free joint's linear velocity in the body's axes."""
    q, v, a = q.copy(), v.copy(), a.copy()
    for joint in robot.moving:
        if joint.kind.name in ("ball", "free"):
            four = slice(joint.q.stop - 4, joint.q.stop)
            unit = q[four] / np.linalg.norm(q[four])
            if joint.kind.name == "free":
                turn, linear, spin = rotation(unit), slice(joint.v.start, joint.v.start + 3), v[joint.v][3:]
                v[linear] = turn.T @ v[linear]
                a[linear] = turn.T @ a[linear] - np.cross(spin, v[linear])
            q[four] = [*unit[1:], unit[0]]
    return q, v, a


def from_pinocchio(robot: lw.Robot, q: np.ndarray, tau: np.ndarray) -> np.ndarray:
    """Pinocchio's torques as ours: a free joint's force in the parent's axes."""
    tau = tau.copy()
    for joint in robot.moving:
        if joint.kind.name == "free":
            force = slice(joint.v.start, joint.v.start + 3)
            tau[force] = rotation(q[joint.q][3:]) @ tau[force]
    return tau


def in_mujoco(robot: lw.Robot) -> mujoco.MjModel:
    hinge, slide = mujoco.mjtJoint.mjJNT_HINGE, mujoco.mjtJoint.mjJNT_SLIDE
    parts = {
        "revolute": [(hinge, "z")],
        "prismatic": [(slide, "z")],
        "cylindrical": [(slide, "z"), (hinge, "z")],
        "universal": [(hinge, "x"), (hinge, "y")],
        "planar": [(slide, "x"), (slide, "y"), (hinge, "z")],
        "ball": [(mujoco.mjtJoint.mjJNT_BALL, "z")],
        "free": [(mujoco.mjtJoint.mjJNT_FREE, "z")],
    }
    spec = mujoco.MjSpec()
    spec.option.gravity = np.array(robot.gravity)
    bodies = {"base": spec.worldbody, "": spec.worldbody}  # "" where a link is called "base"
    for row in robot.rows:
        pose = {"pos": row["translation"], "quat": quaternion(np.array(row["rotation"]))}
        body = bodies[row["parent"]].add_body(name=row["name"], **({} if row["joint"] == "free" else pose))
        body.mass, body.ipos, body.explicitinertial = row["mass"], np.array(row["com"]), True
        i = row["inertia"]
        body.fullinertia = np.array([i[0][0], i[1][1], i[2][2], i[0][1], i[0][2], i[1][2]])
        for kind, axis in parts[row["joint"]]:
            rotor = {"armature": row.get("rotor_inertia", 0.0)}
            body.add_joint(type=kind, axis=turned(axis, row), **rotor)
        bodies[row["name"]] = body
    return spec.compile()
