"""Mass centre, momentum and robots whose base floats: laws over random trees of all joints, and Pinocchio."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import linkwise as lw
from effort import examples, rest_slow
from facts import raises
from joint_kinds import EVERY_KIND as ANY_KIND
from joint_kinds import jointed
from robots import conditioned, relative

ROUNDING = 50 * np.finfo(float).eps
EVERY_KIND = "F" + ANY_KIND.replace("F", "")  # on a free joint
TENSOR = [[4.0, 0.1, 0.2], [0.1, 5.0, 0.3], [0.2, 0.3, 6.0]]


def with_every_kind(seed: int, joints: str = EVERY_KIND, count: int = 8) -> lw.Robot:
    """A tree with friction, rotors except in free joints, a coupled joint, and gravity along no axis."""
    rng = np.random.default_rng(seed)
    rows = lw.random_tree(count, seed=seed, joints=joints).rows
    for row in rows:
        row["viscous_friction"] = float(rng.uniform(0.1, 0.5))
        if row["joint"] != "free":
            row["rotor_inertia"] = float(rng.uniform(0.1, 0.5))
    lead = next((row["name"] for row in rows if row["joint"] == "revolute"), None)
    if lead is not None:
        more = lw.random_tree(count + 2, seed=seed + 100, joints="R").rows[-1]
        parent = rows[int(rng.integers(count))]["name"]
        rows.append({**more, "name": "follower", "parent": parent, "coupled_to": lead, "ratio": -1.7, "offset": 0.4})
    return lw.Robot.from_frames(rows, gravity=rng.normal(size=3) * 5.0, name=f"{joints}-{seed}")


def satellite(name: str = "stanford") -> lw.Robot:
    return lw.load(name).with_free_base(mass=30.0, com=(0.1, 0.2, -0.3), inertia=TENSOR)


def seated() -> lw.Robot:
    """DH rows throughout: the base link's table frame is away from the centre of its free joint, turned."""
    return lw.chain(5, seed=4, joints="FRSPR")


def on_one_base(seed: int) -> lw.Robot:
    """A tree that stands on one free joint as a whole."""
    return lw.random_tree(7, seed=seed, joints="SRPUECH").with_free_base(mass=2.0, com=(0.1, 0.0, 0.2), inertia=TENSOR)


GROUNDED = [lw.load("puma560"), with_every_kind(3, "RPSUECH", 7)]
FLOATING = [with_every_kind(1), with_every_kind(2), seated(), satellite(), on_one_base(5)]
SEVERAL = with_every_kind(2, "FRSFP", 6)
ROBOTS = [*GROUNDED, *FLOATING, SEVERAL]
every = pytest.mark.parametrize("robot", ROBOTS, ids=lambda robot: robot.name)
floating = pytest.mark.parametrize("robot", FLOATING, ids=lambda robot: robot.name)


def states(robot: lw.Robot, count: int = 3, seed: int = 0) -> tuple[np.ndarray, ...]:
    """q, qd, qdd, tau; quaternions of any length."""
    rng = np.random.default_rng([seed, robot.n])
    return (rng.normal(size=(count, robot.nq)), *rng.normal(size=(3, count, robot.n)))


def at(matrices: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    return np.einsum("...ij,...j->...i", matrices, vectors)


def bodies(robot: lw.Robot, q: np.ndarray) -> list[tuple[float, np.ndarray]]:
    """Of each body: its mass, and its tensor about its mass centre in the base frame."""
    result, poses = [], lw.poses(robot, q)
    for k, joint in enumerate(robot.moving):
        link = robot.links[joint.link]
        turn = poses[:, k, :3, :3] @ np.array(link.frame.axes.rows).T
        result.append((link.mass, turn @ np.array(link.inertia.rows) @ turn.swapaxes(-1, -2)))
    return result


@every
def test_momentum_is_the_sum_over_the_bodies(robot: lw.Robot) -> None:
    q, qd, qdd, _ = states(robot)
    places, velocities, accelerations = lw.mass_centres(robot, q, qd, qdd)
    masses = np.array([mass for mass, _ in bodies(robot, q)])
    assert lw.total_mass(robot) == pytest.approx(masses.sum(), rel=1e-14)
    means = [np.einsum("k,bki->bi", masses, x) / masses.sum() for x in (places, velocities, accelerations)]
    for found, mean in zip(lw.centre_of_mass(robot, q, qd, qdd), means, strict=True):
        assert relative(found, mean) < ROUNDING
    for found, mean in zip(lw.centre_of_mass(robot, q, qd), means, strict=False):
        assert relative(found, mean) < ROUNDING
    assert relative(lw.centre_of_mass(robot, q), means[0]) < ROUNDING
    angular = np.zeros((len(q), 3))
    for k, (mass, tensor) in enumerate(bodies(robot, q)):
        twist = at(lw.jacobian(robot, q, link=k, point="com"), qd)
        angular += at(tensor, twist[:, :3]) + np.cross(places[:, k] - means[0], mass * twist[:, 3:])
    found = lw.momentum(robot, q, qd)
    assert relative(found, np.concatenate([angular, masses.sum() * means[1]], axis=-1)) < ROUNDING
    assert relative(at(lw.momentum_matrix(robot, q), qd), found) < ROUNDING


@every
def test_the_rate_of_momentum_is_all_that_acts_from_outside(robot: lw.Robot) -> None:
    """Weight, external wrenches, and what the joints on the ground give."""
    q, qd, qdd, _ = states(robot)
    wrench = np.random.default_rng(1).normal(size=(len(q), len(robot.names), 6))
    places, _, _ = lw.mass_centres(robot, q, qd, qdd)
    centre = lw.centre_of_mass(robot, q)
    loads = lw.joint_wrenches(robot, q, qd, qdd, wrench)
    force = lw.total_mass(robot) * np.array(robot.gravity) + wrench[..., 3:].sum(axis=1)
    moment = (wrench[..., :3] + np.cross(places - centre[:, None], wrench[..., 3:])).sum(axis=1)
    for k, joint in enumerate(robot.moving):
        if robot.links[joint.first].parent < 0:
            origin = np.array(list(robot.links[joint.first].placement.translation))
            force = force + loads[:, k, 3:]
            moment = moment + loads[:, k, :3] + np.cross(origin - centre, loads[:, k, 3:])
    rate = at(lw.momentum_matrix(robot, q), qdd) + lw.momentum_bias(robot, q, qd)
    assert relative(rate, np.concatenate([moment, force], axis=-1)) < 4 * ROUNDING


@pytest.mark.parametrize("robot", [satellite(), satellite("puma560"), on_one_base(6)], ids=lambda robot: robot.name)
def test_in_free_flight_only_the_weight_changes_the_momentum(robot: lw.Robot) -> None:
    q, qd, _, tau = states(robot)
    tau[:, robot.v_slice("base")] = 0.0
    qdd = lw.forward_dynamics(robot, q, qd, tau)
    rate = at(lw.momentum_matrix(robot, q), qdd) + lw.momentum_bias(robot, q, qd)
    weight = [0.0, 0.0, 0.0, *(lw.total_mass(robot) * np.array(robot.gravity))]
    bound = conditioned(robot, q) * np.abs(qdd).max() * np.abs(lw.momentum_matrix(robot, q)).max()
    assert np.abs(rate - weight).max() < 10 * bound


def test_rates_are_derivatives_by_the_joints() -> None:
    """Of robots whose rates are those of q: Ȧ q̇ and the mass centre's velocity."""
    robot = lw.load("puma560")
    q, qd, _, _ = states(robot)
    slope = lw.derivative(lw.momentum, robot, "q")(q, qd)
    assert relative(at(slope, qd), lw.momentum_bias(robot, q, qd)) < ROUNDING
    slope = lw.derivative(lw.centre_of_mass, robot, "q")(q)
    assert relative(lw.total_mass(robot) * slope, lw.momentum_matrix(robot, q)[:, 3:]) < ROUNDING


@given(seed=st.integers(0, 10_000))
@examples(6)
def test_the_base_rows_of_the_inertia_matrix_are_the_momentum_matrix(seed: int) -> None:
    """Momentum conjugate to the base's coordinates: linear along the ground's axes, angular about its origin."""
    robot = on_one_base(seed)
    q, qd, _, _ = states(robot, 2, seed)
    A, base = lw.momentum_matrix(robot, q), lw.poses(robot, q)[:, 0]
    lever = (lw.centre_of_mass(robot, q) - base[:, :3, 3])[:, None, :]
    about_base = A[:, :3] + np.cross(lever, A[:, 3:].swapaxes(-1, -2)).swapaxes(-1, -2)
    rows = np.concatenate([A[:, 3:], base[:, :3, :3].swapaxes(-1, -2) @ about_base], axis=1)
    assert relative(lw.inertia_matrix(robot, q)[:, :6], rows) < ROUNDING
    locked = np.concatenate([qd[:, :6], np.zeros((2, robot.n - 6))], axis=-1)  # then T = (p·v_C + l·ω) / 2
    six, (_, velocity) = lw.momentum(robot, q, locked), lw.centre_of_mass(robot, q, locked)
    spin = at(base[:, :3, :3], locked[:, 3:6])
    twice = (six[:, 3:] * velocity).sum(axis=-1) + (six[:, :3] * spin).sum(axis=-1)
    assert relative(lw.kinetic_energy(robot, q, locked), 0.5 * twice) < ROUNDING


@pytest.mark.parametrize("seed", range(4))
def test_pinocchio_has_the_same_momentum(seed: int) -> None:
    pin = pytest.importorskip("pinocchio", reason="Pinocchio has no wheel for Windows")
    from jointed_peers import in_pinocchio, pinocchio_state

    swap = [3, 4, 5, 0, 1, 2]  # linear first
    robot = jointed(7, seed, "FRPS")
    (model, data), (q, qd, qdd) = in_pinocchio(robot), (x[0] for x in states(robot, 1, seed)[:3])
    theirs = pinocchio_state(robot, q, qd, qdd)
    pin.computeCentroidalMomentumTimeVariation(model, data, *theirs)
    assert relative(lw.momentum(robot, q, qd), np.array(data.hg)[swap]) < ROUNDING
    bias = lw.momentum_bias(robot, q, qd)
    assert relative(lw.momentum_matrix(robot, q) @ qdd + bias, np.array(data.dhg)[swap]) < ROUNDING
    still = pinocchio_state(robot, q, qd, np.zeros(robot.n))
    pin.dccrba(model, data, *theirs[:2])
    assert relative(bias, (data.dAg @ theirs[1] + data.Ag @ still[2])[swap]) < ROUNDING
    columns = [data.Ag @ pinocchio_state(robot, q, unit, unit)[1] for unit in np.eye(robot.n)]
    assert relative(lw.momentum_matrix(robot, q), np.transpose(columns)[swap]) < ROUNDING
    pin.centerOfMass(model, data, *theirs)
    for mine, other in zip(lw.centre_of_mass(robot, q, qd, qdd), (data.com, data.vcom, data.acom), strict=True):
        assert relative(mine, other[0]) < ROUNDING


@floating
def test_the_base_wrench_is_the_torques_of_the_free_joint(robot: lw.Robot) -> None:
    q, qd, qdd, _ = states(robot)
    wrench = np.random.default_rng(2).normal(size=(len(q), len(robot.names), 6))
    points = np.random.default_rng(3).normal(size=(len(robot.names), 3))
    base = robot.free_joints[0]
    tau = lw.inverse_dynamics(robot, q, qd, qdd, wrench, point=points)[:, base.v]
    found = lw.base_wrench(robot, q, qd, qdd, wrench, point=points)
    # the twist of the table frame's origin per rate of the base's coordinates takes the wrench to the torques
    J = lw.jacobian(robot, q, link=base.name)[:, :, base.v]
    assert relative(at(J.swapaxes(-1, -2), found), tau) < ROUNDING


@floating
@pytest.mark.parametrize("friction", [False, True])
def test_a_base_that_nothing_holds(robot: lw.Robot, friction: bool) -> None:
    q, qd, qdd, _ = states(robot)
    wrench = np.random.default_rng(2).normal(size=(len(q), len(robot.names), 6))
    base = robot.free_joints[0].v
    joints = [k for k in range(robot.n) if not base.start <= k < base.stop]
    acceleration, tau = lw.floating_dynamics(robot, q, qd, qdd[:, joints], wrench, friction=friction)
    assert acceleration.shape == (len(q), 6)
    assert tau.shape == (len(q), robot.n - 6)
    qdd[:, base] = acceleration
    torques = lw.inverse_dynamics(robot, q, qd, qdd, wrench, friction=friction)
    scale = np.abs(lw.bias_torque(robot, q, qd, wrench)).max() + np.abs(torques).max()
    assert np.abs(torques[:, base]).max() < ROUNDING * scale
    assert np.abs(torques[:, joints] - tau).max() < ROUNDING * scale
    given_back = np.zeros_like(qdd)
    given_back[:, joints] = tau
    again = lw.forward_dynamics(robot, q, qd, given_back, wrench, friction=friction)
    assert relative(again, qdd) < 10 * conditioned(robot, q)


@floating
@pytest.mark.parametrize("point", ["frame", pytest.param("com", marks=pytest.mark.slow), (0.1, -0.2, 0.3)])
def test_the_generalized_jacobian_is_that_of_zero_momentum(robot: lw.Robot, point: Any) -> None:
    q, qd, _, _ = states(robot)
    base, I = robot.free_joints[0], lw.inertia_matrix(robot, q)
    joints = [k for k in range(robot.n) if not base.v.start <= k < base.v.stop]
    follow = -np.linalg.solve(I[:, base.v, base.v], I[:, base.v][:, :, joints])
    qd[:, base.v] = at(follow, qd[:, joints])
    if sum(link.parent < 0 for link in robot.links) == 1:  # all stand on the base
        assert np.abs(lw.momentum(robot, q, qd)).max() < 4 * ROUNDING * np.abs(lw.momentum_matrix(robot, q)).max()
    for link in (None, *robot.names) if point == "frame" else (1,):
        J, own = (f(robot, q, link=link, point=point) for f in (lw.jacobian, lw.generalized_jacobian))
        assert own.shape == (len(q), 6, robot.n - 6)
        assert relative(own, J[:, :, joints] + J[:, :, base.v] @ follow) < 4 * ROUNDING
        assert relative(at(own, qd[:, joints]), at(J, qd)) < 4 * ROUNDING


@pytest.mark.parametrize("name", ["stanford", "puma560", "planar3"])
def test_a_heavy_base_stands_still(name: str) -> None:
    arm = lw.load(name)
    q = np.random.default_rng(0).normal(size=arm.n)
    fixed, errors = lw.jacobian(arm, q), []
    for mass in (1e3, 1e6, 1e9):
        heavy = arm.with_free_base(mass=mass, inertia=np.eye(3) * mass)
        errors.append(relative(lw.generalized_jacobian(heavy, [0, 0, 0, 1, 0, 0, 0, *q]), fixed))
    assert errors[0] < 0.1
    assert errors[1] == pytest.approx(errors[0] / 1e3, rel=0.05)
    assert errors[2] == pytest.approx(errors[0] / 1e6, rel=0.05)


def centre_motion(arm: lw.Robot, q: Any, qd: Any, qdd: Any) -> Any:
    return lw.centre_of_mass(arm, q, qd, qdd)


FUNCTIONS = {
    lw.centre_of_mass: ("q",), centre_motion: ("q", "qd", "qdd"), lw.momentum: ("q", "qd"),
    lw.momentum_matrix: ("q",), lw.momentum_bias: ("q", "qd"), lw.base_wrench: ("q", "qd", "qdd"),
    lw.floating_dynamics: ("q", "qd", "qdd_joints"), lw.generalized_jacobian: ("q",),
}  # fmt: skip


def arrays_for(robot: lw.Robot, names: tuple[str, ...], shape: tuple[int, ...] = (2, 3)) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.normal(size=(*shape, robot.size_of(name))) for name in names]


def parts_of(result: Any) -> tuple[Any, ...]:
    return result if isinstance(result, tuple) else (result,)


def joined(result: Any) -> np.ndarray:
    """Results of several arrays as one."""
    parts = [np.asarray(x) for x in parts_of(result)]
    return np.concatenate([part.reshape((*part.shape[:2], -1)) for part in parts], axis=-1)


@pytest.mark.parametrize("function", rest_slow(list(FUNCTIONS), list(FUNCTIONS)[1::3]), ids=lambda f: f.__name__)
def test_compiled_counted_and_traced_as_the_others(function: Any) -> None:
    robot, names = with_every_kind(1, "FRS", 3), FUNCTIONS[function]
    arrays = arrays_for(robot, names)
    plain = joined(function(robot, *arrays))
    kernel = lw.compile(function, robot)
    assert relative(joined(kernel(*arrays)), plain) < ROUNDING
    assert kernel.count == lw.count(function, robot)
    assert kernel.count.total > 100
    program = lw.trace(function, robot)
    assert [(port.name, port.shape) for port in program.inputs] == [(x, (robot.size_of(x),)) for x in names]
    if function is not centre_motion:
        with lw.use_kernels("always"):
            assert relative(joined(function(robot, *arrays)), plain) < ROUNDING
    arrays[0][1, 2, robot.q_slice(robot.names[0])] = np.nan  # also where only positions do not matter
    for result in (joined(function(robot, *arrays)), joined(kernel(*arrays))):
        assert np.isnan(result[1, 2]).all()
        assert np.isfinite(np.delete(result.reshape(6, -1), 5, axis=0)).all()


@pytest.mark.parametrize("function", [lw.base_wrench, lw.floating_dynamics, lw.generalized_jacobian])
def test_batches_dtypes_and_bad_numbers_as_in_other_functions(function: Any) -> None:
    robot, names = satellite("planar3"), FUNCTIONS[function]
    arrays = arrays_for(robot, names)
    results = parts_of(function(robot, *arrays))
    for index in np.ndindex(2, 3):
        alone = parts_of(function(robot, *(array[index] for array in arrays)))
        assert all(np.array_equal(part[index], one) for part, one in zip(results, alone, strict=True))
    single = parts_of(function(robot, *(array.astype(np.float32) for array in arrays)))
    assert all(part.dtype == np.float32 for part in single)
    assert relative(joined(single), joined(results)) < 1e-4
    for k, name in enumerate(names):
        bad = [array.copy() for array in arrays]
        bad[k][0, 1, -1] = np.inf
        assert np.isnan(joined(function(robot, *bad))[0, 1]).all()
        with pytest.raises(ValueError, match=rf"^{name}\[0, 1, {bad[k].shape[-1] - 1}\], joint 'link3' is inf"):
            function(robot, *bad, check=True)
        with pytest.raises(ValueError, match=rf"^{name} has shape \(2,\)"):
            function(robot, *arrays[:k], np.zeros(2), *arrays[k + 1 :])


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_torch_tensors_and_a_base_of_symbols(function: Any) -> None:
    torch = pytest.importorskip("torch")
    robot = satellite("planar3")
    arrays = arrays_for(robot, FUNCTIONS[function])
    plain, result = joined(function(robot, *arrays)), function(robot, *(torch.tensor(x) for x in arrays))
    assert all(isinstance(part, torch.Tensor) for part in parts_of(result))
    assert relative(joined(result), plain) < ROUNDING
    symbolic = lw.load("planar3").with_free_base(mass=lw.symbols("m"), com=(0.1, 0.2, -0.3), inertia=TENSOR)
    program = lw.trace(function, symbolic)
    assert program.inputs[-1].name == "m"
    assert relative(joined(tuple(lw.graph.evaluate(program, *arrays, np.full((2, 3), 30.0)))), plain) < ROUNDING


@pytest.mark.slow
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_jax_arrays(function: Any) -> None:
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    robot = satellite("planar3")
    arrays = arrays_for(robot, FUNCTIONS[function])
    result = jax.jit(lambda *x: function(robot, *x))(*arrays)
    assert relative(joined(result), joined(function(robot, *arrays))) < ROUNDING


def test_total_mass_of_symbols_and_of_regrouped_robots() -> None:
    m = lw.symbols("m")
    robot = lw.load("planar3").with_free_base(mass=m, inertia=TENSOR)
    assert "m" in str(lw.total_mass(robot))
    for arm in (satellite(), lw.load("puma560")):
        q, qd, _, _ = states(arm)
        assert lw.total_mass(arm.regrouped()) == lw.total_mass(arm)
        for function in (lw.momentum, lw.momentum_bias):
            assert np.array_equal(function(arm.regrouped(), q, qd), function(arm, q, qd))
        assert np.array_equal(lw.momentum_matrix(arm.regrouped(), q), lw.momentum_matrix(arm, q))


def test_far_from_the_origin_no_digits_are_lost() -> None:
    robot = satellite()
    q, qd, qdd, _ = states(robot)
    far = q.copy()
    far[:, :3] += 7e6
    assert np.array_equal(lw.momentum(robot, far, qd), lw.momentum(robot, q, qd))
    assert np.array_equal(lw.momentum_matrix(robot, far), lw.momentum_matrix(robot, q))
    assert np.array_equal(lw.generalized_jacobian(robot, far), lw.generalized_jacobian(robot, q))
    assert np.array_equal(lw.base_wrench(robot, far, qd, qdd), lw.base_wrench(robot, q, qd, qdd))


def test_a_single_free_body() -> None:
    """Euler's equations, and nothing else."""
    row = {"joint": "free", "translation": (0, 0, 0), "mass": 2.0, "com": (0.1, 0.2, 0.3), "inertia": TENSOR}
    body = lw.Robot.from_frames([row], name="body")
    q, qd, _, _ = states(body)
    acceleration, tau = lw.floating_dynamics(body, q, qd, np.zeros((3, 0)))
    assert tau.shape == (3, 0)
    assert relative(acceleration, lw.forward_dynamics(body, q, qd, np.zeros((3, 6)))) < ROUNDING
    assert lw.generalized_jacobian(body, q).shape == (3, 6, 0)
    turn, spin = lw.poses(body, q)[:, 0, :3, :3], qd[:, 3:]
    assert relative(lw.momentum(body, q, qd)[:, :3], at(turn @ np.array(TENSOR), spin)) < ROUNDING
    gyroscopic = np.cross(spin, at(np.array(TENSOR), spin))
    assert relative(lw.momentum_bias(body, q, qd)[:, :3], at(turn, gyroscopic)) < ROUNDING


def test_wrong_robots_and_arguments_are_named() -> None:
    arm, two = lw.load("planar3"), SEVERAL
    calls = {
        lw.base_wrench: lambda robot: lw.base_wrench(robot, *states(robot)[:3]),
        lw.floating_dynamics: lambda robot: lw.floating_dynamics(robot, *states(robot)[:3]),
        lw.generalized_jacobian: lambda robot: lw.generalized_jacobian(robot, states(robot)[0]),
    }
    assert len(two.free_joints) == 2
    first, second = (joint.name for joint in two.free_joints)
    driven = satellite()
    rows = [{**row, "rotor_inertia": 0.1} if row["joint"] == "free" else row for row in driven.rows]
    driven = lw.Robot.from_dh(rows, convention=driven.convention, name="driven")
    for call in calls.values():
        with raises(lw.errors.RobotError, "'planar3'", "robot.with_free_base(mass, com, inertia)"):
            call(arm)
        with raises(lw.errors.RobotError, "2 free joints", f"'{first}', '{second}'"):
            call(two)
        with raises(lw.errors.RobotError, "'driven'", "joint 'base'", "rotor"):
            call(driven)
    robot = satellite("planar3")
    q, qd, _, _ = states(robot, 1)
    with raises(ValueError, "qdd_joints", "(9,)", "(..., 3)", "link1", "link2", "link3"):
        lw.floating_dynamics(robot, q, qd, np.zeros(9))
    with raises(ValueError, "qdd_joints[1]", "link2", "nan"):
        lw.floating_dynamics(robot, q, qd, [0.0, np.nan, 0.0], check=True)
    with raises(TypeError, "qdd", "qd"):
        lw.centre_of_mass(arm, [0, 0, 0], qdd=[0, 0, 0])
    rod = {"joint": "revolute", "translation": (0, 0, 0), "mass": 0.0, "com": (0, 0, 0), "inertia": np.zeros((3, 3))}
    with raises(lw.errors.RobotError, "rod", "mass"):
        lw.centre_of_mass(lw.Robot.from_frames([rod], name="rod"), [0.0])
    for function in (lw.total_mass, lw.centre_of_mass, lw.momentum_matrix, lw.generalized_jacobian):
        with raises(TypeError, "first", "'planar3'", "Robot"):
            function("planar3", *([] if function is lw.total_mass else [[0.0]]))
