"""Robot files in TOML: texts, reading them, and the line and message of a refusal."""

from pathlib import Path

import pytest

import linkwise as lw

ARM = """\
name = "arm"
about = "two links and a tool"
convention = "standard"
gravity = [0.0, 0.0, -9.81]

[[link]]
name = "upper"
joint = "revolute"
a = 0.3
b = 0.0
alpha = "90 deg"
mass = 2.0
com = [-0.15, 0.0, 0.0]
inertia = [[0.01, 0.0, 0.0], [0.0, 0.02, 0.0], [0.0, 0.0, 0.02]]

[[link]]
name = "lower"
joint = "prismatic"
a = 0.25
alpha = 0.5
theta = 0.75
mass = 1.5
com = [-0.1, 0.0, 0.0]
inertia = [
    [0.03, 0.0, 0.0],
    [0.0, 0.04, 0.0],
    [0.0, 0.0, 0.05],
]
limits = [0.0, 1.0]

[[link]]
name = "tool"
joint = "fixed"
a = 0.0
b = 0.1
alpha = 0.0
theta = 0.0
"""
GANTRY = """\
convention = "frames"
gravity = [0.0, 0.0, -9.81]

[[link]]
joint = "prismatic"
translation = [0.0, 0.0, 2.0]
axis = [1.0, 0.0, 0.0]
mass = 5.0
com = [0.0, 0.5, 0.0]
inertia = [[0.42, 0.0, 0.0], [0.0, 0.02, 0.0], [0.0, 0.0, 0.42]]
rotation = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
"""
HERE = "# here"  # marks the line that an error must name


def refused(folder: Path, text: str | bytes) -> tuple[int, str]:
    """Line and message of the error that a file with this text gives."""
    path = folder / "bad.toml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(lw.errors.FileError) as caught:
        lw.load(path)
    said = str(caught.value)
    assert said.startswith(f"{path}:")
    line, _, message = said.removeprefix(f"{path}:").partition(": ")
    return int(line), message


def marked_line(text: str) -> int:
    assert text.count(HERE) == 1
    return next(k for k, line in enumerate(text.split("\n"), start=1) if HERE in line)


def changed(text: str, old: str, new: str) -> str:
    assert text.count(old) == 1
    return text.replace(old, new)


def read(folder: Path, text: str | bytes) -> lw.Robot:
    path = folder / "good.toml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return lw.load(path)


def round_trip(robot: lw.Robot, folder: Path) -> lw.Robot:
    path = folder / "again.toml"
    lw.save(robot, path)
    return lw.load(path)
