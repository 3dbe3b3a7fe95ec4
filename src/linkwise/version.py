"""The version, which generated files name too."""

__version__ = "0.1.0"
