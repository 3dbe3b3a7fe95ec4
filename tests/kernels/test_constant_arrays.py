"""Arrays that are constants of a kernel: taken as straight-line code, and refused in words where there are loops."""

from typing import Any

import numpy as np
import pytest

import linkwise as lw
from facts import raises
from linkwise.kernels.target import TARGETS, target_by_name
from linkwise.results import WasmModule

pytest.importorskip("llvmlite")
ARM = lw.load("fr3")
WRENCHES = [np.arange(1.0, 7.0), np.arange(42.0).reshape(7, 6)]


@pytest.mark.parametrize("wrench", WRENCHES, ids=str)
@pytest.mark.parametrize("function", [lw.inverse_dynamics, lw.forward_dynamics])
@pytest.mark.parametrize("target", [name for name in TARGETS if target_by_name(name).has_loops])
def test_loops_have_no_constant_wrenches(function: Any, wrench: np.ndarray, target: str) -> None:
    with raises(ValueError, "wrench", "wrench=lw.Input(7, ...)", "'straight'"):
        lw.compile(function, ARM, form="loops", target=target, wrench=wrench)
    with raises(ValueError, "wrench", "wrench=True", "robot"):
        lw.wasm(function, wrench=wrench)
    with raises(ValueError, "point", "point=True", "robot"):
        lw.wasm(function, wrench=True, point=[0.1, 0.2, 0.3])


def test_rounds_have_no_constant_wrenches() -> None:
    for target in (name for name in TARGETS if target_by_name(name).rounds_beyond is not None):
        for form in ("auto", "rounds"):
            with raises(ValueError, "rounds", "wrench", "wrench=lw.Input(...)"):
                given = {"target": target, "form": form, "wrench": np.ones((70, 6))}
                lw.compile(lw.forward_dynamics, lw.chain(70), method="parallel", **given)


def test_long_robots_take_constant_wrenches_in_straight_line_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("linkwise.kernels.spec.MAX_STRAIGHT_LINKS", 5)
    wrench, x = np.arange(42.0).reshape(7, 6), np.linspace(-1.0, 1.0, 7)
    kernel = lw.compile(lw.inverse_dynamics, ARM, wrench=wrench)
    assert np.allclose(kernel(x, x, x), lw.inverse_dynamics(ARM, x, x, x, wrench))
    loops = lw.compile(lw.inverse_dynamics, ARM, wrench=lw.Input(7, 6))
    assert np.allclose(loops(x, x, x, wrench), kernel(x, x, x))


def test_coefficients_of_joints_need_a_robot() -> None:
    with raises(ValueError, "friction", "friction=True", "robot"):
        lw.wasm(lw.forward_dynamics, friction=lw.Friction(viscous=[0.1, 0.2, 0.3]))


def test_modules_that_are_cut() -> None:
    module = lw.wasm(lw.gravity_torque, lw.load("gantry"))
    assert WasmModule(memoryview(module)).interface == WasmModule(bytearray(module)).interface == module.interface
    for end in range(0, len(module), 7):
        with raises(ValueError, "lw.wasm"):
            WasmModule(module[:end]).interface  # noqa: B018
