"""What is printed, explained, exported and saved of robots with joints of every kind and with coupled joints."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwise as lw
from effort import rest_slow
from facts import raises
from joint_kinds import ARM, CHAIN, COUPLED, EVERY, SECOND, TREE, coupled, states
from linkwise.export.formulas import names_of
from robots import ids, relative

over_every = pytest.mark.parametrize("robot", rest_slow(EVERY, [TREE, COUPLED]), ids=ids(EVERY))
SMALL = lw.chain(2, seed=1, joints="SR")
GEARED = coupled(lw.chain(3, seed=1, joints="RRH"))
BODY = {"mass": 1.0, "com": (0.1, 0.2, 0.3), "inertia": np.diag([0.1, 0.12, 0.13]).tolist()}


def row(joint: str, **entries: Any) -> dict[str, Any]:
    return {"name": joint, "joint": joint, "translation": (0.0, 0.0, 0.0), **BODY, **entries}


def test_a_robot_says_how_many_degrees_of_freedom_and_joints_it_has() -> None:
    assert repr(ARM) == "<Robot 'chain-3-7-R': 9 degrees of freedom, 4 joints FRRR, standard>"
    assert repr(GEARED) == "<Robot 'chain-3-1-RRH-coupled': 2 degrees of freedom, 3 joints RRH, standard>"
    assert repr(lw.load("planar3")) == "<Robot 'planar3': 3 joints RRR, standard>"
    assert repr(lw.chain(1, joints="F")) == "<Robot 'chain-1-0-F': 6 degrees of freedom, 1 joint F, standard>"
    assert "chain-14-0-R': 14 joints RRRRRRRRRRR..., " in repr(lw.chain(14))


def test_describe_says_what_the_coordinates_are_and_shows_pitch_and_couplings() -> None:
    text = str(lw.describe(TREE))
    assert text.startswith(
        f"{TREE.name}: {TREE.n} degrees of freedom, {len(TREE.joints)} joints ({TREE.joints}), a tree"
    )
    lines = text[text.index("coordinates:") :].splitlines()[3:]
    for line, joint in zip(lines, TREE.moving, strict=False):
        name, q, v, *meaning = line.split()
        first, _, last = q.partition("..")
        assert (name, int(first), int(last or first) + 1) == (joint.name, joint.q.start, joint.q.stop)
        first, _, last = v.partition("..")
        assert (int(first), int(last or first) + 1) == (joint.v.start, joint.v.stop)
        assert " ".join(meaning) == joint.kind.meaning
    assert f"{TREE.rows[7]['pitch']:.6g}" in text
    assert "pitch (m/rad)" in text
    assert "coordinates:" not in str(lw.describe(lw.chain(3)))
    assert "pitch" not in str(lw.describe(lw.chain(3)))
    geared = str(lw.describe(GEARED))
    ratio, offset = GEARED.rows[1]["ratio"], GEARED.rows[1]["offset"]
    sign = "-" if offset < 0 else "+"
    assert f"link2  {ratio:.6g} q(link1) {sign} {abs(offset):.6g}" in geared


def test_describe_shows_limits_of_each_coordinate_in_degrees_or_metres() -> None:
    limits = [(-0.1, 0.2), ("-90 deg", "45 deg")]
    arm = lw.Robot.from_frames([row("cylindrical", limits=limits), row("screw", pitch=0.1, limits=("0 deg", "30 deg"))])
    text = str(lw.describe(arm))
    assert "(-0.1, 0.2), (-90, 45)" in text
    assert "(0, 30)" in text


@pytest.mark.parametrize("robot", rest_slow([TREE, CHAIN, ARM], [CHAIN]), ids=ids([TREE, CHAIN, ARM]))
def test_explain_has_the_quantities_of_the_public_functions(robot: lw.Robot) -> None:
    q, qd, qdd, _ = states(robot)
    found = lw.explain(robot, q, qd, qdd)
    assert relative(found["I"], lw.inertia_matrix(robot, q)) < 1e-12
    assert relative(found["C"], lw.coriolis_matrix(robot, q, qd)) < 1e-12
    assert relative(found["tau"], lw.inverse_dynamics(robot, q, qd, qdd)) < 1e-12
    diagonal = lw.formulations.udu(robot, q)[1]
    assert relative(found["U"] @ np.diag(found["D"]) @ found["U"].T, lw.inertia_matrix(robot, q)) < 1e-9
    assert relative(found["D"], diagonal) < 1e-12
    for name, kind in (("nu", lw.formulations.normalized), ("xi", lw.formulations.unnormalized)):
        own = kind.velocity(robot, q, qd)
        assert relative(found[name], own) < 1e-12
        assert relative(found[f"C_{name}"], kind.coriolis(robot, q, own, gravity=False)) < 1e-10
    assert relative(found["K"] @ found["T"], 0.0 * found["T"]) < 1e-9
    assert list(found["p"]) == [link.name for link in robot.links]
    assert all(link.name in found.text("psi") for link in robot.links)
    assert found.latex("U")


def test_explain_and_accuracy_refuse_coupled_joints_by_name() -> None:
    q, qd, _, tau = states(COUPLED)
    joint = COUPLED.links[COUPLED.couplings[0].link].name
    with raises(ValueError, f"robot {COUPLED.name!r}", f"joint {joint!r}", "coupled"):
        lw.explain(COUPLED, q)
    with raises(ValueError, f"joint {joint!r}", "coupled"):
        lw.accuracy(COUPLED, q, qd, tau)


def test_accuracy_names_the_worst_coordinate() -> None:
    q, qd, _, tau = states(ARM, 2)
    found = lw.accuracy(ARM, q, qd, tau, methods=["articulated", "composite-udu"])
    assert found["articulated"].result.shape == (2, ARM.n)
    assert max(found[name].worst for name in found) < 1e-10
    assert any(name in str(found) for name in ARM.v_names)


@over_every
def test_python_text_and_latex_compute_and_print(robot: lw.Robot) -> None:
    q, qd, qdd, _ = states(robot)
    space: dict[str, Any] = {}
    exec(lw.python_source(lw.inverse_dynamics, robot), space)
    assert relative(np.array(space["inverse_dynamics"](q, qd, qdd)), lw.inverse_dynamics(robot, q, qd, qdd)) < 1e-12
    assert f"{robot.nq} numbers" in lw.python_source(lw.gravity_torque, robot)
    assert lw.latex(lw.gravity_torque, robot, closed=False).count(r"\begin{align*}") == 1


@pytest.mark.parametrize("robot", rest_slow([SMALL, GEARED], [GEARED]), ids=ids([SMALL, GEARED]))
def test_sympy_has_a_symbol_for_each_number_of_q(robot: lw.Robot) -> None:
    pytest.importorskip("sympy")
    q, *_ = states(robot)
    inputs = lw.trace(lw.gravity_torque, robot).inputs
    names = names_of(robot, inputs, latex=False) or {"q": [f"q{k + 1}" for k in range(robot.nq)]}
    values = dict(zip(names["q"], q, strict=True))
    for simplify in (False, robot is GEARED):
        matrix = lw.sympy(lw.gravity_torque, robot, simplify=simplify)
        found = [float(x.subs({s: values[s.name] for s in x.free_symbols})) for x in matrix]
        assert relative(found, lw.gravity_torque(robot, q)) < 1e-12


def test_components_are_named_by_what_they_are() -> None:
    arm = lw.random_tree(8, seed=3, joints="FSUECHRP")
    inputs = lw.trace(lambda arm, q, qd, qdd, tau: tau[0] + qdd[0] + qd[0] + q[0], arm).inputs
    for latex in (True, False):
        names = names_of(arm, inputs, latex=latex)
        assert names is not None
        every = [name for array in names.values() for name in array]
        assert len(every) == len(set(every)) == arm.nq + 3 * arm.n
    free = lw.load("planar3").with_free_base(mass=4.0, inertia=np.eye(3))
    text = lw.latex(lw.configuration_rate, free, elements=True, name="r")
    assert "% joints: 1 base (free), 2 link1 (revolute), 3 link2 (revolute), 4 link3 (revolute)" in text.splitlines()
    assert r"r_{1} &= v_{x,1} \\" in text
    assert r"r_{4} &= -0.5 \, \bigl( q_{x,1} \, \omega_{x,1} + q_{y,1} \, \omega_{y,1}" in text
    assert r"r_{8} &= \dot{q}_{2}" in text
    assert "s_i = sin" not in text
    assert r"c_{3}" in lw.latex(lw.inertia_matrix, free)
    assert "s_i = sin" in lw.latex(lw.inertia_matrix, free)


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
@pytest.mark.parametrize("robot", rest_slow([SECOND, COUPLED], [COUPLED]), ids=ids([SECOND, COUPLED]))
def test_it_leaves_as_c_with_arrays_of_both_sizes(robot: lw.Robot, tmp_path: Path) -> None:
    source = lw.c_source(lw.forward_dynamics, robot, self_test=True)
    n = robot.n
    sizes = f"const double q[{robot.nq}], const double qd[{n}], const double tau[{n}], double qdd[{n}]"
    assert sizes in " ".join(source.header.split())
    for joint in robot.moving:
        if joint.coupling is None:
            assert f"{joint.name} ({joint.kind.name}): q[{joint.q.start}" in source.header
            assert joint.kind.degrees == 1 or joint.kind.meaning in source.header
        else:
            assert f"{joint.name} ({joint.kind.name}): coupled, " in source.header
    assert "quaternions (w, x, y, z)" in source.header
    for made in (source, lw.c_source(lw.derivative(lw.potential_energy, robot, "q"), robot, self_test=True)):
        made.save(tmp_path)
        subprocess.run(["cc", "-std=c99", "-Werror", f"{made.name}.c", "-lm"], cwd=tmp_path, check=True)
        subprocess.run(["./a.out"], cwd=tmp_path, check=True)


@over_every
def test_files_round_trip(robot: lw.Robot, tmp_path: Path) -> None:
    lw.save(robot, tmp_path / "arm.toml")
    again = lw.load(tmp_path / "arm.toml")
    assert again == robot
    assert again.fingerprint == robot.fingerprint
    assert again.rows == robot.rows
    q, qd, qdd, _ = states(robot)
    assert np.array_equal(lw.inverse_dynamics(again, q, qd, qdd), lw.inverse_dynamics(robot, q, qd, qdd))


def test_limits_of_several_coordinates_round_trip(tmp_path: Path) -> None:
    limits = [(0.0, 0.5), (-1.0, 1.0), ("-30 deg", "30 deg")]
    arm = lw.Robot.from_frames([row("planar", limits=limits), row("universal", limits=[(-1.0, 1.0), (-2.0, 2.0)])])
    lw.save(arm, tmp_path / "arm.toml")
    assert lw.load(tmp_path / "arm.toml") == arm
    assert [link.joint.limits for link in arm.links[:2]] == [(0.0, 0.5), (-1.0, 1.0)]
    assert "limits = [[0.0, 0.5], [-1.0, 1.0], [" in (tmp_path / "arm.toml").read_text()


FILE = """name = "bench"
convention = "frames"
gravity = [0.0, 0.0, -9.81]

[[link]]
name = "nut"
joint = "screw"
translation = [0.0, 0.0, 0.0]
mass = 1.0
com = [0.0, 0.0, 0.0]
inertia = [[0.1, 0.0, 0.0], [0.0, 0.1, 0.0], [0.0, 0.0, 0.1]]
pitch = 0.1

[[link]]
name = "wheel"
joint = "revolute"
translation = [0.0, 0.0, 0.0]
mass = 1.0
com = [0.0, 0.0, 0.0]
inertia = [[0.1, 0.0, 0.0], [0.0, 0.1, 0.0], [0.0, 0.0, 0.1]]
coupled_to = "nut"
ratio = 2.0
offset = 0.5
"""
WRONG = [  # a change of the file, the line that is refused, and what the message names
    ("pitch = 0.1\n", "", 5, "'nut' | pitch"),
    ("pitch = 0.1", 'pitch = "steep"', 12, "'nut' | pitch | 'steep'"),
    ('joint = "screw"', 'joint = "revolute"', 12, "'nut' | pitch | revolute"),
    ('joint = "screw"', 'joint = "skrew"', 7, "'nut' | joint | 'skrew' | 'screw'"),
    ('coupled_to = "nut"', 'coupled_to = "nit"', 21, "'wheel' | coupled_to | 'nit'"),
    ('coupled_to = "nut"', "coupled_to = 3", 21, "'wheel' | coupled_to | 3"),
    ('coupled_to = "nut"\n', "", 21, "'wheel' | ratio | coupled_to"),
    ('coupled_to = "nut"', 'coupled_to = "wheel"', 21, "'wheel' | coupled_to | wheel -> wheel"),
    ("ratio = 2.0", "ratio = [2.0]", 22, "'wheel' | ratio"),
    ("offset = 0.5", "offset = nan", 23, "'wheel' | offset | nan"),
    ("pitch = 0.1", "pitch = 0.1\nlimits = [1.0, 0.0]", 13, "'nut' | limits"),
    ('joint = "screw"', 'joint = "cylindrical"\nlimits = [[0.0, 1.0]]', 8, "'nut' | limits | z, rz"),
    ('joint = "screw"', 'joint = "ball"\naxis = [0.0, 0.0, 1.0]', 8, "'nut' | axis"),
    ('joint = "screw"', 'joint = "ball"\nlimits = [0.0, 1.0]', 8, "'nut' | limits | ball"),
]


@pytest.mark.parametrize(("old", "new", "line", "facts"), WRONG, ids=[f"{w[1].strip()[:30]}-{w[2]}" for w in WRONG])
def test_wrong_entries_of_a_file_are_named_with_their_line(
    old: str, new: str, line: int, facts: str, tmp_path: Path
) -> None:
    path = tmp_path / "bench.toml"
    path.write_text(FILE)
    assert lw.load(path).couplings[0][2:] == (2.0, 0.5)
    assert FILE.count(old) >= 1
    text = FILE.replace(old, new, 1)
    if 'joint = "ball"' in text or 'joint = "cylindrical"' in text:
        text = text.replace("pitch = 0.1\n", "")
    path.write_text(text)
    with raises(lw.errors.FileError, f"bench.toml:{line}:", "robot 'bench'", *facts.split(" | ")):
        lw.load(path)


def test_symbols_for_masses_pitch_and_ratio() -> None:
    values = {"mass": 1.3, "pitch": 0.15, "gear": -1.7, "shift": 0.4}
    mass, pitch, gear, shift = lw.symbols("mass pitch gear shift")
    rows = lw.random_tree(5, seed=6, joints="RSHRF").rows
    rows[1]["mass"], rows[2]["pitch"] = mass, pitch
    rows[3] |= {"coupled_to": rows[0]["name"], "ratio": gear, "offset": shift}
    arm = lw.Robot.from_frames(rows, name="open")
    assert lw.symbols_of(arm) == ("gear", "mass", "pitch", "shift")
    bound = lw.bind(arm, **values)
    assert not bound.symbolic
    assert bound.couplings[0][2:] == (-1.7, 0.4)
    q, qd, qdd, _ = states(bound, 2)
    expected = lw.inverse_dynamics(bound, q, qd, qdd)
    kernel = lw.compile(lw.inverse_dynamics, arm)
    assert relative(kernel(q, qd, qdd, **{k: np.full(2, x) for k, x in values.items()}), expected) < 1e-12
    program = lw.trace(lw.inverse_dynamics, arm)
    found = lw.graph.evaluate(program, q, qd, qdd, *(values[name] for name in sorted(values)))[0]
    assert relative(found, expected) < 1e-12
    assert "gear q(link1) + shift" in str(lw.describe(arm))
    assert "gear q(link1) + shift" in lw.c_source(lw.gravity_torque, arm).header
