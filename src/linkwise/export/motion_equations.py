"""The equations of motion of a robot as a page: τ = I(q) q̈ + C(q, q̇) q̇ + g(q), and the elements of I, C and g."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ..api.functions import gravity_torque, inertia_matrix
from ..api.matrices import coriolis_matrix
from ..printing import Equations
from ..robot import Robot
from ..robot.layout import Layout
from ..robot.model import require_robot
from ..robot.symbols import mass_symbols
from ..symbolic.equations import TwoNames, add_meaning, plain_text, write, write_each
from ..symbolic.latex.names import LatexNames
from ..symbolic.latex.program import latex_text
from ..symbolic.plain_names import PlainNames
from ..symbolic.styles import Equation
from ..tracing import trace
from .component_names import meaning_lines, names_of

LIMIT = 150  # terms of I, of C and of g in closed form
ROW = 6  # zeros on a line


def matrices(robot: Robot, q: Any, qd: Any) -> Any:
    """I, C and g."""
    return inertia_matrix(robot, q), coriolis_matrix(robot, q, qd), gravity_torque(robot, q)


def equations_of_motion(robot: Robot, *, digits: int = 6, closed: bool | None = None) -> Equations:
    """The equations of motion as a textbook prints them, for a robot of numbers or symbols; LaTeX needs amsmath.

    τ = I(q) q̈ + C(q, q̇) q̇ + g(q), then every element of the symmetric inertia matrix I, of the Coriolis matrix C of
    `lw.coriolis_matrix` (İ - 2 C is skew-symmetric) and of the torque of gravity g. Friction is left out.

    Parameters
    ----------
    robot : Robot
    digits : int
        Significant digits of numbers.
    closed : bool, optional
        True: in closed form however long; False: named intermediates, then the elements. By default each of I, C and g
        in closed form up to 150 terms, where it has no quotients.

    Returns
    -------
    Equations
        LaTeX text, which notebooks show as equations; its `text` is for the prompt.

    Examples
    --------
    >>> import linkwise as lw
    >>> print(lw.equations_of_motion(lw.load("gantry")).text)
    tau = I(q) qdd + C(q, qd) qd + g(q)
    I[1,1] = 12
    I[2,2] = 7
    I[3,3] = 3
    I[1,2] = I[1,3] = I[2,3] = 0
    C = 0
    g[1] = 0
    g[2] = 0
    g[3] = -29.43
    """
    require_robot(robot)
    program = trace(matrices, robot)
    components, plain = (names_of(robot, program.inputs, latex=latex) for latex in (True, False))
    names = TwoNames(
        LatexNames(program, "ICg", components, elements=True), PlainNames(program, "ICg", plain, abbreviate=True)
    )
    first = mass_symbols(robot)
    if closed is None:
        written = write_each(program, digits, names, first=first, symmetric=(0,), limit=LIMIT)
    else:
        written = write(program, digits, names, closed=closed, elements=True, first=first, symmetric=(0,))
    labelled = Layout.of(robot).labelled
    v, vd, plain_v, plain_vd = ("v", r"\dot{v}", "v", "vd") if labelled else (r"\dot{q}", r"\ddot{q}", "qd", "qdd")
    law = (r"\tau", [rf"I(q) \, {vd} + C(q, {v}) \, {v} + g(q)"])
    plain_law = ("tau", [f"I(q) {plain_vd} + C(q, {plain_v}) {plain_v} + g(q)"])
    title = f"equations of motion of the robot {''.join(c for c in robot.name if c.isprintable())}"
    latex = [law, *gather_zeros(written.latex, names.latex.elements, "ICg")]
    return Equations(
        latex_text(latex, names.latex, title, meaning_lines(robot, components)),
        add_meaning(plain_text([plain_law, *gather_zeros(written.plain, names.plain.elements, "ICg")]), names.plain),
    )


def gather_zeros(equations: Sequence[Equation], elements: Sequence[Sequence[str]], letters: str) -> Iterator[Equation]:
    """The equations, the zeros of I and C on lines behind their other elements."""
    n = len(elements[-1])
    matrix = {name: letter for letter, names in zip(letters, elements[:-1], strict=False) for name in names}
    zeros: dict[str, list[str]] = {letter: [] for letter in matrix.values()}
    last = {matrix[left]: k for k, (left, _) in enumerate(equations) if left in matrix}
    for k, (left, lines) in enumerate(equations):
        if left in matrix and lines == ["0"]:
            zeros[matrix[left]].append(left)
        else:
            yield left, lines
        for letter in (letter for letter, place in last.items() if place == k):
            names = [letter] if len(zeros[letter]) == n * n else zeros[letter]
            yield from ((" = ".join(names[k : k + ROW]), ["0"]) for k in range(0, len(names), ROW))
