"""`linkwise describe`: a robot's table."""

from __future__ import annotations

import sys

from ...robot import Robot
from .. import colour
from ..options import Json
from ..results import print_json
from ..robot import with_robot
from ..screen import facts, say, table, title

EXAMPLES = (
    ("linkwise describe stanford", "joints, bodies, drives"),
    ("linkwise describe planar3 --json", "the same for another program"),
    ("linkwise describe stanford --base free", "its base floats"),
)


@with_robot
def command(arm: Robot, json: Json = False) -> int:
    """A robot's table: where each joint sits, the bodies, drives, friction and limits, and what q is made of."""
    from ...api import total_mass

    if json:
        print_json(
            {
                "name": arm.name,
                "about": arm.about,
                "convention": arm.convention,
                "gravity": arm.gravity,
                "joints": arm.joints,
                "dof": arm.n,
                "q_names": arm.q_names,
                "v_names": arm.v_names,
                "mass": float(total_mass(arm)),
                "links": [dict(row) for row in arm.rows],
            }
        )
        return 0
    if not colour.on_terminal(sys.stdout):
        from ...robot.describe import description

        say(description(arm))
        return 0
    on_screen(arm)
    return 0


def on_screen(arm: Robot) -> None:
    """The same in tables that fit the terminal."""
    import textwrap

    from ...api import total_mass
    from ...robot import describe
    from ...robot.coordinates import size_in_words
    from ...robot.tables import CONVENTIONS
    from ..screen import room

    width = room() or 80
    title(f"{arm.name}: {size_in_words(arm.n, len(arm.names))} ({arm.joints}), {float(total_mass(arm)):g} kg")
    for line in textwrap.wrap(arm.about, width):
        say(line)
    say()
    gravity = ", ".join(f"{float(x):g}" for x in arm.gravity)
    facts([("convention", CONVENTIONS[arm.convention].meaning), ("gravity", f"({gravity}) m/s², base frame")])
    say()
    for heading, (head, rows) in describe.tables(arm).items():
        table(head, rows, heading=heading)
