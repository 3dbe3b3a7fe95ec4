"""`compare`: explain why two models disagree."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ..formats import load
from ..formats.conventions import robot_of_model
from ..robot import Robot
from .alignment import Match, align, matchings
from .bodies import identity_alignment, other_conventions, reattach, table_difference
from .dynamics import Quantities, StateMap, States, quantities, random_states, shared_coordinates
from .explaining import (
    ROUNDING,
    Explained,
    Pair,
    Residual,
    coordinate_relation,
    explain,
    has_coordinate_change,
    largest_difference,
)
from .findings import FRICTION, LEFT, SPRINGS, Comparison, Difference, Finding, percent, quote_names
from .notes import (
    base_finding,
    coupling_findings,
    drive_findings,
    missing_findings,
    order_finding,
    parent_findings,
    tool_findings,
)
from .skeleton import WIDTHS, Skeleton, skeleton_of

MOVED = ("placement", "gravity")  # findings that table entries or the convention may explain better
FEW = 2  # findings; if there are more, the convention of a table may be wrong


def compare(a: Any, b: Any, *, states: int = 20, seed: int = 0, tolerance: float = 1e-9) -> Comparison:
    """Explain why two models of a robot disagree.

    Joints are matched by name, otherwise by their place in the tree, and their coordinates aligned.
    Frames of links may differ: robots of different conventions are the same if the axes of their
    joints and their bodies are. Each finding is corrected in robot a, and the difference in torque is
    computed again on random states: the share of the finding is the part that disappears.

    Parameters
    ----------
    a, b : Robot, str, path, pinocchio.Model or mujoco.MjModel
        Robots, names or files for `lw.load`, or model objects.
    states : int
        Number of random states.
    seed : int
        Seed of the random states.
    tolerance : float
        Largest relative difference in torque at which the robots are the `same`.

    Returns
    -------
    Comparison
        Printed, a report; `findings` has the differences and `same` the answer.

    Examples
    --------
    >>> import linkwise as lw
    >>> arm = lw.load("planar3")
    >>> rows = arm.rows
    >>> rows[1]["rotor_inertia"] = 0.3
    >>> other = lw.Robot.from_dh(rows, convention="standard", gravity=arm.gravity, name="planar3 with drive")
    >>> result = lw.compare(arm, other)
    >>> result.same
    False
    >>> print(result.findings[0])
    rotor inertia (armature) of 'link2': none in a, 0.3 in b, kg m2 (100 % of the difference)
    """
    whole_a, whole_b = skeleton_of(robot_of(a, "a")), skeleton_of(robot_of(b, "b"))
    if states < 1:
        raise ValueError(f"states is {states} (expected at least 1)")
    result = Comparison(label(whole_a), label(whole_b), states=states, seed=seed)
    elsewhere, on_other_rows = parent_findings(whole_a.robot, whole_b.robot)
    pair, hows = best_attachment(whole_a, whole_b, elsewhere, on_other_rows)
    if pair is None:
        verdict = "Not the same: no joint of one has the kind of a joint of the other."
        return replace(result, findings=tuple(missing_findings(whole_a, whole_b, {})), verdict=verdict)
    pairs = {i: j for i, (j, _) in hows.items()}
    sample = random_states(pair.a, pair.shared, states, seed, pair.size)
    pair, explained = best_explanation(pair, pairs, sample, tolerance)
    others = () if pair.elsewhere else elsewhere
    missing = [*missing_findings(pair.whole_a, whole_b, pairs), *coupling_findings(pair, pairs)]
    notes = [*base_finding(pair), *order_finding(pair, pairs), *tool_findings(pair), *drive_findings(pair)]
    findings = [*explained.findings, *others, *missing, *notes]
    differences = quantity_differences(pair, sample)
    result = replace(
        result,
        same=not missing and max(differences[0].relative, differences[-1].relative) <= tolerance,
        findings=tuple(sorted(findings, key=lambda f: f.share is None)),
        matches=tuple(Match(pair.whole_a.units[i].name, whole_b.units[j].name, how) for i, (j, how) in hows.items()),
        coordinates=tuple(coordinate_text(pair, k) for k in range(len(pair.a.units))),
        differences=differences,
        remaining=explained.worst,
        first=None if explained.first is None else pair.a.units[explained.first].name,
    )
    return replace(result, verdict=verdict_text(result, tolerance))


def robot_of(model: Any, which: str) -> Robot:
    if isinstance(model, Robot):
        return model
    if isinstance(model, (str, os.PathLike)):
        return load(model)
    robot = robot_of_model(model)
    if robot is None:
        expected = "a Robot, a name or file for lw.load, a pinocchio.Model or a mujoco.MjModel"
        raise TypeError(f"{which} is a {type(model).__module__}.{type(model).__name__} (expected {expected})")
    return robot


def label(robot: Skeleton) -> str:
    return repr(robot.robot).removeprefix("<Robot ").removesuffix(">")


def best_attachment(
    a: Skeleton, b: Skeleton, elsewhere: tuple[Finding, ...], on_other_rows: tuple[Finding, ...]
) -> tuple[Pair | None, Mapping[int, tuple[int, str]]]:
    """The best pair with the links of a attached to their parents in b, or with a as it is if that matches better.

    Another row of the same body is used only if it explains more: one table may lack frames at the same places.
    """
    best = best_pair(a, b)
    if best is None:
        return None, {}
    for findings, same_rows in ((elsewhere, True), (on_other_rows, False)):
        if not findings or (best[0] == (0.0, 0.0) and not same_rows):
            continue
        for attached, note in reattach(a.robot, {f.where: f.value_b for f in findings}):
            again = best_pair(skeleton_of(attached), b)
            # all joints matched with one displaced explains more than one joint unmatched
            as_good = again is not None and (again[0][0] <= best[0][0] if same_rows else again[0] < best[0])
            if again is not None and as_good and (not best[1].elsewhere or again[0] < best[0]):
                reported = tuple(replace(f, message=f.message + note) for f in findings)
                best = again[0], replace(again[1], given=a, elsewhere=reported), again[2]
    return best[1:]


def best_pair(a: Skeleton, b: Skeleton) -> tuple[tuple[float, float], Pair, Mapping[int, tuple[int, str]]] | None:
    """The matching with the fewest unmatched or displaced joints, and its cost."""
    best: tuple[tuple[float, float], Pair, Mapping[int, tuple[int, str]]] | None = None
    for hows in matchings(a, b):
        if not hows:
            continue
        hows = {i: hows[i] for i in sorted(hows)}
        pair = align_pair(a, b, {i: j for i, (j, _) in hows.items()})
        alone = len(a.units) + len(b.units) - 2 * len(hows)
        score = 2.0 * pair.alignment.mismatches() + alone, pair.alignment.cost
        if best is None or score < best[0]:
            best = score, pair, hows
        if best[0] == (0.0, 0.0):
            break
    return best


def align_pair(a: Skeleton, b: Skeleton, pairs: Mapping[int, int]) -> Pair:
    one, other = a.kept(list(pairs)), b.kept(list(pairs.values()))
    alignment = align(one, other)
    shared = shared_coordinates(one, {i: k for k, i in enumerate(pairs)})
    to_a, to_b = StateMap(a, one.units, shared), StateMap(b, other.units, shared, alignment)
    return Pair(a, b, one, other, alignment, shared, to_a, to_b, given=a)


def best_explanation(pair: Pair, pairs: Mapping[int, int], sample: States, tolerance: float) -> tuple[Pair, Explained]:
    """The shortest explanation: another convention, entries of tables, or the alignment."""
    explained = explain(pair, sample)
    if not any(f.kind in MOVED for f in explained.findings):
        return pair, explained
    table = explain_by_table(pair, pairs, sample)
    if table is not None and table[1].length <= explained.length:
        pair, explained = table
    several = explained.length > (False, FEW) and not pair.elsewhere
    return (explain_by_convention(pair, pairs, sample, tolerance) if several else None) or (pair, explained)


def explain_by_table(pair: Pair, pairs: Mapping[int, int], sample: States) -> tuple[Pair, Explained] | None:
    """Explain by the entries that differ, if both have tables with the same rows."""
    if list(pairs.items()) != [(k, k) for k in range(max(len(pair.whole_a.units), len(pair.whole_b.units)))]:
        return None
    table = table_difference(pair.whole_a, pair.whole_b, list(pairs), pair.size)
    if table is None:
        return None
    units = pair.b.units
    to_b = StateMap(pair.whole_b, units, pair.shared)
    same = replace(pair, a=table.corrected, alignment=identity_alignment(len(units)), to_b=to_b)
    return same, explain(same, sample, table)


def explain_by_convention(
    pair: Pair, pairs: Mapping[int, int], sample: States, tolerance: float
) -> tuple[Pair, Explained] | None:
    """Explain by the convention, if one table read in the other DH convention gives the same robot."""
    whole_a, whole_b = pair.whole_a, pair.whole_b
    for one, other, text in other_conventions(whole_a, whole_b):
        again = align_pair(one, other, pairs)
        worst = largest_difference(again, sample)
        if worst <= tolerance:
            finding = Finding("convention", "", text, whole_a.robot.convention, whole_b.robot.convention, 1.0)
            explained = Explained((finding,), worst, None)
            return replace(again, whole_a=whole_a, whole_b=whole_b, given=whole_a), explained
    return None


def coordinate_text(pair: Pair, k: int) -> str:
    joint, unit = pair.alignment.joints[k], pair.a.units[k]
    if unit.kind not in WIDTHS:
        return coordinate_relation(joint.sign, joint.zero)
    return "another frame" if has_coordinate_change(pair, k) else "q_b = q_a"


def quantity_differences(pair: Pair, sample: Any) -> tuple[Difference, ...]:
    in_a, in_b = (
        quantities(robot.robot, to, sample) for robot, to in ((pair.given, pair.to_given), (pair.whole_b, pair.to_b))
    )
    names = [pair.a.units[k].name for k, at in enumerate(pair.shared.v) for _ in range(at.start, at.stop)]
    labels = [names[int(np.argmax(np.abs(column)))] for column in pair.shared.couplings.T]
    return tuple(
        relative_difference(what, getattr(in_a, key), getattr(in_b, key), labels, in_a, in_b, pair)
        for what, key in (
            ("inertia matrix", "inertia"),
            ("gravity torque", "gravity"),
            ("Coriolis torque", "coriolis"),
            ("torque", "torque"),
        )
    )


def relative_difference(
    what: str, x: Any, y: Any, labels: list[str], in_a: Quantities, in_b: Quantities, pair: Pair
) -> Difference:
    """Relative to each joint's largest value; inertia matrices, to geometric means of the diagonal."""
    off = np.abs(x - y)
    if x.ndim == 3:
        diagonals = [np.abs(np.diagonal(m, axis1=1, axis2=2)).max(0) for m in (x, y)]
        d = np.sqrt(np.maximum.reduce([*diagonals, pair.least_inertia, np.full(len(labels), 1e-300)]))
        scale = np.outer(d, d)
    else:
        scale = Residual(pair, in_a.torque, in_b.torque).scale
    relative = (off / scale).max(0)
    worst = np.unravel_index(int(np.argmax(relative)), relative.shape)
    where = labels[int(worst[-1])] if relative.max() > ROUNDING else ""
    return Difference(what, float(off.max()), float(relative.max()), where)


def coupling_hint(couplings: list[Finding]) -> str:
    """A hint for couplings that only one robot has: Pinocchio ignores them by default."""
    if all(f.value_a is not None and f.value_b is not None for f in couplings):
        return ""
    return ' (lw.load(..., mimic="independent") reads them as joints of their own)'


def verdict_text(result: Comparison, tolerance: float) -> str:
    inertia, torque = result.differences[0], result.differences[-1].relative
    changed = sum(text != "q_b = q_a" for text in result.coordinates)
    count = len(result.coordinates)
    coordinates = f", with the coordinates of {changed} of {count} joints changed as below" if changed else ""
    if result.same:
        digits = f"to {torque:.0e}" if torque else "to the last bit"
        differ = [f.kind for f in result.findings]
        excluded = [
            name for name, which in (("friction", FRICTION.values()), ("springs", SPRINGS)) if set(which) & set(differ)
        ]
        exception = f", {' and '.join(excluded)} aside" if excluded else ""
        return f"The same dynamics{exception}: torques agree {digits}{coordinates}."
    effective = [f for f in result.findings if f.share is not None]
    main = max(effective, key=lambda f: f.share or 0.0, default=None)
    missing, couplings = ([f for f in result.findings if f.kind == kind] for kind in ("missing joint", "coupling"))
    parts = [f.message for f in result.findings if f.kind == "parent" and f is not main]
    if missing:
        names = dict.fromkeys(f.where for f in missing)  # once where both have one of that name, of other kinds
        parts.append(f"joints in one of them only: {quote_names(names)}")
    if couplings:
        parts.append(
            f"joints coupled in another way: {quote_names(f.where for f in couplings)}{coupling_hint(couplings)}"
        )
    if torque <= tolerance and inertia.relative > tolerance:
        parts.append(f"inertia matrices differ by {inertia.relative:.0e}, most at joint {inertia.where!r}")
    if torque <= tolerance:
        return f"Not the same: {'; '.join(parts)}. In the joints of both, torques agree to {torque:.0e}{coordinates}."
    if main is not None:
        parts.append(f"{main.message}; this explains {percent(main.share or 0.0)} of the difference in torque")
        more = sum(f is not main and f.kind != "parent" for f in effective)
        if more:
            parts.append(f"{more} more below")
    if result.first is not None:
        parts.append(f"the first joint that differs is {result.first!r}")
    left = f" Unexplained: a relative difference of {result.remaining:.0e}." if result.remaining > LEFT else ""
    return f"Not the same: {'; '.join(parts)}.{left}"
