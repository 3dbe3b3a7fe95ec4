"""Calls with keywords enter machine code too, with the numbers and the errors of the general call."""

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import linkwise as lw
from linkwise.kernels.bridging import MAX_ENTRIES

pytest.importorskip("llvmlite")

WRENCH, POINT = np.arange(6.0), np.array([0.1, -0.2, 0.3])
BASE = lw.BaseMotion(angular_velocity=POINT, acceleration=(0.5, 0.0, -0.2))
CASES: dict[str, tuple[Callable[..., Any], str, dict[str, Any]]] = {  # function, its arrays, its keywords
    "friction": (lw.inverse_dynamics, "q v v", {"friction": True}),
    "law": (lw.forward_dynamics, "q v v", {"friction": lw.Friction(viscous=[0.1, 0.2, 0.3])}),
    "tip": (lw.inverse_dynamics, "q v v", {"wrench": WRENCH}),
    "links": (lw.forward_dynamics, "q v v", {"wrench": np.outer([1.0, 2.0, 3.0], WRENCH)}),
    "frames": (lw.inverse_dynamics, "q v v", {"wrench": {"link2": WRENCH, "link1": -WRENCH}}),
    "axes of frames": (lw.forward_dynamics, "q v v", {"axes": "frame", "wrench": {"link3": WRENCH}}),
    "jacobian of a frame": (lw.jacobian, "q", {"frame": "link2", "axes": "frame"}),
    "pose of a frame": (lw.poses, "q", {"frame": "link2"}),
    "point": (lw.inverse_dynamics, "q v v", {"point": POINT, "wrench": WRENCH}),
    "base": (lw.inverse_dynamics, "q v v", {"base": BASE}),
    "base and wrench": (lw.forward_dynamics, "q v v", {"wrench": WRENCH, "base": BASE}),
    "mass centres on a base": (lw.mass_centres, "q v v", {"base": lw.BaseMotion(velocity=POINT)}),
    "method": (lw.inertia_matrix, "q", {"method": "denoc"}),
    "all": (lw.inverse_dynamics, "q v v", {"wrench": WRENCH, "friction": True, "method": "denoc"}),
    "jacobian": (lw.jacobian, "q", {}),
    "jacobian of a point": (lw.jacobian, "q", {"link": 1, "point": [0.1, 0.2, 0.3]}),
    "poses": (lw.poses, "q", {}),
    "poses of frames": (lw.poses, "q", {"frames": ["link2", "link1"]}),
    "centre": (lw.centre_of_mass, "q", {}),
    "its velocity": (lw.centre_of_mass, "q v", {}),
    "mass centres": (lw.mass_centres, "q v v", {}),
    "step": (lw.integrate, "q v", {"dt": 0.25}),
    "no keyword": (lw.inverse_dynamics, "q v v", {"friction": False, "wrench": None, "check": False}),
}


def draw(robot: lw.Robot, names: str, batch: tuple[int, ...] = ()) -> list[np.ndarray]:
    rng = np.random.default_rng(5)
    return [
        lw.random_configuration(robot, rng, batch) if name == "q" else rng.normal(size=(*batch, robot.n))
        for name in names.split()
    ]


@pytest.mark.parametrize("case", CASES)
def test_a_call_with_keywords_has_an_entry_of_the_same_bits(case: str) -> None:
    function, names, keywords = CASES[case]
    robot = lw.chain(3, seed=77)
    arrays = draw(robot, names)
    entered: list[Any] = []
    with lw.use_kernels("always"):
        general = function(robot, *arrays, **keywords)
        assert robot.entries
        for key, entry in robot.entries.items():
            robot.entries[key] = lambda *passed, entry=entry: (entered.append(entry), entry(*passed))[1]
        for count, passed in enumerate((arrays, [array.tolist() for array in arrays])):
            again = function(robot, *passed, **keywords)
            assert len(entered) == count + 1
            for one, other in zip(np.atleast_1d(general), np.atleast_1d(again), strict=True):
                np.testing.assert_array_equal(one, other)


def test_an_entry_is_for_options_of_equal_value_and_type_only() -> None:
    robot = lw.chain(3, seed=78)
    q, qd, qdd = draw(robot, "q v v")
    laws = [True, False, lw.Friction(viscous=1.0), lw.Friction(viscous=2.0), lw.Friction(viscous=[1.0, 2.0, 3.0])]
    with lw.use_kernels("never"):
        plain = [lw.inverse_dynamics(robot, q, qd, qdd, friction=law) for law in laws]
    with lw.use_kernels("always"):
        for _ in range(2):
            for law, tau in zip(laws, plain, strict=True):
                np.testing.assert_allclose(lw.inverse_dynamics(robot, q, qd, qdd, friction=law), tau, rtol=1e-12)
        for wrong in (1, 0.0, "yes"):
            with pytest.raises(TypeError):
                lw.inverse_dynamics(robot, q, qd, qdd, friction=wrong)
        lw.jacobian(robot, q, point=(0.0, 0.0, 1.0))
        with pytest.raises(lw.errors.RobotError):
            lw.jacobian(robot, q, point=(0.0, 0.0, True))


def test_entries_keep_the_errors_of_the_general_call() -> None:
    robot = lw.chain(3, seed=79)
    q, qd, qdd = draw(robot, "q v v")
    bad: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
        ((q, qd, qdd[:2]), {"friction": True}),
        ((q, qd), {"friction": True}),
        ((q,), {"qdd": qdd, "friction": True}),
        ((q, qd, qdd), {"wrench": np.ones(5)}),
        ((q, qd, qdd, WRENCH), {"wrench": WRENCH}),
        ((q, qd, qdd), {"frictoin": True}),
        ((q, qd, [True, 0.5, "a"]), {}),
        ((q, qd, [0.0, [1.0], 0.5]), {}),
        ((q, qd, [np.nan, 0.0, 0.5]), {"check": True}),
        ((q, qd, None), {"wrench": WRENCH}),
        ((q, qd, qdd), {"point": POINT}),
        ((q, qd, qdd), {"base": lw.BaseMotion(acceleration=POINT[:2])}),
        ((q, qd, qdd), {"base": {"acceleration": POINT}}),
        ((q, qd, qdd), {"wrench": {"link2": WRENCH[:5]}}),
        ((q, qd, qdd), {"wrench": {"link2": WRENCH, "link9": WRENCH}}),
        ((q, qd, qdd[:2]), {"wrench": {"link2": WRENCH}}),
    ]

    def errors() -> list[tuple[type, str]]:
        found = []
        for arrays, keywords in bad:
            with pytest.raises(Exception) as caught:  # noqa: PT011  compared below
                lw.inverse_dynamics(robot, *arrays, **keywords)
            found.append((caught.type, str(caught.value)))
        return found

    before = errors()
    with lw.use_kernels("always"):
        for keywords in (
            {},
            {"friction": True},
            {"wrench": WRENCH},
            {"check": True},
            {"wrench": WRENCH, "point": POINT},
        ):
            lw.inverse_dynamics(robot, q, qd, qdd, **keywords)
        assert errors() == before


def test_batches_and_single_states_with_keywords_agree() -> None:
    robot = lw.chain(3, joints="RSP", seed=80)
    arrays, wrenches = draw(robot, "q v v", (40,)), np.random.default_rng(1).normal(size=(40, 3, 6))
    with lw.use_kernels("always"):
        for _ in range(2):
            together = lw.inverse_dynamics(robot, *arrays, wrench=wrenches, friction=True)
            alone = [
                lw.inverse_dynamics(robot, *row, wrench=wrench, friction=True)
                for *row, wrench in zip(*arrays, wrenches, strict=True)
            ]
            np.testing.assert_allclose(together, alone, rtol=1e-12, atol=1e-12)


def test_a_robot_keeps_a_bounded_number_of_entries() -> None:
    robot = lw.chain(1, seed=81)
    with lw.use_kernels("always"):
        lw.jacobian(robot, [0.5])
        robot.entries.update({str(k): robot.entries["jacobian"] for k in range(2 * MAX_ENTRIES)})
        lw.poses(robot, [0.5])
    assert len(robot.entries) == MAX_ENTRIES
    assert "poses" in robot.entries


def test_entries_of_wrenches_by_frame_and_of_arrays_are_kept_apart() -> None:
    robot = lw.chain(3, seed=82)
    q, qd, qdd = draw(robot, "q v v", (2,))
    tip, push = np.outer([1.0, -2.0], WRENCH), OrderedDict(link1=WRENCH, link2=-WRENCH)
    with lw.use_kernels("never"):
        plain = [lw.inverse_dynamics(robot, q, qd, qdd, wrench=w) for w in (tip, push)]
    with lw.use_kernels("always"):
        for _ in range(3):
            for w, tau in zip((tip, push), plain, strict=True):
                np.testing.assert_allclose(lw.inverse_dynamics(robot, q, qd, qdd, wrench=w), tau, rtol=1e-12)


def test_an_entry_refuses_wrenches_that_could_mean_the_tip_or_every_link() -> None:
    robot = lw.chain(3, seed=83)
    with lw.use_kernels("always"):
        for count in (5, 4):
            lw.inverse_dynamics(robot, *draw(robot, "q v v", (count,)), wrench=np.ones((count, 6)))
        with pytest.raises(ValueError, match="tip"):
            lw.inverse_dynamics(robot, *draw(robot, "q v v", (3,)), wrench=np.ones((3, 6)))


def test_options_that_are_changed_afterwards_leave_earlier_entries_as_they_are() -> None:
    robot = lw.chain(3, seed=84)
    (q,), point, fixed = draw(robot, "q"), [0.1, 0.0, 0.0], {"link3": "point"}
    still, strided = np.zeros(3), np.zeros(6)[::2]  # which entries hand to the general call
    with lw.use_kernels("always"):
        jacobian = lw.jacobian(robot, q, point=point)
        motion = lw.constrained_dynamics(robot, q, still, still, fixed=fixed)
        point[0], fixed["link2"] = 5.0, "point"
        again = lw.jacobian(robot, np.repeat(q, 2)[::2], point=[0.1, 0.0, 0.0])
        held = lw.constrained_dynamics(robot, q, still, strided, fixed={"link3": "point"})
    np.testing.assert_array_equal(again, jacobian)
    np.testing.assert_array_equal(held.qdd, motion.qdd)
