"""`lw.per_trajectory` is looked at in parameters and samples; wherever else it is given, it is refused by name."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import linkwise as lw
from facts import raises
from robots import pendulum

PLANAR = lw.load("planar3")
MARK = lw.per_trajectory([1.0, 2.0, 3.0])
STATE = (np.zeros(3), np.zeros(3))
RUN = {"steps": 2, "dt": 0.01}


def law(robot: Any, t: Any, q: Any, qd: Any, kp: Any = MARK) -> Any:
    return -kp * q


def spring(robot: Any, t: Any, q: Any, qd: Any, kp: Any) -> Any:
    return -kp * q


ELSEWHERE: dict[str, Callable[[], Any]] = {
    "q": lambda: lw.gravity_torque(PLANAR, MARK),
    "qd": lambda: lw.forward_dynamics(PLANAR, np.zeros(3), MARK, np.zeros(3)),
    "wrench": lambda: lw.inverse_dynamics(PLANAR, *STATE, np.zeros(3), wrench=lw.per_trajectory(np.zeros(6))),
    "point": lambda: lw.inverse_dynamics(PLANAR, *STATE, np.zeros(3), wrench=np.zeros(6), point=MARK),
    "q of a kernel": lambda: lw.compile(lw.gravity_torque, PLANAR)(MARK),
    "q of a derivative": lambda: lw.derivative(lw.gravity_torque, PLANAR, "q")(MARK),
    "kp": lambda: lw.control.pd_gravity([0, 0, 0], kp=MARK, kd=1.0),
    "target": lambda: lw.control.computed_torque(MARK, 1.0, 1.0),
    "most": lambda: lw.control.limited(lw.control.pd_gravity([0, 0, 0], 1.0, 1.0), MARK),
    "viscous": lambda: lw.Friction(viscous=MARK),
    "smooth": lambda: lw.Friction(smooth=lw.per_trajectory(1.0)),
    "m": lambda: lw.bind(pendulum(lw.symbols("m")), m=MARK),
    "gravity": lambda: PLANAR.with_gravity(MARK),
    "com": lambda: PLANAR.with_payload(1.0, com=MARK),
    "mass": lambda: PLANAR.with_payload(lw.per_trajectory(1.0)),
    "parameters": lambda: PLANAR.with_parameters(MARK),
    "q0": lambda: lw.rollout(PLANAR, MARK, **RUN),
    "q0 of simulate": lambda: lw.simulate(PLANAR, MARK, duration=0.01),
    "duration": lambda: lw.simulate(PLANAR, np.zeros((3, 3)), duration=MARK),
    "samples": lambda: lw.simulate(PLANAR, np.zeros((3, 3)), duration=1.0, samples=MARK),
    "torque": lambda: lw.simulate(PLANAR, np.zeros((3, 3)), duration=0.01, torque=MARK),
    "torque of rollout": lambda: lw.rollout(PLANAR, np.zeros((3, 3)), torque=MARK, **RUN),
    "table": lambda: lw.rollout(PLANAR, np.zeros((3, 3)), table=lw.per_trajectory(np.zeros((3, 2, 3))), **RUN),
    "what a torque function gives": lambda: lw.simulate(PLANAR, *STATE, 0.01, torque=lambda *_: MARK),
    "default": lambda: lw.simulate(PLANAR, np.zeros((3, 3)), duration=0.01, torque=law),
    "default in a rollout": lambda: lw.rollout(PLANAR, np.zeros((3, 3)), torque=law, **RUN),
    "default compiled": lambda: lw.compile(lw.rollout, PLANAR, torque=law),
    "default of equilibrium": lambda: lw.equilibrium(PLANAR, np.zeros(3), law),
    "traced": lambda: lw.trace(lw.simulate, PLANAR, torque=spring, parameters={"kp": MARK}),
    "grid": lambda: lw.sweeps.grid(kp=MARK),
    "bounds": lambda: lw.sweeps.monte_carlo(3, 1, kp=(MARK, MARK)),
    "load of a sweep": lambda: lw.sweep(PLANAR, {"q0": np.zeros((3, 3))}, "never", 0.1, torque=MARK),
    "points": lambda: lw.trajectories.spline([0.0, 1.0, 2.0], MARK),
    "limits": lambda: lw.trajectories.trapezoid([0] * 3, [1] * 3, speed=MARK, acceleration=1.0),
}


@pytest.mark.parametrize("call", ELSEWHERE.values(), ids=ELSEWHERE)
def test_the_mark_is_refused_where_it_is_not_looked_at(call: Callable[[], Any]) -> None:
    with raises((TypeError, ValueError), "lw.per_trajectory"):
        call()


def test_a_marked_array_is_no_array() -> None:
    for use in (np.sqrt, len, iter, float, lambda mark: mark[0], lambda mark: np.asarray(mark, float)):
        with pytest.raises(TypeError):
            use(MARK)
    assert isinstance(MARK.values, np.ndarray)
    assert isinstance(lw.sweeps.grid(kp=[1, 2])["kp"].values, np.ndarray)


@pytest.mark.parametrize("given", [{"a": 1}, "ab", ["ab"], None, {1.0, 2.0}, [True, False], [1j], [[1.0], [1.0, 2.0]]])
def test_only_numbers_are_marked(given: Any) -> None:
    with raises(TypeError, "lw.per_trajectory"):
        lw.per_trajectory(given)


def test_symbols_are_bound_to_one_number() -> None:
    for given in ([1.0, 2.0], np.ones(3), None, {}, "heavy"):
        with raises(lw.errors.RobotError, "m"):
            lw.bind(pendulum(lw.symbols("m")), m=given)
