"""Rotor inertias in URDF: refused with what would be lost, in transmissions as Drake has them, or left out."""

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest

import linkwise as lw
from command_line import linkwise
from facts import raises

LINK = {"mass": 2.0, "com": (0.1, 0.0, 0.05), "inertia": np.diag([0.01, 0.02, 0.02]), "translation": (0.2, 0, 0)}
ROWS = [
    {**LINK, "name": "upper", "joint": "revolute", "joint_name": "shoulder", "rotor_inertia": 3.0},
    {**LINK, "name": "slide", "joint": "prismatic", "rotor_inertia": 0.1 + 0.2},
    {**LINK, "name": "spindle", "joint": "cylindrical", "rotor_inertia": 0.5},
    {**LINK, "name": "tip", "joint": "revolute", "axis": (0, 1, 0), "coupled_to": "upper", "ratio": 2.0},
]
ARM = lw.Robot.from_frames(ROWS, name="geared")


def test_what_would_be_lost_is_said(tmp_path: Path) -> None:
    with pytest.raises(lw.errors.FileError) as refused:
        lw.save(ARM, tmp_path / "arm.urdf")
    assert "3 of its joints have one, the largest 3 kg m2 at joint 'shoulder'" in str(refused.value)
    for way in ('urdf_rotors="transmission"', 'urdf_rotors="drop"', ".toml"):
        assert way in str(refused.value)


def test_in_transmissions_they_are_read_back_exactly(tmp_path: Path) -> None:
    path = tmp_path / "arm.urdf"
    lw.save(ARM, path, urdf_rotors="transmission")
    again = lw.load(path)
    rng = np.random.default_rng(1)
    q, qd, qdd = rng.normal(size=(3, 4))
    assert again.q_names == ARM.q_names
    assert np.allclose(lw.inverse_dynamics(again, q, qd, qdd), lw.inverse_dynamics(ARM, q, qd, qdd), rtol=1e-13)
    rotors = {row.get("joint_name", row["name"]): row["rotor_inertia"] for row in again.rows if "rotor_inertia" in row}
    assert rotors == {"shoulder": 3.0, "slide": 0.1 + 0.2, "spindle.z": 0.5, "spindle.rz": 0.5}
    assert lw.load(path, ignore=["transmission"]) == lw.load(path).without_rotors()
    root = ElementTree.parse(path).getroot()
    first = root.findall("transmission")[0]
    assert first.findtext("type") == "transmission_interface/SimpleTransmission"
    assert first.find("joint").get("name") == "shoulder"
    assert first.find("actuator/{http://drake.mit.edu}rotor_inertia").get("value") == "3.0"


def test_left_out_they_are_named_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "arm.urdf"
    lw.save(ARM, path, urdf_rotors="drop")
    assert "shoulder 3.0 kg m2, slide 0.30000000000000004 kg, spindle 0.5 kg m2" in path.read_text()
    again = lw.load(path)
    assert not any("rotor_inertia" in row for row in again.rows)
    lw.save(ARM.without_rotors(), path, urdf_rotors="drop")
    assert "rotor" not in path.read_text()
    with raises(ValueError, "urdf_rotors", "'dropp'", "'drop'"):
        lw.save(ARM, path, urdf_rotors="dropp")
    with raises(ValueError, "urdf_rotors", ".urdf"):
        lw.save(ARM, tmp_path / "arm.toml", urdf_rotors="drop")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('value="3.0"', 'value="-3.0"', r":\d+: <drake:rotor_inertia> of <actuator .*value is -3.0"),
        ('joint name="shoulder"/', 'joint name="sholder"/', "which no joint has as its name, did you mean 'shoulder'"),
        ("SimpleTransmission", "DifferentialTransmission", "that is not simple .*ignore=\\[\"transmission\"\\]"),
    ],
)  # fmt: skip
def test_transmissions_that_cannot_be_meant_are_refused(old: str, new: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "arm.urdf"
    lw.save(ARM, path, urdf_rotors="transmission")
    path.write_text(path.read_text().replace(old, new, 1))
    with pytest.raises(lw.errors.FileError, match=message):
        lw.load(path)


def test_gears_count_by_their_square(tmp_path: Path) -> None:
    path = tmp_path / "arm.urdf"
    lw.save(ARM, path, urdf_rotors="transmission")
    text = path.read_text().replace('<drake:gear_ratio value="1.0"/>', '<drake:gear_ratio value="-10"/>', 1)
    path.write_text(text)
    assert lw.load(path).rows[1]["rotor_inertia"] == 300.0
    path.write_text(text.replace('      <drake:gear_ratio value="-10"/>\n', ""))
    assert lw.load(path).rows[1]["rotor_inertia"] == 3.0


def test_at_the_prompt(tmp_path: Path) -> None:
    lw.save(ARM, tmp_path / "arm.toml")
    refused = linkwise(f"convert {tmp_path / 'arm.toml'} {tmp_path / 'arm.urdf'}")
    assert refused.code
    assert "--urdf-rotors drop" in refused.err
    assert "urdf_rotors" not in refused.err
    assert linkwise(f"convert {tmp_path / 'arm.toml'} {tmp_path / 'arm.urdf'} --urdf-rotors transmission").code == 0
    printed = linkwise(f"export {tmp_path / 'arm.toml'} urdf --urdf-rotors transmission").out
    assert printed == (tmp_path / "arm.urdf").read_text()
    assert "belongs to urdf" in linkwise(f"export {tmp_path / 'arm.toml'} c --urdf-rotors drop").err
    assert "belongs to a .urdf" in linkwise(f"identify {tmp_path / 'arm.toml'} x.csv --urdf-rotors drop").err
