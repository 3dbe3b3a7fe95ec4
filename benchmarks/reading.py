"""Reading robots from URDF files, beside Pinocchio.

python benchmarks/reading.py [--rounds 11]
"""

from __future__ import annotations

import sys
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import Any

from contestants import PEERS
from report import Section, Table, at_most, ratios, spread
from timing import ROUNDS, Contestant, Times, command, interleaved, one_core, optional

import linkwise as lw

sys.path.append(str(Path(__file__).parent.parent / "tests" / "helpers"))

FILES = {  # of example-robot-data, by what they are called here
    "Panda": "urdf/panda.urdf",
    "Talos, a humanoid": "robots/talos_full_v2.urdf",
    "TIAGo, two arms with hands": "robots/tiago_dual.urdf",
}
TREE = "random tree of 30 links"
HUMANOID = "Talos, a humanoid"
LINKWISE, PINOCCHIO = "Linkwise: lw.load", "Pinocchio: buildModelFromUrdf"
CLOSE = 1e-9
ABOUT = (
    "The whole way from the file to the robot, with files in the page cache: Linkwise reads in Python, checks every"
    " number and body and keeps the line of each element; Pinocchio reads with urdfdom, in C++, and checks little. The"
    ' robots have the same torques and inertia matrices. `unphysical="warn"` for files with bodies that cannot exist.'
)


def urdf_files(folder: Path) -> dict[str, Path]:
    """A tree that is written here, and the files of example-robot-data where it is installed."""
    made = {}
    if optional("pinocchio"):
        made[TREE] = folder / "tree.urdf"
        made[TREE].write_text(peer_tools().random_urdf(0, 30).text, encoding="utf-8")
    try:
        files = metadata.files("example-robot-data") or []
    except metadata.PackageNotFoundError:
        files = []
    for label, end in FILES.items():
        found = next((file for file in files if str(file).endswith(f"/{end}")), None)
        if found is not None:
            made[label] = Path(str(found.locate()))
    return made


def peer_tools() -> Any:
    import urdf_peers

    return urdf_peers


@contextmanager
def quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def reading(path: Path, rounds: int, peers: Sequence[str]) -> dict[str, Times]:
    """Seconds to read a file, round by round."""
    names = {"lw": lw, "path": str(path)}
    contestants = [Contestant(LINKWISE, 'lw.load(path, mimic="independent", unphysical="warn")', names)]
    pin = optional("pinocchio") if "pinocchio" in peers else None
    if pin is not None:
        arm = lw.load(path, mimic="independent", unphysical="warn")
        peer_tools().agree(arm, pin.buildModelFromUrdf(str(path)), CLOSE)
        contestants.append(Contestant(PINOCCHIO, "pin.buildModelFromUrdf(path)", {**names, "pin": pin}))
    with one_core():
        return interleaved(contestants, rounds)


def measure(rounds: int = ROUNDS, peers: Sequence[str] = PEERS) -> Section:
    section = Section("Reading files", "python benchmarks/reading.py", ABOUT)
    found: dict[str, dict[str, Times]] = {}
    with tempfile.TemporaryDirectory() as folder, quiet():
        for label, path in urdf_files(Path(folder)).items():
            found[label] = reading(path, rounds, peers)
    rows = []
    for label, times in found.items():
        theirs = times.get(PINOCCHIO)
        row = [label, spread(times[LINKWISE], 1e3), spread(theirs, 1e3) if theirs else ""]
        rows.append([*row, spread(ratios(times[LINKWISE], theirs)) if theirs else ""])
    header = ["", LINKWISE, PINOCCHIO, "how many times as long"]
    section.tables.append(Table("Milliseconds to read a URDF file:", header, rows))
    if HUMANOID in found:
        taken = {HUMANOID: [1e3 * seconds for seconds in found[HUMANOID][LINKWISE]]}
        section.claims.append(at_most("reading a humanoid's URDF takes under 50 ms", 50.0, taken, "ms"))
    return section


if __name__ == "__main__":
    print(measure(**command(__doc__, rounds=ROUNDS)))
