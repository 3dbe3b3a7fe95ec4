"""Frames that are held: laws over random trees of all joints, Pinocchio, 50 digits."""

import warnings
from collections.abc import Mapping
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
import pytest
from arms import robot_data

import linkwise as lw
from digits import apart, many_digits
from effort import in_turn, rest_slow
from facts import raises
from joint_kinds import SCREWS, TREE
from peers import placement, to_pinocchio
from robots import relative
from urdf_peers import Peer

DATA = Path(__file__).parents[1] / "data" / "robots"
ROWS = {"point": slice(3, 6), "pose": slice(0, 6)}
ROUNDING = 1e-11
ROBOTS = [TREE, SCREWS, lw.load("go1"), lw.load("puma560")]  # every kind of joint, drives, coupled joints
FEET = ("FL_foot", "FR_foot", "RL_foot", "RR_foot")


def at(matrices: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    return np.einsum("...ij,...j->...i", matrices, vectors)


def deepest(robot: lw.Robot, count: int = 2) -> list[str]:
    """Links far from the base, on different branches."""
    leaves = sorted((j for j in robot.leaves), key=lambda j: -len(robot.ancestors(j)))
    return [robot.links[j].name for j in leaves[:count]]


def states(robot: lw.Robot, count: int = 3, seed: int = 0) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng([seed, robot.n])
    return (lw.random_configuration(robot, rng, (count,)), *rng.normal(size=(2, count, robot.n)))


def rows_of(robot: lw.Robot, q: np.ndarray, fixed: Mapping[str, str]) -> np.ndarray:
    """K: (..., rows, n)."""
    return np.concatenate([lw.jacobian(robot, q, frame=f)[..., ROWS[hold], :] for f, hold in fixed.items()], -2)


def rates_of(robot: lw.Robot, q: np.ndarray, qd: np.ndarray, fixed: Mapping[str, str]) -> np.ndarray:
    """K̇ q̇"""
    frames = [(lw.jacobian_rate(robot, q, qd, frame=frame), hold) for frame, hold in fixed.items()]
    return np.concatenate([at(rate, qd)[..., ROWS[hold]] for rate, hold in frames], -1)


def forces(result: Mapping[str, np.ndarray], fixed: Mapping[str, str]) -> np.ndarray:
    """λ"""
    return np.concatenate([result[frame][..., ROWS[hold]] for frame, hold in fixed.items()], -1)


def holds_of(robot: lw.Robot) -> dict[str, str]:
    return dict(zip(deepest(robot), ("pose", "point"), strict=False))


every = pytest.mark.parametrize("robot", ROBOTS, ids=lambda robot: robot.name)


@every
def test_frames_move_as_wanted_under_the_forces_that_are_given(robot: lw.Robot) -> None:
    fixed, (q, qd, tau) = holds_of(robot), states(robot)
    rng, K = np.random.default_rng(1), rows_of(robot, q, fixed)
    wanted = at(K, rng.normal(size=(3, robot.n)))  # which the joints can give
    wanted += rates_of(robot, q, qd, fixed)
    wrench = {robot.names[-2]: rng.normal(size=(3, 6))}
    motion = lw.constrained_dynamics(robot, q, qd, tau, wrench, fixed=fixed, acceleration=wanted, check=True)
    assert relative(at(K, motion.qdd) + rates_of(robot, q, qd, fixed), wanted) < ROUNDING
    pulled = at(K.swapaxes(-1, -2), forces(motion.wrenches, fixed))
    assert relative(lw.inverse_dynamics(robot, q, qd, motion.qdd, wrench), tau + pulled) < ROUNDING
    assert list(motion.wrenches) == list(fixed)
    assert all(not w[..., :3].any() for f, w in motion.wrenches.items() if fixed[f] == "point")
    frame, first = next(iter(fixed)), 6 if fixed[next(iter(fixed))] == "pose" else 3
    some = lw.constrained_dynamics(robot, q, qd, tau, fixed=fixed, acceleration={frame: wanted[:, :first]})
    rest = np.concatenate([wanted[:, :first], np.zeros_like(wanted[:, first:])], -1)
    same = lw.constrained_dynamics(robot, q, qd, tau, fixed=fixed, acceleration=rest)
    assert relative(some.qdd, same.qdd) == 0.0


@every
def test_accelerations_are_nearest_to_the_free_ones(robot: lw.Robot) -> None:
    """Gauss: K I⁻¹ Kᵀ λ is what the free accelerations lack, λ the shortest; for contradictory constraints too."""
    fixed = {**holds_of(robot), robot.names[-2]: "pose", robot.names[1]: "point"}  # redundant, or too many
    q, qd, tau = states(robot, 2, seed=3)
    motion = lw.constrained_dynamics(robot, q, qd, tau, fixed=fixed)
    K, free = rows_of(robot, q, fixed), lw.forward_dynamics(robot, q, qd, tau)
    S = K @ lw.inverse_inertia_matrix(robot, q) @ K.swapaxes(-1, -2)
    missing = -rates_of(robot, q, qd, fixed) - at(K, free)
    expected = at(np.linalg.pinv(S, rcond=1e-11, hermitian=True), missing)
    assert relative(forces(motion.wrenches, fixed), expected) < 1e-7
    order = dict(reversed(fixed.items()))
    assert relative(lw.constrained_dynamics(robot, q, qd, tau, fixed=order).qdd, motion.qdd) < 1e-7


@every
def test_an_impact_loses_the_energy_of_what_it_changes(robot: lw.Robot) -> None:
    fixed, (q, qd, _) = holds_of(robot), states(robot, seed=4)
    after, impulses = lw.impact(robot, q, qd, fixed=fixed, check=True)
    K = rows_of(robot, q, fixed)
    assert np.abs(at(K, after)).max() < ROUNDING * np.abs(qd).max()
    change = at(lw.inertia_matrix(robot, q), after - qd)
    assert relative(change, at(K.swapaxes(-1, -2), forces(impulses, fixed))) < ROUNDING
    energy = [lw.kinetic_energy(robot, q, rates) for rates in (qd, after, qd - after)]
    assert relative(energy[0] - energy[1], energy[2]) < ROUNDING
    back = lw.impact(robot, q, qd, fixed=fixed, velocity=-0.5 * at(K, qd))
    assert relative(at(K, back.qd), -0.5 * at(K, qd)) < ROUNDING


def test_four_feet_that_must_not_turn_share_the_load() -> None:
    """Of 24 rows 17 are independent, since the legs are a parallelogram; the forces are the shortest."""
    dog, fixed = lw.load("go1"), dict.fromkeys(FEET, "pose")
    q, qd, tau = crouched(dog), np.zeros(dog.n), np.random.default_rng(0).normal(size=dog.n)
    motion = lw.constrained_dynamics(dog, q, qd, tau, fixed=fixed, check=True)
    K, found = rows_of(dog, q, fixed), forces(motion.wrenches, fixed)
    assert np.linalg.matrix_rank(K) == 17
    assert np.abs(K @ motion.qdd).max() < 1e-10
    shortest = np.linalg.pinv(K.T) @ (lw.inverse_dynamics(dog, q, qd, motion.qdd) - tau)
    assert relative(found, shortest) < 1e-10
    assert np.linalg.norm(found) > 50.0


def crouched(dog: lw.Robot, thigh: float = 0.8) -> np.ndarray:
    q = lw.neutral(dog)
    for leg in ("FL", "FR", "RL", "RR"):
        q[dog.q_slice(f"{leg}_thigh_joint")], q[dog.q_slice(f"{leg}_calf_joint")] = thigh, -2.0 * thigh
    return q


@every
@pytest.mark.parametrize("axes", ["base", "frame"])
def test_the_inertia_of_a_task_and_its_terms(robot: lw.Robot, axes: str) -> None:
    """τ = Jᵀ (Λ a + μ) + Nᵀ τ₀ gives the frame the acceleration a."""
    frame, (q, qd, tau) = deepest(robot, 1)[0], states(robot, seed=5)
    task = lw.task_inertia(robot, q, qd, frame=frame, axes=axes)
    assert relative(lw.task_inertia(robot, q, frame=frame, axes=axes), task.inertia) < 1e-13
    turn = lw.poses(robot, q, frames=[frame])[:, 0, :3, :3].swapaxes(-1, -2) if axes == "frame" else np.eye(3)
    turns = np.kron(np.eye(2), np.ones((3, 3))) * np.tile(turn, (2, 2))
    J, drift = lw.jacobian(robot, q, frame=frame, axes=axes), at(turns, rates_of(robot, q, qd, {frame: "pose"}))
    inverse = lw.inverse_inertia_matrix(robot, q)
    S = J @ inverse @ J.swapaxes(-1, -2)
    sizes = np.linalg.svd(S, compute_uv=False)
    bound = 1e-12 + 1e-14 * (sizes[:, 0] / np.where(sizes > 1e-11 * sizes[:, :1], sizes, np.inf).min(-1)).max()
    assert relative(task.inertia, np.linalg.pinv(S, rcond=1e-11, hermitian=True)) < bound
    assert relative(task.inverse, inverse @ J.swapaxes(-1, -2) @ task.inertia) < bound
    assert relative(task.projection + task.inverse @ J, np.eye(robot.n)) < 1e-12
    a = at(J, np.random.default_rng(0).normal(size=(3, robot.n))) + drift  # which the joints can give
    pushed = at(J.swapaxes(-1, -2), at(task.inertia, a) + task.bias)
    qdd = lw.forward_dynamics(robot, q, qd, pushed + at(task.projection.swapaxes(-1, -2), tau))
    assert relative(at(J, qdd) + drift, a) < 1e-11 + bound


def test_where_joints_are_in_line_the_inertia_of_a_task_is_the_pseudoinverse() -> None:
    arm, q = lw.load("planar3"), [0.3, 0.4, 0.5]
    J = lw.jacobian(arm, q)
    S = J @ lw.inverse_inertia_matrix(arm, q) @ J.T
    assert relative(lw.task_inertia(arm, q), np.linalg.pinv(S, hermitian=True)) < 1e-12
    stretched = np.zeros(3)
    fixed = {arm.names[-1]: "point"}
    motion = lw.constrained_dynamics(arm, stretched, [1, 0, 0], [0, 0, 0], fixed=fixed)
    assert np.isfinite(motion.qdd).all()
    with raises(lw.errors.SingularError, arm.names[-1]):  # it would have to leave its circle
        lw.constrained_dynamics(arm, stretched, [1, 0, 0], [0, 0, 0], fixed=fixed, check=True)
    q = np.stack([np.array([0.3, 0.4, 0.5]), stretched])
    with raises(lw.errors.SingularError, arm.names[-1], "[1]"):
        lw.constrained_dynamics(arm, q, [1, 0, 0], [0, 0, 0], fixed=fixed, check=True)
    with raises(lw.errors.SingularError, arm.names[-1]):
        lw.impact(arm, stretched, [0, 0, 0], fixed=fixed, velocity={arm.names[-1]: [1, 0, 0]}, check=True)


def test_near_a_singular_pose_the_inertia_of_a_task_is_as_exact_as_it_can_be() -> None:
    mpmath = pytest.importorskip("mpmath")
    arm = lw.load("puma560")
    for angle in (0.1, 1e-3, 1e-5):  # of the wrist, which is in line at 0
        q = np.array([0.3, 0.4, 0.5, 0.2, angle, 0.1])
        J = lw.jacobian(arm, q)
        condition = np.linalg.cond(J @ lw.inverse_inertia_matrix(arm, q) @ J.T)
        with mpmath.workdps(50):
            error = apart(many_digits(lw.task_inertia(arm, q)), lw.task_inertia(arm, many_digits(q)))
        assert error < condition * np.finfo(float).eps, angle
    in_line = lw.task_inertia(arm, [0.3, 0.4, 0.5, 0.2, 0.0, 0.1])
    assert np.linalg.matrix_rank(in_line, tol=1e-9) == 5


def in_pinocchio(model: pin.Model, fixed: Mapping[str, str]) -> tuple[Any, Any]:
    models, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    kinds = {"point": pin.ContactType.CONTACT_3D, "pose": pin.ContactType.CONTACT_6D}
    for name, hold in fixed.items():
        frame, ground = model.frames[model.getFrameId(name)], pin.SE3.Identity()
        place = frame.parentJoint, frame.placement, 0, ground
        models.append(pin.RigidConstraintModel(kinds[hold], model, *place, pin.ReferenceFrame.LOCAL))
    for each in models:
        datas.append(each.createData())
    return models, datas


CASES = [
    ("panda", {"panda_hand": "pose"}),
    ("solo12", dict.fromkeys(("FL_FOOT", "FR_FOOT", "HL_FOOT", "HR_FOOT"), "point")),
    ("g1", {"left_ankle_roll_link": "pose", "right_ankle_roll_link": "pose"}),
]


@pytest.mark.parametrize(("name", "fixed"), rest_slow(CASES, CASES[:2]))
def test_pinocchio_agrees(name: str, fixed: dict[str, str]) -> None:
    agree(DATA / f"{name}.urdf", fixed)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "fixed"),
    [("talos_reduced", {"left_sole_link": "pose", "right_sole_link": "pose"}), ("go1", dict.fromkeys(FEET, "point"))],
)
def test_pinocchio_agrees_on_robots_of_others(name: str, fixed: dict[str, str]) -> None:
    path = robot_data(f"{name}.urdf")
    if path is None:
        pytest.skip("example-robot-data is not installed")
    agree(path, fixed)


def agree(path: Path, fixed: dict[str, str]) -> None:
    free = "panda" not in path.name
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a body of Go1 that cannot be one
        robot = lw.load(path, base="free" if free else None, mimic="independent", unphysical="warn")
    model = pin.buildModelFromUrdf(str(path), *([pin.JointModelFreeFlyer()] if free else []))
    peer, q, (qd, tau) = Peer(robot, model), *(states(robot, 1)[0][0], states(robot, 1)[1:])
    qd, tau = qd[0], tau[0]
    poses, twists = lw.poses(robot, q, frames=fixed), [lw.jacobian(robot, q, frame=frame) @ qd for frame in fixed]
    wanted = {  # a pose of theirs has the spatial acceleration zero: its origin that of a body that is passing by
        f: np.concatenate([np.zeros(3), np.cross(t[:3], t[3:])]) if fixed[f] == "pose" else np.zeros(3)
        for f, t in zip(fixed, twists, strict=True)
    }
    motion = lw.constrained_dynamics(robot, q, qd, tau, fixed=fixed, acceleration=wanted)
    models, datas = in_pinocchio(model, fixed)
    data, there = model.createData(), peer.state(q, qd, motion.qdd)
    torques = peer.ordered(lw.convert_force(robot, q, tau, target="pinocchio"))
    pin.initConstraintDynamics(model, data, models, datas)
    settings = pin.ProximalSettings(1e-15, 0.0, 1)
    qdd = pin.constraintDynamics(model, data, *there[:2], torques, models, datas, settings)
    assert relative(there[2], qdd) < 1e-11
    for (frame, w), pose, contact in zip(motion.wrenches.items(), poses, datas, strict=True):
        force, turn = contact.contact_force, pose[:3, :3]
        assert relative(w, np.concatenate([turn @ force.angular, turn @ force.linear])) < 1e-10, frame


@in_turn(["full", "redundant"])
def test_derivatives_are_differences_of_50_digits(rank: str) -> None:
    mpmath = pytest.importorskip("mpmath")
    robot = lw.chain(4, seed=3, joints="RRP")
    fixed = {robot.names[-1]: "point"} if rank == "full" else {robot.names[-1]: "pose"}
    q, qd, tau = (x[0] for x in states(robot, 1, seed=7))
    slopes = lw.derivative(lw.constrained_dynamics, robot, "q", fixed=fixed)(q, qd, tau)
    along = np.random.default_rng(0).normal(size=robot.n)
    with mpmath.workdps(50):
        step = mpmath.mpf("1e-20")

        def motion(sign: int) -> list[np.ndarray]:
            moved = many_digits(q) + sign * step * many_digits(along)
            result = lw.constrained_dynamics(robot, moved, many_digits(qd), many_digits(tau), fixed=fixed)
            return [result.qdd, np.stack(list(result.wrenches.values()))]

        for slope, after, before in zip(slopes, motion(1), motion(-1), strict=True):
            assert apart(slope @ along, (after - before) / (2 * step)) < 1e-9


def test_derivatives_are_those_of_pinocchio() -> None:
    robot = lw.chain(5, seed=6)
    model, data = to_pinocchio(robot)
    tip, place = robot.names[-1], pin.SE3(*placement(robot.seat(robot.frame(robot.names[-1]))[1]))
    kind, ground = pin.ContactType.CONTACT_3D, pin.SE3.Identity()
    models, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    models.append(pin.RigidConstraintModel(kind, model, robot.n, place, 0, ground, pin.ReferenceFrame.LOCAL))
    datas.append(models[0].createData())
    pin.initConstraintDynamics(model, data, models, datas)
    settings, (q, qd, tau) = pin.ProximalSettings(1e-15, 0.0, 1), (x[0] for x in states(robot, 1))
    qdd = pin.constraintDynamics(model, data, q, qd, tau, models, datas, settings)
    assert relative(lw.constrained_dynamics(robot, q, qd, tau, fixed={tip: "point"}).qdd, qdd) < 1e-11
    pin.computeConstraintDynamicsDerivatives(model, data, models, datas, settings)
    slopes = lw.derivative(lw.constrained_dynamics, robot, ("q", "qd", "tau"), fixed={tip: "point"})(q, qd, tau)
    for ours, theirs in zip(slopes, (data.ddq_dq, data.ddq_dv, data.ddq_dtau), strict=False):
        assert relative(ours, theirs) < 1e-9
    turn = lw.poses(robot, q)[-1, :3, :3]
    for ours, theirs in zip(slopes[4:], (data.dlambda_dv, data.dlambda_dtau), strict=True):
        assert relative(ours[0, 3:], turn @ theirs) < 1e-9


def test_kernels_and_other_libraries_give_the_same() -> None:
    torch = pytest.importorskip("torch")
    arm = lw.load("planar3")  # of whose point two numbers of three can be given
    tip, fixed, (q, qd, tau) = arm.names[-1], {arm.names[-1]: "point"}, states(arm, 4)
    wanted = np.random.default_rng(1).normal(size=(4, 3)) * [1, 1, 0]
    expected = lw.constrained_dynamics(arm, q, qd, tau, fixed=fixed, acceleration=wanted, check=True)
    kernel = lw.compile(lw.constrained_dynamics, arm, fixed=fixed, acceleration=lw.Input(3))
    qdd, wrenches = kernel(q, qd, tau, wanted)
    assert relative(qdd, expected.qdd) < 1e-12
    assert relative(wrenches, np.stack(list(expected.wrenches.values()), -2)) < 1e-12
    with lw.use_kernels("always"):
        found = [lw.constrained_dynamics(arm, q, qd, tau, fixed=fixed) for _ in range(2)]  # the second by its entry
        one = lw.constrained_dynamics(arm, q[0], qd[0], tau[0], fixed=fixed)
    with lw.use_kernels("never"):
        plain = lw.constrained_dynamics(arm, q, qd, tau, fixed=fixed)
    for motion in found:
        assert relative(motion.qdd, plain.qdd) < 1e-12
        assert motion.wrenches.keys() == fixed.keys()
    assert relative(one.wrenches[tip], plain.wrenches[tip][0]) < 1e-12
    tensors = [torch.tensor(x, requires_grad=True) for x in (q, qd, tau, wanted)]
    motion = lw.constrained_dynamics(arm, *tensors[:3], fixed=fixed, acceleration={tip: tensors[3]})
    assert relative(motion.qdd.detach().numpy(), expected.qdd) < 1e-12
    (motion.wrenches[tip] ** 2).sum().backward()
    assert all(torch.isfinite(x.grad).all() for x in tensors)


@pytest.mark.parametrize("library", ["jax", "torch"])
def test_wrenches_by_frame_pass_through_transformations(library: str) -> None:
    xp = pytest.importorskip(library)
    arm, array = lw.load("planar3"), xp.tensor if library == "torch" else xp.numpy.asarray
    frames = arm.names[:0:-1]
    function = partial(lw.constrained_dynamics, arm, fixed=frames)
    arrays = states(arm, 2)
    usual = function(*arrays)
    transformed = xp.vmap(function) if library == "torch" else xp.jit(xp.vmap(function))
    with nullcontext() if library == "torch" else xp.enable_x64(True):
        mapped = transformed(*map(array, arrays))
    assert list(mapped.wrenches) == list(usual.wrenches) == list(frames)
    assert all(relative(np.asarray(mapped.wrenches[name]), usual.wrenches[name]) < 1e-9 for name in frames)
    if library == "torch":
        slopes = xp.func.jacrev(function)(*(array(x[0]) for x in arrays))
        assert [tuple(slope.shape) for slope in slopes.wrenches.values()] == [(6, 3)] * 2


def test_held_frames_have_one_order_and_one_name_each() -> None:
    arm, still = lw.load("planar3"), [0.0] * 3
    first, tip = arm.names[0], arm.names[-1]
    points = lw.constrained_dynamics(arm, still, still, still, fixed={tip: "point", first: "point"})
    by_names = lw.constrained_dynamics(arm, still, still, still, fixed=[tip, first])
    assert list(by_names.wrenches) == list(points.wrenches) == [tip, first]
    assert np.array_equal(by_names.qdd, points.qdd)
    for wrong in ({tip}, frozenset([tip]), {(tip, "point")}, [5], 5, [(tip,)], [[tip, "point", 0]], []):
        with raises(TypeError, "fixed", repr(wrong), f"{{{tip!r}: 'point'}}"):
            lw.constrained_dynamics(arm, still, still, still, fixed=wrong)
    with raises(ValueError, "fixed", tip, "twice"):
        lw.impact(arm, still, still, fixed=[(tip, "point"), (tip, "pose")])


def test_what_is_no_frame_is_refused() -> None:
    arm, still = lw.load("planar3"), [0.0] * 3
    tip = arm.names[-1]
    with raises(TypeError, "fixed", "None"):
        lw.constrained_dynamics(arm, still, still, still)
    with raises(lw.errors.RobotError, "elbow"):
        lw.constrained_dynamics(arm, still, still, still, fixed={"elbow": "point"})
    with raises(ValueError, "plane", "point", "pose"):
        lw.impact(arm, still, still, fixed={tip: "plane"})
    with raises(ValueError, "acceleration", tip, "6", "pose"):
        lw.constrained_dynamics(arm, still, still, still, fixed={tip: "pose"}, acceleration={tip: [0, 0, 0]})
    with raises(ValueError, "acceleration", "other"):
        lw.constrained_dynamics(arm, still, still, still, fixed={tip: "pose"}, acceleration={"other": [0, 0, 0]})
    with raises(ValueError, "acceleration", "(..., 3)"):
        lw.constrained_dynamics(arm, still, still, still, fixed={tip: "point"}, acceleration=[0, 0, 0, 0])
