"""Loops over the links give what plain Python gives, on chains and trees of any joints."""

from functools import cache

import numpy as np
import pytest

import linkwise as lw
from effort import rest_slow
from facts import raises
from linkwise.api.method_table import LOOP_METHODS
from linkwise.tracing.loop_tracing import NotRollableError, trace_rolled
from robots import CHAINS, DRIVEN, TREES, conditioned, relative, states

METHODS = [(getattr(lw, name), method) for name, methods in LOOP_METHODS.items() for method in methods]
ROBOTS = [lw.load("stanford"), lw.load("puma560"), CHAINS[1], CHAINS[2], CHAINS[12], TREES[1], TREES[6], *DRIVEN[2:]]
ARRAYS = {
    lw.inverse_dynamics: (0, 1, 2),
    lw.forward_dynamics: (0, 1, 3),
    lw.bias_torque: (0, 1),
    lw.gravity_torque: (0,),
}
every_robot = pytest.mark.parametrize("robot", rest_slow(ROBOTS, [TREES[6]]), ids=lambda robot: robot.name)
every_method = pytest.mark.parametrize(
    ("function", "method"), rest_slow(METHODS, METHODS[::2]), ids=lambda x: getattr(x, "__name__", str(x))
)


def given_to(function, robot, count=11):
    return [states(robot, count)[k] for k in ARRAYS[function]]


@cache
def in_loops(function, robot, method):
    return lw.compile(function, robot, form="loops", method=method)


def bound(function, robot, q):
    """How far results may lie apart: rounding, and what the inertia matrix makes of it."""
    return 4.0 * conditioned(robot, q) if function is lw.forward_dynamics else 1e-12


@every_robot
@every_method
def test_loops_agree_with_the_plain_text_and_a_state_alone_with_itself_in_a_batch(robot, function, method):
    kernel = in_loops(function, robot, method)
    given = given_to(function, robot)
    found = kernel(*given)
    assert relative(found, function(robot, *given)) < bound(function, robot, given[0])
    for count in (1, 2, 8, 9):
        assert np.array_equal(kernel(*(x[:count] for x in given)), found[:count])
    assert np.array_equal(kernel(*(x[3] for x in given), threads=1), found[3])
    assert np.array_equal(kernel(*given, threads=3), found)


@every_robot
def test_wrenches_on_every_link_and_friction_go_through_loops(robot):
    q, qd, qdd, tau = states(robot, 5)
    wrench = np.random.default_rng(1).normal(size=(5, robot.n, 6))
    options = {"wrench": lw.Input(robot.n, 6), "form": "loops", "friction": True}
    inverse, forward = (lw.compile(f, robot, **options) for f in (lw.inverse_dynamics, lw.forward_dynamics))
    assert relative(inverse(q, qd, qdd, wrench), lw.inverse_dynamics(robot, q, qd, qdd, wrench, friction=True)) < 1e-12
    plain = lw.forward_dynamics(robot, q, qd, tau, wrench, friction=True)
    assert relative(forward(q, qd, tau, wrench), plain) < bound(lw.forward_dynamics, robot, q)


def renumbered(robot, seed):
    """The same tree with its links in another order, parents first, and where each one was."""
    rng, rows, was = np.random.default_rng(seed), robot.rows, []
    while len(was) < robot.n:
        parents = {"base", *(rows[i]["name"] for i in was)}
        was.append(rng.choice([i for i in range(robot.n) if i not in was and rows[i]["parent"] in parents]))
    return lw.Robot.from_frames([rows[i] for i in was], gravity=robot.gravity, name=f"{robot.name}-{seed}"), was


@pytest.mark.parametrize("n", rest_slow([2, 7, 8, 9, 16, 17, 45], [9]))
@pytest.mark.parametrize("function", rest_slow(list(ARRAYS), list(ARRAYS)[1:2]), ids=lambda function: function.__name__)
def test_links_may_be_numbered_in_any_order(n, function):
    tree = lw.random_tree(n, seed=n)
    wrench = np.random.default_rng(n).normal(size=(11, n, 6))
    options = {"wrench": lw.Input(n, 6)} if function in (lw.inverse_dynamics, lw.forward_dynamics) else {}
    given = given_to(function, tree) + [wrench] * len(options)
    expected = lw.compile(function, tree, form="loops", **options)(*given)
    assert relative(expected, function(tree, *given)) < bound(function, tree, given[0])
    for seed in range(3):
        robot, was = renumbered(tree, seed)
        found = lw.compile(function, robot, form="loops", **options)(*(x[:, was] for x in given))
        assert relative(found, expected[:, was]) < bound(function, tree, given[0])


@every_robot
@every_method
def test_a_slot_holds_what_is_loaded_from_it_and_no_more_are_taken_than_are_needed(robot, function, method):
    shapes = {("q", "qd", "qdd", "tau")[k]: () for k in ARRAYS[function]}
    program = trace_rolled(function, robot, shapes, method=LOOP_METHODS[function.__name__][method]).program
    most = 0
    for kind in range(len(program.columns)):
        bodies = [loop.bodies[kind] for loop in program.loops]
        slots = {}
        for s, body in enumerate(bodies):
            assert all(slots[slot] == index for index, slot in body.loads.items())
            slots |= {slot: index for index, slot in body.stores.items()}
            needed = {index for later in bodies[s + 1 :] for index in later.loads}
            most = max(most, len(needed & set(slots.values())))
    assert program.slots == most


def test_tables_hold_the_numbers_that_the_loops_need():
    for robot in ROBOTS:
        rolled = trace_rolled(lw.gravity_torque, robot, {"q": ()})
        for kind, columns in enumerate(rolled.program.columns):
            bodies = [loop.bodies[kind] for loop in rolled.program.loops]
            used = {place for body in bodies for place in body.numbers.values()}
            assert used == set(range(len(columns)))
            for body in bodies:
                read = {node.index: node.payload[1] for node in body.nodes if node.index in body.numbers}
                assert read == {index: columns[place] for index, place in body.numbers.items()}


@pytest.mark.parametrize("robot", ROBOTS[-3:], ids=lambda robot: robot.name)
def test_floats_are_computed_in_loops_too(robot):
    kernel = lw.compile(lw.inverse_dynamics, robot, dtype="float32", form="loops")
    given = given_to(lw.inverse_dynamics, robot)
    found = kernel(*(x.astype(np.float32) for x in given))
    assert found.dtype == np.float32
    assert relative(found, lw.inverse_dynamics(robot, *given)) < 2e-5


@every_method
def test_a_bad_number_stays_in_its_state(function, method):
    robot = TREES[6]
    kernel = in_loops(function, robot, method)
    given = given_to(function, robot)
    clean = kernel(*given)
    for array in given:
        for bad in (np.nan, np.inf):
            kept = array[4, 2]
            array[4, 2] = bad
            found = kernel(*given)
            array[4, 2] = kept
            assert np.isnan(found[4]).all()
            assert np.array_equal(np.delete(found, 4, axis=0), np.delete(clean, 4, axis=0))


def test_a_joint_that_nothing_resists_is_named():
    rows = lw.chain(70).rows
    rows[-1] |= {"mass": 0.0, "inertia": np.zeros((3, 3))}
    robot = lw.Robot.from_dh(rows, convention="standard")
    kernel = lw.compile(lw.forward_dynamics, robot)
    with pytest.raises(lw.errors.SingularError, match="link70"):
        kernel(*np.ones((3, 2, 70)))


def test_long_robots_loop_by_themselves_and_public_functions_take_them():
    for robot in (lw.chain(150), lw.random_tree(150, seed=1)):
        q, qd, qdd, _ = states(robot, 3)
        kernel = lw.compile(lw.inverse_dynamics, robot)
        assert "@block_1(i64 %begin, i64 %end, i64 %n" in kernel.ir
        plain = lw.inverse_dynamics(robot, q, qd, qdd)
        with lw.use_kernels("auto"):
            assert np.array_equal(lw.inverse_dynamics(robot, q, qd, qdd), kernel(q, qd, qdd))
        assert relative(kernel(q, qd, qdd), plain) < 1e-11


def test_the_text_does_not_depend_on_how_many_links_there_are():
    one, other = (lw.compile(lw.forward_dynamics, lw.chain(n), form="loops") for n in (15, 40))
    assert one.ir == other.ir


def test_loops_cost_per_link_what_a_general_link_costs():
    per_link = lw.compile(lw.inverse_dynamics, lw.chain(40), form="loops").count.total / 40
    steps = [lw.count(lw.inverse_dynamics, lw.chain(n), method="fewest").total for n in (10, 11)]
    assert per_link < 1.2 * (steps[1] - steps[0])


def test_what_has_no_loops_is_refused_with_what_has():
    arm = lw.chain(8)
    with raises(ValueError, "inertia_matrix", "loops", "inverse_dynamics (newton-euler, fewest)"):
        lw.compile(lw.inertia_matrix, arm, form="loops")
    with pytest.raises(ValueError, match="loops"):  # a wrench on the tip, also where there are six links
        lw.compile(lw.inverse_dynamics, lw.chain(6), wrench=lw.Input(6), form="loops")
    with raises(ValueError, "inverse_dynamics", "loops"):
        lw.compile(lw.inverse_dynamics, arm, form="loops", method="complement")
    with raises(ValueError, "form", "'loop'", "'loops'"):
        lw.compile(lw.inverse_dynamics, arm, form="loop")
    with pytest.raises(NotRollableError, match="position of a link"):
        trace_rolled(lw.formulations.udu, arm, {"q": ()})
