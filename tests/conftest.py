"""The suite is about plain Python, which is the definition; tests/test_kernels.py holds the kernels against it."""

from collections.abc import Iterator

import pytest

import linkwise as lw


@pytest.fixture(autouse=True)
def plain_text(cache_of_this_run: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("LINKWISE_CACHE", "off")  # code kept by an earlier test would hide a fault of the compiler
    with lw.use_kernels("never"):
        yield
