"""`linkwise count`: operations of every method."""

from __future__ import annotations

from typing import Annotated, Any

from ...robot import Robot
from ..declare import opt
from ..functions import Function, function_of, known, method_keywords
from ..results import Tables
from ..screen import echo, sentence, table

EXAMPLES = (
    ("linkwise count stanford", "the main functions, by the method with the fewest operations"),
    ("linkwise count stanford forward_dynamics", "every method of one function"),
    ("linkwise count planar3 inertia_matrix --method denoc --json", "one method"),
)
CHOSEN = ', by the method "fewest", as in compiled code; linkwise count ROBOT FUNCTION shows every method'
LONG = 20  # degrees of freedom from which on one row may take seconds
KEYS = ("multiplications", "additions", "divisions", "functions")
MAIN = ("inverse_dynamics", "forward_dynamics", "inertia_matrix", "gravity_torque", "coriolis_matrix", "jacobian")


def command(
    arm: Robot,
    function: Annotated[str | None, Function] = None,
    method: Annotated[str | None, opt("NAME", "One formulation only.")] = None,
    *,
    out: Tables,
) -> int:
    """Operations that a function takes on this robot, its zeros and ones for free: as published tables count them.

    The last column is sines, cosines and square roots. Changes of sign are not counted.
    """
    if function is None and method is not None:
        raise ValueError("--method belongs to a function (expected its name: linkwise count ROBOT inverse_dynamics)")
    asked: list[tuple[str, str | None]] = []
    for name in MAIN if function is None else (known(function),):
        offered = methods_on(arm, name)
        methods = [method] if method is not None else offered[-1:] if function is None else offered
        asked += [(name, each) for each in methods or [None]]
    rows = counts(arm, asked)

    def on_screen() -> None:
        sentence(f"{arm.name}, {arm.n} degrees of freedom: operations of one call{CHOSEN if function is None else ''}")
        echo()
        head = ["function", "method", "multiplications", "additions", "divisions", "sin, cos, sqrt"]
        table(head, [[row["function"], row["method"], *(row[key] for key in KEYS)] for row in rows])

    out.show(lambda: {"robot": arm.name, "counts": rows}, on_screen)
    out.write(lambda: {key: [row[key] for row in rows] for key in ("function", "method", *KEYS)})
    return 0


def methods_on(arm: Robot, name: str) -> list[str | None]:
    """The methods of a function on this robot; none where it is computed in one way."""
    from ...api.method_table import has_methods, methods_of

    function = function_of(name)
    if not has_methods(function):
        return []
    return [*methods_of(function).on(arm)]


def counts(arm: Robot, asked: list[tuple[str, str | None]]) -> list[dict[str, Any]]:
    """Rows of the table; on a terminal a bar says which one is counted."""
    from ...progress import ProgressDisplay

    rows = []
    with ProgressDisplay.of_long_work(patience=0.0 if arm.n > LONG else None) as display:
        for k, (name, method) in enumerate(asked):
            label = name if method is None else f"{name}, {method}"
            display.update(k, len(asked), label, f"counting {label}, {k + 1} of {len(asked)}")
            rows.append(counted(arm, name, method))
    return rows


def counted(arm: Robot, name: str, method: str | None) -> dict[str, Any]:
    """A row of the table."""
    from ...tracing import count

    found = count(function_of(name), arm, **method_keywords(name, method))
    return {"function": name, "method": method or "-", **{key: getattr(found, key) for key in KEYS}}
