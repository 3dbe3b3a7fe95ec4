"""Kernels and memory, threads of Python, children, copies."""

import copy
import gc
import os
import pickle
import sys
import warnings
import weakref
from typing import Any

import numpy as np
import pytest

import linkwise as lw
from arm_kernels import ARM, kernel, motion, same
from facts import raises
from processes import in_a_new_process, in_threads
from robots import relative

pytestmark = pytest.mark.optimized

pytest.importorskip("llvmlite")


# memory


def resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")


@pytest.mark.skipif(sys.platform != "linux", reason="memory is counted in the way of Linux")
@pytest.mark.slow
def test_calls_keep_no_references_and_no_memory() -> None:
    made, (q, qd, qdd), many = kernel(), motion(), motion(10)
    light, out, wrong, several = kernel(lw.forward_dynamics), np.empty(3), np.ones(2), np.empty((10, 3))
    spoilt = np.full(3, 1e200)

    def round_of_calls(times: int) -> None:
        for _ in range(times):
            made(q, qd, qdd)
            made(q, qd, qdd, out=out)
            made(*many)
            made(*many, threads=1)
            made(*many, threads=1, out=several)
        for _ in range(times // 100):
            light(q, spoilt, qdd)  # not finite: the slow way
            light(q, spoilt, qdd, out=out)
            light(*np.broadcast_to(spoilt, (3, 10, 3)).copy(), out=several)
            made(q, qd, qdd=qdd)
            with raises(ValueError, "qd"):
                made(q, wrong, qdd)

    round_of_calls(500)
    gc.collect()  # what earlier tests left
    things = [q, qd, qdd, many, out, several, wrong, spoilt, made, np.ndarray, np.dtype("float64")]
    before, used = [sys.getrefcount(x) for x in things], resident()
    round_of_calls(10_000)
    gc.collect()
    assert max(abs(sys.getrefcount(x) - n) for x, n in zip(things, before, strict=True)) < 100
    assert resident() - used < 2 << 20


GARBAGE = """
    import gc, numpy as np, linkwise as lw
    arm = lw.load("planar3")
    for _ in range(6):
        made = lw.compile(lw.gravity_torque, arm)
        made(np.ones(3))
        del made
        gc.collect()
    entry = lw.compile(lw.gravity_torque, arm).__call__
    gc.collect()
    assert entry(np.ones(3)).shape == (3,)
    del entry
    gc.collect()
    lw.use_kernels("always")
    for k in range(1, 4):
        lw.gravity_torque(lw.chain(k), np.ones(k))
        lw.gravity_torque(lw.chain(k), np.ones(k))
    print("well")
"""


@pytest.mark.slow
@pytest.mark.parametrize("fill", ["2", "255"])
def test_kernels_are_collected_with_freed_memory_overwritten(fill: str) -> None:
    """The GNU C library fills what is freed: what is read after that is not what it was."""
    assert "well" in in_a_new_process(GARBAGE, PYTHONMALLOC="malloc", MALLOC_PERTURB_=fill)


def test_a_kernel_goes_when_nobody_holds_it_and_its_entry_keeps_its_code() -> None:
    made = lw.compile(lw.gravity_torque, ARM)
    q = np.array([0.1, 0.2, 0.3])
    expected, call, gone = made(q), type(made).__call__, weakref.ref(made.code)
    entry = made.entry(lambda *arrays: "otherwise")
    del made, call
    gc.collect()
    assert gone() is not None
    assert same(entry(q), expected)
    assert entry("no array") == "otherwise"
    del entry
    gc.collect()
    assert gone() is None


def test_errors_on_the_slow_way_come_through() -> None:
    def otherwise(*arrays: Any, **named: Any) -> Any:
        raise KeyError(named)

    entry = kernel().entry(otherwise)
    for _ in range(3):
        with pytest.raises(KeyError):
            entry(1, 2, 3)
        with pytest.raises(KeyError):
            entry(*motion(), out=3)
        with pytest.raises(KeyError):
            entry()


# threads of Python, children, copies


def test_eight_threads_on_one_kernel() -> None:
    made, single, batch = kernel(), motion(), motion(3000)
    expected, wrong = (made(*single), made(*batch, threads=1)), []

    def work(k: int) -> None:
        for _ in range(30):
            if not same(made(*single), expected[0]) or not same(made(*batch, threads=1 + k % 3), expected[1]):
                wrong.append(k)

    in_threads(work)
    assert not wrong


def test_several_threads_compile_at_once() -> None:
    found: dict[int, Any] = {}

    def work(k: int) -> None:
        with warnings.catch_warnings():
            found[k] = lw.compile(lw.gravity_torque, lw.chain(1 + k % 3, seed=k))(np.ones(1 + k % 3))

    in_threads(work, 6)
    for k, result in found.items():
        assert relative(result, lw.gravity_torque(lw.chain(1 + k % 3, seed=k), np.ones(1 + k % 3))) < 1e-14
    assert len(found) == 6


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_child_calls_what_its_parent_compiled() -> None:
    text = """
    import os, numpy as np, linkwise as lw
    arm = lw.load("planar3")
    made = lw.compile(lw.inverse_dynamics, arm)
    given = np.random.default_rng(0).normal(size=(3, 20_000, 3))
    expected = made(*given, threads=4)
    lw.use_kernels("always")
    tau = lw.inverse_dynamics(arm, *given[:, 0])
    child = os.fork()
    if not child:
        good = np.array_equal(made(*given, threads=4), expected) and np.array_equal(made(*given), expected)
        good = good and np.array_equal(made(*given[:, 5]), expected[5])
        good = good and np.array_equal(lw.inverse_dynamics(arm, *given[:, 0]), tau)
        good = good and np.isfinite(lw.gravity_torque(arm, given[0])).all()  # compiled here
        os._exit(0 if good else 3)
    assert os.waitpid(child, 0)[1] == 0
    assert np.array_equal(made(*given, threads=4), expected)
    print("well")
    """
    assert "well" in in_a_new_process(text)


def test_robots_with_kernels_are_copied_and_pickled_without_them() -> None:
    arm = lw.chain(3, seed=77)
    q = np.ones((300, 3))
    with lw.use_kernels("always"):
        expected = lw.gravity_torque(arm, q)
        assert arm.entries
        for twin in (pickle.loads(pickle.dumps(arm)), copy.copy(arm), copy.deepcopy(arm)):
            assert twin == arm
            assert not twin.entries
            assert same(lw.gravity_torque(twin, q), expected)


def test_kernels_are_copied_as_they_are_and_not_pickled() -> None:
    made = kernel()
    assert copy.copy(made) is made
    assert copy.deepcopy(made) is made
    with raises(TypeError, "'planar3'", "process"):
        pickle.dumps(made)
