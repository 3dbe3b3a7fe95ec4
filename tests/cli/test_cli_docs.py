"""The screens of docs/command-line.md are what the commands print."""

import doctest
import io
import re
import shlex
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

import linkwise as lw
from linkwise.cli import COMMANDS, main

PAGE = Path(__file__).parents[2] / "docs" / "command-line.md"
OF_THE_MACHINE = ("linkwise doctor", "linkwise bench", "linkwise cache")  # other numbers everywhere
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def screens() -> list[tuple[str, str]]:
    """Command lines and what they print, in order."""
    found = []
    for block in re.findall(r"```console\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL):
        parts = re.split(r"^\$ (linkwise.*)\n", block, flags=re.MULTILINE)
        found += list(zip(parts[1::2], parts[2::2], strict=True))
    return found


def test_every_command_has_a_screen() -> None:
    shown = {line.split()[1] for line, _ in screens() if " " in line}
    assert set(COMMANDS) - {"demo"} <= shown
    assert "linkwise demo" in PAGE.read_text(encoding="utf-8")


def test_lines_for_shells() -> None:
    """The words that a shell gets are those it is to run, and no more."""
    lines = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if "_LINKWISE_COMPLETE" in line]
    assert [line.partition("#")[0].strip() for line in lines] == [
        'eval "$(_LINKWISE_COMPLETE=source_bash linkwise)"',
        "_LINKWISE_COMPLETE=source_fish linkwise | source",
    ]


def test_screens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    for name in ("COLUMNS", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    samples = lw.sweeps.monte_carlo(1000, 7, q0=([-1] * 3, [1] * 3))
    lw.sweep(lw.load("planar3"), samples, "falls", 1.0, chunk=250, keep="ends", files="npz")
    for line, expected in screens():
        if line.startswith(OF_THE_MACHINE):
            continue
        printed = io.StringIO()
        with redirect_stdout(printed), redirect_stderr(printed):
            main(shlex.split(line)[1:])
        assert doctest.OutputChecker().check_output(expected, printed.getvalue(), FLAGS), (
            f"{line}\n{printed.getvalue()}"
        )
