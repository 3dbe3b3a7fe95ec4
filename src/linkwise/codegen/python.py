"""A program as Python source: plain assignments in executable order."""

from __future__ import annotations

import keyword
from collections.abc import Iterable

from ..graph import Node, Port, Program, count
from ..graph.assignments import assignments
from ..graph.rules import COMPARED, NUMPY_NAMES
from ..graph.text import WORDS as CHOICES
from ..graph.text import expression_text

IMPORTED = {
    **{op: op for op in ("sin", "cos", "sqrt", "sign")},
    **dict.fromkeys(("select", *COMPARED), "where"),
    **NUMPY_NAMES,
}
WORDS = {**NUMPY_NAMES, **CHOICES, "select": "where({0} >= 0, {1}, {2})"}


def python_text(program: Program, name: str, about: str) -> str:
    """A function of the program's inputs that uses only functions of NumPy."""

    inputs = python_names(port.name for port in program.inputs)
    shapes = {port.name: port.shape for port in program.inputs}

    def leaf(node: Node) -> str:
        if node.op == "const":
            return repr(node.payload)
        port, position = node.payload
        return element(inputs[port], shapes[port], position)

    lines, named = assignments(program, leaf, inputs.values(), words=WORDS)
    functions = sorted({IMPORTED[n.op] for n in program.nodes if n.op in IMPORTED})
    head = [f"from numpy import {', '.join(functions)}", "", ""] if functions else []
    arguments = ", ".join(inputs.values())
    results = [
        nested_list([expression_text(n, named, WORDS) for n in flat], port.shape)
        for port, flat in zip(program.outputs, program.results, strict=True)
    ]
    return "\n".join(
        [
            *head,
            f"def {valid_name(name)}({arguments}):",
            f'    """{about}',
            "",
            *(f"    {inputs[port.name]}: {port_description(port, inputs[port.name])}" for port in program.inputs),
            f"    {count(program)}",
            '    """',
            *(f"    {left} = {right}" for left, right in lines),
            f"    return {', '.join(results)}",
            "",
        ]
    )


def element(name: str, shape: tuple[int, ...], position: int) -> str:
    """The expression of the number at a position: q[2], wrench[1][0], or the name alone."""
    index: list[int] = []
    for size in reversed(shape):
        position, k = divmod(position, size)
        index.append(k)
    return name + "".join(f"[{k}]" for k in reversed(index))


def nested_list(texts: list[str], shape: tuple[int, ...]) -> str:
    if not shape:
        return texts[0]
    step = len(texts) // shape[0] if shape[0] else 0
    return "[" + ", ".join(nested_list(texts[i * step : (i + 1) * step], shape[1:]) for i in range(shape[0])) + "]"


def port_description(port: Port, name: str) -> str:
    numbers = "a number" if not port.shape else " x ".join(map(str, port.shape)) + f" number{'s' * (port.size != 1)}"
    return numbers if name == port.name else f"{numbers}, {port.name} of the program"


def python_names(names: Iterable[str]) -> dict[str, str]:
    """A Python name for each name, with appended underscores if Python or the text reserves it."""
    wanted = tuple(names)
    chosen: dict[str, str] = {}
    for name in wanted:
        free = name
        while is_reserved(free) or (free != name and free in (*wanted, *chosen.values())):
            free += "_"
        chosen[name] = free
    return chosen


def is_reserved(name: str) -> bool:
    return keyword.iskeyword(name) or name in IMPORTED.values() or name == "__debug__"


def valid_name(name: str) -> str:
    """A valid Python name."""
    clean = "".join(c if c.isalnum() or c == "_" else "_" for c in name)
    return f"f_{clean}" if not clean.isidentifier() or is_reserved(clean) else clean
