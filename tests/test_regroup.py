"""Base parameters: the same torques and inertia matrix from fewer numbers, and from no more than needed."""

from dataclasses import replace

import numpy as np
import pytest

import linkwise as lw
from linkwise.dynamics import denoc
from linkwise.edge.parameters import TEN, body_of, regressor_column, replace_zz, unit_bodies
from linkwise.spatial import Wrench
from robots import ALL, CHAINS, SMALL, TREES, conditioned, ids, relative, scalars, states

over_all = pytest.mark.parametrize("robot", ALL, ids=ids(ALL))
FEW = [robot for robot in SMALL if robot.n <= 6]
over_few = pytest.mark.parametrize("robot", FEW, ids=ids(FEW))


@over_all
def test_regrouped_robot_needs_the_same_torques_by_every_method(robot: lw.Robot) -> None:
    q, qd, qdd, tau = states(robot)
    other = robot.regrouped()
    wrench = np.random.default_rng(1).normal(size=(3, robot.n, 6))
    expected = lw.inverse_dynamics(robot, q, qd, qdd, wrench)
    for method in lw.methods(lw.inverse_dynamics):
        assert relative(lw.inverse_dynamics(other, q, qd, qdd, wrench, method=method), expected) < 1e-12
    matrix = lw.inertia_matrix(robot, q)
    for method in lw.methods(lw.inertia_matrix):
        assert relative(lw.inertia_matrix(other, q, method=method), matrix) < 1e-12
    solved = lw.forward_dynamics(robot, q, qd, tau)
    for method in ("denoc", "articulated", "kalman", "normalized", "unnormalized", "inverse-inertia"):
        found = lw.forward_dynamics(other, q, qd, tau, method=method)
        assert relative(found, solved) <= 4 * conditioned(robot, q)


@over_all
def test_regrouped_robot_keeps_loads_energies_and_coriolis_matrix(robot: lw.Robot) -> None:
    q, qd, qdd, _ = states(robot)
    other = robot.regrouped()
    assert relative(lw.joint_wrenches(other, q, qd, qdd), lw.joint_wrenches(robot, q, qd, qdd)) == 0.0
    assert relative(lw.potential_energy(other, q), lw.potential_energy(robot, q)) == 0.0
    assert relative(lw.kinetic_energy(other, q, qd), lw.kinetic_energy(robot, q, qd)) < 1e-12
    assert relative(lw.coriolis_matrix(other, q, qd), lw.coriolis_matrix(robot, q, qd)) == 0.0


@over_all
def test_regrouping_leaves_seven_numbers_to_a_turning_link_and_four_to_a_sliding_one(robot: lw.Robot) -> None:
    for link in robot.regrouped().links:
        h, J = link.body.moment, link.body.tensor
        if link.joint.kind == "revolute":
            assert link.body.mass == 0.0
            assert h.z == 0.0
            assert J.zz == J.xx + J.yy
            assert link.body.pseudo().zz == pytest.approx(0.0, abs=1e-16)
        else:
            assert J.upper == (0.0,) * 6


def test_regrouping_twice_is_regrouping_once() -> None:
    arm = lw.chain(5, joints="RRP")
    assert arm.regrouped().regrouped() == arm.regrouped()
    assert arm.regrouped() != arm
    assert arm.regrouped() is arm.regrouped()


@over_few
def test_base_parameters_are_as_many_as_the_rank_of_the_regressor(robot: lw.Robot) -> None:
    bare = robot.without_rotors()
    columns = [regressor_column(bare, link, body) for link in bare.links for _, body in unit_bodies()]
    full = np.stack(columns, axis=-1)
    scale = np.linalg.norm(full, axis=0)
    felt = scale > 1e-9 * scale.max()
    rank = np.linalg.matrix_rank(full[:, felt] / scale[felt], tol=1e-8)
    assert len(lw.base_parameters(robot)) == rank


@over_few
def test_base_parameters_alone_give_the_torques(robot: lw.Robot) -> None:
    """A body that has only the base parameters, with their values, moves under the same torques."""
    bare = robot.without_rotors()
    numbers = np.zeros((robot.n, 10))
    for parameter in lw.base_parameters(robot):
        link, _, name = parameter.name.rpartition(".")
        numbers[robot.names.index(link), TEN.index(name)] = parameter.value
    links = []
    for link, row in zip(bare.links, numbers, strict=True):
        body = body_of(row)
        tied = replace_zz(body, row[4] + row[7]) if link.joint.kind == "revolute" else body
        links.append(replace(link, grouped=tied))
    q, qd, qdd, _ = states(robot)
    made = replace(bare, links=tuple(links))
    tau = denoc.inverse_dynamics(made, scalars(q), scalars(qd), scalars(qdd), [Wrench.zero()] * robot.n)
    found = np.stack([np.broadcast_to(t, 3) for t in tau], -1)
    assert relative(found, lw.inverse_dynamics(bare, q, qd, qdd)) < 1e-9


def test_base_parameters_say_what_they_are_made_of() -> None:
    arm = lw.load("planar3")
    found = {p.name: p for p in lw.base_parameters(arm)}
    assert len(found) == 9  # h_x, h_y and one of the tensor for each link
    outer = found["link2.hx"]
    assert outer.made_of == {"link2.hx": 1.0, "link3.m": 0.25}
    assert outer.value == pytest.approx(0.4 * 0.125 + 0.3 * 0.25)
    assert "0.25 link3.m" in str(outer)
    assert repr(lw.base_parameters(arm)).count("\n") == len(found) - 1


def test_method_fewest_takes_the_shorter_road() -> None:
    short, long = lw.chain(6), lw.chain(14)
    for arm, name in ((short, "composite-udu"), (long, "articulated-regrouped")):
        chosen = lw.count(lw.forward_dynamics, arm, method="fewest")
        assert chosen == lw.count(lw.forward_dynamics, arm, method=name)
        others = ("composite-udu", "articulated-regrouped")
        assert chosen.total == min(lw.count(lw.forward_dynamics, arm, method=m).total for m in others)
    q, qd, _, tau = states(short)
    assert relative(
        lw.forward_dynamics(short, q, qd, tau, method="fewest"), lw.forward_dynamics(short, q, qd, tau)
    ) <= conditioned(short, q)  # fmt: skip


@pytest.mark.parametrize("robot", [CHAINS[9], TREES[5]], ids=ids([CHAINS[9], TREES[5]]))
def test_regrouping_saves_operations(robot: lw.Robot) -> None:
    assert lw.count(lw.inverse_dynamics, robot, method="fewest").total < lw.count(lw.inverse_dynamics, robot).total


def test_base_parameters_want_a_robot_of_numbers() -> None:
    (m,) = lw.symbols("m")
    row = {**lw.load("planar3").rows[0], "mass": m}
    with pytest.raises(ValueError, match="made of symbols"):
        lw.base_parameters(lw.Robot.from_dh([row], convention="standard"))
    with pytest.raises(TypeError, match="expected a Robot"):
        lw.base_parameters("planar3")
