"""Closed forms are those of the papers, as expressions and as text, and LaTeX takes them."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import linkwise as lw

PROGRAMS = [lw.inertia_matrix, lw.coriolis_matrix, lw.gravity_torque, lw.inverse_dynamics]


def rods(count: int = 3) -> lw.Robot:
    """The planar arm of Saha (IJRR 1999), section 6: uniform rods, with symbols for their lengths and masses."""
    rows = []
    for i in range(1, count + 1):
        length, mass = lw.symbols(f"l{i} m{i}")
        inertia = mass * length**2 / 12
        row = {"joint": "revolute", "a": length, "b": 0.0, "alpha": 0.0, "mass": mass, "com": (-0.5 * length, 0, 0)}
        rows.append({**row, "inertia": [[0, 0, 0], [0, inertia, 0], [0, 0, inertia]]})
    return lw.Robot.from_dh(rows, convention="standard", name="rods")


def elements() -> dict[str, Any]:
    """Equations (43a) to (43f), as printed."""
    sympy = pytest.importorskip("sympy", reason="runs where SymPy is installed")
    q2, q3, l1, l2, l3, m1, m2, m3 = sympy.symbols("q2 q3 l1 l2 l3 m1 m2 m3", real=True)
    c2, c3, c23 = sympy.cos(q2), sympy.cos(q3), sympy.cos(q2 + q3)
    third, half = sympy.Rational(1, 3), sympy.Rational(1, 2)
    return {
        "11": third * m1 * l1**2
        + m2 * (l1**2 + third * l2**2 + l1 * l2 * c2)
        + m3 * (l1**2 + l2**2 + third * l3**2 + 2 * l1 * l2 * c2 + l1 * l3 * c23 + l2 * l3 * c3),
        "21": m2 * (third * l2**2 + half * l1 * l2 * c2)
        + m3 * (l1 * l2 * c2 + l2**2 + l2 * l3 * c3 + half * l1 * l3 * c23 + third * l3**2),
        "22": third * m2 * l2**2 + m3 * (l2**2 + third * l3**2 + l2 * l3 * c3),
        "31": m3 * (half * l1 * l3 * c23 + half * l2 * l3 * c3 + third * l3**2),
        "32": m3 * (half * l2 * l3 * c3 + third * l3**2),
        "33": third * m3 * l3**2,
    }


def test_the_inertia_matrix_is_that_of_the_paper() -> None:
    sympy = pytest.importorskip("sympy", reason="runs where SymPy is installed")
    i = elements()
    matrix = [[i["11"], i["21"], i["31"]], [i["21"], i["22"], i["32"]], [i["31"], i["32"], i["33"]]]
    expected = sympy.Matrix(matrix).applyfunc(sympy.expand)
    assert lw.sympy(lw.inertia_matrix, rods(), simplify=True) == expected  # the same text, not merely the same value


@pytest.mark.parametrize("method", lw.methods(lw.inertia_matrix))
def test_every_method_comes_to_the_same_inertia_matrix(method: str) -> None:
    if method == "udu":
        pytest.skip("its quotients are named, not multiplied out")
    arm = rods(2)
    assert lw.latex(lw.inertia_matrix, arm, closed=True, method=method) == lw.latex(lw.inertia_matrix, arm, closed=True)


def test_the_inertia_matrix_is_printed_as_in_the_paper() -> None:
    found = [line.replace(r" \, ", " ") for line in lw.latex(lw.inertia_matrix, rods(), environment=None).splitlines()]
    text = re.sub(r"\\\\ & \\quad |\\begin\{aligned\} |\\end\{aligned\} |\{\} & ", "", "\n".join(found))
    assert r"t_{1} = \tfrac{1}{3} m_{1} l_{1}^{2} + m_{2} \bigl( l_{1}^{2} + \tfrac{1}{3} l_{2}^{2}" in text
    assert r"+ l_{1} l_{2} c_{2} \bigr) + m_{3} \bigl( l_{1}^{2} + l_{2}^{2} + \tfrac{1}{3} l_{3}^{2}" in text
    assert r"+ 2 l_{1} l_{2} c_{2} + l_{1} l_{3} c_{23} + l_{2} l_{3} c_{3} \bigr)" in text  # (43a)
    assert r"t_{2} = m_{2} \bigl( \tfrac{1}{3} l_{2}^{2} + \tfrac{1}{2} l_{1} l_{2} c_{2} \bigr)" in text  # (43b)
    assert r"t_{4} = \tfrac{1}{3} m_{2} l_{2}^{2} + m_{3} \bigl( l_{2}^{2} + \tfrac{1}{3} l_{3}^{2}" in text  # (43c)
    assert r"t_{3} = m_{3} \bigl( \tfrac{1}{3} l_{3}^{2} + \tfrac{1}{2} l_{1} l_{3} c_{23}" in text  # (43d)
    assert r"& m_{3} \bigl( \tfrac{1}{3} l_{3}^{2} + \tfrac{1}{2} l_{2} l_{3} c_{3} \bigr) \\" in text  # (43e)
    assert r"& \tfrac{1}{3} m_{3} l_{3}^{2} \end{array}" in text  # (43f)


def factors() -> dict[str, Any]:
    """Equation (45), with I_2 for the printed l_2 in α_12."""
    sympy = pytest.importorskip("sympy", reason="runs where SymPy is installed")
    i = {name: sympy.expand(x) for name, x in elements().items()}
    m3 = i["33"]
    m2 = i["22"] - i["32"] ** 2 / m3
    x = i["21"] - i["31"] * i["32"] / m3
    m1 = i["11"] - i["31"] ** 2 / m3 - x**2 / m2
    return {"12": x / m2, "13": i["31"] / m3, "23": i["32"] / m3, "1": m1, "2": m2, "3": m3}


def test_the_factors_are_those_of_the_paper() -> None:
    sympy = pytest.importorskip("sympy", reason="runs where SymPy is installed")
    a = factors()
    upper, diagonal = lw.sympy(lw.formulations.udu, rods(), simplify=True, method="elimination")
    assert upper == sympy.Matrix([[1, a["12"], a["13"]], [0, 1, a["23"]], [0, 0, 1]])
    assert diagonal == sympy.Matrix([a["1"], a["2"], a["3"]])


def test_the_factors_in_names_give_the_inertia_matrix_back() -> None:
    """Equation (46), solved for m̂ and α: m̂_2 = i_22 - m̂_3 α_23² and so on."""
    sympy = pytest.importorskip("sympy", reason="runs where SymPy is installed")
    i = {name: sympy.expand(x) for name, x in elements().items()}
    steps, (upper, diagonal) = lw.sympy(lw.formulations.udu, rods(), named=True, simplify=True, method="elimination")
    m3, a13, a23, m2, a12 = (symbol for symbol, _ in steps)
    assert dict(steps) == {
        m3: i["33"],
        a13: i["31"] / m3,
        a23: i["32"] / m3,
        m2: i["22"] - m3 * a23**2,
        a12: (i["21"] - m3 * a13 * a23) / m2,
    }
    assert upper == sympy.Matrix([[1, a12, a13], [0, 1, a23], [0, 0, 1]])
    assert diagonal == sympy.Matrix([i["11"] - m3 * a13**2 - m2 * a12**2, m2, m3])


def test_the_inverse_is_that_of_the_paper() -> None:
    """Equations (47) and (48), with the squares and the factor that print lacks."""
    sympy = pytest.importorskip("sympy", reason="runs where SymPy is installed")
    i = {name: sympy.expand(x) for name, x in elements().items()}
    steps, inverse = lw.sympy(lw.inverse_inertia_matrix, rods(), named=True, simplify=True, method="elimination")
    m3, a13, a23, m2, a12, m1, b13 = (symbol for symbol, _ in steps)  # b13: α'_13
    assert dict(steps)[m1] == i["11"] - m3 * a13**2 - m2 * a12**2
    assert dict(steps)[b13] == a13 - a12 * a23
    second = [-a12 / m1, a12**2 / m1 + 1 / m2, a12 * b13 / m1 - a23 / m2]
    third = [-b13 / m1, second[2], b13**2 / m1 + a23**2 / m2 + 1 / m3]
    assert inverse == sympy.Matrix([[1 / m1, second[0], third[0]], second, third])


def test_sums_and_differences_of_angles_are_recognised() -> None:
    def function(arm: lw.Robot, q: Any) -> Any:
        (s1, s2, s3), (c1, c2, c3) = ([f(x) for x in q] for f in (lambda x: x.sin(), lambda x: x.cos()))
        return [
            c2 * c3 - s2 * s3, s2 * c3 - c2 * s3, c1 * c2, 2 * s1 * s2 * s2 + 2 * s1 * c2 * c2, 5 - 5 * c1 * c1,
            (c1 * c2 - s1 * s2) * c3 - (s1 * c2 + c1 * s2) * s3, c3 * (c1 * c2 - s1 * s2), s1 * s1 * c1 * c1,
        ]  # fmt: skip

    wanted = ["c_{23}", "s_{2-3}", r"c_{1} \, c_{2}", r"2 \, s_{1}", r"5 \, s_{1}^{2}", "c_{123}", r"c_{3} \, c_{12}"]
    wanted.append(r"c_{1}^{2} \, s_{1}^{2}")
    arm = lw.load("planar3")
    assert r" \\ ".join(wanted) in lw.latex(function, arm, elements=False)
    named = lw.latex(function, arm, closed=False, elements=False)
    assert "c_{23}" in named
    assert "s_{2-3}" in named
    assert "c_{123}" in named
    assert "q_{" not in named.split("\n", 2)[2]


def test_sines_of_any_combination_are_written() -> None:
    def function(arm: lw.Robot, q: Any) -> Any:
        a, b, _ = q
        return [(b - a).sin(), (2 * a).cos(), (a - 2 * b).sin(), (a + b - a).sin(), (0.5 * a).cos(), (-a - b).cos()]

    cells = ["s_{2-1}", r"\cos\left(2 \, q_{1}\right)", r"\sin\left(q_{1} - 2 \, q_{2}\right)", "s_{2}"]
    text = lw.latex(function, lw.load("planar3"), closed=False, elements=False)
    assert r" \\ ".join([*cells, r"\cos\left(0.5 \, q_{1}\right)", "c_{12}"]) in text
    closed = lw.latex(function, lw.load("planar3"), closed=True, environment=None)
    for cell in ("-s_{1-2}", *cells[1:], "c_{12}", r"t_{1} = \cos\left(0.5 \, q_{1}\right)"):
        assert cell in closed


def test_what_is_short_is_closed_and_what_is_long_has_names() -> None:
    assert "t_" not in lw.latex(lw.gravity_torque, lw.load("stanford"))
    assert lw.latex(lw.inertia_matrix, rods()) == lw.latex(lw.inertia_matrix, rods(), closed=True)
    for function in (lw.inertia_matrix, lw.coriolis_matrix, lw.inverse_dynamics):
        arm = lw.load("stanford")
        assert lw.latex(function, arm) == lw.latex(function, arm, closed=False)


def test_names_keep_clear_of_symbols() -> None:
    t1 = lw.symbols("t1")
    arm = lw.Robot.from_dh([{**row, "mass": t1} for row in lw.load("planar3").rows], convention="standard")
    for closed in (True, False):
        assert "x_{1} &=" in lw.latex(lw.inertia_matrix, arm, closed=closed)


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="runs where pdflatex is installed")
def test_latex_compiles(tmp_path: Path) -> None:
    parts = [lw.latex(function, lw.load(name)) for name in ("planar3", "stanford") for function in PROGRAMS]
    parts += [lw.latex(lw.inverse_dynamics, arm, closed=True) for arm in (rods(), lw.load("puma560"))]
    parts += [
        lw.latex(lw.formulations.mass_factor, lw.load("planar3")),
        lw.latex(lw.forward_dynamics, lw.load("planar3")),
    ]
    parts += [lw.latex(lw.inverse_inertia_matrix, rods(), method="elimination")]
    lines = [
        r"\documentclass{article}",
        r"\usepackage{amsmath}",
        r"\usepackage[margin=15mm]{geometry}",
        r"\allowdisplaybreaks",
    ]
    document = "\n".join([*lines, r"\begin{document}", *parts, r"\end{document}", ""])
    (tmp_path / "formulas.tex").write_text(document)
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "formulas.tex"]
    found = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout[-2000:]
    assert not [w for w in re.findall(r"Overfull \\hbox \((\d+)", found.stdout) if int(w) > 20]


def test_bad_input_is_refused() -> None:
    arm = lw.load("planar3")
    with pytest.raises(TypeError, match="closed is 'yes'"):
        lw.latex(lw.inertia_matrix, arm, closed="yes")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="elimination"):
        lw.formulations.udu(arm, [0.0, 0.0, 0.0], method="eliminate")

    def nothing(arm: lw.Robot, q: Any) -> Any:
        return [1.0 / (q[0].cos() ** 2 + q[0].sin() ** 2 - 1.0)]

    with pytest.raises(ZeroDivisionError, match="zero everywhere"):
        lw.latex(nothing, arm)
