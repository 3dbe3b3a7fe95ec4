"""Programs as text and formulas give the numbers that the functions give."""

import re
import sys
from typing import Any

import numpy as np
import pytest

import linkwise as lw
from robots import CHAINS, TREES, ids, relative, states

ROBOTS = [lw.load("stanford"), lw.load("planar3"), lw.load("gantry"), CHAINS[4], TREES[3]]
over_robots = pytest.mark.parametrize("robot", ROBOTS, ids=ids(ROBOTS))
FUNCTIONS = {
    lw.inverse_dynamics: (0, 1, 2),
    lw.forward_dynamics: (0, 1, 3),
    lw.inertia_matrix: (0,),
    lw.udu: (0,),
    lw.potential_energy: (0,),
    lw.poses: (0,),
}


def run(source: str, name: str) -> Any:
    """The function that the source defines."""
    space: dict[str, Any] = {}
    exec(compile(source, "source", "exec"), space)
    return space[name]


@over_robots
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_python_source_gives_the_numbers(robot: lw.Robot, function: Any) -> None:
    arrays = [states(robot)[k] for k in FUNCTIONS[function]]
    written = run(lw.python_source(function, robot), function.__name__)
    for state in zip(*arrays, strict=True):
        expected = function(robot, *state)
        found = written(*state)
        if not isinstance(expected, tuple):
            expected, found = (expected,), (found,)
        for ours, theirs in zip(found, expected, strict=True):
            assert relative(np.array(ours), theirs) < 1e-11
    lanes = written(*(a.T for a in arrays))  # arrays in place of numbers: a batch
    first = lanes[0] if isinstance(lanes, tuple) else lanes
    if function is lw.inverse_dynamics:
        assert relative(np.stack([np.broadcast_to(x, 3) for x in first], -1), function(robot, *arrays)) < 1e-11


def test_python_source_of_wrenches_symbols_and_odd_names() -> None:
    arm = lw.Robot.from_dh(lw.load("planar3").rows, convention="standard", name='a "quoted" \\ name')
    source = lw.python_source(lw.inverse_dynamics, arm, wrench=lw.Input(3, 6))
    q, qd, qdd, _ = (x[0] for x in states(arm))
    wrench = np.random.default_rng(0).normal(size=(3, 6))
    found = run(source, "inverse_dynamics")(q, qd, qdd, wrench)
    assert relative(found, lw.inverse_dynamics(arm, q, qd, qdd, wrench)) < 1e-12
    (t1,) = lw.symbols("t1")
    row = {**lw.load("planar3").rows[0], "mass": t1}
    symbolic = lw.Robot.from_dh([row], convention="standard")
    written = run(lw.python_source(lw.inertia_matrix, symbolic), "inertia_matrix")
    assert relative(written([0.3], 2.0), lw.inertia_matrix(lw.bind(symbolic, t1=2.0), [0.3])) < 1e-14


def test_python_source_computes_in_the_order_of_the_program() -> None:
    def sums(arm: lw.Robot, q: Any) -> Any:
        return [q[0] + (q[1] + q[2]), q[0] - (q[1] - q[2]), q[0] * (q[1] * q[2]), q[0] / (q[1] / q[2])]

    q = np.array([1e16, 1.0, 1.0])
    assert run(lw.python_source(sums, lw.load("planar3")), "sums")(q) == sums(lw.load("planar3"), q)


def test_python_source_keeps_its_intermediates_apart_from_the_inputs() -> None:
    def product(arm: lw.Robot, t2: Any) -> Any:
        return [(t2[i] + t2[j]) * (t2[i] + t2[j]) for i, j in ((0, 1), (1, 2), (0, 2))]

    assert run(lw.python_source(product, lw.load("planar3")), "product")([1.0, 2.0, 3.0]) == [9.0, 25.0, 16.0]


@over_robots
@pytest.mark.parametrize(
    "function", [lw.inertia_matrix, lw.gravity_torque, lw.inverse_dynamics], ids=lambda f: f.__name__
)
def test_sympy_gives_the_numbers(robot: lw.Robot, function: Any) -> None:
    sympy = pytest.importorskip("sympy", reason="runs where SymPy is installed")
    names = {lw.inertia_matrix: ["q"], lw.gravity_torque: ["q"], lw.inverse_dynamics: ["q", "qd", "qdd"]}[function]
    arrays = [states(robot)[k][0] for k in range(len(names))]
    numbers = {
        sympy.Symbol(f"{n}{i + 1}", real=True): x for n, a in zip(names, arrays, strict=True) for i, x in enumerate(a)
    }
    steps, matrix = lw.sympy(function, robot, named=True)
    for symbol, expression in steps:
        numbers[symbol] = expression.evalf(subs=numbers)
    found = np.array(matrix.evalf(subs=numbers)).astype(float)
    assert relative(found.reshape(function(robot, *arrays).shape), function(robot, *arrays)) < 1e-12


def test_closed_form_is_what_the_named_form_says() -> None:
    sympy = pytest.importorskip("sympy", reason="runs where SymPy is installed")
    arm = lw.load("planar3")
    q1, q2, q3 = sympy.symbols("q1:4", real=True)
    matrix = lw.sympy(lw.inertia_matrix, arm)
    assert matrix.shape == (3, 3)
    assert matrix.free_symbols == {q2, q3}
    values = {q1: 0.1, q2: -0.7, q3: 1.3}
    assert relative(np.array(matrix.subs(values)).astype(float), lw.inertia_matrix(arm, list(values.values()))) < 1e-13


def evaluated(latex: str, values: dict[str, float]) -> list[list[float]]:
    """The last equation of LaTeX text, calculated: for text without fractions and roots."""
    space = dict(values)

    def number(text: str) -> float:
        text = re.sub(r"\\cdot 10\^\{(-?\d+)\}", r"* 10.0 ** (\1)", text)
        text = text.replace(r"\left(", "(").replace(r"\right)", ")").replace(r"\,", "*")
        text = re.sub(r"(\\ddot\{q\}|\\dot\{q\}|[a-z])_\{(\d+)\}", lambda m: NAMES.get(m[1], m[1]) + m[2], text)
        return float(eval(compile(text.strip(), "latex", "eval"), {}, space))

    *steps, last = re.findall(r"\\\[ (.*) \\\]", latex)
    for step in steps:
        left, right = step.split(" = ", 1)
        space[re.sub(r"_\{(\d+)\}", r"\1", left)] = number(right)
    body = re.search(r"\\begin\{array\}\{c+\} (.*) \\end\{array\}", last)
    assert body is not None
    return [[number(cell) for cell in row.split("&")] for row in body[1].split(r" \\ ")]


NAMES = {r"\dot{q}": "qd", r"\ddot{q}": "qdd"}


@over_robots
@pytest.mark.parametrize("function", [lw.inverse_dynamics, lw.inertia_matrix, lw.coriolis_matrix])
def test_latex_says_what_the_function_computes(robot: lw.Robot, function: Any) -> None:
    names = {lw.inverse_dynamics: ("q", "qd", "qdd"), lw.inertia_matrix: ("q",), lw.coriolis_matrix: ("q", "qd")}[
        function
    ]
    arrays = dict(zip(("q", "qd", "qdd"), (x[0] for x in states(robot)[:3]), strict=True))
    values = {f"{name}{i + 1}": float(x) for name in names for i, x in enumerate(arrays[name])}
    values |= {f"{f.__name__[0]}{i + 1}": float(f(x)) for f in (np.sin, np.cos) for i, x in enumerate(arrays["q"])}
    latex = lw.latex(function, robot, digits=17)
    expected = function(robot, *(arrays[name] for name in names))
    assert relative(np.array(evaluated(latex, values)).reshape(expected.shape), expected) < 1e-12
    assert latex.count("{") == latex.count("}")
    assert latex.count(r"\left") == latex.count(r"\right")


def test_latex_has_fractions_roots_and_symbols() -> None:
    length, mass = lw.symbols("l1 mass")
    row = {**lw.load("planar3").rows[0], "a": length, "mass": mass}
    arm = lw.Robot.from_dh([row], convention="standard", gravity=(0, -9.81, 0))
    assert "l_{1}" in lw.latex(lw.gravity_torque, arm)
    assert r"\mathrm{mass}" in lw.latex(lw.gravity_torque, arm)
    assert r"\frac{" in lw.latex(lw.forward_dynamics, lw.load("planar3"))
    assert r"\sqrt{" in lw.latex(lw.mass_factor, lw.load("planar3"))
    assert r"\tau_{2}" in lw.latex(lw.forward_dynamics, lw.load("planar3"))


def test_without_sympy_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sympy", None)
    with pytest.raises(ImportError, match=r"pip install sympy"):
        lw.sympy(lw.inertia_matrix, lw.load("gantry"))


def test_the_planar_arms_inertia_matrix_is_that_of_the_paper() -> None:
    """Equations (43a) to (43f) of Saha (IJRR 1999), for uniform rods."""
    sympy = pytest.importorskip("sympy", reason="runs where SymPy is installed")
    rows = []
    for i in (1, 2, 3):
        length, mass = lw.symbols(f"l{i} m{i}")
        inertia = mass * length**2 / 12
        row = {"joint": "revolute", "a": length, "b": 0.0, "alpha": 0.0, "mass": mass, "com": (-0.5 * length, 0, 0)}
        rows.append({**row, "inertia": [[0, 0, 0], [0, inertia, 0], [0, 0, inertia]]})
    matrix = lw.sympy(lw.inertia_matrix, lw.Robot.from_dh(rows, convention="standard"), simplify=True)
    q2, q3, l1, l2, l3, m1, m2, m3 = sympy.symbols("q2 q3 l1 l2 l3 m1 m2 m3", real=True)
    c2, c3, c23 = sympy.cos(q2), sympy.cos(q3), sympy.cos(q2 + q3)
    i33 = m3 * l3**2 / 3
    i32 = i33 + m3 * l2 * l3 * c3 / 2
    i31 = i32 + m3 * l1 * l3 * c23 / 2
    i22 = m2 * l2**2 / 3 + m3 * l2**2 + m3 * l2 * l3 * c3 + i33
    i21 = i22 + m2 * l1 * l2 * c2 / 2 + m3 * l1 * l2 * c2 + m3 * l1 * l3 * c23 / 2
    i11 = m1 * l1**2 / 3 + (m2 + m3) * l1**2 + i22 + l1 * l2 * c2 * (m2 + 2 * m3) + m3 * l1 * l3 * c23
    expected = sympy.Matrix([[i11, i21, i31], [i21, i22, i32], [i31, i32, i33]]).applyfunc(sympy.expand)
    assert matrix == expected  # the same text, not merely the same value


def test_simplified_forms_keep_their_values() -> None:
    sympy = pytest.importorskip("sympy", reason="runs where SymPy is installed")
    arm = lw.load("planar3")
    values = dict(zip(sympy.symbols("q1:4", real=True), (0.1, -0.7, 1.3), strict=True))
    upper, diagonal = lw.sympy(lw.udu, arm, simplify=True)
    expected = lw.udu(arm, list(values.values()))
    assert relative(np.array(upper.subs(values)).astype(float), expected[0]) < 1e-12
    assert relative(np.array(diagonal.subs(values)).astype(float).ravel(), expected[1]) < 1e-12
