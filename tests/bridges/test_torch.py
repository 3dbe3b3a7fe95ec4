"""Tensors of torch: public functions by operators over kernels, beside the plain text, with derivatives."""

from collections.abc import Callable, Iterator
from ctypes import CFUNCTYPE, c_int, c_uint, c_void_p, cast
from functools import wraps
from typing import Any

import numpy as np
import pytest

import linkwise as lw
from cuda_emulation import kinds_of
from effort import rest_slow
from facts import raises
from fake_cuda import FakeLibrary
from functions import CALLS, ONE_METHOD, SHORT, Call

torch = pytest.importorskip("torch")

from linkwise.bridges import torch as bridge  # noqa: E402  imports torch
from linkwise.bridges import torch_library  # noqa: E402
from linkwise.targets.cuda import operator as cuda_operator  # noqa: E402

BALL = lw.chain(2, seed=1, joints="SR")  # its first link turns about a ball joint
QUICK = [call for call in ONE_METHOD if call.function in (lw.inverse_dynamics, lw.poses, lw.kinetic_energy)]
DIFFERENTIATED = [
    lw.inverse_dynamics,
    pytest.param(lw.forward_dynamics, marks=pytest.mark.slow),
    pytest.param(lw.inertia_matrix, marks=pytest.mark.slow),
]


@pytest.fixture(autouse=True)
def compiled_at_once() -> Iterator[None]:
    with lw.use_kernels("always"):
        yield


def tensors(robot: lw.Robot, names: list[str], *batch: int, dtype: Any = torch.float64) -> list[Any]:
    rng = np.random.default_rng(0)
    sizes = [robot.size_of(name) for name in names]
    return [torch.tensor(rng.normal(size=(*batch, size)), dtype=dtype, requires_grad=True) for size in sizes]


def inputs(function: Callable[..., Any]) -> list[str]:
    return next(call.arguments for call in CALLS if call.function is function)


def of_robot(function: Callable[..., Any], robot: lw.Robot, **keywords: Any) -> Callable[..., Any]:
    return lambda *arrays: function(robot, *arrays, **keywords)


def gradients(results: list[Any], arrays: list[Any]) -> list[Any]:
    total = sum((torch.linspace(0.1, 1.0, x.numel(), dtype=x.dtype) * x.reshape(-1)).sum() for x in results)
    return list(torch.autograd.grad(total, arrays, materialize_grads=True, allow_unused=True))


def operators() -> int:
    return len(torch_library.OPERATORS)


@pytest.mark.parametrize("call", rest_slow(CALLS, QUICK), ids=str)
@pytest.mark.parametrize("robot", [SHORT, pytest.param(BALL, marks=pytest.mark.slow)], ids=["short", "ball"])
def test_values_and_gradients_are_those_of_the_plain_text(call: Call, robot: lw.Robot) -> None:
    arrays = tensors(robot, call.arguments, 3)
    try:
        with lw.use_kernels("never"):
            plain = call(robot, *arrays)
    except ValueError:
        pytest.skip("this function refuses this robot")
    places = [k for k, x in enumerate(plain) if isinstance(x, torch.Tensor) and x.requires_grad]
    if not places:
        pytest.skip("no result depends on the state")
    plain, results = [plain[k] for k in places], [call(robot, *arrays)[k] for k in places]
    for one, other in zip([*results, *gradients(results, arrays)], [*plain, *gradients(plain, arrays)], strict=True):
        torch.testing.assert_close(one, other, rtol=1e-7, atol=1e-9)


def test_calls_run_by_operators_once_they_are_compiled() -> None:
    robot, arrays = lw.chain(2, seed=8), tensors(SHORT, ["qd"], 1)
    arrays = [arrays[0][..., :2].detach() for _ in range(3)]
    before = operators()
    with lw.use_kernels("auto"):
        for _ in range(63):
            lw.inverse_dynamics(robot, *arrays)
        assert operators() == before
        first, second = lw.inverse_dynamics(robot, *arrays), lw.inverse_dynamics(robot, *arrays)
    assert operators() == before + 1
    assert first.equal(second)
    assert second.numpy() == pytest.approx(lw.inverse_dynamics(robot, *(x.numpy() for x in arrays)), rel=1e-12)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
def test_operators_have_the_bits_of_kernels(dtype: Any) -> None:
    arrays = [x.detach() for x in tensors(SHORT, ["q", "qd", "qdd"], 5, dtype=dtype)]
    kernel = lw.compile(lw.inverse_dynamics, SHORT, dtype=str(dtype).removeprefix("torch."))
    result = lw.inverse_dynamics(SHORT, *arrays)
    assert result.dtype == dtype
    assert np.array_equal(result.numpy(), kernel(*(x.numpy() for x in arrays)))
    assert lw.inverse_dynamics(SHORT, *arrays).equal(result)  # by the fast path


def test_arrays_that_do_not_fit_are_brought_to_one_form() -> None:
    q, qd, qdd = (x.detach() for x in tensors(SHORT, ["q", "qd", "qdd"], 4, 2))
    usual = lw.inverse_dynamics(SHORT, q, qd, qdd)
    transposed = q.transpose(0, 1).contiguous().transpose(0, 1)
    assert lw.inverse_dynamics(SHORT, transposed, qd, qdd).equal(usual)
    assert lw.inverse_dynamics(SHORT, q, qd[:, :1], qdd[0, 0].tolist()).equal(
        lw.inverse_dynamics(SHORT, q, qd[:, :1].expand(4, 2, 3).clone(), qdd[0, 0].expand(4, 2, 3).clone())
    )
    assert lw.inverse_dynamics(SHORT, q.float(), qd, qdd).dtype == torch.float64
    assert lw.inverse_dynamics(SHORT, q[:0], qd[:0], qdd[:0]).shape == (0, 2, 3)
    q[0, 0, 0] = torch.nan
    assert lw.inverse_dynamics(SHORT, q, qd, qdd).isnan().sum() == 3
    with pytest.raises(ValueError, match="qd"):
        lw.inverse_dynamics(SHORT, q, qd[..., :2], qdd)


def test_an_operator_refuses_tensors_that_do_not_fit() -> None:
    fits = [x.detach() for x in tensors(SHORT, ["q", "qd", "qdd"], 4)]
    kernel = lw.compile(lw.inverse_dynamics, SHORT)
    natively, by_python = torch_library.operator_of(kernel).call, torch_library.python_function(kernel)
    strided = torch.zeros(3, 4, dtype=torch.float64).T
    for call in (natively, by_python):
        assert call(*fits).equal(natively(*fits))
        for wrong in (fits[0].float(), fits[0][:, :2].contiguous(), fits[0][:3], fits[0][0], strided):
            with pytest.raises(RuntimeError, match="contiguous"):
                call(fits[0], wrong, fits[2])


def test_keywords_have_operators() -> None:
    arrays = tensors(SHORT, ["q", "qd", "qdd"], 2)
    wrench, rise = (torch.ones(2, size, dtype=torch.float64, requires_grad=True) for size in (6, 3))
    keywords = {"wrench": wrench, "friction": True, "base": lw.BaseMotion(acceleration=rise)}
    given = [*arrays, wrench, rise]
    with lw.use_kernels("never"):
        plain = lw.inverse_dynamics(SHORT, *arrays, **keywords)
    expected, before = [plain, *gradients([plain], given)], operators()
    for _ in range(2):
        result = lw.inverse_dynamics(SHORT, *arrays, **keywords)
        for one, other in zip([result, *gradients([result], given)], expected, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-9)
    assert operators() == before + 2


def test_derivatives_have_operators() -> None:
    slope, before = lw.derivative(lw.gravity_torque, SHORT, "q"), operators()
    (q,) = tensors(SHORT, ["q"], 2)
    with lw.use_kernels("never"):
        plain = slope(q)
    by_q = slope(q)
    assert operators() == before + 1
    for one, other in zip([by_q, *gradients([by_q], [q])], [plain, *gradients([plain], [q])], strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.slow
def test_loops_over_long_chains_have_operators() -> None:
    chain = lw.chain(70, seed=2)
    arrays = tensors(chain, ["q", "qd", "qdd"], 9)
    numbers, before = [x.detach() for x in arrays], operators()
    torque = lw.inverse_dynamics(chain, *numbers)
    assert np.array_equal(torque.numpy(), lw.compile(lw.inverse_dynamics, chain)(*(x.numpy() for x in numbers)))
    assert operators() == before + 1
    assert lw.inverse_dynamics(chain, *arrays).requires_grad  # by the plain text
    assert operators() == before + 1


def test_one_state_may_have_no_axes_and_only_some_gradients() -> None:
    q, qd = (x.detach() for x in tensors(SHORT, ["q", "qd"]))
    energy = lw.kinetic_energy(SHORT, q, qd.requires_grad_())
    assert energy.shape == ()
    momentum = lw.inertia_matrix(SHORT, q) @ qd
    torch.testing.assert_close(torch.autograd.grad(energy, qd)[0], momentum)


def test_gradients_by_quaternions_have_no_part_along_them() -> None:
    q, qd, qdd = tensors(BALL, ["q", "qd", "qdd"], 3)
    (gradient,) = torch.autograd.grad(lw.inverse_dynamics(BALL, q, qd, qdd).pow(2).sum(), q)
    assert gradient.shape == q.shape
    start = BALL.quaternions[0]
    along = (gradient * q)[:, start : start + 4].sum(-1)
    assert along.detach().numpy() == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("function", DIFFERENTIATED)
@pytest.mark.parametrize("robot", [BALL, pytest.param(SHORT, marks=pytest.mark.slow)], ids=["ball", "short"])
def test_gradients_are_those_of_differences(function: Callable[..., Any], robot: lw.Robot) -> None:
    call, arrays = of_robot(function, robot), tensors(robot, inputs(function), 2)
    assert torch.autograd.gradcheck(call, arrays)


@pytest.mark.slow
@pytest.mark.parametrize("function", [lw.inverse_dynamics, lw.forward_dynamics, lw.inertia_matrix, lw.poses])
@pytest.mark.parametrize("robot", [BALL, SHORT], ids=["ball", "short"])
def test_second_gradients_are_those_of_differences(function: Callable[..., Any], robot: lw.Robot) -> None:
    def smaller(*arrays: Any) -> Any:
        result = function(robot, *arrays)
        return result if isinstance(result, torch.Tensor) else result[0]

    assert torch.autograd.gradgradcheck(smaller, tensors(robot, inputs(function), 2))


def test_functions_are_transformed() -> None:
    q, qd, qdd = (x.detach() for x in tensors(SHORT, ["q", "qd", "qdd"], 3))
    call = of_robot(lw.inverse_dynamics, SHORT)
    usual = call(q, qd, qdd)
    assert torch.vmap(call)(q, qd, qdd).equal(usual)
    mapped = torch.vmap(call, in_dims=(1, None, 0), out_dims=1)(q.T.contiguous(), qd[0], qdd)
    assert mapped.equal(call(q, qd[:1], qdd).T)
    by_q = torch.autograd.functional.jacobian(lambda q: call(q, qd, qdd), q)
    torch.testing.assert_close(torch.func.jacrev(call)(q, qd, qdd), by_q)
    each = torch.vmap(torch.func.jacrev(call))(q, qd, qdd)
    torch.testing.assert_close(each, torch.stack([by_q[k, :, k] for k in range(3)]))
    torch.testing.assert_close(torch.func.jacfwd(call)(q, qd, qdd), by_q)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of torch itself
@pytest.mark.parametrize("dynamic", [False, True])
def test_torch_compiles_functions_as_one_graph(dynamic: bool) -> None:
    arrays, robot = tensors(SHORT, ["q", "qd", "qdd"], 3), lw.chain(3, seed=4, joints="RRP")
    torch._dynamo.reset()

    @wraps(lw.inverse_dynamics)
    def doubled(robot: lw.Robot, q: Any, qd: Any, qdd: Any) -> Any:
        return 2 * lw.inverse_dynamics(robot, q, qd, qdd)

    functions = {
        "usual": of_robot(lw.inverse_dynamics, robot),
        "usual again, after a call": of_robot(lw.inverse_dynamics, robot),
        "wrapped": of_robot(doubled, robot),
        "keywords": of_robot(lw.inverse_dynamics, robot, friction=True),
        "broadcast": lambda q, qd, qdd: lw.inverse_dynamics(robot, q=q, qd=qd[:1], qdd=qdd[0]).sin(),
    }
    lw.gravity_torque(robot, np.zeros(3))
    lw.gravity_torque(robot, torch.zeros(3, dtype=torch.float64))
    functions["both libraries"] = lambda q, qd, qdd: lw.gravity_torque(robot, q) + qd + qdd
    for function in functions.values():
        compiled = torch.compile(function, fullgraph=True, backend="aot_eager", dynamic=dynamic)
        result, usual = compiled(*arrays), function(*arrays)
        assert result.equal(usual)
        for one, other in zip(gradients([result], arrays), gradients([usual], arrays), strict=True):
            torch.testing.assert_close(one, other)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("function", [lw.inverse_dynamics, lw.poses, lw.inverse_dynamics_derivatives])
def test_operators_pass_the_checks_of_torch(function: Callable[..., Any]) -> None:
    robot = lw.chain(3, seed=91)
    arrays, made = tensors(robot, inputs(function), 2), []
    computation_of = bridge.computation_of

    def remember(*arguments: Any) -> Any:
        made.append(computation_of(*arguments))
        return made[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bridge, "computation_of", remember)
        function(robot, *arrays)
    computation = next(x for x in made if x.request.function.__name__ == function.__name__)
    operator = computation.operator(1)
    torch.library.opcheck(operator.call, tuple(x.detach() for x in arrays))
    torch.library.opcheck(torch_library.traceable_operator(operator, computation.derivative), tuple(arrays))


# CUDA: launches on the stand-in for the driver, whose memory is the host's


@pytest.fixture
def cpu_as_gpu(library: FakeLibrary, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeLibrary]:
    """Operators over CUDA kernels are registered for tensors of the CPU, with callbacks in place of the driver."""
    kept: list[Any] = []

    def callback(function: Callable[..., int], *types: Any) -> int:
        kept.append(CFUNCTYPE(c_int, *types)(function))
        return cast(kept[-1], c_void_p).value or 0

    def launch(function: int, *numbers: Any) -> int:
        *grid, stream, places, more = numbers
        count = len(kinds_of(library.texts[library.handles[function][1]]))
        return library.cuLaunchKernel(c_void_p(function), *grid, stream, (c_void_p * count).from_address(places), more)

    def current_stream(ordinal: int, place: int) -> int:
        c_void_p.from_address(place).value = 2
        return int(ordinal != 0)

    addresses = {
        "cuCtxPushCurrent_v2": callback(lambda context: library.cuCtxPushCurrent_v2(c_void_p(context)), c_void_p),
        "cuCtxPopCurrent_v2": callback(library.cuCtxPopCurrent_v2, c_void_p),
        "cuLaunchKernel": callback(launch, c_void_p, *[c_uint] * 7, *[c_void_p] * 3),
        cuda_operator.STREAM: callback(current_stream, c_int, c_void_p),
    }
    monkeypatch.setattr(cuda_operator, "function_address", lambda function: addresses[function.__name__])
    monkeypatch.setattr(torch_library, "library_address", addresses.__getitem__)
    monkeypatch.setitem(torch_library.KEYS, "cuda", "CPU")
    monkeypatch.setitem(bridge.TARGETS, "cpu", "cuda")
    monkeypatch.setattr(library, "owner", lambda address: 0)
    yield library
    kept.clear()


@pytest.mark.skipif(torch_library.c_interface() is None, reason="this torch has no C interface")
def test_operators_launch_kernels_on_the_current_stream(cpu_as_gpu: FakeLibrary) -> None:
    kernel = lw.compile(lw.inverse_dynamics, lw.chain(2, seed=5), target="cuda")
    arrays = [torch.tensor(x) for x in np.random.default_rng(0).normal(size=(3, 70, 2))]
    operator = torch_library.operator_of(kernel)
    with pytest.raises(RuntimeError, match=operator.name):
        operator.call(*arrays)  # not loaded yet
    operator.prepare(None)
    result = operator.call(*arrays)
    assert cpu_as_gpu.launches == [(0, 2, 64, 2)]
    assert cpu_as_gpu.contexts == []
    expected = lw.compile(lw.inverse_dynamics, lw.chain(2, seed=5))(*(x.numpy() for x in arrays))
    assert np.array_equal(result.numpy(), expected)
    assert operator.call(*(x[:0] for x in arrays)).shape == (0, 2)
    assert len(cpu_as_gpu.launches) == 1
    assert kernel(*arrays).equal(result)  # the call of a compiled kernel takes the operator too
    assert len(cpu_as_gpu.launches) == 2
    with raises(TypeError, "q", "CPU"):  # what the operator does not take goes the general way
        kernel(arrays[0].float(), *arrays[1:])


@pytest.mark.skipif(torch_library.c_interface() is None, reason="this torch has no C interface")
def test_functions_and_gradients_run_on_gpus(cpu_as_gpu: FakeLibrary) -> None:
    robot = lw.chain(2, seed=6)
    arrays = [x[..., :2].detach().requires_grad_() for x in tensors(SHORT, ["q", "qd", "qdd"], 5)]
    with lw.use_kernels("never"):
        plain = lw.inverse_dynamics(robot, *arrays)
    expected = [plain, *gradients([plain], arrays)]
    for launches in (2, 4):
        result = lw.inverse_dynamics(robot, *arrays)
        for one, other in zip([result, *gradients([result], arrays)], expected, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-9)
        assert len(cpu_as_gpu.launches) == launches
