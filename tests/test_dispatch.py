"""Which calls run compiled: modes of threads, forks, kept kernels, and when compiling pays."""

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import linkwise as lw
from linkwise.edge import kernels
from linkwise.simulate.sweep_work import plain_text

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
