"""`lw.simulate` and `lw.rollout` as functions that are compiled, counted and written like all others."""

from typing import Any

import numpy as np
import pytest

import linkwise as lw
from facts import raises

ARM = lw.load("planar3")
GENERATOR = np.random.default_rng(0)
Q, QD = GENERATOR.normal(size=(2, 3))
GAIN = GENERATOR.normal(size=(3, 3))


def law(arm: lw.Robot, t: Any, q: Any, qd: Any, K: Any) -> Any:
    return lw.gravity_torque(arm, q) - K @ q - 0.1 * qd + np.sin(t)


SAME: dict[str, Any] = {"torque": law, "friction": lw.Friction(viscous=0.1)}


def test_what_is_compiled_gives_what_the_function_gives() -> None:
    options: dict[str, Any] = {**SAME, "parameters": {"K": lw.Input(3, 3)}}
    run = lw.compile(lw.rollout, ARM, **options)
    given = {"parameters": {"K": GAIN}}
    expected = lw.rollout(ARM, Q, QD, steps=7, dt=0.01, **SAME, **given)
    assert np.array_equal(run(Q, QD, steps=7, dt=0.01, **given).q_end, expected.q_end)
    simulated = lw.compile(lw.simulate, ARM, **options)(Q, QD, 0.1, **given)
    assert np.array_equal(simulated.q, lw.simulate(ARM, Q, QD, 0.1, **SAME, **given).q)


@pytest.mark.parametrize("function", [lw.simulate, lw.rollout])
def test_the_equations_are_those_that_are_integrated(function: Any) -> None:
    options: dict[str, Any] = {**SAME, "parameters": {"K": GAIN}}
    program = lw.trace(function, ARM, **options)
    expected = lw.forward_dynamics(ARM, Q, QD, law(ARM, 0.3, Q, QD, GAIN) - 0.1 * QD)
    assert [port.name for port in program.inputs] == ["q", "qd", "t"]
    assert np.allclose(lw.graph.evaluate(program, Q, QD, 0.3), expected, rtol=1e-12)
    assert lw.count(function, ARM, **options) == lw.count(lw.simulate, ARM, **options)
    inputs = lw.trace(function, ARM, torque=law, parameters={"K": lw.Input(3, 3)}, wrench=np.zeros(6))
    assert [port.name for port in inputs.inputs] == ["q", "qd", "t", "wrench", "K"]


@pytest.mark.parametrize("function", [lw.simulate, lw.rollout])
def test_the_equations_are_written_in_every_language(function: Any) -> None:
    assert "double qdd[3]" in lw.c_source(function, ARM, torque=[0, 0, 0])
    assert "def equations_of_motion(q, qd, tau)" in lw.python_source(function, ARM, torque=[0, 0, 0])
    assert "equations_of_motion" in lw.latex(function, ARM, closed=False)
    assert lw.sympy(function, lw.load("gantry")).shape == (3, 1)
    assert ".entry kernel" in lw.ptx_source(function, ARM, **SAME, parameters={"K": GAIN})


def test_what_equations_do_not_have_is_refused() -> None:
    for options, kind, said in (
        ({"duration": 1.0}, TypeError, "have no argument 'duration'"),
        ({"friction": lw.Friction(0.1, 0.1, smooth=0)}, ValueError, "which joints stick"),
        ({"torque": lw.control.sampled(lambda arm, t, q, qd: -q, 0.1)}, ValueError, "sampled law"),
        ({"torque": law}, ValueError, "'K'"),
        ({"torque": lambda arm, t, q, qd, tau: tau, "parameters": {"tau": 1.0}}, ValueError, "another name"),
    ):
        with pytest.raises(kind, match=said):
            lw.count(lw.simulate, ARM, **options)  # type: ignore[arg-type]
    with raises(TypeError, "lw.rollout", "step"):
        lw.rollout(ARM, Q, steps=1, step=0.1)  # type: ignore[call-arg]
    with raises(ValueError, "lw.rollout", "WebAssembly", "lw.simulate"):
        lw.wasm(lw.rollout, ARM)
    with raises(TypeError, "form"):
        lw.compile(lw.simulate, ARM, form="loops")


@pytest.mark.parametrize("name", ["compile_rollout", "compile_simulation", "wasm_simulation"])
def test_names_of_earlier_versions_say_what_to_write(name: str) -> None:
    with pytest.raises(AttributeError, match=r"expected lw\.(compile|wasm)\(lw\."):
        getattr(lw, name)
