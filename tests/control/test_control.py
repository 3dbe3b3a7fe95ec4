"""Controllers: what each promises, over random robots; and what control in ν does and does not."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import simpson

import linkwise as lw
from effort import rest_slow
from facts import raises
from linkwise.simulation.backend import compile_solver
from robots import CHAINS, DRIVEN, TREES, relative, states

PLANAR = lw.load("planar3")
ROBOTS = [PLANAR, CHAINS[5], TREES[2], DRIVEN[1]]
every_robot = pytest.mark.parametrize("robot", rest_slow(ROBOTS, [DRIVEN[1]]), ids=lambda robot: robot.name)
small_robots = pytest.mark.parametrize(
    "robot", rest_slow([PLANAR, CHAINS[2], TREES[2]], [TREES[2]]), ids=lambda robot: robot.name
)
DECAY = 1e-9


def start(robot):
    """A target, and a state not far from it."""
    q, qd, away, _ = (x[0] for x in states(robot, 1))
    return q, q + 0.4 * away, 0.5 * qd


def laws(target):
    n = len(target)
    return [
        lw.control.pd_gravity(target, 20.0, np.linspace(3.0, 5.0, n)),
        lw.control.computed_torque(target, np.linspace(20.0, 30.0, n), 8.0),
        lw.control.diagonal_control(target, 20.0, np.linspace(8.0, 10.0, n)),
        lw.control.diagonal_control(target, np.linspace(20.0, 30.0, n), 8.0, coriolis=True),
    ]


def swing(t):
    """A trajectory of three joints, one formula throughout."""
    s = t / 2.0
    q = s**3 * (10.0 - 15.0 * s + 6.0 * s**2)
    qd = s**2 * (30.0 - 60.0 * s + 30.0 * s**2) / 2.0
    qdd = s * (60.0 - 180.0 * s + 120.0 * s**2) / 4.0
    scale = np.array([1.0, -0.5, 2.0])
    return scale * q, scale * qd, scale * qdd


def oscillation(t, e0, v0, kp, kd):
    """The solution of ë + kd ė + kp e = 0."""
    root = np.sqrt(np.asarray(kd**2 / 4.0 - kp, dtype=complex))
    ratio = np.where(np.abs(root) < 1e-12, t, np.sinh(root * t) / np.where(root == 0, 1.0, root))
    return np.real(np.exp(-kd * t / 2.0) * (e0 * np.cosh(root * t) + (v0 + kd / 2.0 * e0) * ratio))


@pytest.mark.parametrize(
    "which", rest_slow(range(4), [0, 1, 2]), ids=lambda k: repr(laws([0.0])[k]).split("(")[0] + str(k)
)
@small_robots
def test_controllers_compile_and_are_those_that_run_in_python(robot, which):
    target, q, qd = start(robot)
    law = laws(target)[which]
    made, plain = (lw.simulate(robot, q, qd, 2e-3, torque=law, samples=3, compiled=c) for c in (True, False))
    assert made.compiled
    assert relative(made.q, plain.q) < 1e-9
    assert relative(made.qd, plain.qd) < 1e-8


@every_robot
def test_at_rest_on_the_target_every_law_holds_the_robot_against_gravity(robot):
    target, _, _ = start(robot)
    zero, weight = np.zeros(robot.n), lw.gravity_torque(robot, target)
    for law in laws(target):
        assert relative(law(robot, 0.0, target, zero), weight) < 1e-13


@every_robot
def test_energy_falls_by_what_the_dampers_take(robot):
    """V̇ = -Σ kd q̇² of pd_gravity and -Σ kd ν² of diagonal_control, with and without compensating Coriolis forces."""
    target, _, _ = start(robot)
    pd, _, diagonal, compensated = laws(target)
    for q, qd, *_ in zip(*states(robot, 5, seed=1), strict=True):
        for law in (pd, diagonal, compensated):
            spring = -law(robot, 0.0, q, np.zeros(robot.n)) + lw.gravity_torque(robot, q)  # the gradient of V's spring
            power = (law(robot, 0.0, q, qd) - lw.gravity_torque(robot, q) + spring) @ qd
            rate = qd if law is pd else lw.formulations.normalized.velocity(robot, q, qd)
            assert relative(power, -(np.asarray(law.kd) * rate**2).sum()) < 1e-11


@pytest.mark.parametrize("which", [0, 2, 3])
@every_robot
def test_lyapunov_functions_never_increase_and_their_fall_is_accounted_for(robot, which):
    target, q, qd = start(robot)
    law = laws(target)[which]
    run = lw.simulate(robot, q, qd, 1.0, torque=law, rtol=1e-10, samples=5001)
    V = law.lyapunov(robot, run.q, run.qd)
    assert (np.diff(V) <= DECAY * V[0]).all()
    rate = run.qd if which == 0 else lw.formulations.normalized.velocity(robot, run.q, run.qd)
    taken = simpson((np.asarray(law.kd) * rate**2).sum(axis=-1), x=run.t)
    assert relative(V[0] - V[-1], taken) < 1e-4  # of the sum
    assert V[-1] < 0.9 * V[0]


@pytest.mark.parametrize("which", range(4))
@small_robots
def test_every_law_brings_the_robot_to_its_target(robot, which):
    target, q, qd = start(robot)
    n = robot.n
    law = lw.control.pd_gravity(target, 20.0, np.linspace(3.0, 5.0, n)) if which == 0 else laws(target)[which]
    run = lw.simulate(robot, q, qd, 60.0 if which == 0 else 8.0, torque=law, samples=2)
    assert np.abs(run.q[-1] - target).max() < 1e-3
    assert np.abs(run.qd[-1]).max() < 1e-3


@every_robot
def test_computed_torque_makes_every_error_a_linear_oscillation(robot):
    target, q, qd = start(robot)
    kp, kd = np.linspace(9.0, 40.0, robot.n), np.linspace(2.0, 12.0, robot.n)
    run = lw.simulate(robot, q, qd, 1.0, torque=lw.control.computed_torque(target, kp, kd), rtol=1e-10, samples=21)
    wanted = np.array([oscillation(t, q - target, qd, kp, kd) for t in run.t])
    assert np.abs(run.q - target - wanted).max() < 1e-7


@pytest.mark.parametrize(
    "trajectory", [swing, lw.trajectories.cycloid([0.0] * 3, [1.0, -0.5, 2.0], 2.0)], ids=["mine", "cycloid"]
)
def test_computed_torque_follows_trajectories(trajectory):
    first, rate, _ = trajectory(0.0)
    law = lw.control.computed_torque(trajectory, 100.0, 20.0)
    on = lw.simulate(PLANAR, first, rate, 2.0, torque=law, samples=21)
    assert on.compiled
    assert np.abs(on.q - [trajectory(t)[0] for t in on.t]).max() < 1e-7
    off = lw.simulate(PLANAR, first + 0.1, rate, 2.0, torque=law, rtol=1e-10, samples=21)
    wanted = [oscillation(t, 0.1, 0.0, np.float64(100.0), np.float64(20.0)) for t in off.t]
    errors = off.q - [trajectory(t)[0] for t in off.t]
    assert np.abs(errors - np.array(wanted)[:, None]).max() < 1e-6


COORDINATES = pytest.mark.parametrize("coordinates", ["normalized", "unnormalized"])


@COORDINATES
@every_robot
def test_velocity_errors_of_diagonal_control_fall_at_the_set_rates_and_positions_follow(robot, coordinates):
    first, q, qd = start(robot)
    move = lw.trajectories.quintic(first, first + 0.3, 1.0)
    law = lw.control.diagonal_control(move, np.linspace(4.0, 9.0, robot.n), 7.0, coordinates=coordinates)
    run = lw.simulate(robot, q, qd, 3.0, torque=law, rtol=1e-10, samples=[0.0, 0.3, 0.9, 3.0])
    assert run.compiled
    errors = np.array([law.velocity_error(robot, *state) for state in zip(run.t, run.q, run.qd, strict=True)])
    slow, fast = law.rates(robot)
    assert relative(slow + fast, 7.0) < 1e-14
    assert relative(slow * fast, np.linspace(4.0, 9.0, robot.n)) < 1e-14
    assert relative(errors, errors[0] * np.exp(-np.outer(run.t, fast))) < 1e-7
    away = [q - move(t).q for t, q in zip(run.t, run.q, strict=True)]
    assert np.abs(away[-1]).max() < 0.3 * np.abs(away[0]).max()


def test_velocity_errors_of_a_recording_are_those_of_its_samples():
    """Times (k,), states (k, n), and (batch, k, n) of several runs; also of a motion that is a plain function."""
    for motion in (lw.trajectories.quintic([0, 0, 0], [1, -0.5, 0.3], 1.0), swing):
        law = lw.control.diagonal_control(motion, 4.0, 5.0)
        run = lw.simulate(PLANAR, np.array([[0.1, 0, 0], [0, 0.2, 0]]), duration=0.2, torque=law, samples=3)
        errors = law.velocity_error(PLANAR, run.t, run.q, run.qd)
        assert errors.shape == run.q.shape
        for i, k in np.ndindex(2, 3):
            one = law.velocity_error(PLANAR, run.t[k], run.q[i, k], run.qd[i, k])
            assert relative(errors[i, k], one) < 1e-12
        assert relative(law.velocity_error(PLANAR, run.t, run.q[0], run.qd[0]), errors[0]) < 1e-12


def test_gains_that_have_no_rates_are_refused_wherever_they_come_from():
    law = lw.control.diagonal_control(lw.trajectories.quintic([0, 0, 0], [1, -0.5, 0.3], 2.0), 9.0, 7.0)
    with raises(ValueError, "kd", "4.0", "6"):
        replace(law, kd=4.0)
    with raises(ValueError, "kd", "6"):
        lw.simulate(PLANAR, [0] * 3, duration=0.1, torque=law, parameters={"kd": 4.0})
    batch = lw.per_trajectory(np.array([7.0, 4.0]))
    with raises(ValueError, "kd", "6"):
        lw.simulate(PLANAR, np.zeros((2, 3)), duration=0.1, torque=lw.control.limited(law, 9), parameters={"kd": batch})
    steps = {"steps": 3, "dt": 0.01}
    for kd in (4.0, [7.0, 4.0, 7.0], batch):
        with raises(ValueError, "kd", "4.0", "6"):
            lw.rollout(PLANAR, np.zeros((2, 3)), **steps, torque=lw.control.limited(law, 9), parameters={"kd": kd})
    for field, number in (("kd", np.nan), ("kd", np.inf), ("kp", np.nan), ("kp", -1.0)):
        with raises(ValueError, field, str(number)):
            replace(law, **{field: number})
    traced = lw.compile(lw.rollout, PLANAR, **steps, torque=law, parameters={"kd": lw.Input()})
    ends = traced(np.zeros((2, 3)), parameters={"kd": batch})
    assert ends.finite.tolist() == [3, 0]  # where nothing can be refused they give no number
    for make in (lw.control.pd_gravity, lw.control.computed_torque, lw.control.diagonal_control):
        with raises(ValueError, "kp", "3", "kd", "2"):
            make([0, 0, 0], kp=[1, 2, 3], kd=[10, 10])
    with raises(ValueError, "kp", "3", "kd", "2"):
        lw.control.diagonal_control(swing, kp=[1, 2, 3], kd=[10, 10])


def test_gains_of_motions_may_be_parameters():
    move = lw.trajectories.quintic([0.0, 0.0, 0.0], [1.0, -0.5, 0.3], 2.0)
    first, other = (lw.control.diagonal_control(move, kp, 10.0) for kp in (25.0, 16.0))
    kp = {"kp": 16.0}
    given = lw.simulate(PLANAR, [0.1, -0.2, 0.3], [0] * 3, 0.1, torque=first, samples=2, parameters=kp, compiled=True)
    expected = lw.simulate(PLANAR, [0.1, -0.2, 0.3], [0] * 3, 0.1, torque=other, samples=2)
    assert relative(given.q, expected.q) < 1e-9


@COORDINATES
@every_robot
def test_brakes_with_coriolis_forces_compensated_let_each_quasi_velocity_decay_alone(robot, coordinates):
    _, q, qd = start(robot)
    rates, quasi = np.linspace(1.0, 6.0, robot.n), getattr(lw.formulations, coordinates)
    law = lw.control.diagonal_control(q, 0.0, rates, coriolis=True, coordinates=coordinates)
    run = lw.simulate(robot, q, qd, 0.8, torque=law, rtol=1e-10, samples=9)
    quasi_velocity = quasi.velocity(robot, run.q, run.qd)
    assert relative(quasi_velocity, quasi_velocity[0] * np.exp(-np.outer(run.t, rates))) < 1e-6


@every_robot
def test_an_even_brake_in_nu_slows_the_motion_along_the_path_of_the_free_robot(robot):
    """ν̇ + C(q, ν) = -kd ν with C quadratic in ν: the same path, at the time s = (1 - e^(-kd t)) / kd."""
    _, q, qd = start(robot)
    floating, kd = robot.with_gravity((0, 0, 0)), 2.0
    times = np.linspace(0.1, 0.8, 8)
    braked = lw.simulate(robot, q, qd, 0.8, torque=lw.control.diagonal_control(q, 0.0, kd), rtol=1e-10, samples=times)
    free = lw.simulate(floating, q, qd, 0.8, rtol=1e-10, samples=(1.0 - np.exp(-kd * times)) / kd)
    assert relative(braked.q, free.q) < 1e-6
    before = lw.kinetic_energy(robot, q, qd)
    assert relative(lw.kinetic_energy(robot, braked.q, braked.qd), before * np.exp(-2.0 * kd * times)) < 1e-6


@pytest.mark.parametrize("coriolis", [False, True])
@every_robot
def test_near_the_target_nu_control_is_n_separate_oscillators_and_far_away_it_is_not(robot, coriolis):
    target, away, _ = start(robot)
    kp, kd = np.linspace(30.0, 60.0, robot.n), np.linspace(6.0, 9.0, robot.n)
    law = lw.control.diagonal_control(target, kp, kd, coriolis=coriolis)
    factor, coupling = lw.formulations.mass_factor(robot, target), []
    for small in (1e-3, 1e-4):
        q = target + small * (away - target)
        run = lw.simulate(robot, q, np.zeros(robot.n), 0.5, torque=law, rtol=1e-10, atol=1e-15, samples=11)
        x = (run.q - target) @ factor
        wanted = np.array([oscillation(t, x[0], 0.0, kp, kd) for t in run.t])
        coupling.append(np.abs(x - wanted).max() / np.abs(x).max())
    assert coupling[0] < 0.05
    assert coupling[1] < 0.15 * coupling[0] + 1e-8  # falls with the distance: the coupling is of second order


@every_robot
def test_even_gains_in_nu_need_no_factors_of_the_inertia_matrix(robot):
    target, q, qd = start(robot)
    law = lw.control.diagonal_control(target, 30.0, 7.0)
    there, here = lw.inertia_matrix(robot, target), lw.inertia_matrix(robot, q)
    plain = lw.gravity_torque(robot, q) + 30.0 * there @ (target - q) - 7.0 * here @ qd
    assert relative(law(robot, 0.0, q, qd), plain) < 1e-12


def heavier(robot, factor):
    rows = robot.rows
    rows[-1] |= {"mass": factor * rows[-1]["mass"], "inertia": factor * np.asarray(rows[-1]["inertia"])}
    if robot.convention == "frames":
        return lw.Robot.from_frames(rows, gravity=(0, 0, 0), name=robot.name)
    return lw.Robot.from_dh(rows, convention=robot.convention, gravity=(0, 0, 0), name=robot.name)


@pytest.mark.parametrize("coriolis", [False, True])
@every_robot
def test_with_wrong_masses_nu_control_still_takes_energy_away(robot, coriolis):
    """Without gravity: L kd Lᵀ takes energy whatever L is, and L C gives none, since νᵀ C = 0 of any robot."""
    target, q, qd = start(robot)
    true, believed = heavier(robot, 1.0), heavier(robot, 5.0)
    law = lw.control.diagonal_control(target, 20.0, 8.0, coriolis=coriolis, model=believed)
    run = lw.simulate(true, q, qd, 1.0, torque=law, rtol=1e-10, samples=101)
    V = law.lyapunov(true, run.q, run.qd)
    assert (np.diff(V) <= DECAY * V[0]).all()
    nu = lw.formulations.normalized.velocity(believed, q, qd)
    assert relative(qd @ (law(true, 0.0, q, qd) - law(true, 0.0, q, 0.0 * qd)), -8.0 * nu @ nu) < 1e-11


def test_with_wrong_masses_computed_torque_may_drive_the_robot_faster():
    true, believed = heavier(PLANAR, 1.0), heavier(PLANAR, 5.0)
    rates = 6.0 * states(PLANAR, 200)[1]
    q, growth = np.tile([0.2, 0.8, 0.5], (200, 1)), []
    for make in (lw.control.computed_torque, lw.control.diagonal_control):
        run = lw.simulate(true, q, rates, 0.3, torque=make(q[0], 25.0, 10.0, model=believed), samples=31)
        kinetic = lw.kinetic_energy(true, run.q, run.qd)
        growth.append((kinetic.max(axis=-1) / kinetic[:, 0]).max())
    assert growth[0] > 1.2
    assert growth[1] < 1.0 + 1e-9


def test_laws_are_known_by_their_numbers_and_compile_once():
    one, other = (
        lw.control.pd_gravity(target, 10, [1, 2, 3]) for target in ([0.1, 0.2, 0.3], np.array([0.1, 0.2, 0.3]))
    )
    assert one == other
    assert hash(one) == hash(other)
    assert one != lw.control.pd_gravity([0.1, 0.2, 0.3], 11, [1, 2, 3])
    assert lw.control.computed_torque(swing, 1, 2) == lw.control.computed_torque(swing, 1.0, 2.0)
    assert lw.control.diagonal_control(0, 1, 2) != lw.control.diagonal_control(0, 1, 2, coriolis=True)
    assert len({*laws([0.1, 0.2]), *laws([0.1, 0.2])}) == 4
    lw.simulate(PLANAR, [0] * 3, [0] * 3, 0.01, torque=one)
    made = compile_solver.cache_info().misses
    lw.simulate(PLANAR, [0] * 3, [0] * 3, 0.01, torque=other)
    assert compile_solver.cache_info().misses == made


def test_laws_say_what_they_are():
    assert repr(lw.control.computed_torque([0, 1], 4, 4)) == "computed_torque(reference=(0.0, 1.0), kp=4.0, kd=4.0)"
    assert repr(lw.control.diagonal_control(0, [1, 2], 3, coriolis=True)) == (
        "diagonal_control(target=0.0, kp=(1.0, 2.0), kd=3.0, coriolis=True)"
    )
    assert repr(lw.control.limited(lw.control.pd_gravity(0, 1, 2), 5) + lw.control.springs(3)) == (
        "limited(pd_gravity(target=0.0, kp=1.0, kd=2.0), most=5.0) + springs(stiffness=3.0)"
    )


@pytest.mark.parametrize(
    ("make", "error", "said"),
    [
        (lambda: lw.control.pd_gravity([0, np.nan], 1, 1), ValueError, "target is"),
        (lambda: lw.control.pd_gravity([0, 0], -1, 1), ValueError, "kp is -1"),
        (lambda: lw.control.computed_torque([0, 0], 1, "much"), TypeError, "kd is 'much'"),
        (lambda: lw.control.diagonal_control(0, 1, 1, coriolis=1), TypeError, "coriolis is 1"),
        (lambda: lw.control.diagonal_control(swing, 1, 2, coriolis=True), ValueError, "coriolis is True"),
        (lambda: lw.control.diagonal_control(swing, [1, 4], 3), ValueError, r"kd is 3.0 .*at least 2 √kp = 4"),
        (
            lambda: lw.control.diagonal_control(0, 1, 2, coordinates="nu"),
            ValueError,
            "'nu'.*'normalized', 'unnormalized'",
        ),
        (
            lambda: lw.control.diagonal_control(0, 1, 2, coordinates="unnormalized", coriolis=True).lyapunov(
                PLANAR, np.zeros(3), np.zeros(3)
            ),
            ValueError,
            "no Lyapunov function",
        ),
        (lambda: run(lw.control.pd_gravity([0, 0], 1, 1)), ValueError, "pd_gravity: target has 2 numbers"),
        (
            lambda: run(lw.control.computed_torque(lambda t: (0, 0, 0), 1, 1)),
            ValueError,
            r"gave shapes \(\), \(\), \(\)",
        ),
    ],
    ids=lambda x: x if isinstance(x, str) else "x",
)
def test_bad_numbers_are_refused_by_name(make, error, said):
    with pytest.raises(error, match=said):
        make()


def run(law):
    return lw.simulate(PLANAR, [0] * 3, [0] * 3, 0.01, torque=law)


STATE_LAWS = [
    lw.control.pd_gravity([0.1, 0.2, 0.3], kp=3, kd=1),
    lw.control.computed_torque([0.1, 0.2, 0.3], kp=3, kd=1),
    lw.control.diagonal_control([0.1, 0.2, 0.3], kp=3, kd=1),
    lw.control.limited(lw.control.pd_gravity([0.1, 0.2, 0.3], kp=3, kd=1), 1.0),
    lw.control.springs(3.0) + lw.control.springs(0.0, damping=0.1),
]


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
@pytest.mark.parametrize("library", ["torch", "jax.numpy"])
def test_laws_take_arrays_of_other_libraries_and_refuse_what_has_no_numbers(library):
    arm, xp = lw.load("planar3"), pytest.importorskip(library)
    q, qd = np.array([0.1, -0.2, 0.3], np.float32), np.array([0.3, 0.2, -0.1], np.float32)
    for law in STATE_LAWS:
        expected = law(arm, 0.0, q, qd)
        assert np.array_equal(law(arm, 0.0, xp.asarray(q), xp.asarray(qd)), expected)
        many = np.outer([1.0, 2.0, 3.0], q)
        assert np.array_equal(law(arm, 0.0, np.asmatrix(many), np.asmatrix(many)), law(arm, 0.0, many, many))
        if library == "torch":
            with raises(TypeError, "qd", "gradient", "detach"):
                law(arm, 0.0, xp.asarray(q), xp.tensor(qd, requires_grad=True))
            continue
        for transformed in (pytest.importorskip("jax").jit, pytest.importorskip("jax").jacfwd):
            with raises(TypeError, "q", "JAX"):
                transformed(lambda q: law(arm, 0.0, q, qd))(xp.asarray(q))  # noqa: B023


def test_limited_laws_with_constant_torques_are_traced() -> None:
    """Of the Panda, whose first axis is vertical, gravity exerts no torque there: a zero among nodes."""
    arm = lw.load("panda")
    laws = {
        "limited": lw.control.limited(lambda arm, t, q, qd: lw.gravity_torque(arm, q), 20.0),
        "dry": lambda arm, t, q, qd: lw.Friction(smooth=0, coulomb=1.0).torque(arm, np.stack([-2.0, *qd[1:]])),
    }
    q, qd, *_ = states(arm)
    for name, law in laws.items():
        expected = np.stack([law(arm, 0.0, *state) for state in zip(q, qd, strict=True)])
        found = lw.compile(law, arm, t=lw.Input())(t=np.zeros(len(q)), q=q, qd=qd)
        assert np.abs(found - expected).max() < 1e-12 * np.abs(expected).max(), name


@pytest.mark.parametrize("library", ["torch", "jax.numpy"])
def test_simulations_take_arrays_of_other_libraries(library):
    arm, xp = lw.load("planar3"), pytest.importorskip(library)
    q0, qd0, tau = np.float32([[0.1, -0.2, 0.3], [0.3, 0.2, -0.1], [0.5, 0.1, 0.2]])
    expected = lw.simulate(arm, q0, qd0, 0.01, torque=tau, samples=2).q
    assert np.array_equal(lw.simulate(arm, *map(xp.asarray, (q0, qd0)), 0.01, xp.asarray(tau), samples=2).q, expected)
    spring = lambda arm, t, q, qd, k: -k * q  # noqa: E731
    if library == "torch":
        for name in ("q0", "qd0", "torque"):
            given = {"q0": q0, "qd0": qd0, "torque": tau, name: xp.ones(3, requires_grad=True)}
            with pytest.raises(TypeError, match=rf"^{name} requires a gradient"):
                lw.simulate(arm, duration=0.01, **given)
        with raises(TypeError, "k", "gradient"):
            lw.simulate(arm, q0, duration=0.01, torque=spring, parameters={"k": xp.ones(3, requires_grad=True)})


def test_torques_in_single_precision_are_told():
    arm = lw.load("planar3")

    def law(arm, t, q, qd):
        return np.float32([-float(x) for x in q])

    with pytest.warns(RuntimeWarning) as caught:
        lw.simulate(arm, [0.1, 0.2, 0.3], duration=0.01, torque=law, samples=2, rtol=1e-4, compiled=False)
    assert any("float32" in str(warning.message) and "'law'" in str(warning.message) for warning in caught)


def test_errors_along_a_motion_say_which_times_they_are_of():
    law = lw.control.diagonal_control(lw.trajectories.cycloid([0, 0, 0], [1, 1, 1], 1.0), kp=4.0, kd=4.0)
    with raises(ValueError, "t", "(7,)", "(501,)"):
        law.velocity_error(PLANAR, np.linspace(0.0, 1.0, 7), np.zeros((501, 3)), np.zeros((501, 3)))
    assert law.velocity_error(PLANAR, np.zeros(0), np.zeros((0, 3)), np.zeros((0, 3))).shape == (0, 3)
    assert lw.control.computed_torque(law.target, 1, 1)(PLANAR, np.zeros(0), *np.zeros((2, 0, 3))).shape == (0, 3)
