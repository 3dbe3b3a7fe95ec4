"""Vertices and triangles of mesh files: binary STL, OBJ and MuJoCo's own MSH."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..xml import Element
from .orientation import Array

BYTES = 64 * 1024 * 1024
STL_FACES = 200_000  # MuJoCo reads no more
NUMBER = re.compile(rb"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
Triangles = tuple[Array, Array]


def read(path: Path, element: Element) -> Triangles:
    """Of the file that a <mesh> names."""
    kind = element.get("content_type", "").removeprefix("model/").removeprefix("vnd.mujoco.") or path.suffix[1:].lower()
    if kind not in READERS:
        element.fail(f'file is "{path.name}", which is not read here (expected {", ".join(READERS)})')
    try:
        with open(path, "rb") as file:
            content = file.read(BYTES + 1)
    except OSError as problem:
        element.fail(f'file is "{path.name}", which cannot be read ({problem.strerror or problem})')
    if len(content) > BYTES:
        element.fail(f'file is "{path.name}", which is larger than {BYTES // 2**20} MiB')
    return READERS[kind](content, element)


def stl(content: bytes, element: Element) -> Triangles:
    """80 bytes, the number of triangles, and for each its normal, three corners and two bytes."""
    name = element.get("file")
    count = int.from_bytes(content[80:84], "little")
    if len(content) < 84 or not 1 <= count <= STL_FACES or len(content) != 84 + 50 * count:
        element.fail(f'file is "{name}", which is not binary STL of 1 to {STL_FACES} triangles; is it the text form?')
    records = np.frombuffer(
        content, np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("end", "<u2")]), offset=84
    )
    corners = np.array(records["corners"], dtype=float).reshape(-1, 3)
    if not (np.abs(corners) <= 2.0**30).all():
        element.fail(f'file is "{name}", which has a vertex that is not a number or too far away')
    return corners, np.arange(3.0 * count).reshape(-1, 3)


def msh(content: bytes, element: Element) -> Triangles:
    """Four counts, then vertices, normals, texture coordinates and faces."""
    counts = [int.from_bytes(content[i : i + 4], "little") for i in (0, 4, 8, 12)]
    vertices, normals, textures, faces = counts
    start = 16 + 4 * (3 * vertices + 3 * normals + 2 * textures)
    if len(content) < 16 or len(content) != start + 12 * faces:
        element.fail(f'file is "{element.get("file")}", which is not an MSH file of MuJoCo')
    points = np.frombuffer(content, "<f4", 3 * vertices, 16).reshape(-1, 3)
    return points.astype(float), np.frombuffer(content, "<i4", 3 * faces, start).reshape(-1, 3).astype(float)


def obj(content: bytes, element: Element) -> Triangles:
    """Lines `v x y z` and `f a b c` or `f a b c d`, each corner as index/texture/normal; one object."""
    vertices: list[list[float]] = []
    faces: list[list[int]] = []
    groups = 0
    for line, text in enumerate(content.replace(b"\\\n", b" ").splitlines(), 1):
        words = text.split()
        if not words:
            continue
        if words[0] == b"v":
            vertices.append([number(word, element, line) for word in words[1:4]])
            if len(vertices[-1]) != 3:
                fail(element, line, "has a vertex without three numbers")
        elif words[0] == b"f":
            corners = [index(word, len(vertices), element, line) for word in words[1:]]
            if len(corners) not in (3, 4):
                fail(element, line, f"has a face of {len(corners)} corners (expected 3 or 4)")
            faces.append(corners)
        elif words[0] in (b"o", b"g") and faces:
            groups += 1
        if groups and words[0] == b"f":
            fail(element, line, "has a second object or group, of which MuJoCo takes only the first (expected one)")
    if not faces or max(map(max, faces)) >= len(vertices) or min(map(min, faces)) < 0:
        element.fail(f'file is "{element.get("file")}", which has no faces, or one with a vertex that does not exist')
    points = np.array(vertices, dtype=np.float32)
    triangles = [part for face in faces for part in halves(face, points)]
    return points.astype(float), np.array(triangles, dtype=float)


def halves(face: list[int], points: NDArray[np.float32]) -> list[list[int]]:
    """A face of four corners is cut along its shorter diagonal, of two that are equal along the second."""
    if len(face) == 3:
        return [face]
    a, b, c, d = face
    first, second = (float(((points[i] - points[j]) ** 2).sum()) for i, j in ((c, a), (d, b)))
    return [[a, b, c], [a, c, d]] if first < second else [[a, b, d], [b, c, d]]


def number(word: bytes, element: Element, line: int) -> float:
    if len(word) > 100 or not NUMBER.fullmatch(word):
        fail(element, line, "has a vertex that is not made of numbers")
    return float(word)


def index(word: bytes, vertices: int, element: Element, line: int) -> int:
    """From 0. In the file they count from 1, negative ones from the last vertex."""
    text = word.split(b"/")[0]
    if len(text) > 12 or not re.fullmatch(rb"-?\d+", text) or int(text) == 0:
        fail(element, line, "has a face that is not made of vertex numbers")
    return int(text) - 1 if int(text) > 0 else vertices + int(text)


def fail(element: Element, line: int, problem: str) -> None:
    element.fail(f'file is "{element.get("file")}", whose line {line} {problem}')


READERS: dict[str, Callable[[bytes, Element], Triangles]] = {"stl": stl, "obj": obj, "msh": msh}
