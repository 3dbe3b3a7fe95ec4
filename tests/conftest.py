"""The suite is about plain Python, which is the definition; tests/test_kernels.py holds the kernels against it."""

import pytest
from hypothesis import settings

import linkwise as lw
from effort import examples

settings.register_profile("suite", examples(100))
settings.load_profile("suite")


@pytest.fixture(autouse=True)
def plain_text(monkeypatch):
    monkeypatch.setenv("LINKWISE_CACHE", "off")  # code kept by an earlier run would hide a fault of the compiler
    with lw.use_kernels("never"):
        yield
