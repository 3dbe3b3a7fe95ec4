"""Derivatives of functions: from their graphs, in closed form, times vectors; and their results, packed."""
