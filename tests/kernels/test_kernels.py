"""Kernels against plain Python: the same results, to the last bit among themselves, in every lane of every width."""

import ctypes
import mmap
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

import linkwise as lw
from effort import rest_slow
from facts import raises
from functions import CALLS, Call
from linkwise.api.singular import explain_non_finite
from linkwise.kernels.kernel import Compiled
from linkwise.kernels.spec import KernelSpec, LoopSpec
from linkwise.targets.cpu.host import host_target
from robots import FREE, TEXTBOOK, relative, states
from special_robots import massless_tip

pytest.importorskip("llvmlite")
PLANAR, STANFORD = lw.load("planar3"), lw.load("stanford")
CHAIN, TREE, NINE = lw.chain(3, seed=3, joints="RPR"), lw.random_tree(4, seed=5), lw.random_tree(9, seed=9)
DEFAULT = ("newton-euler", "articulated", "composite", "fewest")
FIRST = [call for call in CALLS if call.keywords.get("method") in (None, *DEFAULT)]
DTYPES = ["float64", "float32"]
SIZES = [0, 1, 2, 7, 8, 9, 15, 16, 17, 33]
every_dtype = pytest.mark.parametrize("dtype", DTYPES)
SOME = [lw.inverse_dynamics, lw.forward_dynamics, lw.inertia_matrix, lw.kinetic_energy]
some_functions = pytest.mark.parametrize("function", SOME, ids=lambda function: function.__name__)


@cache
def kernel(function: Any, robot: lw.Robot, dtype: str = "float64", loops: bool = False, **keywords: Any) -> Compiled:
    """`vector_bytes` and `fused` are for a processor other than this one."""
    here, options = host_target(), dict(keywords)
    fused = options.pop("fused", True) and here.fused
    target = replace(here, vector_bytes=options.pop("vector_bytes", here.vector_bytes), fused=fused)
    return Compiled(
        (LoopSpec if loops else KernelSpec)(function, robot, dtype, options, (), target), explain_non_finite
    )


def arrays(made: Compiled, *batch: int, seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng([seed, *batch])
    return [rng.normal(size=(*batch, *a.shape)).astype(made.interface.dtype) for a in made.interface.inputs]


def parts(result: Any) -> list[np.ndarray]:
    return list(result) if isinstance(result, tuple) else [result]


def same(one: Any, other: Any) -> bool:
    """To the last bit, whatever the bits of NaN."""
    pairs = list(zip(parts(one), parts(other), strict=True))
    kinds = all(np.shape(a) == np.shape(b) and np.asarray(a).dtype == np.asarray(b).dtype for a, b in pairs)
    return kinds and all(np.array_equal(a, b, equal_nan=True) for a, b in pairs)


def bound(robot: lw.Robot, q: np.ndarray, dtype: str, divides: bool) -> float:
    """Some units in the last place, times the condition of the inertia matrix where that is divided by."""
    kappa = np.linalg.cond(lw.inertia_matrix(robot, q.astype(float))).max() if divides else 1.0
    return float(20.0 * kappa * np.finfo(dtype).eps)


# agreement with plain Python


SECOND = (lw.inverse_dynamics_second_derivatives, lw.forward_dynamics_second_derivatives)
ON_ROBOTS = [(CHAIN, c) for c in CALLS] + [(TREE, c) for c in FIRST]
QUICK = [(robot, c) for robot, c in ON_ROBOTS if c.function in SOME[:2]]  # the others: tests/api/test_kernel_rule.py


@pytest.mark.parametrize(("robot", "call"), rest_slow(ON_ROBOTS, QUICK), ids=str)
def test_every_function_by_every_method_is_the_plain_text_to_rounding(call: Call, robot: lw.Robot) -> None:
    made = kernel(call.function, robot, **call.keywords)
    given = arrays(made, 11)
    results = parts(made(*given))
    divides = made.count.divisions > 0 or call.function is lw.coriolis_matrix
    for result, plain in zip(results, call(robot, *given), strict=True):
        assert result.shape == plain.shape
        assert result.dtype == plain.dtype
        if call.function in SECOND:  # all of a tensor may cancel to nothing but rounding
            largest = max(1.0, *(np.abs(part).max() for part in results))
            assert np.abs(result - plain).max() < bound(robot, given[0], "float64", divides) * largest
        elif call.function is lw.coriolis_matrix:  # entries may cancel to nothing but rounding
            assert np.abs(result - plain).max() < 1e-14 * max(1.0, np.abs(lw.inertia_matrix(robot, given[0])).max())
        else:
            assert relative(result, plain) < bound(robot, given[0], "float64", divides)


IN_FLOAT32 = (*SOME, lw.formulations.udu, lw.formulations.denoc_matrices)


@pytest.mark.parametrize("call", rest_slow(FIRST, [c for c in FIRST if c.function in IN_FLOAT32]), ids=str)
def test_float32_is_the_plain_text_in_float64_to_its_own_rounding(call: Call) -> None:
    made = kernel(call.function, PLANAR, "float32", **call.keywords)
    given = arrays(made, 18)
    plain = call(PLANAR, *(a.astype(float) for a in given))
    for result, exact in zip(parts(made(*given)), plain, strict=True):
        assert result.dtype == np.float32
        assert relative(result, exact) < bound(PLANAR, given[0], "float32", made.count.divisions > 0)


@pytest.mark.parametrize("name", rest_slow(lw.LIBRARY, [robot.name for robot in (*TEXTBOOK, *FREE) if robot.n <= 12]))
def test_library_robots(name: str) -> None:
    robot = lw.load(name)
    for function in (lw.inverse_dynamics, lw.forward_dynamics):
        made = kernel(function, robot)
        given = arrays(made, 9)
        allowed = bound(robot, given[0], "float64", made.count.divisions > 0)
        assert relative(made(*given), function(robot, *given)) < allowed


@every_dtype
@pytest.mark.parametrize("robot", rest_slow([CHAIN, TREE, NINE], [CHAIN]), ids=lambda robot: robot.name)
def test_loops_are_the_plain_text_to_rounding(robot: lw.Robot, dtype: str) -> None:
    for function, method in ((lw.inverse_dynamics, "newton-euler"), (lw.forward_dynamics, "articulated")):
        made = kernel(function, robot, dtype, loops=True, method=method)
        for size in (0, 1, 5, 17):
            given = arrays(made, size)
            plain = function(robot, *(a.astype(float) for a in given))
            assert relative(made(*given), plain) < 5 * bound(robot, np.ones(robot.n), dtype, True)


# widths, processors, places


ID, FD = lw.inverse_dynamics, lw.forward_dynamics
WIDE = [(STANFORD, ID), *((robot, function) for robot in (PLANAR, TREE) for function in (ID, FD))]


@pytest.mark.optimized
@pytest.mark.parametrize("dtype", rest_slow(DTYPES, ["float64"]))
@pytest.mark.parametrize(
    ("robot", "function"),
    rest_slow(WIDE, [(TREE, ID), (PLANAR, FD)]),
    ids=[f"{robot.name}-{function.__name__}" for robot, function in WIDE],
)
def test_every_width_gives_the_same_bits(robot: lw.Robot, function: Any, dtype: str) -> None:
    for fused in (True, False):
        widths = [kernel(function, robot, dtype, vector_bytes=b, fused=fused) for b in (8, 16, 32, 64)]
        given = arrays(widths[0], 19)
        found = [made(*given) for made in widths]
        single = np.stack([widths[0](*(a[i] for a in given)) for i in range(19)])
        assert all(same(single, each) for each in found)


@pytest.mark.parametrize("dtype", DTYPES)
def test_processors_without_fused_products_agree_to_rounding(dtype: str) -> None:
    made, other = (kernel(lw.inverse_dynamics, STANFORD, dtype, fused=f) for f in (True, False))
    given = arrays(made, 50)
    assert relative(made(*given), other(*given)) < 20 * np.finfo(dtype).eps


def test_the_text_is_accepted_for_the_processors_of_others() -> None:
    import llvmlite.binding as binding

    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    for triple, vector_bytes in (("aarch64-linux-gnu", 16), ("x86_64-linux-gnu", 16)):
        try:
            machine = binding.Target.from_triple(triple).create_target_machine(opt=2)
        except RuntimeError:
            pytest.skip("this LLVM makes code for its own machine only")
        for dtype in DTYPES:
            text = kernel(lw.forward_dynamics, PLANAR, dtype, vector_bytes=vector_bytes).ir
            assert len(machine.emit_object(binding.parse_assembly(re.sub(r" #[01] ", " ", text)))) > 1000


@every_dtype
@some_functions
def test_neither_the_size_of_the_batch_nor_the_place_in_it_changes_a_bit(function: Any, dtype: str) -> None:
    made = kernel(function, PLANAR, dtype)
    given = arrays(made, 40)
    alone = [made(*(a[i] for a in given)) for i in range(40)]
    for size in SIZES:
        for start in (0, 1, 6):
            found = made(*(a[start : start + size] for a in given))
            assert same(found, np.array(alone[start : start + size], dtype).reshape(np.shape(found)))


@every_dtype
@some_functions
def test_the_number_of_threads_changes_no_bit(function: Any, dtype: str) -> None:
    made = kernel(function, PLANAR, dtype)
    given = arrays(made, 4097)
    expected = made(*given, threads=1)
    for threads in (2, 3, 7, 100):
        assert same(made(*given, threads=threads), expected)
    assert same(made(*given), expected)
    assert all(same(made(*(a[i] for a in given)), expected[i]) for i in (0, 1, 1365, 2048, 4095, 4096))
    assert same(made(*(a[:3] for a in given), threads=7), expected[:3])


def test_no_thread_to_be_had_is_no_reason_to_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    made = kernel(lw.inverse_dynamics, PLANAR)
    given = arrays(made, 1000)
    expected, started = made(*given, threads=1), []
    start = __import__("threading").Thread.start

    def reluctant(thread: Any) -> None:
        if len(started) == 2:
            raise RuntimeError("can't start new thread")
        started.append(thread)
        start(thread)

    monkeypatch.setattr("threading.Thread.start", reluctant)
    assert same(made(*given, threads=7), expected)


# what is not finite


@every_dtype
@some_functions
def test_what_is_not_finite_stays_in_its_lane(function: Any, dtype: str) -> None:
    made = kernel(function, PLANAR, dtype)
    given = arrays(made, 19)
    clean = made(*given)
    for row in (0, 7, 8, 15, 18):
        for k, bad in enumerate((np.nan, np.inf, -np.inf)):
            spoilt = [a.copy() for a in given]
            spoilt[k % len(given)][row, k] = bad
            found = made(*spoilt)
            assert np.isnan(found[row]).all()
            assert same(np.delete(found, row, 0), np.delete(clean, row, 0))
            assert np.isnan(made(*(a[row] for a in spoilt))).all()


def test_a_bad_number_blanks_what_does_not_depend_on_it() -> None:
    made = lw.compile(lambda arm, q, qd: (np.ones(2), q[:1]), PLANAR)
    one, two = made(np.ones((3, 3)), np.array([[0.0, 0, 0], [0, np.nan, 0], [0, 0, np.inf]]))
    assert same(one, np.array([[1.0, 1], [np.nan] * 2, [np.nan] * 2]))
    assert same(two, np.array([[1.0], [np.nan], [np.nan]]))


def test_large_and_tiny_angles_in_one_lane_leave_the_others() -> None:
    made = kernel(lw.gravity_torque, STANFORD)
    (q,) = arrays(made, 24)
    clean = made(q)
    for row, angle in ((0, 1e300), (7, -1e6), (8, 5e-324), (23, np.finfo(float).max)):
        odd = q.copy()
        odd[row, 1] = angle
        found = made(odd)
        assert same(np.delete(found, row, 0), np.delete(clean, row, 0))
        assert relative(found[row], lw.gravity_torque(STANFORD, odd[row])) < 1e-14


# robots that cannot be accelerated


def test_a_joint_that_nothing_resists_is_named() -> None:
    light = massless_tip()
    for method in ("denoc", "articulated", "composite-udu"):
        with raises(lw.errors.SingularError, "'light'", "link 'link3'"):
            kernel(lw.forward_dynamics, light, method=method)(*np.ones((3, 3)))
    for batch in ((), (1,), (20,), (2, 3)):
        with lw.use_kernels("always"), raises(lw.errors.SingularError, "'light'", "link 'link3'"):
            lw.forward_dynamics(light, *np.ones((3, *batch, 3)))


# memory

WIDE = [(width, dtype) for width in (16, 32, 64) for dtype in DTYPES]


@pytest.fixture
def page_end() -> Iterator[Any]:
    """Arrays whose last number is the last of a page, before one that nobody may touch."""
    if sys.platform != "linux":
        pytest.skip("pages are protected here in the way of Linux")
    page, libc, held = mmap.PAGESIZE, ctypes.CDLL(None, use_errno=True), []
    protect = libc.mprotect
    protect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]

    def place(array: np.ndarray, first: bool = False) -> np.ndarray:
        pages = -(-max(array.nbytes, 1) // page) + 2
        memory = mmap.mmap(-1, pages * page)
        start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        at = page if first else (pages - 1) * page - array.nbytes
        found = np.frombuffer(memory, array.dtype, array.size, at).reshape(array.shape)
        found[...] = array
        for guard in (start, start + (pages - 1) * page):
            assert protect(guard, page, 0) == 0
        held.append((memory, start, pages))
        return found

    yield place
    for _, start, pages in held:
        protect(start, pages * page, mmap.PROT_READ | mmap.PROT_WRITE)


@pytest.mark.parametrize(("vector_bytes", "dtype"), rest_slow(WIDE, [WIDE[0], *WIDE[-2:]]))
def test_nothing_beyond_the_arrays_is_read_or_written(page_end: Any, vector_bytes: int, dtype: str) -> None:
    for function, robot in ((lw.inverse_dynamics, PLANAR), (lw.inertia_matrix, STANFORD), (lw.formulations.udu, TREE)):
        made = kernel(function, robot, dtype, vector_bytes=vector_bytes)
        for size in (0, 1, 2, 7, 8, 9, 17):
            given = arrays(made, size)
            expected = made(*given)
            for first in (False, True):
                placed = [page_end(a, first) for a in given]
                out = tuple(page_end(np.zeros_like(part), first) for part in parts(expected))
                made(*placed, out=out if len(out) > 1 else out[0], threads=1)
                assert same(out, tuple(parts(expected)))
                assert same(made(*placed), expected)
                if size == 1:
                    single = made(*(a[0] for a in placed))
                    assert same(single, tuple(p[0] for p in parts(expected)) if len(out) > 1 else expected[0])


@every_dtype
def test_loops_touch_nothing_beyond_the_arrays(page_end: Any, dtype: str) -> None:
    made = kernel(lw.inverse_dynamics, TREE, dtype, loops=True, method="newton-euler")
    for size in (0, 1, 7, 9, 17):
        given = arrays(made, size)
        expected = made(*given)
        for first in (False, True):
            out = page_end(np.zeros_like(expected), first)
            made(*(page_end(a, first) for a in given), out=out)
            assert same(out, expected)


@every_dtype
def test_results_have_no_neighbours_spoilt(dtype: str) -> None:
    made = kernel(lw.inertia_matrix, CHAIN, dtype)
    for size in SIZES:
        (q,) = arrays(made, size)
        wide = np.full((size + 2, 3, 3), 7.0, dtype)
        made(q, out=wide[1:-1])
        assert same(wide[1:-1], made(q))
        assert (wide[[0, -1]] == 7.0).all()


# columns that repeat


@every_dtype
def test_results_that_repeat_and_constants_among_them(dtype: str) -> None:
    """LLVM has stopped the process on patterns such as these, on vectors of 16 floats."""
    rng = np.random.default_rng(0)
    patterns = ["00a00", "a000a", "aa0aa", "00f000", "aaaaaa", "ecac0a1aa0fe00", "ea0edba0a100a", "0" * 17, "a" * 33]
    patterns += ["0ab1feccd" * 70]  # written by a loop
    patterns += ["".join(rng.choice(list("000abcdef1"), rng.integers(1, 19))) for _ in range(6)]

    def repeated(arm: lw.Robot, q: Any) -> tuple[Any, ...]:
        a, b, c = q
        value = {"0": 0.0, "1": 1.0, "a": a, "b": b, "c": c, "d": a * b, "e": b * c, "f": -a}
        return tuple(np.array([value[x] for x in pattern], dtype=object) for pattern in patterns)

    made = lw.compile(repeated, PLANAR, dtype=dtype)
    (q,) = arrays(made, 37)
    a, b, c = q.T
    one = np.ones_like(a)
    value = {"0": 0 * one, "1": one, "a": a, "b": b, "c": c, "d": a * b, "e": b * c, "f": -a}
    for pattern, found in zip(patterns, made(q), strict=True):
        assert same(found, np.stack([value[x] for x in pattern], -1))


def test_states_differ() -> None:
    """The laws above would hold for kernels that give one number; they do not."""
    q, qd, qdd, _ = states(PLANAR, count=20)
    assert len(np.unique(kernel(lw.inverse_dynamics, PLANAR)(q, qd, qdd))) == 60
