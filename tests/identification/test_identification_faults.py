"""Identification from data that something is wrong with: what is said, and what the robot keeps."""

import re
import warnings
from itertools import product

import numpy as np
import pytest

import linkwise as lw
from effort import rest_slow
from facts import raises
from linkwise.identification import filtering
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


def test_joints_that_hardly_move_keep_nominal_drives() -> None:
    """A motion above the noise of the encoder, and far too small to tell of drives."""
    arm = with_drives(lw.chain(3, seed=6))
    t, q, _, _ = motion(arm)
    q[:, 1] = 0.3 + 1e-5 * np.sin(3.0 * t) * np.sin(0.7 * t)
    rng = np.random.default_rng(1)
    tau = lw.inverse_dynamics(arm, *lw.trajectories.spline(t, q)(t), friction=True) + 0.02 * rng.normal(size=q.shape)
    fit = lw.identify(nominal(arm), {"t": t, "q": q + 1e-6 * rng.normal(size=q.shape), "tau": tau})
    assert any(note.startswith("link2.rotor, link2.viscous") for note in fit.notes)
    assert abs(fit.parameters["link2.viscous"]) < 1e-9


def test_torques_of_the_wrong_sign_give_bodies_and_a_note() -> None:
    arm = with_drives(lw.chain(3, seed=1))
    data = measured(arm, noise=0.01)
    fit = lw.identify(nominal(arm), data, gains=-1.0)
    assert all(certificate.possible for certificate in fit.certificates.values())
    assert any("is their sign that of the robot" in note for note in fit.notes)
    assert np.isfinite(fit.validation.rms).all()
    one = lw.identify(nominal(arm), data, gains=[1.0, -1.0, 1.0])
    assert any(note.startswith("the torques of link2 run against") for note in one.notes)
    assert not any("run against" in note for note in lw.identify(nominal(arm), data).notes)


def test_a_small_regularization_is_no_reason_to_fail() -> None:
    arm = with_drives(lw.chain(2, seed=4))
    fit = lw.identify(nominal(arm), measured(arm, noise=0.01), regularization=1e-12)
    assert fit.residuals.relative.max() < 0.02


@pytest.mark.filterwarnings("ignore:.*physically consistent")
def test_joints_in_another_order_and_torques_in_other_units_are_noted() -> None:
    arm = lw.chain(3, seed=1)
    data = measured(arm, noise=0.01)
    swapped = lw.identify(arm, data | {"tau": data["tau"][:, [1, 0, 2]]})
    assert any("the torque of link1 looks like that of link2" in note for note in swapped.notes)
    small = lw.identify(arm, data, gains=0.01)
    assert any(" are 0.01 (" in note for note in small.notes)


def test_a_lag_of_torques_is_measured() -> None:
    arm = with_drives(lw.chain(3, seed=1))
    data = measured(arm, noise=0.02, angle=1e-4, rate=250.0)
    for shift, words in ((2, "lag behind positions by about 8"), (-5, "be ahead of positions by about 20")):
        late = data | {"tau": np.roll(data["tau"], shift, axis=0)}
        fit = lw.identify(nominal(arm), {key: value[10:-10] for key, value in late.items()})
        assert any(words in note for note in fit.notes), fit.notes
    assert not any("positions by" in note for note in lw.identify(nominal(arm), data).notes)


def test_slow_rows_are_left_out_of_validation_too() -> None:
    arm = with_drives(lw.chain(2, seed=4))
    data = measured(arm, noise=0.01)
    speed = np.gradient(data["q"], 0.01, axis=0)
    data["tau"] = np.where(np.abs(speed) < 0.2, 2.0 * data["tau"] + 1.0, data["tau"])
    fit = lw.identify(nominal(arm), data, minimum_speed=0.5)
    assert fit.validate(data).rms == pytest.approx(fit.residuals.rms, rel=1e-6)
    assert (fit.validate(data, minimum_speed=0.0).rms > 2.0 * fit.residuals.rms).all()
    assert fit.validate(data, recorded_rates=False).rms == pytest.approx(fit.residuals.rms, rel=1e-6)
    other = lw.identify(nominal(arm), data, minimum_speed=0.5, validation=data)
    assert other.validation.rms == pytest.approx(fit.residuals.rms, rel=1e-6)
    assert "validation: rms" in other.report()
    assert "left out" not in other.report()
    with raises(TypeError, "'cutoff'", "validate", "minimum_speed"):
        fit.validate(data, cutoff=2.0)


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


def test_recorded_accelerations_are_held_against_positions() -> None:
    arm = with_drives(lw.chain(2, seed=4))
    data = recorded(arm)
    rng = np.random.default_rng(0)
    noisy = data | {"q": data["q"] + 1e-4 * rng.normal(size=data["q"].shape)}
    words = "recorded accelerations of link1, link2 are up to"
    for good in (data, noisy):
        assert not any(words in note for note in lw.identify(arm, good).notes)
    for bad in (np.degrees(data["qdd"]), -data["qdd"], data["qdd"] * (1.0 + rng.normal(size=data["q"].shape))):
        assert any(words in note for note in lw.identify(arm, noisy | {"qdd": bad}).notes)


def test_friction_of_the_nominal_robot_that_is_left_out_is_noted() -> None:
    arm = with_drives(lw.chain(2, seed=4))
    data = measured(arm, noise=0.01)
    assert any("friction=False leaves out" in note for note in lw.identify(arm, data, friction=False).notes)
    assert not any("friction=False" in note for note in lw.identify(arm, data).notes)


@pytest.mark.parametrize("step", [1, 3])
def test_long_filters_are_the_same_by_sums_and_by_fourier_transforms(
    step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    values, taps = np.random.default_rng(0).normal(size=(1500, 2, 3)), np.hanning(801)
    fast = filtering.decimated(values, taps, step)
    monkeypatch.setattr(filtering, "DIRECT", 1e9)
    assert np.allclose(fast, filtering.decimated(values, taps, step), atol=1e-10)


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
    assert any(note.startswith("condition number") and "act almost alike" in note for note in fit.notes)
    assert not any("condition number" in note for note in lw.identify(arm, recorded(arm), friction=False).notes)


def test_positions_that_jump_are_named() -> None:
    arm = lw.chain(3, seed=1)
    rng = np.random.default_rng(0)
    q = np.repeat(rng.uniform(-1.0, 1.0, size=(20, 3)), 100, axis=0) + 1e-5 * rng.normal(size=(2000, 3))
    data = {"t": np.arange(2000) / 100, "q": q, "tau": lw.gravity_torque(arm, q)}
    fit = lw.identify(arm, data, friction=False)
    assert any("positions of link1, link2, link3 jump" in note and "row 100" in note for note in fit.notes)
    assert not any("jump" in note for note in lw.identify(arm, measured(arm, angle=1e-3), friction=False).notes)


def test_right_models_of_short_recordings_are_not_said_to_lack_something() -> None:
    """What possible bodies cost is up to chi-squared of the unknowns, however few the rows are."""
    arm = with_drives(lw.chain(4, seed=3))
    for seed in range(4):
        fit = lw.identify(arm, measured(arm, noise=0.05, seed=seed, duration=6.0))
        assert not any("fit worse" in note for note in fit.notes)


def test_joints_that_are_always_slower_than_the_minimum_have_no_errors_and_a_note() -> None:
    arm = with_drives(lw.chain(3, seed=1))
    t, q, _, _ = motion(arm)
    q[:, 1] *= 0.01
    tau = lw.inverse_dynamics(arm, *lw.trajectories.spline(t, q)(t), friction=True)
    fit = lw.identify(arm, {"t": t, "q": q, "tau": tau}, minimum_speed=0.3, offset=True)
    assert any(note.startswith("link2 (0.3): always slower than minimum_speed") for note in fit.notes)
    assert np.isnan([fit.residuals.rms[1], fit.validation.rms[1]]).all()
    assert (fit.residuals.r2[[0, 2]] > 0.999).all()
    assert "link2 (0.3): always slower" in fit.report()


def test_a_mean_of_residuals_is_no_offset_where_a_zero_explains_it() -> None:
    arm = lw.load("ur5e")
    data, first = recorded(arm, noise=0.02), np.eye(arm.n)[1]
    for q, tau, words in ((0.05, 0.0, "moved by"), (0.0, 0.5, "offset=True")):
        moved = data | {"q": data["q"] + q * first, "tau": data["tau"] + tau * data["tau"].std(axis=0) * first}
        found = [note for note in lw.identify(nominal(arm), moved).notes if arm.v_names[1] in note]
        assert len(found) == 1, found
        assert words in found[0]


FAULTS = ("none", "masses", "load", "zero", "all gains", "one gain", "currents")


def notes_with_fault(arm: lw.Robot, fault: str, joint: int) -> list[str]:
    """Notes on gains and zeros from a recording with a fault; the masses of the nominal robot are off by 5 %."""
    values, rng = np.array(lw.parameters(arm)), np.random.default_rng(1)
    values[: 10 * len(arm.names)] *= np.repeat(1.0 + 0.05 * rng.normal(size=len(arm.names)), 10)
    own, one = arm if fault == "none" else arm.with_parameters(values), np.arange(arm.n) == joint
    tip = {"link": "panda_hand"} if arm.name == "panda" else {}
    true = with_drives(arm.with_payload(3.0, [0.05, 0.0, 0.1], **tip) if fault == "load" else arm)
    data = measured(true, noise=0.02)
    data["q"] = data["q"] + 0.1 * one * (fault == "zero")
    currents = 1.0 / rng.uniform(30.0, 120.0, arm.n)
    gains = {"all gains": np.full(arm.n, 0.8), "one gain": np.where(one, 0.8, 1.0), "currents": currents}
    data["tau"] = data["tau"] * gains.get(fault, np.ones(arm.n))
    notes = lw.identify(own, data).notes
    return [note for note in notes if "gains=" in note or " moved by " in note]


def check_fault(arm: lw.Robot, fault: str, joint: int = 1) -> None:
    notes, name = notes_with_fault(arm, fault, joint), arm.v_names[joint]
    expected = {"none": 0, "masses": 0, "load": 0}.get(fault, 1)
    assert len(notes) == expected, notes
    patterns = {
        "zero": (rf"{name} moved by (-0\.\d+) ", -0.1, 0.01),
        "all gains": (r"are (0\.\d+) .* times those of the nominal robot", 0.8, 0.05),
        "one gain": (rf"that of {name} is (0\.\d+) times what the others say \(", 0.8, 0.01),
        "currents": (r"(\(σ.*){1,}", None, None),
    }
    if expected:
        pattern, value, slack = patterns[fault]
        found = re.findall(pattern, notes[0])
        assert len(found) == 1, notes
        assert value is None or abs(float(found[0]) - value) < slack, notes


CHECKS = list(product(("ur5e", "panda", "puma560", "stanford", "iiwa14"), FAULTS))


@pytest.mark.parametrize(("name", "fault"), rest_slow(CHECKS, [("puma560", "zero"), ("puma560", "one gain")]))
def test_gains_and_zeros_that_parameters_take_up_are_noted(name: str, fault: str) -> None:
    for joint in (1, 2) if fault in ("zero", "one gain") and name != "puma560" else (1,):
        check_fault(lw.load(name), fault, joint)


def scaled(arm: lw.Robot, link: int, factor: float) -> lw.Robot:
    values = np.array(lw.parameters(arm))
    values[10 * link : 10 * link + 10] *= factor
    return arm.with_parameters(values)


def notes_beside(arm: lw.Robot, true: lw.Robot, gain: float = 1.0) -> list[str]:
    data = recorded(true, noise=0.01)
    notes = lw.identify(arm, data | {"tau": gain * data["tau"]}).notes
    return [note for note in notes if "gains=" in note or " moved by " in note]


@pytest.mark.parametrize("gain", rest_slow([1e-3, 60.0, 1e3], [1e3]))
@pytest.mark.parametrize("load", rest_slow([0.0, 1.5], [1.5]))
def test_torques_in_another_unit_are_noted_with_a_load_too(gain: float, load: float) -> None:
    arm = lw.load("puma560")
    (note,) = notes_beside(arm, arm.with_payload(load) if load else arm, gain)
    found = float(re.findall(r"are ([0-9.e+-]+) .* times those of the nominal robot: are torques in N m", note)[0])
    assert abs(found / gain - 1.0) < (0.4 if load else 0.01)


ANY_ARM = ["ur5e", "panda", "puma560", "stanford", "iiwa14", "planar3", "gantry"]


@pytest.mark.parametrize(
    ("name", "every"), rest_slow([*product(ANY_ARM, [True]), ("puma560", False)], [("puma560", False)])
)
def test_heavier_links_and_payloads_are_no_gain_of_all_joints(name: str, every: bool) -> None:
    arm = lw.load(name)
    tip = {"link": "panda_hand"} if name == "panda" else {}
    links, factors, masses = (range(len(arm.names)), (0.6, 1.3, 2.0), (0.5, 1.0, 3.0)) if every else ((2,), (1.3,), ())
    loads = [arm.with_payload(mass, [0.05, 0.0, 0.1], **tip) for mass in masses]
    for true in [scaled(arm, link, factor) for link in links for factor in factors] + loads:
        assert not notes_beside(arm, true)


@pytest.mark.parametrize("factors", [(2.0, 2.5), (3.0, 1.8)])
def test_joints_that_carry_gravity_and_disagree_are_not_given_one_factor(factors: tuple[float, float]) -> None:
    """Two links of other masses: one factor explains most, more than each of them, and is that of no joint."""
    arm = lw.load("planar3")
    assert not notes_beside(arm, scaled(scaled(arm, 1, factors[0]), 2, factors[1]))


@pytest.mark.parametrize(("name", "gain", "told"), [("planar3", 0.8, 3), ("gantry", 0.01, 1)])
def test_a_gain_of_all_joints_is_noted_with_the_joints_that_tell_it(name: str, gain: float, told: int) -> None:
    arm = lw.load(name)
    (note,) = notes_beside(arm, arm, gain)
    each = re.findall(r"(\w+) \(([\d.]+)\)", note)
    assert [joint for joint, _ in each] == list(arm.v_names[-told:])
    assert all(abs(float(factor) / gain - 1.0) < 0.02 for _, factor in each)


def test_gains_are_told_where_most_of_the_robot_is_known() -> None:
    """As in fits of a payload: beside what is known a gain of all joints shows in the data."""
    arm = with_drives(lw.load("puma560"))
    data = measured(arm.with_payload(2.0), noise=0.02)
    assert not any("gains=" in note for note in lw.identify(arm, data, free=["link6"]).notes)
    low = lw.identify(arm, data | {"tau": 0.8 * data["tau"]}, free=["link6"])
    assert any(all(f"that of {name} is 0." in note for name in arm.v_names[:3]) for note in low.notes)


def gains_noted(arm: lw.Robot, data: dict[str, np.ndarray], gains: np.ndarray) -> dict[str, float]:
    """The factors that a note has."""
    notes = lw.identify(arm, data | {"tau": data["tau"] * gains}).notes
    found = [note for note in notes if "do not agree" in note]
    assert len(found) == 1, notes
    return {name: float(factor) for name, factor in re.findall(r"that of (\w+) is (\S+) times", found[0])}


@pytest.mark.parametrize("factor", rest_slow([0.1, 0.3, 0.42, 10.0, -1.0], [0.1, 10.0, -1.0]))
@pytest.mark.parametrize("name", rest_slow(["three", "puma560", "ur5e"], ["three"]))
def test_gains_of_one_and_of_two_joints_are_those_that_were_put_in(name: str, factor: float) -> None:
    arm = with_drives(lw.chain(3, seed=6) if name == "three" else lw.load(name))
    data = measured(arm, noise=0.02, duration=20.0)
    for joints in ([0], [1], [2], *([] if name == "puma560" else [[1, 2]])):  # its wrist tells little of gains
        gains = np.ones(arm.n)
        gains[joints] = factor
        if len(joints) == 2:
            gains[2] *= 1.5
        found = gains_noted(arm, data, gains)
        assert set(found) == {arm.v_names[j] for j in joints}
        for j in joints:
            assert found[arm.v_names[j]] == pytest.approx(gains[j], rel=0.1 if name == "puma560" else 0.04)


def test_torques_of_exchanged_joints_are_given_no_gains() -> None:
    arm = with_drives(lw.chain(3, seed=6))
    data = measured(arm, noise=0.02)
    notes = lw.identify(arm, data | {"tau": data["tau"][:, [0, 2, 1]]}).notes
    assert notes
    assert not any(re.search(r"that of \w+ is \S+ times", note) for note in notes)


def test_serious_notes_are_warnings_and_the_text_of_a_result_counts_notes() -> None:
    arm = with_drives(lw.chain(3, seed=6))
    data = measured(arm, noise=0.02)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        right = lw.identify(arm, data)
    assert ("note" in repr(right)) == bool(right.notes)
    with pytest.warns(UserWarning, match=r"^identification of robot") as record:
        fit = lw.identify(arm, data | {"tau": data["tau"] * [1.0, 0.5, 1.0]})
    texts = [str(warning.message) for warning in record]
    assert sum("that of link2 is 0.5" in text for text in texts) == 1
    assert all(text.partition(": ")[2] in fit.notes for text in texts)
    assert record[0].filename == __file__
    assert f"{len(fit.notes)} note" in repr(fit)
