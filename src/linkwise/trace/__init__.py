"""From a Python function and a robot to a program: the function is called once, on nodes."""

from .binding import bind, symbols_of
from .differentiate import Derivative, derivative
from .tracing import Input, count, fewest, trace

__all__ = ["Derivative", "Input", "bind", "count", "derivative", "fewest", "symbols_of", "trace"]
