"""The functions that a program calls, in LLVM assembly."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...graph import Node
from .block import Layout
from .elementary import FUNCTIONS, elementary_function
from .sine import large_angle, sine_cosine


def functions_text(nodes: Iterable[Node], layouts: Sequence[Layout]) -> list[str]:
    """What these nodes need, for each layout."""
    used = {node.op for node in nodes}
    texts = [large_angle(), *(sine_cosine(layout) for layout in layouts)] if used & {"sin", "cos"} else []
    return [*texts, *(elementary_function(op, layout) for op in FUNCTIONS if op in used for layout in layouts)]
