"""A program as C99: one function on plain arrays, straight-line code without allocation, and its header."""

from __future__ import annotations

import math
import re
import struct
import textwrap
import unicodedata
from collections.abc import Iterable, Sequence

from ...graph import Node, Port, Program
from ...graph.assignments import assignments
from ...graph.text import operation_text
from .names import c_names

TYPES = {"float64": "double", "float32": "float"}
WIDTH = 100  # of comments and signatures


class CFunction:
    """A program as a function in C, with names of its inputs and outputs. Arrays are flat, row by row."""

    def __init__(self, program: Program, name: str, outputs: Sequence[str], dtype: str) -> None:
        self.program, self.name, self.dtype, self.type = program, name, dtype, TYPES[dtype]
        used = {"sign", *(node.op for node in program.nodes)}
        self.helpers = {op: f"{name}_{op}" for op in HELPERS if op in used}
        inputs = [port.name for port in program.inputs]
        names = c_names([*inputs, *outputs], reserved=(name, *self.helpers.values()))
        self.inputs, self.outputs = names[: len(inputs)], names[len(inputs) :]
        ending = "f" if dtype == "float32" else ""
        self.words = {**{op: word + ending for op, word in MATH.items()}, **self.helpers, **CHOICES}
        result_indices = {node.index for result in program.results for node in result if node.op != "const"}
        used_names = (name, *self.helpers.values(), *self.inputs, *self.outputs)
        self.lines, self.name_of = assignments(
            program, self.leaf, used_names, always_named=result_indices, words=self.words
        )

    def leaf(self, node: Node) -> str:
        if node.op == "const":
            return c_number(node.payload, self.dtype)
        name, position = node.payload
        k = next(k for k, port in enumerate(self.program.inputs) if port.name == name)
        return f"{self.inputs[k]}[{position}]" if self.program.inputs[k].shape else self.inputs[k]

    def array(self, name: str, port: Port) -> str:
        """A parameter. C has no empty arrays: these are pointers."""
        return f"{self.type} {name}{array_brackets(port)}" if port.size else f"{self.type} *{name}"

    @property
    def signature(self) -> str:
        inputs = [
            f"const {self.array(name, port)}" if port.shape else f"{self.type} {name}"
            for name, port in zip(self.inputs, self.program.inputs, strict=True)
        ]
        outputs = [self.array(name, port) for name, port in zip(self.outputs, self.program.outputs, strict=True)]
        line = f"void {self.name}({', '.join([*inputs, *outputs])})"
        if len(line) <= WIDTH:
            return line
        return f"void {self.name}(\n    " + ",\n    ".join([*inputs, *outputs]) + ")"

    @property
    def prototype(self) -> str:
        """The declaration, for C and for C++."""
        return PROTOTYPE.format(signature=self.signature)

    def header(self, comment: str) -> str:
        guard = f"LINKWISE_{self.name}_H"
        return f"{comment}\n#ifndef {guard}\n#define {guard}\n\n{self.prototype}\n#endif\n"

    def source(self, comment: str) -> str:
        used = {node.op for node in self.program.nodes}
        parts = [comment, self.prototype]
        if used & set(MATH):
            parts.insert(1, "#include <math.h>\n")
        parts += [text.format(name=self.helpers[op], type=self.type) for op, text in HELPERS.items() if op in used]
        return "\n".join([*parts, f"{self.signature}\n{{\n{self.body()}}}\n"])

    def body(self) -> str:
        """The statements. All are computed before any is stored, so that an output may alias an input."""
        read = {node.payload[0] for node in self.program.nodes if node.op == "input"}
        unread = (name for name, port in zip(self.inputs, self.program.inputs, strict=True) if port.name not in read)
        empty = (name for name, result in zip(self.outputs, self.program.results, strict=True) if not result)
        idle = [f"    (void){name};" for name in (*unread, *empty)]
        computed = [f"    const {self.type} {left} = {right};" for left, right in self.lines]
        stored = [
            f"    {name}[{position}] = {self.name_of(node)};"
            for name, result in zip(self.outputs, self.program.results, strict=True)
            for position, node in enumerate(result)
        ]
        return "\n".join([*idle, *computed, "", *stored, ""])

    def text(self, node: Node) -> str:
        """The text of a node in the function."""
        return operation_text(node, self.name_of, self.words) if node.args else str(self.name_of(node))


PROTOTYPE = """#ifdef __cplusplus
extern "C" {{
#endif

{signature};

#ifdef __cplusplus
}}
#endif
"""
MATH = {op: op for op in ("sin", "cos", "sqrt", "exp", "log", "tanh", "asin", "acos", "atan2")} | {"abs": "fabs"}
CHOICES = {
    "select": "({0} >= 0 ? {1} : {2})",
    "where_lt": "({0} < {1} ? {2} : {3})",
    "where_le": "({0} <= {1} ? {2} : {3})",
    "where_eq": "({0} == {1} ? {2} : {3})",
}
HELPERS = {
    "sign": """static {type} {name}({type} x)
{{
    return x > 0 ? 1 : x < 0 ? -1 : x - x; /* 0 for 0, NaN for NaN */
}}
""",
    "min": """static {type} {name}({type} a, {type} b)
{{
    return a <= b || a != a ? a : b; /* NaN if either is */
}}
""",
    "max": """static {type} {name}({type} a, {type} b)
{{
    return a >= b || a != a ? a : b; /* NaN if either is */
}}
""",
}


def array_brackets(port: Port) -> str:
    return f"[{port.size}]"


def c_number(x: float, dtype: str) -> str:
    """The shortest text of a constant that reads back as the same number."""
    if dtype == "float64":
        return repr(x)
    single = as_single(x)
    if math.isinf(single):
        raise ValueError(f"the constant {x} is too large for dtype='float32' (expected dtype='float64')")
    text = next(t for t in (f"{single:.{digits}g}" for digits in range(1, 10)) if as_single(float(t)) == single)
    return f"{text}f" if set(text) & {".", "e"} else f"{text}.0f"


def as_single(x: float) -> float:
    """The nearest number of single precision, or infinity."""
    try:
        return float(struct.unpack("<f", struct.pack("<f", x))[0])
    except OverflowError:
        return math.inf


def c_comment(paragraphs: Iterable[str]) -> str:
    """The texts as a wrapped comment. Lines that begin with a space stay as they are; no text can end the comment."""
    lines: list[str] = []
    for paragraph in paragraphs:
        for line in comment_text(paragraph).split("\n"):
            lines += [line] if line.startswith(" ") else textwrap.wrap(line, WIDTH - 3, break_long_words=False) or [""]
    return "\n".join(["/* " + lines[0], *(f" * {line}".rstrip() for line in lines[1:]), " */", ""])


def comment_text(text: str) -> str:
    """The text as printable ASCII and line breaks, without comment marks and trigraphs."""
    plain = unicodedata.normalize("NFKD", text.translate({0xB7: " ", 0xB1: "+-"}))  # N m for N·m
    plain = "".join(c for c in plain if not unicodedata.combining(c))
    plain = re.sub(r"[^ -~\n]", "_", plain)
    return re.sub(r"\*(?=/)|/(?=\*)|\?(?=\?)", r"\g<0> ", plain)
