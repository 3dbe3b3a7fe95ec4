"""Each command: its examples run as they stand, and its numbers are those of the functions."""

import csv
import io
import json
import shlex
from pathlib import Path

import numpy as np
import pytest

import linkwise as lw
from command_line import linkwise
from effort import rest_slow
from linkwise.cli import COMMANDS, app

PICTURES = ("--plot", "linkwise draw", "linkwise demo")
LONG = (*PICTURES, "linkwise bench", "simulate puma560", "--follow", "loads puma560", "excite ur5e")
EXAMPLES = {name: [line for line, _ in app.load_command(name).examples] for name in COMMANDS}


pytestmark = pytest.mark.usefixtures("in_a_folder_of_its_own")


def make_sweep() -> None:
    arm = lw.load("planar3")
    lw.sweep(arm, lw.sweeps.monte_carlo(4, 1, q0=([-1] * 3, [1] * 3)), "falls", 0.01, chunk=2, keep="ends", files="npz")


def run(line: str) -> str:
    """What an example prints. It must succeed; with --json it prints JSON alone."""
    result = linkwise(line.removeprefix("linkwise"), {"LINKWISE_CACHE": "cache"})
    assert result.code == 0, result.err
    assert "Traceback" not in result.err
    for word in shlex.split(line):
        if word.endswith((".png", ".svg", ".csv", ".tex", ".toml", ".urdf")):
            assert Path(word).stat().st_size > 0
    if line.endswith("--json"):
        json.loads(result.out, parse_constant=pytest.fail)
    return result.out


def is_long(line: str) -> bool:
    return any(word in line for word in LONG)


SHORT = [name for name in COMMANDS if not all(map(is_long, EXAMPLES[name]))]


@pytest.mark.parametrize("name", rest_slow(SHORT, [name for name in SHORT if name not in ("excite", "identify")]))
def test_examples(name: str) -> None:
    """In order, since some write what the next ones read."""
    if name == "sweep":
        make_sweep()
    for line in EXAMPLES[name]:
        if not is_long(line):
            run(line)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*(name for name in COMMANDS if any(map(is_long, EXAMPLES[name]))), "linkwise"])
def test_long_examples(name: str) -> None:
    pytest.importorskip("matplotlib")
    for line in EXAMPLES[name] if name in EXAMPLES else [line for line, _ in app.EXAMPLES]:
        run(line)


def test_pictures() -> None:
    pytest.importorskip("matplotlib")
    run("linkwise torque planar3 --samples 5 --plot torques.svg")
    run("linkwise draw planar3 --out planar3.svg")


ROBOTS = ["stanford", "quadruped"]


def state(robot: str) -> tuple[lw.Robot, np.ndarray, np.ndarray, np.ndarray]:
    arm, rng = lw.load(robot), np.random.default_rng(3)
    return arm, lw.random_configuration(arm, rng), rng.normal(size=arm.n), rng.normal(size=arm.n)


def typed(values: np.ndarray) -> str:
    return ",".join(map(repr, values.tolist()))


@pytest.mark.parametrize("robot", ROBOTS)
def test_torques_at_a_state_are_exact(robot: str) -> None:
    arm, q, qd, qdd = state(robot)
    line = f"torque {robot} --q {typed(q)} --qd {typed(qd)} --qdd {typed(qdd)}"
    found = json.loads(linkwise(f"{line} --json").out)
    expected = lw.inverse_dynamics(arm, q, qd, qdd)
    assert (np.array(found["tau"]) == expected).all()
    assert found["v_names"] == list(arm.v_names)
    table = list(csv.DictReader(io.StringIO(linkwise(f"{line} --csv -").out)))
    columns = [name for name in table[0] if name.startswith("tau")]
    assert [float(table[0][name]) for name in columns] == expected.tolist()
    shown = linkwise(line).out
    assert f"{expected[0]:.4g}" in shown


@pytest.mark.parametrize("robot", ROBOTS)
def test_states_of_a_table(robot: str) -> None:
    """A table of torques is a table of states: the same columns are read back."""
    arm = lw.load(robot)
    rows = lw.random_configuration(arm, np.random.default_rng(1), 5)
    names = lw.robot.layout.Layout.of(arm).columns("q")
    with open("states.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["t", *names])
        writer.writerows([k, *map(repr, row)] for k, row in enumerate(rows.tolist()))
    found = json.loads(linkwise(f"torque {robot} --q @states.csv --json").out)
    assert np.array_equal(found["q"], rows)
    expected = lw.inverse_dynamics(arm, rows, np.zeros(arm.n), np.zeros(arm.n))
    assert np.array_equal(found["tau"], expected)
    assert len(linkwise(f"torque {robot} --q @states.csv").out.splitlines()) == 8


def test_names_degrees_and_pi() -> None:
    arm = lw.load("stanford")
    for text in ("link2=pi/2,link3=0.1", "link3=0.1 link2=90deg", "0,90deg,0.1,0,0,0", "[0, 0.5pi, 0.1, 0, 0, 0]"):
        found = json.loads(linkwise(f"torque stanford --q '{text}' --json").out)
        assert found["q"] == [0.0, np.pi / 2, 0.1, 0.0, 0.0, 0.0]
    degrees = json.loads(linkwise("torque stanford --q 10,90,0.1,0,0,-30 --degrees --json").out)
    assert np.allclose(degrees["q"], [*np.radians([10, 90]), 0.1, 0, 0, np.radians(-30)], rtol=0, atol=1e-15)
    rates = json.loads(linkwise("torque stanford --q 0,0,0,0,0,0 --qd 0,90,0.1,0,0,0 --degrees --json").out)
    assert rates["qd"][1:3] == [np.pi / 2, 0.1]
    assert np.array_equal(lw.gravity_torque(arm, [0, np.pi / 2, 0.1, 0, 0, 0]), found["tau"])


MOTIONS = [(robot, name) for robot in ROBOTS for name in ("cycloid", "cubic", "quintic", "septic", "trapezoid")]


@pytest.mark.parametrize(("robot", "name"), rest_slow(MOTIONS, [*MOTIONS[:5], ("quadruped", "trapezoid")]))
def test_trajectories_by_name_and_from_a_table(robot: str, name: str) -> None:
    """The motion that was written gives the same torques again."""
    line = f"torque {robot} {name} --duration 2 --samples 41"
    first = json.loads(linkwise(f"{line} --json --csv motion.csv").out)
    again = json.loads(linkwise(f"torque {robot} motion.csv --samples 41 --json").out)
    assert first["t"] == again["t"]
    assert np.allclose(first["tau"], again["tau"], rtol=1e-9, atol=1e-9)
    arm = lw.load(robot)
    expected = lw.inverse_dynamics(arm, first["q"], first["qd"], first["qdd"])
    assert np.allclose(first["tau"], expected, rtol=1e-12, atol=1e-12)
    assert name in first["trajectory"]


def test_the_trajectory_of_the_paper_is_the_default() -> None:
    third = np.pi / 3
    move = lw.trajectories.cycloid([0, np.pi / 2, 0, 0, 0, 0], [third, third, 0.1, third, third, third], 10.0)
    along = lw.torque_along(lw.load("stanford"), move, 11)
    for line in ("torque stanford --samples 11", "torque stanford paper --samples 11"):
        found = json.loads(linkwise(f"{line} --json").out)
        assert np.array_equal(found["tau"], along.tau)
        assert "Saha" in found["trajectory"]
    assert "Saha (1999), eq. (39)" in linkwise("torque stanford --samples 11").out


@pytest.mark.parametrize("robot", rest_slow(sorted(lw.LIBRARY), ["go1", "xarm7"]))
def test_the_default_motion_stays_within_the_limits(robot: str) -> None:
    arm = lw.load(robot)
    found = json.loads(linkwise(f"torque {robot} cycloid --samples 5 --json").out)
    q = np.array(found["q"])
    for link, slot in arm.driving:
        if link.joint.limits is not None and link.joint.width == 1:
            low, high = map(float, link.joint.limits)
            assert low - 1e-12 <= q[:, slot.q].min()
            assert q[:, slot.q].max() <= high + 1e-12


def test_loads_are_those_of_the_function() -> None:
    line = "loads stanford cycloid --samples 11"
    found = json.loads(linkwise(f"{line} --json --csv loads.csv").out)
    arm = lw.load("stanford")
    loads = lw.joint_wrenches(arm, found["q"], found["qd"], found["qdd"], axes="frame")
    assert np.array_equal(found["loads"], loads)
    assert np.allclose(found["radial"], np.hypot(loads[..., 3], loads[..., 4]))
    with open("loads.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["fz3"]) for row in rows] == loads[:, 2, 5].tolist()
    parquet = pytest.importorskip("pyarrow.parquet")
    linkwise(f"{line} --parquet loads.parquet")
    assert parquet.read_table("loads.parquet")["fz3"].to_pylist() == loads[:, 2, 5].tolist()


@pytest.mark.parametrize("axes", ["frame", "base"])
def test_loads_at_states(axes: str) -> None:
    arm = lw.load("stanford")
    q = np.random.default_rng(5).normal(size=(3, 6))
    Path("states.csv").write_text("\n".join(["q1,q2,q3,q4,q5,q6", *(",".join(map(repr, row)) for row in q.tolist())]))
    line = f"loads stanford --q @states.csv --qd 1,2,3,4,5,6 --axes {axes}"
    found = json.loads(linkwise(f"{line} --json --csv loads.csv").out)
    loads = lw.joint_wrenches(arm, q, [1, 2, 3, 4, 5, 6], [0] * 6, axes=axes)
    own = lw.joint_wrenches(arm, q, [1, 2, 3, 4, 5, 6], [0] * 6, axes="frame")
    assert np.array_equal(found["loads"], loads)
    assert np.array_equal(found["axial"], own[..., 5])
    assert np.array_equal(found["tau"], lw.inverse_dynamics(arm, q, [1, 2, 3, 4, 5, 6], [0] * 6))
    with open("loads.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["my2"]) for row in rows] == loads[:, 1, 1].tolist()
    assert [float(row["tilting6"]) for row in rows] == [row[5] for row in found["tilting"]]
    assert f"{np.abs(loads[:, 1, 1]).max():.4g}" in linkwise(line).out


def test_loads_at_one_state_have_their_signs() -> None:
    found = linkwise("loads puma560 --q 0,0,pi/2,0,0,0")
    assert found.code == 0
    assert "link2    -7.615         0    -45.72" in found.out


def test_a_robot_with_options(tmp_path: Path) -> None:
    arm = lw.load("stanford")
    q = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
    line = f"torque stanford --q {typed(np.array(q))} --json"
    loaded = arm.with_payload(2.5, (0, 0, 0.1), np.zeros((3, 3)))
    assert json.loads(linkwise(f"{line} --payload 2.5,0,0,0.1").out)["tau"] == lw.gravity_torque(loaded, q).tolist()
    moon = arm.with_gravity((0, 0, -1.62))
    assert json.loads(linkwise(f"{line} --gravity 0,0,-1.62").out)["tau"] == lw.gravity_torque(moon, q).tolist()
    held = lw.load("humanoid").with_payload(1.0, (0, 0, 0), np.zeros((3, 3)), link="left_hand")
    found = json.loads(linkwise("torque humanoid --q pelvis.z=1 --payload 1@left_hand --json").out)
    assert found["tau"] == lw.gravity_torque(held, found["q"]).tolist()
    assert linkwise("torque stanford --base free --samples 3").code == 0
    described = json.loads(linkwise("describe stanford --base free --json").out)
    assert (described["dof"], described["joints"]) == (12, "FRRPRRR")


def test_simulations_are_those_of_the_function() -> None:
    line = "simulate planar3 --q0 0.1,0.2,0.3 --duration 0.2 --samples 5"
    found = json.loads(linkwise(f"{line} --json --csv fall.csv").out)
    fall = lw.simulate(lw.load("planar3"), [0.1, 0.2, 0.3], duration=0.2, samples=5)
    assert np.array_equal(found["q"], fall.q)
    assert found["status"] == "done"
    assert lw.load_recording("fall.csv") == fall
    assert linkwise(f"{line} --csv -").out == Path("fall.csv").read_text()


def test_control_reaches_its_target() -> None:
    line = "simulate planar3 --duration 3 --samples 7 --json"
    reached = json.loads(linkwise(f"{line} --target 1,-1,0.5 --follow quintic").out)["q"][-1]
    assert np.allclose(reached, [1, -1, 0.5], atol=1e-6)
    with open("starts.csv", "w") as file:
        file.write("q1,q2,q3\n0,0,0\n0.1,0.2,0.3\n")
    many = json.loads(linkwise("simulate planar3 --q0 @starts.csv --duration 0.01 --samples 2 --json").out)
    assert (many["status"], np.shape(many["q"])) == (["done", "done"], (2, 2, 3))


def test_counting_a_long_robot_says_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    lw.save(lw.chain(24), "long.toml")
    quiet = linkwise("count long.toml gravity_torque")
    assert quiet.err == ""
    monkeypatch.setattr("linkwise.progress.on_terminal", lambda: True)
    monkeypatch.setattr("linkwise.progress.rich_bar", lambda label, total: None)  # lines in its place
    shown = linkwise("count long.toml gravity_torque")
    assert shown.out == quiet.out
    methods = lw.methods(lw.gravity_torque)
    assert shown.err.splitlines()[0] == f"counting gravity_torque, {methods[0]}, 1 of {len(methods)}"


def test_counts_are_those_of_the_function() -> None:
    found = json.loads(linkwise("count planar3 forward_dynamics --json").out)["counts"]
    assert [row["method"] for row in found] == lw.methods(lw.forward_dynamics)
    arm = lw.load("planar3")
    for row in found[::4]:
        count = lw.count(lw.forward_dynamics, arm, method=row["method"])
        assert (row["multiplications"], row["additions"]) == (count.multiplications, count.additions)


@pytest.mark.parametrize("function", ["inertia_matrix", "gravity_torque", "inverse_dynamics", "jacobian"])
@pytest.mark.parametrize("robot", ["planar3", "stanford"])
def test_equations_give_the_numbers(robot: str, function: str) -> None:
    """The right-hand sides, evaluated as Python, are what the function computes."""
    arm = lw.load(robot)
    _, q, qd, qdd = state(robot) if robot == "stanford" else (None, *np.random.default_rng(0).normal(size=(3, 3)))
    arguments = (q, qd, qdd) if function == "inverse_dynamics" else (q,)
    values = {"cos": np.cos, "sin": np.sin, "sqrt": np.sqrt}
    for word, numbers in zip(("q", "qd", "qdd"), (q, qd, qdd), strict=True):
        values |= {f"{word}{k}": x for k, x in enumerate(numbers, 1)}
    written = json.loads(linkwise(f"equations {robot} {function} --digits 17 --json").out)["equations"]
    expected = np.asarray(getattr(lw, function)(arm, *arguments))
    found = np.zeros_like(expected)
    for left, right in written.items():
        values[left] = eval(right, {}, values)
        if "[" in left:
            index = tuple(int(part) - 1 for part in left.split("[")[1].rstrip("]").split(","))
            found[index] = values[left]
    if function == "inertia_matrix":
        found = found + np.triu(found, 1).T
    assert np.allclose(found, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("robot", ["planar3", "stanford", "puma560"])
def test_equations_in_symbols(robot: str) -> None:
    """With the robot's own numbers for the symbols they are its torques."""
    from linkwise.cli.commands.equations import symbolic_robot

    arm = lw.load(robot)
    symbolic = symbolic_robot(arm)
    values = {}
    for k, row in enumerate(arm.rows, 1):
        entries = {"m": row["mass"], "a": row["a"], "b": row["b"], "J": row.get("rotor_inertia", 0.0)}
        entries |= {f"c{axis}": x for axis, x in zip("xyz", row["com"], strict=True)}
        entries |= {f"I{'xyz'[i]}{'xyz'[j]}": row["inertia"][i][j] for i in range(3) for j in range(i, 3)}
        values |= {f"{letter}{k}": x for letter, x in entries.items()}
    values["g"] = 9.81
    bound = lw.bind(symbolic, **{name: values[name] for name in lw.symbols_of(symbolic)})
    q, qd, qdd = np.random.default_rng(0).normal(size=(3, arm.n))
    assert np.allclose(lw.inverse_dynamics(bound, q, qd, qdd), lw.inverse_dynamics(arm, q, qd, qdd), rtol=1e-12)


def test_exported_python_computes_the_same() -> None:
    text = linkwise("export planar3 python gravity_torque").out
    names: dict[str, object] = {}
    exec(text, names)
    q = [0.1, 0.2, 0.3]
    arm = lw.load("planar3")
    assert np.allclose(names["gravity_torque"](q), lw.gravity_torque(arm, q))  # type: ignore[operator]
    based = lw.c_source(lw.regressor, arm, friction=True, base=True)
    assert linkwise("export planar3 c regressor --base-parameters --friction").out.rstrip() == based.rstrip()
    assert linkwise("export planar3 c gravity_torque").out.rstrip() == lw.c_source(lw.gravity_torque, arm).rstrip()


def test_robots_are_written_and_compared() -> None:
    assert linkwise("convert stanford craig.toml --to modified").code == 0
    assert lw.load("craig.toml").convention == "modified"
    assert linkwise("compare stanford craig.toml").code == 0
    text = linkwise("export stanford toml").out.replace("mass = 9.0", "mass = 9.5", 1)
    Path("heavy.toml").write_text(text.replace("mass = 6.0", "mass = 6.5", 1), encoding="utf-8")
    screen = linkwise("compare stanford heavy.toml")
    assert max(map(len, screen.out.splitlines())) <= 80
    assert screen.out.split() == str(lw.compare(lw.load("stanford"), lw.load("heavy.toml"))).split()
    different = linkwise("compare stanford heavy.toml --json")
    assert different.code == 1
    assert not json.loads(different.out)["same"]
    assert "mass" in {finding["kind"] for finding in json.loads(different.out)["findings"]}


def test_doctor_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    from linkwise.cli.commands import machine

    monkeypatch.setitem(machine.GIVES, "no-such-package", "nothing")
    monkeypatch.setitem(machine.EXTRAS, "no-such-package", "plot")
    shown = linkwise("doctor")
    assert shown.code == 0
    assert "pip install 'linkwise[" in shown.out
    assert "plot" in shown.out.splitlines()[-1]
    found = json.loads(linkwise("doctor --json").out)
    assert found["compiler"]["works"]
    assert found["extras"]["no-such-package"]["version"] is None


def test_budgets_are_those_of_the_function() -> None:
    line = "budget stanford --q 0,1,0.2,0.3,0.4,0.5 --qd 1,2,3,4,5,6 --joint link2 --joint link3"
    found = json.loads(linkwise(f"{line} --json --csv budget.csv").out)
    arm = lw.load("stanford")
    budget = lw.budget(arm, [0, 1, 0.2, 0.3, 0.4, 0.5], [1, 2, 3, 4, 5, 6], [0] * 6)
    assert found["tau"] == budget.tau[1:3].tolist()
    assert found["terms"]["gravity of link3"] == budget.gravity[1:3, 2].tolist()
    assert np.allclose(np.sum(list(found["terms"].values()), axis=0), found["tau"])
    with open("budget.csv", newline="") as file:
        (row,) = csv.DictReader(file)
    assert float(row["link2: gravity of link3"]) == budget.gravity[1, 2]
    assert f"{budget.gravity[1, 2]:.4g}" in linkwise(line).out
    refused = linkwise("budget planar3 --q 0,0,0 --by nope")
    assert refused.code
    assert not refused.out  # no heading before the error
    assert "--by is 'nope'" in refused.err
    along = json.loads(linkwise("budget planar3 cycloid --samples 5 --by kinds --json").out)
    assert np.shape(along["terms"]["gravity"]) == (5, 3)
    assert len(along["t"]) == 5
    for wrong, words in (
        ("budget planar3 --by rows", "by is 'rows'"),
        ("budget planar3 --joint link9", "joint is 'link9'"),
        ("budget planar3 --qd 0,0,0", "--qd belongs to a state"),
    ):
        assert words in linkwise(wrong).err


def test_joints_for_a_pose_are_those_of_the_function() -> None:
    target = np.array([[0.0, 1, 0, 0.4], [1, 0, 0, 0.2], [0, 0, -1, 0.5], [0, 0, 0, 1]])  # turned by pi, then by pi/2
    arm, start = lw.load("ur5e"), np.radians([0, -90, 90, 0, -90, 0])
    line = "ik ur5e --frame tool0 --xyz 0.4,0.2,0.5"
    found = json.loads(linkwise(f"{line} --rpy 180,0,90 --degrees --q 0,-90,90,0,-90,0 --json").out)
    assert np.abs(found["q"] - lw.inverse_kinematics(arm, {"tool0": target}, start).q).max() < 1e-9
    assert found["reached"] is True
    far = linkwise("ik ur5e --xyz 2,0,0")
    assert far.code == 1
    assert "out of reach" in far.out
    for wrong, words in (
        (f"{line},1", "--xyz 0.4,0.2,0.5,1 has 4 numbers"),
        (f"{line} --rpy 1,2", "--rpy 1,2 has 2 numbers"),
        ("ik ur5e --frame tool1 --xyz 1,0,0", "did you mean 'tool0'"),
    ):
        assert words in linkwise(wrong).err
