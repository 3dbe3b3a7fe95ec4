"""The arguments and options that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

from ..formats import LIBRARY

ROBOT, STATE, MOTION, OUTPUT = "Robot", "State", "Trajectory", "Output"
PICTURES = (".png", ".svg", ".pdf")


def robot_names(incomplete: str) -> list[str]:
    """For shells: robots of the library; files are completed by the shell itself where nothing matches."""
    from pathlib import Path

    head, _, start = incomplete.rpartition("/")
    folder = Path(head or ("/" if incomplete.startswith("/") else "."))
    found = sorted(folder.glob(f"{start}*")) if folder.is_dir() else []
    endings = (".toml", ".urdf", ".xml", ".mjcf")
    files = [f"{path}{'/' if path.is_dir() else ''}" for path in found if path.is_dir() or path.suffix in endings]
    return [name for name in LIBRARY if name.startswith(incomplete)] + files


def words(*known: str) -> object:
    """A completion of these words."""
    return lambda incomplete: [word for word in known if word.startswith(incomplete)]


RobotArgument = Annotated[
    str,
    typer.Argument(
        metavar="robot",
        help="A robot of the library by name (see: linkwise robots), or a file: .toml, .urdf, .xml, .mjcf",
        autocompletion=robot_names,
        show_default=False,
    ),
]
Base = Annotated[
    str | None,
    typer.Option(
        metavar="BASE",
        help="How it stands: fixed or free; default: as the file says.",
        rich_help_panel=ROBOT,
        autocompletion=words("fixed", "free"),
    ),
]
Mimic = Annotated[
    str,
    typer.Option(
        metavar="HOW",
        help="Joints that the file couples to others: coupled (default) or independent.",
        rich_help_panel=ROBOT,
        autocompletion=words("coupled", "independent"),
    ),
]
Unphysical = Annotated[
    str,
    typer.Option(
        metavar="HOW",
        help="An inertia that no body has: refuse (default), or warn and use it as it is.",
        rich_help_panel=ROBOT,
        autocompletion=words("refuse", "warn"),
    ),
]
Ignore = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME", help="A part of the file to leave out, as an error names it.", rich_help_panel=ROBOT),
]
UrdfRotors = Annotated[
    str,
    typer.Option(
        metavar="HOW",
        help="Rotor inertias in a .urdf: refuse (default); transmission, which few programs read; or drop.",
        rich_help_panel=OUTPUT,
        autocompletion=words("refuse", "transmission", "drop"),
    ),
]
Gravity = Annotated[
    str | None,
    typer.Option(metavar="X,Y,Z", help="In the base frame, m/s²; default: the robot's own.", rich_help_panel=ROBOT),
]
Payload = Annotated[
    str | None,
    typer.Option(
        metavar="KG[,X,Y,Z][@LINK]",
        help="A point mass held by the tip, or by LINK, at x, y, z of its frame: 5,0,0,0.1@tool0.",
        rich_help_panel=ROBOT,
    ),
]
Degrees = Annotated[
    bool, typer.Option("--degrees", help="Angles are given in degrees, not radians.", rich_help_panel=STATE)
]
Q = Annotated[
    str | None,
    typer.Option(
        metavar="STATE",
        help="Configuration: numbers (0.1,pi/2,...), joints or links by name (link2=0.5), or a table (@file.csv).",
        rich_help_panel=STATE,
    ),
]
Qd = Annotated[
    str | None, typer.Option(metavar="STATE", help="Rates, given likewise; default: at rest.", rich_help_panel=STATE)
]
Qdd = Annotated[str | None, typer.Option(metavar="STATE", help="Accelerations; default: none.", rich_help_panel=STATE)]
Json = Annotated[
    bool, typer.Option("--json", help="JSON on stdout, all digits, and nothing else there.", rich_help_panel=OUTPUT)
]
Csv = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="Write a table of comma-separated numbers; - is stdout.", rich_help_panel=OUTPUT),
]
Parquet = Annotated[
    str | None, typer.Option(metavar="FILE", help="Write the same table as Parquet (pyarrow).", rich_help_panel=OUTPUT)
]
Plot = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="Draw a picture: .png, .svg or .pdf (matplotlib).", rich_help_panel=OUTPUT),
]
