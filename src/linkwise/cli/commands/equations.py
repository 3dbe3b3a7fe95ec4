"""`linkwise equations`: a function of a robot as formulas; `linkwise explain`: intermediates of the formulations."""

from __future__ import annotations

import inspect
import re
import shlex
from collections.abc import Iterable, Iterator
from typing import Annotated, Any

import numpy as np

import linkwise as lw

from ...errors import is_real, one_of
from ...explanation.definitions import DEFINITIONS
from ...printing import Equations
from ...robot.layout import Layout
from ...robot.symbols import mass_symbols
from ...symbolic.equations import Expressions, plain_text
from ...symbolic.styles import Style, Terms, whole
from ..declare import OUTPUT, STATE, arg, command, flag, opt
from ..inputs import parse_states
from ..options import Degrees, Json, Q, RobotSource, Tau
from ..results import print_json
from ..screen import echo, print_sentence, print_table, terminal_width
from .export import BY_NAME, FUNCTIONS, function_name, function_of, keywords_of

NOISE = 1e-13  # relative to the largest coefficient: terms below are rounding errors
FORMATS = ("text", "latex", "python", "sympy")
MOTION = "equations_of_motion"
LETTERS = {
    "inverse_dynamics": "tau", "forward_dynamics": "qdd", "inertia_matrix": "I", "inverse_inertia_matrix": "I^-1",
    "coriolis_matrix": "C", "gravity_torque": "g", "bias_torque": "h", "kinetic_energy": "T", "potential_energy": "V",
    "jacobian": "J", "udu": "UD", "regressor": "Y", "slotine_li_regressor": "Y",
    "energy_regressor": "Y",
}  # fmt: skip
SYMBOLS = {
    "mass": "m", "a": "a", "b": "b", "rotor_inertia": "J", "viscous_friction": "v", "coulomb_friction": "c",
    "coulomb_offset": "o", "quadratic_friction": "k", "stribeck_friction": "s", "stribeck_rate": "w",
    "load_friction": "l",
}  # fmt: skip
AXES = "xyz"


def complete_equations(incomplete: str) -> list[str]:
    """Completions: names of functions that have equations."""
    return [name for name in (MOTION, *FUNCTIONS) if name.startswith(incomplete.replace("-", "_"))]


@command(
    ("linkwise equations planar3", "the inertia matrix"),
    ("linkwise equations planar3 gravity_torque --symbols", "in m1, a1, ... in place of numbers"),
    (
        "linkwise equations planar3 equations_of_motion --symbols --format latex",
        "I, C and g for a slide; needs amsmath",
    ),
    ("linkwise equations planar3 --method elimination", "the inverse of the inertia matrix, step by step"),
    ("linkwise equations stanford --method elimination --element 4,5", "one element of it"),
    ("linkwise equations planar3 inverse_dynamics --format python", "assignments, as few operations as possible"),
)
def equations(
    robot: lw.Robot,
    function: Annotated[
        str | None,
        arg(
            "function",
            f"{BY_NAME}, or {MOTION}; default: inertia_matrix, with --method elimination inverse_inertia_matrix",
            complete_equations,
        ),
    ] = None,
    symbols: Annotated[bool, flag("--symbols", "Use symbols for masses, lengths, inertias and g.")] = False,
    method: Annotated[
        str | None,
        opt("NAME", "The formulation; elimination writes each step of [Saha IJRR], with its symbols."),
    ] = None,
    element: Annotated[
        str | None, opt("I,J", "Only this element, counted from 1, with the intermediates that it needs.")
    ] = None,
    form: Annotated[
        str,
        opt(
            "FORMAT",
            "Language of the formulas: text (default), latex, python or sympy.",
            OUTPUT,
            "--format",
            known=FORMATS,
        ),
    ] = "text",
    digits: Annotated[int, opt("COUNT", "Significant digits of numbers.", min=1, max=17)] = 6,
    json: Json = False,
) -> int:
    """Formulas of a robot: the inertia matrix, gravity, torques, Jacobian, the equations of motion and others.

    Short expressions are written as in textbooks, with common factors drawn out and sines and cosines of sums; long
    ones have named intermediates. Zeros and rounding errors (terms below 1e-13 of the largest) are left out.
    """
    one_of(form, FORMATS, "--format")
    if function is None:
        function = "inverse_inertia_matrix" if method == "elimination" else "inertia_matrix"
    shown = symbolic_robot(robot) if symbols else robot
    if function.replace("-", "_") == MOTION:
        if method is not None or element is not None:
            raise ValueError(f"{MOTION} has no method and no element (expected neither --method nor --element)")
        return print_equations(robot, MOTION, lw.equations_of_motion(shown, digits=digits), form, json)
    function = function_name(function)
    traced, keywords = function_of(function), keywords_of(function, method)
    if element is not None or method == "elimination":
        place = None if element is None else parse_element(element)
        written = lw.latex(traced, shown, name=element_name(function, method), digits=digits, element=place, **keywords)
        return print_equations(robot, function, written, form, json)
    if json:
        of_function = formulas(shown, traced, function, digits, keywords)
        print_json(
            {
                "robot": robot.name,
                "function": function,
                "equations": {left: whole(terms) for left, terms in of_function},
            }
        )
        return 0
    if form == "text":
        echo(f"{function} of {robot.name}{coordinates_text(robot, function)}\n")
        style = Style((terminal_width() or 100) - 1)
        of_function = formulas(shown, traced, function, digits, keywords)
        echo(plain_text((left, style.lines(left, terms)) for left, terms in of_function) or "zero, whatever the state")
        return 0
    if form == "sympy":
        matrix = lw.sympy(traced, shown, simplify=True, **keywords)  # an error says how to install SymPy
        from sympy import sstr

        echo(sstr(matrix))
        return 0
    source = (
        lw.latex(traced, shown, digits=digits, **keywords)
        if form == "latex"
        else lw.python_source(traced, shown, **keywords)
    )
    echo(source.rstrip())
    return 0


def element_name(function: str, method: str | None) -> str | None:
    """The letter of an element; the steps of the elimination have theirs."""
    return None if method == "elimination" else LETTERS.get(function)


def parse_element(text: str) -> tuple[int, ...]:
    """`4,5` as (4, 5)."""
    numbers = [number.strip() for number in text.split(",")]
    if not all(number.isdecimal() for number in numbers):
        raise ValueError(f"--element is {text!r} (expected numbers from 1, such as 4,5)")
    return tuple(map(int, numbers))


def print_equations(robot: lw.Robot, function: str, written: Equations, form: str, json: bool) -> int:
    """Print equations that exist in LaTeX and as text."""
    if form not in ("text", "latex"):
        raise ValueError(f"--format {form}: these equations are written as text or latex (expected one of these)")
    if json:
        lines = re.sub(r"\n +", " ", written.text.partition("\nwhere ")[0]).splitlines()
        sides = [line.split(" = ") for line in lines]  # zeros stand on one line
        pairs = {left: right for *lefts, right in sides for left in lefts}
        print_json({"robot": robot.name, "function": function, "equations": pairs})
        return 0
    if form == "text":
        echo(f"{function} of {robot.name}{coordinates_text(robot, function)}\n")
    echo((written if form == "latex" else written.text).rstrip())
    return 0


def coordinates_text(robot: lw.Robot, function: str) -> str:
    """What q1, q2, ... mean, where joints have one coordinate each."""
    several = any(joint.kind.degrees > 1 for joint in robot.moving)
    return "" if several or function == "potential_energy" else "; q1, q2, ... are the joints' coordinates"


def formulas(
    robot: lw.Robot, traced: Any, name: str, digits: int, keywords: dict[str, Any]
) -> Iterator[tuple[str, Terms]]:
    """Left and right sides of equations, intermediates first; without zeros, rounding errors and symmetric copies.

    Right sides are in terms, between which lines may break.
    """
    required = [p for p in inspect.signature(traced).parameters.values() if p.default is p.empty][1:]
    arrays = {p.name: letters(robot, p.name) for p in required}
    output = traced(
        robot, *(np.atleast_1d(np.array(lw.symbols(" ".join(names)))) for names in arrays.values()), **keywords
    )
    results = output if isinstance(output, tuple) else (output,)
    letter = LETTERS.get(name, "out")
    elements = list(entries(results, letter))
    nodes = [value for _, value in elements if not is_real(value)]
    array_of = {name: array for array, names in arrays.items() for name in names}
    shared, texts = Expressions(nodes, digits, NOISE, mass_symbols(robot), array_of).terms() if nodes else ([], [])
    yield from shared
    written = iter(texts)
    for left, value in elements:
        terms = [[f"{value + 0.0:.{digits}g}"]] if is_real(value) else next(written)
        if terms != [["0"]]:
            yield left, terms


def letters(robot: lw.Robot, word: str) -> list[str]:
    """Symbols for one argument: q1, q2, ..., or q_base_x, ... where joints have several degrees of freedom."""
    if Layout.of(robot).labelled:
        return [re.sub(r"\W", "_", f"{word}.{label}") for label in robot.labels_of(word)]
    return [f"{word}{'_' * word[-1].isdigit()}{k}" for k in range(1, robot.size_of(word) + 1)]


def entries(results: Any, letter: str) -> Iterator[tuple[str, Any]]:
    fields = getattr(results, "_fields", letter if letter == "UD" else [f"{letter}{k}" for k in range(1, 99)])
    for k, result in enumerate(map(np.asarray, results)):
        name = letter if len(results) == 1 else fields[k]
        symmetric = letter in ("I", "I^-1")
        for index in np.ndindex(result.shape):
            if symmetric and index[0] > index[1]:
                continue
            yield f"{name}[{','.join(str(i + 1) for i in index)}]" if index else name, result[index]


def symbolic_robot(robot: lw.Robot) -> lw.Robot:
    """Symbols in place of masses (m1), lengths (a1, b1, lx1), mass centres (cx1), inertias (Ixx1) and gravity (g).

    Angles stay numbers, zeros stay zero, and so the formulas stay short.
    """
    rows = [symbolic_row(dict(row), k) for k, row in enumerate(robot.rows, 1)]
    from ...robot import from_table

    return from_table(rows, robot.convention, gravity(robot), robot.name)


def symbolic_row(row: dict[str, Any], k: int) -> dict[str, Any]:
    for key, letter in SYMBOLS.items():
        if row.get(key):
            row[key] = lw.symbols(f"{letter}{k}")
    for key, letter in (("com", "c"), ("translation", "l")):
        if key in row:
            row[key] = tuple(lw.symbols(f"{letter}{AXES[i]}{k}") if x else 0.0 for i, x in enumerate(row[key]))
    if "inertia" in row:
        row["inertia"] = [
            [lw.symbols(f"I{''.join(sorted(AXES[i] + AXES[j]))}{k}") if row["inertia"][i][j] else 0.0 for j in range(3)]
            for i in range(3)
        ]
    return row


def gravity(robot: lw.Robot) -> tuple[Any, ...]:
    """g along the axis in which gravity acts, if it is one."""
    components = [float(x) for x in robot.gravity]
    if sum(x != 0.0 for x in components) != 1:
        return tuple(components)
    g = lw.symbols("g")
    return tuple(-g if x < 0.0 else g if x > 0.0 else 0.0 for x in components)


@command(
    ("linkwise explain planar3", "what there is: names, meanings, equations of the papers"),
    ("linkwise explain planar3 m_hat U D --q 0,0,0", "some of them at a state"),
    ("linkwise explain stanford nu C_nu --q 0,pi/2,0.1,0,0,0 --qd 1,0,0,0,0,0", "with rates: Kozlowski's velocities"),
    (
        "linkwise explain planar3 phi tau_hat eta mu qdd --tau 1,0,0",
        "with torques: Saha's forward dynamics, step by step",
    ),
    ("linkwise explain planar3 I --latex", "as LaTeX"),
    ("linkwise explain planar3 U D --symbols", "as formulas in m1, a1, ..., q1, ..."),
)
def explain(
    source: RobotSource,
    names: Annotated[
        list[str] | None, arg("names", "Quantities by name (M_hat, U, I, ...), or all; default: list the names")
    ] = None,
    q: Q = None,
    qd: Annotated[
        str | None, opt("STATE", "Rates, given as for --q; default: none; zero if --qdd or --tau is given.", STATE)
    ] = None,
    qdd: Annotated[str | None, opt("STATE", "Accelerations, given as for --q; default: none.", STATE)] = None,
    tau: Tau = None,
    degrees: Degrees = False,
    symbols: Annotated[
        bool, flag("--symbols", "Use symbols for masses, lengths, inertias, g, and for states that are not given.")
    ] = False,
    latex: Annotated[bool, flag("--latex", "Print LaTeX display equations.", OUTPUT)] = False,
    digits: Annotated[int, opt("COUNT", "Significant digits of numbers.", min=1, max=17)] = 5,
    json: Json = False,
) -> int:
    """Every intermediate of the formulations at one state, by link, with the equation of the paper it is from.

    Saha's B, p, M, N_l, N_d, U, D, ..., Angeles' K and T, Kozlowski's P, D, G; with --qd also C, nu and xi; with --qdd
    also tau and the steps of inverse dynamics; with --tau those of forward dynamics. Without names it is a list of
    them. The state is the zero position unless --q says otherwise.
    """
    robot = source.load()
    options = {"--q": ("q", q), "--qd": ("qd", qd), "--qdd": ("qdd", qdd), "--tau": ("tau", tau)}
    given = dict(zip(("q", "qd", "qdd", "tau"), parse_states(robot, options, degrees), strict=True))
    rest = np.zeros(robot.n)
    if not names:
        still = {"q": lw.neutral(robot), "qd": rest, "qdd": rest, "tau": rest}
        everything = lw.explain(robot, **{word: still[word] if x is None else x for word, x in given.items()})
        if json:
            print_quantities(everything, given, tuple(everything), as_texts=False)
        else:
            list_quantities(everything, source.name)
        return 0
    chosen = tuple(DEFINITIONS) if names == ["all"] else tuple(names)
    if symbols:
        robot, given = symbolic_robot(robot), with_symbols(robot, given, chosen)
    else:
        given["q"] = lw.neutral(robot) if given["q"] is None else given["q"]
        if given["qd"] is None and (given["qdd"] is not None or given["tau"] is not None):
            given["qd"] = rest
    result = lw.explain(robot, **given)
    if names == ["all"]:
        chosen = tuple(result)
    for name in chosen:
        needs = DEFINITIONS[name].needs if name in DEFINITIONS else ""
        if needs and given[needs] is None:
            what, option = NEEDED_OPTIONS[needs]
            raise ValueError(f"{name} depends on {what} (expected {option})")
    if json:
        print_quantities(result, given, chosen, as_texts=symbols)
    else:
        echo(result.latex(*chosen, digits=digits) if latex else result.text(*chosen, digits=digits))
    return 0


NEEDED_OPTIONS = {"qd": ("rates", "--qd"), "qdd": ("accelerations", "--qdd"), "tau": ("torques", "--tau")}


def with_symbols(robot: lw.Robot, given: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """The state with symbols for what the quantities need and is not given."""
    needs = {DEFINITIONS[name].needs for name in names if name in DEFINITIONS}
    words = ["q", *(["qd"] if needs - {""} else []), *(needs & {"qdd", "tau"})]
    unknown = {word: lw.symbols(" ".join(letters(robot, word))) for word in words if given[word] is None}
    return given | {word: np.atleast_1d(np.array(array)) for word, array in unknown.items()}


def list_quantities(everything: lw.results.Explanation, source: str) -> None:
    rows = everything.contents()
    line = f"linkwise explain {shlex.quote(source)} NAME ..."
    print_sentence(f"{everything.robot.name}: {len(rows)} quantities at a state; their values: {line}")
    echo()
    print_table(["name", "symbol", "paper, equation", "what it is"], rows)


def print_quantities(
    result: lw.results.Explanation, given: dict[str, Any], names: tuple[str, ...], *, as_texts: bool
) -> None:
    """As JSON; expressions as texts."""
    values = {name: result.text(name) if as_texts else result[name] for name in names}
    state = {} if as_texts else {"q": given["q"]}
    print_json({"robot": result.robot.name, **state, "quantities": values})
