"""`linkwise describe`: a robot's table."""

from __future__ import annotations

from ...robot import Robot
from ..options import Json
from ..results import print_json
from ..screen import echo, facts, room, sentence, table, title

EXAMPLES = (
    ("linkwise describe stanford", "joints, bodies, drives"),
    ("linkwise describe planar3 --json", "the same for another program"),
    ("linkwise describe stanford --base free", "its base floats"),
)
OFTEN_EMPTY = ("Ixy", "Ixz", "Iyz", "rotation (rows)")
EMPTY = ("0", "none")


def command(arm: Robot, json: Json = False) -> int:
    """A robot's table: where each joint sits, the bodies, drives, friction and limits, and what q is made of."""
    from ...api.momentum import total_mass

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
    if room() is None:
        from ...robot.description import describe

        echo(describe(arm))
        return 0
    on_screen(arm)
    return 0


def on_screen(arm: Robot) -> None:
    """The same in tables that fit the terminal."""
    from ...api.momentum import total_mass
    from ...robot.description import size_of, tables
    from ...robot.tables import CONVENTIONS

    title(f"{arm.name}: {size_of(arm)}, {float(total_mass(arm)):g} kg")
    sentence(arm.about)
    echo()
    gravity = ", ".join(f"{float(x):g}" for x in arm.gravity)
    facts([("convention", CONVENTIONS[arm.convention].meaning), ("gravity", f"({gravity}) m/s², base frame")])
    echo()
    for heading, (head, rows) in tables(arm).items():
        kept = [k for k, name in enumerate(head) if name not in OFTEN_EMPTY or any(row[k] not in EMPTY for row in rows)]
        picked = [[row[k] if head[k] not in OFTEN_EMPTY else row[k].replace(", ", ",") for k in kept] for row in rows]
        table([head[k] for k in kept], picked, heading=heading[0].upper() + heading[1:])
