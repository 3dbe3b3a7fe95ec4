"""What users of torch, of random masses and of other targets get wrong in rollouts, kernels and modules is said."""

from typing import Any

import numpy as np
import pytest

import linkwise as lw
from facts import raises
from fake_cuda import Foreign
from linkwise.simulation.rollout_inputs import inconsistent_tensors, minors
from linkwise.targets.cuda.driver import device
from linkwise.targets.cuda.memory import DeviceArray
from robots import pendulum

PLANAR = lw.load("planar3")
pytest.importorskip("llvmlite")
START: dict[str, Any] = {"steps": 1, "dt": 1e-3}
ZEROS = np.zeros((4, 3))


# numbers of symbols


@pytest.mark.parametrize("target", ["cpu", "cuda"])
def test_masses_that_no_body_has_are_refused(target: str, place: str) -> None:
    loaded = PLANAR.with_payload(lw.symbols("load"))
    run = lw.compile(lw.rollout, loaded, **START, target=target)
    with raises(ValueError, "mass", "payload", "-50.0", "[1]"):
        run(np.zeros((2, 3)), parameters={"load": lw.per_trajectory([1.0, -50.0])})
    with raises(ValueError, "parameters:", "mass", "link 'payload'", "-1.0"):
        run(np.zeros(3), parameters={"load": -1.0})
    assert run(np.zeros((2, 3)), parameters={"load": lw.per_trajectory([0.0, 1.0])}).finite.tolist() == [1, 1]


def test_expressions_of_symbols_are_looked_at_too() -> None:
    total, first = lw.symbols("total first")
    arm = pendulum(total - first)

    def run(total: Any, first: Any) -> Any:
        numbers = {"total": lw.per_trajectory(total), "first": lw.per_trajectory(first)}
        return lw.rollout(arm, [0.3], **START, parameters=numbers)

    assert run([1.0, 2.0], 0.5).q_end.shape == (2, 1)
    with raises(ValueError, "mass", "'link1'", "-0.5", "[1]"):
        run([1.0, 0.5], [0.5, 1.0])
    rows = [{**dict(row), "unphysical": True} for row in arm.rows]  # as identification may find them
    arm = lw.Robot.from_dh(rows, convention="standard", name="p", gravity=(0, -9.81, 0))
    assert run([1.0, 0.5], [0.5, 1.0]).q_end.shape == (2, 1)


def test_friction_is_not_negative_and_arrays_on_a_gpu_are_not_looked_at(place: str) -> None:
    row = {"joint": "revolute", "a": 0.7, "alpha": 0, "d": 0, "mass": 1.0, "com": (0, 0, 0), "viscous_friction": 0.1}
    row |= {"inertia": np.diag([0.01, 0.01, 0.01]).tolist(), "viscous_friction": lw.symbols("c")}
    arm = lw.Robot.from_dh([row], convention="standard", name="p", gravity=(0, -9.81, 0))
    with raises(ValueError, "viscous_friction", "'link1'", "-0.1"):
        lw.rollout(arm, [0.3], **START, friction=True, parameters={"c": -0.1})
    q0, c = (DeviceArray(device(0), (2, 1)[:k], "float64") for k in (2, 1))
    q0.copy_from(np.ones((2, 1)))
    c.copy_from(-np.ones(2))
    assert lw.rollout(
        arm, q0, **START, friction=True, parameters={"c": lw.per_trajectory(c)}, target="cuda"
    ).q_end.shape == (2, 1)


def test_numbers_beside_arrays_on_a_gpu_are_looked_at(place: str) -> None:
    """Entries of the table that depend on these alone."""
    row = {"joint": "revolute", "a": 0.7, "alpha": 0, "d": 0, "com": (0, 0, 0)}
    masses, body = lw.symbols("m1 m2"), {"inertia": np.diag([0.01, 0.01, lw.symbols("i")]).tolist()}
    arm = lw.Robot.from_dh([{**row, **body, "mass": m} for m in masses], convention="standard", name="two")
    minus = DeviceArray(device(0), (2,), "float64").copy_from(-np.ones(2))
    there = dict.fromkeys(("m2", "i"), lw.per_trajectory(minus))
    q0 = DeviceArray(device(0), (2, 2), "float64").copy_from(np.zeros((2, 2)))
    run = lambda **numbers: lw.rollout(arm, q0, **START, parameters={**there, **numbers}, target="cuda")  # noqa: E731
    with raises(ValueError, "mass", "'link1'", "-5.0"):
        run(m1=-5.0)
    with raises(ValueError, "inertia", "link 'link1'", "0.01 + 0.01 < 5"):
        run(m1=1.0, i=lw.per_trajectory([0.01, 5.0]))
    assert run(m1=lw.per_trajectory([1.0, 2.0])).q_end.shape == (2, 2)
    torch = pytest.importorskip("torch")
    numbers = {"m1": lw.per_trajectory(torch.tensor([1.0, -50.0])), "m2": 1.0, "i": 0.01}
    with raises(ValueError, "mass", "'link1'", "-50.0", "[1]"):
        lw.rollout(arm, np.zeros((2, 2)), **START, parameters=numbers)


def test_parameters_that_are_not_finite_lose_their_trajectories(place: str) -> None:
    """Also where they are only compared, or not used at all."""
    numbers = DeviceArray(device(0), (4,), "float64").copy_from(np.array([1.0, np.nan, np.inf, -np.inf]))
    q0 = DeviceArray(device(0), (4, 3), "float64").copy_from(np.zeros((4, 3)))
    laws = [
        lambda arm, t, q, qd, k: np.where(k > 0, 1.0, -1.0) * np.ones(3),
        lambda arm, t, q, qd, k: np.clip(q, -1.0 - abs(k), 1.0),
        lambda arm, t, q, qd, k: -q,
    ]
    options: dict[str, Any] = {"steps": 3, "dt": 0.01, "every": 1}
    for law in laws:
        run = lw.rollout(PLANAR, q0, torque=law, parameters={"k": lw.per_trajectory(numbers)}, target="cuda", **options)
        assert run.finite.copy_to_host().tolist() == [3, 0, 0, 0]
        for found in (run.q, run.qd, run.q_end, run.qd_end):
            assert np.isnan(found.copy_to_host()[1:]).all()
        right = lw.rollout(PLANAR, np.zeros(3), torque=law, parameters={"k": 1.0}, **options)
        assert np.array_equal(run.q.copy_to_host()[0], right.q)


def test_inertias_that_no_body_has_are_refused() -> None:
    i, f = lw.symbols("i f")
    row = {"joint": "revolute", "a": 0.7, "alpha": 0, "d": 0, "mass": 1.0, "com": (0, 0, 0)}
    tensor = [[f * 0.01, 0, 0], [0, f * 0.01, 0], [0, 0, i]]
    arm = lw.Robot.from_dh([{**row, "inertia": tensor}], convention="standard", name="p", gravity=(0, -9.81, 0))
    run = lambda i, f: lw.rollout(arm, [0.3], **START, parameters={"i": i, "f": lw.per_trajectory(f)})  # noqa: E731
    assert run(0.01, [1.0, 2.0, 0.5]).finite.tolist() == [1, 1, 1]  # up to a plate
    with raises(ValueError, "inertia", "link 'link1'", "-0.01 kg m2", "trajectory [1]"):
        run(0.01, [1.0, -1.0])
    with raises(ValueError, "inertia", "link 'link1'", "0.005 + 0.005 < 0.03"):
        run(0.03, 0.5)
    values = np.array([1.0, 2.0])
    assert run(0.01, values).finite.tolist() == [1, 1]
    values[1] = -1.0  # the same array
    with raises(ValueError, "inertia", "link 'link1'", "-0.01 kg m2"):
        run(0.01, values)


def test_the_quick_look_at_inertias_finds_all_that_are_wrong() -> None:
    rng = np.random.default_rng(0)
    turns = np.linalg.qr(rng.normal(size=(200, 3, 3)))[0]
    moments = rng.uniform(-0.05, 1.0, (200, 3)) * (rng.random((200, 3)) < 0.7)  # of the mass, along each axis
    tensors = turns @ ((moments.sum(1)[:, None] - moments)[:, :, None] * np.swapaxes(turns, 1, 2))
    tensors = 0.5 * (tensors + np.swapaxes(tensors, 1, 2))
    wrong = moments.min(axis=1) < -1e-6
    suspects = np.array([min(minors(tensor.tolist())) < 0.0 for tensor in tensors])
    assert (suspects | ~wrong).all()
    assert (suspects & inconsistent_tensors(tensors) == wrong).all()


# torque functions


def test_numbers_of_laws_within_limits_and_sums() -> None:
    q, springs = np.zeros((4, 3)), lw.control.springs(3.0, rest=0.2)
    stiffness = np.array([1.0, 2.0, 3.0, 4.0])
    own = {"stiffness": lw.per_trajectory(stiffness)}
    limited = lambda k: lw.control.limited(lw.control.springs(k, rest=0.2), 0.5)  # noqa: E731
    for law, expected in ((limited(3.0), limited), (limited(3.0) + pull, lambda k: limited(k) + pull)):
        found = lw.rollout(PLANAR, q, **START, torque=law, parameters=own).qd_end
        alone = [lw.rollout(PLANAR, q[0], **START, torque=expected(k)).qd_end for k in stiffness]
        assert np.allclose(found, alone, rtol=0, atol=1e-12)
        one = lw.simulate(PLANAR, q, duration=1e-3, torque=law, parameters=own, samples=2)
        assert np.allclose(one.qd[:, -1], found, rtol=0, atol=1e-7)
    limits = lw.rollout(PLANAR, q[0], **START, torque=lw.control.limited(springs, 0.5), parameters={"most": 0.1}).qd_end
    assert np.allclose(limits, lw.rollout(PLANAR, q[0], **START, torque=lw.control.limited(springs, 0.1)).qd_end)
    with raises(ValueError, "rest"):
        lw.rollout(PLANAR, q, **START, torque=lw.control.limited(springs + springs, 1.0), parameters={"rest": 0.1})


def pull(arm: Any, t: Any, q: Any, qd: Any) -> Any:
    return -0.1 * q


def test_laws_with_times_of_their_own_and_exact_friction() -> None:
    sampled = lw.control.sampled(lw.control.pd_gravity([0, 0, 0], 10, 1), 0.002)
    with raises(ValueError, "sampled", "lw.simulate", "torque="):
        lw.rollout(PLANAR, ZEROS, **START, torque=sampled)
    for arm, options in ((PLANAR, {}), (pendulum(lw.symbols("m")), {"parameters": {"m": 1.0}})):
        with raises(ValueError, "friction", "smooth", "lw.simulate"):
            lw.rollout(arm, np.zeros(arm.n), **START, friction=lw.Friction(coulomb=0.1, smooth=0), **options)


def test_arguments_of_another_length_are_told() -> None:
    cost = lambda arm, q, goal: ((lw.poses(arm, q)[-1][:3, 3] - goal) ** 2).sum()  # noqa: E731
    arm = lw.load("ur5e")
    for make in (lw.compile, lw.wasm, lw.trace):
        with raises(ValueError, "goal", "6 numbers", "goal=lw.Input(3)"):
            make(cost, arm)
    assert lw.trace(cost, arm, goal=lw.Input(3)).inputs[1].shape == (3,)


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
        with raises(TypeError, "torch", "np.clip", "parameters"):
            lw.rollout(PLANAR, ZEROS, **START, torque=law)


def test_the_shapes_of_parameters_are_told() -> None:
    law = lambda arm, t, q, qd, kp, kd: -kp * q - kd * qd  # noqa: E731
    given = {"kp": lw.per_trajectory(np.ones((4, 2))), "kd": 1.0}
    with raises(TypeError, "(2,)", "(3,)", "kd ()", "kp (2,)"):
        lw.rollout(PLANAR, ZEROS, **START, torque=law, parameters=given)
    with raises(ValueError, "(2,)", "(3,)", "kd ()", "kp (2,)", "lw.per_trajectory(array)") as caught:
        lw.simulate(PLANAR, ZEROS, duration=1e-3, torque=law, parameters=given)
    assert "kd (), kp (2,)" in str(caught.value)


# arrays


def test_arrays_for_results_are_told_by_kind_and_shape() -> None:
    torch = pytest.importorskip("torch")
    kernel = lw.compile(lw.gravity_torque, PLANAR)
    with raises(ValueError, "out", "torch.Tensor", "NumPy", "float64", "(4, 3)"):
        kernel(ZEROS, out=torch.zeros(4, 3))
    run = lw.rollout(PLANAR, ZEROS, **START, every=1)
    with raises(TypeError, "out", "numpy.ndarray", "(4, 2, 3)", "lw.rollout"):
        lw.rollout(PLANAR, ZEROS, **START, out=run.q)


def test_tensors_on_the_cpu_give_tensors() -> None:
    torch = pytest.importorskip("torch")
    expected = lw.rollout(PLANAR, ZEROS, **START, every=1)
    run = lw.rollout(PLANAR, torch.zeros(4, 3, dtype=torch.float64), **START, every=1)
    assert all(isinstance(x, torch.Tensor) for x in (run.q, run.qd, run.q_end, run.qd_end, run.finite))
    assert np.array_equal(run.q.numpy(), expected.q)
    assert lw.rollout(PLANAR, torch.zeros(3), **START).q_end.dtype == torch.float32
    again = lw.rollout(PLANAR, run.q_end, run.qd_end, **START, every=1, out=run)
    assert again.q_end.data_ptr() == run.q_end.data_ptr()
    assert np.array_equal(run.q[:, 0].numpy(), expected.q_end)
    with raises(TypeError, "out.q_end", "numpy.ndarray", "torch", "CPU"):
        lw.rollout(PLANAR, run.q_end, **START, every=1, out=expected)
    loaded, masses = PLANAR.with_payload(lw.symbols("load")), torch.tensor([1.0, -1.0, 1.0, 1.0])
    with raises(ValueError, "mass", "'payload'", "-1.0", "[1]"):
        lw.rollout(loaded, run.q_end, **START, parameters={"load": lw.per_trajectory(masses)})


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
    with raises(TypeError, "x.detach()", "lw.inverse_dynamics", "gradients"):
        lw.compile(lw.gravity_torque, PLANAR)(q)
    q0 = DeviceArray(device(0), (3,), "float64").copy_from(np.zeros(3))
    with raises(TypeError, "torque", "torch.Tensor", "CPU", "GPU", "x.cuda()", "x.numpy()"):
        lw.rollout(PLANAR, q0, **START, torque=torch.zeros(3), target="cuda")


def test_derivatives_of_rollouts_and_simulations_are_refused() -> None:
    for function in (lw.rollout, lw.simulate):
        with raises(TypeError, f"lw.{function.__name__}", "lw.compile"):
            lw.derivative(function, PLANAR, "q")


def test_arrays_that_jax_traces(place: str) -> None:
    jax = pytest.importorskip("jax")
    run = lw.compile(lw.rollout, PLANAR, **START, target="cuda")
    with raises(TypeError, "q0", "jit", "traced"):
        jax.jit(lambda q: run(q).q_end)(np.zeros((4, 3)))


def test_symbols_are_not_bound_to_parameters() -> None:
    arm = pendulum(lw.symbols("m"))

    def law(arm: Any, t: Any, q: Any, qd: Any, guess: Any) -> Any:
        return lw.gravity_torque(lw.bind(arm, m=guess), q)

    with raises(TypeError, "'m'", "robot 'p'", "traced", "number"):
        lw.compile(lw.rollout, arm, **START, torque=law, parameters={"guess": lw.Input()})


def test_an_error_of_a_torque_function_keeps_its_cause() -> None:
    def failing(arm: Any, t: Any, q: Any, qd: Any) -> Any:
        raise RuntimeError("of my own") from KeyError("its cause")

    with pytest.raises(RuntimeError, match="of my own") as caught:
        lw.simulate(PLANAR, np.zeros(3), duration=0.01, torque=failing)
    assert isinstance(caught.value.__cause__, KeyError)


def test_a_wrong_shape_is_told_once_with_the_shapes_of_the_parameters() -> None:
    def in_python(arm: lw.Robot, t: float, q: np.ndarray, qd: np.ndarray, kp: np.ndarray) -> np.ndarray:
        return (kp @ q)[:2] if float(q[0]) < 9.0 else q

    with raises(ValueError, "(2,)") as error:
        lw.simulate(PLANAR, np.zeros((2, 3)), duration=0.1, torque=in_python, parameters={"kp": np.eye(3)})
    assert str(error.value).count("kp (3, 3)") == 1


@pytest.mark.parametrize("motion", [lw.simulate, lw.rollout])
def test_a_compiled_motion_says_what_a_run_is_given(motion: Any) -> None:
    law = lambda arm, t, q, qd, kp, kd: -kp * q - kd * qd  # noqa: E731
    run = lw.compile(motion, PLANAR, torque=law, parameters={"kp": lw.Input(3), "kd": 2.0})
    assert repr(run).endswith("frozen: torque; parameters of a run: kp (3,)>")


def test_a_duration_is_steps_times_dt() -> None:
    for options in ({"duration": 1.0}, {}):
        with raises(TypeError, "steps", "duration / dt"):
            lw.rollout(PLANAR, np.zeros(3), dt=0.01, **options)  # type: ignore[arg-type]
