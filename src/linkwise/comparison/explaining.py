"""Rank differences by their effect on torque: correct each in turn and compute the remaining difference."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..lazy import cached_property
from ..robot.link import own_numbers
from .alignment import LOOSE, Alignment, characteristic_length
from .bodies import TableDifference, body_increments, unit_of
from .dynamics import (
    DynamicParameters,
    SharedCoordinates,
    StateMap,
    States,
    independent_units,
    model_torques,
    parameters_of,
    parameters_of_b,
    torques,
)
from .findings import Finding, Increment, compare_values, displacement_text, number, placement_text
from .skeleton import EYE, WIDTHS, Array, Skeleton, angle_of, inverse, pose_difference

SAME = 1e-9  # radians, and of the robot's size
FLOOR = 1e-6  # least scale of a joint's torque, relative to that possible with the mass it carries
ROUNDING = 1e-11  # relative to the torques: smaller effects count as none
UNEXPLAINED = 1e-8  # relative to the torques: more than rounding
TOGETHER = ": no effect, together with the others"
MOST_GREEDY = 6  # more coordinates are corrected in the order of the joints


@dataclass(frozen=True)
class Pair:
    """Two robots with matched joints, in shared coordinates."""

    whole_a: Skeleton  # with the links of `elsewhere` attached to their parents in b
    whole_b: Skeleton
    a: Skeleton  # only the shared joints, in the same order as in b
    b: Skeleton
    alignment: Alignment
    shared: SharedCoordinates
    to_a: StateMap
    to_b: StateMap
    given: Skeleton  # robot a as it is
    elsewhere: tuple[Finding, ...] = ()

    @cached_property
    def to_given(self) -> StateMap:
        by_name = {unit.name: unit for unit in self.given.units}
        return StateMap(self.given, [by_name[unit.name] for unit in self.a.units], self.shared)

    @cached_property
    def size(self) -> float:
        """The length scale."""
        return characteristic_length(self.a, self.b)

    @cached_property
    def units(self) -> Array:
        """Factors that convert torques to N m: 1, or for forces the size."""
        return independent_units(self.a, self.shared, self.size)

    @cached_property
    def masses(self) -> Array:
        """The mass carried by each independent joint, the larger of a and b."""
        carried = np.array([masses_carried(self.a), masses_carried(self.b)]).max(axis=0)
        carried = np.maximum(carried, 1e-15 * carried.max(initial=0.0))
        of_each = np.zeros(self.shared.n)
        for mass, part in zip(carried, self.shared.v, strict=True):
            of_each[part] = mass
        return np.asarray(of_each @ np.abs(self.shared.couplings))

    @cached_property
    def least(self) -> Array:
        """The least scale of each joint's torque: smaller differences are rounding."""
        gravity = float(np.linalg.norm(self.a.gravity))
        return np.asarray(FLOOR * self.masses * (gravity + self.size) * self.size / self.units)

    @cached_property
    def least_inertia(self) -> Array:
        """The least scale of the diagonal of the inertia matrix."""
        return np.asarray(FLOOR * self.masses * self.size**2 / self.units**2)


class Residual:
    """Root mean square of torque differences over states and joints, relative to each joint's torque."""

    def __init__(self, pair: Pair, *torques: Array) -> None:
        squares = [np.mean(np.square(tau), axis=0) for tau in torques]
        self.scale = np.maximum(np.sqrt(np.maximum.reduce(squares)), np.maximum(pair.least, 1e-300))

    def __call__(self, difference: Array) -> Array:
        return np.asarray(np.sqrt(np.mean(np.square(difference / self.scale), axis=(-1, -2))))


def masses_carried(robot: Skeleton) -> Array:
    """The mass that each joint carries."""
    masses = np.zeros(len(robot.units))
    for unit in robot.units:
        masses[[unit.index, *robot.ancestors(unit.index)]] += unit.body[3, 3]
    return masses


@dataclass(frozen=True)
class Explained:
    findings: tuple[Finding, ...]
    worst: float  # the largest remaining relative difference of a torque
    first: int | None  # the first joint at which a finding has an effect

    @property
    def length(self) -> tuple[bool, int]:
        """Whether a difference remains, and the number of findings with an effect."""
        return self.worst > UNEXPLAINED, sum(f.share is not None for f in self.findings)


def explain(pair: Pair, states: States, table: TableDifference | None = None) -> Explained:
    """Explain the difference. With `table`, the entries that differ, `pair.a` has the placements of b."""
    target = torques(pair.whole_b.robot, pair.to_b, states)
    torques_a = torques(pair.whole_a.robot, pair.to_a, states)
    torques_given = torques(pair.given.robot, pair.to_given, states)
    norm = Residual(pair, target, torques_a, torques_given)
    level = float(norm(target - torques_a))
    plain = torques(pair.whole_b.robot, pair.to_b.only([]), states)  # q_b = q_a
    start, before = (float(norm(plain - tau)) for tau in (torques_given, torques_a))
    total = start if start > ROUNDING else 1.0  # effects add up to the difference at the start
    count, effective = len(pair.elsewhere), abs(start - before) > ROUNDING
    findings = [
        (unit_of(pair.a, f.where), with_share(f, (start - before) / total / count, effective)) for f in pair.elsewhere
    ]
    findings += coordinate_findings(pair, states, torques_a, norm, before, total)
    parameters, of_b = parameters_of(pair.a), parameters_of_b(pair.a, pair.b, pair.alignment)
    parameters = parameters if table is None else table.start

    def residual_of(trial: DynamicParameters) -> float:
        return float(norm(target - model_torques(pair.a, pair.shared, trial, states)))

    for unit, finding, trial in corrections(pair, parameters, of_b, table):
        now = residual_of(trial)
        findings.append((unit, with_share(finding, (level - now) / total, abs(level - now) > ROUNDING)))
        parameters, level = trial, now
    increments = [*body_increments(pair.a, pair.b, of_b.bodies, pair.alignment), *rotor_increments(pair)]
    chosen, parameters, level = explain_greedily(pair, states, target, norm, parameters, increments, total)
    findings += chosen
    rest = target - model_torques(pair.a, pair.shared, parameters, states)
    worst = float(np.max(np.abs(rest) / norm.scale, initial=0.0))
    findings = rank_findings(findings, total)
    first = min((unit for unit, finding in findings if finding.share is not None and unit >= 0), default=None)
    return Explained(tuple(f for _, f in findings), worst, first)


def largest_difference(pair: Pair, states: States) -> float:
    """The largest relative difference of a torque in shared coordinates."""
    target, torques_a = torques(pair.whole_b.robot, pair.to_b, states), torques(pair.whole_a.robot, pair.to_a, states)
    return float(np.max(np.abs(target - torques_a) / Residual(pair, target, torques_a).scale, initial=0.0))


def rank_findings(findings: list[tuple[int, Finding]], total: float) -> list[tuple[int, Finding]]:
    """Sort the findings by share.

    A correction that increases the difference until the next ones are made is grouped with them, and they share
    their common effect; if it is zero, they have no effect.
    """
    groups: list[list[tuple[int, Finding]]] = []
    for finding in (f for f in findings if f[1].share is not None):
        groups.append([finding])
        while len(groups) > 1 and total_share(groups[-2]) * total < -ROUNDING:
            groups[-2:] = [groups[-2] + groups[-1]]
    while len(groups) > 1 and total_share(groups[-1]) * total < -ROUNDING:
        groups[-2:] = [groups[-2] + groups[-1]]
    effective, idle = [], [f for f in findings if f[1].share is None]
    for group in groups:
        if total_share(group) * total > ROUNDING:
            effective += [(unit, replace(f, share=total_share(group) / len(group))) for unit, f in group]
        else:
            idle += [(unit, replace(f, message=f.message + TOGETHER, share=None)) for unit, f in group]
    return [*sorted(effective, key=lambda f: -(f[1].share or 0.0)), *idle]


def total_share(group: list[tuple[int, Finding]]) -> float:
    return sum(f.share or 0.0 for _, f in group)


def with_share(finding: Finding, share: float, effective: bool) -> Finding:
    return replace(finding, share=float(share)) if effective else finding


def coordinate_findings(
    pair: Pair, states: States, torques_a: Array, norm: Residual, before: float, total: float
) -> list[tuple[int, Finding]]:
    """Joints with another sign or zero, each with the effect of its correction."""
    changed = [k for k in range(len(pair.a.units)) if has_coordinate_change(pair, k)]

    def level(corrected: Sequence[int]) -> float:
        return float(norm(torques(pair.whole_b.robot, pair.to_b.only(corrected), states) - torques_a))

    now = before
    corrected: list[int] = []
    findings = []
    while len(corrected) < len(changed):
        rest = [k for k in changed if k not in corrected]
        options = [(level([*corrected, k]), k) for k in (rest if len(changed) <= MOST_GREEDY else rest[:1])]
        after, k = min(options)
        corrected.append(k)
        effective = abs(now - after) > ROUNDING
        findings.append((k, with_share(coordinate_finding(pair, k), (now - after) / total, effective)))
        now = after
    return findings


def has_coordinate_change(pair: Pair, k: int) -> bool:
    joint, unit = pair.alignment.joints[k], pair.a.units[k]
    if unit.kind not in WIDTHS:
        return joint.sign < 0 or joint.zero != 0.0
    return max(pose_difference(joint.M, EYE, pair.size), pose_difference(joint.T, EYE, pair.size)) > SAME


def coordinate_finding(pair: Pair, k: int) -> Finding:
    joint, unit = pair.alignment.joints[k], pair.a.units[k]
    if unit.kind in WIDTHS:
        where = placement_text(joint.T, pair.size)
        text = f"{unit.kind} joint {unit.name!r}: the frame of b's body is {where}, seen from that of a"
        if pose_difference(joint.T, EYE, pair.size) <= SAME:
            where = placement_text(joint.M, pair.size)
            text = f"{unit.kind} joint {unit.name!r}: q of b is measured from a frame that is {where}"
        return Finding("frame", unit.name, text, None, joint.T.tolist())
    text = coordinate_relation(joint.sign, joint.zero)
    if joint.sign < 0:
        what = "moves the other way" if unit.form == "slide" else "turns the other way"
        return Finding("sign", unit.name, f"joint {unit.name!r} {what}: {text}", 1, -1)
    angle = f"{number(np.degrees(joint.zero))} deg"
    distance = angle if unit.joint.angular else f"{number(joint.zero)} m"
    message = f"joint {unit.name!r} has another zero: {text} (by {distance})"
    return Finding("zero", unit.name, message, 0.0, joint.zero)


def coordinate_relation(sign: int, zero: float) -> str:
    """q_b = -q_a + 0.5"""
    shift = "" if zero == 0.0 else f" {'-' if zero < 0 else '+'} {number(abs(zero))}"
    return f"q_b = {'-' if sign < 0 else ''}q_a{shift}"


def corrections(
    pair: Pair, parameters: DynamicParameters, of_b: DynamicParameters, table: TableDifference | None
) -> Iterator[tuple[int, Finding, DynamicParameters]]:
    """Placements, joint parameters and gravity, each with the parameters after its correction."""
    if table is None:
        steps = list(place_corrections(pair, parameters, of_b))
    else:
        steps = [(step.unit, step.finding, step.numbers) for step in table.steps]
    yield from ((unit, with_both_parents(pair, finding), after) for unit, finding, after in steps)
    yield from other_corrections(pair, steps[-1][2] if steps else parameters, of_b)


def with_both_parents(pair: Pair, finding: Finding) -> Finding:
    """Mention the parent in a if a link has another parent in b."""
    joints = {row["name"]: row.get("joint_name", row["name"]) for row in pair.given.robot.rows}
    for f in pair.elsewhere:
        if finding.kind == "placement" and finding.where in (f.where, joints[f.where]):
            on = repr(f.value_a) if f.value_a else "the base"
            return replace(finding, message=f"{finding.message}, compared with its place on {on} in a")
    return finding


def place_corrections(
    pair: Pair, parameters: DynamicParameters, of_b: DynamicParameters
) -> Iterator[tuple[int, Finding, DynamicParameters]]:
    """Corrections of placements, in the frames of a's links."""
    offs = [inverse(P) @ Q for P, Q in zip(parameters.placements, of_b.placements, strict=True)]
    far = [max(angle_of(T), float(np.abs(T[:3, 3]).max()) / pair.size) for T in offs]
    placements, before = list(parameters.placements), parameters
    small = [k for k, off in enumerate(far) if 1e-10 < off <= LOOSE]
    large = [k for k, off in enumerate(far) if off > LOOSE]
    if len(small) > 2:  # few digits: one finding for all
        for k in small:
            placements[k] = of_b.placements[k]
        parameters = replace(parameters, placements=tuple(placements))
        worst = max(small, key=lambda k: far[k])
        name = pair.a.units[worst].name
        where = place_in_parent(pair, worst, before.placements[worst], of_b.placements[worst])
        text = f"joints stand in slightly different places, most {name!r}, which is {where}: few digits?"
        yield small[0], Finding("placement", name, text), parameters
        small = []
    for k in sorted([*small, *large]):
        placements[k] = of_b.placements[k]
        parameters = replace(parameters, placements=tuple(placements))
        unit = pair.a.units[k]
        places = before.placements[k], of_b.placements[k]
        text = f"joint {unit.name!r} stands in another place in b: {place_in_parent(pair, k, *places)}"
        frame = inverse(parent_frame(pair, k))
        yield k, Finding("placement", unit.name, text, *((frame @ P).tolist() for P in places)), parameters


def parent_frame(pair: Pair, k: int) -> Array:
    """The table frame of a joint's parent, in that of the parent's unit."""
    parent = pair.a.units[k].parent
    return EYE if parent < 0 else pair.a.units[parent].frame


def place_in_parent(pair: Pair, k: int, P: Array, Q: Array) -> str:
    """The displacement from P to Q, placements of a joint, in the frame of the link that carries it."""
    frame, parent = inverse(parent_frame(pair, k)), pair.a.units[k].parent
    name = "the base frame" if parent < 0 else f"the frame of {pair.a.units[parent].link!r}"
    return f"{displacement_text(frame @ P, frame @ Q, pair.size)}, in {name}"


def other_corrections(
    pair: Pair, parameters: DynamicParameters, of_b: DynamicParameters
) -> Iterator[tuple[int, Finding, DynamicParameters]]:
    """Corrections of joint parameters, such as pitches, and of gravity."""
    for k, (unit, joint_b) in enumerate(zip(pair.a.units, of_b.of_joints, strict=True)):
        for key, (unit_text, _, lengths) in own_numbers(type(unit.joint)).items():
            p, r = parameters.of_joints[k][key], joint_b[key]
            if abs(p - r) > ROUNDING * pair.size**lengths:
                changed = parameters.of_joints[k] | {key: r}
                parameters = replace(
                    parameters, of_joints=(*parameters.of_joints[:k], changed, *parameters.of_joints[k + 1 :])
                )
                text = f"{key} of {unit.name!r}: {compare_values(p, r, f' {unit_text}')}"
                yield k, Finding(key, unit.name, text, p, r), parameters
    g, h = parameters.gravity, of_b.gravity
    if np.abs(g - h).max() > 1e-10 * max(np.abs(g).max(), np.abs(h).max()):
        parameters = replace(parameters, gravity=h)
        text = f"gravity: {compare_values(g, h, ' m/s2')}, in the base frame of a"
        yield -1, Finding("gravity", "", text, tuple(g.tolist()), tuple(h.tolist())), parameters


def rotor_increments(pair: Pair) -> Iterator[Increment]:
    for k, (one, other) in enumerate(zip(pair.a.units, pair.b.units, strict=True)):
        x, y = one.joint.rotor_inertia, other.joint.rotor_inertia
        if abs(x - y) > 1e-12 * max(x, y):
            unit = "kg m2" if one.joint.angular else "kg"
            text = f"rotor inertia (armature) of {one.name!r}: {compare_values(x, y, zero='none')}, {unit}"
            yield Increment(Finding("rotor inertia", one.name, text, x, y), k, rotor=y - x)


def explain_greedily(
    pair: Pair,
    states: States,
    target: Array,
    norm: Residual,
    parameters: DynamicParameters,
    increments: list[Increment],
    total: float,
) -> tuple[list[tuple[int, Finding]], DynamicParameters, float]:
    """Apply the increments in the order of their effect; the others have none.

    Torques are linear in bodies and rotors, so the effect of each is computed only once.
    """
    start = model_torques(pair.a, pair.shared, parameters, states)
    level = float(norm(target - start))
    findings: list[tuple[int, Finding]] = []
    if not increments:
        return findings, parameters, level
    effects = model_torques(pair.a, pair.shared, apply_each(parameters, increments), states) - start
    rest, remaining = target - start, list(range(len(increments)))
    sizes = norm(effects)
    idle = [k for k in remaining if sizes[k] <= ROUNDING]
    remaining = [k for k in remaining if k not in idle]
    while remaining and level > ROUNDING:
        after = norm(rest - effects[remaining])
        best = int(np.argmin(after))
        k = remaining.pop(best)
        share, level, rest = (level - float(after[best])) / total, float(after[best]), rest - effects[k]
        findings.append((increments[k].unit, replace(increments[k].finding, share=share)))
        parameters = apply_increment(parameters, increments[k])
    for k in sorted([*remaining, *idle]):
        together = "" if k in idle else TOGETHER
        finding = increments[k].finding
        findings.append((increments[k].unit, replace(finding, message=finding.message + together)))
    return findings, parameters, level


def apply_each(parameters: DynamicParameters, increments: list[Increment]) -> DynamicParameters:
    """The parameters with each increment alone, along an axis before that of the states."""
    each = [apply_increment(parameters, increment) for increment in increments]
    bodies = tuple(np.stack(of_all)[:, None] for of_all in zip(*(one.bodies for one in each), strict=True))
    rotors = tuple(np.stack(of_all)[:, None] for of_all in zip(*(one.rotors for one in each), strict=True))
    return replace(parameters, bodies=bodies, rotors=rotors)


def apply_increment(parameters: DynamicParameters, increment: Increment) -> DynamicParameters:
    bodies, rotors = list(parameters.bodies), list(parameters.rotors)
    for k, change in increment.bodies.items():
        bodies[k] = bodies[k] + change
    rotors[increment.unit] = rotors[increment.unit] + increment.rotor
    return replace(parameters, bodies=tuple(bodies), rotors=tuple(rotors))
