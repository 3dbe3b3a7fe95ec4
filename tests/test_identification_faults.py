"""Identification from data that something is wrong with: what is said, and what the robot keeps."""

import numpy as np
import pytest

import linkwise as lw
from measured import motion, nominal, with_drives


def with_late_joint(arm: lw.Robot) -> dict[str, np.ndarray]:
    """The last joint moves in the last fifth of the recording alone."""
    t, q, _, _ = motion(arm, duration=20.0)
    s = np.clip((t - 16.0) / 1.0, 0.0, 1.0)
    q[:, -1] *= s**3 * (10.0 - 15.0 * s + 6.0 * s * s)
    tau = lw.inverse_dynamics(arm, *lw.spline(t, q)(t), friction=True)
    return {"t": t, "q": q, "tau": tau + 0.02 * np.random.default_rng(0).normal(size=q.shape)}


@pytest.mark.filterwarnings("ignore:.*cannot exist")
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


def test_cross_validation_has_not_seen_what_it_predicts() -> None:
    """Where one part alone tells of a joint, nothing of that part is in what predicts it."""
    arm = with_drives(lw.chain(3, seed=1))
    fit = lw.identify(nominal(arm), with_late_joint(arm), physical=False)
    assert fit.residuals.r2[2] > 0.99
    assert fit.validation.r2[2] < 0.9


def test_joints_that_hardly_move_keep_nominal_drives() -> None:
    """A motion above the noise of the encoder, and far too small to tell of drives."""
    arm = with_drives(lw.chain(3, seed=6))
    t, q, _, _ = motion(arm)
    q[:, 1] = 0.3 + 1e-5 * np.sin(3.0 * t) * np.sin(0.7 * t)
    rng = np.random.default_rng(1)
    tau = lw.inverse_dynamics(arm, *lw.spline(t, q)(t), friction=True) + 0.02 * rng.normal(size=q.shape)
    fit = lw.identify(nominal(arm), {"t": t, "q": q + 1e-6 * rng.normal(size=q.shape), "tau": tau})
    assert any(note.startswith("link2.rotor, link2.viscous") for note in fit.notes)
    assert abs(fit.parameters["link2.viscous"]) < 1e-9
