"""Match the joints of two robots by name, then by their place in the tree; align their frames: placement of the
bases, and sign and zero of each joint.

Robots are the same even if the frames of their links differ. With F the pose of a link, X the base of b in that of a,

    F_a(q_a) T = X F_b(q_b)            T constant: the frame of b in that of a
    T = M J(c),  M = P_a⁻¹ T_parent P_b,  q_b = s q_a + c

P is the placement of a joint in its parent and J its motion. A revolute joint is the same in both if M maps its axis
to itself or to its opposite, s = -1. c follows from the joints that the link carries, or from its body if there are
none. A search from the base to the tips prefers equal bodies, and few reversed joints and offsets.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .candidates import Candidates
from .skeleton import (
    EYE,
    FLIP,
    Array,
    Skeleton,
    Unit,
    about_z,
    angle_of,
    inverse,
    make_pose,
    mass_properties,
    nearest_rotation,
    pose_difference,
    transform_body,
)

FILLER = {"link", "joint", "body", "axis", "hinge", "slide", "j", "jnt", "coord"}  # words without information
PIECES = re.compile(r"[a-z]+|[0-9]+")


class Match(NamedTuple):
    """A joint of a, the same joint of b, and how they were matched."""

    a: str
    b: str
    how: str


Key = Callable[[Unit], object]


def matchings(a: Skeleton, b: Skeleton) -> list[dict[int, tuple[int, str]]]:
    """Candidates {unit of a: (unit of b, how)}: by name and then by place; by place alone."""
    by_name = match_by_name(a, b)
    candidates: list[dict[int, tuple[int, str]]] = []
    for start in (by_name, {}):
        for nearest in (True, False):
            pairs = match_by_place(a, b, start, nearest)
            if not any(
                {i: j for i, (j, _) in pairs.items()} == {i: j for i, (j, _) in other.items()} for other in candidates
            ):
                candidates.append(pairs)
    return candidates


def match_by_name(a: Skeleton, b: Skeleton) -> dict[int, tuple[int, str]]:
    short_a, short_b = distinctive_names(a), distinctive_names(b)
    rules: list[tuple[str, Key, Key]] = [
        ("same name", lambda u: u.name, lambda u: u.name),
        ("same link", lambda u: u.link, lambda u: u.link),
        ("link's name", lambda u: u.name, lambda u: u.link),
        ("link's name", lambda u: u.link, lambda u: u.name),
        *(
            ("like name", lambda u, x=x: short_a.get(u.names[x]), lambda u, y=y: short_b.get(u.names[y]))
            for x, y in ((0, 0), (1, 1), (0, 1), (1, 0))
        ),
    ]
    pairs: dict[int, tuple[int, str]] = {}
    for how, key_a, key_b in rules:
        taken = {j for j, _ in pairs.values()}
        left = unique((u, key_a(u)) for u in a.units if u.index not in pairs)
        right = unique((u, key_b(u)) for u in b.units if u.index not in taken)
        for key, unit in left.items():
            other = right.get(key)
            if other is not None and other.kind == unit.kind:
                pairs[unit.index] = other.index, how
    return drop_contradictions(a, b, pairs)


def unique(keyed: Iterable[tuple[Unit, object]]) -> dict[object, Unit]:
    """Units by key, for keys that only one unit has."""
    pairs = [(unit, key) for unit, key in keyed if key]
    counts = Counter(key for _, key in pairs)
    return {key: unit for unit, key in pairs if counts[key] == 1}


def distinctive_names(robot: Skeleton) -> dict[str, tuple[str, ...]]:
    """Names without their common prefix and words such as "joint": panda_joint1 is ("1",)."""
    short = {}
    for names in zip(*(unit.names for unit in robot.units), strict=True):
        letters = zip(*names, strict=False)
        common = next((k for k, column in enumerate(letters) if len(set(column)) > 1), 0)
        prefix = names[0][: max(map(names[0][:common].rfind, "_-/: ")) + 1]  # whole words
        for name in names:
            pieces = PIECES.findall(name.removeprefix(prefix).lower())
            short[name] = tuple(piece.lstrip("0") or "0" for piece in pieces if piece not in FILLER)
    return short


def drop_contradictions(a: Skeleton, b: Skeleton, pairs: dict[int, tuple[int, str]]) -> dict[int, tuple[int, str]]:
    """Remove pairs until no two contradict each other; those with most contradictions go first."""
    pairs = dict(pairs)
    while pairs:
        against = {
            i: sum(contradicts(a, b, (i, j), (k, m)) for k, (m, _) in pairs.items()) for i, (j, _) in pairs.items()
        }
        worst = max(against, key=lambda i: against[i])
        if not against[worst]:
            break
        del pairs[worst]
    return pairs


def contradicts(a: Skeleton, b: Skeleton, one: tuple[int, int], other: tuple[int, int]) -> bool:
    """Whether one joint carries the other in only one of the robots."""
    (i, j), (k, m) = one, other
    return (i in a.ancestors(k)) != (j in b.ancestors(m)) or (k in a.ancestors(i)) != (m in b.ancestors(j))


def match_by_place(
    a: Skeleton, b: Skeleton, start: dict[int, tuple[int, str]], nearest: bool
) -> dict[int, tuple[int, str]]:
    """Extend the pairs by joints of the same kind on the same parent: nearest axes, or first in order."""
    pairs = dict(start)
    poses_a, poses_b = a.zero_poses(), b.zero_poses()
    for unit in a.units:
        if unit.index in pairs:
            continue
        taken = {j for j, _ in pairs.values()}
        above = next((pairs[k][0] for k in a.ancestors(unit.index) if k in pairs), -1)
        candidates = [
            other.index
            for other in b.units
            if other.index not in taken
            and other.kind == unit.kind
            and next((k for k in b.ancestors(other.index) if k in taken), -1) == above
            and not any(contradicts(a, b, (unit.index, other.index), (k, m)) for k, (m, _) in pairs.items())
        ]
        if candidates:
            apart = {j: dissimilarity(a, b, unit.index, j, poses_a, poses_b) for j in candidates}
            best = min(candidates, key=lambda j: (*apart[j][: 3 if nearest else 2], j))
            pairs[unit.index] = best, "place in the tree"
    return pairs


def dissimilarity(
    a: Skeleton, b: Skeleton, i: int, j: int, poses_a: list[Array], poses_b: list[Array]
) -> tuple[float, ...]:
    """Differences in depth, in the kinds of joints further out, and in the axes at q = 0."""
    deeper = abs(len(a.ancestors(i)) - len(b.ancestors(j)))
    shape = float(subtree_kinds(a, i) != subtree_kinds(b, j))
    apart = np.abs(poses_a[i][:3, 3] - poses_b[j][:3, 3]).max() + 1.0 - abs(poses_a[i][:3, 2] @ poses_b[j][:3, 2])
    return deeper, shape, round(float(apart), 6)


def subtree_kinds(robot: Skeleton, index: int) -> list[str]:
    return sorted(unit.kind for unit in robot.units if index in robot.ancestors(unit.index))


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
