"""A new kind of joint is one class and one entry in `KINDS`: everything else follows. Its oracle is a robot without.

Of a rack of radius r at the angle q, q̇, q̈: a slide at r q, r q̇, r q̈ whose force is τ / r. A rotor J on the pinion is
a mass J / r² on the slide that feels no gravity. Of a drum of winding r likewise: a hinge whose torque is τ / r.
"""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwise as lw
from effort import rest_slow
from facts import raises
from fake_cuda import fake_driver
from linkwise.robot.kinds import KINDS, joint_numbers
from new_joints import NEW_KINDS, Drum, Rack
from robots import conditioned, relative

ID, FD = lw.inverse_dynamics, lw.forward_dynamics
ARRAYS = {ID: 3, FD: 3, lw.bias_torque: 2, lw.gravity_torque: 1, lw.inertia_matrix: 1, lw.inverse_inertia_matrix: 1}
EVERY_METHOD = [(function, method) for function in ARRAYS for method in lw.methods(function)]


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, kind in NEW_KINDS.items():
        monkeypatch.setitem(KINDS, name, kind)


def toothed(n: int = 6, joints: str = "RKPDH", seed: int = 4, **drives: float) -> lw.Robot:
    robot = lw.chain(n, seed=seed, joints=joints)
    return lw.Robot.from_dh([row | drives for row in robot.rows], convention="standard", name="toothed")


def with_old_joints(robot: lw.Robot) -> tuple[lw.Robot, np.ndarray]:
    """The same robot with slides for its racks and hinges for its drums, and how far each coordinate goes there."""
    rows, ratios = robot.rows, np.ones(robot.n)
    for k, row in enumerate(rows):
        for kind, number, old in (("rack", "radius", "prismatic"), ("drum", "winding", "revolute")):
            if row["joint"] == kind:
                row["joint"], ratios[k] = old, row.pop(number)
    return lw.Robot.from_dh(rows, convention="standard", name="old"), ratios


def states(robot: lw.Robot, count: int = 3) -> np.ndarray:
    return np.random.default_rng(robot.n).normal(size=(3, count, robot.n))


def test_torques_are_those_of_slides_and_hinges() -> None:
    robot = toothed()
    old, r = with_old_joints(robot)
    assert robot.joints == "RKPDHR"
    q, qd, qdd = states(robot)
    tau = ID(robot, q, qd, qdd)
    assert relative(tau, r * ID(old, r * q, r * qd, r * qdd)) < 1e-13
    assert relative(FD(robot, q, qd, tau), qdd) < 1e-11
    assert relative(lw.inertia_matrix(robot, q), np.outer(r, r) * lw.inertia_matrix(old, r * q)) < 1e-13
    assert relative(lw.poses(robot, q), lw.poses(old, r * q)) < 1e-14
    assert robot.effort_units == ("N m", "N m", "N", "N", "N m", "N m")
    driven = ID(toothed(rotor_inertia=0.3), q, qd, qdd)
    assert relative(driven, tau + 0.3 * qdd) < 1e-13
    text = str(lw.describe(robot))
    assert all(said in text for said in ("radius (m/rad)", "winding (rad/m)", " rack ", " drum "))


@pytest.mark.parametrize(("function", "method"), EVERY_METHOD, ids=lambda x: getattr(x, "__name__", x))
def test_every_method_takes_it(function: Any, method: str) -> None:
    robot = toothed(5)
    q, qd, other = states(robot)
    given = (q, qd, other)[: ARRAYS[function]]
    bound = max(1e-12, 4.0 * conditioned(robot, q))
    assert relative(function(robot, *given, method=method), function(robot, *given)) < bound


@pytest.mark.parametrize("form", rest_slow(["straight", "loops"], ["loops"]))
def test_kernels_for_gpus_have_the_bits_of_the_processor(form: str) -> None:
    robot = toothed(4)
    given = [np.ascontiguousarray(x) for x in states(robot, 5)]
    expected = lw.compile(FD, robot, form=form)(*given, threads=1)
    with fake_driver():
        assert np.array_equal(lw.compile(FD, robot, form=form, target="cuda")(*given, copy=True), expected)


def test_modules_for_any_robot_take_it() -> None:
    from wasm_modules import by_wasmtime

    robot = toothed(4)
    q, qd, qdd = states(robot)
    module = lw.wasm(ID)
    (tau,) = by_wasmtime(module, [q, qd, qdd], module.robot(robot), len(q))
    assert relative(tau.reshape(q.shape), ID(robot, q, qd, qdd)) < 1e-12
    assert module.interface["record"]["columns"][-len(joint_numbers()) :] == list(joint_numbers())


def test_rows_say_what_is_wrong_with_it(tmp_path: Path) -> None:
    good = toothed(2, "RK").rows
    for change, *facts in (
        ({"radius": "3 cm"}, "radius", "'3 cm'", "number"),
        ({"radius": None}, "radius", "missing", "metres per radian"),
        ({"pitch": 0.1}, "pitch", "rack", "screw"),
        ({"joint": "revolute"}, "radius", "revolute", "rack"),
        ({"joint": "rak"}, "'rak'", "'rack'"),
    ):
        row = {key: x for key, x in {**good[1], **change}.items() if x is not None}
        with raises(lw.errors.RobotError, "link 'link2'", *facts):
            lw.Robot.from_dh([good[0], row], convention="standard")
    for refused in (
        lambda: lw.save(toothed(), tmp_path / "toothed.urdf"),
        *(lambda name=name: lw.convert_force(toothed(), *np.zeros((2, 6)), target=name)
          for name in ("pinocchio", "mujoco", "drake")),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=r"\brack\b"):
            refused()


def test_they_are_drawn_along_their_axes_in_their_colours(tmp_path: Path) -> None:
    from linkwise.drawing.scene import scene_of
    from linkwise.drawing.skeleton import skeleton_of

    robot = toothed(3, "RKD")
    skeleton = skeleton_of(robot)
    assert [joint.symbol for joint in skeleton.joints] == ["revolute", "prismatic", "revolute"]
    assert skeleton.joints[1].slides
    scene = scene_of(skeleton, np.concatenate([np.eye(4)[None], lw.poses(robot, np.zeros(3))])[None])
    assert scene.kinds == ("revolute", "rack", "drum")
    assert {Rack.colour, Drum.colour} <= {part.colour for part in scene.parts}
    lw.draw(robot).savefig(tmp_path / "toothed.svg")
    assert "rack" in (tmp_path / "toothed.svg").read_text()


def test_it_can_be_locked_and_coupled() -> None:
    robot = toothed(3, "RKR")
    old, r = with_old_joints(robot)
    assert robot.with_locked("link2", 0.7) == old.with_locked("link2", 0.7 * float(r[1]))
    rows = toothed(3, "KKR").rows
    rows[1] |= {"coupled_to": "link1", "ratio": -2.0, "offset": 0.3}
    gripper = lw.Robot.from_dh(rows, convention="standard")
    free = lw.Robot.from_dh(toothed(3, "KKR").rows, convention="standard")
    G = np.array([[1.0, 0.0], [-2.0, 0.0], [0.0, 1.0]])
    q, qd, qdd = states(gripper)
    tau = ID(free, q @ G.T + [0.0, 0.3, 0.0], qd @ G.T, qdd @ G.T)
    assert relative(ID(gripper, q, qd, qdd), tau @ G) < 1e-12


def test_comparisons_find_its_number() -> None:
    robot = toothed(4, "RKKR", viscous_friction=0.1)
    rows = robot.rows
    assert lw.compare(robot, lw.convert(robot, "frames")).same
    rows[1]["radius"] *= 1.5
    found = lw.compare(robot, lw.Robot.from_dh(rows, convention="standard"))
    assert not found.same
    assert [(f.kind, f.where) for f in found.findings] == [("radius", "link2")]
    assert " m/rad in a" in str(found.findings[0])
    moved = robot.rows
    moved[2]["b"] += 0.25
    (zero,) = lw.compare(robot, lw.Robot.from_dh(moved, convention="standard")).findings
    assert zero.kind == "zero"
    assert abs(zero.value_b) * rows[2]["radius"] == pytest.approx(0.25)


def test_its_number_may_be_a_symbol_and_vary_in_a_sweep(tmp_path: Path) -> None:
    robot = toothed(2, "RK", viscous_friction=0.5)
    rows = robot.rows
    radius = rows[1]["radius"]
    rows[1]["radius"] = lw.symbols("r")
    symbolic = lw.Robot.from_dh(rows, convention="standard")
    q, qd, qdd = states(robot)
    assert relative(ID(lw.bind(symbolic, r=radius), q, qd, qdd), ID(robot, q, qd, qdd)) < 1e-13
    radii = np.array([0.1, 0.2])
    samples = {"link2.radius": radii, "q0": np.zeros((2, 2))}
    swept = lw.sweep(robot, samples, tmp_path, 0.2, progress=False, files="npz").read()
    for k, value in enumerate(radii):
        rows[1]["radius"] = float(value)
        alone = lw.simulate(lw.Robot.from_dh(rows, convention="standard"), [0.0, 0.0], duration=0.2)
        assert relative(swept["q_end"][k], alone.q[-1]) < 1e-9


def test_parameters_of_its_bodies() -> None:
    robot = toothed(4, "KRKD")
    old, _ = with_old_joints(robot)
    assert [p.name for p in lw.base_parameters(robot)] == [p.name for p in lw.base_parameters(old)]
    q, qd, qdd = states(robot)
    tau = ID(robot, q, qd, qdd)
    assert relative(ID(robot.regrouped(), q, qd, qdd), tau) < 1e-12
    columns = lw.regressor(robot, q, qd, qdd) @ lw.parameters(robot)
    assert relative(columns, tau) < 1e-12


@pytest.mark.slow
def test_the_suite_takes_its_kinds_from_the_list() -> None:
    """Tests of all kinds of joints pass where the list has one more, which they then visit."""
    tests, source = Path(__file__).parents[1], Path(lw.__file__).parents[1]
    names = ("joint_kinds", "joint_kind_exports", "joint_kind_loads", "joint_kind_parameters", "drawing", "conversion")
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "registered_joints", "-p", "no:xdist"]
    run = subprocess.run(
        [*command, *(str(next(tests.glob(f"*/test_{name}.py"))) for name in names)],
        cwd=tests.parent,
        env={**os.environ, "PYTHONPATH": f"{tests / 'helpers'}{os.pathsep}{source}"},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stdout[-4000:] + run.stderr[-2000:]
