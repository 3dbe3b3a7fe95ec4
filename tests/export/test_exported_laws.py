"""Controllers leave Python as they are: their time is one number, and the C file says how it is called."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwise as lw

ARM = lw.load("stanford")
START, END = np.zeros(6), np.array([0.5, 1.0, 0.1, 0.2, -0.3, 0.4])


def laws() -> dict[str, Any]:
    move = lw.trajectories.cubic(START, END, 0.75)
    return {
        "pd_gravity": lw.control.pd_gravity(END, kp=60, kd=20),
        "computed_torque": lw.control.computed_torque(move, kp=100, kd=20),
        "diagonal_control": lw.control.diagonal_control(END, kp=10, kd=5),
        "springs": lw.control.springs(20, rest=0.1, damping=0.5),
        "limited": lw.control.limited(
            lw.control.computed_torque(lw.trajectories.trapezoid(START, END, duration=1, acceleration=8), 100, 20), 30
        ),
        "torque": lw.control.pd_gravity(END, kp=60, kd=20) + lw.control.springs(3),
    }


over_laws = pytest.mark.parametrize("name", laws())


@over_laws
def test_a_law_is_traced_compiled_and_counted_with_one_time_per_state(name: str) -> None:
    law = laws()[name]
    program = lw.trace(law, ARM)
    assert [(port.name, port.shape) for port in program.inputs] == [("t", ()), ("q", (6,)), ("qd", (6,))]
    kernel = lw.compile(law, ARM)
    rng = np.random.default_rng(3)
    t, (q, qd) = rng.uniform(-1.0, 2.0, 7), 0.3 * rng.normal(size=(2, 7, 6))
    expected = np.array([law(ARM, *state) for state in zip(t, q, qd, strict=True)])
    assert np.abs(kernel(t, q, qd) - expected).max() < 1e-10 * np.abs(expected).max()
    assert np.abs(kernel(0.5, q[0], qd[0]) - law(ARM, 0.5, q[0], qd[0])).max() < 1e-10 * np.abs(expected).max()
    assert kernel.name == name
    assert lw.count(law, ARM, passes=("push-signs",)).total > 0


def test_a_parameter_named_t_is_one_number_unless_said_otherwise() -> None:
    def torque(arm: lw.Robot, t: Any, q: Any, qd: Any) -> Any:
        return np.sin(3 * t) * q - qd

    assert lw.compile(torque, ARM)(np.array([0.5, 1.0]), START + 1.0, START)[:, 0] == pytest.approx(np.sin([1.5, 3.0]))
    assert [port.shape for port in lw.trace(torque, ARM, t=lw.Input(6)).inputs] == [(6,), (6,), (6,)]
    assert lw.derivative(torque, ARM, "t")(0.5, START + 1.0, START) == pytest.approx(np.full(6, 3 * np.cos(1.5)))


@over_laws
def test_the_comment_shows_the_c_call_with_shapes_and_units_and_no_signature_of_python(name: str) -> None:
    source = lw.c_source(laws()[name], ARM)
    assert source.name == name
    comment = source[: source.index("*/")]
    assert f" {name}(t, q, qd, tau);" in comment
    assert re.search(r"in   double t: time \(s\)", comment)
    assert re.search(r"in   double q\[6\]: joint angles \(rad\) and displacements \(m\)", comment)
    assert re.search(r"out  double tau\[6\]: joint torques \(N m\) and forces \(N\)", comment)
    assert not re.search(r"'Each'|: float|Robot \| None|0x[0-9a-f]{6}", comment)
    assert f"void {name}(double t, const double q[6], const double qd[6], double tau[6])" in source


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_the_self_test_passes_also_before_the_start_and_after_the_end(dtype: str, tmp_path: Path) -> None:
    """All laws in one program would have several mains: one law, whose acceleration jumps at both ends."""
    move = lw.trajectories.quintic(START, END, 0.75, end_rate=0.4, end_acceleration=2.0)
    source = lw.c_source(lw.control.computed_torque(move, kp=100, kd=20), ARM, dtype=dtype, self_test=True)
    table = source[source.index("computed_torque_in_t[") :]
    times = [float(x.rstrip("f")) for x in re.findall(r"\{([-\d.]+f?)\}", table[: table.index("};")])]
    assert min(times) < 0.0 < 0.75 < max(times)  # the states ask for both
    source.save(tmp_path)
    subprocess.run(["cc", "-std=c99", "-Wall", "-Werror", "computed_torque.c", "-lm"], cwd=tmp_path, check=True)
    subprocess.run(["./a.out"], cwd=tmp_path, check=True)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_the_very_end_is_the_end_in_both_precisions(dtype: str) -> None:
    move = lw.trajectories.quintic(START, END, 0.75, end_rate=0.4, end_acceleration=2.0)
    kernel = lw.compile(lambda arm, t: np.concatenate(move(t)), ARM, dtype=dtype)
    assert kernel(0.75)[6:] == pytest.approx([0.4] * 6 + [2.0] * 6, rel=1e-4)
    assert kernel(0.0)[6:] == pytest.approx([0.0] * 12, abs=1e-4)
    assert not kernel(0.7501)[6:].any()


def test_the_head_names_public_functions_and_the_shapes_that_were_taken() -> None:
    def feedback(arm: lw.Robot, t: Any, q: Any, qd: Any, gain: Any) -> Any:
        return -gain * q

    limited = lw.control.limited(lw.control.springs(20), 30)
    heads = [lw.c_source(law, ARM).header for law in (limited, limited + lw.control.springs(1), lw.simulate)]
    assert not any(re.search(r"_most|linkwise\.limited|linkwise\.torque\b|locals", head) for head in heads)
    assert "linkwise.control.limited" in heads[0]
    assert "linkwise.simulate" in heads[2]
    taken, given = ({}, {"gain": lw.Input()})
    for inputs, said in ((taken, True), (given, False)):
        head, kernel = lw.c_source(feedback, ARM, **inputs).header, lw.compile(feedback, ARM, **inputs)
        assert ["6 numbers" in head, "gain=lw.Input(" in head, "gain[6]" in repr(kernel)] == [said] * 3
