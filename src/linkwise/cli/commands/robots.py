"""Robots: the library, a robot's table and picture, two models compared, other formats."""

from __future__ import annotations

import itertools
import textwrap
from typing import Annotated, Any, cast

import linkwise as lw

from ...errors import one_of
from ...trajectories.limits import limit_kinds
from ..declare import OUTPUT, arg, command, flag, opt
from ..inputs import parse_numbers, parse_states
from ..options import PICTURES, Degrees, Json, LoadOptions, Q, RobotArgument, UrdfRotors, complete_robots
from ..results import Tables, check_file, print_json, write_file
from ..screen import echo, note, print_facts, print_sentence, print_table, print_title, terminal_width


@command(
    ("linkwise robots", "all of them"),
    ("linkwise robots arm --json", "those with a word in their name or description"),
)
def robots(
    word: Annotated[
        str | None, arg("word", "Show only robots with this word in their name or description; default: all")
    ] = None,
    *,
    out: Tables,
) -> int:
    """The robots that come with Linkwise: their joints, mass, and where their numbers come from.

    Letters of joints, 2R for two of a kind: R revolute, P prismatic, H screw, C cylindrical, U universal, E planar,
    S ball, F free.
    """
    arms = [lw.load(name) for name in lw.LIBRARY]
    if word is not None:
        arms = [robot for robot in arms if word.lower() in f"{robot.name} {robot.about}".lower()]
    keys = ("name", "joints", "dof", "mass", "limits", "about")
    facts: list[tuple[Any, ...]] = [
        (robot.name, robot.joints, robot.n, float(lw.total_mass(robot)), limit_kinds(robot), robot.about)
        for robot in arms
    ]

    def on_screen() -> None:
        if not facts:
            echo(f"No robot of the library has the word {word!r}.")
            return
        rows = [
            [name, group_joints(joints), n, mass, "yes" if "effort" in limits else "no", first_sentence(about)]
            for name, joints, n, mass, limits, about in facts
        ]
        print_table(["name", "joints", "dof", "mass (kg)", "effort limits", "what it is"], rows)
        print_sentence("Another robot: the name of a file in place of a name. More on one: linkwise describe NAME")

    out.show(lambda: {"robots": [dict(zip(keys, row, strict=True)) for row in facts]}, on_screen)
    columns = [(*row[:4], ", ".join(row[4]), row[5]) for row in facts]
    out.write(lambda: {key: [row[k] for row in columns] for k, key in enumerate(keys)})
    return 0 if facts else 1


def group_joints(joints: str) -> str:
    """2R P 3R for RRPRRR."""
    runs = [(letter, len(list(run))) for letter, run in itertools.groupby(joints)]
    return " ".join(letter if count == 1 else f"{count}{letter}" for letter, count in runs)


def first_sentence(text: str, most: int = 76) -> str:
    """The first sentence, up to a colon or bracket; shortened at a comma or between words."""
    for end in (". ", ": ", " ("):
        text = text.split(end)[0]
    text = text if len(text) <= most else text.split(", ")[0]
    return textwrap.shorten(text.rstrip("."), most, placeholder=" ...")


@command(
    ("linkwise describe stanford", "joints, bodies, drives"),
    ("linkwise describe planar3 --json", "the same for another program"),
    ("linkwise describe stanford --base free", "its base floats"),
)
def describe(robot: lw.Robot, json: Json = False) -> int:
    """A robot's table: where each joint sits, the bodies, drives, friction and limits, and what q is made of."""
    if json:
        keys = ("name", "about", "convention", "gravity", "joints", "n", "q_names", "v_names")
        facts = {{"n": "dof"}.get(key, key): getattr(robot, key) for key in keys}
        print_json({**facts, "mass": float(lw.total_mass(robot)), "links": [dict(row) for row in robot.rows]})
    elif terminal_width() is None:
        echo(lw.describe(robot))
    else:
        show_robot(robot)
    return 0


OFTEN_EMPTY = ("Ixy", "Ixz", "Iyz", "rotation (rows)")
EMPTY = ("0", "none")


def show_robot(robot: lw.Robot) -> None:
    """Print a robot's table as tables that fit the terminal."""
    from ...robot.description import size_of, tables
    from ...robot.tables import CONVENTIONS

    print_title(f"{robot.name}: {size_of(robot)}, {float(lw.total_mass(robot)):g} kg")
    print_sentence(robot.about)
    echo()
    gravity = ", ".join(f"{float(x):g}" for x in robot.gravity)
    print_facts([("convention", CONVENTIONS[robot.convention].meaning), ("gravity", f"({gravity}) m/s², base frame")])
    echo()
    for heading, (head, rows) in tables(robot).items():
        kept = [k for k, name in enumerate(head) if name not in OFTEN_EMPTY or any(row[k] not in EMPTY for row in rows)]
        picked = [[row[k] if head[k] not in OFTEN_EMPTY else row[k].replace(", ", ",") for k in kept] for row in rows]
        print_table([head[k] for k in kept], picked, heading=heading[0].upper() + heading[1:])


VIEWS = ("3d", "front", "side", "top", "plane")
SIDES = "View: 3d, front, side, top, plane, or azimuth,elevation (degrees); can be repeated; default: 3d or plane."


@command(
    ("linkwise draw stanford", "stanford.png"),
    ("linkwise draw puma560 --q 0,-45,90,0,45,0 --degrees --out puma.svg", "at a configuration"),
    ("linkwise draw stanford --view 30,20 --out oblique.png", "from azimuth 30 and elevation 20 degrees"),
    ("linkwise draw quadruped --view 3d --view top --out views.png", "several views side by side"),
)
def draw(
    robot: lw.Robot,
    q: Q = None,
    degrees: Degrees = False,
    view: Annotated[list[str] | None, opt("VIEW", SIDES, known=VIEWS)] = None,
    frames: Annotated[
        bool | None, flag("--frames/--no-frames", "Draw the links' frames; default: for small robots.")
    ] = None,
    labels: Annotated[
        bool | None, flag("--labels/--no-labels", "Write the links' names; default: for small robots.")
    ] = None,
    centres: Annotated[
        bool | None, flag("--centres/--no-centres", "Draw the centres of mass; default: up to 40 links.")
    ] = None,
    bodies: Annotated[
        bool | None, flag("--bodies/--no-bodies", "Draw boxes with the links' inertias; default: for floating links.")
    ] = None,
    out: Annotated[
        str | None,
        opt("FILE", "File to write: .png, .svg or .pdf; default: the robot's name and .png.", OUTPUT, "--out", "-o"),
    ] = None,
) -> int:
    """A picture of the robot: links, joint axes, frames, centres of mass.

    At the zero position, or at --q; of several rows (@file.csv) the last is drawn in full and the others pale.
    """
    views: Any = [parse_view(each) for each in view or ()] or None
    target = f"{robot.name}.png" if out is None else out
    check_file(target, "--out", *PICTURES)
    (at,) = parse_states(robot, {"--q": ("q", q)}, degrees)
    shown: dict[str, Any] = {"frames": frames, "labels": labels, "centres": centres, "bodies": bodies}
    write_file(lambda path: lw.draw(robot, at, path, views=views, **shown), target, "")
    return 0


def parse_view(text: str) -> str | tuple[float, float]:
    """A view by name, or azimuth and elevation."""
    if "," in text:
        angles = parse_numbers(text.replace("deg", ""), "--view")
        if len(angles) != 2:
            raise ValueError(f"--view {text} has {len(angles)} numbers (expected azimuth,elevation in degrees)")
        return angles[0], angles[1]
    one_of(text, VIEWS, "--view (or azimuth,elevation)")
    return text


NARROW = 80  # columns in a pipe


@command(
    ("linkwise compare stanford stanford", "the same: exit code 0"),
    ("linkwise export stanford urdf --out arm.urdf", "another model of the same robot"),
    ("linkwise compare stanford arm.urdf --json", "in other frames, and the same"),
)
def compare(
    a: RobotArgument,
    b: Annotated[str, arg("other", "The other robot: a name or a file", complete_robots)],
    reading: LoadOptions,
    json: Json = False,
) -> int:
    """Whether two models of a robot have the same dynamics; if not, why.

    Joints are matched and their coordinates aligned, whatever the frames; then differences of base, tool, joint sign
    and zero, rotor inertia, masses and inertias are named in the order of their effect on torques. The exit code is 0
    where all torques agree, 1 where they do not.
    """
    result = lw.compare(reading.robot(a), reading.robot(b))
    if json:
        keys = ("a", "b", "same", "verdict", "first", "coordinates", "remaining")
        differences = [vars(difference) for difference in result.differences]
        summary = {key: getattr(result, key) for key in keys}
        print_json({**summary, "findings": result.table(), "differences": differences})
    else:
        echo(result.text(terminal_width() or NARROW))
    return 0 if result.same else 1


CONVENTIONS = ("standard", "modified", "frames")
TABLE = "Convention of the .toml: standard or modified (DH), or frames; default: the robot's own."


@command(
    ("linkwise convert stanford arm.urdf", "for ROS, Pinocchio, MuJoCo"),
    ("linkwise convert puma560 puma.urdf --urdf-rotors drop", "without its rotors, as the file says"),
    ("linkwise convert arm.urdf arm.toml", "and back, in frames"),
    ("linkwise convert stanford craig.toml --to modified", "Craig's DH parameters"),
)
def convert(
    robot: lw.Robot,
    file: Annotated[str, arg("file", "File to write: .toml or .urdf")],
    to: Annotated[str | None, opt("CONVENTION", TABLE, known=CONVENTIONS)] = None,
    urdf_rotors: UrdfRotors = "refuse",
) -> int:
    """A robot's file in another format, or its table in another convention.

    What is written is compared with the robot at random states first; what a format cannot say is an error.
    """
    check_file(file, "the file", ".toml", ".urdf")
    if to is not None:
        one_of(to, CONVENTIONS, "--to")
        robot = lw.convert(robot, cast(Any, to))
    write_file(lambda path: lw.save(robot, path, urdf_rotors=cast(Any, urdf_rotors)), file, "")
    note(f"{robot.name}: {robot.joints}, {robot.convention} table, {len(robot.rows)} rows")
    return 0
