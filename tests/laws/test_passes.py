"""Passes change the text of a program and not its meaning."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import linkwise as lw
from effort import rest_slow
from linkwise.graph import Graph, Port, Program, count, evaluate
from linkwise.graph.passes import ALL_PASSES, apply_passes
from robots import QUICK, SMALL, conditioned, ids, relative, states

over_robots = pytest.mark.parametrize("robot", rest_slow(SMALL, QUICK[2::2]), ids=ids(SMALL))
CHOICES = [("common-factors",), ("push-signs",), ("common-factors", "push-signs")]
over_passes = pytest.mark.parametrize("passes", CHOICES, ids="+".join)


@over_robots
@over_passes
@pytest.mark.parametrize("function", [lw.inverse_dynamics, lw.forward_dynamics, lw.inertia_matrix])
def test_programs_mean_the_same_and_take_no_more(robot: lw.Robot, passes: tuple[str, ...], function: Any) -> None:
    plain = lw.trace(function, robot, method="fewest")
    changed = lw.trace(function, robot, method="fewest", passes=passes)
    q, qd, qdd, _ = states(robot)
    arrays = (q, qd, qdd)[: len(plain.inputs)]
    bound = max(1e-13, conditioned(robot, q))
    assert relative(evaluate(changed, *arrays)[0], evaluate(plain, *arrays)[0]) < bound
    before, after = count(plain), count(changed)
    assert after.total <= before.total
    assert len(changed.nodes) <= len(plain.nodes)
    assert count(apply_passes(changed, passes)).total == after.total
    if passes == ("push-signs",):
        assert after.total == before.total
        assert relative(evaluate(changed, *arrays)[0], evaluate(plain, *arrays)[0]) == 0.0


def program_of(make: Any, size: int) -> Program:
    graph = Graph()
    x = [graph.input("x", k) for k in range(size)]
    return Program.of(graph, [Port("x", (size,))], [Port("y", ())], [[make(*x)]])


def test_common_factors_go_before_the_bracket() -> None:
    found = apply_passes(program_of(lambda a, b, c: a * b + c * a, 3), ["common-factors"])
    assert (count(found).multiplications, count(found).additions) == (1, 1)
    chained = apply_passes(program_of(lambda a, b, c, d: a * b + a * c - a * d, 4), ["common-factors"])
    assert (count(chained).multiplications, count(chained).additions) == (1, 2)


def test_a_product_that_is_needed_elsewhere_stays() -> None:
    program = program_of(lambda a, b, c: (a * b + c * a) * (a * b), 3)
    assert count(apply_passes(program, ["common-factors"])) == count(program)


def test_signs_are_pushed_into_differences_and_constants() -> None:
    program = program_of(lambda a, b: -(a - b), 2)
    assert count(program).negations == 1
    assert count(apply_passes(program, ["push-signs"])).negations == 0
    program = program_of(lambda a, b: (2.0 * a).sin() * 0.0 - 3.0 * a, 2)
    assert count(apply_passes(program, ["push-signs"])).negations == 0


@given(st.lists(st.tuples(st.sampled_from("+-*"), st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=30))
def test_passes_keep_the_meaning_of_random_programs(steps: list[tuple[str, int, int]]) -> None:
    def make(*x: Any) -> Any:
        values = list(x)
        for op, i, j in steps:
            a, b = values[i % len(values)], values[j % len(values)]
            values.append({"+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: 0.5 * a * b}[op](a, b))
        return values[-1]

    program = program_of(make, 3)
    x = np.random.default_rng(0).uniform(-1, 1, size=(4, 3))
    found = evaluate(apply_passes(program, ALL_PASSES), x)[0]
    plain = evaluate(program, x)[0]
    assert np.abs(found - plain).max() <= 1e-9 * max(1.0, np.abs(plain).max())


def test_an_unknown_pass_is_refused_with_those_that_are_known() -> None:
    with pytest.raises(ValueError, match="common-factors, push-signs"):
        lw.trace(lw.inertia_matrix, lw.load("gantry"), passes=["faster"])
