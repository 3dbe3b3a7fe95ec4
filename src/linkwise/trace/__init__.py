"""From a Python function and a robot to a program: the function is called once, on nodes."""

from .differentiate import Derivative, derivative
from .trace import Input, count, fewest, trace

__all__ = ["Derivative", "Input", "count", "derivative", "fewest", "trace"]
