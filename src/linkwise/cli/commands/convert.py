"""`linkwise convert`: a robot in another format or convention."""

from __future__ import annotations

from typing import Annotated

from ...robot import Robot
from ..declare import arg, opt
from ..options import UrdfRotors
from ..results import check_outputs, refuse_ending, write_by
from ..screen import note

CONVENTIONS = ("standard", "modified", "frames")
EXAMPLES = (
    ("linkwise convert stanford arm.urdf", "for ROS, Pinocchio, MuJoCo"),
    ("linkwise convert puma560 puma.urdf --urdf-rotors drop", "without its rotors, as the file says"),
    ("linkwise convert arm.urdf arm.toml", "and back, in frames"),
    ("linkwise convert stanford craig.toml --to modified", "Craig's DH parameters"),
)


def command(
    arm: Robot,
    file: Annotated[str, arg("file", "What to write: .toml or .urdf")],
    to: Annotated[
        str | None,
        opt("CONVENTION", "Of a .toml: standard or modified DH, or frames; default: as it is.", known=CONVENTIONS),
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
