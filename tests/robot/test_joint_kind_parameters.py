"""Base parameters and regrouping with joints of every kind and with coupled joints."""

from typing import NamedTuple

import numpy as np
import pytest

import linkwise as lw
from base_regressor import enough_and_no_more
from effort import rest_slow
from facts import raises
from joint_kinds import CHAIN, EVERY, EVERY_KIND, coupled, states
from joint_kinds import COUPLED as COUPLED_TREE
from linkwise.graph.passes import Transplant
from linkwise.regressors.base_parameters import TEN
from linkwise.robot.kinds import KINDS
from linkwise.symbolic import shared_graph
from robots import ids, relative
from special_robots import GRAVITIES, special


def general(seed: int) -> lw.Robot:
    rng = np.random.default_rng(seed)
    letters = "".join(rng.choice(list(EVERY_KIND), int(rng.integers(1, 5))))
    return lw.random_tree(len(letters), seed=seed, joints=letters).with_gravity(GRAVITIES[seed % 4])


class Made(NamedTuple):
    """A robot that is made when a test asks for it."""

    sort: str
    seed: int
    letters: str = ""

    def robot(self) -> lw.Robot:
        if self.sort == "general":
            return general(self.seed)
        if self.sort == "special":
            return special(self.seed, self.letters)
        if self.sort == "coupled":
            return coupled(special(self.seed, self.letters), self.seed)
        tree = lw.random_tree(4, seed=self.seed, joints=self.letters)
        return coupled(tree.with_gravity(GRAVITIES[self.seed % 4]), self.seed)

    def __str__(self) -> str:
        return "-".join(map(str, self))


SPECIAL = [Made("special", seed, letters) for letters in (EVERY_KIND, "HRP", "SRP", "CEP") for seed in range(40)]
GENERAL = [Made("general", seed) for seed in range(40)]
COUPLED = [Made("coupled tree", seed, "RPSR") for seed in range(6)]
COUPLED += [Made("coupled", seed, "RPHR") for seed in range(30) if np.random.default_rng(seed).integers(1, 5) > 1]
ROBOTS = GENERAL + SPECIAL + COUPLED
QUICK = GENERAL[5::20] + SPECIAL[::48] + COUPLED[::30] + [Made("special", 1, letter) for letter in EVERY_KIND]


@pytest.mark.parametrize("made", rest_slow(list(dict.fromkeys([*QUICK, *ROBOTS[1::2]])), QUICK), ids=str)
def test_base_parameters_are_enough_and_no_more_than_the_rank_of_the_regressor(made: Made) -> None:
    robot = made.robot()
    count = 40 * len(robot.names) // robot.n + 20
    enough_and_no_more(robot, states(robot, count)[:3], 1e-9 if robot.couplings else 1e-12)


def test_every_kind_of_joint_is_among_the_quick_ones() -> None:
    assert set("".join(made.robot().joints for made in QUICK)) == {kind.letter for kind in KINDS.values()}


@pytest.mark.parametrize("robot", rest_slow(EVERY, [CHAIN, COUPLED_TREE]), ids=ids(EVERY))
def test_a_regrouped_robot_needs_the_same_torques_by_every_method(robot: lw.Robot) -> None:
    q, qd, qdd, _ = states(robot, 2)
    other = robot.regrouped()
    wrench = np.random.default_rng(1).normal(size=(2, len(robot.names), 6))
    expected = lw.inverse_dynamics(robot, q, qd, qdd, wrench)
    for method in lw.methods(lw.inverse_dynamics):
        assert relative(lw.inverse_dynamics(other, q, qd, qdd, wrench, method=method), expected) < 1e-12
    for method in lw.methods(lw.inertia_matrix):
        assert relative(lw.inertia_matrix(other, q, method=method), lw.inertia_matrix(robot, q)) < 1e-12
    assert relative(lw.kinetic_energy(other, q, qd), lw.kinetic_energy(robot, q, qd)) < 1e-12
    assert relative(lw.forward_dynamics(other, q, qd, expected, wrench), qdd) < 1e-9


def test_base_parameters_of_a_floating_body_are_its_ten_numbers() -> None:
    row = {"name": "hull", "joint": "free", "translation": (0, 0, 0), "mass": 3.0, "com": (0.1, 0.2, 0.3)}
    hull = lw.Robot.from_frames([{**row, "inertia": np.diag([1.0, 1.1, 1.2]).tolist()}])
    found = lw.base_parameters(hull)
    assert sorted(p.name for p in found) == sorted(f"hull.{name}" for name in TEN)
    assert all(p.made_of == {p.name: 1.0} for p in found)
    ball = lw.Robot.from_frames([{**dict(hull.rows[0]), "joint": "ball"}])
    assert {p.name for p in lw.base_parameters(ball)} == {f"hull.{name}" for name in TEN[1:]}
    weightless = lw.base_parameters(ball.with_gravity((0, 0, 0)))
    assert {p.name for p in weightless} == {f"hull.{name}" for name in TEN[4:]}


def test_a_first_screw_is_turned_by_its_mass_too() -> None:
    row = {"name": "nut", "joint": "screw", "pitch": 0.5, "translation": (0, 0, 0), "mass": 3.0, "com": (0, 0, 0)}
    row["inertia"] = np.eye(3).tolist()
    lying = lw.Robot.from_frames([row], gravity=(0, 0, 0))
    (only,) = lw.base_parameters(lying)
    assert (only.name, only.value, only.made_of) == ("nut.Jzz", 1.75, {"nut.m": 0.25, "nut.Jzz": 1.0})
    assert [p.name for p in lw.base_parameters(lying.with_gravity((0, 0, -9.81)))] == ["nut.m", "nut.Jzz"]


@pytest.mark.parametrize("letters", ["UR", "SR", "RH", "CE", "FP"])
def test_symbols_group_as_numbers_do(letters: str) -> None:
    robot = lw.random_tree(2, seed=3, joints=letters)
    values: dict[str, float] = {}
    rows = robot.rows
    for k, row in enumerate(rows):
        row |= {"parent": rows[0]["name"] if k else None}
        for key in {"mass", "pitch"} & set(row):
            values[f"{key}_{k}"] = row[key]
            row[key] = lw.symbols(f"{key}_{k}")
        values[f"length_{k}"] = row["translation"][0]
        row["translation"] = (lw.symbols(f"length_{k}"), *row["translation"][1:])
    arm = lw.Robot.from_frames(rows, name=letters)
    number = Transplant(shared_graph(), values)
    found, expected = lw.base_parameters(arm), lw.base_parameters(lw.bind(arm, **values))
    assert [p.name for p in found] == [p.name for p in expected]
    assert relative([number(p.value) for p in found], [p.value for p in expected]) < 1e-12


def test_a_coupled_robot_of_symbols_is_refused_by_name() -> None:
    rows = lw.random_tree(2, seed=1, joints="R").rows
    rows[1] |= {"coupled_to": rows[0]["name"], "ratio": lw.symbols("gear")}
    with raises(ValueError, "geared", "symbols"):
        lw.base_parameters(lw.Robot.from_frames(rows, name="geared"))
