"""Long robots take compiled loops: nothing is traced link by link, and results are those of plain Python."""

import numpy as np
import pytest

import linkwise as lw
from effort import rest_slow
from facts import raises, warns
from linkwise.api import method_table
from linkwise.kernels.dispatch import MAX_STRAIGHT_LINKS
from linkwise.robot import model
from linkwise.simulation import backend, problem
from robots import relative

ARM = lw.load("planar3")
N = MAX_STRAIGHT_LINKS + 1
RNG = np.random.default_rng(0)
TIP, EVERY = RNG.normal(size=6), RNG.normal(size=(2, N, 6))


def damped(arm, t, q, qd):
    return 0.3 - 2.0 * q - 0.5 * qd if t < 1.0 else q  # a branch: it runs in Python


ROUGH = {"friction": lw.Friction(0.1, 0.1, smooth=0.01), "integrator": "rk4", "dt": 1e-3}
CASES = {
    "fall": (lw.chain(N, joints="RRP"), {}),
    "tip": (lw.chain(N), {"wrench": TIP, "torque": damped, "events": lambda arm, t, q, qd: q[0] - 0.1}),
    "tree": (lw.random_tree(N, seed=2), {"torque": RNG.normal(size=N), "wrench": EVERY, **ROUGH}),
    "radau": (lw.chain(N), {"integrator": "radau", "torque": np.full(N, 0.1)}),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", rest_slow(list(CASES), []))
def test_a_long_robot_is_simulated_by_loops_as_by_the_plain_text(name, monkeypatch):
    arm, options = CASES[name]
    q = 0.1 * np.random.default_rng(1).normal(size=(2, N))
    keywords = {"duration": 1e-3, "samples": 3, "rtol": 1e-3, **options}
    if name == "radau":
        q = q[:1]
    monkeypatch.setattr(problem, "trace", None)
    run = lw.simulate(arm, q, **keywords)
    assert run.compiled is not callable(options.get("torque"))
    monkeypatch.setattr(backend, "loops_for", None)
    if name == "radau":  # differences for a derivative take plain Python too long
        assert abs(run.imbalance[:, -1]).max() < 1e-5 * abs(run.work[:, -1]).max()
        keywords["integrator"] = "dormand54"
    plain = lw.simulate(arm, q, **keywords, compiled=False)
    assert relative(run.q, plain.q) < 1e-6
    assert relative(run.qd, plain.qd) < 1e-4
    assert relative(run.tau, plain.tau) < 1e-5
    if plain.work is not None:
        assert relative(run.work, plain.work) < 1e-4


def test_a_long_simulation_can_be_frozen():
    arm, stiffness = CASES["radau"][0], [3.0]
    options = {"torque": lambda arm, t, q, qd: -stiffness[0] * q, "samples": 3, "rtol": 1e-3}
    frozen = lw.compile(lw.simulate, arm, **options)
    q = np.full((2, N), 0.1)
    meant = lw.simulate(arm, q, duration=1e-3, **options)
    stiffness[0] = 50.0
    run = frozen(q, duration=1e-3)
    assert (run.compiled, meant.compiled) == (True, False)
    assert relative(run.q, meant.q) < 1e-12
    assert relative(run.tau, -3.0 * run.q) < 1e-12
    with raises(ValueError, "(2,)"):
        lw.compile(lw.simulate, arm, torque=lambda arm, t, q, qd: q[:2])(q, duration=1e-3)


@pytest.mark.parametrize("integrator", rest_slow(["verner65", "radau"], ["verner65"]))
def test_a_right_hand_side_that_is_too_long_takes_loops_too(monkeypatch, integrator):
    arguments = {"q0": [0.1, 0.2, 0.3], "duration": 0.01, "samples": 3, "integrator": integrator}
    arguments["torque"] = lambda arm, t, q, qd: lw.gravity_torque(arm, q) - qd + np.sin(t)
    short = lw.simulate(ARM, **arguments)
    backend.compile_solver.cache_clear()
    monkeypatch.setattr(backend, "MAX_OPERATIONS", 10)
    long = lw.simulate(ARM, **arguments)
    assert short.compiled
    assert long.compiled
    assert relative(short.q, long.q) < 1e-9
    assert relative(short.tau, long.tau) < 1e-9
    with warns(RuntimeWarning, "10", "operations"):
        lw.simulate(ARM, [0] * 3, duration=1e-3, samples=2, rtol=1e-3, coordinates="normalized")
    backend.compile_solver.cache_clear()


@pytest.mark.parametrize("function", [lw.forward_dynamics, lw.inertia_matrix], ids=lambda function: function.__name__)
def test_fewest_counts_nothing_on_a_long_robot(function, monkeypatch):
    monkeypatch.setattr(method_table, "cheapest_method", None)
    states = [np.full(N, 0.1)] * (3 if function is lw.forward_dynamics else 1)
    other = "articulated-regrouped" if function is lw.forward_dynamics else "composite-regrouped"
    found, meant = (function(CASES["tip"][0], *states, method=method) for method in ("fewest", other))
    assert np.array_equal(found, meant)


def test_poses_look_each_frame_up_once(monkeypatch):
    made = []

    def frame(*parts):
        made.append(parts)
        return model_frame(*parts)

    model_frame = model.Frame
    monkeypatch.setattr(model, "Frame", frame)
    arm = lw.chain(20, seed=3)
    lw.poses(arm, np.zeros(20))
    assert len(made) <= 20
    with raises(lw.errors.RobotError, "frame", "tool"):
        lw.poses(arm, np.zeros(20), frames=["tool"])


@pytest.mark.parametrize("compiled", rest_slow([True, False], [True]))
def test_torques_are_asked_for_at_times_that_were_reached_only(compiled):
    asked = []

    def torque(arm, t, q, qd):
        asked.append(t)
        return 0.1 * q

    stop = lw.Event(lambda arm, t, q, qd: t - 0.0105, "late", stop=True)
    options = {"events": stop, "samples": 21, "rtol": 1e-3, "compiled": compiled}
    run = lw.simulate(ARM, [[0.1] * 3, [0.2] * 3], duration=0.02, torque=torque, **options)
    calls = len(asked)
    there = run.t <= 0.0105
    assert run.status.tolist() == ["stopped"] * 2
    assert np.isnan(run.tau[:, ~there]).all()
    assert np.allclose(run.tau[:, there], 0.1 * run.q[:, there], rtol=1e-12)
    assert len(asked) == calls
    if not compiled:
        assert asked[-2 * there.sum() :] == [*run.t[there], *run.t[there]]


def test_torques_of_many_samples_are_evaluated_in_blocks(monkeypatch):
    from linkwise.simulation import traced_functions

    run = lw.simulate(ARM, np.full((4, 3), 0.1), duration=0.1, samples=9, torque=lambda arm, t, q, qd: np.sin(t) * q)
    monkeypatch.setattr(traced_functions, "BLOCK", 50)
    assert np.allclose(run.tau, np.sin(run.t)[:, None] * run.q, rtol=1e-13)


def test_rates_may_be_left_out_and_a_duration_may_not():
    still = lw.simulate(ARM, [0.1] * 3, duration=0.1, samples=3)
    assert still == lw.simulate(ARM, [0.1] * 3, [0] * 3, 0.1, samples=3)
    many = lw.simulate(ARM, [[0.1] * 3] * 2, duration=0.1, samples=3)
    assert np.array_equal(many.q[1], still.q)
    with raises(TypeError, "duration", "seconds"):
        lw.simulate(ARM, [0.1] * 3)
    with raises(TypeError, "duration", "2.0", "qd0"):
        lw.simulate(ARM, [0.1] * 3, 2.0)
    with raises(TypeError, "Robot"):
        lw.simulate("planar3", [0.1] * 3, duration=1.0)
