"""Command lines in this process: what they print and their exit code."""

import io
import os
import shlex
import signal
import sys
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from unittest import mock

import pytest

import linkwise.simulation
from linkwise.cli import main

unix = pytest.mark.skipif(sys.platform == "win32", reason="signals")


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str


def linkwise(line: str, environment: Mapping[str, str] | None = None) -> Result:
    """Run `linkwise ...`, without the first word."""
    out, err = io.StringIO(), io.StringIO()
    words = shlex.split(line)
    clean = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "FORCE_COLOR", "NO_COLOR")}
    patched = mock.patch.dict(os.environ, {**clean, **(environment or {})}, clear=True)
    with patched, redirect_stdout(out), redirect_stderr(err):
        code = main(words)
    return Result(code, out.getvalue(), err.getvalue())


def heed_control_c() -> None:
    """A suite that runs in the background hands down that SIGINT is ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
