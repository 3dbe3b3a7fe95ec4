"""Regrouping: the same torques and inertia matrix from fewer numbers."""

from decimal import Decimal
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import linkwise as lw
from effort import rest_slow
from linkwise.robot.regroup import LongDecimal
from robots import ALL, CHAINS, QUICK, TREES, conditioned, ids, relative, states

over_all = pytest.mark.parametrize("robot", rest_slow(ALL, [*QUICK[::2], CHAINS[11], TREES[4]]), ids=ids(ALL))


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


@over_all
def test_base_parameters_are_right_to_the_last_digit(robot: lw.Robot) -> None:
    """Though they are differences of numbers that may be much larger."""
    with mpmath.workdps(50):
        exact = [[float(x) for x in link.body._key()] for link in robot.cast(mpmath.mpf).regrouped().links]
    for link, expected in zip(robot.regrouped().links, exact, strict=True):
        found, exactly = np.array(link.body._key()), np.array(expected)
        there = found != 0.0
        np.testing.assert_allclose(found[there], exactly[there], rtol=5e-16)
        assert (abs(exactly[~there]) <= 1e-15 * max(map(abs, link.rigid._key()))).all()  # 0 but for rounding


numbers = st.floats(1e-30, 1e30) | st.floats(-1e30, -1e-30)


@given(numbers, numbers, numbers)
def test_long_decimals_keep_their_digits_among_floats(a: float, b: float, c: float) -> None:
    x, y = LongDecimal(Decimal(a)) * b, LongDecimal(Decimal(c)) / 3.0  # neither is a float
    p, q = fraction(x), fraction(y)
    assert abs(p - Fraction(a) * Fraction(b)) <= abs(p) / 10**78
    assert abs(3 * q - Fraction(c)) <= abs(q) / 10**78
    found = [x + y, x - y, 2.5 + x, 2.5 - x, x * y, 2.5 * x, x / y, 2.5 / y, (x * x).sqrt(), -x]
    exact = [p + q, p - q, Fraction(2.5) + p, Fraction(2.5) - p, p * q, Fraction(2.5) * p, p / q, Fraction(2.5) / q]
    for here, there in zip(found, [*exact, abs(p), -p], strict=True):
        assert abs(fraction(here) - there) <= abs(there) / 10**77
        assert float(here) == float(fraction(here))


def fraction(x: LongDecimal) -> Fraction:
    return Fraction(x.value)
