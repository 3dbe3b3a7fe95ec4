"""Which calls run compiled: modes of threads, forks, kept kernels, and when compiling pays."""

import os
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwise as lw
from effort import rest_slow
from linkwise.api.compiling import spec_of
from linkwise.kernels import cache
from linkwise.kernels import dispatch as kernels
from linkwise.kernels import spec as specs
from linkwise.kernels.compiler import Compiled
from linkwise.kernels.lock import LOCK
from linkwise.lazy import cached_property
from linkwise.targets.cpu import image
from processes import in_a_new_process

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
    """Whether a single state is handed to a kernel here and now: if so, it is not by plain Python."""
    before = len(kernels.KERNELS)
    lw.gravity_torque(robot, np.ones(robot.n))
    return len(kernels.KERNELS) > before


# the mode belongs to a context


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


def test_threads_in_blocks_that_overlap_leave_each_other_alone() -> None:
    arm, q = lw.chain(1, seed=502), np.ones(1)
    with lw.use_kernels("always"):
        lw.gravity_torque(arm, q)  # from here on, calls enter the kernel directly
    turns = [threading.Event() for _ in range(3)]
    seen: list[str] = []

    def first() -> None:
        with lw.use_kernels("never"):
            seen.append(kernels.MODE.get())
            turns[0].set()
            assert turns[1].wait(60)
        turns[2].set()

    def second() -> None:
        assert turns[0].wait(60)
        with lw.use_kernels("never"):
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
    monkeypatch.setitem(arm.cache, "gravity_torque", lambda q: "compiled")
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


# a fork while another thread compiles

FORKS = """
    import os, signal, sys, threading, time, warnings
    import numpy as np, linkwise as lw
    from linkwise.targets.cpu import host

    warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 and later: forks and threads
    lw.use_kernels("always")
    started, done = threading.Event(), threading.Event()
    emit = host.object_code

    def slowly(*arguments):
        started.set()
        return emit(*arguments)

    host.object_code = slowly

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
    for _ in range(2):
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


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.parametrize(("name", "module"), [("simulate", "linkwise.ode.methods"), ("load", "numpy")])
def test_a_fork_while_another_thread_loads_a_module_gives_a_child_that_loads_it(name: str, module: str) -> None:
    text = f"""
    import os, signal, sys, threading, time, warnings
    import linkwise as lw

    warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 and later: forks and threads
    begun, find = threading.Event(), sys.meta_path[-1].find_spec

    class Slow:
        def find_spec(self, name, path=None, target=None):
            if name == "{module}":
                begun.set()
                time.sleep(0.3)

    sys.meta_path.insert(0, Slow())
    worker = threading.Thread(target=lambda: lw.{name})
    worker.start()
    assert begun.wait(60)
    child = os.fork()
    if child == 0:
        lw.{name}
        os._exit(0)
    worker.join()
    for _ in range(600):
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            break
        time.sleep(0.05)
    else:
        os.kill(child, signal.SIGKILL)
    print(ended == child and status == 0)
    """
    assert in_a_new_process(text).strip() == "True"


def test_no_lock_is_held_while_an_attribute_of_a_robot_is_computed() -> None:
    """Python 3.11 holds one for all robots: another thread, or the child of a fork, would wait."""
    arm, other = lw.chain(2, seed=21), lw.chain(2, seed=22)
    computing, go_on = threading.Event(), threading.Event()
    attribute = cached_property(lambda robot: (computing.set(), go_on.wait(60)) if robot is arm else None)
    attribute.__set_name__(lw.Robot, "slow")
    worker = threading.Thread(target=attribute.__get__, args=(arm, lw.Robot))
    worker.start()
    try:
        assert computing.wait(60)
        assert in_a_thread(lambda: attribute.__get__(other, lw.Robot)) is None
    finally:
        go_on.set()
        worker.join()
    assert arm.__dict__["slow"] == (None, True)
    assert all(type(vars(lw.Robot)[name]) is cached_property for name in ("fingerprint", "_hash", "non_floats"))


WAYS = {"call": "lw.inertia_matrix(arm, np.ones(3))", "compile": "lw.compile(lw.gravity_torque, arm)"}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks are POSIX's")
@pytest.mark.parametrize("way", rest_slow(list(WAYS), ["call"]))
def test_a_fork_while_another_thread_compiles_gives_a_child_that_compiles(way: str) -> None:
    assert in_a_new_process(FORKS.replace("WAY", WAYS[way])).strip() == "[True, True]"


# kernels at hand run from the first call on, others when the plain calls have cost what compiling costs


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own for one test."""
    monkeypatch.setenv("LINKWISE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock on which a call takes as long as is written here."""
    seconds, now = [0.0], [0.0]

    def tick() -> float:
        now[0] += seconds[0]
        return now[0]

    monkeypatch.setattr(kernels, "clock", tick)
    return seconds


def forget() -> None:
    """As in a new process."""
    kernels.KERNELS.clear()


def kernel_of(robot: lw.Robot) -> Any:
    """Of gravity torques, as this robot's calls use it; None if they run plain Python."""
    found = [kernel for key, kernel in robot.cache.items() if isinstance(kernel, Compiled)]
    return found[0] if found else None


@pytest.mark.parametrize("seconds", [0.01, 0.1, 1.0])
def test_a_function_is_compiled_when_its_plain_calls_have_cost_as_much(
    seconds: float, clock: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernels, "expected_seconds", lambda function, n: 0.35)
    arm, q, calls = lw.chain(2, seed=int(600 + 10 * seconds)), np.ones(2), 0
    clock[0] = seconds
    with lw.use_kernels("auto"):
        while kernel_of(arm) is None:
            lw.gravity_torque(arm, q)
            calls += 1
    assert (calls - 2) * seconds < 0.35 <= (calls - 1) * seconds


def test_what_compiling_took_is_expected_again(clock: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "SECONDS_PER_LINK", {})
    monkeypatch.setattr(kernels, "llvm_is_loaded", lambda: True)
    clock[0] = 7.0
    with lw.use_kernels("always"):
        lw.gravity_torque(lw.chain(2, seed=620), np.ones(2))
    per_link = kernels.SECONDS_PER_LINK[lw.gravity_torque]
    assert per_link >= 3.5
    assert kernels.expected_seconds(lw.gravity_torque, 6) == 6 * per_link
    other = kernels.expected_seconds(lw.inertia_matrix, 6)
    assert 0 < other < 6 * 3.5
    monkeypatch.setattr(kernels, "llvm_is_loaded", lambda: False)
    assert kernels.expected_seconds(lw.inertia_matrix, 6) > other


@pytest.mark.skipif(not image.supported(), reason="kept code is loaded without LLVM only from images")
@pytest.mark.parametrize("wrench", [None, "tip", "all"])
def test_a_kept_kernel_runs_from_the_first_call_on(wrench: str | None, folder: Path) -> None:
    arm = lw.chain(2, seed=630, joints="RP")
    given = {"wrench": np.ones({"tip": (6,), "all": (2, 6)}[wrench])} if wrench else {}
    q, qd, qdd = np.random.default_rng(0).normal(size=(3, 2))
    with lw.use_kernels("auto"):
        lw.inverse_dynamics(arm, q, qd, qdd, **given)
        assert kernel_of(arm) is None  # nothing is kept yet
    with lw.use_kernels("always"):
        made = lw.inverse_dynamics(arm, q, qd, qdd, **given)
    for twin in (replace(arm), None, replace(arm)):
        if twin is None:
            forget()  # the first finds it in this process, the second in the folder
            continue
        with lw.use_kernels("auto"):
            assert np.array_equal(lw.inverse_dynamics(twin, q, qd, qdd, **given), made)
        assert kernel_of(twin) is not None
    assert kernel_of(twin).from_cache


def test_a_kernel_that_is_not_kept_is_looked_for_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lw.compile(lw.gravity_torque, lw.chain(1, seed=640))  # so that the processor is known
    looked: list[str] = []
    load = cache.load
    monkeypatch.setattr(cache, "load", lambda key: looked.append(key) or load(key))
    traced: list[Any] = []
    monkeypatch.setattr(specs, "trace", lambda *_, **__: traced.append(1))
    monkeypatch.setattr(kernels, "expected_seconds", lambda function, n: 1e9)
    arm = lw.chain(2, seed=641)
    with lw.use_kernels("auto"):
        for _ in range(3):
            lw.gravity_torque(arm, np.ones(2))
    assert len(looked) == 1
    assert not traced


def test_code_that_is_too_long_does_not_run_though_it_is_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arm = lw.chain(2, seed=650)
    lw.compile(lw.inertia_matrix, arm, form="straight")
    for limit in ("MAX_AT_ONCE", "MAX_STRAIGHT_OPERATIONS", "MAX_WITHOUT_LOOPS"):
        monkeypatch.setattr(specs, limit, 1)
    with lw.use_kernels("auto"):
        lw.inertia_matrix(arm, np.ones(2))
    assert kernel_of(arm) is None


def test_the_look_waits_for_no_other_thread(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "expected_seconds", lambda function, n: 1e9)
    arm, twin = lw.chain(1, seed=660), lw.chain(1, seed=660)
    lw.compile(lw.gravity_torque, arm, method="newton-euler")

    def call() -> bool:
        lw.use_kernels("auto")
        lw.gravity_torque(twin, np.ones(1), method="newton-euler")
        return kernel_of(twin) is not None

    with LOCK:
        assert not in_a_thread(call)
    assert in_a_thread(call)


# straight-line code or loops


COUPLED = lw.Robot.from_frames(
    [
        row | ({"coupled_to": "link1", "ratio": 0.5} if k == 2 else {})
        for k, row in enumerate(lw.random_tree(3, seed=680).rows)
    ],
    name="coupled",
)


@pytest.mark.parametrize("states", [(), (256,)], ids=["counted", "batch"])
def test_what_has_no_form_with_loops_is_compiled_though_it_is_longer_than_loops_may_be(
    states: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    for limit in ("MAX_AT_ONCE", "MAX_STRAIGHT_OPERATIONS"):
        monkeypatch.setattr(specs, limit, 1)
    monkeypatch.setattr(kernels, "expected_seconds", lambda function, n: 0.0)
    friction = lw.Friction(viscous=np.arange(1.0, 4.0))  # numbers for each joint are in no table of loops
    for robot, options in ((COUPLED, {}), (lw.random_tree(3, seed=681), {"friction": friction})):
        given = np.ones((3, *states, robot.n))
        with lw.use_kernels("never"):
            plain = lw.forward_dynamics(robot, *given, **options)
        with lw.use_kernels("auto"):
            for _ in range(2):  # the first call may be the one that is counted
                assert np.allclose(lw.forward_dynamics(robot, *given, **options), plain, rtol=1e-10, atol=1e-10)
        kernel = kernel_of(robot)
        assert kernel is not None
        assert kernel.links is None


def test_straight_line_code_up_to_a_length_and_beyond_it_where_loops_take_more(monkeypatch: pytest.MonkeyPatch) -> None:
    dense, sparse = lw.chain(8, seed=682), lw.load("planar3")

    def straight(robot: lw.Robot) -> bool:
        return spec_of(lw.inverse_dynamics, robot, "float64", {}).straight

    assert straight(dense)
    assert straight(sparse)
    monkeypatch.setattr(specs, "MAX_AT_ONCE", 10)
    assert not straight(dense)
    assert straight(sparse)
    monkeypatch.setattr(specs, "MAX_STRAIGHT_OPERATIONS", 20)
    assert not straight(sparse)


def test_humanoids_are_straight_line_code() -> None:
    assert spec_of(lw.forward_dynamics, lw.load("g1"), "float64", {}).straight
