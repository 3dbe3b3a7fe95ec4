"""Columns of tables belong to joints by name or by number: one rule in every reader, and half of each is refused."""

import csv
import io
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwise as lw
from command_line import linkwise
from facts import raises
from linkwise.identification.reading import recordings_of

pytestmark = pytest.mark.filterwarnings("ignore:.* the motion (begins|ends) at speed")
T = np.linspace(0.0, 1.0, 101)
WORDS = ("q", "qd", "tau")
MOTION = {word: np.sin(np.outer(T, [1.0, 2.0, 3.0]) * (k + 1)) for k, word in enumerate(WORDS)}
OPTIONS: dict[str, Any] = {"columns": None, "dt": None, "degrees": False, "gains": None}
CONFUSING = [names for names in permutations(("q1", "q2", "q3")) if names != ("q1", "q2", "q3")]
CONFUSING += [("2", "1", "3"), ("tau3", "tau2", "tau1")]


def arm_of(*names: str) -> lw.Robot:
    row = {"joint": "revolute", "a": 0.5, "b": 0, "alpha": 0, "mass": 2.0, "com": (-0.25, 0, 0)}
    rows = [{**row, "name": name, "inertia": [[0, 0, 0], [0, 0.04, 0], [0, 0, 0.04]]} for name in names]
    return lw.Robot.from_dh(rows, convention="standard", gravity=(0, -9.81, 0), name="mine")


def table(forms: dict[str, str], names: tuple[str, ...], order: tuple[int, ...] = (0, 1, 2)) -> dict[str, Any]:
    """Columns in some order; {} is a joint's name, # its number."""
    columns = {"t": T}
    for word, form in forms.items():
        columns |= {form.format(names[k]).replace("#", str(k + 1)): MOTION[word][:, k] for k in order}
    return columns


def write(path: Path, columns: dict[str, Any]) -> Path:
    text = io.StringIO()
    csv.writer(text).writerows([list(columns), *zip(*(np.asarray(x).tolist() for x in columns.values()), strict=True)])
    path.write_text(text.getvalue(), encoding="utf-8")
    return path


def readings(arm: lw.Robot, file: Path, robot: Path) -> dict[str, Any]:
    """What each reader finds of q and, if it looks at them, qd; or the error."""
    read = {
        "identify": lambda: recordings_of(arm, file, **OPTIONS)[0].q,
        "trajectory": lambda: lw.trajectories.read_csv(file, robot=arm)(T).q,
        "prompt": lambda: at_the_prompt(file, robot),
    }
    found: dict[str, Any] = {}
    for name, reader in read.items():
        try:
            found[name] = reader()
        except lw.errors.FileError as error:
            found[name] = str(error)
    return found


def at_the_prompt(file: Path, robot: Path) -> Any:
    import json

    result = linkwise(f"torque {robot} --q @{file} --json")
    if result.code:
        raise lw.errors.FileError(result.err.removeprefix("error: "))
    return np.array(json.loads(result.out)["q"])


@pytest.mark.parametrize(
    "forms",
    [
        {"q": "{}", "tau": "tau_#"},
        {"q": "q_{}", "tau": "tau#"},
        {"q": "q#", "tau": "tau.{}"},
        {"q": "q_{}", "qd": "qd#", "tau": "tau_{}"},
        {"q": "q#", "qd": "qd_{}", "tau": "tau#"},
    ],
)
def test_half_by_name_and_half_by_number_is_refused(forms: dict[str, str], tmp_path: Path) -> None:
    names = ("shoulder", "elbow", "wrist2")
    arm = arm_of(*names)
    file = write(tmp_path / "half.csv", table(forms, names, (2, 0, 1)))
    columns = [repr(form.format("shoulder").replace("#", "1")) for form in forms.values()]
    with raises(lw.errors.FileError, file, "'shoulder'", *columns):
        recordings_of(arm, file, **OPTIONS)
    if "qd" in forms:  # torques are of no motion
        with raises(lw.errors.FileError, "half.csv", "1"):
            lw.trajectories.read_csv(file, robot=arm)
    lw.save(arm, tmp_path / "arm.toml")
    refused = linkwise(f"torque {tmp_path / 'arm.toml'} --q @{file}")
    assert (refused.code, refused.out) == (3, "")


@pytest.mark.parametrize("forms", [{"q": "{}", "tau": "tau_{}"}, {"q": "q.{}", "qd": "qd.{}", "tau": "tau.{}"}])
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1)])
def test_all_by_name_or_all_by_number_is_one_motion(
    forms: dict[str, str], order: tuple[int, ...], tmp_path: Path
) -> None:
    names = ("shoulder", "elbow", "wrist2")
    arm = arm_of(*names)
    lw.save(arm, tmp_path / "arm.toml")
    for form in (forms, {word: f"{word}#" for word in forms}):
        file = write(tmp_path / "whole.csv", table(form, names, order))
        for found in readings(arm, file, tmp_path / "arm.toml").values():
            assert np.abs(found - MOTION["q"]).max() < 1e-12


@pytest.mark.parametrize("names", CONFUSING)
def test_names_that_look_like_numbered_columns_are_not_guessed(names: tuple[str, ...], tmp_path: Path) -> None:
    """q1 is the first joint by number, but the second of a robot whose joints are q3, q1, q2."""
    arm = arm_of(*names)
    lw.save(arm, tmp_path / "arm.toml")
    file = write(tmp_path / "guess.csv", table({"q": "q#", "qd": "qd#", "tau": "tau#"}, names))
    for found in readings(arm, file, tmp_path / "arm.toml").values():
        assert isinstance(found, str), found
        assert str(file) in found
    with raises(ValueError, "columns="):
        lw.identification.measured_motion(arm, table({"q": "q#", "tau": "tau#"}, names))
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(MOTION["q"], columns=list(names))
    if names[0].startswith(("q", "2")):
        with raises(TypeError, f"'{names[0]}'", f"'q.{names[0]}'", "q.to_numpy()"):
            lw.gravity_torque(arm, frame)
    sure = frame.rename(columns="q.{}".format)
    assert np.array_equal(lw.gravity_torque(arm, sure[sure.columns[::-1]]), lw.gravity_torque(arm, MOTION["q"]))
    file = write(tmp_path / "sure.csv", table({"q": "q.{}", "qd": "qd.{}", "tau": "tau.{}"}, names))
    for found in readings(arm, file, tmp_path / "arm.toml").values():
        assert np.abs(found - MOTION["q"]).max() < 1e-12
    run = lw.simulate(arm, [0.1, 0.2, 0.3], duration=1.0, samples=101)
    run.save(tmp_path / "run.csv")
    assert lw.load_recording(tmp_path / "run.csv") == run
    for found in readings(arm, tmp_path / "run.csv", tmp_path / "arm.toml").values():
        assert np.abs(found - run.q).max() < 1e-9


def test_names_that_end_with_their_own_numbers_are_both(tmp_path: Path) -> None:
    names = ("link1", "link2", "link3")
    arm = arm_of(*names)
    for forms in ({"q": "{}", "tau": "tau#"}, {"q": "q#", "qd": "{}_velocity", "tau": "tau_#"}):
        columns = table(forms, names, (1, 2, 0))
        assert np.array_equal(recordings_of(arm, columns, **OPTIONS)[0].q, MOTION["q"])
    file = write(tmp_path / "both.csv", table({"q": "{}", "qd": "qd#"}, names, (1, 2, 0)))
    assert np.abs(lw.trajectories.read_csv(file, robot=arm)(T).q - MOTION["q"]).max() < 1e-12
    with raises(ValueError, "'link1'", "'link2'", "'link3'"):
        recordings_of(arm_of("link2", "link3", "link1"), columns | {"link1": T, "link2": T, "link3": T}, **OPTIONS)


@pytest.mark.parametrize("head", [["link1", "q2", "q3"], ["q_link1", "q2", "q3"], ["q1", "q.link2", "q3"]])
def test_half_of_one_quantity_by_number_is_refused_whatever_the_names(head: list[str], tmp_path: Path) -> None:
    states = write(tmp_path / "states.csv", {name: [0.1] for name in head})
    motion = write(tmp_path / "motion.csv", {"t": T, **{name: MOTION["q"][:, k] for k, name in enumerate(head)}})
    refused = linkwise(f"simulate planar3 --q0 @{states} --duration 0.1")
    assert refused.code == 3
    assert "all by name, or all by number" in refused.err
    with raises(lw.errors.FileError, "motion.csv:1:", *map(repr, head), "'link1'", "'link2'", "'link3'"):
        lw.trajectories.read_csv(motion, robot=lw.load("planar3"))
    with raises(TypeError, "q", *map(repr, head)):
        lw.gravity_torque(lw.load("planar3"), pytest.importorskip("pandas").read_csv(motion)[head])


def test_joints_without_columns_are_named(tmp_path: Path) -> None:
    names = ("shoulder", "elbow", "wrist2")
    arm = arm_of(*names)
    file = write(tmp_path / "few.csv", {"t": T, "shoulder": T, "wrist2": T})
    with raises(lw.errors.FileError, "few.csv:1:", "2 joints", "3", "elbow"):
        lw.trajectories.read_csv(file, robot=arm)
    rates = {"qd_shoulder": T, "qd_wrist2": T}
    file = write(tmp_path / "rates.csv", {"t": T, **dict.fromkeys(names, T), **rates})
    with raises(lw.errors.FileError, "qd2", "qd_elbow"):
        lw.trajectories.read_csv(file, robot=arm)
