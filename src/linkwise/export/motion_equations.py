r"""Equations as people write them down: τ = I(q) q̈ + C(q, q̇) q̇ + g(q), and the inverse of the inertia matrix.

The inverse is written step by step, in the symbols of its paper. Here are also the names of numbers in equations.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from textwrap import wrap
from typing import Any

from ..api.functions import gravity_torque, inertia_matrix
from ..api.matrices import coriolis_matrix
from ..dynamics import elimination
from ..graph import Graph, Node, Port, Program
from ..graph.rules import is_number
from ..printing import Equations
from ..robot import Robot
from ..robot.layout import Layout
from ..robot.model import require_robot
from ..robot.symbols import mass_symbols
from ..symbolic.equations import TwoNames, Written, add_meaning, plain_text, write, write_each
from ..symbolic.latex.format import check_digits
from ..symbolic.latex.names import LatexNames
from ..symbolic.latex.program import latex_text
from ..symbolic.plain_names import PlainNames
from ..symbolic.styles import Equation
from ..tracing import trace

POSITIONS, RATES, ACCELERATIONS, TORQUES = range(4)
ARRAYS = {"q": POSITIONS, "q0": POSITIONS, "q1": POSITIONS, "qd": RATES, "v": RATES, "qdd": ACCELERATIONS}
ARRAYS["tau"] = TORQUES
LABELS = {"": "q", "r": "theta", "q": "q", "v": "v", "w": "omega"}  # by what a label begins with, before its axis
MEANINGS = {
    "ball": (r"q_{w,i}, q_{x,i}, q_{y,i}, q_{z,i} quaternion; \omega_{x,i}, ... angular velocity in the body's axes",),
    "free": (
        r"x_i, y_i, z_i position; q_{w,i}, q_{x,i}, q_{y,i}, q_{z,i} quaternion;",
        r"v_{x,i}, ... linear velocity in the parent's axes; \omega_{x,i}, ... angular velocity in the body's axes",
    ),
    "universal": (r"\theta_{x,i}, \theta_{y,i} angles",),
    "planar": (r"x_i, y_i displacements; \theta_{z,i} angle",),
    "cylindrical": (r"z_i displacement; \theta_{z,i} angle",),
}
Component = tuple[str, str, int]  # letter, axis, and how many dots


def component(label: str, role: int) -> Component:
    """The component of a label of `JointKind.q_labels` or `v_labels`."""
    kind, axis = label[:-1], label[-1:]
    if role == TORQUES:
        return ("tau" if kind in ("r", "w") or not label else "f", axis, 0)
    letter, dots = LABELS[kind], role - (kind in ("v", "w"))
    return (axis, "", dots) if label and not kind else (letter, axis, dots)


def latex_name(part: Component, array: str, joint: int) -> str:
    letter, axis, dots = part
    text = rf"\{letter}" if len(letter) > 1 else letter
    text = rf"\{'d' * dots}ot{{{text}}}" if dots else text
    index = [*([array[1:]] if array[1:].isdigit() else []), *([axis] if axis else []), str(joint)]
    return f"{text}_{{{','.join(index)}}}"


def plain_name(part: Component, array: str, joint: int) -> str:
    letter, axis, dots = part
    number = array[1:] if array[1:].isdigit() else ""
    return f"{letter}{'d' * dots}{number}{'_' if axis or number else ''}{axis}{joint}"


def names_of(robot: Robot, inputs: tuple[Port, ...], *, latex: bool) -> dict[str, list[str]] | None:
    """The names of the numbers of each input array of coordinates; None for robots of simple joints."""
    if not Layout.of(robot).labelled:
        return None
    names = {}
    for port in inputs:
        role = ARRAYS.get(port.name)
        if role is not None and port.shape == (robot.size_of(port.name),):
            joints = [joint for joint in robot.moving if joint.coupling is None]
            names[port.name] = [
                (latex_name if latex else plain_name)(component(label, role), port.name, number)
                for number, joint in enumerate(joints, 1)
                for label in (joint.kind.q_labels if role == POSITIONS else joint.kind.v_labels)
            ]
    return names


def meaning_lines(robot: Robot, names: Mapping[str, list[str]] | None) -> list[str]:
    """Comment lines: the number of each joint, and the components of each kind."""
    if not names:
        return []
    joints = [joint for joint in robot.moving if joint.coupling is None]
    numbered = ", ".join(f"{k} {joint.joint} ({joint.kind.name})" for k, joint in enumerate(joints, 1))
    kinds = dict.fromkeys(joint.kind.name for joint in joints if joint.kind.degrees > 1)
    return [*wrap(f"joints: {numbered}", width=110), *(line for kind in kinds for line in kind_lines(kind))]


def kind_lines(kind: str) -> list[str]:
    first, *rest = MEANINGS[kind]
    return [f"{kind} joint i: {first}", *(f"  {line}" for line in rest)]


LETTERS = {  # in LaTeX and in plain text
    "i": ("i", "i"),
    "m_hat": (r"\hat{m}", "m\N{COMBINING CIRCUMFLEX ACCENT}"),
    "alpha": (r"\alpha", "α"),
    "alpha'": (r"\alpha'", "α'"),
    "inverse": ("I^{-1}", "I^-1"),
}


def free_head(letter: str, taken: Collection[str]) -> str:
    """The letter, followed by as many _ as it takes so that no name is the letter with a number."""
    while any(re.fullmatch(rf"{re.escape(letter)}\d+", name) for name in taken):
        letter += "_"
    return letter


class Steps:
    """The steps of a computation on symbols: each value gets a name and goes on as a symbol. Zeros stay zero.

    In plain text a letter is followed by _, i_12, where i12 is one of the symbols `taken`.
    """

    def __init__(self, size: int, taken: Collection[str] = ()) -> None:
        self.graph, self.between = Graph(scalar_inputs=True), "," if size > 9 else ""
        self.values: dict[str, Any] = {}
        self.latex: dict[str, list[str]] = {}
        self.plain: dict[str, list[str]] = {}
        self.letters = {letter: free_head(plain, taken) for letter, (_, plain) in LETTERS.items()}

    def __call__(self, letter: str, index: tuple[int, ...], value: Any) -> Any:
        return 0.0 if is_number(value) and value == 0.0 else self.add(letter, index, value)

    def add(self, letter: str, index: tuple[int, ...], value: Any) -> Any:
        name = " ".join([letter, *map(str, index)])
        latex, plain = LETTERS[letter][0], self.letters[letter]
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
    steps = Steps(n, [port.name for port in program.inputs if not port.shape])
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
        (steps if element is None else steps.add)("inverse", (i, j), result[i][j])
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
    """The elements of I, then m̂ and α; without `factors` also α' and I⁻¹, or one element of that; no zeros."""
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
    used: dict[str, None] = {}  # letters, in order
    for name, value in steps.values.items():
        if name not in elements:
            step, letter = step_equation(steps, name, value, digits), name.split()[0]
            written.plain.extend(step.plain)
            if is_number(value) and value == 0.0:
                written.latex.extend(step.latex)
                continue
            tag = rf" \tag{{{PRINTED[letter][-1]}}}" if environment != "align" else ""  # which numbers by itself
            written.latex.extend((left, [*lines[:-1], lines[-1] + tag]) for left, lines in step.latex)
            used[letter] = None
    remarks = [*meaning_lines(robot, components), MEANING_OF_STEPS]
    numbers = "; ".join(f"{LETTERS[x][1]} ({'), ('.join(map(str, PRINTED[x]))})" for x in used)
    return Equations(
        latex_text(written.latex, names.latex, title, remarks, environment),
        add_meaning(plain_text(written.plain), names.plain, f"Saha, IJRR 1999, has {numbers}" if used else ""),
    )


PRINTED = {"m_hat": (33, 46), "alpha": (45,), "alpha'": (39, 47), "inverse": (36, 48)}  # equations, last of three links


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


def check_closed(closed: object) -> None:
    if not (closed is None or isinstance(closed, bool)):
        raise TypeError(f"closed is {closed!r} (expected True, False, or None for whichever is small)")


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
        Significant digits of numbers, 1 to 17.
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
    check_digits(digits)
    check_closed(closed)
    program = trace(matrices, robot)
    components, plain = (names_of(robot, program.inputs, latex=latex) for latex in (True, False))
    taken = [port.name for port in program.inputs if not port.shape]
    labelled = Layout.of(robot).labelled
    v, vd = ("v", r"\dot{v}") if labelled else (r"\dot{q}", r"\ddot{q}")
    letters, plain_letters = "ICg", [*(free_name(letter, taken) for letter in "IC"), "g"]
    names = TwoNames(
        LatexNames(program, letters, components, elements=True, reserved={r"\tau", "I", "C", "q", v, vd}),
        PlainNames(program, plain_letters, plain, abbreviate=True),
    )
    first = mass_symbols(robot)
    if closed is None:
        written = write_each(program, digits, names, first=first, symmetric=(0,), limit=LIMIT)
    else:
        written = write(program, digits, names, closed=closed, elements=True, first=first, symmetric=(0,))
    tau, plain_v, plain_vd = (free_name(x, taken) for x in ("tau", *(("v", "vd") if labelled else ("qd", "qdd"))))
    law = (r"\tau", [rf"I(q) \, {vd} + C(q, {v}) \, {v} + g(q)"])
    I, C, _ = plain_letters
    plain_law = (tau, [f"{I}(q) {plain_vd} + {C}(q, {plain_v}) {plain_v} + g(q)"])
    title = f"equations of motion of the robot {''.join(c for c in robot.name if c.isprintable())}"
    latex = [law, *gather_zeros(written.latex, names.latex.elements, letters)]
    return Equations(
        latex_text(latex, names.latex, title, meaning_lines(robot, components)),
        add_meaning(
            plain_text([plain_law, *gather_zeros(written.plain, names.plain.elements, plain_letters)]), names.plain
        ),
    )


def free_name(name: str, taken: Collection[str]) -> str:
    """The name, followed by as many _ as it takes to be none of the others."""
    while name in taken:
        name += "_"
    return name


def gather_zeros(
    equations: Sequence[Equation], elements: Sequence[Sequence[str]], letters: Sequence[str]
) -> Iterator[Equation]:
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
