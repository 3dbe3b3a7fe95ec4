"""Calls that a CUDA graph captures, and what may happen while somebody captures one.

A graph writes to the memory of the call whenever it is launched, so this has to live as long. Freeing, allocating and
loading end captures, of all threads, unless the thread tells the driver that it knows. `fake_cuda` counts such calls;
with a GPU, graphs of torch and CuPy are made.
"""

import gc
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import linkwise as lw
from cuda_calls import ARM, STATES
from facts import raises
from fake_arrays import Stream, fake_arrays
from fake_cuda import FakeLibrary
from linkwise.errors import CudaError
from linkwise.simulation import rollouts
from linkwise.targets.cuda.driver import RETIRED, device
from linkwise.targets.cuda.memory import DeviceArray, PinnedArray

LENGTH: dict[str, Any] = {"steps": 5, "dt": 0.01, "target": "cuda"}
CAPTURED, OTHER = 77, 78  # streams
Make = Callable[[np.ndarray], Any]


def law(arm: Any, t: Any, q: Any, qd: Any, goal: Any) -> Any:
    return 0.1 * (goal - q)


def compiled() -> Any:
    return lw.compile(lw.rollout, ARM, torque=law, parameters={"goal": lw.Input(3)}, **LENGTH)


@pytest.fixture(params=["torch", "cupy"])
def make(request: pytest.FixtureRequest, library: FakeLibrary) -> Iterator[Make]:
    """New arrays of a library whose current stream is the one that is captured."""
    with fake_arrays(library, request.param) as function, Stream(CAPTURED):
        yield function


each = lw.per_trajectory


def kind(array: Any) -> str:
    return type(array).__module__


def test_memory_that_ends_with_the_call_is_not_captured(library: FakeLibrary, make: Make) -> None:
    """But by torch, which keeps it for the graph."""
    run, kernel = compiled(), lw.compile(lw.inverse_dynamics, ARM, target="cuda")
    q, qd, goal = map(make, STATES)
    out, tau = run(q, qd, parameters={"goal": each(goal)}), kernel(q, qd, goal)
    short, wide = make(STATES[2].astype(np.float32)), make(np.ascontiguousarray(STATES[0].T)).T
    calls: dict[str, Callable[[], Any]] = {
        "": lambda: run(q, qd, parameters={"goal": each(goal)}, out=out),
        " ": lambda: kernel(q, qd, goal, out=tau),
        "  ": lambda: kernel(q, qd, goal),  # the caller has the result
        "no qd0": lambda: run(q, parameters={"goal": each(goal)}, out=out),
        "no out": lambda: run(q, qd, parameters={"goal": each(goal)}),
        "'goal'": lambda: run(q, qd, parameters={"goal": each(short)}, out=out),
        "q0": lambda: run(wide, qd, parameters={"goal": each(goal)}, out=out),
        "q0 or qd0": lambda: run(out.q_end, qd, parameters={"goal": each(goal)}, out=out),
        "qdd": lambda: kernel(q, qd, short, out=tau),
        "contiguous": lambda: kernel(q, qd, goal, out=q),
    }
    library.capturing = {CAPTURED}
    for why, call in calls.items():
        if not why.strip() or kind(q) == "torch":
            call()
            continue
        launches = len(library.launches)
        with raises(CudaError, why, "memory", "CUDA graph"):
            call()
        assert len(library.launches) == launches
    assert library.invalidated == []


def test_parts_of_a_long_rollout_need_memory(library: FakeLibrary, make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("linkwise.targets.cuda.trajectories.THREAD", 1)
    monkeypatch.setattr("linkwise.targets.cuda.trajectories.NUMBER", 1)
    q, qd = map(make, STATES[:2])
    out = lw.rollout(ARM, q, qd, **LENGTH)
    library.capturing = {CAPTURED}
    if kind(q) == "torch":
        lw.rollout(ARM, q, qd, out=out, **LENGTH)
        return
    with raises(CudaError, "memory", "CUDA graph"):
        lw.rollout(ARM, q, qd, out=out, **LENGTH)


def test_a_captured_stream_waits_for_none_that_is_not(library: FakeLibrary, make: Make) -> None:
    """The driver would end the capture. Where the library's stream is captured, others join it."""
    kernel = lw.compile(lw.inverse_dynamics, ARM, target="cuda")
    arrays = list(map(make, STATES))
    tau = kernel(*arrays)
    library.capturing = {OTHER}
    for stream in (OTHER, Stream(OTHER)):
        with raises(CudaError, "CUDA graph", "stream"):
            kernel(*arrays, out=tau, stream=stream)
    assert library.waits == []
    library.capturing = {CAPTURED}
    kernel(*arrays, out=tau, stream=OTHER)
    assert library.waits == [(OTHER, CAPTURED)]
    library.capturing = {CAPTURED, OTHER}
    kernel(*arrays, out=tau, stream=OTHER)
    if kind(tau) == "cupy":  # an event of a capture cannot be asked for
        assert len(device(0).kept) <= 1


def test_nothing_ends_the_captures_of_others(library: FakeLibrary, monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory that is collected or allocated, kernels that are loaded or unloaded."""
    used = [lw.compile(lw.gravity_torque, ARM, target="cuda") for _ in range(RETIRED + 1)]
    for each in used:
        each(STATES[0], copy=True)
    loops = lw.compile(lw.inverse_dynamics, ARM, target="cuda", form="loops")
    loops(*STATES, copy=True)
    array, pinned = DeviceArray(device(0), (3,), "float64"), PinnedArray(device(0), (3,), "float64")
    blocks = len(library.memory)
    library.capturing = {CAPTURED}
    del used, each, loops, array, pinned
    gc.collect()
    assert len(library.memory) < blocks
    assert len(device(0).retired) > RETIRED
    found = lw.rollout(ARM, STATES[0], **LENGTH)
    lw.compile(lw.inverse_dynamics, ARM, target="cuda")(*STATES, copy=True)
    assert device(0).retired == []
    assert (library.invalidated, library.mode) == ([], 0)
    assert np.array_equal(found.q_end, lw.rollout(ARM, STATES[0], steps=5, dt=0.01).q_end)


def test_the_default_stream_is_not_used_where_a_capture_waits_for_it(library: FakeLibrary) -> None:
    library.capturing, library.blocking = {CAPTURED}, True
    there = [DeviceArray(device(0), (3,), "float64") for _ in range(3)]
    for call in (
        lambda: lw.rollout(ARM, STATES[0], **LENGTH),
        lambda: lw.simulate(ARM, STATES[0], duration=0.01, target="cuda"),
        lambda: lw.compile(lw.inverse_dynamics, ARM, target="cuda")(*there),
    ):
        with raises(CudaError, "stream", "CUDA graph"):
            call()
    assert library.launches == []
    lw.compile(lw.inverse_dynamics, ARM, target="cuda")(*STATES, copy=True)  # on streams of its own
    assert library.invalidated == []


def test_a_compiled_rollout_keeps_its_machine_code(library: FakeLibrary) -> None:
    """Graphs that captured it need that, however many others there were."""
    run, given = compiled(), {"goal": each(STATES[1])}
    before = run(STATES[0], parameters=given).q_end
    (program,) = run.solvers.values()
    module = program.code.module(0).module.value
    del program
    rollouts.compile_rollout_code.cache_clear()
    gc.collect()
    assert device(0).retired == []
    assert np.array_equal(run(STATES[0], parameters=given).q_end, before)
    assert next(iter(run.solvers.values())).code.module(0).module.value == module
    assert len(run.solvers) == 1
    run(STATES[0].astype(np.float32), parameters=given)
    assert len(run.solvers) == 2


# on a GPU


@pytest.mark.cuda
def test_a_graph_of_a_compiled_rollout_outlives_others(torch: Any) -> None:
    z, run, graph = torch.rand((1000, 3), device="cuda", dtype=torch.float64), compiled(), torch.cuda.CUDAGraph()
    out = run(z, parameters={"goal": each(z)})
    right = out.q_end.clone()
    with torch.cuda.graph(graph):
        run(z, parameters={"goal": each(z)}, out=out)
    for k in range(70 + RETIRED):
        lw.rollout(ARM, z, torque=lambda arm, t, q, qd, k=k: 0.001 * k - q, **LENGTH)
    gc.collect()
    lw.rollout(ARM, z, torque=lambda arm, t, q, qd: 99.0 - q, **LENGTH)
    out.q_end.zero_()
    graph.replay()
    torch.cuda.synchronize()
    assert torch.equal(out.q_end, right)


@pytest.mark.cuda
def test_what_is_collected_in_a_capture_does_not_end_it(torch: Any) -> None:
    z, run = torch.rand((1000, 3), device="cuda", dtype=torch.float64), compiled()
    out = run(z, parameters={"goal": each(z)})
    right = out.q_end.clone()
    chain = lw.chain(20)
    states = torch.rand((3, 5, chain.n), device="cuda", dtype=torch.float64)
    for options in ({"form": "loops"}, {"form": "rounds", "method": "parallel"}, None):
        if options is None:
            dropped: Any = DeviceArray(device(0), (10,), "float64")
        else:
            dropped = lw.compile(lw.forward_dynamics, chain, target="cuda", **options)
            dropped(*states)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            del dropped
            gc.collect()
            run(z, parameters={"goal": each(z)}, out=out)
        out.q_end.zero_()
        graph.replay()
        torch.cuda.synchronize()
        assert torch.equal(out.q_end, right)
        torch.rand(3, device="cuda")


@pytest.mark.cuda
@pytest.mark.parametrize("mode", ["global", "thread_local"])
def test_kernels_are_loaded_while_another_thread_captures(torch: Any, mode: str) -> None:
    z, run = torch.rand((1000, 3), device="cuda", dtype=torch.float64), compiled()
    out = run(z, parameters={"goal": each(z)})
    right, ended, errors = out.q_end.clone(), threading.Event(), []

    def load() -> None:
        k = 0
        while not ended.is_set():
            k += 1
            try:
                lw.rollout(ARM, np.zeros((5, 3)), torque=lambda arm, t, q, qd, k=k: 5.0 + 0.001 * k - q, **LENGTH)
            except Exception as error:
                errors.append(error)

    thread = threading.Thread(target=load)
    thread.start()
    try:
        for _ in range(60):
            torch.cuda.synchronize()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, capture_error_mode=mode):
                run(z, parameters={"goal": each(z)}, out=out)
            out.q_end.zero_()
            graph.replay()
            torch.cuda.synchronize()
            assert torch.equal(out.q_end, right)
    finally:
        ended.set()
        thread.join()
    assert errors == []


@pytest.mark.cuda
def test_a_kernel_that_runs_is_not_unloaded(torch: Any) -> None:
    """The driver waits for it."""
    z = torch.zeros((1000, 3), device="cuda", dtype=torch.float64)
    long = {**LENGTH, "steps": 300_000, "dt": 1e-5}
    right = lw.rollout(ARM, z, torque=lambda arm, t, q, qd: 0.5 - q, **long).q_end
    rollouts.compile_rollout_code.cache_clear()
    for k in range(RETIRED):
        lw.rollout(ARM, z, torque=lambda arm, t, q, qd, k=k: 0.001 * k - q, **LENGTH)
    torch.cuda.synchronize()
    found = lw.rollout(ARM, z, torque=lambda arm, t, q, qd: 0.5 - q, **long).q_end
    rollouts.compile_rollout_code.cache_clear()
    gc.collect()
    assert len(device(0).retired) >= RETIRED
    lw.rollout(ARM, z[:1], torque=lambda arm, t, q, qd: 7.0 - q, **LENGTH)
    assert device(0).retired == []
    assert torch.equal(found, right)


@pytest.mark.cuda
def test_cupy_has_no_memory_for_graphs() -> None:
    cupy = pytest.importorskip("cupy")
    run, stream = compiled(), cupy.cuda.Stream(non_blocking=True)
    with stream:
        q, qd, goal = cupy.asarray(STATES[0]), cupy.asarray(STATES[1]), cupy.asarray(STATES[2])
        out = run(q, qd, parameters={"goal": each(goal)})
        right = out.q_end.copy()
        stream.synchronize()
        stream.begin_capture()
        with raises(CudaError, "qd0", "memory"):
            run(q, parameters={"goal": each(goal)}, out=out)
        run(q, qd, parameters={"goal": each(goal)}, out=out)
        graph = stream.end_capture()
        mine = [cupy.full(shape, 7.0) for shape in 5 * [(3,), (40, 3)]]
        out.q_end.fill(0.0)
        graph.launch(stream=stream)
        stream.synchronize()
        assert cupy.array_equal(out.q_end, right)
        assert all((each == 7.0).all() for each in mine)


@pytest.mark.cuda
def test_captures_of_streams_that_wait_for_the_default_stream() -> None:
    cupy = pytest.importorskip("cupy")
    kernel, stream = lw.compile(lw.inverse_dynamics, ARM, target="cuda"), cupy.cuda.Stream()
    with stream:
        arrays = [cupy.asarray(x) for x in STATES]
        tau = kernel(*arrays)
        right = tau.copy()
        stream.synchronize()
        stream.begin_capture()
        with raises(CudaError, "stream", "CUDA graph"):
            lw.rollout(ARM, STATES[0], **LENGTH)
        kernel(*arrays, out=tau)
        graph = stream.end_capture()
        tau.fill(0.0)
        graph.launch(stream=stream)
        stream.synchronize()
        assert cupy.array_equal(tau, right)


def test_results_that_share_memory_are_refused() -> None:
    run = lw.rollout(ARM, STATES[0], steps=5, dt=0.01, every=5)
    for name, other in (("qd_end", "q_end"), ("qd", "q")):
        mixed = replace(run, **{name: getattr(run, other)})
        with raises(ValueError, f"out.{name}", f"out.{other}"):
            lw.rollout(ARM, STATES[0], steps=5, dt=0.01, every=5, out=mixed)
