"""At the prompt: what passes the limits of a robot is said; joints go by their own names or by those of their links."""

import json
from pathlib import Path

import numpy as np
import pytest

import linkwise as lw
from command_line import linkwise
from facts import names

INERTIAL = '<inertial><mass value="{0}"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>'
JOINT = """<joint name="{0}" type="{1}"><parent link="{2}"/><child link="{3}"/><origin xyz="0 0 1"/><axis xyz="{4}"/>
  <limit lower="{5}" upper="{6}" velocity="{7}" effort="{8}"/></joint>"""
CRANE = "\n".join(
    [
        '<robot name="crane"><link name="ground"/>',
        JOINT.format("slew", "revolute", "ground", "tower", "0 0 1", -3, 3, 2, 200),
        f'<link name="tower">{INERTIAL.format(5)}</link>',
        JOINT.format("luff", "revolute", "tower", "boom", "0 -1 0", -0.2, 1.2, 2, 120),
        f'<link name="boom">{INERTIAL.format(4).replace("<mass", "<origin xyz=&quot;1 0 0&quot;/><mass")}</link>',
        JOINT.format("extend", "prismatic", "boom", "slew2", "1 0 0", 0, 0.4, 0.5, 90),
        f'<link name="slew2">{INERTIAL.format(3)}</link></robot>',
    ]
).replace("&quot;", '"')


FALL = lw.Recording(
    lw.load("planar3"), np.array([0, 0.01]), *np.zeros((2, 2, 3)), "done", 0.01, 1, 0, 8, "none", 1e-8, 1e-10, False
)  # in place of a simulation, where only what is said of its start matters


@pytest.fixture(autouse=True)
def with_a_crane(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("crane.urdf").write_text(CRANE)


def of(line: str) -> dict[str, list[float]]:
    result = linkwise(f"{line} --json")
    assert result.code == 0, result.err
    found: dict[str, list[float]] = json.loads(result.out)
    return found


@pytest.mark.parametrize("names", ["luff=30deg,extend=0.1", "boom=30deg,slew2=0.1"])
def test_joints_by_the_names_of_their_links(names: str) -> None:
    assert of(f"torque crane.urdf --q {names}") == of("torque crane.urdf --q 0,30deg,0.1")
    motion = of(f"torque crane.urdf --to {names} --samples 3 --duration 1")
    assert motion["q"][-1] == pytest.approx([0, np.radians(30), 0.1])
    if names.startswith("luff"):
        return
    run = of(f"simulate crane.urdf --q0 {names} --torque tower=1,luff=80 --duration 0.01 --samples 2")
    assert run["q"][0] == motion["q"][-1]
    assert run["tau"][0] == pytest.approx([1, 80, 0])


def test_links_of_joints_with_several_degrees_of_freedom() -> None:
    arm = lw.load("crane.urdf", base="free")
    name = next(joint.name for joint in arm.moving)
    found = of(f"torque crane.urdf --base free --q {name}.z=2,boom=0.5")["q"]
    assert found[arm.q_slice(name)][:4] == [0, 0, 2, 1]
    assert found[arm.q_slice("boom").start] == 0.5


@pytest.mark.parametrize("names", ["luff=1,boom=2", "boom=1,luff=1", "boom=1,boom=1"])
def test_one_joint_by_two_names(names: str) -> None:
    result = linkwise(f"torque crane.urdf --q {names}")
    assert (result.code, result.out) == (2, "")
    assert "given twice" in result.err
    assert "luff" in result.err
    Path("both.csv").write_text("t,slew,luff,boom,extend\n0,0,0,0,0\n1,1,1,1,0\n")
    assert "occurs twice" in linkwise("torque crane.urdf both.csv").err


def test_names_that_are_close() -> None:
    assert "did you mean 'boom'?" in linkwise("torque crane.urdf --q bom=1").err
    shown = linkwise("torque crane.urdf --q x=1").err
    assert "(expected one of slew, luff, extend, or their links tower, boom, slew2)" in shown
    assert "links" not in linkwise("torque planar3 --q x=1").err


def test_tables_by_the_names_of_links() -> None:
    Path("joints.csv").write_text("t,slew,luff,extend\n0,0,0,0\n1,1,1,0.2\n")
    Path("links.csv").write_text("t,boom,q_tower,extend\n0,0,0,0\n1,1,1,0.2\n")
    ours, theirs = (of(f"torque crane.urdf {name}.csv --samples 3") for name in ("joints", "links"))
    assert ours["tau"] == theirs["tau"]
    for name in ("joints", "links"):
        Path(f"{name}.csv").write_text(Path(f"{name}.csv").read_text().replace("q_tower", "tower"))
    rows = [of(f"torque crane.urdf --q @{name}.csv")["tau"] for name in ("joints", "links")]
    assert rows[0] == rows[1]


def test_what_passes_limits_along_a_trajectory() -> None:
    """A table in degrees that is read as radians: factors of a hundred, which the screen tells."""
    Path("move.csv").write_text("t,q1,q2,q3\n0,0,0,0\n1,20,40,0.1\n2,30,50,0.2\n")
    shown = linkwise("torque crane.urdf move.csv")
    assert shown.code == 0
    head = " ".join(shown.out.partition(":")[0].split())
    motion = "a spline through 3 points, at rest at both ends, angles in radians, 2 s, 501 samples"
    assert head.startswith(f"crane along move.csv, {motion}")
    assert "of limit (%)" in shown.out
    assert "Limits that are passed" in shown.out
    found = of("torque crane.urdf move.csv")
    tau, qd, q = (np.abs(found[name]) for name in ("tau", "qd", "q"))
    limits = {"effort": (tau, [200, 120, 90]), "velocity": (qd, [2, 2, 0.5]), "travel": (q, [3, 1.2, 0.4])}
    passed = {(row["joint"], row["what"]): row for row in found["passed"]}
    names = ["slew", "luff", "extend"]
    for what, (values, ends) in limits.items():
        for k, name in enumerate(names):
            beyond = values[:, k] > ends[k]
            assert ((name, what) in passed) == beyond.any()
            if beyond.any():
                row = passed[name, what]
                assert row["time"] == found["t"][int(np.argmax(beyond))]
                assert abs(row["largest"]) == values[:, k].max()
                line = next(x for x in shown.out.splitlines() if x.startswith(f"{name} ") and f" {what} " in x)
                assert f"{row['time']:.4g}" in line
    assert [row["of_limit"] for row in found["peaks"]] == pytest.approx(list(tau.max(axis=0) / [200, 120, 90]))
    right = linkwise("torque crane.urdf move.csv --degrees").out
    assert "angles in degrees" in " ".join(right.split())
    assert "travel" not in right.partition("passed")[2]


def test_what_a_simulation_passes_is_what_torque_shows_along_the_same_motion() -> None:
    Path("move.csv").write_text("t,q1,q2,q3\n0,0,0,0\n1,20,40,0.1\n2,30,50,0.2\n")
    Path("crane.urdf").write_text(CRANE.replace('<axis xyz="1 0 0"/>', '<axis xyz="1 0 0"/><dynamics damping="1"/>'))
    line = "simulate crane.urdf --follow move.csv --duration 2 --samples 51"
    run, along = of(line)["passed"], of("torque crane.urdf move.csv --samples 51")["passed"]
    passed, expected = ([(row["joint"], row["what"], row["time"]) for row in rows] for rows in (run, along))
    assert passed == expected
    assert [row["largest"] for row in run] == pytest.approx([row["largest"] for row in along], rel=1e-4)
    shown, dragged = linkwise(line).out, linkwise(f"{line} --friction").out
    assert "Limits that are passed" in shown
    assert ["friction" in each.rpartition("passed")[2] for each in (shown, dragged)] == [True, False]


def test_ends_and_limits_of_a_batch() -> None:
    Path("pushes.csv").write_text("\n".join(["tau1,tau2,tau3", *["0,120,0", "0,-300,0"] * 11]))
    line = "simulate crane.urdf --torque @pushes.csv --duration 0.2 --samples 5"
    found, shown = of(line), linkwise(line).out
    assert next((row["joint"], row["what"], row["trajectory"]) for row in found["passed"]) == ("luff", "effort", 1)
    rows = [x.split() for x in shown.partition("Ends")[2].splitlines()]
    ends = {row[0]: row[2:] for row in rows if len(row) == 5}
    assert [k for k in range(22) if str(k) in ends] == list(range(20))
    assert [float(x) for x in ends["1"]] == pytest.approx(found["q"][1][-1], rel=1e-3)


def test_a_torque_that_is_shown_as_zero_has_no_share_of_its_limit() -> None:
    line = "torque crane.urdf --q 0.3,0.1,0.1 --gravity 0,1e-12,-9.81"
    assert of(line)["tau"][0] != 0.0
    rows = [x.split() for x in linkwise(line).out.splitlines()]
    shown = {row[0]: (row[-2], row[-1]) for row in rows if row and row[0] in ("slew", "luff", "extend")}
    assert shown["slew"] == ("0", "0")


def test_limits_that_are_kept() -> None:
    shown = linkwise("torque crane.urdf --to luff=0.3 --duration 20 --samples 11 --gravity 0,0,0").out
    assert "Within the robot's limits of effort, velocity and travel." in shown
    assert "passed" not in shown
    for line in ("torque stanford --samples 5", "torque stanford --q 0,0,0.1,0,0,0"):
        assert "limit" not in linkwise(line).out
    loads = linkwise("loads crane.urdf --to extend=0.5 --samples 5").out
    assert "extend  travel" in loads
    assert "0 to 0.4 m" in loads


def test_what_passes_limits_at_states() -> None:
    shown = linkwise("torque crane.urdf --q luff=2,extend=0.1 --qd extend=-1").out
    assert "luff    travel    -11.46 to 68.75 deg  114.6 deg" in shown
    assert "extend  velocity" in shown
    assert "of limit (%)" in shown
    Path("states.csv").write_text("slew,luff,extend\n0,0,0\n0,1.5,0\n0,1.3,-2\n")
    found = of("torque crane.urdf --q @states.csv")["passed"]
    passed = [[row[key] for key in ("joint", "what", "row")] for row in found]
    assert passed == [["luff", "travel", 2], ["extend", "travel", 3]]
    assert "in row" in linkwise("torque crane.urdf --q @states.csv").out


def test_limits_of_zero_are_none() -> None:
    """As some programs write them where nobody gave any."""
    Path("zero.urdf").write_text(CRANE.replace('effort="120"', 'effort="0"').replace('velocity="2"', 'velocity="0"'))
    shown = linkwise("torque zero.urdf --to luff=0.3 --samples 5").out
    assert "Limits of zero are not compared: effort of luff; velocity of slew, luff." in " ".join(shown.split())
    assert "inf" not in shown


def test_lengths_are_not_in_degrees() -> None:
    for state in ("--q 0,0,90deg", "--q extend=90deg", "--qd 0,0,1deg --q 0,0,0"):
        result = linkwise(f"torque crane.urdf {state}")
        assert (result.code, result.out) == (2, "")
        assert "'extend' slides (expected metres, without deg)" in result.err.replace("metres per second", "metres")
    assert names(linkwise("simulate crane.urdf --torque 0,1deg,0").err, "--torque", "'luff'", "deg")
    assert names(linkwise("torque crane.urdf --q 0,0,0 --gravity 0,0,1deg").err, "--gravity", "'1deg'")


@pytest.mark.parametrize(
    ("words", "warned"),
    [
        (
            "--q0 luff=1.5,extend=0.1 --limits",
            "luff starts at 85.94 deg, outside its travel of -11.46 to 68.75 deg: --limits stops it only where it"
            " leaves its travel again",
        ),
        (
            "--q0 @starts.csv --limits",
            "luff starts at -114.6 deg (first in row 2), outside its travel of -11.46 to 68.75 deg; extend starts at"
            " 0.5 m (first in row 3), outside its travel of 0 to 0.4 m: --limits stops them only where they leave their"
            " travel again",
        ),
        ("--q0 luff=1.5", ""),
        ("--q0 luff=0.5,extend=0.1 --limits", ""),
    ],
)
def test_a_start_outside_the_travel(words: str, warned: str, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("starts.csv").write_text("slew,luff,extend\n0,0,0.1\n0,-1,0.1\n0,-2,0.5\n")
    monkeypatch.setattr(lw, "simulate", lambda *_, **__: FALL)
    shown = linkwise(f"simulate crane.urdf --duration 0.01 --samples 2 {words}")
    assert (shown.code, shown.err) == (0, warned and f"warning: {warned}\n")


def test_a_start_that_was_brought_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where zero is outside the travel, as of the Panda's elbow."""
    Path("crane.urdf").write_text(CRANE.replace('lower="-0.2"', 'lower="0.2"'))
    monkeypatch.setattr(lw, "simulate", lambda *_, **__: FALL)
    shown = linkwise("simulate crane.urdf --limits --duration 0.01 --samples 2")
    assert "let go from the zero position, luff brought to its limit of 11.46 deg" in " ".join(shown.out.split())
    assert shown.err == "warning: luff starts at its limit: --q0 starts elsewhere\n"
    assert linkwise("simulate crane.urdf --duration 0.01 --samples 2").err == ""


def test_several_films_of_one_simulation(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    count = []
    real = lw.simulate
    monkeypatch.setattr(lw, "simulate", lambda *a, **k: count.append(1) or real(*a, **k))
    line = "simulate planar3 --duration 0.05 --samples 3 --fps 20"
    done = linkwise(f"{line} --animate fall.html --animate again.html")
    assert (done.code, done.err) == (0, "wrote fall.html\nwrote again.html\n")
    assert count == [1]
    assert Path("again.html").stat().st_size > 1000
    assert Path("fall.html").stat().st_size > 1000
    assert "fall.avi" in linkwise(f"{line} --animate fall.html --animate fall.avi").err
    twice = linkwise(f"{line} --animate again.html --animate ./again.html")
    assert (twice.code, twice.out) == (2, "")
    assert "given twice" in twice.err


def test_messages_in_the_words_of_the_prompt() -> None:
    refused = linkwise("describe panda --payload 3").err
    assert "link=" not in refused
    assert "(expected one of them, as in --payload 3@" in refused
    assert linkwise("describe panda --payload 3@panda_hand").code == 0


def test_options_of_files_in_the_words_of_the_prompt() -> None:
    heavy = CRANE.replace('ixx="0.1"', 'ixx="9"')
    mimic = CRANE.replace('<axis xyz="1 0 0"/>', '<mimic joint="none"/><axis xyz="1 0 0"/>')
    fixed = CRANE.replace('"revolute"', '"fixed"').replace('"prismatic"', '"fixed"')
    loop = CRANE.replace("</robot>", '<loop_joint name="x"/></robot>')
    for text, words, option in (
        (heavy, "--unphysical warn", "unphysical="),
        (mimic, "--mimic independent", "mimic="),
        (fixed, "--base free", "base="),
        (loop, "--ignore loop_joint", "ignore="),
    ):
        Path("crane.urdf").write_text(text)
        refused = linkwise("describe crane.urdf")
        assert (refused.code, refused.out) == (3, "")
        assert words in refused.err
        assert option not in refused.err
        assert linkwise(f"describe crane.urdf {words}").code == 0
    assert "(expected --dt" in linkwise("simulate planar3 --integrator rk4").err


@pytest.mark.slow
def test_durations_beyond_what_steps_can_add_up_to() -> None:
    message = linkwise("simulate planar3 --duration 1e300 --samples 3").err
    assert "s, below 1e-22 of the 1e+300 s to simulate (expected a shorter --duration)" in message


def test_descriptions_are_broken_in_a_pipe() -> None:
    for name in ("panda", "stanford", "humanoid"):
        text = linkwise(f"describe {name}").out
        about = lw.load(name).about
        assert " ".join(about.split()) in " ".join(text.split())
        head = text.partition("moving mass")[0]
        assert max(map(len, head.splitlines())) <= 120
        assert text.rstrip("\n") == lw.describe(lw.load(name))
