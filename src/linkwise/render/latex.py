"""A program as LaTeX: intermediates in the order in which they are read, then the results. Needs amsmath."""

from __future__ import annotations

from ..graph import Node, Port, Program
from ..graph.passes import use_counts

LETTERS = {"q": "q", "qd": r"\dot{q}", "qdd": r"\ddot{q}", "tau": r"\tau"}
RANK = {"add": 1, "sub": 1, "neg": 2, "mul": 3}
INLINE = 4  # an expression used once is written where it is used, if it has at most so many operations


class Writer:
    """Names what is used more than once or grows long, and writes the rest where it is used."""

    def __init__(self, program: Program, digits: int) -> None:
        self.program, self.digits = program, digits
        self.shapes = {port.name: port.shape for port in program.inputs}
        self.uses = use_counts(program)
        self.names: dict[int, str] = {}
        self.sizes: dict[int, int] = {}

    def equations(self) -> list[str]:
        """Every named intermediate, as `name = expression`."""
        found = []
        for node in self.program.nodes:
            if not node.args or self.leaf(node) is not None:
                continue
            size = 1 + sum(self.sizes.get(a.index, 0) for a in node.args if a.index not in self.names)
            self.sizes[node.index] = size
            if node.op != "neg" and (self.uses[node.index] > 1 or size > INLINE):
                text = self.operation(node)
                self.names[node.index] = f"t_{{{len(self.names) + 1}}}"
                found.append(f"{self.names[node.index]} = {text}")
        return found

    def leaf(self, node: Node) -> str | None:
        """What needs no expression: numbers, inputs, and the sine and cosine of a joint's variable."""
        if node.op == "const":
            return number(node.payload, self.digits)
        if node.op == "input":
            name, position = node.payload
            return indexed(LETTERS.get(name, word(name)), self.shapes[name], position)
        if node.op in ("sin", "cos") and node.args[0].op == "input" and node.args[0].payload[0] == "q":
            return f"{node.op[0]}_{{{node.args[0].payload[1] + 1}}}"
        return self.names.get(node.index)

    def text(self, node: Node) -> str:
        return self.leaf(node) or self.operation(node)

    def operation(self, node: Node) -> str:
        parts = [self.text(a) for a in node.args]
        if node.op == "div":
            return rf"\frac{{{parts[0]}}}{{{parts[1]}}}"
        if node.op == "sqrt":
            return rf"\sqrt{{{parts[0]}}}"
        if node.op not in RANK:
            name = rf"\{node.op}" if node.op in ("sin", "cos") else r"\operatorname{sign}"
            return rf"{name}\left({parts[0]}\right)"
        rank = RANK[node.op]
        for k, a in enumerate(node.args):
            own = 9 if self.leaf(a) is not None else RANK.get(a.op, 9)
            if own < rank + (k if node.op == "sub" else 0) or (k and parts[k].startswith("-")):
                parts[k] = rf"\left({parts[k]}\right)"
        if node.op == "neg":
            return f"-{parts[0]}"
        if node.op == "mul":
            constant_last = node.args[1].op == "const" and node.args[0].op != "const"
            return r" \, ".join(reversed(parts) if constant_last else parts)
        return f"{parts[0]} {'+' if node.op == 'add' else '-'} {parts[1]}"

    def result(self, port: Port, nodes: tuple[Node, ...]) -> str:
        cells = [self.text(node) for node in nodes]
        if not port.shape:
            return cells[0]
        columns = port.shape[-1] if len(port.shape) > 1 else 1
        rows = [cells[i : i + columns] for i in range(0, len(cells), columns)]
        body = r" \\ ".join(" & ".join(row) for row in rows)
        return rf"\left[\begin{{array}}{{{'c' * columns}}} {body} \end{{array}}\right]"


def latex_text(program: Program, title: str, digits: int) -> str:
    writer = Writer(program, digits)
    equations = writer.equations()
    for port, nodes in zip(program.outputs, program.results, strict=True):
        equations.append(f"{word(port.name)} = {writer.result(port, nodes)}")
    head = [f"% {title}", r"% s_i = sin q_i, c_i = cos q_i; needs amsmath"]
    return "\n".join([*head, *(rf"\[ {equation} \]" for equation in equations), ""])


def number(x: float, digits: int) -> str:
    mantissa, _, exponent = f"{x:.{digits}g}".partition("e")
    return rf"{mantissa} \cdot 10^{{{int(exponent)}}}" if exponent else mantissa


def indexed(letter: str, shape: tuple[int, ...], position: int) -> str:
    if not shape:
        return letter
    index: list[int] = []
    for size in reversed(shape):
        position, k = divmod(position, size)
        index.append(k + 1)
    return f"{letter}_{{{','.join(map(str, reversed(index)))}}}"


def word(name: str) -> str:
    """A name as upright text: l1 as l with the index 1, longer words whole."""
    if len(name) > 1 and name[0].isalpha() and name[1:].isdigit():
        return f"{name[0]}_{{{name[1:]}}}"
    return name if len(name) == 1 else r"\mathrm{" + name.replace("_", r"\_") + "}"
