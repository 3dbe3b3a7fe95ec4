"""D of an identified robot, and its standard deviation: by the derivative by the parameters, and over recordings."""

import numpy as np
import pytest

import linkwise as lw
from effort import rest_slow
from facts import raises
from linkwise.identification.identifiability import inertia_regressor
from measured import measured, nominal, with_drives
from robots import relative


def arm_and_fit(links: int, seed: int, noise: float = 0.01) -> tuple[lw.Robot, lw.results.Identification]:
    arm = with_drives(lw.chain(links, seed=seed, joints="RRP"[:links]))
    data = measured(arm, noise=noise, angle=1e-6, seed=seed)
    return arm, lw.identify(nominal(arm), data, physical=False)


@pytest.mark.filterwarnings("ignore:.*physical")
def test_the_regressor_is_the_derivative_of_d_by_the_parameters() -> None:
    _, fit = arm_and_fit(3, 1)
    q = np.random.default_rng(0).normal(size=(4, 3))
    U, D = lw.formulations.udu(fit.robot, q)
    rows, values = inertia_regressor(fit, q, np.linalg.inv(U)), np.array(fit.parameters.values)
    assert rows.shape == (4, 3, len(values))
    assert relative(rows @ values, D) < 1e-10
    step = 1e-5 * np.random.default_rng(1).normal(size=len(values)) * np.abs(values)
    ends = [fit.robot.with_parameters(values + s * step, friction=True, unphysical="warn") for s in (1, -1)]
    after, before = (lw.formulations.udu(robot, q)[1] for robot in ends)
    assert relative(rows @ step, (after - before) / 2.0) < 1e-6


@pytest.mark.filterwarnings("ignore:.*not physically consistent:UserWarning")  # of identified robots
@pytest.mark.parametrize("seeds", rest_slow([range(2), range(2, 10)], [range(2)]), ids=["two", "eight"])
def test_errors_of_d_are_as_large_as_its_sigma_says(seeds: range) -> None:
    q, errors = np.random.default_rng(3).normal(size=(20, 3)), []
    for seed in seeds:
        arm, fit = arm_and_fit(3, seed)
        D, sigma = lw.identification.joint_inertias(fit, q)
        assert D.shape == sigma.shape == (20, 3)
        assert (sigma > 0.0).all()
        errors.append((D - lw.formulations.udu(arm, q)[1]) / sigma)
    assert np.abs(errors).max() < 5.0
    assert 0.2 < np.sqrt(np.mean(np.square(errors))) < 1.8


def test_it_takes_one_configuration_and_columns_by_name() -> None:
    pandas = pytest.importorskip("pandas")
    _, fit = arm_and_fit(2, 0)
    D, sigma = lw.identification.joint_inertias(fit, [0.1, 0.2])
    assert D.shape == sigma.shape == (2,)
    assert np.isfinite(sigma).all()
    with raises(TypeError, "fit", "lw.identify"):
        lw.identification.joint_inertias(fit.robot, [0.1, 0.2])
    bad = lw.identification.joint_inertias(fit, [[0.1, 0.2], [0.1, np.nan]])
    assert np.isfinite(bad.sigma[0]).all()
    assert (np.isnan(bad.sigma) == np.isnan(bad.D)).all()
    assert np.isnan(bad.D[1]).any()
    first, second = fit.robot.names
    rows = lw.identification.joint_inertias(fit, pandas.DataFrame({second: [0.2, 0.2], first: [0.1, 0.1]}))
    assert np.allclose(rows.D, D)
    assert np.allclose(rows.sigma, sigma)
