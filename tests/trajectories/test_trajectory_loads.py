"""What a motion asks of a robot: torques, work, peaks, tables and pictures of them."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.integrate import simpson

import linkwise as lw
from facts import raises
from motions import PAPER
from reference import DATA, ROBOTS

# Loads


@pytest.mark.parametrize("record", DATA["inverse_dynamics_trajectories"], ids=lambda r: r["robot"])
def test_the_papers_cycloids_and_their_torques(record: dict[str, Any]) -> None:
    """[Saha99] eqs. (38), (39): 40-digit values of the motion and of the torques of Figs. 5 and 8."""
    move = lw.trajectories.cycloid(*PAPER[record["robot"]], record["T"])
    samples = {key: np.array([s[key] for s in record["samples"]]) for key in ("t", "q", "qd", "qdd", "tau")}
    for word, found in move(samples["t"])._asdict().items():
        assert np.abs(found - samples[word]).max() < 1e-14 * max(1.0, np.abs(samples[word]).max())
    along = lw.torque_along(ROBOTS[record["robot"]], move, 21)
    at = np.searchsorted(along.t, samples["t"] - 1e-9)
    assert along.t[at] == pytest.approx(samples["t"])
    assert np.abs(along.tau[at] - samples["tau"]).max() < 1e-12 * np.abs(samples["tau"]).max()


@pytest.mark.parametrize("name", ["gantry", "planar3", "puma560", "stanford"])
@pytest.mark.parametrize("kind", ["cycloid", "septic", "spline"])
def test_the_work_of_the_drives_is_the_change_of_energy(name: str, kind: str) -> None:
    arm = lw.load(name)
    a, b, *rest = np.random.default_rng(2).normal(size=(8, arm.n))
    make = {
        "cycloid": lambda: lw.trajectories.cycloid(a, b, 2.0),
        "septic": lambda: lw.trajectories.septic(a, b, 2.0, *rest),
    }
    make["spline"] = lambda: lw.trajectories.spline([0, 0.5, 1.0, 1.5, 2.0], [a, b, *rest[:3]], ends="natural")
    along = lw.torque_along(arm, make[kind](), 4001, loads=False)
    energy = lw.kinetic_energy(arm, along.q, along.qd) + lw.potential_energy(arm, along.q)
    work = simpson(along.power.sum(-1), x=along.t)
    assert work == pytest.approx(energy[-1] - energy[0], abs=1e-9 * np.abs(energy).max())


def test_peaks_are_those_of_the_arrays() -> None:
    arm, move = lw.load("stanford"), lw.trajectories.cycloid(*PAPER["stanford"], 2.0)
    along = lw.torque_along(arm, move, 301)
    peaks = along.peaks()
    for k in range(6):
        j = max(range(301), key=lambda j: abs(along.tau[j, k]))
        assert peaks.tau[k] == abs(along.tau[j, k])
        assert peaks.when[k] == along.t[j]
        assert peaks.power[k] == max(abs(along.tau[:, k] * along.qd[:, k]))
        assert peaks.rms[k] ** 2 * 2.0 == pytest.approx(simpson(along.tau[:, k] ** 2, x=along.t), rel=1e-4)
        for i in range(6):
            assert peaks.loads[k, i] == max(abs(along.loads[:, k, i]))
    assert peaks.joints == arm.names
    assert peaks.units == ("N m", "N m", "N", "N m", "N m", "N m")
    text = str(peaks).splitlines()
    assert text[0].startswith("stanford, largest magnitudes of 301 samples over 2 s; loads in the base frame")
    components = [f"|{axis}|" for axis in ("mx", "my", "mz", "fx", "fy", "fz")]
    named = ["joint", "unit", "|tau|", "at", "(s)", "rms", "tau", "power", "(W)"]
    assert text[1].split() == [*named, *components, "radial", "axial", "tilting"]
    assert len({len(line) - len(line.lstrip()) for line in text[3:]}) == 1
    assert text[5].split()[:4] == ["link3", "N", f"{peaks.tau[2]:.4g}", f"{peaks.when[2]:.4g}"]
    few = lw.torque_along(arm, move, 11, loads=False).peaks()
    assert few.loads is None
    assert "|mx|" not in str(few)


def test_rms_of_a_constant_torque_is_that_torque() -> None:
    arm = lw.load("planar3")
    here = [0.3, 0.2, 0.1]
    peaks = lw.torque_along(arm, lw.trajectories.cycloid(here, here, 2.0), 50).peaks()
    assert peaks.rms == pytest.approx(np.abs(lw.gravity_torque(arm, here)), rel=1e-14)


def test_loads_are_joint_wrenches_and_the_drive_is_along_the_axis() -> None:
    arm, move = lw.load("stanford"), lw.trajectories.septic(*PAPER["stanford"], 2.0)
    along = lw.torque_along(arm, move, 5, axes="frame")
    assert np.array_equal(along.loads, lw.joint_wrenches(arm, *move(along.t), axes="frame"))
    axis = np.where([kind == "P" for kind in arm.joints], 5, 2)
    assert np.take_along_axis(along.loads, axis[None, :, None], -1)[..., 0] == pytest.approx(along.tau, abs=1e-12)
    turned = lw.torque_along(arm, move, 5, axes="base")
    assert np.linalg.norm(turned.loads[..., 3:], axis=-1) == pytest.approx(
        np.linalg.norm(along.loads[..., 3:], axis=-1), abs=1e-12
    )
    assert repr(along) == "<Loads of robot 'stanford': 5 samples over 2 s>"


def test_wrenches_and_friction_reach_the_torques() -> None:
    rows = [{**row, "viscous_friction": 0.5} for row in lw.load("planar3").rows]
    arm = lw.Robot.from_dh(rows, convention="standard", gravity=(0, -9.81, 0))
    move = lw.trajectories.cycloid([0, 0, 0], [1, 2, 3], 2.0)
    plain, rough = lw.torque_along(arm, move, 9), lw.torque_along(arm, move, 9, friction=True)
    assert rough.tau - plain.tau == pytest.approx(0.5 * plain.qd, abs=1e-12)
    assert np.array_equal(rough.loads, plain.loads)
    wrench = np.array([0.0, 0.0, 1.0, 3.0, 2.0, 0.0])
    pushed = lw.torque_along(arm, move, 9, wrench=wrench)
    expected = lw.jacobian(arm, plain.q, point="com").swapaxes(-1, -2) @ wrench
    assert plain.tau - pushed.tau == pytest.approx(expected, abs=1e-12)
    each = np.zeros((9, 3, 6))
    each[:, 2] = wrench
    for same in (np.tile(wrench, (9, 1)), each, each[:1]):
        assert lw.torque_along(arm, move, 9, wrench=same).tau == pytest.approx(pushed.tau, abs=1e-12)
    with pytest.raises(ValueError, match="wrench"):
        lw.torque_along(arm, move, 9, wrench=each[0])  # three links are no nine samples


def test_a_moving_base_reaches_torques_and_loads() -> None:
    arm = lw.load("planar3")
    move = lw.trajectories.cycloid([0, 0, 0], [1, 1, 1], duration=1.0)
    push = np.outer(np.linspace(0, 1, 5), [1.0, 2.0, 3.0])
    along = lw.torque_along(arm, move, 5, base=lw.BaseMotion(acceleration=push))
    for k in range(5):
        other = lw.torque_along(arm.with_gravity(arm.gravity - push[k]), move, 5)
        assert np.allclose(along.tau[k], other.tau[k], atol=1e-12)
        assert np.allclose(along.loads[k], other.loads[k], atol=1e-12)
        assert np.allclose(along.bearings[k], other.bearings[k], atol=1e-12)


def test_a_robot_of_symbols_is_refused() -> None:
    rows = [{**row, "mass": lw.symbols("m")} for row in lw.load("planar3").rows]
    arm = lw.Robot.from_dh(rows, convention="standard", gravity=(0, -9.81, 0))
    with raises(ValueError, "symbols"):
        lw.torque_along(arm, lw.trajectories.cycloid([0] * 3, [1] * 3, 1.0))


def test_the_table_of_loads_is_complete_and_its_motion_is_read_back(tmp_path: Path) -> None:
    arm, move = lw.load("planar3"), lw.trajectories.cycloid([0, 0, 0], [1, 2, 3], 2.0)
    along = lw.torque_along(arm, move, 33)
    along.to_csv(tmp_path / "loads.csv")
    table = np.genfromtxt(tmp_path / "loads.csv", delimiter=",", names=True)
    assert len(table.dtype.names) == 1 + 4 * 3 + 9 * 3
    for k in range(3):
        for word, values in (("q", along.q), ("qd", along.qd), ("qdd", along.qdd), ("tau", along.tau)):
            assert np.array_equal(table[f"{word}{k + 1}"], values[:, k])
        assert np.array_equal(table[f"fy{k + 1}"], along.loads[:, k, 4])
    again = lw.trajectories.read_csv(tmp_path / "loads.csv")
    assert np.abs(again(along.t).q - along.q).max() < 1e-14
    t = np.linspace(0.0, 2.0, 500)
    assert np.abs(again(t).q - move(t).q).max() < 1e-8  # the cycloid by quintics, h⁶ small
    lw.torque_along(arm, move, 3, loads=False).to_csv(tmp_path / "few.csv")
    assert (tmp_path / "few.csv").read_text().splitlines()[0].endswith("tau1,tau2,tau3")


def test_pictures(tmp_path: Path) -> None:
    along = lw.torque_along(lw.load("stanford"), lw.trajectories.cycloid(*PAPER["stanford"], 10.0), 101)
    figure = along.plot()
    assert [axes.get_ylabel() for axes in figure.axes] == ["torque of the drive (N m)", "force of the drive (N)"]
    drawn = {line.get_label(): line.get_ydata() for axes in figure.axes for line in axes.lines}
    for k, name in enumerate(along.robot.names):
        assert np.array_equal(drawn[name], along.tau[:, k])
    whole = along.plot(loads=True)
    assert sum(len(part.axes) for part in whole.subfigs) == 8
    whole.savefig(tmp_path / "loads.png")
    assert (tmp_path / "loads.png").stat().st_size > 10_000
    assert len(lw.torque_along(lw.load("gantry"), lw.trajectories.cycloid([0] * 3, [1] * 3, 1.0), 9).plot().axes) == 1
    with raises(ValueError, "loads=True"):
        lw.torque_along(along.robot, lw.trajectories.cycloid(*PAPER["stanford"], 1.0), 9, loads=False).plot(loads=True)


def test_without_matplotlib_the_rest_works(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    along = lw.torque_along(lw.load("gantry"), lw.trajectories.cycloid([0] * 3, [1] * 3, 1.0), 9)
    assert str(along.peaks())


def test_a_table_that_is_not_finished_leaves_the_one_before(tmp_path):
    from linkwise.tables import save_table

    class Interrupted(np.ndarray):
        def tolist(self):
            raise KeyboardInterrupt

    path = tmp_path / "motion.csv"
    save_table(path, {"t": np.array([0.0, 1.0])})
    before = path.read_bytes()
    with pytest.raises(KeyboardInterrupt):
        save_table(path, {"t": np.array([0.0, 1.0]), "q1": np.zeros(2).view(Interrupted)})
    assert path.read_bytes() == before == b"t\n0.0\n1.0\n"
    assert list(tmp_path.iterdir()) == [path]
