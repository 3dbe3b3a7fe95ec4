"""Programs as text and as formulas. Imports no compiler."""

from .export import python_source, sympy

__all__ = ["python_source", "sympy"]
