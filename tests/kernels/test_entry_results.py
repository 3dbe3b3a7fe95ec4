"""Direct calls of kernels with several results and single numbers; layouts of objects."""

import ctypes
import sys
from typing import Any

import numpy as np
import pytest

import linkwise as lw
from arm_kernels import same
from effort import rest_slow
from entry_robots import CHAIN, PLANAR, compiled
from linkwise.kernels import entry as compile_entry
from robots import relative

pytest.importorskip("llvmlite")


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
    (lw.formulations.udu, PLANAR, {}),
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
        assert "kinetic_energy" in robot.entries
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
