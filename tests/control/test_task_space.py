"""Laws for a frame: what each promises of its motion and of its energy, for any robot; and both as C."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwise as lw
from effort import rest_slow
from facts import raises
from linkwise.control.task_space import rotation_vector
from robots import CHAINS, relative

PANDA, PLANAR, PUMA = lw.load("panda"), lw.load("planar3"), lw.load("puma560")
HAND = "panda_link7"
BENT = np.array([0.1, -0.5, 0.2, -1.8, 0.1, 1.5, 0.7, 0.01])
SNAKE = lw.chain(8, seed=3)
ROBOTS = [PUMA, PANDA, SNAKE, lw.load("ur5e"), CHAINS[12]]


def rotation(vector: Any) -> np.ndarray:
    """exp of a rotation vector, by Rodrigues."""
    vector = np.asarray(vector, float)
    angle = np.linalg.norm(vector)
    x, y, z = vector / (angle or 1.0)
    K = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.asarray(np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K)


def pose(turn: Any, place: Any) -> np.ndarray:
    return np.block([[rotation(turn), np.reshape(place, (3, 1))], [np.zeros((1, 3)), np.ones((1, 1))]])


def circle(t: Any) -> tuple[Any, Any, Any]:
    """A frame that turns about z and whose origin runs on a circle."""
    c, s, o = np.cos(t), np.sin(t), 0.0 * t
    place = np.stack([np.stack([c, -s, o, 0.3 + 0.1 * c]), np.stack([s, c, o, 0.1 * s]), *np.eye(4)[2:]])
    return place, np.stack([o, o, o + 1.0, -0.1 * s, 0.1 * c, o]), np.stack([o, o, o, -0.1 * c, -0.1 * s, o])


def tip_states(robot: lw.Robot, seed: int = 0) -> tuple[str, np.ndarray, np.ndarray]:
    rng = np.random.default_rng([seed, robot.n])
    return robot.names[-1], lw.random_configuration(robot, rng), rng.normal(size=robot.n)


@pytest.mark.parametrize("length", [1e-9, 1e-4, 1.0, 3.0, np.pi - 1e-9, np.pi])
def test_a_rotation_vector_is_found_again(length: float) -> None:
    axes = np.random.default_rng(0).normal(size=(40, 3))
    vectors = length * np.concatenate([axes / np.linalg.norm(axes, axis=1)[:, None], np.eye(3), -np.eye(3)])
    found = rotation_vector(np.array([rotation(v) for v in vectors]))
    off = np.abs(found - vectors).max(axis=1)
    if length > 3.1:  # half a turn has two
        off = np.minimum(off, np.abs(found + vectors).max(axis=1))
    assert off.max() < (4e-15 if length < 3.1 else 1e-7 if length < np.pi else 2e-15) * max(length, 1e-7)


@pytest.mark.parametrize("robot", rest_slow(ROBOTS, ROBOTS[:3]), ids=lambda robot: robot.name)
def test_the_frame_has_the_acceleration_that_is_asked_for_and_the_rest_follows_the_posture(robot: lw.Robot) -> None:
    frame, q, qd = (HAND, BENT, 0.3 * np.arange(8.0)) if robot is PANDA else tip_states(robot)
    t, rest = 0.4, lw.neutral(robot) + 0.2
    kp, kd = np.array([20.0, 30.0, 40.0, 50.0, 60.0, 70.0]), np.array([5.0, 6.0, 7.0, 8.0, 9.0, 10.0])
    law = lw.control.operational_space(frame, circle, kp, kd, posture=rest, posture_kp=4, posture_kd=3)
    qdd = lw.forward_dynamics(robot, q, qd, law(robot, t, q, qd))
    target, twist, acceleration = circle(t)
    here, J = lw.poses(robot, q, frame=frame), lw.jacobian(robot, q, frame=frame)
    error = [*rotation_vector(target[:3, :3] @ here[:3, :3].T), *(target[:3, 3] - here[:3, 3])]
    wanted = acceleration + kd * (twist - J @ qd) + kp * error
    condition = np.linalg.cond(J @ np.linalg.solve(lw.inertia_matrix(robot, q), J.T))
    assert relative(J @ qdd + lw.jacobian_rate(robot, q, qd, frame=frame) @ qd, wanted) < 1e-14 * condition
    force = lw.inertia_matrix(robot, q) @ (qdd - (4 * (rest - q) - 3 * qd))  # of the frame alone: Jᵀ F
    left = force - J.T @ np.linalg.lstsq(J.T, force, rcond=None)[0]
    assert relative(force, force - left) < 1e-13 * condition
    point = lw.control.operational_space(frame, target[:3, 3], kp[3:], kd[3:], components=("z", "x"))
    with raises(ValueError, "kp", 3, 2):
        point(robot, t, q, qd)


def test_errors_fall_as_the_gains_say() -> None:
    """Also in a plane, where two components are all that can be controlled, and with gains as parameters."""
    start = lw.poses(PANDA, BENT, frame=HAND)
    goal = start.copy()
    goal[:3, :3] = rotation([0.3, -0.6, 0.4]) @ start[:3, :3]
    goal[:3, 3] += [0.05, -0.1, 0.08]
    law = lw.control.operational_space(HAND, goal, 10.0, 20.0, posture=BENT, posture_kp=10, posture_kd=6)
    run = lw.simulate(PANDA, BENT, duration=0.5, torque=law, samples=6, parameters={"kp": 100.0, "target": goal})
    assert run.compiled
    decay = ((1 + 10 * run.t) * np.exp(-10 * run.t))[:, None]
    ends = lw.poses(PANDA, run.q, frame=HAND)
    assert np.abs(goal[:3, 3] - ends[:, :3, 3] - decay * (goal[:3, 3] - start[:3, 3])).max() < 1e-8
    turns = rotation_vector(goal[:3, :3] @ np.swapaxes(ends[:, :3, :3], 1, 2))
    assert np.abs(turns - decay * [0.3, -0.6, 0.4]).max() < 1e-8
    plane = lw.control.operational_space("link3", [0.5, 0.4, 0], 100, 20, components=("x", "y"), posture_kd=5)
    move = lw.simulate(PLANAR, [0.4, 0.6, 0.5], duration=0.5, torque=plane, samples=6)
    tips = lw.poses(PLANAR, move.q, frame="link3")[:, :2, 3]
    assert np.abs([0.5, 0.4] - tips - decay * ([0.5, 0.4] - tips[0])).max() < 1e-8


@pytest.mark.parametrize("robot", rest_slow(ROBOTS, [PUMA, PANDA]), ids=lambda robot: robot.name)
def test_energy_falls_by_what_the_dampers_take(robot: lw.Robot) -> None:
    frame, q, qd = tip_states(robot, 1)
    stiffness, damping = np.array([5.0, 9.0, 2.0, 100.0, 200.0, 50.0]), np.array([1.0, 0.0, 2.0, 9.0, 8.0, 7.0])
    for target in (pose([0.3, -2.0, 0.9], [0.4, 0.1, 0.6]), np.array([0.4, 0.1, 0.6])):
        size = 6 if target.ndim == 2 else 3
        law = lw.control.impedance(frame, target, stiffness[-size:], damping[-size:])
        step = 1e-6
        springs = [
            law.lyapunov(robot, lw.integrate(robot, q, qd, sign * step), qd)
            - lw.kinetic_energy(robot, lw.integrate(robot, q, qd, sign * step), qd)
            for sign in (1, -1)
        ]
        tau = law(robot, 0.0, q, qd)
        rate = qd @ (tau - lw.gravity_torque(robot, q)) + (springs[0] - springs[1]) / (2 * step)
        v = (lw.jacobian(robot, q, frame=frame) @ qd)[-size:]
        assert rate == pytest.approx(-(damping[-size:] * v**2).sum(), rel=1e-6)


def test_at_rest_on_the_target_both_laws_hold_the_robot_against_gravity() -> None:
    goal, zero = lw.poses(PANDA, BENT, frame=HAND), np.zeros(8)
    for law in (
        lw.control.operational_space(HAND, goal, 100, 20, posture=BENT, posture_kp=1),
        lw.control.operational_space(HAND, goal[:3, 3], 100, 20),
        lw.control.impedance(HAND, goal, 300, 20),
        lw.control.impedance(HAND, lambda t: (goal[:3, 3] + 0.0 * t, np.zeros(3), np.zeros(3)), 300, 20),
    ):
        assert relative(law(PANDA, 0.0, BENT, zero), lw.gravity_torque(PANDA, BENT)) < 1e-12
        batch = law(PANDA, 0.0, np.stack([BENT, BENT + 0.1]), np.stack([zero, zero + 0.2]))
        assert relative(batch[1], law(PANDA, 0.0, BENT + 0.1, zero + 0.2)) < 1e-12
        kernel = lw.compile(law, PANDA)
        assert relative(kernel(0.0, BENT + 0.1, zero + 0.2), batch[1]) < 1e-9
        assert eval(repr(law), {**vars(lw.control)}) == law if "lambda" not in repr(law) else True


def test_impedance_needs_no_inverse_where_the_frame_is_singular() -> None:
    straight = np.zeros(3)
    law = lw.control.impedance("link3", [0.3, 0.2, 0.0], 50, 5)
    assert np.isfinite(law(PLANAR, 0.0, straight, straight)).all()
    assert np.isfinite(lw.compile(law, PLANAR)(0.0, straight, straight)).all()
    reach = lw.control.operational_space("link3", [0.3, 0.2, 0.0], 50, 5)
    for call in (lambda: reach(PLANAR, 0.0, straight, straight), lambda: lw.compile(reach, PLANAR)):
        with raises(lw.errors.SingularError, "link3", "planar3", "x, y, z", "components"):
            call()  # no joint moves it along z


@pytest.mark.parametrize(
    ("make", "facts"),
    [
        (lambda: lw.control.operational_space(7, [0, 0, 0], 1, 1), ("frame", 7)),
        (lambda: lw.control.impedance("tool0", [0, 0], 1, 1), ("target", "(3,)", "(4, 4)")),
        (lambda: lw.control.impedance("tool0", 2 * np.eye(4), 1, 1), ("target", "rotation")),
        (lambda: lw.control.impedance("tool0", np.diag([1, 1, -1, 1]), 1, 1), ("target", "rotation")),
        (lambda: lw.control.impedance("tool0", [0, 0, np.nan], 1, 1), ("target", "finite")),
        (lambda: lw.control.operational_space("tool0", [0, 0, 0], -1, 1), ("kp", -1)),
        (
            lambda: lw.control.operational_space("tool0", [0, 0, 0], 1, 1, components=["yaw"]),
            ("components", "yaw", "rz"),
        ),
        (lambda: lw.control.operational_space("tool0", [0, 0, 0], 1, 1, posture=[0, 0]), ("posture", "posture_kp")),
        (
            lambda: lw.control.operational_space("tool0", [0, 0, 0], 1, 1, posture_kp=[0, 3.5]),
            ("posture_kp", 3.5, "posture"),
        ),
        (lambda: lw.control.operational_space("tool0", [0, 0, 0], 1, 1, components=["x", "x"]), ("components", "once")),
        (
            lambda: lw.control.operational_space(HAND, [0, 0, 0], 1, 1, components=["rx"])(PANDA, 0.0, BENT, BENT),
            ("components", "rx", "x"),
        ),
        (lambda: lw.control.impedance("tool0", [0, 0, 0], 1, 1)(PANDA, 0.0, BENT, BENT), ("tool0", "panda")),
        (lambda: lw.control.impedance(HAND, lambda t: (1, 2), 1, 1)(PANDA, 0.0, BENT, BENT), ("impedance", "velocity")),
        (
            lambda: lw.control.impedance(HAND, lambda t: ([1.0] * 3, [0.0] * 6, [0.0] * 6), 1, 1)(
                PANDA, 0.0, BENT, BENT
            ),
            ("(3,)", "(6,)"),
        ),
        (lambda: lw.control.impedance(HAND, lambda t: 1, 1, 1).lyapunov(PANDA, BENT, BENT), ("Lyapunov", "target")),
    ],
)
def test_mistakes_are_named(make: Any, facts: tuple[Any, ...]) -> None:
    with raises((TypeError, ValueError), *facts):
        make()


@pytest.mark.parametrize("make", [lw.control.operational_space, lw.control.impedance])
def test_a_robot_with_a_joint_without_a_drive_is_refused(make: Any) -> None:
    robot = PLANAR.with_free_base(mass=5.0, inertia=np.eye(3), name="hull")
    law, q, qd = make("link3", [0.3, 0.2, 0.0], 50, 5), lw.neutral(robot), np.zeros(robot.n)
    for call in (
        lambda: law(robot, 0.0, q, qd),
        lambda: lw.compile(law, robot),
        lambda: lw.simulate(robot, q, duration=0.01, torque=law + lw.control.springs(0)),
    ):
        with raises(ValueError, make.__name__, robot.free_joints[0].name, "drive"):
            call()


MUTATIONS = [(" + ", " - "), (" - ", " + "), ("*", "*1.01*")]  # in the text of the C function


def compiled_and_run(folder: Path, text: str, *options: str) -> "subprocess.CompletedProcess[str]":
    (folder / "law.c").write_text(text)
    flags = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", *options]
    subprocess.run(["cc", *flags, "law.c", "-o", "law", "-lm"], cwd=folder, check=True)
    return subprocess.run(["./law"], cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
@pytest.mark.parametrize(("count", "robot"), rest_slow([(1, PLANAR), (30, PANDA)], [(1, PLANAR)]))
def test_the_self_test_of_exported_c_notices_mistakes(count: int, robot: lw.Robot, tmp_path: Path) -> None:
    law = lw.control.operational_space("link3", [0.5, 0.4, 0], 100, 20, components=("x", "y"), posture_kd=5)
    if robot is PANDA:
        goal = lw.poses(PANDA, BENT + 0.1, frame=HAND)
        law = lw.control.operational_space(HAND, goal, 100, 20, posture=BENT, posture_kp=10, posture_kd=6)
    text = str(lw.c_source(law, robot, self_test=True))
    assert compiled_and_run(tmp_path, text, "-O1").returncode == 0
    lines = text.splitlines()
    end = next(k for k, line in enumerate(lines) if "Self-test" in line)
    places = [
        (k, old, new)
        for k, line in enumerate(lines[:end])
        if line.startswith("    const double")
        for old, new in MUTATIONS
        if old in line.partition(" = ")[2]
    ]
    rng = np.random.default_rng(0)
    for k, old, new in (places[i] for i in rng.choice(len(places), size=count, replace=False)):
        head, equals, right = lines[k].partition(" = ")
        changed = [*lines[:k], head + equals + right.replace(old, new, 1), *lines[k + 1 :]]
        assert compiled_and_run(tmp_path, "\n".join(changed) + "\n", "-O0").returncode != 0, changed[k]
