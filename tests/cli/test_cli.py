"""The command line as a whole: help, errors and exit codes, encodings, colours, completion."""

import inspect
import io
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path

import numpy as np
import pytest

import linkwise as lw
from command_line import heed_control_c, linkwise, unix
from effort import rest_slow
from linkwise.cli import COMMANDS, MODULE_OF, MODULES, SECTIONS, app, main, screen
from linkwise.formats.files import FOLDER
from linkwise.kernels import cache

CODES = re.compile(r"\x1b\[")


def test_every_command_is_in_a_module() -> None:
    files = {path.stem for path in Path(app.__file__).parent.joinpath("commands").glob("[a-z]*.py")}
    assert files == set(MODULES)
    assert set(MODULE_OF) == set(COMMANDS)
    assert sum(map(len, SECTIONS.values())) == len(COMMANDS)


def test_without_arguments_it_is_the_help() -> None:
    alone, asked = linkwise(""), linkwise("--help")
    assert (alone.code, alone.err) == (0, "")
    assert alone.out == asked.out == linkwise("-h").out
    for name, about in COMMANDS.items():
        assert f"  {name} " in alone.out
        assert about in alone.out
    assert "Exit codes:\n  0 done" in alone.out


USE_OTHERS = ("budget", "compare", "identify", "rfdsim")  # files that another command wrote


@pytest.mark.parametrize("name", COMMANDS)
def test_help_of_a_command(name: str) -> None:
    shown = linkwise(f"{name} --help")
    assert (shown.code, shown.err) == (0, "")
    assert shown.out.startswith(f"Usage: linkwise {name}")
    examples = app.load_command(name).examples
    assert examples
    for line, about in examples:
        assert line.startswith(f"linkwise {name}") or name in USE_OTHERS
        assert f"  {line}" in shown.out
        assert about in " ".join(shown.out.split())
    assert max(map(len, shown.out.splitlines())) <= 80
    assert shown.out.isprintable() or shown.out.replace("\n", "").isprintable()
    for param in app.load_command(name).params:
        if param.param_type_name == "option":
            assert re.fullmatch(r"[A-Z](?!f |ith ).*\.", param.help), param.name  # a sentence
    for narrow in linkwise(f"{name} --help", {"COLUMNS": "60"}).out.splitlines():
        assert len(narrow) <= 60 or "linkwise" in narrow or narrow.startswith(("  0 done", "Usage"))


OF_FUNCTIONS = {"describe": lw.load, "draw": lw.draw, "excite": lw.excitation, "identify": lw.identify}
OTHER_MEANING = ("duration", "ignore", "samples", "target")  # at the prompt


@pytest.mark.parametrize(("name", "function"), [*OF_FUNCTIONS.items(), ("simulate", lw.simulate)])
def test_defaults_are_those_of_the_functions(name: str, function: Callable[..., object]) -> None:
    taken = inspect.signature(function).parameters
    params = [p for p in app.load_command(name).params if p.name in taken and p.name not in OTHER_MEANING]
    assert len(params) >= 3
    for param in params:
        default = taken[param.name].default
        assert default in (inspect.Parameter.empty, param.default), param.name


def test_version_of_a_process(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "linkwise", "--version"]
    result = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert (result.returncode, result.stdout) == (0, f"linkwise {lw.__version__}\n")


MISTYPED = {
    "torqe stanford": "there is no command 'torqe', did you mean 'torque'?",
    "torque stanfrod": "there is no robot 'stanfrod', did you mean 'stanford'?",
    "torque stanford --smaples 3": "there is no option '--smaples', did you mean '--samples'?",
    "--colour": "there is no option '--colour'",
    "torque stanford qintic": "did you mean 'quintic'?",
    "torque stanford --samples many": "--samples",
    "torque stanford --samples 1": "--samples",
    "torque": "ROBOT",
    "torque stanford --q 1,2": "--q has 2 numbers (expected 6 for robot 'stanford': link1, link2",
    "torque stanford --q link9=1": "did you mean 'link",
    "torque stanford --q 1,2,3,4,5,x": "'x' is not a number",
    "torque stanford --q 0,0,0,0,0,0 --method denok": "did you mean 'denoc'?",
    "torque stanford --qd 0,0,0,0,0,0": "expected --q too",
    "torque stanford --plot torque.jpeg2": "must end with .png, .svg, .pdf",
    "torque stanford --base fre": "did you mean 'free'?",
    "torque puma560 paper": "they do for stanford, planar3",
    "torque stanford --gravity 1,2": "expected three",
    "count stanford inverse_dynamic": "did you mean 'inverse_dynamics'?",
    "export stanford cpp": "the format is 'cpp'",
    "export stanford toml --self-test": "belong to code",
    "export stanford c gravity_torque --friction": "--friction: gravity_torque has no such option",
    "simulate planar3 --integrator verner56": "did you mean 'verner65'?",
    "simulate planar3 --target 0,0,0 --torque 1,1,1": "expected one of them",
    "explain planar3 m_hut": "did you mean 'm_hat'?",
    "explain planar3 nu": "nu depends on rates",
    "count stanford jacobian --method denoc": "computed in one way",
    "export stanford c jacobian --method denoc": "computed in one way",
    "torque stanford --payload -1": "mass is -1.0",
    "torque humanoid --payload 1": "several tips",
    "torque stanford --payload ''": "--payload has 0 numbers",
    "torque stanford --q 1e999,0,0,0,0,0": "is too large",
    "torque stanford --q 1e308pi,0,0,0,0,0": "is too large",
    "torque stanford --q pi/0,0,0,0,0,0": "'pi/0' is not a number",
    "export stanford c --base-parameters": "--base-parameters: inverse_dynamics has no such option",
    "torque stanford ''": "the trajectory",
    "torque ''": "there is no robot ''",
    "simulate planar3 --follow paper --target 1,1,1": "expected no --target",
    "convert stanford arm.abc": "must end with .toml, .urdf",
    "cache clean": "did you mean 'clear'?",
    "equations planar3 --format tex": "--format is 'tex'",
    "equations planar3 --element 1": "element is (1,) (expected 2 numbers",
    "equations planar3 --element a,b": "--element is 'a,b'",
    "equations planar3 equations_of_motion --method elimination": "expected neither --method nor --element",
    "equations planar3 equations_of_motion --format sympy": "--format sympy",
    "equations planar3 gravity_torque --method elimination": "method is 'elimination'",
    "loads planar3 --axes world": "'world' is not one of 'base', 'frame'",
    "simulate planar3 --kp 10": "expected --target or --follow too",
    "torque planar3 --q link1=1,link2=0,link1=2": "--q: 'link1' is given twice",
    "torque planar3 --q 0,0,0 --q 1,1,1": "is given twice (expected once)",
    "simulate planar3 --duration 1 --duration 2": "is given twice (expected once)",
    "TORQUE planar3": "did you mean 'torque'?",
    "loads planar3 cycloid --q 0,0,0": "expected no trajectory",
    "loads planar3 --q 0,0,0 --plot x.png": "expected no --plot",
    "torque planar3 --q 0,0,0 --to 1,1,1": "expected no --to",
    "loads planar3 --qdd 0,0,0": "--qdd belongs to a state",
    "count planar3 --function jacobian": "the function stands without it, as in linkwise count ROBOT [FUNCTION]\n",
    "equations planar3 --function=jacobian": "the function stands without it, as in linkwise equations ROBOT [FUNC",
    "export planar3 c --function jacobian": "stands without it, as in linkwise export ROBOT FORMAT [FUNCTION...]",
    "torque planar3 --trajectory move.csv": "the trajectory stands without it, as in linkwise torque ROBOT [T",
    "describe --robot planar3": "'--robot': the robot stands without it, as in linkwise describe ROBOT\n",
}


@pytest.mark.parametrize("line", MISTYPED)
def test_what_is_not_understood(line: str) -> None:
    result = linkwise(line)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("error: ")
    assert MISTYPED[line] in result.err
    assert "Traceback" not in result.err


def test_debug_shows_where(tmp_path: Path) -> None:
    for line in ("torque stanfrod --debug", "--debug torque stanfrod"):
        result = linkwise(line)
        assert result.code == 2
        assert "Traceback" in result.err
        assert "did you mean 'stanford'?" in result.err


def test_bad_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("broken.toml").write_text('name = "x"\n[[link]]\nname = "a"\nmass = -1\n')
    Path("table.csv").write_text("t,q1,q2,q3\n0,0,0,0\n1,x,0,0\n")
    lines = ("torque missing.toml", "describe broken.toml", "torque planar3 table.csv", "torque planar3 --q @no.csv")
    for line in lines:
        result = linkwise(line)
        assert (result.code, result.out) == (3, ""), line
        assert result.err.startswith("error: ")
        assert "Traceback" not in result.err
    assert linkwise("torque planar3 table.csv").err.startswith("error: table.csv:3: ")


def test_work_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for line in ("torque planar3 --csv no/x.csv", "convert puma560 puma.urdf", "simulate planar3 --csv no/x.csv"):
        assert linkwise(line).code == 1
    assert linkwise("robots nothing-of-this-name").code == 1
    lost = linkwise("simulate planar3 --max-steps 3 --samples 5 --csv part.csv")
    assert lost.code == 1
    assert "3 steps were tried" in lost.err
    assert lost.err.endswith("What was computed is in part.csv.\n")
    assert lw.load_recording("part.csv").status == "too many steps"


def test_a_fault_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("within")

    monkeypatch.setattr(lw, "load", broken)
    result = linkwise("robots")
    assert result.code == 1
    assert "Traceback" in result.err
    assert "fault in Linkwise" in result.err


def test_warnings_are_one_line(tmp_path: Path) -> None:
    text = Path(FOLDER / "planar3.toml").read_text(encoding="utf-8")
    thin = re.sub(r"inertia = .*", "inertia = [[0.001, 0, 0], [0, 0.001, 0], [0, 0, 0.9]]", text, count=1)
    path = tmp_path / "thin.toml"
    path.write_text(thin, encoding="utf-8")
    assert linkwise(f"count {shlex.quote(str(path))} jacobian").code == 3
    result = linkwise(f"count {shlex.quote(str(path))} jacobian --unphysical warn")
    assert result.code == 0
    assert result.err.startswith("warning: ")
    assert "UserWarning" not in result.err
    assert len(result.err.splitlines()) == 1


def test_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(lw, "load", stopped)
    result = linkwise("robots")
    assert (result.code, result.out, result.err) == (130, "", "\ninterrupted\n")


@pytest.mark.parametrize("name", ["ascii", "cp1252", "cp437", "utf-8"])
def test_encodings(name: str) -> None:
    raw = io.BytesIO()
    with redirect_stdout(io.TextIOWrapper(raw, encoding=name, write_through=True)):
        assert main(["explain", "planar3"]) == 0
        assert main(["simulate", "--help"]) == 0
        text = raw.getvalue().decode(name)
    assert "?" not in text.replace("(?)", "")
    assert ("psi" if name in ("ascii", "cp1252") else "") in text


def test_spelling() -> None:
    assert "".join(map(screen.ascii_spelling, "ψ̂ θ̇ D^½ U⁻¹ – é ł 漢")) == "psi^ theta' D^1/2 U^-1 - e l ?"


def test_colours() -> None:
    line = "torque planar3 --samples 5"
    assert not CODES.search(linkwise(line).out)
    assert CODES.search(linkwise(line, {"FORCE_COLOR": "1"}).out)
    assert not CODES.search(linkwise(line, {"FORCE_COLOR": "1", "NO_COLOR": "1"}).out)
    assert not CODES.search(linkwise(f"{line} --no-color", {"FORCE_COLOR": "1"}).out)
    assert not CODES.search(linkwise(line, {"FORCE_COLOR": "1", "TERM": "dumb"}).out)
    coloured = linkwise("--help", {"FORCE_COLOR": "1"}).out
    assert re.sub(r"\x1b\[[\d;]*m", "", coloured) == linkwise("--help").out


@pytest.mark.parametrize("robot", rest_slow(["planar3", "stanford", "quadruped"], ["quadruped"]))
@pytest.mark.parametrize("look", [{"FORCE_COLOR": "1"}, {"FORCE_COLOR": "1", "NO_COLOR": "1"}, {}])
def test_80_columns(robot: str, look: dict[str, str]) -> None:
    """On a terminal with and without colours, and in a pipe whose reader sets COLUMNS."""
    environment = {**look, "COLUMNS": "80"}
    for line in (f"describe {robot}", f"loads {robot} --samples 5", "robots"):
        shown = linkwise(line, environment)
        assert shown.code == 0
        for row in shown.out.splitlines():
            assert len(re.sub(r"\x1b\[[\d;]*m", "", row)) <= 80, row


def completed(words: str, shell: str = "bash") -> list[str]:
    environment = {"_LINKWISE_COMPLETE": f"complete_{shell}", "_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    environment |= dict.fromkeys(("COMP_WORDS", "_TYPER_COMPLETE_ARGS"), words)
    environment["COMP_CWORD"] = str(len(words.split(" ")) - 1)
    result = linkwise("", environment)
    assert result.code == 0
    return result.out.split("\n")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(shell: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = linkwise("", {"_LINKWISE_COMPLETE": f"source_{shell}"})
    assert script.code == 0
    assert f"_LINKWISE_COMPLETE=complete_{shell}" in script.out
    monkeypatch.chdir(tmp_path)
    (tmp_path / "stand.toml").touch()
    (tmp_path / "move.csv").touch()
    for words, expected in {
        "linkwise tor": "torque",
        "linkwise torque sta": "stanford",
        "linkwise torque stan": "stand.toml",
        "linkwise torque stanford qu": "quintic",
        "linkwise torque stanford mo": "move.csv",
        "linkwise torque stanford --sam": "--samples",
        "linkwise count stanford forw": "forward_dynamics",
        "linkwise export stanford ur": "urdf",
        "linkwise torque stanford --base fr": "free",
    }.items():
        assert expected in "\n".join(completed(words, shell)), words


def test_cache_is_shown_and_cleared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINKWISE_CACHE", str(tmp_path))
    tmp_path.chmod(0o700)
    for name in ("one", "two"):
        cache.store(cache.key(name), {}, bytes(2000))
    bytes_ = sum(path.stat().st_size for path in tmp_path.iterdir())
    shown = linkwise("cache")
    assert (shown.code, shown.err) == (0, "")
    assert shown.out == f"folder  {tmp_path}\nfiles   2\nsize    {bytes_ / 1000:.1f} kB\n"
    (tmp_path / "notes.txt").write_text("mine")
    cleared = linkwise("cache clear")
    assert (cleared.code, cleared.out) == (0, f"Removed 2 files from {tmp_path}.\n")
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


@pytest.mark.parametrize("line", ["cache", "cache clear"])
def test_cache_that_is_off_or_not_there(line: str, tmp_path: Path) -> None:
    off = linkwise(line, {"LINKWISE_CACHE": "off"})
    assert (off.code, off.out) == (0, "The cache is off.\n")
    missing = linkwise(line, {"LINKWISE_CACHE": str(tmp_path / "missing")})
    assert (missing.code, missing.err) == (0, "")
    assert "0" in missing.out
    assert not (tmp_path / "missing").exists()


def process(*words: str, **options: object) -> subprocess.Popen[str]:
    streams: dict[str, object] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    if sys.platform != "win32":
        streams["preexec_fn"] = heed_control_c
    return subprocess.Popen([sys.executable, "-m", "linkwise", *words], **{**streams, **options})  # type: ignore[call-overload]


@unix
@pytest.mark.slow
def test_control_c_in_a_simulation(tmp_path: Path) -> None:
    line = "simulate planar3 --duration 1e6 --max-steps 1000000000 --rtol 1e-12 --samples 100001 --csv part.csv"
    with process(*line.split(), cwd=tmp_path) as running:
        time.sleep(4.0)
        running.send_signal(signal.SIGINT)
        _, err = running.communicate(timeout=60)
    assert running.returncode == 130
    assert "interrupted at" in err
    assert "Traceback" not in err
    recording = lw.load_recording(tmp_path / "part.csv")
    assert recording.status == "interrupted"
    assert 0.0 < recording.reached < 1e6


@unix
@pytest.mark.slow
def test_control_c_in_a_sweep(tmp_path: Path) -> None:
    arm, folder = lw.load("planar3"), tmp_path / "falls"
    samples = lw.sweeps.monte_carlo(4000, 1, q0=([-1] * 3, [1] * 3))
    whole = lw.sweep(arm, samples, folder, 20.0, chunk=40, keep="ends", rtol=1e-11, files="npz").read()
    for path in folder.glob("chunk-*"):
        path.unlink()
    with process("sweep", str(folder), "--resume") as running:
        while not list(folder.glob("chunk-*")) and running.poll() is None:
            time.sleep(0.02)
        running.send_signal(signal.SIGINT)
        _, err = running.communicate(timeout=60)
    assert running.returncode == 130
    assert "--resume goes on" in err
    done = lw.sweeps.open_sweep(folder).done
    assert 0 < len(done) < 100
    assert linkwise(f"sweep {shlex.quote(str(folder))} --resume").code == 0
    assert np.array_equal(lw.sweeps.open_sweep(folder).read()["q_end"], whole["q_end"])


@unix
@pytest.mark.slow
def test_a_reader_that_goes_away() -> None:
    with process("torque", "stanford", "--csv", "-", "--samples", "20001") as running:
        assert running.stdout is not None
        assert running.stdout.readline().startswith("t,q1,")
        running.stdout.close()
        assert running.wait(timeout=60) == 0
        assert running.stderr is not None
        assert running.stderr.read() == ""


@pytest.mark.slow
def test_help_imports_little() -> None:
    heavy = ("matplotlib", "rich", "llvmlite", "scipy", "sympy", "pandas", "pyarrow", "linkwise.simulation")
    code = (
        f"import sys; from linkwise.cli import main; main(['--help']); print([m for m in {heavy} if m in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ)
    assert result.stdout.endswith("\n[]\n")
