"""The expression graph: its folding rules, its grammar, the meaning of a program, and tracing functions into one."""

import inspect
import math
import operator
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import linkwise as lw
from effort import examples, in_turn, rest_slow
from functions import NAMES
from linkwise import graph
from linkwise.graph import LEGAL, MEANING, GrammarError, Graph, Node, Port, Program, check, evaluate, rules
from robots import relative

TAPE = Graph()
X, Y, Z = (TAPE.input(name) for name in "xyz")
ARM = lw.load("stanford")
TREE = lw.random_tree(4, seed=2)


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
    numbers = {rules.sin(2.0): math.sin, rules.cos(2.0): math.cos, rules.function("sqrt", 2.0): math.sqrt}
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
        with pytest.raises(ZeroDivisionError, match=r"<x\[0\]> is divided by the constant 0"):
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
    assert operator.eq(X, X) is True
    assert operator.ne(X, X) is False


# a node has no value


@pytest.mark.parametrize(
    "deed",
    [
        bool,
        float,
        math.sin,
        lambda x: 1 if x else 2,
        lambda x: x and 1,
        lambda x: not x,
        lambda x: bool(x < 0),
        lambda x: bool(x <= 0),
        lambda x: bool(x > 0),
        lambda x: bool(x >= Y),
        lambda x: bool(x == 0.0),
        lambda x: bool(x != 0.0),
        lambda x: bool(x == Y),
        lambda x: max(x, 0.0),
        lambda x: sorted([x, Y]),
        lambda x: np.maximum(np.array([x, Y]), 0.0),
        lambda x: np.clip(np.array([x, Y]), 0.0, 1.0),
        lambda x: np.array([x, Y]).max(),
        lambda x: np.array([x, Y], dtype=float),
    ],
)
def test_asking_a_node_for_its_value_is_refused_with_help(deed):
    with pytest.raises(TypeError, match=r"the node [xy]\[0\] stands for a number that is not known yet") as caught:
        deed(X)
    assert "np.where" in str(caught.value) or "np.array([...]) or a list" in str(caught.value)


@pytest.mark.parametrize("deed", [int, lambda x: x % 2, lambda x: x // 2, lambda x: 2**x, len, np.hypot, np.cbrt])
def test_what_the_grammar_has_no_word_for_is_refused(deed):
    with pytest.raises(TypeError):
        deed(X)


@pytest.mark.parametrize("exponent", [0.5, 2.0, "2", None, Y])
def test_an_exponent_is_a_whole_number(exponent):
    with pytest.raises(TypeError, match=r"whole power only, .*sqrt"):
        X**exponent


@pytest.mark.parametrize("operation", [operator.add, operator.sub, operator.mul, operator.truediv])
@pytest.mark.parametrize("other", [True, 1j, "1", None, np.True_], ids=repr)
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
        with pytest.raises(ValueError, match="another graph: trace the whole function at once"):
            operation(left, right)


def test_a_program_holds_nodes_of_its_own_graph_only():
    with pytest.raises(ValueError, match="another graph"):
        Program.of(Graph(), [Port("x", ())], [Port("out", ())], [[X]])


# grammar


def program(nodes: list[Node], results: list[list[Node]], shapes: list[tuple[int, ...]] | None = None) -> Program:
    """A program with the input x of two numbers, put together by hand."""
    sizes = shapes or [(len(result),) for result in results]
    outputs = tuple(Port(f"out{k}", shape) for k, shape in enumerate(sizes))
    return Program((Port("x", (2,)),), tuple(nodes), outputs, tuple(map(tuple, results)))


def node(index: int, op: str, *args: Node, payload: Any = None) -> Node:
    return Node(HAND, index, op, args, payload)


HAND = Graph()
A, B = node(0, "input", payload=("x", 0)), node(1, "input", payload=("x", 1))
TWO, THREE = node(2, "const", payload=2.0), node(3, "const", payload=3.0)
SUM = node(4, "add", A, B)
IMPOSTOR = node(1, "input", payload=("x", 1))


def test_a_legal_program_passes_and_comes_back():
    good = program([A, B, TWO, SUM, node(5, "mul", SUM, TWO)], [[SUM, A], [TWO]])
    assert check(good) is good


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (program([A, node(5, "tan", A)], [[A]]), "unknown operation 'tan'"),
        (program([A, node(5, "sin")], [[A]]), "sin takes 1 operands, not 0"),
        (program([A, B, node(5, "neg", A, B)], [[A]]), "neg takes 1 operands, not 2"),
        (program([A, B, node(5, "add", A, B, A)], [[A]]), "add takes 2 operands, not 3"),
        (program([node(5, "const", A, payload=1.0)], [[]]), "const takes 0 operands, not 1"),
        (program([A, SUM, B], [[SUM]]), "add #4.* comes later or is missing"),
        (program([A, SUM], [[SUM]]), "add #4.* comes later or is missing"),
        (program([A, IMPOSTOR, SUM], [[SUM]]), "add #4.* comes later or is missing"),
        (program([node(5, "input", payload=("y", 0))], [[]]), r"y\[0\].* not among the inputs"),
        (program([node(5, "input", payload=("x", 2))], [[]]), r"x\[2\].* not among the inputs"),
        (program([node(5, "input", payload=("x", -1))], [[]]), r"x\[-1\].* not among the inputs"),
        (program([node(5, "const", payload=math.nan)], [[]]), "constant nan is not finite"),
        (program([node(5, "const", payload=-math.inf)], [[]]), "constant -inf is not finite"),
        (program([TWO, THREE, node(5, "mul", TWO, THREE)], [[]]), "mul #5.* should have been folded"),
        (program([TWO, node(5, "sin", TWO)], [[]]), "sin #5.* should have been folded"),
        (program([A], [[A]], [(2,)]), r"output 'out0' of shape \(2,\) has 1 results"),
        (program([A], [[A], [A]], [(1,)]), "1 outputs are declared and 2 are computed"),
        (program([A], [[A]], [(1,), (1,)]), "2 outputs are declared and 1 are computed"),
        (program([A], [[A, B]]), "output 'out0' needs a node that the program does not compute"),
        (program([A, B], [[IMPOSTOR]]), "output 'out0' needs a node that the program does not compute"),
    ],
)
def test_an_illegal_program_is_refused(wrong, said):
    with pytest.raises(GrammarError, match=said):
        check(wrong)


def test_every_legal_operation_has_a_meaning_and_a_count():
    assert set(MEANING) == set(LEGAL) - {"const", "input"}
    for op in MEANING:
        args = (A, B)[: LEGAL[op]]
        counted = graph.count(program([A, B, node(5, op, *args)], [[]]))
        assert counted.total + counted.negations == 1


# meaning

INPUTS = 3
OPS = ("add", "sub", "mul", "div", "neg", "sin", "cos", "sign", "root", "power", "ratio")
COSTS = {"neg": 0, "root": 3, "ratio": 3}  # others: 1
constants = st.sampled_from([0.0, 1.0, -1.0, 2.0, -0.5, 3, -7]) | st.floats(-10, 10)
instructions = st.lists(
    st.tuples(st.sampled_from(OPS), st.integers(0, 99), st.integers(0, 99), st.integers(-3, 7)), min_size=1, max_size=25
)


def power(x: Any, k: int) -> Any:
    """xᵏ as the rules say it, for plain numbers too."""
    if isinstance(x, Node):
        return x**k
    if k < 0:
        return 1.0 / power(x, -k)
    result = 1.0
    while k:
        result, x, k = result * x if k & 1 else result, x * x if k > 1 else x, k >> 1
    return result


def run(code: list[tuple[str, int, int, int]], values: list[Any], see: Callable[[Any], None]) -> list[Any]:
    """Straight-line code over numbers, arrays or nodes: each instruction uses any earlier values."""
    values = list(values)
    for op, i, j, k in code:
        a, b = values[i % len(values)], values[j % len(values)]
        if op == "power":
            value = power(a, k)
        elif op == "sign" and isinstance(a, Node):
            value = a.sign()  # np.sign compares
        elif op == "ratio":
            value = a / (b * b + 1.0)
        elif op == "root":
            value = np.sqrt(a * a + 0.25)
        else:
            value = MEANING[op](*(a, b)[: LEGAL[op]])
        see(value)
        values.append(value)
    return values


def bits(values: list[Any], batch: int) -> bytes:
    """The numbers to the last bit, apart from the sign of zero."""
    return np.stack([np.broadcast_to(np.asarray(v, dtype=float), (batch,)) + 0.0 for v in values]).tobytes()


@examples(300)
@given(code=instructions, numbers=st.lists(constants, max_size=4), seed=st.integers(0, 2**32))
def test_evaluating_a_random_program_is_running_it_in_numpy_to_the_last_bit(code, numbers, seed):
    states = np.random.default_rng(seed).normal(size=(5, INPUTS))
    states[0] = np.round(states[0])
    fine = True

    def finite(value: Any) -> None:
        nonlocal fine
        fine = fine and bool(np.all(np.isfinite(value)))

    with np.errstate(all="ignore"):
        try:
            plain = run(code, [*(states[:, i] for i in range(INPUTS)), *numbers], finite)
        except ZeroDivisionError:
            fine = False
    assume(fine)
    tape = Graph()
    with np.errstate(all="ignore"):  # on the way there may be infinities: 1 / (x x + 1)
        traced = run(code, [*(tape.input("x", i) for i in range(INPUTS)), *numbers], lambda value: None)
        made_of = check(Program.of(tape, [Port("x", (INPUTS,))], [Port("all", (len(traced),))], [traced]))
        (found,) = evaluate(made_of, states)
    assert bits(list(found.T), 5) == bits(plain, 5)
    if all(op != "power" for op, *_ in code):
        assert graph.count(made_of).total <= sum(COSTS.get(op, 1) for op, *_ in code)


@pytest.mark.parametrize("batch", [(), (0,), (4,), (2, 3)], ids=str)
def test_programs_take_any_batch_and_shape_their_outputs(batch):
    tape = Graph()
    x, y = [tape.input("x", k) for k in range(6)], tape.input("y")
    outputs = [Port("sums", (3, 2)), Port("one", ()), Port("none", (0, 2)), Port("constant", (2,))]
    made_of = check(
        Program.of(tape, [Port("x", (2, 3)), Port("y", ())], outputs, [[v + y for v in x], [y], [], [1.0, -2]])
    )
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(*batch, 2, 3)), rng.normal(size=batch)
    sums, one, none, constant = evaluate(made_of, a, b)
    assert np.array_equal(sums, (a + b[..., None, None]).reshape(*batch, 3, 2))
    assert np.array_equal(one, b)
    assert none.shape == (*batch, 0, 2)
    assert np.array_equal(constant, np.broadcast_to([1.0, -2.0], (*batch, 2)))
    assert evaluate(made_of, a, 1.0)[0].shape == (*batch, 3, 2)


@pytest.mark.parametrize("shape", [(), (6,), (3, 2), (2,), (2, 3, 1)], ids=str)
def test_an_array_of_wrong_shape_is_refused_by_name(shape):
    made_of = Program.of(Graph(), [Port("x", (2, 3))], [], [])
    with pytest.raises(ValueError, match=rf"x has shape {re.escape(str(shape))} .*expected \(\.\.\., 2, 3\)"):
        evaluate(made_of, np.zeros(shape))


def test_as_many_arrays_as_inputs_are_taken():
    made_of = Program.of(Graph(), [Port("x", (2,)), Port("rate", ())], [], [])
    for wrong in ([], [np.zeros(2)], [np.zeros(2)] * 3):
        with pytest.raises(TypeError, match=rf"takes 2 arrays \(x, rate\), not {len(wrong)}"):
            evaluate(made_of, *wrong)


def test_integers_do_not_overflow_and_float32_stays():
    tape = Graph()
    made_of = Program.of(tape, [Port("x", ())], [Port("p", ())], [[tape.input("x") ** 9]])
    assert evaluate(made_of, 1000)[0] == 1e27
    assert evaluate(made_of, np.array([2.0], dtype=np.float32))[0].dtype == np.float32


# counting


def test_operations_are_counted_by_kind_each_expression_once_and_signs_for_free():
    def f(arm: lw.Robot, q: Any) -> Any:
        x, y = q[0], q[1]
        unused = np.sqrt(x * y)  # noqa: F841
        return -(np.sin(x) * y + np.cos(x) * y - np.sin(x) * y / x), np.sqrt(x) + 0.0 * y

    counted = lw.count(f, ARM)
    assert counted == lw.Count(multiplications=2, additions=2, divisions=1, functions=3, negations=1)
    assert counted.total == 8
    assert str(counted) == "2 multiplications, 2 additions, 1 division, 3 functions"
    assert counted == graph.count(lw.trace(f, ARM))


def test_zeros_and_ones_of_a_robot_cost_nothing():
    pendulum = {"joint": "revolute", "a": 1.0, "b": 0.0, "alpha": 0.0, "com": (-0.5, 0, 0), "inertia": np.zeros((3, 3))}
    arm = lw.Robot.from_dh([{**pendulum, "mass": 3.0}], convention="standard", gravity=(0, -9.81, 0))
    bent = {**pendulum, "mass": 3.0, "com": (-0.5, 0.1, 0.1), "alpha": 0.3}
    general = lw.Robot.from_dh([bent], convention="standard", gravity=(1, -9.81, 2))
    for function in (lw.gravity_torque, lw.inverse_dynamics):
        assert lw.count(function, arm).total < lw.count(function, general).total
    assert lw.count(lw.inertia_matrix, arm).total == 0


# tracing


def agree(function: Callable[..., Any], robot: lw.Robot, *arrays: np.ndarray, **keywords: Any) -> bool:
    """Whether the traced program and the plain run give the same bits, apart from the sign of zero.

    Products of matrices agree to rounding: BLAS adds in an order of its own.
    """
    inputs = {name: value for name, value in keywords.items() if isinstance(value, np.ndarray)}
    shapes = {name: lw.Input(*value.shape[1:]) for name, value in inputs.items()}
    found = evaluate(lw.trace(function, robot, **{**keywords, **shapes}), *arrays, *inputs.values())
    plain = function(robot, *arrays, **keywords)
    plain = plain if isinstance(plain, tuple) else (plain,)
    if function in MATRIX_PRODUCTS:
        return all(relative(a, b) < 1e-13 for a, b in zip(found, plain, strict=True))
    same = (np.array_equal(a + 0.0, b + 0.0) and a.shape == b.shape for a, b in zip(found, plain, strict=True))
    return all(same)


UNTRACED = ("methods", "convert_force", "convert_state", "equilibrium")  # which iterate, or ask for words
PUBLIC = [getattr(lw, name) for name in NAMES if name not in UNTRACED]
FUNCTIONS = [f for f in PUBLIC if inspect.isfunction(f) and "q" in inspect.signature(f).parameters]
CHOICES = [
    pytest.param(function, method, id="-".join(filter(None, [function.__name__, method])))
    for function in FUNCTIONS
    for method in (lw.methods(function) if "method" in inspect.signature(function).parameters else [None])
]


ROTORLESS = (lw.operators, lw.operator_rates, lw.mass_factor_rate, lw.kinetic_gradient)
FREE_BASE = (lw.base_wrench, lw.floating_dynamics, lw.generalized_jacobian)
MATRIX_PRODUCTS = (lw.forward_dynamics_second_derivatives,)  # of BLAS: sums in its own order, with fused operations


@pytest.mark.parametrize(("function", "method"), CHOICES)
@pytest.mark.parametrize("robot", rest_slow([ARM, TREE, lw.load("puma560")], [TREE]), ids=lambda robot: robot.name)
def test_the_program_of_a_public_function_is_the_function_to_the_last_bit(function, method, robot):
    robot = robot.without_rotors() if function in ROTORLESS else robot
    robot = robot.with_free_base(2.0, (0.1, 0.2, 0.3), np.eye(3)) if function in FREE_BASE else robot
    needed = [p for p in inspect.signature(function).parameters.values() if p.default is p.empty][1:]
    rng = np.random.default_rng(3)
    arrays = [rng.normal(size=(4, robot.size_of(p.name))) for p in needed]
    assert agree(function, robot, *arrays, **({"method": method} if method else {}))


@pytest.mark.parametrize("shape", [(6,), (6, 6)], ids=["tip", "every link"])
@pytest.mark.parametrize("function", [lw.inverse_dynamics, lw.forward_dynamics])
def test_a_wrench_becomes_an_input_when_asked_for(function, shape):
    rng = np.random.default_rng(4)
    arrays, wrench = rng.normal(size=(3, 5, 6)), rng.normal(size=(5, *shape))
    traced = lw.trace(function, ARM, wrench=lw.Input(*shape))
    assert traced.inputs[-1] == Port("wrench", shape)
    assert agree(function, ARM, *arrays, wrench=wrench)


STIFFNESS = np.array([50.0, 40.0, 30.0, 20.0, 10.0, 5.0])


def controller(arm, q, qd, target, *, damping=2.0):
    """Springs and dampers about a target, gravity carried, and a load that sways."""
    sway = np.sin(q) * np.cos(target) / np.sqrt(1.0 + q**2)
    return STIFFNESS * (target - q) - damping * qd + lw.gravity_torque(arm, q) + sway


def closed_loop(arm, q, qd, target):
    """The acceleration under that controller, and how much power it takes."""
    tau = controller(arm, q, qd, target)
    return lw.forward_dynamics(arm, q, qd, tau), (tau * qd).sum(-1)


def test_a_function_of_ones_own_over_these_is_traced_like_them():
    traced = lw.trace(controller, ARM)
    assert traced.inputs == tuple(Port(name, (6,)) for name in ("q", "qd", "target"))
    assert traced.outputs == (Port("controller", (6,)),)
    arrays = np.random.default_rng(5).normal(size=(3, 7, 6))
    assert agree(controller, ARM, *arrays)
    assert agree(controller, ARM, *arrays, damping=0.5)
    assert not np.array_equal(
        evaluate(traced, *arrays)[0], evaluate(lw.trace(controller, ARM, damping=0.5), *arrays)[0]
    )
    assert lw.count(controller, ARM).divisions == 6
    assert lw.count(controller, ARM).total > lw.count(lw.gravity_torque, ARM).total


def test_several_results_are_several_outputs():
    traced = lw.trace(closed_loop, ARM)
    assert traced.outputs == (Port("closed_loop_0", (6,)), Port("closed_loop_1", ()))
    q, qd, target = np.random.default_rng(6).normal(size=(3, 7, 6))
    found, power_found = evaluate(traced, q, qd, target)
    expected, power_expected = closed_loop(ARM, q, qd, target)
    assert np.array_equal(found, expected)
    assert relative(power_found, power_expected) < 1e-14  # NumPy sums in another order


@pytest.mark.parametrize(
    ("function", "shape"),
    [
        (lambda arm, q: q[0], ()),
        (lambda arm, q: [q[0], 1.0, np.float32(2.0), 3], (4,)),
        (lambda arm, q: np.outer(q, q), (6, 6)),
        (lambda arm, q: np.zeros((2, 0)), (2, 0)),
        (lambda arm, q: 2.5, ()),
        (lambda arm: np.arange(3), (3,)),
        (lambda arm, q, k: q * k, (6,)),
    ],
)
def test_results_may_be_nodes_numbers_lists_or_arrays(function, shape):
    keywords = {"k": lw.Input()} if "k" in inspect.signature(function).parameters else {}
    traced = lw.trace(function, ARM, **keywords)
    assert traced.outputs[0].shape == shape
    arrays = [np.arange(1.0, 7.0), 2.0][: len(traced.inputs)]
    assert np.array_equal(evaluate(traced, *arrays)[0], np.array(function(ARM, *arrays), dtype=float))


@pytest.mark.parametrize(
    "result", [None, "tau", True, 1j, [[1.0], [1.0, 2.0]], {"tau": 1.0}, [None], [True, "x"]], ids=repr
)
def test_a_function_that_returns_no_numbers_is_refused(result):
    with pytest.raises(TypeError, match=r"the traced function returned .*expected an array of numbers"):
        lw.trace(lambda arm, q: result, ARM)


def test_a_function_that_branches_on_its_inputs_is_refused_with_help():
    def saturated(arm: lw.Robot, q: Any) -> Any:
        return [x if x < 1.0 else 1.0 for x in q]

    with pytest.raises(TypeError, match=r"the node q\[0\] .*cannot be compared.*branch on the robot"):
        lw.trace(saturated, ARM)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_function_with_a_constant_that_is_not_finite_is_refused(bad):
    with pytest.raises(GrammarError, match=f"constant {bad} is not finite"):
        lw.trace(lambda arm, q: [q[0] * bad], ARM)


def test_a_node_kept_from_another_trace_is_refused():
    kept: list[Any] = []
    lw.trace(lambda arm, q: kept.append(q[0]) or q, ARM)
    for leak in (lambda arm, q: q * kept[0], lambda arm, q: kept):
        with pytest.raises(ValueError, match="another graph"):
            lw.trace(leak, ARM)


@pytest.mark.parametrize("robot", ["stanford", None, lw.poses])
def test_tracing_needs_a_robot(robot):
    with pytest.raises(TypeError, match=r"the second argument is .*expected a Robot") as caught:
        lw.count(lw.poses, robot)
    assert ("linkwise.load('stanford')" in str(caught.value)) == (robot == "stanford")


@pytest.mark.parametrize("shape", [((6,),), (-1,), ("6",), (2.0,), (True,)], ids=str)
def test_the_shape_of_an_input_is_whole_numbers(shape):
    with pytest.raises(TypeError, match=r"is not a shape \(expected whole numbers: Input\(6\)"):
        lw.Input(*shape)


def test_a_keyword_that_the_function_does_not_know_is_refused():
    with pytest.raises(TypeError, match="colour"):
        lw.trace(lw.poses, ARM, colour="red")


def test_a_wrong_wrench_input_is_refused_like_a_wrong_wrench():
    with pytest.raises(ValueError, match=r"wrench has shape \(5,\)"):
        lw.trace(lw.inverse_dynamics, ARM, wrench=lw.Input(5))
