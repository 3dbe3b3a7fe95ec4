"""Base parameters: no more than needed, enough for every torque, and the same from symbols as from numbers."""

import copy
import math
import pickle
import random
from typing import Any

import numpy as np
import pytest

import linkwise as lw
from base_regressor import enough_and_no_more, regressor
from effort import in_turn, rest_slow
from facts import raises
from linkwise.graph.passes import Transplant
from linkwise.symbolic import shared_graph
from robots import QUICK, SMALL, ids, relative, states

GRAVITIES = ((0, 0, -9.81), (0, -9.81, 0), (1.0, 2.0, -9.0), (0, 0, 0))


def special(seed: int) -> lw.Robot:
    """A chain or a tree with many zeros, parallel and perpendicular axes, and gravity along an axis or none."""
    rng = np.random.default_rng(seed)
    rows: list[dict[str, Any]] = []
    for i in range(int(rng.integers(1, 6))):
        row = {"name": f"link{i}", "joint": str(rng.choice(["revolute", "revolute", "prismatic"])), "mass": 1.0 + i}
        row |= {"a": float(rng.choice([0, 0, 0.3, 0.4])), "b": float(rng.choice([0, 0, 0.2, 0.5]))}
        row |= {"alpha": float(rng.choice([0, 0, 90, -90, 180, 40])) * math.pi / 180}
        row |= {"theta": float(rng.choice([0, 0, 90, 20])) * math.pi / 180, "com": rng.normal(size=3) / 10}
        row |= {"inertia": np.diag(rng.uniform(0.2, 0.3, 3)), "parent": rows[-1]["name"] if rows else "base"}
        if seed % 2 and i:
            row["parent"] = str(rng.choice(["base", *(other["name"] for other in rows)]))
        rows.append(row)
    convention = ("standard", "modified")[seed // 2 % 2]
    return lw.Robot.from_dh(rows, convention=convention, gravity=GRAVITIES[seed // 4 % 4], name=f"special-{seed}")


def spherical(convention: str) -> lw.Robot:
    """Weightless, with three axes through one point; the origins of two links lie elsewhere on their axes."""
    rows = [dict(row) for row in lw.chain(4).rows]
    for row, a, b in zip(rows, (0.0, 0.0, 0.0, 0.3), (0.2, 0.3, 0.4, 0.5), strict=True):
        row.update({"a": a, "b": b})
    return lw.Robot.from_dh(rows, convention=convention, gravity=(0, 0, 0), name=f"spherical-{convention}")


SPECIAL = [special(seed) for seed in range(64)] + [spherical("standard"), spherical("modified")]
FEW = [robot.without_rotors() for robot in SMALL if robot.n <= 6] + SPECIAL
SOME = [robot.without_rotors() for robot in QUICK[::2]] + SPECIAL[:16:2] + SPECIAL[-2:]
over_few = pytest.mark.parametrize("robot", rest_slow(FEW, SOME), ids=ids(FEW))


@over_few
def test_base_parameters_are_enough_and_no_more_than_the_rank_of_the_regressor(robot: lw.Robot) -> None:
    enough_and_no_more(robot, states(robot, 4 * robot.n + 20)[:3])


def with_symbols(robot: lw.Robot) -> tuple[lw.Robot, dict[str, float]]:
    """The robot with a symbol for every entry that is not zero (or a quarter turn), and their values."""
    values: dict[str, float] = {}

    def symbol(x: Any, name: str) -> Any:
        if isinstance(x, (tuple, list)):
            return [symbol(y, f"{name}_{k}") for k, y in enumerate(x)]
        plain = abs(x) < 1e-15 or (("alpha" in name or "theta" in name) and abs(math.sin(2 * x)) < 1e-12)
        if plain or name.startswith(("rotation", "axis", "limits")):
            return x
        values[name] = float(x)
        return lw.symbols(name)

    rows = []
    for i, row in enumerate(robot.rows):
        numbers = {k: symbol(x, f"{k}_{i}") for k, x in row.items() if not isinstance(x, str) and k != "inertia"}
        upper = {(j, k): symbol(row["inertia"][j][k], f"I_{i}_{j}_{k}") for j in range(3) for k in range(j, 3)}
        inertia = [[upper[min(j, k), max(j, k)] for k in range(3)] for j in range(3)]
        rows.append({**row, **numbers, "inertia": inertia})
    gravity = symbol(list(robot.gravity), "g")
    if robot.convention == "frames":
        return lw.Robot.from_frames(rows, gravity=gravity, name=robot.name), values
    return lw.Robot.from_dh(rows, convention=robot.convention, gravity=gravity, name=robot.name), values


SYMBOLIC = [robot for robot in FEW if robot.n <= 4] + [lw.load("puma560"), lw.load("stanford")]


@pytest.mark.parametrize("robot", rest_slow(SYMBOLIC, [r for r in SOME if r in SYMBOLIC]), ids=ids(SYMBOLIC))
def test_values_put_into_symbolic_base_parameters_give_those_of_numbers(robot: lw.Robot) -> None:
    arm, values = with_symbols(robot)
    number = Transplant(shared_graph(), values)
    bound = lw.bind(arm, **values).without_rotors()
    found, expected = lw.base_parameters(arm), lw.base_parameters(bound)
    assert [p.name for p in found] == [p.name for p in expected]
    assert relative([number(p.value) for p in found], [p.value for p in expected]) < 1e-12
    for ours, theirs in zip(found, expected, strict=True):
        parts = ours.made_of | theirs.made_of
        shares = [number(ours.made_of.get(part, 0.0)) for part in parts]
        assert relative(shares, [theirs.made_of.get(part, 0.0) for part in parts]) < 1e-12
    q, qd, qdd, _ = states(robot)
    tau = regressor(bound, [p.name for p in found], (q, qd, qdd)) @ [number(p.value) for p in found]
    assert relative(tau.reshape(q.shape), lw.inverse_dynamics(bound, q, qd, qdd)) < 1e-12


def test_base_parameters_say_what_they_are_made_of() -> None:
    arm = lw.load("planar3")
    found = {p.name: p for p in lw.base_parameters(arm)}
    assert len(found) == 9  # h_x, h_y and J_zz of each link
    outer = found["link2.hx"]
    assert outer.made_of == {"link2.hx": 1.0, "link3.m": 0.25}
    assert outer.value == pytest.approx(0.4 * 0.125 + 0.3 * 0.25)
    assert "0.25 link3.m" in str(outer)
    assert repr(lw.base_parameters(arm)).count("\n") == len(found) - 1


def test_symbolic_base_parameters_print_as_one_would_write_them() -> None:
    l1, l2, m1, m2, alpha = lw.symbols("l1 l2 m1 m2 alpha")
    rods = []
    for length, mass in ((l1, m1), (l2, m2)):
        inertia = mass * length**2 / 12
        rod = {"joint": "revolute", "a": length, "b": 0, "alpha": 0, "mass": mass, "com": (-0.5 * length, 0, 0)}
        rods.append({**rod, "inertia": [[0, 0, 0], [0, inertia, 0], [0, 0, inertia]]})
    planar = lw.Robot.from_dh(rods, convention="standard", gravity=(0, -9.81, 0))
    lines = str(lw.base_parameters(planar)).splitlines()
    assert lines[0] == "link1.hx = 0.5*l1*m1 + l1*m2 = link1.hx + l1 link2.m"
    assert lines[2] == "link1.Jzz = 0.333333*l1**2*m1 + l1**2*m2 = link1.Jzz + l1**2 link2.m"
    slider = {"joint": "prismatic", "a": 0, "alpha": 0, "theta": 0, "mass": m2, "com": (0, 0, l2), "inertia": np.eye(3)}
    oblique = lw.Robot.from_dh([{**rods[0], "alpha": alpha}, slider], convention="standard")
    assert str(lw.base_parameters(oblique)[-1]) == (
        "link2.hy = -l2*m2*sin(alpha)/cos(alpha) = link2.hy - sin(alpha)/cos(alpha) link2.hz"
    )


def test_special_values_may_leave_fewer_base_parameters() -> None:
    alpha = lw.symbols("alpha")
    rows = [dict(row) for row in lw.chain(2).rows]
    rows[0]["alpha"] = alpha
    arm = lw.Robot.from_dh(rows, convention="standard")
    assert len(lw.base_parameters(arm)) == len(lw.base_parameters(lw.bind(arm, alpha=0.3))) == 8
    assert len(lw.base_parameters(lw.bind(arm, alpha=0.0))) == 4


def test_base_parameters_want_a_robot_of_numbers_or_of_our_symbols() -> None:
    with raises(TypeError, "Robot"):
        lw.base_parameters("planar3")
    sympy = pytest.importorskip("sympy", reason="runs where SymPy is installed")
    row = {**lw.load("planar3").rows[0], "mass": sympy.Symbol("m")}
    with raises(TypeError, "linkwise.symbols"):
        lw.base_parameters(lw.Robot.from_dh([row], convention="standard"))


def test_numbers_too_large_to_regroup_are_refused_with_the_robot():
    row = {"joint": "revolute", "a": 2.0, "b": 2 / 3, "mass": 1.7e308, "com": (-1, 2 / 7, 2 / 9)}
    rows = [{**row, "alpha": 0.3 * k, "inertia": np.diag([1, 1.1, 1.2])} for k in range(1, 5)]
    with raises(lw.errors.RobotError, "huge", "floating"):
        lw.base_parameters(lw.Robot.from_dh(rows, convention="standard", name="huge"))


REARRANGED = {
    "sort": np.sort, "take": lambda p: np.take(p, [2, 1, 0]), "flip": np.flip, "roll": lambda p: np.roll(p, 1),
    "permuted": lambda p: p.take(np.arange(len(p))[::-1]), "index": lambda p: p[::-1],
    "reshape": lambda p: p.reshape(-1, 1).reshape(-1), "ravel": np.ravel, "transposed": lambda p: p.T,
    "concatenated": lambda p: np.concatenate([p[3:], p[:3]]), "joined": lambda p: np.concatenate([p]),
    "delete": lambda p: np.delete(p, 0), "unique": np.unique, "partition": lambda p: np.partition(p, 3),
    "where": lambda p: np.where(p > 0, p, -p), "sum": lambda p: p + p, "cumsum": np.cumsum,
    "clip": lambda p: p.clip(0, 1), "view": lambda p: p.view(),
}  # fmt: skip


@in_turn(REARRANGED)
def test_what_is_made_of_parameters_has_no_names(how: str) -> None:
    """So names and values never disagree."""
    own = lw.parameters(lw.load("planar3"))
    changed = REARRANGED[how](own)
    assert getattr(changed, "names", ()) == ()
    assert np.array_equal(changed, REARRANGED[how](np.array(own)))


def test_copies_keep_names_and_no_sorting_is_done_in_place() -> None:
    own = lw.parameters(lw.load("planar3"), base=True)
    for same in (own.copy(), copy.copy(own), copy.deepcopy(own), pickle.loads(pickle.dumps(own))):
        assert same.names == own.names
        assert np.array_equal(same, own)
        assert np.array_equal(same.grouping, own.grouping)
    for method in (own.sort, lambda: own.partition(2)):
        with raises(TypeError, "np.sort"):
            method()
    assert own["link3.hx"] == lw.parameters(lw.load("planar3"), base=True)["link3.hx"]


IN_PLACE = {
    "shuffled": np.random.default_rng(0).shuffle,
    "shuffled as before": np.random.RandomState(0).shuffle,
    "shuffled by Python": random.Random(0).shuffle,
    "taken": lambda p: np.take(p, np.arange(len(p))[::-1], out=p),
    "copied": lambda p: np.copyto(p, np.array(p)[::-1]),
    "put": lambda p: np.put(p, [0, 1], [p[1], p[0]]),
    "assigned": lambda p: p.__setitem__(slice(None), p[::-1]),
    "one by one": lambda p: p.__setitem__(0, p[1]),
    "in a part": lambda p: p[:3].__setitem__(0, p[1]),
    "swapped": lambda p: p.byteswap(inplace=True),
}


@in_turn(IN_PLACE)
def test_numbers_do_not_change_places_among_their_names(how: str) -> None:
    own = lw.parameters(lw.load("planar3"))
    before = np.array(own)
    with pytest.raises((TypeError, ValueError), match=r"np\.(sort|array)\(parameters\)|read-only"):
        IN_PLACE[how](own)
    assert np.array_equal(own, before)


def test_numbers_are_changed_by_name_or_all_in_place() -> None:
    own = lw.parameters(lw.load("planar3"))
    before = np.array(own)
    given, names = own, own.names
    own *= 2.0
    own += before
    assert own is given
    assert own.names == names
    assert np.array_equal(own, 3.0 * before)
    own["link2.m"] = 7.0
    assert own["link2.m"] == own[names.index("link2.m")] == np.array(own)[names.index("link2.m")] == 7.0
    assert np.array_equal(own.copy(), own)
