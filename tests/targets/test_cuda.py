"""Kernels for GPUs: the bits of the CPU's kernels, whatever the launch shape and the rows.

Without a GPU the text of each kernel runs on the processor (`cuda_emulation`, `fake_cuda`); with one, the same tests
run there too (`pytest -m cuda` runs these alone).
"""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import linkwise as lw
from effort import in_turn, rest_slow
from facts import raises
from gpu_states import given, on_gpu
from joint_kinds import ARM as FLYING
from linkwise.graph import Graph, Node, Port, Program
from linkwise.kernels.kernel import Compiled
from linkwise.targets.cuda.kernel import CudaKernel
from linkwise.targets.cuda.memory import DeviceArray
from linkwise.targets.cuda.target import CudaTarget
from linkwise.targets.cuda.text.kernel import depth_first, fewest_live, peak_live, shape_of
from linkwise.targets.cuda.text.rows import Place
from robots import CHAINS, TEXTBOOK, TREES

pytest.importorskip("llvmlite")
DTYPES = ["float64", "float32"]
ID, FD, M = lw.inverse_dynamics, lw.forward_dynamics, lw.inertia_matrix
STATES = 75  # two full warps, and one that is not
LIBRARY = [lw.load(name) for name in lw.LIBRARY if name not in ("gantry", "planar3", "puma560", "stanford")]
ROBOTS = [*TEXTBOOK, *CHAINS[::3], *TREES[::3], FLYING, *LIBRARY]
QUICK = [(TEXTBOOK[3], "float64"), (FLYING, "float32")]


def made(function: Callable[..., Any], robot: lw.Robot, dtype: str, target: CudaTarget | None = None) -> CudaKernel:
    from linkwise.api.compiling import spec_of

    target = target or CudaTarget()
    kernel = target.kernel(spec_of(function, robot, dtype, {}, "straight", target=target))
    assert isinstance(kernel, CudaKernel)
    return kernel


def as_tuple(results: Any) -> tuple[Any, ...]:
    return results if isinstance(results, tuple) else (results,)


def assert_same_bits(kernel: CudaKernel, expected_by: Compiled, count: int = STATES) -> None:
    arrays = given(expected_by, count)
    expected = as_tuple(expected_by.general(*arrays, threads=1))
    found = as_tuple(kernel(*map(on_gpu, arrays)))
    for x, y in zip(found, expected, strict=True):
        assert np.array_equal(x.copy_to_host(), y, equal_nan=True)
        if count > 8 and y.size:
            assert np.isnan(y.reshape(count, -1)[[5, 8]]).all()


pytestmark = pytest.mark.usefixtures("singular_states_give_what_the_arithmetic_gives")


CASES = [*QUICK, *((robot, DTYPES[k % 2]) for k, robot in enumerate(ROBOTS) if robot not in (TEXTBOOK[3], FLYING))]


@pytest.mark.parametrize(("robot", "dtype"), rest_slow(CASES, QUICK), ids=[f"{r.name}-{d}" for r, d in CASES])
def test_the_bits_are_those_of_the_cpu(robot: lw.Robot, dtype: str, place: str) -> None:
    for function in (ID, FD):
        kernel = made(function, robot, dtype)
        assert_same_bits(kernel, lw.compile(function, robot, dtype=dtype, form="straight"))


@pytest.mark.parametrize(("function", "dtype"), [(M, "float64"), (lw.formulations.udu, "float32")])
def test_results_of_many_numbers(function: Callable[..., Any], dtype: str, place: str) -> None:
    robot = TEXTBOOK[3]
    assert_same_bits(made(function, robot, dtype), lw.compile(function, robot, dtype=dtype))


@pytest.mark.slow
@pytest.mark.parametrize("dtype", DTYPES)
def test_more_results_than_shared_memory_has_room_for(dtype: str, place: str) -> None:
    robot = TREES[8]
    kernel = made(M, robot, dtype)
    assert "shared" not in kernel.ptx
    assert_same_bits(kernel, lw.compile(M, robot, dtype=dtype))


@pytest.mark.parametrize("dtype", rest_slow(DTYPES, DTYPES[:1]))
def test_any_launch_shape_gives_the_same_bits(dtype: str, place: str) -> None:
    robot = CHAINS[1]
    expected_by = lw.compile(ID, robot, dtype=dtype)
    for threads in (32, 64, 256):
        for staged in (True, False):
            kernel = made(ID, robot, dtype, CudaTarget(threads=threads, staged=staged, blocks=2, fast=threads == 32))
            assert kernel.code.threads == threads
            assert_same_bits(kernel, expected_by)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("staged", [False, True])
def test_unusual_states_are_computed_in_full(dtype: str, staged: bool, place: str) -> None:
    """Beside others, by the threads of one warp; numbers that are merely huge too."""
    robot = lw.chain(3)
    kernel = made(FD, robot, dtype, CudaTarget(staged=staged, fast=True))
    expected_by = lw.compile(FD, robot, dtype=dtype)
    arrays = [np.random.default_rng(k).normal(size=(STATES, robot.n)).astype(dtype) for k in range(3)]
    arrays[0][3, 1], arrays[0][4, 0], arrays[0][70, 2] = 3e5, np.nan, -np.inf
    huge = float(np.finfo(dtype).max) / 8.0
    for row, value in zip((10, 11, 12, 33), (huge, -huge, np.inf, np.nan), strict=True):
        arrays[1][row, 2] = arrays[2][row + 3, 1] = value
    expected = expected_by.general(*arrays, threads=1)
    found = kernel(*map(on_gpu, arrays)).copy_to_host()
    assert np.array_equal(found, expected, equal_nan=True)
    assert {4, 12, 15, 33, 36, 70} <= set(np.flatnonzero(np.isnan(found).all(axis=1)))


def reciprocal(arm: lw.Robot, q: Any) -> Any:
    return [1.0 / q[0]]


def floats_to_divide_by() -> np.ndarray:
    """All sorts of sizes, and those about the ends of what is normal."""
    exponents = np.repeat(np.arange(256, dtype=np.uint32), 64)
    last = np.random.default_rng(0).integers(0, 1 << 23, exponents.shape, dtype=np.uint32)
    last[::64], last[1::64], last[2::64] = 0, 1, (1 << 23) - 1
    sizes = (exponents << np.uint32(23)) | last
    return np.concatenate([sizes, sizes | np.uint32(1 << 31)]).view(np.float32)


def test_reciprocals_of_floats(place: str) -> None:
    x = floats_to_divide_by()[:, None]
    kernel, expected_by = made(reciprocal, CHAINS[0], "float32"), lw.compile(reciprocal, CHAINS[0], dtype="float32")
    assert "rcp.approx" in kernel.ptx
    expected = expected_by.general(x, threads=1)
    assert np.array_equal(kernel(on_gpu(x)).copy_to_host(), expected, equal_nan=True)


@pytest.mark.slow
@pytest.mark.cuda
@pytest.mark.usefixtures("gpu")
def test_reciprocals_of_all_floats_between_powers_of_two() -> None:
    """Others differ from these by a power of two, and so do their reciprocals."""
    kernel, expected_by = made(reciprocal, CHAINS[0], "float32"), lw.compile(reciprocal, CHAINS[0], dtype="float32")
    for exponent in (1, 127, 252, 253):
        x = ((np.uint32(exponent) << np.uint32(23)) | np.arange(1 << 23, dtype=np.uint32)).view(np.float32)[:, None]
        assert np.array_equal(kernel(on_gpu(x)).copy_to_host(), expected_by(x))


def test_batches_of_any_length(place: str) -> None:
    robot = CHAINS[1]
    kernel = made(ID, robot, "float32", CudaTarget(staged=True))
    expected_by = lw.compile(ID, robot, dtype="float32")
    for count in (1, 2, 31, 32, 33, 63, 64, 65):
        assert_same_bits(kernel, expected_by, count)


class Part:
    """The rows of an array from one on, or from one number on."""

    def __init__(self, whole: DeviceArray, skipped: int, shape: tuple[int, ...]) -> None:
        self.whole = whole
        pointer = whole.pointer + skipped * whole.dtype.itemsize
        self.__cuda_array_interface__ = {**whole.__cuda_array_interface__, "data": (pointer, False), "shape": shape}


@pytest.mark.parametrize("dtype", DTYPES)
def test_arrays_may_begin_anywhere(dtype: str, place: str) -> None:
    robot = CHAINS[1]
    n = robot.n
    kernel = made(ID, robot, dtype, CudaTarget(staged=True))
    expected_by = lw.compile(ID, robot, dtype=dtype)
    arrays = given(expected_by, STATES)
    expected = expected_by(*arrays)
    for skipped in (1, n):
        longer = [np.concatenate([np.zeros(skipped, dtype), x.ravel()]) for x in arrays]
        parts = [Part(on_gpu(x), skipped, (STATES, n)) for x in longer]
        assert np.array_equal(kernel(*parts).copy_to_host(), expected, equal_nan=True)


def every_operation(arm: lw.Robot, q: Any, qd: Any) -> Any:
    a, b = q[0], qd[0]
    positive = np.sqrt(a * a + 0.1)
    small = a / (1.0 + np.abs(a))
    numbers = [np.exp(-positive), np.log(positive), np.tanh(a), np.arctan2(a, b), np.arcsin(small), np.arccos(small)]
    numbers += [np.minimum(a, b), np.maximum(a, b), np.sign(b), np.where(a < b, a, -b), np.abs(b), 1.0 / positive]
    return [*numbers, np.sin(np.cos(a) + b), np.cos(3.0 * a - b), a, 2.0, b]


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_operation_of_the_graph(dtype: str, place: str) -> None:
    one = CHAINS[0]
    assert_same_bits(made(every_operation, one, dtype), lw.compile(every_operation, one, dtype=dtype))


def test_what_is_several_kernels_on_the_cpu_is_one_kernel() -> None:
    kernel = lw.compile(lw.forward_dynamics_second_derivatives, lw.load("planar3"), target="cuda")
    assert isinstance(kernel, lw.results.CudaKernel)


# the text


def test_nothing_is_left_to_fuse_for_the_driver() -> None:
    """The driver's compiler joins products and sums, unless the text says how they are rounded."""
    for dtype, size in (("float64", 64), ("float32", 32)):
        ptx = lw.ptx_source(FD, TEXTBOOK[3], dtype=dtype)
        assert f"fma.rn.f{size}" in ptx
        assert re.findall(r"\b(?:add|sub|mul|mad|div|sqrt)\.f(?:32|64)\b", ptx) == []
        estimates = set(re.findall(r"\S+\.(?:approx|ftz|full)\b\S*", ptx))
        assert estimates == ({"rcp.approx.ftz.f32"} if size == 32 else set())


def test_the_text_is_for_the_architecture_that_was_asked_for() -> None:
    arm = lw.load("gantry")
    assert ".target sm_90" in lw.ptx_source(lw.gravity_torque, arm, architecture="sm_90")
    with raises(ValueError, "architecture", "sm_30"):
        lw.ptx_source(lw.gravity_torque, arm, architecture="sm_30")
    with raises(ValueError, "dtype", "float16"):
        lw.ptx_source(lw.gravity_torque, arm, dtype="float16")


def sums(n: int, work: int) -> Program:
    """Rows of n numbers, with so many rounds of work."""
    graph = Graph()
    ports = [Port(name, (n,)) for name in "abc"]
    values = [graph.input("a", k) + graph.input("b", k) + graph.input("c", k) for k in range(n)]
    for _ in range(work):
        values = [x * x + y for x, y in zip(values, values[::-1], strict=True)]
    return Program.of(graph, ports, [Port("out", (n,))], [values])


def test_long_rows_are_staged_where_there_is_room() -> None:
    def shape(n: int, real: str, work: int = 1) -> tuple[int, bool]:
        chosen = shape_of(sums(n, work), real)
        return chosen.threads, chosen.staged

    assert [shape(n, "float") for n in (1, 5, 6, 30, 60, 64, 130)] == [
        *[(64, False)] * 2, *[(64, True)] * 3, (32, True), (64, False)
    ]  # fmt: skip
    assert [shape(n, "double") for n in (5, 6, 30, 33, 60)] == [(64, False), *[(64, True)] * 2, (32, True), (32, True)]
    assert [shape(n, "float", work=50) for n in (5, 8, 9)] == [(64, False), (64, False), (64, True)]  # more to compute
    assert [shape(n, "float", work=80) for n in (8, 12, 13)] == [(64, False), (64, False), (64, True)]  # much


def test_fast_paths_and_registers_where_they_gain() -> None:
    assert shape_of(sums(4, 1), "double").fast  # hardly anything is computed
    assert not shape_of(sums(4, 60), "double").fast
    assert [shape_of(sums(4, work), "float").fast for work in (1, 60, 400)] == [True, True, False]
    panda_like = lw.load("fr3")
    forward, inverse = (lw.trace(function, panda_like, method="fewest") for function in (FD, ID))
    assert [shape_of(forward, "float", threads).blocks for threads in (32, 64, 128)] == [28, 14, 7]
    assert [shape_of(forward, "double").blocks, shape_of(inverse, "float").blocks] == [0, 0]
    assert shape_of(forward, "float", blocks=0).blocks == 0


@in_turn([(size, wide) for size in range(1, 70) for wide in (2, 4)])
def test_rows_in_shared_memory_begin_in_different_banks(case: tuple[int, int]) -> None:
    size, wide = case
    place = Place(size, wide, 0)
    words = place.width * 4 // wide  # of 4 bytes, in a piece that is read at a time
    together = 32 // words  # threads that are served at a time
    banks = [lane * place.stride * 4 // wide % 32 for lane in range(together)]
    assert size % place.width == 0
    assert len(set(banks)) == together
    assert place.numbers % wide == 0


# the order of nodes


def values_of(order: list[Node], inputs: dict[tuple[str, int], float]) -> dict[int, float]:
    known: dict[int, float] = {}
    operations = {"add": float.__add__, "sub": float.__sub__, "mul": float.__mul__, "neg": float.__neg__}
    for node in order:
        if node.op == "const":
            known[node.index] = node.payload
        elif node.op == "input":
            known[node.index] = inputs[node.payload]
        else:
            known[node.index] = operations[node.op](*(known[x.index] for x in node.args))
    return known


def test_every_order_has_each_node_once_after_its_operands() -> None:
    program = lw.trace(ID, TREES[6])
    results = [node for flat in program.results for node in flat]
    for order in (depth_first(results), depth_first(results[::-1]), fewest_live(program, ())):
        assert sorted(node.index for node in order) == [node.index for node in program.nodes]
        seen: set[int] = set()
        for node in order:
            assert all(x.index in seen for x in node.args)
            seen.add(node.index)


def test_peak_of_live_values() -> None:
    graph = Graph()
    x = [graph.input("x", k) for k in range(4)]
    pairs = [a * a + 1.0 for a in x]
    total = pairs[0] + pairs[1] + pairs[2] + pairs[3]
    program = Program.of(graph, [Port("x", (4,))], [Port("y", ())], [[total]])
    breadth = sorted(program.nodes, key=lambda node: (node.op != "input", node.op != "mul", node.index))
    assert peak_live(breadth, (), [total]) == 5  # the inputs, and the first square
    best = fewest_live(program, ())
    assert peak_live(best, (), [total]) == 3  # the sum so far, an input and its square
    assert values_of(best, {("x", k): float(k) for k in range(4)})[total.index] == 18.0


def test_trees_are_computed_branch_by_branch() -> None:
    """That is what the choice is for: fewer values are live than in the order of the trace."""
    program = lw.trace(FD, lw.random_tree(12), method="fewest")
    results = [node for flat in program.results for node in flat]
    assert peak_live(fewest_live(program, ()), (), results) < peak_live(list(program.nodes), (), results)
