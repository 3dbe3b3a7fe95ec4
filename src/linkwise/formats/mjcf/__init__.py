"""MJCF, the format of MuJoCo: MuJoCo compiles the file, and its model becomes a robot."""

from .reader import read

__all__ = ["read"]
