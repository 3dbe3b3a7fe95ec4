"""Functions of a robot as Python text, LaTeX and SymPy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from textwrap import wrap
from typing import Any, Literal

from ..api.matrices import inverse_inertia_matrix, udu
from ..codegen.python import python_text
from ..graph import Port, Program
from ..printing import Equations
from ..robot import Robot
from ..robot.symbols import mass_symbols
from ..symbolic.equations import TwoNames, add_meaning, plain_text, write
from ..symbolic.latex.format import check_digits
from ..symbolic.latex.names import LatexNames, check_output_name, element_texts, function_text
from ..symbolic.latex.program import latex_text
from ..symbolic.plain_names import PlainNames
from ..symbolic.sympy_expressions import normal_expressions, sympy_expressions
from ..tracing import trace
from ..tracing.tracing import check_function_and_robot, traceable
from .c_files import parameters_of
from .motion_equations import check_closed, elimination_sheet, meaning_lines, names_of

WIDTH = 110  # of comments
ENVIRONMENTS = ("align*", "align", None)


def python_source(function: Callable[..., Any], robot: Robot, **keywords: Any) -> str:
    """Python source of the function, customised to the robot: only assignments on numbers or arrays.

    Parameters
    ----------
    function : callable
    robot : Robot
    **keywords
        As for `lw.trace`.

    Returns
    -------
    str

    Examples
    --------
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
    function, keywords = traceable(function, robot, keywords)
    check_function_and_robot(function, robot)
    name = getattr(function, "__name__", "function")
    about = f"{name} of the robot {''.join(c for c in robot.name if c.isprintable() and c not in chr(34) + chr(92))}."
    return python_text(trace(function, robot, **keywords), name, about)


def latex(
    function: Callable[..., Any],
    robot: Robot,
    *,
    name: str | Sequence[str] | None = None,
    elements: bool | None = None,
    digits: int = 6,
    closed: bool | None = None,
    environment: Literal["align*", "align"] | None = "align*",
    element: tuple[int, ...] | None = None,
    **keywords: Any,
) -> Equations:
    """The function as LaTeX equations, with s_1, c_23 for sines and cosines of sums of angles; needs amsmath.

    Where a joint has several degrees of freedom, q_{2} belongs to joint 2, and components have their own names, such as
    q_{w,1} and \\omega_{x,1}; comments explain them.

    Parameters
    ----------
    function : callable
    robot : Robot
    name : str or sequence of str, optional
        Left-hand side of each output, a word or LaTeX; by default the function's, or U, D, ... of several.
    elements : bool, optional
        True: an equation for each element, I_{12}; False: arrays. By default vectors by element, matrices as arrays.
    digits : int
        Significant digits of numbers, 1 to 17.
    closed : bool, optional
        True: in closed form however long; False: named intermediates in reading order, then the results. By default
        whichever is small.
    environment : {"align*", "align", None}
        "align" numbers each equation; None is a display for each.
    element : tuple of int, optional
        Only this element of the result, counted from 1: (2, 1), with the intermediates that it needs.
    **keywords
        As for `lw.trace`.

    Returns
    -------
    Equations
        LaTeX text, which notebooks show as equations; its `text` is for the prompt. By `method="elimination"`,
        `lw.inverse_inertia_matrix` and `lw.formulations.udu` are written in the steps and symbols of [Saha IJRR].

    Examples
    --------
    >>> import linkwise as lw
    >>> print(lw.latex(lw.gravity_torque, lw.load("gantry"), name="tau"))
    % gravity_torque of the robot gantry
    % needs amsmath
    \\begin{align*}
    \\tau_{1} &= 0 \\\\
    \\tau_{2} &= 0 \\\\
    \\tau_{3} &= -29.43
    \\end{align*}
    <BLANKLINE>
    """
    function, keywords = traceable(function, robot, keywords)
    check_function_and_robot(function, robot)
    title = (
        f"{getattr(function, '__name__', 'function')} of the robot {''.join(c for c in robot.name if c.isprintable())}"
    )
    check_closed(closed)
    check_digits(digits)
    if environment not in ENVIRONMENTS:
        known = ", ".join(map(repr, ENVIRONMENTS))
        raise ValueError(f"environment is {environment!r} (expected one of: {known})")
    program = with_result_names(trace(function, robot, **keywords), function)
    place = None if element is None else place_of(element, program)
    steps = keywords.get("method") == "elimination" and function in (inverse_inertia_matrix, udu)
    if steps and name is None and elements is not False and not closed:  # otherwise as any function
        return elimination_sheet(robot, title, function is udu, place, digits, environment)
    names = [name] if isinstance(name, str) else name
    if names is not None and len(names) != len(program.outputs):
        count = len(program.outputs)
        raise ValueError(f"name is {name!r} (expected {count} name{'s' * (count != 1)}, one for each output)")
    remarks = column_lines(function, robot, keywords)
    if place is not None:
        program, names, plain = single_element(program, place, names)
        return equations_of(program, robot, title, names, plain, remarks, elements, digits, closed, environment)
    return equations_of(program, robot, title, names, names, remarks, elements, digits, closed, environment)


def equations_of(
    program: Program,
    robot: Robot,
    title: str,
    names: Sequence[str] | None,
    plain_names: Sequence[str] | None,
    remarks: Sequence[str],
    elements: bool | None,
    digits: int,
    closed: bool | None,
    environment: str | None,
) -> Equations:
    """A program of a robot as equations."""
    components, plain = (names_of(robot, program.inputs, latex=latex) for latex in (True, False))
    both = TwoNames(LatexNames(program, names, components), PlainNames(program, plain_names, plain, abbreviate=True))
    written = write(program, digits, both, closed=closed, elements=elements, first=mass_symbols(robot))
    remarks = [*meaning_lines(robot, components), *remarks]
    return Equations(
        latex_text(written.latex, both.latex, title, remarks, environment),
        add_meaning(plain_text(written.plain), both.plain),
    )


def with_result_names(program: Program, function: Callable[..., Any]) -> Program:
    """The program, its several outputs called as the function declares them: U and D."""
    names: Sequence[str] = getattr(function, "result_names", ())
    if not 1 < len(program.outputs) == len(names):
        return program
    ports = [Port(name, port.shape) for name, port in zip(names, program.outputs, strict=True)]
    return replace(program, outputs=tuple(ports))


def place_of(element: tuple[int, ...], program: Program) -> tuple[int, ...]:
    """The index of an element that is counted from 1, checked."""
    shapes = [port.shape for port in program.outputs]
    asked = tuple(element) if isinstance(element, Sequence) else (element,)
    if len(shapes) != 1 or not shapes[0]:
        count = "one number" if len(shapes) == 1 else f"{len(shapes)} results"
        raise ValueError(f"element is {element!r}, but the function returns {count} (expected no element)")
    if len(asked) != len(shapes[0]) or not all(
        isinstance(k, int) and 0 < k <= size for k, size in zip(asked, shapes[0], strict=False)
    ):
        last = ", ".join(map(str, shapes[0]))
        raise ValueError(f"element is {element!r} (expected {len(shapes[0])} numbers, from 1 to {last})")
    return tuple(k - 1 for k in asked)


def single_element(
    program: Program, place: tuple[int, ...], names: Sequence[str] | None
) -> tuple[Program, list[str], list[str]]:
    """The program of one element of its result, and the name of that in LaTeX and in plain text."""
    (port,), (nodes,) = program.outputs, program.results
    text = element_texts(check_output_name(names[0]) if names else function_text(port.name), port)
    k = 0
    for at, size in zip(place, port.shape, strict=True):
        k = k * size + at
    of_one = Program.of(program.nodes[0].graph, program.inputs, [Port(port.name, ())], [[nodes[k]]])
    return of_one, [text[k]], [f"{(names or [port.name])[0]}[{','.join(str(at + 1) for at in place)}]"]


def column_lines(function: Callable[..., Any], robot: Robot, keywords: Mapping[str, Any]) -> list[str]:
    """Comment lines: the parameter of each column of a regressor."""
    parameters = parameters_of(function, robot, keywords)
    if parameters is None:
        return []
    numbered = [f"{k} {''.join(c for c in name if c.isprintable())}" for k, name in enumerate(parameters.names, 1)]
    unbroken = ", ".join(text.replace(" ", "\N{NO-BREAK SPACE}") for text in numbered)
    return [line.replace("\N{NO-BREAK SPACE}", " ") for line in wrap(f"columns: {unbroken}", WIDTH)]


def sympy(
    function: Callable[..., Any], robot: Robot, *, named: bool = False, simplify: bool = False, **keywords: Any
) -> Any:
    """The function as SymPy: a matrix for each output, in q1, q2, ...; needs SymPy.

    Where a joint has several degrees of freedom, the number is that of the joint, and its components have their own
    names: x1, y1, z1, q_w1, ..., q_z1 for a free joint; v_x1, ..., omega_z1 are its velocities; letters with d, as
    in qd2 and vd_x1, are rates.

    Parameters
    ----------
    function : callable
    robot : Robot
    named : bool
        Return a list of intermediates (symbol, expression), each used more than once, and the outputs in terms of them.
    simplify : bool
        Bring every entry to a normal form: products multiplied out, sums of angles collected. With `named` only
        quotients are named.
    **keywords
        As for `lw.trace`.

    Returns
    -------
    Matrix, tuple of Matrix, or (intermediates, outputs)

    Examples
    --------
    >>> import linkwise as lw
    >>> lw.sympy(lw.inertia_matrix, lw.load("gantry"))
    Matrix([
    [12, 0, 0],
    [ 0, 7, 0],
    [ 0, 0, 3]])
    """
    expressions = normal_expressions if simplify else sympy_expressions
    program = trace(function, robot, **keywords)
    intermediates, outputs = expressions(program, named, names_of(robot, program.inputs, latex=False))
    result = outputs[0] if len(outputs) == 1 else tuple(outputs)
    return (intermediates, result) if named else result
