"""Arrays on GPUs: of which libraries they are, where results go, on which stream; and what is refused, and how.

Without a GPU `fake_cuda` stands in for the driver, and arrays of a library that nobody knows for those of CuPy and
Numba. With one, the libraries that are installed are tried too.
"""

import gc
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwise as lw
from cuda_calls import ARM, STATES, expected, kernel
from facts import raises
from fake_cuda import FakeLibrary, Foreign, fake_driver
from linkwise.errors import CudaError, CudaMemoryError
from linkwise.targets.cuda import checking, dlpack, staging
from linkwise.targets.cuda.driver import device, driver
from linkwise.targets.cuda.memory import DeviceArray
from linkwise.targets.cuda.target import CudaTarget
from special_robots import sling

DRIVER = {"devices": 2}


def foreign(*arrays: np.ndarray, **options: Any) -> list[Foreign]:
    return [Foreign(x, **options) for x in arrays]


def test_arrays_of_any_library(library: FakeLibrary) -> None:
    found = kernel()(*foreign(*STATES))
    assert isinstance(found, DeviceArray)
    assert np.array_equal(found.copy_to_host(), expected(*STATES))
    named = dict(zip(("q", "qd", "qdd"), foreign(*STATES), strict=True))
    assert np.array_equal(kernel()(**named).copy_to_host(), expected(*STATES))


@pytest.mark.parametrize("batch", [(), (0,), (4, 10), (2, 2, 5, 1, 2)])
def test_batches_of_any_shape(library: FakeLibrary, batch: tuple[int, ...]) -> None:
    arrays = np.resize(STATES, (3, *batch, 3))
    found = kernel()(*foreign(*arrays))
    assert found.shape == (*batch, 3)
    assert np.array_equal(found.copy_to_host(), expected(*arrays))


def test_results_go_where_they_are_asked_to(library: FakeLibrary) -> None:
    arrays, out = foreign(*STATES), Foreign(np.zeros((40, 3)))
    assert kernel()(*arrays, out=out) is out
    assert np.array_equal(out.numbers(), expected(*STATES))
    assert kernel()(*arrays, out=arrays[1]) is arrays[1]  # through an array of its own
    assert np.array_equal(arrays[1].numbers(), expected(*STATES))
    tuples = lw.compile(lw.formulations.udu, ARM, target="cuda")
    outs = Foreign(np.zeros((40, 3, 3))), Foreign(np.zeros((40, 3)))
    assert tuples(arrays[0], out=outs) is outs
    for x, y in zip(outs, lw.compile(lw.formulations.udu, ARM)(STATES[0]), strict=True):
        assert np.array_equal(x.numbers(), y)


def test_the_stream_is_that_of_the_arrays_or_the_one_asked_for(library: FakeLibrary) -> None:
    library.streams |= {77, 78}

    class Stream:
        ptr = 78

    kernel()(*foreign(*STATES, stream=77))
    kernel()(*foreign(*STATES, stream=77), stream=78)
    kernel()(*foreign(*STATES), stream=Stream())
    kernel()(*foreign(*STATES))
    assert [stream for *_, stream in library.launches] == [77, 78, 78, 0]
    with raises(TypeError, "stream", "fast"):
        kernel()(*foreign(*STATES), stream="fast")


class OnlyDlpack:
    """An array of a library that has nothing but DLPack."""

    def __init__(self, array: np.ndarray) -> None:
        self.there = DeviceArray(device(0), array.shape, array.dtype.name).copy_from(array)

    def __dlpack__(self, **options: Any) -> Any:
        return self.there.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.there.__dlpack_device__()


def test_arrays_are_handed_over_by_dlpack(library: FakeLibrary) -> None:
    before = library.used
    found = kernel()(*map(OnlyDlpack, STATES))
    assert np.array_equal(found.copy_to_host(), expected(*STATES))
    content = dlpack.import_array(found.__dlpack__())
    assert (content.pointer, content.shape, content.strides) == (found.pointer, (40, 3), (3, 1))
    assert (content.dtype, found.__dlpack_device__()) == ("float64", (dlpack.CUDA, 0))
    pointer = found.pointer
    del found
    gc.collect()
    assert pointer in library.memory  # the other library still has it
    del content
    gc.collect()
    assert library.used == before
    DeviceArray(device(0), (3,), "float32").__dlpack__()  # nobody takes the capsule
    gc.collect()
    assert library.used == before


def test_numpy_arrays_there_and_back(library: FakeLibrary, monkeypatch: pytest.MonkeyPatch) -> None:
    for part in (staging.PART, 4 * staging.ALIGN + 10 * 96):
        monkeypatch.setattr(staging, "PART", part)
        assert np.array_equal(kernel()(*STATES, copy=True), expected(*STATES))
    assert np.array_equal(kernel()(*STATES[:, 0], copy=True), expected(*STATES[:, 0]))
    assert kernel()(*STATES[:, :0], copy=True).shape == (0, 3)
    out = np.zeros((40, 3))
    assert kernel()(STATES[0], STATES[1], [0.0, 0.0, 1.0], out=out, copy=True) is out
    assert np.array_equal(out, expected(STATES[0], STATES[1], [0.0, 0.0, 1.0]))
    assert kernel(dtype="float32")(*STATES, copy=True).dtype == np.float32
    kernel()(*STATES, copy=True, device=1)
    assert library.launches[-1][0] == 1
    for gpu in (device(0), device(1)):
        gpu.lanes.clear()
    gc.collect()
    assert library.used == 0


def test_arrays_that_are_not_as_they_should_be(library: FakeLibrary) -> None:
    arrays, out = [Foreign(x) for x in STATES], Foreign(np.zeros((40, 3)))
    out.about["data"] = (out.pointer, True)
    with raises(ValueError, "out", "written"):
        kernel()(*arrays, out=out)
    arrays[1].about["typestr"] = ">f8"
    with raises(TypeError, "qd", ">f8"):
        kernel()(*arrays)


def test_after_a_fork_the_driver_is_not_used(library: FakeLibrary) -> None:
    """A child has the parent's objects, which it must neither use nor free."""
    array = DeviceArray(device(0), (3,), "float64")
    used = library.used
    driver().process += 1
    assert "forked after it was loaded" in str(driver().error(3, "cuCtxPushCurrent"))
    del array
    gc.collect()
    assert library.used == used


def test_the_device_is_that_of_the_arrays(library: FakeLibrary) -> None:
    there = [DeviceArray(device(1), x.shape, "float64").copy_from(x) for x in STATES]
    found = kernel()(*there)
    assert found.device is device(1)
    assert np.array_equal(found.copy_to_host(), expected(*STATES))
    mixed = [there[0], *(DeviceArray(device(0), x.shape, "float64") for x in STATES[1:])]
    with raises(ValueError, "qd", "GPU 0", "q", "GPU 1"):
        kernel()(*mixed)


WRONG: dict[str, tuple[Callable[[list[Any]], Any], type[Exception], str]] = {
    "NumPy": (lambda x: kernel()(*STATES), TypeError, "q is a numpy.ndarray on the CPU .*copy=True"),
    "no GPU 7": (lambda x: kernel()(*STATES, copy=True, device=7), CudaError, "there is no GPU 7"),
    "device": (lambda x: kernel()(*STATES, copy=True, device="cuda"), TypeError, "device is 'cuda'"),
    "copy": (lambda x: kernel()(*x, copy=True), TypeError, "q is on a GPU already"),
    "option": (lambda x: kernel()(*x, threads=2), TypeError, "takes no 'threads' .expected q, qd, qdd, out, stream"),
    "a list": (lambda x: kernel()(x[0], x[1], [0.0] * 3), TypeError, "qdd is a list on the CPU"),
    "missing": (lambda x: kernel()(*x[:2]), TypeError, "inverse_dynamics was not given qdd"),
    "shape": (lambda x: kernel()(x[0], x[1], Foreign(np.zeros((40, 4)))), ValueError, r"qdd has shape \(40, 4\)"),
    "batch": (lambda x: kernel()(x[0], x[1], Foreign(np.zeros((7, 3)))), ValueError, "batch shapes do not fit"),
    "dtype": (lambda x: kernel(dtype="float32")(*x), TypeError, "float64 .*are not converted"),
    "complex": (lambda x: kernel()(Foreign(np.zeros((40, 3), complex)), *x[1:]), TypeError, "q has dtype complex128"),
    "out": (lambda x: kernel()(*x, out=Foreign(np.zeros((40, 2)))), ValueError, r"out has shape \(40, 2\)"),
    "outs": (lambda x: kernel()(*x, out=(x[0], x[1])), ValueError, "out has 2 arrays"),
    "NumPy out": (lambda x: kernel()(*x, out=np.zeros((40, 3))), TypeError, "out is a numpy.ndarray on the CPU"),
    "threads": (lambda x: kernel()(*x, threads=2), TypeError, "takes no 'threads'"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_refused(library: FakeLibrary, case: str) -> None:
    call, error, message = WRONG[case]
    with pytest.raises(error, match=message):
        call(foreign(*STATES))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("library_of", "make", "kind"), [("torch", "tensor", "torch.Tensor"), ("jax.numpy", "asarray", "jaxlib")]
)
def test_arrays_of_other_libraries_on_the_cpu_are_refused(
    library: FakeLibrary, library_of: str, make: str, kind: str
) -> None:
    with raises(TypeError, "q", kind, "CPU", "GPU"):
        kernel()(*map(getattr(pytest.importorskip(library_of), make), STATES))


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"devices": 0}, CudaError, "finds no GPU"),
        ({"version": 10020}, CudaError, "is for CUDA 10.2 .expected that of CUDA 11.0 or newer"),
        ({"capacity": 100}, CudaMemoryError, "bytes were asked for, 100 of 100 are free on Imaginary GPU"),
    ],
)
def test_what_a_machine_lacks(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with fake_driver(**options), pytest.raises(error, match=message):
        kernel()(*STATES, copy=True)


def test_a_machine_without_a_driver_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_library(name: str) -> Any:
        raise OSError(f"{name}: cannot open shared object file")

    driver.cache_clear()
    device.cache_clear()
    monkeypatch.setattr("ctypes.CDLL", no_library)
    with raises(CudaError, "CUDA driver", "lw.ptx_source"):
        kernel()(*STATES, copy=True)


def test_what_the_driver_refuses_is_said(library: FakeLibrary, monkeypatch: pytest.MonkeyPatch) -> None:
    for code, message in ((222, "older than the text"), (209, r"compute capability 8\.6"), (218, "cuModuleLoadDataEx")):
        monkeypatch.setattr(FakeLibrary, "cuModuleLoadDataEx", lambda *arguments, code=code: code)
        with pytest.raises(CudaError, match=message):
            kernel()(*STATES, copy=True)


def test_very_long_programs_without_loops_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("linkwise.targets.cuda.target.MAX_OPERATIONS", 50)
    with raises(ValueError, "62", "operations", "50"):
        lw.compile(lw.inverse_dynamics, ARM, target="cuda")
    with raises(ValueError, "target", "gpu"):
        lw.compile(lw.inverse_dynamics, ARM, target="gpu")


@pytest.mark.parametrize("form", ["straight", "loops"])
def test_singular_states_are_errors_where_that_is_asked_for(
    library: FakeLibrary, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on the CPU: the first is named; numbers that overflow, and states that are not finite, are no errors."""
    arm = sling()
    here, there = (lw.compile(lw.forward_dynamics, arm, target=target, form=form) for target in ("cpu", "cuda"))
    q, qd, tau = np.array([[0.1, 0.5], [0.2, 0.0], [0.3, 1.0]]), np.zeros((3, 2)), np.ones((3, 2))
    message = r"joint of link 'link1': nothing resists its motion in state \[1\]"
    with pytest.raises(lw.errors.SingularError, match=message):
        here(q, qd, tau)
    with pytest.raises(lw.errors.SingularError, match=message):
        there(*foreign(q, qd, tau), check=True)
    with pytest.raises(lw.errors.SingularError, match=message):
        there(q, qd, tau, copy=True, check=True)
    for found in (there(*foreign(q, qd, tau)).copy_to_host(), there(q, qd, tau, copy=True)):
        assert np.isfinite(found).all(axis=1).tolist() == [True, False, True]
    grid = [np.tile(x, (100, 1)).reshape(10, 30, 2) for x in (q, qd, tau)]
    with monkeypatch.context() as patch:  # blocks of 7 states
        patch.setattr(checking, "BLOCK", 7 * 64)
        with raises(lw.errors.SingularError, "[0, 1]"):
            there(*foreign(*grid), check=True)
        grid[0][..., 1], grid[0][7, 5, 1] = 0.5, 0.0
        grid[0][3, 3, 0] = np.nan
        library.copied.clear()
        with raises(lw.errors.SingularError, "[7, 5]"):
            there(*foreign(*grid), check=True)
        assert sum(library.copied) < 8 * 64 + 3 * 300  # one block, and marks
    q[1], qd[1, 0] = 0.5, 1e200  # squares overflow
    tau[2, 0] = np.nan
    expected = here(q, qd, tau)
    assert not np.isfinite(expected[1]).all()
    found = there(*foreign(q, qd, tau), check=True).copy_to_host()
    assert np.array_equal(found, expected, equal_nan=True)
    assert np.array_equal(there(q, qd, tau, copy=True, check=True), expected, equal_nan=True)


def test_modules_of_kernels_that_are_gone_are_unloaded(library: FakeLibrary, monkeypatch: pytest.MonkeyPatch) -> None:
    """With one that is loaded later, if there are many: not when Python ends."""
    unloaded: list[int] = []
    monkeypatch.setattr("linkwise.targets.cuda.driver.RETIRED", 2)
    monkeypatch.setattr(library, "cuModuleUnload", lambda module: unloaded.append(module) or 0)
    used = [kernel() for _ in range(3)]
    for each in used:
        assert np.array_equal(each(*STATES, copy=True), expected(*STATES))
    modules = [each.code.module(0).module.value for each in used]
    kept = used.pop(0)
    del used, each
    gc.collect()
    assert unloaded == []
    assert sorted(device(0).retired) == sorted(modules[1:])
    another = kernel()
    another(*STATES, copy=True)
    assert sorted(unloaded) == sorted(modules[1:])
    assert np.array_equal(kept(*STATES, copy=True), expected(*STATES))
    assert device(0).retired == []


def test_ptx_is_kept_in_the_cache(library: FakeLibrary, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINKWISE_CACHE", str(tmp_path))
    first, second = kernel(), kernel()
    assert (first.from_cache, second.from_cache) == (False, True)
    assert first.ptx == second.ptx
    assert np.array_equal(second(*STATES, copy=True), expected(*STATES))
    keys = {kernel(dtype=dtype).spec.key for dtype in ("float32", "float64")}
    assert len({*keys, lw.compile(lw.inverse_dynamics, ARM).spec.key}) == 3
    targets = [CudaTarget(*fields) for fields in (("sm_80",), ("sm_90",), ("sm_80", 128), ("sm_80", 64, 6))]
    assert len(set(map(repr, targets))) == 4


def test_importing_linkwise_loads_no_driver() -> None:
    code = (
        "import ctypes, sys; real = ctypes.CDLL\n"
        "def opened(name, *a, **k): print(name); return real(name, *a, **k)\n"
        "import numpy; ctypes.CDLL = opened\n"
        "import linkwise as lw; lw.inverse_dynamics(lw.load('planar3'), *[[0, 0, 0]] * 3)\n"
        "print([m for m in sys.modules if m.startswith('linkwise.targets.cuda')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[-2] == "[]"
    assert "cuda" not in done.stdout.replace("linkwise.targets.cuda", "")


# on a GPU


@pytest.mark.cuda
@pytest.mark.usefixtures("gpu")
def test_torch_tensors() -> None:
    torch = pytest.importorskip("torch")
    for dtype in ("float64", "float32"):
        run, arrays = kernel(dtype=dtype), [torch.tensor(x, dtype=getattr(torch, dtype), device="cuda") for x in STATES]
        wanted = expected(*(x.cpu().numpy() for x in arrays), dtype=dtype)
        found = run(*arrays)
        assert (type(found), found.device, str(found.dtype)) == (torch.Tensor, arrays[0].device, f"torch.{dtype}")
        assert np.array_equal(found.cpu().numpy(), wanted)
        assert np.array_equal(run(*(x.double().T.contiguous().T for x in arrays)).cpu().numpy(), wanted)
        out = torch.zeros((3, 40), dtype=arrays[0].dtype, device="cuda").T
        assert run(*arrays, out=out) is out
        assert np.array_equal(out.cpu().numpy(), wanted)
        spare = arrays[2].clone()
        assert np.array_equal(run(*arrays[:2], spare, out=spare).cpu().numpy(), wanted)
        with torch.cuda.stream(torch.cuda.Stream()):
            assert np.array_equal(run(*(1.0 * x for x in arrays)).cpu().numpy(), run(*arrays).cpu().numpy())
    with raises(TypeError, "gradient"):
        kernel()(*(torch.tensor(x, device="cuda", requires_grad=True) for x in STATES))


@pytest.mark.cuda
@pytest.mark.usefixtures("gpu")
def test_cupy_arrays() -> None:
    cupy = pytest.importorskip("cupy")
    arrays = list(map(cupy.asarray, STATES))
    found = kernel()(*arrays)
    assert type(found) is cupy.ndarray
    assert np.array_equal(cupy.asnumpy(found), expected(*STATES))
    with cupy.cuda.Stream(non_blocking=True) as stream:
        found = kernel()(*(x + 0.0 for x in arrays))
        stream.synchronize()
    assert np.array_equal(cupy.asnumpy(found), expected(*STATES))
    found = kernel()(arrays[0], arrays[1], arrays[2][0])
    assert np.array_equal(cupy.asnumpy(found), expected(*STATES[:2], STATES[2, 0]))


@pytest.mark.cuda
@pytest.mark.usefixtures("gpu")
def test_jax_arrays() -> None:
    jax = pytest.importorskip("jax")
    if jax.default_backend() not in ("gpu", "cuda"):
        pytest.skip("JAX has no GPU")
    arrays = [jax.numpy.asarray(x, dtype="float32") for x in STATES]
    wanted = expected(*map(np.asarray, arrays), dtype="float32")
    found = kernel(dtype="float32")(*arrays)
    assert isinstance(found, jax.Array)
    assert np.array_equal(np.asarray(found), wanted)
    assert np.array_equal(np.asarray(jax.numpy.sin(found) * 0.0 + found), wanted)
    with raises(TypeError, "traced", "JAX"):
        jax.jit(lambda *x: kernel(dtype="float32")(*x))(*arrays)


@pytest.mark.cuda
@pytest.mark.usefixtures("gpu")
def test_numba_arrays() -> None:
    cuda = pytest.importorskip("numba.cuda")
    found = kernel()(*map(cuda.to_device, STATES))
    assert np.array_equal(found.copy_to_host(), expected(*STATES))


@pytest.mark.cuda
@pytest.mark.usefixtures("gpu")
def test_arrays_of_linkwise_are_taken_by_others() -> None:
    there = [DeviceArray(device(0), x.shape, "float64").copy_from(x) for x in STATES]
    found = kernel()(*there)
    wanted = expected(*STATES)
    assert np.array_equal(found.copy_to_host(), wanted)
    torch = pytest.importorskip("torch")
    assert np.array_equal(torch.from_dlpack(found).cpu().numpy(), wanted)
    assert np.array_equal(kernel()(*STATES, copy=True), wanted)
    with raises(CudaMemoryError, "bytes"):
        DeviceArray(device(0), (1 << 45,), "float64")
