"""From a Python function and a robot to a program: the function is called once, on nodes."""

from .tracing import Input, cheapest_method, count, trace

__all__ = ["Input", "cheapest_method", "count", "trace"]
