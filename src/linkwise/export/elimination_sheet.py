"""The inverse of the inertia matrix as people write it down, step by step: [Saha IJRR] section 6, for any robot.

    i_ij     the elements of the inertia matrix, (43)
    m̂_k      the pivots, the diagonal of D, and α_ij, the elements of U, (45): reverse Gaussian elimination
    α'_ij    of U⁻¹, with the signs turned, (47)
    I⁻¹      its elements in these, (48)

The steps are those of `dynamics.elimination`, which is run on symbols: each step becomes a symbol for the next ones.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from ..api.functions import inertia_matrix
from ..dynamics import elimination
from ..graph import Graph, Node, Port, Program
from ..graph.rules import is_number
from ..printing import Equations
from ..robot import Robot
from ..robot.symbols import mass_symbols
from ..symbolic.equations import TwoNames, Written, add_meaning, plain_text, write
from ..symbolic.latex.names import LatexNames
from ..symbolic.latex.program import latex_text
from ..symbolic.plain_names import PlainNames
from ..tracing import trace
from .component_names import meaning_lines, names_of

LIMIT = 150  # terms of the inertia matrix in closed form
LETTERS = {  # in LaTeX and in plain text
    "i": ("i", "i"),
    "m_hat": (r"\hat{m}", "m\N{COMBINING CIRCUMFLEX ACCENT}"),
    "alpha": (r"\alpha", "α"),
    "alpha'": (r"\alpha'", "α'"),
    "inverse": ("I^{-1}", "I^-1"),
}


class Steps:
    """The steps of a computation on symbols: each value gets a name and goes on as a symbol. Zeros stay zero."""

    def __init__(self, size: int) -> None:
        self.graph, self.between = Graph(scalar_inputs=True), "," if size > 9 else ""
        self.values: dict[str, Any] = {}
        self.latex: dict[str, list[str]] = {}
        self.plain: dict[str, list[str]] = {}

    def __call__(self, letter: str, index: tuple[int, ...], value: Any) -> Any:
        if is_number(value) and value == 0.0:
            return 0.0
        name = " ".join([letter, *map(str, index)])
        latex, plain = LETTERS[letter]
        numbers = self.between.join(str(k + 1) for k in index)
        self.values[name] = value
        suffix = f"[{','.join(str(k + 1) for k in index)}]" if letter == "inverse" else numbers
        self.latex[name], self.plain[name] = [f"{latex}_{{{numbers}}}"], [f"{plain}{suffix}"]
        return self.graph.input(name)

    def keep(self, wanted: Collection[str]) -> None:
        """Leave out the steps that these do not need."""
        needed = set(wanted)
        for name, value in reversed(self.values.items()):
            if name in needed and isinstance(value, Node) and value.graph is self.graph:
                needed |= value.symbol_names
        self.values = {name: value for name, value in self.values.items() if name in needed}


def elimination_steps(robot: Robot, inverse: bool, element: tuple[int, ...] | None) -> tuple[Program, Steps]:
    """The program of the inertia matrix, and the steps from its elements to U and D, or on to the inverse."""
    program = trace(inertia_matrix, robot)
    n = robot.n
    steps = Steps(n)
    nodes = program.results[0]
    matrix: list[list[Any]] = [[0.0] * n for _ in range(n)]
    for i in range(n):
        for j in range(i, n):
            node = nodes[i * n + j]
            matrix[i][j] = matrix[j][i] = steps("i", (i, j), node.payload if node.op == "const" else node)
    if not inverse:
        elimination.udu_of(matrix, steps)
        return program, steps
    result = elimination.inverse_of(matrix, steps)
    places = [(i, j) for i in range(n) for j in range(i, n)] if element is None else [tuple(sorted(element))]
    before = set(steps.values)
    for i, j in places:
        steps("inverse", (i, j), result[i][j])
    steps.keep(steps.values.keys() - before if element is not None else steps.values)
    return program, steps


def elimination_sheet(
    robot: Robot,
    title: str,
    factors: bool,
    element: tuple[int, ...] | None,
    digits: int,
    environment: str | None,
) -> Equations:
    """The elements of I, then m̂ and α, of the `factors`, and but for these α' and I⁻¹ or an element; no zeros."""
    program, steps = elimination_steps(robot, not factors, element)
    elements = [name for name in steps.values if name.startswith("i ")]
    ports = [Port(name, ()) for name in elements]
    values = [[steps.values[name]] for name in elements]
    first = Program.of(program.nodes[0].graph, program.inputs, ports, values)
    components, plain = (names_of(robot, program.inputs, latex=latex) for latex in (True, False))
    latex = {text for texts in steps.latex.values() for text in texts}
    names = TwoNames(
        LatexNames(first, [steps.latex[name][0] for name in elements], components, reserved=latex),
        PlainNames(first, [steps.plain[name][0] for name in elements], plain, abbreviate=True),
    )
    written = write(first, digits, names, first=mass_symbols(robot), limit=LIMIT)
    for name, value in steps.values.items():
        if name not in elements:
            step = step_equation(steps, name, value, digits)
            written.latex.extend(step.latex)
            written.plain.extend(step.plain)
    remarks = [*meaning_lines(robot, components), MEANING_OF_STEPS]
    return Equations(
        latex_text(written.latex, names.latex, title, remarks, environment),
        add_meaning(plain_text(written.plain), names.plain),
    )


MEANING_OF_STEPS = (
    r"I = U D U^T, D = diag(\hat{m}_i), U has 1 and \alpha_{ij}; the inverse of U has 1 and -\alpha'_{ij}"
)


def step_equation(steps: Steps, name: str, value: Any, digits: int) -> Written:
    """One step, in the symbols of the steps before it."""
    graph = steps.graph
    used = sorted(graph.node(value).symbol_names)
    program = Program.of(graph, [Port(other, ()) for other in used], [Port(name, ())], [[value]])
    latex, plain = ({other: texts[other] for other in used} for texts in (steps.latex, steps.plain))
    names = TwoNames(LatexNames(program, steps.latex[name], latex), PlainNames(program, steps.plain[name], plain))
    pivots = [other for other in steps.values if other.startswith("m_hat ")]
    return write(program, digits, names, closed=True, first=pivots)
