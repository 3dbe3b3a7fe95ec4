"""Where results go: closed streams, stdout, folders and devices, interruptions, films, motions that end early."""

import errno
import io
import json
import shlex
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import numpy as np
import pytest

import linkwise as lw
from command_line import linkwise
from facts import names, raises
from linkwise.cli import main
from linkwise.formats.files import FOLDER

pytestmark = pytest.mark.usefixtures("in_a_folder_of_its_own")


def test_closed_streams() -> None:
    line = ["torque", "planar3", "--samples", "3"]
    with redirect_stdout(None), redirect_stderr(io.StringIO()) as err:  # type: ignore[type-var]
        assert main(line) == 0
        assert sys.stdout is None
    assert err.getvalue() == ""
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(None):  # type: ignore[type-var]
        assert main([*line, "--csv", "x.csv"]) == 0
        assert main(["torqe"]) == 2
        assert main(["simulate", "planar3", "--duration", "0.01", "--samples", "3"]) == 0
    assert "link3" in out.getvalue()


@pytest.mark.parametrize("command", ["torque planar3", "loads planar3", "simulate planar3", "count planar3", "robots"])
def test_stdout_has_one_result(command: str) -> None:
    refused = linkwise(f"{command} --json --csv -")
    assert (refused.code, refused.out) == (2, "")
    assert "--json and --csv - both go to stdout" in refused.err


LINES = [
    "torque planar3 --csv no/x.csv", "torque planar3 --q 0,0,0 --csv no/x.csv",
    "torque planar3 --plot no/x.png", "loads planar3 --parquet no/x.parquet",
    "simulate planar3 --save no/x.npz", "simulate planar3 --animate no/x.html", "draw planar3 --out no/x.png",
    "convert planar3 no/x.toml",
]  # fmt: skip


@pytest.mark.parametrize("line", LINES)
def test_folders_are_looked_for_first(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def worked(*_: object, **__: object) -> None:
        pytest.fail("the work was done")

    monkeypatch.setattr(lw, "torque_along", worked)
    monkeypatch.setattr(lw, "simulate", worked)
    result = linkwise(line)
    assert (result.code, result.out) == (1, "")
    assert result.err.startswith("error: no/x.")
    assert result.err.endswith("the folder 'no' does not exist\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no such device")
def test_a_full_disk() -> None:
    result = linkwise("torque planar3 --samples 3 --csv /dev/full")
    assert result.code == 1
    assert result.err == "error: /dev/full: cannot be written (No space left on device)\n"
    assert Path("/dev/full").is_char_device()


class Full(io.StringIO):
    def flush(self) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_stdout() -> None:
    with redirect_stdout(Full()), redirect_stderr(io.StringIO()) as err:
        assert main(["--version"]) == 1
    assert err.getvalue() == "error: stdout: No space left on device\n"


def test_pipes_are_written_to(tmp_path: Path) -> None:
    import os
    import threading

    if not hasattr(os, "mkfifo"):
        pytest.skip("no named pipes")
    os.mkfifo("pipe.csv")
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(Path("pipe.csv").read_text()))
    reader.start()
    assert linkwise("torque planar3 --samples 3 --csv pipe.csv").code == 0
    reader.join()
    assert read[0].startswith("t,q1,q2,q3")
    assert len(read[0].splitlines()) == 4


def test_not_enough_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    def large(*_: object, **__: object) -> None:
        raise MemoryError("Unable to allocate 745. GiB")

    monkeypatch.setattr(lw, "simulate", large)
    result = linkwise("simulate planar3")
    assert (result.code, result.out) == (1, "")
    assert result.err.startswith("error: there is not enough memory (Unable to allocate 745. GiB)")


def test_a_demo_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(lw, "draw", stopped)
    result = linkwise("demo")
    assert result.code == 130
    assert result.out.count("$ linkwise") == 1
    assert names(result.err, "interrupted", "linkwise-demo/stanford.png")


def test_interrupted_before_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("linkwise.cli.app.run", stopped)
    assert linkwise("robots").code == 130


@pytest.mark.parametrize("rows", [1, 3])
def test_interrupted_with_a_film(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The exit code and the place are those of the interruption, whatever becomes of the film."""
    starts = np.zeros((rows, 3)) if rows > 1 else [0, 0, 0]
    half = lw.simulate(lw.load("planar3"), starts, duration=0.1, samples=3)

    def stopped(*_: object, **__: object) -> None:
        raise lw.errors.SimulationInterrupted(half)

    def impossible(*_: object, **__: object) -> None:
        raise ValueError("no film")

    monkeypatch.setattr(lw, "simulate", stopped)
    where = "interrupted at 0.1 s of 9 s" if rows == 1 else "interrupted; of 3 trajectories of 9 s: 3 done"
    files = ["part.csv", "fall.html"] if rows == 1 else ["fall.html"]
    line = f"simulate planar3 --duration 9 --animate fall.html {'--csv part.csv' if rows == 1 else ''}"
    done = linkwise(line)
    assert done.code == 130
    assert f"{where}\nWhat was computed is in " in done.err
    assert all(name in done.err and Path(name).exists() for name in files)
    assert rows > 1 or lw.load_recording("part.csv") == half
    monkeypatch.setattr("linkwise.recording.Recording.animate", impossible)
    failed = linkwise("simulate planar3 --duration 9 --animate other.html")
    assert failed.code == 130
    assert failed.err == f"error: {where}\nno film\n"
    assert "status" in failed.out


def test_films_are_checked_first(monkeypatch: pytest.MonkeyPatch) -> None:
    def worked(*_: object, **__: object) -> None:
        pytest.fail("the work was done")

    with monkeypatch.context() as patched:
        patched.setattr(lw, "simulate", worked)
        for words, message in {
            "--duration 2000 --animate x.html": "60000 frames (expected less than 20000: a larger --speed",
            "--animate x.html --fps 0": "fps is 0.0",
            "--duration inf --animate x.html": "inf frames",
            "--duration nan --animate x.html": "nan frames",
            "--animate x.html --speed nan": "speed is nan",
            "--fps 10": "expected --animate too",
        }.items():
            result = linkwise(f"simulate planar3 {words}")
            assert (result.code, result.out) == (2, "")
            assert message in result.err
    seen: dict[str, float] = {}
    monkeypatch.setattr("linkwise.recording.Recording.animate", lambda _, path, **options: seen.update(options))
    line = "simulate planar3 --duration 0.01 --samples 3 --animate x.html"
    assert linkwise(f"{line} --fps 10 --speed 0.5").code == 0
    assert seen == {"fps": 10.0, "speed": 0.5}


def test_a_motion_that_a_limit_stopped() -> None:
    """Its table has no empty rows, ends in the state at the limit, and is a trajectory again."""
    text = (FOLDER / "planar3.toml").read_text(encoding="utf-8")
    text = text.replace('name = "link1"', 'name = "link1"\nlimits = [-0.5, 0.5]')
    Path("arm.toml").write_text(text, encoding="utf-8")
    line = "simulate arm.toml --q0 0,0,0 --duration 1 --limits --samples 21"
    shown = linkwise(f"{line} --csv fall.csv --save fall.npz")
    assert shown.code == 0
    fall = lw.load_recording("fall.csv")
    assert fall == lw.load_recording("fall.npz")
    assert fall.status == "stopped"
    assert fall.t[-1] == fall.reached < 1
    assert np.isfinite(fall.q).all()
    assert np.isfinite(fall.tau).all()
    assert abs(fall.q[-1, 0] + 0.5) < 1e-9
    assert np.array_equal(fall.q[-1], fall.events[0].q)
    assert f"from 0 to {fall.reached:g} s" in shown.out
    assert linkwise("torque arm.toml fall.csv --samples 5").code == 0
    found = json.loads(linkwise(f"{line} --json").out)
    assert found["q"] == fall.q.tolist()
    assert (found["status"], found["events"][0]["name"]) == ("stopped", "link1 below -0.5")
    arm = lw.load("arm.toml")
    whole = lw.simulate(arm, [0, 0, 0], duration=1, samples=21, events=lw.control.joint_limits(arm))
    count = len(fall.t) - 1
    for name in ("t", "q", "qd", "qdd", "tau", "energy"):
        assert np.array_equal(getattr(whole, name)[:count], getattr(fall, name)[:count])


def test_explain_shows_a_line_that_runs() -> None:
    Path("my arm.toml").write_text((FOLDER / "planar3.toml").read_text(encoding="utf-8"))
    shown = linkwise("explain 'my arm.toml'").out
    line = shown.partition("their values: linkwise ")[2].partition(" NAME")[0]
    assert line == "explain 'my arm.toml'"
    assert linkwise(f"{line} m_hat").code == 0


def test_explain_states_its_defaults() -> None:
    usage = linkwise("explain --help").out
    for option, name in {"--qd": "nu", "--qdd": "tau", "--tau": "phi"}.items():
        default = " ".join(usage.partition(f"{option} STATE")[2].split()).partition("default: ")[2]
        missing = linkwise(f"explain planar3 {name} --qd 0,0,0" if option != "--qd" else f"explain planar3 {name}")
        assert default.startswith("none") == (missing.code != 0), option
    assert linkwise("explain planar3 nu --tau 1,0,0").out == linkwise("explain planar3 nu --qd 0,0,0").out


URDF = """<robot name="two">
  <link name="ground"/>
  <joint name="yaw" type="continuous"><parent link="ground"/><child link="arm"/><axis xyz="0 0 1"/></joint>
  <link name="arm"><inertial><mass value="1"/><origin xyz="0.1 0 0"/>
    <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
</robot>
"""


def test_loads_are_named_by_joints() -> None:
    """Bearings and drives of one screen by the same names; and a path with a line break is a path."""
    name = "two\narms.urdf"
    Path(name).write_text(URDF)
    shown = linkwise(f"loads {shlex.quote(name)} --samples 3")
    assert shown.code == 0
    assert shown.out.count("\nyaw ") == 3
    assert "\narm " not in shown.out
    found = json.loads(linkwise(f"loads {shlex.quote(name)} --samples 3 --json").out)
    assert (found["joints"], found["links"]) == (["yaw"], ["arm"])
    with raises(lw.errors.FileError, "text"):
        lw.load(URDF)


@pytest.mark.parametrize("command", ["torque planar3 --samples 5", "simulate planar3 --duration 0.01 --samples 3"])
def test_a_picture_that_fails_leaves_the_screen(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")

    def failing(*_: object, **__: object) -> None:
        raise OSError("the disk is gone")

    monkeypatch.setattr("linkwise.recording.Recording.plot", failing)
    monkeypatch.setattr("linkwise.results.Loads.plot", failing)
    result = linkwise(f"{command} --plot x.png")
    assert (result.code, result.err) == (1, "error: the disk is gone\n")
    assert "link3" in result.out


class Gone(io.StringIO):
    def write(self, _: str) -> int:
        raise BrokenPipeError


@pytest.mark.parametrize("command", ["torque", "torque --q 0,0,0", "loads", "simulate --duration 0.01"])
def test_files_are_written_though_the_reader_went_away(command: str) -> None:
    name, *words = command.split()
    with redirect_stdout(Gone()), redirect_stderr(io.StringIO()) as err:
        assert main([name, "planar3", *words, "--json", "--csv", "x.csv"]) == 0
    assert err.getvalue() == "wrote x.csv\n"
    assert Path("x.csv").stat().st_size > 0
