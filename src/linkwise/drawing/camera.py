"""From where a robot is seen: parallel projections, so that lengths can be measured."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..errors import near_miss
from .scene import up_of
from .skeleton import Floats, Skeleton

VIEWS = ("3d", "front", "side", "top", "plane")
ELEVATION = 22.0  # degrees, of the view "3d"
AZIMUTHS = (-60.0, -35.0, 30.0, 60.0, -120.0)  # the first, unless the robot is seen better from another
BETTER = 1.3  # by this factor
ALIGNED = 1e-9
FLUSH = 1e-12  # of the largest coordinate: points this close to a line are on it
FLAT = 0.25  # how thick a flat robot may be, relative to its largest extent
LETTERS = "xyz"


class Camera(NamedTuple):
    """Unit vectors in the base frame: to the right and upward in the picture, and from the robot to who looks at it."""

    name: str
    right: Floats
    up: Floats
    toward: Floats

    def project(self, points: Floats) -> tuple[Floats, Floats]:
        """Points in the picture, (..., 2), and how near they are."""
        flat: Floats = points @ np.stack([self.right, self.up], axis=-1)
        return flat, points @ self.toward

    @property
    def axes(self) -> tuple[tuple[str, float], tuple[str, float]] | None:
        """Which axis of the base is to the right and which upward, with their signs; None in oblique views."""
        pairs = []
        for direction in (self.right, self.up):
            k = int(np.argmax(np.abs(direction)))
            if abs(abs(direction[k]) - 1.0) > ALIGNED:
                return None
            pairs.append((LETTERS[k], math.copysign(1.0, direction[k])))
        return pairs[0], pairs[1]

    @property
    def measures(self) -> bool:
        """Whether the axes of the picture are those of the base, and can have coordinates."""
        return self.axes is not None and self.name != "3d"


def unit(vector: Floats) -> Floats:
    result: Floats = vector / np.linalg.norm(vector)
    return result


def level_axes(up: Floats) -> tuple[Floats, Floats]:
    """Two horizontal directions, x of the base (or y) and the one to the left of it."""
    helper = np.eye(3)[0 if abs(up[0]) < 0.9 else 1]
    ahead = unit(helper - (helper @ up) * up)
    return ahead, np.cross(up, ahead)


def orbit(up: Floats, azimuth: float, elevation: float, name: str = "3d") -> Camera:
    """Angles in degrees: azimuth from x of the base, elevation from the horizon."""
    ahead, left = level_axes(up)
    a, e = math.radians(azimuth), math.radians(min(max(elevation, -89.99), 89.99))
    toward = math.cos(e) * (math.cos(a) * ahead + math.sin(a) * left) + math.sin(e) * up
    right = unit(np.cross(up, toward))
    return Camera(name, right, np.cross(toward, right), toward)


def straight(up: Floats, name: str) -> Camera:
    ahead, left = level_axes(up)
    if name == "front":
        return Camera(name, ahead, up, -left)
    if name == "side":
        return Camera(name, left, up, ahead)
    return Camera(name, ahead, left, up)


def plane_normal(skeleton: Skeleton, poses: Floats) -> Floats | None:
    """The normal of the plane in which a planar robot moves."""
    turning, sliding = [], []
    for joint in skeleton.joints:
        axis = (poses[joint.parent] @ joint.before)[:3, 2]
        if joint.symbol in ("revolute", "planar"):
            turning.append(axis)
        elif joint.symbol == "prismatic":
            sliding.append(axis)
        else:
            return None
    if turning:
        normal = turning[0]
    else:
        crossed = [np.cross(sliding[0], other) for other in sliding[1:]]
        across = [vector for vector in crossed if np.linalg.norm(vector) > ALIGNED]
        if not across:
            return None
        normal = unit(across[0])
    flat = all(np.linalg.norm(np.cross(normal, axis)) < ALIGNED for axis in turning)
    return normal if flat and all(abs(normal @ axis) < ALIGNED for axis in sliding) else None


def facing(normal: Floats, up: Floats) -> Camera:
    """Perpendicular to a plane, with up upward if the plane is not level."""
    upward = up - (up @ normal) * normal
    if np.linalg.norm(upward) < 1e-6:
        ahead, left = level_axes(up)
        return Camera("plane", ahead, left, up)
    upward = unit(upward)
    right = np.cross(upward, normal)
    sign = math.copysign(1.0, right[int(np.argmax(np.abs(right)))])
    return Camera("plane", sign * right, upward, sign * normal)


def best_orbit(up: Floats, points: Floats) -> Camera:
    """An oblique view in which the points do not fall on a line, if there is one."""
    cameras = [orbit(up, azimuth, ELEVATION) for azimuth in AZIMUTHS]
    flat = [camera.project(points - points.mean(axis=0))[0] for camera in cameras]
    widths = [float(np.linalg.svd(part, compute_uv=False)[-1]) if len(points) > 1 else 0.0 for part in flat]
    best = int(np.argmax(widths))
    return cameras[best] if widths[best] > BETTER * widths[0] + FLUSH * np.abs(points).max() else cameras[0]


def cameras_of(
    view: Any, views: Sequence[Any] | None, skeleton: Skeleton, poses: Floats, points: Floats
) -> list[Camera]:
    """The cameras that were asked for; by default one that suits the robot."""
    if views is not None and view is not None:
        raise TypeError("view and views are both given (expected one of them)")
    if views is not None and (isinstance(views, str) or len(views) == 0):
        raise ValueError(f"views is {views!r} (expected several of {', '.join(map(repr, VIEWS))})")
    chosen = [view] if views is None else list(views)
    return [camera_of(one, skeleton, poses, points) for one in chosen]


def is_angle(x: Any) -> bool:
    return isinstance(x, (int, float, np.number)) and not isinstance(x, complex) and math.isfinite(x)


def camera_of(view: Any, skeleton: Skeleton, poses: Floats, points: Floats) -> Camera:
    up = up_of(skeleton)
    if isinstance(view, np.ndarray):
        view = tuple(view.tolist())
    if isinstance(view, (tuple, list)) and len(view) == 2 and all(map(is_angle, view)):
        return orbit(up, float(view[0]), float(view[1]))
    if view is not None and view not in VIEWS:
        known = ", ".join(map(repr, VIEWS))
        hint = near_miss(view, VIEWS)
        raise ValueError(f"view is {view!r}{hint} (expected one of {known}, or azimuth and elevation in degrees)")
    if view in ("front", "side", "top"):
        return straight(up, str(view))
    normal = None if view == "3d" else plane_normal(skeleton, poses)
    if view is None and normal is not None and np.ptp(points @ normal) > FLAT * np.ptp(points, axis=0).max():
        normal = None  # it moves in a plane, but is not flat
    if view == "plane" and normal is None:
        raise ValueError(f"view is 'plane', but robot {skeleton.robot.name!r} does not move in one (expected '3d')")
    return best_orbit(up, points) if normal is None else facing(normal, up)
