"""`linkwise robots`: the library."""

from __future__ import annotations

import itertools
from typing import Annotated, Any

from ..declare import arg
from ..results import Tables
from ..screen import echo, sentence, table

EXAMPLES = (
    ("linkwise robots", "all of them"),
    ("linkwise robots arm --json", "those with a word in their name or description"),
)


def command(word: Annotated[str | None, arg("word", "Only robots with this word.")] = None, *, out: Tables) -> int:
    """The robots that come with Linkwise: their joints, mass, and where their numbers come from.

    Letters of joints, 2R for two of a kind: R revolute, P prismatic, H screw, C cylindrical, U universal, E planar,
    S ball, F free.
    """
    from ...api.momentum import total_mass
    from ...formats import LIBRARY, load

    arms = [load(name) for name in LIBRARY]
    if word is not None:
        arms = [arm for arm in arms if word.lower() in f"{arm.name} {arm.about}".lower()]
    rows: list[dict[str, Any]] = [
        {"name": arm.name, "joints": arm.joints, "dof": arm.n, "mass": float(total_mass(arm)), "about": arm.about}
        for arm in arms
    ]

    def on_screen() -> None:
        if not rows:
            echo(f"No robot of the library has the word {word!r}.")
            return
        table(
            ["name", "joints", "dof", "mass (kg)", "what it is"],
            [[x["name"], counted(x["joints"]), x["dof"], x["mass"], first_sentence(x["about"])] for x in rows],
        )
        sentence("Another robot: the name of a file in place of a name. More on one: linkwise describe NAME")

    out.show(lambda: {"robots": rows}, on_screen)
    out.write(lambda: {key: [row[key] for row in rows] for key in ("name", "joints", "dof", "mass", "about")})
    return 0 if rows else 1


def counted(joints: str) -> str:
    """RRPRRR as 2R P 3R."""
    runs = [(letter, len(list(run))) for letter, run in itertools.groupby(joints)]
    return " ".join(letter if count == 1 else f"{count}{letter}" for letter, count in runs)


def first_sentence(text: str, most: int = 76) -> str:
    """To its end, its colon or bracket, or a comma where it is long; or as many words as there is room for."""
    for end in (". ", ": ", " ("):
        text = text.split(end)[0]
    text = text if len(text) <= most else text.split(", ")[0]
    words = text.rstrip(".").split()
    kept = len(words)
    while len(" ".join(words[:kept])) > most - 4:
        kept -= 1
    return " ".join(words) if kept == len(words) else " ".join(words[:kept]).rstrip(",;") + " ..."
