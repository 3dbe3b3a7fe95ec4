"""Derivatives of functions: from their graphs, in closed form, times vectors, packed; equilibria and linear models."""
