"""tools/redysim: the robot that an inputs.m describes, read as data; all but assignments of numbers is refused."""

import math
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import linkwise as lw
from effort import examples
from facts import raises, warns
from robots import relative

TOOLS = Path(__file__).parents[2] / "tools"
sys.path.insert(0, str(TOOLS))

from redysim import inputs, matlab  # noqa: E402

CRANE = (Path(__file__).parents[1] / "data/crane.m").read_text()
SATELLITE = """\
function [n nq alp a b bt dx dy dz al alt m g  Icxx Icyy Iczz Icxy Icyz Iczx]=inputs()
n=3; nq=1;
alp=[0; pi/2; 0]; a=[0; 0.5; 1]; b=[0; 0.1; 0]; bt=[0 1 2];
al=[1; 1; 1]; alt=[0.5; 1; 1];
dx=[0.01 0.5 0.5]; dy=[0 0 0]; dz=[0.2 0 0];
m=[50; 10; 10]; g=[0; 0; 0];
Icxx=[8; 0.1; 0.1]; Icyy=[9; 1; 1]; Iczz=[10; 1; 1];
Icxy=zeros(n,1); Icyz=zeros(n,1); Iczx=zeros(n,1);
"""


def crane() -> lw.Robot:
    """The crane, written by hand as a modified DH table: q stands for th of revolute and for b of prismatic joints."""
    bodies = [
        (2.0, (0.25, 0, 0), [[2 / 1200, 0, 0], [0, 0.5 / 12, 0], [0, 0, 0.5 / 12]]),
        (1.5, (0.2, 0, -0.16), [[0.02, -0.001, 0.003], [-0.001, 0.03, 0.002], [0.003, 0.002, 0.02]]),
        (1.0, (0.15, 0.01, 0), np.diag([0.02, 0.03, 0.04])),
        (0.5, (0.1, 0, 0), np.diag([0, 1e-3, 1e-3])),
    ]
    geometry = [
        {"joint": "revolute", "parent": "base", "alpha": 0, "a": 0, "b": 0.4},
        {"joint": "prismatic", "alpha": "-90 deg", "a": 0.5, "theta": "45 deg"},
        {"joint": "revolute", "parent": "link2", "alpha": "60 deg", "a": 0.2, "b": -0.05},
        {"joint": "revolute", "parent": "link2", "alpha": "-30 deg", "a": -0.1, "b": 0.05},
    ]
    bodies_by_name = [dict(zip(("mass", "com", "inertia"), body, strict=True)) for body in bodies]
    rows = [{**place, **body} for place, body in zip(geometry, bodies_by_name, strict=True)]
    return lw.Robot.from_dh(rows, convention="modified", name="crane")


def load(folder: Path, text: str | bytes, **options: Any) -> lw.Robot:
    path = folder / "inputs.m"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return inputs.read(path, **options)


def test_the_table_is_the_robot_of_the_file(tmp_path: Path) -> None:
    robot = load(tmp_path, CRANE)
    run = [sys.executable, TOOLS / "redysim", "inputs.m"]
    first = subprocess.run([*run], cwd=tmp_path, capture_output=True, text=True)
    assert (first.returncode, first.stdout, first.stderr) == (0, f"inputs.toml: {robot!r}\n", "")
    assert lw.load(tmp_path / "inputs.toml") == robot
    with raises(lw.errors.FileError, "inputs.m", "inputs.toml") as caught:
        lw.load(tmp_path / "inputs.m")
    assert "\n" not in str(caught.value)
    (tmp_path / "inputs.m").write_text("n = x;")
    second = subprocess.run([*run, "other.toml"], cwd=tmp_path, capture_output=True, text=True)
    assert (second.returncode, second.stdout) == (1, "")
    assert second.stderr.startswith("error: inputs.m:1: uses 'x', which no line before assigns")
    assert not (tmp_path / "other.toml").exists()


def test_a_file_is_the_modified_table_that_it_stands_for(tmp_path: Path) -> None:
    robot, hand = load(tmp_path, CRANE), crane()
    assert (robot.names, robot.joints, robot.gravity) == (hand.names, hand.joints, hand.gravity)
    rng = np.random.default_rng(0)
    q, qd, qdd = rng.normal(size=(3, 5, 4))
    assert np.allclose(lw.poses(robot, q), lw.poses(hand, q), atol=1e-14)
    assert relative(*(lw.inverse_dynamics(arm, q, qd, qdd) for arm in (robot, hand))) < 1e-14
    assert "without a drive: link3" in robot.about


def test_poses_are_those_of_redysim(tmp_path: Path) -> None:
    """Its forward kinematics: Q = [cθ -sθ 0; cα sθ cα cθ -sα; sα sθ sα cθ cα], from [a, -b sα, b cα] in the parent."""
    robot, q = load(tmp_path, CRANE), np.array([0.3, -0.2, 0.9, 1.4])
    alp, a = [0, -np.pi / 2, np.pi / 3, -np.pi / 6], [0, 0.5, 0.2, -0.1]
    b, th = [0.4, q[1], -0.05, 0.05], [q[0], np.pi / 4, q[2], q[3]]
    frames = {-1: np.eye(4)}
    for i, parent in enumerate((-1, 0, 1, 1)):
        (ca, sa), (c, s) = ((np.cos(x), np.sin(x)) for x in (alp[i], th[i]))
        step = [[c, -s, 0, a[i]], [ca * s, ca * c, -sa, -b[i] * sa], [sa * s, sa * c, ca, b[i] * ca], [0, 0, 0, 1]]
        frames[i] = frames[parent] @ np.array(step)
    assert np.allclose(lw.poses(robot, q), [frames[i] for i in range(4)], atol=1e-15)


def test_a_floating_base_is_free_or_planar(tmp_path: Path) -> None:
    robot = load(tmp_path, SATELLITE)
    assert (robot.joints, robot.convention) == ("FRR", "modified")
    body = robot.rows[0]
    assert (body["mass"], body["com"], np.diag(body["inertia"]).tolist()) == (50.0, (0.01, 0.0, 0.2), [8.0, 9.0, 10.0])
    assert load(tmp_path, SATELLITE.replace("nq=1", "nq=0; dof=5")).joints == "ERR"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("[1 -2]", [[1, -2]]),
        ("[1 - 2]", [[-1]]),
        ("[1 -2;3, 4\n5 6]", [[1, -2], [3, 4], [5, 6]]),
        ("[1 2]'", [[1], [2]]),
        ("[v' v']", [[3, 3], [4, 4]]),
        ("-2^2", [[-4]]),
        ("2^-1", [[0.5]]),
        ("2*3-4/8+(1)", [[6.5]]),
        ("2^3^2", [[64]]),
        ("v*v'", [[25]]),
        ("v'*v", [[9, 12], [12, 16]]),
        ("v.*v./2 - 1.", [[3.5, 7]]),
        ("v.^2 + 1.5d1", [[24, 31]]),
        ("[ v(2) , v(1) ; zeros(1,2) ]", [[4, 3], [0, 0]]),
        ("ones(2)", [[1, 1], [1, 1]]),
        ("--+-1", [[-1]]),
        ("sin(pi/2)+cos(0)*sqrt(4)", [[3]]),
        ("[a(2,1) a(3)]", [[3, 2]]),
        ("[]", np.zeros((0, 0))),
    ],
)
def test_arithmetic_is_that_of_matlab(text: str, value: Any, tmp_path: Path) -> None:
    path = tmp_path / "numbers.m"
    path.write_text(f"v = [3 4]; a = [1 2; 3 4];\nx = {text}; % and so on\n")
    assert matlab.read(path)["x"].value.tolist() == np.array(value, dtype=float).tolist()


def test_elements_that_are_assigned_one_by_one_make_a_matrix(tmp_path: Path) -> None:
    path = tmp_path / "numbers.m"
    path.write_text("a(3) = 1; b(2,1) = 4; b(1,1) = 3;\nc = b;\nc(2) = 9; b(1)=0;")
    values = {name: variable.value.tolist() for name, variable in matlab.read(path).items()}
    assert values == {"a": [[0.0, 0.0, 1.0]], "b": [[0.0], [4.0]], "c": [[3.0], [9.0]]}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("type=0;", "type=1;", "4: type is 1, a closed loop, which is not read"),
        ("dof=n;", "dof=3;", r"3: dof is 3 for 4 links without loops \(expected 4\)"),
        ("type=0;", "", "1: type is missing"),
        ("n=4;", "n=5;", "6: alp is 4 x 1 .expected a row or column of 5 numbers"),
        ("dof=n;", "dof=4.5;", "3: dof is 4.5 .expected a whole number"),
        ("r=[1; 0;", "r=[1; 2;", r"11: r\(2\) has 2 .expected 0 or 1"),
        ("bt=[0 1 2 2]", "bt=[0 1 2 9]", r"12: bt\(4\) has the parent 9"),
        ("bt=[0 1 2 2]", "bt=[0 3 2 2]", "12: robot 'inputs', link 'link2': parent"),
        ("m=[2;", "m=[-2;", "16: robot 'inputs', link 'link1': mass is -2.0"),
        ("Icyy(4)=1e-3;", "Icyy(4)=-1e-3;", "26: robot 'inputs', link 'link4': inertia"),
        ("g=[0; 0; -9.81];", "g=[0; -9.81];", "17: g is 2 x 1"),
        ("g=[0; 0; -9.81];", "", "1: g is missing"),
        ("al=[0.5;", "al=[1/0;", "5: al is not finite"),
        ("al=[0.5;", "al=[1e999;", "5: al is not finite"),
        ("al=[0.5;", "al=[length;", "5: uses 'length', which no line before assigns"),
        ("al=[0.5;", "al=['a';", "5: has a text in quotes"),
        ("al=[0.5; 0.4", "al=[0.5 1; 0.4", "5: has a matrix whose rows"),
        ("al=[0.5; 0.4; 0.3; 0.2];", "al=[0.5; 0.4", "6: uses 'alp', which no line before assigns"),
        ("n=4;", "n=4; load('x.mat');", "3: has a text in quotes"),
        ("n=4;", "n=4; clc", "3: has a statement that is not an assignment"),
        ("n=4;", "n=4; x = load('x.mat');", "3: calls load: the numbers are in another file"),
        ("n=4;", "n=4; for i=1:n", "3: has 'for': only assignments are read"),
        ("n=4;", "n=4; system('rm -r /');", "3: has a text in quotes"),
        ("n=4;", "n=4; x = eval('1');", "3: uses 'eval'"),
        ("n=4;", "n=4; !ls", "3: begins a statement with '!'"),
        ("n=4;", "n=4; a = b(1);", "3: uses 'b', which no line before assigns"),
        ("dx=al/2;", "dx=al(7)/2;", r"14: asks for al\(7\), and al has 4 entries"),
        ("dx=al/2;", "dx=al/al;", "14: divides by a matrix"),
        ("dx=al/2;", "dx=al*al;", "14: multiplies matrices of the sizes"),
        ("dx=al/2;", "dx=al+[1 2];", "14: combines matrices of the sizes"),
        ("dx=al/2;", "dx=al(1.5);", "14: has an index that is not a whole number"),
        ("dx=al/2;", "dx=zeros(1e9,1);", "14: has an index"),
        ("dx=al/2;", "dx=" + "(" * 500 + "1" + ")" * 500 + ";", "14: has over 40 parentheses"),
        ("alp=[0;", "alp=[90;", "6: robot 'inputs', link 'link1': alpha is 90 radians"),
        ("\nend\n", "\nend\nq = 3;\n", "28: has 'q' after the function's end"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(old: str, new: str, message: str, tmp_path: Path) -> None:
    assert CRANE.count(old) == 1
    with pytest.raises(lw.errors.FileError, match=f"{re.escape(str(tmp_path / 'inputs.m'))}:{message}"):
        load(tmp_path, CRANE.replace(old, new))


def test_a_floating_base_has_no_joint_of_its_own(tmp_path: Path) -> None:
    with raises(lw.errors.FileError, "3", "a(1)", "0", "1", "floating"):
        load(tmp_path, SATELLITE.replace("a=[0; 0.5", "a=[1; 0.5"))
    with raises(lw.errors.FileError, ":3:", "bt(3)", "0", "base"):
        load(tmp_path, SATELLITE.replace("bt=[0 1 2]", "bt=[0 1 0]"))


def test_impossible_bodies_are_read_where_asked_for(tmp_path: Path) -> None:
    text = CRANE.replace("Iczz(4)=1e-3", "Iczz(4)=1e-1")
    with raises(lw.errors.FileError, ":26:", "'link4'", "inertia", "triangle"):
        load(tmp_path, text)
    with warns(UserWarning, "'link4'", "inertia"):
        assert load(tmp_path, text, unphysical="warn").n == 4


def test_old_encodings_of_comments(tmp_path: Path) -> None:
    assert load(tmp_path, CRANE.replace("for this test", "für uns").encode("latin-1")).n == 4
    assert load(tmp_path, CRANE.replace("\n", "\r\n")).n == 4
    assert math.isclose(load(tmp_path, "\ufeff" + CRANE).rows[2]["alpha"], math.pi / 3)


WORDS = ["=", "[", "]", "(", ")", ";", ",", "\n", " ", "'", "-", "+", "^", "*", "/", "...", "%", ".", "%{", "=[", ".*"]
WORDS += ["n", "1", "1e9", "zeros", "al", "end", "\x00", "é", "function", "save x", "1;", "for", "pi", "1:2", "0x1"]


@examples(150)
@given(words=st.lists(st.sampled_from(WORDS), max_size=30), at=st.integers(0, len(CRANE)), cut=st.integers(0, 40))
def test_no_other_error_comes_out(words: list[str], at: int, cut: int, tmp_path_factory: Any) -> None:
    path = tmp_path_factory.getbasetemp() / "mutated.m"
    path.write_bytes((CRANE[:at] + "".join(words) + CRANE[at + cut :]).encode())
    text = f"{path}:1: "
    try:
        assert inputs.read(path).n >= 1
    except lw.errors.RobotError as problem:
        text = str(problem)
    assert re.match(rf"{re.escape(str(path))}:\d+: ", text)


@pytest.mark.parametrize(
    "text",
    [
        "function" + "\n" * 290_000, "a(9999)=1;" * 29_000, "a=ones(100);" + "b=a*1;" * 49_000,
        "x=[" + "1 " * 149_000, "x=" + "-" * 290_000 + "1;", "x=" + "1+" * 149_000 + "1;", "%{\n" * 99_000,
        "x = 1 ...\n" * 29_000,
    ],
    ids=range(8),
)  # fmt: skip
@pytest.mark.slow
def test_large_files_take_no_time(text: str, tmp_path: Path) -> None:
    with pytest.raises(lw.errors.FileError):
        load(tmp_path, text)
