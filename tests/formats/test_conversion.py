"""Conversions between conventions: the same robot, whatever its table; and what cannot be converted is refused."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import linkwise as lw
from effort import examples, rest_slow
from facts import raises, warns
from joint_kinds import COUPLED, EVERY, TREE
from linkwise.formats import conversion
from linkwise.formats.conversion import compose, decompose
from linkwise.spatial import Placement, Rotation, Vector
from robots import ALL, FREE, QUICK, ids, relative

CONVENTIONS = ("standard", "modified", "frames")
ROBOTS = [*ALL, *FREE, *EVERY]
BODY = {"mass": 1.0, "com": (0.1, -0.02, 0.03), "inertia": np.diag([0.02, 0.03, 0.04])}


def same(a: lw.Robot, b: lw.Robot) -> float:
    """The largest relative difference of torques and inertia matrices."""
    rng = np.random.default_rng(5)
    q, (qd, qdd) = rng.normal(size=(3, a.nq)), rng.normal(size=(2, 3, a.nv))
    torques = (lw.inverse_dynamics(robot, q, qd, qdd) for robot in (a, b))
    return max(relative(*torques), relative(*(lw.inertia_matrix(robot, q) for robot in (a, b))))


@pytest.mark.parametrize("convention", CONVENTIONS)
@pytest.mark.parametrize("robot", rest_slow(ROBOTS, [*QUICK[::3], TREE, COUPLED]), ids=ids(ROBOTS))
def test_torques_stay_the_same_there_and_back(robot: lw.Robot, convention: str) -> None:
    other = lw.convert(robot, convention)
    back = lw.convert(other, robot.convention)
    assert other.convention == convention
    for table in (other, back):
        assert (table.names, table.joints, table.q_names) == (robot.names, robot.joints, robot.q_names)
        assert (table.gravity, table.name, table.about) == (robot.gravity, robot.name, robot.about)
        assert same(robot, table) < 1e-11


DH_ARMS = [robot for robot in ALL if robot.convention != "frames"]


@pytest.mark.parametrize("robot", rest_slow(DH_ARMS, [r for r in DH_ARMS if r.n < 6]), ids=ids(DH_ARMS))
def test_a_chain_needs_no_row_more(robot: lw.Robot) -> None:
    """Of all DH tables of a chain, in either convention, one has a row for each joint."""
    for convention in CONVENTIONS:
        assert len(lw.convert(robot, convention).rows) == len(robot.rows)
    back = lw.convert(lw.convert(lw.convert(robot, "frames"), "modified"), "standard")
    assert len(back.rows) == len(robot.rows)


def test_the_same_convention_is_the_same_robot() -> None:
    for robot in QUICK:
        assert lw.convert(robot, robot.convention) is robot


@pytest.mark.parametrize("robot", [*QUICK, TREE], ids=ids([*QUICK, TREE]))
def test_frames_keep_the_poses_of_links(robot: lw.Robot) -> None:
    """With anchors every link keeps its frame, except where it turns about several axes."""
    q = np.random.default_rng(1).normal(size=robot.nq)
    other = lw.convert(robot, "frames")
    for k, joint in enumerate(robot.joints):
        if joint in "RPHC":
            assert np.allclose(lw.poses(other, q)[k], lw.poses(robot, q)[k], atol=1e-13)


def test_standard_and_modified_tables_of_one_arm() -> None:
    """Row i of the one has b, theta, row i + 1 of the other a, alpha: Craig's table of the Stanford arm is Saha's."""
    arm = lw.load("stanford")
    rows, other = arm.rows, lw.convert(arm, "modified").rows
    for before, row in zip(rows, other[1:], strict=False):
        assert (row["a"], row["alpha"]) == (before["a"], before["alpha"])
    assert (other[0]["a"], other[0]["alpha"]) == (0.0, 0.0)


def tool(**entries: Any) -> dict[str, Any]:
    return {"joint": "fixed", "translation": (0.1, 0.2, 0.3), **entries}


def everything() -> lw.Robot:
    """A tree with fixed rows of any place, two of them on the base, and all entries that a row may have."""
    turn = lw.random_tree(1, seed=8).rows[0]["rotation"]
    drive = {"rotor_inertia": 0.3, "viscous_friction": 0.2, "coulomb_friction": 0.1, "limits": (-1.0, 2.0)}
    ratings = {"velocity_limit": 3.0, "effort_limit": 40.0, "stiffness": 5.0, "rest": 0.25, "joint_name": "hinge"}
    return lw.Robot.from_frames(
        [
            {"name": "ground", **tool(rotation=turn, mass=2.0)},
            {"name": "arm", "joint": "revolute", "axis": (0, 1, 0), "translation": (0, 1, 0), **BODY} | drive | ratings,
            {"name": "camera", **tool(rotation=turn, parent="arm", mass=0.5, com=(0, 0, 0.1))},
            {"name": "slide", "parent": "arm",
             "joint": "prismatic", "axis": (1, 0, 0), "translation": (0, 0, 1)} | BODY,
            {"name": "finger", "joint": "revolute", "anchor": (0.1, 0.2, 0), "translation": (0, 0, 0.4), **BODY,
             "coupled_to": "slide", "ratio": -2.0, "offset": 0.3},
            {"name": "nut", "parent": "camera", "joint": "screw", "pitch": 0.01, "translation": (0, 0, 0), **BODY},
            {"name": "base", "parent": "nut",
             "joint": "planar", "translation": (0, 0, 1), "limits": [[-1, 1]] * 3} | BODY,
            {"name": "mark", "parent": None, **tool()},
        ],
        gravity=(1.0, 2.0, -9.0), name="everything",
    )  # fmt: skip


@pytest.mark.parametrize("path", [("standard",), ("modified",), ("standard", "modified", "frames")])
def test_nothing_is_lost(path: tuple[str, ...]) -> None:
    robot = other = everything()
    for convention in path:
        other = lw.convert(other, convention)
    assert same(robot, other) < 1e-12
    q = np.random.default_rng(0).normal(size=robot.nq)
    fixed = ["ground", "camera", "mark"]
    assert np.allclose(lw.poses(other, q, frames=fixed), lw.poses(robot, q, frames=fixed), atol=1e-13)
    rows = {row["name"]: row for row in other.rows}
    geometry = {"translation", "rotation", "axis", "anchor", "com", "inertia", "parent"}
    for row in robot.rows:
        assert {k: v for k, v in row.items() if k not in geometry}.items() <= rows[row["name"]].items()
    assert other.q_names[0] == "hinge"
    assert (lw.control.springs(other), other.velocity_limits) == (lw.control.springs(robot), robot.velocity_limits)


@pytest.mark.parametrize("convention", ["standard", "modified"])
def test_right_angles_and_zeros_are_exact(convention: str) -> None:
    """Quarter turns of axes and whole numbers as lengths: no residue of rounding in the table."""
    axes, quarter = [(0, 0, 1), (0, 1, 0), (0, 1, 0), (1, 0, 0), (0, 1, 0), (1, 0, 0)], math.pi / 2
    places = [(0, 0, 1), (0, 1, 0), (2, 0, 0), (1, 0, 0.5), (0, 0, 0), (0, 0, 0)]
    rows = [{"joint": "revolute", "axis": a, "translation": p, **BODY} for a, p in zip(axes, places, strict=True)]
    for row in lw.convert(lw.Robot.from_frames(rows, name="square"), convention).rows:
        for key in ("alpha", "theta"):
            assert row[key] % quarter == 0.0
        assert all((2 * row[key]).is_integer() for key in ("a", "b"))
        assert sum(x == 0.0 for line in row.get("inertia", ()) for x in line) in (0, 6)


def test_nearly_parallel_axes_lose_no_digits() -> None:
    """Their common normal is kilometres away; fixed rows go another way."""
    for tilt in (1e-3, 1e-5, 1e-7, 1e-9, 1e-11):
        axis = (0.0, math.sin(tilt), math.cos(tilt))
        joint = {"joint": "revolute", "translation": (0.3, 0.2, 0.1), **BODY}
        robot = lw.Robot.from_frames([joint, {**joint, "axis": axis}, {**joint, "axis": (0, -1, 0)}], name="leaning")
        for convention in ("standard", "modified"):
            assert same(robot, lw.convert(robot, convention)) < 1e-12


@examples(60)
@given(seed=st.integers(0, 10**6), quarters=st.lists(st.integers(0, 3), min_size=3, max_size=3), mixed=st.booleans())
def test_every_placement_is_screws_in_turn(seed: int, quarters: list[int], mixed: bool) -> None:
    rng = np.random.default_rng(seed)
    turn = Placement.identity()
    for axis, count in zip("zxz", quarters, strict=True):
        angle = count * math.pi / 2 + mixed * float(rng.choice([0.0, 1e-3, 1e-6, 1e-10, 1.0]))
        turn = turn.then(conversion.Screw(axis, angle).placement)
    shift = rng.normal(size=3) * rng.choice([0.0, 1.0], 3)
    place = Placement(Rotation(turn.axes.rows), Vector(*map(float, shift)))
    screws = decompose(place, 1.0)
    assert "".join(screw.axis for screw in screws) in ("zxz", "zxzxz")
    assert np.abs(np.array(compose(screws).matrix()) - np.array(place.matrix())).max() < 2e-11


def test_symbols_of_bodies_stay() -> None:
    m, l = lw.symbols("m l")
    rod = {"joint": "revolute", "a": 0.5, "b": 0.1, "alpha": 0.3, "mass": m, "com": (-l / 2, 0, 0)}
    rod |= {"inertia": np.eye(3)}
    arm = lw.Robot.from_dh([rod, rod], convention="standard", name="rods")
    for convention in ("modified", "frames"):
        other = lw.convert(arm, convention)
        assert lw.symbols_of(other) == ("l", "m")
        assert same(lw.bind(arm, m=2.0, l=0.5), lw.bind(other, m=2.0, l=0.5)) < 1e-13


def test_symbols_of_lengths_can_become_frames_alone() -> None:
    a, alpha = lw.symbols("a alpha")
    rod = {"joint": "revolute", "a": a, "b": 0.0, "alpha": 0.0, **BODY}
    arm = lw.Robot.from_dh([rod, rod], convention="standard", name="rods")
    assert same(lw.bind(arm, a=0.5), lw.bind(lw.convert(arm, "frames"), a=0.5)) < 1e-13
    with raises(lw.errors.RobotError, "'rods'", "link 'link1'", "a is <a>", "'modified'", "lw.bind"):
        lw.convert(arm, "modified")
    turned = lw.Robot.from_dh([{**rod, "alpha": alpha}], convention="standard", name="turned")
    with raises(lw.errors.RobotError, "turned", "link1", "alpha", "lw.bind"):
        lw.convert(turned, "frames")


def test_regrouped_robots_stay_regrouped() -> None:
    arm = lw.load("stanford").regrouped()
    other = lw.convert(arm, "modified")
    assert other.links[0].grouped is not None
    assert same(arm, other) < 1e-12


def test_a_difference_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison is not for show: a wrong table does not come out."""

    def wrong(table: Any) -> None:
        conversion.to_modified(table)
        table.rows[1]["mass"] *= 1.0 + 1e-6

    monkeypatch.setitem(conversion.CONVERTERS, "modified", wrong)
    with raises(lw.errors.RobotError, "'stanford'", "'modified'", "'link1'"):
        lw.convert(lw.load("stanford"), "modified")


def test_numbers_that_were_replaced_are_noticed() -> None:
    """A robot whose links are not those of its table cannot be converted by its table."""
    arm = lw.load("planar3")
    heavier = tuple(replace(link, mass=2.0 * link.mass) for link in arm.links)
    with raises(lw.errors.RobotError, "robot 'planar3'", "'modified'", "'link2'", "5.0e-01"):
        lw.convert(replace(arm, links=heavier), "modified")


def test_arguments_are_checked() -> None:
    with raises(lw.errors.RobotError, "convention", "'modifed'", "'modified'"):
        lw.convert(lw.load("planar3"), "modifed")
    with raises(TypeError, "Robot"):
        lw.convert("planar3", "modified")  # type: ignore[arg-type]


def test_symbols_and_bodies_that_cannot_exist() -> None:
    """`unphysical` is no number: binding symbols and converting leave it."""
    thin = {**BODY, "mass": lw.symbols("m"), "inertia": np.diag([0.01, 0.01, 0.05])}
    with warns(UserWarning, "'link1'", "inertia"):
        arm = lw.Robot.from_frames([{"joint": "revolute", "translation": (0, 0, 1), **thin}], unphysical="warn")
    bound = lw.bind(lw.convert(arm, "modified"), m=2.0)
    assert bound.rows[0]["unphysical"] is True
    assert same(lw.bind(arm, m=2.0), bound) < 1e-14
