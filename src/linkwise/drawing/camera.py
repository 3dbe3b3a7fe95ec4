"""Cameras with parallel projection, in which lengths can be measured, and the visible polygons of a scene."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from ..errors import near_miss
from .scene import Scene, to_base, up_of
from .skeleton import Floats, Skeleton

ViewName = Literal["3d", "front", "side", "top", "plane"]
View = ViewName | tuple[float, float]  # azimuth and elevation in degrees
VIEWS = get_args(ViewName)
ELEVATION = 22.0  # degrees, of the view "3d"
AZIMUTHS = (-60.0, -35.0, 30.0, 60.0, -120.0)  # candidates; the first is preferred
BETTER = 1.3  # factor by which another azimuth must be better than the first
ALIGNED = 1e-9
FLUSH = 1e-12  # relative to the largest coordinate: points this close to a line are on it
FLAT = 0.25  # largest thickness of a flat robot, relative to its largest extent
LETTERS = "xyz"
LIGHT = np.array([-0.35, 0.55, 0.76])  # in the picture: from the left, from above, from the front
DARKEST = 0.58
SIDES = 10  # of a tube
OVERLAP = 0.6  # extension of a tube beyond its ends, relative to its radius
PIECES = 6  # most pieces of a tube: long faces cannot be sorted by depth
SEEN_THROUGH = 0.3
PALEST = 0.8  # paleness of the first of several configurations


class Camera(NamedTuple):
    """Unit vectors in the base frame: right and up in the picture, and from the robot toward the viewer."""

    name: str
    right: Floats
    up: Floats
    toward: Floats

    def project(self, points: Floats) -> tuple[Floats, Floats]:
        """Points in the picture (..., 2), and their nearness to the viewer."""
        flat: Floats = points @ np.stack([self.right, self.up], axis=-1)
        return flat, points @ self.toward

    @property
    def axes(self) -> tuple[tuple[str, float], tuple[str, float]] | None:
        """The axes of the base that point right and up, with signs; None in oblique views."""
        pairs = []
        for direction in (self.right, self.up):
            k = int(np.argmax(np.abs(direction)))
            if abs(abs(direction[k]) - 1.0) > ALIGNED:
                return None
            pairs.append((LETTERS[k], math.copysign(1.0, direction[k])))
        return pairs[0], pairs[1]

    @property
    def measures(self) -> bool:
        """Whether the picture has coordinate axes, which are those of the base."""
        return self.axes is not None and self.name != "3d"


def normalize(vector: Floats) -> Floats:
    result: Floats = vector / np.linalg.norm(vector)
    return result


def level_axes(up: Floats) -> tuple[Floats, Floats]:
    """Two horizontal directions: x of the base (or y), and the one to its left."""
    helper = np.eye(3)[0 if abs(up[0]) < 0.9 else 1]
    ahead = normalize(helper - (helper @ up) * up)
    return ahead, np.cross(up, ahead)


def orbit_view(up: Floats, azimuth: float, elevation: float) -> Camera:
    """Angles in degrees: azimuth from x of the base, elevation from the horizon."""
    ahead, left = level_axes(up)
    a, e = math.radians(azimuth), math.radians(min(max(elevation, -89.99), 89.99))
    toward = math.cos(e) * (math.cos(a) * ahead + math.sin(a) * left) + math.sin(e) * up
    right = normalize(np.cross(up, toward))
    return Camera("3d", right, np.cross(toward, right), toward)


def axis_view(up: Floats, name: str) -> Camera:
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
        normal = normalize(across[0])
    flat = all(np.linalg.norm(np.cross(normal, axis)) < ALIGNED for axis in turning)
    return normal if flat and all(abs(normal @ axis) < ALIGNED for axis in sliding) else None


def plane_view(normal: Floats, up: Floats) -> Camera:
    """A view perpendicular to a plane, with up upward if the plane is not level."""
    upward = up - (up @ normal) * normal
    if np.linalg.norm(upward) < 1e-6:
        ahead, left = level_axes(up)
        return Camera("plane", ahead, left, up)
    upward = normalize(upward)
    right = np.cross(upward, normal)
    sign = math.copysign(1.0, right[int(np.argmax(np.abs(right)))])
    return Camera("plane", sign * right, upward, sign * normal)


def best_orbit(up: Floats, points: Floats) -> Camera:
    """An oblique view in which the points are not on a line, if there is one."""
    cameras = [orbit_view(up, azimuth, ELEVATION) for azimuth in AZIMUTHS]
    flat = [camera.project(points - points.mean(axis=0))[0] for camera in cameras]
    widths = [float(np.linalg.svd(part, compute_uv=False)[-1]) if len(points) > 1 else 0.0 for part in flat]
    best = int(np.argmax(widths))
    return cameras[best] if widths[best] > BETTER * widths[0] + FLUSH * np.abs(points).max() else cameras[0]


def cameras_of(
    view: View | None, views: Sequence[View] | None, skeleton: Skeleton, poses: Floats, points: Floats
) -> list[Camera]:
    """The requested cameras; by default one suitable for the robot."""
    if views is not None and view is not None:
        raise TypeError("view and views are both given (expected one of them)")
    if views is not None and (isinstance(views, str) or len(views) == 0):
        raise ValueError(f"views is {views!r} (expected several of {', '.join(map(repr, VIEWS))})")
    return [camera_of(one, skeleton, poses, points) for one in ([view] if views is None else views)]


def is_angle(x: Any) -> bool:
    return isinstance(x, (int, float, np.number)) and not isinstance(x, complex) and math.isfinite(x)


def camera_of(view: View | None, skeleton: Skeleton, poses: Floats, points: Floats) -> Camera:
    up = up_of(skeleton)
    if isinstance(view, np.ndarray):
        view = tuple(view.tolist())
    if isinstance(view, (tuple, list)) and len(view) == 2 and all(map(is_angle, view)):
        return orbit_view(up, float(view[0]), float(view[1]))
    if view is not None and view not in VIEWS:
        known = ", ".join(map(repr, VIEWS))
        hint = near_miss(view, VIEWS)
        raise ValueError(f"view is {view!r}{hint} (expected one of {known}, or azimuth and elevation in degrees)")
    if view in ("front", "side", "top"):
        return axis_view(up, str(view))
    normal = None if view == "3d" else plane_normal(skeleton, poses)
    if view is None and normal is not None and np.ptp(points @ normal) > FLAT * np.ptp(points, axis=0).max():
        normal = None  # it moves in a plane, but is not flat
    if view == "plane" and normal is None:
        raise ValueError(f"view is 'plane', but robot {skeleton.robot.name!r} does not move in one (expected '3d')")
    return best_orbit(up, points) if normal is None else plane_view(normal, up)


class Faces(NamedTuple):
    polygons: list[Floats]  # (corners, 2) each
    colours: Floats  # red, green, blue, opacity
    clear: np.ndarray  # whether a polygon is transparent


class Mesh:
    """All solids of a scene, ready to be moved by poses."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        parts = scene.parts
        self.points = np.concatenate([np.empty((0, 3)), *(part.solid.points for part in parts)])
        self.frames = np.repeat([part.frame for part in parts], [len(part.solid.points) for part in parts]).astype(int)
        offset, rows = 0, defaultdict[int, list[Any]](list)  # faces by the number of their corners
        for part in parts:
            for face in part.solid.faces:
                rows[len(face)].append(([k + offset for k in face], rgb(part.colour), part.clear))
            offset += len(part.solid.points)
        self.groups = [tuple(map(np.array, zip(*faces, strict=True))) for faces in rows.values()]
        self.tube_colours = np.array([rgb(tube.colour) for tube in scene.tubes]).reshape(-1, 3)
        self.radii = np.array([tube.radius for tube in scene.tubes])

    def solid_faces(self, poses: Floats) -> list[tuple[Floats, Floats, np.ndarray]]:
        """Corners (faces, corners, 3), colours and whether faces are clear, grouped by number of corners."""
        moved = np.einsum("pij,pj->pi", poses[self.frames][:, :3, :3], self.points) + poses[self.frames][:, :3, 3]
        return [(moved[indices], colours, clear) for indices, colours, clear in self.groups]

    def tube_faces(self, poses: Floats) -> list[tuple[Floats, Floats, np.ndarray]]:
        if not self.scene.tubes:
            return []
        starts, ends = zip(*((tube.start, tube.end) for tube in self.scene.tubes), strict=True)
        a, b = to_base(starts, poses[None])[0], to_base(ends, poses[None])[0]
        lengths = np.linalg.norm(b - a, axis=-1)
        visible = lengths > 1e-9 * self.scene.size
        a, b, lengths = a[visible], b[visible], lengths[visible]
        r, colours = self.radii[visible], self.tube_colours[visible]
        if not len(a):
            return []
        z = (b - a) / lengths[:, None]
        a, b = a - OVERLAP * r[:, None] * z, b + OVERLAP * r[:, None] * z
        helper = np.eye(3)[np.argmin(np.abs(z), axis=-1)]
        x = np.cross(helper, z)
        x /= np.linalg.norm(x, axis=-1, keepdims=True)
        y = np.cross(z, x)
        angles = 2.0 * np.pi * np.arange(SIDES) / SIDES
        ring = (np.cos(angles)[:, None] * x[:, None] + np.sin(angles)[:, None] * y[:, None]) * r[:, None, None]
        pieces = np.clip(np.ceil(lengths / (6.0 * r)), 1, PIECES).astype(int)
        which = np.repeat(np.arange(len(a)), pieces)
        step = np.concatenate([np.arange(count) for count in pieces])
        low, high = (a[which] + ((step + k) / pieces[which])[:, None] * (b - a)[which] for k in (0, 1))
        start, end = low[:, None] + ring[which], high[:, None] + ring[which]
        walls = np.stack([start, np.roll(start, -1, axis=1), np.roll(end, -1, axis=1), end], axis=2).reshape(-1, 4, 3)
        caps = np.concatenate([(a[:, None] + ring)[:, ::-1], b[:, None] + ring])
        wall_colours = np.repeat(colours[which], SIDES, axis=0)
        return [
            (walls, wall_colours, np.zeros(len(walls), bool)),
            (caps, np.concatenate([colours, colours]), np.zeros(len(caps), bool)),
        ]

    def seen_by(self, camera: Camera, poses: Floats, paleness: float = 0.0) -> Faces:
        """The visible faces at poses (frames, 4, 4). `paleness` is 0 for full colour, 1 for white."""
        polygons: list[Floats] = []
        depths, shades, clears = [np.empty(0)], [np.empty((0, 4))], [np.empty(0, bool)]
        for corners, colours, clear in (*self.solid_faces(poses), *self.tube_faces(poses)):
            flat, near = camera.project(corners)
            normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
            normals /= np.linalg.norm(normals, axis=-1, keepdims=True) + 1e-300
            seen = (normals @ camera.toward > 1e-12) | clear
            light = np.stack([normals @ camera.right, normals @ camera.up, normals @ camera.toward], -1) @ LIGHT
            shade = DARKEST + (1.0 - DARKEST) * np.clip(light, 0.0, 1.0)
            colour = colours * shade[:, None]
            colour = colour + (1.0 - colour) * paleness
            opaque = np.where(clear, SEEN_THROUGH, 1.0)[:, None]
            polygons += list(flat[seen])
            depths.append(near.mean(axis=-1)[seen])
            shades.append(np.concatenate([colour, opaque], axis=-1)[seen])
            clears.append(clear[seen])
        order = np.argsort(np.concatenate(depths), kind="stable")
        return Faces([polygons[k] for k in order], np.concatenate(shades)[order], np.concatenate(clears)[order])


def rgb(colour: str) -> list[float]:
    """The parts of a colour such as "#9fb3c8", from 0 to 1."""
    return [part / 255.0 for part in bytes.fromhex(colour[1:])]


def ghost_paleness(k: int, count: int) -> float:
    """Paleness of configuration k of several; the last is drawn in full."""
    return PALEST - 0.35 * k / max(1, count - 1)
