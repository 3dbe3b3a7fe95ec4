"""Calls of kernels: results over inputs, overflow, small stacks, dtypes, several results, layouts of objects."""

import ctypes
import itertools
import sys
from functools import cache
from typing import Any

import numpy as np
import pytest

import linkwise as lw
from effort import rest_slow
from linkwise.kernels import entry as compile_entry
from robots import relative
from test_kernel_calls import in_a_new_process, same

pytest.importorskip("llvmlite")
ZERO = np.zeros((3, 3))
BEAD = {"joint": "prismatic", "a": 0.0, "theta": 0.0, "alpha": 0.0, "mass": 2.0, "com": (0, 0, 0), "inertia": ZERO}
WIRE = {"joint": "revolute", "a": 0.0, "b": 0.0, "alpha": "90 deg", "mass": 0.0, "com": (0, 0, 0), "inertia": ZERO}
SLING = lw.Robot.from_dh([WIRE, BEAD], convention="standard", name="sling")  # singular where q[1] is 0
CHAIN = lw.chain(4, seed=3, joints="RRPR")
PLANAR = lw.load("planar3")
HUGE = 1e200  # finite, but its square is not


@cache
def compiled(function: Any, robot: lw.Robot, dtype: str = "float64", **keywords: Any) -> Any:
    return lw.compile(function, robot, dtype=dtype, **keywords)


def states(robot: lw.Robot, *batch: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng([seed, *batch]).uniform(0.5, 1.0, (3, *batch, robot.n))


# results over inputs, whatever becomes of some states


def spoilt(given: np.ndarray, rows: int) -> np.ndarray:
    """Among good states one with NaN, one that is infinite, and two that overflow."""
    for k, value in ((0, np.nan), (rows // 2, np.inf), (rows - 1, HUGE), (2 % rows, -HUGE)):
        given[1, k, 0] = value
    return given


@pytest.mark.parametrize("way", ["direct", "general", "threads"])
@pytest.mark.parametrize("rows", rest_slow([1, 7, 21], [7]))
def test_results_over_inputs_are_right_beside_states_that_are_lost(rows: int, way: str) -> None:
    """Every input as `out`, and memory shifted by any number of states, before and behind."""
    made = compiled(lw.forward_dynamics, CHAIN)
    call = {"direct": made, "general": made.general, "threads": lambda *a, **k: made(*a, threads=3, **k)}[way]
    given = spoilt(states(CHAIN, rows), rows)
    with np.errstate(all="ignore"):
        expected = lw.forward_dynamics(CHAIN, *given)
    good = np.isfinite(expected).all(axis=-1)
    assert rows < 7 or (good.sum() == rows - 4)

    def right(found: np.ndarray) -> bool:
        same_rows = np.array_equal(np.isfinite(found).all(axis=-1), good)
        return same_rows and relative(found[good], expected[good]) < 1e-12

    for k in range(3):
        mine = given.copy()
        out = mine[k]
        assert call(*mine, out=out) is out
        assert right(out)
        others = [i for i in range(3) if i != k]
        assert same(mine[others], given[others])
    for k, shift in itertools.product(range(3), (-4 * rows + 1, -5, -4, -1, 1, 4, 5)):
        memory = np.full(12 * rows + 16, 7.0)
        start = 4 * rows + 8
        mine = list(given.copy())
        mine[k] = memory[start : start + 4 * rows].reshape(rows, 4)
        mine[k][...] = given[k]
        out = memory[start + shift : start + shift + 4 * rows].reshape(rows, 4)
        call(*mine, out=out)
        assert right(out)


def test_one_state_over_its_inputs_when_it_is_lost() -> None:
    made = compiled(lw.forward_dynamics, CHAIN)
    for value, k in itertools.product((HUGE, np.nan, 0.7), range(3)):
        given = states(CHAIN)
        given[1, 0] = value
        with np.errstate(all="ignore"):
            expected = lw.forward_dynamics(CHAIN, *given)
        for call in (made, made.general):
            mine = given.copy()
            call(*mine, out=mine[k])
            assert np.array_equal(np.isfinite(mine[k]), np.isfinite(expected))
            assert not np.isfinite(expected).all() or relative(mine[k], expected) < 1e-12


@pytest.mark.parametrize("batch", [(), (3,), (21,)])
def test_a_singular_state_over_its_inputs_is_named_and_leaves_them(batch: tuple[int, ...]) -> None:
    made = compiled(lw.forward_dynamics, SLING, method="articulated")
    given = states(SLING, *batch)
    given[(0, *(b - 1 for b in batch), 1)] = 0.0
    for call, k in itertools.product((made, made.general), range(3)):
        mine = given.copy()
        with pytest.raises(lw.SingularError, match="link1"):
            call(*mine, out=mine[k])
        assert same(mine, given)


def test_results_over_inputs_above_the_entrys_limit() -> None:
    made = compiled(lw.forward_dynamics, SLING, method="articulated")
    rows = made.interface.at_once + 3
    given = states(SLING, rows)
    expected = made(*given)
    given[1, 5] = HUGE
    for k in range(3):
        mine = given.copy()
        made(*mine, out=mine[k])
        assert not np.isfinite(mine[k][5]).all()
        assert same(np.delete(mine[k], 5, 0), np.delete(expected, 5, 0))


@pytest.mark.parametrize("batch", [(), (9,)])
def test_one_of_several_results_over_an_input(batch: tuple[int, ...]) -> None:
    """The function divides, so that the first state is lost."""

    def both(arm: Any, q: Any, qd: Any) -> Any:
        return 1.0 / q, q * qd[::-1]

    made = compiled(both, PLANAR)
    q, qd = states(PLANAR, *batch)[:2]
    q[(*(0 for _ in batch), 0)] = 0.0
    with np.errstate(all="ignore"):
        expected = 1.0 / q, q * qd[..., ::-1]
    for call, which, over in itertools.product((made, made.general), range(2), range(2)):
        mine = [q.copy(), qd.copy()]
        out = [np.empty_like(q), np.empty_like(q)]
        out[which] = mine[over]
        out = tuple(out)
        assert call(*mine, out=out) is out
        assert same(out[0], expected[0])
        assert same(out[1], expected[1])
    for call in (made, made.general):
        memory = np.zeros((*batch, 5))
        with pytest.raises(ValueError, match=r"out\[0\] and out\[1\] share memory"):
            call(q, qd, out=(memory[..., :3], memory[..., 2:]))
        shared = np.zeros((*batch, 3))
        with pytest.raises(ValueError, match=r"out\[0\] and out\[1\] share memory"):
            call(q, qd, out=(shared, shared))
        apart = np.zeros((*batch, 2, 3))
        assert call(q, qd, out=(apart[..., 0, :], apart[..., 1, :])) is not None
        assert same(apart[..., 1, :], expected[1])


# what overflows is not singular


def modes() -> list[Any]:
    """The same call in every way there is: plain, compiled, and a kernel in hand, entered directly and generally."""

    def public(mode: str) -> Any:
        def call(robot: lw.Robot, *given: Any, **options: Any) -> Any:
            with lw.use_kernels(mode):
                lw.forward_dynamics(robot, *(np.ones_like(a) for a in given), **options)  # so that the entry is there
                return lw.forward_dynamics(robot, *given, **options)

        return call

    def in_hand(robot: lw.Robot, *given: Any, **options: Any) -> Any:
        return compiled(lw.forward_dynamics, robot, **options)(*given)

    def in_general(robot: lw.Robot, *given: Any, **options: Any) -> Any:
        return compiled(lw.forward_dynamics, robot, **options).general(*given)

    return [public("never"), public("always"), in_hand, in_general]


@pytest.mark.parametrize("method", rest_slow([None, "denoc", "articulated", "composite-udu"], [None, "articulated"]))
def test_a_state_that_overflows_is_no_error_and_leaves_the_others(method: str | None) -> None:
    """Huge angles' rates, and a huge way of a prismatic joint, which makes the inertia matrix itself overflow."""
    options = {} if method is None else {"method": method}
    for call in modes():
        for which, where in ((1, 0), (0, 2), (2, 1)):
            given = states(CHAIN, 21)
            clean = call(CHAIN, *given, **options)
            given[which, 13, where] = 1.7e308 if which == 2 else HUGE
            found = call(CHAIN, *given, **options)
            assert relative(np.delete(found, 13, 0), np.delete(clean, 13, 0)) < 1e-13
            single = call(CHAIN, *given[:, 13], **options)
            assert np.isfinite(single).all() == np.isfinite(found[13]).all()
            assert which == 2 or not np.isfinite(single).all()


@pytest.mark.parametrize("lost", [1, 30, 5000])
def test_a_singular_state_is_named_behind_any_number_that_overflow(lost: int) -> None:
    given = states(SLING, lost + 3)
    given[1, :lost] = HUGE
    single = given[:, lost + 1]
    single[0, 1] = 0.0
    for call in modes():
        for arrays, where in ((given, rf" in state \[{lost + 1}\] "), (single, r" \(articulated inertia 0\)")):
            with pytest.raises(
                lw.SingularError, match=f"^robot 'sling', joint of link 'link1': nothing .*{where}"
            ) as e:
                call(SLING, *arrays, method="articulated")
            assert e.value.state == ((lost + 1,) if where.startswith(" in") else ())
        shaped = given[:, 1:].reshape(3, 1, lost + 2, 2)
        with pytest.raises(lw.SingularError, match=rf"in state \[0, {lost}\] "):
            call(SLING, *shaped, method="articulated")
        given[0, lost + 1, 1] = np.nan  # then it is the number's fault
        assert np.isnan(call(SLING, *given, method="articulated")[lost + 1]).all()
        given[0, lost + 1, 1] = 0.0


def test_a_function_of_ones_own_names_the_singular_state() -> None:
    def twice(arm: Any, q: Any, qd: Any, tau: Any) -> Any:
        return 2.0 * lw.forward_dynamics(arm, q, qd, tau, method="articulated")

    given = states(SLING, 40)
    given[1, :30] = HUGE
    found = compiled(twice, SLING)(*given)
    assert np.isfinite(found[30:]).all()
    given[0, 35, 1] = 0.0
    with pytest.raises(lw.SingularError, match=r"link 'link1': nothing resists its motion in state \[35\] "):
        compiled(twice, SLING)(*given)


def test_inertias_of_very_different_size_are_not_singular() -> None:
    """A heavy carriage far out beside a small wrist: one pivot is 1e-20 of the largest entry of the matrix."""
    heavy = {**BEAD, "mass": 1e12, "alpha": "90 deg"}
    wrist = {**WIRE, "mass": 1e-8, "inertia": 1e-10 * np.eye(3)}
    robot = lw.Robot.from_dh([WIRE, heavy, wrist], convention="standard")
    given = states(robot, 5)
    given[1, 2] = HUGE
    for call in modes():
        found = call(robot, *given, method="articulated")
        assert not np.isfinite(found[2]).all()
        assert np.isfinite(np.delete(found, 2, 0)).all()


def test_the_reason_is_looked_for_link_by_link_and_not_in_the_whole_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a chain of ten thousand links the inertia matrix would take hours."""
    monkeypatch.setattr("linkwise.dynamics.composite.inertia_matrix", None)
    robot = lw.chain(70)
    given = np.zeros((3, 2, 70))
    given[1, 1] = HUGE
    found = compiled(lw.forward_dynamics, robot)(*given)
    assert np.isfinite(found[0]).all()
    assert not np.isfinite(found[1]).all()


# stacks


def test_large_results_need_no_large_stack() -> None:
    """In a thread of 128 kB: very many results, few and many of them distinct; fewer that are written otherwise."""
    text = """
    import threading, numpy as np, linkwise as lw

    def cube(arm, q):
        return q[:, None, None] * q[None, :, None] * q

    made = [
        (lw.compile(lambda arm, q: np.tile(q, 5000), lw.chain(3)), lambda q: np.tile(q, 5000)),
        (lw.compile(cube, lw.chain(9)), lambda q: q[..., None, None] * q[..., None, :, None] * q[..., None, None, :]),
        (lw.compile(lambda arm, q: (np.outer(q, q), q[0] / q), lw.chain(21)), lambda q: q[..., None] * q[..., None, :]),
    ]
    done = []

    def work():
        for kernel, plain in made:
            for rows in ((), (1,), (3,), (19,)):
                q = np.random.default_rng(0).uniform(1.0, 2.0, (*rows, kernel.robot.n))
                for call in (kernel, kernel.general):
                    found = call(q)
                    found = found[0] if isinstance(found, tuple) else found
                    assert np.allclose(found, plain(q), rtol=1e-14, atol=0.0)
                done.append(rows)

    threading.stack_size(128 * 1024)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    print(len(done))
    """
    assert in_a_new_process(text).strip() == "12"


# dtypes


FORMS = {
    "float64": np.float64,
    "float32": np.float32,
    "longdouble": np.longdouble,
    "int64": np.int64,
    "uint8": np.uint8,
    "list": lambda a: a.tolist(),
    "whole": lambda a: a.astype(int).tolist(),
    "other endian": lambda a: a.astype(">f4"),
}


def numbers(whole: bool, *batch: int, seed: int = 0) -> np.ndarray:
    """Numbers that float32 holds exactly, whole and not negative where every form has to hold them."""
    rng = np.random.default_rng([seed, *batch])
    return (
        rng.integers(0, 5, (3, *batch, 3)) * 1.0 if whole else np.float64(np.float32(rng.normal(size=(3, *batch, 3))))
    )


def mixtures(forms: Any) -> list[tuple[str, str, str]]:
    """Every pair of forms for every pair of three arguments."""
    names = list(forms)
    count = len(names)
    return [(names[i], names[j], names[(i + j) % count]) for i in range(count) for j in range(count)]


def in_form(form: str, a: np.ndarray) -> Any:
    convert = FORMS[form]
    return a.astype(convert) if isinstance(convert, type) else convert(a)


@pytest.mark.parametrize("function", [lw.inverse_dynamics, lw.forward_dynamics], ids=lambda f: f.__name__)
def test_every_mixture_of_dtypes_gives_the_same_plain_and_compiled(function: Any) -> None:
    """The common dtype, to its last digits, with the numbers of the arguments as they are."""
    with lw.use_kernels("always"):
        for dtype in ("float64", "float32"):
            function(PLANAR, *numbers(False).astype(dtype))
    for k, forms in enumerate(mixtures(FORMS)):
        whole = bool({"int64", "uint8", "whole"} & set(forms))
        given = numbers(whole, *((), (2,))[k % 2], seed=k)
        mixed = [in_form(form, a) for form, a in zip(forms, given, strict=True)]
        exact = function(PLANAR, *given)
        arrays = [np.asarray(a) for a in mixed]
        common = np.result_type(*(a.dtype.newbyteorder("=") if a.dtype.kind == "f" else np.float64 for a in arrays))
        bound = 1e2 * np.linalg.cond(lw.inertia_matrix(PLANAR, given[0])).max() * max(np.finfo(common).eps, 1e-16)
        for mode in ("never", "always"):
            with lw.use_kernels(mode):
                found = function(PLANAR, *mixed)
            assert (found.dtype, found.shape) == (common, exact.shape), forms
            assert relative(found, exact) < bound, (forms, mode)


@pytest.mark.parametrize("library", ["torch", "jax.numpy"])
def test_every_mixture_of_dtypes_is_computed_in_the_common_one(library: str) -> None:
    """Lists take the floating dtype of the library's own arrays."""
    xp: Any = pytest.importorskip(library)
    if library == "jax.numpy":
        pytest.importorskip("jax").config.update("jax_enable_x64", True)
    forms = {"float64": xp.float64, "float32": xp.float32, "int32": xp.int32, "list": None}
    for k, names in enumerate(mixtures(forms)):
        if set(names) == {"list"}:
            continue
        (q, qd, _), wrench = numbers("int32" in names, seed=k), np.arange(6.0)
        mixed = [
            array.tolist() if forms[name] is None else xp.asarray(array, dtype=forms[name])
            for name, array in zip(names, (q, qd, wrench), strict=True)
        ]
        found = lw.bias_torque(PLANAR, *mixed)
        assert "float64" not in names or str(found.dtype).endswith("float64")
        assert "float32" not in names or "float64" in names or str(found.dtype).endswith("float32")
        digits = 1e-13 if str(found.dtype).endswith("float64") else 1e-4
        assert relative(np.asarray(found), lw.bias_torque(PLANAR, q, qd, wrench)) < digits, names


def test_half_precision_is_refused_everywhere_in_the_same_words() -> None:
    good, half = np.ones(3), np.ones(3, np.float16)
    made = compiled(lw.inverse_dynamics, PLANAR)
    for call in (lambda: lw.inverse_dynamics(PLANAR, good, half, good), lambda: made(good, half, good)):
        for mode in ("never", "always"):
            with lw.use_kernels(mode), pytest.raises(TypeError, match=r"^qd has dtype float16 \(expected real numbers"):
                call()


# several results, single numbers, symbols


def momentum(arm: Any, q: Any, qd: Any) -> Any:
    return lw.kinetic_energy(arm, q, qd), lw.inertia_matrix(arm, q) @ qd


def mass_of_last_link(arm: Any, q: Any, gain: Any) -> Any:
    return lw.gravity_torque(arm, q) * gain


def product(arm: Any, a: Any, b: Any) -> Any:
    return a * b


def with_symbols() -> lw.Robot:
    m = lw.symbols("m")
    rows = PLANAR.rows
    rows[-1] |= {"mass": m}
    return lw.Robot.from_dh(rows, convention="standard")


SEVERAL = [
    (lw.udu, PLANAR, {}),
    (lw.mass_centres, PLANAR, {}),
    (lw.kinetic_energy, PLANAR, {}),
    (lw.potential_energy, PLANAR, {}),
    (momentum, CHAIN, {}),
    (mass_of_last_link, PLANAR, {"gain": lw.Input()}),
    (lw.forward_dynamics, with_symbols(), {}),
    (product, PLANAR, {"a": lw.Input(), "b": lw.Input()}),
]


def parts(found: Any) -> tuple[Any, ...]:
    return found if isinstance(found, tuple) else (found,)


@pytest.mark.parametrize("dtype", rest_slow(["float64", "float32"], ["float64"]))
@pytest.mark.parametrize("case", SEVERAL, ids=lambda case: case[0].__name__)
def test_every_kernel_is_entered_directly_with_the_results_of_the_general_way(case: Any, dtype: str) -> None:
    """Types, dtypes, shapes and bits; with `out` of one array or of a tuple of them."""
    function, robot, keywords = case
    made = lw.compile(function, robot, dtype=dtype, **keywords)
    entry = made.entry(lambda *arrays, **named: "otherwise")
    rng = np.random.default_rng(0)
    for batch in ((), (1,), (5,), (16,)):
        given = [np.asarray(rng.uniform(0.5, 1.5, (*batch, *a.shape)), dtype) for a in made.interface.inputs]
        expected = made.general(*given)
        for options in ({}, {"threads": 1}):
            found = entry(*given, **options)
            assert type(found) is type(expected)
            for one, other in zip(parts(found), parts(expected), strict=True):
                assert type(one) is type(other)
                assert same(one, other)
        out = tuple(np.full(np.shape(part), 7.0, dtype) for part in parts(expected))
        theirs = out if len(out) > 1 else out[0]
        assert entry(*given, out=theirs, threads=1) is theirs
        assert all(same(one, other) for one, other in zip(out, parts(expected), strict=True))
        if len(out) > 1:
            for wrong in (list(out), out[:1], (*out, out[0]), out[0], (out[0],) * len(out)):
                assert isinstance(entry(*given, out=wrong), str)
        if not batch:  # numbers as they come
            kinds = [lambda a: a[()] if a.ndim == 0 else a]
            if dtype == "float64":
                kinds.append(lambda a: float(a) if a.ndim == 0 else a)
            for kind in kinds:
                assert all(same(a, b) for a, b in zip(parts(entry(*map(kind, given))), parts(expected), strict=True))
            if any(a.ndim == 0 for a in given):
                rounded = entry(*(float(a) if a.ndim == 0 else a for a in given))
                assert all(same(a, b) for a, b in zip(parts(rounded), parts(expected), strict=True))
                for odd in (1, True, "1", None, np.float16(1), 1j):
                    assert isinstance(entry(*(odd if a.ndim == 0 else a for a in given)), str)


def test_a_float_that_float32_cannot_hold_is_rounded_as_in_the_general_way() -> None:
    made = lw.compile(product, PLANAR, dtype="float32", a=lw.Input(), b=lw.Input())
    for value in (0.1, 1e-46, 3.4028236e38, 1e300, -1e300, np.nan):
        assert same(made(value, 2.0), made.general(value, 2.0))


def test_energies_are_entered_directly_by_their_public_name() -> None:
    robot = lw.chain(3, seed=91)
    q, qd = np.ones((2, 3))
    plain = lw.kinetic_energy(robot, q, qd)
    with lw.use_kernels("always"):
        lw.kinetic_energy(robot, q, qd)
        assert "kinetic_energy" in robot.cache
        found = lw.kinetic_energy(robot, q, qd)
    assert type(found) is type(plain) is np.float64
    assert relative(found, plain) < 1e-14


@pytest.mark.skipif(sys.platform != "linux", reason="memory is counted in the way of Linux")
def test_several_results_keep_no_references() -> None:
    made = compiled(momentum, CHAIN)
    q, qd = np.ones((2, 4))
    out = np.empty(()), np.empty(4)
    lost = compiled(lambda arm, q: (1.0 / q[0], q / q), CHAIN)
    zero = np.zeros(4)

    def calls(times: int) -> None:
        for _ in range(times):
            made(q, qd)
            made(q, qd, out=out)
            made(q, qd, out=(out[0], qd))
            qd[...] = 1.0
        for _ in range(times // 50):
            lost(zero)

    calls(100)
    things = [q, qd, out, *out, zero, np.ndarray, np.float64, tuple]
    before = [sys.getrefcount(x) for x in things]
    calls(2000)
    assert max(abs(sys.getrefcount(x) - n) for x, n in zip(things, before, strict=True)) < 50


# layouts


def test_the_layout_of_objects_is_probed() -> None:
    """What is found agrees with what C sees: with NumPy's own address of the numbers, and with a tuple's items."""
    from linkwise.kernels import object_layout as layout

    found = layout.object_layout()
    if not layout.supported():
        assert found is None
        return
    assert found is not None
    assert compile_entry.supported()
    array, pair = np.arange(6.0).reshape(2, 3), (object(), object())
    assert ctypes.c_void_p.from_address(id(array) + found.array_data).value == array.ctypes.data
    assert ctypes.c_void_p.from_address(id(pair) + found.tuple_items + 8).value == id(pair[1])
    assert ctypes.c_int64.from_address(id(pair) + found.tuple_length).value == 2


@pytest.mark.parametrize("probe", range(4))
def test_without_a_known_layout_the_python_way_is_taken(probe: int, monkeypatch: pytest.MonkeyPatch) -> None:
    from linkwise.kernels import object_layout as layout

    probes = list(layout.PROBES)
    probes[probe] = lambda: None
    monkeypatch.setattr(layout, "PROBES", probes)
    layout.object_layout.cache_clear()
    try:
        assert layout.object_layout() is None
        made = lw.compile(lw.gravity_torque, PLANAR)
        assert "@entry" not in made.ir
        assert made.__call__ == made.general
        assert same(made(np.ones(3)), compiled(lw.gravity_torque, PLANAR)(np.ones(3)))
    finally:
        layout.object_layout.cache_clear()


def test_a_probe_that_finds_several_places_or_none_disagrees() -> None:
    from linkwise.kernels import object_layout as layout

    assert layout.only(range(3), [1, 2], lambda x, at: at == 1) == (1,)
    assert layout.only(range(3), [1, 2], lambda x, at: True) is None
    assert layout.only(range(3), [1, 2], lambda x, at: x == at) is None
