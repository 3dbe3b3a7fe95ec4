"""Robots and joints of the model objects of other libraries, which are recognised by their class and never imported."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..robot import Robot
from .mujoco_model import from_mujoco, mujoco_joints
from .pinocchio_model import from_pinocchio, joint_parts

__all__ = ["ModelJoint", "ModelJoints", "from_mujoco", "from_pinocchio", "joints_of_model", "robot_of_model"]


@dataclass(frozen=True)
class ModelJoint:
    """A joint, with where its numbers are in q and v."""

    name: str  # as the robot of the model has it
    whole: str  # the joint's own name: it may have several parts
    link: str
    kind: str
    q: range
    v: range
    value: float | None = None  # of q, where the model holds the joint

    @property
    def unbounded(self) -> bool:
        """Whether q has a cosine and a sine for one angle."""
        return self.kind == "revolute" and len(self.q) == 2


@dataclass(frozen=True)
class ModelJoints:
    library: str
    nq: int
    nv: int
    joints: tuple[ModelJoint, ...]


def library_of(model: Any) -> str:
    """Of a `pinocchio.Model` or a `mujoco.MjModel`; nothing for any other object."""
    package, name = type(model).__module__.partition(".")[0], type(model).__name__
    return package if (package, name) in (("pinocchio", "Model"), ("mujoco", "MjModel")) else ""


def robot_of_model(model: Any) -> Robot | None:
    """The robot of a model object; None for any other object."""
    library = library_of(model)
    return {"pinocchio": from_pinocchio, "mujoco": from_mujoco}[library](model) if library else None


def joints_of_model(model: Any) -> ModelJoints | None:
    """The joints of a model object; None for any other object."""
    library = library_of(model)
    if library == "pinocchio":
        joints = tuple(
            ModelJoint(part.name, str(model.names[part.joint]), "", part.entries["joint"], part.q, part.v)
            for part in joint_parts(model)
            if len(part.v)
        )
        return ModelJoints("pinocchio", int(model.nq), int(model.nv), joints)
    if library == "mujoco":
        found = tuple(
            ModelJoint(name, name, link, kind, q, v, value) for name, link, kind, q, v, value in mujoco_joints(model)
        )
        return ModelJoints("mujoco", int(model.nq), int(model.nv), found)
    return None
