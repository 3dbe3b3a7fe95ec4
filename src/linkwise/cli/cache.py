"""`linkwise cache`: where compiled code is kept, how much of it, and its removal."""

from __future__ import annotations

import argparse

from ..kernels import cache

ABOUT = """\
Compiled code is kept in a folder of yours, so that a second start need not compile.
LINKWISE_CACHE names another folder; LINKWISE_CACHE=off keeps nothing.
"""
EXAMPLES = """\
examples:
  linkwise cache          show the folder, the number of files and their size
  linkwise cache clear    remove the files; the code is compiled again when it is needed
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the parser of this command."""
    parser = commands.add_parser(
        "cache",
        help="show or clear the folder of compiled code",
        description=ABOUT,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("action", nargs="?", choices=["clear"], help="clear: remove the files (default: show them)")
    parser.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> int:
    """Show the folder, or clear it."""
    folder = cache.folder()
    if folder is None:
        print("The cache is off.")
        return 0
    if chosen.action == "clear":
        removed, (left, _) = cache.clear(), cache.size()
        print(f"Removed {_files(removed)} from {folder}{f'; {_files(left)} still there' if left else ''}.")
        return 1 if left else 0
    files, bytes_ = cache.size()
    size = f"{bytes_ / 1e6:,.1f} MB" if bytes_ >= 1e6 else f"{bytes_ / 1e3:.1f} kB"
    print(f"folder  {folder}\nfiles   {files}\nsize    {size}")
    return 0


def _files(number: int) -> str:
    return f"{number} file{'' if number == 1 else 's'}"
