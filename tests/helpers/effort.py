"""How much is tried: `make test` takes some of the repetitions, `make test-slow` the others; both see every law."""

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest
from hypothesis import settings

THOROUGH = os.environ.get("LINKWISE_TESTS") == "thorough"


def rest_slow(values: Sequence[Any], quick: Sequence[Any]) -> list[Any]:
    """All values for `parametrize`, tuples for several parameters; those that are not quick run with the slow tests."""
    assert all(value in values for value in quick)
    together = [value if type(value) is tuple else (value,) for value in values]
    marks = [() if value in quick else pytest.mark.slow for value in values]
    return [pytest.param(*parts, marks=mark) for parts, mark in zip(together, marks, strict=True)]


def in_turn(values: Iterable[Any]) -> Callable[[Callable[[Any], None]], Callable[[], None]]:
    """One test of all values, where a test of each would cost more than what it tests; a failure names its value."""
    values = list(values)

    def decorate(test: Callable[[Any], None]) -> Callable[[], None]:
        def every() -> None:
            for value in values:
                try:
                    test(value)
                except BaseException as error:
                    error.add_note(f"in turn: {value}")
                    raise

        every.__name__, every.__doc__ = test.__name__, test.__doc__
        return every

    return decorate


def examples(most: int) -> settings:
    """So many examples of hypothesis where the tests are thorough, and at most 20 otherwise."""
    return settings(max_examples=most if THOROUGH else min(most, 20), deadline=None)
