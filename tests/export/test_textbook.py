"""Equations as textbooks print them: hand-derived ones as text, all of them by the numbers that their text gives."""

import pickle
import re
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import linkwise as lw
from effort import examples, in_turn, rest_slow
from facts import raises
from linkwise.graph.polynomial import Algebra, Polynomial
from linkwise.symbolic.normal_form import Normal
from linkwise.symbolic.textbook import CARRIER, SYMBOL, TRIGONOMETRIC, VARIABLE, Sum, Textbook
from robots import CHAINS, TREES, ids, relative, states

G = lw.symbols("g")


def link(number: int, joint: str = "revolute", **changes: Any) -> dict[str, Any]:
    """A link of an arm in the plane x, y: length l, mass centre at lc from its joint, inertia I about it."""
    length, centre, mass, inertia = lw.symbols(f"l{number} lc{number} m{number} I{number}")
    row = {"joint": joint, "a": length, "alpha": 0, "mass": mass, "com": (centre - length, 0, 0)}
    row["b" if joint == "revolute" else "theta"] = 0
    return {**row, "inertia": [[0, 0, 0], [0, inertia, 0], [0, 0, inertia]], **changes}


def arm(*rows: dict[str, Any], gravity: tuple[Any, ...] = (0, -G, 0)) -> lw.Robot:
    return lw.Robot.from_dh(rows, convention="standard", gravity=gravity, name="arm")


TWO, THREE = arm(link(1), link(2)), arm(link(1), link(2), link(3))
LC1, LC2 = lw.symbols("lc1 lc2")
RP = arm(  # the slider moves along the first link, whose mass centre is at lc1 from its joint
    link(1, a=0, alpha="90 deg", com=(0, 0, LC1)), link(2, "prismatic", a=0, com=(0, 0, 0))
)
OFFSET = arm(link(1, a=0, alpha="90 deg", com=(0, 0, LC1)), link(2, "prismatic", a=0, com=(0, 0, -LC2)))
PR = arm(link(1, "prismatic", a=0, alpha="90 deg", com=(0, 0, 0)), link(2), gravity=(0, 0, -G))

TEXTBOOK = {  # by hand, from the kinetic and the potential energy
    "2R": (
        TWO,
        """
        I[1,1] = I1 + I2 + m1 lc1^2 + m2 (l1^2 + lc2^2 + 2 l1 lc2 c2)
        I[1,2] = I2 + m2 (lc2^2 + l1 lc2 c2)
        I[2,2] = I2 + m2 lc2^2
        C[1,1] = -m2 l1 lc2 s2 qd2
        C[1,2] = -m2 l1 lc2 s2 (qd1 + qd2)
        C[2,1] = m2 l1 lc2 s2 qd1
        C[2,2] = 0
        g[1] = g ((m1 lc1 + m2 l1) c1 + m2 lc2 c12)
        g[2] = m2 g lc2 c12
        """,
    ),
    "3R": (
        THREE,
        """
        I[1,1] = I1 + I2 + I3 + m1 lc1^2 + m2 (l1^2 + lc2^2 + 2 l1 lc2 c2)
            + m3 (l1^2 + l2^2 + lc3^2 + 2 l1 l2 c2 + 2 l1 lc3 c23 + 2 l2 lc3 c3)
        I[1,2] = I2 + I3 + m2 (lc2^2 + l1 lc2 c2) + m3 (l2^2 + lc3^2 + l1 l2 c2 + l1 lc3 c23 + 2 l2 lc3 c3)
        I[1,3] = I3 + m3 (lc3^2 + l1 lc3 c23 + l2 lc3 c3)
        I[2,2] = I2 + I3 + m2 lc2^2 + m3 (l2^2 + lc3^2 + 2 l2 lc3 c3)
        I[2,3] = I3 + m3 (lc3^2 + l2 lc3 c3)
        I[3,3] = I3 + m3 lc3^2
        g[1] = g ((m1 lc1 + (m2 + m3) l1) c1 + (m2 lc2 + m3 l2) c12 + m3 lc3 c123)
        g[2] = g ((m2 lc2 + m3 l2) c12 + m3 lc3 c123)
        g[3] = m3 g lc3 c123
        """,
    ),
    "RP": (
        RP,
        """
        I[1,1] = I1 + I2 + m1 lc1^2 + m2 q2^2
        I[2,2] = m2
        I[1,2] = 0
        C[1,1] = m2 q2 qd2
        C[1,2] = m2 q2 qd1
        C[2,1] = -m2 q2 qd1
        g[1] = g (m1 lc1 + m2 q2) s1
        g[2] = -m2 g c1
        """,
    ),
    "RP, mass centre beside the origin": (
        OFFSET,
        """
        I[1,1] = I1 + I2 + m1 lc1^2 + m2 (lc2 - q2)^2
        I[2,2] = m2
        """,
    ),
    "PR": (
        PR,
        """
        I[1,1] = m1 + m2
        I[1,2] = m2 lc2 c2
        I[2,2] = I2 + m2 lc2^2
        C[1,2] = -m2 lc2 s2 qd2
        g[1] = (m1 + m2) g
        g[2] = m2 g lc2 c2
        """,
    ),
    "Stanford": (  # all mass centres of links 3 to 6 are on the axis of the slider
        lw.load("stanford"),
        """
        I[1,3] = 0.61 s2
        I[1,6] = 0.002 (s2 c4 s5 - c2 c5)
        I[2,6] = 0.002 s4 s5
        I[3,3] = 6.1
        I[4,4] = 0.0025 + 0.0007 c5^2 + 0.002 s5^2 c6^2
        I[4,5] = -0.002 s5 c6 s6
        I[4,6] = 0.002 c5
        I[5,5] = 0.0035 - 0.002 c6^2
        I[6,6] = 0.002
        I[2,3] = I[3,4] = I[3,5] = I[3,6] = I[5,6] = 0
        g[2] = (13.3416 + 59.841 q3) s2
        g[3] = -59.841 c2
        """,
    ),
}


def unfolded(text: str) -> list[str]:
    """Equations, each on one line."""
    return re.sub(r"\n +", " ", text).splitlines()


@pytest.mark.parametrize(("robot", "by_hand"), TEXTBOOK.values(), ids=TEXTBOOK)
def test_equations_of_motion_are_those_of_textbooks(robot: lw.Robot, by_hand: str) -> None:
    printed = unfolded(lw.equations_of_motion(robot).text)
    assert printed[0] == "tau = I(q) qdd + C(q, qd) qd + g(q)"
    expected = unfolded(re.sub(r"^ {8}", "", by_hand.strip("\n"), flags=re.MULTILINE).strip())
    for line in expected:
        assert line in printed or any(line.removesuffix(" = 0") in zeros for zeros in printed if zeros.endswith(" = 0"))


def test_latex_is_that_of_textbooks() -> None:
    equations = lw.equations_of_motion(TWO)
    plain = equations.replace(r" \, ", " ").replace(r"\bigl(", "(").replace(r"\bigr)", ")")
    assert r"\tau &= I(q) \ddot{q} + C(q, \dot{q}) \dot{q} + g(q) \\" in plain
    assert (
        r"I_{11} &= I_{1} + I_{2} + m_{1} l_{c1}^{2} + m_{2} ( l_{1}^{2} + l_{c2}^{2} + 2 l_{1} l_{c2} c_{2} ) \\"
        in plain
    )
    assert r"C_{12} &= -m_{2} l_{1} l_{c2} s_{2} ( \dot{q}_{1} + \dot{q}_{2} ) \\" in plain
    assert repr(equations) == equations.text
    copy = pickle.loads(pickle.dumps(equations))
    assert (copy, copy.text) == (equations, equations.text)
    assert "%" not in equations._repr_latex_()


def test_lines_of_the_prompt_fit() -> None:
    for robot in (THREE, lw.load("stanford")):
        assert max(map(len, lw.equations_of_motion(robot).text.splitlines())) < 80


def test_inverse_dynamics_group_accelerations_and_rates() -> None:
    text = unfolded(lw.latex(lw.inverse_dynamics, TWO, name="tau", closed=True).text)
    assert text[0] == (
        "tau[1] = (I1 + I2 + m1 lc1^2 + m2 (l1^2 + lc2^2 + 2 l1 lc2 c2)) qdd1 + (I2 + m2 (lc2^2 + l1 lc2 c2)) qdd2"
        " - m2 l1 lc2 s2 (2 qd1 qd2 + qd2^2) + g ((m1 lc1 + m2 l1) c1 + m2 lc2 c12)"
    )


def rods(count: int) -> lw.Robot:
    """Uniform rods, as in [Saha IJRR], section 6."""
    rows = []
    for i in range(1, count + 1):
        length, mass = lw.symbols(f"l{i} m{i}")
        rows.append(link(i, com=(-length / 2, 0, 0), inertia=np.diag([0, 1, 1]) * (mass * length**2 / 12)))
    return arm(*rows)


def test_the_sheet_of_the_inverse_is_that_of_the_paper() -> None:
    """Equations (43), (45), (47), (48), with I_2 for the printed l_2, the factor and the squares that print lacks."""
    sheet = lw.latex(lw.inverse_inertia_matrix, rods(3), method="elimination")
    assert unfolded(sheet.text) == [
        "i11 = 1/3 m1 l1^2 + m2 (l1^2 + 1/3 l2^2 + l1 l2 c2)"
        " + m3 (l1^2 + l2^2 + 1/3 l3^2 + 2 l1 l2 c2 + l1 l3 c23 + l2 l3 c3)",
        "i12 = m2 (1/3 l2^2 + 1/2 l1 l2 c2) + m3 (l2^2 + 1/3 l3^2 + l1 l2 c2 + 1/2 l1 l3 c23 + l2 l3 c3)",
        "i13 = m3 (1/3 l3^2 + 1/2 l1 l3 c23 + 1/2 l2 l3 c3)",
        "i22 = 1/3 m2 l2^2 + m3 (l2^2 + 1/3 l3^2 + l2 l3 c3)",
        "i23 = m3 (1/3 l3^2 + 1/2 l2 l3 c3)",
        "i33 = 1/3 m3 l3^2",
        "m̂3 = i33",
        "α13 = i13/m̂3",
        "α23 = i23/m̂3",
        "m̂2 = i22 - m̂3 α23^2",
        "α12 = (i12 - m̂3 α13 α23)/m̂2",
        "m̂1 = i11 - m̂2 α12^2 - m̂3 α13^2",
        "α'12 = α12",
        "α'13 = α13 - α23 α'12",
        "α'23 = α23",
        "I^-1[1,1] = 1/m̂1",
        "I^-1[1,2] = -α'12/m̂1",
        "I^-1[1,3] = -α'13/m̂1",
        "I^-1[2,2] = α'12^2/m̂1 + 1/m̂2",
        "I^-1[2,3] = α'12 α'13/m̂1 - α'23/m̂2",
        "I^-1[3,3] = α'13^2/m̂1 + α'23^2/m̂2 + 1/m̂3",
        "where c2 = cos(q2), c23 = cos(q2 + q3), ...;"
        " Saha, IJRR 1999, has m̂ (33), (46); α (45); α' (39), (47); I^-1 (36), (48)",
    ]
    for line in (
        r"\alpha_{12} &= \frac{i_{12} - \hat{m}_{3} \, \alpha_{13} \, \alpha_{23}}{\hat{m}_{2}} \tag{45} \\",
        r"\alpha'_{13} &= \alpha_{13} - \alpha_{23} \, \alpha'_{12} \tag{47} \\",
        r"I^{-1}_{22} &= \frac{{\alpha'_{12}}^{2}}{\hat{m}_{1}} + \frac{1}{\hat{m}_{2}} \tag{48} \\",
    ):
        assert line in sheet
    numbered = lw.latex(lw.inverse_inertia_matrix, rods(3), method="elimination", environment="align")
    assert r"\tag" not in numbered  # it numbers equations by itself
    two = unfolded(lw.latex(lw.inverse_inertia_matrix, rods(2), method="elimination").text)
    assert two[3:-1] == [
        "m̂2 = i22",
        "α12 = i12/m̂2",
        "m̂1 = i11 - m̂2 α12^2",
        "α'12 = α12",
        "I^-1[1,1] = 1/m̂1",
        "I^-1[1,2] = -α'12/m̂1",
        "I^-1[2,2] = α'12^2/m̂1 + 1/m̂2",
    ]
    factors = unfolded(lw.latex(lw.formulations.udu, rods(2), method="elimination").text)
    assert factors[3:-1] == two[3:6]


def python_of(text: str) -> str:
    """The right side of an equation as Python."""
    text = re.sub(r"\b([cs])(\d+(?:-\d)*)\b", sine_or_cosine, text)
    text = re.sub(r"(?<=[\w)\]])\s+(?=[\w(])", "*", text)
    return text.replace("^", "**")


def sine_or_cosine(match: re.Match[str]) -> str:
    angles = "".join(f"{sign or '+'}q{digit}" for sign, digit in re.findall(r"(-?)(\d)", match[2]))
    return f"{'sin' if match[1] == 's' else 'cos'}({angles})"


def evaluated(text: str, values: dict[str, float]) -> dict[str, float]:
    """What each equation says its left side is."""
    plain = text.partition("\nwhere ")[0].replace("m\N{COMBINING CIRCUMFLEX ACCENT}", "mhat").replace("α'", "beta")
    space: dict[str, Any] = {**values, **{name: getattr(np, name) for name in ("sin", "cos", "sqrt", "sign")}}
    result = {}
    for line in unfolded(plain):
        if "I(q)" not in line:
            *lefts, right = line.split(" = ")
            for left in lefts:
                space[left] = result[left] = float(eval(python_of(right), {}, space))
    return result


def matrix_of(values: dict[str, float], letter: str, expected: np.ndarray, symmetric: bool = False) -> np.ndarray:
    """An array from its elements in the text; `letter = 0` is the zero matrix."""
    if letter in values:
        return np.zeros_like(expected)
    places = [tuple(sorted(index)) if symmetric else index for index in np.ndindex(expected.shape)]
    names = [f"{letter}[{','.join(str(k + 1) for k in index)}]" for index in places]
    return np.array([values[name] for name in names]).reshape(expected.shape)


def point(robot: lw.Robot, seed: int) -> tuple[list[np.ndarray], dict[str, float], lw.Robot]:
    """A state, the values of the names in texts, and the robot with numbers for its symbols."""
    q, qd, qdd, _ = (x[0] for x in states(robot, seed=seed))
    rng = np.random.default_rng(seed)
    symbols = {name: float(rng.uniform(0.5, 1.5)) for name in lw.symbols_of(robot)}
    values = {f"{name}{k + 1}": float(x) for name, a in (("q", q), ("qd", qd), ("qdd", qdd)) for k, x in enumerate(a)}
    return [q, qd, qdd], values | symbols, lw.bind(robot, **symbols) if symbols else robot


NUMBERS = [lw.load("stanford"), lw.load("planar3"), lw.load("gantry"), CHAINS[1], TREES[2]]
ROBOTS = [TWO, THREE, RP, OFFSET, PR, rods(4), *NUMBERS]
over_robots = pytest.mark.parametrize("robot", rest_slow(ROBOTS, [TWO, OFFSET, *NUMBERS[1:]]), ids=ids(ROBOTS))


@pytest.mark.parametrize("closed", [None, False])
@over_robots
def test_the_text_gives_the_numbers(robot: lw.Robot, closed: bool | None) -> None:
    text = lw.equations_of_motion(robot, digits=17, closed=closed).text
    for seed in (0, 1):
        (q, qd, _), values, bound = point(robot, seed)
        written = evaluated(text, values)
        inertia, coriolis = lw.inertia_matrix(bound, q), lw.coriolis_matrix(bound, q, qd)
        gravity = lw.gravity_torque(bound, q)
        assert relative(matrix_of(written, "I", inertia, symmetric=True), inertia) < 1e-11
        assert relative(matrix_of(written, "C", coriolis), coriolis) < 1e-11
        assert relative(matrix_of(written, "g", gravity), gravity) < 1e-11


@over_robots
def test_the_sheet_gives_the_numbers(robot: lw.Robot) -> None:
    (q, _, _), values, bound = point(robot, 0)
    inverse = lw.inverse_inertia_matrix(bound, q)
    written = evaluated(lw.latex(lw.inverse_inertia_matrix, robot, method="elimination", digits=17).text, values)
    for i, j in np.ndindex(inverse.shape):
        place = f"I^-1[{min(i, j) + 1},{max(i, j) + 1}]"
        assert relative(written.get(place, 0.0), inverse[i, j]) < 1e-9
    last = (robot.n, 1)
    alone = lw.latex(lw.inverse_inertia_matrix, robot, method="elimination", digits=17, element=last).text
    name = f"I^-1[1,{robot.n}]"
    element = evaluated(alone, values)
    assert element[name] == pytest.approx(written.get(name, 0.0), rel=1e-12)
    assert element.items() <= {name: 0.0, **written}.items()
    assert [key for key in element if key.startswith("I^-1")] == [name]


FUNCTIONS = {  # with how many of q, qd, qdd
    lw.inverse_dynamics: 3, lw.bias_torque: 2, lw.forward_dynamics: 3, lw.inverse_inertia_matrix: 1,
    lw.kinetic_energy: 2, lw.momentum: 2, lw.jacobian: 1,
}  # fmt: skip


OTHERS = [PR, TWO, CHAINS[3], TREES[1]]


@pytest.mark.parametrize("robot", rest_slow(OTHERS, OTHERS[1:3]), ids=["PR", "2R", "chain", "tree"])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_the_text_of_any_function_gives_the_numbers(function: Any, robot: lw.Robot) -> None:
    text = lw.latex(function, robot, name="A", closed=True, digits=17).text
    arrays, values, bound = point(robot, 0)
    values |= {f"tau{k + 1}": float(x) for k, x in enumerate(arrays[2])}
    expected = np.asarray(function(bound, *arrays[: FUNCTIONS[function]]))
    written = evaluated(text, values)
    found = matrix_of(written, "A", expected) if expected.shape else np.array(written["A"])
    assert relative(found, expected) < 1e-10


@pytest.mark.parametrize("function", [lw.inertia_matrix, lw.inverse_inertia_matrix, lw.jacobian])
def test_one_element_is_that_of_all(function: Any) -> None:
    (q, _, _), values, bound = point(THREE, 0)
    expected = function(bound, q)
    index = tuple(size - 1 for size in expected.shape)
    text = lw.latex(function, THREE, name="A", element=tuple(k + 1 for k in index), digits=17).text
    written = evaluated(text, values)
    assert relative(written[f"A[{','.join(str(k + 1) for k in index)}]"], expected[index]) < 1e-11


@pytest.mark.parametrize("element", [(0, 1), (1, 4), (1,), (1, 1, 1), "12", 3])
def test_elements_that_are_not_there_are_refused(element: Any) -> None:
    for keywords in ({}, {"method": "elimination"}):
        with raises(ValueError, "element", "is", "1", "3"):
            lw.latex(lw.inverse_inertia_matrix, THREE, element=element, **keywords)
    with raises(ValueError, "2"):
        lw.latex(lw.formulations.udu, THREE, element=(1, 1), method="elimination")


def test_a_symbol_does_not_print_like_a_step() -> None:
    one = arm({**link(1), "mass": lw.symbols("alpha12")}, link(2))
    sheet = lw.latex(lw.inverse_inertia_matrix, one, method="elimination")
    assert r"\mathrm{alpha12}" in sheet
    assert r"\alpha_{12} &=" in sheet


def test_the_sheet_has_an_element_that_is_zero() -> None:
    sheet = lw.latex(lw.inverse_inertia_matrix, lw.load("gantry"), method="elimination", element=(2, 1))
    assert sheet.text == "I^-1[1,2] = 0"
    assert "\nI^{-1}_{12} &= 0\n" in sheet


@in_turn(("i11", "i22", "i12 i_12", "α12", "m\N{COMBINING CIRCUMFLEX ACCENT}2 i22"))
def test_steps_are_not_called_like_symbols(names: str) -> None:
    symbols = lw.symbols(names)
    length, mass = symbols if isinstance(symbols, tuple) else (symbols, 1.5)
    robot = arm(link(1, a=length), link(2, mass=mass))
    (q, _, _), values, bound = point(robot, 0)
    text = lw.latex(lw.inverse_inertia_matrix, robot, method="elimination", digits=17).text
    plain = {name.replace("m\N{COMBINING CIRCUMFLEX ACCENT}", "mhat"): x for name, x in values.items()}
    written = evaluated(text, plain)
    assert written.keys().isdisjoint(plain)
    inverse = lw.inverse_inertia_matrix(bound, q)
    assert relative(matrix_of(written, "I^-1", inverse, symmetric=True), inverse) < 1e-9


def general_arm(rng: np.random.Generator, mass: float = 20.0) -> lw.Robot:
    """An arm of one to three revolute joints, parallel or at right angles, with any bodies."""
    rows = []
    for _ in range(int(rng.integers(1, 4))):
        moments = np.cov(rng.normal(size=(3, 6)))
        row = link(1, a=rng.uniform(0, 0.6), alpha=rng.choice([0, np.pi / 2]), mass=rng.uniform(0.5, mass))
        inertia = 0.1 * (np.trace(moments) * np.eye(3) - moments)
        rows.append({**row, "com": rng.uniform(-0.3, 0.3, 3).round(3), "inertia": inertia})
    return arm(*rows, gravity=(0, -9.81, 0))


@in_turn(range(100))
def test_coefficients_have_no_rounding_residue(seed: int) -> None:
    rng = np.random.default_rng(seed)
    robot = general_arm(rng, mass=1e5 if seed % 4 == 0 else 20.0)
    for function in (lw.inertia_matrix, lw.coriolis_matrix, lw.gravity_torque):
        (flat,) = Normal(lw.trace(function, robot)).results
        numbers = [abs(float(x)) for polynomial in flat for x in polynomial.values()]
        assert min(numbers, default=0) >= 1e-12 * max(numbers, default=0)
    if seed < 10:
        text = lw.equations_of_motion(robot, digits=17, closed=True).text
        (q, qd, _), values, _ = point(robot, seed)
        written = evaluated(text, values)
        inertia, coriolis = lw.inertia_matrix(robot, q), lw.coriolis_matrix(robot, q, qd)
        gravity = lw.gravity_torque(robot, q)
        assert relative(matrix_of(written, "I", inertia, symmetric=True), inertia) < 1e-11
        assert relative(matrix_of(written, "C", coriolis), coriolis) < 1e-11
        assert relative(matrix_of(written, "g", gravity), gravity) < 1e-11


def test_large_numbers_have_the_digits_of_small_ones() -> None:
    for mass, plain, latex in ((7e22, "7e+22", r"7 \cdot 10^{22}"), (7.123456e22, "7.12e+22", r"7.12 \cdot 10^{22}")):
        slider = arm(link(1, "prismatic", mass=mass, inertia=np.zeros((3, 3))))
        written = lw.equations_of_motion(slider, digits=3)
        assert f"I[1,1] = {plain}" in written.text
        assert latex in written


@in_turn([0, -1, 18, 2.5, True, "3", None])
def test_digits_are_counted(digits: Any) -> None:
    planar = lw.load("planar3")
    state = np.zeros((3, planar.n))
    explanation, budget = lw.explain(planar, state[0]), lw.budget(planar, *state)
    printers = (explanation.text, explanation.latex, explanation.html, budget.latex)
    for write in (partial(lw.latex, lw.inertia_matrix, TWO), partial(lw.equations_of_motion, TWO), *printers):
        with raises(ValueError, "digits", repr(digits), "1 to 17"):
            write(digits=digits)


class Ring(Algebra):
    """Polynomials in atoms 0 to 8: three symbols, a joint variable, two angles, two rates and a torque."""

    kinds = (SYMBOL, SYMBOL, SYMBOL, VARIABLE, TRIGONOMETRIC, TRIGONOMETRIC, CARRIER, CARRIER, CARRIER)


def expanded(total: Sum) -> Polynomial:
    ring = Algebra()
    result: Polynomial = {}
    for product in total:
        term: Polynomial = {(): product.number}
        for factor, exponent in product.powers:
            base = {((factor, 1),): Fraction(1)} if isinstance(factor, int) else expanded(factor)
            for _ in range(exponent):
                term = ring.times(term, base)
        result = ring.plus(result, term)
    return result


atoms = st.integers(0, 8)
keys = st.dictionaries(atoms, st.integers(1, 2), max_size=4).map(lambda powers: tuple(sorted(powers.items())))
numbers = st.sampled_from([Fraction(n, d) for n in (-4, -3, -2, -1, 1, 2, 3) for d in (1, 2, 3)])
sums = st.dictionaries(keys, numbers, min_size=1, max_size=4)


@examples(200)
@given(st.lists(sums, min_size=1, max_size=3), sums)
def test_nested_sums_equal_the_polynomial(factors: list[Polynomial], rest: Polynomial) -> None:
    ring, product = Algebra(), {(): Fraction(1)}
    for factor in factors:
        product = ring.times(product, factor)
    polynomial = ring.plus(product, rest)
    nest = Textbook(lambda x: (Ring.kinds[x], x), lambda x: "qd" if x < 8 else "tau", (0,))
    assert expanded(nest.sum(polynomial)) == polynomial


@in_turn(("tau", "qdd", "C", "I"))
def test_symbols_of_a_robot_are_not_called_like_the_terms_of_its_equations(name: str) -> None:
    symbol = lw.symbols(name)
    row = {"joint": "revolute", "a": symbol, "b": 0, "alpha": 0, "mass": 1.0, "com": (0, 0, 0)}
    arm = lw.Robot.from_dh(
        [{**row, "inertia": np.zeros((3, 3))}], convention="standard", gravity=(0, -1, 0), name="one"
    )
    equations = lw.equations_of_motion(arm)
    law, element, *_ = equations.text.splitlines()
    assert re.search(rf"\b{name}\b", element)
    assert not re.search(rf"\b{name}\b", law)
    assert rf"\mathrm{{{name}}}^{{2}}" in equations
    with raises(TypeError, "closed", "'yes'"):
        lw.equations_of_motion(arm, closed="yes")  # type: ignore[arg-type]
