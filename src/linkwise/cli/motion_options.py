"""Options of commands that follow a trajectory."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .options import MOTION

NAMES = ("paper", "cycloid", "cubic", "quintic", "septic", "trapezoid")


def motions(incomplete: str) -> list[str]:
    """For shells: trajectories by name, and tables."""
    folder, _, start = incomplete.rpartition("/")
    found = Path(folder or ".").glob(f"{start}*") if Path(folder or ".").is_dir() else ()
    files = [f"{path}{'/' * path.is_dir()}" for path in sorted(found) if path.is_dir() or path.suffix == ".csv"]
    return [name for name in NAMES if name.startswith(incomplete)] + files


Along = Annotated[
    str | None,
    typer.Argument(
        metavar="trajectory",
        help="A .csv file, or by name: cycloid, cubic, quintic, septic, trapezoid, paper",
        autocompletion=motions,
        show_default=False,
    ),
]
Start = Annotated[
    str | None,
    typer.Option("--from", metavar="STATE", help="Where it starts; default: zero.", rich_help_panel=MOTION),
]
End = Annotated[
    str | None,
    typer.Option("--to", metavar="STATE", help="Where it ends; default: 60 deg, 0.1 m on.", rich_help_panel=MOTION),
]
Duration = Annotated[
    float | None, typer.Option(metavar="SECONDS", help="How long it takes; default: 10.", rich_help_panel=MOTION)
]
Samples = Annotated[
    int, typer.Option(metavar="COUNT", help="Evenly spaced times; default: 501.", rich_help_panel=MOTION, min=2)
]
Friction = Annotated[bool, typer.Option("--friction", help="With the friction of the joints.")]
