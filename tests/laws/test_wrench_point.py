"""External wrenches that act at a point of a link: τ = -J(q)ᵀ w at that point, in every function that takes one."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwise as lw
from effort import rest_slow
from facts import raises
from robots import CHAINS, TREES, relative, states

ARMS = [CHAINS[4], CHAINS[9], TREES[4], TREES[5], lw.load("stanford")]
STICKING = lw.Friction(coulomb=0.5, smooth=0.0)
TIPPED = [arm for arm in ARMS if len(arm.leaves) == 1]


def jacobians(arm: lw.Robot, q: np.ndarray, points: np.ndarray) -> np.ndarray:
    """(n, 6, n): of each link, at its point."""
    return np.array([lw.jacobian(arm, q, link=i, point=points[i]) for i in range(arm.n)])


def loads(arm: lw.Robot, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng([seed, arm.n])
    return rng.normal(size=(arm.n, 6)), rng.normal(size=(arm.n, 3))


@pytest.mark.parametrize("arm", rest_slow(ARMS, [ARMS[0], ARMS[2], ARMS[4]]), ids=lambda arm: arm.name)
def test_a_wrench_at_a_point_takes_the_torques_of_the_jacobian_there_by_every_method(arm: lw.Robot):
    (q, qd, qdd, tau), (wrench, point) = (x[0] for x in states(arm)), loads(arm)
    pushed = np.einsum("ikj,ik->j", jacobians(arm, q, point), wrench)
    for method in lw.methods(lw.inverse_dynamics):
        free, loaded = (
            lw.inverse_dynamics(arm, q, qd, qdd, w, point=p, method=method) for w, p in ((None, None), (wrench, point))
        )
        assert relative(loaded, free - pushed) < 1e-12
        inertial = lw.inverse_dynamics(arm.with_gravity((0, 0, 0)), q, 0 * qd, qdd, method=method)
        assert relative(lw.bias_torque(arm, q, qd, wrench, point=point, method=method), loaded - inertial) < 1e-11
    for method in lw.methods(lw.forward_dynamics):
        found = lw.forward_dynamics(arm, q, qd, tau, wrench, point=point, method=method)
        assert relative(lw.inverse_dynamics(arm, q, qd, found, wrench, point=point), tau) < 1e-8


@pytest.mark.parametrize("arm", TIPPED, ids=lambda arm: arm.name)
def test_a_wrench_on_the_tip_acts_where_it_is_said_to(arm: lw.Robot):
    q, qd, qdd, _ = (x[0] for x in states(arm))
    (wrench, *_), (point, *_) = loads(arm)
    J = lw.jacobian(arm, q, link=arm.leaves[0], point=point)
    free = lw.inverse_dynamics(arm, q, qd, qdd)
    assert relative(lw.inverse_dynamics(arm, q, qd, qdd, wrench, point=point), free - J.T @ wrench) < 1e-12
    everywhere, points = np.zeros((arm.n, 6)), np.full((arm.n, 3), 7.0)
    everywhere[arm.leaves[0]], points[arm.leaves[0]] = wrench, point
    assert relative(lw.inverse_dynamics(arm, q, qd, qdd, everywhere, point=points), free - J.T @ wrench) < 1e-12


def test_the_mass_centre_is_the_default():
    arm = lw.random_tree(5, seed=4)
    (q, qd, qdd, _), (wrench, _) = states(arm), loads(arm)
    wrench = np.broadcast_to(wrench, (3, 5, 6))
    centres = np.array([row["com"] for row in arm.rows])
    default, said = (lw.inverse_dynamics(arm, q, qd, qdd, wrench, point=p) for p in (None, centres))
    assert relative(default, said) < 1e-13


def test_loads_of_joints_and_constraints_know_the_point():
    arm = ARMS[1]
    (q, qd, qdd, _), (wrench, point) = (x[0] for x in states(arm)), loads(arm)
    borne = lw.joint_wrenches(arm, q, qd, qdd, wrench, point=point, axes="frame")
    tau = lw.inverse_dynamics(arm, q, qd, qdd, wrench, point=point)
    along = np.where([kind == "R" for kind in arm.joints], borne[:, 2], borne[:, 5])
    assert relative(along, tau) < 1e-12
    at_base = lw.joint_wrenches(arm, q, qd, qdd, wrench, point=point)
    rest = lw.constraint_wrenches(arm, q, qd, qdd, wrench, point=point)
    assert relative(np.linalg.norm(at_base - rest, axis=-1), np.abs(tau)) < 1e-10
    base = lw.BaseMotion(acceleration=(0.0, 0.0, 0.0))
    assert relative(lw.joint_wrenches(arm, q, qd, qdd, wrench, point=point, base=base), at_base) < 1e-12
    assert relative(lw.inverse_dynamics(arm, q, qd, qdd, wrench, point=point, base=base), tau) < 1e-12


@pytest.mark.parametrize("quasi", [lw.formulations.normalized, lw.formulations.unnormalized], ids=repr)
def test_quasi_coordinates_know_the_point(quasi: Any):
    arm = ARMS[2]
    (q, qd, _, tau), (wrench, point) = (x[0] for x in states(arm)), loads(arm)
    pushed = np.einsum("ikj,ik->j", jacobians(arm, q, point), wrench)
    v = quasi.velocity(arm, q, qd)
    loaded, free = quasi.acceleration(arm, q, v, tau, wrench, point=point), quasi.acceleration(arm, q, v, tau + pushed)
    assert relative(loaded, free) < 1e-10
    for method in lw.methods(quasi.coriolis):
        here = quasi.coriolis(arm, q, v, wrench, point=point, method=method)
        assert relative(here, quasi.coriolis(arm, q, v, method=method) - quasi.force(arm, q, pushed)) < 1e-10


def test_points_may_differ_from_state_to_state():
    arm, count = TIPPED[0], 5
    q, qd, qdd, _ = states(arm, count)
    rng = np.random.default_rng(1)
    wrench, point = rng.normal(size=(count, 6)), rng.normal(size=(count, 3))
    together = lw.inverse_dynamics(arm, q, qd, qdd, wrench, point=point)
    alone = [lw.inverse_dynamics(arm, *each[:4], point=each[4]) for each in zip(q, qd, qdd, wrench, point, strict=True)]
    assert relative(together, alone) < 1e-14
    one = lw.inverse_dynamics(arm, q, qd, qdd, wrench[0], point=point[0])
    assert relative(one[0], together[0]) < 1e-14
    bad = np.where(np.arange(count)[:, None] == 2, np.nan, point)
    blank = lw.inverse_dynamics(arm, q, qd, qdd, wrench, point=bad)
    assert np.isnan(blank[2]).all()
    assert np.isfinite(np.delete(blank, 2, axis=0)).all()
    with raises(ValueError, "point[2, 0]", "nan"):
        lw.inverse_dynamics(arm, q, qd, qdd, wrench, point=bad, check=True)


@pytest.mark.parametrize("every", [False, True], ids=["tip", "every link"])
def test_compiled_is_plain_and_one_kernel_serves_all_points(every: bool):
    arm = lw.chain(2, joints="RP")
    q, qd, qdd, _ = states(arm, 6)
    rng = np.random.default_rng(2)
    shape = (2,) if every else ()
    for function in (lw.inverse_dynamics, lw.forward_dynamics):
        for dtype, bound in (("float64", 1e-13), ("float32", 1e-4)):
            if dtype == "float32" and function is lw.forward_dynamics:
                continue
            for _ in range(2):  # another point: the kernel of the first must not hold it
                wrench, point = rng.normal(size=(6, *shape, 6)), rng.normal(size=(*shape, 3))
                given = [x.astype(dtype) for x in (q, qd, qdd, wrench, point)]
                plain = function(arm, *given[:4], point=given[4])
                with lw.use_kernels("always"):
                    found = function(arm, *given[:4], point=given[4])
                    without = function(arm, *given[:4])
                assert found.dtype == plain.dtype == dtype
                assert relative(found, plain) < bound
                assert relative(without, function(arm, *given[:4])) < bound
                assert relative(without, found) > 1e-3
    kernel = lw.compile(lw.bias_torque, arm, wrench=lw.Input(*shape, 6), point=lw.Input(*shape, 3))
    wrench, point = rng.normal(size=(6, *shape, 6)), rng.normal(size=(6, *shape, 3))
    assert relative(kernel(q, qd, wrench, point), lw.bias_torque(arm, q, qd, wrench, point=point)) < 1e-13
    fixed = lw.compile(lw.bias_torque, arm, wrench=lw.Input(*shape, 6), point=point[0].tolist())
    assert relative(fixed(q, qd, wrench), lw.bias_torque(arm, q, qd, wrench, point=point[0])) < 1e-13


def test_loops_know_the_point():
    arm = lw.random_tree(9, seed=3)
    q, qd, qdd, _ = states(arm)
    wrench, point = np.random.default_rng(3).normal(size=(2, 3, 9, 6))
    inputs = {"wrench": lw.Input(9, 6), "point": lw.Input(9, 3)}
    kernel = lw.compile(lw.inverse_dynamics, arm, form="loops", **inputs)
    expected = lw.inverse_dynamics(arm, q, qd, qdd, wrench, point=point[..., :3])
    assert relative(kernel(q, qd, qdd, wrench, point[..., :3]), expected) < 1e-12


def test_the_derivative_by_the_point_is_the_force_turned_into_the_link():
    arm = TIPPED[0]
    q, qd, qdd, _ = (x[0] for x in states(arm))
    (wrench, *_), (point, *_) = loads(arm)
    slope = lw.derivative(lw.inverse_dynamics, arm, "point", wrench=lw.Input(6), point=lw.Input(3))
    found = slope(q, qd, qdd, wrench, point)
    steps = 0.5 * np.eye(3)  # torques are linear in the point
    ends = [[lw.inverse_dynamics(arm, q, qd, qdd, wrench, point=p) for p in (point + x, point - x)] for x in steps]
    assert relative(found, np.transpose([up - down for up, down in ends])) < 1e-12
    more = lw.count(lw.inverse_dynamics, arm, wrench=lw.Input(6), point=lw.Input(3)).total
    assert more > lw.count(lw.inverse_dynamics, arm, wrench=lw.Input(6)).total


@pytest.mark.parametrize("arm", [lw.chain(4), lw.load("planar3")], ids=lambda arm: arm.name)
def test_a_payload_moves_no_point_of_attack(arm: lw.Robot):
    q, qd, qdd, _ = states(arm)
    (wrench, *_), (point, *_) = loads(arm)
    loaded, push = (
        arm.with_payload(1.3, (0.1, -0.2, 0.3), np.diag([0.01, 0.02, 0.02])),
        {"wrench": wrench, "point": point},
    )
    pushed, free = ([lw.inverse_dynamics(x, q, qd, qdd, **w) for x in (arm, loaded)] for w in (push, {}))
    assert relative(pushed[0] - free[0], pushed[1] - free[1]) < 1e-12


@pytest.mark.parametrize("friction", rest_slow([False, STICKING], [STICKING]), ids=["free", "sticking"])
@pytest.mark.parametrize("every", rest_slow([False, True], [True]), ids=["tip", "every link"])
def test_simulation_with_a_point_is_that_with_the_torques_of_the_jacobian(every: bool, friction: Any, tmp_path: Path):
    arm = lw.load("planar3").with_gravity((0.0, -9.81, 0.0))
    wrench, point = np.array([0.1, 0.2, 0.3, 4.0, 5.0, 6.0]), np.array([0.3, 0.1, -0.2])
    if every:
        wrench, point = np.array([wrench, 0.5 * wrench, -wrench]), np.array([point, -point, 2.0 * point])
    start = [0.1, 0.2, 0.3], [0.5, 0.0, -0.3]

    def push(robot: lw.Robot, t: Any, q: Any, qd: Any) -> Any:
        if not every:
            return lw.jacobian(robot, q, link=2, point=point).T @ wrench
        return sum(lw.jacobian(robot, q, link=i, point=point[i]).T @ wrench[i] for i in range(3))

    options: dict[str, Any] = {"samples": 5, "rtol": 1e-9, "friction": friction}
    found = lw.simulate(arm, *start, 0.4, wrench=wrench, point=point, **options)
    expected = lw.simulate(arm, *start, 0.4, torque=push, **options)
    assert np.abs(found.q - expected.q).max() < 1e-6
    assert np.abs(found.qdd - expected.qdd).max() < 1e-4
    assert np.abs(found.imbalance).max() < 1e-6
    assert relative(found.point, point) == 0.0
    pushes = np.broadcast_to(wrench, (5, *wrench.shape))
    tau = lw.inverse_dynamics(arm, found.q, found.qd, found.qdd, pushes, point=point)
    assert relative(found.joint_wrenches(axes="frame")[..., 2], tau) < 1e-10
    assert found.compiled
    found.save(tmp_path / "found.npz")
    again = lw.load_recording(tmp_path / "found.npz")
    assert again == found
    assert relative(again.joint_wrenches(), found.joint_wrenches()) == 0.0


def test_quasi_coordinates_and_plain_text_simulate_with_a_point():
    arm, wrench, point = lw.load("planar3"), [0.1, 0.2, 0.3, 4.0, 5.0, 6.0], (0.3, 0.1, -0.2)
    start: Any = ([0.1, 0.2, 0.3], [0.5, 0.0, -0.3], 0.02)
    options: dict[str, Any] = {"wrench": wrench, "point": point, "samples": 3}
    first = lw.simulate(arm, *start, **options)
    for other in ({"coordinates": "normalized"}, {"compiled": False}):
        assert np.abs(lw.simulate(arm, *start, **options, **other).q - first.q).max() < 1e-7


def test_a_sweep_has_one_point_for_all(tmp_path: Path):
    arm, wrench = lw.load("planar3"), np.array([0.1, 0.2, 0.3, 4.0, 5.0, 6.0])
    samples = {"q0": np.array([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]]), "link2.mass": np.array([0.5, 0.7])}
    options: dict[str, Any] = {"wrench": wrench, "point": [0.3, 0.1, -0.2], "samples": 3}
    swept = lw.sweep(arm, samples, tmp_path / "s", 0.2, files="npz", **options).read()["q_end"]
    for k in range(2):
        rows = [{**row, **({"mass": samples["link2.mass"][k]} if row["name"] == "link2" else {})} for row in arm.rows]
        one = lw.Robot.from_dh(rows, convention=arm.convention, gravity=arm.gravity)
        assert np.abs(lw.simulate(one, samples["q0"][k], [0] * 3, 0.2, **options).q[-1] - swept[k]).max() < 1e-7


def test_torque_along_and_accuracy_take_a_point():
    arm, wrench, point = lw.load("planar3"), np.array([0.1, 0.2, 0.3, 4.0, 5.0, 6.0]), (0.3, 0.1, -0.2)
    motion = lw.trajectories.cycloid([0, 0, 0], [1, 1, 1], 2.0)
    along = lw.torque_along(arm, motion, 5, wrench=wrench, point=point, axes="frame")
    assert relative(along.tau, lw.inverse_dynamics(arm, along.q, along.qd, along.qdd, wrench, point=point)) < 1e-14
    assert relative(along.loads[..., 2], along.tau) < 1e-12
    pytest.importorskip("mpmath")
    found = lw.accuracy(arm, [0.1, 0.2, 0.3], [0, 0, 0], [0, 0, 0], wrench=wrench, point=point, methods=["denoc"])
    exact = lw.forward_dynamics(arm, [0.1, 0.2, 0.3], [0, 0, 0], [0, 0, 0], wrench, point=point)
    assert relative(found.exact, exact) < 1e-12
    assert found["denoc"].worst < 1e-12


@pytest.mark.parametrize(
    ("wrench", "point", "said"),
    [
        (None, (0, 0, 0), "point is given without a wrench"),
        (np.zeros(6), (0, 0), r"point has shape \(2,\) \(expected \(3,\)"),
        (np.zeros(6), np.zeros((3, 3)), r"point has shape \(3, 3\) \(expected \(3,\)"),
        (np.zeros((3, 6)), (0, 0, 0), r"point has shape \(3,\) \(expected \(3, 3\)"),
        (np.zeros(6), "tip", "point"),
    ],
)
def test_points_that_do_not_fit_are_refused(wrench: Any, point: Any, said: str):
    arm = lw.load("planar3")
    with pytest.raises((ValueError, TypeError), match=said):
        lw.inverse_dynamics(arm, [0] * 3, [0] * 3, [0] * 3, wrench, point=point)
    with pytest.raises((ValueError, TypeError), match=said):
        lw.simulate(arm, [0] * 3, [0] * 3, 0.1, wrench=wrench, point=point)
