"""Functions of a robot as Python text, LaTeX and SymPy.

Where joints have several degrees of freedom, the k-th number of qd is not the rate of the k-th number of q. So
components are named by their meaning, with the number of their joint:

    free, ball    x_i, y_i, z_i     position             v_{x,i}, ...         linear velocity
                  q_{w,i}, ...      quaternion           \\omega_{x,i}, ...    angular velocity
    others        x_i, \\theta_{x,i} and q_i             with a dot           their rates
    torques       \\tau_i, \\tau_{x,i}, ...               f_{x,i}, ...         forces
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from textwrap import wrap
from typing import Any, Literal

from ..codegen.python import python_text
from ..graph import Port
from ..printing import Equations
from ..robot import Robot
from ..robot.layout import Layout
from ..symbolic.latex.program import latex_text
from ..symbolic.sympy_expressions import normal_expressions, sympy_expressions
from ..tracing import trace
from ..tracing.tracing import check_function_and_robot, traceable
from .c_files import parameters_of

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
    elements: bool = False,
    digits: int = 6,
    closed: bool | None = None,
    environment: Literal["align*", "align"] | None = "align*",
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
        Left-hand side of each output, a word or LaTeX.
    elements : bool
        An equation for each element, I_{12}, instead of an array.
    digits : int
        Significant digits of numbers.
    closed : bool, optional
        True: in closed form however long; False: named intermediates in reading order, then the results. By default
        whichever is small.
    environment : {"align*", "align", None}
        "align" numbers each equation; None is a display for each.
    **keywords
        As for `lw.trace`.

    Returns
    -------
    Equations
        Text; notebooks show it as equations.

    Examples
    --------
    >>> import linkwise as lw
    >>> print(lw.latex(lw.gravity_torque, lw.load("gantry"), name="tau"))
    % gravity_torque of the robot gantry
    % needs amsmath
    \\begin{align*}
    \\tau &= \\left[\\begin{array}{c} 0 \\\\ 0 \\\\ -29.43 \\end{array}\\right]
    \\end{align*}
    <BLANKLINE>
    """
    function, keywords = traceable(function, robot, keywords)
    check_function_and_robot(function, robot)
    title = (
        f"{getattr(function, '__name__', 'function')} of the robot {''.join(c for c in robot.name if c.isprintable())}"
    )
    if not (closed is None or isinstance(closed, bool)):
        raise TypeError(f"closed is {closed!r} (expected True, False, or None for whichever is small)")
    if environment not in ENVIRONMENTS:
        known = ", ".join(map(repr, ENVIRONMENTS))
        raise ValueError(f"environment is {environment!r} (expected one of: {known})")
    program = trace(function, robot, **keywords)
    names = [name] if isinstance(name, str) else name
    if names is not None and len(names) != len(program.outputs):
        count = len(program.outputs)
        raise ValueError(f"name is {name!r} (expected {count} name{'s' * (count != 1)}, one for each output)")
    components = names_of(robot, program.inputs, latex=True)
    text = latex_text(
        program,
        title,
        digits,
        closed,
        names=names,
        elements=elements,
        environment=environment,
        components=components,
        remarks=[*meaning_lines(robot, components), *column_lines(function, robot, keywords)],
    )
    return Equations(text)


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


POSITIONS, RATES, ACCELERATIONS, TORQUES = range(4)
ARRAYS = {"q": POSITIONS, "q0": POSITIONS, "q1": POSITIONS, "qd": RATES, "v": RATES, "qdd": ACCELERATIONS}
ARRAYS["tau"] = TORQUES
LETTERS = {"": "q", "r": "theta", "q": "q", "v": "v", "w": "omega"}  # by what a label begins with, before its axis
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
    letter, dots = LETTERS[kind], role - (kind in ("v", "w"))
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
