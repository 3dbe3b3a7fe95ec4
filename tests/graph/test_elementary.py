"""exp, log, tanh, asin, acos and atan2 in compiled code: against mpmath, in units in the last place."""

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
ARM = lw.chain(2)
FUNCTIONS = {
    "exp": (np.exp, mpmath.exp),
    "log": (np.log, mpmath.log),
    "tanh": (np.tanh, mpmath.tanh),
    "asin": (np.arcsin, mpmath.asin),
    "acos": (np.arccos, mpmath.acos),
    "atan2": (np.arctan2, mpmath.atan2),
}
every_dtype = pytest.mark.parametrize("dtype", rest_slow(["float64", "float32"], ["float64"]))
both_ways = pytest.mark.parametrize("fused", rest_slow([True, False], [True]), ids=["fused", "unfused"])


def values(arm: lw.Robot, q: Any) -> Any:
    """One after another: of q[0], atan2 of both, and of what becomes infinite on the way."""
    far = q[0] * 1e300 * 1e300
    one = [FUNCTIONS[name][0](q[0]) for name in FUNCTIONS if name != "atan2"]
    return np.stack([*one, np.arctan2(q[0], q[1]), np.exp(far), np.tanh(far), np.arctan2(far, q[1]), np.log(abs(far))])


@cache
def kernel(dtype: str, vector_bytes: int = 0, fused: bool = True) -> Compiled:
    here = host_target()
    target = replace(here, vector_bytes=vector_bytes or here.vector_bytes, fused=fused and here.fused)
    return Compiled(KernelSpec(values, ARM, dtype, {}, (), target))


def spread(rng: np.random.Generator, low: float, high: float, count: int) -> np.ndarray:
    return np.exp2(rng.uniform(np.log2(low), np.log2(high), count)) * rng.choice([-1.0, 1.0], count)


def arguments(name: str, dtype: str, count: int) -> np.ndarray:
    """Pairs (count, 2) in which the function has a value."""
    rng = np.random.default_rng(len(name))
    tiny, huge, most = (1e-300, 1e300, 700.0) if dtype == "float64" else (1e-37, 1e37, 87.0)
    part = count // 3
    first = {
        "exp": lambda: [rng.uniform(-most, most, part), rng.uniform(-1, 1, part), spread(rng, 1e-20, 1, part)],
        "log": lambda: np.abs(
            [spread(rng, tiny, huge, part), rng.uniform(0.5, 2, part), 1 + spread(rng, 1e-7, 0.2, part)]
        ),
        "tanh": lambda: [rng.uniform(-20, 20, part), rng.uniform(-1, 1, part), spread(rng, tiny, 1, part)],
        "atan2": lambda: [spread(rng, tiny, huge, part), rng.normal(size=part), rng.normal(size=part)],
    }.get(
        name, lambda: [rng.uniform(-1, 1, part), 1 - np.abs(spread(rng, 1e-7, 0.6, part)), spread(rng, tiny, 1, part)]
    )
    x = np.concatenate(first())
    steep = np.concatenate(
        [spread(rng, tiny, huge, part), rng.normal(size=part), x[2 * part :] * rng.uniform(0.4, 2.5, part)]
    )
    return np.stack([x, steep], axis=-1).astype(dtype)


@every_dtype
@both_ways
def test_functions_are_within_one_unit_in_the_last_place(dtype: str, fused: bool) -> None:
    bound = 0.9 if dtype == "float64" else 0.51
    for k, (name, (_, exact)) in enumerate(FUNCTIONS.items()):
        x = arguments(name, dtype, 240)
        found = kernel(dtype, fused=fused)(x)[:, k].tolist()
        with mpmath.workprec(200):
            used = x.tolist() if name == "atan2" else x[:, :1].tolist()
            wanted = [exact(*map(mpmath.mpf, row)) for row in used]
            units = np.spacing(np.abs(np.array([float(y) for y in wanted])).astype(dtype)).tolist()
            errors = [float(abs(a - b) / mpmath.mpf(u)) for a, b, u in zip(found, wanted, units, strict=True)]
        assert max(errors) < bound, name


@every_dtype
@both_ways
def test_every_width_gives_the_same_bits(dtype: str, fused: bool) -> None:
    x = np.concatenate([arguments(name, dtype, 30) for name in FUNCTIONS])
    widths = [8 if dtype == "float64" else 4, 16, 32, 64]
    results = [kernel(dtype, width, fused)(x) for width in widths if width <= host_target().vector_bytes]
    one = np.array([kernel(dtype, fused=fused)(row) for row in x])
    assert all(np.array_equal(one, other, equal_nan=True) for other in results)


@every_dtype
def test_values_at_the_ends_and_outside_are_those_of_numpy(dtype: str) -> None:
    special = [0.0, -0.0, 1.0, -1.0, 1.5, -1.5, 0.5, -0.5, 1e30, -1e30, 1e-38, -1e-38, 3e-45, -3e-45]
    x = np.array([(a, b) for a in special for b in special], dtype=dtype)
    with np.errstate(all="ignore"):
        expected = np.array([values(ARM, row) for row in x], dtype=dtype)
    found = kernel(dtype)(x)
    assert np.array_equal(np.isnan(found), np.isnan(expected))
    assert np.array_equal(
        np.signbit(found), np.signbit(expected) & ~np.isnan(expected) | np.signbit(found) & np.isnan(found)
    )
    with np.errstate(invalid="ignore"):
        assert np.all(
            np.isnan(expected) | (found == expected) | (np.abs(found - expected) <= 2 * np.spacing(np.abs(expected)))
        )
