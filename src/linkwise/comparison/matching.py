"""Match the joints of two robots by name, then by their place in the tree."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from .rigid import Array
from .skeleton import Skeleton, Unit

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
