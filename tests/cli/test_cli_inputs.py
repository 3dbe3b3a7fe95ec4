"""What is typed, and tables that are given: units, names, separators; nothing is silently ignored."""

import json
from pathlib import Path

import numpy as np
import pytest

import linkwise as lw
from command_line import linkwise
from facts import names, raises
from linkwise.robot.layout import Layout
from linkwise.trajectories import Trajectory

pytestmark = pytest.mark.usefixtures("in_a_folder_of_its_own")


def in_degrees(arm: lw.Robot, move: Trajectory, words: tuple[str, ...]) -> None:
    """The files deg.csv and rad.csv of one motion."""
    t = np.linspace(0, move.duration, 9)
    layout = Layout.of(arm)
    for name, scale in (("rad", 1.0), ("deg", 180 / np.pi)):
        head, columns = ["t"], [t]
        for word, values in zip(("q", "qd", "qdd"), move(t), strict=True):
            if word in words:
                turning = lw.robot.layout.angle_mask(arm, word)
                head += layout.columns(word)
                columns += list((values * np.where(turning, scale, 1.0)).T)
        rows = [",".join(map(repr, row)) for row in np.array(columns).T.tolist()]
        Path(f"{name}.csv").write_text("\n".join([",".join(head), *rows, ""]))


@pytest.mark.parametrize("words", [("q",), ("q", "qd", "qdd")])
@pytest.mark.parametrize("robot", ["stanford", "quadruped"])
def test_degrees_of_a_trajectory(robot: str, words: tuple[str, ...]) -> None:
    """Angles, their rates and accelerations; lengths and quaternions stay as they are."""
    arm = lw.load(robot)
    rng = np.random.default_rng(2)
    ends = lw.random_configuration(arm, rng, 2)
    in_degrees(arm, lw.trajectories.quintic(*ends, 2.0, robot=arm), words)
    for command in ("torque", "loads"):
        plain = json.loads(linkwise(f"{command} {robot} rad.csv --samples 5 --json").out)
        turned = json.loads(linkwise(f"{command} {robot} deg.csv --degrees --samples 5 --json").out)
        for name in ("q", "qd", "qdd", "tau"):
            assert np.allclose(plain[name], turned[name], rtol=1e-9, atol=1e-9)


def test_degrees_of_a_trajectory_to_follow() -> None:
    arm = lw.load("planar3")
    in_degrees(arm, lw.trajectories.quintic([0.1, 0.2, 0.3], [0.5, 0.4, -0.3], 0.2), ("q", "qd", "qdd"))
    line = "simulate planar3 --duration 0.2 --samples 3 --json --follow"
    plain, turned = (json.loads(linkwise(f"{line} {words}").out) for words in ("rad.csv", "deg.csv --degrees"))
    assert np.allclose(plain["q"], turned["q"], rtol=1e-9, atol=1e-9)
    assert np.allclose(turned["q"][-1], [0.5, 0.4, -0.3], atol=1e-3)


def test_degrees_of_tables_that_are_in_radians() -> None:
    assert linkwise("torque planar3 --samples 5 --csv torques.csv").code == 0
    assert linkwise("simulate planar3 --duration 0.01 --samples 5 --csv fall.csv").code == 0
    for words in ("torques.csv", "fall.csv", "--q @torques.csv"):
        assert linkwise(f"torque planar3 {words}").code == 0
        refused = linkwise(f"torque planar3 {words} --degrees")
        assert (refused.code, refused.out) == (3, "")
        assert "angles are in radians" in refused.err
    with raises(TypeError, "robot="):
        lw.trajectories.read_csv("torques.csv", degrees=True)


def test_tables_that_do_not_fit() -> None:
    tables = {
        "t;q1;q2;q3\n0;0;0;0\n1;1;1;1\n": "table.csv:1: semicolons stand between the columns (expected commas",
        "t\tq1\tq2\tq3\n0\t0\t0\t0\n": "table.csv:1: tabs stand between the columns (expected commas",
        "t,q1,q2\n0,0,0\n1,1,1\n": "table.csv:1: has 2 joints (expected 3, those of the robot; there is no",
        "t,q1,q2,q3,q4\n0,0,0,0,0\n1,1,1,1,1\n": "table.csv:1: has 4 joints (expected 3, those of the robot)",
    }
    for text, message in tables.items():
        Path("table.csv").write_text(text)
        result = linkwise("torque planar3 table.csv")
        assert result.err.startswith(f"error: {message}")
        assert (result.code, result.out) == (3, "")
    Path("table.csv").write_text("q1;q2;q3\n0;0;0\n")
    assert "semicolons" in linkwise("torque planar3 --q @table.csv").err


def test_views() -> None:
    pytest.importorskip("matplotlib")
    assert linkwise("draw planar3 --view -30,20deg --view top --no-labels --no-frames --out views.svg").code == 0
    for view, message in {"30,20,10": "3 numbers", "30,x": "'x' is not a number", "tpo": "did you mean 'top'?"}.items():
        result = linkwise(f"draw planar3 --view {view}")
        assert (result.code, result.out) == (2, "")
        assert message in result.err


def test_messages_speak_of_options() -> None:
    assert "(linkwise robots lists" in linkwise("describe nosuch.urdf").err
    assert "--gravity 0.0,0.0,-9.81 is another arm" in linkwise("convert planar3 x.urdf").err
    assert "--mimic independent" in linkwise("explain panda").err
    failed = linkwise("simulate planar3 --max-steps 3 --samples 3").err
    assert "as many as --max-steps allows" in failed
    assert "To go on: a larger --max-steps for a longer run; --integrator rk4 with a --dt." in failed
    assert "radau" not in failed
    assert "lw." not in failed
    assert "q = [" not in failed
    stiff = linkwise("simulate planar3 --friction --max-steps 3 --samples 3").err
    assert "--integrator radau for stiff friction" in stiff
    coarse = linkwise("simulate planar3 --integrator rk4 --dt 1 --duration 5 --samples 3").err
    assert "a number is no longer finite" in coarse
    assert "To go on: a smaller --dt" in coarse
    assert "a larger --speed" in linkwise("simulate planar3 --duration 2000 --animate z.html").err


def test_errors_on_a_terminal_are_broken_between_words() -> None:
    narrow = {"FORCE_COLOR": "1", "NO_COLOR": "1", "COLUMNS": "50"}
    line = "torque planar3 --q 1,2"
    assert linkwise(line).err.count("\n") == 1
    found = linkwise(line, narrow).err
    assert max(map(len, found.splitlines())) <= 50
    assert found.split() == linkwise(line).err.split()


def test_equations_without_rounding() -> None:
    """A torque about a vertical axis that gravity does not have is not written as terms of 1e-17."""
    found = json.loads(linkwise("equations panda gravity_torque --json").out)["equations"]
    assert "g[1]" not in found
    assert "g[2]" in found
    assert "e-1" not in "".join(found.values())


@pytest.mark.parametrize("form", ["{0}", "q_{0}", "q.{0}"])
@pytest.mark.parametrize(("robot", "rates"), [("planar3", True), ("panda", False), ("humanoid", False)])
def test_columns_of_trajectories_by_the_names_of_joints(robot: str, rates: bool, form: str) -> None:
    arm = lw.load(robot)
    t = [0.0, 0.5, 1.0]
    q = np.asarray(lw.integrate(arm, lw.neutral(arm), 0.1 * np.random.default_rng(1).normal(size=(3, arm.n))))
    ours, theirs = {"t": t}, {"time": t}
    for k in reversed(range(arm.nq)):  # in any order
        ours[Layout.of(arm).columns("q")[k]] = theirs[form.format(arm.q_names[k])] = q[:, k].tolist()
    if rates:
        for k in range(arm.n):
            ours[Layout.of(arm).columns("qd")[k]] = theirs[f"qd_{arm.v_names[k]}"] = [0.0, 0.3, 0.0]
    for name, columns in (("ours.csv", ours), ("theirs.csv", theirs)):
        rows = [",".join(columns), *(",".join(map(repr, row)) for row in zip(*columns.values(), strict=True))]
        Path(name).write_text("\n".join(rows), encoding="utf-8")
    mine, other = (linkwise(f"torque {robot} {name} --samples 5 --csv -") for name in ("ours.csv", "theirs.csv"))
    assert (mine.code, other.code) == (0, 0)
    assert mine.out == other.out


def test_columns_that_are_no_joints_are_refused() -> None:
    Path("motion.csv").write_text("time,link1,link2,lnk3\n0,0,0,0\n1,1,1,1\n")
    refused = linkwise("torque planar3 motion.csv")
    assert refused.code == 3
    assert "motion.csv:1: column 'lnk3', did you mean 'link3'?" in refused.err
    assert "or by the names of the joints: t, link1" in refused.err
    Path("motion.csv").write_text("time,link1,link2,link3,q2\n0,0,0,0,0\n1,1,1,1,1\n")
    assert names(linkwise("torque planar3 motion.csv").err, "motion.csv:1:", "'link3'", "'q2'")


@pytest.mark.parametrize("option", ["--torque", "--q0", "--qd0", "--target"])
def test_histories_are_no_constant_states(option: str) -> None:
    """A table with times is one history, not a simulation for each of its rows."""
    word = {"--torque": "tau", "--qd0": "qd"}.get(option, "q")
    rows = "".join(f"{0.1 * k},0,{k},0\n" for k in range(5))
    for time in ("t", "time", "Time [s]", "timestamp", "t_ms"):
        Path("table.csv").write_text(f"{time},{word}1,{word}2,{word}3\n{rows}")
        result = linkwise(f"simulate planar3 --duration 0.01 --samples 3 {option} @table.csv")
        assert (result.code, result.out) == (3, "")
        assert f"table.csv:1: column {time!r}" in result.err
    Path("table.csv").write_text(f"{word}1,{word}2,{word}3\n0,0.1,0\n")
    assert linkwise(f"simulate planar3 --duration 0.01 --samples 3 {option} @table.csv").code == 0


@pytest.mark.parametrize("line", ["torque planar3 --q", "torque planar3 --q 0,0,0 --qd", "simulate planar3 --torque"])
def test_tables_of_states_have_columns_of_joints_alone(line: str) -> None:
    Path("table.csv").write_text("link1,link2,link3,gripper\n0,0,0,0\n")
    refused = linkwise(f"{line} @table.csv")
    assert (refused.code, refused.out) == (3, "")
    assert "table.csv:1: column 'gripper'" in refused.err
    word = "tau" if line.endswith("torque") else line.split("--")[-1]
    Path("table.csv").write_text(f"{word}1,{word}2,{word}3,{word}4\n0,0,0,0\n")  # of another robot
    refused = linkwise(f"{line} @table.csv")
    assert (refused.code, f"table.csv:1: column '{word}4' is of no joint" in refused.err) == (3, True), refused.err
    Path("table.csv").write_text("\n0,0.1,0.2,0.3\n")  # a time, or what else?
    refused = linkwise(f"{line} @table.csv")
    assert (refused.code, refused.out) == (3, "")
    assert "table.csv:2: has 4 cells (expected 3" in refused.err
    Path("table.csv").write_text("link1,link2,link3\n0,0,0\n0,0\n")
    assert "table.csv:3: has 2 cells (expected 3" in linkwise(f"{line} @table.csv").err
    Path("table.csv").write_text("link3,link1,link2\n0,0,0,0\n")
    assert "table.csv:2: has 4 cells (expected 3" in linkwise(f"{line} @table.csv").err


def test_headers_in_comments_are_not_passed_over() -> None:
    """np.savetxt writes them so; the numbers alone would be taken in the robot's order."""
    q = np.array([[0.1, 0.2, 0.3]])
    for header in ("link3,link1,link2", "q_link3,q_link1,q_link2", "q1,q2,q3"):
        np.savetxt("table.csv", q, delimiter=",", header=header)
        refused = linkwise("torque planar3 --q @table.csv")
        assert (refused.code, refused.out) == (3, "")
        assert f"table.csv:1: {header!r} stands in a comment" in refused.err
    np.savetxt("table.csv", q, delimiter=",", header="measured, on Monday")
    assert linkwise("torque planar3 --q @table.csv").code == 0


@pytest.mark.parametrize(
    ("command", "left", "others"),
    [
        ("simulate planar3 --duration 0.1 --torque @f.csv", ["energy"], ""),
        ("simulate planar3 --duration 0.1 --q0 @f.csv", ["qd1", "qd2", "qd3"], "--qd0 @f.csv would"),
        ("torque planar3 --q @f.csv", ["tau1", "tau2", "tau3"], ""),
        ("torque planar3 --q @f.csv --qd @f.csv", ["tau1", "tau2", "tau3"], ""),
        ("explain planar3 M --q @f.csv", ["energy"], ""),
        ("simulate planar3 --duration 0.1 --q0 @f.csv --qd0 @f.csv", [], ""),
        ("simulate planar3 --duration 0.1 --target @f.csv", ["qd1", "qd2", "qd3"], ""),
    ],
)
def test_columns_that_are_not_read_are_said(command: str, left: list[str], others: str) -> None:
    """A table of states is not read in part without a word."""
    word = "tau" if "--torque" in command else "q"
    rates = [f"qd{k}" for k in (1, 2, 3)] if "--qd" in command else []
    head = [*(f"{word}{k}" for k in (1, 2, 3)), *dict.fromkeys([*rates, *left])]
    Path("f.csv").write_text(f"{','.join(head)}\n{','.join(['0.1'] * len(head))}\n")
    result = linkwise(command)
    assert result.code == 0
    said = [line for line in result.err.splitlines() if "does not read" in line or "do not read" in line]
    assert len(said) == bool(left)
    assert all(repr(name) in said[0] for name in left)
    assert not left or (others in said[0] and "f.csv" in said[0])


def test_ends_of_tables_without_rates() -> None:
    t = np.linspace(0.0, 2.0, 201)
    rows = np.column_stack([t, np.sin(np.outer(t, [1, 2, 3]))])
    np.savetxt("sine.csv", rows, "%.17g", ",", header="t,q1,q2,q3", comments="")
    at_rest, free = (linkwise(f"torque planar3 sine.csv {ends} --json") for ends in ("", "--ends natural"))
    assert "at speed" in at_rest.err
    assert "--ends natural" in at_rest.err
    assert "at speed" not in free.err
    peaks = [np.abs(json.loads(result.out)["tau"]).max() for result in (at_rest, free)]
    assert peaks[0] > 3 * peaks[1]
    for line in ("torque planar3 --ends natural", "torque planar3 sine.csv --ends naturl"):
        refused = linkwise(line)
        assert refused.code in (2, 3)
        assert "natur" in refused.err
    assert "expected no --ends" in linkwise("torque planar3 --q 0,0,0 --ends natural").err


def test_a_file_is_told_by_its_name_and_a_history_by_its_times(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("push.csv").write_text("t,tau1,tau2,tau3\n0,1,2,3\n1,1,2,3\n")
    Path("rows").write_text("1,2,3\n")
    for line, fact in {
        "simulate planar3 --torque push.csv": "@push.csv",
        "simulate planar3 --q0 missing.csv": "@missing.csv",
        "torque planar3 --q rows": "@rows",
        "simulate planar3 --torque @push.csv": "--torque-history push.csv",
    }.items():
        result = linkwise(line)
        assert (result.code, result.out, fact in result.err) == (3 if "history" in fact else 2, "", True), result.err
    missing = linkwise("torque planar3 push.csv").err
    assert ("'q1'" in missing, "0 joints" in missing) == (True, False)


def test_units_are_those_of_angles_alone() -> None:
    for option in ("--torque", "--q0", "--qd0"):
        err = linkwise(f"simulate planar3 {option} 1,x,2").err
        assert ("'x'" in err, "deg" in err, "rad" in err) == (True, *[option != "--torque"] * 2)
    for option in ("torque planar3 --payload x", "torque planar3 --gravity 0,0,x", "torque gantry --q 0,0,x"):
        assert "deg" not in linkwise(option).err
    typed = [json.loads(linkwise(f"torque planar3 --q {q} --json").out)["tau"] for q in ("0.3rad,1,-2rad", "0.3,1,-2")]
    assert typed[0] == typed[1]
    for line in ("simulate planar3 --torque 1rad,0,0", "torque gantry --q 0,0,1rad", "torque planar3 --payload 1rad"):
        result = linkwise(line)
        assert (result.code, "without rad" in result.err) == (2, True), result.err


def test_an_option_is_suggested_for_an_option() -> None:
    assert "'function'" not in linkwise("count planar3 --functio").err
    assert "'function'" not in linkwise("describe planar3 --robo").err
    assert "did you mean '--friction'?" in linkwise("count planar3 --frictio").err


def test_counts_with_friction() -> None:
    line = "count stanford forward_dynamics --method denoc --friction --json"
    arm = lw.load("stanford")
    counted = lw.count(lw.forward_dynamics, arm, method="denoc", friction=True)
    assert json.loads(linkwise(line).out)["counts"][0]["multiplications"] == counted.multiplications
    for wrong in ("count stanford --friction", "count stanford gravity_torque --friction"):
        assert (linkwise(wrong).code, "--friction" in linkwise(wrong).err) == (2, True)


def test_the_library_says_which_robots_have_limits() -> None:
    robots = json.loads(linkwise("robots --json").out)["robots"]
    for row in robots:
        assert ("effort" in row["limits"]) == np.isfinite(lw.load(row["name"]).effort_limits).any()
    lines = linkwise("robots").out.splitlines()
    assert {x.split()[0] for x in lines if " yes " in x} == {r["name"] for r in robots if "effort" in r["limits"]}
