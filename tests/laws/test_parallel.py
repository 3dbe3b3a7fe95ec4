"""Forward dynamics in O(log n) rounds: how many rounds, and the numbers of the other methods, for every robot."""

import math
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import linkwise as lw
from effort import THOROUGH, examples, in_turn, rest_slow
from linkwise.dynamics import articulated
from linkwise.robot.walk import rounds
from linkwise.spatial import Wrench
from robots import relative

EPS = np.finfo(float).eps
POINT = [[0.0] * 3] * 3


def state(robot: lw.Robot, *batch: int, seed: int = 0) -> list[np.ndarray]:
    """q, qd, tau"""
    rng = np.random.default_rng([seed, robot.n])
    q = lw.integrate(robot, lw.neutral(robot), rng.normal(size=(*batch, robot.n)))
    return [q, *rng.normal(size=(2, *batch, robot.n))]


def row(joint: str, mass: float, **entries: Any) -> dict[str, Any]:
    return {"joint": joint, "translation": (0.3, 0.1, 0.2), "mass": mass, "com": (0, 0, 0), "inertia": POINT, **entries}


# --- rounds ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 3, 7, 8, 9, 1000, 1024, 1025])
def test_a_chain_of_n_links_takes_as_many_rounds_as_n_can_be_halved(n: int) -> None:
    assert len(list(rounds(range(-1, n - 1)))) == math.ceil(math.log2(n))


def trees() -> dict[str, list[int]]:
    rng = np.random.default_rng(0)
    n = 3000
    return {
        "star": [-1, *[0] * (n - 1)],
        "binary": [(i - 1) // 2 for i in range(n)],
        "comb": [i - 1 if i % 2 == 0 else i - 2 if i > 1 else 0 for i in range(n)],
        "random": [int(rng.integers(-1, i)) if i else -1 for i in range(n)],
        "many roots": [-1] * n,
        "deep and bushy": [int(rng.integers(max(-1, i - 4), i)) if i else -1 for i in range(n)],
    }


@in_turn(trees().items())
def test_trees_take_a_multiple_of_log_n_rounds(named: tuple[str, list[int]]) -> None:
    parents = [max(parent, -1) for parent in named[1]]
    assert len(list(rounds(parents))) <= 2 * math.log2(len(parents))


@examples(60)
@given(st.data())
def test_every_link_is_joined_once_to_what_it_hangs_on(data: Any) -> None:
    n = data.draw(st.integers(1, 40))
    parents = [-1, *(data.draw(st.integers(-1, i - 1)) for i in range(1, n))]
    members = {i: {i} for i in range(n)}
    for beside, series in rounds(parents):
        for one, leaf in beside:
            assert parents[one] == parents[leaf]
            assert not any(parents[i] in members[leaf] for i in members if i not in members[leaf])
            members[one] |= members.pop(leaf)
        assert len({i for pair in series for i in pair}) == 2 * len(series)
        for near, far in series:
            assert parents[far] in members[near]
        for near, far in series:
            members[near] |= members.pop(far)
    assert sorted(members) == [i for i in range(n) if parents[i] < 0 and i in members]
    assert all(parents[i] < 0 for i in members)


@pytest.mark.slow
@pytest.mark.parametrize("n", [8, 32])
def test_operations_that_wait_for_each_other_grow_with_the_logarithm(n: int) -> None:
    def depth(n: int, method: str) -> int:
        return int(lw.trace(lw.forward_dynamics, lw.chain(n), method=method).depth)

    assert depth(2 * n, "parallel") - depth(n, "parallel") < 300
    assert depth(2 * n, "articulated") - depth(n, "articulated") == 33 * n
    assert depth(2 * n, "parallel") < depth(2 * n, "articulated")


# --- numbers ---------------------------------------------------------------------------------------------------------

LONG = {  # made when they are needed
    "chain": lambda: lw.chain(70, seed=1),
    "prismatic and screw joints": lambda: lw.chain(65, seed=2, joints="RRPH"),
    "tree": lambda: lw.random_tree(80, seed=3),
    "joints of every kind": lambda: lw.random_tree(30, seed=4, joints="FRSUPEC"),
    "free base": lambda: lw.chain(61, seed=5).with_free_base(3.0, (0.1, 0, 0), np.eye(3)),
}


@pytest.mark.parametrize("name", rest_slow(list(LONG), ["joints of every kind"]))
def test_long_robots_have_their_links_side_by_side(name: str) -> None:
    """More than 60 links; with wrenches, in batches, in both precisions, in torch."""
    robot = LONG[name]()
    q, qd, tau = state(robot, 2)
    wrench = np.random.default_rng(1).normal(size=(2, len(robot.names), 6))
    want = lw.forward_dynamics(robot, q, qd, tau, wrench, method="articulated")
    found = lw.forward_dynamics(robot, q, qd, tau, wrench, method="parallel")
    assert relative(found, want) < 1e-12
    one = lw.forward_dynamics(robot, q[1], qd[1], tau[1], wrench[1], method="parallel")
    assert relative(one, found[1]) < 1e-13
    tip = lw.forward_dynamics(robot, q, qd, tau, method="parallel")
    assert relative(tip, lw.forward_dynamics(robot, q, qd, tau, method="articulated")) < 1e-12
    small = lw.forward_dynamics(robot, *(np.float32(x) for x in (q, qd, tau)), method="parallel")
    assert small.dtype == np.float32
    assert relative(small, tip) < 1e-3
    if not THOROUGH:
        return
    torch = pytest.importorskip("torch")
    again = lw.forward_dynamics(robot, *map(torch.tensor, (q, qd, tau)), method="parallel")
    assert relative(again.numpy(), tip) < 1e-13


def test_links_side_by_side_give_the_bits_of_links_one_by_one() -> None:
    robot = lw.chain(64, seed=1)
    q, qd, tau = state(robot)
    plain = lw.dynamics.parallel.forward_dynamics(robot, list(q), list(qd), list(tau), [Wrench.zero()] * robot.n)
    assert lw.forward_dynamics(robot, q, qd, tau, method="parallel").tolist() == [float(x) for x in plain]


def test_states_that_are_not_finite_stay_alone_in_a_batch() -> None:
    robot = lw.chain(62, seed=1)
    q, qd, tau = state(robot, 3)
    want = lw.forward_dynamics(robot, q, qd, tau, method="parallel")
    tau[1, 7] = np.inf
    found = lw.forward_dynamics(robot, q, qd, tau, method="parallel")
    assert np.isnan(found[1]).all()
    assert (found[[0, 2]] == want[[0, 2]]).all()


def exact(robot: lw.Robot, q: np.ndarray, qd: np.ndarray, tau: np.ndarray) -> list[Any]:
    """By articulated bodies, with 50 digits."""
    with mpmath.workdps(50):
        arm = robot.cast(mpmath.mpf)
        digits = [[mpmath.mpf(float(x)) for x in array] for array in (q, qd, tau)]
        digits[0] = arm.coordinates.positions(digits[0])
        return articulated.forward_dynamics(arm, *digits, [Wrench.zero()] * robot.n)


def condition(robot: lw.Robot, q: np.ndarray) -> float:
    """κ(I), from below: by power iteration with I by inverse, and with I⁻¹ by forward dynamics."""
    floating, still = robot.with_gravity((0, 0, 0)), np.zeros(robot.n)
    kappa = 1.0
    for function in (lw.inverse_dynamics, lw.forward_dynamics):
        x = np.random.default_rng(0).normal(size=robot.n)
        for _ in range(60):
            x /= np.linalg.norm(x)
            x = function(floating, q, still, x)
        kappa *= np.linalg.norm(x)
    return float(kappa)


@pytest.mark.slow
@pytest.mark.parametrize("joints", ["R", "RRP", ""])
def test_long_robots_lose_no_digits(joints: str) -> None:
    """Far less than κ(I) ε, and about as few as articulated bodies lose, one after the other."""
    robot = lw.chain(1000, seed=1, joints=joints) if joints else lw.random_tree(1000)
    q, qd, tau = state(robot)
    qd /= 10.0
    right = exact(robot, q, qd, tau)
    parallel, one_by_one = (
        error(lw.forward_dynamics(robot, q, qd, tau, method=method), right) for method in ("parallel", "articulated")
    )
    assert parallel <= 0.01 * condition(robot, q) * EPS
    assert parallel <= 10 * one_by_one


def error(found: np.ndarray, right: list[Any]) -> float:
    difference = [float(mpmath.mpf(float(x)) - y) for x, y in zip(found, right, strict=True)]
    return float(np.linalg.norm(difference) / np.linalg.norm([float(x) for x in right]))


def test_digits_do_not_get_fewer_along_a_chain() -> None:
    robot = lw.chain(64, seed=1)
    q, qd, tau = state(robot)
    assert error(lw.forward_dynamics(robot, q, qd, tau, method="parallel"), exact(robot, q, qd, tau)) < 100 * EPS


@pytest.mark.parametrize("seed", rest_slow(range(12), range(2)))
def test_heavy_and_light_links_in_any_order_lose_at_most_ten_kappa_epsilon(seed: int) -> None:
    """Masses from a milligram to a tonne."""
    rng = np.random.default_rng(seed)
    whole = lw.chain(14, seed=seed) if seed % 2 else lw.random_tree(14, seed=seed, joints="RRP")
    scales = 10.0 ** rng.uniform(-6, 3, size=14)
    rows = [
        {**old, "mass": old["mass"] * s, "inertia": np.array(old["inertia"]) * s}
        for old, s in zip(whole.rows, scales, strict=True)
    ]
    make = lw.Robot.from_frames if whole.convention == "frames" else lw.Robot.from_dh
    robot = make(rows, name="heavy and light", **({} if whole.convention == "frames" else {"convention": "standard"}))
    q, qd, tau = state(robot)
    found = lw.forward_dynamics(robot, q, qd, tau, method="parallel")
    kappa = np.linalg.cond(lw.inertia_matrix(robot, q))
    assert error(found, exact(robot, q, qd, tau)) <= 10 * kappa * EPS


WITHOUT_INERTIA = {
    "a slider on a turntable without mass": [row("revolute", 0.0), row("prismatic", 2.0, axis=(1.0, 0.0, 0.0))],
    "two arms on a carriage without mass": [
        row("prismatic", 0.0, name="carriage"),
        *(row("revolute", 1.0, parent="carriage", com=(0.2, k, 0)) for k in (0.0, 0.1)),
    ],
    "point masses on their own axes": [
        *(row("revolute", 1.0, axis=(1.0, 0.0, 0.0)), row("revolute", 1.0, axis=(0.0, 1.0, 0.0))),
        row("revolute", 1.0, com=(0.3, 0.2, 0.1)),
    ],
    "four joints without mass": [row(kind, 0.0) for kind in ("prismatic", "ball")]
    + [row("revolute", 1.0, com=(0.1, 0.2, 0.3), inertia=(np.eye(3) * 0.1).tolist())],
}


@pytest.mark.parametrize("name", WITHOUT_INERTIA)
def test_links_that_have_no_inertia_along_their_own_joints(name: str) -> None:
    robot = lw.Robot.from_frames(WITHOUT_INERTIA[name], name=name)
    q, qd, tau = state(robot, 3)
    found = lw.forward_dynamics(robot, q, qd, tau, method="parallel")
    assert relative(found, lw.forward_dynamics(robot, q, qd, tau, method="articulated")) < 1e-12


def test_robots_in_a_plane_have_fewer_than_six_axes() -> None:
    rod = {"joint": "revolute", "a": 0.1, "b": 0.0, "alpha": 0.0, "mass": 0.1, "com": (-0.05, 0, 0), "inertia": POINT}
    rope = lw.Robot.from_dh([rod] * 12, convention="standard", gravity=(0, -9.81, 0), name="rope")
    q, qd, tau = state(rope, 3)
    want = lw.forward_dynamics(rope, q, qd, tau, method="articulated")
    assert relative(lw.forward_dynamics(rope, q, qd, tau, method="parallel"), want) < 1e-11
    kernel = lw.compile(lw.forward_dynamics, rope, method="parallel")
    assert relative(kernel(q, qd, tau), want) < 1e-11
