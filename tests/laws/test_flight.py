"""Flight: free bodies and free-flying robots, simulated."""

import numpy as np
import pytest
from scipy.special import ellipj, ellipk

import linkwise as lw
from effort import rest_slow
from robots import relative

MOMENTS = np.array([1.0, 2.0, 2.5])


def top(joint: str, moments=MOMENTS) -> lw.Robot:
    """A body that turns freely about its mass centre."""
    row = {"name": "top", "joint": joint, "translation": (0, 0, 0), "mass": 3.0, "com": (0, 0, 0)}
    return lw.Robot.from_frames([row | {"inertia": np.diag(moments)}], gravity=(0, 0, 0))


def eulers_solution(t: np.ndarray, start: np.ndarray) -> np.ndarray:
    """ω of a torque-free asymmetric top whose ω_y is zero at first (Landau and Lifshitz, Mechanics, section 37)."""
    A, B, C = MOMENTS
    twice_energy, square = MOMENTS @ start**2, (MOMENTS**2) @ start**2
    assert square > twice_energy * B  # it turns about z rather than about x
    rate = np.sqrt((C - B) * (square - twice_energy * A) / (A * B * C))
    k2 = (B - A) * (twice_energy * C - square) / ((C - B) * (square - twice_energy * A))
    sn, cn, dn, _ = ellipj(rate * t, k2)
    largest = np.sqrt((twice_energy * C - square) / (B * (C - B)))
    return np.stack([start[0] * cn, largest * sn * np.sign(start[0] * start[2]), start[2] * dn], axis=-1)


TOPS = [(joint, way) for joint in ("ball", "free") for way in ("joint", "normalized", "unnormalized")]


@pytest.mark.parametrize(("joint", "coordinates"), rest_slow(TOPS, [*TOPS[:3], TOPS[3]]))
def test_a_torque_free_top_follows_eulers_equations(joint, coordinates):
    arm, spin = top(joint), np.array([0.9, 0.0, 1.2])
    q0 = np.zeros(arm.nq)
    q0[-4:] = (0.5, -0.1, 0.7, 0.3)  # of another length than 1
    v0 = np.zeros(arm.n)
    v0[-3:] = spin
    flight = lw.simulate(arm, q0, v0, 20.0, rtol=1e-12, coordinates=coordinates)
    assert flight.compiled
    assert np.abs(flight.qd[:, -3:] - eulers_solution(flight.t, spin)).max() < 1e-10
    assert np.abs(np.linalg.norm(flight.q[:, -4:], axis=-1) - 1.0).max() < 1e-15
    axes = lw.poses(arm, flight.q)[:, 0, :3, :3]
    momentum = np.einsum("tij,tj->ti", axes, MOMENTS * flight.qd[:, -3:])
    assert np.abs(momentum - momentum[0]).max() < 1e-10


def test_a_nut_that_turns_about_its_middle_axis_flips_over_and_back():
    """Dzhanibekov's nut: between flips it turns about y, one way and the other; the flips come at one period."""
    arm, spin = top("free"), np.array([1e-5, 3.0, 1e-5])
    flight = lw.simulate(arm, [0, 0, 0, 1, 0, 0, 0], [0, 0, 0, *spin], 60.0, rtol=1e-12, samples=6001)
    middle = flight.qd[:, 4]
    assert middle.max() > 2.99
    assert middle.min() < -2.99
    flips = flight.t[1:][np.diff(np.sign(middle)) != 0.0]
    A, B, C = MOMENTS
    twice_energy, square = MOMENTS @ spin**2, (MOMENTS**2) @ spin**2
    if square < twice_energy * B:
        A, C = C, A
    rate = np.sqrt((C - B) * (square - twice_energy * A) / (A * B * C))
    k2 = (B - A) * (twice_energy * C - square) / ((C - B) * (square - twice_energy * A))
    half_period = 2.0 * ellipk(k2) / rate
    assert len(flips) == 3
    assert np.abs(np.diff(flips) - half_period).max() < 0.02


RUNS = [(integrator, seed) for integrator in ("verner65", "dormand54", "dverk65") for seed in range(2)]


@pytest.mark.parametrize(("integrator", "seed"), rest_slow(RUNS, [("verner65", 1)]))
def test_momentum_and_energy_are_kept_in_free_flight(integrator, seed):
    """Over ten seconds, to 1e-10; linear momentum grows as the weight says."""
    gravity = np.array([0.3, -0.2, -1.0])
    rows = lw.random_tree(4, seed=seed, joints="RSUP").rows
    arm = lw.Robot.from_frames(rows, gravity=gravity).with_free_base(8.0, (0.1, 0.0, 0.2), np.diag([1.0, 2.0, 2.5]))
    rng = np.random.default_rng(seed)
    q0, v0 = rng.normal(size=arm.nq) * 0.3, rng.normal(size=arm.n) * 0.3
    q0[list(arm.quaternions)] = 1.0

    def spring(arm, t, q, qd):
        """Inside the robot: it keeps the last link, which slides, near."""
        return np.array([0.0] * (arm.n - 1) + [-40.0 * q[-1]], dtype=object)

    flight = lw.simulate(arm, q0, v0, 10.0, torque=spring, rtol=1e-12, atol=1e-13, integrator=integrator)
    assert flight.compiled
    momentum = lw.momentum(arm, flight.q, flight.qd)
    expected = momentum[0] + np.concatenate([np.zeros(3), lw.total_mass(arm) * gravity]) * flight.t[:, None]
    assert relative(momentum, expected) < 1e-10
    assert relative(flight.imbalance + flight.energy, flight.energy) < 1e-10
