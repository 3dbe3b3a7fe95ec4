"""Functions of a robot as text: C and Python source, LaTeX, SymPy expressions."""

from .c_files import CSource, c_source
from .formulas import latex, python_source, sympy
from .motion_equations import equations_of_motion

__all__ = ["CSource", "c_source", "equations_of_motion", "latex", "python_source", "sympy"]
