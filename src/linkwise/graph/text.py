"""Expressions as people write them, for messages and tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .node import Node

SIGN = {"add": " + ", "sub": " - ", "mul": "*", "div": "/"}
RANK = {"add": 1, "sub": 1, "neg": 2, "mul": 3, "div": 3}
LONGEST = 60  # characters; beyond them an expression is only named


def infix(node: Node) -> str:
    """`m1*l1*l1/12`, or the name of the operation where that would be long."""
    text = written(node, budget=[LONGEST])
    return text if text is not None and len(text) <= LONGEST else f"{node.op} #{node.index}"


def written(node: Node, budget: list[int]) -> str | None:
    """The expression in full, or None when it uses up the budget of nodes."""
    budget[0] -= 1
    if budget[0] < 0:
        return None
    if node.op == "const":
        return f"{node.payload:g}"
    if node.op == "input":
        name, position = node.payload
        return str(name) if node.graph.scalar_inputs else f"{name}[{position}]"
    parts = [written(a, budget) for a in node.args]
    if any(part is None for part in parts):
        return None
    if node.op not in RANK:
        return f"{node.op}({parts[0]})"
    rank = RANK[node.op]
    guarded = [
        f"({part})" if RANK.get(a.op, 9) < rank + (k if node.op in ("sub", "div") else 0) else part
        for k, (a, part) in enumerate(zip(node.args, parts, strict=True))
    ]
    return f"-{guarded[0]}" if node.op == "neg" else f"{guarded[0]}{SIGN[node.op]}{guarded[1]}"
