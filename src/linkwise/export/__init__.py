"""Functions of a robot as text: C and Python source, LaTeX, SymPy expressions."""

from .c_files import CSource, c_source
from .formulas import latex, python_source, sympy

__all__ = ["CSource", "c_source", "latex", "python_source", "sympy"]
