"""A program as assignments, for all target languages: some expressions get names, others are written inline."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping

from . import Node, Program
from .passes import use_counts
from .text import WORDS, operation_text

INLINE = 3  # operations of an expression that is written inline, if it is used once


def assignments(
    program: Program,
    leaf: Callable[[Node], str],
    used_names: Collection[str],
    *,
    always_named: Collection[int] = (),
    words: Mapping[str, str] = WORDS,
    before: int = 0,
) -> tuple[list[tuple[str, str]], Callable[[Node], str | None]]:
    """Names with their expressions, in order, and a function for the name or text of a node (None: it is inline).

    `leaf` writes constants and inputs. Nodes with indices in `always_named` get a name in any case. `words` has the
    language's names of functions. Names are numbered from `before` + 1.
    """
    uses = use_counts(program)
    letter = free_letter(used_names)
    names: dict[int, str] = {}
    sizes: dict[int, int] = {}

    def name_of(node: Node) -> str | None:
        return names.get(node.index) or (None if node.args else leaf(node))

    lines = []
    for node in program.nodes:
        if node.args:
            sizes[node.index] = 1 + sum(sizes.get(a.index, 0) for a in node.args if a.index not in names)
            if not (uses[node.index] > 1 or sizes[node.index] > INLINE or node.index in always_named):
                continue
        elif node.index not in always_named:
            continue
        text = operation_text(node, name_of, words) if node.args else leaf(node)
        names[node.index] = f"{letter}{before + len(names) + 1}"
        lines.append((names[node.index], text))
    return lines, name_of


def free_letter(used_names: Collection[str]) -> str:
    """The prefix of intermediates: t, or tt where t or t1 is used."""
    letter = "t"
    while any(re.fullmatch(rf"{letter}\d*", name) for name in used_names):
        letter += "t"
    return letter
