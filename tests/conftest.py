"""The suite is about the plain text, which is the definition; tests/test_kernels.py holds the kernels against it."""

import pytest

import linkwise as lw


@pytest.fixture(autouse=True)
def plain_text():
    with lw.use_kernels("never"):
        yield
