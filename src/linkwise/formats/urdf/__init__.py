"""URDF: links and joints as elements of XML, from ROS. What is read, skipped and refused: docs/files.md."""

from .reader import read, robot_of

__all__ = ["read", "robot_of"]
