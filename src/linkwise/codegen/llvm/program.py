"""A program as LLVM assembly: a function that computes a block of states, one state in each lane of the vectors.

    i64 @block_W(ptr work, ptr input, ..., ptr output, ...)          W lanes

Inputs and outputs are W rows of numbers, a row for each state. `work` is memory for `work_vectors`, needed by programs
with very many results, which may exceed a thread's stack. The result has a bit for each lane with finite inputs and a
non-finite result. A state with a non-finite input gives NaN throughout. All inputs are read before the first output is
written.

Products are fused into sums here, not by the compiler, so that all widths, and all processors with fused multiply-add,
give the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from ...graph import Node, Program
from .elementary import FUNCTIONS, functions_text
from .flow import MANY, Block, Flow, Layout, assemble, load_rows, store_rows, store_rows_by_table

# Very long programs are split into pieces: functions of PIECE operations each, which pass values in memory.
#
# LLVM's time per operation grows with the length of the function: in pieces a program of 30,000 operations compiles in
# less than half the time, and it runs faster. Values for later pieces are stored in %work, as the results are, and
# loaded at their first use.

LONG = 12_000  # operations: longer programs are split into pieces
PIECE = 1_500


class Pieces:
    """The nodes of a program in pieces, and their slots in %work: results first, then values for later pieces."""

    def __init__(self, program: Program, results: dict[int, int]) -> None:
        computed = [node for node in program.nodes if node.op not in ("input", "const")]
        self.parts = [computed[k : k + PIECE] for k in range(0, len(computed), PIECE)]
        self.first = [node for node in program.nodes if node.op == "input"]
        constants = [node for node in program.nodes if node.op == "const" and node.index in results]
        self.given = [*self.first, *constants]  # computed by no piece
        where = {node.index: k for k, part in enumerate(self.parts) for node in part}
        self.slots = dict(results)
        next_slot = len(results) + 1  # the sum of the results has a slot too
        for k, part in enumerate(self.parts):
            for x in operands(part):
                if x.op != "const" and x.index not in self.slots and where.get(x.index) != k:
                    self.slots[x.index] = next_slot
                    next_slot += 1
        self.vectors = next_slot


def operands(nodes: Sequence[Node]) -> Iterable[Node]:
    return (x for node in nodes for x in node.args)


def is_long(program: Program) -> bool:
    return len(program.nodes) > LONG


WORDS = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}
COMPARISONS = {"where_lt": "olt", "where_le": "ole", "where_eq": "oeq"}  # false for NaN
UNBOUNDED = ("div", "sqrt", "exp", "log", "asin", "acos")  # operations that may be non-finite for finite operands


def llvm_text(program: Program, layouts: Iterable[Layout]) -> str:
    """The block function of each layout, and the functions that they call."""
    layouts = list(layouts)
    widest = max(layouts, key=lambda layout: layout.lanes)
    texts = [block_text(program, layout, widest) for layout in layouts]
    return assemble(*functions_text(program.nodes, layouts), *texts)


def block_text(program: Program, layout: Layout, widest: Layout) -> str:
    block = Flow(layout)
    loaded = {
        (port.name, position): x
        for k, port in enumerate(program.inputs)
        for position, x in enumerate(load_rows(block, f"%in{k}", port.size))
    }
    bad = non_finite_mask(block, [*loaded.values(), *lengths(block, program, loaded)])
    known = {node.index: loaded[node.payload] for node in program.nodes if node.op == "input"}
    live_out = (node.index for flat in program.results for node in flat)
    nodes = Nodes(block, program.nodes, known, live_out, widest if layout.lanes == 1 else None)
    pieces: list[str] = []
    if has_many_results(program):
        slots = store_results(block, program, nodes, pieces, widest)
        total = store_many_results(block, program, slots, bad)
    else:
        total = store_few_results(block, program, nodes, bad)
    non_finite = "0"
    if may_be_non_finite(program):
        is_nan = block.emit(f"fcmp uno {layout.vector} {total}, {layout.constant(0.0)}")
        non_finite = mask_bits(
            block, block.emit(f"select {layout.mask} {bad}, {layout.mask} {false_mask(layout)}, {layout.mask} {is_nan}")
        )
    arrays = [*(f"%in{k}" for k in range(len(program.inputs))), *(f"%out{k}" for k in range(len(program.outputs)))]
    head = (
        f"define internal i64 @block_{layout.lanes}({', '.join(f'ptr {p}' for p in ['noalias %work', *arrays])}) #0 {{"
    )
    return "\n".join([*sorted(block.declared), head, *block.lines, f"  ret i64 {non_finite}", "}", "", *pieces])


def may_be_non_finite(program: Program) -> bool:
    """Whether a finite state may have a non-finite result, which is then counted."""
    return any(node.op in UNBOUNDED for node in program.nodes)


def has_many_results(program: Program) -> bool:
    return sum(map(len, program.results)) > MANY


def work_vectors(program: Program) -> int:
    """Vectors of work memory of a block: results, their sum, and values passed between pieces."""
    if not has_many_results(program):
        return 0
    slots = result_slots(program)
    return Pieces(program, slots).vectors if is_long(program) else len(slots) + 1


def result_slots(program: Program) -> dict[int, int]:
    """The slots of the result nodes by index, in the order of computation."""
    live_out = {node.index for flat in program.results for node in flat}
    return {index: k for k, index in enumerate(node.index for node in program.nodes if node.index in live_out)}


def store_few_results(block: Flow, program: Program, nodes: Nodes, bad: str) -> str:
    """Store the results from registers; returns 0, or NaN in lanes with a non-finite result."""
    layout, value = block.layout, nodes.emit_all()
    results = [[value[node.index] for node in flat] for flat in program.results]
    total = zero_or_nan(block, dict.fromkeys(x for flat in results for x in flat)) if may_be_non_finite(program) else ""
    v, nan = layout.vector, layout.constant(float("nan"))
    for k, flat in enumerate(results):
        blank = {x: block.emit(f"select {layout.mask} {bad}, {v} {nan}, {v} {x}") for x in dict.fromkeys(flat)}
        store_rows(block, f"%out{k}", [blank[x] for x in flat])
    return total


def store_results(block: Flow, program: Program, nodes: Nodes, texts: list[str], widest: Layout) -> dict[int, int]:
    """Store each result in %work once it is computed, which keeps the stack small; returns their slots by index.

    For very long programs the block calls pieces, whose functions are added to `texts`.
    """
    slots, layout = result_slots(program), block.layout
    if not is_long(program):
        nodes.emit_all(lambda index, x: block.store(x, "%work", slots[index]) if index in slots else None)
        return slots
    pieces = Pieces(program, slots)
    for node in pieces.given:
        if node.index in pieces.slots:
            nodes.write(node)
            block.store(nodes.value[node.index], "%work", pieces.slots[node.index])
    for k, part in enumerate(pieces.parts):
        piece = Flow(layout)
        inside = PieceNodes(piece, part, pieces.slots, widest if layout.lanes == 1 else None)
        inside.emit_all(partial(store_if_handed_on, piece, pieces.slots))
        name = f"@piece_{k}_{layout.lanes}"
        texts.append(piece.function(f"internal void {name}(ptr noalias %work)"))
        block.lines.append(f"  call void {name}(ptr %work)")
    return slots


def store_if_handed_on(piece: Flow, slots: dict[int, int], index: int, x: str) -> None:
    if index in slots:
        piece.store(x, "%work", slots[index])


def store_many_results(block: Flow, program: Program, slots: dict[int, int], bad: str) -> str:
    """Copy the results from %work to the arrays by loops; returns the same as `store_few_results`."""
    layout = block.layout
    total, zero, nan = len(slots), layout.constant(0.0), layout.constant(float("nan"))
    block.store(zero, "%work", total)
    with block.counted(len(slots)) as slot:
        x = block.load("%work", slot)
        block.store(block.multiply_add(x, zero, block.load("%work", total)), "%work", total)
        block.store(block.select(bad, nan, x), "%work", slot)
    for k, flat in enumerate(program.results):
        if flat:
            numbers = [slots[node.index] for node in flat]
            store_rows_by_table(block, f"%out{k}", "%work", numbers, f"columns_{layout.lanes}_{k}")
    return block.load("%work", total)


class Nodes:
    """Emits nodes in order. `known` are names of nodes in registers by index; `live_out` are the results.

    For a single state, the lanes of the second layout, `beside`, compute several of its sines and cosines at a time.
    """

    def __init__(
        self,
        block: Block,
        nodes: Sequence[Node],
        known: dict[int, str],
        live_out: Iterable[int],
        beside: Layout | None = None,
    ) -> None:
        self.block, self.nodes, self.beside = block, nodes, beside
        self.value = dict(known)
        self.sine_cosines: dict[str, tuple[str, str]] = {}
        computed = [node for node in nodes if node.index not in known]
        self.products = fused_products(computed, set(live_out))

    def emit_all(self, then: Callable[[int, str], None] | None = None) -> dict[int, str]:
        """Emit all nodes; their names by index. `then` is called with the index and name of each node."""
        early = [n for n in self.nodes if n.op in ("sin", "cos") and n.args[0].index in self.value]
        angles = list(dict.fromkeys(self.value[n.args[0].index] for n in early))
        if self.beside is not None and self.beside.lanes > 1:
            for k in range(0, len(angles), self.beside.lanes):
                self.sine_cosines_at_once(angles[k : k + self.beside.lanes], self.beside)
        for node in early:  # early, while few registers are in use, since a call spills them
            self.write(node)
        for node in self.nodes:
            if node.index not in self.products:
                self.write(node)
                if then is not None:
                    then(node.index, self.value[node.index])
        return self.value

    def write(self, node: Node) -> None:
        if node.index not in self.value:
            self.value[node.index] = self.instruction(node)

    def instruction(self, node: Node) -> str:
        block = self.block
        if node.op == "const":
            return block.layout.constant(node.payload)
        if any(x.index in self.products for x in node.args):
            return self.fused_sum(node)
        operands = [self.value[x.index] for x in node.args]
        if node.op in WORDS:
            return block.do(WORDS[node.op], *operands)
        if node.op == "neg":
            return block.do("fneg", *operands)
        if node.op == "sqrt":
            return block.call("sqrt", *operands)
        if node.op == "sign":
            return sign(block, *operands)
        if node.op == "select":
            return select(block, *operands)
        if node.op in COMPARISONS:
            return where(block, COMPARISONS[node.op], *operands)
        if node.op == "abs":
            return block.call("fabs", *operands)
        if node.op in ("min", "max"):
            return min_or_max(block, "ole" if node.op == "min" else "oge", *operands)
        if node.op in FUNCTIONS:
            return call_elementary(block, node.op, *operands)
        return self.sine_cosine(*operands)[node.op == "cos"]

    def fused_sum(self, node: Node) -> str:
        """A sum or difference fused with one of its products."""
        block, (a, b) = self.block, node.args
        first = a.index in self.products
        x, y = (self.value[f.index] for f in (a if first else b).args)
        other = self.value[(b if first else a).index]
        if node.op == "sub":
            x, other = (x, block.do("fneg", other)) if first else (block.do("fneg", x), other)
        return block.multiply_add(x, y, other)

    def sine_cosine(self, angle: str) -> tuple[str, str]:
        """Sine and cosine of an angle."""
        if angle not in self.sine_cosines:
            v, block = self.block.layout.vector, self.block
            pair = block.emit(f"call {{{v}, {v}}} @sine_cosine_{block.layout.lanes}({v} {angle})")
            sine, cosine = (block.emit(f"extractvalue {{{v}, {v}}} {pair}, {k}") for k in range(2))
            self.sine_cosines[angle] = sine, cosine
        return self.sine_cosines[angle]

    def sine_cosines_at_once(self, angles: Sequence[str], layout: Layout) -> None:
        """Sines and cosines of several angles of one state, one per lane; unused lanes repeat the first."""
        if len(angles) == 1:
            return
        block, v, real = self.block, layout.vector, layout.real
        filled = [*angles, *[angles[0]] * (layout.lanes - len(angles))]
        x = "poison"
        for lane, angle in enumerate(filled):
            x = block.emit(f"insertelement {v} {x}, {real} {angle}, i64 {lane}")
        pair = block.emit(f"call {{{v}, {v}}} @sine_cosine_{layout.lanes}({v} {x})")
        both = [block.emit(f"extractvalue {{{v}, {v}}} {pair}, {k}") for k in range(2)]
        for lane, angle in enumerate(angles):
            sine, cosine = (block.emit(f"extractelement {v} {pair}, i64 {lane}") for pair in both)
            self.sine_cosines[angle] = sine, cosine


class PieceNodes(Nodes):
    """The nodes of one piece; values of other pieces are loaded at their first use."""

    def __init__(self, block: Flow, nodes: Sequence[Node], slots: dict[int, int], beside: Layout | None) -> None:
        super().__init__(block, nodes, {}, slots, beside)
        self.flow, self.slots = block, slots

    def instruction(self, node: Node) -> str:
        for x in node.args:
            for needed in x.args if x.index in self.products else (x,):
                if needed.index not in self.value:
                    self.value[needed.index] = self.load_slot(needed)
        return super().instruction(node)

    def load_slot(self, node: Node) -> str:
        if node.op == "const":
            return super().instruction(node)
        return self.flow.load("%work", self.slots[node.index])


def fused_products(nodes: Sequence[Node], live_out: set[int]) -> set[int]:
    """The products that are fused into all their uses, which must be sums and differences.

    Each sum takes the product with the fewest uses, so that most products need no separate instruction.
    """
    uses: dict[int, list[Node]] = {}
    for node in nodes:
        for x in node.args:
            uses.setdefault(x.index, []).append(node)
    products = [
        node
        for node in nodes
        if node.op == "mul"
        and node.index in uses
        and node.index not in live_out
        and all(map(can_fuse, uses[node.index]))
    ]
    fused: set[int] = set()
    taken: set[int] = set()
    for node in sorted(products, key=lambda node: (len(uses[node.index]), node.index)):
        sums = {x.index for x in uses[node.index]}
        if not sums & taken:
            taken |= sums
            fused.add(node.index)
    return fused


def can_fuse(node: Node) -> bool:
    """Whether a node is a sum or difference of two distinct nodes."""
    return node.op in ("add", "sub") and node.args[0] is not node.args[1]


def sign(block: Block, x: str) -> str:
    """The sign of x; x itself if it is zero or NaN."""
    layout, zero = block.layout, block.layout.constant(0.0)
    v, one, minus = layout.vector, layout.constant(1.0), layout.constant(-1.0)
    below = block.emit(f"fcmp olt {v} {x}, {zero}")
    rest = block.emit(f"select {layout.mask} {below}, {v} {minus}, {v} {x}")
    above = block.emit(f"fcmp ogt {v} {x}, {zero}")
    return block.emit(f"select {layout.mask} {above}, {v} {one}, {v} {rest}")


def select(block: Block, x: str, a: str, b: str) -> str:
    """a where x ≥ 0, b elsewhere and for NaN."""
    layout = block.layout
    v = layout.vector
    taken = block.emit(f"fcmp oge {v} {x}, {layout.constant(0.0)}")
    return block.emit(f"select {layout.mask} {taken}, {v} {a}, {v} {b}")


def where(block: Block, compared: str, x: str, y: str, a: str, b: str) -> str:
    """a where the comparison of x and y holds, b elsewhere."""
    layout = block.layout
    v = layout.vector
    taken = block.emit(f"fcmp {compared} {v} {x}, {y}")
    return block.emit(f"select {layout.mask} {taken}, {v} {a}, {v} {b}")


def min_or_max(block: Block, compared: str, a: str, b: str) -> str:
    """Minimum or maximum of a and b, by the comparison; NaN if either is NaN."""
    layout = block.layout
    v = layout.vector
    taken = block.emit(f"fcmp {compared} {v} {a}, {b}")
    nan = block.emit(f"fcmp uno {v} {a}, {a}")
    either = block.emit(f"or {layout.mask} {taken}, {nan}")
    return block.emit(f"select {layout.mask} {either}, {v} {a}, {v} {b}")


def call_elementary(block: Block, op: str, *operands: str) -> str:
    """A function of `elementary`."""
    v = block.layout.vector
    return block.emit(f"call {v} @{op}_{block.layout.lanes}({', '.join(f'{v} {x}' for x in operands)})")


def lengths(block: Block, program: Program, loaded: dict[tuple[str, int], str]) -> Iterator[str]:
    """Squared lengths of quaternions and their reciprocals, non-finite for quaternions that cannot be normalized."""
    for port in program.inputs:
        for start in port.quaternions:
            square = block.layout.constant(0.0)
            for position in range(start, start + 4):
                x = loaded[port.name, position]
                square = block.multiply_add(x, x, square)
            yield square
            yield block.do("fdiv", block.layout.constant(1.0), square)


def false_mask(layout: Layout) -> str:
    return layout.splat("i1", "false")


def non_finite_mask(block: Block, values: Iterable[str]) -> str:
    """The lanes in which some value is infinite or NaN."""
    total, zero = zero_or_nan(block, values), block.layout.constant(0.0)
    return block.emit(f"fcmp uno {block.layout.vector} {total}, {zero}")


def zero_or_nan(block: Block, values: Iterable[str]) -> str:
    """0, or NaN in the lanes where some value is infinite or NaN: 0 x is NaN there."""
    zero = block.layout.constant(0.0)
    sums = [zero] * 4  # four independent chains
    for k, x in enumerate(values):
        sums[k % 4] = block.multiply_add(x, zero, sums[k % 4])
    return block.do("fadd", block.do("fadd", sums[0], sums[1]), block.do("fadd", sums[2], sums[3]))


def mask_bits(block: Block, mask: str) -> str:
    """A bit for each lane, in an i64."""
    lanes = block.layout.lanes
    bits = mask if lanes == 1 else block.emit(f"bitcast <{lanes} x i1> {mask} to i{lanes}")
    return block.emit(f"zext i{lanes} {bits} to i64")
