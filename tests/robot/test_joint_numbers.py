"""Laws of what the classes of joints say, over every kind in `KINDS` and further kinds."""

import re
from dataclasses import dataclass, field, fields
from pathlib import Path

import numpy as np
import pytest

import linkwise as lw
from effort import rest_slow
from facts import raises
from joint_kinds import states
from linkwise.robot import Joint
from linkwise.robot.joint import Revolute, Screw, in_unit
from linkwise.robot.kinds import KINDS, JointKind, kinds_by_name, link_joints
from linkwise.robot.link import DRIVE, NumberMap, empty_link, numbers_of, own_numbers
from linkwise.robot.tables import refuse_taken_names
from linkwise.spatial import power
from linkwise.sweeps.family import families
from new_joints import NEW_KINDS
from robots import conditioned, relative

ID, FD = lw.inverse_dynamics, lw.forward_dynamics
EVERY = {**KINDS, **NEW_KINDS}
SINGLE = [kind for kind in EVERY.values() if kind.degrees == 1]
NUMBERS = [(kind, number) for kind in EVERY.values() for number in (*kind.numbers, *DRIVE)]
QUICK = [(kind, number) for kind, number in NUMBERS if number in kind.numbers]
QUICK += [(KINDS["revolute"], number) for number in ("stribeck_friction", "load_friction")]


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, kind in NEW_KINDS.items():
        monkeypatch.setitem(KINDS, name, kind)


def three_joints(letter: str) -> lw.Robot:
    """A joint of this kind between two that turn, with drives and friction."""
    drives = {"rotor_inertia": 0.2, "viscous_friction": 0.3, "coulomb_friction": 0.4, "coulomb_offset": 0.1}
    drives |= {"quadratic_friction": 0.2, "stribeck_friction": 0.7, "stribeck_rate": 0.3, "load_friction": 0.1}
    rows = [row | drives for row in lw.random_tree(3, seed=3, joints=f"R{letter}R").rows]
    return lw.Robot.from_frames(rows, name=f"with-{letter}")


def with_number(robot: lw.Robot, number: str, value: object) -> lw.Robot:
    rows = robot.rows
    rows[1][number] = value
    return lw.Robot.from_frames(rows, name=robot.name)


@pytest.mark.parametrize(
    ("kind", "number"), rest_slow(NUMBERS, QUICK), ids=lambda x: x if isinstance(x, str) else x.name
)
def test_a_number_changes_torques_by_as_much_in_every_form(kind: JointKind, number: str, tmp_path: Path) -> None:
    """In plain Python, straight code, loops, rounds, regrouped bodies, families, symbols, tables and files."""
    robot = three_joints(kind.letter)
    value = 1.7 * robot.rows[1][number]
    changed, symbolic = with_number(robot, number, value), with_number(robot, number, lw.symbols("x"))
    q, qd, qdd, _ = states(robot, 3)
    tau = ID(changed, q, qd, qdd, friction=True)
    assert relative(tau, ID(robot, q, qd, qdd, friction=True)) > 1e-4
    lw.save(changed, tmp_path / "changed.toml")
    others = lw.bind(symbolic, x=value), changed.regrouped(), lw.load(tmp_path / "changed.toml")
    tables = [lw.convert(changed, convention) for convention in ("standard", "modified")] if kind.on_z else []
    for other in (*others, *tables):
        assert relative(ID(other, q, qd, qdd, friction=True), tau) < 1e-11
    tolerance = max(1e-11, 4.0 * conditioned(changed, q))
    for method in ("newton-euler", "denoc"):
        assert relative(ID(changed, q, qd, qdd, friction=True, method=method), tau) < 1e-12
    for method in ("articulated", "parallel"):
        assert relative(FD(changed, q, qd, tau, friction=True, method=method), qdd) < tolerance
    for form in ("straight", "loops"):
        assert relative(lw.compile(ID, changed, form=form, friction=True)(q, qd, qdd), tau) < 1e-12
    (related,) = families([robot, changed])
    two = [np.stack([x, x]) for x in (q, qd, qdd)]

    def torques(arm: lw.Robot, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        return ID(arm, q, qd, qdd, friction=True)

    found = related.family.evaluate_members(torques, related.numbers, q=two[0], qd=two[1], qdd=two[2])
    assert relative(found[1], tau) < 1e-12


@pytest.mark.parametrize("kind", SINGLE, ids=lambda kind: kind.name)
@pytest.mark.parametrize("rotor", [0.0, 0.3])
def test_accelerations_give_the_torques_back_by_every_method(kind: JointKind, rotor: float) -> None:
    """A chain: each joint is carried inward through the others, with what it is said to have along its axis."""
    rows = [row | {"rotor_inertia": rotor} for row in lw.chain(3, seed=2, joints=kind.letter).rows]
    robot = lw.Robot.from_dh(rows, convention="standard", name=f"three-{kind.name}")
    q, qd, qdd, _ = states(robot)
    bound = max(1e-12, 4.0 * conditioned(robot, q))
    tau, inertia = ID(robot, q, qd, qdd), lw.inertia_matrix(robot, q)
    for method in lw.methods(FD):
        assert relative(FD(robot, q, qd, tau, method=method), qdd) < bound, method
    for method in lw.methods(lw.inverse_inertia_matrix):
        assert relative(lw.inverse_inertia_matrix(robot, q, method=method) @ inertia, np.eye(3)) < bound, method


def test_kinds_are_told_apart_by_letters_and_by_colours_of_their_own() -> None:
    for key in ("letter", "colour"):
        assert len({getattr(kind, key) for kind in EVERY.values()}) == len(EVERY)
    for kind in EVERY.values():
        assert re.fullmatch("#[0-9a-f]{6}", kind.colour), kind.name
        assert kind.colour != Joint.colour, kind.name


def test_entries_of_dh_rows_that_a_joint_moves_are_those_along_and_about_which_it_moves() -> None:
    for kind in EVERY.values():
        if not kind.on_z:
            assert not kind.dh_variables, kind.name
            continue
        joints = [joint(**dict.fromkeys(own_numbers(joint), 0.3)) for joint in kind.links]
        moved = {key for joint in joints for key, moves in (("theta", joint.turns), ("b", joint.slides)) if moves}
        assert set(kind.dh_variables) <= moved, kind.name
        assert kind.dh_variables, kind.name


@pytest.mark.parametrize("kind", SINGLE, ids=lambda kind: kind.name)
def test_a_joint_in_another_unit_of_length_moves_its_link_as_far(kind: JointKind) -> None:
    """Lengths in mm: `angular` says which coordinates, `lengths` which powers of it the joint's own numbers become."""
    (joint,), k, q = kind.links, 1000.0, 0.7
    units = own_numbers(joint)
    metres, millimetres = joint(**dict.fromkeys(units, 0.3)), joint(**{x: 0.3 * k ** units[x].lengths for x in units})
    there, same = metres.motion(q), millimetres.motion(q if joint.angular else k * q)
    assert relative(same.rotation.rows, there.rotation.rows) < 1e-14
    assert relative([*same.translation], [k * x for x in there.translation]) < 1e-14
    for unit in units.values():
        above, _, below = unit.unit.partition("/")
        powers = [sum(int(power or 1) for power in re.findall(r"\bm(\d*)\b", part)) for part in (above, below)]
        assert unit.lengths == powers[0] - powers[1]


def test_drives_have_the_power_of_their_torque() -> None:
    for joint in link_joints():
        made = joint(**dict.fromkeys(own_numbers(joint), 0.3))
        assert power(made.axis, made.drive(2.0)) == pytest.approx(2.0)


def test_every_number_of_every_kind_of_joint_is_visited_and_replaced() -> None:
    for kind in link_joints():
        names = [entry.name for entry in fields(kind) if entry.name != "limits"]
        values = {name: 10.0 + k for k, name in enumerate(names)}
        link, seen = empty_link(kind(**values)), []

        def double(x, seen=seen):
            seen.append(x)
            return 2.0 * x

        doubled = NumberMap(double).link(link).joint
        assert set(values.values()) <= set(seen)
        assert set(values.values()) <= set(numbers_of(link))
        assert {name: getattr(doubled, name) for name in names} == {name: 2.0 * x for name, x in values.items()}


def test_kinds_that_cannot_be_told_apart_are_refused() -> None:
    """A name and a letter of its own, which no other kind has; and numbers that are no entries of other rows."""

    def made(**own: object) -> type[Joint]:
        return type("Made", (Revolute,), own)

    for own, *facts in (
        ({"kind": "made"}, "letter", "missing"),
        ({"letter": "M"}, "kind", "missing"),
        ({"kind": "made", "letter": "Ma"}, "letter", "'Ma'"),
        ({"kind": "made", "letter": ""}, "letter", "''"),
        ({"kind": "made", "letter": "P"}, "letter 'P'"),
        ({"kind": "screw", "letter": "M"}, "'screw'"),
    ):
        with raises(TypeError, "Made", *facts):
            kinds_by_name(*EVERY.values(), JointKind.of(made(**own)))
    for name in ("ratio", "mass", "d"):
        number = field(default=0.0, metadata=in_unit("m", "metres", lengths=1))
        numbered = dataclass(frozen=True)(made(**{name: number, "__annotations__": {name: float}}))
        with pytest.raises(TypeError, match=f"Made: {name}"):
            refuse_taken_names([numbered])


def test_a_field_of_a_joint_that_is_no_number_is_refused() -> None:
    @dataclass(frozen=True)
    class Toothed(Screw):
        teeth: tuple[float, ...] = ()

    with raises(TypeError, "Toothed", "teeth"):
        list(numbers_of(empty_link(Toothed())))


def test_a_number_without_a_unit_is_refused() -> None:
    @dataclass(frozen=True)
    class Bare(Joint):
        teeth: float = 12.0

    with raises(TypeError, "Bare", "teeth", "unit", "field(default=0.0, metadata=in_unit(...))"):
        own_numbers(Bare)
