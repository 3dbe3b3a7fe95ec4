"""Rollouts and simulations: names and shapes of parameters, dtypes, targets, and options that do not fit together."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import linkwise as lw
from fake_cuda import Foreign
from linkwise.kernels.cuda.driver import device
from linkwise.kernels.cuda.memory import DeviceArray
from linkwise.simulation.rollout_arrays import on_host
from robots import pendulum

pytest.importorskip("llvmlite")
PLANAR = lw.load("planar3")
START = {"steps": 6, "step": 0.01}


def rolled(q0: Any, **options: Any) -> np.ndarray:
    return np.asarray(lw.rollout(PLANAR, q0, steps=6, step=0.01, **options).q_end)


def simulated(q0: Any, **options: Any) -> np.ndarray:
    run = lw.simulate(PLANAR, q0, duration=0.06, integrator="rk4", step=0.01, samples=2, compiled=True, **options)
    return run.q[..., -1, :]


BOTH = pytest.mark.parametrize("run", [rolled, simulated])


def renamed(law: str, name: str) -> Any:
    """A torque function whose parameter has this name, whatever it is."""
    return eval(f"lambda a, b, c, d, {name}: {law.format(name)}", {"np": np})


# names


@pytest.mark.parametrize("name", ["q0", "qd0", "torque", "table", "wrench", "tau", "y", "q", "qd", "t", "arm", "own_k"])
@BOTH
def test_parameters_may_have_any_name(run: Callable[..., np.ndarray], name: str) -> None:
    q0 = np.array([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]])
    for values in ([0.2, -0.1, 0.3], [[0.2], [0.1]]):
        expected = run(q0, torque=lambda arm, t, q, qd, k: k * (1.0 - c_(q)), parameters={"k": values})
        found = run(q0, torque=renamed("{} * (1.0 - c)", name), parameters={name: values})
        assert np.array_equal(found, expected)


def c_(q: Any) -> Any:
    return q


@pytest.mark.parametrize("name", ["q0", "qd0", "torque", "table", "own_kd", "k", "h", "count", "steps"])
def test_symbols_may_have_the_names_of_arrays(name: str, place: str) -> None:
    masses = np.array([0.5, 1.0, 2.0])
    options: dict[str, Any] = {**START, "qd0": [0.7], "torque": [1.0]}
    expected = lw.rollout(pendulum(lw.symbols("m")), [0.3], parameters={"m": masses}, **options)
    for target in ("cpu", "cuda"):
        found = lw.rollout(pendulum(lw.symbols(name)), [0.3], parameters={name: masses}, target=target, **options)
        assert np.array_equal(found.q_end, expected.q_end)


# shapes


def law(arm: Any, t: Any, q: Any, qd: Any, goal: Any) -> Any:
    return 0.1 * (goal - q) - 0.01 * qd


@BOTH
def test_the_torque_function_decides_whose_the_numbers_of_a_parameter_are(run: Callable[..., np.ndarray]) -> None:
    goals = np.array([0.1, 0.2, 0.3])
    expected = run(np.zeros((2, 3)), torque=law, parameters={"goal": goals})[0]
    for count in (1, 2, 3, 4):
        q0 = np.zeros((count, 3))
        assert np.array_equal(run(q0, torque=law, parameters={"goal": goals[None]}), [expected] * count)
        each = np.outer(np.arange(count), goals)
        assert np.array_equal(
            run(q0, torque=law, parameters={"goal": each})[-1], run(q0[0], torque=law, parameters={"goal": each[-1]})
        )
    with pytest.raises(ValueError, match=r"'goal' has shape \(3,\), which may be .*shape \(3, 1\) .*\(1, 3\)"):
        run(np.zeros((3, 3)), torque=law, parameters={"goal": goals})
    numbers = run(np.zeros((3, 3)), torque=law, parameters={"goal": goals[:, None]})
    assert np.array_equal(numbers[1], run(np.zeros(3), torque=law, parameters={"goal": 0.2}))
    # taken whole, since nothing else gives three torques
    gains = np.diag([0.1, 0.2, 0.3])
    whole = run(np.ones((3, 3)), torque=lambda arm, t, q, qd, K: -K @ q, parameters={"K": gains})
    assert np.array_equal(whole[0], run(np.ones(3), torque=lambda arm, t, q, qd: -gains @ q))
    picked = run(np.ones((3, 3)), torque=lambda arm, t, q, qd, k: -k[1] * q, parameters={"k": goals})
    assert np.array_equal(picked[2], run(np.ones(3), torque=lambda arm, t, q, qd: -0.2 * q))


@BOTH
def test_gains_of_linkwises_own_laws(run: Callable[..., np.ndarray]) -> None:
    servo, gains = lw.pd_gravity([0.1, 0.2, 0.3], kp=0.06, kd=0.01), np.array([0.04, 0.05, 0.06])
    with pytest.raises(ValueError, match=r"'kp' has shape \(3,\), which may be"):
        run(np.zeros((3, 3)), torque=servo, parameters={"kp": gains})
    each = run(np.zeros((3, 3)), torque=servo, parameters={"kp": gains[:, None]})
    assert np.array_equal(each[1], run(np.zeros(3), torque=servo, parameters={"kp": 0.05}))
    for_all = run(np.zeros((3, 3)), torque=servo, parameters={"kp": gains[None]})
    assert np.array_equal(for_all[1], run(np.zeros(3), torque=servo, parameters={"kp": gains}))


def test_functions_that_cannot_be_traced_decide_too() -> None:
    def python(arm: Any, t: float, q: Any, qd: Any, k: Any) -> Any:
        return -k * q if float(q[0]) > -5.0 else q

    options: dict[str, Any] = {"duration": 0.02, "samples": 2, "torque": python, "compiled": False}
    options |= {"integrator": "rk4", "step": 0.01}
    found = lw.simulate(PLANAR, np.ones((3, 3)), parameters={"k": [[0.1], [0.2], [0.3]]}, **options)
    one = lw.simulate(PLANAR, np.ones(3), parameters={"k": 0.2}, **options)
    assert np.allclose(found.q[1], one.q)
    with pytest.raises(ValueError, match="which may be"):
        lw.simulate(PLANAR, np.ones((3, 3)), parameters={"k": [0.1, 0.2, 0.3]}, **options)


def test_sweeps_and_frozen_simulations_know_whose_the_numbers_are(tmp_path: Any) -> None:
    goals = np.array([0.1, 0.2, 0.3])
    samples = {"q0": np.zeros((3, 3)), "goal": goals}
    swept = lw.sweep(PLANAR, samples, tmp_path, duration=0.02, torque=law, integrator="rk4", step=0.01).read()
    options: dict[str, Any] = {"torque": law, "integrator": "rk4", "step": 0.01}
    frozen = lw.compile_simulation(PLANAR, parameters={"goal": goals}, **options)
    frozen_one = lw.compile_simulation(PLANAR, parameters={"goal": 0.2}, **options)
    whole = frozen(np.zeros((3, 3)), duration=0.02)
    assert np.allclose(whole.q[0], whole.q[2])
    assert not np.allclose(swept["q_end"][0], swept["q_end"][2])
    assert np.allclose(swept["q_end"][1], frozen_one(np.zeros(3), duration=0.02).q[-1])


# dtypes


@pytest.mark.parametrize("kind", ["complex64", "bool", "complex128"])
def test_arrays_on_gpus_have_real_numbers(kind: str, place: str) -> None:
    q0 = Foreign(np.zeros((2, 3), kind))
    with pytest.raises(TypeError, match=f"q0 has dtype {kind}"):
        lw.rollout(PLANAR, q0, **START, target="cuda")
    with pytest.raises(TypeError, match=f"qd0 has dtype {kind}"):
        lw.rollout(PLANAR, Foreign(np.zeros((2, 3))), q0, **START, target="cuda")


class OnlyDlpack:
    def __init__(self, array: np.ndarray) -> None:
        self.array = DeviceArray(device(0), array.shape, array.dtype.name).copy_from(array)

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.__dlpack_device__()


def test_the_dtype_is_that_of_q0(place: str) -> None:
    q0 = np.array([[0.1, 0.2, 0.3]], "float32")
    expected = lw.rollout(PLANAR, q0, **START)
    assert expected.q_end.dtype == "float32"
    assert np.array_equal(lw.rollout(PLANAR, q0.astype(">f4"), **START).q_end, expected.q_end)
    found = lw.rollout(PLANAR, OnlyDlpack(q0), **START, target="cuda")
    assert np.array_equal(found.q_end.copy_to_host(), expected.q_end)


# options


def test_simulations_and_rollouts_do_not_run_in_webassembly(tmp_path: Any) -> None:
    for run in (
        lambda: lw.rollout(PLANAR, np.zeros(3), **START, target="wasm"),
        lambda: lw.simulate(PLANAR, np.zeros(3), duration=1.0, target="wasm"),
        lambda: lw.sweep(PLANAR, {"q0": np.zeros((2, 3))}, tmp_path / "sweep", duration=1.0, target="wasm"),
        lambda: lw.compile_simulation(PLANAR, target="wasm"),
    ):
        with pytest.raises(ValueError, match=r"target is 'wasm' \(expected 'cpu' or 'cuda'; lw\.wasm_simulation"):
            run()
    assert not (tmp_path / "sweep").exists()


def test_options_that_would_be_ignored_are_refused(place: str) -> None:
    with pytest.raises(ValueError, match="stream is given, and q0 is not on a GPU"):
        lw.rollout(PLANAR, np.zeros(3), **START, target="cuda", stream="abc")
    for run in (
        lambda **o: lw.rollout(PLANAR, np.zeros(3), **START, **o),
        lambda **o: lw.simulate(PLANAR, np.zeros(3), duration=1.0, **o),
    ):
        with pytest.raises(ValueError, match="threads is given, and target is 'cuda'"):
            run(target="cuda", threads=0)


def test_rest_is_not_copied_to_the_gpu(place: str) -> None:
    """So that nobody waits for the stream."""
    q0 = DeviceArray(device(0), (2, 3), "float64").copy_from(np.ones((2, 3)))
    seen: list[Any] = []
    patch = pytest.MonkeyPatch()
    with patch.context() as inside:
        inside.setattr(type(device(0)), "synchronize", lambda *_: seen.append(1))
        found = lw.rollout(PLANAR, q0, **START, target="cuda")
    assert not seen
    assert np.array_equal(found.q_end.copy_to_host(), lw.rollout(PLANAR, np.ones((2, 3)), **START).q_end)


# arrays of torch


class Hidden:
    """A tensor that requires gradients does not show this."""

    @property
    def __cuda_array_interface__(self) -> Any:
        raise RuntimeError("no")


class WithGradients:
    """As torch's tensors refuse it."""

    requires_grad = True

    def __array__(self, *args: Any, **named: Any) -> Any:
        raise RuntimeError("Can't call numpy() on Tensor that requires grad.")


def test_tensors_with_gradients() -> None:
    assert not on_host(Hidden())
    for run in (
        lambda: lw.rollout(PLANAR, WithGradients(), **START),
        lambda: lw.compile(lw.gravity_torque, PLANAR)(WithGradients()),
        lambda: lw.rollout(PLANAR, np.zeros((2, 3)), torque=WithGradients(), **START),
    ):
        with pytest.raises(TypeError, match=r"requires a gradient, which kernels do not give \(expected x\.detach\(\)"):
            run()


class OnGpu:
    """As torch's tensors on a GPU refuse it."""

    def __array__(self, *args: Any, **named: Any) -> Any:
        raise TypeError("can't convert cuda:0 device type tensor to numpy")


def test_arrays_on_a_gpu_without_a_target() -> None:
    with pytest.raises(TypeError, match=r"q0 is .*for target='cuda'"):
        lw.rollout(PLANAR, OnGpu(), **START)


def test_widths_are_told_by_the_first_and_last_joints() -> None:
    with pytest.raises(
        ValueError, match=r"\(expected \(\.\.\., 7\): one number for each of .*_joint3, \.\.\., fr3_joint7\)"
    ):
        lw.rollout(lw.load("fr3"), np.zeros((4, 5)), steps=1, step=1e-3)


def test_a_gpu_is_called_cuda() -> None:
    with pytest.raises(ValueError, match=r"target is 'gpu', did you mean 'cuda'\?"):
        lw.rollout(PLANAR, np.zeros(3), steps=1, step=1e-3, target="gpu")
