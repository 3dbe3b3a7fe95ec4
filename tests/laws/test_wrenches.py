"""External wrenches as the public functions take them: on the tip, on every link, and what is refused."""

import re
from functools import partial

import numpy as np
import pytest

import linkwise as lw
from effort import rest_slow
from facts import raises
from functions import ARM, GANTRY, TREE, WITH_WRENCH, Call, arrays, every_wrench, same_bits
from robots import relative

NAN = float("nan")


def effect(robot: lw.Robot, q: np.ndarray, wrench: np.ndarray) -> np.ndarray:
    """The joint torques that wrenches (..., n, 6) at the centres of mass amount to, by virtual work."""
    columns = [lw.jacobian(robot, q, link=i, point="com") for i in range(robot.n)]
    return sum(np.einsum("...ij,...i->...j", J, wrench[..., i, :]) for i, J in enumerate(columns))


def by_torque(call: Call, robot: lw.Robot, given: list[np.ndarray], torque: np.ndarray) -> list[np.ndarray]:
    """What the function gives without a wrench, plus what the torque of the wrench does to it."""
    if call.function is lw.forward_dynamics:
        q, qd, tau = given
        return call(robot, q, qd, tau + torque)
    return [part - torque for part in call(robot, *given)]


BY_WORK = [c for c in WITH_WRENCH if c.function in (lw.inverse_dynamics, lw.forward_dynamics, lw.bias_torque)]


@pytest.mark.parametrize("call", BY_WORK, ids=str)
@pytest.mark.parametrize(
    ("robot", "batch"),
    rest_slow([(ARM, (2, 3)), (TREE, ()), (GANTRY, (4,))], [(TREE, ())]),
    ids=["chain", "tree", "gantry"],
)
def test_a_wrench_on_every_link_does_what_its_virtual_work_says(call, robot, batch):
    given = arrays(call, robot, *batch)
    wrench = np.random.default_rng(5).normal(size=(*batch, robot.n, 6))
    expected = by_torque(call, robot, given, effect(robot, given[0], wrench))
    for part, other in zip(call(robot, *given, wrench=wrench), expected, strict=True):
        assert relative(part, other) < 1e-10


@pytest.mark.parametrize("call", rest_slow(WITH_WRENCH, WITH_WRENCH[::3]), ids=str)
@pytest.mark.parametrize(
    ("robot", "batch"), rest_slow([(ARM, (2, 3)), (GANTRY, ())], [(ARM, (2, 3))]), ids=["chain", "gantry"]
)
def test_a_wrench_without_links_acts_on_the_tip(call, robot, batch):
    given = arrays(call, robot, *batch)
    rng = np.random.default_rng(6)
    shapes = {(6,), (*batch, 6), (*(1 for _ in batch), 6)}
    for shape in shapes:
        tip = rng.normal(size=shape)
        every = np.zeros((*batch, robot.n, 6))
        every[..., -1, :] = tip
        for part, other in zip(call(robot, *given, tip), call(robot, *given, every), strict=True):
            assert relative(part, other) < 1e-13


@every_wrench
def test_tip_wrenches_are_taken_state_by_state_and_as_many_as_links_are_refused_with_the_ways_to_say_it(call):
    given = arrays(call, ARM, ARM.n + 1)
    tips = np.random.default_rng(7).normal(size=(ARM.n + 1, 6))
    together = call(ARM, *given, tips)
    for k in (0, ARM.n):
        alone = call(ARM, *(a[k] for a in given), tips[k])
        assert all(same_bits(part[k], one) for part, one in zip(together, alone, strict=True))
    with raises(ValueError, "wrench", "(6, 6)", "batch (6,)", "{'link6': ...}", "(..., 6)", "(6, 6, 6)", "(1, 6, 6)"):
        call(ARM, *(a[: ARM.n] for a in given), tips[: ARM.n])


WRONG_WRENCHES = [
    ((), (5,), r"\(6,\) for the tip or \(6, 6\) for every link"),
    ((), (), r"\(6,\) for the tip"),
    ((), (5, 6), r"\(6, 6\) for every link"),
    ((), (6, 5), r"\(6, 6\) for every link"),
    ((), (4, 6, 6), r"\(6, 6\) for every link"),
    ((4,), (4, 5), r"\(4, 6\) for the tip or \(4, 6, 6\) for every link"),
    ((4,), (4, 5, 6), r"\(4, 6, 6\) for every link"),
    ((4,), (2, 4, 6, 6), r"\(4, 6, 6\) for every link: moment, then force, in the base frame"),
]


@every_wrench
def test_a_wrench_of_wrong_shape_is_refused_with_the_two_that_fit(call):
    for batch, shape, said in WRONG_WRENCHES:
        with pytest.raises(ValueError, match=rf"^wrench has shape {re.escape(str(shape))} .*{said}"):
            call(ARM, *arrays(call, ARM, *batch), wrench=np.zeros(shape))


@every_wrench
@pytest.mark.parametrize("shape", [(3, 6), (3, 6, 6)])
def test_a_wrench_whose_batch_does_not_fit_is_refused_with_every_shape(call, shape):
    with raises(ValueError, "q (4,)", "wrench (3,)"):
        call(ARM, *arrays(call, ARM, 4), wrench=np.zeros(shape))


@every_wrench
@pytest.mark.parametrize("batch", [(), (4,)], ids=str)
def test_a_tip_wrench_on_a_robot_with_several_tips_is_refused_and_names_them(call, batch):
    assert len(TREE.leaves) > 1
    tips = ", ".join(repr(TREE.names[i]) for i in TREE.leaves)
    with pytest.raises(ValueError, match=rf"^wrench .*robot 'tree-5-11' has several: {tips} .*\(\.\.\., 5, 6\)"):
        call(TREE, *arrays(call, TREE, *batch), wrench=np.zeros((*batch, 6)))


@every_wrench
def test_a_wrench_is_an_array_of_real_numbers(call):
    for value, said in (([True] * 6, "dtype bool"), ([1j] * 6, "dtype complex"), (["f"] * 6, "dtype <U1")):
        with pytest.raises(TypeError, match=f"^wrench has {said}"):
            call(ARM, *arrays(call, ARM), wrench=value)


@every_wrench
def test_a_bad_number_in_a_wrench_blanks_its_own_state_and_check_names_it(call):
    given = arrays(call, ARM, 3)
    for shape, index in (((3, 6), (1, 2)), ((3, 6, 6), (1, 0, 5))):
        wrench = np.random.default_rng(8).normal(size=shape)
        clean = call(ARM, *given, wrench)
        wrench[index] = NAN
        for part, good in zip(call(ARM, *given, wrench), clean, strict=True):
            assert np.isnan(part[1]).all()
            assert same_bits(part[[0, 2]], good[[0, 2]])
        with raises(ValueError, f"wrench{list(index)}", "nan"):
            call(ARM, *given, wrench, check=True)
        alone = call(ARM, *(a[1] for a in given), wrench[1])
        assert all(np.isnan(part).all() for part in alone)


def test_wrenches_on_every_link_with_a_batch_say_how_they_are_given() -> None:
    arm, tree = lw.load("planar3"), lw.load("panda")
    zeros, wrench = np.zeros((5, 3)), np.ones((3, 6))
    with pytest.raises(ValueError, match=re.escape("wrench has shape (3, 6)")) as caught:
        lw.inverse_dynamics(arm, zeros, zeros, zeros, wrench)
    for said in ("the tip", "batch (5,)", "(5, 6)", "(1, 3, 6)"):
        assert said in str(caught.value)
    with pytest.raises(ValueError, match=re.escape("(1, 1, 3, 6)")):
        lw.inverse_dynamics(arm, zeros.reshape(5, 1, 3), zeros.reshape(5, 1, 3), zeros[:1], np.ones((2, 3, 6)))
    with pytest.raises(ValueError, match=re.escape("(1, 9, 6)")):  # several tips
        lw.inverse_dynamics(tree, *np.zeros((3, 5, tree.n)), np.ones((9, 6)))
    for run in (partial(lw.rollout, steps=1, dt=1e-3), partial(lw.simulate, duration=1e-3)):
        with pytest.raises(ValueError, match=re.escape("(1, 3, 6)")):
            run(arm, zeros, wrench=wrench)
