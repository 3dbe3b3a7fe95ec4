"""exp, log, tanh, atan2, asin and acos in LLVM assembly, without branches: within 1 ulp, for every number.

    exp     x = k ln 2 + r,  |r| ≤ ½ ln 2:          exp x = 2ᵏ (1 + r + r² E(r))
    log     x = 2ᵏ (1 + f),  √½ ≤ 1 + f < √2:       log x = k ln 2 + f - f²/2 + s (f²/2 + s² L(s²)),  s = f / (2 + f)
    tanh    t = exp(2 |x|) - 1:                     tanh |x| = t / (t + 2) = 1 - 2 / (t + 2)
    atan2   |y|, |x| = the smaller and the larger, or (y - x, y + x) beyond π/8:    atan t = t + t³ A(t²) ± k π/4
    asin    |x| ≤ ½:  x + x³ S(x²)                  beyond:  π/2 - 2 asin √((1 - |x|) / 2)

Significant rounding errors (of the remainder r, quotients, square roots, sums that nearly cancel) are carried along as
a second number. E, L, A and S are polynomials fitted to the functions at Chebyshev points, to 2e-18. Floats are
computed as doubles. Results are NaN outside the domain and infinite at poles and on overflow, as in C and NumPy.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterable, Sequence

from ...graph import Node
from .flow import Layout
from .lanes import Arithmetic, Value
from .sine import large_angle, sine_cosine

ROUND_TO_INTEGER = 6755399441055744.0  # 1.5 · 2⁵²: a sum with it has the rounded integer in its last bits
LN2 = (0.6931471803691238, 1.9082149292705877e-10)  # the first part has 32 bits: its product with k is exact
QUARTER = (0.7853981633974483, 3.061616997868383e-17)  # of π; the first part has 50 bits
E = (
    2.09146873519521e-09,
    2.5105217542266557e-08,
    2.7557273642187974e-07,
    2.7557255398914854e-06,
    2.4801587325548468e-05,
    0.00019841269874821643,
    0.0013888888888883748,
    0.008333333333326134,
    0.04166666666666667,
    0.1666666666666667,
    0.5,
)
L = (
    0.1308723619665962,
    0.13268714792348096,
    0.15386241881938595,
    0.18181795600060793,
    0.22222222392089008,
    0.28571428570801954,
    0.4000000000000088,
    0.6666666666666666,
)
A = (
    0.016284375050043393,
    -0.03456931506332609,
    0.045515447340221615,
    -0.05230443640686948,
    0.05878927554473807,
    -0.0666642476020052,
    0.07692296368042296,
    -0.09090908753259112,
    0.11111111105150588,
    -0.14285714285659779,
    0.19999999999999804,
    -0.3333333333333333,
)
S = (
    0.02963502626354855,
    -0.019277545928584557,
    0.019579201619744684,
    0.0030350071727267623,
    0.009322101501082774,
    0.00962140274734483,
    0.011566511821890942,
    0.013963775787848137,
    0.017352816768546473,
    0.022372157435623815,
    0.030381944475693704,
    0.04464285714255019,
    0.07500000000000119,
    0.16666666666666666,
)


def exp(f: Arithmetic, x: Value) -> Value:
    x = f.select(x > 710.0, 710.0, x)  # infinite
    x = f.select(x < -746.0, -746.0, x)  # zero
    k, r, rest = exponential(f, x)
    top, behind = ordered_sum(f, 1.0, r)
    half = f.emit("ashr", "whole", k, 1)  # two factors, since one power of two may overflow or underflow
    return (top + (behind + rest)) * power_of_two(f, half) * power_of_two(f, k - half)


def log(f: Arithmetic, x: Value) -> Value:
    small = x < 2.0**-1022
    bits = f.convert(f.select(small, x * 2.0**54, x), "bitcast", "whole")
    k = f.emit("ashr", "whole", bits - bits_of(math.sqrt(0.5)), 52)
    m = f.convert(bits - f.emit("shl", "whole", k, 52), "bitcast", "real") - 1.0
    powers = f.convert(k + bits_of(ROUND_TO_INTEGER), "bitcast", "real") - ROUND_TO_INTEGER
    powers = powers - f.select(small, 54.0, powers - powers)
    s = m / (m + 2.0)
    z = s * s
    half_square = 0.5 * m * m
    series = s * (half_square + z * polynomial(f, z, L))
    near = powers * LN2[0] - ((half_square - (series + powers * LN2[1])) - m)
    limit = f.select(x == 0.0, -math.inf, math.nan)
    return f.select(x > 0.0, f.select(x == math.inf, x, near), limit)


def tanh(f: Arithmetic, x: Value) -> Value:
    size = f.absolute(x)
    size = f.select(size > 22.0, 22.0, size)  # one
    k, r, rest = exponential(f, size + size)
    scale = power_of_two(f, k)
    top, behind = ordered_sum(f, scale - 1.0, scale * r)
    behind = behind + scale * rest
    t = top + behind
    behind = (top - t) + behind
    far = t > 2.0
    above = f.select(far, -2.0, t)
    below, lost = any_sum(f, t, 2.0)
    quotient, rest = divide(f, above, f.select(far, behind - behind, behind), below, lost + behind)
    top, behind = ordered_sum(f, f.select(far, 1.0, behind - behind), quotient)
    return f.copysign(top + (behind + rest), x)


def atan2(f: Arithmetic, y: Value, x: Value) -> Value:
    across, along = f.absolute(y), f.absolute(x)
    steep = across > along
    small, large = f.select(steep, along, across), f.select(steep, across, along)
    endless = large == math.inf
    small = f.select(endless, f.select(small == math.inf, 1.0, 0.0), small)
    large = f.select(endless, 1.0, large)
    scale = f.select(large > 2.0**700, 2.0**-700, f.select(large < 2.0**-300, 2.0**600, 1.0))
    small, large = small * scale, large * scale
    oblique = small > large * math.tan(math.pi / 8.0)
    rise, rise_rest = ordered_sum(f, -large, small)
    run, run_rest = ordered_sum(f, large, small)
    nothing = large - large
    above, above_rest = f.select(oblique, rise, small), f.select(oblique, rise_rest, nothing)
    below, below_rest = f.select(oblique, run, large), f.select(oblique, run_rest, nothing)
    below = f.select(below == 0.0, 1.0, below)
    t, t_rest = divide(f, above, above_rest, below, below_rest)
    z = t * t
    t_rest = f.fma(t * z, polynomial(f, z, A), f.select(f.absolute(t) > 2.0**-400, t_rest, 0.0))
    quarters = f.select(oblique, 1.0, nothing)
    quarters, turned = f.select(steep, 2.0 - quarters, quarters), steep
    back = f.copysign(nothing + 1.0, x) < 0.0  # also of -0
    quarters = f.select(back, 4.0 - quarters, quarters)
    turned = f.emit("xor", "mask", turned, back)
    t, t_rest = (f.select(turned, -part, part) for part in (t, t_rest))
    top, behind = ordered_sum(f, quarters * QUARTER[0], t)
    angle = top + (behind + (t_rest + quarters * QUARTER[1]))
    return f.select(f.is_nan(x) | f.is_nan(y), x + y, f.copysign(angle, y))


def asin(f: Arithmetic, x: Value) -> Value:
    size, far, root, root_rest, rest = arcsine(f, x)
    top, behind = ordered_sum(f, 2.0 * QUARTER[0], -2.0 * root)
    beyond = top + (behind + (2.0 * QUARTER[1] - (2.0 * root_rest + 2.0 * rest)))
    return f.copysign(f.select(far, beyond, size + rest), x)


def acos(f: Arithmetic, x: Value) -> Value:
    size, far, root, root_rest, rest = arcsine(f, x)
    negative = x < 0.0
    near_zero = 2.0 * (root + (root_rest + rest))
    top, behind = ordered_sum(f, 4.0 * QUARTER[0], -2.0 * root)
    near_half_turn = top + (behind + (4.0 * QUARTER[1] - (2.0 * root_rest + 2.0 * rest)))
    signed, signed_rest = f.select(negative, -size, size), f.select(negative, -rest, rest)
    top, behind = ordered_sum(f, 2.0 * QUARTER[0], -signed)
    middle = top + (behind + (2.0 * QUARTER[1] - signed_rest))
    return f.select(far, f.select(negative, near_half_turn, near_zero), middle)


def arcsine(f: Arithmetic, x: Value) -> tuple[Value, Value, Value, Value, Value]:
    """|x|, whether it exceeds ½, √((1 - |x|) / 2) in two parts, and asin z - z.

    z is |x|, or that root if |x| exceeds ½.
    """
    size = f.absolute(x)
    far = size > 0.5
    square = f.select(far, 0.5 * (1.0 - size), size * size)
    root = f.sqrt(f.select(far, square, size * 0.0 + 1.0))
    product, lost = exact_product(f, root, root)
    root_rest = ((square - product) - lost) / f.select(root == 0.0, 1.0, root + root)
    argument = f.select(far, root, size)
    return size, far, root, f.select(far, root_rest, root_rest * 0.0), argument * (square * polynomial(f, square, S))


# pieces


def exponential(f: Arithmetic, x: Value) -> tuple[Value, Value, Value]:
    """k, r and r² E(r), for x = k ln 2 + r; the last includes the rounding error of r."""
    shifted = f.fma(x, 1.0 / math.log(2.0), ROUND_TO_INTEGER)
    k = shifted - ROUND_TO_INTEGER
    exact = f.fma(k, -LN2[0], x)
    r = f.fma(k, -LN2[1], exact)
    behind = f.fma(k, -LN2[1], exact - r)
    whole = f.convert(shifted, "bitcast", "whole") - bits_of(ROUND_TO_INTEGER)
    return whole, r, f.fma(r * r, polynomial(f, r, E), behind)


def polynomial(f: Arithmetic, x: Value, coefficients: Sequence[float]) -> Value:
    """The polynomial with these coefficients, highest power first."""
    first, second, *others = coefficients
    total = f.fma(x, first, second)
    for c in others:
        total = f.fma(total, x, c)
    return total


def ordered_sum(f: Arithmetic, a: Value | float, b: Value) -> tuple[Value, Value]:
    """a + b and its rounding error, for |a| ≥ |b| or a = 0."""
    total = a + b
    return total, b - (total - a)


def any_sum(f: Arithmetic, a: Value, b: float) -> tuple[Value, Value]:
    """a + b and its rounding error (Knuth)."""
    total = a + b
    other = total - a
    return total, (a - (total - other)) + (b - other)


def exact_product(f: Arithmetic, a: Value, b: Value) -> tuple[Value, Value]:
    """a b and its rounding error: by one fused operation, or by splitting the factors (Dekker)."""
    product = a * b
    if f.layout.fused:
        return product, f.fma(a, b, -product)
    (a1, a2), (b1, b2) = split(a), split(b)
    return product, ((a1 * b1 - product) + a1 * b2 + a2 * b1) + a2 * b2


def split(a: Value) -> tuple[Value, Value]:
    shifted = a * 134217729.0  # 2²⁷ + 1
    head = shifted - (shifted - a)
    return head, a - head


def divide(f: Arithmetic, a: Value, a_rest: Value, b: Value, b_rest: Value) -> tuple[Value, Value]:
    """(a + a_rest) / (b + b_rest) and its rounding error."""
    quotient = a / b
    product, lost = exact_product(f, quotient, b)
    remainder = (((a - product) - lost) + a_rest) - quotient * b_rest
    return quotient, remainder / b


def power_of_two(f: Arithmetic, k: Value) -> Value:
    return f.convert(f.emit("shl", "whole", k + 1023, 52), "bitcast", "real")


def bits_of(x: float) -> int:
    return int(struct.unpack("<q", struct.pack("<d", x))[0])


FUNCTIONS: dict[str, Callable[..., Value]] = {
    "exp": exp,
    "log": log,
    "tanh": tanh,
    "atan2": atan2,
    "asin": asin,
    "acos": acos,
}


def elementary_function(op: str, layout: Layout) -> str:
    """`vector @op_W(vector, ...)` for W lanes."""
    f = Arithmetic(Layout("double", layout.lanes, layout.fused))
    names = ("%y", "%x") if op == "atan2" else ("%x",)
    narrow, wide = layout.vector, f.layout.vector
    operands = [name if narrow == wide else f.flow.emit(f"fpext {narrow} {name} to {wide}") for name in names]
    result = FUNCTIONS[op](f, *(Value(f, x) for x in operands)).name
    if narrow != wide:
        result = f.flow.emit(f"fptrunc {wide} {result} to {narrow}")
    head = f"define internal {narrow} @{op}_{layout.lanes}({', '.join(f'{narrow} {name}' for name in names)}) #1 {{"
    return "\n".join([*sorted(f.flow.declared), head, *f.flow.lines, f"  ret {narrow} {result}", "}", ""])


# The functions that a program calls, in LLVM assembly.


def functions_text(nodes: Iterable[Node], layouts: Sequence[Layout]) -> list[str]:
    """The functions that these nodes call, for each layout."""
    used = {node.op for node in nodes}
    texts = [large_angle(), *(sine_cosine(layout) for layout in layouts)] if used & {"sin", "cos"} else []
    return [*texts, *(elementary_function(op, layout) for op in FUNCTIONS if op in used for layout in layouts)]
