"""Events: none is missed, wherever within a step it lies; and all are listed."""

import functools
import importlib

import numpy as np
import pytest

import linkwise as lw
from effort import rest_slow
from integrators import ADAPTIVE, FIXED, INTEGRATORS, fixed_steps
from linkwise.control.events import PastLimit
from robots import CART, CHAINS, TREES, states

integration = importlib.import_module("linkwise.simulation.integration")

every_integrator = pytest.mark.parametrize("integrator", rest_slow(INTEGRATORS, ["verner65"]))
WAYS = [(name, True) for name in INTEGRATORS] + [(name, False) for name in ("verner65", *FIXED, "radau")]
QUICK = [("verner65", True), ("radau", True)]
every_way = pytest.mark.parametrize(("integrator", "compiled"), rest_slow(WAYS, QUICK))


def spring(arm, t, q, qd):
    return -2.0 * q


def how(integrator, compiled=True, step=0.25):
    return {"integrator": integrator, "compiled": compiled} | fixed_steps(integrator, step)


def misses(run, functions, k, tolerance):
    """Intervals between samples in which the number of events does not fit the signs at both ends."""
    found = 0
    for e, function in enumerate(functions):
        value = np.array([function(run.robot, *state) for state in zip(run.t, run.q[k], run.qd[k], strict=True)])
        clear = np.abs(value) > tolerance
        times, signs = run.t[clear], np.sign(value[clear])
        met = np.array([each.t for each in run.events[k] if str(e) in each.names])
        inside = np.histogram(met, times)[0] if len(times) > 1 else np.zeros(0)
        found += int((inside % 2 != (signs[1:] != signs[:-1])).sum())
    return found


@functools.cache
def short_stays(robot):
    """Limits just below the peaks of every joint, so that they are passed and left within one step."""
    q, qd, *_ = (0.5 * x for x in states(robot, 3))
    law = lw.control.springs(40.0)
    seen = lw.simulate(robot, q, qd, 1.5, torque=law, rtol=1e-5, samples=2001)
    rng, functions = np.random.default_rng(robot.n), []
    for joint in range(robot.n):
        for sign in (1.0, -1.0):
            path = sign * seen.q[rng.integers(3), :, joint]
            peaks = path[1:-1][(path[1:-1] > path[:-2]) & (path[1:-1] > path[2:])]
            for peak in peaks[:2]:
                functions.append(PastLimit(joint, sign * (peak - 10.0 ** rng.uniform(-4.0, -1.0)), sign))
    assert len(functions) > 5
    return q, qd, law, functions


@pytest.mark.parametrize("robot", rest_slow([CHAINS[4], TREES[2]], [CHAINS[4]]), ids=lambda robot: robot.name)
@every_integrator
def test_events_are_those_that_the_samples_show_however_short_the_stay_beyond(robot, integrator):
    q, qd, law, functions = short_stays(robot)
    events = [lw.Event(function, str(e)) for e, function in enumerate(functions)]
    rest = {"samples": 1501, "rtol": 1e-5, **how(integrator, step=0.01)}
    run = lw.simulate(robot, q, qd, 1.5, torque=law, events=events, **rest)
    assert sum(map(len, run.events)) > len(functions)
    assert [misses(run, functions, k, 1e-5) for k in range(3)] == [0, 0, 0]


@every_way
def test_out_and_back_within_one_step_is_an_event(integrator, compiled):
    """A cart on a spring swings to 1; the limits are a little less, and are each passed twice."""
    limits = [1.0 - excess for excess in (0.05, 1e-3, 1e-4)]
    rest = {"torque": spring, "rtol": 1e-7, "samples": 301 if compiled else 31, **how(integrator, compiled)}
    close = 5e-2 if integrator in FIXED else 1e-3
    passing = [lw.Event(PastLimit(0, limit, 1.0), str(limit)) for limit in limits]
    both = lw.simulate(CART, [0.0], [1.0], 3.0, events=passing, **rest)
    found = [(each.names[0], each.t) for each in both.events]
    known = [(str(limit), np.arcsin(limit)) for limit in limits]
    known += [(str(limit), np.pi - np.arcsin(limit)) for limit in reversed(limits)]
    assert [name for name, _ in found] == [name for name, _ in known]
    assert max(abs(a - b) for (_, a), (_, b) in zip(found, known, strict=True)) < close
    stop = lw.Event(PastLimit(0, limits[1], 1.0), "limit", stop=True, direction=1)
    run = lw.simulate(CART, [0.0], [1.0], 3.0, events=stop, **rest)
    assert (run.status, [each.names for each in run.events]) == ("stopped", [("limit",)])
    assert abs(run.reached - np.arcsin(limits[1])) < close
    assert np.nanmax(run.q) <= limits[1] + 1e-6


@pytest.mark.parametrize(("integrator", "compiled"), rest_slow(WAYS, QUICK[:1]))
def test_a_start_on_a_limit_counts_as_it_leaves_it(integrator, compiled):
    upper, lower = PastLimit(0, 5.0, 1.0), PastLimit(0, 5.0, -1.0)
    rest = {"samples": 3, "rtol": 1e-6, **how(integrator, compiled, step=0.5)}
    for push in ({"qd0": [1.0]}, {"qd0": [0.0], "torque": [0.5]}):
        stop = [lw.Event(upper, "upper", stop=True, direction=1)]
        run = lw.simulate(CART, [5.0], duration=1.0, events=stop, **push, **rest)
        assert (run.status, [each.names for each in run.events]) == ("stopped", [("upper",)])
        assert run.reached < 1e-6
        assert run.events[0].t == run.reached
        events = [lw.Event(f, name, direction=d) for f, name, d in ((upper, "up", -1), (lower, "down", 1))]
        inward = lw.simulate(CART, [5.0], duration=1.0, events=events, **push, **rest)
        assert (inward.status, inward.events) == ("done", ())
    both = lw.simulate(CART, [5.0], [1.0], 10.0, torque=[-0.5], events=[lw.Event(upper, "upper")], **rest)
    assert [each.names for each in both.events] == [("upper",)] * 2  # it turns at 4 s, and is back at 8 s
    assert abs(both.events[1].t - 8.0) < 1e-6


def test_joints_that_start_on_a_limit_in_a_batch_each_by_its_own_motion():
    gantry = lw.load("gantry")
    rates = np.array([[-1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, -1.0, 0.0]])
    low = [link.joint.limits[0] for link in gantry.links]
    held = {"torque": lambda arm, t, q, qd: lw.gravity_torque(arm, q), "events": lw.control.joint_limits(gantry)}
    run = lw.simulate(gantry, low, rates, 0.1, **held)
    assert run.status.tolist() == ["stopped", "done", "stopped"]
    names = [[name for each in events for name in each.names] for events in run.events]
    assert names == [[f"{gantry.names[0]} below {low[0]:g}"], [], [f"{gantry.names[1]} below {low[1]:g}"]]


@every_way
def test_all_events_are_listed_however_many_and_the_stop_after_them(integrator, compiled, monkeypatch):
    monkeypatch.setattr(integration, "LOG_SIZE", 7)

    def mark(arm, t, q, qd):
        return np.sin(np.pi * q[0])

    def late(arm, t, q, qd):
        return q[0] - 40.5

    def pace(arm, t, q, qd):  # keeps the steps short
        return np.array([1e-3 * np.sin(7.0 * t)])

    events = [lw.Event(mark, "mark"), lw.Event(late, "late", stop=True)]
    rest = {"samples": 3, "rtol": 1e-3, **how(integrator, compiled, step=0.3)}
    starts = [[0.5], [0.25]] if compiled else [[30.5]]
    run = lw.simulate(CART, starts, [[1.0]] * len(starts), 100.0, torque=pace, events=events, **rest)
    assert set(run.status) == {"stopped"}
    for log in run.events:
        assert [each.names for each in log] == [("mark",)] * (40 if compiled else 10) + [("late",)]
        places = np.array([each.q[0] for each in log[:-1]])
        assert np.abs(places - np.round(places)).max() < 1e-9
        assert (np.diff(np.round(places)) == 1.0).all()


def swing(arm, t, q, qd):
    return -2 * q  # q = sin t


@pytest.mark.parametrize("integrator", rest_slow(ADAPTIVE, ["verner65"]))
def test_events_do_not_hide_each_other(integrator):
    """Out and back at one threshold, and a higher one: whatever part of a step they fall into."""
    phase = np.linspace(0.0, 1.2, 4 if integrator == "radau" else 40)
    options = {"torque": swing, "integrator": integrator, "rtol": 1e-6, "samples": 2}

    def names(*events):
        run = lw.simulate(CART, np.sin(phase)[:, None], np.cos(phase)[:, None], 3.0, events=events, **options)
        return [[name for event in met for name in event.names] for met in run.events]

    for height in (1e-4, 1e-5):

        def level(arm, t, q, qd, height=height):
            return q[0] - 1.0 + height

        pair = lw.Event(level, "out", direction=1), lw.Event(level, "back", direction=-1)
        assert names(*pair) == [["out", "back"]] * len(phase)
    low = lw.Event(lambda arm, t, q, qd: q[0] - 0.9999, "low", direction=-1)
    high = lw.Event(lambda arm, t, q, qd: q[0] - 0.99999, "high")
    assert names(low, high) == [["high", "high", "low"]] * len(phase)


@pytest.mark.parametrize("joints", ["S", "F", "RS", "SR"])
def test_robots_whose_last_joint_has_no_limits_have_no_such_events(joints):
    arm = lw.chain(len(joints), joints=joints)
    assert lw.control.joint_limits(arm) == ()


@every_way
def test_an_event_at_the_very_instant_of_a_restart_counts_once_in_its_direction(integrator, compiled):
    """Sampled control restarts the integration at 0.25, 0.5 and 0.75 s, where these values are zero to the last bit."""
    held = lw.control.sampled(lambda arm, t, q, qd: -q, 0.25)

    def rising(arm, t, q, qd):
        return t - 0.5 + 0.0 * q[0]

    def falling(arm, t, q, qd):
        return 0.75 - t + 0.0 * q[0]

    events = [lw.Event(f, f"{f.__name__} {d}", direction=d) for f in (rising, falling) for d in (-1, 0, 1)]
    run = lw.simulate(CART, [1.0], duration=1.0, torque=held, events=events, **how(integrator, compiled))
    met = [(event.t, event.names) for event in run.events]
    assert met == [(0.5, ("rising 0", "rising 1")), (0.75, ("falling -1", "falling 0"))]
