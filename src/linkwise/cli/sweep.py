"""`linkwise sweep`: how far the sweep in a folder is."""

from __future__ import annotations

import argparse
import sys

from ..sweep import open_sweep

ABOUT = """\
The state of a sweep, as lw.sweep left it in its folder: chunks that are done, failed and missing.
Every file is verified. Nothing is computed and nothing changed.
"""
EXAMPLES = """\
examples:
  linkwise sweep falls            the counts, and the last line of each error
  linkwise sweep falls --errors   the errors in full
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the parser of this command."""
    parser = commands.add_parser(
        "sweep",
        help="show how far a sweep is",
        description=ABOUT,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folder", help="the folder of the sweep")
    parser.add_argument("--errors", action="store_true", help="show the errors in full")
    parser.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> int:
    """Show the state of the sweep."""
    try:
        sweep = open_sweep(chosen.folder)
    except (OSError, ValueError, ImportError) as problem:
        print(problem, file=sys.stderr)
        return 1
    done, failed = len(sweep.done), sweep.failed
    print(f"folder        {sweep.folder}\ntrajectories  {sweep.count}\nchunks        {sweep.chunks}")
    print(f"done          {done}\nfailed        {len(failed)}\nmissing       {sweep.chunks - done - len(failed)}")
    for chunk, text in failed.items():
        print(f"chunk {chunk}: {text if chosen.errors else text.strip().splitlines()[-1]}")
    return 0
