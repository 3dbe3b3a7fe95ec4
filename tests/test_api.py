"""The public functions at their api: shapes, dtypes, batches, bad numbers, wrenches and wrong words."""

import inspect
import re
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from itertools import product
from types import SimpleNamespace
from typing import Any, NamedTuple

import mpmath
import numpy as np
import pytest

import linkwise as lw
from effort import THOROUGH, in_turn, rest_slow
from functions import NAMES
from linkwise.api import singular
from linkwise.api.method_table import METHODS
from robots import relative

NAN, INF = float("nan"), float("inf")
ARM = lw.load("stanford")  # q[0] turns the whole arm about the vertical: most results do not depend on it
SHORT = lw.chain(3, seed=4, joints="RRP")
TREE = lw.random_tree(5, seed=11)  # three tips
GANTRY = lw.load("gantry")  # nothing depends on q but poses and energy
ROBOTS = [ARM, TREE, GANTRY]


class Call(NamedTuple):
    """A public function, one of its methods, and the names of the arrays that it must be given."""

    function: Callable[..., Any]
    keywords: dict[str, str]
    arguments: list[str]
    wrench: bool

    def __call__(self, robot: lw.Robot, *arrays: Any, **keywords: Any) -> list[Any]:
        """Its results, always in a list."""
        result = self.function(robot, *arrays, **self.keywords, **keywords)
        return list(result) if isinstance(result, tuple) else [result]

    def __str__(self) -> str:
        return "-".join([self.function.__qualname__, *self.keywords.values()])


NO_DYNAMICS = ("compile", "ptx_source", "wasm", "wasm_interface", "wasm_robot", "random_configuration")


def public_functions() -> list[Callable[..., Any]]:
    """Those of the api, and the operations of both sets of quasi-coordinates."""
    members = [getattr(lw, name) for name in NAMES if name not in NO_DYNAMICS]
    found = [member for member in members if inspect.isfunction(member)]
    for quasi in (lw.normalized, lw.unnormalized):
        found += [getattr(quasi, name) for name in dir(quasi) if not name.startswith("_")]
    return found


ELSEWHERE = (  # tested in test_momentum, on other robots, in test_configurations and in test_linear_models
    *(lw.base_wrench, lw.floating_dynamics, lw.generalized_jacobian),
    *(lw.convert_force, lw.convert_state, lw.random_configuration),
    lw.equilibrium,
)


def calls() -> list[Call]:
    """Every public function that takes states of any robot, with each of its methods."""
    found = []
    for function in public_functions():
        if function in ELSEWHERE:
            continue
        parameters = list(inspect.signature(function).parameters.values())[1:]
        arguments = [p.name for p in parameters if p.default is p.empty]
        wrench = any(p.name == "wrench" and p.kind is not p.KEYWORD_ONLY for p in parameters)
        if arguments:
            choices = [{"method": m} for m in lw.methods(function)] if "method" in str(parameters) else [{}]
            found += [Call(function, choice, arguments, wrench) for choice in choices]
    return found


CALLS = calls()
WITH_WRENCH = [call for call in CALLS if call.wrench]
ONE_METHOD = list({call.function: call for call in reversed(CALLS)}.values())[::-1]  # the rules in front of all methods
LONG = (lw.inverse_dynamics_second_derivatives, lw.forward_dynamics_second_derivatives)  # which take long in Python
SHORT_ONES = [call for call in ONE_METHOD if THOROUGH or call.function not in LONG]
every_function = in_turn(SHORT_ONES)
every_method_on_robots = pytest.mark.parametrize(
    ("call", "robot"),
    rest_slow([*product(CALLS, [SHORT]), *product(ONE_METHOD, [GANTRY, TREE])], [*product(ONE_METHOD, [SHORT])]),
    ids=lambda value: value.name if isinstance(value, lw.Robot) else str(value),
)
every_wrench = pytest.mark.parametrize("call", [call for call in ONE_METHOD if call.wrench], ids=str)
every_robot = pytest.mark.parametrize("robot", ROBOTS, ids=lambda robot: robot.name)


def arrays(call: Call, robot: lw.Robot, *batch: int, seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(*batch, robot.n)) for _ in call.arguments]


def same_bits(one: Any, other: Any) -> bool:
    one, other = np.asarray(one), np.asarray(other)
    return one.dtype == other.dtype and one.shape == other.shape and np.array_equal(one, other, equal_nan=True)


def test_every_public_function_is_here():
    assert {call.function.__name__ for call in CALLS} >= {"inverse_dynamics", "forward_dynamics", "udu", "poses"}
    assert len(WITH_WRENCH) >= 3
    for call in CALLS:
        home = getattr(call.function, "__self__", lw)
        assert getattr(home, call.function.__name__) == call.function
        assert "check" in inspect.signature(call.function).parameters


# shapes


@every_function
def test_a_wrong_shape_is_refused_by_argument_with_what_was_expected(call):
    for (k, name), shape in product(enumerate(call.arguments), [(), (0,), (5,), (7,), (6, 1), (3, 5)]):
        given = arrays(call, ARM)
        given[k] = np.zeros(shape)
        with pytest.raises(ValueError, match=rf"^{name} has shape {re.escape(str(shape))}") as caught:
            call(ARM, *given)
        assert re.search(r"expected \(\.\.\., 6\): .*each joint of robot 'stanford': link1, .*link6", str(caught.value))


@every_method_on_robots
def test_a_batch_is_the_loop_over_its_states_to_the_last_bit(call, robot):
    batch = (2, 1, 2)
    given = arrays(call, robot, *batch)
    together = call(robot, *given)
    for index in np.ndindex(*batch):
        alone = call(robot, *(a[index] for a in given))
        assert all(same_bits(part[index], one) for part, one in zip(together, alone, strict=True))
    empty = call(robot, *arrays(call, robot, 2, 0, 4))
    assert [part.shape for part in empty] == [(2, 0, 4, *one.shape) for one in alone]


MANY = [call for call in SHORT_ONES if len(call.arguments) > 1]


@in_turn(MANY)
def test_batches_broadcast_like_numpy(call):
    batches = [(), (4,), (3, 1), (2, 1, 4)][: len(call.arguments)]
    whole = np.broadcast_shapes(*batches)
    rng = np.random.default_rng(1)
    given = [rng.normal(size=(*batch, ARM.n)) for batch in batches]
    full = [np.broadcast_to(a, (*whole, ARM.n)) for a in given]
    for order in (slice(None), slice(None, None, -1)):
        assert all(map(same_bits, call(ARM, *given[order]), call(ARM, *full[order])))


@in_turn(MANY)
def test_batches_that_do_not_broadcast_are_refused_with_every_shape(call):
    given = arrays(call, ARM, 2)
    given[-1] = np.zeros((3, ARM.n))
    said = ", ".join(f"{name} (2,)" for name in call.arguments[:-1]) + f", {call.arguments[-1]} (3,)"
    with pytest.raises(ValueError, match=rf"do not fit together: {re.escape(said)} .*broadcast"):
        call(ARM, *given)


# kinds of numbers


NO_NUMBERS = [
    (np.ones(6, dtype=bool), "has dtype bool"),
    (np.ones(6, dtype=complex), "has dtype complex128 .*linkwise.dynamics"),
    (np.ones(6, dtype=np.float16), "has dtype float16"),
    (["1", "2", "3", "4", "5", "6"], "has dtype <U1"),
    (np.ones(6, dtype="m8[s]"), "has dtype timedelta64"),
    ([None] * 6, "holds None"),
    (None, "holds None"),
    ({"joint": 1.0}, "holds {'joint': 1.0}"),
    (np.array([1.0, "x", 0, 0, 0, 0], dtype=object), "holds 'x'"),
    (np.array([1.0, True, 0, 0, 0, 0], dtype=object), "holds True"),
    (np.ma.array(np.ones(6), mask=[0, 1, 0, 0, 0, 0]), "has masked elements .*filled"),
    ([[1.0] * 6, [1.0] * 5], "has rows of different lengths .*rectangular"),
]


@every_function
def test_what_is_no_array_of_real_numbers_is_refused_by_argument(call):
    for (k, name), (value, said) in product(enumerate(call.arguments), NO_NUMBERS):
        given = arrays(call, ARM)
        given[k] = value
        with pytest.raises(TypeError, match=rf"^{name} {said}") as caught:
            call(ARM, *given)
        assert "expected real numbers: float32, float64 or integers" in str(caught.value)


@every_method_on_robots
def test_float32_gives_float32(call, robot):
    for batch in ((), (3,)):
        short = [a.astype(np.float32) for a in arrays(call, robot, *batch)]
        wide = call(robot, *(a.astype(np.float64) for a in short))
        for part, exact in zip(call(robot, *short), wide, strict=True):
            assert part.dtype == np.float32
            assert relative(part, exact) < 2e-4


@every_function
def test_one_float64_gives_float64(call):
    precise = arrays(call, GANTRY)
    for k in range(len(precise)):
        mixed = call(GANTRY, *(a if i == k else a.astype(np.float32) for i, a in enumerate(precise)))
        assert {part.dtype for part in mixed} == {np.dtype(np.float64)}


@every_function
def test_integers_and_lists_are_the_floats_they_spell(call):
    whole = np.arange(-1, 2)
    expected = call(SHORT, *(np.roll(whole, k).astype(float) for k in range(len(call.arguments))))
    for form in (np.int64, np.int8, np.float64, list, tuple):
        dress = form if form in (list, tuple) else lambda a, form=form: a.astype(form)
        given = [dress(np.roll(whole, k)) for k in range(len(call.arguments))]
        assert all(map(same_bits, call(SHORT, *given), expected))
    nested = [[np.roll(whole, k).tolist()] * 2 for k in range(len(call.arguments))]
    assert all(same_bits(part[1], one) for part, one in zip(call(SHORT, *nested), expected, strict=True))


LAYOUTS = {
    "Fortran": np.asfortranarray,
    "strided": lambda a: np.repeat(a, 2, axis=-1)[..., ::2],
    "backward": lambda a: np.flip(np.flip(a, -1).copy(), -1),
    "transposed": lambda a: np.moveaxis(np.moveaxis(a, -1, 0).copy(), 0, -1),
    "other endian": lambda a: a.astype(a.dtype.newbyteorder()),
}


@every_function
def test_the_layout_of_an_array_in_memory_does_not_matter(call):
    given = arrays(call, SHORT, 4, 3)
    expected = call(SHORT, *given)
    for name, layout in LAYOUTS.items():
        laid = [layout(a) for a in given]
        assert all(np.array_equal(a, b) for a, b in zip(given, laid, strict=True))
        assert all(map(same_bits, call(SHORT, *laid), expected)), name


@every_method_on_robots
def test_inputs_are_neither_changed_nor_part_of_the_result(call, robot):
    given = arrays(call, robot, 3)
    before = [a.copy() for a in given]
    for a in given:
        a.flags.writeable = False
    results = call(robot, *given)
    assert all(map(same_bits, given, before))
    for part in results:
        assert part.flags.writeable
        assert not any(np.shares_memory(part, a) for a in given)


# numbers that are not finite


@every_method_on_robots
def test_a_bad_number_blanks_its_own_state_and_no_other(call, robot):
    """Each state but the even ones has one bad number, every time in another argument or joint."""
    given = arrays(call, robot, 2 * len(call.arguments) * robot.n + 1)
    clean = call(robot, *given)
    for i, (k, joint) in enumerate(product(range(len(given)), range(robot.n))):
        given[k][2 * i + 1, joint] = (NAN, INF, -INF)[(k + joint) % 3]
    for part, good in zip(call(robot, *given), clean, strict=True):
        assert np.isnan(part[1::2]).all()
        assert same_bits(part[::2], good[::2])
    assert all(np.isnan(part).all() for part in call(robot, *(a[1] for a in given)))
    assert all(np.isnan(part).all() for part in call(robot, *(a[-2] for a in given)))


@in_turn(MANY)
def test_a_bad_number_that_all_states_share_blanks_them_all(call):
    for k in range(len(call.arguments)):
        given = arrays(call, ARM, 3)
        given[k] = given[k][0].copy()
        given[k][0] = NAN
        assert all(np.isnan(part).all() for part in call(ARM, *given))


@every_function
def test_check_names_argument_index_and_joint(call):
    given = arrays(call, ARM, 2, 3)
    assert all(map(same_bits, call(ARM, *given, check=True), call(ARM, *given)))
    for k, name in enumerate(call.arguments):
        given = arrays(call, ARM, 2, 3)
        given[k][1, 2, 4] = INF
        with pytest.raises(ValueError, match=rf"^{name}\[1, 2, 4\], joint 'link5' is inf: expected finite numbers$"):
            call(ARM, *given, check=True)
        given[k][1, 0, 3] = NAN
        with pytest.raises(ValueError, match=rf"^{name}\[1, 0, 3\], joint 'link4' is nan: .*\(and 1 more\)"):
            call(ARM, *given, check=True)
        single = arrays(call, ARM)
        single[k][0] = NAN
        with pytest.raises(ValueError, match=rf"^{name}\[0\], joint 'link1' is nan"):
            call(ARM, *single, check=True)


def test_check_works_on_tensors_that_carry_gradients():
    torch = pytest.importorskip("torch")
    q = torch.tensor([0.1, 0.2, NAN], dtype=torch.float64, requires_grad=True)
    with pytest.raises(ValueError, match=r"^q\[2\], joint 'hoist' is nan: "):
        lw.potential_energy(GANTRY, q, check=True)


# external wrenches


def effect(robot: lw.Robot, q: np.ndarray, wrench: np.ndarray) -> np.ndarray:
    """The joint torques that wrenches (..., n, 6) at the centres of mass amount to, by virtual work."""
    columns = [lw.jacobian(robot, q, link=i, point="com") for i in range(robot.n)]
    return sum(np.einsum("...ij,...i->...j", J, wrench[..., i, :]) for i, J in enumerate(columns))


def by_torque(call: Call, robot: lw.Robot, given: list[np.ndarray], torque: np.ndarray) -> list[np.ndarray]:
    """What the function gives without a wrench, plus what the torque of the wrench does to it."""
    if call.function is lw.forward_dynamics:
        q, qd, tau = given
        return call(robot, q, qd, tau + torque)
    return [part - torque for part in call(robot, *given)]


BY_WORK = [c for c in WITH_WRENCH if c.function in (lw.inverse_dynamics, lw.forward_dynamics, lw.bias_torque)]


@pytest.mark.parametrize("call", BY_WORK, ids=str)
@pytest.mark.parametrize(
    ("robot", "batch"),
    rest_slow([(ARM, (2, 3)), (TREE, ()), (GANTRY, (4,))], [(TREE, ())]),
    ids=["chain", "tree", "gantry"],
)
def test_a_wrench_on_every_link_does_what_its_virtual_work_says(call, robot, batch):
    given = arrays(call, robot, *batch)
    wrench = np.random.default_rng(5).normal(size=(*batch, robot.n, 6))
    expected = by_torque(call, robot, given, effect(robot, given[0], wrench))
    for part, other in zip(call(robot, *given, wrench=wrench), expected, strict=True):
        assert relative(part, other) < 1e-10


@pytest.mark.parametrize("call", rest_slow(WITH_WRENCH, WITH_WRENCH[::3]), ids=str)
@pytest.mark.parametrize(
    ("robot", "batch"), rest_slow([(ARM, (2, 3)), (GANTRY, ())], [(ARM, (2, 3))]), ids=["chain", "gantry"]
)
def test_a_wrench_without_links_acts_on_the_tip(call, robot, batch):
    given = arrays(call, robot, *batch)
    rng = np.random.default_rng(6)
    shapes = {(6,), (*batch, 6), (*(1 for _ in batch), 6)}
    for shape in shapes:
        tip = rng.normal(size=shape)
        every = np.zeros((*batch, robot.n, 6))
        every[..., -1, :] = tip
        for part, other in zip(call(robot, *given, tip), call(robot, *given, every), strict=True):
            assert relative(part, other) < 1e-13


@every_wrench
def test_as_many_tip_wrenches_as_links_are_taken_state_by_state(call):
    given = arrays(call, ARM, ARM.n)
    tips = np.random.default_rng(7).normal(size=(ARM.n, 6))
    together = call(ARM, *given, tips)
    for k in range(ARM.n):
        alone = call(ARM, *(a[k] for a in given), tips[k])
        assert all(same_bits(part[k], one) for part, one in zip(together, alone, strict=True))


WRONG_WRENCHES = [
    ((), (5,), r"\(6,\) for the tip or \(6, 6\) for every link"),
    ((), (), r"\(6,\) for the tip"),
    ((), (5, 6), r"\(6, 6\) for every link"),
    ((), (6, 5), r"\(6, 6\) for every link"),
    ((), (4, 6, 6), r"\(6, 6\) for every link"),
    ((4,), (4, 5), r"\(4, 6\) for the tip or \(4, 6, 6\) for every link"),
    ((4,), (4, 5, 6), r"\(4, 6, 6\) for every link"),
    ((4,), (2, 4, 6, 6), r"\(4, 6, 6\) for every link: moment, then force, in the base frame"),
]


@every_wrench
def test_a_wrench_of_wrong_shape_is_refused_with_the_two_that_fit(call):
    for batch, shape, said in WRONG_WRENCHES:
        with pytest.raises(ValueError, match=rf"^wrench has shape {re.escape(str(shape))} .*{said}"):
            call(ARM, *arrays(call, ARM, *batch), wrench=np.zeros(shape))


@every_wrench
@pytest.mark.parametrize("shape", [(3, 6), (3, 6, 6)])
def test_a_wrench_whose_batch_does_not_fit_is_refused_with_every_shape(call, shape):
    with pytest.raises(ValueError, match=r"do not fit together: q \(4,\), .*wrench \(3,\)"):
        call(ARM, *arrays(call, ARM, 4), wrench=np.zeros(shape))


@every_wrench
@pytest.mark.parametrize("batch", [(), (4,)], ids=str)
def test_a_tip_wrench_on_a_robot_with_several_tips_is_refused_and_names_them(call, batch):
    assert len(TREE.leaves) > 1
    tips = ", ".join(repr(TREE.names[i]) for i in TREE.leaves)
    with pytest.raises(ValueError, match=rf"^wrench .*robot 'tree-5-11' has several: {tips} .*\(\.\.\., 5, 6\)"):
        call(TREE, *arrays(call, TREE, *batch), wrench=np.zeros((*batch, 6)))


@every_wrench
def test_a_wrench_is_an_array_of_real_numbers(call):
    for value, said in (([True] * 6, "dtype bool"), ([1j] * 6, "dtype complex"), (["f"] * 6, "dtype <U1")):
        with pytest.raises(TypeError, match=f"^wrench has {said}"):
            call(ARM, *arrays(call, ARM), wrench=value)


@every_wrench
def test_a_bad_number_in_a_wrench_blanks_its_own_state_and_check_names_it(call):
    given = arrays(call, ARM, 3)
    for shape, index in (((3, 6), (1, 2)), ((3, 6, 6), (1, 0, 5))):
        wrench = np.random.default_rng(8).normal(size=shape)
        clean = call(ARM, *given, wrench)
        wrench[index] = NAN
        for part, good in zip(call(ARM, *given, wrench), clean, strict=True):
            assert np.isnan(part[1]).all()
            assert same_bits(part[[0, 2]], good[[0, 2]])
        with pytest.raises(ValueError, match=rf"^wrench{re.escape(str(list(index)))} is nan: expected finite numbers$"):
            call(ARM, *given, wrench, check=True)
        alone = call(ARM, *(a[1] for a in given), wrench[1])
        assert all(np.isnan(part).all() for part in alone)


# joints that nothing resists

ROD = {"joint": "revolute", "a": 1.0, "b": 0.0, "alpha": 0.3, "mass": 1.0, "com": (0.1, 0.2, 0.3), "inertia": np.eye(3)}
NOTHING = {**ROD, "mass": 0.0, "inertia": np.zeros((3, 3))}


def arm_of(*rows: dict[str, Any]) -> lw.Robot:
    return lw.Robot.from_dh(rows, convention="standard", name="hollow")


SOLVERS = [call for call in CALLS if call.function in (lw.forward_dynamics, lw.udu)]


@pytest.mark.parametrize("call", SOLVERS, ids=str)
@pytest.mark.parametrize(("batch", "joint"), [((), "revolute"), ((3,), "prismatic"), ((2, 2), "revolute")], ids=str)
def test_a_massless_last_link_is_refused_by_name_when_it_must_be_moved(call, batch, joint):
    ghost = {**NOTHING, "joint": joint, "theta": 0.0, "name": "ghost"}
    robot = arm_of(ROD, ghost)
    with pytest.raises(lw.SingularError, match=r"^robot 'hollow', joint of link 'ghost': .*rotor inertia"):
        call(robot, *arrays(call, robot, *batch))
    assert lw.inverse_dynamics(robot, [0, 0], [0, 0], [0, 0]).shape == (2,)
    moved = arm_of(ROD, {**ghost, "rotor_inertia": 0.1})
    assert all(np.isfinite(part).all() for part in call(moved, *arrays(call, moved, *batch)))


@pytest.mark.parametrize("call", SOLVERS, ids=str)
def test_a_massless_link_that_carries_a_heavy_one_is_no_fault(call):
    robot = arm_of(ROD, NOTHING, ROD)
    assert all(np.isfinite(part).all() for part in call(robot, *arrays(call, robot, 3)))


@pytest.mark.parametrize("method", lw.methods(lw.forward_dynamics))
def test_a_state_in_which_nothing_resists_is_found_among_others(method):
    bead = {"joint": "prismatic", "a": 0.0, "theta": 0.0, "alpha": 0.0, "com": (0, 0, 0), "inertia": np.zeros((3, 3))}
    wire = {**NOTHING, "a": 0.0, "alpha": "90 deg", "name": "wire"}
    robot = arm_of(wire, {**bead, "mass": 1.0})  # the bead slides out from the axis about which the wire turns
    q, qd, tau = np.array([[0.1, 0.5], [0.2, 0.0], [0.3, 1.0]]), np.zeros(2), np.ones(2)
    with pytest.raises(lw.SingularError, match=r"joint of link 'wire': nothing resists its motion in state \[1\]"):
        lw.forward_dynamics(robot, q, qd, tau, method=method)
    assert np.isfinite(lw.forward_dynamics(robot, q[[0, 2]], qd, tau, method=method)).all()


# wrong words


@every_function
def test_the_first_argument_is_a_robot_and_a_name_gets_a_hint(call):
    for first in ("stanford", None, [1, 2, 3], SimpleNamespace(cache=[])):
        with pytest.raises(TypeError, match=r"^the first argument is .*expected a Robot") as caught:
            call(first, *arrays(call, ARM))
        assert ("did you mean linkwise.load('stanford')?" in str(caught.value)) == (first == "stanford")


@pytest.mark.parametrize("function", [lw.inverse_dynamics, lw.forward_dynamics, lw.inertia_matrix])
def test_an_unknown_method_is_refused_with_all_that_are_known(function):
    known = lw.methods(function)
    assert len(known) == len(set(known)) >= 1
    given = [np.zeros(ARM.n)] * (1 if function is lw.inertia_matrix else 3)
    typo = known[0][:-1]
    with pytest.raises(
        ValueError, match=rf"{function.__name__}: method is '{typo}', did you mean '{known[0]}'"
    ) as caught:
        function(ARM, *given, method=typo)
    assert all(repr(name) in str(caught.value) for name in known)


@pytest.mark.parametrize("function", [lw.poses, lw.potential_energy, len, "poses", []])
def test_a_function_without_methods_says_which_have_them(function):
    said = rf"{re.escape(str(getattr(function, '__name__', function)))}.* is not a function with a choice of methods"
    with pytest.raises(ValueError, match=rf"{said} .*inverse_dynamics.*inertia_matrix"):
        lw.methods(function)
    with pytest.raises(ValueError, match=r"\(pass the function: lw.forward_dynamics\)"):
        lw.methods("forward_dynamics")


def test_the_frame_of_joint_wrenches_is_one_of_two():
    zeros = np.zeros(ARM.n)
    with pytest.raises(ValueError, match=r"^frame is 'bse', did you mean 'base'.*'base', 'joint'"):
        lw.joint_wrenches(ARM, zeros, zeros, zeros, frame="bse")


# links, points and frames

TOOL = {"joint": "fixed", "a": 0.1, "b": 0.2, "alpha": 0.3, "theta": 0.4, "name": "tool"}
EQUIPPED = lw.Robot.from_dh([*ARM.rows, TOOL], convention="standard", name="equipped")


@every_robot
def test_a_jacobian_is_the_derivative_of_the_pose_for_every_link_and_point(robot):
    q = np.random.default_rng(2).normal(size=robot.n)
    step = 1e-6
    around = q + step * np.concatenate([np.eye(robot.n), -np.eye(robot.n)])
    frames = lw.poses(robot, np.vstack([q, around]))
    for i, link in enumerate(robot.links):
        axes = frames[0, i, :3, :3]
        com = np.linalg.inv(np.array(link.frame.matrix(), dtype=float)) @ [*link.com, 1.0]
        for point, place in (("frame", np.zeros(3)), ("com", com[:3]), ((0.1, -0.2, 0.3), np.array([0.1, -0.2, 0.3]))):
            J = lw.jacobian(robot, q, link=i, point=point)
            there = frames[:, i, :3, :3] @ place + frames[:, i, :3, 3]
            linear = (there[1 : robot.n + 1] - there[robot.n + 1 :]) / (2 * step)
            turned = (frames[1 : robot.n + 1, i, :3, :3] - frames[robot.n + 1 :, i, :3, :3]) / (2 * step) @ axes.T
            angular = np.stack([turned[:, 2, 1], turned[:, 0, 2], turned[:, 1, 0]], axis=-1)
            assert np.abs(J - np.concatenate([angular, linear], axis=-1).T).max() < 1e-8


@every_robot
def test_a_link_is_named_or_counted_from_either_end_and_is_otherwise_the_last(robot):
    q = np.random.default_rng(3).normal(size=(2, robot.n))
    for i, name in enumerate(robot.names):
        J = lw.jacobian(robot, q, link=name)
        assert same_bits(J, lw.jacobian(robot, q, link=i))
        assert same_bits(J, lw.jacobian(robot, q, link=i - robot.n))
        idle = [j for j in range(robot.n) if j not in robot.ancestors(i)]
        assert not J[..., idle].any()
    assert same_bits(J, lw.jacobian(robot, q))


@pytest.mark.parametrize(
    ("keywords", "said"),
    [
        ({"link": "link9"}, "robot 'stanford': frame is 'link9', did you mean 'link.'.*'link1', 'link2'"),
        ({"link": 6}, "link is 6 .*a whole number below 6"),
        ({"link": -7}, "link is -7 .*a whole number below 6"),
        ({"point": "con"}, "point is 'con', did you mean 'com'.*'frame', 'com'"),
    ],
)
def test_an_unknown_link_or_point_is_refused_with_those_that_are_known(keywords, said):
    with pytest.raises(ValueError, match=said):
        lw.jacobian(ARM, np.zeros(6), **keywords)


@pytest.mark.parametrize("batch", [(), (2,), (0,)], ids=str)
def test_poses_are_of_the_frames_asked_for_in_their_order(batch):
    q = np.random.default_rng(4).normal(size=(*batch, 6))
    links = lw.poses(EQUIPPED, q)
    assert links.shape == (*batch, 6, 4, 4)
    some = lw.poses(EQUIPPED, q, frames=["tool", "link2", "tool"])
    assert some.shape == (*batch, 3, 4, 4)
    assert same_bits(some[..., 1, :, :], links[..., 1, :, :])
    assert same_bits(some[..., 0, :, :], some[..., 2, :, :])
    offset = np.linalg.inv(links[..., 5, :, :]) @ some[..., 0, :, :]
    assert np.abs(offset[..., :3, 3] - [0.1 * np.cos(0.4), 0.1 * np.sin(0.4), 0.2]).max(initial=0.0) < 1e-14
    assert lw.poses(EQUIPPED, q, frames=[]).shape == (*batch, 0, 4, 4)


def test_an_unknown_frame_is_refused_with_those_that_are_known():
    with pytest.raises(ValueError, match=r"robot 'equipped': frame is 'tol', did you mean 'tool'.*'link1'.*'tool'"):
        lw.poses(EQUIPPED, np.zeros(6), frames=["link1", "tol"])


# what must not pass in silence


def massless_tip() -> lw.Robot:
    rows = lw.load("planar3").rows
    rows[-1] |= {"mass": 0.0, "inertia": np.zeros((3, 3))}
    return lw.Robot.from_dh(rows, convention="standard", name="light")


@pytest.mark.parametrize(
    "call", [lambda arm: lw.inertia_matrix(arm, np.zeros(3), method="udu"), lambda arm: lw.operators(arm, np.zeros(3))]
)
def test_what_divides_by_pivots_names_the_massless_link(call: Any) -> None:
    with pytest.raises(lw.SingularError, match="'light', joint of link 'link3'"):
        call(massless_tip())


def test_a_singular_robot_is_named_when_it_is_traced() -> None:
    with pytest.raises(lw.SingularError, match="'light', joint of link 'link3'"):
        lw.trace(lw.forward_dynamics, massless_tip())


def test_the_singular_state_is_named_and_not_the_bad_one() -> None:
    q = np.zeros((3, 3))
    q[0, 0] = NAN
    with pytest.raises(lw.SingularError, match=r"in state \[1\]"):
        lw.forward_dynamics(massless_tip(), q, np.zeros(3), np.ones(3))


def test_udu_refuses_a_first_joint_that_nothing_resists() -> None:
    row = {
        "joint": "revolute",
        "a": 0.0,
        "b": 0.0,
        "alpha": 0.0,
        "mass": 1.0,
        "com": (0, 0, 0),
        "inertia": np.zeros((3, 3)),
    }
    with pytest.raises(lw.SingularError, match="link1"):
        lw.udu(lw.Robot.from_dh([row], convention="standard"), [0.0])


def test_an_overflow_is_no_singularity() -> None:
    arm = lw.load("planar3")
    assert not np.isfinite(lw.forward_dynamics(arm, np.ones(3), np.full(3, 1e200), np.ones(3))).all()
    assert lw.forward_dynamics(arm, np.ones((0, 3)), np.ones(3), np.ones(3)).shape == (0, 3)


@pytest.mark.parametrize(
    ("keywords", "error", "message"),
    [
        ({"point": [1, 2]}, ValueError, "point.*three numbers"),
        ({"point": [1, 2, NAN]}, ValueError, "point.*finite"),
        ({"link": 1.5}, TypeError, "link is 1.5"),
        ({"link": True}, TypeError, "link is True"),
    ],
)
def test_jacobian_says_what_it_wants(keywords: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        lw.jacobian(ARM, np.zeros(6), **keywords)


def test_frames_are_a_list_of_names() -> None:
    with pytest.raises(TypeError, match=r"frames is 'link1' .*\['link1'\]"):
        lw.poses(ARM, np.zeros(6), frames="link1")


def test_a_method_typo_is_a_value_error_and_lists_the_methods() -> None:
    with pytest.raises(ValueError, match=r"did you mean 'newton-euler'.*'complement'") as caught:
        lw.inverse_dynamics(ARM, *np.zeros((3, 6)), method="newton-oiler")
    assert not isinstance(caught.value, lw.RobotError)


def test_describe_wants_a_robot() -> None:
    with pytest.raises(TypeError, match=r"linkwise\.load"):
        lw.describe("stanford")


# robots and numbers as they come


def test_walker_orin_4_is_finite_in_single_precision_and_at_rest():
    rng = np.random.default_rng(0)
    for arm in (lw.chain(1), lw.load("planar3"), lw.load("gantry").with_gravity((0, 0, 0))):
        q, qd, tau = rng.normal(size=(3, 100, arm.n)).astype(np.float32)
        assert np.isfinite(lw.forward_dynamics(arm, q, qd, tau, method="walker-orin-4")).all()
        still = np.zeros((3, arm.n), dtype=np.float32)
        assert np.isfinite(lw.forward_dynamics(arm, *still, method="walker-orin-4")).all()


def test_an_overflow_in_a_large_batch_is_found_without_looking_at_every_state(monkeypatch):
    looked = []
    plain = singular.inertias
    monkeypatch.setattr(singular, "inertias", lambda arm, q: looked.append(len(q)) or plain(arm, q))
    q, qd, tau = np.random.default_rng(0).normal(size=(3, 500, 6))
    qd[5] = 1e200
    assert not np.isfinite(lw.forward_dynamics(ARM, q, qd, tau)[5]).all()
    assert looked == [1]


def test_object_arrays_of_plain_numbers_are_floats():
    plain = lw.gravity_torque(ARM, np.full((2, 6), 0.25))
    for number in (0.25, Fraction(1, 4), Decimal("0.25"), np.float32(0.25)):
        assert same_bits(lw.gravity_torque(ARM, np.full((2, 6), number, dtype=object)), plain)


def test_batches_of_many_digit_numbers_work():
    q = np.array([[mpmath.mpf(x) / 7 for x in row] for row in [[1, 2, 3], [4, 5, 6]]], dtype=object)
    arm = lw.load("planar3")
    found = lw.gravity_torque(arm, q)
    assert found.shape == (2, 3)
    assert relative(found.astype(float), lw.gravity_torque(arm, q.astype(float))) < 1e-14


def test_energies_of_one_state_are_plain_numbers():
    energy = lw.kinetic_energy(ARM, np.ones(6), np.ones(6))
    assert isinstance(energy, float)
    assert round(energy, 3) == pytest.approx(float(energy), abs=1e-3)


def test_jacobian_takes_merged_frames():
    rows = [
        *lw.load("planar3").rows,
        {"name": "tool", "joint": "fixed", "a": 0.1, "b": 0.2, "alpha": 0.3, "theta": 0.4},
    ]
    arm = lw.Robot.from_dh(rows, convention="standard")
    q, step = np.array([0.1, 0.2, 0.3]), 1e-6
    found = lw.jacobian(arm, q, link="tool")[3:]
    moved = [lw.poses(arm, q + s * np.eye(3), frames=["tool"])[:, 0, :3, 3] for s in (step, -step)]
    assert np.abs(found - (moved[0] - moved[1]).T / (2 * step)).max() < 1e-9
    on_base = lw.Robot.from_dh([{**rows[3], "parent": "base"}, {**rows[0], "parent": "base"}], convention="standard")
    with pytest.raises(ValueError, match=r"'tool'.*fixed to the base"):
        lw.jacobian(on_base, [0.0], link="tool")


def test_explain_names_the_massless_link():
    with pytest.raises(lw.SingularError, match="'light', joint of link 'link3'"):
        lw.explain(massless_tip(), np.zeros(3))


def test_half_precision_is_refused_in_words_that_are_true():
    with pytest.raises(TypeError, match=r"q has dtype float16 .*float32, float64 or integers"):
        lw.gravity_torque(ARM, np.zeros(6, dtype=np.float16))


@pytest.mark.parametrize("name", METHODS)
def test_the_table_of_methods_names_only_methods_that_are_offered(name):
    offered = METHODS[name]
    named = {*offered.candidates, *offered.loops, *offered.loops.values(), *([offered.long] if offered.long else [])}
    assert named <= set(offered.algorithms)
    assert ("fewest" in offered.algorithms and offered.algorithms["fewest"] is None) == bool(offered.candidates)
    assert bool(offered.candidates) == bool(offered.long)
