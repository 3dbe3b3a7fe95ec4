"""Solids made of flat faces: what joints look like. Faces are outlines seen from outside, counter-clockwise."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from .skeleton import Floats

Face = tuple[int, ...]
SIDES = 14  # of what is round
TURNS = 3  # of the thread of a screw


class Solid(NamedTuple):
    points: Floats  # (n, 3)
    faces: tuple[Face, ...]

    def placed(self, pose: Floats) -> Solid:
        return Solid(self.points @ pose[:3, :3].T + pose[:3, 3], self.faces)


def joined(solids: Iterable[Solid]) -> Solid:
    points, faces, count = [np.empty((0, 3))], [], 0
    for solid in solids:
        points.append(solid.points)
        faces += [tuple(k + count for k in face) for face in solid.faces]
        count += len(solid.points)
    return Solid(np.concatenate(points), tuple(faces))


def circle(radius: float, z: float, sides: int = SIDES) -> Floats:
    angles = 2.0 * np.pi * np.arange(sides) / sides
    return np.stack([radius * np.cos(angles), radius * np.sin(angles), np.full(sides, z)], axis=-1)


def cylinder(radius: float, length: float, sides: int = SIDES, centre: float = 0.0) -> Solid:
    """About z, its middle at `centre`."""
    bottom, top = (circle(radius, centre + end, sides) for end in (-length / 2, length / 2))
    walls = [(k, (k + 1) % sides, sides + (k + 1) % sides, sides + k) for k in range(sides)]
    caps = [tuple(range(sides))[::-1], tuple(range(sides, 2 * sides))]
    return Solid(np.concatenate([bottom, top]), (*walls, *caps))


def box(x: float, y: float, z: float) -> Solid:
    """About the origin; half of each side is given."""
    signs = np.array([(i, j, k) for k in (-1, 1) for j in (-1, 1) for i in (-1, 1)], float)
    faces = ((0, 2, 3, 1), (4, 5, 7, 6), (0, 1, 5, 4), (2, 6, 7, 3), (0, 4, 6, 2), (1, 3, 7, 5))
    return Solid(signs * (x, y, z), faces)


def ball(radius: float, rings: int = 7, sides: int = SIDES) -> Solid:
    latitudes = np.pi * np.arange(1, rings) / rings
    points = [circle(radius * np.sin(a), -radius * np.cos(a), sides) for a in latitudes]
    poles = np.array([[0.0, 0.0, -radius], [0.0, 0.0, radius]])
    faces: list[Face] = []
    for ring in range(rings - 2):
        low, high = ring * sides, (ring + 1) * sides
        faces += [(low + k, low + (k + 1) % sides, high + (k + 1) % sides, high + k) for k in range(sides)]
    south, north, top = (rings - 1) * sides, (rings - 1) * sides + 1, (rings - 2) * sides
    faces += [(south, (k + 1) % sides, k) for k in range(sides)]
    faces += [(north, top + k, top + (k + 1) % sides) for k in range(sides)]
    return Solid(np.concatenate([*points, poles]), tuple(faces))


def thread(radius: float, length: float) -> Solid:
    """A rod with a thread about z: the discs follow each other in turns that grow and shrink."""
    count = 2 * TURNS + 1
    step = length / count
    discs = [
        cylinder(radius * (1.0 if k % 2 == 0 else 0.72), step, centre=(k + 0.5) * step - length / 2)
        for k in range(count)
    ]
    return joined(discs)


def arrow(length: float, radius: float, sides: int = 8) -> Solid:
    """Along z from the origin: a shaft and a cone."""
    head = min(3.2 * radius, 0.4 * length) * 1.6
    shaft = cylinder(radius, length - head, sides, centre=(length - head) / 2)
    base = circle(2.2 * radius, length - head, sides)
    cone = Solid(
        np.concatenate([base, [[0.0, 0.0, length]]]),
        (tuple(range(sides))[::-1], *((k, (k + 1) % sides, sides) for k in range(sides))),
    )
    return joined([shaft, cone])


def along(direction: Floats, at: Floats | None = None) -> Floats:
    """A pose whose z has a direction."""
    z = np.asarray(direction, float) / np.linalg.norm(direction)
    helper = np.eye(3)[int(np.argmin(np.abs(z)))]
    x = np.cross(helper, z)
    x /= np.linalg.norm(x)
    pose = np.eye(4)
    pose[:3, :3] = np.stack([x, np.cross(z, x), z], axis=-1)
    if at is not None:
        pose[:3, 3] = at
    return pose
