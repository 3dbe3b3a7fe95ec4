"""What is kept of robots: values outside of them, entries on them, and what robots that stand for others know."""

import copy
import gc
import pickle
import threading
import weakref
from dataclasses import fields, replace

import numpy as np
import pytest

import linkwise as lw
from linkwise.robot import PerRobot, StandIn, before_regrouping, fingerprint
from linkwise.sweeps.family import families
from processes import in_threads


def counted() -> tuple[PerRobot[str, object], list[str]]:
    made: list[str] = []

    @PerRobot
    def value(robot: lw.Robot, key: str) -> object:
        """A value."""
        made.append(f"{robot.name} {key}")
        return object()

    return value, made


def test_each_robot_object_has_values_of_its_own() -> None:
    value, made = counted()
    arm = lw.chain(2, seed=1)
    twin = replace(arm, name="twin")
    assert value(arm, "a") is value(arm, "a")
    assert value(arm, "a") is not value(arm, "b")
    assert value(arm, "a") is not value(twin, "a")
    assert made == [f"{arm.name} a", f"{arm.name} b", "twin a"]
    assert value.__doc__ == "A value."


def test_values_are_neither_copied_nor_pickled_and_keep_no_robot() -> None:
    value, made = counted()
    arm = lw.chain(2, seed=2)
    value(arm, "a")
    for other in (copy.copy(arm), copy.deepcopy(arm), pickle.loads(pickle.dumps(arm))):
        value(other, "a")
    assert len(made) == 4
    gone = weakref.ref(arm)
    del arm, other
    gc.collect()
    assert gone() is None
    value(lw.chain(1), "a")
    assert len(value._cache) == 1


def test_values_that_hold_their_robots_are_kept_for_the_last_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fingerprint, "MOST_ROBOTS", 3)
    itself = PerRobot(lambda robot: [robot])
    gone = []
    for seed in range(10):
        arm = lw.chain(1, seed=seed)
        itself(arm)
        gone.append(weakref.ref(arm))
    del arm
    gc.collect()
    assert [ref() is None for ref in gone] == [True] * 7 + [False] * 3


def test_threads_get_one_value() -> None:
    go, found = threading.Barrier(8), []

    @PerRobot
    def value(robot: lw.Robot) -> object:
        return object()

    arm = lw.chain(1)
    value(arm)

    def run(k: int) -> None:
        go.wait(60)
        found.append(value(arm))

    in_threads(run)
    assert len(found) == 8
    assert len(set(map(id, found))) == 1


def test_a_robot_holds_its_fields_entries_and_cached_properties_alone() -> None:
    arm = lw.load("planar3")
    q = np.ones((300, 3))
    lw.regressor(arm, q, q, q, base=True)
    lw.forward_dynamics_second_derivatives(arm, q[0], q[0], q[0])
    lw.equilibrium(arm, q[0])
    lw.inverse_dynamics(arm, q, q, q)
    assert all(callable(entry) for entry in arm.entries.values())
    others = vars(arm).keys() - {entry.name for entry in fields(arm)}
    assert all(name in dir(type(arm)) for name in others)


def test_members_of_a_family_know_how_they_were_regrouped() -> None:
    arms = [lw.chain(3, seed=seed, joints="RPR") for seed in (1, 2)]
    (found,) = families(arms)
    robot = found.family.robot
    assert isinstance(robot, StandIn)
    assert robot.regrouped().links is robot.known_links
    assert robot.regrouped().regrouped() is robot.regrouped()
    assert replace(robot, gravity=(0.0, 0.0, 0.0)).regrouped().links is robot.known_links
    assert replace(robot, links=robot.links[:1]).known_links is None
    again = pickle.loads(pickle.dumps(before_regrouping(arms[0].regrouped())))
    assert again.regrouped() == arms[0].regrouped()
    doubled = again.mapped(lambda x: 2.0 * x)
    assert doubled.regrouped() == arms[0].regrouped().mapped(lambda x: 2.0 * x)
    assert again.fingerprint != replace(again, regrouping=None).fingerprint
