"""Streams of calls on GPUs: nothing begins before its arrays are there, and no memory is used again too early.

The streams of `fake_cuda` are lazy here: what nobody ordered is not done, and the results are wrong. With a GPU, torch
and CuPy are tried on it, behind work that takes long.
"""

import gc
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import linkwise as lw
from cuda_calls import ARM, STATES, expected, kernel
from facts import raises
from fake_arrays import Stream, fake_arrays
from fake_cuda import FakeLibrary, Foreign, fake_driver
from linkwise.errors import CudaError
from linkwise.targets.cuda import dlpack
from linkwise.targets.cuda.driver import device
from linkwise.targets.cuda.memory import DeviceArray
from linkwise.targets.cuda.streams import wait_for_stream

OURS, THEIRS = 77, 78  # the stream of a call, and that which a library uses

Make = Callable[[np.ndarray], Any]


@pytest.fixture
def library() -> Iterator[FakeLibrary]:
    with fake_driver(lazy=True) as fake:
        fake.streams |= {OURS, THEIRS, 79}
        yield fake


@pytest.fixture(params=["torch", "cupy"])
def make(request: pytest.FixtureRequest, library: FakeLibrary) -> Iterator[Make]:
    """New arrays of a library whose current stream is not that of the call."""
    with fake_arrays(library, request.param) as function, Stream(THEIRS):
        yield function


FORMS: dict[str, Callable[[Make, np.ndarray], Any]] = {
    "as it is": lambda make, x: make(x),
    "float32": lambda make, x: make(x.astype(np.float32)),
    "transposed": lambda make, x: make(np.ascontiguousarray(x.T)).T,
    "broadcast": lambda make, x: make(x[0]),
}


@pytest.mark.parametrize("form", FORMS)
def test_inputs_are_converted_on_the_stream_of_the_call(library: FakeLibrary, make: Make, form: str) -> None:
    q = FORMS[form](make, STATES[0])
    found = kernel()(q, *map(make, STATES[1:]), stream=OURS)
    library.finish(OURS)
    numbers = {"float32": STATES[0].astype(np.float32).astype(float), "broadcast": STATES[0][0]}.get(form, STATES[0])
    assert np.array_equal(found.numbers, expected(numbers, *STATES[1:]))
    assert library.launches[-1][-1] == OURS


def test_results_are_copied_on_the_stream_of_the_call(library: FakeLibrary, make: Make) -> None:
    arrays = list(map(make, STATES))
    out = make(np.zeros((3, 40))).T
    assert kernel()(*arrays, out=out, stream=OURS) is out
    library.finish(OURS)
    assert np.array_equal(out.numbers, expected(*STATES))
    kernel()(*arrays, out=arrays[0], stream=OURS)
    library.finish(OURS)
    assert np.array_equal(arrays[0].numbers, expected(*STATES))


def test_memory_is_not_used_again_before_the_call_is_done(library: FakeLibrary, make: Make) -> None:
    """Neither that of arrays which the caller drops, nor that of arrays which the call itself makes."""
    run = kernel()
    run(*map(make, STATES), stream=79)  # a kernel is loaded at its first call
    library.finish_all()
    turned = [np.ascontiguousarray(x.T) for x in STATES]
    found = [run(*(make(x).T for x in turned), stream=OURS), run(*map(make, STATES), stream=OURS)]
    gc.collect()
    later = [make(np.full(shape, np.nan)) for shape in 6 * [(40, 3), (3, 40)]]
    library.finish(THEIRS)
    library.finish(OURS)
    for each in found:
        assert np.array_equal(each.numbers, expected(*STATES))
    run(*map(make, STATES), stream=OURS)  # lets go of what is done
    del later
    assert len(device(0).kept) <= 1


def test_without_a_stream_the_library_has_its_own(library: FakeLibrary, make: Make) -> None:
    found = kernel()(*map(make, STATES))
    assert library.launches[-1][-1] == THEIRS
    assert library.waits == []
    library.finish(THEIRS)
    assert np.array_equal(found.numbers, expected(*STATES))
    assert kernel()(*map(make, STATES), stream=np.int64(THEIRS)).shape == (40, 3)
    assert library.waits == []


@pytest.mark.parametrize("first", [OURS, THEIRS])
def test_rollouts_run_on_the_stream_that_is_asked_for(library: FakeLibrary, make: Make, first: int) -> None:
    q0, qd0 = make(STATES[0].astype(np.float32)), make(np.ascontiguousarray(STATES[1].T)).T
    law, gains = (lambda arm, t, q, qd, kd: -kd * qd), np.linspace(0.0, 0.01, 40)
    options: dict[str, Any] = {"steps": 5, "dt": 0.01, "torque": law, "dtype": "float64"}
    own = {"kd": lw.per_trajectory(make(gains))}
    run = lw.rollout(ARM, q0, qd0, target="cuda", stream=OURS, parameters=own, **options)
    del q0, qd0
    gc.collect()
    later = [make(np.full(shape, np.nan, dtype)) for shape in 2 * [(40, 3), (3, 40), (40,)] for dtype in ("f4", "f8")]
    library.finish(first)
    library.finish(OURS)
    own = {"kd": lw.per_trajectory(gains)}
    right = lw.rollout(ARM, STATES[0].astype(np.float32), STATES[1], parameters=own, **options)
    assert np.array_equal(run.q_end.numbers, right.q_end)
    assert len(later) == 12


class Late:
    """Arrays that name their streams; the numbers come when those have done what they were asked for."""

    def __init__(self, library: FakeLibrary) -> None:
        self.library = library

    def __call__(self, numbers: np.ndarray, stream: int | None) -> Foreign:
        array, late = Foreign(np.full(numbers.shape, np.nan), stream=stream), Foreign(numbers)
        self.library.copy(array.pointer, late.pointer, numbers.nbytes, stream)
        array.late = late  # type: ignore[attr-defined]
        return array


@pytest.mark.parametrize("asked", [None, OURS, 1])
def test_every_stream_that_an_array_names_is_waited_for(library: FakeLibrary, asked: int | None) -> None:
    late = Late(library)
    arrays = [late(x, stream) for x, stream in zip(STATES, (79, THEIRS, 1), strict=True)]
    out = late(np.zeros((40, 3)), 2)
    found = kernel()(*arrays, stream=asked)
    assert np.array_equal(found.copy_to_host(), expected(*STATES))
    assert kernel()(*arrays, out=out, stream=asked) is out
    library.finish(2)
    assert np.array_equal(out.numbers(), expected(*STATES))


@pytest.mark.parametrize("asked", [None, OURS])
def test_the_default_stream_is_waited_for_after_dlpack(library: FakeLibrary, asked: int | None) -> None:
    """Asked for an array without a stream, a library lets the default one wait for it."""
    late = Late(library)

    class OnlyDlpack:
        def __init__(self, numbers: np.ndarray) -> None:
            self.array = late(numbers, THEIRS)

        def __dlpack__(self) -> Any:
            wait_for_stream(device(0), 0, THEIRS)
            return dlpack.export_array(self, self.array.pointer, self.array.shape, 8, 0)

        def __dlpack_device__(self) -> tuple[int, int]:
            return dlpack.CUDA, 0

    found = kernel()(*map(OnlyDlpack, STATES), stream=asked)
    assert np.array_equal(found.copy_to_host(), expected(*STATES))


def test_arrays_of_linkwise_are_there_on_their_own_stream(library: FakeLibrary) -> None:
    there = [DeviceArray(device(0), x.shape, "float64", stream) for x, stream in zip(STATES, (79, 78, 0), strict=True)]
    for array, numbers in zip(there, STATES, strict=True):
        library.copy(array.pointer, numbers.ctypes.data, numbers.nbytes, array.stream or None)
    out = DeviceArray(device(0), (40, 3), "float64", 78)
    kernel()(*there, out=out, stream=OURS)
    assert np.array_equal(out.copy_to_host(), expected(*STATES))


def test_rollouts_wait_for_every_stream_that_an_array_names(library: FakeLibrary) -> None:
    late = Late(library)
    options: dict[str, Any] = {"steps": 5, "dt": 0.01, "target": "cuda"}
    run = lw.rollout(ARM, late(STATES[0], 79), late(STATES[1], THEIRS), **options)
    right = lw.rollout(ARM, *STATES[:2], steps=5, dt=0.01)
    assert np.array_equal(run.q_end.copy_to_host(), right.q_end)


@pytest.mark.slow
def test_what_cannot_be_captured_is_refused_before_it_begins(library: FakeLibrary) -> None:
    library.capturing = {OURS}
    chain = lw.chain(3)
    arrays = [Foreign(np.zeros(3), stream=OURS) for _ in range(3)]
    there = [DeviceArray(device(0), (3,), "float64", OURS) for _ in range(3)]
    for form, options in (("loops", {}), ("rounds", {"method": "parallel"})):
        run = lw.compile(lw.forward_dynamics, chain, target="cuda", form=form, **options)
        with raises(CudaError, form, "captured", "CUDA graph"):
            run(*there)
    with raises(CudaError, "captured"):
        run(*arrays)
    with raises(CudaError, "captured"):
        run(*there, check=True)
    with raises(CudaError, "GPU", "captured"):
        lw.rollout(chain, there[0], np.ones(3), steps=1, dt=0.1, target="cuda")
    assert library.launches == []
    assert library.waits == []


# on a GPU

MANY, LONG = 200_000, 40_000_000  # states; clock cycles that a stream is busy for, some 20 ms


def single(function: Any = lw.inverse_dynamics) -> Any:
    return lw.compile(function, ARM, target="cuda", dtype="float32")


@pytest.mark.cuda
@pytest.mark.parametrize("form", ["as it is", "float64", "transposed", "broadcast"])
def test_torch_converts_on_the_stream_of_the_call(torch: Any, form: str) -> None:
    run, stream = single(), torch.cuda.Stream()
    numbers = torch.rand((MANY, 3), device="cuda")
    right = run(numbers[:1] if form == "broadcast" else numbers, numbers, numbers)
    torch.cuda.synchronize()
    q = torch.empty_like(numbers)
    torch.cuda._sleep(LONG)
    q.copy_(numbers)
    given = {"float64": q.double, "transposed": lambda: q.T.contiguous().T, "broadcast": lambda: q[:1]}
    found = run(given.get(form, lambda: q)(), q, q, stream=stream)
    stream.synchronize()
    assert torch.equal(found, right)


@pytest.mark.cuda
def test_torch_copies_results_on_the_stream_of_the_call(torch: Any) -> None:
    run, stream = single(), torch.cuda.Stream()
    q = torch.rand((MANY, 3), device="cuda")
    right, out = run(q, q, q), torch.zeros((3, MANY), device="cuda").T
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(LONG)
    run(q, q, q, out=out, stream=stream)
    stream.synchronize()
    assert torch.equal(out, right)


@pytest.mark.cuda
@pytest.mark.parametrize("turned", [False, True])
def test_torch_does_not_reuse_memory_too_early(torch: Any, turned: bool) -> None:
    run, stream = single(), torch.cuda.Stream()
    q = torch.rand((MANY, 3), device="cuda")
    right = run(q, q, q)
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(LONG)
    found = run(*(q.T.contiguous().T if turned else q.clone() for _ in range(3)), stream=stream)
    later = [torch.full((MANY, 3), torch.nan, device="cuda") for _ in range(12)]
    torch.cuda.current_stream().synchronize()
    stream.synchronize()
    assert torch.equal(found, right)
    assert len(later) == 12


@pytest.mark.cuda
def test_rollouts_of_torch_on_a_stream(torch: Any) -> None:
    stream, options = torch.cuda.Stream(), {"steps": 20, "dt": 1e-3, "target": "cuda", "dtype": "float32"}
    q, qd = torch.rand((2, 50_000, 3), device="cuda", dtype=torch.float64)
    right = lw.rollout(ARM, q, qd, **options).q_end
    torch.cuda.synchronize()
    late = torch.empty_like(q)
    torch.cuda._sleep(LONG)
    late.copy_(q)
    run = lw.rollout(ARM, late, qd.clone(), stream=stream, **options)
    later = [torch.full_like(q, torch.nan) for _ in range(8)]
    stream.synchronize()
    assert torch.equal(run.q_end, right)
    assert len(later) == 8


@pytest.mark.cuda
@pytest.mark.parametrize("asked", [False, True])
def test_streams_that_arrays_name_on_a_gpu(torch: Any, asked: bool) -> None:
    class Named:
        def __init__(self, x: Any, stream: Any) -> None:
            self.x = x
            self.__cuda_array_interface__ = {**x.__cuda_array_interface__, "stream": stream.cuda_stream}

    run, streams = single(), [torch.cuda.Stream() for _ in range(3)]
    q = torch.rand((MANY, 3), device="cuda")
    right, late = run(q, q, q), torch.zeros_like(q)
    torch.cuda.synchronize()
    with torch.cuda.stream(streams[1]):
        torch.cuda._sleep(LONG)
        late.copy_(q)
    given = Named(q, streams[0]), Named(late, streams[1]), Named(q, streams[0])
    found = run(*given, stream=streams[2] if asked else None)
    assert np.array_equal(found.copy_to_host(), right.cpu().numpy())
    torch.cuda.synchronize()


@pytest.mark.cuda
def test_cupy_on_the_stream_of_the_call() -> None:
    cupy = pytest.importorskip("cupy")
    run, stream = single(), cupy.cuda.Stream(non_blocking=True)
    numbers = cupy.random.rand(MANY, 3)
    right, out = run(numbers, numbers, numbers), cupy.zeros((3, MANY), "float32").T
    busy = cupy.random.rand(4000, 4000)
    cupy.cuda.Device().synchronize()
    for _ in range(4):
        busy = busy @ busy / 1000  # on the current stream
    q = numbers + 0.0
    found = [run(q, q + 0.0, q.T.copy().T, stream=stream), run(q, q, q, out=out, stream=stream)]
    del q
    later = [cupy.full((MANY, 3), cupy.nan) for _ in range(12)]
    stream.synchronize()
    for each in found:
        assert cupy.array_equal(each, right)
    assert len(later) == 12


@pytest.mark.cuda
@pytest.mark.filterwarnings("ignore:The CUDA Graph is empty:UserWarning")
def test_rounds_and_loops_in_a_graph_of_torch_are_refused(torch: Any) -> None:
    """And nothing is broken afterwards: a plain kernel is captured."""
    chain, plain = lw.chain(3), single()
    x, q = (torch.rand((4, 3), device="cuda", dtype=dtype) for dtype in (torch.float64, torch.float32))
    right = plain(q, q, q)
    for form, options in (("loops", {}), ("rounds", {"method": "parallel"})):
        run = lw.compile(lw.forward_dynamics, chain, target="cuda", form=form, **options)
        run(x, x, x)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with raises(CudaError, "captured"), torch.cuda.graph(graph):
            run(x, x, x)
        torch.rand(3, device="cuda")
    graph, out = torch.cuda.CUDAGraph(), torch.zeros_like(q)
    with torch.cuda.graph(graph):
        plain(q, q, q, out=out)
    graph.replay()
    torch.cuda.synchronize()
    assert torch.equal(out, right)
