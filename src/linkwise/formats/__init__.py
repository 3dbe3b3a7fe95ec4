"""From files to robots and back. The only package that reads robot files."""

from .files import LIBRARY, load, save

__all__ = ["LIBRARY", "load", "save"]
