"""Equilibria, and linear models about states, in continuous and in discrete time."""
