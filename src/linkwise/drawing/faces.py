"""A scene at a configuration as polygons in a picture, the farthest first."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .camera import Camera
from .scene import Scene, world
from .skeleton import Floats

LIGHT = np.array([-0.35, 0.55, 0.76])  # in the picture: from the left, from above, from the front
DARKEST = 0.58
SIDES = 10  # of a tube
OVERLAP = 0.6  # of its radius, by which a tube goes on beyond its ends
PIECES = 6  # of a tube at most: long faces cannot be put in order
SEEN_THROUGH = 0.3
PALEST = 0.8  # of the first of several configurations


class Faces(NamedTuple):
    polygons: list[Floats]  # (corners, 2) each
    colours: Floats  # red, green, blue and how opaque
    clear: np.ndarray  # whether a polygon is seen through


class Mesh:
    """All solids of a scene, ready to be moved by poses."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        parts = scene.parts
        self.points = np.concatenate([np.empty((0, 3)), *(part.solid.points for part in parts)])
        self.frames = np.repeat([part.frame for part in parts], [len(part.solid.points) for part in parts]).astype(int)
        self.groups: dict[int, tuple[np.ndarray, Floats, np.ndarray]] = {}
        offset, rows = 0, {}  # type: ignore[var-annotated]
        for part in parts:
            for face in part.solid.faces:
                rows.setdefault(len(face), []).append(([k + offset for k in face], rgb(part.colour), part.clear))
            offset += len(part.solid.points)
        for corners, faces in rows.items():
            indices, colours, clear = zip(*faces, strict=True)
            self.groups[corners] = (np.array(indices), np.array(colours), np.array(clear))
        self.tube_colours = np.array([rgb(tube.colour) for tube in scene.tubes]).reshape(-1, 3)
        self.radii = np.array([tube.radius for tube in scene.tubes])

    def solid_faces(self, poses: Floats) -> list[tuple[Floats, Floats, np.ndarray]]:
        """Corners (faces, corners, 3), colours and whether they are clear, by the number of corners."""
        moved = np.einsum("pij,pj->pi", poses[self.frames][:, :3, :3], self.points) + poses[self.frames][:, :3, 3]
        return [(moved[indices], colours, clear) for indices, colours, clear in self.groups.values()]

    def tube_faces(self, poses: Floats) -> list[tuple[Floats, Floats, np.ndarray]]:
        if not self.scene.tubes:
            return []
        a = world(tuple(tube.start for tube in self.scene.tubes), poses[None])[0]
        b = world(tuple(tube.end for tube in self.scene.tubes), poses[None])[0]
        lengths = np.linalg.norm(b - a, axis=-1)
        there = lengths > 1e-9 * self.scene.size
        a, b, lengths = a[there], b[there], lengths[there]
        r, colours = self.radii[there], self.tube_colours[there]
        if not len(a):
            return []
        z = (b - a) / lengths[:, None]
        a, b = a - OVERLAP * r[:, None] * z, b + OVERLAP * r[:, None] * z
        helper = np.eye(3)[np.argmin(np.abs(z), axis=-1)]
        x = np.cross(helper, z)
        x /= np.linalg.norm(x, axis=-1, keepdims=True)
        y = np.cross(z, x)
        angles = 2.0 * np.pi * np.arange(SIDES) / SIDES
        ring = np.cos(angles)[:, None] * x[:, None] + np.sin(angles)[:, None] * y[:, None]
        ring *= r[:, None, None]
        pieces = np.clip(np.ceil(lengths / (6.0 * r)), 1, PIECES).astype(int)
        which = np.repeat(np.arange(len(a)), pieces)
        step = np.concatenate([np.arange(count) for count in pieces])
        low, high = (a[which] + ((step + k) / pieces[which])[:, None] * (b - a)[which] for k in (0, 1))
        start, end = low[:, None] + ring[which], high[:, None] + ring[which]
        nexts = np.roll(np.arange(SIDES), -1)
        walls = np.stack([start, start[:, nexts], end[:, nexts], end], axis=2).reshape(-1, 4, 3)
        caps = np.concatenate([(a[:, None] + ring)[:, ::-1], b[:, None] + ring])
        wall_colours = np.repeat(colours[which], SIDES, axis=0)
        return [
            (walls, wall_colours, np.zeros(len(walls), bool)),
            (caps, np.concatenate([colours, colours]), np.zeros(len(caps), bool)),
        ]

    def seen_by(self, camera: Camera, poses: Floats, paleness: float = 0.0) -> Faces:
        """What is seen of the scene at poses (frames, 4, 4). `paleness` 0: as it is; 1: white."""
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


def rgb(colour: str) -> tuple[float, float, float]:
    """The parts of a colour such as "#9fb3c8", from 0 to 1."""
    red, green, blue = (int(colour[k : k + 2], 16) / 255.0 for k in (1, 3, 5))
    return red, green, blue


def paleness(k: int, count: int) -> float:
    """Of configuration k of several, of which the last is drawn in full."""
    return PALEST - 0.35 * k / max(1, count - 1)
