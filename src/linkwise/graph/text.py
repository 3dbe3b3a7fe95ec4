"""Expressions in mathematical notation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .node import Node

SIGN = {"add": " + ", "sub": " - ", "mul": "*", "div": "/"}
RANK = {"add": 1, "sub": 1, "neg": 2, "mul": 3, "div": 3}
WORDS: Mapping[str, str] = {  # as NumPy has them
    "where_lt": "where({0} < {1}, {2}, {3})",
    "where_le": "where({0} <= {1}, {2}, {3})",
    "where_eq": "where({0} == {1}, {2}, {3})",
}
LONGEST = 60  # characters of an expression in a message; of a longer one only its operation is named
PRINTED = 2000  # characters of a printed expression


class TooLongError(Exception):
    """The expression has more nodes than wanted."""


def infix(node: Node, longest: int = LONGEST) -> str:
    """`m1*l1*l1/12`, or the name of the operation where that would be long."""
    left = longest

    def leaf(n: Node) -> str | None:
        nonlocal left
        left -= 1
        if left < 0:
            raise TooLongError
        if n.op == "const":
            return f"{n.payload:g}"
        if n.op == "input":
            name, position = n.payload
            return str(name) if n.graph.scalar_inputs else f"{name}[{position}]"
        return None

    try:
        text = expression_text(node, leaf)
    except TooLongError:
        text = ""
    return text if 0 < len(text) <= longest else f"{node.op} #{node.index}"


def expression_text(node: Node, name_of: Callable[[Node], str | None], words: Mapping[str, str] = WORDS) -> str:
    """The text of a node, with names of nodes from `name_of`."""
    name = name_of(node)
    return operation_text(node, name_of, words) if name is None else name


def operation_text(node: Node, name_of: Callable[[Node], str | None], words: Mapping[str, str] = WORDS) -> str:
    """The text of one operation, with parentheses that keep the order of computation.

    `words` maps operations to names of functions, or to patterns with {0}, {1}, ... for the operands.
    """
    parts = [(name_of(a), a) for a in node.args]
    texts = [operation_text(a, name_of, words) if name is None else name for name, a in parts]
    if node.op not in RANK:
        return call_text(node.op, texts, words)
    guarded = []
    for k, ((name, a), text) in enumerate(zip(parts, texts, strict=True)):
        rank = RANK.get(a.op, 9) if name is None else (2 if text.startswith("-") else 9)
        guarded.append(f"({text})" if rank < RANK[node.op] + k else text)
    return f"-{guarded[0]}" if node.op == "neg" else f"{guarded[0]}{SIGN[node.op]}{guarded[1]}"


def call_text(op: str, operands: Sequence[str], words: Mapping[str, str] = WORDS) -> str:
    """The text of a function call."""
    word = words.get(op, op)
    return word.format(*operands) if "{0}" in word else f"{word}({', '.join(operands)})"
