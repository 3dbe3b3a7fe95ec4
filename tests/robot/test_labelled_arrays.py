"""Arrays whose columns have names (DataFrames, Series, structured arrays) are matched by name, or refused."""

import collections
import inspect
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import linkwise as lw
from effort import in_turn
from facts import raises
from functions import MEMBERS

pandas = pytest.importorskip("pandas")
ARM = lw.load("ur5e")
SMALL = lw.load("planar3")
FREE = SMALL.with_free_base(mass=5.0, inertia=0.1 * np.eye(3))
ARGUMENTS = ("q", "qd", "qdd", "tau", "q0", "q1", "v", "a", "qdr", "qddr", "qdd_joints")
FLOATING = ("base_wrench", "floating_dynamics", "generalized_jacobian")
FOREIGN = ("convert_state", "convert_force")
OF_A_FIT = "joint_inertias"  # tested in test_joint_inertias
LONG = {"accuracy", "explain", "draw", "rollout", "simulate"}  # tried by themselves


def functions() -> dict[str, Callable[..., Any]]:
    taking = {name: f for name, f in MEMBERS.items() if inspect.isfunction(f)}
    of_states = {name: f for name, f in taking.items() if {"q", "q0"} & set(inspect.signature(f).parameters)}
    return {name: f for name, f in of_states.items() if name != OF_A_FIT}


def shuffled(arm: lw.Robot, name: str, values: np.ndarray, kind: str = "frame") -> Any:
    """The same numbers under their names, in another order."""
    labels = np.array(arm.labels_of(name))
    order = np.roll(np.arange(len(labels))[::-1], 1)
    if kind == "series":
        return pandas.Series(values[order], index=labels[order])
    if kind == "structured":
        dtype = [(str(label), float) for label in labels[order]]
        return np.array([tuple(row) for row in np.atleast_2d(values)[:, order].tolist()], dtype=dtype)
    return pandas.DataFrame(values[..., order], columns=labels[order])


def given(arm: lw.Robot, function: Callable[..., Any], batch: tuple[int, ...]) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    wanted = [name for name in inspect.signature(function).parameters if name in ARGUMENTS]
    sizes = {name: arm.n - 6 if name == "qdd_joints" else arm.size_of(name) for name in wanted}
    found = {name: rng.normal(size=(*batch, size)) for name, size in sizes.items()}
    return {name: np.asarray(lw.normalize(arm, x)) if name in ("q", "q0", "q1") else x for name, x in found.items()}


def same(a: Any, b: Any) -> bool:
    if isinstance(a, tuple):
        return all(same(x, y) for x, y in zip(a, b, strict=True))
    if not isinstance(a, np.ndarray | float) or np.asarray(a).dtype.kind == "U":
        return repr(a) == repr(b)
    return bool(np.allclose(a, b, rtol=1e-9, atol=1e-9, equal_nan=True))  # from a kernel or not


@in_turn([name for name in functions() if name not in LONG])
def test_frames_are_matched_by_name(name: str) -> None:
    function = functions()[name]
    arm = FREE if name in FLOATING else SMALL
    others = {"source": "pinocchio"} if name in FOREIGN else {}
    if "link" in inspect.signature(function).parameters:
        others["link"] = arm.names[-1]
    if "fixed" in inspect.signature(function).parameters:
        others["fixed"] = {arm.names[-1]: "point"}
    if "targets" in inspect.signature(function).parameters:
        others["targets"] = {arm.names[-1]: [0.1, 0.2, 0.3]}
    for kind, batch in (("frame", (5,)), ("series", ()), ("structured", (5,))):
        arrays = given(arm, function, batch)
        if name == "equilibrium":
            arrays["tau"] = np.asarray(lw.gravity_torque(arm, arrays["q"]))
        expected = function(arm, **arrays, **others)
        for key, value in arrays.items():
            if key == "qdd_joints":
                continue
            labelled = {**arrays, key: shuffled(arm, key, value, kind)}
            if name in FOREIGN:  # whose names are not those of this robot
                with raises(TypeError, "to_numpy"):
                    function(arm, **labelled, **others)
                continue
            found = function(arm, **labelled, **others)
            assert same(expected, found), (name, key, kind)


@in_turn([("frame", (5,)), ("series", ())])
def test_states_of_simulations(case: tuple[str, tuple[int, ...]]) -> None:
    kind, batch = case
    arrays = {"q0": given(ARM, lw.integrate, batch)["q"], "qd0": given(ARM, lw.integrate, batch)["v"]}
    run = lw.simulate(ARM, **arrays, duration=0.01, samples=3)
    ends = lw.rollout(ARM, **arrays, steps=3, dt=1e-3)
    for key, word in (("q0", "q"), ("qd0", "qd")):
        one = {**arrays, key: shuffled(ARM, word, arrays[key], kind)}
        assert np.array_equal(lw.simulate(ARM, **one, duration=0.01, samples=3).q, run.q)
        assert np.array_equal(lw.rollout(ARM, **one, steps=3, dt=1e-3).q, ends.q)
    torque = np.arange(6.0)
    run = lw.simulate(ARM, **arrays, duration=0.01, samples=3, torque=torque)
    labelled = pandas.Series(torque[::-1], index=ARM.v_names[::-1])
    assert np.array_equal(lw.simulate(ARM, **arrays, duration=0.01, samples=3, torque=labelled).q, run.q)


def test_motions() -> None:
    points = np.random.default_rng(2).normal(size=(4, 6))
    frame, ends = shuffled(ARM, "q", points), [shuffled(ARM, "q", row, "series") for row in points[:2]]
    t = np.linspace(0.0, 1.0, 4)
    assert np.array_equal(
        lw.trajectories.spline(t, frame, robot=ARM)(0.4).q, lw.trajectories.spline(t, points, robot=ARM)(0.4).q
    )
    for make in (lw.trajectories.cycloid, lw.trajectories.cubic, lw.trajectories.quintic, lw.trajectories.septic):
        assert np.array_equal(make(*ends, 1.0, robot=ARM)(0.4).q, make(*points[:2], 1.0, robot=ARM)(0.4).q)
        with raises(TypeError, "to_numpy()", "robot="):
            make(*ends, 1.0)
    with raises(TypeError, "to_numpy"):
        lw.trajectories.spline(t, frame)
    t = np.linspace(0.0, 2.0, 501)
    q = np.sin(np.outer(t, [1, 2, 3, 4, 5, 6]))
    data = {"t": t, "q": q, "tau": 1.0 + q}
    expected = lw.identification.measured_motion(ARM, data)
    found = lw.identification.measured_motion(
        ARM, {**data, "q": shuffled(ARM, "q", q), "tau": shuffled(ARM, "tau", 1.0 + q)}
    )
    assert np.array_equal(found.q, expected.q)
    assert np.array_equal(found.tau, expected.tau)


@in_turn(
    [
        ["a", "b", "c", "d", "e", "f"], [2, 0, 1, 3, 4, 5], [*ARM.q_names[:5], "gripper"],
        [*ARM.q_names[:5], ARM.q_names[0]], [f"qd{k}" for k in range(1, 7)],
        [("q", name) for name in ARM.q_names], [*ARM.q_names[:5], "q6"],
    ]
)  # fmt: skip
def test_other_names_are_refused(labels: list[Any]) -> None:
    frame = pandas.DataFrame(np.zeros((3, 6)))
    frame.columns = pandas.Index(labels)
    for call in (
        lambda: lw.gravity_torque(ARM, frame),
        lambda: lw.gravity_torque(ARM, frame.iloc[0]),
        lambda: lw.simulate(ARM, frame, duration=0.01, samples=3),
        lambda: lw.rollout(ARM, frame, steps=1, dt=1e-3),
    ):
        with pytest.raises(TypeError) as error:
            call()
        for fact in (repr(labels[-1]), "to_numpy()", ARM.q_names[0]):
            assert fact in str(error.value)


def test_numbers_and_our_own_columns_are_in_order() -> None:
    q = np.random.default_rng(3).normal(size=(4, 6))
    expected = lw.gravity_torque(ARM, q)
    assert np.array_equal(lw.gravity_torque(ARM, pandas.DataFrame(q)), expected)
    for form in ("q{0}", "q.{1}", "q_{1}", "{1}"):
        labels = [form.format(k + 1, name) for k, name in enumerate(ARM.q_names)]
        frame = pandas.DataFrame(q, columns=labels)[labels[::-1]]
        assert np.array_equal(lw.gravity_torque(ARM, frame), expected)
    links = pandas.DataFrame(q[:, ::-1], columns=list(ARM.names)[::-1])
    assert np.array_equal(lw.gravity_torque(ARM, links), expected)
    batch = pandas.DataFrame(np.zeros((2, 6)), columns=["mx", "my", "mz", "fx", "fy", "fz"])
    with raises(TypeError, "wrench", "mx", "to_numpy()"):
        lw.inverse_dynamics(ARM, q[:2], q[:2], q[:2], batch)
    kernel = lw.compile(lw.gravity_torque, ARM)
    with raises(TypeError, "q", "to_numpy()"):
        kernel(pandas.DataFrame(q, columns=ARM.q_names))


def test_names_within_lists_and_of_rows_are_seen() -> None:
    q = np.random.default_rng(4).normal(size=(6, 6))
    backwards = pandas.DataFrame(q, columns=ARM.q_names)[list(ARM.q_names)[::-1]]
    rows = [row for _, row in backwards.iterrows()]
    fields = collections.namedtuple("State", [f"joint{k}" for k in range(6)])
    kernel = lw.compile(lw.gravity_torque, ARM)
    later = [q[0], rows[0]]
    for given in (rows, tuple(rows), later, [backwards, backwards], [fields(*row) for row in q], fields(*q[0])):
        for call in (
            lambda given: lw.gravity_torque(ARM, given),
            kernel,
            lambda given: lw.simulate(ARM, given, duration=0.01, samples=2),
            lambda given: lw.rollout(ARM, given, steps=1, dt=1e-3),
            lambda given: lw.sweep(ARM, {"q0": given}, "never", duration=0.01),
        ):
            with raises(TypeError, "names", "to_numpy()"):
                call(given)
    for names in (ARM.q_names, [f"q{k + 1}" for k in range(6)], [f"q_{name}" for name in ARM.q_names]):
        with raises(TypeError, "q.T"):
            lw.gravity_torque(ARM, pandas.DataFrame(q, index=list(names)))
    for run in (
        lambda law: lw.simulate(ARM, q[0], duration=0.01, torque=law, samples=2),
        lambda law: lw.rollout(ARM, q[0], torque=law, steps=1, dt=1e-3),
        lambda law: lw.equilibrium(ARM, q[0], law),
    ):
        with raises(TypeError, "names", "to_numpy()"):
            run(lambda arm, t, q, qd: rows[0])
    for given in (backwards, rows, fields(*q[0])):
        with raises(TypeError, "lw.per_trajectory"):  # which no function would look for there
            lw.per_trajectory(given)
    assert np.array_equal(lw.per_trajectory(pandas.DataFrame(q)).values[0], q[0])  # a row, not a column
    numbers = lw.parameters(ARM)
    with raises(TypeError, "parameters"):
        ARM.with_parameters(pandas.Series(np.asarray(numbers), index=list(numbers.names)))
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table({name: backwards[name] for name in backwards.columns})
    assert np.array_equal(lw.gravity_torque(ARM, table), lw.gravity_torque(ARM, q))


def test_vectors_of_robots_are_without_names() -> None:
    back = pandas.Series([1.0, 2.0, 3.0], index=list("zyx"))
    tensor = pandas.DataFrame(np.eye(3), index=list("zyx"), columns=list("zyx"))
    pair = pandas.Series([-1.0, 1.0], index=["upper", "lower"])

    def changed(**entries: Any) -> lw.Robot:
        rows = SMALL.rows
        rows[1].update(entries)
        return lw.Robot.from_dh(rows, convention=SMALL.convention)

    for names, make in (
        ("'z', 'y', 'x'", lambda: SMALL.with_gravity(back)),
        ("'z', 'y', 'x'", lambda: lw.Robot.from_dh(SMALL.rows, convention=SMALL.convention, gravity=back)),
        ("'z', 'y', 'x'", lambda: SMALL.with_payload(1.0, com=back)),
        ("'z', 'y', 'x'", lambda: SMALL.with_payload(1.0, inertia=tensor)),
        ("'z', 'y', 'x'", lambda: SMALL.with_free_base(1.0, com=back, inertia=np.eye(3))),
        ("'link2' | 'z', 'y', 'x'", lambda: changed(com=back)),
        ("'link2' | 'z', 'y', 'x'", lambda: changed(inertia=[back, back, back])),
        ("'link2' | 'upper', 'lower'", lambda: changed(limits=pair)),
    ):
        with raises(ValueError, *names.split(" | "), "to_numpy()"):
            make()
    down, ends = collections.namedtuple("Down", "z y x")(-9.81, 0.0, 0.0), collections.namedtuple("Ends", "upper lower")
    for make in (
        lambda: SMALL.with_gravity(down),
        lambda: SMALL.with_payload(1.0, com=down),
        lambda: SMALL.with_payload(1.0, inertia=[down, down, down]),
        lambda: SMALL.with_payload(1.0, inertia=collections.namedtuple("Rows", "z y x")(*np.eye(3))),
        lambda: changed(com=down),
        lambda: changed(limits=ends(-1.0, 1.0)),
        lambda: lw.jacobian(SMALL, np.zeros(3), point=down),
    ):
        with pytest.raises(ValueError, match=r"has names: '(z', 'y', 'x|upper', 'lower)'"):
            make()
    for unordered in ({1.0, 2.0, 3.0}, frozenset({1.0, 2.0, 3.0})):
        with raises(ValueError, "com"):
            changed(com=unordered)
    with raises(TypeError, "q", "Down", "array"):
        lw.graph.evaluate(lw.trace(lw.gravity_torque, SMALL), down)
    with raises(ValueError, "link2", "mass"):
        changed(mass=pandas.Series([1.0, 2.0]))
    bare = pandas.Series([0.0, 0.1, 0.2])
    assert changed(com=bare).links[1].com == changed(com=(0.0, 0.1, 0.2)).links[1].com


def test_names_that_do_not_fit_are_singled_out() -> None:
    names = list(ARM.q_names)
    for columns, facts in (
        ([*names[:3], "w1", "w2", "w3"], ("'w1', 'w2', 'w3'", *map(repr, names[3:]))),
        (["t", *names], ("'t'",)),
        ([f"q_{name}" for name in names[:5]], ("'wrist_3_joint'",)),
    ):
        with raises(TypeError, *facts):
            lw.gravity_torque(ARM, pandas.DataFrame(np.zeros((2, len(columns))), columns=columns))


@pytest.mark.parametrize("library", ["torch", "jax"])
def test_robots_keep_numbers_not_tensors(library: str) -> None:
    """What is kept of a robot would neither follow a tensor that changes nor carry its gradient."""
    xp, arm = pytest.importorskip(library), lw.load("planar3")

    def places(x: Any) -> dict[str, Callable[[], lw.Robot]]:
        rows = arm.rows
        rows[1]["mass"] = x
        return {
            "mass": lambda: lw.Robot.from_dh(rows, convention="standard", gravity=arm.gravity),
            "payload": lambda: arm.with_payload(x),
            "gravity": lambda: arm.with_gravity([0.0, x, 0.0]),
        }

    def refused(x: Any) -> None:
        for make in places(x).values():
            with pytest.raises(lw.errors.RobotError, match=r"(requires a gradient|is traced by JAX).*lw\.symbols"):
                make()

    if library == "torch":
        plain = xp.tensor(0.75, dtype=xp.float64)
        refused(plain.clone().requires_grad_())
        with raises(TypeError, "q", "gradient"):
            lw.draw(arm, xp.zeros(3, requires_grad=True))
    else:
        plain = xp.numpy.asarray(0.75)
        xp.jit(refused)(plain)
    for name, make in places(plain).items():
        robot, same = make(), places(0.75)[name]()
        assert robot.rows == same.rows
        assert robot.gravity == same.gravity
        assert all(type(x) is float for x in (*robot.gravity, robot.rows[1]["mass"]))


@pytest.mark.parametrize("library", ["torch", "jax"])
def test_gradients_are_refused_by_name_where_numbers_are_needed(library: str) -> None:
    """Also in what users' functions compute, and in lists and mappings of arrays."""
    xp = pytest.importorskip(library)
    arm, q = lw.load("planar3"), np.array([0.1, 0.2, 0.3])
    record = {"t": 0.01 * np.arange(30), "q": np.ones((30, 3)), "tau": np.ones((30, 3))}

    def run(q0: Any = q, **given: Any) -> Any:
        return lw.simulate(arm, q0, q, duration=0.1, **given)

    calls: dict[str, Callable[[Any], Any]] = {
        "samples": lambda x: run(samples=x[:1]),
        "torque": lambda x: run(torque=lambda arm, t, q, qd: x),
        "function": lambda x: run(torque=lambda arm, t, q, qd: x * qd),
        "pair": lambda x: run(torque=([0.0, 0.1], [x, x])),
        "constant": lambda x: run(torque=x),
        "times": lambda x: run(torque=(x[:2], np.zeros((2, 3)))),
        "event": lambda x: run(events=[lw.Event(lambda arm, t, q, qd: x[0], "e")]),
        "event function": lambda x: run(events=[lw.Event(lambda arm, t, q, qd: x[0] * q[0] - 0.4, "e")]),
        "start": lambda x: lw.rollout(arm, x, q, steps=3, dt=0.01),
        "explain": lambda x: lw.explain(arm, x),
        "explain rates": lambda x: lw.explain(arm, q, x, x),
        "draw": lambda x: lw.draw(arm, x),
        "identify list": lambda x: lw.identify(arm, {**record, "q": [x] * 30}),
        **{
            f"identify {name}": lambda x, name=name: lw.identify(
                arm, {**record, name: square(x)[:, 0] if name == "t" else square(x)}
            )
            for name in record
        },
        "identify object": lambda x: lw.identify(arm, SimpleNamespace(**{**record, "q": square(x)})),
        "gains": lambda x: lw.identify(arm, record, gains=x),
        "gain": lambda x: lw.identify(arm, record, gains={"link1": x[0], "link2": 1.0, "link3": 1.0}),
        "measured": lambda x: lw.identification.measured_motion(arm, {**record, "q": square(x)}),
        "gain of a law": lambda x: lw.control.springs(x),
        "target": lambda x: lw.control.pd_gravity(x, 1, 1),
        "most": lambda x: lw.control.limited(lw.control.pd_gravity(q, 1, 1), most=x),
        "trajectory": lambda x: lw.trajectories.cubic(x, q, 1.0),
        "points": lambda x: lw.trajectories.spline([0.0, 1.0], [x, x]),
        "time": lambda x: lw.trajectories.quintic(q, q + 1.0, 1.0)(x[0]),
        "viscous": lambda x: lw.Friction(viscous=x),
        "numbers of a robot": arm.with_parameters,
        "limits": lambda x: lw.excitation(arm, limits={"position": x, "velocity": 2.0}, duration=2.0, starts=1),
        "nested": lambda x: run(q0=[[x[0], x[1], x[2]]]),
        "friction": lambda x: lw.Friction(viscous=0.1).torque(arm, x),
        "budget": lambda x: lw.budget(arm, np.ones((3, 3)), q, q, t=x),
        "parameter": lambda x: run(torque=lambda arm, t, q, qd, k: k * q, parameters={"k": x}),
    }

    def square(x: Any) -> Any:
        return (xp if library == "torch" else xp.numpy).stack([x] * 30)

    def refused(x: Any) -> Any:
        for name, call in calls.items():
            with pytest.raises(TypeError, match=r"gradient|JAX") as error:
                call(x)
            assert "expected" in str(error.value), name
        return x

    def roll(x: Any) -> None:
        with pytest.raises(TypeError, match=r"gradient|JAX"):
            lw.rollout(arm, q, steps=2, dt=0.01, torque=lambda arm, t, q, qd: x * q)

    if library == "torch":
        refused(xp.ones(3, requires_grad=True))
        roll(xp.ones(3, requires_grad=True))
    else:
        calls["check"] = lambda x: lw.inverse_dynamics(arm, x, q, q, check=True)
        xp.jit(refused)(xp.numpy.ones(3))
        xp.jit(roll)(xp.numpy.ones(3))


def test_rows_by_joint_are_refused_where_nobody_knows_the_joints() -> None:
    q = np.random.default_rng(4).normal(size=(3, 3))
    table = pandas.DataFrame(q, index=["link3", "link1", "link2"])  # as many joints as states
    calls: dict[str, Callable[[Any], Any]] = {
        "kernel": lw.compile(lw.gravity_torque, SMALL),
        "derivative": lw.derivative(lw.gravity_torque, SMALL, "q"),
        "packed": lw.derivatives.packed(lw.inertia_matrix, SMALL),
        "torque": lambda table: lw.rollout(SMALL, q, steps=3, dt=0.1, torque=table),
        "table": lambda table: lw.rollout(SMALL, q[0], steps=3, dt=0.1, table=table),
        "sweep": lambda table: lw.sweep(SMALL, {"q0": table}, "never", 0.1),
        "spline": lambda table: lw.trajectories.spline([0.0, 1.0, 2.0], table),
        "fourier": lambda table: lw.trajectories.fourier([0.0] * 3, table, q, 2.0),
        "marked": lw.per_trajectory,
        "program": lambda table: lw.graph.evaluate(lw.trace(lw.gravity_torque, SMALL), table),
    }
    for call in calls.values():
        with raises(TypeError, "names"):
            call(table)
    times = pandas.DataFrame(q, index=pandas.to_timedelta([0.0, 0.1, 0.2], unit="s"))
    assert np.array_equal(calls["kernel"](times), calls["kernel"](q))


@pytest.mark.parametrize("library", ["numpy", "torch", "jax"])
def test_rows_of_wrenches_are_links(library: str) -> None:
    """Their transpose would be of joints."""
    xp = pytest.importorskip({"jax": "jax.numpy"}.get(library, library))
    q, wrench = xp.zeros(3), np.zeros((3, 6))
    for given in (
        {"wrench": pandas.DataFrame(wrench, index=list(SMALL.names))},
        {"wrench": wrench, "point": pandas.DataFrame(wrench[:, :3], index=list(SMALL.names))},
    ):
        with raises(TypeError, "link1") as told:
            lw.inverse_dynamics(SMALL, q, q, q, **given)
        assert ".T" not in str(told.value)
    with raises(TypeError, "wrench", "mx"):
        lw.inverse_dynamics(SMALL, q, q, q, wrench=pandas.DataFrame(wrench, columns=["mx", *"abcde"]))
    with raises(TypeError, "wrench", "lw.per_trajectory", "parameters="):
        lw.inverse_dynamics(SMALL, q, q, q, wrench=lw.per_trajectory(wrench))


def test_programs_and_motions_refuse_names() -> None:
    q = pandas.Series([0.3, 0.1, 0.2], index=["link3", "link1", "link2"])
    with raises(TypeError, "q", "Series", "array"):
        lw.graph.evaluate(lw.trace(lw.gravity_torque, SMALL), q)
    for given in (q, collections.namedtuple("State", "link3 link1 link2")(0.3, 0.1, 0.2)):
        swing = lambda t: (given, np.zeros(3), np.zeros(3))  # noqa: E731, B023
        with raises(TypeError, "q of held", "link3"):
            lw.control.held(swing, 2.0)(1.0)
        with raises(TypeError, "q of the trajectory", "link3"):
            lw.control.computed_torque(swing, 1.0, 1.0)(SMALL, 0.0, np.zeros(3), np.zeros(3))


@pytest.mark.parametrize("name", ["q0", "gravity", "link2.com", "kp"])
def test_grids_refuse_names_as_draws_do(name: str) -> None:
    given = collections.namedtuple("Given", "link3 link1 link2")(0.3, 0.1, 0.2)
    for make in (
        lambda: lw.sweeps.grid(**{name: given}),
        lambda: lw.sweeps.monte_carlo(2, 1, **{name: (given, given)}),
    ):
        with raises(TypeError, "link3"):
            make()


def test_a_series_of_structs_is_matched_by_name() -> None:
    polars = pytest.importorskip("polars")
    table = polars.DataFrame({"link3": [0.1], "link1": [0.2], "link2": [0.3]})
    expected = lw.gravity_torque(SMALL, [[0.2, 0.3, 0.1]])
    assert np.array_equal(lw.gravity_torque(SMALL, table), expected)
    assert np.array_equal(lw.gravity_torque(SMALL, table.to_struct("state")), expected)
