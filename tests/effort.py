"""How much is tried: `make test` takes some of the repetitions, `make test-slow` the others; both see every law."""

import os
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import settings

THOROUGH = os.environ.get("LINKWISE_TESTS") == "thorough"


def rest_slow(values: Sequence[Any], quick: Sequence[Any]) -> list[Any]:
    """All values for `parametrize`; those that are not among the quick ones run with the slow tests."""
    assert all(any(value is chosen or value == chosen for value in values) for chosen in quick)
    return [value if value in quick else pytest.param(value, marks=pytest.mark.slow) for value in values]


def examples(most: int) -> settings:
    """So many examples of hypothesis where the tests are thorough, and at most 20 otherwise."""
    return settings(max_examples=most if THOROUGH else min(most, 20), deadline=None)
