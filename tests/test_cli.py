"""The command line, as a user runs it."""

import io
import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from unittest import mock

import pytest

import linkwise as lw
from linkwise.cli import main
from linkwise.kernels import cache


def linkwise(*words: str, folder: Path | str) -> subprocess.CompletedProcess[str]:
    """In this process; `test_version` starts one of its own."""
    out, err = io.StringIO(), io.StringIO()
    with mock.patch.dict(os.environ, LINKWISE_CACHE=str(folder)), redirect_stdout(out), redirect_stderr(err):
        try:
            code = main(words)
        except SystemExit as ended:
            code = int(ended.code or 0)
    return subprocess.CompletedProcess(words, code, out.getvalue(), err.getvalue())


def test_cache_is_shown_and_cleared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINKWISE_CACHE", str(tmp_path))
    tmp_path.chmod(0o700)
    for name in ("one", "two"):
        cache.store(cache.key(name), {}, bytes(2000))
    bytes_ = sum(path.stat().st_size for path in tmp_path.iterdir())
    shown = linkwise("cache", folder=tmp_path)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert shown.stdout == f"folder  {tmp_path}\nfiles   2\nsize    {bytes_ / 1000:.1f} kB\n"
    (tmp_path / "notes.txt").write_text("mine")
    cleared = linkwise("cache", "clear", folder=tmp_path)
    assert (cleared.returncode, cleared.stdout) == (0, f"Removed 2 files from {tmp_path}.\n")
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


@pytest.mark.parametrize("words", [("cache",), ("cache", "clear")])
def test_cache_that_is_off_or_not_there(words: tuple[str, ...], tmp_path: Path) -> None:
    off = linkwise(*words, folder="off")
    assert (off.returncode, off.stdout) == (0, "The cache is off.\n")
    missing = linkwise(*words, folder=tmp_path / "missing")
    assert (missing.returncode, missing.stderr) == (0, "")
    assert "0" in missing.stdout
    assert not (tmp_path / "missing").exists()


def test_version(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "linkwise", "--version"]
    result = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert (result.returncode, result.stdout) == (0, f"linkwise {lw.__version__}\n")


@pytest.mark.parametrize("words", [("--help",), ("cache", "--help")])
def test_help_has_examples(words: tuple[str, ...], tmp_path: Path) -> None:
    result = linkwise(*words, folder=tmp_path)
    assert result.returncode == 0
    assert "examples:\n  linkwise cache" in result.stdout


@pytest.mark.parametrize("words", [(), ("cahe",), ("cache", "clean"), ("--colour",)])
def test_what_is_not_understood(words: tuple[str, ...], tmp_path: Path) -> None:
    result = linkwise(*words, folder=tmp_path)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith("usage: linkwise")
