"""What an identification gives: payloads with their errors, tables, reports, and words at the prompt."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwise as lw
from command_line import linkwise
from effort import rest_slow
from facts import raises
from linkwise.cli.screen import to_command_line
from linkwise.identification.estimates import parameter_units
from linkwise.identification.reading import recordings_of
from linkwise.identification.text import within
from measured import measured, nominal, with_drives

pytestmark = pytest.mark.filterwarnings("ignore:identification of robot")

TOOL = {"name": "tool", "joint": "fixed", "a": 0.1, "alpha": 0.7, "b": -0.2, "theta": 0.4}
INERTIA = np.array([[0.02, 0.001, 0.0], [0.001, 0.025, 0.002], [0.0, 0.002, 0.015]])
LOAD = np.array([1.5, 0.05, -0.03, 0.1, *INERTIA[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]])


def with_tool(links: int, seed: int) -> lw.Robot:
    """A random arm with drives, and with a frame fixed to its last link."""
    arm = lw.chain(links, seed=seed)
    return with_drives(lw.Robot.from_dh([*arm.rows, TOOL], convention=arm.convention, name=arm.name))


@cache
def carried(seed: int) -> lw.results.Identification:
    """An arm that is known, with a load that is not."""
    arm = with_tool(4, seed)
    loaded = arm.with_payload(LOAD[0], LOAD[1:4], INERTIA, link="tool")
    data = measured(loaded, noise=0.005, angle=1e-6, seed=seed)
    return lw.identify(arm, data, free=["link4"], physical=bool(seed % 2))


@pytest.mark.parametrize("seeds", rest_slow([range(2), range(2, 12)], [range(2)]), ids=["two", "ten"])
def test_payloads_of_random_arms_are_found_within_four_sigma(seeds: range) -> None:
    far = np.array([(load.values - LOAD) / load.sigma for load in (carried(seed).payload("tool") for seed in seeds)])
    assert np.abs(far).max() < 4.0
    assert np.sqrt(np.mean(far**2)) < 1.7


@pytest.mark.parametrize("frame", ["tool", "link4"])
def test_the_nominal_robot_with_the_payload_is_the_identified_one(frame: str) -> None:
    fit = carried(1)
    load = fit.payload(frame)
    arm = fit.nominal.with_payload(load.mass, load.com, load.inertia, link=frame)
    assert load.possible
    assert np.allclose(lw.parameters(arm, friction=True), fit.parameters.values, rtol=1e-9, atol=1e-12)
    assert (load.link, load.frame, load.mass_sigma) == ("link4", frame, fit.parameters.sigma[30])


def test_what_torques_do_not_tell_of_a_payload_is_no_number() -> None:
    arm = lw.load("planar3")
    data = measured(arm.with_payload(0.5, [0.1, 0.02, 0.0]), noise=0.01)
    load = lw.identify(arm, data, free=["link3"], friction=False).payload()
    told = np.isfinite(load.sigma)
    assert list(np.flatnonzero(told)) == [0, 1, 2, 6]  # mass, cx, cy, Izz
    assert np.array_equal(np.isfinite(load.values), told)
    assert np.all(np.abs(load.values - [0.5, 0.1, 0.02, 0, 0, 0, 0, 0, 0, 0])[told] < 4.0 * load.sigma[told])
    assert load.possible is None
    assert "these torques do not determine it" in str(load)
    nothing = lw.identify(arm, measured(arm, noise=0.01), free=["link3"], friction=False).payload()
    assert np.isnan(nothing.com).all()
    assert "not distinguishable from zero" in repr(nothing)


def test_payloads_are_those_of_free_links() -> None:
    fit = carried(1)
    with raises(ValueError, "'link3'", "free", "link4"):
        fit.payload("link3")
    with pytest.raises(lw.errors.RobotError, match="did you mean 'tool'"):
        fit.payload("tol")
    every = lw.identify(fit.nominal, measured(fit.nominal, noise=0.01))
    with pytest.raises(ValueError, match=r"free=\['link4'\]"):
        every.payload()
    for name in ("link_4", "tool"):
        with raises(ValueError, f"'{name}'", "'link4'"):
            lw.identify(fit.nominal, measured(fit.nominal), free=[name])


def test_errors_of_the_same_data_are_those_of_the_fit() -> None:
    fit = carried(1)
    again = fit.validate(measured(fit.nominal.with_payload(LOAD[0], LOAD[1:4], INERTIA, link="tool"), 0.005, 1e-6, 1))
    for own, other in zip(fit.residuals, again, strict=True):
        assert np.allclose(own, other, rtol=1e-6)


def test_results_print_as_tables() -> None:
    fit = carried(1)
    tables = (fit.base, 10, "link4.m"), (fit.residuals, 4, "link1"), (fit.payload("tool"), 10, "mass")
    for table, rows, first in tables:
        assert len(repr(table)) < 200
        assert "\n" not in repr(table)
        assert any(line.startswith(first) for line in str(table).splitlines())
        columns = list(table.columns().values())
        assert [len(column) for column in columns] == [rows] * len(columns)
        assert columns[0][0] == first
    rms, _, r2 = fit.residuals  # a tuple still
    assert rms.shape == r2.shape == (4,)
    names = ("link1.m", "link2.hx", "link3.Jxy", "link4.rotor", "link1.viscous", "link2.coulomb", "link3.offset")
    assert parameter_units(fit.nominal, names) == ("kg", "kg m", "kg m2", "kg m2", "N m s/rad", "N m", "N m")
    assert parameter_units(lw.load("gantry"), ("hoist.rotor", "hoist.offset")) == ("kg", "N")


@pytest.mark.slow
def test_results_are_data_frames() -> None:
    pytest.importorskip("pandas")
    fit = carried(1)
    for table, first in ((fit.parameters, "link1.m"), (fit.validation, "link1"), (fit.payload(), "mass")):
        frame = table.to_pandas()
        assert list(frame.columns) == list(table.columns())
        assert frame.iloc[0, 0] == first


def test_a_value_has_the_digits_of_its_sigma() -> None:
    assert within(4.19941, 0.00298) == "4.1994 ± 0.0030"
    assert within(123.4, 45.6) == "123 ± 46"
    assert within(1234.0, 456.0) == "1.234e+03 ± 4.6e+02"
    assert within(1.23456, np.inf) == "1.235*"
    assert within(0.3, 0.0) == "0.3"


def test_reports_say_what_was_added_and_in_which_frames() -> None:
    text = carried(1).report()
    for words in (
        "more than the nominal robot: 1.50",
        "fit.payload('tool')",
        "in joint-aligned frames",
        "in the links' table frames",
        "relative: to the rms of the measured torque",
    ):
        assert words in " ".join(text.split())
    arm = with_tool(4, 1)
    fit = lw.identify(nominal(arm), measured(arm, noise=0.01), offset=True)
    text = " ".join(fit.report().split())
    assert "drives: rotor (kg m2), viscous (N m s/rad), Coulomb (N m), offset (N m)" in text
    assert "fit.predict includes them, fit.robot and its file do not" in text
    assert "not identifiable by itself" in text
    assert "offsets, which are not in the robot: link1 " in fit.robot.about
    bodies = {row["name"]: row for row in fit.robot.rows}
    centre = ", ".join(f"{x + 0.0:.4f}" for x in bodies["link4"]["com"])
    assert f"({centre})" in text  # as the table of the robot has it


def test_a_load_on_an_arm_that_is_not_known_is_asked_about() -> None:
    arm = with_tool(4, 1)
    data = measured(arm.with_payload(LOAD[0], LOAD[1:4], link="tool"), noise=0.01, seed=1)
    wrong = data | {"tau": data["tau"] + 60.0 * np.sin(3.0 * data["t"])[:, None]}
    question = "is the nominal robot the arm as it was identified without its load"
    notes = "\n".join(lw.identify(nominal(arm), wrong, free=["link4"]).notes)
    assert question in notes
    assert "(the nominal robot has no friction)" in notes
    nothing = lw.identify(arm, measured(arm, noise=0.01), free=["link4.viscous"])
    assert not any(question in note for note in (*carried(1).notes, *nothing.notes))


def test_spreadsheets_with_semicolons_and_decimal_commas(tmp_path: Path) -> None:
    arm = with_drives(lw.chain(2, seed=4))
    data = measured(arm, noise=0.01)
    rows = np.column_stack([data["t"], data["q"], data["tau"]]).tolist()
    names = ["t", "q1", "q2", "tau1", "tau2"]
    path = tmp_path / "data.csv"

    def same(path: Path, columns: dict[str, Any] | None = None) -> bool:
        (found,) = recordings_of(arm, path, columns, None, False, None)
        return np.array_equal(found.q, data["q"]) and np.array_equal(found.tau, data["tau"])

    def written(separator: str, sign: str, *lines: str) -> Path:
        own = [separator.join(map(repr, row)).replace(".", sign) for row in rows]
        path.write_text("\n".join([*lines, *own]), encoding="utf-8")
        return path

    for sign in ",.":
        assert same(written(";", sign, "# a comment", ";".join(names)))
    by_number = {"t": 0, "q": [1, 2], "tau": [3, 4]}
    assert same(written(";", ","), by_number)
    with pytest.raises(lw.errors.FileError, match="semicolons stand between"):
        lw.identify(arm, written(";", ",", ";".join(names), "0.0;0,1;0,1;0,1;0,1"))
    with raises(lw.errors.FileError, "data.csv:2", "'t'", "'s'", "'t [s]'"):
        lw.identify(arm, written(",", ".", ",".join(names), "s,rad,rad,N m,N m"))


def test_payloads_at_the_prompt(tmp_path: Path) -> None:
    arm = with_tool(3, 1)
    data = measured(arm.with_payload(LOAD[0], LOAD[1:4], INERTIA, link="tool"), noise=0.002)
    columns = {"t": data["t"], **{f"{key}{k + 1}": data[key][:, k] for key in ("q", "tau") for k in range(3)}}
    path, rows = tmp_path / "data.csv", np.column_stack(list(columns.values()))
    np.savetxt(path, rows, delimiter=",", header=",".join(columns), comments="")
    lw.save(arm, tmp_path / "arm.toml")
    command = f"identify {tmp_path / 'arm.toml'} {path} --free link3"
    shown = linkwise(f"{command} --frame tool --offset", {"COLUMNS": "80"}).out
    assert max(map(len, shown.splitlines())) <= 80
    assert "m in tool" in " ".join(shown.split())
    assert "the robot that --save writes has none" in " ".join(shown.split())
    found = json.loads(linkwise(f"{command},link3.viscous --frame tool --json").out)
    load = found["payload"]["link3"]
    assert load["mass"] == pytest.approx(LOAD[0], abs=4.0 * load["mass_sigma"])
    assert load["com"] == pytest.approx(LOAD[1:4], abs=4.0 * max(load["com_sigma"]))
    assert "link3.viscous" in found["base"]
    assert found["bodies"]["link1"]["mass"] == pytest.approx(float(lw.parameters(arm)["link1.m"]))
    assert len(found["bodies"]["link1"]["com"]) == 3
    assert "--free has 'lnk3', did you mean 'link3'?" in linkwise(command.replace("link3", "lnk3")).err
    assert "is fixed to link2" in linkwise(f"{command} --frame link2").err
    assert "expected --free" in linkwise(f"identify {tmp_path / 'arm.toml'} {path} --frame tool").err


def test_notes_name_options_at_the_prompt() -> None:
    for text, words in (
        ("try delay=0.048", "try --delay 0.048"),
        ("try delay=-0.01", "try --delay -0.01"),
        ("(gains=-1, or one", "(--gains -1, or one"),
        ("friction=False leaves out", "--no-friction leaves out"),
        ("a smaller regularization=... draws", "a smaller --regularization draws"),
        ("and physical=False may give", "and --no-physical may give"),
    ):
        assert to_command_line(text) == words
