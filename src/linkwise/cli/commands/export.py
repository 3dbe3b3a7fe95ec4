"""`linkwise export`: text of a robot for other programs."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from ...errors import one_of
from ...robot import Robot
from ..declare import arg, flag, opt
from ..functions import function_of, known, method_keywords, names
from ..options import OUTPUT, Friction, UrdfRotors
from ..results import STDOUT, check_outputs, write_by, writing, wrote
from ..screen import echo, note

CODE, FILES = ("c", "python", "latex"), ("urdf", "toml")
ENDINGS = {"python": ".py", "latex": ".tex"}
FLAGS = {"friction": "--friction", "base": "--base-parameters"}
EXAMPLES = (
    ("linkwise export stanford c --out code", "inverse_dynamics.c and .h in the folder code"),
    ("linkwise export stanford c gravity_torque --self-test", "to stdout, with a main that tests it"),
    ("linkwise export planar3 c jacobian forward_dynamics_derivatives --out code", "several functions"),
    (
        "linkwise export puma560 c regressor --base-parameters --friction",
        "for adaptive control; the header names columns",
    ),
    ("linkwise export planar3 python forward_dynamics", "plain assignments"),
    ("linkwise export planar3 latex inertia_matrix --out inertia.tex", "for a paper"),
    ("linkwise export puma560 toml --out puma.toml", "the robot itself, to change its numbers"),
    ("linkwise export stanford urdf --out arm.urdf", "the robot for ROS, Pinocchio, MuJoCo"),
)


SEVERAL = "Of c, python, latex: one or several by their names in Python; default: inverse_dynamics."


def command(
    arm: Robot,
    form: Annotated[
        str, arg("format", "c, python or latex: a function of the robot; urdf or toml: the robot", (*CODE, *FILES))
    ],
    function: Annotated[list[str] | None, arg("function", SEVERAL, names)] = None,
    method: Annotated[str | None, opt("NAME", "The formulation; default: the fewest operations.")] = None,
    friction: Friction = False,
    base_parameters: Annotated[
        bool, flag("--base-parameters", "Of regressor: the columns of the base parameters alone.")
    ] = False,
    single: Annotated[bool, flag("--single", "C in float, not double.")] = False,
    self_test: Annotated[bool, flag("--self-test", "C with a main that compares with Python.")] = False,
    out: Annotated[str | None, opt("PATH", "A file; of c, a folder. Default: stdout.", OUTPUT, "--out", "-o")] = None,
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
        return export_robot(arm, form, out, urdf_rotors)
    if urdf_rotors != "refuse":
        raise ValueError(f"--urdf-rotors belongs to urdf (expected none with {form})")
    if form != "c" and (single or self_test):
        raise ValueError(f"--single and --self-test belong to C (expected none with {form})")
    if form != "c":
        check_outputs(False, None, out)
    options = {"friction": friction, "base": base_parameters}
    asked = {
        name: {**method_keywords(name, method), **options_of(name, options)}
        for name in map(known, function or ["inverse_dynamics"])
    }
    if form == "c":
        return export_c(arm, asked, single, self_test, out)
    from ...export import latex, python_source

    write = latex if form == "latex" else python_source
    texts = [write(function_of(name), arm, **keywords).rstrip() + "\n" for name, keywords in asked.items()]
    return written("\n".join(texts), out)


def options_of(name: str, options: Mapping[str, bool]) -> dict[str, Any]:
    """Those that were given, as keywords of the function, which must have them."""
    taken = inspect.signature(function_of(name)).parameters
    for key, option in FLAGS.items():
        if options[key] and key not in taken:
            raise ValueError(f"{option}: {name} has no such option (expected none)")
    return {key: True for key, given in options.items() if given}


def export_c(arm: Robot, asked: Mapping[str, dict[str, Any]], single: bool, self_test: bool, out: str | None) -> int:
    from ...export import c_source

    for name, keywords in asked.items():
        source = c_source(
            function_of(name),
            arm,
            dtype="float32" if single else "float64",
            self_test=self_test,
            **keywords,
        )
        if out is None:
            echo(source.rstrip())
        else:
            for path in source.save(out):
                wrote(path)
    if self_test and out is not None:
        note(f"test it: cc {out}/{source.name}.c -lm && ./a.out")
    return 0


def export_robot(arm: Robot, form: str, out: str | None, urdf_rotors: str) -> int:
    from ...formats import save

    if out is not None and Path(out).suffix.lower() != f".{form}":
        raise ValueError(f"--out {out} does not end with .{form}")
    write_by(lambda path: save(arm, path, urdf_rotors=urdf_rotors), out or STDOUT, f".{form}")
    return 0


def written(text: str, out: str | None) -> int:
    from ...files import saving

    if out is None:
        echo(text.rstrip())
        return 0
    with writing(), saving(Path(out)) as file:
        file.write(text.encode())
    wrote(out)
    return 0
