"""Expressions multiplied out: the same value, one form for all ways of writing them."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import linkwise as lw
from linkwise.graph import Graph
from linkwise.graph.passes import Transplant
from linkwise.symbolic import Collector, collected_text, shared_graph

X, Y, Z = lw.symbols("x y z")
VALUES = {"x": 0.7, "y": -1.3, "z": 0.4}
leaves = st.sampled_from([X, Y, Z, 0.5, -2.0, 0.1])


def grown(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    pairs = st.tuples(inner, inner)
    return st.one_of(
        pairs.map(lambda p: p[0] + p[1]),
        pairs.map(lambda p: p[0] - p[1]),
        pairs.map(lambda p: p[0] * p[1]),
        inner.map(np.sin),
        inner.map(np.cos),
        inner.map(lambda x: x / (3.0 + Z)),
        inner.map(lambda x: x / 3.0),
        inner.map(lambda x: -x),
    )


def value(x: Any) -> float:
    return float(Transplant(shared_graph(), VALUES)(x))


@pytest.mark.parametrize("divisor", [2.0, 3.0, -7.0, 12.0])
def test_a_symbol_and_its_quotients_add_up(divisor: float) -> None:
    copied = Transplant(Graph())(X - X / divisor + (Y - X))
    assert str(copied).count("x") == 1
    assert value(copied) == pytest.approx(value(Y - X / divisor), rel=1e-15)


@given(st.recursive(leaves, grown, max_leaves=12))
def test_collecting_keeps_the_value_and_does_nothing_more_the_second_time(x: Any) -> None:
    collect = Collector()
    once = collect(x)
    assert value(once) == pytest.approx(value(x), rel=1e-9, abs=1e-9)
    assert collected_text(once) == collected_text(x)


@given(*[st.recursive(leaves, grown, max_leaves=4)] * 3)
def test_one_text_for_all_ways_of_writing(x: Any, y: Any, z: Any) -> None:
    assert collected_text(x + y) == collected_text(y + x)
    assert collected_text(x * y) == collected_text(y * x)
    assert collected_text((x + y) * z) == collected_text(x * z + z * y)
    assert collected_text(x - x) == "0"


def test_text_is_as_one_would_write_it() -> None:
    a, b, c = lw.symbols("alpha b c")
    assert collected_text(b * (c + 1.0) - 0.25 * b * c) == "b + 0.75*b*c"
    assert collected_text(-b * b / c) == "-b**2/c"
    assert collected_text(np.sin(a) ** 2 + np.cos(a) ** 2) == "1"
    assert collected_text((b * np.sin(a)) ** 2 / (b + c)) == "b**2/(b + c) - b**2*cos(alpha)**2/(b + c)"
    assert collected_text(b - b) == "0"
    assert collected_text(np.sin(0.1234567 * a) - np.sin(0.1234568 * a)) != "0"
    assert collected_text(0.1 * b + 0.2 * b - 0.3 * b) == "0"
    assert collected_text(2.5) == "2.5"
