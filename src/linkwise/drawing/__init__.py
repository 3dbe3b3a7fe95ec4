"""Pictures of robots, still and moving."""

from .animation import Animation, animated
from .draw import draw
from .motion import Motion
from .scene import Shown

__all__ = ["Animation", "Motion", "Shown", "animated", "draw"]
