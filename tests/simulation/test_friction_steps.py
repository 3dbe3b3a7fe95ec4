"""Steps of one length that are too long for friction: they are told, with what to do."""

import re
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwise as lw
from fake_cuda import Foreign
from integrators import INTEGRATORS
from linkwise.ode.methods import method, stability_limit
from linkwise.simulation import friction_steps

pytest.importorskip("llvmlite")
PLANAR = lw.load("planar3")
STIFF = lw.Friction(viscous=0.1, coulomb=0.3)
START: dict[str, Any] = {"steps": 15, "dt": 0.02}
TOLD = r"dt is 0\.02 s, and friction slows joint .* at a rate of .* steps above (\S+) s .*lw\.Friction\(smooth=(\S+)\)"


def slider(mass: Any = 2.0, viscous: Any = 0.0, coulomb: Any = 0.0) -> lw.Robot:
    row = {"joint": "prismatic", "a": 0, "alpha": 0, "theta": 0, "mass": mass, "com": (0, 0, 0)}
    row |= {"inertia": np.zeros((3, 3)).tolist(), "viscous_friction": viscous, "coulomb_friction": coulomb}
    return lw.Robot.from_dh([row], convention="standard", name="slider", gravity=(0, 0, 0))


def told(run: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run()
    assert all(x.category is UserWarning and x.filename == __file__ for x in caught)
    return [str(x.message) for x in caught]


@pytest.mark.parametrize("name", [name for name in INTEGRATORS if name != "radau"])
def test_a_step_shrinks_what_decays_up_to_the_limit_of_the_method_and_not_beyond(name: str) -> None:
    """One step of y' = -y from y = 1, by the stages of the method."""
    tableau, limit = method(name), stability_limit(name)

    def after(h: float) -> float:
        stages: list[float] = []
        for row in tableau.a[: tableau.stages]:
            stages.append(-1.0 - h * sum(w * k for w, k in zip(row, stages, strict=False)))
        return abs(1.0 + h * sum(w * k for w, k in zip(tableau.b, stages, strict=False)))

    assert max(map(after, np.linspace(0.0, limit, 1001)[1:-1])) < 1.0
    assert after(limit) == pytest.approx(1.0)
    assert after(1.001 * limit) > 1.0
    assert name != "rk4" or limit == pytest.approx(2.785293563405282)


def test_what_is_advised_is_the_limit() -> None:
    """A sliding mass: m v' = -(b + c/ε) v near rest, so that all is known."""
    limit, arm = stability_limit("rk4"), slider()
    rate = (0.5 + 0.3 / 1e-3) / 2.0
    (message,) = told(lambda: lw.rollout(arm, [0], [1e-6], **START, friction=lw.Friction(0.5, 0.3)))
    found = re.search(TOLD, message)
    assert found
    assert limit / rate * 0.9 < float(found[1]) <= limit / rate
    smooth = 0.3 / (limit / 0.02 * 2.0 - 0.5)
    assert smooth <= float(found[2]) < 1.1 * smooth
    for friction in (lw.Friction(0.5, 0.3, smooth=float(found[2])), lw.Friction(0.5, 0.3, smooth=2 * smooth)):
        run = lw.rollout(arm, [0], [1e-6], steps=2000, dt=0.02, friction=friction)  # warnings are errors here
        assert abs(run.qd_end[0]) < 1e-6
    short = lw.rollout(arm, [0], [1e-6], steps=2000, dt=float(found[1]), friction=lw.Friction(0.5, 0.3))
    assert abs(short.qd_end[0]) < 1e-6
    (message,) = told(lambda: lw.rollout(arm, [0], [1e-6], **START, friction=lw.Friction(300.0, 0.3)))
    assert "smooth" not in message  # viscous friction alone is too much


def test_numbers_of_any_size() -> None:
    for mass in (0.0, 1e-300, 1e300):
        for smooth in (1e-300, 0.0, 1e300):
            for viscous, coulomb in ((0.0, 1e300), (1e-300, 1e-300), (1e300, 0.0)):
                law = lw.Friction(viscous, coulomb, smooth=smooth)
                text = friction_steps.warning_text(slider(mass), law, 0.01, "rk4", ())
                assert (mass == 0.0 and text == "") or "nan" not in text


def test_it_is_told_wherever_steps_are_fixed(place: str) -> None:
    law = lambda arm, t, q, qd: lw.gravity_torque(arm, q)  # noqa: E731
    options: dict[str, Any] = {**START, "friction": STIFF}
    q0, fixed = np.zeros((2, 3)), {"integrator": "rk4", "dt": 0.02, "friction": STIFF}
    for run in (
        lambda: lw.rollout(PLANAR, q0, **options),
        lambda: lw.rollout(PLANAR, q0, **options, torque=law),
        lambda: lw.rollout(PLANAR, q0, **options, table=np.zeros((15, 3))),
        lambda: lw.rollout(PLANAR, Foreign(q0), **options, target="cuda"),
        lambda: lw.simulate(PLANAR, q0, duration=0.1, **fixed),
        lambda: lw.wasm(lw.simulate, PLANAR, **fixed),
    ):
        assert len(told(run)) == 1
    assert not told(lambda: lw.simulate(PLANAR, q0, duration=0.01, first_step=0.005, friction=STIFF))  # it adapts
    assert not told(lambda: lw.rollout(PLANAR, q0, **START))
    assert not told(lambda: lw.rollout(PLANAR, q0, steps=1, dt=1e-7, friction=STIFF))


def test_a_compiled_rollout_tells_it_once() -> None:
    runs: list[lw.results.CompiledRollout] = []
    assert len(told(lambda: runs.append(lw.compile(lw.rollout, PLANAR, **START, friction=STIFF)))) == 1
    assert not told(lambda: runs[0](np.zeros(3)))
    run = lw.compile(lw.rollout, PLANAR, friction=STIFF)  # the step comes later
    assert not told(lambda: run(np.zeros(3), steps=1, dt=1e-7))
    assert len(told(lambda: [run(np.zeros(3), **START) for _ in range(3)])) == 1


def test_the_worst_of_the_symbols_counts() -> None:
    m, b, c = lw.symbols("m b c")
    arm, good = slider(m, b, c), {"m": lw.per_trajectory([1.0, 2.0]), "b": 0.1, "c": 0.0}
    for bad in (
        {"c": lw.per_trajectory([0.0, 1.0])},
        {"b": lw.per_trajectory([0.1, 400.0])},
        {"b": 200.0, "m": lw.per_trajectory([2.0, 1.0])},
    ):
        numbers = {**good, **bad}
        assert len(told(lambda: lw.rollout(arm, [0], **START, friction=True, parameters=numbers))) == 1  # noqa: B023
    assert not told(lambda: lw.rollout(arm, [0], **START, friction=True, parameters=good))
    assert not told(lambda: lw.rollout(arm, [0], **START, parameters={**good, "c": 1.0}))
    fixed: dict[str, Any] = {"integrator": "rk4", "dt": 0.02, "friction": True}
    assert len(told(lambda: lw.wasm(lw.simulate, arm, **fixed, parameters={"m": 1.0, "b": 0.1, "c": 1.0}))) == 1


def test_a_sweep_tells_it_once(tmp_path: Path) -> None:
    starts = lw.sweeps.monte_carlo(5, 1, q0=([-1.0] * 3, [1.0] * 3))
    options: dict[str, Any] = {"chunk": 2, "integrator": "rk4", "dt": 0.02, "friction": STIFF, "files": "npz"}
    for name, samples in (("one", starts), ("family", {**starts, "link1.mass": np.linspace(1.0, 2.0, 5)})):
        assert len(told(lambda: lw.sweep(PLANAR, samples, tmp_path / name, 0.04, **options))) == 1  # noqa: B023
        assert not told(lambda: lw.sweep(PLANAR, samples, tmp_path / name, 0.04, **options))  # noqa: B023


def test_it_costs_next_to_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    m, c = lw.symbols("m c")
    arm, friction = slider(m, 0.0, c), lw.Friction(viscous=0.1)
    values = {"m": np.linspace(1.0, 2.0, 1000), "c": np.linspace(0.0, 1e-6, 1000)}
    friction_steps.warn_of_long_steps(arm, friction, 1e-3, "rk4", values)
    best = 1.0
    for _ in range(20):
        start = time.perf_counter()
        friction_steps.warn_of_long_steps(arm, friction, 1e-3, "rk4", values)
        best = min(best, time.perf_counter() - start)
    assert best < 5e-4
    monkeypatch.setattr(friction_steps, "warning_text", lambda *_: pytest.fail("asked"))
    lw.rollout(PLANAR, np.zeros(3), **START)
