"""Loops over links in CUDA kernels: the bits are those of the CPU's loops, for any robot, batch and launch."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import linkwise as lw
import ptxas
from effort import rest_slow
from facts import raises
from fake_cuda import Foreign, fake_driver
from gpu_states import given, on_gpu
from linkwise.kernels.spec import LoopSpec
from linkwise.targets.cuda.kernel import CudaKernel
from linkwise.targets.cuda.target import CudaTarget
from robots import CHAINS, DRIVEN, TREES

pytest.importorskip("llvmlite")
ID, FD = lw.inverse_dynamics, lw.forward_dynamics
DTYPES = ["float64", "float32"]
WHERE = ptxas.command()


pytestmark = pytest.mark.usefixtures("singular_states_give_what_the_arithmetic_gives")


def made(
    function: Callable[..., Any], robot: lw.Robot, dtype: str, target: CudaTarget | None = None, **options: Any
) -> CudaKernel:
    from linkwise.api.compiling import spec_of

    target = target or CudaTarget()
    kernel = target.kernel(spec_of(function, robot, dtype, options, "loops", target=target))
    assert isinstance(kernel, CudaKernel)
    assert isinstance(kernel.spec, LoopSpec)
    return kernel


def assert_same_bits(
    function: Any, robot: lw.Robot, dtype: str, count: int = 75, target: CudaTarget | None = None, **options: Any
) -> None:
    kernel = made(function, robot, dtype, target, **options)
    arrays = given(kernel, count)
    expected = lw.compile(function, robot, form="loops", dtype=dtype, **options).general(*arrays, threads=1)
    found = kernel(*map(on_gpu, arrays)).copy_to_host()
    assert np.array_equal(found, expected, equal_nan=True)
    if count > 8:
        assert np.isnan(expected[[5, 8]]).all()


BRANCHED = lw.random_tree(7, seed=3, joints="RPS")
CASES = [
    (function, robot, dtype)
    for robot in (CHAINS[2], TREES[6], BRANCHED, lw.load("go1"), lw.load("humanoid"), lw.chain(100))
    for function in (ID, FD)
    for dtype in DTYPES
]
QUICK = [(FD, CHAINS[2], "float64")]


@pytest.mark.parametrize(
    ("function", "robot", "dtype"), rest_slow(CASES, QUICK), ids=lambda x: getattr(x, "name", None)
)
def test_the_bits_are_those_of_the_loops_of_the_cpu(
    function: Callable[..., Any], robot: lw.Robot, dtype: str, place: str
) -> None:
    assert_same_bits(function, robot, dtype)


def test_wrenches_and_friction_of_a_tree_with_ball_joints(place: str) -> None:
    """Massless links of the balls have no rows in wrenches."""
    assert_same_bits(ID, BRANCHED, "float32", 20, wrench=lw.Input(len(BRANCHED.names), 6), friction=True)


@pytest.mark.parametrize("function", rest_slow([lw.gravity_torque, lw.bias_torque], []))
def test_functions_of_fewer_arrays(function: Callable[..., Any], place: str) -> None:
    assert_same_bits(function, DRIVEN[2], "float64")


def test_threads_compute_several_states_in_turn() -> None:
    """In memory for as many threads as the GPU holds; whatever the launch, and though memory is short."""
    robot = lw.chain(20)
    with fake_driver() as library:
        for target, threads in ((CudaTarget(threads=32), 4 * 32), (CudaTarget(threads=64, blocks=2), 4 * 128)):
            assert_same_bits(lw.gravity_torque, robot, "float64", 600, target)
            assert library.launches[-1][1:3] == (threads // target.threads, target.threads)
    with fake_driver(capacity=400_000) as library:
        assert_same_bits(lw.gravity_torque, robot, "float64", 600, CudaTarget(threads=32))
        assert library.launches[-1][1] < 4


def test_a_quaternion_without_a_length_makes_its_state_nan(place: str) -> None:
    robot = lw.chain(3, joints="RS")
    kernel = made(lw.gravity_torque, robot, "float64")
    q = np.random.default_rng(0).normal(size=(6, robot.nq))
    start = robot.quaternions[0]
    q[1, start : start + 4], q[2, start : start + 4] = 0.0, (0.0, 1e-170, 0.0, 1e-165)
    q[3, start : start + 4] = 1e200
    expected = lw.compile(lw.gravity_torque, robot, form="loops").general(q)
    assert np.array_equal(kernel(on_gpu(q)).copy_to_host(), expected, equal_nan=True)
    assert np.isnan(expected).all(axis=1).tolist() == [False, True, True, True, False, False]


def test_streams_wait_for_one_another_and_numpy_arrays_go_there_and_back() -> None:
    """All launches work in the same memory."""
    robot = CHAINS[1]
    q = np.random.default_rng(0).normal(size=(9, robot.nq))
    expected = lw.compile(lw.gravity_torque, robot, form="loops")(q)
    with fake_driver() as library:
        kernel = made(lw.gravity_torque, robot, "float64")
        there = [Foreign(q, stream=k) for k in (1, 2)]
        for array in there:
            assert np.array_equal(kernel(array).copy_to_host(), expected)
        assert library.waits == [(2, 0)]
        assert np.array_equal(kernel(q, copy=True), expected)


def test_long_programs_are_loops_by_the_rule_of_the_cpu() -> None:
    """So the bits are the same without a word about the form."""
    from linkwise.api.compiling import spec_of

    for robot, straight in ((lw.chain(8), True), (lw.chain(20), True), (lw.chain(100), False)):
        here, there = (spec_of(FD, robot, "float64", {}, target=target) for target in (None, CudaTarget()))
        assert here.straight == there.straight == straight
        assert here.keywords == there.keywords


@pytest.mark.skipif(WHERE is None, reason="ptxas is not installed: pip install nvidia-cuda-nvcc")
@pytest.mark.parametrize("robot", rest_slow([CHAINS[2], BRANCHED, lw.load("g1")], [CHAINS[2]]))
def test_loops_assemble_and_hardly_spill(robot: lw.Robot) -> None:
    assert WHERE is not None
    for function in (ID, FD):
        for dtype in DTYPES:
            figures = ptxas.assembled(WHERE, made(function, robot, dtype).ptx, "sm_90")
            assert figures["registers"] <= 208
            assert figures["spilled"] <= 64


def test_memory_that_is_short_is_an_error_that_says_so() -> None:
    robot = lw.chain(100)
    with fake_driver(capacity=1 << 16):
        kernel = made(lw.gravity_torque, robot, "float64")
        with raises(MemoryError, "4,194,304 bytes", "65,536", "Imaginary GPU"):
            kernel(np.zeros((2, robot.nq)), copy=True)


def test_text_and_name_of_a_kernel() -> None:
    kernel = made(FD, CHAINS[1], "float32")
    assert "for CUDA" in repr(kernel)
    assert ".entry kernel" in kernel.ptx
    assert kernel.source == kernel.ir
