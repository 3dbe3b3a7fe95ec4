"""MJCF, the format of MuJoCo: bodies in bodies, their joints, and inertia that is stated or follows from the geoms."""

from .reader import read

__all__ = ["read"]
