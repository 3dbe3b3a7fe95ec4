"""Budgets: the terms of a torque add up to it, and each of them is what its name says."""

import pickle
from typing import Any

import numpy as np
import pytest

import joint_kinds
import linkwise as lw
import robots
from effort import rest_slow
from robots import relative, with_drives

ROTORS = with_drives(lw.random_tree(6, seed=4, joints="RPSHUR"), 3)  # also in its ball joint
FRICTION = lw.Friction(viscous=0.3, coulomb=0.2)
EVERY = [*joint_kinds.EVERY, ROTORS]
ALL = [*(robot for robot in robots.ALL if robot.n <= 14), *robots.FREE[:2], *EVERY]
QUICK = [robots.TEXTBOOK[3], robots.CHAINS[5], robots.DRIVEN[1], joint_kinds.TREE, joint_kinds.COUPLED, ROTORS]
laws = pytest.mark.parametrize("robot", rest_slow(ALL, QUICK), ids=lambda robot: robot.name)
UNCOUPLED = [robot for robot in ALL if not robot.couplings and not robot.rotors_in_balls]
quasi_laws = pytest.mark.parametrize(
    "robot", rest_slow(UNCOUPLED, [robot for robot in QUICK if robot in UNCOUPLED]), ids=lambda robot: robot.name
)
EPS = float(np.finfo(float).eps)


def states(robot: lw.Robot, *batch: int) -> tuple[np.ndarray, ...]:
    """q, qd, qdd, and a wrench on every link."""
    q, qd, qdd, _ = joint_kinds.states(robot, *batch)
    return q, qd, qdd, np.random.default_rng(robot.n).normal(size=(*batch, len(robot.names), 6))


def within_rounding(budget: Any, total: np.ndarray) -> bool:
    """Sums of as many terms, each with a few roundings of its own, lie so far apart."""
    values = budget.values
    bound = 8 * (budget.robot.n + 4) * EPS * np.abs(values).sum(-1).max(axis=-1, keepdims=True)
    return bool((np.abs(values.sum(-1) - total) <= bound + 1e-300).all())


def near(a: Any, b: Any, scale: Any, rounding: float = 1e-13) -> bool:
    """Whether they differ by no more than rounding beside these numbers."""
    return bool(np.abs(np.asarray(a) - b).max(initial=0.0) <= rounding * np.abs(scale).max(initial=1e-300))


@laws
def test_terms_add_up_to_the_torques(robot: lw.Robot) -> None:
    q, qd, qdd, wrench = states(robot, 2)
    point = np.random.default_rng(0).normal(size=(len(robot.names), 3))
    budget = lw.budget(robot, q, qd, qdd, wrench, point=point, friction=FRICTION)
    tau = lw.inverse_dynamics(robot, q, qd, qdd, wrench, point=point, friction=FRICTION)
    assert within_rounding(budget, tau)
    assert relative(budget.tau, tau) < 1e-13
    for view in budget.views:
        labels, values = budget.view(view)
        assert len(set(labels)) == len(labels) == values.shape[-1]
        assert relative(values.sum(-1), tau) < 1e-13
    assert relative(budget.friction, FRICTION.torque(robot, qd)) < 1e-14


@laws
def test_the_motion_of_the_base_is_a_term(robot: lw.Robot) -> None:
    q, qd, qdd, wrench = states(robot, 2)
    base = lw.BaseMotion(*np.random.default_rng(1).normal(size=(4, 2, 3)))
    budget = lw.budget(robot, q, qd, qdd, wrench, base=base, friction=FRICTION)
    still = lw.budget(robot, q, qd, qdd, wrench, friction=FRICTION)
    assert relative(budget.tau, lw.inverse_dynamics(robot, q, qd, qdd, wrench, base=base, friction=FRICTION)) < 1e-13
    assert all(np.array_equal(a, b) for a, b in zip(budget[:-1], still[:-1], strict=True))
    assert not still.base.any()
    assert within_rounding(budget, budget.tau)
    for view in budget.views:
        labels, values = budget.view(view)
        assert relative(values[..., labels.index("motion of the base")], budget.base) < 1e-15


@laws
def test_shares_are_those_of_their_names(robot: lw.Robot) -> None:
    q, qd, qdd, wrench = states(robot)
    budget = lw.budget(robot, q, qd, qdd, wrench)
    inertia = lw.inertia_matrix(robot, q)
    assert relative(budget.acceleration + np.diag(budget.rotor), inertia * qdd) < 1e-13  # M_kj qdd_j
    assert relative(budget.gravity.sum(-1), lw.gravity_torque(robot, q)) < 1e-13
    J = np.stack([lw.jacobian(robot, q, link=name, point="com") for name in robot.names])
    masses = np.array([robot.links[joint.link].mass for joint in robot.moving])
    weights = masses[:, None] * np.array(robot.gravity)
    assert relative(budget.gravity, -np.einsum("mi,mik->km", weights, J[:, 3:])) < 1e-13
    assert relative(budget.wrench, -np.einsum("mi,mik->km", wrench, J)) < 1e-13
    still = lw.budget(robot, q, 0 * qd, 0 * qdd)
    velocity = budget.bias_acceleration.sum(-1) + budget.bias_force.sum(-1)
    bias = lw.bias_torque(robot, q, qd)
    assert near(velocity, bias - lw.gravity_torque(robot, q), [*np.abs(bias), *np.abs(budget.values).max(-1)])
    assert near(velocity, budget.centrifugal.sum(-1) + budget.coriolis.sum((-1, -2)), budget.values)
    assert np.array_equal(still.gravity, budget.gravity)
    assert not still.acceleration.any()
    assert not still.bias_force.any()
    assert not still.bias_acceleration.any()


@laws
def test_terms_of_rates_are_those_of_the_second_derivatives(robot: lw.Robot) -> None:
    """Of τ by the rates; without ball joints these are the Christoffel symbols of the inertia matrix, twice."""
    q, qd, qdd, _ = states(robot)
    budget = lw.budget(robot, q, qd, qdd)
    _, _, by_rates, by_q = lw.inverse_dynamics_second_derivatives(robot, q, qd, qdd)
    scale = max(1.0, np.abs(qd).max() ** 2) * np.abs(lw.inertia_matrix(robot, q))
    terms = by_rates * np.multiply.outer(qd, qd)
    assert near(budget.coriolis, np.triu(terms, 1), scale)
    assert near(budget.centrifugal, np.einsum("kii->ki", terms) / 2, scale)
    if not robot.balls:
        twice = by_q.swapaxes(-1, -2) + by_q - np.einsum("ijk->kij", by_q)  # [k, i, j]: ∂_i M_kj + ∂_j M_ki - ∂_k M_ij
        assert near(by_rates, twice, scale)


@pytest.mark.parametrize("robot", [robots.TEXTBOOK[3], robots.CHAINS[9], robots.TREES[4]], ids=lambda robot: robot.name)
def test_terms_are_those_of_the_operators(robot: lw.Robot) -> None:
    """H Φ M Φ* a and H Φ b of (38), each a and b by itself: (39)."""
    q, qd, qdd, _ = states(robot)
    o, e = lw.formulations.operators(robot, q), lw.explain(robot, q, qd, qdd)
    a, b = (np.array([e[name][link] for link in robot.names]) for name in ("a", "b"))
    budget = lw.budget(robot, q, qd, qdd)
    each = np.eye(robot.n)[:, :, None]  # the vector of one link, zeros for the others
    by_a = o.H @ o.phi @ o.M @ o.phi.T @ (each * a[:, None]).transpose(0, 2, 1).reshape(6 * robot.n, robot.n)
    by_b = o.H @ o.phi @ (each * b[:, None]).transpose(0, 2, 1).reshape(6 * robot.n, robot.n)
    assert relative(budget.bias_acceleration, by_a) < 1e-12
    assert relative(budget.bias_force, by_b) < 1e-12
    for name, values in (
        ("tau_a", budget.bias_acceleration),
        ("tau_b", budget.bias_force),
        ("tau_g", budget.gravity),
        ("tau_qdd", budget.acceleration + np.diag(budget.rotor)),
    ):
        assert relative(e[name], values) < 1e-13
    parts = sum(e[name].sum(-1) for name in ("tau_qdd", "tau_a", "tau_b", "tau_g"))
    assert relative(parts, e["tau"]) < 1e-12


@pytest.mark.parametrize("kind", [lw.formulations.normalized, lw.formulations.unnormalized], ids=repr)
@quasi_laws
def test_elements_add_up_to_the_forces_of_coriolis(robot: lw.Robot, kind: Any) -> None:
    q, qd, _qdd, wrench = states(robot)
    rounding = max(1e-13, 8 * robots.conditioned(robot, q))
    velocity = kind.velocity(robot, q, qd)
    budget = kind.budget(robot, q, velocity, wrench)
    C = kind.coriolis(robot, q, velocity, wrench)
    free = kind.coriolis(robot, q, velocity, gravity=False)
    assert relative(budget.total, C) < rounding
    assert relative(budget.values.sum(-1), C) < rounding
    assert relative(budget.elements.sum(-1) + budget.bias_force.sum(-1), free) < rounding
    assert relative(budget.summands.sum(-1), budget.c) < 1e-13
    off = budget.c - np.diag(np.diag(budget.c))
    assert relative(off, -off.T) < rounding
    if kind is lw.formulations.normalized:
        assert not np.diag(budget.c).any()
        scale = np.abs(velocity) @ np.abs(budget.elements).sum(-1)
        assert abs(velocity @ budget.elements.sum(-1)) <= 1e3 * EPS * scale  # does no work
        power = velocity @ budget.bias_force  # of each link
        assert np.abs(power).max() <= rounding * (np.abs(velocity) @ np.abs(budget.bias_force)).max()
    else:
        D = lw.formulations.udu(robot, q)[1]
        normal = lw.formulations.normalized.budget(robot, q, np.sqrt(D) * velocity).c
        scaled = off / np.sqrt(np.multiply.outer(D, D))
        assert relative(scaled, normal) < rounding


def test_the_diagonal_of_the_unnormalized_elements_is_half_the_rate_of_d() -> None:
    arm = lw.load("stanford")
    q, qd = np.array([0.1, 1.2, 0.3, 0.4, 0.5, 0.6]), np.array([1, -1, 0.5, 2, -2, 1])
    xi = lw.formulations.unnormalized.velocity(arm, q, qd)
    c = lw.formulations.unnormalized.budget(arm, q, xi).c
    after, before = (lw.formulations.udu(arm, q + sign * 1e-5 * qd)[1] for sign in (1.0, -1.0))
    assert np.allclose(np.diag(c), (after - before) / 2e-5 / 2.0, atol=1e-8)
    assert abs(xi @ c @ xi) > 1.0  # so that c as a whole is not skew


def test_explained_elements_are_those_of_the_budgets() -> None:
    for robot in (robots.TEXTBOOK[3], joint_kinds.ARM):
        q, qd, _, _ = states(robot)
        e = lw.explain(robot, q, qd)
        for name, velocity, kind in (
            ("c_nu", "nu", lw.formulations.normalized),
            ("c_xi", "xi", lw.formulations.unnormalized),
        ):
            assert relative(e[name], kind.budget(robot, q, e[velocity]).c) < 1e-12


@pytest.mark.parametrize("robot", [lw.chain(1), robots.CHAINS[5], joint_kinds.COUPLED], ids=lambda robot: robot.name)
def test_batches_and_kernels_give_the_same(robot: lw.Robot) -> None:
    q, qd, qdd, wrench = states(robot, 2, 3)
    batch = lw.budget(robot, q, qd, qdd, wrench, friction=True)
    one = lw.budget(robot, q[1, 2], qd[1, 2], qdd[1, 2], wrench[1, 2], friction=True)
    with lw.use_kernels("always"):
        compiled = lw.budget(robot, q, qd, qdd, wrench, friction=True)
    for x, y, z, w in zip(batch, one, batch.state((1, 2)), compiled, strict=True):
        assert x.shape[:2] == (2, 3)
        assert relative(x[1, 2], y) < 1e-14
        assert np.array_equal(x[1, 2], z)
        assert relative(x, w) < 1e-13
    if not robot.couplings:
        nu = lw.formulations.normalized.velocity(robot, q, qd)
        batch_nu, one_nu = (lw.formulations.normalized.budget(robot, *s) for s in ((q, nu), (q[0, 1], nu[0, 1])))
        with lw.use_kernels("always"):
            compiled_nu = lw.formulations.normalized.budget(robot, q, nu)
        for x, y, w in zip(batch_nu, one_nu, compiled_nu, strict=True):
            assert relative(x[0, 1], y) < 1e-13
            assert relative(x, w) < 1e-12


def test_branches_do_not_feel_each_other() -> None:
    robot = robots.TREES[4]
    q, qd, qdd, wrench = states(robot)
    budget = lw.budget(robot, q, qd, qdd, wrench)
    for k in range(robot.n):
        for m in range(robot.n):
            if m not in robot.subtree(k):
                assert budget.gravity[k, m] == budget.wrench[k, m] == budget.bias_force[k, m] == 0.0
                assert k in robot.subtree(m) or budget.acceleration[k, m] == 0.0


def test_ball_joints_have_no_bias_acceleration_of_their_own() -> None:
    """Their rates turn with the body: ω̇ is what qdd is."""
    robot = lw.chain(1, joints="S", seed=3)
    q, qd, qdd, _ = states(robot)
    assert lw.budget(robot, q, qd, qdd).bias_acceleration_terms.shape == (3, 0)


def test_counted_compiled_and_in_symbols() -> None:
    arm = lw.load("planar3")
    count, once = lw.count(lw.budget, arm), lw.count(lw.inverse_dynamics, arm)
    assert once.total < count.total < 20 * once.total
    assert count.divisions == 0
    normalized = lw.formulations.normalized
    assert 0 < lw.count(normalized.budget, arm).total < 3 * lw.count(normalized.coriolis, arm).total
    kernel, q = lw.compile(lw.budget, arm), np.array([0.1, 0.2, 0.3])
    for x, y in zip(kernel(q, q, q), lw.budget(arm, q, q, q), strict=True):
        assert relative(x, y) < 1e-14
    assert "s_{3}" in lw.latex(lw.formulations.unnormalized.budget, arm)
    symbolic = lw.budget(arm, lw.symbols("q1 q2 q3"), [0, 0, 0], [0, 0, 0])
    assert "symbols" in repr(symbolic)
    assert r"\cos\left(q_{1} + q_{2} + q_{3}\right) && H_{3} b^g_{3} && \text{gravity of link3}" in symbolic.latex(
        "link3"
    )
    assert repr(pickle.loads(pickle.dumps(lw.budget(arm, q, q, q)))) == repr(lw.budget(arm, q, q, q))


def test_tables_say_which_terms_are_largest() -> None:
    arm = lw.load("ur5e")
    q = np.array([0.0, -0.5, 0.5, 0.0, 0.0, 0.0])
    budget = lw.budget(arm, q, [1, 0, 0, 0, 0, 0], [0, 2, 0, 0, 0, 0])
    own = budget["shoulder_lift_joint"]
    assert own.total == budget.tau[1]
    assert own.limit == 150.0
    assert own.unit == "N m"
    sizes = [abs(x) for _, x in own.largest]
    assert sizes == sorted(sizes, reverse=True)
    assert own["acceleration of shoulder_lift_joint"] == budget.acceleration[1, 1]
    assert own.through["acceleration of shoulder_lift_joint"] == "upper_arm_link"
    assert own["centrifugal of shoulder_pan_joint"] == budget.centrifugal[1, 0]
    assert own.sentence().startswith(f"shoulder_lift_joint: {budget.tau[1]:.4g} N m = ")
    for text in (str(own), own.why(), budget.why(1), str(budget.table(1)), repr(budget)):
        assert own.largest[0][0] in text
    assert f"{abs(budget.tau[1]) / 1.5:.3g} % of its limit of 150 N m" in budget.why("shoulder_lift_joint")
    assert "(3 others)" in str(budget.joint(1, most=len(own.largest) - 3))
    assert "bias force of wrist_1_link, centrifugal of shoulder_pan_joint" in str(budget.joint(1, by="terms"))
    assert "&&" in budget.latex("elbow_joint", most=3)
    assert "others" in budget.latex(1, most=3)
    nu = lw.formulations.normalized.velocity(arm, q, [1.0, 2, 3, 1, 2, 3])
    quasi = lw.formulations.normalized.budget(arm, q, nu)
    assert "c ν of" in str(quasi.joint(0))
    assert "summand of" in str(quasi.joint(0, by="sums"))


def test_along_a_trajectory(tmp_path: Any) -> None:
    pytest.importorskip("matplotlib")
    arm = lw.load("planar3")
    along = lw.torque_along(arm, lw.trajectories.cycloid([0, 0, 0], [1, 1, 1], duration=2), samples=21, loads=False)
    budget = lw.budget(arm, along.q, along.qd, along.qdd, t=along.t)
    assert relative(budget.tau, along.tau) < 1e-13
    worst = int(np.argmax(np.abs(along.tau[:, 1])))
    assert budget["link2"].when == f"t = {along.t[worst]:g} s"
    assert budget["link2"].total == budget.tau[worst, 1]
    columns = budget.columns("kinds")
    assert list(columns)[:3] == ["t", "link1: tau", "link1: acceleration"]
    assert relative(columns["link2: tau"], along.tau[:, 1]) < 1e-13
    figure = budget.plot(tmp_path / "budget.png", joints=["link2"], most=2)
    (axes,) = figure.axes
    assert [text.get_text() for text in axes.get_legend().get_texts()][-2:] == ["others", "tau"]
    tops, bottoms = np.zeros(21), np.zeros(21)
    for k, fill in enumerate(axes.collections):  # a stack above zero and one below it, in turn
        upper = fill.get_datalim(axes.transData)
        assert upper.y0 <= 0.0 or k % 2 == 0
        tops, bottoms = np.maximum(tops, upper.y1), np.minimum(bottoms, upper.y0)
    values = budget.view("joints")[1][:, 1]
    largest = np.clip(values, 0, None).sum(-1).max()
    assert tops.max() <= largest * (1 + 1e-9)
    assert (tmp_path / "budget.png").stat().st_size > 5000
    assert len(budget.state(3).plot().axes) == 3


def test_pictures_of_all_joints() -> None:
    pytest.importorskip("matplotlib")
    arm = lw.load("ur5e").with_payload(5.0)
    move = lw.trajectories.quintic([0, -0.2, 0.3, 0, 0.5, 0], [1.8, -1, 0.6, 1, -1, 2], duration=0.9)
    along = lw.torque_along(arm, move, samples=21, loads=False)
    budget = lw.budget(arm, along.q, along.qd, along.qdd, t=along.t)
    looks: dict[str, set[Any]] = {}
    for axes in budget.plot().axes:
        handles, labels = axes.get_legend_handles_labels()
        for fill, label in zip(handles, labels, strict=True):
            if hasattr(fill, "get_hatch") and label != "others":
                looks.setdefault(label, set()).add((tuple(fill.get_facecolor()[0]), fill.get_hatch()))
    assert all(len(own) == 1 for own in looks.values())  # a look is of one term in all panels
    assert len(set.union(*looks.values())) == len(looks) > 12
    for picture in (budget.plot(joints=[1]), budget.plot(joints=[1], by="kinds"), budget.state(5).plot(joints=[1])):
        (axes,) = picture.axes
        ends = [line.get_xydata()[0] for line in axes.lines if line.get_linestyle() == "--" and len(line.get_xdata())]
        assert any(150.0 in np.abs(end) for end in ends)
        words = axes.get_xlabel() + " ".join(text.get_text() for text in axes.texts)
        words += "".join(text.get_text() for text in axes.get_legend().get_texts()) if axes.get_legend() else ""
        assert "limit 150 N m" in words
    planar = lw.load("planar3")
    title = lw.formulations.normalized.budget(planar, [0.1, 0.2, 0.3], [1, 2, 3]).plot().get_suptitle()
    assert title == "planar3: where C(θ, ν) comes from"


def test_messages() -> None:
    arm = lw.load("planar3")
    budget = lw.budget(arm, np.zeros((4, 3)), np.zeros(3), np.zeros(3))
    for call, words in (
        (lambda: budget["link9"], "joint is 'link9'"),
        (lambda: budget.joint(3), "whole number below 3"),
        (lambda: budget.view("rows"), "by is 'rows'"),
        (lambda: budget.state(1).state(0), "state(0.*batch"),
        (lambda: budget.joint(0, most=-1).sentence(-1), "most is -1"),
        (lambda: str(budget.joint(0, most=0)), "most is 0"),
        (lambda: budget.plot(most=-1), "most is -1"),
        (lambda: budget.latex(), "latex .* one state"),
        (lambda: budget.state(slice(0, 0)).table(), "has no states"),
        (lambda: lw.budget(arm, np.zeros(3), np.zeros(3), np.zeros(3), t=[0.0]), "t has shape"),
        (lambda: lw.budget(arm, np.zeros((2, 2, 3)), np.zeros(3), np.zeros(3)).plot(), "batch is (2, 2"),
        (
            lambda: lw.formulations.normalized.budget(joint_kinds.COUPLED, *states(joint_kinds.COUPLED)[:2]),
            "is coupled",
        ),
        (lambda: lw.formulations.unnormalized.budget(ROTORS, *states(ROTORS)[:2]), "ball joint with rotor inertia"),
    ):
        with pytest.raises(ValueError, match=words.replace("(", r"\(")):
            call()
    with pytest.raises(IndexError):
        budget.state((0, 1))  # the batch has one axis
    lost = lw.budget(arm, [np.nan, 0, 0], [0, 0, 0], [0, 0, 0])
    for text in (repr(lost), str(lost["link2"]), lost.why("link2"), lost["link2"].sentence()):
        assert "link2: nan N m, of a state with a number that is not finite" in text
    assert "link1: 0 N m = 0" in repr(lw.budget(arm.with_gravity((0, 0, 0)), [0, 0, 0], [0, 0, 0], [0, 0, 0]))


def test_times_of_a_batch_of_trajectories() -> None:
    """A batch recording has one row of times for all its trajectories."""
    arm, t = lw.load("planar3"), np.linspace(0.0, 1.0, 4)
    q = np.random.default_rng(3).normal(size=(2, 4, 3))
    budget = lw.budget(arm, q, q, q, t=t)
    one = lw.budget(arm, q[1], q[1], q[1], t=t)
    assert np.array_equal(budget.columns()["t"], np.r_[t, t])
    assert str(budget.state(1).table()) == str(one.table())
    assert np.array_equal(budget.state((1, slice(1, 3))).t, t[1:3])
    assert budget.state((slice(None), 2)).t is None
    row, k = budget.place(1)
    assert budget["link2"].when == f"state {row}, {k}, t = {t[k]:g} s"
    assert "link2: tau" in str(budget.columns().keys())
    assert str((budget - budget).t) == str(budget.t)
    for wrong in (t[:3], t[:2, None], t[0]):
        with pytest.raises(ValueError, match=r"t has shape"):
            lw.budget(arm, q, q, q, t=wrong)
    with pytest.raises(TypeError, match=r"base is .*BaseMotion.*\(k, 3\)"):
        lw.budget(arm, q, q, q, base=lambda t: lw.BaseMotion())
