"""`linkwise` at the prompt starts here, outside the package, so that Ctrl-C is quiet while the package is imported."""

from __future__ import annotations

import os
import signal
import sys
from typing import Any


def leave(*_: Any) -> None:
    os._exit(130)  # nothing was begun; an exception could be caught by what is imported, or become another


def main() -> int:
    """Run the command line of this process."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:  # it is ignored in processes that run in the background
        signal.signal(signal.SIGINT, leave)
    import linkwise.cli.app  # with typer

    if before is signal.default_int_handler:
        signal.signal(signal.SIGINT, before)
    return linkwise.cli.main()


if __name__ == "__main__":
    sys.exit(main())
