"""Which differences explain the difference in torque: each is corrected in turn, and what is left is computed again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..lazy import cached_property
from ..robot.link import own_numbers
from .alignment import LOOSE, Alignment, size_of
from .bodies import body_increments
from .dynamics import (
    Numbers,
    SharedCoordinates,
    StateMap,
    States,
    model_torques,
    numbers_of,
    numbers_seen,
    own_units,
    torques,
)
from .findings import Finding, Increment, both, moved_in_words, number, turn
from .rigid import EYE, Array, angle_of, apart, inverse
from .skeleton import WIDTHS, Skeleton
from .tables import TableDifference, unit_of

SAME = 1e-9  # radians, and of the robot's size
FLOOR = 1e-6  # of the torques that what a joint carries could have: smaller ones are measured by this
ROUNDING = 1e-11  # of the torques: a smaller effect is none
UNEXPLAINED = 1e-8  # of the torques: more than rounding
TOGETHER = ": no effect, together with the others"
MOST_GREEDY = 6  # more coordinates than this are corrected in the order of the joints


@dataclass(frozen=True)
class Pair:
    """Two robots whose joints are matched, seen in shared coordinates."""

    whole_a: Skeleton  # with the links that `elsewhere` names on their parents of b
    whole_b: Skeleton
    a: Skeleton  # the shared joints alone, as b has them in the same order
    b: Skeleton
    alignment: Alignment
    shared: SharedCoordinates
    to_a: StateMap
    to_b: StateMap
    given: Skeleton  # robot a as it is
    elsewhere: tuple[Finding, ...] = ()

    @cached_property
    def to_given(self) -> StateMap:
        named = {unit.name: unit for unit in self.given.units}
        return StateMap(self.given, [named[unit.name] for unit in self.a.units], self.shared)

    @cached_property
    def size(self) -> float:
        """To measure lengths by."""
        return size_of(self.a, self.b)

    @cached_property
    def units(self) -> Array:
        """What torques are multiplied by to be in N m: 1, or for forces the size."""
        return own_units(self.a, self.shared, self.size)

    @cached_property
    def masses(self) -> Array:
        """What each joint that moves on its own carries: the mass of its body and of all that follow, of a or of b."""
        carried = np.array([masses_carried(self.a), masses_carried(self.b)]).max(axis=0)
        carried = np.maximum(carried, 1e-15 * carried.max(initial=0.0))
        of_each = np.zeros(self.shared.n)
        for mass, part in zip(carried, self.shared.v, strict=True):
            of_each[part] = mass
        return np.asarray(of_each @ np.abs(self.shared.couplings))

    @cached_property
    def least(self) -> Array:
        """Torques below which nothing is told from rounding: of each joint, by what it carries alone."""
        gravity = float(np.linalg.norm(self.a.gravity))
        return np.asarray(FLOOR * self.masses * (gravity + self.size) * self.size / self.units)

    @cached_property
    def least_inertia(self) -> Array:
        """The same for the diagonal of the inertia matrix."""
        return np.asarray(FLOOR * self.masses * self.size**2 / self.units**2)


class Residual:
    """How far torques are from those of b: root mean square over states and joints, in parts of each joint's torque."""

    def __init__(self, pair: Pair, *torques: Array) -> None:
        squares = [np.mean(np.square(tau), axis=0) for tau in torques]
        self.scale = np.maximum(np.sqrt(np.maximum.reduce(squares)), np.maximum(pair.least, 1e-300))

    def __call__(self, difference: Array) -> Array:
        return np.asarray(np.sqrt(np.mean(np.square(difference / self.scale), axis=(-1, -2))))


def masses_carried(robot: Skeleton) -> Array:
    """Of each joint."""
    masses = np.zeros(len(robot.units))
    for unit in robot.units:
        masses[[unit.index, *robot.ancestors(unit.index)]] += unit.body[3, 3]
    return masses


@dataclass(frozen=True)
class Explained:
    findings: tuple[Finding, ...]
    worst: float  # the largest relative difference of any torque that is left
    first: int | None  # the first joint at which something has an effect

    @property
    def length(self) -> tuple[bool, int]:
        """How much there is to say: whether something is left, and how many findings have an effect."""
        return self.worst > UNEXPLAINED, sum(f.share is not None for f in self.findings)


def explain(pair: Pair, states: States, table: TableDifference | None = None) -> Explained:
    """Where the tables have the same rows, `table` has the entries that differ, and `pair.a` the places of b."""
    target = torques(pair.whole_b.robot, pair.to_b, states)
    own = torques(pair.whole_a.robot, pair.to_a, states)
    given = torques(pair.given.robot, pair.to_given, states)
    norm = Residual(pair, target, own, given)
    level = float(norm(target - own))
    plain = torques(pair.whole_b.robot, pair.to_b.only([]), states)  # q_b = q_a
    start, before = (float(norm(plain - tau)) for tau in (given, own))
    total = max(start, before, level) or 1.0
    count, effective = len(pair.elsewhere), abs(start - before) > ROUNDING
    findings = [
        (unit_of(pair.a, f.where), with_share(f, (start - before) / total / count, effective)) for f in pair.elsewhere
    ]
    findings += coordinate_findings(pair, states, own, norm, before, total)
    numbers, seen = numbers_of(pair.a), numbers_seen(pair.a, pair.b, pair.alignment)
    numbers = numbers if table is None else table.start

    def measured(trial: Numbers) -> float:
        return float(norm(target - model_torques(pair.a, pair.shared, trial, states)))

    for unit, finding, trial in corrections(pair, numbers, seen, table):
        now = measured(trial)
        findings.append((unit, with_share(finding, (level - now) / total, abs(level - now) > ROUNDING)))
        numbers, level = trial, now
    increments = [*body_increments(pair.a, pair.b, seen.bodies, pair.alignment), *rotor_increments(pair)]
    chosen, numbers, level = greedy(pair, states, target, norm, numbers, increments, total)
    findings += chosen
    rest = target - model_torques(pair.a, pair.shared, numbers, states)
    worst = float(np.max(np.abs(rest) / norm.scale, initial=0.0))
    findings = in_order(findings, total)
    first = min((unit for unit, finding in findings if finding.share is not None and unit >= 0), default=None)
    return Explained(tuple(f for _, f in findings), worst, first)


def largest_difference(pair: Pair, states: States) -> float:
    """Of any torque in shared coordinates, relative."""
    target, own = torques(pair.whole_b.robot, pair.to_b, states), torques(pair.whole_a.robot, pair.to_a, states)
    return float(np.max(np.abs(target - own) / Residual(pair, target, own).scale, initial=0.0))


def in_order(findings: list[tuple[int, Finding]], total: float) -> list[tuple[int, Finding]]:
    """Those with the largest shares first.

    What helps only together with the next corrections, and alone makes the difference larger, shares with them what
    they bring together; if that is nothing, they have no effect.
    """
    groups: list[list[tuple[int, Finding]]] = []
    for finding in (f for f in findings if f[1].share is not None):
        groups.append([finding])
        while len(groups) > 1 and brought(groups[-2]) * total < -ROUNDING:
            groups[-2:] = [groups[-2] + groups[-1]]
    while len(groups) > 1 and brought(groups[-1]) * total < -ROUNDING:
        groups[-2:] = [groups[-2] + groups[-1]]
    effective, idle = [], [f for f in findings if f[1].share is None]
    for group in groups:
        if brought(group) * total > ROUNDING:
            effective += [(unit, replace(f, share=brought(group) / len(group))) for unit, f in group]
        else:
            idle += [(unit, replace(f, message=f.message + TOGETHER, share=None)) for unit, f in group]
    return [*sorted(effective, key=lambda f: -(f[1].share or 0.0)), *idle]


def brought(group: list[tuple[int, Finding]]) -> float:
    return sum(f.share or 0.0 for _, f in group)


def with_share(finding: Finding, share: float, effective: bool) -> Finding:
    return replace(finding, share=float(share)) if effective else finding


def coordinate_findings(
    pair: Pair, states: States, own: Array, norm: Residual, before: float, total: float
) -> list[tuple[int, Finding]]:
    """Joints that count the other way or from another zero, each with what its correction alone brings."""
    changed = [k for k in range(len(pair.a.units)) if moved_joint(pair, k)]

    def level(kept: Sequence[int]) -> float:
        return float(norm(torques(pair.whole_b.robot, pair.to_b.only(kept), states) - own))

    now = before
    kept: list[int] = []
    found = []
    while len(kept) < len(changed):
        rest = [k for k in changed if k not in kept]
        options = [(level([*kept, k]), k) for k in (rest if len(changed) <= MOST_GREEDY else rest[:1])]
        after, k = min(options)
        kept.append(k)
        effective = abs(now - after) > ROUNDING
        found.append((k, with_share(coordinate_finding(pair, k), (now - after) / total, effective)))
        now = after
    return found


def moved_joint(pair: Pair, k: int) -> bool:
    joint, unit = pair.alignment.joints[k], pair.a.units[k]
    if unit.kind not in WIDTHS:
        return joint.sign < 0 or joint.zero != 0.0
    return max(apart(joint.M, EYE, pair.size), apart(joint.T, EYE, pair.size)) > SAME


def coordinate_finding(pair: Pair, k: int) -> Finding:
    joint, unit = pair.alignment.joints[k], pair.a.units[k]
    if unit.kind in WIDTHS:
        text = (
            f"{unit.kind} joint {unit.name!r}: the frame of b's body is {turn(joint.T, pair.size)}, seen from that of a"
        )
        if apart(joint.T, EYE, pair.size) <= SAME:
            text = (
                f"{unit.kind} joint {unit.name!r}: q of b is measured from a frame that is {turn(joint.M, pair.size)}"
            )
        return Finding("frame", unit.name, text, None, joint.T.tolist())
    text = in_b(joint.sign, joint.zero)
    if joint.sign < 0:
        what = "moves the other way" if unit.form == "slide" else "turns the other way"
        return Finding("sign", unit.name, f"joint {unit.name!r} {what}: {text}", 1, -1)
    angle = f"{number(np.degrees(joint.zero))} deg"
    shown = angle if unit.joint.angular else f"{number(joint.zero)} m"
    message = f"joint {unit.name!r} has another zero: {text} (by {shown})"
    return Finding("zero", unit.name, message, 0.0, joint.zero)


def in_b(sign: int, zero: float) -> str:
    """q_b = -q_a + 0.5"""
    shift = "" if zero == 0.0 else f" {'-' if zero < 0 else '+'} {number(abs(zero))}"
    return f"q_b = {'-' if sign < 0 else ''}q_a{shift}"


def corrections(
    pair: Pair, numbers: Numbers, seen: Numbers, table: TableDifference | None
) -> Iterator[tuple[int, Finding, Numbers]]:
    """Places of joints, their own numbers and gravity, each with the numbers after it."""
    if table is None:
        steps = list(place_corrections(pair, numbers, seen))
    else:
        steps = [(step.unit, step.finding, step.numbers) for step in table.steps]
    yield from ((unit, with_both_parents(pair, finding), after) for unit, finding, after in steps)
    yield from other_corrections(pair, steps[-1][2] if steps else numbers, seen)


def with_both_parents(pair: Pair, finding: Finding) -> Finding:
    """The place of a link that hangs elsewhere is told in the frame of each robot's own parent."""
    joints = {row["name"]: row.get("joint_name", row["name"]) for row in pair.given.robot.rows}
    for f in pair.elsewhere:
        if finding.kind == "placement" and finding.where in (f.where, joints[f.where]):
            on = repr(f.value_a) if f.value_a else "the base"
            return replace(finding, message=f"{finding.message}, compared with its place on {on} in a")
    return finding


def place_corrections(pair: Pair, numbers: Numbers, seen: Numbers) -> Iterator[tuple[int, Finding, Numbers]]:
    """Placements, in the frames of a's links."""
    offs = [inverse(P) @ Q for P, Q in zip(numbers.placements, seen.placements, strict=True)]
    far = [max(angle_of(T), float(np.abs(T[:3, 3]).max()) / pair.size) for T in offs]
    placements, numbers_before = list(numbers.placements), numbers
    small = [k for k, off in enumerate(far) if 1e-10 < off <= LOOSE]
    large = [k for k, off in enumerate(far) if off > LOOSE]
    if len(small) > 2:  # numbers of few digits: one finding for all
        for k in small:
            placements[k] = seen.placements[k]
        numbers = replace(numbers, placements=tuple(placements))
        worst = max(small, key=lambda k: far[k])
        name = pair.a.units[worst].name
        where = in_parent(pair, worst, numbers_before.placements[worst], seen.placements[worst])
        text = f"joints stand in slightly different places, most {name!r}, which is {where}: few digits?"
        yield small[0], Finding("placement", name, text), numbers
        small = []
    for k in sorted([*small, *large]):
        placements[k] = seen.placements[k]
        numbers = replace(numbers, placements=tuple(placements))
        unit = pair.a.units[k]
        own = numbers_before.placements[k], seen.placements[k]
        text = f"joint {unit.name!r} stands in another place in b: {in_parent(pair, k, *own)}"
        frame = inverse(parent_frame(pair, k))
        yield k, Finding("placement", unit.name, text, *((frame @ P).tolist() for P in own)), numbers


def parent_frame(pair: Pair, k: int) -> Array:
    """The frame of a's table in which a joint stands, seen from that of the unit."""
    parent = pair.a.units[k].parent
    return EYE if parent < 0 else pair.a.units[parent].frame


def in_parent(pair: Pair, k: int, P: Array, Q: Array) -> str:
    """How far Q is from P, both the place of a joint, in the frame of the link that carries it."""
    frame, parent = inverse(parent_frame(pair, k)), pair.a.units[k].parent
    name = "the base frame" if parent < 0 else f"the frame of {pair.a.units[parent].link!r}"
    return f"{moved_in_words(frame @ P, frame @ Q, pair.size)}, in {name}"


def other_corrections(pair: Pair, numbers: Numbers, seen: Numbers) -> Iterator[tuple[int, Finding, Numbers]]:
    """Numbers of joints, such as pitches, and gravity."""
    for k, (unit, of_b) in enumerate(zip(pair.a.units, seen.of_joints, strict=True)):
        for key, (unit_text, _, lengths) in own_numbers(type(unit.joint)).items():
            p, r = numbers.of_joints[k][key], of_b[key]
            if abs(p - r) > ROUNDING * pair.size**lengths:
                changed = numbers.of_joints[k] | {key: r}
                numbers = replace(numbers, of_joints=(*numbers.of_joints[:k], changed, *numbers.of_joints[k + 1 :]))
                text = f"{key} of {unit.name!r}: {both(p, r, f' {unit_text}')}"
                yield k, Finding(key, unit.name, text, p, r), numbers
    g, h = numbers.gravity, seen.gravity
    if np.abs(g - h).max() > 1e-10 * max(np.abs(g).max(), np.abs(h).max()):
        numbers = replace(numbers, gravity=h)
        text = f"gravity: {both(g, h, ' m/s2')}, in the base frame of a"
        yield -1, Finding("gravity", "", text, tuple(g.tolist()), tuple(h.tolist())), numbers


def rotor_increments(pair: Pair) -> Iterator[Increment]:
    for k, (one, other) in enumerate(zip(pair.a.units, pair.b.units, strict=True)):
        x, y = one.joint.rotor_inertia, other.joint.rotor_inertia
        if abs(x - y) > 1e-12 * max(x, y):
            unit = "kg m2" if one.joint.angular else "kg"
            text = f"rotor inertia (armature) of {one.name!r}: {both(x, y, zero='none')}, {unit}"
            yield Increment(Finding("rotor inertia", one.name, text, x, y), k, rotor=y - x)


def greedy(
    pair: Pair,
    states: States,
    target: Array,
    norm: Residual,
    numbers: Numbers,
    increments: list[Increment],
    total: float,
) -> tuple[list[tuple[int, Finding]], Numbers, float]:
    """The increments in the order in which they explain most; those that are left have no effect.

    Torques are linear in bodies and rotors, so that the effect of each is computed once, with all others as they are.
    """
    start = model_torques(pair.a, pair.shared, numbers, states)
    level = float(norm(target - start))
    found: list[tuple[int, Finding]] = []
    if not increments:
        return found, numbers, level
    effects = model_torques(pair.a, pair.shared, one_by_one(numbers, increments), states) - start
    rest, left = target - start, list(range(len(increments)))
    sizes = norm(effects)
    idle = [k for k in left if sizes[k] <= ROUNDING]
    left = [k for k in left if k not in idle]
    while left and level > ROUNDING:
        after = norm(rest - effects[left])
        best = int(np.argmin(after))
        k = left.pop(best)
        share, level, rest = (level - float(after[best])) / total, float(after[best]), rest - effects[k]
        found.append((increments[k].unit, replace(increments[k].finding, share=share)))
        numbers = corrected(numbers, increments[k])
    for k in sorted([*left, *idle]):
        together = "" if k in idle else TOGETHER
        finding = increments[k].finding
        found.append((increments[k].unit, replace(finding, message=finding.message + together)))
    return found, numbers, level


def one_by_one(numbers: Numbers, increments: list[Increment]) -> Numbers:
    """The numbers with each of the increments alone, along an axis in front of one for the states."""
    each = [corrected(numbers, increment) for increment in increments]
    bodies = tuple(np.stack(of_all)[:, None] for of_all in zip(*(one.bodies for one in each), strict=True))
    rotors = tuple(np.stack(of_all)[:, None] for of_all in zip(*(one.rotors for one in each), strict=True))
    return replace(numbers, bodies=bodies, rotors=rotors)


def corrected(numbers: Numbers, increment: Increment) -> Numbers:
    bodies, rotors = list(numbers.bodies), list(numbers.rotors)
    for k, change in increment.bodies.items():
        bodies[k] = bodies[k] + change
    rotors[increment.unit] = rotors[increment.unit] + increment.rotor
    return replace(numbers, bodies=tuple(bodies), rotors=tuple(rotors))
