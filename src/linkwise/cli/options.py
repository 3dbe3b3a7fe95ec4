"""The arguments and options that several commands share."""

from __future__ import annotations

from typing import Annotated

from .declare import arg, files, flag, opt

ROBOT, STATE, MOTION, OUTPUT = "Robot", "State", "Trajectory", "Output"
PICTURES = (".png", ".svg", ".pdf")
PROFILES = ("cycloid", "cubic", "quintic", "septic", "trapezoid")
PAPER = "paper"


def robot_names(incomplete: str) -> list[str]:
    """For shells: robots of the library, and files."""
    from ..formats import LIBRARY  # late: help imports no robots

    return [name for name in LIBRARY if name.startswith(incomplete)] + files(
        incomplete, ".toml", ".urdf", ".xml", ".mjcf"
    )


def motions(incomplete: str) -> list[str]:
    """For shells: trajectories by name, and tables."""
    return [name for name in (PAPER, *PROFILES) if name.startswith(incomplete)] + files(incomplete, ".csv")


LIBRARY_OR_FILE = "A robot of the library by name (see: linkwise robots), or a file: .toml, .urdf, .xml, .mjcf"
ROTORS_OF_URDF = "Rotor inertias in a .urdf: refuse (default); transmission, which few programs read; or drop."
POINT_MASS = "A point mass held by the tip, or by LINK, at x, y, z of its frame: 5,0,0,0.1@tool0."
WHERE = "Configuration: numbers (0.1,pi/2,...), joints or links by name (link2=0.5), or a table (@file.csv)."
HOWS = ("coupled", "independent")

RobotArgument = Annotated[str, arg("robot", LIBRARY_OR_FILE, robot_names)]
Base = Annotated[
    str | None, opt("BASE", "How it stands: fixed or free; default: as the file says.", ROBOT, known=("fixed", "free"))
]
Mimic = Annotated[
    str, opt("HOW", "Joints that the file couples to others: coupled (default) or independent.", ROBOT, known=HOWS)
]
Unphysical = Annotated[
    str,
    opt("HOW", "An inertia that no body has: refuse (default), or warn and use it.", ROBOT, known=("refuse", "warn")),
]
Ignore = Annotated[list[str] | None, opt("NAME", "A part of the file to leave out, as an error names it.", ROBOT)]
UrdfRotors = Annotated[str, opt("HOW", ROTORS_OF_URDF, OUTPUT, known=("refuse", "transmission", "drop"))]
Gravity = Annotated[str | None, opt("X,Y,Z", "In the base frame, m/s²; default: the robot's own.", ROBOT)]
Payload = Annotated[str | None, opt("KG[,X,Y,Z][@LINK]", POINT_MASS, ROBOT)]
Degrees = Annotated[bool, flag("--degrees", "Angles are given in degrees, not radians.", STATE)]
Q = Annotated[str | None, opt("STATE", WHERE, STATE)]
Qd = Annotated[str | None, opt("STATE", "Rates, given likewise; default: at rest.", STATE)]
Qdd = Annotated[str | None, opt("STATE", "Accelerations; default: none.", STATE)]
Friction = Annotated[bool, flag("--friction", "With the friction of the joints.")]
Json = Annotated[bool, flag("--json", "JSON on stdout, all digits, and nothing else there.", OUTPUT)]
Csv = Annotated[str | None, opt("FILE", "Write a table of comma-separated numbers; - is stdout.", OUTPUT)]
Parquet = Annotated[str | None, opt("FILE", "Write the same table as Parquet (pyarrow).", OUTPUT)]
Plot = Annotated[str | None, opt("FILE", "Draw a picture: .png, .svg or .pdf (matplotlib).", OUTPUT)]
