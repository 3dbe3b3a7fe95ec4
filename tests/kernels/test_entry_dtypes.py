"""Calls with every mixture of dtypes, plain and compiled."""

from typing import Any

import numpy as np
import pytest

import linkwise as lw
from entry_robots import PLANAR, compiled
from facts import raises
from robots import relative

pytest.importorskip("llvmlite")


# dtypes


FORMS = {
    "float64": np.float64, "float32": np.float32, "longdouble": np.longdouble, "int64": np.int64,
    "uint8": np.uint8, "list": lambda a: a.tolist(), "whole": lambda a: a.astype(int).tolist(),
    "other endian": lambda a: a.astype(">f4"),
}  # fmt: skip


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
        pairs = [(forms[name], array) for name, array in zip(names, (q, qd, wrench), strict=True)]
        mixed = [xp.asarray(array, dtype=form) if form else array.tolist() for form, array in pairs]
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
            with lw.use_kernels(mode), raises(TypeError, "qd", "float16"):
                call()
