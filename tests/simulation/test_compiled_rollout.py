"""`lw.compile(lw.rollout, ...)`: a torque function traced once, for many short rollouts."""

import copy
import pickle
import sys
from typing import Any

import numpy as np
import pytest

import linkwise as lw
from facts import raises
from linkwise.simulation import traced_functions
from robots import pendulum

PLANAR = lw.load("planar3")
pytest.importorskip("llvmlite")
LENGTH: dict[str, Any] = {"steps": 6, "dt": 0.01}


class Servo:
    def __init__(self, gain: float) -> None:
        self.gain = gain

    def __call__(self, arm: Any, t: Any, q: Any, qd: Any, goal: Any, kd: Any = 0.5) -> Any:
        return self.gain * (goal - q) - kd * qd + lw.gravity_torque(arm, q)


def test_it_is_the_rollout_of_the_function_as_it_was(place: str) -> None:
    servo, q0, rng = Servo(2.0), np.zeros((3, 3)), np.random.default_rng(0)
    goals = lw.per_trajectory(rng.normal(size=(3, 3)))
    before = lw.rollout(PLANAR, q0, **LENGTH, torque=servo, parameters={"goal": goals}, every=2)
    for target in ("cpu", "cuda"):
        run = lw.compile(lw.rollout, PLANAR, **LENGTH, torque=servo, parameters={"goal": lw.Input(3)}, target=target)
        servo.gain = 50.0
        found = run(q0, parameters={"goal": goals}, every=2)
        assert np.array_equal(found.q, before.q)
        assert np.array_equal(run(q0, np.zeros(3), parameters={"goal": goals}, steps=4).q_end, before.q[:, 2])
        servo.gain = 2.0
    assert repr(run) == "<Rollout of robot 'planar3', frozen: torque, target; parameters of a run: goal (3,)>"


def test_its_function_is_never_called_again(monkeypatch: pytest.MonkeyPatch) -> None:
    run = lw.compile(lw.rollout, PLANAR, **LENGTH, torque=Servo(2.0), parameters={"goal": lw.Input(3), "kd": 0.1})
    monkeypatch.setattr(Servo, "__call__", lambda *_: pytest.fail("called"))
    monkeypatch.setattr(traced_functions, "trace", lambda *_: pytest.fail("traced"))
    for q0 in (np.zeros(3), np.zeros((3, 3)), np.zeros((2, 4, 3))):
        batch, one = q0.shape[:-1], (1,) * (q0.ndim - 1)
        for goal in (np.ones(3), *(lw.per_trajectory(np.ones((*front, 3))) for front in (batch, one) if front)):
            gains = [0.1, *(lw.per_trajectory(np.full(front, 0.1)) for front in (batch, one) if front)]
            ends = [run(q0, parameters={"goal": goal, "kd": kd}).q_end for kd in gains]
            assert all(np.array_equal(end, run(q0, parameters={"goal": goal}).q_end) for end in ends)


def test_symbols_of_the_robot_are_numbers_of_each_run() -> None:
    loaded, masses = pendulum(lw.symbols("m")), lw.per_trajectory(np.array([0.5, 1.0, 2.0]))

    def law(arm: Any, t: Any, q: Any, qd: Any) -> Any:
        return lw.gravity_torque(lw.bind(arm, m=1.0), q) - 0.1 * qd

    expected = lw.rollout(loaded, [0.3], **LENGTH, torque=law, parameters={"m": masses}).q_end
    run = lw.compile(lw.rollout, loaded, **LENGTH, torque=law)
    assert np.array_equal(run([0.3], parameters={"m": masses}).q_end, expected)
    run = lw.compile(lw.rollout, loaded, **LENGTH, torque=law, parameters={"m": lw.Input()})
    assert np.array_equal(run([0.3], parameters={"m": masses}).q_end, expected)
    run = lw.compile(lw.rollout, loaded, **LENGTH, torque=law, parameters={"m": 0.5})
    assert np.array_equal(run([0.3]).q_end, expected[0])
    with raises(ValueError, "'m'", "(2,)", "lw.Input()"):
        lw.compile(lw.rollout, loaded, **LENGTH, torque=law, parameters={"m": lw.Input(2)})


def test_numbers_given_beforehand_are_copied() -> None:
    torch = pytest.importorskip("torch")
    for goal in (np.zeros(3), [0.0, 0.0, 0.0], torch.zeros(3, dtype=torch.float64), ArrayLike(np.zeros(3))):
        run = lw.compile(lw.rollout, PLANAR, **LENGTH, torque=Servo(2.0), parameters={"goal": goal})
        still = lw.compile(lw.simulate, PLANAR, torque=Servo(2.0), parameters={"goal": goal}, samples=3)
        before = run(np.ones(3)).q_end, still(np.ones(3), duration=0.1).q
        goal[0] = 5.0  # type: ignore[operator]
        assert np.array_equal(run(np.ones(3)).q_end, before[0])
        assert np.array_equal(still(np.ones(3), duration=0.1).q, before[1])


class ArrayLike:
    """What NumPy takes for an array."""

    def __init__(self, numbers: np.ndarray) -> None:
        self.numbers = numbers

    def __array__(self, dtype: Any = None, **_: Any) -> np.ndarray:
        return self.numbers

    def __setitem__(self, index: Any, value: Any) -> None:
        self.numbers[index] = value


def test_it_keeps_its_machine_code_and_is_pickled_without() -> None:
    run = lw.compile(lw.rollout, PLANAR, **LENGTH, torque=Servo(2.0), parameters={"goal": lw.Input(3)})
    before = run(np.ones(3), parameters={"goal": np.zeros(3)}).q_end
    assert len(run.solvers) == 1
    for other in (pickle.loads(pickle.dumps(run)), copy.deepcopy(run)):
        assert other.solvers == {}
        assert np.array_equal(other(np.ones(3), parameters={"goal": np.zeros(3)}).q_end, before)


def test_without_a_function_constant_torques_are_for_each_run() -> None:
    run = lw.compile(lw.rollout, PLANAR, **LENGTH, friction=lw.Friction(viscous=0.1))
    expected = lw.rollout(PLANAR, [0, 0, 0], **LENGTH, friction=lw.Friction(viscous=0.1), torque=[1, 2, 3])
    assert np.array_equal(run([0, 0, 0], torque=[1, 2, 3]).q_end, expected.q_end)
    with raises(TypeError, "'torque'", "<Rollout"):
        run([0, 0, 0], torque=Servo(2.0))


def test_what_does_not_fit_is_said() -> None:
    known: dict[str, Any] = {**LENGTH, "torque": Servo(2.0), "parameters": {"goal": lw.Input(3)}}
    run = lw.compile(lw.rollout, PLANAR, **known)
    for options, kind, message in (
        (
            {"q0": np.zeros(3)},
            TypeError,
            r"'q0' is not an argument of lw.compile\(lw.rollout, \.\.\.\) .expected it in each run",
        ),
        ({"wrench": np.zeros(6)}, TypeError, r"'wrench' is not an argument of lw.compile\(lw.rollout, "),
        ({"torqe": 1}, TypeError, r"lw.compile\(lw.rollout, \.\.\.\) has no argument 'torqe', did you mean 'torque'"),
        ({"torque": [1, 2, 3]}, TypeError, "torque is .* .expected a torque function; constant torques are given"),
        ({"torque": lw.control.sampled(lambda arm, t, q, qd: -q, 0.1)}, ValueError, "sampled law"),
        ({"torque": lambda arm, t, q, qd, goal: q[:2]}, ValueError, r"gave shape \(2,\)"),
        ({"torque": lambda arm, t, q, qd, goal: q * max(q[0], 0)}, TypeError, "cannot be traced"),
        ({"parameters": {}}, ValueError, r"'goal' has no value \(expected parameters=\{'goal': lw.Input"),
        ({"parameters": {"gaol": 1}}, ValueError, "'gaol' is neither a symbol .* did you mean 'goal'"),
        ({"integrator": "euler5"}, ValueError, "integrator is 'euler5'"),
        ({"target": "wasm"}, ValueError, "target is 'wasm'"),
        ({"dtype": "float16"}, ValueError, "dtype is 'float16'"),
        ({"steps": -3}, ValueError, "steps is -3"),
        ({"dt": "x"}, TypeError, "dt is 'x'"),
        ({"every": 0}, ValueError, "every is 0"),
        ({"target": "cuda", "threads": 2}, ValueError, "threads is given, and target is 'cuda'"),
        ({"friction": lw.Friction(coulomb=1.0, smooth=0.0)}, ValueError, "friction is exact"),
        ({"parameters": [("goal", 1)]}, TypeError, "parameters is .* .expected a mapping from names"),
        ({"parameters": {"goal": "abc"}}, TypeError, "parameters: 'goal'"),
        ({"parameters": {"goal": None}}, TypeError, "parameters: 'goal'"),
        ({"parameters": {"goal": np.full(3, np.nan)}}, ValueError, r"parameters: 'goal'\[0\] is nan"),
    ):
        with pytest.raises(kind, match=message):
            lw.compile(lw.rollout, PLANAR, **{**known, **options})
    goal = {"goal": np.zeros(3)}
    for options, kind, message in (
        ({"parameters": goal, "torque": Servo(3.0)}, TypeError, "'torque' is frozen in <Rollout"),
        ({"parameters": goal, "friction": True}, TypeError, "'friction' is frozen in <Rollout"),
        ({"parameters": {}}, ValueError, r"'goal' has no value \(expected numbers"),
        ({"parameters": {**goal, "kd": 1.0}}, ValueError, r"'kd' has its default in <Rollout .*'kd': lw.Input\("),
        ({"parameters": goal, "dt": 1e-50, "q0": np.zeros((4, 3), "f4")}, ValueError, "dt is 1e-50, which is 0 in f"),
        ({"parameters": {"goal": [1e300, 0, 0]}, "q0": np.zeros((4, 3), "f4")}, ValueError, "numbers of float32"),
        ({"parameters": {"goal": 0.0}}, ValueError, r"'goal' has shape \(\) .*\(3,\).*lw.per_trajectory of \(4, 3\)"),
        ({"parameters": {"goal": np.zeros((4, 1))}}, ValueError, r"'goal' has shape \(4, 1\)"),
        ({"parameters": {"goal": np.zeros((5, 3))}}, ValueError, r"'goal' has shape \(5, 3\)"),
        ({"parameters": {"goal": lw.Input(3)}}, TypeError, "'goal'"),
    ):
        with pytest.raises(kind, match=message):
            run(**{"q0": np.zeros((4, 3)), **options})


@pytest.mark.skipif(sys.gettrace() is not None, reason="a tracer is there")
def test_a_run_calls_few_functions() -> None:
    """Hundreds, as a rollout without a torque function; tracing calls tens of thousands."""
    loaded = PLANAR.with_payload(lw.symbols("load"))
    servo, given = Servo(2.0), {"load": 1.0, "goal": np.zeros(3)}
    run = lw.compile(lw.rollout, loaded, **LENGTH, torque=servo, parameters={"goal": lw.Input(3)})
    q0, calls = np.zeros((4, 3)), [0]
    run(q0, parameters=given)

    def count(frame: Any, event: str, _: Any) -> None:
        calls[0] += event == "call" and "linkwise" in frame.f_code.co_filename

    sys.setprofile(count)
    try:
        run(q0, parameters=given)
    finally:
        sys.setprofile(None)
    assert calls[0] < 600
