"""Steps end where the torque changes its formula: a short motion between long rests is not leapt over."""

import numpy as np
import pytest

import linkwise as lw
from effort import rest_slow
from robots import CART

MOVE = lw.trajectories.trapezoid([0.0], [1.0], duration=0.02, speed=60.0)


def push(arm, t, q, qd, start=50.0):
    return 2.0 * MOVE(t - start).qdd


@pytest.mark.parametrize("integrator", rest_slow(["verner65", "dop853", "radau"], ["verner65", "radau"]))
@pytest.mark.parametrize("given", [None, 30.0], ids=["default", "parameter"])
@pytest.mark.parametrize("compiled", rest_slow([None, False], [None]), ids=["compiled", "python"])
def test_no_step_leaps_over_a_short_motion(integrator, given, compiled):
    options = {} if given is None else {"parameters": {"start": given}}
    options |= {"integrator": integrator, "compiled": compiled, "samples": 11}
    run = lw.simulate(CART, [0], duration=100.0, torque=push, **options)
    assert run.q[-1, 0] == pytest.approx(1.0, abs=1e-6)
    assert run.steps < 2000


@pytest.mark.parametrize("compiled", rest_slow([None, False], [None]), ids=["compiled", "python"])
def test_each_trajectory_has_breaks_of_its_own(compiled):
    starts = np.array([20.0, 50.0, 50.0])
    options = {"parameters": {"start": lw.per_trajectory(starts)}, "compiled": compiled, "samples": 101}
    run = lw.simulate(CART, np.zeros((3, 1)), duration=100.0, torque=push, **options)
    assert run.q[:, -1, 0] == pytest.approx(np.ones(3), abs=1e-6)
    moved = np.array([run.t[np.flatnonzero(q > 0.5)[0]] for q in run.q[..., 0]])
    assert (np.abs(moved - starts) <= 1.0).all()


@pytest.mark.slow
def test_a_long_robot_has_the_breaks_of_a_function_that_runs_in_python():
    n = 61
    arm = lw.chain(n, seed=1).with_gravity((0, 0, 0))
    move = lw.trajectories.trapezoid([0.0] * n, [0.02] * n, duration=0.02, speed=2.0)

    def follow(arm, t, q, qd):
        return lw.inverse_dynamics(arm, q, qd, move(t - 3.0).qdd)

    run = lw.simulate(arm, np.zeros(n), duration=3.1, samples=2, torque=follow)
    assert run.q[-1] == pytest.approx(np.full(n, 0.02), abs=1e-5)


def test_a_sweep_has_breaks_for_each_row_and_does_not_call_a_number_idle(tmp_path):
    samples = {"q0": np.zeros((3, 1)), "start": lw.per_trajectory([20.0, 50.0, 30.0]), "link1.mass": [2.0, 2.5, 4.0]}
    found = lw.sweep(CART, samples, tmp_path / "sweep", 100.0, torque=push, files="npz").read()
    assert found["q_end"][:, 0] == pytest.approx([1.0, 0.8, 0.5], abs=1e-6)
