"""A robot from MuJoCo's `MjModel`: bodies, joints, armature, damping, springs, ranges, joint equalities."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn

import numpy as np

from ..errors import RobotError
from ..robot import Robot
from ..spatial import rotation_of

KINDS = {0: "free", 1: "ball", 2: "prismatic", 3: "revolute"}
OBJECTS = {"body": 1, "joint": 3, "site": 6, "tendon": 18}
JOINT_EQUALITY = 2
Row = dict[str, Any]


def from_mujoco(model: Any) -> Robot:
    """The robot of a `mujoco.MjModel`, with its gravity.

    Links are the bodies. A body with several joints becomes several links, the first ones named by their joints and
    without mass. Bodies without joints, and sites, are fixed frames. q is MuJoCo's qpos, v its qvel; joints that an
    active equality ties to another by a straight line are coupled and have no coordinate. Contacts, actuators and
    sensors are left out. What would change the smooth dynamics and has no place in a robot (fluids, gravity
    compensation, springs and armature of tendons, other equalities, plugins, flexes) is an error.
    """
    if type(model).__module__.partition(".")[0] != "mujoco" or not hasattr(model, "body_parentid"):
        raise TypeError(f"the model is a {type(model).__name__} (expected a mujoco.MjModel)")
    refuse_unknown(model)
    followers = couplings(model)
    labels = body_names(model)
    rows: list[Row] = []
    last: dict[int, str | None] = {0: None}
    for body in range(1, model.nbody):
        parent = last[int(model.body_parentid[body])]
        for row in body_rows(model, body, labels, parent, followers):
            rows.append(row)
        last[body] = labels[body]
    rows += list(site_rows(model, labels, {row["name"] for row in rows}))
    gravity = np.zeros(3) if int(model.opt.disableflags) & GRAVITY_OFF else np.array(model.opt.gravity)
    return Robot.from_frames(rows, gravity=gravity, name=model_name(model), unphysical="warn")


GRAVITY_OFF = 1 << 7  # mjDSBL_GRAVITY


def refuse(message: str) -> NoReturn:
    raise RobotError(f"MuJoCo model: {message}")


def name_of(model: Any, addresses: Any, index: int) -> str:
    start = int(addresses[index])
    return bytes(model.names[start:]).split(b"\0", 1)[0].decode()


def model_name(model: Any) -> str:
    return bytes(model.names).split(b"\0", 1)[0].decode() or "model"


def body_names(model: Any) -> list[str]:
    """A name for each body, its own or "body3"; the world's is not used."""
    own = [name_of(model, model.name_bodyadr, body) for body in range(model.nbody)]
    return [name or free_name(f"body{body}", own) for body, name in enumerate(own)]


def joint_name(model: Any, joint: int) -> str:
    return name_of(model, model.name_jntadr, joint)


def free_name(name: str, taken: Any) -> str:
    while name in taken:
        name += "_"
    return name


def refuse_unknown(model: Any) -> None:
    """What changes the smooth dynamics and is not in a robot."""
    if float(model.opt.density) or float(model.opt.viscosity):
        refuse("has a fluid, option density or viscosity (expected none)")
    for body in np.flatnonzero(np.array(model.body_gravcomp)).tolist():
        refuse(f"body {name_of(model, model.name_bodyadr, body)!r} has gravcomp (expected none)")
    if model.nflex:
        refuse("has flexes (expected rigid bodies alone)")
    if model.nplugin:
        refuse("has plugins (expected none)")
    for key in ("tendon_stiffness", "tendon_damping", "tendon_armature", "tendon_frictionloss"):
        for tendon in np.flatnonzero(np.array(getattr(model, key, ()))).tolist():
            what = key.removeprefix("tendon_")
            refuse(f"tendon {name_of(model, model.name_tendonadr, tendon)!r} has {what} (expected none)")
    for key in ("actuator_armature", "dof_dampingpoly", "jnt_stiffnesspoly"):
        if np.any(np.array(getattr(model, key, ()))):
            refuse(f"has {key.replace('_', ' ')} (expected none)")


def couplings(model: Any) -> dict[int, tuple[int, float, float]]:
    """Joint -> the joint that it follows, ratio and offset, in numbers of qpos."""
    found = {}
    for k in range(model.neq):
        if not bool(model.eq_active0[k]):
            continue
        name = name_of(model, model.name_eqadr, k) or str(k)
        if int(model.eq_type[k]) != JOINT_EQUALITY:
            refuse(f"equality {name!r} is not one of joints, which robots here have no place for (expected joint)")
        follower, leader = int(model.eq_obj1id[k]), int(model.eq_obj2id[k])
        c = [float(x) for x in model.eq_data[k][:5]]
        if leader < 0 or any(c[2:]):
            what = "fixes a joint" if leader < 0 else "is not a straight line"
            refuse(f"equality {name!r} {what} (expected polycoef of two numbers, and two joints)")
        zero = [float(model.qpos0[model.jnt_qposadr[joint]]) for joint in (follower, leader)]
        found[follower] = leader, c[1], zero[0] + c[0] - c[1] * zero[1]
    return found


def body_rows(
    model: Any, body: int, labels: list[str], parent: str | None, followers: dict[int, tuple[int, float, float]]
) -> Iterator[Row]:
    first, count = int(model.body_jntadr[body]), int(model.body_jntnum[body])
    R = rotation(model.body_quat[body])
    where: Row = {"translation": np.array(model.body_pos[body]), "rotation": R}
    R_i = rotation(model.body_iquat[body])
    inertial = {
        "mass": float(model.body_mass[body]),
        "com": np.array(model.body_ipos[body]),
        "inertia": symmetric(R_i @ np.diag(model.body_inertia[body]) @ R_i.T),
    }
    if not count:
        yield {"name": labels[body], "parent": parent, "joint": "fixed", **where, **inertial}
        return
    here = {"translation": np.zeros(3), "rotation": np.eye(3)}
    for k, joint in enumerate(range(first, first + count)):
        final = k == count - 1
        own = link_name(model, joint, body, labels)
        body_part = inertial if final else {"mass": 0.0, "com": np.zeros(3), "inertia": np.zeros((3, 3))}
        row = {"name": labels[body] if final else own, "parent": parent}
        if final and joint_name(model, joint):
            row["joint_name"] = joint_name(model, joint)
        yield {**row, **joint_entries(model, joint, body, labels, where, followers), **body_part}
        parent, where = row["name"], here


def link_name(model: Any, joint: int, body: int, labels: list[str]) -> str:
    """The link of a joint: the body, or for a joint that is not the body's last its own name."""
    last = int(model.body_jntadr[body] + model.body_jntnum[body]) - 1
    if joint == last:
        return labels[body]
    return free_name(joint_name(model, joint) or f"{labels[body]}_joint{joint}", labels)


def joint_entries(
    model: Any,
    joint: int,
    body: int,
    labels: list[str],
    where: Row,
    followers: dict[int, tuple[int, float, float]],
) -> Row:
    kind = KINDS[int(model.jnt_type[joint])]
    q0 = np.array(model.qpos0)[int(model.jnt_qposadr[joint]) :]
    row: Row = {"joint": kind, **where}
    if kind == "free":  # its qpos is the pose in the world, not that in the body's own place
        row |= {"translation": np.zeros(3), "rotation": np.eye(3)}
    elif kind == "ball":
        row["anchor"] = np.array(model.jnt_pos[joint])
    else:
        axis, anchor = np.array(model.jnt_axis[joint]), np.array(model.jnt_pos[joint])
        back = axis_motion(kind, axis, anchor, -float(q0[0]))
        R, t = where["rotation"], where["translation"]
        row |= {"rotation": R @ back[:3, :3], "translation": t + R @ back[:3, 3], "axis": axis}
        if kind == "revolute":
            row["anchor"] = anchor
    dof = int(model.jnt_dofadr[joint])
    count = {"free": 6, "ball": 3}.get(kind, 1)
    label = joint_name(model, joint) or labels[body]
    values = {
        "rotor_inertia": one_value(model.dof_armature[dof : dof + count], label, "armature"),
        "viscous_friction": one_value(model.dof_damping[dof : dof + count], label, "damping"),
        "coulomb_friction": one_value(model.dof_frictionloss[dof : dof + count], label, "frictionloss"),
    }
    row |= {key: value for key, value in values.items() if value}
    if count == 1:
        if bool(model.jnt_limited[joint]):
            row["limits"] = tuple(float(x) for x in model.jnt_range[joint])
        if float(model.jnt_stiffness[joint]):
            row["stiffness"] = float(model.jnt_stiffness[joint])
            row["rest"] = float(model.qpos_spring[int(model.jnt_qposadr[joint])])
    elif float(model.jnt_stiffness[joint]):
        refuse(f"joint {label!r}, a {kind} joint, has stiffness (expected none)")
    if joint in followers:
        leader, ratio, offset = followers[joint]
        target = link_name(model, leader, int(model.jnt_bodyid[leader]), labels)
        row |= {"coupled_to": target, "ratio": ratio, "offset": offset}
    return row


def axis_motion(kind: str, axis: np.ndarray, anchor: np.ndarray, q: float) -> np.ndarray:
    """The motion of a hinge or slide at q."""
    T = np.eye(4)
    if kind == "prismatic":
        T[:3, 3] = q * axis
        return T
    half = np.sin(q / 2.0) * axis
    R = rotation([np.cos(q / 2.0), *half])
    T[:3, :3], T[:3, 3] = R, anchor - R @ anchor
    return T


def one_value(values: Any, name: str, what: str) -> float:
    values = np.array(values, dtype=float)
    if np.ptp(values) > 0.0:
        refuse(f"joint {name!r} has {what} {values.tolist()}, different for its degrees of freedom (expected the same)")
    return float(values[0])


def site_rows(model: Any, labels: list[str], taken: set[str]) -> Iterator[Row]:
    taken = {*taken, "base"}
    for site in range(model.nsite):
        name = name_of(model, model.name_siteadr, site)
        body = int(model.site_bodyid[site])
        if name and name not in taken:
            taken.add(name)
            pose = {"translation": np.array(model.site_pos[site]), "rotation": rotation(model.site_quat[site])}
            yield {"name": name, "parent": labels[body] if body else None, "joint": "fixed", **pose}


def rotation(quaternion: Any) -> np.ndarray:
    return np.array(rotation_of([float(x) for x in quaternion]).rows, dtype=float)


def symmetric(tensor: np.ndarray) -> np.ndarray:
    return np.asarray((tensor + tensor.T) / 2.0)
