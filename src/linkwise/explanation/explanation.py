"""`explain`: the intermediates of one state by name, as numbers, text, LaTeX and HTML. Stacked matrices are shown by
their blocks: where they are, and then each one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from html import escape
from typing import Any, NamedTuple

import numpy as np

from ..api.functions import refuse_coupled
from ..api.quasi import check_quasi_robot
from ..api.singular import explain_division_by_zero
from ..api.states import Array, States
from ..equality import ComparesArrays
from ..errors import near_miss
from ..printing import Description, align_columns, display_width, notebook_html
from ..robot import Robot
from ..robot.named_arrays import refuse_gradients
from ..robot.symbols import is_expression
from ..symbolic.equations import Expressions, as_sympy
from ..symbolic.latex.format import check_digits, decimal
from .definitions import DEFINITIONS, NEEDED, Blocks
from .identities import is_sympy, with_identities
from .quantities import Quantity, Rounded, quantities, rounded_robot

Texts = Mapping[int, str]  # of nodes, by index
NO_EXPRESSIONS: Texts = {}
NOISE = 1e-13  # relative to the largest coefficient of a closed form: terms below are rounding errors
MAX_WIDTH = 120  # characters of a row; a matrix with longer ones is shown element by element
MOST_FOLDED = 60  # values of a quantity that unfold in HTML
LONG = 9  # links beyond which indices are separated by commas


class Part(NamedTuple):
    """One value of a quantity, with its label, or the pattern of a stacked matrix: texts in rows."""

    label: str
    latex: str  # left side of the equation
    value: Any
    pattern: tuple[list[list[str]], list[list[str]]] | None = None  # as text and as LaTeX


def parts_of(quantity: Quantity, robot: Robot) -> Iterator[Part]:
    """The values of a quantity with their labels."""
    blocks = quantity.definition.blocks
    for key, value in quantity.values.items():
        if blocks is not None:
            yield from block_parts(quantity, blocks, value)
            continue
        label = ", ".join(robot.links[i].name for i in key)
        index = ",".join(str(i + 1) for i in key)
        yield Part(label, f"{quantity.latex}_{{{index}}}" if index else quantity.latex, value)


def block_parts(quantity: Quantity, blocks: Blocks, matrix: list[list[Any]]) -> Iterator[Part]:
    """The pattern of a stacked matrix, and each block that is neither zero nor an identity."""
    rows, columns = len(matrix) // blocks.rows, len(matrix[0]) // blocks.columns
    cells = {
        (i, j): [
            row[blocks.columns * j : blocks.columns * (j + 1)]
            for row in matrix[blocks.rows * i : blocks.rows * (i + 1)]
        ]
        for i in range(rows)
        for j in range(columns)
    }
    kept = {key: block for key, block in cells.items() if not is_constant(block, 0.0)}
    diagonal = all(i == j for i, j in kept)
    text, latex, named = [], [], []
    for i in range(rows):
        text.append(["0"] * columns)
        latex.append([r"\mathbf{O}"] * columns)
        for j in range(columns):
            if (i, j) not in kept:
                continue
            if i == j and is_constant(cells[i, j], 1.0):
                text[i][j], latex[i][j] = "1", r"\mathbf{1}"
                continue
            index = str(i + 1) if diagonal else f"{i + 1}{',' if max(rows, columns) > LONG else ''}{j + 1}"
            text[i][j], latex[i][j] = f"{blocks.symbol}_{index}", f"{blocks.latex}_{{{index}}}"
            named.append(Part(text[i][j], latex[i][j], in_shape(cells[i, j])))
    yield Part("", quantity.latex, None, (text, latex))
    yield from named


def is_constant(block: list[list[Any]], diagonal: float) -> bool:
    """Whether the block is `diagonal` times the identity, as constants."""
    return all(
        isinstance(x, float) and x == (diagonal if i == j or not diagonal else 0.0)
        for i, row in enumerate(block)
        for j, x in enumerate(row)
    )


def in_shape(block: list[list[Any]]) -> Any:
    """A number, a vector or a matrix."""
    if len(block[0]) == 1:
        column = [row[0] for row in block]
        return column if len(column) > 1 else column[0]
    return block[0] if len(block) == 1 else block


def nodes_of(quantity: Quantity) -> list[Any]:
    """The expressions among the numbers of a quantity, each once."""
    nodes: dict[int, Any] = {}

    def visit(x: Any) -> None:
        if isinstance(x, list):
            for part in x:
                visit(part)
        elif is_expression(x):
            nodes[x.index] = x

    for value in quantity.values.values():
        visit(value)
    return list(nodes.values())


def expression_texts(quantity: Quantity, digits: int) -> tuple[list[tuple[str, str]], Texts]:
    """The common subexpressions, by name, and the text of each expression."""
    nodes = nodes_of(quantity)
    if not nodes:
        return [], NO_EXPRESSIONS
    shared, texts = Expressions(nodes, digits, NOISE).texts()
    return shared, {node.index: text for node, text in zip(nodes, texts, strict=True)}


def as_text(quantity: Quantity, robot: Robot, digits: int) -> str:
    head = f"{quantity.symbol}   {quantity.meaning}   [{quantity.source}, {quantity.equation}]"
    return "\n".join([head, *value_lines(quantity, robot, digits)])


def value_lines(quantity: Quantity, robot: Robot, digits: int, most: int | None = None) -> list[str]:
    """The values as lines of text, the first `most` of them, and the shared subexpressions."""
    shared, write = expression_texts(quantity, digits)
    parts, lines = list(parts_of(quantity, robot)), []
    for part in parts[:most]:
        rows = format_rows(part.value, digits, write) if part.pattern is None else align_columns(part.pattern[0])
        lead = f"  {part.label}: " if part.label else "  "
        lines += [lead + rows[0], *(" " * display_width(lead) + row for row in rows[1:])]
    if most is not None and len(parts) > most:
        lines.append(f"  and {len(parts) - most} more")
    return lines + [f"  with {name} = {text}" for name, text in shared]


def as_latex(quantity: Quantity, robot: Robot, digits: int) -> str:
    nodes = nodes_of(quantity)
    shared, cells = Expressions(nodes, digits, NOISE).latex() if nodes else ([], [])
    write = {node.index: cell for node, cell in zip(nodes, cells, strict=True)}
    lines = list(shared)
    source = rf" \quad\text{{{quantity.equation} of {quantity.source}}}"
    for part in parts_of(quantity, robot):
        right = latex_array(part.pattern[1]) if part.pattern else latex_value(part.value, digits, write)
        lines.append(rf"\[ {part.latex} = {right}{source} \]")
        source = "" if part.pattern else source  # once for a stacked matrix and its blocks
    return "\n".join(lines)


def as_html(quantity: Quantity, robot: Robot, digits: int) -> str:
    """A summary that unfolds to the values, as many as a page can bear."""
    head = f"<b>{escape(quantity.symbol)}</b> <code>{escape(quantity.name)}</code> {escape(quantity.meaning)}"
    values = escape("\n".join(value_lines(quantity, robot, digits, MOST_FOLDED)))
    summary = f"<summary>{head} <small>{escape(quantity.equation)}</small></summary>"
    return f'<details>{summary}<pre style="overflow-x:auto">{values}</pre></details>'


def format_scalar(x: Any, digits: int, texts: Texts = NO_EXPRESSIONS) -> str:
    if is_expression(x):
        return texts[x.index]
    return f"{float(x) + 0.0:.{digits}g}" if isinstance(x, (float, int, np.floating)) else str(x)


def format_rows(value: Any, digits: int, texts: Texts = NO_EXPRESSIONS) -> list[str]:
    """A scalar, vector or matrix as aligned rows of text; where rows are too wide, its elements that are not zero."""
    if not isinstance(value, list):
        return [format_scalar(value, digits, texts)]
    rows = value if isinstance(value[0], list) else [value]
    cells = [[format_scalar(x, digits, texts) for x in row] for row in rows]
    widths = [max(len(row[k]) for row in cells) for k in range(len(cells[0]))]
    if texts and sum(widths) > MAX_WIDTH:
        matrix = isinstance(value[0], list)
        elements = [
            (f"{i + 1},{j + 1}" if matrix else f"{j + 1}", x) for i, row in enumerate(cells) for j, x in enumerate(row)
        ]
        return [f"[{index}] = {x}" for index, x in elements if x != "0"]
    return align_columns(cells, right=range(len(widths)))


def latex_value(value: Any, digits: int, texts: Texts) -> str:
    if not isinstance(value, list):
        return latex_scalar(value, digits, texts)
    rows = value if isinstance(value[0], list) else [[x] for x in value]
    return latex_array([[latex_scalar(x, digits, texts) for x in row] for row in rows])


def latex_array(rows: list[list[str]]) -> str:
    body = r" \\ ".join(" & ".join(row) for row in rows)
    return rf"\left[\begin{{array}}{{{'c' * len(rows[0])}}} {body} \end{{array}}\right]"


def latex_scalar(x: Any, digits: int, texts: Texts) -> str:
    if is_expression(x):
        return texts[x.index]
    if is_sympy(x):
        import sympy

        return str(sympy.latex(x))
    if not isinstance(x, (float, int, np.floating)):
        return rf"\mathtt{{{x}}}"
    return decimal(float(x) + 0.0, digits)


class Explanation(ComparesArrays, Mapping[str, Any]):
    """The intermediates by name.

    `e["U"]` is an array; `e["psi"]["link3"]` and `e["B"]["link2", "link1"]` belong to links. `print(e)` shows all,
    the prompt lists the names, a notebook shows all of them folded; `text(...)`, `latex(...)` and `html(...)` show
    selected ones.
    """

    def __init__(self, robot: Robot, quantities: Iterable[Quantity]) -> None:
        self.robot = robot
        self.quantities = {quantity.name: quantity for quantity in quantities}

    def __getitem__(self, name: str) -> Any:
        if name not in self.quantities:
            raise KeyError(Description(self._absence(name)))
        values = self.quantities[name].values
        if () in values:
            return as_array(values[()])
        names = [link.name for link in self.robot.links]
        return {
            (names[key[0]] if len(key) == 1 else tuple(names[i] for i in key)): as_array(v) for key, v in values.items()
        }

    def __iter__(self) -> Iterator[str]:
        return iter(self.quantities)

    def __len__(self) -> int:
        return len(self.quantities)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        rows = [["name", "symbol", "paper, equation", "what it is"], *self.contents()]
        head = f"{len(self)} quantities of {self.robot.name}; their values: e[name], e.text(name, ...), print(e)"
        return "\n".join([head, "", *align_columns(rows)])

    def contents(self) -> list[list[str]]:
        """Name, symbol, source and meaning of each quantity."""
        return [
            [x.name, x.symbol, f"{x.source} {x.equation}", x.meaning.split(";")[0]] for x in self.quantities.values()
        ]

    def _repr_html_(self) -> str:
        return notebook_html(self)

    def _absence(self, name: str) -> str:
        """Why there is no such quantity: what it needs, or that there is none of this name."""
        if name not in DEFINITIONS:
            known = ", ".join(self.quantities)
            return f"{name!r} is no quantity{near_miss(name, DEFINITIONS)} (expected one of {known})"
        definition, robot = DEFINITIONS[name], self.robot
        if not definition.rotors and any(link.joint.has_rotor for link in robot.links):
            return f"{name!r} of robot {robot.name!r} needs links without rotor inertia: robot.without_rotors()"
        if definition.needs:
            return f"{name!r} needs {NEEDED[definition.needs]} in the call of lw.explain"
        return f"{name!r} of robot {robot.name!r} has no value"

    def _select(self, names: tuple[str, ...]) -> list[Quantity]:
        for name in names:
            if name not in self.quantities:
                raise ValueError(self._absence(name))
        return [self.quantities[name] for name in names or self.quantities]

    def text(self, *names: str, digits: int = 5) -> str:
        """As readable text; without names, everything."""
        check_digits(digits)
        return "\n\n".join(as_text(quantity, self.robot, digits) for quantity in self._select(names))

    def latex(self, *names: str, digits: int = 5) -> str:
        """As LaTeX, display equations with their sources; needs amsmath.

        With symbols, common subexpressions come first, each with a name. A stacked matrix is an equation of its blocks,
        which follow.
        """
        check_digits(digits)
        return "\n".join(as_latex(quantity, self.robot, digits) for quantity in self._select(names))

    def html(self, *names: str, digits: int = 5) -> str:
        """As HTML that folds: one heading for each quantity, which opens to its values."""
        check_digits(digits)
        return "".join(as_html(quantity, self.robot, digits) for quantity in self._select(names))


def explain(
    robot: Robot, q: Array, qd: Array | None = None, qdd: Array | None = None, tau: Array | None = None
) -> Explanation:
    """Every intermediate of the four papers for one state, by name and by link, with its equation and source.

    With q: Saha's B, p, M, M̃, M̂, ψ̂, m̂, ψ, N_l, N_d, I, E_k, L_k, U, D, M̂_ik, U⁻¹, I⁻¹, Angeles' K and T,
    Kozłowski's P, D, G, r and his operators. With qd the rates: Ω, Ṁ, Ḃ, H̃, M̃', C, Ṫ, ω, both columns of
    Kozłowski's Table 1, V, λ̇, a, b, ν, ξ, C(θ,ν), C(θ,ξ) and their elements c_ki. With qdd inverse dynamics: ν, ξ, γ
    of RIDIM (`"ridim_nu"`, ...), w^A, w^G, w^D, w^C, λ, τ and its terms (`lw.budget`). With tau forward dynamics: φ, τ̂,
    η, τ̃, μ of RFDSIM, filter and smoother. `linkwise explain ROBOT` lists the names.

    A joint of several degrees of freedom is several links, those without a body named after it ("base.vx"); a ball
    joint is three, about the body's x, y and z, whose frames turn with the body. Rates are those along the motion, of
    such joints too. c_nu has the elements (48); for c_xi the paper refers to them too, but means them times D^½ on both
    sides.

    A number below 32 standard deviations of its rounding error is shown as 0, and so is what is zero for every state.
    The error is estimated along with the number, roundings taken as independent and as large as they can be, those of
    the state and the robot too. As a rule such a number has no correct digit. A few have some, for the state as it is
    stored: differences of much larger terms, or multiples of such. In symbols, what is zero at three random points, to
    about 14 digits each, is 0, and what is equal there is written with the shortest of its expressions, M̂ of a tip as
    M (identity testing); numbers below 1e-13 of the largest of a closed form are left out.

    Parameters
    ----------
    robot : Robot
        It may be made of symbols.
    q : array_like, (nq,)
    qd, qdd : array_like, (n,), optional
        Numbers, or symbols of `lw.symbols` or SymPy.
    tau : array_like, (n,), optional
        Joint torques and forces, N m and N, for the quantities of forward dynamics; needs qd.

    Returns
    -------
    Explanation

    Raises
    ------
    ValueError
        A batch of states; qdd or tau without qd; coupled joints.
    KeyError
        By `e["phi"]`, where tau was not given; the message says so.

    Examples
    --------
    >>> import linkwise as lw
    >>> e = lw.explain(lw.load("planar3"), q=[0, 0, 0], qd=[0, 0, 0], tau=[1, 0, 0])
    >>> print(e.text("m_hat"))
    m̂_i   articulated inertia along joint i, p_i · ψ̂_i, the rotor's with it   [saha1999jam, (47)]
      link1: 0.02508
      link2: 0.013021
      link3: 0.00484
    >>> print("\\n".join(e.text("N_l").splitlines()[1:6]))
      1     0     0
      B_21  1     0
      B_31  B_32  1
      B_21: 1  0      0  0  0  0
            0  1      0  0  0  0
    >>> e["qdd"].round(3)
    array([ -2.606, -45.062,  67.366])
    """
    given = {"q": q, "qd": qd, "qdd": qdd, "tau": tau}
    arrays = {name: value for name, value in given.items() if value is not None}
    for name in ("qdd", "tau"):
        if name in arrays and qd is None:
            raise ValueError(f"{name} is given without qd (expected both, or neither)")
    for name, value in arrays.items():
        refuse_gradients(name, value)
    states = States(robot, arrays)
    if states.batch:
        expected = f"q ({robot.nq},)" if robot.nq != robot.n else f"arrays of shape ({robot.n},)"
        raise ValueError(f"explain takes one state (expected {expected}, not a batch {states.batch})")
    refuse_coupled(robot, "the intermediates of the formulations")
    if qd is not None:
        check_quasi_robot(robot)
    with np.errstate(all="ignore"), explain_division_by_zero(states):
        computed, values = scalars_of(robot, states)
        return Explanation(robot, with_identities(computed, values, quantities(computed, **values)))


def scalars_of(robot: Robot, states: States) -> tuple[Robot, dict[str, list[Any]]]:
    """Numbers with their rounding errors; SymPy's expressions where one is SymPy's; others as they are."""
    values = {name: states.scalars(name) for name in states.arrays}
    if states.numeric and not robot.non_floats:
        rounded = {name: [Rounded.of(x) for x in array] for name, array in values.items()}
        return rounded_robot(robot), rounded
    if any(is_sympy(x) for array in values.values() for x in array):
        robot = robot.mapped(lambda x: as_sympy(x) if is_expression(x) else x)
        return robot, {name: [as_sympy(x) if is_expression(x) else x for x in array] for name, array in values.items()}
    return robot, values


def as_array(value: Any) -> Any:
    array = np.array(value)
    return array[()] if array.dtype == object else array.astype(float)[()]
