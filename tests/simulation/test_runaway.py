"""Runs that would not end are given up with a reason, and long runs that make sense are not."""

import importlib

import numpy as np
import pytest

import linkwise as lw
from effort import rest_slow
from facts import raises, warns
from integrators import FIXED, INTEGRATORS, steps_of
from linkwise.spatial import sign
from robots import CART

chattering = importlib.import_module("linkwise.ode.lanes")
machine = importlib.import_module("linkwise.targets.cpu.solver")

PLANAR = lw.load("planar3")
DRY = lw.Friction(viscous=0.0, coulomb=0.6, smooth=0.0)


def relay(arm, t, q, qd):
    return -0.05 * np.sign(np.array(qd, dtype=float))  # of floats: it cannot be traced


def traced_relay(arm, t, q, qd):
    return np.array([-0.05 * sign(rate) for rate in qd])


@pytest.mark.slow
@pytest.mark.parametrize("integrator", ["verner65", "dop853", "cash-karp54", "radau"])
def test_a_torque_that_jumps_without_end_is_given_up_with_the_joint_and_the_way_out(integrator, monkeypatch):
    monkeypatch.setattr(chattering, "WINDOW", 150)
    said = r"'cart' at t = 1.*(kept reversing|step shrank).*link 'link1'.*lw\.Friction\(smooth=.*instead of np\.sign"
    with (
        warns(RuntimeWarning, "Python"),
        pytest.raises(lw.errors.SimulationError, match=said) as caught,
    ):
        lw.simulate(CART, [0.0], [0.025], 100.0, torque=relay, integrator=integrator, samples=1001)
    kept = caught.value.recording
    assert kept.status == ("step too small" if integrator == "radau" else "chattering")
    assert abs(kept.reached - 1.0) < 1e-2  # where it comes to rest
    assert np.isfinite(kept.q[kept.t <= kept.reached]).all()
    assert np.isnan(kept.q[kept.t > kept.reached]).all()


@pytest.mark.slow
def test_in_a_batch_the_others_go_on(monkeypatch):
    monkeypatch.setattr(chattering, "WINDOW", 100)
    rates = np.array([[0.025], [9.0], [5.0]])
    run = lw.simulate(CART, np.zeros((3, 1)), rates, 100.0, torque=relay, compiled=False, samples=5)
    assert run.status.tolist() == ["chattering", "done", "done"]
    assert np.isfinite(run.q[1:]).all()


@pytest.mark.parametrize("integrator", rest_slow(INTEGRATORS, ["verner65", *FIXED]))
@pytest.mark.parametrize("compiled", [True, False])
def test_no_more_steps_are_made_than_are_allowed(integrator, compiled):
    how = {"integrator": integrator, "compiled": compiled, "samples": 5, "torque": traced_relay}
    how |= steps_of(integrator, 0.1)
    with pytest.raises(
        lw.errors.SimulationError, match=r"2\d steps were tried.*max_steps.*joint of link 'link1'"
    ) as caught:
        lw.simulate(CART, [0.0], [0.025], 3.0, max_steps=20, **how)
    kept = caught.value.recording
    over = 10 if integrator == "radau" else 0  # SciPy tries until a step is accepted
    assert kept.status == "too many steps"
    assert 20 <= kept.steps + kept.rejected <= 20 + over
    both = lw.simulate(CART, np.zeros((2, 1)), [[0.025], [1e3]], 3.0, max_steps=30, **how)
    assert both.status.tolist() == ["too many steps" if integrator not in FIXED else "done", "done"]
    assert (both.steps + both.rejected <= 30 + over).all()


def test_a_run_that_needs_all_its_steps_is_done():
    whole = lw.simulate(PLANAR, [0] * 3, [0] * 3, 1.0)
    tried = whole.steps + whole.rejected
    same = lw.simulate(PLANAR, [0] * 3, [0] * 3, 1.0, max_steps=tried)
    assert np.array_equal(same.q, whole.q)
    with raises(lw.errors.SimulationError, "robot 'planar3'", "max_steps", "steps"):
        lw.simulate(PLANAR, [0] * 3, [0] * 3, 1.0, max_steps=tried - 1)


@pytest.mark.slow
def test_fast_springs_do_not_chatter(monkeypatch):
    """Steps at the edge of stability go to and fro as well; but their end can be reached."""
    monkeypatch.setattr(chattering, "WINDOW", 50)
    run = lw.simulate(CART, [1.0], [0.0], 1.0, torque=lw.control.springs(1e5, damping=2e3), compiled=False, rtol=1e-4)
    assert run.status == "done"
    assert run.steps > 150


def test_how_far_a_run_is_can_be_seen_in_a_pipe(monkeypatch, capsys):
    monkeypatch.setattr(machine, "SLICE", 100_000)
    monkeypatch.setattr("linkwise.progress.PATIENCE", 0.0)
    lw.simulate(PLANAR, [0] * 3, [0] * 3, 2.0, progress=True)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) > 3
    assert all(line.startswith("simulate: ") and "%" in line for line in lines)
    lw.simulate(PLANAR, [0] * 3, [0] * 3, 2.0)
    assert capsys.readouterr().err == ""


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*default atol:UserWarning")  # shaken, it hardly moves
def test_sticking_over_a_million_seconds():
    """On a slow spring the cart waits, slips, and waits again. Shaken, it takes too many steps, and that is said."""

    def drawn(arm, t, q, qd):
        return 1e-3 * (1e-2 * t - q)

    run = lw.simulate(CART, [0.0], [0.0], 1e6, torque=drawn, friction=DRY, samples=1001)
    assert run.status == "done"
    pull = 1e-3 * (1e-2 * run.t - run.q[:, 0])
    assert (np.abs(pull) < 0.6 + 0.05).all()
    assert run.q[-1, 0] > 9000.0

    def shaken(arm, t, q, qd):
        return np.array([0.8 * np.sin(20.0 * t)])

    with raises(lw.errors.SimulationError, "max_steps", "steps") as caught:
        lw.simulate(CART, [0.0], [0.0], 1e6, torque=shaken, friction=DRY, max_steps=20_000)
    assert caught.value.recording.reached > 20.0  # two hundred changes of modes and more within 1e-4 of the duration


@pytest.mark.slow
def test_a_gain_table_with_steps_that_holds_a_joint_at_a_step_is_given_up() -> None:
    """It turns in a fifth of the steps, and hundreds of millions of them would be left."""

    def scheduled(arm: lw.Robot, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        return -q * np.searchsorted([0, 0.5, 1], q)

    with (
        lw.use_kernels("auto"),
        warns(RuntimeWarning, "Python"),
        raises(lw.errors.SimulationError, "lw.control.sampled(law"),
    ):
        lw.simulate(lw.load("planar3"), [0.6, 0.5, -1], duration=0.5, torque=scheduled)
