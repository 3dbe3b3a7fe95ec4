"""Source files to use elsewhere: a function and a robot in, text out that says what it is and where it comes from."""

from .c_source import CSource, c_source

__all__ = ["CSource", "c_source"]
