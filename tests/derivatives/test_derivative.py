"""Derivatives of graphs: against complex step, against Pinocchio, forward against reverse."""

from typing import Any

import numpy as np
import pytest

import linkwise as lw
from effort import rest_slow
from facts import raises
from linkwise.dynamics import ALL_INVERSE_DYNAMICS, newton_euler, udu
from linkwise.graph import LEGAL, Graph, Port, Program, evaluate
from linkwise.graph.derivative import CHOICES, PARTIAL
from linkwise.graph.derivative import derivative as of_program
from linkwise.spatial import Wrench
from robots import CHAINS, TREES, conditioned, ids, relative, scalars, states

ROBOTS = [lw.load("stanford"), lw.load("planar3"), *(r for r in CHAINS + TREES if r.n in (2, 3, 6))]
QUICK = [CHAINS[5], TREES[2]]
over_robots = pytest.mark.parametrize("robot", rest_slow(ROBOTS, QUICK), ids=ids(ROBOTS))
STEP = 1e-30


def complex_step(plain: Any, robot: lw.Robot, arrays: list[np.ndarray], which: int) -> np.ndarray:
    """∂(plain)/∂(arrays[which]), exact to rounding: (states, outputs, inputs)."""
    moved = [a[:, None, :] + np.zeros((1, robot.n, 1)) for a in arrays]
    moved[which] = moved[which] + 1j * STEP * np.eye(robot.n)
    result = plain(robot, *(scalars(a) for a in moved), [Wrench.zero()] * robot.n)
    return np.stack([np.broadcast_to(np.imag(x) / STEP, moved[0].shape[:-1]) for x in result], axis=-2)


@over_robots
@pytest.mark.parametrize("mode", ["forward", "reverse"])
@pytest.mark.parametrize(("wrt", "which"), [("q", 0), ("qd", 1), ("qdd", 2)])
def test_inverse_dynamics_by_complex_step(robot: lw.Robot, mode: str, wrt: str, which: int) -> None:
    arrays = list(states(robot)[:3])
    exact = complex_step(newton_euler.inverse_dynamics, robot, arrays, which)
    for method in ALL_INVERSE_DYNAMICS if robot.n <= 3 else ("newton-euler", "fewest"):
        found = lw.derivative(lw.inverse_dynamics, robot, wrt, mode=mode, method=method)(*arrays)
        assert np.abs(found - exact).max() < 1e-12 * max(1.0, np.abs(exact).max())


@over_robots
@pytest.mark.parametrize("mode", ["forward", "reverse"])
@pytest.mark.parametrize(("wrt", "which"), [("q", 0), ("qd", 1), ("tau", 2)])
def test_forward_dynamics_by_complex_step(robot: lw.Robot, mode: str, wrt: str, which: int) -> None:
    q, qd, _, tau = states(robot)
    exact = complex_step(udu.forward_dynamics, robot, [q, qd, tau], which)
    for method in ("denoc", "articulated", "composite-udu"):
        found = lw.derivative(lw.forward_dynamics, robot, wrt, mode=mode, method=method)(q, qd, tau)
        assert relative(found, exact) < 100 * conditioned(robot, q)


@over_robots
def test_pinocchios_analytical_derivatives_agree(robot: lw.Robot) -> None:
    pin = pytest.importorskip("pinocchio", reason="Pinocchio has no wheel for Windows")
    from peers import depth_first, to_pinocchio

    model, data = to_pinocchio(robot)
    order = depth_first(robot)
    square = np.ix_(order, order)
    by = {name: lw.derivative(lw.inverse_dynamics, robot, name, method="fewest") for name in ("q", "qd", "qdd")}
    back = {name: lw.derivative(lw.forward_dynamics, robot, name, method="fewest") for name in ("q", "qd", "tau")}
    for q, qd, qdd, tau in zip(*states(robot), strict=True):
        theirs = pin.computeRNEADerivatives(model, data, q[order], qd[order], qdd[order])
        for name, expected in zip(("q", "qd"), theirs[:2], strict=True):
            assert relative(by[name](q, qd, qdd)[square], expected) < 1e-10
        assert relative(by["qdd"](q, qd, qdd), lw.inertia_matrix(robot, q)) < 1e-12
        theirs = pin.computeABADerivatives(model, data, q[order], qd[order], tau[order])
        bound = max(1e-10, 100 * conditioned(robot, q))
        for name, expected in zip(("q", "qd"), theirs[:2], strict=True):
            assert np.abs(back[name](q, qd, tau)[square] - expected).max() < bound * max(1.0, np.abs(expected).max())
        assert relative(back["tau"](q, qd, tau), lw.inverse_inertia_matrix(robot, q)) < bound


def test_every_operation_has_a_derivative() -> None:
    """Of choices, whose branches must not be multiplied, see `test_trajectory_end`."""
    assert {*PARTIAL, *CHOICES} == {op for op, operands in LEGAL.items() if operands}


@pytest.mark.parametrize("op", sorted({*PARTIAL, *CHOICES}))
def test_partial_derivatives_of_each_operation(op: str) -> None:
    graph = Graph()
    arguments = [graph.input("x", k) for k in range(LEGAL[op])]
    port = Port("x", (LEGAL[op],))
    program = Program.of(graph, [port], [Port("y", ())], [[graph.make(op, *arguments)]])
    x = np.random.default_rng(0).uniform(0.2, 0.9, size=(5, LEGAL[op]))
    step = 1e-6
    shifts = step * np.eye(LEGAL[op])
    up, down = (evaluate(program, x[:, None] + sign * shifts)[0] for sign in (1, -1))
    for mode in ("forward", "reverse"):
        assert np.abs(evaluate(of_program(program, "x", mode), x)[0] - (up - down) / (2 * step)).max() < 1e-8


def test_fewest_is_the_cheaper_mode_and_says_so() -> None:
    arm = lw.load("stanford")
    slope = lw.derivative(lw.potential_energy, arm, "q")
    modes = {m: lw.derivative(lw.potential_energy, arm, "q", mode=m).count.total for m in ("forward", "reverse")}
    assert slope.count.total == min(modes.values())
    assert slope.mode == min(modes, key=modes.get)
    assert slope.function_count == lw.count(lw.potential_energy, arm)
    assert f"by {slope.mode} mode" in repr(slope)
    q = states(arm)[0]
    assert relative(slope(q), lw.gravity_torque(arm, q)) < 1e-12


def test_a_function_of_ones_own_is_differentiated_too() -> None:
    arm = lw.load("planar3")

    def closed_loop(arm: lw.Robot, q: Any, qd: Any, gain: Any) -> Any:
        return lw.forward_dynamics(arm, q, qd, -gain * q - np.sin(qd))

    q, qd, gain, _ = (x[0] for x in states(arm))
    slope = lw.derivative(closed_loop, arm, "gain")(q, qd, gain)
    assert relative(slope, lw.inverse_inertia_matrix(arm, q) * -q) < 1e-11


def test_derivative_says_what_it_wants() -> None:
    arm = lw.load("planar3")
    with raises(ValueError, "wrt", "p", "q", "qd", "qdd"):
        lw.derivative(lw.inverse_dynamics, arm, "p")
    with raises(ValueError, "mode", "backward"):
        lw.derivative(lw.inverse_dynamics, arm, "q", mode="backward")
