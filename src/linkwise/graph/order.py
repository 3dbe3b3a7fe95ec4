"""The order of computation, chosen so that few values are live at a time.

Absorbed nodes are computed together with the nodes that use them, as a product in a fused sum.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

from .node import Node
from .program import Program


def fewest_live(program: Program, absorbed: Collection[int]) -> list[Node]:
    """The best of five orders: the program's own, and depth first from the first or the last result.

    Depth first suits trees; long chains are best in the program's order.
    """
    results = [node for flat in program.results for node in flat]
    depth: dict[int, int] = {}
    for node in program.nodes:
        depth[node.index] = 1 + max((depth[x.index] for x in node.args), default=0)
    orders = [list(program.nodes)]
    for ends in (results, results[::-1]):
        orders += [depth_first(ends), depth_first(ends, lambda node: -depth[node.index])]
    return min(orders, key=lambda order: peak_live(order, absorbed, results))


def depth_first(results: list[Node], key: Callable[[Node], int] | None = None) -> list[Node]:
    """Each result after all that it needs; operands in their order, or sorted by a key."""
    seen: set[int] = set()
    order = []
    for result in results:
        waiting: list[tuple[Node, list[Node] | None]] = [(result, None)]
        while waiting:
            node, left = waiting.pop()
            if node.index in seen:
                continue
            if left is None:
                left = list(node.args) if key is None else sorted(node.args, key=key)
            if left:
                waiting += [(node, left[1:]), (left[0], None)]
            else:
                seen.add(node.index)
                order.append(node)
    return order


def peak_live(order: list[Node], absorbed: Collection[int], results: list[Node]) -> int:
    """The largest number of live values. Results live to the end."""
    written = [node for node in order if node.index not in absorbed and node.op not in ("const", "input")]
    last = {x.index: k for k, node in enumerate(written) for x in operands(node, absorbed)}
    last |= {node.index: len(written) for node in results}
    dying = [0] * (len(written) + 1)
    for position in last.values():
        dying[position] += 1
    live = peak = 0
    computed: set[int] = set()
    for k, node in enumerate(written):
        loaded = {x.index for x in operands(node, absorbed) if x.op == "input"} - computed
        computed |= loaded | {node.index}
        live += len(loaded) + 1
        peak = max(peak, live)
        live -= dying[k]
    return peak


def operands(node: Node, absorbed: Collection[int]) -> Iterator[Node]:
    """The nodes that are read when the node is computed, without constants."""
    for x in node.args:
        if x.index in absorbed:
            yield from operands(x, absorbed)
        elif x.op != "const":
            yield x
