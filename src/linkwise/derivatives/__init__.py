"""Derivatives of functions: from their graphs, in closed form, times vectors, packed; equilibria and linear models."""

from .derived import packed

__all__ = ["packed"]


def __dir__() -> list[str]:
    return __all__  # without the modules that define them
