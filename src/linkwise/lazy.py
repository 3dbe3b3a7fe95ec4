"""`cached_property` without a lock.

Python 3.11's holds one lock for all objects of a class while a value is computed: threads with different robots wait
for each other, and a forked child may deadlock. Values here have no side effects, so computing one twice is harmless.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

Value = TypeVar("Value")


class cached_property(Generic[Value]):  # noqa: N801  as Python's own
    """An attribute that is computed when first read, and stored in the object's `__dict__`."""

    def __init__(self, compute: Callable[[Any], Value]) -> None:
        self._compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> cached_property[Value]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> Value: ...
    def __get__(self, instance: object | None, owner: type) -> Any:
        if instance is None:
            return self
        value = self._compute(instance)
        return instance.__dict__.setdefault(self._name, value)
