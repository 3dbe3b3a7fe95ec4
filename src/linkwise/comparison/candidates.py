"""Candidates for the placement of b's base and for the zeros of b's joints.

The first candidate is always that nothing differs.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from .skeleton import (
    EYE,
    Array,
    Skeleton,
    Unit,
    along_z,
    inverse,
    make_pose,
    mass_properties,
    nearest_rotation,
    pose_difference,
    shortest_turn,
)

LEVER = 1e-6  # relative to the robot's size: a shorter lever does not determine an angle
SAME = 1e-6  # radians, and of the robot's size


class Line(NamedTuple):
    """The axis of a joint: a direction (meaningless for ball and free joints), and a point on it."""

    form: str  # that of `Unit.form`
    direction: Array
    point: Array
    slides: tuple[Array, ...] | None = ()  # directions in which joints in between move it; None: they also turn it


def axis_line(unit: Unit, where: Array, slides: tuple[Array, ...] | None = ()) -> Line:
    return Line(unit.form, where[:3, 2], where[:3, 3], slides)


class Candidates:
    """Candidates for two robots whose units correspond one by one."""

    def __init__(self, a: Skeleton, b: Skeleton, size: float) -> None:
        self.a, self.b, self.size = a, b, size
        self.frames: dict[int, list[Array]] = {}

    def bases(self) -> list[Array]:
        return unique_placements([EYE, *placements(self.a, self.b, -1, self.size)], self.size)

    def of_link(self, k: int, M: Array) -> Iterator[tuple[Array, float, bool]]:
        """J(c), c, and whether nothing differs; for ball and free joints T = M J(c) follows from frames or axes."""
        unit = self.a.units[k]
        if unit.form not in ("ball", "free"):
            yield from link_candidates(self.a, self.b, k, M, self.size)
            return
        if k not in self.frames:
            self.frames[k] = unique_placements(
                (
                    T if unit.form == "free" else make_pose(T[:3, :3])
                    for T in (EYE, *placements(self.a, self.b, k, self.size))
                ),
                self.size,
            )
        back = inverse(M)
        for T in (M, *self.frames[k]):
            yield back @ T, 0.0, pose_difference(T, EYE, self.size) < SAME or (unit.form == "ball" and T is M)


def unique_placements(candidates: Iterable[Array], size: float) -> list[Array]:
    unique: list[Array] = []
    for T in candidates:
        if not any(pose_difference(T, other, size) < SAME for other in unique):
            unique.append(T)
    return unique


def link_candidates(a: Skeleton, b: Skeleton, k: int, M: Array, size: float) -> Iterator[tuple[Array, float, bool]]:
    """J(c) for a joint of one degree of freedom, c, and whether c is zero."""
    unit, zeros = a.units[k], [0.0]
    pairs = [(line_in(a, child, inverse(M)), line_in(b, child, EYE)) for child in a.children(k)]
    levers = [lever for of_a, of_b in pairs for lever in zeros_from_axes(unit, of_a, of_b, size)]
    if not levers and unit.form == "slide":
        levers = list(zeros_from_feet(a, b, k, M))
    if not levers:
        levers = list(zeros_from_bodies(unit, inverse(M) @ unit.body @ inverse(M).T, b.units[k].body, size))
    for _, c in sorted(levers, key=lambda lever: -lever[0]):
        if unit.form == "slide":
            c = c / b.units[k].travel
        else:
            c = (c + np.pi) % (2.0 * np.pi) - np.pi
            c = np.pi if c < -np.pi + SAME else c
        reach = size if not unit.joint.angular else 1.0
        if all(abs(c - other) > SAME * reach for other in zeros):
            zeros.append(float(c))
    for c in zeros:
        yield b.units[k].motion(c), c, c == 0.0


def line_in(robot: Skeleton, child: int, frame: Array) -> Line:
    unit = robot.units[child]
    return axis_line(unit, frame @ unit.placement)


def zeros_from_axes(unit: Unit, of_a: Line, of_b: Line, size: float) -> Iterator[tuple[float, float]]:
    """Levers, and the displacements that move the axis of a child in b to that in a."""
    if of_a.form == "free":
        return
    if unit.form == "slide":
        if of_a.form == "slide":
            return
        across = np.array([0.0, 0.0, 1.0])
        if of_a.form != "ball":
            across = across - of_a.direction * of_a.direction[2]
        if np.linalg.norm(across) > LEVER:
            yield float(np.linalg.norm(across)), float(across @ (of_a.point - of_b.point) / (across @ across))
        return
    if of_a.form != "ball":
        u, w = of_b.direction, of_a.direction
        lever = float(np.hypot(*u[:2]))
        if lever > LEVER:
            for sign in (1.0, -1.0):
                yield lever, planar_angle(sign * w) - planar_angle(u)
            return
    if of_a.form != "slide":
        lever = min(float(np.hypot(*x[:2])) for x in (of_a.point, of_b.point)) / size
        if lever > LEVER:
            yield lever, planar_angle(of_a.point) - planar_angle(of_b.point)


def zeros_from_feet(a: Skeleton, b: Skeleton, k: int, M: Array) -> Iterator[tuple[float, float]]:
    """As `zeros_from_axes`, for a slide that carries a revolute joint about the same axis: by the axes beyond that."""
    for of_a, of_b, _ in feet_of(a, b, [child for child in a.children(k) if a.units[child].form == "turn"]):
        yield 1.0, float((inverse(M) @ [*of_a, 1.0])[2] - of_b[2])


def planar_angle(x: Array) -> float:
    return float(np.arctan2(x[1], x[0]))


def zeros_from_bodies(unit: Unit, of_a: Array, of_b: Array, size: float) -> Iterator[tuple[float, float]]:
    """The displacements that align the bodies: by mass centres, then by products of inertia."""
    mass = min(of_a[3, 3], of_b[3, 3])
    if mass <= 0.0:
        return
    if unit.form == "slide":
        yield 1.0, float(of_a[2, 3] / of_a[3, 3] - of_b[2, 3] / of_b[3, 3])
        return
    for column, reach in ((3, mass * size), (2, mass * size**2)):
        lever = min(float(np.hypot(*S[:2, column])) for S in (of_a, of_b)) / reach
        if lever > LEVER:
            yield lever * (1.0 if column == 3 else 0.1), planar_angle(of_a[:, column]) - planar_angle(of_b[:, column])
    twice = [np.array([S[0, 0] - S[1, 1], 2.0 * S[0, 1]]) for S in (of_a, of_b)]
    lever = min(map(np.linalg.norm, twice)) / (mass * size**2)
    if lever > LEVER:
        half = (planar_angle(twice[0]) - planar_angle(twice[1])) / 2.0
        yield 0.01 * float(lever), half
        yield 0.01 * float(lever), half + np.pi


def placements(a: Skeleton, b: Skeleton, k: int, size: float) -> Iterator[Array]:
    """Placements of the frame of link k of b (-1: its base) in that of a, by the axes that it carries."""
    children = a.children(k)
    for child in children[:2]:
        yield a.units[child].placement @ inverse(b.units[child].placement)
    lines_a, lines_b = (carried_lines(robot, k) for robot in (a, b))
    near = [(line, lines_b[index]) for index, line in lines_a.items() if line.slides is not None]
    for R in rotations(a, b, k, near, size):
        yield make_pose(R, least_translation(R, near, feet_of(a, b, children)))
    every = [(lines_a[index], lines_b[index]) for index in lines_a]
    for R in rotations_from_axes(every):  # valid if all joints further out have the same zeros
        yield make_pose(R, least_translation(R, every, []))
    if k >= 0:  # last: principal axes are the least accurate
        yield from placements_from_bodies(a.units[k].body, b.units[k].body)


def placements_from_bodies(of_a: Array, of_b: Array) -> Iterator[Array]:
    """Placements that align mass centre and principal axes of two bodies."""
    if min(of_a[3, 3], of_b[3, 3]) <= 0.0:
        return
    (_, com_a, tensor_a), (_, com_b, tensor_b) = mass_properties(of_a), mass_properties(of_b)
    axes_a, axes_b = (np.linalg.eigh(tensor)[1] for tensor in (tensor_a, tensor_b))
    for signs in itertools.product((1.0, -1.0), repeat=3):
        R = axes_a @ np.diag(signs) @ axes_b.T
        if np.linalg.det(R) > 0.0:
            yield make_pose(R, com_a - R @ com_b)


def carried_lines(robot: Skeleton, k: int) -> dict[int, Line]:
    """Axes of the next joints in the frame of link k at zero: those on the link itself, and six more."""
    where: dict[int, Array] = {k: EYE}
    lines: dict[int, Line] = {}
    children = robot.children(k)
    slides: dict[int, tuple[Array, ...] | None] = {k: ()}
    for unit in robot.units:
        if unit.parent in where and (unit.index in children or len(lines) < len(children) + 6):
            where[unit.index] = where[unit.parent] @ unit.placement
            before = slides[unit.parent]
            lines[unit.index] = axis_line(unit, where[unit.index], before)
            sliding = before is not None and unit.form == "slide"
            slides[unit.index] = (*(before or ()), where[unit.index][:3, 2]) if sliding else None
            if unit.form in ("ball", "free"):
                del where[unit.index]
    return lines


def rotations(a: Skeleton, b: Skeleton, k: int, near: list[tuple[Line, Line]], size: float) -> Iterator[Array]:
    """Rotations that align directions of link k: axes that it carries, gravity, and its mass centre."""
    yield from rotations_from_axes(near)
    falls = min(map(np.linalg.norm, (a.gravity, b.gravity))) > 0.0
    axes = [pair for pair in near if pair[0].form not in ("ball", "free")]
    if not axes:
        if k < 0 and falls:
            yield shortest_turn(b.gravity, a.gravity)  # a base that carries balls has no other direction
        return
    of_a, of_b = axes[0]
    for s in (1.0, -1.0):
        if k < 0 and falls:
            down_a, down_b = (robot.gravity / np.linalg.norm(robot.gravity) for robot in (a, b))
            yield from rotation_from_pairs((of_a.direction, down_a), (s * of_b.direction, down_b))
        if k >= 0:
            levers = [mass_lever(robot.units[k].body, line, size) for robot, line in ((a, of_a), (b, of_b))]
            if min(map(np.linalg.norm, levers)) > 0.0:
                unit_levers = [x / np.linalg.norm(x) for x in levers]
                yield from rotation_from_pairs((of_a.direction, unit_levers[0]), (s * of_b.direction, unit_levers[1]))
        yield shortest_turn(s * of_b.direction, of_a.direction)


def mass_lever(body: Array, line: Line, size: float) -> Array:
    """The vector from the axis to the mass centre, perpendicular to the axis."""
    if body[3, 3] <= 0.0:
        return np.zeros(3)
    lever = body[:3, 3] / body[3, 3] - line.point
    lever = lever - line.direction * (line.direction @ lever)
    return np.asarray(lever if np.linalg.norm(lever) > LEVER * size else np.zeros(3))


def rotations_from_axes(pairs: list[tuple[Line, Line]]) -> Iterator[Array]:
    """Rotations that align the directions of two axes."""
    axes = [pair for pair in pairs if pair[0].form not in ("ball", "free")]
    for (a, b), (c, d) in itertools.islice(itertools.combinations(axes, 2), 5):
        for s, t in itertools.product((1.0, -1.0), repeat=2):
            yield from rotation_from_pairs((a.direction, c.direction), (s * b.direction, t * d.direction))


def rotation_from_pairs(targets: tuple[Array, Array], sources: tuple[Array, Array]) -> Iterator[Array]:
    """The rotation that maps two directions to two others; none if they are parallel or at another angle."""
    if abs(targets[0] @ targets[1] - sources[0] @ sources[1]) > SAME:
        return
    crosses = np.cross(*targets), np.cross(*sources)
    if min(map(np.linalg.norm, crosses)) < LEVER:
        return
    A, B = (np.column_stack([*pair, normal]) for pair, normal in zip((targets, sources), crosses, strict=True))
    yield nearest_rotation(A @ np.linalg.inv(B))


def least_translation(R: Array, pairs: list[tuple[Line, Line]], feet: list[tuple[Array, Array, Array]]) -> Array:
    """The least translation that moves points of lines of b, rotated by R, onto the lines of a.

    Feet determine the directions in which the lines allow any translation.
    """
    rows, values = [np.zeros((1, 3))], [np.zeros(1)]
    for of_a, of_b in pairs:
        if of_a.form == "slide" or of_a.form == "free":
            continue
        across = projection_across([*([] if of_a.form == "ball" else [of_a.direction]), *(of_a.slides or ())])
        rows.append(across)
        values.append(across @ (of_a.point - R @ of_b.point))
    A = np.vstack(rows)
    t = np.linalg.lstsq(A, np.concatenate(values), rcond=1e-9)[0]
    _, sizes, V = np.linalg.svd(A)
    free = V[int(np.sum(sizes > 1e-9)) :].T
    if feet and free.size:
        F = np.vstack([across for _, _, across in feet])
        f = np.concatenate([across @ (of_a - R @ of_b - t) for of_a, of_b, across in feet])
        t = t + free @ np.linalg.lstsq(F @ free, f, rcond=1e-9)[0]
    return np.asarray(t)


def projection_across(directions: list[Array]) -> Array:
    """The projection onto the complement of all directions."""
    if not directions:
        return np.eye(3)
    U, sizes, _ = np.linalg.svd(np.column_stack(directions))
    span = U[:, : int(np.sum(sizes > LEVER))]
    return np.asarray(np.eye(3) - span @ span.T)


def feet_of(a: Skeleton, b: Skeleton, children: list[int]) -> list[tuple[Array, Array, Array]]:
    """Points that the next joints do not move, in a and in b, with the projection in which they are determined.

    On an axis of rotation it is the point nearest to the following joint, or else to the mass centre.
    """
    feet = []
    for child in children:
        slides = a.units[child].form == "slide"
        across = projection_across([a.units[child].placement[:3, 2]] if slides else [])
        for after in (*a.children(child), -1):
            points = [foot(robot, child, after) for robot in (a, b)]
            if points[0] is not None and points[1] is not None:
                feet.append((points[0], points[1], across))
                break
    return feet


def foot(robot: Skeleton, child: int, after: int) -> Array | None:
    joint = robot.units[child]
    if joint.form in ("ball", "free"):
        return None
    if after < 0:
        if joint.body[3, 3] <= 0.0:
            return None
        com = joint.body[:, 3] / joint.body[3, 3]
        return np.asarray((joint.placement @ (com if joint.form == "slide" else [0.0, 0.0, com[2], 1.0]))[:3])
    following = robot.units[after]
    if joint.form == "slide" or following.form in ("slide", "free"):
        return None
    point, u = following.placement[:3, 3], following.placement[:3, 2]
    if following.form == "ball":
        height = point[2]
    elif np.hypot(*u[:2]) > LEVER:
        height = point[2] - u[2] * (u[:2] @ point[:2]) / (u[:2] @ u[:2])
    else:
        return None
    return np.asarray((joint.placement @ along_z(float(height)))[:3, 3])
