"""From files to robots and back. The only room that reads robot files."""

from .files import LIBRARY, load, save

__all__ = ["LIBRARY", "load", "save"]
