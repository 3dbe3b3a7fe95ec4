"""LaTeX names of inputs, outputs, intermediates, sines and cosines. Printed names are unique.

    l1, l_1   l_{1}          Jx6, Ixx, lc1   J_{x6}, I_{xx}, l_{c1}          m_tip   m_{\\mathrm{tip}}
    alpha     \\alpha         theta1, θ1      \\theta_{1}                      mass    \\mathrm{mass}

To avoid clashes symbols are written as spelled: \\mathrm{q2}, not the joint's q_{2}. If a symbol is called c1 or s12,
sines and cosines are not abbreviated.

First, sines and cosines of sums of angles are recognised in a program: c_2 c_3 - s_2 s_3 becomes cos(q_2 + q_3).
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain, count
from typing import Any

from ...graph import Graph, Node, Port, Program
from ...graph.passes import rebuild
from ..styles import Angles

ARRAYS = {"q": "q", "qd": r"\dot{q}", "qdd": r"\ddot{q}", "tau": r"\tau"}
LETTERS = "txyzw"  # of intermediates
GREEK_LETTERS = """
alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau upsilon phi chi psi omega
Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega varepsilon vartheta varpi varrho varsigma varphi
"""
COMMANDS = GREEK_LETTERS.split()
GREEK = "|".join(sorted(COMMANDS, key=len, reverse=True))
HEADS = [  # a letter and its index, in one word
    rf"({GREEK}|[A-Za-z])(\d+[A-Za-z]?|\d+[xyz]{{2}})?",  # l, l1, l1x, I1xx, theta1
    rf"({GREEK}|[A-Z])([xyz]{{1,2}}\d*)",  # Jx6, Ixx
    r"([A-Za-z])([a-z]\d+)",  # lc1
    r"([A-Za-z]{2,})(\d+)?",  # mass, mass1
]
SHORT = r"\d+|\d*[A-Za-z]\d*|\d*[xyz]{2,3}\d*"  # an index that is set in italics
ABBREVIATION = r"[cs]_\{[\d,-]+\}"
JOINT_VARIABLE = re.compile(r"q_\{(\d+)\}")
SUBSCRIPT = re.compile(r"((?:[^_{}]|\\_|\{[^{}]*\})+)_(?:\{((?:[^{}]|\{[^{}]*\})*)\}|(\w))")  # at the end of a text
BAR = r"\bar{"
SPECIAL = re.compile(r"([#$%&_{}])")


def symbol_text(name: str) -> str:
    """Format a name: a letter with an index, a Greek letter, a longer word upright."""
    head, *rest = latin(name).split("_")
    match = next(filter(None, (re.fullmatch(pattern, head) for pattern in HEADS)), None)
    if match is None or "" in rest or not "".join(rest).isascii():
        return spelled_text(name)
    letter, index = match[1], match[2]
    texts = [*([index] if index else []), *map(index_text, rest)]
    base = rf"\{letter}" if letter in COMMANDS else letter if len(letter) == 1 else rf"\mathrm{{{letter}}}"
    return f"{base}_{{{','.join(texts)}}}" if texts else base


def index_text(piece: str) -> str:
    if piece in COMMANDS:
        return rf"\{piece}"
    return piece if re.fullmatch(SHORT, piece) else rf"\mathrm{{{piece}}}"


def spelled_text(name: str) -> str:
    """The name as spelled, upright: unique."""
    runs = re.findall(r"[\x00-\x7f]+|[^\x00-\x7f]", name)
    texts = [run_text(run) for run in runs]
    return texts[0] if len(texts) == 1 else f"{{{''.join(texts)}}}"


def run_text(run: str) -> str:
    if run.isascii():
        return r"\mathrm{" + SPECIAL.sub(r"\\\1", run) + "}"
    word = greek_name(run)
    return rf"\text{{{run}}}" if word is None else rf"\{word}"


def latin(name: str) -> str:
    """Replace Greek letters by the names of their LaTeX commands."""
    return "".join(greek_name(c) or c for c in name)


def greek_name(c: str) -> str | None:
    match = re.fullmatch(r"GREEK (SMALL|CAPITAL) LETTER (\w+)", unicodedata.name(c, "").replace("LAMDA", "LAMBDA"))
    if match is None:
        return "varsigma" if c == "ς" else None
    word = match[2].lower() if match[1] == "SMALL" else match[2].capitalize()
    return word if word in COMMANDS else None


def function_text(name: str) -> str:
    """The name of a function on the left side of its equation."""
    if re.fullmatch(r"[A-Za-z]\d*", name):
        return name if len(name) == 1 else f"{name[0]}_{{{name[1:]}}}"
    return spelled_text(name)


def with_index(base: str, index: str) -> str:
    """I_{12} of I, and I_{c,12} of I_{c}."""
    match = SUBSCRIPT.fullmatch(base)
    if match is None:
        return f"{base}_{{{index}}}" if "_" not in base.replace(r"\_", "") else f"{{{base}}}_{{{index}}}"
    return f"{match[1]}_{{{match[2] or match[3]},{index}}}"


def indices(shape: tuple[int, ...], between: str = ",") -> list[str]:
    """The index of every number of an array, row by row, counted from 1."""
    all_indices: list[list[str]] = [[]]
    for size in shape:
        all_indices = [[*before, str(k + 1)] for before in all_indices for k in range(size)]
    return [between.join(index) for index in all_indices]


class LatexNames:
    """The texts of a program's inputs and outputs.

    `names` are chosen ones for the outputs, `components` the texts of the numbers of some inputs. With `elements`,
    names of arrays are not printed, only those of their elements. No input prints like a text in `reserved`. Sines and
    cosines of the array q are abbreviated, and of symbols in `angles`. `before` intermediates have names already.
    """

    def __init__(
        self,
        program: Program,
        names: Sequence[str] | None = None,
        components: Mapping[str, Sequence[str]] | None = None,
        elements: bool = False,
        reserved: Collection[str] = (),
        angles: Collection[str] = (),
        before: int = 0,
    ) -> None:
        ports = program.inputs
        self.angles, self.before = {"q", *angles}, before
        self.shapes = {port.name: port.shape for port in ports}
        self.chosen = names is not None  # whether the elements of outputs have names worth using
        left = (
            [*map(check_output_name, names)] if names is not None else [function_text(p.name) for p in program.outputs]
        )
        self.elements = list(map(element_texts, left, program.outputs))

        def printed(k: int) -> set[str]:
            return {*self.elements[k]} if elements and self.elements[k] else {left[k], *self.elements[k]}

        claimed = set().union(*map(printed, range(len(left)))) if names is not None else set()
        self.inputs = input_texts(
            [p for p in ports if p.shape],
            [p.name for p in ports if not p.shape],
            {*claimed, *reserved},
            components or {},
        )
        texts = {text for own in self.inputs.values() for text in own}
        indices_of_q = (match[1] for match in map(JOINT_VARIABLE.fullmatch, texts) if match)
        self.joints = max(map(int, indices_of_q), default=0)  # the largest index of a joint variable
        for text in sorted(texts & claimed):
            raise ValueError(f"name: {text} is how an input is printed (expected another name for the output)")
        self.outputs = left
        for k, port in enumerate(program.outputs):
            while texts & printed(k):
                left[k] = rf"\bar{{{left[k]}}}"
                self.elements[k] = element_texts(left[k], port)
        used = {*texts, *left, *(text for own in self.elements for text in own)}
        self.abbreviates = not any(re.fullmatch(ABBREVIATION, text) for text in used)
        bars = (rf"{BAR * k}t{'}' * k}" for k in count(1))
        letters = (x for x in chain(LETTERS, bars) if not any(text == x or text.startswith(f"{x}_") for text in used))
        self.letter = next(letters)

    def input(self, name: str, position: int) -> str:
        return self.inputs[name][position]

    def intermediate(self, number: int) -> str:
        return f"{self.letter}_{{{self.before + number}}}"

    def sine_or_cosine(self, op: str, angles: Angles) -> str:
        """c_{23} for cos(q_2 + q_3), c_{2-3} for cos(q_2 - q_3); other combinations are written out."""
        angles = tuple(sorted(angles, key=lambda angle: angle[1] < 0))
        texts = [self.input(*input_) if input_[0] in self.angles else "" for input_, _ in angles]
        numbers = list(map(JOINT_VARIABLE.fullmatch, texts))
        plain = all(number is not None and abs(k) == 1 for number, (_, k) in zip(numbers, angles, strict=True))
        if self.abbreviates and plain and angles[0][1] > 0:
            comma = "," if self.joints > 9 else ""  # c_{12} is of q_1 + q_2 or of q_12, never of either
            signed = zip(numbers, angles, strict=True)
            first, *rest = [("-" if k < 0 else comma, number[1]) for number, (_, k) in signed if number is not None]
            return f"{op[0]}_{{{first[1]}{''.join(sign + index for sign, index in rest)}}}"
        terms = [(k, self.input(*input_)) for input_, k in angles]
        texts = [("- " if k < 0 else "+ ") + (rf"{abs(k)} \, {x}" if abs(k) > 1 else x) for k, x in terms]
        return rf"\{op}\left({' '.join(texts).removeprefix('+ ')}\right)"


def input_texts(
    arrays: Sequence[Port], symbols: Sequence[str], claimed: Iterable[str], components: Mapping[str, Sequence[str]]
) -> dict[str, list[str]]:
    """The texts of all input numbers: arrays first; symbols that would clash are spelled."""
    bases = {port.name: ARRAYS.get(port.name) or symbol_text(port.name) for port in arrays}
    for clash in (True, False):
        of_arrays = {port.name: [with_index(bases[port.name], k) for k in indices(port.shape)] for port in arrays}
        of_arrays |= {name: list(texts) for name, texts in components.items() if name not in symbols}
        counts = Counter(text for texts in of_arrays.values() for text in texts)
        if clash:
            alike = {name for name, texts in of_arrays.items() if any(counts[text] > 1 for text in texts)}
            bases |= {name: spelled_text(name) for name in alike - ARRAYS.keys()}
    texts = {name: components[name][0] if name in components else symbol_text(name) for name in symbols}
    fixed = {*counts, *claimed}
    while True:
        counts = Counter(texts.values())
        alike = {name for name, text in texts.items() if counts[text] > 1 or text in fixed}
        alike = {name for name in alike if texts[name] != spelled_text(name)}
        if not alike:
            return {**of_arrays, **{name: [text] for name, text in texts.items()}}
        texts |= {name: spelled_text(name) for name in alike}


def element_texts(base: str, port: Port) -> list[str]:
    """I_{12}, or I_{1,12} where an index has two digits."""
    return [with_index(base, k) for k in indices(port.shape, "" if max(port.shape) < 10 else ",")] if port.shape else []


def check_output_name(name: str) -> str:
    """Check and format a given name: LaTeX, or a plain word such as tau."""
    depth = [0]
    for c in re.sub(r"\\.", "", name) if isinstance(name, str) else "":
        depth.append(depth[-1] + {"{": 1, "}": -1}.get(c, 0))
    if not isinstance(name, str) or not name.strip() or not name.isprintable() or min(depth) < 0 or depth[-1]:
        raise ValueError(rf"name is {name!r} (expected a word, or LaTeX with its braces closed, such as '\\tau')")
    return symbol_text(name) if name.isidentifier() else name.strip()


def angle_sums(program: Program) -> Program:
    """Replace addition theorems in a program by sines and cosines of sums."""

    def change(node: Node, values: dict[int, Any], graph: Graph) -> Any:
        if node.op not in ("add", "sub") or any(a.op != "mul" for a in node.args):
            return None
        factors = [[values[x.index] for x in a.args] for a in node.args]
        if not all(isinstance(x, Node) and x.op in ("sin", "cos") for pair in factors for x in pair):
            return None
        (a, b), (c, d) = factors
        if a.args[0] is not c.args[0]:
            c, d = d, c
        if a.args[0] is not c.args[0] or b.args[0] is not d.args[0]:
            return None
        x, y = angles_of(a.args[0]), angles_of(b.args[0])
        if not x or not y:
            return None
        sign = 1 if node.op == "add" else -1
        match (a.op + b.op, c.op + d.op):
            case ("coscos", "sinsin"):
                return function_of_sum(graph, "cos", x, y, -sign)
            case ("sinsin", "coscos"):
                return sign * function_of_sum(graph, "cos", x, y, -sign)
            case ("sincos", "cossin"):
                return function_of_sum(graph, "sin", x, y, sign)
            case ("cossin", "sincos"):
                return function_of_sum(graph, "sin", y, x, sign)
        return None

    return rebuild(program, change)


def function_of_sum(graph: Graph, op: str, x: Angles, y: Angles, sign: int) -> Any:
    """The sine or cosine of x + y or x - y, normalized so that the first angle is positive."""
    total = dict(x)
    for angle, k in y:
        total[angle] = total.get(angle, 0) + sign * k
    terms = sorted((angle, k) for angle, k in total.items() if k)
    if not terms:
        return 1.0 if op == "cos" else 0.0
    flip = -1 if terms[0][1] < 0 else 1
    argument: Any = 0.0
    for (name, position), k in terms:
        argument = argument + flip * k * graph.input(name, position)
    return argument.cos() if op == "cos" else flip * argument.sin()


def angles_of(node: Node) -> Angles | None:
    """The inputs and integer multipliers whose sum is the node; otherwise None."""
    if node.op == "input":
        return ((node.payload, 1),)
    if node.op not in ("add", "sub", "mul"):
        return None
    a, b = node.args
    if node.op == "mul":
        number, other = (a, b) if a.op == "const" else (b, a)
        if other.op != "input" or number.op != "const" or number.payload % 1:
            return None
        return ((other.payload, int(number.payload)),)
    x, y = angles_of(a), angles_of(b)
    if x is None or y is None:
        return None
    total = dict(x)
    for angle, k in y:
        total[angle] = total.get(angle, 0) + (k if node.op == "add" else -k)
    return tuple(sorted((angle, k) for angle, k in total.items() if k)) or None
