"""Names of inputs, outputs and intermediates in plain text: q1, qd1, l1, I[1,2], t1, c12."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import prod

from ..graph import Program
from ..graph.assignments import free_letter
from .styles import Angles
from .symbol_tables import sum_text

Components = Mapping[str, Sequence[str]] | None  # names of the numbers of some inputs
ABBREVIATION = r"[cs][\d-]+"


def input_names(program: Program, components: Components = None) -> dict[tuple[str, int], str]:
    """Unique names of all input numbers.

    Symbols keep their names. The numbers of an array q are q1, q2, ..., or q_1, q_2, ... where one of
    those is taken; `components` has other names for the numbers of some arrays.
    """
    known = components or {}
    names = {(port.name, 0): known.get(port.name, [port.name])[0] for port in program.inputs if not port.shape}
    for port in program.inputs:
        if port.shape:
            base, given = port.name, known.get(port.name, ())
            labels = list(given) or [f"{base}{k + 1}" for k in range(port.size)]
            while not set(labels).isdisjoint(names.values()):
                base += "_"
                labels = [f"{name}_" for name in labels] if given else [f"{base}{k + 1}" for k in range(port.size)]
            names |= {(port.name, k): name for k, name in enumerate(labels)}
    return names


class PlainNames:
    """The texts of a program's inputs and outputs.

    `outputs` are names for these. Sines and cosines are abbreviated on request, c12 for cos(q1 + q2), where that is not
    the name of a symbol.
    """

    chosen = True

    def __init__(
        self,
        program: Program,
        outputs: Sequence[str] | None = None,
        components: Components = None,
        *,
        abbreviate: bool = False,
        before: int = 0,
    ) -> None:
        self.before = before  # intermediates that have names already
        self.inputs = input_names(program, components)
        joints = max((port.size for port in program.inputs if port.name == "q" and port.shape), default=0)
        known = list(self.inputs.values())
        self.times = " " if abbreviate else "*"
        self.abbreviates = abbreviate and joints < 10 and not any(re.fullmatch(ABBREVIATION, name) for name in known)
        self.outputs = list(outputs) if outputs is not None else [port.name for port in program.outputs]
        self.elements = [
            [f"{name}[{','.join(index)}]" for index in indices(port.shape)] if port.shape else []
            for name, port in zip(self.outputs, program.outputs, strict=True)
        ]
        self.letter = free_letter([*known, *self.outputs])

    def input(self, name: str, position: int) -> str:
        return self.inputs[name, position]

    def intermediate(self, number: int) -> str:
        return f"{self.letter}{self.before + number}"

    def sine_or_cosine(self, op: str, angles: Angles) -> str:
        """c23 for cos(q2 + q3), c2-3 for cos(q2 - q3); other combinations are written out."""
        names = [self.input(*input_) for input_, _ in angles]
        numbers = [
            re.fullmatch(r"q(\d)", name) if input_[0] == "q" else None
            for name, (input_, _) in zip(names, angles, strict=True)
        ]
        turns = [k for _, k in angles]
        if self.abbreviates and all(numbers) and turns[0] == 1 and all(abs(k) == 1 for k in turns):
            return op[0] + "".join("-" * (k < 0) + name[1:] for name, k in zip(names, turns, strict=True))
        terms = [
            (k < 0, name if abs(k) == 1 else f"{abs(k)}{self.times}{name}")
            for name, k in zip(names, turns, strict=True)
        ]
        return f"{op}({sum_text(terms)})"


def indices(shape: tuple[int, ...]) -> list[list[str]]:
    """The index of every number of an array, row by row, counted from 1."""
    return [
        [str(k // prod(shape[axis + 1 :]) % size + 1) for axis, size in enumerate(shape)] for k in range(prod(shape))
    ]
