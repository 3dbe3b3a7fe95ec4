"""A program as Python source: plain assignments, in an order in which they can be read and run."""

from __future__ import annotations

import keyword

from ..graph import Node, Port, Program, count
from ..graph.text import expression
from .assignments import assignments

IMPORTED = {"sin": "sin", "cos": "cos", "sqrt": "sqrt", "sign": "sign", "select": "where"}
WORDS = {"select": "where({0} >= 0, {1}, {2})"}


def python_text(program: Program, name: str, about: str) -> str:
    """A function of the program's inputs that needs nothing but sin, cos, sqrt, sign and where, from NumPy."""

    def leaf(node: Node) -> str:
        if node.op == "const":
            return repr(node.payload)
        port, position = node.payload
        shape = next(p.shape for p in program.inputs if p.name == port)
        return place(port, shape, position)

    lines, named = assignments(program, leaf, {port.name for port in program.inputs}, words=WORDS)
    functions = sorted({IMPORTED[n.op] for n in program.nodes if n.op in IMPORTED})
    head = [f"from numpy import {', '.join(functions)}", "", ""] if functions else []
    arguments = ", ".join(port.name for port in program.inputs)
    results = [
        nested([expression(n, named, WORDS) for n in flat], port.shape)
        for port, flat in zip(program.outputs, program.results, strict=True)
    ]
    return "\n".join(
        [
            *head,
            f"def {safe(name)}({arguments}):",
            f'    """{about}',
            "",
            *(f"    {port.name}: {described(port)}" for port in program.inputs),
            f"    {count(program)}",
            '    """',
            *(f"    {left} = {right}" for left, right in lines),
            f"    return {', '.join(results)}",
            "",
        ]
    )


def place(name: str, shape: tuple[int, ...], position: int) -> str:
    """How the number at that position is written: q[2], wrench[1][0], or the name alone."""
    index: list[int] = []
    for size in reversed(shape):
        position, k = divmod(position, size)
        index.append(k)
    return name + "".join(f"[{k}]" for k in reversed(index))


def nested(texts: list[str], shape: tuple[int, ...]) -> str:
    if not shape:
        return texts[0]
    step = len(texts) // shape[0] if shape[0] else 0
    return "[" + ", ".join(nested(texts[i * step : (i + 1) * step], shape[1:]) for i in range(shape[0])) + "]"


def described(port: Port) -> str:
    return "a number" if not port.shape else " x ".join(map(str, port.shape)) + " numbers"


def safe(name: str) -> str:
    """A name that Python takes."""
    clean = "".join(c if c.isalnum() or c == "_" else "_" for c in name)
    return f"f_{clean}" if not clean.isidentifier() or keyword.iskeyword(clean) else clean
