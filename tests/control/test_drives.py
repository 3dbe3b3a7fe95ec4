"""Drives: limits to the last bit, springs that keep energy, gears; and what friction does when it is smoothed."""

import math
from functools import partial

import numpy as np
import pytest

import linkwise as lw
from effort import rest_slow
from facts import raises
from linkwise.control.drives import Sum
from robots import CHAINS, TREES, relative, states

PLANAR = lw.load("planar3")
ROBOTS = [PLANAR, lw.load("stanford"), CHAINS[2], CHAINS[5], TREES[2], TREES[3]]
every_robot = pytest.mark.parametrize("robot", rest_slow(ROBOTS, [CHAINS[5], TREES[2]]), ids=lambda robot: robot.name)
BODY = {"mass": 2.0, "com": (0, 0, 0), "inertia": np.eye(3) * 0.1}
CART = lw.Robot.from_dh(
    [{"joint": "prismatic", "a": 0, "alpha": 0, "theta": 0, **BODY}], convention="standard", gravity=(0, 0, 0)
)


def given(arm, t, q, qd):
    """A torque function that gives what it is told through q."""
    return np.asarray(q)


@pytest.mark.parametrize("most", [1.0, 0.1, 7e-12, 3e8])
def test_limits_hold_to_the_last_bit(most):
    inside = most * np.array([0.0, 1e-300, 1e-20, 0.1, 1 / 3, np.nextafter(1.0, 0.0)])
    beyond = most * np.array([1.0, np.nextafter(1.0, 2.0), 1.1, 1e10, 1e280])
    law = lw.control.limited(given, most)
    compiled = lw.compile(lambda arm, q: law(arm, 0.0, q, q), CART)
    for sign in (1.0, -1.0):
        for x in inside:
            assert law(CART, 0.0, [sign * x], [0.0])[0] == sign * x
            assert compiled([sign * x])[0] == sign * x
        for x in beyond:
            assert law(CART, 0.0, [sign * x], [0.0])[0] == sign * most
            assert compiled([sign * x])[0] == sign * most


def test_a_joint_may_be_without_limit_and_each_has_its_own():
    law = lw.control.limited(given, [1.0, math.inf, 0.0])
    assert law(PLANAR, 0.0, [5.0, -9e9, 3.0], [0.0] * 3).tolist() == [1.0, -9e9, 0.0]


def test_a_limited_drive_accelerates_no_faster_than_its_limit_allows():
    law = lw.control.limited(lw.control.springs(100.0, rest=1.0, damping=20.0), most=3.0)
    run = lw.simulate(CART, [-4.0], [0.0], 40.0, torque=law)
    assert run.compiled
    assert np.abs(run.tau).max() == 3.0
    early = run.t < 1.0
    assert np.abs(run.q[early, 0] - (-4.0 + 0.5 * 1.5 * run.t[early] ** 2)).max() < 1e-9
    assert abs(run.q[-1, 0] - 1.0) < 1e-6


@every_robot
def test_springs_keep_the_energy_of_robot_and_springs_together(robot):
    q, qd, k, rest = (x[0] for x in states(robot, 1))
    law = lw.control.springs(5.0 + np.abs(k), rest)
    run = lw.simulate(robot, q, 0.3 * qd, 0.4, torque=law, rtol=1e-10, samples=41)
    total = run.energy + law.energy(run.q)
    assert run.compiled
    assert np.abs(total - total[0]).max() < 1e-8 * np.abs(total).max() + 1e-9
    assert relative(run.work, law.energy(run.q[0]) - law.energy(run.q)) < 1e-7


@every_robot
def test_dampers_take_what_they_should(robot):
    q, qd, _, _ = (x[0] for x in states(robot, 1))
    run, viscous = (
        lw.simulate(robot, q, qd, 0.2, samples=5, **how)
        for how in ({"torque": lw.control.springs(0, damping=0.7)}, {"friction": lw.Friction(viscous=0.7, coulomb=0.0)})
    )
    assert relative(run.q, viscous.q) < 1e-7
    assert relative(-run.work, viscous.heat) < 1e-6


@every_robot
def test_laws_in_machine_code_are_the_laws_in_python(robot):
    q, qd, rest, _ = (x[0] for x in states(robot, 1))
    law = lw.control.limited(lw.control.springs(30.0, rest, damping=1.0), 4.0) + lw.control.springs(2.0)
    made, plain = (lw.simulate(robot, q, qd, 0.02, torque=law, samples=4, compiled=c) for c in (True, False))
    assert made.compiled
    assert not plain.compiled
    assert relative(made.q, plain.q) < 1e-6  # steps over the corners of the limits are decided by rounding
    assert relative(made.qd, plain.qd) < 1e-5


def test_laws_are_known_by_their_numbers():
    assert lw.control.springs(1, [1, 2], 0.5) == lw.control.springs(1.0, np.array([1, 2]), 0.5)
    assert hash(lw.control.springs(1, [1, 2])) == hash(lw.control.springs(1.0, (1.0, 2.0)))
    assert lw.control.springs(1) != lw.control.springs(2)
    assert lw.control.limited(lw.control.springs(1), 2) == lw.control.limited(lw.control.springs(1), 2.0)
    assert lw.control.springs(1) + given == lw.control.springs(1) + given
    assert given + lw.control.springs(1) != lw.control.springs(1) + given
    assert (lw.control.springs(1) + given) + lw.control.springs(2) == lw.control.springs(1) + (
        given + lw.control.springs(2)
    )
    assert repr(given + lw.control.limited(lw.control.springs(1, damping=2), 3)) == (
        "given + limited(springs(stiffness=1.0, damping=2.0), most=3.0)"
    )


def test_laws_of_a_sum_may_share_the_array_that_they_return():
    out = np.zeros(3)

    def law(arm, t, q, qd, gain):
        out[:] = gain * q
        return out

    both = lw.control.springs(0) + partial(law, gain=1.0) + partial(law, gain=2.0)
    assert np.array_equal(both(lw.load("planar3"), 0.0, np.ones(3), np.zeros(3)), [3.0] * 3)
    assert np.array_equal(Sum(both.parts[1:])(lw.load("planar3"), 0.0, np.ones(3), np.zeros(3)), [3.0] * 3)


def test_the_builtin_sum_adds_laws():
    parts = [lw.control.springs(1.0), lw.control.springs(2.0), lw.control.springs(3.0)]
    assert sum(parts) == parts[0] + parts[1] + parts[2]
    with pytest.raises(TypeError):
        1 + parts[0]


def test_a_sum_is_the_sum():
    q, qd = np.array([0.1, -0.4, 2.0]), np.array([1.0, 0.5, -2.0])
    both = given + lw.control.springs(3, 1, 0.2)
    assert np.array_equal(both(PLANAR, 0.0, q, qd), q + (3 * (1 - q) - 0.2 * qd))
    with pytest.raises(TypeError, match="unsupported operand"):
        lw.control.springs(1) + 3.0


def feedback(robot, t, q, qd, K, share=1.0):
    """A law with a parameter that is a matrix, and one with a default."""
    return -share * (K @ q)


def test_arguments_of_functions_within_limits_and_sums_are_parameters_everywhere(tmp_path):
    law = lw.control.limited(feedback, 0.5) + lw.control.springs(1.0)
    K, q0, span, steps = np.array([[3.0]]), np.array([0.6]), {"duration": 0.2}, {"steps": 20, "dt": 0.01}
    numbers, inputs = {"K": K, "share": 0.9}, {"K": lw.Input(1, 1), "share": 0.9}

    def clipped(robot, t, q, qd):
        return np.clip(-2.7 * q, -0.5, 0.5) - q

    expected = lw.simulate(CART, q0, torque=clipped, **span).q[-1]
    run, roll = (lw.compile(f, CART, torque=law, parameters=inputs) for f in (lw.simulate, lw.rollout))
    samples = {"q0": [q0, q0], "K": lw.per_trajectory(np.stack([K, 2 * K])), "share": lw.per_trajectory([0.9, 0.45])}
    ends = [
        lw.simulate(CART, q0, torque=law, parameters=numbers, compiled=True, **span).q[-1],
        lw.simulate(CART, q0, torque=law, parameters=numbers, compiled=False, **span).q[-1],
        run(q0, parameters={"K": K}, **span).q[-1],
        lw.rollout(CART, q0, torque=law, parameters=numbers, **steps).q_end,
        roll(q0, parameters={"K": K}, **steps).q_end,
        *lw.sweep(CART, samples, tmp_path, 0.2, torque=law, progress=False).read()["q_end"],
    ]
    assert np.abs(np.array(ends) - expected).max() < 1e-8


def test_an_argument_without_a_value_is_missing_and_one_of_two_parts_needs_another_name():
    law = lw.control.limited(feedback, 1.0)
    for run in (partial(lw.simulate, duration=0.1), partial(lw.rollout, steps=1, dt=0.1)):
        with raises(ValueError, "'K'", "parameters"):
            run(PLANAR, np.zeros(3), torque=law)
        with raises(ValueError, "'K'", "feedback", "another"):
            run(PLANAR, np.zeros(3), torque=law + feedback, parameters={"K": np.eye(3)})
    for function in (lw.simulate, lw.rollout):
        with raises(ValueError, "'K'", "lw.Input(3, 3)", "lw.Input()"):
            lw.compile(function, PLANAR, torque=law)


@every_robot
def test_gears_add_the_square_of_the_ratio_times_the_motor_to_the_diagonal(robot):
    q, _, ratio, motor = states(robot, 3)
    ratio, motor = 20.0 * ratio[0], 1e-3 * np.abs(motor[0])
    geared = lw.control.with_gears(robot, ratio, motor)
    bare = lw.inertia_matrix(robot.without_rotors(), q)
    assert relative(lw.inertia_matrix(geared, q), bare + np.diag(ratio**2 * motor)) < 1e-14
    assert (geared.name, geared.about, geared.convention) == (robot.name, robot.about, robot.convention)
    assert lw.control.with_gears(geared, 0.0, 1.0) == robot.without_rotors()
    assert relative(lw.gravity_torque(geared, q), lw.gravity_torque(robot, q)) == 0.0


def test_gears_leave_merged_links_and_regrouped_bodies_alone():
    fixed = {"joint": "fixed", "a": 0.1, "b": 0, "alpha": 0, "theta": 0}
    rows = [*PLANAR.rows[:2], {"name": "flange", "parent": "link2", **fixed}]
    arm = lw.Robot.from_dh(rows, convention=PLANAR.convention, gravity=PLANAR.gravity)
    geared = lw.control.with_gears(arm, 10, 1e-3)
    assert [row.get("rotor_inertia", 0.0) for row in geared.rows] == pytest.approx([0.1, 0.1, 0.0])
    assert geared.frames == arm.frames
    assert lw.control.with_gears(PLANAR.regrouped(), 10, 1e-3) == lw.control.with_gears(PLANAR, 10, 1e-3).regrouped()


def slide(speed, duration, **keywords):
    return lw.simulate(CART, [0.0], [speed], duration, **keywords)


# verner65 has weights of some hundred: in steps of seconds they show in the last digits
@pytest.mark.parametrize(("integrator", "bound"), [("dverk65", 1e-12), ("dormand54", 1e-12), ("verner65", 1e-11)])
def test_exact_friction_slows_a_mass_evenly_and_its_heat_is_the_energy_lost(integrator, bound):
    stop = 2.0 * 1.5 / 0.6  # mass speed / force
    dry = lw.Friction(viscous=0.0, coulomb=0.6, smooth=0.0)
    run = slide(1.5, 0.99 * stop, friction=dry, integrator=integrator)
    assert np.abs(run.qd[:, 0] - (1.5 - 0.3 * run.t)).max() < 1e-12
    assert np.abs(run.imbalance).max() < bound
    assert relative(run.heat, run.energy[0] - run.energy) < bound
    assert relative(run.heat, 0.6 * run.q[:, 0]) < bound  # force times way


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_smooth_friction_creeps_where_exact_friction_would_stick(share):
    """b v + c v/√(v² + ε²) = f: below c, the rate is ε (f/c) / √(1 - (f/c)²) where b = 0."""
    smooth = 1e-3
    run = slide(0.0, 0.5, torque=[share * 0.6], friction=lw.Friction(viscous=0.0, coulomb=0.6, smooth=smooth))
    creep = smooth * share / math.sqrt(1.0 - share**2)
    assert abs(run.qd[-1, 0] - creep) < 1e-5 * creep
    assert run.q[-1, 0] < creep * 0.5
    assert np.abs(run.imbalance).max() < 1e-9


def test_smooth_friction_comes_to_exact_friction_as_it_gets_steeper():
    exact = slide(1.5, 4.5, friction=lw.Friction(viscous=0.1, coulomb=0.6, smooth=0.0), samples=10)
    errors = []
    for smooth in (1e-1, 1e-2, 1e-3):
        run = slide(1.5, 4.5, friction=lw.Friction(viscous=0.1, coulomb=0.6, smooth=smooth), samples=10)
        errors.append(np.abs(run.q - exact.q).max())
    assert errors[0] > 10 * errors[1] > 100 * errors[2]


def test_stribeck_friction_falls_from_breaking_loose_to_sliding():
    drag = lw.Friction(viscous=0.0, coulomb=1.0, stribeck=1.5, stribeck_rate=0.01, smooth=0.0)
    torque = [drag.torque(CART, np.array([rate]))[0] for rate in (1e-9, 0.01, 10.0)]
    assert torque == pytest.approx([1.5, 1.25, 1.0], rel=1e-6)
    assert drag.torque(CART, np.array([-0.01]))[0] == -torque[1]
    assert drag.torque(CART, np.array([0.0]))[0] == 0.0


@pytest.mark.parametrize(
    ("make", "error", "said"),
    [
        (lambda: lw.control.springs(-1), ValueError, "stiffness is -1"),
        (lambda: lw.control.springs("stiff"), TypeError, "stiffness is 'stiff'"),
        (lambda: lw.control.springs(1, damping=[0, np.nan]), ValueError, "damping is"),
        (lambda: lw.control.springs(1, [1, 2])(PLANAR, 0, [0] * 3, [0] * 3), ValueError, "springs: rest has 2 numbers"),
        (lambda: lw.control.limited(3.0, 1), TypeError, "torque is 3.0"),
        (lambda: lw.control.limited(given, -1), ValueError, "most is -1"),
        (lambda: lw.control.limited(given, 1)(PLANAR, 0, [0] * 2, [0] * 3), ValueError, r"given gave shape \(2,\)"),
        (lambda: lw.control.with_gears(PLANAR, [1, 2], 1), ValueError, "ratio has 2 numbers"),
        (lambda: lw.control.with_gears(PLANAR, 1, -1), ValueError, "motor_inertia is -1"),
        (lambda: lw.control.with_gears(PLANAR, math.inf, 1), ValueError, "ratio is inf"),
    ],
    ids=lambda x: x if isinstance(x, str) else "x",
)
def test_bad_numbers_are_refused_by_name(make, error, said):
    with pytest.raises(error, match=said):
        make()
