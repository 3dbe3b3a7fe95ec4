"""The compiled sine and cosine, against mpmath in units in the last place; every width gives the same bits."""

from dataclasses import replace
from functools import cache
from typing import Any

import mpmath
import numpy as np
import pytest

import linkwise as lw
from effort import rest_slow
from linkwise.kernels.kernel import Compiled
from linkwise.kernels.spec import KernelSpec
from linkwise.targets.cpu.host import host_target

pytestmark = pytest.mark.optimized

pytest.importorskip("llvmlite")
ONE = lw.chain(1)
HALF_PI = mpmath.mpf("1.5707963267948966192313216916397514420985846996875529104874722961539082")
DTYPES = ["float64", "float32"]
every_dtype = pytest.mark.parametrize("dtype", DTYPES)
both_ways = pytest.mark.parametrize("fused", rest_slow([True, False], [True]), ids=["fused", "unfused"])


def waves(arm: lw.Robot, q: Any) -> tuple[Any, Any]:
    return np.sin(q), np.cos(q)


@cache
def kernel(dtype: str, vector_bytes: int = 0, fused: bool = True) -> Compiled:
    here = host_target()
    fused = fused and here.fused
    target = replace(here, vector_bytes=vector_bytes or here.vector_bytes, fused=fused)
    return Compiled(KernelSpec(waves, ONE, dtype, {}, (), target))


def found(x: np.ndarray, **options: Any) -> np.ndarray:
    """Sine and cosine of each number: (2, count)."""
    return np.stack(kernel(x.dtype.name, **options)(x[:, None]))[..., 0]


def ulps(x: np.ndarray, **options: Any) -> float:
    """The largest error in sight, in units in the last place of the exact result."""
    worst = 0.0
    with mpmath.workprec(200):
        for wave, row in zip((mpmath.sin, mpmath.cos), found(x, **options).tolist(), strict=True):
            exact = [wave(mpmath.mpf(number)) for number in x.tolist()]
            size = np.abs(np.array([float(y) for y in exact])).astype(x.dtype)
            units = map(mpmath.mpf, np.spacing(size).tolist())
            worst = max(worst, *(float(abs(a - b) / u) for a, b, u in zip(row, exact, units, strict=True)))
    return worst


def spread(dtype: str, low: float, high: float, count: int, seed: int = 0) -> np.ndarray:
    """Numbers of both signs whose logarithms are spread evenly."""
    rng = np.random.default_rng(seed)
    sizes = np.exp2(rng.uniform(np.log2(low), np.log2(high), count))
    return (sizes * rng.choice([-1.0, 1.0], count)).astype(dtype)


def neighbours(centres: list[mpmath.mpf], dtype: str) -> np.ndarray:
    """The numbers next to each centre on either side."""
    nearest = np.array([float(c) for c in centres]).astype(dtype)
    up, down = (np.nextafter(nearest, np.array(end, dtype)) for end in (np.inf, -np.inf))
    every = np.concatenate([nearest, up, down])
    return np.concatenate([every, -every])


def hardest(dtype: str, exponent: int) -> float:
    """The number m 2ᵉ, m of the type's digits, that comes nearest to a multiple of π/2, by continued fractions."""
    digits = 53 if dtype == "float64" else 24
    with mpmath.workprec(1400):
        ratio = mpmath.ldexp(1 / (2 * mpmath.atan(1)), exponent)
        p0, q0, p1, q1, x = 0, 1, 1, 0, ratio
        best = 1
        while True:
            whole = int(mpmath.floor(x))
            p0, q0, p1, q1 = p1, q1, whole * p1 + p0, whole * q1 + q0
            if q1 >= 1 << digits:
                return float(mpmath.ldexp(best, exponent))
            best = q1
            x = 1 / (x - whole)


@every_dtype
@both_ways
def test_within_2_ulp_up_to_100000(dtype: str, fused: bool) -> None:
    rng = np.random.default_rng(1)
    even = rng.uniform(-1e5, 1e5, 2000).astype(dtype)
    small = rng.uniform(-10.0, 10.0, 2000).astype(dtype)
    assert ulps(np.concatenate([even, small, spread(dtype, 1e-8, 1e5, 2000)]), fused=fused) <= 2.0


@every_dtype
@both_ways
def test_within_2_ulp_beside_multiples_of_a_quarter_turn(dtype: str, fused: bool) -> None:
    turns = [*range(1, 40), *np.random.default_rng(2).integers(40, 63661, 400).tolist()]
    with mpmath.workprec(200):
        assert ulps(neighbours([k * HALF_PI for k in turns], dtype), fused=fused) <= 2.0
        assert ulps(neighbours([(k + 0.5) * HALF_PI for k in turns], dtype), fused=fused) <= 2.0


@every_dtype
def test_within_2_ulp_on_either_side_of_100000(dtype: str) -> None:
    centres = [mpmath.mpf(1e5), HALF_PI * 63661, HALF_PI * 63662, HALF_PI * 63663, HALF_PI * 63664]
    assert ulps(neighbours(centres, dtype)) <= 2.0


@every_dtype
@both_ways
def test_within_2_ulp_for_large_numbers_to_the_largest(dtype: str, fused: bool) -> None:
    top = float(np.finfo(dtype).max)
    with np.errstate(over="ignore"):  # those are among the worst of 60,000
        worst = np.array([-1.8841206854574504e108, -7.253873023998052e167, 1.5805420262486609e258, top, -top], dtype)
    x = np.concatenate([spread(dtype, 1e5, top, 1500), worst[np.isfinite(worst)]])
    assert ulps(x, fused=fused) <= 2.0


@every_dtype
@both_ways
def test_within_2_ulp_for_the_numbers_nearest_to_multiples_of_a_quarter_turn(dtype: str, fused: bool) -> None:
    last = 970 if dtype == "float64" else 103
    x = np.array([hardest(dtype, exponent) for exponent in range(-60, last, 1 if dtype == "float32" else 5)], dtype)
    assert np.abs(found(x)).min() < (1e-16 if dtype == "float64" else 1e-7)
    assert ulps(np.concatenate([x, -x]), fused=fused) <= 2.0


@every_dtype
@both_ways
def test_small_numbers_are_their_own_sine(dtype: str, fused: bool) -> None:
    kind = np.finfo(dtype)
    least = float(kind.smallest_subnormal)
    x = np.concatenate(
        [spread(dtype, least * 2, float(kind.tiny), 200), spread(dtype, float(kind.tiny), float(kind.eps) / 8, 200)]
    )
    x = np.concatenate([x, np.array([least, -least, kind.tiny, -kind.tiny], dtype)])
    sine, cosine = found(x, fused=fused)
    assert np.array_equal(sine, x)
    assert (cosine == 1.0).all()


@every_dtype
def test_zeros_and_what_is_not_finite(dtype: str) -> None:
    x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0], dtype)
    for vector_bytes in (0, 16):
        sine, cosine = found(x, vector_bytes=vector_bytes)
        assert np.array_equal(sine[:2], [0.0, 0.0])
        assert np.array_equal(cosine[:2], [1.0, 1.0])
        assert np.isnan([sine[2:5], cosine[2:5]]).all()
        assert np.isfinite([sine[5], cosine[5]]).all()


@every_dtype
@both_ways
def test_every_width_gives_the_same_bits_wherever_a_number_stands(dtype: str, fused: bool) -> None:
    top = float(np.finfo(dtype).max)
    x = np.concatenate([spread(dtype, 1e-3, 1e5, 999), spread(dtype, 1e5, top, 4), spread(dtype, 1e-30, 1e30, 500)])
    x = np.random.default_rng(3).permutation(x)
    expected = found(x, fused=fused)
    for vector_bytes in (x.itemsize, 16, 32, 64):
        for shift in (0, 1, 5):
            rolled = found(np.roll(x, shift), vector_bytes=vector_bytes, fused=fused)
            assert rolled.tobytes() == np.roll(expected, shift, axis=1).tobytes()


@every_dtype
def test_sine_and_cosine_are_odd_and_even(dtype: str) -> None:
    x = np.abs(spread(dtype, 1e-3, float(np.finfo(dtype).max), 2000))
    sine, cosine = found(x)
    assert np.array_equal(found(-x), [-sine, cosine])
