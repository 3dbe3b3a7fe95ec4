"""Programs as text and as formulas. Imports no compiler."""

from .export import latex, python_source, sympy

__all__ = ["latex", "python_source", "sympy"]
