"""What users of torch, of random masses and of other targets get wrong in rollouts, kernels and modules is said."""

from typing import Any

import numpy as np
import pytest

import linkwise as lw
from fake_cuda import Foreign
from linkwise.kernels.cuda.driver import device
from linkwise.kernels.cuda.memory import DeviceArray
from robots import pendulum

PLANAR = lw.load("planar3")
pytest.importorskip("llvmlite")
START: dict[str, Any] = {"steps": 1, "step": 1e-3}
ZEROS = np.zeros((4, 3))


# numbers of symbols


@pytest.mark.parametrize("target", ["cpu", "cuda"])
def test_masses_that_no_body_has_are_refused(target: str, place: str) -> None:
    loaded = PLANAR.with_payload(lw.symbols("load"))
    run = lw.compile_rollout(loaded, **START, target=target)
    with pytest.raises(
        ValueError, match=r"parameters: mass of link 'payload' is -50.0 for trajectory \[1\] \(expected"
    ):
        run(np.zeros((2, 3)), parameters={"load": [1.0, -50.0]})
    with pytest.raises(ValueError, match=r"parameters: mass of link 'payload' is -1.0 .expected a number that is not"):
        run(np.zeros(3), parameters={"load": -1.0})
    assert run(np.zeros((2, 3)), parameters={"load": [0.0, 1.0]}).finite.tolist() == [1, 1]


def test_expressions_of_symbols_are_looked_at_too() -> None:
    total, first = lw.symbols("total first")
    arm = pendulum(total - first)
    run = lambda total, first: lw.rollout(arm, [0.3], **START, parameters={"total": total, "first": first})  # noqa: E731
    assert run([1.0, 2.0], 0.5).q_end.shape == (2, 1)
    with pytest.raises(ValueError, match=r"mass of link 'link1' is -0.5 for trajectory \[1\]"):
        run([1.0, 0.5], [0.5, 1.0])
    rows = [{**dict(row), "unphysical": True} for row in arm.rows]  # as identification may find them
    arm = lw.Robot.from_dh(rows, convention="standard", name="p", gravity=(0, -9.81, 0))
    assert run([1.0, 0.5], [0.5, 1.0]).q_end.shape == (2, 1)


def test_friction_is_not_negative_and_arrays_on_a_gpu_are_not_looked_at(place: str) -> None:
    row = {"joint": "revolute", "a": 0.7, "alpha": 0, "d": 0, "mass": 1.0, "com": (0, 0, 0), "viscous_friction": 0.1}
    row |= {"inertia": np.diag([0.01, 0.01, 0.01]).tolist(), "viscous_friction": lw.symbols("c")}
    arm = lw.Robot.from_dh([row], convention="standard", name="p", gravity=(0, -9.81, 0))
    with pytest.raises(ValueError, match=r"viscous_friction of link 'link1' is -0.1"):
        lw.rollout(arm, [0.3], **START, friction=True, parameters={"c": -0.1})
    q0, c = (DeviceArray(device(0), (2, 1)[:k], "float64") for k in (2, 1))
    q0.copy_from(np.ones((2, 1)))
    c.copy_from(-np.ones(2))
    assert lw.rollout(arm, q0, **START, friction=True, parameters={"c": c}, target="cuda").q_end.shape == (2, 1)


# torque functions


def test_torch_in_a_torque_function() -> None:
    torch = pytest.importorskip("torch")
    limit = torch.ones(3)
    for law in (
        lambda arm, t, q, qd: torch.clamp(q, -1, 1),
        lambda arm, t, q, qd: np.clip(q, -limit, limit),
        lambda arm, t, q, qd: limit * q,
        lambda arm, t, q, qd: q * limit,
        lambda arm, t, q, qd: torch.eye(3) @ q,
        lambda arm, t, q, qd: torch.sin(t) * q,
    ):
        with pytest.raises(TypeError, match=r"cannot be traced .*torch.*: write np\.clip .*parameters"):
            lw.rollout(PLANAR, ZEROS, **START, torque=law)


def test_the_shapes_of_parameters_are_told() -> None:
    law = lambda arm, t, q, qd, kp, kd: -kp * q - kd * qd  # noqa: E731
    given = {"kp": np.ones((4, 2)), "kd": 1.0}
    with pytest.raises(TypeError, match=r"could not be broadcast .*; a trajectory has kd \(\), kp \(2,\)"):
        lw.rollout(PLANAR, ZEROS, **START, torque=law, parameters=given)
    with pytest.raises(ValueError, match="could not be broadcast") as caught:
        lw.simulate(PLANAR, ZEROS, duration=1e-3, torque=law, parameters=given)
    assert caught.value.__notes__ == ["a trajectory has kd (), kp (2,)"]


# arrays


def test_arrays_for_results_are_told_by_kind_and_shape() -> None:
    torch = pytest.importorskip("torch")
    kernel = lw.compile(lw.gravity_torque, PLANAR)
    with pytest.raises(
        ValueError, match=r"^out is a torch.Tensor \(4, 3\) \(expected a NumPy array of float64, \(4, 3"
    ):
        kernel(ZEROS, out=torch.zeros(4, 3))
    run = lw.rollout(PLANAR, ZEROS, **START, every=1)
    with pytest.raises(TypeError, match=r"^out is a numpy.ndarray \(4, 2, 3\) \(expected what an earlier lw.rollout"):
        lw.rollout(PLANAR, ZEROS, **START, out=run.q)


def test_numbers_of_two_bytes_are_refused_everywhere(place: str) -> None:
    torch = pytest.importorskip("torch")
    kernel = lw.compile(lw.gravity_torque, PLANAR, target="cuda")
    for run in (
        lambda: lw.rollout(PLANAR, ZEROS.astype("float16"), **START),
        lambda: lw.rollout(PLANAR, Foreign(ZEROS.astype("float16")), **START, target="cuda"),
        lambda: kernel(Foreign(ZEROS.astype("float16"))),
        lambda: lw.rollout(PLANAR, torch.zeros(4, 3, dtype=torch.bfloat16), **START),
    ):
        with pytest.raises(TypeError, match=r"^q0? has dtype b?float16 \(expected real numbers: float32, float64 or"):
            run()


def test_gradients_are_where_they_are(place: str) -> None:
    torch = pytest.importorskip("torch")
    q = torch.zeros(3, requires_grad=True)
    with pytest.raises(TypeError, match=r"expected x\.detach\(\); lw\.inverse_dynamics\(arm, \.\.\.\) .* gradients"):
        lw.compile(lw.gravity_torque, PLANAR)(q)
    q0 = DeviceArray(device(0), (3,), "float64").copy_from(np.zeros(3))
    with pytest.raises(TypeError, match=r"torch.Tensor, is on the CPU .*; x\.cuda\(\), or x\.numpy\(\) where NumPy"):
        lw.rollout(PLANAR, q0, **START, torque=torch.zeros(3), target="cuda")


def test_rollouts_and_simulations_are_not_traced() -> None:
    for make in (lw.wasm, lw.compile, lw.ptx_source, lw.trace, lw.c_source):
        for function in (lw.rollout, lw.simulate):
            name = function.__name__
            with pytest.raises(
                TypeError, match=rf"^lw\.{name} cannot be traced .*lw\.compile_{name[:3]}.*lw\.wasm_sim"
            ):
                make(function, PLANAR)
