"""The integrators as data: orders, estimates of the error, states within a step, and the search for events."""

from fractions import Fraction

import numpy as np
import pytest

import linkwise as lw
from effort import rest_slow
from linkwise.ode.driver import Driver
from linkwise.ode.lanes import Functions, NumpyLanes, Trajectories
from linkwise.ode.methods import entries, extended_tableau, method
from robots import CHAINS, TREES, states

PLANAR = lw.load("planar3")
EXPLICIT = list(entries())
ADAPTIVE = [name for name in EXPLICIT if not method(name).fixed]
CONTINUOUS = [name for name in EXPLICIT if method(name).dense]
ROBOTS = [PLANAR, lw.load("stanford"), CHAINS[5], TREES[4]]
PERIHELION = np.array([[0.5, 0.0, 0.0, 3.0**0.5]])
every_integrator = pytest.mark.parametrize("name", EXPLICIT)
continuous = pytest.mark.parametrize("name", rest_slow(list(CONTINUOUS), list(CONTINUOUS)[::2]))


def planets(t, y):
    """Two bodies, (..., 4): the exact orbit from perihelion with eccentricity 0.5 is known."""
    r3 = (y[:, :1] ** 2 + y[:, 1:2] ** 2) ** 1.5
    return np.concatenate([y[:, 2:], -y[:, :2] / r3], axis=1)


class Steps:
    """Steps of a method from states (B, size), one at a time."""

    def __init__(self, name, rhs, y, rtol=1.0, atol=1.0):
        none = np.zeros(0)
        lanes = NumpyLanes(Trajectories(y, 1.0), Functions(rhs), 1.0, none, none, rtol, np.full(y.shape[1], atol))
        self.driver = Driver(lanes, method(name), y.shape[1])

    def step(self, t, h, y):
        driver, lanes = self.driver, self.driver.lanes
        lanes.y[:] = y.T
        lanes.rhs(t, lanes.y, driver.k[0])
        driver.stages(t, h, lanes.y, driver.k, driver.z)
        return driver.z.T.copy()

    def within(self, t, h, part):
        self.driver.prepare(t, h)
        self.driver.interpolate(part * h, part)
        return self.driver.z_there.T.copy()


@every_integrator
def test_halving_the_step_divides_the_error_by_two_to_the_order(name):
    scheme = method(name)
    start = np.array([[0.5, 0.0, 0.0, 3.0**0.5]])
    period, errors = 2.0 * np.pi, []
    # twice as many still err by more than rounding
    steps = 1600 if scheme.order < 5 else {5: 400, 6: 150}.get(scheme.order, 120)
    for count in (steps, 2 * steps):
        steps_of, h, y = Steps(name, planets, start), period / count, start
        for k in range(count):
            y = steps_of.step(np.array([k * h]), np.array([h]), y)
        errors.append(np.abs(y - start).max())
    assert errors[1] > 1e-13  # rounding would hide the order
    assert scheme.order - 0.5 < np.log2(errors[0] / errors[1]) < scheme.order + 1.7


@pytest.mark.parametrize("name", ADAPTIVE)
def test_an_estimate_of_the_error_is_of_lower_order_and_right_in_size(name):
    scheme, y = method(name), np.array([[0.5, 0.0, 0.0, 3.0**0.5]])
    steps, errors = Steps(name, planets, y, rtol=1e-300), []
    for h in np.array([[0.1], [0.05]]):
        steps.step(np.zeros(1), h, y)
        errors.append(steps.driver.error(h)[0])
    assert scheme.order - 1.3 < np.log2(errors[0] / errors[1]) < scheme.order + 2.0


def test_the_default_and_others_have_states_within_their_steps():
    assert {"verner65", "dormand54", "dop853"} <= set(CONTINUOUS)


@every_integrator
def test_rows_and_weights_integrate_polynomials_exactly(name):
    """Σ b c^k = 1/(k + 1) below the order; the same for the method of lower order; sums are kept to the last digit.

    Methods with fixed steps have no method of lower order: its difference is zeros, or left out.
    """
    scheme, entry = method(name), entries()[name]
    rows, _ = extended_tableau(entry)
    sums = [sum(row) for row in rows]
    b, error = ([Fraction(x) for x in entry.get(key, [])] for key in ("b", "error"))
    exact = all(isinstance(x, (str, int)) for row in [*entry["a"], b] for x in row)
    for power in range(scheme.order):
        found = sum(w * c**power for w, c in zip(b, sums, strict=False))
        assert found == Fraction(1, power + 1) if exact else abs(found - Fraction(1, power + 1)) < 1e-14
    assert any(error) is not scheme.fixed
    if not scheme.fixed:
        for power in range(scheme.order - 1 if name != "dop853" else 5):
            off = sum(w * c**power for w, c in zip(error, sums, strict=False))
            assert off == 0 if exact else abs(off) < 1e-14
    for row, floats in zip(rows, scheme.a, strict=True):
        assert abs(sum(map(Fraction, floats)) - sum(row)) <= Fraction(2) ** -53 * max(map(abs, row), default=0)
    assert abs(sum(map(Fraction, scheme.b)) - 1) < 1e-16
    assert abs(sum(map(Fraction, scheme.error))) < 1e-17
    if scheme.first_is_last:
        assert scheme.a[scheme.stages - 1] == scheme.b[:-1]
        assert scheme.c[scheme.stages - 1] == 1.0


@continuous
def test_polynomials_within_a_step_begin_and_end_with_it_and_integrate_polynomials_exactly(name):
    scheme = method(name)
    weights = np.array(scheme.dense)
    assert len(weights) == len(scheme.a) + 1
    assert np.allclose(weights.sum(axis=1), [*[0.0] * len(scheme.a), 1.0], rtol=0, atol=1e-11)  # at the end: Σ b k
    first = np.eye(len(weights))[0]
    assert np.allclose(weights[:, 0], first, rtol=0, atol=1e-12)  # its slope at the beginning
    last = np.eye(len(weights))[scheme.stages - 1]
    assert np.allclose(weights @ np.arange(1, scheme.degree + 1), last, rtol=0, atol=1e-10)  # and at the end
    for power in range(scheme.degree):
        slopes = [*(c**power for c in scheme.c), 1.0 / (power + 1)]
        expected = np.where(np.arange(scheme.degree) == power, 1.0 / (power + 1), 0.0)
        assert np.allclose(slopes @ weights, expected, rtol=0, atol=1e-9)


@continuous
def test_halving_the_step_divides_the_error_within_it_by_two_to_one_more_than_the_order(name):
    """The error of a state within the first step, from an end of it that is exact."""
    scheme, t, errors = method(name), np.zeros(1), []
    steps, fine = Steps(name, planets, PERIHELION), Steps("dop853", planets, PERIHELION)
    for h in np.array([[0.4], [0.2]]) if scheme.order > 6 else np.array([[0.1], [0.05]]):
        steps.step(t, h, PERIHELION)
        worst = 0.0
        for part in (0.15, 0.35, 0.55, 0.75, 0.95):
            exact = PERIHELION
            for _ in range(16):
                exact = fine.step(t, part * h / 16, exact)
            worst = max(worst, np.abs(steps.within(t, h, part) - exact).max())
        errors.append(worst)
    assert errors[1] > 1e-14
    assert np.log2(errors[0] / errors[1]) > scheme.order + 0.4


@continuous
@pytest.mark.parametrize("robot", rest_slow(ROBOTS, [CHAINS[5]]), ids=lambda robot: robot.name)
def test_samples_are_as_exact_as_steps(robot, name):
    q, qd, _, _ = states(robot, 1)
    times = np.linspace(0.0, 0.3, 40)
    exact = lw.simulate(robot, q[0], qd[0], 0.3, rtol=1e-13, samples=times, integrator="dop853")
    run = lw.simulate(robot, q[0], qd[0], 0.3, rtol=1e-8, samples=times, integrator=name)
    size = np.maximum(np.abs(exact.qd).max(axis=0), 1e-2)
    off = (np.abs(run.qd - exact.qd) / size).max(axis=1)
    assert off.max() < 3e-8
    assert off[:-1].max() < 10.0 * max(off[-1], 1e-9)


@pytest.mark.parametrize("robot", ROBOTS, ids=lambda robot: robot.name)
def test_the_error_of_a_step_of_the_default_is_below_its_estimate(robot):
    """Although the estimate is an eighth of Verner's."""
    kernel, n = lw.compile(lw.forward_dynamics, robot), robot.n
    q, qd, _, _ = states(robot, 20)

    def rhs(t, y):
        return np.concatenate([y[:, n:], kernel(y[:, :n], y[:, n:], np.zeros(n))], axis=1)

    y, t, h = np.concatenate([q, qd], axis=1), np.zeros(20), np.full(20, 1.0)
    own, fine = (Steps(name, rhs, y, 1e-8, 1e-10) for name in ("verner65", "dop853"))
    for _ in range(30):  # the largest steps that would be accepted
        z, estimate = own.step(t, h, y), own.driver.error(h)
        h = h * np.clip(0.95 * np.nan_to_num(estimate, nan=1e6) ** (-1.0 / 6.0), 0.2, 2.0)
    z, estimate, exact = own.step(t, h, y), own.driver.error(h), y
    for _ in range(16):
        exact = fine.step(t, h / 16, exact)
    true = (np.abs(z - exact) / (1e-10 + 1e-8 * np.maximum(np.abs(y), np.abs(z)))).max(axis=1)
    assert (estimate > 0.1).all()
    assert (estimate < 2.0).all()
    assert (true < estimate).all()


def flat(arm, t, q, qd):
    return (t - 0.0123) ** 5  # the crossing has no slope


@pytest.mark.parametrize("compiled", rest_slow([True, False], [True]))
def test_an_event_without_a_slope_is_found_all_the_same(compiled):
    run = lw.simulate(PLANAR, [0] * 3, [0] * 3, 0.05, events=[flat], samples=2, compiled=compiled)
    assert abs(run.events[0].t - 0.0123) < 1e-14


@pytest.mark.parametrize("name", ADAPTIVE)
def test_right_after_a_refused_step_the_next_does_not_grow(name):
    """Attempts one by one, from first steps that are too long; a lane that is idle keeps what it remembers."""
    trajectories = Trajectories(np.repeat(PERIHELION, 3, axis=0), 1.0)
    trajectories.h = [2.0, 1e-3, 2.0]
    times, out = np.array([20.0]), np.zeros((3, 1, 4))
    lanes = NumpyLanes(trajectories, Functions(planets), 20.0, times, out, 1e-8, np.full(4, 1e-10))
    driver, refused, grown = Driver(lanes, method(name), 4), np.zeros(3, dtype=bool), 0
    driver.begin()
    for attempt in range(60):
        active = np.array([True, True, attempt % 3 == 0])
        before, t, step = trajectories.refused.copy(), trajectories.t.copy(), trajectories.h.copy()
        driver.attempt(active)
        accepted = trajectories.t > t
        assert (trajectories.h[accepted & refused] <= step[accepted & refused]).all()
        grown += (trajectories.h[accepted & ~refused] > step[accepted & ~refused]).sum()
        assert np.array_equal(trajectories.refused[~active], before[~active])
        refused = np.where(active, ~accepted, refused)
    assert trajectories.rejected[0] > 0
    assert grown > 0


@pytest.mark.parametrize("compiled", rest_slow([True, False], [True]))
def test_no_trajectory_depends_on_its_neighbours(compiled):
    """Idle lanes too: some wait until their log of events is emptied, others have other parameters."""
    rng = np.random.default_rng(0)
    count = 9 if compiled else 3
    q, qd, kp = rng.normal(size=(count, 3)) * 0.5, rng.normal(size=(count, 3)), np.linspace(1.0, 3.0, count)
    options = {"torque": lambda arm, t, q, qd, kp: -kp * q, "compiled": compiled, "samples": 3, "rtol": 1e-7}
    options["events"] = [lambda arm, t, q, qd: np.sin(200.0 * t + q[0])] if compiled else []
    duration = 0.6 if compiled else 0.05
    together = lw.simulate(PLANAR, q, qd, duration, parameters={"kp": lw.per_trajectory(kp[:, None])}, **options)
    for k in range(count):
        alone = lw.simulate(PLANAR, q[k], qd[k], duration, parameters={"kp": kp[k]}, **options)
        assert alone.steps == together.steps[k]
        assert alone.rejected == together.rejected[k]
        if compiled:
            assert np.array_equal(alone.q, together.q[k])
            assert len(alone.events) > 33
