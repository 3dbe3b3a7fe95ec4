"""From a Python function and a robot to a program: the function is called once, on nodes."""

from .binding import bind, random_bindings, refuse_symbols, symbols_of
from .tracing import Input, cheapest_method, count, trace

__all__ = ["Input", "bind", "cheapest_method", "count", "random_bindings", "refuse_symbols", "symbols_of", "trace"]
