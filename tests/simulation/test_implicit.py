"""Radau: exact where the solution is known, the same motion as explicit integrators, few steps where it is stiff."""

import numpy as np
import pytest

import linkwise as lw
from effort import rest_slow
from facts import warns
from linkwise.ode import radau as implicit
from linkwise.simulation import integration
from linkwise.simulation.problem import Problem
from linkwise.targets.cpu import solver
from linkwise.targets.cpu.host import host_target
from robots import CHAINS, SLIDE, TREES, relative, states

PLANAR = lw.load("planar3")
ROBOTS = [PLANAR, CHAINS[2], CHAINS[5], TREES[2]]
every_robot = pytest.mark.parametrize("robot", rest_slow(ROBOTS, [TREES[2]]), ids=lambda robot: robot.name)
CART = lw.Robot.from_dh([{**SLIDE, "mass": 1.0}], convention="standard", gravity=(0, 0, 0))


def radau(*arguments, **keywords):
    return lw.simulate(*arguments, integrator="radau", **keywords)


def test_a_stiff_spring_is_followed_exactly_in_far_fewer_steps():
    """1e6 N/m with a damper of 2e4 N s/m on 1 kg: rates of 50 and 19,950 per second."""
    law, t, two = lw.control.springs(1e6, damping=2e4), np.linspace(0.0, 1.0, 101), ("radau", "dverk65")
    roots = np.roots([1.0, 2e4, 1e6])
    shares = np.linalg.solve([[1.0, 1.0], roots], [0.01, 1.0])
    exact = np.exp(np.outer(t, roots)) @ shares
    stiff, explicit = (lw.simulate(CART, [0.01], [1.0], 1.0, law, integrator=k, samples=t) for k in two)
    assert stiff.compiled
    assert np.abs(stiff.q[:, 0] - exact).max() < 1e-9
    assert np.abs(explicit.q[:, 0] - exact).max() < 1e-9
    assert stiff.steps < explicit.steps / 10
    assert stiff.evaluations < explicit.evaluations / 10
    assert np.abs(stiff.imbalance).max() < 1e-7


def test_the_stiffer_the_friction_the_fewer_the_steps_against_those_of_an_explicit_method():
    def runs(integrator):
        laws = [lw.Friction(0.0, 0.6, smooth=s) for s in (1e-3, 1e-5)]
        return [lw.simulate(CART, [0], [1.5], 8.0, friction=x, integrator=integrator, samples=9) for x in laws]

    stiff, explicit = runs("radau"), runs("verner65")
    assert stiff[1].steps < stiff[0].steps < 300
    assert explicit[1].steps > 50 * stiff[1].steps
    for a, b in zip(stiff, explicit, strict=True):
        assert relative(a.q, b.q) < 1e-6
        assert relative(a.heat, b.heat) < 1e-6


@every_robot
def test_motions_are_those_of_the_explicit_integrators(robot):
    q, qd, target, tau = (x[0] for x in states(robot, 1))
    how = {"torque": lw.control.pd_gravity(target, 5.0, 1.0), "friction": lw.Friction(0.1, 0.05, smooth=0.1)}
    a, b = (lw.simulate(robot, q, qd, 0.2, rtol=1e-9, samples=9, integrator=k, **how) for k in ("radau", "verner65"))
    assert a.compiled
    assert (a.status, a.integrator, a.reached) == ("done", "radau", 0.2)
    assert relative(a.q, b.q) < 1e-6
    assert relative(a.qd, b.qd) < 1e-5
    assert relative(a.work, b.work) < 1e-5
    assert relative(a.heat, b.heat) < 1e-5
    fixed = radau(robot, q, qd, 0.1, torque=tau, coordinates="normalized", samples=3)
    assert relative(fixed.q, lw.simulate(robot, q, qd, 0.1, torque=tau, samples=3).q) < 1e-6


@pytest.mark.slow
def test_in_python_it_makes_the_same_steps():
    law = lw.control.springs(2e3, damping=300.0)
    made, plain = (radau(CHAINS[2], [0.1, 0], [0, 0], 0.05, torque=law, samples=6, compiled=c) for c in (None, False))
    assert (made.compiled, plain.compiled) == (True, False)
    assert relative(made.q, plain.q) < 1e-6  # where the derivative is one of differences
    assert abs(made.steps - plain.steps) < 10
    with warns(RuntimeWarning, "Python", "test_implicit.py"):
        branching = radau(CART, [1.0], [0.0], 0.01, torque=lambda arm, t, q, qd: -q if q[0] > 0 else q)
    assert abs(branching.q[-1, 0] - np.cos(0.01)) < 1e-7


@every_robot
def test_the_derivative_is_that_of_the_right_hand_side(robot):
    n = robot.n
    problem = Problem(robot, lw.control.pd_gravity(0.1, 5.0, 1.0), tau=True, friction=lw.Friction(0.1, 0.2, smooth=0.1))
    functions = implicit.ProgramFunctions(problem.program(), host_target().function)
    y, tau = np.random.default_rng(n).normal(size=2 * n + 2), np.ones(n)
    found, t, h = functions.jacobian(0.0, y, tau), np.float64(0.0), 1e-6
    for k, step in enumerate(h * np.eye(2 * n + 2)):
        slope = (functions.rhs(t, y + step, tau) - functions.rhs(t, y - step, tau)) / (2 * h)
        assert relative(found[:, k], slope) < 1e-6


def test_large_robots_go_by_differences():
    arm = lw.chain(6)
    assert implicit.ProgramFunctions(Problem(arm).program(), host_target().function).jacobian is None
    q = np.linspace(-0.5, 0.5, 6)
    a, b = (lw.simulate(arm, q, 0 * q, 0.1, samples=3, integrator=k) for k in ("radau", "verner65"))
    assert relative(a.q, b.q) < 1e-7
    assert a.evaluations > a.steps * 4


def test_a_batch_is_its_trajectories_and_every_sample_is_met():
    q, qd, _, tau = states(PLANAR, 4)
    times = np.array([0.003, 0.01, 0.011, 0.0113, 0.05])
    keywords = {"samples": times, "friction": lw.Friction(0.1, 0.0), "wrench": [0, 0, 0.2, 0.1, -0.3, 0]}
    together = radau(PLANAR, q.reshape(2, 2, 3), qd.reshape(2, 2, 3), 0.05, tau.reshape(2, 2, 3), **keywords)
    assert together.q.shape == (2, 2, 5, 3)
    assert np.isfinite(together.q).all()
    for k in range(4):
        alone = radau(PLANAR, q[k], qd[k], 0.05, tau[k], **keywords)
        where = divmod(k, 2)
        assert np.array_equal(alone.q, together.q[where])
        assert alone.steps == together.steps[where]
        assert alone.evaluations == together.evaluations[where]
        assert alone.rejected == together.rejected[where]


@pytest.mark.parametrize("integrator", ["verner65", "radau"])
def test_ctrl_c_keeps_what_was_computed(integrator, monkeypatch):
    monkeypatch.setattr(implicit, "WATCH_INTERVAL", 0.0)
    monkeypatch.setattr(solver, "SLICE", 200_000)

    def stop(watch, now):
        if now.t[0] > 0.5:
            raise KeyboardInterrupt

    monkeypatch.setattr(integration.ProgressCallback, "__call__", stop)
    with pytest.raises(KeyboardInterrupt) as caught:
        lw.simulate(PLANAR, [0] * 3, [0] * 3, 10.0, integrator=integrator)
    kept = caught.value.recording
    assert kept.status == "interrupted"
    assert 0.5 < kept.reached < 10.0
    assert np.isfinite(kept.q[kept.t <= kept.reached]).all()


def elbow(arm, t, q, qd):
    return q[1]


def swift(arm, t, q, qd):
    return qd[0] * qd[0] - 4.0


@pytest.mark.slow
@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("direction", [-1, 0, 1])
def test_events_are_those_of_the_explicit_integrators(direction, compiled):
    events = [lw.Event(elbow, "elbow", direction=direction), swift]
    end = 1.5 if compiled else 0.3
    how = {"events": events, "samples": 4, "rtol": 1e-8 if compiled else 1e-6}
    found = radau(PLANAR, [0, 0.1, 0], [0, -0.5, 0], end, compiled=compiled, **how)
    known = lw.simulate(PLANAR, [0, 0.1, 0], [0, -0.5, 0], end, integrator="dop853", **how | {"rtol": 1e-10})
    assert found.compiled == compiled
    assert [each.names for each in found.events] == [each.names for each in known.events]
    assert len(found.events) >= (6 if compiled else 1)
    for mine, theirs in zip(found.events, known.events, strict=True):
        assert abs(mine.t - theirs.t) < (1e-7 if compiled else 1e-4)
        assert relative(mine.q, theirs.q) < (1e-6 if compiled else 1e-3)
        value = elbow if mine.names == ("elbow",) else swift
        assert abs(value(PLANAR, mine.t, mine.q, mine.qd)) < 1e-9  # on the curve, to the last digits of time


@pytest.mark.slow
def test_an_event_may_stop_each_trajectory_of_a_batch_by_itself():
    starts = np.array([[0.0, x, 0.0] for x in (0.2, 0.5, -0.1)])
    stop = [lw.Event(elbow, "elbow", stop=True, direction=-1), swift]
    found, known = (
        lw.simulate(PLANAR, starts, np.zeros(3), 0.415, events=stop, integrator=k, samples=13)
        for k in ("radau", "verner65")
    )
    assert found.status.tolist() == known.status.tolist()
    assert set(found.status.tolist()) == {"stopped", "done"}
    assert np.abs(found.reached - known.reached).max() < 1e-7
    assert np.array_equal(np.isnan(found.q), np.isnan(known.q))
    for k in range(3):
        assert [each.names for each in found.events[k]] == [each.names for each in known.events[k]]
        alone = radau(PLANAR, starts[k], np.zeros(3), 0.415, events=stop, samples=13)
        assert np.array_equal(alone.q, found.q[k], equal_nan=True)
        assert alone.steps == found.steps[k]


def test_several_events_within_one_step_are_met_in_order():
    """A cart at 1 m/s: its steps are as long as the run."""

    def mark(place):
        return lw.Event(lambda arm, t, q, qd: q[0] - place, f"at {place}")

    run = radau(CART, [0.0], [1.0], 10.0, events=[mark(x) for x in (7.0, 3.0, 5.0)], samples=2)
    assert [each.names for each in run.events] == [("at 3.0",), ("at 5.0",), ("at 7.0",)]
    assert np.abs(np.array([each.t for each in run.events]) - [3.0, 5.0, 7.0]).max() < 1e-9
    assert run.steps < 10


@pytest.mark.slow
def test_differences_along_numbers_without_effect_stay_finite():
    """After each derivative SciPy takes ten times the difference where a number of y, as the work, has no effect."""
    arm = lw.chain(2, seed=3, joints="US").with_gravity((0, 0, 0))
    law, q0 = lw.control.springs(4.0, lw.neutral(arm), 0.3), lw.random_configuration(arm, 2)
    options = {"torque": law, "friction": lw.Friction(viscous=0.2, coulomb=0.4), "rtol": 1e-8, "samples": 5}
    runs = [lw.simulate(arm, q0, np.ones(arm.n), 1.5, integrator=name, **options) for name in ("radau", "verner65")]
    assert runs[0].status == "done"
    assert np.abs(runs[0].q - runs[1].q).max() < 1e-5
