"""Forward dynamics in rounds as kernels over rows: the same plan on this machine and on a GPU, with the same bits."""

from collections.abc import Iterator

import numpy as np
import pytest

import linkwise as lw
from effort import rest_slow
from fake_cuda import fake_driver
from linkwise.kernels.cuda.driver import CudaError, device
from linkwise.kernels.cuda.rounds import CudaMemory
from linkwise.kernels.host import host_target
from linkwise.kernels.rounds import HostMemory, Launch, Order, Plan
from linkwise.kernels.sources import plain_of
from linkwise.trace.loop_tracing import NotRollableError
from linkwise.trace.round_tracing import trace_rounds
from robots import relative

pytest.importorskip("llvmlite")
NAMES = ("q", "qd", "tau")
ROBOTS = [lw.chain(37, seed=1), lw.chain(16, joints="RRPH"), lw.random_tree(40, seed=2), lw.chain(1), lw.chain(1000)]
over_robots = pytest.mark.parametrize("robot", rest_slow(ROBOTS, ROBOTS[:3]), ids=lambda robot: robot.name)


@pytest.fixture(params=["emulated", pytest.param("gpu", marks=pytest.mark.cuda)])
def place(request: pytest.FixtureRequest) -> Iterator[str]:
    if not host_target().fused:
        pytest.skip("this processor rounds products before it adds them")
    if request.param == "emulated":
        with fake_driver():
            yield request.param
        return
    try:
        device(0)
    except CudaError as error:
        pytest.skip(str(error))
    yield request.param


def plan_of(robot: lw.Robot) -> Plan:
    rounds = trace_rounds(plain_of(lw.forward_dynamics), robot, dict.fromkeys(NAMES, ()), method="parallel")
    return Plan(rounds, robot.contraction, NAMES)


def state(robot: lw.Robot) -> dict[str, np.ndarray]:
    return dict(zip(NAMES, np.random.default_rng(robot.n).normal(size=(3, robot.n)), strict=True))


@over_robots
def test_rows_give_the_accelerations(robot: lw.Robot) -> None:
    given = state(robot)
    found = HostMemory(plan_of(robot), host_target()).run(given)[:, 0]
    assert relative(found, lw.forward_dynamics(robot, *given.values(), method="articulated")) < 1e-12


@over_robots
def test_a_gpu_gives_the_same_bits(robot: lw.Robot, place: str) -> None:
    if place == "emulated" and robot.n > 40:
        pytest.skip("thousands of threads take long, one after the other")
    plan, given = plan_of(robot), state(robot)
    want, gpu = HostMemory(plan, host_target()).run(given), CudaMemory(plan)
    assert (gpu.run(given) == want).all()
    given["tau"] = given["tau"] + 1.0
    assert (gpu.run(given) == HostMemory(plan, host_target()).run(given)).all()


def test_a_chain_is_never_put_in_order_but_for_odd_links() -> None:
    """Pairs lie one after another; one link too many is copied to where the next round expects it."""
    plan = plan_of(lw.chain(64))
    assert not [step for step in plan.steps if isinstance(step, Order)]
    assert len([step for step in plan.steps if isinstance(step, Launch)]) == 3 + 4 * 6
    assert all(len(step.rows) == 1 for step in plan_of(lw.chain(37)).steps if isinstance(step, Order))


def test_functions_that_go_from_link_to_link_have_no_rounds() -> None:
    with pytest.raises(NotRollableError, match="from link to link"):
        trace_rounds(plain_of(lw.forward_dynamics), lw.chain(8), dict.fromkeys(NAMES, ()), method="articulated")
