"""The process of a command line: how it starts, what it imports, and Ctrl-C before anything is done."""

import os
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from command_line import heed_control_c, unix
from linkwise.cli import app

START = [sys.executable, "-m", "linkwise_command"]


@unix
@pytest.mark.parametrize("module", ["numpy", "typer"])
def test_control_c_while_the_package_is_imported(tmp_path: Path, module: str) -> None:
    """The module stands for the real one, and Ctrl-C comes while it is imported."""
    text = "import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(60)\n"
    (tmp_path / f"{module}.py").write_text(text)
    path = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    options = {"env": {**os.environ, "PYTHONPATH": path}, "preexec_fn": heed_control_c, "timeout": 30}
    done = subprocess.run([*START, "robots"], capture_output=True, text=True, **options)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def ignore_control_c() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@unix
@pytest.mark.parametrize(("before", "after"), [(heed_control_c, "default_int_handler"), (ignore_control_c, "SIG_IGN")])
def test_control_c_is_ours_again_when_the_package_is_imported(before: Callable[[], None], after: str) -> None:
    """And stays ignored in the background."""
    code = (
        "import signal, sys, linkwise.cli, linkwise_command;"
        f"linkwise.cli.main = lambda: int(signal.getsignal(signal.SIGINT) is signal.{after});"
        "sys.exit(linkwise_command.main() + 40)"
    )
    assert subprocess.run([sys.executable, "-c", code], preexec_fn=before, check=False).returncode == 41


def test_deprecations_are_not_shown_though_a_package_asks_for_it(capsys: pytest.CaptureFixture[str]) -> None:
    class Mine(DeprecationWarning): ...

    with app.quiet_warnings():
        warnings.simplefilter("default", Mine)
        warnings.warn("old name", Mine, stacklevel=1)
        warnings.warn("a caveat", UserWarning, stacklevel=1)
    assert capsys.readouterr().err == "warning: a caveat\n"
