"""The expression graph: its folding rules, one node for one expression, and what a node refuses."""

import math
import operator
from typing import Any

import numpy as np
import pytest

from effort import in_turn
from facts import raises
from linkwise.graph import MEANING, Graph, Node, Port, Program, evaluate, rules
from linkwise.graph.sensitivity import OTHER_BRANCH

TAPE = Graph()
X, Y, Z = (TAPE.input(name) for name in "xyz")


def is_same(one: Any, other: Any) -> bool:
    """One node, or one number: which is what equal expressions are."""
    if isinstance(one, Node) or isinstance(other, Node):
        return one is other
    return type(one) is type(other) is float and one == other


A, B = TAPE.input("a"), TAPE.input("b")  # of which the rules see one difference only


def made(op: str, *args: Any) -> Node:
    """The node as it stands, past the rules."""
    return TAPE.make(op, *(TAPE.node(arg) for arg in args))


# folding

RULES = {
    "x + 0 = x": (X + 0, X),
    "0 + x = x": (0.0 + X, X),
    "x + -0 = x": (X + -0.0, X),
    "x - 0 = x": (X - 0, X),
    "0 - x = -x": (0 - X, made("neg", X)),
    "0 x = 0": (0 * X, 0.0),
    "x 0 = 0": (X * 0.0, 0.0),
    "x -0 = 0": (X * -0.0, 0.0),
    "0 / x = 0": (0 / X, 0.0),
    "1 x = x": (1 * X, X),
    "x 1 = x": (X * 1.0, X),
    "-1 x = -x": (-1 * X, made("neg", X)),
    "x -1 = -x": (X * -1.0, made("neg", X)),
    "x / 1 = x": (X / 1, X),
    "x / -1 = -x": (X / -1, made("neg", X)),
    "+x = x": (+X, X),
    "-(-x) = x": (operator.neg(-X), X),
    "x + (-y) = x - y": (X + (-Y), made("sub", X, Y)),
    "(-x) + y = y - x": ((-A) + B, made("sub", B, A)),
    "(-x) + (-y) = -x - y = -(x + y)": ((-X) + (-Y), made("neg", made("add", X, Y))),
    "x - (-y) = x + y": (X - (-Y), made("add", X, Y)),
    "(-x) - y = -(x + y)": ((-X) - Y, made("neg", made("add", X, Y))),
    "(-x) - (-y) = y - x": ((-A) - (-B), made("sub", B, A)),
    "x - y = -(y - x) where y - x is there": (A - B, made("neg", made("sub", B, A))),
    "(-x) y = -(x y)": ((-X) * Y, made("neg", made("mul", X, Y))),
    "x (-y) = -(x y)": (X * (-Y), made("neg", made("mul", X, Y))),
    "(-x) (-y) = x y": ((-X) * (-Y), made("mul", X, Y)),
    "(-x) / y = -(x / y)": ((-X) / Y, made("neg", made("div", X, Y))),
    "x / (-y) = -(x / y)": (X / (-Y), made("neg", made("div", X, Y))),
    "(-x) / (-y) = x / y": ((-X) / (-Y), made("div", X, Y)),
    "sin(-x) = -sin x": ((-X).sin(), made("neg", made("sin", X))),
    "cos(-x) = cos x": ((-X).cos(), made("cos", X)),
    "sign(-x) = -sign x": ((-X).sign(), made("neg", made("sign", X))),
    "x + (-c) = x - c": (X + -2, made("sub", X, 2)),
    "-c + x = x - c": (-2 + X, made("sub", X, 2)),
    "x - (-c) = x + c": (X - -2, made("add", X, 2)),
    "-c - x = -(x + c)": (-2 - X, made("neg", made("add", X, 2))),
    "c - (-x) = x + c": (2 - (-X), made("add", X, 2)),
    "(-x) + c = c - x": ((-A) + 2, made("sub", 2, A)),
    "(-x) - c = -(x + c)": ((-X) - 2, made("neg", made("add", X, 2))),
    "x (-c) = -(x c)": (X * -2, made("neg", made("mul", X, 2))),
    "x / (-c) = -(x / c)": (X / -2, made("neg", made("div", X, 2))),
    "-c / x = -(c / x)": (-2 / X, made("neg", made("div", 2, X))),
    "(-x) / c = -(x / c)": ((-X) / 2, made("neg", made("div", X, 2))),
    "x - x = 0": (X - X, 0.0),
    "y + x = x + y": (Y + X, made("add", X, Y)),
    "y x = x y": (Y * X, made("mul", X, Y)),
    "x ^ 0 = 1": (X**0, 1.0),
    "x ^ 1 = x": (X**1, X),
    "x ^ 2 = x x": (X**2, made("mul", X, X)),
    "x ^ 3 = x (x x)": (X**3, made("mul", X, made("mul", X, X))),
    "x ^ 4 = (x x) (x x)": (X**4, made("mul", made("mul", X, X), made("mul", X, X))),
    "x ^ -1 = 1 / x": (X**-1, made("div", 1, X)),
    "x ^ -2 = 1 / (x x)": (X**-2, made("div", 1, made("mul", X, X))),
    "(-x) ^ 2 = x x": ((-X) ** 2, made("mul", X, X)),
}


@in_turn(RULES)
def test_rule(rule):
    found, expected = RULES[rule]
    assert is_same(found, expected), f"{found!r} is not {expected!r}"


@pytest.mark.parametrize("op", ["add", "sub", "mul", "div"])
def test_operations_on_numbers_alone_are_python_floats(op):
    found = getattr(rules, op)(np.float32(7), 2)
    assert type(found) is float
    assert found == MEANING[op](7.0, 2.0)


def test_functions_of_numbers_alone_are_python_floats():
    numbers = {rules.sin(2.0): math.sin, rules.cos(2.0): math.cos, rules.apply_function("sqrt", 2.0): math.sqrt}
    for found, function in numbers.items():
        assert is_same(found, function(2.0))
    assert is_same(rules.neg(3), -3.0)
    assert [rules.sign(c) for c in (-2, -0.0, 0, 5.0)] == [-1.0, 0.0, 0.0, 1.0]
    assert is_same(rules.power(3.0, 4), 81.0)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((X + Y) + Z, X + (Y + Z)),
        ((X * Y) * Z, X * (Y * Z)),
        ((X + Y) - Y, X),
        ((X * Y) / Y, X),
        (X / X, 1.0),
        ((2 * X) * 3, 6 * X),
        (X * Y + X * Z, X * (Y + Z)),
        (X + X, 2 * X),
        (X / 4, X * 0.25),
        ((X * X).sqrt(), X),
        (X.sin() * X.sin() + X.cos() * X.cos(), 1.0),
        ((-X).sqrt(), -(X.sqrt())),
    ],
)
def test_there_are_no_other_rules(one, other):
    assert not is_same(one, other)


@in_turn(range(1, 40))
def test_powers_take_as_few_products_as_squaring_allows(k):
    tape = Graph()
    tape.input("x") ** k
    products = [node for node in tape.nodes if node.op == "mul"]
    assert len(products) == k.bit_length() - 1 + k.bit_count() - 1 == len(tape.nodes) - 1


def test_dividing_by_the_constant_zero_says_what_was_divided():
    for divide in (lambda: X / 0, lambda: X / -0.0, lambda: X / (Y - Y)):
        with raises(ZeroDivisionError, "x[0]", "constant 0"):
            divide()


# one node for one expression


def test_equal_expressions_are_one_node_and_the_graph_does_not_grow():
    tape = Graph()

    def expression() -> Any:
        x, y = tape.input("x"), tape.input("x", 1)
        return (2.5 * (x + y).sin() - y / x) ** 3 + (y + x).sin() * np.float32(2.5)

    first = expression()
    size = len(tape.nodes)
    assert expression() is first
    assert len(tape.nodes) == size
    assert [node.index for node in tape.nodes] == list(range(size))
    keys = {(node.op, node.payload, *(a.index for a in node.args)) for node in tape.nodes}
    assert len(keys) == size


def test_the_operands_of_sums_and_products_stand_in_the_order_they_were_made():
    for node in ((Z * Y) + (Y * X), (3.0 + Z), (Z * X) * (Y + Z), 7.25 * (X + Y)):
        assert [a.index for a in node.args] == sorted(a.index for a in node.args)


def test_constants_are_one_node_whatever_their_type_or_the_sign_of_zero():
    tape = Graph()
    assert len({tape.constant(c).index for c in (2, 2.0, np.float32(2), np.int64(2))}) == 1
    assert tape.constant(0.0) is tape.constant(-0.0)
    assert math.copysign(1.0, tape.constant(-0.0).payload) == 1.0


def test_nodes_are_keys_by_identity():
    assert len({X, Y, X + Y, Y + X}) == 3
    assert X in [X, Y]
    assert (X, Y) == (X, Y)
    assert str(X == X) == "<x[0] == x[0]>"  # false where it is NaN


# a node has no value


@pytest.mark.parametrize(
    "deed",
    [
        bool, float, math.sin, lambda x: 1 if x else 2, lambda x: x and 1, lambda x: not x,
        lambda x: bool(x < 0), lambda x: bool(x <= 0), lambda x: bool(x > 0), lambda x: bool(x >= Y),
        lambda x: bool(x == 0.0), lambda x: bool(x != 0.0), lambda x: bool(x == Y), lambda x: max(x, 0.0),
        lambda x: sorted([x, Y]), lambda x: np.maximum(np.array([x, Y]), 0.0),
        lambda x: np.clip(np.array([x, Y]), 0.0, 1.0), lambda x: np.array([x, Y]).max(),
        lambda x: np.array([x, Y], dtype=float),
    ],
)  # fmt: skip
def test_asking_a_node_for_its_value_is_refused_with_help(deed):
    with raises(TypeError, "[0]") as caught:
        deed(X)
    assert "np.where" in str(caught.value) or "np.stack([...])" in str(caught.value)


@pytest.mark.parametrize("deed", [int, lambda x: x % 2, lambda x: x // 2, lambda x: (-2) ** x, len, np.hypot, np.cbrt])
def test_what_the_grammar_has_no_word_for_is_refused(deed):
    with pytest.raises(TypeError):
        deed(X)


@pytest.mark.parametrize("exponent", ["2", None, Y, 1j])
def test_an_exponent_is_a_number(exponent):
    with pytest.raises(TypeError, match=r"not known yet .* write np.exp|unsupported operand"):
        X**exponent


def test_whole_powers_are_products_and_others_are_nan_below_zero():
    assert X**2.0 is X * X
    assert X**-1.0 is 1.0 / X
    x = np.array([-1.0, 0.0, 0.3, 2.0, np.inf])
    for k in (0.5, 1.5, 2.5, -0.5, -1.5, 0.3, 1.7, -2.3):
        tape = Graph()
        a = tape.input("x")
        powers = Program.of(tape, [Port("x", ())], [Port("power", ()), Port("base", ())], [[a**k], [1.5**a]])
        with np.errstate(all="ignore"):
            power, base = evaluate(powers, x)
            assert np.allclose(power, x**k, rtol=1e-14, equal_nan=True)
            assert np.allclose(base, 1.5**x, rtol=1e-14)


@pytest.mark.parametrize("operation", [operator.add, operator.sub, operator.mul, operator.truediv])
@pytest.mark.parametrize("other", [True, 1j, "1", None], ids=repr)
def test_a_node_calculates_with_real_numbers_only(operation, other):
    for left, right in ((X, other), (other, X)):
        with pytest.raises(TypeError):
            operation(left, right)


@pytest.mark.parametrize("operation", [operator.add, operator.sub, operator.mul, operator.truediv])
@pytest.mark.parametrize("number", [2, 2.0, np.float64(2), np.float32(2), np.int64(2)], ids=lambda c: type(c).__name__)
def test_numbers_of_every_type_are_the_same_constant_on_either_side(operation, number):
    assert is_same(operation(X, number), operation(X, 2.0))
    assert is_same(operation(number, X), operation(2.0, X))


@pytest.mark.parametrize("operation", [operator.add, operator.sub, operator.mul, operator.truediv])
def test_a_node_meets_an_array_element_by_element(operation):
    numbers = np.array([2.0, 3.0])
    for left, right in ((X, numbers), (numbers, X), (np.array([X, Y]), numbers), (numbers, np.array([X, Y]))):
        found = operation(left, right)
        pairs = np.broadcast(left, right)
        assert found.shape == (2,)
        assert all(is_same(a, operation(b, c)) for a, (b, c) in zip(found, pairs, strict=True))


def test_numpy_functions_and_products_work_on_arrays_of_nodes():
    pair = np.array([X, Y])
    assert [np.sin(pair)[1], np.cos(pair)[0], np.sqrt(pair)[0]] == [Y.sin(), X.cos(), X.sqrt()]
    assert (pair @ pair) is (X * X + Y * Y)
    assert (np.array([[0.0, 1.0], [2.0, 0.0]]) @ pair)[1] is 2 * X
    assert pair.sum() is X + Y
    assert (pair**2)[0] is X * X


# two graphs


@pytest.mark.parametrize("operation", [operator.add, operator.sub, operator.mul, operator.truediv])
@pytest.mark.parametrize("known", [False, True], ids=["new expression", "known expression"])
def test_nodes_of_two_graphs_do_not_meet(operation, known):
    one, two = Graph(), Graph()
    (a, b), (_, d) = ([tape.input("x"), tape.input("y")] for tape in (one, two))
    if known:
        operation(a, b)  # has the same indices as what follows
    for left, right in ((a, d), (d, a)):
        with raises(ValueError, "[0]", "graph"):
            operation(left, right)


def test_a_program_holds_nodes_of_its_own_graph_only():
    with pytest.raises(ValueError, match="another graph"):
        Program.of(Graph(), [Port("x", ())], [Port("out", ())], [[X]])


# choices


@pytest.mark.parametrize("op", OTHER_BRANCH)
def test_the_other_branch_of_a_choice_is_the_one_that_is_not_taken(op: str) -> None:
    """Also where the two numbers that it compares are equal."""
    x, y = (part.ravel() for part in np.meshgrid([-2.0, -1.0, 0.0, 1.0], [-2.0, -1.0, 0.0, 1.0]))
    a, b = np.full_like(x, 3.0), np.full_like(x, 5.0)
    operands = {"select": (x, a, b), "sign": (x,), "abs": (x,), "min": (x, y), "max": (x, y)}.get(op, (x, y, a, b))
    taken = MEANING[op](*operands)
    other = OTHER_BRANCH[op](taken, *operands)
    if op in ("sign", "abs"):
        assert np.array_equal(other[x != 0.0], -taken[x != 0.0])
    else:
        assert np.array_equal(taken + other, operands[-1] + operands[-2])
