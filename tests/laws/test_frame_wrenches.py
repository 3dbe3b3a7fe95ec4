"""Wrenches by frame, `wrench={"tool": ...}`: the torques Jᵀ w at the frames, in every function that takes wrenches."""

import inspect
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwise as lw
from effort import rest_slow
from facts import raises
from framed_robots import motions, with_tools
from functions import MEMBERS, WITH_WRENCH
from joint_kinds import EVERY
from robots import relative

ROBOTS = [with_tools(robot) for robot in EVERY]
ARM = with_tools(lw.chain(3, seed=4, joints="RPR"))
AXES: Any = ("base", "frame")
over_axes = pytest.mark.parametrize("axes", AXES)
some_axes = pytest.mark.parametrize("axes", rest_slow(AXES, ["frame"]))


def pushes(robot: lw.Robot, *batch: int) -> dict[str, np.ndarray]:
    """On a link in the middle, on the last one, and on a tool of that; one of them is the same in all states."""
    rng = np.random.default_rng([3, robot.n])
    shapes = {robot.names[1]: (6,), robot.names[-1]: (*batch, 6), "tool": (*batch, 6)}
    return {name: rng.normal(size=shape) for name, shape in shapes.items()}


def pushed(robot: lw.Robot, q: np.ndarray, wrenches: dict[str, np.ndarray], axes: Any) -> np.ndarray:
    """Σ Jᵀ w"""
    columns = [np.einsum("...ij,...i->...j", lw.jacobian(robot, q, frame=x, axes=axes), w) for x, w in wrenches.items()]
    return np.sum(np.broadcast_arrays(*columns), axis=0)


@over_axes
@pytest.mark.parametrize("robot", ROBOTS, ids=lambda robot: robot.name)
def test_wrenches_at_frames_are_torques_of_their_jacobians(robot: lw.Robot, axes: Any) -> None:
    for batch in ((), (len(robot.names),), (2, 3)):
        q, v, a = motions(robot, *batch)
        wrenches = pushes(robot, *batch)
        free, expected = lw.inverse_dynamics(robot, q, v, a), pushed(robot, q, wrenches, axes)
        assert relative(free - lw.inverse_dynamics(robot, q, v, a, wrenches, axes=axes), expected) < 1e-12
        less = lw.bias_torque(robot, q, v) - lw.bias_torque(robot, q, v, wrenches, axes=axes)
        assert relative(less, expected) < 1e-12
        loaded = lw.forward_dynamics(robot, q, v, free, wrenches, axes=axes)
        assert relative(loaded, lw.forward_dynamics(robot, q, v, free + expected)) < 1e-9


@over_axes
def test_every_function_with_a_wrench_takes_the_same_at_frames_as_at_points(axes: Any) -> None:
    """A wrench at a tool is one on its link, turned and at the tool's origin."""
    q, v, a = motions(ARM, 2)
    frame, wrench = ARM.frame("tool"), np.random.default_rng(1).normal(size=(2, 6))
    turn = lw.poses(ARM, q, frame="tool")[:, :3, :3]
    in_base = np.einsum("bij,bcj->bci", turn, wrench.reshape(2, 2, 3)).reshape(2, 6) if axes == "frame" else wrench
    every, points = np.zeros((2, len(ARM.names), 6)), np.zeros((len(ARM.names), 3))
    every[:, frame.link], points[frame.link] = in_base, frame.point
    for call in WITH_WRENCH:
        name = "wrench_axes" if "wrench_axes" in inspect.signature(call.function).parameters else "axes"
        given = [q, *[v, a][: len(call.arguments) - 1]]
        at_frame = call(ARM, *given, wrench={"tool": wrench}, **{name: axes})
        at_point = call(ARM, *given, wrench=every, point=points)
        for one, other in zip(at_frame, at_point, strict=True):
            by_state = axes == "frame" and call.function in DERIVATIVES and one.shape[-2:] == (ARM.n, ARM.n)
            assert by_state or relative(one, other) < 1e-11


DERIVATIVES = (lw.inverse_dynamics_derivatives, lw.forward_dynamics_derivatives)  # by q, along which the axes turn


def test_every_public_function_with_a_wrench_has_its_axes() -> None:
    for function in MEMBERS.values():
        parameters = inspect.signature(function).parameters if inspect.isfunction(function) else {}
        if "wrench" in parameters:
            assert {"axes", "wrench_axes"} & {*parameters}


@over_axes
def test_closed_forms_of_derivatives_are_those_of_the_graph(axes: Any) -> None:
    robot = ROBOTS[2]
    q, v, a = motions(robot)
    wrenches = pushes(robot)
    inputs = {name: lw.Input(6) for name in wrenches}
    by_q = lw.derivative(lw.inverse_dynamics, robot, "q", wrench=inputs, axes=axes, mode="forward")
    found, _ = lw.inverse_dynamics_derivatives(robot, q, v, a, wrenches, axes=axes)
    assert relative(found, by_q(q, v, a, *wrenches.values())) < 1e-12
    closed = lw.derivative(lw.inverse_dynamics, robot, "q", wrench=inputs, axes=axes, mode="closed-form")
    assert relative(closed(q, v, a, *wrenches.values()), found) < 1e-12
    by_wrench = lw.derivative(lw.inverse_dynamics, robot, "wrench_tool", wrench=inputs, axes=axes)
    J = lw.jacobian(robot, q, frame="tool", axes=axes)
    assert relative(by_wrench(q, v, a, *wrenches.values()), -J.T) < 1e-12


@some_axes
def test_kernels_take_each_wrench_and_code_names_it(axes: Any) -> None:
    q, v, a = motions(ARM, 4)
    wrenches = pushes(ARM, 4)
    inputs = {name: lw.Input(6) for name in wrenches}
    expected = lw.inverse_dynamics(ARM, q, v, a, wrenches, axes=axes)
    kernel = lw.compile(lw.inverse_dynamics, ARM, wrench=inputs, axes=axes)
    assert relative(kernel(q, v, a, *wrenches.values()), expected) < 1e-13
    names = [f"wrench_{name}" for name in wrenches]
    assert relative(kernel(q, v, a, **dict(zip(names, wrenches.values(), strict=True))), expected) < 1e-13
    fixed = {"tool": wrenches["tool"][0], "link2": lw.Input(6)}
    some = lw.compile(lw.inverse_dynamics, ARM, wrench=fixed, axes=axes)
    both = {**wrenches, "tool": wrenches["tool"][:1], ARM.names[-1]: np.zeros(6)}
    assert relative(some(q, v, a, wrenches["link2"]), lw.inverse_dynamics(ARM, q, v, a, both, axes=axes)) < 1e-13
    with lw.use_kernels("always"):
        assert relative(lw.inverse_dynamics(ARM, q, v, a, wrenches, axes=axes), expected) < 1e-13
    places = [port.name for port in lw.trace(lw.forward_dynamics, ARM, wrench=inputs, axes=axes).inputs]
    assert places == ["q", "qd", "tau", *names]
    one = {"tool": lw.Input(6)}
    text = str(lw.c_source(lw.bias_torque, ARM, wrench=one, axes=axes, self_test=True))
    meaning = "external wrench, moment (N m) then force (N), at the origin of tool, along the axes of the"
    assert f"wrench_tool[6]: {meaning} {axes}" in text
    assert "wrench" in str(lw.latex(lw.bias_torque, ARM, wrench=one, axes=axes))
    assert ".visible .entry kernel" in lw.ptx_source(lw.bias_torque, ARM, wrench=one, axes=axes)
    assert len(lw.wasm(lw.bias_torque, ARM, wrench=one, axes=axes).interface["arguments"]) == 4


def test_a_wrench_along_the_axes_of_its_frame_needs_no_turn_by_the_joints() -> None:
    one = {"tool": lw.Input(6)}
    turned, own = (lw.count(lw.bias_torque, ARM, wrench=one, axes=axes).total for axes in AXES)
    assert own < turned


@some_axes
def test_torch_and_jax_take_wrenches_at_frames(axes: Any) -> None:
    torch, jax = pytest.importorskip("torch"), pytest.importorskip("jax")
    q, v, a = motions(ARM, 3)
    wrenches = pushes(ARM, 3)
    plain = lw.inverse_dynamics(ARM, q, v, a, wrenches, axes=axes)
    tensors = {name: torch.tensor(w, requires_grad=True) for name, w in wrenches.items()}
    of_torch = lw.inverse_dynamics(ARM, *map(torch.tensor, (q, v, a)), tensors, axes=axes)
    assert relative(of_torch.detach().numpy(), plain) < 1e-13
    of_torch[:, 0].sum().backward()
    J = lw.jacobian(ARM, q, frame="tool", axes=axes)
    assert relative(tensors["tool"].grad.numpy(), -J[:, :, 0]) < 1e-12
    with jax.enable_x64(True):
        of_jax = jax.jit(partial(lw.inverse_dynamics, ARM, axes=axes))(q, v, a, wrenches)
        assert relative(np.asarray(of_jax), plain) < 1e-13


@some_axes
@pytest.mark.parametrize("friction", rest_slow([False, lw.Friction(coulomb=0.3, smooth=0.0)], [False]), ids=str)
def test_simulations_and_rollouts_move_under_wrenches_at_frames(axes: Any, friction: Any, tmp_path: Path) -> None:
    arm = with_tools(lw.load("planar3"))
    rng = np.random.default_rng(2)
    q0, wrenches = rng.normal(size=(3, 3)), {"tool": rng.normal(size=(3, 6)), "link2": rng.normal(size=6)}

    def law(robot: lw.Robot, t: Any, q: Any, qd: Any, w: Any) -> Any:
        found = {"tool": w, "link2": wrenches["link2"]}
        return sum(lw.jacobian(robot, q, frame=name, axes=axes).T @ each for name, each in found.items())

    each = {"w": lw.per_trajectory(wrenches["tool"])}
    options: dict[str, Any] = {"samples": 4, "rtol": 1e-9, "friction": friction}
    run = lw.simulate(arm, q0, duration=0.2, wrench=wrenches, axes=axes, **options)
    expected = lw.simulate(arm, q0, duration=0.2, torque=law, parameters=each, **options)
    assert np.abs(run.q - expected.q).max() < 1e-6
    assert np.abs(run.qdd - expected.qdd).max() < 1e-4
    run.save(tmp_path / "run.npz")
    again = lw.load_recording(tmp_path / "run.npz")
    assert again == run
    assert relative(again.joint_wrenches(), run.joint_wrenches()) == 0.0
    tau = lw.inverse_dynamics(
        arm, run.q, run.qd, run.qdd, {x: np.broadcast_to(w, (3, 6))[:, None] for x, w in wrenches.items()}, axes=axes
    )
    assert relative(run.joint_wrenches(axes="frame")[..., 2], tau) < 1e-10
    if friction is False:
        steps: dict[str, Any] = {"steps": 20, "dt": 1e-2}
        rolled = lw.rollout(arm, q0, wrench=wrenches, axes=axes, **steps)
        assert np.abs(rolled.q_end - lw.rollout(arm, q0, torque=law, parameters=each, **steps).q_end).max() < 1e-12
        inputs = lw.trace(lw.simulate, arm, wrench=wrenches, axes=axes).inputs
        assert [port.name for port in inputs] == ["q", "qd", "wrench_tool", "wrench_link2"]


def test_long_robots_take_wrenches_by_frame_in_loops_and_all_links_at_a_time() -> None:
    chain = with_tools(lw.chain(70, seed=2, joints="RP"))
    q, v, a = motions(chain, 2)
    wrenches = {"link9": np.ones(6), "tool": np.arange(12.0).reshape(2, 6)}
    free = lw.inverse_dynamics(chain, q, v, a)
    for axes in AXES:
        expected = free - pushed(chain, q, wrenches, axes)
        assert relative(lw.inverse_dynamics(chain, q, v, a, wrenches, axes=axes), expected) < 1e-10
    tau, loaded = free[0], {**wrenches, "tool": np.ones(6)}
    with_kernels = lw.forward_dynamics(chain, q[0], v[0], tau, loaded)
    for axes, method in (("base", "parallel"), ("frame", "parallel"), ("frame", "articulated")):
        found = lw.forward_dynamics(chain, q[0], v[0], tau, loaded, axes=axes, method=method)
        again = lw.inverse_dynamics(chain, q[0], v[0], found, loaded, axes=axes)
        assert relative(again, tau) < 1e-6
        assert axes == "frame" or relative(found, with_kernels) < 1e-6
    run = lw.simulate(chain, q[0], duration=1e-3, wrench=loaded, samples=2, integrator="rk4", dt=1e-3)
    assert run.compiled


def test_linear_models_equilibria_loads_and_budgets_know_frames() -> None:
    arm = with_tools(lw.load("planar3"))
    q, wrench = np.array([0.3, -0.4, 0.5]), {"tool": np.array([0.0, 0.0, 0.5, 1.0, 2.0, 0.0])}
    J = lw.jacobian(arm, q, frame="tool")
    held = lw.gravity_torque(arm, q) - J.T @ wrench["tool"]
    assert relative(lw.equilibrium(arm, q, wrench=wrench).tau, held) < 1e-12
    still = lw.equilibrium(arm, q, passive="link3", wrench=wrench)
    assert abs(lw.bias_torque(arm, still.q, np.zeros(3), wrench)[2]) < 1e-9
    model = lw.linearize(arm, q, wrench=wrench)
    by_q = lw.forward_dynamics_derivatives(arm, q, np.zeros(3), held, wrench)[0]
    assert relative(model.A[3:, :3], by_q) < 1e-12
    budget = lw.budget(arm, q, np.zeros(3), np.zeros(3), wrench)
    assert relative(budget.wrench.sum(-1), -J.T @ wrench["tool"]) < 1e-12
    motion = lw.trajectories.cycloid(q, q + 0.5, duration=1.0)
    along = lw.torque_along(arm, motion, 3, wrench=wrench)
    assert relative(along.tau, lw.inverse_dynamics(arm, along.q, along.qd, along.qdd, wrench)) < 1e-12
    pytest.importorskip("mpmath")
    accuracy = lw.accuracy(arm, q, np.zeros(3), held, wrench=wrench, methods=["articulated"])
    assert accuracy["articulated"].worst < 1e-10 or np.abs(accuracy.exact).max() < 1e-12


def test_wrenches_at_frames_are_checked() -> None:
    q, v, a = motions(ARM, 3)
    good = np.zeros((3, 6))
    for wrench, error, facts in (
        ({"tol": good}, lw.errors.RobotError, ("'tol'", "'tool'")),
        ({"mount": good}, ValueError, ("'mount'", "base")),
        ({"tool": np.zeros((3, 5))}, ValueError, ("wrench['tool']", "(3, 5)", "(..., 6)")),
        ({"tool": np.zeros((4, 6)), "link2": good}, ValueError, ("wrench['tool']", "wrench['link2']")),
        ({"tool": [[True] * 6]}, TypeError, ("wrench['tool']", "bool")),
    ):
        with raises(error, *facts):
            lw.inverse_dynamics(ARM, q, v, a, wrench)
    with raises(ValueError, "point"):
        lw.inverse_dynamics(ARM, q, v, a, {"tool": good}, point=np.zeros(3))
    with raises(ValueError, "axes", "'world'", "'frame'"):
        lw.inverse_dynamics(ARM, q, v, a, {"tool": good}, axes="world")
    with raises(ValueError, "axes", "'frame'", "wrench={frame: (..., 6)}"):
        lw.inverse_dynamics(ARM, q[0], v[0], a[0], good[0], axes="frame")
    with raises(ValueError, "wrench", "nan", "finite", "'tool'"):
        lw.inverse_dynamics(ARM, q, v, a, {"tool": good * np.nan}, check=True)
    assert relative(lw.inverse_dynamics(ARM, q, v, a, {}), lw.inverse_dynamics(ARM, q, v, a)) == 0.0
    clash = {"tool a": lw.Input(6), "tool_a": lw.Input(6)}
    with raises(ValueError, "'tool a'", "'tool_a'"):
        lw.trace(lw.bias_torque, ARM, wrench=clash)
