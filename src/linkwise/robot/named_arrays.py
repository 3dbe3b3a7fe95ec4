"""Arrays with more than numbers: names of columns or elements, the mark `lw.per_trajectory`, gradients."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

MAX_SHOWN = 8
OF_LINKS = ("wrench", "point")  # arrays that have a row for each link
GRADIENTS = "; lw.inverse_dynamics(robot, ...) and the other functions of dynamics give gradients and can be traced"


@dataclass(frozen=True, eq=False)
class PerTrajectory:
    """An array whose first axes are those of the batch; see `lw.per_trajectory`.

    It is not an array itself: functions that do not know the mark refuse it.
    """

    values: Any

    def __repr__(self) -> str:
        return f"lw.per_trajectory({self.values!r})"


def labels_of(value: Any) -> list[Any] | None:
    """The names of an array's columns, or of its elements if it has one axis; None without names.

    0, 1, 2, ... are not names. Of a list, the names of the first row that has any.
    """
    if type(value) is np.ndarray and value.dtype.names is None:
        return None
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        rows = (labels_of(row) for row in value if not isinstance(row, (float, int)))
        return next((labels for labels in rows if labels is not None), None)
    names = getattr(getattr(value, "dtype", None), "names", None)  # structured arrays
    if names is None and isinstance(value, tuple):
        names = getattr(value, "_fields", None)  # named tuples
    if names is None:
        names = getattr(value, "column_names", None)  # pyarrow
    if names is None and hasattr(value, "struct"):  # polars
        names = value.struct.fields if str(value.dtype).startswith("Struct(") else None
    if names is None and hasattr(value, "to_numpy"):  # pandas, polars, xarray, ...
        names = getattr(value, "columns", None)
        if names is None and getattr(value, "dims", None):
            names = dict(value.coords).get(value.dims[-1])
        elif names is None:
            names = getattr(value, "index", None)
    if names is None or callable(names):
        return None
    labels = [label.item() if isinstance(label, np.generic) else label for label in np.asarray(names, dtype=object)]
    return None if labels == list(range(len(labels))) else labels


def row_labels_of(value: Any) -> list[str]:
    """The names of a table's rows; empty if they are numbers or times."""
    rows = getattr(value, "index", ()) if hasattr(value, "to_numpy") and getattr(value, "ndim", 1) == 2 else ()
    labels = [] if callable(rows) else list(rows)
    return labels if all(isinstance(label, str) for label in labels) else []


def refuse_labels(name: str, value: Any, hint: str = "") -> None:
    """Raise an error for an array with named columns or rows, or with a mark."""
    if type(value) is np.ndarray and value.dtype.names is None:  # the usual case
        return
    refuse_mark(name, value)
    labels = labels_of(value)
    if labels is None and (rows := row_labels_of(value)):
        of_links = f"each link, in the order of robot.names: {name}.to_numpy()"
        of_states = f"each state; {name}.T.to_numpy(), if these are joints"
        raise TypeError(
            f"{name} has rows named {reprs(rows)}, but names of rows are not used here (expected arrays without names,"
            f" one row for {of_links if name in OF_LINKS else of_states})"
        )
    if labels is not None:
        raise TypeError(
            f"{name} has names: {reprs(labels)}, but names are not used here (expected arrays without names, as"
            f" .to_numpy() gives them, in the documented order{hint})"
        )


def refuse_mark(name: str, value: Any) -> None:
    """Raise an error for an array with the mark `lw.per_trajectory`."""
    if isinstance(value, PerTrajectory):
        raise TypeError(
            f"{name} is marked lw.per_trajectory, but the mark is not used here (expected an array without the mark,"
            " which is for parameters= of simulations and rollouts, and for samples of sweeps)"
        )


def reprs(labels: Any) -> str:
    labels = list(labels)
    shown = [*labels[: MAX_SHOWN - 1], labels[-1]] if len(labels) > MAX_SHOWN else labels
    return ", ".join(map(repr, shown)) + (f" ({len(labels)} in all)" if len(labels) > MAX_SHOWN else "")


def refuse_gradients(name: str, value: Any) -> None:
    """Raise an error for numbers traced by JAX, and for torch tensors that require a gradient."""
    if isinstance(value, (list, tuple)):
        for x in value:
            refuse_gradients(name, x)
    elif is_tracer(value):
        raise TypeError(
            f"{name} is traced by JAX (jit, grad or vmap), so that its numbers are not known (expected an"
            f" array{GRADIENTS})"
        )
    elif getattr(value, "requires_grad", False) is True:
        raise TypeError(f"{name} requires a gradient, which is not computed here (expected x.detach(){GRADIENTS})")


def gradient_error(error: Exception, name: str) -> TypeError | None:
    """Our error for an error of torch or JAX from a function that mixes their gradients with NumPy; else None."""
    of_jax = type(error).__module__.startswith("jax")
    if not of_jax and "requires grad" not in str(error):
        return None
    what = "what JAX traces (jit, grad or vmap)" if of_jax else "a tensor that requires a gradient"
    result = TypeError(f"the function {name!r} computes with {what} (expected numbers: x.detach(){GRADIENTS})")
    return result.with_traceback(error.__traceback__)


def call_with_numbers(function: Callable[..., Any], name: str, /, *arguments: Any, **keywords: Any) -> Any:
    """What a user's function returns; errors of torch and JAX about gradients are explained, by its name."""
    try:
        return function(*arguments, **keywords)
    except (RuntimeError, TypeError) as error:
        explained = gradient_error(error, name)
        if explained is None:
            raise
        raise explained from None


def plain_numbers(name: str, value: Any, expected: str, hint: str = "") -> np.ndarray:
    """An array of floats; names and gradients are refused."""
    refuse_labels(name, value, hint)
    refuse_gradients(name, value)
    try:
        return np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        raise TypeError(f"{name} is {value!r} (expected {expected})") from None


def is_tracer(value: Any) -> bool:
    """Whether a value is a tracer of JAX."""
    kind = getattr(getattr(sys.modules.get("jax"), "core", None), "Tracer", None)
    return kind is not None and isinstance(value, kind)
