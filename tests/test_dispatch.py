"""Which calls run compiled: modes of threads, forks, kept kernels, and when compiling pays."""

import os
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import linkwise as lw
from linkwise.edge import kernels
from linkwise.simulate.sweep_work import plain_text
from test_kernel_calls import in_a_new_process

pytest.importorskip("llvmlite")


def in_a_thread(function: Callable[[], Any]) -> Any:
    """What the function gives, or raises, in a thread of its own."""
    found: list[Any] = []

    def run() -> None:
        try:
            found.append(function())
        except BaseException as error:
            found.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(60)
    assert found, "the thread did not end"
    if isinstance(found[0], BaseException):
        raise found[0]
    return found[0]


def runs_compiled(robot: lw.Robot) -> bool:
    """Whether a single state is handed to a kernel here and now: if so, it is not by the plain text."""
    before = len(kernels.KERNELS)
    lw.gravity_torque(robot, np.ones(robot.n))
    return len(kernels.KERNELS) > before


# line 8: the mode belongs to a context


def test_the_mode_of_a_thread_is_its_own() -> None:
    usual = in_a_thread(kernels.MODE.get)
    with lw.use_kernels("always"):
        assert in_a_thread(kernels.MODE.get) == usual  # new threads begin with the default

        def never() -> str:
            lw.use_kernels("never")
            return kernels.MODE.get()

        assert in_a_thread(never) == "never"
        assert kernels.MODE.get() == "always"
        assert runs_compiled(lw.chain(1, seed=501))


@pytest.mark.parametrize("rule", [lambda: lw.use_kernels("never"), plain_text], ids=["use_kernels", "sweep"])
def test_threads_in_blocks_that_overlap_leave_each_other_alone(rule: Callable[[], Any]) -> None:
    arm, q = lw.chain(1, seed=502), np.ones(1)
    with lw.use_kernels("always"):
        lw.gravity_torque(arm, q)  # from here on, calls enter the kernel directly
    turns = [threading.Event() for _ in range(3)]
    seen: list[str] = []

    def first() -> None:
        with rule():
            seen.append(kernels.MODE.get())
            turns[0].set()
            assert turns[1].wait(60)
        turns[2].set()

    def second() -> None:
        assert turns[0].wait(60)
        with rule():
            turns[1].set()
            assert turns[2].wait(60)
            seen.append(kernels.MODE.get())
        seen.append(kernels.MODE.get())

    with lw.use_kernels("always"):
        usual = in_a_thread(kernels.MODE.get)
        one = threading.Thread(target=first)
        one.start()
        in_a_thread(second)
        one.join(60)
        assert kernels.MODE.get() == "always"
    assert seen == ["never", "never", usual]


def test_never_is_seen_by_the_direct_way_in(monkeypatch: pytest.MonkeyPatch) -> None:
    arm, q = lw.chain(1, seed=503), np.ones(1)
    with lw.use_kernels("always"):
        lw.gravity_torque(arm, q)
    monkeypatch.setitem(arm.shelf, "gravity_torque", lambda q: "compiled")
    for mode, expected in (("always", True), ("auto", True), ("never", False)):
        with lw.use_kernels(mode):
            assert isinstance(lw.gravity_torque(arm, q), str) == expected


def test_a_mode_may_be_entered_again() -> None:
    with lw.use_kernels("auto"):
        rule = lw.use_kernels("always")
        for _ in range(2):
            with rule:
                assert kernels.MODE.get() == "always"
            assert kernels.MODE.get() == "auto"


# line 13: a fork while another thread compiles

FORKS = """
    import os, signal, sys, threading, time, warnings
    import numpy as np, linkwise as lw
    from linkwise.compile import machine

    warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 and later: forks and threads
    lw.use_kernels("always")
    started, done = threading.Event(), threading.Event()
    emit = machine.object_code

    def slowly(*arguments):
        started.set()
        return emit(*arguments)

    machine.object_code = slowly

    def compile_again_and_again():
        lw.use_kernels("always")
        for seed in range(1000):
            if done.is_set():
                return
            arm = lw.chain(3, seed=seed)
            WAY

    def in_the_child():
        done.set()
        arm = lw.chain(1, seed=5000)
        lw.inertia_matrix(arm, np.ones(1))  # both ways to a kernel, neither of which may wait for the parent's
        lw.compile(lw.gravity_torque, arm)(np.ones(1))

    def ends_well(child):
        for _ in range(600):
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                return status == 0
            time.sleep(0.05)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return False

    worker = threading.Thread(target=compile_again_and_again)
    worker.start()
    fine = []
    for _ in range(3):
        started.clear()
        assert started.wait(60)
        child = os.fork()
        if child == 0:
            try:
                in_the_child()
                os._exit(0)
            finally:
                os._exit(1)
        fine.append(ends_well(child))
        if not fine[-1]:
            break
    done.set()
    worker.join()
    print(fine)
"""
WAYS = {"call": "lw.inertia_matrix(arm, np.ones(3))", "compile": "lw.compile(lw.gravity_torque, arm)"}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks are POSIX's")
@pytest.mark.parametrize("way", WAYS)
def test_a_fork_while_another_thread_compiles_gives_a_child_that_compiles(way: str) -> None:
    assert in_a_new_process(FORKS.replace("WAY", WAYS[way])).strip() == "[True, True, True]"
