"""States to test generated code on, with the results of the plain run.

They reveal mistakes: small changes of any operand, and branches that are not taken.

Candidates are random states of many magnitudes, and states on both sides of the tie of each choice (`np.where`, limits,
signs). These are found by bisection between two states that choose differently; where all choose the same, or something
hides the choice, by the steps of `openings`. Of all candidates as few are taken as notice what any of them does.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

import numpy as np

from ..graph import Graph, Node, Port, Program, evaluate
from ..graph.cancel import Transplant
from ..graph.sensitivity import JUMPS, Dependence, Operand, Sensitivity
from ..robot import Robot
from ..robot.symbols import symbols_of
from ..tracing import Input
from ..tracing.tracing import Prepared, function_name
from .openings import Gates, Target

LEAST = 4  # states
BUDGET = 50_000_000  # numbers that are computed for one set of candidates, about: of a large program there are fewer
DRAWS = 4  # of each magnitude
MAGNITUDES = 2.0 ** np.array([0, -3, 3, -6, 6, -10, 10])
ROUNDS = 8  # of steps towards ties
STALLED = 2  # rounds in a row in which nothing more is noticed end the search
SPENT = 8  # budgets, of all rounds together
HALVINGS = (8, 14)  # of the way between two states that choose differently: states after so many are candidates
GRID = 2.0**-16  # of the states: no nearer to a tie than what a law may take for rounding; exact in single precision
THRESHOLDS = ("where_lt", "where_le")  # choices that turn at a number of theirs, which may be wrong by a few percent
CHANGES = {"percent": 0.01, "sign": 2.0}  # of an operand: relative; the first is noticed where a state can
MOST = 0.01  # the largest deviation that is allowed anywhere, relative to the largest result
CERTAIN = 4.0  # times what is allowed: deviations that are noticed for certain


class Chosen(NamedTuple):
    """Flat states, their sizes of the results, and what no state tests."""

    states: np.ndarray  # (states, numbers of the inputs)
    sizes: np.ndarray  # (states, numbers of the outputs)
    operands: set[Operand]
    constants: set[Operand]  # of which a change of sign is noticed, but one of a percent is not
    branches: set[tuple[int, str]]  # choices by their indices, and the sides not taken
    ties: set[int]  # choices of which no state is near the tie, on both sides, where that matters


def revealing_states(program: Program, positive: Collection[str], tolerance: float) -> Chosen:
    """Always the same for the same program; none where its results are finite in no candidate."""
    kept_positive = np.array([port.name in positive for port in program.inputs for _ in range(port.size)], dtype=bool)
    most = max(LEAST, BUDGET // max(1, Dependence(program).work()))
    states = thinned(draws(program, kept_positive), most)
    first, bisected = len(states), set[int]()
    found = sensitivity(program, states, tolerance)
    table = Noticed(found, tolerance)
    spent, stalled = len(states), 0
    for _ in range(ROUNDS if found.choices else 0):
        more = [*bisections(found, states, table, bisected), *steps(found, states, table, stalled)]
        if not more:
            break
        fresh = np.unique((np.round(np.array(more) / GRID) * GRID).astype(np.float32).astype(float), axis=0)
        fresh = thinned(fresh, most)
        useful = [*range(first), *(k for k in table.cover() if k >= first)]
        spent += len(useful) + len(fresh)
        if spent > SPENT * most:
            break
        states = np.concatenate([states[useful], np.where(kept_positive, np.abs(fresh), fresh)])
        found, lost = sensitivity(program, states, tolerance), len(table.lost)
        table = Noticed(found, tolerance)
        stalled = 0 if len(table.lost) < lost else stalled + 1
        if stalled == STALLED:
            break
    chosen = table.cover()
    sizes = found.size[: len(found.results), chosen].T
    return Chosen(states[chosen], sizes, table.operands, table.constants, table.branches, table.ties)


def sensitivity(program: Program, states: np.ndarray, tolerance: float) -> Sensitivity:
    """With sizes of results that are no larger than lets a deviation of the largest result by `MOST` be noticed.

    They would be in a program that divides rounding errors by each other, as conjugate gradients do at their end.
    """
    found = Sensitivity(program, split(program, states))
    results = np.abs([found.value[node.index] for node in found.results])
    found.size[: len(results)] = np.fmin(found.size[: len(results)], MOST / tolerance * results.max(axis=0))
    return found


def draws(program: Program, positive: np.ndarray) -> np.ndarray:
    """Random states: of each magnitude; with magnitudes of their own for each input and number; with zeros."""
    random = np.random.default_rng(0)
    n = len(positive)
    if n == 0:
        return np.zeros((1, 0))
    port = np.repeat(np.arange(len(program.inputs)), [p.size for p in program.inputs])
    scales = [np.full((DRAWS, n), magnitude) for magnitude in MAGNITUDES]
    scales.append(random.choice(MAGNITUDES, size=(4 * DRAWS, len(program.inputs)))[:, port])
    scales.append(random.choice(MAGNITUDES, size=(2 * DRAWS, n)))
    scales.append(np.array([port != k for k in range(len(program.inputs))], dtype=float).reshape(-1, n))
    if any(node.op == "where_eq" for node in program.nodes):
        scales.append(1.0 - np.eye(n))
    scales.append(np.zeros((1, n)))
    scale = np.concatenate(scales)
    numbers = random.integers(-96, 97, size=scale.shape) / 64.0
    numbers = np.where(positive, random.integers(32, 97, size=scale.shape) / 64.0, numbers)
    return numbers * np.where(positive & (scale == 0.0), 1.0, scale)


def thinned(states: np.ndarray, most: int) -> np.ndarray:
    """The first few, which are of ordinary size, and of the others as many as may be."""
    if len(states) <= most:
        return states
    return states[[*range(LEAST), *np.linspace(LEAST, len(states) - 1, most - LEAST).astype(int)]]


def split(program: Program, states: np.ndarray) -> list[np.ndarray]:
    """One array for each input."""
    ends = np.cumsum([port.size for port in program.inputs])[:-1]
    return [x.reshape(-1, *port.shape) for x, port in zip(np.split(states, ends, axis=1), program.inputs, strict=True)]


def bisections(found: Sensitivity, states: np.ndarray, table: Noticed, done: set[int]) -> list[np.ndarray]:
    """States on both sides of the tie of each choice, between two that choose differently and matter, if there are."""
    lower, upper, rows = [], [], []
    for row, d in enumerate(found.difference):
        pairs = [(table.visible[row] & (d < 0.0), table.visible[row] & (d > 0.0)), (d < 0.0, d > 0.0)]
        pair = next(((a, b) for a, b in pairs if a.any() and b.any()), None)
        if pair is not None and row not in done:
            rows.append(row)
            lower.append(states[pair[0].argmax()])
            upper.append(states[pair[1].argmax()])
    if not rows:
        return []
    done.update(rows)
    low, high, own = np.array(lower), np.array(upper), np.arange(len(rows))
    compared = [found.compared[row] for row in rows]
    program = found.program
    port = Port("difference", (len(rows),))
    differences = Program.of(program.nodes[0].graph, program.inputs, [port], [[x - y for x, y in compared]])
    ends: list[np.ndarray] = []
    for step in range(1, max(HALVINGS) + 1):
        middle = 0.5 * (low + high)
        with np.errstate(all="ignore"):
            below = (evaluate(differences, *split(program, middle))[0][own, own] < 0.0)[:, None]
        low, high = np.where(below, middle, low), np.where(below, high, middle)
        if step in HALVINGS:
            ends += [*low, *high]
    return ends


def steps(found: Sensitivity, states: np.ndarray, table: Noticed, nth: int) -> list[np.ndarray]:
    """To ties that are not met, or where no state settles their choice, and to where operands have an effect."""
    alike = [same(np.sign(d)) for d in found.difference]
    gates = Gates(found, table.visible)
    equal = {node for node, kind, _ in table.lost if kind == "other"}
    ties = {row for row, node in enumerate(found.choices) if alike[row] or node.index in equal}
    hidden = set[tuple[int, int]]()
    for node, k, name in table.lost:
        if isinstance(k, int):
            hidden.add((node, gates.after_operand((node, k))))
            ties |= set() if name == "percent" else gates.turned((node, k))
    targets: dict[Target, None] = {}
    for row in table.unsettled():
        if row in gates.jumps:
            ties.add(row)
        for side, text in ((-1, "<"), (1, ">")):
            if row not in gates.jumps and (found.choices[row].index, text) in table.branches:
                targets |= dict.fromkeys(gates.on_side(row, side))
    for node, after in sorted(hidden):
        targets |= dict.fromkeys(gates.targets(node, after))
    for row in sorted(ties):
        targets |= dict.fromkeys(gates.at_tie(row))
    return [state for target in targets for state in gates.steps(target, states, nth)]


def same(signs: np.ndarray) -> bool:
    return bool((signs >= 0.0).all() or (signs <= 0.0).all())


def jumping(found: Sensitivity) -> np.ndarray:
    return np.array([node.op in JUMPS for node in found.choices], dtype=bool)[:, None]


class Noticed:
    """Which mistakes each candidate notices: in operands, in results, in the sides of choices."""

    def __init__(self, found: Sensitivity, tolerance: float) -> None:
        outputs = len(found.results)
        size, d = found.size[:outputs], found.difference
        rows: dict[tuple[int, int | str, str], np.ndarray] = {}
        with np.errstate(all="ignore"):
            jumps, visible = jumping(found), visible_choices(found, tolerance)
            self.choices, self.visible = found.choices, visible
            turning = jumps & visible
            certain = np.abs(d) >= tolerance * found.size[outputs:]  # rounding does not change the choice
            certain |= exact(found) & (d == 0.0)
            finite = np.isfinite(size).all(axis=0)
            usable = finite & (certain | ~turning).all(axis=0)
            self.usable = usable if usable.any() else finite  # rounding decides in all states: see `sensitivity`
            equality = np.array([node.op == "where_eq" for node in found.choices], dtype=bool)[:, None]
            turning &= ~equality | (d == 0.0)  # no change makes two numbers equal for certain
            limit = CERTAIN * tolerance * size
            for (node, k), reached, effect in found.effects():
                first = int(np.searchsorted(reached, outputs))
                results, choices = reached[:first], reached[first:] - outputs
                mistakes = {}
                for name, change in CHANGES.items():
                    mistakes[name] = (change * effect[:first] > limit[results]).any(axis=0)
                    if len(choices):
                        distance = d[choices]
                        turned = turning[choices] & (change * effect[first:] >= np.abs(distance))
                        mistakes[name] |= turned.any(axis=0)
                        if name == "percent":
                            bent = ~jumps[choices] & (change * effect[first:] >= np.abs(distance))
                            mistakes[name] &= ~bent.any(axis=0)  # beyond the tie of a limit it may have no effect
                            mistakes["below"] = (turned & (distance < 0.0)).any(axis=0)
                            mistakes["above"] = (turned & (distance > 0.0)).any(axis=0)
                for name, noticed in mistakes.items():
                    rows[node, k, name] = rows.get((node, k, name), False) | noticed
        rows |= {(node.index, "result", ""): found.value[node.index] != 0.0 for node in found.results}
        for k, (choice, matters) in enumerate(zip(found.choices, visible, strict=True)):
            rows |= {(choice.index, "side", side): matters & taken for side, taken in sides(choice, d[k]).items()}
            if choice.op in JUMPS and choice.op != "where_eq":
                near = matters & (np.abs(d[k]) <= CHANGES["percent"] * scale(found, k))
                rows |= {(choice.index, "near", side): near & taken for side, taken in sides(choice, d[k]).items()}
            if choice.op == "where_eq":
                rows |= {(choice.index, "other", f"{j}"): matters & own for j, own in enumerate(alone(found, k))}
            elif choice.op in JUMPS:  # a choice by another number, with a wrong index, would be another one
                others = [j for j, other in enumerate(found.choices) if j != k and other.op == choice.op]
                rows |= {(choice.index, "unlike", f"{j}"): matters & (np.sign(d[j]) != np.sign(d[k])) for j in others}
        self.table = self.usable & np.array(list(rows.values()))
        self.lost = {key for key, noticed in zip(rows, self.table, strict=True) if not noticed.any()}
        self.operands = {(node, k) for node, k, name in self.lost if isinstance(k, int) and name == "sign"}
        nodes = found.program.nodes[0].graph.nodes
        small = {(node, k) for node, k, name in self.lost if isinstance(k, int) and name == "percent"}
        self.constants = {(node, k) for node, k in small - self.operands if nodes[node].args[k].op == "const"}
        self.branches = {(node, side) for node, kind, side in self.lost if kind == "side"}
        thresholds = {node.index for node in found.choices if node.op in THRESHOLDS}
        self.ties = {node for node, kind, _ in self.lost if kind == "near" and node in thresholds}

    def unsettled(self) -> list[int]:
        """The choices of which a side is not taken, or the tie not met, where that matters."""
        lost = {node for node, _ in self.branches} | self.ties
        return [k for k, node in enumerate(self.choices) if node.index in lost]

    def cover(self) -> list[int]:
        """The first candidates, and then in turn the one that notices the most of what is not noticed yet."""
        table = self.table
        chosen = [int(k) for k in np.flatnonzero(self.usable)[:LEAST]]
        left = ~table[:, chosen].any(axis=1) & table.any(axis=1)
        while left.any():
            chosen.append(int(table[left].sum(axis=0).argmax()))
            left &= ~table[:, chosen[-1]]
        return chosen


def exact(found: Sensitivity) -> np.ndarray:
    """Choices that compare numbers which nothing has rounded."""
    return np.array([{x.op, y.op} <= {"input", "const"} for x, y in found.compared], dtype=bool)[:, None]


def scale(found: Sensitivity, k: int) -> np.ndarray:
    """To which the distance from the tie of a choice is relative: the larger of what is compared; 1 beside 0."""
    x, y = (found.magnitude(node) for node in found.compared[k])
    return np.asarray(np.maximum(x, y))


def sides(node: Node, difference: np.ndarray) -> dict[str, np.ndarray]:
    if node.op == "where_eq":
        return {"==": difference == 0.0, "!=": difference != 0.0}
    return {"<": difference < 0.0, ">": difference > 0.0}


def alone(found: Sensitivity, k: int) -> list[np.ndarray]:
    """Where an `==` holds, but would not with some other number in it: an input, or what another choice compares."""
    holds, x, row = found.difference[k] == 0.0, found.compared[k][0], len(found.results) + k
    inputs = [node.index for node in found.program.nodes if node.op == "input"]
    others = [found.value[node] != found.value[x.index] for node in inputs if row not in found.rows.get(node, ())]
    return [holds & other for other in [*others, *(found.difference[np.arange(len(found.choices)) != k] != 0.0)]]


def visible_choices(found: Sensitivity, tolerance: float) -> np.ndarray:
    """Where a result would be another one if a choice were made the other way: (choices, states)."""
    limit = CERTAIN * tolerance * found.size[: len(found.results)]
    visible = [(~(deviation <= limit)).any(axis=0) for deviation in found.deviations()]
    return np.array(visible, dtype=bool).reshape(found.difference.shape)


ROUNDINGS = 4.0  # are allowed, of the size of each result

Numbers = list[float]


class SelfTest(NamedTuple):
    """Of each state the inputs, the results, and the sizes of the terms of the results, to which deviations relate."""

    states: list[list[Numbers]]
    results: list[list[Numbers]]
    sizes: list[list[Numbers]]
    tolerance: float
    chosen: Chosen


def samples(
    function: Callable[..., Any], robot: Robot, program: Program, keywords: Mapping[str, Any], dtype: str
) -> SelfTest:
    """Inputs and results of a few states, always the same, and how far the results of correct code may be off."""
    if not any(port.size for port in program.outputs):
        name = function_name(function)
        raise ValueError(
            f"{name} of robot {robot.name!r} has no results, so self_test=True has nothing to compare with"
        )
    symbols = symbols_of(robot)
    tolerance = ROUNDINGS * float(np.finfo(dtype).eps)
    chosen = revealing_states(program, symbols, tolerance)
    if not len(chosen.states):
        raise not_finite(function)
    arrays = split(program, chosen.states)
    names = [port.name for port in program.inputs]
    states = [dict(zip(names, (a[k] for a in arrays), strict=True)) for k in range(len(chosen.states))]
    fixed = {key: value for key, value in keywords.items() if not isinstance(value, Input)}
    results = [plain_run(function, robot, symbols, fixed, state) for state in states]
    ends = np.cumsum([port.size for port in program.outputs])[:-1]
    return SelfTest(
        [[np.ravel(x).tolist() for x in state.values()] for state in states],
        [[x.ravel().tolist() for x in result] for result in results],
        [[x.tolist() for x in np.split(size, ends)] for size in chosen.sizes],
        tolerance,
        chosen,
    )


def not_finite(function: Callable[..., Any]) -> ValueError:
    name = function_name(function)
    return ValueError(f"{name} gives numbers that are not finite, so self_test=True has nothing to compare with")


def plain_run(
    function: Callable[..., Any],
    robot: Robot,
    symbols: tuple[str, ...],
    fixed: Mapping[str, Any],
    state: Mapping[str, Any],
) -> list[np.ndarray]:
    with np.errstate(all="ignore"):
        if isinstance(function, Prepared) and function.maker:
            output = function.plain(robot, **fixed, **state)  # the robot's symbols are arguments too
        else:
            values = {name: float(state[name]) for name in symbols}
            arguments = {**fixed, **{name: x for name, x in state.items() if name not in symbols}}
            output = function(robot.mapped(Transplant(Graph(), values)) if robot.non_floats else robot, **arguments)
    results = [np.asarray(x, dtype=float) for x in (output if isinstance(output, tuple) else (output,))]
    if not all(np.isfinite(x).all() for x in results):
        raise not_finite(function)
    return results
