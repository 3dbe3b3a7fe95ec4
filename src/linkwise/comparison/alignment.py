"""Align the frames of two matched robots: placement of the bases, and sign and zero of each joint.

Robots are the same even if the frames of their links differ. With F the pose of a link, X the base of b in that of a,

    F_a(q_a) T = X F_b(q_b)            T constant: the frame of b in that of a
    T = M J(c),  M = P_a⁻¹ T_parent P_b,  q_b = s q_a + c

P is the placement of a joint in its parent and J its motion. A revolute joint is the same in both if M maps its axis
to itself or to its opposite, s = -1. c follows from the joints that the link carries, or from its body if there are
none. A search from the base to the tips prefers equal bodies, and few reversed joints and offsets.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from .candidates import Candidates
from .rigid import (
    EYE,
    FLIP,
    Array,
    about_z,
    angle_of,
    inverse,
    make_pose,
    mass_properties,
    nearest_rotation,
    pose_difference,
    transform_body,
)
from .skeleton import Skeleton, Unit

TIGHT = 1e-7  # radians, and lengths relative to the robot's size: equal up to rounding
LOOSE = 2e-3  # equal up to few digits
COSTS = {"place": 10.0, "body": 2.5, "gravity": 2.5, "frame": 2.0, "zero": 1.0, "sign": 1.0, "base": 1.0}
OPPOSITE = 0.85  # cosine of about half a radian: closer to the opposite axis, a joint is reversed
BEAM = 24
HOPELESS = 9.0  # partial alignments that cost so much more are dropped


@dataclass(frozen=True)
class JointAlignment:
    """T, M and J(c) of one joint, and the numbers of q_b = sign q_a + zero."""

    T: Array
    M: Array
    zero: float
    sign: int
    off: float  # deviation of M from a motion that keeps the axis


@dataclass(frozen=True)
class Alignment:
    base: Array  # X
    joints: tuple[JointAlignment, ...]
    cost: float

    def mismatches(self) -> int:
        return sum(joint.off > LOOSE for joint in self.joints)


def align(a: Skeleton, b: Skeleton) -> Alignment:
    """Find the best alignment of two robots whose units correspond one by one, by beam search over the joints."""
    size = characteristic_length(a, b)
    candidates = Candidates(a, b, size)
    as_it_is = search(candidates, [EYE])
    if as_it_is.cost == 0.0:
        return as_it_is
    return min(as_it_is, search(candidates, candidates.bases()), key=lambda alignment: alignment.cost)


def search(candidates: Candidates, bases: list[Array]) -> Alignment:
    a, b, size = candidates.a, candidates.b, candidates.size
    beam: list[tuple[float, Array, tuple[JointAlignment, ...]]] = []
    for X in bases:
        cost = COSTS["base"] * (not same_place(X, EYE, size))
        g = X[:3, :3] @ b.gravity
        cost += COSTS["gravity"] * (np.abs(g - a.gravity).max() > TIGHT * max(np.abs(g).max(), np.abs(a.gravity).max()))
        beam.append((cost, X, ()))
    for _ in a.units:
        longer = [
            (cost + more, X, (*done, joint))
            for cost, X, done in beam
            for more, joint in next_joints(candidates, X, done)
        ]
        longer.sort(key=lambda state: state[0])  # stable: in a tie the candidate with fewer differences comes first
        beam = [state for state in longer[:BEAM] if state[0] < longer[0][0] + HOPELESS]
    cost, X, done = beam[0]
    return Alignment(X, done, cost)


def characteristic_length(a: Skeleton, b: Skeleton) -> float:
    """The length scale: the largest distance between joints, or the size of the bodies if all are zero."""
    units = [unit for robot in (a, b) for unit in robot.units]
    reach = max((float(np.linalg.norm(unit.placement[:3, 3])) for unit in units), default=0.0)
    bodies = (np.sqrt(abs(np.trace(S[:3, :3]) / S[3, 3])) for S in (unit.body for unit in units) if S[3, 3])
    return reach or float(max(bodies, default=0.0)) or 1.0


def same_place(T: Array, U: Array, size: float) -> bool:
    return pose_difference(T, U, size) < TIGHT


def next_joints(
    candidates: Candidates, X: Array, done: tuple[JointAlignment, ...]
) -> Iterator[tuple[float, JointAlignment]]:
    """Iterate over the alignments of the next joint, with their costs.

    Bodies count only if they can be equal in some placement, and frames only if some alignment makes them equal.
    """
    a, b, size, k = candidates.a, candidates.b, candidates.size, len(done)
    one, other = a.units[k], b.units[k]
    Tp = done[one.parent].T if one.parent >= 0 else X
    raw = inverse(one.placement) @ Tp @ other.placement
    M, sign, off = nearest_axis_motion(one, raw, size)
    cost = COSTS["place"] * (off > LOOSE) + COSTS["sign"] * (sign < 0)
    body_tells = same_invariants(one, other)
    options = []
    for C, zero, trivial in candidates.of_link(k, M):
        T = orthonormalize(M @ C)
        options.append((T, zero, trivial))
        fits = trivial and body_tells and same_body(one, other, T, size)
        if fits and not any(child_misalignment(a, b, child, T, size) > TIGHT for child in a.children(k)):
            break  # nothing can be better
    framed = [same_place(one.frame, T @ other.frame, size) for T, _, _ in options]
    for (T, zero, trivial), same_frame in zip(options, framed, strict=True):
        more = cost + COSTS["zero"] * (not trivial)
        more += COSTS["body"] * (body_tells and not same_body(one, other, T, size))
        more += COSTS["frame"] * (any(framed) and not same_frame)
        more += 0.1 * COSTS["place"] * sum(child_misalignment(a, b, c, T, size) > LOOSE for c in a.children(k))
        yield more, JointAlignment(T, M, zero, sign, off)


def same_invariants(one: Unit, other: Unit) -> bool:
    """Whether two bodies have equal mass and principal moments."""
    (mass_a, _, tensor_a), (mass_b, _, tensor_b) = mass_properties(one.body), mass_properties(other.body)
    if mass_a <= 0.0 or abs(mass_a - mass_b) > TIGHT * mass_a:
        return False
    values_a, values_b = np.linalg.eigvalsh(tensor_a), np.linalg.eigvalsh(tensor_b)
    return bool(np.abs(values_a - values_b).max() <= 1e-6 * max(np.abs(values_a).max(), 1e-300))


def orthonormalize(T: Array) -> Array:
    """Remove rounding errors of the rotation, which would grow from link to link."""
    return make_pose(nearest_rotation(T[:3, :3]), T[:3, 3])


def child_misalignment(a: Skeleton, b: Skeleton, child: int, T: Array, size: float) -> float:
    one, other = a.units[child], b.units[child]
    return nearest_axis_motion(one, inverse(one.placement) @ T @ other.placement, size)[2]


def nearest_axis_motion(unit: Unit, M: Array, size: float) -> tuple[Array, int, float]:
    """The motion nearest to M that maps the joint's axis to itself or its opposite, the sign, and the deviation."""
    if unit.kind == "free":
        return orthonormalize(M), 1, 0.0
    if unit.kind == "ball":
        return make_pose(nearest_rotation(M[:3, :3])), 1, float(np.linalg.norm(M[:3, 3])) / size
    sign = 1 if M[2, 2] >= -OPPOSITE else -1
    turn = np.arctan2(M[1, 0] - sign * M[0, 1], M[0, 0] + sign * M[1, 1])  # the nearest one
    near = about_z(float(turn)) @ (EYE if sign > 0 else FLIP)
    tilt = angle_of(near[:3, :3].T @ M[:3, :3])
    if unit.form == "slide":
        near[:3, 3] = M[:3, 3]
        return near, sign, tilt
    along = float(M[:3, 3] @ M[:3, 2])
    near[2, 3] = sign * along
    foot = M[:3, 3] - along * M[:3, 2]  # the point of b's axis nearest to the origin
    return near, sign, max(tilt, float(np.abs(foot).max()) / size)


def same_body(one: Unit, other: Unit, T: Array, size: float) -> bool:
    body = transform_body(other.body, T)
    return bool(
        np.all(np.abs(body - one.body) <= TIGHT * np.maximum(entry_scale(body, size), entry_scale(one.body, size)))
    )


def entry_scale(body: Array, size: float) -> Array:
    """The scale of each entry of a body: geometric means of the diagonal, with a minimum for the second moments."""
    d = np.sqrt(np.abs(np.diag(body)))
    d[:3] = max(d[:3].max(), TIGHT * size * d[3])
    return np.outer(d, d)
