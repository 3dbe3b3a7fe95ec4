"""Bearing loads along a trajectory, one default frame for loads, and motions read back from every table we write."""

from pathlib import Path

import numpy as np
import pytest

import linkwise as lw
from facts import raises

STANFORD = lw.load("stanford")
TREE = lw.random_tree(5, seed=3)


def along(arm: lw.Robot, **keywords: object) -> lw.results.Loads:
    start, end = np.random.default_rng(1).normal(size=(2, arm.n))
    return lw.torque_along(arm, lw.trajectories.quintic(start, end, 1.5), 31, **keywords)


def test_loads_are_in_the_base_frame_wherever_nothing_else_is_said() -> None:
    found = along(STANFORD)
    assert found.axes == "base"
    assert np.array_equal(found.loads, lw.joint_wrenches(STANFORD, found.q, found.qd, found.qdd))
    run = lw.simulate(STANFORD, [0, 1, 0.1, 0, 0.3, 0], np.zeros(6), 0.1, samples=3)
    assert np.array_equal(run.joint_wrenches(), lw.joint_wrenches(STANFORD, run.q, run.qd, run.qdd))
    turned = lw.joint_wrenches(STANFORD, found.q, found.qd, found.qdd, axes="frame")
    assert np.array_equal(along(STANFORD, axes="frame").loads, turned)


@pytest.mark.parametrize("axes", ["frame", "base"])
@pytest.mark.parametrize("arm", [STANFORD, TREE], ids=["stanford", "tree"])
def test_bearing_loads_are_the_parts_of_the_loads_along_and_across_the_axis(arm: lw.Robot, axes: str) -> None:
    """By the axes themselves, in the base frame, which no rotation of our own has been through."""
    pushed = np.array([0.3, -0.2, 0.1, 5.0, 4.0, -3.0]) if arm is STANFORD else None
    found = along(arm, axes=axes, wrench=pushed)
    base = lw.joint_wrenches(arm, found.q, found.qd, found.qdd, pushed, axes="base")
    columns = axes_of(arm, found.q)
    moment, force = base[..., :3], base[..., 3:]
    along_axis = (force * columns).sum(-1)
    radial = np.linalg.norm(force - along_axis[..., None] * columns, axis=-1)
    tilting = np.linalg.norm(np.cross(moment, columns), axis=-1)
    for one, other in ((found.axial, along_axis), (found.radial, radial), (found.tilting, tilting)):
        assert np.abs(one - other).max() < 1e-8 * max(1.0, np.abs(other).max())
    peaks = found.peaks()
    assert np.array_equal(peaks.radial, found.radial.max(axis=0))
    assert np.array_equal(peaks.axial, np.abs(found.axial).max(axis=0))
    assert np.array_equal(peaks.tilting, found.tilting.max(axis=0))


def axes_of(arm: lw.Robot, q: np.ndarray) -> np.ndarray:
    """Unit vectors of the joints' axes in the base frame (samples, n, 3), from where unit rates move the links."""
    found = np.empty((*q.shape, 3))
    for k, kind in enumerate(arm.joints):
        rates = np.zeros(arm.n)
        rates[k] = 1.0
        if kind == "P":
            found[:, k] = lw.mass_centres(arm, q, rates, np.zeros(arm.n))[1][:, k]
            continue
        step = 1e-6 * rates
        ahead, behind = (lw.poses(arm, q + s * step)[:, k, :3, :3] for s in (1, -1))
        spin = (ahead - behind) / 2e-6 @ lw.poses(arm, q)[:, k, :3, :3].transpose(0, 2, 1)
        vector = np.stack([spin[:, 2, 1], spin[:, 0, 2], spin[:, 1, 0]], axis=-1)
        found[:, k] = vector / np.linalg.norm(vector, axis=-1, keepdims=True)
    return found


def test_the_table_shows_them_and_leaves_them_out_with_the_loads() -> None:
    text = repr(along(STANFORD).peaks())
    head = text.splitlines()[1].split()
    assert head[-3:] == ["radial", "axial", "tilting"]
    last = [float(x) for x in text.splitlines()[-1].split()[-3:]]
    peaks = along(STANFORD).peaks()
    assert last == pytest.approx([peaks.radial[-1], peaks.axial[-1], peaks.tilting[-1]], rel=1e-3)
    bare = along(STANFORD, loads=False)
    assert bare.radial is bare.axial is bare.tilting is None
    assert "radial" not in repr(bare.peaks())


def test_motions_are_read_back_from_every_table_that_we_write(tmp_path: Path) -> None:
    loads = along(STANFORD)
    loads.to_csv(tmp_path / "loads.csv")
    run = lw.simulate(
        STANFORD, [0, 1, 0.1, 0, 0.3, 0], np.zeros(6), 0.4, torque=lw.control.springs(5), friction=True, samples=41
    )  # with work and heat
    run.save(tmp_path / "run.csv")
    many = lw.simulate(STANFORD, [[0, 1, 0.1, 0, 0.3, 0]], np.zeros(6), 0.4, samples=11)
    many.save(tmp_path / "one.csv")
    lw.trajectories.cycloid([0, 1], [1, 2], 3.0).to_csv(tmp_path / "move.csv", samples=5)
    for name, t, q, qd, qdd in (
        ("loads", loads.t, loads.q, loads.qd, loads.qdd),
        ("run", run.t, run.q, run.qd, run.qdd),
        ("one", many.t, many.q[0], many.qd[0], many.qdd[0]),
    ):
        move = lw.trajectories.read_csv(tmp_path / f"{name}.csv")
        assert move.duration == t[-1]
        for found, expected in zip(move(t), (q, qd, qdd), strict=True):
            assert found == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert lw.trajectories.read_csv(tmp_path / "move.csv").n == 2


def test_what_cannot_be_a_motion_is_said_with_file_and_line(tmp_path: Path) -> None:
    many = lw.simulate(STANFORD, [[0, 1, 0.1, 0, 0.3, 0]] * 2, np.zeros(6), 0.1, samples=3)
    path = tmp_path / "many.csv"
    many.save(path)
    lines = path.read_text().splitlines()
    second = next(k for k, line in enumerate(lines, 1) if line.startswith("1,0.0,"))
    with raises(lw.errors.FileError, f"many.csv:{second}:", "trajectory 1"):
        lw.trajectories.read_csv(path)
    stopped = lw.Event(lambda arm, t, q, qd: t - 0.05, "late", stop=True)
    lw.simulate(STANFORD, [0, 1, 0.1, 0, 0.3, 0], np.zeros(6), 0.1, samples=3, events=stopped).save(path)
    last = len(path.read_text().splitlines())
    with raises(lw.errors.FileError, f"many.csv:{last}:", "'q1'", "'nan'"):
        lw.trajectories.read_csv(path)
    path.write_text('# a comment, "of\nt,q1,speed\n0,1,2\n1,2,3\n')
    with raises(lw.errors.FileError, "many.csv:2:", "'speed'"):
        lw.trajectories.read_csv(path)
    path.write_text("# a comment\n\nt,q1\n0,1\n")
    with raises(lw.errors.FileError, "many.csv:4:", "1", "two rows"):
        lw.trajectories.read_csv(path)
