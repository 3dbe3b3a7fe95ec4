"""The command line, `linkwise`: one file per command, with `add(commands)` that adds its parser and what it runs."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from ..version import __version__
from . import cache, sweep

COMMANDS = (cache, sweep)
EXAMPLES = """\
examples:
  linkwise cache          where compiled code is kept, and how much of it
  linkwise cache clear    remove it
  linkwise sweep FOLDER   how far a sweep is
  linkwise cache --help   more on one command
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit code: 0 where it was done, 1 where it was not, 2 where it was not understood."""
    parser = argparse.ArgumentParser(
        prog="linkwise",
        description="Robot dynamics, link by link.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"linkwise {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="command", dest="command")
    for command in COMMANDS:
        command.add(commands)
    chosen = parser.parse_args(arguments)
    if chosen.command is None:
        parser.print_help(sys.stderr)
        return 2
    code: int = chosen.run(chosen)
    return code
