"""Identification: exact from clean data, within σ from noisy data, physically consistent bodies."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

import linkwise as lw
from effort import rest_slow
from linkwise.identification.filtering import derivative, low_pass, smoothing_cutoff
from linkwise.identification.physical import (
    PhysicalFit,
    PhysicalProblem,
    pseudo_inertias,
    ten_numbers,
)
from measured import measured, motion, nominal, recorded, with_drives
from robots import relative

pytestmark = pytest.mark.filterwarnings("ignore:identification of robot")

ARMS = [with_drives(arm) for arm in (lw.chain(3, seed=1, joints="RRP"), lw.random_tree(4, seed=2), lw.chain(7, seed=3))]
SHORT = [lw.chain(2 + seed % 2, seed=seed, joints=("R", "RP", "RRP")[seed % 3]) for seed in range(7)]
TEN = [with_drives(arm, seed) for seed, arm in enumerate([*SHORT, *(lw.random_tree(3, seed=k) for k in range(3))])]
LARGE = [with_drives(lw.chain(5 + seed % 3, seed=seed), seed) for seed in range(5)]


def base_of(arm: lw.Robot) -> np.ndarray:
    return np.asarray(lw.parameters(arm, friction=True, base=True))


@pytest.mark.parametrize("physical", [False, True])
@pytest.mark.parametrize("arm", rest_slow(ARMS, ARMS[:2]), ids=lambda arm: arm.name)
def test_clean_data_give_every_base_parameter(arm: lw.Robot, physical: bool) -> None:
    fit = lw.identify(nominal(arm), recorded(arm), physical=physical)
    base = base_of(arm)
    assert fit.rank == len(base)
    assert np.all(np.abs(fit.base.values - base) <= 1e-9 * (np.abs(base) + 1e-3 * np.abs(base).max()))
    _, q, qd, qdd = motion(arm, seed=9, duration=1.0)
    assert relative(fit.predict(q, qd, qdd), lw.inverse_dynamics(arm, q, qd, qdd, friction=True)) < 1e-9


def test_the_robot_itself_is_found_again() -> None:
    """What the data do not tell stays nominal; a rotor that no torque tells from a body takes little of that."""
    for arm, little in ((ARMS[0], 1e-6), (lw.chain(2, seed=4), 0.02)):
        fit = lw.identify(arm, recorded(arm))
        assert relative(fit.parameters.values, lw.parameters(arm, friction=True)) < little


@pytest.mark.parametrize("arms", rest_slow([TEN, LARGE], [TEN]), ids=["ten", "large"])
def test_noisy_positions_and_torques_give_parameters_within_three_sigma(arms: list[lw.Robot]) -> None:
    far = []
    for seed, arm in enumerate(arms):
        data = measured(arm, noise=0.02, angle=1e-4, seed=seed, duration=12.0, rate=200.0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # least squares may find bodies that are not physically consistent
            fit = lw.identify(nominal(arm, seed), data, physical=seed % 2 == 0)
        count = len(base_of(arm))
        far.append(np.abs(fit.base.values[:count] - base_of(arm)) / fit.base.sigma[:count])
    every = np.concatenate(far)
    assert np.mean(every > 3.0) < 0.01  # of independent normal numbers 0.3 %
    assert every.max() < 5.0
    assert np.sqrt(np.mean(every**2)) > 0.5  # σ is not simply large


@pytest.mark.slow
def test_sigma_is_honest_where_noise_is_correlated() -> None:
    arm = with_drives(lw.chain(2, seed=4))
    far, white = [], []
    for seed in range(6):
        data = recorded(arm, seed=seed)
        slow = np.random.default_rng(seed).normal(size=(len(data["t"]) + 39, 2)).cumsum(axis=0)
        slow = (slow[39:] - np.pad(slow, ((1, 0), (0, 0)))[: len(data["t"])]) / np.sqrt(40.0)  # means of 40 samples
        data["tau"] = data["tau"] + 0.05 * data["tau"].std(axis=0) * slow
        fit = lw.identify(arm, data, terms=(), offset=False)
        far.append(np.abs(fit.base.values - base_of(arm)) / fit.base.sigma)
        white.append(np.abs(fit.base.values - base_of(arm)) / fit.base.white_sigma)
    assert np.mean(np.concatenate(far) > 3.0) < 0.05
    assert np.mean(np.concatenate(white) > 3.0) > 0.15  # what formulas for white noise would claim


def test_least_squares_finds_bodies_that_cannot_exist_and_the_physical_fit_does_not() -> None:
    """Little motion and much noise: the inertia matrix of what least squares finds is not even positive."""
    arm = lw.chain(3, seed=5)
    data = measured(arm, noise=0.3, seed=2, duration=3.0)
    with pytest.warns(UserWarning, match="physically consistent"):
        plain = lw.identify(nominal(arm), data, physical=False)
    fit = lw.identify(nominal(arm), data)
    assert not all(certificate.possible for certificate in plain.certificates.values())
    assert all(certificate.eigenvalues.min() > 0.0 for certificate in fit.certificates.values())
    assert (fit.parameters.values[30:] >= 0.0).all()
    q = np.random.default_rng(0).uniform(-3.0, 3.0, (50, 3))
    assert np.linalg.eigvalsh(lw.inertia_matrix(plain.robot, q)).min() < 0.0
    assert np.linalg.eigvalsh(lw.inertia_matrix(fit.robot, q)).min() > 0.0
    truth = lw.inertia_matrix(arm, q)
    assert relative(lw.inertia_matrix(fit.robot, q), truth) < relative(lw.inertia_matrix(plain.robot, q), truth)
    assert "NOT CONSISTENT" in plain.report()
    assert "NOT CONSISTENT" not in fit.report()


def problem(seed: int, rows: int = 25, links: int = 3, scalars: int = 4, free: int = 2) -> PhysicalProblem:
    """Data of bodies of which some are not physically consistent; fewer rows than unknowns."""
    rng = np.random.default_rng(seed)
    factors = rng.normal(size=(links, 4, 4))
    true = np.concatenate([rng.normal(size=10 * links), rng.normal(size=scalars + free)])
    matrix = rng.normal(size=(rows, len(true)))
    bodies, prior = factors @ factors.swapaxes(-1, -2), rng.uniform(0.5, 2.0, scalars)
    return PhysicalProblem(matrix, matrix @ true, bodies, prior, 0.1, rng.uniform(0.1, 1.0, scalars))


def objective(at: PhysicalProblem, fit: PhysicalFit) -> float:
    own = np.concatenate([fit.values, fit.free])
    entropy = np.sum(np.linalg.inv(at.prior) * fit.bodies) - np.linalg.slogdet(fit.bodies)[1].sum()
    entropy += at.shares @ (fit.scalars / at.prior_scalars - np.log(fit.scalars))
    return float(0.5 * np.sum((at.matrix @ own - at.target) ** 2) + at.weight * entropy)


@pytest.mark.parametrize("seed", range(5))
def test_the_barrier_method_is_at_the_minimum(seed: int) -> None:
    at = problem(seed)
    fit = at.solve()
    own = np.concatenate([fit.values, fit.free])
    pull = at.matrix.T @ (at.matrix @ own - at.target)  # the gradient is zero, body by body
    barrier = at.weight * (np.linalg.inv(at.prior) - np.linalg.inv(fit.bodies))
    size = np.abs(at.matrix.T @ at.target).max()
    by_ten = np.tensordot(barrier, pseudo_inertias(np.eye(10)), ([1, 2], [1, 2])).ravel()
    of_scalars = at.weight * at.shares * (1.0 / at.prior_scalars - 1.0 / fit.scalars)
    assert np.abs(pull + np.concatenate([by_ten, of_scalars, np.zeros(2)])).max() < 1e-6 * size
    assert np.linalg.eigvalsh(fit.bodies).min() > 0.0
    assert fit.scalars.min() > 0.0
    assert fit.steps < 200


@pytest.mark.parametrize("seed", range(3))
def test_the_barrier_method_agrees_with_a_conic_solver(seed: int) -> None:
    pytest.importorskip("clarabel")
    pytest.importorskip("cvxpy")
    from conic import solve_with_clarabel

    at = problem(seed)
    own, other = objective(at, at.solve()), objective(at, solve_with_clarabel(at))
    assert own <= other + 1e-9 * abs(other)
    assert other - own < 1e-4 * abs(own)


def test_the_gap_bounds_what_the_barrier_costs() -> None:
    """Without the logarithms, nothing inside the cone is better by more than the gap."""
    at = problem(7)
    fit = at.solve()

    def cost(bodies: np.ndarray, scalars: np.ndarray, free: np.ndarray) -> float:
        own = np.concatenate([ten_numbers(bodies).ravel(), scalars, free])
        linear = np.sum(np.linalg.inv(at.prior) * bodies) + at.shares @ (scalars / at.prior_scalars)
        return float(0.5 * np.sum((at.matrix @ own - at.target) ** 2) + at.weight * linear)

    finer = replace(at, weight=1e-3 * at.weight).solve()
    here = cost(fit.bodies, fit.scalars, fit.free)
    assert here - cost(finer.bodies, finer.scalars, finer.free) <= fit.gap
    assert fit.gap == pytest.approx(0.1 * (4 * 3 + at.shares.sum()))


def test_pseudo_inertias_are_those_of_points() -> None:
    rng = np.random.default_rng(0)
    points, masses = rng.normal(size=(5, 3)), rng.uniform(1.0, 2.0, 5)
    J = sum(m * (p @ p * np.eye(3) - np.outer(p, p)) for m, p in zip(masses, points, strict=True))
    ten = np.array([masses.sum(), *(masses @ points), *J[np.triu_indices(3)]])
    ones = np.column_stack([points, np.ones(5)])
    assert np.allclose(pseudo_inertias(ten), ones.T @ (masses[:, None] * ones))
    assert np.allclose(ten_numbers(pseudo_inertias(ten)), ten)


@pytest.mark.parametrize("name", ["wild", "none", "large"])
def test_any_nominal_robot_will_do(name: str) -> None:
    """Placeholders for inertias, no bodies at all, bodies a hundred times too heavy."""
    arm = with_drives(lw.chain(3, seed=6))
    mass, moment = {"wild": (1.0, 1e-6), "none": (0.0, 0.0), "large": (100.0, 9.0)}[name]
    body = [mass, 0, 0, 0, moment, 0, 0, moment, 0, moment]
    start = arm.with_parameters(np.append(np.tile(body, 3), np.zeros(9)), friction=True)
    fit = lw.identify(start, measured(arm, noise=0.01, seed=2))
    assert all(certificate.possible for certificate in fit.certificates.values())
    assert fit.residuals.relative.max() < 0.01
    assert any("drawn to" in note for note in fit.notes) == (name != "large")


def test_joints_that_stand_still_leave_parameters_undetermined_and_nominal() -> None:
    arm = with_drives(lw.chain(3, seed=6))
    t, q, qd, qdd = motion(arm)
    q[:, 2], qd[:, 2], qdd[:, 2] = 0.3, 0.0, 0.0
    tau = lw.inverse_dynamics(arm, q, qd, qdd, friction=True)
    for physical in (True, False):
        fit = lw.identify(arm, {"t": t, "q": q, "tau": tau}, physical=physical)
        assert fit.rank < len(fit.base)
        for kind in ("viscous", "coulomb", "rotor"):
            assert "no effect in these data" in fit.not_identifiable[f"link3.{kind}"]
            known = fit.parameters.nominal[fit.parameters.names.index(f"link3.{kind}")]
            assert fit.parameters[f"link3.{kind}"] == pytest.approx(known)
        assert np.isinf(fit.base.sigma).sum() >= 3
        assert fit.residuals.relative.max() < 1e-3
        assert "not excited" in fit.report()


def test_reasons_are_given_in_words() -> None:
    fit = lw.identify(lw.load("planar3"), measured(lw.load("planar3")))
    assert fit.not_identifiable["link1.Jxx"] == "the link only turns about z"
    assert fit.not_identifiable["link2.m"] == "known only as a part of link1.hx, link1.Jzz"
    assert "link3.hx" not in fit.not_identifiable
    known = [np.isfinite(sigma) for sigma in fit.parameters.sigma]
    assert [name in fit.not_identifiable for name in fit.parameters.names] == [not x for x in known]
    gantry = lw.identify(lw.load("gantry"), measured(lw.load("gantry")))
    assert gantry.not_identifiable["hoist.Jzz"] == "the link only slides and never turns"


def test_filters_differentiate_and_do_not_delay() -> None:
    t, w = np.arange(2000) / 100.0, 2.0 * np.pi * 0.5
    wave = np.stack([np.sin(w * t), np.cos(w * t) + t * t], axis=-1)
    smooth, inner = low_pass(wave, 100.0, 5.0), slice(100, -100)
    slopes = np.stack([w * np.cos(w * t), -w * np.sin(w * t) + 2.0 * t], axis=-1)
    bends = np.stack([-w * w * np.sin(w * t), -w * w * np.cos(w * t) + 2.0], axis=-1)
    for order, expected in ((1, slopes), (2, bends)):
        assert relative(derivative(smooth, 100.0, order)[inner], expected[inner]) < 1e-4
    assert relative(smooth[inner], wave[inner]) < 1e-6
    assert np.abs(low_pass(np.sin(40.0 * w * t), 100.0, 5.0)[inner]).max() < 1e-4
    noisy = wave[:, :1] + 1e-3 * np.random.default_rng(0).normal(size=(2000, 1))
    assert 0.5 < smoothing_cutoff(noisy, 100.0, [0.2, 0.6, 1.0, 2.0, 5.0, 20.0]) < 5.0


def test_options_are_checked() -> None:
    arm, data = lw.load("planar3"), measured(lw.load("planar3"))
    for wrong, words in (
        ({"terms": ["loads"]}, "terms is 'loads'"),
        ({"transmission": np.zeros((3, 3))}, "invertible matrix"),
        ({"cutoff": 80.0}, "at most 50"),
        ({"decimate": 0}, "whole number"),
        ({"minimum_speed": -1.0}, "minimum_speed"),
        ({"regularization": 0.0}, "regularization"),
        ({"gains": [1.0, 2.0]}, "one for each of 3 joints"),
        ({"minimum_speed": 100.0}, "rows are left"),
        ({"friction": lw.Friction(stribeck=1.0)}, "viscous and Coulomb"),
    ):
        with pytest.raises(ValueError, match=words):
            lw.identify(arm, data, **wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="physical is 1"):
        lw.identify(arm, data, physical=1)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="expected a Robot"):
        lw.identify("planar3", data)  # type: ignore[arg-type]
