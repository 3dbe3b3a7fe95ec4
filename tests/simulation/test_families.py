"""Families: one program for robots of one structure, and each member moves as it does alone."""

import math
from functools import partial

import numpy as np
import pytest

import linkwise as lw
from effort import rest_slow
from facts import raises, warns
from linkwise.simulation import backend
from linkwise.sweeps import family as sweep_robots
from linkwise.sweeps import inputs as sweep_inputs
from linkwise.sweeps import samples as sweep_samples
from linkwise.sweeps.family import families, family_map
from linkwise.targets.cpu import solver
from robots import ALL, QUICK, TREES, ids, relative, states

ROBOTS = [robot for robot in ALL if robot.n <= 7]
FEW = [robot for robot in ROBOTS if robot.n in (2, 4, 6)][:9]
PLANAR = lw.load("planar3")
over_robots = pytest.mark.parametrize("robot", rest_slow(ROBOTS, QUICK), ids=ids(ROBOTS))
REST = {"progress": False, "files": "npz"}


def turned(rotation, angle):
    c, s = math.cos(angle), math.sin(angle)
    return (np.asarray(rotation) @ [[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]).tolist()


def relatives(robot, count, seed=0, words=None):
    """Robots with other numbers: all of them, or those that are named."""
    rng, made = np.random.default_rng([seed, robot.n]), []
    for _ in range(count):
        rows = robot.rows
        for row in rows:
            row |= {"rotor_inertia": 0.1, "viscous_friction": 0.2, "coulomb_friction": 0.1} if words is None else {}
            for word, value in row.items():
                if isinstance(value, str) or word == "axis" or (words is not None and word not in words):
                    continue
                factor = rng.uniform(0.8, 1.25)
                if word == "rotation":
                    row[word] = turned(value, factor - 1.0)
                elif word in ("alpha", "theta"):
                    row[word] = value + factor - 1.0
                elif word != "limits":
                    row[word] = (np.asarray(value) * factor).tolist()
        gravity = robot.gravity if words is not None else np.asarray(robot.gravity) * rng.uniform(0.9, 1.1)
        make = lw.Robot.from_frames
        if robot.convention != "frames":
            make = partial(lw.Robot.from_dh, convention=robot.convention)
        made.append(make(rows, gravity=gravity, name=f"relative {len(made)}"))
    return made


def one_by_one(robots, q0, qd0, duration, **options):
    return [lw.simulate(arm, a, b, duration, **options) for arm, a, b in zip(robots, q0, qd0, strict=True)]


def among(robots):
    """For `vary`: the robot of a row."""
    return lambda arm, row: robots[int(row["which"])]


def swept(robots, folder, q0, qd0, duration, **options):
    samples = {"q0": q0, "qd0": qd0, "which": lw.per_trajectory(np.arange(len(robots)))}
    return lw.sweep(robots[0], samples, folder, duration, vary=among(robots), **{**REST, **options})


@pytest.mark.parametrize("words", [None, ("mass",), ("a", "b", "translation", "inertia")], ids=["all", "mass", "some"])
@over_robots
def test_the_robot_of_symbols_is_each_member(robot, words):
    members = relatives(robot, 3, words=words)
    (related,) = families(members)
    assert related.members == [0, 1, 2]
    assert related.numbers.shape == (3, len(related.family.symbols))
    q, qd, qdd, _ = states(robot)
    for method in ("newton-euler", "fewest"):

        def torques(arm, q, qd, qdd, method=method):
            return lw.inverse_dynamics(arm, q, qd, qdd, method=method)

        found = related.family.evaluate_members(
            torques, related.numbers, q=q[:, None], qd=qd[:, None], qdd=qdd[:, None]
        )[:, 0]
        want = [lw.inverse_dynamics(*each) for each in zip(members, q, qd, qdd, strict=True)]
        assert relative(found, want) < 1e-12


@over_robots
def test_only_what_differs_is_a_symbol(robot):
    (alone,) = families([robot, robot])
    assert alone.family.symbols == ()
    assert alone.family.robot.links == lw.Robot.mapped(robot, lambda x: x).links
    (related,) = families(relatives(robot, 4, words=("mass",)))
    assert (related.numbers != related.numbers[0]).any(axis=0).all()
    assert len(np.unique(related.numbers, axis=1).T) == related.numbers.shape[1]
    for link, known in zip(related.family.robot.links, robot.links, strict=True):
        assert link.placement == known.placement
        assert (link.com, link.inertia) == (known.com, known.inertia)
        assert (type(link.mass) is float) == (known.mass == 0.0)


def test_numbers_that_agree_in_one_member_only_are_not_taken_for_one():
    table = [(0.4, 0.4, 0.4), (0.4, 0.5, 0.6), (0.7, 0.5, 0.4)]
    rows = [[{**row, "mass": m} for row, m in zip(PLANAR.rows, masses, strict=True)] for masses in table]
    members = [lw.Robot.from_dh(each, convention="standard", gravity=PLANAR.gravity) for each in rows]
    (kin,) = families(members)
    q, qd, qdd, _ = states(PLANAR)
    given = {"q": q[:, None], "qd": qd[:, None], "qdd": qdd[:, None]}
    found = kin.family.evaluate_members(lw.inverse_dynamics, kin.numbers, **given)[:, 0]
    want = [lw.inverse_dynamics(*each) for each in zip(members, q, qd, qdd, strict=True)]
    assert relative(found, want) < 1e-12


def test_a_family_takes_hardly_more_operations_than_a_member():
    for robot in (PLANAR, lw.load("puma560"), lw.load("stanford")):
        members = relatives(robot, 3, words=("mass",))
        (related,) = families(members)
        count = partial(lw.count, lw.forward_dynamics, method="fewest")
        assert count(related.family.robot).total < 1.2 * count(members[0]).total


def keys_of(robot):
    """The keys of its rows whose values are numbers."""
    return {name.rpartition(".")[2] for name in sweep_samples.entry_names(robot)}


@over_robots
def test_a_family_that_is_known_by_its_table_has_the_same_numbers(robot):
    rng, words = np.random.default_rng(robot.n), keys_of(robot) - {"rotation", "axis"}
    entries = {"gravity": np.array([robot.gravity] * 4) * rng.uniform(0.9, 1.1, (4, 1))}
    for row in robot.rows:
        for word in words & set(row):
            value = np.array([row[word]] * 4)
            entries[f"{row['name']}.{word}"] = value * rng.uniform(0.9, 1.1, (4, *(1,) * (value.ndim - 1)))
    differ = {name: (array != array[0]).any(axis=0) for name, array in entries.items()}
    one = {name: array[0] for name, array in entries.items()}
    known = family_map(robot, one, differ)
    numbers = known.numbers(entries)
    assert numbers.shape == (4, len(known.family.symbols))
    q, qd, qdd, _ = states(robot, 4)
    given = {"q": q[:, None], "qd": qd[:, None], "qdd": qdd[:, None]}
    found = known.family.evaluate_members(lw.inverse_dynamics, numbers, **given)[:, 0]
    rows = [{name: array[k] for name, array in entries.items()} for k in range(4)]
    members = [sweep_samples.replace_entries(robot, row) for row in rows]
    want = [lw.inverse_dynamics(*each) for each in zip(members, q, qd, qdd, strict=True)]
    assert relative(found, want) < 1e-12


def test_families_are_those_of_one_structure():
    chains = [lw.chain(3, seed=k, joints=joints) for k, joints in enumerate(["RRR", "RPR", "RRR", "PPP"])]
    rows = [{key: x for key, x in row.items() if key != "parent"} for row in PLANAR.rows]
    renamed = lw.Robot.from_dh([{**row, "name": f"my {row['name']}"} for row in rows], convention="standard")
    forked = lw.Robot.from_dh(
        [{**row, "parent": "base" if k == 0 else "link1"} for k, row in enumerate(PLANAR.rows)], convention="standard"
    )
    found = families([*chains, PLANAR, renamed, forked, PLANAR.with_gravity((0, 0, -1))])
    assert [known.members for known in found] == [[0, 2, 4, 7], [1], [3], [5], [6]]


@pytest.mark.parametrize("robot", rest_slow(FEW, [TREES[3]]), ids=ids(FEW))
def test_every_member_moves_as_it_does_alone(robot, tmp_path):
    robots = relatives(robot, 4)
    q0, qd0, *_ = states(robot, 4)
    found = swept(robots, tmp_path, 0.3 * q0, 0.3 * qd0, 0.3, samples=4, friction=True, chunk=3).read()
    assert found["status"].tolist() == ["done"] * 4
    for k, want in enumerate(one_by_one(robots, 0.3 * q0, 0.3 * qd0, 0.3, samples=4, friction=True)):
        assert np.allclose(found["q"][k], want.q, rtol=1e-6, atol=1e-7)
        assert np.allclose(found["qd"][k], want.qd, rtol=1e-6, atol=1e-6)
        assert abs(found["imbalance"][k] - want.imbalance[-1]) < 1e-6
        assert abs(found["steps"][k] - want.steps) < 3 + 0.1 * want.steps


def damper(arm, t, q, qd):
    return lw.gravity_torque(arm, q) * 0.5 - 0.1 * qd


OPTIONS = {
    "torque function": {"torque": damper},
    "law": {"torque": lw.control.pd_gravity([0.3, 0.2, 0.1], kp=5, kd=1)},
    "inertia": {"torque": lw.control.diagonal_control([0.3, 0.2, 0.1], kp=5, kd=1)},
    "constant": {"torque": [0.1, 0.0, -0.1], "wrench": [0, 0, 0.2, 0.1, -0.3, 0]},
    "every link": {"wrench": np.full((3, 6), 0.1)},
    "friction": {"friction": lw.Friction(stribeck=0.3)},
    "normalized": {"coordinates": "normalized", "torque": damper},
    "unnormalized": {"coordinates": "unnormalized"},
    "method": {"method": "kalman"},
    "radau": {"integrator": "radau", "rtol": 1e-9, "friction": True},
    "rk4": {"integrator": "rk4", "dt": 1e-3},
    "event": {"events": lw.Event(lambda arm, t, q, qd: q[0] + 0.2 * arm.links[1].mass, "low", stop=True)},
    "two threads": {"threads": 2},
}


QUICK_OPTIONS = ["event"]


@pytest.mark.parametrize("name", rest_slow(list(OPTIONS), QUICK_OPTIONS))
def test_options_mean_the_same_to_a_family(name, tmp_path):
    options = OPTIONS[name]
    if options.get("integrator") == "radau":
        pytest.importorskip("scipy")
    robots = relatives(PLANAR, 2)
    q0, qd0 = np.full((2, 3), 0.2), np.zeros((2, 3))
    found = swept(robots, tmp_path, q0, qd0, 0.4, **options).read()
    alone = one_by_one(robots, q0, qd0, 0.4, **options)
    assert found["status"].tolist() == [each.status for each in alone]
    assert found["reached"] == pytest.approx([each.reached for each in alone], abs=1e-7)
    for k, want in enumerate(alone):
        assert np.allclose(found["q"][k], want.q, rtol=0.0, atol=1e-7, equal_nan=True)
        balance = want.imbalance[-1] if want.status == "done" else 0.0  # where it stopped: no sample of a recording
        assert abs(found["imbalance"][k] - balance) < 1e-6
    assert "event" not in options or set(found["status"]) == {"stopped"}


def test_joints_that_stick_are_followed_robot_by_robot(tmp_path):
    robots, friction = relatives(PLANAR, 2), lw.Friction(coulomb=0.5, smooth=0.0)
    q0, qd0 = np.full((2, 3), 0.2), np.zeros((2, 3))
    with warns(UserWarning, "chunk-00000.npz", "friction", "compiled"):
        found = swept(robots, tmp_path, q0, qd0, 0.4, friction=friction)
    for k, want in enumerate(one_by_one(robots, q0, qd0, 0.4, friction=friction)):
        assert np.array_equal(found.read()["q"][k], want.q)


@pytest.fixture
def compiled(monkeypatch):
    """The problems for which code was made."""
    made, compiled_driver = [], solver.CompiledDriver

    def machine(program, *others):
        made.append(program)
        return compiled_driver(program, *others)

    monkeypatch.setattr(solver, "CompiledDriver", machine)
    backend.compile_solver.cache_clear()
    return made


ENTRIES = {"link1.a": (0.2, 0.4), "link2.mass": (0.2, 0.4), "link3.com": ([-0.2, 0, 0], [0] * 3)}
DRAWN = lw.sweeps.monte_carlo(40, 3, q0=([-1] * 3, [1] * 3), **ENTRIES)
SLOW = lw.sweeps.grid(
    **{"link3.mass": [0.2, 0.3, 0.5], "gravity": [0.0, [-1.6, -9.81], 0.0]}, q0=[0.1, [0.2, 0.4, 0.5], 0.3]
)


@pytest.mark.parametrize("samples", [DRAWN, SLOW], ids=["drawn", "grid"])
def test_chunks_change_no_bit_and_all_robots_are_compiled_once(samples, tmp_path, compiled):
    results = []
    for chunk in (1, 3, 7, 1000):
        made = lw.sweep(PLANAR, samples, tmp_path / f"{chunk}", 0.2, chunk=chunk, samples=4, **REST)
        results.append(made.read())
    assert len(compiled) == 1
    assert results[0]["status"].tolist() == ["done"] * len(samples["q0"])
    for other in results[1:]:
        for name, array in results[0].items():
            np.testing.assert_array_equal(array, other[name], err_msg=name)


def test_what_differs_anywhere_is_known_before():
    mass, com = np.full(100, 0.3), np.zeros((100, 3))
    mass[37], com[99, 1] = 0.4, 0.1
    same = {"q0": np.zeros((100, 3)), "link2.mass": 0.5, "gravity": np.zeros(3)}
    inputs = partial(sweep_inputs.check_inputs, PLANAR, duration=1.0, chunk=8, keep="ends", vary=None, options={})
    found = inputs({**same, "link1.mass": mass, "link2.com": com}).varying
    assert {name: x.tolist() for name, x in found.items()} == {
        "link2.mass": False, "gravity": [False] * 3, "link1.mass": True, "link2.com": [False, True, False],
    }  # fmt: skip
    assert inputs(same).varying == {}


WRONG = {
    "mass": [-0.1, np.nan, np.inf],
    "com": [(0.0, np.nan, 0.0), (-np.inf, 0.0, 0.0)],
    "inertia": [
        np.diag([1, 1, 3]),
        np.diag([1, -0.1, 1]),
        [[1, 0.1, 0], [0, 1, 0], [0, 0, 1]],
        np.full((3, 3), np.nan),
    ],
    "a": [np.nan],
    "b": [np.inf],
    "translation": [(np.nan, 0.0, 0.0)],
    "alpha": [13.0, -13.0, np.nan],
    "theta": [90.0],
    "rotor_inertia": [-1e-3],
    "viscous_friction": [-1e-3, np.nan],
    "coulomb_friction": [-1e-3],
    "coulomb_offset": [0.1],
    "quadratic_friction": [-1e-3],
    "load_friction": [1.0],
}


@pytest.mark.parametrize("robot", FEW, ids=ids(FEW))
def test_no_row_of_which_no_robot_can_be_made_passes_unseen(robot):
    seen = 0
    for word in sorted(keys_of(robot)):
        for value in WRONG.get(word, ()):
            name = f"{robot.names[-1]}.{word}"
            array = np.array([value], dtype=float)
            with pytest.raises(lw.errors.RobotError):
                sweep_samples.replace_entries(robot, {name: array[0]})
            assert sweep_robots.possibly_invalid(robot, {name: array}).tolist() == [True]
            seen += 1
    assert seen >= 12
    fine = {f"{row['name']}.{word}": np.array([row[word]]) for row in robot.rows for word in ("mass", "inertia")}
    assert not sweep_robots.possibly_invalid(robot, fine).any()


def test_rotations_and_axes_vary_too(tmp_path):
    robot = lw.random_tree(3, seed=3)
    assert robot.convention == "frames"
    name = f"{robot.names[1]}.rotation"
    rotations = np.array([turned(robot.rows[1]["rotation"], angle) for angle in np.linspace(0.0, 1.0, 6)])
    samples = {"q0": np.full((6, 3), 0.1), name: rotations, f"{robot.names[0]}.mass": np.linspace(1.0, 2.0, 6)}
    found = lw.sweep(robot, samples, tmp_path, 0.2, chunk=4, samples=3, **REST).read()
    for k in (0, 3, 5):
        own = sweep_samples.replace_entries(robot, {x: array[k] for x, array in samples.items() if x != "q0"})
        want = lw.simulate(own, samples["q0"][k], np.zeros(3), 0.2, samples=3)
        assert np.allclose(found["q"][k], want.q, rtol=0.0, atol=1e-8)


def test_members_that_cannot_begin_say_why_and_disturb_nobody(tmp_path):
    count = 12
    mass, inertia = np.linspace(0.2, 0.4, count), np.zeros((count, 3, 3))
    mass[3], mass[5] = 0.0, -1.0
    q0 = np.full((count, 3), 0.1)
    q0[8] = np.inf
    samples = {"q0": q0, "link3.mass": mass, "link3.inertia": inertia}
    found = lw.sweep(PLANAR, samples, tmp_path, 0.1, keep="ends", chunk=7, **REST).read()
    bad = {3: "nothing resists its motion", 5: "mass is -1.0", 8: "q0 is [inf"}
    for k in range(count):
        assert found["status"][k] == ("failed" if k in bad else "done")
        assert bad.get(k, "") in found["error"][k]
        assert bool(found["error"][k]) == (k in bad)
    assert np.isnan(found["q_end"][list(bad)]).all()


def test_a_torque_function_that_wants_numbers_gets_them_robot_by_robot(tmp_path):
    def heavy(arm, t, q, qd):
        return -qd * (2.0 if arm.links[0].mass > 0.5 else 1.0)

    robots = relatives(PLANAR, 4, words=("mass",))
    q0, qd0 = np.full((4, 3), 0.1), np.ones((4, 3))
    with warns(lw.errors.SweepWarning, "chunk-00000.npz", "compared", "compiled separately"):
        found = swept(robots, tmp_path, q0, qd0, 0.1, samples=3, torque=heavy).read()
    for k, want in enumerate(one_by_one(robots, q0, qd0, 0.1, samples=3, torque=heavy)):
        assert np.array_equal(found["q"][k], want.q)


def test_without_code_each_robot_runs_in_python(tmp_path):
    robots = relatives(PLANAR, 3)
    q0, qd0 = np.full((3, 3), 0.1), np.ones((3, 3))
    found = swept(robots, tmp_path, q0, qd0, 0.02, samples=3, compiled=False).read()
    for k, want in enumerate(one_by_one(robots, q0, qd0, 0.02, samples=3, compiled=False)):
        assert np.array_equal(found["q"][k], want.q)


def test_mistakes_in_functions_are_raised_before_a_family_is_begun(tmp_path):
    samples = {"q0": np.zeros((4, 3)), "link2.mass": np.linspace(0.3, 0.5, 4)}
    with raises(ValueError, "(4,)"):
        lw.sweep(PLANAR, samples, tmp_path / "new", 0.1, torque=lambda arm, t, q, qd: np.zeros(4), **REST)
    assert not (tmp_path / "new").exists()
