"""Identification from data that something is wrong with: what is said, and what the robot keeps."""

import re

import numpy as np
import pytest

import linkwise as lw
from measured import measured, motion, nominal, recorded, with_drives

pytestmark = pytest.mark.filterwarnings("ignore:identification of robot")


def with_late_joint(arm: lw.Robot) -> dict[str, np.ndarray]:
    """The last joint moves in the last fifth of the recording alone."""
    t, q, _, _ = motion(arm, duration=20.0)
    s = np.clip((t - 16.0) / 1.0, 0.0, 1.0)
    q[:, -1] *= s**3 * (10.0 - 15.0 * s + 6.0 * s * s)
    tau = lw.inverse_dynamics(arm, *lw.trajectories.spline(t, q)(t), friction=True)
    return {"t": t, "q": q, "tau": tau + 0.02 * np.random.default_rng(0).normal(size=q.shape)}


@pytest.mark.filterwarnings("ignore:.*physically consistent")
@pytest.mark.parametrize("physical", [True, False])
@pytest.mark.parametrize("noise", [1e-6, 1e-4])
def test_joints_that_stand_still_but_for_noise_keep_nominal_drives(noise: float, physical: bool) -> None:
    arm = with_drives(lw.chain(3, seed=6))
    t, q, qd, qdd = motion(arm)
    q[:, 1], qd[:, 1], qdd[:, 1] = 0.3, 0.0, 0.0
    rng = np.random.default_rng(1)
    tau = lw.inverse_dynamics(arm, q, qd, qdd, friction=True) + 0.02 * rng.normal(size=q.shape)
    fit = lw.identify(nominal(arm), {"t": t, "q": q + noise * rng.normal(size=q.shape), "tau": tau}, physical=physical)
    assert any("link2 stands still" in note for note in fit.notes)
    for kind in ("viscous", "coulomb", "rotor"):
        assert fit.parameters[f"link2.{kind}"] == pytest.approx(0.0, abs=1e-9)
        assert "no effect" in fit.not_identifiable[f"link2.{kind}"]
    assert fit.rank < len(fit.base)


def test_joints_that_hardly_move_are_named() -> None:
    arm = with_drives(lw.chain(3, seed=6))
    t, q, qd, qdd = motion(arm)
    for x in (q, qd, qdd):
        x[:, 1] *= 6.5e-4 / np.ptp(q[:, 1])
    tau = lw.inverse_dynamics(arm, q, qd, qdd, friction=True)
    fit = lw.identify(nominal(arm), {"t": t, "q": q, "qd": qd, "qdd": qdd, "tau": tau}, physical=False)
    (note,) = [note for note in fit.notes if "hardly move" in note]
    assert re.search(r"link2 \([\d.e-]+ rad\)", note)
    assert "link1" not in note
    assert "link3" not in note


def test_cross_validation_has_not_seen_what_it_predicts() -> None:
    """Where one part alone tells of a joint, nothing of that part is in what predicts it."""
    arm = with_drives(lw.chain(3, seed=1))
    fit = lw.identify(nominal(arm), with_late_joint(arm), physical=False)
    assert fit.residuals.r2[2] > 0.99
    assert fit.validation.r2[2] < 0.9


def test_offsets_of_joints_without_rows_in_a_part_do_not_lose_the_fit() -> None:
    """The last joint is fast enough in the last part alone: the others tell nothing of its offset."""
    arm = with_drives(lw.chain(3, seed=1))
    fit = lw.identify(nominal(arm), with_late_joint(arm), offset=True, minimum_speed=0.05)
    assert (fit.residuals.r2 > 0.99).all()
    assert np.isfinite(fit.validation.rms).all()
    assert fit.validation.r2[2] < 0.9


def test_joints_that_hardly_move_keep_nominal_rotors() -> None:
    """A motion above the noise of the encoder, and far too small to tell of drives."""
    arm = with_drives(lw.chain(3, seed=6))
    t, q, _, _ = motion(arm)
    q[:, 1] = 0.3 + 1e-5 * np.sin(3.0 * t) * np.sin(0.7 * t)
    rng = np.random.default_rng(1)
    tau = lw.inverse_dynamics(arm, *lw.trajectories.spline(t, q)(t), friction=True) + 0.02 * rng.normal(size=q.shape)
    fit = lw.identify(nominal(arm), {"t": t, "q": q + 1e-6 * rng.normal(size=q.shape), "tau": tau})
    assert any("joints that hardly move: link2 (" in note for note in fit.notes)
    assert any(note.startswith("link2.rotor") and "kept" in note for note in fit.notes)
    assert fit.parameters["link2.rotor"] < 1e-9


def test_torques_of_the_wrong_sign_give_bodies_and_a_note() -> None:
    arm = with_drives(lw.chain(3, seed=1))
    data = measured(arm, noise=0.01)
    fit = lw.identify(nominal(arm), data, gains=-1.0)
    assert all(certificate.possible for certificate in fit.certificates.values())
    assert any("is their sign that of the robot" in note for note in fit.notes)
    assert np.isfinite(fit.validation.rms).all()
    one = lw.identify(nominal(arm), data, gains=[1.0, -1.0, 1.0])
    assert any(note.startswith("the torques of link2 have the opposite sign") for note in one.notes)
    assert not any("opposite sign" in note for note in lw.identify(nominal(arm), data).notes)


def test_a_small_regularization_is_no_reason_to_fail() -> None:
    arm = with_drives(lw.chain(2, seed=4))
    fit = lw.identify(nominal(arm), measured(arm, noise=0.01), regularization=1e-12)
    assert fit.residuals.relative.max() < 0.02


def test_a_torque_that_is_zero_has_no_relative_error() -> None:
    arm = with_drives(lw.chain(2, seed=4))
    data = measured(arm, noise=0.01)
    data["tau"][:, 1] = 0.0
    fit = lw.identify(arm, data)
    assert "inf" not in repr(fit)


@pytest.mark.filterwarnings("ignore:.*physically consistent")
@pytest.mark.parametrize("physical", [True, False])
def test_a_payload_is_identified_alone(physical: bool) -> None:
    """All else, friction too, is that of the nominal robot."""
    arm = with_drives(lw.chain(4, seed=3))
    carried = arm.with_payload(2.0, [0.05, 0.0, 0.1], np.diag([0.01, 0.02, 0.015]))
    fit = lw.identify(arm, measured(carried, noise=0.02, angle=1e-5, seed=1), free=["link4"], physical=physical)
    assert len(fit.base) <= 10
    grown = fit.parameters["link4.m"] - lw.parameters(arm)["link4.m"]
    assert grown == pytest.approx(2.0, abs=4.0 * fit.parameters.sigma[fit.parameters.names.index("link4.m")])
    assert grown == pytest.approx(2.0, rel=0.03)
    body = [name.partition(".") for name in fit.parameters.names]
    held = np.array([link != "link4" or kind in ("rotor", "viscous", "coulomb") for link, _, kind in body])
    assert np.array_equal(fit.parameters.values[held], fit.parameters.nominal[held])
    assert (fit.parameters.sigma[held] == 0.0).all()
    assert fit.residuals.relative.max() < 0.05


def test_what_is_free_is_named() -> None:
    arm = with_drives(lw.chain(2, seed=4))
    assert lw.identify(arm, measured(arm, noise=0.01), free=["link1.viscous"]).notes == ()
    fit = lw.identify(arm, measured(arm, noise=0.01), free=["link2", "link1.viscous"])
    assert "link1.viscous" in fit.base.names
    with pytest.raises(ValueError, match="free has 'link9'"):
        lw.identify(arm, measured(arm), free=["link9"])
    with pytest.raises(TypeError, match="list of links"):
        lw.identify(arm, measured(arm), free="link2")


def test_the_identified_robot_says_where_its_numbers_come_from() -> None:
    fit = lw.identify(lw.load("puma560"), measured(lw.load("puma560"), noise=0.01))
    assert fit.robot.name == "puma560"
    assert fit.robot.about.startswith("Identified from 1000 samples, 10 s; nominal robot: ")


def test_a_sum_is_said_with_what_it_is_a_sum_of() -> None:
    """A base parameter has the name of one of its parts: "a part of itself" would say nothing."""
    fit = lw.identify(lw.load("planar3"), measured(lw.load("planar3")))
    assert fit.not_identifiable["link1.hx"].startswith("known only in a sum with link")


def test_combinations_have_rotors_and_give_the_values() -> None:
    arm = with_drives(lw.load("planar3"))
    fit = lw.identify(arm, measured(arm))
    lines = dict(line.split(" = ") for line in str(fit.combinations()).splitlines())
    assert tuple(lines) == fit.base.names
    assert lines["link2.hx"] == "link2.hx + 0.25 link3.m"
    assert "link1.rotor" in lines["link1.Jzz"]


def test_friction_of_the_nominal_robot_that_is_left_out_is_noted() -> None:
    arm = with_drives(lw.chain(2, seed=4))
    data = measured(arm, noise=0.01)
    assert any("friction=False leaves out" in note for note in lw.identify(arm, data, friction=False).notes)
    assert not any("friction=False" in note for note in lw.identify(arm, data).notes)


def test_coefficients_of_a_law_are_nominal_and_predictions_use_those_that_were_found() -> None:
    arm = with_drives(lw.chain(3, seed=1))
    data = recorded(arm, noise=0.01)
    fit = lw.identify(nominal(arm), data, friction=lw.Friction(viscous=2.0, coulomb=1.0, smooth=0.01))
    assert np.allclose(fit.validate(data).rms, fit.residuals.rms, rtol=0.05)
    assert fit.friction == lw.Friction(smooth=0.01)
    assert np.std(fit.torques[0].measured - fit.torques[0].predicted) < 0.1
    bodies = lw.identify(arm, data, friction=lw.Friction(viscous=2.0), free=["link3"])
    assert bodies.parameters["link2.viscous"] == 2.0


@pytest.mark.parametrize("physical", [True, False])
def test_without_weights_all_joints_count_alike_and_sigma_is_that_of_ordinary_least_squares(physical: bool) -> None:
    arm, noise = with_drives(lw.chain(2, seed=1)), np.array([0.1, 0.01])
    data = recorded(arm)
    data["tau"] = data["tau"] + noise * np.random.default_rng(0).normal(size=data["tau"].shape)
    Y = np.asarray(lw.regressor(arm, data["q"], data["qd"], data["qdd"], friction=True, base=True))
    plain = np.linalg.lstsq(Y.reshape(-1, Y.shape[-1]), data["tau"].ravel(), rcond=None)[0]
    inverse = np.linalg.inv(np.einsum("tja,tjb->ab", Y, Y))
    sigma = np.sqrt(np.diag(inverse @ np.einsum("tja,j,tjb->ab", Y, noise**2, Y) @ inverse))
    fit = lw.identify(arm, data, physical=physical, weighted=False)
    assert np.allclose(fit.noise, noise, rtol=0.1)
    assert np.allclose(fit.base.white_sigma, sigma, rtol=0.1)
    assert np.all(np.abs(fit.base.values - plain) <= (0.3 if physical else 1e-6) * sigma)
    weighted = lw.identify(arm, data, physical=physical).base.values
    assert np.max(np.abs(weighted - plain) / sigma) > 1.0


def test_parameters_that_act_almost_alike_are_named() -> None:
    arm = lw.chain(3, seed=1)
    data = recorded(arm)
    data["q"][:, 1] = 0.3 + 1e-6 * data["q"][:, 1]
    data["qd"][:, 1] *= 1e-6
    data["qdd"][:, 1] *= 1e-6
    data["tau"] = np.asarray(lw.inverse_dynamics(arm, data["q"], data["qd"], data["qdd"]))
    fit = lw.identify(arm, data, friction=False)
    assert fit.condition > 1e5
    assert any(note.startswith("condition number") and "physical=False" in note for note in fit.notes)
    assert not any("condition number" in note for note in lw.identify(arm, recorded(arm), friction=False).notes)


def test_right_models_of_short_recordings_are_not_said_to_lack_something() -> None:
    """What possible bodies cost is up to chi-squared of the unknowns, however few the rows are."""
    arm = with_drives(lw.chain(4, seed=3))
    for seed in range(4):
        fit = lw.identify(arm, measured(arm, noise=0.05, seed=seed, duration=6.0))
        assert not any("fit worse" in note for note in fit.notes)
