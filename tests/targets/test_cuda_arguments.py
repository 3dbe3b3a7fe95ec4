"""What kernels for GPUs take and refuse: special tensors, arrays for results, and options."""

import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import linkwise as lw
from cuda_calls import ARM, STATES, expected, kernel
from facts import raises
from fake_cuda import FakeLibrary, Foreign
from linkwise.targets.cuda import arrays as array_module
from linkwise.targets.cuda.driver import device
from linkwise.targets.cuda.memory import DeviceArray

DRIVER = {"devices": 2}


def foreign(*arrays: np.ndarray) -> list[Foreign]:
    return [Foreign(x) for x in arrays]


def part(whole: Foreign, view: np.ndarray, base: np.ndarray) -> Foreign:
    """The part of an array that a view is of its NumPy double."""
    made = Foreign(np.zeros(view.shape, view.dtype))
    offset = view.__array_interface__["data"][0] - base.__array_interface__["data"][0]
    made.about |= {"data": (whole.pointer + offset, False), "strides": view.strides}
    return made


def test_results_may_lie_between_one_another_but_not_share_memory(library: FakeLibrary) -> None:
    """Whether arrays with gaps share memory does not show in where they begin and end."""
    udu, q = kernel(lw.formulations.udu), Foreign(STATES[0])
    base = np.zeros((40, 4, 3))
    whole = Foreign(base)
    outs = part(whole, base[:, :3], base), part(whole, base[:, 3], base)
    with raises(TypeError, "out", "contiguous", "fake_cuda.Foreign"):  # no more: this library does not copy
        udu(q, out=outs)
    flat = np.zeros(40 * 20)
    whole = Foreign(flat)
    spread = np.lib.stride_tricks.as_strided(flat, (40, 3, 3), (160, 24, 8))
    with raises(ValueError, "out"):
        udu(q, out=(part(whole, spread, flat), part(whole, flat[600:720].reshape(40, 3), flat)))
    repeated = part(whole, np.broadcast_to(flat[:3], (40, 3)), flat)
    with raises(ValueError, "out", "memory"):
        kernel()(*foreign(*STATES), out=repeated)


def test_out_may_be_a_list(library: FakeLibrary) -> None:
    shapes = (40, 3, 3), (40, 3)
    for target, outs in (("cuda", [Foreign(np.zeros(x)) for x in shapes]), ("cpu", [np.zeros(x) for x in shapes])):
        run = lw.compile(lw.formulations.udu, ARM, target=target)
        assert run(Foreign(STATES[0]) if target == "cuda" else STATES[0], out=outs) is outs
        for x, y in zip(outs, expected(STATES[0], function=lw.formulations.udu), strict=True):
            assert np.array_equal(x.numbers() if isinstance(x, Foreign) else x, y)
    assert np.array_equal(kernel(lw.formulations.udu)(STATES[0], out=outs, copy=True)[1], outs[1])


def test_masks_are_refused(library: FakeLibrary) -> None:
    arrays = foreign(*STATES)
    arrays[1].about["mask"] = arrays[0]
    with raises(TypeError, "fake_cuda.Foreign", "mask"):
        kernel()(*arrays)


def test_functions_without_inputs(library: FakeLibrary) -> None:
    def weight(arm: lw.Robot) -> Any:
        return lw.gravity_torque(arm, np.zeros(3))

    run, right = kernel(weight), expected(function=weight)
    assert np.array_equal(run().copy_to_host(), right)
    assert np.array_equal(run(copy=True), right)
    assert run(device=1).device is device(1)
    out = Foreign(np.zeros(3))
    assert run(out=out) is out
    assert np.array_equal(out.numbers(), right)


OPTIONS: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "stream of a copy": ({"copy": True, "stream": 1}, ValueError, "stream is given with copy=True"),
    "copy": ({"copy": "no"}, TypeError, "copy is 'no' .expected True or False"),
    "check": ({"check": 1}, TypeError, "check is 1 .expected True or False"),
    "device": ({"device": 1}, ValueError, "device is 1 and the arrays are on GPU 0"),
    "truth as device": ({"device": True}, TypeError, "device is True"),
    "list as device": ({"device": [0]}, TypeError, r"device is \[0\]"),
    "truth as stream": ({"stream": True}, TypeError, "stream is True"),
    "negative stream": ({"stream": -1}, TypeError, "stream is -1"),
}


@pytest.mark.parametrize("case", OPTIONS)
def test_no_option_is_ignored(library: FakeLibrary, case: str) -> None:
    options, error, message = OPTIONS[case]
    given = STATES if options.get("copy") else foreign(*STATES)
    with pytest.raises(error, match=message):
        kernel()(*given, **options)


def test_whole_numbers_of_numpy_are_numbers(library: FakeLibrary) -> None:
    right = expected(*STATES)
    assert np.array_equal(kernel()(*foreign(*STATES), device=np.int64(0), stream=np.int64(1)).copy_to_host(), right)
    assert np.array_equal(kernel()(*STATES, copy=np.True_, device=np.int32(1)), right)
    assert library.launches[-1][0] == 1


def test_robots_are_no_arrays(library: FakeLibrary) -> None:
    with raises(TypeError, "q", "linkwise.Robot", "CPU"):
        kernel()(ARM, *foreign(*STATES[1:]))


def test_arrays_of_jax_are_never_written_to(library: FakeLibrary, monkeypatch: pytest.MonkeyPatch) -> None:
    class Tracer:
        pass

    class Jax:
        """As jax.Array."""

        __module__ = "jaxlib"

        def __init__(self, numbers: np.ndarray) -> None:
            self.there = DeviceArray(device(0), numbers.shape, "float64").copy_from(numbers)
            self.shape, self.dtype, self.size = numbers.shape, numbers.dtype, numbers.size
            self.unsafe_buffer_pointer = lambda: self.there.pointer

        def __dlpack_device__(self) -> tuple[int, int]:
            return self.there.__dlpack_device__()

        def devices(self) -> set[Any]:
            return {Place()}

        def block_until_ready(self) -> None:
            pass

    class Place:
        platform = "gpu"

    module: Any = types.ModuleType("jax")
    module.core = types.SimpleNamespace(Tracer=Tracer)
    handed: Any = types.ModuleType("jax.dlpack")
    handed.from_dlpack = lambda x: x
    monkeypatch.setitem(sys.modules, "jax", module)
    monkeypatch.setitem(sys.modules, "jax.dlpack", handed)
    monkeypatch.setattr(array_module, "_libraries", {})
    arrays, out = [Jax(x) for x in STATES], Jax(np.zeros((40, 3)))
    for each in (out, arrays[0]):
        with raises(ValueError, "out", "JAX"):
            kernel()(*arrays, out=each)
    assert not out.there.copy_to_host().any()
    assert np.array_equal(kernel()(*arrays).copy_to_host(), expected(*STATES))
    run = lw.rollout(ARM, arrays[0], arrays[1], steps=2, dt=0.01, target="cuda")
    again = lw.results.RolloutResult(**{**vars(run), "q_end": Jax(np.zeros((40, 3)))})
    with raises(ValueError, "out.q_end", "JAX"):
        lw.rollout(ARM, arrays[0], arrays[1], steps=2, dt=0.01, target="cuda", out=again)


@pytest.fixture
def torch(library: FakeLibrary, monkeypatch: pytest.MonkeyPatch) -> Any:
    """torch, whose tensors on the CPU pass for those of a GPU."""
    module, library_class = pytest.importorskip("torch"), array_module.Torch
    real = library_class.place
    monkeypatch.setattr(library_class, "place", lambda self, x: real(self, x).replace("cpu", "cuda"))
    monkeypatch.setattr(library_class, "device", lambda self, x: device(0))
    monkeypatch.setattr(library_class, "streams", lambda self, arrays: [0])
    monkeypatch.setattr(library, "owner", lambda address: 0)
    return module


@pytest.mark.slow
def test_tensors_whose_memory_has_the_negatives(torch: Any) -> None:
    q, qd, qdd = map(torch.tensor, STATES)
    negative = torch._neg_view(q.clone())
    assert np.array_equal(kernel()(negative, qd, qdd).numpy(), expected(-STATES[0], *STATES[1:]))
    out = torch._neg_view(torch.zeros((40, 3), dtype=torch.float64))
    kernel()(q, qd, qdd, out=out)
    assert np.array_equal(out.resolve_neg().numpy(), expected(*STATES))


@pytest.mark.slow
def test_classes_derived_from_tensor(torch: Any) -> None:
    class Mine(torch.Tensor):
        pass

    mine, *others = map(torch.tensor, STATES)
    found = kernel()(mine.float().as_subclass(Mine), *others)
    assert type(found) is torch.Tensor
    assert np.array_equal(found.numpy(), expected(STATES[0].astype(np.float32), *STATES[1:]))
    with raises(TypeError, "Mine", "gradient"):
        kernel()(mine, others[0].requires_grad_().as_subclass(Mine), others[1])


@pytest.mark.slow
def test_autograd_learns_that_a_tensor_was_written(torch: Any) -> None:
    out = torch.zeros((40, 3), dtype=torch.float64)
    weight = torch.ones((40, 3), dtype=torch.float64, requires_grad=True)
    total = (weight * out).sum()
    kernel()(*map(torch.tensor, STATES), out=out)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        total.backward()
    options: dict[str, Any] = {"steps": 2, "dt": 0.01, "target": "cuda"}
    q0 = torch.tensor(STATES[0])
    run = lw.rollout(ARM, q0, **options)
    total = (weight * run.q_end).sum()
    lw.rollout(ARM, q0, out=run, **options)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        total.backward()
    with torch.inference_mode():
        out = torch.zeros((40, 3), dtype=torch.float64)
    kernel()(*map(torch.tensor, STATES), out=out)
    assert np.array_equal(out.numpy(), expected(*STATES))


def nested(torch: Any) -> Any:
    return torch.nested.nested_tensor([torch.zeros(3), torch.zeros(2)], layout=torch.jagged)


TENSORS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "meta": (lambda torch: torch.zeros((40, 3), device="meta"), "q, a torch.Tensor, is on device 'meta'"),
    "sparse": (lambda torch: torch.zeros((40, 3)).to_sparse(), "is of layout torch.sparse_coo .expected a dense"),
    "nested": (nested, "is nested"),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", TENSORS)
@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors:UserWarning")
def test_tensors_without_rows(torch: Any, case: str) -> None:
    make, message = TENSORS[case]
    with pytest.raises(TypeError, match=message):
        kernel()(make(torch), *map(torch.tensor, STATES[1:]))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated:DeprecationWarning")  # torch's own, of jvp
def test_tensors_that_are_differentiated_or_mapped(torch: Any) -> None:
    run, (q, qd, qdd) = kernel(), map(torch.tensor, STATES)
    forward = torch.autograd.forward_ad
    with forward.dual_level():
        dual = forward.make_dual(q, qd)
        with raises(TypeError, "torch.Tensor", "tangent"):
            run(dual, qd, qdd)
        assert np.array_equal(run(forward.unpack_dual(dual).primal, qd, qdd).numpy(), expected(*STATES))
    for transformed in (
        lambda: torch.vmap(lambda x: run(x, qd[0], qdd[0]))(q),
        lambda: torch.func.jvp(lambda x: run(x, qd, qdd), (q,), (qd,)),
    ):
        with pytest.raises(TypeError, match=r"q, a torch\.Tensor, has (no memory of its own|a tangent)"):
            transformed()


@pytest.mark.cuda
def test_tensors_on_a_gpu() -> None:
    """What the tests above do with tensors of the CPU, on those that they stand for."""
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("torch has no GPU")
    run, (q, qd, qdd) = kernel(), (torch.tensor(x, device="cuda") for x in STATES)
    assert np.array_equal(run(torch._neg_view(q.clone()), qd, qdd).cpu().numpy(), expected(-STATES[0], *STATES[1:]))
    forward = torch.autograd.forward_ad
    with forward.dual_level(), raises(TypeError, "tangent"):
        run(forward.make_dual(q, qd), qd, qdd)
    with raises(TypeError, "memory"):
        torch.vmap(lambda x: run(x, qd[0], qdd[0]))(q)
    with raises(TypeError, "layout"):
        run(q.to_sparse(), qd, qdd)
    weight, out = torch.ones_like(q, requires_grad=True), torch.zeros_like(q)
    total = (weight * out).sum()
    run(q, qd, qdd, out=out)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        total.backward()
    udu, whole = kernel(lw.formulations.udu), torch.zeros((40, 4, 3), dtype=torch.float64, device="cuda")
    udu(q, out=(whole[:, :3], whole[:, 3]))
    rights = expected(STATES[0], function=lw.formulations.udu)
    for found, right in zip((whole[:, :3], whole[:, 3]), rights, strict=True):
        assert np.array_equal(found.cpu().numpy(), right)
    with raises(ValueError, "out", "memory"):
        run(q, qd, qdd, out=torch.zeros(3, dtype=torch.float64, device="cuda").expand(40, 3))
