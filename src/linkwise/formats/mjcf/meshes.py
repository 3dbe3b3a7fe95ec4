"""Inertia of triangle meshes, from STL, OBJ and MSH files and from <mesh vertex face>, in MuJoCo's ways.

A mesh is cut into tetrahedra between its triangles and one point. "exact" adds their signed volumes, "legacy" their
sizes whatever the sign, and "shell" adds the triangles themselves. "convex" is "exact" of the convex hull, which is
also taken where a mesh has no faces.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import numpy as np

from ..xml import Element, shortened
from . import mesh_files
from .document import inside
from .hull import FACES, Indices, convex_hull
from .orientation import Array, Pose, of_quaternion, unit
from .principal import nearly_principal
from .settings import Settings

KINDS = ("convex", "exact", "legacy", "shell")
HINT = "give the bodies that it belongs to an <inertial>"
ALIKE = 1e-6  # relative difference of lengths that may be due to rounding
SMALLEST = 1e-15  # of an area or a volume


@dataclass(frozen=True)
class Mesh:
    """Volume (of a shell: area), moments of one kilogram, and the frame of the principal axes."""

    volume: float
    moments: Array
    frame: Pose
    box: Array  # half lengths of the box with the same inertia


class Meshes:
    """The meshes of <asset>. A file is read only if a body's inertia depends on it."""

    def __init__(self, top: Path, settings: Settings) -> None:
        self.top, self.settings = top, settings
        self.elements: dict[str, Element] = {}
        self.computed: dict[str, Mesh] = {}

    def add(self, element: Element) -> None:
        name = element.get("name", "") or PurePosixPath(element.get("file", "").replace("\\", "/")).stem
        if name in self.elements:
            element.fail(f'the name "{name}" is given twice (line {self.elements[name].line} has the first)')
        self.elements[name] = element

    def named(self, name: str, geom: Element) -> Mesh:
        if name not in self.elements:
            geom.fail(f'mesh is "{shortened(name)}", which <asset> does not have')
        if name not in self.computed:
            self.computed[name] = self._compute(self.elements[name])
        return self.computed[name]

    def fitted(self, mesh: Mesh, kind: str, geom: Element, settings: Settings) -> tuple[float, ...]:
        """Sizes of a shape that stands for a mesh."""
        if settings.fitaabb:
            geom.fail(f"fits a {kind} to the bounding box of a mesh (fitaabb), which is not computed here; {HINT}")
        x, y, z = mesh.box * geom.number("fitscale", 1.0)
        if kind in ("capsule", "cylinder") and z - y <= ALIKE * z:
            geom.fail(
                f"fits a {kind} to a mesh that is as wide as it is long, so that its direction is arbitrary; {HINT}"
            )
        if kind == "sphere":
            return (x + y + z) / 3.0, 0.0, 0.0
        radius = (x + y) / 2.0
        if kind == "capsule":
            return radius, max(0.0, z - radius / 2.0), 0.0
        return (radius, z, 0.0) if kind == "cylinder" else (x, y, z)

    def _compute(self, element: Element) -> Mesh:
        kind = element.word("inertia", KINDS, "legacy")
        if "builtin" in element.attributes or element.children:
            element.fail(f"is made by MuJoCo (builtin or plugin), which is not done here (expected a file; or {HINT})")
        vertices, faces = self._triangles(element)
        vertices, faces = transformed(element, vertices, faces)
        if kind == "convex" or not len(faces):
            faces = hull_of(element, vertices)
        return inertia_of_mesh(element, vertices, faces, "exact" if kind == "convex" else kind)

    def _triangles(self, element: Element) -> tuple[Array, Indices]:
        """Vertices, in single precision as MuJoCo keeps them, and the indices of the triangles' corners."""
        if "file" in element.attributes:
            if "vertex" in element.attributes or "face" in element.attributes:
                element.fail("has a file and vertices or faces of its own (expected one of them)")
            vertices, faces = mesh_files.read(self._path(element), element)
        else:
            vertices = np.array(element.numbers("vertex"), dtype=np.float32)
            faces = np.array(element.numbers("face", None, ()))
            if vertices.size % 3 or faces.size % 3:
                element.fail("vertex and face have numbers that do not come in threes")
            vertices, faces = vertices.reshape(-1, 3), faces.reshape(-1, 3)
        if len(vertices) < 4:
            element.fail(f"has {len(vertices)} vertices (expected at least 4)")
        if not np.isfinite(vertices).all():
            element.fail("has vertices that are not finite numbers")
        if len(faces) and ((faces != np.floor(faces)).any() or faces.min() < 0 or faces.max() >= len(vertices)):
            element.fail(f"has a face with a vertex that does not exist (expected 0 to {len(vertices) - 1})")
        return vertices.astype(float), faces.astype(np.int64)

    def _path(self, element: Element) -> Path:
        name = element.get("file").replace("\\", "/")
        if self.settings.strippath:
            name = PurePosixPath(name).name
        folder = self.settings.meshdir or self.settings.assetdir
        full = str(PurePosixPath(folder.replace("\\", "/")) / name) if folder else name
        hint = f"file (in {folder})" if folder else "file"
        return inside(full, (self.top,), self.top, element, hint)


def transformed(element: Element, vertices: Array, faces: Indices) -> tuple[Array, Indices]:
    """Moved and turned by refpos and refquat, then scaled. Mirrored triangles get their corners in the other order."""
    vertices = vertices - np.array(element.numbers("refpos", 3, (0.0, 0.0, 0.0)))
    quat = element.numbers("refquat", 4, (1.0, 0.0, 0.0, 0.0))
    vertices = vertices @ of_quaternion(unit(quat, element, "refquat"))
    scale = np.array(element.numbers("scale", 3, (1.0, 1.0, 1.0)))
    if not scale.prod() > 0.0:
        faces = faces[:, [0, 2, 1]]
    return vertices * scale, faces


def hull_of(element: Element, vertices: Array) -> Indices:
    """The faces of the convex hull."""
    if element.number("maxhullvert", -1.0) != -1.0:
        element.fail(f"maxhullvert is given, and simplified convex hulls are not computed here ({HINT})")
    _, first = np.unique(vertices, axis=0, return_index=True)
    faces = convex_hull(vertices[first])
    if faces is None:
        reason = f"they lie in a plane, or nearly, or the hull has more than {FACES} faces"
        element.fail(f"has vertices whose convex hull is not found: {reason} ({HINT})")
    hull: Indices = first[faces]
    return hull


def inertia_of_mesh(element: Element, vertices: Array, faces: Indices, kind: str) -> Mesh:
    if kind == "exact":
        refuse_inconsistent(element, vertices, faces)
    corners = vertices[faces]
    areas, centres = triangles(corners)[:2]
    if not areas.sum() >= SMALLEST:
        element.fail(f"has a surface of {areas.sum():g} m2, which is too small")
    middle = areas @ centres / areas.sum()
    volumes = areas if kind == "shell" else sizes(corners - middle, kind)
    if not volumes.sum() >= SMALLEST:
        reason = "it is not closed, or its faces are turned inwards" if volumes.sum() < 0.0 else "it is flat"
        element.fail(f'has a volume of {volumes.sum():g} m3: {reason} (expected another mesh, or inertia="shell")')
    centre = volumes @ (0.75 * centres + 0.25 * middle) / volumes.sum()
    corners = corners - centre
    volumes = triangles(corners)[0] if kind == "shell" else sizes(corners, kind)
    total = volumes.sum()
    together = corners.sum(axis=1)
    second = np.einsum("n,nki,nkj->ij", volumes, corners, corners) + np.einsum(
        "n,ni,nj->ij", volumes, together, together
    )
    second /= 12.0 if kind == "shell" else 20.0  # products of the coordinates, over the volume
    values, axes = nearly_principal(np.trace(second) * np.eye(3) - second)
    squares = 1.5 * (values.sum() - 2.0 * values) / total
    if not values.min() > 0.0 or not squares.min() >= -1e-6 * squares.max() or not math.isfinite(total):
        element.fail(f"has the principal moments {values.tolist()}, which no body has; {HINT}")
    box = np.sqrt(np.maximum(squares, 0.0))
    square = box * box
    return Mesh(float(total), (square.sum() - square) / 3.0, Pose(axes, centre), box)


def triangles(corners: Array) -> tuple[Array, Array, Array]:
    """Areas, centres and normals; tiny triangles have no area."""
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    lengths = np.sqrt(np.einsum("ni,ni->n", normals, normals))
    kept = lengths >= SMALLEST
    normals = np.where(kept[:, None], normals / np.where(kept, lengths, 1.0)[:, None], 0.0)
    return np.where(kept, 0.5 * lengths, 0.0), corners.sum(axis=1) / 3.0, normals


def sizes(corners: Array, kind: str) -> Array:
    """Volumes of the tetrahedra between the triangles and the origin."""
    areas, centres, normals = triangles(corners)
    volumes: Array = np.einsum("ni,ni->n", centres, normals) * areas / 3.0
    return np.abs(volumes) if kind == "legacy" else volumes


def refuse_inconsistent(element: Element, vertices: Array, faces: Indices) -> None:
    """An edge that two triangles run through in the same direction: one of them is turned over."""
    large = triangles(vertices[faces])[0] > math.sqrt(SMALLEST)
    _, merged = np.unique(vertices, axis=0, return_inverse=True)
    corners = merged.reshape(-1)[faces[large]]
    edges = np.concatenate([corners[:, [0, 1]], corners[:, [1, 2]], corners[:, [2, 0]]])
    if len(np.unique(edges, axis=0)) < len(edges):
        element.fail('has faces of inconsistent orientation (expected outward ones for inertia="exact")')
