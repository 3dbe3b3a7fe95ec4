"""What `explain` shows obeys the equations it cites, in numbers and in symbols; `cite` knows every method."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest

import linkwise as lw
from effort import rest_slow
from facts import raises
from linkwise.cli.commands.equations import symbolic_robot
from robots import CHAINS, TREES, ids, relative, states

ROBOTS = [lw.load("stanford"), lw.load("planar3"), *(r for r in CHAINS + TREES if r.n in (3, 4, 6))]
over_robots = pytest.mark.parametrize("robot", rest_slow(ROBOTS, ROBOTS[::3]), ids=ids(ROBOTS))


def explained(robot: lw.Robot) -> lw.results.Explanation:
    return lw.explain(robot, *(x[0] for x in states(robot, count=1)[:3]))


@over_robots
def test_quantities_obey_sahas_equations(robot: lw.Robot) -> None:
    e = explained(robot)
    names = robot.names
    for link in robot.links:
        p, M_hat, psi_hat = e["p"][link.name], e["M_hat"][link.name], e["psi_hat"][link.name]
        assert relative(psi_hat, M_hat @ p) < 1e-12  # (47)
        assert relative(e["m_hat"][link.name], p @ psi_hat) < 1e-12  # (47)
        assert relative(e["psi"][link.name], psi_hat / e["m_hat"][link.name]) < 1e-12  # (48)
        assert relative(e["Psi"][link.name], np.eye(6) - np.outer(e["psi"][link.name], p)) < 1e-12
        children = [k for k in robot.links if k.parent == link.index]
        composite, articulated = e["M"][link.name], e["M"][link.name]
        for child in children:
            B = e["B"][child.name, link.name]
            dyad = np.outer(e["psi_hat"][child.name], e["psi"][child.name])
            composite = composite + B.T @ e["M_tilde"][child.name] @ B  # (23b)
            articulated = articulated + B.T @ (e["M_hat"][child.name] - dyad) @ B  # (50)
        assert relative(e["M_tilde"][link.name], composite) < 1e-12
        assert relative(e["M_hat"][link.name], articulated) < 1e-11
        for index in robot.ancestors(link.index)[1:]:
            B_hat = e["B_hat"][link.name, names[index]]
            alpha = e["p"][names[index]] @ B_hat.T @ e["psi"][link.name]  # (41)
            assert abs(alpha - e["alpha_prime"][index, link.index]) < 1e-11
    assert relative(e["I"], e["N_d"].T @ e["N_l"].T @ block(e["M"], names) @ e["N_l"] @ e["N_d"]) < 1e-12  # (20)
    assert relative(e["U"] @ np.diag(e["D"]) @ e["U"].T, e["I"]) < 1e-12  # (55)
    assert relative(e["U"] @ e["U_inverse"], np.eye(robot.n)) < 1e-11
    assert relative(e["U_inverse"], np.eye(robot.n) - e["alpha_prime"]) == 0.0  # (38)
    product = e["I"]
    for name in reversed(names[1:]):
        product = e["E"][name] @ product
    assert np.abs(np.triu(product, 1)).max() < 1e-12 * np.abs(e["I"]).max()  # (51)
    assert np.abs(e["K"] @ e["T"]).max() < 1e-12


def block(parts: dict[str, np.ndarray], names: tuple[str, ...]) -> np.ndarray:
    whole = np.zeros((6 * len(names), 6 * len(names)))
    for i, name in enumerate(names):
        whole[6 * i : 6 * i + 6, 6 * i : 6 * i + 6] = parts[name]
    return whole


@over_robots
def test_quantities_are_those_of_the_public_functions(robot: lw.Robot) -> None:
    q, qd, qdd, _ = (x[0] for x in states(robot, count=1))
    e = explained(robot)
    assert relative(e["I"], lw.inertia_matrix(robot, q)) < 1e-14
    assert relative(e["I_inverse"], lw.inverse_inertia_matrix(robot, q)) == 0.0
    assert relative(e["C"], lw.coriolis_matrix(robot, q, qd)) < 1e-15
    assert relative(e["tau"], lw.inverse_dynamics(robot, q, qd, qdd, method="denoc")) == 0.0
    assert relative(e["nu"], lw.formulations.normalized.velocity(robot, q, qd)) == 0.0
    assert relative(e["xi"], lw.formulations.unnormalized.velocity(robot, q, qd)) == 0.0
    assert abs(e["nu"] @ e["C_nu"]) < 1e-10 * max(1.0, np.abs(e["C_nu"]).max())
    for link in robot.links:
        assert relative(e["G"][link.name] * e["D_k"][link.name], e["P"][link.name][:, axis(link)]) < 1e-12


def axis(link: lw.Link) -> int:
    return 2 if link.joint.kind == "revolute" else 5


def test_symbols_give_the_same_numbers() -> None:
    sympy = pytest.importorskip("sympy", reason="runs where SymPy is installed")
    robot = lw.load("planar3")
    names, values = sympy.symbols("q1:4"), [0.3, -0.8, 1.1]
    symbolic, numeric = lw.explain(robot, names), lw.explain(robot, values)
    for name in ("I", "U", "D", "I_inverse", "N_d"):
        found = sympy.lambdify(names, sympy.Matrix(np.atleast_2d(symbolic[name])))(*values)
        assert relative(found, np.atleast_2d(numeric[name])) < 1e-12
    assert r"\cos{\left(q_{3} \right)}" in symbolic.latex("I")


@pytest.mark.parametrize("robot", rest_slow(ROBOTS, [ROBOTS[1], ROBOTS[-2]]), ids=ids(ROBOTS))
def test_every_quantity_prints_with_its_source_and_equation(robot: lw.Robot) -> None:
    e = lw.explain(robot, *(x[0] for x in states(robot, count=1)))
    for name, quantity in e.quantities.items():
        text, latex, html = e.text(name), e.latex(name), Tags(e.html(name))
        assert text.splitlines()[0].startswith(quantity.symbol)
        assert f"[{quantity.source}, {quantity.equation}]" in text
        for key in quantity.values:
            assert all(robot.names[i] in text for i in key)
        assert latex.count(r"\[") == latex.count(r"\]") >= len(quantity.values)
        for head, body in re.findall(r"begin\{array\}\{(c+)\} (.*?) \\end\{array\}", latex):
            assert {row.count("&") + 1 for row in body.split(r"\\")} == {len(head)}
        assert all(line in html.text for line in text.splitlines()[1:])
        assert latex.count("{") == latex.count("}")
        assert "nan" not in text
    assert str(e) == e.text()
    assert [line.split()[0] for line in repr(e).splitlines()[3:]] == list(e)  # the prompt lists the names
    assert Tags(e._repr_html_()).details == len(e) + 4  # those of each paper fold too


class Tags(HTMLParser):
    """Checks that tags are closed in order; collects the text, and counts what folds."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open, self.text, self.details = [], "", 0
        self.feed(html)
        assert not self.open

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.open.append(tag)
        self.details += tag == "details"

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += f" {data} "


def test_a_sheet_has_each_intermediate_once_and_prints_symbols_as_equations_do() -> None:
    symbols = [lw.symbols(" ".join(f"{word}{k}" for k in (1, 2, 3))) for word in ("q", "qd", "qdd")]
    e = lw.explain(symbolic_robot(lw.load("planar3")), *symbols)
    names = ("L", "m_hat", "D_k", "tau", "N_l", "B")
    text, latex = e.text(*names), e.latex(*names)
    for defined, used in (
        (re.findall(r"with t(\d+) =", text), re.findall(r"\bt(\d+)", text)),
        (re.findall(r"\\\[ (?:\\begin{aligned} )?t_{(\d+)} =", latex), re.findall(r"t_{(\d+)}", latex)),
    ):
        assert defined == [str(k + 1) for k in range(len(defined))]
        assert set(used) == set(defined)
    rights = re.findall(r"with t\d+ = (.*)", text)
    assert len(set(rights)) == len(rights)
    assert r"\cos\left(q" not in latex
    assert "qd" not in latex
    assert all(letter in latex for letter in (r"\ddot{q}_{1}", r"\dot{q}_{2}", "c_{12}", r"\mathbf{B}_{21}"))
    assert "{2,1}" not in latex
    assert latex.startswith("% s_i = sin q_i")


def test_kozlowskis_count_of_links_is_said_once() -> None:
    e = lw.explain(lw.load("planar3"), [0, 0, 0])
    for show in (e.text, e.latex, e.html):
        assert show("D_k", "P", "U").count("k = 4 - i") == 1
        assert "tip;" not in show("D", "U")
    assert Tags(e._repr_html_()).text.count("k = 4 - i") == 1


def test_html_has_sources_and_lower_indices() -> None:
    html = lw.explain(lw.load("planar3"), [0, 0, 0]).html("psi", "Psi")
    assert "[saha1999jam, (48)]" in html
    assert "ψ<sub>i</sub> p<sub>i</sub>ᵀ" in html


@pytest.mark.parametrize(
    ("typed", "names"),
    [
        ("mass_factor", ["'m'"]), ("alpha_ik", ["'U'"]), ("φ", ["'phi'"]), ("ψ", ["'psi'"]), ("ψ_1", ["'psi'"]),
        ("ν", ["'nu'", "'ridim_nu'"]), ("M̂", ["'M_hat'"]), ("θ̈", ["'qdd'"]), ("M_hut", ["'M_hat'"]),
    ],
)  # fmt: skip
def test_what_people_type_leads_to_the_name(typed: str, names: list[str]) -> None:
    e = lw.explain(lw.load("planar3"), [0, 0, 0])
    for ask in (lambda: e[typed], lambda: e.text(typed)):
        with pytest.raises((KeyError, ValueError)) as error:
            ask()
        meant = str(error.value).partition("did you mean")[2].partition("?")[0]
        assert all(name in meant for name in names)


def test_tensors_are_explained_as_arrays() -> None:
    torch = pytest.importorskip("torch")
    q = [0.1, 0.2, 0.3]
    e = lw.explain(lw.load("planar3"), torch.tensor(q, dtype=torch.float64))
    assert e.text("m_hat", "U") == lw.explain(lw.load("planar3"), q).text("m_hat", "U")


def test_explain_says_what_it_wants() -> None:
    arm = lw.load("planar3")
    with raises(ValueError, "state", "(2,)"):
        lw.explain(arm, np.zeros((2, 3)))
    with raises(ValueError, "qdd", "qd"):
        lw.explain(arm, np.zeros(3), qdd=np.zeros(3))
    with raises(ValueError, "M_hat"):
        lw.explain(arm, np.zeros(3)).text("M_hut")
    assert "nu" not in lw.explain(arm, np.zeros(3))


@pytest.mark.parametrize("function", [lw.inverse_dynamics, lw.forward_dynamics, lw.inertia_matrix])
def test_every_method_can_be_cited(function: object) -> None:
    for method in lw.methods(function):
        text = lw.cite(method)
        assert text.startswith(f"{method}: ")
        assert text.count("@") >= 1
        assert text.count("{") == text.count("}")


def test_cite_takes_the_quasi_coordinates_and_lists_what_it_knows() -> None:
    assert lw.cite(lw.formulations.normalized) == lw.cite("normalized")
    with raises(ValueError, "kalman"):
        lw.cite("kalmann")


def test_a_quantity_that_does_not_exist_is_named_with_those_that_do() -> None:
    with raises(KeyError, "M_hut", "M_hat", "N_l") as error:
        lw.explain(lw.load("planar3"), [0, 0, 0])["M_hut"]
    assert "need" not in str(error.value)


def test_a_term_of_a_budget_that_is_not_there_is_named_with_those_that_are() -> None:
    joint = lw.budget(lw.load("planar3"), [0, 0, 0], [0, 0, 0], [0, 0, 0])["link1"]
    label, _ = joint.terms[0]
    with raises(KeyError, "gravitation") as error:
        joint["gravitation"]
    assert label in str(error.value)
