"""Simulation: orders of the integrators, machine code against Python, balance of energy, loud failures."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import linkwise as lw
from effort import rest_slow
from facts import raises
from integrators import fixed_steps
from linkwise.ode.methods import entries, method
from linkwise.simulation import integration
from linkwise.targets.cpu import solver as machine
from reference import DATA
from robots import CHAINS, TREES, relative, states
from special_robots import massless_tip

PLANAR = lw.load("planar3")
EXPLICIT = list(entries())
ADAPTIVE = [name for name in EXPLICIT if not method(name).fixed]
ROBOTS = [PLANAR, lw.load("stanford"), CHAINS[5], CHAINS[7], TREES[3], TREES[4]]
every_robot = pytest.mark.parametrize("robot", rest_slow(ROBOTS, [CHAINS[5], TREES[3]]), ids=lambda robot: robot.name)


@every_robot
def test_a_trajectory_is_the_same_alone_in_a_batch_and_on_any_number_of_threads(robot):
    q, qd, _, _ = states(robot, 11)
    together = lw.simulate(robot, q, qd, 0.2, samples=5)
    again = lw.simulate(robot, q, qd, 0.2, samples=5, threads=3)
    assert np.array_equal(together.q, again.q)
    for k in (0, 7, 10):
        alone = lw.simulate(robot, q[k], qd[k], 0.2, samples=5)
        assert np.array_equal(alone.q, together.q[k])
        assert np.array_equal(alone.qd, together.qd[k])
        assert (alone.steps, alone.rejected) == (together.steps[k], together.rejected[k])


def tilted(arm, t, q, qd):
    return q[0] - 0.3


def driven_away(arm, t, q, qd):
    return 5e-4 * qd * qd * qd


def test_lanes_take_the_next_trajectory_and_none_notices(monkeypatch):
    """Some stop early, some are lost, some go on; in one go, in slices, on any number of threads, and each alone."""
    rates = np.random.default_rng(3).normal(size=(61, 3)) * np.geomspace(0.01, 20.0, 61)[:, None]
    how = {"torque": driven_away, "events": [lw.Event(tilted, "tilted", stop=True, direction=1)], "samples": 6}
    whole = lw.simulate(PLANAR, [0] * 3, rates, 0.1, threads=1, **how)
    assert {"done", "stopped"} < set(whole.status.tolist())
    assert {"step too small", "diverged"} & set(whole.status.tolist())
    for threads in (2, 5):
        assert lw.simulate(PLANAR, [0] * 3, rates, 0.1, threads=threads, **how) == whole
    monkeypatch.setattr(machine, "SLICE", 100_000)
    assert lw.simulate(PLANAR, [0] * 3, rates, 0.1, threads=2, **how) == whole
    for k in range(0, 61, 6):
        alone = lw.simulate(PLANAR, [0] * 3, rates[k : k + 1], 0.1, **how)
        assert np.array_equal(alone.q[0], whole.q[k], equal_nan=True)
        for name in ("status", "steps", "reached"):
            assert getattr(alone, name)[0] == getattr(whole, name)[k]
        assert [event.t for event in alone.events[0]] == [event.t for event in whole.events[k]]


@pytest.mark.parametrize("coordinates", ["joint", "normalized", "unnormalized"])
@every_robot
def test_energy_is_kept_in_all_coordinates(robot, coordinates):
    q, qd, _, _ = states(robot, 1)
    fall = lw.simulate(robot, q[0], 0.3 * qd[0], 0.5, coordinates=coordinates, rtol=1e-10)
    scale = np.ptp(lw.potential_energy(robot, fall.q)) + lw.kinetic_energy(robot, q[0], qd[0]) + 1e-3
    assert np.abs(fall.imbalance).max() < 1e-8 * scale


@every_robot
def test_work_and_heat_account_for_the_energy(robot):
    q, qd, _, tau = states(robot, 3)
    drag = lw.Friction(viscous=0.2, coulomb=0.1, stribeck=0.15, smooth=0.05)
    push = np.array([0.1, -0.2, 0.3, 0.5, 0.4, -0.6]) if len(robot.leaves) == 1 else None
    run = lw.simulate(robot, q, qd, 0.3, torque=tau, wrench=push, friction=drag, rtol=1e-10, samples=31)
    moved = np.abs(run.work).max() + np.abs(run.heat).max()
    assert np.abs(run.imbalance).max() < 1e-7 * max(moved, np.ptp(run.energy))
    assert (np.diff(run.heat, axis=-1) >= 0.0).all()
    assert relative(run.tau, np.broadcast_to(tau[:, None], run.q.shape)) == 0.0
    again = lw.inverse_dynamics(robot, run.q, run.qd, run.qdd, push) + drag.torque(robot, run.qd)
    assert relative(again, run.tau) < 1e-8


def test_the_fall_of_the_planar_arm_is_that_of_scipy():
    kernel = lw.compile(lw.forward_dynamics, PLANAR)

    def rhs(t, y):
        return np.concatenate([y[3:], kernel(y[:3], y[3:], np.zeros(3))])

    times = np.linspace(0.0, 2.0, 41)
    theirs = solve_ivp(rhs, (0.0, 2.0), np.zeros(6), "DOP853", times, rtol=1e-11, atol=1e-12).y.T
    for name in EXPLICIT:
        how = {"integrator": name, "rtol": 1e-10, "samples": times, **fixed_steps(name, 2e-4)}
        ours = lw.simulate(PLANAR, [0] * 3, [0] * 3, 2.0, **how)
        assert np.abs(ours.q - theirs[:, :3]).max() < 1e-7
        assert np.abs(ours.qd - theirs[:, 3:]).max() < 1e-6


@pytest.mark.parametrize("record", DATA["free_fall_simulations"], ids=lambda record: record["robot"])
@pytest.mark.parametrize("name", rest_slow(ADAPTIVE, ["verner65"]))
def test_the_papers_robots_fall_as_in_the_reference(record, name):
    arm = lw.load({"planar3R": "planar3", "stanford": "stanford"}[record["robot"]])
    t, q, qd = (np.array(record[key], dtype=float) for key in ("t", "q", "qd"))
    fall = lw.simulate(arm, q[0], qd[0], t[-1], rtol=1e-10, samples=t, integrator=name)
    assert np.abs(fall.q - q).max() < 1e-7
    assert np.abs(fall.qd - qd).max() < 1e-6
    assert np.abs(fall.imbalance).max() < 1e-8 * np.ptp(lw.potential_energy(arm, fall.q))


def upright(arm, t, q, qd):
    return q[1] - np.pi / 2


def test_the_third_joint_of_the_stanford_arm_runs_out_once_the_second_has_passed_90_degrees():
    arm, start = lw.load("stanford"), [0, np.pi / 2 + 0.2, 0.1, 0, 0, 0]
    fall = lw.simulate(arm, start, [0] * 6, 1.5, events=lw.Event(upright, "90 deg", direction=-1), samples=301)
    passed = fall.events[0].t
    assert (np.diff(fall.q[fall.t < passed, 2]) <= 0.0).all()
    assert (np.diff(fall.q[fall.t > passed + 0.1, 2]) > 0.0).all()
    assert fall.q[-1, 2] > 5.0


def test_constant_wrenches_act_on_the_tip_and_on_every_link():
    arm, tip = PLANAR, np.array([0, 0, 0.2, 0.1, -0.3, 0])
    every = np.zeros((3, 6))
    every[-1] = tip
    a, b = (lw.simulate(arm, [0.1] * 3, [0] * 3, 0.3, wrench=w, samples=4) for w in (tip, every))
    assert relative(a.q, b.q) < 1e-10
    assert np.abs(lw.inverse_dynamics(arm, a.q, a.qd, a.qdd, tip)).max() < 1e-12


@pytest.mark.parametrize("integrator", ["verner65", "radau"])
def test_what_cannot_be_followed_ends_with_an_error_that_keeps_the_recording(integrator):
    def runaway(arm, t, q, qd):
        return 0.02 * qd * qd * qd

    with raises(lw.errors.SimulationError, "'planar3'", "t", "link") as caught:
        lw.simulate(PLANAR, [0] * 3, [1.0] * 3, 5.0, torque=runaway, integrator=integrator)
    kept = caught.value.recording
    assert kept.status in ("step too small", "diverged")
    assert np.isfinite(kept.q[kept.t <= kept.reached]).all()
    assert np.isnan(kept.q[kept.t > kept.reached]).all()
    rates = np.array([[0.0] * 3, [20.0] * 3, [1e-3] * 3])
    batch = lw.simulate(PLANAR, np.zeros((3, 3)), rates, 0.01, torque=runaway, integrator=integrator)
    assert batch.status[1] in ("step too small", "diverged")
    assert batch.status[0] == batch.status[2] == "done"
    assert np.isfinite(batch.q[[0, 2]]).all()
    with raises(lw.errors.SimulationError, "finite"):
        lw.simulate(PLANAR, [0.5] * 3, [-1.0] * 3, 1.0, torque=lambda *state: -np.sqrt(state[2]), integrator=integrator)


def test_a_joint_that_nothing_resists_is_named():
    with raises(lw.errors.SingularError, "robot 'light'", "link 'link3'", "articulated inertia 0"):
        lw.simulate(massless_tip(), [0] * 3, [0] * 3, 1.0)


def test_an_interrupted_batch_keeps_what_was_computed_of_each(monkeypatch):
    monkeypatch.setattr(machine, "SLICE", 2_000_000)

    class Impatient(integration.ProgressCallback):
        def __call__(self, now):
            if (now.status == 1).sum() > 5:
                raise KeyboardInterrupt

    whole = lw.simulate(PLANAR, 0.1 * np.arange(60).reshape(20, 3), np.zeros(3), 2.0, samples=11)
    monkeypatch.setattr(integration, "ProgressCallback", Impatient)
    with pytest.raises(lw.errors.SimulationInterrupted) as caught:
        lw.simulate(PLANAR, 0.1 * np.arange(60).reshape(20, 3), np.zeros(3), 2.0, samples=11)
    kept = caught.value.recording
    assert {"done", "interrupted"} == set(kept.status.tolist())
    for k in range(20):
        until = kept.t <= kept.reached[k]
        assert np.array_equal(kept.q[k, until], whole.q[k, until])
        assert np.isnan(kept.q[k, ~until]).all()


def test_an_empty_batch_is_an_empty_recording():
    none = np.zeros((0, 3))
    dry = {"friction": lw.Friction(coulomb=0.6, smooth=0.0)}
    for extra in ({}, {"torque": none}, {"wrench": np.zeros((0, 6))}, {"torque": np.zeros(3)}, dry):
        run = lw.simulate(PLANAR, none, none, 1.0, samples=3, **extra)
        assert run.q.shape == run.qdd.shape == (0, 3, 3)
        assert run.steps.shape == (0,)


def straight(arm, t, q, qd):
    return q[0] + q[1]


def low(arm, t, q, qd):
    return q[0] + 1.0


@pytest.mark.parametrize("compiled", rest_slow([True, False], [True]))
def test_events_are_met_to_the_last_digit_in_order_and_may_stop(compiled):
    keywords = {"compiled": compiled, "samples": 21, "rtol": 1e-7 if compiled else 1e-4}
    watched = [straight, lw.Event(low, "low", direction=-1)]
    passing = lw.simulate(PLANAR, [0.1] * 3, [0] * 3, 0.5, events=watched, **keywords)
    assert [event.names for event in passing.events] == [("straight",), ("low",)]
    assert passing.status == "done"
    for event, value in zip(passing.events, (straight, low), strict=True):
        assert abs(value(PLANAR, event.t, event.q, event.qd)) < 1e-12
    ending = lw.simulate(PLANAR, [0.1] * 3, [0] * 3, 0.5, events=lw.Event(low, "low", stop=True), **keywords)
    assert ending.status == "stopped"
    assert ending.reached == ending.events[-1].t
    assert abs(ending.reached - passing.events[-1].t) < 1e-6
    assert np.isnan(ending.q[ending.t > ending.reached]).all()
    assert np.isfinite(ending.q[ending.t <= ending.reached]).all()
    upward = lw.simulate(PLANAR, [0.1] * 3, [0] * 3, 0.3, events=lw.Event(low, "low", direction=1), **keywords)
    assert upward.events == ()


@pytest.mark.parametrize(
    ("change", "facts"),
    [
        ({"duration": 0.0}, "duration is 0.0"),
        ({"duration": float("nan")}, "duration is nan"),
        ({"rtol": -1.0}, "rtol is -1.0"),
        ({"rtol": 1e-15}, "rtol is 1e-15 | 2.22e-14"),
        ({"rtol": 1e-300}, "rtol is 1e-300"),
        ({"max_steps": 0}, "max_steps is 0"),
        ({"max_steps": 1e6}, "max_steps is 1000000.0"),
        ({"max_steps": True}, "max_steps is True"),
        ({"samples": 1}, "samples is 1"),
        ({"samples": [0.0, 2.0]}, "increasing | 0 to 1"),
        ({"samples": [0.5, 0.5]}, "increasing"),
        ({"integrator": "rk45"}, "integrator is 'rk45'"),
        ({"integrator": "rk4"}, "dt="),
        ({"coordinates": "polar"}, "coordinates is 'polar'"),
        ({"coordinates": "normalized", "method": "denoc"}, "'denoc' | normalized"),
        ({"q0": [0, 0]}, "q0 | (2,)"),
        ({"qd0": [0, 0, np.nan]}, "qd0[2] | joint 'link3' | nan"),
        ({"torque": [1.0]}, "torque | (1,)"),
        ({"events": [lambda arm, t, q, qd: q]}, "event '<lambda>' | (3,)"),
        ({"torque": lambda arm, t, q, qd: q[:2]}, "torque | (2,)"),
    ],
    ids=lambda x: str(x) if isinstance(x, str) else next(iter(x)),
)
def test_bad_input_is_refused_by_name(change, facts):
    given = {"q0": [0] * 3, "qd0": [0] * 3, "duration": 1.0, **change}
    with raises((ValueError, TypeError), *facts.split(" | ")):
        lw.simulate(PLANAR, given.pop("q0"), given.pop("qd0"), given.pop("duration"), **given)
