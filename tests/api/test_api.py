"""The public functions at their api: shapes, dtypes, batches, bad numbers and wrong words."""

import inspect
import re
from decimal import Decimal
from fractions import Fraction
from itertools import product
from types import SimpleNamespace

import mpmath
import numpy as np
import pytest

import linkwise as lw
from effort import in_turn
from facts import raises
from functions import (
    ARM,
    CALLS,
    GANTRY,
    PUBLIC,
    SHORT,
    SHORT_ONES,
    WITH_WRENCH,
    arrays,
    every_function,
    every_method_on_robots,
    same_bits,
)
from linkwise.api.method_table import METHODS
from robots import relative

NAN, INF = float("nan"), float("inf")


def test_every_public_function_is_here():
    assert {call.function.__name__ for call in CALLS} >= {"inverse_dynamics", "forward_dynamics", "udu", "poses"}
    assert len(WITH_WRENCH) >= 3
    for call in CALLS:
        name, home = call.function.__name__, getattr(call.function, "__self__", None)
        assert (PUBLIC[name] if home is None else getattr(home, name)) == call.function
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
    given = [rng.normal(size=(*batch, SHORT.n)) for batch in batches]
    full = [np.broadcast_to(a, (*whole, SHORT.n)) for a in given]
    for order in (slice(None), slice(None, None, -1)):
        assert all(map(same_bits, call(SHORT, *given[order]), call(SHORT, *full[order])))


@in_turn(MANY)
def test_batches_that_do_not_broadcast_are_refused_with_every_shape(call):
    given = arrays(call, ARM, 2)
    given[-1] = np.zeros((3, ARM.n))
    shapes = [*(f"{name} (2,)" for name in call.arguments[:-1]), f"{call.arguments[-1]} (3,)"]
    with raises(ValueError, *shapes):
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
            assert relative(part, exact) < (2e-3 if call.function is lw.task_inertia else 2e-4)  # κ(S) is κ(I) κ(J)²


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
        given = arrays(call, SHORT, 3)
        given[k] = given[k][0].copy()
        given[k][0] = NAN
        assert all(np.isnan(part).all() for part in call(SHORT, *given))


@every_function
def test_check_names_argument_index_and_joint(call):
    given = arrays(call, ARM, 2, 3)
    assert all(map(same_bits, call(ARM, *given, check=True), call(ARM, *given)))
    for k, name in enumerate(call.arguments):
        given = arrays(call, ARM, 2, 3)
        given[k][1, 2, 4] = INF
        with raises(ValueError, f"{name}[1, 2, 4]", "link5", "inf"):
            call(ARM, *given, check=True)
        given[k][1, 0, 3] = NAN
        with raises(ValueError, f"{name}[1, 0, 3]", "link4", "nan", "1 more"):
            call(ARM, *given, check=True)
        single = arrays(call, ARM)
        single[k][0] = NAN
        with pytest.raises(ValueError, match=rf"^{name}\[0\], joint 'link1' is nan"):
            call(ARM, *single, check=True)


def test_check_works_on_tensors_that_carry_gradients():
    torch = pytest.importorskip("torch")
    q = torch.tensor([0.1, 0.2, NAN], dtype=torch.float64, requires_grad=True)
    with raises(ValueError, "q[2]", "hoist", "nan"):
        lw.potential_energy(GANTRY, q, check=True)


# wrong words


@every_function
def test_the_first_argument_is_a_robot_and_a_name_gets_a_hint(call):
    for first in ("stanford", None, [1, 2, 3], SimpleNamespace(cache=[])):
        with raises(TypeError, "first", "Robot") as caught:
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
    assert not isinstance(caught.value, lw.errors.RobotError)


@pytest.mark.parametrize("function", [lw.poses, lw.potential_energy, len, "poses", []])
def test_a_function_without_methods_says_which_have_them(function):
    said = rf"{re.escape(str(getattr(function, '__name__', function)))}.* is not a function with a choice of methods"
    with pytest.raises(ValueError, match=rf"{said} .*inverse_dynamics.*inertia_matrix"):
        lw.methods(function)
    with raises(ValueError, "lw.forward_dynamics"):
        lw.methods("forward_dynamics")


# robots and numbers as they come


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


@pytest.mark.parametrize("name", METHODS)
def test_the_table_of_methods_names_only_methods_that_are_offered(name):
    offered = METHODS[name]
    named = {*offered.candidates, *offered.loop_methods, *filter(None, [offered.long])}
    assert named <= set(offered.algorithms)
    assert ("fewest" in offered.algorithms and offered.algorithms["fewest"] is None) == bool(offered.candidates)
    assert bool(offered.candidates) == bool(offered.long)
