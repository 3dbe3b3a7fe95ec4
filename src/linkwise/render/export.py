"""The public calls: a function and a robot in, text or formulas out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..robot import Robot
from ..trace import trace
from .formulas import normal_expressions, sympy_expressions
from .latex import latex_text
from .python import python_text


def python_source(function: Callable[..., Any], arm: Robot, **keywords: Any) -> str:
    """Python source of the function, customised to the robot: plain assignments on numbers or arrays, and nothing else.

    >>> import linkwise as lw
    >>> print(lw.python_source(lw.gravity_torque, lw.load("gantry")))
    def gravity_torque(q):
        \"\"\"gravity_torque of the robot gantry.
    <BLANKLINE>
        q: 3 numbers
        0 multiplications, 0 additions, 0 divisions, 0 functions
        \"\"\"
        return [0.0, 0.0, -29.43]
    <BLANKLINE>
    """
    name = getattr(function, "__name__", "function")
    about = f"{name} of the robot {''.join(c for c in arm.name if c.isprintable() and c not in chr(34) + chr(92))}."
    return python_text(trace(function, arm, **keywords), name, about)


def latex(
    function: Callable[..., Any], arm: Robot, *, digits: int = 6, closed: bool | None = None, **keywords: Any
) -> str:
    """The function as LaTeX display equations, with s_1, c_23 for sines and cosines of sums of angles; needs amsmath.

    In closed form where that is small; otherwise named intermediates in reading order, then the results. `closed=True`
    wants the closed form however long it is, `closed=False` the intermediates.

    >>> import linkwise as lw
    >>> print(lw.latex(lw.gravity_torque, lw.load("gantry")))
    % gravity_torque of the robot gantry
    % s_i = sin q_i, c_ij = cos(q_i + q_j); needs amsmath
    \\[ \\mathrm{gravity\\_torque} = \\left[\\begin{array}{c} 0 \\\\ 0 \\\\ -29.43 \\end{array}\\right] \\]
    <BLANKLINE>
    """
    name = getattr(function, "__name__", "function")
    title = f"{name} of the robot {''.join(c for c in arm.name if c.isprintable())}"
    if not (closed is None or isinstance(closed, bool)):
        raise TypeError(f"closed is {closed!r} (expected True, False, or None for whichever is small)")
    return latex_text(trace(function, arm, **keywords), title, digits, closed)


def sympy(
    function: Callable[..., Any], arm: Robot, *, named: bool = False, simplify: bool = False, **keywords: Any
) -> Any:
    """The function as SymPy: a matrix for each output, in q1, q2, ...; needs SymPy.

    `simplify=True` brings every entry to a normal form: products multiplied out, with cos(q2 + q3) for what is one.

    With `named=True` the result is a list of intermediates (symbol, expression), each used more than once, and the
    outputs in terms of them: short, and in an order in which they can be read. With both, only quotients are named.

    >>> import linkwise as lw
    >>> lw.sympy(lw.inertia_matrix, lw.load("gantry"))
    Matrix([
    [12, 0, 0],
    [ 0, 7, 0],
    [ 0, 0, 3]])
    """
    expressions = normal_expressions if simplify else sympy_expressions
    intermediates, outputs = expressions(trace(function, arm, **keywords), named)
    result = outputs[0] if len(outputs) == 1 else tuple(outputs)
    return (intermediates, result) if named else result
