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
from linkwise.kernels import dispatch as kernels
from linkwise.kernels import spec as specs
from linkwise.kernels.lock import LOCK
from linkwise.lazy import cached_property
from linkwise.targets.cpu import image
from processes import in_a_new_process, in_threads

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
    monkeypatch.setitem(arm.entries, "gravity_torque", lambda q: "compiled")
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
@pytest.mark.parametrize(
    ("name", "module"),
    [
        ("simulate", "linkwise.ode.methods"),
        ("load", "numpy"),
        ("control", "linkwise.control.drives"),
        ("no_such_name = hasattr(lw, 'cubic')", "linkwise.trajectories.profiles"),
    ],
)
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

    def load():
        lw.{name}

    worker = threading.Thread(target=load)
    worker.start()
    assert begun.wait(60)
    child = os.fork()
    if child == 0:
        load()
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


# what is compiled follows from what was asked for, not from clocks and files


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own for one test."""
    monkeypatch.setenv("LINKWISE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def kernels_of(robot: lw.Robot) -> list[Any]:
    """The kernels for robots of these numbers."""
    return [kernel for (identity, _), kernel in kernels.KERNELS.items() if identity == robot.fingerprint and kernel]


def calls_until_compiled(robot: lw.Robot, *batch: int) -> int:
    for calls in range(1, 1000):
        lw.gravity_torque(robot, np.ones((*batch, robot.n)))
        if kernels_of(robot):
            return calls
    raise AssertionError("never compiled")


def test_a_function_is_compiled_when_it_was_asked_for_256_states_or_64_times() -> None:
    with lw.use_kernels("auto"):
        for seed, batch, calls in ((600, (), 64), (601, (100,), 3), (602, (5, 51), 2), (603, (256,), 1)):
            assert calls_until_compiled(lw.chain(1, seed=seed), *batch) == calls


def test_robots_of_equal_numbers_are_counted_together_and_functions_options_and_dtypes_apart() -> None:
    arm, q = lw.chain(1, seed=604), np.ones((200, 1))
    with lw.use_kernels("auto"):
        lw.gravity_torque(arm, q)
        lw.potential_energy(arm, q)
        lw.gravity_torque(arm, q, method="denoc")
        lw.gravity_torque(arm, q.astype(np.float32))
        assert not kernels_of(arm)
        lw.gravity_torque(replace(arm, name="twin"), q)
        assert len(kernels_of(arm)) == 1


def test_what_was_asked_for_long_ago_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "MAX_COUNTS", 2)
    arms, q = [lw.chain(1, seed=seed) for seed in (605, 606, 607)], np.ones((200, 1))
    with lw.use_kernels("auto"):
        for arm in (*arms, arms[0], arms[0]):
            lw.gravity_torque(arm, q)
    assert [len(kernels_of(arm)) for arm in arms] == [1, 0, 0]


def test_threads_lose_no_count() -> None:
    asked = kernels.CallCount()

    def ask(k: int) -> None:
        for _ in range(2000):
            asked.add_call(3)

    in_threads(ask)
    assert (asked.calls, asked.states) == (16_000, 48_000)


def test_calls_go_on_while_another_thread_compiles() -> None:
    arm = lw.chain(1, seed=608)

    def call() -> float:
        lw.use_kernels("auto")
        return float(lw.gravity_torque(arm, np.ones(1))[0])

    with LOCK:
        assert np.isfinite(in_a_thread(call))


PROGRAM = """
    import numpy as np, linkwise as lw

    def show(*results):
        for result in results:
            print(*(np.asarray(x).tobytes().hex() for x in (result if type(result) is tuple else (result,))))

    arm, tree, wide = lw.chain(2, seed=610, joints="RP"), lw.random_tree(3, seed=611), lw.chain(61, seed=612)
    rng = np.random.default_rng(0)
    slope = lw.derivative(lw.gravity_torque, arm, "q")
    q, qd, qdd, wrench = *rng.normal(size=(3, 300, 2)), np.ones(6)
    for k in range(70):
        show(lw.inverse_dynamics(arm, q[k], qd[k], qdd[k]), lw.kinetic_energy(arm, q[k], qd[k]), slope(q[k]))
    for k in range(0, 300, 60):
        part = slice(k, k + 60)
        show(lw.forward_dynamics(arm, q[part], qd[part], qdd[part], wrench))
        show(lw.inertia_matrix(arm, q[part].astype(np.float32)), lw.inertia_matrix(arm, q[part], method="composite"))
        show(lw.inverse_dynamics_derivatives(lw.chain(2, seed=610, joints="RP"), q[part], qd[part], qdd[part]))
    show(lw.gravity_torque(wide, np.ones(61)), lw.bias_torque(tree, *np.ones((2, 256, 3))))
"""


def test_a_program_gives_the_same_bytes_at_every_call_whether_the_cache_is_cold_or_warm(folder: Path) -> None:
    places = (str(folder), str(folder), "off")
    cold, warm, without = (in_a_new_process(PROGRAM, LINKWISE_KERNELS="auto", LINKWISE_CACHE=x) for x in places)
    assert any(folder.iterdir())
    assert cold == warm == without
    plain = in_a_new_process(PROGRAM, LINKWISE_KERNELS="never", LINKWISE_CACHE="off")
    assert plain != cold  # it tells compiled results from plain ones
    assert plain.splitlines()[: 3 * 63] == cold.splitlines()[: 3 * 63]


@pytest.mark.skipif(not image.supported(), reason="kept code is loaded without LLVM only from images")
@pytest.mark.parametrize("wrench", [None, "tip", "all"])
def test_a_kept_kernel_is_loaded_without_tracing(
    wrench: str | None, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arm = lw.chain(2, seed=630, joints="RP")
    given = {"wrench": np.ones({"tip": (6,), "all": (1, 2, 6)}[wrench])} if wrench else {}
    q, qd, qdd = np.random.default_rng(0).normal(size=(3, 256, 2))
    with lw.use_kernels("auto"):
        made = lw.inverse_dynamics(arm, q, qd, qdd, **given)
        arm = replace(arm)
        kernels.KERNELS.clear()  # as in a new process
        monkeypatch.setattr(specs, "trace", lambda *_, **__: pytest.fail("traced"))
        assert np.array_equal(lw.inverse_dynamics(arm, q, qd, qdd, **given), made)
    assert kernels_of(arm)[0].from_cache


@pytest.mark.parametrize("kept", [False, True])
@pytest.mark.parametrize(("batch", "calls"), [((), 64), ((300,), 64), ((256 * 16,), 4)], ids=str)
def test_long_code_without_loops_is_counted_in_calls_also_where_it_is_kept(
    batch: tuple[int, ...], calls: int, kept: bool, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arm = lw.chain(1, seed=660)
    if kept:
        lw.compile(lw.kinetic_energy, arm)
    monkeypatch.setattr(specs, "MAX_AT_ONCE", 1)
    kernels.CALL_COUNTS.clear()
    kernels.KERNELS.clear()
    given = np.ones((2, *batch, 1))
    with lw.use_kernels("auto"):
        for _ in range(calls - 1):
            lw.kinetic_energy(arm, *given)
        assert not kernels_of(arm)
        lw.kinetic_energy(arm, *given)
        assert kernels_of(arm)[0].from_cache == kept


# straight-line code or loops


ROWS = lw.random_tree(3, seed=680).rows
COUPLED = lw.Robot.from_frames([*ROWS[:2], ROWS[2] | {"coupled_to": "link1", "ratio": 0.5}], name="coupled")


def test_what_has_no_form_with_loops_is_compiled_though_it_is_longer_than_loops_may_be(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for limit in ("MAX_AT_ONCE", "MAX_STRAIGHT_OPERATIONS"):
        monkeypatch.setattr(specs, limit, 1)
    monkeypatch.setattr(kernels, "CALLS", 2)
    friction = lw.Friction(viscous=np.arange(1.0, 4.0))  # numbers for each joint are in no table of loops
    for robot, options in ((COUPLED, {}), (lw.random_tree(3, seed=681), {"friction": friction})):
        given = np.ones((3, robot.n))
        with lw.use_kernels("never"):
            plain = lw.forward_dynamics(robot, *given, **options)
        with lw.use_kernels("auto"):
            for _ in range(2):
                assert np.allclose(lw.forward_dynamics(robot, *given, **options), plain, rtol=1e-10, atol=1e-10)
        assert [kernel.links for kernel in kernels_of(robot)] == [None]


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
