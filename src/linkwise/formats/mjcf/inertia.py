"""The mass, mass centre and inertia of a body: from <inertial>, or from its geoms."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..xml import Element
from .bodies import Body
from .meshes import Meshes
from .orientation import TINY, Array, Pose, identity, pose, rotation, unit, z_to
from .principal import principal
from .settings import Settings, switch
from .shapes import SHELLS, SOLIDS, moments

TYPES = ("plane", "hfield", "sphere", "capsule", "ellipsoid", "cylinder", "box", "mesh", "sdf")
ALONG = ("capsule", "cylinder", "ellipsoid", "box")  # shapes that may lie between two points


@dataclass
class Inertia:
    """Principal moments about the mass centre, and the frame of the principal axes there, in that of the body."""

    mass: float
    frame: Pose
    moments: Array
    computed_axes: bool = False  # whether the axes are those of a tensor, so that others would do as well

    @property
    def tensor(self) -> Array:
        return self.frame.rotation @ np.diag(self.moments) @ self.frame.rotation.T


def inertia_of(body: Body, settings: Settings, meshes: Meshes) -> Inertia:
    """As MuJoCo's compiler has it, before the masses are scaled to a total."""
    found = None
    if settings.inertiafromgeom == "true" or (settings.inertiafromgeom == "auto" and body.inertial is None):
        found = of_geoms(body, settings, meshes)
    if found is None and body.inertial is not None:
        found = stated(body.inertial, settings)
    if found is None:  # MuJoCo puts what has no mass of its own where the body is in its parent
        found = Inertia(0.0, body.stated_pose, np.zeros(3))
    if settings.boundinertia > 0.0 and found.moments.min() < 0.0:
        (body.inertial or body.element).fail(
            f"has a principal moment of inertia of {found.moments.min():g} kg m2 (expected none below zero)"
        )
    found.mass = max(found.mass, settings.boundmass)
    found.moments = np.maximum(found.moments, settings.boundinertia)
    a, b, c = found.moments
    if settings.balanceinertia and (a + b < c or a + c < b or b + c < a):
        found.moments = np.full(3, (a + b + c) / 3.0)
    return found


def stated(element: Element, settings: Settings) -> Inertia:
    """Of an <inertial> element."""
    element.numbers("pos", 3)
    mass = element.number("mass")
    if mass < 0.0:
        element.fail(f"mass is {mass:g} (expected a number that is not negative)")
    if "fullinertia" not in element.attributes:
        diagonal = np.array(element.numbers("diaginertia", 3, (0.0, 0.0, 0.0)))
        return Inertia(mass, pose(element, settings), diagonal)
    for key in ("diaginertia", "quat", "axisangle", "euler", "xyaxes", "zaxis"):
        if key in element.attributes:
            element.fail(f"has fullinertia and {key} (expected fullinertia alone, along the axes of the body)")
    xx, yy, zz, xy, xz, yz = element.numbers("fullinertia", 6)
    values, axes = principal(np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]))
    return Inertia(mass, Pose(axes, pose(element, settings).position), values, computed_axes=True)


def of_geoms(body: Body, settings: Settings, meshes: Meshes) -> Inertia | None:
    """Of those geoms that have mass and are in the groups that count."""
    low, high = settings.inertiagrouprange
    counted = [geom for geom in body.geoms if low <= geom.element.number("group", 0.0) <= high]
    parts = [of_geom(geom.element, geom.frame, settings, meshes) for geom in counted]
    parts = [part for part in parts if part.mass > TINY]
    if len(parts) <= 1:
        return parts[0] if parts else None
    mass = sum(part.mass for part in parts)
    centre = sum((part.mass * part.frame.position for part in parts), np.zeros(3)) / mass
    total = np.zeros((3, 3))
    for part in parts:
        d = part.frame.position - centre
        total += part.tensor + part.mass * (d @ d * np.eye(3) - np.outer(d, d))
    values, axes = principal(total)
    return Inertia(mass, Pose(axes, centre), values, computed_axes=True)


def of_geom(element: Element, frame: Pose, settings: Settings, meshes: Meshes) -> Inertia:
    """Without mass where the shape has no volume, or the mass or density is zero."""
    kind = element.word("type", TYPES, "sphere")
    mass, density = element.number("mass", None), element.number("density", 1000.0)
    for key, value in (("mass", mass), ("density", density)):
        if value is not None and value < 0.0:
            element.fail(f"{key} is {value:g} (expected a number that is not negative)")
    nothing = Inertia(0.0, identity(), np.zeros(3))
    if kind == "plane" or mass == 0.0 or (mass is None and density == 0.0):
        return nothing
    if kind in ("hfield", "sdf"):
        hint = 'give the body an <inertial>, or the geom mass="0"'
        element.fail(f'type is "{kind}": the inertia of such a geom is not computed here ({hint})')
    place, sizes = extent(element, kind, settings)
    if element.get("mesh", ""):
        mesh = meshes.named(element.get("mesh"), element)
        place = place.then(mesh.frame)
        if kind == "mesh":
            if switch(element, "shellinertia"):
                element.fail('shellinertia is given for a mesh (expected inertia="shell" in the mesh of <asset>)')
            volume, unit_moments = mesh.volume, mesh.moments
        else:
            sizes = meshes.fitted(mesh, kind, element, settings)
    elif kind == "mesh":
        element.fail("mesh is missing (expected the name of a mesh of <asset>)")
    if kind != "mesh":
        shape = (SHELLS if switch(element, "shellinertia") else SOLIDS)[kind]
        check_sizes(element, kind, sizes, shape.sizes)
        try:
            volume, unit_moments = shape.volume(*sizes[: shape.sizes]), moments(shape, sizes, 1.0)
        except (OverflowError, ZeroDivisionError):
            element.fail(f"size is {list(sizes)}, which is out of range (expected lengths in m)")
    amount = density * volume if mass is None else mass if volume > TINY else 0.0
    if not math.isfinite(amount) or not np.isfinite(amount * unit_moments).all():
        element.fail("has a mass that is too large (expected sizes in m and a density in kg/m3)")
    return Inertia(amount, frame.then(place), amount * unit_moments, computed_axes=bool(element.get("mesh", "")))


def extent(element: Element, kind: str, settings: Settings) -> tuple[Pose, tuple[float, ...]]:
    """Where a geom is in its frame, and its sizes; three numbers, those that are not given 0."""
    given = element.numbers("size", None, ())
    if len(given) > 3:
        element.fail(f"size has {len(given)} numbers (expected at most 3)")
    sizes = (*given, 0.0, 0.0, 0.0)[:3]
    if "fromto" not in element.attributes:
        return pose(element, settings), sizes
    if kind not in ALONG:
        element.fail(f'fromto is given for type "{kind}" (expected {", ".join(ALONG)})')
    if any(element.numbers("pos", 3, (0.0, 0.0, 0.0))):
        element.fail("has pos and fromto (expected one)")
    rotation(element, settings)  # has no effect beside fromto, but must be in order
    ends = np.array(element.numbers("fromto", 6)).reshape(2, 3)
    back = ends[0] - ends[1]
    half = 0.5 * math.hypot(*back)
    if half < TINY:
        element.fail("fromto has two points that are the same (expected two ends)")
    place = Pose(z_to(unit(back, element, "fromto")), 0.5 * (ends[0] + ends[1]))
    return place, (sizes[0], half, 0.0) if kind in ("capsule", "cylinder") else (sizes[0], sizes[0], half)


def check_sizes(element: Element, kind: str, sizes: tuple[float, ...], count: int) -> None:
    """Sizes that a shape needs are positive."""
    if not all(size > 0.0 for size in sizes[:count]):
        expected = {1: "the radius", 2: "the radius and half the length", 3: "three half lengths"}[count]
        if "fromto" in element.attributes and count == 2:
            expected = "the radius: fromto gives the length"
        element.fail(f'size is "{element.get("size", "")}" for type "{kind}" (expected {expected}, positive)')
