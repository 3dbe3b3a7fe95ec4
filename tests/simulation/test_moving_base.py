"""Simulations on a base that moves as prescribed."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwise as lw
from effort import rest_slow
from robots import relative

ARM = lw.chain(3, seed=4, joints="RRP")
BALL = lw.random_tree(2, seed=1, joints="SR")
START = np.array([0.1, -0.2, 0.3])
PUSH = np.array([0.4, -1.0, 2.3])
STEADY = lw.BaseMotion(acceleration=PUSH)


def swaying(t: Any) -> lw.BaseMotion:
    """The base turns about z, to and fro, and its origin moves along x and z of its own axes."""
    return lw.BaseMotion(
        angular_velocity=[0.0, 0.0, 1.5 * np.cos(2.0 * t)],
        angular_acceleration=[0.0, 0.0, -3.0 * np.sin(2.0 * t)],
        acceleration=[2.0 * np.sin(3.0 * t), 0.0, np.cos(t)],
    )


WAYS: list[dict[str, Any]] = [
    {"torque": lambda robot, t, q, qd: np.sin(t) - 0.3 * qd},
    {"friction": lw.Friction(viscous=0.1, coulomb=0.4, smooth=0)},
    {"coordinates": "normalized"},
    {"coordinates": "unnormalized"},
    {"compiled": False, "method": "kalman"},
    {"integrator": "rk4", "dt": 1e-3, "wrench": [0.1, 0.2, 0.3, 1.0, -1.0, 0.5]},
]


@pytest.mark.parametrize("options", rest_slow(WAYS, WAYS[1:3]), ids=lambda options: " ".join(options))
def test_a_steadily_accelerating_base_is_other_gravity(options: dict[str, Any]) -> None:
    arm = ARM if "coordinates" not in options else BALL
    q0 = START if arm is ARM else lw.random_configuration(arm, np.random.default_rng(0))
    given = {"duration": 0.4, "samples": 5, "rtol": 1e-10, **options}
    moved = lw.simulate(arm, q0, base=STEADY, **given)
    expected = lw.simulate(arm.with_gravity(arm.gravity - PUSH), q0, **given)
    assert relative(moved.q, expected.q) < 1e-8
    assert relative(moved.qdd, expected.qdd) < 1e-6
    assert relative(moved.joint_wrenches(), expected.joint_wrenches()) < 1e-6
    assert np.abs(moved.imbalance).max() < 1e-7 * np.abs(expected.energy).max()


def test_the_torques_of_a_driven_floating_base_are_those_that_acted() -> None:
    """Along the recording: the robot on a floating base that is moved so needs the joint torques of the simulation."""
    run = lw.simulate(ARM, START, duration=1.0, base=swaying, torque=lambda robot, t, q, qd: -0.5 * qd, rtol=1e-10)
    t, freed = run.t, ARM.with_free_base()
    turn = 0.75 * np.sin(2.0 * t)
    base = [swaying(x) for x in t]
    c, s, zero = np.cos(turn), np.sin(turn), np.zeros_like(t)
    axes = np.array([[c, -s, zero], [s, c, zero], [zero, zero, zero + 1.0]]).transpose(2, 0, 1)
    acceleration = np.einsum("tij,tj->ti", axes, [x.acceleration for x in base])
    pose = np.stack([zero, zero, zero, np.cos(turn / 2), zero, zero, np.sin(turn / 2)], axis=-1)
    still = np.zeros((len(t), 3))
    q = np.concatenate([pose, run.q], axis=-1)
    qd = np.concatenate([still, [x.angular_velocity for x in base], run.qd], axis=-1)
    qdd = np.concatenate([acceleration, [x.angular_acceleration for x in base], run.qdd], axis=-1)
    needed = lw.inverse_dynamics(freed, q, qd, qdd)
    assert np.abs(needed[:, 6:] - run.tau).max() < 1e-10 * np.abs(needed).max()
    assert np.abs(run.imbalance).max() < 1e-7  # the work of the inertia forces is in it
    loads = lw.joint_wrenches(freed, q, qd, qdd, axes="frame")[:, 1:]
    assert relative(run.joint_wrenches(axes="frame"), loads) < 1e-10


def test_a_moving_base_runs_compiled_in_python_and_in_rollouts() -> None:
    starts = np.stack([START, -START])
    given: dict[str, Any] = {"duration": 0.2, "samples": 3}
    run = lw.simulate(ARM, starts, base=swaying, **given)
    assert run.compiled
    plain = lw.simulate(ARM, starts, base=swaying, compiled=False, **given)
    assert relative(plain.q, run.q) < 1e-9
    frozen = lw.compile(lw.simulate, ARM, base=swaying)(starts, **given)
    assert (frozen.q == run.q).all()
    steps: dict[str, Any] = {"steps": 200, "dt": 1e-3}
    ends = lw.rollout(ARM, starts, base=swaying, **steps).q_end
    assert relative(ends, run.q[:, -1]) < 1e-8
    assert (lw.compile(lw.rollout, ARM, base=swaying)(starts, **steps).q_end == ends).all()
    assert lw.wasm(lw.simulate, ARM, base=swaying) != lw.wasm(lw.simulate, ARM, base=STEADY)


def test_the_equations_of_motion_have_the_base() -> None:
    of_time, constant = (lw.trace(lw.simulate, ARM, base=base) for base in (swaying, STEADY))
    assert [port.name for port in of_time.inputs] == ["q", "qd", "t"]
    assert [port.name for port in constant.inputs] == ["q", "qd"]
    other = ARM.with_gravity(ARM.gravity - PUSH)
    assert lw.count(lw.rollout, ARM, base=STEADY).total <= lw.count(lw.rollout, other).total + 6


def test_a_base_that_starts_to_move_is_a_break() -> None:
    """A jump of the acceleration at t = 0.3 is stepped to, not over."""
    base = lambda t: lw.BaseMotion(acceleration=[0.0, 0.0, np.where(t < 0.3, 0.0, 50.0)])  # noqa: E731
    run = lw.simulate(ARM, START, duration=0.6, base=base, samples=[0.3, 0.6])
    rest = lw.simulate(ARM, START, duration=0.3, samples=[0.3])
    pushed = lw.simulate(ARM.with_gravity((0, 0, -59.81)), rest.q[-1], rest.qd[-1], 0.3, samples=[0.3])
    assert relative(run.q[0], rest.q[0]) < 1e-9
    assert relative(run.q[1], pushed.q[0]) < 1e-7
    assert run.rejected < 20


@pytest.mark.parametrize("ending", ["npz", "csv", "parquet"])
@pytest.mark.parametrize("base", [STEADY, swaying], ids=["steady", "swaying"])
def test_a_file_has_the_motion_of_the_base(base: Any, ending: str, tmp_path: Path) -> None:
    if ending == "parquet":
        pytest.importorskip("pyarrow", reason="runs where pyarrow is installed")
    run = lw.simulate(ARM, np.stack([START, -START]), duration=0.1, base=base, samples=4)
    run.save(tmp_path / f"run.{ending}")
    again = lw.load_recording(tmp_path / f"run.{ending}")
    assert again == run
    assert again != lw.simulate(ARM, np.stack([START, -START]), duration=0.1, samples=4)
    assert relative(again.joint_wrenches(), run.joint_wrenches()) == 0.0
    assert again.base == run.base
    assert relative(run.base.acceleration[2], (base if base is STEADY else base(run.t[2])).acceleration) < 1e-15


def test_recordings_that_differ_by_the_base_differ() -> None:
    """At one sample, where all else is equal; the velocity, which no torque depends on, counts too."""
    rest, moved = (lw.simulate(ARM, START, duration=0.1, base=base, samples=[0.0]) for base in (None, STEADY))
    sailing = lw.simulate(ARM, START, duration=0.1, base=lw.BaseMotion(velocity=(1, 0, 0)), samples=[0.0])
    assert rest.base is None
    assert (rest == moved, sailing == moved) == (False, False)
    assert sailing.base.velocity.tolist() == [[1.0, 0.0, 0.0]]


def test_the_budget_of_a_recording_has_the_motion_of_the_base() -> None:
    run = lw.simulate(ARM, START, duration=0.2, base=swaying, torque=[0.1, 0.2, 0.3], samples=5, rtol=1e-10)
    budget = lw.budget(ARM, run.q, run.qd, run.qdd, base=run.base, t=run.t)
    assert np.abs(budget.tau - run.tau).max() < 1e-9
    assert np.abs(lw.budget(ARM, run.q, run.qd, run.qdd, t=run.t).tau - run.tau).max() > 1.0


def test_a_motion_that_cannot_be_traced_runs_in_python() -> None:
    def starting(t: float) -> lw.BaseMotion:
        return lw.BaseMotion(acceleration=(0, 0, 1.0) if t > 5.0 else (0, 0, 0))

    with pytest.warns(RuntimeWarning, match="starting"):
        run = lw.simulate(ARM, START, duration=0.05, base=starting, samples=2)
    assert relative(run.q, lw.simulate(ARM, START, duration=0.05, samples=2).q) < 1e-9
    assert run.base.acceleration.tolist() == [[0.0, 0.0, 0.0]] * 2


SPIN = [0.0, 0.0, 2.0]
MISMATCHES: list[tuple[Any, tuple[str, ...]]] = [
    (lambda t: lw.BaseMotion(velocity=[5.0 * np.sin(9.0 * t), 0, 0]), ("acceleration", "velocity", "0.0, 0.0, 0.0")),
    (lambda t: lw.BaseMotion([0, 0, np.sin(3.0 * t)]), ("angular_acceleration", "angular_velocity")),
    (lambda t: lw.BaseMotion(angular_acceleration=SPIN), ("angular_acceleration is [0.0, 0.0, 2.0]",)),
    (lw.BaseMotion(angular_acceleration=SPIN), ("angular_acceleration is [0.0, 0.0, 2.0]", "'base'")),
    (lw.BaseMotion(SPIN, velocity=[1.0, 0, 0]), ("changes by [0.0, 2.0, 0.0]",)),  # ω × v
]


def starting_at(start: float, t: Any) -> lw.BaseMotion:
    gone = np.where(t < start, 0.0, 2.0 * (t - start))
    return lw.BaseMotion(velocity=[gone, 0, 0], acceleration=[np.where(t < start, 0.0, 2.0), 0, 0])


MATCHES: list[Any] = [
    swaying,
    STEADY,
    lw.BaseMotion(SPIN),
    lw.BaseMotion(SPIN, [1.0, 0, 0], acceleration=[0, 2.0, 0]),
    lambda t: starting_at(0.3, t),
    lambda t: lw.BaseMotion(velocity=[np.sin(t), 0, 0], acceleration=[np.cos(t), 0, 2.5]),  # gravity's tilt in it
]


def test_velocities_that_change_otherwise_than_the_accelerations_are_warned_of() -> None:
    def simulate(base: Any) -> None:
        lw.simulate(ARM, START, duration=0.9, base=base, samples=2)

    def roll(base: Any) -> None:
        lw.rollout(ARM, START, steps=9, dt=0.1, base=base)

    for run, mismatches, matches in ((simulate, MISMATCHES, MATCHES), (roll, MISMATCHES[:1], MATCHES[:1])):
        for base, facts in mismatches:
            with pytest.warns(UserWarning, match="the motion of the base") as warned:
                run(base)
            assert len(warned) == 1
            assert all(fact in str(warned[0].message) for fact in facts)
        for base in matches:
            run(base)  # a warning would be an error


def test_motions_of_the_base_that_are_none_are_refused() -> None:
    for function, kind, named in (
        ((0, 0, 1), TypeError, "BaseMotion"),
        (lambda t: (0, 0, t), TypeError, "BaseMotion"),
        (lw.BaseMotion(acceleration=np.zeros((2, 3))), ValueError, r"acceleration.*\(2, 3\)"),
        (lw.BaseMotion(angular_velocity=(0, np.nan, 0)), ValueError, "finite"),
        (lw.BaseMotion(velocity=(0, np.nan, 0)), ValueError, "finite"),
        (lw.BaseMotion(velocity="abc"), ValueError, "velocity"),
        (lw.BaseMotion(velocity=(1, 2)), ValueError, r"velocity.*\(2,\)"),
    ):
        for run in (
            lambda base: lw.simulate(ARM, START, duration=0.1, base=base),
            lambda base: lw.rollout(ARM, START, steps=2, dt=0.01, base=base),
        ):
            with pytest.raises(kind, match=named):
                run(function)
