"""Regressors and parameters: torques and energies are their products, for every kind of joint."""

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import linkwise as lw
from effort import in_turn, rest_slow
from facts import raises, warns
from joint_kinds import EVERY, EVERY_KIND, coupled, jointed, states
from linkwise.regressors import base_parameters as base_columns
from linkwise.regressors.base_parameters import base_grouping
from linkwise.robot.kinds import KINDS
from linkwise.robot.model import from_table
from linkwise.robot.random_robots import random_body
from peers import depth_first, to_pinocchio
from robots import relative
from special_robots import special

ROUNDING = 1e-13
LAWS = (False, True, lw.Friction(stribeck=0.7, stribeck_rate=0.5), lw.Friction(viscous=0.3, smooth=0))


def driven(robot: lw.Robot, seed: int = 0) -> lw.Robot:
    """The same robot with rotors and friction in every joint."""
    rng, rows = np.random.default_rng([seed, robot.n]), robot.rows
    for row in rows:
        if row["joint"] != "fixed":
            for key in ("rotor_inertia", "viscous_friction", "coulomb_friction"):
                row[key] = float(rng.uniform(0.1, 0.5))
    return from_table(rows, robot.convention, robot.gravity, robot.name)


def parallel(seed: int) -> lw.Robot:
    """Parallel and perpendicular axes, equal pitches, zeros; every third with coupled joints."""
    robot = special(seed, EVERY_KIND)
    single = sum(KINDS[row["joint"]].degrees == 1 for row in robot.rows)
    return driven(coupled(robot, seed) if seed % 3 == 0 and single > 1 else robot, seed)


RANDOM: list[Callable[[], lw.Robot]] = [lambda seed=seed: driven(jointed(4, seed), seed) for seed in range(30)]
SPECIAL: list[Callable[[], lw.Robot]] = [lambda seed=seed: parallel(seed) for seed in range(60)]
TABLES = [driven(robot) for robot in EVERY] + [driven(lw.load(name)) for name in ("stanford", "panda")]
QUICK = [TABLES[4], TABLES[5]]


def check_products(robot: lw.Robot, law: Any) -> None:
    q, qd, qdd, _ = states(robot, 3)
    tau = lw.inverse_dynamics(robot, q, qd, qdd, friction=law)
    for base in (False, True):
        Y, pi = lw.regressor(robot, q, qd, qdd, friction=law, base=base), lw.parameters(robot, law, base=base)
        assert Y.shape == (3, robot.n, len(pi))
        assert len(set(pi.names)) == len(pi)
        assert relative(Y @ pi, tau) < ROUNDING


def check_base(robot: lw.Robot, law: Any) -> None:
    """Columns of the base parameters are independent, and all columns are sums of them."""
    full, base = lw.parameters(robot, law), lw.parameters(robot, law, base=True)
    assert base.grouping is not None
    for column in base_grouping(robot, lw.Friction.of(law)).columns:
        assert column.drive or len(column.bodies) == 1  # of one link, so that no column has to be added up
    assert relative(base.grouping @ full, base) < ROUNDING
    q, qd, qdd, _ = states(robot, 3 * len(full) // robot.n + 20, seed=1)
    Y = lw.regressor(robot, q, qd, qdd, friction=law).reshape(-1, len(full))
    Y_base = lw.regressor(robot, q, qd, qdd, friction=law, base=True).reshape(-1, len(base))
    assert relative(Y_base @ base.grouping, Y) < 1e-9  # which multiples there are is seen to nine digits
    assert smallest_part(Y_base) > 1e-7


def smallest_part(columns: np.ndarray) -> float:
    sizes = np.linalg.svd(columns / np.linalg.norm(columns, axis=0), compute_uv=False)
    return float(sizes[-1] / sizes[0]) if sizes.size else 1.0


@pytest.mark.parametrize("robot", rest_slow(TABLES, QUICK), ids=lambda robot: robot.name)
def test_torques_are_products(robot: lw.Robot) -> None:
    for law in LAWS:
        check_products(robot, law)


@pytest.mark.parametrize("robot", rest_slow(TABLES, QUICK), ids=lambda robot: robot.name)
def test_base_parameters_are_independent(robot: lw.Robot) -> None:
    check_base(robot, True)


FEW, OTHERS = [*RANDOM[:2], *SPECIAL[:5]], [*RANDOM[2:], *SPECIAL[5:]]


@pytest.mark.parametrize("makers", [FEW, pytest.param(OTHERS, marks=pytest.mark.slow)], ids=["few", "others"])
def test_random_trees(makers: list[Callable[[], lw.Robot]]) -> None:
    for made in makers:
        check_products(made(), True)
        check_base(made(), True)


@in_turn(TABLES)
def test_energies_are_products(robot: lw.Robot) -> None:
    q, qd, _, _ = states(robot, 4)
    energy = lw.kinetic_energy(robot, q, qd) + lw.potential_energy(robot, q)
    assert relative(lw.identification.energy_regressor(robot, q, qd) @ lw.parameters(robot), energy) < ROUNDING


@in_turn(QUICK)
def test_base_parameters_keep_their_names_and_values(robot: lw.Robot) -> None:
    bare = robot.without_rotors()
    known, own = lw.base_parameters(bare), lw.parameters(bare, base=True)
    assert own.names[: len(known)] == tuple(parameter.name for parameter in known)
    assert relative(own[: len(known)], [parameter.value for parameter in known]) < ROUNDING
    assert lw.parameters(robot, base=True).names == own.names  # rotors that act like others do not count


def test_rotors_that_act_like_bodies_are_added_to_them() -> None:
    arm = driven(lw.load("planar3"))
    full, base = lw.parameters(arm), lw.parameters(arm, base=True)
    bare = {parameter.name: parameter.value for parameter in lw.base_parameters(arm)}
    assert [name for name in base.names if name.endswith("rotor")] == ["link2.rotor", "link3.rotor"]
    assert base["link1.Jzz"] == pytest.approx(bare["link1.Jzz"] + full["link1.rotor"])
    assert base["link2.Jzz"] == pytest.approx(bare["link2.Jzz"])


def test_columns_of_bodies_on_several_links(monkeypatch: pytest.MonkeyPatch) -> None:
    """For base parameters that no single body has alone, of which no example is known."""
    monkeypatch.setattr(base_columns, "is_unit", lambda *_: False)
    check_products(driven(lw.load("stanford")), False)


@pytest.mark.parametrize("name", ["tree", "puma560"])
def test_agreement_with_pinocchio(name: str) -> None:
    import pinocchio as pin

    robot = lw.random_tree(7, seed=4, joints="RRPRPRR") if name == "tree" else lw.load(name)
    model, data = to_pinocchio(robot)
    order, (q, qd, qdd, _) = depth_first(robot), states(robot)
    theirs = pin.computeJointTorqueRegressor(model, data, q[order], qd[order], qdd[order])
    ours = lw.regressor(robot, q, qd, qdd)[:, : 10 * robot.n].reshape(robot.n, robot.n, 10)
    there = [0, 1, 2, 3, 4, 5, 7, 6, 8, 9]  # where their Ixx, Ixy, Iyy, Ixz, ... are in ours
    assert relative(ours[np.ix_(order, order, there)].reshape(robot.n, -1), theirs) < ROUNDING
    values = np.concatenate([model.inertias[k + 1].toDynamicParameters() for k in range(robot.n)])
    own = lw.parameters(robot)[: 10 * robot.n].reshape(robot.n, 10)
    assert relative(own[np.ix_(order, there)].ravel(), values) < ROUNDING


def test_robots_of_symbols() -> None:
    m, l, i = lw.symbols("m l i")
    link = {"joint": "revolute", "a": l, "b": 0, "mass": m, "com": (-l / 2, 0, 0), "rotor_inertia": i}
    tensor = [[0, 0, 0], [0, m * l * l / 12, 0], [0, 0, m * l * l / 12]]
    rows = [{**link, "alpha": alpha, "inertia": tensor} for alpha in (0.0, np.pi / 2, 0.3)]
    arm = lw.Robot.from_dh(rows, convention="standard", gravity=(0, -9.81, 0))
    numbers = lw.bind(arm, m=2.0, l=0.7, i=0.1)
    q, qd, qdd, _ = states(numbers)
    names = lw.symbols_of(arm)
    values = [{"m": 2.0, "l": 0.7, "i": 0.1}[name] for name in names]
    for base in (False, True):
        pi, known = lw.parameters(arm, base=base), lw.parameters(numbers, base=base)
        assert pi.names == known.names
        Y = lw.regressor(arm, q, qd, qdd, base=base)
        assert Y.shape == (3, len(pi))
        assert Y.dtype == object
        product = lw.trace(product_with(base), arm)
        tau = lw.graph.evaluate(product, q, qd, qdd, *values)[0]
        assert relative(tau, lw.inverse_dynamics(numbers, q, qd, qdd)) < ROUNDING


def product_with(base: bool) -> Callable[..., Any]:
    def product(arm: lw.Robot, q: Any, qd: Any, qdd: Any) -> Any:
        return lw.regressor(arm, q, qd, qdd, base=base) @ lw.parameters(arm, base=base)

    return product


@pytest.mark.parametrize("options", [{}, {"friction": True, "base": True}])
def test_compiled_as_plain(options: dict[str, Any]) -> None:
    robot = TABLES[5]
    q, qd, qdd, _ = states(robot, 2, 5)
    plain = lw.regressor(robot, q, qd, qdd, **options)
    with lw.use_kernels("always"):
        assert relative(lw.regressor(robot, q, qd, qdd, **options), plain) < ROUNDING
    assert relative(lw.compile(lw.regressor, robot, **options)(q, qd, qdd), plain) < ROUNDING


def test_other_forms() -> None:
    arm = driven(lw.load("planar3"))
    q, qd, qdd, _ = states(arm)
    Y = lw.regressor(arm, q, qd, qdd, friction=True)
    assert lw.count(lw.regressor, arm).total < 100
    assert "void regressor(" in lw.c_source(lw.regressor, arm, friction=True)
    assert lw.latex(lw.regressor, arm)
    slope = lw.derivative(lw.regressor, arm, "qdd", friction=True)(q, qd, qdd)
    assert relative(np.einsum("ijk,j->ik", slope, lw.parameters(arm, True)), lw.inertia_matrix(arm, q)) < ROUNDING
    torch = pytest.importorskip("torch")
    tensors = map(torch.tensor, (q, qd, qdd))
    assert relative(lw.regressor(arm, *tensors, friction=True).numpy(), Y) < ROUNDING


@in_turn([driven(jointed(4, 1, "RPHCUE")), driven(coupled(jointed(5, 2, "RPH"))), driven(lw.load("stanford"))])
def test_two_velocities(robot: lw.Robot) -> None:
    q, qd, qdd, _ = states(robot)
    qdr, qddr = np.roll(qd, 1) + 0.3, -0.7 * qdd
    pi = lw.parameters(robot)
    Y = lw.identification.slotine_li_regressor(robot, q, qd, qdr, qddr)
    # C of Christoffel symbols is symmetric in the two rates: a quarter of h(a + b) - h(a - b)
    sum_, difference = (lw.bias_torque(robot, q, qd + sign * qdr) for sign in (1.0, -1.0))
    expected = lw.inertia_matrix(robot, q) @ qddr + (sum_ - difference) / 4.0 + lw.gravity_torque(robot, q)
    assert relative(Y @ pi, expected) < ROUNDING
    same = lw.identification.slotine_li_regressor(robot, q, qd, qd, qdd, friction=True)
    assert relative(same, lw.regressor(robot, q, qd, qdd, friction=True)) < ROUNDING
    base = lw.identification.slotine_li_regressor(robot, q, qd, qdr, qddr, base=True)
    assert relative(base @ lw.parameters(robot, base=True), expected) < ROUNDING


def test_two_velocities_in_other_forms() -> None:
    arm = lw.load("planar3")
    q, qd, qdd, _ = states(arm)
    plain = lw.identification.slotine_li_regressor(arm, q, qd, qd + 1.0, qdd)
    compiled = lw.compile(lw.identification.slotine_li_regressor, arm)
    assert relative(compiled(q, qd, qd + 1.0, qdd), plain) < ROUNDING
    source = lw.c_source(lw.identification.slotine_li_regressor, arm, base=True)
    assert "in   double qdr[3]: reference joint rates" in source
    assert "  8: link3.Jzz = " in source
    assert lw.latex(lw.identification.slotine_li_regressor, arm)
    with raises(ValueError, "'planar3'", "'base.wx'"):
        lw.identification.slotine_li_regressor(arm.with_free_base(), np.ones(10), *np.ones((3, 9)))


def test_headers_of_c_name_the_columns() -> None:
    arm = lw.load("planar3")
    for options in ({}, {"base": True, "friction": True}):
        own = lw.parameters(arm, **options)
        for function in (lw.regressor, lw.derivatives.packed(lw.regressor, arm, **options)):
            header = lw.c_source(function, arm, **(options if function is lw.regressor else {})).header
            for k, name in enumerate(own.names):
                assert f"  {k}: {name} = {own[name]!r}\n" in header
            assert "<packed" not in header
    packed = lw.derivatives.packed(lw.regressor, arm, base=True)
    rows = [line for line in lw.c_source(packed, arm).header.splitlines() if line.startswith(" *   row ")]
    read = [[-1 if x == "-" else int(x) for x in row.partition(":")[2].split()] for row in rows]
    assert read == packed.places.tolist()
    assert "  32: link3.rotor = 0.0" in lw.c_source(lw.identification.energy_regressor, arm).header
    assert "% columns: 1 link1.hx, 2 link1.hy," in lw.latex(lw.regressor, arm, base=True)
    heavy = lw.load("planar3").with_payload(lw.symbols("m"))
    assert "  20: link3.m = 0.3 + m\n" in lw.c_source(lw.regressor, heavy).header


# parameters


@in_turn([*QUICK, TABLES[6], driven(jointed(4, 1))])
def test_parameters_come_back(robot: lw.Robot) -> None:
    pi = lw.parameters(robot, friction=True)
    assert robot.with_parameters(pi, friction=True) == robot
    rng = np.random.default_rng(0)
    bodies = [
        lw.Robot.from_frames([{**random_body(rng), "joint": "revolute", "translation": (0, 0, 0)}]) for _ in robot.names
    ]
    wanted = np.concatenate([*(lw.parameters(body)[:10] for body in bodies), rng.uniform(size=3 * len(bodies))])
    changed = robot.with_parameters(wanted, friction=True)
    found = lw.parameters(changed, friction=True)
    assert found.names == pi.names
    assert relative(found, wanted) < ROUNDING
    q, qd, qdd, _ = states(robot)
    Y = lw.regressor(robot, q, qd, qdd, friction=True)
    assert relative(Y @ wanted, lw.inverse_dynamics(changed, q, qd, qdd, friction=True)) < ROUNDING
    assert relative(lw.parameters(changed.with_parameters(pi, friction=True), True), pi) < ROUNDING


def test_friction_stays_where_it_is_not_given() -> None:
    arm = driven(lw.load("stanford"))
    heavier = arm.with_parameters(1.5 * lw.parameters(arm))
    assert heavier.rows[2]["coulomb_friction"] == arm.rows[2]["coulomb_friction"]
    assert relative(lw.parameters(heavier), 1.5 * lw.parameters(arm)) < ROUNDING


def test_bodies_on_fixed_joints_are_of_their_link() -> None:
    arm = lw.load("planar3").with_payload(0.5, com=(0.1, 0, 0))
    pi = lw.parameters(arm)
    assert pi["link3.m"] == pytest.approx(dict(arm.table[2])["mass"] + 0.5)
    assert arm.with_parameters(pi).rows == arm.rows
    pi["link3.m"] += 0.1
    changed = arm.with_parameters(pi)
    assert "mass" not in changed.rows[3]
    assert changed.frame("payload") == arm.frame("payload")
    assert lw.total_mass(changed) == pytest.approx(lw.total_mass(arm) + 0.1)


def test_impossible_bodies_are_refused_or_kept() -> None:
    arm = lw.load("stanford")
    for name, value, problem in (
        ("link3.m", -0.2, "its mass is -0.2"),
        ("link3.Jzz", -1.0, "not positive semidefinite"),
        ("link3.Jyy", 9.0, "breaks the triangle inequality"),
        ("link3.rotor", -0.5, "rotor_inertia is -0.5"),
    ):
        pi = lw.parameters(arm)
        pi[name] = value
        with pytest.raises(
            lw.errors.RobotError, match=f"robot 'stanford', link 'link3': .*{problem}.*unphysical=\"warn\""
        ):
            arm.with_parameters(pi)
        with warns(UserWarning, "'stanford'", "'link3'", problem):
            kept = arm.with_parameters(pi, unphysical="warn")
        assert relative(lw.parameters(kept), pi) < ROUNDING
        assert kept.with_parameters(lw.parameters(kept)) == kept
    pi = lw.parameters(arm)
    pi["link3.m"], pi["link3.hx"] = 0.0, 0.5
    with raises(lw.errors.RobotError, "link 'link3'", "mass is 0", "[0.5, 0.0, 0.0]"):
        arm.with_parameters(pi, unphysical="warn")


def test_wrong_parameters() -> None:
    arm = lw.load("planar3")
    pi = lw.parameters(arm)
    with raises(lw.errors.RobotError, "(32,)", "33", "linkwise.parameters", "link1.m"):
        arm.with_parameters(pi[:-1])
    with raises(lw.errors.RobotError, "10", "arm2.m"):
        arm.with_parameters(lw.results.Parameters(pi.tolist(), [name.replace("link2", "arm2") for name in pi.names]))
    pi["link1.hx"] = np.nan
    with raises(lw.errors.RobotError, "link1.hx", "nan"):
        arm.with_parameters(pi)
    with raises(lw.errors.RobotError, 33, 42, "link3.stribeck"):
        arm.with_parameters(pi, friction=lw.Friction(stribeck=1.0))
    with raises(TypeError, "base", "1"):
        lw.regressor(arm, [0] * 3, [0] * 3, [0] * 3, base=1)
    with raises(ValueError, "qd", "(2,)"):
        lw.regressor(arm, [0] * 3, [0] * 2, [0] * 3)
    with raises(KeyError, "link9.m"):
        pi["link9.m"]


def test_friction_of_one_joint_is_one_number() -> None:
    robot = lw.chain(1, seed=1, joints="U")
    with raises(ValueError, "viscous", "link1"):
        lw.parameters(robot, friction=lw.Friction(viscous=[0.1, 0.2]))


def test_parameters_are_an_array_with_names() -> None:
    pi = lw.parameters(lw.load("stanford"), base=True)
    for same in (copy.copy(pi), pickle.loads(pickle.dumps(pi)), pi.copy()):
        assert same.names == pi.names
        assert (same == pi).all()
        assert same.grouping is not None
    assert type(pi * 2.0) is type(pi[:3]) is np.ndarray
    assert isinstance(pi.sum(), float)
    assert repr(pi).splitlines()[0] == f"{pi.names[0]} = {pi[0]:.6g}"
