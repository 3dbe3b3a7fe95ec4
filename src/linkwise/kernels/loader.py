"""Loads the code of a text from the cache, or compiles it."""

from __future__ import annotations

from collections.abc import Callable

from . import cache
from .llvm import environment
from .lock import LOCK
from .target import CodeTarget, Loaded


def load_or_compile(name: str, text: str, target: CodeTarget[Loaded]) -> Loaded:
    """The code of a text, from the cache or compiled and stored. `name` is the kind of text."""
    key = cache.key(name, text, repr(target), *environment())
    return load_or_compile_as(key, cache.load(key), target, lambda: text)


def load_or_compile_as(
    key: str,
    cached: cache.Entry | None,
    target: CodeTarget[Loaded],
    text: Callable[[], str],
    metadata: Callable[[], dict[str, str]] = dict,
) -> Loaded:
    """The same for a key that is known without the text. `cached` is its cache entry."""
    with LOCK:
        if cached is not None:
            code = target.load(binary=cached[1])
            code.metadata, code.from_cache = cached[0], True
            return code
        code = target.load(text=text())
        code.metadata = metadata()
        cache.store(key, code.metadata, code.binary)
        return code
