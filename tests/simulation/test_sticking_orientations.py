"""Exact friction in joints of several degrees of freedom, on free bases and in coupled joints."""

import numpy as np
import pytest

import linkwise as lw
from effort import rest_slow

LEVEL = 1e-12  # what rounding may add to friction


def planar(links=3, **changes):
    rows = [{**row, "coulomb_friction": 0.05, "viscous_friction": 0.02} for row in lw.load("planar3").rows[:links]]
    rows[-1] |= changes
    return lw.Robot.from_dh(rows, convention="standard", gravity=(0.3, -0.5, 0.2), name="dry")


FLYING = planar(1).with_free_base(mass=2.0, inertia=np.diag([0.3, 0.4, 0.5]))
BALL = [{**row, "coulomb_friction": 0.3} for row in lw.random_tree(2, seed=3, joints="SR").rows]
BALL = lw.Robot.from_frames(BALL, gravity=(0.0, 0.4, -0.6), name="ball")
COUPLED = planar(coupled_to="link2", ratio=-0.7)


@pytest.mark.parametrize(
    "robot", rest_slow([FLYING, BALL, COUPLED], [BALL, COUPLED]), ids=lambda robot: robot.name + robot.joints
)
def test_friction_is_its_law_where_joints_slide_and_no_more_than_its_level_where_they_stick(robot):
    """τ - I v̇ - h is the torque of friction; energy, work and heat balance; some joints stick and some slide."""
    rng = np.random.default_rng(8)
    q0, qd0 = lw.random_configuration(robot, rng), 0.6 * rng.normal(size=robot.n)
    dry = lw.Friction(smooth=0.0)
    run = lw.simulate(robot, q0, qd0, 1.5, friction=dry, samples=31, rtol=1e-10)
    assert run.status == "done"
    assert np.abs(run.imbalance).max() < 1e-7
    needed = run.tau - lw.inverse_dynamics(robot, run.q, run.qd, run.qdd)
    joints = list(dry.dry(robot))
    level, stuck = dry.at_rest(robot)[joints], run.qd[:, joints] == 0.0
    assert stuck.any()
    assert not stuck.all()
    law = dry.torque(robot, run.qd)[:, joints]
    assert np.abs(np.where(stuck, 0.0, needed[:, joints] - law)).max() < LEVEL
    assert (np.abs(np.where(stuck, needed[:, joints], 0.0)) <= level + LEVEL).all()
    smoothed = lw.simulate(robot, q0, qd0, 1.5, friction=lw.Friction(smooth=1e-4), samples=31)
    assert np.abs(lw.difference(robot, run.q, smoothed.q)).max() < 2e-4


def test_what_a_coupled_joint_holds_is_felt_by_the_joint_that_it_follows():
    level = lw.Friction(smooth=0.0).at_rest(COUPLED)
    assert np.allclose(level, [0.05, 0.05 + 0.7 * 0.05], rtol=1e-15)
    assert lw.Friction(coulomb=[0.1, 0.2], smooth=0.0).at_rest(COUPLED).tolist() == [0.1, 0.2]
