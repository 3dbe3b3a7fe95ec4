"""Compiled simulations follow the functions as they are at each call, and say which functions cannot be compiled."""

import math
from functools import cache

import numpy as np
import pytest

import linkwise as lw
from effort import rest_slow
from facts import raises
from linkwise.simulation import backend

ARM = lw.load("planar3")
START = [0.3, -0.2, 0.1]
GAIN = 2.0


class Controller:
    def __init__(self, gain):
        self.gain = gain

    def __call__(self, arm, t, q, qd):
        return self.gain * (0.5 - q) - 0.2 * qd


def from_attribute():
    controller = Controller(2.0)
    return controller, lambda gain: setattr(controller, "gain", gain)


def from_global():
    def change(gain):
        globals()["GAIN"] = gain

    change(2.0)
    return lambda arm, t, q, qd: GAIN * (0.5 - q) - 0.2 * qd, change


def from_closure():
    gains = [2.0]
    return lambda arm, t, q, qd: gains[0] * (0.5 - q) - 0.2 * qd, lambda gain: gains.__setitem__(0, gain)


def from_law():
    inner, change = from_attribute()
    return lw.control.limited(inner, 1e6) + lw.control.springs(0.0), change


CHANGING = [from_attribute, from_global, from_closure, from_law]


OPTIONS = {"samples": 3, "rtol": 1e-4}


@cache
def meant(gain, integrator):
    """The run in Python."""
    how = {"torque": Controller(gain), "integrator": integrator, "compiled": False}
    return lw.simulate(ARM, START, [0] * 3, 0.05, **how, **OPTIONS)


@pytest.mark.parametrize(
    ("make", "integrator"),
    [*((make, "verner65") for make in CHANGING), pytest.param(from_attribute, "radau", marks=pytest.mark.slow)],
)
def test_a_torque_function_that_changed_is_traced_anew(make, integrator):
    torque, change = make()
    for gain in (2.0, 5.0, 2.0):
        change(gain)
        run = lw.simulate(ARM, START, [0] * 3, 0.05, torque=torque, integrator=integrator, **OPTIONS)
        wanted = meant(gain, integrator)
        assert run.compiled
        assert np.abs(run.q - wanted.q).max() < 1e-4 * np.ptp(wanted.q)
        assert np.abs(run.tau - wanted.tau).max() < 1e-4


@pytest.mark.parametrize("compiled", rest_slow([True, False], [True]))
def test_an_event_whose_threshold_changed_is_traced_anew(compiled):
    level = [0.29]

    def dropped(arm, t, q, qd):
        return q[0] - level[0]

    found = []
    for level[0] in (0.29, 0.2):
        events = lw.Event(dropped, "dropped", stop=True)
        run = lw.simulate(ARM, START, [0] * 3, 0.5, events=events, compiled=compiled, rtol=1e-4, samples=2)
        found.append(run.events[0].q[0])
    assert np.allclose(found, [0.29, 0.2], atol=1e-9)


def test_a_sweep_follows_the_function_as_it_is(tmp_path):
    torque, change = from_attribute()
    starts = {"q0": np.array([START, [0.1, 0.2, 0.3]]), "qd0": np.zeros((2, 3)), "link3.mass": np.array([0.2, 0.3])}
    ends = []
    for k, gain in enumerate((2.0, 5.0)):
        change(gain)
        made = lw.sweep(ARM, starts, tmp_path / f"{k}", 0.2, torque=torque, samples=2, progress=False)
        fresh = lw.sweep(ARM, starts, tmp_path / f"fresh{k}", 0.2, torque=Controller(gain), samples=2, progress=False)
        assert np.array_equal(made.read()["q"], fresh.read()["q"])
        ends.append(made.read()["q"][:, -1])
    assert np.abs(ends[0] - ends[1]).min() > 1e-6


@pytest.mark.parametrize("compiled", [True, False])
def test_a_recording_keeps_the_torques_that_acted(compiled):
    controller = Controller(2.0)
    run = lw.simulate(ARM, START, [0] * 3, 0.05, torque=controller, samples=5, rtol=1e-4, compiled=compiled)
    controller.gain = 50.0
    acted = 2.0 * (0.5 - run.q) - 0.2 * run.qd
    assert np.abs(run.tau - acted).max() < 1e-12
    assert np.abs(run.qdd - lw.forward_dynamics(ARM, run.q, run.qd, acted)).max() < 1e-10


def test_functions_that_do_the_same_share_compiled_code():
    def run(gain):
        lw.simulate(ARM, START, [0] * 3, 0.01, torque=lambda arm, t, q, qd: gain * q, events=lambda arm, t, q, qd: q[0])

    run(3.0)
    made = backend.compile_solver.cache_info().misses
    run(3.0)
    assert backend.compile_solver.cache_info().misses == made
    run(3.5)
    assert backend.compile_solver.cache_info().misses == made + 1


def test_a_controller_with_another_model_is_other_code():
    heavy = lw.chain(3, seed=5)
    laws = [lw.control.pd_gravity(0, 1, 1, model=m) for m in (None, heavy, ARM)]
    runs = [lw.simulate(ARM, START, [0] * 3, 0.1, torque=law) for law in laws]
    assert np.array_equal(runs[0].q, runs[2].q)
    assert np.abs(runs[0].q[-1] - runs[1].q[-1]).max() > 1e-3


def test_a_compiled_simulation_is_frozen_and_says_so():
    controller, level = Controller(2.0), [0.25]
    events = lw.Event(lambda arm, t, q, qd: q[0] - level[0], "level")
    frozen = lw.compile(lw.simulate, ARM, torque=controller, events=events, samples=5)
    before = frozen(START, duration=0.3)
    controller.gain, level[0] = 50.0, 0.28
    assert frozen(START, [0] * 3, 0.3) == before
    assert "frozen" in repr(frozen)
    controller.gain, level[0] = 2.0, 0.25
    assert lw.simulate(ARM, START, [0] * 3, 0.3, torque=controller, events=events, samples=5) == before
    assert frozen(START, [0] * 3, 0.3, samples=3).q.shape == (3, 3)
    with raises(TypeError, "torque"):
        frozen(START, [0] * 3, 0.3, torque=controller)
    with pytest.raises(TypeError, match="gravity"):
        lw.compile(lw.simulate, ARM, gravity=0)
    with raises(TypeError, "test_fresh_code.py"):
        lw.compile(lw.simulate, ARM, torque=lambda arm, t, q, qd: q * max(q[0], 0.0))
    with pytest.raises(ZeroDivisionError):
        lw.compile(lw.simulate, ARM, torque=lambda arm, t, q, qd: q * (1 / len(level[1:])))


@pytest.mark.parametrize(
    "options",
    [
        {"dt": 1e-3}, {"integrator": "rk4", "first_step": 1e-3}, {"integrator": "rk4", "dt": 0.0},
        {"rtol": 1e-30}, {"atol": -1.0}, {"max_steps": 0}, {"duration": -1.0}, {"samples": 1},
    ],
    ids=lambda options: "-".join(options),
)  # fmt: skip
def test_compiling_refuses_the_numbers_that_a_run_refuses(options):
    with pytest.raises(ValueError) as run:  # noqa: PT011
        lw.simulate(ARM, START, **{"duration": 0.1, "dt": 1e-3 if "integrator" in options else None, **options})
    with pytest.raises(ValueError) as compiling:  # noqa: PT011
        lw.compile(lw.simulate, ARM, **options)
    assert str(compiling.value) == str(run.value)


def test_a_compiled_simulation_takes_numbers_when_it_is_made_or_run():
    run = lw.compile(lw.simulate, ARM, integrator="rk4", samples=[0.0, 0.1, 0.2])
    want = lw.simulate(ARM, START, duration=0.2, integrator="rk4", dt=0.01, samples=[0.0, 0.1, 0.2])
    assert run(START, duration=0.2, dt=0.01) == want
    run = lw.compile(lw.simulate, ARM, duration=0.1, samples=3)
    assert run(START) == lw.simulate(ARM, START, duration=0.1, samples=3)


TABLE = np.linspace(-1.0, 1.0, 50)


def stored(arm, t, q, qd):
    tau = np.zeros(3)
    tau[0] = -q[0]
    return tau


def torch_sine(arm, t, q, qd):
    torch = pytest.importorskip("torch")
    return q * torch.sin(torch.tensor(t)).item()


UNTRACEABLE = {  # torque functions that run on numbers alone, and what the warning says of them
    "cbrt": (lambda arm, t, q, qd: -np.cbrt(q), "np.cbrt"),
    "copysign": (lambda arm, t, q, qd: -np.copysign(q, qd), "np.copysign"),
    "expm1": (lambda arm, t, q, qd: np.exp(-t) * np.expm1(q), "np.expm1"),
    "item": (lambda arm, t, q, qd: -q * q[0].item(), "item"),
    "real": (lambda arm, t, q, qd: -q[0].real * q, "real"),
    "max": (lambda arm, t, q, qd: q * max(q[0], 0.1), "be compared"),
    "clip": (lambda arm, t, q, qd: np.clip(np.array([*q]), -0.1, 0.1), "be compared"),
    "where": (lambda arm, t, q, qd: np.where(np.asarray(q) > 0, q, -q), "be compared"),
    "if": (lambda arm, t, q, qd: q if t < 0.01 else -q, "be compared"),
    "float": (lambda arm, t, q, qd: -float(q[0]) * q, "float"),
    "math": (lambda arm, t, q, qd: q * math.exp(-t), r"math\.exp\(-t\)"),
    "modulo": (lambda arm, t, q, qd: q % 1.0, "%"),
    "table": (lambda arm, t, q, qd: q * TABLE[int(10 * t)], r"int\(\)"),
    "index": (lambda arm, t, q, qd: q * TABLE[np.round(t).astype(int)], "np.rint|round"),
    "roots": (lambda arm, t, q, qd: -np.linalg.eigvalsh(np.outer(q, q)), "eigvalsh"),
    "infinite": (lambda arm, t, q, qd: q / np.inf + min(np.inf, 0.1), "not finite"),
    "store": (stored, "become a float"),
    "torch": (torch_sine, "torch"),
}


@pytest.mark.parametrize(
    "name", rest_slow(list(UNTRACEABLE), ["cbrt", "item", "clip", "if", "math", "table", "roots", "store", "torch"])
)
def test_what_cannot_be_traced_runs_in_python_with_one_warning_that_names_it(name):
    torque, named = UNTRACEABLE[name]
    arguments = ARM, START, [0.1] * 3, 1e-3
    with pytest.warns(RuntimeWarning, match=f"(?s)runs in Python.*torque function.*{named}") as caught:
        run = lw.simulate(*arguments, torque=torque, samples=3, rtol=1e-3)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert run == lw.simulate(*arguments, torque=torque, samples=3, rtol=1e-3, compiled=False)
    assert np.array_equal(run.tau[1], torque(ARM, float(run.t[1]), run.q[1], run.qd[1]))
    assert "in Python" in repr(run)
    with raises(TypeError, "traced", "compiled=True"):
        lw.simulate(*arguments, torque=torque, compiled=True)
    with pytest.warns(RuntimeWarning, match=f"(?s)event 'sum'.*{named}"):
        lw.simulate(*arguments, events=lw.Event(lambda *state: torque(*state).sum(), "sum"), samples=2, rtol=1e-3)


WRONG = {  # mistakes of the user's own, which numbers show as well
    "name": (lambda arm, t, q, qd: undefined_gain * q, NameError, "undefined_gain"),  # noqa: F821
    "shape": (lambda arm, t, q, qd: q[:2], ValueError, r"gave shape \(2,\)"),
    "division": (lambda arm, t, q, qd: q * (1 / len("")), ZeroDivisionError, "division by zero"),
    "attribute": (lambda arm, t, q, qd: arm.gain * q, AttributeError, "gain"),
    "index": (lambda arm, t, q, qd: q * q[7], IndexError, "out of bounds"),
    "none": (lambda arm, t, q, qd: None, ValueError, "returned None"),
    "arguments": (lambda arm, t, q: q, TypeError, "expected a function of"),
    "linkwise": (lambda arm, t, q, qd: lw.gravity_torque(arm, q[:2]), ValueError, "q has shape"),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("compiled", [None, True, False])
def test_a_mistake_in_a_torque_function_is_raised_as_it_is(name, compiled):
    torque, error, said = WRONG[name]
    with pytest.raises(error, match=said) as caught:
        lw.simulate(ARM, START, [0] * 3, 0.02, torque=torque, compiled=compiled)
    assert caught.type is error


@pytest.mark.parametrize("call", [lw.trace, lw.count, lw.compile], ids=lambda call: call.__name__)
@pytest.mark.parametrize("function", [np.expm1, np.cbrt, lambda q: np.logaddexp(q, q), lambda q: q[0].item()])
def test_an_operation_that_nodes_lack_is_a_type_error_that_lists_what_can_be_traced(call, function):
    with raises(TypeError, "q[0]", "np.sin"):
        call(lambda arm, q: function(q), ARM)


def test_a_torque_function_that_changes_its_arguments_changes_nothing_else():
    def careless(arm, t, q, qd):
        q[0] = 0.0
        return -1.0 * q

    runs = [lw.simulate(ARM, START, [0] * 3, 0.02, torque=careless, samples=3, compiled=c) for c in (True, False)]
    assert np.abs(runs[0].q - runs[1].q).max() < 1e-9
    assert runs[0].q[0].tolist() == START


def test_a_compiled_simulation_keeps_copies_of_arrays():
    arm, start = lw.load("planar3"), [0.3, 0.2, 0.1]
    tau, wrench, gain = np.full(3, 0.1), np.zeros(6), np.array([1.0, 2.0, 3.0])

    def spring(arm, t, q, qd, gain):
        return -gain * q

    runs = [
        lw.compile(lw.simulate, arm, torque=tau, wrench=wrench),
        lw.compile(lw.simulate, arm, torque=spring, parameters={"gain": gain}),
    ]
    before = [run(start, duration=0.1) for run in runs]
    for array in (tau, wrench, gain):
        array += 5.0
    assert [run(start, duration=0.1) for run in runs] == before
