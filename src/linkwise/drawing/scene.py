"""A scene: solids in the frames of a skeleton, rods between them, mass centres and labels.

A scene belongs to a robot, not to a configuration. matplotlib (`painter`) and the page of an animation (`player.js`)
draw the same scene from the same poses. Solids have flat faces: outlines, counter-clockwise seen from outside.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..robot import KINDS
from .skeleton import DrawnJoint, Floats, Point, Skeleton

LINKS = ("#9fb3c8", "#7d95ae")  # alternating from joint to joint
BASE = "#5f6770"
BOX = "#c9d3dd"
THREAD = "#7b838c"
AXES = ("#d62728", "#2ca02c", "#1f5fd0")
MOST_NAMED = 10  # robots with more links have no labels and frames by default
MOST_CENTRES = 40  # robots with more links have no mass centres by default
COINCIDENT = 1e-6  # relative to the robot's size
Face = tuple[int, ...]
SIDES, RINGS = 14, 7  # of round solids
TURNS = 3  # of the thread of a screw


class Solid(NamedTuple):
    points: Floats  # (n, 3)
    faces: tuple[Face, ...]

    def placed(self, pose: Floats) -> Solid:
        return Solid(self.points @ pose[:3, :3].T + pose[:3, 3], self.faces)


class Part(NamedTuple):
    """A solid fixed in a frame; `clear` means transparent."""

    frame: int
    solid: Solid
    colour: str
    clear: bool = False


class Tube(NamedTuple):
    start: Point
    end: Point
    radius: float
    colour: str


class Centre(NamedTuple):
    point: Point
    radius: float


class Label(NamedTuple):
    point: Point
    text: str


@dataclass(frozen=True)
class Scene:
    skeleton: Skeleton
    size: float  # of the robot, m
    radius: float  # of its links
    parts: tuple[Part, ...]
    tubes: tuple[Tube, ...]
    centres: tuple[Centre, ...]
    labels: tuple[Label, ...]

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of joints that are shown, in the order of `KINDS`."""
        present = {joint.kind for joint in self.skeleton.joints}
        return tuple(kind for kind in KINDS if kind in present)


class SceneOptions(NamedTuple):
    """Parts to draw besides links and joints; None: depending on the robot."""

    frames: bool | None = None
    centres: bool | None = None
    labels: bool | None = None
    bodies: bool | None = None


DEFAULT_OPTIONS = SceneOptions()


def scene_of(skeleton: Skeleton, poses: Floats, options: SceneOptions = DEFAULT_OPTIONS) -> Scene:
    """Build the scene of a robot, with symbols sized for these poses (k, frames, 4, 4)."""
    size, radius = sizes(skeleton, poses)
    few = len(skeleton.joints) <= MOST_NAMED
    frames = few if options.frames is None else options.frames
    centres = len(skeleton.joints) <= MOST_CENTRES if options.centres is None else options.centres
    parts = [*base_parts(skeleton, radius), *joint_parts(skeleton, poses[-1], size, radius)]
    if options.bodies is not False:
        parts += body_parts(skeleton, radius, everything=options.bodies is True)
    if frames:  # a free joint's symbol is a frame
        others = [joint.frame for joint in skeleton.joints if joint.kind != "free"]
        parts += [part for frame in others for part in frame_parts(frame, radius)]
    labels = labels_of(skeleton, poses[-1], size) if few or options.labels else ()
    return Scene(
        skeleton,
        size,
        radius,
        tuple(parts),
        tubes_of(skeleton, radius) + (threads_of(skeleton, radius) if centres else ()),
        centres_of(skeleton, radius) if centres else (),
        () if options.labels is False else labels,
    )


def to_base(points: tuple[Point, ...], poses: Floats) -> Floats:
    """Points in the base frame: (k, points, 3)."""
    if not points:
        return np.empty((len(poses), 0, 3))
    frames = poses[:, [point.frame for point in points]]
    at = np.stack([point.at for point in points])
    where: Floats = np.einsum("kpij,pj->kpi", frames[..., :3, :3], at) + frames[..., :3, 3]
    return where


def sizes(skeleton: Skeleton, poses: Floats) -> tuple[float, float]:
    """The largest size of the robot at these poses, and the radius of its links."""
    points = to_base(skeleton.points(), poses)
    size = float(np.linalg.norm(np.ptp(points, axis=1), axis=-1).max(initial=0.0))
    largest = max((float(2.0 * body.half.max()) for body in skeleton.bodies), default=0.0)
    size = max(size, largest) or 1.0
    starts, ends = tuple(rod.start for rod in skeleton.rods), tuple(rod.end for rod in skeleton.rods)
    lengths = np.linalg.norm(to_base(ends, poses[-1:])[0] - to_base(starts, poses[-1:])[0], axis=-1)
    lengths = lengths[lengths > 1e-3 * size]
    typical = float(np.median(lengths)) if len(lengths) else size
    return size, float(np.clip(0.09 * typical, 0.005 * size, 0.02 * size))


def link_colour(skeleton: Skeleton, frame: int) -> str:
    depth = 0
    while frame:
        frame, depth = skeleton.joints[frame - 1].parent, depth + 1
    return LINKS[depth % 2] if depth else BASE


def tubes_of(skeleton: Skeleton, radius: float) -> tuple[Tube, ...]:
    thickness = (radius * (0.6 if rod.thin else 1.15 if rod.body == 0 else 1.0) for rod in skeleton.rods)
    pairs = zip(skeleton.rods, thickness, strict=True)
    return tuple(Tube(rod.start, rod.end, thick, link_colour(skeleton, rod.body)) for rod, thick in pairs)


def threads_of(skeleton: Skeleton, radius: float) -> tuple[Tube, ...]:
    """Thin lines from links to mass centres outside them."""
    threads = []
    for body in skeleton.bodies:
        rods = [rod for rod in skeleton.rods if rod.start.frame == rod.end.frame == body.frame]
        hub = skeleton.joints[body.frame - 1].after[:3, 3]
        spots = [hub] + [nearest_on(rod.start.at, rod.end.at, body.com) for rod in rods]
        nearest = min(spots, key=lambda spot: float(np.linalg.norm(spot - body.com)))
        if body.mass > 0.0 and np.linalg.norm(nearest - body.com) > 2.0 * radius:
            start, end = Point(body.frame, nearest), Point(body.frame, body.com)
            threads.append(Tube(start, end, 0.2 * radius, THREAD))
    return tuple(threads)


def nearest_on(a: Floats, b: Floats, point: Floats) -> Floats:
    """The point between a and b that is nearest to another."""
    along_it = b - a
    share = float(np.clip((point - a) @ along_it / (along_it @ along_it), 0.0, 1.0))
    nearest: Floats = a + share * along_it
    return nearest


def joint_parts(skeleton: Skeleton, poses: Floats, size: float, radius: float) -> list[Part]:
    """Symbols of the joints; several in one place get thinner and longer one after another."""
    parts: list[Part] = []
    places: list[Floats] = []
    for joint in skeleton.joints:
        place = (poses[joint.parent] @ joint.before)[:3, 3]
        stacked = sum(bool(np.linalg.norm(place - other) < COINCIDENT * size) for other in places)
        places.append(place)
        parts += symbol_parts(joint, radius, min(stacked, 4))
    return parts


def symbol_parts(joint: DrawnJoint, r: float, stacked: int) -> list[Part]:
    """The symbol of a joint, with a part on its parent and one on its link; otherwise a frame."""
    wide, long = 1.9 * r * 0.78**stacked, 4.2 * r * 1.22**stacked
    below, above = None, None
    match joint.symbol:
        case "revolute":
            above = cylinder(wide, long)
        case "prismatic":
            below = box(wide, wide, long / 1.7)
        case "cylindrical":
            below, above = cylinder(wide, long * 1.2), cylinder(wide * 0.75, long * 0.5)
        case "screw":
            below, above = box(wide, wide, long / 4), thread(wide * 0.8, long * 1.3)
        case "ball":
            above = ball(wide * 1.15)
        case "universal":
            below, above = cylinder(wide * 0.62, long).placed(pose_along(np.eye(3)[0])), cylinder(wide * 0.62, long)
        case "planar":
            below, above = box(4.5 * r, 4.5 * r, 0.25 * r), cylinder(wide, r)
        case _:
            return frame_parts(joint.frame, 1.3 * r)
    both = (joint.parent, below, joint.before), (joint.frame, above, joint.after)
    colour, clear = KINDS[joint.kind].colour, joint.symbol == "planar"
    return [Part(frame, solid.placed(pose), colour, clear and solid is below) for frame, solid, pose in both if solid]


def frame_parts(frame: int, radius: float) -> list[Part]:
    arrows = (arrow(4.6 * radius, 0.17 * radius).placed(pose_along(axis)) for axis in np.eye(3))
    return [Part(frame, solid, colour) for solid, colour in zip(arrows, AXES, strict=True)]


def base_parts(skeleton: Skeleton, radius: float) -> list[Part]:
    """A plate under a robot on a fixed base."""
    standing = [joint for joint in skeleton.joints if joint.parent == 0 and joint.kind != "free"]
    if not standing:
        return []
    up = up_of(skeleton)
    plate = box(4.5 * radius, 4.5 * radius, 0.5 * radius)
    return [Part(0, plate.placed(pose_along(up, -0.5 * radius * up)), BASE)]


def up_of(skeleton: Skeleton) -> Floats:
    """Against gravity; z without it."""
    gravity = np.array([float(x) for x in skeleton.robot.gravity])
    size = float(np.linalg.norm(gravity))
    return -gravity / size if size > 0.0 else np.array([0.0, 0.0, 1.0])


def body_parts(skeleton: Skeleton, radius: float, everything: bool) -> list[Part]:
    """Boxes with the masses and inertias of floating links, or of all."""
    parts = []
    for body in skeleton.bodies:
        if body.mass > 0.0 and body.half.max() > radius and (everything or body.frame in skeleton.floating):
            turn = body.axes if np.linalg.det(body.axes) > 0.0 else -body.axes
            pose = np.block([[turn, body.com[:, None]], [np.zeros((1, 3)), np.ones((1, 1))]])
            sides = np.maximum(body.half, 0.2 * radius)
            parts.append(Part(body.frame, box(*map(float, sides)).placed(pose), BOX, True))
    return parts


def centres_of(skeleton: Skeleton, radius: float) -> tuple[Centre, ...]:
    """Mass centres; the volume of a symbol is proportional to the mass, with a minimum size."""
    heaviest = max((body.mass for body in skeleton.bodies), default=0.0)
    return tuple(
        Centre(Point(body.frame, body.com), 1.5 * radius * max(0.4, (body.mass / heaviest) ** (1.0 / 3.0)))
        for body in skeleton.bodies
        if body.mass > 0.0
    )


def labels_of(skeleton: Skeleton, poses: Floats, size: float) -> tuple[Label, ...]:
    """The links' names at their joints; joints in one place share a label."""
    labels: list[Label] = []
    places: list[Floats] = []
    for joint, name in zip(skeleton.joints, skeleton.robot.names, strict=True):
        point = Point(joint.frame, joint.after[:3, 3])
        place = to_base((point,), poses[None])[0, 0]
        near = [k for k, other in enumerate(places) if np.linalg.norm(place - other) < COINCIDENT * size]
        short = name if len(name) <= 24 else f"{name[:23]}…"
        if near:
            labels[near[0]] = labels[near[0]]._replace(text=f"{labels[near[0]].text}, {short}")
        else:
            labels.append(Label(point, short))
            places.append(place)
    return tuple(labels)


def join_solids(solids: Iterable[Solid]) -> Solid:
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
    caps = tuple(range(sides))[::-1], tuple(range(sides, 2 * sides))
    return Solid(np.concatenate([bottom, top]), (*walls(sides), *caps))


def walls(sides: int, start: int = 0) -> list[Face]:
    """Faces between a circle, whose points are numbered from `start`, and the next circle."""
    below = [(start + k, start + (k + 1) % sides) for k in range(sides)]
    return [(k, after, after + sides, k + sides) for k, after in below]


def box(x: float, y: float, z: float) -> Solid:
    """About the origin; half of each side is given."""
    signs = np.array([(i, j, k) for k in (-1, 1) for j in (-1, 1) for i in (-1, 1)], float)
    faces = ((0, 2, 3, 1), (4, 5, 7, 6), (0, 1, 5, 4), (2, 6, 7, 3), (0, 4, 6, 2), (1, 3, 7, 5))
    return Solid(signs * (x, y, z), faces)


def ball(radius: float) -> Solid:
    points = [circle(radius * np.sin(a), -radius * np.cos(a)) for a in np.pi * np.arange(1, RINGS) / RINGS]
    poles = np.array([[0.0, 0.0, -radius], [0.0, 0.0, radius]])
    faces = [face for ring in range(RINGS - 2) for face in walls(SIDES, ring * SIDES)]
    south, north, top = (RINGS - 1) * SIDES, (RINGS - 1) * SIDES + 1, (RINGS - 2) * SIDES
    faces += [(south, (k + 1) % SIDES, k) for k in range(SIDES)]
    faces += [(north, top + k, top + (k + 1) % SIDES) for k in range(SIDES)]
    return Solid(np.concatenate([*points, poles]), tuple(faces))


def thread(radius: float, length: float) -> Solid:
    """A threaded rod about z: discs of alternating radius."""
    count = 2 * TURNS + 1
    step = length / count
    places = [(k + 0.5) * step - length / 2 for k in range(count)]
    return join_solids(cylinder(radius * (0.72 if k % 2 else 1.0), step, centre=at) for k, at in enumerate(places))


def arrow(length: float, radius: float, sides: int = 8) -> Solid:
    """Along z from the origin: a shaft and a cone."""
    head = min(3.2 * radius, 0.4 * length) * 1.6
    shaft = cylinder(radius, length - head, sides, centre=(length - head) / 2)
    base = circle(2.2 * radius, length - head, sides)
    faces = tuple(range(sides))[::-1], *((k, (k + 1) % sides, sides) for k in range(sides))
    return join_solids([shaft, Solid(np.concatenate([base, [[0.0, 0.0, length]]]), faces)])


def pose_along(direction: Floats, at: Floats | None = None) -> Floats:
    """A pose with z along a direction."""
    z = np.asarray(direction, float) / np.linalg.norm(direction)
    helper = np.eye(3)[int(np.argmin(np.abs(z)))]
    x = np.cross(helper, z)
    x /= np.linalg.norm(x)
    pose = np.eye(4)
    pose[:3, :3] = np.stack([x, np.cross(z, x), z], axis=-1)
    if at is not None:
        pose[:3, 3] = at
    return pose
