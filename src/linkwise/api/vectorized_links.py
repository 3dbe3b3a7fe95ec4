"""Contractions over arrays with the links along their first axis: few array operations for thousands of links.

A function of `dynamics` that is made of contractions (`robot.contraction`) is called on a robot with one link for each
kind of joint. The numbers of that link are arrays (links of that kind, 1, ...), and values of links are arrays
(links, *batch). So each round of a contraction is one call of `series` on arrays of pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from ..kernels.dispatch import MAX_STRAIGHT_LINKS
from ..robot import Contraction, PerRobot, Robot
from ..robot.walk import OfLinks, PerLink, Step
from ..tracing.loop_tracing import UNKNOWN, common_link, map_leaves
from .states import REAL, States, dtype_name


def vectorize_links(states: States, function: Callable[..., list[Any]]) -> Callable[..., list[Any]]:
    """`function(robot, *values of the links)`, vectorized over the links of long robots."""
    first = next(iter(states.arrays.values()))
    if states.robot.n <= MAX_STRAIGHT_LINKS or states.robot.non_floats or dtype_name(first) not in REAL:
        return function
    kind = states.xp, first.dtype, getattr(first, "device", None), len(states.batch)

    def run(robot: Robot, *per_link: Sequence[Any], **others: Any) -> list[Any]:
        links = vectorized_links(robot, *kind)
        return links.split_links(function(links.robot, *map(links.stack_by_kind, per_link), **others))

    return run


@PerRobot
def vectorized_links(robot: Robot, xp: Any, dtype: Any, device: Any, axes: int) -> VectorizedLinks:
    return VectorizedLinks(robot, xp, partial(column_array, xp, dtype, device, axes))


def column_array(xp: Any, dtype: Any, device: Any, axes: int, column: Sequence[float]) -> Any:
    keywords = {"device": device} if xp.__name__ == "torch" else {}
    return xp.asarray(column, dtype=dtype, **keywords).reshape((-1, *(1,) * axes))


class VectorizedLinks:
    """The links of a robot by kinds of joints; runs contractions over them (see `robot.walk`)."""

    def __init__(self, robot: Robot, xp: Any, column: Callable[[Sequence[float]], Any]) -> None:
        self.links, self.rounds, self.xp, self.column = robot.links, robot.contraction, xp, column
        types = [type(link.joint) for link in robot.links]
        self.kinds = [np.flatnonzero([t is kind for t in types]).tolist() for kind in dict.fromkeys(types)]
        links = [common_link([robot.links[i] for i in kind], column) for kind in self.kinds]
        links = [replace(link, index=UNKNOWN, parent=UNKNOWN, virtual=False, joint_kind="") for link in links]
        about = (), robot.gravity, (), robot.convention, robot.about
        self.robot = Robot(robot.name, tuple(links), *about, walk=self)
        self.values_by_function: dict[OfLinks, list[Any]] = {}

    def stack_by_kind(self, values: Sequence[Any]) -> list[Any]:
        """The values of the links, stacked by kind."""
        return [map_leaves(self._stack, *(values[i] for i in kind)) for kind in self.kinds]

    def _stack(self, *leaves: Any) -> Any:
        if all(type(x) is float for x in leaves):
            return leaves[0] if len(set(leaves)) == 1 else self.column(leaves)
        array = next(x for x in leaves if type(x) is not float)
        return self.xp.stack([self.xp.zeros_like(array) + x if type(x) is float else x for x in leaves])

    def outward(self, robot: Robot, step: Step, base: Any, per_link: PerLink) -> list[Any]:
        raise TypeError("passes from link to link cannot run side by side (expected contractions)")

    inward = outward

    def of_tree(self, robot: Robot, values: OfLinks) -> list[Any]:
        if values not in self.values_by_function:
            self.values_by_function[values] = self.stack_by_kind(values(self.links))
        return self.values_by_function[values]

    def split_links(self, by_kind: Sequence[Any]) -> list[Any]:
        """The values of the links one by one."""
        values: list[Any] = [None] * len(self.links)
        for kind, value in zip(self.kinds, by_kind, strict=True):
            for row, index in enumerate(kind):
                values[index] = take_rows(value, row)
        return values

    def contracted(self, robot: Robot, how: Contraction, base: Any, by_kind: Sequence[Any]) -> list[Any]:
        sizes = [len(kind) for kind in self.kinds]
        live, ids = self._concatenate(by_kind, sizes), np.concatenate([*self.kinds, []]).astype(np.intp)
        undo = []
        for merged, joined in self.rounds:
            for pairs, series in ((merged, False), (joined, True)):
                if not pairs:
                    continue
                first, second, rest = pair_positions(ids, pairs)
                near, far = take_rows(live, first), take_rows(live, second)
                seam, both = how.series(near, far) if series else (None, how.beside(near, far))
                undo.append((seam, series, np.argsort(np.concatenate([rest, first, second])), len(rest)))
                live = self._concatenate([take_rows(live, rest), both], [len(rest), len(pairs)])
                ids = np.concatenate([ids[rest], ids[first]])
        ends = map_leaves(partial(self._repeat_for_links, len(ids)), (base, how.nothing))
        for seam, series, order, count in reversed(undo):
            pairs = (len(order) - count) // 2
            x, z = take_rows(ends, slice(count, None))
            y, z_near, z_far = how.between(seam, x, z) if series else (x, z, how.nothing)
            opened = [take_rows(ends, slice(count)), (x, z_near), (y, z_far)]
            ends = take_rows(self._concatenate(opened, [count, pairs, pairs]), order)
        starts = np.cumsum([0, *sizes])
        return [take_rows(ends, slice(*bounds)) for bounds in pairwise(starts)]

    def _repeat_for_links(self, count: int, leaf: Any) -> Any:
        """A value of the base, repeated along a first axis for the links on it."""
        if type(leaf) is float:
            return leaf
        axes = len(self.column([0.0]).shape) - 1
        batch = (1,) * (axes - len(leaf.shape)) + tuple(leaf.shape)
        return self.xp.broadcast_to(self.xp.asarray(leaf).reshape(batch), (count, *batch))

    def _concatenate(self, values: Sequence[Any], counts: Sequence[int]) -> Any:
        """Values for `counts` links each, concatenated."""
        some = [(value, count) for value, count in zip(values, counts, strict=True) if count]

        def leaf(*leaves: Any) -> Any:
            if all(type(x) is float for x in leaves) and len(set(leaves)) == 1:
                return leaves[0]
            each = zip(leaves, some, strict=True)
            arrays = [self.column([x] * count) if type(x) is float else x for x, (_, count) in each]
            shape = np.broadcast_shapes(*(tuple(x.shape[1:]) for x in arrays))
            return self.xp.concatenate([self.xp.broadcast_to(x, (x.shape[0], *shape)) for x in arrays])

        return map_leaves(leaf, *(value for value, _ in some))


def pair_positions(ids: np.ndarray, pairs: Sequence[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The positions of the first and the second elements of the pairs, and of all others."""
    where = np.empty(ids.max() + 1, dtype=np.intp)
    where[ids] = np.arange(len(ids))
    first, second = where[np.array(pairs)].T
    alone = np.ones(len(ids), dtype=bool)
    alone[first] = alone[second] = False
    return first, second, np.flatnonzero(alone)


def take_rows(value: Any, index: Any) -> Any:
    """The rows at this index, of every array."""
    return map_leaves(lambda x: x if type(x) is float else x[index], value)
