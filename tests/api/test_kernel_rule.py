"""When the public functions run compiled, which changes nothing but speed; what `lw.compile` makes of functions."""

import inspect
import math
from typing import Any

import numpy as np
import pytest

import linkwise as lw
from effort import THOROUGH, rest_slow
from facts import raises
from functions import CALLS, ONE_METHOD, Call
from linkwise.kernels import dispatch as kernels
from linkwise.spatial import sign, sqrt
from processes import in_a_new_process
from robots import relative

pytest.importorskip("llvmlite")
PLANAR, CHAIN = lw.load("planar3"), lw.chain(4, seed=3, joints="RRPR")
SEEN: list[int] = []


def fresh(n: int = 2) -> lw.Robot:
    """A robot that no test has seen."""
    SEEN.append(0)
    return lw.chain(n, seed=1000 + len(SEEN))


def compiled(robot: lw.Robot) -> int:
    """How many kernels there are for a robot of these numbers."""
    return sum(key[0] == robot.fingerprint and made is not None for key, made in kernels.KERNELS.items())


def rounding(robot: lw.Robot, q: Any) -> float:
    return float(50 * np.linalg.cond(lw.inertia_matrix(robot, np.asarray(q, float))).max() * np.finfo(float).eps)


# the rule


def test_the_batch_of_256_compiles() -> None:
    with lw.use_kernels("auto"):
        arm = fresh()
        lw.gravity_torque(arm, np.ones((5, 51, 2)))
        assert compiled(arm) == 0
        lw.gravity_torque(arm, np.ones((16, 16, 2)))
        assert compiled(arm) == 1
        lw.gravity_torque(arm, np.ones((256, 2)))
        assert compiled(arm) == 1
        lw.gravity_torque(arm, np.ones((256, 2)), method="denoc")
        lw.gravity_torque(arm, np.ones((256, 2), np.float32))
        assert compiled(arm) == 3


def test_always_and_never() -> None:
    arm = fresh()
    with lw.use_kernels("never"):
        lw.gravity_torque(arm, np.ones((1000, 2)))
        assert compiled(arm) == 0
        with lw.use_kernels("always"):
            tau = lw.gravity_torque(arm, np.ones(2))
            assert compiled(arm) == 1
        assert relative(lw.gravity_torque(arm, np.ones(2)), tau) < 1e-14
    with raises(ValueError, "mode", "sometimes"):
        lw.use_kernels("sometimes")


def test_a_block_that_fails_gives_the_mode_back() -> None:
    before = kernels.MODE.get()
    with pytest.raises(KeyError), lw.use_kernels("always"):
        raise KeyError
    assert before == kernels.MODE.get()


def test_equal_robots_share_kernels() -> None:
    arm = fresh()
    twin = lw.Robot.from_frames(arm.rows, name="twin") if arm.convention == "frames" else None
    twin = twin or lw.Robot.from_dh(arm.rows, convention=arm.convention, gravity=arm.gravity, name="twin")
    assert twin == arm
    with lw.use_kernels("always"):
        one, other = (lw.gravity_torque(robot, np.ones(2)) for robot in (arm, twin))
    assert np.array_equal(one, other)
    assert compiled(arm) == 1


@pytest.mark.parametrize("call", rest_slow(CALLS, ONE_METHOD[::6]), ids=str)
def test_compiling_changes_neither_results_nor_their_kind(call: Call) -> None:
    rng = np.random.default_rng(0)
    kinds = [((), "float64"), ((3,), "float64"), ((2, 0), "float64"), ((2, 2), "float32")]
    for batch, kind in kinds[: 3 if call.keywords else 4]:
        given = [rng.normal(size=(*batch, PLANAR.n)).astype(kind) for _ in call.arguments]
        plain = call(PLANAR, *given)
        exact = call(PLANAR, *(a.astype(float) for a in given))
        with lw.use_kernels("always"):
            for _ in range(2):  # the second time by the direct way in
                for found, part, best in zip(call(PLANAR, *given), plain, exact, strict=True):
                    assert type(found) is type(part)
                    assert found.dtype == part.dtype
                    assert found.shape == part.shape
                    assert relative(found, best) < rounding(PLANAR, np.ones(3)) * (1 if kind == "float64" else 5e8)
            if batch == ():
                lists = call(PLANAR, *(a.tolist() for a in given))
                assert all(np.array_equal(a, b) for a, b in zip(lists, call(PLANAR, *given), strict=True))


def test_options_run_compiled_as_well() -> None:
    rows = [{**row, "viscous_friction": 0.3, "coulomb_friction": 0.2, "rotor_inertia": 0.01} for row in PLANAR.rows]
    arm = lw.Robot.from_dh(rows, convention="standard", name="rubbing")
    rng = np.random.default_rng(1)
    q, qd, x = rng.normal(size=(3, 5, 3))
    tip, each = rng.normal(size=(5, 6)), rng.normal(size=(5, 3, 6))
    runs = [
        lambda: lw.inverse_dynamics(arm, q, qd, x, friction=True),
        lambda: lw.inverse_dynamics(arm, q, qd, x, tip),
        lambda: lw.inverse_dynamics(arm, q, qd, x, tip[0]),
        lambda: lw.inverse_dynamics(arm, q, qd, x, each),
        lambda: lw.inverse_dynamics(arm, q[0], qd[0], x[0], each[0]),
        lambda: lw.inverse_dynamics(arm, q[0], qd[0], x[0], tip[0], friction=True),
        lambda: lw.forward_dynamics(arm, q, qd, x, friction=True),
        lambda: lw.forward_dynamics(arm, q, qd, x, each, friction=True),
        lambda: lw.forward_dynamics(arm, q, np.zeros(3), x, friction=True),
        lambda: lw.bias_torque(arm, q, qd, tip, check=True),
        lambda: lw.joint_wrenches(arm, q, qd, x, each, axes="frame"),
        lambda: lw.inverse_dynamics(arm, q, qd, x, base=lw.BaseMotion(acceleration=(1, 2, 3))),
        lambda: lw.poses(arm, q, frames=["link2"]),
        lambda: lw.jacobian(arm, q, link="link2", point=(0.1, 0.2, 0.3)),
        lambda: lw.jacobian(arm, q, link=0, point="com"),
    ]
    for run in runs:
        plain = run()
        with lw.use_kernels("always"):
            assert relative(run(), plain) < 1e-12
            assert relative(run(), plain) < 1e-12


def test_wrong_arguments_are_refused_in_the_same_words_when_compiled() -> None:
    arm, good = fresh(), np.ones(2)
    bad = [np.ones(3), np.ones(2, complex), "text", None, np.array([np.nan, "x"], object), np.ones((2, 2, 1))]
    for value in bad:
        said = []
        for mode in ("never", "always"):
            with lw.use_kernels(mode):
                if mode == "always":
                    lw.inverse_dynamics(arm, good, good, good)
                with pytest.raises((TypeError, ValueError)) as caught:
                    lw.inverse_dynamics(arm, good, value, good)
            said.append((caught.type, str(caught.value)))
        assert said[0] == said[1]
    with lw.use_kernels("always"):
        with raises(ValueError, "qd[1]", "inf"):
            lw.inverse_dynamics(arm, good, [1, np.inf], good, check=True)
        with pytest.raises(TypeError, match="qdd"):
            lw.inverse_dynamics(arm, good, good)
        with pytest.raises(TypeError):
            lw.inverse_dynamics(arm, good, good, good, None, good)


def test_other_numbers_and_symbols_run_plain() -> None:
    arm = fresh()
    with lw.use_kernels("always"):
        wide = lw.gravity_torque(arm, np.ones(2, np.longdouble))
        assert wide.dtype == np.longdouble
        lw.count(lw.gravity_torque, arm)
        assert compiled(arm) == 0


def test_the_environment_says_the_mode() -> None:
    text = """
    import numpy as np, linkwise as lw
    from linkwise.kernels import dispatch as kernels
    lw.gravity_torque(lw.load("planar3"), np.ones((300, 3)))
    lw.gravity_torque(lw.load("gantry"), np.ones(3))
    print(len(kernels.KERNELS))
    """
    for mode, made in (("auto", "1"), ("always", "2"), ("never", "0")) if THOROUGH else (("always", "2"),):
        assert in_a_new_process(text, LINKWISE_KERNELS=mode).strip() == made
    text = """
    try:
        from linkwise import inverse_dynamics
    except ValueError as error:
        print(error)
    """
    assert "LINKWISE_KERNELS is 'yes'" in in_a_new_process(text, LINKWISE_KERNELS="yes")


def test_without_llvm_the_plain_text_runs_with_one_warning() -> None:
    text = """
    import sys, warnings
    sys.modules["llvmlite"] = None
    import numpy as np, linkwise as lw
    arm = lw.load("planar3")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for robot in (arm, lw.load("stanford")):
            q = np.ones((300, robot.n))
            for _ in range(3):
                found = lw.gravity_torque(robot, q), lw.inverse_dynamics(robot, q, q, q)
        for _ in range(40):
            lw.gravity_torque(arm, np.ones(3))
    assert [w.category for w in caught] == [RuntimeWarning], caught
    assert "llvmlite" in str(caught[0].message)
    with lw.use_kernels("never"):
        assert np.array_equal(found[0], lw.gravity_torque(robot, q))
    try:
        lw.compile(lw.gravity_torque, arm)
    except ImportError as error:
        print("llvmlite" in str(error))
    """
    assert "True" in in_a_new_process(text)


# lw.compile


def test_what_a_kernel_tells_of_itself() -> None:
    made = lw.compile(lw.inverse_dynamics, PLANAR)
    assert isinstance(made, lw.results.Compiled)
    assert made.robot is PLANAR
    assert made.method == "fewest"
    assert made.count == lw.count(lw.inverse_dynamics, PLANAR, method=made.method)
    assert lw.compile(lw.inverse_dynamics, PLANAR, form="loops", method="newton-euler").method == "newton-euler"
    assert lw.compile(lw.kinetic_energy, PLANAR).method is None
    assert 0.0 < made.compile_seconds < 60.0
    assert "@block_1(" in made.ir
    assert "void inverse_dynamics(const double q[3]" in made.source
    assert repr(made).startswith("<Kernel inverse_dynamics(q, qd, qdd) of robot 'planar3': float64, ")
    assert "float q[3]" in lw.compile(lw.inverse_dynamics, PLANAR, dtype="float32").source


def test_wrong_words_are_refused() -> None:
    for options, said in (
        ({"dtype": "float16"}, "dtype is 'float16'"),
        ({"dtype": np.float32}, "dtype is <class 'numpy.float32'>"),
        ({"target": "abacus"}, "target is 'abacus'"),
        ({"method": "nonsense"}, "method is 'nonsense'"),
        ({"passes": ("nonsense",)}, "pass 'nonsense' is not known"),
    ):
        with pytest.raises(ValueError, match=said):
            lw.compile(lw.gravity_torque, PLANAR, **options)
    with pytest.raises(TypeError, match="nonsense"):
        lw.compile(lw.gravity_torque, PLANAR, nonsense=3)


def computed_torque(arm: lw.Robot, q: Any, qd: Any, wanted: Any, kp: Any, kd: Any) -> Any:
    acceleration = kp * (wanted[0] - q) + kd * (wanted[1] - qd) + wanted[2]
    return lw.inertia_matrix(arm, q) @ acceleration + lw.bias_torque(arm, q, qd)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_controller_of_ones_own(dtype: str) -> None:
    shapes = {"wanted": lw.Input(3, 4), "kp": lw.Input(), "kd": lw.Input(4)}
    made = lw.compile(computed_torque, CHAIN, dtype=dtype, **shapes)
    rng = np.random.default_rng(3)
    q, qd = rng.normal(size=(2, 21, 4)).astype(dtype)
    wanted, kp, kd = (rng.uniform(1, 2, (21, *s)).astype(dtype) for s in ((3, 4), (), (4,)))
    found = made(q, qd, wanted, kp, kd)
    plain = [computed_torque(CHAIN, *(np.float64(a[i]) for a in (q, qd, wanted, kp, kd))) for i in range(21)]
    assert relative(found, plain) < 100 * np.finfo(dtype).eps
    assert np.array_equal(made(q[3], qd[3], wanted[3], kp[3], kd[3]), found[3])
    shared = made(q, qd, wanted[0], 2.0, kd[0])
    assert np.array_equal(shared[5], made(q[5], qd[5], wanted[0], np.asarray(2.0, dtype), kd[0]))
    with raises(ValueError, "wanted", "(21, 4)", "(..., 3, 4)"):
        made(q, qd, q, kp, kd)
    constant = lw.compile(computed_torque, CHAIN, dtype=dtype, wanted=np.ones((3, 4)), kp=2.0, kd=3.0)
    assert [a.name for a in constant.interface.inputs] == ["q", "qd"]
    assert relative(constant(q, qd)[4], computed_torque(CHAIN, q[4], qd[4], np.ones((3, 4)), 2.0, 3.0)) < 1e-5


@pytest.mark.parametrize("size", [1, 8, 17])
def test_signs_and_roots(size: int) -> None:
    made = lw.compile(lambda arm, q: np.array([sign(q[0]), sqrt(q[1]), 1.0 / q[2]], dtype=object), PLANAR)
    q = np.resize([[-2.0, 4.0, 8.0], [0.0, 2.0, -1.0], [3.0, 0.0, 1e-300], [-0.0, 1e-320, 3.0]], (size, 3))
    with np.errstate(all="ignore"):
        assert np.array_equal(made(q), np.stack([np.sign(q[:, 0]), np.sqrt(q[:, 1]), 1 / q[:, 2]], -1))
    assert np.isnan(made([1.0, -1.0, 1.0])[1])
    assert math.isinf(made([1.0, 1.0, 0.0])[2])


def test_results_that_are_inputs_constants_or_nothing() -> None:
    q, qd = np.random.default_rng(4).normal(size=(2, 19, 3))
    for function, expected in (
        (lambda arm, q, qd: q, q),
        (lambda arm, q, qd: qd[::-1], qd[:, ::-1]),
        (lambda arm, q, qd: np.arange(5), np.tile(np.arange(5.0), (19, 1))),
        (lambda arm, q, qd: q[:0], np.empty((19, 0))),
        (lambda arm, q, qd: 3, np.full(19, 3.0)),
        (lambda arm, q, qd: q[1], q[:, 1]),
        (lambda arm, q, qd: -q, -q),
        (lambda arm, q, qd: np.outer(q, qd), q[:, :, None] * qd[:, None, :]),
    ):
        made = lw.compile(function, PLANAR)
        assert np.array_equal(made(q, qd), expected)
        assert np.array_equal(made(q[7], qd[7]), expected[7])
        assert made(q[:0], qd[:0]).shape == (0, *expected.shape[1:])
    several = lw.compile(lambda arm, q: (q, q[0] * 2.0, np.eye(2)), PLANAR)
    one, two, three = several(q)
    assert np.array_equal(one, q)
    assert np.array_equal(two, 2 * q[:, 0])
    assert np.array_equal(three, np.tile(np.eye(2), (19, 1, 1)))
    assert [np.shape(x) for x in several(q[0])] == [(3,), (), (2, 2)]


def test_functions_without_inputs_and_with_empty_ones() -> None:
    assert np.array_equal(lw.compile(lambda arm: np.arange(3.0), PLANAR)(), [0.0, 1.0, 2.0])
    made = lw.compile(lambda arm, nothing: np.ones(2), PLANAR, nothing=lw.Input(0))
    assert np.array_equal(made(np.ones((4, 0))), np.ones((4, 2)))
    assert np.array_equal(made(np.ones(0)), np.ones(2))


def test_numbers_alone_as_inputs() -> None:
    made = lw.compile(lambda arm, a, b: np.array([a * b, a + b], dtype=object), PLANAR, a=lw.Input(1), b=lw.Input(1))
    assert np.array_equal(made([2.0], [3.0]).ravel(), [6.0, 5.0])
    product = lw.compile(lambda arm, a, b: a * b, PLANAR, a=lw.Input(), b=lw.Input())
    assert product(2.0, 3.0) == 6.0
    assert np.array_equal(product(np.arange(4.0), 3.0), 3 * np.arange(4.0))
    assert np.array_equal(product(np.ones((2, 1)), np.arange(3.0)), np.ones((2, 1)) * np.arange(3.0))


def test_a_derivative_inside_a_function() -> None:
    slope = lw.derivative(lw.inverse_dynamics, PLANAR, "q")
    made = lw.compile(lambda arm, q, qd, qdd: slope(q, qd, qdd), PLANAR)
    given = np.random.default_rng(5).normal(size=(3, 11, 3))
    assert made(*given).shape == (11, 3, 3)
    assert relative(made(*given), slope(*given)) < 1e-14


def test_symbols_of_a_robot_are_inputs_after_the_others() -> None:
    mass, length = lw.symbols("mass length")
    rows = PLANAR.rows
    rows[-1] |= {"mass": mass, "a": length}
    made = lw.compile(lw.inverse_dynamics, lw.Robot.from_dh(rows, convention="standard"))
    assert [a.name for a in made.interface.inputs] == ["q", "qd", "qdd", "length", "mass"]
    given = np.random.default_rng(6).normal(size=(3, 9, 3))
    for heavy, long in ((1.0, 0.5), (2.0, 0.1)):
        rows[-1] |= {"mass": heavy, "a": long}
        numbers = lw.Robot.from_dh(rows, convention="standard")
        assert relative(made(*given, mass=heavy, length=long), lw.inverse_dynamics(numbers, *given)) < 1e-13
    with raises(TypeError, "inverse_dynamics", "length, mass"):
        made(*given)


def test_words_of_the_wrapper_are_no_words_of_the_function():
    arm, q = lw.load("planar3"), np.zeros(3)
    for wrong in ({"a": q}, {"b": q}, {"c": q}):
        with pytest.raises(TypeError, match="unexpected keyword argument"):
            lw.gravity_torque(arm, **wrong)
    assert np.array_equal(lw.gravity_torque(robot=arm, q=q), lw.gravity_torque(arm, q))


def test_strangers_are_refused_before_anything_else():
    with raises(TypeError, "first", "'a'", "linkwise.inverse_dynamics"):
        lw.compile("a", lw.load("planar3"))
    with raises(TypeError, "second", "'stanford'", "linkwise.load('stanford')"):
        lw.compile(lw.gravity_torque, "stanford")


def test_derivatives_and_moving_bases_compile():
    arm = lw.load("planar3")
    q, qd, qdd = np.random.default_rng(0).normal(size=(3, 4, 3))
    derivative = lw.derivative(lw.gravity_torque, arm, wrt="q")
    kernel = lw.compile(lambda arm, q: derivative(q), arm)
    assert np.allclose(kernel(q), [derivative(x) for x in q], rtol=1e-12, atol=1e-12)
    moving = lw.BaseMotion(angular_velocity=(0.1, 0.2, 0.3))
    found = lw.compile(lw.inverse_dynamics, arm, base=moving)(q, qd, qdd)
    assert np.allclose(found, lw.inverse_dynamics(arm, q, qd, qdd, base=moving), rtol=1e-12, atol=1e-12)


def test_a_symbolic_robot_says_which_joint_nothing_resists():
    m = lw.symbols("m")
    rows = lw.load("planar3").rows
    rows[-1] |= {"mass": m, "inertia": [[0, 0, 0], [0, 0, 0], [0, 0, 0]]}
    arm = lw.Robot.from_dh(rows, convention="standard")
    kernel = lw.compile(lw.forward_dynamics, arm)
    still = np.zeros(3)
    assert np.isfinite(kernel(still, still, still, 2.0)).all()
    with raises(lw.errors.SingularError, "link3"):
        kernel(still, still, still, 0.0)


DIRECT = [
    lw.inverse_dynamics, lw.forward_dynamics, lw.inertia_matrix, lw.bias_torque, lw.gravity_torque,
    lw.coriolis_matrix, lw.inverse_inertia_matrix,
]  # fmt: skip


def said_by(function: Any, /, *arguments: Any, **options: Any) -> tuple[type, str]:
    with pytest.raises(Exception) as caught:  # noqa: PT011  the same as of the other, whatever it is
        function(*arguments, **options)
    return caught.type, str(caught.value)


@pytest.mark.parametrize("function", DIRECT, ids=lambda f: f.__name__)
def test_functions_that_are_entered_directly_are_as_they_are_written(function: Any) -> None:
    plain, q = function.__wrapped__, np.ones(3)
    assert inspect.signature(function) == inspect.signature(plain)
    for name in ("__name__", "__doc__", "__module__"):
        assert getattr(function, name) == getattr(plain, name)
    names = [p.name for p in inspect.signature(plain).parameters.values() if p.default is p.empty]
    full = [PLANAR, *[q] * (len(names) - 1)]
    most = len(names) + ("wrench" in inspect.signature(plain).parameters)
    wrong: list[tuple[list[Any], dict[str, Any]]] = [
        *((full[:k], {}) for k in range(len(full))),
        *((full[:k], dict.fromkeys(names[k + 1 :], q)) for k in range(1, len(full))),
        ([*full, *[None] * (most - len(full)), q], {}),
        ([*full, *[None] * (most - len(full)), q, q], {}),
        (full, {"q": q}),
        (full, {"nonsense": 1}),
        (full, {"name": 1, "function": 2}),
        (["stanford", *full[1:]], {}),
        ([None, *full[1:]], {}),
        ([PLANAR, np.ones(2), *full[2:]], {}),
    ]
    for arguments, options in wrong:
        assert said_by(function, *arguments, **options) == said_by(plain, *arguments, **options)
    expected = plain(*full)
    for mode in ("never", "always"):
        with lw.use_kernels(mode):
            for k in range(len(full) + 1):
                found = function(*full[:k], **dict(zip(names[k:], full[k:], strict=True)))
                assert relative(found, expected) < 1e-13
            assert relative(function(*full, check=True), expected) < 1e-13


@pytest.mark.parametrize("function", [lw.forward_dynamics, lw.inertia_matrix], ids=lambda f: f.__name__)
def test_defaults_that_are_passed_and_the_order_of_keywords_keep_the_fast_path(function: Any) -> None:
    arm, name = lw.chain(3, seed=3), function.__name__
    names = [p.name for p in inspect.signature(function).parameters.values() if p.default is p.empty][1:]
    arrays, calls = {name: np.full(3, float(k)) for k, name in enumerate(names)}, []
    arm.entries[name] = lambda *passed: calls.append(passed)
    options = {"method": None, "check": False} | ({"wrench": None, "friction": False} if len(names) > 1 else {})
    positional = list(arrays.values())
    with lw.use_kernels("auto"):
        function(arm, *positional)
        function(arm, *positional, **options)
        function(arm, **arrays)
        function(arm, **dict(reversed(arrays.items())), **options)
        function(q=arrays["q"], robot=arm, **{name: array for name, array in arrays.items() if name != "q"})
        if len(names) > 1:
            function(arm, *positional, None)
            function(arm, *positional[:2], tau=positional[2])
    assert len(calls) == (7 if len(names) > 1 else 5)
    assert all(all(a is b for a, b in zip(passed, positional, strict=True)) for passed in calls)
    with lw.use_kernels("auto"), pytest.raises(TypeError, match=r"missing|multiple values|unexpected|takes"):
        function(arm, *positional, None, None)
    assert len(calls) == (7 if len(names) > 1 else 5)
