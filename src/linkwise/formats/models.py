"""Robots from the model objects of other libraries, which are recognised by their class and never imported."""

from __future__ import annotations

from typing import Any

from ..robot import Robot
from .mujoco_model import from_mujoco
from .pinocchio_model import from_pinocchio

__all__ = ["from_mujoco", "from_pinocchio", "robot_of_model"]


def robot_of_model(model: Any) -> Robot | None:
    """The robot of a `pinocchio.Model` or a `mujoco.MjModel`; None for any other object."""
    package, name = type(model).__module__.partition(".")[0], type(model).__name__
    if package == "pinocchio" and name == "Model":
        return from_pinocchio(model)
    if package == "mujoco" and name == "MjModel":
        return from_mujoco(model)
    return None
