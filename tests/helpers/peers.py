"""The same robots in Pinocchio and in MuJoCo, built from our links frame by frame.

Both want depth-first numbering, so a tree is renumbered: `depth_first(robot)[k]` is our index of their joint k.
"""

import mujoco
import numpy as np
import pinocchio as pin

import linkwise as lw
from linkwise.spatial import Placement


def placement(p: Placement) -> tuple[np.ndarray, np.ndarray]:
    return np.array(p.axes.rows), np.array(list(p.translation))


def depth_first(robot: lw.Robot) -> list[int]:
    order: list[int] = []
    waiting = [link.index for link in reversed(robot.links) if link.parent < 0]
    while waiting:
        order.append(waiting.pop())
        waiting += [link.index for link in reversed(robot.links) if link.parent == order[-1]]
    return order


def to_pinocchio(robot: lw.Robot) -> tuple[pin.Model, pin.Data]:
    model = pin.Model()
    model.gravity.linear = np.array(robot.gravity)
    kinds = {"revolute": pin.JointModelRZ, "prismatic": pin.JointModelPZ}
    joints = {-1: 0}
    for index in depth_first(robot):
        link = robot.links[index]
        where = pin.SE3(*placement(link.placement))
        joint = joints[index] = model.addJoint(joints[link.parent], kinds[link.joint.kind](), where, link.name)
        body = pin.Inertia(link.mass, np.array(list(link.com)), np.array(link.inertia.rows))
        model.appendBodyToJoint(joint, body, pin.SE3.Identity())
    model.armature = np.array([robot.links[i].joint.rotor_inertia for i in depth_first(robot)])
    return model, model.createData()


def to_mujoco(robot: lw.Robot) -> mujoco.MjModel:
    spec = mujoco.MjSpec()
    spec.option.gravity = np.array(robot.gravity)
    spec.option.enableflags = mujoco.mjtEnableBit.mjENBL_ENERGY
    kinds = {"revolute": mujoco.mjtJoint.mjJNT_HINGE, "prismatic": mujoco.mjtJoint.mjJNT_SLIDE}
    bodies = {-1: spec.worldbody}
    for index in depth_first(robot):
        link = robot.links[index]
        axes, origin = placement(link.placement)
        body = bodies[link.parent].add_body(name=link.name, pos=origin, quat=quaternion(axes))
        body.mass, body.ipos, body.explicitinertial = link.mass, np.array(list(link.com)), True
        i = link.inertia
        body.fullinertia = np.array([i.xx, i.yy, i.zz, i.xy, i.xz, i.yz])
        body.add_joint(type=kinds[link.joint.kind], axis=[0, 0, 1], armature=link.joint.rotor_inertia)
        bodies[index] = body
    return spec.compile()


def quaternion(axes: np.ndarray) -> np.ndarray:
    quat = np.empty(4)
    mujoco.mju_mat2Quat(quat, axes.flatten())
    return quat
