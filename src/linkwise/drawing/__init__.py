"""Pictures of robots, still and moving."""

from .film import Animation, animated
from .motion import Motion
from .pictures import draw
from .scene import Shown

__all__ = ["Animation", "Motion", "Shown", "animated", "draw"]
