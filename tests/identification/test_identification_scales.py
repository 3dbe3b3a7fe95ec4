"""Identification is the same at every scale: of arms of a millimetre and a milligram as of any other.

Scales are powers of two, so that nothing is rounded: what differs is a number beside a quantity with a unit.
"""

import re
from typing import Any

import numpy as np
import pytest

import linkwise as lw
from linkwise.identification.estimates import Estimates
from measured import measured, nominal, recorded, with_drives
from table_rows import build

pytestmark = pytest.mark.filterwarnings("ignore:identification of robot")

MICRO, GIANT = (2.0**-30, 2.0**-13), (2.0**30, 2.0**13)
SIGN = lw.Friction(smooth=1e-12)  # of slides too: its rate is in m/s
POWERS = {
    "1": 0,
    "N m s2/rad2": 2,
    "N s2/m2": -1,
    "N m/rad": 2,
    "N/m": 0,
    "kg": 0,
    "kg m": 1,
    "kg m2": 2,
    "N m s/rad": 2,
    "N s/m": 0,
    "N m": 2,
    "N": 1,
    "m": 1,
}
SLIDING, TURNING = (with_drives(lw.chain(3, seed=5, joints=joints)) for joints in ("RPR", "R"))


def scaled(arm: lw.Robot, mass: float, length: float) -> lw.Robot:
    """The robot with masses and lengths multiplied, those in gravity, drives and friction too."""
    rows = []
    for row in arm.rows:
        arms = 1.0 if row["joint"] == "prismatic" else length
        powers = {"a": length, "b": length, "com": length, "mass": mass, "inertia": mass * length**2}
        powers |= {"rotor_inertia": mass * arms**2, "viscous_friction": mass * arms**2}
        powers["coulomb_friction"] = mass * length * arms
        rows.append(row | {key: (np.array(row[key]) * by).tolist() for key, by in powers.items() if key in row})
    return build(rows, arm.convention, gravity=[length * x for x in arm.gravity], name=arm.name)


def of_joints(arm: lw.Robot, length: float) -> np.ndarray:
    return np.where(np.array(arm.effort_units) == "N", length, 1.0)


def with_units(arm: lw.Robot, data: dict[str, np.ndarray], mass: float, length: float) -> dict[str, np.ndarray]:
    own = of_joints(arm, length)
    motion = {name: array * own for name, array in data.items() if name in ("q", "qd", "qdd")}
    return motion | {"t": data["t"], "tau": data["tau"] * mass * length**2 / own}


def fitted(
    arm: lw.Robot, data: dict[str, np.ndarray], scale: tuple[float, float], **how: Any
) -> lw.results.Identification:
    return lw.identify(scaled(arm, *scale), with_units(arm, data, *scale), **{"friction": SIGN, **how})


def plain(estimates: Any, scale: tuple[float, float]) -> np.ndarray:
    """Values and σ in units of the scales."""
    mass, length = scale
    sizes = [(1.0 if unit in ("m", "1") else mass) * length ** POWERS[unit] for unit in estimates.units]
    return np.array([estimates.values / sizes, estimates.sigma / sizes])


def without_numbers(texts: Any) -> list[str]:
    return [re.sub(r"[-+\d.]+(e[-+]\d+)?", "#", text) for text in texts]


CASES = [
    (SLIDING, recorded(SLIDING, 0.3), {}),
    (SLIDING, measured(SLIDING, 0.02, 1e-5), {"physical": False, "offset": True}),
    (SLIDING, recorded(SLIDING, 0.02), {"weighted": False}),
    (SLIDING, recorded(SLIDING, 0.02), {"free": ["link3", "link2.coulomb"]}),
    (TURNING, recorded(TURNING, 0.3), {"physical": False}),
]


@pytest.mark.filterwarnings("ignore:.*not physically consistent")
@pytest.mark.parametrize("scale", [MICRO, pytest.param(GIANT, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("arm", "data", "how"), CASES)
def test_fits_are_the_same_at_every_scale(arm: lw.Robot, data: Any, how: Any, scale: Any) -> None:
    start = arm if "free" in how else nominal(arm)
    usual, other = fitted(start, data, (1.0, 1.0), **how), fitted(start, data, scale, **how)
    for name in ("parameters", "base", "least_squares"):
        expected, found = plain(getattr(usual, name), (1.0, 1.0)), plain(getattr(other, name), scale)
        assert found == pytest.approx(expected, rel=1e-6, abs=1e-14)
    assert other.residuals.relative == pytest.approx(usual.residuals.relative)
    assert other.validation.relative == pytest.approx(usual.validation.relative)
    assert (other.rank, other.condition) == (usual.rank, pytest.approx(usual.condition))
    assert other.not_identifiable == usual.not_identifiable
    assert without_numbers(other.notes) == without_numbers(usual.notes)
    verdicts = [[certificate.possible for certificate in fit.certificates.values()] for fit in (usual, other)]
    assert verdicts[0] == verdicts[1]


@pytest.mark.parametrize("body", [np.zeros(10), [1.0, 0.1, 0, 0, 0, 0, 0, 0.01, 0, 0.01]], ids=["none", "point"])
def test_nominal_robots_without_bodies_are_drawn_to_some_of_the_same_scale(body: np.ndarray) -> None:
    """One joint: no distance between joints tells a length, and without masses torques alone tell a mass."""
    arm = with_drives(lw.chain(1, seed=3))
    data, start = recorded(arm, 0.02), arm.with_parameters(np.append(body, np.zeros(3)), friction=True)
    usual, other = fitted(start, data, (1.0, 1.0)), fitted(start, data, MICRO)
    assert plain(other.parameters, MICRO)[0] == pytest.approx(plain(usual.parameters, (1.0, 1.0))[0], rel=1e-6)


@pytest.mark.filterwarnings("ignore:.*not physically consistent")
@pytest.mark.parametrize("scale", [(1.0, 1.0), MICRO])
def test_whether_a_slide_hardly_moves_is_told_by_the_size_of_the_robot(scale: tuple[float, float]) -> None:
    for travel, hardly in ((1e-3, True), (1.0, False)):
        data = recorded(SLIDING, 0.02)
        for name in ("q", "qd", "qdd"):
            data[name][:, 1] *= travel / np.ptp(data["q"][:, 1])
        notes = fitted(SLIDING, data, scale, physical=False).notes
        assert any("hardly move: link2" in note for note in notes) == hardly


def test_excitations_are_the_same_at_every_scale() -> None:
    moves = []
    for scale in ((1.0, 1.0), MICRO):
        arm, own = scaled(SLIDING, *scale), of_joints(SLIDING, scale[1])
        torque = scale[0] * scale[1] ** 2 / own
        limits = {"position": [(-x, x) for x in own], "velocity": 2.0 * own, "acceleration": 9.0 * own}
        move = lw.excitation(arm, 2, 4.0, limits | {"effort": 300.0 * torque}, noise=0.1 * torque, starts=1)
        moves.append((move.condition, move.typical_sigma, move.worst_sigma, move.series.sines / own, move.notes))
    for usual, other in zip(*moves, strict=True):
        assert other == pytest.approx(usual) if not isinstance(usual, tuple) else other == usual


def test_reports_of_small_robots_have_no_zeros_but_zeros() -> None:
    """Every number that is not zero is printed as it is for a larger robot, but for powers of ten."""
    scale = (1e-6, 1e-3)
    fit = fitted(nominal(SLIDING), recorded(SLIDING, 0.02), scale, offset=True)
    for estimates in (fit.base, fit.parameters):
        for k, value in enumerate(estimates.values):
            name, shown, sigma, *_ = estimates.cells(k)
            assert float(shown) == pytest.approx(value, rel=1e-3), name
            assert sigma == "-" or float(sigma) == pytest.approx(estimates.sigma[k], rel=0.06)
    assert all(float(fit.residuals.cells(j)[0]) > 0.0 for j in range(3))
    centres = re.findall(r"\((-?[\d.]+), (-?[\d.]+), (-?[\d.]+)\)", fit.report())
    assert len(centres) == 3
    for row, centre in zip(fit.robot.rows, centres, strict=True):
        assert np.array(centre, dtype=float) == pytest.approx(np.array(row["com"]), abs=1e-7)


def test_rounding_is_printed_as_zero() -> None:
    """Beside the largest number of its kind, at any scale."""
    names, units = ("link1.m", "link1.hx", "link1.hy", "link1.rotor"), ("kg", "kg m", "kg m", "kg m2")
    for size in (1e-12, 1.0, 1e12):
        values = size * np.array([1.0, 1e-3, 1e-20, 1e-9])
        table = Estimates(names, values, *np.full((2, 4), np.inf), values, units)
        assert [table.cells(k)[1] for k in range(4)] == [f"{size:.4g}", f"{1e-3 * size:.4g}", "0", f"{1e-9 * size:.4g}"]
