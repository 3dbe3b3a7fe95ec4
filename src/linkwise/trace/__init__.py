"""From a Python function and a robot to a program: the function is called once, on nodes."""

from ..graph import Collector, written
from .binding import bind, draws, symbols_of
from .differentiate import Derivative, derivative
from .tracing import Input, count, fewest, trace

__all__ = [
    "Collector",
    "Derivative",
    "Input",
    "bind",
    "count",
    "derivative",
    "draws",
    "fewest",
    "symbols_of",
    "trace",
    "written",
]
