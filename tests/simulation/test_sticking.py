"""Exact friction: joints that stop, stick and break loose, to the last bit and in closed form."""

import importlib
import itertools

import numpy as np
import pytest

import linkwise as lw
from effort import rest_slow
from facts import raises
from integrators import FIXED, INTEGRATORS, fixed_steps
from linkwise.spatial import sign
from robots import CART, CHAINS, SLIDE, TREES, states

mode_changes = importlib.import_module("linkwise.simulation.integration")
sticking = importlib.import_module("linkwise.simulation.sticking")
integration = importlib.import_module("linkwise.simulation.integration")

PLANAR, PUMA = lw.load("planar3"), lw.load("puma560")
MASS, LEVEL = SLIDE["mass"], 0.6
GANTRY = lw.Robot.from_dh(
    [SLIDE | {"alpha": np.pi / 2, "theta": np.pi / 2}] * 3, convention="standard", gravity=(0, 0, 0), name="gantry"
)
DRY = lw.Friction(viscous=0.0, coulomb=LEVEL, smooth=0.0)
ROBOTS = [PLANAR, PUMA, CHAINS[4], CHAINS[7], TREES[3], TREES[4]]
every_robot = pytest.mark.parametrize("robot", rest_slow(ROBOTS, [CHAINS[4]]), ids=lambda robot: robot.name)
every_integrator = pytest.mark.parametrize("integrator", rest_slow(INTEGRATORS, ["verner65", "radau"]))
both_ways = pytest.mark.parametrize("compiled", rest_slow([True, False], [True]))


def heavy(robot, q, **keywords):
    """Friction that brings the robot to rest against gravity."""
    gravity = np.abs(lw.gravity_torque(robot, q)).max(axis=0)
    inertia = np.array([lw.inertia_matrix(robot, each).diagonal() for each in q]).mean(axis=0)
    return lw.Friction(viscous=0.1, coulomb=3.0 * gravity + 2.0 * inertia, smooth=0.0, **keywords)


@both_ways
@every_integrator
def test_a_sliding_mass_stops_where_and_when_it_should_and_stays_to_the_last_bit(integrator, compiled):
    how = {"integrator": integrator, "compiled": compiled, **fixed_steps(integrator, 0.1)}
    run = lw.simulate(CART, [0.3], [1.5], 8.0, friction=DRY, samples=33, **how)
    time, way = MASS * 1.5 / LEVEL, 1.5**2 * MASS / (2.0 * LEVEL)
    sliding = run.t < time
    assert run.status == "done"
    assert np.abs(run.qd[sliding, 0] - (1.5 - LEVEL / MASS * run.t[sliding])).max() < 1e-9
    assert (run.qd[run.t > time, 0] == 0.0).all()
    assert len(set(run.q[run.t > time, 0].tolist())) == 1
    assert abs(run.q[-1, 0] - 0.3 - way) < 1e-9
    assert abs(run.heat[-1] - LEVEL * way) < 1e-9
    assert np.abs(run.imbalance).max() < 1e-9
    assert (run.qdd[run.t > time] == 0.0).all()
    assert integrator in FIXED or run.steps < 400
    assert run.events == ()


@pytest.mark.parametrize("slope", rest_slow([-0.2, 0.05, 0.1, 0.15, 0.3], [-0.2, 0.1, 0.15]))
def test_on_a_slope_it_slides_only_where_the_slope_exceeds_the_level(slope):
    """Level m g sin(0.1): it rests up to there, and slides at g (sin(slope) - sin(0.1)) beyond."""
    g = 9.81
    incline = lw.Robot.from_dh([SLIDE], convention="standard", gravity=(0.0, -g * np.cos(slope), g * np.sin(slope)))
    drag = lw.Friction(viscous=0.0, coulomb=MASS * g * np.sin(0.1), smooth=0.0)
    run = lw.simulate(incline, [0.0], [0.0], 2.0, friction=drag, samples=11)
    if abs(slope) <= 0.1:
        assert (run.q == 0.0).all()
        assert (run.qd == 0.0).all()
    else:
        a = np.sign(slope) * g * (np.sin(abs(slope)) - np.sin(0.1))
        assert np.abs(run.q[:, 0] - 0.5 * a * run.t**2).max() < 1e-9


def stick_slip(t, force, rate):
    """q of the cart under force · sin(rate · t), by its closed form: from break-away to where the rate is 0 again."""
    q, where, start = np.zeros_like(t), 0.0, np.arcsin(LEVEL / force) / rate
    side = 1.0
    while start < t[-1]:
        phase = rate * start

        def speed(s, side=side, start=start, phase=phase):
            swing = force / rate * (np.cos(phase) - np.cos(rate * s))
            return (swing - side * LEVEL * (s - start)) / MASS

        def way(s, side=side, start=start, phase=phase):
            swing = np.cos(phase) * (s - start) - (np.sin(rate * s) - np.sin(phase)) / rate
            return (force / rate * swing - 0.5 * side * LEVEL * (s - start) ** 2) / MASS

        low, high = start + 1e-3, start + np.pi / rate + 1.0
        for _ in range(80):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if side * speed(middle) > 0.0 else (low, middle)
        moving = (t > start) & (t <= high)
        q[moving] = where + way(t[moving])
        where = where + way(high)
        q[t > high] = where
        side, back = -side, -side * LEVEL / force
        if -side * force * np.sin(rate * high) < -LEVEL:  # it turns without a rest
            start = high
        else:
            start = next(s for s in sorted(roots(back, rate, high)) if s > high)
    return q


def roots(value, rate, after):
    """Times at which sin(rate · t) passes the value outward."""
    first = np.arcsin(value)
    turns = np.arange(int(after * rate / (2 * np.pi)) + 3)
    return ((first if value > 0 else np.pi - first) + 2 * np.pi * turns) / rate


@both_ways
def test_under_a_slow_sinusoidal_force_it_sticks_and_slips_in_time(compiled):
    force, rate = 0.8, 0.5

    def push(arm, t, q, qd):
        return np.array([force * np.sin(rate * t)])

    end, rtol = (30.0, 1e-10) if compiled else (6.0, 1e-8)
    run = lw.simulate(CART, [0.0], [0.0], end, push, friction=DRY, samples=61, rtol=rtol, compiled=compiled)
    exact = stick_slip(run.t, force, rate)
    assert np.abs(run.q[:, 0] - exact).max() < 1e-7
    assert np.ptp(exact) > 0.1
    still = run.qd[:, 0] == 0.0
    assert still[run.t < np.arcsin(LEVEL / force) / rate].all()
    assert 0.2 < still.mean() < 0.8
    assert np.abs(run.imbalance).max() < 1e-8


def test_from_where_it_breaks_loose_stribeck_friction_falls():
    """A mass drawn by a spring at 0.1 m/s: it waits until k v t = s, then leaps, then waits again."""
    stiff, speed, level = 5.0, 0.1, 1.0

    def drawn(arm, t, q, qd):
        return np.array([stiff * (speed * t - q[0])])

    drag = lw.Friction(viscous=0.0, coulomb=LEVEL, stribeck=level, stribeck_rate=0.05, smooth=0.0)
    run = lw.simulate(CART, [0.0], [0.0], 30.0, torque=drawn, friction=drag, samples=3001)
    still = run.qd[:, 0] == 0.0
    loose = level / stiff / speed
    assert still[run.t < loose].all()
    assert not still[(run.t > loose) & (run.t < loose + 0.5)].any()
    breaks = run.t[1:][still[:-1] & ~still[1:]]
    assert len(breaks) > 3
    for t in breaks:  # each time when the spring pulls with the level at rest
        k = int(np.searchsorted(run.t, t)) - 1
        assert abs(stiff * (speed * run.t[k] - run.q[k, 0]) - level) < 2 * stiff * speed * 0.01
    assert np.abs(run.imbalance).max() < 1e-8
    assert np.abs(run.qdd[still]).max() == 0.0


@every_robot
def test_arms_with_much_friction_end_at_rest_and_each_trajectory_is_the_same_alone(robot):
    q, qd, *_ = states(robot, 5)
    drag = heavy(robot, q)
    run = lw.simulate(robot, q, qd, 8.0, friction=drag, samples=21)
    assert run.compiled
    assert (run.status == "done").all()
    assert (run.qd[:, -1] == 0.0).all()
    assert (run.qdd[:, -1] == 0.0).all()
    assert np.array_equal(run.q[:, -1], run.q[:, -2])
    assert np.abs(run.imbalance).max() < 1e-7 * np.abs(run.energy).max()
    for k in range(len(q)):
        alone = lw.simulate(robot, q[k], qd[k], 8.0, friction=drag, samples=21)
        assert np.array_equal(alone.q, run.q[k])
        assert np.array_equal(alone.qd, run.qd[k])
        assert alone.steps == run.steps[k]


@every_robot
def test_under_torques_and_wrenches_some_joints_stick_and_energy_is_balanced(robot):
    q, qd, _, wrench = states(robot, 3)
    drag = lw.Friction(viscous=0.2, coulomb=np.linspace(0.0, 2.0, robot.n), stribeck=2.5, smooth=0.0)

    def shaken(arm, t, q, qd):
        return lw.gravity_torque(arm, q) + np.array([3.0 * np.sin(2.0 * t + i) for i in range(arm.n)])

    each = np.resize(wrench, (3, robot.n, 6))
    run = lw.simulate(robot, q, 0.3 * qd, 1.0, torque=shaken, wrench=each, friction=drag, samples=201)
    stuck = run.qd == 0.0
    assert (run.status == "done").all()
    assert stuck.any()
    assert not stuck.all()
    assert np.abs(run.imbalance).max() < 1e-6 * np.abs(run.energy).max()
    resting = stuck[:, 1:-1] & stuck[:, :-2] & stuck[:, 2:]
    assert np.abs(run.qdd[:, 1:-1][resting]).max(initial=0.0) == 0.0


@pytest.mark.slow
def test_smooth_friction_comes_to_friction_that_sticks_as_it_gets_steeper():
    def push(arm, t, q, qd):
        return np.array([0.8 * np.sin(2.0 * t)])

    exact = lw.simulate(CART, [0.0], [0.1], 6.0, torque=push, friction=DRY, samples=31)
    assert (exact.qd == 0.0).any()
    errors = []
    for smooth in (1e-2, 1e-3, 1e-4):
        drag = lw.Friction(viscous=0.0, coulomb=LEVEL, smooth=smooth)
        run = lw.simulate(CART, [0.0], [0.1], 6.0, torque=push, friction=drag, samples=31, integrator="radau")
        errors.append(np.abs(run.q - exact.q).max())
    assert errors[0] > 4 * errors[1] > 16 * errors[2]


def test_gears_and_limits_stand_between_as_before():
    arm = lw.control.with_gears(PLANAR, ratio=50, motor_inertia=1e-4)
    drive = lw.control.limited(lw.control.pd_gravity([0.5, -0.3, 0.2], kp=60, kd=1), most=[60, 30, 10])
    run = lw.simulate(arm, [0, 0, 0], [0, 0, 0], 6.0, torque=drive, friction=lw.Friction(0.0, 1.0, smooth=0.0))
    assert run.compiled
    assert (run.qd[-1] == 0.0).all()
    error = np.abs(60 * (np.array([0.5, -0.3, 0.2]) - run.q[-1]))
    assert (error <= 1.0).all()  # the springs pull with no more than friction holds
    assert np.abs(run.imbalance).max() < 1e-6


def test_a_joint_without_dry_friction_never_sticks():
    drag = lw.Friction(viscous=0.1, coulomb=[5.0, 0.0, 5.0], smooth=0.0)
    run = lw.simulate(PLANAR, [0, 0.3, 0], [1, 0, 1], 5.0, friction=drag, samples=501)
    assert (run.qd[-100:, [0, 2]] == 0.0).any()
    assert (run.qd[1:, 1] != 0.0).all()
    assert np.abs(run.imbalance).max() < 1e-6


def test_joints_that_break_loose_at_once():
    """Two slides under the same growing force: neither waits for the other."""

    def ramp(arm, t, q, qd):
        return np.array([0.5 * t, 0.5 * t, 0.0 * t])

    run = lw.simulate(GANTRY, [0.0] * 3, [0.0] * 3, 3.0, torque=ramp, friction=DRY, samples=301)
    masses = lw.inertia_matrix(GANTRY, [0, 0, 0]).diagonal()[:2]
    over = np.maximum(run.t - LEVEL / 0.5, 0.0)
    assert np.abs(run.q[:, :2] * masses - 0.5 * over[:, None] ** 3 / 6.0).max() < 1e-9
    assert (run.q[:, 2] == 0.0).all()


@pytest.mark.parametrize("together", [0, sticking.MAX_JOINT_ROUNDS])
def test_modes_are_the_only_ones_that_fit(together, monkeypatch):
    """Against every combination of modes, for random inertias and loads."""
    monkeypatch.setattr(sticking, "MAX_JOINT_ROUNDS", together)
    rng = np.random.default_rng(0)
    for trial in range(150):
        n = 1 + trial % 5
        factor = rng.normal(size=(n, n))
        inertia = factor @ factor.T + 0.05 * np.eye(n)
        push, level = 2.0 * rng.normal(size=n), rng.uniform(0.1, 2.0, n)
        fits = []
        for modes in itertools.product((-1.0, 0.0, 1.0), repeat=n):
            mode, qdd = np.array(modes), np.zeros(n)
            free = mode != 0.0
            qdd[free] = np.linalg.solve(inertia[np.ix_(free, free)], (push - level * mode)[free])
            hold = push - inertia @ qdd
            if (mode * qdd >= 0.0)[free].all() and (np.abs(hold) <= level)[~free].all():
                fits.append(modes)
        found = np.zeros(n)
        qdd, left = sticking.exchange_modes(inertia, push, level, found, np.ones(n, dtype=bool), np.ones(n))
        assert left == -1
        assert [tuple(found.tolist())] == fits


def grazing(count, seed):
    """Excess over the level and phase; they travel as the positions of two slides that nothing moves."""
    rng = np.random.default_rng(seed)
    excess, phase = 10.0 ** rng.uniform(-6.0, -0.5, count), rng.uniform(0.0, np.pi, count)
    return excess, phase, np.stack([0.0 * excess, phase, excess], axis=1)


FIRST = lw.Friction(viscous=0.0, coulomb=(LEVEL, 0.0, 0.0), smooth=0.0)
adaptive = pytest.mark.parametrize(
    "integrator", rest_slow(["verner65", "dop853", "dormand54", "cash-karp54"], ["verner65"])
)


@adaptive
def test_the_shortest_slip_is_not_leapt_over_in_either_direction(integrator):
    excess, phase, start = grazing(300, 0)
    side = np.where(np.arange(300) % 2, 1.0, -1.0)
    start[:, 2] = side * (1.0 + excess)

    def push(arm, t, q, qd):
        return np.array([LEVEL * q[2] * np.sin(3.0 * t + q[1]), 0.0 * t, 0.0 * t])

    for rtol in (1e-4, 1e-8):
        how = {"friction": FIRST, "integrator": integrator, "rtol": rtol, "samples": 2}
        run = lw.simulate(GANTRY, start, np.zeros(3), np.pi / 3, push, **how)
        slips = phase < np.arcsin(1.0 / (1.0 + excess))
        assert ((side * run.q[:, -1, 0])[slips] > 0.0).all()


@adaptive
def test_the_shortest_stop_is_not_leapt_over(integrator):
    """The rate would swing to -excess · v; it stops there instead, and is ahead by that from then on."""
    excess, phase, start = grazing(300, 1)
    mass, v = lw.inertia_matrix(GANTRY, [0, 0, 0])[0, 0], 0.05

    def push(arm, t, q, qd):
        return np.array([LEVEL + 3.0 * mass * v * (1.0 + q[2]) * np.cos(3.0 * t + q[1]), 0.0 * t, 0.0 * t])

    def swing(angle):
        return v * (1.0 + (1.0 + excess) * np.sin(angle))

    rates = np.stack([swing(phase), 0.0 * excess, 0.0 * excess], axis=1)
    run = lw.simulate(
        GANTRY, start, rates, 2 * np.pi / 3, push, friction=FIRST, integrator=integrator, rtol=1e-9, samples=2
    )
    error = np.abs(run.qd[:, -1, 0] - swing(phase + 2 * np.pi) - v * excess)
    assert (error < np.maximum(1e-3 * v * excess, 1e-8)).all()


def thrown_back(arm, t, q, qd):
    """Pushes a cart at rest off, and throws it back as soon as it moves."""
    return np.array([2.0 - 10.0 * sign(qd[0] * qd[0])])


@both_ways
def test_chattering_without_end_is_given_up_loudly(compiled, monkeypatch):
    monkeypatch.setattr(mode_changes, "CHANGES", 5)
    said = r"'cart' at t = .* q = \[.*\], qd = \[0.0\]: joint of link 'link1' has stuck and come loose 5 times"
    with pytest.raises(lw.errors.SimulationError, match=said) as caught:
        lw.simulate(CART, [0.0], [0.0], 1.0, torque=thrown_back, friction=DRY, samples=11, compiled=compiled)
    kept = caught.value.recording
    assert kept.status == "chattering"
    assert kept.reached < 1e-6
    assert kept.events == ()
    both = lw.simulate(CART, [[0.0], [0.0]], [[0.0], [0.0]], 1.0, torque=[[0.1], [1.0]], friction=DRY, samples=11)
    assert both.status.tolist() == ["done", "done"]


def test_a_relay_that_chatters_ever_faster_is_given_up_where_it_gathers():
    """-F sign(q) with friction c: each swing is (F - c)/(F + c) of the last, and they end at a finite time."""

    def relay(arm, t, q, qd):
        return -np.array([sign(q[0])])

    with raises(lw.errors.SimulationError, "robot 'cart'", "link 'link1'", "200 times") as caught:
        lw.simulate(CART, [1.0], [0.0], 20.0, torque=relay, friction=DRY)
    inward, outward, swing, end = (1.0 - LEVEL) / MASS, (1.0 + LEVEL) / MASS, 1.0, 0.0
    for _ in range(60):
        speed = np.sqrt(2.0 * inward * swing)
        end += speed / inward + speed / outward
        swing = speed**2 / (2.0 * outward)
    assert abs(caught.value.recording.reached - end) < 3e-3


def rate(arm, t, q, qd):
    return qd[0]


def halfway(arm, t, q, qd):
    return q[0] - 1.0


@pytest.mark.parametrize("compiled", rest_slow([True, False], [True]))
@pytest.mark.parametrize("integrator", rest_slow(["verner65", "radau"], ["verner65"]))
def test_events_of_the_user_are_met_beside_it_and_are_the_only_ones(compiled, integrator):
    how = {"friction": DRY, "compiled": compiled, "integrator": integrator, "samples": 17}
    passing = [lw.Event(halfway, "halfway"), lw.Event(rate, "at rest")]
    run = lw.simulate(CART, [0.0], [1.5], 8.0, events=passing, **how)
    assert [record.names for record in run.events] == [("halfway",), ("at rest",)]
    assert abs(run.events[1].t - 5.0) < 1e-8
    assert (run.status, run.qd[-1, 0]) == ("done", 0.0)
    stopped = lw.simulate(CART, [0.0], [1.5], 8.0, events=lw.Event(rate, "at rest", stop=True), **how)
    assert (stopped.status, [each.names for each in stopped.events]) == ("stopped", [("at rest",)])
    assert abs(stopped.reached - 5.0) < 1e-8
    early = lw.simulate(CART, [0.0], [1.5], 8.0, events=lw.Event(halfway, "halfway", stop=True), **how)
    assert (early.status, [each.names for each in early.events]) == ("stopped", [("halfway",)])


@pytest.mark.parametrize("stop", [False, True])
def test_a_log_that_fills_up_again_and_again_changes_nothing(stop, monkeypatch):
    monkeypatch.setattr(integration, "LOG_SIZE", 2)

    def wave(arm, t, q, qd):
        return np.sin(20.0 * q[0])

    def late(arm, t, q, qd):
        return t - 7.0

    events = [lw.Event(wave, "wave"), lw.Event(late, "late", stop=stop)]
    run = lw.simulate(CART, [0.1], [1.5], 8.0, friction=DRY, events=events)
    assert [each.names for each in run.events] == [("wave",)] * 24 + [("late",)]  # as far as q = 3.85
    assert run.status == ("stopped" if stop else "done")
    assert abs(run.reached - (7.0 if stop else 8.0)) < 1e-12
    assert abs(run.q[np.searchsorted(run.t, 6.0), 0] - 3.85) < 1e-9


def test_an_interrupted_run_shows_no_change_of_modes(monkeypatch):
    def stop(watch, now):
        raise KeyboardInterrupt

    monkeypatch.setattr(integration.ProgressCallback, "__call__", stop)
    with pytest.raises(lw.errors.SimulationInterrupted) as caught:
        lw.simulate(CART, [0.0], [1.5], 8.0, friction=DRY, events=halfway)
    kept = caught.value.recording
    assert kept.status == "interrupted"
    assert [each.names for each in kept.events] == [("halfway",)]


@pytest.mark.parametrize("keywords", [{"coordinates": "normalized"}, {"method": "kalman"}])
def test_what_knows_of_no_sticking_is_refused(keywords):
    with raises(ValueError, "friction", "exact"):
        lw.simulate(PLANAR, [0] * 3, [0] * 3, 1.0, friction=lw.Friction(0.0, 1.0, smooth=0.0), **keywords)
    run = lw.simulate(PLANAR, [0] * 3, [0] * 3, 0.1, friction=lw.Friction(0.1, 0.0, smooth=0.0), **keywords)
    assert run.status == "done"  # no friction that could stick


def test_a_load_of_just_the_level_is_held():
    for load in (LEVEL, -LEVEL):
        run = lw.simulate(CART, [0.0], [0.0], 5.0, torque=[load], friction=DRY, samples=3)
        assert (run.q == 0.0).all()
    over = lw.simulate(CART, [0.0], [0.0], 5.0, torque=[LEVEL * (1 + 1e-9)], friction=DRY, samples=3, atol=1e-17)
    assert over.q[-1, 0] > 0.0
