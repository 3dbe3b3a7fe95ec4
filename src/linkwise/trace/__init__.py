"""From a Python function and a robot to a program: the function is called once, on nodes."""

from .trace import Input, count, fewest, trace

__all__ = ["Input", "count", "fewest", "trace"]
