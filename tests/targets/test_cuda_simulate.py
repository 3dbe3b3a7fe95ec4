"""`simulate` and `sweep` on GPUs: the one driver, a trajectory in each thread, the bits of the CPU."""

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwise as lw
from effort import rest_slow
from facts import raises
from integrators import FIXED, INTEGRATORS, fixed_steps
from joint_kinds import ARM as FLYING
from robots import TEXTBOOK

pytest.importorskip("llvmlite")
PLANAR = lw.load("planar3")
EXPLICIT = [name for name in INTEGRATORS if name != "radau"]


def starts(robot: lw.Robot, count: int = 9) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(4)
    return rng.uniform(-1.0, 1.0, (count, robot.nq)), rng.uniform(-1.0, 1.0, (count, robot.n))


def assert_same(robot: lw.Robot, **options: Any) -> lw.Recording:
    q, qd = starts(robot)
    found = lw.simulate(robot, q, qd, **options, target="cuda")
    expected = lw.simulate(robot, q, qd, **options)
    for name in ("t", "q", "qd", "steps", "rejected"):
        assert np.array_equal(getattr(found, name), getattr(expected, name), equal_nan=True)
    assert np.array_equal(found.status, expected.status)
    return found


def law(arm: Any, t: Any, q: Any, qd: Any, kd: Any) -> Any:
    return 0.1 * np.cos(3.0 * t) - kd * qd


@pytest.mark.parametrize("integrator", rest_slow(EXPLICIT, ["verner65", *FIXED]))
def test_the_bits_are_those_of_the_cpu(integrator: str, place: str) -> None:
    options: dict[str, Any] = {"rtol": 1e-7, **fixed_steps(integrator, 0.01)}
    assert_same(PLANAR, duration=0.6, integrator=integrator, samples=7, torque=[0.1, 0.0, 0.2], **options)


def test_laws_parameters_and_friction(place: str) -> None:
    own = {"kd": lw.per_trajectory(np.linspace(0.01, 0.1, 9))}
    options: dict[str, Any] = {"torque": law, "parameters": own, "friction": lw.Friction(viscous=0.05)}
    assert_same(PLANAR, duration=0.5, samples=4, integrator="dormand54", **options)


@pytest.mark.slow
def test_orientations(place: str) -> None:
    assert_same(FLYING, duration=0.2, samples=3)


def test_events_stop_where_they_do_on_the_cpu(place: str) -> None:
    there = lw.Event(lambda arm, t, q, qd: q[0] + 0.3, "there", stop=True)
    events = [there, lw.Event(lambda arm, t, q, qd: qd[1], "turn")]
    q, qd = starts(PLANAR)
    found = assert_same(PLANAR, duration=1.5, events=events, samples=5, integrator="dormand54")
    expected = lw.simulate(PLANAR, q, qd, 1.5, events=events, samples=5, integrator="dormand54")
    assert "stopped" in set(found.status.tolist())
    for a, b in zip(found.events, expected.events, strict=True):
        assert [(x.names, x.t) for x in a] == [(x.names, x.t) for x in b]
        assert all(np.array_equal(x.q, y.q) for x, y in zip(a, b, strict=True))


def test_many_events_and_many_steps(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """More than the log has room for, and than a launch makes."""
    monkeypatch.setattr(import_module("linkwise.targets.cuda.trajectories"), "BUDGET", 7)
    monkeypatch.setattr(import_module("linkwise.simulation.integration"), "LOG_SIZE", 3)
    tick = lw.Event(lambda arm, t, q, qd: np.sin(60.0 * t), "tick")
    assert_same(PLANAR, duration=1.0, events=[tick], samples=5, integrator="dormand54")


def test_sweeps_have_the_same_columns(place: str, tmp_path: Path) -> None:
    samples = {"q0": starts(PLANAR)[0], "link2.mass": np.linspace(0.5, 2.0, 9)}
    options: dict[str, Any] = {"duration": 0.3, "integrator": "dormand54", "chunk": 5}
    found, expected = (lw.sweep(PLANAR, samples, tmp_path / x, target=x, **options).read() for x in ("cuda", "cpu"))
    assert set(found) == set(expected)
    for name, column in expected.items():
        assert np.array_equal(found[name], column), name


def test_what_has_no_form_for_gpus_is_refused(place: str) -> None:
    q = np.zeros(3)
    with raises(ValueError, "'radau'", "'cuda'", "'cpu'"):
        lw.simulate(PLANAR, q, duration=0.1, integrator="radau", target="cuda")
    with raises(ValueError, "compiled", "'cuda'", "'cpu'"):
        lw.simulate(PLANAR, q, duration=0.1, compiled=False, target="cuda")
    with raises(TypeError, "test_cuda_simulate.py"):
        lw.simulate(PLANAR, q, duration=0.1, torque=lambda arm, t, q, qd: [float(q[0])] * 3, target="cuda")
    with raises(ValueError, "target", "gpu"):
        lw.simulate(TEXTBOOK[0], q, duration=0.1, target="gpu")
