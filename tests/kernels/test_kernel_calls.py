"""Calling a kernel: every kind of array, wrong ones in words, `out=`, and the direct way in."""

import copy
import re
from typing import Any

import numpy as np
import pytest

import linkwise as lw
from arm_kernels import ARM, every_dtype, kernel, motion, same
from facts import raises
from linkwise.kernels.interface import internal_overlap
from robots import relative

pytestmark = pytest.mark.optimized

pytest.importorskip("llvmlite")


# arrays as they come


LAYOUTS = {
    "Fortran": np.asfortranarray,
    "strided": lambda a: np.repeat(a, 2, axis=-1)[..., ::2],
    "every other row": lambda a: np.repeat(a, 2, axis=0)[::2],
    "backward": lambda a: np.flip(np.flip(a, -1).copy(), -1),
    "reversed rows": lambda a: a[::-1].copy()[::-1],
    "transposed": lambda a: np.moveaxis(np.moveaxis(a, -1, 0).copy(), 0, -1),
    "other endian": lambda a: a.astype(a.dtype.newbyteorder()),
    "read-only": lambda a: np.frombuffer(a.tobytes(), a.dtype).reshape(a.shape),
    "matrix": np.asmatrix,
    "subclass": lambda a: a.view(type("Mine", (np.ndarray,), {})),
    "unaligned": lambda a: np.frombuffer(b"\0" + a.tobytes(), a.dtype, a.size, 1).reshape(a.shape),
    "list": lambda a: a.tolist(),
    "tuple of rows": lambda a: tuple(a),
    "memoryview": lambda a: memoryview(np.ascontiguousarray(a)),
    "dtype with metadata": lambda a: a.astype(np.dtype(a.dtype, metadata={"unit": "rad"})),
}


@every_dtype
@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_layout_of_an_array_does_not_matter(layout: str, dtype: str) -> None:
    made = kernel(dtype=dtype)
    for size in (1, 5, 17):
        given = motion(size, dtype=dtype)
        expected = made(*given)
        laid = [LAYOUTS[layout](a) for a in given]
        before = copy.deepcopy(laid) if layout != "memoryview" else laid
        found = made(*laid)
        assert type(found) is np.ndarray
        assert same(found, expected)
        for k in range(3):  # one odd array among usual ones
            assert same(made(*(laid[i] if i == k else a for i, a in enumerate(given))), expected)
        assert all(np.array_equal(a, b) for a, b in zip(laid, before, strict=True))


@every_dtype
def test_other_real_numbers_are_converted(dtype: str) -> None:
    made, whole = kernel(dtype=dtype), np.arange(-4, 5).reshape(3, 3)
    expected = made(*whole.astype(dtype))
    for form in (np.int8, np.int64, np.float32, np.float64, np.longdouble):
        assert same(made(*whole.astype(form)), expected)
    assert same(made(*whole.tolist()), expected)
    assert same(made(*np.abs(whole).astype(np.uint8)), made(*np.abs(whole).astype(dtype)))


def test_numbers_that_float32_cannot_hold_are_infinite_and_blank_their_state_without_a_warning() -> None:
    given = motion(3)
    given[1, 2, 0] = 1e300
    found = kernel(dtype="float32")(*given)
    assert np.isnan(found[2]).all()
    assert np.isfinite(found[:2]).all()


def test_constants_that_float32_cannot_hold_are_infinite() -> None:
    found = lw.compile(lambda arm, q: q * 1e39, ARM, dtype="float32")([1.0, -1.0, 1e-39])
    assert np.isinf(found[:2]).all()


def test_batches_broadcast() -> None:
    made, (q, qd, qdd) = kernel(), motion(2, 5)
    many = [(1,), (2, 5), (2, 1)], [(2, 0, 1), (1, 4), ()]
    for batches in ([(), (5,), ()], [(2, 1), (5,), ()], [(0,), (), ()], *many):
        given = [np.resize(a, (*b, 3)) for a, b in zip((q, qd, qdd), batches, strict=True)]
        whole = np.broadcast_shapes(*batches)
        full = [np.ascontiguousarray(np.broadcast_to(a, (*whole, 3))) for a in given]
        found = made(*given)
        assert found.shape == (*whole, 3)
        assert same(found, made(*full))


def test_arguments_by_name() -> None:
    made, (q, qd, qdd) = kernel(), motion(4)
    expected = made(q, qd, qdd)
    assert same(made(qdd=qdd, qd=qd, q=q), expected)
    assert same(made(q, qdd=qdd, qd=qd), expected)
    assert same(made(q, qd, qdd, out=None, threads=None), expected)
    out = np.empty((4, 3))
    assert made(q, qd, qdd, **{"".join(["o", "ut"]): out}) is out
    assert made(out=out, q=q, qd=qd, qdd=qdd) is out
    assert same(out, expected)


WRONG = [
    (np.ones(3, complex), TypeError, r"qd has dtype complex128 .*real numbers"),
    (np.ones(3, bool), TypeError, r"qd has dtype bool .*real numbers"),
    (["1", "2", "3"], TypeError, r"qd has dtype <U1 .*real numbers"),
    (np.array([1.0, "x", None], object), TypeError, r"qd has dtype object .*real numbers"),
    (None, TypeError, r"qd has dtype object .*real numbers"),
    (np.ones(3, "m8[s]"), TypeError, r"qd has dtype timedelta64"),
    (np.ma.array(np.ones(3), mask=[0, 1, 0]), TypeError, r"qd has masked elements .*filled"),
    ([[1.0] * 3, [1.0] * 2], TypeError, r"qd has rows of different lengths"),
    (np.ones(2), ValueError, r"qd has shape \(2,\) \(expected \(\.\.\., 3\)\)"),
    (np.ones((3, 1)), ValueError, r"qd has shape \(3, 1\)"),
    (np.ones(0), ValueError, r"qd has shape \(0,\)"),
    (1.0, ValueError, r"qd has shape \(\)"),
]


@every_dtype
def test_wrong_arrays_are_refused_by_name(dtype: str) -> None:
    made, (q, _, qdd) = kernel(dtype=dtype), motion(dtype=dtype)
    for value, kind, said in WRONG:
        with pytest.raises(kind, match=f"^{said}"):
            made(q, value, qdd)
        with pytest.raises(kind, match=f"^{said}"):
            made(q, value, qdd, out=np.empty(3, dtype))
    with raises(ValueError, "q (2,)", "qd ()", "qdd (4,)"):
        made(np.ones((2, 3)), q, np.ones((4, 3)))


def test_wrong_calls_are_refused_in_words() -> None:
    made, q = kernel(), np.ones(3)
    for call, said in (
        (lambda: made(), r"was not given q, qd, qdd"),
        (lambda: made(q), r"was not given qd, qdd"),
        (lambda: made(q, qdd=q), r"was not given qd$"),
        (lambda: made(q, q, q, q), r"takes 3 arrays \(q, qd, qdd\), not 4"),
        (lambda: made(q, q, q, qd=q), r"was given 'qd' twice"),
        (lambda: made(q, q, gdd=q), r"takes no 'gdd' \(expected q, qd, qdd, out, threads\)"),
        (lambda: made(q, q, q, output=q), r"takes no 'output'"),
    ):
        with pytest.raises(TypeError, match=rf"^inverse_dynamics {said}"):
            call()
    for threads in (0, -1, 1.5, "2", True):
        with raises(ValueError, "threads", "1"):
            made(q, q, q, threads=threads)


def test_a_wrong_number_of_threads_in_the_environment_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    made, given = kernel(), motion(3, 4)  # two axes: not for the direct way in
    for word in ("0", "-1", "many", "1.5"):
        monkeypatch.setenv("LINKWISE_THREADS", word)
        with pytest.raises(ValueError, match=f"LINKWISE_THREADS is '{re.escape(word)}'"):
            made(*given)
    monkeypatch.setenv("LINKWISE_THREADS", "3")
    assert same(made(*given), made(*given, threads=1))


# out


@every_dtype
@pytest.mark.parametrize("batch", [(), (1,), (9,), (2, 3), (0,)])
def test_out_is_filled_and_returned(batch: tuple[int, ...], dtype: str) -> None:
    for function, shape in ((lw.inverse_dynamics, (3,)), (lw.kinetic_energy, ()), (lw.inertia_matrix, (3, 3))):
        made = kernel(function, dtype)
        given = motion(*batch, dtype=dtype)[: len(made.interface.inputs)]
        out = np.full((*batch, *shape), 7.0, dtype)
        assert made(*given, out=out) is out
        assert same(out, np.asarray(made(*given)))
        for laid in (out.copy(order="F"), np.full((*batch, *shape, 2), 7.0, dtype)[..., 0]):
            made(*given, out=laid)
            assert same(laid, out)


def test_out_for_several_results() -> None:
    made = kernel(lw.formulations.udu)
    q = motion(4)[0]
    U, D = made(q)
    assert relative(U, lw.formulations.udu(ARM, q)[0]) < 1e-13
    assert U.shape == (4, 3, 3)
    assert D.shape == (4, 3)
    out = np.empty((4, 3, 3)), np.empty((4, 3))
    assert made(q, out=out) is out
    assert same(out[0], U)
    assert same(out[1], D)
    assert made(q, out=list(out)) is not out
    for wrong in (out[0], out[:1], (*out, out[0])):
        with pytest.raises(ValueError, match=r"^out has \d arrays \(expected 2\)"):
            made(q, out=wrong)
    with raises(ValueError, "out", "float64", "(4, 3)"):
        made(q, out=out[::-1])


@every_dtype
def test_wrong_out_is_refused_and_left_alone(dtype: str) -> None:
    made, given = kernel(dtype=dtype), motion(4, dtype=dtype)
    other = "float32" if dtype == "float64" else "float64"
    fixed = np.zeros((4, 3), dtype)
    fixed.flags.writeable = False
    wrong = [np.zeros((3, 4), dtype), np.zeros((4, 3), other), np.zeros((1, 4, 3), dtype), np.zeros((4, 3), int)]
    wrong += [np.zeros((4, 3), np.dtype(dtype).newbyteorder()), np.zeros(3, dtype), [[[0.0] * 3] * 4], 1.0, "out"]
    for out in wrong:
        with pytest.raises(ValueError, match=rf"^out is .*\(expected a NumPy array of {dtype}, \(4, 3\)\)"):
            made(*given, out=out)
        assert not isinstance(out, np.ndarray) or not out.any()
    with raises(ValueError, "out", "written"):
        made(*given, out=fixed)
    single = fixed[0]
    with raises(ValueError, "out", "written"):
        made(*(a[0] for a in given), out=single)
    assert not fixed.any()


def test_results_may_be_interleaved() -> None:
    made, given = kernel(), motion(8)
    out = np.lib.stride_tricks.as_strided(np.zeros(200), (8, 3), (24, 32))  # 24 i = 32 j only for i = 4, j = 3
    assert made(*given, out=out) is out
    assert np.array_equal(out, made(*given))


def test_elements_share_memory_where_their_bytes_do() -> None:
    rng = np.random.default_rng(3)
    found = set()
    for _ in range(2000):
        shape, strides, itemsize = rng.integers(1, 5, 3), rng.integers(-9, 10, 3), int(rng.integers(1, 5))
        firsts = (np.indices(shape).reshape(3, -1).T @ strides).tolist()
        touched = [first + k for first in firsts for k in range(itemsize)]
        expected = len(set(touched)) < len(touched)
        assert internal_overlap(shape.tolist(), strides.tolist(), itemsize) is expected
        found.add(expected)
    assert found == {True, False}
    assert internal_overlap((10**9, 3), (0, 8), 8)  # without an array of that size
    assert not internal_overlap((0, 3), (0, 8), 8)


@every_dtype
def test_out_whose_elements_share_memory_is_refused_and_left_alone(dtype: str) -> None:
    made, given = kernel(dtype=dtype), motion(4, dtype=dtype)
    memory = np.zeros(40, dtype)
    size = memory.itemsize
    for strides in ((0, size), (size, size), (2 * size, size), (3 * size, 0), (-size, size), (2 * size, 3 * size)):
        overlapping = np.lib.stride_tricks.as_strided(memory[20:], (4, 3), strides)
        for options in ({}, {"threads": 2}):
            with raises(ValueError, "out", "memory", "(4, 3)"):
                made(*given, out=overlapping, **options)
        with raises(ValueError, "out", "memory", "(3,)", "(0,)"):
            made(*(a[0] for a in given), out=np.lib.stride_tricks.as_strided(memory, (3,), (0,)))
        assert not memory.any()
    expected = made(*given)
    for strides in ((3 * size, size), (size, 4 * size), (-4 * size, size), (8 * size, 2 * size)):
        start = 20 if strides[0] < 0 else 0
        apart = np.lib.stride_tricks.as_strided(memory[start:], (4, 3), strides)
        assert made(*given, out=apart) is apart
        assert same(apart, expected)


def test_one_state_over_its_inputs() -> None:
    made = kernel(lw.inertia_matrix)
    for start in range(10):
        memory = np.zeros(14)
        memory[start : start + 3] = q = np.array([0.1, -0.4, 2.0])
        out = memory[:9].reshape(3, 3)
        made(memory[start : start + 3], out=out)
        assert same(out, made(q))


# the direct way in


@every_dtype
@pytest.mark.parametrize("function", [lw.inverse_dynamics, lw.inertia_matrix])
@pytest.mark.parametrize("batch", [(), (1,), (8,), (37,)])
def test_out_and_one_thread_enter_directly(function: Any, batch: tuple[int, ...], dtype: str) -> None:
    made = kernel(function, dtype)
    entry = made.entry(lambda *arrays, **named: "otherwise")
    given = list(motion(*batch, dtype=dtype)[: len(made.interface.inputs)])
    expected = made.general(*given, threads=1)
    out = np.full(expected.shape, 7, dtype)
    for options in ({}, {"out": out}, {"threads": 1}, {"out": out, "threads": 1}, {"threads": 1, "out": out}):
        out[...] = 7
        found = entry(*given, **options)
        assert same(found, expected)
        assert (found is out) == ("out" in options)
    if function is lw.inverse_dynamics:
        for k in range(3):
            mine = [a.copy() for a in given]
            assert entry(*mine, out=mine[k]) is mine[k]
            assert same(mine[k], expected)
    others: list[dict[str, Any]] = [{"threads": n} for n in (2, 0, True, 1.0, np.int64(1), None, "1")]
    others += [{"out": None}, {"out": out.tolist()}, {"out": out[None]}, {"nonsense": 1}, {"out": out, "nonsense": 1}]
    others += [{"threads": 1, "out": out, "nonsense": 1}, {"out": out.astype(">f8")}, {"out": out, "threads": 2}]
    if batch:
        others += [{"out": np.concatenate([out, out])}, {"out": out[0]}, {"out": out[:0]}]
    still = out.copy()
    still.flags.writeable = False
    for options in [*others, {"out": still}]:
        assert entry(*given, **options) == "otherwise"
    assert entry(*given, given[0]) == "otherwise"


@every_dtype
def test_memory_that_overlaps_enters_directly(dtype: str) -> None:
    made, size = kernel(dtype=dtype), 20
    entry = made.entry(lambda *arrays, **named: "otherwise")
    q, qd, qdd = motion(size, dtype=dtype)
    expected = made(q, qd, qdd)
    for shift in range(-3 * size, 3 * size + 1):
        memory = np.zeros(9 * size, dtype)
        at = 3 * size + shift
        mine = memory[at : at + 3 * size].reshape(size, 3)
        mine[...] = qd
        out = memory[3 * size : 6 * size].reshape(size, 3)
        assert entry(q, mine, qdd, out=out) is out
        assert same(out, expected)
        mine[...] = qd
        assert same(made(q, mine, qdd, out=out), expected)


def test_large_batches_are_not_for_the_direct_way() -> None:
    made = kernel()
    entry = made.entry(lambda *arrays, **named: "otherwise")
    most = made.interface.at_once
    for size, direct in ((most, True), (most + 1, False)):
        given = np.zeros((3, size, 3))
        for options in ({}, {"threads": 1}, {"out": np.empty((size, 3))}):
            assert isinstance(entry(*given, **options), np.ndarray) == direct
