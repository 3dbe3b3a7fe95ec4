"""Shared by the target languages: which expressions of a program get a name; others are written where they are used."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping

from . import Node, Program
from .passes import use_counts
from .text import WORDS, written_out

INLINE = 3  # an expression used once is written where it is used, if it has at most so many operations


def assignments(
    program: Program,
    leaf: Callable[[Node], str],
    taken: Collection[str],
    *,
    kept: Collection[int] = (),
    words: Mapping[str, str] = WORDS,
) -> tuple[list[tuple[str, str]], Callable[[Node], str | None]]:
    """Names with their expressions, in order, and the text of any node that is a name or a leaf.

    `leaf` writes constants and inputs, `taken` are names in use, `kept` the indices of nodes that get a name in any
    case, `words` the language's own names of functions.
    """
    uses = use_counts(program)
    letter = free_letter(taken)
    names: dict[int, str] = {}
    sizes: dict[int, int] = {}

    def named(node: Node) -> str | None:
        return names.get(node.index) or (None if node.args else leaf(node))

    lines = []
    for node in program.nodes:
        if node.args:
            sizes[node.index] = 1 + sum(sizes.get(a.index, 0) for a in node.args if a.index not in names)
            if not (uses[node.index] > 1 or sizes[node.index] > INLINE or node.index in kept):
                continue
        elif node.index not in kept:
            continue
        text = written_out(node, named, words) if node.args else leaf(node)
        names[node.index] = f"{letter}{len(names) + 1}"
        lines.append((names[node.index], text))
    return lines, named


def free_letter(taken: Collection[str]) -> str:
    """What intermediates are called, before their number: t, or tt where something else is called t or t1."""
    letter = "t"
    while any(re.fullmatch(rf"{letter}\d*", name) for name in taken):
        letter += "t"
    return letter
