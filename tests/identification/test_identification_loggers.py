"""Identification from recordings as real loggers write them: late times, gaps, no header, joints that rest."""

from pathlib import Path

import numpy as np
import pytest

import linkwise as lw
from facts import raises
from measured import measured, motion, nominal, with_drives

pytestmark = pytest.mark.filterwarnings("ignore:identification of robot")

ARM = with_drives(lw.chain(2, seed=4))
TRUE = lw.parameters(ARM, friction=True, base=True)
DATA = measured(ARM, noise=0.002, seed=2)


def polled(arm: lw.Robot, seed: int = 0, duration: float = 10.0) -> dict[str, np.ndarray]:
    """A state of 1 kHz, read by a process that has no clock of its own: some states twice, some never, times late."""
    rng = np.random.default_rng(seed)
    t, q, qd, qdd = motion(arm, seed, duration=duration, rate=1000.0)
    tau = np.asarray(lw.inverse_dynamics(arm, q, qd, qdd, friction=True))
    tau = tau + 0.02 * np.sqrt(np.mean(tau**2, axis=0)) * rng.normal(size=tau.shape)
    read = np.cumsum(
        rng.choice([0.0007, 0.0009, 0.001, 0.0011, 0.0014, 0.006], len(t), p=[0.1, 0.25, 0.35, 0.2, 0.099, 0.001])
    )
    read = read[read < t[-1]]
    state = np.floor(1000.0 * read).astype(int)
    return {"t": read, "q": q[state], "tau": tau[state]}


def test_times_that_a_logger_notes_late_do_not_raise_the_cut_offs() -> None:
    fit = lw.identify(nominal(ARM), polled(ARM))
    assert fit.filtering.cutoff < 30.0
    assert (fit.residuals.r2 > 0.999).all()
    assert np.all(np.abs(fit.base.values - TRUE) < 4.0 * fit.base.sigma)


def test_short_gaps_are_filled_and_long_ones_part_a_recording() -> None:
    rows = np.arange(1000)
    short = polled(ARM)
    assert any("0.00" in note and "filled by interpolation" in note for note in lw.identify(ARM, short).notes)
    kept = rows[(rows < 395) | ((rows >= 500) & (rows < 504)) | (rows > 520)]
    fit = lw.identify(ARM, {key: value[kept] for key, value in DATA.items()})
    parts = lw.identify(
        ARM, [{key: value[part] for key, value in DATA.items()} for part in (slice(395), slice(521, 1000))]
    )
    assert len(fit.torques) == 2
    assert np.allclose(fit.base.values, parts.base.values, rtol=1e-9, atol=1e-12)
    assert any("no sample for 1.06 s after t = 3.94 s and 1 more gap" in note for note in fit.notes)
    assert any("parts of less than 20 samples are left out" in note for note in fit.notes)
    assert (lw.identify(ARM, DATA).validate({key: value[kept] for key, value in DATA.items()}).relative < 0.02).all()


def test_parts_that_filters_would_use_up_are_left_out_and_angles_may_turn_in_a_gap() -> None:
    rows = np.arange(1000)
    kept = rows[(rows < 770) & ((rows < 700) | (rows > 740))]
    data = {key: value[kept] for key, value in DATA.items()}
    data["q"] = data["q"] + np.where(kept > 720, 2.0 * np.pi, 0.0)[:, None]
    fit = lw.identify(ARM, data)
    assert len(fit.torques) == 1
    assert any("rows 700 to 728: 0.29 s, too short for the filters, are left out" in note for note in fit.notes)
    often = {key: value[rows % 50 < 25] for key, value in DATA.items()}
    with raises(ValueError, "rows 25 to 49", "0.25 s", "cutoff=..."):
        lw.identify(ARM, often)
    with raises(ValueError, "data:", "20 samples"):
        lw.identify(ARM, {key: value[rows % 50 < 12] for key, value in DATA.items()})


def test_tables_without_a_header_have_columns_by_number(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    np.savetxt(path, np.column_stack([DATA["t"], DATA["tau"], 0.0 * DATA["t"], DATA["q"]]), delimiter=",")
    fit = lw.identify(ARM, path, columns={"t": 0, "q": [4, 5], "tau": range(1, 3)})
    assert fit.samples == len(DATA["t"])
    assert np.allclose(fit.base.values, lw.identify(ARM, DATA).base.values, rtol=1e-9)
    with raises(lw.errors.FileError, "log.csv:1:", "t, q1, ..., tau1"):
        lw.identify(ARM, path)
    with raises(lw.errors.FileError, "log.csv", "'6'", "0, 1, 2, 3, 4, 5"):
        lw.identify(ARM, path, columns={"t": 0, "q": [5, 6], "tau": [1, 2]})


def resting(seed: int) -> dict[str, np.ndarray]:
    """An arm that moves, rests, moves: at rest its drives hold what is left from how they came to rest."""
    rng = np.random.default_rng(seed)
    t, q, _, _ = motion(ARM, seed, duration=24.0)
    s = np.clip(np.abs(np.mod(t, 8.0) - 4.0) - 1.2, 0.0, 1.0)  # rests about 4 s, 12 s and 20 s
    q = q[600] + (q - q[600]) * (s**3 * (10.0 - 15.0 * s + 6.0 * s * s))[:, None]
    q, qd, qdd = lw.trajectories.spline(t, q)(t)
    tau = np.asarray(lw.inverse_dynamics(ARM, q, qd, qdd, friction=True))
    still = np.abs(qd).max(axis=1) < 1e-3
    held = rng.uniform(-0.9, 0.9, (4, 2))[(t // 8.0).astype(int)]
    tau = np.where(still[:, None], tau + held * lw.parameters(ARM, friction=True)[-2:], tau)
    return {"t": t, "q": q, "tau": tau + 0.01 * rng.normal(size=tau.shape)}


def test_errors_near_rest_are_shown_apart() -> None:
    """All rows count in residuals and validation, whatever is fitted."""
    data = resting(0)
    every, fast = (lw.identify(nominal(ARM), data, minimum_speed=speed) for speed in (0, 0.1))
    for fit in (every, fast):
        assert (fit.near_rest.rms > 1.2 * fit.validation.rms).all()
        assert fit.validation.rms == pytest.approx(every.validation.rms, rel=0.2)
    assert any("rows near rest are not fitted: link1 (below 0.1)" in note for note in fast.notes)
    errors = [
        np.linalg.norm((fit.base.values[: len(TRUE)] - TRUE) / fast.base.sigma[: len(TRUE)]) for fit in (fast, every)
    ]
    assert errors[0] < errors[1]


def test_rows_near_rest_are_kept_where_they_are_as_good_as_others() -> None:
    for how in ({}, {"friction": False}):
        fit = lw.identify(ARM, DATA, **how)
        assert not (fit.minimum_speed > 0.0).any()
        assert not any("are not fitted" in note for note in fit.notes)
    with raises(ValueError, "minimum_speed", "[0.1]", "link1, link2"):
        lw.identify(ARM, DATA, minimum_speed=[0.1])


def test_a_lag_is_found_and_taken_out() -> None:
    late = {key: value[3:] if key == "tau" else value[:-3] for key, value in DATA.items()}  # ahead by 0.03 s
    fit = lw.identify(ARM, late)
    assert fit.reading["delay"] == pytest.approx(-0.03, abs=1e-3)
    assert any("are ahead of positions" in note for note in fit.notes)
    assert (fit.residuals.rms < 0.3 * lw.identify(ARM, late, delay=0.0).residuals.rms).all()
    assert lw.identify(ARM, DATA).reading["delay"] == 0.0


def test_rates_of_joints_that_stand_still_are_not_held_against_positions() -> None:
    """Both are noise."""
    t, q, qd, qdd = motion(ARM)
    q[:, 1], qd[:, 1], qdd[:, 1] = 0.3, 0.0, 0.0
    rng = np.random.default_rng(1)
    tau = lw.inverse_dynamics(ARM, q, qd, qdd, friction=True) + 0.02 * rng.normal(size=q.shape)
    fit = lw.identify(ARM, {"t": t, "q": q + 1e-4 * rng.normal(size=q.shape), "qd": qd, "tau": tau})
    assert any("link2 stands still" in note for note in fit.notes)
    assert not any("off the derivative" in note for note in fit.notes)
