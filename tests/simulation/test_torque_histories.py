"""Torques over time: what inverse dynamics gives along a motion brings the motion back."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwise as lw
from command_line import linkwise
from facts import raises, warns
from linkwise.errors import FileError
from linkwise.recording.one_trajectory import until_end
from robots import CHAINS, DRIVEN, FREE, relative

PLANAR = lw.load("planar3")
START = np.zeros(3)


def motion_of(robot: lw.Robot, duration: float) -> lw.trajectories.Trajectory:
    start = np.array(lw.neutral(robot))
    return lw.trajectories.cycloid(start, start + np.where([k == "P" for k in robot.joints], 0.1, 1.0), duration)


@pytest.mark.parametrize(
    ("name", "duration", "samples"), [("planar3", 1.0, 501), ("stanford", 4.0, 2001), ("puma560", 4.0, 1001)]
)
def test_torques_along_a_motion_bring_the_motion_back(name: str, duration: float, samples: int, tmp_path: Path) -> None:
    """Longer motions cannot: open loop, rounding errors of the arm's own equations grow, planar3's by 1e15 in 10 s."""
    robot = lw.load(name)
    motion = motion_of(robot, duration)
    loads = lw.torque_along(robot, motion, samples, loads=False)
    loads.to_csv(tmp_path / "tau.csv")
    for torque in (loads, (loads.t, loads.tau), tmp_path / "tau.csv"):
        run = lw.simulate(robot, loads.q[0], torque=torque, rtol=1e-12, samples=21)
        assert run.t[-1] == duration
        assert np.abs(run.q - motion(run.t).q).max() < 1e-8
        assert relative(run.tau, lw.torque_along(robot, motion, 21, loads=False).tau) < 1e-6


@pytest.mark.parametrize("robot", [*CHAINS[:2], FREE[0]], ids=lambda robot: robot.name)
def test_cubic_histories_are_exact_for_cubics_and_each_trajectory_has_its_own(robot: lw.Robot) -> None:
    rng = np.random.default_rng(1)
    a = rng.normal(size=(4, 2, robot.n))
    t = np.array([0.0, 0.1, 0.15, 0.4, 0.5])
    tau = sum(a[k] * t[:, None, None] ** k for k in range(4))
    q0 = lw.random_configuration(robot, rng)
    run = lw.simulate(robot, np.stack([q0, q0]), torque=(t, tau), rtol=1e-11, samples=11)
    for k in range(2):
        law = lambda robot, t, q, qd, k=k: a[0, k] + t * (a[1, k] + t * (a[2, k] + t * a[3, k]))  # noqa: E731
        expected = lw.simulate(robot, q0, duration=0.5, torque=law, rtol=1e-11, samples=11)
        assert relative(run.q[k], expected.q) < 1e-8
        assert relative(run.tau[k], expected.tau) < 1e-12
        assert relative(run.work[k], expected.work) < 1e-7


def test_held_histories_are_the_tables_of_rollouts() -> None:
    tau = np.random.default_rng(2).normal(size=(6, 3))
    options: dict[str, Any] = {"torque": (np.arange(6) * 0.02, tau), "interpolation": "held"}
    run = lw.simulate(PLANAR, START, integrator="rk4", dt=0.005, samples=6, **options)
    steps = lw.rollout(PLANAR, START, steps=20, dt=0.005, every=4, **options)
    table = lw.rollout(PLANAR, START, steps=20, dt=0.005, every=4, table=tau[:5], hold=4)
    assert np.array_equal(steps.q, table.q)
    assert relative(run.q, table.q) < 1e-13
    assert np.array_equal(run.tau[:-1], tau[:-1])


def test_histories_are_compiled_once_and_run_in_python_too() -> None:
    t = np.linspace(0.0, 0.3, 7)
    tau = np.sin(t)[:, None] * [1.0, 0.5, 0.2]
    run = lw.simulate(PLANAR, START, torque=(t, tau))
    frozen = lw.compile(lw.simulate, PLANAR, torque=(t, tau.copy()))
    assert np.array_equal(frozen(START).q, run.q)
    assert run.compiled
    assert relative(lw.simulate(PLANAR, START, torque=(t, tau), compiled=False).q, run.q) < 1e-9
    held = lw.compile(lw.simulate, PLANAR, torque=(t, tau), interpolation="held")(START, duration=0.2)
    assert np.array_equal(held.q, lw.simulate(PLANAR, START, None, 0.2, (t, tau), interpolation="held").q)


def along(t: np.ndarray, tau: np.ndarray) -> Any:
    spline = lw.trajectories.spline(t, tau, ends="natural")
    return lambda robot, t, q, qd: spline(t).q


def test_stops_and_exact_friction_go_with_histories() -> None:
    t = np.linspace(0.0, 1.0, 11)
    options: dict[str, Any] = {"torque": (t, np.zeros((11, 3)))}
    fall = lw.Event(lambda robot, t, q, qd: q[0] + 0.5, "low", stop=True)
    assert lw.simulate(PLANAR, START, events=[fall], **options).status == "stopped"
    robot = DRIVEN[1].with_gravity((0, 0, 0))
    tau = np.sin(t)[:, None] * np.linspace(0.5, 3.0, robot.n)
    options = {"torque": (t, tau), "friction": lw.Friction(smooth=0), "samples": 11}
    moving = lw.simulate(robot, np.zeros(robot.n), **options)
    law = lw.simulate(robot, np.zeros(robot.n), None, 1.0, along(t, tau), friction=lw.Friction(smooth=0), samples=11)
    assert relative(moving.q, law.q) < 1e-5


T = np.linspace(0.0, 1.0, 5)


def test_modules_sweeps_and_compiled_rollouts_refuse_histories(tmp_path: Path) -> None:
    pair = (T, np.zeros((5, 3)))
    for torque in (pair, lw.simulate(PLANAR, START, torque=pair, samples=5)):
        with raises(ValueError, "torque", "history"):
            lw.wasm(lw.simulate, PLANAR, torque=torque, integrator="rk4", dt=0.01)
        with raises(ValueError, "torque", "history", "sweeps"):
            lw.sweep(PLANAR, {"q0": np.zeros((2, 3))}, tmp_path / "sweep", 1.0, torque=torque)
    with raises(TypeError, "histories", "each run") as caught:
        lw.compile(lw.rollout, PLANAR, torque=pair, interpolation="held")
    assert "array(" not in str(caught.value)


def test_a_history_ends_where_it_ends_but_for_rounding() -> None:
    """0.1 + 0.2 is not 0.3; and no piece is as short as a rounding error."""
    for end, duration in ((0.3, 0.1 + 0.2), (0.9999999999, 1.0)):
        torque = np.linspace(0.0, end, 4), np.ones((4, 3))
        for interpolation in ("cubic", "held"):
            run = lw.simulate(PLANAR, START, None, duration, torque, interpolation=interpolation, samples=5)
            assert (run.status, float(run.reached)) == ("done", duration)
            assert relative(run.tau, np.ones((5, 3))) < 1e-12
    with raises(ValueError, "0.3001", "0.3"):
        lw.simulate(PLANAR, START, None, 0.3001, (np.linspace(0.0, 0.3, 4), np.ones((4, 3))))


@pytest.mark.parametrize("interpolation", ["cubic", "held"])
def test_no_trajectory_under_a_history(interpolation: Any) -> None:
    run = lw.simulate(PLANAR, np.zeros((0, 3)), torque=(T, np.zeros((5, 3))), interpolation=interpolation, samples=4)
    assert run.q.shape == (0, 4, 3)


def test_tables_and_recordings_are_histories() -> None:
    pandas = pytest.importorskip("pandas")
    tau = np.random.default_rng(4).normal(size=(5, 3))
    options: dict[str, Any] = {"samples": 3, "rtol": 1e-10}
    expected = lw.simulate(PLANAR, START, torque=(T, tau), **options).q
    frame = pandas.DataFrame({"t": T, "tau_link2": tau[:, 1], "tau_link1": tau[:, 0], "tau_link3": tau[:, 2]})
    for table in (frame, frame.to_records(index=False), frame.rename(columns={"t": "time"})):
        assert np.array_equal(lw.simulate(PLANAR, START, torque=table, **options).q, expected)
    with raises(ValueError, "torque", "tau3"):
        lw.simulate(PLANAR, START, torque=pandas.DataFrame({"t": T, "tau1": T, "tau2": T}))
    one = lw.simulate(PLANAR, START, torque=(T, tau), samples=T)
    many = lw.simulate(PLANAR, np.zeros((2, 3)), torque=(T, np.stack([tau, tau], axis=1)), samples=T)
    assert relative(lw.simulate(PLANAR, START, torque=one, **options).q, expected) < 1e-6
    assert relative(lw.simulate(PLANAR, np.zeros((2, 3)), torque=many, **options).q[1], expected) < 1e-6
    for torque in ({"t": T, "tau": tau}, [T, tau], [T.tolist(), tau.tolist()]):
        for duration in (None, 0.5):
            with raises(TypeError, "torque", "tuple", "(t, tau)"):
                lw.simulate(PLANAR, START, None, duration, torque)


@pytest.mark.parametrize(
    ("torque", "facts"),
    [
        ((T, np.zeros((4, 3))), ("(5,)", "(4, 3)", "(k, 3)")),
        ((T, np.zeros((5, 2))), ("(5,)", "(5, 2)", "(k, 3)")),
        ((np.zeros((5, 1)), np.zeros((5, 3))), ("(5, 1)", "(5, 3)")),
        ((T + 0.1, np.zeros((5, 3))), ("t[0]", "0.1")),
        ((T[::-1] - 1.0, np.zeros((5, 3))), ("t[1]",)),
        ((np.r_[0, T[:4]], np.zeros((5, 3))), ("t[1]",)),
        ((T, np.full((5, 3), np.nan)), ("finite",)),
        (([0.0], np.zeros((1, 3))), ("1", "two")),
        (np.zeros((501, 4)), ("torque", "(501, 4)")),
    ],
)
def test_what_is_no_history_is_refused(torque: Any, facts: tuple[str, ...]) -> None:
    with raises(ValueError, *facts):
        lw.simulate(PLANAR, START, None, 0.5, torque)


def test_pairs_of_numbers_are_constant_torques() -> None:
    robot = lw.chain(2)
    both = lw.simulate(robot, [0.0, 0.0], None, 0.1, (1.0, 2.0)).q
    assert np.array_equal(both, lw.simulate(robot, [0.0, 0.0], None, 0.1, np.array([1.0, 2.0])).q)


@pytest.mark.parametrize(
    ("options", "facts"),
    [
        ({"duration": 1.5}, ("1.5", "1")),
        ({"duration": 0.5, "interpolation": "linear"}, ("interpolation", "linear", "cubic", "held")),
        ({"duration": 0.5, "interpolation": "held", "torque": None}, ("interpolation", "held")),
        ({"parameters": {"width": 1.0}}, ("width",)),
    ],
)
def test_options_that_do_not_fit_a_history_are_refused(options: dict[str, Any], facts: tuple[str, ...]) -> None:
    with raises(ValueError, *facts):
        lw.simulate(PLANAR, START, **{"torque": (T, np.zeros((5, 3))), **options})


@pytest.mark.parametrize(
    ("options", "facts"),
    [
        ({"interpolation": None}, ("interpolation", "held")),
        ({"dt": 0.1}, ("0.1", "0.2")),
        ({"steps": 21}, ("21", "20")),
        ({"hold": 2}, ("hold",)),
        ({"torque": None}, ("interpolation",)),
    ],
)
def test_rollouts_refuse_histories_that_are_no_tables(options: dict[str, Any], facts: tuple[str, ...]) -> None:
    given = {"torque": (T, np.zeros((5, 3))), "steps": 20, "dt": 0.05, "interpolation": "held", **options}
    with raises(ValueError, *facts):
        lw.rollout(PLANAR, START, **given)


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("t,tau1,tau2\n0,1,2\n1,1,2\n", ("tau3",)),
        ("t,q1,q2,q3\n0,1,2,3\n1,1,2,3\n", ("tau1",)),
        ("t,tau1,tau2,tau3\n0,1,2,3\n", ("tau.csv:2", "1 rows", "two")),
        ("", ("tau.csv:1", "tau1", "two")),
        ("t,tau1,tau2,tau3,tau1\n0,1,2,3,4\n1,1,2,3,4\n", ("tau1", "twice")),
        ("t,tau1,tau2,tau3,tau4\n0,1,2,3,4\n1,1,2,3,4\n", ("tau.csv:1", "4", "tau4", "planar3")),
        ("t,tau_link1,tau_link2,tau_link3,tau_link4\n0,1,2,3,4\n1,1,2,3,4\n", ("tau_link4", "planar3")),
        ("t,q1,q2,q3,q4,tau1,tau2,tau3\n0,1,2,3,4,5,6,7\n1,1,2,3,4,5,6,7\n", ("q4", "planar3")),
        ("t,tau1,tau2,tau3,foo\n0,1,2,3,4\n1,1,2,3,4\n", ("tau.csv:1", "foo", "tau1")),
        ("t,tau1,tau2,tau3\n1,1,2,3\n2,1,2,3\n", ("tau.csv:2", "'t'", "1", "0")),
        ("t,tau1,tau2,tau3\n0,1,2,3\n1,1,2,3\n0.5,1,2,3\n", ("tau.csv:4", "0.5", "increasing")),
        ("trajectory,t,tau1,tau2,tau3\n0,0,1,2,3\n1,1,1,2,3\n", ("tau.csv:3", "trajectory")),
    ],
)
def test_files_of_torques_that_are_wrong_are_named(text: str, facts: tuple[str, ...], tmp_path: Path) -> None:
    file = tmp_path / "tau.csv"
    file.write_text(text)
    with raises(FileError, "tau.csv:", *facts):
        lw.simulate(PLANAR, START, torque=file)


def test_columns_of_torques_are_matched_by_name() -> None:
    pandas = pytest.importorskip("pandas")
    tau = np.random.default_rng(3).normal(size=(5, 3))
    expected = lw.simulate(PLANAR, START, torque=(T, tau)).q
    names = ["link3", "link1", "link2"]
    frame = pandas.DataFrame(tau, columns=list(PLANAR.v_names))
    assert np.array_equal(lw.simulate(PLANAR, START, torque=(pandas.Series(T), frame[names])).q, expected)
    with pytest.raises(TypeError):
        lw.simulate(PLANAR, START, torque=(T, frame.set_axis(list("abc"), axis=1)))


def test_links_may_have_names_of_quantities(tmp_path: Path) -> None:
    """A link called nu1 is a joint in a header, not the quasi-velocity of the first."""
    names = ("nu1", "xi3", "fx2")
    rows = [dict(row, name=name, parent=p) for row, name, p in zip(PLANAR.rows, names, (None, *names), strict=False)]
    robot = lw.Robot.from_dh(rows, convention=PLANAR.convention)
    (tmp_path / "tau.csv").write_text("t,fx2,nu1,xi3\n0,3,1,2\n1,3,1,2\n")
    run = lw.simulate(robot, START, torque=tmp_path / "tau.csv", samples=2)
    assert np.array_equal(run.tau, [[1, 2, 3], [1, 2, 3]])
    (tmp_path / "q.csv").write_text("t,fx2,nu1,xi3\n0,3,1,2\n1,3,1,2\n")
    assert np.array_equal(lw.trajectories.read_csv(tmp_path / "q.csv", robot=robot)(0.5).q, [1, 2, 3])


@pytest.mark.parametrize(
    "tau",
    [np.ma.masked_array(np.ones((5, 3)), mask=np.eye(5, 3)), np.ones((5, 3)).astype(str), np.ones((5, 3), complex)],
    ids=["masked", "text", "complex"],
)
def test_what_constant_torques_refuse_histories_refuse(tau: Any) -> None:
    with raises((TypeError, ValueError), "torque"):
        lw.simulate(PLANAR, START, torque=(T, tau))


def test_two_rows_are_held_as_one_piece() -> None:
    run = lw.simulate(PLANAR, START, torque=([0.0, 0.1], [[1, 0, 0], [0, 0, 0]]), interpolation="held")
    assert np.array_equal(run.tau, np.tile([1.0, 0, 0], (501, 1)))


def test_the_torques_of_a_run_that_ends_early_are_those_of_its_times(tmp_path: Path) -> None:
    """The last sample is where it ends, between two others; also of sampled laws."""
    tau = np.outer(T, [1.0, 2.0, 3.0])
    stop = lw.Event(lambda robot, t, q, qd: t - 0.333, "late", stop=True)
    run = until_end(lw.simulate(PLANAR, START, torque=(T, tau), events=[stop]))
    assert relative(run.tau, np.outer(run.t, [1.0, 2.0, 3.0])) < 1e-12
    law = lw.control.sampled(lambda robot, t, q, qd: t * np.array([1.0, 2.0, 3.0]), dt=0.1)
    run = until_end(lw.simulate(PLANAR, START, None, 1.0, law, events=[stop]))
    assert relative(run.tau[-1], [0.3, 0.6, 0.9]) < 1e-12
    lw.torque_along(PLANAR, motion_of(PLANAR, 1.0)).to_csv(tmp_path / "tau.csv")
    shown = linkwise(f"rfdsim planar3 --torque-history {tmp_path / 'tau.csv'} --duration 0.5")
    assert shown.code == 0
    assert "is reproduced" in shown.out


def test_loads_are_those_of_the_robot() -> None:
    with raises(ValueError, "planar3", "gantry"):
        lw.simulate(lw.load("gantry"), START, torque=lw.torque_along(PLANAR, motion_of(PLANAR, 1.0)))
    loads = lw.torque_along(PLANAR, motion_of(PLANAR, 1.0), 11)
    with pytest.warns(UserWarning, match=r"planar3.*chain"):
        lw.simulate(lw.chain(3), START, None, 0.1, loads)
    lw.simulate(PLANAR.with_payload(0.1), START, None, 0.1, loads)


def test_batch_recordings_as_pairs_have_the_times_in_front() -> None:
    """Where there are as many trajectories as samples, shapes do not say which axis is which: the advice must."""
    starts = np.linspace(0.0, 0.1, 5)[:, None] * np.ones(3)
    run = lw.simulate(PLANAR, starts, duration=1.0, torque=lambda robot, t, q, qd: -q - t, samples=T)
    expected = lw.simulate(PLANAR, starts, torque=run, samples=3)
    pair = (run.t, np.moveaxis(run.tau, -2, 0))
    assert np.array_equal(lw.simulate(PLANAR, starts, torque=pair, samples=3).q, expected.q)
    with raises(ValueError, "(5,)", "(2, 5, 3)", "np.moveaxis(tau, -2, 0)"):
        lw.simulate(PLANAR, starts[:2], torque=(run.t, run.tau[:2]))
    with warns(UserWarning, "planar3", "np.moveaxis(x.tau, -2, 0)"):
        lw.simulate(lw.chain(3), starts, torque=run, samples=3)


UP = lw.BaseMotion(acceleration=(0.0, 0.0, 2.0))
PUSH = np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0])


@pytest.mark.parametrize(("name", "load"), [("base", UP), ("wrench", PUSH)])
def test_torques_beside_which_more_acted_are_taken_with_a_warning(name: str, load: Any, tmp_path: Path) -> None:
    also: dict[str, Any] = {name: load}
    run = lw.simulate(PLANAR, START, duration=0.2, torque=np.ones(3), samples=5, **also)
    run.save(tmp_path / "run.csv")
    loads = lw.torque_along(PLANAR, motion_of(PLANAR, 1.0), 5, **also)
    held: dict[str, Any] = {"interpolation": "held", "steps": 2, "dt": float(run.t[1])}
    for torque in (run, loads, tmp_path / "run.csv"):
        with warns(UserWarning, "torque", f"{name}="):
            lw.simulate(PLANAR, START, None, 0.1, torque, samples=2)
        lw.simulate(PLANAR, START, None, 0.1, torque, samples=2, **also)
    for torque in ((run.t, run.tau), (loads.t, loads.tau)):
        lw.simulate(PLANAR, START, None, 0.1, torque, samples=2)
    with warns(UserWarning, "torque", f"{name}="):
        lw.rollout(PLANAR, START, torque=run, **held)
    with warns(UserWarning, "torque", f"{name}="):
        frozen = lw.compile(lw.simulate, PLANAR, torque=run)
    frozen(START, duration=0.1)


def test_histories_that_are_no_numbers_or_not_of_one_trajectory_say_so() -> None:
    pandas = pytest.importorskip("pandas")
    batch = lw.simulate(PLANAR, np.zeros((2, 3)), duration=0.1, torque=np.ones(3), samples=5)
    with raises(ValueError, "torque", "trajectory 1", "row 5", "one trajectory"):
        lw.simulate(PLANAR, START, torque=batch.to_pandas())
    lw.simulate(PLANAR, START, torque=batch.to_pandas().query("trajectory == 0"), samples=2)
    clock = pandas.DataFrame({"t": pandas.to_timedelta(T, unit="s"), **dict.fromkeys(("tau1", "tau2", "tau3"), T)})
    with raises(TypeError, "torque", "timedelta64", "t.dt.total_seconds()"):
        lw.simulate(PLANAR, START, torque=clock)
    stop = lw.Event(lambda robot, t, q, qd: t - 0.3, "late", stop=True)
    stopped = lw.simulate(PLANAR, START, duration=1.0, events=[stop], samples=5)
    with raises(ValueError, "torque", "stopped", "0.3"):
        lw.simulate(PLANAR, START, torque=stopped)
