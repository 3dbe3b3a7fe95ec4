"""Simulations in WebAssembly: the driver's own text, with the bits of a processor without fused operations."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import linkwise as lw
from effort import rest_slow
from facts import raises
from linkwise.ode.interface import Task
from linkwise.ode.lanes import DONE, RUNNING, TOO_MANY_STEPS, Trajectories
from linkwise.ode.methods import method
from linkwise.simulation.problem import Problem
from linkwise.targets.cpu.host import host_target
from linkwise.targets.cpu.solver import CompiledDriver
from robots import FREE, TEXTBOOK, TREES

pytest.importorskip("llvmlite")
wasmtime = pytest.importorskip("wasmtime")
ENDS = (0.1, 0.15, 0.4)
ROBOTS = [TEXTBOOK[1], TEXTBOOK[2], TREES[3], FREE[0], FREE[3]]
SCHEMES = [("verner65", None), ("dormand54", None), ("rk4", 1e-2), ("rk4", 3e-3)]


class Simulation:
    """A module in wasmtime, with its numbers by name."""

    def __init__(self, module: lw.results.WasmModule) -> None:
        self.about = module.interface
        self.numbers = {number["name"]: number for number in self.about["numbers"]}
        self.store = wasmtime.Store()
        instance = wasmtime.Instance(self.store, wasmtime.Module(self.store.engine, module), [])
        self.exports = instance.exports(self.store)

    def __getitem__(self, name: str) -> np.ndarray:
        """A view of the numbers."""
        number = self.numbers[name]
        size = int(np.prod(number["shape"]))
        buffer = self.exports["memory"].get_buffer_ptr(self.store, 8 * size, number["offset"])
        return np.frombuffer(buffer, number["type"], size).reshape(number["shape"])

    def advance(self, end: float) -> int:
        return int(self.exports["advance"](self.store, self.about["simulation"], end))


def start_of(robot: lw.Robot) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(robot.n)
    return lw.random_configuration(robot, rng), rng.normal(size=robot.n)


@pytest.mark.parametrize(("name", "step"), rest_slow(SCHEMES, [SCHEMES[0], SCHEMES[2]]))
@pytest.mark.parametrize("robot", rest_slow(ROBOTS, [FREE[0]]), ids=lambda robot: robot.name)
def test_the_bits_are_those_of_the_driver_on_a_cpu_without_fused_operations(
    robot: lw.Robot, name: str, step: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("linkwise.targets.cpu.solver.host_target", lambda: replace(host_target(), fused=False))
    (q0, qd0), tau = start_of(robot), np.linspace(-1.0, 1.0, robot.n)
    found = Simulation(lw.wasm(lw.simulate, robot, q0=q0, qd0=qd0, torque=tau, integrator=name, dt=step))
    problem = Problem(robot, tau=True)
    driver = CompiledDriver(problem.program(), method(name))
    expected = Trajectories(problem.initial(q0, qd0)[None], step or 1e-3)
    rtol = float(found["rtol"])
    never = np.array([np.inf])
    task = Task(never, np.zeros((1, 1, problem.size)), tau[None], rtol, problem.tolerance(rtol / 100, rtol))
    for end in ENDS:
        expected.status = RUNNING
        driver.run(expected, task, end)
        assert found.advance(end) == expected.status[0]  # steps that are too long may lead nowhere
        y = np.concatenate([found["q"], found["qd"], [found["work"]]])
        assert np.array_equal(y, expected.y[0, :-1], equal_nan=True)
        assert found["t"] == expected.t[0]
        assert found["steps"] == expected.steps[0]


def test_it_is_the_motion_that_simulate_gives() -> None:
    arm, target = TEXTBOOK[1], [0.5, -0.3, 0.2]
    options: dict[str, Any] = {"torque": lw.control.pd_gravity(target, kp=60, kd=20), "friction": True}
    found = Simulation(lw.wasm(lw.simulate, arm, q0=[0.1, 0.2, 0.3], **options))
    recording = lw.simulate(arm, [0.1, 0.2, 0.3], duration=0.4, samples=[*ENDS], **options)
    for end, q in zip(ENDS, recording.q, strict=True):
        assert found.advance(end) == DONE
        assert np.allclose(found["q"], q, rtol=0.0, atol=1e-7)


def test_torques_and_states_may_be_changed_between_two_calls() -> None:
    arm = TEXTBOOK[0]  # a gantry: what falls, falls as a stone
    found = Simulation(lw.wasm(lw.simulate, arm, torque=[0.0, 0.0, 0.0]))
    assert found.advance(0.1) == DONE
    found["tau"][:] = lw.gravity_torque(arm, found["q"])
    found["qd"][:] = (1.0, 2.0, 3.0)
    before = found["q"].copy()
    assert found.advance(1.1) == DONE
    assert np.allclose(found["q"], before + np.array([1.0, 2.0, 3.0]))
    found["max_steps"][...] = found["steps"] + 2
    before = int(found["steps"] + found["rejected"])
    assert found.advance(1e6) == TOO_MANY_STEPS == found.about["codes"]["too many steps"]
    assert found["steps"] + found["rejected"] == before + found["max_steps"]  # as many for each call
    found["max_steps"][...] = 2**63 - 1
    assert found.advance(float(found["t"]) + 1.0) == DONE


def test_tolerances_that_are_none_are_not_finite() -> None:
    """Without them errors would not be looked at, and steps grow to any length."""
    found = Simulation(lw.wasm(lw.simulate, TEXTBOOK[1], q0=[0.1, 0.2, 0.3]))
    t, q = found["t"].copy(), found["q"].copy()
    for name, place in (("rtol", ...), ("atol", 0), ("atol", -1)):
        usual = found[name].copy()
        for wrong in (np.nan, -1e-8, np.inf):
            found[name][place] = wrong
            assert found.advance(0.1) == found.about["codes"]["not finite"]
        found[name][...] = usual
    assert np.array_equal(found["t"], t)
    assert np.array_equal(found["q"], q)
    found["rtol"][...] = 0.0
    assert found.advance(0.1) == DONE


def double_pendulum(first: Any = 1.0, second: Any = 2.0, damping: Any = 0.05) -> lw.Robot:
    row = {"joint": "revolute", "a": 0.5, "alpha": 0.0, "d": 0.0, "com": (-0.2, 0, 0), "viscous_friction": damping}
    body = {"inertia": [[0.01, 0, 0], [0, 0.01, 0], [0, 0, 0.01]]}
    rows = [{**row, **body, "mass": mass} for mass in (first, second)]
    return lw.Robot.from_dh(rows, convention="standard", name="double", gravity=(0, -9.81, 0))


def test_symbols_of_the_robot_are_numbers_that_may_be_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("linkwise.targets.cpu.solver.host_target", lambda: replace(host_target(), fused=False))
    m1, m2, c = lw.symbols("m1 m2 c")
    family, q0 = double_pendulum(m1, m2, c), np.array([0.3, 0.5])

    def law(arm: Any, t: Any, q: Any, qd: Any, kp: Any) -> Any:
        return lw.gravity_torque(lw.bind(arm, m2=2.0), q) - kp * q

    masses = {"m1": 1.0, "m2": 2.0, "c": 0.05}
    options: dict[str, Any] = {"torque": law, "friction": True}
    found = Simulation(lw.wasm(lw.simulate, family, q0=q0, parameters={**masses, "kp": [3.0, 2.0]}, **options))
    assert [name for name in found.numbers if name in masses] == ["c", "m1", "m2"]
    problem = Problem(family, law, friction=lw.Friction(), symbols=("c", "m1", "m2"), torque_parameters=(("kp", (2,)),))
    driver, expected = CompiledDriver(problem.program(), method("verner65")), Trajectories(np.zeros((1, 6)), 1e-3)
    expected.y[:, :2] = q0
    never, tolerance = np.array([np.inf]), problem.tolerance(1e-10, 1e-8)
    for end, mass, damping in ((0.1, 2.0, 0.05), (0.2, 5.0, 0.05), (0.3, 5.0, 0.4), (0.4, 0.5, 0.0)):
        found["m2"][...], found["c"][...] = mass, damping
        task = Task(never, np.zeros((1, 1, 6)), np.array([[3.0, 2.0, damping, 1.0, mass]]), 1e-8, tolerance)
        started = found["q"].copy(), found["qd"].copy()
        expected.status = RUNNING
        driver.run(expected, task, end)
        assert found.advance(end) == DONE
        assert np.array_equal(np.concatenate([found["q"], found["qd"], [found["work"], found["heat"]]]), expected.y[0])
        robot = double_pendulum(1.0, mass, damping)
        acting = lambda arm, t, q, qd: lw.gravity_torque(double_pendulum(), q) - np.array([3.0, 2.0]) * q  # noqa: E731
        recording = lw.simulate(robot, *started, duration=0.1, torque=acting, friction=True, samples=2)
        assert np.allclose(found["q"], recording.q[-1], rtol=0.0, atol=1e-6)
    found["m2"][...] = np.nan
    assert found.advance(0.5) == found.about["codes"]["not finite"]


def test_symbols_need_numbers_that_a_robot_can_have() -> None:
    family = double_pendulum(1.0, lw.symbols("m2"))
    for arm, options, message in (
        (family, {}, r"'m2' has no value \(expected numbers: parameters=\{'m2': ...\}\)"),
        (family, {"parameters": {"m2": 2.0, "m3": 1.0}}, "'m3' is neither a symbol of robot 'double' nor a parameter"),
        (family, {"parameters": {"m2": [1.0, 2.0]}}, r"'m2' has shape \(2,\) \(expected a number"),
        (family, {"parameters": {"m2": np.nan}}, "'m2' is nan .expected finite numbers"),
        (family, {"parameters": {"m2": -1.0}}, "mass is -1.0"),
        (family, {"parameters": {"m2": 1.0}, "friction": lw.Friction(coulomb=0.1, smooth=0)}, "exact friction"),
        (double_pendulum(lw.symbols("h")), {"parameters": {"h": 1.0}}, "'h', a symbol .* another name"),
        (double_pendulum(), {"torque": lambda arm, t, q, qd, kp: kp * q}, r"'kp' has no value .*parameters=\{'kp'"),
    ):
        with pytest.raises(ValueError, match=message):
            lw.wasm(lw.simulate, arm, q0=[0.3, 0.5], **options)


def test_what_has_no_form_is_said() -> None:
    arm = TEXTBOOK[1]
    for options, message in (
        ({"integrator": "radau"}, "integrator is 'radau' .*expected .*rk4"),
        ({"events": lw.Event(lambda arm, t, q, qd: q[0], "level")}, "with events"),
        ({"friction": lw.Friction(coulomb=0.1, smooth=0)}, "exact friction"),
        ({"torque": lambda arm, t, q, qd: np.where(t < 1.0, q, qd)}, "torque that jumps in time"),
        ({"base": lambda t: lw.BaseMotion(acceleration=np.where(t < 1.0, np.eye(3)[0], 0.0))}, "base that jumps"),
        ({"coordinates": "normalized"}, "quasi-velocities"),
        ({"integrator": "rk4"}, "expected dt="),
        ({"q0": np.zeros((2, 3))}, "expected one trajectory"),
    ):
        with pytest.raises(ValueError, match=message):
            lw.wasm(lw.simulate, arm, **options)
    with pytest.raises(TypeError, match="speed"):
        lw.wasm(lw.simulate, arm, speed=3)


@pytest.mark.parametrize(("name", "step"), [("verner65", None), ("rk4", 1e-2)])
def test_times_that_are_reached_already_change_nothing(name: str, step: float | None) -> None:
    """The first picture of a page may be at 0, and its clock may go back."""
    module = lw.wasm(lw.simulate, TEXTBOOK[1], q0=[0.1, 0.2, 0.3], integrator=name, dt=step, max_steps=10_000)
    expected, found = Simulation(module), Simulation(module)
    for end in (0.1, 0.2, 0.3):
        assert expected.advance(end) == DONE
    for end in (0.0, 0.1, 0.1, 0.05, -3.0, 0.2, 0.0, 0.3):
        assert found.advance(end) == DONE
        assert found["h"] > 0.0
    for time in (np.nan, np.inf, -np.inf):
        assert found.advance(time) == found["status"] == found.about["codes"]["not finite"]
    assert found["t"] == 0.3
    for number in ("q", "qd", "h", "steps", "rejected"):
        assert np.array_equal(found[number], expected[number])
    for h in (0.0, -1.0, np.nan, -np.inf):
        found["h"][...] = h
        assert found.advance(float(found["t"]) + 0.01) == DONE
    found["t"][...] = -0.5
    assert found.advance(-0.49) == DONE
    found["t"][...] = np.nan
    assert found.advance(1.0) == found.about["codes"]["not finite"]


def test_numbers_have_names_of_their_own() -> None:
    for name in ("h", "rtol", "atol", "work", "heat", "t", "q", "qd", "steps"):
        law = eval(f"lambda a, b, c, d, {name}: -{name} * d")
        with raises(ValueError, f"'{name}'", "parameter"):
            lw.wasm(lw.simulate, TEXTBOOK[1], torque=law, parameters={name: 1.0})


@pytest.mark.parametrize("name", ["duration", "samples", "threads", "compiled", "progress", "target"])
def test_arguments_of_other_simulations_are_refused(name: str) -> None:
    with pytest.raises(TypeError, match=rf"lw.wasm\(lw.simulate, \.\.\.\) has no argument '{name}'"):
        lw.wasm(lw.simulate, TEXTBOOK[1], **{name: 1})


def test_symbols_keep_their_names() -> None:
    module = lw.wasm(lw.simulate, double_pendulum(lw.symbols("own_m")), parameters={"own_m": 1.0})
    assert "own_m" in [number["name"] for number in module.interface["numbers"]]
