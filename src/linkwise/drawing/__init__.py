"""Pictures of robots, still and moving."""

from .animation import Animation, animation
from .draw import draw
from .motion import Motion
from .scene import Shown

__all__ = ["Animation", "Motion", "Shown", "animation", "draw"]
