"""Programs: their grammar, their meaning and their operations."""

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import linkwise as lw
from effort import examples
from linkwise import graph
from linkwise.graph import LEGAL, MEANING, GrammarError, Graph, Node, Port, Program, check, evaluate

ARM = lw.load("stanford")


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
    assert counted == lw.results.Count(multiplications=2, additions=2, divisions=1, functions=3, negations=1)
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
