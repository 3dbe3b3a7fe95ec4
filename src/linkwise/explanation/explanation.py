"""`explain`: the intermediates of one state by name, as numbers, text and LaTeX."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from ..api.functions import refuse_coupled
from ..api.quasi import check_quasi_robot
from ..api.singular import explain_division_by_zero
from ..api.states import Array, States
from ..equality import ComparesArrays
from ..errors import near_miss, one_of
from ..printing import align_columns
from ..robot import Robot
from ..robot.named_arrays import refuse_gradients
from ..robot.symbols import is_expression
from ..symbolic.expressions import Expressions, as_sympy
from ..symbolic.latex.format import decimal
from .quantities import Quantity, quantities


class Explanation(ComparesArrays, Mapping[str, Any]):
    """The intermediates by name.

    `e["U"]` is an array; `e["psi"]["link3"]` and `e["B"]["link2", "link1"]` belong to links. Prints as text;
    `text(...)` and `latex(...)` show selected ones.
    """

    def __init__(self, robot: Robot, quantities: Iterable[Quantity], partial: bool = False) -> None:
        self.robot = robot
        self.quantities = {quantity.name: quantity for quantity in quantities}
        self.partial = partial  # whether qd or qdd was not given

    def __getitem__(self, name: str) -> Any:
        if name not in self.quantities:
            given = "; others need qd, or qd and qdd, in the call of lw.explain" if self.partial else ""
            near = near_miss(name, self.quantities)
            raise KeyError(
                f"{name!r} is not explained here{near} (expected one of {', '.join(self.quantities)}{given})"
            )
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
        return self.text()

    def _select(self, names: tuple[str, ...]) -> list[Quantity]:
        for name in names:
            one_of(name, self.quantities, "the quantity")
        return [self.quantities[name] for name in names or self.quantities]

    def text(self, *names: str, digits: int = 5) -> str:
        """As readable text; without names, everything."""
        parts = []
        for quantity in self._select(names):
            lines = [f"{quantity.symbol}   {quantity.meaning}   [{quantity.source}, {quantity.equation}]"]
            shared, write = expression_texts(quantity, digits)
            for key, value in quantity.values.items():
                label = ", ".join(self.robot.links[i].name for i in key)
                rows = format_rows(value, digits, write)
                lead = f"  {label}: " if label else "  "
                lines += [lead + rows[0], *(" " * len(lead) + row for row in rows[1:])]
            lines += [f"  with {name} = {text}" for name, text in shared]
            parts.append("\n".join(lines))
        return "\n\n".join(parts)

    def latex(self, *names: str, digits: int = 5) -> str:
        """As LaTeX, one display equation for each, with its source; needs amsmath.

        With symbols, common subexpressions come first, each with a name.
        """
        parts = []
        for quantity in self._select(names):
            nodes = nodes_of(quantity)
            shared, cells = Expressions(nodes, digits).latex() if nodes else ([], [])
            parts += shared
            write = {node.index: cell for node, cell in zip(nodes, cells, strict=True)}
            for key, value in quantity.values.items():
                index = ",".join(str(i + 1) for i in key)
                left = f"{quantity.latex}_{{{index}}}" if index else quantity.latex
                source = rf"\quad\text{{{quantity.equation} of {quantity.source}}}"
                parts.append(rf"\[ {left} = {latex_value(value, digits, write)} {source} \]")
        return "\n".join(parts)


Texts = Mapping[int, str]  # of nodes, by index
NO_EXPRESSIONS: Texts = {}
MAX_WIDTH = 120  # characters of a row; a matrix with longer ones is shown element by element


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
    shared, texts = Expressions(nodes, digits).texts()
    return shared, {node.index: text for node, text in zip(nodes, texts, strict=True)}


def explain(robot: Robot, q: Array, qd: Array | None = None, qdd: Array | None = None) -> Explanation:
    """Every intermediate of the formulations for one state, by name and by link, with its equation and source.

    With q: Saha's B, p, M, M̃, M̂, ψ̂, m̂, ψ, N_l, N_d, I, E_k, U, D, U⁻¹, I⁻¹, Angeles' K and T, Kozłowski's P, D,
    G, r. With qd also C, V, λ̇, a, b, ν, ξ, C(θ,ν), C(θ,ξ) and their elements c_ki; with qdd also τ and its terms
    (`lw.budget`). A joint of several degrees of freedom is several links, those without a body named after it
    ("base.vx"); a ball joint is three, about the body's x, y and z.

    Parameters
    ----------
    robot : Robot
        It may be made of symbols.
    q : array_like, (nq,)
    qd, qdd : array_like, (n,), optional
        Numbers, or symbols of `lw.symbols` or SymPy.

    Returns
    -------
    Explanation

    Examples
    --------
    >>> import linkwise as lw
    >>> e = lw.explain(lw.load("planar3"), q=[0, 0, 0])
    >>> print(e.text("m_hat"))
    m̂_i   articulated inertia along joint i, p_i · ψ̂_i, the rotor's with it   [saha1999jam, (47)]
      link1: 0.02508
      link2: 0.013021
      link3: 0.00484
    """
    arrays = {name: value for name, value in (("q", q), ("qd", qd), ("qdd", qdd)) if value is not None}
    if qdd is not None and qd is None:
        raise ValueError("qdd is given without qd (expected both, or neither)")
    for name, value in arrays.items():
        refuse_gradients(name, value)
    states = States(robot, arrays)
    if states.batch:
        expected = f"q ({robot.nq},)" if robot.nq != robot.n else f"arrays of shape ({robot.n},)"
        raise ValueError(f"explain takes one state (expected {expected}, not a batch {states.batch})")
    refuse_coupled(robot, "the intermediates of the formulations")
    if qd is not None:
        check_quasi_robot(robot)
    scalars = {name: states.scalars(name) for name in arrays}
    if any(is_sympy(x) for values in scalars.values() for x in values):
        robot = robot.mapped(lambda x: as_sympy(x) if is_expression(x) else x)
        scalars = {name: [as_sympy(x) if is_expression(x) else x for x in values] for name, values in scalars.items()}
    with np.errstate(all="ignore"), explain_division_by_zero(states):
        return Explanation(robot, quantities(robot, scalars["q"], scalars.get("qd"), scalars.get("qdd")), qdd is None)


def as_array(value: Any) -> Any:
    array = np.array(value)
    return array[()] if array.dtype == object else array.astype(float)[()]


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
    body = r" \\ ".join(" & ".join(latex_scalar(x, digits, texts) for x in row) for row in rows)
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


def is_sympy(x: Any) -> bool:
    return type(x).__module__.startswith("sympy")
