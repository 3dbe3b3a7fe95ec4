"""What people see: names as they write them, one environment, nothing that cancels, robots of symbols explained."""

import re
from typing import Any

import numpy as np
import pytest

import linkwise as lw
from facts import raises
from robots import relative

SPELLED = {
    "g": "g", "l1": "l_{1}", "l_1": "l_{1}", "l12": "l_{12}", "Jx6": "J_{x6}", "Ixx": "I_{xx}",
    "I1xx": "I_{1xx}", "I_xx_1": "I_{xx,1}", "lc1": "l_{c1}", "l_c1": "l_{c1}", "m_tip": r"m_{\mathrm{tip}}",
    "alpha": r"\alpha", "lambda": r"\lambda", "theta1": r"\theta_{1}", "theta_1": r"\theta_{1}",
    "θ1": r"\theta_{1}", "θ": r"\theta", "λ": r"\lambda", "Δx": r"\Delta_{x}",
    "omega_alpha": r"\omega_{\alpha}", "mass": r"\mathrm{mass}", "mass1": r"\mathrm{mass}_{1}",
    "_m": r"\mathrm{\_m}", "m__1": r"\mathrm{m\_\_1}", "é": r"\text{é}",
}  # fmt: skip


def slider(mass: Any) -> lw.Robot:
    row = {"joint": "prismatic", "a": 0.0, "alpha": 0.0, "theta": 0.0, "mass": mass, "com": (0, 0, 0)}
    return lw.Robot.from_dh([{**row, "inertia": np.zeros((3, 3))}], convention="standard", name="slider")


def two_links() -> lw.Robot:
    """Mass centres at r from the joints: in the frame of the table, at r - l."""
    rows = []
    for k in (1, 2):
        length, r, m, i = lw.symbols(f"l{k} r{k} m{k} I{k}")
        row = {"joint": "revolute", "a": length, "b": 0, "alpha": 0, "mass": m, "com": (r - length, 0, 0)}
        rows.append({**row, "inertia": [[0, 0, 0], [0, i, 0], [0, 0, i]]})
    return lw.Robot.from_dh(rows, convention="standard", gravity=(0, -lw.symbols("g"), 0), name="two")


VALUES = {"l1": 0.5, "r1": 0.3, "m1": 2.0, "I1": 0.1, "l2": 0.4, "r2": 0.15, "m2": 1.5, "I2": 0.07, "g": 9.81}


@pytest.mark.parametrize("name", SPELLED)
def test_symbols_print_as_people_write_them(name: str) -> None:
    text = lw.latex(lw.inertia_matrix, slider(lw.symbols(name)), name="M")
    assert rf"\begin{{array}}{{c}} {SPELLED[name]} \end{{array}}" in text


def test_one_name_gives_one_symbol() -> None:
    g = lw.symbols("g")
    assert str(g) == "g"
    assert isinstance(lw.symbols("g,"), tuple)
    assert lw.symbols("g,")[0] is g
    assert [str(x) for x in lw.symbols("l1, m1 θ")] == ["l1", "m1", "θ"]
    with pytest.raises(TypeError, match="unpack"):
        (_,) = g
    with raises(ValueError, "'l1,,m1'"):
        lw.symbols("l1,,m1")
    with pytest.raises(ValueError, match="'2m' is not a name"):
        lw.symbols("2m")
    with pytest.raises(TypeError, match="expected text"):
        lw.symbols(["l1"])  # type: ignore[arg-type]


def equations(text: str) -> list[tuple[str, str]]:
    """Left and right sides of one environment."""
    body = re.fullmatch(r"(?:%.*\n)*\\begin\{(align\*?)\}\n(.*)\n\\end\{\1\}\n", text, re.DOTALL)
    assert body is not None
    parts = re.split(r" \\\\\n(?!  &)", body[2])
    assert all(part.count("&=") == 1 for part in parts)
    return [tuple(part.split(" &= ")) for part in parts]  # type: ignore[misc]


@pytest.mark.parametrize("closed", [True, False])
@pytest.mark.parametrize("arm", [lw.load("planar3"), lw.load("stanford"), two_links()], ids=lambda arm: arm.name)
def test_all_equations_stand_in_one_environment(arm: lw.Robot, closed: bool) -> None:
    text = lw.latex(lw.inertia_matrix, arm, closed=closed)
    assert text.count(r"\begin{align*}") == 1
    assert r"\[" not in text
    apart = re.findall(r"\\\[ .* \\\]", lw.latex(lw.inertia_matrix, arm, closed=closed, environment=None))
    assert len(equations(text)) == len(apart)
    numbered = lw.latex(lw.inertia_matrix, arm, closed=closed, environment="align")
    lines = numbered[numbered.index(r"\begin{align}") : numbered.index(r"\end{align}")].splitlines()[1:]
    assert len(lines) - numbered.count(r"\nonumber") == len(apart)  # one number for each


def test_names_of_the_left_side_are_chosen() -> None:
    arm = lw.load("planar3")
    text = lw.latex(lw.gravity_torque, arm, name=r"\tau")
    assert text == lw.latex(lw.gravity_torque, arm, name="tau")
    assert [left for left, _ in equations(text)] == [r"\tau_{1}", r"\tau_{2}", r"\tau_{3}"]
    assert equations(lw.latex(lw.gravity_torque, arm, name="tau", elements=False))[-1][0] == r"\tau"
    left = [name for name, _ in equations(lw.latex(lw.inertia_matrix, arm, name="I"))]
    assert left == ["I_{11}", "I_{12}", "I_{13}", "I"]  # those that are too wide for the array
    for closed in (True, False):
        pairs = dict(equations(lw.latex(lw.inertia_matrix, arm, name="I", elements=True, closed=closed)))
        wanted = [f"I_{{{i}{j}}}" for i in (1, 2, 3) for j in (1, 2, 3)]
        assert sorted(name for name in pairs if name.startswith("I")) == wanted
        assert pairs["I_{21}"] == "I_{12}"
        assert not any(right == left for left, right in pairs.items())
    left = [
        name for name, _ in equations(lw.latex(lw.formulations.udu, arm, name=("U", "D"), elements=True, closed=True))
    ]
    assert {"U_{12}", "D_{3}"} < set(left)
    assert r"\mathbf{I}_{c,12} &=" in lw.latex(lw.inertia_matrix, arm, name=r"\mathbf{I}_{c}", elements=True)
    long = lw.Robot.from_dh([{**arm.rows[0], "name": f"k{k}"} for k in range(11)], convention="standard")
    assert r"\tau_{11} &= " in lw.latex(lw.gravity_torque, long, name="tau", elements=True)


def test_chosen_names_keep_apart_from_the_inputs() -> None:
    arm = slider(lw.symbols("M11"))
    assert r"M_{11} &= \mathrm{M11}" in lw.latex(lw.inertia_matrix, arm, name="M", elements=True)
    with raises(ValueError, "q_{1}"):
        lw.latex(lw.poses, lw.load("planar3"), name="q_{1}")
    with pytest.raises(ValueError, match="expected 2 names"):
        lw.latex(lw.formulations.udu, lw.load("planar3"), name="U")
    for bad in ("", "a}", "{a", "a\n"):
        with pytest.raises(ValueError, match="name is"):
            lw.latex(lw.inertia_matrix, arm, name=bad)
    with pytest.raises(ValueError, match="environment is 'gather'"):
        lw.latex(lw.inertia_matrix, arm, environment="gather")


def test_an_array_whose_name_ends_in_a_number_has_one_index() -> None:
    def f(arm: lw.Robot, l1: Any, k_d: Any) -> Any:
        return l1 * k_d

    assert r"k_{d,2} \, l_{1,2}" in lw.latex(f, lw.load("planar3")).replace(
        r"l_{1,2} \, k_{d,2}", r"k_{d,2} \, l_{1,2}"
    )


def test_terms_that_cancel_are_not_printed() -> None:
    arm = two_links()
    for text in (lw.latex(lw.inverse_dynamics, arm, closed=False), lw.python_source(lw.inverse_dynamics, arm)):
        assert not re.search(r"\bl_?\{?2\}?\s*[-+*)]", text)  # the last length moves nothing
    bound, (q, qd, qdd) = lw.bind(arm, **VALUES), np.random.default_rng(0).normal(size=(3, 2))
    program = lw.trace(lw.inverse_dynamics, arm)
    found = lw.graph.evaluate(program, q, qd, qdd, *(VALUES[port.name] for port in program.inputs[3:]))
    assert relative(found[0], lw.inverse_dynamics(bound, q, qd, qdd)) < 1e-14
    a, b, c = lw.symbols("a b c")
    for total, text in (
        (a + (b - a), "b"),
        (a - 0.5 * a, r"0.5 \, a"),
        ((a + b + c) - (a + c), "b"),
        (a + b - (a - b), r"2 \, b"),
        (a + 0.1 * a, r"a + 0.1 \, a"),  # 1.1 is no sum of these two numbers
    ):
        assert rf"{{c}} {text} \end" in lw.latex(lw.inertia_matrix, slider(total), closed=False)


def test_explain_writes_expressions_of_the_symbols() -> None:
    arm = two_links()
    q, qd = lw.symbols("q1 q2"), lw.symbols("u1 u2")
    e = lw.explain(arm, q, qd)
    assert "I1 + I2 + m1*r1**2 + m2*(l1**2 + r2**2 + 2*l1*r2*cos(q2))" in e.text("I")
    assert r"m_{2} \, \bigl( l_{1}^{2} + r_{2}^{2} + 2 \, l_{1} \, r_{2} \, c_{2} \bigr)" in e.latex("I")
    assert "#" not in str(e)
    assert "I2" in str(e["m_hat"]["link2"])
    assert "I2" in repr(e["m_hat"]["link2"])
    assert "#" not in e.latex()
    assert e.latex().count(r"\[") == e.latex().count(r"\]")


def evaluated(text: str, space: dict[str, Any], shapes: list[tuple[int, ...]]) -> list[np.ndarray]:
    """The values that the text of a quantity says, for what its symbols are."""
    _, *lines = text.splitlines()
    for line in lines:
        if line.startswith("  with "):
            left, right = line.removeprefix("  with ").split(" = ", 1)
            space[left] = eval(right, {}, space)
    found: list[np.ndarray] = []
    for line in lines:
        if line.startswith("  with "):
            continue
        label, body = re.fullmatch(r"  ((?:\w+, )*\w+: )?(.*)", line).groups()  # type: ignore[union-attr]
        if label or not found:
            found.append(np.zeros(shapes[len(found)]))
            row = 0
        element = re.match(r" *\[([\d,]+)\] = (.*)", body)
        if element:
            found[-1][tuple(int(k) - 1 for k in element[1].split(","))] = eval(element[2], {}, space)
            continue
        cells = [eval(cell, {}, space) for cell in re.split(r"  +", body.strip())]
        if found[-1].ndim == 2:
            found[-1][row] = cells
        else:
            found[-1][...] = cells if found[-1].ndim else cells[0]
        row += 1
    return found


def units(pattern: list[str]) -> int:
    """The ones of the identities in the pattern of a stacked matrix."""
    return 6 * sum(line.split().count("1") for line in pattern)


@pytest.mark.parametrize("closed", [True, False])
@pytest.mark.parametrize("symbolic_state", [True, False])
def test_explained_expressions_are_the_numbers(
    symbolic_state: bool, closed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not closed:  # every closed form is too long
        monkeypatch.setattr("linkwise.symbolic.equations.PATIENCE", 0)
    arm, state = two_links(), {"q1": 0.3, "q2": -0.8, "u1": 0.7, "u2": 1.1}
    numbers = (list(state.values())[:2], list(state.values())[2:])
    e = lw.explain(arm, *((lw.symbols("q1 q2"), lw.symbols("u1 u2")) if symbolic_state else numbers))
    known = lw.explain(lw.bind(arm, **VALUES), *numbers)
    for name, expected in known.items():
        values = list(expected.values()) if isinstance(expected, dict) else [expected]
        space = {**VALUES, **state, "sin": np.sin, "cos": np.cos, "sqrt": np.sqrt}
        text, blocks = e.text(name, digits=17).partition("\n\n")[0], e.quantities[name].definition.blocks
        if blocks is not None:  # of two links: a pattern of two lines, and the blocks that it names
            head, *lines = text.splitlines()
            text = "\n".join([head, *(re.sub(r"^  \S+_(\d+): ", r"  x\1: ", line) for line in lines[2:])])
            places = [(int(k[0]) - 1, int(k[-1]) - 1) for k in re.findall(r"^  x(\d+): ", text, re.M)]
            r, c = blocks.rows, blocks.columns
            kept = [expected[r * i : r * (i + 1), c * j : c * (j + 1)] for i, j in places]
            assert sum(map(np.count_nonzero, kept)) + units(lines[:2]) == np.count_nonzero(expected), name
            values = [np.squeeze(block) for block in kept]
        found = evaluated(text, space, [np.shape(value) for value in values])
        for ours, theirs in zip(found, values, strict=True):
            assert np.allclose(ours, theirs, rtol=1e-11, atol=1e-12), name


def test_explain_takes_symbols_of_sympy_for_a_robot_of_symbols() -> None:
    sympy = pytest.importorskip("sympy", reason="runs where SymPy is installed")
    names = sympy.symbols("q1 q2")
    e = lw.explain(two_links(), names)
    values = {**{sympy.Symbol(name, real=True): x for name, x in VALUES.items()}, names[0]: 0.3, names[1]: -0.8}
    found = np.array(sympy.Matrix(e["I"]).subs(values)).astype(float)
    assert relative(found, lw.inertia_matrix(lw.bind(two_links(), **VALUES), [0.3, -0.8])) < 1e-12


@pytest.mark.parametrize(
    "text",
    [
        "lw.describe(arm)",
        "lw.cite('denoc')",
        "lw.simulate(arm, [0, 0, 0], [0, 0, 0], 0.1, samples=2, compiled=False).summary()",
        "lw.torque_along(arm, lw.trajectories.cubic([0, 0, 0], [1, 1, 1], 1.0), samples=3).peaks()",
        "lw.budget(arm, [0, 0, 0], [0, 0, 0], [0, 0, 0]).table()",
        "lw.budget(arm, [0, 0, 0], [0, 0, 0], [0, 0, 0]).why(0)",
    ],
)
def test_texts_show_themselves_at_the_prompt_and_print_nothing_in_a_script(
    text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    space = {"lw": lw, "arm": lw.load("gantry")}
    exec(compile(text, "<stdin>", "single"), space)  # as the prompt, a doctest and a notebook do
    assert capsys.readouterr().out == f"{eval(text, space)}\n"
    exec(compile(text, "<script>", "exec"), space)
    assert capsys.readouterr().out == ""
