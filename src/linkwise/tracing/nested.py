"""Nested values: tuples and objects whose parts are nested values, down to scalars and arrays, the leaves."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..graph.node import is_scalar


class Placeholder:
    """A leaf that stands for a number."""


def is_leaf(value: Any) -> bool:
    return type(value) is float or hasattr(value, "dtype") or is_scalar(value) or isinstance(value, Placeholder)


def parts(value: Any) -> list[tuple[str, Any]]:
    """The parts of a value that is no leaf, by name."""
    if isinstance(value, tuple):
        return [(str(k), part) for k, part in enumerate(value)]
    slots = [name for kind in type(value).__mro__ for name in getattr(kind, "__slots__", ())]
    names = slots or list(vars(value))
    return [(name, getattr(value, name)) for name in names]


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """The leaves, each with where it is."""
    if is_leaf(value):
        yield path, value
        return
    for name, part in parts(value):
        yield from leaves(part, f"{path}.{name}")


def combined(leaf: Callable[..., Any], *values: Any) -> Any:
    """One value from several of the same structure: `leaf` of their leaves. Tuples that are shorter get zeros."""
    whole = max(values, key=len) if isinstance(values[0], tuple) else values[0]
    if is_leaf(whole):
        return leaf(*values)
    if isinstance(whole, tuple):
        zeros = [combined(lambda _: 0.0, part) for part in whole]
        columns = zip(*((*value, *zeros[len(value) :]) for value in values), strict=True)
        new = [combined(leaf, *column) for column in columns]
        return type(whole)(*new) if hasattr(whole, "_fields") else tuple(new)
    copy = object.__new__(type(whole))
    for name, _ in parts(whole):
        object.__setattr__(copy, name, combined(leaf, *(getattr(value, name) for value in values)))
    return copy


def refilled(value: Any, new: Sequence[Any]) -> Any:
    """The value with other leaves, in order."""
    given = iter(new)
    return combined(lambda _: next(given), value)
