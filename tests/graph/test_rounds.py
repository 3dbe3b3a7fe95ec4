"""Forward dynamics in rounds as kernels: the numbers of the other methods, and the same bits on a GPU."""

import gc
from typing import Any

import numpy as np
import pytest

import linkwise as lw
from effort import rest_slow
from facts import raises
from fake_cuda import FakeLibrary, Foreign
from joint_kinds import coupled
from linkwise.api.compiling import check_spec
from linkwise.errors import CudaError
from linkwise.kernels.rounds import Launch, Order, Plan, RoundSpec
from linkwise.kernels.target import target_by_name, this_machine
from linkwise.targets.cuda.driver import Device, device
from linkwise.targets.cuda.memory import DeviceArray
from linkwise.targets.cuda.rounds import capture_graph
from robots import relative

pytest.importorskip("llvmlite")
CHAIN, TREE = lw.chain(37, seed=1), lw.random_tree(40, seed=2)  # the tree has several links on the base
ROBOTS = [CHAIN, lw.chain(9, joints="RRHRRHRRP"), TREE, lw.chain(1), lw.chain(200)]  # with one prismatic joint
over_robots = pytest.mark.parametrize("robot", rest_slow(ROBOTS, ROBOTS[1:3]), ids=lambda robot: robot.name)


def rounds(robot: lw.Robot, target: str = "cpu", **options: Any) -> Any:
    return lw.compile(lw.forward_dynamics, robot, target=target, method="parallel", form="rounds", **options)


def state(robot: lw.Robot, *batch: int) -> np.ndarray:
    """q, qd and tau."""
    return np.random.default_rng(robot.n).normal(size=(3, *batch, robot.n))


def plan_of(robot: lw.Robot) -> Plan:
    spec = check_spec(lw.forward_dynamics, robot, this_machine(), "float64", "rounds", (), {})
    assert isinstance(spec, RoundSpec)
    return spec.plan


# --- on the processor ------------------------------------------------------------------------------------------------


@over_robots
def test_rounds_give_the_accelerations(robot: lw.Robot) -> None:
    kernel, given = rounds(robot), state(robot)
    expected = lw.forward_dynamics(robot, *given, method="articulated")
    assert relative(kernel(*given), expected) < 1e-12
    assert kernel.method == "parallel"
    assert kernel.count.total > 2000 * (robot.n - 1)


ROD = {"joint": "revolute", "a": 0.3, "b": 0.0, "alpha": 0.0, "mass": 1.0, "com": (-0.1, 0.0, 0.0)}
PLANAR = lw.Robot.from_dh([{**ROD, "inertia": np.diag([0.01, 0.02, 0.02])}] * 33, convention="standard")
FLAT = [CHAIN, TREE, PLANAR, lw.chain(30, joints="RP"), lw.random_tree(20, seed=2, joints="RPH"), lw.chain(300)]


@pytest.mark.parametrize("robot", rest_slow(FLAT, [PLANAR]), ids=lambda robot: robot.name)
@pytest.mark.slow
def test_numbers_of_32_bits(robot: lw.Robot) -> None:
    """Axes that depend on others are rounding, whose squares leave the range of these numbers."""
    given = state(robot, 2)
    expected = lw.forward_dynamics(robot, *given, method="articulated")
    assert relative(rounds(robot, dtype="float32")(*given.astype("float32")), expected) < 1e-4
    assert relative(rounds(robot)(*given), expected) < 1e-12


def test_batches_and_arrays_of_the_user() -> None:
    kernel, given = rounds(CHAIN), state(CHAIN, 2, 3)
    expected = np.stack([[kernel(*given[:, i, j]) for j in range(3)] for i in range(2)])
    assert (kernel(*given, threads=2) == expected).all()
    out = np.empty((2, 3, CHAIN.n))
    assert kernel(*given, out=out) is out
    assert (out == expected).all()


def test_options_that_loops_take_too() -> None:
    rng, (q, qd, tau) = np.random.default_rng(0), state(TREE)
    wrench, point = rng.normal(size=(TREE.n, 6)), rng.normal(size=(TREE.n, 3))
    kernel = rounds(TREE, wrench=lw.Input(TREE.n, 6), point=lw.Input(TREE.n, 3), friction=True)
    loads = {"wrench": wrench, "point": point}
    expected = lw.forward_dynamics(TREE, q, qd, tau, **loads, friction=True, method="articulated")
    assert relative(kernel(q, qd, tau, **loads), expected) < 1e-12


def test_functions_of_the_user() -> None:
    def damped(arm: lw.Robot, q: Any, qd: Any, tau: Any) -> Any:
        return lw.forward_dynamics(arm, q, qd, tau - 0.3 * qd, method="parallel")

    q, qd, tau = state(CHAIN)
    kernel = lw.compile(damped, CHAIN, form="rounds")
    assert relative(kernel(q, qd, tau), lw.forward_dynamics(CHAIN, q, qd, tau - 0.3 * qd)) < 1e-12


@pytest.mark.parametrize("robot", [CHAIN, TREE], ids=lambda robot: robot.name)
def test_a_state_with_a_number_that_is_not_finite_gives_nan_throughout(robot: lw.Robot) -> None:
    kernel, given = rounds(robot), state(robot, 3 * robot.n)
    states = np.arange(3 * robot.n)
    given[states % 3, states, states // 3] = [np.nan, np.inf, -np.inf] * robot.n
    given[0, 5] = given[1, 5] = given[2, 5] = 0.1
    found = kernel(*given)
    assert np.isnan(found[states != 5]).all()
    assert np.isfinite(found[5]).all()


def test_a_chain_is_never_put_in_order_but_for_odd_links() -> None:
    """Pairs lie one after another; one link too many is copied to where the next round expects it."""
    plan = plan_of(lw.chain(64))
    assert not [step for step in plan.steps if isinstance(step, Order)]
    assert len([step for step in plan.steps if isinstance(step, Launch)]) == 3 + 4 * 6
    assert all(len(step.rows) == 1 for step in plan_of(CHAIN).steps if isinstance(step, Order))


def test_long_robots_take_rounds_by_themselves() -> None:
    def form(n: int, target: str, method: str) -> type:
        spec = check_spec(
            lw.forward_dynamics, lw.chain(n), target_by_name(target), "float64", "auto", (), {"method": method}
        )
        return type(spec)

    assert (form(13, "cuda", "parallel"), form(61, "cpu", "parallel")) == (RoundSpec, RoundSpec)
    others = [(12, "cuda", "parallel"), (60, "cpu", "parallel"), (61, "wasm", "parallel"), (61, "cpu", "articulated")]
    assert not any(form(*each) is RoundSpec for each in others)


@pytest.mark.parametrize(
    ("robot", "options", "message"),
    [
        (coupled(lw.random_tree(5)), {}, "is coupled"),
        (lw.chain(20, joints="RRS"), {}, "joint '.*' has 3 degrees of freedom"),
        (CHAIN, {"method": "articulated"}, "its method is 'articulated' .expected 'parallel'"),
        (CHAIN, {"wrench": lw.Input(6)}, r"wrench has shape \(6,\) .expected an entry for each link"),
        (CHAIN, {"friction": lw.Friction(viscous=[0.1] * 37)}, "friction has numbers for each joint"),
        (CHAIN, {"passes": ["regroup"]}, "passes are for straight-line code"),
        (CHAIN, {"target": "wasm"}, "takes no rounds"),
    ],
)
def test_what_has_no_rounds_is_said(robot: lw.Robot, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        lw.compile(lw.forward_dynamics, robot, **{"form": "rounds", **options})


def test_functions_that_go_from_link_to_link_have_no_rounds() -> None:
    def push(arm: lw.Robot, q: Any, qd: Any) -> Any:
        return lw.inverse_dynamics(arm, q, qd, qd)

    with raises(ValueError, "push", "'chain-37-1-R'", "rounds"):
        lw.compile(push, CHAIN, form="rounds")


# --- on a GPU --------------------------------------------------------------------------------------------------------

FEW = lw.random_tree(6, seed=6, joints="RP")  # two branches, links beside and behind each other


@pytest.mark.slow
def test_one_call_does_all(library: FakeLibrary) -> None:
    """The same bits, in an array of the user's; streams that wait and are waited for; memory that is given back."""
    library.streams |= {77}
    kernel, streams, states = rounds(FEW, "cuda"), set(library.streams), state(FEW, 2)
    given, out = [Foreign(x, stream=77) for x in states], Foreign(np.zeros((2, FEW.n)))
    arrays = set(library.memory)
    assert kernel(*given, out=out) is out
    assert (out.numbers() == rounds(FEW)(*states)).all()
    own = sorted(library.streams - streams)
    assert len(own) == 2
    assert library.waits == [(stream, 77) for stream in own] + [(77, stream) for stream in reversed(own)]
    states[0, 1, 4] = np.nan
    assert (kernel(*states[:, 0], copy=True) == out.numbers()[0]).all()
    assert np.isnan(kernel(*states[:, 1], copy=True)).all()
    del kernel
    gc.collect()
    assert {stream for stream in own if stream in library.streams} == set()
    assert len(library.memory) == len(arrays) + 1  # that of copies, for the next call


def test_drivers_without_graphs_are_refused(library: FakeLibrary, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(FakeLibrary, "cuGraphInstantiateWithFlags")
    with raises(CudaError, "CUDA 11.4", "rounds"):
        capture_graph(device(0), 0, [])


@pytest.mark.cuda
@pytest.mark.parametrize("robot", [*ROBOTS, FEW], ids=lambda robot: robot.name)
def test_a_gpu_gives_the_same_bits(robot: lw.Robot, gpu: Device) -> None:
    kernel, given = rounds(robot, "cuda"), state(robot, 6)
    expected = rounds(robot)(*given)
    assert (kernel(*given[:, 0], copy=True) == expected[0]).all()
    assert (kernel(*given, copy=True) == expected).all()
    there = [DeviceArray(gpu, x.shape, "float64").copy_from(x) for x in given]
    for _ in range(100):
        assert (kernel(*there).copy_to_host() == expected).all()
    given[0, 2, robot.n // 2] = np.nan
    assert (np.isnan(kernel(*given, copy=True)).all(axis=-1) == (np.arange(6) == 2)).all()


@pytest.mark.cuda
def test_wrenches_on_a_gpu(gpu: Device) -> None:
    given, wrench = state(CHAIN), np.random.default_rng(0).normal(size=(CHAIN.n, 6))
    options: dict[str, Any] = {"wrench": lw.Input(CHAIN.n, 6)}
    kernel, expected = rounds(CHAIN, "cuda", **options), rounds(CHAIN, **options)
    assert (kernel(*given, wrench, copy=True) == expected(*given, wrench)).all()


@pytest.mark.cuda
def test_streams_of_torch(gpu: Device, torch: Any) -> None:
    """Each result comes back by a stream of the library, which knows nothing of ours."""
    kernel, given, found = rounds(CHAIN, "cuda"), state(CHAIN), []
    expected, there = rounds(CHAIN)(*given), torch.tensor(given, device="cuda")
    torch.cuda.synchronize()
    with torch.cuda.stream(torch.cuda.Stream()):
        for _ in range(50):
            found.append(kernel(*there.clone().unbind()) + 0.0)
    torch.cuda.synchronize()
    assert all((x.cpu().numpy() == expected).all() for x in found)
