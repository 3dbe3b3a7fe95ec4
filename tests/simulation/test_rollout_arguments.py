"""Rollouts and simulations: names and shapes of parameters, dtypes, targets, and options that do not fit together."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import linkwise as lw
from facts import raises
from fake_cuda import Foreign
from linkwise.kernels.arrays import on_host
from linkwise.targets.cuda.driver import device
from linkwise.targets.cuda.memory import DeviceArray
from robots import pendulum

pytest.importorskip("llvmlite")
PLANAR = lw.load("planar3")
START = {"steps": 6, "dt": 0.01}


def rolled(q0: Any, **options: Any) -> np.ndarray:
    return np.asarray(lw.rollout(PLANAR, q0, steps=6, dt=0.01, **options).q_end)


def simulated(q0: Any, **options: Any) -> np.ndarray:
    run = lw.simulate(PLANAR, q0, duration=0.06, integrator="rk4", dt=0.01, samples=2, compiled=True, **options)
    return run.q[..., -1, :]


BOTH = pytest.mark.parametrize("run", [rolled, simulated])


def renamed(law: str, name: str) -> Any:
    """A torque function whose parameter has this name, whatever it is."""
    return eval(f"lambda a, b, c, d, {name}: {law.format(name)}", {"np": np})


# names


@pytest.mark.parametrize(
    "name", ["q0", "qd0", "torque", "table", "wrench", "tau", "y", "q", "qd", "t", "arm", "own_k", "name"]
)
@BOTH
def test_parameters_may_have_any_name(run: Callable[..., np.ndarray], name: str) -> None:
    q0 = np.array([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]])
    for values in ([0.2, -0.1, 0.3], lw.per_trajectory([[0.2], [0.1]])):
        expected = run(q0, torque=lambda arm, t, q, qd, k: k * (1.0 - c_(q)), parameters={"k": values})
        found = run(q0, torque=renamed("{} * (1.0 - c)", name), parameters={name: values})
        assert np.array_equal(found, expected)


def c_(q: Any) -> Any:
    return q


@pytest.mark.parametrize("name", ["q0", "qd0", "torque", "table", "own_kd", "k", "h", "count", "steps"])
def test_symbols_may_have_the_names_of_arrays(name: str, place: str) -> None:
    masses = lw.per_trajectory(np.array([0.5, 1.0, 2.0]))
    options: dict[str, Any] = {**START, "qd0": [0.7], "torque": [1.0]}
    expected = lw.rollout(pendulum(lw.symbols("m")), [0.3], parameters={"m": masses}, **options)
    for target in ("cpu", "cuda"):
        found = lw.rollout(pendulum(lw.symbols(name)), [0.3], parameters={name: masses}, target=target, **options)
        assert np.array_equal(found.q_end, expected.q_end)


# shapes


def law(arm: Any, t: Any, q: Any, qd: Any, goal: Any) -> Any:
    return 0.1 * (goal - q) - 0.01 * qd


LAWS: list[tuple[Any, tuple[int, ...]]] = [  # a torque function of one parameter, and a shape that this may have
    (lambda arm, t, q, qd, k: 0.1 * (k - q) - 0.01 * qd, ()),
    (lambda arm, t, q, qd, k: 0.1 * (k - q) - 0.01 * qd, (3,)),
    (lambda arm, t, q, qd, k: 0.1 * (k - q) - 0.01 * qd, (1,)),
    (lambda arm, t, q, qd, k: -k @ q, (3, 3)),
    (lambda arm, t, q, qd, k: -k[0] * q - k[1] * qd, (2,)),
    (lambda arm, t, q, qd, k: -k[0] * q - k[1] * qd, (2, 3)),
    (lambda arm, t, q, qd, k: -np.mean(k) * q, (3,)),
    (lambda arm, t, q, qd, k: k[0] + (k[-1] - k[0]) * t - q, (4, 3)),  # waypoints
    (lw.control.pd_gravity([0.1, 0.2, 0.3], kp=0.06, kd=0.01), ()),
    (lw.control.pd_gravity([0.1, 0.2, 0.3], kp=0.06, kd=0.01), (3,)),
]


def plain(q0: Any, **options: Any) -> np.ndarray:
    """The same steps in Python."""
    run = lw.simulate(PLANAR, q0, duration=0.01, integrator="rk4", dt=0.01, samples=2, compiled=False, **options)
    return run.q[..., -1, :]


@pytest.mark.parametrize("run", [rolled, simulated, plain])
def test_an_array_is_for_all_trajectories_unless_it_is_marked(run: Callable[..., np.ndarray]) -> None:
    """Whatever the function is, and whether its shape happens to be that of the batch or not."""
    rng = np.random.default_rng(5)
    python = run is plain  # slow, and the parameters are prepared by the same text
    for law, shape in LAWS[3:7:3] if python else LAWS:
        name = "kp" if hasattr(law, "kp") else "k"
        for batch in [(3,)] if python else [(1,), (2,), (3,), (4,), (2, 3)]:
            q0, each = rng.normal(size=(*batch, 3)), rng.uniform(0.1, 0.5, (*batch, *shape))
            last = tuple(size - 1 for size in batch)
            shared = run(q0, torque=law, parameters={name: each[last]})
            marked = run(q0, torque=law, parameters={name: lw.per_trajectory(each)})
            for place in [(0,) * len(batch), last]:
                alone = run(q0[place], torque=law, parameters={name: each[last]})
                assert np.array_equal(shared[place], alone)
                alone = run(q0[place], torque=law, parameters={name: each[place]})
                assert np.array_equal(marked[place], alone)


def test_marks_that_do_not_fit_are_refused() -> None:
    law = lambda arm, t, q, qd, k: -k * q  # noqa: E731
    for run in (rolled, simulated):
        with raises(ValueError, "k", "(2,)", "(3,)"):
            run(np.zeros((3, 3)), torque=law, parameters={"k": lw.per_trajectory([1.0, 2.0])})
        with raises(ValueError, "'k'", "lw.per_trajectory", "q0", "qd0"):
            run(np.zeros(3), torque=law, parameters={"k": lw.per_trajectory([1.0, 2.0, 3.0])})
        with raises((TypeError, ValueError), "lw.per_trajectory"):  # a gain for each, without the mark
            run(np.zeros((4, 3)), torque=law, parameters={"k": [1.0, 2.0, 3.0, 4.0]})
    for function in (lw.rollout, lw.simulate):
        with raises(ValueError, "'k'", "lw.per_trajectory", "lw.Input"):
            lw.compile(function, PLANAR, torque=law, parameters={"k": lw.per_trajectory([1.0, 2.0])})
    with raises(ValueError, "'k'", "lw.per_trajectory", "q0", "qd0"):
        lw.wasm(lw.simulate, PLANAR, torque=law, parameters={"k": lw.per_trajectory([1.0, 2.0])})
    family = pendulum(lw.symbols("m"))
    for call in (partial(lw.rollout, family, **START), partial(lw.wasm, lw.simulate, family)):
        with raises(ValueError, "m", "(1,)"):
            call(q0=[0.3], parameters={"m": [1.0]})


def test_compiled_simulations_take_parameters_by_their_shape() -> None:
    law = lambda arm, t, q, qd, K, kd: -K @ q - kd * qd  # noqa: E731
    options: dict[str, Any] = {"integrator": "rk4", "dt": 0.01, "samples": 2}
    shapes = {"K": lw.Input(3, 3), "kd": 0.1}
    run = lw.compile(lw.simulate, PLANAR, torque=law, parameters=shapes, **options)
    rng = np.random.default_rng(6)
    q0, gains = rng.normal(size=(3, 3)), rng.normal(size=(3, 3, 3))
    for given in (gains[0], lw.per_trajectory(gains)):
        expected = lw.simulate(PLANAR, q0, duration=0.05, torque=law, parameters={"K": given, "kd": 0.1}, **options)
        assert np.array_equal(run(q0, duration=0.05, parameters={"K": given}).q, expected.q)
    with raises(ValueError, "K"):
        run(q0, duration=0.05)
    with raises(ValueError, "K", "(3, 3, 3)", "per_trajectory"):
        run(q0, duration=0.05, parameters={"K": gains})


def test_samples_of_a_sweep_follow_the_same_rule(tmp_path: Any) -> None:
    law = lambda arm, t, q, qd, K: -K @ q  # noqa: E731
    rng = np.random.default_rng(7)
    q0, gains = rng.normal(size=(3, 3)), rng.normal(size=(3, 3, 3))
    options: dict[str, Any] = {"torque": law, "integrator": "rk4", "dt": 0.01, "progress": False}
    for k, given in enumerate((gains[0], lw.per_trajectory(gains))):
        swept = lw.sweep(PLANAR, {"q0": q0, "K": given}, tmp_path / str(k), duration=0.02, **options)
        expected = simulated_for(0.02, q0, law, given)
        assert np.allclose(swept.read()["q_end"], expected, rtol=0.0, atol=1e-14)
    with pytest.raises(ValueError, match=r"K 2|q0 3"):
        lw.sweep(PLANAR, {"q0": q0, "K": lw.per_trajectory(gains[:2])}, tmp_path / "x", duration=0.02, **options)
    drawn = lw.sweeps.monte_carlo(3, 1, K=(np.zeros((3, 3)), np.ones((3, 3))), q0=([0] * 3, [1] * 3))
    few = {"q0": drawn["q0"][:2], "K": lw.per_trajectory(drawn["K"].values[:2])}
    swept = lw.sweep(PLANAR, few, tmp_path / "few", duration=0.02, **options).read()
    assert np.allclose(swept["q_end"], simulated_for(0.02, few["q0"], law, few["K"]), rtol=0.0, atol=1e-14)


def simulated_for(duration: float, q0: Any, law: Any, given: Any) -> np.ndarray:
    options: dict[str, Any] = {"integrator": "rk4", "dt": 0.01, "samples": 2}
    return lw.simulate(PLANAR, q0, duration=duration, torque=law, parameters={"K": given}, **options).q[:, -1]


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
        lambda: lw.compile(lw.simulate, PLANAR, target="wasm"),
    ):
        with raises(ValueError, "target", "'wasm'", "'cpu'", "'cuda'", "lw.wasm", "lw.simulate"):
            run()
    assert not (tmp_path / "sweep").exists()


def test_options_that_would_be_ignored_are_refused(place: str) -> None:
    with raises(ValueError, "stream", "q0", "GPU"):
        lw.rollout(PLANAR, np.zeros(3), **START, target="cuda", stream="abc")
    for run in (
        lambda **o: lw.rollout(PLANAR, np.zeros(3), **START, **o),
        lambda **o: lw.simulate(PLANAR, np.zeros(3), duration=1.0, **o),
    ):
        with raises(ValueError, "threads", "'cuda'", "target='cpu'"):
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
        with raises(TypeError, "gradient", "x.detach()"):
            run()


class OnGpu:
    """As torch's tensors on a GPU refuse it."""

    def __array__(self, *args: Any, **named: Any) -> Any:
        raise TypeError("can't convert cuda:0 device type tensor to numpy")


def test_arrays_on_a_gpu_without_a_target() -> None:
    with raises(TypeError, "q0", "target='cuda'"):
        lw.rollout(PLANAR, OnGpu(), **START)


def test_widths_are_told_by_the_first_and_last_joints() -> None:
    with raises(ValueError, "(..., 7)", "fr3_joint1, fr3_joint2, fr3_joint3, ..., fr3_joint7"):
        lw.rollout(lw.load("fr3"), np.zeros((4, 5)), steps=1, dt=1e-3)


def test_wrenches_beside_a_batch_of_torques_are_those_of_simulate() -> None:
    """(4, 6) beside four torques are wrenches on the tip, one for each trajectory."""
    rng = np.random.default_rng(8)
    tau, wrench = 0.1 * rng.normal(size=(4, 3)), 0.1 * rng.normal(size=(4, 6))
    q0 = rng.normal(size=3)
    assert np.allclose(rolled(q0, torque=tau, wrench=wrench), simulated(q0, torque=tau, wrench=wrench), atol=1e-12)
    table = np.repeat(tau[:, None], 6, axis=1)
    assert np.array_equal(rolled(q0, table=table, wrench=wrench), rolled(q0, torque=tau, wrench=wrench))
    with raises(ValueError, "wrench", "(3, 6)", "{'link3': ...}", "(3, 3, 6)"):
        rolled(q0, torque=tau[:3], wrench=wrench[:3])
    family = pendulum(lw.symbols("m"))
    with raises(ValueError, "m", "(2,)", "(2, 2)"):
        lw.rollout(family, np.zeros((2, 2, 1)), parameters={"m": lw.per_trajectory([1.0, 2.0])}, **START)


def test_parameters_that_kept_their_defaults_are_not_given_later() -> None:
    law = lambda arm, t, q, qd, kp, kd=0.1: -kp * q - kd * qd  # noqa: E731
    for function in (lw.rollout, lw.simulate):
        run = lw.compile(function, PLANAR, torque=law, parameters={"kp": lw.Input()})
        rest: dict[str, Any] = START if function is lw.rollout else {"duration": 0.01}
        with raises(ValueError, "kd"):
            run(np.zeros(3), parameters={"kp": 1.0, "kd": 1.0}, **rest)
