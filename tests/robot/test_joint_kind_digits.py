"""With 40 digits all methods agree to 35 of them: what they differ by in floats is rounding, and nothing else."""

import mpmath
import numpy as np
import pytest

import linkwise as lw
from digits import apart, many_digits
from facts import raises
from joint_kinds import coupled, states
from robots import ids, with_drives

DIGITS, AGREED = 40, 35
ROBOTS = [
    with_drives(lw.random_tree(5, seed=21, joints="RSCHE"), 2),
    lw.chain(3, seed=3, joints="FUP"),
    with_drives(coupled(lw.random_tree(4, seed=8, joints="RSHP")), 3),
]


@pytest.mark.parametrize("robot", ROBOTS, ids=ids(ROBOTS))
def test_all_methods_agree_to_35_digits(robot: lw.Robot) -> None:
    with mpmath.workdps(DIGITS):
        exact = robot.cast(mpmath.mpf)
        forces = np.random.default_rng(1).normal(size=(len(robot.names), 6))
        q, qd, qdd, wrench = (many_digits(array) for array in (*states(robot)[:3], forces))
        tau = lw.inverse_dynamics(exact, q, qd, qdd, wrench)
        for method in lw.methods(lw.inverse_dynamics):
            found = lw.inverse_dynamics(exact, q, qd, qdd, wrench, method=method)
            assert apart(found, tau) < mpmath.mpf(10) ** -AGREED, method
        matrix = lw.inertia_matrix(exact, q)
        torques = lw.bias_torque(exact, q, qd, wrench) + matrix @ qdd
        assert apart(torques, tau) < mpmath.mpf(10) ** -AGREED
        offered = ["composite-udu", "fewest"] if robot.couplings else lw.methods(lw.forward_dynamics)
        for method in lw.methods(lw.forward_dynamics):
            if method not in offered:
                with raises(ValueError, repr(method), "coupled", "joint 'link3'"):
                    lw.forward_dynamics(exact, q, qd, tau, wrench, method=method)
                continue
            found = lw.forward_dynamics(exact, q, qd, tau, wrench, method=method)
            assert apart(found, qdd) < mpmath.mpf(10) ** -AGREED, method
