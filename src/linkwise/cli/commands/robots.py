"""`linkwise robots`: the library."""

from __future__ import annotations

import itertools
from typing import Annotated, Any

import typer

from ..options import Csv, Json, Parquet
from ..results import STDOUT, check_outputs, print_json, write_columns
from ..screen import echo, sentence, table

EXAMPLES = (
    ("linkwise robots", "all of them"),
    ("linkwise robots arm --json", "those with a word in their name or description"),
)


def command(
    word: Annotated[
        str | None, typer.Argument(metavar="word", help="Only robots with this word.", show_default=False)
    ] = None,
    json: Json = False,
    csv: Csv = None,
    parquet: Parquet = None,
) -> int:
    """The robots that come with Linkwise: their joints, mass, and where their numbers come from.

    Letters of joints, 2R for two of a kind: R revolute, P prismatic, H screw, C cylindrical, U universal, E planar,
    S ball, F free.
    """
    from ...api.momentum import total_mass
    from ...formats import LIBRARY, load

    check_outputs(json, csv, parquet)
    arms = [load(name) for name in LIBRARY]
    if word is not None:
        arms = [arm for arm in arms if word.lower() in f"{arm.name} {arm.about}".lower()]
    rows: list[dict[str, Any]] = [
        {"name": arm.name, "joints": arm.joints, "dof": arm.n, "mass": float(total_mass(arm)), "about": arm.about}
        for arm in arms
    ]
    if csv is not None or parquet is not None:
        keys = ("name", "joints", "dof", "mass", "about")
        write_columns({key: [row[key] for row in rows] for key in keys}, csv, parquet)
    if json:
        print_json({"robots": rows})
    elif csv != STDOUT:
        shown = [
            [row["name"], counted(str(row["joints"])), row["dof"], row["mass"], first_sentence(str(row["about"]))]
            for row in rows
        ]
        if rows:
            table(["name", "joints", "dof", "mass (kg)", "what it is"], shown)
            sentence("Another robot: the name of a file in place of a name. More on one: linkwise describe NAME")
        else:
            echo(f"No robot of the library has the word {word!r}.")
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
