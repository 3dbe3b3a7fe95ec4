"""Rollouts: steps of one length, on the CPU and on GPUs with the same bits."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import linkwise as lw
from effort import rest_slow
from facts import raises
from joint_kinds import ARM as FLYING
from linkwise.ode.rollout import Settings, parts_of, rollout_of
from linkwise.simulation.problem import Problem, program_of
from linkwise.targets.cuda.driver import device
from linkwise.targets.cuda.memory import DeviceArray
from linkwise.targets.cuda.trajectories import CudaRollout
from robots import CHAINS, TEXTBOOK, TREES, ids, pendulum

pytest.importorskip("llvmlite")
DTYPES = ["float64", "float32"]
PLANAR = lw.load("planar3")
ROBOTS = [*TEXTBOOK[:4], CHAINS[3], TREES[3], FLYING]


def starts(robot: lw.Robot, count: int = 19, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.uniform(-1.0, 1.0, (count, robot.nq)), rng.uniform(-1.0, 1.0, (count, robot.n))


def same(one: lw.results.RolloutResult, other: lw.results.RolloutResult) -> bool:
    names = ("q", "qd", "q_end", "qd_end", "finite")
    pairs = [(getattr(one, name), getattr(other, name)) for name in names]
    return all(np.array_equal(a, b, equal_nan=a is not None and a.dtype.kind == "f") for a, b in pairs)


def law(arm: Any, t: Any, q: Any, qd: Any, kd: Any, push: Any) -> Any:
    return push * np.cos(3.0 * t) - kd * qd


# what a rollout is


@pytest.mark.parametrize("integrator", lw.methods(lw.rollout))
@pytest.mark.parametrize("robot", rest_slow(ROBOTS, [ROBOTS[3]]), ids=ids(ROBOTS))
def test_it_is_a_simulation_in_steps_of_one_length(robot: lw.Robot, integrator: str) -> None:
    q, qd = starts(robot)
    tau = 0.5 * starts(robot, seed=2)[1]
    found = lw.rollout(robot, q, qd, steps=40, dt=2e-3, torque=tau, every=10, integrator=integrator)
    expected = lw.simulate(robot, q, qd, 0.08, tau, integrator=integrator, dt=2e-3, samples=5, compiled=True)
    assert np.allclose(found.q, expected.q, rtol=0.0, atol=1e-11)
    assert np.allclose(found.qd, expected.qd, rtol=1e-10, atol=1e-10)
    assert found.t is not None
    assert np.allclose(found.t, expected.t)
    assert np.array_equal(found.q_end, found.q[:, -1])
    assert (found.finite == 40).all()


@pytest.mark.parametrize("every_link", [False, True])
def test_wrenches(every_link: bool, place: str) -> None:
    """On the tip or on every link; for each trajectory its own."""
    q, qd = starts(PLANAR, 9)
    wrench = np.random.default_rng(3).normal(size=(9, *[3] * every_link, 6))
    found = lw.rollout(PLANAR, q, qd, steps=30, dt=2e-3, wrench=wrench, every=10)
    expected = lw.simulate(PLANAR, q, qd, 0.06, wrench=wrench, integrator="rk4", dt=2e-3, samples=4, compiled=True)
    assert np.allclose(found.q, expected.q, rtol=0.0, atol=1e-11)
    there = lw.rollout(PLANAR, q, qd, steps=30, dt=2e-3, wrench=wrench, every=10, target="cuda")
    assert same(there, found)


def test_wrenches_of_the_wrong_shape() -> None:
    with raises(ValueError, "wrench", "(3, 5)", "(..., 6)", "(..., 3, 6)"):
        lw.rollout(PLANAR, np.zeros((3, 3)), steps=1, dt=0.1, wrench=np.zeros((3, 5)))
    arm = lw.load("go1")
    with raises(ValueError, "(13, 6)"):
        lw.rollout(arm, lw.neutral(arm), steps=1, dt=0.1, wrench=np.zeros(6))


def test_results_go_into_those_of_an_earlier_rollout(place: str) -> None:
    q, qd = starts(PLANAR, 9)
    options: dict[str, Any] = {"steps": 8, "dt": 2e-3, "every": 4}
    expected = lw.rollout(PLANAR, q, qd, **options)
    out = lw.rollout(PLANAR, qd, q, **options)
    found = lw.rollout(PLANAR, q, qd, **options, out=out)
    assert same(found, expected)
    assert found.q is out.q
    assert found.finite is out.finite
    there = [DeviceArray(device(0), x.shape, "float64").copy_from(x) for x in (q, qd)]
    first = lw.rollout(PLANAR, *there[::-1], **options, target="cuda")
    again = lw.rollout(PLANAR, *there, **options, target="cuda", out=first)
    assert again.qd is first.qd
    assert np.array_equal(again.qd.copy_to_host(), expected.qd)
    ends = lw.rollout(PLANAR, q, qd, steps=8, dt=2e-3, out=out)
    assert ends.q is None
    assert np.array_equal(ends.q_end, expected.q_end)
    ends = lw.rollout(PLANAR, out.q_end, out.qd_end, **options, out=out)  # from where it ended
    assert ends.q_end is out.q_end
    assert same(ends, lw.rollout(PLANAR, expected.q_end, expected.qd_end, **options))
    again = lw.rollout(PLANAR, again.q_end, again.qd_end, **options, target="cuda", out=again)
    assert np.array_equal(again.q.copy_to_host(), ends.q)
    with raises(ValueError, "out.q_end", "memory", "input"):
        lw.rollout(PLANAR, q, qd, **options, torque=out.q_end, out=out)
    with raises(ValueError, "out.q_end", "(9, 3)", "(5, 3)"):
        lw.rollout(PLANAR, q[:5], qd[:5], **options, out=out)
    with raises(ValueError, "out", "q0", "NumPy", "GPU"):
        lw.rollout(PLANAR, q, qd, **options, out=out, target="cuda")
    with raises(TypeError, "out", "3"):
        lw.rollout(PLANAR, q, qd, **options, out=3)  # type: ignore[arg-type]


def test_two_rollouts_go_on_where_one_would() -> None:
    robot = TEXTBOOK[3]
    q, qd = starts(robot)
    whole = lw.rollout(robot, q, qd, steps=30, dt=1e-2)
    half = lw.rollout(robot, q, qd, steps=15, dt=1e-2)
    rest = lw.rollout(robot, half.q_end, half.qd_end, steps=15, dt=1e-2)
    assert np.array_equal(rest.q_end, whole.q_end)
    assert np.array_equal(rest.qd_end, whole.qd_end)


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_trajectory_does_not_depend_on_the_others_nor_on_threads(dtype: str) -> None:
    robot = PLANAR
    q, qd = starts(robot, 37)
    every = lw.rollout(robot, q, qd, steps=12, dt=1e-2, dtype=dtype, every=4)
    for k in (0, 17, 36):
        one = lw.rollout(robot, q[k], qd[k], steps=12, dt=1e-2, dtype=dtype, every=4)
        assert one.q.shape == (4, robot.n)
        assert np.array_equal(one.q, every.q[k])
        assert int(one.finite) == 12
    assert same(every, lw.rollout(robot, q, qd, steps=12, dt=1e-2, dtype=dtype, every=4, threads=3))


def test_samples_need_not_end_with_the_last_step() -> None:
    robot = TEXTBOOK[0]
    found = lw.rollout(robot, starts(robot)[0], steps=7, dt=0.01, every=3)
    assert found.t == pytest.approx([0.0, 0.03, 0.06])
    assert np.array_equal(found.q[:, 1], lw.rollout(robot, starts(robot)[0], steps=3, dt=0.01).q_end)
    assert lw.rollout(robot, starts(robot)[0], steps=7, dt=0.01).q is None


def test_orientations_have_unit_length() -> None:
    q, qd = starts(FLYING)
    found = lw.rollout(FLYING, q, 3.0 * qd, steps=200, dt=5e-3, every=50)
    for first in FLYING.quaternions:
        length = np.linalg.norm(found.q[..., first : first + 4], axis=-1)
        assert np.allclose(length, 1.0, rtol=0.0, atol=1e-15)


# what acts


def test_torques_of_a_table_are_held_over_their_steps() -> None:
    robot = PLANAR
    q, qd = starts(robot, 5)
    table = np.random.default_rng(3).normal(size=(5, 6, robot.n))
    found = lw.rollout(robot, q, qd, steps=6, dt=0.01, table=table)
    state = q, qd
    for k in range(6):
        one = lw.rollout(robot, *state, steps=1, dt=0.01, torque=table[:, k])
        state = one.q_end, one.qd_end
    assert np.array_equal(found.q_end, state[0])
    shared = lw.rollout(robot, q, qd, steps=6, dt=0.01, table=table[2])
    assert np.array_equal(shared.q_end[2], found.q_end[2])
    assert not np.array_equal(shared.q_end[1], found.q_end[1])


def test_laws_and_their_parameters() -> None:
    robot = PLANAR
    q, qd = starts(robot, 4)
    gains = np.array([0.01, 0.02, 0.03, 0.05])
    own = {"kd": lw.per_trajectory(gains), "push": np.full(robot.n, 0.02)}
    found = lw.rollout(robot, q, qd, steps=20, dt=0.01, torque=law, parameters=own, friction=lw.Friction(viscous=0.01))
    for k in range(4):
        expected = lw.simulate(
            robot, q[k], qd[k], 0.2, law, integrator="rk4", dt=0.01, parameters={**own, "kd": gains[k]}, samples=2,
            friction=lw.Friction(viscous=0.01), compiled=True,
        )  # fmt: skip
        assert np.allclose(found.q_end[k], expected.q[-1], rtol=0.0, atol=1e-12)
    both = lw.rollout(robot, q, qd, steps=20, dt=0.01, torque=law, parameters=own, table=np.full((20, robot.n), 0.01))
    pushed = {**own, "push": np.full(robot.n, 0.02)}
    alone = lw.rollout(
        robot, q, qd, steps=20, dt=0.01, parameters=pushed,
        torque=lambda arm, t, q, qd, kd, push: 0.01 + push * np.cos(3.0 * t) - kd * qd,
    )  # fmt: skip
    assert np.allclose(both.q_end, alone.q_end, rtol=0.0, atol=1e-13)


def test_symbols_of_the_robot_have_a_number_for_each_trajectory() -> None:
    masses = np.array([0.5, 1.0, 2.0])
    family = pendulum(lw.symbols("m"))
    found = lw.rollout(family, [0.3], steps=50, dt=0.01, torque=[1.0], parameters={"m": lw.per_trajectory(masses)})
    assert found.q_end.shape == (3, 1)
    for k, mass in enumerate(masses):
        expected = lw.rollout(pendulum(mass), [0.3], steps=50, dt=0.01, torque=[1.0])
        assert np.allclose(found.q_end[k], expected.q_end, rtol=0.0, atol=1e-12)


def test_a_trajectory_is_lost_where_its_numbers_are_not_finite() -> None:
    robot = PLANAR
    q, qd = starts(robot, 9)
    qd[4] = 1e200
    found = lw.rollout(robot, q, qd, steps=10, dt=0.01, every=1)
    assert found.finite[4] < 10
    assert np.isnan(found.q_end[4]).all()
    assert np.isnan(found.qd[4, found.finite[4] + 1 :]).all()
    assert np.isfinite(found.q[4, : found.finite[4] + 1]).all()
    others = np.arange(9) != 4
    assert (found.finite[others] == 10).all()
    assert np.isfinite(found.q[others]).all()


def test_a_lost_trajectory_of_a_batch_stays_lost(place: str) -> None:
    q, qd = starts(PLANAR, 9)
    q[4, 1] = np.nan
    qd[6, 0] = np.inf
    for target in ("cpu", "cuda"):
        found = lw.rollout(PLANAR, q, qd, steps=10, dt=0.01, every=5, target=target)
        assert found.finite.tolist() == [10, 10, 10, 10, 0, 10, 0, 10, 10]
        assert np.isnan(found.q[[4, 6]]).all()
        assert np.isnan(found.qd_end[[4, 6]]).all()
        assert np.isfinite(np.delete(found.q, [4, 6], axis=0)).all()


# on GPUs


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("robot", rest_slow(ROBOTS, [FLYING]), ids=ids(ROBOTS))
def test_the_bits_are_those_of_the_cpu(robot: lw.Robot, dtype: str, place: str) -> None:
    q, qd = starts(robot, 75)
    q[3] *= 1e7  # large angles
    qd[6] = 1e30 if dtype == "float32" else 1e200  # lost at once
    options: dict[str, Any] = {"steps": 20, "dt": 2e-3, "every": 6, "dtype": dtype, "friction": True}
    options["torque"] = starts(robot, 75, 2)[1]
    found = lw.rollout(robot, q, qd, **options, target="cuda")
    assert same(found, lw.rollout(robot, q, qd, **options))
    if robot is FLYING:
        assert found.finite[6:8].tolist() == [0, 20]


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_bits_of_laws_tables_and_parameters(dtype: str, place: str) -> None:
    robot = PLANAR
    q, qd = starts(robot, 40)
    rng = np.random.default_rng(5)
    options: dict[str, Any] = {"steps": 15, "dt": 1e-2, "dtype": dtype, "torque": law}
    options["parameters"] = {"kd": lw.per_trajectory(rng.uniform(0.0, 1.0, 40)), "push": rng.normal(size=robot.n)}
    for table in (None, rng.normal(size=(15, robot.n)), rng.normal(size=(40, 15, robot.n))):
        found = lw.rollout(robot, q, qd, **options, table=table, target="cuda")
        assert same(found, lw.rollout(robot, q, qd, **options, table=table))
    short = rng.normal(size=(40, 4, robot.n))  # each row for four steps, the last for three
    found = lw.rollout(robot, q, qd, **options, table=short.repeat(4, axis=1)[:, :15])
    for target in ("cpu", "cuda"):
        assert same(lw.rollout(robot, q, qd, **options, table=short, hold=4, target=target), found)


def test_arrays_on_a_gpu_stay_there(place: str) -> None:
    robot = PLANAR
    q, qd = starts(robot, 33)
    there = [DeviceArray(device(0), x.shape, "float64").copy_from(x) for x in (q, qd)]
    found = lw.rollout(robot, *there, steps=5, dt=0.01, torque=np.ones(robot.n), every=5, target="cuda")
    expected = lw.rollout(robot, q, qd, steps=5, dt=0.01, torque=np.ones(robot.n), every=5)
    for name in ("q", "qd", "q_end", "qd_end", "finite"):
        result = getattr(found, name)
        assert isinstance(result, DeviceArray)
        assert np.array_equal(result.copy_to_host(), getattr(expected, name))


def test_blocks_load_a_gpu_evenly() -> None:
    program = program_of(Problem(PLANAR, tau=True, energy_balance=False))
    made = CudaRollout(rollout_of(program, "rk4", PLANAR.nq), "float32")
    counts = (1, 5_000, 40_000, 65_536, 1 << 20)
    assert [made.threads(count, 132) for count in counts] == [32, 64, 64, 256, 128]
    assert made.code.threads == 256


def test_no_trajectories_are_none(place: str) -> None:
    robot = TEXTBOOK[0]
    for target in ("cpu", "cuda"):
        found = lw.rollout(robot, np.zeros((0, robot.n)), steps=3, dt=0.1, every=1, target=target)
        assert found.q.shape == (0, 4, robot.n)
        assert found.finite.shape == (0,)


# what is refused


@pytest.mark.parametrize(
    ("change", "kind", "message"),
    [
        ({"steps": 0}, ValueError, "steps is 0"),
        ({"steps": 2.5}, TypeError, "steps is 2.5"),
        ({"dt": -1.0}, ValueError, "dt is -1.0"),
        ({"every": 0}, ValueError, "every is 0"),
        ({"integrator": "verner65"}, ValueError, "integrator is 'verner65'"),
        ({"target": "gpu"}, ValueError, "target is 'gpu', did you mean 'cuda'"),
        ({"dtype": "float16"}, ValueError, "dtype is 'float16'"),
        ({"q0": [0.0, np.inf, 0.0]}, ValueError, r"q0\[1\] is inf: expected finite numbers"),
        ({"q0": [0.0]}, ValueError, r"q0 has shape \(1,\) \(expected \(\.\.\., 3\)"),
        ({"torque": np.zeros((2, 3)), "q0": np.zeros((4, 3))}, ValueError, "batch shapes do not fit"),
        ({"table": np.zeros((4, 3))}, ValueError, r"table has shape \(4, 3\) \(expected \(\.\.\., 5, 3\)\)"),
        ({"table": np.zeros((5, 3)), "hold": 2}, ValueError, r"table has shape \(5, 3\) \(expected \(\.\.\., 3, 3\)\)"),
        ({"hold": 2}, ValueError, "hold is 2, and there is no table"),
        ({"hold": 0, "table": np.zeros((5, 3))}, ValueError, "hold is 0 .expected a whole number from 1"),
        ({"table": np.zeros((5, 3)), "torque": [0, 0, 0]}, ValueError, "torque is constant, and table is given"),
        ({"parameters": {"kp": 1.0}}, ValueError, "'kp' is neither a symbol"),
        ({"torque": law, "parameters": {"kd": 1.0}}, ValueError, "'push' has no value"),
        ({"friction": lw.Friction(coulomb=1.0, smooth=0)}, ValueError, "friction is exact"),
        ({"torque": lambda arm, t, q, qd: [float(q[0])] * 3}, TypeError, "cannot be traced"),
        ({"stream": 1}, ValueError, "stream is given"),
    ],
)
def test_mistakes_are_told(change: dict[str, Any], kind: type[Exception], message: str) -> None:
    options = {"q0": [0.0, 0.0, 0.0], "steps": 5, "dt": 0.01} | change
    with pytest.raises(kind, match=message):
        lw.rollout(lw.load("planar3"), **options)


# long rollouts


@pytest.fixture
def short_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of a few steps, as if robots were expensive."""
    monkeypatch.setattr("linkwise.targets.cpu.rollout.SLICE", 1)
    for name, value in {"LAUNCH": 1, "THREAD": 1, "NUMBER": 3_000}.items():
        monkeypatch.setattr(f"linkwise.targets.cuda.trajectories.{name}", value)


@pytest.mark.parametrize("steps", [8, 13])
def test_parts_of_a_rollout_give_the_bits_of_the_whole(steps: int, place: str, request: pytest.FixtureRequest) -> None:
    """With orientations, whose length is not changed between the parts, samples, a table, times and a lost state."""
    q, qd = starts(FLYING, 10)
    qd[6] = 1e60  # lost after some steps
    table = 0.1 * np.random.default_rng(2).normal(size=(steps, FLYING.n))
    options: dict[str, Any] = {"steps": steps, "dt": 0.05, "every": 3, "table": table, "torque": law}
    options["parameters"] = {"kd": lw.per_trajectory(np.linspace(0.0, 1.0, 10)), "push": 0.2}
    if steps == 8:
        options |= {"table": table[:3], "hold": 3}
    expected = lw.rollout(FLYING, q, qd, **options)
    ends = lw.rollout(FLYING, q, qd, **{**options, "every": None})
    request.getfixturevalue("short_parts")
    assert same(lw.rollout(FLYING, q, qd, **options, threads=2), expected)
    assert same(lw.rollout(FLYING, q, qd, **{**options, "every": None}), ends)
    assert same(lw.rollout(FLYING, q, qd, **options, target="cuda"), expected)


def test_launches_are_neither_long_nor_many() -> None:
    program = program_of(Problem(PLANAR, tau=True, energy_balance=False))
    made = CudaRollout(rollout_of(program, "rk4", PLANAR.nq), "float64")
    assert made.most(65_536) >= 1000
    for count in (1, 1000, 1 << 20, 1 << 28):
        parts = list(parts_of(Settings(10_000_000, 7, 2, 1e-3), made.most(count)))
        assert parts[0].first == 0
        assert parts[-1].stop == 10_000_000
        assert all(one.stop == other.first for one, other in pairwise(parts))
        per_thread = made.cost * parts[0].stop
        assert per_thread <= 1e8
        assert count * per_thread <= 5e12 or per_thread <= 1.1 * 5_000 * 6


def test_ctrl_c_ends_a_long_rollout_on_a_gpu(short_parts: None, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    calls: list[int] = []

    def interrupted(*_: Any) -> None:
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt

    gpu = device(0)
    monkeypatch.setattr(type(gpu), "synchronize", interrupted)
    with pytest.raises(KeyboardInterrupt):
        lw.rollout(PLANAR, np.zeros((5, 3)), np.zeros((1, 3)), steps=10_000, dt=1e-3, target="cuda")
    assert len(calls) <= 5
