"""No decision depends on a robot's size or mass: one of nanograms, or of kilometres, is treated as any other."""

import re
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwise as lw
from command_line import linkwise
from disguise import disguised, make_pose
from effort import rest_slow
from facts import raises
from joint_kinds import CHAIN, COUPLED
from linkwise.drawing.pictures import Curve, curves_svg
from linkwise.formats.agreement import require_agreement
from linkwise.robot.scales import reach, torque_scales
from linkwise.simulation.problem import Problem
from linkwise.simulation.webassembly import prepare_with_symbols
from linkwise.spatial import Placement, Rotation, Vector
from robots import relative
from table_rows import build

LENGTHS = ("a", "b", "com", "translation", "anchor", "pitch")
MASSES = ("rotor_inertia", "viscous_friction", "coulomb_friction", "stiffness")
ALL_SCALES = [(1e-9, 1.0), (1e9, 1.0), (1.0, 1e-4), (1.0, 1e4), (1e-9, 1e-4), (1e9, 1e4), (1e-9, 1e4), (1e9, 1e-4)]
SCALES = rest_slow(ALL_SCALES, [(1e-9, 1e-4)])


def scaled(arm: lw.Robot, mass: float, length: float, fixed_gravity: bool = False) -> lw.Robot:
    """The robot with all masses and lengths multiplied; gravity, a length per s², as well unless it is fixed."""
    rows = []
    for row in arm.rows:
        row |= {key: (np.array(row[key]) * length).tolist() for key in LENGTHS if key in row}
        moment = mass * (1.0 if row["joint"] == "prismatic" else length**2)
        row |= {key: row[key] * moment for key in MASSES if key in row}
        if row["joint"] == "prismatic" and row.get("limits") is not None:
            row["limits"] = tuple(length * x for x in row["limits"])
        if "mass" in row:
            row |= {"mass": row["mass"] * mass, "inertia": np.array(row["inertia"]) * mass * length**2}
        rows.append(row)
    gravity = arm.gravity if fixed_gravity else [length * x for x in arm.gravity]
    return build(rows, arm.convention, gravity=gravity, name=arm.name)


def units(arm: lw.Robot, length: float) -> np.ndarray:
    """What a number of qd is multiplied by."""
    return np.where(np.array(arm.effort_units) == "N", length, 1.0)


def flap(mass: float) -> lw.Robot:
    """A pendulum of 1 mm."""
    rod = {"joint": "revolute", "a": 1e-3, "b": 0.0, "alpha": 0.0, "com": (-5e-4, 0.0, 0.0)}
    tensor = np.diag([1e-3, 1.0, 1.0]) * mass * 1e-6 / 12.0
    return lw.Robot.from_dh([rod | {"mass": mass, "inertia": tensor}], convention="standard", gravity=(0, -9.81, 0))


@pytest.mark.parametrize("mass", [1.0, 1e-7, 1e-15])
def test_a_flap_that_falls_is_not_in_balance(mass: float) -> None:
    found = lw.equilibrium(flap(mass), [0.3], passive="link1")
    assert abs(found.q) == pytest.approx([np.pi / 2])


CART = lw.Robot.from_frames(
    [
        {"name": "cart", "joint": "prismatic", "translation": [0, 0, 0.2], "axis": [1, 0, 0], "mass": 2.0}
        | {"com": [0, 0, 0], "inertia": np.diag([0.01, 0.01, 0.02])},
        {"name": "pole", "joint": "revolute", "translation": [0, 0, 0.1], "axis": [0, 1, 0], "mass": 0.5}
        | {"com": [0, 0.02, 0.3], "inertia": np.diag([0.02, 0.02, 0.001])},
    ],
    name="cart",
)
SLIDING = lw.chain(4, seed=4, joints="RPRR")
TREE = lw.random_tree(4, seed=8)
SPHERICAL = lw.chain(4, seed=3, joints="FSHC")


@pytest.mark.parametrize("gravity", [True, False], ids=["9.81", "scaled"])
@pytest.mark.parametrize(("mass", "length"), SCALES)
def test_equilibria_scale(mass: float, length: float, gravity: bool) -> None:
    for arm, q, options in (
        (CART, [0.1, 0.4], {"passive": ["pole"]}),
        (SLIDING, [0.3, 0.1, 0.2, 0.5], {"passive": [SLIDING.names[2]]}),
        (SLIDING, [0.3, 0.1, 0.2, 0.5], {"passive": [SLIDING.names[3]], "moving": SLIDING.names}),
        (TREE, [0.1, 0.2, 0.3, 0.4], {"passive": [TREE.names[1]], "moving": TREE.names}),
    ):
        small = scaled(arm, mass, length, gravity)
        unit, force = units(arm, length), mass * length * (1.0 if gravity else length)
        expected = lw.equilibrium(arm, q, **options)
        found = lw.equilibrium(small, q * unit, **options)
        assert found.q / unit == pytest.approx(expected.q, abs=1e-6)
        effort = force / unit
        assert found.tau / effort == pytest.approx(expected.tau, rel=1e-6, abs=1e-6)
        if not gravity:  # then rates, in 1/s, remain
            change = np.tile(unit, 2)
            own = lw.linearize(small, found.q).A / np.outer(change, 1.0 / change)
            assert relative(own, lw.linearize(arm, expected.q).A) < 1e-5


@pytest.mark.parametrize(("mass", "length"), SCALES)
def test_springs_and_wrenches_scale(mass: float, length: float) -> None:
    """Equilibria of torque functions, of given torques, and of a base that is carried."""
    arm, q, k = SLIDING, np.array([0.3, 0.1, 0.2, 0.5]), 20.0
    unit = units(arm, length)
    effort = mass * length**2 / unit
    small = scaled(arm, mass, length)
    expected = lw.equilibrium(arm, q, lw.control.springs(k, rest=q))
    found = lw.equilibrium(small, q * unit, lw.control.springs((k * effort / unit).tolist(), rest=q * unit))
    assert found.q / unit == pytest.approx(expected.q, abs=1e-6)
    tau = lw.gravity_torque(arm, q)
    assert lw.equilibrium(small, (q + 0.02) * unit, tau * effort).q / unit == pytest.approx(
        lw.equilibrium(arm, q + 0.02, tau).q, abs=1e-6
    )
    base = {"mass": 2.0 * mass, "inertia": np.diag([1.0, 1.2, 1.4]) * mass * length**2}
    floating = scaled(lw.chain(1, seed=2), mass, length).with_free_base(**base)
    weight = np.zeros((2, 6))
    weight[0, 3:] = -lw.total_mass(floating) * np.array(floating.gravity)
    found = lw.equilibrium(floating, lw.neutral(floating), wrench=weight)
    assert lw.linearize(floating, found.q, wrench=weight).A.shape == (14, 14)
    with raises(ValueError, f"robot {floating.name!r}", "tau=...", "wrench=..."):
        lw.linearize(floating, lw.neutral(floating))
    with pytest.raises(lw.errors.EquilibriumError):
        lw.equilibrium(floating, lw.neutral(floating))


@pytest.mark.parametrize("robot", [TREE, SLIDING, CHAIN, COUPLED, SPHERICAL], ids=lambda robot: robot.name)
def test_no_torque_is_larger_than_its_scale(robot: lw.Robot) -> None:
    """Weights, inertial forces and wrenches; and the scales are not far above the largest torques."""
    rng = np.random.default_rng(0)
    q, qd = lw.random_configuration(robot, rng, 200), rng.normal(size=(200, robot.n))
    wrench, point = rng.normal(size=(200, len(robot.names), 6)), rng.normal(size=(200, len(robot.names), 3))
    for rates in (0.0 * qd, qd):
        for loads in ({}, {"wrench": wrench}, {"wrench": wrench, "point": point}):
            torque, scale = lw.bias_torque(robot, q, rates, **loads), torque_scales(robot, q, rates, **loads)
            assert (np.abs(torque) <= (1.0 + 1e-12) * scale).all()
            assert scale.max() < 100.0 * np.abs(torque).max()


def test_what_is_printed_keeps_the_digits_of_small_numbers() -> None:
    found = lw.equilibrium(flap(1e-9), [0.0])
    assert f"{found.tau[0]:.6g} N m" in repr(found)
    assert found.tau[0] != 0.0
    still = lw.equilibrium(flap(1e-9), [-np.pi / 2])
    assert "link1 = 0 N m" in repr(still)


def changed(arm: lw.Robot, row: int, gravity: float = 1.0, **factors: float) -> lw.Robot:
    rows = arm.rows
    rows[row] |= {key: (np.array(rows[row][key]) * factor).tolist() for key, factor in factors.items()}
    return build(rows, arm.convention, gravity=[gravity * x for x in arm.gravity], name=arm.name)


LIMITED = lw.Robot.from_dh(
    [row | {"limits": (-0.5, 0.7), "rotor_inertia": 0.1, "viscous_friction": 0.2} for row in SLIDING.rows],
    convention="standard",
    name="limited",
)
BALL = lw.chain(3, seed=5, joints="RSP")
SCREW = lw.chain(3, seed=1, joints="RHR")
SLIGHTLY = 1.0 + 1e-6
OTHERS = {
    "itself": (TREE, TREE),
    "mass": (TREE, changed(TREE, 1, mass=SLIGHTLY)),
    "com": (TREE, changed(TREE, 1, com=SLIGHTLY)),
    "inertia": (TREE, changed(TREE, 1, inertia=SLIGHTLY)),
    "place": (TREE, changed(TREE, 1, translation=SLIGHTLY)),
    "slide": (TREE, changed(TREE, 0, translation=SLIGHTLY)),
    "a": (SLIDING, changed(SLIDING, 2, a=SLIGHTLY)),
    "tip": (SLIDING, changed(SLIDING, 3, a=SLIGHTLY)),
    "gravity": (SLIDING, changed(SLIDING, 2, gravity=SLIGHTLY)),
    "limits": (LIMITED, changed(LIMITED, 1, limits=1.0 + 1e-5)),
    "rotor": (LIMITED, changed(LIMITED, 1, rotor_inertia=SLIGHTLY)),
    "friction": (LIMITED, changed(LIMITED, 1, viscous_friction=SLIGHTLY)),
    "pitch": (SCREW, changed(SCREW, 1, pitch=SLIGHTLY)),
    "convention": (SLIDING, lw.convert(SLIDING, "modified")),
    "disguised": (SLIDING, disguised(SLIDING, 1, flips=[1, 3], zeros={1: 0.03, 2: 0.4})),
    "base": (TREE, disguised(TREE, 2, base=make_pose(point=(1e-3, 0.0, 2e-3)))),
    "ball": (BALL, disguised(BALL, 1)),
}


def what_is_found(a: lw.Robot, b: lw.Robot) -> tuple[Any, ...]:
    result = lw.compare(a, b)
    findings = sorted((finding.kind, finding.where, finding.share is None) for finding in result.findings)
    ends = ["=".join(text.split("=")[:2])[:8] for text in result.coordinates]
    return result.same, findings, ends, result.first


@pytest.mark.parametrize(("mass", "length"), SCALES)
@pytest.mark.parametrize("which", rest_slow(list(OTHERS), ["com", "limits", "base"]))
def test_comparisons_find_the_same(which: str, mass: float, length: float) -> None:
    pair = OTHERS[which]
    found = what_is_found(*(scaled(robot, mass, length) for robot in pair))
    assert found == what_is_found(*pair)


@pytest.mark.parametrize("length", rest_slow([1e-7, 1e-4, 1e4, 1e7], [1e-7, 1e7]))
@pytest.mark.parametrize("joints", rest_slow(["RRPR", "RHR", "SR", "RUC"], ["RRPR", "RHR"]))
def test_base_parameters_scale(joints: str, length: float) -> None:
    """Their names are the same, their multiples are in units of length, and they give the torques."""
    arm = lw.chain(len(joints), seed=3, joints=joints)
    small = scaled(arm, 1.0, length)
    expected, found = lw.base_parameters(arm), lw.base_parameters(small)
    degree = {"m": 0, "h": 1, "J": 2}
    assert [p.name for p in found] == [p.name for p in expected]
    for p, other in zip(found, expected, strict=True):
        own = degree[p.name.rpartition(".")[2][0]]
        multiples = {part: x / length ** (own - degree[part.rpartition(".")[2][0]]) for part, x in p.made_of.items()}
        assert multiples == pytest.approx(other.made_of, rel=1e-6, abs=1e-9)
        assert p.value / length**own == pytest.approx(other.value, rel=1e-6, abs=1e-9)
    rng = np.random.default_rng(0)
    unit = units(arm, length)
    q = lw.random_configuration(arm, rng, 5)
    q[..., q.shape[-1] - arm.n :] *= unit if arm.nq == arm.n else 1.0
    qd, qdd = rng.normal(size=(2, 5, arm.n)) * unit
    torque = lw.regressor(small, q, qd, qdd, base=True) @ lw.parameters(small, base=True)
    assert relative(torque, lw.inverse_dynamics(small, q, qd, qdd)) < 1e-8


def test_weak_gravity_pulls() -> None:
    """Base parameters depend on whether there is gravity, not on how strong it is."""
    for arm in (flap(1.0), lw.load("planar3")):
        weak = arm.with_gravity([1e-11 * x for x in arm.gravity])
        assert [p.name for p in lw.base_parameters(weak)] == [p.name for p in lw.base_parameters(arm)]


METHODS = list(lw.methods(lw.forward_dynamics))


@pytest.mark.parametrize(("mass", "length"), SCALES)
def test_all_methods_scale(mass: float, length: float) -> None:
    arm, rng = SLIDING, np.random.default_rng(0)
    small, unit = scaled(arm, mass, length), units(arm, length)
    q, qd, tau = rng.normal(size=(3, 3, arm.n))
    expected = lw.forward_dynamics(arm, q, qd, tau)
    for method in METHODS:
        found = lw.forward_dynamics(small, q * unit, qd * unit, tau * mass * length**2 / unit, method=method)
        assert relative(found / unit, expected) < 1e-9, method


# motions

SMALL_MOTION = "default atol.*atol=..."


def stage(size: float = 0.0, mass: float = 1.0) -> lw.Robot:
    """Two sliders whose mass centres are this far from the base."""
    body = {"a": 0, "alpha": 0, "theta": 0, "mass": mass, "com": (0, 0, size), "inertia": np.zeros((3, 3))}
    rows = [{"joint": "prismatic", **body}, {"joint": "prismatic", **body, "alpha": np.pi / 2}]
    return lw.Robot.from_dh(rows, convention="standard", gravity=(0, 0, 0), name="stage")


def spring(robot: lw.Robot, t: Any, q: Any, qd: Any) -> Any:
    return -100.0 * lw.inverse_dynamics(robot, q, 0 * qd, q)


def error(q: Any, start: np.ndarray, end: float) -> float:
    return float(np.abs(q / start - np.cos(10.0 * end)).max())


@pytest.mark.parametrize("size", [1e-3, 1e-6, 1e-11])
def test_motions_of_small_sliders_are_as_exact_as_those_of_large_ones(size: float, tmp_path: Path) -> None:
    start, rows = np.array([0.3, 0.2]) * size, np.tile([[0.3 * size, 0.2 * size]], (2, 1))
    large, small = (lw.simulate(stage(x), [0.3 * x, 0.2 * x], [0, 0], 10.0, spring, samples=2) for x in (1.0, size))
    assert error(large.q[-1], start / size, 10.0) < 1e-6
    assert error(small.q[-1], start, 10.0) < 1e-6
    assert (large.atol, small.atol) == (1e-10, 1e-10)  # of an angle
    family = {"q0": rows, "link1.mass": np.array([1.0, 2.0])}
    found = lw.sweep(stage(size), family, tmp_path, 10.0, torque=spring, keep="ends", files="npz").read()
    assert error(found["q_end"], start, 10.0) < 1e-6


def test_a_robot_is_as_large_whichever_way_it_slides() -> None:
    """From the base to where the mass may get, on either side: limits may be 0 or lie on one side alone."""
    row = lw.load("gantry").rows[-1] | {"parent": None}
    for low, high in ((0.0, 5.0), (1.0, 5.0), (-2.0, 5.0)):
        sizes = [reach(build([row | {"limits": limits}], "frames")) for limits in ((low, high), (-high, -low))]
        assert sizes[0] == sizes[1] >= 5.0


def test_the_tolerance_of_ordinary_robots_is_one_number() -> None:
    flying = lw.load("planar3").with_free_base(mass=1.0, inertia=np.eye(3))
    for robot in (lw.load("gantry"), flying, stage(0.1), stage()):
        tolerance = Problem(robot, tau=True).tolerance(None, 1e-8)
        rest = np.delete(tolerance, [p + k for p in robot.quaternions for k in range(4)])
        assert set(rest.tolist()) == {1e-10}
        assert Problem(robot, tau=True).tolerance(1e-10, 1e-8).tolist() == tolerance.tolist()
    small = scaled(CART, 1.0, 1e-3)
    assert Problem(small, tau=True).tolerance(None, 1e-8) == pytest.approx(
        1e-10 * np.array([10 * reach(small), 1.0, 10 * reach(small), 1.0, 1.0, 1.0]), rel=1e-12
    )


def test_modules_and_symbols_have_the_tolerances_of_the_size() -> None:
    options = dict.fromkeys(("torque", "wrench", "point", "friction", "base", "method", "events"))
    options |= {"friction": False, "coordinates": "joint", "events": ()}
    for robot, numbers in ((stage(1e-5), {}), (stage(1e-5, lw.symbols("m")), {"m": 2.0})):
        inputs = prepare_with_symbols(robot, [0, 0], None, {"base": None, **options, "parameters": numbers})
        assert inputs.problem.tolerance(None, 1e-8) == pytest.approx(np.full(4, 1e-14), rel=1e-12)


@pytest.mark.parametrize("amplitude", [1e-6, 1e-9, 1e-11, 1e-20])
def test_motions_that_the_default_tolerance_does_not_see_are_told(amplitude: float, tmp_path: Path) -> None:
    start, robot = np.array([1.0, -0.5]) * amplitude, stage()
    run = partial(lw.simulate, robot, start, [0, 0], 10.0, spring, samples=11)
    with pytest.warns(UserWarning, match=SMALL_MOTION):
        run()
    assert error(run(atol=1e-10 * amplitude).q[-1], start, 10.0) < 1e-6
    batch = np.array([[1.0, 1.0], start, [0.0, 0.0]])
    with pytest.warns(UserWarning, match=SMALL_MOTION):
        lw.simulate(robot, batch, [0, 0], 0.1, spring, samples=[0.05])
    for keep in ("ends", "samples"):
        for masses in ({}, {"link1.mass": np.array([1.0, 2.0, 3.0])}):
            folder = tmp_path / f"{keep}{len(masses)}"
            with pytest.warns(lw.errors.SweepWarning, match=SMALL_MOTION) as told:
                lw.sweep(robot, {"q0": batch, **masses}, folder, 0.1, torque=spring, keep=keep, files="npz", chunk=1)
            assert len(told) == 1


def test_motions_that_are_not_small_and_rest_are_not_told() -> None:
    robot, tip = stage(), np.array([[1e-9, 1.0], [1e-3, 0.0], [0.0, 0.0]])
    lw.simulate(robot, tip, [0, 0], 0.1, spring, samples=2)
    lw.simulate(robot, [0, 0], [0, 0], 0.1, lambda robot, t, q, qd: 1e-15 + 0 * q, samples=2)
    lw.simulate(robot, [1e-9, 0], [0, 0], 0.1, spring, samples=2, integrator="rk4", dt=0.01)
    lw.simulate(robot, [0, 0], [0, 0], 0.1, lambda robot, t, q, qd: 1.0 + 0 * q, samples=2)


# pictures


@pytest.mark.parametrize("length", [1e-13, 1e-4, 1e4])
def test_curves_of_small_numbers_are_not_flat(length: float) -> None:
    t = np.linspace(0.0, 1.0, 11)
    texts = []
    for size in (1.0, length):
        for values in (0.1 * np.sin(t), np.sin(t) * 1e-14, 0.3 + 0.0 * t):
            texts.append(curves_svg(t, [Curve(size * values, "red", "x")], "m", size))
    lines = [re.findall(r'd="(M[^"]*)"', text) for text in texts]
    assert lines[:3] == lines[3:]
    assert lines[0] != lines[1]


@pytest.mark.slow
def test_plots_of_small_robots_are_not_flat() -> None:
    matplotlib = pytest.importorskip("matplotlib", reason="runs where matplotlib is installed")
    matplotlib.use("agg")
    limits = []
    for length in (1.0, 1e-13):
        small, unit = scaled(CART, 1e-9, length), units(CART, length)
        figure = lw.simulate(small, [0.0, 0.4] * unit, duration=0.2, compiled=False, atol=1e-10 * length).plot()
        named = {axes.get_ylabel(): axes.get_ylim() for axes in figure.axes}
        limits.append([np.array(named["displacement (m)"]) / length, named["angle (rad)"]])
    assert np.array(limits[1]) == pytest.approx(np.array(limits[0]), rel=1e-3, abs=1e-6)


@pytest.mark.parametrize("length", [1e-6, 1e6])
def test_drawings_scale(length: float) -> None:
    """The same picture, but for the length of its scale."""
    for arm in (TREE, CART):
        ours, own = (sorted(re.findall(r"<path[^>]*>", scaled(arm, 1.0, x)._repr_html_())) for x in (1.0, length))
        assert ours
        assert own == ours  # faces at the same depth may come in another order


@pytest.mark.parametrize("length", [1e-9, 1.0, 1e6])
def test_a_conversion_that_is_wrong_is_refused_at_any_size(length: float) -> None:
    arm = scaled(lw.chain(3, seed=2), 1.0, length)
    offsets = {name: Placement.identity() for name in arm.names}
    require_agreement(arm, arm, offsets, "the copy")
    offsets["link3"] = Placement(Rotation.identity(), Vector(1e-6 * length, 0.0, 0.0))
    with raises(lw.errors.RobotError, "link3"):
        require_agreement(arm, arm, offsets, "the copy")


@pytest.mark.parametrize(("mass", "length"), ALL_SCALES)
def test_bodies_are_physical_or_not_at_any_scale(mass: float, length: float) -> None:
    small = scaled(lw.chain(2, seed=2), mass, length)
    rows = small.rows
    rows[1]["inertia"] = np.diag([1.0, 1.0, 2.0 + 1e-6]) * np.abs(rows[1]["inertia"]).max()
    with raises(lw.errors.RobotError, "link2"):
        build(rows, "standard")
    rows[1]["inertia"] = np.diag([1.0, 1.0, 2.0 - 1e-6]) * np.abs(small.rows[1]["inertia"]).max()
    build(rows, "standard")


def test_the_command_line_shows_small_torques(tmp_path: Path) -> None:
    lw.save(flap(1e-12), tmp_path / "flap.toml")
    torque = f"{lw.gravity_torque(flap(1e-12), [0.0])[0]:.4g}"
    for command in ("torque", "budget"):
        assert torque in linkwise(f"{command} {tmp_path / 'flap.toml'} --q 0").out
    hanging = linkwise(f"torque {tmp_path / 'flap.toml'} --q=-pi/2").out
    assert re.search(r"link1 +N m +0$", hanging, re.MULTILINE)
