"""What real arms have, made up: coupled wrists, currents, friction that depends on the load, lags, tilted logs."""

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwise as lw
from effort import rest_slow
from facts import raises
from linkwise.identification.model import TorqueModel
from measured import measured, motion, nominal, with_drives

pytestmark = pytest.mark.filterwarnings("ignore:identification of robot")

ARM = with_drives(lw.chain(3, seed=6))
TRUE = np.asarray(lw.parameters(ARM, friction=True, base=True))
FIXED: dict[str, Any] = {"offset": False, "terms": (), "minimum_speed": 0, "weighted": True, "delay": 0.0}


def noisy(tau: np.ndarray, share: float = 0.01, seed: int = 0) -> np.ndarray:
    return tau + share * tau.std(axis=0) * np.random.default_rng(seed).normal(size=tau.shape)


def with_terms(arm: lw.Robot, kinds: dict[str, list[float]], **how: Any) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """A recording whose torques have further terms; and the values of these."""
    t, q, qd, qdd = motion(arm, seed=2, duration=20.0)
    terms = tuple((kind, j) for kind, values in kinds.items() for j in range(len(values)))
    model = TorqueModel.of(arm, lw.Friction(), terms=terms, **how)
    carried = model.base_of_bodies(model.base_nominal)
    values = np.array([x for own in kinds.values() for x in own])
    x = np.concatenate([model.base_nominal[: len(model.T)], values, [1.0]])
    return {
        "t": t,
        "q": q,
        "tau": noisy(replace(model, carried=carried, stribeck_rate=0.1).rows(q, qd, qdd) @ x),
    }, values


def test_a_coupled_wrist_has_its_rotors_and_friction_at_the_motors() -> None:
    """The motor of the third joint turns with the second too."""
    R = np.array([[50.0, 0.0, 0.0], [0.0, -40.0, 0.0], [0.0, 30.0, 30.0]])
    values = np.array(lw.parameters(ARM, friction=True))
    values[-9:] = [0.3, 0.3, 1.5, 0.4, 0.4, 2.0, 0.4, 0.4, 3.0]
    arm = ARM.with_parameters(values, friction=True)
    data, _ = with_terms(arm, {}, transmission=R)
    fit = lw.identify(nominal(arm), data, transmission=R)
    drives = [name for name in fit.base.names if name.endswith((".rotor", ".viscous", ".coulomb"))]
    far = [(fit.base[name] - lw.parameters(arm, friction=True)[name]) for name in drives]
    sigma = [fit.base.sigma[fit.base.names.index(name)] for name in drives]
    assert (np.abs(far) < 4.0 * np.array(sigma)).all()
    plain = lw.identify(nominal(arm), data)
    assert (plain.validation.rms[1:] > 3.0 * fit.validation.rms[1:]).all()


@pytest.mark.parametrize("kind", rest_slow(["load", "quadratic", "stribeck", "offset", "spring"], ["load", "stribeck"]))
def test_terms_of_friction_are_chosen_where_they_are(kind: str) -> None:
    data, values = with_terms(ARM, {kind: [0.0, 0.4, 0.0]} if kind != "load" else {kind: [0.0, 0.3, 0.0]})
    fit = lw.identify(nominal(ARM), data, friction=lw.Friction() if kind == "stribeck" else True)
    found = [name for name in fit.base.names if name.endswith(kind)]
    assert "link2." + kind in found
    assert fit.base[f"link2.{kind}"] == pytest.approx(values[1], rel=0.6 if kind == "stribeck" else 0.3)
    without = lw.identify(nominal(ARM), data, terms=(), offset=False)
    assert fit.validation.rms[1] < 0.9 * without.validation.rms[1]
    assert fit.predict(*(x[:5] for x in motion(ARM)[1:])).shape == (5, 3)


def test_terms_of_the_nominal_robot_are_identified_anew() -> None:
    rows = [{**dict(row), "quadratic_friction": 0.4 * (k == 1)} for k, row in enumerate(ARM.rows)]
    arm = lw.Robot.from_dh(rows, convention=ARM.convention, name="thick")
    fit = lw.identify(arm, measured(arm, noise=0.01, seed=2, duration=20.0))
    assert fit.base["link2.quadratic"] == pytest.approx(0.4, rel=0.1)
    assert not any(name.endswith("quadratic") for name in fit.parameters.names)


def test_nothing_is_added_where_nothing_is() -> None:
    fit = lw.identify(nominal(ARM), measured(ARM, noise=0.02, angle=1e-4, seed=1))
    assert len(fit.base) <= len(TRUE) + 2
    assert fit.reading["delay"] == 0.0
    assert str(fit.choices).count("\n") == len(fit.choices.tried)
    assert fit.choices.columns()["choice"][0] == "cut-off"
    assert len(fit.notes) <= 10


def test_what_is_fixed_is_not_chosen() -> None:
    data = measured(ARM, noise=0.02, seed=1)
    fit = lw.identify(nominal(ARM), data, cutoff=8.0, friction=lw.Friction(smooth=0.01), **FIXED)
    assert not fit.choices.tried
    assert (fit.filtering.cutoff, fit.friction) == (8.0, lw.Friction(smooth=0.01))
    for name, value in (("weighted", 1), ("offset", "yes"), ("terms", "load")):
        with raises(TypeError, name):
            lw.identify(ARM, data, **{name: value})


def test_currents_that_are_taken_for_torques_are_noted() -> None:
    data = measured(ARM, noise=0.01, seed=1)
    currents = {**data, "tau": data["tau"] / np.array([60.0, 80.0, 50.0])}
    fit = lw.identify(nominal(ARM), currents)
    assert any("motor currents" in note and "gains=" in note for note in fit.notes)
    assert fit.graded_notes[0][1]


def loaded_pair(mass: float, seed: int) -> list[dict[str, np.ndarray]]:
    """Currents without and with a load whose mass is known."""
    load = ARM.with_payload(mass, [0.02, -0.03, 0.1], np.diag([0.01, 0.01, 0.005]))
    pair = [measured(arm, noise=0.01, angle=1e-5, seed=seed + k, duration=15.0) for k, arm in enumerate((ARM, load))]
    return [{**data, "tau": data["tau"] / [11.0, 14.0, 9.0]} for data in pair]


def test_gains_follow_from_a_known_load_and_weigh_another() -> None:
    empty, loaded = loaded_pair(2.0, 1)
    gains = lw.identification.drive_gains(nominal(ARM), empty, loaded, mass=2.0, terms=(), offset=False)
    assert (np.abs(gains.values - [11.0, 14.0, 9.0]) < 4.0 * gains.sigma).all()
    assert (gains.relative_sigma < 0.1).all()
    empty, loaded = loaded_pair(3.0, 5)
    fit = lw.identify(nominal(ARM), empty, gains=gains)
    load = lw.identify(fit, loaded, gains=gains, free=["link3"]).payload()
    alone = lw.identify(fit, loaded, gains=gains.values, free=["link3"]).payload()
    assert abs(load.mass - 3.0) < 3.0 * load.mass_sigma
    assert load.mass_sigma > alone.mass_sigma  # which knows nothing of the gains' own σ
    with raises(ValueError, "mass", "above 0"):
        lw.identification.drive_gains(ARM, empty, loaded, mass=0.0)


def test_physically_consistent_fits_have_positive_definite_pseudo_inertias() -> None:
    for seed in range(3):
        fit = lw.identify(nominal(ARM, seed), measured(ARM, noise=0.3, seed=seed, duration=4.0), cutoff=10.0, **FIXED)
        assert all(certificate.eigenvalues.min() > 0.0 for certificate in fit.certificates.values())


def test_logs_are_read_into_si_units_on_a_regular_clock(tmp_path: Path) -> None:
    data = measured(ARM, noise=0.01)
    bursts = data["t"] + np.where(np.arange(1000) % 2, -0.0075, 0.0)  # two samples at a time
    columns = np.column_stack([1000.0 * bursts, np.degrees(data["q"]), data["tau"]])
    path = tmp_path / "log.csv"
    lines = [",".join(map(repr, row)) for row in columns.tolist()]
    path.write_text("\n".join(["clock,a,b,c,x,y,z", *lines, "12.3,0.1"]), encoding="utf-8")
    names = {"t": "clock", "q": ["a", "b", "c"], "tau": ["x", "y", "z"]}
    (log,) = lw.identification.read_log(ARM, path, columns=names, units={"t": "ms", "q": "deg"})
    assert np.ptp(np.diff(log.t)) < 1e-9
    assert any("cut off" in note for note in log.notes)
    assert np.abs(np.interp(log.t, data["t"], data["q"][:, 0]) - log.q[:, 0]).max() < 0.05
    fit = lw.identify(nominal(ARM), {"t": log.t, "q": log.q, "tau": log.tau})
    assert (fit.validation.r2 > 0.99).all()
    with raises(ValueError, "units", "'q'", "'parsec'"):
        lw.identification.read_log(ARM, path, columns=names, units={"q": "parsec"})


def test_the_next_motion_tells_what_the_first_did_not() -> None:
    t, q, qd, qdd = motion(ARM, seed=1, duration=8.0)
    q[:, 0], qd[:, 0], qdd[:, 0] = 0.4 + 0.02 * q[:, 0], 0.02 * qd[:, 0], 0.02 * qdd[:, 0]  # hardly moves
    tau = noisy(np.asarray(lw.inverse_dynamics(ARM, q, qd, qdd, friction=True)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = lw.identify(nominal(ARM), {"t": t, "q": q, "tau": tau}, cutoff=10.0, **FIXED)
    limits = {"position": (-2.0, 2.0), "velocity": 2.0, "acceleration": 10.0}
    move = lw.identification.next_motion(fit, limits, duration=8.0, harmonics=3, starts=1)
    spans = np.ptp(move(move.times).q, axis=0)
    assert spans[0] > 1.0
    data = measured_along(move)
    both = lw.identify(nominal(ARM), [{"t": t, "q": q, "tau": tau}, data], cutoff=10.0, **FIXED)
    worse = fit.base.sigma / both.base.sigma
    assert worse.max() > 5.0
    assert np.median(worse) > 1.2
    with raises(TypeError, "fit", "Robot"):
        lw.identification.next_motion(ARM)


def measured_along(move: lw.results.Excitation) -> dict[str, np.ndarray]:
    t = np.arange(800) / 100.0
    q, qd, qdd = (np.asarray(x) for x in move(t))
    return {"t": t, "q": q, "tau": noisy(np.asarray(lw.inverse_dynamics(ARM, q, qd, qdd, friction=True)), seed=3)}
