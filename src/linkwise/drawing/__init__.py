"""Pictures of robots, still and moving."""

from .camera import View
from .film import Animation, animate
from .motion import Motion
from .pictures import draw
from .scene import SceneOptions

__all__ = ["Animation", "Motion", "SceneOptions", "View", "animate", "draw"]
