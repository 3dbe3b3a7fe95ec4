"""`linkwise equations`: a function of a robot as formulas."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Any

from ...errors import one_of
from ...robot import Robot
from ..declare import flag, opt
from ..functions import Function, function_of, known
from ..options import OUTPUT, Json
from ..results import print_json
from ..screen import echo, room
from ..symbols import with_symbols

EXAMPLES = (
    ("linkwise equations planar3", "the inertia matrix"),
    ("linkwise equations planar3 gravity_torque --symbols", "in m1, a1, ... in place of numbers"),
    ("linkwise equations stanford inertia_matrix --format latex", "for a paper; needs amsmath"),
    ("linkwise equations planar3 inverse_dynamics --format python", "assignments, as few operations as possible"),
)
NOISE = 1e-13  # of the largest coefficient: what rounding leaves of terms that cancel
FORMATS = ("text", "latex", "python", "sympy")
LETTERS = {
    "inverse_dynamics": "tau", "forward_dynamics": "qdd", "inertia_matrix": "I", "inverse_inertia_matrix": "I^-1",
    "coriolis_matrix": "C", "gravity_torque": "g", "bias_torque": "h", "kinetic_energy": "T", "potential_energy": "V",
    "jacobian": "J", "udu": "UD", "regressor": "Y", "slotine_li_regressor": "Y",
    "energy_regressor": "Y",
}  # fmt: skip


def command(
    arm: Robot,
    function: Annotated[str, Function] = "inertia_matrix",
    symbols: Annotated[bool, flag("--symbols", "Symbols for masses, lengths, inertias and g, not numbers.")] = False,
    form: Annotated[
        str, opt("FORMAT", "text (default), latex, python or sympy.", OUTPUT, "--format", known=FORMATS)
    ] = "text",
    digits: Annotated[int, opt("COUNT", "Of numbers; default: 6.", min=1, max=17)] = 6,
    json: Json = False,
) -> int:
    """Formulas of a robot: the inertia matrix, gravity, torques, Jacobian and others.

    Products are multiplied out and sines and cosines of sums collected, where that is short; otherwise intermediates
    have names. Zeros are left out, and terms below 1e-13 of the largest, which are rounding.
    """
    one_of(form, FORMATS, "--format")
    function = known(function)
    traced = function_of(function)
    robot = with_symbols(arm) if symbols else arm
    if json:
        written = dict(equations(robot, traced, function, digits))
        print_json({"robot": arm.name, "function": function, "equations": written})
        return 0
    if form == "text":
        echo(f"{function} of {arm.name}{meaning(arm, function)}\n")
        lines = [folded(f"{left} = {right}") for left, right in equations(robot, traced, function, digits)]
        echo("\n".join(lines) or "zero, whatever the state")
        return 0
    from ...export import latex, python_source, sympy

    if form == "sympy":
        matrix = sympy(traced, robot, simplify=True)  # an error says how to install SymPy
        from sympy import sstr

        echo(sstr(matrix))
        return 0
    echo((latex(traced, robot, digits=digits) if form == "latex" else python_source(traced, robot)).rstrip())
    return 0


def meaning(arm: Robot, function: str) -> str:
    """What the letters are, where they are not plainly the joints' numbers."""
    several = any(joint.kind.degrees > 1 for joint in arm.moving)
    return "" if several or function == "potential_energy" else "; q1, q2, ... are the joints' coordinates"


def equations(arm: Robot, traced: Any, name: str, digits: int) -> Iterator[tuple[str, str]]:
    """What stands left and right of =, intermediates first; without zeros, rounding, and doubles below a diagonal."""
    import inspect

    import numpy as np

    from ...graph import Node
    from ...symbolic import symbols
    from ...symbolic.expressions import Expressions

    required = [p for p in inspect.signature(traced).parameters.values() if p.default is p.empty][1:]
    arrays = [np.atleast_1d(np.array(symbols(" ".join(letters(arm, p.name))))) for p in required]
    found = traced(arm, *arrays)
    results = found if isinstance(found, tuple) else (found,)
    letter = LETTERS.get(name, "out")
    named = list(entries(results, letter))
    nodes = [value for _, value in named if isinstance(value, Node)]
    written_out = Expressions(nodes, digits, NOISE) if nodes else None
    shared, texts = written_out.texts() if written_out is not None else ([], [])
    yield from shared
    written = iter(texts)
    for left, value in named:
        text = next(written) if isinstance(value, Node) else f"{float(value) + 0.0:.{digits}g}"
        if text != "0":
            yield left, text


def letters(arm: Robot, word: str) -> list[str]:
    """Symbols for one argument: q1, q2, ..., or q_base_x, ... where joints have several degrees of freedom."""
    from ...robot.layout import Layout

    if Layout.of(arm).labelled:
        return [re.sub(r"\W", "_", f"{word}.{label}") for label in arm.labels_of(word)]
    return [f"{word}{'_' * word[-1].isdigit()}{k}" for k in range(1, arm.size_of(word) + 1)]


def entries(results: Any, letter: str) -> Iterator[tuple[str, Any]]:
    import numpy as np

    fields = getattr(results, "_fields", letter if letter == "UD" else [f"{letter}{k}" for k in range(1, 99)])
    for k, result in enumerate(map(np.asarray, results)):
        own = letter if len(results) == 1 else fields[k]
        symmetric = letter in ("I", "I^-1")
        for index in np.ndindex(result.shape):
            if symmetric and index[0] > index[1]:
                continue
            yield f"{own}[{','.join(str(i + 1) for i in index)}]" if index else own, result[index]


def folded(line: str) -> str:
    """A long sum continues on further lines, before a sign."""
    width = (room() or 100) - 1
    if len(line) <= width:
        return line
    indent = " " * (line.index("=") + 2)
    lines = [""]
    for term in re.split(r" (?=[+-] )(?![^(]*\))", line):
        if lines[-1] and len(lines[-1]) + 1 + len(term) > width:
            lines.append(indent + term)
        else:
            lines[-1] = f"{lines[-1]} {term}".strip() if len(lines) == 1 else f"{lines[-1]} {term}"
    return "\n".join(lines)
