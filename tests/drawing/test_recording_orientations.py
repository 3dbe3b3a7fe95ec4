"""Recordings of robots with orientations: files, tables, pictures and words."""

import numpy as np
import pytest

import linkwise as lw
from robots import relative

FLYING = lw.load("planar3").with_free_base(mass=4.0, inertia=np.diag([0.3, 0.4, 0.5]), name='base, "0"')
EVERY = lw.random_tree(5, seed=4, joints="SFURP")


@pytest.fixture(scope="module")
def flight():
    q0, qd0 = np.random.default_rng(0).normal(size=(2, FLYING.nq))
    law = lw.control.pd_gravity(q0, 2.0, 1.0, passive=FLYING.joint_names[:1])
    falls = lw.Event(lambda arm, t, q, qd: q[1] - q0[1] + 0.01, "fallen")
    return lw.simulate(FLYING, q0, qd0[: FLYING.n], 0.5, torque=law, samples=11, events=[falls])


@pytest.mark.parametrize("ending", ["npz", "csv", "parquet"])
def test_recordings_come_back_to_the_last_bit(tmp_path, flight, ending):
    if ending == "parquet":
        pytest.importorskip("pyarrow")
    path = tmp_path / f"flight.{ending}"
    flight.save(path)
    again = lw.load_recording(path)
    assert again == flight
    assert again.robot == FLYING
    assert again.q.shape == (11, 10)
    assert again.qd.shape == again.tau.shape == again.qdd.shape == (11, 9)


def test_columns_are_named_after_the_coordinates(tmp_path, flight):
    pytest.importorskip("pandas")
    frame = flight.to_pandas()
    words = {"q": FLYING.q_names, "qd": FLYING.v_names, "qdd": FLYING.v_names, "tau": FLYING.v_names}
    assert list(frame) == ["t", *(f"{w}.{x}" for w, names in words.items() for x in names), "energy", "work", "heat"]
    assert np.array_equal(frame['q.base, "0".qw'], flight.q[:, 3])
    flight.save(tmp_path / "flight.csv")
    motion = lw.trajectories.read_csv(tmp_path / "flight.csv", robot=FLYING)(flight.t)
    for name in ("q", "qd", "qdd"):
        assert relative(getattr(motion, name), getattr(flight, name)) < 1e-13


def test_events_have_configurations_of_unit_quaternions(flight):
    assert flight.events
    for event in flight.events:
        assert event.q.shape == (10,)
        assert event.qd.shape == (9,)
        assert abs(np.linalg.norm(event.q[3:7]) - 1.0) < 1e-15
    assert np.abs(np.linalg.norm(flight.q[:, 3:7], axis=-1) - 1.0).max() < 1e-15


def test_the_energy_balance_knows_of_passive_joints(flight):
    assert (flight.tau[:, :6] == 0.0).all()
    assert np.abs(flight.imbalance).max() < 1e-6
    assert flight.joint_wrenches().shape == (11, 4, 6)
    assert "9 degrees of freedom, 4 joints (FRRR)" in str(flight.summary())


def test_quaternions_have_a_panel_of_their_own(flight):
    labels = [axes.get_ylabel() for axes in flight.plot().axes]
    assert labels.count("quaternion") == 1
    assert {"angle (rad)", "displacement (m)", "rate (rad/s)", "rate (m/s)", "torque (N m)"} < set(labels)
    assert "force (N)" not in labels  # none acted
    panel = next(axes for axes in flight.plot().axes if axes.get_ylabel() == "quaternion")
    drawn = np.array([line.get_ydata() for line in panel.get_lines() if len(line.get_xdata()) == 11])
    assert np.array_equal(drawn.T, flight.q[:, 3:7])
    base = flight.plot(joints=FLYING.joint_names[0])
    assert "angle (rad)" not in [axes.get_ylabel() for axes in base.axes]
    arm = [axes.get_ylabel() for axes in flight.plot(joints=["link1", FLYING.v_names[8]]).axes]
    assert "quaternion" not in arm
    labels = [[axes.get_ylabel() for axes in flight.plot(joints=[name]).axes] for name in FLYING.q_names[2:4]]
    assert [("quaternion" in own, "displacement (m)" in own) for own in labels] == [(False, True), (True, False)]
    expected = (
        r"joints: robot 'planar3' has no joint 'link9', did you mean 'link3'\? .expected one of .*'link1'.*number"
    )
    with pytest.raises(ValueError, match=expected):
        flight.plot(joints="link9")


def test_a_position_looks_as_its_rate_and_the_legend_names_both(flight):
    figure = flight.plot(joints=FLYING.joint_names[0])
    texts = [text.get_text() for text in figure.legends[0].get_texts()]
    base = FLYING.joint_names[0]
    pairs = [f"{base}.x, vx", f"{base}.y, vy", f"{base}.z, vz", *FLYING.v_names[3:6]]
    assert texts == ["quaternions", *FLYING.q_names[3:7], "positions and rates", *pairs, "fallen"]
    curves = {axes.get_ylabel(): [line for line in axes.lines if len(line.get_xdata()) == 11] for axes in figure.axes}
    look = {name: [(line.get_color(), line.get_linestyle()) for line in lines] for name, lines in curves.items()}
    assert look["displacement (m)"] == look["rate (m/s)"]
    assert look["quaternion"][1:] == look["rate (rad/s)"]
    assert len({*look["quaternion"], *look["rate (m/s)"]}) == 7
    assert np.array_equal([line.get_ydata() for line in curves["displacement (m)"]], flight.q[:, :3].T)
    assert {"torque (N m)", "force (N)"}.isdisjoint(curves)  # nothing drives the base


@pytest.mark.slow
def test_large_robots_show_what_moves_most_and_no_look_twice():
    robot = lw.load("humanoid")
    rates = np.zeros(robot.n)
    rates[robot.v_slice("left_thigh")] = 1.0
    torque = np.where(np.arange(robot.n) == robot.n - 1, 1e-3, 0.0)
    run = lw.simulate(robot.with_gravity((0, 0, 0)), lw.neutral(robot), rates, 0.1, samples=5, torque=torque)
    figure, every = run.plot(), run.plot(joints=list(robot.joint_names))
    assert "joints=... chooses others" in figure.get_suptitle()
    texts = [text.get_text() for text in figure.legends[0].get_texts()]
    assert {"pelvis.qw", "pelvis.x, vx", "left_thigh.wx"} < set(texts)
    assert len(texts) <= 26
    for axes in [*figure.axes, *every.axes]:
        looks = [(line.get_color(), str(line._dash_pattern)) for line in axes.lines if len(line.get_xdata()) == 5]
        assert len(looks) == len(set(looks)) > 0


def test_rounding_errors_are_drawn_as_a_constant():
    body = [{"name": "drone", "joint": "free", "translation": (0, 0, 0), "mass": 1.0, "com": (0, 0, 0)}]
    body[0]["inertia"] = np.eye(3)
    drone = lw.Robot.from_frames(body, name="drone", gravity=(0, 0, 0))
    run = lw.simulate(drone, lw.neutral(drone), np.full(6, 1e-17), 0.1, samples=5)
    for axes in run.plot().axes[:-1]:
        assert np.ptp(axes.get_ylim()) > 0.1


def test_many_trajectories_of_every_kind_of_joint_are_those_alone(tmp_path):
    rng = np.random.default_rng(5)
    q, qd = rng.normal(size=(3, EVERY.nq)), 0.3 * rng.normal(size=(3, EVERY.n))
    runs = lw.simulate(EVERY, q, qd, 0.2, samples=4)
    runs.save(tmp_path / "runs.csv")
    again = lw.load_recording(tmp_path / "runs.csv")
    assert again == runs
    alone = lw.simulate(EVERY, q[1], qd[1], 0.2, samples=4)
    assert np.array_equal(runs.q[1], alone.q)
    assert len(runs.plot().axes) > 3
