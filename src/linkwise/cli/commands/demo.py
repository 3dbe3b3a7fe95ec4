"""`linkwise demo`: the main jobs, each a command line that is shown and run."""

from __future__ import annotations

import shlex
import time
from pathlib import Path
from typing import Annotated

from ...figures import require_matplotlib
from ..declare import opt
from ..screen import echo, emit, gap, note, title

EXAMPLES = (
    ("linkwise demo", "pictures in the folder linkwise-demo"),
    ("linkwise demo --out here", "in another folder"),
)
STEPS = (  # what it is, the command line, and its pictures, which need matplotlib; {0} is the folder
    ("A robot of the library", "", "linkwise draw stanford --q 0.4,1.2,0.3,0,0.5,0 --out {0}/stanford.png"),
    ("Its torques along the motion of Saha's paper", "linkwise torque stanford", "--plot {0}/torques.png"),
    ("What its bearings carry", "linkwise loads stanford --csv {0}/loads.csv", "--plot {0}/loads.png"),
    (
        "An arm that is let go falls",
        "linkwise simulate planar3 --duration 2",
        "--plot {0}/fall.png --animate {0}/fall.gif",
    ),
    (
        "Another arm moves to a target",
        "linkwise simulate puma560 --target 1,-1,1.5,0,0.5,0",
        "--plot {0}/control.png",
    ),
    ("Equations", "linkwise equations planar3 gravity_torque --symbols", ""),
    ("Operations, by formulation", "linkwise count stanford inverse_dynamics", ""),
    ("C for its controller", "linkwise export stanford c gravity_torque --self-test --out {0}", ""),
)


def command(
    out: Annotated[str, opt("FOLDER", "Where pictures go.", None, "--out", "-o")] = "linkwise-demo",
) -> int:
    """The main jobs in less than a minute: every step is a command line, which is shown, run and can be changed."""
    from .. import main
    from ..app import INTERRUPTED

    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    begin, worst = time.perf_counter(), 0
    missing = without_matplotlib()
    if missing:
        note(f"no pictures, as {missing}")
    for heading, always, pictures in STEPS:
        line = always if missing else f"{always} {pictures}".strip()
        if not line:
            continue
        title(heading)
        emit(f"$ {line.format(out)}", "cyan")
        words = [word.format(out) for word in shlex.split(line)]
        code = main(words[1:])
        if code == INTERRUPTED:
            return code
        worst = max(worst, code)
        gap.due = True
    made = sorted(path.name for path in folder.iterdir())
    note(f"{time.perf_counter() - begin:.0f} s; in the folder {folder}: {', '.join(made)}")
    echo("Your own robot: a file in place of its name. All commands: linkwise --help")
    return worst


def without_matplotlib() -> str:
    """Why there are no pictures, or nothing."""
    try:
        require_matplotlib()
    except ImportError as error:
        return str(error)
    return ""
