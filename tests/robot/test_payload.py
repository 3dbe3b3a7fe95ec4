"""Bodies: which are refused, whatever their size, and what a payload makes of a robot."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwise as lw
from facts import raises
from joint_kinds import TREE
from robots import ALL, relative, states

ROD = {"joint": "revolute", "a": 0.5, "b": 0.0, "alpha": 0.0, "mass": 2.0, "com": (-0.25, 0.0, 0.0)}


def rod(inertia: Any, mass: float = 2.0, unit: tuple[float, float] = (1.0, 1.0), **entries: Any) -> lw.Robot:
    """A link of that inertia, in other units of mass and length."""
    kg, m = unit
    row = {**ROD, "a": 0.5 * m, "mass": mass * kg, "com": (-0.25 * m, 0.0, 0.0)}
    return lw.Robot.from_dh([{**row, "inertia": np.array(inertia) * kg * m * m, **entries}], convention="standard")


UNITS = [(1.0, 1.0), (1e-6, 1e-3), (1e-12, 1e-6), (1e3, 1.0), (1e6, 1e3), (1.0, 1e-3), (1e-9, 1.0)]
RESIDUES = {
    "a negative zero": np.diag([-1.4e-20, 0.0, 0.0]),
    "a point mass": np.diag([0.0, -1.4e-17, -2e-17]),
    "an asymmetry alone": [[0.0, 1e-17, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]],
    "an asymmetry": [[0.01, 1e-17, 0.0], [0.0, 0.01, 0.0], [0.0, 0.0, 0.01]],
    "a rod": np.diag([-1e-18, 0.04, 0.04]),
    "a triangle": np.diag([1e-17, 1e-17, 3e-17]),
}
BAD = {
    "a negative moment": np.diag([-1e-6, 0.04, 0.04]),
    "nothing but a negative moment": np.diag([-1e-9, 0.0, 0.0]),
    "an asymmetry": [[0.01, 1e-6, 0.0], [0.0, 0.01, 0.0], [0.0, 0.0, 0.01]],
    "a triangle": np.diag([0.01, 0.01, 0.05]),
    "a small triangle": np.diag([1e-9, 1e-9, 5e-9]),
}


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("inertia", RESIDUES.values(), ids=RESIDUES)
def test_what_rounding_left_of_a_zero_is_zero_in_any_units(inertia: Any, unit: tuple[float, float]):
    arm = rod(inertia, unit=unit)
    assert min(arm.links[0].inertia.upper[k] for k in (0, 3, 5)) >= 0.0  # used as 0


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("inertia", BAD.values(), ids=BAD)
def test_impossible_inertias_are_refused_in_any_units(inertia: Any, unit: tuple[float, float]):
    with raises(lw.errors.RobotError, "link 'link1'", "inertia"):
        rod(inertia, unit=unit)


def test_a_body_without_lengths_of_its_own_is_measured_by_the_robot():
    """A residue on a wrist whose own row has only zeros."""
    wrist = {"joint": "revolute", "a": 0.0, "b": 0.0, "alpha": 0.0, "mass": 1.0, "com": (0.0, 0.0, 0.0)}
    residue = {"inertia": np.diag([-1.4e-20, 0.0, 0.0])}
    rows = [{**ROD, "inertia": np.zeros((3, 3))}, {**wrist, **residue}]
    assert lw.Robot.from_dh(rows, convention="standard").links[1].inertia.xx == 0.0


@pytest.mark.parametrize("unit", UNITS)
def test_a_negative_mass_is_refused_unless_rounding_left_it(unit: tuple[float, float]):
    kg, m = unit
    first = {**ROD, "a": 0.5 * m, "mass": 2.0 * kg, "com": (-0.25 * m, 0.0, 0.0), "inertia": np.zeros((3, 3))}
    arm = lw.Robot.from_dh([first, {**first, "mass": -1.4e-20 * kg}], convention="standard")
    assert arm.links[1].mass == 0.0
    for mass in (-1e-9, -2.0):
        with raises(lw.errors.RobotError, "link2", "mass"):
            lw.Robot.from_dh([first, {**first, "mass": mass * kg}], convention="standard")
    with raises(lw.errors.RobotError, "link1", "mass"):
        lw.Robot.from_dh([{**first, "mass": -1.4e-20 * kg}], convention="standard")


def test_a_residue_survives_a_file(tmp_path: Path):
    arm = rod(np.diag([-1.4e-20, 0.0, 0.0]))
    lw.save(arm, tmp_path / "arm.toml")
    assert lw.load(tmp_path / "arm.toml") == arm


def random_body(seed: int) -> dict[str, Any]:
    row = lw.random_tree(1, seed=100 + seed).rows[0]
    return {"mass": row["mass"], "com": row["com"], "inertia": row["inertia"]}


def with_fixed_link(arm: lw.Robot, link: str, body: dict[str, Any], name: str = "payload") -> lw.Robot:
    """The robot made again with a body on a fixed joint."""
    row: dict[str, Any] = {"name": name, "parent": link, "joint": "fixed", **body}
    if arm.convention == "frames":
        return lw.Robot.from_frames([*arm.rows, {**row, "translation": (0, 0, 0)}], gravity=arm.gravity)
    row |= {"a": 0.0, "b": 0.0, "alpha": 0.0, "theta": 0.0}
    return lw.Robot.from_dh([*arm.rows, row], convention=arm.convention, gravity=arm.gravity)


def modified(n: int) -> lw.Robot:
    return lw.Robot.from_dh(lw.chain(n).rows, convention="modified", gravity=(1.0, 2.0, -9.0), name="modified")


@pytest.mark.parametrize(
    "arm", [*ALL[:8], *ALL[-8:], modified(4), TREE, lw.chain(2, joints="RS")], ids=lambda arm: arm.name
)
def test_a_payload_is_a_body_on_a_fixed_joint(arm: lw.Robot, tmp_path: Path):
    body, link = random_body(arm.n), arm.names[-1]
    loaded = arm.with_payload(**body, link=link)
    assert loaded == with_fixed_link(arm, link, body)
    assert (loaded.n, loaded.names, loaded.name, loaded.about) == (arm.n, arm.names, arm.name, arm.about)
    assert loaded.links[-1].mass == pytest.approx(arm.links[-1].mass + body["mass"])
    assert len(arm.leaves) > 1 or loaded == arm.with_payload(**body)
    lw.save(loaded, tmp_path / "loaded.toml")
    assert lw.load(tmp_path / "loaded.toml") == loaded
    assert "payload" in lw.describe(loaded)


FLANGE = {"name": "flange", "joint": "fixed", "a": 0.1, "b": 0.2, "alpha": 0.3, "theta": 0.4}
FLANGED = lw.Robot.from_dh([*lw.chain(3).rows, FLANGE], convention="standard", gravity=(1.0, 2.0, -9.0))


@pytest.mark.parametrize(
    ("arm", "link"), [(lw.random_tree(6, seed=2), "link6"), (FLANGED, "flange")], ids=["", "fixed"]
)
def test_torques_of_a_payload_are_those_of_its_weight_and_inertia(arm: lw.Robot, link: str):
    """By d'Alembert: what its motion, gravity and its tensor ask for, at its own mass centre, also on a fixed joint."""
    body, q = random_body(3), states(arm)[0][0]
    loaded = arm.with_payload(**body, link=link)
    J = lw.jacobian(arm, q, link=link, point=body["com"])
    R = lw.poses(arm, q, frames=[link])[0, :3, :3]
    tensor = R @ np.array(body["inertia"]) @ R.T
    more = lw.inertia_matrix(loaded, q) - lw.inertia_matrix(arm, q)
    assert relative(more, J[3:].T @ J[3:] * body["mass"] + J[:3].T @ tensor @ J[:3]) < 1e-12
    held = lw.gravity_torque(loaded, q) - lw.gravity_torque(arm, q)
    assert relative(held, -body["mass"] * J[3:].T @ np.array(arm.gravity)) < 1e-12


def test_payloads_add_up_and_have_names_of_their_own():
    arm, one, two = lw.chain(3), random_body(1), random_body(2)
    both = arm.with_payload(**one).with_payload(**two, link="link2").with_payload(**two)
    assert [row["name"] for row in both.rows[3:]] == ["payload", "payload2", "payload3"]
    q, *_ = states(arm)
    extra = lw.inertia_matrix(arm.with_payload(**one), q) + lw.inertia_matrix(arm.with_payload(**two, link="link2"), q)
    extra = extra + lw.inertia_matrix(arm.with_payload(**two), q) - 2.0 * lw.inertia_matrix(arm, q)
    assert relative(lw.inertia_matrix(both, q), extra) < 1e-12


def test_a_payload_on_a_robot_that_was_changed():
    arm, body = lw.chain(4), random_body(1)
    driven = lw.Robot.from_dh([{**row, "rotor_inertia": 0.1} for row in arm.rows], convention="standard")
    assert arm.regrouped().with_payload(**body) == arm.with_payload(**body).regrouped()
    assert arm.with_gravity((1, 2, 3)).with_payload(**body) == arm.with_payload(**body).with_gravity((1, 2, 3))
    assert driven.without_rotors().with_payload(**body) == driven.with_payload(**body).without_rotors()
    with raises(lw.errors.RobotError, "'chain-4-0-R'", "table"):
        arm.mapped(lambda x: 2.0 * x if x not in (0.0, 1.0, -1.0) else x).with_payload(**body)


def test_a_payload_of_symbols():
    m, x = lw.symbols("m x")
    arm = lw.load("planar3")
    loaded = arm.with_payload(m, (x, 0, 0), np.zeros((3, 3)))
    assert lw.symbols_of(loaded) == ("m", "x")
    assert lw.bind(lw.bind(loaded, m=2.0), x=0.3) == lw.bind(loaded, m=2.0, x=0.3)
    partly = lw.compile(lambda arm, q: lw.gravity_torque(lw.bind(arm, m=2.0), q), loaded)  # x is an input
    q = np.full(arm.n, 0.3)
    assert np.allclose(partly(q, m=7.0, x=0.3), lw.gravity_torque(lw.bind(loaded, m=2.0, x=0.3), q))
    assert lw.bind(loaded, m=2.0, x=0.3) == arm.with_payload(2.0, (0.3, 0, 0), np.zeros((3, 3)))
    twice = loaded.with_payload(m, (0, x, 0), np.zeros((3, 3)))  # onto a robot of symbols
    plain = arm.with_payload(2.0, (0.3, 0, 0), np.zeros((3, 3))).with_payload(2.0, (0, 0.3, 0), np.zeros((3, 3)))
    assert lw.bind(twice, m=2.0, x=0.3) == plain


def test_payloads_that_cannot_be_are_refused_by_name():
    arm, zero, tree, panda = lw.chain(3), np.zeros((3, 3)), lw.random_tree(6, seed=2), lw.load("panda")
    plate = {"name": "plate", "joint": "fixed", "a": 0.0, "b": 0.0, "alpha": 0.0, "theta": 0.0}
    on_plate = lw.Robot.from_dh([plate, *lw.chain(2).rows], convention="standard")
    for robot, changes, *facts in (
        (arm, {"mass": -1.0}, "link 'payload'", "mass", "-1.0"),
        (arm, {"inertia": np.diag([1, 1, 5])}, "link 'payload'", "inertia", "1 + 1 < 5"),
        (arm, {"com": (0, 0)}, "link 'payload'", "com"),
        (tree, {}, "tips", "'link2'", "'link3'"),
        (panda, {}, "tips", "'panda_link7'", "'panda_hand'"),
        (arm, {"link": "link9"}, "'link9'", "'link3'"),
        (on_plate, {"link": "plate"}, "'plate'", "base"),
    ):
        with raises(lw.errors.RobotError, *facts):
            robot.with_payload(**{"mass": 1.0, "com": (0, 0, 0), "inertia": zero, **changes})


def test_a_link_may_be_called_base(tmp_path: Path):
    rows = lw.random_tree(4, seed=1).rows
    rename = {"link1": "base"}
    for row in rows:
        fixed = row["parent"] == "base"
        row["name"] = rename.get(row["name"], row["name"])
        row["parent"] = None if fixed else rename.get(row["parent"], row["parent"])
    arm = lw.Robot.from_frames(rows)
    plain = lw.random_tree(4, seed=1)
    assert [link.parent for link in arm.links] == [link.parent for link in plain.links]
    assert relative(lw.inertia_matrix(arm, [1, 2, 3, 4]), lw.inertia_matrix(plain, [1, 2, 3, 4])) == 0.0
    lw.save(arm, tmp_path / "arm.toml")
    assert lw.load(tmp_path / "arm.toml") == arm
    assert lw.jacobian(arm, [0.0] * 4, link="base").shape == (6, 4)
    assert arm.with_payload(**random_body(1), link="base").links[0].mass > arm.links[0].mass


def test_base_means_the_fixed_base_where_no_link_can_be_meant():
    body = {"joint": "revolute", "translation": (0, 0, 0.1), **random_body(1)}
    own = lw.Robot.from_frames([{**body, "name": "base", "parent": "base"}, {**body, "parent": "base"}])
    assert [link.parent for link in own.links] == [-1, 0]  # a link is not its own parent; later rows mean the link
    for spelling in (None, ""):
        two = lw.Robot.from_frames([{**body, "name": "base"}, {**body, "parent": spelling}])
        assert [link.parent for link in two.links] == [-1, -1]
    with raises(lw.errors.RobotError, "link 'a'", "parent", "'base'", "row 2"):
        lw.Robot.from_frames([{**body, "name": "a", "parent": "base"}, {**body, "name": "base"}])
    with raises(lw.errors.RobotError, "'base'", "row 1"):
        lw.Robot.from_frames([{**body, "name": "base"}, {**body, "name": "base"}])
