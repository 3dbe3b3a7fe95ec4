"""Symbols: named parameters of a robot in place of numbers."""

from __future__ import annotations

import unicodedata
from typing import Any

from ..graph import Graph, Node
from ..graph.node import COMMUTATIVE


class SymbolGraph(Graph):
    """The graph of all symbols of a process, so that any of them can be used in one robot.

    Copied and unpickled expressions become nodes of this graph: equal ones are the same node. They are pickled as a
    list of steps, without the other symbols.
    """

    def reduced(self, node: Node, protocol: Any) -> Any:
        needed, waiting = {node.index: node}, [node]
        while waiting:
            new = {a.index: a for a in waiting.pop().args if a.index not in needed}
            needed |= new
            waiting += new.values()
        order = sorted(needed)  # arguments come first
        place = {index: k for k, index in enumerate(order)}
        nodes = [needed[index] for index in order]
        return expression, ([(x.op, x.payload, [place[a.index] for a in x.args]) for x in nodes],)


def expression(steps: list[tuple[str, Any, list[int]]]) -> Node:
    """Rebuild an expression from its steps; each refers to earlier ones."""
    nodes: list[Node] = []
    for op, payload, places in steps:
        args = [nodes[k] for k in places]
        if op in COMMUTATIVE:  # in the order of this graph, which may be another
            args.sort(key=lambda x: x.index)
        nodes.append(_SHARED.make(op, *args, payload=payload))
    return nodes[-1]


_SHARED = SymbolGraph(scalar_inputs=True)


def symbols(names: str) -> Any:
    """Make symbols for the lengths, masses, inertias and gravity of a robot.

    Parameters
    ----------
    names : str
        Names with spaces or commas between them: Python identifiers.

    Returns
    -------
    Node or tuple of Node
        One symbol for one name; a tuple for several, and for one name with a comma after it.

    Examples
    --------
    >>> import linkwise as lw
    >>> g = lw.symbols("g")
    >>> l1, m1 = lw.symbols("l1 m1")
    >>> rod = {"joint": "revolute", "a": l1, "b": 0, "alpha": 0, "mass": m1, "com": (-0.5 * l1, 0, 0),
    ...        "inertia": [[0, 0, 0], [0, m1 * l1**2 / 12, 0], [0, 0, m1 * l1**2 / 12]]}
    >>> pendulum = lw.Robot.from_dh([rod], convention="standard", gravity=(0, -g, 0), name="pendulum")
    >>> [port.name for port in lw.trace(lw.inertia_matrix, pendulum).inputs]
    ['q', 'g', 'l1', 'm1']
    """
    if not isinstance(names, str):
        raise TypeError(f"the names of symbols are {names!r} (expected text, such as 'l1 m1')")
    groups = unicodedata.normalize("NFKC", names).split(",")  # as Python reads names
    all_names = [name for group in groups for name in group.split()]
    if not all_names:
        raise ValueError("no symbols are named (expected names with spaces between them, such as 'l1 m1')")
    if not all(group.split() for group in groups[:-1]):
        raise ValueError(f"a name is missing between the commas of {names!r}")
    for name in all_names:
        if not name.isidentifier():
            raise ValueError(f"the symbol {name!r} is not a name (expected letters, digits and underscores)")
        if name == "robot":
            raise ValueError(
                "the symbol 'robot' has the name of an argument of lw.bind and other functions (expected another name)"
            )
    nodes = tuple(_SHARED.input(name) for name in all_names)
    return nodes[0] if len(nodes) == 1 and len(groups) == 1 else nodes


def shared_graph() -> Graph:
    return _SHARED
