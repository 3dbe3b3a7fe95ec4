"""Targets: one interface, a list of names, and nothing outside of a target that asks which one it is.

The stub is a whole target: it runs programs by the interpreter that defines their meaning.
"""

import ast
import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwise as lw
from facts import raises
from fake_cuda import fake_driver
from integrators import FIXED, steps_of
from linkwise.graph import Program
from linkwise.graph.evaluation import evaluate
from linkwise.kernels.target import TARGETS, Target, target_by_name

HOUSE = Path(lw.__file__).parent
ARM = lw.load("planar3")


class Stub(Target):
    """NumPy, one operation after another."""

    kind = "stub"

    def function(self, program: Program, name: str) -> Callable[..., Any]:
        def run(*arrays: Any) -> Any:
            results = evaluate(program, *arrays)
            return results[0] if len(results) == 1 else results

        return run

    def rollout(self, rollout: Any, dtype: str) -> "StubRollout":
        return StubRollout(self.function(rollout.program, "rhs"), rollout)


class StubRollout:
    """Steps of one length, all trajectories side by side; no tables, samples and quaternions."""

    def __init__(self, rates: Callable[..., Any], rollout: Any) -> None:
        self.rates, self.rollout = rates, rollout

    def most(self, trajectories: int) -> int:
        return 1 << 31

    def fill(
        self, arrays: Any, trajectories: int, settings: Any, inputs: Sequence[tuple[Any, int]], results: Any, *_: Any
    ) -> None:
        rows = [
            np.broadcast_to(array.reshape(-1, size), (trajectories, size))
            for (array, _), size in zip(inputs, self.rollout.inputs, strict=True)
        ]
        ports, (a, b, c) = self.rollout.program.inputs[2:], self.rollout.stages
        parameters = [row.reshape(-1, *port.shape) for row, port in zip(rows[2:], ports, strict=True)]
        y, h = np.concatenate(rows[:2], axis=1), settings.step
        for step in range(settings.steps):
            k = total = np.zeros_like(y)
            for stage, weight in enumerate(b):
                before = 0.0 if stage == 0 else a[stage - 1]
                k = self.rates(np.full(trajectories, (step + c[stage]) * h), y + before * h * k, *parameters)
                total = total + weight * k
            y = y + h * total
        size = self.rollout.configuration
        ends = y[:, :size], y[:, size:], np.full(trajectories, settings.steps)
        for result, values in zip(results, ends, strict=False):
            result[...] = values.reshape(result.shape)


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TARGETS, "stub", Stub)


def compiled(target: str, dtype: str) -> Callable[..., Any]:
    """A kernel that takes and gives arrays in the host's memory."""
    kernel = lw.compile(lw.inverse_dynamics, ARM, target=target, dtype=dtype)
    return partial(kernel, copy=True) if "copy" in getattr(kernel, "options", ()) else kernel


@pytest.mark.usefixtures("stub")
@pytest.mark.parametrize("target", [*TARGETS, "stub"])
def test_kernels_of_every_target_agree_and_check_what_they_are_given(target: str) -> None:
    if target == "wasm":
        pytest.importorskip("wasmtime")
    q, qd, qdd = np.random.default_rng(0).normal(size=(3, 5, 3))
    expected = lw.inverse_dynamics(ARM, q, qd, qdd)
    with fake_driver():
        kernel = compiled(target, "float64")
        for found in (kernel(q, qd, qdd), kernel(q, qdd=qdd, qd=qd)):
            assert found.dtype == np.float64
            assert np.allclose(found, expected, rtol=1e-13)
        assert np.allclose(kernel(q, qd[0], qdd.tolist()), lw.inverse_dynamics(ARM, q, qd[0], qdd), rtol=1e-13)
        assert np.allclose(kernel(q[0], qd[0], qdd[0]), expected[0], rtol=1e-13)
        for given, named, said in (
            ((q, qd), {"speed": qdd}, "speed"), ((q, qd), {}, "qdd"), ((q, qd, qdd), {"q": q}, "q"),
            ((q, qd, qdd, q), {}, "4"), ((q, qd, qdd * 1j), {}, "qdd"),
        ):  # fmt: skip
            with pytest.raises(TypeError, match=said):
                kernel(*given, **named)
        with pytest.raises(ValueError, match="qdd"):
            kernel(q, qd, qdd[:, :2])
        try:
            narrow = compiled(target, "float32")
        except ValueError as refused:
            assert re.search(f"dtype is 'float32'.*{target}", str(refused))  # noqa: PT017
        else:
            found = narrow(*(x.astype(np.float32) for x in (q, qd, qdd)))
            assert found.dtype == np.float32
            assert np.allclose(found, expected, rtol=1e-4)


@pytest.mark.usefixtures("stub")
@pytest.mark.parametrize("integrator", ["verner65", *FIXED, "radau"])
def test_a_stub_runs_simulations(integrator: str) -> None:
    options: dict[str, Any] = {"duration": 0.2, "samples": 3, "integrator": integrator} | steps_of(integrator, 0.01)
    options |= {"torque": lambda arm, t, q, qd: -q, "rtol": 1e-6, "events": [lambda arm, t, q, qd: q[0] + 0.01]}
    q0 = np.random.default_rng(0).normal(size=(2, 3))
    run = lw.simulate(ARM, q0, target="stub", **options)
    assert np.allclose(run.q, lw.simulate(ARM, q0, **options).q, rtol=0, atol=1e-8)


@pytest.mark.usefixtures("stub")
def test_a_stub_runs_rollouts() -> None:
    options: dict[str, Any] = {"steps": 20, "dt": 0.01, "torque": lambda arm, t, q, qd, k: -k * q + np.sin(t)}
    options |= {"parameters": {"k": lw.per_trajectory(np.array([1.0, 2.0]))}}
    q0 = np.random.default_rng(0).normal(size=(2, 3))
    stubbed, compiled = lw.rollout(ARM, q0, target="stub", **options), lw.rollout(ARM, q0, **options)
    assert np.allclose(stubbed.q_end, compiled.q_end, rtol=1e-12)
    assert (stubbed.finite == compiled.finite).all()


@pytest.mark.usefixtures("stub")
@pytest.mark.parametrize(
    ("motion", "length", "what"),
    [(lw.rollout, {"steps": 20, "dt": 0.001}, "q_end"), (lw.simulate, {"duration": 0.1}, "q")],
)
def test_a_stub_compiles_motions(motion: Callable[..., Any], length: dict[str, float], what: str) -> None:
    def law(arm: lw.Robot, t: Any, q: Any, qd: Any, k: Any) -> Any:
        return -k * q

    q0 = np.random.default_rng(0).normal(size=(2, 3))
    run = lw.compile(motion, ARM, torque=law, parameters={"k": lw.Input()}, target="stub")
    result = run(q0, 0 * q0, parameters={"k": 2.0}, **length)
    expected = motion(ARM, q0, 0 * q0, torque=law, parameters={"k": 2.0}, **length)
    assert np.allclose(getattr(result, what), getattr(expected, what), rtol=0, atol=1e-11)


@pytest.mark.usefixtures("stub")
def test_names_of_targets_are_listed_where_one_is_wrong() -> None:
    for call in (lw.compile, lambda *_, **o: lw.simulate(ARM, [0, 0, 0], duration=1.0, **o)):
        with raises(ValueError, "target", "gpu", "cuda", "stub"):
            call(lw.gravity_torque, ARM, target="gpu")


@pytest.mark.usefixtures("stub")
def test_a_target_refuses_options_that_it_does_not_have() -> None:
    with raises(ValueError, "threads", "'stub'", "target='cpu'"):
        lw.simulate(ARM, [0, 0, 0], duration=1.0, target="stub", threads=2)
    with raises(ValueError, "compiled", "'stub'", "'cpu'"):
        lw.simulate(ARM, [0, 0, 0], duration=1.0, target="stub", compiled=False)


def test_targets_are_one_object_of_their_name() -> None:
    assert [target_by_name(name).kind for name in TARGETS] == list(TARGETS)


def test_nothing_outside_of_a_target_asks_which_one_it_is() -> None:
    for path in HOUSE.rglob("*.py"):
        if path.relative_to(HOUSE).parts[0] == "targets":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Compare):
                sides = [node.left, *node.comparators]
                names = {side.value for side in sides if isinstance(side, ast.Constant)} & set(TARGETS)
                assert not names, f"{path.name}:{node.lineno} compares with {names}"
