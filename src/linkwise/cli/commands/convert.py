"""`linkwise convert`: a robot in another format or convention."""

from __future__ import annotations

from typing import Annotated

import typer

from ...robot import Robot
from ..options import UrdfRotors, words
from ..results import check_outputs, refuse_ending, write_by
from ..robot import with_robot
from ..screen import note

CONVENTIONS = ("standard", "modified", "frames")
EXAMPLES = (
    ("linkwise convert stanford arm.urdf", "for ROS, Pinocchio, MuJoCo"),
    ("linkwise convert puma560 puma.urdf --urdf-rotors drop", "without its rotors, as the file says"),
    ("linkwise convert arm.urdf arm.toml", "and back, in frames"),
    ("linkwise convert stanford craig.toml --to modified", "Craig's DH parameters"),
)


@with_robot
def command(
    arm: Robot,
    file: Annotated[str, typer.Argument(metavar="file", help="What to write: .toml or .urdf", show_default=False)],
    to: Annotated[
        str | None,
        typer.Option(
            metavar="CONVENTION",
            help="Of a .toml: standard or modified DH, or frames; default: as it is.",
            autocompletion=words(*CONVENTIONS),
        ),
    ] = None,
    urdf_rotors: UrdfRotors = "refuse",
) -> int:
    """A robot's file in another format, or its table in another convention.

    What is written is compared with the robot at random states first; what a format cannot say is an error.
    """
    refuse_ending(file, "the file", ".toml", ".urdf")
    check_outputs(False, None, file)
    from ...errors import one_of
    from ...formats import save

    if to is not None:
        from ...formats.conversion import convert

        one_of(to, CONVENTIONS, "--to")
        arm = convert(arm, to)
    write_by(lambda path: save(arm, path, urdf_rotors=urdf_rotors), file, "")
    note(f"{arm.name}: {arm.joints}, {arm.convention} table, {len(arm.rows)} rows")
    return 0
