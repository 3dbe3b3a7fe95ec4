"""The joints of the model objects of other libraries, with where their numbers are in q and v."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .mujoco_model import mujoco_joints
from .pinocchio_model import joint_parts


@dataclass(frozen=True)
class ModelJoint:
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


def joints_of_model(model: Any) -> ModelJoints | None:
    """Of a `pinocchio.Model` or a `mujoco.MjModel`; None for any other object."""
    package, name = type(model).__module__.partition(".")[0], type(model).__name__
    if package == "pinocchio" and name == "Model":
        joints = tuple(
            ModelJoint(part.name, str(model.names[part.joint]), "", part.entries["joint"], part.q, part.v)
            for part in joint_parts(model)
            if len(part.v)
        )
        return ModelJoints("pinocchio", int(model.nq), int(model.nv), joints)
    if package == "mujoco" and name == "MjModel":
        found = tuple(
            ModelJoint(name, name, link, kind, q, v, value) for name, link, kind, q, v, value in mujoco_joints(model)
        )
        return ModelJoints("mujoco", int(model.nq), int(model.nv), found)
    return None
