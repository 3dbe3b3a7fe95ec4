"""Faults that recordings of real arms have: a joint that no body fits, joints without sensors, held values, clocks."""

from pathlib import Path

import numpy as np
import pytest

import linkwise as lw
from facts import raises
from measured import measured, motion, nominal, with_drives

pytestmark = pytest.mark.filterwarnings("ignore:identification of robot")

ARM = with_drives(lw.chain(3, seed=6))
TRUE = lw.parameters(ARM, friction=True, base=True)
DATA = measured(ARM, noise=0.01, seed=3, duration=20.0)


def changed(joint: int, factor: float) -> dict[str, np.ndarray]:
    tau = DATA["tau"].copy()
    tau[:, joint] *= factor
    return {**DATA, "tau": tau}


@pytest.mark.parametrize("factor", [-1.0, 0.02])
def test_a_joint_that_no_body_fits_does_not_spoil_the_others(factor: float) -> None:
    fit = lw.identify(nominal(ARM), changed(2, factor))
    assert (fit.residuals.r2[:2] > 0.99).all()
    assert fit.residuals.r2[2] < 0.9
    assert fit.base["link2.hx"] == pytest.approx(lw.identify(nominal(ARM), DATA).base["link2.hx"], rel=0.1)
    assert any("link3" in note for note in fit.notes)
    if factor < 0.0:
        assert any("least squares has" in note and "link3.rotor = -" in note for note in fit.notes)
        assert fit.least_squares["link3.rotor"] < 0.0 <= fit.base["link3.rotor"]


@pytest.mark.parametrize("how", ["zero", "nan", "gain"])
def test_joints_without_torques_have_no_rows(how: str) -> None:
    if how == "gain":
        fit = lw.identify(nominal(ARM), DATA, gains=[1.0, 1.0, 0.0])
    else:
        fit = lw.identify(nominal(ARM), changed(2, 0.0 if how == "zero" else np.nan))
    assert np.isnan(fit.residuals.rms[2])
    assert np.isnan(fit.validate(DATA, **({"gains": [1.0, 1.0, 0.0]} if how == "gain" else {})).rms[2]) == (
        how == "gain"
    )
    assert (fit.residuals.r2[:2] > 0.999).all()
    assert sum("link3" in note for note in fit.notes) == 1
    assert "taken as not recorded" in fit.report()
    known = [k for k, name in enumerate(fit.base.names) if not name.startswith("link3")]
    assert np.all(np.abs(fit.base.values - TRUE)[known] < 4.0 * fit.base.sigma[known])


def test_torques_of_zero_in_simulations_are_torques() -> None:
    run = lw.simulate(ARM, [0.3, 0.2, 0.1], duration=2.0, samples=401, torque=[1.0, 0.5, 0.0])
    assert np.isfinite(lw.identify(ARM, run, friction=False).residuals.rms).all()


def test_rows_in_which_values_are_held_are_left_out() -> None:
    rows = np.repeat(np.arange(0, 2000, 3), 3)[:2000]
    for time, step in (({"t": DATA["t"]}, {}), ({}, {"dt": 0.01})):
        fit = lw.identify(nominal(ARM), {**time, "q": DATA["q"][rows], "tau": DATA["tau"][rows]}, **step)
        assert (fit.residuals.r2 > 0.999).all()
        assert any("changes in one row in" in note for note in fit.notes)


@pytest.mark.parametrize("rate", [120.0, 240.0, 300.0])
def test_times_that_are_rounded_are_counted(rate: float) -> None:
    data = measured(ARM, noise=0.01, seed=3, rate=rate)
    fit, exact = lw.identify(ARM, {**data, "t": data["t"].round(3)}), lw.identify(ARM, data)
    assert any("less regular than positions" in note for note in fit.notes)
    assert (fit.residuals.relative < 1.1 * exact.residuals.relative).all()
    late = {**data, "t": (1e4 + data["t"]).astype(np.float32)}
    assert (lw.identify(ARM, late).residuals.relative < 1.1 * exact.residuals.relative).all()


def test_times_of_two_steps_are_taken() -> None:
    t, q, qd, qdd = motion(ARM, rate=1000.0)
    kept = np.cumsum(np.tile([1, 4], 1990))
    tau = np.asarray(lw.inverse_dynamics(ARM, q, qd, qdd, friction=True))
    fit = lw.identify(ARM, {"t": t[kept], "q": q[kept], "tau": tau[kept]})
    assert (fit.residuals.relative < 0.02).all()


def test_other_recordings_of_lower_rates_are_filtered_as_their_rates_allow() -> None:
    fine = measured(ARM, noise=0.01, seed=3, rate=250.0)
    fit = lw.identify(nominal(ARM), fine, cutoff=30.0)
    for step in (1, 4, 8):
        coarse = {key: value[::step] for key, value in fine.items()}
        assert (fit.validate(coarse).relative < 0.02).all()


def test_fast_joints_in_slow_logs_are_not_still() -> None:
    """Rates and accelerations were recorded, at few samples a period; or states are no time series at all."""
    rng = np.random.default_rng(0)
    q, qd, qdd = rng.uniform(-1.5, 1.5, (3, 400, 3))
    tau = lw.inverse_dynamics(ARM, q, qd, qdd, friction=True)
    fit = lw.identify(nominal(ARM), {"q": q, "qd": qd, "qdd": qdd, "tau": tau}, dt=0.01)
    assert (fit.residuals.relative < 1e-6).all()
    assert not any("stand" in note for note in fit.notes)


def test_errors_are_relative_to_measured_torques() -> None:
    """Also of joints of which most is known."""
    fit = lw.identify(ARM, DATA, free=["link3"])
    every = fit.errors(fit.torques)
    assert fit.residuals.relative == pytest.approx(every.relative, rel=1e-6)
    assert fit.residuals.r2 == pytest.approx(every.r2, rel=1e-6)
    assert not any("explains little" in note for note in fit.notes)


def test_friction_alone_is_identified() -> None:
    true = lw.parameters(ARM, friction=True)
    names = ["link1.viscous", "link1.coulomb"]
    less = true.copy()
    for name in names:
        less[name] = 0.0
    fit = lw.identify(ARM.with_parameters(less, friction=True), DATA, free=names)
    sigma = dict(zip(fit.parameters.names, fit.parameters.sigma, strict=True))
    for name in names:
        assert 0.0 < sigma[name] < 0.2 * true[name]
        assert abs(fit.parameters[name] - true[name]) < 4.0 * sigma[name]


@pytest.mark.filterwarnings("ignore:.*physically consistent")
def test_sigma_is_honest_where_errors_last() -> None:
    """Torques err by what wanders slowly, for longer than a block of time."""
    z = []
    for seed in range(6):
        data = measured(ARM, noise=0.0, seed=seed, duration=20.0)
        rng = np.random.default_rng(seed)
        slow = np.sin(2.0 * np.pi * (0.4 * rng.uniform(0.8, 1.2, 3) * data["t"][:, None] + rng.uniform(size=3)))
        fit = lw.identify(nominal(ARM), {**data, "tau": data["tau"] + 0.2 * slow}, physical=False)
        z.append((fit.base.values - TRUE) / fit.base.sigma)
    assert np.sqrt(np.mean(np.square(z))) < 1.3


def test_torques_at_a_limit_are_noted() -> None:
    most = np.percentile(np.abs(DATA["tau"][:, 0]), 90.0)
    cut = DATA["tau"].copy()
    cut[:, 0] = np.clip(cut[:, 0], -most, most)
    notes = lw.identify(ARM, {**DATA, "tau": cut}).notes
    assert any("torques of link1 are often at their largest value" in note for note in notes)
    assert not any("largest value" in note for note in lw.identify(ARM, DATA).notes)


def test_damaged_archives_are_named(tmp_path: Path) -> None:
    path = tmp_path / "cut.npz"
    np.savez(path, **DATA)
    content = path.read_bytes()
    for size in (0, 100, len(content) // 2):
        path.write_bytes(content[:size])
        with pytest.raises(lw.errors.FileError, match=r"cut\.npz: cannot be read"):
            lw.identify(ARM, path)


def late(mean: float) -> dict[str, np.ndarray]:
    """Stamped late by an exponential time, in order, as queues do."""
    rng = np.random.default_rng(2)
    t = DATA["t"] + rng.exponential(mean * DATA["t"][1], len(DATA["t"]))
    return {**DATA, "t": np.maximum.accumulate(t) + 1e-9 * np.arange(len(t))}


def paired(apart: float) -> dict[str, np.ndarray]:
    """Two topics merged: each second sample is stamped just after the one before it."""
    data = measured(ARM, noise=0.01, seed=3, duration=20.0, rate=1000.0)
    rows = np.sort(np.concatenate([np.arange(0, 19000, 20), np.arange(0, 19000, 20) + 1]))
    t = data["t"][rows] - np.where(np.arange(len(rows)) % 2, 1e-3 - apart, 0.0)
    return {"t": t, "q": data["q"][rows], "tau": data["tau"][rows]}


def lost(rate: float) -> dict[str, np.ndarray]:
    """Rounded times, and rows that are missing."""
    data = measured(ARM, noise=0.01, seed=3, rate=rate, duration=20.0)
    kept = np.random.default_rng(1).uniform(size=len(data["t"])) > 0.01
    return {"t": data["t"].round(3)[kept], "q": data["q"][kept] + 1e-4, "tau": data["tau"][kept]}


CLOCKS = {
    "late 0.3": lambda: late(0.3), "late 0.5": lambda: late(0.5), "late 1": lambda: late(1.0),
    "pairs 1 us": lambda: paired(1e-6), "pairs 0.1 ms": lambda: paired(1e-4),
    "rounded 120 Hz": lambda: lost(120.0), "rounded 300 Hz": lambda: lost(300.0),
}  # fmt: skip


@pytest.mark.parametrize("clock", CLOCKS)
def test_clocks_of_loggers(clock: str) -> None:
    data = CLOCKS[clock]()
    fit = lw.identify(nominal(ARM), data)
    assert (fit.residuals.relative < 0.05).all()
    assert np.all(np.abs(fit.base.values - TRUE) < 8.0 * fit.base.sigma)
    assert np.median(fit.base.sigma) < 12.0 * np.median(lw.identify(nominal(ARM), DATA).base.sigma)


def test_zeros_of_a_flying_base_are_wrenches() -> None:
    satellite = lw.load("satellite")
    rates = np.arange(1.0, 7.0)

    def law(arm: lw.Robot, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        return np.concatenate([np.zeros(6), 3.0 * np.cos(t * rates)])

    run = lw.simulate(satellite, lw.neutral(satellite), duration=4.0, samples=401, torque=law)
    mapping = {"t": run.t, "q": run.q, "qd": run.qd, "qdd": run.qdd, "tau": run.tau}
    fits = [lw.identify(satellite, data, friction=False) for data in (run, mapping)]
    assert fits[0].rank == fits[1].rank
    assert np.array_equal(fits[0].base.values, fits[1].base.values)


def test_recordings_without_torques_are_named() -> None:
    with raises(ValueError, "recording 2:", "zero", "NaN"):
        lw.identify(ARM, [DATA, {**DATA, "tau": np.full_like(DATA["tau"], np.nan)}])
    assert any("recording 2: the same as an earlier recording" in note for note in lw.identify(ARM, [DATA, DATA]).notes)
    run = lw.identification.measured_motion(ARM, changed(1, 0.0))
    assert np.isnan(run.tau).all(axis=0).tolist() == [False, True, False]
