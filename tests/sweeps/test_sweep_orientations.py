"""Sweeps of robots with a free base and with coupled joints."""

import numpy as np
import pytest

import linkwise as lw
from facts import raises
from linkwise.sweeps.folder import has_parquet
from robots import relative

FLYING = lw.load("planar3").with_free_base(mass=4.0, inertia=np.diag([0.3, 0.4, 0.5]))
COUNT = 5
KIND = "parquet" if has_parquet() else "npz"
HERE = {"progress": False, "files": "npz"}


def orientations(rng, count):
    """Positions near the origin, and orientations of equal probability."""
    return rng.normal(size=(count, 7))


DRAWN = lw.sweeps.monte_carlo(
    COUNT, 1, **{"q0.base": orientations, "qd0.base.wx": (-1, 1), "qd0.link2": (-2, 2), "q0.link3": (-1, 1)}
)


def test_parts_of_states_are_put_where_their_joints_have_them(tmp_path):
    """Every trajectory is that of `simulate`, and quaternions have unit length."""
    swept = lw.sweep(FLYING, DRAWN, tmp_path, 0.3, chunk=2, samples=4, **HERE)
    q0, qd0 = np.zeros((COUNT, 10)), np.zeros((COUNT, 9))
    q0[:, :7], q0[:, 9] = DRAWN["q0.base"], DRAWN["q0.link3"]
    qd0[:, 3], qd0[:, 7] = DRAWN["qd0.base.wx"], DRAWN["qd0.link2"]
    assert np.array_equal(swept.samples["q0"], q0)
    assert np.array_equal(swept.samples["qd0"], qd0)
    found = swept.read()
    assert found["q"].shape == (COUNT, 4, 10)
    assert found["qd_end"].shape == (COUNT, 9)
    for k in range(COUNT):
        alone = lw.simulate(FLYING, q0[k], qd0[k], 0.3, samples=4)
        assert np.array_equal(found["q"][k], alone.q)
        assert np.array_equal(found["qd_end"][k], alone.qd[-1])
    pytest.importorskip("pandas")
    columns = list(swept.to_pandas())
    assert [f"q_end.{name}" for name in FLYING.q_names] == [name for name in columns if name.startswith("q_end")]
    assert {"q0.base.qw", "qd0.base.wx", "qd_end.link3"} < set(columns)


def test_parts_of_rates_alone_begin_in_the_neutral_configuration(tmp_path):
    swept = lw.sweep(FLYING, lw.sweeps.grid(**{"qd0.base.wy": [1, 2]}), tmp_path, 0.1, keep="ends", **HERE)
    assert np.array_equal(swept.samples["q0"], np.tile(lw.neutral(FLYING), (2, 1)))
    assert swept.samples["qd0"][:, 4].tolist() == [1.0, 2.0]
    assert swept.read()["status"].tolist() == ["done", "done"]


def test_families_and_targets_of_flying_robots_are_those_of_each_alone(tmp_path):
    """Masses of the base and of a payload, and gains; the events of each trajectory have its configuration."""
    arm = FLYING.with_payload(0.3, com=(0.1, 0, 0), inertia=np.zeros((3, 3)))
    rng = np.random.default_rng(2)
    samples = {
        "base.mass": rng.uniform(2.0, 6.0, COUNT),
        "payload.mass": rng.uniform(0.1, 0.5, COUNT),
        "kp": lw.per_trajectory(rng.uniform(5.0, 9.0, COUNT)),
        "target": lw.per_trajectory(rng.normal(size=(COUNT, 10))),
        **DRAWN,
    }
    law = lw.control.pd_gravity(np.ones(10), 5.0, 1.0, passive=["base"])
    low = lw.Event(lambda arm, t, q, qd: q[1] - qd[8] - 0.1, "low")
    options = {"torque": law, "events": low, "rtol": 1e-10}
    swept = lw.sweep(arm, samples, tmp_path, 0.3, chunk=3, samples=4, files=KIND, progress=False, **options)
    found = swept.read()
    assert set(found["status"]) == {"done"}
    assert np.abs(found["imbalance"]).max() < 1e-7
    assert np.abs(np.linalg.norm(found["q"][..., 3:7], axis=-1) - 1.0).max() < 1e-15
    for k in (0, 4):
        rows = arm.rows
        rows[0]["mass"], rows[-1]["mass"] = samples["base.mass"][k], samples["payload.mass"][k]
        robot = lw.Robot.from_dh(rows, convention=arm.convention, gravity=arm.gravity)
        own = lw.control.pd_gravity(samples["target"].values[k], samples["kp"].values[k], 1.0, passive=["base"])
        start = swept.samples["q0"][k], swept.samples["qd0"][k]
        alone = lw.simulate(robot, *start, 0.3, **{**options, "torque": own}, samples=4)
        assert relative(found["q"][k], alone.q) < 1e-7
        assert [event.names for event in swept.events(k)] == [event.names for event in alone.events]
    table = swept.event_table()
    assert len(table["t"]) > 0
    assert table["q"].shape == (len(table["t"]), 10)
    assert table["qd"].shape == (len(table["t"]), 9)


def test_families_keep_the_couplings_of_their_joints(tmp_path):
    rows = lw.load("planar3").rows
    rows[2] |= {"coupled_to": "link2", "ratio": -0.5}
    arm = lw.Robot.from_dh(rows, convention="standard", gravity=(0, -9.81, 0), name="coupled")
    masses = np.array([0.3, 0.6])
    swept = lw.sweep(arm, {"q0": [0.3, 0.2], "link3.mass": masses}, tmp_path, 0.4, samples=3, rtol=1e-10, **HERE)
    for k, mass in enumerate(masses):
        rows[2]["mass"] = mass
        robot = lw.Robot.from_dh(rows, convention="standard", gravity=(0, -9.81, 0), name="coupled")
        alone = lw.simulate(robot, [0.3, 0.2], duration=0.4, samples=3, rtol=1e-10)
        assert relative(swept.read()["q"][k], alone.q) < 1e-8


def test_a_row_without_an_orientation_fails_alone(tmp_path):
    q0 = np.tile(DRAWN["q0.base"][0], (3, 1))
    q0[1, 3:] = 0.0
    found = lw.sweep(FLYING, {"q0.base": q0}, tmp_path, 0.1, samples=2, **HERE).read()
    assert found["status"].tolist() == ["done", "failed", "done"]
    assert "q0[3], joint 'base', begins a quaternion of length zero" in found["error"][1]


@pytest.mark.parametrize(
    ("samples", "said"),
    [
        ({"q0": np.zeros((2, 9))}, r"q0 has shape \(2, 9\) \(expected \(count, 10\)"),
        ({"q0.base": np.ones((2, 6))}, r"q0.base has shape \(2, 6\) \(expected \(count, 7\)"),
        ({"q0": np.ones((2, 10)), "qd0.base.wq": [0.0, 1.0]}, "'qd0.base.wq', did you mean 'qd0.base.w"),
        ({"q0": np.ones((2, 10)), "q0.link1": [0.0, 1.0, 2.0]}, "q0.link1 3, others 2 rows"),
        ({"q0": np.ones((2, 10)), "wrench": np.zeros((2, 9, 6))}, r"or \(count, 4, 6\)"),
    ],
    ids=["whole", "joint", "label", "rows", "wrench"],
)
def test_what_does_not_fit_is_refused_by_name(samples, said, tmp_path):
    with pytest.raises(ValueError, match=said):
        lw.sweep(FLYING, samples, tmp_path, 0.1, **HERE)


def test_pitch_ratio_and_offset_are_entries_like_others(tmp_path):
    entries = {"link1.pitch": (0.1, 0.2), "link3.ratio": (0.5, 2.0), "link3.offset": (0.0, 0.4)}
    rows = lw.chain(3, seed=1, joints="HRR").rows
    rows[2] |= {"coupled_to": "link1", "ratio": 2.0, "offset": 0.1}
    arm = lw.Robot.from_dh(rows, convention="standard")
    found = lw.sweep(arm, {"q0": [0.1, 0.2], **entries}, tmp_path, 0.1, keep="ends", **HERE).read()
    for k in range(2):
        own = [dict(row) for row in rows]
        for entry, values in entries.items():
            link, _, key = entry.partition(".")
            next(row for row in own if row["name"] == link)[key] = values[k]
        alone = lw.simulate(lw.Robot.from_dh(own, convention="standard"), [0.1, 0.2], duration=0.1)
        assert relative(found["q_end"][k], alone.q[-1]) < 1e-9
    with raises(ValueError, "'link2.pitch'", "'link1.pitch'"):
        lw.sweep(arm, {"q0": [0.1, 0.2], "link2.pitch": (0.1, 0.2)}, tmp_path / "other", 0.1, **HERE)
