"""The process of a command line: how it starts, what it imports, and Ctrl-C before anything is done."""

import os
import signal
import subprocess
import sys
import warnings
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
    done = subprocess.run(
        [*START, "robots"],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
        preexec_fn=heed_control_c,
        timeout=30,
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


@unix
def test_control_c_is_ours_again_when_the_package_is_imported() -> None:
    code = (
        "import signal, sys, linkwise.cli, linkwise_command;"
        "linkwise.cli.main = lambda: int(signal.getsignal(signal.SIGINT) is signal.default_int_handler);"
        "sys.exit(linkwise_command.main() + 40)"
    )
    assert subprocess.run([sys.executable, "-c", code], preexec_fn=heed_control_c, check=False).returncode == 41


@unix
def test_control_c_stays_ignored_in_the_background() -> None:
    code = (
        "import signal, sys, linkwise.cli, linkwise_command;"
        "linkwise.cli.main = lambda: int(signal.getsignal(signal.SIGINT) is signal.SIG_IGN);"
        "sys.exit(linkwise_command.main() + 40)"
    )

    def ignore() -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    assert subprocess.run([sys.executable, "-c", code], preexec_fn=ignore, check=False).returncode == 41


def test_deprecations_are_not_shown_though_a_package_asks_for_it(capsys: pytest.CaptureFixture[str]) -> None:
    class Mine(DeprecationWarning): ...

    with app.quiet_warnings():
        warnings.simplefilter("default", Mine)
        warnings.warn("old name", Mine, stacklevel=1)
        warnings.warn("a caveat", UserWarning, stacklevel=1)
    assert capsys.readouterr().err == "warning: a caveat\n"
