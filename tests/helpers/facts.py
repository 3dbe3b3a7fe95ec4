"""Errors and warnings by their type and the facts that they name: names, numbers and values, not sentences."""

import re
from typing import Any

import pytest


def raises(error: type[BaseException] | tuple[type[BaseException], ...], *facts: object) -> Any:
    """As `pytest.raises`, of an error whose message has all these facts as whole words, in any order."""
    return pytest.raises(error, match=pattern(facts))


def warns(category: type[Warning], *facts: object) -> Any:
    """As `pytest.warns`, of a warning whose message has all these facts as whole words, in any order."""
    return pytest.warns(category, match=pattern(facts))


def names(message: str, *facts: object) -> bool:
    """Whether a message has all these facts as whole words, in any order."""
    return re.match(pattern(facts), message) is not None


def pattern(facts: tuple[object, ...]) -> str:
    return r"(?s)\A" + "".join(rf"(?=.*{whole(str(fact))})" for fact in facts)


def whole(fact: str) -> str:
    """A fact that no letter or digit continues, and a number no point and digit either."""
    before = r"(?<!\w)(?<!\d\.)" if fact[0].isalnum() else ""
    after = r"(?!\w)(?!\.\d)" if fact[-1].isalnum() else ""
    return before + re.escape(fact) + after
