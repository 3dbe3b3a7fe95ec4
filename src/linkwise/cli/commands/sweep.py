"""`linkwise sweep`: how far the sweep in a folder is; the rest of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from ..declare import arg, flag
from ..options import Json
from ..results import print_json
from ..screen import complain, emit

if TYPE_CHECKING:
    from ...sweeps import Sweep

EXAMPLES = (
    ("linkwise sweep falls", "the counts, and the last line of each error"),
    ("linkwise sweep falls --errors", "the errors in full"),
    ("linkwise sweep falls --resume", "compute what is missing or failed"),
)


def command(
    folder: Annotated[str, arg("folder", "The folder of the sweep")],
    errors: Annotated[bool, flag("--errors", "Show the errors in full.")] = False,
    resume: Annotated[bool, flag("--resume", "Compute the chunks that are missing or failed.")] = False,
    json: Json = False,
) -> int:
    """The state of a sweep, as lw.sweep left it in its folder: chunks that are done, failed and missing.

    Every file is verified; without --resume nothing is computed and nothing changed. Ctrl-C leaves what was computed,
    and --resume goes on from there. A sweep with functions (torque, events, vary) is resumed from Python. With
    --resume the exit code is 1 where chunks failed.
    """
    from ...errors import RobotError
    from ...sweeps import SweepInterrupted, open_sweep

    try:
        sweep = open_sweep(folder)
    except RobotError:
        raise
    except ValueError as problem:
        raise OSError(str(problem)) from None  # the folder holds no sweep, or another version's
    if resume:
        try:
            sweep = sweep.resume()
        except SweepInterrupted as interrupted:
            show(folder, interrupted.sweep, errors, json)
            complain(f"interrupted; finished chunks are kept: linkwise sweep {folder} --resume goes on")
            return 130
    show(folder, sweep, errors, json)
    return 1 if resume and sweep.failed else 0


def show(folder: str, sweep: Sweep, errors: bool, json: bool) -> None:
    done, failed = len(sweep.done), sweep.failed
    counts: dict[str, Any] = {
        "folder": folder,
        "trajectories": sweep.count,
        "chunks": sweep.chunks,
        "done": done,
        "failed": len(failed),
        "missing": sweep.chunks - done - len(failed),
    }
    if json:
        print_json({**counts, "errors": failed})
        return
    for name, value in counts.items():
        emit(f"{name:12}  {value}")
    for chunk, text in failed.items():
        emit(f"chunk {chunk}: {text if errors else text.strip().splitlines()[-1]}")
