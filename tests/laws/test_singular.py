"""Joints that nothing resists are named; numbers that overflow are not taken for them."""

from typing import Any

import numpy as np
import pytest

import linkwise as lw
from facts import raises
from functions import ARM, CALLS, arrays
from linkwise.api import singular
from special_robots import massless_tip

NAN = float("nan")

ROD = {"joint": "revolute", "a": 1.0, "b": 0.0, "alpha": 0.3, "mass": 1.0, "com": (0.1, 0.2, 0.3), "inertia": np.eye(3)}
NOTHING = {**ROD, "mass": 0.0, "inertia": np.zeros((3, 3))}


def arm_of(*rows: dict[str, Any]) -> lw.Robot:
    return lw.Robot.from_dh(rows, convention="standard", name="hollow")


SOLVERS = [call for call in CALLS if call.function in (lw.forward_dynamics, lw.formulations.udu)]


@pytest.mark.parametrize("call", SOLVERS, ids=str)
@pytest.mark.parametrize(("batch", "joint"), [((), "revolute"), ((3,), "prismatic"), ((2, 2), "revolute")], ids=str)
def test_a_massless_last_link_is_refused_by_name_when_it_must_be_moved(call, batch, joint):
    ghost = {**NOTHING, "joint": joint, "theta": 0.0, "name": "ghost"}
    robot = arm_of(ROD, ghost)
    with raises(lw.errors.SingularError, "'hollow'", "'ghost'", "rotor inertia"):
        call(robot, *arrays(call, robot, *batch))
    assert lw.inverse_dynamics(robot, [0, 0], [0, 0], [0, 0]).shape == (2,)
    moved = arm_of(ROD, {**ghost, "rotor_inertia": 0.1})
    assert all(np.isfinite(part).all() for part in call(moved, *arrays(call, moved, *batch)))


@pytest.mark.parametrize("call", SOLVERS, ids=str)
def test_a_massless_link_that_carries_a_heavy_one_is_no_fault(call):
    robot = arm_of(ROD, NOTHING, ROD)
    assert all(np.isfinite(part).all() for part in call(robot, *arrays(call, robot, 3)))


@pytest.mark.parametrize("method", lw.methods(lw.forward_dynamics))
def test_a_state_in_which_nothing_resists_is_found_among_others(method):
    bead = {"joint": "prismatic", "a": 0.0, "theta": 0.0, "alpha": 0.0, "com": (0, 0, 0), "inertia": np.zeros((3, 3))}
    wire = {**NOTHING, "a": 0.0, "alpha": "90 deg", "name": "wire"}
    robot = arm_of(wire, {**bead, "mass": 1.0})  # the bead slides out from the axis about which the wire turns
    q, qd, tau = np.array([[0.1, 0.5], [0.2, 0.0], [0.3, 1.0]]), np.zeros(2), np.ones(2)
    with raises(lw.errors.SingularError, "robot 'hollow'", "link 'wire'", "state [1]"):
        lw.forward_dynamics(robot, q, qd, tau, method=method)
    assert np.isfinite(lw.forward_dynamics(robot, q[[0, 2]], qd, tau, method=method)).all()


DIVIDING = {
    "inertia matrix": lambda arm: lw.inertia_matrix(arm, np.zeros(3), method="udu"),
    "operators": lambda arm: lw.formulations.operators(arm, np.zeros(3)),
    "trace": lambda arm: lw.trace(lw.forward_dynamics, arm),
    "explain": lambda arm: lw.explain(arm, np.zeros(3)),
}


@pytest.mark.parametrize("call", DIVIDING.values(), ids=DIVIDING)
def test_what_divides_by_pivots_names_the_massless_link(call: Any) -> None:
    with raises(lw.errors.SingularError, "'light'", "link 'link3'"):
        call(massless_tip())


def test_the_singular_state_is_named_and_not_the_bad_one() -> None:
    q = np.zeros((3, 3))
    q[0, 0] = NAN
    with raises(lw.errors.SingularError, "[1]"):
        lw.forward_dynamics(massless_tip(), q, np.zeros(3), np.ones(3))


def test_udu_refuses_a_first_joint_that_nothing_resists() -> None:
    row = {**NOTHING, "a": 0.0, "alpha": 0.0, "mass": 1.0, "com": (0, 0, 0)}
    with raises(lw.errors.SingularError, "link1"):
        lw.formulations.udu(arm_of(row), [0.0])


def test_an_overflow_is_no_singularity() -> None:
    arm = lw.load("planar3")
    assert not np.isfinite(lw.forward_dynamics(arm, np.ones(3), np.full(3, 1e200), np.ones(3))).all()
    assert lw.forward_dynamics(arm, np.ones((0, 3)), np.ones(3), np.ones(3)).shape == (0, 3)


def test_walker_orin_4_is_finite_in_single_precision_and_at_rest():
    rng = np.random.default_rng(0)
    for arm in (lw.chain(1), lw.load("planar3"), lw.load("gantry").with_gravity((0, 0, 0))):
        q, qd, tau = rng.normal(size=(3, 100, arm.n)).astype(np.float32)
        assert np.isfinite(lw.forward_dynamics(arm, q, qd, tau, method="walker-orin-4")).all()
        still = np.zeros((3, arm.n), dtype=np.float32)
        assert np.isfinite(lw.forward_dynamics(arm, *still, method="walker-orin-4")).all()


def test_an_overflow_in_a_large_batch_is_found_without_looking_at_every_state(monkeypatch):
    looked = []
    plain = singular.inertias
    monkeypatch.setattr(singular, "inertias", lambda arm, q: looked.append(len(q)) or plain(arm, q))
    q, qd, tau = np.random.default_rng(0).normal(size=(3, 500, 6))
    qd[5] = 1e200
    assert not np.isfinite(lw.forward_dynamics(ARM, q, qd, tau)[5]).all()
    assert looked == [1]
