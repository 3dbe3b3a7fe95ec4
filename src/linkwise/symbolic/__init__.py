"""Formulas to read: normal forms, LaTeX, SymPy."""
