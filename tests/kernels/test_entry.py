"""Calls of kernels: results over inputs, overflow, small stacks."""

import itertools
from typing import Any

import numpy as np
import pytest

import linkwise as lw
from arm_kernels import same
from effort import rest_slow
from entry_robots import CHAIN, PLANAR, compiled
from facts import raises
from processes import in_a_new_process
from robots import relative
from special_robots import BEAD, WIRE, sling

pytest.importorskip("llvmlite")
SLING = sling()
HUGE = 1e200  # finite, but its square is not


def states(robot: lw.Robot, *batch: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng([seed, *batch]).uniform(0.5, 1.0, (3, *batch, robot.n))


# results over inputs, whatever becomes of some states


def spoilt(given: np.ndarray, rows: int) -> np.ndarray:
    """Among good states one with NaN, one that is infinite, and two that overflow."""
    for k, value in ((0, np.nan), (rows // 2, np.inf), (rows - 1, HUGE), (2 % rows, -HUGE)):
        given[1, k, 0] = value
    return given


@pytest.mark.parametrize("way", ["direct", "general", "threads"])
@pytest.mark.parametrize("rows", rest_slow([1, 7, 21], [7]))
def test_results_over_inputs_are_right_beside_states_that_are_lost(rows: int, way: str) -> None:
    """Every input as `out`, and memory shifted by any number of states, before and behind."""
    made = compiled(lw.forward_dynamics, CHAIN)
    call = {"direct": made, "general": made.general, "threads": lambda *a, **k: made(*a, threads=3, **k)}[way]
    given = spoilt(states(CHAIN, rows), rows)
    with np.errstate(all="ignore"):
        expected = lw.forward_dynamics(CHAIN, *given)
    good = np.isfinite(expected).all(axis=-1)
    assert rows < 7 or (good.sum() == rows - 4)

    def right(found: np.ndarray) -> bool:
        same_rows = np.array_equal(np.isfinite(found).all(axis=-1), good)
        return same_rows and relative(found[good], expected[good]) < 1e-12

    for k in range(3):
        mine = given.copy()
        out = mine[k]
        assert call(*mine, out=out) is out
        assert right(out)
        others = [i for i in range(3) if i != k]
        assert same(mine[others], given[others])
    for k, shift in itertools.product(range(3), (-4 * rows + 1, -5, -4, -1, 1, 4, 5)):
        memory = np.full(12 * rows + 16, 7.0)
        start = 4 * rows + 8
        mine = list(given.copy())
        mine[k] = memory[start : start + 4 * rows].reshape(rows, 4)
        mine[k][...] = given[k]
        out = memory[start + shift : start + shift + 4 * rows].reshape(rows, 4)
        call(*mine, out=out)
        assert right(out)


def test_one_state_over_its_inputs_when_it_is_lost() -> None:
    made = compiled(lw.forward_dynamics, CHAIN)
    for value, k in itertools.product((HUGE, np.nan, 0.7), range(3)):
        given = states(CHAIN)
        given[1, 0] = value
        with np.errstate(all="ignore"):
            expected = lw.forward_dynamics(CHAIN, *given)
        for call in (made, made.general):
            mine = given.copy()
            call(*mine, out=mine[k])
            assert np.array_equal(np.isfinite(mine[k]), np.isfinite(expected))
            assert not np.isfinite(expected).all() or relative(mine[k], expected) < 1e-12


@pytest.mark.parametrize("batch", [(), (3,), (21,)])
def test_a_singular_state_over_its_inputs_is_named_and_leaves_them(batch: tuple[int, ...]) -> None:
    made = compiled(lw.forward_dynamics, SLING, method="articulated")
    given = states(SLING, *batch)
    given[(0, *(b - 1 for b in batch), 1)] = 0.0
    for call, k in itertools.product((made, made.general), range(3)):
        mine = given.copy()
        with raises(lw.errors.SingularError, "link1"):
            call(*mine, out=mine[k])
        assert same(mine, given)


def test_results_over_inputs_above_the_entrys_limit() -> None:
    made = compiled(lw.forward_dynamics, SLING, method="articulated")
    rows = made.interface.at_once + 3
    given = states(SLING, rows)
    expected = made(*given)
    given[1, 5] = HUGE
    for k in range(3):
        mine = given.copy()
        made(*mine, out=mine[k])
        assert not np.isfinite(mine[k][5]).all()
        assert same(np.delete(mine[k], 5, 0), np.delete(expected, 5, 0))


@pytest.mark.parametrize("batch", [(), (9,)])
def test_one_of_several_results_over_an_input(batch: tuple[int, ...]) -> None:
    """The function divides, so that the first state is lost."""

    def both(arm: Any, q: Any, qd: Any) -> Any:
        return 1.0 / q, q * qd[::-1]

    made = compiled(both, PLANAR)
    q, qd = states(PLANAR, *batch)[:2]
    q[(*(0 for _ in batch), 0)] = 0.0
    with np.errstate(all="ignore"):
        expected = 1.0 / q, q * qd[..., ::-1]
    for call, which, over in itertools.product((made, made.general), range(2), range(2)):
        mine = [q.copy(), qd.copy()]
        out = [np.empty_like(q), np.empty_like(q)]
        out[which] = mine[over]
        out = tuple(out)
        assert call(*mine, out=out) is out
        assert same(out[0], expected[0])
        assert same(out[1], expected[1])
    for call in (made, made.general):
        memory = np.zeros((*batch, 5))
        with raises(ValueError, "out[0]", "out[1]"):
            call(q, qd, out=(memory[..., :3], memory[..., 2:]))
        shared = np.zeros((*batch, 3))
        with raises(ValueError, "out[0]", "out[1]"):
            call(q, qd, out=(shared, shared))
        apart = np.zeros((*batch, 2, 3))
        assert call(q, qd, out=(apart[..., 0, :], apart[..., 1, :])) is not None
        assert same(apart[..., 1, :], expected[1])


# what overflows is not singular


def modes() -> list[Any]:
    """The same call in every way there is: plain, compiled, and a kernel in hand, entered directly and generally."""

    def public(mode: str) -> Any:
        def call(robot: lw.Robot, *given: Any, **options: Any) -> Any:
            with lw.use_kernels(mode):
                lw.forward_dynamics(robot, *(np.ones_like(a) for a in given), **options)  # so that the entry is there
                return lw.forward_dynamics(robot, *given, **options)

        return call

    def in_hand(robot: lw.Robot, *given: Any, **options: Any) -> Any:
        return compiled(lw.forward_dynamics, robot, **options)(*given)

    def in_general(robot: lw.Robot, *given: Any, **options: Any) -> Any:
        return compiled(lw.forward_dynamics, robot, **options).general(*given)

    return [public("never"), public("always"), in_hand, in_general]


@pytest.mark.parametrize("method", rest_slow([None, "denoc", "articulated", "composite-udu"], [None, "articulated"]))
def test_a_state_that_overflows_is_no_error_and_leaves_the_others(method: str | None) -> None:
    """Huge angles' rates, and a huge way of a prismatic joint, which makes the inertia matrix itself overflow."""
    options = {} if method is None else {"method": method}
    for call in modes():
        for which, where in ((1, 0), (0, 2), (2, 1)):
            given = states(CHAIN, 21)
            clean = call(CHAIN, *given, **options)
            given[which, 13, where] = 1.7e308 if which == 2 else HUGE
            found = call(CHAIN, *given, **options)
            assert relative(np.delete(found, 13, 0), np.delete(clean, 13, 0)) < 1e-13
            single = call(CHAIN, *given[:, 13], **options)
            assert np.isfinite(single).all() == np.isfinite(found[13]).all()
            assert which == 2 or not np.isfinite(single).all()


@pytest.mark.parametrize("lost", [1, 30, 5000])
def test_a_singular_state_is_named_behind_any_number_that_overflow(lost: int) -> None:
    given = states(SLING, lost + 3)
    given[1, :lost] = HUGE
    single = given[:, lost + 1]
    single[0, 1] = 0.0
    for call in modes():
        for arrays, where in ((given, rf" in state \[{lost + 1}\] "), (single, r" \(articulated inertia 0\)")):
            with pytest.raises(
                lw.errors.SingularError, match=f"^robot 'sling', joint of link 'link1': nothing .*{where}"
            ) as e:
                call(SLING, *arrays, method="articulated")
            assert e.value.state == ((lost + 1,) if where.startswith(" in") else ())
        shaped = given[:, 1:].reshape(3, 1, lost + 2, 2)
        with pytest.raises(lw.errors.SingularError, match=rf"in state \[0, {lost}\] "):
            call(SLING, *shaped, method="articulated")
        given[0, lost + 1, 1] = np.nan  # then it is the number's fault
        assert np.isnan(call(SLING, *given, method="articulated")[lost + 1]).all()
        given[0, lost + 1, 1] = 0.0


def test_a_function_of_ones_own_names_the_singular_state() -> None:
    def twice(arm: Any, q: Any, qd: Any, tau: Any) -> Any:
        return 2.0 * lw.forward_dynamics(arm, q, qd, tau, method="articulated")

    given = states(SLING, 40)
    given[1, :30] = HUGE
    found = compiled(twice, SLING)(*given)
    assert np.isfinite(found[30:]).all()
    given[0, 35, 1] = 0.0
    with raises(lw.errors.SingularError, "link 'link1'", "state [35]"):
        compiled(twice, SLING)(*given)


def test_inertias_of_very_different_size_are_not_singular() -> None:
    """A heavy carriage far out beside a small wrist: one pivot is 1e-20 of the largest entry of the matrix."""
    heavy = {**BEAD, "mass": 1e12, "alpha": "90 deg"}
    wrist = {**WIRE, "mass": 1e-8, "inertia": 1e-10 * np.eye(3)}
    robot = lw.Robot.from_dh([WIRE, heavy, wrist], convention="standard")
    given = states(robot, 5)
    given[1, 2] = HUGE
    for call in modes():
        found = call(robot, *given, method="articulated")
        assert not np.isfinite(found[2]).all()
        assert np.isfinite(np.delete(found, 2, 0)).all()


def test_the_reason_is_looked_for_link_by_link_and_not_in_the_whole_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a chain of ten thousand links the inertia matrix would take hours."""
    monkeypatch.setattr("linkwise.dynamics.composite.inertia_matrix", None)
    robot = lw.chain(70)
    given = np.zeros((3, 2, 70))
    given[1, 1] = HUGE
    found = compiled(lw.forward_dynamics, robot)(*given)
    assert np.isfinite(found[0]).all()
    assert not np.isfinite(found[1]).all()


# stacks


def test_large_results_need_no_large_stack() -> None:
    """In a thread of 128 kB: very many results, few and many of them distinct; fewer that are written otherwise."""
    text = """
    import threading, numpy as np, linkwise as lw

    def cube(arm, q):
        return q[:, None, None] * q[None, :, None] * q

    made = [
        (lw.compile(lambda arm, q: np.tile(q, 5000), lw.chain(3)), lambda q: np.tile(q, 5000)),
        (lw.compile(cube, lw.chain(9)), lambda q: q[..., None, None] * q[..., None, :, None] * q[..., None, None, :]),
        (lw.compile(lambda arm, q: (np.outer(q, q), q[0] / q), lw.chain(21)), lambda q: q[..., None] * q[..., None, :]),
    ]
    done = []

    def work():
        for kernel, plain in made:
            for rows in ((), (1,), (3,), (19,)):
                q = np.random.default_rng(0).uniform(1.0, 2.0, (*rows, kernel.robot.n))
                for call in (kernel, kernel.general):
                    found = call(q)
                    found = found[0] if isinstance(found, tuple) else found
                    assert np.allclose(found, plain(q), rtol=1e-14, atol=0.0)
                done.append(rows)

    threading.stack_size(128 * 1024)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    print(len(done))
    """
    assert in_a_new_process(text).strip() == "12"
