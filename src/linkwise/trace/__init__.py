"""From a Python function and a robot to a program: the function is called once, on nodes."""

from .binding import bind, draws, refuse_symbols, symbols_of
from .tracing import Input, count, fewest, trace

__all__ = [
    "Input",
    "bind",
    "count",
    "draws",
    "fewest",
    "refuse_symbols",
    "symbols_of",
    "trace",
]
