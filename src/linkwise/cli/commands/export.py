"""`linkwise count`: operations of every method; `linkwise export`: text of a robot for other programs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, cast

import linkwise as lw

from ... import progress
from ...errors import one_of
from ...files import atomic_write
from ..declare import OUTPUT, arg, command, flag, opt
from ..options import Friction, UrdfRotors
from ..results import STDOUT, Tables, check_file, file_errors_as_failures, note_written, write_file
from ..screen import echo, note, print_sentence, print_table

FUNCTIONS = (
    "inverse_dynamics", "budget", "forward_dynamics", "inertia_matrix", "inverse_inertia_matrix",
    "coriolis_matrix", "gravity_torque", "bias_torque", "kinetic_energy", "potential_energy", "regressor",
    "slotine_li_regressor", "energy_regressor", "jacobian", "poses", "udu", "joint_wrenches", "centre_of_mass",
    "momentum", "inverse_dynamics_derivatives", "forward_dynamics_derivatives",
    "inverse_dynamics_second_derivatives", "forward_dynamics_second_derivatives", "linearize",
    "momentum_matrix", "momentum_bias", "mass_centres", "mass_factor", "mass_factor_rate", "kinetic_gradient",
    "curvature", "constraint_wrenches", "denoc_matrices", "complement_matrices", "operators", "operator_rates",
    "base_wrench", "floating_dynamics", "generalized_jacobian", "configuration_rate", "integrate", "difference",
    "normalize", "jacobian_rate", "task_inertia",
)  # fmt: skip
CHOSEN = ', by the method "fewest", as in compiled code; linkwise count ROBOT FUNCTION shows every method'
LONG = 20  # degrees of freedom above which one row may take seconds
KEYS = ("multiplications", "additions", "divisions", "functions")
MAIN = ("inverse_dynamics", "forward_dynamics", "inertia_matrix", "gravity_torque", "coriolis_matrix", "jacobian")
CODE, FILES = ("c", "python", "latex"), ("urdf", "toml")
ENDINGS = {"python": ".py", "latex": ".tex"}
FLAGS = {"friction": "--friction", "base": "--base-parameters"}
SEVERAL = "Functions by their names in Python, for c, python and latex; default: inverse_dynamics"


def complete_function(incomplete: str) -> list[str]:
    """Completions: names of functions."""
    return [name for name in FUNCTIONS if name.startswith(incomplete.replace("-", "_"))]


BY_NAME = "A function by its name in Python (inverse_dynamics, gravity_torque, forward_dynamics_derivatives, ...)"


def keywords_of(name: str, method: str | None, **flags: bool) -> dict[str, Any]:
    """The options as keywords of the function; raises where it has no such keyword."""
    parameters = inspect.signature(function_of(name)).parameters
    if method is not None and "method" not in parameters:
        raise ValueError(f"--method {method}: {name} is computed in one way (expected no method)")
    for key, given in flags.items():
        if given and (key not in parameters or parameters[key].default is not False):
            raise ValueError(f"{FLAGS[key]}: {name} has no such option (expected none)")
    return {key: True for key, given in flags.items() if given} | ({} if method is None else {"method": method})


def function_of(name: str) -> Callable[..., Any]:
    """A public function by its name."""
    places = (lw, lw.formulations, lw.identification)
    function: Callable[..., Any] = next(
        getattr(place, function_name(name)) for place in places if function_name(name) in place.__all__
    )
    return function


def function_name(name: str) -> str:
    """The name of a function with _ for -; raises if it is unknown."""
    wanted = name.replace("-", "_")
    one_of(wanted, FUNCTIONS, "the function")
    return wanted


@command(
    ("linkwise count stanford", "the main functions, by the method with the fewest operations"),
    ("linkwise count stanford forward_dynamics", "every method of one function"),
    ("linkwise count planar3 inertia_matrix --method denoc --json", "one method"),
)
def count(
    robot: lw.Robot,
    function: Annotated[str | None, arg("function", f"{BY_NAME}; default: the main ones", complete_function)] = None,
    method: Annotated[str | None, opt("NAME", "Count this formulation alone; default: all of them.")] = None,
    friction: Friction = False,
    *,
    out: Tables,
) -> int:
    """Operations that a function takes on this robot, its zeros and ones for free: as published tables count them.

    The last column is sines, cosines and square roots. Changes of sign are not counted.
    """
    for option, given in (("--method", method is not None), ("--friction", friction)):
        if function is None and given:
            expected = "expected its name: linkwise count ROBOT inverse_dynamics"
            raise ValueError(f"{option} belongs to a function ({expected})")
    choices: list[tuple[str, str | None]] = []
    for name in MAIN if function is None else (function_name(function),):
        offered = methods_on(robot, name)
        methods = [method] if method is not None else offered[-1:] if function is None else offered
        choices += [(name, each) for each in methods or [None]]
    rows = count_rows(robot, choices, friction)

    def on_screen() -> None:
        print_sentence(
            f"{robot.name}, {robot.n} degrees of freedom: operations of one call{', with friction' if friction else ''}"
            f"{CHOSEN if function is None else ''}"
        )
        echo()
        head = ["function", "method", "multiplications", "additions", "divisions", "sin, cos, sqrt"]
        print_table(head, [[row["function"], row["method"], *(row[key] for key in KEYS)] for row in rows])

    out.show(lambda: {"robot": robot.name, "counts": rows}, on_screen)
    out.write(lambda: {key: [row[key] for row in rows] for key in ("function", "method", *KEYS)})
    return 0


def methods_on(robot: lw.Robot, name: str) -> list[str | None]:
    """The methods of a function on this robot; empty where it has no parameter `method`."""
    from ...api.method_table import methods_of

    function = function_of(name)
    return [*methods_of(function).supported_by(robot)] if "method" in inspect.signature(function).parameters else []


def count_rows(robot: lw.Robot, choices: list[tuple[str, str | None]], friction: bool) -> list[dict[str, Any]]:
    """Rows of the table. A bar on the terminal shows the progress."""
    rows = []
    with progress.ProgressDisplay.of_long_work(patience=0.0 if robot.n > LONG else None) as display:
        for k, (name, method) in enumerate(choices):
            label = name if method is None else f"{name}, {method}"
            display.update(k, len(choices), label, f"counting {label}, {k + 1} of {len(choices)}")
            rows.append(count_row(robot, name, method, friction))
    return rows


def count_row(robot: lw.Robot, name: str, method: str | None, friction: bool) -> dict[str, Any]:
    """A row of the table."""
    operations = lw.count(function_of(name), robot, **keywords_of(name, method, friction=friction))
    return {"function": name, "method": method or "-", **{key: getattr(operations, key) for key in KEYS}}


@command(
    ("linkwise export stanford c --out code", "inverse_dynamics.c and .h in the folder code"),
    ("linkwise export stanford c gravity_torque --self-test", "to stdout, with a main that tests it"),
    ("linkwise export planar3 c jacobian forward_dynamics_derivatives --out code", "several functions"),
    (
        "linkwise export puma560 c regressor --base-parameters --friction",
        "for adaptive control; the header names columns",
    ),
    ("linkwise export planar3 python forward_dynamics", "plain assignments"),
    ("linkwise export planar3 latex inertia_matrix --out inertia.tex", "for a paper"),
    ("linkwise export planar3 latex udu inertia_matrix --out tex", "udu.tex and inertia_matrix.tex in the folder tex"),
    ("linkwise export puma560 toml --out puma.toml", "the robot itself, to change its numbers"),
    ("linkwise export stanford urdf --out arm.urdf", "the robot for ROS, Pinocchio, MuJoCo"),
)
def export(
    robot: lw.Robot,
    form: Annotated[
        str,
        arg(
            "format",
            "c, python or latex for functions of the robot; urdf or toml for the robot itself",
            (*CODE, *FILES),
        ),
    ],
    function: Annotated[list[str] | None, arg("function", SEVERAL, complete_function)] = None,
    method: Annotated[str | None, opt("NAME", "Formulation; default: the one with the fewest operations.")] = None,
    friction: Friction = False,
    base_parameters: Annotated[
        bool, flag("--base-parameters", "Keep only the regressor's columns of base parameters.")
    ] = False,
    single: Annotated[bool, flag("--single", "Write C in float; default: double.")] = False,
    self_test: Annotated[
        bool, flag("--self-test", "Add a main to the C that compares its results with Python's.")
    ] = False,
    out: Annotated[
        str | None,
        opt("PATH", "Folder for files by function, or one file (not for c); default: stdout.", OUTPUT, "--out", "-o"),
    ] = None,
    urdf_rotors: UrdfRotors = "refuse",
) -> int:
    """C for controllers (C99, no allocation, only math.h), Python, LaTeX, or the robot as a file."""
    one_of(form, (*CODE, *FILES), "the format")
    if form in FILES:
        if function or method or friction or base_parameters or single or self_test:
            raise ValueError(
                "functions, --method, --friction, --base-parameters, --single and --self-test belong to code"
                f" (expected none with {form})"
            )
        return export_robot(robot, form, out, urdf_rotors)
    if urdf_rotors != "refuse":
        raise ValueError(f"--urdf-rotors belongs to urdf (expected none with {form})")
    if form != "c" and (single or self_test):
        raise ValueError(f"--single and --self-test belong to C (expected none with {form})")
    folder = out is not None and is_folder(out)
    if form != "c" and not folder:
        check_file(out)
    calls = {
        name: keywords_of(name, method, friction=friction, base=base_parameters)
        for name in map(function_name, function or ["inverse_dynamics"])
    }
    if form == "c":
        return export_c(robot, calls, single, self_test, out)
    write = lw.latex if form == "latex" else lw.python_source
    texts = {name: write(function_of(name), robot, **keywords).rstrip() + "\n" for name, keywords in calls.items()}
    if out is not None and folder:
        with file_errors_as_failures():
            Path(out).mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            write_text(text, str(Path(out) / f"{name}{ENDINGS[form]}"))
        return 0
    return write_text("\n".join(texts.values()), out)


def is_folder(path: str) -> bool:
    """Whether a path is that of a folder: it exists as one, or its name has no ending."""
    return Path(path).is_dir() or (not Path(path).suffix and not Path(path).exists())


def export_c(
    robot: lw.Robot, calls: Mapping[str, dict[str, Any]], single: bool, self_test: bool, out: str | None
) -> int:
    dtype: Literal["float32", "float64"] = "float32" if single else "float64"
    for name, keywords in calls.items():
        source = lw.c_source(function_of(name), robot, dtype=dtype, self_test=self_test, **keywords)
        if out is None:
            echo(source.rstrip())
        else:
            for path in source.save(out):
                note_written(path)
    if self_test and out is not None:
        note(f"test it: cc {out}/{source.name}.c -lm && ./a.out")
    return 0


def export_robot(robot: lw.Robot, form: str, out: str | None, urdf_rotors: str) -> int:
    if out is not None and Path(out).suffix.lower() != f".{form}":
        raise ValueError(f"--out {out} does not end with .{form}")
    write_file(lambda path: lw.save(robot, path, urdf_rotors=cast(Any, urdf_rotors)), out or STDOUT, f".{form}")
    return 0


def write_text(text: str, out: str | None) -> int:
    if out is None:
        echo(text.rstrip())
        return 0
    with file_errors_as_failures(), atomic_write(Path(out)) as file:
        file.write(text.encode())
    note_written(out)
    return 0
