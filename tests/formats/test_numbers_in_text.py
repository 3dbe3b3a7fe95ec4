"""Numbers in text are decimal digits, as other programs read them: Python's float and int take more."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwise as lw
from command_line import linkwise
from linkwise.identification.reading import recordings_of

ODD = ["1_0", "1e1_0", "\uff11\uff10", "\u0661", "0x10"]  # full-width and Arabic digits
ARM = lw.load("planar3")
HEAD = "t,q1,q2,q3,tau1,tau2,tau3"


def rows(cell: str) -> str:
    plain = [f"{0.01 * k!r},{float(np.sin(0.1 * k))!r},0.0,{0.001 * k!r},1.0,2.0,3.0\n" for k in range(40)]
    plain[3] = f"0.03,0.1,{cell},0.0,1.0,2.0,3.0\n"
    return "".join(plain)


def identified(file: Path) -> Any:
    return recordings_of(ARM, file, None, None, False, None)


def at_the_prompt(file: Path) -> Any:
    result = linkwise(f"torque planar3 --q @{file}")
    if result.code == 3:
        raise lw.errors.FileError(result.err.removeprefix("error: "))


@pytest.mark.filterwarnings("ignore:.* the motion begins at speed")
@pytest.mark.parametrize("reader", [lw.trajectories.read_csv, identified, at_the_prompt])
@pytest.mark.parametrize("cell", ODD)
def test_cells_of_tables(reader: Callable[[Path], Any], cell: str, tmp_path: Path) -> None:
    file = tmp_path / "table.csv"
    file.write_text(f"{HEAD}\n{rows(cell)}", encoding="utf-8")
    with pytest.raises(lw.errors.FileError) as error:
        reader(file)
    assert f"{file}:5: " in str(error.value)
    assert repr(cell) in str(error.value)
    file.write_text(f"{HEAD}\n{rows(' +1.0e-2')}", encoding="utf-8")
    reader(file)


@pytest.mark.parametrize("cell", ODD)
def test_cells_of_recordings(cell: str, tmp_path: Path) -> None:
    run = lw.simulate(ARM, [10.0, 0.0, 0.0], duration=0.1, samples=3)
    file = tmp_path / "run.csv"
    run.save(file)
    lines = file.read_text(encoding="utf-8").split("\n")
    place = next(k for k, line in enumerate(lines) if line.startswith("0.0,10.0,"))
    lines[place] = lines[place].replace("0.0,10.0,", f"0.0,{cell},", 1)
    file.write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(lw.errors.FileError, match=rf"run\.csv:{place + 1}: column 'q1' is '{cell}'"):
        lw.load_recording(file)


@pytest.mark.parametrize("cell", ODD)
def test_numbers_at_the_prompt(cell: str) -> None:
    for option in ("--duration", "--samples", "--rtol", "--kp", "--q0"):
        value = f"{cell},0,0" if option == "--q0" else cell
        refused = linkwise(f"simulate planar3 --target 0,0,0 {option} '{value}'")
        assert (refused.code, refused.out) == (2, "")
        assert option in refused.err
        assert cell in refused.err


@pytest.mark.parametrize("cell", ODD)
def test_numbers_of_robots(cell: str, tmp_path: Path) -> None:
    body = '<inertial><mass value="{}"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    joint = '<joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint>'
    file = tmp_path / "arm.urdf"
    file.write_text(f'<robot name="x"><link name="a"/>\n<link name="b">{body.format(cell)}</link>{joint}</robot>')
    with pytest.raises(lw.errors.FileError, match=rf"arm\.urdf:2: .*mass.* value is \"{cell}\""):
        lw.load(file)
