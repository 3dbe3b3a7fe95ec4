"""Traces a Python function on a robot: the function is called once, on nodes, and the result is a program."""

from .tracing import Input, cheapest_method, count, trace

__all__ = ["Input", "cheapest_method", "count", "trace"]
