"""Rigid placements: where a child frame sits in its parent frame."""

from __future__ import annotations

from dataclasses import dataclass

from .matrix import Rotation, RotationProduct
from .scalar import Scalar
from .vector import Vector


@dataclass(frozen=True, slots=True)
class Placement:
    """The child's axes (columns of `rotation`) and origin (`translation`), in the frame of the parent."""

    rotation: Rotation | RotationProduct
    translation: Vector

    @staticmethod
    def identity() -> Placement:
        return Placement(Rotation.identity(), Vector.zero())

    @property
    def axes(self) -> Rotation:
        """The rotation as one matrix."""
        return self.rotation.matrix if isinstance(self.rotation, RotationProduct) else self.rotation

    def point(self, v: Vector) -> Vector:
        """A point given in the child frame, in the frame of the parent."""
        return self.translation + self.rotation @ v

    def then(self, inner: Placement) -> Placement:
        """The frame that sits at `inner` in the child."""
        return Placement(self.axes.then(inner.axes), self.point(inner.translation))

    def moved(self, motion: Placement) -> Placement:
        """As `then`, with the two rotations kept apart: for a joint, whose factors are sparse."""
        return Placement(RotationProduct(self.axes, motion.axes), self.point(motion.translation))

    def inverse(self) -> Placement:
        return Placement(self.axes.T, -(self.rotation.T @ self.translation))

    def matrix(self) -> list[list[Scalar]]:
        """The 4 × 4 homogeneous matrix."""
        rows = [[*row, p] for row, p in zip(self.axes.rows, self.translation, strict=True)]
        return [*rows, [0.0, 0.0, 0.0, 1.0]]
