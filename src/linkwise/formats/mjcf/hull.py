"""The convex hull of points, as triangles: quickhull, and a check that the result is one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .orientation import Array

FLAT = 1e-12  # relative to the size: points this close to a face lie in it
OUTSIDE = 1e-10  # relative: no point may be further outside in the end
FACES = 8_000
Indices = NDArray[np.int64]


class Hull:
    """Faces with outward normals, and for each the points outside of it that are not dealt with yet."""

    def __init__(self, points: Array) -> None:
        self.points = points
        self.flat = FLAT * float(np.ptp(points, axis=0).max())
        self.corners: Indices = np.zeros((0, 3), dtype=np.int64)
        self.normals, self.offsets = np.zeros((0, 3)), np.zeros(0)
        self.waiting: list[Indices] = []

    def add(self, corners: Indices, candidates: Indices) -> None:
        """New faces; each candidate waits at the face that it is furthest outside of."""
        a, b, c = (self.points[corners[:, k]] for k in range(3))
        normals = np.cross(b - a, c - a)
        normals = normals / np.maximum(np.sqrt(np.einsum("ni,ni->n", normals, normals)), 1e-300)[:, None]
        offsets = np.einsum("ni,ni->n", normals, a)
        heights = self.points[candidates] @ normals.T - offsets
        nearest = heights.argmax(axis=1) if len(candidates) else np.zeros(0, dtype=np.int64)
        outside = heights[np.arange(len(candidates)), nearest] > self.flat
        self.waiting += [candidates[outside & (nearest == k)] for k in range(len(corners))]
        self.corners = np.concatenate([self.corners, corners])
        self.normals, self.offsets = np.concatenate([self.normals, normals]), np.concatenate([self.offsets, offsets])

    def take_in(self, face: int) -> None:
        """Replace the faces that the furthest point outside of a face sees by a cone to that point."""
        heights = self.points[self.waiting[face]] @ self.normals[face]
        tip = self.waiting[face][heights.argmax()]
        seen = self.normals @ self.points[tip] - self.offsets > self.flat
        seen[face] = True
        edges = {(a, b) for x, y, z in self.corners[seen].tolist() for a, b in ((x, y), (y, z), (z, x))}
        rim = [(a, b, tip) for a, b in sorted(edges) if (b, a) not in edges]
        released = np.concatenate([points for points, gone in zip(self.waiting, seen, strict=True) if gone])
        self.waiting = [points for points, gone in zip(self.waiting, seen, strict=True) if not gone]
        self.corners, self.normals, self.offsets = self.corners[~seen], self.normals[~seen], self.offsets[~seen]
        self.add(np.array(rim, dtype=np.int64).reshape(-1, 3), released[released != tip])

    def is_closed(self) -> bool:
        """Whether each edge has a face on either side, and no point is left outside."""
        edges = [(a, b) for x, y, z in self.corners.tolist() for a, b in ((x, y), (y, z), (z, x))]
        there = set(edges)
        far = OUTSIDE / FLAT * self.flat
        return (
            len(there) == len(edges)
            and all((b, a) in there for a, b in edges)
            and all((self.points @ n - d).max() <= far for n, d in zip(self.normals, self.offsets, strict=True))
        )


def convex_hull(points: Array) -> Indices | None:
    """Triangles as indices of points, positive seen from outside; nothing for points in a plane, or too many faces."""
    start = simplex(points)
    if start is None:
        return None
    hull = Hull(points)
    a, b, c, d = start
    faces = np.array([[a, b, c], [a, c, d], [a, d, b], [b, d, c]], dtype=np.int64)
    hull.add(faces, np.arange(len(points), dtype=np.int64))
    while face := next((k + 1 for k, points in enumerate(hull.waiting) if len(points)), 0):
        hull.take_in(face - 1)
        if len(hull.corners) > FACES:
            return None
    return hull.corners if hull.is_closed() else None


def simplex(points: Array) -> tuple[int, int, int, int] | None:
    """Four points that are far from each other; the last lies behind the first three."""
    axis = int(np.ptp(points, axis=0).argmax())
    a, b = int(points[:, axis].argmin()), int(points[:, axis].argmax())
    along = points[b] - points[a]
    across = np.cross(points - points[a], along)
    c = int(np.einsum("ni,ni->n", across, across).argmax())
    normal = np.cross(along, points[c] - points[a])
    heights = (points - points[a]) @ normal
    d = int(np.abs(heights).argmax())
    size = float(np.ptp(points, axis=0).max())
    if not abs(heights[d]) > 1e-9 * size * float(np.sqrt(normal @ normal)) > 0.0:
        return None
    return (a, b, c, d) if heights[d] < 0.0 else (a, c, b, d)
