"""Kernels as operations of other libraries: torch."""
