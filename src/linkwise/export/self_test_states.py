"""States to test generated code on, with results from plain Python.

They detect small changes of any operand, and wrong branches. Candidates are random states of many magnitudes, and
states on both sides of the tie of each choice (`np.where`, limits, signs). These are found by bisection between two
states that take different branches; where all take the same, or the choice has no effect, by the steps of `openings`. A
small set of candidates that detects what all of them detect is chosen greedily.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from ..graph import Graph, Node, Port, Program, evaluate
from ..graph.passes import Transplant
from ..graph.sensitivity import JUMPS, Dependence, Operand, Sensitivity, is_zero
from ..robot import Robot
from ..robot.symbols import symbols_of
from ..tracing.tracing import Prepared, function_name, results_of, with_values
from .openings import Gates, Target

LEAST = 4  # states
BUDGET = 50_000_000  # approximate number of values computed for one set of candidates, which limits its size
DRAWS = 4  # of each magnitude
MAGNITUDES = 2.0 ** np.array([0, -3, 3, -6, 6, -10, 10])
ROUNDS = 8  # of steps towards ties
STALLED = 2  # the search ends after this many rounds in a row that detect nothing more
SPENT = 8  # budgets for all rounds together
HALVINGS = (8, 14)  # steps of bisection after which states are candidates
GRID = 2.0**-16  # of the states: exact in single precision, and not so near to a tie as rounding errors
THRESHOLDS = ("where_lt", "where_le")  # choices with a threshold that may be wrong by a few percent
CHANGES = {"percent": 0.01, "sign": 2.0}  # relative changes of an operand that states should detect
NEIGHBOURS = 3  # numbers computed before a compared one, by which it could be replaced by mistake
MOST = 0.01  # largest allowed deviation, relative to the largest result
CERTAIN = 4.0  # multiple of the allowed deviation that is certainly detected


class ChosenStates(NamedTuple):
    """Flat states, sizes of their results, and what they do not test."""

    states: np.ndarray  # (states, numbers of the inputs)
    sizes: np.ndarray  # (states, numbers of the outputs)
    operands: set[Operand]
    constants: set[Operand]  # a change of sign is detected, a change by a percent is not
    branches: set[tuple[int, str]]  # choices by their indices, and the sides not taken
    ties: set[int]  # choices without states near both sides of the tie, where they matter


def revealing_states(program: Program, positive: Collection[str], tolerance: float) -> ChosenStates:
    """States that detect mistakes. They are reproducible; none if no candidate has finite results."""
    is_positive = np.array([port.name in positive for port in program.inputs for _ in range(port.size)], dtype=bool)
    most = max(LEAST, BUDGET // max(1, Dependence(program).work()))
    states = thin_out(draw_states(program, is_positive), most)
    first, bisected = len(states), set[int]()
    analysis = sensitivity(program, states, tolerance)
    table = DetectionTable(analysis, tolerance)
    spent, stalled = len(states), 0
    for _ in range(ROUNDS if analysis.choices else 0):
        more = [*bisections(analysis, states, table, bisected), *steps_to_ties(analysis, states, table, stalled)]
        if not more:
            break
        fresh = np.unique((np.round(np.array(more) / GRID) * GRID).astype(np.float32).astype(float), axis=0)
        fresh = thin_out(fresh, most)
        useful = [*range(first), *(k for k in table.cover() if k >= first)]
        spent += len(useful) + len(fresh)
        if spent > SPENT * most:
            break
        states = np.concatenate([states[useful], np.where(is_positive, np.abs(fresh), fresh)])
        analysis, lost = sensitivity(program, states, tolerance), len(table.lost)
        table = DetectionTable(analysis, tolerance)
        stalled = 0 if len(table.lost) < lost else stalled + 1
        if stalled == STALLED:
            break
    chosen = table.cover()
    sizes = analysis.size[: len(analysis.results), chosen].T
    return ChosenStates(states[chosen], sizes, table.operands, table.constants, table.branches, table.ties)


def sensitivity(program: Program, states: np.ndarray, tolerance: float) -> Sensitivity:
    """The sensitivity, with sizes bounded so that a deviation by `MOST` of the largest result is detected.

    Sizes exceed this bound in programs that divide rounding errors, as conjugate gradients do at convergence.
    """
    result = Sensitivity(program, split_inputs(program, states))
    results = np.abs([result.value[node.index] for node in result.results])
    result.size[: len(results)] = np.fmin(result.size[: len(results)], MOST / tolerance * results.max(axis=0))
    return result


def draw_states(program: Program, positive: np.ndarray) -> np.ndarray:
    """Random states: of one magnitude, of a random magnitude for each input or each number, and with zeros."""
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


def thin_out(states: np.ndarray, most: int) -> np.ndarray:
    """At most `most` states: the first ones, of ordinary size, and some of the others."""
    if len(states) <= most:
        return states
    return states[[*range(LEAST), *np.linspace(LEAST, len(states) - 1, most - LEAST).astype(int)]]


def split_inputs(program: Program, states: np.ndarray) -> list[np.ndarray]:
    """One array for each input."""
    ends = np.cumsum([port.size for port in program.inputs])[:-1]
    return [x.reshape(-1, *port.shape) for x, port in zip(np.split(states, ends, axis=1), program.inputs, strict=True)]


def bisections(analysis: Sensitivity, states: np.ndarray, table: DetectionTable, done: set[int]) -> list[np.ndarray]:
    """States on both sides of the tie of each choice, between two that take different branches."""
    lower, upper, rows = [], [], []
    for row, d in enumerate(analysis.difference):
        pairs = [(table.visible[row] & (d < 0.0), table.visible[row] & (d > 0.0)), (d < 0.0, d > 0.0)]
        pair = next(((a, b) for a, b in pairs if a.any() and b.any()), None)
        if pair is not None and row not in done:
            rows.append(row)
            lower.append(states[pair[0].argmax()])
            upper.append(states[pair[1].argmax()])
    if not rows:
        return []
    done.update(rows)
    low, high, indices = np.array(lower), np.array(upper), np.arange(len(rows))
    compared = [analysis.compared[row] for row in rows]
    program = analysis.program
    port = Port("difference", (len(rows),))
    differences = Program.of(program.nodes[0].graph, program.inputs, [port], [[x - y for x, y in compared]])
    ends: list[np.ndarray] = []
    for step in range(1, max(HALVINGS) + 1):
        middle = 0.5 * (low + high)
        with np.errstate(all="ignore"):
            below = (evaluate(differences, *split_inputs(program, middle))[0][indices, indices] < 0.0)[:, None]
        low, high = np.where(below, middle, low), np.where(below, high, middle)
        if step in HALVINGS:
            ends += [*low, *high]
    return ends


def steps_to_ties(analysis: Sensitivity, states: np.ndarray, table: DetectionTable, nth: int) -> list[np.ndarray]:
    """States at ties that no candidate reaches or settles, and where operands have an effect."""
    alike = [is_one_sided(np.sign(d)) for d in analysis.difference]
    gates = Gates(analysis, table.visible)
    equal = {node for node, kind, _ in table.lost if kind == "other"}
    ties = {row for row, node in enumerate(analysis.choices) if alike[row] or node.index in equal}
    hidden = set[tuple[int, int]]()
    for node, k, _ in table.lost:
        if isinstance(k, int):
            hidden.add((node, gates.after_operand((node, k))))
            ties |= gates.jumps_turned_by((node, k))
    targets: dict[Target, None] = {}
    for row in table.unsettled():
        if row in gates.jumps:
            ties.add(row)
        for side, text in ((-1, "<"), (1, ">")):
            if row not in gates.jumps and (analysis.choices[row].index, text) in table.branches:
                targets |= dict.fromkeys(gates.on_side(row, side))
    for node, after in sorted(hidden):
        targets |= dict.fromkeys(gates.targets(node, after))
    for row in sorted(ties):
        targets |= dict.fromkeys(gates.at_tie(row))
    targets |= dict.fromkeys(way for way in map(gates.with_signs, list(targets)) if way is not None)
    return [state for target in targets for state in gates.steps(target, states, nth)]


def is_one_sided(signs: np.ndarray) -> bool:
    return bool((signs >= 0.0).all() or (signs <= 0.0).all())


def are_jumps(analysis: Sensitivity) -> np.ndarray:
    return np.array([node.op in JUMPS for node in analysis.choices], dtype=bool)[:, None]


class DetectionTable:
    """The mistakes that each candidate detects: in operands, in results, in branches of choices."""

    def __init__(self, analysis: Sensitivity, tolerance: float) -> None:
        outputs = len(analysis.results)
        size, d = analysis.size[:outputs], analysis.difference
        rows: dict[tuple[int, int | str, str], np.ndarray] = {}
        with np.errstate(all="ignore"):
            jumps = are_jumps(analysis)
            visible = visible_choices(analysis, [[row] for row in range(len(d))], tolerance)
            together = visible_conditions(analysis, visible, tolerance)
            self.choices, self.visible = analysis.choices, visible
            turning = jumps & together
            certain = np.abs(d) >= tolerance * analysis.size[outputs:]  # rounding does not change the choice
            certain |= compare_exact_numbers(analysis) & (d == 0.0)
            finite = np.isfinite(size).all(axis=0)
            usable = finite & (certain | ~turning).all(axis=0)
            self.usable = (
                usable if usable.any() else finite
            )  # otherwise rounding decides in all states: see `sensitivity`
            equality = np.array([node.op == "where_eq" for node in analysis.choices], dtype=bool)[:, None]
            turning &= ~equality | (d == 0.0)  # no change makes two numbers certainly equal
            limit = CERTAIN * tolerance * size
            for (node, k), reached, effect in analysis.effects():
                first = int(np.searchsorted(reached, outputs))
                results, choices = reached[:first], reached[first:] - outputs
                size_of_effect, percent = np.abs(effect), CHANGES["percent"]
                changed = {
                    name: (x * size_of_effect[:first] > limit[results]).any(axis=0) for name, x in CHANGES.items()
                }
                mistakes = {"sign": changed["sign"], "raised": changed["percent"], "lowered": changed["percent"]}
                if len(choices):
                    distance, moved = d[choices], size_of_effect[first:]
                    bent = ~jumps[choices] & (percent * moved >= np.abs(distance))
                    unbent = changed["percent"] & ~bent.any(axis=0)  # past its tie a limit may hide the effect
                    turned = turning[choices] & (percent * moved >= np.abs(distance))
                    towards = np.sign(effect[first:]) != np.sign(distance)  # a larger operand is nearer to the tie
                    equal = equality[choices] & (distance == 0.0)  # a change in either direction shows
                    mistakes["sign"] |= (turning[choices] & (CHANGES["sign"] * moved >= np.abs(distance))).any(axis=0)
                    mistakes["raised"] = unbent | (turned & towards).any(axis=0)
                    mistakes["lowered"] = unbent | (turned & (~towards | equal)).any(axis=0)
                for name, noticed in mistakes.items():
                    rows[node, k, name] = rows.get((node, k, name), False) | noticed
        rows |= {(node.index, "result", ""): analysis.value[node.index] != 0.0 for node in analysis.results}
        for k, (choice, matters) in enumerate(zip(analysis.choices, visible, strict=True)):
            rows |= {(choice.index, "side", side): matters & taken for side, taken in sides(choice, d[k]).items()}
            if choice.op in JUMPS and choice.op != "where_eq":
                near = together[k] & (np.abs(d[k]) <= CHANGES["percent"] * tie_scale(analysis, k))
                rows |= {(choice.index, "near", side): near & taken for side, taken in sides(choice, d[k]).items()}
            if choice.op == "where_eq":
                rows |= {
                    (choice.index, "other", f"{j}"): matters & alone
                    for j, alone in enumerate(only_this_equality(analysis, k))
                }
            elif choice.op in JUMPS:  # detects a wrong index of the compared number, or another number compared
                others = [j for j, other in enumerate(analysis.choices) if j != k and other.op == choice.op]
                rows |= {(choice.index, "unlike", f"{j}"): matters & (np.sign(d[j]) != np.sign(d[k])) for j in others}
                rows |= {
                    (choice.index, "exchanged", f"{j}"): matters & (np.sign(difference) != np.sign(d[k]))
                    for j, difference in enumerate(exchanged_differences(analysis, k))
                }
        self.table = self.usable & np.array(list(rows.values()))
        self.lost = {key for key, noticed in zip(rows, self.table, strict=True) if not noticed.any()}
        self.operands = {(node, k) for node, k, name in self.lost if isinstance(k, int) and name == "sign"}
        nodes = analysis.program.nodes[0].graph.nodes
        small = {(node, k) for node, k, name in self.lost if isinstance(k, int) and name in ("raised", "lowered")}
        self.constants = {(node, k) for node, k in small - self.operands if nodes[node].args[k].op == "const"}
        self.branches = {(node, side) for node, kind, side in self.lost if kind == "side"}
        thresholds = {node.index for node in analysis.choices if node.op in THRESHOLDS}
        self.ties = {node for node, kind, _ in self.lost if kind == "near" and node in thresholds}

    def unsettled(self) -> list[int]:
        """The choices with an untested side or tie, where they matter."""
        lost = {node for node, _ in self.branches} | self.ties
        return [k for k, node in enumerate(self.choices) if node.index in lost]

    def cover(self) -> list[int]:
        """Greedy cover: the first candidates, then always the one that detects most of what is left."""
        table = self.table
        chosen = [int(k) for k in np.flatnonzero(self.usable)[:LEAST]]
        left = ~table[:, chosen].any(axis=1) & table.any(axis=1)
        while left.any():
            chosen.append(int(table[left].sum(axis=0).argmax()))
            left &= ~table[:, chosen[-1]]
        return chosen


def compare_exact_numbers(analysis: Sensitivity) -> np.ndarray:
    """Mask of choices that compare inputs and constants, which have no rounding errors."""
    return np.array([{x.op, y.op} <= {"input", "const"} for x, y in analysis.compared], dtype=bool)[:, None]


def tie_scale(analysis: Sensitivity, k: int) -> np.ndarray:
    """The scale of a distance from a tie: the larger compared number; 1 for the constant 0."""
    x, y = (analysis.magnitude(node) for node in analysis.compared[k])
    return np.asarray(np.maximum(x, y))


def exchanged_differences(analysis: Sensitivity, k: int) -> Iterator[np.ndarray]:
    """The difference of a choice where a number that is computed shortly before stands for one that it compares."""
    nodes, pair = analysis.program.nodes, analysis.compared[k]
    for x, y, sign in ((*pair, 1.0), (*pair[::-1], -1.0)):
        if x.op != "const":
            before = nodes[max(0, analysis.place[x.index] - NEIGHBOURS) : analysis.place[x.index]]
            for other in dict.fromkeys(node.index for node in (*before, *x.args) if node.op != "const"):
                yield sign * (analysis.value[other] - (0.0 if is_zero(y) else analysis.value[y.index]))


def sides(node: Node, difference: np.ndarray) -> dict[str, np.ndarray]:
    if node.op == "where_eq":
        return {"==": difference == 0.0, "!=": difference != 0.0}
    return {"<": difference < 0.0, ">": difference > 0.0}


def only_this_equality(analysis: Sensitivity, k: int) -> list[np.ndarray]:
    """Where an `==` holds, but would not for another input, or for the numbers of another choice."""
    holds, x, row = analysis.difference[k] == 0.0, analysis.compared[k][0], len(analysis.results) + k
    inputs = [node.index for node in analysis.program.nodes if node.op == "input"]
    others = [
        analysis.value[node] != analysis.value[x.index] for node in inputs if row not in analysis.rows.get(node, ())
    ]
    return [holds & other for other in [*others, *(analysis.difference[np.arange(len(analysis.choices)) != k] != 0.0)]]


def visible_choices(analysis: Sensitivity, groups: Iterable[list[int]], tolerance: float) -> np.ndarray:
    """Where the other branches of a group of choices would change a result: (groups, states)."""
    limit = CERTAIN * tolerance * analysis.size[: len(analysis.results)]
    visible = [(~(deviation <= limit)).any(axis=0) for deviation in analysis.deviations(groups)]
    return np.array(visible, dtype=bool).reshape(-1, analysis.states)


def visible_conditions(analysis: Sensitivity, alone: np.ndarray, tolerance: float) -> np.ndarray:
    """Where a change of the compared numbers would: it turns all choices that compare the same ones together."""
    groups: dict[tuple[int, int], list[int]] = {}
    for row, (x, y) in enumerate(analysis.compared):
        if analysis.choices[row].op in JUMPS:
            groups.setdefault((x.index, y.index), []).append(row)
    several = [group for group in groups.values() if len(group) > 1]
    together = alone.copy()
    for group, visible in zip(several, visible_choices(analysis, several, tolerance), strict=True):
        together[group] &= visible
    return together


ROUNDINGS = 4.0  # allowed deviation in rounding errors, relative to the size of each result

Numbers = list[float]


class SelfTest(NamedTuple):
    """Inputs, results and sizes of each state; deviations are relative to the sizes."""

    states: list[list[Numbers]]
    results: list[list[Numbers]]
    sizes: list[list[Numbers]]
    tolerance: float
    chosen: ChosenStates


def make_self_test(
    function: Callable[..., Any], robot: Robot, program: Program, keywords: Mapping[str, Any], dtype: str
) -> SelfTest:
    """Inputs and results of a few reproducible states, and the tolerance for correct code."""
    if not any(port.size for port in program.outputs):
        name = function_name(function)
        raise ValueError(
            f"{name} of robot {robot.name!r} has no results, so self_test=True has nothing to compare with"
        )
    symbols = symbols_of(robot)
    tolerance = ROUNDINGS * float(np.finfo(dtype).eps)
    chosen = revealing_states(program, symbols, tolerance)
    if not len(chosen.states):
        raise not_finite_error(function)
    arrays = split_inputs(program, chosen.states)
    names = [port.name for port in program.inputs]
    states = [dict(zip(names, (a[k] for a in arrays), strict=True)) for k in range(len(chosen.states))]
    results = [run_plainly(function, robot, symbols, keywords, state) for state in states]
    ends = np.cumsum([port.size for port in program.outputs])[:-1]
    return SelfTest(
        [[np.ravel(x).tolist() for x in state.values()] for state in states],
        [[x.ravel().tolist() for x in result] for result in results],
        [[x.tolist() for x in np.split(size, ends)] for size in chosen.sizes],
        tolerance,
        chosen,
    )


def not_finite_error(function: Callable[..., Any]) -> ValueError:
    name = function_name(function)
    return ValueError(f"{name} gives numbers that are not finite, so self_test=True has nothing to compare with")


def run_plainly(
    function: Callable[..., Any],
    robot: Robot,
    symbols: tuple[str, ...],
    keywords: Mapping[str, Any],
    state: Mapping[str, Any],
) -> list[np.ndarray]:
    with np.errstate(all="ignore"):
        if isinstance(function, Prepared) and function.maker:
            output = function.plain(robot, **with_values(keywords, state))  # the robot's symbols are arguments
        else:
            values = {name: float(state[name]) for name in symbols}
            arguments = with_values(keywords, {name: x for name, x in state.items() if name not in symbols})
            output = function(robot.mapped(Transplant(Graph(), values)) if robot.non_floats else robot, **arguments)
    results = [np.asarray(x, dtype=float) for x in results_of(output)]
    if not all(np.isfinite(x).all() for x in results):
        raise not_finite_error(function)
    return results
