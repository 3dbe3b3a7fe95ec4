"""Pictures of robots, still and moving."""

from .draw import draw

__all__ = ["draw"]
