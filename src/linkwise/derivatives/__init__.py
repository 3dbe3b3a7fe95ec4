"""Derivatives of functions: from their graphs, in closed form, times vectors, packed; equilibria and linear models."""

from .packing import packed

__all__ = ["packed"]
