"""Joints that are locked: what is left moves as the whole robot does while those joints are held."""

import numpy as np

import linkwise as lw
from effort import in_turn
from facts import raises
from robots import relative

CASES = {  # robots of every convention, with the joint to be locked
    "standard": (lw.load("stanford"), "link3"),
    "modified": (lw.convert(lw.load("puma560"), "modified"), "link2"),
    "frames": (lw.load("fr3"), lw.load("fr3").joint_names[3]),
    "coupled": (lw.load("panda"), "panda_finger_joint1"),
    "screw": (lw.chain(4, seed=3, joints="RHPR"), "link2"),
    "tree": (lw.random_tree(6, seed=2), "link3"),
    "ball beside it": (lw.chain(3, seed=1, joints="SRP"), "link3"),
}


@in_turn(list(CASES))
def test_the_rest_moves_as_if_the_joint_were_held(name: str) -> None:
    arm, joint = CASES[name]
    value, rng = 0.3, np.random.default_rng(0)
    locked = arm.with_locked(joint, value)
    at, along = arm.q_slice(joint), arm.v_slice(joint)
    rest = np.delete(np.arange(arm.n), along)
    assert locked.n == arm.n - 1
    q = lw.normalize(arm, rng.normal(size=arm.nq))
    q[at] = value
    qd, qdd = rng.normal(size=(2, arm.n))
    qd[along], qdd[along] = 0.0, 0.0
    less = np.delete(q, at)
    assert relative(lw.inertia_matrix(locked, less), lw.inertia_matrix(arm, q)[np.ix_(rest, rest)]) < 1e-11
    tau, expected = lw.inverse_dynamics(locked, less, qd[rest], qdd[rest]), lw.inverse_dynamics(arm, q, qd, qdd)[rest]
    assert relative(tau, expected) < 1e-11
    assert locked.joints == "".join(
        np.delete(list(arm.joints), [j for j, m in enumerate(arm.moving) if m.name not in locked.names])
    )


def test_anchors_and_several_at_once() -> None:
    body = {"mass": 1.0, "com": (0.1, 0.2, 0.3), "inertia": np.diag([0.1, 0.2, 0.25])}
    rows = [
        {"joint": "revolute", "translation": (0, 0, 0.5), "axis": (0, 0.6, 0.8), "anchor": (0.1, -0.2, 0.3), **body},
        {"joint": "screw", "pitch": 0.2, "translation": (0.3, 0, 0), "axis": (1, 0, 0), "anchor": (0, 0.2, 0), **body},
        {"joint": "prismatic", "translation": (0, 0.4, 0), "axis": (0, 0, 1), **body},
        {"joint": "revolute", "translation": (0.1, 0.4, 0), **body},
    ]
    arm = lw.Robot.from_frames(rows)
    q = np.array([0.7, -0.4, 0.2, 0.5])
    locked = arm.with_locked({"link1": 0.7, "link2": -0.4, "link3": 0.2})
    assert relative(lw.poses(locked, q[3:])[-1], lw.poses(arm, q)[-1]) < 1e-14
    assert relative(lw.gravity_torque(locked, q[3:]), lw.gravity_torque(arm, q)[3:]) < 1e-13


def test_what_cannot_be_locked() -> None:
    panda, ball = lw.load("panda"), lw.chain(2, joints="SR")
    for arm, joint, *facts in (
        (panda, "panda_finger_joint2", "'panda_finger_joint2'", "'panda_leftfinger'"),
        (ball, "link1", "'link1'", "ball"),
        (panda, "panda_joint9", "'panda_joint9'", "'panda_joint1'"),
        (lw.chain(1), "link1", "'chain-1-0-R'"),
    ):
        with raises(lw.errors.RobotError, *facts):
            arm.with_locked(joint)
    for value in (np.nan, True, "0.1", None):
        with raises(lw.errors.RobotError, "'panda_joint1'", repr(value)):
            panda.with_locked("panda_joint1", value)
