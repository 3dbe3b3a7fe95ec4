"""Sampled control: a law that is computed at its own times and held in between, PID, and motions that are held."""

import itertools
from typing import Any

import numpy as np
import pytest

import linkwise as lw
from effort import in_turn, rest_slow
from facts import raises

ARM = lw.load("planar3")
GAINS = {"kp": [60, 40, 10], "ki": [120, 80, 20], "kd": [4, 2, 0.3]}
TARGET = np.array([0.5, -0.3, 0.2])
CART = lw.Robot.from_dh(
    [{"joint": "prismatic", "a": 0, "alpha": 0, "theta": 0, "mass": 2.0, "com": (0, 0, 0), "inertia": np.eye(3)}],
    convention="standard", gravity=(0, 0, 0), name="cart",
)  # fmt: skip


def spring(arm: lw.Robot, t: Any, q: Any, qd: Any) -> Any:
    return -8.0 * q - 1.0 * qd


def branching(arm: lw.Robot, t: Any, q: Any, qd: Any) -> Any:
    return -8.0 * q - 1.0 * qd if t < 0.35 else 0.0 * q


@pytest.mark.parametrize(("compiled", "count"), rest_slow([(True, 10), (False, 2)], [(True, 10)]))
def test_a_mass_under_a_held_force_moves_as_the_difference_equation_says(compiled: bool, count: int) -> None:
    """From one sample to the next the acceleration is constant: x + v T + a T²/2 and v + a T."""
    T, x, v = 0.1, 1.0, 0.3
    law = lw.control.sampled(spring, T)
    run = lw.simulate(CART, [x], [v], T * count, torque=law, samples=count + 1, rtol=1e-12, compiled=compiled)
    for k in range(count):
        force = -8.0 * x - 1.0 * v
        assert abs(run.q[k, 0] - x) + abs(run.qd[k, 0] - v) < 1e-12
        assert abs(run.tau[k, 0] - force) < 1e-11
        x, v = x + v * T + force / 2.0 * T * T / 2.0, v + force / 2.0 * T
    assert abs(run.imbalance).max() < 1e-11


def test_between_samples_the_torque_is_held() -> None:
    times = np.array([0.0, 0.05, 0.0999, 0.1, 0.149, 0.25])
    tau = lw.simulate(CART, [1.0], [0.3], 0.3, torque=lw.control.sampled(spring, 0.1), samples=times).tau[:, 0]
    assert tau[0] == tau[1] == tau[2]
    assert tau[3] == tau[4] != tau[0]
    assert tau[5] not in tau[:5]


def test_at_an_instant_the_recording_has_the_new_torque_whichever_way_that_is_rounded() -> None:
    for period, count in ((0.1, 101), (0.07, 11)):  # 3 * 0.1 is more than 0.3
        clock = lw.control.sampled(lambda arm, t, q, qd: t + 0.0 * q, period)
        run = lw.simulate(CART, [0.0], duration=10 * period, torque=clock, samples=count, rtol=1e-3)
        assert np.abs(run.tau[:-1, 0] - period * np.floor(run.t[:-1] / period + 1e-6)).max() < 1e-12


@pytest.mark.slow
def test_short_periods_approach_the_law_itself() -> None:
    plain = lw.simulate(CART, [1.0], [0.3], 1.0, torque=spring, samples=3).q
    laws = [lw.control.sampled(spring, T) for T in (0.02, 0.01)]
    errors = [abs(lw.simulate(CART, [1.0], [0.3], 1.0, torque=law, samples=3).q - plain).max() for law in laws]
    assert 1.9 < errors[0] / errors[1] < 2.1


def test_a_law_that_cannot_be_traced_is_called_once_a_sample_without_a_warning() -> None:
    times: list[float] = []

    def watched(arm: lw.Robot, t: Any, q: Any, qd: Any) -> Any:
        if isinstance(t, float):
            times.append(t)
        return branching(arm, t, q, qd)

    run = lw.simulate(CART, [1.0], [0.3], 0.5, torque=lw.control.sampled(watched, 0.1), samples=3)
    assert run.status == "done"
    assert np.allclose(times, [0.0, 0.1, 0.2, 0.3, 0.4])
    assert not run.compiled
    hold = lw.control.sampled(lw.control.springs(1.0), 0.1)
    assert lw.simulate(CART, [1.0], duration=0.1, torque=hold, samples=2).compiled
    assert not lw.simulate(
        CART, [1.0], duration=0.1, torque=hold + lw.control.sampled(watched, 0.05), samples=2
    ).compiled
    with raises(TypeError, "watched"):
        lw.simulate(CART, [1.0], duration=0.1, torque=lw.control.sampled(watched, 0.1), compiled=True)


def test_a_picture_shows_torques_that_are_held_as_stairs() -> None:
    pytest.importorskip("matplotlib")
    hold = lw.control.sampled(lw.control.springs(1.0), 0.1)
    for torque, style in (
        (hold, "steps-post"),
        (hold + lw.control.springs(1.0), "default"),
        (lw.control.springs(1.0), "default"),
    ):
        figure = lw.simulate(CART, [1.0], duration=0.3, torque=torque, samples=7).plot()
        styles = {axes.get_ylabel(): axes.lines[0].get_drawstyle() for axes in figure.axes}
        assert styles["force (N)"] == style
        assert styles["displacement (m)"] == "default"


def test_periods_may_differ_and_laws_that_act_all_the_time_join_in() -> None:
    both = lw.control.sampled(spring, 0.01) + lw.control.springs(3) + lw.control.sampled(lw.control.springs(2), 0.03)
    run = lw.simulate(CART, [1.0], duration=0.3, torque=both, samples=31, rtol=1e-11)
    assert abs(run.imbalance).max() < 1e-9
    fast, slow = run.t.searchsorted([0.11, 0.09])
    expected = -8 * run.q[fast] - run.qd[fast] - 3 * run.q[fast] - 2 * run.q[slow]
    assert np.allclose(run.tau[fast], expected, rtol=0, atol=1e-9)


def test_a_trajectory_of_a_batch_is_the_same_as_alone() -> None:
    law = lw.control.pid(TARGET, **GAINS, dt=0.01, most=[20, 10, 2])
    starts = np.random.default_rng(0).normal(size=(5, 3))
    batch = lw.simulate(ARM, starts, duration=0.1, torque=law, samples=5)
    for k in (0, 4):
        alone = lw.simulate(ARM, starts[k], duration=0.1, torque=law, samples=5)
        assert np.array_equal(alone.q, batch.q[k])
        assert np.array_equal(alone.tau, batch.tau[k])


def test_pid_reaches_its_target_under_gravity_and_does_not_wind_up_in_either_direction() -> None:
    falling = CART.with_gravity((0, 0, -3.0))
    gains = {"kp": 20.0, "ki": 10.0, "kd": 8.0, "dt": 0.1}
    end = lw.simulate(falling, [0.0], duration=15, torque=lw.control.pid([1.0], **gains), samples=3)
    assert abs(end.q[-1, 0] - 1.0) < 1e-3
    assert abs(end.tau[-1, 0] - 6.0) < 1e-2
    laws = lw.control.pid([5.0], **gains, most=2.0), lw.control.sampled(wound_up, 0.1, state=0.0)
    limited, unlimited = (lw.simulate(CART, [0.0], duration=8, torque=law, samples=401) for law in laws)
    assert np.abs(limited.tau).max() == 2.0
    assert limited.q.max() < unlimited.q.max() - 0.5
    mirrored = lw.simulate(CART, [0.0], duration=8, torque=lw.control.pid([-5.0], **gains, most=2.0), samples=401)
    assert np.array_equal(mirrored.q, -limited.q)


def wound_up(arm: lw.Robot, t: Any, q: Any, qd: Any, z: Any) -> Any:
    """The same law without conditional integration."""
    z = z + 0.1 * 10.0 * (5.0 - q)
    return np.clip(20.0 * (5.0 - q) + z - 8.0 * qd, -2.0, 2.0), z


@pytest.mark.slow
def test_pid_follows_a_trajectory_and_turns_a_ball_joint() -> None:
    move = lw.trajectories.quintic([0], [1], 1.0)
    run = lw.simulate(CART, [0], duration=1.5, torque=lw.control.pid(move, 400, 100, 60, dt=0.01), samples=16)
    assert np.abs(run.q - move(run.t).q).max() < 0.04
    body = {"joint": "ball", "translation": (0, 0, 0), "mass": 1.0, "com": (0, 0, 0), "inertia": np.eye(3)}
    top = lw.Robot.from_frames([body], gravity=(0, 0, 0), name="top")
    target = [np.cos(0.3), np.sin(0.3), 0.0, 0.0]
    law = lw.control.pid(target, 8.0, 1.0, 6.0, dt=0.05)
    assert np.abs(lw.simulate(top, lw.neutral(top), duration=8, torque=law, samples=2).q[-1] - target).max() < 0.03


@pytest.mark.slow
def test_joints_that_stick_are_decided_anew_at_each_sample() -> None:
    dry = lw.Friction(viscous=0, coulomb=1.0, smooth=0)

    def pulse(arm: lw.Robot, t: Any, q: Any, qd: Any) -> Any:
        return np.where((t > 0.15) & (t < 0.35), 3.0, 0.5) + 0.0 * q

    run = lw.simulate(CART, [0.0], duration=1.0, torque=lw.control.sampled(pulse, 0.1), friction=dry, samples=101)
    assert (run.qd[run.t < 0.2, 0] == 0.0).all()
    way = 0.5 * 1.0 * 0.2**2 + 0.2 * 0.6 - 0.5 * 0.25 * 0.6**2  # pushed by 2 N for 0.2 s, then braked by 0.5 N
    assert abs(run.q[-1, 0] - way) < 1e-9


@pytest.mark.slow
def test_a_frozen_simulation_keeps_its_sampled_law() -> None:
    gain = [8.0]

    def law(arm: lw.Robot, t: Any, q: Any, qd: Any) -> Any:
        return -gain[0] * q

    frozen = lw.compile(lw.simulate, CART, torque=lw.control.sampled(law, 0.1) + lw.control.springs(1))
    before = frozen([1.0], duration=0.5)
    gain[0] = 1.0
    assert np.array_equal(frozen([1.0], duration=0.5).q, before.q)
    gain[0] = 8.0
    assert np.array_equal(
        lw.simulate(CART, [1.0], duration=0.5, torque=lw.control.sampled(law, 0.1) + lw.control.springs(1)).q, before.q
    )


def test_one_sample_can_be_exported() -> None:
    law = lw.control.pid(TARGET, **GAINS, dt=0.004, most=5)
    source = lw.c_source(law.step, ARM)
    assert "state[3]" in source
    q, qd, z = np.random.default_rng(1).normal(size=(3, 3))
    exported = lw.graph.evaluate(lw.trace(law.step, ARM), 0.0, q, qd, z)
    for a, b in zip(law.step(ARM, 0.0, q, qd, z), exported, strict=True):
        assert np.abs(a - b).max() < 1e-12


def test_the_law_inside_has_its_memory_as_an_input_too() -> None:
    law = lw.control.pid(TARGET, **GAINS, dt=0.004, most=5).law
    assert [port.name for port in lw.trace(law, ARM).inputs] == ["t", "q", "qd", "state"]


def counting(arm: lw.Robot, t: Any, q: Any, qd: Any, z: Any) -> Any:
    return -0.2 * qd * z[0], z + np.array([0.1, 0.0, 0.2, 0.0, 0.3]) * t


MAKERS = [lw.trace, lw.count, lw.compile, lw.c_source, lw.latex, lw.python_source, lw.wasm, lw.ptx_source]


def test_a_sample_takes_as_many_numbers_as_its_memory_has() -> None:
    """Whatever is made of a step: the shape comes from the law, not from the number of joints."""
    law = lw.control.sampled(counting, 0.002, state=np.ones(5))
    q, qd, z = np.ones(3), np.arange(3.0), np.arange(1.0, 6.0)
    tau, following = law.step(ARM, 0.5, q, qd, z)
    for found in (lw.graph.evaluate(lw.trace(law.step, ARM), 0.5, q, qd, z), lw.compile(law.step, ARM)(0.5, q, qd, z)):
        assert np.allclose(found[0], tau, rtol=1e-14)
        assert np.allclose(found[1], following, rtol=1e-14)
    assert lw.python_source(law.step, ARM, state=lw.Input(5)) == lw.python_source(law.step, ARM)
    source = lw.c_source(law.step, ARM, self_test=True)
    assert "const double state[5],\n    double tau[3],\n    double state_next[5])" in source
    assert lw.derivative(law.step, ARM, "state")(0.5, q, qd, z)[1].shape == (5, 5)


@in_turn(MAKERS)
def test_the_memory_of_a_sample_is_no_constant(maker: Any) -> None:
    """As one, it would be left out of the inputs without a word."""
    laws = lw.control.sampled(counting, 0.002, state=np.ones(5)), lw.control.sampled(spring, 0.002)
    for law, constant in itertools.product(laws, (np.zeros(5), 0.0, lw.Input(3))):
        with raises(ValueError, "state", "is"):
            maker(law.step, ARM, state=constant)


def test_a_sample_without_a_memory_is_exported_without_one() -> None:
    law = lw.control.sampled(spring, 0.002)
    source = lw.c_source(law.step, ARM, self_test=True)
    assert "void step(double t, const double q[3], const double qd[3], double tau[3]);" in source
    assert np.array_equal(lw.compile(law.step, ARM)(0.0, [1, 2, 3], [0, 0, 1]), [-8.0, -16.0, -25.0])
    assert np.array_equal(law.step(ARM, 0.0, np.ones(3), np.zeros(3)), [-8.0] * 3)
    with raises(ValueError, "counting", "state", "(3,)", "5"):
        lw.control.sampled(counting, 0.002, state=np.ones(5)).step(ARM, 0.0, np.ones(3), np.ones(3), np.ones(3))


def without_state(arm: lw.Robot, t: Any, q: Any, qd: Any, z: Any) -> Any:
    return q


def short_state(arm: lw.Robot, t: Any, q: Any, qd: Any, z: Any) -> Any:
    return q, z[:0]


WRONG = [
    (lambda: lw.control.sampled(3.0, 0.1), TypeError, "law is 3.0"),
    (lambda: lw.control.sampled(spring, 0.0), ValueError, r"dt is 0.0 \(expected seconds, more than 0"),
    (lambda: lw.control.sampled(spring, [0.1, 0.2]), ValueError, "dt is"),
    (lambda: lw.control.sampled(lw.control.sampled(spring, 0.1), 0.1), TypeError, "sampled already"),
    (lambda: lw.control.pid([0.0], 1, -1, 1, dt=0.1), ValueError, "ki is -1"),
    (lambda: lw.control.pid([0.0], 1, 1, 1, dt=0.1, gravity=1), TypeError, "gravity is 1"),
    (lambda: simulated(lw.control.limited(lw.control.sampled(spring, 0.1), 3)), TypeError, r"limits go inside"),
    (lambda: simulated(lw.control.sampled(spring, 0.1, state=0)), TypeError, r"spring is .* \(robot, .*state\)"),
    (lambda: simulated(lw.control.sampled(wound_up, 0.1)), TypeError, "state= gives a sampled law its memory"),
    (lambda: lw.control.sampled(spring, True), ValueError, "dt is True"),
    (lambda: lw.control.held(spring, True), ValueError, "end is True"),
    (lambda: lw.control.held(lambda t: (t, t), 1.0)(0.5), ValueError, "expected three arrays: q, qd and qdd"),
    (lambda: simulated(lw.control.limited(wound_up, 1.0)), ValueError, "'z' has no value"),
    (lambda: simulated(lw.compile(spring, CART)), TypeError, r"<Kernel spring.* is compiled already"),
    (lambda: simulated(lw.control.sampled(without_state, 0.1, state=0)), ValueError, "torques and the next state"),
    (lambda: simulated(lw.control.sampled(short_state, 0.1, state=0)), ValueError, r"a state of shape \(0,\) "),
    (lambda: lw.control.held(3, 1.0), TypeError, "motion is 3"),
    (lambda: lw.control.held(spring, -1.0), ValueError, "end is -1.0"),
]  # fmt: skip


def simulated(torque: Any) -> Any:
    return lw.simulate(CART, [1.0], duration=0.2, torque=torque)


@in_turn(WRONG)
def test_mistakes_are_named(wrong: Any) -> None:
    call, error, said = wrong
    with pytest.raises(error, match=said):
        call()


def test_a_motion_is_held_after_its_end_and_the_integrator_stops_there() -> None:
    def swing(t: Any) -> Any:
        one = 1.0 + 0 * t
        return tuple(map(np.stack, ([np.sin(t), t, t * t / 2], [np.cos(t), one, t], [-np.sin(t), 0 * t, one])))

    held = lw.control.held(swing, 0.5)
    run = lw.simulate(ARM, [0, 0, 0], [1, 1, 0], 0.8, torque=lw.control.computed_torque(held, kp=400, kd=40), samples=9)
    assert run.compiled
    assert np.abs(run.q[:6] - np.stack([swing(t)[0] for t in run.t[:6]])).max() < 1e-6
    program = lw.trace(lambda arm, t: np.concatenate(held(t)), ARM)
    for t in (0.2, 0.5, 0.7):
        assert np.array_equal(lw.graph.evaluate(program, t)[0], np.concatenate(held(t)))
    assert np.array_equal(held(0.7)[1], np.zeros(3))


def rubbing() -> lw.Robot:
    rows = [{**row, "viscous_friction": 0.3, "coulomb_friction": 0.2} for row in ARM.rows]
    return lw.Robot.from_dh(rows, convention="standard", gravity=ARM.gravity, name="rubbing")


def test_computed_torque_compensates_friction() -> None:
    move = lw.trajectories.quintic([0, 0, 0], TARGET, 0.5)
    law = lw.control.computed_torque(move, kp=100, kd=20, friction=True)
    run = lw.simulate(rubbing(), [0, 0, 0], duration=0.5, torque=law, friction=True, samples=9)
    assert np.abs(run.q - move(run.t).q).max() < 1e-6
    unaware = lw.control.computed_torque(move, kp=100, kd=20)(rubbing(), run.t[4], run.q[4], run.qd[4])
    assert np.allclose(run.tau[4] - unaware, lw.Friction().torque(rubbing(), run.qd[4]))


@pytest.mark.slow
def of_a_state(arm: lw.Robot, q: Any, qd: Any) -> Any:
    return -q


def disordered(arm: lw.Robot, q: Any, qd: Any, t: Any) -> Any:
    return -q


TAKING_LAWS: list[Any] = [
    simulated,
    lambda law: lw.control.sampled(law, 0.1),
    lambda law: lw.control.limited(law, 1.0),
    lambda law: lw.control.springs(1.0) + law,
    lambda law: lw.equilibrium(CART, [0.0], law),
    lambda law: lw.linearize(CART, [0.0], [0.0], law),
    lambda law: lw.rollout(CART, [0.0], [0.0], dt=0.1, steps=3, torque=law),
    lambda law: lw.simulate(CART, [0.0], duration=0.1, events=[law]),
]


@in_turn([(take, law) for take in TAKING_LAWS for law in (of_a_state, disordered, lambda q: -q)])
def test_a_law_of_other_arguments_is_refused_in_words(taken: Any) -> None:
    take, law = taken
    with raises(TypeError, "(robot, t, q, qd)"):
        take(law)


def test_friction_is_compensated_where_the_base_floats() -> None:
    flying = rubbing().with_gravity((0, 0, 0)).with_free_base(mass=10.0, inertia=np.eye(3))
    start = lw.neutral(flying)
    reach = lw.trajectories.quintic(start, [*start[:7], *TARGET], 0.5, robot=flying)
    law = lw.control.computed_torque(reach, kp=100, kd=20, passive=["base"], friction=lw.Friction())
    run = lw.simulate(flying, start, duration=0.5, torque=law, friction=True, samples=9)
    assert np.abs(run.q - reach(run.t).q)[:, 7:].max() < 1e-6


@pytest.mark.parametrize("times", [[0.1, 0.5, 0.9], [0.1, 0.9], [[0.1, 0.3], [0.5, 0.7]]])
def test_a_motion_that_is_held_takes_arrays_of_times(times: Any) -> None:
    def circle(t: Any) -> Any:
        s, c = np.sin(3 * t), np.cos(3 * t)
        return np.stack([s, c, s], -1), np.stack([3 * c, -3 * s, 3 * c], -1), np.stack([-9 * s, -9 * c, -9 * s], -1)

    held, t = lw.control.held(circle, 0.4), np.array(times)
    for k, together in enumerate(held(t)):
        alone = np.array([held(x)[k] for x in t.flat])
        assert np.allclose(together.reshape(-1, 3), alone, rtol=1e-14)


def test_the_c_of_a_sample_says_how_it_is_called() -> None:
    law = lw.control.pid([0.1, 0.2, 0.3], kp=5.0, ki=1.0, kd=0.5, dt=0.004)
    source = lw.c_source(law.step, lw.load("planar3"))
    text = " ".join(line.strip(" *") for line in source.splitlines())
    assert "double tau[3], double state_next[3]" in text
    assert "Call it every 0.004 s, and keep tau until the next call; state is 0.0 at first, then state_next." in text
    assert "kp=5.0" in text
