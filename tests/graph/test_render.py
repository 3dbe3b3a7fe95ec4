"""Programs as text and formulas give the numbers that the functions give."""

import re
from typing import Any

import numpy as np
import pytest

import linkwise as lw
from choices import SPECIAL, choices
from effort import rest_slow
from robots import CHAINS, TREES, ids, relative, states

ROBOTS = [lw.load("stanford"), lw.load("planar3"), lw.load("gantry"), CHAINS[4], TREES[3]]
over_robots = pytest.mark.parametrize("robot", ROBOTS, ids=ids(ROBOTS))
FUNCTIONS = {
    lw.inverse_dynamics: (0, 1, 2),
    lw.forward_dynamics: (0, 1, 3),
    lw.inertia_matrix: (0,),
    lw.formulations.udu: (0,),
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


def test_python_source_chooses_as_the_function_does() -> None:
    """Also where numbers are equal, and of NaN."""
    arm = lw.load("planar3")
    written = run(lw.python_source(choices, arm), "choices")
    for q in SPECIAL:
        assert np.array_equal(np.array(written(np.array(q))), choices(arm, np.array(q)), equal_nan=True)


def test_python_source_of_wrenches_symbols_and_odd_names() -> None:
    arm = lw.Robot.from_dh(lw.load("planar3").rows, convention="standard", name='a "quoted" \\ name')
    source = lw.python_source(lw.inverse_dynamics, arm, wrench=lw.Input(3, 6))
    q, qd, qdd, _ = (x[0] for x in states(arm))
    wrench = np.random.default_rng(0).normal(size=(3, 6))
    found = run(source, "inverse_dynamics")(q, qd, qdd, wrench)
    assert relative(found, lw.inverse_dynamics(arm, q, qd, qdd, wrench)) < 1e-12
    t1 = lw.symbols("t1")
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


LETTERS = {r"\dot{q}": "qd", r"\ddot{q}": "qdd", r"\tau": "tau"}


def braced(text: str, start: int) -> int:
    """Where the brace that opens at `start` closes."""
    depth = 0
    for i in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[i], 0)
        if not depth:
            return i
    raise ValueError(text)


def python_of(text: str) -> str:
    """A LaTeX formula as Python."""
    text = re.sub(r"\\[Bb]ig*[lr] *\\?([][(){}])", lambda m: "(" if m[1] in "[({" else ")", text)
    text = re.sub(r"\\left|\\right|\\quad|&|\\\\", "", text).replace(r"\,", "*").replace("= {}", "=")
    text = re.sub(r"\\cdot 10\^\{(-?\d+)\}", r"* 10.0 ** (\1)", text)
    text = re.sub(r"\\(sin|cos)\b", r"\1", text).replace(r"\operatorname{sign}", "sign")
    text = re.sub(r"\b([cs])_\{([-\d,]+)\}", sine_or_cosine, text)
    text = re.sub(r"(\\ddot\{q\}|\\dot\{q\}|\\tau|[a-z])_\{(\d+)\}", lambda m: LETTERS.get(m[1], m[1]) + m[2], text)
    text = re.sub(r"\^\{(\d+)\}", r"**\1", text)
    while match := re.search(r"\\(t?frac|sqrt)\{", text):
        end = braced(text, match.end() - 1)
        first, rest = text[match.end() : end], text[end + 1 :]
        if match[1] == "sqrt":
            text = f"{text[: match.start()]}sqrt({first}){rest}"
        else:
            end = braced(rest, 0)
            text = f"{text[: match.start()]}(({first})/({rest[1:end]})){rest[end + 1 :]}"
    return text.strip()


def sine_or_cosine(match: re.Match[str]) -> str:
    signs = [sign or "+" for sign in re.findall(r"(-?),?\d", match[2])] if "," not in match[2] else None
    indices = re.findall(r"\d+", match[2]) if "," in match[2] else re.findall(r"\d", match[2])
    angle = "".join(f"{sign}q{index}" for sign, index in zip(signs or ["+"] * len(indices), indices, strict=True))
    return f"{'sin' if match[1] == 's' else 'cos'}({angle})"


def evaluated(latex: str, values: dict[str, float]) -> list[np.ndarray]:
    """What LaTeX equations say the outputs are."""
    space: dict[str, Any] = {**values, "sin": np.sin, "cos": np.cos, "sqrt": np.sqrt, "sign": np.sign}
    found = []
    for line in re.findall(r"\\\[ (.*) \\\]", latex):
        body = re.search(r"\\begin\{array\}\{c+\} (.*) \\end\{array\}", line)
        if body is None:
            line = re.sub(r"\\(begin|end)\{aligned\}", "", line).strip()
            left, right = python_of(line).split("=", 1)
            space[left.strip()] = value = eval(right.strip(), {}, space)
            if line.startswith(r"\mathrm"):
                found.append(np.array(value))
        else:
            rows = [row.split("&") for row in re.split(r" \\\\(?:\[4pt\])? ", body[1])]
            found.append(np.array([[eval(python_of(cell), {}, space) for cell in row] for row in rows], dtype=float))
    return found


ARGUMENTS = {
    lw.inverse_dynamics: ("q", "qd", "qdd"), lw.forward_dynamics: ("q", "qd", "tau"),
    lw.coriolis_matrix: ("q", "qd"), lw.inertia_matrix: ("q",), lw.gravity_torque: ("q",), lw.poses: ("q",),
    lw.formulations.udu: ("q",), lw.inverse_inertia_matrix: ("q",), lw.formulations.mass_factor: ("q",),
    lw.potential_energy: ("q",),
}  # fmt: skip
SMALL = [*ROBOTS, lw.load("puma560"), *CHAINS[:4], CHAINS[7], *TREES[:3]]
over_small = pytest.mark.parametrize("robot", rest_slow(SMALL, [lw.load("planar3"), TREES[2]]), ids=ids(SMALL))


def state(robot: lw.Robot, function: Any, seed: int = 0) -> tuple[list[np.ndarray], dict[str, float]]:
    """The arguments of the function, as arrays and by the names of their numbers."""
    arrays = dict(zip(("q", "qd", "qdd", "tau"), (x[0] for x in states(robot, seed=seed)), strict=True))
    names = ARGUMENTS[function]
    values = {f"{name}{i + 1}": float(x) for name in names for i, x in enumerate(arrays[name])}
    return [arrays[name] for name in names], values


def agree(found: Any, expected: np.ndarray) -> bool:
    """To 1e-12, apart from what rounding leaves of zeros."""
    difference = np.abs(np.asarray(found, dtype=float).reshape(expected.shape) - expected).max(initial=0.0)
    return bool(difference <= 1e-12 * np.abs(expected).max(initial=0.0) + 1e-16)


def outputs(function: Any, robot: lw.Robot, arrays: list[np.ndarray], **keywords: Any) -> tuple[np.ndarray, ...]:
    result = function(robot, *arrays, **keywords)
    return result if isinstance(result, tuple) else (result,)


@pytest.mark.parametrize("closed", rest_slow([None, True, False], [None]))
@over_small
@pytest.mark.parametrize("function", ARGUMENTS, ids=lambda f: f.__name__)
def test_latex_says_what_the_function_computes(robot: lw.Robot, function: Any, closed: bool | None) -> None:
    arrays, values = state(robot, function)
    latex = lw.latex(function, robot, digits=17, closed=closed, environment=None, elements=False)
    for found, expected in zip(evaluated(latex, values), outputs(function, robot, arrays), strict=True):
        assert agree(found, expected)
    assert latex.count("{") == latex.count("}")
    for left, right in ((r"\left", r"\right"), (r"\bigl", r"\bigr"), (r"\Bigl[", r"\Bigr]"), (r"\begin", r"\end")):
        assert latex.count(left) == latex.count(right)


def test_latex_has_fractions_roots_and_symbols() -> None:
    length, mass = lw.symbols("l1 mass")
    row = {**lw.load("planar3").rows[0], "a": length, "mass": mass}
    arm = lw.Robot.from_dh([row], convention="standard", gravity=(0, -9.81, 0))
    assert "l_{1}" in lw.latex(lw.gravity_torque, arm)
    assert r"\mathrm{mass}" in lw.latex(lw.gravity_torque, arm)
    assert r"\frac{" in lw.latex(lw.forward_dynamics, lw.load("planar3"))
    assert r"\sqrt{" in lw.latex(lw.formulations.mass_factor, lw.load("planar3"))
    assert r"\tau_{2}" in lw.latex(lw.forward_dynamics, lw.load("planar3"))


EACH_OF_BOTH = [(r, f) for i, r in enumerate(SMALL) for j, f in enumerate(ARGUMENTS) if (i + j) % 3 == 0]
CHEAP = [pair for pair in EACH_OF_BOTH if pair[0] in (lw.load("planar3"), TREES[2])]


@pytest.mark.parametrize(("robot", "function"), rest_slow(EACH_OF_BOTH, CHEAP), ids=lambda x: getattr(x, "name", None))
def test_the_normal_form_gives_the_numbers(robot: lw.Robot, function: Any) -> None:
    sympy = pytest.importorskip("sympy", reason="runs where SymPy is installed")
    steps, matrices = lw.sympy(function, robot, named=True, simplify=True)
    matrices = matrices if isinstance(matrices, tuple) else (matrices,)
    for seed in (0, 1):
        arrays, values = state(robot, function, seed)
        for symbol, expression in steps:
            free = sorted(map(str, expression.free_symbols))
            values[str(symbol)] = sympy.lambdify(free, expression, "math")(*(values[name] for name in free))
        for matrix, expected in zip(matrices, outputs(function, robot, arrays), strict=True):
            free = sorted(map(str, matrix.free_symbols))
            assert agree(sympy.lambdify(free, matrix)(*(values[name] for name in free)), expected)


def test_simplified_forms_keep_their_values() -> None:
    sympy = pytest.importorskip("sympy", reason="runs where SymPy is installed")
    arm = lw.load("planar3")
    values = dict(zip(sympy.symbols("q1:4", real=True), (0.1, -0.7, 1.3), strict=True))
    upper, diagonal = lw.sympy(lw.formulations.udu, arm, simplify=True)
    expected = lw.formulations.udu(arm, list(values.values()))
    assert relative(np.array(upper.subs(values)).astype(float), expected[0]) < 1e-12
    assert relative(np.array(diagonal.subs(values)).astype(float).ravel(), expected[1]) < 1e-12
