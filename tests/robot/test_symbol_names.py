"""A symbol may have any name that Python takes: the text in every form still means what the program means."""

import ctypes
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import linkwise as lw
from facts import raises

NAMES = """
c1 s1 c12 s12 c_1 q2 q_2 q1 qd1 tau1 t t1 t2 t_1 tt1 x1 y1 z1 w1 xi lambda None True cos sin sqrt sign cos_ sin_ def
double int float main y0 j1 I E S N pi beta gamma zeta theta θ θ1 theta1 theta_1 mass l1 l_1 lc1 l_c1 Ixx I_xx _m m_
__debug__ numpy np print self inertia_matrix result method é ſ Δ Delta delta values names
"""
NASTY = NAMES.split()
nasty = st.lists(st.sampled_from(NASTY), min_size=3, max_size=9, unique=True)
few = settings(max_examples=25, deadline=None)


def arm_of(names: list[str]) -> tuple[lw.Robot, dict[str, Any], tuple[str, ...]]:
    """Two joints, with sums of the symbols for their lengths and masses."""
    symbols = [lw.symbols(name) for name in names]
    length, mass, inertia = (sum(symbols[k::3], 0.0) for k in range(3))
    row = {"joint": "revolute", "a": length, "b": 0.0, "alpha": 0.0, "mass": mass, "com": (-0.25 * length, 0.0, 0.0)}
    row["inertia"] = [[0, 0, 0], [0, inertia, 0], [0, 0, inertia]]
    arm = lw.Robot.from_dh([row, row], convention="standard", gravity=(0.0, -9.81, 0.0), name="nasty")
    sorted_names = lw.symbols_of(arm)
    values = {name: 0.5 + 0.25 * k for k, name in enumerate(sorted_names)}
    return arm, values, sorted_names


Q, QD, QDD = np.random.default_rng(5).normal(size=(3, 2))


def expected(arm: lw.Robot, values: dict[str, float]) -> np.ndarray:
    return np.asarray(lw.inverse_dynamics(lw.bind(arm, **values), Q, QD, QDD))


@few
@given(nasty)
def test_python_source_with_any_symbols_runs_and_gives_the_numbers(names: list[str]) -> None:
    arm, values, order = arm_of(names)
    source = lw.python_source(lw.inverse_dynamics, arm)
    space: dict[str, Any] = {}
    exec(compile(source, "source", "exec"), space)
    found = space["inverse_dynamics"](Q, QD, QDD, *(values[name] for name in order))
    assert np.allclose(found, expected(arm, values), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", ["cos", "sin", "lambda", "__debug__"])
def test_python_source_of_a_function_with_a_reserved_name_runs(name: str) -> None:
    def function(arm: lw.Robot, q: Any) -> Any:
        return np.cos(q) + np.sin(q)

    function.__name__ = name
    arm = lw.load("planar3")
    source = lw.python_source(function, arm)
    space: dict[str, Any] = {}
    exec(compile(source, "source", "exec"), space)
    defined = re.findall(r"^def (\w+)\(", source, re.MULTILINE)
    assert np.allclose(space[defined[0]]([0.1, 0.2, 0.3]), function(arm, np.array([0.1, 0.2, 0.3])))


@settings(max_examples=8, deadline=None)
@given(nasty, st.booleans())
def test_sympy_symbols_are_as_many_as_the_inputs_and_give_the_numbers(names: list[str], simplify: bool) -> None:
    pytest.importorskip("sympy", reason="runs where SymPy is installed")
    arm, values, order = arm_of(names)

    def everything(arm: lw.Robot, q: Any, qd: Any) -> Any:
        return lw.gravity_torque(arm, q), [*q, *qd, *(symbol(arm, name) for name in order)]

    steps, (torques, inputs) = lw.sympy(everything, arm, named=True, simplify=simplify)
    atoms = list(inputs)
    assert len({str(atom) for atom in atoms}) == len(atoms) == 4 + len(order)
    assert not {str(step) for step, _ in steps} & {str(atom) for atom in atoms}
    assert [str(atom) for atom in atoms[4:]] == list(order)  # symbols keep their names
    known = dict(zip(atoms, [*Q, *QD, *(values[name] for name in order)], strict=True))
    for step, expression in steps:
        known[step] = expression.subs(known).evalf()
    found = np.array(torques.subs(known).evalf()).astype(float).ravel()
    assert np.allclose(found, lw.gravity_torque(lw.bind(arm, **values), Q), rtol=1e-12, atol=1e-12)


def symbol(arm: lw.Robot, name: str) -> Any:
    """The symbol of the traced robot, among its numbers."""
    graph = next(x for x in arm.non_floats if not isinstance(x, float)).graph
    return graph.input(name)


@few
@given(nasty, st.sampled_from([3, 12]), st.booleans())
def test_in_latex_different_things_print_differently(names: list[str], joints: int, closed: bool) -> None:
    rows = [{**lw.load("planar3").rows[0], "name": f"link{k + 1}"} for k in range(joints)]
    order = sorted(lw.symbols(name).payload[0] for name in names)
    rows[0]["mass"] = sum((lw.symbols(name) for name in names), 0.0)
    arm = lw.Robot.from_dh(rows, convention="standard")
    things = 0

    def everything(arm: lw.Robot, q: Any, qd: Any, tau: Any) -> Any:
        nonlocal things
        angles = [*q, q[0] + q[1], q[1] + q[2], q[0] - q[1], q[0] + q[1] + q[2], q[0] + q[-1], q[-1]]
        trig = {id(node): node for a in angles for node in (np.sin(a), np.cos(a))}
        inputs = [*q, *qd, *tau, *(symbol(arm, name) for name in order)]
        things = len(inputs) + len(trig)
        total = inputs[0] * inputs[-1]
        return [*inputs, *trig.values(), total / (inputs[-1] + inputs[0]), total]

    text = lw.latex(everything, arm, closed=closed, elements=False)
    body = re.search(r"\\begin\{array\}\{c\} (.*) \\end\{array\}", text)
    assert body is not None
    cells = re.split(r" \\\\(?:\[4pt\])? ", body[1])[:things]
    left = [line.partition("&=")[0].strip() for line in text.splitlines() if "&=" in line]
    assert len(set(cells)) == things
    assert not set(left) & set(cells)
    assert len(set(left)) == len(left)


def test_the_joint_keeps_its_letter_and_abbreviations_give_way() -> None:
    rows = [{**row, "mass": lw.symbols("q2") + lw.symbols("c1")} for row in lw.load("planar3").rows]
    text = lw.latex(lw.gravity_torque, lw.Robot.from_dh(rows, convention="standard", gravity=(0, -9.81, 0)))
    assert r"\mathrm{q2}" in text
    assert "c_{1}" in text
    assert r"\cos\left(q_{1} + q_{2}\right)" in text
    assert not re.search(r"[cs]_\{(?!1\})", text)


@pytest.mark.skipif(shutil.which("gcc") is None, reason="runs where gcc is installed")
def test_c_source_with_all_these_symbols_compiles_and_gives_the_numbers(tmp_path: Path) -> None:
    arm, values, order = arm_of(NASTY)
    source = lw.c_source(lw.inverse_dynamics, arm)
    file, _ = source.save(tmp_path)
    library = tmp_path / "nasty.so"
    options = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-shared", "-fPIC"]
    subprocess.run(["gcc", *options, str(file), "-o", str(library), "-lm"], check=True)
    double = ctypes.c_double
    arrays = [(double * 2)(*x) for x in (Q, QD, QDD)]
    found = (double * 2)()
    ctypes.CDLL(str(library)).inverse_dynamics(*arrays, *(double(values[name]) for name in order), found)
    assert np.allclose(found, expected(arm, values), rtol=1e-12, atol=1e-12)


def test_a_name_that_an_argument_has_is_refused() -> None:
    arm, _, _ = arm_of(["tau", "l", "m"])
    with raises(ValueError, "symbol 'tau'", "argument"):
        lw.latex(lw.forward_dynamics, arm)
    assert r"\tau" in lw.latex(lw.inertia_matrix, arm)
