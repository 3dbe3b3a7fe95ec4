"""Trajectories of robots with orientations and joints of several degrees of freedom."""

from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import linkwise as lw
from effort import rest_slow
from facts import raises
from linkwise.robot.layout import Layout
from linkwise.spatial import quaternion_product, quaternion_rate
from robots import relative

EVERY = lw.random_tree(5, seed=4, joints="SFURP")
FLYING = lw.load("planar3").with_free_base(mass=4.0, inertia=np.diag([0.3, 0.4, 0.5]))
POINTS = np.random.default_rng(7).normal(size=(5, EVERY.nq))
TIMES = [0.0, 0.4, 1.1, 1.5, 2.0]
KINDS = {
    "cycloid": lw.trajectories.cycloid(*POINTS[:2], 2.0, robot=EVERY),
    "quintic": lw.trajectories.quintic(*POINTS[:2], 2.0, robot=EVERY),
    "septic": lw.trajectories.septic(*POINTS[:2], 2.0, robot=EVERY),
    "trapezoid": lw.trajectories.trapezoid(*POINTS[:2], duration=2.0, acceleration=9.0, robot=EVERY),
    "spline": lw.trajectories.spline(TIMES, POINTS, robot=EVERY),
    "natural": lw.trajectories.spline(TIMES, POINTS, ends="natural", robot=EVERY),
    "joined": lw.trajectories.cycloid(*POINTS[:2], 1.0, robot=EVERY).then(
        lw.trajectories.quintic(*POINTS[1:3], 1.0, robot=EVERY)
    ),
}
STILL = POINTS[0].copy()
STILL[-1] += 1.0  # one joint moves, all orientations stay
every_kind = pytest.mark.parametrize("kind", KINDS)


def rates_of(robot, q, qd):
    """q̇, by columns."""
    layout, rates = Layout.of(robot), np.zeros(q.shape)
    for p, v in layout.plain:
        rates[..., p] = qd[..., v]
    for p, v in layout.quaternions:
        rates[..., p : p + 4] = np.moveaxis(
            quaternion_rate(np.moveaxis(q[..., p : p + 4], -1, 0), np.moveaxis(qd[..., v : v + 3], -1, 0)), 0, -1
        )
    return rates


def rotations(q, p):
    return Rotation.from_quat(np.roll(q[..., p : p + 4], -1, axis=-1))


def same_configuration(robot, q, other):
    """Largest difference; opposite quaternions are the same orientation."""
    q = np.array(q)
    for p in robot.quaternions:
        other = other.copy()
        q[..., p : p + 4] /= np.linalg.norm(q[..., p : p + 4], axis=-1, keepdims=True)
        other[..., p : p + 4] /= np.linalg.norm(other[..., p : p + 4], axis=-1, keepdims=True)
        q[..., p : p + 4] *= np.sign((q[..., p : p + 4] * other[..., p : p + 4]).sum(axis=-1, keepdims=True))
    return float(np.abs(q - other).max())


@every_kind
def test_rates_and_accelerations_are_the_derivatives_and_quaternions_have_unit_length(kind):
    move, h = KINDS[kind], 1e-6
    t = np.array([0.1, 0.37, 0.77, 1.3, 1.81])
    q, qd, qdd = move(t)
    before, after = move(t - h), move(t + h)
    assert relative((after.q - before.q) / (2.0 * h), rates_of(EVERY, q, qd)) < 1e-8
    assert relative((after.qd - before.qd) / (2.0 * h), qdd) < 1e-8
    assert np.abs(qd).max() > 0.1
    for p in EVERY.quaternions:
        assert np.abs(np.linalg.norm(q[:, p : p + 4], axis=-1) - 1.0).max() < 1e-15


@pytest.mark.parametrize("kind", ["cycloid", "quintic", "septic", "trapezoid"])
def test_orientations_turn_the_shortest_way_about_a_fixed_axis_in_step_with_the_rest(kind):
    move, t = KINDS[kind], np.linspace(0.0, 2.0, 9)
    q, layout = move(t).q, Layout.of(EVERY)
    assert same_configuration(EVERY, POINTS[:2], q[[0, -1]]) < 1e-13
    share = (q[:, layout.plain[0][0]] - q[0, layout.plain[0][0]]) / (q[-1] - q[0])[layout.plain[0][0]]
    for p in EVERY.quaternions:
        turned = (rotations(q[0], p).inv() * rotations(q, p)).as_rotvec()
        assert np.abs(turned - share[:, None] * turned[-1]).max() < 1e-13
    for p, _ in layout.plain:
        assert np.abs(q[:, p] - q[0, p] - share * (q[-1] - q[0])[p]).max() < 1e-13


def test_trapezoids_keep_every_degree_of_freedom_within_its_limits_and_one_reaches_it():
    speed, acceleration = np.linspace(0.5, 1.5, EVERY.n), np.linspace(1.0, 3.0, EVERY.n)[::-1]
    move = lw.trajectories.trapezoid(*POINTS[:2], speed=speed, acceleration=acceleration, robot=EVERY)
    _, qd, qdd = move(np.linspace(0.0, move.duration, 4001)[1:-1])
    assert abs((np.abs(qd) / speed).max() - 1.0) < 1e-12
    assert abs((np.abs(qdd) / acceleration).max() - 1.0) < 1e-12


def test_splines_pass_through_their_points_and_do_not_depend_on_the_axes():
    move, t = KINDS["spline"], np.linspace(0.0, 2.0, 41)
    assert same_configuration(EVERY, POINTS, move(TIMES).q) < 1e-14
    jump = move([0.4 - 1e-9, 0.4 + 1e-9])
    assert relative(jump.qdd[0], jump.qdd[1]) < 1e-6
    p, v = Layout.of(EVERY).quaternions[0]
    left, right = np.random.default_rng(3).normal(size=(2, 4))
    turned = POINTS.copy()
    both_sides = quaternion_product(quaternion_product(left, POINTS[:, p : p + 4].T), right)
    turned[:, p : p + 4] = np.transpose(both_sides) * np.c_[[1.0, -2.0, 0.3, -1.0, 5.0]]
    other = lw.trajectories.spline(TIMES, turned, robot=EVERY)(t)
    back = rotations(right, 0).inv()
    assert relative(other.qd[:, v : v + 3], back.apply(move(t).qd[:, v : v + 3])) < 1e-12
    assert relative(other.qdd[:, v : v + 3], back.apply(move(t).qdd[:, v : v + 3])) < 1e-12


@pytest.mark.parametrize("kind", rest_slow(list(KINDS), ["trapezoid", "joined"]))
def test_traced_times_mean_the_same(kind):
    move, t = KINDS[kind], np.array([-0.5, 0.3, 1.7, 5.0])
    kernel = lw.compile(lambda arm, t: np.concatenate(move(t)), EVERY)
    assert relative(kernel(t), np.concatenate(move(t), axis=-1)) < 1e-13


@pytest.mark.parametrize(
    "move",
    [
        lw.trajectories.septic(POINTS[0], STILL, 2.0, robot=EVERY),
        lw.trajectories.spline([0, 2], [POINTS[0], STILL], robot=EVERY),
    ],
)
def test_orientations_that_stay_are_traced_too(move):
    kernel, t = lw.compile(lambda arm, t: np.concatenate(move(t)), EVERY), np.array([-0.5, 0.3, 1.7, 5.0])
    assert relative(kernel(t), np.concatenate(move(t), axis=-1)) < 1e-13
    assert np.abs(move(t).qd[:, :-1]).max() < 1e-15
    assert same_configuration(EVERY, np.tile(POINTS[0], (4, 1))[:, :-1], move(t).q[:, :-1]) < 1e-15


def test_tables_are_read_back_by_the_names_of_their_columns(tmp_path: Path) -> None:
    move, path, t = KINDS["spline"], tmp_path / "move.csv", np.linspace(0.0, 2.0, 41)
    move.to_csv(path, samples=41)
    header = path.read_text().splitlines()[0].split(",")
    assert header == [
        "t",
        *(f"q.{x}" for x in EVERY.q_names),
        *(f"{w}.{x}" for w in ("qd", "qdd") for x in EVERY.v_names),
    ]
    again = lw.trajectories.read_csv(path, robot=EVERY)
    for ours, theirs in zip(again(t), move(t), strict=True):
        assert relative(ours, theirs) < 1e-13
    for ours, theirs in zip(again(t[:-1] + 0.02), move(t[:-1] + 0.02), strict=True):
        assert relative(ours, theirs) < 1e-3
    few = tmp_path / "few.csv"
    rows = [line.split(",")[: 1 + EVERY.nq] for line in path.read_text().splitlines()]
    few.write_text("\n".join(",".join(row) for row in rows))
    assert relative(lw.trajectories.read_csv(few, robot=EVERY)(t).q, move(t).q) < 1e-13
    along = lw.torque_along(EVERY, move, 41)
    along.to_csv(path)
    assert relative(lw.trajectories.read_csv(path, robot=EVERY)(t).q, along.q) < 1e-13
    for text, said in [
        (few.read_text().replace("q.link1.qw", "q.link1.qv", 1), r":1: column 'q.link1.qv', did you mean"),
        (few.read_text().replace("q.link1.qw", "mx.link1", 1), ":1: column 'q.link1.qw' is missing"),
    ]:
        few.write_text(text)
        with pytest.raises(lw.errors.FileError, match=said):
            lw.trajectories.read_csv(few, robot=EVERY)
    with raises(lw.errors.FileError, "robot="):
        lw.trajectories.read_csv(path)


def test_the_work_of_the_drives_is_the_change_of_energy_and_peaks_have_a_row_for_each_degree_of_freedom():
    start, end = np.random.default_rng(1).normal(size=(2, FLYING.nq))
    along = lw.torque_along(FLYING, lw.trajectories.cycloid(start, end, 2.0, robot=FLYING), 2001)
    work = np.trapezoid(along.power.sum(axis=-1), along.t)
    assert abs(work - (lw.potential_energy(FLYING, end) - lw.potential_energy(FLYING, start))) < 1e-6
    peaks = along.peaks()
    assert peaks.joints == FLYING.v_names
    assert peaks.units == ("N",) * 3 + ("N m",) * 6
    assert along.loads.shape == (2001, 4, 6)
    text = repr(peaks).splitlines()
    assert [line.split()[0] for line in text[3:12]] == list(FLYING.v_names)
    assert [line.split()[0] for line in text[-4:]] == list(FLYING.names)
    assert text[-4].split()[-3:] == ["-", "-", "-"]  # a free joint has no axis
    assert np.isfinite(peaks.radial[1:]).all()
    figure = along.plot(loads=True)
    assert len(figure.axes) == 8
    above, below = figure.subfigs
    assert [text.get_text() for text in below.legends[0].get_texts()] == list(FLYING.names)
    looks = {line.get_label(): (line.get_color(), line.get_linestyle()) for line in above.axes[0].lines}
    for line in below.axes[0].lines[:4]:
        assert looks.get(line.get_label(), ("0.15", "-")) == (line.get_color(), line.get_linestyle())


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (
            lambda: lw.trajectories.cycloid(POINTS[0][1:], POINTS[1][1:], 1.0, robot=EVERY),
            r"start has 1\d numbers .expected",
        ),
        (
            lambda: lw.trajectories.cycloid(0.0 * POINTS[0], POINTS[1], 1.0, robot=EVERY),
            "start.*begins a quaternion of length zero",
        ),
        (
            lambda: lw.trajectories.cubic(*POINTS[:2], 1.0, end_rate=1.0, robot=EVERY),
            "end_rate of 'link1.wx' is 1 .expected 0, at rest",
        ),
        (
            lambda: lw.torque_along(FLYING, lw.trajectories.cycloid(np.ones(9), np.ones(9), 1.0)),
            "expected one made with robot=",
        ),
        (lambda: KINDS["spline"].then(lw.trajectories.cycloid([1.0] * EVERY.n, [1.0] * EVERY.n, 1.0)), "cannot follow"),
        (lambda: KINDS["spline"].then(KINDS["spline"]), "'link1.qw' would jump"),
        (
            lambda: lw.trajectories.spline(TIMES, np.zeros((5, EVERY.nq)), robot=EVERY),
            r"points\[0, 0\], joint 'link1', begins",
        ),
        (lambda: lw.trajectories.cycloid([0], [1], 1.0, robot="planar3"), "robot is 'planar3' .expected a Robot"),
    ],
    ids=["size", "zero", "rate", "along", "then", "jump", "spline", "robot"],
)
def test_what_is_wrong_is_said(make, said):
    with pytest.raises((ValueError, TypeError), match=said):
        make()
