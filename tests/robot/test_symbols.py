"""Robots made of symbols: the same functions carry them, and values put in afterwards give the numbers."""

import copy
import inspect
import pickle
from typing import Any

import numpy as np
import pytest

import linkwise as lw
from facts import raises
from linkwise.symbolic.symbol_tables import expression
from robots import relative, states

LENGTHS, MASSES = (0.3, 0.25, 0.22), (0.5, 0.4, 0.3)
VALUES = {"g": 9.81} | {f"l{i + 1}": x for i, x in enumerate(LENGTHS)} | {f"m{i + 1}": x for i, x in enumerate(MASSES)}


def symbolic_planar() -> lw.Robot:
    rows = []
    for i in range(3):
        length, mass = lw.symbols(f"l{i + 1} m{i + 1}")
        inertia = mass * length**2 / 12
        row = {"joint": "revolute", "a": length, "b": 0.0, "alpha": 0.0, "mass": mass, "com": (-0.5 * length, 0, 0)}
        rows.append({**row, "inertia": [[0, 0, 0], [0, inertia, 0], [0, 0, inertia]]})
    g = lw.symbols("g")
    return lw.Robot.from_dh(rows, convention="standard", gravity=(0, -g, 0), name="planar")


FUNCTIONS = {
    lw.inverse_dynamics: (0, 1, 2), lw.forward_dynamics: (0, 1, 3), lw.inertia_matrix: (0,),
    lw.coriolis_matrix: (0, 1), lw.formulations.udu: (0,), lw.inverse_inertia_matrix: (0,),
    lw.potential_energy: (0,),
}  # fmt: skip
METHODS = [
    (f, m) for f in FUNCTIONS for m in (lw.methods(f) if "method" in inspect.signature(f).parameters else [None])
]
METHODS = [(f, m) for f, m in METHODS if m != "walker-orin-4"]  # which unrolls to far too much
names = [f"{f.__name__}-{m}" for f, m in METHODS]


@pytest.mark.parametrize(("function", "method"), METHODS, ids=names)
def test_programs_of_symbolic_robots_are_those_of_numeric_ones(function: Any, method: str | None) -> None:
    arm, numeric = symbolic_planar(), lw.load("planar3")
    keywords = {"method": method} if method else {}
    program = lw.trace(function, arm, **keywords)
    arrays = [states(numeric)[k] for k in FUNCTIONS[function]]
    symbols = [port.name for port in program.inputs[len(arrays) :]]
    found = lw.graph.evaluate(program, *arrays, *(VALUES[name] for name in symbols))
    expected = function(numeric, *arrays, **keywords)
    for ours, theirs in zip(found, expected if isinstance(expected, tuple) else (expected,), strict=True):
        assert relative(ours, theirs) < 1e-11


def test_values_bind_symbols_and_the_robot_is_checked() -> None:
    arm = symbolic_planar()
    assert arm.symbolic
    assert set(lw.symbols_of(arm)) == set(VALUES)
    bound = lw.bind(arm, **VALUES)
    assert not bound.symbolic
    q, qd, qdd, _ = states(bound)
    assert relative(lw.inverse_dynamics(bound, q, qd, qdd), lw.inverse_dynamics(lw.load("planar3"), q, qd, qdd)) < 1e-13
    half = lw.bind(robot=arm, l1=0.3, m1=0.5)
    assert set(lw.symbols_of(half)) == set(VALUES) - {"l1", "m1"}
    with raises(lw.errors.RobotError, "link2", "mass", "-1.0"):
        lw.bind(arm, **{**VALUES, "m2": -1.0})
    with raises(ValueError, "'l_1'", "'l1'"):
        lw.bind(arm, l_1=1.0)


def test_numbers_meet_symbols_in_plain_calls_too() -> None:
    arm = symbolic_planar()
    matrix = lw.inertia_matrix(arm, [0.1, 0.2, 0.3])
    assert matrix.dtype == object
    assert matrix.shape == (3, 3)


def test_describe_shows_symbols_by_name() -> None:
    text = lw.describe(symbolic_planar())
    assert "(-0.5*l1, 0, 0)" in text.replace("l1*0.5", "0.5*l1")
    assert "gravity: (0, -g, 0)" in text
    assert "#" not in text


def test_symbols_say_what_they_want(tmp_path: Any) -> None:
    for text, *facts in (("l1 2m", "'2m'"), (" ", "symbols"), ("m robot", "'robot'", "lw.bind")):
        with raises(ValueError, *facts):
            lw.symbols(text)
    with raises(lw.errors.FileError, "<-g>", "symbols"):
        lw.save(symbolic_planar(), tmp_path / "arm.toml")
    row = {"joint": "prismatic", "a": 0.0, "alpha": 0.0, "theta": 0.0, "mass": lw.symbols("q"), "com": (0, 0, 0)}
    with raises(ValueError, "symbol 'q'", "argument"):
        lw.trace(lw.inertia_matrix, lw.Robot.from_dh([row | {"inertia": np.eye(3)}], convention="standard"))


def test_sympy_symbols_work_as_well() -> None:
    sympy = pytest.importorskip("sympy", reason="runs where SymPy is installed")
    m, length = sympy.symbols("m l", positive=True)
    row = {"joint": "revolute", "a": length, "b": 0.0, "alpha": 0.0, "mass": m, "com": (-length / 2, 0, 0)}
    row |= {"inertia": [[0, 0, 0], [0, m * length**2 / 12, 0], [0, 0, m * length**2 / 12]]}
    arm = lw.Robot.from_dh([row], convention="standard", gravity=(0, -9.81, 0))
    matrix = lw.inertia_matrix(arm, np.array(sympy.symbols("q1:2"), dtype=object))
    assert sympy.simplify(matrix[0, 0] - m * length**2 / 3) == 0


def test_robots_of_symbols_are_equal_when_their_expressions_are():
    def rod(inertia):
        row = {"joint": "revolute", "a": l, "b": 0, "alpha": 0, "mass": m, "com": (0, 0, 0), "inertia": inertia}
        return lw.Robot.from_dh([row], convention="standard", name="rod")

    m, l = lw.symbols("m l")
    thin, again, other = (rod([[0, 0, 0], [0, m * l**2 / k, 0], [0, 0, m * l**2 / k]]) for k in (12, 12, 3))
    assert thin == again
    assert hash(thin) == hash(again)
    assert thin != other
    assert thin != lw.load("planar3")
    assert lw.load("planar3") == lw.load("planar3")
    assert lw.load("planar3") != "planar3"


def test_copies_of_expressions_are_the_same_expressions() -> None:
    m, l = lw.symbols("m l")
    terms = [m, l * l, np.sin(m) / 3.0 - l, np.where(m > l, m, 2.0)]
    sizes = [len(pickle.dumps(x)) for x in terms]
    deep = sum((m * l) ** k for k in range(2, 500))
    for x in (*terms, deep):
        for copied in (pickle.loads(pickle.dumps(x)), copy.deepcopy(x), copy.copy(x)):
            assert copied is x
    assert [len(pickle.dumps(x)) for x in terms] == sizes  # without the other symbols of the process


def test_an_expression_of_a_process_that_met_its_symbols_in_another_order_is_the_same() -> None:
    m, l = lw.symbols("earlier later")
    for op, result in (("mul", m * l), ("add", m + l), ("sub", l - m)):
        steps = [("input", ("later", 0), []), ("input", ("earlier", 0), []), (op, None, [0, 1])]
        assert expression(steps) is result


@pytest.mark.parametrize("library", ["torch", "jax"])
def test_values_of_symbols_whose_gradient_would_be_lost_are_refused(library: str) -> None:
    xp = pytest.importorskip(library)
    arm = lw.load("planar3").with_payload(lw.symbols("m"), com=(0.1, 0.0, 0.0))

    def torque(m: Any) -> Any:
        return lw.gravity_torque(lw.bind(arm, m=m), np.zeros(3))

    with pytest.raises(TypeError, match=r"^m (requires a gradient|is traced by JAX)"):
        torque(xp.tensor(1.0, requires_grad=True)) if library == "torch" else xp.jit(torque)(1.0)
